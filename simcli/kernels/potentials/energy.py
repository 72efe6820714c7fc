"""The doors of the energies of affine bodies to a solver.

    gradient  sum V_r phi_r'        Hessian  sum V_rs phi_r' phi_s'^T + curve (sum V_r phi_r'')

The second part of the Hessian may be indefinite; where it makes the whole so, a lane does without it (curve = 0).
"""

from simcli.kernels.device.sparse_factors import add_entry
from simcli.kernels.language import ti
from simcli.kernels.potentials.coordinates import coordinate_slopes, find_laws, work_of_laws
from simcli.kernels.potentials.gears import add_gears
from simcli.kernels.potentials.polar import add_arap, find_arap
from simcli.kernels.potentials.springs import add_cables, cable_slopes, find_springs, spring_slopes, work_of_springs
from simcli.kernels.rows.quadratic import bend_gradients, extend, find_residuals


@ti.func
def find_energy(p: ti.template(), w: ti.i32, x: ti.template(), alpha: ti.template()):
    """[J] of everything at coordinates x; x is extended.

    Args:
        alpha: [1/s], (B), of the formula of each body.

    Writes: p.{rows.residual, elastic, slope, bend, damping, length_now}, p.laws
    """
    extend(p.rows, x, w, 1.0)
    _worst = find_residuals(p.rows, x, w)
    elastic = p.gradient.arena.zero()
    for r in range(p.n_rows):
        phi = p.rows.residual.load(w, r)
        elastic = elastic + phi * phi * p.stiffness.load(w, r) * 0.5
    if ti.static(p.arap.n > 0):
        elastic = elastic + find_arap(p.arap, w, x)
    p.elastic.store(w, 0, elastic)
    total = elastic
    if ti.static(p.laws.n > 0):
        total = total + find_laws(p, w, alpha)
    if ti.static(p.n_lengths > 0):
        total = total + find_springs(p, w, alpha)
    return total


@ti.func
def find_slopes(p: ti.template(), w: ti.i32, curve: ti.template()):
    """Derivatives of the energy by the rows, after `find_energy`.

    Args:
        curve: 1 in lanes that take second derivatives as they are, 0 where these must not be negative.

    Reads:  p.{rows.residual, slope, bend, laws}
    Writes: p.{first, second, cross}
    """
    for r in range(p.n_rows):
        stiffness = p.stiffness.load(w, r) + p.gradient.arena.zero()
        p.first.store(w, r, p.rows.residual.load(w, r) * stiffness)
        p.second.store(w, r, stiffness)
    if ti.static(p.laws.n > 0):
        coordinate_slopes(p, w, curve)
    if ti.static(p.n_lengths > 0):
        if ti.static(p.cables.n > 0):
            cable_slopes(p, w, curve)
        else:
            spring_slopes(p, w, curve)


@ti.func
def follow_rows(p: ti.template(), w: ti.i32, x: ti.template()):
    """Gradients of the rows at extended coordinates x.

    Writes: p.rows.gradient
    """
    bend_gradients(p.rows, x, w)


@ti.func
def add_gradient(p: ti.template(), w: ti.i32):
    """Add the gradient of the energies.

    Reads:  p.{first, rows.gradient}
    Writes: p.gradient
    """
    f = p.rows
    for r in range(p.n_rows):
        slope = p.first.load(w, r)
        for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
            i = f.entry_at.at(e)
            p.gradient.store(w, i, p.gradient.load(w, i) + f.gradient.load(w, e) * slope)


@ti.func
def add_hessian(p: ti.template(), w: ti.i32, curve: ti.template()):
    """Add the Hessian of the energies to the matrix, and the gradient of those that are no rows.

    Reads:  p.{first, second, cross, rows.gradient, rows.next_x, arap}
    Writes: p.{matrix.factor.value, gradient}
    """
    f = p.rows
    if ti.static(p.arap.n > 0):
        add_arap(p.arap, p.matrix, w, p.rows.next_x, p.gradient, curve)
    for r in range(p.n_rows):
        at = p.outer_start.at(r)
        bend = p.second.load(w, r)
        begin = f.entry_start.at(r)
        for e in range(begin, f.entry_start.at(r + 1)):
            scaled = f.gradient.load(w, e) * bend
            for g in range(begin, e + 1):
                add_entry(p.matrix, w, p.outer.at(at), scaled * f.gradient.load(w, g))
                at = at + 1
        slope = p.first.load(w, r) * curve
        for m in range(p.curve_start.at(r), p.curve_start.at(r + 1)):
            add_entry(p.matrix, w, p.curve_place.at(m), slope * p.curve_coef.load(w, m))
    if ti.static(p.gears.n > 0):
        add_gears(p, w)
    if ti.static(p.cables.n > 0):
        add_cables(p, w)
    for k in range(p.laws.n):
        r = p.laws.row.at(k)
        at = p.outer_start.at(r)
        begin = f.entry_start.at(r)
        other = f.entry_start.at(r + 1)  # the entries of the second row stand at the same coordinates
        cross = p.cross.load(w, k)
        for e in range(other - begin):
            for g in range(e + 1):
                mixed = f.gradient.load(w, begin + e) * f.gradient.load(w, other + g)
                mixed = mixed + f.gradient.load(w, other + e) * f.gradient.load(w, begin + g)
                add_entry(p.matrix, w, p.outer.at(at), mixed * cross)
                at = at + 1


@ti.func
def work_of_step(p: ti.template(), w: ti.i32, weight: ti.template()):
    """[J] over the step: taken by dampers, and given by efforts and drives.

    Forces times displacements: in bdf1 the forces of the end, which is what the formula balances; in bdf2 the means of both
    ends, because the end alone is of first order.

    Args:
        weight: (B), of the step before, 0 in bdf1.

    Reads:  p, of the end of the step
    Writes: p, what the next step knows of this one
    """
    dissipated, driven = work_of_laws(p, w, weight)
    return dissipated + work_of_springs(p, w, weight), driven
