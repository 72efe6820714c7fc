"""The frames of all solvers that have accelerations.

Steps of trees and free bodies are programs (tree/programs.py), those of natural coordinates phases (natural/phases.py); a
frame ends with a report.
"""

from simcli.kernels.dynamics import demand
from simcli.kernels.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.language.vectors import is_nan
from simcli.kernels.loops import follow_natural_turns, follow_turns, report_rods, unwrap_turns
from simcli.kernels.programs import begin, run
from simcli.kernels.projected_accelerations import project_accelerations, report_accelerations
from simcli.kernels.projection import project_joints
from simcli.kernels.report import (
    put,
    report_bodies,
    report_efforts,
    report_points,
)
from simcli.solvers.natural.generalized_alpha import begin_alpha, step_alpha
from simcli.solvers.natural.phases import place_natural
from simcli.solvers.natural.quadratic import enter_steps, step_quadratic
from simcli.solvers.natural.steps import FARTHEST_TURN
from simcli.solvers.rows.repeat import open_again
from simcli.solvers.rows.report import add_efforts, report_rows, unwrap_rows
from simcli.solvers.shared.clock import begin_program, follow_signals, natural_time
from simcli.solvers.shared.contact_report import (
    begin_call,
    is_crowded,
    needed_contacts,
    note_step,
    report_contacts,
)
from simcli.solvers.shared.ledger import energies, find_power, open_account
from simcli.solvers.shared.watch import CROWDED, NOT_CONVERGED, TURNS_FAR, judge_speed, watch
from simcli.solvers.tree.integrators import (
    H,
)


@ti.func
def begin_frames(c: ti.template(), w: ti.i32, first: ti.i64):
    """What a call of the kernel begins with.

    Args:
        first: steps before the call.

    Writes: c.contacts.{summary, before}
    """
    if ti.static(c.summarises):
        begin_call(c, w, first)


@ti.func
def advance(c: ti.template(), w: ti.i32, first: ti.i64, steps: ti.i32, lines: ti.i32, begun: ti.i32):
    """The steps of one frame from step number `first` on, ending with the poses of the frame; with none of them, the start.

    Args:
        lines: of the program in this call, at most.
        begun: 1 to go on with a frame.

    Returns:
        1 if the frame is over.

    Reads:  c
    Writes: c
    """
    over = 1
    if ti.static(c.has_program):
        if begun == 0:
            begin_program(c, w, first, steps)
            begin(c.program, w)
        over = run(c.program, c, w, lines)
    else:
        advance_natural(c, w, first, steps)
    return over


@ti.func
def advance_natural(c: ti.template(), w: ti.i32, first: ti.i64, steps: ti.i32):
    """`advance` in natural coordinates: rounds of phases, see natural/phases.py.

    Reads:  c
    Writes: c.state, c.bound, c.forces.work, c.health, c.rows.joint_wrench
    """
    for i in range(1, steps + 2):
        is_step = i <= steps
        if ti.static(c.is_quadratic):
            if is_step:
                if i == 1:
                    enter_steps(c, w)
                t, side = natural_time(c, w, first, i, steps)
                if ti.static(c.integrator == "generalized_alpha"):
                    h = c.constants.load(w, H)
                    step_alpha(c, w, h * ti.cast(first + i - 1, c.tables.arena.device.real), t, h)
                else:
                    if ti.static(c.signals.n > 0):
                        follow_signals(c, w, t, side, -1)
                    step_quadratic(c, w, c.constants.load(w, H))
            else:
                advance_round(c, w, first, i, steps)
                if ti.static(c.integrator == "generalized_alpha"):
                    if steps == 0:
                        begin_alpha(c, w)
        else:
            advance_round(c, w, first, i, steps)
        if is_step:
            if ti.static(c.loops.n_turns > 0):
                if ti.static(c.is_quadratic):
                    follow_natural_turns(c.loops, c.tables, c.state, w, c.constants.load(w, H))
                else:
                    follow_turns(c.loops, c.state, w, c.constants.load(w, H))
            watch(c, w)
        if ti.static(c.touches):
            if i == ti.select(steps > 0, steps, 1):
                report_contacts(c, w)


