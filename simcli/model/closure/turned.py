"""Rotations by which the frames of a joint are away from what it allows, where products of directions do not tell them.

A joint that holds directions has rows d_A . d_B - c. They vanish where the directions agree, and at other rotations too:

    three rows                   where the frames differ by a half turn about an axis, or a third of one about a diagonal
    two rows, of a hinge         where the axes are opposite
    one row of three, in a plane after a half turn in the plane

The one row of a universal joint has no such second place: each rotation at which it vanishes is two turns about its axes.
"""

import math
from collections.abc import Callable

import numpy as np

from simcli import rotations as rot
from simcli.model.closure.chart import angle_between
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import Form
from simcli.model.forms.natural_form import shortest_turn
from simcli.model.joints.catalogue import ORBITS
from simcli.model.joints.tree_kinematics import link_poses
from simcli.model.tables.model import Array, LinkKind, Model

_FAR = math.cos(0.5)  # cosine of an angle [rad] below which the products lead to the rotation that is meant
_CLEAR = 1e-6  # of a cosine, far above rounding
_ALL_TURNS, _TWO_TURNS = 3, 2  # rows that hold a rotation, and those that leave a turn about an axis
_ASIDE = np.array([math.cos(1.0), math.sin(1.0), 0.0])  # about which opposite axes are turned: along no axis of a scene


def held_turns(model: Model, joint: Array) -> Array:
    """Turns that joints hold, 0 to 3, whether rows of a planar scene leave them out or not.

    Args:
        model: the tables.
        joint: (...), indices; -1 for none, which holds nothing.
    """
    joints = model.joints
    free = joints.dof_dim[:, 1] - 2 * np.isin(joints.kind, ORBITS)  # whose first two turns move the anchor
    return np.append(3 - free, 0)[joint]


def far_rotation(held: Array, is_flat: bool, turn: Array, axis: Array, across: Array) -> Array:
    """Rotation vectors that the frames of joints are away by, where that is far; 0 where it is not.

    Args:
        held: (n,), turns that each joint holds.
        is_flat: whether a plane leaves one row of three.
        turn: [1], (W, n, 3, 3), frame of the child against that of the parent.
        axis: [1], (W, n, 3), d_A of a row, parent anchor frame.
        across: [1], (W, n, 3), d_B of a row, child anchor frame.

    Returns:
        [rad], (W, n, 3), parent anchor frame.
    """
    whole, hinged, flat = (held == _ALL_TURNS) & (not is_flat), held == _TWO_TURNS, (held == _ALL_TURNS) & is_flat
    before = np.where(flat[:, None], across, axis)
    after = rot.turn(turn, before)
    cosine = np.where(whole, 0.5 * (np.trace(turn, axis1=-2, axis2=-1) - 1.0), rot.dot(before, after))
    far = (whole | hinged | flat) & (cosine < _FAR)
    found = np.zeros(turn.shape[:-1])
    if not far.any():
        return found
    log, _factor = rot.rotation_log(rot.matrix_to_quat(turn))
    found = np.where((far & whole)[..., None], log, found)
    found = np.where((far & hinged)[..., None], _least_turn(axis, after), found)
    normal = rot.cross(across, axis)
    angle = angle_between(rot.dot(across, after), rot.dot(normal, rot.cross(across, after)))
    return np.where((far & flat)[..., None], angle[..., None] * normal, found)


def may_be_far(held: Array, is_flat: bool, cosine: Callable[[Array], Array], axis: Array, across: Array) -> bool:
    """Whether `far_rotation` may have an answer for some world: nothing of that is worked out where it has none.

    Args:
        held: as of `far_rotation`.
        is_flat: likewise.
        cosine: of vectors, (W|1, n, 3) in anchor axes, the scalar products of them in both frames, (W, n).
        axis: as of `far_rotation`.
        across: likewise.
    """
    whole, holds = (held == _ALL_TURNS) & (not is_flat), held >= _TWO_TURNS
    found = cosine(across if is_flat else axis)
    if is_flat and (held == _TWO_TURNS).any():
        found = np.where(held == _TWO_TURNS, cosine(axis), found)
    if whole.any():
        found = np.where(whole, 0.5 * (sum(cosine(np.eye(3)[k]) for k in range(3)) - 1.0), found)
    return bool((holds & (found < _FAR + _CLEAR)).any())


