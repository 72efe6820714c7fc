"""The frames of affine bodies: steps (affine/step.py), and the worlds that end; see watch.py."""

from simcli.kernels.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.language.vectors import is_nan
from simcli.kernels.loops import follow_turns
from simcli.kernels.quadratic import start_gradients
from simcli.solvers.affine.places import place_affine
from simcli.solvers.affine.step import step_affine
from simcli.solvers.shared.watch import CROWDED, NOT_CONVERGED, judge_speed, watch
from simcli.solvers.tree.integrators import H


@ti.func
def begin_affine(c: ti.template(), w: ti.i32, _first: ti.i64):
    """What a call of the kernel begins with.

    Writes: c.potential.rows.gradient
    """
    start_gradients(c.potential.rows, w)


@ti.func
def advance_affine(c: ti.template(), w: ti.i32, first: ti.i64, steps: ti.i32, lines: ti.i32, begun: ti.i32):
    """`take_steps`, which is no program yet: a frame is over when this is.

    Args:
        lines, begun: not used.
    """
    take_steps(c, w, first, steps)
    return 1


@ti.func
def take_steps(c: ti.template(), w: ti.i32, first: ti.i64, steps: ti.i32):
    """The steps of one frame from step number `first` on; of no steps, the energies of the initial state.

    Reads:  c
    Writes: c.state, c.potential, c.step, c.forces.work, c.health
    """
    for i in range(ti.max(steps, 1)):
        h = c.constants.load(w, H)
        number = first + i + 1
        step_affine(c, w, h, h * ti.cast(number, c.tables.arena.device.real), steps)
        if steps > 0:
            if ti.static(c.loops.n_turns > 0):
                place_affine(c, w, c.potential.rows.x, c.potential.rows.v)
                follow_turns(c.loops, c.state, w, h)
            watch(c, w)


@ti.func
def judge_affine(c: ti.template(), w: ti.i32, count: ti.template(), alive: ti.template()):
    """Why a world should end, 0 where it is well: it did not converge, its contacts, its rates.

    Reads:  c.potential.rows.v, c.step.failed, c.constants
    """
    square = c.tables.arena.zero()
    for i in range(c.potential.n):
        rate = c.potential.rows.v.load(w, i)
        square = square + rate * rate
    zero = c.tables.arena.zero()
    code = select(c.step.failed.load(w, 0) > 0.0, zero + NOT_CONVERGED, zero)
    if ti.static(c.touches):
        code = select(c.barrier.crowded.load(w, 0) > 0.0, zero + CROWDED, code)
    return judge_speed(c, w, square, code)


@ti.func
def blame_affine(c: ti.template(), w: ti.i32, code: ti.template()):
    """The dof that moves most in Newton's last direction, a NaN first; how
    many contacts are too many.

    Reads: c.step.move, c.barrier.crowded
    """
    zero = c.tables.arena.zero()
    worst = zero - 1.0
    guilty = zero
    for i in range(c.potential.n):
        move = c.step.move.load(w, i)
        size = select(is_nan(move), zero + ti.math.inf, ti.abs(move))
        worse = size > worst
        worst = select(worse, size, worst)
        guilty = select(worse, zero + ti.cast(c.potential.rows.qd_at.at(i), c.tables.arena.device.real), guilty)
    if ti.static(c.touches):
        guilty = select(code == CROWDED, c.barrier.crowded.load(w, 0), guilty)
    return guilty
