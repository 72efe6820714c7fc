"""Models of SDF as scenes: mechanics as pinocchio's of the same robot in URDF, frames resolved, loops closed."""

import math
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from support.coloured_meshes import COLLADA, VOLUME
from support.urdf import agreement

from simcli.cli.process import run_command
from simcli.errors import Exit, FileError
from simcli.exchange.importing import ImportOptions, import_model, load_scene
from simcli.exchange.source.xml_reader import read_xml
from simcli.model import build
from simcli.spec import resolve

INERTIA = "<ixx>0.3</ixx><ixy>0.01</ixy><ixz>0.02</ixz><iyy>0.25</iyy><iyz>-0.01</iyz><izz>0.1</izz>"
# One robot twice: poses in links there, in models, frames and joints here.
SDF = f"""<sdf version="1.9">
  <model name="robot">
    <pose>0 0 0.5 0 0 0</pose>
    <frame name="shoulder" attached_to="column"><pose>0.1 0 0.6 0.1 0.2 0.3</pose></frame>
    <frame name="hand" attached_to="arm"><pose>0.4 0 0 0 0.5 0</pose></frame>
    <link name="column"><pose>0 0 0.1 0 0 0.4</pose>
      <inertial><pose>0.01 0.02 0.3 0.3 -0.2 0.5</pose><mass>4</mass><inertia>{INERTIA}</inertia></inertial>
      <collision name="body"><pose>0 0 0.3 0 0 0</pose><geometry><cylinder><radius>0.05</radius><length>0.6</length>
        </cylinder></geometry><surface><friction><ode><mu>0.8</mu><mu2>0.6</mu2></ode></friction></surface></collision>
      <visual name="body"><pose>0 0 0.3 0 0 0</pose><geometry><cylinder><radius>0.05</radius><length>0.6</length></cylinder>
        </geometry><material><diffuse>1 0.5 0 1</diffuse></material></visual>
      <sensor name="imu" type="imu"/></link>
    <link name="arm"><pose relative_to="shoulder">0.05 0 0 0 0 0.2</pose>
      <inertial><pose>0.2 0 0 0 0 0</pose><mass>1.5</mass><inertia>{INERTIA}</inertia></inertial></link>
    <link name="slide"><pose relative_to="arm">0.4 0.1 0 0.3 0 0</pose>
      <inertial><mass>0.3</mass><inertia>{INERTIA}</inertia></inertial></link>
    <joint name="foot" type="fixed"><parent>world</parent><child>column</child></joint>
    <joint name="turn" type="continuous"><pose relative_to="shoulder"/><parent>column</parent><child>arm</child>
      <axis><xyz expressed_in="column">0 0.6 0.8</xyz><dynamics><damping>0.1</damping><friction>0.2</friction>
      <spring_stiffness>3</spring_stiffness><spring_reference>0.4</spring_reference></dynamics></axis></joint>
    <joint name="reach" type="prismatic"><parent>arm</parent><child>slide</child><axis><xyz>1 1 0</xyz>
      <limit><lower>-0.1</lower><upper>0.2</upper><effort>5</effort><velocity>1</velocity></limit></axis></joint>
    <plugin name="driver" filename="libdriver.so"/>
  </model>
</sdf>
"""
URDF = """<robot name="robot"><link name="world"/>
  <link name="column"><inertial><origin xyz="0.01 0.02 0.3" rpy="0.3 -0.2 0.5"/><mass value="4"/>
    <inertia ixx="0.3" ixy="0.01" ixz="0.02" iyy="0.25" iyz="-0.01" izz="0.1"/></inertial></link>
  <link name="elbow"/>
  <link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1.5"/>
    <inertia ixx="0.3" ixy="0.01" ixz="0.02" iyy="0.25" iyz="-0.01" izz="0.1"/></inertial></link>
  <link name="slide"><inertial><mass value="0.3"/>
    <inertia ixx="0.3" ixy="0.01" ixz="0.02" iyy="0.25" iyz="-0.01" izz="0.1"/></inertial></link>
  <joint name="foot" type="fixed"><origin xyz="0 0 0.6" rpy="0 0 0.4"/><parent link="world"/><child link="column"/></joint>
  <joint name="turn" type="continuous"><origin xyz="0.1 0 0.6"/><parent link="column"/><child link="elbow"/>
    <axis xyz="0 0.6 0.8"/></joint>
  <joint name="bend" type="fixed"><origin rpy="0.1 0.2 0.3"/><parent link="elbow"/><child link="wrist"/></joint>
  <link name="wrist"/>
  <joint name="at" type="fixed"><origin xyz="0.05 0 0" rpy="0 0 0.2"/><parent link="wrist"/><child link="arm"/></joint>
  <joint name="reach" type="prismatic"><origin xyz="0.4 0.1 0" rpy="0.3 0 0"/><parent link="arm"/><child link="slide"/>
    <axis xyz="1 1 0"/><limit lower="-1" upper="1" effort="0" velocity="0"/></joint>
</robot>
"""
FOUR_BAR = """<sdf version="1.6"><world name="w"><gravity>0 0 -9.81</gravity>
  <model name="ground"><static>1</static><link name="slab"><pose>0 0 -0.5 0 0 0</pose>
    <collision name="top"><geometry><box><size>4 4 0.1</size></box></geometry></collision></link></model>
  <model name="bars"><self_collide>true</self_collide>
    <link name="a"><pose>0 0 0.5 0 0 0</pose><inertial><mass>1</mass></inertial></link>
    <link name="b"><pose>0.5 0 1 0 0 0</pose><inertial><mass>1</mass></inertial></link>
    <link name="c"><pose>1 0 0.5 0 0 0</pose><inertial><mass>1</mass></inertial><gravity>false</gravity></link>
    <joint name="p" type="revolute"><parent>world</parent><child>a</child><pose>0 0 -0.5 0 0 0</pose><axis><xyz>0 1 0</xyz>
      <limit><lower>0.1</lower><upper>1</upper></limit></axis></joint>
    <joint name="q" type="revolute"><parent>a</parent><child>b</child><pose>-0.5 0 0 0 0 0</pose><axis><xyz>0 1 0</xyz>
      <use_parent_model_frame>1</use_parent_model_frame></axis></joint>
    <joint name="r" type="revolute"><parent>b</parent><child>c</child><pose>0 0 0.5 0 0 0</pose><axis><xyz>0 1 0</xyz>
      </axis></joint>
    <joint name="s" type="revolute"><parent>world</parent><child>c</child><pose>0 0 -0.5 0 0 0</pose><axis><xyz>0 1 0</xyz>
      </axis></joint>
  </model></world></sdf>
"""


