"""How many cases make a chunk, and what a plan will take: from the scene alone, the same on every machine."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simcli.model.tables import Model
    from simcli.spec import SceneSpec

# Steps of a body per second on two cores of 2026, from runs of small scenes with many worlds; of the right order, no more.
BODY_STEPS = {"generalized": 6e6, "maximal": 1e6, "natural": 5e5, "affine": 5e4}
CONTACT_PART = 0.05  # of that rate where bodies can touch
BUILDING = 2e-3  # [s] of a world whose scene is read and built in Python
LONGEST = 120.0  # [s] of a chunk: what a worker that dies loses
SHORTEST = 10.0  # [s], below which starting and compiling would cost more than a chunk gains
PIECES = 16  # chunks of a structure, at least, if they are not shorter than that: work for many workers
MEMORY = 2**30  # [B] of the worlds of a chunk, so that several workers fit into a machine
GRAIN = 64  # chunks hold a multiple of so many worlds: packs of lanes without gaps
SUMMARY_FRAMES = 50  # of a run whose trajectory is not kept: places at which it can be stopped


@dataclass(frozen=True)
class Cost:
    """What one case takes.

    Attributes:
        n_steps: of its run.
        seconds: [s], at the rough rate of `BODY_STEPS`.
        memory: [B], beyond that of the first world.
        stored: [B] of a result file.
        kept: [B] of its trajectory, if it is kept.
    """

    n_steps: int
    seconds: float
    memory: float
    stored: float
    kept: float


def cost_of(spec: "SceneSpec", model: "Model") -> Cost:
    """What a case of a structure takes.

    Args:
        spec: the scene.
        model: one world of it.
    """
    from simcli.analysis.estimate import estimate
    from simcli.pipeline import schedule_of

    schedule = schedule_of(spec)
    one, two = (estimate(spec, replace(model, n_worlds=n), schedule, frozenset(spec.output.channels)) for n in (1, 2))
    bare = replace(schedule, n_frames=min(schedule.n_frames, SUMMARY_FRAMES))
    few = [estimate(spec, replace(model, n_worlds=n), bare, frozenset())["file_bytes"] for n in (1, 2)]
    rate = BODY_STEPS[spec.solver.type] * (CONTACT_PART if model.contacts is not None else 1.0)
    seconds = BUILDING * bool(model.param_name) + schedule.n_steps * max(model.n_bodies, 1) / rate
    memory, kept = (two[name] - one[name] for name in ("memory_bytes", "file_bytes"))
    return Cost(schedule.n_steps, seconds, memory, few[1] - few[0], kept)


def cases_at_once(cost: Cost, n_cases: int, most: int | None) -> int:
    """Cases of a chunk.

    Args:
        cost: of one of them.
        n_cases: of the structure.
        most: that the sweep allows; None if it does not say.
    """
    def within(seconds: float) -> int:
        return max(int(seconds / cost.seconds), 1)

    size = min(within(LONGEST), max(int(MEMORY / max(cost.memory, 1.0)), 1))
    size = min(size, max(math.ceil(n_cases / PIECES), within(SHORTEST)))
    size = max(size // GRAIN * GRAIN, min(size, GRAIN))
    return min(size, most or size)
