"""One row per world: number, status, varied parameters, measures. What `simcli table` shows and `simcli plot -x -y` draws.

    file                 of several files
    world                number of the world in its file
    batch.world          its number in the batch, where a file holds some worlds of one (`run --world`, `slice`)
    status               ok, stopped (it met run.stop_when), failed, untrusted (`run.on_unsolved`, `run.on_drift`),
                         unfinished (its run did not come to its end)
    status.reason        of a failure, as `too fast`, or of an untrusted world, as `unsolved steps`
    status.time          when it failed or stopped [s]
    params.l             a varied parameter, by its path in the scene
    start.pin            where a joint begins, loops closed, whose `q` is varied or whose written `q` had to move
    measure.peak         a measure; measure.pos.x one component of a vector

A number that is not there is NaN.
"""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.channels import DRIFT, ENERGY_ROUNDING, check_worlds
from simcli.analysis.worlds.conditions import meets
from simcli.analysis.worlds.world_columns import IN_BATCH, WorldColumn, columns_of_worlds
from simcli.errors import UsageError
from simcli.model.params import param_unit, world_table
from simcli.spec import Document, SceneSpec, world_seeds
from simcli.spec.base.channel_names import CHANNEL_GROUPS, SCALARS, canonical, split_name
from simcli.spec.base.fault_list import did_you_mean

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

_JOULE = "J"  # of energies; torques are in N m
PLAIN = ("file", "world", IN_BATCH, "status", "status.reason", "status.time")  # columns of every table


