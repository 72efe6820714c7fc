"""Loops that the file draws closed, where a limit lets a joint begin only elsewhere.

MuJoCo's constraints are soft, so that a weld may hold a hand where the limits of its arm do not let it be. A loop of a scene
is rigid: what is held begins where its joints begin, and the end of the loop in the world, or the body that programs move,
begins with it.
"""

import numpy as np

from simcli.exchange.beginning import start_of
from simcli.exchange.mechanism import SourceFrame, SourceJoint
from simcli.exchange.mjcf.acts import Acts
from simcli.exchange.mjcf.bodies import frame_of
from simcli.spec.names.structure import WORLD_NAME

_CLOSED = 1e-6  # [m, 1], of anchors that the file draws in one place


def follow_starts(acts: Acts) -> None:
    """Move the still ends of loops that starts open.

    Args:
        acts: whose loops are made; the starts of joints are set.
    """
    begun = _starts(acts)
    if np.array_equal(begun, acts.model.qpos0):
        return
    drawn, begun = (_poses(acts, q) for q in (acts.model.qpos0, begun))
    moved = set()
    for (kind, index), joint in acts.loops.items():
        is_still = joint.parent == WORLD_NAME or bool(acts.mechanism.links[joint.parent].words.get("kinematic"))
        if not is_still or not joint.words.get("enabled", True) or joint.child not in begun:
            continue
        outer = drawn.get(joint.parent, SourceFrame())
        near = joint.parent_frame.after(outer)
        was, now = (joint.child_frame.after(poses[joint.child]) for poses in (drawn, begun))
        if _gap(joint, near, was) > _CLOSED or _gap(joint, near, now) <= _CLOSED:
            continue
        if joint.parent == WORLD_NAME:
            joint.parent_frame = now if joint.type == "fixed" else now._replace(words={})
            acts.note(kind, index, "holds its body where the joints begin, which limits keep from where the file draws it")
        elif joint.parent not in moved:
            moved.add(joint.parent)
            _move(acts, joint, outer, near, now)


def _move(acts: Acts, joint: SourceJoint, outer: SourceFrame, near: SourceFrame, now: SourceFrame) -> None:
    """Put the body that programs move where a loop closes."""
    link = acts.mechanism.links[joint.parent]
    if joint.type == "fixed":
        link.frame = joint.parent_frame.inverse().after(now)
    else:
        link.frame = outer._replace(xyz=tuple((np.asarray(outer.xyz) + now.xyz - near.xyz).tolist()))
    b = next(b for b, name in acts.bodies.names.items() if name == joint.parent)
    acts.note("body", b, f"begins where `{joint.child}` does, which limits keep from where the file draws it")


def _gap(joint: SourceJoint, one: SourceFrame, other: SourceFrame) -> float:
    """[m, 1], how far apart two anchors are that a joint lets meet."""
    away = np.abs(np.subtract(one.xyz, other.xyz)).max()
    return float(max(away, np.abs(one.matrix - other.matrix).max()) if joint.type == "fixed" else away)


def _starts(acts: Acts) -> np.ndarray:
    """[m, rad], (nq,) where the joints begin; those that have several coordinates begin as the file has them."""
    q = acts.model.qpos0.copy()
    for j, place in acts.bodies.places.items():
        if place.is_scalar:
            start = start_of(acts.mechanism, place.joint, place.dof if "axes" in place.joint.words else 0)
            at = int(acts.model.jnt_qposadr[j])
            q[at] = start if abs(start - q[at]) > _CLOSED else q[at]
    return q


def _poses(acts: Acts, q: np.ndarray) -> dict[str, SourceFrame]:
    """Poses of the links in the world at coordinates, by MuJoCo."""
    mujoco, model = acts.source.mujoco, acts.model
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    return {name: acts.bodies.frames[b].inverse().after(frame_of(data.xpos[b], data.xquat[b]))
            for b, name in reversed(acts.bodies.names.items())}  # fmt: skip
