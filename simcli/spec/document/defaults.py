"""Values of `defaults` for what bodies, joints and shapes of a tree do not write. Those of an included file are its own."""

from collections.abc import Callable, Collection, Mapping

from simcli.spec.base import dofs
from simcli.spec.base.fault_list import Faults, did_you_mean
from simcli.spec.base.nodes import Mark, Node, Scalar, TableNode
from simcli.spec.base.patterns import fits, is_pattern
from simcli.spec.lookup.keys import known_keys
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.values.scopes import where_of

_KINDS = {"bodies": "body", "joints": "joint"}
_PATHS = {"body": ("bodies", "*"), "joint": ("joints", "*"), "shape": ("bodies", "*", "shapes", "*")}


class Defaults:
    """The `defaults` of one file: of each kind the values for all, and below patterns and names those of some.

    Of a key that several write the more specific one holds: a name, then a pattern, then the value for all; of two patterns
    the later one.

    Args:
        node: `defaults` as written.
        names: of the bodies and joints that the file writes itself, by kind; such a key means that one alone.

    Attributes:
        unmatched: kind and key of names and patterns that fitted nothing so far, with the table that has them.
        untaken: keys that each of those for which they are has itself: their places, by kind, pattern or name, and key.
    """

    def __init__(self, node: Node | None, names: Mapping[str, Collection[str]]):
        self.names, self.unmatched = names, {}
        self.untaken: dict[tuple[str, str, str], Mark] = {}
        self._taken: set[tuple[str, str, str]] = set()
        self.plain: dict[str, TableNode] = {}
        self.chosen: dict[str, dict[str, TableNode]] = {}
        for kind, path in _PATHS.items():
            table = _table(_table(node).get(kind))
            known = known_keys(path)
            chosen = {
                key: value
                for key, value in table.items.items()
                if key not in known and (is_pattern(key) or isinstance(value, TableNode))
            }
            self.plain[kind] = table.replaced(dict.fromkeys(chosen))
            self.chosen[kind] = dict(sorted(chosen.items(), key=lambda one: not is_pattern(one[0])))
            self.unmatched |= {(kind, key): table for key in chosen}

    def filled(self, node: TableNode, kind: str, name: str, change: Callable[[Node], Node] = lambda node: node) -> TableNode:
        """A body, joint or shape with the keys of its defaults that it does not write and that its type takes.

        Args:
            node: as written.
            kind: body, joint or shape.
            name: as the run knows it, of a shape below that of its body.
            change: what is done with the defaults that hold for it.
        """
        found: dict[str, Node] = {}
        marks: dict[str, Mark] = {}
        own = self.names.get(kind, ())
        for key, table in (("", self.plain[kind]), *self.chosen[kind].items()):
            if key and not (key == name if key in own else fits(name, key)):
                continue
            self.unmatched.pop((kind, key), None)
            if isinstance(table, TableNode) and table.items:
                is_sure = kind != "joint" or (key and not is_pattern(key))
                fitting = [one for one in table.items if is_sure or _takes(node, one)]
                for one in fitting:
                    self._note_taken((kind, key, one), one not in node.items, table.keys[one])
                table = change(table)
                found |= {one: table.items[one] for one in fitting}
                marks |= table.keys
        added = {key: value for key, value in found.items() if key not in node.items}
        return node.replaced(added, marks) if added else node

    def _note_taken(self, place: tuple[str, str, str], is_taken: bool, mark: Mark) -> None:
        if is_taken:
            self._taken.add(place)
            self.untaken.pop(place, None)
        elif place not in self._taken:
            self.untaken[place] = mark

    def shapes(self, owner: Node, name: str, change: Callable[[Node], Node] = lambda node: node) -> Node:
        """What has shapes, with their defaults."""
        shapes = owner.get("shapes") if isinstance(owner, TableNode) else None
        if not isinstance(shapes, TableNode) or not (self.plain["shape"].items or self.chosen["shape"]):
            return owner
        return owner.replaced({"shapes": _each(shapes, lambda key, one: self.filled(one, "shape", f"{name}/{key}", change))})

    def tell_unmatched(self, faults: Faults) -> None:
        """A fault for each name or pattern that fits nothing."""
        for (kind, key), table in self.unmatched.items():
            hint = did_you_mean(key, [*self.names.get(kind, ()), *known_keys(_PATHS[kind])], "names and keys")
            faults.add("SC454", f"`{key}` matches no {kind}", where_of(table.keys[key], f"defaults.{kind}.{key}"), hint)
        for (kind, key, one), mark in self.untaken.items():
            place, hint = f"defaults.{kind}.{f'{key}.' if key else ''}{one}", "remove theirs, or change them one by one"
            message = f"this `{one}` is taken by no {kind}: all that it is for have their own"
            faults.add("SC330", message, where_of(mark, place), hint, "note")


def names_of(root: TableNode) -> dict[str, Collection[str]]:
    """Names of the bodies and joints that a file writes itself, by kind."""
    return {kind: _table(root.get(section)).items for section, kind in _KINDS.items()}


def as_included(root: TableNode, faults: Faults) -> TableNode:
    """The tree of an included file for the one that includes it: its defaults in their places, without its name.

    Defaults of unknown kinds stay, so that the check of the whole scene refuses them.
    """
    written = root.get("defaults")
    defaults = Defaults(written, names_of(root))
    found = {section: _filled(root.items[section], section, defaults) for section in root.items}
    defaults.tell_unmatched(faults)
    known = [kind for kind in _PATHS if isinstance(_table(written).get(kind), TableNode)]
    left = written.replaced(dict.fromkeys(known)) if isinstance(written, TableNode) else written
    is_done = isinstance(left, TableNode) and not left.items
    return root.replaced(found | {"name": None, "defaults": None if is_done else left})


def _filled(node: Node, section: str, defaults: Defaults) -> Node:
    """A section of a scene or of a template with what the defaults say of it."""
    if section == "models":
        return _each(node, lambda _, one: one.replaced({key: _filled(one.items[key], key, defaults) for key in one.items}))
    if section == "world":
        return defaults.shapes(node, WORLD_NAME)
    if (kind := _KINDS.get(section)) is None:
        return node
    return _each(node, lambda name, one: defaults.shapes(defaults.filled(one, kind, name), name))


def _each(node: Node, change: Callable[[str, TableNode], TableNode]) -> Node:
    """A mapping with its entries changed, those that are mappings."""
    if not isinstance(node, TableNode):
        return node
    return node.replaced({name: change(name, one) for name, one in node.items.items() if isinstance(one, TableNode)})


def _table(node: Node | None) -> TableNode:
    return node if isinstance(node, TableNode) else TableNode({}, {}, Mark("", 0, 0, 0))


def _takes(joint: TableNode, key: str) -> bool:
    """Whether a default makes sense for a joint: keys of one type, or of joints with dofs, are left out elsewhere."""
    type_node = joint.get("type")
    name = type_node.value if isinstance(type_node, Scalar) else None
    if name not in dofs.TYPES:
        return True
    if key in dofs.ONLY:
        return name in dofs.ONLY[key]
    if key in ("at", "parent_frame", "child_frame"):
        return not any(other in joint.items for other in ("at", "parent_frame", "child_frame"))
    if key in dofs.ACTING:
        return name not in dofs.NO_DOFS
    return key != "limit" or name not in dofs.NO_LIMITS
