"""A scene as MJCF: bodies within each other, the state in which a run begins as the keyframe `start`, and its keyframes.

A state has coordinates, velocities, controls and mocap poses.

Source: the XML reference of MuJoCo 3 and 4 (Google DeepMind). MuJoCo keeps loops, gears, limits and dry friction softly,
where a scene keeps them exactly: the report names loops and gears, which are as hard as MuJoCo takes them.
"""

import numpy as np

from simcli import rotations as rot
from simcli.errors import SceneError
from simcli.exchange.source.mechanism import GivenNames
from simcli.exchange.writing.chains import ChainLink
from simcli.exchange.writing.mjcf_acts import write_drives, write_forces, write_gears, write_loops
from simcli.exchange.writing.mjcf_bodies import write_bodies, write_places
from simcli.exchange.writing.mjcf_parts import MjcfParts, WrittenState, wxyz
from simcli.exchange.writing.mjcf_sensors import write_sensors
from simcli.exchange.writing.mjcf_shapes import write_shapes_of_all, write_touching
from simcli.exchange.writing.written_scene import WrittenScene
from simcli.exchange.writing.xml_text import MeshCopies, Tag, tag
from simcli.model import build
from simcli.model.tables.model import WORLD, Array, Model
from simcli.spec import resolve
from simcli.spec.lookup.structure import WORLD_NAME

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
