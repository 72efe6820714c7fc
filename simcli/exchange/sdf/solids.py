"""What the shapes of a link weigh, where its inertial is `auto`.

Of each collision density times volume; the density is that of the collision, else of the inertial, else 1000 kg/m^3. A
mass that is given scales the sum. Source: specification of SDFormat 1.11, `inertial`; `Link::ResolveAutoInertials` of
libsdformat.
"""

import numpy as np

from simcli import rotations as rot
from simcli.exchange.mechanism import SourceFrame, SourceLink
from simcli.exchange.sdf.source import SdfSource
from simcli.exchange.xml_reader import XmlElement
from simcli.model.bodies.inertia import MassProperties, combine, shape_properties
from simcli.model.bodies.mesh import MeshError, mesh_properties, read_mesh
from simcli.model.tables.model import ShapeKind

_WATER = 1000.0  # [kg/m^3], density where a file gives none
_SIZES = {"box": "size", "sphere": "radius", "cylinder": "radius length", "capsule": "radius length",
          "cone": "radius length", "ellipsoid": "radii"}  # fmt: skip


class WeightlessError(Exception):
    """Shapes of which no mass is known; its words say why."""


def weigh_shapes(source: SdfSource, inertial: XmlElement, link: SourceLink, forms: list[tuple]) -> None:
    """Give a link the mass, the centre of mass and the inertia of its collisions.

    Args:
        source: the file.
        inertial: of the link.
        link: receives them.
        forms: of each collision its element, its form in the words of a scene and its frame in the link.

    Raises:
        WeightlessError: there is no collision, or one of which no volume is known.
    """
    if not forms:
        raise WeightlessError("the link has no collision")
    common = source.number(inertial, "density", default=_WATER)
    parts = []
    for element, words, frame in forms:
        density = source.number(element, "density", default=common)
        if density <= 0.0:
            raise WeightlessError(f"the density of `{element.get('name')}` is {density:g} kg/m^3")
        parts.append(_volume(source, element, words).scaled(density).placed(_pose(frame)))
    found = combine(parts)
    given = source.number(inertial, "mass")
    found = found if given is None else found.scaled(given / float(found.mass))
    link.mass, link.com = float(found.mass), tuple(map(float, found.com))
    link.inertia = 0.5 * (found.inertia + found.inertia.T)


def _pose(frame: SourceFrame) -> np.ndarray:
    return rot.make_pose(np.asarray(frame.xyz, float), frame.quaternion)


def _volume(source: SdfSource, element: XmlElement, words: dict) -> MassProperties:
    """Mass properties of a form of density one, in its own frame."""
    kind = words["type"]
    if kind == "mesh":
        try:
            vertices, faces = read_mesh(source.meshes.path_of(words["file"]))
            factors = np.asarray(words.get("scale", 1.0), float) * np.ones(3)
            return mesh_properties(vertices * factors, faces if factors.prod() > 0.0 else faces[:, ::-1])
        except MeshError as error:
            raise WeightlessError(f"mesh of `{element.get('name')}`: {error}") from None
    if kind not in _SIZES:
        raise WeightlessError(f"`{element.get('name')}` is a {kind}, which has no volume")
    sizes = np.concatenate([np.atleast_1d(words[key]) for key in _SIZES[kind].split()])
    return shape_properties(ShapeKind[kind.upper()], np.concatenate([sizes, np.zeros(3 - len(sizes))]))
