"""Kernel calls on drivers that leave all loops of an invocation after so many turns in total, and say nothing.

How many turns a stage takes is not known beforehand, because iterations depend on the state. So each kernel ends with a loop
in memory whose turns are known. If some are missing, the bound was met somewhere before, and the run ends: each stage is a
kernel on such devices (kernels_by_stage.py), and there are no shorter ones.

Measured (llvmpipe, Mesa 22): 65535 turns; loops after that are left after one turn.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from simcli.errors import DeviceError
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.runtime import Device
from simcli.kernels.device.self_test import unable
from simcli.kernels.language import ti
from simcli.solvers.base import needs

TURNS = 3  # of the loop in the end; a loop that is left early makes one


class LoopsCutError(Exception):
    """A kernel's loops were left before their end: what it wrote means nothing."""


class Turns:
    """Where each block of worlds counts the turns that its last loops lack.

    Args:
        device: of the run.
        arena: receives the count, on a driver that bounds loops.

    Attributes:
        are_bounded: whether the driver does that.
    """

    _data_oriented = True

    def __init__(self, device: Device, arena: Arena):
        self.are_bounded = device.most_turns > 0
        self.lacking = arena.single.array() if self.are_bounded else None

    def refuse_few(self) -> None:
        """Look at the count after kernels.

        Raises:
            LoopsCutError: some turns are missing.
        """
        if self.are_bounded and np.any(self.lacking.read() != 0.0):
            raise LoopsCutError


@needs.loop_bounds
@ti.func
def count_turns(c: ti.template(), w: ti.i32, turns: ti.i32):
    """What a kernel does last in each block of worlds; `turns` is an argument of the kernel, so that the loop stays a loop.

    Writes: c.loop_turns.lacking
    """
    c.loop_turns.lacking.store(w, 0, c.loop_turns.lacking.load(w, 0) + TURNS)
    for _ in range(turns):
        c.loop_turns.lacking.store(w, 0, c.loop_turns.lacking.load(w, 0) - 1.0)


@contextmanager
def refusals(device: Device) -> Iterator[None]:
    """Kernel calls whose failures are those of a device.

    Raises:
        DeviceError: the device cannot do it.
    """
    try:
        yield
    except LoopsCutError:
        raise too_long(device) from None
    except RuntimeError as error:  # Taichi's
        raise unable(device, error) from error


def too_long(device: Device) -> DeviceError:
    """The refusal of a scene whose steps are too long for a driver.

    Args:
        device: of the run.
    """
    return DeviceError(
        "SC713: one stage of a step of this scene needs more loop iterations than the driver of "
        f"`{device.arch}` ({device.name}) allows ({device.most_turns}); use --device cpu"
    )


def move_account(solver, kernel, of_chosen: Callable | None = None) -> None:
    """Call the kernel of one side of a change of tables.

    Args:
        solver: a stepper.
        kernel: of it.
        of_chosen: calls it for the blocks with worlds that were chosen; None for all.

    Raises:
        DeviceError: SC713, its loops ended early.
    """
    if of_chosen:
        of_chosen(kernel, TURNS, 1)
    else:
        solver.arena.launch(kernel, solver.core, TURNS, 0)
    try:
        solver.core.loop_turns.refuse_few()
    except LoopsCutError:
        raise too_long(solver.device) from None
