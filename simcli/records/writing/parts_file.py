"""A file made of parts of others: frames, worlds, channels, bodies and joints of one, or the worlds of several.

Every dataset is read and written in blocks of frames, so that files of any size go through little memory. The new file is a
run like any other: digest, model, parameters, measures and events are those of what is left. Nothing stands at its path
before it is whole.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np

from simcli.model.snapshot import CONTACT_WIDTHS, ContactRows, Event
from simcli.records.contents.layout import Axes, Dataset, selected
from simcli.records.contents.model_columns import COLUMNS, WorldTables, cut_world_tables, joined_world_tables
from simcli.records.contents.provenance import Provenance
from simcli.records.contents.select import GrowingRows, frames_per_commit
from simcli.records.hdf5_bytes import Backing, drafted_hdf5
from simcli.records.reading.guard import reading
from simcli.records.reading.reader import Trajectory
from simcli.records.writing.create import create_file
from simcli.records.writing.growing import Growing, GrowingFile, contact_rows, event_rows

BLOCK_BYTES = 8 * 1024 * 1024  # [B] of one dataset that are in memory at once, unless a commit is larger
BLOCK_CONTACTS = 65536  # contacts that are in memory at once, unless a frame has more
CONTACT_BYTES = 8 * (sum(CONTACT_WIDTHS.values()) + 2)  # about, of one in the file
_UNITS = ("q_unit", "qd_unit", "effort_unit")

Seen = Callable[[float], None]  # takes the part that is done
Retold = Callable[[list[Event]], list[Event]]


@dataclass(frozen=True)
class RunPart:
    """What of a file is taken.

    Attributes:
        run: an open file.
        worlds: their numbers, rising.
        frames: their numbers.
    """

    run: Trajectory
    worlds: np.ndarray
    frames: range

    @property
    def end_step(self) -> float:
        """Step up to which events belong to it: infinite if it goes to the end of the file."""
        last = self.frames[-1]
        return np.inf if last == self.run.n_frames - 1 else int(self.run.step[last])


@dataclass(frozen=True)
class Cut:
    """What is left of the axes of the parts, and which channels.

    Attributes:
        channels: of `output.channels`.
        index: places of the bodies (B), joints (J) and what belongs to them that are kept; empty for all.
    """

    channels: tuple[str, ...]
    index: dict[str, np.ndarray]


def write_parts(
    path: Path,
    parts: Sequence[RunPart],
    cut: Cut,
    provenance: Provenance,
    seen: Seen = lambda part: None,
    retold: Retold = list,
) -> int:
    """Write a file of parts that fit together: one scene, one time axis, the same channels.

    Args:
        path: of the file. What stands there is replaced: whether it may be is the caller's decision.
        parts: whose worlds follow each other.
        cut: what is left of each.
        provenance: of the new file, without its origin.
        seen: is told of the progress. What it raises leaves nothing at the path.
        retold: makes of the events of all parts those of the new file.

    Returns:
        the number of frames.

    Raises:
        OutputError: it cannot be written.
        FileError: a part is damaged.
        ValueError: what the parts share differs in /model; the message names the table.
    """
    with drafted_hdf5(path) as backing:
        _Writer(backing, parts, cut, provenance, retold).write(seen)
    return len(parts[0].frames)


def origin_text(command: str, parts: Sequence[RunPart], argv: Sequence[str], made: str) -> str:
    """What a file is made of, for its provenance.

    Args:
        command: `slice` or `merge`.
        parts: of it.
        argv: the command line.
        made: ISO 8601.
    """
    sources = [
        {
            "path": Path(part.run.path).name,
            "uuid": part.run.attributes["uuid"],
            "digest": part.run.digest,
            "frames": [part.frames.start, part.frames.stop, part.frames.step],
            "frames_of": part.run.n_frames,
            "worlds": part.worlds.tolist(),
        }
        for part in parts
    ]
    roots: list[dict] = []
    for part in parts:
        for world in part.worlds.tolist():
            uuid, number = part.run.world_origins[world]
            if not roots or roots[-1]["uuid"] != uuid:
                roots.append({"uuid": uuid, "worlds": []})
            roots[-1]["worlds"].append(number)
    return json.dumps({"command": command, "argv": list(argv), "created_utc": made, "from": sources, "roots": roots})


def tables_in(run: Trajectory) -> WorldTables:
    """All of /model and /params of a file."""
    with reading(run.path):
        file = run._file
        values = np.asarray(file["params/value"][...], float)
        return WorldTables(
            {column.name: run.model[column.name] for column in COLUMNS},
            {name: tuple(run.model[name]) for name in _UNITS},
            tuple(run.param_units.values()),
            values,
            run.world_seed,
        )


class _Writer:
    """Writes one file."""

    def __init__(self, backing: Backing, parts: Sequence[RunPart], cut: Cut, provenance: Provenance, retold: Retold):
        self._parts, self._run, self._retold = parts, parts[0].run, retold
        whole = self._run._axes
        label = {
            axis: tuple(names[i] for i in cut.index[axis]) if axis in cut.index else names
            for axis, names in whole.label.items()
        }
        n_worlds = sum(len(part.worlds) for part in parts)
        self._axes = Axes(n_worlds, label, cut.index, quantity_unit=whole.quantity_unit)
        self._rows = [row for row in selected(self._axes, cut.channels) if row.path in self._run._file]
        self._dtype = self._run.column("diag/residual").dtype.name
        self._n_frames = len(parts[0].frames)
        self._grain = frames_per_commit(self._rows, self._axes, self._dtype, self._n_frames)
        tables = joined_world_tables([cut_world_tables(tables_in(part.run), self._axes, part.worlds) for part in parts])
        self._shapes = tables.columns["shape_body"] >= 0 if "B" in cut.index else None
        layouts = [measure.layout for measure in self._run.measures.values()]
        title = self._run.attributes["title"]
        growing = GrowingRows(tuple(self._rows), self._axes, self._dtype, self._grain)
        self._h5 = create_file(backing, tables, growing, provenance, title, measures=layouts, is_watched=False)
        self._file = GrowingFile(self._h5, growing)

    def write(self, seen: Seen) -> None:
        """Write all, and close the file."""
        try:
            self._write(seen)
        finally:
            if self._h5:
                self._h5.close()

    def _write(self, seen: Seen) -> None:
        growing = {one.path: one for one in self._file.growing}
        by_frame = [one for one in self._file.growing if one.row.by_frame]
        n_bytes = [self._row_bytes(one.row) for one in by_frame]
        known = (_contacts_between(part, 0, self._n_frames) for part in self._parts) if "contacts/gap" in growing else ()
        done, of_contacts = 0, CONTACT_BYTES * sum(known)
        total = max(sum(n_bytes) * self._n_frames + of_contacts, 1)
        for one, size in zip(by_frame, n_bytes, strict=True):
            for first, last in self._blocks(size):
                self._file.append(one, self._read(one, first, last))
                done += size * (last - first)
                seen(done / total)
        n_contacts = self._write_contacts(growing, lambda part: seen((done + of_contacts * part) / total))
        events = self._events()
        for path, one in growing.items():
            if path.startswith("events/"):
                self._file.append(one, event_rows(path.removeprefix("events/"), one.dtype, events))
        self._file.flush()
        wall = sum(float(part.run._file["run/wall_s"][()]) for part in self._parts)
        self._file.count(self._n_frames, len(events), n_contacts, wall)
        self._file.close(self._status(), wall, self._measured())

    def _row_bytes(self, row: Dataset) -> int:
        return max(prod(self._axes.tail(row)) * row.dtype(self._dtype).itemsize, 1)

    def _blocks(self, row_bytes: int) -> Iterator[tuple[int, int]]:
        """Frames of the new file in blocks of whole commits, so that no chunk is written twice."""
        length = self._grain * max(BLOCK_BYTES // (self._grain * row_bytes), 1)
        for first in range(0, self._n_frames, length):
            yield first, min(first + length, self._n_frames)

    def _read(self, growing: Growing, first: int, last: int) -> np.ndarray:
        """Some frames of a dataset, of the worlds of all parts."""
        row, blocks = growing.row, []
        for part in self._parts:
            frames, column = part.frames[first:last], part.run.column(row.path)
            span = slice(frames[0], frames[-1] + 1, frames.step)
            if len(row.axes) == 1:
                return np.ascontiguousarray(column[span], growing.dtype)
            low, high = int(part.worlds[0]), int(part.worlds[-1]) + 1
            block = column[span, low:high]
            blocks.append(block if high - low == len(part.worlds) else block[:, part.worlds - low])
        rows = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
        for k, axis in enumerate(row.axes):
            if axis in self._axes.index:
                rows = np.take(rows, self._axes.index[axis], axis=k)
        return np.ascontiguousarray(rows, growing.dtype)

    def _write_contacts(self, growing: dict[str, Growing], seen: Seen) -> int:
        """Write the contacts, and return their number."""
        mine, n = [one for path, one in growing.items() if path.startswith("contacts/")], 0
        if not mine:
            return 0
        for first, last in self._contact_blocks():
            contacts = self._contacts(first, last)
            for one in mine:
                name = one.path.removeprefix("contacts/")
                self._file.append(one, contact_rows(name, one.dtype, contacts, n, is_first=one.n == 0))
            n += contacts.n
            seen(last / self._n_frames)
        return n

    def _contact_blocks(self) -> Iterator[tuple[int, int]]:
        """Frames of the new file whose contacts are read at once, with those of the frames between them."""
        first = 0
        while first < self._n_frames:
            last = min(first + max(BLOCK_CONTACTS // self._axes.n_worlds, 1), self._n_frames)
            while last > first + 1 and sum(_contacts_between(part, first, last) for part in self._parts) > BLOCK_CONTACTS:
                last = first + (last - first) // 2
            yield first, last
            first = last

    def _contacts(self, first: int, last: int) -> ContactRows:
        """Contacts of some frames, by frame and then by world of the new file."""
        keys, columns, n_worlds = [], [], self._axes.n_worlds
        before = 0
        for part in self._parts:
            frames = part.frames[first:last]
            table = part.run.contact_table(frames[0], frames[-1] + 1)
            keep = (table["frame"] - frames[0]) % frames.step == 0
            keep &= np.isin(table["world"], part.worlds)
            if self._shapes is not None:
                keep &= self._shapes[table["shape_a"]] | self._shapes[table["shape_b"]]
            world = before + np.searchsorted(part.worlds, table["world"][keep])
            keys.append((table["frame"][keep] - frames[0]) // frames.step * n_worlds + world)
            columns.append({name: table[name][keep] for name in CONTACT_WIDTHS})
            before += len(part.worlds)
        key = np.concatenate(keys)
        order = np.argsort(key, kind="stable")
        count = np.bincount(key, minlength=(last - first) * n_worlds).reshape(last - first, n_worlds)
        return ContactRows(count, {name: np.concatenate([some[name] for some in columns])[order] for name in CONTACT_WIDTHS})

    def _events(self) -> list[Event]:
        """Events of the worlds that stay, up to the last frame; those of all worlds once."""
        found, shared, before = [], set(), 0
        for part in self._parts:
            number = {int(world): before + k for k, world in enumerate(part.worlds)}
            for event in part.run.events:
                if event.step > part.end_step or (event.world >= 0 and event.world not in number):
                    continue
                if event.world < 0 and len(self._parts) > 1:
                    if (key := (event.step, event.code, event.text)) in shared:
                        continue
                    shared.add(key)
                found.append(replace(event, world=number.get(event.world, -1)))
            before += len(part.worlds)
        return sorted(self._retold(found), key=lambda event: event.rank) if len(self._parts) > 1 else found

    def _measured(self) -> tuple | None:
        """Rows, values and times of all measures, as of `GrowingFile.close`."""
        if not self._run.measures:
            return None
        rows, values, times, at = {}, [], [], 0
        for name in self._run.measures:
            value, time = (
                np.concatenate(
                    [
                        getattr(part.run.measures[name], key)[part.worlds].reshape(len(part.worlds), -1)
                        for part in self._parts
                    ]
                )
                for key in ("value", "time")
            )
            rows[name] = slice(at, at + value.shape[1])
            at += value.shape[1]
            values.append(value)
            times.append(time)
        return rows, np.concatenate(values, axis=1), np.concatenate(times, axis=1)

    def _status(self) -> str:
        """How the run ended: of several the worst; one that did not is stopped."""
        words = {part.run.status for part in self._parts}
        return "failed" if "failed" in words else "done" if words == {"done"} else "stopped"


def _contacts_between(part: RunPart, first: int, last: int) -> int:
    frames = part.frames[first:last]
    return part.run.contacts_until(frames[-1] + 1) - part.run.contacts_until(frames[0])
