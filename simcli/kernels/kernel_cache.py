"""Taichi's folder of compiled kernels: where it is, how much it holds, and the lock that a killed process leaves behind.

Taichi gives its lock five tries within 0.2 s, then compiles without the folder and says nothing at our level of messages:
for good, if the process that held the lock was killed. It holds the lock for milliseconds, while it reads or writes.
It makes the folder when it stops, wanted or not, and ends the process with a segmentation fault where it cannot.
"""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "TI_OFFLINE_CACHE_FILE_PATH"
MOST_BYTES = 2**30  # kept between runs; Taichi's own 100 MB hold 300 mechanisms with contact
STALE = 10.0  # [s], age of a lock that nobody holds
PATIENCE = 15.0  # [s], waiting for a lock that is younger
TURN = 0.01  # [s], between looks
LEAST_FREE = 16 * 2**20  # bytes: a kernel with contact takes a few MB


def folder() -> Path:
    """Where Taichi keeps its kernels: what its environment variable says, else beside the other caches of the user."""
    return Path(os.environ.get(VARIABLE) or Path.home() / ".cache" / "taichi" / "ticache")


def trouble() -> str:
    """Why the folder can take no kernels, "" if it can; makes the folder."""
    try:
        where = folder()
    except RuntimeError as error:  # there is no home
        return str(error)
    try:
        where.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=where) as file:
            file.write(b"kernel")
        free = shutil.disk_usage(where).free
    except OSError as error:
        return f"{where}: {error.strerror}"
    return "" if free >= LEAST_FREE else f"{where}: {free / 2**20:.1f} MiB are free there, {LEAST_FREE >> 20} are needed"


@contextlib.contextmanager
def variable_unread() -> Iterator[None]:
    """Keep the environment variable of the folder from Taichi, which would print that an argument overrides it."""
    value = os.environ.pop(VARIABLE, None)
    try:
        yield
    finally:
        if value is not None:
            os.environ[VARIABLE] = value


def wait_for_lock() -> None:
    """Return once no other process holds the lock of the folder, or after `PATIENCE`; remove a lock that is stale."""
    lock = folder() / "ticache.lock"
    end = time.monotonic() + PATIENCE
    while (age := _age(lock)) is not None and time.monotonic() < end:
        if age > STALE:
            with contextlib.suppress(OSError):
                lock.unlink()
            return
        time.sleep(TURN)


def _age(path: Path) -> float | None:
    """[s] since a file was written; None if there is none. A file of the future, by a clock set back, is as old as any."""
    try:
        age = time.time() - path.stat().st_mtime
    except (OSError, RuntimeError):
        return None
    return age if age >= 0.0 else STALE + 1.0
