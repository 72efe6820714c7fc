"""The tree that is simulated: templates, expressions and units of joints worked out."""

from functools import cache
from typing import Annotated

from pydantic import TypeAdapter, ValidationError

from simcli.errors import SceneError
from simcli.spec.base.fault_list import Faults, in_order
from simcli.spec.base.nodes import Scalar, TableNode, format_path, plain, rebuild, replace
from simcli.spec.document.overrides import Laid, known_key, put_value, unwritten_list
from simcli.spec.document.scene_file import Document
from simcli.spec.expansion.joint_columns import with_joint_columns
from simcli.spec.expansion.keyframes import lay_controls, with_keyframe
from simcli.spec.expansion.templates import Expander, TooLargeError
from simcli.spec.faults.validate import report_errors
from simcli.spec.lookup.scene_values import value_at
from simcli.spec.schema.scene import AUTHORING, ENTRY_SECTIONS, SceneSpec, title_of_stem
from simcli.spec.values.joint_units import JointUnits
from simcli.spec.values.quantities import PositiveTime
from simcli.spec.values.scopes import Scope, where_of

BEFORE_EXPANSION = ("params", "defaults", "models", "instances", "replicate", "keyframes")
_FRAME_INTERVAL = 0.01  # [s], wanted time between frames where `output.every` is left out


def expanded(document: Document, root: TableNode, faults: Faults) -> tuple[TableNode, JointUnits]:
    """The tree that is simulated: no templates, no expressions, joint values in SI."""
    scope = Scope(None, faults)
    scope.declare(root.get("params"))
    scope.check_all()
    _check_authoring(root, faults)
    expander = Expander(root, scope, faults)
    try:
        tree = expander.expand()
    except TooLargeError:
        raise SceneError(in_order(faults.found)) from None
    document.lost = tuple(expander.lost)
    _check_unused(expander.unused(), faults)
    for laid in document.late_sets:
        if not str(laid.steps[1]).startswith(document.lost) and known_key(tree, laid, faults):
            tree = _put(tree, laid, faults) or tree
    tree = lay_controls(with_keyframe(tree, faults), lambda root, laid: _put(root, laid, Faults()))
    tree = with_joint_columns(tree)
    units = JointUnits(faults)
    return units.root(tree), units


def _put(tree: TableNode, laid: Laid, faults: Faults) -> TableNode | None:
    """The tree with a value, of a list also where the file leaves that at its default; None after a fault."""
    ready = _with_default_list(tree, laid, faults)
    return put_value(ready, laid, faults) if ready is not None else None


def _with_default_list(tree: TableNode, laid: Laid, faults: Faults) -> TableNode | None:
    """The tree with the list that an override counts in, where the file leaves it at its default; None after a fault."""
    path = unwritten_list(tree, laid.steps)
    if path is None:
        return tree
    section = str(path[0])
    data = plain(tree.get(section)) if section in tree.items else {}
    if section in ENTRY_SECTIONS and isinstance(data, dict):
        data = {key: value for key, value in data.items() if key == path[1]}
    try:
        value = value_at({section: adapter(section).validate_python(data)}, path)
    except (ValidationError, KeyError):
        return None  # the schema reports it
    if not isinstance(value, tuple):
        message = f"`{format_path(path)}` is not written in the scene"
        faults.add("SC113", message, where_of(laid.key_mark, format_path(laid.steps)), "set the whole list")
        return None
    return replace(tree, path, rebuild(value, laid.key_mark), laid.key_mark)


def _check_authoring(root: TableNode, faults: Faults) -> None:
    """Schema of the keys that are gone after expansion, as far as the expansion does not check them itself."""
    for key in ("defaults", "models", "resolved"):
        node = root.get(key)
        if node is None or _is_null(node):
            continue
        try:
            adapter(key).validate_python(plain(node))
        except ValidationError as error:
            report_errors(error, node, (key,), faults, root.keys[key])
    for key in ("instances", "replicate"):
        node = root.get(key)
        if node is not None and not isinstance(node, TableNode) and not _is_null(node):
            faults.add("SC203", f"`{key}` must be a mapping", where_of(node.mark, key), "names to {model: ..}")


def _check_unused(templates: TableNode, faults: Faults) -> None:
    """Schema of the templates that nothing uses."""
    for section, node in templates.items.items():
        for name, entry in node.items.items():
            try:
                adapter(section).validate_python({name: plain(entry)})
            except ValidationError as error:
                report_errors(error, TableNode({name: entry}, {name: node.keys[name]}, node.mark), (section,), faults)


def _is_null(node: object) -> bool:
    return isinstance(node, Scalar) and node.value is None


@cache
def adapter(section: str) -> TypeAdapter:
    """Validator of one top-level section."""
    if section in AUTHORING:
        return TypeAdapter(AUTHORING[section])
    field = SceneSpec.model_fields[section]
    return TypeAdapter(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation)


def fill_templates(data: dict, stem: str) -> None:
    """Defaults that depend on other values, in place."""
    data.setdefault("name", title_of_stem(stem))
    solver, output, run = data.get("solver", {}), data.get("output", {}), data.get("run", {})
    if isinstance(solver, dict) and "type" not in solver:
        data["solver"] = {**solver, "type": "generalized"}
    if not isinstance(solver, dict) or not isinstance(output, dict) or output.get("every") is not None:
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
