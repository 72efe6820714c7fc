"""Contacts and events of two runs.

Contacts are matched by frame, world and names of the shapes, several of a pair by their order in the file; events by world,
code, body and joint, several of these by their order in time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.diff.extremes import Extremes, Tolerance
from simcli.analysis.diff.labelled import Component
from simcli.analysis.diff.run_pairs import FramePairs, WorldPairs
from simcli.errors import SceneError
from simcli.model.snapshot import Event
from simcli.output_channels import XYZ
from simcli.spec import document_of_text
from simcli.spec.base.nodes import plain

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

CONTACTS_AT_ONCE = 20_000  # of one file, unless a single frame has more
LISTS_AT_ONCE = 100_000  # frames of worlds
UNMATCHED = Component("contacts.unmatched", "contacts.unmatched", "1")
MATCHED = (
    *(
        Component(f"contacts.{name}.{part}", f"contacts.{name}", unit)
        for name, unit in (("point", "m"), ("normal", "1"), ("force", "N"))
        for part in XYZ
    ),
    Component("contacts.gap", "contacts.gap", "m"),
)

_Table = dict[str, np.ndarray]


class ContactDifferences:
    """What differs between the contacts of two runs.

    Attributes:
        unmatched: number of contacts of a frame and world that only one file has, against 0.
        matched: points, normals, forces and gaps of the others.
    """

    def __init__(self, a: "Trajectory", b: "Trajectory", pairs: FramePairs, worlds: WorldPairs, tolerance: Tolerance):
        self.unmatched, self.matched = Extremes(1, Tolerance(0.0, 0.0)), Extremes(len(MATCHED), tolerance)
        self._runs, self._pairs, self._worlds = (a, b), pairs, worlds
        names = {name: k for k, name in enumerate(dict.fromkeys([*a.model["shape_name"], *b.model["shape_name"]]))}
        self._shapes = [np.array([names[name] for name in run.model["shape_name"]], np.int64) for run in (a, b)]
        self._n_shapes = len(names)
        self._kept = [_kept_shapes(run, names) for run in (a, b)] if set(a.bodies) != set(b.bodies) else []

    def compare(self) -> Iterator[int]:
        """Compare portion by portion; gives the number of pairs of frames of each."""
        first, n = 0, len(self._pairs.a)
        while first < n:
            last = self._end(first)
            self._add(*(self._rows(k, first, last) for k in (0, 1)), first, last)
            yield last - first
            first = last

    def _end(self, first: int) -> int:
        """End of the pairs of frames that begin with one and have few enough contacts."""
        last = min(len(self._pairs.a), first + max(LISTS_AT_ONCE // self._runs[0].n_worlds, 1))
        while last > first + 1 and max(self._count(k, first, last) for k in (0, 1)) > CONTACTS_AT_ONCE:
            last = first + (last - first) // 2
        return last

    def _count(self, k: int, first: int, last: int) -> int:
        frames = (self._pairs.a, self._pairs.b)[k]
        run = self._runs[k]
        return run.contacts_until(int(frames[last - 1]) + 1) - run.contacts_until(int(frames[first]))

    def _rows(self, k: int, first: int, last: int) -> _Table:
        """Contacts of some pairs of frames, of the worlds that are compared.

        `owner` has frame and world in one number, `shapes` both shapes; the values are in the order of MATCHED.
        """
        frames = (self._pairs.a, self._pairs.b)[k][first:last]
        table = self._runs[k].contact_table(int(frames[0]), int(frames[-1]) + 1)
        if k == 1:
            table["world"] = self._worlds.number_in_a(table["world"])
        wanted = np.isin(table["frame"], frames) & np.isin(table["world"], self._worlds.a)
        shape_a, shape_b = (self._shapes[k][table[name]] for name in ("shape_a", "shape_b"))
        for kept in self._kept:
            wanted &= kept[shape_a] | kept[shape_b]
        rows = {name: values[wanted] for name, values in table.items()}
        owner = np.searchsorted(frames, rows["frame"]) * self._runs[0].n_worlds + rows["world"]
        shapes = (shape_a * self._n_shapes + shape_b)[wanted]
        values = np.concatenate([rows["point"], rows["normal"], rows["force"], rows["gap"][:, None]], axis=1)
        return {"owner": owner, "shapes": shapes, "values": values}

    def _add(self, a: _Table, b: _Table, first: int, last: int) -> None:
        n_worlds, frames = self._runs[0].n_worlds, self._pairs.a[first:last]
        mine, theirs = _identities(a, b)
        lost = np.zeros((last - first) * n_worlds)
        np.add.at(lost, a["owner"][~np.isin(mine, theirs)], 1)
        np.add.at(lost, b["owner"][~np.isin(theirs, mine)], 1)
        lost = lost.reshape(-1, n_worlds)[:, self._worlds.a]
        frame, world = (grid.reshape(-1) for grid in np.meshgrid(frames, self._worlds.a, indexing="ij"))
        self.unmatched.add(np.zeros((lost.size, 1)), lost.reshape(-1, 1), frame, world)
        _, in_a, in_b = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
        owner = a["owner"][in_a]
        self.matched.add(a["values"][in_a], b["values"][in_b], frames[owner // n_worlds], owner % n_worlds)


def _kept_shapes(run: "Trajectory", names: dict[str, int]) -> np.ndarray:
    """Shapes of the bodies that a file keeps, by their numbers in `names`; it keeps the contacts that have one of them."""
    kept = np.zeros(len(names), bool)
    kept[[names[name] for name in run.model["shape_name"][run.model["shape_body"] >= 0]]] = True
    return kept


def _identities(a: _Table, b: _Table) -> tuple[np.ndarray, np.ndarray]:
    """A number for each contact of both tables: equal for those of one owner, pair of shapes, and place among these."""
    n = len(a["owner"])
    owner, shapes = (np.unique(np.concatenate([a[name], b[name]]), return_inverse=True)[1] for name in ("owner", "shapes"))
    key = owner * (shapes.max(initial=0) + 1) + shapes
    place = np.concatenate([_place(part) for part in (key[:n], key[n:])])
    identity = key * (place.max(initial=0) + 1) + place
    return identity[:n], identity[n:]


def _place(key: np.ndarray) -> np.ndarray:
    """How many equal keys stand before each."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    start = np.flatnonzero(np.diff(ordered, prepend=-1))
    place = np.empty(len(key), np.int64)
    place[order] = np.arange(len(key)) - np.repeat(start, np.diff(np.append(start, len(key))))
    return place


