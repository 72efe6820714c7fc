"""Schema of the batch: how many worlds, and what differs between them."""

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, PrivateAttr, WithJsonSchema, model_validator

from simcli.spec.schema.expect import Pair
from simcli.spec.values.csv_tables import MAX_WORLDS, SampleColumn, SampleColumns
from simcli.spec.values.quantities import (
    REQUIRED,
    AnyNumber,
    Text,
    count,
    doc,
    list_json,
    number_json,
    one_of,
    one_or_list_json,
    quantity,
    refuse,
)
from simcli.spec.values.sobol import MAX_DIMENSIONS
from simcli.spec.values.spec_model import SpecModel

MAX_STRATA = 2**24
_DEVIATIONS = 37.0  # from the mean: beyond, the tail of a normal distribution is less than the smallest number
Draw = Annotated[tuple[AnyNumber | tuple[AnyNumber, ...], ...], WithJsonSchema(list_json(one_or_list_json(), 0))]
Weights = Annotated[tuple[quantity("", ge=0), ...], WithJsonSchema(list_json(number_json("", ge=0), 1))]


class FromSpec(SpecModel):
    """Values out of an earlier run, one per world: those of a measure, or of what it varied."""

    file: Text = doc(REQUIRED, "Output of `simcli run`, below the scene's folder", "", "earlier.h5")
    measure: Text | None = doc(None, "A measure; NAME.x one component of a vector", "", "best")
    param: Text | None = doc(None, "A varied parameter, by its path", "", "params.k")
    sha256: Text | None = doc(None, "Checksum of the values; a resolved scene has it", "", "9f86d081")
    _column: SampleColumn | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _one(self) -> "FromSpec":
        one_of(self, ("measure", "param"))
        return self

    @property
    def name(self) -> str:
        """The column of `simcli table` that is meant."""
        return self.param or f"measure.{self.measure}"

    @property
    def column(self) -> SampleColumn:
        """What was read."""
        return self._column or SampleColumn("", ())

    def having(self, column: SampleColumn, sha256: str) -> "FromSpec":
        """The same with its values."""
        made = self.model_copy(update={"sha256": sha256})
        made._column = column
        return made


VARY_KINDS = (
    "uniform",
    "normal",
    "log_uniform",
    "linspace",
    "list",
    "sobol",
    "grid",
    "zip",
    "lhs",
    "scrambled_sobol",
    "choice",
    "from",
)
# Keys beside a kind, and the kinds that read them.
OPTIONS = {
    "low": ("normal",),
    "high": ("normal",),
    "correlation": ("normal",),
    "covariance": ("normal",),
    "weights": ("choice",),
    "strata": ("lhs",),
    "dimension": ("sobol", "scrambled_sobol"),
}


