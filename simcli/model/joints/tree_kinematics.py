"""Kinematics and inertias of the link tree in plain numpy, for all worlds at once; bodies in the frames of their links.

Slow and short: what `build` needs for its checks, and what device code is compared with in tests.
"""

import math

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.links import SIX
from simcli.model.tables.joint_tables import Links
from simcli.model.tables.model import WORLD, Array, LinkKind, Model

_IDENTITY = np.eye(3)


def body_rotations(links: Links, body: Array) -> Array:
    """Body axes to link axes of the bodies' links, (W|1, K, 3, 3); the identity for the world."""
    rotation = links.body_rotation[:, links.tip[body]]
    return np.where((body >= 0)[:, None, None], rotation, _IDENTITY)


def link_points(links: Links, body: Array, point: Array) -> Array:
    """Points of bodies in the frames of their links; points of the world unchanged.

    Args:
        links: the tables.
        body: (K,).
        point: [m], (W|1, K, 3).

    Returns:
        [m], (W|1, K, 3).
    """
    if not len(body):
        return point
    offset = np.where((body >= 0)[:, None], links.body_offset[:, links.tip[body]], 0.0)
    return offset + np.einsum("wkij,wkj->wki", body_rotations(links, body), point)


def links_of(links: Links, body: Array) -> Array:
    """Link that carries each body, -1 for the world."""
    return np.where(body >= 0, links.tip[body], -1).astype(int)


def link_poses(links: Links, joint_q: Array) -> tuple[Array, Array]:
    """Forward kinematics of the links, as `Links` states it.

    Args:
        links: the table.
        joint_q: [m, rad, 1], (W|1, NQ).

    Returns:
        R [1], (L, W|1, 3, 3) and o [m], (L, W|1, 3), world.
    """
    R, o, order = [], [], "F" if rot.is_by_components(joint_q) else "C"
    for k in range(len(links.parent)):
        p = links.parent[k]
        R_p, o_p = (np.eye(3)[None], np.zeros((1, 3))) if p == WORLD else (R[p], o[p])
        C, move = links.rotation[:, k], links.offset[:, k]
        q, Q = joint_q[:, links.q_start[k] :], rot.multiply(R_p, C)
        if links.kind[k] == LinkKind.HELIX:
            Q = _about_z(Q, links.turn[k] * q[:, 0]) if links.turn[k] else Q
            move = move + (links.advance[:, k] * q[:, 0])[:, None] * C[..., 2]
        elif links.kind[k] == LinkKind.BALL:
            Q = rot.multiply(Q, rot.quat_to_matrix(q[:, :4]))
        elif links.kind[k] == LinkKind.FREE:
            Q = rot.multiply(Q, rot.quat_to_matrix(q[:, 3:7]))
            move = move + rot.turn(C, q[:, :3])
        R.append(Q)
        o.append(o_p + rot.turn(R_p, move))
    lead = max((len(a) for a in [*R, *o]), default=1)
    if order == "C":
        R = np.array([np.broadcast_to(a, (lead, 3, 3)) for a in R]).reshape(-1, lead, 3, 3)
        return R, np.array([np.broadcast_to(a, (lead, 3)) for a in o]).reshape(-1, lead, 3)
    return _side_by_side(R, (lead, 3, 3)), _side_by_side(o, (lead, 3))


def _about_z(Q: Array, angle: Array) -> Array:
    """Rotations, (W|1, 3, 3), and then a turn about their z axis, [rad], (W|1,): Q times the matrix of its quaternion."""
    half = 0.5 * angle
    z, w = rot.each(math.sin, half), rot.each(math.cos, half)
    scaled = z * (2.0 / (z * z + w * w))
    cosine, sine = (1.0 - z * scaled)[:, None], (w * scaled)[:, None]
    x, y, found = Q[..., 0], Q[..., 1], np.empty((max(len(Q), len(angle)), 3, 3), order="F")
    found[..., 0] = x * cosine + y * sine
    found[..., 1] = y * cosine - x * sine
    found[..., 2] = Q[..., 2]
    return found


def _side_by_side(parts: list[Array], shape: tuple[int, ...]) -> Array:
    """Arrays of links, (L, *shape), component by component in memory."""
    found = np.empty((shape[0], len(parts), *shape[1:]), order="F")
    for k, one in enumerate(parts):
        found[:, k] = one
    return found.swapaxes(0, 1)


