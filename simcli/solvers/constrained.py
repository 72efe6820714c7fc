"""Steps under constraints: loops, gears, laws and prescribed motions in generalized coordinates.

A step is a number of phases. An evaluation builds the constrained system at its poses and solves it for accelerations and
multipliers, choosing the pieces of the laws again until none changes. A correction returns to the rows: positions to
zero residuals, never by a force that would feed them back slowly.

    semi_implicit   rows hold at the positions that the step reaches, along their directions where it starts (as SHAKE
                    does), so the velocities stay those of the positions and no energy is lost by projection
    rk4, implicit   rows hold in accelerations at each stage; then positions and velocities are projected, in the metric of
                    the mass matrix, with the factor of the last evaluation. A world in which a law stops a coordinate takes
                    the step again, as one of first order (repeat.py)

"""

from typing import NamedTuple

import numpy as np
import taichi as ti

from simcli.kernels.elementary import select
from simcli.kernels.forces import accumulate_work, effort_power
from simcli.kernels.laws import FREE
from simcli.kernels.memory import Arena, any_lane
from simcli.kernels.rows import first_numbers
from simcli.kernels.system import System
from simcli.kernels.tables import Tables
from simcli.kernels.tree import place_all, retract
from simcli.model.actuation import MotionKind
from simcli.model.constraint_tables import Constraints
from simcli.model.massless import lacking
from simcli.model.tables import LinkKind, Model
from simcli.solvers.clock import follow_leads, follow_signals
from simcli.solvers.constrained_phase import solve_phase
from simcli.solvers.constrained_report import report_constrained_reactions
from simcli.solvers.corrections import (
    CORRECT,
    EVALUATE,
    PLACE,
    PROJECT,
    START,
)
from simcli.solvers.impulses import finish_impulses, keep_impulses, look_ahead, look_back, needs_end, use_impulses
from simcli.solvers.integrators import GAMMA, H, copy, use_implicit, use_rk4
from simcli.solvers.led import begin_led, lead_bodies
from simcli.solvers.motions import follow_motions
from simcli.solvers.natural_contacts import keep_answer, recall_answer, watch_contacts
from simcli.solvers.natural_steps import (
    ALL_STAGES,
    MANY_PROJECTIONS,
    PROJECTIONS,
    REFINEMENTS,
    finish_natural,
    load_midpoint,
    span_of,
    takes_again,
    turning_rows,
    use_natural,
)
from simcli.solvers.repeat import JUMP, go_back, keep_work, use_again

DIAGNOSTICS = ("iterations", "position_violation", "velocity_violation")
CONTACT_DIAGNOSTICS = ("residual", "penetration", "contacts")
# Choices of pieces in one step: two or three suffice where nothing chatters; a walk (choices.py) ends one piece at a time.
MAX_CHOICES, CHOICES_PER_LAW = 20, 4
# Residuals [m or 1] that cannot be told from none.
TIGHT = {"float64": 1e-15, "float32": 2e-6}
# Relative difference of two solutions for one velocity that is rounding: pieces that differ by less are as good.
ROUNDING = {"float64": 1e-13, "float32": 1e-5}


def yields(model: Model) -> bool:
    """True if a joint or a body has compliance."""
    return bool(np.any(model.joints.compliance) or np.any(model.bodies.compliance))


class Limits(NamedTuple):
    """Where corrections of positions end.

    Attributes:
        tolerance: [m, 1], residual that counts as none.
        corrections: in one step, at most.
    """

    tolerance: float = 1e-12
    corrections: int = 8

    @staticmethod
    def of(options) -> "Limits":
        """Those of a solver's options, where it has them."""
        return Limits(options.tolerance, options.max_iterations) if hasattr(options, "tolerance") else Limits()


