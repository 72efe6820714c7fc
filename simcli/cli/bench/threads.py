"""What several threads gain over one: as many cores as threads, with what writes the file on them, too."""

import contextlib
import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from simcli.cli.bench.work import BenchStates, BenchWork, Runs

_LEAST = 1.5  # [s], of a run of one thread: its start and its end are the same for all
_OF_THREADS = Path("/proc/self/task")


def gains_of_threads(work: BenchWork, subject: type[Runs] | type[BenchStates], repeat: int) -> dict[str, float]:
    """How many times the work of one thread several do, by the least times of runs in turns.

    Args:
        work: of several threads.
        subject: what is timed.
        repeat: runs of each, at least.

    Returns:
        `writing`: with frames. `quiet`: of runs, without but the last.
    """
    strides = {"writing": work.stride} | ({"quiet": 0} if subject is Runs else {})
    return {name: _gain(replace(work, stride=stride), subject, repeat) for name, stride in strides.items()}


def _gain(work: BenchWork, subject: type[Runs] | type[BenchStates], repeat: int) -> float:
    """One core's least time over that of as many as there are threads."""
    with cores_for(1):
        lasts = subject(replace(work, threads=1)).once()
    work = replace(work, duration=work.duration * math.ceil(_LEAST / lasts))
    times: dict[int, list[float]] = {1: [], work.threads: []}
    for n in [*times] * 2:  # what else the machine does changes in time
        with cores_for(n):
            timed = subject(replace(work, threads=n))
            times[n] += [timed.once() for _ in range(-(-(repeat + 1) // 2))]
    return min(times[1]) / min(times[work.threads])


@contextlib.contextmanager
def cores_for(n: int) -> Iterator[None]:
    """Let this process, and those that it starts, have n cores; where the system binds none, or has fewer, all of them."""
    allowed = allowed_cores()
    if len(allowed) < n:
        yield
        return
    _bind(set(sorted(allowed)[:n]))
    try:
        yield
    finally:
        _bind(allowed)


def allowed_cores() -> set[int]:
    """Numbers of the cores that this process may use; none where the system binds no process."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _bind(numbers: set[int]) -> None:
    """All threads of this process: a new one begins as the one that starts it, and those of before have their own cores."""
    for thread in _OF_THREADS.iterdir() if _OF_THREADS.is_dir() else (Path("0"),):
        with contextlib.suppress(ProcessLookupError):  # it has ended since
            os.sched_setaffinity(int(thread.name), numbers)
