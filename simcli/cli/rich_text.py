"""Tables and Markdown on a terminal, by rich: in colours where there are some, else as plain text."""

import io
import re
from collections.abc import Iterator
from itertools import pairwise

from rich.cells import cell_len
from rich.console import Console
from rich.markdown import CodeBlock, Heading, Markdown
from rich.table import Table
from rich.text import Text

_GAP = 2  # characters between columns


def terminal_table(cells: list[list[str]], right: list[bool], width: int) -> list[str]:
    """Lines of a table; cells are folded between words where it would be too wide, but no word is cut.

    Args:
        cells: rows.
        right: which columns stand to the right.
        width: characters of the terminal.
    """
    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, _GAP, 0, 0))
    least = -_GAP
    for k, to_right in enumerate(right):
        column = [row[k] for row in cells]
        is_padded = any(cell.startswith(" ") for cell in column)  # stands under other numbers, which folding would part
        longest = max(map(cell_len, column if is_padded else " ".join(column).split()), default=0)
        can_fold = longest < max(map(cell_len, column))
        grid.add_column(justify="right" if to_right else "left", min_width=max(longest, 1), no_wrap=not can_fold)
        least += max(longest, 1) + _GAP
    for row in cells:
        grid.add_row(*map(Text, row))
    text = io.StringIO()
    screen = Console(file=text, width=max(width, least), color_system=None, legacy_windows=False)
    screen.print(grid, crop=False)
    return text.getvalue().rstrip("\n").split("\n")


CODE_INDENT = "    "
_BLANKS = re.compile(r"\n{3,}")
_ASCII = str.maketrans("\N{BULLET}\N{BOX DRAWINGS LIGHT HORIZONTAL}", "--")


class _Code(CodeBlock):
    """A fence whose lines are never cut, because they are copied."""

    def __rich_console__(self, console, options) -> Iterator[Text]:
        lines = str(self.text).rstrip().split("\n")
        yield Text(
            "\n".join(f"{CODE_INDENT}{line}".rstrip() for line in lines),
            "markdown.code_block",
            no_wrap=True,
            overflow="ignore",
        )


class _Heading(Heading):
    """A heading on the left; without colours it is underlined as far as it is important."""

    UNDERLINES = {"h1": "=", "h2": "-"}

    def __rich_console__(self, console, options) -> Iterator[Text]:
        line = "" if console.color_system else self.UNDERLINES.get(self.tag, "") * self.text.cell_len
        yield Text(f"{self.text.plain}\n{line}".rstrip(), f"markdown.{self.tag}")


class _Page(Markdown):
    elements = Markdown.elements | {"fence": _Code, "code_block": _Code, "heading_open": _Heading}


def markdown_text(page: str, width: int, coloured: bool) -> str:
    """A page as lines of at most so many characters, but for code.

    Args:
        page: in Markdown.
        width: characters.
        coloured: by the escape sequences of terminals; else code keeps its marks, and lines are drawn in ASCII.
    """
    shown = _Page(page)
    for block in shown.parsed:
        for part in block.children or ():
            if part.type == "image" or (part.type == "code_inline" and not coloured):
                part.type, part.content = "text", f"{part.markup}{part.content}{part.markup}"
            elif part.type in ("link_open", "link_close"):  # to other pages, as files of the source
                part.type, part.content = "text", ""
    written = io.StringIO()
    screen = Console(
        file=written,
        width=width,
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        no_color=not coloured,
        legacy_windows=False,
    )
    screen.print(shown, crop=False)
    lines = "\n".join(line.rstrip() for line in written.getvalue().strip("\n").split("\n"))
    text = _BLANKS.sub("\n\n", lines)  # rich sets tables far apart
    return text if coloured else text.translate(_ASCII)


def about(page: str) -> str:
    """What a page is about: its first paragraph, in one line."""
    for opening, inline in pairwise(Markdown(page).parsed):
        if opening.type == "paragraph_open":
            return "".join(
                {"softbreak": " ", "code_inline": f"`{part.content}`"}.get(part.type, part.content)
                for part in inline.children or ()
            )
    return ""
