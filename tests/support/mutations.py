"""Scenes of the gallery with one known mistake each: what a hand slips on while it writes a scene.

A mutation takes a scene apart by its marks, changes one place of the text, and says where a message must point and what
it must propose. The draws are seeded: the same scenes on every machine.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import simcli
from simcli.spec import load_document
from simcli.spec.base.nodes import Listing, Mark, Scalar, TableNode, find, walk_nodes
from simcli.spec.lookup.keys import known_keys
from simcli.spec.values.quantities import is_signal

HOME = Path(simcli.__file__).parent
SHIPPED = sorted([*(HOME.parent / "scenes").glob("*.yaml"), *(HOME / "docs" / "templates").glob("*.yaml")])
CLOSING = {"[": "]", "{": "}"}
ENUMS = ("type", "integrator", "mode", "quantity", "plane", "on_failure", "precision", "interpolate")
UNITS = {
    "mass": "kg",
    "density": "kg/m^3",
    "duration": "s",
    "every": "s",
    "dt": "s",
    "radius": "m",
    "length": "m",
    "gravity": "m/s^2",
    "xyz": "m",
    "com": "m",
    "at": "m",
    "diag": "kg*m^2",
}
VECTORS = ("xyz", "rpy", "com", "at", "axis", "gravity", "size", "diag", "linear", "angular", "normal")
POSITIVE = ("mass", "radius", "density", "dt", "duration", "every")
SECTIONS = ("bodies", "joints", "forces", "materials", "signals")
AT_HOME = {
    "dt: 1e-3": "solver.dt",
    "gravity: [0, 0, -9.81]": "world.gravity",
    "every: 0.01": "output.every",
    "integrator: rk4": "solver.integrator",
    "worlds: 8": "batch.worlds",
    "bodie: {}": "bodies",
    "solvers: {dt: 1e-3}": "solver",
    "joint: {}": "joints",
    "outputs: {every: 0.01}": "output",
}


@dataclass(frozen=True)
class Broken:
    """A scene with one mistake.

    Attributes:
        kind: of the mistake.
        path: the scene that was good.
        text: the scene with the mistake.
        line: 1-based line that the message must name.
        wanted: one of these must stand in the hint or the message.
    """

    kind: str
    path: Path
    text: str
    line: int
    wanted: tuple[str, ...]


class Source:
    """A good scene, ready to be spoilt: the lines of its text and the marks of its tree."""

    def __init__(self, path: Path):
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.root = load_document(path).root
        self.nodes = list(walk_nodes(self.root))
        self.lines = self.text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def index(self, mark: Mark) -> int:
        return self.starts[mark.line - 1] + mark.column - 1

    def replaced(self, start: int, end: int, new: str) -> str:
        return self.text[:start] + new + self.text[end:]

    def format_keys(self) -> Iterator[tuple[tuple, str, Mark, TableNode]]:
        """Keys of the format: (path of their mapping, key, mark, mapping)."""
        for path, node in self.nodes:
            if isinstance(node, TableNode):
                known = set(known_keys(path)) if path[:1] != ("params",) else set()
                yield from ((path, key, mark, node) for key, mark in node.keys.items() if key in known)

    def scalars(self) -> Iterator[tuple[tuple, Scalar]]:
        return ((path, node) for path, node in self.nodes if isinstance(node, Scalar) and path[0] != "description")

    @cached_property
    def flows(self) -> list[tuple[tuple, Listing | TableNode, int, int]]:
        """Collections in brackets with the places of both brackets."""
        inside = [(path, node, self.index(node.mark)) for path, node in self.nodes if isinstance(node, Listing | TableNode)]
        return [(path, node, at, closing_bracket(self.text, at)) for path, node, at in inside if self.text[at] in CLOSING]

    def block_keys(self) -> Iterator[tuple[tuple, str, Mark, TableNode]]:
        """Keys that begin their line, of mappings in block style."""
        for path, key, mark, table in self.all_keys():
            if table.block and not self.lines[mark.line - 1][: mark.column - 1].strip():
                yield path, key, mark, table

    def all_keys(self) -> Iterator[tuple[tuple, str, Mark, TableNode]]:
        for path, node in self.nodes:
            if isinstance(node, TableNode):
                yield from ((path, key, mark, node) for key, mark in node.keys.items())


def brackets(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Places of the brackets of a text from an opening one on, those in quotes and comments left out."""
    at, quote = start, ""
    while at < len(text):
        c = text[at]
        if quote:
            if c == "\\" and quote == '"':
                at += 1
            elif c == quote:
                quote = ""
        elif c in "\"'" and text[at - 1] in " [{,:":
            quote = c
        elif c == "#" and text[at - 1] in " \n":
            at = text.index("\n", at)
        elif c in "[]{}":
            yield at, c
        at += 1


