"""Worlds that end: what each step is watched for. What a solver has besides is in its engine's `judge` and `blame`."""

from collections.abc import Callable
from typing import NamedTuple

from simcli.kernels.algebra.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import any_lane
from simcli.model.snapshot import Status

SPEED_SQUARED = 1  # row of the solver's constants, after H
NOT_FINITE, TOO_FAST, STOPPED, TURNS_FAR, NOT_CONVERGED, CROWDED = (int(status) for status in (
    Status.NOT_FINITE, Status.TOO_FAST, Status.STOPPED, Status.TURNS_FAR, Status.NOT_CONVERGED,
    Status.CROWDED))  # fmt: skip


class End(NamedTuple):
    """A reason for worlds to end besides their rates.

    Attributes:
        status: of the worlds.
        applies: gives their mask (inside kernels).
        blames: gives the number to blame, if it is none of a dof.
    """

    status: int
    applies: Callable
    blames: Callable | None = None


def code_of(c, w, code):
    """The status by the last of the reasons that apply, else `code` (inside kernels)."""
    for end in c.ends:
        code = select(end.applies(c, w), c.tables.arena.zero() + end.status, code)
    return code


def guilt_of(c, w, code, dof):
    """The number to blame for a status (inside kernels)."""
    for end in c.ends:
        if end.blames:
            dof = select(code == end.status, end.blames(c, w), dof)
    return dof


@ti.func
def watch(c: ti.template(), w: ti.i32):
    """Note the first step at which a world shall end, why, and the dof that is to blame.

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
        guilty = c.engine.blame(c, w, code)
        c.health.store(w, 0, select(ended, code, status))
        c.health.store(w, 1, select(ended, count, c.health.load(w, 1)))
        c.health.store(w, 2, select(ended, guilty, c.health.load(w, 2)))


@ti.func
def judge_speed(c: ti.template(), w: ti.i32, square: ti.template(), code: ti.template()):
    """The code of rates that are too large or not finite, by the sum of their squares; else `code`.

    Reads: c.constants
    """
    zero = c.tables.arena.zero()
    fast = select(square >= c.constants.load(w, SPEED_SQUARED), zero + TOO_FAST, code)
    return select(square < zero + ti.math.inf, fast, zero + NOT_FINITE)
