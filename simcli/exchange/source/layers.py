"""Which of the shapes that are read touch: layers, masks of bits, and neighbours that a joint of the source connects.

Parts of a model do not touch each other. What a user adds is in the layer `default` and touches all of them.

Links of static models, and links without mass that hang fixed on the world, give it their shapes. A joint of a scene with
the world parts nothing, so that the scene excludes the pairs that the joint of the source keeps apart.
"""

from simcli.exchange.source.mechanism import SourceModel, SourceShape
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.shape import DEFAULT_LAYER

ALL_BITS = 0xFFFF  # of a mask that is not written


def set_layers(mechanism: SourceModel) -> bool:
    """Write the layers of all shapes that collide.

    Two shapes touch if their masks share a bit and they are not of one group.

    Args:
        mechanism: as it was read; completed in place.

    Returns:
        Whether some shapes of a model do not touch each other.
    """
    shapes = [shape for link in mechanism.links.values() for shape in link.shapes if shape.collides]
    for shape in mechanism.links[WORLD_NAME].shapes:  # what stands still is the world, whatever file it comes from
        shape.group = ""
    groups, classes = list(dict.fromkeys(["", *(shape.group for shape in shapes)])), _classes(shapes)
    own = {id(shape): [name for name, held in classes.items() if id(shape) in held] for shape in shapes}
    named = {_layer(shape.group, name) for shape in shapes for name in own[id(shape)]}
    for shape in shapes:
        layers = [_layer(shape.group, name) for name in own[id(shape)]]
        others = [group for group in groups if group != shape.group or not group]
        touches = [layer for group in others for name in own[id(shape)] if (layer := _layer(group, name)) in named]
        if not shape.mask:
            shape.words["collide"] = False
        elif (layers, touches) != ([DEFAULT_LAYER], [DEFAULT_LAYER]):
            shape.words |= {"layers": layers, "touches": list(dict.fromkeys([DEFAULT_LAYER, *touches]))}
    return len(groups) > 1


def _layer(group: str, name: str) -> str:
    """The layer of a group and of a set of bits."""
    return "_".join(part for part in (group, "" if group and name == DEFAULT_LAYER else name) if part)


def _classes(shapes: list[SourceShape]) -> dict[str, frozenset[int]]:
    """Sets of shapes that share a bit of their masks, by name; bits that the same shapes have are one."""
    masked = [shape for shape in shapes if shape.mask]
    held = [frozenset(id(shape) for shape in masked if shape.mask >> bit & 1) for bit in range(ALL_BITS.bit_length())]
    found = [one for one in dict.fromkeys(held) if one]
    return {DEFAULT_LAYER if len(one) == len(masked) else f"mask_{k}": one for k, one in enumerate(found)}


def part_neighbours(mechanism: SourceModel) -> None:
    """Exclude the shapes of the world whose links were neighbours of a link that can touch them.

    Args:
        mechanism: lumped; its section `contact` is completed.
    """
    parting = mechanism.parting()
    solid = [shape for shape in mechanism.links[WORLD_NAME].shapes if shape.collides]
    exclude = []
    for link in mechanism.links.values():
        own = [shape for shape in link.shapes if shape.collides]
        if parting.parts(WORLD_NAME, link.name) or not own:
            continue
        for shape in solid:
            near = [one for one in own if frozenset((one.home, shape.home)) in mechanism.neighbours]
            exclude += [[name, shape.name] for name in _names_of(link.name, own, near)]
    if exclude:
        mechanism.sections.setdefault("contact", {}).setdefault("exclude", []).extend(exclude)


def _names_of(body: str, own: list[SourceShape], near: list[SourceShape]) -> list[str]:
    """A body, if all of its shapes are meant, or the names of its shapes."""
    return [body] if len(near) == len(own) else [f"{body}/{shape.name}" for shape in near]
