"""Sensors against MuJoCo's on the same mechanism, in every solver and integrator; names, mistakes, worlds, templates."""

from functools import cache

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.scenes import faults_of, scene
from test_measures import WAYS, column, run

import simcli
from simcli.errors import SceneError
from simcli.pipeline import build_model
from simcli.spec import resolve
from simcli.spec.base.sensor_types import SENSOR_TYPES

pytestmark = pytest.mark.usefixtures("scalar_code")
# A chain of three bodies on the world, and one that flies.
BODIES = """
bodies:
  a: {com: [0.2, 0, 0.05], mass: 1, inertia: {full: [[0.1, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.25]]},
      frames: {imu: {xyz: [0.5, 0, 0.1], rpy: [0.1, 0.2, 0.3]}}}
  b: {pose: {xyz: [1, 0, 0]}, com: [0.2, 0.1, 0], mass: 0.8, inertia: {diag: [0.1, 0.12, 0.15]},
      frames: {imu: {xyz: [0.1, 0.2, 0.1], rpy: [0.4, -0.1, 0.2]}}, points: {tip: [0.3, 0, 0]}}
  c: {pose: {xyz: [1.5, 0, 0]}, com: [0, 0, 0.1], mass: 0.5, inertia: {diag: [0.05, 0.06, 0.07]},
      frames: {imu: {xyz: [0, 0.1, 0], rpy: [0, 1.2, 0]}}}
  f: {pose: {xyz: [0, 5, 0]}, com: [0.1, 0.2, 0.3], mass: 2, inertia: {diag: [0.3, 0.2, 0.1]},
      velocity: {linear: [1, 2, 3], angular: [0.5, -1, 2]}, frames: {imu: {xyz: [0.4, 0, 0], rpy: [0.3, 0.3, 0.3]}}}
world: {frames: {table: {xyz: [0, 1, 0.8], rpy: [0.1, 0, 0.5]}}}
joints:
  p: {type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 1, 0], q: 0.4, qd: 1}
  q: {type: revolute, parent: a, child: b, at: [1, 0, 0], axis: [0.6, 0.8, 0], q: 0.2, qd: 2}
  r: {type: prismatic, parent: b, child: c, at: [1.5, 0, 0], axis: [0, 0, 1], q: 0.1, qd: -0.5}
sensors:
  imu: {type: [gyro, accelerometer, velocimeter], at: c/imu}
  free: {type: [gyro, accelerometer, velocimeter], at: f/imu}
  seen: {type: [position, orientation], at: c/imu, relative_to: world/table}
  rel: {type: [position, orientation, velocity, angular_velocity], at: c/imu, relative_to: a/imu}
  tip: {type: [position, velocity], at: b/tip}
  slide: {type: [encoder, tachometer], joint: r}
  load: {type: [force, torque], joint: q, at: b/imu}
  tree: {type: [com, com_velocity, momentum, angular_momentum], body: b}
"""
RUN = "solver: {dt: 1.0e-3}\nrun: {duration: 0.01}\noutput: {every: 0.002, channels: [state], quantities: [%s]}\n"
XML = """
<mujoco>
<compiler autolimits="true"/>
<worldbody>
  <site name="table" pos="0 1 0.8" quat="{table}"/>
  <body name="a">
    <inertial pos="0.2 0 0.05" mass="1" fullinertia="0.1 0.2 0.25 0.01 0.02 0.03"/>
    <joint name="p" axis="0 1 0"/> <site name="a" pos="0.5 0 0.1" quat="{a}"/>
    <body name="b" pos="1 0 0">
      <inertial pos="0.2 0.1 0" mass="0.8" diaginertia="0.1 0.12 0.15"/>
      <joint name="q" axis="0.6 0.8 0"/> <site name="b" pos="0.1 0.2 0.1" quat="{b}"/>
      <site name="tip" pos="0.3 0 0"/>
      <body name="c" pos="0.5 0 0">
        <inertial pos="0 0 0.1" mass="0.5" diaginertia="0.05 0.06 0.07"/>
        <joint name="r" type="slide" axis="0 0 1"/> <site name="c" pos="0 0.1 0" quat="{c}"/>
      </body>
    </body>
  </body>
  <body name="f">
    <inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.3 0.2 0.1"/> <freejoint/> <site name="f" pos="0.4 0 0" quat="{f}"/>
  </body>
</worldbody>
<sensor>
  <gyro name="imu.gyro" site="c"/> <accelerometer name="imu.accelerometer" site="c"/>
  <velocimeter name="imu.velocimeter" site="c"/>
  <gyro name="free.gyro" site="f"/> <accelerometer name="free.accelerometer" site="f"/>
  <velocimeter name="free.velocimeter" site="f"/>
  <framepos name="seen.position" objtype="site" objname="c" reftype="site" refname="table"/>
  <framequat name="seen.orientation" objtype="site" objname="c" reftype="site" refname="table"/>
  <framepos name="rel.position" objtype="site" objname="c" reftype="site" refname="a"/>
  <framequat name="rel.orientation" objtype="site" objname="c" reftype="site" refname="a"/>
  <framelinvel name="rel.velocity" objtype="site" objname="c" reftype="site" refname="a"/>
  <frameangvel name="rel.angular_velocity" objtype="site" objname="c" reftype="site" refname="a"/>
  <framepos name="tip.position" objtype="site" objname="tip"/>
  <framelinvel name="tip.velocity" objtype="site" objname="tip"/>
  <jointpos name="slide.encoder" joint="r"/> <jointvel name="slide.tachometer" joint="r"/>
  <force name="load.force" site="b"/> <torque name="load.torque" site="b"/>
  <subtreecom name="tree.com" body="b"/> <subtreelinvel name="tree.com_velocity" body="b"/>
  <subtreeangmom name="tree.angular_momentum" body="b"/>
</sensor>
</mujoco>
"""
TURNS = {"table": (0.1, 0, 0.5), "a": (0.1, 0.2, 0.3), "b": (0.4, -0.1, 0.2), "c": (0, 1.2, 0), "f": (0.3, 0.3, 0.3)}
COM_OF_F = np.array([0.1, 0.2, 0.3])
MASS_OF_TREE = 1.3
DYNAMIC = {"imu.accelerometer", "free.accelerometer", "load.force", "load.torque"}  # need accelerations or forces
PLACED = {
    "seen.position",
    "seen.orientation",
    "rel.position",
    "rel.orientation",
    "tip.position",
    "tree.com",
    "slide.encoder",
}
SAME = 1e-10
HALVED = 0.1  # of an error of first order by half the step, of the half


