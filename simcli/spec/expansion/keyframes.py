"""Initial states by name: what `initial` says of a keyframe, and what it writes on top."""

from simcli.spec.document.nodes import Node, Scalar, TableNode
from simcli.spec.faults.fault_list import Faults, did_you_mean
from simcli.spec.values.scopes import where_of

STATES = ("joint_q", "joint_qd")  # tables of a keyframe


def with_keyframe(tree: TableNode, faults: Faults) -> TableNode:
    """The tree whose `initial` has the values of the keyframe that it names, each with its own place.

    What `initial` writes itself comes behind them, so that it counts where both speak of a joint.

    Args:
        tree: of a scene.
        faults: collects.
    """
    initial = tree.get("initial")
    name = initial if isinstance(initial, Scalar) else initial.get("keyframe") if isinstance(initial, TableNode) else None
    if not isinstance(name, Scalar) or not isinstance(name.value, str):
        return tree  # of another kind: the schema reports it
    own = initial if isinstance(initial, TableNode) else TableNode({}, {}, initial.mark)
    keyframes = tree.get("keyframes")
    known = keyframes.items if isinstance(keyframes, TableNode) else {}
    if name.value not in known:
        path = "initial.keyframe" if own is initial else "initial"
        hint = did_you_mean(name.value, known, "keyframes") if known else "write it under `keyframes`"
        faults.add("SC325", f"no keyframe `{name.value}`", where_of(name.mark, path), hint)
        return tree.replaced({"initial": own.replaced({"keyframe": None})})
    frame, changes = known[name.value], {"keyframe": None}
    for key in STATES:
        of_frame = frame.get(key) if isinstance(frame, TableNode) else None
        if isinstance(of_frame, TableNode):
            changes[key] = _on_top(of_frame, own.get(key))
    return tree.replaced({"initial": own.replaced(changes)})


def _on_top(table: TableNode, own: Node | None) -> Node:
    """A table with the entries of another one behind its own."""
    if own is None:
        return table
    if not isinstance(own, TableNode):
        return own  # the schema reports it
    left = table.replaced(dict.fromkeys(own.items))
    return left.replaced(own.items, own.keys)
