"""How a step of impulses ends: what contacts leave for the next one, what they take, and a look back to where it began.

Source: Jean (1999), the step in impulses. Deviation: none.
"""

from simcli.kernels.articulation.contact_places import find_gaps
from simcli.kernels.articulation.contacts import force_of_contact
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.measure import contact_speed, triple_speed
from simcli.kernels.device.crew import in_parts, items_of_part
from simcli.kernels.device.lanes import whole_of
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.device.stage_lists import when
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts
from simcli.kernels.language.expressions import local
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Vec3
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.impulses.contact_rhs import STILL, gap_above_rounding
from simcli.solvers.impulses.contacts import note_lag
from simcli.solvers.impulses.mass import mirrored
from simcli.solvers.rows.islands import jumps_of
from simcli.solvers.rows.motion_work import add_late_holds


def finishing(c) -> tuple:
    """Stages after the last move of a step of impulses.

    Args:
        c: core of the run.
    """
    return (*when(c.is_large, forget_kept, keep_contacts), finish_impulses)


@in_parts
@ti.func
def forget_kept(c: ti.template(), w: ti.i32):
    """Contacts stand nowhere yet, in a large world."""
    forget_places(c.bound.impulses.contacts, w)


@in_parts
@ti.func
def keep_contacts(c: ti.template(), w: ti.i32):
    """What contacts of a large world leave for the next step, and what they take.

    Writes: c.bound.impulses.{contacts, problem}
    """
    m, h = c.bound.impulses, c.constants.load(w, H)
    remember(m.contacts, m.problem, w, h)
    drop_open_contacts(m.contacts, m.problem, w, h)
    note_losses(m.contacts, m.problem, w, m.start)


@ti.func
def finish_impulses(c: ti.template(), w: ti.i32):
    """Velocities at the end of the step, and its work.

    Reads:  c
    Writes: c.state.qd, c.forces.account.work, c.bound.impulses
    """
    keep_impulses(c, w)
    add_late_holds(c, w)
    for n in range(c.bound.system.n_dofs):
        v = c.bound.impulses.problem.velocity.load(w, mirrored(c.bound.system, n))
        c.state.qd.store(w, c.tables.tree_dof.at(n), v)


@ti.func
def keep_impulses(c: ti.template(), w: ti.i32):
    """What a step that is over leaves for the next one and for the frame.

    Reads:  c.bound.impulses
    Writes: c.bound.{impulses, tries}, c.forces.account.work
    """
    m = c.bound.impulses
    _remember(c, w)
    copy(m.kept, m.problem.rows.impulse, m.n_plain, w)
    c.bound.tries.store(w, 0, m.iterations.load(w, 0))
    _book_loss(c, w)


@needs.touching
def _remember(c, w):
    m = c.bound.impulses
    if not c.is_large:
        forget_places(m.contacts, w)
        remember(m.contacts, m.problem, w, c.constants.load(w, H))
    m.contacts.known.store(w, 0, m.contacts.collider.contacts.count.load(w, 0))
    if c.is_natural:
        find_gaps(m.contacts.collider, c.tables, c.state, w)
    if m.contacts.lag is None:
        note_lag(m.contacts, w, jumps_of(c), number(c.bound.islands, "n"))
    if not c.is_large:
        drop_open_contacts(m.contacts, m.problem, w, c.constants.load(w, H))


@needs.touching
def _book_loss(c, w):
    m = c.bound.impulses
    account, loss = c.forces.account, contact_loss(m.contacts, m.problem, w, m.start)
    if m.contacts.has_moving_surfaces:
        supplied = work_of_surfaces(m.contacts, m.problem, w)
        account.supply(w, supplied)
        loss = loss + supplied
    account.dissipate(w, ti.max(loss, c.tables.arena.zero()))


@ti.func
def forget_places(k: ti.template(), w: ti.i32):
    """Contacts of lower shapes stand nowhere, till `remember` notes where.

    Writes: k.{begun, ended}
    """
    first, end = items_of_part(k.collider.arena, w, k.begun.n_items)
    for i in range(first, end):
        k.begun.store(w, i, k.collider.arena.zero())
        k.ended.store(w, i, k.collider.arena.zero())


