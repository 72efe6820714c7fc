"""Old keys of scenes in a tree and in its text: found, reported, replaced by their new names."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import Listing, Mark, Node, PathStep, TableNode
from simcli.spec.base.old_keys import leads_to_old_key, mentions_old_key, new_name
from simcli.spec.document.loader import parse_text
from simcli.spec.values.scopes import where_of

_LINE_END = re.compile("\r\n|\n|\r")
_Way = tuple[PathStep, ...]


class OldKey(NamedTuple):
    """An old key, or a dotted path to one that stands as a key.

    Attributes:
        mark: where it stands.
        old: as it is written.
        new: what to write in its place.
        is_doubled: whether the new one stands in the same mapping.
    """

    mark: Mark
    old: str
    new: str
    is_doubled: bool


def old_keys(root: Node, way: _Way = ()) -> list[OldKey]:
    """All old keys of a tree in the order of its text, those below dotted paths (of `set`, `vary`, `choices`) among them.

    Args:
        root: a scene, a sweep file, or a value of it.
        way: path of a value in the scene.
    """
    found = {one.mark: one for one in _found(root, (way,))}  # an alias is met again wherever it is used
    return [found[mark] for mark in sorted(found)]


def _found(node: Node, ways: tuple[_Way, ...]) -> Iterator[OldKey]:
    """Old keys below a node that stands at some paths of a scene; every mapping may be one of dotted paths."""
    if isinstance(node, Listing):
        for item in node.items:
            yield from _found(item, ways)
    if not isinstance(node, TableNode):
        return
    for key, value in node.items.items():
        steps = tuple(key.split("."))
        reached = tuple(end for way in dict.fromkeys((*ways, ())) if leads_to_old_key(end := (*way, *steps)))
        name = next(filter(None, map(new_name, reached)), None)
        if name is not None:
            new = ".".join((*steps[:-1], name))
            yield OldKey(node.keys[key], key, new, new in node.items)
        yield from _found(value, reached)


def renewed(root: TableNode, way: _Way = ()) -> TableNode:
    """A scene, or the value at a path of it, with the new names of its own keys; dotted paths stay as they are written."""
    items: dict[str, Node] = {}
    keys: dict[str, Mark] = {}
    for key, value in root.items.items():
        steps = (*way, key)
        name = new_name(steps) or key
        if name != key and name in root.items:  # refused
            continue
        if isinstance(value, TableNode) and leads_to_old_key(steps):
            value = renewed(value, steps)
        items[name], keys[name] = value, root.keys[key]
    return TableNode(items, keys, root.mark, root.block)


def tell_old_keys(found: list[OldKey], faults: Faults, hint: str | None) -> None:
    """An error for each old key that stands beside its new name, and a note for each of the others.

    Args:
        found: by `old_keys`.
        faults: collects.
        hint: of the notes, `{}` stands for the new name; None: nothing is noted.
    """
    for one in found:
        if one.is_doubled:
            message = f"`{one.old}` and `{one.new}` are one key: `{one.old}` is its old name"
            faults.add("SC207", message, where_of(one.mark), f"keep `{one.new}`")
        elif hint is not None:
            message = f"`{one.old}` is the old name of `{one.new}`"
            faults.add("SC209", message, where_of(one.mark), hint.format(one.new), "note")


def renewed_text(text: str, file: str = "") -> tuple[str, list[OldKey]]:
    """A text with the new names of its old keys, and what has changed; every other character is as it was.

    Args:
        text: YAML that can be read, and has no old key beside its new name.
        file: for the marks.
    """
    root = parse_text(text, file, Faults()) if mentions_old_key(text) else None
    found = old_keys(root) if root is not None else []
    starts = [0, *(end.end() for end in _LINE_END.finditer(text))] if found else []
    for one in reversed(found):
        first = starts[one.mark.line - 1] + one.mark.column - 1
        last = first + one.mark.length
        text = text[:first] + _key_text(text[first:last], one) + text[last:]
    return text, found


def _key_text(written: str, one: OldKey) -> str:
    """The new key in the quotes of the old one; of one with escapes as plain text, which every key here may be."""
    return written.replace(one.old, one.new) if one.old in written else one.new
