"""Signals fit what they drive: as many numbers, and of the same dimension."""

from collections.abc import Iterator

from simcli.spec.checks.checker import Checker
from simcli.spec.document.nodes import Listing, Node, Scalar, TableNode, find
from simcli.spec.names.signal_uses import Use, uses
from simcli.spec.values.units import UnitError, to_si

# Values of each kind that have the unit of what the signal drives; a constant is one itself.
_VALUES = {
    "sine": ("amplitude", "offset"),
    "step": ("before", "after"),
    "ramp": ("from", "to"),
    "chirp": ("amplitude",),
    "table": ("value",),
    "pid": ("limits",),
}


def check_signals(check: Checker) -> None:
    """Every use of a signal that exists."""
    seen = set()
    for use in uses(check.spec):
        signal = check.spec.signals.get(use.signal)
        if signal is None or (use.signal, use.path) in seen:
            continue
        seen.add((use.signal, use.path))
        count = len(signal.constant) if signal.constant is not None else 1
        if _counts(check, use, count):
            _dimensions(check, use)


def _counts(check: Checker, use: Use, count: int) -> bool:
    """Whether the signal has as many numbers as are taken; a fault if not."""
    steps = tuple(use.path.split("."))
    alone = isinstance(find(check.tree, steps), Scalar)  # one signal for the whole vector
    takes = 1 if use.component is None or not use.whole else 3
    if count == takes or (count == 1 and not (takes == 3 and alone)):
        return True
    key = steps[-1]
    if takes == 3:
        message = f"the signal `${use.signal}` has {count} number(s), but `{key}` takes 3"
        check.fault("SC205", message, use.path, f"write [0, 0, ${use.signal}], or give the signal three numbers")
    else:
        message = f"the signal `${use.signal}` has {count} numbers, but one is taken"
        check.fault("SC205", message, use.path, "take a signal of one number")
    return False


def _dimensions(check: Checker, use: Use) -> None:
    """The units that are written in the signal are of what it drives."""
    for path, text in _texts(check, use.signal):
        try:
            to_si(text, use.unit)
        except UnitError as error:
            check.fault(error.code, f"{error}: `{use.path}` takes `${use.signal}`", path, error.hint)


def _texts(check: Checker, name: str) -> Iterator[tuple[tuple, str]]:
    """Values of a signal with units, and their paths."""
    node = find(check.tree, ("signals", name))
    if not isinstance(node, TableNode):
        return
    for kind, below in node.items.items():
        if kind in ("constant", "limits"):
            yield from _text(below, ("signals", name, kind))
        for key in _VALUES.get(kind, ()):
            inner = find(below, (key,))
            if inner is not None:
                yield from _text(inner, ("signals", name, kind, key))


def _text(node: Node, path: tuple) -> Iterator[tuple[tuple, str]]:
    if isinstance(node, Listing):
        for index, item in enumerate(node.items):
            yield from _text(item, (*path, index))
    elif isinstance(node, Scalar) and isinstance(node.value, str):
        yield path, node.value
