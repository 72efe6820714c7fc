"""What is led needs no mass, beside contact as without: the motion is that of the same scene with masses."""

import json
from typing import get_args

import numpy as np
import pytest
from support.process import simcli as command

import simcli
from simcli.spec.honours.solver_fields import CONTACT_INTEGRATORS
from simcli.spec.schema.scene import GeneralizedSolver, MaximalSolver, NaturalSolver

WHOLE = {"mass": 1, "inertia": {"diag": [0.02, 0.03, 0.04]}}
BALL = {"mass": 4, "inertia": {"diag": [0.01, 0.01, 0.01]}, "shapes": {"s": {"type": "sphere", "radius": 0.1}}}
POINT = {"mass": 1, "inertia": "point"}  # natural coordinates of joints in loops need some mass, no inertia
HUNG = {"generalized": {"mass": 0, "inertia": "point"}, "maximal": {"mass": 0, "inertia": "point"}, "natural": POINT}
WITHIN = {"generalized": 1e-9, "maximal": 1e-5, "natural": 1e-9}  # [m]; joints of maximal coordinates are met to 1e-8 m/s
SPECS = {"generalized": GeneralizedSolver, "maximal": MaximalSolver, "natural": NaturalSolver}
CASES = [pytest.param(solver, integrator, marks=[] if integrator in ("semi_implicit", "moreau") else pytest.mark.slow)
         for solver, spec in SPECS.items() for integrator in get_args(spec.model_fields["integrator"].annotation)
         if integrator in CONTACT_INTEGRATORS]  # fmt: skip


def scene(solver, integrator, led, hung) -> dict:
    """A pendulum on a carrier that drives and turns, a crank, a disc that spins, a target; and a ball that lands."""
    bodies = {"carrier": {"kinematic": True, "motion": {"linear": [1, 0, 0], "angular": [0, 0, 2]}, **led},
              "arm": {"pose": {"xyz": [0.2, 0, 0]}, **BALL},
              "target": {"pose": {"xyz": [3, 0, 0]}, "kinematic": True, **led},
              "crank": {"pose": {"xyz": [5, 0, 0]}, **hung}, "bob": {"pose": {"xyz": [5.3, 0, 0]}, **WHOLE},
              "disc": {"pose": {"xyz": [7, 0, 0]}, **hung}, "ball": {"pose": {"xyz": [1, 1, -0.8]}, **BALL}}  # fmt: skip
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    spun = {"type": "revolute", "axis": [0, 0, 1], "parent": "world"}
    joints = {"swing": {**hinge, "parent": "carrier", "child": "arm", "at": [0, 0, 0]},
              "turn": {**spun, "child": "crank", "at": [5, 0, 0], "motion": {"velocity": 3}},
              "hang": {**hinge, "parent": "crank", "child": "bob", "at": [5.1, 0, 0]},
              "spin": {**spun, "child": "disc", "at": [7, 0, 0], "motion": {"velocity": 2}}}  # fmt: skip
    floor = {"type": "plane", "pose": {"xyz": [0, 0, -1]}}
    return {"simcli": 1, "world": {"shapes": {"floor": floor}}, "bodies": bodies, "joints": joints,
            "solver": {"type": solver, "integrator": integrator, "dt": 1e-3}, "run": {"duration": 0.3}}  # fmt: skip


def places(folder, content) -> dict:
    """[m], of each body in each frame."""
    path, out = folder / "scene.json", folder / "out.h5"
    path.write_text(json.dumps(content))
    ended = command("run", path, "-o", out, "-q", "--force")
    assert ended.returncode == 0, ended.stderr
    with simcli.open(out) as run:
        assert run.diag.residual[:].max() < 1e-6
        return {name: run.body(name).position[:] for name in content["bodies"]}


@pytest.mark.parametrize(("solver", "integrator"), CASES)
def test_what_is_led_needs_no_mass(tmp_path, solver, integrator):
    """A kinematic body without mass made the matrix of impulses singular: the first step ended with SC601."""
    expected = places(tmp_path, scene(solver, integrator, WHOLE, WHOLE))
    found = places(tmp_path, scene(solver, integrator, {}, HUNG[solver]))
    for name, position in expected.items():
        assert np.abs(found[name] - position).max() < WITHIN[solver], name
