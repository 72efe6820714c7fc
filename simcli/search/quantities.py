"""What a world of a search is judged by: measures of its run and arithmetic of them, or its small motions.

measure.peak                      a measure of the scene; measure.pos.x one component
{measure.peak} - 2 * {params.l}   arithmetic of measures and varied numbers, in SI
modes.1.frequency                 a mode of `simcli modes`: frequency, omega, damping_ratio, real
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from simcli.errors import SceneError, UsageError
from simcli.search.batches import Batches, SearchStoppedError, measures_alone, set_texts
from simcli.search.intervals import QUIET, Interval
from simcli.spec.base.fault_list import did_you_mean

if TYPE_CHECKING:
    from simcli.analysis.rest.modes import Study
    from simcli.analysis.rest.spectrum import Mode
    from simcli.analysis.worlds.world_table import WorldTable

MODES = "modes"
MODE_UNITS = {"frequency": "Hz", "omega": "rad/s", "damping_ratio": "1", "real": "1/s"}
_SHORT = {"damping": "damping_ratio"}
_BAD = ("failed", "untrusted")  # statuses of worlds whose measures count for nothing
NOT_VALID = "made no valid scene"


class Quantity(Protocol):
    """A number of each world.

    Attributes:
        text: as the user names it.
        unit: SI, "" if it is not known.
        without: reasons to how many points had no value for them.
    """

    text: str
    unit: str
    without: Counter[str]

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Values (N,) at points (N, P); NaN where there is none."""
        ...


@dataclass
class Measured:
    """Arithmetic of the measures of a run.

    Args:
        batches: of the scene.
        text: the arithmetic, or the name of one measure.
        intervals: of the numbers that vary.

    Raises:
        UsageError: it names no measure, or one that is not there.
        SceneError: the scene makes no mechanism.
    """

    batches: Batches
    text: str
    intervals: Sequence[Interval]
    unit: str = field(default="", init=False)
    without: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self):
        from simcli.analysis.worlds.conditions import numbers
        from simcli.spec.values.braces import names_in_braces

        self.batches = measures_alone(self.batches)
        table = self._table_before()
        names = names_in_braces(self.text) or [self.text.strip()]
        columns = [table.column(name) for name in names]
        if not any(column.name.startswith("measure.") for column in columns):
            raise UsageError(
                f"`{self.text}` has no measure in it: name one of the scene, as measure.peak, or give "
                "--measure peak=max_abs:joint.pin.q"
            )
        numbers(self.text, table.column)
        if len(columns) == 1 and self.text.strip() in (names[0], f"{{{names[0]}}}"):
            self.unit = columns[0].unit

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Values of one batch; NaN of worlds that fail."""
        from simcli.analysis.worlds.conditions import numbers
        from simcli.analysis.worlds.world_table import read_table

        values = np.full(len(points), np.nan)
        with self.batches.run(points) as (run, places):
            table = read_table([run])
            values[places] = np.broadcast_to(numbers(self.text, table.column), len(places))
            status, reason = (table.columns[name].values for name in ("status", "status.reason"))
            bad = np.isin(status, _BAD)
            values[(np.isin(np.arange(len(points)), places[bad])) | ~np.isfinite(values)] = np.nan
            self.without.update(map("{} ({})".format, status[bad].tolist(), reason[bad].tolist()))
            self.without["had no value of the measure"] += int((np.isnan(values[places]) & ~bad).sum())
        self.without[NOT_VALID] += len(points) - len(places)
        return values

    def _table_before(self) -> "WorldTable":
        """The columns that a run will have, with zeros in them."""
        from simcli.analysis.worlds.measure_layouts import layouts_of
        from simcli.analysis.worlds.world_columns import WorldColumn
        from simcli.analysis.worlds.world_table import WorldTable

        job = self.batches.prepare_scene()
        found = [WorldColumn(one.path, np.zeros(1), one.unit) for one in self.intervals]
        for layout in layouts_of(job.spec.measure, job.measures, job.model.joints, job.model.sensors):
            names = [f"measure.{layout.name}.{label}" for label in layout.labels] or [f"measure.{layout.name}"]
            found += [WorldColumn(name, np.zeros(1), layout.unit, layout.text) for name in names]
        return WorldTable({column.name: column for column in found}, 1)


@dataclass
class OfMode:
    """A number of one small motion of a scene, as `simcli modes` has it.

    Args:
        scene: file.
        sets: overrides of it.
        paths: of the numbers that vary.
        text: as `modes.1.frequency`.
        searches: False to take the initial state as it is.
        stable: search a stable equilibrium.
        device: as of a run.
        threads: likewise.
        goes_on: False stops.

    Raises:
        UsageError: there is no such number.
    """

    scene: Path
    sets: Sequence
    paths: Sequence[str]
    text: str
    searches: bool = True
    stable: bool = False
    device: str = "auto"
    threads: int | None = None
    goes_on: Callable[[], bool] = lambda: True
    unit: str = field(default="", init=False)
    without: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self):
        words = self.text.split(".")
        if len(words) != 3 or not words[1].isdecimal() or not int(words[1]):
            raise UsageError(f"`{self.text}` is no number of a mode: write as modes.1.frequency; they are counted from 1")
        self.number, self.key = int(words[1]), _SHORT.get(words[2], words[2])
        if self.key not in MODE_UNITS:
            raise UsageError(f"`{self.text}`: a mode has no `{words[2]}`: {did_you_mean(words[2], MODE_UNITS, 'it has')}")
        self.unit = MODE_UNITS[self.key]

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Values, one study of an equilibrium after the other; NaN where there is no equilibrium, or no such number."""
        from simcli.analysis.rest.postures import NoEquilibriumError

        found, invalid = np.full(len(points), np.nan), None
        for k, point in enumerate(points):
            if not self.goes_on():
                raise SearchStoppedError("stopped")
            try:
                found[k] = self._value(point)
            except NoEquilibriumError as error:
                self.without[f"had no equilibrium: {error}"] += 1
            except SceneError as error:
                self.without[NOT_VALID] += 1
                invalid = error
            else:
                self.without["had no such number"] += int(np.isnan(found[k]))
        if invalid and np.isnan(found).all():
            raise invalid
        return found

    def _value(self, point: np.ndarray) -> float:
        from simcli.analysis.rest.modes import refuse_modes, study
        from simcli.kernels.device.runtime import start_device
        from simcli.pipeline import build_model, read_scene

        document, spec = read_scene(self.scene, (*self.sets, *QUIET, *set_texts(self.paths, point)))
        model = build_model(document, spec)
        refuse_modes(model, document)
        one = study(model, start_device(self.device, "float64", self.threads), self.searches, self.stable)
        try:
            return self._of(one)
        finally:
            one.close()

    def _of(self, one: "Study") -> float:
        if self.number > len(one.modes):
            raise UsageError(f"`{self.text}`: the scene has modes 1 to {len(one.modes)}; `simcli modes` lists them")
        mode: Mode = one.modes[self.number - 1]
        value = mode.eigenvalue.real if self.key == "real" else getattr(mode, self.key)
        return np.nan if value is None else float(value)


def is_of_mode(text: str) -> bool:
    """Whether a text means a number of a mode."""
    return text.strip().split(".")[0] == MODES
