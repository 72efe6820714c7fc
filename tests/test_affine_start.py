"""Frame 0 of affine bodies, one of them kinematic, against the solvers of rigid ones."""

import numpy as np
import pytest
from support.contact_scenes import run
from support.device import live_device
from support.scenes import scene

from simcli.model import build_worlds
from simcli.solvers import SOLVERS, RunPlan
from simcli.solvers.affine.programs import STEPS
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


# Each loop joint that affine has, by a kinematic body and one that is placed a little off and askew.
LOOPS = {"fixed": {}, "revolute": {"axis": [0, 1, 0]}, "prismatic": {"axis": [1, 0, 0]}, "ball": {},
         "cylindrical": {"axis": [0, 1, 0]}, "universal": {"axes": {"angular": [[1, 0, 0], [0, 1, 0]]}},
         "planar": {"axis": [0, 0, 1]}, "distance": {"length": 0.1}}  # fmt: skip
SHIFT = [-0.45, 0.02, 0.05]


@pytest.mark.parametrize("integrator", STEPS)
def test_loops_that_are_written_open_begin_open_and_are_pulled_together(integrator, tmp_path):
    bodies, joints = {}, {}
    for n, (kind, words) in enumerate(LOOPS.items()):
        body = {"mass": 1, "inertia": {"diag": [0.1666] * 3}}
        bodies[f"base_{kind}"] = {**body, "pose": {"xyz": [0, 3 * n, 14]}, "kinematic": True}
        bodies[kind] = {**body, "pose": {"xyz": [1, 3 * n, 14]}}
        joints[kind] = {"type": kind, "parent": f"base_{kind}", "child": kind, "parent_frame": {"xyz": [0.5, 0, 0]},
                        "child_frame": {"xyz": SHIFT, "rpy": [0, 0, 0.05]}, "loop": True, **words}  # fmt: skip
    content = {"simcli": 1, "world": {"gravity": [0, 0, 0]}, "bodies": bodies, "joints": joints,
               "initial": {"assemble": False}, "run": {"duration": 1},
               "solver": {"type": "affine", "dt": 0.01, "integrator": integrator}}  # fmt: skip
    code, seen = run(tmp_path, integrator, content)
    assert code == 0
    for n, kind in enumerate(LOOPS):
        assert seen.body(kind).position[0, 0] == pytest.approx([1, 3 * n, 14], abs=1e-14)
    gaps = seen.diag.position_violation[:, 0]
    assert gaps[0] > 0.05
    assert gaps[-1] < 1e-6
    reach = seen.body("ball").position[-1, 0] - seen.body("base_ball").position[-1, 0] - [0.5, 0, 0]
    assert np.linalg.norm(reach) == pytest.approx(np.linalg.norm(SHIFT), abs=1e-6)


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
