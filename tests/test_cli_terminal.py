"""Tables and pages as a person sees them: by rich, in lines that fit, without a lost word. Budget: 3 s."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcli.cli import console
from simcli.cli.terminal_table import terminal_table

CELL = st.text("ab .-", max_size=30).map(str.strip)
ROWS = st.integers(1, 5).flatmap(lambda n: st.lists(st.tuples(*n * [CELL]), min_size=1, max_size=6))


def as_seen(rows, width, monkeypatch, **options):
    monkeypatch.setattr(console, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    return console.table(rows, **options)


@settings(max_examples=50, deadline=None)
@given(rows=ROWS, right=st.booleans(), width=st.integers(10, 80))
def test_no_word_is_lost_or_cut(rows, right, width):
    lines = terminal_table([list(row) for row in rows], [right] * len(rows[0]), width)
    found = sorted(word for line in lines for word in line.split())
    assert found == sorted(word for row in rows for cell in row for word in cell.split())


@pytest.mark.parametrize("width", range(33, 52))
def test_the_column_of_sentences_is_folded_and_no_other(width):
    rows = [["a.name.of.length.25......", "1.25e-3", "some words of a column"], ["b", "-2", "x"]]
    lines = terminal_table(rows, [False, True, False], width)
    assert max(len(line.rstrip()) for line in lines) <= max(width, 25 + 2 + 7 + 2 + 6)
    assert all(line[27:34] in ("1.25e-3", "     -2", "       ") for line in lines)
    assert lines[0].startswith("a.name.of.length.25......")


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
