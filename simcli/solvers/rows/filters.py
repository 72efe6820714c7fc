"""Second solutions of corrections, which take out of the first ones what rows contradict.

Stages of steps whose frames show the forces of corrections, and of those in natural coordinates.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.linear.sparse import get_unknown
from simcli.kernels.memory.arena import local
from simcli.solvers.rows.corrections import correct_laws, is_rigid
from simcli.solvers.tree.integrators import H


@ti.func
def filter_correction(c: ti.template(), w: ti.i32):
    """Ask for the second solution x2 of a correction, centred at the first: 2 x1 - x2 has nothing of what rows contradict.

    With a an eigenvalue of J M^-1 J^T its part of a residual is a / (a + e)^2, which is 0 where rows are redundant. There
    the first solution has residual / e: no motion, but a force that the gradients of the step's end would turn into one.

    Reads:  c.bound.system
    Writes: c.bound.{first, system.load}
    """
    y = c.bound.system
    for i in range(y.n):
        c.bound.first.store(w, i, get_unknown(y.factor, w, i))
    for r in range(y.n_rows):
        i = y.n_dofs + r
        acts = y.free.load(w, i) != 0.0
        moved = y.load.load(w, i) - y.soft.load(w, r) * c.bound.first.load(w, i)
        y.load.store(w, i, select(acts & is_rigid(y, w, r), moved, y.load.load(w, i)))


@ti.func
def filter_forces(c: ti.template(), w: ti.i32):
    """Make the forces of a correction those of both its solutions: what rows contradict moves nothing, and is no force.

    Reads:  c.bound.{first, system.factor}
    Writes: c.bound.system.{force, laws.effort}
    """
    y = c.bound.system
    for r in range(y.n_rows):
        y.force.store(w, r, y.force.load(w, r) - _contradicted(c, w, r))
    correct_laws(c, w)


@ti.func
def filter_rates(c: ti.template(), w: ti.i32):
    """The same for the forces of a correction of velocities.

    Reads:  c.bound.{first, system.factor}
    Writes: c.bound.projected
    """
    h = c.constants.load(w, H)
    for r in range(c.bound.system.n_rows):
        c.bound.projected.store(w, r, c.bound.projected.load(w, r) - _contradicted(c, w, r) / h)


def _contradicted(c, w, r):
    """By how much the second solution of a correction differs from the first at a row that acts (inside kernels)."""
    y = c.bound.system
    i = y.n_dofs + r
    change = local(c.bound.first.load(w, i) - get_unknown(y.factor, w, i))
    return select(y.free.load(w, i) == 0.0, change * 0.0, change)
