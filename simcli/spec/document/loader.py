"""YAML text to a marked tree, from the event stream of PyYAML.

The parsers keep their own stack of states, so deep nesting cannot overflow ours, and we stop at the limits before
anything is built. PyYAML's own composers and constructors are not used: they recurse, drop duplicate keys and read
`1e-3` as a string. Plain scalars are those of the core schema of YAML 1.2, without what surprises: no octal by a leading
zero, no on/off.
"""

import re
from collections.abc import Callable
from functools import lru_cache, partial

import yaml
from yaml.events import MappingEndEvent, ScalarEvent, SequenceEndEvent

from simcli.errors import Where
from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import Listing, Mark, Node, Scalar, TableNode
from simcli.spec.base.text import split_lines
from simcli.spec.document.syntax import mistake_of
from simcli.spec.document.syntax_flow import Mistake
from simcli.spec.values.scopes import failed

_MAX_DEPTH = 64
MAX_ALIASES = 1000
MAX_NODES = 2_000_000
MAX_MISTAKES = 20  # of syntax that are told at once
_LONGEST = 2**20  # characters; a longer text that libyaml refuses is not read again, in pure Python, for seconds

_FAST = getattr(yaml, "CSafeLoader", None)  # only its events are used: its composer recurses on the C stack

_LINE_END = re.compile("\r\n|\n|\r")

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_MAX_DIGITS = 400  # more digits than any finite number needs; int() of a longer text is quadratic
_MAX_INT = 2**64  # seeds are 64 bits wide


class ScalarError(ValueError):
    """A plain scalar that is a number, but not one that simcli takes. The message is for the user."""


class _StopError(Exception):
    """A fault after which the rest of the text cannot be read."""


def parse_text(text: str, file: str, faults: Faults, at: tuple[int, int] = (1, 1)) -> Node | None:
    """Build the marked tree of one YAML document.

    Args:
        text: decoded text.
        file: name for the marks.
        faults: collects what is wrong; several duplicate keys or bad numbers are all reported.
        at: line and column of the first character (for values of the command line).

    Returns:
        The tree, of the mended text where mistakes of syntax could be mended; None for an empty document or after a fault
        that ends the reading.
    """
    patient = True
    for _ in range(MAX_MISTAKES):
        attempt = Faults()
        try:
            node = _tree(text, file, attempt, at, patient)
        except yaml.MarkedYAMLError as error:
            failed = (error.problem_mark or error.context_mark).index
            mistake, mended = mistake_of(text, failed, _stops(text, failed))
            if mended is not None or patient:
                _explain(error, failed, mistake, text, file, faults, at)
                if mended is None:
                    return None
                text = mended
            patient = mended is None
            continue
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            attempt.add("SC101", f"not YAML: {str(error).splitlines()[0]}", Where(file, *at))
            node = None
        return _copied(attempt, faults, node)
    return None


def _tree(text: str, file: str, faults: Faults, at: tuple[int, int], patient: bool) -> Node | None:
    """The tree of a text; None after a fault of ours, which is no error of YAML.

    Args:
        text: to read.
        file: name for the marks.
        faults: collects.
        at: line and column of the first character.
        patient: whether PyYAML reads what libyaml refuses: it is twenty times slower, and takes a few more texts.
    """
    attempt = Faults()
    try:
        if _FAST is not None:
            if len(text) > _LONGEST:
                _check_syntax(text)  # a mistake at the end wastes the tree
            return _copied(attempt, faults, _Builder(text, file, attempt, at, _FAST).build())
    except _StopError:
        return _copied(attempt, faults, None)
    except (yaml.YAMLError, ValueError):
        if not patient or len(text) > _LONGEST:
            raise
    try:
        return _Builder(text, file, faults, at, yaml.SafeLoader).build()
    except _StopError:
        return None


def _check_syntax(text: str) -> None:
    """Read a text with libyaml, without objects in Python; raises what is wrong, but for depth, which the tree tells."""
    try:
        _FAST(text).raw_parse()
    except yaml.MarkedYAMLError as error:
        if "nesting depth" not in (error.problem or ""):  # since version 0.2.6 of libyaml
            raise


def _copied(found: Faults, faults: Faults, node: Node | None) -> Node | None:
    for fault in found.found:
        faults.add(fault.code, fault.message, fault.where, fault.hint, fault.severity)
    return node


