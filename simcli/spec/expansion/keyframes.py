"""Initial states by name: what `initial` says of a keyframe, what it writes on top, and the controls that it sets."""

from collections.abc import Callable

from simcli.spec.base.fault_list import Faults, did_you_mean
from simcli.spec.base.nodes import Node, PathStep, Scalar, TableNode, find, parse_path, replace
from simcli.spec.document.overrides import SET, SWEEP, Laid
from simcli.spec.expansion.starts import STATES, in_order_of_ranks
from simcli.spec.values.scopes import where_of

CONTROLS = "controls"  # its table by dotted paths
_TYPED = (SET, SWEEP)  # options whose values count before those of a keyframe
_TARGETS = ("target", "target_velocity")
# Keys of what a control is, by section; of a drive those of `drive`, of a joint with several axes below `axes`.
_MAY_CONTROL: dict[str, frozenset[tuple[str, ...]]] = {
    "joints": frozenset((*(("drive", key) for key in _TARGETS), ("drive", "activation", "initial"))),
    "forces": frozenset(
        (
            *((key,) for key in ("value", "force", "torque", "tension")),
            *(("drive", key) for key in _TARGETS),
            ("muscle", "control"),
            ("muscle", "activation", "initial"),
        )
    ),
    "signals": frozenset((("constant",),)),
}


def is_control(steps: tuple[PathStep, ...]) -> bool:
    """Whether a path leads to what a program or a signal would control."""
    keys = tuple(str(step) for step in steps[2:] if isinstance(step, str))
    keys = keys[2:] if keys[:1] == ("axes",) else keys
    return keys in _MAY_CONTROL.get(str(steps[0]), ())


def lay_controls(tree: TableNode, put: Callable[[TableNode, Laid], TableNode | None]) -> TableNode:
    """The tree with the controls of `initial` in place of what the scene writes, but not of what the command line sets.

    Controls that lead nowhere, or to what is no control, are left to the checks.

    Args:
        tree: of a scene.
        put: the tree with a value, None after a fault.
    """
    initial = tree.get("initial")
    controls = initial.get(CONTROLS) if isinstance(initial, TableNode) else None
    for text, value in controls.items.items() if isinstance(controls, TableNode) else ():
        steps = parse_path(str(text)) or ("",)
        owner = steps[: max((k for k, step in enumerate(steps) if isinstance(step, str)), default=0)]
        before = find(tree, steps)
        if not is_control(steps) or find(tree, owner) is None or is_driven(value) or is_driven(before):
            continue
        if before is not None and before.mark.file in _TYPED:
            tree = replace(tree, ("initial", CONTROLS), find(tree, ("initial", CONTROLS)).replaced({text: None}))
        else:
            tree = put(tree, Laid(steps, value, controls.keys[text])) or tree
    return tree


def is_driven(node: Node | None) -> bool:
    """Whether a value is that of a signal, `$name`."""
    return isinstance(node, Scalar) and isinstance(node.value, str) and node.value.startswith("$")


def with_keyframe(tree: TableNode, faults: Faults) -> TableNode:
    """The tree whose `initial` has the values of the keyframe that it names, each with its own place.

    What `initial` writes itself comes behind them, so that it counts where both speak of a joint; in each of the two names
    of joints stand behind patterns.

    Args:
        tree: of a scene.
        faults: collects.
    """
    initial = tree.get("initial")
    name = initial if isinstance(initial, Scalar) else initial.get("keyframe") if isinstance(initial, TableNode) else None
    if not isinstance(name, Scalar) or not isinstance(name.value, str):
        return _ordered(tree)  # of another kind: the schema reports it
    own = initial if isinstance(initial, TableNode) else TableNode({}, {}, initial.mark)
    keyframes = tree.get("keyframes")
    known = keyframes.items if isinstance(keyframes, TableNode) else {}
    if name.value not in known:
        path = "initial.keyframe" if own is initial else "initial"
        hint = did_you_mean(name.value, known, "keyframes") if known else "write it under `keyframes`"
        faults.add("SC325", f"no keyframe `{name.value}`", where_of(name.mark, path), hint)
        return tree.replaced({"initial": own.replaced({"keyframe": None})})
    own = _ordered(tree.replaced({"initial": own})).get("initial")
    frame, changes = known[name.value], {"keyframe": None}
    for key in (*STATES, CONTROLS):
        of_frame = frame.get(key) if isinstance(frame, TableNode) else None
        if isinstance(of_frame, TableNode):
            of_frame = in_order_of_ranks(tree, of_frame) if key in STATES else of_frame
            changes[key] = _on_top(of_frame, own.get(key))
    return tree.replaced({"initial": own.replaced(changes)})


def _ordered(tree: TableNode) -> TableNode:
    """The tree in whose `initial` names of joints stand behind patterns."""
    initial = tree.get("initial")
    if not isinstance(initial, TableNode):
        return tree
    tables = {key: initial.get(key) for key in STATES}
    new = {key: in_order_of_ranks(tree, node) for key, node in tables.items() if isinstance(node, TableNode)}
    return tree if all(new[key] is tables[key] for key in new) else tree.replaced({"initial": initial.replaced(new)})


def _on_top(table: TableNode, own: Node | None) -> Node:
    """A table with the entries of another one behind its own."""
    if own is None:
        return table
    if not isinstance(own, TableNode):
        return own  # the schema reports it
    left = table.replaced(dict.fromkeys(own.items))
    return left.replaced(own.items, own.keys)
