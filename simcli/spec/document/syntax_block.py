"""What is wrong with indentation, colons and dashes: the lines of a text that no parser takes, one after the other."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from simcli.spec.document.syntax_flow import Flow, Mistake, unclosed_bracket, unclosed_quote

_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#\[\]{},&*!|>%@`](?:[^#\[\]{}]|\[\d+\])*?)[ ]*:(?=[ \t]|$)""")
_GLUED = re.compile(r"([A-Za-z_][\w.-]*):(?=\S)")
_BARE = re.compile(r"([A-Za-z_][\w.-]*)(?=\s|$)")
_NEARLY_KEY = re.compile(r"[A-Za-z_][\w.-]*\s+[\[{]")
_PROPERTY = re.compile(r"[&!]\S*\s*")
_COMMENT = re.compile(r"(?:^|\s)#.*$")

_MOST_LEVELS = 64  # no scene is nested deeper

Known = Callable[[tuple[str, ...]], list[str]]


@dataclass
class _Level:
    """An open block collection.

    Attributes:
        column: 0-based column of its keys or dashes.
        listed: whether its entries begin with dashes.
        index: of its first entry in the text.
        keys: its keys so far, as (name, index); of a list, one per dash.
        waits: whether the last key has no value in its line.
    """

    column: int
    listed: bool
    index: int
    keys: list[tuple[str, int]] = field(default_factory=list)
    waits: bool = False


