"""One world of a batch: a scene with some values replaced. Only what they touch is read and checked again."""

from collections.abc import Callable, Collection, Iterable, Sequence

from pydantic import ValidationError

from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import (
    Mark,
    PathStep,
    Rank,
    RankedMark,
    Scalar,
    TableNode,
    find,
    format_path,
    parse_path,
    plain,
    rebuild,
    replace,
    walk_nodes,
)
from simcli.spec.document.overrides import keyframe_steps
from simcli.spec.document.scene_file import Document
from simcli.spec.expansion.expand import BEFORE_EXPANSION, adapter, expanded, fill_templates
from simcli.spec.expansion.frame_poses import with_places
from simcli.spec.expansion.keyframes import CONTROLS
from simcli.spec.expansion.starts import is_of_start, rank_of_varied, with_starts
from simcli.spec.faults.checker import Checker
from simcli.spec.faults.validate import report_errors
from simcli.spec.lookup.scene_values import value_at
from simcli.spec.schema.scene import ENTRY_SECTIONS, SceneSpec
from simcli.spec.values.expressions import ExpressionError, has_expression, names_in, substitute_names
from simcli.spec.values.joint_units import JointUnits
from simcli.spec.values.scopes import Scope
from simcli.spec.values.varied import Varied, as_float

Path = tuple[PathStep, ...]
# Checks again the entries of a scene that have changed: `check_entries` of the checks.
CheckEntries = Callable[[SceneSpec, TableNode, Document, Faults, Iterable[tuple[str, str]]], None]
_KEYFRAME = "initial"  # whose value may name a keyframe
_ANY = Scalar(1.0, Mark("", 0, 0, 0))  # of a path that the scene leaves at its default: ranks alone are asked


def updated_scene(
    document: Document,
    base: SceneSpec,
    values: dict[str, object],
    faults: Faults,
    check: CheckEntries,
    typed: Collection[str] = (),
) -> SceneSpec:
    """The scene with some values replaced.

    Args:
        document: the scene as written, resolved before.
        base: it without the values, poses in frames as they are written.
        values: dotted path to value.
        faults: collects.
        check: of the entries that change.
        typed: paths of them whose values stand for those of `--set`.

    Returns:
        The scene; parts that the values do not touch are those of `base`.
    """
    tree = document.expanded
    early = {path: value for path, value in values.items() if _is_early(path)}
    ranks = {parse_path(path) or ("",): rank_of_varied(document.root, path, typed) for path in values}
    late = {parse_path(path) or ("",): value for path, value in values.items() if path not in early}
    quick = _parameter_leaves(document, early) if early else {}
    if quick is None:
        tree = _expanded_with(document, early, ranks, faults)
        if document.cache.get("why_integrator"):  # chosen for the scene as a whole, which the text does not say
            tree = replace(tree, ("solver", "integrator"), Scalar(base.solver.integrator, tree.mark)) or tree
    else:
        late = {**quick, **late}
    return _with_late(document, base, tree, late, faults, check, quick is None, ranks)[0]


def tree_with_ranks(document: Document, paths: Sequence[str], typed: Collection[str] = ()) -> TableNode:
    """The expanded tree of a scene whose worlds vary some paths, with the ranks of these, and of what is made of them.

    Args:
        document: the scene as written, resolved before.
        paths: dotted; their values are those of the scene.
        typed: those of them that stand for paths of `--set`.
    """
    if not paths:
        return document.expanded
    key = (*paths, None, *typed)
    found = document.cache.setdefault("trees_with_ranks", {})
    if key not in found:
        faults = Faults()  # told before
        ranks = {parse_path(path) or ("",): rank_of_varied(document.root, path, typed) for path in paths}
        early = {path: plain(find(document.root, parse_path(path) or ("",)) or _ANY) for path in paths if _is_early(path)}
        tree = _expanded_with(document, early, ranks, faults) if early else document.expanded
        for steps, rank in ranks.items():
            if format_path(steps) not in early:
                tree = _with_value(tree, steps, plain(find(tree, steps) or _ANY), faults, rank)
        found[key] = tree
    return found[key]


