"""The parts of the command line that need no simulation: help, usage, templates, options, colour, errors."""

import gc
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
import typer
from support.process import environment, simcli, simcli_apart

import simcli as package
from simcli.cli import console
from simcli.cli import process as cli_process
from simcli.cli.app import build_app
from simcli.cli.options import parse_worlds, split_words
from simcli.cli.process import usage_words
from simcli.cli.runs.run_options import vary_override
from simcli.errors import Exit, UsageError

ROOT = Path(package.__file__).parent.parent
COMMANDS = [
    "run",
    "sweep",
    "check",
    "show",
    "samples",
    "new",
    "import",
    "decompose",
    "schema",
    "explain",
    "info",
    "table",
    "view",
    "plot",
    "render",
    "export",
    "diff",
    "slice",
    "merge",
    "repair",
    "fk",
    "ik",
    "id",
    "mass-matrix",
    "jacobian",
    "matrices",
    "contacts",
    "rays",
    "equilibrium",
    "modes",
    "solve",
    "fit",
    "optimize",
    "docs",
    "bench",
    "precompile",
    "doctor",
]
ESCAPE = "\x1b["


def test_help_lists_every_command():
    done = simcli_apart("--help")
    assert done.returncode == Exit.OK
    for command in COMMANDS:
        assert f" {command} " in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_json(command):
    done = simcli(command, "--help")
    assert done.returncode == Exit.OK
    assert "--json" in done.stdout


def test_help_names_choices_and_no_type_of_an_option_without_value():
    """But those of Typer's own options."""
    for words in (["run"], ["id"], ["sweep", "run"]):
        shown = simcli(*words, "--help").stdout
        assert re.findall(r"--[a-z-]+ .*<bool>", shown) == re.findall(r"--help .*<bool>", shown)
    assert "spline|cubic" in simcli("id", "--help").stdout
    assert "float64|float32" in simcli("run", "--help").stdout


def test_help_has_no_colour_without_a_terminal():
    assert ESCAPE not in simcli_apart("--help").stdout


def test_environment_of_the_user_stands(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "")
    before = gc.get_threshold()
    try:
        cli_process.start_process()
    finally:
        gc.set_threshold(*before)
    assert (os.environ["OPENBLAS_NUM_THREADS"], os.environ["PYDANTIC_DISABLE_PLUGINS"]) == ("3", "")


def test_version_is_one_line_on_stdout():
    done = simcli_apart("--version")
    assert re.fullmatch(rf"simcli {re.escape(package.__version__)}( \(commit [0-9a-f]{{40}}\))?\n", done.stdout)
    assert done.stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        ["rnu"],
        ["run"],
        ["run", "scene.yaml", "--rseume"],
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


_ODD = ("1.5", "-1", "0", "abc", "", "1e400", "nan", "9" * 30)
_FOREIGN = re.compile(r"nput should|[Vv]alue error|[Ii]nvalid value|not one of|valid (integer|number)|parse string|\(")


def test_a_value_that_no_option_takes_is_told_in_our_words():
    """Of every option of every command: neither Typer's words nor pydantic's."""
    waiting, told = [("simcli", typer.main.get_command(build_app()))], set()
    while waiting:
        name, command = waiting.pop()
        waiting += [(f"{name} {key}", below) for key, below in getattr(command, "commands", {}).items()]
        for parameter, odd in itertools.product(command.params, _ODD):
            context = command.make_context(name, [], resilient_parsing=True)
            if parameter.opts[0] == "scene" or getattr(parameter, "is_flag", False):
                continue
            try:
                parameter.process_value(context, (odd,) if parameter.multiple or parameter.nargs == -1 else odd)
            except UsageError:
                continue
            except Exception as error:
                words = usage_words(error)
                assert not _FOREIGN.search(words), (name, parameter.opts, odd, words)
                told.add(words)
    assert {
        "--worlds 1.5: write a whole number",
        "--worlds 0: must be at least 1",
        "--wanted abc: write a number",
        "--concavity 1.5: must be at most 1",
        "--on-failure '': write isolate or stop",
        "--tolerance 0: must be at least 1e-15",
    } <= told


def test_stdin_is_not_read_and_that_is_told():
    done = simcli("run", "-")
    assert (done.returncode, "stdin is not read" in done.stderr) == (Exit.USAGE, True), done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--solver", "natral"], "--solver natral: did you mean `natural`?"),
        (["--device", "tpu"], "--device tpu: write auto, cpu, "),
        (["--worlds", "0"], "--worlds 0: must be at least 1"),
    ],
)
def test_a_wrong_value_names_its_option(words, said, capsys):
    assert cli_process.run_command(["run", __file__, *words], debug=False, as_json=False) == Exit.USAGE
    assert said in capsys.readouterr().err


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


