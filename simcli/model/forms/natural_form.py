"""The natural form of a model: every body by its centre of mass and up to three vectors, every joint a set of rows.

A point c of a body with the coordinates q = (p, a_1, ..) is p + sum s_k a_k, s its place among the principal axes of mass: a
constant matrix times q, so that the mass matrix is constant too, and in these axes diagonal,

    diag(m, J_1, J_2, J_3) (x) E_3,   J = tr(I) E / 2 - I   the second moments about the centre of mass

A body in a plane and a bar need one vector alone, whose second moment is the inertia about the normal, or across the bar.
Other bases (natural_coordinates.py) are constant changes of coordinates: they change what is reported, not what moves.

A kinematic body hangs on the world, and all dofs of its joint are prescribed or stand still. So its velocity is a sum of
motions times the prescribed velocities,

    v = sum L_i m_i',   w = sum W_i m_i'     of the centre of mass, or with an anchor of the point of the body that is there

which are constant, but where turns carry the turns after them: these have the W_i of the posture in which all coordinates
are 0. The coordinates of a ball by position are its rotation vector.

Source: Garcia de Jalon and Bayo (1994), chapter 4. Deviation: origin and axes are those that make M diagonal.
"""

from dataclasses import dataclass, replace

import numpy as np

from simcli import rotations as rot
from simcli.model.constraints.massless import arms
from simcli.model.forms.maximal_form import FREE_SUFFIX, with_damping, with_dofs, with_joints, with_state
from simcli.model.joints.catalogue import BALLS, POSES
from simcli.model.joints.links import beside
from simcli.model.joints.mechanism import JointInput
from simcli.model.joints.motion_axes import MotionAxis
from simcli.model.joints.state import State
from simcli.model.signals.inputs import balls_by_position, prescribed
from simcli.model.tables.form_tables import Columns
from simcli.model.tables.joint_tables import Links
from simcli.model.tables.model import WORLD, Array, JointKind, LinkKind, Model
from simcli.model.tables.signal_tables import MotionKind

# Least second moment, relative to the largest, on the diagonal that is inverted; what flat bodies and thin rods lack of it
# is taken away again by iteration, each of which leaves this part (see solvers/natural/saddle.py). A point mass on an arm
# lacks all of it.
THIN = 1e-2
_NOTHING = 1e-12  # second moment, relative to the largest, that is rounding


def natural_form(model: Model, start: State) -> Model:
    """The natural form of a model at a state.

    Args:
        model: the tables.
        start: where everything is.

    Returns:
        Tables whose first joints, dofs and coordinates are those of the model; the others are natural coordinates.
    """
    joint = prescribing_joints(model)
    n_vectors = np.where((model.bodies.n_vectors < 0) | (joint >= 0), 3 if model.plane < 0 else 1, model.bodies.n_vectors)
    R_0, x_0 = rot.quat_to_matrix(start.body_q[..., 3:]), start.body_q[..., :3]
    axes, moments = principal_axes(model, n_vectors)
    p = x_0 + rot.turn(R_0, model.bodies.com)
    A = rot.multiply(R_0, axes)
    turn = start.body_qd[..., 3:]
    q, qd, weight, excess = [], [], [], []
    full = np.where((joint >= 0)[:, None], moments, np.maximum(moments, THIN * largest_moments(model, moments)[..., None]))
    for b in range(model.n_bodies):
        vectors = [A[:, b, :, k] for k in range(n_vectors[b])]
        q.append(np.concatenate([p[:, b], *vectors], axis=-1))
        qd.append(np.concatenate([start.body_qd[:, b, :3], *(rot.cross(turn[:, b], a) for a in vectors)], axis=-1))
        mass, kept = model.bodies.mass[:, b, None], slice(n_vectors[b])
        weight.append(np.repeat(beside([mass, full[:, b, kept]]), 3, axis=-1))
        excess.append(np.repeat(beside([0.0 * mass, (full - moments)[:, b, kept]]), 3, axis=-1))
    n = 3 * (1 + n_vectors)
    added = [_Columns(f"{name}{FREE_SUFFIX}", b, int(n[b])) for b, name in enumerate(model.bodies.name)]
    joints = with_joints(model.joints, added)
    joints = replace(joints, is_tree=np.arange(len(joints.name)) >= model.n_joints)
    active = np.ones(model.n_qd + n.sum(), bool)
    if model.plane >= 0:
        active[model.n_qd + model.plane :: 3] = False
    model = replace(model, dofs=with_damping(model))
    begun = with_state(model, start, q, qd)
    prescribed = np.repeat(np.where(joint >= 0, MotionKind.POSITION, MotionKind.NONE), n)
    return replace(
        begun,
        motions=replace(begun.motions, kind=np.append(model.motions.kind, prescribed).astype(np.int32)),
        joints=joints,
        dofs=with_dofs(model.dofs, added, model.n_joints),
        columns=Columns(n_vectors, *(beside([np.zeros((1, model.n_qd)), *x]) for x in (weight, excess)), active, joint),
        links=_links(model, joints.q_start[model.n_joints :], n, axes, A, n_vectors),
    )


