"""Affine bodies as rigid ones: the rotation nearest to A, and the twist, for forces and reports."""

import taichi as ti

from simcli.kernels.tree import columns_of, vector_at
from simcli.kernels.values import Mat3, Motion, Vec3

POLAR_ITERATIONS = 6  # error e becomes e^2/2: from strains of 0.5 to rounding


@ti.func
def place_affine(c: ti.template(), w: ti.i32, x: ti.template(), v: ti.template()):
    """Place every link at coordinates x with velocities v.

    Reads:  x, v, by unknown
    Writes: c.state.{origin, o, R, v}
    """
    s = c.state
    zero = c.tables.arena.zero()
    for b in range(c.tables.n_bodies):
        first = 12 * b
        R = rotation_of(x, w, first + 3)
        spin = Vec3(zero, zero, zero)
        for k in ti.static(range(3)):
            spin = spin + R.column(k).cross(vector_at(v, w, first + 3 + 3 * k))
        s.origin.store(w, b, vector_at(x, w, first))
        s.o.store(w, b, Vec3(zero, zero, zero))
        s.R.store(w, b, R)
        s.v.store(w, b, Motion.of(vector_at(v, w, first), spin * 0.5))


@ti.func
def rotation_of(x: ti.template(), w: ti.i32, first: ti.i32):
    """The orthogonal factor of the matrix whose columns begin at `first`: R <- (R + R^-T) / 2.

    Source: Higham (1986). No deviation.
    """
    R = columns_of(vector_at(x, w, first), vector_at(x, w, first + 3), vector_at(x, w, first + 6))
    for _ in range(POLAR_ITERATIONS):
        R = halfway(R)
    return R


def halfway(R: Mat3) -> Mat3:
    """(R + R^-T) / 2."""
    a, b, c = (R.column(k) for k in range(3))
    d, e, f = b.cross(c), c.cross(a), a.cross(b)
    volume = 1.0 / a.dot(d)
    return columns_of(*((u + v * volume) * 0.5 for u, v in ((a, d), (b, e), (c, f))))
