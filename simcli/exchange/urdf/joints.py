"""Joints of URDF: types, axes, limits, losses, gears; each link hangs on one of them at most."""

from pathlib import Path

from simcli.errors import FileError
from simcli.exchange.source.mechanism import SourceJoint, SourceModel, words_of_no_limit, words_of_renaming
from simcli.exchange.source.xml_reader import XmlElement
from simcli.exchange.urdf.source import UrdfSource
from simcli.spec.lookup.structure import WORLD_NAME

_TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
    "planar": "planar",
}
NO_LIMIT = 1e9  # [m, rad, N, ...] a limit from here on says that there is none: the format wants numbers
_WITH_AXIS = ("revolute", "continuous", "prismatic", "planar")


def read_urdf_joints(source: UrdfSource) -> None:
    """All joints.

    Args:
        source: the file, whose links are read; its mechanism gets the joints.
    """
    for element in source.root.all("joint"):
        _joint(source, element)
    for element in source.root.all("joint"):
        _mimic(source, element)


def _joint(source: UrdfSource, element: XmlElement) -> None:
    mechanism, before, kind = source.mechanism, source.named(element), element.get("type")
    if before in source.joints.of:
        raise FileError(f"{source.at(element)}: a second joint `{before}`")
    if kind not in _TYPES:
        raise FileError(f"{source.at(element)}: joint `{before}` has the type `{kind}`; there are {', '.join(_TYPES)}")
    ends = []
    for key in ("parent", "child"):
        end = source.part(element, key)
        if end is None or end.get("link") not in source.links.of:
            what = "no" if end is None else f"the unknown link `{end.get('link')}` as"
            raise FileError(f"{source.at(element)}: joint `{before}` has {what} {key}")
        ends.append(source.links.of[end.get("link")])
    name = source.joints.give(before, "joint")
    joint = SourceJoint(name, element.line, _TYPES[kind], *ends, parent_frame=source.origin(element))
    mechanism.neighbours.add(frozenset(ends))
    axis = source.part(element, "axis")
    if kind in _WITH_AXIS:
        joint.axis = source.numbers(axis, "xyz", 3, (1.0, 0.0, 0.0)) if axis is not None else (1.0, 0.0, 0.0)
        if not any(joint.axis):
            raise FileError(f"{source.at(element)}: the axis of joint `{before}` is zero")
    elif axis is not None:
        axis.mark_reported()
        source.report_element("axis", name, axis, f"means nothing for a {kind} joint")
    _limit(source, element, kind, joint)
    _dynamics(source, element, kind, joint)
    mechanism.joints[name] = joint
    source.report_element("joint", name, element, words_of_renaming(before, name))


def _limit(source: UrdfSource, element: XmlElement, kind: str, joint: SourceJoint) -> None:
    limit = source.part(element, "limit")
    if limit is None:
        if kind in ("revolute", "prismatic"):
            source.report_element("limit", joint.name, element, "is missing: the joint has no limits")
        return
    if kind not in ("revolute", "prismatic", "continuous"):
        source.lose("limit", joint.name, limit, f"means nothing for a {kind} joint", is_note=True)
        return
    changes = []
    lower, upper = source.bound(limit, "lower"), source.bound(limit, "upper")
    bounds = {key: value for key, value in (("lower", lower), ("upper", upper)) if abs(value) < NO_LIMIT}
    if kind == "continuous":
        changes += ["a continuous joint has no limits"] if bounds.keys() & limit.attributes.keys() else []
    elif lower >= upper:
        changes.append(f"from {lower:g} to {upper:g} leaves no room: the joint has no limits")
    elif bounds:
        joint.words["limit"] = bounds if len(bounds) == 1 else [lower, upper]
    most = {key: source.bound(limit, key) for key in ("velocity", "effort")}
    changes += filter(None, (words_of_no_limit(key, value) for key, value in most.items() if limit.get(key).strip()))
    if 0.0 < most["velocity"] < NO_LIMIT:
        joint.words["velocity_limit"] = most["velocity"]
    if 0.0 < most["effort"] < NO_LIMIT:
        joint.words["drive"] = {"mode": "effort", "target": 0.0, "effort_limit": most["effort"]}
    source.report_element("limit", joint.name, limit, "; ".join(changes))


def _dynamics(source: UrdfSource, element: XmlElement, kind: str, joint: SourceJoint) -> None:
    dynamics = source.part(element, "dynamics")
    if dynamics is None:
        return
    numbers = {key: source.number(dynamics, key, 0.0) for key in ("damping", "friction")}
    if kind in ("fixed", "floating", "planar"):
        if any(numbers.values()):
            source.lose("dynamics", joint.name, dynamics, f"means nothing for a {kind} joint", is_note=kind == "fixed")
        return
    wrong = [key for key, value in numbers.items() if value < 0.0]
    joint.words |= {key: value for key, value in numbers.items() if value > 0.0}
    others = sorted(dynamics.unread())
    dynamics.mark_reported()
    words = [f"`{key}` is negative and left out" for key in wrong]
    words += [f"the attributes {', '.join(others)} are not of the format"] if others else []
    source.report_element("dynamics", joint.name, dynamics, "; ".join(words))


def _mimic(source: UrdfSource, element: XmlElement) -> None:
    mechanism, mimic = source.mechanism, source.part(element, "mimic")
    if mimic is None:
        return
    joint, leader = mechanism.joints[source.joints.of[element.get("name")]], mimic.get("joint")
    if leader not in source.joints.of:
        raise FileError(f"{source.at(mimic)}: joint `{joint.name}` mimics the unknown joint `{leader}`")
    name = source.joints.of[leader]
    if name == joint.name:
        raise FileError(f"{source.at(mimic)}: joint `{joint.name}` mimics itself")
    if joint.type not in ("revolute", "prismatic") or mechanism.joints[name].type not in ("revolute", "prismatic"):
        source.lose("mimic", joint.name, mimic, "joins joints that have not one coordinate each")
        return
    words = {"joint": name, "ratio": source.number(mimic, "multiplier", 1.0)}
    offset = source.number(mimic, "offset", 0.0)
    joint.words["mimic"] = words | ({"offset": offset} if offset else {})
    source.report_element("mimic", joint.name, mimic)


def check_urdf_tree(path: Path, mechanism: SourceModel) -> None:
    """Refuse a link with two parents, and joints in a circle, which URDF does not have."""
    holder: dict[str, SourceJoint] = {}
    for joint in mechanism.joints.values():
        if joint.child in holder:
            other = holder[joint.child].name
            raise FileError(f"{path}:{joint.line}: link `{joint.child}` is child of the joints `{other}` and `{joint.name}`")
        if joint.child == WORLD_NAME:
            raise FileError(f"{path}:{joint.line}: the world is the child of joint `{joint.name}`")
        holder[joint.child] = joint
    for name in mechanism.links:
        seen, at = {name}, name
        while at in holder:
            at = holder[at].parent
            if at in seen:
                raise FileError(f"{path}:{holder[at].line}: the joints above link `{name}` go in a circle")
            seen.add(at)
