"""Drag on affine bodies: energies D / alpha of a step, D the dissipation function of the velocities at its end.

    u = alpha (p(x) - p(x_h)) - wind,   w = alpha sum_k r_k x (a_k - a_k,h) / 2

    E = [D(|u|) + D_r(|w|)] / alpha,    D(s) = c s^2/2 + q s^3/3

p is the point that is dragged; r_k are the reciprocal vectors of the body where a free flight leads, so that w is the
angular velocity at the end of the step to second order, and linear in x. A couple m has the power m . w.

Source: Rayleigh (1873), the dissipation function; the incremental potential of programs.py.
"""

from simcli.kernels.articulation.kinematics import store_vector, vector_at
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.sparse_factors import AFFINE_DOFS, add_entry
from simcli.kernels.forces.springs import drag_along
from simcli.kernels.language import ti
from simcli.kernels.language.values import Vec3
from simcli.kernels.potentials.potential_terms import mean_force
from simcli.model.tables.model import Model
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H

DRAG_PARTS = 2  # of a drag: that of its point, and that of its turning


class BodyDrags:
    """What a step of affine bodies keeps of drags.

    Args:
        columns: of the drags, `kernels.forces.springs.DragColumns`, whose links are the bodies.
        model, matrix, arena: of the run.

    Attributes:
        n: parts, two of each drag.
        arm: (12 n) derivatives of the velocity of a part by those of the coordinates of its body, in this step.
        force, force_before: (3 n) against the velocity, at the ends of the last two steps.
        place: entries i >= j of the body's block of the matrix, by drag.
    """

    _data_oriented = True

    def __init__(self, columns, model: Model, matrix, arena: Arena):
        self.columns, self.n = columns, DRAG_PARTS * columns.n
        self.arm = arena.array(AFFINE_DOFS * self.n, Vec3)
        self.force, self.force_before = arena.array(3 * self.n), arena.array(3 * self.n)
        first = [AFFINE_DOFS * int(b) for b in model.drags.body]
        self.place = arena.ints(
            [matrix.entry(at + i, at + j) for at in first for i in range(AFFINE_DOFS) for j in range(i + 1)]
        )


@ti.func
def drag_velocities(c: ti.template(), w: ti.i32):
    """Derivatives of velocities: of the point, and of turning where the free flight c.step.target leads.

    Reads:  c.step.target, c.drags.columns
    Writes: c.drags.arm
    """
    d = c.drags
    zero = c.tables.arena.zero()
    none = Vec3(zero, zero, zero)
    for k in range(d.columns.n):
        place = none + d.columns.point.load(w, k)
        first = AFFINE_DOFS * d.columns.link_b.at(k) + 3
        a = [vector_at(c.step.target, w, first + 3 * m) for m in range(3)]
        half = 0.5 / a[0].dot(a[1].cross(a[2]))
        for m in ti.static(range(4)):
            by = zero + 1.0
            r = Vec3(zero, zero, zero)
            if ti.static(m > 0):
                by = place.parts[m - 1]
                r = a[m % 3].cross(a[(m + 1) % 3]) * half
            for i in ti.static(range(3)):
                axis = axis_vector(zero, i)
                d.arm.store(w, DRAG_PARTS * AFFINE_DOFS * k + 3 * m + i, axis * by)
                d.arm.store(w, DRAG_PARTS * AFFINE_DOFS * k + AFFINE_DOFS + 3 * m + i, r.cross(axis))


def axis_vector(zero, i):
    """Unit vector along axis i (inside kernels)."""
    return Vec3(*(zero + float(i == j) for j in range(3)))


