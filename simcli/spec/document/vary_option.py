"""Values of options as they are typed: YAML, and the short ways of `--vary`."""

import itertools
import re

from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import Listing, Mark, Node, Scalar, TableNode
from simcli.spec.document.loader import parse_text
from simcli.spec.values.scopes import where_of

_DRAW = re.compile(r"(\s*)([a-z_]+)(\s*)\((.*)\)\s*\Z", re.DOTALL)
_WORD = re.compile(r"\s*([a-z_]+)\s*(\(|\Z)")
_FLOAT = r"-?\d+(?:\.\d+(?:e[-+]\d+)?|e[-+]\d+)"
_NUMBERS = re.compile(rf"\{{list: \[({_FLOAT}(?:, {_FLOAT})*)\]\}}")
_NAMED_VALUE = re.compile(r"\s*([a-z_]+)\s*=\s*(.*\S)", re.DOTALL)


def value_of_text(text: str, start: Mark, faults: Faults) -> Node:
    """The YAML value of an option; null where nothing is typed."""
    node = parse_text(text, start.file, faults, at=(start.line, start.column))
    return Scalar(None, start) if node is None else node


def spread_values(text: str, start: Mark, faults: Faults) -> Node:
    """The values of `--vary`: `0.1,0.2` is a grid, `normal(1, 0.1, low=0)` a draw; marks are those of the text as typed."""
    if text.lstrip().startswith("{"):
        return _listed_numbers(text, start) or value_of_text(text, start, faults)
    draw = _DRAW.match(text)
    if draw is None and (word := _WORD.match(text)):
        mark = start._replace(column=start.column + word.start(1), length=len(text.strip()))
        hint = f"close the bracket: `{text.strip()[:40]})`" if word[2] else f"put numbers in brackets: {word[1]}(0, 1)"
        faults.add("SC113", f"`{text.strip()[:60]}` is not a way to vary", where_of(mark), hint)
        return TableNode({}, {}, mark, block=False)
    if draw is None:
        node = value_of_text(f"[{text}]", start._replace(column=start.column - 1), faults)
        mark = start._replace(length=max(1, len(text)))
        return TableNode({"grid": node}, {"grid": mark}, mark, block=False)
    before, kind, gap, inner = draw.groups()
    at = start._replace(column=start.column + len(before), length=len(kind))
    open_at = at.column + len(kind) + len(gap)
    plain_text, named = _arguments(inner)
    node = value_of_text(f"[{plain_text}]", start._replace(column=open_at), faults)
    items: dict[str, Node] = {kind: node}
    keys = {kind: at}
    for key, offset, value, value_offset in named:
        keys[key] = at._replace(column=open_at + 1 + offset, length=max(1, len(key)))
        if not key:
            message = f"`{value[:40]}` stands behind a named value"
            faults.add("SC113", message, where_of(keys.pop(key)), "write named values last")
            continue
        if key in items:
            faults.add("SC102", f"`{key}` stands twice", where_of(keys[key]), "keep one")
        items[key] = value_of_text(value, start._replace(column=open_at + 1 + value_offset), faults)
    if kind == "from":
        return _as_from(items, keys, at, faults)
    return TableNode(items, keys, at, block=False)


def _listed_numbers(text: str, start: Mark) -> Node | None:
    """A list of plain floats, as a search writes for all its worlds at once; None of any other text."""
    found = _NUMBERS.fullmatch(text)
    if found is None:
        return None
    mark = start._replace(length=len(text))
    numbers = [Scalar(float(one), mark) for one in found[1].split(", ")]
    return TableNode({"list": Listing(numbers, mark)}, {"list": mark}, mark, block=False)


def _arguments(text: str) -> tuple[str, list[tuple[str, int, str, int]]]:
    """Arguments of a draw: the text of those without a name, and of the others name, offset, value, its offset."""
    cuts, depth, quote = [-1], 0, ""
    for k, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == "," and depth == 0:
            cuts.append(k)
    pieces = [(first + 1, text[first + 1 : last]) for first, last in itertools.pairwise([*cuts, len(text)])]
    named, bare = [], len(text)
    for at, piece in pieces:
        found = _NAMED_VALUE.match(piece)
        if found:
            named.append((found[1], at + found.start(1), found[2], at + found.start(2)))
            bare = min(bare, max(0, at - 1))
        elif named:
            named.append(("", at, piece.strip(), at))
    return text[:bare], named


def _as_from(items: dict[str, Node], keys: dict[str, Mark], at: Mark, faults: Faults) -> Node:
    """`from(FILE, measure=NAME)` as the mapping of a scene."""
    files = items.pop("from")
    keys.pop("from")
    entries = files.items if isinstance(files, Listing) else [files]
    if len(entries) > 1:
        faults.add("SC113", "`from` takes one file", where_of(entries[1].mark), "write from(earlier.h5, measure=NAME)")
    if entries:
        items, keys = {"file": entries[0], **items}, {"file": entries[0].mark, **keys}
    return TableNode({"from": TableNode(items, keys, at, block=False)}, {"from": at}, at, block=False)
