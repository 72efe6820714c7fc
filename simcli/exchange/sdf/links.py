"""Links of SDF: mass, shapes, how they look, and their surfaces: friction, bounce, which others they touch.

Where an inertial is `auto`, the shapes are weighed: of each collision density times volume; the density is that of the
collision, else of the inertial, else 1000 kg/m^3. A mass that is given scales the sum. Source: specification of SDFormat
1.11, `inertial`; `Link::ResolveAutoInertials` of libsdformat.
"""

import math

import numpy as np

from simcli import rotations as rot
from simcli.exchange.sdf.source import TRUE, SdfSource
from simcli.exchange.source.layers import ALL_BITS
from simcli.exchange.source.mechanism import (
    GivenNames,
    SourceFrame,
    SourceLink,
    SourceShape,
    hex_colour,
    in_outer_axes,
)
from simcli.exchange.source.xml_reader import XmlElement
from simcli.exchange.source.xml_source import HULL, ReadForm, put_scale
from simcli.model.bodies.inertia import MassProperties, combine, shape_properties
from simcli.model.bodies.mesh import MeshError, mesh_properties
from simcli.model.tables.model import ShapeKind
from simcli.spec.lookup.structure import WORLD_NAME

# Torque per normal force, per radius and coefficient, of a round patch whose pressure is Hertz's: 3 pi/16.
_PATCH = 3.0 * math.pi / 16.0


def read_surface(source: SdfSource, element: XmlElement) -> tuple[str, str, int]:
    """What the surface of a collision says.

    Args:
        source: the file; receives the material.
        element: the collision.

    Returns:
        Name of its material, "" for none; what was changed; its mask of 16 bits.

    Source: SDFormat, elements `friction`, `bounce` and `contact` of a surface. Deviation: friction in one direction only.
    """
    changes: list[str] = []
    numbers = {
        "friction": _friction(source, element, changes),
        "torsional_friction": _torsion(source, element, changes),
        "restitution": _bounce(source, element, changes),
    }
    found = {key: value for key, value in numbers.items() if value or (key == "friction" and value is not None)}
    surface = source.part(element, "surface")
    contact = None if surface is None else surface.child("contact")
    bits = ALL_BITS
    if contact is not None and (mask := contact.child("collide_bitmask")) is not None:
        source.known.update((id(contact), id(mask)))
        bits = _bits(source, mask)
    if not found:
        return "", "; ".join(changes), bits
    name = "_".join(f"{key.removesuffix('_friction')}_{value:g}" for key, value in found.items())
    name = name.replace(".", "_").replace("+", "").replace("-", "m")
    source.mechanism.sections.setdefault("materials", {})[name] = found
    return name, "; ".join(changes), bits


def _friction(source: SdfSource, element: XmlElement, changes: list[str]) -> float | None:
    ode = source.part(element, "surface", "friction", "ode")
    mu, across = source.number(ode, "mu"), source.number(ode, "mu2")
    if mu is None:
        if across is not None:
            changes.append("its friction across (`mu2`) is left out, because it has none along (`mu`)")
        return None
    if mu < 0.0:
        changes.append("its friction is negative and left out")
        return None
    if across not in (None, mu):
        changes.append(f"its friction of {mu:g} holds in all directions")
    return mu


def _torsion(source: SdfSource, element: XmlElement, changes: list[str]) -> float:
    """Torsional friction [m]: torque per normal force."""
    part = source.part(element, "surface", "friction", "torsional")
    coefficient = source.number(part, "coefficient", default=0.0 if part is None else 1.0)
    radius = source.number(part, "patch_radius", default=0.0)
    is_patch = part is None or source.truth(part, "use_patch_radius", True)
    if coefficient > 0.0 and not (is_patch and radius > 0.0):
        source.number(part, "surface_radius")
        changes.append("its torsional friction is left out, because it has no `patch_radius` of its own")
        return 0.0
    return _PATCH * max(coefficient, 0.0) * max(radius, 0.0)


def _bounce(source: SdfSource, element: XmlElement, changes: list[str]) -> float:
    """Coefficient of restitution, 0 to 1."""
    bounce = source.part(element, "surface", "bounce")
    found = source.number(bounce, "restitution_coefficient", default=0.0)
    threshold = source.number(bounce, "threshold")
    if threshold and found:
        changes.append(f"bounces from any speed on, not from {threshold:g} m/s: see `solver.contact.restitution_threshold`")
    if not 0.0 <= found <= 1.0:
        changes.append(f"its restitution of {found:g} is taken as {min(max(found, 0.0), 1.0):g}")
    return min(max(found, 0.0), 1.0)


