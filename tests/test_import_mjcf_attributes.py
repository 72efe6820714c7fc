"""What becomes of attributes of MJCF: each of MuJoCo's schema is thought of, flags and options switch what they switch.

MJCF files that are refused or lose something: hostile ones, faults of included files, options that a file states.

Sensors and keyframes as MJCF, and back: the same sensors at the same places, the same states and controls.
"""

import re
import sys

import numpy as np
import pytest
from support.mjcf import Pair
from support.mjcf_kinds import BALL as BALL_JOINT
from support.mjcf_kinds import MODEL
from support.mjcf_kinds import bodies as faulty
from support.mjcf_kinds import fates as fates_of_faults
from support.mjcf_kinds import imported as imported_of_faults
from support.mjcf_kinds import model_file as model_file_of_faults
from test_import_mjcf import BALL, bodies, fates, imported, model_file, spec_of

from simcli.errors import FileError, UsageError
from simcli.exchange.exporting import export_scene
from simcli.exchange.importing import ImportOptions, import_model, load_scene
from simcli.exchange.mjcf import sensors
from simcli.exchange.mjcf.element_report import CARRIED_ATTRIBUTES, LOST_ATTRIBUTES, LOST_DEFAULTS, LOST_ELEMENTS
from simcli.model import build
from simcli.model.joints.tree_kinematics import body_poses
from simcli.spec import resolve
from simcli.spec.base.sensor_types import SENSOR_TYPES

mujoco = pytest.importorskip("mujoco")
SAME = 1e-8  # [m] after 0.1 s by rk4 of 1 ms
# Elements that are refused, or whose parts are dropped with all attributes, whatever these say.
ALL_LOST = {"flexcomp", "attach", "deformable", "model", "flex", "flexstrain", *LOST_ELEMENTS, *LOST_DEFAULTS}
SENSED = {
    kind.lower()
    for table in (
        sensors.SENSORS_AT_SITES,
        sensors.SENSORS_AT_OBJECTS,
        sensors.SENSORS_OF_JOINTS,
        sensors.SENSORS_AT_JOINTS,
        sensors.SENSORS_OF_SUBTREES,
    )
    for kind in table
}
SENSED |= {"touch"}
HELD = {"equality", "sensor"}  # elements in them have attributes in common
ARM = (
    f'<body name="a"><joint name="j" axis="0 1 0"/>{BALL}<body name="b" pos="0.3 0 0"><joint name="k" axis="0 1 0"/>'
    f'<geom name="g" type="capsule" size="0.05 0.1" pos="0.2 0 0"/><site name="s" pos="0.3 0 0"/></body></body>'
)


def schema():
    """(path of tags, attributes) of each element that MuJoCo reads."""
    path, found = [], []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        element = re.match(r"( *)(\S+) \(.\) *(.*)", line)
        if element:
            depth = len(element[1]) // 3
            path = [*path[:depth], element[2].removeprefix("(world)")]
            found.append((tuple(path), element[3].split()))
        elif found:
            found[-1][1].extend(line.split())
    return found


def test_every_attribute_of_mujoco_is_thought_of():
    """It is carried, or lost with a reason, and not both; MuJoCo has each that is named."""
    known = {}
    for path, keys in schema():
        owner = path[-2] if len(path) > 1 else ""
        if ALL_LOST & set(path) or (owner == "sensor" and path[-1] not in SENSED):
            continue
        table = owner if owner in HELD else "path" if owner in ("fixed", "spatial") else path[-1]
        known.setdefault(table, set()).update(keys)
    assert len(known) > 25
    assert len(SENSED) == 18
    ours = {table: {*CARRIED_ATTRIBUTES.get(table, ()), *LOST_ATTRIBUTES.get(table, {})} for table in known}
    assert {table: keys - ours[table] for table, keys in known.items() if keys - ours[table]} == {}
    both = {table: set(keys) & set(LOST_ATTRIBUTES.get(table, {})) for table, keys in CARRIED_ATTRIBUTES.items()}
    assert {table: keys for table, keys in both.items() if keys} == {}
    assert {key for table in LOST_ATTRIBUTES.values() for key in table} <= set().union(*known.values())


