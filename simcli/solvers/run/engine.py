"""What a solver is on the device: Taichi functions of its core `c` and a block `w`, which the kernels of rollout.py call.

Those of all solvers that have accelerations: the steps of a frame, why worlds end, and the report.
"""

from collections.abc import Callable
from dataclasses import dataclass

from simcli.kernels.articulation.projected_accelerations import report_accelerations
from simcli.kernels.articulation.report import report_efforts
from simcli.kernels.articulation.rnea import rnea_link_forces
from simcli.kernels.device.programs import begin, is_beside, run
from simcli.kernels.device.stage_lists import take_all, when
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import is_nan
from simcli.kernels.language.numbers import number
from simcli.solvers.base import needs
from simcli.solvers.base.clock import begin_program, steps_before
from simcli.solvers.base.world_ends import (
    CROWDED,
    FARTHEST_TURN,
    LOOP_LOST,
    NOT_CONVERGED,
    TURNS_FAR,
    End,
    cause_of,
    code_of,
    judge_speed,
    worse_of,
)
from simcli.solvers.output.contact_report import contacts_overflow, needed_contacts, note_step
from simcli.solvers.output.energy_balance import energies, find_power, note_energies, open_account, write_energies
from simcli.solvers.output.frame_stages import (
    set_aside,
    show_bodies,
    show_joint_accelerations,
    show_joints,
    show_points,
    show_rods,
)
from simcli.solvers.output.loop_guard import is_lost
from simcli.solvers.rows.repeat import open_again
from simcli.solvers.rows.report import efforts_of_rows, report_rows, unwrap_rows


def no_notes(model, options, plan) -> list:
    """Nothing to say."""
    return []


@dataclass(frozen=True)
class Engine:
    """The device's side.

    Attributes:
        core: makes everything of a run on the device, as `core.Core`.
        begin: (c, w, first), before the first frame of a call, after `first` steps.
        report: (c, w, steps), the frame.
        report_drives: (c, w), what drives give, after the frame.
        judge: (c, w, count, alive), why worlds should end after a step, see base/world_ends.py.
        find_cause: (c, w, code), the dof, or another number, that is the cause.
        close, open: (c, w), before and after the tables change; give what is stored [J].
        finding: from a core, what finds the quantities that signals see, where a step begins (output/frame_stages.py).
        exchange_momenta: (c, w, first), see output/loop_guard.py.
        notes: events of the start, from model, options and plan.
        end: takes the solver after frame 0, and a mask of worlds; gives events and status of those that cannot begin.
        enter: takes the solver and the model of a phase that begins, ends the worlds that cannot go on, gives the events.
    """

    core: Callable
    begin: Callable
    report: Callable
    report_drives: Callable
    judge: Callable
    find_cause: Callable
    close: Callable
    open: Callable
    finding: Callable
    exchange_momenta: Callable
    notes: Callable = no_notes
    end: Callable | None = None
    enter: Callable | None = None


@ti.func
def advance(c: ti.template(), w: ti.i32, first: ti.i64, steps: ti.i32):
    """The steps of one frame from step number `first` on, ending with the poses of the frame; with none of them, the start.

    Reads:  c
    Writes: c
    """
    if not is_beside(c.program, w):
        begin_program(c, w, first, steps)
        begin(c.program, w)
    run(c.program, c, w)


@ti.func
def judge(c: ti.template(), w: ti.i32, count: ti.template(), alive: ti.template()):
    """Why a world should end, 0 where it is well: its rates, its turn in a step, its contacts.

    Reads:  c.state.{q, qd}, c.constants, c.bound
    Writes: c.contacts.summary
    """
    square = c.tables.arena.zero()
    for n in range(c.tables.n_tree_dofs):
        rate = c.state.qd.load(w, c.tables.tree_dof.at(n))
        square = square + rate * rate
    code = judge_speed(c, w, square, c.tables.arena.zero())
    note_step(c, w, count, alive)
    return code_of(c, w, code)


