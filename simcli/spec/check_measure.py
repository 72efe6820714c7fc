"""What `measure` names: whether it is there, whether it has such components, and whether a name can stand in a file."""

import re

from simcli.spec.channel_names import split
from simcli.spec.check_expect import known_channel
from simcli.spec.checker import Checker
from simcli.spec.schema_measure import MeasureSpec

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
WIDTHS = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3, "wrench": 6}


def check_measures(check: Checker) -> None:
    """All measures of the scene."""
    for name, spec in check.spec.measure.items():
        path = f"measure.{name}"
        if not NAME.fullmatch(name):
            check.fault("SC206", f"`{name}` cannot name a measure", ("measure", name),
                        "use letters, digits, `_` and `-`, a letter first", on_key=True)  # fmt: skip
            continue
        _check_measure(check, spec, path)


def _check_measure(check: Checker, spec: MeasureSpec, path: str) -> None:
    at = f"{path}.{spec.reduction}"
    group, subject, word = split(spec.quantity)
    if any(c in subject for c in "*?["):
        check.fault("SC315", f"`{spec.quantity}` is a pattern", at, "a measure has one quantity: write one for each")
    elif group == "diag":
        check.fault("SC315", f"`{spec.quantity}` cannot be measured", at, "diagnostics are in every frame: see output.every")
    elif known_channel(check, spec.quantity, at):
        _check_parts(check, spec, path, _width(check, group, subject, word))


def _width(check: Checker, group: str, subject: str, word: str) -> int | None:
    """Components of a quantity that is there; None if they are not known."""
    if group != "joint" or word == "wrench":
        return WIDTHS.get(word, 1)
    joint = check.spec.joints.get(subject)
    if joint is None:
        return 7 if word == "q" else 6
    return check.n_q(joint) if word == "q" else len(joint.dof_kinds)


def _check_parts(check: Checker, spec: MeasureSpec, path: str, width: int | None) -> None:
    if width == 0:
        check.fault("SC205", f"`{spec.quantity}` has no component", f"{path}.{spec.reduction}")
    if spec.component is not None and width is not None and spec.component >= width:
        message = f"`{spec.quantity}` has {width} component(s), counted from 0"
        check.fault("SC205", message, f"{path}.component")
    if spec.norm and split(spec.quantity).quantity == "wrench":
        message = f"the norm of `{spec.quantity}` would add forces to torques"
        check.fault("SC207", message, f"{path}.norm", "measure components")
    if spec.frame == "body" and split(spec.quantity).quantity not in ("position", "velocity", "angular_velocity", "wrench"):
        check.fault("SC207", f"`{spec.quantity}` is no vector that has axes", f"{path}.frame", "remove it")
