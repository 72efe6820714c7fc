"""Links of URDF: mass, shapes, and the materials that they are seen in."""

import numpy as np

from simcli.errors import FileError
from simcli.exchange.source.mechanism import (
    GivenNames,
    SourceLink,
    SourceShape,
    hex_colour,
    in_outer_axes,
    words_of_renaming,
)
from simcli.exchange.source.xml_reader import XmlElement
from simcli.exchange.source.xml_source import HULL, put_scale
from simcli.exchange.urdf.source import UrdfSource
from simcli.spec.lookup.structure import WORLD_NAME

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_urdf_links(source: UrdfSource) -> None:
    """All links, and the materials that they name.

    Args:
        source: the file; its mechanism gets the links.
    """
    for element in source.root.all("material"):
        _material(source, element)
    _find_colours(source)
    for element in source.root.all("link"):
        _link(source, element)


def _material(source: UrdfSource, element: XmlElement) -> None:
    colour = source.part(element, "color")
    if colour is not None:
        source.colours[element.get("name")] = source.numbers(colour, "rgba", 4, (1.0, 1.0, 1.0, 1.0))
    source.materials.add(element.get("name"))
    source.report_element("material", element.get("name"), element)


def _find_colours(source: UrdfSource) -> None:
    """Materials that links define, which others may name before and after them."""
    for visual in (one for link in source.root.all("link") for one in link.all("visual")):
        for material in (one for one in visual.all("material") if one.children):
            source.materials.add(material.get("name"))
            if (colour := material.child("color")) is not None and material.get("name"):
                source.colours.setdefault(material.get("name"), source.numbers(colour, "rgba", 4, (1.0,) * 4))


def _link(source: UrdfSource, element: XmlElement) -> None:
    mechanism, before = source.mechanism, source.named(element)
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
    for one in (*element.all("collision"), *element.all("visual")):
        _shape(source, one, link, names)


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


def _shape(source: UrdfSource, element: XmlElement, link: SourceLink, names: GivenNames) -> None:
    name, collides, frame = element.get("name") or element.tag, element.tag == "collision", source.origin(element)
    form = source.form_of(element)
    words, why = (None, "has no geometry") if form is None else _form(source, form, collides)
    if words is None:
        source.lose(element.tag, f"{link.name}/{name}", element, why)
        return
    colour, opacity, lost = _colour(source, element)
    shape = SourceShape(name, words, frame, collides, element.line, colour, opacity, home=link.name)
    source.place_shape(link, shape, element, names, HULL if collides and words["type"] == "mesh" else lost)


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
    words, why = source.mesh(form.get("filename"), collides)
    if words is not None:
        put_scale(words, source.numbers(form, "scale", 3, (1.0, 1.0, 1.0)))
    return words, why


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
