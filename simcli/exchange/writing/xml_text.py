"""Elements as text: attributes in the order in which they are given, numbers in their shortest exact spelling."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

import numpy as np

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
