"""One writer per file: a lock file beside it, held by the kernel for as long as the writer lives.

What runs leave beside their file when they are killed is removed here as well: drafts, a lock, unneeded checkpoints.
"""

import os
import re
import time
from pathlib import Path

from simcli.errors import OutputError

try:
    import fcntl
except ImportError:  # Windows: the lock file alone, which a killed writer leaves behind
    fcntl = None

FINISH_S = 30.0  # a recorder whose run was killed writes at most what lies in the ring
_POLL_S = 0.02


def is_being_written(path: Path) -> bool:
    """True if a living process on this machine holds the lock of a file."""
    if fcntl is None:
        return False
    try:
        with path.with_name(path.name + ".lock").open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def wait_for_orphan(path: Path) -> None:
    """Wait while the recorder of a run that was killed still writes what it had been handed."""
    deadline = time.monotonic() + FINISH_S
    while time.monotonic() < deadline and is_being_written(path) and _owner_is_dead(path):
        time.sleep(_POLL_S)


def _owner_is_dead(path: Path) -> bool:
    try:
        os.kill(int(path.with_name(path.name + ".lock").read_text()), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False


class WriterLock:
    """Holds NAME.lock beside a file; its text is the process id of the run, which may be another process.

    Args:
        path: of the file.
        owner: process id of the run; default this process.

    The lock is an `flock`: it dies with its process, so that the file a killed writer leaves behind locks nobody out.
    """

    def __init__(self, path: Path, owner: int | None = None):
        self.path = path.with_name(path.name + ".lock")
        self._owner = os.getpid() if owner is None else owner
        self._descriptor = self._take()

    def _take(self) -> int:
        for _ in range(100):  # another writer may remove the file between our open and our flock
            descriptor = self._open()
            if fcntl is None or self._is_mine(descriptor):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{self._owner}\n".encode())
                return descriptor
            os.close(descriptor)
        raise OutputError(f"{self.path}: cannot be locked")

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | (os.O_EXCL if fcntl is None else 0)
        try:
            return os.open(self.path, flags, 0o644)
        except FileExistsError as error:
            raise OutputError(
                f"{self._target()}: another simcli writes this file; if none does, delete {self.path}"
            ) from error
        except OSError as error:
            raise OutputError(f"{self._target()}: cannot write here: {error.strerror}") from error

    def _is_mine(self, descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise OutputError(f"{self._target()}: process {owner or 'unknown'} is writing this file") from error
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _target(self) -> Path:
        return self.path.with_suffix("")

    def release(self) -> None:
        """Give the lock back. May be called twice."""
        if self._descriptor is None:
            return
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = None


def remove_drafts(output: Path) -> None:
    """Remove drafts of an output and of its checkpoints. Whoever holds the lock of the output makes them, nobody else."""
    draft = re.compile(rf"\.{re.escape(output.name)}\.(\d+|checkpoint\d+)\.part")
    if output.parent.is_dir():
        for path in output.parent.iterdir():
            if draft.fullmatch(path.name):
                path.unlink(missing_ok=True)
