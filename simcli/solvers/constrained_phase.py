"""One phase of a constrained step: the system is built, asked, solved, and its answer is used (see constrained.py)."""

import taichi as ti

from simcli.kernels.dynamics import collect, demand
from simcli.kernels.elementary import select
from simcli.kernels.forces import efforts, load_links
from simcli.kernels.gyroscope import gyroscopic_change
from simcli.kernels.laws import FREE
from simcli.kernels.rows import measure
from simcli.kernels.sparse import substitute
from simcli.kernels.system import assemble, enter, extrapolate, fill, hold, keep, leave
from simcli.solvers.choices import law_power, set_pieces
from simcli.solvers.corrections import (
    CORRECT,
    EVALUATE,
    PLACE,
    PROJECT,
    START,
    demand_correction,
    harden,
    use_correction,
)
from simcli.solvers.impulses import meet
from simcli.solvers.integrators import correct_efforts
from simcli.solvers.motions import lead_rows
from simcli.solvers.natural_steps import (
    carry_excess,
    demand_velocities,
    filter_correction,
    give_excess,
    owe_excess,
    soften_step,
    span_of,
    use_velocities,
)
from simcli.solvers.repeat import note_jumps


@ti.func
def solve_phase(c: ti.template(), w: ti.i32, time: ti.template(), kind: ti.i32, stage: ti.i32, instant: ti.i32,
                 b: ti.template(), h: ti.template()):
    """One phase after `place_all`: see EVALUATE, CORRECT, PROJECT, START and PLACE.

        EVALUATE  accelerations, multipliers and efforts of laws at the present state
        CORRECT   positions of a first-order step, by its velocity
        PROJECT   positions, then velocities
        START     velocities at the start of a step in natural coordinates
        PLACE     only the residuals, for the report

    Args:
        instant: 1 for the accelerations of the instant, 0 for those that a step takes.
        b: [s], time over which efforts are implicit.

    Reads:  c
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
        if ti.static(c.integrator == "implicit"):
            if stage == 1:
                correct_efforts(c, w, b)
        for n in range(t.n_tree_dofs):
            s.qdd.store(w, t.tree_dof.at(n), t.arena.zero())
        demand(t, s, w)
        collect(t, s, s.u, w)
    if ti.static(y.n_rows > 0):
        measure(t, s, y.rows, w)
        if ti.static(c.is_natural):
            if kind == START:
                soften_step(c, w, h)
            elif evaluates and instant != 0:  # softness is of what a step moves, and nothing moves at an instant
                y.softness.store(w, 0, t.arena.zero() + y.least)
    if builds:
        if ti.static(c.is_natural and c.bound.is_plain):
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
        if ti.static(c.is_loose):
            turn_ahead(c, w, h)
    if ti.static(y.n_leads > 0):
        lead_rows(c, w, kind, h, instant)
    n_tries = 1
    if ti.static(c.by_impulses and not c.is_natural):
        if kind == CORRECT:
            n_tries = 0
    first_try = 0
    if kind == PLACE:
        n_tries = 0
    if evaluates:
        n_tries = 0
        if ti.static(not c.by_impulses):
            n_tries = y.solutions * c.bound.max_choices
    if ti.static(c.is_natural):
        if kind == START:
            n_tries = 0
            first_try = -c.bound.projections
    if kind == PROJECT:
        n_tries = 2
    if ti.static(c.is_natural):
        if kind == CORRECT:
            n_tries = 2
    running = 1
    for k in range(first_try, n_tries):
        if running != 0:
            if k < 0:
                if ti.static(c.is_natural):
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
            elif evaluates:
                if ti.static(not c.by_impulses):
                    running = ask_again(c, w, k, stage, b, h, g, instant)
            else:
                if ti.static(not c.is_quadratic):
                    if ti.static(c.is_natural):
                        if k == 0:
                            demand_correction(c, w, kind, k, stage, h, g)
                        else:
                            filter_correction(c, w)
                    else:
                        demand_correction(c, w, kind, k, stage, h, g)
            if running != 0:
                enter(y, w)
                substitute(y.factor, w)
                if k < 0:
                    if ti.static(c.is_natural):
                        leave(y, w)
                        if k == -1:
                            use_velocities(c, w)
                elif evaluates:
                    if ti.static(not c.by_impulses):
                        use_answer(c, w, k, stage)
                elif ti.static(c.is_natural):
                    if ti.static(not c.is_quadratic):
                        if k == 1:
                            use_correction(c, w, kind, 0, stage, h, g)
                else:
                    use_correction(c, w, kind, k, stage, h, g)
    if ti.static(c.by_impulses):
        if evaluates or (kind == CORRECT and not c.is_natural):
            meet(c, w, kind, b, h, g, instant)
    if evaluates:
        account_laws(c, w, stage, h, g, instant)


@ti.func
def turn_ahead(c: ti.template(), w: ti.i32, h: ti.template()):
    """Take the gyroscopic torques of free bodies at the end of the step, of those that have inertia by themselves.

    Writes: c.bound.base
    """
    t = c.tables
    for i in range(t.n_links):
        if c.bound.spins_free.at(i) != 0:
            change = gyroscopic_change(t, c.state, w, i, h)
            for d in range(t.link_qd.at(i) + 3, t.link_qd.at(i) + 6):
                n = t.unknown.at(d)
                if n >= 0:
                    given = c.state.S.load(w, d).angular.dot(change)
                    c.bound.base.store(w, n, c.bound.base.load(w, n) + given)


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
        running = set_pieces(c, w, k // y.solutions, stage, b, h, g, instant, refines)
        if ti.static(c.has_excess):
            if running != 0:
                carry_excess(c, w, k, refines)
        if running != 0:
            if ti.static(c.is_natural and c.bound.is_plain):
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


@ti.func
def account_laws(c: ti.template(), w: ti.i32, stage: ti.i32, h: ti.template(), g: ti.template(), instant: ti.i32):
    """Powers of laws, and the jumps that they make.

    Reads:  c
    Writes: c.forces.power, c.bound.{jumps, system.laws}
    """
    if ti.static(c.stages == 1):
        law_power(c, w, h, g)
    elif ti.static(c.bound.repeats):
        law_power(c, w, h * ti.cast(stage == c.stages, c.tables.arena.device.real), g)
    else:
        law_power(c, w, 0.0, g)
    if ti.static(c.bound.system.laws.n > 0):
        note_jumps(c, w, stage, h, instant)


@ti.func
def finish_try(c: ti.template(), w: ti.i32, stage: ti.i32):
    """Accelerations to the state, and the efforts that laws gave.

    Reads:  c.bound.system
    Writes: c.state.qdd, c.bound.system.{effort, laws.effort}
    """
    y = c.bound.system
    if ti.static(y.steps_lock):
        hold(y, w)
    for n in range(c.tables.n_tree_dofs):
        c.state.qdd.store(w, c.tables.tree_dof.at(n), y.acceleration.load(w, n))
    if ti.static(y.laws.n > 0):
        for k in range(y.laws.n):
            i = y.laws.unknown.at(k)
            locked = y.laws.lock.load(w, k) != FREE
            found = c.tables.arena.zero()
            if i < y.n_dofs:
                line = y.laws.push.load(w, k) - y.laws.gain.load(w, k) * y.acceleration.load(w, i)
                found = select(locked, y.effort.load(w, i), line)
            else:
                found = y.force.load(w, i - y.n_dofs)
            if ti.static(c.bound.repeats):
                if stage == c.stages:
                    found = select(c.bound.jumps.load(w, 0) > 0.0, found, y.laws.effort.load(w, k))
            y.laws.effort.store(w, k, found)
