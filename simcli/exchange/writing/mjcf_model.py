"""A scene as MJCF: bodies within each other, sensors, the state in which a run begins as the keyframe `start`, keyframes.

A state has coordinates, velocities, controls and mocap poses. Frames that sensors look from are sites. What is one sensor of
several types in a scene is a sensor for each type.

Source: the XML reference of MuJoCo 3 and 4 (Google DeepMind). MuJoCo keeps loops, gears, limits and dry friction softly,
where a scene keeps them exactly: the report names loops and gears, which are as hard as MuJoCo takes them.
"""

import numpy as np

from simcli import rotations as rot
from simcli.errors import SceneError
from simcli.exchange.mjcf.sensors import (
    SENSORS_AT_JOINTS,
    SENSORS_AT_OBJECTS,
    SENSORS_AT_SITES,
    SENSORS_OF_JOINTS,
    SENSORS_OF_SUBTREES,
)
from simcli.exchange.source.mechanism import GivenNames
from simcli.exchange.writing.chains import ChainLink
from simcli.exchange.writing.mjcf_acts import write_drives, write_forces, write_gears, write_loops
from simcli.exchange.writing.mjcf_parts import MjcfParts, WrittenState, placed, write_bodies, write_places, wxyz
from simcli.exchange.writing.mjcf_shapes import write_shapes_of_all, write_touching
from simcli.exchange.writing.written_scene import MeshCopies, Tag, WrittenScene, tag
from simcli.model import build
from simcli.model.sensor_inputs import NO_TOUCHER
from simcli.model.tables.model import WORLD, Array, Model
from simcli.model.tables.signal_tables import Sensors
from simcli.spec import resolve
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.sensor import SensorSpec

_AT_SITE = {type_: kind.lower() for kind, type_ in SENSORS_AT_SITES.items()}
_AT_OBJECT = {type_: kind.lower() for kind, type_ in SENSORS_AT_OBJECTS.items()}
_OF_BALL = {SENSORS_OF_JOINTS[kind]: kind.lower() for kind in ("BALLQUAT", "BALLANGVEL")}
_OF_AXIS = {SENSORS_OF_JOINTS[kind]: kind.lower() for kind in ("JOINTPOS", "JOINTVEL")}
_AT_JOINT = {type_: kind.lower() for kind, type_ in SENSORS_AT_JOINTS.items()}
_OF_SUBTREE = {type_: kind.lower() for kind, type_ in SENSORS_OF_SUBTREES.items()}
_REORDERED = {"orientation": "gives the quaternion as w x y z"}
_BALLS = {"encoder": "gives the quaternion as w x y z, in axes of the child", "tachometer": "is in axes of the child"}


class _LostError(ValueError):
    """Why MJCF has no such sensor, in words."""


def write_sensors(parts: MjcfParts) -> None:
    """All sensors, and what became of each type of each."""
    scene, names = parts.scene, GivenNames(())
    for k, (name, spec) in enumerate(scene.spec.sensors.items()):
        path, changes, kept = f"sensors.{name}", [], 0
        for type_ in spec.type:
            given = names.give(name if len(spec.type) == 1 else f"{name}_{type_}")
            try:
                changes.append(_MjcfSensor(parts, k, spec, given).write(type_))
                kept += 1
            except _LostError as why:
                scene.lose("sensor", name, path, f"{type_}: {why}" if len(spec.type) > 1 else str(why))
            changes.append(f"is called `{given}`" if given != name else "")
        if kept:
            scene.report_element("sensor", name, path, "; ".join(dict.fromkeys(filter(None, changes))))
        if kept and spec.noise is not None:
            scene.lose("noise", name, f"{path}.noise", "MuJoCo applies no noise")