@cache
def mechanism():
    quats = {
        name: " ".join(map(repr, Rotation.from_euler("xyz", rpy).as_quat(scalar_first=True).tolist()))
        for name, rpy in TURNS.items()
    }
    model = mujoco.MjModel.from_xml_string(XML.format(**quats))
    return model, mujoco.MjData(model)


def names_of(model):
    return [model.sensor(k).name for k in range(model.nsensor)]


def expected(trajectory, frame):
    """What MuJoCo's sensors give in the state of a frame, by our names and orders."""
    model, data = mechanism()
    for name in "pqr":
        data.joint(name).qpos, data.joint(name).qvel = (getattr(trajectory.joint(name), of)[frame, 0] for of in ("q", "qd"))
    body = trajectory.body("f")
    turn, spin = Rotation.from_quat(body.orientation[frame, 0]), body.angular_velocity[frame, 0]
    origin = body.velocity[frame, 0] - np.cross(spin, turn.apply(COM_OF_F))
    free = model.body("f").dofadr[0]
    data.qpos[3:] = [*body.position[frame, 0], *turn.as_quat(scalar_first=True)]
    data.qvel[free : free + 6] = [*origin, *turn.inv().apply(spin)]
    mujoco.mj_forward(model, data)
    found = {name: data.sensor(name).data.copy() for name in names_of(model)}
    for name in ("seen.orientation", "rel.orientation"):
        found[name] = np.roll(found[name] * np.sign(found[name][0]), -1)
    found["tree.momentum"] = MASS_OF_TREE * found["tree.com_velocity"]
    return found


def errors(path):
    """Largest difference from MuJoCo over the frames of a run after its start, by sensor."""
    with simcli.open(path) as trajectory:
        wanted = [expected(trajectory, frame) for frame in range(1, trajectory.n_frames)]
        return {
            name: max(
                np.abs(column(trajectory, f"sensor.{name}")[frame + 1, 0] - one[name]).max()
                for frame, one in enumerate(wanted)
            )
            for name in wanted[0]
        }


