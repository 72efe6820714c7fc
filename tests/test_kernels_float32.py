"""Rigid-body algorithms in float32, eight lanes, against the same in float64, four lanes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.device import live_device
from support.forests import single_precision_forest
from support.process import environment
from support.trials import coordinate_errors, run_trial

pytestmark = pytest.mark.slow

SEED, N_WORLDS = 31, 11  # one full pack and a rest in both precisions
SINGLE = 1e-4  # relative, a thousand float32 roundings
ACCELERATIONS = 1e-5  # times the condition number of the mass matrix
CHILD = Path(__file__).parent / "support" / "float32_child.py"


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The same trial in both precisions; float32 needs a process of its own, because Taichi has one precision."""
    out = tmp_path_factory.mktemp("float32") / "trial.npz"
    subprocess.run([sys.executable, str(CHILD), str(SEED), str(N_WORLDS), str(out)], check=True, env=environment())
    rng = np.random.default_rng(SEED)
    double = run_trial(rng, single_precision_forest(rng, N_WORLDS), live_device())
    with np.load(out) as single:
        single = dict(single)
    assert (single["tau"] == double.tau).all()
    return single, double


def off(found, wanted):
    """Norm of the difference relative to the norm of what is wanted, worst of the worlds."""
    axes = tuple(range(1, wanted.ndim))
    error = np.sqrt(((found.astype(float) - wanted) ** 2).sum(axis=axes) / (wanted**2).sum(axis=axes))
    return error.max() if np.isfinite(error).all() else np.inf


@pytest.mark.parametrize("name", ["body_qd", "rnea", "bias", "mass", "jacobian"])
def test_float32_agrees(pair, name):
    single, double = pair
    assert single[name].dtype == np.float32
    assert off(single[name], getattr(double, name)) < SINGLE


def test_float32_poses_agree(pair):
    single, double = pair
    found, wanted = single["body_q"].astype(float), double.body_q
    found[..., 3:] *= np.sign((found[..., 3:] * wanted[..., 3:]).sum(axis=-1, keepdims=True))
    assert off(found, wanted) < SINGLE


def test_float32_accelerations_agree(pair):
    single, double = pair
    for w in range(N_WORLDS):
        limit = ACCELERATIONS * np.linalg.cond(double.mass[w])
        assert off(single["aba"][w : w + 1], double.aba[w : w + 1]) < limit


def test_float32_projection_inverts_forward_kinematics(pair):
    single, double = pair
    errors = coordinate_errors(double.model, single["projected_q"].astype(float), double.q)
    assert all(error < SINGLE for error in errors.values()), errors
    assert np.abs(single["projected_qd"] - double.qd).max() < SINGLE
