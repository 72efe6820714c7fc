"""Stages that find contacts and solve the one problem of a step with contact (memory.py). Their lists: programs.py."""

from simcli.kernels.collision.detect import detect, place_shapes
from simcli.kernels.complementarity.preparation import push_free
from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Vec3
from simcli.solvers.base import needs
from simcli.solvers.base.gyroscopic_torques import change_of_torque, gains_spin
from simcli.solvers.base.integrators import H
from simcli.solvers.impulses.contact_rhs import BLURRED, carry_surfaces, contact_rhs, set_friction
from simcli.solvers.impulses.contacts import warm_start_contacts, watch_shapes
from simcli.solvers.impulses.direction import turn_directions
from simcli.solvers.impulses.law_rows import BOUNDLESS, wake_bounds
from simcli.solvers.impulses.memory import FAST, FINER
from simcli.solvers.impulses.rows import state_problem, state_row


@ti.func
def watch_places(c: ti.template(), w: ti.i32):
    """Place all shapes where a step starts, and find how far around them it can reach.

    Reads:  c.state of `place_all`
    Writes: c.bound.impulses.contacts
    """
    contacts = c.bound.impulses.contacts
    place_shapes(contacts.collider, c.tables, c.state, w)
    watch_shapes(contacts, c.tables, c.state, w, c.constants.load(w, H))


@ti.func
def detect_all(c: ti.template(), w: ti.i32):
    """Find the contacts of placed shapes.

    Writes: c.bound.impulses.contacts.collider
    """
    detect(c.bound.impulses.contacts.collider, w)


@ti.func
def warm_start_all(c: ti.template(), w: ti.i32):
    """State the contacts that were found, and what they carried before.

    Reads:  c.state of `place_all`
    Writes: c.bound.impulses, p.contacts
    """
    m = c.bound.impulses
    warm_start_contacts(m.contacts, c.tables, c.state, m.problem, w)


@ti.func
def begin_solving(c: ti.template(), w: ti.i32):
    """What a search of an evaluation begins with.

    Reads:  c.state.qd
    Writes: c.now, p.{goal, enough, kappa}, c.bound.impulses.{finest, missed, first, earlier_residual, iterations, awakened}
    """
    m = c.bound.impulses
    p = m.problem
    zero = c.tables.arena.zero()
    finest = find_finest(c, w)
    m.finest.store(w, 0, finest)
    p.enough.store(w, 0, finest)
    p.share.store(w, 0, zero)
    p.goal.store(w, 0, ti.max(finest, m.missed.load(w, 0) * FINER))
    m.missed.store(w, 0, zero)
    m.first.store(w, 0, zero + 1.0)
    m.earlier_residual.store(w, 0, zero + BOUNDLESS)
    p.kappa.store(w, 0, zero + p.limits.kappa)
    m.iterations.store(w, 0, zero)
    m.awakened.store(w, 0, zero + 1.0)
    c.now.store(w, "search", 0)
    c.now.store(w, "statement", 0)
    _turn(c, w, 0)
    c.now.store(w, "searches", m.searches)
    p.now.store(w, "rounds", m.rounds)
    if c.now.load(w, "instant") != 0:
        p.now.store(w, "rounds", m.passes)
        _search_often(c, w)


@ti.func
def find_finest(c: ti.template(), w: ti.i32):
    """[m/s], how finely velocities can be found: the tolerance, or what the fastest of them rounds by.

    Reads: c.state.{qd, origin, o}
    """
    fastest = c.tables.arena.zero()
    for n in range(c.bound.system.n_dofs):
        fastest = ti.max(fastest, ti.abs(c.state.qd.load(w, c.tables.tree_dof.at(n))))
    return local(ti.max(fastest * c.bound.impulses.problem.limits.rounding, _tolerance(c, w)))


def _tolerance(c, w):
    """[m/s], that of the scene, or what can be met (inside kernels)."""
    m = c.bound.impulses
    return _tolerance_of_rows(c, w) if m.finest_of_rows > 0.0 else m.tolerance


