"""What the kernel of a run of affine bodies reads and writes: tables, what a step knows, energies, contact."""

from collections.abc import Sequence

import numpy as np

from simcli.kernels.articulation.kinematics import TreeState
from simcli.kernels.articulation.loops import Loops
from simcli.kernels.articulation.report import FrameRows
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.programs import Program, Registers
from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.signals import Signals
from simcli.kernels.potentials.springs import Potential
from simcli.model.closure.turned import turned_apart
from simcli.model.constraints.constraint_tables import Laws
from simcli.model.forms.affine_energy import energies_of
from simcli.model.forms.natural_form import largest_moments
from simcli.model.tables.model import Model
from simcli.model.tables.signal_tables import MotionKind
from simcli.solvers.affine.barrier import affine_ends, barrier_of
from simcli.solvers.affine.drags import BodyDrags
from simcli.solvers.affine.holds import Holds
from simcli.solvers.affine.kinematic_bodies import AffineKinematicBodies
from simcli.solvers.affine.newton import extra_energies
from simcli.solvers.affine.programs import frame_of_affine
from simcli.solvers.affine.report import DIAGNOSTICS, affine_shows, affine_spins, affine_stores
from simcli.solvers.affine.stages import dissipated, supplied
from simcli.solvers.base.clock import ages_of
from simcli.solvers.base.run_plan import RunPlan
from simcli.solvers.base.world_ends import HEALTH
from simcli.solvers.output.accumulators import Accumulators, probed_by_feedback
from simcli.solvers.output.contact_report import ContactReport
from simcli.solvers.output.energy_balance import ENERGY
from simcli.solvers.output.loop_guard import LoopGuard

_CONTACT_DIAGNOSTICS = ("penetration", "gap", "contacts")
_NOW = ("first_high", "first_low", "steps", "step", "instant")  # see run/core.py

# Growth of the energy that is rounding, relative to the energy; of steps longer than the tolerance.
_ROUNDING = {"float64": 1e-11, "float32": 1e-4}
# Displacements [m, for bodies of size 1 m] that cannot be told from none.
_TIGHT = {"float64": 1e-14, "float32": 2e-6}
HALF_SIDE = 3.0  # half the side of a box with the second moment S and the mass m is sqrt(3 S / m)


class StepMemory:
    """What a step knows.

    Args:
        n: unknowns.
        model, tables, arena: of the run.
        tolerance: [m] of the last displacement.

    Attributes:
        alpha, weight, age, restarts, pattern: (B), of the formula of each body.
        alpha: [1/s].  weight: of the step before, 1/3 in bdf2.  age: steps since the formula began, -1 after an impact.
        restarts: 1 where something else acts at the end of the step than at its start; pattern: what touched there.
        lead: [s], of the velocity in x_h, 0 but at t = 0.  returns: 1 in worlds that take the step again.
        start, past, target, force: x_n, x_h, y, external forces, by unknown.  x_before, v_before, force_before: one step
            earlier.
        next_v, acceleration: at the end of the step.
        move: Newton's direction.  size: [m], largest displacement by it.  curve: 1 in worlds with the whole Hessian.
        length: part of the direction that is taken.  way: to where that leads.  cap: part of it that contact leaves free.
        energy: [J], at next_x.  bound: [J], what it may be there.
        running: 1 in worlds that have not converged; done: 1 in those that have by their last displacement.
        iterations, failed: of the last step.  allowed: iterations until the search at hand has failed.
        mass: weights.  extent: [m], by body, of its points from its centre; of a point mass its arm.
        keeps: (B) 0 for quasi-static bodies, which keep no velocity from step to step, else 1.  has_quasi_static: whether
            there are any.
        falls: (B) what of gravity acts.
        thin: 1 for coordinates of moving bodies along which there is no mass.  has_thin: whether there are any.
    """

    _data_oriented = True

    def __init__(self, n: int, model: Model, tables: Tables, arena: Arena, tolerance: float):
        self.tolerance = max(tolerance, _TIGHT[arena.device.precision])
        self.rounding = _ROUNDING[arena.device.precision]
        unknowns = arena.records(n)
        for name in ("alpha", "weight", "age", "restarts", "pattern"):
            setattr(self, name, tables.bodies.array())
        for name in (
            "lead",
            "returns",
            "length",
            "cap",
            "running",
            "done",
            "curve",
            "energy",
            "bound",
            "size",
            "iterations",
            "allowed",
            "failed",
        ):
            setattr(self, name, arena.single.array())
        for name in (
            "start",
            "past",
            "target",
            "force",
            "force_before",
            "x_before",
            "v_before",
            "next_v",
            "acceleration",
            "move",
        ):
            setattr(self, name, unknowns.array())
        self.way = unknowns.array().scratch()
        self.mass = unknowns.column((model.columns.weight - model.columns.excess)[:, -n:])
        blocks = blocks_of(model)
        weighs = blocks[..., 0] > 0.0
        extent = np.sqrt(HALF_SIDE * largest_moments(model, blocks[..., 1:]) / np.where(weighs, blocks[..., 0], 1.0))
        self.has_quasi_static = bool(model.affine.is_quasi_static.any())
        self.keeps = tables.bodies.column(1.0 * ~model.affine.is_quasi_static[None])
        self.extent = tables.bodies.column(np.where(weighs, extent, 0.0))
        self.falls = tables.bodies.column(1.0 - model.bodies.gravity_compensation)
        thin = ((blocks <= 0.0) & ~model.bodies.kinematic[:, None]).repeat(3, axis=-1)
        self.thin, self.has_thin = unknowns.column(1.0 * thin.reshape(len(thin), n)), bool(thin.any())

    def clear(self):
        """Before the first step."""
        for name in (
            "age",
            "restarts",
            "pattern",
            "weight",
            "iterations",
            "failed",
            "size",
            "x_before",
            "v_before",
            "force",
            "force_before",
        ):
            array = getattr(self, name)
            array.write(np.zeros((1, array.n_items, 1)))
        self.alpha.write(np.ones((1, self.alpha.n_items, 1)))


