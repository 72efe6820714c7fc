"""Lines of straight pieces through the points of tables, as sums of bends; numbers of the curves of muscles.

They need no search:

    f(x) = value + slope (x - origin) + sum over the bends of turn max(x - at, 0)

Beyond its ends a line goes on as its outer pieces do, or is held. Its integral from 0 on is exact, so that what a force by
table stores is what it has taken.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simcli.model.joints.links import beside, stack_worlds
from simcli.model.tables.table_base import Array
from simcli.model.tables.worlds import Worlds, constant_part


def read_laws(worlds: Worlds, names: list[str], owner: str) -> dict[str, Array]:
    """The columns of tensions by tables, of elongation and of rate.

    Args:
        worlds: the scenes.
        names: of the springs.
        owner: what the table calls them, "spring" or "rope".
    """
    of_line = _read_points(worlds, names, f"law_{owner}", "stiffness_table", "law_elongation", "law_force")
    return of_line | _read_points(worlds, names, f"damper_{owner}", "damping_table", "damper_rate", "damper_force")


def _read_points(worlds: Worlds, names: list[str], owner: str, key: str, *columns: str) -> dict[str, Array]:
    """The columns of the points of one key."""
    tables = {k: name for k, name in enumerate(names) if getattr(worlds.first.forces[name], key) is not None}
    if not tables:
        return {}
    sizes, points = [], []
    for name in tables.values():
        size = worlds.common(lambda s, n=name: len(getattr(s.forces[n], key).force), f"forces.{name}.{key}")
        sizes.append(size)
        points.append(worlds.numbers(lambda s, n=name: getattr(s.forces[n], key).points(), (2, size)))
    read = {column: beside([one[:, side] for one in points]) for side, column in enumerate(columns)}
    return {owner: np.repeat(list(tables), sizes).astype(np.int32)} | read


@dataclass(frozen=True)
class Lines:
    """Lines of K items; 0 of an item without points.

    Attributes:
        value, slope, origin: (W|1, K).
        begins: (W|1, K), constant with which the integral is 0 at x = 0.
        start: offsets into the bends, (K + 1,).
        at, turn: (W|1, bends).
    """

    value: Array
    slope: Array
    origin: Array
    begins: Array
    start: Array
    at: Array
    turn: Array


def bent_lines(count: int, item: Array, x: Array, y: Array) -> Lines:
    """Lines through points.

    Args:
        count: of items, K.
        item: (P,) item of each point, one item after the other; none has a single one.
        x: (W|1, P), rising within an item.
        y: (W|1, P).
    """
    value, slope, origin, begins = np.zeros((4, len(x), count))
    at, turn = [np.zeros((len(x), 0))], [np.zeros((len(x), 0))]
    for k in np.unique(item).tolist():
        own_x, own_y = x[:, item == k], y[:, item == k]
        steep = np.diff(own_y, axis=1) / np.diff(own_x, axis=1)
        value[:, k], slope[:, k], origin[:, k] = own_y[:, 0], steep[:, 0], own_x[:, 0]
        at, turn = [*at, own_x[:, 1:-1]], [*turn, np.diff(steep, axis=1)]
        begins[:, k] = own_y[:, 0] * own_x[:, 0] - steep[:, 0] * own_x[:, 0] ** 2 / 2.0
        begins[:, k] -= (turn[-1] * np.maximum(-at[-1], 0.0) ** 2).sum(axis=1) / 2.0
    n_bends = np.maximum(np.bincount(item, minlength=count) - 2, 0)
    return Lines(
        value, slope, origin, begins, np.cumsum([0, *n_bends]), np.concatenate(at, axis=1), np.concatenate(turn, axis=1)
    )


def ends_of_lines(count: int, item: Array, x: Array) -> tuple[Array, Array]:
    """First and last x of each line, (W|1, K), 0 of an item without points; see `bent_lines`."""
    low, high = np.zeros((2, len(x), count))
    for k in np.unique(item).tolist():
        low[:, k], high[:, k] = x[:, item == k].min(axis=1), x[:, item == k].max(axis=1)
    return low, high


def value_on_lines(lines: Lines, x: Array) -> Array:
    """(K,) of world 0, at x (K,)."""
    found = lines.value[0] + lines.slope[0] * (x - lines.origin[0])
    item = np.repeat(np.arange(len(x)), np.diff(lines.start))
    np.add.at(found, item, lines.turn[0] * np.maximum(x[item] - lines.at[0], 0.0))
    return found


_CURVE = ("min_length", "max_length", "max_velocity", "passive_force", "lengthening_force")


def _has_muscle(spec, name: str) -> bool:
    return spec.forces[name].muscle is not None


def _of_muscle(spec, name: str, of) -> object:
    return of(spec.forces[name].muscle)


def read_muscles(worlds: Worlds, names: list[str]) -> dict[str, Array]:
    """The columns of muscles, see `Ropes`."""
    having = [k for k, name in enumerate(names) if _has_muscle(worlds.first, name)]
    for name in names:
        worlds.common(partial(_has_muscle, name=name), f"forces.{name}.muscle")

    def column(of, *shape: int) -> Array:
        rows = [worlds.numbers(partial(_of_muscle, name=names[k], of=of), shape) for k in having]
        return stack_worlds(rows, shape) if rows else np.zeros((1, 0, *shape))

    return {
        "muscle_rope": np.array(having, np.int32),
        "muscle_activation": column(lambda one: constant_part(one.control) if one.activation is None else 0.0),
        "muscle_force": column(lambda one: one.force),
        "muscle_length": column(lambda one: one.length_range, 2),
        "muscle_range": column(lambda one: one.range, 2),
        "muscle_curve": column(lambda one: [getattr(one, key) for key in _CURVE], len(_CURVE)),
    }
