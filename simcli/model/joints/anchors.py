"""Anchors of joints as the scene writes them, where forces are reported and sensors stand.

X_c = X_c0 x_j(init_angle)        X_c0: as written; x_j: the joint transform
"""

import numpy as np

from simcli import rotations as rot
from simcli.model.tables import Array, JointKind, Model


def pose_at_coordinate(kind: int, axis: Array, pitch: Array | float, q: Array) -> Array:
    """Joint transform of a joint with one coordinate, [m, 1], (W|1, 7).

    Args:
        kind: REVOLUTE, PRISMATIC or SCREW.
        axis: [1], (W|1, 3), unit, parent anchor frame.
        pitch: [m/rad], (W|1,), of a screw, else 0.
        q: [m, rad], (W|1,).
    """
    advance, turn = (q, np.zeros(1)) if kind == JointKind.PRISMATIC else (pitch * q, q)
    return rot.make_pose(advance[:, None] * axis, rot.quat_from_axis_angle(axis, turn))


def written_child_anchors(model: Model) -> Array:
    """[m, 1], (W|1, J, 7), child anchors in the child bodies as the scene writes them, `init_angle` taken off."""
    joints, axes = model.joints, model.dofs.axis
    if not joints.init_angle.any():
        return joints.X_c
    lead = max(map(len, (joints.X_c, joints.init_angle, axes, joints.pitch)))
    out = np.array(np.broadcast_to(joints.X_c, (lead, *joints.X_c.shape[1:])))
    for j in np.flatnonzero(joints.init_angle.any(axis=0)):
        axis = axes[:, joints.qd_start[j]]
        back = pose_at_coordinate(joints.kind[j], axis, joints.pitch[:, j], -joints.init_angle[:, j])
        out[:, j] = rot.pose_compose(out[:, j], back)
    return out
