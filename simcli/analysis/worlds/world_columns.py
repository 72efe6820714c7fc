"""Columns of a table of worlds, and those of one file: numbers, status, parameters, starts, measures."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from simcli.model.snapshot import MET, UNTRUSTED, Status
from simcli.spec.base.patterns import matching

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

STATUS_WORDS = ("ok", "stopped", "failed", "untrusted", "unfinished")
ERROR = 2  # severity of the event that ends a world
IN_BATCH = "batch.world"
_WARNING, _MOVED = 1, "SC616"  # severity and code of the event of a written coordinate that moved
_VARIED_START = re.compile(r"(?:joints\.(.+?)\.q|initial\.joint_q\.(.+?))(?:\[\d+\])*")


@dataclass(frozen=True)
class WorldColumn:
    """One quantity of all rows.

    Attributes:
        name: as `measure.peak`.
        values: (n,), numbers or words.
        unit: of numbers, else "".
        text: what it is, in words.
        words: that may stand in it; () of numbers.
        is_varied: True of a parameter.
    """

    name: str
    values: np.ndarray
    unit: str = ""
    text: str = ""
    words: tuple[str, ...] = ()
    is_varied: bool = False

    @property
    def has_words(self) -> bool:
        """True if words stand in it, not numbers."""
        return self.values.dtype.kind == "U"

    @property
    def title(self) -> str:
        """Name and unit: `measure.peak [rad]`."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    @cached_property
    def order(self) -> np.ndarray:
        """Keys by which rows ascend, (n,) float64; NaN stays."""
        return np.unique(self.values, return_inverse=True)[1].astype(float) if self.has_words else self.values.astype(float)


def columns_of_worlds(trajectory: "Trajectory", numbered: bool) -> list[WorldColumn]:
    """Columns of one file; `numbered`: with the numbers in the batch."""
    columns = [WorldColumn("world", np.arange(trajectory.n_worlds), "", "number of the world in its file")]
    if numbered:
        columns.append(WorldColumn(IN_BATCH, np.array(trajectory.batch_numbers), "", "number of the world in its batch"))
    columns += _status(trajectory)
    units = trajectory.param_units
    columns += [
        WorldColumn(name, values, units[name], "varied", is_varied=True) for name, values in trajectory.params.items()
    ]
    columns += _starts(trajectory)
    for name, measure in trajectory.measures.items():
        layout, value = measure.layout, measure.value
        labels = [f".{label}" for label in layout.labels] or [""]
        numbers = value.reshape(trajectory.n_worlds, len(labels)).T
        columns += [
            WorldColumn(f"measure.{name}{label}", row, layout.unit, layout.text)
            for label, row in zip(labels, numbers, strict=True)
        ]
    return columns


def _starts(trajectory: "Trajectory") -> list[WorldColumn]:
    """Where joints begin of which something else may be written: coordinates of each, closed loops included."""
    chosen = {
        j
        for match in map(_VARIED_START.fullmatch, trajectory.params)
        if match
        for j in matching(trajectory.joints, match[1] or match[2])
    }
    moved = {event.joint for event in trajectory.events if event.code == _MOVED and event.severity >= _WARNING}
    if not chosen | moved:
        return []
    starts, q = trajectory.model["q_start"], trajectory.model["initial_joint_q"]
    found = []
    for j in sorted(chosen | moved):
        name, own = trajectory.joints[j], range(starts[j], starts[j + 1])
        labels = [""] if len(own) == 1 else [f".{k}" for k in range(len(own))]
        for label, place in zip(labels, own, strict=True):
            values = np.broadcast_to(q[:, place], trajectory.n_worlds).astype(float)
            unit = str(trajectory.model["q_unit"][place])
            found.append(WorldColumn(f"start.{name}{label}", values, unit, "coordinate at the start, loops closed"))
    return found


def _status(trajectory: "Trajectory") -> list[WorldColumn]:
    """Word, reason and time of each world."""
    n = trajectory.n_worlds
    codes = np.asarray(trajectory.diag.status[-1] if trajectory.n_frames else np.zeros(n, int)).astype(int)
    word = np.full(n, "ok" if trajectory.is_complete else "unfinished", dtype="<U10")
    word[codes == Status.STOPPED] = "stopped"
    failed = (codes != Status.OK) & (codes != Status.STOPPED)
    word[failed] = "failed"
    reasons = {code: _reason(code) for code in np.unique(codes[failed]).tolist()}
    known, place = np.unique(codes, return_inverse=True)
    reason = np.array([reasons.get(code, "") for code in known.tolist()], "<U24")[place]
    wrong = untrusted_worlds(trajectory)
    word[list(wrong)] = "untrusted"
    reason[list(wrong)] = list(wrong.values())
    return [
        WorldColumn("status", word, "", "how the world ended", STATUS_WORDS),
        WorldColumn("status.reason", reason, "", "of a failure", ("", *reasons.values(), *UNTRUSTED.values())),
        WorldColumn("status.time", _ends(trajectory, codes), "s", "when the world failed or stopped"),
    ]


def untrusted_worlds(trajectory: "Trajectory") -> dict[int, str]:
    """Worlds of a file that came to their end, but are not to be trusted, and why."""
    found: dict[int, str] = {}
    for event in trajectory.events:
        if event.code in UNTRUSTED:
            found.setdefault(event.world, UNTRUSTED[event.code])
    return found


def _reason(code: int) -> str:
    return Status(code).name.lower().replace("_", " ") if code in list(Status) else f"status {code}"


def _ends(trajectory: "Trajectory", codes: np.ndarray) -> np.ndarray:
    """When each world ended [s], (W,), by its event, else by the first frame after it; NaN where it did not."""
    time = np.full(len(codes), np.nan)
    ended = codes != Status.OK
    if not ended.any():
        return time
    for event in trajectory.events:
        if (event.severity >= ERROR or event.code == MET) and event.world >= 0 and np.isnan(time[event.world]):
            time[event.world] = event.time
    time[~ended] = np.nan
    for frame in range(trajectory.n_frames):
        unknown = ended & np.isnan(time)
        if not unknown.any():
            break
        time[unknown & (np.asarray(trajectory.diag.status[frame]) != Status.OK)] = trajectory.time[frame]
    return time