def test_what_a_newcomer_mixes_up_is_answered(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my scene.yaml").write_text("simcli: 1\n")
    for words, said in {
        ("my scene.yaml",): "error: No such command 'my scene.yaml'.\n  to run a scene: simcli run 'my scene.yaml'\n",
    }.items():
        assert cli_process.run_command(words, debug=False, as_json=False) == Exit.USAGE
        assert capsys.readouterr() == ("", said)
    assert cli_process.run_command(["new", "my second"], debug=False, as_json=False) == Exit.OK
    assert "simcli run 'my second.yaml'" in capsys.readouterr().err
    assert cli_process.run_command(["explain", "204"], debug=False, as_json=False) == Exit.OK
    assert capsys.readouterr().out.startswith("SC204: ")


def test_keys_of_another_solver_are_faults_of_the_chosen_one(tmp_path, capsys):
    path = tmp_path / "s.yaml"
    path.write_text("simcli: 1\nsolver: {type: generalized, integrator: rk4}\n")
    words = ["run", str(path), "--solver", "affine", "--dry-run", "--json"]
    assert cli_process.run_command(words, debug=False, as_json=True) == Exit.SCENE
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert sorted((fault["code"], fault["file"]) for fault in faults) == [("SC206", str(path))]


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

    monkeypatch.setattr(app, "build_app", lambda _words: broken)
    assert cli_process.run_command(["run", "x"], debug=False, as_json=True) == Exit.INTERNAL
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

    monkeypatch.setattr(app, "build_app", lambda _words: broken)
    with pytest.raises(ZeroDivisionError):
        cli_process.run_command(["run", "x"], debug=True, as_json=False)


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
    for text in ("x", "1-", "-1", "", "1.5", "1,", "\u00b2"):
        with pytest.raises(UsageError, match="is not a world"):
            parse_worlds(text)
    with pytest.raises(UsageError, match="`3-1` goes backwards: write 1-3"):
        parse_worlds("0, 3-1")
    for text in ("0-9999999999", "16777216", "9" * 5000):
        with pytest.raises(UsageError, match="at most 16777216 worlds"):
            parse_worlds(text)


def test_words_are_split_at_commas():
    assert split_words("-c", ["a,b", " c ", "d,"]) == ["a", "b", "c", "d"]
    assert split_words("-c", []) == []


@pytest.mark.parametrize("empty", ["", " ", ","])
def test_an_option_that_names_nothing_is_refused(empty):
    """Else `--select "$part"` with an unset variable would take everything."""
    with pytest.raises(UsageError, match=r"--select: nothing is named"):
        split_words("--select", ["arm", empty])


@pytest.mark.parametrize("text", ["joints.pin.q", "=1,2", " =1", "joints.pin.q=", "joints.pin.q= "])
def test_vary_without_key_or_values_is_wrong_usage(text):
    with pytest.raises(UsageError, match="write KEY="):
        vary_override(text)


NOT_THERE = [
    ["run"],
    ["show"],
    ["check"],
    ["info"],
    ["plot"],
    ["export", "-c", "time"],
    ["diff", "pendulum.yaml"],
    ["bench"],
    ["slice", "-o", "x.h5"],
    ["merge", "-o", "x.h5", "pendulum.yaml"],
]


@pytest.mark.parametrize("words", NOT_THERE, ids=lambda words: words[0])
def test_a_path_that_is_not_there_is_exit_2_for_every_command(words, tmp_path, monkeypatch, capsys):
    (tmp_path / "pendulum.yaml").write_text("simcli: 1")
    (tmp_path / "pendulum.png").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "pendulum.h5").touch()
    monkeypatch.chdir(tmp_path)
    expected = {
        "pendulun.yaml": "error: pendulun.yaml: no such file; did you mean `pendulum.yaml`?\n",
        "pendulum.yml": "error: pendulum.yml: no such file; did you mean `pendulum.yaml`?\n",
        "pendulum.h5": "error: pendulum.h5: no such file; did you mean `outputs/pendulum.h5`?\n",
        "none/none.h5": "error: none/none.h5: no such file\n",
        "pendulum.yaml/x": "error: pendulum.yaml/x: no such file (Not a directory)\n",
        "folder": "error: folder: is a folder; name a file in it\n",
    }
    if words == ["check"]:
        del expected["folder"]
    for path, said in expected.items():
        assert cli_process.run_command([*words, path], debug=False, as_json=False) == Exit.USAGE
        assert capsys.readouterr() == ("", said)


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
    texts += [path for path in (house.parent / ".github").rglob("*.*") if path.is_file()]
    for path in texts:
        for command in named.findall(path.read_text(encoding="utf-8")):
            assert command in COMMANDS, f"{path}: `simcli {command}`"


