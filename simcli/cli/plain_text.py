"""Markdown as plain text for a terminal: the few elements that the pages of this project use."""

import re
import textwrap
from collections.abc import Iterator
from itertools import zip_longest

_LINK = re.compile(r"!?\[([^\]]*)\]\(([^)]*)\)")
_ITEM = re.compile(r"(\s*(?:[-*]|\d+\.)\s+)(.*)")
_RULE = re.compile(r"\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*\Z")
_BOLD = re.compile(r"(`[^`]*`)|\*\*")  # in code, two stars are a power
_FENCE = "```"
_CODE_INDENT = "    "
_UNDERLINES = {1: "=", 2: "-"}
_GAP = 2  # characters between the columns of a table
_NARROWEST = 12  # characters; a column is not made narrower


def plain_text(markdown: str, width: int = 100) -> str:
    """Render a page.

    Args:
        markdown: headings, paragraphs, lists, tables and fenced code; code and tables keep their lines.
        width: characters per line of running text.
    """
    return "\n\n".join("\n".join(_render(block, width)) for block in _blocks(markdown)) + "\n"


def about(markdown: str) -> str:
    """What a page is about: its first paragraph, in one line."""
    paragraphs = (block for block in _blocks(markdown) if not block[0].startswith("#"))
    return " ".join(_inline(line.strip()) for line in next(paragraphs, []))


def _blocks(markdown: str) -> Iterator[list[str]]:
    """Lines in groups: a fence as a whole, a heading alone, everything else up to an empty line."""
    block: list[str] = []
    fenced = False
    for line in [*markdown.splitlines(), ""]:
        if line.startswith(_FENCE):
            fenced = not fenced
            if fenced and block:
                yield block
                block = []
            block.append(line)
            if not fenced:
                yield block
                block = []
        elif fenced:
            block.append(line)
        elif line.startswith("#") or not line.strip():
            if block:
                yield block
            block = []
            if line.strip():
                yield [line]
        elif not line.startswith("<!--"):
            block.append(line)


def _render(block: list[str], width: int) -> list[str]:
    first = block[0]
    if first.startswith(_FENCE):
        return [(_CODE_INDENT + line).rstrip() for line in block[1:-1]]
    if first.startswith("#"):
        words = _inline(first.lstrip("#").strip())
        line = _UNDERLINES.get(len(first) - len(first.lstrip("#")))
        return [words, line * len(words)] if line else [words]
    if len(block) > 1 and "|" in first and _RULE.match(block[1]):
        return _table(block, width)
    if _ITEM.match(first):
        return _items(block, width)
    return textwrap.wrap(" ".join(_inline(line.strip()) for line in block), width, break_long_words=False)


def _items(block: list[str], width: int) -> list[str]:
    items: list[tuple[str, list[str]]] = []
    for line in block:
        match = _ITEM.match(line)
        if match:
            items.append((match.group(1), [match.group(2)]))
        else:
            items[-1][1].append(line.strip())
    lines = []
    for mark, words in items:
        text = _inline(" ".join(words))
        lines += textwrap.wrap(
            text, width, initial_indent=mark, subsequent_indent=" " * len(mark), break_long_words=False
        )
    return lines


def _table(block: list[str], width: int) -> list[str]:
    """Columns aligned; cells are wrapped where the table is too wide, widest column first."""
    rows = [[_inline(cell.strip()) for cell in line.strip().strip("|").split("|")] for line in [block[0], *block[2:]]]
    n = len(rows[0])
    rows = [[*row[: n - 1], " | ".join(row[n - 1 :])] for row in rows]
    sizes = [max(len(row[i]) for row in rows) for i in range(n)]
    words = [max((len(word) for row in rows for word in row[i].split()), default=0) for i in range(n)]
    least = [max(word, min(_NARROWEST, size)) for word, size in zip(words, sizes, strict=True)]
    while sum(sizes) + _GAP * (n - 1) > width and sizes != least:
        widest = max((i for i in range(n) if sizes[i] > least[i]), key=sizes.__getitem__)
        sizes[widest] -= 1
    lines = []
    for row in rows:
        cells = [textwrap.wrap(cell, size, break_long_words=False) for cell, size in zip(row, sizes, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            words = (f"{part:{size + _GAP}}" for part, size in zip(parts, sizes, strict=True))
            lines.append("".join(words).rstrip())
        if row is rows[0]:
            lines.append("-" * (sum(sizes) + _GAP * (n - 1)))
    return lines


def _inline(text: str) -> str:
    text = _LINK.sub(lambda match: match.group(1) or match.group(2), text)
    return _BOLD.sub(lambda match: match.group(1) or "", text)
