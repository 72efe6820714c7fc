"""Models of MJCF files as scenes: mechanics as MuJoCo's, and a report of every element."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.mjcf import Pair
from support.mjcf_kinds import BALL, MODEL, bodies, fates, imported, model_file
from test_measures import column

import simcli
from simcli.cli.process import run_command
from simcli.errors import Exit
from simcli.exchange.importing import import_model, load_scene
from simcli.exchange.source.xml_reader import read_xml
from simcli.model import build
from simcli.spec import resolve

mujoco = pytest.importorskip("mujoco")
MASS_BAR = 1e-12  # relative, of mass matrices
MOTION_BAR = 1e-8  # [m] after 0.1 s by rk4 of 1 ms
FOURTH = 12.0  # by which what is left falls at half the step, at least

# Effort, or target, of a control of 0.3: of `law` the bias is part of it.
TARGETS = {
    "joints.rail.drive.target": 3 * 0.3,
    "joints.hip.axes.angular[0].drive.target": 0.3 / 2,
    "joints.pin.drive.target_velocity": 0.3,
    "forces.law.drive.target": (4 * 0.3 + 0.5) / 6,
    "forces.sum.drive.target": 0.3,
}


def spec_of(folder, text=MODEL):
    """The scene, checked and built."""
    document = load_scene(model_file(folder, text))
    spec = resolve(document)
    build(spec, document)
    return spec


def test_the_mechanism_is_that_of_mujoco(tmp_path):
    """Several joints on one body, with one anchor and with several, references, balls, free bodies, lumped ones."""
    for seed in range(3):
        pair = Pair(model_file(tmp_path), tmp_path / "scene", seed=seed)
        assert pair.mass_difference() < MASS_BAR


def test_what_moves_without_limits_moves_as_in_mujoco(tmp_path):
    """Springs, dampers and tendons among it, and actuators with the controls of the keyframe."""
    found = []
    for step in (1e-3, 5e-4):
        off = ("contact", "limit", "frictionloss", "equality")
        pair = Pair(model_file(tmp_path), tmp_path / "scene", off=off, step=step)
        names = [pair.model.actuator(a).name for a in range(pair.model.nu)]
        pair.data.ctrl[:] = [0.3 * (name != "flesh") for name in names]
        controls = pair.mechanism.sections["keyframes"]["home"]["controls"]
        pushes = {f"forces.{name}.{key}" for name in ("jet", "wind") for key in ("force", "torque")}
        assert set(controls) == {*TARGETS, *pushes}
        found.append(pair.difference(*(word for path, value in controls.items() for word in ("--set", f"{path}={value!r}"))))
    assert found[0] < MOTION_BAR
    assert found[0] > FOURTH * found[1]


def test_sensors_show_what_those_of_mujoco_show(tmp_path):
    """In one state, of the same names; accelerations and forces are the business of the tests of sensors."""
    pair = Pair(model_file(tmp_path), tmp_path / "scene")
    pair.draw_rates()
    dynamic = ("imu_2", "load", "twist")
    sensors = {name: words["type"] for name, words in pair.mechanism.sections["sensors"].items() if name not in dynamic}
    quantities = [f"sensor.{name}.{kind}" for name, kind in sensors.items()]
    pair.run_scene("--set", f"output.quantities={json.dumps(quantities)}", "--duration", "1 ms")
    pair.mujoco.mj_forward(pair.model, pair.data)
    theirs = {
        pair.model.sensor(k).name: pair.data.sensordata[at : at + width].copy()
        for k, (at, width) in enumerate(zip(pair.model.sensor_adr, pair.model.sensor_dim, strict=True))
    }
    with simcli.open(pair.folder / "out.h5") as run:
        for name, kind in sensors.items():
            mine = column(run, f"sensor.{name}.{kind}")[0, 0]
            assert np.ravel(mine) == pytest.approx(theirs[name if name in theirs else ""], abs=1e-12), name
    assert len(sensors) == 10


def test_a_keyframe_is_the_state_that_it_is_in_mujoco(tmp_path):
    """Positions and velocities of all bodies that begin from it."""
    pair = Pair(model_file(tmp_path), tmp_path / "scene")
    pair.mujoco.mj_resetDataKeyframe(pair.model, pair.data, 0)
    pair.mujoco.mj_forward(pair.model, pair.data)
    document = load_scene(pair.scene, ["initial=home"])
    model = build(resolve(document), document)
    state = {name: k for k, name in enumerate(model.bodies.name)}
    out = pair.folder / "fk.json"
    assert run_command(["fk", str(pair.scene), "--set", "initial=home", "-o", str(out)], debug=True, as_json=False) == 0
    found = json.loads(out.read_text())
    poses, twists = (np.reshape(found[key][0], (len(state), -1)) for key in ("body_q", "body_qd"))
    for b in range(1, pair.model.nbody):
        name = pair.bodies.names[b]
        if name not in state:
            continue
        speed = np.zeros(6)  # angular, linear
        pair.mujoco.mj_objectVelocity(pair.model, pair.data, pair.mujoco.mjtObj.mjOBJ_BODY, b, speed, 0)
        assert poses[state[name], :3] == pytest.approx(pair.data.xpos[b], abs=1e-12), name
        assert twists[state[name]] == pytest.approx([*speed[3:], *speed[:3]], abs=1e-12), name


def test_a_keyframe_has_the_controls_that_it_has_in_mujoco(tmp_path):
    """Targets are those of the motion above; what has no drive is told."""
    document = load_scene(model_file(tmp_path), ["initial=home"])
    spec = resolve(document)
    controls = {path: value for path, value in spec.initial.controls.items() if path in TARGETS}
    assert controls == pytest.approx(TARGETS, rel=1e-15)
    rail, hip, pin = (spec.joints[name].drive[0] for name in ("rail", "hip", "pin"))
    drives = [rail.target, hip.target, pin.target_velocity, spec.forces["law"].drive.target, spec.forces["sum"].drive.target]
    assert drives == pytest.approx(list(TARGETS.values()), rel=1e-15)
    assert fates(document.cache["imported"], "key")["home"] == ("changed", "without the controls of what is dropped: flesh")


def test_a_keyframe_has_activations(tmp_path):
    """That of a filter, in the unit of the target: with a gain g and a bias b it is (g act + b) over the stiffness; of an
    integrator the activation is the target."""
    text = bodies(
        f'<body><joint name="j"/>{BALL}</body><body pos="1 0 0"><joint name="k"/>{BALL}</body>'
        f'<body pos="2 0 0"><joint name="l"/>{BALL}</body>',
        """
        <actuator><general joint="j" dyntype="filter" dynprm="0.1" gainprm="4" biastype="affine" biasprm="0.5 -6 0"
            ctrlrange="-1 1"/>
          <general joint="k" gear="2" dyntype="filterexact" dynprm="0.2" gainprm="3"/>
          <intvelocity name="l" joint="l" kp="5" actrange="-2 2"/></actuator>
        <keyframe><key name="lent" ctrl="9 0.5 7" act="0.25 -0.5 1.5"/><key name="rest"/></keyframe>""",
    )
    spec = spec_of(tmp_path, text.replace('actrange="-2 2"', 'actrange="-2 2" ctrlrange="0.5 8"'))
    assert spec.joints["l"].drive[0].target == 0.0  # the activation, not the control next to 0
    report = imported(tmp_path, text.replace('actrange="-2 2"', 'actrange="-2 2" ctrlrange="0.5 8"')).report
    assert "its target stands still; in MuJoCo it moves by 0.5 in a second at least" in fates(report, "intvelocity")["l"][1]
    assert fates(report, "key")["lent"] == ("changed", "without the controls that move targets: l")
    keyframes = spec.keyframes
    assert keyframes["lent"].controls == pytest.approx(
        {
            "joints.j.drive.target": 4.5 / 6,
            "joints.j.drive.activation.initial": 1.5 / 6,
            "joints.k.drive.target": 3.0,
            "joints.k.drive.activation.initial": -3.0,
            "joints.l.drive.target": 1.5,
        },
        rel=1e-15,
    )
    assert not keyframes["rest"].controls


def test_bodies_that_mujoco_fuses_are_told_as_parts_of_others(tmp_path):
    text = bodies(
        f'<body name="a"><freejoint/>{BALL}<body name="b" pos="1 0 0">{BALL}</body></body>', '<compiler fusestatic="true"/>'
    )
    made = imported(tmp_path, text)
    assert fates(made.report, "body") == {
        "a": ("carried", ""),
        "b": ("changed", "is part of the body that holds it, by `fusestatic`"),
    }
    assert fates(imported(tmp_path, text.replace("true", "false")).report, "body")["b"] == ("carried", "")
    assert made.report.counts()["dropped"] == 0


def test_warnings_of_mujoco_leave_no_file(tmp_path, monkeypatch):
    """MuJoCo writes MUJOCO_LOG.TXT into the working folder, if nobody takes its warnings; whoever took them goes on to."""
    monkeypatch.chdir(tmp_path)
    taken = []
    mujoco.set_mju_user_warning(taken.append)
    try:
        spec = spec_of(tmp_path, bodies(f"<body><freejoint/>{BALL}</body>", '<compiler settotalmass="3"/>'))
        assert mujoco.get_mju_user_warning() == taken.append
    finally:
        mujoco.set_mju_user_warning(None)
    assert next(iter(spec.bodies.values())).mass == pytest.approx(3.0, rel=1e-15)
    assert {one.name for one in tmp_path.iterdir()} == {"model.xml", "parts.xml"}
    assert not taken


def test_every_element_is_told_once(tmp_path):
    path = model_file(tmp_path)
    entries = import_model(path).report.entries
    told = sorted((entry.kind, entry.file, entry.line) for entry in entries if "@" not in entry.kind)
    own = [(one.tag, "", one.line) for one in read_xml(path).below()]
    parts = [(one.tag, "parts.xml", one.line) for one in list(read_xml(tmp_path / "parts.xml").below())[1:]]
    assert told == sorted(own + parts)


def test_what_is_lost_is_told_by_name(tmp_path):
    report = imported(tmp_path).report
    assert fates(report, "general")["flesh"] == ("dropped", "has the activation of a muscle, and another force")
    assert "its force is [" in fates(report, "motor")["jet"][1]
    assert fates(report, "option@density")[""][0] == "dropped"
    assert [name for name, (fate, _) in fates(report, "joint@solreflimit").items() if fate == "dropped"] == ["leg"]
    for kind in ("texture", "light", "visual", "map"):
        assert {fate for fate, _ in fates(report, kind).values()} == {"dropped"}, kind
    assert fates(report, "body")["free 1"][1] == "`free 1` is called `free_1`; has no mass: it is part of the world"
    assert fates(report, "rangefinder")["range"] == ("changed", "does not see shapes that are only drawn")
    assert fates(report, "accelerometer@noise")["imu 2"][0] == "dropped"
    assert fates(report, "mesh") == {"wedge": ("changed", "written as OBJ from the vertices that MuJoCo compiled")}


def test_what_joints_say(tmp_path):
    spec = spec_of(tmp_path)
    hip, knee, root, neck = (spec.joints[name] for name in ("hip", "knee", "root", "neck"))
    assert (hip.type, hip.dof_kinds, root.type, neck.type) == ("d6", "AAA", "free", "ball")
    assert (hip.damping, hip.armature, hip.friction) == ((0.1,) * 3, (0.01,) * 3, (0.0, 0.0, 0.2))
    assert hip.limit[0].upper == pytest.approx(np.radians(30.0), rel=1e-15)
    assert hip.limit[1] is None
    assert knee.init_angle == pytest.approx(np.radians(15.0), rel=1e-15)
    assert [name for name, joint in spec.joints.items() if joint.child.startswith("foot")] == ["ankle", "toe", "slip"]
    assert spec.bodies["foot_ankle"].mass == 0.0
    assert spec.forces["hip_spring"].stiffness == (0.0, 3.0, 0.0)
    assert spec.forces["hip_spring"].rest_angle == pytest.approx((0.0, np.radians(20.0), 0.0))
    assert neck.drive[0].stiffness == 5.0
    assert (spec.solver.integrator, spec.solver.dt, spec.world.gravity) == ("rk4", 0.002, (0.3, -0.2, -9.81))


def test_the_scene_reads_as_one_that_a_person_wrote(tmp_path):
    text = imported(tmp_path).text
    line = 1 + MODEL[: MODEL.index('name="knee"')].count("\n")
    assert f"# model.xml:{line}" in text
    assert "limit: [-20 deg, 60 deg]" in text
    assert "init_angle: 15 deg" in text
    assert "dt: 2 ms" in text
    assert "frames: {sole: {xyz: [0, 0, -0.2]" in text


def test_what_actuators_say(tmp_path):
    spec = spec_of(tmp_path)
    push, servo = spec.joints["rail"].drive[0], spec.joints["hip"].drive[0]
    assert (push.mode, push.target, push.effort_limit) == ("effort", 0.0, 6.0)
    assert (servo.mode, servo.stiffness, servo.damping, servo.effort_limit) == ("position", 44.0, 2.0, 60.0)
    spin, law = spec.joints["pin"].drive[0], spec.forces["law"].drive
    assert (spin.mode, spin.damping) == ("velocity", 2.0)
    assert (law.mode, law.stiffness, law.damping, law.target) == ("position", 6.0, 0.3, pytest.approx(0.5 / 6.0))
    assert spec.forces["sum"].drive.stiffness == 9.0
    assert spec.forces["rope"].through[0].point == "eye"


ROTORS = bodies(
    """
  <body><joint name="h" axis="0 1 0" armature="0.02" damping="0.1"/><geom size="0.1" pos="0 0 -0.5" mass="1"/>
    <body pos="0 0 -1"><joint name="s" type="slide" axis="0 0 1"/><geom size="0.1" mass="0.5"/></body></body>
  <body pos="2 0 0"><joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
    <joint name="z" axis="0 0 1"/><geom size="0.1" mass="1" pos="0.2 0 0"/></body>
  <body pos="4 0 0"><joint name="ball" type="ball"/><geom type="box" size="0.1 0.2 0.3" pos="0 0 -0.3" mass="1"/></body>
  """,
    """<option integrator="RK4" timestep="0.001" actuatorgroupdisable="3"/>
  <tendon><fixed name="sum"><joint joint="x" coef="1"/><joint joint="y" coef="0.5"/></fixed></tendon>
  <actuator><orientation joint="ball" kp="0.4" kv="0.1"/>
  <motor joint="h" gear="3" armature="0.01" damping="0.2"/><motor joint="h" gear="2" armature="0.03" damping="0.1"/>
  <position name="lift" joint="s" kp="20" gear="0.5" armature="0.04" damping="0.3 0.2"/>
  <motor tendon="sum" gear="2" damping="0.7"/>
  <velocity joint="z" kv="0.3" gear="4" armature="0.005" damping="0.1" group="3"/>
  <motor name="bent" tendon="sum" gear="3" armature="1"/></actuator>""",
)


def test_actuators_give_damping_and_armature_to_what_they_act_on(tmp_path):
    """Times the gear squared, also where an actuator is dropped or switched off; the gear beside one of several forces."""
    text = ROTORS.replace(' armature="1"', "").replace('"0.3 0.2"', '"0.3"')
    path = model_file(tmp_path, text)
    assert Pair(path, tmp_path / "scene").mass_difference() < MASS_BAR
    assert Pair(path, tmp_path / "scene").difference() < MOTION_BAR
    assert "stiffness: 5}" in imported(tmp_path, text).text  # of kp 20 at the gear 0.5
    report = imported(tmp_path, ROTORS).report
    words = "its damping and armature, times its gear squared, is part of that of its joint"
    assert words in fates(report, "position")["lift"][1]
    assert "without its armature: couplings and springs have no inertia" in fates(report, "motor")["bent"][1]
    assert fates(report, "position@damping")["lift"][0] == "dropped"


LOOPS = bodies(
    """
  <body name="hand" mocap="true" pos="0.2 0 0.5"/>
  <body name="a" pos="0 0 0.5"><freejoint/><geom size="0.05" mass="1"/></body>
  <body name="b" pos="0.5 0 0.5"><joint name="bx" type="slide" axis="1 0 0"/><joint name="by" type="slide" axis="0 1 0"/>
    <geom size="0.05" mass="1"/><site name="s" pos="0.1 0 0"/></body>
  <body name="c" pos="1 0 0.5"><joint name="cz" axis="0 0 1" ref="0.4"/><geom size="0.05" mass="1" pos="0.2 0 0"/></body>
  <body name="d" pos="1 1 0.5"><joint name="dz" axis="0 0 1"/><geom size="0.05" mass="1" pos="0.2 0 0"/></body>
  """,
    """<compiler angle="radian"/><equality>
  <weld name="grip" body1="hand" body2="a"/><connect name="pin" body1="a" body2="b" anchor="0.1 0 0" active="false"/>
  <joint name="gear" joint1="cz" joint2="bx" polycoef="0.1 2 0 0 0"/><joint name="held" joint1="by" polycoef="0.25 0 0 0 0"/>
  <joint name="bent" joint1="dz" joint2="bx" polycoef="0 1 0.5 0 0"/></equality>""",
)


def test_equalities_are_loop_joints_gears_and_held_coordinates(tmp_path):
    spec = spec_of(tmp_path, LOOPS)
    grip, pin = spec.joints["grip"], spec.joints["pin"]
    assert spec.bodies["hand"].kinematic
    assert (grip.type, grip.parent, grip.child, grip.loop) == ("fixed", "hand", "a", True)
    assert grip.parent_frame.xyz == pytest.approx((-0.2, 0.0, 0.0))
    assert (pin.type, pin.enabled, pin.parent_frame.xyz) == ("ball", False, (0.1, 0.0, 0.0))
    assert pin.child_frame.xyz == pytest.approx((-0.4, 0.0, 0.0))
    mimic = spec.joints["cz"].mimic  # q - 0.4 = 0.1 + 2 q_other
    assert (mimic.joint, mimic.ratio, mimic.offset) == ("bx", 2.0, pytest.approx(0.5))
    assert spec.joints["by"].motion[0].position == 0.25
    bent = spec.joints["dz"].mimic
    assert (bent.joint, bent.polynomial) == ("bx", (0.0, 1.0, 0.5))
    report = imported(tmp_path, LOOPS).report
    assert {name: fate for name, (fate, _) in fates(report, "joint").items() if name in ("gear", "held", "bent")} == {
        "gear": "changed",
        "held": "changed",
        "bent": "changed",
    }


SUMS = bodies(
    "".join(
        f"""<body pos="{n} 0 0"><joint name="{name}" type="{kind}" axis="0 0 1" ref="{ref}"/>
    <geom size="0.05" mass="1" pos="0.2 0 0"/></body>"""
        for n, (name, kind, ref) in enumerate(
            (
                ("a", "hinge", 0.3),
                ("b", "hinge", -0.2),
                ("c", "slide", 0.1),
                ("d", "slide", 0.4),
                ("e", "hinge", 0.5),
                ("f", "hinge", 0.0),
                ("g", "slide", -0.3),
                ("h", "slide", 0.2),
            )
        )
    ),
    """<compiler angle="radian"/>
  <tendon><fixed name="abc"><joint joint="a" coef="0.5"/><joint joint="b" coef="-1"/><joint joint="c" coef="2"/></fixed>
    <fixed name="d"><joint joint="d" coef="3"/></fixed>
    <fixed name="ef"><joint joint="e" coef="1"/><joint joint="f" coef="2"/></fixed>
    <fixed name="ag"><joint joint="a" coef="1"/><joint joint="g" coef="-2"/></fixed></tendon>
  <equality><tendon name="sum" tendon1="abc" polycoef="0.2 0 0 0 0"/>
    <tendon name="cam" tendon1="ef" tendon2="d" polycoef="0.1 0.5 -0.3 0.2 0.05"/>
    <tendon name="two" tendon1="ag" tendon2="ef" polycoef="0.1 0.4 0 0 0"/>
    <tendon name="bad" tendon1="ag" tendon2="ef" polycoef="0.1 0.4 0.1 0 0"/>
    <joint name="quartic" joint1="h" joint2="c" polycoef="0.1 -1 0.3 0.2 -0.4"/></equality>""",
)


def test_where_equalities_hold_here_they_hold_in_mujoco(tmp_path):
    """Sums of coordinates with references, and polynomials of tendons and joints, at the start that the scene assembles."""
    path = model_file(tmp_path, SUMS)
    document = load_scene(path)
    spec = resolve(document)
    built = build(spec, document)
    assert spec.joints["h"].mimic.joint == "c"
    assert {name: len(force.of) for name, force in spec.forces.items() if force.type == "coupling"} == {
        "sum": 3,
        "cam": 3,
        "two": 4,
    }
    assert fates(imported(tmp_path, SUMS).report, "tendon")["bad"][0] == "dropped"
    model = mujoco.MjModel.from_xml_string(SUMS)
    data = mujoco.MjData(model)
    for name in "abcdefgh":
        data.joint(name).qpos[0] = built.joint_q[0, built.joints.q_start[built.joints.name.index(name)]]
    mujoco.mj_forward(model, data)
    lacks = {int(data.efc_id[r]): data.efc_pos[r] for r in range(data.nefc)}
    assert {model.equality(e).name: abs(lack) < 1e-12 for e, lack in lacks.items()} == {
        "sum": True,
        "cam": True,
        "two": True,
        "quartic": True,
        "bad": False,
    }


@pytest.mark.parametrize(
    "words",
    [
        "",
        'anchor="0.1 0.2 -0.1"',
        'relpose="0.3 0.1 0.2 0.9 0.1 0.3 -0.2"',
        'anchor="0.1 0.2 -0.1" relpose="0.3 0.1 0.2 0.9 0.1 0.3 -0.2"',
    ],
)
def test_where_a_weld_holds_here_it_holds_in_mujoco(tmp_path, words):
    """With the points that it holds together, and the pose; at the start that the scene assembles."""
    text = bodies(
        f"""<body name="a" pos="0 0 1"><joint name="pin" axis="0 1 0"/>{BALL}</body>
      <body name="b" pos="0.3 0.2 0.9" euler="10 40 -20"><freejoint/>{BALL}</body>""",
        f'<equality><weld body1="a" body2="b" {words}/></equality>',
    )
    document = load_scene(model_file(tmp_path, text))
    built = build(resolve(document), document)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    angle, place = built.joint_q[0, 0], built.joint_q[0, 1:8]
    data.qpos[:] = [angle, *place[:3], place[6], *place[3:6]]
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos[:6]).max() < 1e-9


def test_flags_take_effect(tmp_path):
    """Gravity, contact, limits, springs and actuation that `option` switches off."""
    names = ("gravity", "contact", "limit", "spring", "damper", "frictionloss", "actuation")
    flags = "".join(f' {name}="disable"' for name in names)
    spec = spec_of(tmp_path, MODEL.replace("<visual>", f"<option><flag{flags}/></option><visual>"))
    assert spec.world.gravity == (0.0, 0.0, 0.0)
    assert not spec.contact.enabled
    assert "hip_spring" not in spec.forces
    for joint in spec.joints.values():
        assert joint.limit is None
        assert joint.drive is None
        assert set(joint.damping) | set(joint.friction) <= {0.0}


def random_contacts(seed):
    """Spheres in one place, on random trees with random masks, frictions, dimensions, exclusions and pairs."""
    rng = np.random.default_rng(seed)

    def geom(name):
        slide, spin, roll = rng.choice([0.1, 0.4, 0.9], 3)
        of, meets, dim, rank = (rng.choice(some) for some in ([0, 1, 2, 3, 4], [0, 1, 2, 5], [1, 3, 4, 6], [0, 0, 1]))
        return (
            f'<geom name="{name}" size="0.1" contype="{of}" conaffinity="{meets}" condim="{dim}" '
            f'friction="{slide} {spin} {roll}" priority="{rank}"/>'
        )

    def body(k, children):
        joint = rng.choice(["", "<joint/>", '<joint type="ball"/>', "<joint/><joint pos='0.1 0 0' axis='1 0 0'/>"])
        return f'<body name="b{k}">{joint}{geom(f"g{k}")}{geom(f"h{k}")}{children}</body>'

    text, switch = geom("w0") + geom("w1"), '<option><flag filterparent="disable"/></option>' if seed % 3 == 2 else ""
    text += body(0, body(1, body(2, body(3, ""))) + body(4, body(5, ""))) + body(6, "")
    text += f'<body name="b7"><freejoint/>{geom("g7")}</body>'
    more = (
        '<contact><exclude body1="b2" body2="b6"/><exclude body1="b7" body2="world"/>'
        '<pair geom1="g0" geom2="g1" condim="4" friction="0.3 0.3 0.02 0.001 0.001"/>'
        '<pair geom1="w0" geom2="g7"/></contact>'
    )
    if seed % 2:  # by which bodies are parts of the world of a scene, but not of MuJoCo's
        more += f'<equality><weld body1="b6"/><weld body1="b3" body2="b6" active="{str(seed % 4 == 1).lower()}"/></equality>'
    return bodies(text, more + switch)


@pytest.mark.parametrize("seed", range(12))
def test_what_touches_and_how_is_that_of_mujoco(tmp_path, seed):
    """MuJoCo's own list of contacts, of spheres that lie in one place: masks, neighbours, welds, exclusions, pairs."""
    path = model_file(tmp_path, random_contacts(seed))
    peer = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(peer)
    mujoco.mj_forward(peer, data)
    theirs = {}
    for contact in data.contact[: data.ncon]:
        names = frozenset(peer.geom(int(g)).name for g in contact.geom)
        slide, _, spin, roll, _ = contact.friction
        theirs[names] = tuple(value if contact.dim > bar else 0.0 for value, bar in ((slide, 1), (spin, 3), (roll, 4)))
    document = load_scene(path)
    model = build(resolve(document), document)
    shapes, contacts = model.shapes, model.contacts
    mine = {}
    apart = {
        (s, int(contacts.apart[k]))
        for s in range(len(shapes.name))
        for k in range(contacts.apart_start[s], contacts.apart_start[s + 1])
    }
    for a in range(len(shapes.name)):
        for b in range(a):
            g, h = contacts.group[a], contacts.group[b]
            row = contacts.combination[g, h] if g >= 0 and h >= 0 else -1
            if row >= 0 and shapes.body[a] != shapes.body[b] and not {(a, b), (b, a)} & apart:
                numbers = (contacts.friction, contacts.torsional_friction, contacts.rolling_friction)
                names = frozenset(shapes.name[s].split("/")[-1] for s in (a, b))
                mine[names] = tuple(float(column[0, row]) for column in numbers)
    assert set(mine) == set(theirs)
    for names, numbers in theirs.items():
        assert mine[names] == pytest.approx(numbers, rel=1e-12), names


