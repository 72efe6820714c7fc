"""Frames of scenes in which something could touch show efforts and accelerations of free motion, from the first one on."""

from typing import get_args

import h5py
import numpy as np
import pytest
from support.contact_scenes import write
from support.process import simcli

from simcli.spec.honours.solver_fields import CONTACT_INTEGRATORS
from simcli.spec.schema.scene import GeneralizedSolver, MaximalSolver, NaturalSolver

STEP, GRAVITY, ARM, START, SWING = 1e-3, 9.81, 0.5, 0.3, 0.6
SOLVERS = (GeneralizedSolver, MaximalSolver, NaturalSolver)
PAIRS = [(get_args(spec.model_fields["type"].annotation)[0], one) for spec in SOLVERS
         for one in get_args(spec.model_fields["integrator"].annotation) if one in CONTACT_INTEGRATORS]  # fmt: skip
SOLID = {"mass": 1, "inertia": {"diag": [0.02, 0.03, 0.04]}, "shapes": {"s": {"type": "sphere", "radius": 0.05}}}


@pytest.mark.parametrize(("solver", "integrator"), [
    pytest.param(*pair, marks=pytest.mark.slow) if pair[1] == "rk4" else pair for pair in PAIRS])  # starts as implicit does
def test_accelerations_and_efforts_are_those_of_free_motion(tmp_path, solver, integrator):
    """Of an arm that swings as prescribed, at speed from the start: inertia times acceleration, and weight; of a fall."""
    path = tmp_path / "a.h5"
    simcli("run", write(tmp_path, "a", {
        "simcli": 1,
        "signals": {"swing": {"sine": {"amplitude": SWING, "frequency": 0.5, "offset": START}}},
        "bodies": {"arm": SOLID, "falls": {**SOLID, "pose": {"xyz": [5, 0, 0]}}},
        "joints": {"a": {"type": "revolute", "parent": "world", "child": "arm", "axis": [0, 1, 0],
                         "child_frame": {"xyz": [0, 0, ARM]}, "motion": {"position": "$swing"}}},
        "solver": {"type": solver, "integrator": integrator, "dt": STEP},
        "run": {"duration": 3 * STEP},
        "output": {"every": STEP, "channels": ["state", "bodies", "body_qdd"]},
    }), "-o", path, "-q")  # fmt: skip
    with h5py.File(path) as file:
        acceleration, effort = (np.array(file[f"frames/{name}"])[:, 0, 0] for name in ("joint_qdd", "joint_effort"))
        fall = np.array(file["frames/body_qdd"])[:, 0, 1, 2]
    assert fall == pytest.approx(-GRAVITY, abs=1e-5)
    time = STEP * np.arange(len(effort))
    wanted = -SWING * np.pi**2 * np.sin(np.pi * time)
    needed = (0.03 + ARM**2) * wanted + GRAVITY * ARM * np.sin(START + SWING * np.sin(np.pi * time))
    for found, closed in ((acceleration, wanted), (effort, needed)):
        assert found[0] == pytest.approx(closed[0], abs=1e-4)  # the solver's tolerance over the step
        assert found == pytest.approx(closed, abs=20 * STEP)  # steps of first order show those of their start
