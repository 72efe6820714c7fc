"""An MJCF file as MuJoCo compiles it, with the element of the file that each part of the model came from.

MuJoCo reads no file: it is handed the text, with all includes in place, and the bytes of meshes and height fields. The text
has one element to a line, and MuJoCo remembers lines, so that a line leads to the element. What only viewers need is left
out of it, and what could make MuJoCo allocate without bounds is refused before.
"""

import math
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from simcli.errors import FileError, from_extra
from simcli.exchange.source.meshes import resolved_path
from simcli.exchange.source.xml_reader import XmlElement, read_xml
from simcli.spec.base.text import MAX_BYTES

FOLDERS = {"mesh": ("meshdir", "assetdir"), "hfield": ("assetdir",)}  # attributes of `compiler` that say where files are
_MOST_INCLUDES = 200
_MOST_COPIES = 100_000  # that `replicate` and `composite` may make
_MOST_HEIGHTS = 2**24  # of a height field
# What MuJoCo is not handed: it says how viewers draw, how much memory to take, or what no scene has.
_HIDDEN = ("skin", "size", "visual", "statistic", "custom")
_REFUSED = {
    "flexcomp": "holds bodies that bend (`flexcomp`); those of scenes are rigid",
    "flex": "holds bodies that bend (`flex`); those of scenes are rigid",
    "attach": "holds a model of another file (`attach`): let MuJoCo write it as one file, by `MjSpec.to_xml`",
    "plugin": "needs a plugin of MuJoCo, which is a program",
}
_NAN = re.compile(r"(?i)(?:^|\s)[+-]?nan(?:\(\w*\))?(?:\s|$)")
_LINE = re.compile(r"line (?:= )?(\d+)")
# Parts of a compiled model, and what `MjSpec` calls lists of them.
_LISTS = {
    "body": "bodies",
    "joint": "joints",
    "geom": "geoms",
    "site": "sites",
    "camera": "cameras",
    "mesh": "meshes",
    "hfield": "hfields",
    "pair": "pairs",
    "exclude": "excludes",
    "equality": "equalities",
    "tendon": "tendons",
    "actuator": "actuators",
    "sensor": "sensors",
    "key": "keys",
}


@dataclass
class MjcfSource:
    """A compiled model and its file.

    Attributes:
        path: of the file.
        root: its elements, those of included files among them.
        model: `mujoco.MjModel`.
        mujoco: the library.
        elements: kind of part and index in the compiled model to its element; a part that MuJoCo made has none.
        files: index of a mesh or height field to the path of its file, for those that have one.
    """

    path: Path
    root: XmlElement
    model: Any
    mujoco: Any
    elements: dict[tuple[str, int], XmlElement] = field(default_factory=dict)
    files: dict[int, Path] = field(default_factory=dict)

    def element(self, kind: str, index: int) -> XmlElement:
        """The element of a part; one at line 0 if it has none."""
        return self.elements.get((kind, index)) or XmlElement(kind, 0)

    def name(self, kind: str, index: int) -> str:
        """The name of a part; "" if it has none."""
        kinds = self.mujoco.mjtObj
        return self.mujoco.mj_id2name(self.model, getattr(kinds, f"mjOBJ_{kind.upper()}"), index) or ""

    def at(self, element: XmlElement) -> str:
        """Where an element stands, for messages."""
        return _at(self.path, element)


def compile_mjcf(path: Path, root: XmlElement, search: Sequence[Path] = ()) -> MjcfSource:
    """Let MuJoCo compile a file.

    Args:
        path: of the file.
        root: its root, `mujoco`.
        search: folders beside that of the model in which files may lie.

    Raises:
        UsageError: MuJoCo is not installed.
        FileError: a file is missing or outside of the folder of the model, or MuJoCo refuses the model.
    """
    with from_extra("MJCF needs mujoco", "import"):
        import mujoco
    allowed = [one.resolve() for one in (path.resolve().parent, *search)]
    _place_includes(path, root, allowed)
    _check_sizes(path, root)
    handed = _Handed(path, root, allowed)
    order, files = handed.order, handed.files
    try:
        with _silence(mujoco):
            spec = mujoco.MjSpec.from_string("\n".join(handed.lines), assets=handed.assets)
            model = spec.compile()
    except (ValueError, RuntimeError) as error:
        raise FileError(_refusal(path, order, str(error))) from None
    source = MjcfSource(path, root, model, mujoco)
    for kind, name in _LISTS.items():
        for part in getattr(spec, name):
            line = _LINE.search(part.info or "")
            if line and part.id >= 0:
                source.elements[kind, part.id] = order[int(line[1]) - 1]
    _find_others(source)
    source.files = {
        index: files[id(element)]
        for (kind, index), element in source.elements.items()
        if kind == "mesh" and id(element) in files
    }
    _check_numbers(source)
    return source