class _Columns(JointInput):
    """The joint that stands for the natural coordinates of a body in the table of joints."""

    def __init__(self, name: str, body: int, n: int):
        super().__init__(
            name, JointKind.FREE, WORLD, body, MotionAxis(np.eye(3)[None], np.tile(np.eye(3), (1, n // 3 - 1, 1)))
        )
        self.count = n

    @property
    def n_q(self) -> int:
        """Number of coordinates."""
        return self.count

    @property
    def n_qd(self) -> int:
        """Number of velocities."""
        return self.count


def largest_moments(model: Model, moments: Array) -> Array:
    """Largest second moment of each body; of a point mass that of its mass on the longest arm of its joints, or on 1 m.

    Returns:
        [kg m^2], (W|1, B).
    """
    arm = arms(model)
    on_arm = model.bodies.mass * np.where(arm > 0.0, arm, 1.0) ** 2
    largest = moments.max(axis=-1)
    return np.where(largest > 0.0, largest, on_arm)


def principal_axes(model: Model, n_vectors: Array) -> tuple[Array, Array]:
    """Axes of the vectors in the body frame, as columns, and the second moments along them.

    In a plane: two axes of the plane in cyclic order and its normal; of a bar the first is the one of least inertia.

    Returns:
        [1], (W|1, B, 3, 3), right-handed, and [kg m^2], (W|1, B, 3).
    """
    inertia = model.bodies.inertia
    if model.plane >= 0:
        axes = np.roll(np.eye(3), -(model.plane + 1), axis=0).T
        about = inertia[:, :, model.plane, model.plane]
        return np.broadcast_to(axes, (1, model.n_bodies, 3, 3)), np.repeat(about[..., None], 3, axis=-1)
    second = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - inertia
    is_diagonal = np.all(second == second * np.eye(3), axis=(0, 2, 3))
    moments, axes = np.linalg.eigh(second)
    moments, axes = moments[..., ::-1], axes[..., ::-1].copy()
    axes[..., 2] = rot.cross(axes[..., 0], axes[..., 1])
    keeps = (is_diagonal & (n_vectors != 1))[None, :, None]  # the axes of the body, as they are
    axes = np.where(keeps[..., None], np.eye(3), axes)
    moments = np.where(keeps, np.diagonal(second, axis1=-2, axis2=-1), moments)
    return axes, np.where(moments > _NOTHING * moments.max(axis=-1, keepdims=True), moments, 0.0)


def _links(model: Model, q_start: Array, n: Array, axes: Array, A: Array, n_vectors: Array) -> Links:
    """One AFFINE link per body, at its centre of mass; what no vector tells of its attitude is as it begins.

    That is all of a point's, and of a bar in space the turn about its axis.
    """
    count, bodies = model.n_bodies, model.bodies
    back = rot.transpose(axes)
    untold = np.flatnonzero((n_vectors == 0) | ((n_vectors == 1) & (model.plane < 0))).tolist()
    worlds = max(len(back), len(A)) if untold else len(back)  # where all is told, starts that differ change no table
    rotation = np.array(np.broadcast_to(back, (worlds, count, 3, 3)))
    for b in untold:
        shown = shortest_turn(A[:, b, :, 0]) if n_vectors[b] else np.eye(3)
        rotation[:, b] = rot.multiply(rot.transpose(shown), rot.multiply(A[:, b], back[:, b]))
    number = np.arange(count, dtype=np.int32)
    second = np.zeros((1, count, 6))
    first_qd = int(model.n_qd) + np.concatenate(([0], np.cumsum(n)[:-1]))
    return Links(
        parent=np.full(count, WORLD, np.int32),
        root=number,
        kind=np.full(count, LinkKind.AFFINE, np.int32),
        joint=(model.n_joints + number).astype(np.int32),
        body=number,
        q_start=q_start[:-1].astype(np.int32),
        qd_start=first_qd.astype(np.int32),
        n_qd=n.astype(np.int32),
        rotation=np.broadcast_to(np.eye(3), (1, count, 3, 3)),
        offset=np.zeros((1, count, 3)),
        turn=np.zeros(count),
        advance=np.zeros((1, count)),
        mass=bodies.mass,
        com=np.zeros((1, count, 3)),
        inertia=_inertia(second, bodies.inertia, axes),
        body_rotation=rotation,
        body_offset=-rot.turn(rotation, bodies.com),
        tip=number,
    )


def _inertia(six: Array, inertia: Array, axes: Array) -> Array:
    """Links.inertia of the bodies in the axes of their vectors."""
    turned = rot.multiply(rot.multiply(rot.transpose(axes), inertia), axes)
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return np.stack([turned[..., i, k] for i, k in pairs], axis=-1) + six


def shortest_turn(a: Array) -> Array:
    """Rotation that brings x over the unit vectors a along the shortest way, (..., 3, 3)."""
    x, y, z = np.moveaxis(a, -1, 0)
    part = 1.0 / np.maximum(1.0 + x, 1e-300)
    rows = ((x, -y, -z), (y, 1.0 - y * y * part, -y * z * part), (z, -y * z * part, 1.0 - z * z * part))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


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
    place = dof - joints.qd_start[of] - joints.dof_dim[of, 0]  # among the turns
    turns = place >= 0
    axis = rot.turn(rot.quat_to_matrix(joints.X_p[:, of, 3:]), model.dofs.axis[:, dof])
    pitch = np.where(turns, np.where(place == 0, joints.pitch[:, of], 0.0), 1.0)
    by_position = model.motions.kind[dof] == MotionKind.POSITION
    scalar = joints.q_start[of + 1] - joints.q_start[of] == joints.dof_dim[of].sum(axis=1)
    at = np.where(scalar, joints.q_start[of] + dof - joints.qd_start[of], 0)
    start = np.where(scalar, np.nan_to_num(model.joint_q[:, at]), 0.0)
    balls = np.add.outer(balls_by_position(model.joints, model.motions), np.arange(3))
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
