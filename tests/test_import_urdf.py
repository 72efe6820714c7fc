"""Robots of URDF files as scenes: mechanics as pinocchio's, a report of every element, no file read that must not be."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.coloured_meshes import ASSET, COLLADA, FACES, FIRST, ONE, SECOND, VOLUME, glb, gltf
from support.urdf import agreement

import simcli
from simcli.cli.process import run_command
from simcli.errors import Exit, FileError
from simcli.exchange.importing import ImportOptions, import_model, load_scene
from simcli.exchange.source.xml_reader import DEEPEST, read_xml
from simcli.model import build
from simcli.model.bodies.mesh import mesh_properties, read_mesh
from simcli.spec import resolve

ROBOT = """<robot name="all kinds">
  <material name="paint"><color rgba="1 0.5 0 1"/></material>
  <link name="base"/>
  <link name="column">
    <inertial><origin xyz="0.01 0.02 0.3" rpy="0.3 -0.2 0.5"/><mass value="4"/>
      <inertia ixx="0.3" ixy="0.01" ixz="0.02" iyy="0.25" iyz="-0.01" izz="0.1"/></inertial>
    <collision><origin xyz="0 0 0.3"/><geometry><cylinder radius="0.05" length="0.6"/></geometry></collision>
    <visual><origin xyz="0 0 0.3"/><geometry><cylinder radius="0.05" length="0.6"/></geometry><material name="paint"/>
      </visual>
    <visual name="hat"><geometry><box size="0.1 0.1 0.2"/></geometry></visual>
  </link>
  <link name="gear 1"><inertial><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.015"/></inertial></link>
  <link name="cross"/>
  <link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
  <link name="slide"><inertial><mass value="0.3"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <link name="tool"><inertial><origin rpy="0 0 0.5"/><mass value="0"/>
    <inertia ixx="0.002" ixy="0" ixz="0.0001" iyy="0.001" iyz="0" izz="0.0025"/></inertial></link>
  <joint name="foot" type="fixed"><origin xyz="0 0 0.1" rpy="0 0 0.4"/><parent link="base"/><child link="column"/></joint>
  <joint name="turn" type="continuous"><origin xyz="0.1 0 0.6" rpy="0.1 0.2 0.3"/><parent link="column"/>
    <child link="gear 1"/><axis xyz="0 0 2"/><limit effort="7" velocity="3"/>
    <dynamics damping="0.1" friction="0.2" spring="4"/></joint>
  <joint name="pan" type="revolute"><origin xyz="0 0.1 0.5"/><parent link="gear 1"/><child link="cross"/>
    <axis xyz="0 1 0"/><limit lower="0.2" upper="1.0" effort="0" velocity="0"/></joint>
  <joint name="tilt" type="revolute"><origin xyz="0.05 0 0" rpy="1.5707963 0 0"/><parent link="cross"/><child link="arm"/>
    <limit lower="-1" upper="1" effort="0" velocity="0"/><mimic joint="pan" multiplier="0.5" offset="0.1"/></joint>
  <joint name="reach" type="prismatic"><origin xyz="0.4 0 0"/><parent link="arm"/><child link="slide"/>
    <axis xyz="1 1 0"/><limit lower="-0.1" upper="0.2" effort="5" velocity="1"/></joint>
  <joint name="flange" type="fixed"><origin xyz="0 0 0.05" rpy="0.2 0.3 0"/><parent link="slide"/>
    <child link="tool"/></joint>
  <gazebo reference="arm"><mu1>0.9</mu1></gazebo>
  <transmission name="drive"><type>simple</type></transmission>
