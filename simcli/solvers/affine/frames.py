"""What a call begins with for affine bodies, and the worlds that end; see watch.py."""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.language.vectors import is_nan
from simcli.kernels.memory.programs import when
from simcli.kernels.rows.quadratic import start_gradients
from simcli.solvers.shared.watch import CROWDED, NOT_CONVERGED, End, code_of, guilt_of, judge_speed


@ti.func
def begin_affine(c: ti.template(), w: ti.i32, _first: ti.i64):
    """What a call of the kernel begins with.

    Writes: c.potential.rows.gradient
    """
    start_gradients(c.potential.rows, w)


@ti.func
def judge_affine(c: ti.template(), w: ti.i32, count: ti.template(), alive: ti.template()):
    """Why a world should end, 0 where it is well: it did not converge, its contacts, its rates.

    Reads:  c.potential.rows.v, c.step.failed, c.constants
    """
    square = c.tables.arena.zero()
    for i in range(c.potential.n):
        rate = c.potential.rows.v.load(w, i)
        square = square + rate * rate
    code = code_of(c, w, c.tables.arena.zero())
    return judge_speed(c, w, square, code)


def affine_ends(c) -> tuple[End, ...]:
    """Reasons to end besides rates."""
    return End(NOT_CONVERGED, _has_failed), *when(c.touches, End(CROWDED, _is_crowded, _crowd))


def _has_failed(c, w):
    return c.step.failed.load(w, 0) > 0.0


def _crowd(c, w):
    return c.barrier.crowded.load(w, 0)


def _is_crowded(c, w):
    return _crowd(c, w) > 0.0


@ti.func
def blame_affine(c: ti.template(), w: ti.i32, code: ti.template()):
    """The dof that moves most in Newton's last direction, a NaN first; how many contacts are too many.

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
    return guilt_of(c, w, code, guilty)
