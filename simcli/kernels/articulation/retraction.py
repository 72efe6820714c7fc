"""The retraction of joint coordinates: the move along rates that keeps rotations what they are."""

from simcli.kernels.algebra.elementary import exp_rotation, normalized
from simcli.kernels.algebra.values import Quat
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
from simcli.kernels.language import ti


@ti.func
def retract(t: ti.template(), q_from: ti.template(), q_to: ti.template(), rate: ti.template(), w: ti.i32,
            h: ti.template()):
    """Move joint coordinates along rates for a time h: q_to = q_from (+) h rate.

    Scalars add; rotations take the exponential of h w (w in the parent anchor frame, so it multiplies from the left); a
    free body's centre of mass moves by h v, and its anchor follows. Natural coordinates add.

    Reads:  t links, q_from (NQ), rate (NV)
    Writes: q_to (NQ) of tree joints
    """
    for i in range(t.n_links):
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
