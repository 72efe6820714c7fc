"""The tree of a scene file with a mark on every key and every value, dotted paths into it, and who has written a number.

Marks of values say where they stand: file, line, column. Ranks say by whom: the file, its batch, an option, or who runs it;
itself or through parameters.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from simcli.errors import Where
from simcli.spec.base.old_keys import current_steps


class Mark(NamedTuple):
    """A place in a source text: file as the user sees it, 1-based line and column, characters to underline."""

    file: str
    line: int
    column: int
    length: int


class Node:
    """One value of the tree. Nodes are shared by aliases and templates and are therefore never changed in place.

    Attributes:
        mark: place of the value.
        size: number of nodes below and including this one, aliases expanded.
        height: depth of the tree below this node, 1 for a scalar.
        has_dollar: True if a string below holds `$`; what has none holds no expression and no signal.
    """

    __slots__ = ("has_dollar", "mark")
    size: int
    height: int


class Scalar(Node):
    """A number, string, bool or null.

    Attributes:
        value: the Python value by the YAML 1.2 core schema.
        quoted: True if the text stood in quotes or a block.
    """

    __slots__ = ("quoted", "value")
    size = height = 1

    def __init__(self, value: object, mark: Mark, quoted: bool = False):
        self.value, self.mark, self.quoted = value, mark, quoted
        self.has_dollar = isinstance(value, str) and "$" in value


class _Collection(Node):
    """A value that holds others."""

    __slots__ = ("height", "size")

    def __init__(self, mark: Mark, items: Iterable[Node]):
        size, height, has_dollar = 1, 1, False
        for item in items:
            size += item.size
            if item.height >= height:
                height = item.height + 1
            if item.has_dollar:
                has_dollar = True
        self.mark, self.size, self.height, self.has_dollar = mark, size, height, has_dollar


class Listing(_Collection):
    """A sequence."""

    __slots__ = ("items",)

    def __init__(self, items: list[Node], mark: Mark):
        super().__init__(mark, items)
        self.items = items


class TableNode(_Collection):
    """A mapping with string keys.

    Attributes:
        items: key to value.
        keys: key to the mark of the key.
        block: True if written in block style, where the key is the better place to point at.
    """

    __slots__ = ("block", "items", "keys")

    def __init__(self, items: dict[str, Node], keys: dict[str, Mark], mark: Mark, block: bool = True):
        super().__init__(mark, items.values())
        self.items = items
        self.keys = keys
        self.block = block

    def get(self, key: str) -> Node | None:
        """Value of a key, None if it is not there."""
        return self.items.get(key)

    def replaced(self, changes: Mapping[str, Node | None], marks: Mapping[str, Mark] | None = None) -> "TableNode":
        """A copy with some values replaced or added; None removes a key."""
        items, keys = dict(self.items), dict(self.keys)
        for key, value in changes.items():
            if value is None:
                items.pop(key, None)
                keys.pop(key, None)
            else:
                items[key] = value
                if marks and key in marks:
                    keys[key] = marks[key]
                else:
                    keys.setdefault(key, value.mark)
        return TableNode(items, keys, self.mark, self.block)


PathStep = str | int
_PATH_PART = re.compile(r"([^.\[\]]+)((?:\[\d{1,9}\])*)\Z")
_INDEX = re.compile(r"\[(\d+)\]")


@lru_cache(maxsize=4096)
def parse_path(text: str) -> tuple[PathStep, ...] | None:
    """Split `bodies.crank.com[0]` into its steps, old keys under their new names; None if it is not a dotted path."""
    steps: list[PathStep] = []
    for part in text.split("."):
        match = _PATH_PART.match(part)
        if match is None:
            return None
        steps.append(match.group(1))
        steps.extend(int(index) for index in _INDEX.findall(match.group(2)))
    return current_steps(tuple(steps))


def format_path(steps: Iterable[PathStep]) -> str:
    """The dotted spelling of a path."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def child(node: Node | None, step: PathStep) -> Node | None:
    """The node one step down, None if there is none; a key of a list of one entry is a key of that."""
    if isinstance(node, TableNode):
        return node.items.get(str(step))
    if isinstance(node, Listing) and isinstance(step, str) and len(node.items) == 1:
        return child(node.items[0], step)
    if isinstance(node, Listing) and isinstance(step, int) and 0 <= step < len(node.items):
        return node.items[step]
    return None


def find(root: Node, steps: Sequence[PathStep]) -> Node | None:
    """The node at a path, None if there is none."""
    node: Node | None = root
    for step in steps:
        node = child(node, step)
    return node


