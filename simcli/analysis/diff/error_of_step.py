"""The error of a run, world by world and quantity by quantity, from two more runs of its scene at finer steps."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.diff.labelled import Labelled, labelled_columns
from simcli.analysis.diff.refinement import (
    ESTIMATED_QUANTITIES,
    EstimatedQuantity,
    Sums,
    may_hit,
    order_and_error,
    quantities_of,
    rounding_floors,
)
from simcli.analysis.diff.run_pairs import pair_frames
from simcli.analysis.drift import ORDER_OF_INTEGRATOR
from simcli.model.snapshot import Status
from simcli.model.tables.model import Model
from simcli.records.contents.measures import ErrorEstimate, EstimateVerdict
from simcli.records.reading.tiles import cut_frames, cut_worlds, read_tile, tile_lengths

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

COMPARED = ("state", "joints", "bodies", "energy", "reactions")  # channels of a file that hold one of the quantities
Key = tuple[str, str]  # name and unit of a quantity


def estimate_error(
    runs: "Sequence[Trajectory]",
    models: Iterable[Model],
    integrator: str,
    dt: float,
    seen: Callable[[float], None] = lambda fraction: None,
) -> ErrorEstimate:
    """Compare three runs of one scene.

    Args:
        runs: at the steps dt, dt/2, dt/4.
        models: of all phases of the scene.
        integrator: of the runs.
        dt: [s].
        seen: is told again and again which fraction is done.

    Raises:
        UsageError: they have no frame in common.
        FileError: a file is damaged.
    """
    columns = labelled_columns(runs[0])
    frames = _common_frames(runs)
    found: dict[Key, Sums] = {}
    kept = {path: quantities for path, column in columns.items() if (quantities := quantities_of(column))}
    for k, (path, quantities) in enumerate(kept.items()):
        _read(runs, path, quantities, frames, found)
        seen((k + 1) / len(kept))
    keys = sorted(
        (key for key in found if key[0] in ESTIMATED_QUANTITIES),
        key=lambda key: (ESTIMATED_QUANTITIES.index(key[0]), key[1]),
    )
    blocked = _blocked(runs, columns, models)
    return _put_together(keys, found, runs, blocked, integrator, dt)


def _common_frames(runs: "Sequence[Trajectory]") -> list[np.ndarray]:
    """Frames of each run whose times all of them have."""
    if all(np.array_equal(run.read("frames/time"), runs[0].time) for run in runs[1:]):
        return [np.arange(runs[0].n_frames)] * len(runs)  # nearly always; pairs of a million frames take memory
    halves, quarters = (
        [np.asarray(some) for some in (pairs.a, pairs.b)] for pairs in (pair_frames(runs[0], run) for run in runs[1:])
    )
    _, i, j = np.intersect1d(halves[0], quarters[0], assume_unique=True, return_indices=True)
    return [halves[0][i], halves[1][i], quarters[1][j]]


def _read(
    runs: "Sequence[Trajectory]",
    path: str,
    quantities: list[EstimatedQuantity],
    frames: list[np.ndarray],
    found: dict[Key, Sums],
) -> None:
    columns = [run.column(path) for run in runs]
    length, width = tile_lengths(columns)
    time = runs[0].time
    for part in cut_frames(frames, length):
        for worlds in cut_worlds(np.arange(runs[0].n_worlds), width):
            tiles = [read_tile(column, some[part], worlds) for column, some in zip(columns, frames, strict=True)]
            tiles = [tile.reshape(*tile.shape[:2], -1) for tile in tiles]
            for one in quantities:
                sums = found.setdefault((one.name, one.unit), Sums(runs[0].n_worlds))
                sums.add(one, tiles, time[frames[0][part]], worlds)


def _blocked(runs: "Sequence[Trajectory]", columns: dict[str, Labelled], models: Iterable[Model]) -> np.ndarray:
    """(W,), why nothing can be told of a world; "" if something can."""
    blocked = np.where(may_hit(runs[0], columns, models), EstimateVerdict.IMPACTS, "").astype(object)
    healthy = (Status.OK, Status.STOPPED)
    for run in runs:
        blocked[~np.isin(run.diag.status[-1], healthy)] = EstimateVerdict.FAILED
    return blocked


def _put_together(
    keys: list[Key], found: dict[Key, Sums], runs: "Sequence[Trajectory]", blocked: np.ndarray, integrator: str, dt: float
) -> ErrorEstimate:
    eps = max(np.finfo(runs[0].provenance.precision).eps, np.finfo(runs[0].column("diag/residual").dtype).eps)
    n_steps, start, parts = int(runs[-1].step[-1]), runs[0].time[0], []
    for key in keys:
        sums = found[key]
        scale = np.max([other.scale for (name, _), other in found.items() if _kin(name) == _kin(key[0])], axis=0)
        order, error, verdict = order_and_error(sums, rounding_floors(scale, eps, n_steps), ORDER_OF_INTEGRATOR[integrator])
        reason = np.where((blocked == "") & (sums.last <= start), EstimateVerdict.SHORT, blocked)
        cannot = reason != ""
        order, error = np.where(cannot, np.nan, order), np.where(cannot, np.nan, error)
        parts.append((sums.e, sums.f, order, error, sums.time, sums.label, np.where(cannot, reason, verdict)))
    stacked = [
        np.stack(some, axis=-1) if parts else np.zeros((runs[0].n_worlds, 0))
        for some in (zip(*parts, strict=True) if parts else [()] * 7)
    ]
    names, units = (np.array([key[k] for key in keys], str) for k in (0, 1))
    return ErrorEstimate(dt, integrator, names, units, *stacked[:5], *(words.astype(str) for words in stacked[5:]))


def _kin(name: str) -> str:
    """What shares its rounding: units of one quantity, by lengths of about a metre, and the terms of the energy."""
    return name.partition(".")[0] if name.startswith("energy.") else name
