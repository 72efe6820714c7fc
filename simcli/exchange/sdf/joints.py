"""Joints of SDF: types, axes in the frames that they are expressed in, limits, losses, springs, gears."""

import math

import numpy as np

from simcli.errors import FileError
from simcli.exchange.sdf.frame_graph import MODEL_FRAME, FrameGraph, full_name
from simcli.exchange.sdf.source import NAMED_FRAMES, SdfSource
from simcli.exchange.source.mechanism import (
    SourceEntry,
    SourceJoint,
    clean_numbers,
    words_of_no_limit,
    words_of_renaming,
)
from simcli.exchange.source.xml_reader import XmlElement
from simcli.spec.checks.physics import ORTHOGONAL
from simcli.spec.lookup.structure import WORLD_NAME

_TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "ball": "ball",
    "universal": "universal",
    "revolute2": "universal",
    "screw": "screw",
    "gearbox": "",
}
_NO_LIMIT = -1.0  # of effort and velocity: what the format writes where there is none
_ENDLESS = 1e16  # of limits: what the format writes where there is none
_AXES_IN_MODEL = (1, 5)  # the version from which axes are in the joint, not in the model


def read_joint(source: SdfSource, element: XmlElement, scope: str, frames: FrameGraph, ends: tuple[str, str]) -> None:
    """A joint, its frame being in `frames`.

    Args:
        source: the file; its mechanism gets the joint.
        element: the joint.
        scope: name of its model.
        frames: of the file.
        ends: names of parent and child, of the scene.
    """
    before, kind = element.get("name"), element.get("type")
    if kind not in _TYPES:
        known = ", ".join(_TYPES)
        raise FileError(f"{source.at(element)}: joint `{before[:60]}` has the type `{kind[:60]}`; there are {known}")
    if kind == "gearbox":
        return
    if ends[0] == ends[1]:
        raise FileError(f"{source.at(element)}: joint `{before[:60]}` joins `{ends[0]}` to itself")
    here, mechanism = frames.names[id(element)], source.mechanism
    name = source.joints.give(here.replace("::", "_"), "joint")
    place = frames.pose(here)
    anchors = [place.after(source.mechanism.links[end].frame.inverse()) for end in ends]
    own = frames.frames[here]
    if own.within == frames.holder(here) and ends[1] != WORLD_NAME:  # as the file writes it, without rounding
        anchors[1] = own.pose
    joint = mechanism.joints[name] = SourceJoint(name, element.line, _TYPES[kind], *ends, *anchors, file=element.file)
    axes = [_axis(source, element, tag, (scope, here), frames) for tag in _axis_tags(kind)]
    change = "its axes are those of a universal joint" if kind == "revolute2" else ""
    if joint.type == "universal":
        if abs(np.dot(*(np.asarray(axis) / np.linalg.norm(axis) for axis in axes))) > ORTHOGONAL:
            raise FileError(f"{source.at(element)}: the axes of joint `{before[:60]}` are not at right angles")
        joint.words["axes"] = {"angular": [{"axis": list(axis)} for axis in axes]}
    elif axes:
        joint.axis = axes[0]
    for k, tag in enumerate(_axis_tags(kind)):
        _laws(source, element.child(tag), joint, kind, k)
    if kind == "screw":
        joint.words["pitch"] = _pitch(source, element)
        if not any(element.all("screw_thread_pitch", "thread_pitch")):
            change = f"has no pitch: {joint.words['pitch']:.6g} m per turn, by the format's `thread_pitch` of 1"
    elif kind == "ball" and element.child("axis") is not None:
        _ball(source, element.child("axis"), joint)
    source.known.add(id(element))
    source.changes[name] = element, "; ".join(filter(None, (words_of_renaming(before, name), change)))


def _axis_tags(kind: str) -> tuple[str, ...]:
    if kind in ("fixed", "ball"):
        return ()
    return ("axis", "axis2") if _TYPES[kind] == "universal" else ("axis",)


def _axis(source: SdfSource, element: XmlElement, tag: str, names: tuple[str, str], frames: FrameGraph) -> tuple[float, ...]:
    """Direction of an axis in the frame of the joint."""
    scope, here = names
    axis = source.part(element, tag)
    if axis is None:
        raise FileError(f"{source.at(element)}: joint `{element.get('name')}` has no <{tag}>")
    direction = np.asarray(source.vector(axis, "xyz", (0.0, 0.0, 1.0)))
    if not direction.any():
        raise FileError(f"{source.at(axis)}: the axis of joint `{element.get('name')}` is zero")
    named = axis.child("xyz").get("expressed_in") if axis.child("xyz") is not None else ""
    is_old = source.version < NAMED_FRAMES
    if is_old and source.truth(axis, "use_parent_model_frame", source.version < _AXES_IN_MODEL):
        named = MODEL_FRAME
    if not named:
        return tuple(direction.tolist())
    other = frames.pose(frames.name_of(scope, named, axis))
    turned = frames.pose(here).matrix.T @ other.matrix @ direction
    return clean_numbers(turned)


