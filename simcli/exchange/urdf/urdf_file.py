"""A URDF file as a mechanism.

Source: the XML specification of the Unified Robot Description Format (Willow Garage 2009, now the ROS wiki): links with
inertial, visual and collision; joints of all types with origin, axis, limit, dynamics and mimic; materials.
"""

from pathlib import Path

import numpy as np

from simcli.errors import FileError
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import (
    GivenNames,
    SourceJoint,
    SourceLink,
    SourceModel,
    SourceShape,
    hex_colour,
    in_outer_axes,
    words_of_no_limit,
    words_of_renaming,
)
from simcli.exchange.source.meshes import MeshFiles
from simcli.exchange.source.xml_reader import XmlElement
from simcli.exchange.source.xml_source import HULL, ReadForm, put_scale
from simcli.exchange.urdf.source import UrdfSource
from simcli.spec.lookup.structure import WORLD_NAME

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_urdf_links(source: UrdfSource) -> None:
    """All links, and the materials that they name.

    Args:
        source: the file; its mechanism gets the links.
    """
    for element in source.root.all("material"):
        _material(source, element)
    _find_colours(source)
    for element in source.root.all("link"):
        _link(source, element)


def _material(source: UrdfSource, element: XmlElement) -> None:
    colour = source.part(element, "color")
    if colour is not None:
        source.colours[element.get("name")] = source.numbers(colour, "rgba", 4, (1.0, 1.0, 1.0, 1.0))
    source.materials.add(element.get("name"))
    source.report_element("material", element.get("name"), element)


def _find_colours(source: UrdfSource) -> None:
    """Materials that links define, which others may name before and after them."""
    for visual in (one for link in source.root.all("link") for one in link.all("visual")):
        for material in (one for one in visual.all("material") if one.children):
            source.materials.add(material.get("name"))
            if (colour := material.child("color")) is not None and material.get("name"):
                source.colours.setdefault(material.get("name"), source.numbers(colour, "rgba", 4, (1.0,) * 4))


def _link(source: UrdfSource, element: XmlElement) -> None:
    mechanism, before = source.mechanism, source.named(element)
    if before in source.links.of:
        raise FileError(f"{source.at(element)}: a second link `{before}`")
    if before == WORLD_NAME:
        name = source.links.of.setdefault(WORLD_NAME, WORLD_NAME)
        link = mechanism.links[WORLD_NAME]
        link.line = element.line
    else:
        name = source.links.give(before, "link")
        link = mechanism.links[name] = SourceLink(name, element.line)
    source.report_element("link", name, element, words_of_renaming(before, name))
    inertial = source.part(element, "inertial")
    if inertial is not None:
        _inertial(source, inertial, link)
    if name == WORLD_NAME and link.mass is not None:
        source.report.withdraw(("inertial",), WORLD_NAME, "the world does not move", is_note=True)
    names = GivenNames(())
    for one in (*element.all("collision"), *element.all("visual")):
        _shape(source, one, link, names)


def _inertial(source: UrdfSource, element: XmlElement, link: SourceLink) -> None:
    origin = source.origin(element)
    mass, inertia = source.part(element, "mass"), source.part(element, "inertia")
    link.mass = source.number(mass, "value", None) if mass is not None else 0.0
    link.com = origin.xyz
    changes = [] if mass is not None else ["has no mass: 0 kg"]
    if inertia is not None:
        missing = [f"`{key}`" for key in _MOMENTS if not inertia.get(key).strip()]
        changes += [f"{', '.join(missing)} missing: 0"] if missing else []
        xx, xy, xz, yy, yz, zz = (source.number(inertia, key, 0.0) for key in _MOMENTS)
        link.inertia = in_outer_axes(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), origin)
    elif link.mass:
        changes.append("has no inertia: a point mass")
    source.report_element("inertial", link.name, element, "; ".join(changes))


