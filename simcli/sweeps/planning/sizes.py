"""How many cases make a chunk, and what a plan will take: from the scene alone, the same on every machine."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simcli.job import Schedule
    from simcli.model.tables.model import Model
    from simcli.spec import SceneSpec

# Steps of a body per second on two cores of 2026, from runs of pendulums in 640 worlds; of the right order, no more.
BODY_STEPS = {"generalized": 2e7, "maximal": 1.5e6, "natural": 4e5, "affine": 4e5}
CONTACT_PART = 0.05  # of that rate where bodies can touch
BUILDING = 5e-6  # [s] of a body of a world whose numbers are columns; 3e-4 where worlds are read one by one
LONGEST = 120.0  # [s] of a chunk: what a worker that dies loses
SHORTEST = 30.0  # [s], below which starting (1.5 s) would cost more than a twentieth of a chunk
PIECES = 16  # chunks of a structure, at least, if they are not shorter than that: work for many workers
_MEMORY = 2**30  # [B] of the worlds of a chunk, so that several workers fit into a machine
GRAIN = 64  # chunks hold a multiple of so many worlds: packs of lanes without gaps
SOME = 1024  # worlds between which memory is compared: what is bounded for many, as the frames on their way, is not counted
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
    bare = replace(schedule, n_frames=min(schedule.n_frames, SUMMARY_FRAMES))

    def per_world(name: str, plan: "Schedule", channels: frozenset[str]) -> float:
        one, two = (estimate(spec, replace(model, n_worlds=n), plan, channels)[name] for n in (SOME, 2 * SOME))
        return (two - one) / SOME

    channels = frozenset(spec.output.channels)
    rate = BODY_STEPS[spec.solver.type] * (CONTACT_PART if model.contacts is not None else 1.0)
    seconds = max(model.n_bodies, 1) * (BUILDING * bool(model.param_name) + schedule.n_steps / rate)
    return Cost(schedule.n_steps, seconds, per_world("memory_bytes", schedule, channels),
                per_world("file_bytes", bare, frozenset()), per_world("file_bytes", schedule, channels))  # fmt: skip


def cases_at_once(cost: Cost, n_cases: int, most: int | None) -> int:
    """Cases of a chunk.

    Args:
        cost: of one of them.
        n_cases: of the structure.
        most: that the sweep allows; None if it does not say.
    """
    def within(seconds: float) -> int:
        return max(int(seconds / cost.seconds), 1)

    size = min(within(LONGEST), max(int(_MEMORY / max(cost.memory, 1.0)), 1))
    size = min(size, max(math.ceil(n_cases / PIECES), within(SHORTEST)))
    size = max(size // GRAIN * GRAIN, min(size, GRAIN))
    return min(size, most or size)
