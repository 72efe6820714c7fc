"""What to write instead: the hint of an unknown key, a missing key, a value of the wrong kind."""

import re
from typing import Any, Literal, get_args, get_origin

from simcli.spec.base.fault_list import did_you_mean, nearest_name
from simcli.spec.base.nodes import Node, PathStep, Scalar, TableNode, find
from simcli.spec.faults.synonyms import HALVES, KEYS, NOT_HERE, folded
from simcli.spec.lookup.keys import alternatives, described, is_named, known_keys
from simcli.spec.schema.batch import VARY_KINDS
from simcli.spec.schema.scene import ENTRY_SECTIONS, SceneSpec

_SINGLE = ("solver", "run", "output", "world", "batch", "initial", "contact")  # sections that are one mapping each
_GLUED = re.compile(r"([A-Za-z_]\w*):(.*)", re.DOTALL)
_NO_COLON = "a colon after the key"
_LACKING = {_GLUED: "a space after the colon", re.compile(r"([A-Za-z_]\w*)\s*([\[{].*)", re.DOTALL): _NO_COLON}


def unknown_key(path: tuple[PathStep, ...], key: str, root: Node | None = None) -> str:
    """The hint of a key that the mapping at a path does not have.

    Args:
        path: of the mapping.
        key: the unknown one.
        root: tree of the scene, which tells whether the key was meant for another mapping.
    """
    tag = tag_of(root, path)
    names = known_keys(path, tag)
    lacking = lacks_key(path, key, tag)
    if lacking:
        return f"write {lacking[2]}: `{lacking[0]}: {lacking[1][:30]}`"
    if folded(key) in NOT_HERE:
        return NOT_HERE[folded(key)]
    close = key_meant(path, key, tag) or nearest_name(key, names)
    elsewhere = _elsewhere(path, key)
    if close and (key not in elsewhere or key_meant(path, key, tag)):
        others = f", or {_listed(elsewhere[key])}?" if key in elsewhere else ""
        whole = ", which takes full lengths, not halves" if folded(key) in HALVES else "?"
        return f"did you mean `{close}`{others or whole}"
    found = [one for one in (_of_others(elsewhere), _aligned(path, key, root)) if one]
    return "; ".join(found) or did_you_mean(key, names, "keys")


def meant(path: tuple[PathStep, ...], key: str) -> str:
    """The key that an unknown one was meant for, "" if none is likely."""
    target = key_meant(path, key)
    return nearest_name(key, known_keys(path)) if not target else "" if "." in target else target


def lacks_key(path: tuple[PathStep, ...], key: str, tag: str = "") -> tuple[str, str, str] | None:
    """A key that has swallowed its value: the key, the value, and what lacks between them; None if it has not."""
    names = known_keys(path, tag)
    for pattern, what in _LACKING.items():
        found = pattern.match(key)
        if found and (found[1] in names or (is_named(path) and what == _NO_COLON)):
            return found[1], found[2], what
    return None


def key_meant(path: tuple[PathStep, ...], key: str, tag: str = "") -> str:
    """The key, or dotted path of one, that a word of other programs means at a path; "" if there is none."""
    names = known_keys(path, tag)
    for target in KEYS.get(folded(key), ()):
        head, _, rest = target.partition(".")
        if rest and head in SceneSpec.model_fields:
            if path in ((), (head,)):
                return rest if path else target
        elif head in names and (not rest or rest in known_keys((*path, head))):
            return target
    return ""


def _elsewhere(path: tuple[PathStep, ...], key: str) -> dict[str, list[str]]:
    """Where the format has a key: {key: dotted paths}, below the mapping of a path or in other sections; {} if nowhere."""
    inner = [f"{name}.{key}" for name in known_keys(path) if path and key in known_keys((*path, name))]
    if not inner and len(path) <= 1 and (not path or path[0] in _SINGLE):
        inner = [f"{section}.{key}" for section in _SINGLE if key in known_keys((section,))]
        inner += [key] if path and key in known_keys(()) else []
    return {key: inner} if inner else {}


def _of_others(elsewhere: dict[str, list[str]]) -> str:
    for paths in elsewhere.values():
        return f"did you mean {_listed(paths)}?"
    return ""


def _listed(paths: list[str]) -> str:
    return " or ".join(f"`{one}`" for one in paths[:3])