@contextmanager
def _silence(mujoco) -> Iterator[None]:
    """Take what MuJoCo warns of: nobody reads it, and MuJoCo would write MUJOCO_LOG.TXT into the working folder."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _: None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mujoco.set_mju_user_warning(before)


def _find_others(source: MjcfSource) -> None:
    """Elements `freejoint` and `key`, of which MuJoCo does not remember the line."""
    model = source.model
    keys = [one for section in flat_children(source.root) if section.tag == "keyframe" for one in flat_children(section)]
    source.elements |= {("key", k): element for k, element in enumerate(keys) if len(keys) == model.nkey}
    for j in range(model.njnt):
        body = source.elements.get(("body", int(model.jnt_bodyid[j])))
        if body is not None and ("joint", j) not in source.elements:
            found = [one for one in body.below() if one.tag == "freejoint"]
            source.elements |= {("joint", j): found[0]} if found else {}


def _at(path: Path, element: XmlElement) -> str:
    return f"{path.parent / element.file if element.file else path}:{element.line}"


# Files.


def _inside(path: Path, element: XmlElement, allowed: list[Path], name: str, folder: str = "") -> Path:
    """A file that an element names, below one of the folders in which files may lie.

    Raises:
        FileError: it is not there, or lies outside.
    """
    home = path.resolve().parent
    found = resolved_path(home / folder / name)
    if found is not None and not any(found.is_relative_to(one) for one in allowed):
        words = "lies outside the folder of the model: --package-path names others"
        raise FileError(f"{_at(path, element)}: `{name[:200]}` {words}")
    if found is None or not found.is_file():
        raise FileError(f"{_at(path, element)}: there is no file `{str(PurePosixPath(folder) / name)[:200]}`")
    if found.stat().st_size > MAX_BYTES:
        raise FileError(f"{_at(path, element)}: `{name}` has more than {MAX_BYTES} bytes (64 MiB)")
    return found


def _place_includes(path: Path, root: XmlElement, allowed: list[Path]) -> None:
    """Put the elements of included files behind the elements that include them, in `include.children`."""
    seen, waiting = {path.resolve()}, [root]
    while waiting:
        element = waiting.pop()
        if element.tag == "include":
            found = _inside(path, element, allowed, element.get("file"))
            if found in seen or len(seen) > _MOST_INCLUDES:
                raise FileError(f"{_at(path, element)}: `{element.get('file')}` is included a second time")
            seen.add(found)
            included = read_xml(found)
            for one in included.below():
                one.file = os.path.relpath(found, path.resolve().parent)
            element.children = included.children
        waiting += element.children


def flat_children(element: XmlElement) -> Iterator[XmlElement]:
    """Children of an element, those of included files among them, and not `include` itself."""
    for one in element.children:
        if one.tag == "include":
            yield from flat_children(one)
        else:
            yield one


def compiler_word(root: XmlElement, key: str, default: str = "") -> str:
    """What the elements `compiler` say of an attribute; the last one counts."""
    found = [one.get(key) for one in flat_children(root) if one.tag == "compiler" and key in one.attributes]
    return found[-1] if found else default


# What MuJoCo is handed.

_BREAKS = {"\n": " ", "\r": " ", "\t": " "}
_PICTURES = ("file", "fileright", "fileup", "fileleft", "filedown", "filefront", "fileback")
_OF_FILES = ("meshdir", "texturedir", "assetdir", "strippath")


class _Handed:
    """What MuJoCo is handed of a file.

    Args:
        path: of the file.
        root: its root.
        allowed: folders in which files may lie.

    Attributes:
        lines: of the text, an element to each.
        order: the elements of the lines.
        assets: bytes of files by the name that the text has for them.
        files: path of the file of an element, by id(element).
    """

    def __init__(self, path: Path, root: XmlElement, allowed: list[Path]):
        self.path, self.root, self.allowed = path, root, allowed
        self.lines: list[str] = []
        self.order: list[XmlElement] = []
        self.assets: dict[str, bytes] = {}
        self.files: dict[int, Path] = {}
        self._hand(root, "")

    def _hand(self, element: XmlElement, owner: str) -> None:
        attributes = dict(element.attributes)
        if element.tag == "texture" and owner == "asset":
            attributes = self._texture(element)
        elif "file" in attributes:
            attributes = self._asset(element, owner)
        if element.tag == "compiler":
            attributes = {key: value for key, value in attributes.items() if key not in _OF_FILES}
        words = "".join(f" {key}={quoteattr(value, _BREAKS)}" for key, value in attributes.items())
        self.lines.append(f"<{element.tag}{words}>")
        self.order.append(element)
        for one in flat_children(element):
            if one.tag not in _HIDDEN or element.tag == "default":
                self._hand(one, element.tag)
        self.lines[-1] += f"</{element.tag}>"

    def _texture(self, element: XmlElement) -> dict[str, str]:
        """A picture of one point in place of a texture."""
        file = next((Path(element.get(key)).stem for key in _PICTURES if element.get(key)), "")
        name = element.get("name") or file or f"texture of line {element.line}"
        return {"name": name, "type": "2d", "builtin": "flat", "width": "1", "height": "1"}

    def _asset(self, element: XmlElement, owner: str) -> dict[str, str]:
        """Attributes of an element whose file is among the bytes."""
        if element.tag not in FOLDERS or owner != "asset":
            raise FileError(f"{_at(self.path, element)}: <{element.tag}> reads another file, which scenes do not have")
        folder = next((word for key in FOLDERS[element.tag] if (word := compiler_word(self.root, key))), "")
        name = element.get("file")
        if compiler_word(self.root, "strippath") == "true":
            name = PurePosixPath(name).name
        found = _inside(self.path, element, self.allowed, name, folder)
        self.files[id(element)] = found
        key = f"{len(self.assets)}{found.suffix.lower()}"
        self.assets[key] = found.read_bytes()
        return {"name": Path(element.get("file")).stem} | element.attributes | {"file": key}


# What is refused.


def _check_sizes(path: Path, root: XmlElement) -> None:
    """Refuse what no scene has, and what would take memory without bounds."""

    def look(element: XmlElement, copies: int) -> None:
        if element.tag in _REFUSED:
            raise FileError(f"{_at(path, element)}: {_REFUSED[element.tag]}")
        if element.tag in ("replicate", "composite"):
            copies *= math.prod(max(1, count) for count in _counts(element))
            if copies > _MOST_COPIES:
                raise FileError(f"{_at(path, element)}: <{element.tag}> makes more than {_MOST_COPIES} copies")
        if element.tag == "hfield" and math.prod(_counts(element, ("nrow", "ncol"))) > _MOST_HEIGHTS:
            raise FileError(f"{_at(path, element)}: the height field has more than {_MOST_HEIGHTS} heights")
        for key, text in element.attributes.items():  # of which MuJoCo would write a file beside the process
            if key not in ("name", "class", "file") and _NAN.search(text):
                raise FileError(f"{_at(path, element)}: `{key}` of <{element.tag}> is `{text[:60]}`, not a number")
        for one in element.children:
            look(one, copies)

    look(root, 1)


def _counts(element: XmlElement, keys: tuple[str, ...] = ("count",)) -> list[int]:
    words = " ".join(element.get(key) for key in keys).split()
    return [min(int(float(word)), 10**9) for word in words if re.fullmatch(r"[0-9.eE+]+", word) and _is_number(word)]


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _refusal(path: Path, order: list[XmlElement], message: str) -> str:
    """What MuJoCo says, with the line of the file in place of that of the text that it was handed."""
    line = _LINE.search(message)
    element = order[int(line[1]) - 1] if line and 0 < int(line[1]) <= len(order) else order[0]
    words = ", ".join(part.strip() for part in _LINE.sub("", message).splitlines() if part.strip())
    return f"{_at(path, element)}: MuJoCo refuses the file: {words.rstrip(', ')}"


def _check_numbers(source: MjcfSource) -> None:
    model = source.model
    for name in (
        "body_pos",
        "body_quat",
        "body_mass",
        "body_inertia",
        "body_ipos",
        "jnt_pos",
        "jnt_axis",
        "geom_pos",
        "geom_size",
        "dof_damping",
        "dof_armature",
        "qpos0",
        "actuator_damping",
        "actuator_armature",
    ):
        values = np.asarray(getattr(model, name))
        wrong = np.flatnonzero(~np.isfinite(values).all(axis=tuple(range(1, values.ndim))))
        if len(wrong):
            kind = {"body": "body", "jnt": "joint", "geom": "geom", "actuator": "actuator"}.get(name.partition("_")[0], "")
            where = source.at(source.elements.get((kind, int(wrong[0])), source.root))
            raise FileError(f"{where}: `{name}` of the compiled model holds what is no number")