class _MjcfSensor:
    """A sensor on its way to MJCF.

    Args:
        parts: of the file.
        k: index of the sensor.
        spec: it in the scene.
        given: its name in the model.
    """

    def __init__(self, parts: MjcfParts, k: int, spec: SensorSpec, given: str):
        self.parts, self.k, self.spec, self.given = parts, k, spec, given
        self.section, self.table = parts.sections["sensor"], parts.scene.model.sensors

    def write(self, type_: str) -> str:
        """Write one type; what is changed with it."""
        if type_ in _AT_SITE:
            self.section.add(_AT_SITE[type_], name=self.given, site=self._site("body", "pose"))
            return self._range() if type_ == "range" else ""
        if type_ in _AT_OBJECT:
            seen = {"reftype": "site", "refname": self._site("base", "base_pose")} if self.spec.relative_to else {}
            self.section.add(_AT_OBJECT[type_], name=self.given, objtype="site", objname=self._site("body", "pose"), **seen)
            return _REORDERED.get(type_, "")
        if type_ in _OF_AXIS:
            return self._of_joint(type_)
        if type_ in _AT_JOINT:
            return self._at_joint(type_)
        if type_ in _OF_SUBTREE:
            body = self.parts.scene.model.bodies.name.index(self.spec.body)
            self.section.add(_OF_SUBTREE[type_], name=self.given, body=self.parts.scene.name_of(body))
            return ""
        if type_ == "touch":
            return self._touch()
        raise _LostError(f"MJCF has no sensor of the type {type_}")

    def _site(self, body: str, pose: str) -> str:
        """The site where the sensor is, or from which it is seen."""
        table: Sensors = self.table
        return self.parts.site(f"{self.given}_{body}", int(getattr(table, body)[self.k]), getattr(table, pose)[0, self.k])

    def _link(self) -> ChainLink | None:
        """What the joint of the sensor holds; None of a joint that closes a loop."""
        joint = int(self.table.joint[self.k])
        return next((link for link in self.parts.tree.links if link.joint == joint), None)

    def _of_joint(self, type_: str) -> str:
        """Coordinates or velocities, a sensor for each axis."""
        link = self._link()
        if link is not None and link.hold == "ball":
            self.section.add(_OF_BALL[type_], name=self.given, joint=link.name)
            return _BALLS[type_]
        axes = [axis for axis in link.axes if axis.lead is None] if link is not None else []
        if not axes:
            raise _LostError("MJCF has no sensor of the coordinates of such a joint")
        for n, axis in enumerate(axes):
            given = self.given if len(axes) == 1 else f"{self.given}_{n + 1}"
            self.section.add(_OF_AXIS[type_], name=given, joint=axis.name)
        return f"is {len(axes)} sensors, one for each axis" if len(axes) > 1 else ""

    def _at_joint(self, type_: str) -> str:
        """What a joint transmits to its child, which MuJoCo finds at a site of the body that hangs on it."""
        link, child = self._link(), int(self.parts.scene.model.joints.child[self.table.joint[self.k]])
        if link is None or link.hold == "free":
            raise _LostError("MJCF finds no force of a joint that closes a loop, or holds nothing")
        if link.body != child or self.table.body[self.k] != child:
            raise _LostError("MJCF gives the force on the body that hangs on the joint, at a site of that body")
        self.section.add(_AT_JOINT[type_], name=self.given, site=self._site("body", "pose"))
        return ""

    def _touch(self) -> str:
        """Contacts of a body within the zone of a site of its own."""
        table, k = self.table, self.k
        body, radius, half = int(table.toucher[k]), table.radius[0, k], table.half[0, k]
        if body == NO_TOUCHER or (radius < 0.0 and half[0] < 0.0):
            raise _LostError("sensors of touch in MJCF have a zone, and sum the contacts of a body")
        if int(table.body[k]) != body or body == WORLD:
            raise _LostError("the zone of a sensor of touch in MJCF is of the body whose contacts it sums")
        words = {"type": "sphere", "size": radius} if radius >= 0.0 else {"type": "box", "size": half}
        site = self.parts.scene.others.give(f"{self.given}_zone")
        self.parts.bodies[body].add("site", name=site, **words, **placed(np.asarray(table.pose[0, k])))
        self.section.add("touch", name=self.given, site=site)
        return "counts a contact if the line along its normal meets the zone"

    def _range(self) -> str:
        lost = "without its reach; " if self.spec.reach is not None else ""
        return f"{lost}sees what is only drawn, too"


_START = "start"
_OF_FORCES = ("force", "torque")  # of a wrench, which are the gear of its actuator


def write_start(parts: MjcfParts) -> None:
    """The keyframe of the state in which a run begins, where that is not at 0 and at rest."""
    numbers = _state(parts, WrittenState(parts.scene.spec, parts.scene.model))
    given = {key: value for key, value in numbers.items() if value and (key in ("qpos", "mpos", "mquat") or np.any(value))}
    if given:
        parts.sections["keyframe"].add("key", name=_START, **given)


def write_keyframes(parts: MjcfParts) -> None:
    """Keyframes of the scene, each as a run would begin from it."""
    scene, names = parts.scene, GivenNames((_START,))
    for name, keyframe in scene.spec.keyframes.items():
        path = f"keyframes.{name}"
        try:
            spec = resolve(scene.document, {"initial": name})
            state = WrittenState(spec, build(spec, scene.document))
        except SceneError as error:
            scene.lose("keyframe", name, path, f"no run begins there: {error.faults[0].message}")
            continue
        given = names.give(name)
        numbers = _state(parts, state)
        parts.sections["keyframe"].add("key", name=given, **{key: value for key, value in numbers.items() if value})
        scene.report_element("keyframe", name, path, scene.renaming(name, given))
        for control in keyframe.controls:
            if control.split(".")[-1].split("[")[0] in _OF_FORCES or control.endswith(".constant"):
                scene.lose("control", name, f"{path}.controls", f"the actuators of MJCF have no `{control}`")


