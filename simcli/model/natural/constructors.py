"""Natural coordinates as a user chooses them: points and vectors of a body, and which of them describe it.

A body of M dimensions (0 a point, 1 a bar, 2 a body in a plane, 3 a body in space) has 1 + M entities, points first, of N
numbers each: 3 in space, 2 in the plane of a planar scene. The differences of its points to the first one, and its vectors,
are the columns of X in body axes; they must span the M dimensions, and need not be orthogonal. A place of the body is then
a constant combination of the entities, so that coordinates of any two bases of a body are constant combinations of each
other: solvers step those of form.py, and files hold those of the basis.

Source: Garcia de Jalon and Bayo (1994), chapters 2 to 4, in the constructors of Rible.
"""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.tables import Array

DEPENDENT = 1e-6  # least singular value of X with columns of length one, relative to the largest, of independent vectors
OFF_AXIS = 1e-9  # [m], or of a unit vector: rounding in the file
PLANAR = ("1P2V", "2P1V", "3P")
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
