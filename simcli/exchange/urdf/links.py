"""Links of URDF: mass, shapes, and the materials that they are seen in."""

import numpy as np

from simcli.errors import FileError
from simcli.exchange.source.mechanism import (
    GivenNames,
    SourceFrame,
    SourceLink,
    SourceModel,
    SourceShape,
    hex_colour,
    in_outer_axes,
    words_of_renaming,
)
from simcli.exchange.source.meshes import LostMeshError
from simcli.exchange.source.xml_reader import XmlElement
from simcli.exchange.urdf.source import UrdfSource
from simcli.spec.lookup.structure import WORLD_NAME

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_urdf_links(source: UrdfSource, mechanism: SourceModel) -> None:
    """All links, and the materials that they name.

    Args:
        source: the file.
        mechanism: gets the links.
    """
    for element in source.root.all("material"):
        _material(source, element)
    _find_colours(source)
    for element in source.root.all("link"):
        _link(source, element, mechanism)


def _material(source: UrdfSource, element: XmlElement) -> None:
    source.known.add(id(element))
    colour = source.part(element, "color")
    if colour is not None:
        source.colours[element.get("name")] = source.numbers(colour, "rgba", 4, (1.0, 1.0, 1.0, 1.0))
    source.materials.add(element.get("name"))
    source.report.carried("material", element.get("name"), element.line)


def _find_colours(source: UrdfSource) -> None:
    """Materials that links define, which others may name before and after them."""
    for visual in (one for link in source.root.all("link") for one in link.all("visual")):
        for material in (one for one in visual.all("material") if one.children):
            source.materials.add(material.get("name"))
            if (colour := material.child("color")) is not None and material.get("name"):
                source.colours.setdefault(material.get("name"), source.numbers(colour, "rgba", 4, (1.0,) * 4))


def _link(source: UrdfSource, element: XmlElement, mechanism: SourceModel) -> None:
    source.known.add(id(element))
    before = source.given(element)
    if before in source.links.of:
        raise FileError(f"{source.at(element)}: a second link `{before}`")
    if before == WORLD_NAME:
        name = source.links.of.setdefault(WORLD_NAME, WORLD_NAME)
        link = mechanism.links[WORLD_NAME]
        link.line = element.line
    else:
        name = source.links.give(before, "link")
        link = mechanism.links[name] = SourceLink(name, element.line)
    source.report_element("link", name, element, words_of_renaming(before, name))
    inertial = source.part(element, "inertial")
    if inertial is not None:
        _inertial(source, inertial, link)
    if name == WORLD_NAME and link.mass is not None:
        source.report.withdraw(("inertial",), WORLD_NAME, "the world does not move", is_note=True)
    names = GivenNames(())
    for kind in ("collision", "visual"):
        for one in element.all(kind):
            _shape(source, one, kind, link, names)


def _inertial(source: UrdfSource, element: XmlElement, link: SourceLink) -> None:
    origin = source.origin(element)
    mass, inertia = source.part(element, "mass"), source.part(element, "inertia")
    link.mass = source.number(mass, "value", None) if mass is not None else 0.0
    link.com = origin.xyz
    changes = [] if mass is not None else ["has no mass: 0 kg"]
    if inertia is not None:
        missing = [f"`{key}`" for key in _MOMENTS if not inertia.get(key).strip()]
        changes += [f"{', '.join(missing)} missing: 0"] if missing else []
        xx, xy, xz, yy, yz, zz = (source.number(inertia, key, 0.0) for key in _MOMENTS)
        link.inertia = in_outer_axes(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), origin)
    elif link.mass:
        changes.append("has no inertia: a point mass")
    source.report_element("inertial", link.name, element, "; ".join(changes))


def _shape(source: UrdfSource, element: XmlElement, kind: str, link: SourceLink, names: GivenNames) -> None:
    source.known.add(id(element))
    frame, geometry = source.origin(element), source.part(element, "geometry")
    form = next(iter(geometry.children), None) if geometry is not None else None
    label = f"{link.name}/{element.get('name') or kind}"
    if form is None:
        source.drop(kind, label, element, "has no geometry")
        return
    source.known.add(id(form))
    collides = kind == "collision"
    words, why = _form(source, form, collides)
    colour, opacity, lost = _colour(source, element)
    if words is None:
        source.drop(kind, label, element, why)
        return
    twin = None if collides else next(filter(lambda one: _is_same(one, words, frame), link.shapes), None)
    if twin is not None:  # what is seen is what collides
        twin.colour, twin.opacity, twin.seen_as = colour, opacity, label
        source.report_element(kind, label, element, lost)
        return
    name = names.give(element.get("name") or kind)
    link.shapes.append(SourceShape(name, words, frame, collides, element.line, colour, opacity, home=link.name))
    if collides and words["type"] == "mesh":
        lost = "collides as the convex hull of its mesh"
    source.report_element(kind, label, element, lost)


def _form(source: UrdfSource, form: XmlElement, collides: bool) -> tuple[dict | None, str]:
    """A geometry as a scene writes it; None with the reason why there is none."""
    if form.tag == "box":
        words = {"type": "box", "size": list(source.numbers(form, "size", 3, None))}
    elif form.tag == "sphere":
        words = {"type": "sphere", "radius": source.number(form, "radius", None)}
    elif form.tag in ("cylinder", "capsule"):
        words = {"type": form.tag} | {key: source.number(form, key, None) for key in ("radius", "length")}
    elif form.tag == "mesh":
        return _mesh(source, form, collides)
    else:
        return None, f"a geometry `{form.tag}`"
    sizes = np.array([number for key, value in words.items() if key != "type" for number in np.atleast_1d(value)])
    return (words, "") if (sizes > 0.0).all() else (None, "a geometry without extent")


def _mesh(source: UrdfSource, form: XmlElement, collides: bool) -> tuple[dict | None, str]:
    name = form.get("filename")
    try:
        words = {"type": "mesh", "file": source.meshes.take(name, collides)}
    except LostMeshError as error:
        return None, f"mesh: {error}"
    scale = source.numbers(form, "scale", 3, (1.0, 1.0, 1.0))
    if set(scale) != {1.0}:
        words["scale"] = scale[0] if len(set(scale)) == 1 else list(scale)
    return words, ""


def _colour(source: UrdfSource, element: XmlElement) -> tuple[str, float, str]:
    """Colour and opacity of a visual, and what is lost of its material."""
    material = source.part(element, "material")
    if material is None:
        return "", 1.0, ""
    name, own = material.get("name"), source.part(material, "color")
    rgba = source.numbers(own, "rgba", 4, (1.0,) * 4) if own is not None else source.colours.get(name)
    if rgba is None:
        is_known = name in source.materials or material.child("texture") is not None
        return "", 1.0, "" if is_known else f"its material `{name}` is defined nowhere: the shape has no colour"
    return hex_colour(rgba[:3]), min(max(rgba[3], 0.0), 1.0), ""


def _is_same(shape: SourceShape, words: dict, frame: SourceFrame) -> bool:
    """Whether a shape collides, has no colour of another visual yet, and is the same."""
    if not shape.collides or shape.seen_as:
        return False
    return shape.words == words and np.array_equal(shape.frame.xyz, frame.xyz) and shape.frame.words == frame.words
