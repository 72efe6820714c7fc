"""A mesh as convex parts, made by coacd once and beforehand, because meshes collide as their convex hulls."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from simcli.errors import FileError, UsageError, install_hint
from simcli.exchange.naming import GivenNames
from simcli.model.bodies.mesh import MeshError, mesh_properties, read_mesh

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
        path: OBJ or STL file.
        concavity: [1], most of a part, of the size of the mesh.
        most: parts; None: as many as that takes.

    Raises:
        UsageError: coacd is not installed.
        FileError: the mesh cannot be read or decomposed.

    Source: Wei et al. (2022), collision-aware convex decomposition. No deviation.
    """
    try:
        import coacd
    except ImportError as error:
        raise UsageError(install_hint("decompositions need coacd", "decompose")) from error
    try:
        vertices, faces = read_mesh(path)
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
    files = {f"{stem}_{k + 1}.obj": _obj(*part) for k, part in enumerate(parts)}
    return ConvexParts(files, sum(_volume(*part) for part in parts), _volume(vertices, faces))


def stem_of_parts(path: Path) -> str:
    """The stem of a mesh as a name of a scene."""
    return GivenNames(()).give(path.stem, "part")


def _obj(vertices, faces) -> str:
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in np.asarray(vertices)]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in np.asarray(faces)]
    return "\n".join(lines) + "\n"


def _volume(vertices, faces) -> float:
    try:
        return float(mesh_properties(np.asarray(vertices, float), np.asarray(faces)).mass)
    except MeshError:
        return float("nan")
