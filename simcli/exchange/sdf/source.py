"""An SDF file as it is read: numbers with their lines, poses, and which elements were looked at."""

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simcli import rotations as rot
from simcli.errors import FileError
from simcli.exchange.import_report import ImportReport
from simcli.exchange.mechanism import SourceFrame, SourceModel, quaternion_words
from simcli.exchange.meshes import MeshFiles
from simcli.exchange.naming import GivenNames
from simcli.exchange.xml_reader import XmlElement, finite_numbers

TRUE, _FALSE = ("1", "true"), ("0", "false")
# Elements without which nothing moves otherwise, with all that stands in them.
NOTED_TAGS = frozenset(("visual", "sensor", "light", "scene", "gui", "audio_source", "audio_sink", "battery",
                        "must_be_base_link", "allow_auto_disable", "laser_retro", "projector", "particle_emitter",
                        "magnetic_field", "atmosphere", "spherical_coordinates", "frame"))  # fmt: skip
NAMED_FRAMES = (1, 7)  # the version from which poses and axes name frames, and names are unique within a model
_COUNTS = {"euler_rpy": 6, "quat_xyzw": 7}


@dataclass
class SdfSource:
    """One file.

    Attributes:
        path: of the file.  version: of the format, as (1, 6).
        meshes: takes meshes.  report: receives a line for each element.
        mechanism: that is made.
        known: elements that were looked at, by identity.
        links, joints: names of the scene, by names of the file with those of the models around them.
        changes: name of a joint to its element and what was changed.
    """

    path: Path
    version: tuple[int, int]
    meshes: MeshFiles
    report: ImportReport
    mechanism: SourceModel
    known: set[int] = field(default_factory=set)
    links: GivenNames = field(default_factory=GivenNames)
    joints: GivenNames = field(default_factory=lambda: GivenNames(()))
    changes: dict[str, tuple[XmlElement, str]] = field(default_factory=dict)

    def at(self, element: XmlElement) -> str:
        """Place of an element, for messages."""
        return f"{self.path.parent / element.file if element.file else self.path}:{element.line}"

    def part(self, element: XmlElement | None, *tags: str) -> XmlElement | None:
        """The element at the end of a way of first children; None if there is none."""
        for tag in tags:
            element = element.child(tag) if element is not None else None
            if element is not None:
                self.known.add(id(element))
        return element

    def numbers(self, element: XmlElement, count: int) -> tuple[float, ...]:
        """The numbers that stand in an element.

        Raises:
            FileError: they are not so many finite ones.
        """
        found = finite_numbers(element.text, count)
        if found is None:
            words = f"{count} numbers" if count > 1 else "a number"
            raise FileError(f"{self.at(element)}: <{element.tag}> is `{element.text[:60]}`, not {words}")
        return found

    def number(self, element: XmlElement | None, *tags: str, default: float | None = None) -> float | None:
        """The number at the end of a way; a default where there is none."""
        found = self.part(element, *tags)
        return default if found is None else self.numbers(found, 1)[0]

    def bound(self, element: XmlElement | None, tag: str, none: float) -> float:
        """A bound, which may be written as an infinity."""
        found = self.part(element, tag)
        if found is None:
            return none
        if found.text.strip().lower().lstrip("+-") in ("inf", "infinity"):
            return -math.inf if found.text.strip().startswith("-") else math.inf
        return self.numbers(found, 1)[0]

    def vector(self, element: XmlElement | None, tag: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """Three numbers, or a default."""
        found = self.part(element, tag)
        return default if found is None else self.numbers(found, len(default))

    def truth(self, element: XmlElement | None, tag: str, default: bool) -> bool:
        """A truth value, or a default."""
        found = self.part(element, tag)
        if found is None:
            return default
        if found.text.lower() not in TRUE + _FALSE:
            raise FileError(f"{self.at(found)}: <{tag}> is `{found.text[:60]}`, not true or false")
        return found.text.lower() in TRUE

    def pose(self, element: XmlElement) -> tuple[SourceFrame, str]:
        """The pose of an element in the frame that it names, and that name; "" for the usual one."""
        found = self.part(element, "pose")
        if found is None:
            return SourceFrame(), ""
        named = found.get("relative_to") or found.get("frame")
        if not found.text:
            return SourceFrame(), named
        form = found.get("rotation_format", "euler_rpy")
        if form not in _COUNTS:
            raise FileError(f"{self.at(found)}: the rotation format `{form[:60]}`; there are {', '.join(_COUNTS)}")
        values = self.numbers(found, _COUNTS[form])
        if form == "quat_xyzw":
            if not np.linalg.norm(values[3:]) > 0.0:
                raise FileError(f"{self.at(found)}: a quaternion of length zero is no rotation")
            turn = rot.quat_to_matrix(np.asarray(values[3:]) / np.linalg.norm(values[3:]))
            return SourceFrame(values[:3], quaternion_words(turn)), named
        angles = np.asarray(values[3:]) * (np.pi / 180.0 if found.get("degrees") in TRUE else 1.0)
        return SourceFrame(values[:3], {"rpy": angles.tolist()} if angles.any() else {}), named

    def report_element(self, kind: str, name: str, element: XmlElement, change: str = "") -> None:
        """An element is in the scene, as it was or changed; it counts as looked at."""
        self.known.add(id(element))
        if change:
            self.report.changed(kind, name, element.line, change, element.file)
        else:
            self.report.carried(kind, name, element.line, element.file)

    def lose(self, kind: str, name: str, element: XmlElement, why: str, is_note: bool = False) -> None:
        """An element, with all that stands in it, is not in the scene; `is_note` if nothing moves otherwise without it."""
        element.mark_reported()
        self.known.update(map(id, element.below()))
        self.report.dropped(kind, name, element.line, why, element.file, is_note=is_note or kind in NOTED_TAGS)
