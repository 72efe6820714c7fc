"""Residuals and Jacobian of a fit at trial points, each run with its neighbours in one batch of 2 P + 1 worlds.

    df/dx = (f(x + h) - f(x - h)) / 2h,   h = eps^(1/3) size,   error about eps^(2/3)

h is a power of two, so that x + h and x - h differ by what is divided by. At a bound both neighbours are on the side within
(the same order, one-sided); where one neighbour alone has values, as beside a failing world, the order is one.

A run writes frames at the rhythm of the data where all their times are whole steps; nothing is interpolated then. Else it
writes every step, and a polynomial of degree five through six frames gives the numbers between: its error is of sixth order
in the step, as good as rounding for what a step resolves, and is told all the same, by what one degree less would change.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.worlds.world_columns import untrusted_worlds
from simcli.errors import FileError, SceneError, UsageError
from simcli.model.snapshot import Status
from simcli.search.batches import Batches
from simcli.search.fit_data import Log
from simcli.search.free_numbers import ON_STEP, FreeNumber
from simcli.search.quantities import NOT_VALID
from simcli.spec.base.channel_names import is_on_demand
from simcli.spec.document.overrides import SET, Override

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory
    from simcli.spec import SceneSpec


_NODES = 6  # frames of an interpolation


@dataclass(frozen=True)
class Rhythm:
    """When a run must write frames.

    Attributes:
        every: [s], between frames.
        on_frames: whether the data lie on them.
        end: [s], after which nothing is needed.
    """

    every: float
    on_frames: bool
    end: float


def rhythm_of(log: Log, spec: "SceneSpec", latest: float | None = None) -> Rhythm:
    """The frames that a log asks for.

    Args:
        log: the data.
        spec: of the run.
        latest: [s], largest offset of the clocks, where that is fitted: the rows then lie in the run at every offset.

    Raises:
        FileError: a time is outside of the run; names the line.
    """
    dt, duration = spec.solver.dt, spec.run.duration
    if latest is not None:
        last = math.ceil((float(log.time.max()) + latest) / dt)
        return Rhythm(dt, False, min((last + _NODES) * dt, duration))
    for row in np.flatnonzero((log.time < 0.0) | (log.time > duration + ON_STEP * dt))[:1]:
        hint = "times begin at 0" if log.time[row] < 0.0 else f"lengthen it: --set run.duration={log.time.max():g}"
        raise FileError(f"{log.at(row)}: the time {log.time[row]:g} s is outside of the run, 0 to {duration:g} s: {hint}")
    steps = np.round(log.time / dt)
    if (np.abs(log.time / dt - steps) > ON_STEP).any():
        return Rhythm(dt, False, min((int(steps.max()) + _NODES) * dt, duration))
    whole, last = math.gcd(*steps.astype(int).tolist()), int(steps.max())
    return Rhythm((whole or round(duration / dt)) * dt, True, last * dt if last else duration)


def output_sets(log: Log, rhythm: Rhythm) -> list[Override]:
    """Overrides by which a run writes what a log has, and ends with it."""
    from simcli.analysis.channels import quantity_of
    from simcli.analysis.expectations import channels_of

    # Of several components one name: what it is a part of is what a scene can ask for.
    demanded = list(
        dict.fromkeys(
            quantity_of(label) if not is_on_demand(label) else label
            for label in log.labels
            if is_on_demand(label) or is_on_demand(label.rpartition(".")[0])
        )
    )
    channels = channels_of(
        label if ".wrench." not in label else label.rpartition(".")[0]
        for label in log.labels
        if not any(label.startswith(name) for name in demanded)
    )
    values = {
        "run.duration": repr(rhythm.end),
        "output.every": repr(rhythm.every),
        "output.channels": f"[{', '.join(sorted(channels))}]",
        "output.quantities": f"[{', '.join(demanded)}]",
        "measure": "{}",
        "run.stop_when": "null",
        "output.select": "null",
    }
    return [Override(SET, text, path) for path, text in values.items()]


def _columns_of(run: "Trajectory", log: Log) -> list[tuple]:
    """Source and component of each column of a log.

    Raises:
        FileError: the run has no such quantity.
    """
    from simcli.analysis.channels import locate_channel

    found = []
    for label in log.labels:
        for name in (label, label.rpartition(".")[0]):
            try:
                sources = locate_channel(run, name)
            except UsageError:
                continue
            if len(sources) == 1 and label in sources[0].labels:
                found.append((sources[0], sources[0].labels.index(label)))
                break
        else:
            raise FileError(f"{log.path}:1: column `{label}`: a run of the scene has no such quantity")
    return found


def numbers_at(run: "Trajectory", log: Log, rhythm: Rhythm, offsets: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    """The numbers of every world at the times of a log.

    Args:
        run: a batch.
        log: says which and when.
        rhythm: of the run's frames.
        offsets: [s], (W,), of the clock of each world from that of the log; None where they are one.

    Returns:
        (W, T, C), NaN from the frame on at which a world has ended, and of untrusted worlds; and the largest error of the
        interpolation, relative to the spread of its column.
    """
    ended = np.asarray(run.diag.status[:]) != Status.OK
    columns, error = _columns_of(run, log), 0.0
    out = np.empty((run.n_worlds, len(log.time), len(columns)))
    blocks = {source.name: source.read(slice(None)) for source in {one.name: one for one, _ in columns}.values()}
    shifted = (
        [(slice(None), log.time)]
        if offsets is None
        else [(slice(w, w + 1), log.time + offset) for w, offset in enumerate(offsets)]
    )
    for worlds, time in shifted:
        frame = np.searchsorted(run.time, time - ON_STEP * rhythm.every)
        frame = np.minimum(frame, run.n_frames - 1)
        lost = ended[frame][:, worlds].T
        for k, (source, part) in enumerate(columns):
            values = blocks[source.name][:, worlds, part]
            if rhythm.on_frames:
                out[worlds, :, k] = values[frame].T
            else:
                out[worlds, :, k], change = _interpolated(run.time, values, time)
                there = values[~ended[:, worlds]]
                spread = np.ptp(there) if there.size else 0.0
                error = max(error, change[~lost].max(initial=0.0) / spread) if spread else error
        out[worlds][lost] = np.nan
    out[list(untrusted_worlds(run))] = np.nan
    return out, error


def _interpolated(time: np.ndarray, values: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers between frames, (W, T), and what the last degree changes of them."""
    n = min(_NODES, len(time))
    first = np.clip(np.searchsorted(time, at) - n // 2, 0, len(time) - n)
    place = first[:, None] + np.arange(n)
    found = np.einsum("tn,tnw->wt", _weights(time[place], at), values[place])
    less = np.einsum("tn,tnw->wt", _weights(time[place[:, : n - 1]], at), values[place[:, : n - 1]]) if n > 1 else found
    return found, np.abs(found - less)


def _weights(nodes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Lagrange's polynomials, (T, n)."""
    n = nodes.shape[1]
    out = np.ones_like(nodes)
    for k in range(n):
        for other in range(n):
            if other != k:
                out[:, k] *= (at - nodes[:, other]) / (nodes[:, k] - nodes[:, other])
    return out


def spreads(values: np.ndarray) -> np.ndarray:
    """Standard deviation of each column, gaps left out; 1 of a column that is constant."""
    with np.errstate(all="ignore"):
        found = np.nanstd(values, axis=0)
    return np.where(found > 0.0, found, 1.0)


CUBE_ROOT = float(np.cbrt(np.finfo(float).eps))


@dataclass(frozen=True)
class Stencil:
    """Points of one batch.

    Attributes:
        points: (2 P + 1, P): the point, then for each number its two neighbours.
    """

    points: np.ndarray

    def jacobian(self, values: np.ndarray) -> np.ndarray:
        """Derivatives, (N, P), of values (2 P + 1, N); NaN columns where both neighbours of a number lack values."""
        columns = []
        for k in range(self.points.shape[1]):
            x = self.points[[0, 1 + 2 * k, 2 + 2 * k], k]
            f = values[[0, 1 + 2 * k, 2 + 2 * k]]
            columns.append(_slope(x, f))
        return np.array(columns).T


def stencil_at(x: np.ndarray, size: np.ndarray, low: np.ndarray, high: np.ndarray) -> Stencil:
    """The point and its neighbours.

    Args:
        x: (P,).
        size: (P,), over which values change by their own size.
        low: (P,), bounds; no neighbour is beyond them.
        high: (P,).
    """
    rows = [x]
    for k, h in enumerate(2.0 ** np.round(np.log2(CUBE_ROOT * size))):
        steps = (h, -h)
        if x[k] + h > high[k]:
            steps = (-h, -2.0 * h)
        elif x[k] - h < low[k]:
            steps = (h, 2.0 * h)
        for step in steps:
            row = x.copy()
            row[k] = np.clip(x[k] + step, low[k], high[k])
            rows.append(row)
    return Stencil(np.array(rows))


def _slope(x: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Slope at x[0] of the parabola through three points; of the line through two where one has no values."""
    a, b = x[1] - x[0], x[2] - x[0]
    fa, fb = f[1] - f[0], f[2] - f[0]
    if np.isfinite(fa).all() and np.isfinite(fb).all():
        if a == -b:
            return (f[1] - f[2]) / (x[1] - x[2])
        return (fa * b / a - fb * a / b) / (b - a)
    return fa / a if np.isfinite(fa).all() else fb / b


LEAST_SIZE = 1e-3  # of a number relative to what it began with, for the steps of differences
# Points (N, P) to numbers (N, T, C), and the error of their interpolation.
PointRun = Callable[[np.ndarray], tuple[np.ndarray, float]]


def runner(batches: Batches, log: Log, rhythm: Rhythm, has_offset: bool = False) -> PointRun:
    """Runs points, and takes their numbers at the times of a log; the last number may be the offset of its clock."""

    def run(points: np.ndarray) -> tuple[np.ndarray, float]:
        values = np.full((len(points), len(log.time), len(log.labels)), np.nan)
        with batches.run(points[:, :-1] if has_offset else points) as (file, places):
            values[places], error = numbers_at(file, log, rhythm, points[places, -1] if has_offset else None)
        return values, error

    return run


@dataclass
class Residuals:
    """Residuals and Jacobian at trial points; what was run is kept.

    Attributes:
        without: trial points without values, by reason.
        n_trials: points that were run.
        interpolation: error of it at the last point with values.
        best: least chi-square.
        edges: points beside which worlds lack values.
    """

    run: PointRun
    free: tuple[FreeNumber, ...]
    log: Log
    sigma: np.ndarray
    seen: Callable[[int, float], None]
    without: Counter[str] = field(default_factory=Counter)
    n_trials: int = 0
    interpolation: float = 0.0
    best: float = np.inf
    edges: set[bytes] = field(default_factory=set)

    def __post_init__(self):
        self.size = np.array([one.size for one in self.free])
        self.low, self.high = (np.array([getattr(one, end) for one in self.free]) for end in ("low", "high"))
        self._kept: dict[bytes, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residuals (N,), their Jacobian (N, P), and values (T, C), at a point in SI; NaN if it has none."""
        key = x.tobytes()
        if key not in self._kept:
            if len(self._kept) > 2:  # the point that stands, the one that is tried
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = self._run(x)
        return self._kept[key]

    def _values_at(self, points: np.ndarray) -> tuple[np.ndarray, float, str]:
        """(N, T, C), the error of their interpolation, and why some are missing, if they are."""
        try:
            return *self.run(points), "failed, or ended before the last time of the data"
        except SceneError:
            if not self.n_trials:
                raise
            return np.full((len(points), *self.log.is_known.shape), np.nan), 0.0, NOT_VALID

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = np.maximum(np.abs(x), LEAST_SIZE * self.size)
        stencil = stencil_at(x, size, self.low, self.high)
        values, error, reason = self._values_at(stencil.points)
        known = self.log.is_known
        self.n_trials += 1
        weighted = (values / self.sigma)[:, known]
        residual = weighted[0] - (self.log.values / self.sigma)[known]
        if np.isfinite(residual).all():
            self.interpolation = error
            self.best = min(self.best, float(residual @ residual))
            if not np.isfinite(weighted).all():
                self.edges.add(x.tobytes())
        else:
            self.without[reason] += 1
        self.seen(self.n_trials, self.best)
        return residual, stencil.jacobian(weighted), values[0]
