"""The tiers of the tests: each test is in one, and the default one holds what the README promises.

The folder .github: workflows start `.ci/run` or build, on the Pythons that pyproject.toml names, and forms ask for what a
report needs.
"""

import re
import tomllib
from itertools import product
from pathlib import Path

import pytest
import yaml
from support import touched
from support.engine_cases import ENGINE_CASES, ENGINE_FILES
from support.full_cases import FULL_CASES
from support.machine import WORKER, free_memory, workers_that_fit
from support.tiers import DEFAULT, OTHERS, PROMISES, covering, function_of

ROOT = Path(__file__).parents[1]


def test_each_test_is_in_one_tier(tiers):
    """Those of the default run, and those that `.ci/run` takes behind it, are all."""
    assert set(tiers.values()) <= {"default", "slow", "full"}
    lines = (ROOT / ".ci" / "run").read_text()
    assert f'-m "{OTHERS}"' in lines
    assert f"-m '{DEFAULT}'" in (ROOT / "pyproject.toml").read_text()


def test_every_promise_is_in_the_default_tier(tiers):
    text = (ROOT / "README.md").read_text()
    (said,) = re.findall(r"and these promises:\n\n(.*?)\n\n", text, re.DOTALL)
    promises = re.findall(r"^- (.*)", said, re.MULTILINE)
    assert [key for key in PROMISES if not any(line.startswith(key) for line in promises)] == []
    assert [line for line in promises if not any(line.startswith(key) for key in PROMISES)] == []
    there = {function_of(name) for name, tier in tiers.items() if tier == "default"}
    assert {function for functions in PROMISES.values() for function in functions} - there == set()


@pytest.mark.parametrize("file", FULL_CASES)
def test_full_cases_are_those_of_tests_that_exist(file, tiers):
    """A name that is gone would make nothing `full`, and say nothing; one without parameters is that of all cases."""
    names = {name.partition("::")[2] for name in tiers if Path(name.partition("::")[0]).stem == file}
    assert set(FULL_CASES[file]) - names - {name.partition("[")[0] for name in names} == set()


@pytest.mark.parametrize("file", [*ENGINE_FILES, *ENGINE_CASES])
def test_cases_of_engines_are_those_of_the_default_tier(file, tiers):
    """A name that is gone, or of another tier, would be tried with one engine alone, and nobody would be told."""
    default = [name.partition("::") for name, tier in tiers.items() if tier == "default"]
    here = {name for path, _, name in default if Path(path).stem == file}
    assert here
    assert set(ENGINE_CASES.get(file, ())) - here - {name.partition("[")[0] for name in here} == set()


def test_every_promise_runs_with_each_engine():
    names = {function_of(name) for cases in ENGINE_CASES.values() for name in cases}
    assert {function for functions in PROMISES.values() for function in functions} - names == set()


def test_a_table_has_all_pairs_in_the_default_tier():
    rows = [(a, b, c, d) for a, b, c, d in product("ab", "cde", range(3), (None, True)) if (a, b) != ("a", "e")]
    made = covering(rows)
    assert [one.values for one in made] == rows
    assert made == covering(rows)
    often = [one.values for one in made if not one.marks]
    assert len(often) < len(rows) / 2
    for i, j in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)):
        assert {(row[i], row[j]) for row in often} == {(row[i], row[j]) for row in rows}


def test_single_values_stand_once_and_marks_stay():
    made = covering([("a", 1), pytest.param("b", 1, id="it", marks=pytest.mark.gpu), ("a", 2), ("b", 2)], 1)
    assert [[mark.name for mark in one.marks] for one in made] == [[], ["gpu", "full"], ["full"], []]
    assert made[1].id == "it"


def test_what_nobody_has_touched_is_told():
    """The check of a whole run (conftest.py): all that the code lists, less what is noted."""
    whole = touched.wanted()
    assert touched.missing(whole) == []
    lost = {("integrator", "natural", "moreau"), ("shapes", "BOX", "BOX"), ("process", "run")}
    assert touched.missing(whole - lost) == ["integrator natural moreau", "process run", "shapes BOX BOX"]


def test_every_field_and_force_has_a_line_in_the_notes():
    from simcli.spec.checks.joint_fields import SUPPORTED_FIELDS

    assert set(touched.LAWS) == set(SUPPORTED_FIELDS)
    assert set(touched.FORCES) == {note[1] for note in touched.wanted() if note[0] == "force"}


def test_memory_bounds_the_number_of_processes(tmp_path, monkeypatch):
    monkeypatch.setattr("support.machine.cores", lambda: 8)
    for free, n in ((None, 8), (100 * WORKER, 8), (3.9 * WORKER, 3), (0.5 * WORKER, 1)):
        monkeypatch.setattr("support.machine.free_memory", lambda free=free: free)
        assert workers_that_fit() == n


@pytest.mark.parametrize(("most", "free"), [("max", 5000 * 1024), ("3000000", 3000000 - 2000000 + 500000)])
def test_free_memory_is_that_of_the_machine_and_of_its_group(tmp_path, most, free):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000 kB\nMemAvailable: 5000 kB\n")
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    for name, text in (("max", most), ("current", "2000000\n"), ("stat", "anon 7\ninactive_file 500000\n")):
        (group / f"memory.{name}").write_text(text)
    assert free_memory(tmp_path) == free
    assert free_memory(tmp_path / "elsewhere") is None


GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in (GITHUB / "workflows").iterdir()}
FORMS = {path.stem: yaml.safe_load(path.read_text()) for path in (GITHUB / "ISSUE_TEMPLATE").iterdir()}
CONFIG = FORMS.pop("config")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# What a workflow may run beside `.ci/run`, by the first words: what builds, and what attaches that to a tag.
BUILDS = ("python -m pip install build", "python -m build", "gh release create ")
ACTIONS = {"actions/checkout", "actions/setup-python", "actions/upload-artifact"}
EVENTS = True  # the key `on` of a workflow, which is a truth value in YAML 1.1


def steps(workflow, key):
    """What its steps have of a key, in order."""
    return [step[key] for job in workflow["jobs"].values() for step in job["steps"] if key in step]


def test_workflows_start_the_one_script():
    assert {"check", "nightly", "release", "site"} <= WORKFLOWS.keys()
    for name, workflow in WORKFLOWS.items():
        assert {"name", EVENTS, "permissions", "jobs"} <= workflow.keys()
        for job in workflow["jobs"].values():
            assert {"runs-on", "timeout-minutes", "steps"} <= job.keys()
            assert all(("uses" in step) != ("run" in step) for step in job["steps"])
        started = [line for line in steps(workflow, "run") if line.split()[0] == ".ci/run"]
        assert started, name
        assert [line for line in steps(workflow, "run") if line not in started and not line.startswith(BUILDS)] == []
        assert {re.sub("@v[0-9]+$", "", one) for one in steps(workflow, "uses")} <= ACTIONS
    assert set(steps(WORKFLOWS["check"], "run")) == {".ci/run"}
    assert set(steps(WORKFLOWS["nightly"], "run")) == {".ci/run --all"}
    assert WORKFLOWS["release"][EVENTS] == {"push": {"tags": ["v*"]}}
    assert set(steps(WORKFLOWS["site"], "run")) == {".ci/run --site"}
    assert steps(WORKFLOWS["site"], "with")[-1] == {"name": "site", "path": "outputs/site"}
    assert '--html "$top/outputs/site"' in (ROOT / ".ci" / "run").read_text()


def test_options_of_the_script_are_its_own():
    """And nothing is uploaded to an index."""
    said = (ROOT / ".ci" / "run").read_text()
    texts = [*(path.read_text() for path in GITHUB.rglob("*.*")), (ROOT / "README.md").read_text()]
    named = {option for text in texts for option in re.findall(r"\.ci/run (--[\w-]+)", text)}
    assert named
    assert [option for option in named if f"{option})" not in said] == []
    assert [text for text in texts if re.search("twine|pypi-publish|pip upload", text)] == []


def test_workflows_take_each_python_of_the_package():
    told = [one.rpartition(" ")[2] for one in PYPROJECT["classifiers"] if re.fullmatch(r".*Python :: 3\.\d+", one)]
    assert told
    for name in ("check", "nightly"):
        for job in WORKFLOWS[name]["jobs"].values():
            assert job["strategy"]["matrix"]["python"] == told
        assert steps(WORKFLOWS[name], "with")[0] == {"python-version": "${{ matrix.python }}"}
    for name in ("release", "site"):
        assert steps(WORKFLOWS[name], "with")[0]["python-version"] in told
    said = (GITHUB / "CONTRIBUTING.md").read_text()
    assert [one for one in told if one not in said] == []


@pytest.mark.parametrize("name", FORMS)
def test_forms_ask_for_what_a_report_needs(name):
    form = FORMS[name]
    assert form["name"]
    assert form["description"]
    fields = {field["id"]: field for field in form["body"]}
    assert len(fields) == len(form["body"])
    assert all(field["type"] in ("textarea", "input") and field["attributes"]["label"] for field in fields.values())
    assert all(isinstance(field["validations"]["required"], bool) for field in fields.values())
    assert "simcli doctor" in str(fields["doctor"]["attributes"])
    assert fields["scene"]["validations"]["required"]
    assert fields["doctor"]["validations"]["required"] or name == "wish"


def test_what_contributors_read_names_what_there_is():
    said = (GITHUB / "CONTRIBUTING.md").read_text()
    set_up, *_ = re.findall(r"```bash\n(.*?)```", said, re.DOTALL)
    assert len(set_up.splitlines()) == 2
    assert [line for line in set_up.splitlines() if "[test]" in line]
    for marks in (f'-m "{OTHERS}"', "-m slow", "python -m pytest`"):
        assert marks in said
    assert [file for file in re.findall(r"tests/\w+\.py", said) if not (ROOT / file).is_file()] == []
    for text in (path.read_text() for path in GITHUB.rglob("*.*")):
        links = re.findall(r"https://[^\s)]+", text)
        assert [link for link in links if not link.startswith(PYPROJECT["urls"]["Homepage"])] == []
    assert CONFIG["contact_links"]
