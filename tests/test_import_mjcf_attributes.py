"""What becomes of attributes of MJCF: each of MuJoCo's schema is thought of, flags and options switch what they switch."""

import re

import numpy as np
import pytest
from support.mjcf import Pair
from test_import_mjcf import BALL, bodies, fates, imported, model_file, spec_of

from simcli.exchange.mjcf import sensors
from simcli.exchange.mjcf.attributes import CARRIED_ATTRIBUTES, LOST_ATTRIBUTES, LOST_DEFAULTS, LOST_ELEMENTS

mujoco = pytest.importorskip("mujoco")
SAME = 1e-8  # [m] after 0.1 s by rk4 of 1 ms
# Elements that are refused, or whose parts are dropped with all attributes, whatever these say.
ALL_LOST = {"flexcomp", "attach", "deformable", "model", "flex", "flexstrain", *LOST_ELEMENTS, *LOST_DEFAULTS}
SENSED = {kind.lower() for table in (sensors.SENSORS_AT_SITES, sensors.SENSORS_AT_OBJECTS, sensors.SENSORS_OF_JOINTS,
                                     sensors.SENSORS_AT_JOINTS, sensors.SENSORS_OF_SUBTREES) for kind in table}  # fmt: skip
SENSED |= {"touch"}
HELD = {"equality", "sensor"}  # elements in them have attributes in common
ARM = (f'<body name="a"><joint name="j" axis="0 1 0"/>{BALL}<body name="b" pos="0.3 0 0"><joint name="k" axis="0 1 0"/>'
       f'<geom name="g" type="capsule" size="0.05 0.1" pos="0.2 0 0"/><site name="s" pos="0.3 0 0"/></body></body>')


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
    text = bodies(ARM.replace('name="j"', 'name="j" damping="0.2 0.1" stiffness="1 2"').replace(
        'name="k"', 'name="k" damping="0.2 0 0" stiffness="3"') + '<site name="w" pos="0 0 1"/>', """
      <default><tendon damping="0 0 0.1"/><joint stiffness="0 1"/></default>
      <tendon><fixed name="t" stiffness="10 5" damping="0.5 0.3"><joint joint="j" coef="1"/></fixed>
        <spatial name="u" stiffness="10 5"><site site="w"/><site site="s"/></spatial></tendon>""")  # fmt: skip
    spec, report = spec_of(tmp_path, text), imported(tmp_path, text).report
    assert (spec.joints["j"].damping, spec.forces["j_spring"].stiffness) == ((0.2,), (1.0,))
    told = {entry.kind for entry in report.entries if entry.why.startswith("has coefficients after the first one")}
    assert told == {"joint@damping", "joint@stiffness", "fixed@stiffness", "fixed@damping", "spatial@stiffness",
                    "tendon@damping"}  # fmt: skip
    assert set(fates(report, "joint@damping")) == {"j"}
    model = mujoco.MjModel.from_xml_string(text)
    assert model.dof_dampingpoly.any(axis=1).tolist() == [True, False]


def flagged(text, **flags):
    words = "".join(f' {key}="{value}"' for key, value in flags.items())
    return text.replace("<worldbody>", f"<option><flag{words}/></option><worldbody>")


DRIVEN = bodies(ARM, """<actuator><motor name="m" joint="k" gear="5" ctrlrange="-1 1" group="3"/>
    <position name="p" joint="j" kp="20" ctrlrange="-0.1 0.1" group="2"/></actuator>
    <keyframe><key name="up" ctrl="3 0.4"/></keyframe>""")  # fmt: skip


