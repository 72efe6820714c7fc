"""Which worlds of two runs are compared: those of one number, or of one origin where a file was cut from the other's run.

The number is that in the batch where a file holds some worlds of one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.channels import check_worlds

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory


@dataclass(frozen=True)
class WorldPairs:
    """Worlds that are compared.

    Attributes:
        a: numbers in the one file, rising.
        b: numbers in the other one.
        by_origin: whether they are of one world of one run, and not only of one number.
        by_batch: whether the number is that in the batch, and not that in the file.
    """

    a: np.ndarray
    b: np.ndarray
    by_origin: bool
    by_batch: bool = False

    def __len__(self) -> int:
        return len(self.a)

    def tiles(self, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The pairs of each tile of so many worlds of either file; both numbers rise in it."""
        parts = [np.diff(some // width) != 0 for some in (self.a, self.b)]
        cuts = np.flatnonzero(parts[0] | parts[1] | (np.diff(self.b) < 0)) + 1
        for first, last in pairwise([0, *cuts.tolist(), len(self)]):
            yield self.a[first:last], self.b[first:last]

    def number_in_a(self, worlds: np.ndarray) -> np.ndarray:
        """Numbers in the one file of worlds of the other one, -1 of those that are not compared."""
        number = np.full(int(max(self.b.max(initial=-1), worlds.max(initial=-1))) + 1, -1)
        number[self.b] = self.a
        return number[worlds]


def pair_worlds(a: "Trajectory", b: "Trajectory", wanted: Sequence[int] | None) -> WorldPairs:
    """Pair the worlds of two runs.

    Args:
        a: the one file.
        b: the other one.
        wanted: numbers in the first file; None for all that both have.

    Raises:
        UsageError: a file lacks one that is wanted.
    """
    both = _common(a.world_origins, b.world_origins)
    by_origin = any(x != y for x, y in both)
    numbered = [] if by_origin else _common(a.batch_numbers, b.batch_numbers)
    by_batch = any(x != y for x, y in numbered)
    if by_batch:
        both = numbered
    elif not by_origin:
        both = [(world, world) for world in range(min(a.n_worlds, b.n_worlds))]
    if wanted is not None:
        check_worlds(a, wanted)
        if not by_origin and not by_batch:
            check_worlds(b, wanted)
        both = [pair for pair in both if pair[0] in set(wanted)]
    mine, partners = np.array(both, np.int64).reshape(-1, 2).T
    return WorldPairs(mine, partners, by_origin, by_batch)


def _common(mine: Sequence[object], theirs: Sequence[object]) -> list[tuple[int, int]]:
    """Where what both have stands in either."""
    places = {one: world for world, one in enumerate(theirs)}
    return [(world, places[one]) for world, one in enumerate(mine) if one in places]
