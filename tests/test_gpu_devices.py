"""GPUs, real or imitated: the numbers of the CPU, or a refusal.

Every solver on a GPU: the numbers of the CPU; where each stage of a step is a kernel, the bytes of one kernel.

The memory of a GPU, imitated and real: what holds on the CPU holds there.
"""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import test_kernels_elementary as test_kernels_vectors
import test_kernels_shared
from support import teams
from support.device import live_device
from support.gpu import AGREEMENT, DOUBLE_PENDULUM, GPUS, assert_agree, columns_of, started
from support.process import simcli_apart

from simcli.errors import DeviceError, Exit
from simcli.kernels.device import runtime, self_test, storage
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.runtime import start_device
from simcli.kernels.language import elementary, ti
from simcli.model.snapshot import Status
from simcli.pipeline import Request, prepare
from simcli.pipeline import solver_of as solver_of_of_solvers
from simcli.solvers import SOLVERS, RunPlan, Stepper
from simcli.solvers.run import kernels_by_stage, loop_bounds

N_STEPS, FRAMES = 100, 10


@pytest.fixture
def pendulum(tmp_path):
    """The model of a double pendulum."""
    return model_of(tmp_path, DOUBLE_PENDULUM.replace("PRECISION", "float64"))


def model_of(folder, text, *sets, world=None):
    """The model of a scene."""
    from simcli.pipeline import Request, prepare

    path = folder / "scene.yaml"
    path.write_text(text)
    return prepare(Request(path, sets=sets, worlds=None if world is None else (world,))).model


