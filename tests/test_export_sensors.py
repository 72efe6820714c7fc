"""Sensors and keyframes as MJCF, and back: the same sensors at the same places, the same states and controls."""

import numpy as np
import pytest

from simcli.exchange.importing import load_scene
from simcli.exchange.writing.exporting import export_scene
from simcli.model import build
from simcli.model.tree.reference import body_poses
from simcli.spec import resolve
from simcli.spec.names.sensor_types import SENSOR_TYPES

mujoco = pytest.importorskip("mujoco")
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
            found[given] = (type_, names[table.body[k]], table.pose[0, k], seen if needs_seen else None, one.body,
                            int(table.toucher[k]) >= 0, table.radius[0, k], table.half[0, k])  # fmt: skip
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
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(name).id)
    mujoco.mj_kinematics(model, data)
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
