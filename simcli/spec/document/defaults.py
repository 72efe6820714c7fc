"""Values of `defaults` for what bodies, joints and shapes of a tree do not write. Those of an included file are its own."""

from collections.abc import Callable

from simcli.spec.document.nodes import Mark, Node, Scalar, TableNode
from simcli.spec.names import dofs

_KINDS = {"bodies": "body", "joints": "joint"}


def with_defaults(node: TableNode, kind: str, default: TableNode) -> TableNode:
    """A body, joint or shape with the keys of its defaults that it does not write and that its type takes."""
    added = {key: value for key, value in default.items.items() if key not in node.items}
    if kind == "joint":
        added = {key: value for key, value in added.items() if _takes(node, key)}
    return node.replaced(added, default.keys) if added else node


def as_included(root: TableNode) -> TableNode:
    """The tree of an included file for the one that includes it: its defaults in their places, without its name.

    Defaults of unknown kinds stay, so that the check of the whole scene refuses them.
    """
    written = root.get("defaults")
    defaults = _table(written)
    found = {section: _filled(root.items[section], section, defaults) for section in root.items}
    known = [kind for kind in ("body", "joint", "shape") if isinstance(defaults.get(kind), TableNode)]
    left = defaults.replaced(dict.fromkeys(known)) if isinstance(written, TableNode) else written
    is_done = isinstance(left, TableNode) and not left.items
    return root.replaced(found | {"name": None, "defaults": None if is_done else left})


def _filled(node: Node, section: str, defaults: TableNode) -> Node:
    """A section of a scene or of a template with what the defaults say of it."""
    if section == "models":
        return _each(node, lambda one: one.replaced({key: _filled(one.items[key], key, defaults) for key in one.items}))
    if section == "world":
        return _shapes(node, defaults)
    if (kind := _KINDS.get(section)) is None:
        return node
    return _each(node, lambda one: _shapes(with_defaults(one, kind, _table(defaults.get(kind))), defaults))


def _shapes(owner: Node, defaults: TableNode) -> Node:
    if not isinstance(owner, TableNode) or "shapes" not in owner.items:
        return owner
    shape = _table(defaults.get("shape"))
    return owner.replaced({"shapes": _each(owner.items["shapes"], lambda one: with_defaults(one, "shape", shape))})


def _each(node: Node, change: Callable[[TableNode], TableNode]) -> Node:
    """A mapping with its entries changed, those that are mappings."""
    if not isinstance(node, TableNode):
        return node
    return node.replaced({name: change(one) if isinstance(one, TableNode) else one for name, one in node.items.items()})


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