def _is_early(path: str) -> bool:
    return (parse_path(path) or ("",))[0] in BEFORE_EXPANSION or path == _KEYFRAME


def _expanded_with(document: Document, values: dict[str, object], ranks: dict[Path, Rank], faults: Faults) -> TableNode:
    """The expanded tree with values of what is gone after expansion."""
    root = document.root
    for path, value in values.items():
        steps = parse_path(path) or ()
        root = _with_value(root, keyframe_steps(root, steps, value), value, faults, ranks.get(steps, Rank.FILE))
    return expanded(document, root, faults)[0]


def scene_after(
    document: Document, base: SceneSpec, tree: TableNode, values: dict[str, object], faults: Faults, check: CheckEntries
) -> tuple[SceneSpec, TableNode]:
    """The scene after an event, laid over that of the event before: of what events may set.

    Args:
        document: the scene as written, resolved before.
        base: the scene before the event.
        tree: its tree.
        values: dotted path to value.
        faults: collects.
        check: of the entries that change.

    Returns:
        The scene and its tree.
    """
    late = {parse_path(path) or ("",): value for path, value in values.items()}
    return _with_late(document, base, tree, late, faults, check, False, {}, tree)


def _with_late(
    document: Document,
    base: SceneSpec,
    tree: TableNode,
    late: dict[Path, object],
    faults: Faults,
    check: CheckEntries,
    rebuilt: bool,
    ranks: dict[Path, Rank],
    before: TableNode | None = None,
) -> tuple[SceneSpec, TableNode]:
    """Lay values over an expanded tree, which differs from that of `base` where templates made it anew."""
    before = before or document.expanded
    for steps, value in late.items():
        tree = _with_value(_with_list(tree, steps, base), steps, value, faults, ranks.get(steps, Rank.FILE))
    if {steps[0] for steps in late} & {"joints", "forces", "initial", "run", "sensors"}:
        units: JointUnits = document.cache["units"]
        units.faults = faults
        tree = units.root(tree, {steps[1] for steps in late if steps[0] == "joints" and len(steps) > 1})
    changed = list(_changed(before, tree, rebuilt))
    spec = _updated(base, tree, changed, faults)
    spec = with_places(spec, Checker(spec, tree, document, faults, set()).fault)
    if document.cache.get("starts_are_ranked") or any(map(is_of_start, ranks)):
        spec = with_starts(spec, tree)
    if not faults.errors:
        check(spec, tree, document, faults, changed)
    return spec, tree


def _parameter_leaves(document: Document, early: dict[str, object]) -> dict[Path, object] | None:
    """New values of every expression that depends on some parameters.

    Returns:
        Path in the expanded tree to value; None where templates depend on them, the run begins with controls, or the
        values are more than numbers of top-level parameters, so that everything must be expanded again.
    """
    if find(document.expanded, ("initial", CONTROLS)) is not None:
        return None
    named = {(parse_path(path) or ())[1:]: value for path, value in early.items() if path.startswith("params.")}
    if len(named) < len(early) or any(len(steps) != 1 or type(v) not in (int, float, Varied) for steps, v in named.items()):
        return None
    params = document.root.get("params")
    if not isinstance(params, TableNode) or any(steps[0] not in params.items for steps in named):
        return None
    key = frozenset(steps[0] for steps in named)
    found = document.cache.setdefault("leaves", {})
    if key not in found:
        found[key] = dependent_leaves(document.root, params, set(key))
    if found[key] is None:
        return None
    scope = Scope(None, Faults())
    scope.declare(params)
    scope.values.update((steps[0], as_float(value)) for steps, value in named.items())
    try:
        new = {steps: substitute_names(text, scope.lookup) for steps, text in found[key].items()}
    except ExpressionError:
        return None
    dependent = {name: scope.lookup(name) for name in params.items if name in scope.nodes}
    return None if scope.faults.found else {**{("params", name): value for name, value in dependent.items()}, **new}


