"""The process that writes the file of one run: `python -m simcli.records.writing.recorder_process DESCRIPTOR BYTES`.

It reserves the shared memory behind the descriptor, for so many bytes of frames at most. Then it reads `messages` on its
standard input (an `Assignment`, `Publish`, then `Frames`, then `Close`), takes the frames out of that memory, and answers on
its standard output. It imports no Taichi. Only the run decides when it ends: the signals of a terminal or a scheduler do not
reach it (`spawn`). When the run is gone without a word, killed, the pipe ends: what had been handed over completely is
committed, and the file closed as `stopped`.
"""

import contextlib
import os
import re
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

from simcli.errors import Exit, OutputError
from simcli.records.lock import WriterLock, remove_drafts
from simcli.records.writing.messages import Assignment, Close, Closed, Committed, Defect, Failed, Inbox, Ring, reserve, send
from simcli.records.writing.output_file import Backlog, OutputFile


class Correspondence:
    """What the run says, and what is answered.

    Args:
        inbox: of the messages.
        answers: descriptor.
    """

    def __init__(self, inbox: Inbox, answers: int):
        self.inbox, self._answers = inbox, answers

    def answer(self, message: Any) -> None:
        """Send an answer, if there is still somebody to read it."""
        with contextlib.suppress(BrokenPipeError):
            send(self._answers, message)


class RefusedError(Exception):
    """The system refused to make or to write the file."""

    def __init__(self, what: str, error: BaseException):
        super().__init__(what)
        self.message = Failed(what, _reason_of(error))


@contextlib.contextmanager
def _told_as(what: str) -> Iterator[None]:
    """What HDF5 raises when the system refuses something, as a RefusedError."""
    try:
        yield
    except (OSError, RuntimeError, MemoryError) as error:
        raise RefusedError(what, error) from error


class Recording:
    """One file from its assignment to its end.

    Args:
        assignment: what to make and how.
        memory: descriptor of the memory in which the frames come.

    Raises:
        OutputError: another process writes the file.
        RefusedError: it cannot be made; also of the methods: it cannot be written.
    """

    def __init__(self, assignment: Assignment, memory: int):
        order = assignment.order
        self._lock = WriterLock(order.path, assignment.owner)
        try:
            with _told_as("cannot be made"):
                ring = Ring(memory, order.growing, assignment.length)
                remove_drafts(order.path)  # of writers that were killed: this one holds the lock
                self._file = OutputFile(order)
        except BaseException:
            self.release()
            raise
        self.backlog = Backlog(
            ring, order.growing.grain, assignment.portion, assignment.patience, order.growing.axes.n_worlds, time.monotonic()
        )

    def publish(self) -> None:
        """Let the file stand at its own name."""
        with _told_as("cannot be made"):
            self._file.publish()

    def discard(self) -> None:
        """Leave nothing of a file that was not published."""
        self._file.discard()
        self.release()

    @property
    def committed(self) -> Committed:
        """How far it is."""
        return Committed(self._file.n_committed)

    def commit(self) -> None:
        """Commit what is due."""
        with _told_as("cannot write"):
            self._file.commit(self.backlog.take(time.monotonic()))

    def close(self, last: Close) -> Closed:
        """Commit everything, of a run without frames that there are none, and close the file."""
        with _told_as("cannot write"):
            while True:
                batch = self.backlog.take(time.monotonic(), is_last=True)
                if batch.n_frames or batch.events or not self._file.n_committed:
                    self._file.commit(batch)
                if not self.backlog.n_frames:
                    break
            self._file.close(last.status, last.measured)
        self.release()
        return Closed(self._file.n_committed)

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()


def main() -> None:
    """Make and write one file, or none if the run ends before it says which."""
    memory = int(sys.argv[1])
    reserve(memory, int(sys.argv[2]))
    answers = os.dup(1)
    os.dup2(2, 1)  # what a library may print goes to stderr: the answers stay clean
    code, _ = record(memory, Correspondence(Inbox(0), answers))
    os._exit(int(code))  # HDF5 crashes at interpreter exit once a write has failed


def record(memory: int, post: Correspondence, has_process: bool = True) -> tuple[Exit, list]:
    """Make and write one file, or none if the run ends before it says which.

    Args:
        memory: descriptor of the memory in which the frames come.
        post: with the run.
        has_process: whether this process is here for the file alone; else it is made only when it is published.

    Returns:
        Exit code of a process, and what holds a file that could not be written.
    """
    recording, failed = None, None
    try:
        recording = _begun(memory, post, has_process)
        if recording is None:
            return Exit.OK, []
        recording.publish()
        post.answer(recording.committed)
        last, code = recording.close(_write_until_closed(recording, post)), Exit.OK
    except OutputError as error:
        failed, last, code = error, Failed("", str(error)), Exit.OUTPUT
    except RefusedError as error:
        failed, last, code = error, error.message, Exit.OUTPUT
    except BaseException as error:
        failed, last, code = error, Defect(traceback.format_exc()), Exit.INTERNAL
    if recording:
        recording.release()
    post.answer(last)
    return code, [recording, failed] if failed else []


def _begun(memory: int, post: Correspondence, has_process: bool) -> Recording | None:
    """A file that may be published; None if the run ends before its first frame. Raises as `Recording`."""
    recording = None
    try:
        assignment = post.inbox.take()
        if has_process:
            os.chdir(assignment.folder)
            recording = Recording(assignment, memory)
        post.inbox.take()
    except EOFError:
        if recording:
            recording.discard()
        return None
    return recording or Recording(assignment, memory)


def _write_until_closed(recording: Recording, post: Correspondence) -> Close:
    """Commit frames as they come, until no more do; returns how the file ends."""
    backlog = recording.backlog
    while True:
        seconds = backlog.seconds_to_commit(time.monotonic())
        if seconds == 0.0 or not post.inbox.waits(seconds):
            recording.commit()
            post.answer(recording.committed)
            continue
        try:
            message = post.inbox.take()
        except EOFError:  # the run was killed: what it did not finish to hand over does not count
            return Close("stopped")
        if isinstance(message, Close):
            return message
        backlog.add(message.n, message.events, message.contacts)


def _reason_of(error: BaseException) -> str:
    """What the operating system said, out of HDF5's long message."""
    found = re.search(r"error message = '([^']*)'", str(error))
    if found:
        return found.group(1)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


if __name__ == "__main__":
    main()
