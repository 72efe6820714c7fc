"""Steps of the search for coordinates: damped, within the bounds, and back to these from where joints turned freely.

    (H + mu t E) d = -g      t: mean of H's diagonal, without rows

An unknown that stands at a bound and would leave it is held. One that the step takes beyond a bound is held there, and the
others are solved again. c is a `SearchCore`.
"""

from simcli.kernels.articulation.kinematics import place_all
from simcli.kernels.articulation.retraction import retract
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import nearest_turn, select
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.target_energy import measure_kept_rows, measure_search
from simcli.kernels.targets import entry

_FLAT = 1e-9  # cosine between gap and column below which a coordinate gains nothing
_SLOW = 0.9  # of E: what a step must leave behind at most, or the next one counts curvature
_SETTLED = 0.1  # of E: what a step gains at most, by the model, where multipliers follow
_SPENT = 1e-7  # of E: what a step that is not taken promised at most where they follow as well
_LEAST_DAMPING = 1e-14
HUGE_ENERGY = 1e300  # E beyond which it is no number
_ROUNDS = 4  # solutions of a step, between which coordinates are held at their bounds
_TINY = 1e-300  # on the diagonal of an unknown that no target sees
_NOWHERE = 1e300  # [rad], a bound that nothing meets


@ti.func
def bounds_in_search(c: ti.template(), w: ti.i32, k: ti.i32):
    """Lower and upper bound of an unknown; none while it turns freely.

    Reads: c.{lower, upper, turns, roams}
    """
    zero = c.arena.zero()
    lower = zero + c.lower.load(w, k)
    upper = zero + c.upper.load(w, k)
    if c.turns.at(k) != 0:
        free = c.roams.load(w, 0) > 0.0
        lower = select(free, zero - _NOWHERE, lower)
        upper = select(free, zero + _NOWHERE, upper)
    return lower, upper


@ti.func
def bring_back(c: ti.template(), w: ti.i32, ended: ti.template()):
    """Bring what turned freely within its bounds: by whole turns, and where these do not do to the bound.

    Reads:  c.{lower, upper}
    Writes: c.best
    """
    zero = c.arena.zero()
    for k in range(c.n_unknowns):
        if c.turns.at(k) != 0:
            i = c.targets.coordinate.at(k)
            x = c.best.load(w, i)
            lower = zero + c.lower.load(w, k)
            upper = zero + c.upper.load(w, k)
            near = select(upper - lower < _NOWHERE, nearest_turn(x, 0.5 * (lower + upper)), x)
            c.best.store(w, i, select(ended > 0.0, ti.max(ti.min(near, upper), lower), x))


@ti.func
def hold_bounds(c: ti.template(), w: ti.i32):
    """Unknowns at bounds that they would leave.

    Reads:  c.{best, lower, upper}, c.targets.gradient
    Writes: c.held
    """
    g = c.targets
    zero = c.arena.zero()
    for k in range(c.n_unknowns):
        i = g.coordinate.at(k)
        held = zero
        if i >= 0:
            x = c.best.load(w, i)
            slope = g.gradient.load(w, k)
            lower, upper = bounds_in_search(c, w, k)
            held = select(x >= upper, select(slope < 0.0, zero + 1.0, zero), zero)
            held = select(x <= lower, select(slope > 0.0, zero - 1.0, held), held)
        c.held.store(w, k, held)


@ti.func
def find_step(c: ti.template(), w: ti.i32):
    """The damped step within the bounds, what E loses by it, and where the matrix was not positive.

    Reads:  c.{targets, held, damping, lower, upper, best}
    Writes: c.{step, held, gain, bad}
    """
    zero = c.arena.zero()
    shift = ti.max(c.scale.load(w, 0) * c.damping.load(w, 0), zero + _TINY)
    for k in range(c.n_unknowns):
        c.step.store(w, k, zero)
    some = True
    for _ in range(_ROUNDS):
        if some:
            factorize(c, w, shift)
            substitute(c, w)
            some = stop_at_bounds(c, w)
    predict(c, w)