</robot>
"""
MASS = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def robot(tmp_path, text=ROBOT, name="robot.urdf"):
    path = tmp_path / name
    path.write_text(text)
    return path


def imported(tmp_path, text=ROBOT, **options):
    return import_model(robot(tmp_path, text), ImportOptions(**options))


def built(tmp_path, text=ROBOT):
    document = load_scene(robot(tmp_path, text))
    return build(resolve(document), document)


def fates(report, kind):
    return {entry.name: (entry.fate, entry.why) for entry in report.entries if entry.kind == kind}


def test_the_mechanism_is_that_of_pinocchio(tmp_path):
    """Turned inertias, a massless root and cross, inertia without mass, axes of any length, frames within frames."""
    path = robot(tmp_path)
    scene = tmp_path / "robot.yaml"
    scene.write_text(import_model(path).text)
    matrix, effort = agreement(path, scene, tmp_path)
    assert matrix < 1e-12
    assert effort < 1e-12


def test_links_without_mass(tmp_path):
    model = built(tmp_path)
    assert model.bodies.name == ("column", "gear_1", "cross", "arm", "slide")
    assert model.bodies.mass[0].tolist() == [4.0, 0.5, 0.0, 1.5, 0.3]
    found = imported(tmp_path)
    assert "points: {tool: [0, 0, 0.05]}" in found.text
    assert "    child: column\n    parent_frame: {xyz: [0, 0, 0.1], rpy: [0, 0, 0.4]}" in found.text
    assert fates(found.report, "link")["cross"][0] == "changed"


def test_what_joints_say(tmp_path):
    spec = resolve(load_scene(robot(tmp_path)))
    turn, pan, tilt, reach = (spec.joints[name] for name in ("turn", "pan", "tilt", "reach"))
    assert (turn.type, turn.limit, turn.damping, turn.friction) == ("revolute", None, (0.1,), (0.2,))
    assert turn.velocity_limit == (3.0,)
    assert (turn.drive[0].mode, turn.drive[0].effort_limit, pan.drive) == ("effort", 7.0, None)
    assert (pan.limit[0].lower, pan.limit[0].upper) == (0.2, 1.0)
    assert spec.initial.joint_q == {"pan": "center"}
    assert (tilt.mimic.joint, tilt.mimic.ratio, tilt.mimic.offset) == ("pan", 0.5, 0.1)
    assert reach.type == "prismatic"


def test_shapes_and_looks(tmp_path):
    """A visual that is the collision gives it its colour; others are only seen. Links of a model do not touch each other."""
    spec = resolve(load_scene(robot(tmp_path)))
    column = spec.bodies["column"]
    assert list(column.shapes) == ["collision"]
    assert (column.shapes["collision"].radius, column.shapes["collision"].length) == (0.05, 0.6)
    assert list(column.look.shapes) == ["hat"]
    assert column.look.colour == "#ff8000"
    assert column.shapes["collision"].layers == ("model",)
    assert resolve(load_scene(robot(tmp_path))).contact.enabled


def test_every_element_is_told_once(tmp_path):
    """Parts, as origins, belong to their element; all else has a line of the report."""
    parts = {"robot", "color", "origin", "geometry", "cylinder", "box", "mass", "inertia", "parent", "child", "axis"}
    path = robot(tmp_path)
    told = {(entry.kind, entry.line) for entry in import_model(path).report.entries}
    for element in read_xml(path).below():
        if element.tag not in parts and element.tag not in ("mu1", "type") and element.get("name") != "paint":
            assert (element.tag, element.line) in told, element
    report = imported(tmp_path).report
    assert fates(report, "gazebo") == {"arm": ("dropped", "an extension of Gazebo")}
    assert fates(report, "transmission")["drive"][0] == "dropped"
    assert fates(report, "dynamics") == {"turn": ("changed", "the attributes spring are not of the format")}
    assert fates(report, "link")["gear_1"] == ("changed", "`gear 1` is called `gear_1`")
    assert sum(report.counts().values()) == len(report.entries)
    assert report.loses


def test_a_floating_base_is_free(tmp_path):
    spec = resolve(load_scene(robot(tmp_path)))
    assert [name for name, joint in spec.joints.items() if joint.parent == "world"] == ["foot"]
    text = imported(tmp_path, base="floating").text
    assert "foot:" not in text
    assert "points: {base: [0, 0, -0.1]}" in text  # a point of the column, which has the mass
    assert "pose: {xyz: [0, 0, 0.1], rpy: [0, 0, 0.4]}" in text


def test_bad_inertias_are_told_with_their_numbers(tmp_path):
    text = ROBOT.replace('ixx="0.01" ixy="0" ixz="0" iyy="0.02"', 'ixx="0.01" ixy="0" ixz="0" iyy="0.2"')
    with pytest.raises(FileError, match=r"link `gear_1`: no body has these principal moments: 0.01 \+ 0.015 < 0.2 kg m\^2"):
        imported(tmp_path, text)
    found = imported(tmp_path, text, fix_inertia=True)
    assert fates(found.report, "inertial")["gear_1"][1].endswith("became 0.01, 0.015, 0.025")
    matrix = [entry for entry in found.report.entries if entry.kind == "inertial" and entry.fate == "changed"]
    assert len(matrix) == 1


def test_meshes_are_copied_and_meshes_elsewhere_are_not_read(tmp_path):
    """Below the model, in its package, in a folder that is named; nowhere else, by links neither."""
    package = tmp_path / "pack"
    (package / "meshes").mkdir(parents=True)
    (tmp_path / "secret.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (package / "meshes" / "part.obj").write_bytes((tmp_path / "secret.obj").read_bytes())
    (package / "meshes" / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (package / "meshes" / "way.obj").symlink_to(tmp_path / "secret.obj")
    names = [
        "meshes/part.obj",
        "package://pack/meshes/part.obj",
        "package://none/part.obj",
        "../secret.obj",
        str(tmp_path / "secret.obj"),
        "meshes/way.obj",
        "package://pack/../secret.obj",
        "meshes/flat.obj",
        "meshes/part.dae",
        "meshes/none.obj",
    ]
    shapes = "".join(
        f'<collision name="s{k}"><geometry><mesh filename="{name}"/></geometry></collision>' for k, name in enumerate(names)
    )
    path = robot(package, f'<robot name="r"><link name="a">{MASS}{shapes}</link></robot>')
    found = import_model(path)
    assert set(found.files) == {"meshes/part.obj"}
    told = fates(found.report, "collision")
    assert [told[f"a/s{k}"][0] for k in range(10)] == ["changed"] * 2 + ["dropped"] * 8
    assert "outside the folder" in told["a/s3"][1]
    assert "outside the folder" in told["a/s5"][1]
    assert "fewer than four" in told["a/s7"][1]
    wider = import_model(path, ImportOptions(search=[tmp_path]))
    assert len(wider.files) == 2


HOSTILE = {
    "an entity": ('<!DOCTYPE r [<!ENTITY a "b">]><robot name="&a;"/>', "document type"),
    "entities within each other": ('<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><robot name="&b;"/>', "document type"),
    "an external entity": ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot/>', "document type"),
    "depth": ("<robot>" + "<a>" * DEEPEST + "</a>" * DEEPEST + "</robot>", "depth"),
    "no XML": ("robot: 1", "no XML"),
    "nothing": ("", "no XML"),
    "half a file": (ROBOT[:700], "no XML"),
    "another root": ("<html/>", "the root is <html>; models are <robot>"),
    "macros": ('<robot xmlns:xacro="x"><xacro:property name="a"/></robot>', "robot_expanded.urdf`, and import that file"),
    "no number": (ROBOT.replace('mass value="4"', 'mass value="four"'), "`value` of <mass> is `four`"),
    "not a number": (ROBOT.replace('mass value="4"', 'mass value="nan"'), "`value` of <mass> is `nan`"),
    "two numbers": (ROBOT.replace('xyz="0 0 2"', 'xyz="0 2"'), "`xyz` of <axis> is `0 2`, not 3 numbers"),
    "no axis": (ROBOT.replace('xyz="0 0 2"', 'xyz="0 0 0"'), "axis of joint `turn` is zero"),
    "an unknown link": (ROBOT.replace('child link="arm"', 'child link="leg"'), "the unknown link `leg` as child"),
    "no parent": (ROBOT.replace('<parent link="arm"/>', ""), "joint `reach` has no parent"),
    "an unknown type": (ROBOT.replace('type="prismatic"', 'type="screw"'), "has the type `screw`"),
    "an unknown leader": (ROBOT.replace('mimic joint="pan"', 'mimic joint="pen"'), "unknown joint `pen`"),
    "two parents": (ROBOT.replace('child link="tool"', 'child link="arm"'), "is child of the joints `tilt` and `flange`"),
    "a circle": (ROBOT.replace('<parent link="base"/>', '<parent link="slide"/>'), "in a circle"),
    "two links of a name": (ROBOT.replace('name="slide"', 'name="arm"'), "a second link `arm`"),
    "two joints of a name": (ROBOT.replace('name="reach"', 'name="tilt"'), "a second joint `tilt`"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_by_their_line(tmp_path, name):
    text, words = HOSTILE[name]
    with pytest.raises(FileError) as caught:
        imported(tmp_path, text)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'robot.urdf'}:")


LIMIT = '<limit lower="-0.1" upper="0.2" effort="5" velocity="1"/>'
BOUNDS = {
    "none given": ('effort="0" velocity="0"', [], ["`velocity` is 0, as files write it", "`effort` is 0, as files"]),
    "negative": ('effort="-1" velocity="-1"', [], ["`velocity` is negative and left out", "`effort` is negative and"]),
    "endless": ('effort="inf" velocity="1e30"', [], []),
    "both": ('effort="5" velocity="1"', [5.0, 1.0], []),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_that_bound_nothing_are_told(tmp_path, name):
    words, wanted, told = BOUNDS[name]
    path = robot(tmp_path, ROBOT.replace(LIMIT, f'<limit lower="-0.1" upper="0.2" {words}/>'))
    reach = resolve(load_scene(path)).joints["reach"]
    assert [*([reach.drive[0].effort_limit] if reach.drive else []), *(reach.velocity_limit or ())] == wanted
    fate, why = fates(import_model(path).report, "limit")["reach"]
    assert fate == ("changed" if told else "carried")
    assert all(one in why for one in told)


def test_limits_that_are_infinite(tmp_path):
    text = ROBOT.replace('lower="-0.1" upper="0.2"', 'lower="-inf" upper="Infinity"')
    assert resolve(load_scene(robot(tmp_path, text))).joints["reach"].limit is None
    text = ROBOT.replace('lower="-0.1" upper="0.2"', 'lower="-inf" upper="0.2"')
    assert "limit: {upper: 0.2}" in imported(tmp_path, text).text
    with pytest.raises(FileError, match="`lower` of <limit> is `nan`, not a number"):
        imported(tmp_path, text.replace('"-inf"', '"nan"'))
    text = ROBOT.replace('<limit effort="7"', '<limit lower="-1" upper="1" effort="7"')
    assert fates(imported(tmp_path, text).report, "limit")["turn"] == ("changed", "a continuous joint has no limits")


@pytest.mark.parametrize(
    ("name", "target"),
    [("robot.urdf", "robot_expanded.urdf"), ("robot.urdf.xacro", "robot.urdf"), ("robot.xacro", "robot.urdf")],
)
@pytest.mark.parametrize(
    "text",
    [
        '<robot xmlns:x="http://wiki.ros.org/xacro"><x:macro name="a"/></robot>',
        '<robot><link name="${p}"/></robot>',
        '<robot><link name="$(arg p)"/></robot>',
    ],
)
def test_the_command_that_expands_macros_writes_another_file(tmp_path, name, target, text):
    path = robot(tmp_path, text, name)
    with pytest.raises(FileError, match="of xacro: expand it by") as caught:
        import_model(path)
    assert f"xacro {path} > {tmp_path / target}`" in str(caught.value)
    (tmp_path / "robot.urdf").write_text("here already")
    with pytest.raises(FileError) as caught:
        import_model(path) if name != "robot.urdf" else import_model(robot(tmp_path, text, name))
    assert f"> {tmp_path / 'robot_expanded.urdf'}`" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ('<robot name="r"/>', "r.urdf", "nothing in it has mass or a shape"),
        ('<robot name="r"><link name="a"/></robot>', "r.urdf", "nothing in it has mass or a shape"),
        (
            '<sdf version="1.6"><model name="q"/></sdf>',
            "r.urdf",
            "the root is <sdf>, that is SDF, but the file is called .urdf",
        ),
        ('<sdf version="1.6"><model name="q"/></sdf>', "r.sdf", "nothing in it has mass or a shape"),
        (ROBOT, "r.sdf", "the root is <robot>, that is URDF, but the file is called .sdf: call it r.urdf"),
    ],
)
def test_what_makes_no_scene_is_refused(tmp_path, text, name, words):
    with pytest.raises(FileError) as caught:
        import_model(robot(tmp_path, text, name))
    assert words in str(caught.value)


def looking(tmp_path, shapes):
    """A link with these shapes, and what the report says of its visuals."""
    path = robot(tmp_path, f'<robot name="r"><link name="a">{MASS}{shapes}</link></robot>')
    return resolve(load_scene(path)).bodies["a"].look, fates(import_model(path).report, "visual")


def shape(kind, size, material=""):
    return f'<{kind} name="{kind}{size}"><geometry><sphere radius="{size}"/></geometry>{material}</{kind}>'


def paint(name, rgba=""):
    return f'<material name="{name}">{f"<color rgba={rgba!r}/>" if rgba else ""}</material>'


def test_colours_are_carried_or_told(tmp_path):
    """Opacity of what collides too; names of materials that come later; what is defined nowhere; what a body cannot say."""
    look, told = looking(
        tmp_path,
        shape("collision", 1)
        + shape("visual", 1, paint("red", "1 0 0 0.5"))
        + shape("visual", 2, paint("blue"))
        + shape("visual", 3, paint("blue", "0 0 1 1"))
        + shape("visual", 4, paint("none")),
    )
    assert (look.colour, look.opacity) == ("#ff0000", 0.5)
    seen = {name: (one.colour, one.opacity) for name, one in look.shapes.items()}
    assert seen == {"visual2": ("#0000ff", 1.0), "visual3": ("#0000ff", 1.0), "visual4": (None, 1.0)}
    assert [name for name, (fate, _) in told.items() if fate != "carried"] == ["a/visual4"]
    assert told["a/visual4"][1] == "its material `none` is defined nowhere: the shape has no colour"
    look, told = looking(
        tmp_path, "".join(shape("collision", k) + shape("visual", k, paint(f"m{k}", f"0 0 {k - 1} 1")) for k in (1, 2))
    )
    assert look.colour is None
    assert told["a/visual2"][0] == "changed"
    assert told["a/visual2"][1].startswith("without the colour #0000ff: shapes of a body that collide have one colour")


PARTS_OF_DROPPED = ("gazebo", "transmission", "mu1", "type")  # with all that stands in them


def test_nothing_is_ignored_in_silence(tmp_path):
    """An attribute or an element that nobody knows is told, whichever element it stands in, and each is told once."""
    path = robot(tmp_path, ROBOT.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><axis xyz="0 0 1"/>'))
    assert fates(import_model(path).report, "axis")["pan"] == ("dropped", "only the first one is read")
    for tag in {one.tag for one in read_xml(robot(tmp_path)).below()} - set(PARTS_OF_DROPPED):
        entries = imported(tmp_path, re.sub(f"<{tag}(?=[ >/])", f'<{tag} odd="1"', ROBOT)).report.entries
        assert any(one.fate != "carried" and "odd" in one.name + one.why for one in entries), tag
        text = ROBOT.replace(f"</{tag}>", f"<odd/></{tag}>")
        entries = imported(tmp_path, text).report.entries
        assert text == ROBOT or any((one.fate, one.kind) == ("dropped", "odd") for one in entries), tag
        assert max(Counter((one.kind, one.name, one.line) for one in entries if one.kind != "odd").values()) == 1


def test_what_is_missing_is_told(tmp_path):
    text = ROBOT.replace('ixx="0.01" ixy="0" ixz="0" iyy="0.02"', 'ixx="0.01" iyy="0.02"')
    assert fates(imported(tmp_path, text).report, "inertial")["gear_1"] == ("changed", "`ixy`, `ixz` missing: 0")
    text = ROBOT.replace('<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.015"/>', "")
    assert fates(imported(tmp_path, text).report, "inertial")["gear_1"] == ("changed", "has no inertia: a point mass")
    with pytest.raises(FileError, match="`value` of <mass> is ``, not a number"):
        imported(tmp_path, ROBOT.replace('mass value="4"', "mass"))


def test_a_rotation_as_a_quaternion(tmp_path):
    text = ROBOT.replace('<origin xyz="0 0 0.1" rpy="0 0 0.4"/>', '<origin xyz="0 0 0.1" quat_xyzw="0 0 0.6 0.8"/>')
    assert "parent_frame: {xyz: [0, 0, 0.1], quat_wxyz: [0.8, 0, 0, 0.6]}" in imported(tmp_path, text).text
    for wrong in ('quat_xyzw="0 0 0 0"', 'quat_xyzw="0 0 0 1" rpy="0 0 1"'):
        with pytest.raises(FileError, match="write `rpy` or `quat_xyzw`"):
            imported(tmp_path, text.replace('quat_xyzw="0 0 0.6 0.8"', wrong))


def test_a_sweep_takes_a_model(tmp_path):
    from simcli.sweeps.records.plan import plan_of

    plan = plan_of(robot(tmp_path), ["batch.worlds=3"], device="cpu")
    assert len(plan.cases) == 3


def test_names_stay_text(tmp_path):
    """Quotes, colons, comments and ends of lines in names and reasons do not become YAML."""
    nasty = 'a: [#"&#10;bodies: {x: 1}'
    text = ROBOT.replace('name="all kinds"', f"name='{nasty}'").replace("gear 1", "a: {b} # &#10;- 'c'")
    document = load_scene(robot(tmp_path, text))
    assert len(resolve(document).bodies) == 5


NOTED = """<robot name="r"><transmission name="t"/><link name="a"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual>
  <geometry><mesh filename="none.dae"/></geometry>
  </visual></link> MORE</robot>"""


@pytest.mark.parametrize("length", range(50, 66))
def test_long_names_are_keys_before_a_comment(tmp_path, length):
    """Of links and joints in several lines, the lines of the source stand beside the names."""
    name = "n" * length
    text = ROBOT.replace('"column"', f'"{name}"').replace('"reach"', f'"{name}"')
    spec = resolve(load_scene(robot(tmp_path, text)))
    assert spec.bodies[name].mass == 4.0
    assert spec.joints[name].velocity_limit == (1.0,)


@pytest.mark.parametrize(
    ("more", "loses"), [("", False), ("<ros2_control name='c'/>", False), ("<gazebo/>", True), ("<odd/>", True)]
)
def test_what_moves_nothing_is_no_loss(tmp_path, more, loses):
    report = import_model(robot(tmp_path, NOTED.replace("MORE", more))).report
    assert report.loses == loses
    assert {"transmission", "visual"} <= {one.kind for one in report.entries if one.fate == "dropped" and one.is_note}


@pytest.mark.parametrize("first", ["base", "world"])
def test_links_that_no_joint_holds_are_told_but_for_one(tmp_path, first):
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    names = ("stray", first, "arm")
    links = "".join(f'<link name="{name}">{inertial if name != "world" else ""}</link>' for name in names)
    joint = f'<joint name="j" type="continuous"><parent link="{first}"/><child link="arm"/></joint>'
    path = tmp_path / "two.urdf"
    path.write_text(f'<robot name="two">{links}{joint}</robot>')
    told = [(one.name, one.why) for one in import_model(path).report.entries if one.fate == "changed" and one.kind == "link"]
    alone, other = ("stray", "world") if first == "world" else ("base", "stray")
    assert told == [(alone, f"no joint holds it, as none holds `{other}`: it stands alone")]


def test_the_command_writes_tells_and_refuses(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    robot(tmp_path)
    assert run_command(["import", "robot.urdf"], debug=False, as_json=False) == Exit.OK
    talk = capsys.readouterr().err
    assert "dropped 1 gazebo (arm:33): an extension of Gazebo" in talk
    assert "wrote robot.yaml" in talk
    assert run_command(["import", "robot.urdf"], debug=False, as_json=False) == Exit.OUTPUT
    assert run_command(["import", "robot.urdf", "--force", "--strict"], debug=False, as_json=False) == Exit.NEGATIVE
    assert run_command(["import", "robot.urdf", "-o", "robot.urdf", "--force"], debug=False, as_json=False) == Exit.USAGE
    capsys.readouterr()
    assert run_command(["import", "robot.urdf", "--force", "--json"], debug=False, as_json=True) == Exit.OK
    data = json.loads(capsys.readouterr().out)
    assert data["counts"]["dropped"] == sum(one["fate"] == "dropped" for one in data["elements"])
    assert run_command(["check", "robot.urdf", "robot.yaml"], debug=False, as_json=False) == Exit.OK
    assert "robot.urdf: read as the scene that `simcli import` makes of it" in capsys.readouterr().err


def test_a_model_runs_as_its_scene_does(tmp_path):
    """In memory and from the file that was written; a run holds the scene, not the model."""
    from support.many import run_many
    from support.runs import committed, differing

    robot(tmp_path)
    out = tmp_path / "talk"
    out.mkdir()
    files = tmp_path / "a.h5", tmp_path / "b.h5", tmp_path / "c.h5"
    run = ["--duration", "20 ms", "--force", "-q", "-o"]
    results = run_many(
        [
            ["import", tmp_path / "robot.urdf", "-o", tmp_path / "robot.yaml"],
            ["run", tmp_path / "robot.urdf", *run, files[0]],
            ["run", tmp_path / "robot.yaml", *run, files[1]],
            ["run", files[0], *run, files[2]],
        ],
        out,
    )
    assert [code for code, _ in results] == [0] * 4, results
    one, other, again = map(committed, files)
    assert not differing(one, other)
    assert not differing(one, again)


def test_the_source_is_not_needed_any_more(tmp_path):
    found = imported(tmp_path)
    (tmp_path / "robot.urdf").unlink()
    scene = tmp_path / "scene.yaml"
    scene.write_text(found.text)
    model = build(resolve(load_scene(scene)), load_scene(scene))
    assert np.isfinite(model.bodies.mass).all()
    assert subprocess.run(["grep", "-c", "robot.urdf:", str(scene)], capture_output=True, text=True).stdout.strip() == "10"
    assert Path(scene).read_text().startswith("# Imported from robot.urdf by simcli")


def test_a_ground_that_a_user_adds_holds_an_imported_robot(tmp_path):
    """Whether it stands in the scene of the import, or in one that includes it."""
    inertial = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    (tmp_path / "robot.urdf").write_text(f'<robot name="r"><link name="a">{inertial}{ball}</link></robot>')
    text = import_model(tmp_path / "robot.urdf", ImportOptions(base="floating")).text
    ground = "world: {shapes: {ground: {type: plane}}}\n"
    (tmp_path / "robot.yaml").write_text(text)
    (tmp_path / "added.yaml").write_text(text + ground)
    (tmp_path / "around.yaml").write_text(f"simcli: 1\ninclude: [robot.yaml]\n{ground}")
    for name in ("added.yaml", "around.yaml"):
        with simcli.Simulation(str(tmp_path / name)) as sim:
            sim.step(1000)
            assert abs(sim.get("body.a.position")[0, 2]) == pytest.approx(0.1, abs=1e-6)


# Meshes with materials and nodes.

COLOURED = {
    "part.dae": COLLADA.encode(),
    "part.glb": glb(),
    "part.gltf": json.dumps(gltf(buffers=[{"byteLength": 72, "uri": "my%20part.bin"}])[0]).encode(),
}
SEEN = '<visual><geometry><mesh filename="{0}" scale="1 1 2"/></geometry></visual>'
SOLID = SEEN.replace("visual", "collision")
NO_MATERIAL = ("", 1)


def coloured(tmp_path, name, data, shapes=SEEN, **options):
    """What becomes of a robot of one link with a mesh."""
    package = "collada" if name.endswith(".dae") else "trimesh"
    pytest.importorskip(package)
    (tmp_path / name).write_bytes(data)
    (tmp_path / "my part.bin").write_bytes(gltf()[1])
    return imported(tmp_path, f'<robot name="r"><link name="a">{MASS}{shapes.format(name)}</link></robot>', **options)


def triangles(text):
    """Corners of the triangles of OBJ, (m, 3, 3)."""
    lines = [line.split() for line in text.decode().splitlines()]
    vertices = np.array([line[1:] for line in lines if line[0] == "v"], float)
    return vertices[np.array([line[1:] for line in lines if line[0] == "f"], int) - 1]


def same_triangles(found, expected):
    """Whether two lists of triangles are the same, up to where each begins: the way around them counts."""

    def keys(corners):
        rounded = [[tuple(np.round(point, 5) + 0.0) for point in one] for one in np.asarray(corners, float)]
        return sorted(min(tuple(one[k:] + one[:k]) for k in range(3)) for one in rounded)

    return keys(found) == keys(expected)


def by_hand(faces):
    """Triangles of the first tetrahedron, and of the second one, which is mirrored."""
    return [[FIRST[k] for k in face] for face in faces], [[SECOND[k] for k in reversed(face)] for face in faces]


def both(faces):
    """Triangles of both."""
    first, second = by_hand(faces)
    return first + second


@pytest.mark.parametrize("name", COLOURED)
def test_each_colour_of_a_mesh_is_a_shape(tmp_path, name):
    """Instances, turns, mirrors, the unit and the axis that is up; the colours and the opacity; the scale of the robot."""
    found = coloured(tmp_path, name, COLOURED[name])
    look = yaml.safe_load(found.text)["bodies"]["a"]["look"]
    shapes = list(look["shapes"].values())
    assert list(look["shapes"]) == ["visual", "visual_2", "visual_3"][: len(shapes)]
    assert [one["scale"] for one in shapes] == [[1, 1, 2]] * len(shapes)
    skin = both(FACES[:2])
    back = by_hand(FACES[2:])
    if name.endswith(".dae"):
        looks, parts = [("#cc3300", 1), ("#333333", 0.4), NO_MATERIAL], [skin, *back]
    else:
        looks, parts = [("#bc00ff", 0.4), NO_MATERIAL], [skin, both(FACES[2:])]
    assert [(one.get("colour", ""), one.get("opacity", 1)) for one in shapes] == looks
    for one, expected in zip(shapes, parts, strict=True):
        assert same_triangles(triangles(found.files[one["file"]]), expected)
    ((fate, why),) = fates(found.report, "visual").values()
    assert fate == "changed"
    assert "turned so that z is up" in why
    assert "without its textures wood.png" in why


@pytest.mark.parametrize("name", COLOURED)
def test_a_mesh_with_colours_collides_as_one(tmp_path, name):
    found = coloured(tmp_path, name, COLOURED[name], SOLID)
    (shape,) = yaml.safe_load(found.text)["bodies"]["a"]["shapes"].values()
    assert shape["file"] == "meshes/part.obj"
    assert same_triangles(triangles(found.files[shape["file"]]), both(FACES))
    (tmp_path / "part.obj").write_bytes(found.files[shape["file"]])
    assert mesh_properties(*read_mesh(tmp_path / "part.obj")).mass == pytest.approx(VOLUME, rel=1e-6)
    assert fates(found.report, "collision")["a/collision"][1].startswith("collides as the convex hull of its mesh; turned")


@pytest.mark.parametrize(
    ("asset", "corner", "words"),
    [
        ("<up_axis>Z_UP</up_axis>", (1, 2, 3), ""),
        ('<unit meter="2"/><up_axis>Y_UP</up_axis>', (2, -6, 4), "turned so that z is up: the mesh says Y_UP"),
        ("<up_axis>X_UP</up_axis>", (-2, -3, 1), "turned so that z is up: the mesh says X_UP"),
        ("", (1, -3, 2), "turned so that z is up: the mesh says Y_UP"),
    ],
)
def test_unit_and_axis_of_collada(tmp_path, asset, corner, words):
    """By the tables of its specification: right, up and towards the viewer are x, y, z; -y, x, z; x, z, -y."""
    text = ONE.replace(ASSET, asset).replace("<translate>0 200 0</translate>", "")
    found = coloured(tmp_path, "part.dae", re.sub(r'<node id="b">.*</node>', "", text).encode(), SOLID)
    corners = triangles(found.files["meshes/part.obj"])
    assert np.isclose(corners, corner, atol=1e-6).all(axis=2).any()
    assert words in fates(found.report, "collision")["a/collision"][1]


@pytest.mark.parametrize("suffix", ["dae", "glb"])
def test_what_other_writers_write_is_read(tmp_path, suffix):
    """Two bodies of trimesh's own exporters, one of which stands in a moved node."""
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("collada")
    colours, scene = {"#ff8000": (255, 128, 0, 255), "#204060": (32, 64, 96, 255)}, trimesh.Scene()
    for k, rgba in enumerate(colours.values()):
        box = trimesh.creation.box((1, 2, 3)).apply_translation((5 * k, 0, 0))
        as_linear = [(x / 255 / 12.92 if x < 11 else ((x / 255 + 0.055) / 1.055) ** 2.4) for x in rgba[:3]]
        base = (*as_linear, 1.0) if suffix == "glb" else np.array(rgba) / 255
        material = trimesh.visual.material.PBRMaterial(baseColorFactor=np.array(base), name=f"paint {k}")
        box.visual = trimesh.visual.TextureVisuals(uv=np.zeros((len(box.vertices), 2)), material=material)
        scene.add_geometry(box)
    data = trimesh.exchange.dae.export_collada(scene.dump()) if suffix == "dae" else scene.export(file_type="glb")
    found = coloured(tmp_path, f"part.{suffix}", data)
    shapes = yaml.safe_load(found.text)["bodies"]["a"]["look"]["shapes"].values()
    for k, (one, colour) in enumerate(zip(shapes, colours, strict=True)):
        assert max(abs(int(one["colour"][i : i + 2], 16) - int(colour[i : i + 2], 16)) for i in (1, 3, 5)) <= 2  # 8 bits
        corners = triangles(found.files[one["file"]])
        assert len(corners) == 12
        assert np.allclose(np.ptp(corners.reshape(-1, 3), axis=0), (1, 3, 2), atol=1e-6)
        assert np.allclose(corners.reshape(-1, 3).mean(axis=0)[0], 5 * k, atol=0.2)


