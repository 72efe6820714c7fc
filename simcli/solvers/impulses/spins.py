"""Spins of contacts: torsional friction within an interval, rolling friction within a disc, by the normal impulse.

Source: Acary and Bourrier (2021), rolling resistance as a cone. Deviation: the bounds are those of the normal impulse of
the search before, so that each search has an interval and a disc of fixed sizes.
"""

from simcli.kernels.algebra.values import Vec3
from simcli.kernels.collision.lanes import one, put, whole_of
from simcli.kernels.collision.table_rows import contacts_of
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.language import ti
from simcli.solvers.shared import needs


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


@ti.func
def bound_spins(c: ti.template(), w: ti.i32):
    """Bounds of the spins by the normal impulses of the solution before.

    Reads:  p.contacts.impulse
    Writes: p.{torsion, rolling}
    """
    m = c.bound.impulses
    p = m.problem
    k = m.contacts.collider
    for lane in range(k.lanes):
        for n in range(contacts_of(k, w, lane)):
            combination = whole_of(k.contacts.combination, w, lane, n)
            normal = ti.max(one(p.contacts.impulse, w, lane, n).parts[0], 0.0)
            put(p.torsion, w, lane, n, one(k.torsional_friction, w, lane, combination) * normal)
            put(p.rolling, w, lane, n, one(k.rolling_friction, w, lane, combination) * normal)