def closing_bracket(text: str, start: int) -> int:
    depth = 0
    for at, c in brackets(text, start):
        depth += 1 if c in CLOSING else -1
        if depth == 0:
            return at
    raise AssertionError("no closing bracket")


def never_closed(text: str, start: int, end: int) -> int:
    """The place of the bracket that lacks its partner in a text from its outermost bracket to its end."""
    stack = []
    for at, c in brackets(text, start):
        if at >= end:
            break
        if c in CLOSING:
            stack.append((at, c))
        elif CLOSING[stack[-1][1]] != c:
            return stack[-1][0]
        else:
            stack.pop()
    return stack[-1][0]


def slip(rng: random.Random, word: str) -> str:
    """A word with one slip of the hand: two letters swapped, one lost, doubled or wrong."""
    while True:
        at = rng.randrange(len(word))
        made = rng.choice(
            [
                word[:at] + word[at + 1 :],
                word[:at] + word[at] + word[at:],
                word[:at] + rng.choice("aeinorstl") + word[at + 1 :],
                word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :],
            ]
        )
        if made != word and made and made[0].isalpha():
            return made


Draw = Callable[[random.Random, Source], tuple[str, int, tuple[str, ...]] | None]
KINDS: dict[str, Draw] = {}


def kind(draw: Draw) -> Draw:
    """Register a kind of mistake under the function's name."""
    KINDS[draw.__name__] = draw
    return draw


def pick(rng: random.Random, found: Iterator) -> object:
    items = list(found)
    return rng.choice(items) if items else None


@kind
def misspelt_key(rng, source):
    chosen = pick(rng, (one for one in source.format_keys() if len(one[1]) > 2))
    path, key, mark, table = chosen
    known = {*known_keys(path), *table.items}
    made = next(word for _ in range(100) if (word := slip(rng, key)) not in known)
    at = source.index(mark)
    return source.replaced(at, at + len(key), made), mark.line, (f"`{key}`",)


@kind
def misspelt_value(rng, source):
    found = [
        (p, n)
        for p, n in source.scalars()
        if p[-1] in ENUMS and isinstance(n.value, str) and len(n.value) > 2 and "." not in n.value
    ]
    if not found:
        return None
    _, node = rng.choice(found)
    at = source.index(node.mark)
    return source.replaced(at, at + node.mark.length, slip(rng, node.value)), node.mark.line, (f"`{node.value}`",)


def _references(source):
    for path, node in source.scalars():
        name = node.value
        if not isinstance(name, str) or len(name) < 4 or path[0] not in ("joints", "forces", "expect", "articulations"):
            continue
        if (path[-1] in ("parent", "child", "body", "joint") and name != "world") or path[0] == "articulations":
            yield path, node
        if path[-1] == "quantity" and "." in name:
            yield path, node
        if is_signal(name) or path[-1] == "material" or (path[-1] in ("a", "b", "point") and "/" in name):
            yield path, node


@kind
def misspelt_reference(rng, source):
    chosen = pick(rng, _references(source))
    if chosen is None:
        return None
    _, node = chosen
    names = {name for section in SECTIONS for name in getattr(source.root.get(section), "items", {})}
    name = node.value.rpartition("/")[2].lstrip("$")
    start = source.index(node.mark) + len(node.value) - len(name)
    made = next((word for _ in range(100) if (word := slip(rng, name)) not in names), None)
    return source.replaced(start, start + len(name), made), node.mark.line, (f"`{name}`", f"/{name}`", f"`${name}`")


