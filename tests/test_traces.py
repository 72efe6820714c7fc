"""A kernel that was traced serves every run of which a trace reads the same, and no other."""

import pytest
from support.forward import model_of

import simcli as package
from simcli import pipeline
from simcli.kernels.device.runtime import stop_device
from simcli.kernels.language import traces
from simcli.kernels.language.backend import Origin, kernels_noted
from simcli.solvers import SOLVERS, RunPlan

SCENE = """
simcli: 1
bodies:
  rod: {pose: {xyz: [0, 0, -0.5]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.01]}}
joints:
  pin: {type: revolute, parent: world, child: rod, at: [0, 0, 0], axis: [0, 1, 0], q: 0.3, damping: 0.1}
solver: {type: generalized, integrator: semi_implicit, dt: 1.0e-3}
run: {duration: 0.01}
output: {every: 0.005}
"""
END = "  end: {pose: {xyz: [0, 0, -1.5]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}\n"
ELBOW = "  elbow: {type: revolute, parent: rod, child: end, at: [0, 0, -1], axis: [0, 1, 0]}\n"
SECOND = SCENE.replace("joints:", f"{END}joints:").replace("solver:", f"{ELBOW}solver:")


def run(folder, text=SCENE, *sets):
    """Kernels that a run takes, and the digest of its file."""
    (folder / "scene.yaml").write_text(text)
    request = pipeline.Request(folder / "scene.yaml", folder / "out.h5", sets, "cpu", 1, force=True)
    with kernels_noted() as taken:
        pipeline.execute(pipeline.prepare(request))
    with package.open(folder / "out.h5") as found:
        return taken, found.digest


@pytest.fixture(autouse=True, scope="module")
def new_device():
    """A device starts anew when it has the programs of many kernels: not those of the tests before this file."""
    stop_device()


@pytest.fixture
def started(tmp_path):
    """A run has been."""
    return run(tmp_path)


def test_the_next_run_of_a_scene_traces_nothing(started, tmp_path):
    """It is noted all the same, and its bytes are those of the first one."""
    taken, digest = run(tmp_path)
    assert [(kernel.origin, kernel.trace, kernel.compile) for kernel in taken] == [(Origin.PROCESS, 0.0, 0.0)]
    assert (taken[0].name, taken[0].key) == (started[0][0].name, started[0][0].key)
    assert digest == started[1]


@pytest.mark.parametrize(
    "value",
    [
        "bodies.rod.mass=2",
        "solver.dt=5e-4",
        "world.gravity=[1,2,3]",
        "run.duration=0.02",
        "joints.pin.q=-0.7",
        "output.every=0.002",
    ],
)
def test_values_need_no_other_trace(value, started, tmp_path):
    """They are read from memory: the bytes are those of a process that begins with them."""
    taken, digest = run(tmp_path, SCENE, value)
    assert [kernel.trace for kernel in taken] == [0.0]
    assert digest != started[1]
    traces.forget_traces()
    taken, anew = run(tmp_path, SCENE, value)
    assert taken[0].trace > 0
    assert anew == digest


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (SECOND, ()),
        (SCENE, ("solver.integrator=rk4",)),
        (SCENE, ("output.channels=[state, energy]",)),
        (SCENE, ("joints.pin.friction=0.2",)),
        (SCENE, ("batch.worlds=2", "batch.seed=1")),
    ],
)
def test_what_a_trace_reads_of_another_scene_is_another(text, sets, started, tmp_path):
    """Whether its kernel is another one or not: what is reused is what a trace would have given."""
    first, digest = run(tmp_path, text, *sets)
    traces.forget_traces()
    second, anew = run(tmp_path, text, *sets)
    assert second[0].trace > 0
    assert [kernel.key for kernel in first] == [kernel.key for kernel in second]
    assert digest == anew


def test_a_solver_outlives_its_device(device, tmp_path):
    """Kernels of a device that was stopped are gone, and are traced once more for the next one."""
    from simcli.kernels.device.runtime import start_device, stop_device

    model, options = model_of(SCENE.replace("simcli: 1\n", ""))
    plan = RunPlan(1e-3, 5, 2, frozenset(("joints",)))
    one, other = (SOLVERS["generalized"](model, options, plan, device) for _ in range(2))
    expected = [one.initial(), one.advance(1), one.advance(1)][-1].columns["frames/joint_q"]
    other.initial()
    other.advance(1)
    stop_device()
    start_device("cpu", threads=1)
    assert other.advance(1).columns["frames/joint_q"].tobytes() == expected.tobytes()


def test_a_signature_tells_structures_apart_and_values_of_memory_not():
    import numpy as np

    class Part:
        _numbers = ("place",)

        def __init__(self, n, place=0):
            self.n, self.place, self.again = n, place, [1.0, self]

    def said(*parts, own=False):
        found = traces.Signature(own)
        found.add(parts)
        return tuple(found.said)

    assert said(Part(1, 5)) == said(Part(1, 6))
    assert said(Part(1, 5), own=True) != said(Part(1, 6), own=True)
    same, one, other = Part(1), Part(1), Part(1)
    assert said(same, same) != said(one, other)  # which of them a function reads is part of it
    zeros = np.zeros(3)
    pairs = [
        (1, 2),
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        ("a", b"a"),
        ((1,), [1]),
        (min, max),
        (Part, Part(1)),
        (np.arange(3), np.arange(4)),
        (zeros, zeros.astype(np.float32)),
        (zeros, zeros[:, None]),
    ]
    for a, b in pairs:
        assert said(a) != said(b), (a, b)
    assert said(np.zeros(3)) == said(np.ones(4))
    with pytest.raises(traces.UnknownError):
        said(iter([1]))


def test_what_was_asked_of_a_model_before_is_no_part_of_a_signature():
    """Answers that tables remember depend on the command: one that only compiles asks less than a run."""
    from dataclasses import replace

    from simcli.model.closure.begin import begins_anywhere

    def said(model):
        found = traces.Signature(False)
        found.add(model)
        return found.said

    bodies = "{mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {ball: {type: sphere, radius: 0.1}}}"
    model, _ = model_of(f"bodies:\n a: {bodies}\n b: {bodies}\ncontact: {{}}\nsolver: {{dt: 1e-3}}\nrun: {{duration: 1}}\n")
    contacts = replace(model.contacts)  # nobody has asked it anything
    before, of_contacts = said(model), said(contacts)
    begins_anywhere(model)
    assert len(contacts.pairs.shape_a) == len(model.contacts.pairs.shape_a)
    assert "_kept" in vars(model)
    assert "pairs" in vars(contacts)
    assert (said(model), said(contacts)) == (before, of_contacts)
