"""Inverse dynamics, mass matrices and Jacobians: what the commands compute of forces."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simcli import rotations as rot
from simcli.analysis.mechanics.tasks import OnTree, chosen_bodies, field, loop_joints, loop_names, of_worlds
from simcli.analysis.states.portions import States
from simcli.errors import UsageError
from simcli.model.joints.anchors import written_child_anchors
from simcli.model.tables.model import WORLD, Array, Model
from simcli.records.contents.results import ResultAxes, result_axes
from simcli.records.reading.reader import Trajectory

if TYPE_CHECKING:  # it brings Taichi, which a wrong input need not wait for
    from simcli.analysis.mechanics.rounds import Mechanics


@dataclass(frozen=True)
class Efforts(OnTree):
    """Inverse dynamics: M qdd + bias - J^T f, armature in M.

    Attributes:
        external: count the scene's springs, cables and wrenches.
        compare: take the recorded efforts along.
    """

    external: bool = True
    compare: bool = False
    kind = "id"
    inputs = ("joint_q", "joint_qd", "joint_qdd", "body_f")

    @property
    def outputs(self) -> tuple[str, ...]:
        """The efforts, and the recorded ones."""
        return ("joint_effort", "recorded_effort") if self.compare else ("joint_effort",)

    def wants(self, model: Model, run: Trajectory | None) -> tuple[str, ...]:
        """Accelerations; wrenches of the joints that close loops.

        Raises:
            UsageError: nothing says what the loops transmit.
        """
        loops = loop_joints(model)
        if loops and (run is None or "reactions" not in run.channels):
            names = loop_names(model, loops)
            raise UsageError(f"what {names} transmits does not follow from the motion: give a run of this scene that "
                             "recorded it (output: {channels: [state, reactions]})")  # fmt: skip
        wrench = ("joint_wrench",) if loops else ()
        return (*self.inputs[:3], *(("recorded_effort",) if self.compare else ()), *wrench)  # no run records body_f

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """Efforts along the motion axes."""
        model, n = mechanics.model, mechanics.model.n_qd
        q, qd, qdd = states.values["joint_q"], field(states, "joint_qd", (n,)), field(states, "joint_qdd", (n,))
        force, step = field(states, "body_f", (model.n_bodies, 6)), states.values.get("step")
        when = np.stack([np.nan_to_num(states.time), field(states, "lean", ())], axis=1)
        if self.external and mechanics.has_external:
            if mechanics.has_timed and not np.isfinite(states.time).all():
                raise UsageError("wrenches of this scene follow signals, and the states have no time: add a column `time`")
            force = force + mechanics("external_forces", world, q, qd, when)[0]
        loops, free = loop_joints(model), force
        if loops:
            pose, _ = mechanics("forward_kinematics", world, q, qd)
            force = force + loop_forces(model, loops, world, pose, states.values["joint_wrench"])
        if step is None:
            effort = mechanics("inverse_dynamics", world, q, qd, qdd, force)[0]
        else:
            times = np.concatenate([when, step], axis=1)
            effort = mechanics("efforts_of_steps", world, q, qd, qdd, states.values["ends"], times, free, force)[0]
        found = {"joint_effort": effort}
        return found | ({"recorded_effort": states.values["recorded_effort"]} if self.compare else {})


def loop_forces(model: Model, loops: Sequence[int], world: Array, pose: Array, wrench: Array) -> Array:
    """Forces and torques about the centres of mass that loop joints put on their bodies, (N, B, 6), world.

    The wrench of a joint acts on the child at the child anchor, and the opposite on the parent at the same point.

    Args:
        model: the tables.
        loops: joints.
        world: (N,).
        pose: (N, B, 7).
        wrench: (N, J, 6), of all joints.
    """
    total = np.zeros((len(pose), model.n_bodies, 6))
    com, anchors = of_worlds(model.bodies.com, world), written_child_anchors(model)
    for j in loops:
        child, force, torque = model.joints.child[j], wrench[:, j, :3], wrench[:, j, 3:]
        at = rot.pose_apply(pose[:, child], of_worlds(anchors, world)[:, j, :3])
        for body, sign in ((child, 1.0), (model.joints.parent[j], -1.0)):
            if body != WORLD:
                lever = at - rot.pose_apply(pose[:, body], com[:, body])
                total[:, body] += sign * np.concatenate([force, torque + rot.cross(lever, force)], axis=-1)
    return total


@dataclass(frozen=True)
class Matrix(OnTree):
    """Mass matrices.

    Attributes:
        armature: count the joints' armature, as the solver does.
    """

    armature: bool = True
    kind = "mass-matrix"
    inputs = ("joint_q",)
    outputs = ("mass_matrix",)

    def fitted(self, model: Model) -> Model:
        """The model, with or without armature."""
        return model if self.armature else replace(model, dofs=replace(model.dofs, armature=np.zeros((1, model.n_qd))))

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """M(q)."""
        return {"mass_matrix": mechanics("mass_matrix", world, states.values["joint_q"])[0]}


@dataclass(frozen=True)
class Jacobians(OnTree):
    """Jacobians of bodies.

    Attributes:
        select: patterns of the bodies that are given, none for all.
    """

    select: tuple[str, ...] = ()
    kind = "jacobian"
    inputs = ("joint_q",)
    outputs = ("jacobian",)

    def axes(self, model: Model) -> ResultAxes:
        """The bodies that are wanted."""
        return result_axes(model).of_bodies(chosen_bodies(model, self.select), ())

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """J(q)."""
        found = mechanics("jacobian", world, states.values["joint_q"])[0]
        return {"jacobian": found[:, chosen_bodies(mechanics.model, self.select)]}
