"""Brackets and roots of functions that are known in closed form, jumps and poles among them."""

import numpy as np
import pytest

from simcli.search.intervals import Interval
from simcli.search.roots import find_crossings

TOLERANCE = 1e-9
N_POINTS = 17


def crossings(f, low, high, target=0.0, is_log=False, n_points=N_POINTS, tolerance=TOLERANCE):
    batches = []

    def values(x):
        batches.append(len(x))
        assert (np.diff(x) > 0.0).all()
        assert low <= x[0] <= x[-1] <= high
        return f(x)

    found = find_crossings(values, Interval("x", low, high, is_log, ""), target, n_points, tolerance)
    assert found.rounds == len(batches)
    assert sum(batches) == len(found.x)
    return found


@pytest.mark.parametrize(("f", "low", "high", "target", "is_log", "roots"), [
    (lambda k: np.sqrt(k / 2.0) / (2.0 * np.pi), 100.0, 1e4, 5.0, True, [2.0 * (10.0 * np.pi) ** 2]),
    (np.sin, 0.5, 20.0, 0.0, False, [np.pi * n for n in range(1, 7)]),
    (lambda x: x**3 - 2.0 * x, -3.0, 2.0, 0.0, False, [-np.sqrt(2.0), 0.0, np.sqrt(2.0)]),
    (np.exp, 0.0, 100.0, 1e5, False, [np.log(1e5)]),
    (lambda x: (x - 1.0) ** 3, 0.0, 2.2, 0.0, False, [1.0]),
    (lambda x: np.cbrt(x - np.pi), 0.5, 20.0, 0.0, False, [np.pi]),
    (lambda x: np.sign(x - 1.3) * np.sqrt(np.abs(x - 1.3)), 0.5, 20.0, 0.0, False, [1.3]),
    (lambda x: x, -1.0, 1.0, 0.0, False, [0.0]),
    (lambda x: x, 1.0, 2.0, 1.0, False, [1.0]),
    (lambda x: x, 1.0, 2.0, 2.0, False, [2.0]),
])  # fmt: skip
def test_all_roots_are_found(f, low, high, target, is_log, roots):
    found = crossings(f, low, high, target, is_log)
    assert not found.jumps
    np.testing.assert_allclose([one.x for one in found.roots], roots, rtol=TOLERANCE, atol=TOLERANCE * (high - low))
    for one in found.roots:
        assert one.low <= one.x <= one.high
        assert one.residual == pytest.approx(f(one.x) - target, abs=1e-12)


def test_smooth_functions_need_few_rounds():
    assert crossings(np.sin, 0.5, 20.0).rounds <= 5
    assert crossings(lambda x: np.exp(x) - 1e5, 0.0, 100.0).rounds <= 6


@pytest.mark.parametrize(("f", "place"), [
    (lambda x: np.where(x > 3.0, 1.0, -1.0) + 0.01 * x, 3.0),
    (lambda x: 1.0 / (x - np.pi), np.pi),
    (lambda x: np.where(x > np.e, 1e-3, -1.0), np.e),
])  # fmt: skip
def test_jumps_are_no_roots(f, place):
    found = crossings(f, 0.5, 20.0)
    assert not found.roots
    (jump,) = found.jumps
    assert jump.low <= place <= jump.high
    assert jump.high - jump.low < 1e-7
    assert jump.below * jump.above < 0.0


def test_a_root_beside_a_jump():
    found = crossings(lambda x: np.where(x > 3.0, x - 10.0, x - 1.0), 0.1, 20.0, n_points=20)
    np.testing.assert_allclose([one.x for one in found.roots], [1.0, 10.0], rtol=1e-9)
    assert [round(one.x, 6) for one in found.jumps] == [3.0]


def test_nothing_is_concluded_across_points_without_values():
    found = crossings(lambda x: np.where(np.abs(x - 3.0) < 1.0, np.nan, x - 3.0), 0.0, 10.0)
    assert not found.crossings
    assert np.isnan(found.value).any()


def test_no_crossing_costs_one_batch():
    found = crossings(lambda x: x**2, -1.0, 2.0, -1.0)
    assert (found.crossings, found.rounds) == ([], 1)
    np.testing.assert_allclose([np.nanmin(found.value), np.nanmax(found.value)], [0.0, 4.0], atol=0.1)


def test_intervals_meet_their_ends_to_the_bit():
    rng = np.random.default_rng(3)
    for is_log in (False, True):
        for _ in range(200):
            low, high = np.sort(rng.uniform(0.1, 7.0, 2)).tolist()
            one = Interval("x", low, high, is_log, "")
            x = one.at(np.linspace(0.0, 1.0, 9))
            assert (x[0], x[-1]) == (low, high)
            assert (np.diff(x) > 0.0).all()
    np.testing.assert_allclose(Interval("x", 1.0, 100.0, True, "").at(0.5), 10.0)
