"""A sweep without physics: a plan, and a function that runs its chunks in place of `chunk_run.run_chunk`.

What a case does is in its name: `c-...` is well, `nan-...` fails as a world does, `segv-...` ends the process, `error-...`
raises, `refused-...` is a wrong scene, `hang-...` goes on until it is stopped, `deaf-...` hears nothing,
`device-...` has none, `writer-...` loses the process that writes its
result, once.
"""

import ctypes
import json
import os
import time
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from simcli.errors import DeviceError, OutputError, UsageError, WriterKilledError
from simcli.sweeps.chunk_queue import part_of
from simcli.sweeps.records.plan import Case, Chunk, Plan

FUNCTION = "support.sweep_stand_in:run"
SCENE = Path(__file__)  # any file that is there
SECONDS = "SIMCLI_TEST_SECONDS"  # environment variable: of a chunk


@dataclass(frozen=True)
class StandInPlan(Plan):
    """A plan whose cases are names."""

    def rechunk(self, done):
        left = [(chunk, [case for case in chunk.cases if case not in done]) for chunk in self.chunks]
        return tuple(part_of(chunk, cases) for chunk, cases in left if cases)


@dataclass(frozen=True)
class StandInResult:
    """As `chunk_run.ChunkResult`."""

    file: Path
    digest: str
    failed: dict
    n_steps: int
    seconds: float


def plan_of(cases, size=4):
    """A plan of cases with these names, so many in a chunk."""
    parts = [tuple(cases[k : k + size]) for k in range(0, len(cases), size)]
    worlds = [tuple(range(k * size, k * size + len(part))) for k, part in enumerate(parts)]
    chunks = tuple(Chunk(f"{k:04d}-{part[0]}", SCENE, ("solver.dt=1e-3",), worlds[k], part) for k, part in enumerate(parts))
    digest = blake2b("\n".join(cases).encode(), digest_size=16).hexdigest()
    return StandInPlan(tuple(Case(case, (), k) for k, case in enumerate(cases)), chunks, "none", None, "cpu", digest, ())


def well(n):
    """Names of n cases that are well."""
    return [f"c-{k:04d}" for k in range(n)]


def number_of(case):
    """What comes of a case: a number that nobody else has."""
    return int.from_bytes(blake2b(case.encode(), digest_size=6).digest(), "little")


@dataclass
class Tick:
    """As `job.Tick`, as far as a worker looks at it."""

    fraction: float
    rate: float = 1000.0


def run(chunk, folder, threads, device, keep, time_limit, watch):
    """Run a chunk: sleep, and write a file."""
    begun, seconds = time.monotonic(), float(os.environ.get(SECONDS, "0"))
    kinds = {case.partition("-")[0] for case in chunk.cases}
    if "deaf" in kinds:
        time.sleep(1000)
    while (passed := time.monotonic() - begun) < seconds or "hang" in kinds:
        if not watch(Tick(passed / seconds if seconds else 0.5)):
            return None
        time.sleep(min(0.01, max(seconds, 0.001)))
    if "segv" in kinds:
        ctypes.string_at(0)
    if "kill" in kinds:
        os.kill(os.getpid(), 9)
    if "error" in kinds:
        raise ValueError("a defect")
    if "refused" in kinds:
        raise UsageError("the scene is wrong")
    if "device" in kinds:
        raise DeviceError("device `cuda` is not available on this machine")
    if "writer" in kinds and not (lost := Path(folder) / "lost").exists():
        lost.touch()
        raise WriterKilledError("a.h5: the process that writes it was ended from outside (status -9); --resume goes on")
    if "disk" in kinds:
        raise OutputError("result.json: cannot write: No space left on device")
    text = json.dumps({case: number_of(case) for case in chunk.cases})
    path = Path(folder) / "results" / f"{chunk.id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text)
    os.replace(draft, path)
    failed = {case: "nan" for case in chunk.cases if case.startswith("nan")}
    return StandInResult(path, blake2b(text.encode()).hexdigest(), failed, 10 * len(chunk.cases), passed)


def table_of(folder):
    """case -> (number in its result file, reason): what a final table would hold."""
    from simcli.sweeps.records.state import LedgerReader

    state, found = LedgerReader(folder).read(), {}
    state.forget_gone(folder)
    for case, result in state.results.items():
        found[case] = json.loads((folder / result.file).read_text())[case], result.reason
    return {**found, **{case: (None, reason) for case, reason in state.given_up().items()}}


class Here:
    """An executor in this process: one chunk at a time, by the stand-in; `endings` may say otherwise, attempt by attempt.

    Args:
        folder: of the sweep.
        ending: takes a chunk, gives the `Ending` of an attempt; None for what the stand-in makes of it.
        slots: chunks at a time.
    """

    name = "here"

    def __init__(self, folder, ending=lambda chunk: None, slots=1):
        self.slots, self._folder, self._ending = slots, folder, ending
        self.begun, self.closed = [], False
        self._waiting = []

    def start(self, chunk):
        self.begun.append(chunk.cases)
        self._waiting.append(chunk)

    def reports(self, timeout):
        from simcli.sweeps.executors.contract import Ending, Report, Work, run_task

        chunks, self._waiting, found = self._waiting, [], []
        for chunk in chunks:
            if (ending := self._ending(chunk)) is not None:
                found.append(Report(chunk.id, ending, reason=f"as it was told: {ending.value}"))
                continue
            said = run_task(chunk, Work(self._folder, "none", None, "cpu", 1, FUNCTION), lambda tick=None: True)
            found.append(Report(chunk.id, Ending(said["ending"]), said.get("result", {}), said.get("reason", ""), "me"))
        return found

    def stop(self):
        pass

    def close(self):
        self.closed = True


def names(n):
    """Names of n cases; two of them fail as worlds do."""
    return [*well(n - 2), "nan-1", "nan-2"]
