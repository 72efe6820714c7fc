"""Contact in natural coordinates: which steps are of impulses, and what frames show of the step that ends there.

A step in which nothing touches is smooth (programs.py), and a world finds that out by trying: where contacts are near it
takes the step of impulses, and where none of them carries anything, nor would be passed by the smooth step, takes that. So
does each of its islands (rows/islands.py).

The projection of the velocities of such a step and the evaluation of the instant use the memory of the step: what it has
found is kept before them, and recalled where the frame shows the step. With shapes that can touch, all frames do. Else those
do in which a law holds a coordinate: where that ends a step, or begins one, and where the instant foresees a stop, of the
step after it.

Stages; rows/memory.py says what `c` holds.
"""

from simcli.kernels.collision.table_rows import contacts_of
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.measure import contact_speed
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import get_lane
from simcli.kernels.language.values import Vec3
from simcli.kernels.rows.bounded_laws import FREE
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.rows.islands import drop_contacts, island_of, jumps_of, keep_shown, note_islands


@ti.func
def select_contact_worlds(c: ti.template(), w: ti.i32):
    """Take a step of impulses in the worlds, or islands, that have contacts; where laws stop something, in all.

    Writes: c.bound.{velocity_jump, jumps, parts}
    """
    zero = c.tables.arena.zero()
    smooth = _may_be_smooth(c) & (c.bound.impulses.contacts.collider.contacts.count.load(w, 0) == 0.0)
    c.bound.velocity_jump.store(w, 0, select(smooth, zero, zero + 1.0))
    c.bound.parts.store(w, 0, zero)
    _select_islands(c, w)


def _may_be_smooth(c):
    """Mask of the worlds in which no law stops something: of all or none (inside kernels)."""
    zero = c.tables.arena.zero()
    return zero != 0.0 if c.bound.impulses.is_bounded else zero == 0.0


@needs.islands
@ti.func
def _select_islands(c: ti.template(), w: ti.i32):
    for k in range(c.bound.islands.n):
        c.bound.jumps.store(w, k, c.tables.arena.zero() + ti.cast(c.bound.islands.stops.at(k), c.tables.arena.device.real))
    for lane in range(c.lanes):
        for n in range(contacts_of(c.bound.impulses.contacts.collider, w, lane)):
            note_islands(c, w, lane, n, c.bound.jumps, 1.0)


@ti.func
def part_contacts(c: ti.template(), w: ti.i32):
    """Take a world where `note_smooth` has seen that nothing touches as one without contacts; or its islands of that kind.

    Writes: c.bound.{velocity_jump, jumps}, p.{contacts, centre}
    """
    if ti.static(c.bound.islands.are_many):
        _part_islands(c, w)
    else:
        _part_world(c, w)


@ti.func
def _part_islands(c: ti.template(), w: ti.i32):
    for k in range(c.bound.islands.n):
        c.bound.jumps.store(w, k, c.bound.jumps.load(w, k) * (1.0 - c.bound.parts_of.load(w, k)))
    drop_contacts(c, w)


@ti.func
def _part_world(c: ti.template(), w: ti.i32):
    p = c.bound.impulses.problem
    zero = c.tables.arena.zero()
    c.bound.velocity_jump.store(w, 0, zero)
    for n in range(whole(p.stated, w, 0)):
        p.contacts.on.store(w, n, zero)
        p.contacts.impulse.store(w, n, Vec3(zero, zero, zero))
        p.centre.store(w, n, Vec3(zero, zero, zero))


@ti.func
def note_smooth(c: ti.template(), w: ti.i32):
    """Note the worlds in which no contact carries anything, nor would be passed by a step without impulses; or the islands.

    Reads:  p.{contacts, velocity}, c.bound.{velocity_jump, impulses}
    Writes: c.bound.{parts, parts_of}
    """
    p = c.bound.impulses.problem
    zero = c.tables.arena.zero()
    parts = _may_be_smooth(c) & (c.bound.velocity_jump.load(w, 0) > 0.0)
    _begin_parts(c, w)
    for n in range(whole(p.live, w, 1)):
        acts = _acts(c, w, n)
        _keep_islands(c, w, n, acts)
        parts = parts & ~acts
    c.bound.parts.store(w, 0, select(parts, zero + 1.0, zero))
    _end_parts(c, w)


@ti.func
def _acts(c: ti.template(), w: ti.i32, n: ti.i32):
    """Mask of the worlds in which contact n carries something, or would be passed by a step without impulses."""
    m = c.bound.impulses
    p = m.problem
    on = p.contacts.on.load(w, n) != 0.0
    speed = contact_speed(p, w, n, m.start) + contact_speed(p, w, n, p.velocity)
    passes = m.contacts.collider.contacts.gap.load(w, n) + speed.parts[0] * c.constants.load(w, H) * 0.5 < 0.0
    carries = p.contacts.impulse.load(w, n).parts[0] * p.contacts.metric.load(w, n).parts[0] > p.limits.tolerance
    return on & (passes | carries)


@needs.islands
@ti.func
def _begin_parts(c: ti.template(), w: ti.i32):
    for k in range(c.bound.islands.n):
        stops = ti.cast(c.bound.islands.stops.at(k), c.tables.arena.device.real)
        c.bound.parts_of.store(w, k, c.bound.jumps.load(w, k) * (1.0 - stops))


