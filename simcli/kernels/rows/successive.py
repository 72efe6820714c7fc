"""Successive turns of a joint outside the tree, as functions of the poses of its two links.

Two or three axes e_k, each carried by the turns before it, give the relative angular velocity w = sum q_k' e_k, so that with
their dual basis D_k

    q_k' = D_k . w,    q_k'' = D_k . (w' - sum q_i' e_i'),    and an effort along q_k is the couple D_k

The first axis rests in the parent, the last one in the child. Notation: F the anchor frames in the world; a, b the sides of
parent and child; u the first axis as the child carries it.

Source: kernels.articulation.projection, whose angles these are. Deviation: on the branch nearest to the angle before, and
with rates.
"""

from simcli.kernels.algebra.elementary import atan2, nearest_turn, select
from simcli.kernels.algebra.values import Mat3, Vec3
from simcli.kernels.articulation.projection import angle_about
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import local


def successive_turn(n: int, k, near, frames: tuple[Mat3, Mat3], axes: tuple[Vec3, Vec3, Vec3],
                    spins: tuple[Vec3, Vec3], alphas: tuple[Vec3, Vec3]):
    """Angle k of n successive turns, its rate, its acceleration at qdd = 0, and the couple of a unit effort along it.

    Args:
        n: 2, or 3 for axes at right angles.
        k: 0 to n - 1.
        near: [rad], the angle before.
        frames: anchor frames of both links, world.
        axes: in anchor axes; the third one is not read if n = 2.
        spins, alphas: angular velocities and accelerations of both links, world.
    """
    e, angles = _two_turns(*frames, axes) if n == 2 else _three_turns(*frames, axes)
    scale = local(1.0 / e[0].dot(e[1].cross(e[2])))
    dual = [e[1].cross(e[2]) * scale, e[2].cross(e[0]) * scale, e[0].cross(e[1]) * scale]
    spin = spins[1] - spins[0]
    rates = [local(d.dot(spin)) for d in dual]
    carried = spins[0].cross(e[0]) * rates[0] + spins[1].cross(e[n - 1]) * rates[n - 1]
    if n == 3:
        carried = carried + (spins[0] + e[0] * rates[0]).cross(e[1]) * rates[1]
    change = alphas[1] - alphas[0] - carried
    angle, rate, couple = angles[0], rates[0], dual[0]
    for i in range(1, n):
        here = local(k == float(i))
        angle, rate = select(here, angles[i], angle), select(here, rates[i], rate)
        couple = Vec3(*(select(here, x, y) for x, y in zip(dual[i].parts, couple.parts, strict=True)))
    return nearest_turn(angle, near), rate, couple.dot(change), couple


def _two_turns(F_a: Mat3, F_b: Mat3, axes: tuple[Vec3, Vec3, Vec3]):
    """Axes, the third at right angles to both, and angles."""
    first, second = F_a * axes[0], F_b * axes[1]
    angles = [angle_about(first, F_a * axes[1], second), angle_about(second, first, F_b * axes[0])]
    return [first, second, first.cross(second)], [local(x) for x in angles]


def _three_turns(F_a: Mat3, F_b: Mat3, axes: tuple[Vec3, Vec3, Vec3]):
    """Axes and angles; the second angle is between -90 and 90 degrees."""
    first, third, last = F_a * axes[0], F_b * axes[0].cross(axes[1]), F_b * axes[2]
    middle = third.cross(first)
    length = local(ti.sqrt(middle.dot(middle)))
    angles = [angle_about(first, first.cross(F_a * axes[1]), third), atan2(first.dot(third), length),
              angle_about(last, first, F_b * axes[0])]  # fmt: skip
    return [first, middle * (1.0 / length), last], [local(x) for x in angles]


@ti.func
def successive_angle(r: ti.template(), w: ti.i32, k: ti.i32, n: ti.i32, a: ti.template(), b: ti.template(),
                     count: ti.template()):
    """Row n of pair k, one of `count` successive turns (successive.py).

    Reads:  r columns
    Writes: r.angle of row n
    """
    zero = r.items.arena.zero()
    none = Vec3(zero, zero, zero)
    axes = (none + r.on_a.load(w, n), none + r.across_a.load(w, n), none + r.on_b.load(w, n))
    frames = (a[0] * r.frame_a.load(w, k), b[0] * r.frame_b.load(w, k))
    angle, rate, bias, couple = successive_turn(count, zero + r.constant.load(w, n), r.angle.load(w, n), frames, axes,
                                                (a[1], b[1]), (a[2], b[2]))
    r.angle.store(w, n, angle)
    return angle, rate, bias, couple
