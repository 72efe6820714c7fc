"""Natural coordinates as a user chooses them: points and vectors of a body, and all that is constant with them.

A body of M dimensions (0 a point, 1 a bar, 2 a body in a plane, 3 a body in space) has 1 + M entities, points first, of N
numbers each: 3 in space, 2 in the plane of a planar scene. With the differences of its points to the first one, and its
vectors, as columns of X in body axes, a place r of the body is a constant combination of the entities,

    x(r) = sum_k w_k q_k      w = (1, c) B,  c = X^+ (r - r_1),  B takes points to differences

so that the mass matrix M (x) E_N is constant, rigidity is M (M + 1) / 2 quadratic rows with constant Hessians, and the
coordinates of any two constructors of a body are constant combinations of each other. X need not be orthogonal.

Source: Garcia de Jalon and Bayo (1994), chapters 2 to 4, in the constructors of Rible. Deviation: the second moments of a
planar body are half its inertia about the normal in each direction; only their sum moves anything.
"""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.links import stack_worlds
from simcli.model.tables.form_tables import Naturals
from simcli.model.tables.model import Array, Model
from simcli.model.tables.worlds import Worlds

DEPENDENT = 1e-6  # least singular value of X with columns of length one, relative to the largest, of independent vectors
OFF_AXIS = 1e-9  # [m], or of a unit vector: rounding in the file
PLANAR = ("1P2V", "2P1V", "3P")
SLENDER = ("1P1V", "2P", "1P")
LETTERS = "uvw"
PAIRS = {0: (), 1: ((0, 0),), 2: ((0, 0), (1, 1), (0, 1)), 3: ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))}


def constructor_counts(kind: str) -> tuple[int, int]:
    """Numbers of points and vectors of a kind, as 2 and 2 of `2P2V`."""
    points, _, vectors = kind.partition("P")
    return int(points), int(vectors[:-1] or 0)


def in_plane(plane: int) -> Array:
    """Axes of the world in which entities have numbers, as rows, (N, 3); plane: index of the normal, -1 in space."""
    return np.delete(np.eye(3), plane, axis=0) if plane >= 0 else np.eye(3)


@dataclass(frozen=True)
class Basis:
    """Points and vectors that describe one body.

    Attributes:
        kind: as `2P2V`.
        points: [m], (..., P, 3), body frame.
        vectors: [m], (..., V, 3), body axes.
        plane: index of the normal of a planar scene, -1 in space.
    """

    kind: str
    points: Array
    vectors: Array
    plane: int = -1

    @property
    def n_dims(self) -> int:
        """M."""
        return self.points.shape[-2] + self.vectors.shape[-2] - 1

    @property
    def axes(self) -> Array:
        """(N, 3), see `in_plane`."""
        return in_plane(self.plane)

    @property
    def differences(self) -> Array:
        """X as columns, [m], (..., N, M)."""
        columns = np.concatenate((self.points[..., 1:, :] - self.points[..., :1, :], self.vectors), axis=-2)
        return np.swapaxes(columns @ self.axes.T, -1, -2)

    @property
    def lengths(self) -> Array:
        """Of the columns of X, [m], (..., 1, M); 1 of those that are none."""
        found = np.linalg.norm(self.differences, axis=-2, keepdims=True)
        return np.where(found > 0.0, found, 1.0)

    @property
    def inverse(self) -> Array:
        """X^+, [1/m], (..., M, N), at the same precision whatever the lengths of the columns are."""
        return np.linalg.pinv(self.differences / self.lengths) / np.swapaxes(self.lengths, -1, -2)

    @property
    def standard(self) -> Array:
        """B, [1], (1 + M, 1 + M): first point, differences and vectors from the entities."""
        B = np.eye(1 + self.n_dims)
        B[1 : self.points.shape[-2], 0] = -1.0
        return B


def weights(basis: Basis, place: Array) -> Array:
    """w, [1], (..., 1 + M), of a place [m], (..., 3), body frame."""
    gap = (place - basis.points[..., 0, :]) @ basis.axes.T
    c = (basis.inverse @ gap[..., None])[..., 0]
    return np.concatenate((np.ones((*c.shape[:-1], 1)), c), axis=-1) @ basis.standard


def coordinates(basis: Basis, pose: Array) -> Array:
    """The coordinates q of a body: its points, then its vectors.

    Args:
        basis: leading axes as those of the pose, or none.
        pose: [m, 1], (..., 7), of the body frame, world.

    Returns:
        [m], (..., N (1 + M)).
    """
    R = rot.quat_to_matrix(pose[..., 3:])[..., None, :, :]
    points = pose[..., None, :3] + rot.turn(R, basis.points)
    vectors = np.broadcast_to(rot.turn(R, basis.vectors), (*points.shape[:-2], basis.vectors.shape[-2], 3))
    entities = np.concatenate((points, vectors), axis=-2) @ basis.axes.T
    return entities.reshape(*entities.shape[:-2], -1)