def written(tmp_path, text=SDF, name="robot.sdf"):
    path = tmp_path / name
    path.write_text(text)
    return path


def imported(tmp_path, text=SDF, **options):
    return import_model(written(tmp_path, text), ImportOptions(**options))


def fates(report, kind):
    return {entry.name: (entry.fate, entry.why) for entry in report.entries if entry.kind == kind}


def built(path):
    document = load_scene(path)
    return build(resolve(document), document)


def test_the_mechanism_is_that_of_pinocchio(tmp_path):
    """Frames, poses relative to frames, axes expressed in links: the robot that URDF says by origins."""
    scene = tmp_path / "robot.yaml"
    text = imported(tmp_path).text
    assert "gravity: [0, 0, -9.8]" in text  # the format's, of which pinocchio knows nothing
    scene.write_text(text.replace("-9.8]", "-9.81]"))
    spring = "\n".join(line for line in scene.read_text().splitlines())
    assert "turn_spring: {type: torsion, joint: turn, stiffness: 3, rest_angle: 0.4}" in spring
    matrix, effort = agreement(written(tmp_path, URDF, "robot.urdf"), scene, tmp_path)
    assert matrix < 1e-12
    assert effort < 1e-12


def test_what_links_and_joints_say(tmp_path):
    spec = resolve(load_scene(written(tmp_path)))
    column, turn, reach = spec.bodies["column"], spec.joints["turn"], spec.joints["reach"]
    assert column.shapes["body"].material == "friction_0_8"
    assert spec.materials["friction_0_8"].friction == 0.8
    assert column.look.colour == "#ff8000"
    assert (turn.type, turn.limit, turn.damping, turn.friction) == ("revolute", None, (0.1,), (0.2,))
    assert (reach.limit[0].lower, reach.limit[0].upper) == (-0.1, 0.2)
    assert (reach.velocity_limit, reach.drive[0].effort_limit) == ((1.0,), 5)
    report = imported(tmp_path).report
    assert fates(report, "sensor")["imu"][0] == fates(report, "plugin")["driver"][0] == "dropped"
    assert fates(report, "frame") == {"shoulder": ("carried", ""), "hand": ("carried", "")}
    assert spec.bodies["arm"].frames["hand"].xyz == (0.4, 0, 0)
    assert spec.bodies["arm"].frames["hand"].quat_xyzw == pytest.approx((0, math.sin(0.25), 0, math.cos(0.25)))
    assert fates(report, "collision")["column/body"] == ("changed", "its friction of 0.8 holds in all directions")


def test_what_needs_another_number_is_told_without_it(tmp_path):
    """A friction across without one along, and what a limit without stiffness dissipates."""
    text = SDF.replace("<mu>0.8</mu>", "").replace("<upper>0.2</upper>", "<upper>0.2</upper><dissipation>3</dissipation>")
    report = imported(tmp_path, text).report
    assert fates(report, "collision")["column/body"] == (
        "changed",
        "its friction across (`mu2`) is left out, because it has none along (`mu`)",
    )
    assert fates(report, "limit")["reach"] == (
        "changed",
        "without its dissipation: hard limits have none, and it is not negative",
    )
    soft = text.replace("<dissipation>", "<stiffness>10</stiffness><dissipation>")
    assert fates(imported(tmp_path, soft).report, "limit")["reach"] == ("carried", "")


def test_every_element_is_told_once(tmp_path):
    """Parts belong to their element; all else has a line of the report."""
    parts = {
        "sdf",
        "model",
        "pose",
        "parent",
        "child",
        "axis",
        "xyz",
        "geometry",
        "cylinder",
        "radius",
        "length",
        "mass",
        "inertia",
        "ixx",
        "ixy",
        "ixz",
        "iyy",
        "iyz",
        "izz",
        "surface",
        "friction",
        "ode",
        "mu",
        "mu2",
        "material",
        "diffuse",
        "damping",
        "spring_stiffness",
        "spring_reference",
        "lower",
        "upper",
        "effort",
        "velocity",
    }
    path = written(tmp_path)
    told = [(entry.kind, entry.line) for entry in import_model(path).report.entries]
    for element in read_xml(path).below():
        if element.tag not in parts:
            assert told.count((element.tag, element.line)) == 1, element


def test_a_loop_closes_and_a_static_model_is_the_world(tmp_path):
    path = written(tmp_path, FOUR_BAR)
    model = built(path)
    assert [name for name, tree in zip(model.joints.name, model.joints.is_tree, strict=True) if not tree] == ["bars_s"]
    assert not model.start.faults
    assert not model.start.moves
    spec = resolve(load_scene(path))
    assert list(spec.world.shapes) == ["top"]
    assert spec.world.shapes["top"].pose.xyz == (0.0, 0.0, -0.5)
    report = import_model(path).report
    assert fates(report, "limit")["bars_p"] == ("dropped", "[0.1, 1.0] does not hold 0, where its loop closes")
    assert fates(report, "gravity")["bars_c"] == ("changed", "`gravity_compensation: 1`")
    assert spec.bodies["bars_c"].gravity_compensation == 1.0
    assert fates(report, "joint")["bars_s"][1] == "`s` is called `bars_s`; closes a loop at `bars_c`"