@kind
def wrong_type(rng, source):
    places = (*SECTIONS, "solver", "run")
    found = ((p, n) for p, n in source.scalars() if isinstance(n.value, int | float) and p[0] in places)
    chosen = pick(rng, found)
    if chosen is None:
        return None
    _, node = chosen
    at = source.index(node.mark)
    new = rng.choice(["{a: 1}", "much"]) if not isinstance(node.value, bool) else "maybe"
    wanted = ("true or false",) if isinstance(node.value, bool) else ("number",)
    return source.replaced(at, at + node.mark.length, new), node.mark.line, wanted


@kind
def missing_key(rng, source):
    needed = {"joints": ("type", "parent", "child"), "forces": ("type", "stiffness", "joint", "body", "a")}
    given = getattr(find(source.root, ("defaults", "joint")), "items", {})
    found = [
        one
        for one in source.format_keys()
        if len(one[0]) == 2 and one[1] in needed.get(one[0][0], ()) and one[1] not in given
    ]
    found = [one for one in found if not (one[0][0] == "forces" and one[1] == "damping")]
    if not found:
        return None
    path, key, mark, table = rng.choice(found)
    owner = find(source.root, path[:1]).keys[path[1]]
    start = source.index(mark)
    if table.block:
        text = source.replaced(source.starts[mark.line - 1], source.starts[mark.line], "")
    else:
        value = table.items[key]
        end = source.index(value.mark)
        end = closing_bracket(source.text, end) + 1 if source.text[end] in CLOSING else end + value.mark.length
        end = re.compile(r",?\s*").match(source.text, end).end()
        text = source.replaced(start, end, "")
    return text, owner.line, (f"`{key}: ",)


@kind
def wrong_unit(rng, source):
    def dimension(path):
        return next((str(step) for step in reversed(path) if isinstance(step, str)), "")

    found = [
        (p, n)
        for p, n in source.scalars()
        if dimension(p) in UNITS
        and type(n.value) in (int, float)
        and p[0] in ("bodies", "joints", "world", "run", "output", "solver")
    ]
    path, node = rng.choice(found)
    unit = UNITS[dimension(path)]
    wrong = rng.choice([one for one in ("kg", "m", "s", "N") if one != unit])
    at = source.index(node.mark)
    return source.replaced(at, at + node.mark.length, f'"2 {wrong}"'), node.mark.line, (f"{unit}",)


@kind
def unclosed_bracket(rng, source):
    _, _, start, end = pick(rng, source.flows)
    outer = [one for one in source.flows if one[2] <= start and one[3] >= end]
    first, last = min(one[2] for one in outer), max(one[3] for one in outer)
    text = source.replaced(end, end + 1, "")
    at = never_closed(text, first, last)
    return text, text.count("\n", 0, at) + 1, (f"`{CLOSING[text[at]]}`",)


@kind
def wrong_bracket(rng, source):
    found = [one for one in source.flows if "\n" not in source.text[one[2] : one[3]]]
    _, node, _, end = rng.choice(found)
    new = {"]": "}", "}": "]"}[source.text[end]]
    return source.replaced(end, end + 1, new), node.mark.line, (f"`{source.text[end]}`",)


@kind
def unclosed_quote(rng, source):
    found = [n for _, n in source.scalars() if n.quoted and source.text[source.index(n.mark)] in "\"'"]
    if not found:
        return None
    node = rng.choice(found)
    end = source.index(node.mark) + node.mark.length - 1
    return source.replaced(end, end + 1, ""), node.mark.line, ("close the quote",)


