"""What is exported, as columns and in blocks of frames: channels, a row per frame and world; contacts, a row for each.

A block is small against the memory of a process and holds whole chunks where it can, so that files of any size go through.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simcli.analysis.channels import CONTACT_LIST, ChannelSource, check_worlds, default_columns, locate_channel
from simcli.output_channels import XYZ

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

EXPORT_BLOCK_BYTES = 2 * 1024 * 1024  # [B] of the numbers of a block
CONTACT_UNITS = {"shape_a": "", "shape_b": "", "point": "m", "normal": "1", "gap": "m", "force": "N"}
_VECTORS = ("point", "normal", "force")

ExportSeen = Callable[[float], None]  # takes the part of the file that is done


def unseen(fraction: float) -> None:
    """Take progress, and show nothing of it."""


class TableHeader(NamedTuple):
    """Of one column.

    Attributes:
        name: `time`, `world`, `joint.pin.q`, `body.rod.position.x`.
        unit: of its numbers; "" of words and counts.
        kind: numpy type; "U" of words.
    """

    name: str
    unit: str
    kind: str = "f8"

    @property
    def title(self) -> str:
        """Name and unit in one: `joint.pin.q [rad]`."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


_TIME, _WORLD = TableHeader("time", "s"), TableHeader("world", "", "i8")


@dataclass(frozen=True)
class Extract:
    """What of a run is exported.

    Attributes:
        run: an open file.
        channels: names and patterns; none: all joint coordinates and velocities.
        worlds: their numbers.
        every: every so many frames.
    """

    run: "Trajectory"
    channels: tuple[str, ...] = ()
    worlds: tuple[int, ...] = (0,)
    every: int = 1

    def __post_init__(self):
        check_worlds(self.run, self.worlds)

    @property
    def frames(self) -> range:
        """The frames, of those that the file holds."""
        return range(0, self.run.n_frames, self.every)

    @cached_property
    def sources(self) -> list[ChannelSource]:
        """The channels.

        Raises:
            UsageError: there is no such channel.
        """
        names = self.channels or default_columns(self.run)
        return list({source.name: source for name in names for source in locate_channel(self.run, name)}.values())

    @property
    def is_of_contacts(self) -> bool:
        """True if the contacts are meant, which are no channel."""
        return self.channels == (CONTACT_LIST,)

    def cuts(self, n_columns: int, chunk: int = 1) -> Iterator[slice]:
        """The frames in blocks, as slices of frames of the file.

        Args:
            n_columns: numbers of a frame and world.
            chunk: frames of a chunk: blocks begin and end with one, unless it is larger than they are.
        """
        frames = max(EXPORT_BLOCK_BYTES // (8 * max(n_columns * len(self.worlds), 1)), 1)
        length = max(frames * self.every // chunk, 1) * chunk if chunk <= frames * self.every else frames * self.every
        for first in range(0, self.run.n_frames, length):
            start = -(-first // self.every) * self.every
            if start < min(first + length, self.run.n_frames):
                yield slice(start, min(first + length, self.run.n_frames), self.every)

    def table(self) -> "ChannelTable | ContactTable":
        """Its columns."""
        return ContactTable(self) if self.is_of_contacts else ChannelTable(self)


class ChannelTable:
    """Channels, a row per frame and world, the worlds of a frame below each other.

    Attributes:
        headers: of the columns.
        n_rows: rows of all blocks.
        has_worlds: whether more than one world is in it.
    """

    def __init__(self, asked: Extract):
        self._asked, self._sources = asked, asked.sources
        self.has_worlds = len(asked.worlds) > 1
        self.n_rows = len(asked.frames) * len(asked.worlds)
        self.headers = [_TIME, _WORLD]
        for source in self._sources:
            self.headers += [TableHeader(*both) for both in zip(source.labels, source.units, strict=True)]

    def blocks(self, seen: ExportSeen = unseen) -> Iterator[list[np.ndarray]]:
        """Columns of some rows at a time, each (n,)."""
        asked, worlds = self._asked, self._asked.worlds
        instants = asked.run.column("frames/time")
        for cut in asked.cuts(len(self.headers), max(source.column.chunks[0] for source in self._sources)):
            time = instants[cut]
            columns = [np.repeat(time, len(worlds)), np.tile(np.array(worlds), len(time))]
            for source in self._sources:
                values = source.read(cut, worlds)
                columns += [values[:, :, k].reshape(-1) for k in range(values.shape[2])]
            yield columns
            seen(cut.stop / asked.run.n_frames)


class ContactTable:
    """Contacts, a row for each, in the order of the file; columns and attributes as of `ChannelTable`."""

    has_worlds = True

    def __init__(self, asked: Extract):
        self._asked = asked
        self._shapes = np.array([*asked.run.model["shape_name"], ""])[:-1]
        self.headers = [_TIME, _WORLD]
        for name, unit in CONTACT_UNITS.items():
            parts = [f"{name}.{part}" for part in XYZ] if name in _VECTORS else [name]
            kind = self._shapes.dtype.str if name.startswith("shape") else "f8"
            self.headers += [TableHeader(part, unit, kind) for part in parts]

    @cached_property
    def n_rows(self) -> int:
        """Rows of all blocks, which are counted."""
        return sum(int(keep.sum()) for _, keep in self._tables())

    def blocks(self, seen: ExportSeen = unseen) -> Iterator[list[np.ndarray]]:
        """Columns of some rows at a time, each (n,)."""
        n, done = max(self._asked.run.n_frames, 1), 0
        for table, keep in self._tables():
            columns = [self._asked.run.time[table["frame"][keep]], table["world"][keep]]
            for name in CONTACT_UNITS:
                values = table[name][keep]
                if name.startswith("shape"):
                    columns.append(self._shapes[values])
                else:
                    columns += list(np.atleast_2d(np.asarray(values, np.float64).T))
            yield columns
            done = max(done, table["last"])
            seen(done / n)

    def _tables(self) -> Iterator[tuple[dict, np.ndarray]]:
        """Contacts of some frames, and which of them are wanted."""
        run = self._asked.run
        for first, last in _portions(run):
            table = {**run.contact_table(first, last), "last": last}
            yield table, np.isin(table["world"], self._asked.worlds) & (table["frame"] % self._asked.every == 0)


def shown_columns(table: ChannelTable | ContactTable) -> list[int]:
    """Numbers of the columns that a text shows: `world`, the second, only where there are several."""
    return [k for k in range(len(table.headers)) if table.has_worlds or k != 1]


def whole_columns(table: ChannelTable | ContactTable) -> Iterator[tuple[TableHeader, np.ndarray]]:
    """The columns that a text shows, each with all rows, (n,)."""
    blocks = list(table.blocks())
    for k in shown_columns(table):
        header = table.headers[k]
        yield header, np.concatenate([np.empty(0, header.kind), *(block[k] for block in blocks)])


def _portions(run: "Trajectory") -> Iterator[tuple[int, int]]:
    """Frames whose contacts make a block; one frame at least."""
    most, first = EXPORT_BLOCK_BYTES // (8 * 16), 0
    while first < run.n_frames:
        last = min(first + max(most // run.n_worlds, 1), run.n_frames)
        begin = run.contacts_until(first)
        while last > first + 1 and run.contacts_until(last) - begin > most:
            last = first + max((last - first) // 2, 1)
        yield first, last
        first = last
