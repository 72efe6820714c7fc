"""Rotations over a step: the retraction of joint coordinates along rates, and how a body turns in a step of first order.

The retraction keeps rotations what they are. In a step of first order a body turns by the mean angular velocity of a motion
that nothing holds. With L the angular momentum of a body where a step begins, and all that torques add to it in the step,
the mean spin m obeys

    I m + s m x I m = L    s = tan(h |m| / 2) / |m|      in axes that stand, I where the step begins

and the body turns by h m, which is Cayley's map of 2 s m. Where the step ends the angular velocity is that of the momentum
there, I(q+) w+ = L. Without torques L and w . I w / 2 stay what they are, for any s: with M the momentum in axes of the
body, M+ - M = -s m x (M + M+) with I m = (M + M+) / 2, a midpoint rule, which keeps both. With that s what spins about an
axis of inertia has m = w, so that a wheel that rolls without slip touches with the velocity that its momentum has, too. In
a step a body turns by 2 rad at most.

Where other bodies or joints answer, s is h/2, and the end of the step has the velocity that moved it, w+ = 2 m - w: as to
its own axes, the midpoint rule of Euler's equations, which keeps |I w| and w . I w / 2.

The explicit torque -w x I w feeds energy to what spins fast, as h |I w x w|^2 / 2 over its inertia a second; that of the
end of a step takes as much.

Source: Simo and Wong (1991), momentum and energy of rotations. Deviation: torques act where the step begins.
"""

from simcli.kernels.articulation.kinematics import (
    AFFINE,
    BALL,
    FREE,
    HELIX,
    quaternion_at,
    raw_quaternion,
    store_vector,
    vector_at,
)
from simcli.kernels.complementarity.newton import inverse
from simcli.kernels.device.arena import local
from simcli.kernels.device.model_tables import links_of_part
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import exp_rotation, normalized, polynomial, select_parts
from simcli.kernels.language.values import Mat3, Quat, Sym3, Vec3


@ti.func
def retract(t: ti.template(), q_from: ti.template(), q_to: ti.template(), rate: ti.template(), w: ti.i32, h: ti.template()):
    """Move joint coordinates along rates for a time h: q_to = q_from (+) h rate.

    Scalars add; rotations take the exponential of h w (w in the parent anchor frame, so it multiplies from the left); a
    free body's centre of mass moves by h v, and its anchor follows. Natural coordinates add.

    Reads:  t links, q_from (NQ), rate (NV)
    Writes: q_to (NQ) of tree joints
    """
    begin, end = links_of_part(t, w)
    for i in range(begin, end):
        kind = t.kind.at(i)
        start = t.link_q.at(i)
        d = t.link_qd.at(i)
        if ti.static(t.has_helix):
            if kind == HELIX:
                q_to.store(w, start, q_from.load(w, start) + rate.load(w, d) * h)
        if ti.static(t.has_ball):
            if kind == BALL:
                q = raw_quaternion(q_from, w, start)
                store_quaternion(q_to, w, start, normalized(exp_rotation(vector_at(rate, w, d) * h).times(q)))
        if ti.static(t.has_free):
            if kind == FREE:
                q = quaternion_at(q_from, w, start + 3)
                turned = normalized(exp_rotation(vector_at(rate, w, d + 3) * h).times(q))
                com = t.com.load(w, i)
                shift = q.matrix() * com - turned.matrix() * com
                store_vector(q_to, w, start, vector_at(q_from, w, start) + vector_at(rate, w, d) * h + shift)
                store_quaternion(q_to, w, start + 3, turned)
        if ti.static(t.has_affine):
            if kind == AFFINE:
                for k in range(t.link_n_qd.at(i)):
                    q_to.store(w, start + k, q_from.load(w, start + k) + rate.load(w, d + k) * h)


def store_quaternion(array, w, start, q: Quat):
    """Store four consecutive scalars."""
    for k in range(4):
        array.store(w, start + k, q.parts[k])


_ROUNDS = 3  # of Newton's method with the first slope, each better by the square of the turn in a step
# tan(x) / x = (945 - 105 x^2 + x^4) / (945 - 420 x^2 + 15 x^4), to 2e-7 of it where x is 1: Lambert (1768)
_TANGENT = (945.0, -105.0, 1.0), (945.0, -420.0, 15.0)
_MOST = 1.0  # [1], square of half the angle that a body may turn by in a step


def mean_spin(inertia: Sym3, momentum: Vec3, spin: Vec3, h, alone, resisting: Sym3 | None = None) -> Vec3:
    """[rad/s], the mean spin m of a step, I m + s m x I m = L, by Newton's method from the spin where it begins.

    What resists the acceleration besides, armature and what damping takes of it in a step, is no inertia that turns:
    (I + D) m + s m x I m = L.

    All is taken in the trace of I, because the determinant of that of a small body, 1e-39 of 1e-13 kg m^2, is no number of
    float32. A step in which the method does not come nearer keeps the spin that it begins with.

    Args:
        inertia: [kg m^2], in axes that stand.
        momentum: [kg m^2/s].
        spin: [rad/s], where the step begins.
        h: [s], step.
        alone: 1 of a body that turns by h m; 0 where others answer, and s is h/2.
        resisting: [kg m^2], I + D, if that is not I.
    """
    xx, yy, zz = inertia.parts[:3]
    unit = local(1.0 / (xx + yy + zz))
    I_w, aim = inertia * unit, momentum * unit
    R_w = I_w if resisting is None or resisting is inertia else resisting * unit
    half = local(h * 0.5 + xx * 0.0)
    slope = inverse(_slope(R_w, I_w, spin, _lever(spin, half, alone)))
    residual = _residual(R_w, I_w, spin, aim, half, alone)
    first, found = residual.dot(residual), spin - slope * residual
    for _ in range(_ROUNDS - 1):
        found = found - slope * _residual(R_w, I_w, found, aim, half, alone)
    last = _residual(R_w, I_w, found, aim, half, alone)
    return select_parts(last.dot(last) < first, found, spin)


def _square(m: Vec3, half):
    """(h |m| / 2)^2, and the part of h m that a body turns by."""
    square = local(m.dot(m) * (half * half))
    return square, local(ti.sqrt(_MOST / ti.max(square, _MOST)))


def _lever(m: Vec3, half, alone):
    """[s], s of a spin."""
    square, part = _square(m, half)
    above, below = (polynomial(ti.min(square, _MOST), terms) for terms in _TANGENT)
    return local(half * (1.0 + (part * above / below - 1.0) * alone))


def _residual(R_w: Sym3, I_w: Sym3, m: Vec3, aim: Vec3, half, alone) -> Vec3:
    """(I + D) m + s m x I m - L."""
    carried = I_w * m
    return (carried if R_w is I_w else R_w * m) + m.cross(carried) * _lever(m, half, alone) - aim


def _slope(R_w: Sym3, I_w: Sym3, m: Vec3, s) -> Mat3:
    """I + D + s ([m] I - [I m])."""
    zero = s * 0.0
    carried = I_w * m
    axes = [Vec3(*(zero + float(n == k) for n in range(3))) for k in range(3)]
    columns = [R_w * axis + (m.cross(I_w * axis) - carried.cross(axis)) * s for axis in axes]
    return Mat3(*(column.parts[k] for k in range(3) for column in columns))


def turning_rate(m: Vec3, h) -> Vec3:
    """[rad/s], the angular velocity by which a body that stands alone turns in a step h: m, up to 2 rad a step."""
    _, part = _square(m, local(h * 0.5 + m.parts[0] * 0.0))
    return m * part
