"""Sensors of a scene: frames, joints, bodies of subtrees."""

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.anchors import written_child_anchors
from simcli.model.joints.links import stack_worlds
from simcli.model.joints.topology import depth_first
from simcli.model.tables.model import WORLD, Array, Model
from simcli.model.tables.signal_tables import Sensors
from simcli.model.tables.worlds import Worlds
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.scene import SceneSpec

ENDLESS = 1e30  # [m]
NO_TOUCHER = -2  # body of a sensor that sums the contacts of none


def read_sensors(worlds: Worlds, model: Model) -> Sensors:
    """The sensors of the scenes.

    Args:
        worlds: the scenes.
        model: gives bodies, joints and their anchors.
    """
    specs = worlds.first.sensors
    index = {WORLD_NAME: WORLD, **{name: b for b, name in enumerate(model.bodies.name)}}
    anchors = written_child_anchors(model)
    joints = [-1 if one.joint is None else model.joints.name.index(one.joint) for one in specs.values()]
    body, base, pose, base_pose = [], [], [], []
    for (name, one), j in zip(specs.items(), joints, strict=True):
        anchor = (int(model.joints.child[j]), anchors[:, j]) if j >= 0 else (WORLD, np.array([rot.IDENTITY_POSE]))
        at = _place(worlds, index, name, "at") if one.at is not None else anchor
        seen = _place(worlds, index, name, "relative_to") if one.relative_to is not None else anchor
        for column, value in zip((body, pose, base, base_pose), (*at, *seen), strict=True):
            column.append(value)
    shapes = model.shapes.name
    return Sensors(
        name=tuple(specs),
        types=tuple(one.type for one in specs.values()),
        body=np.array(body, np.int32),
        pose=stack_worlds(pose, (7,)),
        base=np.array(base, np.int32),
        base_pose=stack_worlds(base_pose, (7,)),
        joint=np.array(joints, np.int32),
        subtree=tuple(_subtree_of(model, index.get(one.body, WORLD)) for one in specs.values()),
        shape=np.array([-1 if one.shape is None else shapes.index(one.shape) for one in specs.values()], np.int32),
        toucher=np.array([NO_TOUCHER if one.body is None else index[one.body] for one in specs.values()], np.int32),
        radius=stack_worlds([worlds.numbers(lambda s, n=n: s.sensors[n].radius or -1.0) for n in specs], ()),
        reach=stack_worlds([worlds.numbers(lambda s, n=n: s.sensors[n].reach or ENDLESS) for n in specs], ()),
        is_noisy=np.array([one.noise is not None for one in specs.values()], bool),
        **{
            key: stack_worlds([worlds.numbers(lambda s, n=n, key=key: _of_noise(s, n, key)) for n in specs], ())
            for key in ("sigma", "density", "walk", "turn_on", "drift", "drift_time", "quantum", "delay")
        },
        rate=np.array(
            [[worlds.common(lambda s, n=n: _of_noise(s, n, "rate"), f"sensors.{n}.noise.rate") for n in specs]], float
        ),
        half=stack_worlds([worlds.numbers(lambda s, n=n: _half(s.sensors[n].size), (3,)) for n in specs], (3,)),
    )


def _of_noise(spec: SceneSpec, name: str, key: str) -> float:
    """A number of the noise of a sensor, 0 without."""
    noise = spec.sensors[name].noise
    return 0.0 if noise is None else getattr(noise, key) or 0.0


def _half(size: tuple[float, ...] | None) -> list[float]:
    """Half the lengths of a box, -1 where there is none."""
    return [-1.0] * 3 if size is None else [length / 2 for length in size]


def _place(worlds: Worlds, index: dict[str, int], name: str, key: str) -> tuple[int, Array]:
    """Body of a frame, a point or a body that a sensor names, and its pose there, (W|1, 7)."""
    place = getattr(worlds.first.sensors[name], key)
    body, frame = (place, "") if place in index else place.rpartition("/")[::2]
    return index[body], worlds.numbers(lambda s: _pose(s, body, frame), (7,))


def _pose(spec: SceneSpec, body: str, frame: str) -> tuple[float, ...]:
    owner = spec.world if body == WORLD_NAME else spec.bodies[body]
    if frame in owner.frames:
        return (*owner.frames[frame].xyz, *owner.frames[frame].quat_xyzw)
    return (*owner.points[frame], *rot.IDENTITY_POSE[3:]) if frame else tuple(rot.IDENTITY_POSE)


def _subtree_of(model: Model, root: int) -> tuple[int, ...]:
    """A body, and all bodies that the tree carries on it, whichever end of a joint is its parent, rising; none of the world.

    Args:
        model: the tables.
        root: the body.
    """
    joints = model.joints
    carried: dict[int, list[int]] = {}
    for step in depth_first(joints.parent.tolist(), joints.child.tolist(), joints.is_tree.tolist()):
        carried.setdefault(step.inner, []).append(step.outer)
    found, waiting = set(), [root] if root != WORLD else []
    while waiting:
        body = waiting.pop()
        if body not in found:
            found.add(body)
            waiting += carried.get(body, [])
    return tuple(sorted(found))
