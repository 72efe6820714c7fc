"""Affine bodies as rigid ones: the rotation nearest to A, and the twist, for forces and reports."""

from simcli.kernels.articulation.kinematics import vector_at
from simcli.kernels.articulation.loops import follow_turns
from simcli.kernels.language import ti
from simcli.kernels.language.values import Motion, Vec3
from simcli.kernels.potentials.polar import rotation_of
from simcli.solvers.base.integrators import H


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
def follow_loops(c: ti.template(), w: ti.i32):
    """Full turns of joints that close loops."""
    place_affine(c, w, c.potential.rows.x, c.potential.rows.v)
    follow_turns(c.loops, c.state, w, c.constants.load(w, H))
