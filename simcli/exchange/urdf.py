"""URDF to a mechanism.

Source: the XML specification of the Unified Robot Description Format (Willow Garage 2009, now the ROS wiki): links with
inertial, visual and collision; joints of all types with origin, axis, limit, dynamics and mimic; materials.
"""

import math
from pathlib import Path

import numpy as np

from simcli.errors import FileError
from simcli.exchange.mechanism import (
    SourceFrame,
    SourceJoint,
    SourceLink,
    SourceModel,
    SourceShape,
    hex_colour,
    in_outer_axes,
    quaternion_words,
    words_of_no_limit,
)
from simcli.exchange.meshes import LostMeshError, MeshFiles
from simcli.exchange.naming import GivenNames, words_of_renaming
from simcli.exchange.report import ImportReport
from simcli.exchange.xml_reader import XmlElement, plain_number
from simcli.spec.names.structure import WORLD_NAME

_TYPES = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed", "floating": "free",
          "planar": "planar"}  # fmt: skip
NO_LIMIT = 1e9  # [m, rad, N, ...] a limit from here on says that there is none: the format wants numbers
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_WITH_AXIS = ("revolute", "continuous", "prismatic", "planar")
# Elements that say nothing of mechanics, and why they are dropped.
_UNREAD = {
    "gazebo": "an extension of Gazebo",
    "transmission": "says which controller drives a joint, not how it moves",
    "sensor": "sensors are not carried",
    "ros2_control": "says which controllers there are, not how joints move",
    "calibration": "says where an encoder has its mark",
    "safety_controller": "bounds of a controller of a robot",
    "texture": "scenes have no textures",
    "verbose": "is about a program",
}


