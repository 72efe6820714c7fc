"""Numbers of millions of frames in little memory."""

from bisect import bisect_right

import numpy as np

PIECE_LENGTH = 4096  # numbers; an uneven piece is summed up as a whole for each question


class RisingNumbers:
    """Rising whole numbers: ranges where they are evenly spaced, else the distances in as few bytes as need be."""

    def __init__(self):
        self._pieces: list[range | tuple[int, np.ndarray]] = []
        self._ends: list[int] = []

    def append(self, numbers: np.ndarray) -> None:
        """Take further ones, (n,), none of them below those before."""
        for first in range(0, len(numbers), PIECE_LENGTH):
            self._append(numbers[first : first + PIECE_LENGTH])

    def _append(self, numbers: np.ndarray) -> None:
        n, gaps = len(numbers), np.diff(numbers)
        first, gap = int(numbers[0]), int(gaps[0]) if n > 1 else 1
        if gap and (gaps == gap).all():
            piece = range(first, first + n * gap, gap)
            last = self._pieces[-1] if self._pieces else None
            if isinstance(last, range) and (last.stop, last.step) == (piece.start, piece.step):
                self._pieces[-1] = range(last.start, piece.stop, piece.step)
                self._ends[-1] += n
                return
            self._pieces.append(piece)
        else:
            self._pieces.append((first, gaps.astype(np.min_scalar_type(gaps.max()))))
        self._ends.append(len(self) + n)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, part: int | slice) -> int | np.ndarray:
        """One number, or neighbours as an array."""
        if not isinstance(part, slice):
            at = range(len(self))[part]
            return int(self[at : at + 1][0])
        start, stop, _ = part.indices(len(self))
        found, k = [np.zeros(0, np.int64)], bisect_right(self._ends, start)
        while start < stop:
            begin, end = self._ends[k - 1] if k else 0, min(stop, self._ends[k])
            found.append(_numbers(self._pieces[k], start - begin, end - begin))
            start, k = end, k + 1
        return np.concatenate(found)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.asarray(self[:], dtype)


def _numbers(piece: range | tuple[int, np.ndarray], start: int, stop: int) -> np.ndarray:
    if isinstance(piece, range):
        some = piece[start:stop]
        return np.arange(some.start, some.stop, some.step)
    first, gaps = piece
    return first + np.concatenate([[0], np.cumsum(gaps[: stop - 1], dtype=np.int64)])[start:stop]
