"""A kernel serves all sizes, numbers of worlds, step sizes and values: nothing is compiled for another one of these.

Every lane of a pack, every slot and every batch size give the same bytes; what fails in one state stays in it.

Cores that a process may use: those of the machine, less what a scheduler keeps from it.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.device import live_device
from support.forests import choose_worlds, plant, vary_all
from support.forward_dynamics import forward_dynamics
from support.gpu import started
from support.random_models import TREE_TYPES, random_mechanism
from support.trials import draw_inputs

from simcli import pipeline
from simcli.engines import cores
from simcli.errors import DeviceError
from simcli.kernels.algorithms import CPU_SLOTS, Algorithms
from simcli.kernels.device import runtime
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.notes import Notes
from simcli.kernels.device.runtime import CACHE_LINE, CPU_LANES, start_device
from simcli.kernels.language import ti
from simcli.kernels.language.backend import kernels_noted
from simcli.kernels.language.values import Sym3, Vec3
from simcli.model.assemble import assemble
from simcli.model.tables.model import JointKind
from simcli.solvers import SOLVERS

SCENE = """
simcli: 1
solver: {{type: {solver}, dt: {dt} ms}}
world: {{gravity: [0, 0, -{g}]}}
defaults:
  joint: {{type: revolute, axis: [0, 1, 0]}}
  body: {{inertia: {{diag: [0.1, 0.1, 0.1]}}, com: [0, 0, -0.5], points: {{p: [0, 0, -1]}}}}
bodies: {{{bodies}}}
joints: {{{joints}}}
forces: {{{springs}}}
run: {{duration: {duration}}}
batch: {{worlds: {worlds}}}
output: {{every: 0.01}}
"""
BALLS = """
simcli: 1
solver: {{type: {solver}, dt: 1 ms}}
contact: {{}}
defaults:
  body: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}, shapes: {{s: {{type: sphere, radius: 0.5}}}}}}
