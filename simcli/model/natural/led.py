"""Kinematic bodies in natural coordinates: the joints of the scene that lead them, as constant motions in the world.

A kinematic body hangs on the world. Its joint is free, or has one dof that is prescribed, or stands still. So its velocity
is a sum of constant motions times the prescribed velocities,

    v = sum L_i m_i',   w = sum W_i m_i'     of the centre of mass, or with an anchor of the point of the body that is there
"""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.signals.tables import MotionKind
from simcli.model.tables import WORLD, Array, Model


@dataclass(frozen=True)
class Led:
    """Motions of the kinematic bodies.

    Attributes:
        joint: (B,) number of the joint that leads each body, -1 for bodies that are free to move.
        bodies: (n,) kinematic bodies.  dof_start: (n + 1,) offsets.  dof: (N,) dofs of their joints.
        linear, angular: [1 or m] and [1], (W|1, N, 3), L and W, world.
        anchor: [m], (W|1, n, 3), world.  is_anchored: (n,) bool.
        by_position: (N,) bool.  start: [m, rad], (W|1, N), coordinates at t = 0 of dofs that are prescribed by position.
    """

    joint: Array
    bodies: Array
    dof_start: Array
    dof: Array
    linear: Array
    angular: Array
    anchor: Array
    is_anchored: Array
    by_position: Array
    start: Array


def leading_joints(model: Model) -> Array:
    """(B,) joint of the scene that leads each kinematic body, -1 for bodies that are free to move."""
    joints, found = model.joints, np.full(model.n_bodies, -1)
    roots = np.flatnonzero(joints.is_tree & (joints.parent == WORLD))
    found[joints.child[roots]] = roots
    return np.where(model.bodies.kinematic, found, -1)


def led_of(model: Model, joint: Array) -> Led:
    """The motions of the kinematic bodies of a model.

    Args:
        model: the tables, in any form.
        joint: from `leading_joints` of the scene's own form.
    """
    joints, bodies = model.joints, np.flatnonzero(joint >= 0)
    chosen = joint[bodies]
    counts = [int(joints.dof_dim[j].sum()) for j in chosen]
    ranges = [joints.qd_start[j] + np.arange(n) for j, n in zip(chosen, counts, strict=True)]
    dof = np.concatenate([*ranges, []]).astype(int)
    of = np.repeat(chosen, counts)
    turns = dof - joints.qd_start[of] >= joints.dof_dim[of, 0]
    axis = rot.turn(rot.quat_to_matrix(joints.X_p[:, of, 3:]), model.dofs.axis[:, dof])
    pitch = np.where(turns, joints.pitch[:, of], 1.0)
    by_position = model.motions.kind[dof] == MotionKind.POSITION
    at = np.where(by_position, joints.q_start[of], 0)
    return Led(
        joint, bodies, np.concatenate(([0], np.cumsum(counts))).astype(int), dof, axis * pitch[..., None],
        axis * turns[:, None], joints.X_p[:, chosen, :3], np.array([n == 1 for n in counts], bool), by_position,
        np.where(by_position, np.nan_to_num(model.joint_q[:, at]), 0.0),
    )  # fmt: skip