def test_an_attribute_that_nobody_knows_is_told(tmp_path, monkeypatch):
    """As one of a MuJoCo that is newer than the tables."""
    monkeypatch.setitem(CARRIED_ATTRIBUTES, "joint", tuple(set(CARRIED_ATTRIBUTES["joint"]) - {"armature"}))
    text = bodies(ARM.replace('name="k"', 'name="k" armature="0.1"'))
    assert fates(imported(tmp_path, text).report, "joint@armature") == {"k": ("dropped", "the importer does not know it")}


def test_coefficients_after_the_first_are_told(tmp_path):
    """Of joints, of both kinds of tendons, and of defaults; those that are 0 are nothing."""
    text = bodies(
        ARM.replace('name="j"', 'name="j" damping="0.2 0.1" stiffness="1 2"').replace(
            'name="k"', 'name="k" damping="0.2 0 0" stiffness="3"'
        )
        + '<site name="w" pos="0 0 1"/>',
        """
      <default><tendon damping="0 0 0.1"/><joint stiffness="0 1"/></default>
      <tendon><fixed name="t" stiffness="10 5" damping="0.5 0.3"><joint joint="j" coef="1"/></fixed>
        <spatial name="u" stiffness="10 5"><site site="w"/><site site="s"/></spatial></tendon>""",
    )
    spec, report = spec_of(tmp_path, text), imported(tmp_path, text).report
    assert (spec.joints["j"].damping, spec.forces["j_spring"].stiffness) == ((0.2,), (1.0,))
    told = {entry.kind for entry in report.entries if entry.why.startswith("has coefficients after the first one")}
    assert told == {
        "joint@damping",
        "joint@stiffness",
        "fixed@stiffness",
        "fixed@damping",
        "spatial@stiffness",
        "tendon@damping",
    }
    assert set(fates(report, "joint@damping")) == {"j"}
    model = mujoco.MjModel.from_xml_string(text)
    assert model.dof_dampingpoly.any(axis=1).tolist() == [True, False]


def flagged(text, **flags):
    words = "".join(f' {key}="{value}"' for key, value in flags.items())
    return text.replace("<worldbody>", f"<option><flag{words}/></option><worldbody>")


DRIVEN = bodies(
    ARM,
    """<actuator><motor name="m" joint="k" gear="5" ctrlrange="-1 1" group="3"/>
    <position name="p" joint="j" kp="20" ctrlrange="-0.1 0.1" group="2"/></actuator>
    <keyframe><key name="up" ctrl="3 0.4"/></keyframe>""",
)


@pytest.mark.parametrize("change", ["none", "clampctrl", "group"])
def test_actuators_drive_as_in_mujoco(tmp_path, change):
    """Controls that are clamped, or not, and groups of actuators that `option` switches off."""
    text = {
        "none": DRIVEN,
        "clampctrl": flagged(DRIVEN, clampctrl="disable"),
        "group": DRIVEN.replace("<worldbody>", '<option actuatorgroupdisable="2 7"/><worldbody>'),
    }[change]
    pair = Pair(model_file(tmp_path, text), tmp_path / "scene", off=("contact",))
    pair.data.ctrl[:] = pair.model.key_ctrl[0]
    controls = pair.mechanism.sections["keyframes"]["up"]["controls"]
    assert pair.difference(*(word for path, value in controls.items() for word in ("--set", f"{path}={value!r}"))) < SAME
    drives = {name: joint.drive and joint.drive[0].effort_limit for name, joint in spec_of(tmp_path, text).joints.items()}
    report = imported(tmp_path, text).report
    assert drives["k"] == (None if change == "clampctrl" else 5.0)
    fate, why = fates(report, "position")["p"]
    assert (fate, "its group is switched off by `option`" in why) == (
        ("dropped", True) if change == "group" else ("changed", False)
    )
    assert ("range of its control" in why) == (change == "none")


