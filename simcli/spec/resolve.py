"""From a document to a SceneSpec: expand, evaluate, convert, validate, check. All faults at once."""

from collections.abc import Mapping

from pydantic import ValidationError

from simcli.errors import SceneError
from simcli.spec.checks import check_spec
from simcli.spec.document import Document
from simcli.spec.expansion import expanded, fill
from simcli.spec.faults import Faults, in_order
from simcli.spec.nodes import Table, plain
from simcli.spec.schema import ENTRY_SECTIONS, SceneSpec
from simcli.spec.validate import report
from simcli.spec.worlds import updated_scene


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
        spec = updated_scene(document, spec, dict(values), faults)
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
        tree, units = expanded(document, document.root, faults)
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


def _without_broken(data: dict, error: ValidationError) -> tuple[dict, set[tuple[str, str]]]:
    """The data without the entries and sections that the schema refused, so that the rest can be checked."""
    broken = set()
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        section, *rest = (*map(str, one["loc"]), "")
        is_entry = section in ENTRY_SECTIONS and rest and rest[0] and isinstance(data.get(section), dict)
        if section:
            broken.add((section, rest[0] if is_entry else ""))
    kept: dict = {"simcli": 1}
    for section, value in data.items():
        if (section, "") in broken or section == "simcli":
            continue
        whole = section not in ENTRY_SECTIONS or not isinstance(value, dict)
        kept[section] = value if whole else {k: v for k, v in value.items() if (section, k) not in broken}
    return kept, broken
