"""What is wrong with brackets, quotes and commas, in one pass over a text that no parser takes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

CLOSING = {"[": "]", "{": "}"}
_BEFORE_TOKEN = " \t\n[{,:"  # what stands before a quote that opens a text, elsewhere it is a letter


@dataclass(frozen=True)
class Mistake:
    """One mistake of YAML syntax.

    Attributes:
        index: of its first character in the text.
        length: characters to underline.
        message: what is wrong.
        hint: what to write.
        swallows: whether what follows is read as part of it.
        edits: changes of the text of which one may mend it, the likeliest first: (start, end, replacement).
    """

    index: int
    length: int
    message: str
    hint: str
    edits: tuple[tuple[int, int, str], ...] = ()
    swallows: bool = False


@dataclass
class _Bracket:
    """An open bracket: its character and place, and whether the entry that is read has its colon."""

    opening: str
    index: int
    has_colon: bool = False


@dataclass
class Flow:
    """Brackets and quotes that are open at a place of a text.

    Attributes:
        text: the whole text.
        stack: open brackets, outermost first.
        quote: the open quote and its place, None outside of quotes.
        ended: place after the last value within brackets that no comma has followed, -1 if there is none.
    """

    text: str
    stack: list[_Bracket] = field(default_factory=list)
    quote: tuple[str, int] | None = None
    ended: int = -1
    last_quote: int = -1  # place of the opening quote of the text that ended last

    @property
    def is_open(self) -> bool:
        """Whether the next line goes on within brackets or quotes."""
        return bool(self.stack) or self.quote is not None

    def clear(self) -> None:
        """Forget what is open."""
        self.stack, self.quote, self.ended = [], None, -1

    def read(self, start: int, end: int) -> Iterator[Mistake]:
        """Read on to the end of a line; mistakes as they come."""
        at = start
        while at < end:
            c = self.text[at]
            if self.quote is not None:
                at = self._in_quote(at, end)
                continue
            if c == "#" and self.text[at - 1 : at] in ("", " ", "\t", "\n"):
                return
            if c in "\"'" and self.text[at - 1 : at] in _BEFORE_TOKEN:
                yield from self._begun(at)
                self.quote = (c, at)
            elif c in CLOSING:
                yield from self._opened(at)
            elif c in "]}":
                yield from self._closed(at)
            elif c == "," and self.stack:
                yield from self._nothing_before(at)
                self.ended = -1
                if self.stack:
                    self.stack[-1].has_colon = False
            elif c == ":" and self.stack and self.text[at + 1 : at + 2] in _BEFORE_TOKEN + "":
                yield from self._colon(at)
            elif c not in " \t:":
                yield from self._begun(at)
            at += 1

    def _in_quote(self, at: int, end: int) -> int:
        """The place after the closing quote, or the end of the line."""
        quote, _ = self.quote
        while at < end:
            c = self.text[at]
            doubled = c == quote == "'" and self.text[at + 1 : at + 2] == "'"
            if doubled or (quote == '"' and c == "\\"):
                at += 1
            elif c == quote:
                self.quote, self.last_quote = None, self.quote[1]
                self.ended = at + 1 if self.stack else -1
                return at + 1
            at += 1
        return end

    def _begun(self, at: int) -> Iterator[Mistake]:
        """A value begins: the one before it needs a comma."""
        if self.ended == at and self.text[at - 1] in "\"'":
            # What follows a closing quote at once shows that it was meant for an opening one.
            yield _quote_not_closed(self, self.last_quote, at - 1)
        elif self.ended >= 0 and self.stack:
            yield _no_comma(self.ended, at)
        self.ended = -1

    def _opened(self, at: int) -> Iterator[Mistake]:
        if self.stack and self.text[at] == "{" and self.text[at - 1 : at] == "$":
            end = self.text.find("}", at) + 1 or at + 1
            whole = self.text[at - 1 : end]
            edit = (at - 1, end, f'"{whole}"')
            yield Mistake(at - 1, end - at + 1, "`${...}` without quotes inside brackets", f'write `"{whole}"`', (edit,))
        yield from self._begun(at)
        self.stack.append(_Bracket(self.text[at], at))

    def _nothing_before(self, comma: int) -> Iterator[Mistake]:
        """A comma right after an opening bracket, which was not closed."""
        top = self.stack[-1]
        if comma - top.index < 80 and not self.text[top.index + 1 : comma].strip():
            wanted = CLOSING[top.opening]
            yield Mistake(
                top.index,
                1,
                f"the bracket `{top.opening}` is not closed",
                f"close it with `{wanted}`",
                ((comma, comma, wanted),),
            )
            self.stack.pop()

    def _closed(self, at: int) -> Iterator[Mistake]:
        c = self.text[at]
        if not self.stack:
            yield Mistake(at, 1, f"`{c}` closes no bracket", "remove it, or open a bracket before it", ((at, at + 1, ""),))
            return
        top = self.stack[-1]
        wanted = CLOSING[top.opening]
        if c == wanted:
            self.stack.pop()
        elif any(CLOSING[one.opening] == c for one in self.stack):
            edits = ((at, at, wanted), (at, at + 1, wanted))
            hint = f"write `{wanted}` before the `{c}`, or in place of it"
            yield Mistake(top.index, 1, f"the bracket `{top.opening}` is not closed", hint, edits)
            while self.stack and CLOSING[self.stack[-1].opening] != c:
                self.stack.pop()
            self.stack.pop()
        else:
            message = f"`{c}` closes no bracket: the open one is `{top.opening}` of column {self._column(top.index)}"
            yield Mistake(at, 1, message, f"write `{wanted}`", ((at, at + 1, wanted), (at, at + 1, "")))
            self.stack.pop()
        self.ended = at + 1 if self.stack else -1

    def _colon(self, at: int) -> Iterator[Mistake]:
        top = self.stack[-1]
        if top.has_colon and top.opening == "{":
            start = at
            while start > top.index + 1 and self.text[start - 1] not in " \t\n,":
                start -= 1
            yield _no_comma(len(self.text[:start].rstrip()) if start - top.index < 10_000 else start, start)
        top.has_colon = True
        self.ended = -1

    def _column(self, index: int) -> int:
        return index - self.text.rfind("\n", 0, index)


def _no_comma(index: int, begin: int) -> Mistake:
    edits = ((index, begin, ", "),)
    return Mistake(max(0, index - 1), 1, "a comma is missing after this", "write `, ` between entries", edits)


def unclosed_bracket(flow: Flow, before: int) -> Mistake:
    """The brackets that are still open where the text inside them has ended.

    Args:
        flow: at that place.
        before: where the last line within them ends.
    """
    missing = "".join(CLOSING[one.opening] for one in reversed(flow.stack))
    top = flow.stack[0]
    return Mistake(
        top.index,
        1,
        f"the bracket `{top.opening}` is not closed",
        f"close it with `{missing}`",
        ((before, before, missing),),
        swallows=True,
    )


def unclosed_quote(flow: Flow, end: int) -> Mistake:
    """The quote that is still open at the end of its line.

    Args:
        flow: at the end of the line.
        end: of the line in which the quote begins.
    """
    return _quote_not_closed(flow, flow.quote[1], end)


def _quote_not_closed(flow: Flow, index: int, end: int) -> Mistake:
    """The quote at a place, which is not closed before another."""
    quote = flow.text[index]
    ends = [at for at in range(index + 1, end) if flow.text[at] in ",]}"][:16] if flow.stack else []
    line_end = flow.text.find("\n", end)
    fits = [at for at in ends if _closes(flow, at, line_end if line_end >= 0 else len(flow.text))]
    edits = tuple((at, at, quote) for at in dict.fromkeys([*fits, *ends, end]))
    return Mistake(index, 1, f"the quote `{quote}` is not closed", "close the quote in the same line", edits, swallows=True)


def _closes(flow: Flow, start: int, end: int) -> bool:
    """Whether the rest of a line closes all brackets that are open before it."""
    rest = Flow(flow.text, [_Bracket(one.opening, one.index) for one in flow.stack])
    return not any(True for _ in rest.read(start, end)) and not rest.is_open