def test_flags_and_options_take_effect_or_are_reported(tmp_path):
    """Those of MuJoCo's solver by name; what they are by default says nothing."""
    bits = {name.removeprefix("mjDSBL_").lower() for name in mujoco.mjtDisableBit.__members__ if "DSBL" in name}
    enabling = {name.removeprefix("mjENBL_").lower() for name in mujoco.mjtEnableBit.__members__ if "ENBL" in name}
    every = dict.fromkeys(bits, "disable") | dict.fromkeys(enabling - {"ipc"}, "enable")
    report = imported(tmp_path, flagged(DRIVEN, **every)).report
    told = {entry.kind for entry in report.entries if entry.kind.startswith("flag@")}
    assert told == {f"flag@{key}" for key in LOST_ATTRIBUTES["flag"]} - {"flag@ipc"}
    nothing = dict.fromkeys(bits, "enable") | dict.fromkeys(enabling, "disable")
    report = imported(tmp_path, flagged(DRIVEN, **nothing)).report
    assert not [entry for entry in report.entries if entry.kind.startswith("flag@")]
    text = DRIVEN.replace("<worldbody>", '<option cone="elliptic" impratio="10" o_margin="0.1" solver="CG"/><worldbody>')
    told = {entry.kind for entry in imported(tmp_path, text).report.entries if entry.fate == "dropped"}
    assert told == {"option@impratio", "option@o_margin", "option@solver"}


def test_sensors_that_are_switched_off_are_dropped(tmp_path):
    text = flagged(bodies(ARM, '<sensor><jointpos name="q" joint="j"/></sensor>'), sensor="disable")
    assert fates(imported(tmp_path, text).report, "jointpos")["q"] == ("dropped", "sensors are switched off by `option`")


def test_actuators_of_several_controls_leave_the_others_theirs(tmp_path):
    """A `pid` has up to three, so that the numbers of actuators and of their controls differ; these two are no drives."""
    text = bodies(
        ARM,
        """<actuator><pid name="p" joint="j" kp="20" kv="1" input="pos vel ff"/>
        <motor name="m" joint="k" gear="2" ctrlrange="-1 1.5"/><pid name="q" joint="j" kp="3" ki="1" kv="1"/>
        <position name="s" joint="k" kp="4"/></actuator><keyframe><key name="up" ctrl="CONTROLS" act="0"/></keyframe>""",
    )
    model = mujoco.MjModel.from_xml_string(text.replace('ctrl="CONTROLS" act="0"', ""))
    control = np.zeros(model.nu)
    first = {model.actuator(a).name: int(model.actuator_ctrladr[a]) for a in range(model.nactuator)}
    control[[first["m"], first["s"]]] = 2.0, 0.25
    text = text.replace("CONTROLS", " ".join(map(str, control))).replace('act="0"', f'act="{" ".join(["0"] * model.na)}"')
    spec, report = spec_of(tmp_path, text), imported(tmp_path, text).report
    assert model.nu > model.nactuator == 4
    assert fates(report, "pid") == {
        "p": ("dropped", "adds a control to its force, and a drive that has targets takes no force"),
        "q": ("dropped", "integrates its error, or bounds the rate of its target"),
    }
    assert spec.joints["k"].drive[0].effort_limit == 3.0
    assert spec.keyframes["up"].controls == {"joints.k.drive.target": 3.0, "forces.s.drive.target": 0.25}
    assert spec.joints["j"].drive is None
    assert fates(report, "key")["up"] == ("carried", "")


@pytest.mark.parametrize(
    "words",
    ["", 'input="pos" gear="2"', 'input="vel" gear="-1.5"', 'forcerange="-1 1"', 'posrange="-0.1 0.1" velrange="-2 2"'],
)
def test_a_pid_that_does_not_integrate_drives_as_in_mujoco(tmp_path, words):
    """Its force is kp (u_1 - L) + kv (u_2 - L'), of a length L that is the gear times the coordinate."""
    text = bodies(
        ARM,
        f"""<actuator><pid name="p" joint="j" kp="20" kv="1" {words}/><motor name="m" joint="k"/></actuator>
        <keyframe><key name="up" CONTROLS/></keyframe>""",
    )
    count = mujoco.MjModel.from_xml_string(text.replace("CONTROLS", "")).nu
    text = text.replace("CONTROLS", f'ctrl="{" ".join(map(str, [0.4, -0.7, 0.3][3 - count :]))}"')
    pair = Pair(model_file(tmp_path, text), tmp_path / "scene", off=("contact",))
    pair.data.ctrl[:] = pair.model.key_ctrl[0]
    controls = pair.mechanism.sections["keyframes"]["up"]["controls"]
    assert len(controls) == count
    assert pair.difference(*(word for path, value in controls.items() for word in ("--set", f"{path}={value!r}"))) < SAME
    fate, why = fates(pair.report, "pid")["p"]
    assert (fate, "without the range of its control, [-2, 2]" in why) == ("changed", "velrange" in words)


