"""The tiers of the tests: each test is in one, and the default one holds what the README promises."""

import re
from itertools import product
from pathlib import Path

import pytest
from support import touched
from support.full_cases import FULL_CASES
from support.machine import WORKER, free_memory, workers_that_fit
from support.tiers import DEFAULT, FULL, PROMISES, covering, function_of

ROOT = Path(__file__).parents[1]


def test_each_test_is_in_one_tier(tiers):
    """Those of the default run, those that `.ci/run` takes behind it, and the slow ones are all."""
    assert set(tiers.values()) <= {"default", "slow", "full"}
    lines = (ROOT / ".ci" / "run").read_text()
    assert f'-m "{FULL}"' in lines
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