class _Urdf:
    """One file as it is read."""

    def __init__(self, path: Path, root: XmlElement, meshes: MeshFiles, report: ImportReport):
        self.path, self.root, self.meshes, self.report = path, root, meshes, report
        self.links, self.joints = GivenNames(), GivenNames(())
        self.colours: dict[str, tuple[float, ...]] = {}
        self.materials: set[str] = set()  # their names, of those without a colour too
        self.known: set[int] = {id(root)}  # elements that were looked at

    # What is read.

    def read(self) -> SourceModel:
        mechanism = SourceModel(self.root.get("name") or self.path.stem)
        mechanism.links[WORLD_NAME] = SourceLink(WORLD_NAME, 0)
        for element in self.root.all("material"):
            self._material(element)
        self._find_colours()
        for element in self.root.all("link"):
            self._link(element, mechanism)
        for element in self.root.all("joint"):
            self._joint(element, mechanism)
        for element in self.root.all("joint"):
            self._mimic(element, mechanism)
        self.root.get("version")
        self._tell_unread(self.root, mechanism.name)
        _check_tree(self.path, mechanism)
        return mechanism

    def _material(self, element: XmlElement) -> None:
        self.known.add(id(element))
        colour = self._part(element, "color")
        if colour is not None:
            self.colours[element.get("name")] = self._numbers(colour, "rgba", 4, (1.0, 1.0, 1.0, 1.0))
        self.materials.add(element.get("name"))
        self.report.carried("material", element.get("name"), element.line)

    def _link(self, element: XmlElement, mechanism: SourceModel) -> None:
        self.known.add(id(element))
        before = self._given(element)
        if before in self.links.of:
            raise FileError(f"{self._at(element)}: a second link `{before}`")
        if before == WORLD_NAME:
            name = self.links.of.setdefault(WORLD_NAME, WORLD_NAME)
            link = mechanism.links[WORLD_NAME]
            link.line = element.line
        else:
            name = self.links.give(before, "link")
            link = mechanism.links[name] = SourceLink(name, element.line)
        self._tell("link", name, element, words_of_renaming(before, name))
        inertial = self._part(element, "inertial")
        if inertial is not None:
            self._inertial(inertial, link)
        if name == WORLD_NAME and link.mass is not None:
            self.report.withdraw(("inertial",), WORLD_NAME, "the world does not move")
        names = GivenNames(())
        for kind in ("collision", "visual"):
            for one in element.all(kind):
                self._shape(one, kind, link, names)

    def _inertial(self, element: XmlElement, link: SourceLink) -> None:
        origin = self._origin(element)
        mass, inertia = self._part(element, "mass"), self._part(element, "inertia")
        link.mass = self._number(mass, "value", None) if mass is not None else 0.0
        link.com = origin.xyz
        changes = [] if mass is not None else ["has no mass: 0 kg"]
        if inertia is not None:
            missing = [f"`{key}`" for key in _MOMENTS if not inertia.get(key).strip()]
            changes += [f"{', '.join(missing)} missing: 0"] if missing else []
            xx, xy, xz, yy, yz, zz = (self._number(inertia, key, 0.0) for key in _MOMENTS)
            link.inertia = in_outer_axes(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), origin)
        elif link.mass:
            changes.append("has no inertia: a point mass")
        self._tell("inertial", link.name, element, "; ".join(changes))

    def _shape(self, element: XmlElement, kind: str, link: SourceLink, names: GivenNames) -> None:
        self.known.add(id(element))
        frame, geometry = self._origin(element), self._part(element, "geometry")
        form = next(iter(geometry.children), None) if geometry is not None else None
        label = f"{link.name}/{element.get('name') or kind}"
        if form is None:
            self._drop(kind, label, element, "has no geometry")
            return
        self.known.add(id(form))
        collides = kind == "collision"
        words, why = self._form(form, collides)
        colour, opacity, lost = self._colour(element)
        if words is None:
            self._drop(kind, label, element, why)
            return
        twin = None if collides else next(filter(lambda one: _is_same(one, words, frame), link.shapes), None)
        if twin is not None:  # what is seen is what collides
            twin.colour, twin.opacity, twin.seen_as = colour, opacity, label
            self._tell(kind, label, element, lost)
            return
        name = names.give(element.get("name") or kind)
        link.shapes.append(SourceShape(name, words, frame, collides, element.line, colour, opacity))
        if collides and words["type"] == "mesh":
            lost = "collides as the convex hull of its mesh"
        self._tell(kind, label, element, lost)

    def _form(self, form: XmlElement, collides: bool) -> tuple[dict | None, str]:
        """A geometry as a scene writes it; None with the reason why there is none."""
        if form.tag == "box":
            words = {"type": "box", "size": list(self._numbers(form, "size", 3, None))}
        elif form.tag == "sphere":
            words = {"type": "sphere", "radius": self._number(form, "radius", None)}
        elif form.tag in ("cylinder", "capsule"):
            words = {"type": form.tag} | {key: self._number(form, key, None) for key in ("radius", "length")}
        elif form.tag == "mesh":
            return self._mesh(form, collides)
        else:
            return None, f"a geometry `{form.tag}`"
        sizes = np.array([number for key, value in words.items() if key != "type" for number in np.atleast_1d(value)])
        return (words, "") if (sizes > 0.0).all() else (None, "a geometry without extent")

    def _mesh(self, form: XmlElement, collides: bool) -> tuple[dict | None, str]:
        name = form.get("filename")
        try:
            words = {"type": "mesh", "file": self.meshes.take(name, collides)}
        except LostMeshError as error:
            return None, f"mesh: {error}"
        scale = self._numbers(form, "scale", 3, (1.0, 1.0, 1.0))
        if set(scale) != {1.0}:
            words["scale"] = scale[0] if len(set(scale)) == 1 else list(scale)
        return words, ""

    def _colour(self, element: XmlElement) -> tuple[str, float, str]:
        """Colour and opacity of a visual, and what is lost of its material."""
        material = self._part(element, "material")
        if material is None:
            return "", 1.0, ""
        name, own = material.get("name"), self._part(material, "color")
        rgba = self._numbers(own, "rgba", 4, (1.0,) * 4) if own is not None else self.colours.get(name)
        if rgba is None:
            is_known = name in self.materials or material.child("texture") is not None
            return "", 1.0, "" if is_known else f"its material `{name}` is defined nowhere: the shape has no colour"
        return hex_colour(rgba[:3]), min(max(rgba[3], 0.0), 1.0), ""

    def _find_colours(self) -> None:
        """Materials that links define, which others may name before and after them."""
        for visual in (one for link in self.root.all("link") for one in link.all("visual")):
            for material in (one for one in visual.all("material") if one.children):
                self.materials.add(material.get("name"))
                if (colour := material.child("color")) is not None and material.get("name"):
                    self.colours.setdefault(material.get("name"), self._numbers(colour, "rgba", 4, (1.0,) * 4))

    def _joint(self, element: XmlElement, mechanism: SourceModel) -> None:
        self.known.add(id(element))
        before, kind = self._given(element), element.get("type")
        if before in self.joints.of:
            raise FileError(f"{self._at(element)}: a second joint `{before}`")
        if kind not in _TYPES:
            raise FileError(f"{self._at(element)}: joint `{before}` has the type `{kind}`; there are {', '.join(_TYPES)}")
        ends = []
        for key in ("parent", "child"):
            end = self._part(element, key)
            if end is None or end.get("link") not in self.links.of:
                what = "no" if end is None else f"the unknown link `{end.get('link')}` as"
                raise FileError(f"{self._at(element)}: joint `{before}` has {what} {key}")
            ends.append(self.links.of[end.get("link")])
        name = self.joints.give(before, "joint")
        joint = SourceJoint(name, element.line, _TYPES[kind], *ends, parent_frame=self._origin(element))
        axis = self._part(element, "axis")
        if kind in _WITH_AXIS:
            joint.axis = self._numbers(axis, "xyz", 3, (1.0, 0.0, 0.0)) if axis is not None else (1.0, 0.0, 0.0)
            if not any(joint.axis):
                raise FileError(f"{self._at(element)}: the axis of joint `{before}` is zero")
        elif axis is not None:
            axis.settle()
            self.report.changed("axis", name, axis.line, f"means nothing for a {kind} joint")
        self._limit(element, kind, joint)
        self._dynamics(element, kind, joint)
        mechanism.joints[name] = joint
        self._tell("joint", name, element, words_of_renaming(before, name))

    def _limit(self, element: XmlElement, kind: str, joint: SourceJoint) -> None:
        limit = self._part(element, "limit")
        if limit is None:
            if kind in ("revolute", "prismatic"):
                self.report.changed("limit", joint.name, element.line, "is missing: the joint has no limits")
            return
        if kind not in ("revolute", "prismatic", "continuous"):
            self._drop("limit", joint.name, limit, f"means nothing for a {kind} joint")
            return
        changes = []
        lower, upper = self._bound(limit, "lower"), self._bound(limit, "upper")
        bounds = {key: value for key, value in (("lower", lower), ("upper", upper)) if abs(value) < NO_LIMIT}
        if kind == "continuous":
            changes += ["a continuous joint has no limits"] if bounds.keys() & limit.attributes.keys() else []
        elif lower >= upper:
            changes.append(f"from {lower:g} to {upper:g} leaves no room: the joint has no limits")
        elif bounds:
            joint.words["limit"] = bounds if len(bounds) == 1 else [lower, upper]
        most = {key: self._bound(limit, key) for key in ("velocity", "effort")}
        changes += filter(None, (words_of_no_limit(key, value) for key, value in most.items() if limit.get(key).strip()))
        if 0.0 < most["velocity"] < NO_LIMIT:
            joint.words["velocity_limit"] = most["velocity"]
        if 0.0 < most["effort"] < NO_LIMIT:
            joint.words["drive"] = {"mode": "effort", "target": 0.0, "effort_limit": most["effort"]}
        self._tell("limit", joint.name, limit, "; ".join(changes))

    def _dynamics(self, element: XmlElement, kind: str, joint: SourceJoint) -> None:
        dynamics = self._part(element, "dynamics")
        if dynamics is None:
            return
        numbers = {key: self._number(dynamics, key, 0.0) for key in ("damping", "friction")}
        if kind in ("fixed", "floating", "planar"):
            if any(numbers.values()):
                self._drop("dynamics", joint.name, dynamics, f"means nothing for a {kind} joint")
            return
        wrong = [key for key, value in numbers.items() if value < 0.0]
        joint.words |= {key: value for key, value in numbers.items() if value > 0.0}
        others = sorted(dynamics.unread())
        dynamics.settle()
        words = [f"`{key}` is negative and left out" for key in wrong]
        words += [f"the attributes {', '.join(others)} are not of the format"] if others else []
        self._tell("dynamics", joint.name, dynamics, "; ".join(words))

    def _mimic(self, element: XmlElement, mechanism: SourceModel) -> None:
        mimic = self._part(element, "mimic")
        if mimic is None:
            return
        joint, leader = mechanism.joints[self.joints.of[element.get("name")]], mimic.get("joint")
        if leader not in self.joints.of:
            raise FileError(f"{self._at(mimic)}: joint `{joint.name}` mimics the unknown joint `{leader}`")
        name = self.joints.of[leader]
        if name == joint.name:
            raise FileError(f"{self._at(mimic)}: joint `{joint.name}` mimics itself")
        if joint.type not in ("revolute", "prismatic") or mechanism.joints[name].type not in ("revolute", "prismatic"):
            self._drop("mimic", joint.name, mimic, "joins joints that have not one coordinate each")
            return
        words = {"joint": name, "ratio": self._number(mimic, "multiplier", 1.0)}
        offset = self._number(mimic, "offset", 0.0)
        joint.words["mimic"] = words | ({"offset": offset} if offset else {})
        self.report.carried("mimic", joint.name, mimic.line)

    # What is told.

    def _tell(self, kind: str, name: str, element: XmlElement, change: str) -> None:
        if change:
            self.report.changed(kind, name, element.line, change)
        else:
            self.report.carried(kind, name, element.line)

    def _tell_unread(self, element: XmlElement, owner: str = "") -> None:
        """Each element and each attribute that nothing has looked at is dropped, with what stands in it."""
        self.report.lost_attributes(element, owner)
        for one in element.children:
            if id(one) in self.known:
                self._tell_unread(one, one.get("name") or owner)
            else:
                tag = one.tag.rpartition(":")[2]
                is_second = any(other.tag == one.tag and id(other) in self.known for other in element.children)
                why = "only the first one is read" if is_second else _UNREAD.get(tag, "not of the format, or not here")
                self.report.dropped(tag, one.get("name") or one.get("reference") or owner, one.line, why)

    def _drop(self, kind: str, name: str, element: XmlElement, why: str) -> None:
        """An element is lost with all that stands in it."""
        element.settle()
        self.known.update(map(id, element.below()))
        self.report.dropped(kind, name, element.line, why)

    # Parts of elements.

    def _given(self, element: XmlElement) -> str:
        if not element.get("name"):
            raise FileError(f"{self._at(element)}: a <{element.tag}> without a name")
        return element.get("name")

    def _part(self, element: XmlElement, tag: str) -> XmlElement | None:
        found = element.child(tag)
        if found is not None:
            self.known.add(id(found))
        return found

    def _origin(self, element: XmlElement) -> SourceFrame:
        origin = self._part(element, "origin")
        if origin is None:
            return SourceFrame()
        xyz, rpy = (self._numbers(origin, key, 3, (0.0, 0.0, 0.0)) for key in ("xyz", "rpy"))
        if origin.get("quat_xyzw").strip():  # version 1.2 of the format
            x, y, z, w = self._numbers(origin, "quat_xyzw", 4, None)
            if origin.get("rpy").strip() or not (x or y or z or w):
                words = "says a rotation twice" if x or y or z or w else "a quaternion of length zero is no rotation"
                raise FileError(f"{self._at(origin)}: <origin>: {words}: write `rpy` or `quat_xyzw`")
            return SourceFrame(xyz, quaternion_words(SourceFrame(words={"quat_wxyz": [w, x, y, z]}).matrix))
        return SourceFrame(xyz, {"rpy": list(rpy)} if any(rpy) else {})

    def _bound(self, element: XmlElement, key: str) -> float:
        """A bound, which may be written as an infinity; 0 where there is none."""
        if element.get(key).strip().lower().lstrip("+-") in ("inf", "infinity"):
            return -math.inf if element.get(key).strip().startswith("-") else math.inf
        return self._number(element, key, 0.0)

    def _numbers(self, element: XmlElement, key: str, count: int, default: tuple | None) -> tuple[float, ...]:
        text = element.get(key)
        if not text.strip() and default is not None:
            return default
        try:
            found = tuple(map(plain_number, text.split()))
        except ValueError:
            found = ()
        if len(found) != count or not all(map(math.isfinite, found)):
            words = f"{count} numbers" if count > 1 else "a number"
            raise FileError(f"{self._at(element)}: `{key}` of <{element.tag}> is `{text[:60]}`, not {words}")
        return found

    def _number(self, element: XmlElement, key: str, default: float | None) -> float:
        if default is not None and not element.get(key).strip():
            return default
        return self._numbers(element, key, 1, None)[0]

    def _at(self, element: XmlElement) -> str:
        return f"{self.path}:{element.line}"


def _is_same(shape: SourceShape, words: dict, frame: SourceFrame) -> bool:
    """Whether a shape collides, has no colour of another visual yet, and is the same."""
    if not shape.collides or shape.seen_as:
        return False
    return shape.words == words and np.array_equal(shape.frame.xyz, frame.xyz) and shape.frame.words == frame.words


def _check_tree(path: Path, mechanism: SourceModel) -> None:
    """Refuse a link with two parents, and joints in a circle, which URDF does not have."""
    holder: dict[str, SourceJoint] = {}
    for joint in mechanism.joints.values():
        if joint.child in holder:
            other = holder[joint.child].name
            raise FileError(f"{path}:{joint.line}: link `{joint.child}` hangs on the joints `{other}` and `{joint.name}`")
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
    return _Urdf(path, root, meshes, report).read()
