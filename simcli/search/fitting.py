"""`simcli fit`: numbers of a scene by least squares against a measured trajectory.

    min over x of sum ((y(x) - data) / sigma)^2

Every trial point is run with its neighbours in one batch of 2 P + 1 worlds (`stencil`), so that a step that is taken has its
Jacobian already. Steps are those of the trust region method of scipy (Branch, Coleman and Li, 1999), which keeps bounds.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcli.errors import SceneError, SimulationError, UsageError, install_hint
from simcli.search.batches import Batches
from simcli.search.data import Log
from simcli.search.intervals import QUIET, Interval
from simcli.search.quantities import NOT_VALID
from simcli.search.series import Rhythm, numbers_at, output_sets, rhythm_of, spreads
from simcli.search.statistics import Statistics, statistics_of, without_undetermined
from simcli.search.stencil import stencil_at

if TYPE_CHECKING:
    from simcli.spec import SceneSpec

_LEAST_SIZE = 1e-3  # of a number relative to what it began with, for the steps of differences
WITHOUT_EFFECT = 2e-7  # change of all values per relative change of a number that is rounding of the differences
_BEYOND = 1e-9  # of a number: how far beyond 0 it is looked whether scenes are valid
AT_BOUND = 1e-9  # of the interval from a bound that is on it
BOUND = np.inf
AT_EDGE = "it ended beside points that make no valid scene, or fail: --bounds keep away from them"
_REASONS = {
    0: "the limit of iterations was reached: --iterations N allows more",
    1: "the gradient vanishes",
    2: "chi-square no longer falls",
    3: "the numbers no longer change",
    4: "neither chi-square nor the numbers change any more",
}

Run = Callable[[np.ndarray], tuple[np.ndarray, float]]  # points (N, P) to numbers (N, T, C), and the interpolation's error


@dataclass(frozen=True)
class Free:
    """A number that is fitted.

    Attributes:
        path: in the scene.
        start: in SI.
        low, high: bounds.
        unit: SI.
        is_natural: whether a bound is where scenes end to be valid, as a mass above 0.
    """

    path: str
    start: float
    low: float
    high: float
    unit: str
    is_natural: bool = False

    @property
    def size(self) -> float:
        """Over which values may change by their own size: the start; else the width of its bounds, else 1."""
        if self.start:
            return abs(self.start)
        return self.high - self.low if np.isfinite(self.high - self.low) else 1.0


@dataclass(frozen=True)
class Fit:
    """What a fit came to.

    Attributes:
        free: the numbers.
        x: (P,), in SI.
        log: the data.
        fitted: (T, C), values of the run.
        sigma: (T, C), that residuals are divided by.
        absolute: whether these are standard deviations, and not spreads of the data.
        chi_square: sum of squares.
        n_data: numbers that count.
        statistics: how well x is known.
        reason: why it ended.
        converged: whether that is an end.
        n_batches: run.
        interpolation: error of it, relative to the spread of a column; 0 on frames.
        without: trial points without values, by reason.
    """

    free: tuple[Free, ...]
    x: np.ndarray
    log: Log
    fitted: np.ndarray
    sigma: np.ndarray
    absolute: bool
    chi_square: float
    n_data: int
    statistics: Statistics
    reason: str
    converged: bool
    n_batches: int
    interpolation: float
    without: Counter[str]

    @property
    def n_beyond(self) -> int:
        """Degrees of freedom: data less numbers."""
        return self.n_data - len(self.free)

    @property
    def residual(self) -> np.ndarray:
        """(T, C), values of the run less data, in SI; NaN in gaps."""
        return self.fitted - self.log.values

    @property
    def rms(self) -> np.ndarray:
        """(C,), of the residuals."""
        return np.sqrt(np.nanmean(self.residual**2, axis=0))

    @property
    def at_bound(self) -> np.ndarray:
        """(P,) bool."""
        return _at_bound(self.x, self.free)


def free_numbers(scene: Path, sets: Sequence, spec: "SceneSpec", paths: Sequence[str],
                 bounds: Sequence[Interval]) -> list[Free]:  # fmt: skip
    """The numbers that a fit may change, which begin as the scene has them.

    Args:
        scene: file.
        sets: overrides of it.
        spec: the scene with them.
        paths: of the numbers.
        bounds: of some of them.

    Raises:
        UsageError: a path is no single number, stands there twice, begins outside of its bounds, or has bounds alone.
        SceneError: a path leads nowhere, or cannot vary.
    """
    from simcli.model.batch.param_units import param_unit
    from simcli.pipeline import read_scene
    from simcli.spec.document.lookup import value_at
    from simcli.spec.document.nodes import parse_path
    from simcli.spec.document.overrides import VARY, Override
    from simcli.spec.faults.fault_list import did_you_mean

    twice = [path for path, count in Counter(paths).items() if count > 1]
    if twice:
        raise UsageError(f"--free {twice[0]}: stands there twice")
    limits = {one.path: one for one in bounds}
    for path in limits:
        if path not in paths:
            raise UsageError(f"--bounds {path}: is not among the free numbers: {did_you_mean(path, paths, 'free are')}")
    found = []
    for path in paths:
        start = value_at(spec, parse_path(path) or ())
        start = start[0] if isinstance(start, list | tuple) and len(start) == 1 else start
        limit = limits.get(path)
        if not isinstance(start, int | float) or isinstance(start, bool):
            if start is None:  # what is wrong with the path itself is said first, with suggestions
                read_scene(scene, (*sets, *QUIET, Override(VARY, f"{path}=0.5, 0.6")))
            what = "is not written in the scene" if start is None else "is no single number"
            is_vector = isinstance(start, list | tuple)
            hint = f"name one of its numbers, as `{path}[0]`" if is_vector else f"begin with --set {path}=..."
            raise UsageError(f"--free {path}: {what}: {hint}")
        low, high = (limit.low, limit.high) if limit else (-BOUND, BOUND)
        if not low <= start <= high:
            raise UsageError(f"--bounds {path}={low:g}..{high:g}: the scene has {start:g}, outside of them; begin within: "
                             f"--set {path}={0.5 * (low + high):g}")  # fmt: skip
        found.append(Free(path, float(start), low, high, param_unit(spec, path)))
    read_scene(scene, (*sets, *QUIET, *(Override(VARY, f"{one.path}={one.start!r}") for one in found)))
    return [_bounded(Batches(scene, sets, [one.path]), one) for one in found]


def _bounded(batches: Batches, one: Free) -> Free:
    """A number with the bound that its sign has, if scenes are invalid beyond 0: masses, stiffnesses, dampings, lengths."""
    for sign, end in ((1.0, "low"), (-1.0, "high")):
        beyond = -sign * _BEYOND * one.size
        is_open = not np.isfinite(getattr(one, end)) and sign * one.start >= 0.0
        if is_open and not batches.is_valid(np.array([beyond])) and batches.is_valid(np.array([one.start])):
            bound = 0.0 if batches.is_valid(np.array([0.0])) else min(-beyond, one.start, key=abs)
            return replace(one, **{end: bound, "is_natural": True})
    return one


def runner(batches: Batches, log: Log, rhythm: Rhythm) -> Run:
    """Runs points, and takes their numbers at the times of a log."""

    def run(points: np.ndarray) -> tuple[np.ndarray, float]:
        values = np.full((len(points), len(log.time), len(log.labels)), np.nan)
        with batches.run(points) as (file, places):
            values[places], error = numbers_at(file, log, rhythm)
        return values, error

    return run


@dataclass
class _Problem:
    """Residuals and Jacobian at trial points; what was run is kept.

    Attributes:
        without: trial points without values, by reason.
        n_trials: points that were run.
        interpolation: error of it at the last point with values.
        best: least chi-square.
        edges: points beside which worlds lack values.
    """

    run: Run
    free: tuple[Free, ...]
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

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = np.maximum(np.abs(x), _LEAST_SIZE * self.size)
        stencil = stencil_at(x, size, self.low, self.high)
        known, reason = self.log.is_known, "failed, or ended before the last time of the data"
        try:
            values, error = self.run(stencil.points)
        except SceneError:
            if not self.n_trials:
                raise
            reason = NOT_VALID
            values, error = np.full((len(stencil.points), *known.shape), np.nan), 0.0
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


def fit_log(run: Run, free: Sequence[Free], log: Log, iterations: int, tolerance: float,
            seen: Callable[[int, float], None] = lambda n, chi_square: None) -> Fit:  # fmt: skip
    """Least squares.

    Args:
        run: from points to numbers at the times of the log.
        free: numbers that may change.
        log: the data.
        iterations: at most, trial points.
        tolerance: relative change of the numbers, and of chi-square, at which it ends.
        seen: takes the trial points so far and the least chi-square.

    Raises:
        UsageError: scipy is not installed; there are too few data; a number has no effect.
        SimulationError: the run that the scene starts from fails.
        SceneError: it is no valid scene.
    """
    try:
        from scipy.optimize import least_squares
    except ImportError as error:
        raise UsageError(install_hint("fits need scipy", "fit")) from error
    absolute, n_data = log.has_sigma, int(log.is_known.sum())
    if n_data < len(free):
        raise UsageError(f"{log.path}: has {n_data} numbers, too few for {len(free)} free ones")
    sigma = log.sigma if absolute else np.broadcast_to(spreads(log.values), log.values.shape)
    problem = _Problem(run, tuple(free), log, sigma, seen)
    start, size = np.array([one.start for one in free], float), problem.size
    _check_start(problem, start)
    bounds = (problem.low / size, problem.high / size)
    done = least_squares(
        lambda z: problem.at(_within(z * size, problem))[0], start / size, lambda z: _jacobian(problem, z, size),
        bounds=bounds, x_scale="jac", ftol=tolerance, xtol=tolerance, gtol=tolerance**1.5, max_nfev=iterations,
    )  # fmt: skip
    x = _on_bounds(_within(done.x * size, problem), free)
    residual, jacobian, values = problem.at(x)
    chi_square = float(residual @ residual)
    variance = 1.0 if absolute else chi_square / max(n_data - len(free), 1)
    at_bound = _at_bound(x, free)
    found = statistics_of(jacobian, np.maximum(np.abs(x), _LEAST_SIZE * size), ~at_bound, variance)
    at_edge = x.tobytes() in problem.edges
    reason, converged = (AT_EDGE, False) if at_edge else (_REASONS[done.status], done.status > 0)
    return Fit(tuple(free), x, log, values, sigma, absolute, chi_square, n_data, found, reason, converged, problem.n_trials,
               problem.interpolation, problem.without)  # fmt: skip


def _within(x: np.ndarray, problem: _Problem) -> np.ndarray:
    """A point between the bounds also after rounding."""
    return np.clip(x, problem.low, problem.high)


def _jacobian(problem: _Problem, z: np.ndarray, size: np.ndarray) -> np.ndarray:
    jacobian = problem.at(_within(z * size, problem))[1] * size
    lost = np.flatnonzero(~np.isfinite(jacobian).all(axis=0))
    if len(lost):
        k = lost[0]
        raise SimulationError(f"worlds on both sides of {problem.free[k].path} = {z[k] * size[k]:.6g} fail: the fit has no "
                              "direction; give --bounds that keep away from there")  # fmt: skip
    return without_undetermined(jacobian)


def _check_start(problem: _Problem, start: np.ndarray) -> None:
    """Refuse a start without values, and numbers that change nothing there."""
    residual, jacobian, values = problem.at(start)
    known = problem.log.is_known
    if not np.isfinite(residual).all():
        row = int(np.flatnonzero((~np.isfinite(values) & known).any(axis=1))[0])
        where = f"{problem.log.time[row]:g} s, where {problem.log.at(row)} has data"
        raise SimulationError(f"the run of the scene ends before {where}: `simcli run` tells why; begin elsewhere (--set)")
    _jacobian(problem, start / problem.size, problem.size)
    effect = np.linalg.norm(jacobian * problem.size, axis=0)
    scale = np.linalg.norm((values / problem.sigma)[known])
    idle = [one.path for one, change in zip(problem.free, effect, strict=True) if not change > WITHOUT_EFFECT * scale]
    if idle:
        raise UsageError(f"--free {', '.join(idle)}: changes none of the columns of {problem.log.path} at its start value; "
                         "leave it out, or begin elsewhere with --set")  # fmt: skip


def _on_bounds(x: np.ndarray, free: Sequence[Free]) -> np.ndarray:
    """The point with numbers that all but touch a bound put on it: the steps of the method stay inside."""
    out = x.copy()
    for k, one in enumerate(free):
        for bound in (one.low, one.high):
            if np.isfinite(bound) and abs(x[k] - bound) <= AT_BOUND * max(abs(bound), one.size):
                out[k] = bound
    return out


def _at_bound(x: np.ndarray, free: Sequence[Free]) -> np.ndarray:
    return np.array([value in (one.low, one.high) for value, one in zip(x, free, strict=True)], bool)


def fit_scene(batches: Batches, spec: "SceneSpec", free: Sequence[Free], log: Log, iterations: int, tolerance: float,
              seen: Callable[[int, float], None]) -> Fit:  # fmt: skip
    """Fit a scene; see `fit_log`."""
    rhythm = rhythm_of(log, spec)
    sets = (*batches.sets, *output_sets(log, rhythm))
    if not replace(batches, sets=sets).is_valid(np.array([one.start for one in free])):
        # Something of the scene comes later than the data: its runs keep their length.
        sets = (*batches.sets, *output_sets(log, replace(rhythm, end=spec.run.duration)))
    batches = replace(batches, sets=sets)
    return fit_log(runner(batches, log, rhythm), free, log, iterations, tolerance, seen)
