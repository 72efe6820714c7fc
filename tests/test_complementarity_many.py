"""Many random piles, in both precisions: how many are solved, and how well by numpy's own measure."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import impulse_problems as problems
from support.process import environment

from simcli.kernels.complementarity.problem import LIMITS, PROXIMAL, SOLVED

pytestmark = pytest.mark.slow

COUNT = 64
NEWTON_STEPS = {"cold": 40, "warm": 6}  # on average, of all rounds; measured 20 and 4
WHOLLY = {"float64": COUNT - 4, "float32": COUNT}  # solved without the proximal term; measured 62 and 64
CHILD = Path(__file__).parent / "support" / "impulses_child.py"


@pytest.fixture(scope="module", params=["float64", "float32"])
def solved(request, tmp_path_factory):
    """A process of its own, because Taichi has one precision."""
    out = tmp_path_factory.mktemp("piles") / "piles.npz"
    words = [request.param, str(COUNT), str(LIMITS[request.param].kappa), str(out)]
    subprocess.run([sys.executable, str(CHILD), *words], check=True, env=environment())
    with np.load(out) as found:
        return request.param, dict(found)


def test_every_proximal_problem_is_solved(solved):
    precision, found = solved
    for name in ("cold", "warm"):
        assert (found[f"{name}_proximal"] < LIMITS[precision].tolerance).all()
        assert np.isin(found[f"{name}_status"], (SOLVED, PROXIMAL)).all()
        assert found[f"{name}_iterations"].mean() < NEWTON_STEPS[name]


def test_rounds_take_the_proximal_term_away(solved):
    precision, found = solved
    assert (found["cold_status"] == SOLVED).sum() >= WHOLLY[precision]
    assert found["cold_residual"].max() < LIMITS[precision].exact * 100


def test_numpy_measures_the_same(solved):
    precision, found = solved
    rounding = float(np.finfo(precision).eps) * 100  # of speeds about 1 m/s
    for seed in range(COUNT):
        one = problems.pile(seed)
        velocity, contacts = found["cold_velocity"][seed].astype(float), found["cold_contacts"][seed, :20].astype(float)
        mine = problems.natural_map(one, velocity, np.zeros(0), contacts)
        assert mine == pytest.approx(float(found["cold_residual"][seed]), abs=rounding, rel=1e-3)
        gained = np.einsum("cia,ci->a", one.contacts, contacts)
        assert velocity == pytest.approx(one.free + np.linalg.solve(one.M, gained), abs=rounding * 100)
