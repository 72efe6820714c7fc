"""Loops that stay loops compile to the same arithmetic, and only on the CPU."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.device import live_device
from support.runs import MIXED

from simcli.kernels.device import runtime
from simcli.kernels.language import rolling
from simcli.kernels.language.internals import ASTTransformer
from simcli.pipeline import Request, prepare
from simcli.solvers import SOLVERS, RunPlan


def joint_positions(path, rolled):
    device = runtime.start_device("cpu", "float64", threads=1, offline_cache=False)
    rolling.keep_loops_rolled(rolled)
    model = prepare(Request(path)).model
    options = SimpleNamespace(integrator="semi_implicit", max_velocity=1e6)
    solver = SOLVERS["generalized"](model, options, RunPlan(1e-3, 10, 3, frozenset(("state",))), device)
    solver.initial()
    return solver.advance(3).columns["frames/joint_q"]


def test_loops_are_rewritten_on_the_cpu_alone():
    live_device()
    rolling.keep_loops_rolled(False)
    taichis_own = ASTTransformer.build_range_for
    rolling.keep_loops_rolled(True)
    assert taichis_own.__module__.startswith("taichi")
    assert ASTTransformer.build_range_for is not taichis_own


@pytest.mark.slow
def test_the_bytes_are_those_of_unrolled_loops(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(MIXED)
    unrolled, rolled = joint_positions(path, False), joint_positions(path, True)
    assert np.ptp(rolled) > 0
    assert rolled.tobytes() == unrolled.tobytes()