@ti.func
def advance_round(c: ti.template(), w: ti.i32, first: ti.i64, i: ti.i32, steps: ti.i32):
    """Round i of `advance_natural`: a step, or the frame.

    Reads:  c
    Writes: c.state, c.bound, c.forces.work, c.rows.joint_wrench
    """
    n_phases = c.bound.n_evaluations + c.bound.max_corrections
    if i == steps + 1:
        n_phases = 2  # velocities, then accelerations
        if ti.static(c.looks_back):
            if steps > 0:
                n_phases = 3  # reactions where the step began; velocities; bodies and rows placed with what is left
    over = 0
    t, side = natural_time(c, w, first, i, steps)
    for p in range(n_phases):
        if over == 0:
            over = place_natural(c, w, t, side, i, p, steps)


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
    if ti.static(c.integrator == "generalized_alpha"):  # rates that are beyond bounds are those of a failed iteration
        lack = c.alpha.lack.load(w, 0)
        code = select((lack > c.bound.jump) | is_nan(lack), c.tables.arena.zero() + NOT_CONVERGED, code)
    if ti.static(c.is_natural and c.constrained):
        code = select(c.bound.turn.load(w, 0) > FARTHEST_TURN**2, c.tables.arena.zero() + TURNS_FAR, code)
    if ti.static(c.summarises):
        note_step(c, w, count, alive)
    if ti.static(c.touches):
        code = select(is_crowded(c, w), c.tables.arena.zero() + CROWDED, code)
    return code


@ti.func
def blame(c: ti.template(), w: ti.i32, code: ti.template()):
    """The fastest dof, a NaN first; how many contacts are too many.

    Reads: c.state.qd, c.bound.impulses
    """
    zero = c.tables.arena.zero()
    worst = zero - 1.0
    guilty = zero
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        rate = c.state.qd.load(w, d)
        size = select(is_nan(rate), zero + ti.math.inf, rate * rate)
        worse = size > worst
        worst = select(worse, size, worst)
        guilty = select(worse, zero + ti.cast(d, c.tables.arena.device.real), guilty)
    if ti.static(c.touches):
        guilty = select(code == CROWDED, needed_contacts(c, w), guilty)
    return guilty


@ti.func
def report(c: ti.template(), w: ti.i32, steps: ti.i32):
    """One frame, after `advance`.

    Reads:  c
    Writes: c.rows
    """
    if ti.static(c.constrained):
        report_rows(c, w)
    if ti.static(c.reports["joints"]):
        report_efforts(c.tables, c.state, c.rows, w)
        if ti.static(c.constrained):
            add_efforts(c, w)
    if ti.static(c.reports["bodies"] or c.projects):
        report_bodies(c.tables, c.state, c.rows, w)
    if ti.static(c.projects):
        project_joints(c.loops.anchors, c.rows, c.state.q, c.state.qd, w)
        unwrap_turns(c.loops, c.state.q, w)
        if ti.static(c.bound.system.n_turns > 0):
            unwrap_rows(c, w)
        if ti.static(c.accelerates):
            demand(c.tables, c.state, w)
            report_accelerations(c.tables, c.state, c.rows, w)
            project_accelerations(c.loops.anchors, c.rows, c.state.q, c.state.qd, c.state.qdd, w)
        if ti.static(c.loops.n_rods > 0):
            report_rods(c.loops, c.rows, w)
    if ti.static(c.reports["bodies"]):
        report_points(c.tables, c.state, c.rows, w)
    if ti.static(c.reports["energy"]):
        report_energy(c, w, steps)


@ti.func
def report_energy(c: ti.template(), w: ti.i32, steps: ti.i32):
    """The energy ledger: ENERGY columns. drift = total - total(0) + dissipated - input.

    Reads:  c.state, c.forces
    Writes: c.total_start, c.forces.power_start, c.rows.energy
    """
    if ti.static(c.keeps_account):
        if steps == 0:
            open_account(c, w)
        else:
            find_power(c, w)
            if ti.static(c.constrained):
                open_again(c, w)
    kinetic, potential, elastic = energies(c, w)
    total = kinetic + potential + elastic
    if steps == 0:
        c.total_start.store(w, 0, total)
    dissipated = c.forces.work.load(w, 0)
    supplied = c.forces.work.load(w, 1)
    if ti.static(c.keeps_account):
        half = c.constants.load(w, H) * 0.5
        dissipated = dissipated + (c.forces.power.load(w, 0) - c.forces.power_start.load(w, 0)) * half
        supplied = supplied + (c.forces.power.load(w, 1) - c.forces.power_start.load(w, 1)) * half
    drift = total - c.total_start.load(w, 0) + dissipated - supplied
    put(c.rows.energy, w, 0, kinetic, potential, elastic, dissipated, supplied, total, drift)
