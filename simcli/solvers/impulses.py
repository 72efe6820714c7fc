"""The one problem of a step with contact: joints, laws and contacts, solved together for impulses and velocities.

    M v = M v0 + h F + J^T x      x impulses of rows and contacts, v the velocities that move the coordinates

The evaluation states the problem and solves it; each correction states what is still missing at the poses that were reached,
and solves it again along the same directions, or where a scene wants that along those of the poses reached (direction.py).
The rows are stated by impulse_rows.py. Called by constrained_phase.py.

Source: reference/contact-solver.md, sections 1 and 4. Deviation: the direction is chosen for a scene, not for a step.
"""

from dataclasses import replace

import numpy as np
import taichi as ti

from simcli.kernels.complementarity.problem import LIMITS, Problem
from simcli.kernels.complementarity.solve import ready, search
from simcli.kernels.contact_chart import find_gaps
from simcli.kernels.elementary import select
from simcli.kernels.laws import FREE, choose
from simcli.kernels.memory import Arena
from simcli.kernels.system import System
from simcli.kernels.tables import Tables
from simcli.kernels.tree import retract
from simcli.kernels.values import Mat3
from simcli.model.constraint_tables import Constraints
from simcli.model.lawful import is_smooth
from simcli.model.massless import holding_rows
from simcli.model.tables import Model
from simcli.solvers.choices import (
    acceleration_of_law,
    aim_laws,
)
from simcli.solvers.contacts import (
    Contacts,
    aim_contacts,
    contact_loss,
    remember,
    rub,
)
from simcli.solvers.corrections import EVALUATE
from simcli.solvers.direction import DOFS, turn_directions
from simcli.solvers.impulse_mass import mirrored
from simcli.solvers.impulse_rows import (
    DRIVE,
    FRICTION,
    HARD,
    LINEAR,
    LOWER,
    MOTION,
    UNBOUNDED,
    UPPER,
    bound_spins,
    restate,
    state_problem,
    state_rest,
    state_row,
    wake_bounds,
)
from simcli.solvers.integrators import copy
from simcli.solvers.large_worlds import pattern_of
from simcli.solvers.natural_contacts import note_touching

KAPPA = 1e-4  # proximal compliance of contacts that a step begins with
LOOSE = 100.0  # of `tolerance`: what a step may lack where it ends
FAST = 0.01  # of what the solution before lacked: with less, kappa is small enough
FINER = 0.01  # of what the last step missed by its poses, `exact` at most: how finely a step begins


