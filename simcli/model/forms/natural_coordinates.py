"""Natural coordinates as a user chooses them: points and vectors of a body.

A body of M dimensions (0 a point, 1 a bar, 2 a body in a plane, 3 a body in space) has 1 + M entities, points first, of N
numbers each: 3 in space, 2 in the plane of a planar scene. With the differences of its points to the first one, and its
vectors, as columns of X in body axes, a place of the body is a constant combination of the entities, and the coordinates of
any two constructors of a body are constant combinations of each other. X need not be orthogonal.

Source: Garcia de Jalon and Bayo (1994), chapters 2 to 4, in the constructors of Rible. No deviation.
"""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.links import stack_worlds
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.form_tables import Naturals
from simcli.model.tables.model import Array, Model
from simcli.model.tables.worlds import Worlds

DEPENDENT = 1e-6  # least singular value of X with columns of length one, relative to the largest, of independent vectors
OFF_AXIS = 1e-9  # [m], or of a unit vector: rounding in the file
SLENDER = ("1P1V", "2P", "1P")
LETTERS = "uvw"


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
        points: [m], (..., P, 3), body frame.
        vectors: [m], (..., V, 3), body axes.
        plane: index of the normal of a planar scene, -1 in space.
    """

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


def read_naturals(worlds: Worlds, bodies: Bodies, plane: int) -> Naturals:
    """The table of a scene; faults are noted by the name of the body.

    What is not written: the points are the origin of the body, of bars and points the centre of mass, and others 1 m from it
    along x, y, z of the body; the vectors complete the differences of the points to a right-handed frame at right angles.

    Args:
        worlds: the scenes.
        bodies: mass properties.
        plane: as of `Model`.

    Returns:
        The table.
    """
    label, body, is_point, place = [], [], [], []
    for b, name in enumerate(bodies.name):
        spec = worlds.first.bodies[name].natural
        kind = spec.kind if spec else "1P3V" if plane < 0 else "1P2V"
        basis = _basis(worlds, bodies, plane, b, kind)
        words = complain(basis, bodies.com[:, b], bodies.inertia[:, b])
        if words:
            path = f"bodies.{name}.natural" if spec else f"bodies.{name}"
            worlds.fault("SC469", path, f"body `{name}` {words}", "change its points and vectors, or its kind")
        n_points, n_vectors = constructor_counts(kind)
        names = [
            *(spec.points if spec and spec.points else [f"p{k}" for k in range(n_points)]),
            *LETTERS[n_points - 1 : n_points - 1 + n_vectors],
        ]
        shown = [axis for k, axis in enumerate(_AXES) if k != plane]
        label += [f"{name}:{kind}.{entity}.{axis}" for entity in names for axis in shown]
        body += [b] * len(names)
        is_point += [True] * n_points + [False] * n_vectors
        place += [*np.moveaxis(basis.points, -2, 0), *np.moveaxis(basis.vectors, -2, 0)]
    return Naturals(tuple(label), np.array(body, np.int32), np.array(is_point, bool), stack_worlds(place, (3,)))


def _basis(worlds: Worlds, bodies: Bodies, plane: int, b: int, kind: str) -> Basis:
    """Points and vectors of one body as written, or as they are by themselves."""
    name, n = bodies.name[b], constructor_counts(kind)
    spec = worlds.first.bodies[name].natural
    frame = np.roll(np.eye(3), -(plane + 1), axis=0) if plane >= 0 else np.eye(3)
    com, slender = bodies.com[:, b], kind in SLENDER
    if slender and plane < 0:
        frame = np.linalg.eigh(bodies.inertia[:, b])[1].swapaxes(-1, -2)  # the axis of least inertia first
    frame = np.broadcast_to(frame, (len(com), 3, 3))
    if spec and spec.points:
        points = worlds.numbers(lambda s: [s.bodies[name].places[p] for p in s.bodies[name].natural.points], (n[0], 3))
    else:
        first = (com if slender else 0.0 * com)[:, None]
        points = np.concatenate((first, first + frame[:, : n[0] - 1]), axis=1)
    if spec and spec.vectors:
        vectors = worlds.numbers(lambda s: s.bodies[name].natural.vectors, (n[1], 3))
    else:
        vectors = _completed(points, frame, n[1], plane)
    lead = max(len(points), len(vectors))
    points, vectors = (np.broadcast_to(a, (lead, *a.shape[1:])) for a in (points, vectors))
    return Basis(points, vectors, plane)


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
