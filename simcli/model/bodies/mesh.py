"""Closed triangle meshes: reading OBJ and STL, checking, mass properties by the divergence theorem; heights of terrain.

Rays meet the triangles of its grid in the cells over which they pass.

Heights are the numbers of a CSV file, or the greys of a PNG picture, for which Pillow is asked.
"""

import io
import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from simcli.errors import install_hint
from simcli.model.bodies.inertia import MassProperties
from simcli.model.signals.csv_table import CsvError, read_grid
from simcli.model.tables.model import Array
from simcli.spec.values.csv_tables import read_bytes

STL_HEADER = 80  # bytes before the triangle count of a binary STL
STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("vertices", "<f4", (3, 3)), ("attribute", "<u2")])
_LARGEST = 1e15  # [file units] of a coordinate: inertias go with its fifth power, and their products must stay finite
_FLAT = 1e-12  # [1] volume below this part of the bounding box is rounding


class MeshError(ValueError):
    """A mesh cannot be read or encloses no volume. Carries what the user can do."""

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.hint = hint


def read_mesh(path: Path) -> tuple[Array, Array]:
    """Read a triangle mesh.

    Args:
        path: file that ends in .obj or .stl (text or binary).

    Returns:
        Vertices [file units], (n, 3), and triangles, (m, 3) int.

    Raises:
        MeshError: the file is missing, damaged or of another format.
    """
    readers = {".obj": _read_obj, ".stl": _read_stl}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise MeshError(f"mesh format `{path.suffix}` is not known", "convert the mesh to .obj or .stl")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MeshError(f"cannot read the mesh: {error.strerror}", "paths are relative to the scene file") from None
    try:
        vertices, faces = reader(data)
    except (ValueError, IndexError, OverflowError) as error:
        if isinstance(error, MeshError):
            raise
        raise MeshError(f"the mesh is damaged: {error}", "open it in a mesh editor and export it again") from None
    check_numbers(vertices, faces)
    return vertices, faces


def check_numbers(vertices: Array, faces: Array) -> None:
    """Refuse a mesh without triangles, and one with numbers that are no places or no vertices.

    Raises:
        MeshError: it is one.
    """
    if not len(faces):
        raise MeshError("the mesh has no triangles", "export it with its faces")
    if not np.isfinite(vertices).all():
        raise MeshError("the mesh has coordinates that are not finite")
    if len(vertices) and np.abs(vertices).max() > _LARGEST:
        raise MeshError(f"the mesh has coordinates beyond {_LARGEST:g}", "check its units, and `scale`")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise MeshError("a face of the mesh names a vertex that does not exist")


def _read_obj(data: bytes) -> tuple[Array, Array]:
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for line in data.decode("utf-8", errors="replace").replace("\\\n", " ").splitlines():
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append([float(word) for word in words[1:4]])
        elif words[0] == "f":
            corners = [int(word.split("/", 1)[0]) for word in words[1:]]
            corners = [c - 1 if c > 0 else len(vertices) + c for c in corners]
            faces.extend((corners[0], b, c) for b, c in pairwise(corners[1:]))
    return np.array(vertices, float).reshape(-1, 3), np.array(faces, np.int64).reshape(-1, 3)


def _read_stl(data: bytes) -> tuple[Array, Array]:
    count = int(np.frombuffer(data, "<u4", 1, STL_HEADER)[0]) if len(data) >= STL_HEADER + 4 else -1
    if len(data) == STL_HEADER + 4 + count * STL_TRIANGLE.itemsize:  # text may begin a binary file, so its size decides
        corners = np.frombuffer(data, STL_TRIANGLE, count, STL_HEADER + 4)["vertices"].astype(float)
    else:
        text = data.decode("utf-8", errors="replace")
        if not text.lstrip().startswith("solid"):
            raise MeshError("the mesh is damaged: neither text nor binary STL", "export it again")
        number = r"([-+0-9.eEnaifNAIF]+)"
        found = re.findall(rf"\bvertex\s+{number}\s+{number}\s+{number}", text)
        corners = np.array(found, float).reshape(-1, 3, 3)
    return weld(corners)


def weld(corners: Array) -> tuple[Array, Array]:
    """Join corners with equal coordinates.

    Args:
        corners: (m, 3, 3), triangles by the coordinates of their corners.

    Returns:
        Vertices (n, 3) and triangles (m, 3).
    """
    flat = corners.reshape(-1, 3) + 0.0  # -0 to 0
    vertices, index = np.unique(flat, axis=0, return_inverse=True)
    return vertices, index.reshape(-1, 3)


