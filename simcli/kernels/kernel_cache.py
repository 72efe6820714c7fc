"""Taichi's folder of compiled kernels: where it is, how much it holds, and the lock that a killed process leaves behind.

Taichi gives its lock five tries within 0.2 s, then compiles without the folder and says nothing at our level of messages:
for good, if the process that held the lock was killed. It holds the lock for milliseconds, while it reads or writes.
"""

import contextlib
import os
import time
from pathlib import Path

MOST_BYTES = 2**30  # kept between runs; Taichi's own 100 MB hold 300 mechanisms with contact
STALE = 10.0  # [s], age of a lock that nobody holds
PATIENCE = 15.0  # [s], waiting for a lock that is younger
TURN = 0.01  # [s], between looks


def folder() -> Path:
    """Where Taichi keeps its kernels: what its environment variable says, else beside the other caches of the user."""
    return Path(os.environ.get("TI_OFFLINE_CACHE_FILE_PATH") or Path.home() / ".cache" / "taichi" / "ticache")


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
