"""The parts of the command line that need no simulation: help, usage, templates, options, colour, errors."""

import json
import os
import re
from pathlib import Path

import pytest
from support.process import simcli

import simcli as package
from simcli.cli import console, doorman
from simcli.cli.options import parse_worlds, split_words
from simcli.cli.run import vary_override
from simcli.errors import Exit, UsageError

COMMANDS = ["run", "check", "show", "new", "schema", "explain", "info", "plot", "export", "bench", "doctor"]
NOT_BUILT = ["--resume", "--restart", "--checkpoint-every"]
ESCAPE = "\x1b["


def test_help_lists_every_command():
    done = simcli("--help")
    assert done.returncode == Exit.OK
    for command in COMMANDS:
        assert f" {command} " in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_json_and_no_unbuilt_option(command):
    done = simcli(command, "--help")
    assert done.returncode == Exit.OK
    assert "--json" in done.stdout
    for option in NOT_BUILT:
        assert option not in done.stdout


def test_help_has_no_colour_without_a_terminal():
    assert ESCAPE not in simcli("--help").stdout


def test_version_is_one_line_on_stdout():
    done = simcli("--version")
    assert done.stdout == f"simcli {package.__version__}\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        ["rnu"],
        ["run"],
        ["run", "scene.yaml", "--resume"],
        ["run", "scene.yaml", "--device", "tpu"],
        ["run", "scene.yaml", "--worlds", "0"],
        ["new"],
        ["new", "x", "--template", "pendulm"],
        ["check", "no_such_file.yaml"],
        ["run", "scene.yaml", "--vary", "joints.pin.q"],
        ["explain", "SC999"],
        ["plot"],
    ],
)
def test_wrong_usage_is_exit_2_without_a_traceback(words, tmp_path):
    done = simcli(*words, cwd=tmp_path)
    assert done.returncode == Exit.USAGE, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")


def test_wrong_usage_with_json_is_one_document(tmp_path):
    done = simcli("new", "x", "--template", "pendulm", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["schema"] == "simcli.error/1"
    assert document["exit_code"] == done.returncode == Exit.USAGE
    assert "pendulum" in document["message"]


def test_new_writes_each_template(tmp_path):
    listing = json.loads(simcli("new", "--list", "--json").stdout)["templates"]
    assert {"pendulum", "double-pendulum", "batch"} <= {entry["name"] for entry in listing}
    for entry in listing:
        done = simcli("new", entry["name"], "--template", entry["name"], cwd=tmp_path)
        assert done.returncode == Exit.OK
        text = (tmp_path / f"{entry['name']}.yaml").read_text()
        assert text.startswith(f"# {entry['about']}")
        assert "simcli: 1" in text


def test_new_does_not_overwrite_without_force(tmp_path):
    (tmp_path / "swing.yaml").write_text("mine")
    assert simcli("new", "swing", cwd=tmp_path).returncode == Exit.OUTPUT
    assert (tmp_path / "swing.yaml").read_text() == "mine"
    assert simcli("new", "swing", "--force", cwd=tmp_path).returncode == Exit.OK
    assert "joints:" in (tmp_path / "swing.yaml").read_text()


def test_unknown_exception_is_one_line_and_a_report(capsys, monkeypatch):
    from simcli.cli import app

    def broken(*_words, **_options):
        raise ZeroDivisionError("of a test")

    monkeypatch.setattr(app, "app", broken)
    assert doorman.run_command(["run", "x"], debug=False, as_json=True) == Exit.INTERNAL
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert "ZeroDivisionError: of a test" in said.err
    report = next(line.split("report: ")[1] for line in said.err.splitlines() if "report: " in line)
    with open(report, encoding="utf-8") as file:
        text = file.read()
    os.remove(report)
    assert "Traceback" in text
    assert "command: simcli run x" in text
    assert json.loads(said.out)["exit_code"] == Exit.INTERNAL


def test_debug_lets_the_exception_through(monkeypatch):
    from simcli.cli import app

    def broken(*_words, **_options):
        raise ZeroDivisionError("of a test")

    monkeypatch.setattr(app, "app", broken)
    with pytest.raises(ZeroDivisionError):
        doorman.run_command(["run", "x"], debug=True, as_json=False)


def test_colour_only_where_it_is_wanted(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    assert console.paint("x", "bad") == "x"  # no terminal under the test runner
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert console.paint("x", "bad").startswith(ESCAPE)
    monkeypatch.setenv("NO_COLOR", "1")
    assert console.paint("x", "bad") == "x"


def test_worlds_of_a_list_and_a_range():
    assert parse_worlds(None) == [0]
    assert parse_worlds("0,4-6, 9") == [0, 4, 5, 6, 9]
    for text in ("x", "1-", "-1", "", "1.5"):
        with pytest.raises(UsageError):
            parse_worlds(text)


def test_words_are_split_at_commas():
    assert split_words(["a,b", " c ", ""]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "override"),
    [
        ("joints.pin.damping=0.1,0.2", "batch.vary.joints.pin.damping={grid: [0.1,0.2]}"),
        ("params.L=uniform(0, 1)", "batch.vary.params.L={uniform: [0, 1]}"),
        ("params.L={list: [1, 2]}", "batch.vary.params.L={list: [1, 2]}"),
        ("world.gravity=[0,0,-9],[0,0,-1]", "batch.vary.world.gravity={grid: [[0,0,-9],[0,0,-1]]}"),
    ],
)
def test_vary_becomes_an_override_of_the_document(text, override):
    assert vary_override(text) == override


def test_json_documents_hold_no_nan(capsys):
    import numpy as np

    console.emit("test", {"a": float("nan"), "b": np.array([1.0, np.inf]), "c": np.int64(3), "d": (np.bool_(True),)})
    assert json.loads(capsys.readouterr().out) == {
        "schema": "simcli.test/1",
        "a": None,
        "b": [1.0, None],
        "c": 3,
        "d": [True],
    }


def test_quantities_for_people():
    assert console.size_text(512) == "512 B"
    assert console.size_text(3_200_000) == "3.2 MB"
    assert console.count_text(12_300) == "12.3 k"
    assert console.duration_text(185) == "3:05"
    assert console.duration_text(7800) == "2:10:00"


def test_every_command_that_a_text_names_exists():
    named = re.compile(r"`simcli ([a-z][a-z-]*)")
    house = Path(package.__file__).parent
    texts = [*house.rglob("*.py"), *house.rglob("*.yaml"), *house.rglob("*.md"), house.parent / "README.md"]
    for path in texts:
        for command in named.findall(path.read_text(encoding="utf-8")):
            assert command in COMMANDS, f"{path}: `simcli {command}`"
