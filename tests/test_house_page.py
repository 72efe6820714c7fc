"""`simcli docs house`: every file and function that the page names is there, and so are the lists of all integrators."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

import simcli
from simcli.spec.forces import FORCES
from simcli.spec.schema.scene import AffineSolver, GeneralizedSolver, MaximalSolver, NaturalSolver

HOUSE = Path(simcli.__file__).parent
PAGE = (HOUSE / "docs" / "house.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)(?::(\w+))?`", PAGE)))
FOLDERS = sorted(set(re.findall(r"`((?:\w+/)+)`", PAGE)))


def names_in(path):
    """Functions, classes and constants at the top of a file."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_what_is_named_exists(file, name):
    path = HOUSE.parent / file if file.startswith("tests/") else HOUSE / file
    assert path.is_file()
    assert not name or name in names_in(path)


def test_folders_exist():
    assert FOLDERS
    assert [name for name in FOLDERS if not (HOUSE / name).is_dir()] == []


def test_the_step_of_every_integrator_is_named():
    """Lines as `- solver, solver with integrator, integrator: file`."""
    part = PAGE.partition("## Where a step is spelled")[2].partition("##")[0]
    listed = set()
    for solvers, integrators in re.findall(r"^- ([\w, ]+) with ([\w, ]+):", part, re.MULTILINE):
        listed |= {(solver, word) for solver in solvers.split(", ") for word in integrators.split(", ")}
    for spec in (GeneralizedSolver, MaximalSolver, NaturalSolver, AffineSolver):
        (solver,) = get_args(spec.model_fields["type"].annotation)
        for integrator in get_args(spec.model_fields["integrator"].annotation):
            assert integrator == "auto" or (solver, integrator) in listed


def test_the_spelling_of_every_force_is_named():
    """First words of the table, element by element."""
    part = PAGE.partition("## Where a force is spelled")[2].partition("##")[0]
    told = set(re.findall(r"[\w]+", " ".join(re.findall(r"^\| ([^|]+) \|", part, re.MULTILINE))))
    assert {get_args(force.model_fields["type"].annotation)[0] for force in FORCES} <= told