def _laws(source: SdfSource, axis: XmlElement, joint: SourceJoint, kind: str, k: int) -> None:
    """What acts about an axis: limits, losses, a spring."""
    words = joint.words["axes"]["angular"][k] if joint.type == "universal" else joint.words
    _limit(source, axis, joint, kind, words)
    _start(source, axis, joint, k)
    dynamics = source.part(axis, "dynamics")
    if dynamics is None:
        return
    numbers = {key: source.number(dynamics, key, default=0.0) for key in ("damping", "friction")}
    wrong = [key for key, value in numbers.items() if value < 0.0]
    words |= {key: value for key, value in numbers.items() if value > 0.0}
    stiffness, rest = (
        source.number(dynamics, "spring_stiffness", default=0.0),
        source.number(dynamics, "spring_reference", default=0.0),
    )
    if stiffness > 0.0:
        several = joint.type == "universal"
        values = [stiffness if n == k else 0.0 for n in range(2)] if several else stiffness
        rests = [rest if n == k else 0.0 for n in range(2)] if several else rest
        spring = {"type": "torsion", "joint": joint.name, "stiffness": values} | ({"rest_angle": rests} if rest else {})
        source.mechanism.forces[f"{joint.name}_spring{k + 1 if several else ''}"] = SourceEntry(spring, dynamics.line)
    change = "; ".join(f"`{key}` is negative and left out" for key in (*wrong, *(["spring_stiffness"] * (stiffness < 0.0))))
    source.report_element("dynamics", joint.name, dynamics, change)


def _start(source: SdfSource, axis: XmlElement, joint: SourceJoint, k: int) -> None:
    """Where a coordinate begins, of files that say it: until 1.8."""
    start = source.number(axis, "initial_position")
    if start is None:
        return
    source.report_element("initial_position", joint.name, axis.child("initial_position"))
    if start and joint.type == "universal":
        source.mechanism.initial.setdefault(joint.name, [0.0, 0.0])[k] = start
    elif start:
        source.mechanism.initial[joint.name] = start


def lose_led_starts(source: SdfSource) -> None:
    """Take out the starts of joints that follow others, which begin where these put them."""
    for joint in source.mechanism.joints.values():
        if "mimic" in joint.words and source.mechanism.initial.pop(joint.name, None) is not None:
            source.report.withdraw(("initial_position",), joint.name, "its joint follows another one")


def _limit(source: SdfSource, axis: XmlElement, joint: SourceJoint, kind: str, words: dict) -> None:
    limit = source.part(axis, "limit")
    if limit is None:
        return
    lower, upper = source.bound(limit, "lower", -math.inf), source.bound(limit, "upper", math.inf)
    bounds = {key: value for key, value in (("lower", lower), ("upper", upper)) if abs(value) < _ENDLESS}
    changes = []
    if bounds and lower >= upper:
        changes.append(f"from {lower:g} to {upper:g} leaves no room: the joint has no limits")
    elif bounds and kind == "continuous":
        changes.append("a continuous joint has no limits")
    elif bounds:
        words["limit"] = _soft(source, limit, bounds)
        if "damping" not in words["limit"] and source.number(limit, "dissipation", default=0.0):
            changes.append("without its dissipation: hard limits have none, and it is not negative")
        if source.number(limit, "stiffness", default=0.0) < 0.0:
            changes.append("`stiffness` is negative and left out: the limit is hard")
    most = {key: source.bound(limit, key, math.inf) for key in ("velocity", "effort")}
    changes += [words_of_no_limit(key, value) for key, value in most.items() if value <= 0.0 and value != _NO_LIMIT]
    if 0.0 < most["velocity"] < _ENDLESS:
        words["velocity_limit"] = most["velocity"]
    if 0.0 < most["effort"] < _ENDLESS:
        words["drive"] = {"mode": "effort", "target": 0.0, "effort_limit": most["effort"]}
    source.report_element("limit", joint.name, limit, "; ".join(changes))


def _soft(source: SdfSource, limit: XmlElement, bounds: dict[str, float]) -> object:
    """A limit as a scene writes it, soft where the file gives it a stiffness."""
    stiffness, damping = source.number(limit, "stiffness"), source.number(limit, "dissipation")
    if stiffness is not None and stiffness > 0.0:
        return bounds | {"stiffness": stiffness} | ({"damping": damping} if damping is not None and damping >= 0.0 else {})
    return bounds if len(bounds) == 1 else [bounds["lower"], bounds["upper"]]


