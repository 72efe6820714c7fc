"""The folder of kernels that Taichi sees from a start to its stop: one of our own, in the place for temporary files.

Taichi reads and writes its list of kernels under a lock file, for which it tries five times within 0.2 s, then works
without the folder and says nothing; a process that was killed there leaves the lock for good, one that was killed while it
wrote leaves half a list, after which all kernels are compiled again; and a folder that cannot be written cannot be locked,
so that it is not even read. It makes the folder when it stops, and ends the process with a segmentation fault where it
cannot. So each start gets a folder that nobody shares: links to the kernels of kernel_cache.py and a list of them. When
Taichi has stopped, the folder holds what is new.
"""

import contextlib
import os
import shutil
import struct
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import taichi as ti

from simcli.errors import SimcliWarning
from simcli.kernels import kernel_cache
from simcli.kernels.kernel_cache import SUFFIX

PREFIX = "simcli-kernels-"
LIST = "ticache.tcb"  # Taichi's name for it
PIPELINES = "rhi_cache.bin"  # what a GPU's driver keeps for itself
OLD = 86400.0  # [s], of the folder of a process that was killed; one that still runs compiles what it wants from there


class KernelSession:
    """A folder for Taichi.

    Attributes:
        path: the folder; None if none could be made.
        keeper: where new kernels are kept, None if nowhere.
        reason: why that is not the first folder, or why there is none; "" if it is.
    """

    def __init__(self):
        self.keeper, self.reason = kernel_cache.keeper()
        self._files: dict[str, Path] = {}
        for folder in reversed(kernel_cache.folders()):
            self._files |= kernel_cache.kernels_below(folder)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            _offer(self._files, self.path)
            if self.keeper and (pipelines := kernel_cache.place_in(self.keeper) / PIPELINES).exists():
                shutil.copyfile(pipelines, self.path / PIPELINES)
        except OSError as error:
            self.keeper, self.reason, self.path = None, f"{tempfile.gettempdir()}: {error.strerror}", None

    def settings(self) -> dict:
        """Taichi's configuration for this folder; it removes nothing from it."""
        if self.path is None:
            return {"offline_cache": False, "offline_cache_file_path": os.path.abspath(os.sep)}  # a folder that is there
        return {"offline_cache": True, "offline_cache_file_path": str(self.path), "offline_cache_cleaning_policy": "never"}

    def clear(self) -> None:
        """Leave nothing in the folder, directly before Taichi stops and writes what it has compiled."""
        if self.path is not None:
            for entry in self.path.glob("[!r]*"):  # PIPELINES stays
                entry.unlink()

    def tell(self) -> None:
        """Warn, once in a process, if a kernel that was compiled is not kept where it was looked for."""
        if self.keeper and self.reason:
            tell_once(f"kernels that were compiled are kept in {self.keeper}: {self.reason}")
        elif self.reason:
            tell_not_kept(self.reason)

    def close(self, used: Iterable[str]) -> None:
        """Keep what is new, and remove the folder.

        Args:
            used: keys of the kernels that were read.

        Raises:
            OSError: a kernel could not be kept.
        """
        if self.path is None:
            return
        try:
            kernel_cache.note_use([self._files[key] for key in used if key in self._files])
            new = [*self.path.glob(f"*{SUFFIX}"), *self.path.glob(PIPELINES)]
            if self.keeper and new:
                for file in new:
                    kernel_cache.keep(file, self.keeper)
                kernel_cache.tidy(self.keeper)
                _remove_old()
        finally:
            shutil.rmtree(self.path, ignore_errors=True)
            self.path = None


@contextlib.contextmanager
def variable_unread() -> Iterator[None]:
    """Keep the environment variable of its folder from Taichi, which would print that an argument overrides it."""
    value = os.environ.pop(kernel_cache.TAICHIS, None)
    try:
        yield
    finally:
        if value is not None:
            os.environ[kernel_cache.TAICHIS] = value


def _offer(files: dict[str, Path], folder: Path) -> None:
    """Links to kernels, or copies where links are not allowed, and Taichi's list of them."""
    for key, file in files.items():
        try:
            (folder / (key + SUFFIX)).symlink_to(file)
        except OSError:
            shutil.copyfile(file, folder / (key + SUFFIX))
    (folder / LIST).write_bytes(_list_of(files))


def _list_of(keys: Iterable[str]) -> bytes:
    """Taichi's list (1.7.4): its length, version, size of all files, and of each kernel key, key, size, and times of use.

    Numbers are little-endian; a text follows its length, whole numbers have 8 bytes, those of the version 2. The sizes serve
    to remove files alone, which we do ourselves; they must not be 0.
    """
    now, entries = int(time.time()), []
    for key in keys:
        text = struct.pack("<Q", len(key)) + key.encode()
        entries.append(text + text + struct.pack("<QQQ", 1, now, now))
    body = struct.pack("<HHHQQ", *ti.__version__, len(entries), len(entries)) + b"".join(entries)
    return struct.pack("<Q", len(body) + 8) + body


def _remove_old() -> None:
    """Remove the folders of processes that were killed."""
    for path in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > OLD:
                shutil.rmtree(path, ignore_errors=True)  # those of other users stay


def tell_not_kept(reason: str) -> None:
    """Warn, once in a process, that kernels are not kept."""
    tell_once(f"compiled kernels cannot be kept, so that each run compiles anew: {reason}; {kernel_cache.VARIABLE} names "
              "another folder")


def tell_once(text: str) -> None:
    """Warn of the folders, once in a process."""
    if not _told:
        _told.append(text)
        warnings.warn(text, SimcliWarning, stacklevel=4)


_told: list[str] = []
