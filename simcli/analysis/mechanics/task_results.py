"""Results of the commands on states: as CSV, one row per state, and the largest of what all states have.

The columns of CSV are those of `columns`, which the commands read back. Residuals, differences of efforts and gaps of loops
are kept while the states pass.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from simcli.analysis.mechanics.rounds import turns_of
from simcli.analysis.states.columns import field_columns
from simcli.analysis.states.portions import States
from simcli.model.closure.begin import has_rows
from simcli.model.closure.postures import gaps_at, joint_of_row
from simcli.model.tables.model import Model
from simcli.records.contents.results import FIELDS, ResultAxes
from simcli.records.drafts import written

_OPEN = 1e-6  # [m, rad, 1] gap that is told: far above what loops of a run drift by, and what a table's decimals leave


class Worst:
    """Largest residuals of a projection, and the state of the largest distance."""

    def __init__(self):
        self.facts = {f"residual_{name}": 0.0 for name in ("position", "angle", "velocity", "spin")}
        self.place, self._size = "", -1.0

    def look(self, states: States, found: dict[str, np.ndarray]) -> None:
        """See some states."""
        for name in self.facts:
            self.facts[name] = max(self.facts[name], _largest(found[name]))
        size = np.nan_to_num(np.maximum(found["residual_position"], found["residual_angle"]))
        if len(size) and size.max() > self._size:
            k = int(size.argmax())
            self.place, self._size = _place_of(states, k), float(size[k])

    def exceeds(self, tolerance: float) -> bool:
        """True if a body is further [m] or more turned [rad] than this."""
        return max(self.facts["residual_position"], self.facts["residual_angle"]) > tolerance

    @property
    def words(self) -> str:
        """The largest distances, and where."""
        shift, angle = self.facts["residual_position"], self.facts["residual_angle"]
        return f"off by {shift:.3g} m and {angle:.3g} rad at most, worst at {self.place}"


class Difference:
    """Largest difference of efforts from the recorded ones."""

    def __init__(self):
        self.facts = {"largest_difference": 0.0, "largest_effort": 0.0}
        self.place = ""

    def look(self, states: States, found: dict[str, np.ndarray]) -> None:
        """See some states."""
        gap = np.nan_to_num(np.abs(found["joint_effort"] - found["recorded_effort"]))
        if gap.size and gap.max() > self.facts["largest_difference"]:
            self.place = f" at {_place_of(states, int(gap.max(axis=1).argmax()))}"
        self.facts["largest_difference"] = max(self.facts["largest_difference"], _largest(gap))
        self.facts["largest_effort"] = max(self.facts["largest_effort"], _largest(np.abs(found["recorded_effort"])))

    @property
    def words(self) -> str:
        """The largest difference, beside the largest effort."""
        gap, size = self.facts["largest_difference"], self.facts["largest_effort"]
        return f"recorded and computed efforts differ by at most {gap:.3g}{self.place}; the largest effort is {size:.3g}"


class OpenLoops:
    """The largest gap of what constrains the tree: joints that close loops, gears, rods.

    Args:
        model: of one world, or of all that the states have.
    """

    def __init__(self, model: Model):
        self.model = model
        self._has_rows, self._largest, self._n_states = has_rows(model), _OPEN, 0
        self._row = self._place = None

    def look(self, states: States, seats: np.ndarray, found: dict[str, np.ndarray]) -> None:
        """See some states, which have coordinates, or results that are coordinates.

        Args:
            states: some states.
            seats: (N,), world of the model for each.
            found: results.
        """
        q = states.values.get("joint_q", found.get("joint_q"))
        if not len(states) or not self._has_rows or q is None or q.shape[1:] != (self.model.n_q,):
            return
        for chosen, gaps in self._rounds(np.nan_to_num(q), seats):
            if gaps.max(initial=0.0) > self._largest:
                k, row = np.unravel_index(gaps.argmax(), gaps.shape)
                self._largest, self._row = float(gaps[k, row]), int(row)
                self._place = _place_of(states, int(chosen[k]))
        self._n_states += len(states)

    def _rounds(self, q: np.ndarray, seats: np.ndarray):
        """Numbers of states and gaps of their rows, a state of each world at a time."""
        if self.model.n_worlds == 1:
            yield np.arange(len(q)), gaps_at(self.model, q)
            return
        turn = turns_of(seats)
        for n in range(turn.max(initial=-1) + 1):
            chosen = np.flatnonzero(turn == n)
            placed = np.repeat(q[chosen[:1]], self.model.n_worlds, axis=0)
            placed[seats[chosen]] = q[chosen]
            yield chosen, gaps_at(self.model, placed)[seats[chosen]]

    @property
    def facts(self) -> dict[str, object]:
        """The joint and its gap; empty where all are closed."""
        return {} if self._row is None else {"open_joint": self._name, "open_by": self._largest}

    @property
    def words(self) -> str:
        """The same as a sentence."""
        where = f" at {self._place}, the most of {self._n_states} states" if self._n_states > 1 else ""
        gap = f"{self._largest:.3g} {joint_of_row(self.model, self._row)[1]}"
        return (
            f"joint `{self._name}` is open by {gap}{where}: the coordinates are taken as given, and loops stay open; "
            "the scene's own are closed, those of `--set joints.NAME.q=VALUE` among them"
        )

    @property
    def _name(self) -> str:
        return self.model.joints.name[joint_of_row(self.model, self._row)[0]]


def _place_of(states: States, k: int) -> str:
    """A state in words."""
    time = f"t = {states.time[k]:g} s, " if np.isfinite(states.time[k]) else ""
    return f"{time}frame {states.frame[k]}, world {states.world[k]}"


def _largest(values: np.ndarray) -> float:
    """Largest number, NaN left out."""
    return float(np.nan_to_num(values).max(initial=0.0))


class CsvWriter:
    """Writes one table; nothing stands at its path before all is written.

    Args:
        path: of the file. What stands there is replaced: whether it may be is the caller's decision.
        fields: names of `records.contents.results.FIELDS`, in order.
        axes: of the model.
        with_time: write the time of each state.
        with_world: write the world of each state.
        with_frame: write its number, where rows are no states.

    Raises:
        OutputError: the file cannot be written.
    """

    def __init__(
        self,
        path: Path,
        fields: Sequence[str],
        axes: ResultAxes,
        with_time: bool,
        with_world: bool,
        with_frame: bool = False,
    ):
        self.fields, self.places = tuple(fields), (with_time, with_world, with_frame)
        places = ["time [s]"] * with_time + ["world"] * with_world + ["frame"] * with_frame
        # The words of whole numbers that count them: -1 is the last one, none.
        self._words = {
            name: np.array((*axes.label[FIELDS[name].names], ""), object) for name in fields if FIELDS[name].names
        }
        self._header = [*places, *(name.header for field in fields for name in field_columns(field, axes))]
        self._file = written(path)

    def __enter__(self) -> "CsvWriter":
        self._writer = csv.writer(self._file.__enter__(), lineterminator="\n")
        self._writer.writerow(self._header)
        return self

    def __exit__(self, *what) -> None:
        self._file.__exit__(*what)

    def put(self, states: States, values: Mapping[str, np.ndarray]) -> None:
        """Append states; floats in the shortest form that reads back as the same number, NaN as an empty cell."""
        table = np.concatenate([self._cells(field, values[field]).reshape(len(states), -1) for field in self.fields], axis=1)
        given = (map(repr, states.time.tolist()), map(str, states.world.tolist()), map(str, states.frame.tolist()))
        for *place, numbers in zip(*given, table.tolist(), strict=True):
            shown = [word for word, is_shown in zip(place, self.places, strict=True) if is_shown]
            self._writer.writerow([*shown, *(_cell(x) for x in numbers)])

    def _cells(self, field: str, values: np.ndarray) -> np.ndarray:
        """Numbers of a field, or the names that they stand for."""
        return self._words[field][values] if field in self._words else values


def _cell(x: float | str) -> str:
    """A number in the shortest form that reads back, an empty cell for none."""
    return x if isinstance(x, str) else "" if x != x else repr(x)
