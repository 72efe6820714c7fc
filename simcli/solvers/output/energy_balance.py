"""The energy balance: energies, and the work of forces by the trapezoidal rule.

Work is the sum of h P at the beginnings of steps plus h (P_now - P_start) / 2. An account is one stretch over which
forces do not jump: it is opened with the power at its start and closed with that at its end, both at the same state
where one follows the other. The fourth-order integrator sums its own stages and keeps no account. Where signals make
forces jump, `follow_signals` closes an account and opens the next one.
"""

from simcli.kernels.articulation.report import mechanical_energy, put
from simcli.kernels.articulation.retraction import retract
from simcli.kernels.device.arena import local
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.device.stage_lists import only, sum_of, take_all, when
from simcli.kernels.forces.account import DISSIPATED, SUPPLIED, effort_power, elastic_energy
from simcli.kernels.forces.signals import drive
from simcli.kernels.forces.wrenches import load_links
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.solvers.base import needs
from simcli.solvers.base.clock import LEAN
from simcli.solvers.base.integrators import H
from simcli.solvers.impulses.contacts import contact_energy
from simcli.solvers.rows.active_set import power_of_laws
from simcli.solvers.rows.islands import island_of, jumps_of
from simcli.solvers.rows.repeat import open_again
from simcli.solvers.rows.report import law_energy, row_energy, spin_energy
from simcli.solvers.rows.stages import has_velocity_jump

ENERGY = ("kinetic", "potential", "elastic", "dissipated", "input", "total", "drift")
_SEEN = (0, 1, 2, 3, 4, 6)  # of the ENERGY columns: those whose extremes are kept, the input and the drift last
EXTREMES = 2 * len(_SEEN) + 1  # the least of each, the largest of each, and the largest gain, as `analysis.drift` has them


@ti.func
def energies(c: ti.template(), w: ti.i32):
    """Kinetic, potential and elastic energy [J], after `load_links`.

    Reads: c.state of `place_all`, c.forces
    """
    kinetic, potential = mechanical_energy(c.tables, c.state, w)
    elastic = sum_of(c.stores, c.tables.arena.zero(), c, w)
    return sum_of(c.spins, kinetic, c, w), potential, elastic


def stores(c) -> tuple:
    """What stores elastic energy."""
    has_laws = c.constrained and c.bound.system.laws.n > 0
    return (
        *when(c.forces.has_elastic, _energy_of_forces),
        *when(c.has_compliance, row_energy),
        *when(c.touches, _energy_of_contacts),
        *when(c.forces.has_elastic and has_laws, law_energy),
    )


def spins(c) -> tuple:
    """What has kinetic energy besides the bodies and the joints of the tree."""
    return when(c.constrained and c.forces.has_armature and c.bound.system.laws.n > 0, spin_energy)


def _energy_of_forces(c, w):
    return elastic_energy(c.tables, c.forces, c.state, w)


def _energy_of_contacts(c, w):
    return contact_energy(c.bound.impulses.contacts, w)


@ti.func
def write_energies(
    c: ti.template(), w: ti.i32, steps: ti.i32, kinetic: ti.template(), potential: ti.template(), elastic: ti.template()
):
    """The ENERGY columns of a frame. drift = total - total(0) + dissipated - input.

    Args:
        steps: of the frame, 0 at the start.

    Reads:  c.forces.account
    Writes: c.total_start, c.rows.energy
    """
    total = kinetic + potential + elastic
    if steps == 0:
        c.total_start.store(w, 0, total)
    dissipated = _done(c, w, DISSIPATED)
    supplied = _done(c, w, SUPPLIED)
    drift = total - c.total_start.load(w, 0) + dissipated - supplied
    put(c.rows.energy, w, 0, kinetic, potential, elastic, dissipated, supplied, total, drift)


@needs.extremes
def note_energies(c, w, steps):
    """The extremes of the energies so far, of worlds that go on (inside kernels).

    Args:
        steps: of the frame, 0 at the start.

    Reads:  c.rows.energy, c.health
    Writes: c.extremes
    """
    n = len(_SEEN)
    for k, column in enumerate(_SEEN):
        value = local(c.rows.energy.load(w, column))
        _note(c, w, steps, k, value, -1.0)
        _note(c, w, steps, n + k, value, 1.0)
    drift = local(c.rows.energy.load(w, _SEEN[-1]))
    supplied = local(c.rows.energy.load(w, _SEEN[-2]))
    _note(c, w, steps, 2 * n, select(supplied < 0.0, drift + supplied, drift), 1.0)


