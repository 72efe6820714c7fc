"""Names of the keys that the schema knows at a path, read from the schema itself."""

from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from simcli.spec.nodes import Step
from simcli.spec.quantities import Part
from simcli.spec.schema import AUTHORING, SceneSpec

_ENTRY_PARTS = (list, tuple)


def known_keys(path: tuple[Step, ...]) -> list[str]:
    """Keys that the mapping at a path may have; empty where the names are the user's."""
    if not path:
        return [*fields(SceneSpec), *AUTHORING]
    if path[0] in AUTHORING:
        kinds, rest = [AUTHORING[path[0]]], path[1:]
    else:
        kinds, rest = [SceneSpec], path
    for step in rest:
        kinds = [one for kind in kinds for one in below(kind, step)]
    names: list[str] = []
    for kind in kinds:
        for model in models(kind):
            names.extend(name for name in fields(model) if name not in names)
    return names


@cache
def fields(model: type[Part]) -> dict[str, Any]:
    """Annotations of a class by the keys of a scene."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def below(kind: Any, step: Step) -> list[Any]:
    """Annotations one step below an annotation."""
    found = []
    for one in alternatives(kind):
        origin = get_origin(one)
        if isinstance(one, type) and issubclass(one, Part):
            if str(step) in fields(one):
                found.append(fields(one)[str(step)])
        elif origin is dict:
            found.append(get_args(one)[1])
        elif origin in _ENTRY_PARTS and isinstance(step, int):
            found.append(get_args(one)[0])
        elif origin in _ENTRY_PARTS:
            # One entry may stand without its list (`limit`, `drive`).
            found.extend(below(get_args(one)[0], step))
    return found


def models(kind: Any) -> list[type[Part]]:
    """The classes that an annotation names, those in lists too."""
    found = []
    for one in alternatives(kind):
        if isinstance(one, type) and issubclass(one, Part):
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