def test_a_material_is_for_a_mesh_without_colours(tmp_path):
    paint = '<material name="m"><color rgba="0 0 1 0.5"/></material>'
    found = coloured(tmp_path, "part.dae", COLOURED["part.dae"], SEEN.replace("</visual>", f"{paint}</visual>"))
    shapes = yaml.safe_load(found.text)["bodies"]["a"]["look"]["shapes"].values()
    assert [one.get("colour") for one in shapes] == ["#cc3300", "#333333", "#0000ff"]
    assert [one.get("opacity", 1) for one in shapes] == [1, 0.4, 0.5]
    assert "has the colours of its mesh, not #0000ff" in fates(found.report, "visual")["a/visual"][1]


def test_a_body_is_drawn_by_its_visuals_if_it_has_any(tmp_path):
    """Not by hulls that collide; those of the world are drawn, since what is added to it is in the same look."""
    box = '<collision name="hull"><geometry><box size="{0} 1 1"/></geometry></collision>'
    seen = '<visual name="skin"><geometry><sphere radius="1"/></geometry></visual>'
    same = box.replace("collision", "visual").replace("hull", "skin")
    links = "".join(
        f'<link name="{name}">{mass}{shapes.format(2)}</link>'
        for name, mass, shapes in [
            ("world", "", box + seen),
            ("both", MASS, box + seen),
            ("hulls", MASS, box),
            ("same", MASS, box + same),
            ("more", MASS, box + same + seen.replace("skin", "hat")),
        ]
    )
    scene = yaml.safe_load(imported(tmp_path, f'<robot name="r">{links}</robot>').text)
    assert scene["bodies"]["both"]["look"] == {
        "opacity": 0,
        "shapes": {"skin": {"type": "sphere", "radius": 1, "opacity": 1}},
    }
    assert "opacity" not in scene["world"]["look"]
    assert "look" not in scene["bodies"]["hulls"]
    assert "look" not in scene["bodies"]["same"]
    assert "opacity" not in scene["bodies"]["more"]["look"]


