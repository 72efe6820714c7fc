"""The rotation vector of a rotation, and how torques pull back through it."""

import taichi as ti

from simcli.kernels.elementary import atan2, select
from simcli.kernels.report import quaternion_of
from simcli.kernels.runtime import local
from simcli.kernels.values import Mat3, Vec3

SMALL_SINE = 1e-6  # of half an angle below which 2 asin(s)/s is 2


def rotation_log(R: Mat3) -> tuple[Vec3, object]:
    """Rotation vector phi of R, at most half a turn long, and the factor of [phi]^2 in J_l^-1 (see `pulled_back`)."""
    q = quaternion_of(R)
    half = Vec3(*q.parts[:3])
    sine = local(ti.sqrt(half.dot(half)))
    small = local(sine < SMALL_SINE)
    angle = local(2.0 * atan2(sine, q.parts[3]))
    safe = select(small, sine * 0.0 + 1.0, sine)
    phi = half * select(small, sine * 0.0 + 2.0, angle / safe)
    theta = select(small, sine * 0.0 + 1.0, angle)
    factor = select(small, sine * 0.0 + 1.0 / 12.0, (1.0 - theta * q.parts[3] / (safe * 2.0)) / (theta * theta))
    return phi, factor


def pulled_back(phi: Vec3, factor, component: Vec3) -> Vec3:
    """J_l^-T component: what a covector on the rotation vector is as a couple against the angular velocity.

    J_l^-1 = E - [phi]/2 + (1/th^2 - (1 + cos th) / (2 th sin th)) [phi]^2,   phi' = J_l^-1 w
    """
    turned = phi.cross(component)
    return component + turned * 0.5 + phi.cross(turned) * factor
