"""Colours and opacities of the shapes of a link, as scenes say them.

A body has one colour and one opacity for its shapes that collide; shapes that are only seen have their own.
"""

from collections.abc import Iterator

from simcli.exchange.mechanism import SourceLink, SourceShape

PLANE_LOOK = "a plane that is only seen, which scenes have not"


def body_look(shapes: list[SourceShape]) -> dict:
    """Colour and opacity of a body whose shapes these are."""
    solid, seen = [one for one in shapes if one.collides], [one for one in shapes if not one.collides]
    found: dict = {}
    for colours in ({one.colour for one in solid} - {""}, {one.colour for one in seen}):
        if "colour" not in found and len(colours) == 1 and "" not in colours:
            found["colour"] = colours.pop()
    opacities = {one.opacity for one in solid}
    return found | ({"opacity": opacities.pop()} if len(opacities) == 1 and opacities != {1.0} else {})


def own_look(shape: SourceShape, look: dict) -> dict:
    """What a shape that is only seen says of itself, beside its body."""
    words = {"colour": shape.colour} if shape.colour not in ("", look.get("colour")) else {}
    return words | ({"opacity": shape.opacity} if shape.opacity != look.get("opacity", 1.0) else {})


def lost_looks(link: SourceLink) -> Iterator[tuple[SourceShape, str]]:
    """Shapes that collide and whose colour or opacity the body does not have, and what a report says of each."""
    look = body_look(link.shapes)
    for shape in (one for one in link.shapes if one.collides):
        lost = own_look(shape, look)
        if lost:
            what = " and ".join(f"the {key} {value}" for key, value in lost.items())
            yield shape, f"without {what}: shapes of a body that collide have one colour and one opacity"
