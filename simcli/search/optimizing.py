"""`simcli optimize`: the numbers of a scene for which arithmetic of its measures is least, by CMA-ES.

Every generation is one batch. The search goes through parts of the intervals, 0 to 1, so that units and scales are even.
Worlds that fail count as worse than all others of their generation: CMA-ES asks for the order only.

An optimization that was stopped goes on by asking anew for the generations that its ledger has, and telling their values:
its random numbers depend on the seed alone, so that the end is to the bit that of one that nobody stopped.

Source: N. Hansen's CMA-ES (2001 and later), package `cma`. Deviation: where only one number varies a second coordinate
stands beside it, because the package needs two; it is drawn to its middle, and has no other meaning.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simcli.errors import FileError, SimulationError, from_extra
from simcli.search.generations import Generation
from simcli.search.intervals import Interval

if TYPE_CHECKING:
    from simcli.search.generations import Generations
    from simcli.search.quantities import Quantity

_MIDDLE, _FIRST_STEP = 0.5, 0.25  # of the intervals: the first generation fills them
LEAST_POPULATION = 16  # a batch of so many costs hardly more than one of a few
_EDGE = 1e-3  # of an interval from its end that is at it
_REASONS = {
    "tolx": "the points lie together within the tolerance",
    "tolflatfitness": "all points of a generation have the same value",
    "tolfunrel": "the value no longer falls",
    "tolstagnation": "the value no longer falls",
    "tolxstagnation": "the points no longer move",
    "tolconditioncov": "the numbers have too different effects: the search has no step any more",
    "tolfacupx": "the steps grow without end: the value falls towards the ends of the intervals",
    "tolupsigma": "the steps grow without end: the value hardly depends on the numbers",
}


@dataclass(frozen=True)
class Limits:
    """When an optimization ends.

    Attributes:
        generations: at most.
        evaluations: worlds at most.
        tolerance: part of the intervals within which the points lie at the end.
    """

    generations: int
    evaluations: int
    tolerance: float


@dataclass(frozen=True)
class Optimum:
    """What an optimization came to.

    Attributes:
        x: (P,), the best point that was seen, in SI.
        value: there.
        generation: that it belongs to.
        generations: all of them.
        n_failed: worlds without a value.
        reason: why it ended.
        converged: whether that is an end, and no limit.
        n_replayed: generations that were taken from the ledger.
    """

    x: np.ndarray
    value: float
    generation: int
    generations: tuple[Generation, ...]
    n_failed: int
    reason: str
    converged: bool
    n_replayed: int

    @property
    def n_worlds(self) -> int:
        """Evaluations."""
        return sum(len(one.values) for one in self.generations)

    def ends(self, intervals: Sequence[Interval]) -> list[str]:
        """Paths whose value lies at an end of its interval."""
        near = [
            abs(one.at(part) - x) <= abs(one.at(abs(part - _EDGE)) - one.at(part))
            for one, x in zip(intervals, self.x, strict=True)
            for part in (0.0, 1.0)
        ]
        return [one.path for k, one in enumerate(intervals) if near[2 * k] or near[2 * k + 1]]


def population_of(n: int, wanted: int | None) -> int:
    """Worlds of a generation for n numbers."""
    return wanted or max(LEAST_POPULATION, 4 + int(3 * np.log(n)))


def library():
    """The package.

    Raises:
        UsageError: it is not installed.
    """
    with from_extra("optimizing needs cma", "optimize"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that its pictures need matplotlib, which nobody asks for here
        import cma
    return cma


def find_optimum(
    quantity: "Quantity",
    intervals: Sequence[Interval],
    maximizes: bool,
    seed: int,
    population: int,
    limits: Limits,
    ledger: "Generations | None" = None,
    seen: Callable[[int, float], None] = lambda n, best: None,
) -> Optimum:
    """Search the least value of a quantity, or the largest.

    Args:
        quantity: of points (N, P), in SI.
        intervals: P of them.
        maximizes: whether the largest is wanted.
        seed: of all random numbers.
        population: worlds of a generation.
        limits: when to end.
        ledger: what was done before, and takes what is done.
        seen: takes the generations so far and the best value.

    Raises:
        UsageError: cma is not installed.
        FileError: the ledger has other points than this search asks for.
        SimulationError: the first generation has no value at all.
    """
    search = _search(len(intervals), seed, population, limits.tolerance)
    known = dict(ledger.known) if ledger else {}
    sign, replayed = (-1.0 if maximizes else 1.0), 0
    done: list[Generation] = []
    while not (stop := search.stop()) and not (reason := _limit(len(done), population, limits)):
        parts = search.ask()
        points = np.array([[one.at(part) for one, part in zip(intervals, row, strict=False)] for row in parts], float)
        number = len(done) + 1
        if number in known:
            one, replayed = _same(known[number], points), replayed + 1
        else:
            one = Generation(number, points, quantity(points))
            if number == 1 and not np.isfinite(one.values).any():
                raise SimulationError("no world of the first generation has a value; " + _why(quantity))
            if ledger:
                ledger.add(one)
        done.append(one)
        search.tell(parts, _costs(sign * one.values, np.array(parts), len(intervals)).tolist())
        seen(number, sign * min(np.nanmin(sign * each.values, initial=np.inf) for each in done))
    reason = _reason(stop) if stop else reason
    values = np.concatenate([one.values for one in done])
    best = int(np.nanargmin(sign * values))
    generation = int(best // population)
    return Optimum(
        done[generation].points[best % population],
        float(values[best]),
        generation + 1,
        tuple(done),
        int(np.isnan(values).sum()),
        reason,
        bool(stop),
        replayed,
    )


def _search(n: int, seed: int, population: int, tolerance: float):
    """The search of the package, with random numbers of its own: nothing else in the process moves them."""
    random = np.random.RandomState(seed)
    options: dict[str, Any] = {
        "bounds": [0.0, 1.0],
        "seed": np.nan,
        "randn": random.randn,
        "popsize": population,
        "tolx": tolerance,
        "tolfun": 0.0,
        "tolfunhist": 0.0,
        "verbose": -9,
        "verb_log": 0,
        "verb_disp": 0,
        "signals_filename": None,
    }
    with warnings.catch_warnings():  # about its own defaults
        warnings.simplefilter("ignore")
        return library().CMAEvolutionStrategy([_MIDDLE] * max(n, 2), _FIRST_STEP, options)


def _same(one: Generation, points: np.ndarray) -> Generation:
    if not np.array_equal(one.points, points):
        raise FileError(
            f"generation {one.number} of the ledger has other points than this search asks for: another "
            "machine's mathematics made it; begin anew in another folder"
        )
    return one


def _costs(values: np.ndarray, parts: np.ndarray, n: int) -> np.ndarray:
    """What a generation is told: values to minimize, those that are missing behind all others.

    Args:
        values: (N,), NaN where there is none.
        parts: (N, max(n, 2)), of the intervals.
        n: numbers; a coordinate beyond them is drawn to its middle as strongly as the values differ.
    """
    known = values[np.isfinite(values)]
    if not len(known):
        return np.zeros(len(values))
    costs = np.where(np.isfinite(values), values, known.max() + np.ptp(known) + 1.0)
    beyond = ((parts[:, n:] - _MIDDLE) ** 2).sum(axis=1)
    return costs + np.ptp(known) * beyond / beyond.max() if beyond.any() else costs


def _limit(n: int, population: int, limits: Limits) -> str:
    if n >= limits.generations:
        return f"the limit of {limits.generations} generations was reached"
    if (n + 1) * population > limits.evaluations and n:
        return f"the limit of {limits.evaluations} evaluations was reached"
    return ""


def _reason(stop: dict) -> str:
    name = next(iter(stop))
    return _REASONS.get(name, f"the search ended by its rule `{name}`")


def _why(quantity: "Quantity") -> str:
    reasons = [f"{count} {reason}" for reason, count in quantity.without.most_common(1) if count]
    return f"{reasons[0]}; other intervals may do" if reasons else "other intervals may do"
