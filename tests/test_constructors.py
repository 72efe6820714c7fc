"""Constructors of natural coordinates: those that describe no body are refused by name.

Arguments of the public entry points: whatever kind of thing a program gives, it is taken, or refused by name.
"""

import contextlib
import copy
import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import simcli
from simcli.errors import DeviceMemoryError, Fault, OutputError, SceneError, SimcliError, UsageError, Where
from simcli.model.forms.natural_coordinates import Basis, complain
from simcli.simulation.starts import fitting_numbers
from simcli.sweeps import in_python


@pytest.mark.parametrize(
    ("words", "basis", "com"),
    [
        ("one place", Basis(np.array([[[0, 0, 1], [0, 0, 1]]]), np.eye(3)[None, :2]), (0, 0, 0)),
        ("dependent", Basis(np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1, 0], [1, 1, 0]]])), (0, 0, 0)),
        ("dependent", Basis(np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1e-9, 0], [1, 1e-9, 0]]])), (0, 0, 0)),
        ("dependent", Basis(np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1, 0], [0, 0, 0]]])), (0, 0, 0)),
        ("", Basis(np.zeros((1, 1, 3)), np.array([[[1e-20, 0, 0], [0, 1, 0], [0, 0, 1e9]]])), (0, 0, 0)),
        ("dependent", Basis(np.array([[[0, 0, 0], [1, 0, 0], [2, 0, 0]]]), np.zeros((1, 0, 3)), 2), (0, 0, 0)),
        ("off its axis", Basis(np.array([[[0, 0, 0], [1, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0.1, 0)),
        ("inertia about", Basis(np.array([[[0, 0, 0], [1, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0, 0)),
        ("not at its centre", Basis(np.array([[[0, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0, 0)),
        ("out of the plane", Basis(np.zeros((1, 1, 3)), np.array([[[1, 0, 0.1], [0, 1, 0]]]), 2), (0, 0, 0)),
        ("", Basis(np.array([[[0, 0, 0], [1, 0, 0]]]), np.array([[[0, 1, 0.5], [0, 0, 3]]])), (0, 0, 0)),
    ],
)
def test_what_describes_no_body_is_named(words, basis, com):
    found = complain(basis, np.array([com], float), np.diag((0.1, 0.2, 0.2))[None])
    assert words in found
    assert bool(words) == bool(found)


PAGE = (Path(simcli.__file__).parent / "docs" / "python.md").read_text(encoding="utf-8")
SCENE = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]
THINGS = (
    None,
    5,
    -1,
    2.5,
    float("nan"),
    True,
    1j,
    10**400,
    np.float64(2),
    b"x",
    "",
    "\0",
    "\ud800",
    "no such",
    "joint.hinge.q",
    [],
    [1],
    [None],
    [[1], [1, 2]],
    (),
    {},
    {1: 2},
    {"a": None},
    {"rail": "x"},
    {"joint.hinge.q": None},
    set(),
    range(3),
    object(),
    len,
    ...,
    np.zeros(3),
    np.array(["a"]),
)
METHODS = {
    "step": {"n": 0, "control": {"rail": 0.1}},
    "get": {"name": "joint.hinge.q", "dlpack": False},
    "set": {"name": "joint.hinge.q", "values": 0.1, "worlds": None},
    "reset": {"worlds": None, "episode": None},
    "save": {"path": "state.npz", "force": True},
    "restore": {"snapshot": None},
    "record": {"path": "run.h5", "force": True},
    "ik": {
        "targets": {"pole": [0.1, 0.0, 0.4]},
        "worlds": None,
        "start": None,
        "weights": None,
        "posture": 0.0,
        "seeds": 1,
        "seed": 0,
        "follow": False,
        "every": False,
        "tolerance": 1e-6,
        "iterations": 5,
    },
    "contacts": {"clearance": 0.1, "tolerance": 1e-6},
    "rays": {"origins": [0.0, 0.0, 3.0], "directions": [0.0, 0.0, -1.0], "body": "", "reach": 5.0},
}


def try_all(function, given, finish=lambda result: None):
    """A call with each thing in the place of each argument."""
    wrong = []
    for name in given:
        for thing in THINGS:
            try:
                finish(function(**{**given, name: thing}))
            except SimcliError:
                pass
            except Exception as error:
                wrong.append(f"{name}={thing!r}: {error!r}")
    assert wrong == []


def names_of(function):
    return [
        name
        for name, one in inspect.signature(function).parameters.items()
        if name != "self" and one.kind is not one.VAR_KEYWORD
    ]


@pytest.fixture
def here_of_python_arguments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("cartpole.yaml").write_text(SCENE)


def classes_below(kind):
    """A class and those that are made of it."""
    return {kind, *(one for below in kind.__subclasses__() for one in classes_below(below))}


@pytest.fixture
def sim(here_of_python_arguments):
    with simcli.Simulation("cartpole.yaml", worlds=3, device="cpu", vary=["joints.hinge.damping"]) as sim:
        yield sim


def test_openings_of_any_kind(here_of_python_arguments):
    given = {name: one.default for name, one in inspect.signature(simcli.Simulation).parameters.items()}
    try_all(simcli.Simulation, given | {"scene": "cartpole.yaml", "device": "cpu"}, simcli.Simulation.close)


def test_all_methods_are_tried():
    """Those of the page that take something."""
    named = {name for name in re.findall(r"\bsim\.(\w+)\(", PAGE) if names_of(getattr(simcli.Simulation, name))}
    assert named <= set(METHODS)
    for name, given in METHODS.items():
        assert names_of(getattr(simcli.Simulation, name)) == list(given)


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_any_kind(sim, method):
    def close(result):
        if method == "record":
            result.close()

    try_all(getattr(sim, method), METHODS[method], close)


@pytest.mark.parametrize("name", ["rail", "$u", "signal.u", "joint.hinge.q", "joints.hinge.damping"])
def test_values_of_any_kind(sim, name):
    for thing in THINGS:
        for call in (lambda: sim.step(0, {name: thing}), lambda: sim.set({name: thing})):  # noqa: B023
            with contextlib.suppress(SimcliError):
                call()


@pytest.mark.parametrize("function", [simcli.open, simcli.load], ids=lambda one: one.__name__)
def test_files_of_any_kind(here_of_python_arguments, function):
    given = {"path": "cartpole.yaml", "sets": ()}
    try_all(function, {name: given[name] for name in names_of(function)})


def test_sweeps_of_any_kind(here_of_python_arguments, monkeypatch):
    def stopped(*given):
        raise in_python.SweepStoppedError("it stands")

    monkeypatch.setattr(in_python, "drive_sweep", stopped)
    given = {name: one.default for name, one in inspect.signature(simcli.sweep).parameters.items()}
    given |= {"path": "cartpole.yaml", "folder": "night", "device": "cpu"}
    try_all(simcli.sweep, given)
    for name in ("vary", "choices", "measure"):
        try_all(lambda value, name=name: simcli.sweep(**{**given, name: {"joints.hinge.q": value}}), {"value": None})


REFUSED = {
    "scene: 5 is no path; write one as 'scene.yaml'": lambda: simcli.Simulation(5),
    "device: 5 is no text; write one as 'cpu'": lambda: simcli.Simulation("cartpole.yaml", device=5),
    "threads: 1000000 threads; take 1 to": lambda: simcli.Simulation("cartpole.yaml", threads=10**6),
    "open: None is no path": lambda: simcli.open(None),
    "load: b'a' is no path": lambda: simcli.load(b"a"),
    "step: True is no whole number of steps": lambda: simcli.Simulation("cartpole.yaml", device="cpu").step(True),
    "step: np.True_ is no whole number": lambda: simcli.Simulation("cartpole.yaml", device="cpu").step(np.True_),
    "worlds: True is no whole number": lambda: simcli.Simulation("cartpole.yaml", worlds=True),
    "threads: True is no whole number": lambda: simcli.Simulation("cartpole.yaml", threads=True),
    "max_worlds: True is no whole number": lambda: simcli.sweep("cartpole.yaml", max_worlds=True),
    "set `a.enabled`: 5 is no flag": lambda: fitting_numbers("set `a.enabled`", 5, (1, 1), dtype=bool),
    "workers: '2' is no whole number": lambda: simcli.sweep("cartpole.yaml", workers="2"),
    "vary `joints.hinge.q`: .* is no number, text, list or dict": lambda: simcli.sweep(
        "cartpole.yaml", vary={"joints.hinge.q": {1}}
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_to_write_is_told(here_of_python_arguments, words):
    with pytest.raises(UsageError, match=words):
        REFUSED[words]()


def test_what_to_write_to_a_file_is_told(sim):
    with pytest.raises(UsageError, match="record: None is no path; write one as"):
        sim.record(None)
    with pytest.raises(UsageError, match="force: 'no' is no flag; write True or False"):
        sim.record("run.h5", force="no")
    sim.record("run.h5").close()


def test_what_cannot_leave_its_process_says_so(sim, here_of_python_arguments):
    """What a pool of processes takes is pickled; so are errors of its workers, which a pool waits for in vain otherwise."""
    with sim.record("pickled.h5"):
        sim.step(10)
    with simcli.open("pickled.h5") as run:
        for thing, words in ((sim, "`restore` takes"), (run, "hand over its path")):
            for call in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match=words):
                    call(thing)
    sim.restore(pickle.loads(pickle.dumps(sim.save())))


@pytest.mark.parametrize("kind", sorted(classes_below(SimcliError), key=lambda one: one.__qualname__))
def test_errors_come_out_of_other_processes(kind):
    given = ([Fault("SC101", "bad", Where("a.yaml", 3, 2))],) if issubclass(kind, SceneError) else ("bad",)
    error = kind(*given, 3) if issubclass(kind, DeviceMemoryError) else kind(*given)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.args) == (kind, str(error), error.args)
    assert {**vars(again)} == {**vars(error)}


def test_arguments_and_overrides_do_not_contradict_each_other(here_of_python_arguments):
    with pytest.raises(SceneError, match=r"`--worlds 3` and `--set batch\.worlds=4` contradict each other"):
        simcli.Simulation("cartpole.yaml", worlds=3, sets=["batch.worlds=4"], device="cpu")
    with pytest.raises(SceneError, match=r"`--worlds 3` and `--set batch\.worlds=4` contradict each other"):
        simcli.sweep("cartpole.yaml", "night", worlds=3, sets=["batch.worlds=4"])


def test_a_file_that_is_there_is_told_in_words_of_python(sim):
    sim.record("there.h5").close()
    with pytest.raises(OutputError, match="give force=True"):
        sim.record("there.h5")
