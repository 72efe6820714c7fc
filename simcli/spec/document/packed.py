"""A scene with its options and all files that it was read from, as bytes: what machines get that do not see its folder.

A mark, a line of JSON with the texts, the options, and the names and sizes of the files, then the files one after the other.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.spec.document.overrides import Override
from simcli.spec.document.scene_file import HeldScene

if TYPE_CHECKING:
    from simcli.spec.document.scene_file import Document

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
