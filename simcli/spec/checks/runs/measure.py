"""What `measure` names: whether it is there, whether it has such components, and whether a name can stand in a file."""

import re

from simcli.spec.checks.checker import Checker
from simcli.spec.checks.runs.quantities import check_parts, known_quantity
from simcli.spec.names.channel_names import kind_of, split_name
from simcli.spec.schema.measure import MeasureSpec

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
TURNED = ("position", "velocity", "angular_velocity", "wrench")  # vectors that a measure takes in axes of a body


def check_measures(check: Checker) -> None:
    """All measures of the scene."""
    for name, spec in check.spec.measure.items():
        path = f"measure.{name}"
        if not _NAME.fullmatch(name):
            check.fault("SC206", f"`{name}` cannot name a measure", ("measure", name),
                        "use letters, digits, `_` and `-`, a letter first", on_key=True)  # fmt: skip
            continue
        _check_measure(check, spec, path)


def _check_measure(check: Checker, spec: MeasureSpec, path: str) -> None:
    at = f"{path}.{spec.reduction}"
    if not known_quantity(check, spec.quantity, at):
        return
    check_parts(check, spec.quantity, at, path, spec.component, spec.norm)
    duration = check.spec.run.duration
    if spec.since > duration * (1 + 1e-12) and not check.broken & {("run", ""), ("solver", "")}:
        message = f"the measure begins at {spec.since:g} s, after the end of the run"
        check.fault("SC233", message, f"{path}.from", f"the run takes {duration:g} s", severity="warning")
    is_sensor = split_name(spec.quantity).group == "sensor"
    if spec.frame == "body" and (is_sensor or kind_of(spec.quantity) not in TURNED):
        check.fault("SC207", f"`{spec.quantity}` has no axes of a body", f"{path}.frame", "remove it")