@dataclass(frozen=True)
class WorldTable:
    """Rows of worlds.

    Attributes:
        columns: by name, in the order in which they are shown.
        n_rows: length of each.
    """

    columns: dict[str, WorldColumn]
    n_rows: int

    @property
    def varied(self) -> list[WorldColumn]:
        """Parameters that differ between the rows."""
        return [column for column in self.columns.values() if column.is_varied and len(np.unique(column.values)) > 1]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Values by the names of the columns, as `pandas.DataFrame` takes them."""
        return {name: column.values for name, column in self.columns.items()}

    def without_rounding(self) -> "WorldTable":
        """The table as it is shown: energies, but for drifts, are 0 where they are rounding beside the largest one."""
        energies = {name: column for name, column in self.columns.items() if column.unit == _JOULE}
        largest = max(
            (np.abs(one.values[np.isfinite(one.values)]).max(initial=0.0) for one in energies.values()), default=0.0
        )
        shown = {
            name: replace(column, values=np.where(np.abs(column.values) < ENERGY_ROUNDING * largest, 0.0, column.values))
            for name, column in energies.items()
            if DRIFT not in column.text
        }
        return replace(self, columns={**self.columns, **shown})

    def column(self, name: str) -> WorldColumn:
        """A column by its name.

        Raises:
            UsageError: there is none; the message has the nearest name.
        """
        found = self._named(name)
        if len(found) == 1:
            return self.columns[found[0]]
        if found:
            raise UsageError(f"`{name}` has {len(found)} components: name one, as `{found[0]}`")
        raise self._unknown(name)

    def select(self, patterns: Sequence[str]) -> "WorldTable":
        """The table with some columns, in the order of the patterns.

        Args:
            patterns: names, with wildcards; the name of a vector means all its components.

        Raises:
            UsageError: a pattern fits nothing.
        """
        kept: dict[str, WorldColumn] = {}
        for pattern in patterns:
            form = canonical(pattern)
            found = self._named(pattern) or [name for name in self.columns if fnmatchcase(canonical(name), form)]
            if not found:
                raise self._unknown(pattern)
            kept |= {name: self.columns[name] for name in found}
        return replace(self, columns=kept)

    def where(self, condition: str) -> "WorldTable":
        """The rows that meet a condition of `conditions`.

        Raises:
            UsageError: it is none.
        """
        return self._rows(np.flatnonzero(np.broadcast_to(meets(condition, self.column), self.n_rows)))

    def only(self, worlds: Sequence[int], runs: "Sequence[Trajectory]") -> "WorldTable":
        """The rows of some worlds of every file, in the order of the worlds.

        Args:
            worlds: numbers.
            runs: the files.

        Raises:
            UsageError: a file has no such world.
        """
        for run in runs:
            check_worlds(run, worlds)
        return self._rows(np.flatnonzero(np.isin(self.columns["world"].values, worlds)))

    def by_file(self, n_files: int) -> "dict[str, WorldTable]":
        """The rows of each file, by its name in the column `file`; of one file all rows, under the name ""."""
        if n_files == 1:
            return {"": self}
        column = self.columns["file"]
        return {name: self._rows(np.flatnonzero(column.values == name)) for name in column.words}

    def sort(self, names: Sequence[str]) -> "WorldTable":
        """The rows in order, those without a number last; equal ones stay as they are.

        Args:
            names: of columns, the first first; `-` before a name is descending.

        Raises:
            UsageError: there is no such column.
        """
        order = np.arange(self.n_rows)
        for name in reversed(names):
            keys = self.column(name.removeprefix("-")).order[order]
            order = order[np.argsort(-keys if name.startswith("-") else keys, kind="stable")]
        return self._rows(order)

    def top(self, count: int) -> "WorldTable":
        """The first rows."""
        return self._rows(np.arange(min(count, self.n_rows)))

    def _rows(self, places: np.ndarray) -> "WorldTable":
        columns = {name: replace(column, values=column.values[places]) for name, column in self.columns.items()}
        return WorldTable(columns, len(places))

    def _named(self, name: str) -> list[str]:
        """The column of a name, or those of the components of a vector."""
        if name in self.columns:
            return [name]
        same = [known for known in self.columns if canonical(known) == canonical(name)]
        is_vector = name.startswith("measure.")
        return same or [known for known in self.columns if is_vector and known.startswith(f"{name}.")]

    def _unknown(self, name: str) -> UsageError:
        ends = [known for known in self.columns if known.rpartition(".")[2] == name or known.endswith(f".{name}")]
        hint = f"did you mean `{ends[0]}`?" if ends else did_you_mean(name, self.columns, "columns")
        group, _, quantity = split_name(name)
        if quantity in (*CHANNEL_GROUPS.get(group, ()), *SCALARS.get(group, ())):
            hint = "a channel varies over time; a measure of it (`measure:` in the scene) is one number per world"
            if group == "diag":  # of which there are no measures
                hint = f"a diagnostic varies over time; `simcli plot -c {canonical(name)}` shows it, `expect` judges it"
        return UsageError(f"no column `{name}`{f': {hint}' if hint else ''}")


def read_table(trajectories: "Sequence[Trajectory]") -> WorldTable:
    """Rows of all worlds of some files, one after the other.

    Args:
        trajectories: of one scene, or of scenes with common columns; what a file lacks is NaN in its rows.

    Raises:
        UsageError: the same column has two units.
    """
    numbered = any(one.batch_numbers != tuple(range(one.n_worlds)) for one in trajectories)
    parts = [{column.name: column for column in columns_of_worlds(trajectory, numbered)} for trajectory in trajectories]
    sizes = [trajectory.n_worlds for trajectory in trajectories]
    names = list(dict.fromkeys(name for part in parts for name in part))
    names.sort(key=lambda name: PLAIN.index(name) if name in PLAIN else len(PLAIN) + name.startswith("measure."))
    columns = {}
    if len(parts) > 1:
        files = _files(trajectories)
        columns["file"] = WorldColumn("file", np.repeat(np.array(files), sizes), "", "file of the row", tuple(files))
    columns |= {name: _stacked(name, parts, sizes, trajectories) for name in names}
    return WorldTable(columns, sum(sizes))


def read_files(paths: Iterable[Path]) -> WorldTable:
    """As `read_table`, of files that are opened one after the other."""
    from simcli.records.reading.reader import open_trajectory

    with contextlib.ExitStack() as opened:
        return read_table([opened.enter_context(open_trajectory(path)) for path in paths])


def _files(trajectories: "Sequence[Trajectory]") -> list[str]:
    """Short names of files: without their folders where they differ all the same."""
    short = [Path(trajectory.path).name for trajectory in trajectories]
    return short if len(set(short)) == len(short) else [trajectory.path for trajectory in trajectories]


def _stacked(name: str, parts: list[dict], sizes: list[int], trajectories: "Sequence[Trajectory]") -> WorldColumn:
    """One column of all files; a parameter that is written as a plain number has the unit of the others."""
    there = sorted((part[name] for part in parts if name in part), key=lambda one: one.is_varied and not one.unit)
    for part, trajectory in zip(parts, trajectories, strict=True):
        if name in part and part[name].unit != there[0].unit and (part[name].unit or not there[0].is_varied):
            raise UsageError(
                f"{trajectory.path}: `{name}` is in {part[name].unit or 'no unit'}, elsewhere in "
                f"{there[0].unit or 'no unit'}: these files are of different scenes"
            )
    pieces = [part[name].values if name in part else np.full(size, np.nan) for part, size in zip(parts, sizes, strict=True)]
    return replace(there[0], values=np.concatenate(pieces))


def column_of(path: str, name: str) -> tuple[list[float], str]:
    """One number per world of a run.

    Args:
        path: of the file.
        name: of a column of `simcli table`, as `measure.best` or a varied path.

    Returns:
        (n_worlds,) and the unit.

    Raises:
        FileError: the file is damaged or no run.
        UsageError: it has no such column.
    """
    column = read_files([Path(path)]).column(name)
    if column.has_words:
        raise UsageError(f"`{name}` of {path} holds words")
    return [float(value) for value in column.values], column.unit


def sample_table(document: Document, spec: SceneSpec) -> WorldTable:
    """Number, seed and varied numbers of every world of a batch.

    Args:
        document: the scene as written.
        spec: the resolved scene.

    Returns:
        Columns `world`, `seed`, and one per varied path, of a vector one per component, in SI.
    """
    names, values = world_table(spec)
    numbers = [
        WorldColumn(name, column, param_unit(document, spec, name), "a varied number", is_varied=True)
        for name, column in zip(names, values.T, strict=True)
    ]
    columns = [
        WorldColumn("world", np.arange(len(values)), "", "number of the world"),
        WorldColumn("seed", np.asarray(world_seeds(spec), np.uint64), "", "seed of the world"),
        *numbers,
    ]
    return WorldTable({column.name: column for column in columns}, len(values))
