"""Events of two runs, matched by world, code, body and joint; several of these by their order in time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simcli.analysis.diff.extremes import Tolerance
from simcli.analysis.diff.world_pairs import WorldPairs
from simcli.errors import SceneError
from simcli.model.snapshot import Event
from simcli.spec import document_of_text
from simcli.spec.base.nodes import plain

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

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


def event_changes(a: "Trajectory", b: "Trajectory", worlds: WorldPairs, tolerance: Tolerance,
                  step: float) -> list[EventDifference]:  # fmt: skip
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
    found = [one for key in dict.fromkeys([*mine, *theirs])
             for one in _of_group(key, mine.get(key, []), theirs.get(key, []), tolerance, step)]  # fmt: skip
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


def _of_group(key: tuple, mine: list[Event], theirs: list[Event], tolerance: Tolerance,
              step: float) -> Iterator[EventDifference]:  # fmt: skip
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
