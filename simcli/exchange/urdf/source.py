"""A URDF file as it is read: numbers with their lines, poses, what was looked at, and what is told of it."""

import math
from pathlib import Path

from simcli.errors import FileError
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import SourceFrame, SourceModel, quaternion_words
from simcli.exchange.source.meshes import MeshFiles
from simcli.exchange.source.xml_reader import XmlElement
from simcli.exchange.source.xml_source import XmlSource

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


class UrdfSource(XmlSource):
    """One file as it is read.

    Args:
        path: of the file, for messages.
        root: its root, `robot`.
        meshes: takes the meshes that it names.
        report: receives a line for each element.
        mechanism: that is made.

    Attributes:
        colours: of materials, by name.
        materials: their names, of those without a colour too.
    """

    noted = _NOTES

    def __init__(self, path: Path, root: XmlElement, meshes: MeshFiles, report: ImportReport, mechanism: SourceModel):
        super().__init__(path, root, meshes, report, mechanism)
        self.colours: dict[str, tuple[float, ...]] = {}
        self.materials: set[str] = set()

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
        return self.read_numbers(element, f"`{key}` of <{element.tag}>", text, count)

    def number(self, element: XmlElement, key: str, default: float | None) -> float:
        """The number of an attribute; a default, if there is one, where there is none."""
        return self.numbers(element, key, 1, None if default is None else (default,))[0]

    def drop_unread(self, element: XmlElement, owner: str, why: str, is_note: bool) -> None:
        """An element that nothing has looked at is dropped."""
        tag, name = element.tag.rpartition(":")[2], element.get("name") or element.get("reference") or owner
        why = why or _UNREAD.get(tag, "not of the format, or not here")
        self.report.dropped(tag, name, element.line, why, is_note=is_note or tag in _NOTES)
