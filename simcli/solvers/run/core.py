"""What the kernel of a run reads and writes: tables, state, forces, steps, and the constants of the integrator."""

from collections.abc import Sequence

import numpy as np

from simcli.errors import UsageError
from simcli.kernels.articulation.kinematics import TreeState
from simcli.kernels.articulation.loops import Loops, closed_joints
from simcli.kernels.articulation.report import FrameRows
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.programs import Program, Registers
from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.kinematic_bodies import KinematicBodies
from simcli.kernels.forces.prescribed_target import Prescribed
from simcli.kernels.forces.signals import Signals
from simcli.kernels.language.values import Vec3
from simcli.model.closure.turned import turned_apart
from simcli.model.constraints.build import constraints_of, drives_by_law, smooth_laws
from simcli.model.constraints.constraint_tables import Constraints, Laws
from simcli.model.forms.maximal_form import directions_turn
from simcli.model.forms.quadratic_rows import Quadratic, quadratic_of
from simcli.model.tables.model import Model
from simcli.model.tables.signal_tables import MotionKind
from simcli.solvers.base.clock import ages_of
from simcli.solvers.base.gyroscopes import Gyroscopes
from simcli.solvers.base.integrators import ALL_STAGES, IMPLICIT, NODES, RK4_WEIGHTS
from simcli.solvers.base.midpoint import Midpoint
from simcli.solvers.base.run_plan import RunPlan
from simcli.solvers.base.world_ends import HEALTH
from simcli.solvers.impulses.memory import Impulses, is_large, sleeps
from simcli.solvers.natural.memory import NODES as NATURAL_NODES
from simcli.solvers.natural.memory import AlphaSteps, CoordinateForces, QuadraticSteps, yielding_rows
from simcli.solvers.natural.programs import frame_of_natural
from simcli.solvers.output.accumulators import Accumulators, probed_by_feedback, rows_of_dofs
from simcli.solvers.output.contact_report import ContactReport, begin_call
from simcli.solvers.output.energy_balance import ENERGY, EXTREMES, close, open_new, powers, spins, stores
from simcli.solvers.output.frame_stages import Aside, finding
from simcli.solvers.output.loop_guard import LoopGuard, exchange_momenta
from simcli.solvers.rows.drives import report_drives
from simcli.solvers.rows.memory import CONTACT_DIAGNOSTICS, DIAGNOSTICS, Constrained, Limits, yields
from simcli.solvers.run.engine import Engine, ends, find_cause, judge, report, shows
from simcli.solvers.tree.programs import frame_of_tree
from simcli.solvers.tree.stages import loads

# Whole numbers of a block on the way through a program: steps before the frame, in two parts; its steps, and those that are
# over; then see tree/stages.py and impulses/stages.py.
_NOW = (
    "first_high",
    "first_low",
    "steps",
    "step",
    "node",
    "instant",
    "choice",
    "solution",
    "correction",
    "rates",
    "search",
    "searches",
    "statement",
    "turned",
)