def nested_nodes(depth):
    """Each node holds the next one twice: 2^depth instances."""
    held = "".join(
        f'<node id="n{k}"><instance_node url="#n{k + 1}"/><instance_node url="#n{k + 1}"/></node>' for k in range(depth)
    )
    return (
        COLLADA.replace("<library_nodes>", f"<library_nodes>{held}")
        .replace('id="held"', f'id="n{depth}"')
        .replace("#held", "#n0")
    )


DAMAGED = {
    "an entity": ("part.dae", COLLADA.replace("<COLLADA", '<!DOCTYPE c [<!ENTITY a "b">]><COLLADA', 1), "document type"),
    "another root": ("part.dae", "<robot/>", "not <COLLADA>"),
    "no unit": ("part.dae", COLLADA.replace('meter="0.01"', 'meter="-1"'), "the unit `-1`"),
    "no axis": ("part.dae", COLLADA.replace("Y_UP", "W_UP"), "the axis `W_UP` up"),
    "no geometry": ("part.dae", COLLADA.replace("#tet", "#none"), "no triangles"),
    "an index too large": ("part.dae", COLLADA.replace("0 3 2 1 2 3", "0 3 2 1 2 9"), "read in part"),
    "no number": ("part.dae", COLLADA.replace("0 0 0 100", "0 0 x 100"), "no finite number"),
    "not finite": ("part.dae", COLLADA.replace("0 0 0 100", "0 0 nan 100"), "no finite number"),
    "2^40 nodes": ("part.dae", nested_nodes(40), "nodes"),
    "half of it": ("part.glb", glb()[:700], "no whole GLB"),
    "no header": ("part.glb", b"", "damaged"),
    "version 1": ("part.glb", glb(asset={"version": "1.0"}), "version 2"),
    "compression": ("part.glb", glb(extensionsRequired=["KHR_draco_mesh_compression"]), "needs KHR_draco_mesh_compression"),
    "a huge accessor": (
        "part.glb",
        glb(accessors=[{"componentType": 5126, "count": 10**12, "type": "VEC3"}] * 3),
        "an accessor of more than",
    ),
    "a buffer above": ("part.gltf", json.dumps(gltf(buffers=[{"byteLength": 72, "uri": "../secret.bin"}])[0]), "beside"),
    "no buffer": ("part.gltf", json.dumps(gltf(buffers=[{"byteLength": 72, "uri": "none.bin"}])[0]), "beside"),
    "on a server": ("part.gltf", json.dumps(gltf(buffers=[{"byteLength": 72, "uri": "http://127.0.0.1:9/a"}])[0]), "beside"),
    "a list": ("part.gltf", "[]", "no glTF"),
    "no JSON": ("part.gltf", "{", "damaged"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_mesh_is_dropped_with_the_reason(tmp_path, what):
    name, data, words = DAMAGED[what]
    (tmp_path / "below").mkdir()
    (tmp_path / "secret.bin").write_bytes(gltf()[1])
    found = coloured(tmp_path / "below", name, data if isinstance(data, bytes) else data.encode())
    ((fate, why),) = fates(found.report, "visual").values()
    assert (fate, words in why) == ("dropped", True), why
    assert len(why) < 400
    assert not found.files


@pytest.mark.parametrize(("name", "package"), [("part.dae", "pycollada"), ("part.glb", "trimesh")])
def test_without_the_package_the_extra_is_named(tmp_path, name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, {"pycollada": "collada"}.get(package, package), None)
    (tmp_path / name).write_bytes(COLOURED[name])
    found = imported(tmp_path, f'<robot name="r"><link name="a">{MASS}{SEEN.format(name)}</link></robot>')
    suffix = name[-4:]
    words = f"mesh: a {suffix} mesh needs {package}: pip install 'simcli[meshes]'"
    assert fates(found.report, "visual")["a/visual"] == ("dropped", words)
    assert not found.report.loses  # nothing moves otherwise
