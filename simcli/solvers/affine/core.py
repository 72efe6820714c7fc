"""What the kernel of a run of affine bodies reads and writes."""

from collections.abc import Sequence

import numpy as np

from simcli.kernels.forces import Forces
from simcli.kernels.loops import Loops
from simcli.kernels.memory import Arena
from simcli.kernels.potentials.tables import Potential
from simcli.kernels.report import FrameRows
from simcli.kernels.signals import Signals
from simcli.kernels.tables import Tables
from simcli.kernels.tree import TreeState
from simcli.model.affine_rows import energies_of
from simcli.model.constraint_tables import Laws
from simcli.model.tables import Model
from simcli.solvers.affine.contact import barrier_of
from simcli.solvers.affine.given import Given
from simcli.solvers.affine.holds import Holds
from simcli.solvers.affine.newton import StepMemory, blocks_of
from simcli.solvers.shared.contact_report import ContactReport
from simcli.solvers.shared.core import ENERGY, HEALTH
from simcli.solvers.shared.gauges import Gauges
from simcli.solvers.shared.plan import RunPlan

DIAGNOSTICS = ("iterations", "residual", "position_violation", "velocity_violation")
CONTACT_DIAGNOSTICS = ("penetration", "gap", "contacts")


class AffineCore:
    """Everything of a run on the device.

    Args:
        model: host tables of a phase, in natural form.
        options, plan, arena, phases: as of `core.Core`.

    Attributes:
        potential: energies of bodies and joints.  step: memory of a step.
        pushes_thin: whether wrenches may act on bodies that lack inertia.
        given: bodies that move as prescribed.  holds: soft holds.  restarts: whether steps may be taken again.
        touches: whether shapes may touch, in some phase.  Then there are `barrier`, its `notes`, and `contacts`.
        summarises: see `core.Core`; steps that are not solved end their worlds here.
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
        self.forces.springs_by_rows = True
        self.accelerates = True
        energies = energies_of(model, self.tables.phases)
        self.potential = Potential(energies, model, self.tables, self.forces, arena, options.friction_speed * plan.dt)
        self.motions, self.coordinate_dof = self.potential.laws.motions, energies.coordinate_dof
        self.step = StepMemory(self.potential.n, model, self.tables, arena, options.tolerance)
        self.pushes_thin = self.step.has_thin and self.forces.n_wrenches > 0
        self.holds = Holds(model, blocks_of(model), self.tables, arena)
        self.signals = Signals(model, self.tables, arena, (self.forces, self.potential.laws, self.motions, self.holds))
        self.given = Given(model, self.potential.matrix, self.tables, arena)
        self.max_iterations = options.max_iterations
        self.diagonal = arena.ints([self.potential.matrix.entry(i, i) for i in range(self.potential.n)])
        self.state = TreeState(self.tables, arena, self.forces.has_external)
        self.loops = Loops(model, self.tables, arena)
        self.rows = FrameRows(self.tables, arena, len(ENERGY))
        self.reports = {name: name in plan.channels for name in ("energy", "reactions")}
        self.reports |= {name: bool(plan.channels & {"state", name}) for name in ("joints", "bodies")}
        self.reports["stretch"] = self.reports["bodies"]
        self.reports["wrenches"] = self.reports["reactions"] or (self.reports["joints"] and self.loops.n_rods > 0)
        self.summarises = self.touches = any(m.contacts is not None for m in self.tables.phases)
        self.reports["contacts"] = self.touches and "contacts" in plan.channels
        self.restarts = self.integrator == "bdf2" and (self.touches or self.potential.laws.n > 0)
        if self.touches:
            self.barrier = barrier_of(model, options, plan.dt, self.tables, arena)
            self.notes = self.barrier.notes
            self.contacts = ContactReport(arena, self.barrier.candidates.capacity, self.reports["contacts"])
        self.total_start, self.count, self.over = arena.single.slots(3)
        self.health, self.has_program = arena.slot(len(HEALTH)), False
        self.gauges = Gauges(plan.measures, model, self.tables, arena, np.full((2, model.n_qd), -1), is_alone=False)
        self.constants = self.tables.column(np.array([[plan.dt, np.square(float(options.max_velocity))]]))
        self.constrained, self.diagnostics = True, DIAGNOSTICS + self.touches * CONTACT_DIAGNOSTICS
        self.n_rows, self.row_label = self.potential.n_rows, energies.label
        self.row_joint, self.row_child = arena.ints(energies.joint), arena.ints(
            np.where(energies.joint >= 0, model.joints.child[energies.joint], -1))  # fmt: skip
        self.is_square = arena.ints(~np.isin(np.arange(self.n_rows), [
            *energies.coordinate_row, *energies.coordinate_row + 1, *energies.length_row]))  # fmt: skip
        self.stretch = arena.slot(6 * model.n_bodies * self.reports["stretch"])
        self.multipliers, self.diag = arena.slot(self.n_rows), arena.slot(len(self.diagnostics))
        self.leaving = plan.leaving(self.reports)

    def coordinates(self, laws: Laws) -> np.ndarray:
        """[m, rad], (W, K), the coordinates of laws; NaN for those that are none here."""
        now = self.potential.laws.now.read()[..., 0]
        found = np.full((len(now), laws.n), np.nan)
        place = {int(d): k for k, d in enumerate(self.coordinate_dof)}
        for n, d in enumerate(laws.dof.tolist()):
            if d in place:
                found[:, n] = now[:, place[d]]
        return found

    def clear(self):
        """Zero what a run accumulates."""
        for slot in (self.health, self.count, self.forces.work, self.total_start, self.state.qdd, self.multipliers):
            slot.write(np.zeros((1, slot.n_items, slot.width)))
        self.gauges.clear()
        self.step.clear()
        self.given.clear()
        self.potential.laws.clear()
        self.loops.clear()
        if self.touches:
            self.contacts.clear()
            self.barrier.clear()
