"""Mesh files that hold materials and nodes, COLLADA and glTF: their triangles by colour, in metres, z up.

pycollada and trimesh, the extra `meshes`, read them; no other file is opened but the buffers that lie beside a .gltf. Every
instance of a geometry is placed by the nodes above it. COLLADA says its unit and which axis is up; glTF is in metres, y up.

Sources: Khronos, COLLADA 1.4 specification (`asset`, `up_axis`; `transparent` in chapter 7) and glTF 2.0 specification,
sections 3.4 (coordinates), 3.5 (nodes), 3.9 (materials). Deviation: a material of which nothing would be seen is drawn
opaque, since exporters of COLLADA do not agree on what 0 means.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np

from simcli.errors import FileError, first_few, install_hint
from simcli.exchange.source.gltf_document import self_contained_document
from simcli.exchange.source.mechanism import hex_colour
from simcli.exchange.source.xml_reader import XmlElement, finite_numbers, read_xml
from simcli.model.bodies.mesh import MeshError, check_numbers, weld
from simcli.model.tables.model import Array

COLOURED_SUFFIXES = (".dae", ".glb", ".gltf")
_MOST_TRIANGLES = 2**21  # of all instances: what a binary STL of the largest size holds, and a half more
_MOST_NODES = 2**16  # instances of instances could be 2^n
_NO_COLOUR = ("", 1.0)
_PART = "its mesh is read in part"  # how a note begins
_NUMBERS = re.compile(r"[-+0-9.eE\s]*")
# To z up, by the tables of the COLLADA specification: what is right stays right.
_TO_Z_UP = {
    "X_UP": np.array([(0.0, -1.0, 0.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)]),
    "Y_UP": np.array([(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)]),
    "Z_UP": np.eye(3),
}
_LUMINANCE = (0.212671, 0.715160, 0.072169)  # of linear red, green and blue, as the COLLADA specification has them

Corners = Iterable[tuple[Array, "MaterialLook"]]


class MaterialLook(NamedTuple):
    """How a material looks.

    Attributes:
        colour: "#rrggbb", or "" where the file says none.
        opacity: 0 to 1.
        texture: name of the picture that it would have, "" for none.
    """

    colour: str
    opacity: float
    texture: str = ""


class ColouredPart(NamedTuple):
    """Triangles of one colour.

    Attributes:
        vertices: [m], (n, 3), z up.
        faces: (m, 3), counter-clockwise seen from outside.
        colour: "#rrggbb", or "" where the file says none.
        opacity: 0 to 1.
    """

    vertices: Array
    faces: Array
    colour: str
    opacity: float


class ColouredMesh(NamedTuple):
    """A file as it was read.

    Attributes:
        parts: each colour once, in the order of the file.
        notes: what was changed or left out.
    """

    parts: tuple[ColouredPart, ...]
    notes: tuple[str, ...]

    @property
    def whole(self) -> tuple[Array, Array]:
        """Vertices [m], (n, 3), and triangles, (m, 3), of all parts."""
        return _welded(np.concatenate([part.vertices[part.faces] for part in self.parts]))


def read_coloured_mesh(path: Path) -> ColouredMesh:
    """Read a COLLADA or glTF file.

    Raises:
        MeshError: a package is missing, or the file is damaged, too large, or needs what is not read.
    """
    notes: list[str] = []
    try:
        triangles = list((_read_collada if path.suffix.lower() == ".dae" else _read_gltf)(path, notes))
    except MeshError:
        raise
    except FileError as error:
        raise MeshError(f"the mesh is damaged: {str(error).removeprefix(f'{path}:')}") from None
    except Exception as error:  # of packages that meet any bytes
        raise MeshError(f"the mesh is damaged: {type(error).__name__}: {str(error)[:200]}") from None
    textures = dict.fromkeys(look.texture for _, look in triangles if look.texture)
    notes += [f"without its textures {first_few(tuple(textures))}"] if textures else []
    by_look: dict[tuple[str, float], list[Array]] = {}
    for corners, look in triangles:
        by_look.setdefault((look.colour, look.opacity), []).append(corners)
    parts = []
    for look, corners in by_look.items():
        vertices, faces = _welded(np.concatenate(corners))
        if len(faces):
            check_numbers(vertices, faces)
            parts.append(ColouredPart(vertices, faces, *look))
    if not parts:
        raise MeshError("; ".join(["the mesh has no triangles", *(note for note in notes if note.startswith(_PART))]))
    return ColouredMesh(tuple(parts), tuple(notes))


def _welded(corners: Array) -> tuple[Array, Array]:
    """Vertices and triangles, less those without area because two of their corners are one."""
    vertices, faces = weld(corners)
    return vertices, faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]


def _limited(triangles: Corners) -> Iterator[tuple[Array, MaterialLook]]:
    total = 0
    for corners, look in triangles:
        total += len(corners)
        if total > _MOST_TRIANGLES:
            raise MeshError(f"the mesh has more than {_MOST_TRIANGLES} triangles")
        yield corners, look


def _placed(vertices: Array, faces: Array, matrix: Array) -> Array:
    """Corners of triangles in outer axes, (m, 3, 3), counter-clockwise also where the matrix, (4, 4), mirrors."""
    turn = np.asarray(matrix, float)
    corners = (np.asarray(vertices, float) @ turn[:3, :3].T + turn[:3, 3])[np.asarray(faces, np.int64)]
    return corners[:, ::-1] if np.linalg.det(turn[:3, :3]) < 0.0 else corners


# COLLADA.


def _read_collada(path: Path, notes: list[str]) -> Iterator[tuple[Array, MaterialLook]]:
    try:
        import collada
    except ImportError:
        raise MeshError(install_hint("a .dae mesh needs pycollada", "meshes")) from None
    root = read_xml(path)  # refuses entities, and gives lines
    if root.tag != "COLLADA":
        raise MeshError(f"the mesh is damaged: its root is <{root.tag}>, not <COLLADA>")
    for one in root.below():  # pycollada takes 0 for what is no number
        if one.tag == "float_array" and not _NUMBERS.fullmatch(one.text):
            raise MeshError(f"the mesh is damaged: line {one.line}: a <float_array> holds what is no finite number")
    document = collada.Collada(
        io.BytesIO(path.read_bytes()), ignore=[collada.common.DaeError], aux_file_loader=lambda _name: b""
    )
    factor, axis = _asset(root)
    notes += [f"turned so that z is up: the mesh says {axis}"] if axis != "Z_UP" else []
    notes += [f"{_PART}: {str(document.errors[0])[:200]}"] if document.errors else []
    outer = np.eye(4)
    outer[:3, :3] = factor * _TO_Z_UP[axis]
    nodes = _nodes(collada.scene, document.scene.nodes if document.scene is not None else [], outer, notes)
    yield from _limited(one for node, matrix in nodes for one in _geometry(collada, document, node, matrix))


def _asset(root: XmlElement) -> tuple[float, str]:
    """[m], the unit of the file, and the axis that is up; by default 1 m and Y_UP."""
    asset = root.child("asset") or XmlElement("asset", root.line)
    unit, axis = asset.child("unit"), asset.child("up_axis")
    factor = finite_numbers(unit.get("meter", "1"), 1) if unit is not None else (1.0,)
    if factor is None or factor[0] <= 0.0:
        raise MeshError(f"the mesh has the unit `{unit.get('meter')[:40]}`, which is no length in metres")
    name = axis.text if axis is not None else "Y_UP"
    if name not in _TO_Z_UP:
        raise MeshError(f"the mesh has the axis `{name[:40]}` up; there are {', '.join(_TO_Z_UP)}")
    return factor[0], name


def _nodes(kinds, roots: list, outer: Array, notes: list[str]) -> Iterator[tuple[object, Array]]:
    """All instances of geometries, with the matrices of what is above them.

    Args:
        kinds: the module of pycollada with the classes of nodes.
        roots: nodes of the scene.
        outer: (4, 4), what comes before all of them.
        notes: receives what is left out.
    """
    pending, count = [(node, outer) for node in reversed(roots)], 0
    while pending:
        node, matrix = pending.pop()
        count += 1
        if count > _MOST_NODES:
            raise MeshError(f"the mesh has more than {_MOST_NODES} nodes, or nodes that hold themselves")
        if isinstance(node, kinds.GeometryNode):
            yield node, matrix
        elif isinstance(node, kinds.Node):
            inner = matrix @ np.asarray(node.matrix, float)
            pending += [(child, inner) for child in reversed(node.children)]
        elif isinstance(node, kinds.ControllerNode) and "without its skins" not in notes:
            notes.append("without its skins")


def _geometry(collada, document, node, matrix: Array) -> Corners:
    """Triangles of an instance; lines are nothing that scenes draw."""
    bound = {one.symbol: one.target for one in node.materials}
    for primitive in node.geometry.primitives:
        some = primitive.triangleset() if isinstance(primitive, collada.polylist.Polylist) else primitive
        if not isinstance(some, collada.triangleset.TriangleSet) or some.vertex is None or not len(some):
            continue
        name = some.material
        material = bound.get(name, document.materials.get(name))
        yield _placed(some.vertex, some.vertex_index, matrix), _look_of_effect(material and material.effect)


def _look_of_effect(effect) -> MaterialLook:
    """Of an effect of pycollada, whose colours are sRGB, and whose properties are numbers or textures."""
    if effect is None:
        return MaterialLook(*_NO_COLOUR)
    diffuse = effect.emission if effect.diffuse is None and effect.shadingtype == "constant" else effect.diffuse
    colour = hex_colour(diffuse[:3]) if isinstance(diffuse, tuple | list) else ""
    texture = ""
    if not colour and diffuse is not None:
        texture = Path(diffuse.sampler.surface.image.path.replace("\\", "/")).name
    through = effect.transparent if isinstance(effect.transparent, tuple | list) else (1.0, 1.0, 1.0, 1.0)
    share = effect.transparency if isinstance(effect.transparency, float) else 1.0
    opacity = share * through[3]
    if effect.opaque_mode == "RGB_ZERO":
        opacity = 1.0 - share * float(np.dot(_LUMINANCE, through[:3])) if effect.transparent is not None else 1.0
    return MaterialLook(colour, _seen(opacity), texture)


def _seen(opacity: float) -> float:
    return round(min(opacity, 1.0), 6) if opacity > 0.0 else 1.0


# glTF.

_MOST_NUMBERS = 2**24  # of an accessor: as many as bytes of the largest file can say
_TRIANGLES, _STRIP = 4, 5  # modes of primitives
_UNREAD = ("images", "textures", "samplers", "animations", "skins")
_HARMLESS = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_")  # extensions that move no vertex


def _read_gltf(path: Path, notes: list[str]) -> Iterator[tuple[Array, MaterialLook]]:
    try:
        import trimesh
    except ImportError:
        raise MeshError(install_hint(f"a {path.suffix.lower()} mesh needs trimesh", "meshes")) from None
    header = self_contained_document(path)
    _check_header(header)
    notes.append("turned so that z is up: glTF has y up")
    modes = {one.get("mode", _TRIANGLES) for mesh in header.get("meshes", []) for one in mesh["primitives"]}
    notes += ["without its points, lines and fans"] if modes - {_TRIANGLES, _STRIP} else []
    notes += ["without its skins"] if header.get("skins") else []
    looks = [_look_of_material(header, one) for one in header.get("materials", [])]
    plain = {key: value for key, value in header.items() if key not in _UNREAD}
    plain["materials"] = [{"name": str(k)} for k in range(len(looks))]
    scene = trimesh.load_scene(io.BytesIO(json.dumps(plain).encode()), file_type="gltf", process=False)
    outer = np.eye(4)
    outer[:3, :3] = _TO_Z_UP["Y_UP"]
    yield from _limited(_instances(scene, [*looks, MaterialLook(*_NO_COLOUR)], outer))


def _instances(scene, looks: list[MaterialLook], outer: Array) -> Corners:
    """Triangles of each node with a mesh, in the order of the materials, whose names are their numbers."""
    found = []
    for node in scene.graph.nodes_geometry:
        matrix, name = scene.graph[node]
        mesh = scene.geometry[name]
        if hasattr(mesh, "faces"):
            number = getattr(getattr(mesh.visual, "material", None), "name", None)
            found.append((len(looks) - 1 if number is None else int(number), mesh, outer @ matrix))
    for number, mesh, matrix in sorted(found, key=lambda one: one[0]):
        yield _placed(mesh.vertices, mesh.faces, matrix), looks[number]


def _check_header(header: dict) -> None:
    """Refuse what would be read wrongly, or would need more memory than the file has numbers."""
    needed = [name for name in header.get("extensionsRequired", []) if not str(name).startswith(_HARMLESS)]
    if needed:
        raise MeshError(f"the mesh needs {first_few(tuple(map(str, needed)))}, which is not read: export it without")
    if len(header.get("nodes", [])) > _MOST_NODES:
        raise MeshError(f"the mesh has more than {_MOST_NODES} nodes")
    if any(accessor["count"] > _MOST_NUMBERS for accessor in header.get("accessors", [])):
        raise MeshError(f"the mesh has an accessor of more than {_MOST_NUMBERS} items")


def _look_of_material(header: dict, material: dict) -> MaterialLook:
    """Of a material of glTF, whose colours are linear."""
    surface = material.get("pbrMetallicRoughness", {})
    texture = surface.get("baseColorTexture")
    factor = [float(value) for value in surface.get("baseColorFactor", (1.0, 1.0, 1.0, 1.0))]
    colour = hex_colour(tuple(map(srgb, factor[:3])))
    opacity = factor[3] if material.get("alphaMode") == "BLEND" else 1.0
    if texture is None:
        return MaterialLook(colour, _seen(opacity))
    image = header["images"][header["textures"][texture["index"]].get("source", 0)]
    is_plain = "baseColorFactor" not in surface  # white is then that of the picture
    return MaterialLook("" if is_plain else colour, _seen(opacity), _name_of_image(image))


def _name_of_image(image: dict) -> str:
    uri = str(image.get("uri", ""))
    return str(image.get("name", "")) or (Path(unquote(uri)).name if not uri.startswith("data:") else "") or "in the file"


def srgb(value: float) -> float:
    """Of a linear colour."""
    value = min(max(value, 0.0), 1.0)
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1.0 / 2.4) - 0.055
