"""What a call begins with for affine bodies, and the worlds that end; see watch.py."""

from simcli.kernels.language import ti
from simcli.kernels.memory.lists import when
from simcli.kernels.rows.quadratic import start_gradients
from simcli.solvers.shared.probes.loop_guard import is_lost
from simcli.solvers.shared.watch import CROWDED, LOOP_LOST, NOT_CONVERGED, End, cause_of, code_of, judge_speed, worse_of


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
    return (End(NOT_CONVERGED, _has_failed), *when(c.touches, End(CROWDED, _is_crowded, _crowd)),
            *when(c.guard.n, End(LOOP_LOST, is_lost)))  # fmt: skip


def _has_failed(c, w):
    return c.step.failed.load(w, 0) > 0.0


def _crowd(c, w):
    return c.barrier.crowded.load(w, 0)


def _is_crowded(c, w):
    return _crowd(c, w) > 0.0


@ti.func
def find_affine_cause(c: ti.template(), w: ti.i32, code: ti.template()):
    """The dof that moves most in Newton's last direction, a NaN first; how many contacts are too many.

    Reads: c.step.move, c.barrier.crowded
    """
    zero = c.tables.arena.zero()
    worst = zero - 1.0
    cause = zero
    for i in range(c.potential.n):
        worst, cause = worse_of(c, ti.abs(c.step.move.load(w, i)), c.potential.rows.qd_at.at(i), worst, cause)
    return cause_of(c, w, code, cause)
