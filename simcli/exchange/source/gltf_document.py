"""The JSON document of a glTF or GLB file, with its buffers in it."""

import base64
import json
import struct
from pathlib import Path
from urllib.parse import unquote

from simcli.model.bodies.mesh import MeshError
from simcli.spec.base.text import MAX_BYTES

_GLB_MAGIC, _JSON_CHUNK, _BIN_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942


def self_contained_document(path: Path) -> dict:
    """The JSON document of a file, with its buffers in it."""
    data, binary = path.read_bytes(), None
    if path.suffix.lower() == ".glb":
        data, binary = _glb_chunks(data)
    header = json.loads(data)
    if not isinstance(header, dict) or str(header.get("asset", {}).get("version", "")).partition(".")[0] != "2":
        raise MeshError("the mesh is no glTF of version 2")
    total = 0
    for k, buffer in enumerate(header.get("buffers", [])):
        uri = buffer.get("uri")
        if uri is None and k == 0 and binary is not None:
            held = binary
        elif isinstance(uri, str) and not uri.startswith("data:"):
            held = _beside(path, unquote(uri))
        else:
            continue
        total += len(held)
        if total > MAX_BYTES:
            raise MeshError("the mesh has buffers of more than 64 MiB")
        buffer["uri"] = "data:application/octet-stream;base64," + base64.b64encode(held).decode()
    return header


def _glb_chunks(data: bytes) -> tuple[bytes, bytes | None]:
    """The JSON document of a GLB file, and its buffer."""
    magic, version, length = struct.unpack_from("<III", data)
    if magic != _GLB_MAGIC or version != 2 or length > len(data):
        raise MeshError("the mesh is damaged: no whole GLB file of version 2")
    found: dict[int, bytes] = {}
    at = 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<II", data, at)
        found.setdefault(kind, data[at + 8 : at + 8 + size])
        at += 8 + size
    return found[_JSON_CHUNK], found.get(_BIN_CHUNK)


def _beside(path: Path, name: str) -> bytes:
    """A buffer of its own file, which lies in the folder of the mesh or below it."""
    place = (path.parent / name).resolve()
    if not place.is_relative_to(path.parent.resolve()) or not place.is_file():
        raise MeshError(f"its buffer `{name[:60]}` does not lie beside the mesh")
    if place.stat().st_size > MAX_BYTES:
        raise MeshError(f"its buffer `{name[:60]}` has more than 64 MiB")
    return place.read_bytes()