class Core:
    """Everything of a run on the device.

    Args:
        model: host tables of a phase.
        options: as of the solver.
        plan: of the run.
        arena: receives everything.
        phases: models of all phases; the layout depends on them alone, not on which of them `model` is.

    Attributes:
        moves: whether motions prescribe something.  turns: whether directions turn in the passes of a step (direction.py).
        sums_momenta: whether wrenches of joints of the tree sum to the momenta of a step, see momenta.py.
        notes_rates: whether wrenches have corrections of velocities, which follow steps of impulses.
        aside: what steps go on from, where frames evaluate their instant.
        by_impulses: whether steps solve a complementarity problem.
        is_large: whether they keep nothing dense, see impulses/memory.py.  sleeps: whether bodies at rest sleep.
        anew: 1 for the worlds that begin anew.  ages: of worlds.
        probed: what signals see that follow the motion.
        looks_back: whether frames show the last step: its reactions are found where it began, with the impulses of all its
            passes.
        looks_at_jumps: whether frames of natural coordinates do that where a law holds a coordinate, alone.
        looks_at_end: whether these are those of the poses where it ends, along whose directions forces act.
        touches: whether shapes may touch, in some phase.
        summarises: whether `contacts` holds what frames say of contacts and of steps that are not solved.
        is_maximal: whether every body stands by itself, in maximal coordinates.
        keeps_account: whether the ledger takes work by the trapezoidal rule (output/energy_balance.py).
        closes_every_step: whether signals drive what does that work.
        energy_every, keeps_extremes, n_steps: of the plan.  extremes: of energies, see output/energy_balance.py.
        is_quadratic: see `polynomials`.  steps, pushes: of these steps.
        now, b, g: see tree/stages.py.  nodes, parts: of the integrator.  program: of a frame.
    """

    _data_oriented = True
    _numbers = ("n_steps",)

    def __init__(self, model: Model, options, plan: RunPlan, arena: Arena, phases: Sequence[Model] = ()):
        self.precision = arena.device.precision
        self.arena, self.lanes, self.block_dim = arena, arena.device.lanes, arena.device.block_dim
        self.tables = Tables(model, arena, phases)
        constraints = constraints_of(model)
        self.choose(model, options, plan, constraints)
        self.lay_forces(model, constraints, arena)
        self.lay_frames(model, plan, constraints, arena)
        self.gyroscopes = Gyroscopes(
            model,
            self.tables,
            arena,
            [constraints_of(one) for one in self.tables.phases],
            self.integrator == "semi_implicit",
        )
        self.midpoint = Midpoint(
            model, self.tables, arena, self.integrator == "semi_implicit" and not self.is_maximal, self.gyroscopes.apart
        )
        self.constants = self.tables.column(np.array([[plan.dt, np.square(float(options.max_velocity))]]))
        if self.constrained:
            self.lay_constraints(model, options, plan, constraints, arena)
        self.lay_polynomials(options, constraints, arena)
        self.lay_steps()
        self.looks_at_jumps = self.is_natural and self.constrained and self.bound.repeats and not self.is_quadratic
        self.sums_momenta = bool(
            self.reports["wrenches"]
            and not self.is_natural
            and not self.is_maximal
            and (self.stages == 1 or (self.constrained and self.bound.repeats))
        )
        self.notes_rates = bool(
            self.reports["wrenches"]
            and self.stages > 1
            and self.constrained
            and self.bound.repeats
            and self.bound.system.n_rows
        )
        self.momenta = arena.array(self.tables.n_links if self.sums_momenta else 0, Vec3)
        self.aside = Aside(self, arena) if self.is_natural or self.stages > 1 else None
        self.accumulators.within = not self.is_natural and not self.projects and self.accumulators.are_placed
        self.shows, self.ends = shows(self), ends(self)
        self.stores, self.spins, self.powers, self.loads = stores(self), spins(self), powers(self), loads(self)
        self.write_programs(arena)
        self.leaving = plan.leaving(self.reports)

    def choose(self, model: Model, options, plan: RunPlan, constraints: Constraints):
        """What kind of a run it is, from what all its phases have."""
        self.integrator = "zhong06" if options.integrator == "moreau" else options.integrator  # see natural/programs.py
        self.stages = ALL_STAGES[self.integrator]
        self.is_maximal = getattr(options, "type", "") == "maximal"
        self.is_natural, self.has_excess = self.tables.is_natural, self.tables.is_natural and self.tables.has_excess
        self.touches = any(m.contacts is not None for m in self.tables.phases)
        self.turns = self.is_maximal and directions_turn(model, options.joint_direction, plan.dt)
        self.by_impulses = self.touches or self.turns
        self.is_large, self.sleeps = is_large(self.tables.phases, options), self.touches and sleeps(options)
        self.moves = bool(np.any(model.motions.kind))
        corrects = self.touches or (self.stages == 1 and not self.is_natural and constraints.rows.n > 0)
        shows = "reactions" in plan.channels
        self.looks_back = (self.touches and self.is_natural) or (corrects and shows and not self.turns)
        self.looks_at_end = self.turns and shows
        self.constrained = bool(constraints.rows.n or constraints.laws.n or self.moves or self.touches)
        self.summarises = self.constrained
        self.diagnostics = DIAGNOSTICS + (CONTACT_DIAGNOSTICS if self.touches else ())
        self.n_rows, self.row_label = constraints.rows.n, constraints.rows.label

    def lay_forces(self, model: Model, constraints: Constraints, arena: Arena):
        """Forces, prescribed motions, and the signals that drive both."""
        self.forces = Forces(model, self.tables, arena, drives_by_law(model, constraints.laws, self.tables.phases))
        self.forces.springs.by_rows, self.forces.drags.by_rows = model.spring_rows, model.drag_rows
        self.forces.has_work |= self.constrained and (constraints.laws.n > 0 or self.moves or self.touches)
        self.motions = Prescribed(model, self.tables)
        self.kinematic = KinematicBodies(model, self.tables, arena)
        late = self.integrator == "zhong06"  # forces of the middle of a step, motions of its ends
        self.signals = Signals(model, self.tables, arena, (self.forces,) if late else (self.forces, self.motions))
        self.prescribed = Signals(model, self.tables, arena, (self.motions,) if late else ())
        self.sleeps &= self.signals.n == 0  # controls from Python are signals, and may move what rests at any step

    def lay_frames(self, model: Model, plan: RunPlan, constraints: Constraints, arena: Arena):
        """The state, and what frames and measures show of it."""
        self.state = TreeState(self.tables, arena, self.forces.has_external, self.integrator == "implicit")
        self.reports = plan.reports()
        self.energy_every, self.keeps_extremes, self.n_steps = plan.energy_every, plan.keeps_extremes, plan.n_steps
        self.reports["joints"] |= self.signals.feedback.n > 0
        self.reports["stretch"] = False  # of rigid bodies
        self.reports["contacts"] &= self.touches
        self.total_start, self.count, self.anew = arena.single.arrays(3)
        self.health = arena.array(len(HEALTH))
        self.accumulators = Accumulators(
            plan.measures, model, self.tables, arena, rows_of_dofs(constraints, model), len(self.tables.phases) == 1
        )
        self.ages = ages_of(model, plan, arena)
        self.signals.feedback.ages = self.ages
        self.probed = probed_by_feedback(self.signals, model, plan.dt, self.tables, arena)
        count = self.tables.n_tree_dofs if self.tables.is_natural else 6 * self.tables.n_links
        self.guard = LoopGuard(model, self.signals.feedback.n > 0, count, self.tables, arena)
        self.rows = FrameRows(self.tables, arena, len(ENERGY))
        self.extremes = arena.array(EXTREMES * plan.keeps_extremes)
        has_loops = self.constrained or closed_joints(model).size > 0  # a free joint holds nothing
        self.loops = Loops(model, self.tables, arena) if has_loops else None
        self.projects = has_loops and self.loops.n > 0 and self.reports["joints"]
        self.reports["wrenches"] = self.reports["reactions"] or (self.projects and self.loops.n_rods > 0)
        self.reports["body_qdd"] |= self.projects

    def lay_constraints(self, model: Model, options, plan: RunPlan, constraints: Constraints, arena: Arena):
        """The memory of rows, laws and contacts."""
        self.bound = Constrained(
            constraints,
            model,
            self.tables,
            arena,
            self.motions.n_locks,
            self.integrator,
            Limits.of(options),
            self.impulses_of(model, options, arena),
        )
        self.bound.system.laws.follow_signals(self.forces)
        capacity = self.bound.impulses.contacts.capacity if self.touches else 0
        self.contacts = ContactReport(arena, capacity, self.reports["contacts"], plan.lets_pass)
        self.multipliers, self.diag = self.bound.system.force, self.bound.diag
        rows, self.row_joint = constraints.rows, constraints.rows.joint
        self.acting = rows.is_hard & (rows.compliance.max(axis=0) == 0) & (rows.enabled.min(axis=0) > 0)

    def lay_polynomials(self, options, constraints: Constraints, arena: Arena):
        """The memory of steps whose rows are polynomials, if there are such steps.

        Raises:
            UsageError: the integrator takes no others.
        """
        rows, alpha = self.polynomials(constraints), self.integrator == "generalized_alpha"
        self.is_quadratic = rows is not None
        if self.is_quadratic:
            b = self.bound
            self.steps = QuadraticSteps(rows, self.tables, arena, b.system.rows.angle, b.tight, b.max_corrections, alpha)
            self.pushes = CoordinateForces(rows, constraints, self.tables, arena)
            self.pushes.has_power |= self.kinematic.n + b.system.n_prescribed_rows > 0
        elif alpha:
            raise UsageError(
                "generalized_alpha does not support this mechanism: an event changes which coordinates an "
                "equation or a spring depends on, or nothing is joined or rigid; use zhong06"
            )
        if alpha:
            jumps = self.signals.n > 0 or len(self.tables.phases) > 1
            n = self.steps.rows.n
            self.alpha = AlphaSteps(
                n, n if self.kinematic.n else 0, self.bound.system.n_prescribed_rows, arena, options.spectral_radius, jumps
            )

    def lay_steps(self):
        """What the account of work and the integrator keep."""
        self.has_compliance = self.constrained and any(map(yields, self.tables.phases))
        self.is_midpoint = self.integrator == "zhong06" and self.forces.has_external
        efforts_too = self.integrator == "implicit"  # the first-order step sums the work of joint efforts exactly
        self.keeps_account = (
            self.integrator != "rk4"
            and not self.is_quadratic
            and (self.forces.has_external or (efforts_too and self.forces.has_work))
        )
        is_driven = bool(self.forces.driven) if efforts_too else self.forces.drives_links
        self.closes_every_step = self.keeps_account and is_driven
        if self.integrator != "semi_implicit":
            self.q_base, self.qd_base = self.tables.coordinates.array(), self.tables.dofs.array()
        if self.integrator == "rk4":
            self.slope, self.slope_sum, self.qd_sum = self.tables.dofs.arrays(3)
            self.weights = self.tables.column(np.array([RK4_WEIGHTS]))
        if self.integrator == "implicit":
            self.k1_q, self.k1_qd = self.tables.dofs.array(), self.tables.dofs.array()

    def write_programs(self, arena: Arena):
        """The list of stages of a frame, and what it reads."""
        spans = self.bound.spans if self.constrained else arena.single
        self.now, (self.b, self.g) = Registers(arena, *_NOW, zeros=("node", "instant")), spans.arrays(2)
        self.nodes = self.tables.column(np.array([{**NODES, **NATURAL_NODES}[self.integrator]]))
        if not self.is_natural:
            self.parts = self.tables.column(np.array([IMPLICIT[self.integrator]]))
        self.program = Program(arena, (frame_of_natural if self.is_natural else frame_of_tree)(self), self.now)

    def polynomials(self, constraints: Constraints) -> Quadratic | None:
        """The rows of steps that need no poses, where there are such steps: in natural coordinates, with smooth forces."""
        rows, tables = constraints.rows, self.tables
        direct = self.integrator == "generalized_alpha"
        prescribes = bool((rows.is_hard & (rows.dof >= 0)).any()) or self.kinematic.n > 0
        if self.touches or not self.is_natural or (prescribes and not direct) or not rows.n:
            return None
        if not direct and (self.forces.need_poses or self.signals.feedback.n):  # which sees projected velocities
            return None
        if self.has_excess and not direct:  # whose iteration takes it away
            return None
        if not all(smooth_laws(phase, constraints.laws).all() for phase in tables.phases):
            return None
        plain = len(tables.phases) == 1 and not self.forces.wrenches.n and not yielding_rows(constraints, tables).any()
        if not direct and not plain:
            return None
        every, found = ([of(phase) for phase in tables.phases] for of in (constraints_of, quadratic_of))
        alike = all(one is not None and one.is_like(found[0]) for one in found)
        alike = alike and all(one.rows.all_act for one in every)
        return quadratic_of(tables.model) if alike else None

    def impulses_of(self, model: Model, options, arena: Arena):
        """Makes the problem of contacts from the system of rows and the number of prescribed dofs; None without contacts."""
        if not self.by_impulses:
            return None
        phases = [constraints_of(one) for one in self.tables.phases]
        return lambda system, n: Impulses(
            phases, model, self.tables, arena, system, n, self.forces, options, self.touches, self.turns, self.is_large
        )

    def coordinates(self, laws: Laws) -> np.ndarray:
        """[m, rad], (W, K), the coordinates of laws, in the posture of the last frame."""
        q, residual = (array.read()[..., 0] for array in (self.state.q, self.bound.system.rows.residual))
        found, on_tree = np.empty((len(q), laws.n)), laws.row < 0
        found[:, on_tree] = q[:, self.tables.q_of_dof[laws.dof[on_tree]]]
        found[:, ~on_tree] = residual[:, laws.row[~on_tree]]
        return found

    def gap_of_joint(self, model: Model, joint: int, _aims: np.ndarray) -> np.ndarray:
        """[m, rad, 1], (W,), the largest residual of what a joint holds, in the posture of the last frame, or the angle."""
        rows = constraints_of(model).rows
        by_position = model.motions.kind[rows.dof] == MotionKind.POSITION  # of rows that are a coordinate
        held = np.flatnonzero((rows.joint == joint) & rows.is_hard & ((rows.dof < 0) | by_position))
        residual = np.abs(self.bound.system.rows.residual.read()[:, held, 0]).max(axis=1, initial=0.0)
        return np.maximum(residual, turned_apart(model, joint, self.state.q.read()[..., 0]))

    @property
    def notes(self):
        """Room for the work of contacts that goes lane by lane."""
        return self.bound.impulses.contacts.collider.notes

    def clear(self):
        """Zero what a run accumulates."""
        for array in (self.health, self.count, self.total_start, self.state.tau, self.state.diagonal, self.state.qdd):
            array.write(np.zeros((1, array.n_items, array.width)))
        if self.integrator == "rk4":
            self.slope.write(np.zeros((1, self.slope.n_items, 1)))
        self.forces.account.clear()
        self.forces.ropes.clear()
        self.signals.feedback.clear()
        self.guard.clear()
        self.kinematic.clear()
        self.accumulators.clear()
        self.probed.clear()
        if self.constrained:
            self.contacts.clear()
            self.bound.clear()
        if self.loops is not None:
            self.loops.clear()


TREE = Engine(Core, begin_call, report, report_drives, judge, find_cause, close, open_new, finding, exchange_momenta)
