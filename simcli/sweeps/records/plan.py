"""What is to be run: cases by name, in chunks of one batch each.

How many cases make a chunk follows from the scene alone, the same on every machine.
"""

import math
import os
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.errors import UsageError
from simcli.spec.batches.sweep_file import renamed
from simcli.spec.document.overrides import VARY_TABLE, Override
from simcli.sweeps.records.scenes import Understood, case_ids, device_class, digest_of, read_scenes, understood

if TYPE_CHECKING:
    from simcli.job import Schedule
    from simcli.model.tables.model import Model
    from simcli.spec import SceneSpec
    from simcli.spec.batches.sweep_file import Sweep

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
    return Cost(
        schedule.n_steps,
        seconds,
        per_world("memory_bytes", schedule, channels),
        per_world("file_bytes", bare, frozenset()),
        per_world("file_bytes", schedule, channels),
    )


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


KEEP = ("all", "failed", "none")
MOST_CASES = 2**24


@dataclass(frozen=True)
class Case:
    """One world of one structure.

    Attributes:
        id: 20 hexadecimal digits: of the resolved scene without its batch, the world's varied values, its seed, the version
            and the code of simcli, the precision, and the class of device.
        labels: (name of column, value) of the structural choices and the varied values.
        world: its index in the batch of its structure.
    """

    id: str
    labels: tuple[tuple[str, object], ...]
    world: int


@dataclass(frozen=True)
class Chunk:
    """Cases that run as one batch.

    Attributes:
        id: of its cases in their order.
        scene: the scene file.
        sets: overrides that make the structure of it.
        worlds: indices in the batch of the structure.
        cases: their ids, in the same order.
    """

    id: str
    scene: Path
    sets: tuple[Override | str, ...]
    worlds: tuple[int, ...]
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Batch:
    """The cases of one structure.

    Attributes:
        scene: the scene file.
        sets: overrides that make the structure of it.
        n_cases: how many.
        size: cases of a chunk.
        cost: of one case.
    """

    scene: Path
    sets: tuple[Override | str, ...]
    n_cases: int
    size: int
    cost: Cost


@dataclass(frozen=True)
class Plan:
    """A whole sweep.

    Attributes:
        cases: in the order of the final table; every id once.
        chunks: of all of them.
        keep: trajectories: "all", "failed", "none".
        time_limit: wall time per case [s]; None for none.
        device: class of device, "cpu" or "cuda", that is part of the names.
        digest: of the cases in their order.
        sources: (path, text) of the sweep file and of the scenes with what they include.
        batches: the structures, in the order of the cases.
        units: (column, unit) of the labels that have one.
    """

    cases: tuple[Case, ...]
    chunks: tuple[Chunk, ...]
    keep: str
    time_limit: float | None
    device: str
    digest: str
    sources: tuple[tuple[str, str], ...]
    batches: tuple[Batch, ...] = ()
    units: tuple[tuple[str, str], ...] = ()

    def rechunk(self, done: Container[str]) -> tuple[Chunk, ...]:
        """Chunks of the cases that are not done: those of the plan, less what is done in each.

        The borders of chunks do not move, so that drivers which come later name the rest as those that are at work.

        Args:
            done: ids of cases.
        """
        left = []
        for chunk in self.chunks:
            missing = [k for k, case in enumerate(chunk.cases) if case not in done]
            if len(missing) == len(chunk.cases):
                left.append(chunk)
            elif missing:
                left.append(
                    _chunk(chunk.scene, chunk.sets, [chunk.worlds[k] for k in missing], [chunk.cases[k] for k in missing])
                )
        return tuple(left)


def _chunk(scene: Path, sets: tuple[Override | str, ...], worlds: Sequence[int], cases: Sequence[str]) -> Chunk:
    return Chunk(digest_of(cases), scene, sets, tuple(worlds), tuple(cases))


def chunks_of(batches: Sequence[Batch], cases: Sequence[Case]) -> Iterator[Chunk]:
    """Cases of all batches in chunks."""
    first = 0
    for batch in batches:
        end = first + batch.n_cases
        for start in range(first, end, batch.size):
            some = cases[start : min(start + batch.size, end)]
            yield _chunk(batch.scene, batch.sets, [case.world for case in some], [case.id for case in some])
        first = end


