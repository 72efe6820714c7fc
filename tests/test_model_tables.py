"""Columns that the row solver reads: compliance, gears, what acts on dofs of every joint type, and what was written."""

import numpy as np
import pytest
from support.scenes import scene

from simcli.errors import SceneError
from simcli.model import build, build_worlds
from simcli.model.tables.model import DriveMode
from simcli.spec import resolve, resolved_yaml
from simcli.spec.base import dofs

EXACT = 1e-14
MASS = "mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}"
# Every type with scalar dofs or a quaternion, with what it cannot do without.
DRIVABLE = {
    "revolute": "",
    "prismatic": "",
    "ball": "",
    "d6": "axes: {linear: [[1, 0, 0]], angular: [[0, 1, 0], [0, 0, 1]]}",
    "universal": "axes: {angular: [[1, 0, 0], [0, 1, 0]]}",
    "cylindrical": "",
    "planar": "",
    "screw": "pitch: 0.1",
}
pytestmark = pytest.mark.usefixtures("all_supported")


def built(text):
    document = scene(text)
    return build(resolve(document), document)


def codes_of(text):
    with pytest.raises(SceneError) as caught:
        built(text)
    return [(fault.code, fault.where.path) for fault in caught.value.faults]


def every(count, make):
    return "[" + ", ".join(make(k) for k in range(count)) + "]"


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("type_name", DRIVABLE)
def test_what_acts_on_dofs_is_read_for_every_type(type_name, loop):
    axes = {"d6": (1, 2), "universal": (0, 2)}.get(type_name, (0, 0))
    n = len(dofs.kinds(type_name, *axes))
    joint = f"type: {type_name}, parent: world, child: a, at: [0, 0, 0], {DRIVABLE[type_name]}".rstrip(", ")
    limits = every(n, lambda k: f"{{lower: -{k + 1}, upper: {k + 2}, stiffness: {k + 3}, damping: {k + 4}}}")
    drive = "{{mode: position_velocity, target: {}, target_velocity: {}, stiffness: {}, damping: {}, effort_limit: {}}}"
    drives = every(n, lambda k: drive.format(*(k + m for m in range(5, 10))))
    values = ", ".join(
        f"{key}: {every(n, lambda k, m=m: str(k + m))}"
        for m, key in ((10, "damping"), (11, "friction"), (12, "armature"), (13, "velocity_limit"))
    )
    extra = f"loop: {str(loop).lower()}, limit: {limits}, drive: {drives}, {values}, compliance: 1e-5"
    model = built(f"bodies: {{a: {{{MASS}}}}}\njoints: {{j: {{{joint}, {extra}}}}}")
    k = np.arange(n)
    expected = {
        "limit_lower": -k - 1,
        "limit_upper": k + 2,
        "limit_stiffness": k + 3,
        "limit_damping": k + 4,
        "drive_target": k + 5,
        "drive_target_velocity": k + 6,
        "drive_stiffness": k + 7,
        "drive_damping": k + 8,
        "effort_limit": k + 9,
        "damping": k + 10,
        "friction": k + 11,
        "armature": k + 12,
        "velocity_limit": k + 13,
    }
    for column, value in expected.items():
        assert getattr(model.dofs, column)[0, :n].tolist() == value.tolist(), column
    assert (model.dofs.drive_mode[:n] == DriveMode.POSITION_VELOCITY).all()
    assert model.joints.compliance[0].tolist() == [1e-5] + [0.0] * loop  # the free joint that the loop leaves behind
    assert model.joints.is_tree[0] != loop


def test_values_of_single_axes_stand_at_their_dofs():
    model = built(f"""
bodies: {{a: {{{MASS}}}}}
joints:
  j: {{type: d6, parent: world, child: a, damping: 0.5, axes: {{
       linear: [{{axis: [1, 0, 0], limit: [-1, 2], friction: 3}}, [0, 1, 0]],
       angular: [{{axis: [0, 0, 1], drive: {{mode: velocity, target_velocity: 4, damping: 5, effort_limit: 6}},
                   velocity_limit: 7, armature: 8, damping: 9}}]}}}}
""")
    assert model.dofs.limit_lower[0].tolist() == [-1, -np.inf, -np.inf]
    assert model.dofs.limit_upper[0].tolist() == [2, np.inf, np.inf]
    assert model.dofs.friction[0].tolist() == [3, 0, 0]
    assert model.dofs.damping[0].tolist() == [0.5, 0.5, 9]
    assert model.dofs.armature[0].tolist() == [0, 0, 8]
    assert model.dofs.drive_mode.tolist() == [DriveMode.NONE, DriveMode.NONE, DriveMode.VELOCITY]
    assert model.dofs.effort_limit[0].tolist() == [np.inf, np.inf, 6]
    assert model.dofs.velocity_limit[0].tolist() == [np.inf, np.inf, 7]


