"""The rotation vector of a rotation, and how torques pull back through it."""

from simcli.kernels.algebra.elementary import atan2, select, sincos
from simcli.kernels.algebra.values import Mat3, Vec3, quaternion_of
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import local

_SMALL_SINE = 1e-6  # of half an angle below which 2 asin(s)/s is 2
LOG_SERIES_ANGLE = 0.3  # [rad] below which a power series has less rounding, and no error beyond it


def rotation_log(R: Mat3) -> tuple[Vec3, object]:
    """Rotation vector phi of R, at most half a turn long, and the factor of [phi]^2 in J_l^-1 (see `pulled_back`)."""
    q = quaternion_of(R)
    half = Vec3(*q.parts[:3])
    sine = local(ti.sqrt(half.dot(half)))
    small = local(sine < _SMALL_SINE)
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


def change_of_pull(phi: Vec3, factor, component: Vec3, spin: Vec3) -> Vec3:
    """Rate of `pulled_back` while R turns with an angular velocity.

    With f the factor, f' = (phi . phi') g(th),   g = -2/th^4 + cot(th/2) / 2 th^3 + 1 / (2 th sin(th/2))^2
    """
    across = phi.cross(spin)
    rate = spin - across * 0.5 + phi.cross(across) * factor
    square = local(phi.dot(phi))
    small = local(square < LOG_SERIES_ANGLE**2)
    safe = select(small, square * 0.0 + 1.0, square)
    angle = local(ti.sqrt(safe))
    sine, cosine = sincos(angle * 0.5)
    series = (((square / 5987520 + 1 / 201600) * square) + 1 / 7560) * square + 1 / 360
    far = cosine / (sine * safe * angle * 2.0) + 1.0 / (safe * sine * sine * 4.0) - 2.0 / (safe * safe)
    growth = local(phi.dot(rate) * select(small, series, far))
    turned = phi.cross(component)
    changed = (rate.cross(turned) + phi.cross(rate.cross(component))) * factor
    return rate.cross(component) * 0.5 + changed + phi.cross(turned) * growth
