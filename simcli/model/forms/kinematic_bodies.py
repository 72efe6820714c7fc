"""Kinematic bodies in natural coordinates: the joints of the scene that prescribe them, as motions in the world.

A kinematic body hangs on the world, and all dofs of its joint are prescribed or stand still. So its velocity is a sum of
motions times the prescribed velocities,

    v = sum L_i m_i',   w = sum W_i m_i'     of the centre of mass, or with an anchor of the point of the body that is there

which are constant, but where turns carry the turns after them: these have the W_i of the posture in which all coordinates
are 0. The coordinates of a ball by position are its rotation vector.
"""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.catalogue import BALLS, POSES
from simcli.model.signals.prescribed import balls_by_position, prescribed
from simcli.model.tables.model import WORLD, Array, Model
from simcli.model.tables.signal_tables import MotionKind

CONSTANT, SUCCESSIVE, VECTOR = range(3)  # how the turns of a joint depend on its coordinates


@dataclass(frozen=True)
class PrescribedBodies:
    """Motions of the kinematic bodies.

    Attributes:
        joint: (B,) number of the joint that prescribes each body, -1 for bodies that are free to move.
        bodies: (n,) kinematic bodies.  dof_start: (n + 1,) offsets.  dof: (N,) dofs of their joints.
        linear, angular: [1 or m] and [1], (W|1, N, 3), L and W, world.
        anchor: [m], (W|1, n, 3), world.  is_anchored: (n,) bool.
        by_position: (N,) bool.  start: [m, rad], (W|1, N), coordinates at t = 0; of a ball by position its rotation vector.
        curve: (n,) CONSTANT, SUCCESSIVE or VECTOR.
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
    curve: Array


def prescribing_joints(model: Model) -> Array:
    """(B,) joint of the scene that prescribes each kinematic body, -1 for bodies that are free to move."""
    joints, found = model.joints, np.full(model.n_bodies, -1)
    roots = np.flatnonzero(joints.is_tree & (joints.parent == WORLD))
    found[joints.child[roots]] = roots
    return np.where(model.bodies.kinematic, found, -1)


def prescribed_bodies_of(model: Model, joint: Array) -> PrescribedBodies:
    """The motions of the kinematic bodies of a model.

    Args:
        model: the tables, in any form.
        joint: from `prescribing_joints` of the scene's own form.
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
    scalar = joints.q_start[of + 1] - joints.q_start[of] == joints.dof_dim[of].sum(axis=1)
    at = np.where(scalar, joints.q_start[of] + dof - joints.qd_start[of], 0)
    start = np.where(scalar, np.nan_to_num(model.joint_q[:, at]), 0.0)
    balls = np.add.outer(balls_by_position(model), np.arange(3))
    start = np.where(np.isin(dof, balls), prescribed(model, 0.0)[:, dof, 0], start)
    several = (joints.dof_dim[chosen].sum(axis=1) > 1) & ~np.isin(joints.kind[chosen], POSES)
    vector = np.isin(joints.qd_start[chosen], balls[:, 0])
    curve = np.select([vector, several & ~np.isin(joints.kind[chosen], BALLS)], [VECTOR, SUCCESSIVE], CONSTANT)
    return PrescribedBodies(
        joint,
        bodies,
        np.concatenate(([0], np.cumsum(counts))).astype(int),
        dof,
        axis * pitch[..., None],
        axis * turns[:, None],
        joints.X_p[:, chosen, :3],
        several | (np.array(counts, int) == 1),
        by_position,
        start,
        curve,
    )
