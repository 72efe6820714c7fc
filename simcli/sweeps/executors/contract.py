"""What the driver wants of those who do the work, and what it hears of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from simcli.errors import Exit, SimcliError
from simcli.sweeps.planning.plan import Chunk

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