@ti.func
def factorize(c: ti.template(), w: ti.i32, shift: ti.template()):
    """Cholesky's factor of the damped matrix of the unknowns that are free; identity rows for those that are held.

    Reads:  c.{targets.matrix, held}
    Writes: c.{factor, bad}
    """
    zero = c.arena.zero()
    one = zero + 1.0
    bad = zero
    for i in range(c.n_unknowns):
        free_i = select(c.held.load(w, i) == 0.0, one, zero)
        for j in range(i + 1):
            value = c.targets.matrix.load(w, entry(i, j))
            if i == j:
                value = select(free_i > 0.0, value + shift, one)
            else:
                value = value * select(c.held.load(w, j) == 0.0, free_i, zero)
            for k in range(j):
                value = value - c.factor.load(w, entry(i, k)) * c.factor.load(w, entry(j, k))
            if i == j:
                sound = value > 0.0
                bad = select(sound, bad, one)
                value = ti.sqrt(select(sound, value, one))
            else:
                value = value / c.factor.load(w, entry(j, j))
            c.factor.store(w, entry(i, j), value)
    c.bad.store(w, 0, bad)


@ti.func
def substitute(c: ti.template(), w: ti.i32):
    """The step of the free unknowns; those that are held have theirs.

    Reads:  c.{factor, targets, held}
    Writes: c.step
    """
    g = c.targets
    n = c.n_unknowns
    for i in range(n):
        value = -g.gradient.load(w, i)
        for j in range(n):
            held = c.held.load(w, j) != 0.0
            known = select(held, c.step.load(w, j), c.arena.zero())
            value = value - g.matrix.load(w, entry(ti.max(i, j), ti.min(i, j))) * known
        for k in range(i):
            value = value - c.factor.load(w, entry(i, k)) * c.solution.load(w, k)
        value = value / c.factor.load(w, entry(i, i))
        c.solution.store(w, i, select(c.held.load(w, i) == 0.0, value, c.arena.zero()))
    for m in range(n):
        i = n - 1 - m
        value = c.solution.load(w, i)
        for k in range(i + 1, n):
            value = value - c.factor.load(w, entry(k, i)) * c.solution.load(w, k)
        c.solution.store(w, i, value / c.factor.load(w, entry(i, i)))
    for i in range(n):
        c.step.store(w, i, select(c.held.load(w, i) == 0.0, c.solution.load(w, i), c.step.load(w, i)))


@ti.func
def stop_at_bounds(c: ti.template(), w: ti.i32):
    """Hold the unknowns that the step takes beyond a bound there; whether there were any.

    Reads:  c.{best, lower, upper}
    Writes: c.{step, held}
    """
    g = c.targets
    zero = c.arena.zero()
    found = zero
    for k in range(c.n_unknowns):
        i = g.coordinate.at(k)
        if i >= 0:
            x = c.best.load(w, i)
            free = c.held.load(w, k) == 0.0
            step = c.step.load(w, k)
            lower, upper = bounds_in_search(c, w, k)
            side = select(x + step > upper, zero + 1.0, select(x + step < lower, zero - 1.0, zero))
            side = select(free, side, zero)
            bound = select(side > 0.0, upper - x, lower - x)
            c.step.store(w, k, select(side != 0.0, bound, step))
            c.held.store(w, k, select(side != 0.0, side, c.held.load(w, k)))
            found = ti.max(found, ti.abs(side))
    return any_lane(found > 0.0)