@kind
def no_space_after_colon(rng, source):
    found = []
    for _, key, mark, table in source.format_keys():
        end = source.index(mark) + len(key)
        brackets = source.text[end + 2 : end + 3] in ("[", "{", '"') and not table.block  # which YAML takes
        if source.text[end : end + 2] == ": " and source.text[end + 2] != " " and not brackets:
            found.append((end, mark))
    end, mark = rng.choice(found)
    return source.replaced(end + 1, end + 2, ""), mark.line, ("a space after the colon",)


@kind
def no_colon(rng, source):
    found = [
        one for one in source.block_keys() if source.lines[one[2].line - 1][one[2].column - 1 + len(one[1]) :][:2] == ": "
    ]
    _, key, mark, _ = rng.choice(found)
    end = source.index(mark) + len(key)
    return source.replaced(end, end + 1, ""), mark.line, ("a colon after",)


def _beside(table, key):
    """What a hint may name: the other keys of the mapping."""
    return tuple(f"`{name}`" for name in table.items if name != key)


@kind
def too_deep(rng, source):
    found = [one for one in source.block_keys() if next(iter(one[3].items)) != one[1]]
    _, key, mark, table = rng.choice(found)
    at = source.starts[mark.line - 1]
    return source.replaced(at, at, " " * rng.choice([1, 2])), mark.line, _beside(table, key)


@kind
def too_shallow(rng, source):
    found = [one for one in source.block_keys() if one[2].column > 1 and next(iter(one[3].items)) != one[1]]
    if not found:
        return None
    _, key, mark, table = rng.choice(found)
    at = source.starts[mark.line - 1]
    return source.replaced(at, at + rng.choice([1, 2]), ""), mark.line, (*_beside(table, key), "indent it further")


@kind
def tab(rng, source):
    found = [one for one in source.block_keys() if one[2].column > 1]
    if not found:
        return None
    _, _, mark, _ = rng.choice(found)
    at = source.starts[mark.line - 1]
    return source.replaced(at, at + mark.column - 1, "\t" * rng.choice([1, 2])), mark.line, ("spaces",)


@kind
def duplicate_key(rng, source):
    _, key, mark, _ = pick(rng, source.block_keys())
    own = source.lines[mark.line - 1]
    if key == "simcli" or own.count("{") != own.count("}") or own.count("[") != own.count("]"):
        return None
    below = range(mark.line, len(source.lines))
    last = next((line for line in below if _indent(source.lines[line]) < mark.column), len(source.lines) - 1)
    at = source.starts[last]
    return source.replaced(at, at, own + "\n"), last + 1, (f"line {mark.line}",)


def _indent(line):
    return len(line) - len(line.lstrip()) if line.strip() else 10**6


@kind
def vector_length(rng, source):
    found = [
        (p, n)
        for p, n, _, _ in source.flows
        if p[-1] in VECTORS
        and isinstance(n, Listing)
        and len(n.items) == 3
        and isinstance(n.items[2], Scalar)
        and p[0] in ("bodies", "joints", "world", "forces")
    ]
    if not found:
        return None
    _, node = rng.choice(found)
    before, last = node.items[1].mark, node.items[2].mark
    text = source.replaced(source.index(before) + before.length, source.index(last) + last.length, "")
    return text, node.mark.line, ("3",)


@kind
def negative(rng, source):
    found = [
        (p, n)
        for p, n in source.scalars()
        if p[-1] in POSITIVE and type(n.value) in (int, float) and p[0] in ("bodies", "solver", "run", "output")
    ]
    _, node = rng.choice(found)
    at = source.index(node.mark)
    return source.replaced(at, at, "-"), node.mark.line, ("larger than 0",)


@kind
def foreign_section(rng, source):
    own, wanted = rng.choice([pair for pair in AT_HOME.items() if pair[0].split(":")[0] not in source.root.items])
    place = source.root.keys["solver"].line if "solver" in source.root.items else len(source.lines)
    at = source.starts[place - 1]
    return source.replaced(at, at, own + "\n"), place, (f"`{wanted}`",)


