"""What a plan will take: cases, chunks, bytes, hours. The hours are from rough rates of small scenes, and said to be so."""

from collections.abc import Container
from dataclasses import dataclass

from simcli.analysis.estimate import FILE_OVERHEAD
from simcli.sweeps.planning.plan import Plan


@dataclass(frozen=True)
class Forecast:
    """What is left of a plan.

    Attributes:
        n_cases: in all.
        n_left: without a result.
        n_structures: batches that differ in more than numbers.
        n_chunks: of what is left.
        n_steps: world-steps of what is left.
        n_bytes: of the results of what is left, and of the trajectories that are kept; of failed cases none.
        hours: of two cores such as the rates are of, however many workers share them; compiling left out.
    """

    n_cases: int
    n_left: int
    n_structures: int
    n_chunks: int
    n_steps: int
    n_bytes: int
    hours: float


def forecast(plan: Plan, done: Container[str] = ()) -> Forecast:
    """What a plan will take.

    Args:
        plan: the sweep.
        done: ids of cases that have a result.
    """
    chunks = plan.rechunk(done)
    first, n_left, n_steps, n_bytes, seconds = 0, 0, 0, 0.0, 0.0
    for batch in plan.batches:
        left = sum(case.id not in done for case in plan.cases[first : first + batch.n_cases])
        first += batch.n_cases
        n_left += left
        n_steps += left * batch.cost.n_steps
        n_bytes += left * (batch.cost.kept if plan.keep == "all" else batch.cost.stored)
        seconds += left * batch.cost.seconds
    return Forecast(len(plan.cases), n_left, len(plan.batches), len(chunks), n_steps,
                    round(n_bytes) + FILE_OVERHEAD * len(chunks), seconds / 3600)  # fmt: skip