def test_nothing_is_ignored_in_silence(tmp_path):
    """An attribute or an element that nobody knows is told, whichever element it stands in."""
    for tag in {one.tag for one in read_xml(written(tmp_path)).below()} - {"sensor", "plugin"}:
        entries = imported(tmp_path, re.sub(f"<{tag}(?=[ >/])", f'<{tag} odd="1"', SDF)).report.entries
        assert any((one.fate, one.kind) == ("dropped", "attribute") and "odd" in one.name for one in entries), tag
        text = SDF.replace(f"</{tag}>", f"<odd/></{tag}>")
        entries = imported(tmp_path, text).report.entries
        assert text == SDF or any((one.fate, one.kind) == ("dropped", "odd") for one in entries), tag


def test_what_is_missing_or_bounds_nothing_is_told(tmp_path):
    report = imported(
        tmp_path,
        SDF.replace("<mass>0.3</mass>", "").replace("<effort>5", "<effort>0").replace("<velocity>1", "<velocity>-2"),
    ).report
    assert fates(report, "inertial")["slide"] == ("changed", "has no mass: 1 kg, as the format has it")
    fate, why = fates(report, "limit")["reach"]
    assert fate == "changed"
    assert why.startswith("`velocity` is negative and left out; `effort` is 0, as files write it that give none")


KINDS = {
    "universal": ('type="universal"', '<axis2><xyz expressed_in="column">0 0.8 -0.6</xyz></axis2>', "universal"),
    "revolute2": ('type="revolute2"', '<axis2><xyz expressed_in="column">1 0 0</xyz></axis2>', "universal"),
    "ball": ('type="ball"', "", "ball"),
    "screw": ('type="screw"', "<screw_thread_pitch>0.02</screw_thread_pitch>", "screw"),
    "screw of old": ('type="screw"', "<thread_pitch>-10</thread_pitch>", "screw"),
}


def with_second_axis(text, more):
    return text.replace('</axis></joint>\n    <joint name="reach"', f'</axis>{more}</joint>\n    <joint name="reach"')


@pytest.mark.parametrize("kind", KINDS)
def test_joints_of_all_types(tmp_path, kind):
    written_type, more, wanted = KINDS[kind]
    text = with_second_axis(SDF.replace('type="continuous"', written_type), more)
    joint = resolve(load_scene(written(tmp_path, text))).joints["turn"]
    assert joint.type == wanted
    if wanted == "screw":
        assert joint.pitch == pytest.approx(0.02 if kind == "screw" else 2 * 3.141592653589793 / 10)
    built(tmp_path / "robot.sdf")


def test_axes_that_are_not_at_right_angles_are_refused(tmp_path):
    text = with_second_axis(SDF.replace('type="continuous"', 'type="universal"'), "<axis2><xyz>1 0 1</xyz></axis2>")
    line = 1 + text[: text.index('name="turn"')].count("\n")
    with pytest.raises(FileError, match=rf"robot.sdf:{line}: the axes of joint `turn` are not at right angles"):
        imported(tmp_path, text)


def test_models_within_models_have_its_name(tmp_path):
    inner = f"""<model name="tool"><pose relative_to="slide">0 0 0.1 0 0 0</pose><link name="tip"><inertial><mass>0.1</mass>
      <inertia>{INERTIA}</inertia></inertial></link></model>
      <joint name="grip" type="fixed"><parent>slide</parent><child>tool::tip</child></joint>"""
    found = imported(tmp_path, SDF.replace("    <plugin", f"    {inner}<plugin"))
    spec = resolve(load_scene(tmp_path / "robot.sdf"))
    assert spec.bodies["tool_tip"].mass == 0.1
    assert spec.joints["grip"].parent_frame.xyz == pytest.approx((0.0, 0.0, 0.1))
    assert fates(found.report, "link")["tool_tip"] == ("changed", "`tip` is called `tool_tip`")


def test_the_base_floats_unless_it_is_held(tmp_path):
    free = SDF.replace('<joint name="foot" type="fixed"><parent>world</parent><child>column</child></joint>', "")
    assert "column_free" in built(written(tmp_path, free)).joints.name
    assert "column_fixed" in imported(tmp_path, free, base="fixed").text


CASSIE = sorted(
    path
    for root in {*sys.path, sys.prefix}
    if root
    for path in Path(root, "cmeel.prefix/share/example-robot-data/robots").rglob("*.sdf")
)


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.skipif(not CASSIE, reason="example-robot-data is not installed")
@pytest.mark.parametrize("path", CASSIE, ids=lambda path: path.stem)
def test_cassie_closes_and_runs(tmp_path, path):
    """Four loops, or six with springs and gears: closed at the start, and after 10 ms to the drift of the step."""
    import h5py

    scene, out = tmp_path / "cassie.yaml", tmp_path / "cassie.h5"
    assert run_command(["import", str(path), "-o", str(scene), "--fix-inertia"], debug=True, as_json=False) == Exit.OK
    model = built(scene)
    assert (~model.joints.is_tree).sum() in (4, 6)
    assert not model.start.faults
    words = ["--set", "solver={type: generalized, integrator: rk4, dt: 1.0e-4}", "--set", "contact={enabled: false}"]
    words = ["run", str(scene), "--duration", "0.01", *words, "-q", "-o", str(out)]
    assert run_command(words, debug=True, as_json=False) == Exit.OK
    with h5py.File(out) as file:
        assert file["diag/position_violation"][:].max() < 1e-6