def body_poses(model: Model, joint_q: Array) -> tuple[Array, Array]:
    """Forward kinematics of the body frames.

    Args:
        model: the tables.
        joint_q: [m, rad, 1], (W|1, NQ).

    Returns:
        R [1], (B, W|1, 3, 3) and x [m], (B, W|1, 3), world.
    """
    links = model.links
    R, o = link_poses(links, joint_q)
    R, o = R[links.tip], o[links.tip]
    B = np.moveaxis(links.body_rotation[:, links.tip], 0, 1)
    b = np.moveaxis(links.body_offset[:, links.tip], 0, 1)
    return rot.multiply(R, B), o + rot.turn(R, b)


def link_twists(links: Links, joint_q: Array, joint_qd: Array, R: Array, o: Array) -> tuple[Array, Array]:
    """Velocities of the links' origins and their angular velocities.

        w = w_p + Q w_j      v = v_p + w_p x (o - o_p) + Q v_j      Q = R_p C
        HELIX  w_j = turn qd e_z, v_j = advance qd e_z      BALL  w_j = qd
        FREE   w_j = qd[3:6], and qd[0:3] is the velocity of the centre of mass c: v = v_c - w x (c - o)

    Args:
        links: the table.
        joint_q: [m, rad, 1], (W|1, NQ).
        joint_qd: [m/s, rad/s], (W|1, NV).
        R: [1], (L, W|1, 3, 3), from `link_poses`.
        o: [m], (L, W|1, 3), likewise.

    Returns:
        v [m/s] and w [rad/s], (L, W|1, 3), world.

    Source: forward kinematics of the Newton engine (eval_fk), from origin to origin. No deviation.
    """
    lead = max(len(joint_q), len(joint_qd), R.shape[1], len(links.com), len(links.advance))
    zero = np.zeros((lead, 3))
    v, w = [], []
    for k in range(len(links.parent)):
        p = links.parent[k]
        v_p, w_p, o_p, R_p = (zero, zero, zero, np.eye(3)[None]) if p == WORLD else (v[p], w[p], o[p], R[p])
        Q, rate = rot.multiply(R_p, links.rotation[:, k]), joint_qd[:, links.qd_start[k] :]
        spin, slip, carried = zero, zero, v_p + rot.cross(w_p, o[k] - o_p)
        if links.kind[k] == LinkKind.HELIX:
            spin = links.turn[k] * rate[:, :1] * Q[..., 2]
            slip = (links.advance[:, k, None] * rate[:, :1]) * Q[..., 2]
        elif links.kind[k] == LinkKind.BALL:
            spin = rot.turn(Q, rate[:, :3])
        elif links.kind[k] == LinkKind.FREE:
            spin = rot.turn(Q, rate[:, 3:6])
            slip = rot.turn(Q, rate[:, :3]) - rot.cross(spin, rot.turn(R[k], links.com[:, k]))
        v.append(carried + slip + zero)
        w.append(w_p + spin + zero)
    return np.array(v).reshape(-1, lead, 3), np.array(w).reshape(-1, lead, 3)


def body_twists(model: Model, joint_q: Array, joint_qd: Array) -> tuple[Array, Array]:
    """Forward kinematics of the velocities.

    Args:
        model: the tables.
        joint_q: [m, rad, 1], (W|1, NQ).
        joint_qd: [m/s, rad/s], (W|1, NV).

    Returns:
        Velocity of the centre of mass [m/s] and angular velocity [rad/s], (B, W|1, 3), world.
    """
    links, tip = model.links, model.links.tip
    R, o = link_poses(links, joint_q)
    v, w = link_twists(links, joint_q, joint_qd, R, o)
    lever = rot.turn(R[tip], np.moveaxis(links.com[:, tip], 0, 1))
    return v[tip] + rot.cross(w[tip], lever), w[tip]


def motion_subspace(links: Links, k: int) -> Array:
    """Motion axes of a link in its own frame, at its own origin, (velocity, angular velocity).

    Args:
        links: the table.
        k: link index.

    Returns:
        [1, m], (W|1, 6, n_qd). For a FREE link a basis of all motions, not the rates of joint_qd.
    """
    if links.kind[k] == LinkKind.HELIX:
        S = np.zeros((len(links.advance), 6, 1))
        S[:, 2, 0], S[:, 5, 0] = links.advance[:, k], links.turn[k]
        return S
    full = np.eye(6)[None]
    return {LinkKind.FREE: full, LinkKind.BALL: full[..., 3:], LinkKind.WELD: full[..., :0]}[LinkKind(links.kind[k])]


