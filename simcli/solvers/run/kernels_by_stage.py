"""The kernels of a run on devices whose compilers take long for long kernels: one stage each, at the line where the host is.

Drivers of SPIR-V inline all that a kernel calls, and their compilers take time that grows faster than what they are given:
LLVM in Mesa's software driver takes 0.07 s for 40 loads, 0.4 s for 160, 1.2 s for 320. Stages leave in memory what they
find, so that it makes no difference to the numbers where one kernel ends and the next begins.

The host walks through the program (`take_frames_by_stages`), at the line at which the last block of worlds is; blocks that
are ahead wait.
"""

import numpy as np

from simcli.kernels.device.programs import ENTER, NOBODY, TAKE, begin, end_program, next_line
from simcli.kernels.language import ti
from simcli.solvers.base.clock import begin_program
from simcli.solvers.output.probes import probe_frame
from simcli.solvers.run.loop_bounds import TURNS, count_turns
from simcli.solvers.run.rollout import names_some, unload_frame


@ti.func
def take_alone(program: ti.template(), stage: ti.template(), owner: ti.template(), w: ti.i32, line: ti.i32, level: ti.i32):
    """A line that takes a stage, or the condition of a line, for a block that has come to it: a kernel of one stage.

    Args:
        stage: number of the stage.
        owner: of the stages.
        line: its number; `pass_line` leaves it if it has a condition.
        level: of the line.
    """
    if program.counters.load(w, program.line) == line:
        program.take(stage, owner, w, level)
        if ti.static(stage not in program.of_worlds | program.of_blocks):
            program.counters.store(w, program.line, line + 1)


@ti.func
def enter_line(program: ti.template(), w: ti.i32, line: ti.i32, level: ti.i32):
    """What the first line of a repetition does before its condition, for a block that has come to it."""
    if program.counters.load(w, program.line) == line:
        program.masks.store(w, level, program.masks.load(w, level - 1))


@ti.func
def pass_line(program: ti.template(), w: ti.i32, line: ti.i32):
    """Leave a line that takes no stage, if a block has come to it; gives the line where the block is."""
    found = program.counters.load(w, program.line)
    if found == line:
        found = next_line(program, w, line, program.kind.at(line), program.level.at(line))
        program.counters.store(w, program.line, found)
    return found


@ti.kernel
def begin_frame(c: ti.template(), goes_on: ti.i32, first: ti.i64, steps: ti.i32, chosen: ti.i32):
    """What the program of a frame begins with, and, with goes_on = 0, a call of frames; `chosen` as of `rollout`.

    Reads:  c
    Writes: c.count, c.now, c.program
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.reach):
        if w < c.arena.n_blocks:
            c.arena.enter(w)
            if goes_on == 0 and (chosen == 0 or names_some(c, w)):
                c.count.store(w, 0, c.tables.arena.zero())
                c.engine.begin(c, w, first)
            begin_program(c, w, first, steps)
            begin(c.program, w)
            if chosen != 0 and not names_some(c, w):
                end_program(c.program, w)


@ti.kernel
def take_stage(c: ti.template(), stage: ti.template(), line: ti.i32, level: ti.i32, turns: ti.i32):
    """Stage number `stage` of the program, or a condition, at a line of a level."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.reach):
        if w < c.arena.n_blocks:
            c.arena.enter(w)
            take_alone(c.program, stage, c, w, line, level)
            count_turns(c, w, turns)


@ti.kernel
def enter_repetition(c: ti.template(), line: ti.i32, level: ti.i32):
    """The first line of a repetition, before its condition."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.reach):
        if w < c.arena.n_blocks:
            c.arena.enter(w)
            enter_line(c.program, w, line, level)


@ti.kernel
def go_on(c: ti.template(), line: ti.i32, least: ti.types.ndarray()):
    """A line after its condition; least[0] becomes the line of the last block, if it was not less."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.reach):
        if w < c.arena.n_blocks:
            c.arena.enter(w)
            ti.atomic_min(least[0], pass_line(c.program, w, line))


@ti.kernel
def show_frame(c: ti.template(), steps: ti.i32, last: ti.i64, turns: ti.i32, chosen: ti.i32, moves: ti.i32):
    """What a frame shows, after `last` steps; `chosen` and `moves` as of `rollout`."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.reach):
        if w < c.arena.n_blocks:
            c.arena.enter(w)
            if chosen == 0 or names_some(c, w):
                c.engine.report(c, w, steps)
                probe_frame(c, w, last, moves)
            count_turns(c, w, turns)


@ti.kernel
def give_frame(
    c: ti.template(),
    frame: ti.i32,
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    qdd: ti.types.ndarray(),
    effort: ti.types.ndarray(),
    pose: ti.types.ndarray(),
    twist: ti.types.ndarray(),
    points: ti.types.ndarray(),
    wrench: ti.types.ndarray(),
    multiplier: ti.types.ndarray(),
    energy: ti.types.ndarray(),
    diag: ti.types.ndarray(),
    health: ti.types.ndarray(),
    touch: ti.types.ndarray(),
    contacts: ti.types.ndarray(),
    quantity: ti.types.ndarray(),
    others: ti.types.ndarray(),
):
    """Frame number `frame` of a call to the buffers."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.reach):
        if w < c.arena.n_blocks:
            c.arena.enter(w)
            at = (frame * c.state.n_blocks + w) * c.lanes
            unload_frame(
                c,
                w,
                at,
                q,
                qd,
                qdd,
                effort,
                pose,
                twist,
                points,
                wrench,
                multiplier,
                energy,
                diag,
                health,
                touch,
                contacts,
                quantity,
                others,
            )


def take_frames_by_stages(
    solver,
    n_frames: int,
    probes: int,
    steps: int,
    arrays: list,
    moves: bool = True,
    shows: bool = True,
    chosen: bool = False,
) -> None:
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
