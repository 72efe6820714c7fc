"""Values from the command line, laid on the tree of a scene; their faults show the option and the text as typed."""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from simcli.spec.base.fault_list import Faults, did_you_mean
from simcli.spec.base.nodes import (
    SET,
    SWEEP,
    VARY,
    VARY_TABLE,
    Listing,
    Mark,
    Node,
    PathStep,
    Scalar,
    TableNode,
    child,
    format_path,
    parse_path,
    replace,
)
from simcli.spec.base.old_keys import mentions_old_key
from simcli.spec.document.renewal import old_keys, renewed, tell_old_keys
from simcli.spec.document.vary_option import spread_values, value_of_text
from simcli.spec.values.scopes import same_kind, says_same, where_of

NAMED_MEASURE = "--measure"
_ONCE = {VARY: "varied", NAMED_MEASURE: "measured"}  # options that say something new each time
ADDED_MEASURE = "sweep measure"  # option of the measures that a sweep adds to those of its scenes
_LAID_OVER = (SET, SWEEP, ADDED_MEASURE)  # options over which others may be laid: of two `--set`, the last one holds
_VARIED = "batch.vary."
# Sections whose entries are named by the user: a path into a name that is not there is a fault, not a new entry.
_NAMED = ("bodies", "joints", "forces", "signals", "materials", "models", "instances", "replicate", "params", "keyframes")


class Override(NamedTuple):
    """A value from the command line.

    Attributes:
        option: the option, `--dt`; stands for the file in the places of faults.
        text: what was typed after it.
        path: dotted path that the option stands for; "" where the text says it, as `joints.pin.q=0.5`.
    """

    option: str
    text: str
    path: str = ""


class Laid(NamedTuple):
    """An override that has been read: where to, what, and the place of its key."""

    steps: tuple[PathStep, ...]
    node: Node
    key_mark: Mark


def apply_sets(
    root: TableNode,
    sets: Iterable[str | Override],
    keep: Callable[[str, str], None],
    faults: Faults,
    typed: Collection[Override] = (),
) -> tuple[TableNode, list[Laid]]:
    """Lay overrides on the raw tree, in order.

    Args:
        root: the tree of the file.
        sets: overrides; a text is one of `--set`.
        keep: takes option and text, one line per use of the option, for the snippets of messages.
        faults: collects.
        typed: those of them that are of one command line, and may not contradict each other.

    Returns:
        The tree with them, and those that must wait for the expansion.
    """
    sets = list(sets)
    lines: dict[str, list[str]] = {}
    waiting: list[Laid] = []
    said: dict[tuple, Mark] = {}
    standing: list[tuple[Override, Laid]] = []
    tables = [item.text for item in sets if isinstance(item, Override) and item.option == VARY_TABLE]
    for number, text in enumerate(tables, start=1):  # below all others
        lines[VARY_TABLE] = tables
        root = _with_table(root, text, number)
    for item in sets:
        given = override = item if isinstance(item, Override) else Override(SET, item)
        if override.option == VARY_TABLE:
            continue
        override = override._replace(text=override.text.replace("\n", " ").replace("\r", " "))
        lines.setdefault(override.option, []).append(override.text)
        laid = _read(override, len(lines[override.option]), faults)
        if laid is None or (override.option in _ONCE and _is_said_already(override.option, laid, said, faults)):
            continue
        laid = _renewed(laid, override, _is_of(typed, given), faults)
        laid = laid._replace(steps=keyframe_steps(root, laid.steps, getattr(laid.node, "value", None)))
        late = len(laid.steps) > 1 and "/" in str(laid.steps[1])
        if late and child(child(root, laid.steps[0]), laid.steps[1]) is None:
            waiting.append(laid)
            continue
        if not known_key(root, laid, faults) or (override.option == ADDED_MEASURE and _is_measured(root, laid, faults)):
            continue
        if not _keeps_kind(root, laid, faults):
            continue
        if unwritten_list(root, laid.steps) is not None:
            waiting.append(laid)
            continue
        root = put_value(root, laid, faults) or root
        standing = [
            *_unchanged(root, standing, override, laid, faults),
            *([(override, laid)] if _is_of(typed, given) and override.option not in _LAID_OVER else []),
        ]
    for option, texts in lines.items():
        keep(option, "\n".join(texts))
    return root, waiting


