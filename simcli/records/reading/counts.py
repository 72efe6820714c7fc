"""What counts of a file: its status, its committed frames, and the events, contacts and digest that go with them."""

from dataclasses import dataclass

import h5py
import numpy as np

_TRIES = 20  # far more than a writer takes to commit while some words are read


@dataclass(frozen=True)
class RunCounts:
    """The counters of /run at one moment.

    Attributes:
        status: as it stands there.
        n_frames: committed frames.
        slots: for each slot its frames, events and contacts, and its digest in hexadecimal.
    """

    status: str
    n_frames: int
    slots: tuple[tuple[int, int, int, str], ...]


def read_counts(file: h5py.File) -> RunCounts:
    """The counters of a file whose writer may commit at any moment.

    The status is read first: frames that a file counts as it ends are there for whoever reads `done`. The writer leaves
    the slot of its last commit alone until the next one counts, so the slots are sound if the count is still the same.
    """
    status = file["run/status"][()].decode(errors="replace")
    for _ in range(_TRIES):
        n_frames, slots = _word(file, "n_committed"), _slots(file)
        if _word(file, "n_committed") == n_frames:
            break
    return RunCounts(status, n_frames, slots)


def _word(file: h5py.File, name: str) -> int:
    """Opened anew: HDF5 keeps what it has read of a dataset for as long as that is open."""
    return int(file["run"][name][()])


def _slots(file: h5py.File) -> tuple[tuple[int, int, int, str], ...]:
    numbers = np.stack([file["run"][f"digest_{name}"][...] for name in ("frames", "events", "contacts")], axis=1)
    digests = [row.tobytes().hex() for row in file["run/digest"][...]]
    return tuple((*map(int, row), digest) for row, digest in zip(numbers, digests, strict=True))
