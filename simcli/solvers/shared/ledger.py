"""The energy ledger: energies, and the work of forces by the trapezoidal rule.

Work is the sum of h P at the beginnings of steps plus h (P_now - P_start) / 2. An account is one stretch over which
forces do not jump: it is opened with the power at its start and closed with that at its end, both at the same state
where one follows the other. The fourth-order integrator sums its own stages and keeps no account.
"""

from simcli.kernels.forces.external import load_links
from simcli.kernels.forces.work import effort_power, elastic_energy
from simcli.kernels.language import ti
from simcli.kernels.report import mechanical_energy
from simcli.solvers.impulses.contacts import contact_energy
from simcli.solvers.rows.pieces import law_power
from simcli.solvers.rows.repeat import open_again
from simcli.solvers.rows.report import law_energy, row_energy, spin_energy
from simcli.solvers.tree.integrators import H


@ti.func
def energies(c: ti.template(), w: ti.i32):
    """Kinetic, potential and elastic energy [J], after `load_links`.

    Reads: c.state of `place_all`, c.forces
    """
    kinetic, potential = mechanical_energy(c.tables, c.state, w)
    elastic = c.tables.arena.zero()
    if ti.static(c.forces.has_elastic):
        elastic = elastic_energy(c.tables, c.forces, c.state, w)
    if ti.static(c.has_compliance):
        elastic = elastic + row_energy(c, w)
    if ti.static(c.touches):
        elastic = elastic + contact_energy(c.bound.impulses.contacts, w)
    if ti.static(c.constrained):
        elastic = elastic + law_energy(c, w)
        kinetic = kinetic + spin_energy(c, w)
    return kinetic, potential, elastic


@ti.func
def find_power(c: ti.template(), w: ti.i32):
    """Powers that the account is about: of external forces; of joint efforts, too, where no step sums them exactly.

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.power
    """
    if ti.static(c.forces.has_external):
        load_links(c.tables, c.forces, c.state, w)
    else:
        c.forces.power.store(w, 0, c.tables.arena.zero())
        c.forces.power.store(w, 1, c.tables.arena.zero())
    if ti.static(c.integrator == "implicit"):
        effort_power(c.tables, c.forces, c.state, w, 0.0)
        if ti.static(c.constrained):
            law_power(c, w, 0.0, c.constants.load(w, H))


@ti.func
def close_account(c: ti.template(), w: ti.i32):
    """Add what the trapezoidal rule takes at the end.

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.{work, power}
    """
    find_power(c, w)
    if ti.static(c.constrained):
        open_again(c, w)
    half = c.constants.load(w, H) * 0.5
    for k in ti.static(range(2)):
        gained = (c.forces.power.load(w, k) - c.forces.power_start.load(w, k)) * half
        c.forces.work.store(w, k, c.forces.work.load(w, k) + gained)


@ti.func
def open_account(c: ti.template(), w: ti.i32):
    """Remember the power at the start.

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.{power, power_start}
    """
    find_power(c, w)
    for k in ti.static(range(2)):
        c.forces.power_start.store(w, k, c.forces.power.load(w, k))
    if ti.static(c.constrained):
        c.bound.opens.store(w, 0, c.tables.arena.zero())


@ti.func
def close(c: ti.template(), w: ti.i32):
    """Close the account before tables change; returns what is stored [J].

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.{work, power}
    """
    if ti.static(c.keeps_account):
        close_account(c, w)
    elif ti.static(c.forces.has_external):
        load_links(c.tables, c.forces, c.state, w)
    kinetic, potential, elastic = energies(c, w)
    return kinetic + potential + elastic


@ti.func
def open_new(c: ti.template(), w: ti.i32):
    """Open an account after tables have changed; returns what is stored [J].

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.{power, power_start}
    """
    if ti.static(c.keeps_account):
        open_account(c, w)
    elif ti.static(c.forces.has_external):
        load_links(c.tables, c.forces, c.state, w)
    kinetic, potential, elastic = energies(c, w)
    return kinetic + potential + elastic
