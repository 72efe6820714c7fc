"""Body Jacobians by differences, ranks of loops with known mobility, and the texts made of them."""

import json

import numpy as np
import pytest
from support.random_models import TREE_TYPES, random_body, random_mechanism, random_model

from simcli import rotations as rot
from simcli.model import describe
from simcli.model.assemble import assemble
from simcli.model.joints.catalogue import CATALOGUE
from simcli.model.mechanism import JointPart, Mechanism
from simcli.model.tables import WORLD
from simcli.model.tree.mobility import body_jacobian, loop_ranks
from simcli.model.tree.reference import body_poses

STEP = 1e-6
DIFFERENCE = 1e-7
Z = np.array([[0.0, 0.0, 1.0]])


@pytest.mark.parametrize("inverted", [False, True])
def test_body_jacobian_is_the_rate_of_the_poses(inverted):
    types = [name for name in TREE_TYPES if CATALOGUE[name].coordinates == "scalars"]
    mechanism = random_mechanism(np.random.default_rng(3), 8, types=types, floating=False)
    if inverted:
        for part in mechanism.joints[1:]:
            part.parent, part.child = part.child, part.parent
    model = assemble(mechanism)
    J = body_jacobian(model)
    R0, _ = body_poses(model, model.joint_q)
    for i in range(model.n_qd):
        states = []
        for sign in (1, -1):
            q = model.joint_q.copy()
            q[0, i] += sign * STEP
            R, x = body_poses(model, q)
            states.append((R[:, 0], x[:, 0] + rot.turn(R[:, 0], model.bodies.com[0])))
        velocity = (states[0][1] - states[1][1]) / (2 * STEP)
        spin = (states[0][0] - states[1][0]) @ rot.transpose(R0[:, 0]) / (2 * STEP)
        omega = np.stack((spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]), axis=-1)
        assert np.abs(J[:, :3, i] - velocity).max() < DIFFERENCE
        assert np.abs(J[:, 3:, i] - omega).max() < DIFFERENCE


def pose_at(x, y):
    return np.array([[x, y, 0.0, 0, 0, 0, 1.0]])


def four_bar(closing="revolute", axes=(Z, Z, Z, Z)):
    """Planar four-bar: crank, coupler, rocker; the last joint closes the loop."""
    bodies = [random_body(np.random.default_rng(k), name) for k, name in enumerate(("crank", "coupler", "rocker"))]
    pins = [(WORLD, 0, (0, 0), (0, 0)), (0, 1, (0, 1), (0, 0)), (1, 2, (2, 0), (0, 0)), (WORLD, 2, (2, 0), (0, -1))]
    joints = []
    for k, (parent, child, at_parent, at_child) in enumerate(pins):
        entry = CATALOGUE[closing if k == 3 else "revolute"]
        joints.append(JointPart(f"pin{k}", entry.kind, parent, child, entry.motion(axis=axes[k]), pose_at(*at_parent),
                                pose_at(*at_child), is_tree=k < 3))  # fmt: skip
    return assemble(Mechanism(bodies, joints))


@pytest.mark.parametrize(("closing", "dof", "redundant"), [("revolute", 1, 3), ("ball", 1, 1), ("cylindrical", 1, 2)])
def test_four_bar_moves_with_one_degree_of_freedom(closing, dof, redundant):
    """Planar loop in space: Gruebler's 3 * 3 - 2 * 4 = 1; out-of-plane rows say nothing new."""
    data = describe.freedom(four_bar(closing))
    assert data["tree_dofs"] == 3
    assert data["dof"] == dof
    assert data["redundant"] == [{"joint": "pin3", "rows": redundant, "with": []}]


def test_crossed_axes_lock_the_four_bar():
    data = describe.freedom(four_bar(axes=(Z, Z, Z, np.array([[1.0, 0.0, 0.0]]))))
    assert data["dof"] == 0


def test_trees_have_no_loops():
    model = random_model(np.random.default_rng(1), 9)
    assert loop_ranks(model) == []
    assert describe.freedom(model)["dof"] == model.n_qd


def test_descriptions_are_json_and_name_everything():
    model = four_bar()
    data = {"tree": describe.tree(model), "layout": describe.layout(model), "freedom": describe.freedom(model)}
    assert json.loads(json.dumps(data)) == data
    text = "\n".join(describe.tree_lines(model) + describe.layout_lines(model) + describe.freedom_lines(model))
    for name in (*model.joints.name, *model.bodies.name):
        assert name in text
    assert "      pin2 (revolute) -> rocker" in text


def test_layout_covers_the_coordinates_in_order():
    model = random_model(np.random.default_rng(5), 15)
    data = describe.layout(model)
    assert [row["index"] for row in data["joint_q"]] == list(range(model.n_q))
    assert [row["index"] for row in data["joint_qd"]] == list(range(model.n_qd))
    assert {row["unit"] for row in data["joint_q"]} <= {"m", "rad", "1"}