# Elements and attributes of SDFormat 1.11, by the element that they stand in, with values that are not the defaults.
ELEMENTS = {
    "model": """<static>true</static> <allow_auto_disable>false</allow_auto_disable> <enable_wind>true</enable_wind>
        <self_collide>true</self_collide> <gripper name="g"/> <frame name="new"><pose>1 0 0 0 0 0</pose></frame>
        <model name="inner"><link name="l"/></model> <link name="loose"/>""",
    "link": """<gravity>false</gravity> <enable_wind>true</enable_wind> <self_collide>true</self_collide>
        <kinematic>true</kinematic> <must_be_base_link>true</must_be_base_link>
        <velocity_decay><linear>1</linear></velocity_decay>
        <projector name="p"/> <audio_sink/> <audio_source/> <battery name="b"/>
        <light name="l"/> <particle_emitter name="e"/>
        <collision name="more"><geometry><sphere><radius>1</radius></sphere></geometry></collision>""",
    "inertial": "<density>5</density> <fluid_added_mass><xx>1</xx></fluid_added_mass>",
    "collision": "<laser_retro>1</laser_retro> <max_contacts>3</max_contacts> <density>4</density> <auto_inertia_params/>",
    "visual": """<cast_shadows>false</cast_shadows> <laser_retro>1</laser_retro> <transparency>0.5</transparency>
        <visibility_flags>3</visibility_flags> <meta><layer>1</layer></meta>""",
    "material": """<script><name>x</name></script> <shader type="pixel"/> <render_order>1</render_order>
        <lighting>false</lighting> <ambient>1 0 0 1</ambient> <specular>1 0 0 1</specular> <emissive>1 0 0 1</emissive>
        <double_sided>true</double_sided> <pbr/>""",
    "surface": "<bounce><restitution_coefficient>1</restitution_coefficient></bounce> <contact/> <soft_contact/>",
    "friction": "<torsional><coefficient>1</coefficient></torsional> <bullet><friction>1</friction></bullet>",
    "ode": "<fdir1>1 0 0</fdir1> <slip1>1</slip1> <slip2>1</slip2>",
    "joint": """<gearbox_ratio>2</gearbox_ratio> <gearbox_reference_body>arm</gearbox_reference_body>
        <thread_pitch>2</thread_pitch> <screw_thread_pitch>2</screw_thread_pitch> <axis2><xyz>0 0 1</xyz></axis2>
        <physics/> <sensor name="s" type="force_torque"/>""",
    "axis": """<initial_position>1</initial_position> <use_parent_model_frame>true</use_parent_model_frame>
        <mimic joint="reach"><multiplier>2</multiplier></mimic>""",
    "limit": "<stiffness>10</stiffness> <stiffness>-10</stiffness> <dissipation>2</dissipation>",
}
ATTRIBUTES = {
    "model": 'canonical_link="arm"',
    "inertial": 'auto="true"',
    "pose": 'degrees="true"',
    "frame": 'attached_to="slide"',
    "xyz": 'expressed_in="shoulder"',
    "mesh": 'optimization="convex_hull"',
    "visual": 'odd="1"',
}
WHOLE = SDF.replace(
    '<plugin name="driver"', '<frame name="base"><pose>0 0 0.1 0 0 0.3</pose></frame>\n    <plugin name="driver"'
).replace(
    '<sensor name="imu" type="imu"/>', '<visual name="skin"><geometry><mesh><uri>skin.obj</uri></mesh></geometry></visual>'
)


def children_of(text):
    """Elements that stand beside each other, each as text."""
    root = ElementTree.fromstring(f"<all>{text}</all>")
    return [ElementTree.tostring(one, encoding="unicode").strip() for one in root]