class Impulses:
    """Memory of the problem.

    Args:
        phases: constraints of each phase; all have the same rows and laws.
        model, tables, arena: of the run.
        system: their rows and laws on the device.
        n_motions: prescribed dofs.
        options: of the solver.
        touches, turns, is_large: see `Core`.

    Attributes:
        n_plain, kind, item: rows before the spins; kind of each, and row, prescribed dof or law that it is of.
        firm_row: rows of joints that hold bodies without inertia of their own.
        has_drive: by law, whether it has a row for its drive.
        first_spin: first row of the spins, -1 if there are none.
        start: (n of the problem) velocities at the start of the step.
        pushes: (K) c and (K) g of the linear part of each law.
        kept: (rows) impulses at the end of the last step.  awake: (rows) 1 for bounds that the first attempt has passed.
        load, stiff, stiffness: (n) [N s] given, without K; K of each link; its entries, see direction.py.
        enough: [m/s], what a step may lack.
        missed: [m/s], what the first solution of the last step lacked at the poses reached.  first: 1 until that is known.
        lacked: [m/s], what the solution before the last one began with.
        spins: 1 for the worlds in which a contact has rolling or torsional friction.
        is_bounded: whether some law stops something: then all steps are of impulses.
        answer: (n dofs, rows, n dofs) accelerations, forces and efforts of a step, for the frame where it ends.
        passes: solutions of a step, at most.
        rounds: proximal rounds of a solution: all of them in natural coordinates, which solve once in a step.
        searches: solutions that follow each other, each with the spins bounded by the normal impulses of the one before.
            What shows an instant, as frame 0 does, is solved once in every solver: rounds and searches are `passes` there.
    """

    _data_oriented = True

    def __init__(self, phases: list[Constraints], model: Model, tables: Tables, arena: Arena, system: System,
                 n_motions: int, options, touches: bool, turns: bool, is_large: bool):
        self.is_bounded = any(not is_smooth(phase, phases[0].laws) for phase in tables.phases)
        lag = 0.0 if tables.is_natural and not self.is_bounded else 0.5
        self.contacts = Contacts(model, tables, arena, options.contact, lag) if touches else None
        capacity = self.contacts.capacity if touches else 0
        rows, drives = plan_rows(phases, system, n_motions, is_large)
        self.n_plain, n, plain = len(rows), system.n_dofs, arena.records(len(rows))
        self.kind, self.item, self.has_drive = plain.ints(rows[:, 0]), plain.ints(rows[:, 1]), arena.ints(drives)
        firm = np.flatnonzero(holding_rows(phases[0], model))
        self.n_firm, self.firm_row = len(firm), arena.ints(firm)
        spins = 3 * capacity if touches and self.contacts.has_spin else 0
        self.first_spin = self.n_plain if spins else -1
        limits = LIMITS[arena.device.precision]
        tolerance = max(options.contact.tolerance, limits.tolerance if arena.device.precision == "float32" else 0.0)
        limits = replace(limits, tolerance=tolerance, exact=LOOSE * tolerance)
        pattern = pattern_of(rows, phases[0].laws, system, model, tables, spins > 0) if is_large else None
        self.problem = Problem(arena, n, self.n_plain + spins, capacity, limits=limits, pattern=pattern)
        is_law = np.isin(np.arange(phases[0].rows.n), phases[0].laws.row)
        self.has_hard = bool((~is_law).any())
        self.enough = tolerance if self.has_hard else limits.exact
        self.passes = max(options.contact.passes, options.max_iterations if turns else 0)
        self.rounds = self.passes if tables.is_natural else 1
        self.searches = self.passes if tables.is_natural and spins else 1
        self.start = self.problem.velocities.slot()
        self.kept, self.awake = self.problem.rows.items.slot(), plain.slot()
        self.load, self.stiff = arena.slot(n if turns else 0), arena.slot(tables.n_links if turns else 0, Mat3)
        self.stiffness = arena.slot(DOFS * DOFS * tables.n_links if turns else 0)
        self.push, self.gain = system.laws.items.slot(), system.laws.items.slot()
        self.iterations, self.residual, self.missed, self.first, self.lacked = (arena.single.slot() for _ in range(5))
        self.spins = arena.single.slot()
        self.answer = arena.slot(2 * n + system.n_rows if tables.is_natural else 0)

    def clear(self):
        """Forget what earlier steps left."""
        if self.contacts:
            self.contacts.clear()
        for slot in (self.kept, self.problem.rows.impulse, self.iterations, self.residual, self.missed):
            slot.write(np.zeros((1, slot.n_items, 1)))


def plan_rows(phases: list[Constraints], system: System, n_motions: int, is_large: bool) -> tuple[np.ndarray, np.ndarray]:
    """Kinds and items of the rows, (rows, 2), and which laws have a row for their drive, (K,)."""
    laws, n_rows = phases[0].laws, phases[0].rows.n
    rows = [(HARD, r) for r in range(n_rows) if r not in set(laws.row.tolist())]
    rows += [(MOTION, m) for m in range(n_motions)]

    def ever(test) -> np.ndarray:
        return np.any([np.any(test(one.laws), axis=0) for one in phases], axis=0)

    limited = ever(lambda law: np.isfinite(law.effort_limit)) if laws.n else np.zeros(0, bool)
    if laws.n:
        fast = ever(lambda law: np.isfinite(law.velocity_limit))
        wanted = {DRIVE: limited, FRICTION: ever(lambda law: law.friction > 0),
                  LOWER: fast | ever(lambda law: np.isfinite(law.lower)),
                  UPPER: fast | ever(lambda law: np.isfinite(law.upper))}  # fmt: skip
        rows += [(kind, k) for kind, mask in wanted.items() for k in np.flatnonzero(mask).tolist()]
        rows += [(LINEAR, k) for k in np.flatnonzero(laws.row >= 0).tolist() if is_large]
    return np.array(rows, int).reshape(-1, 2), limited


