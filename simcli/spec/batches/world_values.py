"""What differs between worlds: the batch of a scene to values per world.

World = grid index * draws + draw. A draw is a function of (seed, path, draw) alone, through a counter-based generator
(Philox), so that it does not depend on the number of worlds, on the other paths, or on the grid. What a path declares that
ties it to more than that - strata, a dimension of the Sobol sequence, a correlation - stands beside it in the scene.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from simcli.spec.batches.random_draws import (
    correlated,
    even_fractions,
    latin_fractions,
    normal_quantiles,
    random_words,
    scrambled_fractions,
)
from simcli.spec.schema.batch import BatchSpec, VarySpec, as_list
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values import sobol

ON_GRID = ("grid", "zip")
SOBOL = ("sobol", "scrambled_sobol")


def n_worlds(spec: SceneSpec) -> int:
    """Worlds of a batch: draws times the product of the grids."""
    return spec.batch.n_worlds


PathColumn = np.ndarray | list  # values of a path, one per world: (W,) or (W, n) where all are floats, else a list of them


def world_columns(spec: SceneSpec) -> dict[str, PathColumn]:
    """Values of the varied paths, path by path; an empty dict where nothing varies.

    Args:
        spec: the resolved scene.

    Returns:
        Dotted path to SI numbers, or lists of them, one per world.
    """
    if _held.batch is not spec.batch:
        _held.columns = _columns_of(spec.batch)
        _held.batch = spec.batch
    return dict(_held.columns)


class _Held:
    """The columns of the batch that was asked for last, which a run asks for several times."""

    batch: BatchSpec | None = None
    columns: Mapping[str, PathColumn] = MappingProxyType({})


_held = _Held()


def _columns_of(batch: BatchSpec) -> dict[str, PathColumn]:
    axes, n_draws = batch.axes, batch.n_draws
    n_places = math.prod(map(len, axes))
    found, inner = {}, n_places
    for axis in axes:
        inner //= len(axis)
        order = np.tile(np.repeat(np.arange(len(axis)), inner * n_draws), n_places // (inner * len(axis)))
        for path in axis[0]:
            found[path] = taken_from(path_column([place[path] for place in axis]), order)
    drawn = draws(batch)
    if n_places > 1:
        order = np.tile(np.arange(n_draws), n_places)
        drawn = {path: taken_from(column, order) for path, column in drawn.items()}
    found = drawn | found
    for column in found.values():
        if isinstance(column, np.ndarray):
            column.setflags(write=False)
    return {path: found[path] for path in batch.paths}


def path_column(values: Sequence[object]) -> PathColumn:
    """Values of worlds as a column."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return np.array(values)
    if kinds == {list} and len(set(map(len, values))) == 1 and {type(one) for value in values for one in value} == {float}:
        return np.array(values)
    return list(values)


def taken_from(column: PathColumn, worlds: np.ndarray) -> PathColumn:
    """The values of some worlds."""
    return [column[k] for k in worlds.tolist()] if isinstance(column, list) else column[worlds]


def value_of_world(column: PathColumn, world: int) -> object:
    """The value of a world: a number, or a list of them."""
    return column[world] if isinstance(column, list) else column[world].tolist()


def values_of_world(columns: Mapping[str, PathColumn], world: int) -> dict[str, object]:
    """The values of a world by path."""
    return {path: value_of_world(column, world) for path, column in columns.items()}


