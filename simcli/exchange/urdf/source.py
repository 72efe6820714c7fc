"""A URDF file as it is read: numbers with their lines, poses, what was looked at, and what is told of it."""

import math
from pathlib import Path

from simcli.errors import FileError
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import GivenNames, SourceFrame, quaternion_words
from simcli.exchange.source.meshes import MeshFiles
from simcli.exchange.source.xml_reader import XmlElement, finite_numbers

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
# Elements without which nothing moves otherwise, with all that stands in them.
_NOTES = frozenset(
    (
        "visual",
        "material",
        "texture",
        "verbose",
        "sensor",
        "transmission",
        "ros2_control",
        "calibration",
        "safety_controller",
    )
)


class UrdfSource:
    """One file as it is read.

    Args:
        path: of the file, for messages.
        root: its root, `robot`.
        meshes: takes the meshes that it names.
        report: receives a line for each element.

    Attributes:
        links, joints: names of the scene, by names of the file.
        colours: of materials, by name.
        materials: their names, of those without a colour too.
        known: elements that were looked at, by identity.
    """

    def __init__(self, path: Path, root: XmlElement, meshes: MeshFiles, report: ImportReport):
        self.path, self.root, self.meshes, self.report = path, root, meshes, report
        self.links, self.joints = GivenNames(), GivenNames(())
        self.colours: dict[str, tuple[float, ...]] = {}
        self.materials: set[str] = set()
        self.known: set[int] = {id(root)}

    def at(self, element: XmlElement) -> str:
        """Place of an element, for messages."""
        return f"{self.path}:{element.line}"

    def given(self, element: XmlElement) -> str:
        """The name of an element, which it has to have."""
        if not element.get("name"):
            raise FileError(f"{self.at(element)}: a <{element.tag}> without a name")
        return element.get("name")

    def part(self, element: XmlElement, tag: str) -> XmlElement | None:
        """The first child of a tag, which counts as looked at."""
        found = element.child(tag)
        if found is not None:
            self.known.add(id(found))
        return found

    def origin(self, element: XmlElement) -> SourceFrame:
        """The pose that an element says."""
        origin = self.part(element, "origin")
        if origin is None:
            return SourceFrame()
        xyz, rpy = (self.numbers(origin, key, 3, (0.0, 0.0, 0.0)) for key in ("xyz", "rpy"))
        if origin.get("quat_xyzw").strip():  # version 1.2 of the format
            x, y, z, w = self.numbers(origin, "quat_xyzw", 4, None)
            if origin.get("rpy").strip() or not (x or y or z or w):
                words = "says a rotation twice" if x or y or z or w else "a quaternion of length zero is no rotation"
                raise FileError(f"{self.at(origin)}: <origin>: {words}: write `rpy` or `quat_xyzw`")
            return SourceFrame(xyz, quaternion_words(SourceFrame(words={"quat_wxyz": [w, x, y, z]}).matrix))
        return SourceFrame(xyz, {"rpy": list(rpy)} if any(rpy) else {})

    def bound(self, element: XmlElement, key: str) -> float:
        """A bound, which may be written as an infinity; 0 where there is none."""
        if element.get(key).strip().lower().lstrip("+-") in ("inf", "infinity"):
            return -math.inf if element.get(key).strip().startswith("-") else math.inf
        return self.number(element, key, 0.0)

    def numbers(self, element: XmlElement, key: str, count: int, default: tuple | None) -> tuple[float, ...]:
        """The numbers of an attribute, so many finite ones; a default where there are none."""
        text = element.get(key)
        if not text.strip() and default is not None:
            return default
        found = finite_numbers(text, count)
        if found is None:
            words = f"{count} numbers" if count > 1 else "a number"
            raise FileError(f"{self.at(element)}: `{key}` of <{element.tag}> is `{text[:60]}`, not {words}")
        return found

    def number(self, element: XmlElement, key: str, default: float | None) -> float:
        """The number of an attribute; a default, if there is one, where there is none."""
        if default is not None and not element.get(key).strip():
            return default
        return self.numbers(element, key, 1, None)[0]

    def report_element(self, kind: str, name: str, element: XmlElement, change: str) -> None:
        """An element is in the scene, as it was or changed."""
        if change:
            self.report.changed(kind, name, element.line, change)
        else:
            self.report.carried(kind, name, element.line)

    def tell_unread(self, element: XmlElement, owner: str = "", is_note: bool = False) -> None:
        """Each element and each attribute that nothing has looked at is dropped, with what stands in it."""
        self.report.lost_attributes(element, owner, is_note or element.tag in _NOTES)
        for one in element.children:
            if id(one) in self.known:
                self.tell_unread(one, one.get("name") or owner, is_note or element.tag in _NOTES)
            else:
                tag = one.tag.rpartition(":")[2]
                is_second = any(other.tag == one.tag and id(other) in self.known for other in element.children)
                why = "only the first one is read" if is_second else _UNREAD.get(tag, "not of the format, or not here")
                self.report.dropped(
                    tag,
                    one.get("name") or one.get("reference") or owner,
                    one.line,
                    why,
                    is_note=is_note or not _NOTES.isdisjoint((element.tag, tag)),
                )

    def drop(self, kind: str, name: str, element: XmlElement, why: str, is_note: bool = False) -> None:
        """An element is lost with all that stands in it; `is_note` if nothing moves otherwise without it."""
        element.mark_reported()
        self.known.update(map(id, element.below()))
        self.report.dropped(kind, name, element.line, why, is_note=is_note or kind in _NOTES)