def rates(basis: Basis, com: Array, pose: Array, twist: Array) -> Array:
    """Rates of the coordinates, (..., N (1 + M)).

    Args:
        basis: as of `coordinates`.
        com: [m], (..., 3), centre of mass, body frame.
        pose: [m, 1], (..., 7).
        twist: [m/s, rad/s], (..., 6), velocity of the centre of mass and angular velocity, world.
    """
    R, w = rot.quat_to_matrix(pose[..., 3:])[..., None, :, :], twist[..., None, 3:]
    points = twist[..., None, :3] + rot.cross(w, rot.turn(R, basis.points - com[..., None, :]))
    vectors = rot.cross(w, rot.turn(R, basis.vectors))
    entities = np.concatenate((points, vectors), axis=-2) @ basis.axes.T
    return entities.reshape(*entities.shape[:-2], -1)


def second_moments(basis: Basis, inertia: Array) -> Array:
    """J about the centre of mass along the axes of the entities, [kg m^2], (..., N, N), from the inertia in body axes."""
    n = len(basis.axes)
    about = inertia[..., basis.plane, basis.plane, None, None]
    second = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - inertia
    if basis.n_dims == 1:
        along = rot.unit(basis.differences[..., 0])
        outer = along[..., :, None] * along[..., None, :]
        return outer * (about if basis.plane >= 0 else (along * rot.turn(second, along)).sum(axis=-1)[..., None, None])
    return 0.5 * about * np.eye(n) if basis.plane >= 0 else second


def mass_matrix(basis: Basis, mass: Array, com: Array, inertia: Array) -> Array:
    """The constant mass matrix of the coordinates.

    Args:
        basis: of the body.
        mass: [kg], (...).
        com: [m], (..., 3), body frame.
        inertia: [kg m^2], (..., 3, 3), about the centre of mass, body axes; what a bar or point ignores is not read.

    Returns:
        [kg], (..., N (1 + M), N (1 + M)), singular for flat bodies.
    """
    B, n = basis.standard, len(basis.axes)
    back = basis.inverse
    a = (back @ ((com - basis.points[..., 0, :]) @ basis.axes.T)[..., None])[..., 0]
    mass = np.asarray(mass, float)[..., None, None]
    z = back @ second_moments(basis, inertia) @ np.swapaxes(back, -1, -2)
    one_a = np.concatenate((np.ones((*a.shape[:-1], 1)), a), axis=-1)
    small = mass * one_a[..., :, None] * one_a[..., None, :]
    small[..., 1:, 1:] += z
    return np.kron(B.T @ small @ B, np.eye(n))


def rigidity_hessians(basis: Basis) -> Array:
    """Constant Hessians of the intrinsic constraints, [1], (K, N (1 + M), N (1 + M)), K = M (M + 1) / 2."""
    B, n, size = basis.standard, len(basis.axes), 1 + basis.n_dims
    out = []
    for i, j in PAIRS[basis.n_dims]:
        pick = np.zeros((size, size))
        pick[1 + i, 1 + j] += 1.0
        pick[1 + j, 1 + i] += 1.0
        out.append(np.kron(B.T @ pick @ B, np.eye(n)))
    return np.array(out).reshape(-1, n * size, n * size)


def rigidity(basis: Basis, q: Array) -> tuple[Array, Array]:
    """Intrinsic constraints u_i . u_j - X_i . X_j at coordinates q, (K,) [m^2], and their Jacobian, (K, N (1 + M)) [m]."""
    jacobian = rigidity_hessians(basis) @ q
    X = basis.differences
    reference = [X[..., i] @ X[..., j] for i, j in PAIRS[basis.n_dims]]
    return 0.5 * jacobian @ q - np.array(reference), jacobian


def complain(basis: Basis, com: Array, inertia: Array) -> str:
    """What is wrong with a basis, in words; empty if nothing is. All arrays have a leading world axis.

    Args:
        basis: of the body.
        com: [m], (W, 3).
        inertia: [kg m^2], (W, 3, 3).
    """
    points, X = basis.points, basis.differences
    entities = np.concatenate((points, basis.vectors), axis=-2)
    if basis.plane >= 0 and np.abs(entities[..., basis.plane]).max() > OFF_AXIS * max(1.0, np.abs(entities).max()):
        return "has points or vectors out of the plane"
    reach = np.abs(points - com[..., None, :]).max()
    scale = max(reach, 1e-3)
    if basis.n_dims == 0:
        return "is a point that is not at its centre of mass" if reach > OFF_AXIS else ""
    apart = np.linalg.norm(points[..., :, None, :] - points[..., None, :, :], axis=-1)
    if apart[..., ~np.eye(points.shape[-2], dtype=bool)].min(initial=1.0) < OFF_AXIS * scale:
        return "has two points at one place"
    values = np.linalg.svd(X / basis.lengths, compute_uv=False)
    if (values[..., -1] <= DEPENDENT * values[..., 0]).any():
        return "has dependent points and vectors: they do not span its dimensions"
    if basis.n_dims == 1:
        along = rot.unit(np.concatenate((points[..., 1:, :] - points[..., :1, :], basis.vectors), axis=-2)[..., 0, :])
        if np.linalg.norm(rot.cross(com - points[..., 0, :], along), axis=-1).max() > OFF_AXIS * scale:
            return "is a bar whose centre of mass is off its axis"
        spin = rot.turn(inertia, along)
        if basis.plane < 0 and np.linalg.norm(spin, axis=-1).max() > 1e-6 * np.abs(inertia).max():
            return "is a bar with inertia about its axis, or about other axes than those across it"
    return ""


