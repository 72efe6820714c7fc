"""Links that a joint of the source connects do not touch, also where one of them has become a part of the world.

Links of static models, and links without mass that hang fixed on the world, give it their shapes. A joint of a scene with
the world parts nothing, so that the scene excludes the pairs that the joint of the source keeps apart.
"""

from simcli.exchange.mechanism import SourceModel, SourceShape
from simcli.spec.lookup.structure import WORLD_NAME


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