def run_with(folder, names, solver, integrator, *sets):
    text = "simcli: 1\n" + BODIES + RUN % ", ".join(f"sensor.{name}" for name in names)
    return run(folder, text, f"solver.type={solver}", f"solver.integrator={integrator}", *sets)[1]


def all_names():
    return [*names_of(mechanism()[0]), "tree.momentum"]


def test_every_type_is_looked_at():
    touching = {"touch", "contact_force", "range"}
    assert {name.partition(".")[2] for name in all_names()} == set(SENSOR_TYPES) - touching


def of_first_order(solver, integrator, name):
    """Whether a step of first order shows in a sensor: whether that is no function of the state in which the step ends."""
    moved = DYNAMIC if solver == "generalized" else set(all_names()) - PLACED
    free_of_rows = name.startswith("free.") and name not in DYNAMIC
    return integrator == "semi_implicit" and name in moved and not free_of_rows and name != "slide.tachometer"


QUICK = {("generalized", "rk4"), ("natural", "zhong06"), ("maximal", "semi_implicit")}
RIGID = [pytest.param(*way, marks=() if way in QUICK else pytest.mark.slow) for way in WAYS if way[0] != "affine"]


@pytest.mark.parametrize(("solver", "integrator"), RIGID)
def test_sensors_are_those_of_mujoco(solver, integrator, tmp_path):
    """In the state of the frame: to rounding, or converging with the step where that is of first order."""
    found = errors(run_with(tmp_path, all_names(), solver, integrator))
    slow = {name for name in found if of_first_order(solver, integrator, name)}
    for name in found.keys() - slow:
        assert found[name] < SAME, name
    if slow:
        finer = errors(run_with(tmp_path, all_names(), solver, integrator, "solver.dt=5.0e-4"))
        for name in slow:
            assert finer[name] == pytest.approx(found[name] / 2, rel=HALVED), name


@pytest.mark.parametrize("integrator", ["bdf1", pytest.param("bdf2", marks=pytest.mark.slow)])
def test_sensors_on_affine_bodies_show_their_bodies(integrator, tmp_path):
    """Whose joints yield: by formulas of the poses, velocities, accelerations and wrenches that the same frames hold."""
    sets = ["output.channels=[state, body_qdd, reactions]"]
    with simcli.open(run_with(tmp_path, all_names(), "affine", integrator, *sets)) as trajectory:
        for name, wanted in by_formulas(trajectory).items():
            found = column(trajectory, f"sensor.{name}")[:, 0]
            np.testing.assert_allclose(found, wanted, atol=SAME * max(1, np.abs(wanted).max()), err_msg=name)
        wanted = [expected(trajectory, frame) for frame in range(1, trajectory.n_frames)]
        for name in PLACED:  # as far as its joints are stiff
            found = column(trajectory, f"sensor.{name}")[1:, 0]
            np.testing.assert_allclose(found, [one[name] for one in wanted], atol=1e-4)


FRAMES = {"a": ([0.5, 0, 0.1], "a"), "b": ([0.1, 0.2, 0.1], "b"), "c": ([0, 0.1, 0], "c"), "f": ([0.4, 0, 0], "f")}
COMS = {"a": [0.2, 0, 0.05], "b": [0.2, 0.1, 0], "c": [0, 0, 0.1], "f": COM_OF_F}


def by_formulas(trajectory):
    """Some sensors from what frames hold of bodies and joints."""
    found, names = {}, trajectory.bodies
    qdd = trajectory.column("frames/body_qdd")[:]
    for sensor, body in (("imu", "c"), ("free", "f")):
        arm, turns = FRAMES[body]
        motion = trajectory.body(body)
        R = Rotation.from_quat(motion.orientation[:, 0])
        axes = (R * Rotation.from_euler("xyz", TURNS[turns])).inv()
        r, spin = R.apply(np.subtract(arm, COMS[body])), motion.angular_velocity[:, 0]
        a = qdd[:, 0, names.index(body)]
        found[f"{sensor}.gyro"] = axes.apply(spin)
        found[f"{sensor}.velocimeter"] = axes.apply(motion.velocity[:, 0] + np.cross(spin, r))
        lifted = a[:, :3] + np.cross(a[:, 3:], r) + np.cross(spin, np.cross(spin, r)) + [0, 0, 9.81]
        found[f"{sensor}.accelerometer"] = axes.apply(lifted)
    motion = trajectory.body("b")
    R = Rotation.from_quat(motion.orientation[:, 0])
    axes = (R * Rotation.from_euler("xyz", TURNS["b"])).inv()
    wrench = trajectory.joint("q").wrench[:, 0]
    found["load.force"] = axes.apply(wrench[:, :3])
    found["load.torque"] = axes.apply(wrench[:, 3:] - np.cross(R.apply(FRAMES["b"][0]), wrench[:, :3]))
    return found