def _stops(text: str, failed: int) -> Callable[[str], int | None]:
    """A function that tells where a parser stops in a text: libyaml, unless it stops before the place of the failure."""
    slow = _FAST is None or (len(text) <= _LONGEST and (_stop_of(text, _FAST) or 0) < text.rfind("\n", 0, failed))
    return partial(_stop_of, loader=yaml.SafeLoader if slow else _FAST)


def _stop_of(text: str, loader: type) -> int | None:
    """Index of the character at which a parser stops; None if it takes the text."""
    try:
        for _ in yaml.parse(text, Loader=loader):
            pass
    except yaml.MarkedYAMLError as error:
        return (error.problem_mark or error.context_mark).index
    except (yaml.YAMLError, ValueError):
        return 0
    return None


def _explain(
    error: yaml.MarkedYAMLError,
    failed: int,
    mistake: Mistake | None,
    text: str,
    file: str,
    faults: Faults,
    at: tuple[int, int],
) -> None:
    """Add the fault that made the parser stop: the mistake, or the parser's own words if none was found."""
    if mistake is None:
        index, length = failed, 1
        message, hint = _short((error.problem or "cannot read on").replace("\n", " "), 120), _other_hint(error)
    else:
        index, length, message, hint = mistake.index, mistake.length, mistake.message, mistake.hint
    lines = split_lines(text[:index])
    where = Where(file, len(lines) - 1 + at[0], len(lines[-1]) + (at[1] if len(lines) == 1 else 1), length)
    faults.add("SC101", f"YAML syntax: {message}", where, hint)


def _other_hint(error: yaml.MarkedYAMLError) -> str:
    """What to do about an error of the parser for which no mistake was found."""
    problem = error.problem or ""
    if "alias" in problem or any(f"'{c}'" in problem for c in "%@`"):
        return "quote strings that begin with a special character"
    return "look for a bracket, quote, colon or indentation that is wrong, here or in the line before"