@needs.islands
@ti.func
def _keep_islands(c: ti.template(), w: ti.i32, n: ti.i32, acts: ti.template()):
    """The islands of a contact that acts do not part."""
    zero = c.tables.arena.zero()
    holds = select(acts, zero + 1.0, zero)
    for lane in range(c.lanes):
        if get_lane(holds, lane) != 0.0:
            note_islands(c, w, lane, n, c.bound.parts_of, 0.0)


@needs.islands
@ti.func
def _end_parts(c: ti.template(), w: ti.i32):
    parts = c.tables.arena.zero()
    for k in range(c.bound.islands.n):
        parts = ti.max(parts, c.bound.parts_of.load(w, k))
    c.bound.parts.store(w, 0, parts)


@ti.func
def save_solution(c: ti.template(), w: ti.i32):
    """Keep what a step has found.

    Reads:  c.bound.{velocity_jump, system}, c.state.qd
    Writes: c.bound.{answer, begun, of_laws, jumped}
    """
    y = c.bound.system
    kept = c.bound.answer
    for n in range(y.n_dofs):
        kept.store(w, n, y.acceleration.load(w, n))
        kept.store(w, y.n + n, y.effort.load(w, n))
    for r in range(y.n_rows):
        kept.store(w, y.n_dofs + r, y.force.load(w, r))
    _keep_laws(c, w)


@needs.laws_that_jump
@ti.func
def _keep_laws(c: ti.template(), w: ti.i32):
    """Velocities where the step began, what laws gave, and whether they held something in it or in the step before."""
    y = c.bound.system
    kept = c.bound.of_laws
    h = c.constants.load(w, H)
    for k in range(c.bound.islands.n):
        c.bound.jumped.store(w, 2 * k, jumps_of(c).load(w, k))
        c.bound.jumped.store(w, 2 * k + 1, jumps_of(c).load(w, k))
    for n in range(y.n_dofs):
        c.bound.begun.store(w, n, c.state.qd.load(w, c.tables.tree_dof.at(n)) - y.acceleration.load(w, n) * h)
    for k in range(y.laws.n):
        held = (y.laws.lock.load(w, k) != FREE) | (y.laws.held.load(w, k) < ti.math.inf)
        at = 2 * island_of(c, y.laws.unknown.at(k)) + 1
        holds = c.bound.jumped.load(w, at)
        c.bound.jumped.store(w, at, select(held, holds * 0.0 + 1.0, holds))
        kept.store(w, 3 * k, y.laws.effort.load(w, k))
        kept.store(w, 3 * k + 1, y.laws.lock.load(w, k))
        kept.store(w, 3 * k + 2, y.laws.rate.load(w, k))


def shows_step(c, w):
    """The worlds whose frame shows the step: a law held a coordinate there, or foresees at the instant that it stops one."""
    return _any_shows_step(c, w) if c.bound.islands.are_many else _island_shows_step(c, w, 0)


def _island_shows_step(c, w, k):
    return (c.bound.jumped.load(w, 2 * k + 1) != 0.0) | (jumps_of(c).load(w, k) != 0.0)


@ti.func
def _any_shows_step(c: ti.template(), w: ti.i32):
    found = c.tables.arena.zero()
    for k in range(c.bound.islands.n):
        found = select(_island_shows_step(c, w, k), found * 0.0 + 1.0, found)
    return found != 0.0


@ti.func
def keep_instants(c: ti.template(), w: ti.i32):
    """Have the frame show the instant of islands in which no law does that, once the step has been shown of all.

    Writes: c.aside.shown
    """
    zero = c.tables.arena.zero()
    for k in range(c.bound.islands.n):
        c.aside.shown.takes.store(w, k, select(_island_shows_step(c, w, k), zero, zero + 1.0))
    keep_shown(c, w)


@ti.func
def restore_solution(c: ti.template(), w: ti.i32):
    """Put back what `save_solution` has kept, and the accelerations that frames show.

    Reads:  c.bound.{answer, of_laws, jumped}
    Writes: c.bound.{velocity_jump, system.{acceleration, force, effort, laws}}, c.state.qdd
    """
    y = c.bound.system
    kept = c.bound.answer
    for n in range(y.n_dofs):
        y.acceleration.store(w, n, kept.load(w, n))
        c.state.qdd.store(w, c.tables.tree_dof.at(n), kept.load(w, n))
        y.effort.store(w, n, kept.load(w, y.n + n))
    for r in range(y.n_rows):
        y.force.store(w, r, kept.load(w, y.n_dofs + r))
    _restore_laws(c, w)


@needs.laws_that_jump
@ti.func
def _restore_laws(c: ti.template(), w: ti.i32):
    laws = c.bound.system.laws
    kept = c.bound.of_laws
    for k in range(c.bound.islands.n):
        jumps_of(c).store(w, k, c.bound.jumped.load(w, 2 * k))
    for k in range(laws.n):
        laws.effort.store(w, k, kept.load(w, 3 * k))
        laws.lock.store(w, k, kept.load(w, 3 * k + 1))
        laws.rate.store(w, k, kept.load(w, 3 * k + 2))