def replace(root: Node, steps: Sequence[PathStep], value: Node, key_mark: Mark | None = None) -> Node | None:
    """A copy of the tree with the node at a path replaced; missing mappings on the way are made.

    Returns:
        The new tree, or None where the path runs through a scalar or past the end of a list.
    """
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(root, Listing) and isinstance(step, str) and len(root.items) == 1:
        step, rest = 0, steps
    if isinstance(step, int):
        if not isinstance(root, Listing) or step >= len(root.items):
            return None
        below = replace(root.items[step], rest, value, key_mark)
        if below is None:
            return None
        return Listing([*root.items[:step], below, *root.items[step + 1 :]], root.mark)
    if isinstance(root, Scalar) and root.value is None:
        root = TableNode({}, {}, root.mark)
    if not isinstance(root, TableNode):
        return None
    mark = key_mark or value.mark
    start = root.items.get(step) or TableNode({}, {}, mark)
    below = replace(start, rest, value, key_mark)
    if below is None:
        return None
    marks = {step: mark} if step not in root.items or not rest else {}
    return root.replaced({step: below}, marks)


def plain(node: Node) -> object:
    """The tree as dicts, lists and Python scalars."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, TableNode):
        return {key: plain(value) for key, value in node.items.items()}
    return [plain(item) for item in node.items]


def rebuild(data: object, mark: Mark) -> Node:
    """A tree from plain data, every node at the same place."""
    if isinstance(data, Mapping):
        items = {str(key): rebuild(value, mark) for key, value in data.items()}
        return TableNode(items, dict.fromkeys(items, mark), mark, block=False)
    if isinstance(data, list | tuple):
        return Listing([rebuild(item, mark) for item in data], mark)
    return Scalar(data, mark)


def walk_nodes(node: Node, path: tuple[PathStep, ...] = ()) -> Iterator[tuple[tuple[PathStep, ...], Node]]:
    """All nodes, parents first, in the order of the file."""
    waiting = [(path, node)]
    while waiting:
        path, node = waiting.pop()
        yield path, node
        if isinstance(node, TableNode):
            waiting += [((*path, key), value) for key, value in reversed(node.items.items())]
        elif isinstance(node, Listing):
            waiting += [((*path, index), node.items[index]) for index in reversed(range(len(node.items)))]


def locate(root: Node, steps: Sequence[PathStep], on_key: bool = False) -> Where:
    """The place of a path, or of its deepest part that exists.

    Args:
        root: the tree.
        steps: path; steps that the tree does not have (tags of unions, absent keys) are passed over.
        on_key: point at the key rather than at the value.

    Returns:
        The key's place if asked for or if the value is a block, else the value's.
    """
    node, key_mark, found = root, None, []
    for step in steps:
        below = child(node, step)
        if below is None:
            continue
        found.append(step)
        # An entry of a list has no key of its own.
        key_mark = node.keys.get(str(step)) if isinstance(node, TableNode) else None
        node = below
    block = isinstance(node, Listing | TableNode) and (node.mark.length <= 1 or len(found) < len(steps))
    mark = key_mark if key_mark is not None and (on_key or block) else node.mark
    return Where(mark.file, mark.line, mark.column, mark.length, format_path(found or steps))


SET, VARY, VARY_TABLE = "--set", "--vary", "--vary-table"  # options; a mark has them in place of a file
SWEEP = "sweep"  # what a sweep file lays over its scenes


class Rank(IntEnum):
    """Who has written a number; a higher one holds."""

    FILE = 0
    BATCH = 1
    SET = 2
    RUN = 3


_OF_OPTION = {SET: Rank.SET, SWEEP: Rank.RUN, VARY: Rank.RUN, VARY_TABLE: Rank.RUN}


class RankedMark(Mark):
    """A place whose value somebody else than the file has written, itself or in the parameters that it is made of."""

    rank: Rank = Rank.FILE
    of_parameters: Rank = Rank.FILE

    @classmethod
    def of(cls, mark: Mark, rank: Rank) -> "RankedMark":
        """A place with a rank."""
        found = cls(*mark)
        found.rank = rank
        return found


def start_rank(node: Node | None) -> Rank:
    """The rank of a value."""
    mark = node.mark if node is not None else None
    return getattr(mark, "rank", None) or (_OF_OPTION.get(mark.file, Rank.FILE) if mark is not None else Rank.FILE)


def full_rank(node: Node | None) -> Rank:
    """The rank of a value or of the parameters that it is made of, whichever is higher."""
    of_parameters = getattr(node.mark, "of_parameters", Rank.FILE) if node is not None else Rank.FILE
    return max(start_rank(node), of_parameters)


def made_of(node: Node, of_parameters: Rank) -> Mark:
    """The mark of a value that is made of parameters.

    Args:
        node: its expression.
        of_parameters: the highest rank of these.
    """
    if of_parameters == Rank.FILE:
        return node.mark
    found = RankedMark.of(node.mark, start_rank(node))
    found.of_parameters = of_parameters
    return found
