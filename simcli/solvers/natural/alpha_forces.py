"""Forces of the generalized-alpha steps, and the stiffness that their iteration knows.

Of a spring with tension T = k (L - L0) + c L' along e, d = L e the way between its ends:

    d(T e)/dd = (k - T/L) e e^T + (T/L) E,   d(T e)/dd' = c e e^T

What is along the line is the gain of its soft row, what is left a multiple of the second derivatives of its polynomial. Of a
cable over pulleys the gain is k alone, and every part of it has (T/L) (E - e e^T) with its own length L. The
multipliers of rigid rows stiffen in the same way: a rod that is pulled at its ends is turned back by what holds it together.

Source: derived. Left out is what a damper does as its line turns, for that is not symmetric, and less than its gain by the
turn in one step: (c/L) e (w - (e.w) e)^T; and second derivatives of turns, which are none along the motion of a hinge.
"""

from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.forms import TINY_LENGTH
from simcli.kernels.rows.quadratic import IDLE, bend_gradients, extend, find_rates
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.natural.forces import bias_of, load_coordinates, response_now
from simcli.solvers.natural.frame_forces import push_frames, stiffen_frames


@ti.func
def evaluate_forces(c: ti.template(), w: ti.i32):
    """Forces at the present coordinates, velocities and accelerations, with the gradients there.

    Reads:  c.steps.rows, c.alpha.next_a
    Writes: c.steps.{force, rows.gradient, rows.rate} of rows that are not rigid, c.pushes.{acts, pull}, frames
    """
    f = c.steps.rows
    p = c.pushes
    zero = c.tables.arena.zero()
    bend_gradients(f, f.next_x, w)
    load_coordinates(c, w, f.next_x)
    push_frames(c, w)
    find_rates(f, w)
    _extend_rates(c, w)
    for n in range(p.n):
        law, _taken, acts, inertia = response_now(c, w, n)
        if c.now.load(w, "correction") == 0:
            p.acts.store(w, n, select(acts, zero + 1.0, zero))
        c.steps.force.store(w, p.row.at(n), law.force * p.acts.load(w, n))
        _resist(c, w, n, inertia)


@needs.armature
def _extend_rates(c, w):
    extend(c.steps.rows, c.steps.rows.v, w, 0.0)


@needs.armature
@ti.func
def _resist(c: ti.template(), w: ti.i32, n: ti.i32, inertia: ti.template()):
    r = c.pushes.row.at(n)
    if c.pushes.law.at(n) >= 0:
        c.steps.force.store(w, r, c.steps.force.load(w, r) - acceleration_of(c, w, n) * inertia)


@ti.func
def stiffen_rows(c: ti.template(), w: ti.i32):
    """How the forces change with what the iteration finds; where a step begins, with accelerations alone.

    Reads:  c.steps.{force, rows}, c.pushes.acts
    Writes: c.steps.rows.{soft, lent} of rows that are not rigid, c.steps.rows.{stress, frames}
    """
    f = c.steps.rows
    p = c.pushes
    h = c.constants.load(w, H)
    moves = ti.cast(c.now.load(w, "instant") == 0, c.tables.arena.device.real)
    span = h * h * c.alpha.share * moves
    rate_span = h * c.alpha.rate_share * moves
    for n in range(p.n):
        law, _taken, _acts, inertia = response_now(c, w, n)
        acting = p.acts.load(w, n)
        along = law.stiffness * acting - tension_per_length(c, w, n)
        gain = along * span + law.damping * rate_span * acting + inertia
        f.soft.store(w, p.row.at(n), 1.0 / ti.max(gain, 1.0 / IDLE))
        f.lent.store(w, p.row.at(n), c.tables.arena.zero())
    find_stresses(c, w, span)
    stiffen_frames(c, w, span, rate_span)
    regularize_yielding(c, w, span)


@ti.func
def regularize_yielding(c: ti.template(), w: ti.i32, span: ti.template()):
    """Softness of rows that have compliance.

    Writes: c.steps.rows.{soft, lent} of these
    """
    f = c.steps.rows
    zero = c.tables.arena.zero()
    for n in range(c.pushes.n_yielding):
        r = c.pushes.yielding.at(n)
        h = c.constants.load(w, H)
        compliance = zero + c.bound.system.compliance.load(w, r)
        soft = select(span > 0.0, compliance / (h * h * c.alpha.share), zero + IDLE)
        hard = c.bound.system.softness.load(w, r) * c.bound.system.scale.load(w, r)
        f.soft.store(w, r, select(compliance > 0.0, soft, hard))
        f.lent.store(w, r, select(compliance > 0.0, zero, hard))


@ti.func
def find_stresses(c: ti.template(), w: ti.i32, span: ti.template()):
    """Geometric stiffness of what rows give, -lambda times their second derivatives.

    That of a spring is (T/L) sum_j (grad d_j)(grad d_j)^T over the components of d.

    Reads:  c.steps.{force, rows.own, rows.residual}
    Writes: c.steps.rows.stress
    """
    f = c.steps.rows
    for r in range(f.n_rows):
        f.stress.store(w, r, -c.steps.force.load(w, r) * span)
    _stress_springs(c, w, span)
    _stress_cables(c, w, span)


@needs.soft_springs
def _stress_springs(c, w, span):
    _stress_lengths(c, w, span, c.pushes.spring, tension_per_length)


@needs.cable_parts
def _stress_cables(c, w, span):
    _stress_lengths(c, w, span, c.pushes.cable, tension_of_part)


@ti.func
def _stress_lengths(c: ti.template(), w: ti.i32, span: ti.template(), which: ti.template(), tension: ti.template()):
    """Stress of the soft rows that an index list has, by their tension per length."""
    for n in range(c.pushes.n):
        if which.at(n) >= 0:
            c.steps.rows.stress.store(w, c.pushes.row.at(n), tension(c, w, n) * span)


def tension_per_length(c, w, n):
    """T/L of the spring of soft row n; none where it has no direction, or is no straight spring (inside kernels).

    Reads: c.steps.{force, rows.own, rows.residual}
    """
    return _tension_of_spring(c, w, n) if c.pushes.has_springs else c.tables.arena.zero()


@ti.func
def _tension_of_spring(c: ti.template(), w: ti.i32, n: ti.i32):
    f = c.steps.rows
    r = c.pushes.row.at(n)
    found = c.tables.arena.zero()
    if c.pushes.bent.at(n) >= 0 and c.pushes.spring.at(n) >= 0:
        given = -c.steps.force.load(w, r) * f.own.load(w, c.pushes.bent.at(n))
        found = select(f.residual.load(w, r) > TINY_LENGTH, given, found)
    return found


@ti.func
def tension_of_part(c: ti.template(), w: ti.i32, n: ti.i32):
    """T/L of soft row n, the part of a cable whose tension is T; none where it has no direction.

    Reads: c.steps.{force, rows.own, rows.residual}
    """
    f = c.steps.rows
    given = -c.steps.force.load(w, c.pushes.cable.at(n)) * f.own.load(w, c.pushes.bent.at(n))
    return select(f.residual.load(w, c.pushes.row.at(n)) > TINY_LENGTH, given, given * 0.0)


@ti.func
def acceleration_of(c: ti.template(), w: ti.i32, n: ti.i32):
    """Acceleration of coordinate n.

    Reads: c.steps.rows, c.alpha.next_a
    """
    f = c.steps.rows
    r = c.pushes.row.at(n)
    total = bias_of(c, w, n)
    for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
        total = total + f.gradient.load(w, e) * c.alpha.next_a.load(w, f.entry_at.at(e))
    return total
