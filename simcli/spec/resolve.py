"""From a document to a SceneSpec: expand, evaluate, convert, validate, check. All faults at once."""

from collections.abc import Collection, Mapping
from dataclasses import replace as replace_fault

from pydantic import ValidationError

from simcli.errors import Fault, SceneError, Where
from simcli.spec.auto import with_integrator
from simcli.spec.base.fault_list import Faults, in_order
from simcli.spec.base.nodes import Scalar, TableNode, plain, replace
from simcli.spec.batches.sample_files import with_samples
from simcli.spec.checks.batch import Resolvers
from simcli.spec.checks.every_check import check_changes, check_entries, check_spec
from simcli.spec.document.scene_file import Document
from simcli.spec.expansion.expand import expanded, fill_templates
from simcli.spec.expansion.frame_poses import with_places
from simcli.spec.expansion.starts import with_starts
from simcli.spec.expansion.worlds import updated_scene
from simcli.spec.faults.checker import Checker
from simcli.spec.faults.mend import Place, first_mends, mended, touched
from simcli.spec.faults.validate import report_errors
from simcli.spec.schema.batch import BatchSpec
from simcli.spec.schema.scene import ENTRY_SECTIONS, SceneSpec
from simcli.spec.values.csv_tables import SampleColumns
from simcli.spec.values.joint_units import JointUnits

# Entries of lists that stand in for refused ones, so that the others keep their place; they say nothing.
_LISTED = {"expect": {"max": "energy.drift", "below": 1e300}, "events": {"at": 0, "set": {"world.gravity": [0, 0, 0]}}}
_MAX_PASSES = 6  # over a scene with faults: each mends what the one before it has shown


def resolve(document: Document, values: Mapping[str, object] | None = None, typed: Collection[str] = ()) -> SceneSpec:
    """Give a scene its meaning.

    Args:
        document: from `load_document`.
        values: dotted path to value, in place of what is written; `params.L` is replaced before expressions are
            evaluated, everything else after expansion. Values are SI numbers or lists of them.
        typed: paths of them whose values stand for those of `--set`, which others hold over.

    Returns:
        The scene, expanded, in SI, checked. With values only what they touch is validated and checked again.

    Raises:
        SceneError: with every fault and warning, without notes; `error.document` renders the snippets.
    """
    faults = Faults()
    spec = _scene(document, faults)
    if spec is not None and values and not faults.errors:
        spec = updated_scene(document, document.cache["written"], dict(values), faults, check_entries, typed)
    if faults.errors or spec is None:
        raise SceneError(in_order([fault for fault in faults.found if fault.severity != "note"]), document, spec)
    return spec


def resolve_world(document: Document, values: Mapping[str, object], world: int) -> SceneSpec:
    """The scene of one world of the batch; its faults name the world, and its row where a table has it.

    Args:
        document: the scene, resolved before.
        values: of the world, as of `resolve`.
        world: its number.

    Raises:
        SceneError: these values make no valid scene.
    """
    try:
        return resolve(document, values)
    except SceneError as error:
        batch = document.cache["spec"].batch
        row = world % batch.n_draws
        told = [
            replace_fault(
                fault, message=f"world {world}: {fault.message}", where=_in_table(document, batch, row, fault) or fault.where
            )
            for fault in error.faults
            if fault.severity == "error"
        ]
        raise SceneError(told, document, error.spec) from None


def _in_table(document: Document, batch: BatchSpec, row: int, fault: Fault) -> Where | None:
    """Place of the number in a table from which a fault of a world comes; None if it may come from elsewhere."""
    columns = batch.table.read if batch.table is not None else SampleColumns()
    path = fault.where.path if fault.where is not None else ""
    named = next((one for one in columns.values if one == path), "")
    if not columns.values or (not named and batch.vary):
        return None
    found = columns.where(named or next(iter(columns.values)), row)
    if found.line:
        document.keep_line(found.file, found.line, columns.text_of(row))
    return found if named else replace_fault(found, column=min(found.line, 1), length=max(1, len(columns.text_of(row))))


def warnings(document: Document) -> list:
    """Faults of the scene that are no errors, once it is resolved, by their place."""
    return in_order([fault for fault in document.cache.get("faults", ()) if fault.severity != "error"])


def _scene(document: Document, faults: Faults) -> SceneSpec | None:
    """The scene without values; computed once."""
    if "spec" not in document.cache:
        found = Faults()
        tree, units, spec = _judged(document, document.root, found, set())
        told = _judged_again(document, found) if found.mends else found
        for note in document.notes:
            told.add(note.code, note.message, note.where, note.hint, note.severity)
        # The checks of the batch resolve worlds themselves, and for that need the scene.
        document.cache.update(units=units, faults=list(told.found), spec=spec)
        if spec is not None and not told.errors and not document.cache["broken"]:
            check_changes(Checker(spec, tree, document, told, set()), Resolvers(resolve, resolve_world))
        document.cache["faults"] = list(told.found)
    for fault in document.cache["faults"]:
        faults.add(fault.code, fault.message, fault.where, fault.hint, fault.severity)
    return document.cache["spec"]


