"""The energy ledger: energies, and the work of forces by the trapezoidal rule.

Work is the sum of h P at the beginnings of steps plus h (P_now - P_start) / 2. An account is one stretch over which
forces do not jump: it is opened with the power at its start and closed with that at its end, both at the same state
where one follows the other. The fourth-order integrator sums its own stages and keeps no account.
"""

from simcli.kernels.forces.account import DISSIPATED, SUPPLIED
from simcli.kernels.forces.external import load_links
from simcli.kernels.forces.work import effort_power, elastic_energy
from simcli.kernels.language import ti
from simcli.kernels.report import mechanical_energy, put
from simcli.solvers.impulses.contacts import contact_energy
from simcli.solvers.rows.active_set import law_power
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
def write_energies(c: ti.template(), w: ti.i32, steps: ti.i32, kinetic: ti.template(), potential: ti.template(),
                   elastic: ti.template()):
    """The ENERGY columns of a frame. drift = total - total(0) + dissipated - input.

    Args:
        steps: of the frame, 0 at the start.

    Reads:  c.forces.account
    Writes: c.total_start, c.rows.energy
    """
    account = c.forces.account
    total = kinetic + potential + elastic
    if steps == 0:
        c.total_start.store(w, 0, total)
    dissipated = account.work.load(w, DISSIPATED)
    supplied = account.work.load(w, SUPPLIED)
    if ti.static(c.keeps_account):
        half = c.constants.load(w, H) * 0.5
        dissipated = dissipated + account.change(w, DISSIPATED) * half
        supplied = supplied + account.change(w, SUPPLIED) * half
    drift = total - c.total_start.load(w, 0) + dissipated - supplied
    put(c.rows.energy, w, 0, kinetic, potential, elastic, dissipated, supplied, total, drift)


@ti.func
def find_power(c: ti.template(), w: ti.i32):
    """Powers that the account is about: of external forces; of joint efforts, too, where no step sums them exactly.

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.account.power
    """
    if ti.static(c.forces.has_external):
        load_links(c.tables, c.forces, c.state, w)
    else:
        c.forces.account.set_power(w, c.tables.arena.zero(), c.tables.arena.zero())
    if ti.static(c.integrator == "implicit"):
        effort_power(c.tables, c.forces, c.state, w, 0.0)
        if ti.static(c.constrained):
            law_power(c, w, 0.0, c.constants.load(w, H))


@ti.func
def close_account(c: ti.template(), w: ti.i32):
    """Add what the trapezoidal rule takes at the end.

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.account
    """
    find_power(c, w)
    if ti.static(c.constrained):
        open_again(c, w)
    c.forces.account.book_change(w, c.constants.load(w, H) * 0.5)


@ti.func
def open_account(c: ti.template(), w: ti.i32):
    """Remember the power at the start.

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.account
    """
    find_power(c, w)
    c.forces.account.begin_stretch(w)
    if ti.static(c.constrained):
        c.bound.opens.store(w, 0, c.tables.arena.zero())


@ti.func
def close(c: ti.template(), w: ti.i32):
    """Close the account before tables change; returns what is stored [J].

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.account
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
    Writes: c.forces.account
    """
    if ti.static(c.keeps_account):
        open_account(c, w)
    elif ti.static(c.forces.has_external):
        load_links(c.tables, c.forces, c.state, w)
    kinetic, potential, elastic = energies(c, w)
    return kinetic + potential + elastic
