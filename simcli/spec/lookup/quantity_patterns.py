"""Which quantities a pattern of `output.quantities` means: of joints with dofs, sensors, contacts and distances."""

from collections.abc import Iterator
from itertools import combinations

from simcli.spec.base.channel_names import CHANNEL_GROUPS, ON_DEMAND, QUANTITY_TYPES, canonical, split_name
from simcli.spec.base.patterns import is_pattern, matching
from simcli.spec.schema.scene import SceneSpec

NO_DISTANCE = ("heightfield",)  # shapes


def channel_of(text: str) -> str:
    """The key of `output.channels` that holds the quantities which a pattern means; "" of those on demand."""
    group, _, word = split_name(text)
    return QUANTITY_TYPES[group][word].channel if word in CHANNEL_GROUPS.get(group, ()) else ""


def written_quantities(spec: SceneSpec) -> tuple[str, ...]:
    """The names of `output.quantities` in their one spelling, each once, with those that its patterns mean."""
    names = (one for text in spec.output.quantities or () for one in meant_quantities(spec, text))
    return tuple(dict.fromkeys(names))


def meant_quantities(spec: SceneSpec, text: str) -> Iterator[str]:
    """What a name or pattern means; of what is no pattern itself, and nothing of what a channel holds."""
    if not is_pattern(text):
        yield canonical(text)
        return
    group, subject, word = split_name(text)
    if group == "joint" and word in ON_DEMAND["joint"]:
        names = [name for name, joint in spec.joints.items() if joint.dof_kinds]  # others have no component
        yield from (f"joint.{names[k]}.{word}" for k in matching(names, subject))
    elif group == "sensor":
        names = [name for name, sensor in spec.sensors.items() if word in sensor.type]
        yield from (f"sensor.{names[k]}.{word}" for k in matching(names, subject))
    elif group == "distance":
        yield from (f"distance.{one}.{other}" for one, other in _pairs(spec, subject, word, NO_DISTANCE))
    elif group == "contact" and word in ON_DEMAND["contact"]:
        first, dot, second = subject.partition(".")
        if dot:
            yield from (f"contact.{one}.{other}.{word}" for one, other in _pairs(spec, first, second, ()))
        else:
            yield from (f"contact.{one}.{word}" for one in _bodies(spec, first, ()))


def _pairs(spec: SceneSpec, first: str, second: str, without: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Pairs of different bodies, each once; the world only where it is named."""
    ones, others = _bodies(spec, first, without), _bodies(spec, second, without)
    found: set[frozenset[str]] = set()
    pairs = combinations(ones, 2) if ones == others else ((one, other) for one in ones for other in others)
    for one, other in pairs:
        if one != other and (pair := frozenset((one, other))) not in found:
            found.add(pair)
            yield one, other


def _bodies(spec: SceneSpec, text: str, without: tuple[str, ...]) -> list[str]:
    """The bodies that a pattern means and that can touch, or a name as it is."""
    if not is_pattern(text):
        return [text]
    shapes = {name: [one.type for one in body.shapes.values() if one.collide] for name, body in spec.bodies.items()}
    names = [name for name, types in shapes.items() if types and not set(types) & set(without)]
    return [names[k] for k in matching(names, text)]
