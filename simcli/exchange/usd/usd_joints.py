"""Joints of UsdPhysics: their frames in two bodies, axes, limits and drives, where they begin, which of them close loops.

A joint has a frame in each of two prims; where both coincide its coordinates are 0. A revolute joint turns about its axis, a
prismatic one slides along it, angles of limits and drives are in degrees, gains of angular drives per degree. A
`PhysicsJoint` leaves all axes free but those that a LimitAPI locks (low above high): slides and then turns, each in the
order x, y, z.

Source: OpenUSD, UsdPhysics: Joint and its types, LimitAPI, DriveAPI, ArticulationRootAPI. Deviation: the order of several
turns of one joint, which the format does not say, is x, y, z.
"""

import math

import numpy as np

from simcli import rotations as rot
from simcli.exchange.source.beginning import nearest_coordinates
from simcli.exchange.source.mechanism import SourceFrame, SourceJoint, clean_numbers, words_of_renaming
from simcli.exchange.usd.prims import UsdSource
from simcli.spec.lookup.structure import WORLD_NAME

USD_JOINTS = {
    "PhysicsRevoluteJoint": "revolute",
    "PhysicsPrismaticJoint": "prismatic",
    "PhysicsSphericalJoint": "ball",
    "PhysicsFixedJoint": "fixed",
    "PhysicsDistanceJoint": "distance",
    "PhysicsJoint": "d6",
}
_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
_SLIDES, _TURNS = ("transX", "transY", "transZ"), ("rotX", "rotY", "rotZ")
_SIDES = tuple((f"physics:body{k}", f"physics:localPos{k}", f"physics:localRot{k}") for k in (0, 1))
_ZERO = 1e-6  # [m, rad]: what of a coordinate is rounding of frames in single precision
_APART = 1e-4  # [m, rad] from which on it is told that the frames of a joint do not meet
_NOWHERE = "its bodies are under no articulation root: it has coordinates of the tree like all others"


class LostJointError(Exception):
    """A prim of which no joint can be made; its words say why."""


def read_joints(source: UsdSource, rooted: set[str]) -> None:
    """All joints, in the order of the stage.

    Args:
        source: the stage, whose bodies are read; its mechanism gets the joints.
        rooted: paths of the bodies that are below an articulation root, or joined to such a body.
    """
    for path, prim in source.prims.items():
        if (kind := USD_JOINTS.get(str(prim.GetTypeName()))) is None or not prim.IsActive():
            continue
        if not source.flag(prim, "physics:jointEnabled", True):
            source.lose_all(prim, "is not enabled", is_note=True)
            continue
        try:
            joint, changes = _joint(source, prim, kind)
        except LostJointError as error:
            source.lose_all(prim, str(error))
            continue
        ends = {source.owner.get(target) for key, *_ in _SIDES for target in source.targets(prim, key)[:1]}
        if rooted and not ends & rooted:
            changes.append(_NOWHERE)
        source.mechanism.joints[joint.name] = joint
        source.keep("joint", prim, joint.name, "; ".join(changes))
        source.joints[path] = joint.name


def _joint(source: UsdSource, prim, kind: str) -> tuple[SourceJoint, list[str]]:
    changes: list[str] = []
    ends = [_end(source, prim, side, changes) for side in _SIDES]
    names = [WORLD_NAME if owner is None else source.links[owner] for owner, _ in ends]
    if names[0] == names[1]:
        where = "two prims that no body moves" if names[0] == WORLD_NAME else f"`{names[0]}` and itself"
        raise LostJointError(f"joins {where}")
    name = source.joint_names.give(prim.GetName(), "joint")
    joint = SourceJoint(name, 0, kind, names[0], names[1], ends[0][1], ends[1][1], file=str(prim.GetPath()))
    changes.insert(0, words_of_renaming(prim.GetName(), name))
    if kind in ("revolute", "prismatic"):
        _one_axis(source, prim, joint)
    elif kind == "ball":
        _cone(source, prim, joint)
    elif kind == "distance":
        _distance(source, prim, joint)
    elif kind == "d6":
        _several(source, prim, joint, changes)
    if source.flag(prim, "physics:excludeFromArticulation", False):
        joint.words["loop"] = True
    for key in ("breakForce", "breakTorque"):
        if math.isfinite(source.number(prim, f"physics:{key}", math.inf, is_bound=True)):
            source.lose_property(prim, f"physics:{key}", "joints of scenes do not break: an event can switch one off")
    return joint, [one for one in changes if one]


