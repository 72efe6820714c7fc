"""Phases of steps in natural coordinates: the system is built, asked, solved, and its answer is used (natural/steps.py)."""

from simcli.kernels.dynamics import collect, demand
from simcli.kernels.efforts import efforts
from simcli.kernels.external_forces import load_links
from simcli.kernels.language import ti
from simcli.kernels.memory import any_lane
from simcli.kernels.programs import NO_BOUND, begin, run
from simcli.kernels.rows import measure
from simcli.kernels.sparse import substitute
from simcli.kernels.system import assemble, enter, extrapolate, fill, keep, leave
from simcli.kernels.tree import place_all
from simcli.solvers.impulses.memory import keep_impulses, look_ahead, look_back
from simcli.solvers.natural.contacts import keep_answer, recall_answer, watch_contacts
from simcli.solvers.natural.led import begin_led, lead_bodies
from simcli.solvers.natural.steps import (
    carry_excess,
    demand_velocities,
    filter_correction,
    finish_natural,
    give_excess,
    load_midpoint,
    owe_excess,
    soften_step,
    span_of,
    takes_again,
    use_natural,
    use_velocities,
)
from simcli.solvers.rows.corrections import CORRECT, EVALUATE, PLACE, START, demand_correction, harden, use_correction
from simcli.solvers.rows.equations import state_equations
from simcli.solvers.rows.laws import account_laws, finish_try
from simcli.solvers.rows.pieces import choose_pieces
from simcli.solvers.rows.report import report_constrained_reactions
from simcli.solvers.shared.clock import follow_leads, follow_signals
from simcli.solvers.shared.motions import lead_rows
from simcli.solvers.tree.integrators import H


@ti.func
def place_natural(c: ti.template(), w: ti.i32, t: ti.template(), side: ti.template(), i: ti.i32, p: ti.i32,
                  steps: ti.i32):
    """Phase p of round i, counted from 1: the last one shows the frame, the others are steps. 1 when the round is over.

    Args:
        t: [s].  side: of jumps at t, see clock.py.

    Reads:  c
    Writes: c.state, c.bound, c.rows.joint_wrench
    """
    h = c.constants.load(w, H)
    over = 0
    kind = EVALUATE
    stage = p - 1
    last = i == steps + 1
    again = 0
    if not last and p >= c.bound.n_evaluations:
        kind = CORRECT
        stage = c.stages  # a world that jumps is corrected over the time of its second evaluation
    elif p == 0:
        kind = START
        stage = 0
    elif p > c.stages and not last:
        again = 1
        if not any_lane(takes_again(c, w)):
            kind = CORRECT
    if ti.static(c.looks_back):
        if last and steps > 0:  # the step that is over first, for what follows forgets it
            kind = PLACE
            if p == 1:
                kind = START
            if p == 0:
                look_back(c, w)
    if ti.static(c.leads.n > 0):
        follow_leads(c, w, t, ti.cast(kind == START, ti.i32), last)
    if ti.static(c.led.n > 0):
        if kind == START:
            begin_led(c, w)
    place_all(c.tables, c.state, w)
    if ti.static(c.signals.n > 0):
        account = -1
        if kind == EVALUATE and again == 0 and steps > 0:
            account = stage
        if ti.static(c.integrator == "zhong06"):
            if kind != START:  # the account of the last step ends with its forces
                follow_signals(c, w, t, side, account)
        else:
            follow_signals(c, w, t, side, account)
    if ti.static(c.touches):
        if kind == EVALUATE:
            watch_contacts(c, w, h, again)
    if ti.static(c.led.n > 0):
        if kind == EVALUATE:
            lead_bodies(c, w, h, span_of(c, w, h, stage), ti.cast(last, ti.i32))
    if ti.static(c.is_midpoint):  # after signals, whose accounts load the links where the step begins
        if kind == EVALUATE and not last:
            load_midpoint(c, w, h)
    b = span_of(c, w, h, stage) * ti.cast(not last, c.tables.arena.device.real)
    if ti.static(c.touches):
        b = c.tables.arena.zero() + h * 0.5 * ti.cast(not last, c.tables.arena.device.real)
    solve_phase(c, w, kind, stage, ti.cast(last, ti.i32), b, h)
    if ti.static(c.looks_back):
        if last and kind == START and steps > 0:
            recall_answer(c, w)
    if ti.static(c.reports["wrenches"]):
        shows = last and kind == EVALUATE
        if ti.static(c.looks_back):
            shows = shows or (last and p == 0 and steps > 0)
        if shows:
            report_constrained_reactions(c, w)
    if ti.static(c.looks_back):
        if last and p == 0 and steps > 0:
            look_ahead(c, w)
            keep_answer(c, w)
    if ti.static(not c.is_quadratic):
        over = end_phase(c, w, h, kind, stage, again, p, ti.cast(last, ti.i32))
    return over