def dependent_leaves(root: TableNode, params: TableNode, names: set[str]) -> dict[Path, str] | None:
    """Path and text of every expression that uses a parameter, directly or through others; None if a template does."""
    texts = {
        name: names_in(node.value)
        for name, node in params.items.items()
        if isinstance(node, Scalar) and has_expression(node.value)
    }
    size = 0
    while size < len(names):
        size = len(names)
        names |= {name for name, used in texts.items() if used & names}
    leaves: dict[Path, str] = {}
    for path, node in walk_nodes(root):
        if not (isinstance(node, Scalar) and has_expression(node.value) and names_in(node.value) & names):
            continue
        if path[0] == "params":
            continue
        if path[0] in BEFORE_EXPANSION:
            return None
        leaves[path] = node.value
    return leaves


def sections_made_of(document: Document, paths: Iterable[str]) -> set[str]:
    """Top-level sections that may be otherwise in a world because of what is gone after expansion, as parameters.

    Args:
        document: the scene as written, resolved before.
        paths: that the world has values of its own for.
    """
    early = {parse_path(path) or ("",) for path in paths if _is_early(path)}
    params = document.root.get("params")
    if not early:
        return set()
    if not isinstance(params, TableNode) or any(steps[0] != "params" or len(steps) != 2 for steps in early):
        return set(document.expanded.items)
    leaves = dependent_leaves(document.root, params, {str(steps[1]) for steps in early})
    return set(document.expanded.items) if leaves is None else {str(steps[0]) for steps in leaves}


def _with_value(root: TableNode, steps: Path, value: object, faults: Faults, rank: Rank) -> TableNode:
    old = find(root, steps) if steps else None
    mark = RankedMark.of(old.mark if old is not None else root.mark, rank)
    changed = replace(root, steps, rebuild(value, mark)) if steps else None
    if changed is None:
        faults.add("SC303", f"no such key: `{format_path(steps)}`", None, "name a value of the scene")
        return root
    return changed


def _with_list(root: TableNode, steps: Path, base: SceneSpec) -> TableNode:
    """The tree with the list that a path counts in, where the file leaves it at its default."""
    if not steps or not isinstance(steps[-1], int) or find(root, steps[:-1]) is not None:
        return root
    value = value_at(base, steps[:-1])
    changed = replace(root, steps[:-1], rebuild(value, root.mark)) if isinstance(value, tuple) else None
    return root if changed is None else changed


def _changed(old: TableNode, new: TableNode, rebuilt: bool) -> Iterable[tuple[str, str]]:
    """(section, entry) of what differs; the entry is "" for sections that are read as a whole."""
    for section, node in new.items.items():
        before = old.get(section)
        if node is before or section == "batch":  # which no world changes
            continue
        if section not in ENTRY_SECTIONS or not isinstance(node, TableNode) or not isinstance(before, TableNode):
            yield section, ""
            continue
        for name, entry in node.items.items():
            was = before.get(name)
            if entry is not was and not (rebuilt and was is not None and plain(entry) == plain(was)):
                yield section, name
        if list(node.items) != list(before.items):
            yield section, ""


def _updated(base: SceneSpec, tree: TableNode, changed: list[tuple[str, str]], faults: Faults) -> SceneSpec:
    """The scene with the changed parts read again."""
    update: dict[str, object] = {}
    for section, name in changed:
        node = tree.items[section]
        data = plain(node.items[name]) if name else plain(node)
        if not name and section in ("output", "solver"):
            whole = {key: plain(tree.items[key]) for key in ("output", "solver", "run") if key in tree.items}
            fill_templates(whole, base.name)
            data = whole[section]
        try:
            value = adapter(section).validate_python({name: data} if name else data)
        except ValidationError as error:
            report_errors(error, node, (section,), faults)
            continue
        if name:
            update[section] = {**update.get(section, getattr(base, section)), name: value[name]}
        else:
            update[section] = value
    return base.model_copy(update=update)