@ti.func
def meet(c: ti.template(), w: ti.i32, kind: ti.i32, b: ti.template(), h: ti.template(), g: ti.template(), instant: ti.i32):
    """State the problem (EVALUATE) or what it lacks at the poses reached (CORRECT), solve it, and use the answer.

    Reads:  c
    Writes: c.bound.{impulses, system, move, worst}, c.state.qdd
    """
    m = c.bound.impulses
    p = m.problem
    one = c.tables.arena.zero() + 1.0
    met = needs_end(c, w)
    if kind == EVALUATE:
        met = one
    p.asked.store(w, 0, met)
    enough = c.tables.arena.zero() + p.limits.tolerance
    goal = enough * 1.0
    if kind == EVALUATE:
        goal = ti.max(goal, ti.min(m.missed.load(w, 0) * FINER, p.limits.exact))
        m.missed.store(w, 0, c.tables.arena.zero())
        m.first.store(w, 0, c.tables.arena.zero() + 1.0)
        m.lacked.store(w, 0, c.tables.arena.zero() + UNBOUNDED)
        state_problem(c, w, b, h, g, instant)
        p.kappa.store(w, 0, c.tables.arena.zero() + KAPPA)
        m.iterations.store(w, 0, c.tables.arena.zero())
    else:
        enough = enough * 0.0 + m.enough
        set_kappa(m, w)
        if ti.static(c.turns):
            restate(c, w)
    if ti.static(c.turns):
        turn_directions(c, w, h, ti.cast(kind == EVALUATE, ti.i32))
    goes_on = 1
    wakes = ti.cast(kind == EVALUATE or c.turns, ti.i32)
    rounds = m.rounds
    searches = m.searches
    if instant != 0:
        rounds = m.passes
        if ti.static(m.first_spin >= 0):
            searches = m.passes
    for attempt in range(1 + searches):
        if goes_on != 0:
            if wakes != 0:
                for n in range(m.n_plain):
                    state_row(c, w, n, g, attempt + ti.cast(kind != EVALUATE, ti.i32))
                ready(p, w)
                if ti.static(c.touches):
                    if kind == EVALUATE:
                        rub(m.contacts, p, w, m.start)
                        aim_contacts(m.contacts, p, w, m.start, h)
            if kind != EVALUATE and attempt == 0:
                state_rest(c, w, h)
            if ti.static(m.first_spin >= 0):
                bound_spins(c, w)
            if ti.static(m.first_spin >= 0):
                if attempt > 0 and searches > 1:
                    woken = p.asked.load(w, 0) * ti.cast(wakes, c.tables.arena.device.real)
                    p.asked.store(w, 0, ti.max(woken, m.spins.load(w, 0)))
            p.goal.store(w, 0, goal)
            search(p, w, rounds, enough)
            m.iterations.store(w, 0, m.iterations.load(w, 0) + p.iterations.load(w, 0))
            wakes = 0
            if ti.static(c.bound.system.laws.n > 0):
                if kind == EVALUATE and attempt == 0:
                    wakes = wake_bounds(c, w, g)
            goes_on = ti.cast(wakes != 0 or attempt + 1 < searches, ti.i32)
    note_lack(c, w, kind, met, enough)
    take_answer(c, w, g)
    if ti.static(c.touches and c.is_natural):
        if kind == EVALUATE:
            note_touching(c, w, h)


