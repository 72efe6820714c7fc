"""Where the time of a step goes, by stage: `python tests/benchmarks/stages.py TASK [--worlds N] [--case K]`.

The program of a frame notes each line that it takes, and how often; a second process looks at the note some thousand times
a second. Stages that many lines take are one row. Times are of the processor: other work on the machine disturbs little.
"""

import argparse
import mmap
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from simcli.kernels.device import programs, storage
from simcli.kernels.device.notes import Notes
from simcli.kernels.device.programs import NOBODY, Program
from simcli.kernels.language import ti

_PERIOD = 1e-4  # [s] between two looks
_LEAST = 0.004  # of the time: stages that take less have no row
_made = []  # programs, in the order in which they are made


class Noting(Program):
    """A program with a count of what it takes."""

    def __init__(self, arena, body, registers=None):
        super().__init__(arena, body, registers)
        self.tally = Notes(arena, ti.i32)
        self.tally.reserve(self.n)
        _made.append(self)


take_unnoted = programs.take_line


@ti.func
def take_line(program: ti.template(), owner: ti.template(), w: ti.i32, line: ti.i32):
    """As `programs.take_line`, with notes."""
    program.counters.store(w, program.line, line)
    program.tally.store(w, line, program.tally.load(w, line) + 1)
    return take_unnoted(program, owner, w, line)


# Before anything else takes them from there; memory is shared with the process that looks.
programs.Program, programs.take_line, storage.PRIVATE = Noting, take_line, {}


def watch(program: Program, hits: np.ndarray) -> int:
    """Begin to count, in a process of its own, at which line the block at work is; the last number ends it."""
    lines = program.counters.memory[:, program.line, 0]
    watcher = os.fork()
    if watcher:
        return watcher
    try:
        while hits[-1] == 0:
            at_work = lines[lines < program.n]
            if len(at_work) == 1:
                hits[at_work[0]] += 1
            time.sleep(_PERIOD)
    finally:
        os._exit(0)


def profile(task: str, worlds: int | None, case: int, precision: str, duration: float) -> None:
    """Print the table."""
    from simcli.cli import console
    from simcli.cli.runs.bench import BenchTask, works
    from simcli.kernels.device.runtime import start_device
    from simcli.solvers import SOLVERS
    from simcli.solvers.base.run_plan import RunPlan

    with tempfile.TemporaryDirectory() as folder:
        work = list(works(None, BenchTask(task), worlds, precision, 1, "cpu", duration, (), Path(folder)))[case]
        job = work.job()
    frames = job.schedule.n_steps // work.stride
    with console.stdout_kept_clean():
        device = start_device("cpu", precision, 1)
        plan = RunPlan(job.schedule.dt, work.stride, frames, frozenset(("joints",)))
        solver = SOLVERS[job.spec.solver.type](job.model, job.spec.solver, plan, device)
    solver.initial()
    program = next(one for one in reversed(_made) if one.counters.place)
    tally = program.tally.memory[:, :, 0]
    tally[:] = 0
    hits = np.frombuffer(mmap.mmap(-1, 8 * (program.n + 1)), np.int64)
    watcher, begin = watch(program, hits), time.process_time()
    solver.advance(frames)
    seconds = time.process_time() - begin
    hits[-1] = 1
    os.waitpid(watcher, 0)
    blocks = program.arena.n_blocks
    shares, counts = Counter(), Counter()
    for line, (_, stage, _) in enumerate(program.lines):
        name = program.stages[stage].function.__name__ if stage != NOBODY else "(lines without a stage)"
        shares[name] += hits[line] / max(hits[:-1].sum(), 1)
        counts[name] += tally[:, line].sum() / (blocks * frames * work.stride)
    each = 1e6 * seconds / (blocks * frames * work.stride)
    lanes = program.arena.device.lanes  # one for a single world, whatever the device has
    rows = [
        (name, f"{100 * share:.1f}", f"{each * share:.2f}", f"{counts[name]:.2f}", f"{each * share / counts[name]:.2f}")
        for name, share in shares.most_common()
        if share > _LEAST
    ]
    console.data(
        f"{work.scene.stem}: {each / lanes:.2f} us a world-step, {sum(counts.values()):.0f} lines a step, "
        f"{hits[:-1].sum()} looks"
    )
    console.data(console.table(rows, ("stage", "%", "us a step of a block", "times", "us each"), indent=""))


def main(words: list[str] | None = None) -> None:
    """Profile what a task of the bench runs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("task", choices=["humanoid", "stacks", "large", "fourbar"])
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--case", type=int, default=0, help="which of the task's scenes")
    parser.add_argument("--precision", default="float64")
    parser.add_argument("--duration", type=float, default=4.0, help="[s], simulated")
    asked = parser.parse_args(words)
    profile(asked.task, asked.worlds, asked.case, asked.precision, asked.duration)


if __name__ == "__main__":
    main()
