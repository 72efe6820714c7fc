"""Rows of spins, of rolling and torsional friction: three of each contact, bounded by its normal impulse."""

from simcli.kernels.collision.lanes import one, put, whole_of
from simcli.kernels.collision.table_rows import contacts_of
from simcli.kernels.language import ti
from simcli.solvers.shared import needs


def spin_friction(k, w, lane, combination, a):
    """[m], torsional friction (a = 0) of a combination in one world, else its rolling friction."""
    return one(k.rolling_friction if a else k.torsional_friction, w, lane, combination)


@needs.rolling
@ti.func
def state_spins(c: ti.template(), w: ti.i32):
    """Rows of rolling and torsional friction, on where contacts have it.

    Writes: p.rows.{on, bias, compliance, impulse} of spins, c.bound.impulses.spins
    """
    m = c.bound.impulses
    p = m.problem
    k = m.contacts.collider
    zero = c.tables.arena.zero()
    for n in range(m.first_spin, m.first_spin + 3 * m.contacts.capacity):
        p.rows.on.store(w, n, zero)
        p.rows.bias.store(w, n, zero)
        p.rows.compliance.store(w, n, zero)
        p.rows.impulse.store(w, n, zero)
    m.spins.store(w, 0, zero)
    for lane in range(k.lanes):
        for n in range(contacts_of(k, w, lane)):
            combination = whole_of(k.contacts.combination, w, lane, n)
            for a in ti.static(range(3)):
                on = ti.select(spin_friction(k, w, lane, combination, a) > 0.0, 1.0, 0.0)
                put(p.rows.on, w, lane, m.first_spin + 3 * n + a, on)
                if on > 0.0:
                    put(m.spins, w, lane, 0, on)


@ti.func
def bound_spins(c: ti.template(), w: ti.i32):
    """Bounds of the spins by the normal impulses of the solution before.

    Reads:  p.contacts.impulse
    Writes: p.{lower, upper} of spins
    """
    m = c.bound.impulses
    p = m.problem
    k = m.contacts.collider
    for lane in range(k.lanes):
        for n in range(contacts_of(k, w, lane)):
            combination = whole_of(k.contacts.combination, w, lane, n)
            normal = one(p.contacts.impulse, w, lane, n).parts[0]
            for a in ti.static(range(3)):
                most = spin_friction(k, w, lane, combination, a) * normal
                put(p.upper, w, lane, m.first_spin + 3 * n + a, most)
                put(p.lower, w, lane, m.first_spin + 3 * n + a, -most)
