"""Small motions of a scene about an equilibrium: what can be linearised, the equilibrium, its modes, in the scene's words.

The tree of the scene is the chart, whatever its solver: equilibria and modes are of the mechanism. Only a tree joint that
yields (compliance, in maximal and natural coordinates) asks for the maximal form, in which its rows are springs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from simcli.analysis.rest.equilibrium import Equilibrium, as_it_is, search_equilibrium
from simcli.analysis.rest.leaning import grazing, initial_leaning, refuse_touching, search_leaning
from simcli.analysis.rest.postures import NoEquilibriumError, Slope, linear_dofs, spring_tensions
from simcli.analysis.rest.prestress import (
    Preference,
    Prestress,
    SolvedPrestress,
    chosen_springs,
    prestress_of,
    solve_prestress,
    without,
)
from simcli.analysis.rest.spectrum import SYMMETRIC, MasslessError, Mode, modes_of, rounding_of, split_by_inertia
from simcli.analysis.rest.statics import Statics
from simcli.errors import Fault, SceneError
from simcli.kernels.algorithms import Algorithms
from simcli.kernels.device.runtime import Device
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import Form
from simcli.model.forms.maximal_form import maximal_form
from simcli.model.joints.catalogue import NONHOLONOMIC_KINDS
from simcli.model.joints.state import State
from simcli.model.tables.model import Array, DriveMode, JointKind, Model
from simcli.model.tables.signal_tables import Driven, MotionKind, SignalKind
from simcli.spec import Document

_CODE = "SC607"
_STILL = 1e-6  # of the largest motion of a body: a joint rate below it is rounding
SURE = 8.0  # estimated errors of a stiffness that it may be wrong by
ON_BOUND = 1e-9  # [m, rad] from a hard limit that is on it
KINKS = "a slack spring or a soft limit that begins to act there acts to one side only, and cannot be linearised"


def refuse_modes(model: Model, document: Document, moves: bool = False) -> None:
    """Refuse what has no linearisation.

    Args:
        model: of one world.
        document: of its scene.
        moves: whether modes are about a motion, in which prescribed velocities may be constant.

    Raises:
        SceneError: dry friction, or a motion that is prescribed and does not rest; with the line of each.
    """
    faults, dofs = [], model.dofs
    for j in sorted(set(dofs.joint[(dofs.friction[0] > 0.0) & model.joints.enabled[dofs.joint]].tolist())):
        name = model.joints.name[j]
        message = f"joint `{name}` has dry friction: it sticks in any position, and does not oscillate"
        hint = f"leave it out: --set joints.{name}.friction=0"
        faults.append(Fault(_CODE, message, document.where(f"joints.{name}.friction"), hint))
    for j in sorted(set(dofs.joint[moving(model, moves)].tolist())):
        name = model.joints.name[j]
        body = model.bodies.name[model.joints.child[j]]
        place = f"bodies.{body}.motion" if model.bodies.kinematic[model.joints.child[j]] else f"joints.{name}.motion"
        gone = "whose velocity is not a constant" if moves else "so that the mechanism is not at rest"
        hint = f"prescribe a constant {'velocity' if moves else 'position'}"
        faults.append(Fault(_CODE, f"joint `{name}` has a prescribed motion, {gone}", document.where(place), hint))
    for b in np.flatnonzero(model.bodies.compliance.any(axis=0)).tolist():
        name = model.bodies.name[b]
        message = f"body `{name}` has compliance, and modes are those of rigid bodies"
        faults.append(Fault(_CODE, message, document.where(f"bodies.{name}.natural.compliance"), "leave its compliance out"))
    rows = constraints_of(model).rows
    driven = model.dofs.drive_mode != DriveMode.NONE
    for j in sorted(set(rows.joint[rows.form == Form.ROLL].tolist())):
        if driven[model.dofs.joint == j].any() and not model.joints.is_tree[j]:
            name = model.joints.name[j]
            message = f"the drive of the ball joint `{name}` outside the tree has no linearisation here"
            faults.append(Fault(_CODE, message, document.where(f"joints.{name}.drive"), "make it a joint of the tree"))
    if faults:
        raise SceneError(faults, document)


def moving(model: Model, may_move: bool = False) -> Array:
    """(NV,) True for dofs whose prescribed motion is not rest, or with `may_move` no constant velocity."""
    inputs, kind = model.inputs, model.motions.kind
    out = (kind == MotionKind.VELOCITY) & (model.motions.value[0] != 0.0) & (not may_move)
    driven = np.flatnonzero(inputs.column == Driven.MOTION)
    item, form = inputs.item[driven], model.signals.kind[inputs.signal[driven]]
    out[item[(form != SignalKind.CONSTANT) | ((kind[item] == MotionKind.VELOCITY) & (not may_move))]] = True
    return out


def notes_of(model: Model, equilibrium: Equilibrium) -> list[str]:
    """What a reader should know of how a scene was read."""
    forces = model.inputs.column != Driven.MOTION
    tension = spring_tensions(model.springs, equilibrium.posture.found.pose[0])
    notes = [
        f"spring `{model.springs.name[k]}` is slack at the equilibrium, and has no effect"
        for k in np.flatnonzero(model.springs.slack & (tension == 0.0))
    ]
    if (forces & (model.signals.kind[model.inputs.signal] != SignalKind.CONSTANT)).any():
        notes.append("signals keep the values that they have at t = 0")
    if np.nan_to_num(model.joint_qd).any():
        notes.append("the initial velocities are ignored: modes are about a state at rest")
    return notes


def charted(model: Model) -> Model:
    """The form of a model that its statics are taken in."""
    yields = (model.joints.compliance[0] > 0) | ~model.joints.enabled
    if not (yields & model.joints.is_tree).any():
        return model
    return maximal_form(model, State.of(model))


@dataclass
class Study:
    """An equilibrium of a scene and its small motions.

    Attributes:
        model: the scene.
        statics: of the form that its statics are taken in.
        device: where it was computed.
        equilibrium: where the motions are about.
        notes: what a reader should know.
        solved: numbers of springs that were asked for.
        rest_at_start: springs whose rest length the scene leaves to where it begins.
    """

    model: Model
    statics: Statics
    device: Device
    equilibrium: Equilibrium
    notes: list[str]
    solved: SolvedPrestress | None = None
    rest_at_start: tuple[str, ...] = ()

    @cached_property
    def prestress(self) -> Prestress:
        """How springs hold the equilibrium."""
        return prestress_of(self.statics, self.equilibrium.posture)

    @cached_property
    def stiffness(self) -> Slope:
        """K at the equilibrium, over the directions."""
        return self.statics.stiffness(self.equilibrium.posture)

    @property
    def noise(self) -> Array:
        """(m, m), stiffness that is rounding."""
        return SURE * self.stiffness.error

    @cached_property
    def modes(self) -> list[Mode]:
        """Modes by rising |s|; their shapes are over the directions.

        Raises:
            NoEquilibriumError: the linear equations have no solution: a direction without inertia.
        """
        posture = self.equilibrium.posture
        if self.statics.contacts is not None and (names := grazing(self.statics, posture)):
            hint = "move them apart, or leave them out (contact.exclude)"
            raise NoEquilibriumError(
                f"{names} touch without force at the equilibrium: such contacts act to one side only, "
                f"and cannot be linearised; {hint}"
            )
        C = self.statics.damping(posture)
        for slope in (self.stiffness, C):
            if slope.kink >= 0:
                raise NoEquilibriumError(f"forces have a kink at the equilibrium, {self.along(slope.kink)}: {KINKS}")
        try:
            modes, idle = modes_of(self.statics.mass(posture), C.matrix, self.stiffness.matrix, self.noise)
        except MasslessError as error:
            bare = f"nothing has inertia {self.along(int(np.abs(error.direction).argmax()))}"
            raise NoEquilibriumError(f"{bare}, and forces act there: give it mass or armature") from None
        if idle:
            self.notes.append(f"{idle} directions without inertia, stiffness and damping are left out")
        return modes

    @cached_property
    def slopes(self) -> tuple[int, int]:
        """Numbers of directions in which energy falls, and in which it stays: eigenvalues of the stiffness.

        Directions without inertia do not count. Both numbers are -1 where forces have a kink, and where what wheels and
        blades bear turns with them: such a stiffness is not symmetric, and no energy has it.
        """
        if self.stiffness.kink >= 0:
            return -1, -1
        T, _ = split_by_inertia(self.statics.mass(self.equilibrium.posture))
        K = T.T @ self.stiffness.matrix @ T
        if self._holds_velocities and np.abs(K - K.T).max(initial=0.0) > SYMMETRIC * np.abs(K).max(initial=0.0):
            return -1, -1
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        flat = np.abs(values) <= rounding_of(values, T @ vectors, self.noise)
        return int((~flat & (values < 0.0)).sum()), int(flat.sum())

    @property
    def _holds_velocities(self) -> bool:
        return bool(np.isin(self.model.joints.kind, NONHOLONOMIC_KINDS).any())

    def along(self, direction: int) -> str:
        """A direction in words: the dof that it moves most."""
        statics, posture = self.statics, self.equilibrium.posture
        dof = int(np.abs(posture.U[:, direction] / statics.unit).argmax())
        return f"along `{statics.model.dofs.label[statics.balance.dof[dof]]}`"

    def joint_q(self) -> Array:
        """[m, rad, 1], (NQ,), joint coordinates at the equilibrium; NaN where a joint has none."""
        q, joints = self.equilibrium.posture.q[: self.model.n_q].copy(), self.model.joints
        count = np.diff(joints.q_start)
        placed = self.statics.model.joints.is_tree[: self.model.n_joints]
        q[np.repeat(joints.kind == JointKind.CABLE, count)] = np.nan
        if not (placed | (joints.kind == JointKind.CABLE)).all():
            other = np.repeat(~placed, count)
            q[other] = self.projected(np.zeros((1, self.n)))[0][0, other]
        return q

    @property
    def n(self) -> int:
        """Unknowns."""
        return len(self.statics.unit)

    def projected(self, rates: Array) -> tuple[Array, Array]:
        """Coordinates and rates of all joints from the motion of the bodies, (N, NQ) and (N, NV)."""
        posture = self.equilibrium.posture
        found = self.statics.balance(posture.q, rate=rates, angle=posture.angle)
        return self._projection(found.pose, found.twist)

    @cached_property
    def _algorithms(self) -> Algorithms:
        return Algorithms(self.model, self.device.for_worlds(self.model.n_worlds))

    def _projection(self, pose: Array, twist: Array) -> tuple[Array, Array]:
        return self._algorithms.projection(pose, twist)

    @cached_property
    def shapes(self) -> tuple[Array, Array]:
        """Mode shapes: rates of all joints (modes, NV) and twists of all bodies (modes, B, 6), complex.

        Scaled so that the joint rate which is largest, lengths by a typical one, is 1; of bodies alone if no joint moves.
        """
        posture, statics, n = self.equilibrium.posture, self.statics, len(self.modes)
        x = np.array([posture.U @ mode.shape for mode in self.modes], complex).reshape(n, self.n)
        both = np.concatenate((x.real, x.imag, np.zeros((1, self.n))))
        twist = statics.balance(posture.q, rate=both, angle=posture.angle).twist
        if statics.model.joints.is_tree[: self.model.n_joints].all():
            rate = statics.balance.of_dofs(len(both), both)[:, : self.model.n_qd]
        else:
            rate = np.nan_to_num(self.projected(both)[1])
            if statics.model is self.model:  # what the tree knows is exact
                rate[:, statics.balance.dof] = both
        rate, twist = (a[:n] + 1j * a[n : 2 * n] for a in (rate, twist))
        size = np.array([self._size(*shape) for shape in zip(rate, twist, strict=True)])
        return rate / size[:, None], twist / size[:, None, None]

    def _size(self, rate: Array, twist: Array) -> complex:
        """What a mode shape is divided by: its leading rate, or the leading component of a twist where joints only yield."""
        twist = twist.reshape(-1, 2, 3)
        unit = np.broadcast_to([[self.statics.length], [1.0]], twist.shape)
        rounding = _STILL * np.abs(twist / unit).max(initial=0.0)
        for values, units, least in ((rate, self.dof_unit, rounding), (twist, unit, 0.0)):
            scaled = np.abs(values / units).ravel()
            if scaled.max(initial=0.0) > least:
                return values.ravel()[scaled.argmax()]
        return 1.0

    @property
    def dof_unit(self) -> Array:
        """(NV,), a typical length [m] for dofs that move, 1 for those that turn."""
        return np.where(linear_dofs(self.model), self.statics.length, 1.0)

    def close(self) -> None:
        """Free the device memory."""
        self.statics.close()
        if "_algorithms" in vars(self):
            self._algorithms.destroy()


def study(
    model: Model,
    device: Device,
    searches: bool = True,
    stable: bool = False,
    unknowns: Sequence[str] = (),
    least: float = 0.0,
    slips: bool = False,
    prefer: Preference = Preference.nearest,
) -> Study:
    """The equilibrium of a model, from which its small motions follow.

    Args:
        model: of one world.
        device: from `start_device`, in float64.
        searches: False to take the initial state as it is.
        stable: search a stable one.
        unknowns: numbers of springs that follow from the initial state being one, see `prestress.chosen_springs`.
        least: [N], of the tensions of slack springs among them.
        slips: take contacts without friction.
        prefer: which of many tensions, see `prestress.solve_prestress`.

    Raises:
        NoEquilibriumError: there is none.
        UsageError: nothing depends on an unknown, or it is none.
    """
    solved = None
    if unknowns:
        chosen = chosen_springs(model.springs, unknowns)
        bare = Statics(charted(without(model, chosen)), device)
        refuse_touching(bare)
        solved = solve_prestress(model, bare, chosen, least, prefer)
        bare.close()
        model = solved.model
    statics = Statics(charted(model), device, slips)
    if not searches and np.nan_to_num(model.joint_qd).any():
        fastest = int(np.abs(np.nan_to_num(model.joint_qd[0])).argmax())
        raise NoEquilibriumError(
            f"the initial state is no equilibrium: it moves, `{model.dofs.label[fastest]}` at "
            f"{model.joint_qd[0, fastest]:.3g}"
        )
    if statics.contacts is not None:
        equilibrium = search_leaning(statics, stable) if searches else initial_leaning(statics)
    else:
        equilibrium = search_equilibrium(statics, stable) if searches else as_it_is(statics)
    equilibrium = replace(equilibrium, posture=statics.aligned(equilibrium.posture))
    check_bounds(statics, equilibrium)
    return Study(model, statics, device, equilibrium, notes_of(model, equilibrium), solved)


def check_bounds(statics: Statics, equilibrium: Equilibrium) -> None:
    """Refuse a place at or beyond a hard limit: what rests on a stop answers to one side only.

    Raises:
        NoEquilibriumError: with the joint.
    """
    model, laws, posture = statics.model, statics.balance.constraints.laws, equilibrium.posture
    for d, r, low, high in zip(laws.dof, laws.row, laws.lower[0], laws.upper[0], strict=True):
        j = model.dofs.joint[d] if d >= 0 else statics.balance.constraints.rows.joint[r]
        if r >= 0:
            x = posture.found.residual[0, r]
        else:
            x = posture.q[model.joints.q_start[j] + d - model.joints.qd_start[j]]
        if model.joints.enabled[j] and not low + ON_BOUND < x < high - ON_BOUND:
            where = f"without its stops, joint `{model.joints.name[j]}` comes to rest at {x:.6g}"
            raise NoEquilibriumError(
                f"{where}, and its hard limit is [{low:.6g}, {high:.6g}]: a joint that rests on a stop cannot be linearised"
            )
