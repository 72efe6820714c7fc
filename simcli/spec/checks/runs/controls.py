"""Controls of `initial` and of keyframes: paths that lead to what a program would control, and values that fit there."""

from collections.abc import Iterator

from simcli.spec.batches.worlds import CheckEntries, scene_after
from simcli.spec.checks.checker import Checker
from simcli.spec.document.nodes import find, parse_path
from simcli.spec.document.paths import exists, nowhere
from simcli.spec.expansion.keyframes import CONTROLS, is_control, is_driven
from simcli.spec.faults.fault_list import Faults, in_order
from simcli.spec.values.quantities import is_signal


def check_controls(check: Checker) -> None:
    """Paths lead to numbers that are controlled, and that no signal drives."""
    for path, value in _written(check):
        text = path[-1]
        steps = parse_path(text)
        if steps is None or not exists(check, steps):
            nowhere(check, text, path)
        elif not is_control(steps):
            hint = "controls are targets and activations of drives, torques, wrenches and constants of signals"
            check.fault("SC326", f"`{text}` is no control", path, hint, on_key=True)
        elif is_signal(value) or is_driven(find(check.tree, steps)):
            hint = "write a number, or set that of the signal, as signals.NAME.constant"
            check.fault("SC326", f"`{text}` is driven by a signal", path, hint, on_key=True)


def try_controls(check: Checker, check_entries: CheckEntries) -> None:
    """The controls of each keyframe must make a valid scene; those of `initial` are part of the scene itself.

    Args:
        check: of the scene.
        check_entries: of those that controls change.
    """
    for path, value in _written(check):
        if path[0] != "initial":
            faults = Faults()
            scene_after(check.document, check.spec, check.document.expanded, {path[-1]: value}, faults, check_entries)
            if faults.errors:
                first = in_order(faults.errors)[0]
                check.fault(first.code, first.message, path, first.hint)


def _written(check: Checker) -> Iterator[tuple[list, object]]:
    """Path of each control in the scene, and its value."""
    states = {("initial",): check.spec.initial}
    states |= {("keyframes", name): keyframe for name, keyframe in check.spec.keyframes.items()}
    for where, state in states.items():
        for text, value in state.controls.items():
            yield [*where, CONTROLS, text], value
