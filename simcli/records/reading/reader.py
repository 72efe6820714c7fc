"""Trajectory: a simcli file by name.

with simcli.open("out.h5") as run:
run.joint("elbow").q[:, 0]              # (F, 1): frames of world 0
run.body("upper").position[-1]          # (W, 3): last frame of all worlds
run.energy.drift.max()
"""

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TypedDict

import h5py
import numpy as np

from simcli.arguments import whole_number
from simcli.errors import FileError
from simcli.model.snapshot import CONTACT_WIDTHS, Event
from simcli.records.contents.layout import DATASETS, NAME_SCALES, ORPHANED, STATUSES
from simcli.records.contents.measures import ErrorEstimate, Measure, read_error_estimate, read_measures
from simcli.records.contents.model_columns import COLUMNS, YOUNGER
from simcli.records.contents.provenance import Provenance, read_provenance
from simcli.records.lock import is_being_written
from simcli.records.reading.guard import open_checked, reading
from simcli.records.reading.named import Body, Joint, MeasuresByName, NamedPoint, Quantities, UnknownNameError, unknown
from simcli.records.reading.series import Column, closed, part_of_dataset

_TABLES = ("contacts/", "events/")  # what does not go by frames


class Counters(TypedDict):
    """What goes with `n_frames`: committed events and contacts, and the digest."""

    events: int
    contacts: int
    digest: str | None