@ti.func
def _tolerance_of_rows(c: ti.template(), w: ti.i32):
    """[m/s], what rigid rows can be held to: in a step they see what places round by.

    Reads: c.state.{origin, o}
    """
    m = c.bound.impulses
    far = c.tables.arena.zero()
    for i in range(c.tables.n_links):
        place = c.state.origin.load(w, c.tables.root.at(i)) + c.state.o.load(w, i)
        for x in ti.static(place.parts):
            far = ti.max(far, ti.abs(x))
    rounds = far * (BLURRED * m.problem.limits.rounding) / c.constants.load(w, H)
    return ti.max(ti.min(rounds, m.finest_of_rows), m.tolerance)


@needs.rolling
def _search_often(c, w):
    c.now.store(w, "searches", number(c.bound.impulses, "passes"))


@ti.func
def begin_correcting(c: ti.template(), w: ti.i32):
    """What a search of a correction begins with: the proximal compliance stays, and the factors with it, while that is fast.

    Reads:  p.{first_residual, progress.kappa}
    Writes: c.now, p.{goal, enough, kappa}, c.bound.impulses.{earlier_residual, awakened}
    """
    m = c.bound.impulses
    p = m.problem
    zero = c.tables.arena.zero()
    p.goal.store(w, 0, m.finest.load(w, 0))
    p.share.store(w, 0, zero + FINER)
    p.enough.store(w, 0, ti.max(m.finest.load(w, 0), m.enough))
    residual = p.first_residual.load(w, 0)
    before, after = p.kappa.load(w, 0), p.progress.kappa.load(w, 0)
    is_fast = (after < before) & (residual < FAST * m.earlier_residual.load(w, 0))
    p.kappa.store(w, 0, select(is_fast, before, after))
    m.earlier_residual.store(w, 0, residual)
    m.awakened.store(w, 0, zero)
    _wake_all(c, w)
    c.now.store(w, "search", 0)
    c.now.store(w, "statement", 1)
    _turn(c, w, 1)
    c.now.store(w, "searches", m.searches)
    p.now.store(w, "rounds", m.rounds)


@needs.turns
def _turn(c, w, turned):
    """Note whether rows have the directions of the poses reached."""
    c.now.store(w, "turned", turned)


@needs.turns
def _wake_all(c, w):
    c.bound.impulses.awakened.store(w, 0, c.tables.arena.zero() + 1.0)


@ti.func
def state(c: ti.template(), w: ti.i32):
    """State the problem at the start of a step."""
    state_problem(c, w, c.b.load(w, 0), c.constants.load(w, H), c.g.load(w, 0), c.now.load(w, "instant"))


@ti.func
def turn_first(c: ti.template(), w: ti.i32):
    """Directions of rows where the mass matrix is new."""
    turn_directions(c, w, c.constants.load(w, H), 1)


@ti.func
def turn_again(c: ti.template(), w: ti.i32):
    """Directions of rows at the poses reached."""
    turn_directions(c, w, c.constants.load(w, H), 0)


@ti.func
def turn_held(c: ti.template(), w: ti.i32):
    """Give bodies that are held the gyroscopic torques of the velocities found, where these change more than rounding.

    Where directions turn the momentum is stated anew, and takes them; else the free velocity does.

    Reads:  p.velocity, c.gyroscopes
    Writes: p.{push, free, known}, c.bound.impulses.load, c.gyroscopes.rest
    """
    o = c.gyroscopes
    p = c.bound.impulses.problem
    zero = c.tables.arena.zero()
    h = c.constants.load(w, H)
    _forget_push(c, w)
    turned = zero
    for n in range(o.n):
        if o.carries.at(n) + o.is_alone.at(n) == 0:
            last = p.n_given - 1 - c.tables.unknown.at(o.first_qd.at(n))  # tips first
            ends = Vec3(p.velocity.load(w, last), p.velocity.load(w, last - 1), p.velocity.load(w, last - 2))
            moves = gains_spin(c, w, n, ends, h) > c.bound.impulses.finest.load(w, 0)
            change = change_of_torque(c, w, n, ends, moves)
            turned = select(moves, zero + 1.0, turned)
            for k in ti.static(range(3)):
                p.push.store(w, last - k, p.push.load(w, last - k) + change.parts[k] * h)
                _keep_change(c, w, last - k, change.parts[k] * h)
    _free_again(c, w, turned)


@needs.turns
def _keep_change(c, w, a, given):
    load = c.bound.impulses.load
    load.store(w, a, load.load(w, a) + given)