@pytest.mark.parametrize("change", ["none", "clampctrl", "group"])
def test_actuators_drive_as_in_mujoco(tmp_path, change):
    """Controls that are clamped, or not, and groups of actuators that `option` switches off."""
    text = {"none": DRIVEN, "clampctrl": flagged(DRIVEN, clampctrl="disable"),
            "group": DRIVEN.replace("<worldbody>", '<option actuatorgroupdisable="2 7"/><worldbody>')}[change]  # fmt: skip
    pair = Pair(model_file(tmp_path, text), tmp_path / "scene", off=("contact",))
    pair.data.ctrl[:] = pair.model.key_ctrl[0]
    controls = pair.mechanism.sections["keyframes"]["up"]["controls"]
    assert pair.difference(*(word for path, value in controls.items() for word in ("--set", f"{path}={value!r}"))) < SAME
    drives = {name: joint.drive and joint.drive[0].effort_limit for name, joint in spec_of(tmp_path, text).joints.items()}
    report = imported(tmp_path, text).report
    assert drives["k"] == (None if change == "clampctrl" else 5.0)
    fate, why = fates(report, "position")["p"]
    assert (fate, "its group is switched off by `option`" in why) == (
        ("dropped", True) if change == "group" else ("changed", False))  # fmt: skip
    assert ("range of its control" in why) == (change == "none")


def test_flags_and_options_are_honoured_or_told(tmp_path):
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
    text = bodies(ARM, """<actuator><pid name="p" joint="j" kp="20" kv="1" input="pos vel ff"/>
        <motor name="m" joint="k" gear="2" ctrlrange="-1 1.5"/><pid name="q" joint="j" kp="3" ki="1" kv="1"/>
        <position name="s" joint="k" kp="4"/></actuator><keyframe><key name="up" ctrl="CONTROLS" act="0"/></keyframe>""")
    model = mujoco.MjModel.from_xml_string(text.replace('ctrl="CONTROLS" act="0"', ""))
    control = np.zeros(model.nu)
    first = {model.actuator(a).name: int(model.actuator_ctrladr[a]) for a in range(model.nactuator)}
    control[[first["m"], first["s"]]] = 2.0, 0.25
    text = text.replace("CONTROLS", " ".join(map(str, control))).replace('act="0"', f'act="{" ".join(["0"] * model.na)}"')
    spec, report = spec_of(tmp_path, text), imported(tmp_path, text).report
    assert model.nu > model.nactuator == 4
    assert fates(report, "pid") == {
        "p": ("dropped", "adds a control to its force, and a drive that has targets takes no force"),
        "q": ("dropped", "integrates its error, or bounds the rate of its target")}  # fmt: skip
    assert spec.joints["k"].drive[0].effort_limit == 3.0
    assert spec.keyframes["up"].controls == {"joints.k.drive.target": 3.0, "forces.s.drive.target": 0.25}
    assert spec.joints["j"].drive is None
    assert fates(report, "key")["up"] == ("carried", "")


@pytest.mark.parametrize("words", ["", 'input="pos" gear="2"', 'input="vel" gear="-1.5"', 'forcerange="-1 1"',
                                   'posrange="-0.1 0.1" velrange="-2 2"'])  # fmt: skip
def test_a_pid_that_does_not_integrate_drives_as_in_mujoco(tmp_path, words):
    """Its force is kp (u_1 - L) + kv (u_2 - L'), of a length L that is the gear times the coordinate."""
    text = bodies(ARM, f"""<actuator><pid name="p" joint="j" kp="20" kv="1" {words}/><motor name="m" joint="k"/></actuator>
        <keyframe><key name="up" CONTROLS/></keyframe>""")  # fmt: skip
    count = mujoco.MjModel.from_xml_string(text.replace("CONTROLS", "")).nu
    text = text.replace("CONTROLS", f'ctrl="{" ".join(map(str, [0.4, -0.7, 0.3][3 - count:]))}"')
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
    text = bodies(ARM, f'''<actuator><general name="p" joint="j" gaintype="pid" gainprm="0" biastype="affine" biasprm="{law}"
        input="pos vel"/></actuator>''')  # fmt: skip
    assert fates(imported(tmp_path, text).report, "general")["p"] == (
        "dropped", "has no gains, or a gear of 0, or pushes where it has reached its target")  # fmt: skip
    assert spec_of(tmp_path, text).joints["j"].drive is None