@ti.func
def way_of_drag(c: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), past: ti.template()):
    """What part n of the drags is dragged along from past coordinates to x, [m] or [rad].

    Reads: c.drags
    """
    zero = c.tables.arena.zero()
    way = Vec3(zero, zero, zero)
    first = AFFINE_DOFS * c.drags.columns.link_b.at(n // DRAG_PARTS)
    for i in range(AFFINE_DOFS):
        way = way + c.drags.arm.load(w, AFFINE_DOFS * n + i) * (x.load(w, first + i) - past.load(w, first + i))
    return way


@ti.func
def wind_of_drag(c: ti.template(), w: ti.i32, n: ti.i32):
    """Velocity of the medium that part n of the drags is dragged against; turning is against one at rest.

    Reads: c.drags
    """
    zero = c.tables.arena.zero()
    wind = Vec3(zero, zero, zero)
    if n % DRAG_PARTS == 0:
        wind = wind + c.drags.columns.wind.load(w, n // DRAG_PARTS)
    return wind


@ti.func
def resist(c: ti.template(), w: ti.i32, n: ti.i32, x: ti.template()):
    """Part n of the drags if the step ends at x: what `drag_along` says.

    Reads: c.drags, c.step.{past, alpha}
    """
    u = c.drags.columns
    k = n // DRAG_PARTS
    v = way_of_drag(c, w, n, x, c.step.past) * c.step.alpha.load(w, u.link_b.at(k)) - wind_of_drag(c, w, n)
    zero = c.tables.arena.zero()
    viscous = zero + u.damping.load(w, k)
    quadratic = zero + u.quadratic.load(w, k)
    if n % DRAG_PARTS == 1:
        viscous = zero + u.angular_damping.load(w, k)
        quadratic = zero + u.angular_quadratic.load(w, k)
    return drag_along(v, viscous, quadratic)


@ti.func
def energy_of_drags(c: ti.template(), w: ti.i32):
    """[J], at next_x.

    Reads: c.potential.rows.next_x, c.drags, c.step.{past, alpha}
    """
    total = c.tables.arena.zero()
    for n in range(c.drags.n):
        _force, law, _along, _across = resist(c, w, n, c.potential.rows.next_x)
        total = total + law.loss / c.step.alpha.load(w, c.drags.columns.link_b.at(n // DRAG_PARTS))
    return total


@needs.drags
@ti.func
def add_drags(c: ti.template(), w: ti.i32):
    """Add gradient -J^T F and Hessian alpha J^T C J at x, with C = -dF/du = (|F|/|u|) (1 - e e^T) + c e e^T, e along u.

    Reads:  c.drags, c.step.{past, alpha}, c.potential.rows.x
    Writes: c.potential.{gradient, matrix}
    """
    p = c.potential
    d = c.drags
    for n in range(d.n):
        k = n // DRAG_PARTS
        first = AFFINE_DOFS * d.columns.link_b.at(k)
        force, law, along, across = resist(c, w, n, p.rows.x)
        alpha = c.step.alpha.load(w, d.columns.link_b.at(k))
        at = (AFFINE_DOFS * (AFFINE_DOFS + 1) // 2) * k
        for i in range(AFFINE_DOFS):
            arm = d.arm.load(w, AFFINE_DOFS * n + i)
            p.gradient.store(w, first + i, p.gradient.load(w, first + i) - arm.dot(force))
            bent = (arm * across + along * ((law.damping - across) * along.dot(arm))) * alpha
            for j in range(i + 1):
                add_entry(p.matrix, w, d.place.at(at), bent.dot(d.arm.load(w, AFFINE_DOFS * n + j)))
                at = at + 1


def mean_vector(d, w, n, weight):
    """Force of part n that gives the work of a step, see `mean_force` (inside kernels)."""
    return Vec3(*(mean_force(d.force, d.force_before, w, 3 * n + m, weight) for m in range(3)))


@ti.func
def work_of_drags(c: ti.template(), w: ti.i32):
    """[J] of the step: taken from the way against the medium, and given by the wind; see `work_of_step`.

    Reads:  c.potential.rows.x, c.step.{start, past, alpha, weight}, c.drags
    Writes: c.drags.{force, force_before}
    """
    d = c.drags
    dissipated = c.tables.arena.zero()
    supplied = c.tables.arena.zero()
    h = c.constants.load(w, H)
    for n in range(d.n):
        force, _law, _along, _across = resist(c, w, n, c.potential.rows.x)
        store_vector(d.force, w, 3 * n, force)
        weight = c.step.weight.load(w, d.columns.link_b.at(n // DRAG_PARTS))
        mean = mean_vector(d, w, n, weight)
        blown = wind_of_drag(c, w, n) * h
        dissipated = dissipated - mean.dot(way_of_drag(c, w, n, c.potential.rows.x, c.step.start) - blown)
        supplied = supplied + mean.dot(blown)
        store_vector(d.force_before, w, 3 * n, force)
    return dissipated, supplied