@ti.func
def _note(c: ti.template(), w: ti.i32, steps: ti.i32, at: ti.template(), value: ti.template(), side: ti.template()):
    """A value that is the largest so far, or with side -1 the least."""
    before = c.extremes.load(w, at)
    if steps == 0:
        before = value
    further = (value - before) * side > 0.0
    c.extremes.store(w, at, select(further & (c.health.load(w, 0) == 0.0), value, before))


def _done(c, w, k):
    """[J], work up to now, with the half step that an account takes last (inside kernels)."""
    done = c.forces.account.work.load(w, k)
    return done + c.forces.account.change(w, k) * (c.constants.load(w, H) * 0.5) if c.keeps_account else done


@ti.func
def find_power(c: ti.template(), w: ti.i32):
    """Powers that the account is about: of external forces; of joint efforts, too, where no step sums them exactly.

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.account.power
    """
    take_all(c.powers, c, w)


def powers(c) -> tuple:
    """What gives power to an account."""
    of_efforts = when(c.integrator == "implicit", _power_of_efforts, *when(c.constrained, _power_of_laws))
    return load_external if c.forces.has_external else no_power, *of_efforts


def load_external(c, w):
    """Forces on links, with their powers (inside kernels)."""
    load_links(c.tables, c.forces, c.state, w)


def no_power(c, w):
    """No force does work (inside kernels)."""
    c.forces.account.set_power(w, c.tables.arena.zero(), c.tables.arena.zero())


def _power_of_efforts(c, w):
    effort_power(c.tables, c.forces, c.state, w, 0.0)


def _power_of_laws(c, w):
    power_of_laws(c, w, 0.0, c.constants.load(w, H))


@ti.func
def close_account(c: ti.template(), w: ti.i32):
    """Add what the trapezoidal rule takes at the end.

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.account
    """
    find_power(c, w)
    open_again(c, w)
    c.forces.account.book_change(w, c.constants.load(w, H) * 0.5)


@ti.func
def open_account(c: ti.template(), w: ti.i32):
    """Remember the power at the start; after a step that was taken again the next node does so once more.

    Powers of laws and motions found here are of the last evaluation, which of such a step is no instant's.

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.account
    """
    find_power(c, w)
    c.forces.account.begin_stretch(w)


def accounting(c, change) -> tuple:
    """What comes before energies where tables change.

    Args:
        c: core of the run.
        change: opens or closes an account, where there is one.
    """
    return (change,) if c.keeps_account else when(c.forces.has_external, load_external)


def _stored_after(c, w, change):
    """[J], all that is stored, once the account is closed or opened where tables change (inside kernels).

    Args:
        change: `close_account` or `open_account`.
    """
    take_all(accounting(c, change), c, w)
    kinetic, potential, elastic = energies(c, w)
    return kinetic + potential + elastic


@ti.func
def close(c: ti.template(), w: ti.i32):
    """Close the account before tables change; returns what is stored [J].

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.account
    """
    return _stored_after(c, w, close_account)


@ti.func
def open_new(c: ti.template(), w: ti.i32):
    """Open an account after tables have changed; returns what is stored [J].

    Reads:  c.state of `place_all`, c.forces
    Writes: c.forces.account
    """
    return _stored_after(c, w, open_account)


@ti.func
def follow_signals(c: ti.template(), w: ti.i32, t: ti.template(), side: ti.template(), stage: ti.i32):
    """Let everything that signals drive follow them.

    Args:
        t: [s].
        side: from which a jump at t is seen, 1 after it, -1 before it.
        stage: of the step; its first evaluation opens an account of work, anything else has no stage.

    Reads:  c.signals, c.state of `place_all`
    Writes: the driven arrays, c.forces.account
    """
    lean = side * c.constants.load(w, H) * LEAN[c.precision]
    _account(c, w, stage, close_account)
    drive(c.signals, w, t, lean)
    _account(c, w, stage, open_account)


