"""What the driver wants of those who do the work, and what it hears of them.

Tasks and results are plain JSON: nothing that comes back from a worker is ever unpickled.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from simcli.errors import DeviceError, Exit, OutputError, SimcliError, WriterKilledError
from simcli.spec.document.overrides import Override
from simcli.sweeps.records.plan import Chunk

RUN_CHUNK = "simcli.sweeps.executors.chunk_run:run_chunk"


class WorkersGoneError(SimcliError):
    """Nobody is there any more to do the work; what is left can be done later."""

    exit_code = Exit.STOPPED


class Ending(Enum):
    """How an attempt at a chunk ended."""

    DONE = "done"
    STOPPED = "stopped"  # as it was asked to
    REFUSED = "refused"  # the scene, the command or the files are wrong: it would be so every time
    CRASHED = "crashed"  # an error, or the process ended by itself
    LOST = "lost"  # the process was killed, or its machine is gone
    OUTPUT = "output"  # the disk: every chunk would end so
    DEVICE = "device"  # missing, or wrong: likewise


@dataclass(frozen=True)
class Report:
    """The end of an attempt.

    Attributes:
        chunk: id.
        ending: how.
        result: of a chunk that is done: file (below the folder of the sweep), digest, failed, n_steps, seconds.
        reason: of any other, one line.
        worker: who did it, for people.
        host: where, "" for this machine.
    """

    chunk: str
    ending: Ending
    result: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    worker: str = ""
    host: str = ""


@dataclass(frozen=True)
class Pace:
    """How far an attempt is.

    Attributes:
        chunk: id.
        fraction: of its frames.
        rate: [1/s], world-steps per second.
    """

    chunk: str
    fraction: float
    rate: float


@dataclass(frozen=True)
class Work:
    """What all chunks of a sweep have in common.

    Attributes:
        folder: of the sweep.
        keep: trajectories that stay: all, failed, none.
        time_limit: [s], wall time per case; None for none.
        device: class of device.
        threads: CPU threads of a chunk, None for what the executor finds right.
        function: `module:name` of what runs a chunk, see `chunk_run.run_chunk`.
    """

    folder: Path
    keep: str
    time_limit: float | None
    device: str
    threads: int | None = None
    function: str = RUN_CHUNK


class Executor(Protocol):
    """Gets chunks done.

    Attributes:
        name: for people and the ledger, as `workers 4`.
        slots: chunks that it takes at a time.
    """

    name: str

    @property
    def slots(self) -> int:
        """Chunks that it takes at a time, by now."""

    def start(self, chunk: Chunk) -> None:
        """Begin a chunk; at most `slots` are under way."""

    def reports(self, timeout: float) -> Sequence[Report | Pace]:
        """What has happened; waits so long [s] for something to happen. Every chunk that was begun has one Report.

        Raises:
            WorkersGoneError: nobody is there any more to do the work.
        """

    def stop(self) -> None:
        """Ask all that is under way to end soon, with a checkpoint if it can."""

    def close(self) -> None:
        """End all that is under way, at once."""


DEVICE_BY_SCENE = ("SC713", "SC714")  # faults that fewer worlds or another scene would not have
MOST_OF_REASON = 500  # characters of a reason that a ledger keeps
_WRITER_LOST = "the process that writes its result was killed (kill -9, or the system ran out of memory)"


def task_text(chunk: Chunk, work: Work) -> str:
    """A chunk and what it has in common with all others, as a line of JSON."""
    sets = [list(one) if isinstance(one, Override) else one for one in chunk.sets]
    return json.dumps(
        {
            "chunk": {**vars(chunk), "scene": os.path.abspath(chunk.scene), "sets": sets},
            "work": {**asdict(work), "folder": os.path.abspath(work.folder)},
        }
    )


def task_of(text: str) -> tuple[Chunk, Work]:
    """The chunk and the work of `task_text`."""
    plain = json.loads(text)
    chunk, work = plain["chunk"], plain["work"]
    sets = tuple(one if isinstance(one, str) else Override(*one) for one in chunk["sets"])
    return (
        Chunk(chunk["id"], Path(chunk["scene"]), sets, tuple(chunk["worlds"]), tuple(chunk["cases"])),
        Work(**{**work, "folder": Path(work["folder"])}),
    )


def run_task(chunk: Chunk, work: Work, watch: Callable[..., bool]) -> dict[str, Any]:
    """Run a chunk; whatever comes of it is plain JSON.

    Args:
        chunk: see `task_text`.
        work: likewise.
        watch: sees every Tick; its False stops the run.

    Returns:
        `ending` (of `Ending`), and `result` or `reason`.
    """
    try:
        module, _, name = work.function.partition(":")
        run = getattr(import_module(module), name)
        found = run(chunk, work.folder, work.threads, work.device, work.keep, work.time_limit, watch)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # no error of a chunk may end the worker, or it would be taken for killed
        ending = _ending_of(error)
        return {"ending": ending.value, "reason": _WRITER_LOST if ending == Ending.LOST else reason_of(error)}
    if found is None:
        return {"ending": Ending.STOPPED.value, "reason": "stopped as asked"}
    file = os.path.relpath(found.file, work.folder) if os.path.isabs(found.file) else str(found.file)
    result = {
        "file": file,
        "digest": found.digest,
        "failed": dict(found.failed),
        "n_steps": int(found.n_steps),
        "seconds": float(found.seconds),
    }
    return {"ending": Ending.DONE.value, "result": result}


def _ending_of(error: BaseException) -> Ending:
    if isinstance(error, WriterKilledError):
        return Ending.LOST
    if isinstance(error, OutputError | OSError):
        return Ending.OUTPUT
    if isinstance(error, DeviceError):
        return Ending.CRASHED if str(error).startswith(DEVICE_BY_SCENE) else Ending.DEVICE
    return Ending.REFUSED if isinstance(error, SimcliError) else Ending.CRASHED


def reason_of(error: BaseException) -> str:
    """An error in one line."""
    words = " ".join(str(error).split())
    text = words if isinstance(error, SimcliError) and words else f"{type(error).__name__}: {words}"
    return text[:MOST_OF_REASON]


def checked_result(found: Any, cases: tuple[str, ...]) -> dict[str, Any]:
    """A result as it came from a worker, checked in all that it is used for.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(found, dict) or not isinstance(found.get("failed"), dict):
        raise ValueError("the worker's answer is no result")
    file, digest = found.get("file"), found.get("digest")
    if not isinstance(file, str) or not isinstance(digest, str) or os.path.isabs(file) or ".." in Path(file).parts:
        raise ValueError("the worker's answer names no file below the folder of the sweep")
    failed = {case: str(reason)[:MOST_OF_REASON] for case, reason in found["failed"].items()}
    if not failed.keys() <= set(cases):
        raise ValueError("the worker's answer names cases that it did not have")
    return {
        "file": file,
        "digest": digest,
        "failed": failed,
        "n_steps": int(found["n_steps"]),
        "seconds": float(found["seconds"]),
    }
