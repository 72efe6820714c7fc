"""An MJCF file as MuJoCo compiles it, with the element of the file that each part of the model came from.

MuJoCo reads no file: it is handed the text, with all includes in place, and the bytes of meshes and height fields. The text
has one element to a line, and MuJoCo remembers lines, so that a line leads to the element. What only viewers need is left
out of it, and what could make MuJoCo allocate without bounds is refused before.
"""

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from xml.sax.saxutils import quoteattr

import numpy as np

from simcli.errors import FileError, UsageError, install_hint
from simcli.exchange.meshes import resolved_path
from simcli.exchange.xml_reader import XmlElement, read_xml
from simcli.spec.document.loader import MAX_BYTES

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
_LISTS = {"body": "bodies", "joint": "joints", "geom": "geoms", "site": "sites", "camera": "cameras", "mesh": "meshes",
          "hfield": "hfields", "pair": "pairs", "exclude": "excludes", "equality": "equalities", "tendon": "tendons",
          "actuator": "actuators", "sensor": "sensors", "key": "keys"}  # fmt: skip


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
    model: object
    mujoco: object
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


def compile_mjcf(path: Path, root: XmlElement) -> MjcfSource:
    """Let MuJoCo compile a file.

    Args:
        path: of the file.
        root: its root, `mujoco`.

    Raises:
        UsageError: MuJoCo is not installed.
        FileError: a file is missing or outside of the folder of the model, or MuJoCo refuses the model.
    """
    try:
        import mujoco
    except ImportError as error:
        raise UsageError(install_hint("MJCF needs mujoco", "import")) from error
    _place_includes(path, root)
    _check_sizes(path, root)
    text, order, assets, files = _handed(path, root)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of MuJoCo, on what it will not read in years to come
            spec = mujoco.MjSpec.from_string(text, assets=assets)
            model = spec.compile()
    except (ValueError, RuntimeError) as error:
        raise FileError(_refusal(path, order, str(error))) from None
    source = MjcfSource(path, root, model, mujoco)
    for kind, name in _LISTS.items():
        for part in getattr(spec, name):
            line = _LINE.search(part.info or "")
            if line and part.id >= 0:
                source.elements[kind, part.id] = order[int(line[1]) - 1]
    _find_free_joints(source)
    source.files = {index: files[id(element)] for (kind, index), element in source.elements.items()
                    if kind == "mesh" and id(element) in files}  # fmt: skip
    _check_numbers(source)
    return source


def _find_free_joints(source: MjcfSource) -> None:
    """Elements `freejoint`, of which MuJoCo does not remember the line."""
    model = source.model
    for j in range(model.njnt):
        body = source.elements.get(("body", int(model.jnt_bodyid[j])))
        if body is not None and ("joint", j) not in source.elements:
            found = [one for one in body.below() if one.tag == "freejoint"]
            source.elements |= {("joint", j): found[0]} if found else {}


def _at(path: Path, element: XmlElement) -> str:
    return f"{path.parent / element.file if element.file else path}:{element.line}"


# Files.


def inside(path: Path, element: XmlElement, name: str, folder: str = "") -> Path:
    """A file that an element names, below the folder of the model.

    Raises:
        FileError: it is not there, or lies outside.
    """
    home = path.resolve().parent
    found = resolved_path(home / folder / name)
    if found is not None and not found.is_relative_to(home):
        raise FileError(f"{_at(path, element)}: `{name[:200]}` lies outside the folder of the model, where no file is read")
    if found is None or not found.is_file():
        raise FileError(f"{_at(path, element)}: there is no file `{str(PurePosixPath(folder) / name)[:200]}`")
    if found.stat().st_size > MAX_BYTES:
        raise FileError(f"{_at(path, element)}: `{name}` has more than {MAX_BYTES} bytes (64 MiB)")
    return found


def _place_includes(path: Path, root: XmlElement) -> None:
    """Put the elements of included files behind the elements that include them, in `include.children`."""
    seen, waiting = {path.resolve()}, [root]
    while waiting:
        element = waiting.pop()
        if element.tag == "include":
            found = inside(path, element, element.get("file"))
            if found in seen or len(seen) > _MOST_INCLUDES:
                raise FileError(f"{_at(path, element)}: `{element.get('file')}` is included a second time")
            seen.add(found)
            included = read_xml(found)
            for one in included.below():
                one.file = str(found.relative_to(path.resolve().parent))
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


def _handed(path: Path, root: XmlElement) -> tuple[str, list[XmlElement], dict[str, bytes], dict[int, Path]]:
    """The text with an element to a line, the elements of the lines, bytes of files, and path of a file by id(element)."""
    lines: list[str] = []
    order: list[XmlElement] = []
    assets: dict[str, bytes] = {}
    files: dict[int, Path] = {}

    def hand(element: XmlElement, owner: XmlElement | None) -> None:
        attributes = dict(element.attributes)
        if owner is not None and owner.tag == "asset":
            attributes = _asset(path, root, element, attributes, assets, files)
        if element.tag == "compiler":
            for key in ("meshdir", "texturedir", "assetdir", "strippath"):
                attributes.pop(key, None)
        words = "".join(f" {key}={quoteattr(value, _BREAKS)}" for key, value in attributes.items())
        lines.append(f"<{element.tag}{words}>")
        order.append(element)
        for one in flat_children(element):
            if one.tag not in _HIDDEN or element.tag == "default":
                hand(one, element)
        lines[-1] += f"</{element.tag}>"

    hand(root, None)
    return "\n".join(lines), order, assets, files


_BREAKS = {"\n": " ", "\r": " ", "\t": " "}


def _asset(path: Path, root: XmlElement, element: XmlElement, attributes: dict, assets: dict, files: dict) -> dict:
    """Attributes of an asset whose file, if it has one, is among the bytes; pictures are left out."""
    if element.tag == "texture":
        file = next((Path(element.get(key)).stem for key in _PICTURES if element.get(key)), "")
        name = element.get("name") or file or f"texture of line {element.line}"
        return {"name": name, "type": "2d", "builtin": "flat", "width": "1", "height": "1"}
    if "file" not in attributes:
        return attributes
    if element.tag not in FOLDERS:
        raise FileError(f"{_at(path, element)}: <{element.tag}> reads another file, which scenes do not have")
    folder = next((word for key in FOLDERS[element.tag] if (word := compiler_word(root, key))), "")
    name = element.get("file")
    if compiler_word(root, "strippath") == "true":
        name = PurePosixPath(name).name
    found = inside(path, element, name, folder)
    files[id(element)] = found
    key = f"{len(assets)}{found.suffix.lower()}"
    assets[key] = found.read_bytes()
    return {"name": Path(element.get("file")).stem} | attributes | {"file": key}


_PICTURES = ("file", "fileright", "fileup", "fileleft", "filedown", "filefront", "fileback")


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
    for name in ("body_pos", "body_quat", "body_mass", "body_inertia", "body_ipos", "jnt_pos", "jnt_axis", "geom_pos",
                 "geom_size", "dof_damping", "dof_armature", "qpos0"):  # fmt: skip
        values = np.asarray(getattr(model, name))
        wrong = np.flatnonzero(~np.isfinite(values).all(axis=tuple(range(1, values.ndim))))
        if len(wrong):
            kind = {"body": "body", "jnt": "joint", "geom": "geom"}.get(name.partition("_")[0], "")
            where = source.at(source.elements.get((kind, int(wrong[0])), source.root))
            raise FileError(f"{where}: `{name}` of the compiled model holds what is no number")
