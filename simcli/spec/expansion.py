"""The tree that is simulated: templates, expressions and units of joints worked out."""

from functools import cache

from pydantic import TypeAdapter, ValidationError

from simcli.errors import SceneError
from simcli.spec.document import Document, put
from simcli.spec.faults import Faults, in_order
from simcli.spec.joint_units import JointUnits
from simcli.spec.nodes import Scalar, Table, plain
from simcli.spec.quantities import PositiveTime
from simcli.spec.schema import AUTHORING, SceneSpec
from simcli.spec.scopes import Scope, place
from simcli.spec.templates import Expander, TooLargeError
from simcli.spec.validate import report

BEFORE_EXPANSION = ("params", "defaults", "models", "instances", "replicate")
_FRAME_INTERVAL = 0.01  # [s], wanted time between frames where `output.every` is left out


def expanded(document: Document, root: Table, faults: Faults) -> tuple[Table, JointUnits]:
    """The tree that is simulated: no templates, no expressions, joint values in SI."""
    scope = Scope(None, faults)
    scope.declare(root.get("params"))
    scope.check_all()
    _check_authoring(root, faults)
    try:
        tree = Expander(root, scope, faults).expand()
    except TooLargeError:
        raise SceneError(in_order(faults.found)) from None
    for steps, node, key_mark in document.late_sets:
        changed = put(tree, steps, node, key_mark, faults)
        tree = tree if changed is None else changed
    units = JointUnits(faults)
    return units.root(tree), units


def _check_authoring(root: Table, faults: Faults) -> None:
    """Schema of the keys that are gone after expansion, as far as the expansion does not check them itself."""
    for key in ("defaults", "models", "resolved"):
        node = root.get(key)
        if node is None or _is_null(node):
            continue
        try:
            adapter(key).validate_python(plain(node))
        except ValidationError as error:
            report(error, node, (key,), faults, root.keys[key])
    for key in ("instances", "replicate"):
        node = root.get(key)
        if node is not None and not isinstance(node, Table) and not _is_null(node):
            faults.add("SC203", f"`{key}` must be a mapping", place(node.mark, key), "names to {model: ..}")


def _is_null(node: object) -> bool:
    return isinstance(node, Scalar) and node.value is None


@cache
def adapter(section: str) -> TypeAdapter:
    """Validator of one top-level section."""
    return TypeAdapter(AUTHORING[section] if section in AUTHORING else SceneSpec.model_fields[section].annotation)


def fill(data: dict, stem: str) -> None:
    """Defaults that depend on other values, in place."""
    data.setdefault("name", stem)
    solver, output, run = data.get("solver", {}), data.get("output", {}), data.get("run", {})
    if isinstance(solver, dict) and "type" not in solver:
        data["solver"] = {**solver, "type": "generalized"}
    if not isinstance(solver, dict) or not isinstance(output, dict) or "every" in output:
        return
    dt = _seconds(solver.get("dt"), 1e-3)
    duration = _seconds(run.get("duration") if isinstance(run, dict) else None, 1.0)
    if dt and duration:
        steps = min(max(1, round(min(_FRAME_INTERVAL / dt, 1e12))), max(1, round(min(duration / dt, 1e12))))
        data["output"] = {**output, "every": steps * dt}


def _seconds(value: object, default: float) -> float:
    """A written time as the schema reads it; 0 if it cannot."""
    if value is None:
        return default
    try:
        return _time_adapter().validate_python(value)
    except ValidationError:
        return 0.0


@cache
def _time_adapter() -> TypeAdapter:
    return TypeAdapter(PositiveTime)
