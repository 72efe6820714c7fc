"""The tutorial, line by line: every command runs, in order, and answers what the page shows."""

import re
import shlex
from importlib.resources import files

import pytest

from simcli.cli import doorman
from simcli.errors import Exit

REST = "..."  # in the page: whatever follows; alone in its line, any lines
DIGITS = 2e-2  # relative: what the page shows of a number that steps and machines may change a little
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
# Hints, and what is said on a slow machine on the way.
BESIDE = re.compile(r"  next: |(at .* step: |comparing steps: )? *(\d+\.\d %|[\w ]+ \.\.\.$)")
PAGE = files("simcli").joinpath("docs", "tutorial.md").read_text(encoding="utf-8")


def blocks():
    """Kinds and texts of all pieces of code, in order."""
    return re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def commands(block):
    """Commands of a block, each with the lines that answer it."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


def same(shown, said):
    """Whether a line says what the page shows: words to the letter, numbers to two percent, blanks as they come."""
    if shown.endswith(REST):
        shown = shown.removesuffix(REST)
        return same(shown, said[: len(shown)]) if shown.strip() else True
    words = [NUMBER.sub("#", "".join(text.split())) for text in (shown, said)]
    numbers = [[float(one) for one in NUMBER.findall(text)] for text in (shown, said)]
    return words[0] == words[1] and numbers[1] == pytest.approx(numbers[0], rel=DIGITS)


def answers(shown, said):
    """Whether lines of an answer are those of the page, in order; `...` stands for any number of them."""
    at, free = 0, False
    for line in shown:
        if line == REST:
            free = True
            continue
        while free and at < len(said) and not same(line, said[at]):
            at += 1
        if at >= len(said) or not same(line, said[at]):
            return line
        at, free = at + 1, False
    return None


@pytest.mark.parametrize(
    ("shown", "said", "fits"),
    [(["a 1.0", "b"], ["a 1.01", "b"], True), (["a 1.0"], ["a 1.1"], False), (["a", REST, "c 2"], ["a", "b", "c 2"], True),
     (["a", REST, "c"], ["a", "b"], False), (["in ..."], ["in 3 s"], True), (["in ..."], ["on 3 s"], False),
     (["a  1"], ["a 1"], True), (["b"], ["a", "b"], False)],
)  # fmt: skip
def test_the_comparison_sees_what_differs(shown, said, fits):
    assert (answers(shown, said) is None) == fits


def test_every_line_of_the_tutorial(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    n_commands = 0
    for kind, block in blocks():
        if kind == "yaml":  # a part of the scene, as it stands there
            assert block in (tmp_path / "crank.yaml").read_text()
        elif kind == "python":
            exec(compile(block, "tutorial.md", "exec"), {})
            assert capfd.readouterr().out.startswith("0.1025")
        else:
            assert kind == "console"
            for line, shown in commands(block):
                program, *words = shlex.split(line)
                assert program == "simcli"
                code = doorman.run_command(words, debug=False, as_json=False)
                out, err = capfd.readouterr()
                assert code == Exit.OK, (line, err)
                said = [part for part in (out + err).splitlines() if not BESIDE.match(part)]
                assert answers(shown, said) is None, (line, answers(shown, said), out, err)
                n_commands += 1
    assert n_commands > 12
    assert {path.name for path in tmp_path.glob("*.png")} == {"effort.png", "torque.png"}
