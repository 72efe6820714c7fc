"""Where imported joints begin: within limits, gears and motions, so that a scene that was imported can run."""

import pytest

from simcli.errors import FileError
from simcli.exchange.importing import import_model, load_scene
from simcli.model import build
from simcli.spec import resolve

INERTIA = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def urdf(tmp_path, *joints, massless=()):
    """A chain of links, a joint of each: (type, limit, what else stands in it)."""
    text = f'<link name="l0">{INERTIA}</link>'
    for k, (kind, limit, more) in enumerate(joints):
        bounds = f'<limit lower="{limit[0]}" upper="{limit[1]}" effort="1" velocity="1"/>' if limit else ""
        text += (f'<link name="l{k + 1}">{"" if k in massless else INERTIA}</link>\n<joint name="j{k}" type="{kind}">'
                 f'<parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 0 1"/>{bounds}{more}</joint>')  # fmt: skip
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">{text}</robot>')
    return path


def mimic(leader, ratio=1.0, offset=0.0):
    return f'<mimic joint="{leader}" multiplier="{ratio}" offset="{offset}"/>'


def begins(path):
    """Coordinates of the joints that move at the start; the scene can run from there."""
    document = load_scene(path)
    model = build(resolve(document), document)
    assert not model.start.lacks, model.start.lacks
    starts = zip(model.joints.name, model.joints.q_start, model.joints.q_start[1:], strict=False)
    return {name: float(model.joint_q[0, first]) for name, first, after in starts if after == first + 1}


def changes(path, kind):
    return {entry.name: entry.why for entry in import_model(path).report.entries if entry.kind == kind and entry.why}


STARTS = {
    "limits that hold 0": ([("revolute", (-1, 1), "")], {"j0": 0.0}),
    "the middle": ([("prismatic", (0.2, 0.6), "")], {"j0": 0.4}),
    "the bound": ([("revolute", (0.2, "inf"), "")], {"j0": 0.2}),
    "a follower within its limits": ([("continuous", None, ""), ("prismatic", (0.1, 0.5), mimic("j0", 0.1, 0.2))],
                                     {"j0": 0.0, "j1": 0.2}),
    "a follower outside of them": ([("revolute", (-1, 1), ""), ("revolute", (-1, 0.1), mimic("j0", 1, 0.2))],
                                   {"j0": -0.55, "j1": -0.35}),
    "a leader that does not lead from 0": ([("revolute", (0.2, 0.4), ""), ("revolute", (0, 1), mimic("j0", 2))],
                                           {"j0": 0.3, "j1": 0.6}),
    "a chain of gears": ([("revolute", (-1, 1), ""), ("revolute", (-1, 1), mimic("j0", -1, 0.3)),
                          ("revolute", (0.9, 1.1), mimic("j1", 2, 0.2))], {"j0": -0.1, "j1": 0.4, "j2": 1.0}),
    "a gear that does not turn": ([("revolute", (-1, 1), ""), ("revolute", (0.4, 0.6), mimic("j0", 0, 0.5))],
                                  {"j0": 0.0, "j1": 0.5}),
}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_joints_begin_within_their_limits_and_gears(tmp_path, name):
    joints, wanted = STARTS[name]
    assert begins(urdf(tmp_path, *joints)) == pytest.approx(wanted, abs=1e-12)


def test_a_limit_that_no_start_keeps_is_told(tmp_path):
    path = urdf(tmp_path, ("revolute", (-1, 1), ""), ("revolute", (2, 3), mimic("j0")))
    assert begins(path) == {"j0": 0.0, "j1": 0.0}
    assert changes(path, "limit") == {"j1": "holds nothing that the joint can follow `j0` to: it has no limits"}


def test_what_moves_a_start_is_told(tmp_path):
    path = urdf(tmp_path, *STARTS["a follower outside of them"][0])
    assert changes(path, "limit") == {"j1": "does not hold 0.2: `j0`, which leads, begins at -0.55"}
    path = urdf(tmp_path, *STARTS["the bound"][0])
    assert changes(path, "limit") == {"j0": "does not hold 0: the joint begins at its bound"}


def test_a_circle_of_gears_is_refused_by_name(tmp_path):
    path = urdf(tmp_path, ("revolute", (-1, 1), mimic("j1")), ("revolute", (-1, 1), mimic("j0")))
    with pytest.raises(FileError, match=r"robot.urdf:2: the joints `j0`, `j1` mimic each other in a circle"):
        import_model(path)


def test_a_joint_that_follows_one_beyond_which_nothing_has_mass_is_held(tmp_path):
    """Beyond j1 nothing has mass, so that it is held at 0, with no limit to break; j0 follows it."""
    path = urdf(tmp_path, ("revolute", (0.2, 1), mimic("j1", 1, 0.5)), ("revolute", (0.1, 1), ""), massless={1})
    assert begins(path) == {"j0": 0.5}
    entries = {(entry.kind, entry.name): entry for entry in import_model(path).report.entries}
    assert entries["limit", "j1"].fate == entries["joint", "j1"].fate == "dropped"
    assert entries["mimic", "j0"].why == "`j1` is held: a motion holds this joint at 0.5"


def mjcf(tmp_path, equalities, more="", ranges=("10 20", "-10 10")):
    pytest.importorskip("mujoco")
    geom = '<geom size="0.1" pos="0.2 0 0" contype="0"/>'
    bodies = "".join(f'<body name="{name}"><joint name="{name}" axis="0 1 0" limited="true" range="{bounds}"/>{geom}</body>'
                     for name, bounds in zip("xz", ranges, strict=True))  # fmt: skip
    path = tmp_path / "model.xml"
    path.write_text(f"<mujoco><worldbody>{bodies}</worldbody><equality>{equalities}</equality>{more}</mujoco>")
    return path


LOCK = '<joint joint1="x" polycoef="{} 0 0 0 0"/>'
GEAR = '<joint joint1="{}" joint2="{}"/>'


def test_what_an_equality_holds_begins_there(tmp_path):
    path = mjcf(tmp_path, LOCK.format(0.25))
    assert begins(path) == {"x": 0.25, "z": 0.0}
    assert not changes(path, "limit")
    path = mjcf(tmp_path, LOCK.format(0.7))
    assert begins(path) == {"x": 0.7, "z": 0.0}
    assert changes(path, "joint")["x"] == "limit does not hold 0.7, where a motion holds it: the joint has no limits"


def test_a_gear_to_what_an_equality_holds(tmp_path):
    path = mjcf(tmp_path, LOCK.format(0.25) + GEAR.format("z", "x"), ranges=("10 20", "-10 20"))
    assert begins(path) == {"x": 0.25, "z": 0.25}


@pytest.mark.parametrize("equalities", [GEAR.format("x", "z") + GEAR.format("z", "x"),
                                        LOCK.format(0.25) + GEAR.format("x", "z"),
                                        GEAR.format("x", "z") + LOCK.format(0.25)])  # fmt: skip
def test_gears_that_nothing_leads_are_couplings(tmp_path, equalities):
    """In a circle, or with one that is held already."""
    found = begins(mjcf(tmp_path, equalities, ranges=("-20 20", "-20 20")))
    assert found["x"] == pytest.approx(found["z"], abs=1e-9)


def test_keyframes_leave_out_what_is_held(tmp_path):
    path = mjcf(tmp_path, LOCK.format(0.25), '<keyframe><key name="k" qpos="0.3 0.1"/></keyframe>')
    assert "joint_q: {z: 0.1}" in import_model(path).text.partition("keyframes")[2]
