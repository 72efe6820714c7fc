"""Tables on a terminal, by rich."""

import io

from rich.cells import cell_len
from rich.console import Console
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