def _shape(source: UrdfSource, element: XmlElement, link: SourceLink, names: GivenNames) -> None:
    name, collides, frame = element.get("name") or element.tag, element.tag == "collision", source.origin(element)
    form = source.form_of(element)
    forms, said = ([], "has no geometry") if form is None else _forms(source, form, collides)
    if not forms:
        source.lose(element.tag, f"{link.name}/{name}", element, said)
        return
    colour, opacity, lost = _colour(source, element)
    shapes = []
    for one in forms:  # as RViz has it: a material is for meshes without colours
        look = (one.colour, one.opacity) if one.colour else (colour, opacity)
        shapes.append(SourceShape(name, one.words, frame, collides, element.line, *look, home=link.name))
    hidden = f"has the colours of its mesh, not {colour}" if colour and any(one.colour for one in forms) else ""
    hull = HULL if collides and forms[0].words["type"] == "mesh" else ""
    source.add_shapes(link, shapes, element, names, "; ".join(filter(None, (hull, said, hidden, lost))))


def _forms(source: UrdfSource, form: XmlElement, collides: bool) -> tuple[list[ReadForm], str]:
    """A geometry, several of a mesh with colours, and what is changed in it; none with the reason why there is none."""
    if form.tag == "box":
        words = {"type": "box", "size": list(source.numbers(form, "size", 3, None))}
    elif form.tag == "sphere":
        words = {"type": "sphere", "radius": source.number(form, "radius", None)}
    elif form.tag in ("cylinder", "capsule"):
        words = {"type": form.tag} | {key: source.number(form, key, None) for key in ("radius", "length")}
    elif form.tag == "mesh":
        return _mesh(source, form, collides)
    else:
        return [], f"a geometry `{form.tag}`"
    sizes = np.array([number for key, value in words.items() if key != "type" for number in np.atleast_1d(value)])
    return ([ReadForm(words)], "") if (sizes > 0.0).all() else ([], "a geometry without extent")


def _mesh(source: UrdfSource, form: XmlElement, collides: bool) -> tuple[list[ReadForm], str]:
    forms, said = source.mesh(form.get("filename"), collides)
    for one in forms:
        put_scale(one.words, source.numbers(form, "scale", 3, (1.0, 1.0, 1.0)))
    return forms, said


def _colour(source: UrdfSource, element: XmlElement) -> tuple[str, float, str]:
    """Colour and opacity of a visual, and what is lost of its material."""
    material = source.part(element, "material")
    if material is None:
        return "", 1.0, ""
    name, own = material.get("name"), source.part(material, "color")
    rgba = source.numbers(own, "rgba", 4, (1.0,) * 4) if own is not None else source.colours.get(name)
    if rgba is None:
        is_known = name in source.materials or material.child("texture") is not None
        return "", 1.0, "" if is_known else f"its material `{name}` is defined nowhere: the shape has no colour"
    return hex_colour(rgba[:3]), min(max(rgba[3], 0.0), 1.0), ""


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


def read_urdf(path: Path, root: XmlElement, meshes: MeshFiles, report: ImportReport) -> SourceModel:
    """The mechanism of a URDF file.

    Args:
        path: of the file, for messages.
        root: its root, `robot`.
        meshes: takes the meshes that it names.
        report: receives a line for each element.

    Raises:
        FileError: the file is no URDF, or contradicts itself; with the line.
    """
    mechanism = SourceModel(root.get("name") or path.stem)
    source = UrdfSource(path, root, meshes, report, mechanism)
    mechanism.links[WORLD_NAME] = SourceLink(WORLD_NAME, 0)
    read_urdf_links(source)
    read_urdf_joints(source)
    root.get("version")
    source.tell_unread(root, mechanism.name)
    check_urdf_tree(path, mechanism)
    _tell_roots(mechanism, report)
    return mechanism


def _tell_roots(mechanism: SourceModel, report: ImportReport) -> None:
    """Tell of each link, but for one, that no joint holds: other readers refuse the file."""
    held = {joint.child for joint in mechanism.joints.values()}
    world = mechanism.links[WORLD_NAME]
    roots = [link for link in mechanism.links.values() if link.name not in held and (link is not world or link.line)]
    roots.sort(key=lambda link: link is not world)
    for link in roots[1:]:
        report.amend("link", link.name, link.line, f"no joint holds it, as none holds `{roots[0].name}`: it stands alone")
