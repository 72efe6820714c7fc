"""Geometry of USD: gprims as shapes that collide or are only seen, meshes with their approximations, materials, looks.

A prim with CollisionAPI collides; one that is visible is drawn, too. What a body weighs is that of its colliders, see
`usd_file`; of a mesh that of its approximation, of those that may be concave that of the mesh.

Sources: OpenUSD, UsdGeom (gprims, primvars), UsdShade (bindings), UsdPhysics (CollisionAPI, MeshCollisionAPI, MaterialAPI).
Deviation: planes have no end; radii of a scaled cylinder, capsule or cone are the larger one.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from simcli.exchange.source.coloured_meshes import srgb
from simcli.exchange.source.mechanism import GivenNames, SourceFrame, SourceLink, SourceShape, hex_colour
from simcli.exchange.source.meshes import obj_text
from simcli.exchange.usd.prims import ROUNDING, PrimPlacement, UsdSource, tidy_numbers
from simcli.model.bodies.hull import HullError, convex_hull
from simcli.model.bodies.inertia import MassProperties, shape_properties
from simcli.model.bodies.mesh import MeshError, check_numbers, mesh_properties
from simcli.model.tables.model import Array, ShapeKind
from simcli.spec.lookup.structure import WORLD_NAME

# Axes of a shape, whose own is z, in its prim: columns.
_ALONG = {
    "X": np.array([(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]),
    "Y": np.array([(0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)]),
    "Z": np.eye(3),
}
_OVER = np.diag((1.0, -1.0, -1.0))  # half a turn about x
_ROUND = {  # type of a scene, and what the format has by default: radius, height
    "Cylinder": ("cylinder", 1.0, 2.0),
    "Cylinder_1": ("cylinder", 1.0, 2.0),
    "Capsule": ("capsule", 0.5, 1.0),
    "Capsule_1": ("capsule", 0.5, 1.0),
    "Cone": ("cone", 1.0, 2.0),
}
GPRIMS = ("Cube", "Sphere", "Plane", "Mesh", *_ROUND)
_EXACT = {  # approximations that may be concave, and what a hull in their place is not
    "none": "not as it is: see `simcli decompose`",
    "convexDecomposition": "not as convex parts: see `simcli decompose`",
    "meshSimplification": "not as a simpler mesh: see `simcli decompose`",
}


class LostShapeError(Exception):
    """A prim of which no shape can be made; its words say why."""


class UsdForm(NamedTuple):
    """A geometry.

    Attributes:
        words: as a scene writes it.
        turn: (3, 3), of its axes to those of its prim.
        centre: [units], (3,), of its origin, in the axes of its prim with their scale.
        volume: [m], mass properties of density one in its own frame; None where it has none.
        change: what is told of it.
    """

    words: dict
    turn: Array
    centre: Array
    volume: MassProperties | None
    change: str = ""


@dataclass(frozen=True)
class UsdCollider:
    """A prim that collides.

    Attributes:
        prim: of USD.
        form: of it.
        frame: in its body.
    """

    prim: Any
    form: UsdForm
    frame: SourceFrame


def add_gprim(source: UsdSource, prim, link: SourceLink, names: GivenNames) -> UsdCollider | None:
    """Give a link the shape of a prim.

    Args:
        source: the stage.
        prim: a gprim.
        link: receives the shape.
        names: of the shapes of the link.

    Returns:
        What collides, for the mass of the body; None if it is only seen.
    """
    from pxr import UsdPhysics

    path, kind = str(prim.GetPath()), str(prim.GetTypeName())
    is_solid = prim.HasAPI(UsdPhysics.CollisionAPI)
    collides = is_solid and source.flag(prim, "physics:collisionEnabled", True)
    if not is_solid and not _is_drawn(prim):
        source.lose_all(prim, "is neither seen nor solid", is_note=True)
        return None
    try:
        form = _form(source, prim, kind, is_solid)
        if kind == "Plane" and link.name != WORLD_NAME:
            raise LostShapeError("planes are of the world, not of a body")
        if kind == "Plane" and not collides:
            raise LostShapeError("a plane that is only seen, which scenes have not")
    except LostShapeError as error:
        source.lose_all(prim, str(error), is_note=not is_solid)
        return None
    name = names.give(prim.GetName())
    place, owner = source.place(prim), source.owner.get(path)
    frame = source.within(owner, place.turn @ form.turn, place.at + place.turn @ form.centre)
    colour, opacity = _look(source, prim)
    shape = SourceShape(name, dict(form.words), frame, collides, 0, colour, opacity, home=path)
    label = f"{link.name}/{name}"
    if collides:
        shape.seen_as = label if _is_drawn(prim) else ""
        shape.opacity = opacity if _is_drawn(prim) else 0.0
        shape.words |= _material(source, prim)
        source.shapes[path] = (link.name, name)
    if kind == "Plane":
        _turn_plane(shape)
    if collides or _is_drawn(prim):
        link.shapes.append(shape)
    change = "; ".join(filter(None, (form.change, "is not solid: it only has mass" if is_solid and not collides else "")))
    source.keep("collision" if collides else "visual", prim, label, change)
    source.note(prim, *_READ)
    return UsdCollider(prim, form, frame) if is_solid else None


_READ = ("xformOpOrder", "axis", "orientation", "faceVertexCounts", "faceVertexIndices", "points", "holeIndices")


def _turn_plane(shape: SourceShape) -> None:
    """A plane has no pose, but a normal and an offset."""
    normal = shape.frame.matrix[:, 2]
    shape.words |= {"normal": list(tidy_numbers(normal, 1.0))}
    if offset := float(normal @ np.asarray(shape.frame.xyz)):
        shape.words["offset"] = offset
    shape.frame = SourceFrame()


def _form(source: UsdSource, prim, kind: str, is_solid: bool) -> UsdForm:
    place = source.place(prim)
    if kind == "Mesh":
        return _mesh(source, prim, place, is_solid)
    scale, shear = np.abs(place.scale), "is sheared, which its shape is not" if place.is_sheared else ""
    if kind == "Cube":
        size = source.number(prim, "size", 2.0) * scale * source.length
        return _solid("box", {"size": size}, np.eye(3), shear)
    if kind == "Sphere":
        radii = source.number(prim, "radius", 1.0) * scale * source.length
        if np.ptp(radii) > ROUNDING * radii.max():
            return _solid("ellipsoid", {"radii": radii}, np.eye(3), shear)
        return _solid("sphere", {"radius": radii[:1]}, np.eye(3), shear)
    axis = _ALONG[source.axis(prim, "axis", "Z")]
    turn = axis if place.scale[0] > 0.0 else axis @ _OVER
    if kind == "Plane":
        ends = [f"`{key}`" for key in ("width", "length") if source.value(prim, key) is not None]
        return UsdForm(
            {"type": "plane"}, turn, np.zeros(3), None, f"has no end: without {' and '.join(ends)}" if ends else ""
        )
    return _round(source, prim, kind, (axis.T @ scale, turn, shear))


def _round(source: UsdSource, prim, kind: str, placed: tuple[Array, Array, str]) -> UsdForm:
    """A cylinder, capsule or cone; its scale along the axes of the shape, its axes, and what its shear is."""
    (across, other, along), turn, shear = placed
    name, radius, height = _ROUND[kind]
    if kind.endswith("_1"):
        ends = [source.number(prim, key, radius) for key in ("radiusTop", "radiusBottom")]
        radius = max(ends)
        changes = [f"its radii {ends[0]:g} and {ends[1]:g} are the larger one"] if ends[0] != ends[1] else []
    else:
        radius, changes = source.number(prim, "radius", radius), []
    widest = max(across, other)
    if abs(across - other) > ROUNDING * widest or (name == "capsule" and abs(widest - along) > ROUNDING * widest):
        changes.append("its scale would make its ends no circles or half balls: they have the larger radius")
    sizes = {"radius": [radius * widest * source.length]}
    sizes |= {"length": [source.number(prim, "height", height) * along * source.length]}
    return _solid(name, sizes, turn, "; ".join(filter(None, (*changes, shear))))


def _solid(kind: str, sizes: dict, turn: Array, change: str) -> UsdForm:
    numbers = np.concatenate([np.atleast_1d(size) for size in sizes.values()])
    if not (numbers[: len(numbers) - (kind == "capsule")] > 0.0).all() or not np.isfinite(numbers).all():
        raise LostShapeError("a geometry without extent")
    tidied = {key: list(tidy_numbers(size, 1.0)) for key, size in sizes.items()}
    words = {key: size if len(size) > 1 else size[0] for key, size in tidied.items()}
    volume = shape_properties(ShapeKind[kind.upper()], np.concatenate([numbers, np.zeros(3 - len(numbers))]))
    return UsdForm({"type": kind} | words, turn, np.zeros(3), volume, change)


# Meshes.


def _mesh(source: UsdSource, prim, place: PrimPlacement, is_solid: bool) -> UsdForm:
    vertices, faces, changes = _triangles(source, prim, place)
    if not is_solid:
        return UsdForm(_stored(source, prim, vertices, faces), np.eye(3), np.zeros(3), None, "; ".join(changes))
    kind = str(source.value(prim, "physics:approximation", "none"))
    if kind in ("boundingCube", "boundingSphere"):
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        centre = 0.5 * (low + high)
        radius = np.linalg.norm(vertices - centre, axis=1).max(keepdims=True)
        sizes = {"size": high - low} if kind == "boundingCube" else {"radius": radius}
        form = _solid("box" if kind == "boundingCube" else "sphere", sizes, np.eye(3), "")
        return form._replace(centre=centre / source.length, change="; ".join([*changes, f"is its `{kind}`"]))
    if kind not in _EXACT and kind != "convexHull":
        changes.append(f"collides as its convex hull, not by the approximation `{kind[:40]}`")
    try:
        corners, rings, _ = convex_hull(vertices)
    except HullError as error:
        raise LostShapeError(f"mesh: {error}") from None
    fans = [(ring[0], *pair) for ring in rings for pair in pairwise(ring[1:])]
    volume = mesh_properties(corners, np.array(fans))
    if kind in _EXACT:
        hull = float(volume.mass)
        try:
            volume = mesh_properties(vertices, faces)
            is_hull = hull < float(volume.mass) * (1.0 + ROUNDING)
        except MeshError as error:
            changes.append(f"its mass is that of its convex hull: {error}")
            is_hull = False
        changes += [] if is_hull else [f"collides as its convex hull, {_EXACT[kind]}"]
    return UsdForm(_stored(source, prim, vertices, faces), np.eye(3), np.zeros(3), volume, "; ".join(changes))


def _triangles(source: UsdSource, prim, place: PrimPlacement) -> tuple[Array, Array, list[str]]:
    """Vertices [m] in the axes of the prim, without scale; triangles, counter-clockwise from outside; what was changed."""
    points, counts, corners = (source.value(prim, key) for key in ("points", "faceVertexCounts", "faceVertexIndices"))
    if not all(hasattr(one, "__len__") and len(one) for one in (points, counts, corners)):
        raise LostShapeError("mesh: has no faces")
    points, counts, corners = np.asarray(points, float), np.asarray(counts), np.asarray(corners)
    if counts.min() < 0 or counts.sum() != len(corners) or corners.min(initial=0) < 0 or corners.max() >= len(points):
        raise LostShapeError("mesh: its faces name points that are not there")
    begins, keep, changes = np.concatenate([[0], np.cumsum(counts)[:-1]]), counts >= 3, []
    holes = np.asarray(source.value(prim, "holeIndices", ()), int)
    keep[holes[(holes >= 0) & (holes < len(counts))]] = False
    if str(source.value(prim, "subdivisionScheme", "catmullClark")) != "none" and counts.max() > 3:
        changes.append("has the faces that are written, not smoothed ones")
    parts = []
    for n in np.unique(counts[keep]).tolist():
        ring = corners[begins[keep & (counts == n)][:, None] + np.arange(n)]
        parts += [ring[:, [0, k, k + 1]] for k in range(1, n - 1)]
    if not parts:
        raise LostShapeError("mesh: has no faces")
    faces = np.concatenate(parts)
    if (str(source.value(prim, "orientation", "rightHanded")) == "leftHanded") != (np.linalg.det(place.linear) < 0.0):
        faces = faces[:, ::-1]
    vertices = points @ (place.turn.T @ place.linear).T * source.length
    try:
        check_numbers(vertices, faces)
    except MeshError as error:
        raise LostShapeError(f"mesh: {error}") from None
    return vertices, faces, changes


def _stored(source: UsdSource, prim, vertices: Array, faces: Array) -> dict:
    """The words of a mesh that is written beside the scene; equal ones are one file."""
    data = obj_text(vertices, faces).encode()
    same = next((name for name, held in source.meshes.files.items() if held == data), None)
    return {"type": "mesh", "file": same or source.meshes.add(f"{prim.GetName()}.obj", data)}


# Looks and materials.


def _is_drawn(prim) -> bool:
    from pxr import UsdGeom

    seen = UsdGeom.Imageable(prim)
    return str(seen.ComputeVisibility()) != "invisible" and str(seen.ComputePurpose()) in ("default", "render")


def _look(source: UsdSource, prim) -> tuple[str, float]:
    """Colour and opacity: of the material that is bound, else those of the prim or of prims above it."""
    from pxr import UsdGeom, UsdShade

    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    shader = material.ComputeSurfaceSource()[0] if material else None
    found: list = [None, None]
    for k, name in enumerate(("diffuseColor", "opacity")):
        entry = shader.GetInput(name) if shader else None
        found[k] = entry.Get() if entry and not entry.HasConnectedSource() else None
    for k, name in enumerate(("displayColor", "displayOpacity")):
        primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance(name)
        source.note(prim, f"primvars:{name}", f"primvars:{name}:indices")
        values = primvar.Get(source.time) if found[k] is None and primvar else None
        found[k] = values[0] if values is not None and len(values) else found[k]
    source.note(prim, "material:binding")
    colour = hex_colour(tuple(srgb(max(float(part), 0.0)) for part in found[0])) if found[0] is not None else ""
    return colour, 1.0 if found[1] is None else min(max(float(found[1]), 0.0), 1.0)


def _material(source: UsdSource, prim) -> dict:
    """The material of physics of a collider, as a shape names it; it becomes one of the scene."""
    bound = physics_material(prim)
    if bound is None:
        return {}
    source.note(prim, "material:binding:physics")
    return {"material": source.materials[str(bound.GetPath())]} if str(bound.GetPath()) in source.materials else {}


def physics_material(prim):
    """The prim of the material that says friction of a collider; None if none is bound."""
    from pxr import UsdPhysics, UsdShade

    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    return material.GetPrim() if material and material.GetPrim().HasAPI(UsdPhysics.MaterialAPI) else None


def read_materials(source: UsdSource) -> None:
    """All materials of physics; those of which no friction and no bounce is known give density alone."""
    from pxr import UsdPhysics

    names = GivenNames(())
    for path, prim in source.prims.items():
        if not prim.HasAPI(UsdPhysics.MaterialAPI):
            continue
        numbers = {
            key: source.number(prim, f"physics:{name}")
            for key, name in (("friction", "dynamicFriction"), ("friction_static", "staticFriction"), ("restitution",) * 2)
        }
        changes = [f"its {key} is negative and left out" for key, value in numbers.items() if value < 0.0]
        numbers = {key: max(value, 0.0) for key, value in numbers.items()}
        if numbers["friction_static"] < numbers["friction"]:
            changes.append("its friction at rest is that of sliding, which is larger")
        if numbers["restitution"] > 1.0:
            changes.append(f"its restitution of {numbers['restitution']:g} is taken as 1")
        if numbers["friction_static"] <= numbers["friction"]:
            del numbers["friction_static"]
        numbers["restitution"] = min(numbers["restitution"], 1.0)
        source.note(prim, "physics:density")
        source.materials[path] = names.give(prim.GetName(), "material")
        words = {key: value for key, value in numbers.items() if value or key == "friction"}
        source.mechanism.sections.setdefault("materials", {})[source.materials[path]] = words
        source.keep("material", prim, source.materials[path], "; ".join(changes))
