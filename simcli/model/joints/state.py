"""State: where the bodies and joints of all worlds are, and how they move, as plain numpy arrays."""

from dataclasses import dataclass, fields, replace

import numpy as np

from simcli import rotations as rot
from simcli.model.joints import tree_kinematics
from simcli.model.joints.catalogue import CATALOGUE, TYPE_NAME
from simcli.model.tables.model import Array, JointKind, Model


@dataclass(eq=False)
class State:
    """One moment of all worlds, to read and to write.

    Joint and body arrays say the same where `eval_fk` or `eval_ik` has just been called; writing one does not change
    the others.

    Attributes:
        joint_q: [m, rad, 1], (W, NQ), joint coordinates in the layout of `simcli show --layout`; cable slots NaN.
        joint_qd: [m/s, rad/s], (W, NV), joint velocities.
        joint_f: [N, N m], (W, NV), joint efforts.
        body_q: [m, 1], (W, B, 7), pose of the body frame, world.
        body_qd: [m/s, rad/s], (W, B, 6), velocity of the centre of mass and angular velocity, world.
    """

    joint_q: Array
    joint_qd: Array
    joint_f: Array
    body_q: Array
    body_qd: Array

    @classmethod
    def of(cls, model: Model) -> "State":
        """The initial state of a model."""
        n = model.n_worlds
        R, x = tree_kinematics.body_poses(model, model.joint_q)
        v, w = tree_kinematics.body_twists(model, model.joint_q, model.joint_qd)
        pose, twist = rot.make_pose(x, rot.matrix_to_quat(R)), np.concatenate(np.broadcast_arrays(v, w), axis=-1)
        arrays = (model.joint_q, model.joint_qd, model.joint_f, np.moveaxis(pose, 0, 1), np.moveaxis(twist, 0, 1))
        return cls(*(np.array(np.broadcast_to(a, (n, *a.shape[1:]))) for a in arrays))

    @property
    def n_worlds(self) -> int:
        """W."""
        return len(self.joint_q)

    def copy(self) -> "State":
        """A state of its own with the same numbers."""
        return replace(self, **{column.name: getattr(self, column.name).copy() for column in fields(self)})

    def check(self, model: Model) -> None:
        """Refuse a state that is not of this model's shape.

        Raises:
            ValueError: naming the array.
        """
        n = model.n_worlds
        shapes = {
            "joint_q": (n, model.n_q),
            "joint_qd": (n, model.n_qd),
            "joint_f": (n, model.n_qd),
            "body_q": (n, model.n_bodies, 7),
            "body_qd": (n, model.n_bodies, 6),
        }
        for name, shape in shapes.items():
            if np.shape(getattr(self, name)) != shape:
                found = np.shape(getattr(self, name))
                raise ValueError(f"the state's {name} has shape {found}, but the model has {shape}")


def middle_of_limits(model: Model) -> Array:
    """Joint coordinates half way between their limits.

    Args:
        model: the tables.

    Returns:
        [m, rad], (W|1, NQ); NaN for components of quaternions and poses, for cable slots, and where a limit is missing.
    """
    dofs, joints = model.dofs, model.joints
    with np.errstate(invalid="ignore"):  # inf - inf is NaN, as wanted
        between = 0.5 * (dofs.limit_lower + dofs.limit_upper)
    middle = np.full((len(between), model.n_q), np.nan)
    for j in range(model.n_joints):
        if CATALOGUE[TYPE_NAME[JointKind(joints.kind[j])]].coordinates == "scalars":
            rates = slice(joints.qd_start[j], joints.qd_start[j + 1])
            middle[:, joints.q_start[j] : joints.q_start[j + 1]] = between[:, rates]
    return np.where(np.isfinite(middle), middle, np.nan)
