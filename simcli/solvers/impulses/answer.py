"""What a step takes of the solution of its problem: accelerations, forces of rows, efforts and pieces of laws.

Notation: g the time over which accelerations act; p the problem (impulses/memory.py).
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.measure import contact_speed, triple_speed
from simcli.kernels.language import ti
from simcli.kernels.laws.active_set import choose_linear_piece
from simcli.kernels.laws.bounded import FREE
from simcli.solvers.impulses.law_rows import HARD, LINEAR, MOTION, UPPER
from simcli.solvers.impulses.mass import mirrored
from simcli.solvers.rows.active_set import acceleration_of_law, find_reference_velocities
from simcli.solvers.shared import needs


@ti.func
def take_answer(c: ti.template(), w: ti.i32):
    """Accelerations, forces of rows, efforts and pieces of laws, from impulses and velocities.

    Reads:  p
    Writes: c.bound.system.{acceleration, force, multiplier, effort, laws}, c.bound.move, c.state.qdd
    """
    y = c.bound.system
    m = c.bound.impulses
    p = m.problem
    g = c.g.load(w, 0)
    for n in range(y.n_dofs):
        d = c.tables.tree_dof.at(n)
        v = p.velocity.load(w, mirrored(y, n))
        a = (v - m.start.load(w, mirrored(y, n))) / g
        y.acceleration.store(w, n, a)
        c.state.qdd.store(w, d, a)
        given = c.bound.move.load(w, d)
        c.bound.move.store(w, d, v)
        _move_as_given(c, w, d, given)
        _take_no_excess(c, w, n)
    _take_lines(c, w, g)
    for n in range(m.n_plain):
        item = m.item.at(n)
        kind = m.kind.at(n)
        force = p.rows.impulse.load(w, n) / g
        if kind == HARD:
            force = select(p.rows.on.load(w, n) != 0.0, force, y.force.load(w, item))
            y.force.store(w, item, force)
            y.multiplier.store(w, item, -force)
        elif kind == MOTION:
            y.effort.store(w, c.tables.unknown.at(c.motions.lock_dof.at(item)), force)
        elif kind != LINEAR:
            _add_effort_of_law(c, w, item, force * ti.select(kind == UPPER, -1.0, 1.0))
    find_linear_pieces(c, w, g)


@needs.moved_apart
def _move_as_given(c, w, d, given):
    """Where a motion moves dof d otherwise than by the velocity found (inside kernels)."""
    c.bound.move.store(w, d, ti.select(c.motions.lock_of.at(d) >= 0, given, c.bound.move.load(w, d)))


@needs.excess
def _take_no_excess(c, w, n):
    c.bound.excess.store(w, n, c.tables.arena.zero())  # nothing was added to the masses


@needs.laws
@ti.func
def _take_lines(c: ti.template(), w: ti.i32, g: ti.template()):
    """The linear part of the efforts of laws."""
    laws = c.bound.system.laws
    m = c.bound.impulses
    for k in range(laws.n):
        speed = laws.rate.load(w, k) + (acceleration_of_law(c, w, k) + laws.shift.load(w, k)) * g
        laws.effort.store(w, k, m.push.load(w, k) - m.gain.load(w, k) * speed)


@needs.laws
def _add_effort_of_law(c, w, k, effort):
    laws = c.bound.system.laws
    laws.effort.store(w, k, laws.effort.load(w, k) + effort)


@needs.laws
@ti.func
def find_linear_pieces(c: ti.template(), w: ti.i32, g: ti.template()):
    """The pieces of the laws on which the answer is.

    Reads:  c.bound
    Writes: c.bound.system.{laws, effort, force}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    find_reference_velocities(c, w, 1, g)
    for k in range(y.laws.n):
        aim = y.laws.goal.load(w, k)
        y.laws.aim.store(w, k, aim)
        choose_linear_piece(y.laws, w, k, aim, zero - 1.0, zero == 0.0)
        i = y.laws.unknown.at(k)
        effort = y.laws.effort.load(w, k)
        if i < y.n_dofs:
            y.effort.store(w, i, select(y.laws.lock.load(w, k) != FREE, effort, y.effort.load(w, i)))
        else:
            y.force.store(w, i - y.n_dofs, effort)


@ti.func
def contact_loss(p: ti.template(), w: ti.i32, v: ti.template()):
    """[J] that the contacts take in a step: -x . J (v + v found) / 2; what they give, to take an overlap back, is drift.

    Normal forces of compliant contacts take nothing: `contact_energy` has what they store.

    Args:
        v: (n) velocities at the start of the step.

    Reads: p.spins, p.contacts.{impulse, speed}, the latter of `remember`
    """
    total = p.arena.zero()
    for c in range(whole(p.live, w, 1)):
        on = p.contacts.on.load(w, c) != 0.0
        x = p.contacts.impulse.load(w, c)
        speed = contact_speed(p, w, c, v) + p.contacts.speed.load(w, c)
        x = Vec3(select(p.contacts.compliance.load(w, c).parts[0] > 0.0, x.parts[0] * 0.0, x.parts[0]), *x.parts[1:])
        total = total - select(on, x.dot(speed) * 0.5, x.parts[0] * 0.0)
    for spins in ti.static(p.triples[1:]):
        for c in range(whole(p.live, w, 1)):
            speed = triple_speed(p, spins, w, c, v) + triple_speed(p, spins, w, c, p.velocity)
            lost = spins.impulse.load(w, c).dot(speed) * 0.5
            total = total - select(spins.on.load(w, c) != 0.0, lost, lost * 0.0)
    return ti.max(total, p.arena.zero())
