"""Flat bodies in contact in natural coordinates, where masses vanish; what contact does not take is refused; tables."""

import numpy as np
import pytest
from support.forward import Runner, model_of
from support.scenes import faults_of

from simcli.model.natural.form import natural_form
from simcli.model.state import State

GRAVITY = 9.81
FIRST_ORDER = 1.0  # [m/s]: a third of the speed of a fall
SOLVER = "solver: {type: natural, dt: 1.0e-3, integrator: moreau}\n"
# A plate on three feet that slides and spins on the ground; its inertias make it flat.
PLATE = """
world: {shapes: {ground: {type: plane, material: rubber}}}
materials: {rubber: {friction: MU}}
bodies:
  plate:
    mass: 2
    inertia: {diag: [0.04, 0.03, 0.07]}
    pose: {xyz: [0, 0, 0.05]}
    velocity: {linear: [1, 0, 0], angular: [0, 0, SPIN]}
    shapes:
      a: {type: sphere, radius: 0.05, pose: {xyz: [0.3, 0.2, 0]}, material: rubber}
      b: {type: sphere, radius: 0.05, pose: {xyz: [-0.3, 0.2, 0]}, material: rubber}
      c: {type: sphere, radius: 0.05, pose: {xyz: [0, -0.3, 0]}, material: rubber}
"""
ROD = """
world: {shapes: {ground: {type: plane}}}
bodies:
  rod: {mass: 1, inertia: {diag: [0, 0.1, 0.1]}, pose: {xyz: [0, 0, 1]}, shapes: {s: {type: sphere, radius: 0.1}}}
"""


@pytest.mark.slow
def test_a_flat_plate_slides_to_rest(device):
    h, mu, time = 1e-3, 0.2, 0.2
    runner = Runner(PLATE.replace("MU", str(mu)).replace("SPIN", "0") + SOLVER, "moreau", device)
    one = runner(h, round(time / h), 1)
    slowed = mu * GRAVITY * time
    assert one["diag/status"].max() == 0
    assert one["frames/body_qd"][-1, 0, 0] == pytest.approx([1 - slowed, 0, 0, 0, 0, 0], abs=1e-6)
    assert one["frames/body_q"][-1, 0, 0, 0] == pytest.approx(time - 0.5 * slowed * time, abs=slowed * h)
    assert one["energy/dissipated"][-1, 0] == pytest.approx(1 - (1 - slowed) ** 2, abs=1e-6)
    assert abs(one["energy/drift"][-1, 0]) < 1e-8


@pytest.mark.slow
def test_a_flat_plate_falls_as_in_maximal_coordinates(device):
    """From heights and tilted: the mean of where plates come to rest differs by order one in the step.

    Each plate alone does not: where in a step a foot lands decides how friction shares the impulse of two steps, 1 mm.
    """
    heights = 0.5 + 0.012 * np.arange(16) / 16  # of a few steps of falling, at 3 m/s
    text = PLATE.replace("MU", "0.5").replace("SPIN", "3").replace("[0, 0, 0.05]", "[0, 0, '${z}'], rpy: [0.3, 0.2, 0]")
    text += f"params: {{z: 0.5}}\nbatch: {{worlds: {len(heights)}, vary: {{params.z: {{list: {heights.tolist()}}}}}}}\n"
    runners = [Runner(text + solver, integrator, device) for solver, integrator in (
        (SOLVER, "moreau"), ("solver: {type: maximal, dt: 1.0e-3}\n", "semi_implicit"))]
    for h in (2e-3, 1e-3, 5e-4):
        found = [runner(h, round(0.6 / h), 1) for runner in runners]
        assert all(one["diag/status"].max() == 0 for one in found)
        rest, other = (one["frames/body_q"][-1, :, 0].mean(axis=0) for one in found)
        assert np.abs(rest - other).max() < FIRST_ORDER * h


def test_a_rod_that_contact_would_spin_is_refused():
    found = faults_of(ROD + SOLVER)
    assert [code for code, _, _ in found] == ["SC452"], found
    assert "no inertia about its axis" in found[0][2]


def test_a_joint_that_leads_a_kinematic_body_cannot_yield():
    found = faults_of("""bodies: {k: {kinematic: true}}
joints: {j: {type: revolute, parent: world, child: k, at: [0, 0, 0], motion: {velocity: 1}, loop: false, compliance: 0.01}}
""" + SOLVER)
    assert [code for code, _, _ in found] == ["SC470"], found
    assert "`compliance` would be ignored" in found[0][2]


@pytest.mark.parametrize(("told", "worlds"), [
    ("inertia: {diag: [0.1, 0.1, 0.1]}", 1), ("inertia: point, natural: {kind: 1P}", 2)])  # fmt: skip
def test_starts_that_differ_between_worlds_change_no_table(told, worlds):
    """Vectors tell the attitude of a body; where it has none, nothing tells it, and it stays as it begins."""
    vary = "{'bodies.b.pose.rpy[1]': {list: [0.1, 0.4]}}"
    model, _ = model_of(f"bodies: {{b: {{mass: 1, {told}, pose: {{rpy: [0, 0.1, 0]}}}}}}\n"
                        f"batch: {{worlds: 2, vary: {vary}}}\nsolver: {{type: natural}}\n")  # fmt: skip
    links = natural_form(model, State.of(model)).links
    assert len(links.body_rotation) == len(links.body_offset) == worlds
