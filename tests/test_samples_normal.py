"""Truncated and correlated normal draws: their moments, bounds, and what they depend on."""

import itertools
import math

import numpy as np
import pytest
from support.sampling import P_VALUE, column, values

from simcli.spec.samples import normals, points

CUTS = [(None, 1.2), (0.9, None), (0.8, 1.1), (1.3, None), (1.8, 1.85), (None, 0.2), (0.5, 9)]


@pytest.mark.parametrize(("low", "high"), CUTS)
def test_truncated_normals(low, high):
    stats = pytest.importorskip("scipy.stats")
    value = normals.normal_quantiles(1.0, 0.1, low, high)
    u = np.array(points.even_fractions(5, "p", 4000))
    got = np.array([value(one) for one in u])
    a, b = ((-np.inf if low is None else low) - 1) / 0.1, ((np.inf if high is None else high) - 1) / 0.1
    law = stats.truncnorm(a, b, loc=1.0, scale=0.1)
    assert stats.kstest(got, law.cdf).pvalue > P_VALUE
    assert low is None or (got >= low).all()
    assert high is None or (got <= high).all()
    ends = [value(0.0), value(1.0 - 2.0**-53)]
    assert np.isfinite(ends).all()
    quantiles = np.sort(np.array([value(one) for one in (0.1, 0.5, 0.9)]))
    np.testing.assert_allclose(quantiles, np.sort(law.ppf([0.1, 0.5, 0.9])), rtol=1e-9)


def test_bounds_far_away_change_next_to_nothing(tmp_path):
    free, cut = column(tmp_path, "normal(1, 0.1)", 50), column(tmp_path, "normal(1, 0.1, low=-3, high=5)", 50)
    np.testing.assert_allclose(cut, free, rtol=1e-12)


MEANS, DEVIATIONS = np.array([1.0, 2.0, 0.1]), np.array([0.1, 0.3, 0.02])
CORRELATION = np.array([[1, 0.8, -0.3], [0.8, 1, 0.1], [-0.3, 0.1, 1]])
NORMALS = ["params.a=normal(1, 0.1, correlation={params.b: 0.8, params.c: -0.3})", "params.b=normal(2 kg, 0.3 kg)",
           "params.c=normal(10 cm, 2 cm, correlation={params.b: 0.1})"]  # fmt: skip


def test_correlated_normals(tmp_path):
    stats = pytest.importorskip("scipy.stats")
    n = 4000
    got = values(tmp_path, *NORMALS, worlds=n)
    table = np.array([[world[f"params.{name}"] for name in "abc"] for world in got])
    covariance = CORRELATION * np.outer(DEVIATIONS, DEVIATIONS)
    law = stats.multivariate_normal(MEANS, covariance)
    # The squared distance is chi-squared, and so is every projection normal.
    distance = np.einsum("ni,ij,nj->n", table - MEANS, np.linalg.inv(covariance), table - MEANS)
    assert stats.kstest(distance, stats.chi2(3).cdf).pvalue > P_VALUE
    for direction in np.vstack([np.eye(3), [[1, 1, 1], [1, -1, 3]]]):
        scale = math.sqrt(direction @ covariance @ direction)
        assert stats.kstest((table - MEANS) @ direction, stats.norm(scale=scale).cdf).pvalue > P_VALUE
    np.testing.assert_allclose(np.cov(table.T), covariance, atol=5 * 0.09 / math.sqrt(n))
    assert np.isfinite(law.logpdf(table)).all()


def test_correlated_normals_do_not_depend_on_order_number_or_others(tmp_path):
    first = values(tmp_path, *NORMALS, worlds=9)
    for order in itertools.permutations(NORMALS):
        assert [dict(sorted(world.items())) for world in values(tmp_path, *order, worlds=9)] == [
            dict(sorted(world.items())) for world in first]  # fmt: skip
    more = values(tmp_path, *NORMALS, "params.d=normal(1, 0.1)", worlds=40)
    assert [{key: value for key, value in world.items() if key != "params.d"} for world in more[:9]] == first
    alone = column(tmp_path, "normal(1, 0.1)", 9)
    assert alone.tolist() == [world["params.a"] for world in first]  # a is the first of the alphabet


def test_covariance_is_correlation_in_units(tmp_path):
    mass, length = "params.b=normal(2 kg, 300 g)", "params.c=normal(10 cm, 2 cm, {})"
    by_correlation = values(tmp_path, mass, length.format("correlation={params.b: 0.5}"))
    by_covariance = values(tmp_path, mass, length.format("covariance={params.b: 300 g*cm}"))
    assert by_covariance[0]["params.c"] == pytest.approx(by_correlation[0]["params.c"], rel=1e-14)


def test_full_correlation_is_a_line(tmp_path):
    got = values(tmp_path, "params.a=normal(1, 0.1)", "params.d=normal(5, 2, correlation={params.a: -1})", worlds=20)
    for world in got:
        assert (world["params.d"] - 5) / 2 == pytest.approx(-(world["params.a"] - 1) / 0.1, abs=1e-12)
