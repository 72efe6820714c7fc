"""Poses of a run at any time: between frames, and after the end of a world that has ended before the others."""

from bisect import bisect_left, bisect_right

import numpy as np

from simcli import rotations as rot
from simcli.errors import UsageError
from simcli.model.tables.model import Array
from simcli.view.stretch import RIGID
from simcli.view.subject import ViewSubject

_SAME = 1e-9  # of the time between frames: as near as this one asks for the frame itself


class Moments:
    """Poses of the worlds of a subject at any time of its run.

    Args:
        subject: of a run; its file stays open as long as it is asked.

    Attributes:
        time: [s], (F,), of the frames.

    Raises:
        UsageError: the file holds no poses and nothing that they follow from.
    """

    def __init__(self, subject: ViewSubject):
        self._path, self._motion = subject.path, subject.motion()
        self.time = self._motion.time
        self._last = self._last_frames()

    def at(self, time: float) -> Array:
        """Poses [m, 1], (W, B, 7 or 13), world: positions on straight lines between frames, rotations on the shortest way.

        Args:
            time: [s].

        Raises:
            UsageError: the run does not hold it.
        """
        first, last = float(self.time[0]), float(self.time[-1])
        lean = _SAME * (last - first)
        if not first - lean <= time <= last + lean:
            raise UsageError(f"--time {time:g}: {self._path} holds {first:g} to {last:g} s")
        after = min(bisect_left(self.time, time - lean), len(self.time) - 1)
        if self.time[after] <= time + lean or not after:
            return self._frames(after, after)[0]
        share = (time - self.time[after - 1]) / (self.time[after] - self.time[after - 1])
        return between(*self._frames(after - 1, after), share)

    def thinned(self, most: int) -> slice:
        """Frames of the run, at most so many."""
        return slice(0, len(self.time), max(1, -(-len(self.time) // most)))

    def _frames(self, first: int, last: int) -> Array:
        """Frames first to last; of each world that has ended before, its last one."""
        rows = self._read(first, last)
        for w, end in enumerate(self._last):
            if end < last:
                held = self._read(end, end)[0, w] if end >= 0 else rows[0, w]
                rows[np.arange(first, last + 1) > end, w] = held
        return rows

    def _read(self, first: int, last: int) -> Array:
        return self._motion.frames(first, last + 1)

    def _last_frames(self) -> list[int]:
        """The last frame of each world that has poses; worlds end once."""
        end = len(self.time) - 1
        ended = np.isnan(self._read(end, end)[0]).any(axis=(1, 2))
        found = [end] * len(ended)
        for w in np.flatnonzero(ended):
            found[w] = bisect_right(range(end + 1), 0, key=lambda f, w=w: int(np.isnan(self._read(f, f)[0, w]).any())) - 1
        return found


def between(one: Array, other: Array, share: float) -> Array:
    """Poses (..., 7 or 13) between two, `share` 0 the one and 1 the other."""
    moved = one + share * (other - one)
    place, stretch = moved[..., :3], moved[..., RIGID:]
    a, b = one[..., 3:RIGID], other[..., 3:RIGID]
    dot = (a * b).sum(axis=-1, keepdims=True)
    b = np.where(dot < 0.0, -b, b)
    angle = np.arccos(np.clip(np.abs(dot), 0.0, 1.0))
    sine = np.sin(angle)
    is_near = sine < 1e-6
    safe = np.where(is_near, 1.0, sine)
    turn = np.where(is_near, a + share * (b - a), (np.sin((1.0 - share) * angle) * a + np.sin(share * angle) * b) / safe)
    return np.concatenate((place, rot.unit(turn), stretch), axis=-1)
