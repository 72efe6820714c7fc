"""The rows of the problem of a step with contact: what joints, laws, motions and contacts state.

Hard rows vanish where the step ends; laws become rows with bounds. Called by impulses/stages.py.

    row         w [m/s, rad/s]                        bounds of x
    hard        phi(q(v)) / h + e x                   none
    motion      v - speed                             none
    drive       v - c1/g1 + x/(h g1)                  h effort limit      of lambda = c1 - g1 v
    linear      the same, of what has no limit        none, on coordinates of joints in large worlds
    friction    v                                     h f
    lower       v - lo                                x >= 0
    upper       hi - v                                x >= 0
    spins       (n, t_1, t_2) . (w_B - w_A)           |x_n|, |x_t| within torsional and rolling friction, see contact_rhs.py

Everything else of a law is linear, c - g v, and goes into M and F; in large worlds, where M holds
bodies apart, into rows.

Source: Jean (1999), the step in impulses. Deviation: bounds that are far are rows only once they have been passed.
"""

from simcli.kernels.collision.table_rows import contacts_of
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.islands import ITS_ROWS, member, members_of_part
from simcli.kernels.device.arena import local
from simcli.kernels.device.crew import in_parts
from simcli.kernels.device.lanes import one, put, whole_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Vec3
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.impulses.contact_rhs import contact_rhs_again
from simcli.solvers.impulses.direction import find_stiffness
from simcli.solvers.impulses.law_rows import BOUNDLESS, HARD, MOTION, UPPER, row_of_law
from simcli.solvers.impulses.mass import mirrored, row_velocity, state_mass
from simcli.solvers.rows.active_set import state_laws
from simcli.solvers.rows.equations import is_slip, push_rows, set_drags, set_hard_rows, set_springs
from simcli.solvers.rows.islands import span_at
from simcli.solvers.rows.motions import end_speed_of_lock, speed_of_lock


@ti.func
def state_problem(c: ti.template(), w: ti.i32, b: ti.template(), h: ti.template(), g: ti.template(), instant: ti.i32):
    """Mass matrix, momentum, rows and contacts at the start of a step.

    Reads:  c
    Writes: c.bound.{system, impulses}
    """
    y = c.bound.system
    find_stiffness(c, w, h)
    state_laws(c, w, 0, b, h, g, instant)
    begin_dofs(c, w, g)
    set_hard_rows(c, w, 0, b, h, g, instant)
    set_springs(c, w, 0, b)
    set_drags(c, w, 0, b)
    _forget_laws(c, w)
    push_rows(y, w)
    state_mass(c, w, g)
    for n in range(y.n_dofs):
        c.bound.impulses.problem.push.store(w, mirrored(y, n), y.load.load(w, n) * span_at(c, w, c.g, n, g))
        _keep_load(c, w, n, h)
    state_spins(c, w)


@needs.rolling
@ti.func
def state_spins(c: ti.template(), w: ti.i32):
    """Spins, on where contacts have rolling or torsional friction.

    Writes: p.spins.{on, bias, compliance, impulse}, c.bound.impulses.spins
    """
    m = c.bound.impulses
    s = m.problem.spins
    k = m.contacts.collider
    zero = c.tables.arena.zero()
    nothing = Vec3(zero, zero, zero)
    for n in range(whole(m.problem.stated, w, 0)):
        s.on.store(w, n, zero)
        s.bias.store(w, n, nothing)
        s.compliance.store(w, n, nothing)
        s.impulse.store(w, n, nothing)
    m.spins.store(w, 0, zero)
    for lane in range(k.lanes):
        for n in range(contacts_of(k, w, lane)):
            combination = whole_of(k.contacts.combination, w, lane, n)
            if one(k.torsional_friction, w, lane, combination) + one(k.rolling_friction, w, lane, combination) > 0.0:
                put(s.on, w, lane, n, 1.0)
                put(m.spins, w, lane, 0, 1.0)


@needs.laws
@ti.func
def _forget_laws(c: ti.template(), w: ti.i32):
    """Laws have rows of their own."""
    y = c.bound.system
    for n in range(y.laws.n):
        if y.laws.row.at(n) >= 0:
            y.goal.store(w, y.n_dofs + y.laws.row.at(n), c.tables.arena.zero())


@needs.turns
def _keep_load(c, w, n, h):
    y = c.bound.system
    c.bound.impulses.load.store(w, mirrored(y, n), y.load.load(w, n) * h)