@pytest.mark.parametrize("law", ["2 -20 -1", "0 20 -1", "0 0 0"])
def test_a_pid_that_is_no_drive_is_told(tmp_path, law):
    """As a `general` with a force at its target, with a wrong sign, or without gains."""
    text = bodies(
        ARM,
        f'''<actuator><general name="p" joint="j" gaintype="pid" gainprm="0" biastype="affine" biasprm="{law}"
        input="pos vel"/></actuator>''',
    )
    assert fates(imported(tmp_path, text).report, "general")["p"] == (
        "dropped",
        "has no gains, or a gear of 0, or pushes where it has reached its target",
    )
    assert spec_of(tmp_path, text).joints["j"].drive is None


def test_what_parts_of_the_model_lose_is_told(tmp_path):
    """Springs of free joints, bounds of sums, orthographic cameras, depths, bases of terrain, and defaults."""
    text = bodies(
        ARM.replace('name="j"', 'name="j" actuatorfrcrange="-1 1"')
        + f"""
      <camera name="flat" projection="orthographic"/>
      <body name="f" pos="0 0 2"><joint name="free" type="free" stiffness="3"/>{BALL}</body>
      <geom type="hfield" hfield="hills"/>""",
        """
      <asset><hfield name="hills" nrow="2" ncol="2" size="1 1 1 0.2" elevation="0 1 0 1"/></asset>
      <default><muscle lmax="2"/><tendon width="0.1"/><texture builtin="flat"/></default>
      <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
      <actuator><motor name="m" tendon="t"/></actuator>
      <sensor><rangefinder name="deep" site="s" data="depth"/></sensor>""",
    )
    report = imported(tmp_path, text).report
    assert fates(report, "camera")["flat"] == ("dropped", "shows parallel rays; cameras of scenes have an angle of view")
    assert fates(report, "joint")["free"] == ("changed", "without its spring, which free joints have not")
    assert fates(report, "joint")["j"] == ("changed", "without the bound of the sum of its actuators")
    assert fates(report, "hfield")["hills"][0] == "changed"
    why = "finds more than a distance; sensors of the type range have one ray, of a site"
    assert fates(report, "rangefinder")["deep"] == ("dropped", why)
    assert fates(report, "muscle") == {"": ("carried", "")}
    for kind in ("tendon@width", "texture"):
        assert [fate for fate, _ in fates(report, kind).values()] == ["dropped"], kind


def test_zeros_say_nothing_where_mujoco_has_them_anyway(tmp_path):
    """A gap of 0 is what a geom has; a shadow, a weight of 1 and a scale of torques are what 0 and `false` take away."""
    text = bodies(
        ARM.replace('name="g"', 'name="g" gap="0" adhesion="0" solmix="0" castshadow="false"'),
        '<equality><weld body1="b" torquescale="0"/></equality>',
    )
    report = imported(tmp_path, text).report
    told = {entry.kind for entry in report.entries if "@" in entry.kind}
    assert told == {"geom@solmix", "geom@castshadow", "weld@torquescale"}
    model = mujoco.MjModel.from_xml_string(bodies(ARM, '<equality><weld body1="b"/></equality>'))
    assert (model.geom_solmix.all(), model.eq_data[0, 10], model.geom_gap.any()) == (True, 1.0, False)


