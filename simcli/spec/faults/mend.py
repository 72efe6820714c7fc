"""Faulty keys and values mended, so that what stands beside them is judged in the same pass.

A fault would hide others: an entry that the schema refuses has no references, a misspelt section takes all of its names
with it. So each fault of the schema leaves a mend, the scene is judged again with all of them, and only what it says of
other places is told.
"""

from dataclasses import dataclass

from simcli.spec.base.dofs import NEEDED_KEYS
from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import Listing, Mark, Node, PathStep, Scalar, TableNode, find, plain, rebuild
from simcli.spec.document.loader import parse_text
from simcli.spec.faults.hints import described, hint_fits, lacks_key, meant
from simcli.spec.lookup.keys import is_named, parts_at
from simcli.spec.schema.body import BodySpec
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.scene import ENTRY_SECTIONS

REMOVED = object()
Place = tuple[str, int, int]
_NO_STAND_IN = ("axes", "shapes", "model", "file", "vary", "set")  # keys whose example would bring faults of its own
# Keys without which an entry has faults that it would not have with a right value.
_NEEDED = {BodySpec: ("mass", "inertia"), JointSpec: tuple(key for key in NEEDED_KEYS if key not in _NO_STAND_IN)}


@dataclass(frozen=True)
class Mend:
    """What takes the place of a key: another name, another value, or nothing.

    Attributes:
        name: the key that was meant, "" keeps it.
        value: plain data in place of the value, REMOVED takes the key away, None keeps the value.
        moves: whether the key belongs into the mapping before it.
        is_sure: whether it is what was meant, rather than anything that stands in for it.
    """

    name: str = ""
    value: object = None
    moves: bool = False
    is_sure: bool = False


# What stands in for values under names that the user chooses.
_NAMED = {
    "points": Mend(value=[0.0, 0.0, 0.0]),
    "frames": Mend(value={}),
    "joint_q": Mend(value=REMOVED),
    "joint_qd": Mend(value=REMOVED),
    "vary": Mend(value=REMOVED),
}


def _place_of(mark: Mark) -> Place:
    """Where a mark begins."""
    return mark.file, mark.line, mark.column


def leave_mend(
    faults: Faults, kind: str, node: Node, prefix: tuple[PathStep, ...], steps: tuple[PathStep, ...], hint: str
) -> None:
    """Keep the mend of one fault of the schema in the collection of faults, if there is one.

    Args:
        faults: takes it.
        kind: of the error, as pydantic names it.
        node: the tree that was validated.
        prefix: its path.
        steps: path of the fault in it.
        hint: of the fault.
    """
    while steps and not isinstance(steps[-1], str):
        steps = steps[:-1]  # an entry of a list has no key of its own
    if not steps or kind in ("missing", "union_tag_not_found"):
        return
    table, key = find(node, steps[:-1]), str(steps[-1])
    if not isinstance(table, TableNode) or key not in table.items:
        return
    path = (*prefix, *steps)
    mend = _mend_of(kind, table, path, hint)
    if mend is None:
        return
    place = _place_of(table.keys[key])
    faults.mends.setdefault(place, mend)
    faults.mended_sections.update(_unknown_sections(mend, table.items[key], path))


def _mend_of(kind: str, table: TableNode, path: tuple[PathStep, ...], hint: str) -> Mend | None:
    owner, key = path[:-1], str(path[-1])
    if kind in ("extra_forbidden", "misplaced"):
        if hint.startswith("indent it further") or "`, below `" in hint:
            return Mend(moves=True, is_sure=True)
        if lacking := kind == "extra_forbidden" and lacks_key(owner, key):
            rest = parse_text(f"a: {lacking[1]}", "", Faults())
            return Mend(name=lacking[0], value=plain(rest.items["a"]), is_sure=True) if isinstance(rest, TableNode) else None
        name = meant(owner, key) if kind == "extra_forbidden" else ""
        return Mend(name=name, is_sure=True) if name and name not in table.items and "." not in name else Mend(value=REMOVED)
    if hint.startswith("did you mean `") and hint.endswith("`?"):
        return Mend(value=hint[len("did you mean `") : -2], is_sure=True)
    if is_named(owner) or not owner:
        return _NAMED.get(owner[-1]) if len(owner) > 1 else None  # else the entry or section as a whole
    found = described(owner, key)
    if found is None or key in _NO_STAND_IN or ("[" not in found[1] and _is_text(found[0])):
        return None
    part = parts_at(owner)[0]
    if part in _NEEDED and key not in _NEEDED[part] and key not in ("type", "parent", "child"):
        return Mend(value=REMOVED)
    if len(owner) == 1 and owner[0] not in ("expect", "events"):
        return Mend(value=REMOVED)
    mend = _example(found[1])
    is_unsorted = kind == "SC232" and mend is not None and isinstance(table.items[key], Listing)
    return Mend(value=_as_many(mend.value, len(table.items[key].items))) if is_unsorted else mend