world: {{shapes: {{ground: {{type: plane}}}}}}
bodies: {{{bodies}}}
run: {{duration: 0.01}}
"""
FIRST = {"dt": 1, "g": 9.81, "mass": 1.0, "duration": 0.02, "worlds": 8, "n": 2, "n_springs": 1}
OTHERS = {"worlds": 100, "dt": 0.5, "g": 1.62, "mass": 2.5, "duration": 0.05, "n": 5, "n_springs": 2}
FIRST_CLASS = 64  # worlds whose kernels are the same where each stage is one


def chain(solver: str, n: int, n_springs: int, mass: float, **numbers) -> str:
    """Hinges one below the other, with springs between the world and the first bodies."""
    bodies = (f"b{k}: {{mass: {mass}}}" for k in range(n))
    joints = (
        f"j{k}: {{parent: {f'b{k - 1}' if k else 'world'}, child: b{k}, "
        f"parent_frame: {{xyz: [0, 0, {-1 if k else 0}]}}, q: 0.3}}"
        for k in range(n)
    )
    springs = (
        f"s{k}: {{type: spring, a: {{world: [1, 0, 0]}}, b: b{k}/p, stiffness: 5, rest_length: 1}}" for k in range(n_springs)
    )
    parts = {"bodies": bodies, "joints": joints, "springs": springs}
    return SCENE.format(solver=solver, **numbers, **{name: ", ".join(part) for name, part in parts.items()})


ON_GPU = [
    pytest.param("generalized", "like_gpu", marks=pytest.mark.slow),
    pytest.param("generalized", "vulkan", marks=pytest.mark.gpu),
]


@pytest.mark.parametrize(
    ("solver", "device"),
    [*(pytest.param(one, "cpu", marks=[pytest.mark.slow] * (one != "generalized")) for one in SOLVERS), *ON_GPU],
)
def test_another_scene_of_a_kind_needs_no_other_kernel(solver, device, tmp_path, monkeypatch):
    scenes, fixed = {"first": {}, **{name: {name: value} for name, value in OTHERS.items()}}, {}
    if device == "vulkan":
        started(device, "float64")
        fixed = {"n_springs": 0}  # springs take the software driver longer, and it starts anew for each scene
        scenes = {name: scenes[name] for name in ("first", "worlds", "n")} | {"worlds": {"worlds": FIRST_CLASS}}
    for name, changes in scenes.items():
        (tmp_path / f"{name}.yaml").write_text(chain(solver, **FIRST | changes | fixed))
    first, *others = kernels_of([tmp_path / f"{name}.yaml" for name in scenes], device, monkeypatch)
    assert first
    assert [kernels - first for kernels in others] == [set()] * (len(scenes) - 1), list(scenes)


@pytest.mark.parametrize(
    ("solver", "device"),
    [
        ("generalized", "cpu"),
        ON_GPU[0],
        *(pytest.param(one, "cpu", marks=pytest.mark.slow) for one in SOLVERS if one != "generalized"),
    ],
)
def test_another_number_of_shapes_needs_no_other_kernel(solver, device, tmp_path, monkeypatch):
    compare_balls((2, 3), solver, device, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["rk4", "implicit"])
def test_another_number_of_shapes_beside_smooth_steps_needs_no_other_kernel(integrator, tmp_path, monkeypatch):
    compare_balls((2, 3), f"generalized, integrator: {integrator}", "cpu", tmp_path, monkeypatch)


ROLLING = "materials: {default: {rolling_friction: 1 mm}}\n"
HINGES = "joints: {a: {type: revolute, parent: b0, child: b1}, b: {type: revolute, parent: b1, child: b2}}\n"


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", ROLLING, HINGES], ids=["bare", "rolling", "hinges"])
@pytest.mark.parametrize("solver", ["generalized", "maximal"])
def test_another_number_of_shapes_of_a_large_world_needs_no_other_kernel(solver, more, tmp_path, monkeypatch):
    if more == HINGES and solver == "generalized":
        pytest.skip("trees are no bodies that stand alone")
    compare_balls((70, 80), solver, "cpu", tmp_path, monkeypatch, more)


def compare_balls(counts, solver, device, folder, monkeypatch, more=""):
    """Fail unless scenes of two numbers of balls take the same kernels."""
    for n in counts:
        bodies = ", ".join(f"b{k}: {{pose: {{xyz: [{3 * k}, 0, 1]}}}}" for k in range(n))
        (folder / f"{n}.yaml").write_text(BALLS.format(solver=solver, bodies=bodies) + more)
    first, second = kernels_of([folder / f"{n}.yaml" for n in counts], device, monkeypatch)
    assert first
    assert second <= first


LOOP = """
simcli: 1
solver: {type: generalized, dt: 1 ms, integrator: semi_implicit}
bodies: {m: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}}
joints: {pin: {type: revolute, parent: world, child: m, q: 0.2, drive: {mode: effort, target: $u}}}
signals: {LAWS}
run: {duration: 0.01}
"""
LAWS = (
    "u: {expression: '-{joint.pin.q}'}",
    "u: {expression: 'exp(-t)*sin(3*{joint.pin.qd})**2 - {body.m.orientation.3}', limits: [-1, 1]}",
    "u: {pid: {input: '{joint.pin.q}', kp: 3, ki: 2, limits: [-1, 2]}, rate: 250 Hz, delay: 8 ms}",
    "u: {filter: {input: $v, time_constant: 0.1}}, v: {expression: '{signal.w} + 2'}, "
    "w: {pid: {input: '{joint.pin.q}', kp: 1}}",
)


def test_another_law_of_feedback_needs_no_other_kernel(tmp_path, monkeypatch):
    for k, laws in enumerate(LAWS):
        (tmp_path / f"{k}.yaml").write_text(LOOP.replace("LAWS", laws))
    first, *others = kernels_of([tmp_path / f"{k}.yaml" for k in range(len(LAWS))], "cpu", monkeypatch)
    assert first
    assert [kernels - first for kernels in others] == [set()] * len(others)


def kernels_of(scenes: list[Path], device: str, monkeypatch) -> list[set[str]]:
    """Keys of all kernels that each scene takes, wherever they come from: equal kernels have equal keys."""
    if device == "like_gpu":
        monkeypatch.setattr(runtime, "start_device", partial(runtime.start_device, like_gpu=True))
        device = "cpu"
    found = []
    for scene in scenes:
        with kernels_noted() as taken:
            pipeline.execute(pipeline.prepare(pipeline.Request(scene, scene.with_suffix(".h5"), (), device, 1)))
        found.append({kernel.key for kernel in taken})
    return found


@pytest.mark.parametrize("n_worlds", [1, 5])
def test_memory_is_of_zeros_and_keeps_what_is_written(device, n_worlds):
    """Slots of all widths, of which none overlaps another; a copy of everything, put back, is the same."""
    arena = Arena(device.for_worlds(n_worlds), n_worlds)
    slots = [arena.array(n, kind) for n, kind in ((3, None), (2, Vec3), (1, Sym3), (5, None), (4, Vec3))]
    arena.build()
    values = [np.random.default_rng(k).normal(size=slot.read().shape) for k, slot in enumerate(slots)]
    assert not arena.read().any()
    for slot, value in zip(slots, values, strict=True):
        slot.write(value)
    kept = arena.read()
    for slot, value in zip(slots, values, strict=True):
        assert (slot.read() == value).all()
        slot.write(np.zeros_like(value))
    arena.write(kept)
    for slot, value in zip(slots, values, strict=True):
        assert (slot.read() == value).all()
    arena.destroy()


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("n_worlds", [2, 40])  # scalars, packs
def test_blocks_share_no_line_of_the_cache(device, precision, n_worlds):
    """A line that two threads write goes from one core to the other each time: chains of two did 0.9 of their work so."""
    arena = Arena(replace(device, precision=precision, lanes=CPU_LANES[precision]).for_worlds(n_worlds), n_worlds)
    arena.array(3), arena.array(4, Vec3), arena.ints([1, 2, 3])
    kept, whole, wide = Notes(arena), Notes(arena, ti.i32), Notes(arena, width=3)
    kept.reserve(5), whole.reserve(3), wide.reserve(7)
    arena.build()
    starts = [arena.storage.packs.ctypes.data, *(each.memory.ctypes.data for each in (kept, whole, wide))]
    apart = [arena.storage.packs.strides[0], *(each.memory.strides[0] for each in (kept, whole, wide))]
    assert arena.n_blocks > 1
    assert not any(number % CACHE_LINE for number in (*starts, *apart))
    assert [each.memory.shape[1:] for each in (kept, whole, wide)] == [(5, 1), (3, 1), (7, 3)]
    arena.destroy()


def test_memory_that_kernels_do_not_reach_is_refused(device, monkeypatch):
    monkeypatch.setattr("simcli.kernels.device.storage.MASK", 1)
    arena = Arena(device, 1)
    arena.array(3)
    with pytest.raises(DeviceError, match=r"SC714: .* are more than kernels reach: simulate smaller worlds"):
        arena.build()


N_WORLDS = 64
BATCHES = (1, 2, 3, 4, 5, 7, N_WORLDS, 300)  # parts of a pack, whole packs, packs and a rest
WORLDS = (1, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4)), 7)  # each compiles its own kernels
NAMES = ("poses", "twists", "efforts", "accelerations")
BAD = {"nan": np.nan, "inf": np.inf, "huge": 1e300}
TYPES = ("revolute", "screw", "ball", "free", "planar")


def compute(algorithms, given, states):
    """FK, RNEA and ABA of the chosen states, as bytes can be compared: (states, ...) arrays by name."""
    q, qd, qdd, tau, force = (getattr(given, name)[states] for name in ("q", "qd", "qdd", "tau", "force"))
    poses, twists = algorithms.forward_kinematics(q, qd)
    efforts = algorithms.inverse_dynamics(q, qd, qdd, force)
    accelerations = forward_dynamics(algorithms, q, qd, tau, force)
    return SimpleNamespace(**dict(zip(NAMES, map(np.array, (poses, twists, efforts, accelerations)), strict=True)))


def assert_same_bytes(one, other, rows=slice(None), other_rows=slice(None)):
    for name in NAMES:
        assert getattr(one, name)[rows].tobytes() == getattr(other, name)[other_rows].tobytes(), name


@pytest.fixture(scope="module")
def worlds():
    """A mechanism of 64 worlds that differ in every number, its inputs, and results of all of them, in two orders."""
    rng = np.random.default_rng(5)
    parts = [random_mechanism(rng, n, TYPES, floating, True, N_WORLDS) for n, floating in ((5, False), (3, True))]
    mechanism = vary_all(rng, plant(parts, N_WORLDS))
    model = assemble(mechanism)
    given = draw_inputs(rng, model, N_WORLDS)
    algorithms = Algorithms(model, live_device(), N_WORLDS)
    everyone = compute(algorithms, given, np.arange(N_WORLDS))
    order = np.random.default_rng(6).permutation(N_WORLDS)
    assert algorithms.reload(assemble(choose_worlds(mechanism, order)))
    shuffled = compute(algorithms, given, order)
    algorithms.destroy()
    return SimpleNamespace(mechanism=mechanism, given=given, all=everyone, order=order, shuffled=shuffled)


@pytest.mark.parametrize("n", WORLDS)
def test_batches_of_worlds_give_the_same_bytes(worlds, n, device):
    """n worlds from the middle of the 64, so that each stands in another slot than before."""
    chosen = np.arange(n) + 17
    algorithms = Algorithms(assemble(choose_worlds(worlds.mechanism, chosen)), device, n)
    assert_same_bytes(compute(algorithms, worlds.given, chosen), worlds.all, other_rows=chosen)
    algorithms.destroy()


def test_worlds_in_any_order_give_the_same_bytes(worlds):
    assert_same_bytes(worlds.shuffled, worlds.all, other_rows=worlds.order)


@pytest.fixture(scope="module")
def crowd():
    """Tables of one world, more states than there are blocks of scratch, and results of each batch of them."""
    rng = np.random.default_rng(7)
    n_states = live_device().lanes * (2 * CPU_SLOTS) + 3
    # The first link is free: kernels that read what an earlier state left would read it there.
    parts = [random_mechanism(rng, n, TREE_TYPES, floating, True, n_states) for n, floating in ((5, True), (3, False))]
    model = assemble(plant(parts, n_states))
    given = draw_inputs(rng, model, n_states)
    algorithms = Algorithms(model, live_device(), n_states)
    everyone = compute(algorithms, given, np.arange(n_states))
    batches = {n: compute(algorithms, given, np.arange(n) + 100) for n in BATCHES}
    order = rng.permutation(n_states)
    shuffled = compute(algorithms, given, order)
    spoilt = {name: spoil(algorithms, model, given, value) for name, value in BAD.items()}
    after = compute(algorithms, given, np.arange(n_states))
    algorithms.destroy()
    return SimpleNamespace(
        n=n_states, all=everyone, batches=batches, order=order, shuffled=shuffled, spoilt=spoilt, after=after
    )


def spoil(algorithms, model, given, value):
    """Results where one state per lane is bad, each in another block, long before the last block is served.

    Returns:
        Indices of the bad states, and the results.
    """
    lanes = algorithms.device.lanes
    bad = np.array([lanes * k + k for k in range(lanes)])
    q, qd = np.array(given.q), np.array(given.qd)
    assert model.joints.kind[0] == JointKind.FREE
    q[bad, :3] = qd[bad, :6] = value
    spoilt = SimpleNamespace(**{**vars(given), "q": q, "qd": qd})
    return bad, compute(algorithms, spoilt, np.arange(len(q)))


@pytest.mark.parametrize("n", BATCHES)
def test_batches_of_states_give_the_same_bytes(crowd, n):
    assert_same_bytes(crowd.batches[n], crowd.all, other_rows=np.arange(n) + 100)


def test_states_in_any_order_give_the_same_bytes(crowd):
    assert_same_bytes(crowd.shuffled, crowd.all, other_rows=crowd.order)


@pytest.mark.parametrize("value", BAD)
def test_a_bad_state_stays_in_its_lane(crowd, value):
    bad, results = crowd.spoilt[value]
    good = np.setdiff1d(np.arange(crowd.n), bad)
    assert_same_bytes(results, crowd.all, good, good)


@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.parametrize("name", NAMES)
def test_a_bad_state_shows(crowd, value, name):
    bad, results = crowd.spoilt[value]
    found = getattr(results, name)[bad].reshape(len(bad), -1)
    assert not np.isfinite(found).all(axis=1).any()


def test_bad_states_leave_nothing_behind(crowd):
    assert_same_bytes(crowd.after, crowd.all)


@pytest.mark.parametrize(("said", "found"), [("1", 1), ("100000", None), ("many", None), ("", None)])
def test_a_job_has_the_cores_that_its_scheduler_gives_it(monkeypatch, said, found):
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    all_ = cores()
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", said)
    assert cores() == (found or all_) >= 1


def test_a_run_has_a_thread_on_each_of_them(monkeypatch):
    """All cores of a node were taken where a job had some of them."""
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    assert start_device("cpu").threads == 1
