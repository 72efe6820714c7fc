"""Checkpoints: what a run needs to go on to the same bytes, in files beside its output.

Two are kept, NAME.h5.checkpoint0 and 1, each written under another name, synced and renamed: a kill at any moment leaves
the older one whole. A checkpoint is a zip of arrays (numpy's npz, stored, with its CRC per array) and its facts as JSON.
It stands at a frame that ends a commit, and is written once that commit is on disk: a file never lacks the frames that
its checkpoints go on from.
"""

import json
import os
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simcli.records.drafts import sync
from simcli.records.lock import remove_drafts

_FORMAT = 1
_KEPT = 2
COUNTS = ("n_frames", "n_steps", "n_events")
_FACTS = "facts"  # name of the JSON among the arrays
EVERY = 60.0  # [s] of wall time between checkpoints if nobody says otherwise
_SHARE = 0.02  # of the wall time that such checkpoints may take


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run between two frames.

    Attributes:
        n_frames: frames before it, frame 0 counted.
        n_steps: steps before it.
        n_events: events up to it; what happens to all worlds at its step is still to come.
        arrays: the solver's state.
        facts: circumstances that must be the same for the same bytes.
    """

    n_frames: int
    n_steps: int
    n_events: int
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]


def paths(output: Path) -> list[Path]:
    """The files that may hold checkpoints of an output."""
    return [output.with_name(f"{output.name}.checkpoint{k}") for k in range(_KEPT)]


def _age(path: Path) -> float:
    """[s], when a file was written; before all others if it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def clear_checkpoints(output: Path) -> None:
    """Remove the checkpoints of an output, and drafts that a killed writer left."""
    for path in paths(output):
        path.unlink(missing_ok=True)
    remove_drafts(output)


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint: a draft, synced, renamed.

    Raises:
        OSError: it cannot be written; a draft is removed.
    """
    counts = {name: getattr(checkpoint, name) for name in COUNTS}
    facts = {"format": _FORMAT, **counts, **checkpoint.facts}
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    draft = path.with_name(f".{path.name}.part")
    try:
        with draft.open("wb") as stream:
            np.savez(stream, **{_FACTS: text}, **checkpoint.arrays)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    sync(path.parent)


def read_checkpoint(path: Path) -> Checkpoint | None:
    """A checkpoint, None if there is none that is whole.

    Nothing in it is trusted: no pickles, no compression (a small file cannot ask for much memory), every CRC checked.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                return None
            if archive.testzip() is not None:
                return None
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        facts = json.loads(arrays.pop(_FACTS).tobytes())
        counts = [int(facts.pop(name)) for name in COUNTS]
        if facts.pop("format") != _FORMAT or min(counts) < 0 or not counts[0]:
            return None
        return Checkpoint(*counts, arrays, facts)
    except Exception:  # a damaged zip raises nearly every type
        return None


def newest(output: Path, n_committed: int, grain: int) -> Checkpoint | None:
    """The latest whole checkpoint from which a file of so many frames can go on."""
    found = [checkpoint for path in paths(output) if (checkpoint := read_checkpoint(path)) is not None]
    usable = [one for one in found if one.n_frames <= n_committed and one.n_frames % grain == 0]
    return max(usable, key=lambda one: one.n_frames, default=None)


class Keeper:
    """Takes checkpoints of a run now and then, and writes each once its frames are on disk.

    Args:
        output: the file of the run.
        facts: see `Checkpoint`.
        grain: frames of a commit.
        every: [s], wall time between checkpoints; None for once a minute, or less often if that took too much time.

    Attributes:
        problem: why there are no more checkpoints, "" while there are.
    """

    def __init__(self, output: Path, facts: Mapping[str, Any], grain: int, every: float | None = None):
        self.facts, self.grain = dict(facts), grain
        self.every, self.may_stretch = EVERY if every is None else every, every is None
        self.problem = ""
        self._targets = sorted(paths(output), key=_age)  # of a run that goes on: the older one first
        self._waiting: Checkpoint | None = None
        self._due = time.monotonic() + self.every

    @property
    def is_due(self) -> bool:
        """True if a checkpoint should be taken at the next frame that ends a commit."""
        return not self.problem and self._waiting is None and time.monotonic() >= self._due

    def frames_to_grain(self, n_frames: int) -> int:
        """Frames until one ends a commit; at least 1."""
        return self.grain - n_frames % self.grain

    def look(self, counts: tuple[int, int, int], n_committed: int, state: Callable[[], dict[str, np.ndarray]]) -> None:
        """Take a checkpoint if one is due, and write the one that waits if its frames are on disk.

        Args:
            counts: frames handed over, steps made, events handed over.
            n_committed: frames on disk.
            state: gives the state.
        """
        if self.is_due and counts[0] % self.grain == 0:
            self.take(counts, state)
        self.write(n_committed)

    def take(self, counts: tuple[int, int, int], state: Callable[[], dict[str, np.ndarray]]) -> None:
        """Take a checkpoint here, where a commit ends; it takes the place of one that still waits."""
        start = time.monotonic()
        self._waiting = Checkpoint(*counts, state(), self.facts)
        self._after(time.monotonic() - start)

    def write(self, n_committed: int) -> None:
        """Write the checkpoint that waits, over the older of the two, if its frames are on disk."""
        if self._waiting is None or self._waiting.n_frames > n_committed or self.problem:
            return
        start = time.monotonic()
        try:
            write(self._targets[0], self._waiting)
        except OSError as error:
            self.problem = f"no more checkpoints: {self._targets[0]}: {error.strerror or error}"
        self._targets.append(self._targets.pop(0))
        self._waiting = None
        self._after(time.monotonic() - start)

    def _after(self, seconds: float) -> None:
        """Put the next one off for as long as this one's cost asks for."""
        rest = max(self.every, seconds / _SHARE) if self.may_stretch else self.every
        self._due = max(self._due, time.monotonic() + rest)