@ti.func
def remember(k: ti.template(), p: ti.template(), w: ti.i32, h: ti.template()):
    """Keep the contacts of a step that is over, after `forget_places`; then `k.known` are those of the table.

    What was found and is off, as in a world that has taken a smooth step, carried nothing, and slips as what is new.

    Reads:  k.collider.contacts, p.{contacts, velocity, stated}
    Writes: p.contacts.speed, k.{low, high, begun, ended, feature, impulse, place, slips, bend}
    """
    table = k.collider.contacts
    zero = p.arena.zero()
    no_impulse = Vec3(zero, zero, zero)
    first, behind = items_of_part(p.arena, w, whole(p.live, w, 1))
    for c in range(first, behind):
        p.contacts.speed.store(w, c, contact_speed(p, w, c, p.velocity))
    begin, end = items_of_part(p.arena, w, whole(p.stated, w, 0))
    for c in range(begin, end):  # of a block of which all are off none is live
        on = p.contacts.on.load(w, c) != 0.0
        a, b = table.shape_a.load(w, c), table.shape_b.load(w, c)
        k.low.store(w, c, ti.min(a, b))
        k.high.store(w, c, ti.max(a, b))
        _note_place(k, p, w, c)
        k.feature.store(w, c, table.feature.load(w, c))
        k.place.store(w, c, table.point.load(w, c))
        force = force_of_contact(k.collider, p.contacts.impulse, w, None, c)
        k.impulse.store(w, c, select_parts(on, force, no_impulse))
        u = (p.contacts.speed.load(w, c) + p.contacts.bias.load(w, c)).parts
        gap = gap_above_rounding(k, p, w, None, c, table.gap.load(w, c))
        bend = p.contacts.bias.load(w, c).parts[0] - (gap - k.target.load(w, c)) / h
        k.bend.store(w, c, select(on & (k.bounces.load(w, c) == 0.0), bend, zero))
        slips = select(u[1] * u[1] + u[2] * u[2] > STILL * STILL, zero + 1.0, zero)
        k.slips.store(w, c, select(on, slips, zero - 1.0))


def _note_place(k, p, w, c):
    """Note where the contacts of the lower shape of contact c begin and end, if this is the first or the last of them."""
    if k.collider.has_many:
        _note_place_of(k, p, w, c)


@ti.func
def _note_place_of(k: ti.template(), p: ti.template(), w: ti.i32, c: ti.i32):
    here, low = k.known.load(w, 0) * 0.0 + c, _lower_shape(k, w, c)
    if c == 0 or _lower_shape(k, w, ti.max(c - 1, 0)) != low:
        k.begun.store(w, low, here)
    last = whole(p.stated, w, 0) - 1
    if c == last or _lower_shape(k, w, ti.min(c + 1, last)) != low:
        k.ended.store(w, low, here + 1.0)


def _lower_shape(k, w, c):
    """The lower one of the shapes of a contact (inside kernels)."""
    table = k.collider.contacts
    return ti.min(whole_of(table.shape_a, w, 0, c), whole_of(table.shape_b, w, 0, c))


@ti.func
def drop_open_contacts(k: ti.template(), p: ti.template(), w: ti.i32, h: ti.template()):
    """Contacts that a step leaves open carry nothing: what is left of their impulses is the tolerance of the solution.

    Reads:  k.{bounces, collider.contacts.reach}, p.contacts.{on, metric}
    Writes: p.contacts.impulse, k.impulse
    """
    first, end = items_of_part(p.arena, w, whole(p.live, w, 1))
    for c in range(first, end):
        x = p.contacts.impulse.load(w, c)
        none = Vec3(x.parts[0] * 0.0, x.parts[0] * 0.0, x.parts[0] * 0.0)
        gap = gap_above_rounding(k, p, w, None, c, k.collider.contacts.reach.load(w, c))
        is_open = (p.contacts.on.load(w, c) != 0.0) & (k.bounces.load(w, c) == 0.0) & (gap > h * p.limits.exact)
        is_open = is_open & (x.parts[0] * p.contacts.metric.load(w, c).parts[0] < p.limits.exact)
        p.contacts.impulse.store(w, c, select_parts(is_open, none, x))
        k.impulse.store(w, c, select_parts(is_open, none, k.impulse.load(w, c)))