class _Builder:
    """One pass over the events of a document."""

    def __init__(self, text: str, file: str, faults: Faults, at: tuple[int, int], loader: type):
        self.text, self.file, self.faults = text, file, faults
        self.row, self.column = at
        self.take = loader(text).get_event  # the next event, None after the last
        self.anchors: dict[str, Node | None] = {}
        self.aliases = 0
        self.nodes = 0  # met so far, aliases expanded

    def build(self) -> Node | None:
        root = None
        documents = 0
        for event in iter(self.take, None):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self.stop("SC103", "a second document in one file", event, "one file holds one scene: remove `---`")
                if event.tags:
                    self.stop("SC107", "a %TAG directive", event, "tags are not used in scenes: remove it")
            elif isinstance(event, yaml.NodeEvent):
                root = self.node(event, 1)
        return root

    def node(self, event: yaml.NodeEvent, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            self.stop("SC105", f"nested deeper than {_MAX_DEPTH} levels", event, "flatten the scene")
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.stop("SC105", f"more than {MAX_NODES} values once aliases are expanded", event, "write fewer aliases")
        if type(event) is ScalarEvent and event.tag is None and event.anchor is None:  # nearly all
            return self.scalar(event)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, depth)
        if event.tag is not None:
            self.stop("SC107", f"the tag `{_short(event.tag)}`", event, "tags are not used in scenes: remove it")
        anchor = event.anchor
        if anchor is not None:
            self.anchors[anchor] = None
        if isinstance(event, ScalarEvent):
            node: Node = self.scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self.sequence(event, depth)
        else:
            node = self.mapping(event, depth)
        if anchor is not None:
            self.anchors[anchor] = node
        return node

    def alias(self, event: yaml.AliasEvent, depth: int) -> Node:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            self.stop("SC105", f"more than {MAX_ALIASES} aliases", event, "use `models` and `replicate` instead")
        if event.anchor not in self.anchors:
            self.stop("SC101", f"the alias `*{_short(event.anchor)}` has no anchor before it", event)
        node = self.anchors[event.anchor]
        if node is None:
            self.stop("SC105", f"the alias `*{_short(event.anchor)}` stands inside its own anchor", event)
        if depth + node.height - 1 > _MAX_DEPTH:
            self.stop("SC105", f"nested deeper than {_MAX_DEPTH} levels through an alias", event, "flatten the scene")
        self.nodes += node.size - 1
        return node

    def scalar(self, event: ScalarEvent) -> Scalar:
        mark = self.mark(event, event.end_mark)
        if event.style:
            return Scalar(event.value, mark, quoted=True)
        try:
            return Scalar(plain_scalar(event.value), mark)
        except ScalarError as error:
            self.faults.add("SC106", str(error), self.where(mark), "write a finite number")
            return failed(mark)

    def sequence(self, event: yaml.SequenceStartEvent, depth: int) -> Listing:
        items = []
        while type(inner := self.take()) is not SequenceEndEvent:
            items.append(self.node(inner, depth + 1))
        return Listing(items, self.mark(event, inner.end_mark if event.flow_style else None))

    def mapping(self, event: yaml.MappingStartEvent, depth: int) -> TableNode:
        items: dict[str, Node] = {}
        keys: dict[str, Mark] = {}
        while type(inner := self.take()) is not MappingEndEvent:
            key, mark = self.key(inner)
            value = self.node(self.take(), depth + 1)
            if key in items:
                first = keys[key]
                self.faults.add(
                    "SC102",
                    f"the key `{_short(key)}` is written twice",
                    self.where(mark),
                    f"first at line {first.line}; keep one",
                )
            else:
                items[key], keys[key] = value, mark
        return TableNode(items, keys, self.mark(event, inner.end_mark if event.flow_style else None), not event.flow_style)

    def key(self, event: yaml.NodeEvent) -> tuple[str, Mark]:
        if not isinstance(event, ScalarEvent):
            hint = "quote `${...}` inside braces" if self.text[max(0, event.start_mark.index - 1)] == "$" else ""
            self.stop("SC108", "a key that is not a plain word", event, hint or "keys are words or names")
        if event.tag is not None:
            self.stop("SC107", f"the tag `{_short(event.tag)}`", event, "tags are not used in scenes: remove it")
        if event.anchor is not None:
            self.stop("SC108", "an anchor on a key", event, "anchor the value instead")
        if not event.style and event.value == "<<":
            self.stop("SC107", "a merge key `<<`", event, "use `include`, `defaults` or `models` instead")
        return event.value, self.mark(event, event.end_mark)

    def mark(self, event: yaml.Event, end: yaml.Mark | None) -> Mark:
        """The place of what begins with an event, and its length in the first line; a length of 1 without an end."""
        start = event.start_mark
        row, column = start.line, start.column
        if end is None:
            length = 1
        elif row == end.line:
            length = end.column - column or 1
        else:
            line = _LINE_END.split(self.text[start.index : end.index], maxsplit=1)[0]
            length = max(1, len(line.rstrip()))
        return Mark(self.file, row + self.row, column + (1 if row else self.column), length)

    def where(self, mark: Mark) -> Where:
        return Where(mark.file, mark.line, mark.column, mark.length)

    def stop(self, code: str, message: str, event: yaml.Event, hint: str = "") -> None:
        opens = isinstance(event, yaml.CollectionStartEvent)
        self.faults.add(code, message, self.where(self.mark(event, None if opens else event.end_mark)), hint)
        raise _StopError


def _short(text: str, limit: int = 40) -> str:
    text = str(text)
    return text if len(text) <= limit else text[: limit - 3] + "..."


@lru_cache(maxsize=4096)  # files say 0, 1 and true again and again
def plain_scalar(text: str) -> object:
    """The value of an unquoted scalar.

    Raises:
        ScalarError: infinity, not-a-number, too many digits or out of range.
    """
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    first = text[0]
    if not (first.isdigit() or first in "+-."):
        return text
    is_int = _INT.match(text)
    if not (is_int or _FLOAT.match(text) or _OCTAL.match(text) or _HEX.match(text)):
        if _NOT_FINITE.match(text):
            raise ScalarError(f"`{text}` is not a finite number")
        return text
    if len(text) > _MAX_DIGITS:
        raise ScalarError(f"a number of {len(text)} characters")
    if text.startswith(("0o", "0x")):
        return _bounded(int(text, 0), text)
    if is_int:
        return _bounded(int(text), text)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ScalarError(f"`{text}` is beyond the largest number, 1.8e308")
    return value


def _bounded(value: int, text: str) -> int:
    if abs(value) >= _MAX_INT:
        raise ScalarError(f"the integer `{text[:24]}{'...' if len(text) > 24 else ''}` is beyond 64 bits")
    return value
