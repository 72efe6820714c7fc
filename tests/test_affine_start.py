"""Frame 0 of affine bodies, one of them kinematic, against the solvers of rigid ones."""

import numpy as np
import pytest
from support.device import live_device
from support.scenes import scene

from simcli.model import build_worlds
from simcli.solvers import SOLVERS, RunPlan
from simcli.solvers.shared.core import ENERGY
from simcli.spec import resolve

# A carrier that moves as prescribed, an arm that it drags, and a tip with a spring and a wrench.
SCENE = """
world: {gravity: [0, 0, -9.81]}
bodies:
  carrier: {pose: {xyz: [0, 0, 14]}, kinematic: true, motion: {angular: [0, 0.5, 0]}}
  arm: {pose: {xyz: [0.6, 0, 14]}, mass: 64, inertia: {diag: [1.7, 1.7, 1.7]}}
  tip: {pose: {xyz: [1.2, 0, 14]}, com: [0.1, 0, 0], mass: 4, inertia: {diag: [0.7, 0.6, 0.5]}}
joints:
  hinge: {type: revolute, parent: carrier, child: arm, at: [0, 0, 14], axis: [0, 1, 0], qd: 1, damping: 3}
  elbow: {type: revolute, parent: arm, child: tip, at: [1, 0, 14], axis: [0, 1, 0], qd: 1, armature: 0.3}
forces:
  cord: {type: spring, a: {world: [1, 0, 12]}, b: {body: tip, at: [0.2, 0, 0]}, stiffness: 50, damping: 8, rest_length: 1}
  push: {type: wrench, body: tip, force: [1, 2, 3]}
"""
H = 1e-3
EXACT = 1e-9  # relative, of a state that is the same one
TRIED = 1e-2  # relative, of a step of 1 ms with joints that give way by a hundredth of what they hold off
STATE = ("body_q", "body_qd", "joint_q", "joint_qd")
OTHERS = {"generalized": "rk4", "maximal": "semi_implicit", "natural": "zhong06"}


def frame_0(kind, words, device):
    document = scene(f"{SCENE}solver: {{type: {kind}, dt: {H}, {words}}}\n")
    spec = resolve(document)
    plan = RunPlan(H, 1, 1, frozenset(("joints", "bodies", "energy", "reactions")))
    columns = SOLVERS[kind](build_worlds(document, spec), spec.solver, plan, device).initial().columns
    return {name.removeprefix("frames/"): column[0, 0] for name, column in columns.items()}


@pytest.fixture(scope="module")
def affine(scalar_code):
    return frame_0("affine", "integrator: bdf2, tolerance: 1.0e-10, stiffness: 1.0e+12", live_device())


@pytest.mark.parametrize("kind", [
    "generalized", *(pytest.param(name, marks=pytest.mark.slow) for name in list(OTHERS)[1:])])  # fmt: skip
def test_frame_0_is_that_of_the_other_solvers(affine, device, kind):
    """The state and its energies; accelerations and reactions of the step that is tried from there."""
    other = frame_0(kind, f"integrator: {OTHERS[kind]}", device)
    for name in (*STATE, *(f"energy/{part}" for part in ENERGY)):
        np.testing.assert_allclose(affine[name], other[name], rtol=EXACT, atol=EXACT, err_msg=name)
    for name in ("joint_qdd", "joint_wrench"):
        scale = np.abs(other[name]).max()
        assert scale > 10.0
        np.testing.assert_allclose(affine[name], other[name], atol=TRIED * scale, err_msg=name)
    assert affine["diag/position_violation"] < EXACT
    assert affine["diag/residual"] == affine["diag/iterations"] == 0.0