def shown_lines():
    """Lines of the shell that begin with simcli, in README and on the pages: the place and the words."""
    house = Path(package.__file__).parent
    for path in (house.parent / "README.md", *sorted((house / "docs").rglob("*.md"))):
        for block in re.findall(r"```(?:bash|console)\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
            for line in re.findall(r"^(?:\$ )?simcli (.*?)(?: &)?$", block, re.MULTILINE):
                yield f"{path.name}: {line}", shlex.split(line, comments=True)


def test_every_option_that_a_page_shows_exists():
    app, n = typer.main.get_command(build_app()), 0
    for place, (name, *words) in shown_lines():
        command = app.commands[name]
        if hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        with command.context_class(command, info_name=name) as context:
            try:
                command.make_parser(context).parse_args(words)
            except Exception as error:
                pytest.fail(f"{place}: {error}")
        n += 1
    assert n > 50


def test_no_help_text_has_brackets_that_rich_takes_for_markup():
    markup = re.compile(r"(?<!\\)\[[a-z#/@][^\[]*?\]")

    def texts(command):
        yield from [command.help or "", *(getattr(one, "help", None) or "" for one in command.params)]
        for one in getattr(command, "commands", {}).values():
            yield from texts(one)

    found = [text for text in texts(typer.main.get_command(build_app())) if markup.search(text)]
    assert found == []


def test_a_process_without_a_home_runs(tmp_path):
    (tmp_path / "drop.yaml").write_text(
        "simcli: 1\nbodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}}}\nrun: {duration: 0.01}\noutput: {every: 0.01}\n"
    )
    bare = {name: value for name, value in environment().items() if name != "HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "simcli", "run", str(tmp_path / "drop.yaml"), "-q", "-o", str(tmp_path / "drop.h5")],
        env=bare,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel and an sdist of this checkout, by kind."""
    out = tmp_path_factory.mktemp("built")
    done = apart(sys.executable, "-m", "build", "--outdir", out, ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


CHECKOUT = "PYTHONPATH", "VIRTUAL_ENV", "SIMCLI_ENGINE"


def apart(*words, cwd=None):
    """A program to its end, which sees nothing of this checkout."""
    clean = {name: value for name, value in os.environ.items() if name not in CHECKOUT}
    return subprocess.run(list(map(str, words)), cwd=cwd, env=clean, capture_output=True, text=True, check=False)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_built_works_in_an_empty_environment(built, kind, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    done = apart(programs / "python", "-m", "pip", "install", "-q", "--no-compile", built[kind])
    assert done.returncode == 0, done.stderr
    for words in (
        ["new", "pendulum"],
        ["run", "pendulum.yaml", "-q"],
        ["view", "outputs/pendulum.h5"],
        ["doctor"],
        ["docs", "start"],
    ):
        done = apart(programs / "simcli", *words, cwd=tmp_path)
        assert done.returncode == 0, (words, done.stderr)
    said = apart(programs / "simcli", "--version", cwd=tmp_path).stdout
    assert said == simcli_apart("--version").stdout  # the commit of the checkout too
    licences = {path.name for path in (tmp_path / "env").rglob("simcli-*.dist-info/licenses/**/LICENSE*")}
    assert licences == {"LICENSE", "LICENSE-three.txt"}


@pytest.mark.full
def test_a_wheel_has_what_the_site_is_made_of(built):
    docs = Path(package.__file__).parent / "docs"
    needed = {
        path.relative_to(docs.parents[1]).as_posix() for folder in ("gallery", "site") for path in (docs / folder).iterdir()
    }
    assert len(needed) > 28
    with zipfile.ZipFile(built["wheel"]) as file:
        assert needed - set(file.namelist()) == set()


@pytest.mark.full
def test_tests_run_from_an_sdist(built, tmp_path):
    with tarfile.open(built["sdist"]) as file:
        file.extractall(tmp_path, filter="data")
    (top,) = tmp_path.iterdir()
    ours = ("tests/test_cli_small.py", "tests/test_house.py")
    done = apart(
        "env",
        f"PYTHONPATH={top}",
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        *ours,
        "-k",
        "version or floors",
        cwd=top,
    )
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


@pytest.mark.full
def test_an_index_can_show_the_images_and_links_of_the_readme(built):
    with zipfile.ZipFile(built["wheel"]) as file:
        (name,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        shown = file.read(name).decode()
    targets = re.findall(r"\]\(([^)#]+)", shown)
    assert len(targets) > 2
    assert [one for one in targets if not one.startswith("https://")] == []
