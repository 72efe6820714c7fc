"""Accelerations of joints in every solver: of joints that close loops, and of joints that are rows, those of the tree."""

import numpy as np
import pytest
from support.forward import Runner

LOOSE = 2e-3  # relative, of steps of second order of 0.2 ms
ONE_STEP = 2e-2  # of steps of first order, whose accelerations are those of the step before
JOINTS = {
    "revolute": "type: revolute, axis: [0, 1, 0.2], armature: 0.1, damping: 0.2",
    "screw": "type: screw, axis: [0, 1, 0.2], pitch: 0.3",
    "prismatic": "type: prismatic, axis: [1, 0, 0.5]",
    "cylindrical": "type: cylindrical, axis: [1, 0.3, 0]",
    "universal": "type: universal, axes: {angular: [[0, 1, 0], [0, 0, 1]]}",
    "gimbal": "type: d6, axes: {linear: [[1, 0, 0]], angular: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}",
    "ball": "type: ball",
    "planar": "type: planar, axis: [0, 1, 0]",
    "free": "type: free",
}


def chains(loops: bool) -> str:
    """A carrier that turns on the world for each joint, which holds a second body; all fall from rest."""
    bodies, joints = [], []
    for k, (name, words) in enumerate(JOINTS.items()):
        place = f"{{xyz: [0, {3 * k}, 0]}}"
        bodies += [f"  a_{name}: {{mass: 1, inertia: {{diag: [0.1, 0.12, 0.15]}}, pose: {place}}}",
                   f"  b_{name}: {{mass: 0.5, inertia: {{diag: [0.1, 0.05, 0.08]}}, com: [0.1, 0.2, 0], pose: {place}}}"]
        at = f"at: [0.4, {3 * k}, 0.1]"
        joints += [f"  pin_{name}: {{type: revolute, parent: world, child: a_{name}, {at}, axis: [1, 2, 0]}}",
                   f"  {name}: {{{words}, parent: a_{name}, child: b_{name}, at: [-0.3, {3 * k}, 0.2],"
                   f" loop: {str(loops).lower()}}}"]  # fmt: skip
    return "\n".join(("bodies:", *bodies, "joints:", *joints, ""))


def accelerations(text, kind, integrator, device, h):
    runner = Runner(f"{text}solver: {{type: {kind}, dt: 1.0e-3, integrator: {integrator}}}\n", integrator, device,
                    frozenset(("joints",)))  # fmt: skip
    frames = runner(h, round(0.4 / h), 1)
    assert frames["diag/status"].max() == 0
    model = runner.model
    chosen = [j for j, name in enumerate(model.joints.name) if name in JOINTS]
    index = np.concatenate([np.arange(model.joints.qd_start[j], model.joints.qd_start[j + 1]) for j in chosen])
    return [frames[f"frames/joint_{one}"][-1, 0, index] for one in ("qdd", "effort")]


@pytest.fixture(scope="module")
def tree():
    from support.device import live_device

    return accelerations(chains(False), "generalized", "rk4", live_device(), 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "integrator", "loops", "bound"), [
    ("generalized", "rk4", True, LOOSE), ("generalized", "implicit", True, LOOSE),
    ("generalized", "semi_implicit", True, ONE_STEP), ("maximal", "semi_implicit", False, ONE_STEP),
    ("natural", "zhong06", False, LOOSE), ("natural", "moreau", False, ONE_STEP)])  # fmt: skip
def test_accelerations_of_joints_outside_trees_are_those_of_the_tree(tree, device, kind, integrator, loops, bound):
    found = accelerations(chains(loops), kind, integrator, device, 2e-4)
    assert (np.abs(tree[0]) > 0.1).sum() > 18
    for one, wanted in zip(found, tree, strict=True):
        assert np.abs(one - wanted).max() < bound * np.abs(wanted).max(), np.round(np.c_[one, wanted], 4)