def _bits(source: SdfSource, mask: XmlElement) -> int:
    """A mask, decimal or hexadecimal."""
    try:
        return int(mask.text, 0) & ALL_BITS
    except ValueError:
        return int(source.numbers(mask, 1)[0]) & ALL_BITS


_WATER = 1000.0  # [kg/m^3], density where a file gives none
_SIZES = {
    "box": "size",
    "sphere": "radius",
    "cylinder": "radius length",
    "capsule": "radius length",
    "cone": "radius length",
    "ellipsoid": "radii",
}


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
            vertices, faces = source.meshes.triangles_of(words["file"])
            factors = np.asarray(words.get("scale", 1.0), float) * np.ones(3)
            return mesh_properties(vertices * factors, faces if factors.prod() > 0.0 else faces[:, ::-1])
        except MeshError as error:
            raise WeightlessError(f"mesh of `{element.get('name')}`: {error}") from None
    if kind not in _SIZES:
        raise WeightlessError(f"`{element.get('name')}` is a {kind}, which has no volume")
    sizes = np.concatenate([np.atleast_1d(words[key]) for key in _SIZES[kind].split()])
    return shape_properties(ShapeKind[kind.upper()], np.concatenate([sizes, np.zeros(3 - len(sizes))]))


_FORMS = {
    "box": (("size", 3),),
    "sphere": (("radius", 1),),
    "cylinder": (("radius", 1), ("length", 1)),
    "capsule": (("radius", 1), ("length", 1)),
    "cone": (("radius", 1), ("length", 1)),
    "ellipsoid": (("radii", 3),),
}


def read_link(source: SdfSource, element: XmlElement, link: SourceLink, is_static: bool) -> None:
    """Mass and shapes of a link.

    Args:
        source: the file.
        element: the link.
        link: completed in place.
        is_static: whether its model does not move.
    """
    if not is_static:
        _read_inertial(source, element, link)
    elif (inertial := element.child("inertial")) is not None:
        source.lose("inertial", link.name, inertial, "a static model does not move", is_note=True)
    names = GivenNames(())
    for one in (*element.all("collision"), *element.all("visual")):
        _read_shape(source, one, link, names)
    if source.truth(element, "kinematic", False):
        source.lose("kinematic", link.name, element.child("kinematic"), "it is moved by a plugin, which scenes do not have")
    if not source.truth(element, "gravity", True) and not is_static:
        link.words["gravity_compensation"] = 1
        source.report_element("gravity", link.name, element.child("gravity"), "`gravity_compensation: 1`")


def _read_inertial(source: SdfSource, element: XmlElement, link: SourceLink) -> None:
    inertial = source.part(element, "inertial")
    link.mass = source.number(inertial, "mass", default=1.0)
    inertia = source.part(inertial, "inertia")
    xx, yy, zz = (source.number(inertia, key, default=1.0) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (source.number(inertia, key, default=0.0) for key in ("ixy", "ixz", "iyz"))
    origin = SourceFrame()
    if inertial is not None:
        origin, named = source.pose(inertial)
        if named:
            source.lose("pose", link.name, inertial.child("pose"), f"is taken in the link, not in `{named}`")
    link.com = origin.xyz
    link.inertia = in_outer_axes(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), origin)
    if inertial is None:
        source.report_element("inertial", link.name, element, "is missing: 1 kg and 1 kg m^2, as the format has it")
        return
    if inertial.get("auto").lower() in TRUE:
        _weigh(source, element, inertial, link)
        return
    changes = [] if inertial.child("mass") is not None else ["has no mass: 1 kg, as the format has it"]
    changes += [] if inertia is not None else ["has no inertia: 1 kg m^2, as the format has it"]
    source.report_element("inertial", link.name, inertial, "; ".join(changes))


