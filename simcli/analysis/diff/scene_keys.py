"""What differs beside the numbers: keys of the scenes, versions, device, names, parameters of the worlds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simcli.analysis.diff.world_pairs import WorldPairs
from simcli.errors import SceneError
from simcli.spec import document_of_text
from simcli.spec.base.nodes import plain

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

_NOTHING = "-"  # a key that one file lacks: it has its default there, or what it belongs to does not exist
NAME_AXES = {"bodies": "body_name", "joints": "joint_name", "points": "point_name", "q": "q_label", "qd": "qd_label",
             "rows": "row_label", "shapes": "shape_name"}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """Something that has one value in each file.

    Attributes:
        key: dotted path, as `solver.dt`, or the name of a fact, as `version.taichi`.
        a: value in the one file.
        b: value in the other one.
    """

    key: str
    a: Any
    b: Any


@dataclass(frozen=True)
class NameChange:
    """Names of one kind that the files do not share.

    Attributes:
        kind: as "bodies".
        only_a: names that only the one file has.
        only_b: names that only the other one has.
        reordered: whether the names that both have stand in another order.
    """

    kind: str
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    reordered: bool


def scene_changes(a: "Trajectory", b: "Trajectory") -> list[Change]:
    """Keys of the resolved scenes that differ; of scenes that this version cannot read, the whole text."""
    first, second = a.provenance.scene_resolved, b.provenance.scene_resolved
    if first == second:
        return []
    try:
        mine, theirs = (_leaves(plain(document_of_text(text, "scene").root)) for text in (first, second))
    except SceneError:
        return [Change("scene", first, second)]
    return [Change(key, mine.get(key, _NOTHING), theirs.get(key, _NOTHING)) for key in dict.fromkeys([*mine, *theirs])
            if mine.get(key, _NOTHING) != theirs.get(key, _NOTHING)]  # fmt: skip


def _leaves(tree: Any, path: str = "") -> dict[str, Any]:
    """Dotted path to value; a list of plain values is one value."""
    if isinstance(tree, dict) and tree:
        parts = ((f"{path}.{key}" if path else str(key), value) for key, value in tree.items())
    elif isinstance(tree, list) and any(isinstance(value, dict | list) for value in tree):
        parts = ((f"{path}[{k}]", value) for k, value in enumerate(tree))
    else:
        return {path: tree}
    return {key: leaf for place, value in parts for key, leaf in _leaves(value, place).items()}


def fact_changes(a: "Trajectory", b: "Trajectory") -> list[Change]:
    """Versions, device, precision, type of the numbers, seed and state of the run that differ."""
    mine, theirs = _facts(a), _facts(b)
    return [Change(key, mine.get(key, _NOTHING), theirs.get(key, _NOTHING)) for key in dict.fromkeys([*mine, *theirs])
            if mine.get(key, _NOTHING) != theirs.get(key, _NOTHING)]  # fmt: skip


def _facts(run: "Trajectory") -> dict[str, Any]:
    source = run.provenance
    versions = {f"version.{name}": version for name, version in source.versions.items()}
    return {"status": run.status, "device": source.device, "precision": source.precision,
            "output.dtype": run.column("diag/residual").dtype.name, "seed": source.seed,
            "deterministic": source.deterministic, **versions}  # fmt: skip


def name_changes(a: "Trajectory", b: "Trajectory") -> list[NameChange]:
    """Names of bodies, joints, points, coordinates, rows and shapes that only one file has, or in another order."""
    changes = []
    for kind, table in NAME_AXES.items():
        mine, theirs = tuple(a.model[table]), tuple(b.model[table])
        if mine != theirs:
            only_a, only_b = _without(mine, theirs), _without(theirs, mine)
            reordered = _without(mine, only_a) != _without(theirs, only_b)
            changes.append(NameChange(kind, only_a, only_b, reordered))
    return changes


def _without(names: Sequence[str], others: Iterable[str]) -> tuple[str, ...]:
    unwanted = set(others)
    return tuple(name for name in names if name not in unwanted)


def param_changes(a: "Trajectory", b: "Trajectory", worlds: WorldPairs) -> list[Change]:
    """Varied parameters that differ: the values of the first world where they do, `joints.pin.q, world 3`."""
    changes = []
    for name in dict.fromkeys([*a.params, *b.params]):
        if name not in a.params or name not in b.params:
            words = ["varied" if name in run.params else _NOTHING for run in (a, b)]
            changes.append(Change(name, *words))
            continue
        mine, theirs = a.params[name][worlds.a], b.params[name][worlds.b]
        differs = ~((mine == theirs) | (np.isnan(mine) & np.isnan(theirs)))
        if differs.any():
            k = int(np.argmax(differs))
            more = int(np.count_nonzero(differs)) - 1
            text = f"{name}, world {worlds.a[k]}" + (f" and {more} more" if more else "")
            changes.append(Change(text, float(mine[k]), float(theirs[k])))
    return changes