@ti.func
def end_phase(c: ti.template(), w: ti.i32, h: ti.template(), kind: ti.i32, stage: ti.i32, again: ti.i32, p: ti.i32,
              last: ti.i32):
    """Move along what phase p has found; 1 when the round is over.

    Reads:  c
    Writes: c.state, c.bound, c.forces.work
    """
    over = 0
    if kind == EVALUATE and last == 0:
        waits = 0
        if ti.static(c.bound.switches):
            waits = ti.cast(again == 0 and any_lane(takes_again(c, w)), ti.i32)
        if waits == 0:
            use_natural(c, w, h, stage)
    elif kind == CORRECT:
        if not any_lane(c.bound.worst.load(w, 0) > c.bound.tight):
            over = 1
        if over == 1 or p == c.bound.n_evaluations + c.bound.max_corrections - 1:
            if ti.static(c.by_impulses):
                keep_impulses(c, w, h)
            finish_natural(c, w, h)
    return over


@ti.func
def solve_phase(c: ti.template(), w: ti.i32, kind: ti.i32, stage: ti.i32, instant: ti.i32, b: ti.template(),
                h: ti.template()):
    """One phase of a step in natural coordinates, after `place_all`.

        EVALUATE  accelerations, multipliers and efforts of laws at the present state
        CORRECT   positions where the step ends, by its velocity
        START     velocities at the start of a step
        PLACE     only the residuals, for the report

    Args:
        instant: 1 for the accelerations of the instant, 0 for those that a step takes.
        b: [s], time over which efforts are implicit.

    Reads:  c.state
    Writes: c.state, c.bound
    """
    t = c.tables
    s = c.state
    fo = c.forces
    y = c.bound.system
    evaluates = kind == EVALUATE
    builds = evaluates or kind == START
    g = span_of(c, w, h, stage)
    if builds:
        if ti.static(c.forces.has_external):
            if ti.static(c.is_midpoint):
                if instant != 0:
                    load_links(t, fo, s, w)
            else:
                load_links(t, fo, s, w)
        elif ti.static(c.forces.has_work):
            fo.power.store(w, 0, t.arena.zero())
            fo.power.store(w, 1, t.arena.zero())
        efforts(t, fo, s, w, b)
        for n in range(t.n_tree_dofs):
            s.qdd.store(w, t.tree_dof.at(n), t.arena.zero())
        demand(t, s, w)
        collect(t, s, s.u, w)
    if ti.static(y.n_rows > 0):
        measure(t, s, y.rows, w)
        if kind == START:
            soften_step(c, w, h)
        elif evaluates and instant != 0:  # softness is of what a step moves, and nothing moves at an instant
            y.softness.store(w, 0, t.arena.zero() + y.least)
    if builds:
        if ti.static(c.bound.is_plain):
            if not evaluates:  # the velocities have changed since, and the matrix has not
                fill(y, t, s, w)
        else:
            fill(y, t, s, w)
        if ti.static(y.n_rows > 0):
            for r in range(y.n_rows):
                c.bound.start.store(w, r, y.rows.residual.load(w, r))
        for n in range(t.n_tree_dofs):
            d = t.tree_dof.at(n)
            c.bound.base.store(w, n, s.tau.load(w, d) - s.u.load(w, d))
            if ti.static(c.is_midpoint):
                if instant == 0:
                    c.bound.base.store(w, n, c.bound.base.load(w, n) + c.bound.push.load(w, d))
    if ti.static(y.n_leads > 0):
        lead_rows(c, w, kind, h, instant)
    n_tries = 0
    first_try = 0
    if evaluates:
        if ti.static(not c.by_impulses):
            n_tries = y.solutions * c.bound.max_choices
    if kind == START:
        first_try = -c.bound.projections
    if kind == CORRECT:
        n_tries = 2
    running = 1
    for k in range(first_try, n_tries):
        if running != 0:
            if k < 0:
                project_again(c, w, k)
            elif evaluates:
                if ti.static(not c.by_impulses):
                    running = ask_again(c, w, k, stage, b, h, g, instant)
            else:
                if ti.static(not c.is_quadratic):
                    if k == 0:
                        demand_correction(c, w, kind, k, stage, h, g)
                    else:
                        filter_correction(c, w)
            if running != 0:
                enter(y, w)
                substitute(y.factor, w)
                if k < 0:
                    leave(y, w)
                    if k == -1:
                        use_velocities(c, w)
                elif evaluates:
                    if ti.static(not c.by_impulses):
                        use_answer(c, w, k, stage)
                else:
                    if ti.static(not c.is_quadratic):
                        if k == 1:
                            use_correction(c, w, kind, 0, stage, h, g)
    if ti.static(c.by_impulses):
        if evaluates:
            meet(c, w, b, g, instant)
    if evaluates:
        account_laws(c, w, stage, h, g, instant)


