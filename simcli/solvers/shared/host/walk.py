"""Frames on devices that take each stage of a step as a kernel (by_stages.py): the host walks through the program."""

import numpy as np

from simcli.kernels.memory.programs import ENTER, NOBODY, TAKE
from simcli.solvers.shared.by_stages import (
    begin_frame,
    enter_repetition,
    give_frame,
    go_on,
    show_frame,
    take_stage,
)
from simcli.solvers.shared.host.loop_bounds import TURNS


def take_frames_by_stages(solver, n_frames: int, probes: int, steps: int, arrays: list, moves: bool = True,
                          shows: bool = True, chosen: bool = False) -> None:  # fmt: skip
    """Frames of a call.

    Args:
        solver: of the run.
        n_frames: of the call.
        probes, steps: of a frame, and of a probe.
        arrays: buffers of columns.
        moves, shows, chosen: as of the kernel `rollout`.
    """
    c, launch = solver.core, solver.arena.launch
    if solver.compile_seconds is None:
        for stage in range(c.program.n_stages):  # in an order that does not depend on which of them a run takes
            solver.arena.compiled(take_stage, c, stage, 0, 0, TURNS)
    for frame in range(n_frames * probes):
        first = solver.n_steps + frame * steps
        if moves:
            launch(begin_frame, c, int(frame > 0), first, steps, int(chosen))
            take_program(solver)
        if shows:
            launch(show_frame, c, steps, first + steps, TURNS, int(chosen), int(moves))
        if shows and not chosen and (frame + 1) % probes == 0:
            launch(give_frame, c, frame // probes, *arrays)


def take_program(solver) -> None:
    """All lines of the program of a frame."""
    c, launch = solver.core, solver.arena.launch
    least = solver.device.buffer((1,), np.int32)
    line = 0
    while line < c.program.n:
        kind, stage, level = c.program.lines[line]
        if kind == ENTER:
            launch(enter_repetition, c, line, level)
        if stage != NOBODY:
            launch(take_stage, c, stage, line, level, TURNS)
        if kind == TAKE:
            line += 1
            continue
        least[0] = c.program.n
        launch(go_on, c, line, least)
        line = int(least[0])