@ti.func
def begin_dofs(c: ti.template(), w: ti.i32, g: ti.template()):
    """Velocities at the start of the step, and the forces on dofs without those of rows.

    Reads:  c.state.{q, qd}, c.bound.base, c.motions
    Writes: c.bound.system.{free, load, effort}, c.bound.impulses.start, p.free, c.bound.move of prescribed dofs
    """
    y = c.bound.system
    t = c.tables
    m = c.bound.impulses
    zero = t.arena.zero()
    for n in range(y.n_dofs):
        y.free.store(w, n, zero + 1.0)
        y.load.store(w, n, c.bound.base.load(w, n))
        y.effort.store(w, n, zero)
        v = c.state.qd.load(w, t.tree_dof.at(n))
        m.start.store(w, mirrored(y, n), v)
        m.problem.free.store(w, mirrored(y, n), v)
    _free_no_lock(c, w)
    _move_with_locks(c, w, g)


@needs.moved_apart
@ti.func
def _move_with_locks(c: ti.template(), w: ti.i32, g: ti.template()):
    """What moves prescribed dofs is not the velocity that they end with.

    Writes: c.bound.move
    """
    for k in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(k)
        c.bound.move.store(w, d, speed_of_lock(c, w, k, span_at(c, w, c.g, c.tables.unknown.at(d), g)))


@needs.natural
@ti.func
def _free_no_lock(c: ti.template(), w: ti.i32):
    """What motions lock, corrections lock, too."""
    for k in range(c.motions.n_locks):
        c.bound.system.free.store(w, c.tables.unknown.at(c.motions.lock_dof.at(k)), c.tables.arena.zero())


@ti.func
def begin_again(c: ti.template(), w: ti.i32):
    """Begin again with the momentum of the start of the step.

    Writes: p.{free, push}
    """
    m = c.bound.impulses
    for n in range(c.bound.system.n_dofs):
        m.problem.free.store(w, n, m.start.load(w, n))
        m.problem.push.store(w, n, m.load.load(w, n))


@ti.func
def state_row(c: ti.template(), w: ti.i32, n: ti.i32, h: ti.template(), statement: ti.i32):
    """Row n of the problem, in the second statement with the bounds that the first one has passed.

    Args:
        h: [s], over which forces act on the velocity that moves the coordinates.

    Reads:  c.bound
    Writes: p.rows.{on, jacobian, bias, compliance, impulse}, p.{lower, upper}
    """
    y = c.bound.system
    m = c.bound.impulses
    zero = c.tables.arena.zero()
    kind = m.kind.at(n)
    item = m.item.at(n)
    on = zero == 0.0
    bias = zero
    soft = zero
    lower = zero - BOUNDLESS
    upper = zero + BOUNDLESS
    sign = ti.cast(1.0, c.tables.arena.device.real)
    row = -1
    unknown = -1
    if kind == HARD:
        row = item
        on = y.free.load(w, y.n_dofs + item) != 0.0
        own_h = span_at(c, w, c.g, y.n_dofs + item, h)
        bias = -row_velocity(c, w, item, m.start) - y.load.load(w, y.n_dofs + item) * own_h
        soft = softness_of(c, w, item)
    elif kind == MOTION:
        unknown = c.tables.unknown.at(c.motions.lock_dof.at(item))
        bias = -end_speed_of_lock(c, w, item, span_at(c, w, c.g, unknown, h))
    else:
        if ti.static(y.laws.n > 0):
            sign = ti.select(kind == UPPER, -sign, sign)
            unknown = y.laws.unknown.at(item)
            if unknown >= y.n_dofs:
                row = unknown - y.n_dofs
            on, bias, soft, lower, upper = row_of_law(c, w, n, kind, item, sign, span_at(c, w, c.g, unknown, h), statement)
    store_row(c, w, n, row, unknown, sign, on, bias, soft, lower, upper, statement)


