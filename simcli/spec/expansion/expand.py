"""The tree that is simulated: templates, expressions, units of joints and tables of their columns worked out.

Of a table of many columns as one signal, each joint that takes it gets a signal of its own, of the column of its name.
"""

from functools import cache
from typing import Annotated

from pydantic import TypeAdapter, ValidationError

from simcli.errors import SceneError
from simcli.spec.base.fault_list import Faults, in_order
from simcli.spec.base.nodes import (
    Listing,
    Node,
    PathStep,
    Scalar,
    TableNode,
    find,
    format_path,
    plain,
    rebuild,
    replace,
    walk_nodes,
)
from simcli.spec.document.overrides import Laid, known_key, put_value, unwritten_list
from simcli.spec.document.scene_file import Document
from simcli.spec.expansion.keyframes import lay_controls, with_keyframe
from simcli.spec.expansion.templates import Expander, TooLargeError
from simcli.spec.faults.validate import report_errors
from simcli.spec.lookup.scene_values import value_at
from simcli.spec.schema.scene import AUTHORING, ENTRY_SECTIONS, SceneSpec, title_of_stem
from simcli.spec.values.joint_units import JointUnits
from simcli.spec.values.quantities import PositiveTime
from simcli.spec.values.scopes import Scope, where_of

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
