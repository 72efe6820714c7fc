"""All worlds of a batch in as few passes over the scene as they need: one where they differ in numbers alone.

A pass lays numbers that differ between worlds (`spec.values.varied`) over the scene. Where its code takes different ways
for some worlds, each group has a pass of its own; what has no answer for many worlds at once goes world by world.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from simcli.spec.batches.world_values import PathColumn, values_of_world
from simcli.spec.document.scene_file import Document
from simcli.spec.resolve import resolve, resolve_world
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values.varied import DivergedError, as_varied, number_in_worlds

MOST_TOGETHER = 2**16  # worlds of a portion, whose numbers are columns
MOST_ALONE = 2048  # worlds whose scenes are in memory at once, some 20 kB each
_MOST_GROUPS = 64  # beyond, worlds have little in common


class ScenePass(NamedTuple):
    """The scene of some worlds.

    Attributes:
        spec: with numbers that differ between these worlds; of a single world with plain ones.
        worlds: (n,) their places among all that are read.
    """

    spec: SceneSpec
    worlds: np.ndarray


def passes_of(document: Document, columns: Mapping[str, PathColumn], numbers: Sequence[int]) -> Iterator[list[ScenePass]]:
    """The scenes of some worlds of a batch, in portions that fit in memory.

    Args:
        document: the scene, resolved before.
        columns: dotted path to values, one per world.
        numbers: of the worlds.

    Yields:
        Passes, of which each world is in one.

    Raises:
        SceneError: the values of some world make no valid scene.
    """
    for start in range(0, len(numbers), MOST_TOGETHER):
        together, alone = _grouped(document, columns, np.arange(start, min(start + MOST_TOGETHER, len(numbers))))
        if together:
            yield together
        for first in range(0, len(alone), MOST_ALONE):
            yield [
                ScenePass(resolve_world(document, values_of_world(columns, k), numbers[k]), np.array([k]))
                for k in alone[first : first + MOST_ALONE].tolist()
            ]


def _grouped(
    document: Document, columns: Mapping[str, PathColumn], worlds: np.ndarray
) -> tuple[list[ScenePass], np.ndarray]:
    """Passes over some worlds, and those that go world by world, because of their numbers or to find what is wrong."""
    waiting, found, alone = [worlds], [], [np.zeros(0, int)]
    while waiting:
        group = waiting.pop()
        if len(group) == 1 or len(found) + len(waiting) >= _MOST_GROUPS:
            alone.append(group)
            continue
        try:
            found.append(ScenePass(resolve(document, _values(columns, group)), group))
        except DivergedError as diverged:
            if diverged.mask is None:
                alone.append(group)
            else:
                waiting += [group[diverged.mask], group[~diverged.mask]]
        except Exception:  # a fault, whose words name a world and its value, or code that takes no number but plain ones
            alone.append(group)
    return found, np.sort(np.concatenate(alone))


def _values(columns: Mapping[str, PathColumn], worlds: np.ndarray) -> dict[str, object]:
    """Values of some worlds by path.

    Raises:
        DivergedError: they are no numbers, and differ.
    """
    found: dict[str, object] = {}
    for path, column in columns.items():
        column = _numbers(column)
        if isinstance(column, list):
            first = column[worlds[0]]
            same = np.array([column[k] == first for k in worlds.tolist()])
            if not same.all():
                raise DivergedError(same)
            found[path] = first
        elif column.ndim == 1:
            found[path] = as_varied(column[worlds])
        else:
            found[path] = [as_varied(one) for one in column[worlds].T]
    return found


def _numbers(column: PathColumn) -> PathColumn:
    """A column of whole numbers as one of floats."""
    return np.array(column, float) if isinstance(column, list) and set(map(type, column)) <= {int, float} else column


def part_of_worlds(value: Any, worlds: np.ndarray) -> Any:
    """A scene, or a part of it, of some of the worlds of a pass.

    Args:
        value: of the pass.
        worlds: (n,), their places in it; what is of a single one has plain numbers.
    """
    if isinstance(value, BaseModel):
        changed = {name: new for name, one in value.__dict__.items() if (new := part_of_worlds(one, worlds)) is not one}
        return value.model_copy(update=changed) if changed else value
    if isinstance(value, dict):
        new = {key: part_of_worlds(one, worlds) for key, one in value.items()}
        return new if any(new[key] is not one for key, one in value.items()) else value
    if isinstance(value, list | tuple):
        items = [part_of_worlds(one, worlds) for one in value]
        return type(value)(items) if any(new is not one for new, one in zip(items, value, strict=True)) else value
    return number_in_worlds(value, worlds)