def _aligned(path: tuple[PathStep, ...], key: str, root: Node | None) -> str:
    """Where a key of the wrong indentation belongs: deeper, below the key before it, or further out; "" if nowhere."""
    table = find(root, path) if root is not None else None
    if not isinstance(table, TableNode) or key not in table.items:
        return ""
    value = table.items[key]
    mark = table.keys[key]
    above = [name for name, one in table.keys.items() if (one.file, one.line) < (mark.file, mark.line)]
    previous = max(above, key=lambda name: table.keys[name].line, default="")
    neighbour = table.items.get(previous)
    free = isinstance(neighbour, TableNode) and neighbour.items and key not in neighbour.items
    if free and hint_fits(value, (*path, previous), key):
        return f"align it with `{next(iter(neighbour.items))}`, below `{previous}`"
    for length in range(len(path) - 1, -1, -1):
        if hint_fits(value, path[:length], key):
            return f"align it with `{path[length]}`"
    return ""


def misplaced(path: tuple[PathStep, ...], node: Node, at: int) -> tuple[tuple[PathStep, ...], str] | None:
    """The name on a path that is a key of the format, which a wrong indentation has made a name.

    Args:
        path: of a fault in the scene.
        node: the part of the tree in which it is.
        at: number of steps to that part.

    Returns:
        The path of that name and the key it should align with; None if there is no such name.
    """
    for length in range(max(1, at), len(path)):
        key, value = str(path[length]), find(node, path[at : length + 1])
        if not is_named(path[:length]) or not (isinstance(value, TableNode) or _is_null(value)):
            continue
        for owner in (path[: length - 1], (*path[:length], "")):
            holds = known_keys((*owner, key))
            inner = set(getattr(value, "items", ()))
            if key in known_keys(owner) and (is_named((*owner, key)) or inner <= set(holds)):
                return path[: length + 1], "" if "" in owner else str(path[length - 1])
    return None


def _is_null(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.value is None


def hint_fits(value: Node, path: tuple[PathStep, ...], key: str) -> bool:
    """Whether a key with its value belongs into the mapping at a path."""
    if not is_named(path):
        return key in known_keys(path)
    known = set(known_keys((*path, key)))
    return isinstance(value, TableNode) and bool(value.items) and set(value.items) <= known


def tag_of(root: Node | None, path: tuple[PathStep, ...]) -> str:
    """The `type` that the mapping at a path writes; "" if it writes none."""
    tag = find(root, (*path, "type")) if root is not None else None
    return tag.value if isinstance(tag, Scalar) and isinstance(tag.value, str) else ""


def missing_key(path: tuple[PathStep, ...], key: str) -> str:
    """The hint of a key that the mapping at a path needs: what it may hold, or an example."""
    found = described(path, key)
    if found is None:
        return "add it"
    words = choices(found[0])
    if words:
        return f"add `{key}: {words[0]}`, or {', '.join(words[1:9])}{', ...' if len(words) > 9 else ''}"
    example = found[1].partition("Example: ")[2]
    return f"add it, as `{key}: {example}`" if example else "add it"


def choices(kind: Any) -> list[str]:
    """The words that an annotation allows, [] if it allows others."""
    for one in alternatives(kind):
        if get_origin(one) is Literal:
            return [str(word) for word in get_args(one)]
    return []


def wrong_kind(wanted: str, value: object, path: tuple[PathStep, ...]) -> str:
    """The hint of a value of the wrong kind.

    Args:
        wanted: the kind in words, as "a mapping".
        value: what is written.
        path: of the value.
    """
    key = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
    if wanted == "a mapping" and path[:2] == ("batch", "vary") and len(path) <= 3:
        return _as_variation(value, path)
    if wanted == "a mapping" and len(path) == 2 and path[0] in ENTRY_SECTIONS and key in known_keys((path[0], "")):
        return f"`{key}` is a key of each of them: indent it further"
    if wanted == "a mapping" and isinstance(value, list):
        return f"write {'the names as keys' if len(path) == 1 else '`key: value`'}, without dashes or brackets"
    lacking = lacks_key(path[:-1], key)
    if lacking:
        return f"write {lacking[2]}: `{lacking[0]}: {lacking[1][:30]}`"
    glued = _GLUED.match(value) if isinstance(value, str) else None
    if wanted == "a mapping" and glued:
        return f"write a space after the colon: `{glued[1]}: {glued[2][:30]}`"
    found = described(path[:-1], key) if path and path[-1] == key else None
    example = found[1].partition("Example: ")[2] if found else ""
    return f"as `{key}: {example}`" if example else f"write {wanted}"


def _as_variation(value: object, path: tuple[PathStep, ...]) -> str:
    """How to write what `batch.vary` shall vary, and the values of one number of it."""
    if len(path) < 3:
        return "write the path of each number as a key: `{params.k: {list: [1, 2, 3]}}`"
    entries = ", ".join(map(str, value[:4])) + (", .." if len(value) > 4 else "") if isinstance(value, list) else "0.1, 0.2"
    others = ", ".join(f"`{way}`" for way in VARY_KINDS if way != "list")
    return f"write `{{list: [{entries}]}}` for one entry per world, or one of {others}"