def spatial_inertia(links: Links, k: int) -> Array:
    """Inertia of a link about its own origin in its own frame.

    Args:
        links: the table.
        k: link index.

    Returns:
        [kg, kg m, kg m^2], (W|1, 6, 6), linear before angular.
    """
    mass, com = links.mass[:, k][:, None, None], rot.skew(links.com[:, k])
    central = np.zeros((len(links.inertia), 3, 3))
    for n, (i, j) in enumerate(SIX):
        central[:, i, j] = central[:, j, i] = links.inertia[:, k, n]
    lead = max(len(mass), len(com), len(central))
    I = np.zeros((lead, 6, 6))  # noqa: E741
    I[:, :3, :3], I[:, :3, 3:], I[:, 3:, :3] = mass * np.eye(3), -mass * com, mass * com
    I[:, 3:, 3:] = central - mass * com @ com
    return I


def to_parent(R: Array, o: Array, k: int, p: int) -> Array:
    """Motion transform from the frame of link p to that of link k, X such that X^T I X moves an inertia from k to p.

    Args:
        R: [1], (L, W|1, 3, 3), link rotations.
        o: [m], (L, W|1, 3), link origins.
        k: link.
        p: its parent.

    Returns:
        [1, m], (W|1, 6, 6).
    """
    E = rot.transpose(R[k]) @ R[p]
    r = rot.turn(rot.transpose(R[p]), o[k] - o[p])
    X = np.zeros((len(E), 6, 6))
    X[:, :3, :3] = X[:, 3:, 3:] = E
    X[:, :3, 3:] = -E @ rot.skew(r)
    return X


def dof_inertia(model: Model, joint_q: Array) -> tuple[list[Array], list[Array]]:
    """Inertia that each link's dofs meet when all others are free to move: D of the articulated-body algorithm.

    Args:
        model: the tables.
        joint_q: [m, rad, 1], (W|1, NQ).

    Returns:
        Per link D, (W|1, n_qd, n_qd), armature included, and a scale of the same units, (W|1, n_qd): what hangs on the
        link, about its origin, so that D / scale near rounding means no inertia.

    Source: Featherstone's articulated-body inertias. Deviation: a singular D is left out of the pass to the parent, so
    that one massless link is not reported again by its ancestors.
    """
    links = model.links
    R, o = link_poses(links, joint_q)
    n = len(links.parent)
    articulated = [spatial_inertia(links, k) for k in range(n)]
    composite = [a.copy() for a in articulated]
    D, scale = [np.zeros(0)] * n, [np.zeros(0)] * n
    for k in range(n - 1, -1, -1):
        S = motion_subspace(links, k)
        U = articulated[k] @ S
        armature = model.dofs.armature[:, links.qd_start[k] : links.qd_start[k] + links.n_qd[k]]
        D[k] = rot.transpose(S) @ U + armature[:, :, None] * np.eye(links.n_qd[k])
        bulk = np.trace(composite[k][:, 3:, 3:], axis1=1, axis2=2)[:, None, None]
        weight = np.concatenate([np.broadcast_to(composite[k][:, :1, :1], (len(bulk), 3, 1))] + [bulk] * 3, axis=1)
        scale[k] = (S**2 * weight).sum(axis=1) + armature
        p = links.parent[k]
        if p == WORLD:
            continue
        X = to_parent(R, o, k, p)
        rest = articulated[k] - U @ _inverse(D[k]) @ rot.transpose(U)
        articulated[p] = articulated[p] + rot.transpose(X) @ rest @ X
        composite[p] = composite[p] + rot.transpose(X) @ composite[k] @ X
    return D, scale


def _inverse(D: Array) -> Array:
    """Inverse of symmetric matrices, zero along directions that have none."""
    if D.shape[-1] > 1:
        return np.linalg.pinv(D, rcond=SINGULAR, hermitian=True)
    return np.divide(1.0, D, out=np.zeros_like(D), where=D > 0.0)


SINGULAR = 1e-13  # [1] D / scale below this is rounding of the sums over a tree, not inertia
