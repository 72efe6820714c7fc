"""What is to be run: cases by name, in chunks of one batch each."""

from dataclasses import dataclass
from pathlib import Path

from simcli.spec.overrides import Override


@dataclass(frozen=True)
class Case:
    """One world of one structure.

    Attributes:
        id: 20 hexadecimal digits: of the resolved scene without its batch, the world's varied values, its seed, the version
            and the code of simcli, the precision, and the class of device.
        labels: (name of column, value) of the structural choices and the varied values.
        world: its index in the batch of its structure.
    """

    id: str
    labels: tuple[tuple[str, object], ...]
    world: int


@dataclass(frozen=True)
class Chunk:
    """Cases that run as one batch.

    Attributes:
        id: of its cases in their order.
        scene: the scene file.
        sets: overrides that make the structure of it.
        worlds: indices in the batch of the structure.
        cases: their ids, in the same order.
    """

    id: str
    scene: Path
    sets: tuple[Override | str, ...]
    worlds: tuple[int, ...]
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A whole sweep.

    Attributes:
        cases: in the order of the final table; every id once.
        chunks: of all of them.
        keep: trajectories: "all", "failed", "none".
        time_limit: wall time per case [s]; None for none.
        device: class of device, "cpu" or "cuda", that is part of the names.
        digest: of the cases in their order.
        sources: (path, text) of the sweep file and of the scenes with what they include.
    """

    cases: tuple[Case, ...]
    chunks: tuple[Chunk, ...]
    keep: str
    time_limit: float | None
    device: str
    digest: str
    sources: tuple[tuple[str, str], ...]

    def rechunk(self, done: "frozenset[str] | set[str]") -> tuple[Chunk, ...]:
        """Chunks of the cases that are not done: those of the plan, less what is done in each.

        Args:
            done: ids of cases.
        """
        raise NotImplementedError