@ti.func
def predict(c: ti.template(), w: ti.i32):
    """What the quadratic model says that E loses by the step: -g d - d H d / 2.

    Reads:  c.{step, targets}
    Writes: c.gain
    """
    g = c.targets
    total = c.arena.zero()
    for i in range(c.n_unknowns):
        d = c.step.load(w, i)
        sum = g.gradient.load(w, i) + 0.5 * g.matrix.load(w, entry(i, i)) * d
        for j in range(i):
            sum = sum + g.matrix.load(w, entry(i, j)) * c.step.load(w, j)
        total = total - d * sum
    c.gain.store(w, 0, total)


@ti.func
def move(c: ti.template(), w: ti.i32):
    """Coordinates behind the step; those that are held at bounds are these, to the last bit.

    Reads:  c.{best, step, held, lower, upper}
    Writes: c.{move, state.q}
    """
    g = c.targets
    zero = c.arena.zero()
    for k in range(c.n_unknowns):
        c.move.store(w, g.dof.at(k), c.step.load(w, k))
    retract(c.tables, c.best, c.state.q, c.move, w, zero + 1.0)
    for k in range(c.n_unknowns):
        i = g.coordinate.at(k)
        if i >= 0:
            held = c.held.load(w, k)
            lower, upper = bounds_in_search(c, w, k)
            x = ti.max(ti.min(c.state.q.load(w, i), upper), lower)
            c.state.q.store(w, i, select(held > 0.0, upper, select(held < 0.0, lower, x)))


@ti.func
def is_flat(c: ti.template(), w: ti.i32):
    """1 where no unknown that is free gains anything: the cosine between the gaps and its column.

    Reads: c.{targets, held, cost}
    """
    g = c.targets
    zero = c.arena.zero()
    size = ti.sqrt(2.0 * c.cost.load(w, 0)) * _FLAT
    flat = select(c.cost.load(w, 0) < HUGE_ENERGY, zero + 1.0, zero)
    for k in range(c.n_unknowns):
        slope = select(c.held.load(w, k) == 0.0, ti.abs(g.gradient.load(w, k)), zero)
        bound = size * ti.sqrt(ti.max(g.matrix.load(w, entry(k, k)), zero))
        flat = select(slope > bound, zero, flat)
    return flat


@ti.func
def try_step(c: ti.template(), w: ti.i32):
    """Take the step where it lowers E, and choose the next damping.

    Reads:  c.{best, step, held, gain, bad, cost, going}
    Writes: c.{best, state, damping, growth, curved, settled, moved}
    """
    zero = c.arena.zero()
    one = zero + 1.0
    move(c, w)
    place_all(c.tables, c.state, w)
    measure_kept_rows(c, w)
    new, _far, _turn, _gap = measure_search(c, w)
    going = c.going.load(w, 0)
    bad = c.bad.load(w, 0)
    cost = c.cost.load(w, 0)
    gain = c.gain.load(w, 0)
    better = select(new < cost, going * (1.0 - bad), zero)
    for i in range(c.tables.n_q):
        c.best.store(w, i, select(better > 0.0, c.state.q.load(w, i), c.best.load(w, i)))
    left = new / select(cost > 0.0, cost, one)
    u = 2.0 * (cost - new) / select(gain > 0.0, gain, one) - 1.0
    shrunk = ti.max(zero + 0.1, ti.min(one - u * u * u, one))
    damping = c.damping.load(w, 0)
    growth = c.growth.load(w, 0)
    c.damping.store(w, 0, select(better > 0.0, ti.max(damping * shrunk, zero + _LEAST_DAMPING), damping * growth))
    c.growth.store(w, 0, select(better > 0.0, zero + 2.0, growth * 2.0))
    slow = select(left > _SLOW, one, zero)
    c.curved.store(w, 0, select(better > 0.0, slow, c.curved.load(w, 0) * (1.0 - bad)))
    spent = select(gain < _SPENT * cost, going * (1.0 - bad), zero)
    c.settled.store(w, 0, ti.max(spent, select(gain < _SETTLED * cost, better, zero)))
    c.moved.store(w, 0, better)
    c.count.store(w, 0, c.count.load(w, 0) + going)
