"""The files that are written: elements as text, and the mesh files beside the model.

Attributes stand in the order in which they are given, numbers in their shortest exact spelling.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

import numpy as np

from simcli.model.bodies.mesh import STL_HEADER, STL_TRIANGLE, read_mesh
from simcli.spec.document.scene_file import Document

_LARGEST_WHOLE = 1e15  # of the numbers that are written without a point


@dataclass
class Tag:
    """An element to be written.

    Attributes:
        name: of the element.
        attributes: name to text.
        children: in order.
    """

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Tag"] = field(default_factory=list)

    def add(self, name: str, /, **attributes: object) -> "Tag":
        """A new child; attributes that are None are left out."""
        child = tag(name, **attributes)
        self.children.append(child)
        return child


def tag(name: str, /, **attributes: object) -> Tag:
    """An element; attributes that are None are left out."""
    return Tag(name, {key: spelled(value) for key, value in attributes.items() if value is not None})


def spelled(value: object) -> str:
    """A value of an attribute: text, a number, or numbers with spaces between them."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Iterable):
        return " ".join(_number(float(one)) for one in np.asarray(value, float).ravel().tolist())
    return _number(float(value))


def _number(value: float) -> str:
    value += 0.0  # no negative zero
    return str(int(value)) if value.is_integer() and abs(value) < _LARGEST_WHOLE else repr(value)


def document_text(root: Tag, head: Iterable[str]) -> str:
    """The text of a file.

    Args:
        root: its element.
        head: lines of the comment above it.
    """
    comment = "\n".join(line.replace("--", "- -") for line in head)
    printable = "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in comment)
    return f'<?xml version="1.0"?>\n<!--\n{printable}\n-->\n{_text(root, 0)}'


def _text(element: Tag, depth: int) -> str:
    space = "  " * depth
    words = "".join(f" {key}={quoteattr(value)}" for key, value in element.attributes.items())
    if not element.children:
        return f"{space}<{element.name}{words}/>\n"
    inner = "".join(_text(child, depth + 1) for child in element.children)
    return f"{space}<{element.name}{words}>\n{inner}{space}</{element.name}>\n"


@dataclass
class MeshCopies:
    """Meshes that a model names.

    Attributes:
        document: whose folder has them.
        folder: relative to the model, that gets them.
        files: path relative to the model to bytes.
    """

    document: Document
    folder: str
    files: dict[str, bytes] = field(default_factory=dict)
    _taken: dict[str, str] = field(default_factory=dict)

    def take(self, name: str) -> str:
        """The path in the model of a mesh as the scene names it; text STL becomes OBJ, which every program reads."""
        if name in self._taken:
            return self._taken[name]
        path = self.document.folder / name
        data, plain = path.read_bytes(), re.sub(r"[^A-Za-z0-9._-]", "_", path.name)
        if path.suffix.lower() == ".stl" and not _is_binary_stl(data):
            data, plain = _as_obj(path), f"{plain[:-4]}.obj"
        candidates = (f"{self.folder}/{plain}", *(f"{self.folder}/{k}_{plain}" for k in range(2, 10_000)))
        found = next(one for one in candidates if one not in self.files)
        self.files[found] = data
        self._taken[name] = found
        return found


def _is_binary_stl(data: bytes) -> bool:
    count = int.from_bytes(data[STL_HEADER : STL_HEADER + 4], "little")
    return len(data) == STL_HEADER + 4 + count * STL_TRIANGLE.itemsize


def _as_obj(path) -> bytes:
    vertices, faces = read_mesh(path)
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces.tolist()]
    return ("\n".join(lines) + "\n").encode()
