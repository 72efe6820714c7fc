"""What frames in natural coordinates show of the step that ends there, where it is one of impulses.

The projection of its velocities and the evaluation of the instant use the memory of the step: what it has found is kept
before them, and recalled where the frame shows the step. With shapes that can touch, all frames do. Else those do in which a
law holds a coordinate: where that ends a step, or begins one, and where the instant foresees a stop, of the step after it.

Stages; rows/memory.py says what `c` holds.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.laws.bounded import FREE
from simcli.solvers.shared import needs
from simcli.solvers.tree.integrators import H


@ti.func
def keep_answer(c: ti.template(), w: ti.i32):
    """Keep what a step has found.

    Reads:  c.bound.{velocity_jump, system}, c.state.qd
    Writes: c.bound.{answer, begun, of_laws, jumped}
    """
    y = c.bound.system
    kept = c.bound.answer
    for n in range(y.n_dofs):
        kept.store(w, n, y.acceleration.load(w, n))
        kept.store(w, y.n + n, y.effort.load(w, n))
    for r in range(y.n_rows):
        kept.store(w, y.n_dofs + r, y.force.load(w, r))
    _keep_laws(c, w)


@needs.laws_that_jump
@ti.func
def _keep_laws(c: ti.template(), w: ti.i32):
    """Velocities where the step began, what laws gave, and whether they held something in it or in the step before."""
    y = c.bound.system
    kept = c.bound.of_laws
    h = c.constants.load(w, H)
    c.bound.jumped.store(w, 0, c.bound.velocity_jump.load(w, 0))
    for n in range(y.n_dofs):
        c.bound.begun.store(w, n, c.state.qd.load(w, c.tables.tree_dof.at(n)) - y.acceleration.load(w, n) * h)
    holds = c.bound.velocity_jump.load(w, 0)
    for k in range(y.laws.n):
        held = (y.laws.lock.load(w, k) != FREE) | (y.laws.held.load(w, k) < ti.math.inf)
        holds = select(held, holds * 0.0 + 1.0, holds)
        kept.store(w, 3 * k, y.laws.effort.load(w, k))
        kept.store(w, 3 * k + 1, y.laws.lock.load(w, k))
        kept.store(w, 3 * k + 2, y.laws.rate.load(w, k))
    c.bound.jumped.store(w, 1, holds)


def shows_step(c, w):
    """The worlds whose frame shows the step: a law held a coordinate there, or foresees at the instant that it stops one."""
    return (c.bound.jumped.load(w, 1) != 0.0) | (c.bound.velocity_jump.load(w, 0) != 0.0)


@ti.func
def recall_answer(c: ti.template(), w: ti.i32):
    """Put back what `keep_answer` has kept, and the accelerations that frames show.

    Reads:  c.bound.{answer, of_laws, jumped}
    Writes: c.bound.{velocity_jump, system.{acceleration, force, effort, laws}}, c.state.qdd
    """
    y = c.bound.system
    kept = c.bound.answer
    for n in range(y.n_dofs):
        y.acceleration.store(w, n, kept.load(w, n))
        c.state.qdd.store(w, c.tables.tree_dof.at(n), kept.load(w, n))
        y.effort.store(w, n, kept.load(w, y.n + n))
    for r in range(y.n_rows):
        y.force.store(w, r, kept.load(w, y.n_dofs + r))
    _recall_laws(c, w)


@needs.laws_that_jump
@ti.func
def _recall_laws(c: ti.template(), w: ti.i32):
    laws = c.bound.system.laws
    kept = c.bound.of_laws
    c.bound.velocity_jump.store(w, 0, c.bound.jumped.load(w, 0))
    for k in range(laws.n):
        laws.effort.store(w, k, kept.load(w, 3 * k))
        laws.lock.store(w, k, kept.load(w, 3 * k + 1))
        laws.rate.store(w, k, kept.load(w, 3 * k + 2))