def _judged(
    document: Document, root: TableNode, faults: Faults, unknown: set[str]
) -> tuple[TableNode, JointUnits, SceneSpec | None]:
    """One pass over a tree of a document: expanded, converted, validated, checked."""
    tree, units = expanded(document, root, faults)
    units.tell_turns()
    document.expanded = tree
    spec = validate(document, tree, faults, unknown)
    return document.expanded, units, spec


def _judged_again(document: Document, found: Faults) -> Faults:
    """All faults of a scene that has faults of the schema: with these mended, the others show.

    Args:
        document: the scene.
        found: faults of the first pass, with mends.
    """
    told, root = Faults(), document.root
    gone: set[Place] = set()
    sections: set[str] = set()
    for _ in range(_MAX_PASSES):
        mends = first_mends(found.mends)
        places = touched(root, mends)
        sure = any(mend.is_sure for mend in mends.values())  # then all else is judged with the next pass
        for fault in found.found:
            at = _place(fault)
            if at not in gone and (at in places or (fault in found.of_schema and not sure)):
                told.add(fault.code, fault.message, fault.where, fault.hint, fault.severity)
        gone |= places
        sections |= set() if sure else found.mended_sections
        new = mended(root, mends)
        if new is root:
            break
        root, found = new, Faults()
        _judged(document, root, found, sections)
        if not found.mends:
            break
    for fault in found.found:
        if _place(fault) not in gone:
            told.add(fault.code, fault.message, fault.where, fault.hint, fault.severity)
    return told


def _place(fault: Fault) -> Place:
    where = fault.where
    return (where.file, where.line, where.column) if where else ("", 0, 0)


def validate(document: Document, tree: TableNode, faults: Faults, unknown: set[str]) -> SceneSpec | None:
    """Schema, then references, structure and physics of everything that the schema took.

    Args:
        document: the scene as written.
        tree: expanded.
        faults: collects.
        unknown: sections that are not known as they were meant; nothing is told that rests on what they say.
    """
    data = {key: value for key, value in plain(tree).items() if value is not None}
    fill_templates(data, document.stem)
    broken = {(section, "") for section in unknown}
    spec = None
    try:
        spec = SceneSpec.model_validate(data)
    except ValidationError as error:
        report_errors(error, tree, (), faults)
        data, refused = _without_broken(data, error)
        broken |= refused
        try:
            spec = SceneSpec.model_validate(data)
        except ValidationError:
            return None
    spec = with_samples(Checker(spec, tree, document, faults, broken))
    spec, why = with_integrator(Checker(spec, tree, document, faults, broken))
    if why:  # the worlds of a batch and the phases after events have the integrator of the scene
        place = tree.items["solver"].mark if "solver" in tree.items else tree.mark
        tree = replace(tree, ("solver", "integrator"), Scalar(spec.solver.integrator, place)) or tree
        document.expanded = tree
    document.cache.update(why_integrator=why, written=spec, broken=bool(broken))
    spec = with_places(spec, Checker(spec, tree, document, faults, broken).fault)
    ranked = with_starts(spec, tree)
    document.cache["starts_are_ranked"] = ranked is not spec
    spec = ranked
    check_spec(spec, tree, document, faults, broken)
    return spec


def why_integrator(document: Document) -> str:
    """Why a resolved scene has its integrator, where it names none; else ""."""
    return document.cache.get("why_integrator", "")


def _without_broken(data: dict, error: ValidationError) -> tuple[dict, set[tuple[str, str]]]:
    """The data without the entries and sections that the schema refused, so that the rest can be checked."""
    broken = set()
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        section, *rest = (*one["loc"], "")
        held = data.get(section)
        named = section in ENTRY_SECTIONS and isinstance(held, dict)
        listed = section in _LISTED and isinstance(held, list)
        if section:
            broken.add((str(section), str(rest[0]) if rest[0] != "" and (named or listed) else ""))
    kept: dict = {"simcli": 1}
    for section, value in data.items():
        if (section, "") in broken or section == "simcli":
            continue
        if section in ENTRY_SECTIONS and isinstance(value, dict):
            value = {name: entry for name, entry in value.items() if (section, name) not in broken}
        elif section in _LISTED and isinstance(value, list):
            value = [_LISTED[section] if (section, str(i)) in broken else entry for i, entry in enumerate(value)]
        kept[section] = value
    return kept, broken