def solver_of(model, device, steps=N_STEPS // FRAMES, frames=FRAMES, integrator="semi_implicit"):
    options = SimpleNamespace(type="generalized", integrator=integrator, max_velocity=1e6)
    return SOLVERS["generalized"](model, options, RunPlan(1e-3, steps, frames, frozenset(("state", "energy"))), device)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", AGREEMENT)
@pytest.mark.parametrize("gpu", GPUS)
def test_the_double_pendulum_is_that_of_the_cpu(gpu, precision, pendulum):
    found = columns_of(solver_of(pendulum, started(gpu, precision)))
    wanted = columns_of(solver_of(pendulum, live_device(precision)))
    assert np.abs(wanted["frames/joint_q"][-1] - wanted["frames/joint_q"][0]).min() > 0.02
    assert_agree(found, wanted, AGREEMENT[precision])


@pytest.mark.gpu
@pytest.mark.parametrize("integrator", ["rk4", pytest.param("implicit", marks=pytest.mark.slow)])
@pytest.mark.parametrize("gpu", GPUS)
def test_integrators_of_a_higher_order_are_those_of_the_cpu(gpu, integrator, pendulum):
    found = columns_of(solver_of(pendulum, started(gpu, "float64"), integrator=integrator))
    wanted = columns_of(solver_of(pendulum, live_device(), integrator=integrator))
    assert np.abs(wanted["frames/joint_q"][-1] - wanted["frames/joint_q"][0]).min() > 0.02
    assert_agree(found, wanted, AGREEMENT["float64"])


N_WORLDS, CHOSEN, FAILING = 8, 2, 5
PLACES = f"joints.shoulder.q: {{list: {[0.1 * k for k in range(N_WORLDS)]}}}"
RATES = f"joints.shoulder.qd: {{list: {[1e200 if k == FAILING else 0.1 for k in range(N_WORLDS)]}}}"
BATCH = f"batch.worlds={N_WORLDS}", f"batch.vary={{{PLACES}}}"
BAD_BATCH = f"batch.worlds={N_WORLDS}", f"batch.vary={{{PLACES}, {RATES}}}"
MILD = ("joints.shoulder.qd=0.1",)


@pytest.fixture(params=["like_gpu", *(pytest.param(gpu, marks=pytest.mark.gpu) for gpu in GPUS)])
def any_gpu(request):
    """A GPU, imitated or real."""
    if request.param == "like_gpu":
        return start_device("cpu", "float64", threads=1, like_gpu=True)
    return started(request.param, "float64")


def bytes_of(columns, *worlds):
    return {name: np.ascontiguousarray(column[:, list(worlds)]).tobytes() for name, column in columns.items()}


def test_bytes_of_a_world_do_not_depend_on_others(any_gpu, tmp_path):
    """Two runs, the same bytes; a world alone, in a batch, and beside one that fails: the same bytes."""
    text, every = DOUBLE_PENDULUM.replace("PRECISION", "float64"), range(N_WORLDS)
    columns = columns_of(solver_of(model_of(tmp_path, text, *BATCH, *MILD), any_gpu))
    again = columns_of(solver_of(model_of(tmp_path, text, *BATCH, *MILD), any_gpu))
    assert bytes_of(again, *every) == bytes_of(columns, *every)
    alone = columns_of(solver_of(model_of(tmp_path, text, *BATCH, *MILD, world=CHOSEN), any_gpu))
    assert bytes_of(alone, 0) == bytes_of(columns, CHOSEN)
    beside = columns_of(solver_of(model_of(tmp_path, text, *BAD_BATCH), any_gpu))
    assert beside["diag/status"][-1, FAILING] == Status.NOT_FINITE
    assert np.isnan(beside["frames/joint_q"][-1, FAILING]).all()
    others = [world for world in every if world != FAILING]
    assert bytes_of(beside, *others) == bytes_of(columns, *others)


def test_a_run_goes_on_from_its_state(any_gpu, tmp_path):
    model = model_of(tmp_path, DOUBLE_PENDULUM.replace("PRECISION", "float64"), *BATCH)
    wanted = columns_of(solver_of(model, any_gpu))
    first = solver_of(model, any_gpu)
    first.initial()
    first.advance(FRAMES // 2)
    done = first.n_steps
    second = solver_of(model, any_gpu)
    second.restore({name: value.copy() for name, value in first.state_arrays().items()}, done)
    left = FRAMES - done // (N_STEPS // FRAMES)
    blocks = []
    while sum(len(block.step) for block in blocks) < left:
        blocks.append(second.advance(left))
    found = {name: np.concatenate([block.columns[name] for block in blocks]) for name in wanted}
    assert bytes_of(found, *range(N_WORLDS)) == bytes_of(
        {name: column[-left:] for name, column in wanted.items()}, *range(N_WORLDS)
    )


@pytest.mark.gpu
@pytest.mark.parametrize("precision", [pytest.param("float64", marks=pytest.mark.slow), "float32"])
@pytest.mark.parametrize("gpu", GPUS)
def test_gpus_run_from_the_command_line(gpu, precision, tmp_path):
    started(gpu, precision)
    (tmp_path / "scene.yaml").write_text(DOUBLE_PENDULUM.replace("PRECISION", precision))
    done = simcli_apart("run", "scene.yaml", "--device", gpu, "--worlds", 1000, "--json", cwd=tmp_path)
    assert done.returncode == Exit.OK, done.stderr
    assert json.loads(done.stdout)["device"]["arch"] == gpu


def by_a_magic_number(x):
    """Rounding that optimisers fold away."""
    rounder = elementary.ROUNDER[elementary.precision_of()]
    return elementary.local((x + rounder) - rounder)


WRONG = {
    "rounded": lambda x: elementary.local(x),
    "sincos": lambda x: (elementary.local(x * 0.5), elementary.local(x * 0.0 + 1.0)),
    "atan2": lambda y, x: elementary.local(y / x),
    "exp_rotation": lambda v: elementary.Quat(*(v * 0.5).parts, 1.0),
}


@pytest.mark.parametrize("precision", AGREEMENT)
def test_a_device_that_is_right_is_taken(precision):
    device = start_device("cpu", precision, threads=1, like_gpu=True)
    assert self_test.refuse_wrong_numbers(device) == 0


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function_refuses_the_device(name, monkeypatch):
    device = start_device("cpu", "float64", threads=1, like_gpu=True)
    monkeypatch.setattr(elementary, name, WRONG[name])
    with pytest.raises(DeviceError, match=r"SC711: .* use --device cpu") as refusal:
        self_test.refuse_wrong_numbers(device)
    assert refusal.value.exit_code == Exit.DEVICE


def test_a_device_that_knows_no_nan_is_refused(monkeypatch):
    device = start_device("cpu", "float64", threads=1, like_gpu=True)
    monkeypatch.setattr(self_test, "UNDEFINED", (1.0, np.inf, 1.0))
    with pytest.raises(DeviceError, match=r"SC711: .* undefined"):
        self_test.refuse_wrong_numbers(device)


def test_a_device_that_cannot_compile_is_refused(monkeypatch):
    def fails(*arguments):
        raise RuntimeError("the operand must <= 32bits")

    device = start_device("cpu", "float64", threads=1, like_gpu=True)
    monkeypatch.setattr(self_test, "_evaluate", fails)
    with pytest.raises(DeviceError, match=r"SC712: .*float64: the operand must <= 32bits; use --device cpu") as refusal:
        self_test.refuse_wrong_numbers(device)
    assert refusal.value.exit_code == Exit.DEVICE


def test_a_device_that_changes_bits_is_refused(monkeypatch):
    """As one does that takes what is denormal for zero."""
    device = start_device("cpu", "float32", threads=1, like_gpu=True)
    monkeypatch.setattr(self_test, "_keep", lambda bits, real, whole, memory, out: out.fill(0))
    with pytest.raises(DeviceError, match=r"SC711: .* bits of real ones"):
        self_test.refuse_wrong_numbers(device)


@pytest.mark.gpu
@pytest.mark.parametrize("gpu", GPUS)
def test_a_gpu_is_tested_when_it_starts(gpu, monkeypatch):
    started(gpu, "float32")
    monkeypatch.setattr(elementary, "sincos", WRONG["sincos"])
    start_device("cpu", "float64")  # where a GPU goes on it is not tested once more
    with pytest.raises(DeviceError, match=f"SC711: device `{gpu}`"):
        start_device(gpu, "float32")


@pytest.mark.gpu
def test_spirv_folds_magic_numbers(monkeypatch):
    """Why `rounded` calls a function there."""
    started("vulkan", "float32")
    monkeypatch.setattr(elementary, "rounded", by_a_magic_number)
    with pytest.raises(DeviceError, match="SC711"):
        start_device("vulkan", "float32")


@pytest.fixture
def bounded():
    """A device like a GPU, with a driver that bounds loops."""
    device = start_device("cpu", "float64", threads=1, like_gpu=True)
    return SimpleNamespace(device=runtime.replace(device, most_turns=65535), unbounded=device)


def test_counting_turns_changes_no_byte(pendulum, bounded):
    assert_agree(columns_of(solver_of(pendulum, bounded.device)), columns_of(solver_of(pendulum, bounded.unbounded)), 0.0)


def test_a_stage_that_is_too_long_is_refused(pendulum, bounded, monkeypatch):
    def cut(solver, n_frames, steps):
        raise loop_bounds.LoopsCutError

    monkeypatch.setattr(Stepper, "call_once", cut)
    with pytest.raises(DeviceError, match=r"SC713: one stage .* use --device cpu"):
        solver_of(pendulum, bounded.device).initial()


def test_loops_that_end_are_counted(pendulum, bounded, monkeypatch):
    solver = solver_of(pendulum, bounded.device)
    solver.initial()
    monkeypatch.setattr("simcli.solvers.run.solver.TURNS", 1)  # of the kernel: what a loop does that is left early
    with pytest.raises(DeviceError, match="SC713"):
        solver.advance(1)


def test_what_makes_no_parts_is_refused(pendulum, bounded):
    from simcli.kernels.algorithms import Algorithms

    with pytest.raises(DeviceError, match=r"SC713: .* use --device cpu"):
        Algorithms(pendulum, bounded.device)


BALLS = """
simcli: 1
world: {shapes: {ground: {type: plane}}}
defaults: {body: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, shapes: {s: {type: sphere, radius: 0.5}}}}
bodies: {a: {pose: {xyz: [0, 0, 0.501]}}, b: {pose: {xyz: [0.1, 0, 1.503]}}}
contact: {}
solver: {type: SOLVER, dt: 1 ms, precision: float64}
run: {duration: 0.02}
output: {every: 1e-2}
"""
LOOP = (Path(__file__).parents[1] / "scenes/fourbar_mbse.yaml").read_text().split("expect:")[0].replace("n: 5", "n: 0.02")
PENDULUM = DOUBLE_PENDULUM.replace("PRECISION", "float64").replace("0.1}\noutput", "0.02}\noutput")
SCENES = {
    **{name: PENDULUM.replace("generalized", name) for name in SOLVERS},
    "a loop": LOOP,  # by rk4
    "measures": PENDULUM + "measure: {end: {final: body.lower.position}, most: {max: joint.elbow.qd}}\n",
}
CONTACTS = {name: BALLS.replace("SOLVER", name) for name in SOLVERS}
CHEAP = ("natural",)  # a case of the default run: the software driver compiles for some seconds


def run(text, device, folder):
    """All columns of a run of a scene."""
    path = folder / "scene.yaml"
    path.write_text(text)
    solver = solver_of_of_solvers(prepare(Request(path)), device)
    return columns_of(solver) | dict(zip(("values", "times"), solver.measured(), strict=True))


def cases(scenes, cheap=()):
    """Names of scenes; those that are not cheap are slow."""
    return [name if name in cheap else pytest.param(name, marks=pytest.mark.slow) for name in scenes]


@pytest.mark.gpu
@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", cases(SCENES))  # test_gpu_devices.py tells of the generalized solver
def test_steps_are_those_of_the_cpu(gpu, name, tmp_path):
    found = run(SCENES[name], started(gpu, "float64"), tmp_path)
    wanted = run(SCENES[name], live_device(), tmp_path)
    assert np.abs(wanted["frames/body_qd"][-1]).max() > 0.1
    assert_agree(found, wanted, AGREEMENT["float64"])


@pytest.mark.gpu
@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", cases(CONTACTS))
def test_contacts_are_those_of_the_cpu(gpu, name, tmp_path):
    found = run(CONTACTS[name], started(gpu, "float64"), tmp_path)
    wanted = run(CONTACTS[name], live_device(), tmp_path)
    assert wanted["diag/contacts"].max() > 0
    assert_agree(found, wanted, AGREEMENT["float64"])


@pytest.mark.parametrize("name", cases(SCENES | {f"{name} with contacts": text for name, text in CONTACTS.items()}, CHEAP))
def test_kernels_of_one_stage_make_the_bytes_of_one_kernel(name, tmp_path, monkeypatch):
    text = (SCENES | {f"{name} with contacts": text for name, text in CONTACTS.items()})[name]
    device = start_device("cpu", "float64", threads=1, like_gpu=True)
    wanted = run(text, device, tmp_path)
    monkeypatch.setattr(runtime, "BY_SPIRV", ("cpu",))
    taken = []
    real = kernels_by_stage.take_program
    monkeypatch.setattr(kernels_by_stage, "take_program", lambda solver: (taken.append(solver), real(solver)))
    found = run(text, device, tmp_path)
    assert len(taken) == 3
    assert {key: value.tobytes() for key, value in found.items()} == {key: value.tobytes() for key, value in wanted.items()}


SINGLE = 4  # bytes of float32


@pytest.fixture(params=["like_gpu", *(pytest.param(gpu, marks=pytest.mark.gpu) for gpu in GPUS)])
def device(request):
    if request.param == "like_gpu":
        return start_device("cpu", "float64", threads=1, like_gpu=True)
    return started(request.param, "float64")


test_notes_keep_numbers_and_vectors = test_kernels_vectors.test_notes_keep_numbers_and_vectors
test_packs_are_found_by_item_and_by_number = test_kernels_vectors.test_packs_are_found_by_item_and_by_number
test_memory_is_of_zeros = test_kernels_shared.test_memory_is_of_zeros_and_keeps_what_is_written


def test_tables_follow_the_host(device):
    """Those of a change of phase, and single numbers; no other number changes."""
    arenas = [Arena(device, 2) for _ in range(2)]
    tables = [(arena.ints([3 * k, 2**24 + 1, -1]), arena.shared([0.5 * k, 1.5])) for k, arena in enumerate(arenas, 1)]
    arena, (whole, real) = arenas[0], tables[0]
    found = arena.array(5)
    arena.build()

    read = reader(arena, whole, real, found)
    for other, wanted in ((arena, (3, 2**24 + 1, -1, 0.5, 1.5)), (arenas[1], (6, 2**24 + 1, -1, 1.0, 1.5))):
        if other is not arena:
            other.array(5)
            arena.refill(other)
        arena.launch(read)
        np.testing.assert_array_equal(found.read()[..., 0], [wanted, wanted])
    real.set(1, -7.0)
    arena.launch(read)
    np.testing.assert_array_equal(found.read()[..., 0], 2 * [(6, 2**24 + 1, -1, 1.0, -7.0)])
    arena.destroy()


def reader(arena, whole, real, found):
    """A kernel that writes tables into a slot."""

    @ti.kernel
    def read():
        for w in range(arena.n_blocks):
            arena.enter(w)
            for k in range(3):
                found.store(w, k, arena.zero() + whole.at(k))
            for k in range(2):
                found.store(w, 3 + k, arena.zero() + real.load(w, k))

    return read


@pytest.mark.parametrize(("arch", "name"), [("cpu", "MOST_NUMBERS"), ("vulkan", "_MOST_BYTES")])
def test_memory_that_a_gpu_does_not_reach_is_refused(arch, name, monkeypatch):
    device = replace(start_device("cpu", "float32", threads=1, like_gpu=True), arch=arch)
    arena = Arena(device, 1)
    arena.array(3)
    arena.build()  # within bounds
    n = arena.storage.given.shape[0]
    bound = n if name == "MOST_NUMBERS" else n * SINGLE
    monkeypatch.setattr(storage, name, bound)
    storage.DeviceStorage(device, 1, n - 1, (1, 1, 1))
    with pytest.raises(DeviceError, match=r"SC714: .* are more than kernels reach: simulate smaller worlds"):
        storage.DeviceStorage(device, 1, n, (1, 1, 1))
    with pytest.raises(DeviceError, match=rf"SC714: .* reach: {n // 2} of {n} worlds fit.* --world 0-{n // 2 - 1}, .*merge"):
        storage.DeviceStorage(device, 1, 0, (n, 2, 2))
    storage.DeviceStorage(device, 1, 0, (n // 2, 2, 2))


def test_memory_that_a_gpu_does_not_have_is_refused(monkeypatch):
    def fails(*arguments):
        raise RuntimeError("allocate_memory_on_device failed")

    device = start_device("cpu", "float32", threads=1, like_gpu=True)
    monkeypatch.setattr(storage.ti, "ndarray", fails)
    with pytest.raises(DeviceError, match=r"SC714: .* more than the device has given \(allocate.*: simulate smaller worlds"):
        Arena(device, 1).build()


# Velocities, rows, contacts, and whether those have spins; a team looks at thirty rows or contacts at once.
OF_TEAMS = [(6, 0, 1, False), (15, 34, 33, False), (27, 21, 8, True), (60, 5, 12, False)]
PLACES_OF_TEAMS = [41, 3, 63, 0, 17, 30, 8]  # worlds of the first batch that are in another
ROUNDED = 16  # units in the last place, of a solution by either: 2.5 are seen
CONDITIONED = 4  # of them, times the condition of the matrix, from that of numpy: 1.2 are seen


@pytest.mark.gpu
@pytest.mark.full
@pytest.mark.parametrize("size", OF_TEAMS, ids=str)
@pytest.mark.parametrize("precision", AGREEMENT)
@pytest.mark.parametrize("gpu", GPUS)
def test_a_team_of_threads_finds_what_one_thread_finds(gpu, precision, size):
    """The condensed matrix, its factors and solutions; a second time, and elsewhere in a smaller batch, the same bytes."""
    device = started(gpu, precision)
    eps = np.finfo(device.dtype).eps
    worlds = [teams.drawn(seed, *size, device.dtype) for seed in range(64)]
    bench = teams.TeamBench(device, *size, len(worlds))
    found, by_thread = bench.solve(worlds, "team"), bench.solve(worlds, "thread")
    for name, wanted in by_thread.items():
        assert np.isfinite(wanted).all(), name
        assert np.abs(found[name] - wanted).max() <= ROUNDED * eps * np.abs(wanted).max(), name
    np.testing.assert_array_equal(found["counted"], by_thread["counted"])
    for step in teams.STEPS:
        for x, world in zip(found[step], worlds, strict=True):
            A, force = world[step].matrix.astype(float), world[step].force
            wanted = np.linalg.solve(A, force)
            assert np.abs(x - wanted).max() <= CONDITIONED * eps * np.linalg.cond(A) * np.abs(wanted).max()
    assert teams_bytes(bench.solve(worlds, "team")) == teams_bytes(found)
    for places in (PLACES_OF_TEAMS, PLACES_OF_TEAMS[:1]):
        fewer = teams.TeamBench(device, *size, len(places)).solve([worlds[k] for k in places], "team")
        assert teams_bytes(fewer) == teams_bytes({name: values[places] for name, values in found.items()})


def teams_bytes(found):
    return {name: np.ascontiguousarray(values).tobytes() for name, values in found.items()}