@ti.func
def note_lack(c: ti.template(), w: ti.i32, kind: ti.i32, met: ti.template(), enough: ti.template()):
    """Note, of the worlds that were met, what their last solution began with, and whether that is too much.

    Args:
        met: 1 for those worlds.
        enough: [m/s], what a step may lack.

    Reads:  p.{lack, residual}
    Writes: m.{missed, first, residual}, c.bound.worst
    """
    m = c.bound.impulses
    lacks = m.problem.lack.load(w, 0)
    is_met = met != 0.0
    too_much = lacks >= enough
    if kind != EVALUATE:
        m.missed.store(w, 0, select((m.first.load(w, 0) != 0.0) & is_met, lacks, m.missed.load(w, 0)))
        m.first.store(w, 0, lacks * 0.0)
    c.bound.worst.store(w, 0, select(too_much & is_met, met, met * 0.0))
    left = select(too_much, m.problem.residual.load(w, 0), lacks)
    m.residual.store(w, 0, select(is_met, left, m.residual.load(w, 0)))


@ti.func
def set_kappa(m: ti.template(), w: ti.i32):
    """The proximal compliance of a solution that follows another: the same, and with it the factors, while that goes fast.

    Reads:  p.{lack, progress.kappa}
    Writes: p.kappa, m.lacked
    """
    p = m.problem
    lacks = p.lack.load(w, 0)
    before, after = p.kappa.load(w, 0), p.progress.kappa.load(w, 0)
    is_fast = (after < before) & (lacks < FAST * m.lacked.load(w, 0))
    p.kappa.store(w, 0, select(is_fast, before, after))
    m.lacked.store(w, 0, lacks)


@ti.func
def take_answer(c: ti.template(), w: ti.i32, g: ti.template()):
    """Accelerations, forces of rows, efforts and pieces of laws, from impulses and velocities.

    Args:
        g: [s], over which forces act on these velocities.

    Reads:  p
    Writes: c.bound.system.{acceleration, force, multiplier, effort, laws}, c.bound.move, c.state.qdd
    """
    y = c.bound.system
    m = c.bound.impulses
    p = m.problem
    for n in range(y.n_dofs):
        d = c.tables.tree_dof.at(n)
        v = p.velocity.load(w, mirrored(y, n))
        a = (v - m.start.load(w, mirrored(y, n))) / g
        y.acceleration.store(w, n, a)
        c.state.qdd.store(w, d, a)
        c.bound.move.store(w, d, v)
        if ti.static(c.has_excess):  # nothing was added to the masses
            c.bound.excess.store(w, n, a * 0.0)
    if ti.static(y.laws.n > 0):
        for k in range(y.laws.n):
            speed = y.laws.rate.load(w, k) + (acceleration_of_law(c, w, k) + y.laws.shift.load(w, k)) * g
            y.laws.effort.store(w, k, m.push.load(w, k) - m.gain.load(w, k) * speed)
    for n in range(m.n_plain):
        item = m.item.at(n)
        kind = m.kind.at(n)
        force = p.rows.impulse.load(w, n) / g
        if kind == HARD:
            force = select(p.rows.on.load(w, n) != 0.0, force, y.force.load(w, item))
            y.force.store(w, item, force)
            y.multiplier.store(w, item, -force)
        elif kind == MOTION:
            y.effort.store(w, c.tables.unknown.at(c.bound.motion_dof.at(item)), force)
        elif kind != LINEAR:
            if ti.static(y.laws.n > 0):
                sign = ti.select(kind == UPPER, -1.0, 1.0)
                y.laws.effort.store(w, item, y.laws.effort.load(w, item) + force * sign)
    if ti.static(y.laws.n > 0):
        find_pieces(c, w, g)


