"""Contact in natural coordinates: which steps are of impulses.

A step in which nothing touches is smooth (programs.py), and a world finds that out by trying: where contacts are near it
takes the step of impulses, and where none of them carries anything, nor would be passed by the smooth step, takes that.

Stages; rows/memory.py says what `c` holds.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.measure import contact_speed
from simcli.kernels.language import ti
from simcli.solvers.tree.integrators import H


@ti.func
def meet_contacts(c: ti.template(), w: ti.i32):
    """Take a step of impulses in the worlds that have contacts; where laws stop something, in all.

    Writes: c.bound.{velocity_jump, parts}
    """
    m = c.bound.impulses
    zero = c.tables.arena.zero()
    smooth = _may_be_smooth(c) & (m.contacts.collider.contacts.count.load(w, 0) == 0.0)
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
    m = c.bound.impulses
    p = m.problem
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
