"""Mesh files of a source: where they are, whether a scene can use them, and their bytes; a mesh as convex parts.

Scenes have OBJ and STL. What `coloured_meshes` reads becomes OBJ: a file for each colour, or one for all where it collides.
A file is read only below the folder of the source, below a folder of `--package-path` or of ROS, or below the package that
the source itself lies in. Convex parts are made by coacd once and beforehand, because meshes collide as their convex hulls.
"""

import os
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simcli.errors import FileError, from_extra
from simcli.exchange.source.coloured_meshes import COLOURED_SUFFIXES, ColouredMesh, read_coloured_mesh
from simcli.exchange.source.mechanism import GivenNames
from simcli.model.bodies.hull import HullError, convex_hull
from simcli.model.bodies.mesh import MeshError, mesh_properties, read_mesh
from simcli.spec.base.text import MAX_BYTES

_PACKAGE, _MODEL, _FILE = "package://", "model://", "file://"
MESH_SUFFIXES = (".obj", ".stl")


class LostMeshError(Exception):
    """A mesh that a scene cannot have, with the reason."""


class SceneMesh(NamedTuple):
    """A mesh of a scene.

    Attributes:
        file: path in the scene.
        colour: "#rrggbb" that the source's file gives it, "" for none.
        opacity: 0 to 1.
    """

    file: str
    colour: str = ""
    opacity: float = 1.0


class MeshFiles:
    """Mesh files of one source.

    Args:
        source: the file that names them.
        search: folders of packages.
        folder: that the scene has them in, relative to itself.

    Attributes:
        files: path relative to the scene to bytes, of those that were taken.
    """

    def __init__(self, source: Path, search: Sequence[Path], folder: str):
        self.home = source.resolve().parent
        self.search = [path.resolve() for path in (*search, *_ros_folders())]
        self.folder = folder
        self.files: dict[str, bytes] = {}
        self._taken: dict[Path, str] = {}
        self._coloured: dict[Path, ColouredMesh] = {}
        self._parts: dict[Path, list[SceneMesh]] = {}

    def take_all(self, name: str, is_solid: bool) -> tuple[list[SceneMesh], str]:
        """What a scene has for a mesh as the source names it, and what is changed in it: one mesh, or if seen, one a colour.

        Args:
            name: path or URI.
            is_solid: as of `take`.

        Raises:
            LostMeshError: as of `take`.
        """
        path = self.find(name)
        if path.suffix.lower() not in COLOURED_SUFFIXES:
            return [SceneMesh(self.take(name, is_solid))], ""
        parts, notes = self._coloured_mesh(path)
        if is_solid:
            return [SceneMesh(self.take(name, True))], "; ".join(notes)
        if len(parts) == 1:
            return [SceneMesh(self.take(name, False), parts[0].colour, parts[0].opacity)], "; ".join(notes)
        if path not in self._parts:
            made = [
                SceneMesh(self._put(path.with_name(f"{path.stem}_{k + 1}.obj"), part.vertices, part.faces), *part[2:])
                for k, part in enumerate(parts)
            ]
            self._parts[path] = made
        return self._parts[path], "; ".join(notes)

    def take(self, name: str, is_solid: bool) -> str:
        """The path in the scene of a mesh as the source names it.

        Args:
            name: path or URI.
            is_solid: whether it shall collide, for which it needs a convex hull.

        Raises:
            LostMeshError: it is not there, not below an allowed folder, of another format, or damaged.
        """
        path = self.find(name)
        vertices, faces = self._read(path, is_solid)
        if path not in self._taken and path.suffix.lower() in COLOURED_SUFFIXES:
            self._taken[path] = self._put(path.with_suffix(".obj"), vertices, faces)
        elif path not in self._taken:
            self._taken[path] = self._free_name(path)
            self.files[self._taken[path]] = path.read_bytes()
        return self._taken[path]

    def triangles_of(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Vertices and triangles of a file of the scene that was taken whole."""
        return self._read(next(path for path, taken in self._taken.items() if taken == name), False)

    def add(self, name: str, data: bytes) -> str:
        """The path in the scene of a file that the source has not."""
        path = self._free_name(self.home / name.replace("/", "_"))
        self.files[path] = data
        return path

    def find(self, name: str) -> Path:
        """The file that a path or URI means."""
        for prefix in (_PACKAGE, _MODEL):
            if name.startswith(prefix):
                return self._in_package(name.removeprefix(prefix))
        path = Path(name.removeprefix(_FILE))
        found = resolved_path(path if path.is_absolute() else self.home / path)
        if found is not None and not self._is_allowed(found):
            raise LostMeshError("lies outside the folder of the model: give a folder above it by --package-path")
        if found is None or not found.is_file():
            raise LostMeshError("there is no such file")
        return found

    def _in_package(self, name: str) -> Path:
        package, _, rest = name.partition("/")
        if package in ("", ".", ".."):
            raise LostMeshError(f"`{package}` is the name of no package")
        above = [one for one in self.home.parents if one.name == package or (one / package).is_dir()]
        roots = [(one if one.name == package else one / package) for one in (self.home, *above)]
        roots += [path / package for path in self.search] + [path for path in self.search if path.name == package]
        for root in roots:
            found = resolved_path(root / rest)
            if found is not None and found.is_file() and found.is_relative_to(root.resolve()):
                return found
        raise LostMeshError(
            f"the package `{package}` with this file is not found: give the folder that holds `{package}` by --package-path"
        )

    def _is_allowed(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in (self.home, *self.search))

    def _read(self, path: Path, is_solid: bool) -> tuple[np.ndarray, np.ndarray]:
        """Vertices and triangles of a file of the source."""
        is_coloured = path.suffix.lower() in COLOURED_SUFFIXES
        if path.suffix.lower() not in MESH_SUFFIXES and not is_coloured:
            readable = ", ".join((*MESH_SUFFIXES, *COLOURED_SUFFIXES))
            raise LostMeshError(f"a {path.suffix.lower() or 'nameless'} mesh; {readable} are read")
        if path.stat().st_size > MAX_BYTES:
            raise LostMeshError("has more than 64 MiB")
        try:
            vertices, faces = self._coloured_mesh(path).whole if is_coloured else read_mesh(path)
            if is_solid:
                convex_hull(vertices)
        except (MeshError, HullError) as error:
            raise LostMeshError(str(error)) from None
        return vertices, faces

    def _coloured_mesh(self, path: Path) -> ColouredMesh:
        """A file of materials and nodes, read once."""
        if path.stat().st_size > MAX_BYTES:
            raise LostMeshError("has more than 64 MiB")
        if path not in self._coloured:
            try:
                self._coloured[path] = read_coloured_mesh(path)
            except MeshError as error:
                raise LostMeshError(str(error)) from None
        return self._coloured[path]

    def _put(self, path: Path, vertices: np.ndarray, faces: np.ndarray) -> str:
        """The path in the scene of a mesh that is written as OBJ."""
        file = self._free_name(path)
        self.files[file] = obj_text(vertices, faces).encode()
        return file

    def _free_name(self, path: Path) -> str:
        """A path in the scene's folder; two files of one name are told apart by the folder that they came from."""
        names = chain((path.name, f"{path.parent.name}_{path.name}"), (f"{k}_{path.name}" for k in count(2)))
        candidates = (f"{self.folder}/{_plain(name)}" for name in names)
        return next(name for name in candidates if name not in self.files)


def resolved_path(path: Path) -> Path | None:
    """A path without links and `..`; None where no file can be: too long, links in a circle, a null byte."""
    try:
        found = path.resolve()
        found.is_file()
    except (OSError, RuntimeError, ValueError):
        return None
    return found


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)


