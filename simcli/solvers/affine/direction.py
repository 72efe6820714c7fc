"""Newton's direction for a step of affine bodies, by the Hessian of all energies; stages of the lists in programs.py.

Where the Hessian is indefinite in a world, it is taken without the curvature of the rows, which leaves a sum of squares.
"""

from simcli.kernels.barrier.contact_energy import add
from simcli.kernels.device.sparse_factors import (
    AFFINE_DOFS,
    add_entry,
    clear_matrix,
    factorize_blocks,
    get_unknown,
    least_pivot,
    put_unknown,
    substitute_blocks,
)
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.potentials.coordinates import cap_at_limits
from simcli.kernels.potentials.energy import add_gradient, add_hessian, find_slopes, follow_rows
from simcli.solvers.affine.drags import add_drags
from simcli.solvers.affine.holds import add_holds
from simcli.solvers.affine.newton import is_running
from simcli.solvers.base import needs


@ti.func
def linearise(c: ti.template(), w: ti.i32):
    """Gradients of the rows at next_x, which is the same place as x, with its forms; the whole curvature at first.

    Writes: c.potential.rows.gradient, c.step.curve
    """
    follow_rows(c.potential, w, c.potential.rows.next_x)
    c.step.curve.store(w, 0, c.tables.arena.zero() + 1.0)


@ti.func
def add_energies(c: ti.template(), w: ti.i32):
    """Gradient and Hessian at x, without contact.

    Reads:  c.step.{curve, alpha, target}
    Writes: c.potential.{gradient, matrix}
    """
    z = c.step
    p = c.potential
    curve = z.curve.load(w, 0)
    clear_matrix(p.matrix, w)
    for i in range(p.n):
        alpha = z.alpha.load(w, i // AFFINE_DOFS)
        mass = alpha * alpha * z.mass.load(w, i)
        p.gradient.store(w, i, (p.rows.x.load(w, i) - z.target.load(w, i)) * mass)
        _push_thin(c, w, i)
        add_entry(p.matrix, w, c.diagonal.at(i), mass)
    add_holds(c, w)
    add_drags(c, w)
    find_slopes(p, w, curve)
    add_gradient(p, w)
    add_hessian(p, w, curve)


@needs.thin_pushes
def _push_thin(c, w, i):
    p, z = c.potential, c.step
    p.gradient.store(w, i, p.gradient.load(w, i) - z.force.load(w, i) * z.thin.load(w, i))


@ti.func
def add_contacts(c: ti.template(), w: ti.i32):
    """Gradient and curvature of contact.

    Writes: c.potential.{gradient, matrix}, c.barrier
    """
    add(c.barrier, w, c.potential.rows.x, c.potential.gradient, c.potential.matrix, False)


@ti.func
def factorize(c: ti.template(), w: ti.i32):
    """Factor the Hessian. Worlds where it is indefinite shall do without the curvature of the rows.

    Writes: c.potential.matrix, c.step.curve
    """
    factorize_blocks(c.potential.matrix, w)
    is_indefinite = least_pivot(c.potential.matrix, w) <= 0.0
    c.step.curve.store(w, 0, select(is_indefinite, c.tables.arena.zero(), c.step.curve.load(w, 0)))


def lacks_curvature(c, w):
    """The worlds that have not converged and do without curvature."""
    return (c.step.curve.load(w, 0) == 0.0) & is_running(c, w)


@ti.func
def solve(c: ti.template(), w: ti.i32):
    """Newton's direction.

    Reads:  c.potential.{gradient, matrix}
    Writes: c.step.move
    """
    p = c.potential
    x = p.matrix.factor
    for i in range(p.n):
        put_unknown(x, w, i, -p.gradient.load(w, i))
    substitute_blocks(p.matrix, w)
    for i in range(p.n):
        c.step.move.store(w, i, get_unknown(x, w, i))


@ti.func
def measure_direction(c: ti.template(), w: ti.i32):
    """Size of the direction [m]: displacement of the centre and of points at the extent of each body.

    Writes: c.step.{size, length}
    """
    z = c.step
    zero = c.tables.arena.zero()
    size = zero
    for b in range(c.tables.n_bodies):
        centre = zero
        turn = zero
        for k in range(3):
            centre = ti.max(centre, ti.abs(z.move.load(w, 12 * b + k)))
        for k in range(3, 12):
            turn = ti.max(turn, ti.abs(z.move.load(w, 12 * b + k)))
        size = ti.max(size, centre + turn * z.extent.load(w, b))
    bad = zero
    for i in range(c.potential.n):  # a NaN is lost in a maximum
        bad = bad + z.move.load(w, i) * 0.0
    z.size.store(w, 0, size + bad)
    z.length.store(w, 0, zero + 1.0)


@ti.func
def cut_at_limits(c: ti.template(), w: ti.i32):
    """The part of the direction that goes little beyond where hard limits begin to push.

    Reads:  c.step.move, c.potential
    Writes: c.step.length
    """
    c.step.length.store(w, 0, cap_at_limits(c.potential, w, c.step.move, c.step.tolerance))