@ti.func
def find_pieces(c: ti.template(), w: ti.i32, g: ti.template()):
    """The pieces of the laws on which the answer is.

    Reads:  c.bound
    Writes: c.bound.system.{laws, effort, force}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    aim_laws(c, w, 1, g)
    for k in range(y.laws.n):
        aim = y.laws.goal.load(w, k)
        y.laws.aim.store(w, k, aim)
        choose(y.laws, w, k, aim, zero - 1.0, zero == 0.0)
        i = y.laws.unknown.at(k)
        effort = y.laws.effort.load(w, k)
        if i < y.n_dofs:
            y.effort.store(w, i, select(y.laws.lock.load(w, k) != FREE, effort, y.effort.load(w, i)))
        else:
            y.force.store(w, i - y.n_dofs, effort)


@ti.func
def use_impulses(c: ti.template(), w: ti.i32, kind: ti.i32, h: ti.template()):
    """q+ = q (+) h v; the velocities stay those of the start until `finish_impulses`.

    Reads:  c.bound.move, c.state.q
    Writes: c.state.q, c.bound.q_start
    """
    s = c.state
    if kind == EVALUATE:
        copy(c.bound.q_start, s.q, c.tables.n_q, w)
    retract(c.tables, c.bound.q_start, s.q, c.bound.move, w, h)


@ti.func
def finish_impulses(c: ti.template(), w: ti.i32, h: ti.template()):
    """Velocities at the end of the step, and its work.

    Reads:  c
    Writes: c.state.qd, c.forces.work, c.bound.impulses
    """
    keep_impulses(c, w, h)
    for n in range(c.bound.system.n_dofs):
        v = c.bound.impulses.problem.velocity.load(w, mirrored(c.bound.system, n))
        c.state.qd.store(w, c.tables.tree_dof.at(n), v)


@ti.func
def keep_impulses(c: ti.template(), w: ti.i32, h: ti.template()):
    """What a step that is over leaves for the next one and for the frame.

    Reads:  c.bound.impulses
    Writes: c.bound.{impulses, tries}, c.forces.work
    """
    m = c.bound.impulses
    if ti.static(c.touches):
        remember(m.contacts, m.problem, w, h)
        if ti.static(c.is_natural):
            find_gaps(m.contacts.collider, c.tables, c.state, w)
    for n in range(m.n_plain):
        m.kept.store(w, n, m.problem.rows.impulse.load(w, n))
    c.bound.tries.store(w, 0, m.iterations.load(w, 0))
    if ti.static(c.touches):
        c.forces.work.store(w, 0, c.forces.work.load(w, 0) + contact_loss(m.problem, m.first_spin, w, m.start))


@ti.func
def needs_end(c: ti.template(), w: ti.i32):
    """1 for the worlds in which a contact or a rigid row of this step asks for its end."""
    found = c.tables.arena.zero() + 1.0
    if ti.static(c.touches and not c.bound.impulses.has_hard):
        found = select(c.bound.impulses.contacts.collider.contacts.count.load(w, 0) > 0.0, found, found * 0.0)
    return found


@ti.func
def look_back(c: ti.template(), w: ti.i32):
    """Go back to where the last step began, for a look.

    Writes: c.state.{q, qd}, c.bound.{q_kept, move}
    """
    s = c.state
    copy(c.bound.q_kept, s.q, c.tables.n_q, w)
    copy(c.bound.move, s.qd, c.tables.n_qd, w)
    copy(s.q, c.bound.q_start, c.tables.n_q, w)
    for n in range(c.bound.system.n_dofs):
        s.qd.store(w, c.tables.tree_dof.at(n), c.bound.impulses.start.load(w, mirrored(c.bound.system, n)))


@ti.func
def look_ahead(c: ti.template(), w: ti.i32):
    """Return to where the last step has ended.

    Writes: c.state.{q, qd}
    """
    copy(c.state.q, c.bound.q_kept, c.tables.n_q, w)
    copy(c.state.qd, c.bound.move, c.tables.n_qd, w)
