"""The rotation nearest to a matrix, the energy of the distance from it (as rigid as possible), affine bodies as rigid ones.

    V = k sum |a_k - r_k|^2,   dr_k = w x r_k,   (tr(S) - S) w = sum r_l x da_l,   S = A R^T

Source: the derivative of the polar factor from the symmetry of R^T A. No deviation.
"""

import numpy as np

from simcli.kernels.articulation.kinematics import vector_at
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.sparse_factors import AFFINE_DOFS, add_entry
from simcli.kernels.language import ti
from simcli.kernels.language.values import Mat3, Motion, Vec3, columns_of, unit_vector
from simcli.model.tables.model import Model

POLAR_ITERATIONS = 6  # error e becomes e^2/2: from strains of 0.5 to rounding


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


class Arap:
    """Bodies that are as rigid as possible.

    Attributes:
        n: of them.  body: of each.  stiffness: [J].
        R: at the last evaluation.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena):
        bodies = np.flatnonzero(model.affine.is_arap)
        self.n, self.body = len(bodies), arena.ints(bodies)
        self.stiffness = tables.column(model.affine.shape_stiffness[:, bodies])
        self.R = arena.array(self.n, Mat3)


@ti.func
def find_arap(a: ti.template(), w: ti.i32, x: ti.template()):
    """[J] at coordinates x.

    Writes: a.R
    """
    total = a.R.arena.zero()
    for n in range(a.n):
        first = AFFINE_DOFS * a.body.at(n) + 3
        R = rotation_of(x, w, first)
        a.R.store(w, n, R)
        for k in ti.static(range(3)):
            gap = vector_at(x, w, first + 3 * k) - R.column(k)
            total = total + gap.dot(gap) * a.stiffness.load(w, n)
    return total


@ti.func
def _add_column(
    m: ti.template(),
    w: ti.i32,
    b: ti.i32,
    R: ti.template(),
    back: ti.template(),
    place: ti.template(),
    curve: ti.template(),
    twice: ti.template(),
):
    """Add column i of block (k, j) of the Hessian of body b, on or below the diagonal.

    Args:
        place: (k, j, i), known when compiling.

    Writes: m.factor.value
    """
    k, j, i = ti.static(place)
    along = unit_vector(R.parts[0] * 0.0, i)
    bent = R.column(k).cross(back * R.column(j).cross(along)) * curve
    if ti.static(k == j):
        bent = bent + along
    for row in ti.static(range(i if k == j else 0, 3)):
        at = AFFINE_DOFS * AFFINE_DOFS * b + AFFINE_DOFS * (3 + 3 * k + row) + 3 + 3 * j + i
        add_entry(m, w, m.place.at(at), bent.parts[row] * twice)


@ti.func
def add_arap(a: ti.template(), m: ti.template(), w: ti.i32, x: ti.template(), gradient: ti.template(), curve: ti.template()):
    """Add gradient and Hessian, after `find_arap`; without the curvature, 2 k.

    Writes: gradient, m.factor.value
    """
    for n in range(a.n):
        b = a.body.at(n)
        R = a.R.load(w, n)
        twice = a.stiffness.load(w, n) * 2.0
        a_k = [vector_at(x, w, AFFINE_DOFS * b + 3 + 3 * k) for k in range(3)]
        S = _outer(a_k[0], R.column(0)) + _outer(a_k[1], R.column(1)) + _outer(a_k[2], R.column(2))
        back = _inverse(upright_trace(S) - S)
        for k in ti.static(range(3)):
            gap = a_k[k] - R.column(k)
            for i in ti.static(range(3)):
                at = AFFINE_DOFS * b + 3 + 3 * k + i
                gradient.store(w, at, gradient.load(w, at) + gap.parts[i] * twice)
            for j in ti.static(range(k + 1)):
                for i in ti.static(range(3)):
                    _add_column(m, w, b, R, back, (k, j, i), curve, twice)


def _outer(a: Vec3, b: Vec3) -> Mat3:
    """A b^T."""
    return Mat3(*(x * y for x in a.parts for y in b.parts))


def upright_trace(S: Mat3) -> Mat3:
    """Tr(S) times the identity."""
    trace = S.parts[0] + S.parts[4] + S.parts[8]
    none = trace * 0.0
    return Mat3(trace, none, none, none, trace, none, none, none, trace)


def _inverse(T: Mat3) -> Mat3:
    """Of a matrix."""
    a, b, c = (T.column(k) for k in range(3))
    rows = (b.cross(c), c.cross(a), a.cross(b))
    volume = 1.0 / a.dot(rows[0])
    return Mat3(*(x * volume for row in rows for x in row.parts))


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
