"""Templates, replicas and defaults written out, and the tree that joints make."""

import pytest
from support.all_keys import BODY, HEAD, ROUNDING, codes, document, resolve_ignoring

from simcli.spec import resolve
from simcli.spec.names import structure

TEMPLATE = (
    HEAD
    + """\
params: {s: 2}
models:
  link:
    params: {len: 1, m: "${2*len}"}
    bodies:
      tip: {mass: "${m}", inertia: {diag: [1, 1, 1]}, pose: {xyz: ["${len}", 0, 0]}, points: {p: [0, 0, 0]}}
    joints:
      hinge: {type: revolute, parent: world, child: tip, at: [0, 0, 0]}
      weld: {type: prismatic, parent: world, child: tip, parent_frame: {xyz: ["${len}", 0, 0]}, loop: true}
    forces:
      pull: {type: spring, a: {world: [0, 0, 1]}, b: tip/p, stiffness: "${s}"}
      turn: {type: torque, joint: hinge, value: 1}
      push: {type: wrench, body: tip, force: [1, 0, 0]}
  pair:
    instances: {one: {model: link, at: {xyz: [0, 0, 1]}}, two: {model: link, params: {len: 3}}}
"""
)


def test_an_instance_is_moved_and_renamed(tmp_path):
    text = (
        TEMPLATE + "instances: {left: {model: link, at: {xyz: [0, 1, 0], rpy: [0, 0, 90 deg]}, params: {len: '${s/4}'}}}\n"
    )
    spec = resolve_ignoring(tmp_path, text)
    body = spec.bodies["left/tip"]
    assert body.mass == 1.0
    assert body.pose.xyz == pytest.approx((0, 1.5, 0), abs=ROUNDING)
    hinge, weld = spec.joints["left/hinge"], spec.joints["left/weld"]
    assert (hinge.parent, hinge.child) == ("world", "left/tip")
    assert hinge.at == pytest.approx((0, 1, 0), abs=ROUNDING)
    assert hinge.axis == pytest.approx((0, 1, 0), abs=ROUNDING)
    assert weld.parent_frame.xyz == pytest.approx((0, 1.5, 0), abs=ROUNDING)
    assert weld.axis is None
    pull, turn, push = (spec.forces[f"left/{name}"] for name in ("pull", "turn", "push"))
    assert (pull.b.body, pull.b.point, pull.stiffness) == ("left/tip", "p", 2)
    assert pull.a.world == pytest.approx((0, 1, 1), abs=ROUNDING)
    assert turn.joint == "left/hinge"
    assert push.body == "left/tip"
    assert push.force == pytest.approx((0, 1, 0), abs=ROUNDING)


def test_replicas_and_nested_models(tmp_path):
    text = (
        TEMPLATE
        + """\
replicate:
  grid: {model: pair, count: [2, 1, 2], spacing: [10, 0, 100]}
  row: {model: link, count: 2, spacing: [1, 0, 0]}
"""
    )
    spec = resolve_ignoring(tmp_path, text)
    assert len(spec.bodies) == 2 * 4 + 2
    assert spec.bodies["grid/1-0-1/one/tip"].pose.xyz == (11, 0, 101)
    assert spec.bodies["grid/0-0-0/two/tip"].mass == 6
    assert spec.bodies["row/1-0-0/tip"].pose.xyz == (2, 0, 0)


def test_overrides_of_expanded_names(tmp_path):
    text = TEMPLATE + "instances: {left: {model: link}, right: {model: link}}\n"
    sets = ["joints.left/hinge.damping=0.5", "params.s=7", "instances.right.params={len: 5}"]
    doc = document(tmp_path, text.replace(", loop: true", "").replace("      weld", "      # weld"), sets)
    spec = resolve(doc)
    assert spec.joints["left/hinge"].damping == (0.5,)
    assert spec.joints["right/hinge"].damping == (0.0,)
    assert spec.bodies["right/tip"].mass == 10
    assert spec.forces["left/pull"].stiffness == 7
    assert codes(tmp_path, text, ["joints.up/hinge.damping=1"]) >= {"SC301"}