@pytest.mark.parametrize(
    ("written", "length", "stiffness"),
    [
        ("length: 0.4", [0.4, 0.4], 0.0),
        ("limit: [0.1, 0.5]", [0.1, 0.5], 0.0),
        ("limit: {upper: 0.5, stiffness: 90, damping: 2}", [np.nan, 0.5], 90.0),
        ("limit: {lower: 0.1}", [0.1, np.nan], 0.0),
        ("limit: [0, 0.5]", [np.nan, 0.5], 0.0),
    ],
)
def test_bounds_of_a_distance(written, length, stiffness):
    model = built(f"""
bodies: {{a: {{pose: {{xyz: [0, 0, 0.3]}}, {MASS}}}}}
joints: {{rod: {{type: distance, parent: world, child: a, {written}}}}}
""")
    assert np.array_equal(model.joints.length[0, 0], length, equal_nan=True)
    assert model.dofs.limit_stiffness[0].tolist() == [stiffness, 0, 0, 0, 0, 0]
    assert np.isinf(model.dofs.limit_lower).all()
    assert np.isinf(model.dofs.limit_upper).all()
    assert model.joints.name == ("rod",)
    assert model.joint_q[0, :3].tolist() == [0, 0, 0.4 if length[0] == length[1] else 0.3]  # which one length keeps


CHAIN = """
bodies: {{a: {{{mass}}}, b: {{{mass}}}, c: {{{mass}}}}}
defaults: {{joint: {{at: [0, 0, 0], axis: [0, 0, 1]}}}}
joints:
  last: {{type: revolute, parent: b, child: c, mimic: {{joint: mid, ratio: 3, offset: 0.5}}, {last}}}
  first: {{type: revolute, parent: world, child: a, q: 0.2, qd: 1.5, {first}}}
  mid: {{type: prismatic, parent: a, child: b, mimic: {{joint: first, ratio: -2, offset: 1}}, {mid}}}
"""


def chain(last="", first="", mid=""):
    return CHAIN.format(mass=MASS, last=last, first=first, mid=mid)


def test_followers_start_where_their_gears_say():
    model = built(chain())
    by_name = dict(zip(model.joints.name, model.joint_q[0], strict=True))
    assert by_name["first"] == 0.2
    assert by_name["mid"] == pytest.approx(-2 * 0.2 + 1, abs=EXACT)
    assert by_name["last"] == pytest.approx(3 * 0.6 + 0.5, abs=EXACT)
    assert np.allclose(model.joint_qd[0], [-9, 1.5, -3], rtol=EXACT)
    mimics = model.mimics
    assert [(mimics.name[k], mimics.follower[k], mimics.leader[k]) for k in range(2)] == [("last", 0, 2), ("mid", 2, 1)]
    assert mimics.ratio[0].tolist() == [3, -2]
    assert mimics.offset[0].tolist() == [0.5, 1]
    assert model.dofs.q_given.tolist() == [False, True, False]
    assert model.dofs.qd_given.tolist() == [False, True, False]


def test_gears_of_several_dofs_are_dof_by_dof():
    model = built(f"""
bodies: {{a: {{{MASS}}}, b: {{{MASS}}}}}
joints:
  one: {{type: cylindrical, parent: world, child: a, at: [0, 0, 0], q: [1, 2]}}
  two: {{type: cylindrical, parent: world, child: b, at: [0, 0, 0], mimic: {{joint: one, ratio: 0.5}}}}
""")
    assert model.mimics.name == ("two:0", "two:1")
    assert model.mimics.follower.tolist() == [2, 3]
    assert model.mimics.leader.tolist() == [0, 1]
    assert model.joint_q[0].tolist() == [1, 2, 0.5, 1]


@pytest.mark.parametrize(
    ("written", "agrees"),
    [("q: 0.6", True), ("q: 0.6000000001", True), ("q: 0.60001", False), ("qd: -3", True), ("qd: 0", False)],
)
def test_a_written_start_of_a_follower_agrees(written, agrees):
    if agrees:
        model = built(chain(mid=written))
        assert model.joint_q[0, 2] == pytest.approx(0.6, abs=EXACT)
    else:
        assert codes_of(chain(mid=written)) == [("SC465", f"joints.mid.{written.split(':')[0]}")]
        beaten = chain() + f"initial: {{joint_{written.split(':')[0]}: {{mid: 7}}}}"
        assert [code for code, _ in codes_of(beaten)] == ["SC465"]