def blocks_of(model: Model) -> np.ndarray:
    """[kg, kg m^2], (W|1, B, 4): weights of the position and of the vectors of each body."""
    weight = (model.columns.weight - model.columns.excess)[:, -12 * model.n_bodies :]
    return weight.reshape(len(weight), model.n_bodies, 4, 3)[..., 0]


class AffineCore:
    """Everything of a run on the device.

    Args:
        model: host tables of a phase, in natural form.
        options, plan, arena, phases: as of `core.Core`.

    Attributes:
        potential: energies of bodies and joints.  step: memory of a step.
        pushes_thin: whether wrenches may act on bodies that lack inertia.
        kinematic: bodies that move as prescribed.  holds: soft holds.  drags: of a medium.
        restarts: whether steps may be taken again.
        touches: whether shapes may touch, in some phase.  Then there are `barrier`, its `notes`, and `contacts`.
        anew, ages, summarises: see `core.Core`; steps that are not solved end their worlds here.  has_friction: in contacts.
        now, program: of a frame.
        diagonal: entries of the factor on the diagonal.
        coordinate_dof: dof of each coordinate that has a law.
        stretch: (6 B) xx yy zz xy xz yz of S of each body, body axes.
        multipliers: (R) forces of the rows, - dV/dphi.  diag: DIAGNOSTICS.
    """

    _data_oriented = True

    def __init__(self, model: Model, options, plan: RunPlan, arena: Arena, phases: Sequence[Model] = ()):
        self.precision, self.integrator = arena.device.precision, options.integrator
        self.arena, self.lanes, self.block_dim = arena, arena.device.lanes, arena.device.block_dim
        self.tables = Tables(model, arena, phases)
        self.forces = Forces(model, self.tables, arena)
        self.forces.springs.by_rows = self.forces.drags.by_rows = self.forces.gravity_compensation.by_rows = True
        self.keeps_account, self.aside = False, None
        energies = energies_of(model, self.tables.phases)
        self.potential = Potential(energies, model, self.tables, self.forces, arena, options.friction_speed * plan.dt)
        self.motions, self.coordinate_dof = self.potential.laws.motions, energies.coordinate_dof
        self.step = StepMemory(self.potential.n, model, self.tables, arena, options.tolerance)
        self.pushes_thin = self.step.has_thin and self.forces.wrenches.n > 0
        self.holds = Holds(model, blocks_of(model), self.tables, arena)
        self.drags = BodyDrags(self.forces.drags, model, self.potential.matrix, arena)
        self.signals = Signals(model, self.tables, arena, (self.forces, self.potential.laws, self.motions, self.holds))
        self.kinematic = AffineKinematicBodies(model, self.potential.matrix, self.tables, arena)
        self.max_iterations = options.max_iterations
        self.diagonal = arena.ints([self.potential.matrix.entry(i, i) for i in range(self.potential.n)])
        self.state = TreeState(self.tables, arena, self.forces.has_external)
        self.loops = Loops(model, self.tables, arena)
        self.rows = FrameRows(self.tables, arena, len(ENERGY))
        self.reports = plan.reports()
        self.reports["body_qdd"] |= self.reports["joints"]
        self.reports["wrenches"] = self.reports["reactions"] or (self.reports["joints"] and self.loops.n_rods > 0)
        self.summarises = self.touches = any(m.contacts is not None for m in self.tables.phases)
        self.reports["contacts"] &= self.touches
        self.restarts = self.integrator == "bdf2" and (self.touches or self.potential.laws.n > 0)
        self.has_friction = False
        if self.touches:
            self.barrier = barrier_of(model, options, plan.dt, self.tables, arena)
            self.notes, self.has_friction = self.barrier.notes, self.barrier.has_friction
            self.contacts = ContactReport(arena, self.barrier.candidates.capacity, self.reports["contacts"], plan.lets_pass)
        self.total_start, self.count, self.anew = arena.single.arrays(3)
        self.health = arena.array(len(HEALTH))
        self.ages = ages_of(model, plan, arena)
        self.signals.feedback.ages = self.ages
        self.probed = probed_by_feedback(self.signals, model, plan.dt, self.tables, arena)
        self.guard = LoopGuard(model, self.signals.feedback.n > 0, self.potential.n, self.tables, arena)
        self.accumulators = Accumulators(
            plan.measures, model, self.tables, arena, np.full((2, model.n_qd), -1), is_alone=False
        )
        self.constants = self.tables.column(np.array([[plan.dt, np.square(float(options.max_velocity))]]))
        self.constrained, self.diagnostics = True, DIAGNOSTICS + self.touches * _CONTACT_DIAGNOSTICS
        self.n_rows, self.row_label = self.potential.n_rows, energies.label
        self.row_joint, self.row_child = (
            arena.ints(energies.joint),
            arena.ints(np.where(energies.joint >= 0, model.joints.child[energies.joint], -1)),
        )
        self.of_joint, self.squares = (
            np.asarray(energies.joint),
            ~np.isin(np.arange(self.n_rows), [*energies.coordinate_row, *energies.coordinate_row + 1, *energies.length_row]),
        )
        self.is_square = arena.ints(self.squares)
        self.stretch = arena.array(6 * model.n_bodies * self.reports["stretch"])
        self.multipliers, self.diag = arena.array(self.n_rows), arena.array(len(self.diagnostics))
        self.leaving = plan.leaving(self.reports)
        self.ends, (self.shows, self.shows_forces) = affine_ends(self), affine_shows(self)
        self.spins, self.stores = affine_spins(self), affine_stores(self)
        self.supplied, self.dissipated, self.extra_energies = (
            supplied(self),
            dissipated(self),
            extra_energies(self),
        )
        self.now = Registers(arena, *_NOW, zeros=("instant",))
        self.program = Program(arena, frame_of_affine(self), self.now)

    def coordinates(self, laws: Laws) -> np.ndarray:
        """[m, rad], (W, K), the coordinates of laws; NaN for those that are none here."""
        now = self.potential.laws.now.read()[..., 0]
        found = np.full((len(now), laws.n), np.nan)
        place = {int(d): k for k, d in enumerate(self.coordinate_dof)}
        for n, d in enumerate(laws.dof.tolist()):
            if d in place:
                found[:, n] = now[:, place[d]]
        return found

    def gap_of_joint(self, model: Model, joint: int, aims: np.ndarray) -> np.ndarray:
        """[m, rad, 1], (W,), the largest residual of what a joint holds, where energies were evaluated last.

        Args:
            model: of the phase.
            joint: its index.
            aims: [m, rad], (W|1, NV), prescribed positions.
        """
        residual = self.potential.rows.residual.read()[:, : self.n_rows, 0]
        gap = np.abs(residual * ((self.of_joint == joint) & self.squares)).max(axis=1, initial=0.0)
        is_prescribed = (model.dofs.joint == joint) & (model.motions.kind == MotionKind.POSITION)
        now = self.potential.laws.now.read()[..., 0]
        for place, d in enumerate(self.coordinate_dof):
            if d >= 0 and is_prescribed[d]:
                gap = np.maximum(gap, np.abs(now[:, place] - aims[:, d]))
        return np.maximum(gap, turned_apart(model, joint, self.state.q.read()[..., 0]))

    def clear(self):
        """Zero what a run accumulates."""
        for array in (self.health, self.count, self.total_start, self.state.qdd, self.multipliers):
            array.write(np.zeros((1, array.n_items, array.width)))
        self.forces.account.clear()
        self.signals.feedback.clear()
        self.guard.clear()
        self.accumulators.clear()
        self.probed.clear()
        self.step.clear()
        self.kinematic.clear()
        self.potential.laws.clear()
        self.loops.clear()
        if self.touches:
            self.contacts.clear()
            self.barrier.clear()