class VarySpec(SpecModel):
    """How one number differs between worlds: one of the ways, and what belongs to it."""

    uniform: Pair | None = doc(None, "Drawn evenly from [low, high)", "of the number", [0.01, 0.1])
    normal: Pair | None = doc(None, "Drawn from a normal distribution [mean, deviation]", "of the number", [1.0, 0.1])
    low: AnyNumber | None = doc(None, "With normal: nothing below it, the distribution is cut", "of the number", 0.8)
    high: AnyNumber | None = doc(None, "With normal: nothing above it", "of the number", 1.2)
    correlation: dict[str, quantity("", ge=-1, le=1)] | None = doc(
        None, "With normal: correlation with other paths that are normal; of a pair one says it", "", "{params.m: 0.8}"
    )
    covariance: dict[str, AnyNumber] | None = doc(
        None, "With normal: the same as covariance, in the product of both units", "", "{params.m: 0.04}"
    )
    log_uniform: Pair | None = doc(None, "Drawn evenly in the logarithm from [low, high)", "of the number", [1e-3, 1])
    choice: Draw | None = doc(None, "One of these entries", "of the number", [0.1, 0.2, 0.5])
    weights: Weights | None = doc(None, "With choice: how often each, relative to the others", "", [1, 2, 1])
    linspace: Pair | None = doc(None, "Spread over the worlds from first to last", "of the number", [0, 1])
    list: Draw | None = doc(None, "One entry per world", "of the number", [0.1, 0.2])
    from_: FromSpec | None = doc(
        None, "One entry per world, out of an earlier run", "", "{file: earlier.h5, measure: best}", alias="from"
    )
    lhs: Pair | None = doc(
        None, "Latin hypercube: of `strata` worlds in a row each has its own slice of [low, high)", "of the number", [0, 1]
    )
    strata: count(gt=0, le=MAX_STRATA) | None = doc(None, "With lhs: number of slices; default: `worlds`", "", 100)
    sobol: Pair | None = doc(None, "Low-discrepancy draws from [low, high)", "of the number", [0, 1])
    scrambled_sobol: Pair | None = doc(
        None, "The same with Owen's scrambling, whose errors are smaller and free of bias", "of the number", [0, 1]
    )
    dimension: count(ge=0, lt=MAX_DIMENSIONS) | None = doc(
        None, "With sobol, scrambled_sobol: of the sequence; default: by the order of such paths", "", 0
    )
    grid: Draw | None = doc(None, "All entries, times all of the other grids", "of the number", [0.2, 0.3])
    zip: Draw | None = doc(None, "As grid, but in step with all other zips", "of the number", [0.2, 0.3])

    @property
    def kind(self) -> str:
        """The way, as it is written."""
        return next(name for name in VARY_KINDS if self.of(name) is not None)

    def of(self, key: str) -> Any:
        """The value of a key."""
        return getattr(self, "from_" if key == "from" else key)

    @property
    def value(self) -> Any:
        """What stands under the way."""
        return self.of(self.kind)

    @model_validator(mode="after")
    def _one(self) -> "VarySpec":
        given = [name for name in VARY_KINDS if self.of(name) is not None]
        if len(given) != 1:
            listed = ", ".join(f"`{name}`" for name in VARY_KINDS)
            if given:
                both = " and ".join(f"`{name}`" for name in given)
                raise refuse("SC207", f"{both} contradict each other", f"keep one of {listed}", given[1])
            raise refuse("SC202", f"one of {listed} is missing", "add one of them")
        kind, value = given[0], self.of(given[0])
        for key, kinds in OPTIONS.items():
            if getattr(self, key) is not None and kind not in kinds:
                raise refuse("SC207", f"`{key}` has no meaning with `{kind}`", f"it goes with {' and '.join(kinds)}", key)
        if kind in ("uniform", "sobol", "scrambled_sobol", "lhs") and not value[0] <= value[1]:
            raise refuse("SC232", f"`{kind}` from {value[0]:g} down to {value[1]:g}", "write [low, high]", kind)
        if kind == "log_uniform" and not 0 < value[0] <= value[1]:
            raise refuse("SC232", "`log_uniform` needs 0 < low <= high", "write [low, high]", kind)
        if kind in ("list", "grid", "zip", "choice") and not value:
            raise refuse("SC205", f"`{kind}` is empty", "write at least one entry", kind)
        if kind == "normal":
            self._check_normal()
        if self.weights is not None:
            self._check_weights()
        return self

    def _check_normal(self) -> None:
        mean, deviation = self.normal
        low, high = (-math.inf if self.low is None else self.low), (math.inf if self.high is None else self.high)
        if deviation < 0:
            raise refuse("SC231", "a deviation below zero", "write [mean, deviation]", "normal")
        if not low <= high:
            raise refuse("SC232", f"a normal distribution from {low:g} down to {high:g}", "write low <= high", "high")
        if low - mean > _DEVIATIONS * deviation or mean - high > _DEVIATIONS * deviation:
            key, at = ("low", low) if low > mean else ("high", high)
            message = f"nothing of the normal distribution is left: `{key}` = {at:g} is too far from its mean {mean:g}"
            raise refuse("SC232", message, "write bounds around the mean, or near it", key)
        if (self.low is not None or self.high is not None) and (self.correlation or self.covariance):
            key = "low" if self.low is not None else "high"
            message = f"`{key}` has no meaning for a correlated normal"
            raise refuse("SC207", message, "leave out the bounds or the correlation", key)
        for path in self.correlation or ():
            if path in (self.covariance or ()):
                raise refuse("SC207", f"both correlation and covariance with `{path}`", "keep one of them", "covariance")

    def _check_weights(self) -> None:
        if len(self.weights) != len(self.choice):
            message = f"{len(self.weights)} weights for {len(self.choice)} entries"
            raise refuse("SC205", message, "write one weight per entry", "weights")
        if not 0 < math.fsum(self.weights) < math.inf:
            raise refuse("SC231", "the sum of the weights is not a number above zero", "as [1, 2, 1]", "weights")


