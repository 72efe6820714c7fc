"""From a document to a SceneSpec: expand, evaluate, convert, validate, check. All faults at once."""

from collections.abc import Iterable, Mapping
from functools import cache

from pydantic import TypeAdapter, ValidationError

from simcli.errors import SceneError
from simcli.spec.checks import check_entries, check_spec
from simcli.spec.document import Document, put
from simcli.spec.faults import Faults, in_order
from simcli.spec.joint_units import JointUnits
from simcli.spec.lookup import value_at
from simcli.spec.nodes import Scalar, Table, find, parse_path, plain, rebuild, replace
from simcli.spec.schema import AUTHORING, ENTRY_SECTIONS, SceneSpec
from simcli.spec.scopes import Scope, place
from simcli.spec.templates import Expander
from simcli.spec.validate import report

BEFORE_EXPANSION = ("params", "defaults", "models", "instances", "replicate")
_FRAME_INTERVAL = 0.01  # [s], wanted time between frames where `output.every` is left out


def resolve(document: Document, values: Mapping[str, object] | None = None) -> SceneSpec:
    """Give a scene its meaning.

    Args:
        document: from `load_document`.
        values: dotted path to value, in place of what is written; `params.L` is replaced before expressions are
            evaluated, everything else after expansion. Values are SI numbers or lists of them.

    Returns:
        The scene, expanded, in SI, checked. With values only what they touch is validated and checked again.

    Raises:
        SceneError: with every fault; `error.document` renders the snippets.
    """
    faults = Faults()
    spec = _scene(document, faults)
    if spec is not None and values and not faults.errors:
        spec = _world(document, spec, dict(values), faults)
    if faults.errors or spec is None:
        error = SceneError(in_order(faults.found))
        error.document, error.spec = document, spec
        raise error
    return spec


def warnings(document: Document) -> list:
    """Faults of the scene that are no errors, once it is resolved."""
    return [fault for fault in document.cache.get("faults", ()) if fault.severity != "error"]


def _scene(document: Document, faults: Faults) -> SceneSpec | None:
    """The scene without values; computed once."""
    if "spec" not in document.cache:
        tree, units = _expanded(document, document.root, faults)
        document.expanded = tree
        spec = validate(document, tree, faults)
        # The checks of the batch resolve worlds themselves, and for that need the scene.
        document.cache.update(units=units, faults=list(faults.found), spec=spec)
        if spec is not None and not faults.errors:
            check_spec(spec, tree, document, faults, set(), batch=True)
        document.cache["faults"] = list(faults.found)
    for fault in document.cache["faults"]:
        faults.add(fault.code, fault.message, fault.where, fault.hint, fault.severity)
    return document.cache["spec"]


def _expanded(document: Document, root: Table, faults: Faults) -> tuple[Table, JointUnits]:
    """The tree that is simulated: no templates, no expressions, joint values in SI."""
    scope = Scope(None, faults)
    scope.declare(root.get("params"))
    scope.check_all()
    _check_authoring(root, faults)
    tree = Expander(root, scope, faults).expand()
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
            _adapter(key).validate_python(plain(node))
        except ValidationError as error:
            report(error, node, (key,), faults, root.keys[key])
    for key in ("instances", "replicate"):
        node = root.get(key)
        if node is not None and not isinstance(node, Table) and not _is_null(node):
            faults.add("SC203", f"`{key}` must be a mapping", place(node.mark, key), "names to {model: ..}")


def _is_null(node: object) -> bool:
    return isinstance(node, Scalar) and node.value is None


@cache
def _adapter(section: str) -> TypeAdapter:
    return TypeAdapter(AUTHORING[section] if section in AUTHORING else SceneSpec.model_fields[section].annotation)


def validate(document: Document, tree: Table, faults: Faults) -> SceneSpec | None:
    """Schema, then references, structure and physics of everything that the schema took."""
    data = {key: value for key, value in plain(tree).items() if value is not None}
    fill(data, document.stem)
    broken: set[tuple[str, str]] = set()
    spec = None
    try:
        spec = SceneSpec.model_validate(data)
    except ValidationError as error:
        report(error, tree, (), faults)
        data, broken = _without_broken(data, error)
        try:
            spec = SceneSpec.model_validate(data)
        except ValidationError:
            return None
    check_spec(spec, tree, document, faults, broken)
    return spec


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
        steps = min(max(1, round(_FRAME_INTERVAL / dt)), max(1, round(min(duration / dt, 1e12))))
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
    from simcli.spec.quantities import PositiveTime

    return TypeAdapter(PositiveTime)


