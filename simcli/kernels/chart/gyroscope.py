"""How a body turns in a step of first order: the mean angular velocity of a motion that nothing holds.

With L the angular momentum of a body where a step begins, and all that torques add to it in the step, the mean spin m obeys

    I m + h/2 m x I m = L                                in axes that stand, I where the step begins

and the body turns by Cayley's map of h m, an angle 2 atan(h |m| / 2) about m. Where the step ends the angular velocity is
that of the momentum there, I(q+) w+ = L. Without torques L and w . I w / 2 stay what they are, for any step: with M the
momentum in axes of the body, M+ - M = -h m x (M + M+) / 2 with I m = (M + M+) / 2, a midpoint rule, which keeps both.

Where other bodies or joints answer, the end of the step has the velocity that moved it, w+ = 2 m - w: as to its own axes,
the midpoint rule of Euler's equations, which keeps |I w| and w . I w / 2.

The explicit torque -w x I w feeds energy to what spins fast, as h |I w x w|^2 / 2 over its inertia a second; that of the
end of a step takes as much.

Source: Simo and Wong (1991), momentum and energy of rotations. Deviation: torques act where the step begins.
"""

from simcli.kernels.algebra.elementary import polynomial, select_parts
from simcli.kernels.algebra.values import Mat3, Sym3, Vec3
from simcli.kernels.complementarity.newton import inverse
from simcli.kernels.memory.arena import local

_ROUNDS = 3  # of Newton's method with the first slope, each better by the square of the turn in a step
# atan(y) / y = (945 + 735 y^2 + 64 y^4) / (945 + 1050 y^2 + 225 y^4) to y^10 / 100: Pade (1892)
_ARC = (945.0, 735.0, 64.0), (945.0, 1050.0, 225.0)


def mean_spin(inertia: Sym3, momentum: Vec3, spin: Vec3, h) -> Vec3:
    """[rad/s], the mean spin m of a step, I m + h/2 m x I m = L, by Newton's method from the spin where it begins.

    All is taken in the trace of I, because the determinant of that of a small body, 1e-39 of 1e-13 kg m^2, is no number of
    float32. A step in which the method does not come nearer keeps the spin that it begins with.

    Args:
        inertia: [kg m^2], in axes that stand.
        momentum: [kg m^2/s].
        spin: [rad/s], where the step begins.
        h: [s], step.
    """
    xx, yy, zz = inertia.parts[:3]
    unit = local(1.0 / (xx + yy + zz))
    I_w, aim = inertia * unit, momentum * unit
    half = local(h * 0.5 + xx * 0.0)
    slope = inverse(_slope(I_w, spin, half))
    lack = _lack(I_w, spin, aim, half)
    first, found = lack.dot(lack), spin - slope * lack
    for _ in range(_ROUNDS - 1):
        found = found - slope * _lack(I_w, found, aim, half)
    last = _lack(I_w, found, aim, half)
    return select_parts(last.dot(last) < first, found, spin)


def _lack(I_w: Sym3, m: Vec3, aim: Vec3, half) -> Vec3:
    """I m + h/2 m x I m - L."""
    carried = I_w * m
    return carried + m.cross(carried) * half - aim


def _slope(I_w: Sym3, m: Vec3, half) -> Mat3:
    """I + h/2 ([m] I - [I m])."""
    zero = half * 0.0
    carried = I_w * m
    axes = [Vec3(*(zero + float(n == k) for n in range(3))) for k in range(3)]
    columns = [I_w * axis + (m.cross(I_w * axis) - carried.cross(axis)) * half for axis in axes]
    return Mat3(*(column.parts[k] for k in range(3) for column in columns))


def cayley_rate(m: Vec3, h) -> Vec3:
    """[rad/s], the angular velocity that turns in a step h as Cayley's map of h m: m 2 atan(h |m| / 2) / (h |m|)."""
    square = local(m.dot(m) * (h * h * 0.25))
    above, below = (polynomial(square, terms) for terms in _ARC)
    return m * local(above / below)