def _end(source: UsdSource, prim, side: tuple[str, str, str], changes: list[str]) -> tuple[str | None, SourceFrame]:
    """The body that one side of a joint holds, and the frame of the joint in it."""
    key, at, turn = side
    targets = source.targets(prim, key)
    local = np.array(source.numbers(prim, at, 3, (0.0, 0.0, 0.0)))
    w, *xyz = source.numbers(prim, turn, 4, (1.0, 0.0, 0.0, 0.0))
    quaternion = np.array([*xyz, w])
    if not quaternion.any():
        raise LostJointError(f"`{turn}` is a quaternion of length zero")
    matrix = rot.quat_to_matrix(quaternion / np.linalg.norm(quaternion))
    if not targets:
        return None, source.within(None, matrix, local)
    if len(targets) > 1:
        changes.append(f"`{key}` names {len(targets)} prims: the first one is taken")
    if targets[0] not in source.prims:
        raise LostJointError(f"`{key}` names <{targets[0]}>, which is no prim: the joint is an orphan")
    owner = source.owner.get(targets[0])
    if owner is None:
        changes.append(f"`{key}` names <{targets[0]}>, which is part of no body that moves: it holds on to the world")
    place = source.place(source.prims[targets[0]])
    return owner, source.within(owner, place.turn @ matrix, place.at + place.linear @ local)


# Laws.


def _one_axis(source: UsdSource, prim, joint: SourceJoint) -> None:
    joint.axis = _AXES[source.axis(prim, "physics:axis", "X")]
    is_turn = joint.type == "revolute"
    bounds = (("lowerLimit", -math.inf), ("upperLimit", math.inf))
    ends = [source.number(prim, f"physics:{key}", value, True) for key, value in bounds]
    if any(map(math.isfinite, ends)):
        _limit(source, prim, joint, joint.words, (ends[0], ends[1], is_turn))
    own = "angular" if is_turn else "linear"
    if own in _instances(prim, "PhysicsDriveAPI"):
        _drive(source, prim, joint, joint.words, (own, is_turn))
    _lose_instances(source, prim, f"means nothing for a {joint.type} joint", (("drive", own),))


def _cone(source: UsdSource, prim, joint: SourceJoint) -> None:
    angles = [source.number(prim, f"physics:coneAngle{k}Limit", -1.0, True) for k in (0, 1)]
    for k, angle in enumerate(angles):
        if 0.0 <= angle < 180.0:
            source.lose_property(prim, f"physics:coneAngle{k}Limit", "limits of balls are of the whole turn, not of a cone")
    source.note(prim, "physics:axis")
    _lose_instances(source, prim, "means nothing for a ball")


def _distance(source: UsdSource, prim, joint: SourceJoint) -> None:
    ends = [source.number(prim, f"physics:{key}Distance", -1.0, True) for key in ("min", "max")]
    written = {"lower": ends[0] if ends[0] > 0.0 else math.inf, "upper": ends[1] if ends[1] >= 0.0 else math.inf}
    bounds = {key: clean_numbers([end * source.length])[0] for key, end in written.items() if math.isfinite(end)}
    if not bounds or ends[0] > ends[1] >= 0.0:
        raise LostJointError("bounds no distance" if not bounds else "has its least distance above its largest one")
    joint.words["loop"] = True
    if ends[0] == ends[1]:
        joint.words["length"] = bounds["upper"]
    else:
        joint.words["limit"] = [bounds["lower"], bounds["upper"]] if len(bounds) == 2 else bounds
    joint.parent_frame, joint.child_frame = (frame._replace(words={}) for frame in (joint.parent_frame, joint.child_frame))
    _lose_instances(source, prim, "means nothing for a distance")


def _several(source: UsdSource, prim, joint: SourceJoint, changes: list[str]) -> None:
    """A joint whose axes are free, limited or locked one by one."""
    limits, drives = (_instances(prim, f"Physics{kind}API") for kind in ("Limit", "Drive"))
    axes: dict[str, list[dict]] = {"linear": [], "angular": []}
    for kind, names in (("linear", _SLIDES), ("angular", _TURNS)):
        for axis, name in zip(_AXES.values(), names, strict=True):
            words: dict = {"axis": list(axis)}
            low, high = -math.inf, math.inf
            if name in limits:
                bounds = (("low", low), ("high", high))
                low, high = (source.number(prim, f"limit:{name}:physics:{key}", end, True) for key, end in bounds)
            if low > high or low == high == 0.0:
                if name in drives:
                    _lose_instance(source, prim, "drive", name, "its axis is locked")
                continue
            if math.isfinite(low) or math.isfinite(high):
                _limit(source, prim, joint, words, (low, high, kind == "angular"))
            if name in drives:
                _drive(source, prim, joint, words, (name, kind == "angular"))
            axes[kind].append(words)
    read = tuple((kind, name) for kind in ("limit", "drive") for name in _SLIDES + _TURNS)
    _lose_instances(source, prim, "bounds no axis of its own", read)
    _simplify(joint, axes, changes)


