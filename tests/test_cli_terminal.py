"""Tables and pages as a person sees them: by rich, in lines that fit, without a lost word. Budget: 3 s."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcli.cli import console
from simcli.cli.terminal_table import terminal_table

CELL = st.text("ab .-", max_size=30).map(lambda text: f"a{text}".strip())  # rich takes a column of nothing for one less wide
ROWS = st.integers(1, 5).flatmap(lambda n: st.lists(st.tuples(*n * [CELL]), min_size=1, max_size=6))


def as_seen(rows, width, monkeypatch, **options):
    monkeypatch.setattr(console, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    return console.table(rows, **options)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, right=st.booleans(), width=st.integers(10, 80))
def test_no_word_is_cut_and_lines_fit_where_words_do(rows, right, width):
    lines = terminal_table([list(row) for row in rows], [right] * len(rows[0]), width)
    least = sum(max((len(word) for row in rows for word in row[k].split()), default=0) + 2 for k in range(len(rows[0])))
    assert max(map(len, lines)) <= max(width, least)
    found = sorted(word for line in lines for word in line.split())
    assert found == sorted(word for row in rows for cell in row for word in cell.split())


def test_a_table_that_fits_is_that_of_a_pipe(monkeypatch):
    rows = [("crank", 1, 0.5, "two  blanks"), ("rod", -20, 12.25, "")]
    piped = console.table(rows, ("body", "count", "mass", "words"))
    assert piped == "  body   count   mass  words\n  crank      1    0.5  two  blanks\n  rod      -20  12.25"
    assert as_seen(rows, 80, monkeypatch, header=("body", "count", "mass", "words")) == piped


def test_words_are_folded_and_padded_numbers_stand(monkeypatch):
    rows = [("a", "one two three four five", "    1.5"), ("b", "six", "   20.5")]
    assert as_seen(rows, 24, monkeypatch, indent="") == ("a  one two           1.5\n   three four\n   five\n"
                                                         "b  six              20.5")  # fmt: skip


@pytest.mark.parametrize("is_terminal", [True, False])
def test_control_characters_of_names_are_spelled(monkeypatch, is_terminal):
    monkeypatch.setattr(console, "on_terminal", lambda: is_terminal)
    assert console.table([("a\x1b[31m\r[bold]x[/bold]", 1)], indent="") == "a\\x1b[31m\\x0d[bold]x[/bold]  1"