@needs.fixed_directions
@ti.func
def _forget_push(c: ti.template(), w: ti.i32):
    for a in range(c.bound.impulses.problem.n):
        c.bound.impulses.problem.push.store(w, a, c.tables.arena.zero())


@needs.fixed_directions
@ti.func
def _free_again(c: ti.template(), w: ti.i32, turned: ti.template()):
    """Add the velocities that the pushes give to the free ones."""
    p = c.bound.impulses.problem
    if any_lane(turned != 0.0):
        push_free(p, w)
    p.known.store(w, 0, select(turned != 0.0, turned * 0.0, p.known.load(w, 0)))


def is_awake(c, w):
    """The worlds whose rows are to be stated."""
    return c.bound.impulses.awakened.load(w, 0) != 0.0


def is_first_search(c, w):
    """Whether no search was made yet."""
    return c.tables.arena.zero() + ti.cast(c.now.load(w, "search") == 0, c.tables.arena.device.real) != 0.0


@ti.func
def state_rows(c: ti.template(), w: ti.i32):
    """Rows of joints, laws and motions; from the second time on with the bounds that have been passed."""
    for n in range(c.bound.impulses.n_plain):
        state_row(c, w, n, c.g.load(w, 0), c.now.load(w, "statement"))


@ti.func
def contact_rhs_of_all(c: ti.template(), w: ti.i32):
    """Friction of contacts, and what they are to reach."""
    m = c.bound.impulses
    if ti.static(m.contacts.has_moving_surfaces):
        carry_surfaces(m.contacts, c.state, m.problem, w)
    set_friction(m.contacts, m.problem, w, m.start)
    contact_rhs(m.contacts, c.tables, c.state, m.problem, w, m.start, c.constants.load(w, H))


@ti.func
def count_iterations(c: ti.template(), w: ti.i32):
    """Add the Newton steps of a search to those of the step.

    Writes: c.bound.impulses.iterations
    """
    m = c.bound.impulses
    m.iterations.store(w, 0, m.iterations.load(w, 0) + m.problem.iterations.load(w, 0))


@ti.func
def note_search(c: ti.template(), w: ti.i32):
    """A search is over, and its rows are stated.

    Writes: c.now, c.bound.impulses.awakened
    """
    c.bound.impulses.awakened.store(w, 0, c.tables.arena.zero())
    c.now.store(w, "search", c.now.load(w, "search") + 1)


@ti.func
def wake(c: ti.template(), w: ti.i32):
    """After the first search of an evaluation, wake the worlds in which a bound was passed that was thought to be far."""
    if c.now.load(w, "search") == 1 and c.now.load(w, "statement") == 0:
        wake_bounds(c, w, c.g.load(w, 0))
    c.now.store(w, "statement", 1)


def searches_again(c, w):
    """The worlds that search again: because bounds woke, or for the bounds of spins and of drives of balls."""
    m = c.bound.impulses
    found = m.awakened.load(w, 0) != 0.0
    if not m.has_spins and not c.bound.system.laws.has_shared_limit:
        return found
    more = ti.cast(c.now.load(w, "search") < c.now.load(w, "searches"), c.tables.arena.device.real)
    wants = 1.0 if c.bound.system.laws.has_shared_limit else m.spins.load(w, 0)
    return found | (wants * more != c.tables.arena.zero())


@ti.func
def note_residual(c: ti.template(), w: ti.i32):
    """Note what the last search began with, and whether that is too much.

    Reads:  p.{first_residual, enough, residual}
    Writes: c.bound.{worst, impulses.residual}
    """
    m = c.bound.impulses
    zero = c.tables.arena.zero()
    residual = m.problem.first_residual.load(w, 0)
    too_much = residual >= m.problem.enough.load(w, 0)
    c.bound.worst.store(w, 0, select(too_much, zero + 1.0, zero))
    m.residual.store(w, 0, select(too_much, m.problem.residual.load(w, 0), residual))


@ti.func
def note_missed(c: ti.template(), w: ti.i32):
    """Note what the first solution of a step lacks at the poses reached.

    Reads:  p.first_residual
    Writes: c.bound.impulses.{missed, first}
    """
    m = c.bound.impulses
    m.missed.store(w, 0, select(m.first.load(w, 0) != 0.0, m.problem.first_residual.load(w, 0), m.missed.load(w, 0)))
    m.first.store(w, 0, c.tables.arena.zero())