@ti.func
def contact_loss(k: ti.template(), p: ti.template(), w: ti.i32, v: ti.template()):
    """[J] that the contacts take in a step: -x . J (v + v found) / 2; what is negative, to take an overlap back, is drift.

    Normal forces of compliant contacts take nothing: `contact_energy` has what they store.

    Args:
        v: (n) velocities at the start of the step.

    Reads: p.spins, p.contacts.{impulse, speed}, the latter of `remember`; of a large world k.lost of `note_losses`
    """
    total = p.arena.zero()
    for c in range(whole(p.live, w, 1)):
        total = total - (k.lost.load(w, c) if ti.static(p.is_large) else _loss_of_contact(p, w, c, v))
    for spins in ti.static(p.triples[1:]):
        for c in range(whole(p.live, w, 1)):
            speed = triple_speed(p, spins, w, c, v) + triple_speed(p, spins, w, c, p.velocity)
            lost = spins.impulse.load(w, c).dot(speed) * 0.5
            total = total - select(spins.on.load(w, c) != 0.0, lost, lost * 0.0)
    return local(total)


@ti.func
def note_losses(k: ti.template(), p: ti.template(), w: ti.i32, v: ti.template()):
    """What `contact_loss` sums.

    Writes: k.lost
    """
    first, end = items_of_part(p.arena, w, whole(p.live, w, 1))
    for c in range(first, end):
        k.lost.store(w, c, _loss_of_contact(p, w, c, v))


@ti.func
def _loss_of_contact(p: ti.template(), w: ti.i32, c: ti.i32, v: ti.template()):
    on = p.contacts.on.load(w, c) != 0.0
    x = p.contacts.impulse.load(w, c)
    speed = contact_speed(p, w, c, v) + p.contacts.speed.load(w, c)
    x = Vec3(select(p.contacts.compliance.load(w, c).parts[0] > 0.0, x.parts[0] * 0.0, x.parts[0]), *x.parts[1:])
    return select(on, x.dot(speed) * 0.5, x.parts[0] * 0.0)


@ti.func
def work_of_surfaces(k: ti.template(), p: ti.template(), w: ti.i32):
    """[J] that surfaces put in which move along themselves: -x . u of each contact, u the velocity that they add to J v.

    Reads: k.carried, p.contacts.impulse
    """
    total = p.arena.zero()
    for c in range(whole(p.live, w, 1)):
        given = p.contacts.impulse.load(w, c).dot(k.carried.load(w, c))
        total = total - select(p.contacts.on.load(w, c) != 0.0, given, given * 0.0)
    return local(total)


@ti.func
def look_back(c: ti.template(), w: ti.i32):
    """Go back to where the last step began, for a look.

    Writes: c.state.{q, qd}, c.bound.{q_kept, move}
    """
    s = c.state
    copy(c.bound.q_kept, s.q, c.tables.n_q, w)
    copy(c.bound.move, s.qd, c.tables.n_qd, w)
    copy(s.q, _start_of(c), c.tables.n_q, w)
    _take_start(c, w)


def _start_of(c):
    """Coordinates where the last step began (inside kernels): those of corrections begin at its nodes, if it has several."""
    return c.bound.q_start if c.stages == 1 or c.by_impulses else c.q_base


def _take_start(c, w):
    """Velocities where the last step began (inside kernels).

    Writes: c.state.qd
    """
    if c.by_impulses:
        _take_start_of_impulses(c, w)
    elif c.is_natural:
        _take_start_of_solution(c, w)
    elif c.stages > 1:
        copy(c.state.qd, c.qd_base, c.tables.n_qd, w)
    else:
        _take_start_of_accelerations(c, w)


@ti.func
def _take_start_of_impulses(c: ti.template(), w: ti.i32):
    for n in range(c.bound.system.n_dofs):
        c.state.qd.store(w, c.tables.tree_dof.at(n), c.bound.impulses.start.load(w, mirrored(c.bound.system, n)))


@ti.func
def _take_start_of_solution(c: ti.template(), w: ti.i32):
    for n in range(c.bound.system.n_dofs):
        c.state.qd.store(w, c.tables.tree_dof.at(n), c.bound.begun.load(w, n))


@ti.func
def _take_start_of_accelerations(c: ti.template(), w: ti.i32):
    h = c.constants.load(w, H)
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        c.state.qd.store(w, d, c.state.qd.load(w, d) - c.state.qdd.load(w, d) * h)


@ti.func
def look_ahead(c: ti.template(), w: ti.i32):
    """Return to where the last step has ended.

    Writes: c.state.{q, qd}
    """
    copy(c.state.q, c.bound.q_kept, c.tables.n_q, w)
    copy(c.state.qd, c.bound.move, c.tables.n_qd, w)