def test_defaults_fill_what_is_not_written(tmp_path):
    text = (
        HEAD
        + """\
materials: {steel: {density: 10}}
defaults: {joint: {damping: 0.25, axis: [0, 0, 1]}, shape: {material: steel}, body: {com: [1, 2, 3]}}
bodies:
  a: {shapes: {s: {type: sphere, radius: 1}}}
  b: {shapes: {s: {type: sphere, radius: 1, density: 2}}, com: [0, 0, 0]}
joints: {j: {type: revolute, parent: world, child: a}, k: {type: ball, parent: a, child: b, damping: 1}}
contact: {enabled: false}
"""
    )
    spec = resolve(document(tmp_path, text))
    assert spec.bodies["a"].com == (1, 2, 3)
    assert spec.bodies["b"].com == (0, 0, 0)
    assert spec.bodies["a"].shapes["s"].material == "steel"
    assert (spec.joints["j"].damping, spec.joints["j"].axis) == ((0.25,), (0, 0, 1))
    assert spec.joints["k"].damping == (1, 1, 1)


def graph(tmp_path, bodies, joints, more=""):
    entries = "\n".join(f"  {name}: {BODY}" for name in bodies)
    lines = "\n".join(f"  {name}: {{type: {kind}, parent: {a}, child: {b}{extra}}}" for name, kind, a, b, extra in joints)
    return resolve_ignoring(tmp_path, HEAD + f"bodies:\n{entries}\njoints:\n{lines}\n{more}")


def test_tree_of_a_loop(tmp_path):
    """A four-bar linkage: breadth first from the world, the last joint met closes the loop."""
    joints = [("a", "revolute", "world", "A", ""), ("b", "revolute", "A", "B", ""), ("c", "revolute", "B", "C", ""),
              ("d", "revolute", "world", "C", "")]  # fmt: skip
    tree = structure.tree(graph(tmp_path, "ABC", joints))
    assert tree.tree_joints == ("a", "d", "b")
    assert tree.loop_joints == ("c",)
    assert tree.free_bodies == ()


def test_tree_of_floating_bodies(tmp_path):
    joints = [("j", "revolute", "B", "A", ""), ("k", "revolute", "B", "C", "")]
    tree = structure.tree(graph(tmp_path, "ABCD", joints))
    assert tree.tree_joints == ("j", "k")
    assert tree.free_bodies == ("B", "D")


def test_a_circle_of_parents_has_one_free_body(tmp_path):
    joints = [("j", "revolute", "A", "B", ""), ("k", "revolute", "B", "A", "")]
    tree = structure.tree(graph(tmp_path, "AB", joints))
    assert (tree.tree_joints, tree.loop_joints, tree.free_bodies) == (("j",), ("k",), ("A",))


def test_distance_joints_come_last(tmp_path):
    rod = ", length: 1"
    joints = [("rod", "distance", "world", "B", rod), ("j", "revolute", "world", "A", ""), ("k", "revolute", "A", "B", ""),
              ("tie", "distance", "B", "C", rod), ("l", "revolute", "C", "D", "")]  # fmt: skip
    tree = structure.tree(graph(tmp_path, "ABCD", joints))
    assert tree.loop_joints == ("rod",)
    assert set(tree.tree_joints) == {"j", "k", "tie", "l"}
    assert tree.free_bodies == ()


def test_declared_loops_and_cables_are_never_tree(tmp_path):
    joints = [("j", "revolute", "world", "A", ", loop: true"), ("c", "cable", "world", "B", ", bend: 1")]
    tree = structure.tree(graph(tmp_path, "AB", joints))
    assert tree.free_bodies == ("A", "B")
    assert tree.loop_joints == ("j", "c")
