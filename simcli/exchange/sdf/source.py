"""An SDF file as it is read: numbers with their lines, poses, which elements were looked at, and models that it includes."""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simcli import rotations as rot
from simcli.errors import FileError
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import GivenNames, SourceFrame, SourceModel, quaternion_words
from simcli.exchange.source.meshes import LostMeshError, MeshFiles
from simcli.exchange.source.xml_reader import XmlElement, finite_numbers, read_xml, refuse_macros

TRUE, _FALSE = ("1", "true"), ("0", "false")
# Elements without which nothing moves otherwise, with all that stands in them.
NOTED_TAGS = frozenset(
    (
        "visual",
        "sensor",
        "light",
        "scene",
        "gui",
        "audio_source",
        "audio_sink",
        "battery",
        "must_be_base_link",
        "allow_auto_disable",
        "laser_retro",
        "projector",
        "particle_emitter",
        "magnetic_field",
        "atmosphere",
        "spherical_coordinates",
        "frame",
    )
)
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


_MOST = 1000  # models that are included
_OWN = ("pose", "static")  # what an include says in place of the model
_CONFIG, _MODEL = "model.config", "model.sdf"


class Includes:
    """Puts models in the place of includes.

    Args:
        path: of the file that includes.
        meshes: finds files; only those below its folders are read.
    """

    def __init__(self, path: Path, meshes: MeshFiles):
        self.path, self.meshes = path, meshes
        self.count = 0

    def put(self, root: XmlElement, version: str, above: tuple[Path, ...] = ()) -> None:
        """Replace the includes of all models and worlds below an element.

        Args:
            root: changed in place.
            version: of its file.
            above: files that are being read.

        Raises:
            FileError: a file is not there, is no model, includes itself, or says what is not read; with the line.
        """
        for element in root.below():
            children = []
            for one in element.children:
                is_include = one.tag == "include" and element.tag in ("sdf", "world", "model")
                children.append(self._model(one, version, above) if is_include else one)
            element.children = children

    def _model(self, include: XmlElement, version: str, above: tuple[Path, ...]) -> XmlElement:
        where = f"{self.path.parent / include.file if include.file else self.path}:{include.line}"
        uri = include.child("uri").text if include.child("uri") is not None else ""
        self.count += 1
        if self.count > _MOST:
            raise FileError(f"{where}: more than {_MOST} models are included")
        if include.get("merge") in ("1", "true"):
            raise FileError(f"{where}: `merge` of an include is not read: put the model in its place, as `gz sdf -p` does")
        path = self._find(uri, where)
        if path in above:
            raise FileError(f"{where}: `{uri[:60]}` includes itself")
        root = read_xml(path)
        refuse_macros(path, root)
        model = root.child("model")
        if root.tag != "sdf" or model is None:
            raise FileError(f"{where}: `{uri[:60]}` holds no model of SDF")
        if (own := root.get("version", version)) != version and _is_old(own) != _is_old(version):
            hint = f"bring both to one version by `gz sdf -p {path}`"
            raise FileError(f"{where}: `{uri[:60]}` is of version {own}, this file of {version}: {hint}")
        shown = os.path.relpath(path, self.path.resolve().parent).replace(os.sep, "/")
        for one in model.below():
            one.file = shown
            if one.tag == "uri" and "://" not in one.text and not os.path.isabs(one.text):
                one.text = str(path.parent / one.text)
        self.put(model, version, (*above, path))
        return self._said(include, model, where)

    def _said(self, include: XmlElement, model: XmlElement, where: str) -> XmlElement:
        """The model with the name, pose and state of its include."""
        for one in include.children:
            if one.tag == "name":
                model.attributes["name"] = one.text
            elif one.tag in _OWN:
                model.children = [one, *(other for other in model.children if other.tag != one.tag)]
            elif one.tag == "placement_frame":
                raise FileError(f"{where}: `placement_frame` is not read: write the pose of the model itself")
            elif one.tag != "uri":
                model.children.append(one)
        return model

    def _find(self, uri: str, where: str) -> Path:
        """The file of a model that a URI names: itself, or the one in its folder that the folder's configuration names."""
        try:
            for name in ("", f"/{_CONFIG}", f"/{_MODEL}"):
                try:
                    found = self.meshes.find(uri.rstrip("/") + name).resolve()
                except LostMeshError as error:
                    lost = error
                    continue
                if found.name != _CONFIG:
                    return found
                named = [one.text for one in read_xml(found).all("sdf")]
                if named and (found.parent / named[-1]).resolve().is_relative_to(found.parent):
                    return (found.parent / named[-1]).resolve()
            raise lost
        except LostMeshError as error:
            raise FileError(f"{where}: includes `{uri[:60]}`: {error}") from None


def _is_old(version: str) -> bool:
    """Whether poses of a version name no frames."""
    major, _, minor = version.partition(".")
    return major == "1" and minor.isdigit() and int(minor) < 7
