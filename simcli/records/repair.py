"""Make a file whose writer was killed readable for every HDF5 program.

The committed data are whole, so it is enough to clear the mark in the superblock and to cut what was not committed.
"""

import os
from pathlib import Path

import h5py
import numpy as np

from simcli.errors import FileError
from simcli.records.create import BARE_SCALES
from simcli.records.integrity import committed_length, held
from simcli.records.lock import WriterLock
from simcli.records.reader import open_trajectory
from simcli.records.superblock import FORMAT_BOUNDS, is_sound, read_superblock, stated_size, unmarked

MAX_MISSING = 2**32  # [B] that a full disk cut off; more is not believed


def repair(path: str | os.PathLike) -> str:
    """Clear the mark of a killed writer, cut what was not committed, and set the status to `stopped`.

    Returns:
        One line: what was done.

    Raises:
        FileError: the file is still being written, or is damaged beyond the mark.
    """
    path = Path(path)
    with open_trajectory(path) as run:  # nothing is changed in a file that cannot be read
        status, counters = run.status, run.counters()
        known = [row for row in held(run) if row.by_frame or counters["digest"]]
        length = {row.path: committed_length(row, run.n_frames, run.n_worlds, counters) for row in known}
        scale = {f"{row.path.split('/')[0]}/{BARE_SCALES[row.axes[0]]}": length[row.path] for row in known
                 if row.axes[0] in BARE_SCALES}  # fmt: skip
    if status != "running":
        return f"{path}: nothing to repair, the run is {status}"
    try:
        lock = WriterLock(path)
    except Exception as error:
        raise FileError(f"{path}: cannot be repaired: {error}") from error
    try:
        clear_mark(path)
        _finish(path, {**length, **scale})
    except FileError:
        raise
    except Exception as error:  # HDF5 raises nearly every type on damaged metadata
        raise FileError(f"{path}: cannot be repaired: {error}") from error
    finally:
        lock.release()
    return f"{path}: repaired, {length['frames/time']} frames; the run is marked stopped"


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


def _finish(path: Path, length: dict[str, int]) -> None:
    """Cut the uncommitted tails, so that other programs see the same rows as simcli, and mark the run.

    Args:
        path: of the file.
        length: committed rows by dataset.
    """
    with h5py.File(path, "r+", libver=FORMAT_BOUNDS) as file:
        for name, n in length.items():
            if len(file[name]) > n:
                file[name].resize(n, axis=0)
        file["run/status"][()] = np.bytes_(b"stopped")