def _simplify(joint: SourceJoint, axes: dict[str, list[dict]], changes: list[str]) -> None:
    """The type of a joint with these axes."""
    linear, angular = axes["linear"], axes["angular"]
    has_laws = any(len(words) > 1 for words in (*linear, *angular))
    if len(linear) + len(angular) == 6 and not has_laws:
        raise LostJointError("leaves all six axes free")
    if not linear and not angular:
        joint.type = "fixed"
    elif len(linear) + len(angular) == 1:
        (words,) = linear or angular
        joint.type, joint.axis = "prismatic" if linear else "revolute", tuple(words.pop("axis"))
        joint.words |= words
    elif not linear and len(angular) == 3 and not has_laws:
        joint.type = "ball"
    else:
        joint.words["axes"] = {key: value for key, value in axes.items() if value}
        if len(angular) > 1:
            changes.append("turns about x, y and z in this order")


def _limit(source: UsdSource, prim, joint: SourceJoint, words: dict, bounds: tuple[float, float, bool]) -> None:
    """Bounds of a coordinate; of one that they leave no room a motion."""
    *ends, is_turn = bounds
    spelled = [f"{end:.12g} deg" if is_turn else clean_numbers([end * source.length])[0] for end in ends]
    if ends[0] == ends[1]:
        value = math.radians(ends[0]) if is_turn else spelled[0]
        words["motion"] = {"position": clean_numbers([value])[0]}
        source.report.kept("limit", joint.name, 0, "leaves no room: a motion holds the joint there", str(prim.GetPath()))
    elif ends[0] > ends[1]:
        source.lose("limit", prim, joint.name, f"from {ends[0]:g} to {ends[1]:g} leaves no room: the joint has no limits")
    else:
        found = {key: text for key, text, end in zip(("lower", "upper"), spelled, ends, strict=True) if math.isfinite(end)}
        words["limit"] = spelled if len(found) == 2 else found
        source.report.kept("limit", joint.name, 0, "", str(prim.GetPath()))


def _drive(source: UsdSource, prim, joint: SourceJoint, words: dict, which: tuple[str, bool]) -> None:
    """The law of a drive: stiffness (target - q) + damping (target rate - rate), within its largest force."""
    instance, is_turn = which
    begin = f"drive:{instance}:physics:"
    kind = str(source.value(prim, f"{begin}type", "force"))
    stiffness, damping, target, rate = (
        source.number(prim, begin + key) for key in ("stiffness", "damping", "targetPosition", "targetVelocity")
    )
    most = source.number(prim, f"{begin}maxForce", math.inf, True)
    if kind != "force":
        why = "has gains per mass (`acceleration`), which would change with the pose: scenes have forces"
        _lose_instance(source, prim, "drive", instance, why)
        return
    if min(stiffness, damping, most) < 0.0 or "motion" in words:
        why = "its axis is held" if "motion" in words else "has a negative number"
        _lose_instance(source, prim, "drive", instance, why)
        return
    if not stiffness and not damping:
        source.report.kept("drive", joint.name, 0, "has no stiffness and no damping: it does nothing", str(prim.GetPath()))
        return
    # Of angles: per degree, so many more per radian; forces are kg units/s^2, torques kg units^2/s^2.
    per = source.mass * (source.length**2 * 180.0 / math.pi if is_turn else 1.0)
    unit = math.pi / 180.0 if is_turn else source.length
    found: dict = {"mode": "velocity" if not stiffness else "position_velocity" if rate else "position"}
    found |= {"target": clean_numbers([target * unit])[0]} if stiffness else {}
    found |= {"target_velocity": clean_numbers([rate * unit])[0]} if rate else {}
    found |= {"stiffness": clean_numbers([stiffness * per])[0]} if stiffness else {}
    found |= {"damping": clean_numbers([damping * per])[0]} if damping else {}
    if math.isfinite(most):
        found["effort_limit"] = clean_numbers([most * source.mass * source.length ** (2 if is_turn else 1)])[0]
    words["drive"] = found
    source.report.kept("drive", joint.name, 0, "", str(prim.GetPath()))