def told_of(tmp_path, text):
    """What a person sees of an import: the scene without its head, and the report without lines."""
    (tmp_path / "skin.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    found = imported(tmp_path, text)
    scene = re.sub(r"# .*", "", found.text)
    return scene, sorted((one.fate, one.kind, one.name, one.why) for one in found.report.entries)


@pytest.mark.parametrize("parent", ELEMENTS)
def test_no_element_of_the_format_is_ignored_in_silence(tmp_path, parent):
    """It is in the scene, or in the report: also what another parser reads there and this one does not."""
    before = told_of(tmp_path, WHOLE)
    silent = []
    for element in children_of(ELEMENTS[parent]):
        text = WHOLE.replace(f"</{parent}>", f"{element}</{parent}>", 1)
        assert text != WHOLE
        if told_of(tmp_path, text) == before:
            silent.append(element)
    assert silent == []


@pytest.mark.parametrize("tag", ATTRIBUTES)
def test_no_attribute_of_the_format_is_ignored_in_silence(tmp_path, tag):
    name = ATTRIBUTES[tag].partition("=")[0]
    text = re.sub(f"<{tag}(?! [^>]*{name}=)(?=[ >/])", f"<{tag} {ATTRIBUTES[tag]}", WHOLE)
    assert text != WHOLE
    assert told_of(tmp_path, text) != told_of(tmp_path, WHOLE)


WORLD = """<sdf version="1.11"><world name="w"><frame name="bench"><pose>1 2 0 0 0 1.5707963267948966</pose></frame>
  <frame name="tip" attached_to="left"><pose>0 0 1 0 0 0</pose></frame>
  <model name="left"><pose relative_to="bench">0.5 0 0 0 0 0</pose><link name="a"/></model>
  <model name="right"><pose relative_to="left">0 0.5 0 0 0 0</pose>
    <link name="a"><pose relative_to="in">0.1 0 0 0 0 0</pose></link>
    <model name="in"><pose>0 0 0.3 0 0 0</pose><link name="b"/></model>
    <joint name="own" type="fixed"><parent>a</parent><child>in</child></joint></model>
  <joint name="foot" type="fixed"><parent>world</parent><child>left</child></joint>
  <joint name="hinge" type="revolute"><parent>tip</parent><child>right::a</child>
    <axis><xyz expressed_in="bench">1 0 0</xyz></axis></joint></world></sdf>"""


def test_frames_and_joints_of_the_world_and_frames_of_models_by_their_names(tmp_path):
    spec = resolve(load_scene(written(tmp_path, WORLD)))
    ends = {name: (joint.type, joint.parent, joint.child) for name, joint in spec.joints.items()}
    assert ends == {
        "foot": ("fixed", "world", "left_a"),
        "hinge": ("revolute", "left_a", "right_a"),
        "right_own": ("fixed", "right_a", "right_in_b"),
    }
    foot, hinge, own = (spec.joints[name] for name in ("foot", "hinge", "right_own"))
    assert foot.parent_frame.xyz == pytest.approx((1, 2.5, 0))
    assert hinge.parent_frame.xyz == pytest.approx((0.1, 0.5, 0.3))  # in `left`, which is turned by 90 degrees as `bench` is
    assert hinge.axis == pytest.approx((1, 0, 0))
    assert own.parent_frame.xyz == pytest.approx((-0.1, 0, 0))
    assert spec.bodies["left_a"].points["tip"] == pytest.approx((0, 0, 1))


def test_a_joint_follows_another_one(tmp_path):
    """position = multiplier (position of the leader - reference) + offset; what joins other joints is dropped by name."""

    def with_mimic(words, joint="reach"):
        mimic = f"<mimic {words}><multiplier>-3</multiplier><offset>0.2</offset><reference>0.1</reference></mimic>"
        at = SDF.index("</axis>", SDF.index(f'<joint name="{joint}"'))
        return SDF[:at] + mimic + SDF[at:]

    spec = resolve(load_scene(written(tmp_path, with_mimic('joint="turn" axis="axis"'))))
    mimic = spec.joints["reach"].mimic
    assert (mimic.joint, mimic.ratio, mimic.offset) == ("turn", -3, pytest.approx(0.5))
    for words in ('joint="turn" axis="axis2"', 'joint="foot"'):
        report = imported(tmp_path, with_mimic(words)).report
        assert ("dropped", "reach") in {(one.fate, one.name) for one in report.entries if one.kind == "mimic"}
    for joint in ("reach", "nothing"):
        with pytest.raises(FileError, match="mimics"):
            imported(tmp_path, with_mimic(f'joint="{joint}"'))


def test_a_joint_stands_where_the_frame_that_it_names_says(tmp_path):
    """Beside a link that is not its child, and in the model: its place in the child is worked out, not copied."""
    for named, place in (("arm", "0.4 0.1 0"), ("__model__", "0.55 0.1 0.6"), ("slide", "0 0 0")):
        text = f"""<sdf version="1.11"><model name="m">
          <link name="arm"><pose>0.15 0 0.6 0 0 0</pose><inertial><mass>1</mass></inertial></link>
          <link name="slide"><pose>0.55 0.1 0.6 0 0 0</pose><inertial><mass>1</mass></inertial></link>
          <joint name="reach" type="fixed"><pose relative_to="{named}">{place} 0 0 0</pose><parent>arm</parent>
          <child>slide</child></joint></model></sdf>"""
        joint = resolve(load_scene(written(tmp_path, text))).joints["reach"]
        assert joint.parent_frame.xyz == pytest.approx((0.4, 0.1, 0.0)), named
        assert joint.child_frame is None or joint.child_frame.xyz == pytest.approx((0.0, 0.0, 0.0), abs=1e-15), named


@pytest.mark.parametrize(("words", "link"), [("", "column"), ('canonical_link="arm"', "arm")], ids=["first", "named"])
def test_a_model_moves_with_its_canonical_link(tmp_path, words, link):
    """So do frames that are attached to nothing else, and joints that name them."""
    text = SDF.replace('<model name="robot">', f'<model name="robot" {words}><frame name="base"/>')
    text = text.replace("<parent>arm</parent>", "<parent>__model__</parent>")
    spec = resolve(load_scene(written(tmp_path, text)))
    assert [name for name, body in spec.bodies.items() if "base" in body.points | body.frames] == [link]
    assert spec.joints["reach"].parent == link
    with pytest.raises(FileError, match="names the unknown frame `none`"):
        imported(tmp_path, SDF.replace('<model name="robot">', '<model name="robot" canonical_link="none">'))


def test_models_of_models_move_with_the_link_of_the_first(tmp_path):
    text = SDF.replace('<model name="robot">', '<model name="outer"><frame name="base"/><model name="robot">')
    text = text.replace("</model>", "</model></model>")
    spec = resolve(load_scene(written(tmp_path, text)))
    assert [name for name, body in spec.bodies.items() if "base" in body.points | body.frames] == ["robot_column"]


NOTED = """<sdf version="1.11"><world name="w"><light name="sun" type="point"/><gui/><model name="m">
  <allow_auto_disable>true</allow_auto_disable> <enable_wind>false</enable_wind>
  <link name="a"><inertial><mass>1</mass><inertia><ixx>1</ixx></inertia></inertial> <sensor name="s" type="imu"/>
    <velocity_decay><linear>0</linear><angular>0.0</angular></velocity_decay>
    <visual name="v"><cast_shadows>false</cast_shadows><geometry><mesh><uri>none.dae</uri></mesh></geometry>
      <material odd="1"><ambient>1 0 0 1</ambient><pbr/></material></visual></link>
  <link name="b"><pose>0 0 1 0 0 0</pose><inertial><mass>1</mass></inertial></link>
  <joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz>
    <initial_position>0</initial_position></axis></joint>
  <!-- here --></model></world></sdf>"""
LOSSES = (
    "<plugin name='p' filename='p.so'/>",
    "<enable_wind>true</enable_wind>",
    "<gripper name='g'/>",
    "<link name='c' odd='1'><inertial><mass>1</mass></inertial></link>",
)


@pytest.mark.parametrize("more", ["", *LOSSES])
def test_strict_fails_where_motion_depends_on_what_is_lost(tmp_path, capsys, monkeypatch, more):
    """Lights, sensors, looks and what says 0 or false are told, and lose nothing."""
    monkeypatch.chdir(tmp_path)
    text = NOTED.replace("<enable_wind>false</enable_wind>", "") if "enable_wind" in more else NOTED
    path = written(tmp_path, text.replace("<!-- here -->", more))
    report = import_model(path).report
    lost = [one for one in report.entries if one.fate == "dropped" and not one.is_note]
    assert len(lost) == bool(more)
    assert {"light", "gui", "sensor", "visual", "allow_auto_disable"} <= {one.kind for one in report.entries if one.is_note}
    carried = {one.kind for one in report.entries if one.fate == "carried"}
    assert {"velocity_decay", "initial_position"} <= carried
    code = run_command(["import", path.name, "--strict"], debug=False, as_json=False)
    assert code == (Exit.NEGATIVE if more else Exit.OK)
    assert "of which do not affect the motion" in capsys.readouterr().err


def test_a_frame_of_a_link_without_mass_keeps_its_orientation(tmp_path):
    """It is one of the link that holds it."""
    text = """<sdf version="1.11"><model name="m"><link name="a"/>
      <link name="b"><pose>1 0 0 0 0 0.3</pose><inertial><mass>0</mass></inertial></link>
      <frame name="f" attached_to="b"><pose>0 0 2 0 0 0.4</pose></frame>
      <joint name="j" type="fixed"><parent>a</parent><child>b</child></joint></model></sdf>"""
    frame = resolve(load_scene(written(tmp_path, text))).bodies["a"].frames["f"]
    assert frame.xyz == pytest.approx((1, 0, 2))
    assert frame.quat_xyzw == pytest.approx((0, 0, math.sin(0.35), math.cos(0.35)))


def test_a_plane_that_is_only_seen_is_dropped_by_name(tmp_path):
    """The same plane twice, to touch and to see, is one shape of the world."""
    plane = "<geometry><plane><normal>0 0 1</normal></plane></geometry>"
    both = f'<collision name="c">{plane}</collision><visual name="v">{plane}</visual>'
    for inner, fate in ((both, "carried"), (f'<visual name="v">{plane}</visual>', "dropped")):
        ground = f'<model name="plain"><static>1</static><link name="g">{inner}</link></model>'
        text = FOUR_BAR.replace('<model name="bars">', f'{ground}<model name="bars">')
        report = imported(tmp_path, text).report
        assert fates(report, "visual")["world/v"][0] == fate
        assert built(tmp_path / "robot.sdf").bodies.name


def test_joints_of_what_does_not_move(tmp_path):
    """Between links of a static model they are dropped; from a moving link to a static one they hang on the world."""
    text = """<sdf version="1.7"><world name="w"><model name="wall"><static>1</static><link name="a"/>
      <link name="b"><pose>1 0 0 0 0 0</pose></link>
      <joint name="own" type="ball"><parent>a</parent><child>b</child></joint></model>
      <model name="door"><link name="leaf"><pose>1.5 0 0 0 0 0</pose></link></model>
      <joint name="hinge" type="revolute"><pose>0.1 0 0 0 0 0</pose><parent>door::leaf</parent><child>wall::b</child>
        <axis><xyz>0 0 1</xyz></axis></joint></world></sdf>"""
    spec = resolve(load_scene(written(tmp_path, text)))
    assert list(spec.joints) == ["hinge"]
    hinge = spec.joints["hinge"]
    assert (hinge.parent, hinge.child, hinge.axis) == ("world", "door_leaf", (0, 0, -1))
    assert hinge.parent_frame.xyz == pytest.approx((1.1, 0, 0))
    assert fates(imported(tmp_path, text).report, "joint")["own"] == ("dropped", "joins what does not move")


def test_files_before_1_7_may_give_a_link_and_a_joint_one_name(tmp_path):
    """libsdformat calls the joint by another name; from 1.7 on names are unique within a model."""
    text = SDF.replace('<joint name="reach"', '<joint name="slide"').replace(' rotation_format="euler_rpy"', "")
    with pytest.raises(FileError, match="a second element `slide`"):
        imported(tmp_path, text)
    old = """<sdf version="1.6"><model name="m"><link name="a"/><link name="b"><pose>1 0 0 0 0 0</pose></link>
      <joint name="b" type="revolute"><pose>0 0 0.5 0 0 0</pose><parent>a</parent><child>b</child>
      <axis><xyz>0 0 1</xyz></axis></joint></model></sdf>"""
    joint = resolve(load_scene(written(tmp_path, old))).joints["b_joint"]
    assert joint.parent_frame.xyz == pytest.approx((1, 0, 0.5))
    assert fates(imported(tmp_path, old).report, "joint")["b_joint"] == ("changed", "`b` is called `b_joint`")


def test_a_root_without_mass_is_refused_unless_it_is_held(tmp_path):
    text = """<sdf version="1.6"><model name="m"><link name="a"><inertial><mass>0</mass></inertial></link><link name="b"/>
      <joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint></model>
      </sdf>"""
    with pytest.raises(FileError, match=r"robot.sdf:1: link `a` has no mass, and nothing holds it: .* --base fixed"):
        imported(tmp_path, text)
    assert "j: {type: revolute, parent: world" in imported(tmp_path, text, base="fixed").text


def test_joints_begin_where_the_file_says(tmp_path):
    """Not what follows another joint, and not what is outside its limits."""

    def starting(text, joint, value):
        at = text.index("</xyz>", text.index(f'<joint name="{joint}"')) + len("</xyz>")
        return f"{text[:at]}<initial_position>{value}</initial_position>{text[at:]}"

    text = starting(starting(SDF, "turn", 0.7), "reach", 0.05)
    assert "joint_q: {turn: 0.7, reach: 0.05}" in imported(tmp_path, text).text
    assert fates(imported(tmp_path, text).report, "initial_position")["turn"] == ("carried", "")
    mimic = '<mimic joint="turn"><multiplier>0.1</multiplier></mimic>'
    follows = text.replace("<limit><lower>-0.1", f"{mimic}<limit><lower>-0.1")
    found = imported(tmp_path, follows)
    assert "joint_q: {turn: 0.7}" in found.text
    assert fates(found.report, "initial_position")["reach"] == ("dropped", "its joint follows another one")
    assert "reach: center" in imported(tmp_path, starting(SDF, "reach", 0.5)).text
    loop = imported(tmp_path, starting(FOUR_BAR, "q", 0.3))
    assert "joint_q" not in loop.text
    assert fates(loop.report, "initial_position")["bars_q"] == ("dropped", "is not 0, where its loop closes")


SHAPES = """<collision name="c1"><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose><density>500</density>
    <geometry><box><size>0.1 0.2 0.3</size></box></geometry></collision>
  <collision name="c2"><pose>-0.1 0 0.3 0 0.5 0</pose>
    <geometry><capsule><radius>0.05</radius><length>0.4</length></capsule></geometry></collision>
  <collision name="c3"><pose>0 -0.3 0 0 0 0.6</pose>
    <geometry><ellipsoid><radii>0.1 0.15 0.2</radii></ellipsoid></geometry></collision>
  <collision name="c4"><pose>0 0.4 0 0.6 0 0</pose>
    <geometry><cylinder><radius>0.1</radius><length>0.2</length></cylinder></geometry></collision>"""


DENSITIES = {
    "water": ("", 1000, None),
    "density": ("<density>300</density>", 300, None),
    "mass": ("<mass>2.5</mass>", 1000, 2.5),
}


@pytest.mark.parametrize(("words", "common", "mass"), DENSITIES.values(), ids=DENSITIES)
def test_an_automatic_inertia_is_that_of_the_shapes(tmp_path, words, common, mass):
    """As MuJoCo has it of the same geoms."""
    mujoco = pytest.importorskip("mujoco")
    text = f"""<sdf version="1.11"><model name="m"><link name="a"><inertial auto="true">{words}</inertial>{SHAPES}</link>
      </model></sdf>"""
    body = resolve(load_scene(written(tmp_path, text))).bodies["a"]
    rho = f'density="{common}"'
    peer = mujoco.MjModel.from_xml_string(f"""<mujoco><compiler angle="radian" eulerseq="XYZ" inertiafromgeom="true"
      {f'settotalmass="{mass}"' if mass else ""}/><worldbody><body><freejoint/>
      <geom type="box" size="0.05 0.1 0.15" pos="0.1 0.2 0.3" euler="0.4 0.5 0.6" density="500"/>
      <geom type="capsule" size="0.05 0.2" pos="-0.1 0 0.3" euler="0 0.5 0" {rho}/>
      <geom type="ellipsoid" size="0.1 0.15 0.2" pos="0 -0.3 0" euler="0 0 0.6" {rho}/>
      <geom type="cylinder" size="0.1 0.1" pos="0 0.4 0" euler="0.6 0 0" {rho}/></body></worldbody></mujoco>""")
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, peer.body_iquat[1])
    turn = turn.reshape(3, 3)
    assert body.mass == pytest.approx(peer.body_mass[1], rel=1e-14)
    assert body.com == pytest.approx(peer.body_ipos[1], abs=1e-14)
    assert np.asarray(body.inertia.matrix()) == pytest.approx(turn @ np.diag(peer.body_inertia[1]) @ turn.T, abs=1e-13)
    assert fates(imported(tmp_path, text).report, "inertial")["a"] == ("changed", "`auto`: that of its shapes")


