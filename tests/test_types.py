"""Types, as mypy sees them: what a user's program knows of the front door, and errors whose count may only fall.

The rooms that [tool.mypy] names have none: `.ci/run` takes `mypy` alone.
"""

import ast
import dis
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from support.process import environment

import simcli
from simcli.analysis.mechanics.target_tasks import IkResult
from simcli.analysis.worlds.world_columns import WorldColumn
from simcli.analysis.worlds.world_table import WorldTable
from simcli.cli.scenes.site_pages import RETURNED
from simcli.job import Failure
from simcli.kernels.device.dlpack import DeviceView
from simcli.model.snapshot import Event
from simcli.records.contents.measures import ErrorEstimate, Measure
from simcli.records.contents.provenance import Provenance
from simcli.records.reading.named import Body, Joint, NamedPoint, Quantities
from simcli.records.reading.series import Column
from simcli.simulation.recording import OpenRecording, Snapshot
from simcli.sweeps.status import SweepProgress

pytestmark = pytest.mark.full
ROOT = Path(__file__).parents[1]
MOST_ERRORS = 1794  # of all rooms; lower it where errors are fixed, never raise it
# Of whom a program gets objects, beside the classes that the front door has.
GIVEN = (
    Body,
    Column,
    DeviceView,
    ErrorEstimate,
    Event,
    Failure,
    IkResult,
    Joint,
    Measure,
    NamedPoint,
    OpenRecording,
    Provenance,
    Quantities,
    Snapshot,
    SweepProgress,
    WorldColumn,
    WorldTable,
)
# As others write a class without parameters: an array of any shape and type of numbers, a slice of anything.
BARE = re.compile(r"ndarray\[tuple\[Any, \.\.\.\]|dtype\[Any\]|slice\[Any, Any, Any\]")
PROGRAM = """
import simcli

reveal_type(simcli.open)
reveal_type(simcli.load)
reveal_type(simcli.sweep)
run = simcli.open("run.h5")
reveal_type(run)
if isinstance(run, simcli.Results):
    reveal_type(run["joint_effort"])
else:
    reveal_type(run.joint("elbow").q[:, 0])
    reveal_type(run.body("rod").velocity_com)
    reveal_type(run.energy.drift.max())
    reveal_type(abs(1.0 - run.energy.total / 2.0) < 1e-3)
    reveal_type(run.measures["peak"])
    reveal_type(run.counters()["digest"])
    reveal_type([frame for frame in run.diag["status"]])
reveal_type(simcli.load("arm.yaml")[1].joint_q)
reveal_type(simcli.sweep("arm.yaml", vary={"joints.pin.q": [0, 1]}).arrays)
with simcli.Simulation("arm.yaml", worlds=4) as sim:
    reveal_type(sim)
    reveal_type(sim.get("joint.pin.q"))
    reveal_type(sim.get("joint.pin.q", dlpack=True))
"""


def members(kind):
    """Public names of a class of ours: of its methods, its fields, and what its constructor sets."""
    own = [one for one in kind.__mro__ if one.__module__.startswith("simcli")]
    found = {name for one in own for name in (*vars(one), *inspect.get_annotations(one))}
    found |= {one.argval for one in dis.get_instructions(kind.__init__) if one.opname == "STORE_ATTR"}
    return sorted(name for name in found if not name.startswith("_"))


def classes():
    late = [getattr(simcli, name) for name in simcli._LATE]
    return [one for one in (*late, *GIVEN) if inspect.isclass(one)]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says of the package and of a program that uses it, line by line."""
    program = tmp_path_factory.mktemp("types") / "program.py"
    lines = [PROGRAM, *(f"reveal_type(simcli.{name})" for name in simcli._LATE)]
    for k, kind in enumerate(classes()):
        lines += [
            f"from {kind.__module__} import {kind.__name__} as Kind{k}",
            f"def see{k}(one: Kind{k}) -> None:",
            "    reveal_type(one)",
            *(f"    reveal_type(one.{name})" for name in members(kind)),
        ]
    program.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "simcli", str(program)], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert "(checked " in done.stdout.splitlines()[-1], done.stdout + done.stderr
    shown = [line.split("program.py:")[1] for line in done.stdout.splitlines() if "program.py:" in line]
    return shown, [line for line in done.stdout.splitlines() if " error: " in line], program.read_text()


def test_a_program_knows_all_types_of_the_front_door(said):
    shown, _, text = said
    assert len([line for line in shown if "Revealed type" in line]) == text.count("reveal_type(")
    assert [line for line in shown if "Any" in BARE.sub("", line) or " error: " in line] == []


def test_the_site_explains_all_of_them():
    assert {(kind.__name__, kind.__module__) for kind in GIVEN} <= RETURNED.items()


def test_errors_only_fall(said):
    _, errors, _ = said
    assert len(errors) <= MOST_ERRORS, "\n".join(errors)


def test_a_checker_sees_what_is_imported_late():
    """The block for checkers says of each name of `_LATE` where it is from, and no other has `as`."""
    tree = ast.parse(Path(simcli.__file__).read_text())
    seen = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert seen == simcli._LATE
    assert all(hasattr(import_module(module), name) for name, module in seen.items())
