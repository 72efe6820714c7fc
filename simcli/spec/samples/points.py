"""Random words, Latin hypercubes and Owen's scrambling: fractions of [0, 1) of one path, by the number of the draw.

A draw is a function of (seed, path, draw) and of what the scene declares of the path, never of how many draws there are.
"""

import numpy as np

from simcli.spec.batches import sobol

_MASK = 2**64 - 1


def random_words(seed: int, path: str, count: int, stream: object) -> np.ndarray:
    """One 64-bit word per draw: the first of block `draw` of a generator keyed by seed, path and stream, (count,) uint64."""
    return _generator(seed, path, stream).random_raw(4 * count)[::4]


def _generator(seed: int, path: str, stream: object) -> np.random.Philox:
    import hashlib

    digest = hashlib.blake2b(f"{stream}:{path}".encode(), digest_size=8).digest()
    return np.random.Philox(key=(seed & _MASK) << 64 | int.from_bytes(digest, "little"))


def even_fractions(seed: int, path: str, count: int) -> np.ndarray:
    """Independent even fractions in [0, 1), (count,)."""
    return (random_words(seed, path, count, 0) >> np.uint64(11)) * 2.0**-sobol.BITS


def latin_fractions(seed: int, path: str, count: int, strata: int) -> np.ndarray:
    """Fractions of which each `strata` draws in a row, from draw 0 on, have one in every slice of length 1 / strata.

        u_k = (p_b(k mod n) + f_k) / n,   b = k div n

    Notation: n strata, p_b a random permutation of 0 .. n - 1 for block b, f_k an even fraction.

    Args:
        seed: of the batch.
        path: of the number.
        count: of draws.
        strata: slices.

    Source: McKay, Beckman, Conover (1979), one column; paths are permuted apart, which pairs them at random. Deviation: the
    number of slices is not that of draws; further draws go on with another permutation.
    """
    within = even_fractions(seed, path, count)
    cells = np.empty(count)
    for block in range(-(-count // strata)):
        order = np.argsort(_generator(seed, path, f"lhs-{block}").random_raw(strata), kind="stable")
        first = block * strata
        cells[first : first + strata] = order[: count - first]
    return np.minimum((cells + within) / strata, np.nextafter((cells + 1.0) / strata, 0.0))


def scrambled_fractions(seed: int, path: str, count: int, dimension: int) -> np.ndarray:
    """Sobol points of one dimension under nested uniform scrambling: a net stays a net, and every point is even by itself.

    Bit i of a point is flipped or not by a random bit that belongs to the path, to i, and to the bits before i.

    Args:
        seed: of the batch.
        path: of the number.
        count: of draws; draw k does not depend on it.
        dimension: of the sequence.

    Source: A. B. Owen, "Randomly permuted (t, m, s)-nets and (t, s)-sequences" (1995), base 2, 53 bits; the random bits are
    those of SplitMix64 (Steele, Lea, Flood 2014), one generator for each i, at the place that the bits before i count.
    """
    points = (sobol.points(dimension, count) * 2.0**sobol.BITS).astype(np.uint64)
    keys = random_words(seed, path, sobol.BITS, "owen")
    found = np.zeros_like(points)
    one = np.uint64(1)
    for i in range(sobol.BITS):
        below = np.uint64(sobol.BITS - 1 - i)
        before = points >> np.uint64(sobol.BITS - i)
        flip = _split_mix(keys[i], before) >> np.uint64(63)
        found |= ((points >> below) & one ^ flip) << below
    return found * 2.0**-sobol.BITS


def _split_mix(key: np.uint64, place: np.ndarray) -> np.ndarray:
    """Output number `place` of SplitMix64 that begins at a key, (n,) uint64; sums and products are modulo 2^64."""
    with np.errstate(over="ignore"):
        z = key + (place + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
