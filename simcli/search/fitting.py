"""`simcli fit`: numbers of a scene by least squares against a measured trajectory.

    min over x of sum ((y(x) - data) / sigma)^2

Every trial point is run with its neighbours in one batch of 2 P + 1 worlds (`residuals.stencil_at`), so that a step that is
taken has its Jacobian already. Steps are those of the trust region method of scipy (Branch, Coleman and Li, 1999), which
keeps bounds.

The picture of a fit has data and run above, residuals below, for each column. It needs matplotlib, the extra `plot`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simcli.errors import SimulationError, UsageError, from_extra
from simcli.search.batches import Batches
from simcli.search.fit_data import Log
from simcli.search.fit_statistics import Statistics, statistics_of, without_undetermined
from simcli.search.free_numbers import TIME_OFFSET, FreeNumber
from simcli.search.residuals import LEAST_SIZE, PointRun, Residuals, output_sets, rhythm_of, runner, spreads

if TYPE_CHECKING:
    from simcli.spec import SceneSpec

WITHOUT_EFFECT = 2e-7  # change of all values per relative change of a number that is rounding of the differences
AT_BOUND = 1e-9  # of the interval from a bound that is on it
AT_EDGE = "it ended beside points that make no valid scene, or fail: --bounds keep away from them"
_REASONS = {
    0: "the limit of iterations was reached: --iterations N allows more",
    1: "the gradient vanishes",
    2: "chi-square no longer falls",
    3: "the numbers no longer change",
    4: "neither chi-square nor the numbers change any more",
}


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

    free: tuple[FreeNumber, ...]
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
    def settings(self) -> dict[str, float]:
        """Numbers of the scene by their path: all but the offset of the clocks."""
        return {one.path: x for one, x in zip(self.free, self.x.tolist(), strict=True) if one.path != TIME_OFFSET}

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
        return _are_at_bound(self.x, self.free)


def fit_log(
    run: PointRun,
    free: Sequence[FreeNumber],
    log: Log,
    iterations: int,
    tolerance: float,
    seen: Callable[[int, float], None] = lambda n, chi_square: None,
) -> Fit:
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
    with from_extra("fits need scipy", "fit"):
        from scipy.optimize import least_squares
    absolute, n_data = log.has_sigma, int(log.is_known.sum())
    if n_data < len(free):
        raise UsageError(f"{log.path}: has {n_data} numbers, too few for {len(free)} free ones")
    sigma = log.sigma if absolute else np.broadcast_to(spreads(log.values), log.values.shape)
    problem = Residuals(run, tuple(free), log, sigma, seen)
    start, size = np.array([one.start for one in free], float), problem.size
    _check_start(problem, start)
    bounds = (problem.low / size, problem.high / size)
    done = least_squares(
        lambda z: problem.at(_within(z * size, problem))[0],
        start / size,
        lambda z: _jacobian(problem, z, size),
        bounds=bounds,
        x_scale="jac",
        ftol=tolerance,
        xtol=tolerance,
        gtol=tolerance**1.5,
        max_nfev=iterations,
    )
    x = _on_bounds(_within(done.x * size, problem), free)
    residual, jacobian, values = problem.at(x)
    chi_square = float(residual @ residual)
    variance = 1.0 if absolute else chi_square / max(n_data - len(free), 1)
    at_bound = _are_at_bound(x, free)
    found = statistics_of(jacobian, np.maximum(np.abs(x), LEAST_SIZE * size), ~at_bound, variance)
    at_edge = x.tobytes() in problem.edges
    reason, converged = (AT_EDGE, False) if at_edge else (_REASONS[done.status], done.status > 0)
    return Fit(
        tuple(free),
        x,
        log,
        values,
        sigma,
        absolute,
        chi_square,
        n_data,
        found,
        reason,
        converged,
        problem.n_trials,
        problem.interpolation,
        problem.without,
    )


def _within(x: np.ndarray, problem: Residuals) -> np.ndarray:
    """A point between the bounds also after rounding."""
    return np.clip(x, problem.low, problem.high)


def _jacobian(problem: Residuals, z: np.ndarray, size: np.ndarray) -> np.ndarray:
    jacobian = problem.at(_within(z * size, problem))[1] * size
    lost = np.flatnonzero(~np.isfinite(jacobian).all(axis=0))
    if len(lost):
        k = lost[0]
        raise SimulationError(
            f"worlds on both sides of {problem.free[k].path} = {z[k] * size[k]:.6g} fail: the fit has no "
            "direction; give --bounds that keep away from there"
        )
    return without_undetermined(jacobian)


def _check_start(problem: Residuals, start: np.ndarray) -> None:
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
        raise UsageError(
            f"--free {', '.join(idle)}: changes none of the columns of {problem.log.path} at its start value; "
            "leave it out, or begin elsewhere with --set"
        )


def _on_bounds(x: np.ndarray, free: Sequence[FreeNumber]) -> np.ndarray:
    """The point with numbers that all but touch a bound put on it: the steps of the method stay inside."""
    out = x.copy()
    for k, one in enumerate(free):
        for bound in (one.low, one.high):
            if np.isfinite(bound) and abs(x[k] - bound) <= AT_BOUND * max(abs(bound), one.size):
                out[k] = bound
    return out


def _are_at_bound(x: np.ndarray, free: Sequence[FreeNumber]) -> np.ndarray:
    return np.array([value in (one.low, one.high) for value, one in zip(x, free, strict=True)], bool)


def fit_scene(
    batches: Batches,
    spec: "SceneSpec",
    free: Sequence[FreeNumber],
    log: Log,
    iterations: int,
    tolerance: float,
    seen: Callable[[int, float], None],
) -> Fit:
    """Fit a scene; see `fit_log`. The last number may be the offset of the clocks, which no scene has."""
    offset = free[-1] if free[-1].path == TIME_OFFSET else None
    rhythm = rhythm_of(log, spec, None if offset is None else offset.high)
    sets = (*batches.sets, *output_sets(log, rhythm))
    if not replace(batches, sets=sets).is_valid(np.array([one.start for one in free if one is not offset])):
        # Something of the scene comes later than the data: its runs keep their length.
        sets = (*batches.sets, *output_sets(log, replace(rhythm, end=spec.run.duration)))
    batches = replace(batches, sets=sets)
    return fit_log(runner(batches, log, rhythm, offset is not None), free, log, iterations, tolerance, seen)


PANEL = (8.0, 3.6)  # [inch], of one column
HEIGHTS = (3, 1)  # of values and residuals
MAX_COLUMNS = 8
_DOT = 3.0  # [pt]


def draw_fit(fit: Fit, title: str):
    """Draw a fit.

    Args:
        fit: of a log.
        title: shown above.

    Returns:
        A figure of matplotlib.

    Raises:
        UsageError: matplotlib is not installed, or there are too many columns.
    """
    from simcli.analysis.export.plot import new_figure

    log, n = fit.log, len(fit.log.labels)
    if n > MAX_COLUMNS:
        raise UsageError(f"--plot: {n} columns in one picture; at most {MAX_COLUMNS}: take fewer with -c")
    figure = new_figure(PANEL[0], PANEL[1] * n, title)
    panels = figure.subplots(2 * n, 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": HEIGHTS * n})[:, 0]
    order = np.argsort(log.time, kind="stable")
    time = log.time[order]
    for k, (label, unit) in enumerate(zip(log.labels, log.units, strict=True)):
        above, below = panels[2 * k], panels[2 * k + 1]
        above.plot(time, log.values[order, k], "o", markersize=_DOT, color="C0", label="data")
        above.plot(time, fit.fitted[order, k], "-", linewidth=1.0, color="C1", label="fit")
        above.set_ylabel(f"{label}\n[{unit or '1'}]")
        above.legend(fontsize="small")
        below.plot(time, fit.residual[order, k], "o", markersize=_DOT, color="C0")
        if fit.absolute:
            below.fill_between(time, -fit.sigma[order, k], fit.sigma[order, k], color="C1", alpha=0.2, linewidth=0.0)
        below.axhline(0.0, color="C1", linewidth=0.8)
        below.set_ylabel("residual")
        for panel in (above, below):
            panel.grid(True, linewidth=0.3)
    panels[-1].set_xlabel("time [s]")
    return figure
