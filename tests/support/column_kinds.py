"""Kinds of numbers that may differ between worlds, out of the schema of scenes, and those that a path may lead to."""

import re
from collections.abc import Iterator

from simcli.spec import json_schema
from simcli.spec.checks.batch import _FIXED

SCHEMA = json_schema()
TREES = ("anyOf", "oneOf", "allOf", "prefixItems")  # keywords with a list of schemas
BRANCHES = ("then", "else")
Kind = str  # definition and key, as `BodySpec.mass`


def alternatives(node: dict, owner: str = "") -> Iterator[tuple[dict, str]]:
    """Schemas that a value may have, with the definition that each stands in and the key of it."""
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        yield from alternatives(SCHEMA["definitions"][name], name)
        return
    yield node, owner
    for one in [one for key in TREES[:3] for one in node.get(key, ())] + [node[key] for key in BRANCHES if key in node]:
        yield from alternatives(one, owner)


def below(node: dict, owner: str) -> Iterator[tuple[str, dict, str]]:
    """Key, schema and owner of what stands in a value; `*` for any name, `#` for any place of a list."""
    for key, child in node.get("properties", {}).items():
        yield key, child, f"{owner}.{key}"
    for child in (node.get("additionalProperties"), *node.get("patternProperties", {}).values()):
        if isinstance(child, dict):
            yield "*", child, owner
    items = node.get("items")
    for child in (*node.get("prefixItems", ()), *(items if isinstance(items, list) else [items])):
        if isinstance(child, dict):
            yield "#", child, owner


def is_number(node: dict) -> bool:
    kind = node.get("type")
    return "number" in (kind if isinstance(kind, list) else [kind])


def kinds() -> set[Kind]:
    """All of them."""
    found, seen = set(), set()
    waiting = [(child, owner) for key, child, owner in below(SCHEMA, "") if key not in _FIXED]  # what no world changes
    while waiting:
        node, owner = waiting.pop()
        for one, mine in alternatives(node, owner):
            if (id(one), mine) in seen:
                continue
            seen.add((id(one), mine))
            if is_number(one):
                found.add(mine)
            waiting += [(child, name) for key, child, name in below(one, mine) if key != "look"]
    return found


def kinds_of(path: str) -> set[Kind]:
    """Those that the number, or numbers, at a dotted path of a scene may be of."""
    at = [(SCHEMA, "")]
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        wanted = ("#",) if index else (name, "*")
        at = [
            (child, owner)
            for node, mine in at
            for one, holder in alternatives(node, mine)
            for key, child, owner in below(one, holder)
            if key in wanted
        ]
    found, last = set(), at
    while last:
        last = [pair for node, mine in last for pair in alternatives(node, mine)]
        found |= {mine for one, mine in last if is_number(one)}
        last = [(child, owner) for one, mine in last for key, child, owner in below(one, mine) if key == "#"]
    return found
