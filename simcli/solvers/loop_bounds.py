"""Kernel calls on drivers that leave all loops of an invocation after so many turns in total, and say nothing.

How many turns a step takes is not known beforehand, because iterations depend on the state. So each kernel ends with a loop
in memory whose turns are known. If some are missing, the bound was met somewhere before: the state of before the call is put
back, and the call is made in two parts.

Measured (llvmpipe, Mesa 22): 65535 turns; loops after that are left after one turn.
"""

import numpy as np
import taichi as ti

from simcli.errors import DeviceError
from simcli.kernels.memory import Arena
from simcli.kernels.runtime import Device

FEW_STEPS = 16  # of a call on such a driver, at first
TURNS = 3  # of the loop in the end; a loop that is left early makes one


class LoopsCutError(Exception):
    """A kernel's loops were left before their end: what it wrote means nothing."""


class Turns:
    """Where each block of worlds counts the turns of its last loop.

    Args:
        device: of the run.
        arena: receives the count, on a driver that bounds loops.

    Attributes:
        are_bounded: whether the driver does that.
        most_steps: of a call; none if loops are not bounded.
    """

    _data_oriented = True

    def __init__(self, device: Device, arena: Arena):
        self.are_bounded = device.most_turns > 0
        self.most_steps = FEW_STEPS if self.are_bounded else None
        self.count = arena.single.slot() if self.are_bounded else None

    def refuse_few(self) -> None:
        """Look at the count after a kernel.

        Raises:
            LoopsCutError: some turns are missing.
        """
        if self.are_bounded and not np.all(self.count.read() == TURNS):
            raise LoopsCutError


@ti.func
def count_turns(c: ti.template(), w: ti.i32, turns: ti.i32):
    """What a kernel does last in each block of worlds; `turns` is an argument of the kernel, so that the loop stays a loop.

    Writes: c.loop_turns.count
    """
    c.loop_turns.count.store(w, 0, c.tables.arena.zero())
    for _ in range(turns):
        c.loop_turns.count.store(w, 0, c.loop_turns.count.load(w, 0) + 1.0)


def call_in_parts(solver, n_frames: int, steps: int):
    """`solver.call_once`; where loops end early, in as many parts as it takes.

    Args:
        solver: of the run.
        n_frames: 1.
        steps: of the frame; where it is made in parts, its diagnostics are those of the last part.

    Raises:
        DeviceError: SC713, one step alone takes too many turns.
    """
    kept = solver.arena.read()
    try:
        return solver.call_once(n_frames, steps)
    except LoopsCutError:
        solver.arena.write(kept)
    assert n_frames == 1, "frames are called one by one on a driver that bounds loops"
    if steps < 2:
        raise too_long(solver.device)
    first = solver.core.loop_turns.most_steps = steps // 2
    events = call_in_parts(solver, 1, first)[1]
    arrays, later = call_in_parts(solver, 1, steps - first)
    return arrays, events + later


def too_long(device: Device) -> DeviceError:
    """The refusal of a scene whose steps are too long for a driver.

    Args:
        device: of the run.
    """
    return DeviceError(f"SC713: one step of this scene takes more turns of loops than the driver of `{device.arch}` "
                       f"({device.name}) allows ({device.most_turns}); use --device cpu")