@ti.func
def store_row(
    c: ti.template(),
    w: ti.i32,
    n: ti.i32,
    row: ti.i32,
    unknown: ti.i32,
    sign: ti.template(),
    on: ti.template(),
    bias: ti.template(),
    soft: ti.template(),
    lower: ti.template(),
    upper: ti.template(),
    statement: ti.i32,
):
    """Write row n of the problem; the first statement begins with the impulses of the last step.

    Args:
        row: of the system, which it sees the velocities of, times the sign; if -1, it sees one unknown alone.
        unknown: that one.
        on: mask of the worlds in which the row acts.
        bias: [m/s, rad/s], of its velocity besides J v.
        soft: [m/s per N s, rad/s per N m s], what an impulse adds to it.
        lower, upper: [N s, N m s], bounds of its impulse.
        statement: 0 for the first of a step.

    Reads:  c.bound.{system.entry, impulses.kept}
    Writes: p.rows.{on, jacobian, metric, bias, compliance, impulse}, p.{lower, upper}
    """
    m = c.bound.impulses
    p = m.problem
    zero = c.tables.arena.zero()
    # What is off is zero, for a row that is on in another world of the block may be looked at.
    on_or_zero = select(on, zero + 1.0, zero)
    if row >= 0:
        fill_row(c, w, n, row, on_or_zero * sign)
    else:
        fill_single(c, w, n, unknown, on_or_zero * sign)
    p.rows.on.store(w, n, on_or_zero)
    p.rows.metric.store(w, n, select(on, p.rows.metric.load(w, n), zero + 1.0))
    p.rows.bias.store(w, n, select(on, bias, zero))
    p.rows.compliance.store(w, n, select(on, soft, zero))
    if statement == 0:
        p.rows.impulse.store(w, n, select(on, m.kept.load(w, n), zero))
    p.lower.store(w, n, select(on, lower, zero))
    p.upper.store(w, n, select(on, upper, zero))


def fill_row(c, w, n, r, sign):
    """Row n of the problem sees what row r of the system sees, times a sign (inside kernels).

    Writes: p.rows.jacobian
    """
    (_fill_sparse if c.bound.impulses.problem.is_large else _fill_dense)(c, w, n, r, sign)


@ti.func
def _fill_sparse(c: ti.template(), w: ti.i32, n: ti.i32, r: ti.i32, sign: ti.template()):
    y = c.bound.system
    p = c.bound.impulses.problem
    first = y.j_start.at(r)
    for e in range(first, y.j_start.at(r + 1)):
        p.large.value.store(w, p.large.start.at(n) + e - first, y.entry.load(w, y.n_mass + e) * sign)


@ti.func
def _fill_dense(c: ti.template(), w: ti.i32, n: ti.i32, r: ti.i32, sign: ti.template()):
    y = c.bound.system
    p = c.bound.impulses.problem
    for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
        p.rows.jacobian.store(w, n * p.n + mirrored(y, y.end_j.at(y.n_mass + e)), c.tables.arena.zero())
    for e in range(y.j_start.at(r), y.j_start.at(r + 1)):  # a dof may come twice
        at = n * p.n + mirrored(y, y.end_j.at(y.n_mass + e))
        p.rows.jacobian.store(w, at, p.rows.jacobian.load(w, at) + y.entry.load(w, y.n_mass + e) * sign)


def fill_single(c, w, n, i, sign):
    """Row n of the problem sees unknown i alone, times a sign (inside kernels).

    Writes: p.rows.jacobian
    """
    p = c.bound.impulses.problem
    value = c.tables.arena.zero() + sign
    if p.is_large:
        p.large.value.store(w, p.large.start.at(n), value)
    else:
        p.rows.jacobian.store(w, n * number(p, "n") + mirrored(c.bound.system, i), value)


def softness_of(c, w, r):
    """[m/s per N s] of a compliant row or a spring; 0 of a rigid one, which is soft for its solutions (inside kernels)."""
    y = c.bound.system
    soft = local(y.soft.load(w, r))
    yields = local(y.compliance.load(w, r) + is_soft(y, r) > 0.0)
    return select(yields, soft, soft * 0.0)


def is_soft(y, r):
    """1 for rows of springs and drags, else 0 (inside kernels)."""
    is_spring = ti.cast(y.spring.at(r) >= 0, ti.i32) if y.n_springs else 0
    return is_spring + (y.is_dragged.at(r) if y.n_drags else 0)


@in_parts
@ti.func
def state_residual(c: ti.template(), w: ti.i32):
    """What rigid rows and contacts lack at the poses that the velocities found have reached.

        w = phi(q) / h + J (v - v found) + e x

    Reads:  c.bound.{system.rows.residual, impulses}
    Writes: p.{rows, contacts}.bias
    """
    h = c.constants.load(w, H)
    y = c.bound.system
    m = c.bound.impulses
    p = m.problem
    first, end = members_of_part(p, w, ITS_ROWS, m.n_plain)
    for k in range(first, end):
        n = member(p, w, ITS_ROWS, k)
        if m.kind.at(n) == HARD:
            r = m.item.at(n)
            if is_soft(y, r) + is_slip(y, r) == 0:  # a velocity is met along the directions that the step has
                p.rows.bias.store(w, n, y.rows.residual.load(w, r) / h - row_velocity(c, w, r, p.velocity))
    _contact_rhs_again(c, w, h)


@needs.touching
def _contact_rhs_again(c, w, h):
    m = c.bound.impulses
    contact_rhs_again(m.contacts, m.problem, w, h)