def _state(parts: MjcfParts, state: WrittenState) -> dict[str, list[float]]:
    """Attributes of a key."""
    model = state.model
    q, qd = model.joint_q[0], model.joint_qd[0]
    qpos, qvel, mpos, mquat = [], [], [], []
    for link in parts.tree.links:
        if link.hold == "prescribed":
            pose = parts.start_pose(link, model)
            mpos += pose[:3].tolist()
            mquat += wxyz(pose[3:]).tolist()
            continue
        own = q[slice(*model.joints.q_start[link.joint : link.joint + 2])]
        rates = qd[slice(*model.joints.qd_start[link.joint : link.joint + 2])]
        places, speeds = _coordinates(parts, model, link, own, rates)
        qpos += places
        qvel += speeds
    controls, activations = ([one(state) for one in given] for given in (parts.controls, parts.activations))
    return {"qpos": qpos, "qvel": qvel, "act": activations, "ctrl": controls, "mpos": mpos, "mquat": mquat}


def _coordinates(parts: MjcfParts, model: Model, link: ChainLink, q: Array, qd: Array) -> tuple[list[float], list[float]]:
    """Qpos and qvel of a joint of MuJoCo."""
    axes = link.anchor_beyond[3:]
    if link.hold == "axes":
        first = int(model.joints.q_start[link.joint])
        lead = [1.0 if axis.lead is None else axis.lead for axis in link.axes]
        at = [axis.coordinate - first for axis in link.axes]
        return tuple([n * float(values[k]) for n, k in zip(lead, at, strict=True)] for values in (q, qd))
    if link.hold == "ball":
        turn = np.concatenate((rot.quat_rotate(axes, q[:3]), q[3:]))  # the same turn, in axes of the body
        spin = rot.quat_rotate(axes, rot.quat_rotate(rot.quat_inverse(q), qd))
        return wxyz(turn).tolist(), spin.tolist()
    if link.hold == "free":
        pose = parts.start_pose(link, model)
        return [*pose[:3].tolist(), *wxyz(pose[3:]).tolist()], _twist(parts, link, pose, qd)
    return [], []


def _twist(parts: MjcfParts, link: ChainLink, pose: Array, qd: Array) -> list[float]:
    """Velocity of the origin of a free body, world, and its angular velocity, body axes, of that of its centre of mass."""
    axes = link.anchor_inner[3:]
    linear, angular = rot.quat_rotate(axes, qd[:3]), rot.quat_rotate(axes, qd[3:])
    com = parts.scene.first(parts.scene.model.bodies, "com")[link.body]
    linear = linear - np.cross(angular, rot.quat_rotate(pose[3:], com))
    if link.inner != WORLD and qd.any():
        path = link.path
        parts.scene.lose("state", parts.scene.model.joints.name[link.joint], path, "its velocity is that against its parent")
    return [*linear.tolist(), *rot.quat_rotate(rot.quat_inverse(pose[3:]), angular).tolist()]


_HARDEST = (0.9999, 0.9999, 0.001, 0.5, 2)  # impedance of equalities, the largest that MuJoCo takes
_STEPS = 2  # time constant of equalities, over the time step: the smallest that MuJoCo takes
_INTEGRATORS = {"rk4": "RK4", "implicit": "implicit"}  # what is most alike; else MuJoCo's own


def mjcf_of(scene: WrittenScene, meshes: MeshCopies) -> Tag:
    """The root element of a scene as MJCF.

    Args:
        scene: that is written; its report gets a line for each element.
        meshes: gets the meshes.
    """
    root, parts = tag("mujoco", model=scene.spec.name), MjcfParts.of(scene, meshes)
    root.add("compiler", angle="radian", autolimits=True, inertiafromgeom=False)
    solver = scene.spec.solver
    integrator = _INTEGRATORS.get(getattr(solver, "integrator", ""))
    option = root.add("option", timestep=solver.dt, gravity=scene.first(scene.model, "gravity"), integrator=integrator)
    if not scene.spec.contact.enabled:
        option.add("flag", contact="disable")
    if scene.has("solver"):
        scene.report_element(
            "solver", solver.type, "solver", f"its time step and {integrator or 'the default integrator of MuJoCo'}"
        )
    write_places(parts, WORLD, scene.spec.world, WORLD_NAME, f"{WORLD_NAME}_")
    write_bodies(parts)
    write_shapes_of_all(parts)
    write_touching(parts)
    write_loops(parts)
    write_gears(parts)
    write_drives(parts)
    write_forces(parts)
    write_sensors(parts)
    write_start(parts)
    write_keyframes(parts)
    if parts.sections["equality"].children:
        root.children.insert(1, tag("default"))
        root.children[1].add("equality", solref=(_STEPS * solver.dt, 1), solimp=_HARDEST)
    root.children += [section for section in parts.sections.values() if section.children]
    return root
