"""What is to be run: cases by name, in chunks of one batch each."""

import os
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.errors import UsageError
from simcli.spec.batches.sweep_file import renamed
from simcli.spec.document.overrides import VARY_TABLE, Override
from simcli.sweeps.planning.names import case_ids, digest_of
from simcli.sweeps.planning.scenes import Understood, read_scenes, understood
from simcli.sweeps.planning.sizes import Cost, cases_at_once, cost_of

if TYPE_CHECKING:
    from simcli.spec import SceneSpec
    from simcli.spec.batches.sweep_file import Sweep

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
                left.append(_chunk(chunk.scene, chunk.sets, [chunk.worlds[k] for k in missing],
                                   [chunk.cases[k] for k in missing]))  # fmt: skip
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


def plan_of(path: Path, sets: Sequence[Override | str] = (), *, device: str = "auto", keep: str | None = None,
            time_limit: float | None = None, max_worlds: int | None = None,
            choices: dict[str, object] | None = None) -> Plan:  # fmt: skip
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
        batches.append(Batch(one.structure.scene, laid, len(found),
                             cases_at_once(cost, len(found), most), cost))  # fmt: skip
        cases += found
        units |= columns
        sources |= dict.fromkeys((str(one.structure.scene.parent / name), text) for name, text in one.document.sources)
        if len(cases) > MOST_CASES:
            raise UsageError(f"{path}: more than {MOST_CASES} cases, which no sweep holds")
    _refuse_twice(cases)
    limit = sweep.spec.time_limit if time_limit is None else time_limit
    own = () if len(sweep.document.sources) == 0 else tuple((str(path), text) for _, text in sweep.document.sources[:1])
    return Plan(tuple(cases), tuple(chunks_of(batches, cases)), keep or sweep.spec.keep, limit, arch,
                digest_of(case.id for case in cases), tuple(dict.fromkeys((*own, *sources))), tuple(batches),
                tuple(units.items()))  # fmt: skip


def _refuse_two_tables(sweep: "Sweep", sets: Sequence[Override | str]) -> None:
    """Refuse a table of the command line beside that of the sweep file.

    Raises:
        UsageError: that is so.
    """
    if sweep.spec.table is not None and any(isinstance(one, Override) and one.option == VARY_TABLE for one in sets):
        raise UsageError(f"{sweep.document.path}: has a `table` of its own: leave out {VARY_TABLE}, or that")


def device_class(device: str, precision: str) -> str:
    """What `auto` is on this machine, as "cpu" or "cuda"; another device itself, without a look at whether it is there.

    Raises:
        UsageError: there is no such device.
    """
    from simcli.kernels.device.runtime import ARCHS, choose_arch

    return device if device in ARCHS else choose_arch(device, precision)


def _cases(one: Understood, device: str) -> tuple[list[Case], dict[str, str]]:
    """The worlds of a structure, and the units of what differs between them."""
    from simcli.model.from_scene import world_table
    from simcli.model.param_units import param_unit
    from simcli.spec import n_worlds

    names, values = world_table(one.spec)
    choices = {name: _number(one.spec, name, value) for name, value in one.structure.labels}
    for name in names:
        if name in choices:
            raise UsageError(f"`{name}` is a choice of the sweep and varied in the batch, too: keep one of them")
    worlds = range(n_worlds(one.spec)) if one.document.worlds is None else one.document.worlds
    ids = case_ids(one.document, one.spec, device, worlds)
    cases = [Case(name, (*choices.items(), *zip(names, values[world].tolist(), strict=True)), world)
             for name, world in zip(ids, worlds, strict=True)]  # fmt: skip
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
            raise UsageError(f"two cases of the sweep are the same: ({words[0]}) and ({words[1]}), so that one would be run "
                             "twice: remove one of the values, or a choice that has no effect")  # fmt: skip
