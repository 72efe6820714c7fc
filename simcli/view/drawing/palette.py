"""Colours of what a scene gives none: told apart by people of all kinds of colour vision, the same in all worlds."""

from simcli.spec.schema.shape import COLOURS, rgb

Colour = tuple[float, float, float]  # sRGB, 0 to 1
# Okabe and Ito (2008) without black; neighbours in this order differ in lightness, too.
_BODIES = tuple(rgb(COLOURS[name]) for name in ("blue", "orange", "green", "vermilion", "sky", "purple", "yellow"))
_STEP = 0.35  # how far each further round of the list is moved towards white, then towards black
FIXED = rgb("#9aa3ae")  # what belongs to the world
GROUND_COLOUR = rgb("#c9ced6")
METAL = rgb("#4a525e")  # joints
PIN = rgb("#e3e7ec")  # the moving part within a joint
AXIS_COLOURS = tuple(rgb(colour) for colour in ("#d1495b", "#3a9d5d", "#2f6fb7"))  # x, y, z of a frame
AXIS_COLOUR = rgb("#d6336c")
MASS = rgb("#1f2733")
SPRING = rgb("#7d8b9b")


def of_body(index: int) -> Colour:
    """The colour of a body by its index, -1 for the world."""
    if index < 0:
        return FIXED
    turn, place = divmod(index, len(_BODIES))
    base = _BODIES[place]
    if turn % 3 == 0:
        return base
    towards = 1.0 if turn % 3 == 1 else 0.0
    return tuple(value + _STEP * (towards - value) for value in base)
