"""From a document to a SceneSpec: expand, evaluate, convert, validate, check. All faults at once."""

from collections.abc import Mapping

from pydantic import TypeAdapter, ValidationError

from simcli.errors import SceneError
from simcli.spec.checks import check_spec
from simcli.spec.document import Document, put
from simcli.spec.faults import Faults, in_order
from simcli.spec.joint_units import JointUnits
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
        The scene, expanded, in SI, checked.

    Raises:
        SceneError: with every fault; `error.document` renders the snippets.
    """
    faults = Faults()
    tree = expand(document, dict(values or {}), faults)
    spec = validate(document, tree, faults)
    if faults.errors or spec is None:
        error = SceneError(in_order(faults.found))
        error.document = document
        raise error
    if not values:
        document.cache["warnings"] = faults.found
    return spec


def warnings(document: Document) -> list:
    """Faults of the last resolve that were no errors."""
    return list(document.cache.get("warnings", []))


def expand(document: Document, values: dict[str, object], faults: Faults) -> Table:
    """The tree that is simulated: no templates, no expressions, joint values in SI."""
    early = {path: value for path, value in values.items() if path.split(".")[0].split("[")[0] in BEFORE_EXPANSION}
    late = {path: value for path, value in values.items() if path not in early}
    if not early and "expanded" in document.cache:
        tree, units = document.cache["expanded"]
    else:
        tree = _expanded(document, early, faults)
        units = JointUnits(faults)
        tree = units.root(tree)
        if not early:
            document.expanded = tree
            if not faults.found:
                document.cache["expanded"] = tree, units
    for path, value in late.items():
        tree = _with_value(tree, path, value, faults)
    if late:
        tree = units.root(tree)
    return tree


def _expanded(document: Document, early: dict[str, object], faults: Faults) -> Table:
    root = document.root
    for path, value in early.items():
        root = _with_value(root, path, value, faults)
    scope = Scope(None, faults)
    scope.declare(root.get("params"))
    scope.check_all()
    _check_authoring(root, faults)
    tree = Expander(root, scope, faults).expand()
    for steps, node, key_mark in document.late_sets:
        changed = put(tree, steps, node, key_mark, faults)
        tree = tree if changed is None else changed
    return tree


def _with_value(root: Table, path: str, value: object, faults: Faults) -> Table:
    steps = parse_path(path)
    old = find(root, steps) if steps else None
    mark = old.mark if old is not None else root.mark
    changed = replace(root, steps, rebuild(value, mark)) if steps else None
    if changed is None:
        faults.add("SC303", f"the path `{path}` leads nowhere", None, "name a value of the scene")
        return root
    return changed


_ADAPTERS: dict[str, TypeAdapter] = {}


def _check_authoring(root: Table, faults: Faults) -> None:
    """Schema of the keys that are gone after expansion, as far as the expansion does not check them itself."""
    for key in ("defaults", "models"):
        node = root.get(key)
        if node is None:
            continue
        if key not in _ADAPTERS:
            _ADAPTERS[key] = TypeAdapter(AUTHORING[key])
        try:
            _ADAPTERS[key].validate_python(plain(node))
        except ValidationError as error:
            report(error, node, (key,), faults, root.keys[key])
    for key in ("instances", "replicate"):
        node = root.get(key)
        if node is not None and not isinstance(node, Table) and not (isinstance(node, Scalar) and node.value is None):
            faults.add("SC203", f"`{key}` must be a mapping", place(node.mark, key), "names to {model: ..}")


def validate(document: Document, tree: Table, faults: Faults) -> SceneSpec | None:
    """Schema, then references, structure and physics of everything that the schema took."""
    data = plain(tree)
    _fill(data, document, tree)
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


def _fill(data: dict, document: Document, tree: Table) -> None:
    """Defaults that depend on other values."""
    data.setdefault("name", document.stem)
    if data.get("output") is None:
        data["output"] = {}
    solver, output = data.get("solver"), data["output"]
    dt = (solver or {}).get("dt", 1e-3) if isinstance(solver, dict) or solver is None else None
    if isinstance(solver, dict) and "type" not in solver:
        data["solver"] = {**solver, "type": "generalized"}
    if isinstance(output, dict) and "every" not in output and type(dt) in (int, float) and dt > 0:
        steps = min(max(1, round(_FRAME_INTERVAL / dt)), 10**9)
        data["output"] = {**output, "every": steps * dt}


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