SMALL = """simcli: 1
models:
  arm:
    bodies:
      rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]},
        frames: {imu: {xyz: [0, 0, -1], rpy: [0.5, 0, 0]}}}
    joints: {pin: {type: revolute, parent: world, child: rod, at: [0, 0, 0], axis: [0, 1, 0], q: 0.3}}
    sensors: {imu: {type: [gyro, position], at: rod/imu}, turn: {type: encoder, joint: pin}}
instances: {left: {model: arm}, right: {model: arm, at: {xyz: [0, 2, 0]}}}
solver: {type: generalized, integrator: semi_implicit, dt: 1.0e-3}
run: {duration: 0.2, stop_when: {quantity: sensor.left/turn.encoder, below: 12 deg}}
batch: {worlds: 3, vary: {joints.left/pin.qd: {list: [0, -1, -9]},
  bodies.left/rod.frames.imu.xyz: {list: [[0, 0, -1], [0, 0, -2], [0, 0, -3]]}}}
measure:
  fastest: {max_abs: sensor.left/imu.gyro}
  first: {first: sensor.left/turn.encoder, below: 0.28}
output: {every: 0.01, channels: [state], quantities: [sensor.left/imu.position, sensor.right/imu.position,
  sensor.left/turn.encoder]}
expect:
  - {max: sensor.left/turn.encoder, below: 0.31}
"""


def test_sensors_of_worlds_and_templates_are_quantities_like_others(tmp_path):
    measures, path = run(tmp_path, SMALL)
    with simcli.open(path) as trajectory:
        for world in range(3):
            n = int((trajectory.diag.status[:, world] == 0).sum())  # frames until it ends
            x = column(trajectory, "sensor.left/imu.position")[:n, world]
            turn = Rotation.from_quat(trajectory.body("left/rod").orientation[:n, world])
            origin = trajectory.body("left/rod").position[:n, world]
            np.testing.assert_allclose(x, origin + turn.apply([0, 0, -1 - world]), atol=1e-14)
        turned = column(trajectory, "sensor.left/turn.encoder")
        np.testing.assert_array_equal(turned, column(trajectory, "joint.left/pin.q"))
        assert trajectory.quantities["sensor.left/turn.encoder"] == "rad"
        assert trajectory.quantities["sensor.left/imu.position.z"] == "m"
        status = trajectory.diag.status[-1]
        np.testing.assert_array_equal(status > 0, [False, True, True])
    spin = measures["fastest"].value
    assert measures["fastest"].layout.unit == "rad/s"
    assert spin[2].max() > 7
    np.testing.assert_allclose(spin[2, 2] / spin[2, 1], np.tan(0.5), rtol=1e-12)  # of a turn about y, seen from the frame
    assert measures["first"].value[1] > measures["first"].value[2] > 0


MISTAKEN = """bodies:
  rod: {mass: 1, inertia: {diag: [1, 1, 1]}, frames: {imu: {}}}
sensors:
  one: {type: position, at: rod/imu, relative_to: rod}
  two: {type: encoder, joint: pin}
  three: {type: com, body: rod}
joints: {pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0]}, held: {type: fixed, parent: world, child: rod}}
"""


def mistaken(line, old, new):
    lines = MISTAKEN.splitlines()
    assert old in lines[line]
    lines[line] = lines[line].replace(old, new)
    return [fault[:2] for fault in faults_of("\n".join(lines) + "\n")]