def _pitch(source: SdfSource, element: XmlElement) -> float:
    """[m] per turn, right-handed; `thread_pitch` is in rad/m of a left-handed thread."""
    pitch = source.number(element, "screw_thread_pitch")
    if pitch is not None:
        return pitch
    turns = source.number(element, "thread_pitch", default=1.0)
    if turns == 0.0:
        raise FileError(f"{source.at(element)}: the thread of joint `{element.get('name')}` has the pitch 0 rad/m")
    return -2.0 * math.pi / turns


def _ball(source: SdfSource, axis: XmlElement, joint: SourceJoint) -> None:
    damping = source.number(axis, "dynamics", "damping", default=0.0)
    if damping > 0.0:
        joint.words["damping"] = damping
        source.report_element("dynamics", joint.name, axis.child("dynamics"))
    source.known.update(id(one) for tag in ("xyz", "use_parent_model_frame") for one in axis.all(tag))
    source.report_element("axis", joint.name, axis, "means nothing for a ball joint, but for its damping")


def read_gearboxes(source: SdfSource, elements: list[tuple[XmlElement, str]], name_of) -> None:
    """Gearboxes: hinges of their two links on the reference body, of which one follows the other.

        angle of the child = -ratio * angle of the parent, both against the reference body

    Args:
        source: the file, whose joints are read.
        elements: gearboxes, and the names of their models.
        name_of: scope, element and name of a link to its name in the scene.
    """
    for element, scope in elements:
        ratio = source.number(element, "gearbox_ratio", default=1.0)
        base = source.part(element, "gearbox_reference_body")
        ends = [source.part(element, tag) for tag in ("parent", "child")]
        if base is None or None in ends:
            words = "needs parent, child and a reference body"
            raise FileError(f"{source.at(element)}: the gearbox `{element.get('name')[:60]}` {words}")
        reference, *names = [name_of(scope, one, one.text) for one in (base, *ends)]
        hinges = [_hinge(source, reference, one) for one in names]
        label = element.get("name")
        if None in hinges:
            source.lose("joint", label, element, "a gearbox of links that have no hinges on its reference body")
            continue
        leader, follower = hinges
        sign = _sign(leader, follower)
        if sign == 0.0:
            source.lose("joint", label, element, "a gearbox of hinges that are not parallel")
            continue
        follower.words["mimic"] = {"joint": leader.name, "ratio": -sign * ratio}
        source.report_element("joint", label, element, f"`{follower.name}` mimics `{leader.name}`")


def read_mimics(source: SdfSource, elements: list[tuple[XmlElement, str]]) -> None:
    """Joints of which one follows another.

        position = multiplier (position of the leader - reference) + offset

    Args:
        source: the file, whose joints are read.
        elements: joints, and the names of their models.
    """
    for element, scope in elements:
        for axis in element.all("axis", "axis2"):
            if (mimic := source.part(axis, "mimic")) is not None:
                _mimic(source, element, scope, mimic)


def _mimic(source: SdfSource, element: XmlElement, scope: str, mimic: XmlElement) -> None:
    leader = full_name(scope, mimic.get("joint")).replace("::", "_")
    if leader not in source.joints.of:
        raise FileError(f"{source.at(mimic)}: mimics the unknown joint `{mimic.get('joint')[:60]}`")
    joints = source.mechanism.joints
    first = joints[source.joints.of[full_name(scope, element.get("name")).replace("::", "_")]]
    second = joints[source.joints.of[leader]]
    if first is second:
        raise FileError(f"{source.at(mimic)}: joint `{first.name}` mimics itself")
    if {first.type, second.type} - {"revolute", "prismatic"} or mimic.get("axis", "axis") != "axis":
        source.lose("mimic", first.name, mimic, "joins joints that have not one coordinate each")
        return
    ratio, offset, reference = (
        source.number(mimic, key, default=number)
        for key, number in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    offset -= ratio * reference
    first.words["mimic"] = {"joint": second.name, "ratio": ratio} | ({"offset": offset} if offset else {})
    source.report_element("mimic", first.name, mimic)


def _hinge(source: SdfSource, parent: str, child: str) -> SourceJoint | None:
    """The first hinge between two links."""
    return next(
        (
            joint
            for joint in source.mechanism.joints.values()
            if (joint.type, joint.parent, joint.child) == ("revolute", parent, child)
        ),
        None,
    )


def _sign(one: SourceJoint, other: SourceJoint) -> float:
    """1 or -1 of hinges on one body with parallel axes, else 0."""
    axes = [joint.parent_frame.matrix @ (np.asarray(joint.axis) / np.linalg.norm(joint.axis)) for joint in (one, other)]
    cosine = float(axes[0] @ axes[1])
    return float(np.sign(cosine)) if abs(abs(cosine) - 1.0) < 1e-9 else 0.0
