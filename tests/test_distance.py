"""Distance joints of the tree: their links are free, their length is a row."""

import numpy as np
import pytest
from support.forward import model_of

from simcli import rotations as rot
from simcli.solvers import SOLVERS, RunPlan

LENGTH = 1e-9  # [m], tolerance of the projection and what it leaves


@pytest.mark.slow
def test_a_rod_of_the_tree_keeps_its_length(device):
    """A distance joint leaves its link free; its length is a row, in the tree as in a loop."""
    text = """
bodies: {a: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 0, -1]}, velocity: {linear: [1, 0.5, 0]}}}
joints: {rod: {type: distance, parent: world, child: a, length: 1}}
"""
    model, options = model_of(text)
    assert model.joints.is_tree.all()
    solver = SOLVERS["generalized"](model, options, RunPlan(1e-3, 100, 5, frozenset(("state",))), device)
    solver.initial()
    at = solver.advance(5).columns["frames/body_q"][:, 0, 0, :3]
    assert np.abs(at[-1] - [0, 0, -1]).max() > 0.05
    assert np.abs(np.linalg.norm(at, axis=1) - 1).max() < LENGTH


# A rod between an arm that swings and a body that it holds beside its centre of mass; a rope that is taut.
HUNG = """
bodies:
  arm: {mass: 3, inertia: {diag: [0.2, 0.3, 0.4]}, com: [0.4, 0, 0]}
  bob: {mass: 2, inertia: {diag: [0.1, 0.2, 0.15]}, com: [0.05, 0.1, 0], pose: {xyz: [1.5, 0, -0.8], rpy: [0.1, 0.2, 0.3]}}
  tied: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 5, -1]}}
joints:
  pin: {type: revolute, parent: world, child: arm, axis: [0, 1, 0], at: [0, 0, 0], qd: 0.5}
  rod: {type: distance, parent: arm, child: bob, parent_frame: {xyz: [1, 0, 0], rpy: [0.4, 0, 0.2]},
        child_frame: {xyz: [0.1, 0, 0.2]}, length: LENGTH, loop: LOOP}
  rope: {type: distance, parent: world, child: tied, parent_frame: {xyz: [0, 5, 0]}, ROPE, loop: LOOP}
"""
SAME = 2e-3  # relative: of steps of 0.1 ms, and of joints and bodies that give way
SOLVER = {
    "tree": "type: generalized, integrator: rk4",
    "loop": "type: generalized, integrator: rk4",
    "maximal": "type: maximal",
    "natural": "type: natural, integrator: zhong06",
    "affine": "type: affine, integrator: bdf2, stiffness: 1.0e+12, tolerance: 1.0e-11",
}


def efforts_of(name, device):
    """Efforts of the rod and of the rope after 20 ms, without the channel of reactions."""
    ends = rot.quat_to_matrix(rot.quat_from_rpy(np.array([0.1, 0.2, 0.3]))) @ [0.1, 0, 0.2] + [0.5, 0, -0.8]
    text = HUNG.replace("LENGTH", repr(float(np.linalg.norm(ends)))).replace("LOOP", str(name == "loop").lower())
    text = text.replace("ROPE", "length: 1" if name == "affine" else "limit: [0, 1]")  # affine bodies have no ropes
    model, options = model_of(f"{text}solver: {{{SOLVER[name]}, dt: 1.0e-4}}\n")
    solver = SOLVERS[options.type](model, options, RunPlan(1e-4, 200, 1, frozenset(("joints",))), device)
    solver.initial()
    effort = solver.advance(1).columns["frames/joint_effort"][-1, 0]
    first = [model.joints.qd_start[model.joints.name.index(joint)] for joint in ("rod", "rope")]
    return np.concatenate([effort[at : at + 6] for at in first])


@pytest.mark.slow
def test_the_effort_of_a_distance_is_the_same_in_every_solver(device, scalar_code):
    found = {name: efforts_of(name, device) for name in SOLVER}
    size = np.abs(found["tree"])
    assert (size[:6] > 1e-2).all()
    assert size[8] == pytest.approx(9.81, rel=SAME)
    for name, effort in found.items():
        np.testing.assert_allclose(effort, found["tree"], atol=SAME * size.max(), err_msg=name)
