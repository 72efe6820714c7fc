"""Bodies of a scene: mass properties from what is written or from shapes, the table of shapes, and named points."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simcli import rotations as rot
from simcli.model.bodies.inertia import MassProperties, combine, shape_properties
from simcli.model.bodies.mesh import MeshError, load_mesh, mesh_properties, read_heights
from simcli.model.joints.links import stack_worlds
from simcli.model.joints.mechanism import BodyInput
from simcli.model.tables.body_tables import Points, Shapes, clashing_points
from simcli.model.tables.model import WORLD, Array, ShapeKind
from simcli.model.tables.worlds import Worlds, constant_part, pose_of
from simcli.spec.lookup.scene_values import NORMAL_INDEX
from simcli.spec.schema.body import InertiaSpec, Tensor
from simcli.spec.values.csv_tables import CsvError

_NOWHERE, _POINT = (0.0,) * 3, ((0.0,) * 3,) * 3
_MASSLESS = (ShapeKind.PLANE, ShapeKind.HEIGHTFIELD)
SIZE_OF = {
    "sphere": lambda s: (s.radius, 0.0, 0.0),
    "box": lambda s: s.size,
    "capsule": lambda s: (s.radius, s.length, 0.0),
    "cylinder": lambda s: (s.radius, s.length, 0.0),
    "cone": lambda s: (s.radius, s.length, 0.0),
    "ellipsoid": lambda s: s.radii,
}


FEW_VECTORS = {"1P": 0, "2P": 1, "1P1V": 1}  # kinds of natural coordinates with less than a body's


class ShapeReader:
    """Reads shapes of bodies and of the world once, for their mass and for the table."""

    def __init__(self, worlds: Worlds, folder: Path):
        self.worlds, self.folder = worlds, folder
        self.columns: dict[str, list] = {one.name: [] for one in fields(Shapes)}

    def read(self, get, path: str, name: str, body: int, needs_mass: bool = True) -> MassProperties | None:
        """Add one shape to the table.

        Args:
            get: reads it from a scene.
            path: its dotted path.
            name: its name in the table.
            body: body index or WORLD.
            needs_mass: False: an open mesh will do.

        Returns:
            Mass properties in the body frame for density one; None for planes, terrain and meshes without.
        """
        shape = get(self.worlds.first)
        kind = ShapeKind[shape.type.upper()]
        pose = self._pose(get, kind)
        size, vertices, faces = np.zeros((1, 3)), np.zeros((0, 3)), np.zeros((0, 3), np.int32)
        heights = np.zeros((0, 0))
        solid = None
        if shape.type in SIZE_OF:
            size = self.worlds.numbers(lambda s: SIZE_OF[shape.type](get(s)), (3,))
            solid = shape_properties(kind, size) if kind != ShapeKind.SPHERE or size[:, 0].all() else None
        elif kind == ShapeKind.MESH:
            scale = self.worlds.common(lambda s: get(s).scale, f"{path}.scale")
            vertices, faces, solid = self._mesh(shape.file, scale, path, needs_mass)
        elif kind == ShapeKind.HEIGHTFIELD:
            size = self.worlds.numbers(lambda s: (*get(s).size[:2], 0.0), (3,))
            heights = self._terrain(get, path)
        margin = self.worlds.numbers(lambda s: get(s).margin)
        row = (
            name,
            int(kind),
            body,
            size,
            margin,
            self._surface_velocity(get),
            pose,
            shape.collide,
            vertices,
            faces,
            heights,
            getattr(shape, "convex", True),
        )
        for column, value in zip(self.columns.values(), row, strict=True):
            column.append(value)
        return None if solid is None else solid.placed(pose)

    def _pose(self, get, kind: ShapeKind) -> Array:
        pose = pose_of(self.worlds, lambda s: get(s).pose)
        if kind != ShapeKind.PLANE:
            return pose
        normal = rot.unit(self.worlds.numbers(lambda s: get(s).normal, (3,)))
        offset = self.worlds.numbers(lambda s: get(s).offset)
        own = rot.make_pose(offset[:, None] * normal, rot.matrix_to_quat(rot.frame_along(normal)))
        return rot.pose_compose(pose, own)

    def _surface_velocity(self, get) -> Array:
        written = self.worlds.numbers(lambda s: [constant_part(one) for one in get(s).surface_velocity], (3,))
        return rot.quat_rotate(pose_of(self.worlds, lambda s: get(s).pose)[:, 3:], written) if written.any() else written

    def _mesh(self, file: str, scale, path: str, needs_mass: bool) -> tuple[Array, Array, MassProperties | None]:
        try:
            vertices, faces = load_mesh(self.folder, file, scale)
            if not needs_mass:
                return vertices, faces, None
            one = mesh_properties(vertices, faces)
            return vertices, faces, MassProperties(one.mass[None], one.com[None], one.inertia[None])
        except MeshError as error:
            self.worlds.fault("SC453", f"{path}.file", f"{file}: {error}", error.hint)
            return np.zeros((0, 3)), np.zeros((0, 3), np.int32), None

    def _terrain(self, get, path: str) -> Array:
        """[m], heights of all grid points."""
        shape = get(self.worlds.first)
        scale = self.worlds.common(lambda s: get(s).size[2], f"{path}.size[2]")
        if shape.data is not None:
            return np.array(self.worlds.common(lambda s: get(s).data, f"{path}.data"), float) * scale
        try:
            return read_heights(self.folder / shape.file) * scale
        except CsvError as error:
            self.worlds.fault("SC480", f"{path}.file", f"{shape.file}: {error}", error.hint)
            return np.zeros((2, 2))

    def table(self) -> Shapes:
        """All shapes read so far."""
        c = self.columns
        return Shapes(
            name=tuple(c["name"]),
            kind=np.array(c["kind"], np.int32),
            body=np.array(c["body"], np.int32),
            size=stack_worlds(c["size"], (3,)),
            margin=stack_worlds(c["margin"], ()),
            surface_velocity=stack_worlds(c["surface_velocity"], (3,)),
            pose=stack_worlds(c["pose"], (7,)),
            collide=np.array(c["collide"], bool),
            vertices=tuple(c["vertices"]),
            faces=tuple(c["faces"]),
            heights=tuple(c["heights"]),
            convex=tuple(c["convex"]),
        )


def _density(spec, shape) -> float | None:
    if shape.density is not None:
        return shape.density
    material = spec.materials.get(shape.material) if shape.material else None
    return material.density if material else None


def _from_shapes(worlds: Worlds, name: str, solids: dict[str, MassProperties]) -> MassProperties:
    """Mass properties of a body's shapes: those with a density, or all alike if none has one."""
    dense = [key for key in solids if _density(worlds.first, worlds.first.bodies[name].shapes[key]) is not None]
    parts = [solids[key].scaled(worlds.numbers(lambda s, key=key: _density(s, s.bodies[name].shapes[key]))) for key in dense]
    return combine(parts or list(solids.values()))