def world_values(spec: SceneSpec) -> list[dict[str, object]]:
    """Values of the varied paths, per world; empty dicts where nothing varies.

    Args:
        spec: the resolved scene.

    Returns:
        One dict per world: dotted path to an SI number, or list of them.
    """
    columns = world_columns(spec)
    lists = [column if isinstance(column, list) else column.tolist() for column in columns.values()]
    return (
        [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
        if lists
        else [{} for _ in range(n_worlds(spec))]
    )


def world_seeds(spec: SceneSpec) -> list[int]:
    """One 64-bit seed per world; grid points share those of the draws."""
    batch = spec.batch
    written = batch.table.read.seeds if batch.table is not None else None
    raw = random_words(batch.seed, "", batch.n_draws, 0) if written is None else written[: batch.n_draws]
    return np.tile(np.asarray(raw, np.uint64), n_worlds(spec) // batch.n_draws).tolist()


def draws(batch: BatchSpec) -> dict[str, PathColumn]:
    """Values for draws 0 .. n_draws - 1 of every path that is on no grid."""
    table = batch.table.read.values if batch.table is not None else {}
    found = {path: path_column(column.values[: batch.n_draws]) for path, column in table.items()}
    normals = {path: vary for path, vary in batch.vary.items() if vary.kind == "normal"}
    together = correlated(normals, lambda path: even_fractions(batch.seed, path, batch.n_draws).tolist())
    found |= {path: np.array(values) for path, values in together.items()}
    return found | {
        path: _drawn(path, vary, batch)
        for path, vary in batch.vary.items()
        if path not in found and vary.kind not in ON_GRID
    }


def sobol_dimensions(batch: BatchSpec) -> dict[str, int]:
    """Dimension of the Sobol sequence of every path that has one: as written, else by the order of the paths.

    Paths of `scrambled_sobol` follow those of `sobol`, whose dimensions so do not depend on them.
    """
    paths = [path for kind in SOBOL for path, vary in batch.vary.items() if vary.kind == kind]
    written = (batch.vary[path].dimension for path in paths)
    return {path: k if own is None else own for k, (path, own) in enumerate(zip(paths, written, strict=True))}


def _drawn(path: str, vary: VarySpec, batch: BatchSpec) -> PathColumn:
    """Values of one path by itself."""
    count, kind, value = batch.n_draws, vary.kind, vary.value
    if kind in ("list", "from"):
        return path_column([as_list(entry) for entry in (value if kind == "list" else value.column.values)[:count]])
    if kind == "linspace":
        first, last = value
        return np.array([first]) if count == 1 else _between(first, last, np.arange(count) / (count - 1))
    fractions = _fractions(path, vary, batch)
    if kind == "choice":
        entries = path_column([as_list(entry) for entry in value])
        return taken_from(entries, _chosen(vary.weights or (1.0,) * len(value), fractions))
    if kind == "normal":
        return np.array(list(map(normal_quantiles(*value, vary.low, vary.high), fractions.tolist())))
    if kind == "log_uniform":
        first, last = map(math.log, value)
        drawn = np.array(list(map(math.exp, _between(first, last, fractions).tolist())))
        return np.minimum(np.maximum(drawn, value[0]), value[1])
    return _between(*value, fractions)


def _fractions(path: str, vary: VarySpec, batch: BatchSpec) -> np.ndarray:
    """Even fractions in [0, 1) of one path, one per draw."""
    count, seed = batch.n_draws, batch.seed
    if vary.kind == "lhs":
        return latin_fractions(seed, path, count, vary.strata or count)
    if vary.kind == "sobol":
        shift = int(random_words(seed, path, 1, 1)[0]) >> 11
        return sobol.points(sobol_dimensions(batch)[path], count, shift)
    if vary.kind == "scrambled_sobol":
        return scrambled_fractions(seed, path, count, sobol_dimensions(batch)[path])
    return even_fractions(seed, path, count)


def _chosen(weights: tuple[float, ...], fractions: np.ndarray) -> np.ndarray:
    """Places of entries as often as their weights say."""
    bounds = np.array(list(itertools.accumulate(weights)))
    places = np.searchsorted(bounds, fractions * bounds[-1], side="right")
    last = max(k for k, weight in enumerate(weights) if weight)
    return np.minimum(places, last)  # rounding at the end of the last one


def _between(a: float, b: float, u):
    """Straight line from a to b that meets both ends and does not overflow between them; `u` is a number or an array."""
    return a * (1.0 - u) + b * u