PAIR = f"""
bodies: {{a: {{{MASS}}}, b: {{{MASS}}}}}
joints:
  one: {{type: %s, parent: world, child: a, at: [0, 0, 0]%s}}
  two: {{type: %s, parent: world, child: b, at: [0, 0, 0], mimic: {{joint: %s}}}}
"""


@pytest.mark.parametrize(
    ("one", "extra", "two", "leader", "code"),
    [
        ("revolute", "", "revolute", "three", "SC305"),
        ("revolute", "", "revolute", "two", "SC411"),
        ("cylindrical", "", "revolute", "one", "SC464"),
        ("revolute", ", mimic: {joint: two}", "revolute", "one", "SC464"),
        ("ball", "", "ball", "one", "SC464"),
        ("fixed", "", "revolute", "one", "SC464"),
        ("free", "", "revolute", "one", "SC464"),
    ],
)
def test_gears_that_cannot_turn(one, extra, two, leader, code):
    (fault,) = codes_of(PAIR % (one, extra, two, leader))
    assert fault[0] == code
    assert ".mimic" in fault[1]


def test_a_circle_of_three_is_one_fault():
    text = chain(first="mimic: {joint: last}")
    assert codes_of(text) == [("SC464", "joints.last.mimic")]


def test_ratios_may_differ_between_worlds():
    document = scene(
        chain() + "batch: {worlds: 3, vary: {joints.mid.mimic.ratio: {list: [1, 2, 3]}, "
        "joints.first.q: {list: [0.1, 0.2, 0.3]}}}"
    )
    model = build_worlds(document, resolve(document))
    assert model.mimics.ratio[:, 1].tolist() == [1, 2, 3]
    assert np.allclose(model.joint_q[:, 2], [1.1, 1.4, 1.9], rtol=EXACT)


def test_what_was_written_of_the_start():
    text = f"""
bodies:
  a: {{{MASS}}}
  b: {{{MASS}}}
  moving: {{velocity: {{linear: [0, 0, 0]}}, {MASS}}}
  resting: {{{MASS}}}
joints:
  one: {{type: revolute, parent: world, child: a, at: [0, 0, 0], q: 0, qd: 0, limit: [0, 1]}}
  two: {{type: ball, parent: a, child: b, at: [0, 0, 0]}}
initial: {{joint_q: {{moving_free: [0, 0, 0, 0, 0, 0, 1]}}, joint_qd: {{two: [0, 0, 0]}}}}
"""
    model = built(text)
    given = {name: model.dofs.qd_given[model.dofs.joint == j].tolist() for j, name in enumerate(model.joints.name)}
    assert given == {"one": [True], "two": [True] * 3, "moving_free": [True] * 3 + [False] * 3, "resting_free": [False] * 6}
    given = {name: model.dofs.q_given[model.dofs.joint == j].all() for j, name in enumerate(model.joints.name)}
    assert given == {"one": True, "two": False, "moving_free": True, "resting_free": False}
    again = built(resolved_yaml(resolve(scene(text))).removeprefix("simcli: 1\n"))
    assert again.dofs.qd_given.tolist() == model.dofs.qd_given.tolist()
    assert built(
        text.replace("qd: 0,", "").replace("q: 0,", "").replace("moving_free: [", "one: center, moving_free: [")
    ).dofs.q_given[0]


SWITCHED = f"""
bodies:
  a: {{{MASS}}}
  b: {{{MASS}}}
  c: {{pose: {{xyz: [0, 0, 5]}}, {MASS}}}
joints:
  pin: {{type: revolute, parent: world, child: a, parent_frame: {{xyz: [0, 0, 1]}}, axis: [0, 0, 1]%s}}
  arm: {{type: revolute, parent: a, child: b, parent_frame: {{xyz: [1, 0, 0]}}, child_frame: {{xyz: [-1, 0, 0]}}}}
  end: {{type: fixed, parent: b, child: c, at: [0, 0, 5]}}
%s
"""


@pytest.mark.parametrize(
    ("mark", "more"),
    [
        (", enabled: false", ""),
        ("", "events: [{at: 0.5, set: {joints.pin.enabled: false}}]"),
        (", enabled: false", "events: [{at: 0.5, set: {joints.pin.enabled: true}}]"),
        (", loop: true", ""),
    ],
)
def test_joints_that_can_be_off_are_no_tree_joints(mark, more):
    model = built(SWITCHED % (mark, more))
    tree = {name: bool(flag) for name, flag in zip(model.joints.name, model.joints.is_tree, strict=True)}
    assert tree == {"pin": False, "arm": True, "end": True, "a_free": True}
    assert model.joints.enabled[0] == ("enabled: false" not in mark)
    assert model.joints.enabled[1:].all()
    assert np.allclose(model.bodies.q[0, :2, :3], [[0, 0, 1], [2, 0, 1]], atol=EXACT)  # where the joint would hold them