def test_an_automatic_inertia_of_a_mesh_and_of_nothing(tmp_path):
    """A tetrahedron, mirrored: its volume is 1/6; a link without shapes has what the file gives, dropped by name."""
    (tmp_path / "skin.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    mesh = "<geometry><mesh><uri>skin.obj</uri><scale>-1 1 2</scale></mesh></geometry>"
    text = f"""<sdf version="1.11"><model name="m"><link name="a"><inertial auto="true"><pose>9 9 9 0 0 0</pose></inertial>
      <collision name="c">{mesh}</collision></link></model></sdf>"""
    found = imported(tmp_path, text)
    assert fates(found.report, "inertial")["a"] == ("changed", "`auto`: that of its shapes and without its own pose")
    body = resolve(load_scene(tmp_path / "robot.sdf")).bodies["a"]
    assert body.mass == pytest.approx(1000 / 3)
    assert body.com == pytest.approx((-0.25, 0.25, 0.5))
    for shape, why in (
        ("", "the link has no collision"),
        (f'<collision name="c">{mesh}</collision>'.replace("skin", "no"), "`c`: mesh: there is no such file"),
    ):
        bare = f'<sdf version="1.11"><model name="m"><link name="a"><inertial auto="1"/>{shape}</link></model></sdf>'
        fate, words = fates(imported(tmp_path, bare).report, "inertial")["a"]
        assert (fate, words.startswith(f"`auto`: {why}")) == ("dropped", True)


def test_a_mesh_with_colours_is_seen_and_weighed(tmp_path):
    """Two tetrahedra of 1/6 m^3; a material of the file is instead of the colours of the mesh."""
    pytest.importorskip("collada")
    (tmp_path / "skin.dae").write_text(COLLADA)
    mesh = "<geometry><mesh><uri>skin.dae</uri></mesh></geometry>"
    paint = "<transparency>0.5</transparency><material><diffuse>0 0 1 1</diffuse></material>"
    text = f"""<sdf version="1.11"><model name="m"><link name="a"><inertial auto="true"/>
      <collision name="c">{mesh}</collision><visual name="v">{mesh}{paint}</visual></link>
      <link name="b"><visual name="v">{mesh}<transparency>0.5</transparency></visual></link></model></sdf>"""
    imported(tmp_path, text)
    bodies = resolve(load_scene(tmp_path / "robot.sdf")).bodies
    assert bodies["a"].mass == pytest.approx(1000 * VOLUME)
    looks = {
        name: [(one.colour or body.look.colour, one.opacity or body.look.opacity) for one in body.look.shapes.values()]
        for name, body in bodies.items()
    }
    assert looks["a"] == [("#0000ff", 0.5)] * 3
    assert looks["b"] == [("#cc3300", 0.5), ("#333333", 0.2), (None, 0.5)]


# Worlds: models that meet, gravity, surfaces, masks, models of other files.

BALL = """<model name="{0}"><pose>{1} 0 0 0</pose><link name="l"><inertial><mass>1</mass></inertial><collision name="c">
  <geometry><sphere><radius>0.5</radius></sphere></geometry>{2}</collision></link>{3}</model>"""


def world_of(*models, version="1.9", words="<gravity>0 0 0</gravity>"):
    return f'<sdf version="{version}"><world name="w">{words}{"".join(models)}</world></sdf>'


def meeting(tmp_path, text) -> set[frozenset[str]]:
    """Pairs of bodies whose shapes may touch."""
    spec = resolve(load_scene(written(tmp_path, text)))
    shapes = {name: next(iter(body.shapes.values())) for name, body in spec.bodies.items() if body.shapes}
    return {
        frozenset((a, b))
        for a, one in shapes.items()
        for b, other in shapes.items()
        if a != b
        and one.collide
        and other.collide
        and (set(one.layers) & set(other.touches) or set(other.layers) & set(one.touches))
    }


def test_models_of_a_world_meet_and_links_of_one_do_not(tmp_path):
    pair = BALL.format(
        "a",
        "0 0 0",
        "",
        '<link name="m"><inertial><mass>1</mass></inertial><collision name="c"><geometry>'
        "<box><size>1 1 1</size></box></geometry></collision></link>",
    )
    found = meeting(tmp_path, world_of(pair, BALL.format("b", "3 0 0", "", "")))
    assert found == {frozenset(("a_l", "b_l")), frozenset(("a_m", "b_l"))}
    touching = pair.replace("</model>", "<self_collide>true</self_collide></model>")
    assert frozenset(("a_l", "a_m")) in meeting(tmp_path, world_of(touching, BALL.format("b", "3 0 0", "", "")))


def test_masks_are_layers(tmp_path):
    masks = {"a": "0x01", "b": "3", "c": "0x02", "d": "0", "e": "65535"}
    surface = "<surface><contact><collide_bitmask>{}</collide_bitmask></contact></surface>"
    models = [BALL.format(name, f"{3 * k} 0 0", surface.format(mask), "") for k, (name, mask) in enumerate(masks.items())]
    bits = {name: int(mask, 0) for name, mask in masks.items()}
    wanted = {frozenset((f"{a}_l", f"{b}_l")) for a in bits for b in bits if a < b and bits[a] & bits[b]}
    assert meeting(tmp_path, world_of(*models)) == wanted


@pytest.mark.parametrize(
    ("version", "words", "gravity"),
    [
        ("1.4", '<physics type="ode"><gravity>0 0 -1.62</gravity></physics>', -1.62),
        ("1.5", '<physics name="p" type="ode"><gravity>0 0 -3</gravity><max_step_size>1</max_step_size></physics>', -3.0),
        ("1.9", "<gravity>0 0 -2</gravity>", -2.0),
        ("1.9", "", -9.8),
    ],
)
def test_gravity_stands_where_the_version_has_it(tmp_path, version, words, gravity):
    text = world_of(BALL.format("a", "0 0 0", "", ""), version=version, words=words)
    assert resolve(load_scene(written(tmp_path, text, "robot.world"))).world.gravity == (0.0, 0.0, gravity)


def test_surfaces_bounce_and_resist_turning(tmp_path):
    surface = """<surface><bounce><restitution_coefficient>0.7</restitution_coefficient><threshold>0.1</threshold></bounce>
      <friction><torsional><coefficient>0.8</coefficient><patch_radius>0.01</patch_radius></torsional>
      <ode><mu>0.5</mu></ode></friction></surface>"""
    found = imported(tmp_path, world_of(BALL.format("a", "0 0 0", surface, "")))
    spec = resolve(load_scene(tmp_path / "robot.sdf"))
    material = spec.materials[spec.bodies["l"].shapes["c"].material]
    assert (material.friction, material.restitution) == (0.5, 0.7)
    assert material.torsional_friction == pytest.approx(3 * np.pi / 16 * 0.8 * 0.01, rel=1e-12)
    assert any("0.1 m/s" in entry.why for entry in found.report.entries)


def test_models_of_other_files_are_put_in_their_place(tmp_path):
    (tmp_path / "ball").mkdir()
    ball = BALL.format("ball", "0 0 1", "", "")
    ball = ball.replace("<sphere><radius>0.5</radius></sphere>", "<mesh><uri>m.obj</uri></mesh>")
    (tmp_path / "ball" / "model.sdf").write_text(f'<sdf version="1.9">{ball}</sdf>')
    (tmp_path / "ball" / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (tmp_path / "ball" / "model.config").write_text('<model><sdf version="1.9">model.sdf</sdf></model>')
    include = "<include><uri>{}</uri><name>{}</name>{}</include>"
    text = world_of(
        include.format("model://ball", "one", "<pose>1 2 3 0 0 0</pose>"),
        include.format("ball", "two", ""),
        include.format("ball/model.sdf", "still", "<static>true</static>"),
    )
    found = imported(tmp_path, text)
    spec = resolve(load_scene(tmp_path / "robot.sdf"))
    assert [(name, body.pose.xyz) for name, body in spec.bodies.items()] == [("one_l", (1, 2, 3)), ("two_l", (0, 0, 1))]
    assert len(spec.world.shapes) == 1
    assert len(found.files) == 1
    assert {entry.file for entry in found.report.entries if entry.kind == "link"} == {"ball/model.sdf"}


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("https://fuel.example/ball", "no such file"),
        ("../ball.sdf", "lies outside"),
        ("robot.sdf", "includes itself"),
        ("model://nothing", "not found"),
    ],
)
def test_models_that_are_not_there_are_refused_with_the_line(tmp_path, uri, words):
    with pytest.raises(FileError, match=rf"robot.sdf:2: .*{words}"):
        imported(tmp_path, world_of(f"\n<include><uri>{uri}</uri></include>"))


def test_a_screw_without_pitch_is_reported(tmp_path):
    text = """<sdf version="1.9"><model name="r"><link name="a"/><link name="b"/>
      <joint name="j" type="screw"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint></model></sdf>"""
    assert "has no pitch" in next(one.why for one in imported(tmp_path, text).report.entries if one.kind == "joint")
