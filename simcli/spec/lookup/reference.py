"""The reference of the scene file, made from the schema: every key with its meaning, unit, default and an example."""

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from simcli.errors import UsageError
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.lookup.keys import alternatives, below, fields, models
from simcli.spec.schema.scene import AUTHORING, AUTHORING_WORDS, SceneSpec
from simcli.spec.values.spec_model import SpecModel

ABOUT = "The keys of a scene file; below a key: `simcli docs joints`, `simcli docs joints.limit`."
EXAMPLE = ". Example: "
_STAR = re.compile(r"(`[^`]*`)|\*")
_UNITS = (
    'Plain numbers are SI, angles in radians; any number may be a text with its unit: `"5 cm"`, `"90 deg"`, `"120 rpm"`.'
)


def overview() -> str:
    """The top-level keys of a scene, as Markdown."""
    written = [f"- `{name}`: {_meaning(SceneSpec.model_fields[name])}" for name in SceneSpec.model_fields]
    gone = [f"- `{name}`: {_sentence(*words.split(EXAMPLE))}" for name, words in AUTHORING_WORDS.items()]
    return "\n\n".join(["# The scene file", ABOUT, _UNITS, "\n".join(written), "## To write less", "\n".join(gone)])


def section(topic: str) -> str:
    """What stands below a key, as Markdown.

    Args:
        topic: a dotted path without names of bodies, joints and the like: `joints`, `joints.limit`, `forces.spring`.

    Raises:
        UsageError: the scene format has no such key.
    """
    steps = topic.split(".")
    kinds: list[Any] = [SceneSpec]
    for depth, step in enumerate(steps):
        if depth == 0 and step in AUTHORING:
            found = [AUTHORING[step]]
        else:
            found = [one for kind in kinds for one in below(kind, step)] or _tagged(kinds, step)
        if not found:
            known = list(AUTHORING) if depth == 0 else []
            known += [name for kind in kinds for model in models(kind) for name in fields(model)]
            hint = did_you_mean(step, list(dict.fromkeys(known)), "keys")
            raise UsageError(f"the scene has no key `{'.'.join(steps[: depth + 1])}`; {hint}")
        kinds = [one for kind in found for one in _without_names(kind)]
    parts = list(_parts(kinds))
    if not parts:
        owner = section(".".join(steps[:-1])) if len(steps) > 1 else overview()
        line = next(line for line in owner.splitlines() if line.startswith(f"- `{steps[-1]}`:"))
        return f"# {topic}\n\n{line}"
    return "\n\n".join([f"# {topic}", *(_paragraph(part) for part in parts)])


def places_of(word: str) -> list[str]:
    """Topics of `section` that end with a key or a `type` wherever the scene format has it, the shortest first."""
    waiting: list[tuple[str, Any]] = [("", SceneSpec)]
    seen: set[type[SpecModel]] = set()
    found: list[str] = []
    while waiting:
        path, kind = waiting.pop(0)
        for part in (model for one in _without_names(kind) for model in models(one)):
            if part in seen:
                continue
            seen.add(part)
            if word in _types(part):
                found.append(f"{path}.{word}")
            for key, annotation in fields(part).items():
                inner = f"{path}.{key}" if path else key
                found += [inner] if key == word else []
                waiting.append((inner, annotation))
    return sorted(dict.fromkeys(found), key=lambda path: path.count("."))


def _types(part: type[SpecModel]) -> tuple[Any, ...]:
    """What `type` may be in a class; () where it has none."""
    kinds = alternatives(fields(part).get("type"))
    return tuple(name for kind in kinds if get_origin(kind) is Literal for name in get_args(kind))


def _tagged(kinds: list[Any], word: str) -> list[type[SpecModel]]:
    """The classes below some annotations that a `type` chooses."""
    return [model for kind in kinds for model in models(kind) if word in _types(model)]


def _without_names(kind: Any) -> Iterator[Any]:
    """A mapping from names to parts as its parts."""
    for one in alternatives(kind):
        if get_origin(one) is dict:
            yield from _without_names(get_args(one)[1])
        else:
            yield one


def _parts(kinds: list[Any]) -> Iterator[type[SpecModel]]:
    """The classes below some annotations, each once, nearest first."""
    waiting = [model for kind in kinds for model in models(kind)]
    seen: set[type[SpecModel]] = set()
    while waiting:
        part = waiting.pop(0)
        if part in seen:
            continue
        seen.add(part)
        yield part
        waiting += [model for field in fields(part).values() for kind in _without_names(field) for model in models(kind)]


def _paragraph(part: type[SpecModel]) -> str:
    rows = [f"- `{field.alias or name}`: {_meaning(field)}" for name, field in part.model_fields.items()]
    return f"## {title(part)}\n\n{_first_line(part)}\n\n" + "\n".join(rows)


def title(part: type[SpecModel]) -> str:
    """A heading for a class of the schema: `Joint`, `Box shape`."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in part.__name__.removesuffix("Spec"))
    return words.strip().capitalize()


def _first_line(kind: Any) -> str:
    parts = [model for one in _without_names(kind) for model in models(one)]
    return (parts[0].__doc__ or "").strip().splitlines()[0] if parts else "See the pages of the format."


def _meaning(field: Any) -> str:
    """The description of a field with its default."""
    text, _, example = (field.description or "").partition(EXAMPLE)
    default = None if field.is_required() else field.default
    plain = isinstance(default, bool | int | float) or (isinstance(default, str) and default)
    choices = [name for kind in alternatives(field.annotation) if get_origin(kind) is Literal for name in get_args(kind)]
    if len(choices) > 1:
        text += f"; one of {', '.join(map(str, choices))}"
    if field.is_required():
        text += " (required)"
    elif plain and "default" not in text:
        spelled = f"{default:g}" if isinstance(default, float) else str(default)
        text += f" (default {spelled.lower() if isinstance(default, bool) else spelled})"
    return _sentence(text, example)


def literal_stars(text: str) -> str:
    """A text as Markdown in which stars are stars, as in the unit N*m*s/rad; code stays as it is."""
    return _STAR.sub(lambda found: found[1] or r"\*", text)


def _sentence(text: str, example: str = "") -> str:
    text = literal_stars(text)
    return f"{text}{EXAMPLE}`{example}`" if example else f"{text}."