_ALL_WORLDS = -1


@dataclass(frozen=True)
class EventDifference:
    """An event that only one file has, or that differs.

    Attributes:
        reason: "only in A", "only in B", "time" or "value".
        world: in the one file, -1 for all of them.
        code: of the rule.
        subject: body or joint that it names; "" if none.
        text: of the event.
        time_a, time_b: [s], None in the file that lacks it.
        value_a, value_b: its number, likewise.
    """

    reason: str
    world: int
    code: str
    subject: str
    text: str
    time_a: float | None = None
    time_b: float | None = None
    value_a: float | None = None
    value_b: float | None = None

    @property
    def time(self) -> float:
        """[s], when it happened at first."""
        return min(time for time in (self.time_a, self.time_b) if time is not None)


def event_changes(
    a: "Trajectory", b: "Trajectory", worlds: WorldPairs, tolerance: Tolerance, step: float
) -> list[EventDifference]:
    """Events that differ, of the worlds that are compared and of the time that both files have, by time.

    Args:
        a: the one file.
        b: the other one.
        worlds: that are compared.
        tolerance: of the numbers of events.
        step: [s], by which times may differ.
    """
    if not (a.n_frames and b.n_frames):
        return []
    end = min(float(run.column("frames/time")[-1]) for run in (a, b)) + 0.5 * step
    number = {_ALL_WORLDS: _ALL_WORLDS, **dict(zip(worlds.b.tolist(), worlds.a.tolist(), strict=True))}
    mine = _grouped(a, {_ALL_WORLDS: _ALL_WORLDS, **{world: world for world in worlds.a.tolist()}}, end)
    theirs = _grouped(b, number, end)
    found = [
        one
        for key in dict.fromkeys([*mine, *theirs])
        for one in _of_group(key, mine.get(key, []), theirs.get(key, []), tolerance, step)
    ]
    return sorted(found, key=lambda one: one.time)


def _grouped(run: "Trajectory", number: dict[int, int], end: float) -> dict[tuple, list[Event]]:
    """Events up to a time by world, code and subject, each list by time."""
    groups: dict[tuple, list[Event]] = {}
    names = _names_of_scene(run)
    for event in sorted(run.events, key=lambda event: event.time):
        if event.world in number and event.time <= end:
            groups.setdefault((number[event.world], event.code, _subject(names, event)), []).append(event)
    return groups


def _names_of_scene(run: "Trajectory") -> dict[str, list[str]]:
    """Bodies and joints in the order of the scene, which events count in, whatever of them the file keeps."""
    try:
        root = plain(document_of_text(run.provenance.scene_resolved, "scene").root)
    except SceneError:
        return {}
    return {section: list(root.get(section) or ()) for section in ("bodies", "joints")}


def _subject(names: dict[str, list[str]], event: Event) -> str:
    """Name of the body or joint; the number of one that the scene does not write, as of a free joint."""
    for kind, section, k in (("body", "bodies", event.body), ("joint", "joints", event.joint)):
        if k >= 0:
            known = names.get(section, [])
            return f"{kind} {known[k]}" if k < len(known) else f"{kind} number {k}"
    return ""


def _of_group(
    key: tuple, mine: list[Event], theirs: list[Event], tolerance: Tolerance, step: float
) -> Iterator[EventDifference]:
    for k in range(max(len(mine), len(theirs))):
        a, b = (some[k] if k < len(some) else None for some in (mine, theirs))
        place = (*key, (a or b).text)
        if b is None:
            yield EventDifference("only in A", *place, time_a=a.time, value_a=a.value)
        elif a is None:
            yield EventDifference("only in B", *place, time_b=b.time, value_b=b.value)
        elif abs(a.time - b.time) > step:
            yield EventDifference("time", *place, a.time, b.time, a.value, b.value)
        elif not _near(a.value, b.value, tolerance):
            yield EventDifference("value", *place, a.time, b.time, a.value, b.value)


def _near(a: float, b: float, tolerance: Tolerance) -> bool:
    if a == b or (a != a and b != b):
        return True
    return abs(a - b) <= tolerance.atol + tolerance.rtol * max(abs(a), abs(b))
