"""Dotted paths that a scene writes as text: whether they lead anywhere, and the fault of one that does not."""

from simcli.errors import Where, plural
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.base.nodes import Listing, Node, Scalar, find, format_path, parse_path
from simcli.spec.faults.checker import Checker
from simcli.spec.lookup.keys import known_keys
from simcli.spec.lookup.scene_values import value_at


def nowhere(check: Checker, text: str, path: list | Where) -> None:
    """The fault of a path that leads nowhere, unless that follows from a fault of the entry that it leads into.

    Args:
        check: takes it.
        text: the path as written.
        path: where it is written.
    """
    steps = parse_path(text) or ()
    if _into_refused(check, steps):
        return
    if close := _beyond(check, steps):
        check.fault("SC303", f"no such key: `{text[:80]}`", path, close, on_key=True)
        return
    known: list[str] = []
    for length in range(len(steps), 0, -1):
        above = find(check.tree, steps[: length - 1])
        if close := no_way(above, steps, length - 1):
            check.fault("SC303", f"no such key: `{text[:80]}`", path, close, on_key=True)
            return
        if above is not None and hasattr(above, "items") and not isinstance(above, Listing):
            known = [*above.items, *known_keys(tuple(steps[: length - 1]))]
            close = did_you_mean(str(steps[length - 1]), dict.fromkeys(known), "there")
            if str(steps[length - 1]) in known:
                close = f"`{format_path(steps[:length])}` is not written in the scene; write it first"
            check.fault("SC303", f"no such key: `{text[:80]}`", path, close, on_key=True)
            return
    check.fault("SC303", f"no such key: `{text[:80]}`", path, "as joints.pin.damping", on_key=True)


def no_way(node: Node | None, steps: tuple, n: int) -> str:
    """A hint where a path counts past the end of a list, or into a single value; "" where neither is so.

    Args:
        node: at the first n steps.
        steps: of the path.
        n: how many of them lead there.
    """
    name = format_path(steps[:n])
    if isinstance(node, Listing) and not (isinstance(steps[n], str) and len(node.items) == 1):
        last = len(node.items) - 1
        if isinstance(steps[n], int):
            return _entries(name, last)
        return f"`{name}` is a list of {plural(last + 1, 'entry')}: name one, as `{name}[0]`"
    if isinstance(node, Scalar) and node.value is not None:
        return f"`{name}` is a single value: name that"
    return ""


def _entries(name: str, last: int) -> str:
    """How many entries a list has, and their paths."""
    return f"`{name}` has {plural(last + 1, 'entry')}" + (f", `{name}[0]` to `{name}[{last}]`" if last >= 0 else "")


def _beyond(check: Checker, steps: tuple) -> str:
    """A hint where a path counts past the end of a list that the scene leaves at its default; "" where it does not."""
    for n, step in enumerate(steps):
        held = value_at(check.spec, steps[:n]) if isinstance(step, int) and find(check.tree, steps[:n]) is None else None
        if isinstance(held, tuple) and step >= len(held):
            return _entries(format_path(steps[:n]), len(held) - 1)
    return ""


def _into_refused(check: Checker, steps: tuple) -> bool:
    """Whether a path leads into a section, or to a key that the schema knows of an entry, that is refused already."""
    if check.is_refused(*map(str, steps[:1])):
        return True
    return len(steps) > 2 and steps[:2] in check.broken and str(steps[-1]) in known_keys(steps[:-1])


def exists(check: Checker, steps: tuple) -> bool:
    """Whether a path leads to a value that is written or that has a default."""
    for root in (check.tree, check.document.root):
        if find(root, steps) is not None:
            return True
    if value_at(check.spec, steps) is not None:
        return True
    # A key that is not written, but that the schema knows, of something that is.
    return value_at(check.spec, steps[:-1]) is not None and steps[-1] in known_keys(tuple(steps[:-1]))
