"""Forces of joints along the directions where a step ends, for heavy loads on light bodies and large steps.

Along the directions of its start a step is stable while h^2 f r / I is below about 4: f a force at the distance r from the
centre of a body of inertia I. Beyond, the directions turn with the pass that finds them, and the mass matrix gets what the
forces give when a body turns, so that Newton's method goes the right way:

    (M + K) v - h J(q(v))^T lambda = M vf + K v_found,    K = h sum a (1 - r r^T / |r|^2),  a = (|r| |f| + r.f) / 2

with f an impulse. K is never negative, and where the passes have converged it says nothing. Which scenes turn directions is
said by model/forms/maximal_form.py.

Source: Jean (1999), the step in impulses. Deviations: K by a bound for each point instead of a clamped sum; the choice
is that of a scene, by the weight that its joints could carry, and not of a step.
"""

from simcli.kernels.articulation.kinematics import com_about_origin
from simcli.kernels.articulation.rnea import no_force
from simcli.kernels.complementarity.large import DOFS, mass_place
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.values import Mat3, Vec3
from simcli.kernels.rows.jacobian import fill_rows
from simcli.solvers.base import needs


@ti.func
def turn_directions(c: ti.template(), w: ti.i32, h: ti.template(), starts: ti.i32):
    """Directions of rows at the present poses, and K of the forces found last.

    Args:
        starts: 1 where the mass matrix is new.

    Reads:  c.state, c.bound.system.{rows, force}
    Writes: c.bound.system.entry of rows, c.bound.impulses.stiff, p.{mass, push}
    """
    if starts == 0:
        fill_rows(c.bound.system, c.tables, c.state, w)
        find_stiffness(c, w, h)
    add_stiffness(c, w, starts)


@needs.turns
@ti.func
def find_stiffness(c: ti.template(), w: ti.i32, h: ti.template()):
    """K of every link, about its centre of mass.

    Reads:  c.state.{R, o, origin}, c.bound.system.{rows, force}
    Writes: c.bound.impulses.stiff
    """
    t = c.tables
    s = c.state
    y = c.bound.system
    r = y.rows
    zero = t.arena.zero()
    for i in range(t.n_links):
        c.bound.impulses.stiff.store(w, i, Mat3(*(zero,) * 9))
    for k in range(r.n_anchor_pairs):
        force = no_force(zero)
        for n in range(r.row_start.at(k), r.row_start.at(k + 1)):
            force = force + r.jacobian_b.load(w, n) * y.force.load(w, n)
        a = r.link_a.at(k)
        b = r.link_b.at(k)
        place = Vec3(zero, zero, zero) + r.point_b.load(w, k)
        if b >= 0:
            place = s.origin.load(w, t.root.at(b)) + s.o.load(w, b) + s.R.load(w, b) * r.point_b.load(w, k)
            stiffen(c, w, b, place, force.force, h)
        if a >= 0:
            stiffen(c, w, a, place, -force.force, h)


@ti.func
def stiffen(c: ti.template(), w: ti.i32, i: ti.i32, place: ti.template(), force: ti.template(), h: ti.template()):
    """Add what a force at a place gives to K of link i.

    Writes: c.bound.impulses.stiff
    """
    r = place - c.state.origin.load(w, c.tables.root.at(i)) - com_about_origin(c.tables, c.state, w, i)
    square = r.dot(r)
    along = ti.sqrt(square * force.dot(force)) + r.dot(force)
    scale = along * (0.5 * h * h)
    over = select(square > 0.0, scale / select(square > 0.0, square, square + 1.0), square)
    x, y, z = r.parts
    size = select(square > 0.0, scale, square)
    more = Mat3(
        size - x * x * over,
        -x * y * over,
        -x * z * over,
        -x * y * over,
        size - y * y * over,
        -y * z * over,
        -x * z * over,
        -y * z * over,
        size - z * z * over,
    )
    c.bound.impulses.stiff.store(w, i, c.bound.impulses.stiff.load(w, i) + more)


@ti.func
def add_stiffness(c: ti.template(), w: ti.i32, starts: ti.i32):
    """Exchange K in the mass matrix, and add K (v found - v start) to the impulses that are given.

    Reads:  c.bound.impulses.{stiff, start}, p.velocity
    Writes: p.{mass, push}, c.bound.impulses.stiffness
    """
    t = c.tables
    m = c.bound.impulses
    p = m.problem
    for i in range(t.n_links):
        K = m.stiff.load(w, i)
        first = t.link_qd.at(i)
        for d in range(first, first + t.link_n_qd.at(i)):
            turned = K * c.state.S.load(w, d).angular
            a = p.n_given - 1 - t.unknown.at(d)
            for e in range(first, first + t.link_n_qd.at(i)):
                b = p.n_given - 1 - t.unknown.at(e)
                if a < p.n_given and b < p.n_given:
                    found = c.state.S.load(w, e).angular.dot(turned)
                    _exchange_entry(c, w, DOFS * DOFS * i + DOFS * (d - first) + e - first, a, b, found, starts)


@ti.func
def _exchange_entry(c: ti.template(), w: ti.i32, at: ti.i32, a: ti.i32, b: ti.i32, found: ti.template(), starts: ti.i32):
    m = c.bound.impulses
    p = m.problem
    before = m.stiffness.load(w, at)
    if starts != 0:
        before = found * 0.0
    else:
        gained = p.velocity.load(w, b) - m.start.load(w, b)
        p.push.store(w, a, p.push.load(w, a) + found * gained)
    m.stiffness.store(w, at, found)
    if b <= a:
        place = mass_place(p, a, b)
        p.mass.store(w, place, p.mass.load(w, place) + found - before)