def _weigh(source: SdfSource, element: XmlElement, inertial: XmlElement, link: SourceLink) -> None:
    """An inertial that is `auto`: that of the shapes, or what the file gives beside it where they have none."""
    try:
        weigh_shapes(source, inertial, link, [(one, *_placed_form(source, one, link)) for one in element.all("collision")])
    except WeightlessError as error:
        report = f"`auto`: {error}; mass and inertia are those that the file gives, or 1 kg and 1 kg m^2"
        source.lose("inertial", link.name, inertial, report)
        return
    given = [tag for tag in ("pose", "inertia") if inertial.child(tag) is not None]
    source.report_element(
        "inertial",
        link.name,
        inertial,
        " and ".join(["`auto`: that of its shapes"] + [f"without its own {tag}" for tag in given]),
    )


def _placed_form(source: SdfSource, element: XmlElement, link: SourceLink) -> tuple[dict, SourceFrame]:
    """The geometry of a collision as a scene writes it, and its frame in the link."""
    frame, named = source.pose(element)
    form = source.form_of(element)
    forms, said = ([], "has no geometry") if form is None else _forms(source, form, link, True)
    if not forms or named:
        why = said if not forms else f"its pose is in the frame `{named}`"
        raise WeightlessError(f"`{element.get('name')}`: {why}")
    return forms[0].words, frame


def _read_shape(source: SdfSource, element: XmlElement, link: SourceLink, names: GivenNames) -> None:
    name, collides = element.get("name") or element.tag, element.tag == "collision"
    frame, named = source.pose(element)
    form, forms = source.form_of(element), []
    if named:
        said = f"its pose is in the frame `{named}`: write it in its link"
    elif form is None or form.tag == "empty":
        said = "has no geometry"
    else:
        forms, said = _forms(source, form, link, collides)
    if not forms:
        source.lose(element.tag, f"{link.name}/{name}", element, said)
        return
    colour, opacity = _colour(source, element)
    material, change, mask = read_surface(source, element) if collides else ("", "", ALL_BITS)
    shapes = []
    for one in forms:  # as Gazebo has it: a material is instead of the colours of a mesh
        own, words = (opacity if colour else opacity * one.opacity), one.words | ({"material": material} if material else {})
        shapes.append(
            SourceShape(name, words, frame, collides, element.line, colour or one.colour, own, home=link.name, mask=mask)
        )
    hull = HULL if collides and forms[0].words["type"] == "mesh" else ""
    source.add_shapes(link, shapes, element, names, "; ".join(filter(None, (hull, said, change))))


def _forms(source: SdfSource, form: XmlElement, link: SourceLink, collides: bool) -> tuple[list[ReadForm], str]:
    """A geometry, several of a mesh with colours, and what is changed in it; none with the reason why there is none."""
    if form.tag in _FORMS:
        words: dict = {"type": form.tag}
        for key, count in _FORMS[form.tag]:
            part = source.part(form, key)
            if part is None:
                return [], f"the {form.tag} has no {key}"
            found = source.numbers(part, count)
            words[key] = list(found) if count > 1 else found[0]
        sizes = np.concatenate([np.atleast_1d(words[key]) for key, _ in _FORMS[form.tag]])
        return ([ReadForm(words)], "") if (sizes > 0.0).all() else ([], "a geometry without extent")
    if form.tag == "plane":
        if link.name != WORLD_NAME:
            return [], "planes are of the world: make the model static"
        return [ReadForm({"type": "plane", "normal": list(source.vector(form, "normal", (0.0, 0.0, 1.0)))})], ""
    if form.tag == "mesh":
        return _mesh(source, form, collides)
    return [], f"a geometry `{form.tag}`"


def _mesh(source: SdfSource, form: XmlElement, collides: bool) -> tuple[list[ReadForm], str]:
    if form.child("submesh") is not None:
        return [], "mesh: scenes take whole meshes, not a submesh"
    uri = source.part(form, "uri")
    forms, said = source.mesh(uri.text if uri is not None else "", collides)
    for one in forms:
        put_scale(one.words, source.vector(form, "scale", (1.0, 1.0, 1.0)))
    return forms, said


def _colour(source: SdfSource, element: XmlElement) -> tuple[str, float]:
    material = source.part(element, "material")
    opacity = 1.0 - min(max(source.number(element, "transparency", default=0.0), 0.0), 1.0)
    chosen = source.part(material, "diffuse") or source.part(material, "ambient")
    if chosen is None:
        return "", opacity
    numbers = source.numbers(chosen, len(chosen.text.split()) if len(chosen.text.split()) == 3 else 4)
    return hex_colour(numbers[:3]), opacity * (min(max(numbers[3], 0.0), 1.0) if len(numbers) == 4 else 1.0)