class Constrained:
    """Memory of constrained steps beyond that of the system.

    Args:
        constraints, model, tables, arena: see `System`.
        motions: (NV,) MotionKind, 0 for dofs that are not prescribed.
        integrator: its name.
        limits: where corrections end.
        impulses: makes `Impulses` of the system and the number of prescribed dofs, where shapes can touch.

    Attributes:
        start: (rows) coordinate of each row at the start of a step.
        base: (n dofs) efforts without rows and laws, F.
        worst: largest residual of hard rows before the last correction.
        turning: rows whose bias is the square of an angular velocity, over turn_weight.
        turn: (h omega)^2 of what turns fastest in the present step.
        tries: choices of pieces in the last evaluation.
        repeats: whether steps may be taken again.  jumps: 1 if this one is.  opens: 1 if the last one was.
        switches: whether steps of zhong06 may be of first order, those with jumps = 1: something stops or touches in them.
        parts: 1 where a step is taken again because nothing touches in it.
        work_kept: [J] done before this step.
        impulse: (n dofs) [N s] that massless vectors got at the end of the last step.
        pace: (laws) rate in the middle of the last step, of coordinates with armature.  owes: 1 until the velocities at its
            end have got what armature takes of them (rotors.py).
        spins_free: (links) 1 for free bodies that have inertia by themselves.
        first: (unknowns) the first solution of a correction.
        excess: (2 n dofs) what the weights have too much, see natural_steps.py.  carried: (n dofs) with what a try begins.
        refinements: tries that refine the accelerations of a frame.
        move: (NV) displacement of a correction.
        projected: (rows) [N s] by which velocities were projected since the last step, in natural coordinates with contact.
        push: (NV) external forces along the coordinates, in the middle of the present step of zhong06.
    """

    _data_oriented = True

    def __init__(self, constraints: Constraints, model: Model, tables: Tables, arena: Arena, motions: np.ndarray,
                 integrator: str, limits: Limits, impulses=None):
        stages = ALL_STAGES[integrator]
        self.arena = arena
        prescribed = np.flatnonzero((motions != 0) & (tables.unknown_of_dof >= 0))
        self.n_motions, moved = len(prescribed), arena.records(len(prescribed))
        self.motion_dof = moved.ints(prescribed)
        numbers = np.where(first_numbers(tables) < 0, np.append(tables.q_of_dof, -1), first_numbers(tables))
        self.motion_q = moved.ints(numbers[prescribed])
        motion_of = np.full(tables.n_qd, -1)
        motion_of[prescribed] = np.arange(len(prescribed))
        self.motion_of = tables.dofs.ints(motion_of)
        self.by_position = moved.ints(motions[prescribed] == MotionKind.POSITION)
        stiff = any(map(yields, tables.phases)) or bool((constraints.rows.spring >= 0).any())
        idles = bool(tables.ever(lambda m: ~m.joints.enabled).any())
        idles |= bool((constraints.rows.enabled == 0).any())
        leads = constraints.rows.dof[constraints.rows.is_hard & (constraints.rows.dof >= 0)]
        self.leads_by_position = arena.ints(motions[leads] == MotionKind.POSITION)
        special = constraints.laws.n or stiff or len(prescribed) or len(leads)
        self.is_plain = not special  # one matrix serves velocities and positions
        self.system = System(constraints, model, tables, arena, idles or not self.is_plain)
        self.jump = JUMP[arena.device.precision]
        self.tight, self.max_corrections = max(limits.tolerance, TIGHT[arena.device.precision]), limits.corrections
        self.rounding = ROUNDING[arena.device.precision]
        turning, weight = turning_rows(constraints)
        self.turning, self.n_turning, self.turn_weight = arena.ints(turning), len(turning), tables.column(weight)
        is_touching = tables.is_natural and impulses is not None
        self.repeats = (stages > 1 or integrator == "zhong06") and constraints.laws.n > 0 and not is_touching
        self.switches = tables.is_natural and (self.repeats or is_touching)
        self.parts = arena.single.slot()
        self.projections = MANY_PROJECTIONS if tables.is_natural and tables.has_excess else PROJECTIONS
        self.n_evaluations = stages + (self.repeats or is_touching) + tables.is_natural
        self.max_choices = MAX_CHOICES + CHOICES_PER_LAW * constraints.laws.n
        n = tables.n_tree_dofs
        self.start, self.base, self.worst = self.system.rows.items.slot(), tables.tree_dofs.slot(), arena.single.slot()
        self.impulses = impulses(self.system, self.n_motions) if impulses else None
        n_diagnostics = len(DIAGNOSTICS) + (len(CONTACT_DIAGNOSTICS) if impulses else 0)
        self.tries, self.diag = arena.single.slot(), arena.slot(n_diagnostics)
        if impulses and not tables.is_natural:
            self.max_corrections = self.impulses.passes
        self.jumps, self.opens, self.work_kept = arena.single.slot(), arena.single.slot(), arena.slot(2)
        self.impulse, self.turn = tables.tree_dofs.slot(), arena.single.slot()
        spins = model.links.kind == LinkKind.FREE
        self.spins_free = arena.ints(spins & ~lacking(model)[np.maximum(model.links.body, 0)])
        self.pace, self.owes = self.system.laws.items.slot(), arena.single.slot()
        self.carried, self.refinements = tables.tree_dofs.slot(), REFINEMENTS
        self.excess, self.first = arena.slot(2 * n), self.system.unknowns.slot()
        self.projected = self.system.rows.items.slot() if is_touching else arena.slot(0)
        self.push = tables.dofs.slot() if integrator == "zhong06" else arena.slot(0)
        self.move, self.q_start, self.q_kept = tables.dofs.slot(), tables.coordinates.slot(), tables.coordinates.slot()

    def clear(self):
        """Forget what earlier steps left."""
        self.system.clear()
        if self.impulses:
            self.impulses.clear()
        kept = (self.start, self.base, self.worst, self.excess, self.impulse, self.move, self.tries, self.diag, self.jumps)
        for slot in (*kept, self.projected, self.carried, self.opens, self.parts, self.turn, self.pace, self.owes):
            slot.write(np.zeros((1, slot.n_items, 1)))