def _without_broken(data: dict, error: ValidationError) -> tuple[dict, set[tuple[str, str]]]:
    """The data without the entries and sections that the schema refused, so that the rest can be checked."""
    data = dict(data)
    broken: set[tuple[str, str]] = set()
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        loc = one["loc"]
        if not loc:
            continue
        section = str(loc[0])
        if section in ENTRY_SECTIONS and len(loc) > 1 and isinstance(data.get(section), dict):
            data[section] = {name: value for name, value in data[section].items() if name != str(loc[1])}
            broken.add((section, str(loc[1])))
        else:
            data.pop(section, None)
            broken.add((section, ""))
    data["simcli"] = 1
    return data, broken


def _world(document: Document, base: SceneSpec, values: dict[str, object], faults: Faults) -> SceneSpec:
    """The scene with some values replaced; only what changed is validated and checked."""
    tree = document.expanded
    early = {path: value for path, value in values.items() if (parse_path(path) or ("",))[0] in BEFORE_EXPANSION}
    if early:
        root = document.root
        for path, value in early.items():
            root = _with_value(root, path, value, faults)
        tree, _ = _expanded(document, root, faults)
    late = {path: value for path, value in values.items() if path not in early}
    units: JointUnits = document.cache["units"]
    units.faults = faults
    for path, value in late.items():
        tree = _with_value(_with_list(tree, path, base), path, value, faults)
    touched = {(parse_path(path) or ("",))[0] for path in late}
    if touched & {"joints", "initial", "run"}:
        tree = units.root(tree, {(parse_path(path) or ("", ""))[1] for path in late if path.startswith("joints.")})
    changed = list(_changed(document.expanded, tree, bool(early)))
    spec = _updated(base, tree, changed, faults)
    if not faults.errors:
        check_entries(spec, tree, document, faults, changed)
    return spec


def _with_value(root: Table, path: str, value: object, faults: Faults) -> Table:
    steps = parse_path(path)
    old = find(root, steps) if steps else None
    mark = old.mark if old is not None else root.mark
    changed = replace(root, steps, rebuild(value, mark)) if steps else None
    if changed is None:
        faults.add("SC303", f"the path `{path}` leads nowhere", None, "name a value of the scene")
        return root
    return changed


def _with_list(root: Table, path: str, base: SceneSpec) -> Table:
    """The tree with the list that a path counts in, where the file leaves it at its default."""
    steps = parse_path(path) or ()
    if not steps or not isinstance(steps[-1], int) or find(root, steps[:-1]) is not None:
        return root
    value = value_at(base, steps[:-1])
    changed = replace(root, steps[:-1], rebuild(value, root.mark)) if isinstance(value, tuple) else None
    return root if changed is None else changed


def _changed(old: Table, new: Table, rebuilt: bool) -> Iterable[tuple[str, str]]:
    """(section, entry) of what differs; the entry is "" for sections that are read as a whole."""
    for section, node in new.items.items():
        before = old.get(section)
        if node is before:
            continue
        if section not in ENTRY_SECTIONS or not isinstance(node, Table) or not isinstance(before, Table):
            yield section, ""
            continue
        for name, entry in node.items.items():
            was = before.get(name)
            if entry is not was and not (rebuilt and was is not None and plain(entry) == plain(was)):
                yield section, name
        if list(node.items) != list(before.items):
            yield section, ""


def _updated(base: SceneSpec, tree: Table, changed: list[tuple[str, str]], faults: Faults) -> SceneSpec:
    """The scene with the changed parts read again."""
    update: dict[str, object] = {}
    for section, name in changed:
        node = tree.items[section]
        data = plain(node.items[name]) if name else plain(node)
        if not name and section in ("output", "solver"):
            whole = {key: plain(tree.items[key]) for key in ("output", "solver", "run") if key in tree.items}
            fill(whole, base.name)
            data = whole[section]
        try:
            value = _adapter(section).validate_python({name: data} if name else data)
        except ValidationError as error:
            report(error, node, (section,), faults)
            continue
        if name:
            update[section] = {**update.get(section, getattr(base, section)), name: value[name]}
        else:
            update[section] = value
    return base.model_copy(update=update)