def test_colours_that_a_body_has_not_are_told(tmp_path):
    """Of several shapes that collide; one colour of all is that of the body, and what is only seen has its own."""
    geoms = (
        '<geom name="red" size="0.1" rgba="1 0 0 1"/><geom name="blue" size="0.1" rgba="0 0 1 1"/>'
        '<geom name="plain" size="0.1"/><geom name="seen" size="0.1" rgba="0 1 0 0.5" contype="0" conaffinity="0"/>'
    )
    text = bodies(
        f'<body name="a"><freejoint/>{geoms}</body><body name="b"><freejoint/><geom name="one" size="0.1" '
        'rgba="0 0 1 1"/><geom name="two" size="0.1" rgba="0 0 1 0.5"/></body>'
    )
    told = fates(imported(tmp_path, text).report, "geom")
    lost = {name: why for name, (fate, why) in told.items() if fate == "changed"}
    assert set(lost) == {"red", "blue", "two"}
    assert all("shapes of a body that collide have one colour and one opacity" in why for why in lost.values())
    assert {name for name, fate in told.items() if fate == ("carried", "")} == {"plain", "seen", "one"}
    spec = spec_of(tmp_path, text)
    assert (spec.bodies["a"].look.colour, spec.bodies["b"].look.colour) == ("#00ff00", "#0000ff")