_AXES = "xyz"


def read_naturals(worlds: Worlds, model: Model) -> Naturals:
    """The table of a scene; faults are noted by the name of the body.

    What is not written: the points are the origin of the body, of bars and points the centre of mass, and others 1 m from it
    along x, y, z of the body; the vectors complete the differences of the points to a right-handed frame at right angles.

    Args:
        worlds: the scenes.
        model: mass properties.

    Returns:
        The table.
    """
    label, body, is_point, place = [], [], [], []
    for b, name in enumerate(model.bodies.name):
        spec = worlds.first.bodies[name].natural
        kind = spec.kind if spec else "1P3V" if model.plane < 0 else "1P2V"
        basis = _basis(worlds, model, b, kind)
        words = complain(basis, model.bodies.com[:, b], model.bodies.inertia[:, b])
        if words:
            path = f"bodies.{name}.natural" if spec else f"bodies.{name}"
            worlds.fault("SC469", path, f"body `{name}` {words}", "change its points and vectors, or its kind")
        n_points, n_vectors = constructor_counts(kind)
        names = [
            *(spec.points if spec and spec.points else [f"p{k}" for k in range(n_points)]),
            *LETTERS[n_points - 1 : n_points - 1 + n_vectors],
        ]
        shown = [axis for k, axis in enumerate(_AXES) if k != model.plane]
        label += [f"{name}:{kind}.{entity}.{axis}" for entity in names for axis in shown]
        body += [b] * len(names)
        is_point += [True] * n_points + [False] * n_vectors
        place += [*np.moveaxis(basis.points, -2, 0), *np.moveaxis(basis.vectors, -2, 0)]
    return Naturals(tuple(label), np.array(body, np.int32), np.array(is_point, bool), stack_worlds(place, (3,)))


def _basis(worlds: Worlds, model: Model, b: int, kind: str) -> Basis:
    """Points and vectors of one body as written, or as they are by themselves."""
    name, n = model.bodies.name[b], constructor_counts(kind)
    spec = worlds.first.bodies[name].natural
    frame = np.roll(np.eye(3), -(model.plane + 1), axis=0) if model.plane >= 0 else np.eye(3)
    com, slender = model.bodies.com[:, b], kind in SLENDER
    if slender and model.plane < 0:
        frame = np.linalg.eigh(model.bodies.inertia[:, b])[1].swapaxes(-1, -2)  # the axis of least inertia first
    frame = np.broadcast_to(frame, (len(com), 3, 3))
    if spec and spec.points:
        points = worlds.numbers(lambda s: [s.bodies[name].places[p] for p in s.bodies[name].natural.points], (n[0], 3))
    else:
        first = (com if slender else 0.0 * com)[:, None]
        points = np.concatenate((first, first + frame[:, : n[0] - 1]), axis=1)
    if spec and spec.vectors:
        vectors = worlds.numbers(lambda s: s.bodies[name].natural.vectors, (n[1], 3))
    else:
        vectors = _completed(points, frame, n[1], model.plane)
    lead = max(len(points), len(vectors))
    points, vectors = (np.broadcast_to(a, (lead, *a.shape[1:])) for a in (points, vectors))
    return Basis(kind, points, vectors, model.plane)


def _completed(points: Array, frame: Array, n: int, plane: int) -> Array:
    """Vectors that complete the differences of points, (W|1, n, 3)."""
    if n == 0:
        return np.zeros((1, 0, 3))
    known = points[:, 1:] - points[:, :1]
    if not known.shape[1]:
        return frame[:, :n]
    u = known[:, 0]
    if plane >= 0:
        return rot.cross(np.eye(3)[plane], u)[:, None]
    if known.shape[1] == 2:
        return rot.cross(u, known[:, 1])[:, None]
    length = np.maximum(np.linalg.norm(u, axis=-1), np.finfo(float).tiny)[:, None]
    across = rot.frame_along(u / length)
    return np.stack((length * across[..., 0], length * across[..., 1]), axis=1)


def natural_q(model: Model, body_q: Array) -> Array:
    """The coordinates of all bodies at poses.

    Args:
        model: with the table.
        body_q: [m, 1], (..., W, B, 7).

    Returns:
        [m], (..., W, NG), as labelled.
    """
    table = model.naturals
    pose = body_q[..., table.body, :]
    shown = rot.turn(rot.quat_to_matrix(pose[..., 3:]), table.place) + table.is_point[:, None] * pose[..., :3]
    shown = shown @ in_plane(model.plane).T
    return shown.reshape(*shown.shape[:-2], -1)
