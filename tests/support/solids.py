"""Solids for the ray caster, and what is inside of each, for oracles that know nothing of rays."""

import numpy as np

from simcli import rotations as rot
from simcli.kernels.rays.intersections import BALL, BOX, CAPSULE, FRUSTUM, MESH, PLANE
from simcli.kernels.rays.picture import Light
from simcli.kernels.rays.screens import Camera
from simcli.kernels.rays.solids import Solids

# (kind, radius of the top, half length, f(x) < 0 inside of the unit shape)
UNIT = {
    "ball": (BALL, 1.0, 0.0, lambda x: (x**2).sum(-1) - 1),
    "box": (BOX, 1.0, 0.0, lambda x: np.abs(x).max(-1) - 1),
    "cylinder": (FRUSTUM, 1.0, 0.0, lambda x: np.maximum(np.hypot(x[..., 0], x[..., 1]) - 1, np.abs(x[..., 2]) - 1)),
    "cone": (FRUSTUM, 0.0, 0.0, lambda x: np.maximum(np.hypot(x[..., 0], x[..., 1]) - (1 - x[..., 2]) / 2,
                                                     np.abs(x[..., 2]) - 1)),
    "frustum": (FRUSTUM, 0.4, 0.0, lambda x: np.maximum(np.hypot(x[..., 0], x[..., 1]) - (0.7 - 0.3 * x[..., 2]),
                                                   np.abs(x[..., 2]) - 1)),
    "capsule": (CAPSULE, 1.0, 2.5, lambda x: np.sqrt(x[..., 0] ** 2 + x[..., 1] ** 2
                                                     + np.maximum(np.abs(x[..., 2]) - 2.5, 0) ** 2) - 1),
    "bar": (CAPSULE, 0.6, 3.0, lambda x: np.sqrt(x[..., 0] ** 2 + x[..., 1] ** 2 + np.maximum(np.abs(x[..., 2]) - 3, 0) ** 2)
            - (0.8 - np.clip(x[..., 2], -3, 3) / 15)),
    "plane": (PLANE, 1e6, 0.0, lambda x: x[..., 2]),
}


def solid(kind, centre=(0, 0, 0), size=1.0, top=1.0, length=0.0, colour=(1, 1, 1), opacity=1.0, mesh=0, lines=0.0):
    """Columns of one solid; `size` is a map or what a diagonal one has."""
    size = np.asarray(size, float)
    return kind, size if size.ndim == 2 else np.eye(3) * size, centre, top, length, colour, opacity, mesh, lines


def solids(*rows):
    """Solids out of rows of `solid`."""
    whole = (int, float, float, float, float, float, float, int, float)
    return Solids(*(np.array(column, dtype) for column, dtype in zip(zip(*rows, strict=True), whole, strict=True))).kept()


def turned(rng):
    """A random rotation matrix."""
    q = rng.normal(size=4)
    return rot.quat_to_matrix(q / np.linalg.norm(q))


def camera_from(eye, width=160, height=120, half_height=0.35):
    """A camera that looks at the origin, z up."""
    eye = np.asarray(eye, float)
    forward = -eye / np.linalg.norm(eye)
    right = np.cross(forward, (0, 0, 1) if abs(forward[2]) < 0.99 else (0, 1, 0))
    right /= np.linalg.norm(right)
    return Camera(eye, np.stack((right, np.cross(right, forward), forward)), half_height, width, height)


def plain_light(direction=(0, 0, 1), key=1.0, around=0.0, **how):
    """Light of one colour; black behind everything."""
    grey = np.ones(3)
    direction = np.asarray(direction, float) / np.linalg.norm(direction)
    return Light(direction, np.array([0.0, 0, 1]), key * grey, around * grey, around * grey, 0 * grey, 0 * grey,
                 **{"shine": 0.0, **how})


def torus(n=24, m=12, radius=0.35):
    """Vertices and faces of a ring about z."""
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    a, b = 2 * np.pi * i / n, 2 * np.pi * j / m
    reach = 1 + radius * np.cos(b)
    vertices = np.stack((reach * np.cos(a), reach * np.sin(a), radius * np.sin(b)), axis=-1).reshape(-1, 3)

    def at(i, j):
        return i % n * m + j % m

    one = np.stack((at(i, j), at(i + 1, j), at(i + 1, j + 1)), axis=-1).reshape(-1, 3)
    other = np.stack((at(i, j), at(i + 1, j + 1), at(i, j + 1)), axis=-1).reshape(-1, 3)
    return vertices, np.concatenate((one, other))


__all__ = ["MESH", "UNIT", "camera_from", "plain_light", "solid", "solids", "torus", "turned"]
