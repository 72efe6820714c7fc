"""A SceneSpec as YAML that reads back to an equal one, and a scene with all its files as bytes.

A mark, a line of JSON with the texts, the options, and the names and sizes of the files, then the files one after the other.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from simcli.spec.document.loader import ScalarError, plain_scalar
from simcli.spec.document.overrides import Override
from simcli.spec.document.scene_file import HeldScene
from simcli.spec.schema.scene import SceneSpec

if TYPE_CHECKING:
    from simcli.spec.document.scene_file import Document

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/.$+* ")
_OUTER = (
    "bodies",
    "joints",
    "forces",
    "signals",
    "sensors",
    "materials",
    "articulations",
    "measure",
    "expect",
    "events",
    "keyframes",
)


def to_yaml(spec: SceneSpec) -> str:
    """The text of a resolved scene."""
    data = {"simcli": 1, "resolved": True, **plain_data(spec)}
    lines: list[str] = []
    for key, value in data.items():
        if key in _OUTER and value:
            lines.append(f"{_word(key)}:")
            if isinstance(value, Mapping):
                lines.extend(f"  {_word(name)}: {flow_text(entry)}" for name, entry in value.items())
            else:
                lines.extend(f"  - {flow_text(entry)}" for entry in value)
        else:
            lines.append(f"{_word(key)}: {flow_text(value)}")
    return "\n".join(lines) + "\n"


def plain_data(spec: BaseModel) -> dict:
    """A schema object as dicts and lists, without what equals its default."""
    found = {}
    for name, field in type(spec).model_fields.items():
        value = getattr(spec, name)
        default = field.get_default(call_default_factory=True) if not field.is_required() else None
        depends = name == "gravity" and getattr(spec, "plane", None)  # a default of its own, which the file then says
        if value is None or (not field.is_required() and _same(value, default) and not depends):
            continue
        found[field.alias or name] = _plain(value)
    return found


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and value == default


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return plain_data(value)
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


def flow_text(value: object) -> str:
    """Plain data as YAML on one line, which reads back to the same data."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_word(key)}: {flow_text(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow_text(entry) for entry in value) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return _word(str(value))


def _word(text: str) -> str:
    """A text as a plain scalar where that is safe, else in double quotes."""
    try:
        is_text = isinstance(plain_scalar(text), str)
    except ScalarError:
        is_text = False
    begins = text[:1] not in "-.*$ " or (text[:1] == "-" and text[1:2].isdigit())  # as in -40 deg
    safe = set(text) <= _PLAIN and begins and text[-1:] != " " and text != "<<"
    if is_text and safe and text:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else _escape(c) for c in escaped) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_MARK = b"simcli packed scene 1\n"


def packed(document: "Document", files: Mapping[str, bytes]) -> bytes:
    """A scene as bytes.

    Args:
        document: the scene as written.
        files: of `sample_files.file_contents`.
    """
    facts = {
        "sources": document.sources,
        "overrides": document.overrides,
        "worlds": document.worlds,
        "files": [(name, len(content)) for name, content in files.items()],
    }
    return b"".join([_MARK, json.dumps(facts).encode(), b"\n", *files.values()])


def is_packed(path: Path) -> bool:
    """True for a file of `packed`."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(_MARK)) == _MARK
    except (OSError, ValueError):
        return False


def unpacked(data: bytes) -> HeldScene:
    """The scene of `packed`.

    Raises:
        ValueError: the bytes are not whole.
    """
    line, at = data.index(b"\n", len(_MARK)), len(_MARK)
    facts, at = json.loads(data[at:line]), line + 1
    files = {}
    for name, size in facts["files"]:
        files[name] = data[at : at + size]
        at += size
    if at != len(data):
        raise ValueError("a packed scene is not as long as it says")
    worlds = None if facts["worlds"] is None else tuple(facts["worlds"])
    return HeldScene(tuple(map(tuple, facts["sources"])), files, tuple(Override(*one) for one in facts["overrides"]), worlds)
