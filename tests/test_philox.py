"""Random numbers of the device against numpy's generator, and normal numbers against their formula."""

import numpy as np
import pytest

from simcli.kernels.algebra import philox
from simcli.kernels.memory.arena import Arena

KEYS = [(0, 0), (1, 2**63 + 5), (2**64 - 1, 2**64 - 1), (0x0123456789ABCDEF, 0xFEDCBA9876543210)]
COUNTERS = [(1, 0), (2**40, 2), (2**64 - 1, 5)]
NEAR = 1e-14  # of normal numbers: logarithm, root, sine and a product


def halves(numbers):
    """(n, 2) halves of 32 bits of unsigned integers, lower ones first, as reals."""
    words = np.array(numbers, np.uint64)
    return np.stack([words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)], axis=-1).astype(float)


@pytest.fixture
def drawn(device):
    """Words (n, 2) and normal numbers (n, 2) of blocks (key_0, key_1, counter_0, counter_1)."""
    from simcli.kernels.language import ti

    def run(blocks):
        n = len(blocks)
        arena = Arena(device.for_worlds(1), 1)
        given, found, normal = arena.slot(8 * n), arena.slot(4 * n), arena.slot(2 * n)
        arena.build()

        @ti.func
        def word_at(slot: ti.template(), k: ti.i32):
            low, high = slot.load(0, k), slot.load(0, k + 1)
            return ti.cast(low, ti.u64) + (ti.cast(high, ti.u64) << 32)

        @ti.kernel
        def apply(given: ti.template(), found: ti.template(), normal: ti.template(), n: ti.i32):
            ti.loop_config(block_dim=1)
            for w in range(1):
                arena.enter(w)
                for k in range(n):
                    a, b = philox.philox(word_at(given, 8 * k), word_at(given, 8 * k + 2), word_at(given, 8 * k + 4),
                                         word_at(given, 8 * k + 6))  # fmt: skip
                    found.store(w, 4 * k, ti.cast(a & ti.u64(0xFFFFFFFF), ti.f64))
                    found.store(w, 4 * k + 1, ti.cast(a >> 32, ti.f64))
                    found.store(w, 4 * k + 2, ti.cast(b & ti.u64(0xFFFFFFFF), ti.f64))
                    found.store(w, 4 * k + 3, ti.cast(b >> 32, ti.f64))
                    x, y = philox.normal_pair(a, b, ti.f64)
                    normal.store(w, 2 * k, x)
                    normal.store(w, 2 * k + 1, y)

        given.write(halves(blocks).reshape(1, -1, 1))
        for slot in (found, normal):
            slot.write(np.full((1, slot.n_items, 1), np.nan))
        arena.launch(apply, given, found, normal, n)
        words = found.read().reshape(n, 2, 2).astype(np.uint64)
        numbers = normal.read().reshape(n, 2).copy()
        arena.destroy()
        return words[..., 0] + (words[..., 1] << np.uint64(32)), numbers

    return run


def test_words_are_those_of_numpy_and_normal_numbers_those_of_the_formula(drawn, scalar_code):
    blocks = [(*key, *counter) for key in KEYS for counter in COUNTERS]
    words, numbers = drawn(blocks)
    for (k_0, k_1, c_0, c_1), mine, normal in zip(blocks, words, numbers, strict=True):
        whole = (c_0 + (c_1 << 64) - 1) % 2**256  # numpy counts before it draws
        wanted = np.random.Philox(key=k_0 + (k_1 << 64), counter=whole).random_raw(2)
        np.testing.assert_array_equal(mine, wanted)
        u, v = ((int(wanted[0]) >> 11) + 1) / 2**53, (int(wanted[1]) >> 11) / 2**53
        size = np.sqrt(-2 * np.log(u))
        both = [size * np.cos(2 * np.pi * v), size * np.sin(2 * np.pi * v)]
        np.testing.assert_allclose(normal, both, rtol=NEAR, atol=NEAR)
