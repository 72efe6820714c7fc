"""An SDF file as it is read: numbers with their lines, poses, which elements were looked at, and models that it includes."""

import math
import os
from pathlib import Path

import numpy as np

from simcli import rotations as rot
from simcli.errors import FileError
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import SourceFrame, SourceModel, quaternion_words
from simcli.exchange.source.meshes import LostMeshError, MeshFiles
from simcli.exchange.source.xml_reader import XmlElement, plain_number, read_xml, refuse_macros
from simcli.exchange.source.xml_source import XmlSource

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
# Elements that say nothing of mechanics, or what scenes have not, and why they are dropped.
WHY_UNREAD = {
    "plugin": "a program of the simulator",
    "sensor": "sensors are not carried",
    "light": "scenes have no lights",
    "physics": "numbers of another solver",
    "scene": "says how a simulator draws",
    "gui": "says how a simulator draws",
    "actor": "scenes have no actors",
    "surface": "contact numbers of another solver",
    "velocity_decay": "damps what the format does not say how",
    "enable_wind": "scenes have no wind field",
    "must_be_base_link": "is about a program",
    "allow_auto_disable": "is about a program",
    "audio_source": "scenes have no sound",
    "audio_sink": "scenes have no sound",
    "battery": "scenes have no batteries",
    "script": "a script of another renderer",
    "ambient": "shapes have one colour: that of `diffuse`",
    "size": "planes have no end",
    "magnetic_field": "scenes have no such field",
    "atmosphere": "scenes have no such field",
    "wind": "scenes have no wind field",
    "contact": "contact numbers of another solver",
}
# Elements that say with 0 or false what holds without them.
_AT_ZERO = (
    "enable_wind",
    "self_collide",
    "initial_position",
    "use_parent_model_frame",
    "velocity_decay",
    "fdir1",
    "slip",
    "slip1",
    "slip2",
    "kinematic",
    "fluid_added_mass",
    "wind",
)
NAMED_FRAMES = (1, 7)  # the version from which poses and axes name frames, and names are unique within a model
_COUNTS = {"euler_rpy": 6, "quat_xyzw": 7}


class SdfSource(XmlSource):
    """One file.

    Args:
        path: of the file, for messages.
        root: its root, `sdf`.
        meshes: takes the meshes that it names.
        report: receives a line for each element.
        mechanism: that is made.
        version: of the format, as (1, 6).

    Attributes:
        changes: name of a joint to its element and what was changed.
    """

    noted = NOTED_TAGS

    def __init__(
        self,
        path: Path,
        root: XmlElement,
        meshes: MeshFiles,
        report: ImportReport,
        mechanism: SourceModel,
        version: tuple[int, int],
    ):
        super().__init__(path, root, meshes, report, mechanism)
        self.version = version
        self.changes: dict[str, tuple[XmlElement, str]] = {}

    def numbers(self, element: XmlElement, count: int) -> tuple[float, ...]:
        """The numbers that stand in an element, so many finite ones."""
        return self.read_numbers(element, f"<{element.tag}>", element.text, count)

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

    def drop_unread(self, element: XmlElement, owner: str, why: str, is_note: bool) -> None:
        """An element that nothing has looked at is dropped, unless it says with 0 or false what holds without it."""
        name = element.get("name") or owner
        if element.tag in _AT_ZERO and _is_zero(element):
            element.mark_reported()
            self.report.kept(element.tag, name, element.line, file=element.file)
            return
        why = why or WHY_UNREAD.get(element.tag, "not of the format, or not read here")
        is_note = is_note or element.tag in NOTED_TAGS
        self.report.dropped(element.tag, name, element.line, why, element.file, is_note=is_note)


def _is_zero(element: XmlElement) -> bool:
    """Whether an element says 0 or false, itself or in all that stands in it."""
    words = [word for one in element.below() if not one.children for word in one.text.split()]
    try:
        return bool(words) and not any(word != "false" and plain_number(word) for word in words)
    except ValueError:
        return False


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