@pytest.mark.parametrize(
    ("line", "old", "new", "code"),
    [
        (3, "rod/imu", "rod/imo", "SC310"),
        (3, "rod/imu", "rad/imu", "SC304"),
        (3, "rod/imu", "imu", "SC304"),
        (3, "relative_to: rod", "relative_to: base", "SC304"),
        (3, "type: position", "type: gyroscope", "SC206"),
        (3, "type: position", "type: gyro", "SC207"),
        (3, "at: rod/imu, ", "", "SC202"),
        (4, "joint: pin", "joint: pon", "SC305"),
        (4, "joint: pin", "joint: held", "SC205"),
        (4, "joint: pin", "joint: pin, at: rod", "SC207"),
        (4, "encoder", "[encoder, encoder]", "SC207"),
        (5, "body: rod", "body: red", "SC304"),
        (5, "body: rod", "at: rod", "SC202"),
    ],
)
def test_what_a_sensor_lacks_is_refused_at_its_line(line, old, new, code):
    assert (code, line) in mistaken(line, old, new)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sensor.one.gyro", "of type position"),
        ("sensor.ona.position", "no sensor `ona`"),
        ("sensor.one", "no quantity"),
        ("sensor.one.nothing", "no quantity"),
    ],
)
def test_quantities_of_sensors_are_checked_by_name(name, words):
    found = faults_of(MISTAKEN + f"measure: {{m: {{max: {name}}}}}\n")
    assert [(code, line) for code, line, _ in found] == [("SC315", 7)]
    assert words in found[0][2]


def test_a_hint_names_a_type_that_the_sensor_has():
    with pytest.raises(SceneError) as caught:
        resolve(scene(MISTAKEN + "measure: {m: {max: sensor.one}}\n"))
    assert caught.value.faults[0].hint == "did you mean `sensor.one.position`?"


RESTING = """simcli: 1
bodies:
  box: {pose: {xyz: [0, 0, 0.0999], rpy: [0, 0, 0.3]}, mass: 2, inertia: {diag: [0.02, 0.02, 0.02]},
        shapes: {s: {type: box, size: [0.2, 0.2, 0.2]}}, frames: {edge: {xyz: [0.1, 0, -0.1], rpy: [0.5, 0, 0]}}}
  lid: {pose: {xyz: [0, 0, 0.2496]}, mass: 1, inertia: {diag: [0.02, 0.02, 0.02]},
        shapes: {ball: {type: sphere, radius: 0.05}}}
world: {shapes: {ground: {type: plane}}}
sensors:
  all: {type: [touch, contact_force], body: box}
  sole: {type: touch, shape: lid/ball}
  floor: {type: [touch, contact_force], shape: ground}
  half: {type: touch, body: box, at: box/edge, size: [0.05, 1, 1]}
  round: {type: touch, body: box, at: box, radius: 0.12}
  tilted: {type: contact_force, shape: lid/ball, at: box/edge}
solver: {dt: 1.0e-3}
run: {duration: 0.3}
contact: {}
output: {every: 0.3, quantities: [sensor.all.touch, sensor.all.contact_force, sensor.sole.touch, sensor.floor.touch,
  sensor.floor.contact_force, sensor.half.touch, sensor.round.touch, sensor.tilted.contact_force]}
"""


@pytest.mark.parametrize(
    "solver", ["generalized", *(pytest.param(one, marks=pytest.mark.slow) for one in ("maximal", "natural", "affine"))]
)
def test_touch_carries_the_weight(solver, tmp_path):
    apart = ("bodies.box.pose.xyz=[0, 0, 0.1008]", "bodies.lid.pose.xyz=[0, 0, 0.2524]") * (solver == "affine")  # a barrier
    _, path = run(tmp_path, RESTING, f"solver.type={solver}", *apart)
    g, near = 9.81, {"rel": 1e-2 if solver == "affine" else 1e-6}
    with simcli.open(path) as trajectory:
        names = [f"{sensor}.{one}" for sensor in ("all", "floor") for one in ("touch", "contact_force")]
        names += ["sole.touch", "half.touch", "round.touch", "tilted.contact_force"]
        last = {name: column(trajectory, f"sensor.{name}")[-1, 0] for name in names}
    assert last["all.touch"] == pytest.approx((3 + 1) * g, **near)  # on the ground, and the lid on it
    assert last["sole.touch"] == pytest.approx(g, **near)
    assert last["floor.touch"] == pytest.approx(3 * g, **near)
    np.testing.assert_allclose(last["all.contact_force"], [0, 0, 2 * g], atol=3 * g * near["rel"])
    np.testing.assert_allclose(last["floor.contact_force"], [0, 0, -3 * g], atol=3 * g * near["rel"])
    assert last["half.touch"] == pytest.approx(1.5 * g, **near)  # two of four corners
    assert last["round.touch"] == pytest.approx(g, **near)  # the lid, and no corner
    up = Rotation.from_euler("x", 0.5).inv().apply([0, 0, g])
    np.testing.assert_allclose(last["tilted.contact_force"], up, atol=3 * g * near["rel"])


