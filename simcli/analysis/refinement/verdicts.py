"""Order and error out of the differences between runs at h, h/2 and h/4, and whether they can be trusted.

    error(h) = |y(h) - y| = |y(h) - y(h/2)| 2^p / (2^p - 1)     where the error is C(t) h^p

Source: Richardson 1911. Deviation: p is observed, and an estimate is given only where both differences have the same shape.
"""

from dataclasses import dataclass

import numpy as np

from simcli.analysis.refinement.sums import Sums
from simcli.records.contents.measures import EstimateVerdict

LEAST_ORDER = 0.7  # below it the factor 2^p/(2^p - 1) runs away
MORE_THAN_NOMINAL = 1.2  # by which an observed order may exceed that of the integrator: symmetric motions gain one
LEAST_COSINE = 0.95  # between both differences: the next term of the error changes the first by a third at most
CLEAR = 4.0  # floors of rounding beyond which a difference stands out
ROUND_STEPS = 16.0  # roundings of a few steps, beside the square root of the number of all


@dataclass(frozen=True)
class Floors:
    """What rounding may make of the numbers of a quantity.

    Attributes:
        walk: (W,), if roundings of all steps add up as a random walk; it cannot be less.
        drift: (W,), if each step is rounded the same way, as where a constant is added again and again.
    """

    walk: np.ndarray
    drift: np.ndarray


def rounding_floors(scale: np.ndarray, eps: float, n_steps: int) -> Floors:
    """Floors of numbers of a size, (W,), over a number of steps."""
    return Floors(eps * scale * (ROUND_STEPS + np.sqrt(n_steps)), eps * scale * (ROUND_STEPS + n_steps))


def order_and_error(sums: Sums, floors: Floors, nominal: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observed order, estimate of the error, and verdict of each world, of motion without impacts.

    Args:
        sums: of the quantity.
        floors: of rounding.
        nominal: order of the integrator.

    Returns:
        order (W,), NaN where it cannot be seen; error (W,), NaN where nobody can tell, a bound where it is rounding;
        verdict (W,).
    """
    with np.errstate(all="ignore"):
        order = 0.5 * np.log2(sums.ee / sums.ff)
        cosine = sums.ef / np.sqrt(sums.ee * sums.ff)
        regular = (cosine >= LEAST_COSINE) & (order >= LEAST_ORDER) & (order <= nominal + MORE_THAN_NOMINAL)
        error = sums.e / (1.0 - 2.0**-order)
    lost = sums.f <= floors.walk  # the second difference is rounding, which has no order
    clear = lost & (sums.e > CLEAR * floors.drift)
    regular &= ~lost
    rounding = ~regular & ~clear & (sums.e <= floors.drift)
    verdict = np.select([regular | clear, rounding], [EstimateVerdict.GOOD, EstimateVerdict.ROUNDING],
                        EstimateVerdict.IRREGULAR)  # fmt: skip
    bound = np.where(sums.e <= floors.walk, floors.walk, floors.drift)
    # A difference that all but vanishes at half the step is of order two at least, or the step was too long by far.
    error = np.select([regular, clear, rounding], [error, sums.e / (1.0 - 0.25), bound], np.nan)
    return np.where(regular, order, np.nan), error, verdict


def step_for(wanted: float, error: float, order: float, dt: float) -> float:
    """[s], the longest step that is a whole part of `dt` and whose error is at most `wanted`.

    Args:
        wanted: error.
        error: of the run.
        order: of convergence.
        dt: [s], of the run.
    """
    if error <= wanted:
        return dt
    return dt / _round_part((error / wanted) ** (1.0 / order))


def _round_part(least: float) -> int:
    """The smallest product of powers of 2 and 5 that is not less: such a part of a step is written with few digits."""
    n_fives = int(np.ceil(np.log(least) / np.log(5))) + 1
    parts = (5**k * 2 ** max(int(np.ceil(np.log2(least / 5**k) - 1e-9)), 0) for k in range(n_fives + 1))
    return min(part for part in parts if part >= least * (1 - 1e-9))
