"""Processes of this machine that run chunks. One that dies costs its chunk and no more."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import IO, Any, cast

from simcli.errors import OutputError
from simcli.records.writing.spawn import own_process, signals_kept_from_children
from simcli.sweeps.executors.contract import Ending, Pace, Report, Work, checked_result, task_text
from simcli.sweeps.executors.worker import STOP_WORD
from simcli.sweeps.records.plan import Chunk

MOST_CHUNKS = 200  # of one process: whatever a library forgets to give back is given back then
COMPILING_S = 900.0  # [s] beyond the time limit, until a chunk is taken to hang
LAST_S = 5.0  # [s] that a process without work has to end


class WorkerProcess:
    """One process that runs one chunk after the other.

    Args:
        dies_with_us: whether the death of the thread that starts it is its own; else it ends when its input does.

    Attributes:
        chunk: that it runs, None if it has nothing to do.
        answers: descriptor to read from.
    """

    def __init__(self, dies_with_us: bool = True):
        self.answers, write = os.pipe()
        os.set_blocking(self.answers, False)
        parent = os.getpid() if dies_with_us else 0
        command, environment = own_process("simcli.sweeps.executors.worker", str(write), str(parent))
        try:
            with signals_kept_from_children():
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, pass_fds=(write,), bufsize=0, stdout=subprocess.DEVNULL, env=environment
                )
        except OSError as error:
            os.close(self.answers)
            raise OutputError(f"cannot start a process: {error.strerror or error}") from error
        finally:
            os.close(write)
        self.pid = self._process.pid
        self._tasks = cast("IO[bytes]", self._process.stdin)  # a pipe, which is asked for above
        self.chunk: Chunk | None = None
        self.n_chunks = 0
        self._due, self._is_overdue = float("inf"), False
        self._read = bytearray()

    def begin(self, chunk: Chunk, text: str, time_limit: float | None) -> None:
        """Hand a task over. If the process is dead, `news` will say so.

        Args:
            chunk: to run.
            text: of the task.
            time_limit: [s], of a case; the process itself ends a chunk that takes longer, unless it hangs.
        """
        self.chunk = chunk
        limit = float("inf") if time_limit is None else time_limit
        self._due = time.monotonic() + COMPILING_S + 2 * len(chunk.cases) * limit
        self.n_chunks += 1
        self._send(text)

    def stop(self) -> None:
        """Ask the chunk to end soon."""
        self._send(STOP_WORD)

    def _send(self, text: str) -> None:
        left = memoryview(f"{text}\n".encode())
        with contextlib.suppress(OSError):
            while left:
                left = left[os.write(self._tasks.fileno(), left) :]

    def news(self, patience: float = 0.0) -> list[Report | Pace]:
        """What it has said since; a Report if it has died with a chunk.

        Args:
            patience: [s], to wait for a word.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self.answers, selectors.EVENT_READ)
            selector.select(patience)
        if self.is_overdue:
            self._is_overdue = True
            self._process.kill()
        found: list[Report | Pace] = []
        is_gone = False
        try:
            while not is_gone:
                part = os.read(self.answers, 1 << 16)
                self._read += part
                is_gone = not part
        except BlockingIOError:
            pass
        *lines, rest = self._read.split(b"\n")
        self._read = bytearray(rest)
        found += [self._word(json.loads(line)) for line in lines]
        if is_gone:
            code = self.end()
            if self.chunk is not None:
                death = (Ending.CRASHED, {}, "time limit: its process hung") if self._is_overdue else _death(code)
                found.append(Report(self.chunk.id, *death, worker=str(self.pid)))
                self.chunk = None
        return found

    def _word(self, plain: dict[str, Any]) -> Report | Pace:
        chunk = self.chunk
        assert chunk is not None, plain  # it speaks of one alone
        if "ending" not in plain:
            return Pace(chunk.id, plain["fraction"], plain["rate"])
        self.chunk = None
        return report_of(chunk, plain, str(self.pid))

    @property
    def is_overdue(self) -> bool:
        """True if its chunk takes so long that it must hang."""
        return self.chunk is not None and time.monotonic() > self._due

    @property
    def is_dead(self) -> bool:
        """True once its end has been seen."""
        return self._process.returncode is not None

    def end(self, patience: float = LAST_S) -> int:
        """End it; returns its status, as of `subprocess`."""
        if self._process.returncode is None:
            with contextlib.suppress(OSError):
                self._tasks.close()
            try:
                self._process.wait(patience)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            os.close(self.answers)
        return self._process.returncode


def report_of(chunk: Chunk, plain: dict[str, Any], worker: str, host: str = "") -> Report:
    """What a worker says of the end of a chunk, checked."""
    try:
        ending = Ending(plain["ending"])
        result = checked_result(plain["result"], chunk.cases) if ending is Ending.DONE else {}
        return Report(chunk.id, ending, result, str(plain.get("reason", "")), worker, host)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        words = f"the worker's answer is no result: {error}"
        return Report(chunk.id, Ending.CRASHED, reason=words, worker=worker, host=host)


def _death(code: int) -> tuple[Ending, dict, str]:
    """How a process died, and the words for it."""
    if code == -signal.SIGKILL:
        return Ending.LOST, {}, "its process was killed (kill -9, or the system ran out of memory)"
    if code < 0:
        return Ending.CRASHED, {}, f"its process was ended by {signal.Signals(-code).name}"
    return Ending.CRASHED, {}, f"its process ended with exit code {code}"


class Pool:
    """An executor: n processes of this machine.

    Args:
        n: processes.
        work: what all chunks have in common; its threads are those of one process.
    """

    def __init__(self, n: int, work: Work):
        self.name = f"workers {n}"
        self.slots = n
        self._work = work
        self._workers: list[WorkerProcess] = []

    def start(self, chunk: Chunk) -> None:
        """Begin a chunk in a process that has nothing to do."""
        idle = next((one for one in self._workers if one.chunk is None), None)
        if idle is not None and (idle.n_chunks >= MOST_CHUNKS or idle.is_dead):
            self._workers.remove(idle)
            idle.end()
            idle = None
        if idle is None:
            idle = WorkerProcess()
            self._workers.append(idle)
        idle.begin(chunk, task_text(chunk, self._work), self._work.time_limit)

    def reports(self, timeout: float) -> Sequence[Report | Pace]:
        """What the processes say."""
        if not self._workers:
            time.sleep(timeout)
            return []
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                selector.register(worker.answers, selectors.EVENT_READ, worker)
            ready = [key.data for key, _ in selector.select(timeout)]
        found = [one for worker in {*ready, *(one for one in self._workers if one.is_overdue)} for one in worker.news()]
        self._workers = [one for one in self._workers if not one.is_dead]
        return found

    def stop(self) -> None:
        """Ask all of them to end their chunk soon."""
        for worker in self._workers:
            if worker.chunk is not None:
                worker.stop()

    def close(self) -> None:
        """End all of them, at once."""
        for worker in self._workers:
            worker.end(0.0 if worker.chunk is not None else LAST_S)
        self._workers = []