SHIFTED = """
  {name}_{key}:
    {{type: {kind}, parent: world, child: {name}_{key}, axis: [0.6, 0, 0.8], {q}init_angle: {shift}, loop: {loop},
     parent_frame: {{xyz: [0.1, {y}, 0.3], rpy: [0.2, 0, 0.4]}},
     child_frame: {{xyz: [0, 0.2, 0.1], rpy: [0.5, 0.1, 0]}}{more}}}"""
KINDS = {"hinge": ("revolute", ""), "rail": ("prismatic", ""), "thread": ("screw", ", pitch: 0.7")}


@pytest.mark.parametrize(
    ("solver", "loop"), [("generalized", False), ("generalized", True), ("maximal", False), ("natural", False)]
)
def test_init_angle_moves_no_anchor(solver, loop, tmp_path):
    """`init_angle` shifts a coordinate; wrenches act, and force sensors stand, at the anchor as it is written."""
    bodies, joints, sensors = "", "", ""
    for n, (name, (kind, more)) in enumerate(KINDS.items()):
        for key, shift in (("bare", 0.0), ("shifted", 0.6)):
            bodies += f"\n  {name}_{key}: {{mass: 2, com: [0.1, 0.4, 0.2], inertia: {{diag: [0.1, 0.2, 0.15]}}}}"
            q = "" if loop else f"q: {0.3 + shift}, "
            joints += SHIFTED.format(name=name, key=key, kind=kind, q=q, shift=shift, loop=str(loop).lower(), y=n, more=more)
            sensors += f"\n  {name}_{key}: {{type: [force, torque], joint: {name}_{key}}}"
    names = [f"sensor.{name}_{key}.{one}" for name in KINDS for key in ("bare", "shifted") for one in ("force", "torque")]
    text = (
        f"simcli: 1\nbodies:{bodies}\njoints:{joints}\nsensors:{sensors}\nsolver: {{type: {solver}, dt: 1 ms}}\n"
        f"run: {{duration: 0.02}}\n"
        f"output: {{every: 0.01, channels: [state, reactions], quantities: [{', '.join(names)}]}}\n"
    )
    path = run(tmp_path, text)[1]
    with simcli.open(path) as trajectory:
        for name in KINDS:
            for of in (
                lambda key, name=name: trajectory.joint(f"{name}_{key}").wrench[:, 0],
                *(
                    lambda key, name=name, one=one: column(trajectory, f"sensor.{name}_{key}.{one}")[:, 0]
                    for one in ("force", "torque")
                ),
            ):
                assert np.abs(of("bare")[1:]).max() > 1.0
                np.testing.assert_allclose(of("shifted"), of("bare"), atol=1e-9)


def test_a_subtree_is_what_the_tree_carries_whichever_end_of_a_joint_is_its_parent():
    """The base carries the hand, although the joint between them names the hand as its parent; a loop carries nothing."""
    bodies = "".join(f"  {name}: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}\n" for name in ("base", "hand", "tool", "bar"))
    document = scene(f"""
bodies:
{bodies}joints:
  stand: {{type: revolute, parent: world, child: base}}
  wrist: {{type: revolute, parent: hand, child: base}}
  grip: {{type: revolute, parent: hand, child: tool}}
  bar: {{type: revolute, parent: world, child: bar}}
  stay: {{type: ball, loop: true, parent: base, child: bar}}
sensors:
  all: {{type: com, body: base}}
  part: {{type: com, body: hand}}
""")
    sensors = build_model(document, resolve(document)).sensors
    assert dict(zip(sensors.name, sensors.subtree, strict=True)) == {"all": (0, 1, 2), "part": (1, 2)}