def plan_of(
    path: Path,
    sets: Sequence[Override | str] = (),
    *,
    device: str = "auto",
    keep: str | None = None,
    time_limit: float | None = None,
    max_worlds: int | None = None,
    choices: dict[str, object] | None = None,
) -> Plan:
    """Plan a sweep file, or a sweep of the batch of a scene.

    Args:
        path: YAML of either, or a run with a scene inside.
        sets: overrides of the command line, laid over all else.
        device: auto, cpu, cuda, vulkan or metal.
        keep: trajectories that stay, instead of what the sweep file says; likewise the next two.
        time_limit: [s] of wall time per case.
        max_worlds: of a chunk.
        choices: beside those of the sweep file.

    Raises:
        SceneError: the sweep file or one of its scenes is invalid; with all faults of all combinations.
        UsageError: two cases are the same, or there are too many; a word for `keep` or `device` that is none; a
            limit that leaves nothing.
        DeviceError: the device is missing.
    """
    if keep is not None and keep not in KEEP:
        raise UsageError(f"keep `{keep}`: choose {', '.join(KEEP)}")
    if time_limit is not None and not 0 < time_limit < float("inf"):
        raise UsageError(f"time limit {time_limit:g} s: a case takes longer than 0 s, and ends some time")
    if max_worlds is not None and max_worlds < 1:
        raise UsageError(f"max_worlds {max_worlds}: a chunk has at least 1")
    sweep = read_scenes(path, choices)
    cases: list[Case] = []
    batches: list[Batch] = []
    units: dict[str, str] = {}
    sources: dict[tuple[str, str], None] = {}
    _refuse_two_tables(sweep, sets)
    for one in understood(sweep, sets):
        laid = tuple(renamed(override, os.path.abspath) for override in (*one.structure.sets, *sets))
        arch = device_class(device, one.spec.solver.precision)
        found, columns = _cases(one, arch)
        most = max_worlds or sweep.spec.max_worlds
        cost = cost_of(one.spec, one.model)
        batches.append(Batch(one.structure.scene, laid, len(found), cases_at_once(cost, len(found), most), cost))
        cases += found
        units |= columns
        sources |= dict.fromkeys((str(one.structure.scene.parent / name), text) for name, text in one.document.sources)
        if len(cases) > MOST_CASES:
            raise UsageError(f"{path}: more than {MOST_CASES} cases, which no sweep holds")
    _refuse_twice(cases)
    limit = sweep.spec.time_limit if time_limit is None else time_limit
    own = () if len(sweep.document.sources) == 0 else tuple((str(path), text) for _, text in sweep.document.sources[:1])
    return Plan(
        tuple(cases),
        tuple(chunks_of(batches, cases)),
        keep or sweep.spec.keep,
        limit,
        arch,
        digest_of(case.id for case in cases),
        tuple(dict.fromkeys((*own, *sources))),
        tuple(batches),
        tuple(units.items()),
    )


def _refuse_two_tables(sweep: "Sweep", sets: Sequence[Override | str]) -> None:
    """Refuse a table of the command line beside that of the sweep file.

    Raises:
        UsageError: that is so.
    """
    if sweep.spec.table is not None and any(isinstance(one, Override) and one.option == VARY_TABLE for one in sets):
        raise UsageError(f"{sweep.document.path}: has a `table` of its own: leave out {VARY_TABLE}, or that")


def _cases(one: Understood, device: str) -> tuple[list[Case], dict[str, str]]:
    """The worlds of a structure, and the units of what differs between them."""
    from simcli.model.params import param_unit, world_table
    from simcli.spec import n_worlds

    names, values = world_table(one.spec)
    choices = {name: _number(one.spec, name, value) for name, value in one.structure.labels}
    for name in names:
        if name in choices:
            raise UsageError(f"`{name}` is a choice of the sweep and varied in the batch, too: keep one of them")
    worlds = range(n_worlds(one.spec)) if one.document.worlds is None else one.document.worlds
    ids = case_ids(one.document, one.spec, device, worlds)
    cases = [
        Case(name, (*choices.items(), *zip(names, values[world].tolist(), strict=True)), world)
        for name, world in zip(ids, worlds, strict=True)
    ]
    numbers = [*names, *(name for name, value in choices.items() if isinstance(value, int | float) and "." in name)]
    return cases, {name: unit for name in numbers if (unit := param_unit(one.document, one.spec, name.partition("[")[0]))}


def _number(spec: "SceneSpec", path: str, value: object) -> object:
    """A value of a choice as a number in SI, where it is written with a unit or an expression."""
    from simcli.spec.base.nodes import parse_path
    from simcli.spec.lookup.scene_values import value_at

    meant = value_at(spec, parse_path(path) or ()) if isinstance(value, str) else None
    return meant if isinstance(meant, int | float) and not isinstance(meant, bool) else value


def _refuse_twice(cases: Sequence[Case]) -> None:
    """Refuse a sweep in which nothing differs between two cases.

    Raises:
        UsageError: that is so.
    """
    seen: dict[str, Case] = {}
    for case in cases:
        other = seen.setdefault(case.id, case)
        if other is not case:
            words = [", ".join(f"{name} = {value}" for name, value in one.labels) or "no choice" for one in (other, case)]
            raise UsageError(
                f"two cases of the sweep are the same: ({words[0]}) and ({words[1]}), so that one would be run "
                "twice: remove one of the values, or a choice that has no effect"
            )
