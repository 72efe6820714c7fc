"""Mesh files beside the model that is written."""

import re
from dataclasses import dataclass, field

from simcli.model.bodies.mesh import STL_HEADER, STL_TRIANGLE, read_mesh
from simcli.spec.document.scene_file import Document


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