pytest.importorskip("mujoco")
REFUSED = {
    "an entity": ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco model="&a;"/>', "model.xml:1: has a document type"),
    "an unknown attribute": (faulty('\n<geom sise="1"/>'), "model.xml:2: MuJoCo refuses the file: XML Error: "),
    "no mass": (faulty('\n\n<body name="a"><joint/></body>'), "model.xml:3: MuJoCo refuses the file: "),
    "an include outside": ('<mujoco>\n<include file="../secret.xml"/></mujoco>', "model.xml:2: `../secret.xml` lies out"),
    "an absolute include": ('<mujoco><include file="/etc/hosts"/></mujoco>', "`/etc/hosts` lies outside"),
    "an include twice": ('<mujoco><include file="parts.xml"/><include file="parts.xml"/></mujoco>', "a second time"),
    "an include of itself": ('<mujoco><include file="model.xml"/></mujoco>', "included a second time"),
    "no include": ('<mujoco><include file="none.xml"/></mujoco>', "model.xml:1: there is no file `none.xml`"),
    "a mesh outside": ('<mujoco><asset><mesh name="m" file="../secret.obj"/></asset></mujoco>', "lies outside"),
    "a mesh folder outside": (
        '<mujoco><compiler meshdir=".."/><asset><mesh file="secret.obj"/></asset></mujoco>',
        "lies outside",
    ),
    "a link outside": ('<mujoco><asset><mesh name="m" file="way.obj"/></asset></mujoco>', "lies outside"),
    "no mesh": ('<mujoco><asset><mesh file="none.stl"/></asset></mujoco>', "there is no file `none.stl`"),
    "a height field outside": ('<mujoco><asset><hfield file="../secret.obj" size="1 1 1 1"/></asset></mujoco>', "lies out"),
    "another model": ('<mujoco><asset><model name="m" file="parts.xml"/></asset></mujoco>', "<model> reads another file"),
    "a plugin": ('<mujoco><extension><plugin plugin="x"/></extension></mujoco>', "needs a plugin"),
    "a soft body": (faulty('<flexcomp name="f" type="grid" count="2 2 2"/>'), "bodies that bend"),
    "a file elsewhere": (faulty('<geom type="sphere" size="0.1" file="parts.xml"/>'), "<geom> reads another file"),
    "a million copies": (
        faulty('<replicate count="1000">' * 2 + f"<body><joint/>{BALL_JOINT}</body>" + "</replicate>" * 2),
        "makes more than 100000 copies",
    ),
    "a huge height field": (
        '<mujoco><asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset></mujoco>',
        "more than 16777216 heights",
    ),
    "half a file": (MODEL[:900], "no XML"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_files_are_refused_by_their_line(tmp_path, name):
    text, words = REFUSED[name]
    (tmp_path / "secret.xml").write_text("<mujocoinclude/>")
    (tmp_path / "secret.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "way.obj").symlink_to(tmp_path / "secret.obj")
    with pytest.raises(FileError) as caught:
        imported_of_faults(tmp_path / "in", text)
    assert words in str(caught.value)


def test_memory_and_pictures_are_left_alone(tmp_path):
    """Sizes of memory, pictures and skins are not handed to MuJoCo, whatever they say."""
    text = faulty(
        '<body><freejoint/><geom size="0.1" material="m"/></body>',
        """
      <size memory="900G" nuser_body="1000000000"/><asset>
      <texture name="t" type="2d" file="../secret.png"/><material name="m" texture="t" rgba="0 1 0 1"/>
      <texture type="skybox" builtin="flat" width="100000" height="100000"/></asset>""",
    )
    report = imported_of_faults(tmp_path, text).report
    assert fates_of_faults(report, "size")[""][0] == "dropped"
    assert fates_of_faults(report, "material@texture")["m"][0] == "dropped"


def test_folders_of_meshes_may_be_named(tmp_path):
    (tmp_path / "far").mkdir()
    points = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    faces = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "far" / "part.obj").write_text("".join("v {} {} {}\n".format(*point) for point in points) + faces)
    text = """<mujoco><compiler meshdir="../far"/><asset><mesh file="part.obj" scale="2 2 2"/></asset><worldbody>
      <body><freejoint/><geom type="mesh" mesh="part"/></body></worldbody></mujoco>"""
    path = model_file_of_faults(tmp_path / "in", text)
    with pytest.raises(FileError, match="--package-path"):
        import_model(path)
    found = import_model(path, ImportOptions(search=[tmp_path / "far"]))
    assert list(found.files) == ["meshes/part.obj"]
    assert "scale: 2" in found.text


def test_a_fault_in_an_included_file_has_its_line(tmp_path):
    path = model_file_of_faults(tmp_path, '<mujoco><include file="parts.xml"/></mujoco>')
    (tmp_path / "parts.xml").write_text('<mujocoinclude>\n<worldbody>\n<geom sise="1"/></worldbody></mujocoinclude>')
    with pytest.raises(FileError, match=r"parts\.xml:3: MuJoCo refuses"):
        import_model(path)


@pytest.mark.parametrize(
    ("more", "loses"),
    [
        ("", False),
        ("<option iterations='7' tolerance='1e-3'/>", False),
        ("<option impratio='3'/>", True),
        ("<option density='1'/>", True),
    ],
)
def test_what_moves_nothing_is_no_loss(tmp_path, more, loses):
    """Lights, textures, user data, and how long MuJoCo's solver looks; not what its laws depend on."""
    text = f"""<mujoco>{more}<statistic extent="1"/><visual/><custom><numeric name="n" data="1"/></custom><worldbody>
      <light pos="0 0 1"/><body user="1"><freejoint/><geom size="1" group="2"/></body></worldbody></mujoco>"""
    report = import_model(model_file_of_faults(tmp_path, text)).report
    assert report.loses == loses
    noted = {one.kind for one in report.entries if one.is_note}
    assert {"light", "statistic", "numeric", "geom@group"} <= noted


@pytest.mark.parametrize("option", [{"base": "floating"}, {"fix_inertia": True}, {"self_collision": True}])
def test_what_the_file_says_itself_is_no_option(tmp_path, option):
    with pytest.raises(UsageError, match="is not for MJCF"):
        import_model(model_file_of_faults(tmp_path), ImportOptions(**option))


def test_a_scene_needs_neither_mujoco_nor_the_source(tmp_path, monkeypatch):
    path = model_file_of_faults(tmp_path)
    found = import_model(path)
    scene = tmp_path / "scene.yaml"
    scene.write_text(found.text)
    for name, data in found.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(UsageError, match=r"MJCF needs mujoco: pip install 'simcli\[import\]'"):
        import_model(path)
    path.unlink()
    document = load_scene(scene)
    build(resolve(document), document)


mujoco_of_export_sensors = pytest.importorskip("mujoco")
ROUNDED = 1e-12  # [m, 1] by which numbers differ that went through the text of MuJoCo

SCENE = """simcli: 1
world: {shapes: {floor: {type: plane}}, frames: {eye: {xyz: [3, 0, 1], rpy: [0, 90 deg, 0]}}}
defaults: {body: {inertia: {diag: [0.02, 0.03, 0.04]}}}
bodies:
  arm: {mass: 1, com: [0.1, 0, 0], frames: {imu: {xyz: [0.4, 0, 0], rpy: [0, 90 deg, 0.3]}}, points: {tip: [0.5, 0, 0]}}
  hand: {mass: 0.5, shapes: {pad: {type: sphere, radius: 0.1}}, frames: {palm: {xyz: [0.1, 0, 0]}}}
  ball: {mass: 0.2, frames: {side: {xyz: [0, 0.1, 0], rpy: [0.2, 0, 0]}}}
  sledge: {mass: 2}
  rover: {mass: 3, pose: {xyz: [0, 3, 2]}, shapes: {box: {type: box, size: [0.1, 0.2, 0.3]}}}
joints:
  pin: {type: revolute, parent: world, child: arm, parent_frame: {xyz: [0, 0, 2]}, axis: [0, 1, 0], q: 0.2,
        drive: {mode: position, stiffness: 20, damping: 1, target: 0.4,
        activation: {time_constant: 50 ms, initial: 0.1}}}
  wrist: {type: revolute, parent: arm, child: hand, parent_frame: {xyz: [0.5, 0, 0]}, axis: [0, 0, 1],
          drive: {mode: effort, target: 0.1}}
  socket: {type: ball, parent: hand, child: ball, parent_frame: {xyz: [0.3, 0, 0], rpy: [0.1, 0.2, 0.3]}}
  rails: {type: planar, parent: world, child: sledge, axis: [0, 0, 1]}
forces:
  push: {type: torque, joint: wrist, value: 0.3}
  both: {type: coupling, of: [{joint: pin}, {joint: wrist, factor: 2}],
         drive: {mode: velocity, damping: 2, target_velocity: 1}}
sensors:
  imu: {type: [gyro, accelerometer, velocimeter], at: arm/imu}
  seen: {type: [position, orientation, velocity, angular_velocity], at: hand/palm, relative_to: arm/tip}
  here: {type: position, at: rover, noise: {sigma: 0.1}}
  angle: {type: [encoder, tachometer], joint: pin}
  turn: {type: [encoder, tachometer], joint: socket}
  way: {type: encoder, joint: rails}
  load: {type: [force, torque], joint: wrist, at: hand/palm}
  whole: {type: [com, com_velocity, angular_momentum], body: arm}
  pad: {type: touch, body: hand, at: hand/palm, radius: 0.2}
  hull: {type: touch, body: rover, at: rover, size: [0.2, 0.4, 0.6]}
  ray: {type: range, at: world/eye}
  far: {type: range, at: arm/imu, reach: 5}
  much: {type: momentum, body: arm}
  hit: {type: contact_force, body: hand}
  all: {type: touch, body: hand}
  odd: {type: force, joint: wrist, at: arm/imu}
  held: {type: encoder, joint: rover_free}
keyframes:
  home: {joint_q: {pin: 0.5, socket: [0, 0, 0.6, 0.8], rover_free: [1, 2, 3, 0, 0.6, 0, 0.8]}, joint_qd: {rails: [1, 2, 3]}}
  bent: {joint_q: {wrist: -0.7}, controls: {joints.pin.drive.target: 1.5, forces.push.value: -2,
         joints.wrist.drive.target: 0.25, joints.pin.drive.activation.initial: -0.3, forces.both.drive.target_velocity: -3}}
"""
LOST = ("much", "hit", "all", "odd", "held")


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """The scene, and what comes back of it from MJCF; the report of its way there; the file."""
    folder = tmp_path_factory.mktemp("sensors")
    path, back = folder / "scene.yaml", folder / "model.xml"
    path.write_text(SCENE)
    document = load_scene(path)
    exported = export_scene(document, resolve(document), ".xml")
    back.write_text(exported.text)
    return document, load_scene(back), exported.report, back


def sensors_of(document):
    """Name and type of each sensor to the body, the pose and what else it looks at."""
    spec = resolve(document)
    model = build(spec, document)
    table, names, found = model.sensors, [*model.bodies.name, "world"], {}
    for k, (name, one) in enumerate(spec.sensors.items()):
        for type_ in one.type:
            given = name if len(one.type) == 1 else f"{name}_{type_}"
            seen = names[table.base[k]], table.base_pose[0, k]
            needs_seen = SENSOR_TYPES[type_].takes == ("relative_to",)
            found[given] = (
                type_,
                names[table.body[k]],
                table.pose[0, k],
                seen if needs_seen else None,
                one.body,
                int(table.toucher[k]) >= 0,
                table.radius[0, k],
                table.half[0, k],
            )
    return found


def test_sensors_come_back(documents):
    document, back, report, _ = documents
    before, after = sensors_of(document), sensors_of(back)
    kept = [name for name in before if name not in LOST]
    assert {SENSOR_TYPES[before[name][0]].of for name in kept} == {"at", "joint", "body", "shape"}
    assert [name for name in after if name not in ("way_1", "way_2", "way_3")] == [name for name in kept if name != "way"]
    for name in set(kept) - {"way"}:
        (type_, body, pose, seen, of, *zone), (type_2, body_2, pose_2, seen_2, of_2, *zone_2) = before[name], after[name]
        assert (type_, of, zone[0]) == (type_2, of_2, zone_2[0]), name
        if SENSOR_TYPES[type_].of in ("at", "shape") or type_ in ("force", "torque"):
            assert body == body_2, name
            assert np.abs(pose - pose_2).max() < ROUNDED, name
        if seen is not None:
            assert seen[0] == seen_2[0], name
            assert np.abs(seen[1] - seen_2[1]).max() < ROUNDED, name
        assert np.abs(np.subtract(np.hstack(zone[1:]), np.hstack(zone_2[1:]))).max() < ROUNDED, name
    told = [entry for entry in report.entries if entry.kind in ("sensor", "noise")]
    fates = {(entry.kind, entry.name): (entry.fate, entry.why) for entry in told}
    assert {name for (kind, name), (fate, _) in fates.items() if fate == "dropped" and kind == "sensor"} == set(LOST)
    assert fates["sensor", "way"] == ("changed", "is 3 sensors, one for each axis")
    assert fates["noise", "here"][0] == "dropped"
    assert "without its reach" in fates["sensor", "far"][1]


@pytest.mark.parametrize("name", ["home", "bent", "start"])
def test_keyframes_come_back(documents, name):
    """The state, in MuJoCo and in the scene that comes back; the controls, by the names of the actuators."""
    document, back, _, path = documents
    spec = resolve(document, {"initial": name} if name != "start" else {})
    scene = build(spec, document)
    model = mujoco_of_export_sensors.MjModel.from_xml_path(str(path))
    data = mujoco_of_export_sensors.MjData(model)
    mujoco_of_export_sensors.mj_resetDataKeyframe(model, data, model.key(name).id)
    mujoco_of_export_sensors.mj_kinematics(model, data)
    turns, places = body_poses(scene, scene.joint_q[:1])
    for b, body in enumerate(scene.bodies.name):
        assert np.abs(data.body(body).xpos - places[b, 0]).max() < ROUNDED, body
        assert np.abs(data.body(body).xmat.reshape(3, 3) - turns[b, 0]).max() < ROUNDED, body
    returned = resolve(back, {"initial": name})
    again = build(returned, back)
    turns_2, places_2 = body_poses(again, again.joint_q[:1])
    for b, body in enumerate(scene.bodies.name):
        k = again.bodies.name.index(body)
        assert np.abs(places[b, 0] - places_2[k, 0]).max() < ROUNDED, body
        assert np.abs(turns[b, 0] - turns_2[k, 0]).max() < ROUNDED, body
    controls = spec.joints["pin"].drive[0].target, spec.joints["wrist"].drive[0].target, spec.forces["push"].value[0]
    wanted = dict(zip(("pin", "wrist", "push"), controls, strict=True))
    wanted |= {"both_2": spec.forces["both"].drive.target_velocity}
    assert {actuator: float(data.actuator(actuator).ctrl[0]) for actuator in wanted} == pytest.approx(wanted, rel=1e-14)
    lag, lag_2 = (one.joints["pin"].drive[0].activation for one in (spec, returned))
    assert (data.act[0], lag_2.initial) == pytest.approx((lag.initial,) * 2, rel=1e-14)
    assert (lag_2.time_constant, lag_2.method) == (lag.time_constant, lag.method)
    assert returned.joints["pin"].drive[0].target == pytest.approx(wanted["pin"], rel=1e-14)
    assert returned.forces["both"].drive.target_velocity == pytest.approx(wanted["both_2"], rel=1e-14)