def _least_turn(before: Array, after: Array) -> Array:
    """[rad], the shortest rotation vectors that bring unit vectors over others; one of them where these are opposite."""
    sine = rot.cross(before, after)
    length = np.sqrt(rot.dot(sine, sine))
    aside = rot.turn(rot.frame_along(before), np.broadcast_to(_ASIDE, before.shape))
    tiny = length < 1e-9
    axis = np.where(tiny[..., None], aside, sine / np.where(tiny, 1.0, length)[..., None])
    return axis * angle_between(rot.dot(before, after), length)[..., None]


def turned_apart(model: Model, joint: int, joint_q: Array) -> Array:
    """[rad], (W,), the angle by which a joint's frames are away from what it allows, where that is far; else 0.

    Args:
        model: the tables, in tree form or in natural coordinates.
        joint: its index.
        joint_q: [m, rad, 1], (W, NQ), without NaN.
    """
    constraints = constraints_of(model)
    anchor_pairs, rows = constraints.anchor_pairs, constraints.rows
    dots = np.flatnonzero((rows.joint == joint) & rows.is_hard & (rows.form == Form.DOT))
    k = np.flatnonzero(anchor_pairs.joint == joint)
    if not len(dots) or not len(k):
        return np.zeros(len(joint_q))
    R = _rotations(model, joint_q)
    F_a, F_b = (
        rot.multiply(R[:, link[k]], frame[:, k])
        for link, frame in ((anchor_pairs.link_a, anchor_pairs.frame_a), (anchor_pairs.link_b, anchor_pairs.frame_b))
    )
    axis, across = (
        rot.turn(rot.transpose(frame[:, k]), column[:, dots[:1]])
        for frame, column in ((anchor_pairs.frame_a, rows.on_a), (anchor_pairs.frame_b, rows.on_b))
    )
    turn = rot.multiply(rot.transpose(F_a), F_b)
    axis, across = (np.broadcast_to(v, turn.shape[:-1]) for v in (axis, across))
    found = far_rotation(held_turns(model, np.array([joint])), model.plane >= 0, turn, axis, across)
    return np.broadcast_to(np.sqrt(rot.dot(found, found))[:, 0], (len(joint_q),))


def _rotations(model: Model, joint_q: Array) -> Array:
    """[1], (W, L + 1, 3, 3), rotations of the links, the last entry that of the world."""
    links = model.links
    if model.columns is None:
        R = np.moveaxis(link_poses(links, joint_q)[0], 0, 1)
    else:
        R = np.broadcast_to(np.eye(3), (len(joint_q), model.n_links, 3, 3)).copy()
        for k in np.flatnonzero(links.kind == LinkKind.AFFINE):
            R[:, k] = _attitude(model.plane, joint_q[:, links.q_start[k] + 3 :], int(model.columns.n_vectors[k]))
    return np.concatenate((R, np.broadcast_to(np.eye(3), (len(R), 1, 3, 3))), axis=1)


def _attitude(plane: int, q: Array, n_vectors: int) -> Array:
    """[1], (W, 3, 3), rotation of an AFFINE link from its vectors: see kernels/articulation/kinematics.py:attitude."""
    vectors = [q[:, 3 * k : 3 * k + 3] for k in range(n_vectors)]
    if n_vectors == 1 and plane >= 0:
        normal = np.broadcast_to(np.eye(3)[plane], vectors[0].shape)
        vectors = [vectors[0], rot.cross(normal, vectors[0]), normal]
    if n_vectors == 1 and plane < 0:
        return shortest_turn(vectors[0])
    return np.stack(vectors, axis=-1) if vectors else np.eye(3)
