"""XML without entities: elements with their lines. What could read other files, or grow, is refused.

Comments that hold `--`, and blanks or comments before the XML declaration, are against the standard (XML 1.0, productions
15 and 22); the programs that these models are written for read them (TinyXML), and so does this reader.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from xml.parsers import expat

from simcli.errors import FileError
from simcli.spec.base.text import MAX_BYTES

DEEPEST = 200  # elements within each other
_CHUNK = 2**16
_COMMENT = re.compile(rb"<!\[CDATA\[.*?\]\]>|<!--.*?-->", re.DOTALL)
_LATE_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf)?\s+(<\?xml\s[^>]*\?>)")
_ENCODING = re.compile(rb"encoding\s*=\s*[\"']([\w.-]+)")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CALL = re.compile(r"\$\((find|arg|env|optenv|eval|dirname|anon)\b")  # of xacro in an attribute


@dataclass
class XmlElement:
    """An element of a file.

    Attributes:
        tag: its name, with a prefix as written.
        line: where it begins, from 1.
        attributes: name to text.
        children: elements, in order.
        text: what stands in it, stripped.
        file: that holds it, as `ImportEntry` has it.
        asked: names of the attributes that somebody has read.
    """

    tag: str
    line: int
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["XmlElement"] = field(default_factory=list)
    text: str = ""
    file: str = ""
    asked: set[str] = field(default_factory=set)

    def get(self, name: str, default: str = "") -> str:
        """Text of an attribute, which counts as read."""
        self.asked.add(name)
        return self.attributes.get(name, default)

    def child(self, tag: str) -> "XmlElement | None":
        """The first child of a name."""
        return next(self.all(tag), None)

    def all(self, *tags: str) -> Iterator["XmlElement"]:
        """Children of some names."""
        return (one for one in self.children if one.tag in tags)

    def unread(self) -> list[str]:
        """Names of the attributes that nobody has read, less declarations of XML."""
        names = (key for key in self.attributes if key not in self.asked)
        return [key for key in names if key.partition(":")[0] not in ("xmlns", "xml", "xsi")]

    def mark_reported(self) -> None:
        """Count all attributes of this element and of those below it as read."""
        for one in self.below():
            one.asked.update(one.attributes)

    def below(self) -> Iterator["XmlElement"]:
        """This element and all below it."""
        yield self
        for one in self.children:
            yield from one.below()


def plain_number(word: str) -> float:
    """A number as other programs read it: without Python's underscores and the digits of other scripts.

    Raises:
        ValueError: it is none.
    """
    if not word.isascii() or "_" in word:
        raise ValueError(word)
    return float(word) + 0.0


def finite_numbers(text: str, count: int) -> tuple[float, ...] | None:
    """So many finite numbers of a text; None if it has not just these."""
    try:
        found = tuple(map(plain_number, text.split()))
    except ValueError:
        return None
    return found if len(found) == count and all(map(isfinite, found)) else None


def refuse_macros(path: Path, root: XmlElement) -> None:
    """Refuse a file that xacro has to expand first, with the command that writes another file.

    Raises:
        FileError: it holds elements of xacro, or attributes with its expressions; with the line.
    """
    spaces = {key.removeprefix("xmlns:"): value for key, value in root.attributes.items() if key.startswith("xmlns:")}
    prefixes = {"xacro", *(prefix for prefix, value in spaces.items() if "xacro" in value)}
    for one in root.below():
        known = [words for words in one.attributes.values() if "${" in words or _CALL.search(words)]
        if one.tag.partition(":")[0] in prefixes and ":" in one.tag:
            what = f"<{one.tag}>"
        elif known:
            what = f"`{known[0][:60]}`"
        else:
            continue
        stem = path.name.removesuffix(".xacro").removesuffix(path.suffix if path.suffix != ".xacro" else ".urdf")
        suffix = path.suffix if path.suffix != ".xacro" else ".urdf"
        target = path.with_name(f"{stem}{suffix}")
        while target.exists() or target == path:
            target = target.with_name(f"{target.stem}_expanded{suffix}")
        command = f"xacro {shlex.quote(str(path))} > {shlex.quote(str(target))}"
        raise FileError(f"{path}:{one.line}: holds {what} of xacro: expand it by `{command}`, and import that file")


class _Builder:
    """Elements as the parser meets them."""

    def __init__(self, path: Path, parser):
        self.path, self.parser = path, parser
        self.open: list[XmlElement] = []
        self.root: XmlElement | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = XmlElement(tag, self.parser.CurrentLineNumber, attributes)
        if len(self.open) >= DEEPEST:
            raise FileError(f"{self.path}:{element.line}: elements within each other to a depth of {DEEPEST}")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, _tag: str) -> None:
        element = self.open.pop()
        element.text = element.text.strip()

    def data(self, text: str) -> None:
        if self.open:
            self.open[-1].text += text

    def refuse(self, *_words) -> None:
        """A document type is what entities are declared in."""
        line = self.parser.CurrentLineNumber
        raise FileError(f"{self.path}:{line}: has a document type, in which entities are declared: remove <!DOCTYPE ...>")


def _blank(match: re.Match) -> bytes:
    """A comment as blanks, so that lines and columns stay; CDATA as it is."""
    text = match[0]
    return text if text.startswith(b"<![") else re.sub(rb"[^\r\n]", b" ", text)


def _as_standard_xml(data: bytes) -> tuple[bytes, str | None]:
    """The bytes without comments, and without a declaration that does not come first; the encoding that it names, if any."""
    if data.startswith(_UTF16):
        return data, None
    data = _COMMENT.sub(_blank, data)
    if (late := _LATE_DECLARATION.match(data)) is None:
        return data, None
    encoding = _ENCODING.search(late[1])
    blanks = re.sub(rb"[^\r\n]", b" ", late[1])
    return data[: late.start(1)] + blanks + data[late.end(1) :], encoding[1].decode() if encoding else None


def read_xml(path: Path) -> XmlElement:
    """The root of an XML file.

    Raises:
        FileError: it cannot be read, is too large or too deep, is no XML, or declares entities.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FileError(f"{path}: has more than {MAX_BYTES} bytes (64 MiB)")
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None
    data, encoding = _as_standard_xml(data)
    parser = expat.ParserCreate(encoding)
    builder = _Builder(path, parser)
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, builder.refuse
    parser.buffer_text = True
    try:
        for begin in range(0, len(data), _CHUNK):
            parser.Parse(data[begin : begin + _CHUNK], False)
        parser.Parse(b"", True)
    except (LookupError, ValueError) as error:  # of encodings that are none, or that expat has not
        raise FileError(f"{path}:1: is no XML: {error}") from None
    except expat.ExpatError as error:
        words = expat.ErrorString(error.code)
        raise FileError(f"{path}:{error.lineno}:{error.offset + 1}: is no XML: {words}") from None
    return builder.root
