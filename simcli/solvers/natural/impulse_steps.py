"""Contact in natural coordinates: which steps are of impulses, and what frames show of the step that ends there.

A step in which nothing touches is smooth (programs.py), and a world finds that out by trying: where contacts are near it
takes the step of impulses, and where none of them carries anything, nor would be passed by the smooth step, takes that.

The projection of the velocities of such a step and the evaluation of the instant use the memory of the step: what it has
found is kept before them, and recalled where the frame shows the step. With shapes that can touch, all frames do. Else those
do in which a law holds a coordinate: where that ends a step, or begins one, and where the instant foresees a stop, of the
step after it.

Stages; rows/memory.py says what `c` holds.
"""

from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.measure import contact_speed
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.values import Vec3
from simcli.kernels.rows.bounded_laws import FREE
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H


@ti.func
def select_contact_worlds(c: ti.template(), w: ti.i32):
    """Take a step of impulses in the worlds that have contacts; where laws stop something, in all.

    Writes: c.bound.{velocity_jump, parts}
    """
    zero = c.tables.arena.zero()
    smooth = _may_be_smooth(c) & (c.bound.impulses.contacts.collider.contacts.count.load(w, 0) == 0.0)
    c.bound.velocity_jump.store(w, 0, select(smooth, zero, zero + 1.0))
    c.bound.parts.store(w, 0, zero)


def _may_be_smooth(c):
    """Mask of the worlds in which no law stops something: of all or none (inside kernels)."""
    zero = c.tables.arena.zero()
    return zero != 0.0 if c.bound.impulses.is_bounded else zero == 0.0


@ti.func
def part_contacts(c: ti.template(), w: ti.i32):
    """Take a world where `note_smooth` has seen that nothing touches as one without contacts.

    Writes: c.bound.velocity_jump, p.{contacts, centre}
    """
    p = c.bound.impulses.problem
    zero = c.tables.arena.zero()
    c.bound.velocity_jump.store(w, 0, zero)
    for n in range(whole(p.stated, w, 0)):
        p.contacts.on.store(w, n, zero)
        p.contacts.impulse.store(w, n, Vec3(zero, zero, zero))
        p.centre.store(w, n, Vec3(zero, zero, zero))


@ti.func
def note_smooth(c: ti.template(), w: ti.i32):
    """Note the worlds in which no contact carries anything, nor would be passed by a step without impulses.

    Reads:  p.{contacts, velocity}, c.bound.{velocity_jump, impulses}
    Writes: c.bound.parts
    """
    m = c.bound.impulses
    p = m.problem
    zero = c.tables.arena.zero()
    h = c.constants.load(w, H)
    parts = _may_be_smooth(c) & (c.bound.velocity_jump.load(w, 0) > 0.0)
    for n in range(whole(p.live, w, 1)):
        on = p.contacts.on.load(w, n) != 0.0
        speed = contact_speed(p, w, n, m.start) + contact_speed(p, w, n, p.velocity)
        passes = m.contacts.collider.contacts.gap.load(w, n) + speed.parts[0] * h * 0.5 < 0.0
        carries = p.contacts.impulse.load(w, n).parts[0] * p.contacts.metric.load(w, n).parts[0] > p.limits.tolerance
        parts = parts & ~(on & (passes | carries))
    c.bound.parts.store(w, 0, select(parts, zero + 1.0, zero))


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
    c.bound.jumped.store(w, 0, c.bound.velocity_jump.load(w, 0))
    for n in range(y.n_dofs):
        c.bound.begun.store(w, n, c.state.qd.load(w, c.tables.tree_dof.at(n)) - y.acceleration.load(w, n) * h)
    holds = c.bound.velocity_jump.load(w, 0)
    for k in range(y.laws.n):
        held = (y.laws.lock.load(w, k) != FREE) | (y.laws.held.load(w, k) < ti.math.inf)
        holds = select(held, holds * 0.0 + 1.0, holds)
        kept.store(w, 3 * k, y.laws.effort.load(w, k))
        kept.store(w, 3 * k + 1, y.laws.lock.load(w, k))
        kept.store(w, 3 * k + 2, y.laws.rate.load(w, k))
    c.bound.jumped.store(w, 1, holds)


def shows_step(c, w):
    """The worlds whose frame shows the step: a law held a coordinate there, or foresees at the instant that it stops one."""
    return (c.bound.jumped.load(w, 1) != 0.0) | (c.bound.velocity_jump.load(w, 0) != 0.0)


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
    c.bound.velocity_jump.store(w, 0, c.bound.jumped.load(w, 0))
    for k in range(laws.n):
        laws.effort.store(w, k, kept.load(w, 3 * k))
        laws.lock.store(w, k, kept.load(w, 3 * k + 1))
        laws.rate.store(w, k, kept.load(w, 3 * k + 2))
