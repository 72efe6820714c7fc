"""The page on solvers, integrators and steps: its numbers are those that its commands print."""

import json
import re
import shlex
from importlib.resources import files

import pytest
from support.solver_modes import MODES

from simcli.cli import doorman
from simcli.errors import Exit

PAGE = files("simcli").joinpath("docs", "choosing.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \| (\S.*?) \| (\S+) \| (\S.*?) \| (\S+) \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE)
WITHIN = 0.06  # relative: two digits are shown
QUICK = ()
SCENES = {"double": ("double-pendulum", ["--duration", "2"]), "crank": ("slider-crank", [])}


@pytest.fixture
def channels(tmp_path, monkeypatch, capfd):
    """The estimate of `joint.q` in rad of a template."""
    monkeypatch.chdir(tmp_path)

    def run(name, *words):
        template, more = SCENES[name]
        assert doorman.run_command(["new", name, "--template", template, "--force"], debug=False, as_json=False) == Exit.OK
        capfd.readouterr()
        words = ["run", f"{name}.yaml", *more, *words, "--error-estimate", "--force", "--json"]
        doorman.run_command(words, debug=False, as_json=True)
        found = json.loads(capfd.readouterr().out)["error_estimate"]["channels"]
        return next(one for one in found if (one["channel"], one["unit"]) == ("joint.q", "rad"))

    return run


def test_the_table_has_every_integrator():
    assert sorted((solver, integrator) for solver, integrator, *_ in ROWS) == sorted(MODES)


@pytest.mark.parametrize("row", [pytest.param(row, id="-".join(row[:2]), marks=() if row[1] in QUICK else pytest.mark.slow)
                                 for row in ROWS])  # fmt: skip
def test_numbers_of_the_table_are_those_of_the_commands(channels, row):
    solver, integrator, *shown = row
    for name, (error, order) in zip(SCENES, (shown[:2], shown[2:]), strict=True):
        found = channels(name, "--solver", solver, "--set", f"solver.integrator={integrator}")
        if error == "cannot tell":
            assert found["error"] is None
        else:
            assert found["error"] == pytest.approx(float(error), rel=WITHIN)
            assert found["order"] == pytest.approx(float(order), abs=0.06)


def test_the_commands_of_the_page_end_well(tmp_path, monkeypatch):
    """Without their estimates, which take seven times as long: the expectations of the templates are judged all the same."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    commands = [shlex.split(line)[1:] for line in "".join(blocks).splitlines()]
    assert [words[0] for words in commands] == ["new", "new", "run", "run", "run"]
    for words in commands:
        kept = words[: words.index("--error-estimate")] if words[0] == "run" else words
        more = ["-q", "--force"] if words[0] == "run" else []
        assert doorman.run_command([*kept, *more], debug=False, as_json=False) == Exit.OK, words


@pytest.mark.slow
def test_the_wanted_steps_are_those_of_the_page(channels):
    assert channels("double", "--set", "solver.integrator=implicit", "--wanted", "1e-4")["step_wanted"] == 0.25e-3
    assert channels("double", "--set", "solver.integrator=semi_implicit", "--wanted", "1e-4")["step_wanted"] == 0.08e-6
    assert channels("crank", "--set", "solver.integrator=rk4", "--dt", "0.2 ms")["error"] == pytest.approx(3e-10, rel=0.1)