def check_closed(faces: Array) -> None:
    """Refuse a surface with holes or with triangles that disagree about inside and outside.

    Args:
        faces: (m, 3) vertex indices.

    Raises:
        MeshError: an edge is not shared by exactly two triangles that run through it in opposite directions.
    """
    edges = np.concatenate((faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]))
    if (edges[:, 0] == edges[:, 1]).any():
        raise MeshError("the mesh has triangles without area", "remove degenerate triangles")
    size = int(faces.max()) + 1
    there, times = np.unique(edges[:, 0] * size + edges[:, 1], return_counts=True)
    back = np.unique(edges[:, 1] * size + edges[:, 0])
    either = np.unique(edges.min(axis=1) * size + edges.max(axis=1), return_counts=True)[1]
    if (either != 2).any():
        count = int((either != 2).sum())
        raise MeshError(
            f"the mesh is not closed: {count} edges do not have exactly two triangles",
            "close its holes, or give the body mass and inertia and the shape no density",
        )
    if (times != 1).any() or not np.array_equal(there, back):
        raise MeshError("neighbouring triangles of the mesh disagree about the outside", "make its normals consistent")


def mesh_properties(vertices: Array, faces: Array) -> MassProperties:
    """Volume, centroid and inertia of the solid inside a closed mesh, for density one.

        int x x^T dV = sum over triangles (a, b, c) of det(a, b, c) / 120 (a a^T + b b^T + c c^T + s s^T), s = a + b + c

    Args:
        vertices: [m], (n, 3).
        faces: (m, 3), counter-clockwise seen from outside.

    Returns:
        For density 1 kg/m^3, without world axis.

    Raises:
        MeshError: the mesh is open, inverted or flat.

    Source: sums of signed tetrahedra from the mean vertex, which stands in for the origin against cancellation.
    """
    check_closed(faces)
    middle = vertices.mean(axis=0)
    corner = (vertices - middle)[faces]
    det = np.linalg.det(corner)
    volume = det.sum() / 6.0
    box = float(np.prod(np.ptp(vertices, axis=0)))
    if abs(volume) <= _FLAT * box or box == 0.0:
        raise MeshError("the mesh encloses no volume", "give the body mass and inertia instead")
    if volume < 0.0:
        raise MeshError("the mesh is inside out: its volume is negative", "flip its normals (or use a positive scale)")
    total = corner.sum(axis=1)
    com = (det @ total) / 24.0 / volume
    second = np.einsum("m,mki,mkj->ij", det, corner, corner) + np.einsum("m,mi,mj->ij", det, total, total)
    second = second / 120.0 - volume * np.outer(com, com)
    return MassProperties(np.array(volume), com + middle, np.trace(second) * np.eye(3) - second)


_SUFFIX = ".png"
_WHITE = {"L": 255.0, "I;16": 65535.0, "I;16B": 65535.0, "I": 65535.0}  # by Pillow's mode, of 8 and of 16 bits
_MOST_POINTS = 2**24  # of a picture: what a scene of 64 MiB may hold as numbers


def read_heights(path: Path) -> Array:
    """Heights in rows along y, as of `size: [.., .., 1]`.

    Args:
        path: the file; its name ends in .png if it is a picture.

    Returns:
        (rows along y, columns along x). Of a picture from 0, black, to 1, white; its upper edge is that of the largest y.

    Raises:
        CsvError: it cannot be read, is no grid of at least two by two, or Pillow is missing.
    """
    return read_greys(read_bytes(path)) if path.name.lower().endswith(_SUFFIX) else read_grid(path)


def read_greys(data: bytes) -> Array:
    """Greys of a PNG file of 8 or 16 bits, see `read_heights`."""
    try:
        from PIL import Image
    except ImportError:
        raise CsvError("it is a picture, and Pillow is missing", install_hint("PNG needs Pillow", "render")) from None
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as picture:
            _refuse_picture(picture.mode, *picture.size)
            greys = np.asarray(picture, float)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        if isinstance(error, CsvError):
            raise
        raise CsvError("it is no whole PNG file", "save the picture again") from None
    return greys[::-1] / _WHITE[picture.mode]


def _refuse_picture(mode: str, width: int, height: int) -> None:
    """Refuse what has colours, or no room for two points, or room for too many."""
    if mode not in _WHITE:
        raise CsvError(f"its pixels are of kind {mode}, not grey", "save it as grey of 8 or 16 bits, without transparency")
    if min(width, height) < 2:
        raise CsvError(f"{width} x {height} pixels", "a grid has at least two by two")
    if width * height > _MOST_POINTS:
        raise CsvError(f"{width} x {height} pixels, of which {_MOST_POINTS} may be", "make it smaller")


@lru_cache(maxsize=64)
def _mesh_file(path: Path, changed: float) -> tuple[Array, Array]:
    """Vertices and triangles of a file, read again only when it changed."""
    vertices, faces = read_mesh(path)
    vertices.setflags(write=False)
    faces.setflags(write=False)
    return vertices, faces