@ti.func
def project_again(c: ti.template(), w: ti.i32, k: ti.i32):
    """Right-hand side of a projection of velocities, from -projections on.

    Reads:  c.bound
    Writes: c.bound.system
    """
    y = c.bound.system
    if k == -c.bound.projections:
        demand_velocities(c, w)
        assemble(y, w)
    else:
        for r in range(y.n_rows):
            harden(y, w, r)
        if ti.static(c.has_excess):
            for n in range(y.n_dofs):
                given = y.acceleration.load(w, n) * c.tables.excess.load(w, c.tables.tree_dof.at(n))
                y.load.store(w, n, given + c.bound.impulse.load(w, n))


@ti.func
def meet(c: ti.template(), w: ti.i32, b: ti.template(), g: ti.template(), instant: ti.i32):
    """Take the list of stages that solves the one problem of a step with contact.

    Writes: c.{b, g, now, bound}
    """
    c.b.store(w, 0, c.tables.arena.zero() + b)
    c.g.store(w, 0, c.tables.arena.zero() + g)
    c.now.store(w, "instant", instant)
    begin(c.solving, w)
    run(c.solving, c, w, NO_BOUND)


@ti.func
def ask_again(c: ti.template(), w: ti.i32, k: ti.i32, stage: ti.i32, b: ti.template(), h: ti.template(), g: ti.template(),
              instant: ti.i32):
    """Right-hand side of solution k of an evaluation; 0 if the pieces of all laws are right.

    Reads:  c
    Writes: c.bound.{system, excess}
    """
    y = c.bound.system
    running = 1
    if k % y.solutions == 0:
        refines = 0
        if ti.static(c.has_excess):
            refines = ti.cast(instant != 0 and k // y.solutions < c.bound.refinements, ti.i32)
        choose_pieces(c, w, k // y.solutions, stage, b, h, g, instant)
        if k > 0:
            running = refines
            if ti.static(y.laws.n > 0):
                if any_lane(y.laws.changed.load(w, 0) != 0.0):
                    running = 1
        if running != 0:
            state_equations(c, w, stage, b, h, g, instant)
            if ti.static(c.has_excess):
                carry_excess(c, w, k, refines)
            if ti.static(c.bound.is_plain):
                if stage > 0 or instant != 0:
                    assemble(y, w)
            else:
                assemble(y, w)
    else:
        for r in range(y.n_rows):
            harden(y, w, r)
        if ti.static(c.has_excess):
            give_excess(c, w, k % y.solutions)
    return running


@ti.func
def use_answer(c: ti.template(), w: ti.i32, k: ti.i32, stage: ti.i32):
    """What solution k of an evaluation is for.

    Reads:  c.bound.system.factor
    Writes: c.bound, c.state.qdd
    """
    y = c.bound.system
    if k % y.solutions < y.solutions - 1:
        leave(y, w)
        keep(y, w, k % y.solutions)
    else:
        extrapolate(y, w)
        if ti.static(c.has_excess):
            owe_excess(c, w)
        finish_try(c, w, stage)
