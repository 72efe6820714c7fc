"""The gyroscopic torque of a free body at the end of a step."""

from simcli.kernels.algebra.values import Mat3, Vec3
from simcli.kernels.chart.tree import TreeState
from simcli.kernels.complementarity.newton import inverse
from simcli.kernels.memory.arena import local
from simcli.kernels.memory.tables import Tables


def gyroscopic_change(t: Tables, s: TreeState, w, i, h) -> Vec3:
    """[N m], what the torque -w x I w of link i changes in a step of length h: one Newton step of implicit Euler.

        (I + h ([w] I - [I w])) dw = -h w x I w,    change = I dw / h + w x I w     in axes that turn with the body

    The explicit torque feeds energy to a body that spins fast; this one takes a little. I is given in its own trace, because
    the determinant of that of a small body, 1e-39 of 1e-13 kg m^2, is no number of float32.

    Reads: t.inertia, s.{R, v}
    """
    inertia = t.inertia.load(w, i)
    xx, yy, zz = inertia.parts[:3]
    trace = local(xx + yy + zz)
    I_w = (inertia * local(1.0 / trace)).turned(s.R.load(w, i))
    spin = s.v.load(w, i).angular
    momentum = I_w * spin
    torque = spin.cross(momentum)
    zero = t.arena.zero()
    one = local(zero + 1.0)
    axes = [Vec3(*(one * k for k in axis)) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    columns = [I_w * axis + (spin.cross(I_w * axis) - momentum.cross(axis)) * h for axis in axes]
    (a, d, g), (b, e, k), (c, f, m) = (column.parts for column in columns)
    change = inverse(Mat3(a, b, c, d, e, f, g, k, m)) * (torque * -h)
    return (I_w * change * (1.0 / h) + torque) * trace