def load_mesh(folder: Path, file: str, scale: tuple[float, ...]) -> tuple[Array, Array]:
    """Mesh of a shape.

    Args:
        folder: of the scene.
        file: path relative to it.
        scale: factors on x, y, z.

    Returns:
        Vertices [m], (n, 3), and triangles, (m, 3), counter-clockwise seen from outside also if the scale mirrors.

    Raises:
        MeshError: the file cannot be read.
    """
    path = folder / file
    vertices, faces = _mesh_file(path, path.stat().st_mtime if path.exists() else 0.0)
    factors = np.array(scale, float)
    return vertices * factors, faces[:, ::-1] if factors.prod() < 0.0 else faces


_ON_EDGE = 1e-9  # [1] of a triangle: a ray that passes its edge as near meets it, so that none falls between two


def hit_on_grid(heights: Array, size: Array, origin: Array, along: Array) -> tuple[float, Array]:
    """The nearest triangle along a ray, in the frame of the terrain.

    Args:
        heights: [m], (rows along y, columns along x).
        size: [m], extent along x and y.
        origin: [m], (3,).
        along: [1], (3,), direction of the ray.

    Returns:
        Distance [m], infinite without any, and the normal of the triangle, up.

    Source: Moeller and Trumbore (1997) for a ray and a triangle.
    """
    column, row = _cells_below(heights, size, origin, along)
    x, y = (np.linspace(-0.5, 0.5, n) * extent for n, extent in zip(heights.shape[::-1], size, strict=False))

    def corner(right: int, up: int) -> Array:
        return np.stack((x[column + right], y[row + up], heights[row + up, column + right]), axis=-1)

    a = np.concatenate((corner(0, 0), corner(0, 0)))
    e = np.concatenate((corner(1, 0), corner(1, 1))) - a
    f = np.concatenate((corner(1, 1), corner(0, 1))) - a
    across = np.cross(along, f)
    volume = (e * across).sum(axis=1)
    safe = np.where(volume == 0.0, 1.0, volume)
    u = ((origin - a) * across).sum(axis=1) / safe
    beside = np.cross(origin - a, e)
    v, t = beside @ along / safe, (f * beside).sum(axis=1) / safe
    meets = (volume != 0.0) & (t >= 0.0) & (u >= -_ON_EDGE) & (v >= -_ON_EDGE) & (u + v <= 1.0 + _ON_EDGE)
    if not meets.any():
        return np.inf, np.zeros(3)
    first = np.flatnonzero(meets)[np.argmin(t[meets])]
    normal = np.cross(e[first], f[first])
    return float(t[first]), normal / np.linalg.norm(normal)


def _cells_below(heights: Array, size: Array, origin: Array, along: Array) -> tuple[Array, Array]:
    """Columns and rows of the cells over which a ray passes between the lowest and the highest point, strip by strip."""
    half = np.array([*size[:2] / 2, 0.0])
    low, high = (
        np.array([side * half[0], side * half[1], level]) for side, level in ((-1, heights.min()), (1, heights.max()))
    )
    slack = _ON_EDGE * max(*size[:2], np.ptp(heights))
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.sort((np.stack((low - slack, high + slack)) - origin) / along, axis=0)
        stays = (along == 0.0) & (origin >= low - slack) & (origin <= high + slack)
        start, end = max(np.where(stays, 0.0, ends[0]).max(), 0.0), np.where(stays, np.inf, ends[1]).min()
    none = np.zeros(0, int)
    if not (start <= end < np.inf) or ((along == 0.0) & ~stays).any():
        return none, none
    n_rows, n_columns = heights.shape
    reach = np.sort(origin[0] + along[0] * np.array([start, end]))
    first, last = (np.clip((reach / size[0] + 0.5) * (n_columns - 1), 0, n_columns - 1)).astype(int)
    columns = np.arange(max(first - 1, 0), min(last + 1, n_columns - 2) + 1)
    lines = (np.stack((columns - 1, columns + 2)) / (n_columns - 1) - 0.5) * size[0]  # a strip, and one beside it
    times = np.full(lines.shape, [[start], [end]]) if along[0] == 0.0 else np.sort((lines - origin[0]) / along[0], axis=0)
    y = np.sort(origin[1] + along[1] * np.clip(times, start, end), axis=0)
    rows = np.clip(((y / size[1] + 0.5) * (n_rows - 1)), 0, n_rows - 1).astype(int)
    bottom, top = np.maximum(rows[0] - 1, 0), np.minimum(rows[1] + 1, n_rows - 2)
    counts = top - bottom + 1
    each = np.repeat(np.arange(len(columns)), counts)
    return columns[each], bottom[each] + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
