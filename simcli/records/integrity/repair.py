"""Make a file whose writer was killed readable for every HDF5 program.

The committed data are whole, so it is enough to clear the mark in the superblock and to cut what was not committed.
"""

import contextlib
import os
from pathlib import Path

import h5py
import numpy as np

from simcli.errors import FileError, OutputError
from simcli.records import checkpoint
from simcli.records.contents.layout import BARE_SCALES, STATUSES
from simcli.records.hdf5_bytes import FORMAT_BOUNDS, is_marked, is_sound, read_superblock, stated_size, unmarked
from simcli.records.lock import WriterLock
from simcli.records.reading.reader import open_trajectory
from simcli.records.reading.tiles import committed_length, held

ENDED = ("done", "failed")  # such a run does not go on
MAX_MISSING = 2**32  # [B] that a full disk cut off; more is not believed


def repair_file(path: str | os.PathLike) -> str:
    """Clear the mark of a killed writer, cut what was not committed, and set the status `running` to `stopped`.

    The checkpoints of an unfinished run stay, so that it can still go on; those of one that had ended go.

    Returns:
        One line: what was done.

    Raises:
        FileError: the file is still being written, or is damaged beyond the mark.
    """
    path = Path(path)
    open_trajectory(path).close()  # nothing is changed, not even a lock is made, beside a file that cannot be read
    try:
        lock = WriterLock(path)
    except OutputError as error:
        raise FileError(f"{path}: cannot be repaired: {error}") from error
    try:
        return _repaired(path)
    except FileError:
        raise
    except Exception as error:  # HDF5 raises nearly every type on damaged metadata
        raise FileError(f"{path}: cannot be repaired: {error}") from error
    finally:
        lock.release()


def _repaired(path: Path) -> str:
    """Repair a file whose lock is ours."""
    with open_trajectory(path) as run:
        word, counters = run._file["run/status"][()].decode(), run.counters()
        known = [row for row in held(run) if row.by_frame or counters["digest"]]
        length = {row.path: committed_length(row, run.n_frames, run.n_worlds, counters) for row in known}
        scale = {
            f"{row.path.split('/')[0]}/{BARE_SCALES[row.axes[0]]}": length[row.path]
            for row in known
            if row.axes[0] in BARE_SCALES
        }
        more = len(run._file["frames/time"]) - run.n_frames
    is_killed = word == STATUSES[0]
    if word in ENDED:
        checkpoint.clear_checkpoints(path)
    if not is_killed and not is_marked(read_superblock(path)):
        return f"{path}: nothing to repair, the run is {word}"
    clear_mark(path)
    if is_killed:
        _finish(path, {**length, **scale})
    cut = f"; {more} frames that were not committed are cut" if more else ""
    left = "the run is marked stopped, and --resume goes on" if is_killed else f"the run is {word}"
    return f"{path}: repaired, {length['frames/time']} frames{cut}; {left}"


def tidy_finished(path: Path) -> None:
    """Clean up after a run that was killed once it had marked its file as ended: its mark, lock, checkpoints and drafts.

    What cannot be written stays as it is.
    """
    beside = [path.with_name(path.name + ".lock"), *checkpoint.paths(path)]
    if not is_marked(read_superblock(path)) and not any(one.exists() for one in beside):
        return
    with contextlib.suppress(OutputError, FileError, OSError):
        lock = WriterLock(path)
        try:
            if is_marked(read_superblock(path)):
                clear_mark(path)
            checkpoint.clear_checkpoints(path)
        finally:
            lock.release()


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
