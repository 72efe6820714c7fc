"""A table of many columns as one signal: each joint that takes it gets a signal of its own, of the column of its name."""

from simcli.spec.base.nodes import Listing, Node, PathStep, Scalar, TableNode, find, replace, walk_nodes

STAR = "*"  # in `column`, stands for the name of the joint
_DRIVEN = ("drive", "motion", "driving")  # keys of joints
_COLUMN = ("table", "column")


def with_joint_columns(tree: TableNode) -> TableNode:
    """The tree in which `$name` of a table with `column: "*"` is `$name/JOINT`, and these signals are written.

    Names of columns are those of joints as the model that holds the signal calls them, `JOINT.k` for dof k of several that
    are driven apart.

    Args:
        tree: of a scene, its templates expanded.
    """
    signals = tree.get("signals")
    if not isinstance(signals, TableNode):
        return tree
    stars = {f"${name}": name for name, node in signals.items.items() if STAR in _column(node)}
    taken, owner = {}, {}
    for section in ("joints", "forces") if stars else ():
        for steps, node in list(_driven_by(tree, section, stars)):
            signal, joint = stars[node.value], _joint_of(tree, steps)
            own = joint.removeprefix(signal.rpartition("/")[0] + "/") if "/" in signal else joint
            label = own + _dof(tree, steps)
            name = f"{signal}/{label.replace('.', '/')}"
            tree = replace(tree, steps, Scalar(f"${name}", node.mark, quoted=True))
            written = find(signals, (signal, *_COLUMN))
            column = Scalar(written.value.replace(STAR, label), written.mark, quoted=True)
            owner[name], taken[name] = signal, replace(signals.items[signal], _COLUMN, column)
            taken[signal] = None
    marks = {name: signals.keys[signal] for name, signal in owner.items()}
    return tree.replaced({"signals": signals.replaced(taken, marks)}) if taken else tree


def _column(signal: Node) -> str:
    node = find(signal, _COLUMN)
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""


def _driven_by(tree: TableNode, section: str, stars: dict[str, str]):
    """Numbers of joints and of efforts on them that such a signal drives, with their paths."""
    owners = tree.get(section)
    for name, owner in owners.items.items() if isinstance(owners, TableNode) else ():
        if not owner.has_dollar or not isinstance(owner, TableNode):
            continue
        for steps, node in walk_nodes(owner, (section, name)):
            if not isinstance(node, Scalar) or node.value.__class__ is not str or node.value not in stars:
                continue
            if _joint_of(tree, steps) and (section == "forces" or any(key in steps for key in _DRIVEN)):
                yield steps, node


def _joint_of(tree: TableNode, steps: tuple[PathStep, ...]) -> str:
    """The joint that a number belongs to; "" if there is none."""
    if steps[0] == "joints":
        return str(steps[1])
    named = find(tree, (*steps[:2], "joint"))
    return named.value if isinstance(named, Scalar) and isinstance(named.value, str) else ""


def _dof(tree: TableNode, steps: tuple[PathStep, ...]) -> str:
    """`.k` of what is written of dof k alone."""
    places = [step for step in steps[2:] if isinstance(step, int)]
    if not places:
        return ""
    linear = find(tree, (*steps[:2], "axes", "linear")) if "angular" in steps else None
    return f".{places[0] + (len(linear.items) if isinstance(linear, Listing) else 0)}"
