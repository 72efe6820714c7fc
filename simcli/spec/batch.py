"""What differs between worlds: `batch.vary` to values per world.

World = grid index * worlds + draw. A draw is a function of (seed, path, draw) alone, through a counter-based generator
(Philox), so that it does not depend on the number of worlds, on the other paths, or on the grid.
"""

import itertools
import math
from collections.abc import Callable, Sequence

from simcli.spec import sobol
from simcli.spec.schema import SceneSpec
from simcli.spec.schema_parts import VarySpec

_MASK = 2**64 - 1
_SMALLEST = 2.0**-54  # half a step of a 53-bit fraction, keeps the inverse normal finite
DRAWN = ("uniform", "normal", "log_uniform", "linspace", "list", "sobol")


def n_worlds(spec: SceneSpec) -> int:
    """Worlds of a batch: draws times the product of the grids."""
    grids = [len(vary.grid) for vary in spec.batch.vary.values() if vary.grid is not None]
    return spec.batch.worlds * math.prod(grids)


def world_values(document: object, spec: SceneSpec) -> list[dict[str, object]]:
    """Values of the varied paths, per world; empty dicts where nothing varies.

    Args:
        document: unused, kept so that callers need not know whether values depend on the text.
        spec: the scene.

    Returns:
        One dict per world: dotted path to an SI number, or list of them.
    """
    batch = spec.batch
    grids = [(path, vary.grid) for path, vary in batch.vary.items() if vary.grid is not None]
    columns = {path: draws(path, vary, spec) for path, vary in batch.vary.items() if vary.grid is None}
    worlds = []
    for combination in itertools.product(*(values for _, values in grids)):
        at_grid = {path: _plain(value) for (path, _), value in zip(grids, combination, strict=True)}
        for draw in range(batch.worlds):
            drawn = {path: column[draw] for path, column in columns.items()}
            worlds.append({path: at_grid[path] if path in at_grid else drawn[path] for path in batch.vary})
    return worlds


def world_seeds(spec: SceneSpec) -> list[int]:
    """One 64-bit seed per world; grid points share those of the draws."""
    raw = _words(spec.batch.seed, "", spec.batch.worlds, 0)
    return [int(word) for word in raw] * (n_worlds(spec) // spec.batch.worlds)


def draws(path: str, vary: VarySpec, spec: SceneSpec) -> list[object]:
    """Values of one path for draws 0 .. worlds - 1."""
    count, seed = spec.batch.worlds, spec.batch.seed
    kind = next(name for name in DRAWN if getattr(vary, name) is not None)
    value = getattr(vary, kind)
    if kind == "list":
        return [_plain(entry) for entry in value[:count]]
    if kind == "linspace":
        first, last = value
        return [first if count == 1 else _between(first, last, k / (count - 1)) for k in range(count)]
    if kind == "sobol":
        dimension = [name for name, other in spec.batch.vary.items() if other.sobol is not None].index(path)
        shift = int(_words(seed, path, 1, 1)[0]) >> 11
        fractions: Sequence[float] = sobol.points(dimension, count, shift)
    else:
        fractions = [(int(word) >> 11) * 2.0**-sobol.BITS for word in _words(seed, path, count, 0)]
    return list(map(_distribution(kind, *value), fractions))


def _distribution(kind: str, a: float, b: float) -> Callable[[float], float]:
    """From an even fraction in [0, 1) to the value."""
    if kind == "normal":
        from statistics import NormalDist

        return (lambda u: a + b * NormalDist().inv_cdf(max(u, _SMALLEST))) if b > 0 else (lambda u: a)
    if kind == "log_uniform":
        low, high = math.log(a), math.log(b)
        return lambda u: min(max(math.exp(_between(low, high, u)), a), b)
    return lambda u: _between(a, b, u)


def _between(a: float, b: float, u: float) -> float:
    """Straight line from a to b that meets both ends and does not overflow between them."""
    return a * (1.0 - u) + b * u


def _words(seed: int, path: str, count: int, stream: int) -> list[int]:
    """One 64-bit word per draw: the first of block `draw` of a generator keyed by seed and path."""
    import hashlib

    import numpy as np

    digest = hashlib.blake2b(f"{stream}:{path}".encode(), digest_size=8).digest()
    key = (seed & _MASK) << 64 | int.from_bytes(digest, "little")
    generator = np.random.Philox(key=key)
    return generator.random_raw(4 * count)[::4]


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