def _written(body) -> tuple:
    inertia = body.inertia and (body.inertia.diag is None, body.inertia.full is None, body.inertia.point)
    shapes = [(key, shape.type, shape.material is None, shape.density is None) for key, shape in body.shapes.items()]
    return body.mass is None, body.com is None, inertia, shapes, body.kinematic


class _Numbers(NamedTuple):
    """What bodies write, body by body; 0 where one says nothing.

    Attributes:
        mass: [kg], (W|1,).
        com: [m], (W|1, 3).
        inertia: [kg m^2], (W|1, 3, 3), as `_tensor`.
        compliance: [1/(N m)], (W|1,).
        gravity_compensation: [1], (W|1,).
    """

    mass: list[Array]
    com: list[Array]
    inertia: list[Array]
    compliance: list[Array]
    gravity_compensation: list[Array]


def _numbers(worlds: Worlds) -> _Numbers:
    """Numbers of all bodies in one go."""

    def read(get, shape: tuple[int, ...] = ()) -> list[Array]:
        return worlds.columns(lambda s: [get(body) for body in s.bodies.values()], len(worlds.first.bodies), shape)

    return _Numbers(
        mass=read(lambda body: body.mass or 0.0),
        com=read(lambda body: body.com or _NOWHERE, (3,)),
        inertia=read(lambda body: _tensor(body.inertia, worlds.first.world.plane), (3, 3)),
        compliance=read(lambda body: body.natural.compliance if body.natural else 0.0),
        gravity_compensation=read(lambda body: body.gravity_compensation),
    )


def _tensor(inertia: InertiaSpec | None, plane: str | None) -> Tensor:
    """Inertia as written; of a moment about the normal of a plane the tensor of a thin plate, (I, I/2, I/2)."""
    if inertia is None:
        return _POINT
    if inertia.normal is None:
        return inertia.matrix()
    n = NORMAL_INDEX.get(plane)
    return tuple(tuple(inertia.normal * (0.0 if i != k else 1.0 if i == n else 0.5) for k in range(3)) for i in range(3))


