"""The state in which a run begins, as a keyframe of MJCF: coordinates, velocities, controls, mocap poses."""

import numpy as np

from simcli import rotations as rot
from simcli.exchange.writing.chains import ChainLink
from simcli.exchange.writing.mjcf.parts import MjcfParts, wxyz
from simcli.model.tables import WORLD, Array

_START = "start"


def write_start(parts: MjcfParts) -> None:
    """The keyframe, where the scene does not begin at 0 and at rest."""
    model = parts.scene.model
    q, qd = (parts.scene.first(model, name) for name in ("joint_q", "joint_qd"))
    qpos, qvel, mpos, mquat = [], [], [], []
    for link in parts.tree.links:
        if link.hold == "led":
            pose = parts.start_pose(link)
            mpos += pose[:3].tolist()
            mquat += wxyz(pose[3:]).tolist()
            continue
        own = q[slice(*model.joints.q_start[link.joint : link.joint + 2])]
        rates = qd[slice(*model.joints.qd_start[link.joint : link.joint + 2])]
        places, speeds = _coordinates(parts, link, own, rates)
        qpos += places
        qvel += speeds
    numbers = {"qpos": qpos, "qvel": qvel, "ctrl": parts.controls, "mpos": mpos, "mquat": mquat}
    given = {key: value for key, value in numbers.items() if value and (key in ("qpos", "mpos", "mquat") or np.any(value))}
    if given:
        parts.sections["keyframe"].add("key", name=_START, **given)


def _coordinates(parts: MjcfParts, link: ChainLink, q: Array, qd: Array) -> tuple[list[float], list[float]]:
    """Qpos and qvel of a joint of MuJoCo."""
    model, axes = parts.scene.model, link.anchor_beyond[3:]
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
        pose = parts.start_pose(link)
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