def ends(c) -> tuple[End, ...]:
    """Reasons in the order of a step, of which the last one counts."""
    alpha = c.integrator == "generalized_alpha"  # rates that are beyond bounds are those of a failed iteration
    return (
        *when(alpha, End(NOT_CONVERGED, _is_lost)),
        *when(c.is_natural and c.constrained, End(TURNS_FAR, _turns_far)),
        *when(c.touches, End(CROWDED, contacts_overflow, needed_contacts)),
        *when(c.guard.n, End(LOOP_LOST, is_lost)),
    )


def _is_lost(c, w):
    residual = c.alpha.residual.load(w, 0)
    return (residual > number(c.bound, "jump")) | is_nan(residual)


def _turns_far(c, w):
    return c.bound.turn.load(w, 0) > FARTHEST_TURN**2


@ti.func
def find_cause(c: ti.template(), w: ti.i32, code: ti.template()):
    """The fastest dof, a NaN first; how many contacts are too many.

    Reads: c.state.qd, c.bound.impulses
    """
    zero = c.tables.arena.zero()
    worst = zero - 1.0
    cause = zero
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        rate = c.state.qd.load(w, d)
        worst, cause = worse_of(c, rate * rate, d, worst, cause)
    return cause_of(c, w, code, cause)


@ti.func
def report(c: ti.template(), w: ti.i32, steps: ti.i32):
    """One frame, after `advance`: what its list has, and the energy balance.

    Reads:  c
    Writes: c.rows
    """
    take_all(c.shows, c, w)
    _report_ledger(c, w, steps)


def shows(c) -> tuple:
    """What a frame shows besides its energies.

    Args:
        c: core of the run.
    """
    r = c.reports
    projected = (
        (
            show_joints,
            *when(c.constrained and c.bound.system.n_turns, unwrap_rows),
            show_joint_accelerations,
            *when(c.loops.n_rods, show_rods),
        )
        if c.projects
        else ()
    )
    return (
        *when(c.constrained, report_rows),
        *when(r["joints"], _show_efforts, *efforts_of_rows(c)),
        *when(r["bodies"] or c.projects, show_bodies),
        *when(r["body_qdd"], _show_accelerations),
        *projected,
        *when(r["bodies"], show_points),
    )


def _show_efforts(c, w):
    report_efforts(c.tables, c.state, c.rows, w)


def _show_accelerations(c, w):
    rnea_link_forces(c.tables, c.state, w)
    report_accelerations(c.tables, c.state, c.rows, w)


@needs.energy_balance
def _report_ledger(c, w, steps):
    (_balance if c.energy_every == 1 else _balance_now_and_then)(c, w, steps)


@ti.func
def _balance_now_and_then(c: ti.template(), w: ti.i32, steps: ti.i32):
    before = steps_before(c, w)
    after = before + steps
    if steps == 0 or after // c.energy_every > before // c.energy_every or after == c.n_steps:
        _balance(c, w, steps)


@ti.func
def _balance(c: ti.template(), w: ti.i32, steps: ti.i32):
    _report_account(c, w, steps)
    _report_energy(c, w, steps)
    note_energies(c, w, steps)


@needs.account
@ti.func
def _report_account(c: ti.template(), w: ti.i32, steps: ti.i32):
    """The powers that end the stretch at hand.

    Writes: c.forces.account, c.aside
    """
    if steps == 0:
        open_account(c, w)
        set_aside(c, w)
    else:
        find_power(c, w)
        open_again(c, w)


@ti.func
def _report_energy(c: ti.template(), w: ti.i32, steps: ti.i32):
    """The energy balance.

    Reads:  c.state, c.forces
    Writes: c.total_start, c.rows.energy
    """
    kinetic, potential, elastic = energies(c, w)
    write_energies(c, w, steps, kinetic, potential, elastic)