def test_events_on_other_fields_leave_the_tree_alone():
    model = built(SWITCHED % ("", "events: [{at: 0.5, set: {joints.pin.damping: 2}}]"))
    assert model.joints.is_tree.all()


def test_a_switched_joint_may_place_its_child_behind_another():
    """Bodies without a pose follow joints outside the tree from the world outwards, whatever their order."""
    model = built(f"""
bodies: {{far: {{{MASS}}}, near: {{{MASS}}}, lost: {{{MASS}}}, one: {{{MASS}}}, two: {{{MASS}}}}}
defaults: {{joint: {{loop: true}}}}
joints:
  second: {{type: prismatic, parent: near, child: far, parent_frame: {{xyz: [0, 2, 0]}}, init_angle: 0.5}}
  first: {{type: ball, parent: world, child: near, parent_frame: {{xyz: [0, 0, 3]}}, child_frame: {{xyz: [1, 0, 0]}}}}
  round: {{type: ball, parent: one, child: two, parent_frame: {{xyz: [1, 0, 0]}}}}
  about: {{type: ball, parent: two, child: one, parent_frame: {{xyz: [0, 1, 0]}}}}
""")
    at = dict(zip(model.bodies.name, model.bodies.q[0, :, :3].tolist(), strict=True))
    assert at == {"near": [-1, 0, 3], "far": [-1, 2, 3], "lost": [0, 0, 0], "one": [0, 0, 0], "two": [1, 0, 0]}


@pytest.mark.parametrize(
    ("start", "path"),
    [
        ("q: 0.3", "joints.j.q"),
        ("qd: 1", "joints.j.qd"),
        ("limit: [-1, 2]}}\ninitial: {joint_q: {j: center", "initial.joint_q.j"),
        ("damping: 0}}\ninitial: {joint_qd: {'j*': 2", "initial.joint_qd.j*"),
    ],
)
def test_a_loop_joint_takes_no_start(start, path):
    text = f"bodies: {{a: {{{MASS}}}}}\njoints: {{j: {{type: revolute, parent: world, child: a, loop: true, {start}}}}}"
    assert codes_of(text) == [("SC466", path)]
    neutral = built(text.replace(start, "q: 0, qd: 0, init_angle: 0.25"))
    assert neutral.joint_q[0, 0] == 0.25
    assert not neutral.dofs.qd_given.any()


def test_a_loop_quaternion_may_be_the_identity():
    text = "bodies: {a: {%s}}\njoints: {j: {type: ball, parent: world, child: a, loop: true, q: %s}}"
    assert built(text % (MASS, [0, 0, 0, 1])).joint_q[0, :4].tolist() == [0, 0, 0, 1]
    assert codes_of(text % (MASS, [1, 0, 0, 0])) == [("SC466", "joints.j.q")]


def test_a_distance_joint_is_walked_from_its_parent_alone():
    """From its child it closes a loop; the body behind it is free, at its pose."""
    text = f"""
bodies: {{a: {{{MASS}}}, b: {{pose: {{xyz: [0, 0, 2]}}, {MASS}}}}}
joints:
  pin: {{type: revolute, parent: world, child: a, at: [0, 0, 0]}}
  rod: {{type: distance, parent: %s, child: %s, limit: [1, 3], parent_frame: {{xyz: [0.5, 0, 0]}}}}
"""
    model = built(text % ("a", "b"))
    assert model.joints.is_tree.all()
    assert model.joint_q[0, 1:4].tolist() == [-0.5, 0, 2]
    model = built(text % ("b", "a"))
    assert model.joints.is_tree.tolist() == [True, False, True]
    assert model.joints.name[2] == "b_free"
    assert model.bodies.q[0, 1, :3].tolist() == [0, 0, 2]


def test_an_unplaced_body_on_a_distance_joint_stands_at_the_identity():
    model = built(f"""
bodies: {{a: {{{MASS}}}}}
joints: {{rod: {{type: distance, parent: world, child: a, length: 2, parent_frame: {{xyz: [0, 0, 2]}}}}}}
""")
    assert model.bodies.q[0, 0].tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert model.joint_q[0, :3].tolist() == [0, 0, -2]
