"""One chunk as one batch through the pipeline; its result is there whole, or not at all."""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.errors import OutputError, SimcliError, SimulationError
from simcli.job import Outcome, Request, Tick, Watch, keep_going
from simcli.pipeline import execute, prepare, read_scene
from simcli.pipeline.sub_batches import sub_batches_folder, whole_of_sub_batches
from simcli.spec import n_worlds
from simcli.spec.document.overrides import SWEEP, Override
from simcli.sweeps.records.plan import SUMMARY_FRAMES, Chunk
from simcli.sweeps.records.scenes import case_ids

if TYPE_CHECKING:
    from simcli.spec import SceneSpec

RESULTS, RUNS = "results", "runs"
_NEVER = 1e9  # [s] between checkpoints: a chunk that is lost begins anew
ISOLATED = Override(SWEEP, "isolate", "run.on_failure")  # a world that fails is a case that failed, and no more


@dataclass(frozen=True)
class ChunkResult:
    """What a chunk came to.

    Attributes:
        file: of the result, relative to the folder of the sweep.
        digest: SHA-256 of its numbers.
        failed: cases whose world failed, and why.
        n_steps: of all worlds together.
        seconds: [s], wall time.
    """

    file: str
    digest: str
    failed: dict[str, str]
    n_steps: int
    seconds: float


def run_chunk(
    chunk: Chunk,
    folder: Path,
    threads: int | None,
    device: str,
    keep: str,
    time_limit: float | None,
    watch: Watch = keep_going,
) -> ChunkResult | None:
    """Run a chunk.

    Args:
        chunk: its cases.
        folder: of the sweep.
        threads: CPU threads; None for all.
        device: class of device, as "cpu".
        keep: trajectories that stay: "all" with the results, "failed" below `runs`, "none".
        time_limit: [s] of wall time per case, compiling left out: a chunk may take as much as all of its cases.
        watch: sees every Tick; its False stops the run.

    Returns:
        What came of it; None if it was stopped as asked.

    Raises:
        SimulationError: it took longer than the limit.
        SceneError: a world makes no mechanism.
        OutputError, DeviceError: see `pipeline.execute`.
    """
    started = time.perf_counter()
    path = folder / RESULTS / f"{chunk.id}.h5"
    clock = _Clock(watch, time_limit, len(chunk.cases))
    outcome = _recorded(chunk, chunk.worlds, chunk.cases, path, threads, device, keep == "all", clock)
    if outcome is None:
        return None
    failed = _reasons(chunk, outcome)
    if keep == "failed":
        for case in failed:
            world = chunk.worlds[chunk.cases.index(case)]
            again = folder / RUNS / f"{case}.h5"
            if _recorded(chunk, (world,), (case,), again, threads, device, True, clock) is None:
                return None
    digest = _digest(path)
    return ChunkResult(
        f"{RESULTS}/{path.name}", digest, failed, outcome.n_steps * len(chunk.cases), time.perf_counter() - started
    )


class _Clock:
    """Passes ticks on, and stops a run that takes too long."""

    def __init__(self, watch: Watch, limit: float | None, n_cases: int):
        self._watch, self._limit, self._n_cases = watch, limit, n_cases
        self._since: float | None = None

    def __call__(self, tick: Tick) -> bool:
        if tick.stage == "stepping" and self._since is None:
            self._since = time.perf_counter()
        self.check()
        return self._watch(tick)

    def check(self) -> None:
        """Raise SimulationError once the time is up."""
        if self._limit is None or self._since is None:
            return
        if time.perf_counter() - self._since > self._limit * self._n_cases:
            raise SimulationError(f"time limit: takes longer than {self._limit:g} s per case")


