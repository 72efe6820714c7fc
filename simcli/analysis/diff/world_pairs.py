"""Which worlds of two runs are compared: those of one number, or of one origin where a file was cut from the other's run."""

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
    """

    a: np.ndarray
    b: np.ndarray
    by_origin: bool

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
    theirs = {origin: world for world, origin in enumerate(b.world_origins)}
    both = [(world, theirs[origin]) for world, origin in enumerate(a.world_origins) if origin in theirs]
    by_origin = any(x != y for x, y in both)
    if not by_origin:
        both = [(world, world) for world in range(min(a.n_worlds, b.n_worlds))]
    if wanted is not None:
        check_worlds(a, wanted)
        if not by_origin:
            check_worlds(b, wanted)
        both = [pair for pair in both if pair[0] in set(wanted)]
    mine, partners = np.array(both, np.int64).reshape(-1, 2).T
    return WorldPairs(mine, partners, by_origin)