def as_list(value: object) -> object:
    """A vector as a list; a number as it is."""
    return list(value) if isinstance(value, tuple) else value


def _as_targets(value: object) -> object:
    """`columns: [a, b]` cannot be told from a mapping that was forgotten; a hint says what is meant."""
    if isinstance(value, list | tuple):
        hint = "write what each is for: `{length: params.l}`; without `columns`, headers that are paths name themselves"
        raise refuse("SC203", "`columns` is a list", hint)
    return value


class TableSpec(SpecModel):
    """A table whose rows are the worlds; `table: samples.csv` for short."""

    file: Text = doc(REQUIRED, "CSV or Parquet file, below the scene's folder", "", "samples.csv")
    columns: Annotated[dict[str, Text] | None, BeforeValidator(_as_targets)] = doc(
        None, "Header to dotted path; default: headers are paths themselves", "", '{length: params.l, "k [N/mm]": params.k}'
    )
    sha256: Text | None = doc(None, "Checksum that the file must have; a resolved scene has it", "", "9f86d081")
    _read: SampleColumns | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _some(self) -> "TableSpec":
        if self.columns is not None and not self.columns:
            raise refuse("SC205", "`columns` is empty", "leave it out, or write `{length: params.l}`", "columns")
        return self

    @property
    def read(self) -> SampleColumns:
        """What the file holds."""
        return self._read or SampleColumns()

    def having(self, read: SampleColumns, sha256: str) -> "TableSpec":
        """The same with what its file holds."""
        made = self.model_copy(update={"sha256": sha256})
        made._read = read
        return made


def _numbers_alone(value: object) -> object:
    """Refuse that worlds differ in which keyframe they begin from."""
    for key in ("initial", "initial.keyframe") if isinstance(value, dict) else ():
        if key in value:
            hint = "vary numbers, as initial.joint_q.NAME or keyframes.NAME.joint_q.NAME, or run each: --set initial=NAME"
            raise refuse("SC317", f"`{key}` names a keyframe, and worlds differ in numbers", hint, key)
    return value


class BatchSpec(SpecModel):
    """Many worlds of one scene."""

    worlds: count(gt=0, le=MAX_WORLDS) | None = doc(
        None, "Worlds (draws) per grid point; default: the rows of the table, the entries of a list, else 1", "", 1024
    )
    seed: count(ge=0) = doc(0, "Seed of all random numbers", "", 7)
    table: TableSpec | None = doc(None, "A file with a row per world", "", "{file: samples.csv}")
    vary: Annotated[dict[str, VarySpec], BeforeValidator(_numbers_alone)] = doc(
        dict, "Dotted path of a number to how it varies", "", "{joints.pin.damping: {uniform: [0, 1]}}"
    )

    @property
    def n_draws(self) -> int:
        """Worlds of each grid point."""
        if self.worlds is not None:
            return self.worlds
        if self.table is not None and self.table.read.n_rows:
            return self.table.read.n_rows
        entries = [
            len(vary.list) if vary.kind == "list" else len(vary.from_.column.values)
            for vary in self.vary.values()
            if vary.kind in ("list", "from")
        ]
        return max(1, *entries, 1)

    @property
    def axes(self) -> list[list[dict[str, object]]]:
        """The grids, each a list of places: path to value. All zips make one, at the place of the first."""
        zipped = {path: vary.zip for path, vary in self.vary.items() if vary.kind == "zip"}
        axes: list[list[dict[str, object]]] = []
        for path, vary in self.vary.items():
            if vary.kind == "grid":
                axes.append([{path: as_list(value)} for value in vary.grid])
            elif zipped and path == next(iter(zipped)):
                places = zip(*zipped.values(), strict=False)
                axes.append([dict(zip(zipped, map(as_list, place), strict=True)) for place in places])
        return axes

    @property
    def n_worlds(self) -> int:
        """Worlds: draws times the product of the grids."""
        return self.n_draws * math.prod(len(axis) for axis in self.axes)

    @property
    def paths(self) -> tuple[str, ...]:
        """Everything that differs between worlds: the columns of the table, then `vary`, in the order of the file."""
        return (*(self.table.read.values if self.table is not None else ()), *self.vary)