def _recorded(
    chunk: Chunk,
    worlds: tuple[int, ...],
    cases: tuple[str, ...],
    path: Path,
    threads: int | None,
    device: str,
    with_frames: bool,
    clock: _Clock,
) -> Outcome | None:
    """Run worlds of a chunk into a file; None if it was stopped as asked, and nothing is there."""
    from simcli.records.drafts import sync
    from simcli.records.reading.sweep_cases import write_cases

    with _draft(path) as draft:
        try:
            sets = (*chunk.sets, ISOLATED, *(() if with_frames else _without_frames(read_scene(chunk.scene, chunk.sets)[1])))
            job = prepare(
                Request(
                    chunk.scene,
                    draft,
                    sets,
                    device,
                    threads,
                    worlds,
                    tries_all=True,
                    force=True,
                    checkpoint_every=_NEVER,
                    argv=("simcli", "sweep"),
                )
            )
        finally:  # of a scene that has changed neither the numbers nor the faults count
            _check_names(chunk, worlds, cases, device)
        outcome = execute(job, clock)
        if outcome.status == "stopped":
            return None
        write_cases(draft, cases)
        draft.replace(path)
        with contextlib.suppress(OSError):  # a file that a power cut takes is run again
            sync(path.parent)
    return outcome


def _check_names(chunk: Chunk, worlds: tuple[int, ...], cases: tuple[str, ...], device: str) -> None:
    """Refuse to give results the names of other cases: files may have been written anew since the plan was made.

    Raises:
        OutputError: that is so; no case is the cause.
    """
    changed = f"{chunk.scene}: it, or a file that it needs, has changed since the sweep was planned"
    try:
        document, spec = read_scene(chunk.scene, chunk.sets)
    except SimcliError as error:
        raise OutputError(f"{changed}: {error}") from error
    if max(worlds) >= n_worlds(spec) or tuple(case_ids(document, spec, device, worlds)) != cases:
        raise OutputError(f"{changed}: put it back, or choose another folder with -o for what it is now")


def _without_frames(spec: "SceneSpec") -> tuple[Override, ...]:
    """Overrides with which a run leaves numbers per world and nothing else, but for a few frames of its diagnostics."""
    n_steps = max(round(spec.run.duration / spec.solver.dt), 1)
    every = max(-(-n_steps // SUMMARY_FRAMES), round(spec.output.every / spec.solver.dt)) * spec.solver.dt
    wanted = {"output.channels": "[]", "output.quantities": "[]", "output.every": repr(every)}
    return tuple(Override(SWEEP, text, key) for key, text in wanted.items())


@contextlib.contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """A path to write to beside another, of this process alone; what is left there goes, also of processes that were killed.

    Raises:
        OutputError: the folder cannot be made.
    """
    from simcli.records import checkpoint
    from simcli.records.lock import is_being_written

    start = f".{path.stem}.{os.uname().nodename}-"
    draft, pattern = (path.with_name(f"{start}{process}.part.h5") for process in (os.getpid(), "*"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folders = path.parent.glob(sub_batches_folder(pattern).name)
        for old in {*path.parent.glob(pattern.name), *map(whole_of_sub_batches, folders)}:
            if old != draft and not is_being_written(old):
                checkpoint.clear_checkpoints(old)
                old.unlink(missing_ok=True)
                shutil.rmtree(sub_batches_folder(old), ignore_errors=True)
                old.with_name(f"{old.name}.lock").unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    try:
        yield draft
    finally:
        with contextlib.suppress(OSError):
            checkpoint.clear_checkpoints(draft)
            draft.unlink(missing_ok=True)
            shutil.rmtree(sub_batches_folder(draft), ignore_errors=True)


def _reasons(chunk: Chunk, outcome: Outcome) -> dict[str, str]:
    """Cases whose world failed, or is not to be trusted, and the first reason of each."""
    names = dict(zip(chunk.worlds, chunk.cases, strict=True))
    found: dict[str, str] = {}
    for failure in (*outcome.failures, *outcome.untrusted):
        found.setdefault(names[failure.world], f"{failure.code}: {failure.text}")
    return {case: found[case] for case in chunk.cases if case in found}


def _digest(path: Path) -> str:
    from simcli.records.reading.reader import open_trajectory
    from simcli.records.reading.sweep_cases import numbers_digest

    with open_trajectory(path) as run:
        return numbers_digest(run)