@ti.func
def settle_speeds(c: ti.template(), w: ti.i32):
    """Give locked dofs their velocities exactly, after qd + h qdd.

    Reads:  c.bound.system.laws
    Writes: c.state.qd
    """
    y = c.bound.system
    if ti.static(y.laws.n > 0):
        for n in range(y.laws.n):
            if y.laws.unknown.at(n) < y.n_dofs:
                d = y.laws.dof.at(n)
                locked = y.laws.lock.load(w, n) != FREE
                c.state.qd.store(w, d, select(locked, y.laws.speed.load(w, n), c.state.qd.load(w, d)))


@ti.func
def use_constrained(c: ti.template(), w: ti.i32, h: ti.template()):
    """qd+ = qd + h qdd, locked dofs at their speeds; q+ = q (+) h qd+ (a first-order step).

    Reads:  c.state, c.bound
    Writes: c.state.{q, qd}, c.bound.q_start, c.forces.work
    """
    s = c.state
    if ti.static(c.forces.has_work):
        effort_power(c.tables, c.forces, s, w, h)
        accumulate_work(c.forces, w, h)
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        s.qd.store(w, d, s.qd.load(w, d) + s.qdd.load(w, d) * h)
    settle_speeds(c, w)
    copy(c.bound.q_start, s.q, c.tables.n_q, w)
    retract(c.tables, c.bound.q_start, s.q, s.qd, w, h)
    if ti.static(c.bound.n_motions > 0):
        follow_motions(c, w)