class BlockReader:
    """Reads a text line by line, and tells mistakes as they come.

    After each mistake it goes on as if the likeliest mend were made, so that what follows is judged too.
    """

    def __init__(self, text: str, known: Known):
        self.text, self.known = text, known
        self.flow = Flow(text)
        self.levels: list[_Level] = []
        self.base = 0  # column of the line in which the open brackets or quotes began
        self.value_at = -1  # column that the lines of a text after `|` or `>` stand beyond; -1 outside
        self.before = 0  # end of the last line that was no comment
        self.line_of_quote = 0
        self.line_end = 0  # of the line that is read
        self.left: tuple[_Level, int] | None = None  # the level that the last key of a column ended, and that column

    def read(self, last: int) -> Iterator[Mistake]:
        """Mistakes of the lines that begin up to a place, and of what is open behind it."""
        start = 0
        while start < len(self.text) and start <= last:
            end = self.text.find("\n", start)
            end = len(self.text) if end < 0 else end
            self.line_end = end
            yield from self._line(start, end - self.text.endswith("\r", start, end))
            start = end + 1
        # What follows tells whether open brackets end where a key begins.
        if self.flow.quote is not None:
            yield unclosed_quote(self.flow, self.line_of_quote)
        if self.flow.stack:
            yield unclosed_bracket(self.flow, self.before)

    def _line(self, start: int, end: int) -> Iterator[Mistake]:
        line = self.text[start:end]
        body = line.lstrip(" \t")
        column = len(line) - len(body)
        if self.value_at >= 0:
            if not body or column > self.value_at:
                return
            self.value_at = -1
        if not body or (body.startswith("#") and self.flow.quote is None):
            return
        if self.flow.is_open:
            ends = self._ended(body, column)
            if ends and self.flow.quote is not None:
                yield unclosed_quote(self.flow, self.line_of_quote)
            elif ends:
                yield unclosed_bracket(self.flow, self.before)
            if not ends:
                yield from self._value(start + column, end)
                return
            self.flow.clear()
        if "\t" in line[:column]:
            column = self._meant_column(body, end)
            yield Mistake(
                start,
                len(line) - len(body),
                "a tab in the indentation",
                "indent with spaces",
                ((start, end - len(body), " " * column),),
            )
        yield from self._block(end - len(body), end, column)

    def _ended(self, body: str, column: int) -> bool:
        """Whether a line cannot belong to the open brackets or quotes: it begins with a key that stands no deeper."""
        inside = self.flow.quote is not None and column > self.base and not self.flow.stack
        is_key = body.startswith("- ") or _KEY.match(body) or _NEARLY_KEY.match(body)
        return bool(is_key) and not inside and column <= self.base

    def _meant_column(self, body: str, end: int) -> int:
        """Where a line that begins with a tab was meant to stand, as far as the next line tells."""
        if not self.levels:
            return 0
        top = self.levels[-1]
        after = next(
            (
                len(line) - len(line.lstrip(" "))
                for line in self.text[end + 1 : end + 500].split("\n")
                if line.strip() and line.lstrip(" ")[:1] not in "#\t"
            ),
            0,
        )
        columns = {level.column for level in self.levels} | ({top.column + self._step()} if top.waits else set())
        wanted = after - self._step() if body.rstrip().endswith(":") else after
        return wanted if wanted in columns else max(columns)

    def _block(self, start: int, end: int, column: int) -> Iterator[Mistake]:
        """One line, or what follows a dash in it."""
        body = self.text[start:end]
        if body.startswith(("---", "...", "%")) and column == 0:
            return
        if body == "-" or body.startswith("- "):
            yield from self._dash(start, end, column)
            return
        match = _KEY.match(body)
        if match is None:
            yield from self._no_key(start, end, column)
            return
        column = yield from self._place(start, column, match[1])
        self._take(start, match[1], column)
        yield from self._value(start + match.end(), end)

    def _take(self, start: int, name: str, column: int) -> None:
        """A key at a column becomes the last one of its level."""
        if not self.levels or self.levels[-1].column < column:
            self._push(_Level(column, False, start))
        self.levels[-1].keys.append((name, start))

    def _push(self, level: _Level) -> None:
        if self.levels:
            self.levels[-1].waits = False
        self.levels.append(level)

    def _value(self, start: int, end: int) -> Iterator[Mistake]:
        """What follows a key, a dash, or goes on within brackets."""
        self.before = end
        if not self.flow.is_open:
            self.base = self.levels[-1].column if self.levels else 0
            body = self.text[start:end].lstrip()
            body = _PROPERTY.sub("", body, count=1) if body[:1] in ("&", "!") else body
            body = _COMMENT.sub("", body) if body[:1] not in ("'", '"') else body
            if self.levels:
                self.levels[-1].waits = not body
            if body[:1] in ("|", ">"):
                self.value_at = self.base
                return
            if body[:1] not in ("'", '"', "[", "{"):
                if ": " in body and body[:1] != "*":
                    at = self.text.index(": ", start)
                    yield Mistake(at, 1, "a second colon in one line", "quote the text, or begin a new line")
                return
            start = end - len(self.text[start:end].lstrip())
        quoted = self.flow.quote
        yield from self.flow.read(start, end)
        if self.flow.quote is not None and self.flow.quote != quoted:
            self.line_of_quote = end
        if self.flow.stack:
            cut = _COMMENT.search(self.text[start:end])
            self.before = start + cut.start() if cut and self.flow.quote is None else end

    def _dash(self, start: int, end: int, column: int) -> Iterator[Mistake]:
        """An entry of a list."""
        while self.levels and self.levels[-1].column > column:
            self.levels.pop()
        rest = start + 1 + len(self.text[start + 1 : end]) - len(self.text[start + 1 : end].lstrip())
        top = self.levels[-1] if self.levels else None
        # The entries of a list may stand at the column of its key.
        fits = top is None or (top.listed and top.column == column) or (not top.listed and top.waits)
        if not fits:
            yield Mistake(start, 1, "a dash before a key of a mapping", "remove the dash", ((start, rest, ""),))
            yield from self._block(rest, end, column)
            return
        if top is None or not top.listed:
            self._push(_Level(column, True, start))
        self.levels[-1].keys.append(("-", start))
        self.levels[-1].waits = True
        self.before = end
        if rest < end and len(self.levels) < _MOST_LEVELS:
            yield from self._block(rest, end, column + rest - start)

    def _no_key(self, start: int, end: int, column: int) -> Iterator[Mistake]:
        """A line without a key: a value of its own, or a key that has lost its colon or the space behind it."""
        body = self.text[start:end]
        top = self.levels[-1] if self.levels else None
        if top is not None and column > top.column and not (top.waits and self._next_is_key(end, column)):
            if top.waits:
                yield from self._value(start, end)
            return  # a value may go on in the next line
        glued, bare = _GLUED.match(body), _BARE.match(body)
        if glued:
            name, at = glued[1], start + glued.end()
            hint = f"write a space after the colon: `{name}: {body[glued.end() :].split(' #')[0].strip()[:30]}`"
            yield Mistake(start, len(name) + 1, f"no space after the colon of `{name[:40]}`", hint, ((at, at, " "),))
        elif bare:
            name, at = bare[1], start + bare.end()
            hint = f"write a colon after the key: `{f'{name}: {body[bare.end() :].strip()[:30]}'.strip()}`"
            yield Mistake(start, len(name), f"`{name[:40]}` has no colon", hint, ((at, at, ":"),))
        else:
            yield from self._value(start, end)
            return
        column = yield from self._place(start, column, name)
        self._take(start, name, column)
        yield from self._value(at, end)

    def _next_is_key(self, end: int, column: int) -> bool:
        """Whether the next line that says something is a key at a column."""
        for line in self.text[end + 1 : end + 2000].split("\n"):
            body = line.lstrip()
            if body and not body.startswith("#"):
                return len(line) - len(body) == column and bool(_KEY.match(body) or _GLUED.match(body))
        return False

    def _place(self, start: int, column: int, name: str) -> Iterator[Mistake]:
        """Find the level that a key belongs to.

        Returns:
            Its column, which is another one than where it stands after a mistake of indentation.
        """
        if len(self.levels) > 1 and self.levels[-1].column == self.levels[-2].column == column:
            self.levels.pop()  # the entries of a list that stand at the column of its key
        top = self.levels[-1] if self.levels else None
        if top is None or top.column == column:
            if self.left and column <= self.left[1]:
                self.left = None
            if top is not None and top.listed:
                yield from self._beside_dash(start, top)
            return column
        if column > top.column:
            if top.waits:
                return column
            if self._returns(top, column):
                return (yield from self._returned(top))
            yield _aligned(self.text, start, column, top, name)
            return top.column
        inner = top
        while self.levels and self.levels[-1].column > column:
            inner = self.levels.pop()
        outer = self.levels[-1] if self.levels else None
        if outer is not None and outer.column == column:
            if outer.listed:
                yield from self._beside_dash(start, outer)
            self.left = (inner, column)
            return column
        return (yield from self._between(start, column, name, inner, outer))

    def _returns(self, outer: _Level, column: int) -> bool:
        """Whether a column is that of the level which the last key of an outer one has ended."""
        columns = (self.left[0].column, self.left[1]) if self.left else None
        return columns == (column, outer.column) and len(outer.keys) > 1

    def _returned(self, outer: _Level) -> Iterator[Mistake]:
        """A key of a level that a key before it has ended: that one was meant for this level."""
        inner, _ = self.left
        name, at = outer.keys.pop()
        yield _aligned(self.text, at, outer.column, inner, name)
        inner.keys.append((name, at))
        self.levels.append(inner)
        self.left = None
        return inner.column

    def _beside_dash(self, start: int, level: _Level) -> Iterator[Mistake]:
        """A key at the column of dashes: one dash is too many, or one is missing."""
        self.levels.pop()
        if len(level.keys) == 1:
            end = level.index + 1
            while self.text[end : end + 1] == " ":
                end += 1
            yield Mistake(level.index, 1, "a dash before a key of a mapping", "remove the dash", ((level.index, end, ""),))
        else:
            yield Mistake(
                start,
                1,
                "a key beside the dashes of a list",
                "write a dash before it, or align it with the keys of the entry above",
                ((start, start, "- "), (start, start, "  ")),
            )

    def _between(self, start: int, column: int, name: str, inner: _Level, outer: _Level | None) -> Iterator[Mistake]:
        """A key between the columns of two levels: it is wrong, or the single key of the deeper level is."""
        if outer is not None and self._returns(outer, column):
            return (yield from self._returned(outer))
        step = column - outer.column if outer else 0
        lonely = len(inner.keys) == 1 and outer is not None and step == self._step()
        if lonely or (len(inner.keys) == 1 and self._next_is_key(self.text.find("\n", start), column)):
            first, at = inner.keys[0]
            message = f"`{first[:40]}` is indented by {inner.column} spaces, the keys after it by {column}"
            edit = (at - inner.column, at, " " * column)
            yield Mistake(at, len(first), message, f"align it with `{name[:40]}`", (edit,))
            return column
        names = self.known(tuple(level.keys[-1][0] for level in self.levels))
        path = tuple(level.keys[-1][0] for level in self.levels[:-1])
        belongs_out = outer is not None and name in self.known(path) and name not in names
        level = outer if belongs_out else inner
        if level is inner:
            self.levels.append(inner)
        yield _aligned(self.text, start, column, level, name)
        return level.column

    def _step(self) -> int:
        """Spaces by which a level of the file is deeper than the one before it."""
        if not hasattr(self, "_cached_step"):
            found = re.search(r"^\w[^\n]*:[ ]*\n( +)\S", self.text, re.MULTILINE)
            self._cached_step = len(found[1]) if found else 2
        return self._cached_step


def _aligned(text: str, start: int, column: int, level: _Level, name: str) -> Mistake:
    first, at = level.keys[-1]
    line = text.count("\n", 0, at) + 1
    message = f"`{name[:40]}` is indented by {column} spaces, the keys before it by {level.column}"
    edit = (start - column, start, " " * level.column)
    return Mistake(start, len(name), message, f"align it with `{first[:40]}` of line {line}", (edit,))