def _read(override: Override, number: int, faults: Faults) -> Laid | None:
    """Path and value of an override, or None after a fault."""
    option, text, path = override
    column, value = 1, text
    if not path:
        key, equals, value = text.partition("=")
        path, column = key.strip(), len(key) + 2
        key_mark = Mark(option, number, 1, max(1, len(key)))
        steps = ("batch", "vary", path) if option == VARY else override_path(path)
        if not equals or not path or steps is None:
            hint = f"write {option} {_EXAMPLES[option]}"
            faults.add("SC113", f"`{text[:60]}` is not an override", where_of(key_mark), hint)
            return None
    else:
        key_mark = Mark(option, number, 1, max(1, len(text)))
        steps = parse_path(path)
    if steps[0] == "include":
        faults.add("SC113", "`include` cannot be set", where_of(key_mark), "write it into the scene")
        return None
    node = (spread_values if option == VARY else value_of_text)(value, Mark(option, number, column, 1), faults)
    return Laid(steps, node, key_mark)


def _renewed(laid: Laid, override: Override, is_noted: bool, faults: Faults) -> Laid:
    """An override with the new names of old keys, which are reported."""
    path = overridden_path(override)
    if not mentions_old_key(path + override.text):
        return laid
    typed = TableNode({path: laid.node}, {path: laid.key_mark}, laid.key_mark)
    tell_old_keys(old_keys(typed), faults, "write `{}`" if is_noted else None)
    return laid._replace(node=renewed(laid.node, laid.steps)) if isinstance(laid.node, TableNode) else laid


def keyframe_steps(root: TableNode, steps: tuple[PathStep, ...], value: object) -> tuple[PathStep, ...]:
    """Where a value goes: a keyframe that `initial` names goes beside what `initial` writes itself, which holds over it."""
    is_name = steps == ("initial",) and isinstance(value, str)
    return ("initial", "keyframe") if is_name and isinstance(root.get("initial"), TableNode) else steps


def _is_of(typed: Collection[Override], one: str | Override) -> bool:
    """Whether an override is one of these, and not only equal to one: a run may have been made with the same."""
    return any(one is other for other in typed)


def _unchanged(
    root: TableNode, standing: list[tuple[Override, Laid]], last: Override, laid: Laid, faults: Faults
) -> list[tuple[Override, Laid]]:
    """What options have said and the tree still says; a fault for each that the last override has changed."""
    kept = []
    for one in standing:
        override, (steps, node, _) = one
        found: Node | None = root
        for step in steps:
            found = child(found, step)
        if says_same(found, node):
            kept.append(one)
            continue
        first, second = (f"{each.option} {each.text}"[:80] for each in (override, last))
        message = f"`{first}` and `{second}` contradict each other"
        faults.add("SC102", message, where_of(laid.key_mark, format_path(steps)), "keep one of them")
    return kept


def _keeps_kind(root: TableNode, laid: Laid, faults: Faults) -> bool:
    """Whether a value has the dimension of the parameter that it replaces, where both have units; a fault if not."""
    if laid.steps[0] != "params" or len(laid.steps) != 2:
        return True
    before = child(root.get("params"), laid.steps[1])
    if same_kind(before, laid.node):
        return True
    path = format_path(laid.steps)
    message = f"`{laid.node.value}` is of another kind than `{before.value}`, which `{path}` is written as"
    faults.add("SC213", message, where_of(laid.node.mark, path), "write a unit of the same kind")
    return False


def _is_measured(root: TableNode, laid: Laid, faults: Faults) -> bool:
    """Whether the scene has a measure of the name that a sweep gives to another; a fault if so."""
    name = laid.steps[-1]
    there = child(root.get("measure"), name) is not None
    if there:
        hint = f"give it another name, or replace that of the scene by `set: {{measure.{name}: ..}}`"
        faults.add("SC102", f"the scene has a measure `{name}` of its own", where_of(laid.key_mark), hint)
    return there