def test_what_parts_of_the_model_lose_is_told(tmp_path):
    """Springs of free joints, bounds of sums, orthographic cameras, depths, bases of terrain, and defaults."""
    text = bodies(ARM.replace('name="j"', 'name="j" actuatorfrcrange="-1 1"') + f"""
      <camera name="flat" projection="orthographic"/>
      <body name="f" pos="0 0 2"><joint name="free" type="free" stiffness="3"/>{BALL}</body>
      <geom type="hfield" hfield="hills"/>""", """
      <asset><hfield name="hills" nrow="2" ncol="2" size="1 1 1 0.2" elevation="0 1 0 1"/></asset>
      <default><muscle lmax="2"/><tendon width="0.1"/><texture builtin="flat"/></default>
      <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
      <actuator><motor name="m" tendon="t"/></actuator>
      <sensor><rangefinder name="deep" site="s" data="depth"/></sensor>""")  # fmt: skip
    report = imported(tmp_path, text).report
    assert fates(report, "camera")["flat"] == ("dropped", "shows parallel rays; cameras of scenes have an angle of view")
    assert fates(report, "joint")["free"] == ("changed", "without its spring, which free joints have not")
    assert fates(report, "joint")["j"] == ("changed", "without the bound of the sum of its actuators")
    assert fates(report, "hfield")["hills"][0] == "changed"
    why = "finds more than a distance; sensors of the type range have one ray, of a site"
    assert fates(report, "rangefinder")["deep"] == ("dropped", why)
    for kind in ("muscle", "tendon@width", "texture"):
        assert [fate for fate, _ in fates(report, kind).values()] == ["dropped"], kind


def test_zeros_say_nothing_where_mujoco_has_them_anyway(tmp_path):
    """A gap of 0 is what a geom has; a shadow, a weight of 1 and a scale of torques are what 0 and `false` take away."""
    text = bodies(ARM.replace('name="g"', 'name="g" gap="0" adhesion="0" solmix="0" castshadow="false"'),
                  '<equality><weld body1="b" torquescale="0"/></equality>')  # fmt: skip
    report = imported(tmp_path, text).report
    told = {entry.kind for entry in report.entries if "@" in entry.kind}
    assert told == {"geom@solmix", "geom@castshadow", "weld@torquescale"}
    model = mujoco.MjModel.from_xml_string(bodies(ARM, '<equality><weld body1="b"/></equality>'))
    assert (model.geom_solmix.all(), model.eq_data[0, 10], model.geom_gap.any()) == (True, 1.0, False)


def test_colours_that_a_body_has_not_are_told(tmp_path):
    """Of several shapes that collide; one colour of all is that of the body, and what is only seen has its own."""
    geoms = ('<geom name="red" size="0.1" rgba="1 0 0 1"/><geom name="blue" size="0.1" rgba="0 0 1 1"/>'
             '<geom name="plain" size="0.1"/><geom name="seen" size="0.1" rgba="0 1 0 0.5" contype="0" conaffinity="0"/>')
    text = bodies(f'<body name="a"><freejoint/>{geoms}</body><body name="b"><freejoint/><geom name="one" size="0.1" '
                  'rgba="0 0 1 1"/><geom name="two" size="0.1" rgba="0 0 1 0.5"/></body>')  # fmt: skip
    told = fates(imported(tmp_path, text).report, "geom")
    lost = {name: why for name, (fate, why) in told.items() if fate == "changed"}
    assert set(lost) == {"red", "blue", "two"}
    assert all("shapes of a body that collide have one colour and one opacity" in why for why in lost.values())
    assert {name for name, fate in told.items() if fate == ("carried", "")} == {"plain", "seen", "one"}
    spec = spec_of(tmp_path, text)
    assert (spec.bodies["a"].look.colour, spec.bodies["b"].look.colour) == ("#00ff00", "#0000ff")