def test_the_command_writes_tells_and_refuses(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model_file(tmp_path)
    assert run_command(["import", "model.xml"], debug=False, as_json=False) == Exit.OK
    talk = capsys.readouterr().err
    assert "dropped 1 general" in talk
    assert "wrote model.yaml and 1 file in model_meshes/" in talk
    (mesh,) = Path("model_meshes").iterdir()
    mesh.write_text("mine")
    Path("model.yaml").unlink()
    assert run_command(["import", "model.xml"], debug=False, as_json=False) == Exit.OUTPUT
    assert f"{mesh} exists, and is not what" in capsys.readouterr().err
    assert mesh.read_text() == "mine"
    assert run_command(["import", "model.xml", "--force", "--strict"], debug=False, as_json=False) == Exit.NEGATIVE
    capsys.readouterr()
    assert run_command(["import", "model.xml", "--force", "--json"], debug=False, as_json=True) == Exit.OK
    data = json.loads(capsys.readouterr().out)
    assert {one["file"] for one in data["elements"]} == {"", "parts.xml"}
    assert run_command(["check", "model.xml", "model.yaml"], debug=False, as_json=False) == Exit.OK


LONE = """<mujoco><worldbody>
<body name="ball" pos="0 0 1"><freejoint/><geom name="skin" size="0.1" mass="1" {}/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("masks", ["", 'contype="0"', 'conaffinity="0"', 'contype="5" conaffinity="4"'])
def test_a_geom_that_is_alone_in_its_file_meets_what_a_scene_adds(tmp_path, masks):
    """A model is imported to be put into a scene: what MuJoCo would let touch a floor of the default masks, touches it."""
    included = tmp_path / "lone.yaml"
    model_file(tmp_path, LONE.format(masks))
    assert run_command(["import", str(tmp_path / "model.xml"), "-o", str(included)], debug=True, as_json=False) == 0
    outer = tmp_path / "outer.yaml"
    outer.write_text(
        "simcli: 1\ninclude: [lone.yaml]\nworld: {shapes: {floor: {type: plane, layers: [default], touches: [default]}}}\n"
    )
    document = load_scene(outer)
    model = build(resolve(document), document)
    assert [model.shapes.name[s] for pair in model.contacts.pairs[:2] for s in pair] == ["floor", "ball/skin"]


def test_a_plane_that_collides_with_nothing_of_its_file_is_kept(tmp_path):
    spec = spec_of(
        tmp_path,
        bodies(
            '<geom name="ground" type="plane" size="1 1 1"/>'
            '<body name="b"><freejoint/><geom size="0.1" contype="0" conaffinity="0"/></body>'
        ),
    )
    assert spec.world.shapes["ground"].type == "plane"


MOCAP = """<worldbody><geom name="floor" type="plane" size="1 1 1" pos="0 0 -2"/>
<body name="{one}" mocap="true" pos="0.5 0.1 0.8" euler="0 20 0"><geom size="0.02"/></body>
<body name="a" pos="0 0 1"><joint name="j1" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
<body name="b" pos="0.3 0 0" euler="10 0 0"><joint name="j2" axis="0 1 0" range="10 150"/><geom size="0.03" pos="0.1 0 0"/>
<body name="hand" pos="0.3 0 0"><joint name="j3" axis="0 1 0" range="-100 100"/><geom size="0.05"/></body></body></body>
</worldbody><equality>{hold}</equality><keyframe><key name="in" qpos="0 1 0"/><key name="out" qpos="0 -1 2"/></keyframe>"""
HOLDS = {
    "mocap weld": '<weld body1="mocap" body2="hand"/>',
    "mocap weld, other order": '<weld body1="hand" body2="mocap"/>',
    "mocap point": '<connect body1="mocap" body2="hand" anchor="0.1 0.05 0.2"/>',
    "world weld": '<weld body1="hand"/>',
    "world point": '<connect body1="hand" anchor="0.1 0 0"/>',
}


@pytest.mark.parametrize("hold", HOLDS)
def test_a_loop_that_a_start_within_limits_would_open_closes_there(tmp_path, hold):
    """MuJoCo's welds are soft: at qpos0, where they are drawn, joint 2 is outside its limit. Its start closes the loop."""
    text = f"<mujoco>{MOCAP.format(one='mocap', hold=HOLDS[hold])}</mujoco>"
    report = import_model(model_file(tmp_path, text)).report
    told = [entry for entry in report.entries if "keep from where the file draws it" in entry.why]
    assert [(entry.kind, entry.fate) for entry in told] == [
        ("body" if "mocap" in hold else hold.split()[1].replace("point", "connect"), "changed")
    ]
    keys = {entry.name: entry for entry in report.entries if entry.kind == "key"}
    assert (keys["in"].fate, keys["out"].fate) == ("carried", "changed")
    assert keys["out"].why == "begins outside of limits: `j2` at -1, `j3` at 2"
    found = tmp_path / "fk.json"
    assert run_command(["fk", str(tmp_path / "model.xml"), "-o", str(found)], debug=True, as_json=False) == 0
    begun = json.loads(found.read_text())
    peer = mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml"))
    data = mujoco.MjData(peer)
    data.qpos[1] = np.radians(80)
    mujoco.mj_forward(peer, data)
    hand = begun["body_q"][0][begun["labels"]["B"].index("hand")]
    assert hand[:3] == pytest.approx(data.body("hand").xpos, abs=1e-9)


THRUSTERS = """<mujoco><option gravity="0 0 -2"/><worldbody>
  <body name="craft" pos="0.3 -0.2 1" quat="0.8 0.2 0.5 0.1"><freejoint name="flight"/>
    <inertial pos="0.05 -0.03 0.02" mass="1.4" diaginertia="0.02 0.03 0.04"/>
    <body pos="0.2 0 0"><joint name="fin" axis="0 1 0.2"/>
      <inertial pos="0.1 0 0" mass="0.3" diaginertia="1e-3 2e-3 2e-3"/></body>
  </body></worldbody>
<actuator>
  <motor name="lift" joint="flight" gear="1 -2 12 0 0 0"/>
  <motor name="roll" joint="flight" gear="0 0 0 0.3 0.1 -0.2" ctrlrange="-1 1"/>
  <motor name="both" joint="flight" gear="2 1 0 0.1 0 0.3"/>
  <general name="steer" jointinparent="flight" gear="0 1 0 -0.1 0.2 0" gainprm="1.5"/>
  <motor name="nothing" joint="flight" gear="0 0 0 0 0 0"/>
  <position name="servo" joint="flight" gear="0 0 1 0 0 0" kp="3"/>
</actuator>
<keyframe><key name="home" qpos="0.3 -0.2 1 0.8 0.2 0.5 0.1 0.4" qvel="0.5 -0.3 0.2 1 -2 0.7 1.5"
  ctrl="0.8 -0.6 0.5 0.9 0 0"/>
</keyframe></mujoco>"""


def test_motors_on_free_joints_push_as_in_mujoco(tmp_path):
    """Forces on the origin in world axes, torques in those of the body, or of the world; controls of a keyframe."""
    path = tmp_path / "craft.xml"
    path.write_text(THRUSTERS)
    found = []
    for step in (1e-3, 5e-4):
        pair = Pair(path, tmp_path / "scene", off=("contact",), step=step)
        pair.data.ctrl[:] = pair.model.key_ctrl[0]
        controls = pair.mechanism.sections["keyframes"]["home"]["controls"]
        wanted = {"lift.force", "roll.torque", "both.force", "both_2.torque", "steer.force", "steer.torque"}
        assert set(controls) == {f"forces.{name}" for name in wanted}
        assert pair.mechanism.forces["lift"].words["frame"] == "world"
        assert pair.mechanism.forces["both_2"].words["frame"] == "body"
        found.append(pair.difference(*(word for at, value in controls.items() for word in ("--set", f"{at}={value!r}"))))
    assert found[0] < MOTION_BAR
    assert found[0] > FOURTH * found[1]
    report = import_model(path).report
    told = fates(report, "motor")
    assert "its force is [1, -2, 12] N in world axes" in told["lift"][1]
    assert "its torque [0.3, 0.1, -0.2] N m in axes of the body" in told["roll"][1]
    assert "without the range of its control, [-1, 1]" in told["roll"][1]
    assert told["nothing"] == ("dropped", "has a gear of 0")
    assert fates(report, "position")["servo"] == ("dropped", "its force on a free joint depends on more than its control")