def _instances(prim, schema: str) -> list[str]:
    return [str(one).partition(":")[2] for one in prim.GetAppliedSchemas() if str(one).startswith(f"{schema}:")]


def _lose_instances(source: UsdSource, prim, why: str, read: tuple[tuple[str, str], ...] = ()) -> None:
    """All drives and limits of a joint are lost, but some."""
    for kind in ("Drive", "Limit"):
        for instance in _instances(prim, f"Physics{kind}API"):
            if (kind.lower(), instance) not in read:
                _lose_instance(source, prim, kind.lower(), instance, why)


def _lose_instance(source: UsdSource, prim, kind: str, instance: str, why: str) -> None:
    names = [name for name in prim.GetAuthoredPropertyNames() if name.startswith(f"{kind}:{instance}:")]
    source.note(prim, *names)
    source.lose(kind, prim, f"{prim.GetPath()}: {instance}", why)


# Trees and starts.


def span_tree(source: UsdSource, roots: list[str]) -> None:
    """Mark the joints that close loops, and turn the others so that they lead away from the world and from roots.

    Of the joints that connect the same links the first ones of the stage are the tree.

    Args:
        source: the stage, whose joints are read.
        roots: names of the links that are roots of articulations.
    """
    mechanism = source.mechanism
    part = {name: name for name in mechanism.links}  # of what is connected so far
    at: dict[str, list[SourceJoint]] = {name: [] for name in mechanism.links}
    for joint in mechanism.joints.values():
        one, other = part[joint.parent], part[joint.child]
        if "loop" in joint.words or one == other:
            joint.words["loop"] = True
            if joint.child == WORLD_NAME:
                _turn(joint)
            continue
        part |= {name: one for name, held in part.items() if held == other}
        at[joint.parent].append(joint)
        at[joint.child].append(joint)
    reached: set[str] = set()
    for root in (WORLD_NAME, *roots, *mechanism.links):
        waiting = [] if root in reached else [root]
        while waiting:
            link = waiting.pop(0)
            reached.add(link)
            for joint in at[link]:
                outer = joint.child if joint.parent == link else joint.parent
                if outer in reached:
                    continue
                if joint.child == link and not _turn(joint):
                    mechanism.links[outer].frame = SourceFrame()  # which follows from the joint
                waiting.append(outer)
    order = sorted(mechanism.joints.values(), key=lambda joint: "loop" in joint.words)
    mechanism.joints = {joint.name: joint for joint in order}


def _turn(joint: SourceJoint) -> bool:
    """Parent and child in each other's place: the same motion about the reversed axes in reversed order.

    Returns:
        Whether that was done: slides and turns of one joint cannot change their order, and such a joint stays as it is.
    """
    axes = joint.words.get("axes", {})
    if "linear" in axes and "angular" in axes:
        return False
    joint.parent, joint.child = joint.child, joint.parent
    joint.parent_frame, joint.child_frame = joint.child_frame, joint.parent_frame
    if joint.axis is not None:
        joint.axis = tuple(-x + 0.0 for x in joint.axis)
    for kind, some in axes.items():
        axes[kind] = [words | {"axis": [-x + 0.0 for x in words["axis"]]} for words in reversed(some)]
    return True


def start_joints(source: UsdSource) -> None:
    """Where the joints of the tree begin: where the stage shows their bodies, as far as they can be there."""
    paths = {name: path for path, name in source.links.items()}
    for name in source.joints.values():
        joint = source.mechanism.joints[name]
        if "loop" in joint.words:
            continue
        ends = []
        for link, frame in ((joint.parent, joint.parent_frame), (joint.child, joint.child_frame)):
            ends.append(frame if link == WORLD_NAME else frame.after(source.world_frame(paths[link])))
        apart = ends[1].after(ends[0].inverse())
        start, away, turned = nearest_coordinates(joint, np.array(apart.xyz), apart.matrix)
        if away > _APART or turned > _APART:
            words = f"its frames are {away:.3g} m and {turned:.3g} rad apart on the stage: the joint brings them together"
            source.report.amend("joint", name, 0, words)
        values = [round(value, 12) if abs(value) > _ZERO else 0.0 for value in start]
        if any(values):
            is_one = joint.type != "ball" and "axes" not in joint.words
            source.mechanism.initial[name] = clean_numbers(values)[0] if is_one else list(clean_numbers(values))
