"""What differs between worlds: the batch of a scene to values per world.

World = grid index * draws + draw. A draw is a function of (seed, path, draw) alone, through a counter-based generator
(Philox), so that it does not depend on the number of worlds, on the other paths, or on the grid. What a path declares that
ties it to more than that - strata, a dimension of the Sobol sequence, a correlation - stands beside it in the scene.
"""

import bisect
import itertools
import math
from collections.abc import Callable, Iterable

from simcli.spec.batches import sobol
from simcli.spec.samples.normals import correlated, normal_quantiles
from simcli.spec.samples.points import even_fractions, latin_fractions, random_words, scrambled_fractions
from simcli.spec.schema.batch import BatchSpec, VarySpec
from simcli.spec.schema.scene import SceneSpec

ON_GRID = ("grid", "zip")
SOBOL = ("sobol", "scrambled_sobol")


def n_worlds(spec: SceneSpec) -> int:
    """Worlds of a batch: draws times the product of the grids."""
    return spec.batch.n_draws * math.prod(len(axis) for axis in _axes(spec.batch))


def world_values(spec: SceneSpec) -> list[dict[str, object]]:
    """Values of the varied paths, per world; empty dicts where nothing varies.

    Args:
        spec: the resolved scene.

    Returns:
        One dict per world: dotted path to an SI number, or list of them.
    """
    batch = spec.batch
    columns, paths, n_draws = draws(batch), batch.paths, batch.n_draws
    worlds = []
    for combination in itertools.product(*_axes(batch)):
        at_grid = {path: value for place in combination for path, value in place.items()}
        for draw in range(n_draws):
            worlds.append({path: at_grid[path] if path in at_grid else columns[path][draw] for path in paths})
    return worlds


def world_seeds(spec: SceneSpec) -> list[int]:
    """One 64-bit seed per world; grid points share those of the draws."""
    batch = spec.batch
    written = batch.table.read.seeds if batch.table is not None else None
    raw = random_words(batch.seed, "", batch.n_draws, 0) if written is None else written[: batch.n_draws]
    return [int(word) for word in raw] * (n_worlds(spec) // batch.n_draws)


def draws(batch: BatchSpec) -> dict[str, list[object]]:
    """Values for draws 0 .. n_draws - 1 of every path that is on no grid."""
    table = batch.table.read.values if batch.table is not None else {}
    found = {path: list(column.values[: batch.n_draws]) for path, column in table.items()}
    normals = {path: vary for path, vary in batch.vary.items() if vary.kind == "normal"}
    found |= correlated(normals, lambda path: even_fractions(batch.seed, path, batch.n_draws))
    return found | {path: _drawn(path, vary, batch) for path, vary in batch.vary.items()
                    if path not in found and vary.kind not in ON_GRID}  # fmt: skip


def sobol_dimensions(batch: BatchSpec) -> dict[str, int]:
    """Dimension of the Sobol sequence of every path that has one: as written, else by the order of the paths.

    Paths of `scrambled_sobol` follow those of `sobol`, whose dimensions so do not depend on them.
    """
    paths = [path for kind in SOBOL for path, vary in batch.vary.items() if vary.kind == kind]
    written = (batch.vary[path].dimension for path in paths)
    return {path: k if own is None else own for k, (path, own) in enumerate(zip(paths, written, strict=True))}


def _axes(batch: BatchSpec) -> list[list[dict[str, object]]]:
    """The grids, each a list of places: path to value. All zips make one, at the place of the first."""
    zipped = {path: vary.zip for path, vary in batch.vary.items() if vary.kind == "zip"}
    axes: list[list[dict[str, object]]] = []
    for path, vary in batch.vary.items():
        if vary.kind == "grid":
            axes.append([{path: _plain(value)} for value in vary.grid])
        elif zipped and path == next(iter(zipped)):
            places = zip(*zipped.values(), strict=False)
            axes.append([dict(zip(zipped, map(_plain, place), strict=True)) for place in places])
    return axes


def _drawn(path: str, vary: VarySpec, batch: BatchSpec) -> list[object]:
    """Values of one path by itself."""
    count, kind, value = batch.n_draws, vary.kind, vary.value
    if kind in ("list", "from"):
        return [_plain(entry) for entry in (value if kind == "list" else value.column.values)[:count]]
    if kind == "linspace":
        first, last = value
        return [first if count == 1 else _between(first, last, k / (count - 1)) for k in range(count)]
    fractions = _fractions(path, vary, batch)
    if kind == "choice":
        return list(_chosen(value, vary.weights or (1.0,) * len(value), fractions))
    if kind == "normal":
        return list(map(normal_quantiles(*value, vary.low, vary.high), fractions))
    return list(map(_log(*value) if kind == "log_uniform" else _straight(*value), fractions))


def _fractions(path: str, vary: VarySpec, batch: BatchSpec) -> list[float]:
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


def _chosen(entries: tuple, weights: tuple[float, ...], fractions: Iterable[float]) -> Iterable[object]:
    """Entries as often as their weights say."""
    bounds = list(itertools.accumulate(weights))
    for u in fractions:
        k = bisect.bisect_right(bounds, u * bounds[-1])
        while k == len(weights) or not weights[k]:  # rounding at the end of the last one
            k -= 1
        yield _plain(entries[k])


def _straight(low: float, high: float) -> Callable[[float], float]:
    return lambda u: _between(low, high, u)


def _log(low: float, high: float) -> Callable[[float], float]:
    first, last = math.log(low), math.log(high)
    return lambda u: min(max(math.exp(_between(first, last, u)), low), high)


def _between(a: float, b: float, u: float) -> float:
    """Straight line from a to b that meets both ends and does not overflow between them."""
    return a * (1.0 - u) + b * u


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