@ti.func
def place_constrained(c: ti.template(), w: ti.i32, t: ti.template(), side: ti.template(), i: ti.i32, p: ti.i32,
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
    stage = p
    last = i == steps + 1
    if last:
        if ti.static(c.stages == 1 and not c.is_natural):
            if steps > 0:
                kind = PLACE
    elif p >= c.bound.n_evaluations:
        kind = PROJECT
        stage = p - c.bound.n_evaluations
        if ti.static(c.stages == 1):
            kind = CORRECT
    again = 0
    if ti.static(c.is_natural):
        if kind == EVALUATE:
            stage = p - 1
            if p == 0:
                kind = START
                stage = 0
            elif p > c.stages and not last:
                again = 1
                if not any_lane(takes_again(c, w)):
                    kind = CORRECT
        if ti.static(c.looks_back):  # the step that is over first, for what follows forgets it
            if last and steps > 0:
                kind = PLACE
                if p == 1:
                    kind = START
    elif ti.static(c.bound.repeats):
        if kind == EVALUATE and p == c.stages:
            again = 1
            go_back(c, w)
    if ti.static(c.looks_back):
        if last and p == 0 and steps > 0:
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
    if ti.static(c.is_natural and c.touches):
        if kind == EVALUATE:
            watch_contacts(c, w, h, again)
    if ti.static(c.led.n > 0):
        if kind == EVALUATE:
            lead_bodies(c, w, h, span_of(c, w, h, stage), ti.cast(last, ti.i32))
    if ti.static(c.is_midpoint):  # after signals, whose accounts load the links where the step begins
        if kind == EVALUATE and not last:
            load_midpoint(c, w, h)
    instant = ti.cast(last, ti.i32)
    if ti.static(c.is_natural):
        b = span_of(c, w, h, stage) * ti.cast(not last, c.tables.arena.device.real)
        if ti.static(c.touches):
            b = c.tables.arena.zero() + h * 0.5 * ti.cast(not last, c.tables.arena.device.real)
        solve_phase(c, w, t, kind, stage, instant, b, h)
        if ti.static(c.looks_back):
            if last and kind == START and steps > 0:
                recall_answer(c, w)
    elif ti.static(c.integrator == "rk4" and not c.bound.repeats):
        solve_phase(c, w, t, kind, stage, instant, 0.0, h)
    elif ti.static(c.stages > 1):
        part = ti.cast(again, c.tables.arena.device.real)
        if ti.static(c.integrator == "implicit"):
            if not last and again == 0:
                part = GAMMA
        solve_phase(c, w, t, kind, stage, instant, h * part, h)
    else:
        solve_phase(c, w, t, kind, stage, instant, h, h)
    if ti.static(c.reports["wrenches"]):
        shows = last and kind == EVALUATE
        if ti.static(c.looks_back):
            shows = shows or (last and p == 0 and steps > 0)
        elif ti.static(c.stages == 1 and not c.is_natural):
            shows = shows or (i == steps and kind == EVALUATE)
        if shows:
            report_constrained_reactions(c, w)
    if ti.static(c.looks_back):
        if last and p == 0 and steps > 0:
            look_ahead(c, w)
            if ti.static(c.is_natural):
                keep_answer(c, w)
    if ti.static(c.by_impulses and not c.is_natural):
        if (kind == EVALUATE or kind == CORRECT) and not last:
            over = end_touching(c, w, h, kind, p)
    elif ti.static(not c.is_quadratic):
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
        if ti.static(c.is_natural):
            waits = 0
            if ti.static(c.bound.switches):
                waits = ti.cast(again == 0 and any_lane(takes_again(c, w)), ti.i32)
            if waits == 0:
                use_natural(c, w, h, stage)
        elif ti.static(c.stages == 1):
            use_constrained(c, w, h)
        elif again == 1:
            if ti.static(c.bound.repeats):
                use_again(c, w, h)
        elif ti.static(c.integrator == "rk4"):
            use_rk4(c, w, stage, h)
        else:
            use_implicit(c, w, stage, h)
        if ti.static(c.bound.repeats and not c.is_natural):
            if stage == 0:
                keep_work(c, w, h)
        if ti.static(c.stages > 1):
            if stage == c.stages - 1:
                settle_speeds(c, w)
            if stage >= c.stages - 1:
                if ti.static(c.bound.n_motions > 0):
                    follow_motions(c, w)
        if ti.static(c.is_natural):
            over = 0
        elif ti.static(c.bound.system.n_rows == 0):
            if stage == c.stages - 1:
                over = 1
                if ti.static(c.bound.repeats):
                    if any_lane(c.bound.jumps.load(w, 0) > 0.0):
                        over = 0
            if stage == c.stages:
                over = 1
    elif kind != EVALUATE and kind != PLACE:
        if not any_lane(c.bound.worst.load(w, 0) > c.bound.tight):
            over = 1
        if ti.static(c.is_natural):
            if kind == START:
                over = 0
            elif over == 1 or p == c.bound.n_evaluations + c.bound.max_corrections - 1:
                if ti.static(c.by_impulses):
                    keep_impulses(c, w, h)
                finish_natural(c, w, h)
    return over


@ti.func
def end_touching(c: ti.template(), w: ti.i32, h: ti.template(), kind: ti.i32, p: ti.i32):
    """Move along the impulses of phase p; 1 when the step is over.

    Reads:  c
    Writes: c.state, c.bound, c.forces.work
    """
    over = 0
    if kind == EVALUATE:
        if ti.static(c.forces.has_work):
            effort_power(c.tables, c.forces, c.state, w, h)
            accumulate_work(c.forces, w, h)
        over = ti.cast(not any_lane(needs_end(c, w) != 0.0), ti.i32)
    elif not any_lane(c.bound.worst.load(w, 0) > 0.0):
        over = 1
    use_impulses(c, w, kind, h)
    if over == 1 or p == c.bound.n_evaluations + c.bound.max_corrections - 1:
        finish_impulses(c, w, h)
        settle_speeds(c, w)
        if ti.static(c.bound.n_motions > 0):
            follow_motions(c, w)
    return over
