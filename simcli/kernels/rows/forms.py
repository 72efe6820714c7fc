"""What rows of each form measure, in the world, of the gap between two points and the turning of two links.

    ALONG  d.g      (d.g)' = d.g' + d'.g      (d.g)'' = d.g'' + 2 d'.g' + d''.g       g = x_B - x_A
    DOT    d_A.d_B  likewise; its couple is d_B x d_A
    APART  (g.g - c^2) / 2c;  LENGTH |g|;  TURN: angle, couple d;  PITCH: ALONG - p TURN
    SPIN   component of log(R_A^T R_B);  ROLL: rate d.w alone;  CARDAN, EULER: successive.py

What moves is given with its first and second derivative, (x, x', x''), the second one at qdd = 0; a and b, the sides of
parent and child, as (R, w, w'). Forms return residual, rate, bias, and the force or the couple of a unit multiplier.
"""

from simcli.kernels.algebra.elementary import atan2, nearest_turn
from simcli.kernels.algebra.rotation_log import change_of_pull, pulled_back, rotation_log
from simcli.kernels.algebra.values import Mat3, Vec3
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import local

TINY_LENGTH = 1e-12  # [m] below, two points have no direction


def meet(d: Vec3, gap: tuple, constant):
    """The gap along a direction that rests."""
    return local(d.dot(gap[0]) - constant), d.dot(gap[1]), d.dot(gap[2]), d


def stay_apart(gap: tuple, constant):
    """The square of the gap, as a length near that which it shall have."""
    force = gap[0] * (1.0 / constant)
    residual = (gap[0].dot(gap[0]) / constant - constant) * 0.5
    return residual, force.dot(gap[1]), gap[1].dot(gap[1]) / constant + force.dot(gap[2]), force


def length_of(gap: tuple):
    """The length of the gap."""
    length, rate, along = length_along(*gap[:2])
    return length, rate, (gap[1].dot(gap[1]) - rate * rate) / ti.max(length, TINY_LENGTH) + along.dot(gap[2]), along


def length_along(gap: Vec3, change: Vec3):
    """Length of a gap, the rate of it, and the direction of the gap: none where it has no length.

    Args:
        change: rate of the gap.
    """
    length = local(ti.sqrt(gap.dot(gap)))
    along = gap * (1.0 / local(ti.max(length, TINY_LENGTH)))
    return length, along.dot(change), along


def component_along(d: Vec3, a: tuple, gap: tuple, constant):
    """The gap along a direction of A."""
    residual, rate, bias = _product(gap, _carried(d, a))
    return residual - constant, rate, bias, d


def product_of_directions(d_a: Vec3, a: tuple, d_b: Vec3, b: tuple, constant):
    """The scalar product of a direction of A and one of B."""
    residual, rate, bias = _product(_carried(d_a, a), _carried(d_b, b))
    return residual - constant, rate, bias, d_b.cross(d_a)


def _carried(d: Vec3, side: tuple) -> tuple[Vec3, Vec3, Vec3]:
    """A direction of a link, with its derivatives: d' = w x d,  d'' = w' x d + w x d'."""
    _R, spin, alpha = side
    rate = spin.cross(d)
    return d, rate, alpha.cross(d) + spin.cross(rate)


def _product(x: tuple, y: tuple):
    """The scalar product of two vectors that move, with its derivatives."""
    return x[0].dot(y[0]), x[1].dot(y[0]) + x[0].dot(y[1]), x[2].dot(y[0]) + x[1].dot(y[1]) * 2.0 + x[0].dot(y[2])


def turn_about(d: Vec3, a: tuple, b: tuple):
    """Rate and bias of the turn of B against A about a direction of A."""
    relative = b[1] - a[1]
    return d.dot(relative), d.dot(b[2] - a[2]) + relative.dot(a[1].cross(d))


def component_of_log(F_a: Mat3, F_b: Mat3, a: tuple, b: tuple, component: Vec3):
    """A component of the rotation vector from the frame of A to that of B."""
    log, factor = rotation_log(F_a.T * F_b)
    couple = F_a * pulled_back(log, factor, component)
    relative = b[1] - a[1]
    seen = F_a.T * relative
    bias = couple.dot(b[2] - a[2] - a[1].cross(relative))
    bias = bias + change_of_pull(log, factor, component, seen).dot(seen)
    return log.dot(component), couple.dot(relative), bias, couple


def angle_near(d: Vec3, across_a: Vec3, across_b: Vec3, near):
    """[rad], the turn about d that brings across_a over across_b, on the branch nearest to a known angle."""
    return nearest_turn(atan2(d.cross(across_a).dot(across_b), across_a.dot(across_b)), near)