@needs.short_accounts
@ti.func
def _account(c: ti.template(), w: ti.i32, stage: ti.i32, change: ti.template()):
    if stage == 0:
        change(c, w)


def work_of_jumps(c, place) -> tuple:
    """Stages that end the account of a step of impulses, for integrators whose other steps are smooth.

    Such a step moves along the velocities of its end, so that gravity gives h F . v+. The account of contacts, stops and
    joint efforts goes along mean velocities, with which the kinetic energy changes by h F . (v + v+) / 2. The difference is
    booked here as lost: half of V(q (+) h/2 v) - V(q (+) h (v+ - v/2)). No more is taken back than the step has dissipated,
    nor, as contacts may be elastic, booked with them. Over many such steps these differences add up to that of the first and
    the last velocity. Those of springs would not, as their forces change: there it stays drift.

    Args:
        c: core of the run.
        place: the stage that places links.
    """
    steps = (go_half_with_start, place, note_height, go_half_with_end, place, book_height, return_to_end, place)
    return when(c.reports["energy"] and (c.bound.switches or c.bound.repeats), only(has_velocity_jump, *steps))


def _velocities_of_start(c):
    return c.state.qd if c.is_natural else c.qd_base


@ti.func
def go_half_with_start(c: ti.template(), w: ti.i32):
    """From the start of a step, go half of it with the velocities there.

    Reads:  c.bound.q_start, c.state.qd or c.qd_base
    Writes: c.state.q, c.bound.q_kept
    """
    copy(c.bound.q_kept, c.state.q, c.tables.n_q, w)
    retract(c.tables, c.bound.q_start, c.state.q, _velocities_of_start(c), w, c.constants.load(w, H) * 0.5)


@ti.func
def go_half_with_end(c: ti.template(), w: ti.i32):
    """From the start of a step, go with the velocities of its end, less half of those of its start; if smooth, that half.

    Reads:  c.bound.{q_start, jumps}, in natural coordinates c.bound.move, else c.qd_base; c.state.qd
    Writes: c.state.q, c.bound.move
    """
    h = c.constants.load(w, H)
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        half = _velocities_of_start(c).load(w, d) * h * 0.5
        way = c.bound.move.load(w, d) if c.is_natural else c.state.qd.load(w, d) * h
        jumps = jumps_of(c).load(w, island_of(c, n)) > 0.0
        c.bound.move.store(w, d, select(jumps, way - half, half))
    _leave_locks(c, w)
    retract(c.tables, c.bound.q_start, c.state.q, c.bound.move, w, 1.0)


@needs.locks
@ti.func
def _leave_locks(c: ti.template(), w: ti.i32):
    """Locked dofs of the tree do not move with the velocities that they end with."""
    if ti.static(not c.is_natural):
        for m in range(c.motions.n_locks):
            d = c.motions.lock_dof.at(m)
            c.bound.move.store(w, d, _velocities_of_start(c).load(w, d) * c.constants.load(w, H) * 0.5)


@ti.func
def return_to_end(c: ti.template(), w: ti.i32):
    """Go to where the step ends.

    Reads:  c.bound.q_kept
    Writes: c.state.q
    """
    copy(c.state.q, c.bound.q_kept, c.tables.n_q, w)


@ti.func
def note_height(c: ti.template(), w: ti.i32):
    """Note the potential energy here.

    Reads:  c.state of `place_all`
    Writes: c.bound.stored
    """
    _kinetic, potential = mechanical_energy(c.tables, c.state, w)
    c.bound.stored.store(w, 0, potential)


@ti.func
def book_height(c: ti.template(), w: ti.i32):
    """Book half of the potential energy here, less what was noted, as given back.

    Reads:  c.state of `place_all`, c.bound.{stored, work_kept}
    Writes: c.forces.account.work
    """
    _kinetic, potential = mechanical_energy(c.tables, c.state, w)
    taken = ti.max(c.forces.account.work.load(w, DISSIPATED) - c.bound.work_kept.load(w, DISSIPATED), c.tables.arena.zero())
    lost = ti.max((c.bound.stored.load(w, 0) - potential) * 0.5, taken * -1.0)
    c.forces.account.dissipate(w, ti.min(lost, taken) if c.touches else lost)