@kind
def bad_expression(rng, source):
    whole = re.compile(r"\$\{[^}]*[A-Za-z][^}]*\}")
    found = [(p, n) for p, n in source.scalars() if isinstance(n.value, str) and whole.fullmatch(n.value)]
    if not found:
        return None
    _, node = rng.choice(found)
    at = source.index(node.mark)
    inner = node.value[2:-1]
    known = getattr(source.root.get("params"), "items", ())
    name = next((one for one in re.findall(r"[A-Za-z_]\w*", inner) if one in known), None)
    if name and len(name) > 2 and rng.random() < 0.5:
        made = slip(rng, name)
        new = re.sub(rf"\b{name}\b", made, inner)
        return source.replaced(at, at + node.mark.length, f'"${{{new}}}"'), node.mark.line, (f"`{name}`",)
    new, wanted = rng.choice(
        [(f"{inner} +", "both sides"), (f"({inner}", "bracket"), (f"{inner} % 2", "allowed"), (f"exp({inner})", "functions")]
    )
    return source.replaced(at, at + node.mark.length, f'"${{{new}}}"'), node.mark.line, (wanted,)


@kind
def dashes_for_names(rng, source):
    found = [
        key
        for key in SECTIONS
        if isinstance(source.root.get(key), TableNode)
        and source.root.get(key).block
        and source.lines[source.root.get(key).mark.line - 1].startswith("  ")
    ]
    if not found:
        return None
    section = rng.choice(found)
    lines = list(source.lines)
    for mark in source.root.get(section).keys.values():
        lines[mark.line - 1] = "  - " + lines[mark.line - 1][2:]
        own = source.lines[mark.line - 1]
        if own.rstrip().endswith(":") or own.count("{") != own.count("}"):
            for below in range(mark.line, len(lines)):  # what belongs to it moves with it
                if _indent(source.lines[below]) <= 2 or (source.lines[below][:1] not in " #" and source.lines[below]):
                    break
                lines[below] = "  " + lines[below]
    return "\n".join(lines), source.root.keys[section].line, ("without",)


@kind
def stray_dash(rng, source):
    found = [one for one in source.block_keys() if len(one[3].items) > 1]
    _, _, mark, _ = rng.choice(found)
    at = source.index(mark)
    return source.replaced(at, at, "- "), mark.line, ("remove the dash",)


def draw(seed: int, name: str) -> Broken:
    """One scene with a mistake of a kind."""
    rng = random.Random(f"{name} {seed}")
    while True:
        source = source_of(rng.choice(SHIPPED))
        found = KINDS[name](rng, source)
        if found is not None:
            text, line, wanted = found
            return Broken(name, source.path, text, line, wanted)


_sources: dict[Path, Source] = {}


def source_of(path: Path) -> Source:
    if path not in _sources:
        _sources[path] = Source(path)
    return _sources[path]


# Mistakes that keep all lines of a scene, and the text outside their own line.
_MORE_LINES = ("missing_key", "duplicate_key", "foreign_section", "dashes_for_names")
IN_ONE_LINE = tuple(name for name in KINDS if name not in _MORE_LINES)


def combine(seed: int, most: int = 4) -> tuple[str, Path, list[tuple[str, int, tuple[str, ...]]]]:
    """A scene with several mistakes, in lines of their own: its text, its path, and (kind, line, wanted) of each."""
    rng = random.Random(f"several {seed}")
    source = source_of(rng.choice(SHIPPED))
    lines, made = list(source.lines), []
    wanted = rng.randint(2, most)
    for _ in range(100):
        name = rng.choice(IN_ONE_LINE)
        found = KINDS[name](rng, source)
        if len(made) == wanted:
            break
        if found is None:
            continue
        text, line, words = found
        new = text.split("\n")
        changed = [at for at, (old, one) in enumerate(zip(source.lines, new, strict=True)) if old != one]
        taken = {other - 1 for _, other, _ in made} | {at for at, one in enumerate(lines) if one != source.lines[at]}
        if changed == [line - 1] and line - 1 not in taken:
            lines[line - 1] = new[line - 1]
            made.append((name, line, words))
    return "\n".join(lines), source.path, made
