"""One number of a scene that varies alone: the tables of every solver take columns of one world beside columns of all."""

import pytest
from support.device import live_device
from support.scenes import scene

from simcli.model.phases.stretches import build_phases
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve

NUMBERS = ("mass", "com", "first_parent", "first_child", "second_parent", "second_child")
SCENE = """params: {{mass: 1, com: -0.5, first_parent: 0, first_child: 0, second_parent: 0, second_child: 0}}
bodies:
  upper: {{mass: "${{mass}}", com: [0, 0, "${{com}}"], inertia: {inertia}}}
  lower: {{mass: 1, com: [0, 0, -0.5], inertia: {{diag: [0.1, 0.1, 0.1]}}}}
joints:
  first: {{type: revolute, parent: world, child: upper, axis: [0, 1, 0], q: 0.3,
          parent_frame: {{xyz: ["${{first_parent}}", 0, 0]}}, child_frame: {{xyz: ["${{first_child}}", 0, 0]}}}}
  second: {{type: revolute, parent: upper, child: lower, axis: [0, 1, 0], q: 0.3,
           parent_frame: {{xyz: ["${{second_parent}}", 0, -1]}}, child_frame: {{xyz: ["${{second_child}}", 0, 0]}}}}
solver: {{type: {solver}, dt: 1 ms}}
run: {{duration: 0.002}}
batch: {{worlds: 3, vary: {{params.{number}: {{uniform: {draws}}}}}}}
"""


@pytest.mark.parametrize("inertia", ["{diag: [0.1, 0.1, 0.1]}", "point"])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_tables_take_a_number_that_varies_alone(solver, number, inertia, tmp_path):
    draws = "[1, 2]" if number == "mass" else "[-0.6, -0.4]"
    document = scene(SCENE.format(solver=solver, number=number, inertia=inertia, draws=draws), tmp_path)
    spec = resolve(document)
    first, *later = build_phases(document, spec)
    assert first.model.n_worlds == 3
    SOLVERS[solver](first.model, spec.solver, RunPlan(1e-3, 1, 2, frozenset(("state",))), live_device(), later)