def shadowed(path: str, others: Iterable[str]) -> str | None:
    """The one of several paths that replaces all of what a path leads to: the path itself, or one that it begins with."""
    steps = override_path(path) or ()
    ends = ((other, override_path(other)) for other in others)
    return next((other for other, end in ends if end and steps[: len(end)] == end), None)


def overridden_path(override: Override) -> str:
    """The path that an override sets or varies."""
    return override.path or override.text.partition("=")[0].strip()


def _with_table(root: TableNode, file: str, number: int) -> TableNode:
    """The tree whose worlds are the rows of a file: of what the scene says of its batch the seed stays alone."""
    mark = Mark(VARY_TABLE, number, 1, max(1, len(file)))
    table = TableNode({"file": Scalar(file, mark, quoted=True)}, {"file": mark}, mark, block=False)
    seed = child(root.get("batch"), "seed")
    items = ({"seed": seed} if seed is not None else {}) | {"table": table}
    return root.replaced({"batch": TableNode(items, dict.fromkeys(items, mark), mark, block=False)}, {"batch": mark})


def is_of_batch(override: Override) -> bool:
    """Whether an override says something of the batch, other than its seed."""
    path = overridden_path(override)
    return override.option in (VARY, VARY_TABLE) or (path.split(".")[0] == "batch" and path != "batch.seed")


def own_key(override: Override) -> tuple[str, str] | None:
    """What a `--vary` or a `--measure` is about, of which there is one; None of any other option."""
    key = overridden_path(override)
    return (override.option, key) if override.option in _ONCE else None


def _is_said_already(option: str, laid: Laid, said: dict[tuple, Mark], faults: Faults) -> bool:
    """Whether an earlier use of the option took the same path or name; a fault if so."""
    path = str(laid.steps[-1])
    first = said.setdefault((option, path), laid.key_mark)
    if first is laid.key_mark:
        return False
    hint = f"{option} number {first.line} takes it too; keep one"
    faults.add("SC102", f"`{path[:60]}` is {_ONCE[option]} twice", where_of(laid.key_mark), hint)
    return True


_EXAMPLES = {SET: "joints.pin.q=0.5", VARY: "joints.pin.q=0.1,0.2"}


def override_path(text: str) -> tuple[PathStep, ...] | None:
    """Steps of the left side of `--set`; the keys of `batch.vary` are dotted paths themselves."""
    if text.startswith(_VARIED) and len(text) > len(_VARIED):
        return "batch", "vary", text.removeprefix(_VARIED)
    return parse_path(text)


def known_key(root: TableNode, laid: Laid, faults: Faults) -> bool:
    """Whether the entry that a path leads into exists; a fault if not."""
    steps = laid.steps
    if len(steps) <= 2 or steps[0] not in _NAMED:
        return True
    section = root.get(str(steps[0]))
    names = section.items if isinstance(section, TableNode) else {}
    if steps[1] in names:
        return True
    hint = did_you_mean(str(steps[1]), names, f"{steps[0]}")
    faults.add("SC301", f"there is no `{steps[1]}` in `{steps[0]}`", where_of(laid.key_mark, format_path(steps)), hint)
    return False


def unwritten_list(root: TableNode, steps: tuple[PathStep, ...]) -> tuple[PathStep, ...] | None:
    """The path of the list that a path counts in, if the file leaves it at its default."""
    first = next((k for k, step in enumerate(steps) if isinstance(step, int)), None)
    if not first:
        return None
    node: Node | None = root
    for step in steps[:first]:
        if isinstance(node, Listing) or (isinstance(node, Scalar) and node.value is not None):
            return None
        node = child(node, step)
    return steps[:first] if node is None or (isinstance(node, Scalar) and node.value is None) else None


def put_value(root: TableNode, laid: Laid, faults: Faults) -> TableNode | None:
    """The tree with one override, or None after a fault."""
    changed = replace(root, laid.steps, laid.node, laid.key_mark)
    if changed is None:
        message = f"`{format_path(laid.steps)}` leads through a value that is not a mapping, or past the end of a list"
        faults.add("SC113", message, where_of(laid.key_mark, format_path(laid.steps)), "set the whole value")
    return changed
