"""Which points and vectors describe each body of a scene for the natural solver, and their values at poses."""

import numpy as np

from simcli import rotations as rot
from simcli.model.batch.gather import Worlds
from simcli.model.natural.constructors import LETTERS, SLENDER, Basis, complain, constructor_counts, in_plane
from simcli.model.natural.tables import Naturals
from simcli.model.tables import Array, Model
from simcli.model.tree.links import stack_worlds

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
        names = [*(spec.points if spec and spec.points else [f"p{k}" for k in range(n_points)]),
                 *LETTERS[n_points - 1 : n_points - 1 + n_vectors]]  # fmt: skip
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
