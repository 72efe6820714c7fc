"""Worlds that end: what each step is watched for. What a solver has besides is in its engine's `judge` and `find_cause`."""

from collections.abc import Callable
from typing import NamedTuple

from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane, is_nan
from simcli.model.snapshot import Status

SPEED_SQUARED = 1  # row of the solver's constants, after H
HEALTH = ("status", "steps into the call", "dof")
# Angular velocity times h that a step may have: it advances the angle by the arc sine, so that from 1 on it has no solution.
FARTHEST_TURN = 0.9
NOT_FINITE, TOO_FAST, STOPPED, TURNS_FAR, NOT_CONVERGED, CROWDED, LOOP_LOST = (
    int(status)
    for status in (
        Status.NOT_FINITE,
        Status.TOO_FAST,
        Status.STOPPED,
        Status.TURNS_FAR,
        Status.NOT_CONVERGED,
        Status.CROWDED,
        Status.LOOP_LOST,
    )
)


class End(NamedTuple):
    """A reason for worlds to end besides their rates.

    Attributes:
        status: of the worlds.
        applies: gives their mask (inside kernels).
        cause: gives the number that is its cause, if that is none of a dof (inside kernels).
    """

    status: int
    applies: Callable
    cause: Callable | None = None


def code_of(c, w, code):
    """The status by the last of the reasons that apply, else `code` (inside kernels)."""
    for end in c.ends:
        code = select(end.applies(c, w), c.tables.arena.zero() + end.status, code)
    return code


def cause_of(c, w, code, dof):
    """The number that is the cause of a status: that of its reason, if that has one, else `dof` (inside kernels)."""
    for end in c.ends:
        if end.cause:
            dof = select(code == end.status, end.cause(c, w), dof)
    return dof


def worse_of(c, size, dof, worst, cause) -> tuple:
    """The larger of two sizes and its dof; a NaN counts as infinite, the first of equal ones stays (inside kernels).

    Args:
        c: core of the run.
        size: of one more dof, not negative.
        dof: its number.
        worst, cause: the largest size so far, -1 before the first, and its dof, as a real number.
    """
    zero = c.tables.arena.zero()
    size = select(is_nan(size), zero + ti.math.inf, size)
    worse = local(size > worst)
    return select(worse, size, worst), select(worse, zero + ti.cast(dof, c.tables.arena.device.real), cause)


@ti.func
def watch(c: ti.template(), w: ti.i32):
    """Note the first step at which a world shall end, why, and the dof that is its cause.

    A world that has ended keeps stepping in its lanes, where it disturbs nobody; its frames are poisoned instead.

    Reads:  c
    Writes: c.health, c.count
    """
    count = c.count.load(w, 0) + 1.0
    c.count.store(w, 0, count)
    status = c.health.load(w, 0)
    code = c.engine.judge(c, w, count, status == 0.0)
    ended = (status == 0.0) & (code != 0.0)
    if any_lane(ended):
        cause = c.engine.find_cause(c, w, code)
        c.health.store(w, 0, select(ended, code, status))
        c.health.store(w, 1, select(ended, count, c.health.load(w, 1)))
        c.health.store(w, 2, select(ended, cause, c.health.load(w, 2)))


@ti.func
def judge_speed(c: ti.template(), w: ti.i32, square: ti.template(), code: ti.template()):
    """The code of rates that are too large or not finite, by the sum of their squares; else `code`.

    Reads: c.constants
    """
    zero = c.tables.arena.zero()
    fast = select(square >= c.constants.load(w, SPEED_SQUARED), zero + TOO_FAST, code)
    return select(square < zero + ti.math.inf, fast, zero + NOT_FINITE)