def body_input(worlds: Worlds, name: str, index: int, reader: ShapeReader, written: _Numbers) -> BodyInput:
    """One body, its pose left at the identity.

    Args:
        worlds: the scenes.
        name: body name.
        index: body index.
        reader: takes its shapes.
        written: of all bodies.

    Returns:
        The part; mass properties as written, else from the shapes, scaled to the written mass.
    """
    path = f"bodies.{name}"
    body = worlds.first.bodies[name]
    if worlds.n_worlds > 1:
        worlds.common(lambda s: _written(s.bodies[name]), path)
    solids, before = {}, len(worlds.faults)
    for key in body.shapes:
        get = lambda s, key=key: s.bodies[name].shapes[key]  # noqa: E731
        needs_mass = body.mass is None or body.inertia is None
        solid = reader.read(get, f"{path}.shapes.{key}", f"{name}/{key}", index, needs_mass)
        if solid is not None:
            solids[key] = solid
    whole = _from_shapes(worlds, name, solids) if solids else None
    mass = com = inertia = None
    if whole is not None:
        mass, com, inertia = whole.mass, whole.com, whole.inertia
    if body.mass is not None:
        inertia = None if inertia is None else inertia * (written.mass[index] / mass)[:, None, None]
        mass = written.mass[index]
    if body.com is not None or body.inertia is not None:
        com = written.com[index]
    if body.inertia is not None:
        inertia = written.inertia[index]
    if mass is None or inertia is None:
        if len(worlds.faults) > before:  # a shape that would have given it is broken
            return BodyInput(name, np.ones(1), np.zeros((1, 3)), np.eye(3)[None])
        if body.kinematic:  # nothing asks for the mass of what moves as prescribed
            mass = np.zeros(1) if mass is None else mass
            com = np.zeros((1, 3)) if com is None else com
            return BodyInput(name, mass, com, np.zeros((1, 3, 3)), kinematic=True)
        message = f"body `{name}` has neither inertia nor shapes that have a mass"
        worlds.fault("SC460", path, message, "write mass and inertia (or inertia: point), or shapes with a density")
        mass, inertia = np.ones(1), np.eye(3)[None]
    com = np.zeros((1, 3)) if com is None else com
    natural = worlds.first.solver.type == "natural" and body.natural  # other solvers note it, and choose for themselves
    vectors = FEW_VECTORS.get(natural.kind, -1) if natural else -1
    volume = sum(solid.mass for solid in solids.values()) if solids else None  # their density is one
    return BodyInput(
        name,
        mass,
        com,
        inertia,
        kinematic=body.kinematic,
        n_vectors=vectors,
        compliance=written.compliance[index],
        volume=volume,
        gravity_compensation=written.gravity_compensation[index],
    )


def _refuse_infinite(worlds: Worlds, parts: list[BodyInput]) -> None:
    """Refuse what overflows when mass properties come from shapes."""
    for part in parts:
        if part.volume is None or all(np.isfinite(one).all() for one in (part.mass, part.com, part.inertia)):
            continue
        message = f"mass and inertia of body `{part.name}`, as its shapes give them, are beyond the largest number"
        worlds.fault("SC460", f"bodies.{part.name}", message, "check the sizes, units and scales of its shapes")
        part.mass, part.com, part.inertia = np.ones(1), np.zeros((1, 3)), np.eye(3)[None]


def read_bodies(worlds: Worlds, reader: ShapeReader) -> list[BodyInput]:
    """All bodies in file order, then the shapes of the world into the reader's table.

    Args:
        worlds: the scenes.
        reader: takes the shapes.

    Returns:
        The parts, poses left at the identity.
    """
    written = _numbers(worlds)
    parts = [body_input(worlds, name, index, reader, written) for index, name in enumerate(worlds.first.bodies)]
    _refuse_infinite(worlds, parts)
    for key in worlds.first.world.shapes:
        reader.read(lambda s, key=key: s.world.shapes[key], f"world.shapes.{key}", key, WORLD, needs_mass=False)
    return parts


def read_points(worlds: Worlds) -> Points:
    """Named points of all bodies, as `crank/b`.

    Args:
        worlds: the scenes.

    Returns:
        The table.
    """
    keys = [
        (b, name, point)
        for b, (name, body) in enumerate(worlds.first.bodies.items())
        for point in (body.places if body.frames else body.points)
    ]
    positions = [worlds.numbers(lambda s, n=n, p=p: s.bodies[n].places[p], (3,)) for _, n, p in keys]
    return Points(
        name=tuple(f"{name}/{point}" for _, name, point in keys),
        body=np.array([b for b, _, _ in keys], np.int32),
        position=stack_worlds(positions, (3,)),
    )


def refuse_clashes(worlds: Worlds, names: Sequence[str]) -> None:
    """Refuse names of points that one file cannot hold side by side."""
    clash = clashing_points(names)
    if clash:
        name, data = clash
        body, _, point = name.rpartition("/")
        other, _, quantity = data.rpartition("/")
        section = "points" if point in worlds.first.bodies[body].points else "frames"
        message = f"the point `{name}` cannot be recorded beside the {quantity} of the point `{other}`: both have one path"
        worlds.fault("SC327", f"bodies.{body}.{section}.{point}", message, "rename one of the points, or the instance")
