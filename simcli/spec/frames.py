"""Poses in pure Python, for the few that the spec must compute."""

from typing import NamedTuple

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


class Pose(NamedTuple):
    """Position [m] and unit quaternion x y z w of a frame in another."""

    xyz: Vector = (0.0, 0.0, 0.0)
    quat: Quaternion = (0.0, 0.0, 0.0, 1.0)


def cross(a: Vector, b: Vector) -> Vector:
    """Cross product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def dot(a: Vector, b: Vector) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def rotate(quat: Quaternion, v: Vector) -> Vector:
    """Turn a vector by a unit quaternion."""
    u, w = quat[:3], quat[3]
    t = cross(u, v)
    t = (2 * t[0], 2 * t[1], 2 * t[2])
    c = cross(u, t)
    return (v[0] + w * t[0] + c[0], v[1] + w * t[1] + c[1], v[2] + w * t[2] + c[2])


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Product of two quaternions: first b, then a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def transform(pose: Pose, point: Vector) -> Vector:
    """A point of the posed frame, in the outer frame."""
    turned = rotate(pose.quat, point)
    return tuple(a + b for a, b in zip(pose.xyz, turned, strict=True))


def compose(outer: Pose, inner: Pose) -> Pose:
    """The inner pose seen from outside; exact where the outer one is the identity."""
    if outer == _IDENTITY:
        return inner
    return Pose(transform(outer, inner.xyz), multiply(outer.quat, inner.quat))


_IDENTITY = Pose()
