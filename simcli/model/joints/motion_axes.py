"""Motion axes of joints, and their makers: one for each way in which a joint moves.

Axes are directions in the parent anchor frame, linear ones first.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from simcli import rotations as rot

_Array = np.ndarray
_NO_DIRECTION = np.zeros((1, 3))
_NO_DIRECTION.setflags(write=False)


@dataclass(frozen=True)
class MotionAxis:
    """Motion axes of one joint, in the parent anchor frame.

    Attributes:
        linear: [1], (..., nl, 3), unit.
        angular: [1], (..., na, 3), unit; scalar angular dofs turn in the listed order, each carried by those before.
        pitch: [m/rad], (...), advance along the first angular axis.
        radius: [m], (...), of orbital joints, whose first two angular axes move the child's anchor instead of turning it;
            of a wheel that of its rim's centre line.
        tube: [m], (...), radius of the rim's section.
        normal: [1], (..., 3), unit, of the plane of a wheel or a blade.
        heading: [1], (..., 3), unit, axis of the wheel, or direction of the blade, in the child anchor frame.
    """

    linear: _Array
    angular: _Array
    pitch: _Array | float = 0.0
    radius: _Array | float = 0.0
    tube: _Array | float = 0.0
    normal: _Array = field(default_factory=lambda: _NO_DIRECTION)
    heading: _Array = field(default_factory=lambda: _NO_DIRECTION)


def dual_basis(slides: _Array, screw: _Array) -> _Array:
    """Vectors whose scalar products with a displacement are its parts along the slides of a joint and along its screw.

    Args:
        slides: [1], (..., n, 3), unit.
        screw: [1], (..., m, 3), unit, the axis along which the joint advances as it turns, in no plane of slides; m is 0
            or 1.

    Returns:
        [1], (..., n + m, 3).
    """
    if not slides.shape[-2]:
        return screw
    return np.swapaxes(np.linalg.pinv(np.concatenate((slides, screw), axis=-2)), -1, -2)


def _no_axes() -> _Array:
    return np.zeros((0, 3))


def no_motion(**_: _Array) -> MotionAxis:
    """Motion of a joint without degrees of freedom."""
    return MotionAxis(_no_axes(), _no_axes())


def slide_along(axis: _Array, **_: _Array) -> MotionAxis:
    """Motion along an axis."""
    return MotionAxis(axis[..., None, :], _no_axes())


def hinge(axis: _Array, **_: _Array) -> MotionAxis:
    """Motion about an axis."""
    return MotionAxis(_no_axes(), axis[..., None, :])


def twist_along(axis: _Array, pitch: _Array, **_: _Array) -> MotionAxis:
    """Motion about an axis with an advance along it."""
    return MotionAxis(_no_axes(), axis[..., None, :], pitch)


def slide_and_turn(axis: _Array, **_: _Array) -> MotionAxis:
    """Motion along and about one axis."""
    return MotionAxis(axis[..., None, :], axis[..., None, :])


def glide(axis: _Array, **_: _Array) -> MotionAxis:
    """Motion in the plane that has the axis as its normal; its x and y are those of `frame_along`."""
    frame = rot.transpose(rot.frame_along(axis))
    return MotionAxis(frame[..., :2, :], axis[..., None, :])


def along_and_about(linear: _Array, angular: _Array, **_: _Array) -> MotionAxis:
    """Motion along and about the listed axes."""
    return MotionAxis(linear, angular)


def all_turns(**_: _Array) -> MotionAxis:
    """Motion about a point."""
    return MotionAxis(_no_axes(), np.eye(3))


def everything(**_: _Array) -> MotionAxis:
    """Motion without restriction."""
    return MotionAxis(np.eye(3), np.eye(3))


def on_plane_axes(
    axis: _Array, normal: _Array, radius: _Array | float = 0.0, tube: _Array | float = 0.0, **_: _Array
) -> MotionAxis:
    """Motion of a wheel or a blade on a plane, of which constraint equations take some."""
    return MotionAxis(np.eye(3), np.eye(3), radius=radius, tube=tube, normal=normal, heading=axis)


def composed(n_linear: int, n_angular: int, orbits: bool = False) -> Callable[..., MotionAxis]:
    """Maker of the motion of a translation part and a rotation part about one normal n, in the frame (t, b, n) of it.

    Args:
        n_linear: directions in which the anchor moves: along n; in the plane of t and b; any.
        n_angular: turns: about n; about t of the parent and b of the child; any.
        orbits: the anchor moves on a sphere: by longitude about n, from t, and latitude towards n.

    Returns:
        Function of axis [1], (..., 3) and radius [m].
    """

    def make(axis: _Array | None = None, radius: _Array | float = 0.0, **_: _Array) -> MotionAxis:
        every = np.eye(3)
        if axis is None:
            return MotionAxis(every[:n_linear], every[:n_angular])
        t, b, n = (frame_axis[..., None, :] for frame_axis in np.moveaxis(rot.frame_along(axis), -1, 0))
        every = np.broadcast_to(every, (*axis.shape[:-1], 3, 3))
        few = n[..., :0, :]
        linear = (few, n, np.concatenate((t, b), axis=-2), every)[n_linear]
        angular = (few, n, np.concatenate((t, b), axis=-2), every)[n_angular]
        if orbits:
            angular = np.concatenate((n, -b, angular), axis=-2)
        return MotionAxis(linear, angular, radius=radius)

    return make
