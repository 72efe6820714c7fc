"""The gyroscopic torque of a free body at the end of a step."""

from simcli.kernels.algebra.values import Mat3, Vec3
from simcli.kernels.chart.tree import TreeState
from simcli.kernels.complementarity.newton import inverse
from simcli.kernels.memory.arena import local
from simcli.kernels.memory.tables import Tables


def gyroscopic_change(t: Tables, s: TreeState, w, i, h) -> Vec3:
    """[N m], what the torque -w x I w of link i changes in a step of length h: one Newton step of implicit Euler.

        (I + h ([w] I - [I w])) dw = -h w x I w,    change = I dw / h + w x I w     in axes that turn with the body

    The explicit torque feeds energy to a body that spins fast; this one takes a little.

    Reads: t.inertia, s.{R, v}
    """
    I_w = t.inertia.load(w, i).turned(s.R.load(w, i))
    spin = s.v.load(w, i).angular
    momentum = I_w * spin
    torque = spin.cross(momentum)
    zero = t.arena.zero()
    one = local(zero + 1.0)
    axes = [Vec3(*(one * k for k in axis)) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    columns = [I_w * axis + (spin.cross(I_w * axis) - momentum.cross(axis)) * h for axis in axes]
    (a, d, g), (b, e, k), (c, f, m) = (column.parts for column in columns)
    change = inverse(Mat3(a, b, c, d, e, f, g, k, m)) * (torque * -h)
    return I_w * change * (1.0 / h) + torque