def _is_text(kind: object) -> bool:
    return "str" in str(kind) and "float" not in str(kind)


def _example(description: str) -> Mend | None:
    text = description.partition("Example: ")[2]
    node = parse_text(f"a: {text}", "", Faults()) if text else None
    return Mend(value=plain(node.items["a"])) if isinstance(node, TableNode) else None


def _as_many(rising: list[float], count: int) -> list[float]:
    """A rising list with another number of entries, as many as belong to it elsewhere."""
    more = max(0, count - len(rising))
    return [*rising[:count], *(rising[-1] + 1 + k for k in range(more))]


def _unknown_sections(mend: Mend, value: Node, path: tuple[PathStep, ...]) -> set[str]:
    """Sections whose content is not known any more."""
    if mend.name or mend.moves:
        return set()
    sections = {str(path[0])} if path[0] not in ENTRY_SECTIONS else set()
    if mend.value is REMOVED and len(path) == 1 and isinstance(value, TableNode):
        sections |= {section for section in ENTRY_SECTIONS if hint_fits(value, (section,), str(path[0]))}
    if mend.value is REMOVED and isinstance(value, TableNode | Scalar):
        sections.add(str(path[-1]))
    return sections


def first_mends(mends: dict[Place, Mend]) -> dict[Place, Mend]:
    """The mends that come first: sure ones may make the others needless."""
    return {place: mend for place, mend in mends.items() if mend.is_sure} or mends


def mended(node: Node, mends: dict[Place, Mend]) -> Node:
    """A tree with mends; parts without one are shared."""
    if isinstance(node, Listing):
        items = [mended(item, mends) for item in node.items]
        changed = any(new is not old for new, old in zip(items, node.items, strict=True))
        return Listing(items, node.mark) if changed else node
    if not isinstance(node, TableNode):
        return node
    items: dict[str, Node] = {}
    keys: dict[str, Mark] = {}
    same = True
    for key, old in node.items.items():
        mark = node.keys[key]
        mend = mends.get(_place_of(mark))
        new = mended(old, mends) if mend is None or mend.value is None else old
        same = same and mend is None and new is old
        if mend is not None and mend.moves:
            before = next(reversed(items), None)
            if isinstance(items.get(before), TableNode):
                items[before] = items[before].replaced({key: new}, {key: mark})
            continue
        if mend is not None and mend.value is REMOVED:
            continue
        name = (mend and mend.name) or key
        items[name] = new if mend is None or mend.value is None else rebuild(mend.value, old.mark)
        keys[name] = mark
    return node if same else TableNode(items, keys, node.mark, node.block)


def touched(node: Node, mends: dict[Place, Mend], inside: bool = False) -> set[Place]:
    """Places of all that mends take away or replace."""
    if isinstance(node, Scalar) or node is None:
        return {_place_of(node.mark)} if inside and node is not None else set()
    found = {_place_of(node.mark)} if inside else set()
    if isinstance(node, Listing):
        for item in node.items:
            found |= touched(item, mends, inside)
        return found
    for key, value in node.items.items():
        place = _place_of(node.keys[key])
        mend = mends.get(place)
        gone = inside or (mend is not None and mend.value is not None)
        found |= touched(value, mends, gone)
        if mend is not None or inside:
            found.add(place)
    return found
