"""Names of the keys that the schema knows at a path, and of the quantities that a pattern means."""

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import combinations
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from simcli.spec.base.channel_names import CHANNEL_GROUPS, ON_DEMAND, QUANTITY_TYPES, canonical, split_name
from simcli.spec.base.nodes import PathStep
from simcli.spec.base.patterns import is_pattern, matching
from simcli.spec.schema.scene import AUTHORING, SceneSpec
from simcli.spec.schema.sweep import SweepSpec
from simcli.spec.values.spec_model import SpecModel

_ENTRY_PARTS = (list, tuple)
SWEEP_ROOT = "sweep"  # first step of the paths of a sweep file, which is no scene


def known_keys(path: tuple[PathStep, ...], tag: str = "") -> list[str]:
    """Keys that the mapping at a path may have; empty where the names are the user's.

    Args:
        path: of the mapping.
        tag: its `type`, which leaves out the keys of the others; "" takes all of them.
    """
    if not path:
        return [*fields(SceneSpec), *AUTHORING]
    parts = parts_at(path)
    chosen = [part for part in parts if tag in get_args(fields(part).get("type"))] or parts
    return list(dict.fromkeys(name for part in chosen for name in fields(part)))


def parts_at(path: tuple[PathStep, ...]) -> list[type[SpecModel]]:
    """The classes that the mapping at a path may have."""
    return [part for kind in kinds_at(path) for part in models(kind)]


def is_named(path: tuple[PathStep, ...]) -> bool:
    """Whether the keys of the mapping at a path are names that the user chooses."""
    return any(get_origin(one) is dict for kind in kinds_at(path) for one in alternatives(kind))


def described(path: tuple[PathStep, ...], key: str) -> tuple[Any, str] | None:
    """Annotation and description of a key of the mapping at a path; None if it is not known."""
    for part in parts_at(path) if path else [SceneSpec]:
        for name, field in part.model_fields.items():
            if key == (field.alias or name):
                return field.annotation, field.description or ""
    return None


@lru_cache(maxsize=4096)
def kinds_at(path: tuple[PathStep, ...]) -> list[Any]:
    """The annotations of what stands at a path."""
    if not path:
        return [SceneSpec]
    if path[0] == SWEEP_ROOT:
        kinds, rest = [SweepSpec], path[1:]
    elif path[0] in AUTHORING:
        kinds, rest = [AUTHORING[path[0]]], path[1:]
    else:
        kinds, rest = [SceneSpec], path
    for step in rest:
        kinds = [one for kind in kinds for one in below(kind, step)]
    return kinds


@cache
def fields(model: type[SpecModel]) -> dict[str, Any]:
    """Annotations of a class by the keys of a scene."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def below(kind: Any, step: PathStep) -> list[Any]:
    """Annotations one step below an annotation."""
    found = []
    for one in alternatives(kind):
        origin = get_origin(one)
        if isinstance(one, type) and issubclass(one, SpecModel):
            if str(step) in fields(one):
                found.append(fields(one)[str(step)])
        elif origin is dict:
            found.append(get_args(one)[1])
        elif origin in _ENTRY_PARTS and isinstance(step, int):
            found.append(get_args(one)[0])
        elif origin in _ENTRY_PARTS:
            # One entry may stand without its list (`limit`, `drive`, `motion`).
            found.extend(below(get_args(one)[0], step))
    return found


def models(kind: Any) -> list[type[SpecModel]]:
    """The classes that an annotation names, those in lists too."""
    found = []
    for one in alternatives(kind):
        if isinstance(one, type) and issubclass(one, SpecModel):
            found.append(one)
        elif get_origin(one) in _ENTRY_PARTS:
            found.extend(models(get_args(one)[0]))
    return found


def alternatives(kind: Any) -> list[Any]:
    """An annotation without Annotated, and the members of a union."""
    origin = get_origin(kind)
    if origin is Annotated:
        return alternatives(get_args(kind)[0])
    if origin in (Union, UnionType):
        return [one for member in get_args(kind) for one in alternatives(member)]
    return [kind]


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
