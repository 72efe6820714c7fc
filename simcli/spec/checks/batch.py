"""The batch: every varied path leads to a number that may differ between worlds, and its values make valid scenes."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from simcli.errors import SceneError, Where
from simcli.spec.base.nodes import Listing, PathStep, Scalar, child, find, format_path, parse_path, plain
from simcli.spec.checks.batch_groups import check_table_size, check_together, check_units, fits_worlds
from simcli.spec.document.overrides import SET, SWEEP, VARY, Override, overridden_path, shadowed
from simcli.spec.document.scene_file import Document
from simcli.spec.expansion.expand import BEFORE_EXPANSION
from simcli.spec.expansion.worlds import dependent_leaves
from simcli.spec.faults.checker import Checker, exists, nowhere
from simcli.spec.lookup.scene_values import value_at
from simcli.spec.schema.batch import VarySpec
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values.csv_tables import MAX_WORLDS, SampleColumn, SampleColumns
from simcli.spec.values.scopes import same_kind

LOOK = "how the scene is drawn"
# What the batch must not change, and why.
_FIXED = {
    "simcli": "the format version",
    "name": "a name",
    "description": "a text",
    "resolved": "the format",
    "include": "the files",
    "solver": "the solver and its step",
    "run": "the duration",
    "output": "the output",
    "batch": "the batch",
    "expect": "the expectations",
    "measure": "a measure",
    "look": LOOK,
    "articulations": "the structure",
    "events": "the events",
    "allow_orphan_joints": "the structure",
    "defaults": "the defaults",
}
_MOST_TRIALS = 8
_IN_STEP = ("zip", "list")  # ways whose entries go together with those of other paths
_MOST_COLUMNS = 50  # of a table, that are tried with the others of their rows: the cost is the square of their number
_OF_UNITS = ("SC211", "SC212", "SC213")
_MOST_ROWS = 100  # of a table, some milliseconds each
_TABLE = ("batch", "table")


class Trial(NamedTuple):
    """A value that is tried: it must give a valid scene.

    Attributes:
        value: as written, with its unit.
        at: place of its faults: a path of the scene, or a place in a file.
        beside: values of other paths that go with it; None where they are left out, so that its unit alone is judged.
    """

    value: object
    at: list | Where
    beside: Mapping[str, object] | None = MappingProxyType({})


class Resolvers(NamedTuple):
    """How a scene with values in place of others is resolved.

    Attributes:
        resolve: takes a document and values.
        resolve_world: takes a document, values and the number of the world that they are of, which its faults name.
    """

    resolve: Callable[[Document, Mapping[str, object]], SceneSpec]
    resolve_world: Callable[[Document, Mapping[str, object], int], SceneSpec]


def check_batch(check: Checker, by: Resolvers) -> None:
    """Every varied path leads to a number that may differ between worlds, and its values make valid scenes.

    Args:
        check: of the scene.
        by: resolves the scene with these values.
    """
    batch = check.spec.batch
    if check.n_worlds > MAX_WORLDS:
        check.fault("SC418", f"{check.n_worlds} worlds", "batch.vary", f"the limit is {MAX_WORLDS}", on_key=True)
        return
    check_table_size(check)
    _check_sets(check)
    check_together(check)
    if batch.table is not None:
        _check_table(check, batch.table.read, by)
    sound = {
        path: vary
        for path, vary in batch.vary.items()
        if _may_vary(check, path, at := ["batch", "vary", path]) and fits_worlds(check, vary, at)
    }
    for path, vary in sound.items():
        at = ["batch", "vary", path]
        check_units(check, path, vary, at)
        in_step = {
            other: one.value
            for other, one in sound.items()
            if vary.kind in _IN_STEP and one.kind == vary.kind and other != path
        }
        _try(check, path, list(_trials(check, vary, at, in_step)), at, by)


def _check_sets(check: Checker) -> None:
    """No value that was typed now is one that the batch gives to each world, where it would be without effect."""
    document, batch = check.document, check.spec.batch
    spread = {overridden_path(one) for one in document.typed if one.option == VARY}  # which the same command line says
    varied = [
        path for path in (*batch.vary, *(batch.table.read.values if batch.table is not None else ())) if path not in spread
    ]
    numbers: Counter[str] = Counter()
    for one in document.overrides:
        numbers[one.option] += 1
        path = overridden_path(one)
        by = shadowed(path, varied) if one.option in (SET, SWEEP) and one in document.typed else None
        if by is None:
            continue
        where = Where(one.option, numbers[one.option], 1, max(1, len(path)), path)
        hint = f"write `--vary {by}={_typed_value(one, path == by)}`"
        hint += ", or leave the batch out by `--set batch=null`" if document.worlds is None else ""
        hint = hint if one.option == SET else f"write it below `vary`, as `{by}: {{grid: [..]}}`"
        check.faults.add("SC207", f"setting `{path}` has no effect, because the batch varies `{by}`", where, hint)


def _typed_value(override: Override, is_whole: bool) -> str:
    """The value of a `--set`, where it is that of a whole varied path and may be repeated in a hint."""
    value = override.text.partition("=")[2].strip()
    return value if is_whole and len(value) <= 20 and value[:1] not in "[{" else ".."


def _check_table(check: Checker, columns: SampleColumns, by: Resolvers) -> None:
    """Every column may vary, and rows make valid scenes: those with the extremes of a column, and some others."""
    is_sound = True
    for path, column in columns.values.items():
        if path in check.spec.batch.vary:
            message = f"`{path}` is varied by the table and under `vary`"
            check.fault("SC322", message, ["batch", "vary", path], "keep one of them", on_key=True)
            is_sound = False
        elif not _may_vary(check, path, _header(check, column, _place(check, columns, path, None))):
            is_sound = False
    told: set[int] = set()  # rows with a fault, which would come back with every column
    few = len(columns.values) <= _MOST_COLUMNS
    for path, column in columns.values.items() if is_sound else ():
        rows = [row for row in (_extremes(column) if few else [0]) if row not in told]
        trials = [
            Trial(_with_unit(column, row), _place(check, columns, path, row), _beside(columns, path, row) if few else None)
            for row in rows
        ]
        good = _try(check, path, trials, _place(check, columns, path, None), by)
        told |= set(rows[good : good + 1]) if few else set()
        is_sound = is_sound and good == len(rows)
    if is_sound:
        _try_rows(check, columns, by)


def _beside(columns: SampleColumns, path: str, row: int) -> dict[str, object]:
    """The other numbers of a row."""
    return {other: column.values[row] for other, column in columns.values.items() if other != path}


def _try_rows(check: Checker, columns: SampleColumns, by: Resolvers) -> None:
    """Try rows as a whole, all or as many as are tried in a moment; the others are when the run is built."""
    for row in range(0, columns.n_rows, max(1, -(-columns.n_rows // _MOST_ROWS))):
        try:
            by.resolve_world(check.document, {path: column.values[row] for path, column in columns.values.items()}, row)
        except SceneError as error:
            for fault in error.faults:
                check.faults.add(fault.code, fault.message, fault.where, fault.hint)
            return


def _place(check: Checker, columns: SampleColumns, path: str, row: int | None) -> Where:
    """Place of a number of a table, or of its header, whose line a message may show."""
    where = columns.where(path, row)
    if where.line:
        check.document.keep_line(where.file, where.line, columns.text_of(row))
    return where


def _header(check: Checker, column: SampleColumn, head: Where) -> Where:
    """Place of the path of a column: in the scene if `columns` says it, else in the file."""
    return check.where([*_TABLE, "columns", column.key]) if column.key else head


def _may_vary(check: Checker, path: str, at: list | Where) -> bool:
    """Whether a path leads to something that may differ; a fault if not."""
    steps = parse_path(path)
    if steps is None or not exists(check, steps):
        nowhere(check, path, at)
        return False
    reason = _refusal(check, steps)
    if reason:
        message = f"`{path}` cannot differ between worlds: it is {reason}"
        check.fault("SC317", message, at, "vary a number of the physics", on_key=True)
    return not reason


def _refusal(check: Checker, steps: tuple) -> str:
    """Why a path cannot vary; "" if it can."""
    head = str(steps[0])
    if head in _FIXED:
        return _FIXED[head]
    if steps[:2] == ("world", "look") or (head == "bodies" and steps[2:3] == ("look",)):
        return LOOK
    if head == "signals" and steps[2:4] == ("table", "time"):
        return "a time of a table, which all worlds share"
    if (head == "contact" and steps[1:2] == ("capacity",)) or steps[-1] in ("count", "component", "world"):
        return "a count"
    node = find(check.tree, steps) or find(check.document.root, steps)
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(node, Listing):
        flat = all(isinstance(item, Scalar) and _is_number(item.value) for item in node.items)
        return "" if flat and node.items else "a list of other things than numbers"
    if node is None:
        value = value_at(check.spec, steps)
        if value is None or (isinstance(value, tuple) and value and all(_is_number(entry) for entry in value)):
            return ""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str) and not value.strip()[:1].isdigit() and value.strip()[:1] not in "+-.$":
        return "a text"
    if isinstance(value, str) and value.startswith("$") and "${" not in value:
        return "a signal"
    return "" if _is_number(value) or isinstance(value, str) else "no number"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _trials(check: Checker, vary: VarySpec, at: list, in_step: dict[str, tuple]) -> Iterator[Trial]:
    """Values of a path as they are written: the ends of a range, the first entries, the mean of a normal and its bounds."""
    if vary.kind == "from":
        column = vary.from_.column
        yield from (Trial(_with_unit(column, row), [*at, "from"]) for row in _extremes(column))
        return
    value, node = vary.value, find(check.tree, [*at, vary.kind])
    for index in range(1 if vary.kind == "normal" else min(len(value), _MOST_TRIALS)):
        entry = child(node, index)
        beside = {path: entries[index] for path, entries in in_step.items() if index < len(entries)}
        yield Trial(plain(entry) if entry is not None else value[index], [*at, vary.kind, index], beside)
    for key in ("low", "high"):
        if vary.of(key) is not None:
            entry = find(check.tree, [*at, key])
            yield Trial(plain(entry) if entry is not None else vary.of(key), [*at, key])


def _extremes(column: SampleColumn) -> list[int]:
    """Rows of the smallest and the largest number, and of vectors of the first and the last."""
    rows = range(len(column.values))
    if not rows:
        return []
    if isinstance(column.values[0], list):
        return [0] if len(rows) == 1 else [0, len(rows) - 1]
    return sorted({min(rows, key=column.values.__getitem__), max(rows, key=column.values.__getitem__)})


def _with_unit(column: SampleColumn, row: int) -> object:
    """A number of a file as the text of a scene, so that its unit is checked like any other."""
    value = column.values[row]
    if not column.unit:
        return value
    texts = [f"{one / column.factor!r} {column.unit}" for one in (value if isinstance(value, list) else [value])]
    return texts if isinstance(value, list) else texts[0]


def _try(check: Checker, path: str, trials: list[Trial], at: list | Where, by: Resolvers) -> int:
    """Try the values of a path: each must give a valid scene, and together they must change something.

    Returns:
        How many are good before the first fault.
    """
    steps = parse_path(path) or ()
    changes = steps[0] not in BEFORE_EXPANSION
    for good, trial in enumerate(trials):
        if not _fits_param(check, steps, trial):
            return good
        try:
            other = by.resolve(check.document, {**(trial.beside or {}), path: trial.value})
        except SceneError as error:
            first = error.faults[0]
            if trial.beside is None and first.code not in _OF_UNITS:
                return len(trials)
            check.fault(first.code, f"with {path} = {_spell(trial.value)}: {first.message}", trial.at, first.hint)
            return good
        if shared := _changed_shared(check.spec, other):
            check.fault("SC317", f"`{path}` changes {shared}, which all worlds share", at, "", on_key=True)
            return good
        if list(other.bodies) != list(check.spec.bodies) or list(other.joints) != list(check.spec.joints):
            check.fault("SC317", f"`{path}` cannot differ between worlds: it changes a count", at, "", on_key=True)
            return good
        changes = changes or _differs(check, other, trial.beside or {}, by)
    changes = changes or any(one.option == SWEEP for one in check.document.overrides)  # a sweep is judged by all its cases
    if not changes and any(trial.value != trials[0].value for trial in trials) and not _is_named(check, steps):
        hint = "`initial` does not begin there" if steps[0] == "keyframes" else "no expression uses it"
        check.fault("SC317", f"`{path}` has no effect", at, hint, on_key=True)
    return len(trials)


def _changed_shared(spec: SceneSpec, other: SceneSpec) -> str:
    """What all worlds of a run share and two scenes have otherwise; "" if nothing."""
    if [one.at for one in spec.events] != [one.at for one in other.events]:
        return "the time of an event"
    names = {"solver": "the solver", "run": "the run", "output": "the output", "measure": "a measure"}
    return next((words for key, words in names.items() if getattr(spec, key) != getattr(other, key)), "")


def _differs(check: Checker, other: SceneSpec, beside: Mapping[str, object], by: Resolvers) -> bool:
    """Whether a scene differs in more than its parameters and keyframes from the one without the value that was tried."""
    try:
        base = by.resolve(check.document, beside) if beside else check.spec
    except SceneError:
        return True
    return other.model_copy(update={"params": base.params, "keyframes": base.keyframes}) != base


def _fits_param(check: Checker, steps: tuple[PathStep, ...], trial: Trial) -> bool:
    """Whether a value has the dimension of the parameter that it is for, where both have units; a fault if not."""
    node = find(check.document.root, steps) if steps[0] == "params" else None
    if same_kind(node, Scalar(trial.value, check.tree.mark)):
        return True
    path = format_path(steps)
    message = f"`{_spell(trial.value)}` is of another kind than `{node.value}`, which `{path}` is written as"
    check.fault("SC213", message, trial.at, "write a unit of the same kind")
    return False


def _is_named(check: Checker, steps: tuple) -> bool:
    """Whether some expression depends on a parameter, though it may change nothing at the values of the others."""
    root = check.document.root
    return steps[0] == "params" and len(steps) == 2 and dependent_leaves(root, root.get("params"), {steps[1]}) != {}


def _spell(value: object) -> str:
    return f"{value:g}" if _is_number(value) else str(value)[:40]