def _ros_folders() -> list[Path]:
    """Folders of packages that the environment of ROS names."""
    plain = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    shares = [f"{one}/share" for one in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if one]
    return [Path(one) for one in (*plain, *shares) if one]


_SEED = 0  # of its search: the same mesh gives the same parts


class ConvexParts(NamedTuple):
    """What a mesh was decomposed into.

    Attributes:
        files: name to text of each part, OBJ, in the units of the mesh.
        volume: [file units^3], sum of the parts.
        of_mesh: [file units^3], of the mesh, NaN where it is not closed.
    """

    files: dict[str, str]
    volume: float
    of_mesh: float


def decompose_mesh(path: Path, concavity: float, most: int | None) -> ConvexParts:
    """Decompose a mesh into convex parts.

    Args:
        path: OBJ or STL file, or of a format with materials, whose parts count as one.
        concavity: [1], most of a part, of the size of the mesh.
        most: parts; None: as many as that takes.

    Raises:
        UsageError: coacd is not installed.
        FileError: the mesh cannot be read or decomposed.

    Source: Wei et al. (2022), collision-aware convex decomposition. No deviation.
    """
    with from_extra("decompositions need coacd", "decompose"):
        import coacd
    try:
        is_coloured = path.suffix.lower() in COLOURED_SUFFIXES
        vertices, faces = read_coloured_mesh(path).whole if is_coloured else read_mesh(path)
    except MeshError as error:
        raise FileError(f"{path}: {error}" + (f"; {error.hint}" if error.hint else "")) from None
    coacd.set_log_level("off")
    mesh = coacd.Mesh(vertices, faces.astype(np.int32))
    try:
        parts = coacd.run_coacd(mesh, threshold=concavity, max_convex_hull=most or -1, seed=_SEED)
    except RuntimeError as error:
        raise FileError(f"{path}: coacd cannot decompose it: {error}") from None
    if not parts:
        raise FileError(f"{path}: coacd finds no part of it: is it a closed mesh with a volume?")
    stem = stem_of_parts(path)
    files = {f"{stem}_{k + 1}.obj": obj_text(*part) for k, part in enumerate(parts)}
    return ConvexParts(files, sum(_volume(*part) for part in parts), _volume(vertices, faces))


def stem_of_parts(path: Path) -> str:
    """The stem of a mesh as a name of a scene."""
    return GivenNames(()).give(path.stem, "part")


def obj_text(vertices, faces) -> str:
    """A mesh as OBJ, with nine digits."""
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in np.asarray(vertices)]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in np.asarray(faces)]
    return "\n".join(lines) + "\n"


def _volume(vertices, faces) -> float:
    try:
        return float(mesh_properties(np.asarray(vertices, float), np.asarray(faces)).mass)
    except MeshError:
        return float("nan")
