"""Surfaces of collisions: friction, bounce, and which others they touch."""

import math

from simcli.exchange.sdf.source import SdfSource
from simcli.exchange.source.layers import ALL_BITS
from simcli.exchange.source.xml_reader import XmlElement

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
