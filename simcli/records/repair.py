"""Make a file whose writer was killed readable for every HDF5 program.

The committed data are whole, so it is enough to clear the mark in the superblock and to cut what was not committed.
"""

import os
from pathlib import Path

import h5py
import numpy as np

from simcli.errors import FileError
from simcli.records.guard import open_checked
from simcli.records.layout import CATALOGUE
from simcli.records.lock import WriterLock
from simcli.records.superblock import is_sound, read_superblock, stated_size, unmarked

MAX_MISSING = 2**32  # [B] that a full disk cut off; more is not believed


def repair(path: str | os.PathLike) -> str:
    """Clear the mark of a killed writer, cut what was not committed, and set the status to `stopped`.

    Returns:
        One line: what was done.

    Raises:
        FileError: the file is still being written, or is damaged beyond the mark.
    """
    path = Path(path)
    file, _ = open_checked(path)  # nothing is changed in a file that cannot be read
    status = file["run/status"][()].decode()
    file.close()
    if status != "running":
        return f"{path}: nothing to repair, the run is {status}"
    try:
        lock = WriterLock(path)
    except Exception as error:
        raise FileError(f"{path}: cannot be repaired: {error}") from error
    try:
        clear_mark(path)
        n = _finish(path)
    except FileError:
        raise
    except Exception as error:  # HDF5 raises nearly every type on damaged metadata
        raise FileError(f"{path}: cannot be repaired: {error}") from error
    finally:
        lock.release()
    return f"{path}: repaired, {n} frames; the run is marked stopped"


def clear_mark(path: Path) -> None:
    """Clear the mark in the superblock."""
    block = read_superblock(path)
    missing = stated_size(block) - path.stat().st_size
    if not is_sound(block) or missing > MAX_MISSING:
        raise FileError(f"{path}: its first block is damaged: it cannot be repaired")
    with path.open("r+b") as stream:
        if missing > 0:  # HDF5 may hold references to what the full disk cut off, and must not allocate it again
            stream.truncate(stated_size(block))
        stream.write(unmarked(block, stated_size(block)))


def _finish(path: Path) -> int:
    """Cut the uncommitted tail, so that other programs see the same frames as simcli, and mark the run."""
    with h5py.File(path, "r+", libver="latest") as file:
        n = int(file["run/n_committed"][()])
        for row in _by_frame(file):
            if len(row) > n:
                row.resize(n, axis=0)
        file["run/status"][()] = np.bytes_(b"stopped")
        return n


def _by_frame(file: h5py.File) -> list[h5py.Dataset]:
    rows = [file[row.path] for row in CATALOGUE if row.by_frame and row.path in file]
    if "frames/point" in file:
        file["frames/point"].visititems(lambda _, item: rows.append(item) if isinstance(item, h5py.Dataset) else None)
    return rows