class Trajectory:
    """A file of one run. Holds what was committed when it was opened.

    Attributes:
        path: of the file.
        n_frames: committed frames, F.
        n_worlds: W.
        bodies, joints, points: names.
        naturals: labels of the natural coordinates, as `rod:2P.a.x`; none but in runs of the natural solver.
        energy, diag: (F, W) columns by attribute.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path: str = os.fspath(path)
        # Asked before the file is read: a writer that ends in between has changed the status by then.
        self._has_writer = is_being_written(Path(path))
        self._handle, self._axes, self._counts = open_checked(path)
        self.n_worlds = self._axes.n_worlds
        self.bodies, self.joints, self.points = (self._axes.label[axis] for axis in "BJN")
        self.naturals = self._axes.label["G"]
        self.n_frames = self._counts.n_frames
        self.energy, self.diag = Quantities(self, "energy"), Quantities(self, "diag")

    def __enter__(self) -> "Trajectory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self):
        raise TypeError(f"{self.path}: an open file is neither copied nor pickled; hand over its path, and open that")

    def __repr__(self) -> str:
        if not self._handle:
            return f"<closed trajectory {self.path}>"
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if self.n_frames else "no frame yet"
        return (
            f"<trajectory {self.path}: {self.n_frames} frames, {span}, worlds {self.n_worlds}, "
            f"bodies {len(self.bodies)}, joints {len(self.joints)}, {self.status}>"
        )

    def close(self) -> None:
        """Close the file. Columns of it can no longer be read."""
        self._handle.close()

    @property
    def _file(self) -> h5py.File:
        if not self._handle:
            raise closed(self.path)
        return self._handle

    @property
    def status(self) -> str:
        """Running, done, stopped or failed; unfinished if its writer is gone: it was killed, and `--resume` goes on."""
        word = self._counts.status if self._file else ""
        return ORPHANED if word == STATUSES[0] and not self._has_writer else word

    @property
    def is_complete(self) -> bool:
        """True if the run reached its end."""
        return self.status == "done"

    @cached_property
    def time(self) -> np.ndarray:
        """[s], (F,)."""
        return self.read("frames/time")

    @cached_property
    def step(self) -> np.ndarray:
        """Steps since t = 0, (F,)."""
        return self.read("frames/step")

    @cached_property
    def quantities(self) -> dict[str, str]:
        """Units of the columns of /frames/quantity by their labels: of what `output.quantities` names."""
        labels = self._axes.label["Y"]
        return dict(zip(labels, map(str, self.model["quantity_unit"]), strict=True)) if labels else {}

    @property
    def is_stretched(self) -> bool:
        """Whether it holds how bodies are stretched: a run of the affine solver."""
        return "frames/body_stretch" in self._file

    def joint(self, name: str) -> Joint:
        """A joint by name."""
        return Joint(self, name)

    def body(self, name: str) -> Body:
        """A body by name."""
        return Body(self, name)

    def point(self, name: str) -> NamedPoint:
        """A named point, as `crank/b`."""
        return NamedPoint(self, name)

    def column(self, path: str, *where: int | slice) -> Column:
        """Any recorded quantity by its path in the file, as `frames/body_q`.

        Args:
            path: HDF5 path.
            *where: entries of the axes after frame and world.

        Raises:
            UnknownNameError: the file does not hold it.
        """
        path = path.strip("/")
        if path.startswith(_TABLES) and path in self._file:
            raise UnknownNameError(f"{path} does not go by frame and world: ask `contacts(frame, world)` or `events`")
        if path not in self._file or not isinstance(self._file[path], h5py.Dataset):
            row = next((row for row in DATASETS if row.path == path), None)
            if row is None and not path.startswith("frames/point/"):
                raise unknown("quantity", path, [row.path for row in DATASETS])
            if row is not None and row.is_younger:
                raise UnknownNameError(f"{self.path} holds no {path}: the version that made it recorded none")
            channel = row.channel if row else "state"
            raise UnknownNameError(
                f"{self.path} holds no {path}: record it with `output: {{channels: [{channel}]}}`"
                " (nothing of it was written, or the scene has none)"
            )
        with reading(self.path):
            return Column(self._file[path], self.n_frames, where, self.path)

    def read(self, path: str) -> np.ndarray:
        """All committed frames of one dataset."""
        return self.column(path)[...]

    @cached_property
    def model(self) -> dict[str, np.ndarray]:
        """Tables of /model by name, as `body_mass` (W|1, B)."""
        with reading(self.path):
            found = {
                name: dataset.asstr()[...] if h5py.check_string_dtype(dataset.dtype) else dataset[...]
                for name, dataset in self._file["model"].items()
            }
        lacking = [column for column in COLUMNS if column.is_younger and column.name not in found]
        names = dict.fromkeys((NAME_SCALES[axis] for axis in YOUNGER), np.array([], object))
        return names | found | {column.name: column.absent(self._axes) for column in lacking}

    @cached_property
    def params(self) -> dict[str, np.ndarray]:
        """What differs between the worlds: dotted path to values (W,)."""
        with reading(self.path):
            values = self._file["params/value"][...]
            return {name: values[:, k] for k, name in enumerate(self._axes.label["P"])}

    @cached_property
    def param_units(self) -> dict[str, str]:
        """Units of `params`."""
        with reading(self.path):
            return dict(zip(self._axes.label["P"], map(str, self._file["params/unit"].asstr()[...]), strict=True))

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Measures by name; NaN while the run goes on."""
        with reading(self.path):
            return MeasuresByName(read_measures(self._file))

    @cached_property
    def error_estimate(self) -> ErrorEstimate | None:
        """What the length of the step does to each channel of each world; None but after `run --error-estimate`."""
        with reading(self.path):
            return read_error_estimate(self._file)

    @cached_property
    def world_seed(self) -> np.ndarray:
        """Seed of each world, (W,)."""
        with reading(self.path):
            return self._file["params/seed"][...]

    @cached_property
    def provenance(self) -> Provenance:
        """Where the file comes from."""
        with reading(self.path):
            return read_provenance(self._file["provenance"])

    @cached_property
    def world_origins(self) -> list[tuple[str, int]]:
        """For each world the uuid of the run that made it, and its number there; of a run its own."""
        if not self.provenance.origin:
            uuid = self.attributes["uuid"]
            return [(uuid, world) for world in range(self.n_worlds)]
        with reading(self.path):
            roots = json.loads(self.provenance.origin)["roots"]
            found = [(str(root["uuid"]), int(world)) for root in roots for world in root["worlds"]]
        if len(found) != self.n_worlds:
            raise FileError(
                f"{self.path}: /provenance/origin names {len(found)} worlds, and there are {self.n_worlds}; the "
                "file is damaged"
            )
        return found

    @cached_property
    def batch_numbers(self) -> tuple[int, ...]:
        """For each world its number in the batch of the scene; its number here where the file does not tell."""
        origins = self.world_origins
        of_one_run = len({uuid for uuid, _ in origins}) == 1
        numbers = self.provenance.worlds or (tuple(number for _, number in origins) if of_one_run else ())
        return numbers if len(numbers) == self.n_worlds else tuple(range(self.n_worlds))

    @property
    def scene_source(self) -> str:
        """Text of the scene file."""
        return self.provenance.scene_source[0][1]

    @property
    def attributes(self) -> dict[str, str]:
        """uuid, title and conventions."""
        with reading(self.path):
            return {name: str(self._file.attrs[name]) for name in ("uuid", "title", "conventions")}

    @property
    def channels(self) -> tuple[str, ...]:
        """Channels that were recorded."""
        with reading(self.path):
            held = dict.fromkeys(row.channel for row in DATASETS if row.path in self._file)
            return tuple(channel for channel in held if channel != "always")

    @property
    def events(self) -> list[Event]:
        """What happened, in order. `body` and `joint` are indices in the scene."""
        with reading(self.path):
            n = self.counters()["events"]
            group = self._file["events"]
            named = ("step", "time", "world", "code", "severity", "body", "joint", "value", "text")
            columns = {name: part_of_dataset(group[name], slice(n)).tolist() for name in named}
            rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            return [
                Event(**{**row, "code": row["code"].decode(errors="replace"), "text": row["text"].decode(errors="replace")})
                for row in rows
            ]

    def contacts(self, frame: int, world: int) -> dict[str, np.ndarray]:
        """Contacts of one world at one frame: shape_a, shape_b, point, normal, gap, force.

        Shapes are indices into `model["shape_name"]`, the force acts on shape b.

        Args:
            frame: its number, counted from the end if negative.
            world: likewise.

        Raises:
            UnknownNameError: the file holds no contacts.
            UsageError: a number is none.
            IndexError: there is no such frame or world.
        """
        frame, world = (whole_number(what, number, None) for what, number in (("frame", frame), ("world", world)))
        at = range(self.n_frames)[frame] * self.n_worlds + range(self.n_worlds)[world]
        return self._contacts(at, at + 1)[1]

    def contact_table(self, first: int = 0, last: int | None = None) -> dict[str, np.ndarray]:
        """Contacts of all worlds at the frames first to last - 1: as `contacts`, and the `frame` and `world` of each.

        Raises:
            UnknownNameError: the file holds no contacts.
        """
        first, last, _ = slice(first, last).indices(self.n_frames)
        offset, columns = self._contacts(first * self.n_worlds, max(first, last) * self.n_worlds)
        owner = first * self.n_worlds + np.repeat(np.arange(len(offset) - 1), np.diff(offset))
        return {"frame": owner // self.n_worlds, "world": owner % self.n_worlds, **columns}

    def _contacts(self, first: int, last: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Offsets and contacts of pairs of frame and world, numbered by frame W + world."""
        with reading(self.path):
            if "contacts/offset" not in self._file:
                raise UnknownNameError(f"{self.path} holds no contacts: record them with `output: {{channels: [contacts]}}`")
            offset = (
                part_of_dataset(self._file["contacts/offset"], slice(first, last + 1))
                if self.n_frames
                else np.zeros(1, np.int64)
            )
            if (np.diff(offset) < 0).any() or not 0 <= offset[0] <= offset[-1] <= len(self._file["contacts/gap"]):
                frame, world = divmod(first, self.n_worlds)
                raise FileError(f"{self.path}: /contacts/offset is damaged from frame {frame}, world {world} on")
            whole = slice(int(offset[0]), int(offset[-1]))
            return offset, {name: part_of_dataset(self._file["contacts"][name], whole) for name in CONTACT_WIDTHS}

    def contacts_until(self, frame: int) -> int:
        """Contacts of all worlds in the frames before one, which are the first so many rows; 0 if none are recorded."""
        if "contacts/offset" not in self._file or not frame:
            return 0
        with reading(self.path):
            return int(part_of_dataset(self._file["contacts/offset"], frame * self.n_worlds))

    def counters(self) -> Counters:
        """Committed events and contacts, and the digest, that go with `n_frames`; zero and None if none match."""
        with reading(self.path):
            most = len(self._file["contacts/gap"]) if "contacts/gap" in self._file else 0
            for frames, events, contacts, digest in self._counts.slots:
                if frames == self.n_frames and 0 <= events <= len(self._file["events/step"]) and 0 <= contacts <= most:
                    return {"events": events, "contacts": contacts, "digest": digest}
            return {"events": 0, "contacts": 0, "digest": None}

    @property
    def digest(self) -> str | None:
        """Digest over the committed rows: equal digests are equal bytes."""
        return self.counters()["digest"]

    def _index(self, kind: str, known: tuple[str, ...], name: str) -> int:
        if name not in known:
            raise unknown(kind, name, known)
        return known.index(name)


def open_trajectory(path: str | os.PathLike[str]) -> Trajectory:
    """Open a file of simcli: finished, still running, or left behind by a writer that was killed.

    Raises:
        FileError: it is missing, damaged, hostile or not made by simcli.
    """
    return Trajectory(path)
