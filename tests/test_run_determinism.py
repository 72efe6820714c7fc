"""The same bytes for any number of threads, size of batch, slot in it, and state of the kernel cache.

The ledger of random chains balances in every solver: initial + put in - dissipated = kinetic + potential + elastic.

What it lacks falls with the step as the integrator's order says; where something switches or touches, it falls and is small.

Random numbers of the device against numpy's generator, and normal numbers against their formula.
"""

import json
import os
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.forward import Runner
from support.ledger_scenes import as_taken, smooth_scene, with_contact, with_switches
from support.many import run_many
from support.process import BUSY_SHARE, cpu_by_thread, start
from support.runs import MIXED, SWING, committed, differing, digest, worlds_of
from support.solver_modes import MODES
from support.tiers import in_turns

from simcli.kernels.device.arena import Arena
from simcli.kernels.language import elementary
from simcli.kernels.language.kernel_cache import VARIABLE

slow = pytest.mark.slow
# Scalars, packs with a rest, packs without, hundreds of packs; each compiles its own kernel.
SIZES = (1, 2, 7, 64, 1000)
FEW, WHOLE = SIZES[:-1], SIZES[-1]
DRAWS = (
    "joints.rail.q=uniform(-0.2, 0.2)",
    "bodies.arm.mass=normal(1.2, 0.1)",
    "joints.wrist.damping=log_uniform(0.001, 0.1)",
    "params.k=uniform(20, 60)",
    "world.gravity[2]=uniform(-12, -8)",
)
VARIED = [word for draw in DRAWS for word in ("--vary", draw)]
REPLAYED = (0, 5, 63, 999)  # first, odd slot, last of a pack, last of all
SLOW_SIZES, SLOW_WORLDS = (1, 2, 64), (0, 63)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "mixed.yaml"
    path.write_text(MIXED)
    return path


def run_all(commands, folder, **changes):
    """Run commands, all of which must succeed; give what each committed, by its output's name."""
    words = [["run", *command, "-q"] for command in commands]
    for (code, talk), command in zip(run_many(words, folder, **changes), words, strict=True):
        assert code == 0, (command, talk)
    names = [Path(command[command.index("-o") + 1]).name for command in words]
    return {name: committed(folder / name) for name in names}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The environment of a cache of kernels that is empty at first.

    In the cache that all tests share, another process may hold the lock just then, and a kernel is compiled again.
    """
    folder = tmp_path_factory.mktemp("kernels")
    return {VARIABLE: str(folder / "cache"), "XDG_CACHE_HOME": str(folder / "home")}


@pytest.fixture(scope="module")
def rows_of(scene, kernels, tmp_path_factory):
    """Rows, and the digest, of a batch with some words, run where it is first asked for."""
    folder = tmp_path_factory.mktemp("batches")

    @cache
    def run(n_worlds, threads, more):
        name = "-".join(map(str, (n_worlds, threads, *more))) + ".h5"
        command = [scene, "-o", name, "--worlds", n_worlds, "--threads", threads, *VARIED, *more]
        return run_all([command], folder, **kernels)[name], digest(folder / name)

    return lambda n_worlds, *more, threads=2: run(n_worlds, threads, more)


def slowly(values, which):
    """Parameters, some of them slow."""
    return [pytest.param(value, marks=slow) if value in which else value for value in values]


@pytest.mark.slow
def test_all_worlds_of_a_batch_differ_and_move(rows_of):
    whole = worlds_of(rows_of(WHOLE)[0], slice(None))
    assert {"frames/joint_q", "frames/joint_wrench", "energy/drift", "diag/status"} <= whole.keys()
    for name in ("frames/joint_q", "frames/joint_qdd", "frames/body_qd", "energy/total"):
        first, last = whole[name][0], whole[name][-1]
        assert len({row.tobytes() for row in last}) == WHOLE, name
        assert (first != last).any(axis=tuple(range(1, first.ndim))).all(), name


@pytest.mark.parametrize("size", slowly(FEW, SLOW_SIZES))
def test_a_world_has_the_same_bytes_in_a_batch_of_any_size(rows_of, size):
    (part, part_digest), (whole, whole_digest) = rows_of(size), rows_of(WHOLE)
    assert not differing(worlds_of(part, slice(None)), worlds_of(whole, slice(size)))
    assert part["frames/time"].tobytes() == whole["frames/time"].tobytes()
    assert part_digest != whole_digest


@pytest.mark.parametrize("world", slowly(REPLAYED, SLOW_WORLDS))
def test_a_world_replayed_alone_has_the_same_bytes(rows_of, world):
    alone, whole = rows_of(WHOLE, "--world", world)[0], rows_of(WHOLE)[0]
    assert not differing(worlds_of(alone, slice(None)), worlds_of(whole, slice(world, world + 1)))


def test_one_and_two_threads_give_the_same_bytes(rows_of):
    (one, one_digest), (two, two_digest) = (rows_of(WHOLE, threads=threads) for threads in (1, 2))
    assert not differing(one, two)
    assert one_digest == two_digest


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_as_many_threads_step_as_were_asked_for(scene, tmp_path, kernels, rows_of):
    """A long run with few frames, whose kernel a short run has left in the cache: nearly all of it is stepping, and next to
    nothing the thread that writes."""
    digests = []
    for threads in (1, 2):
        rows_of(WHOLE, threads=threads)
        words = ["run", scene, "--worlds", WHOLE, "--threads", threads, *VARIED, "-q", "--json", "-o", f"{threads}.h5"]
        process = start(*words, "--duration", 20, "--set", "output.every=10", cwd=tmp_path, **kernels)
        ticks = cpu_by_thread(process)
        out, err = process.communicate()
        assert process.returncode == 0, err
        at_work = [thread for thread, n in ticks.items() if n > BUSY_SHARE * sum(ticks.values())]
        assert len(at_work) == threads, ticks
        assert json.loads(out)["device"]["threads"] == threads
        digests.append(digest(tmp_path / f"{threads}.h5"))
    assert digests[0] == digests[1]


def test_cold_and_warm_cache_give_the_same_bytes(rows_of, kernels):
    def compiled():
        files = Path(kernels[VARIABLE]).rglob("*")
        return {path.name for path in files if path.suffix in (".tic", ".qdc", ".ll", ".bc", ".so")}

    cold, cold_digest = rows_of(FEW[2])
    before = compiled()
    warm, warm_digest = rows_of(FEW[2], "--force")
    assert before
    assert compiled() == before, "the second run was not warm"
    assert not differing(cold, warm)
    assert cold_digest == warm_digest


@slow
@pytest.mark.parametrize("change", ["solver.precision=float32", "solver.integrator=rk4", "solver.integrator=implicit"])
def test_other_precision_and_integrators_too(tmp_path, change):
    scene = tmp_path / "swing.yaml"
    scene.write_text(SWING)
    vary = ["--vary", "joints.pin.q=uniform(-2, 2)", "--vary", "joints.elbow.damping=uniform(0.01, 0.1)"]
    common = [scene, "--set", change, "--set", "output.channels=[state, energy, reactions]", *vary]
    commands = [[*common, "-o", f"{threads}.h5", "--worlds", 19, "--threads", threads] for threads in (1, 2)]
    commands += [[*common, "-o", "few.h5", "--worlds", 3], [*common, "-o", "alone.h5", "--worlds", 19, "--world", 18]]
    rows = run_all(commands, tmp_path)
    assert rows["1.h5"]["frames/joint_wrench"].any()
    assert not differing(rows["1.h5"], rows["2.h5"])
    assert digest(tmp_path / "1.h5") == digest(tmp_path / "2.h5")
    assert not differing(worlds_of(rows["few.h5"], slice(None)), worlds_of(rows["1.h5"], slice(3)))
    assert not differing(worlds_of(rows["alone.h5"], slice(None)), worlds_of(rows["1.h5"], slice(18, 19)))


STEPS = (4e-3, 2e-3, 1e-3, 5e-4)
DURATION = 0.2  # [s]
ORDERS = {"rk4": 2, "implicit": 2, "zhong06": 2, "moreau": 2, "generalized_alpha": 2, "bdf2": 2}  # at least; 1 of the others
SLACK = 0.4  # of the ratio of the first and the last step, because soft limits and ropes begin and end within a step
LEAST = 1e-8  # [J], rounding and tolerances
SMALL = 2e-2  # of the largest energy, with steps of 0.5 ms and impacts
FALLS = 0.5  # of the largest of the other steps: the number of impacts is one of each step
LAWS = {
    "smooth": smooth_scene,
    "switches": lambda seed: with_switches(smooth_scene(seed), seed),
    "contact": lambda seed: with_contact(smooth_scene(seed), seed),
}
WITHOUT_CONTACT = ("zhong06", "generalized_alpha")
FAST = {("smooth", 1, "rk4"), ("smooth", 4, "zhong06"), ("contact", 2, "rk4")}
TAKEN = {
    "smooth": MODES,
    "switches": [mode for mode in MODES if mode[0] != "affine"],
    "contact": [mode for mode in MODES if mode[0] != "affine" and mode[1] not in WITHOUT_CONTACT],
}
# A scene has kernels of its own, so that modes and seeds take turns: each mode has another seed of each kind.
CASES = [
    pytest.param(kind, seed, *mode, marks=() if (kind, seed, mode[1]) in FAST else pytest.mark.slow)
    for shift, (kind, modes) in enumerate(TAKEN.items())
    for mode in modes
    for seed in range(6)
    if (kind, seed, mode[1]) in FAST or (mode, seed) in in_turns(modes, range(6), shift)
]


def solver_of(solver, integrator, seed) -> dict:
    # Bodies of the default stiffness vibrate faster than these steps follow, which is part of what the ledger lacks.
    more = {
        "affine": {"tolerance": 1e-11, "stiffness": 1e10},
        "maximal": {"joint_direction": ("explicit", "implicit")[seed % 2]},
    }
    return {"type": solver, "dt": 1e-3, "integrator": integrator, **more.get(solver, {})}


@pytest.mark.parametrize("seed", range(6))
def test_what_a_mode_refuses_leaves_a_scene(seed):
    """Of the mode that refuses most, types of joints among them."""
    text, _ = as_taken(smooth_scene(seed), solver_of("natural", "generalized_alpha", seed))
    assert "generalized_alpha" in text


@pytest.mark.parametrize(("kind", "seed", "solver", "integrator"), CASES)
def test_the_ledger_balances(device, kind, seed, solver, integrator):
    text, _ = as_taken(LAWS[kind](seed), solver_of(solver, integrator, seed))
    run = Runner(text, integrator, device)
    ends = [run(h, round(DURATION / h), 1) for h in STEPS]
    assert all(end["diag/status"].max() == 0 for end in ends)
    lacks = np.abs([end["energy/drift"][-1, 0] for end in ends])
    if kind == "smooth":
        order = ORDERS.get(integrator, 1)
        assert lacks[-1] < lacks[0] / (SLACK * (STEPS[0] / STEPS[-1]) ** order) + LEAST
    size = max(abs(ends[-1][f"energy/{name}"][-1, 0]) for name in ("input", "dissipated", "kinetic"))
    assert lacks[-1] < SMALL * size
    assert lacks[-1] < FALLS * lacks[:-1].max() + LEAST


KEYS = [(0, 0), (1, 2**63 + 5), (2**64 - 1, 2**64 - 1), (0x0123456789ABCDEF, 0xFEDCBA9876543210)]
COUNTERS = [(1, 0), (2**40, 2), (2**64 - 1, 5)]
NEAR = 1e-14  # of normal numbers: logarithm, root, sine and a product


def halves(numbers):
    """(n, 2) halves of 32 bits of unsigned integers, lower ones first, as reals."""
    words = np.array(numbers, np.uint64)
    return np.stack([words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)], axis=-1).astype(float)


@pytest.fixture
def drawn(device):
    """Words (n, 2) and normal numbers (n, 2) of blocks (key_0, key_1, counter_0, counter_1)."""
    from simcli.kernels.language import ti

    def run(blocks):
        n = len(blocks)
        arena = Arena(device.for_worlds(1), 1)
        given, found, normal = arena.array(8 * n), arena.array(4 * n), arena.array(2 * n)
        arena.build()

        @ti.func
        def word_at(slot: ti.template(), k: ti.i32):
            low, high = slot.load(0, k), slot.load(0, k + 1)
            return ti.cast(low, ti.u64) + (ti.cast(high, ti.u64) << 32)

        @ti.kernel
        def apply(given: ti.template(), found: ti.template(), normal: ti.template(), n: ti.i32):
            ti.loop_config(block_dim=1)
            for w in range(1):
                arena.enter(w)
                for k in range(n):
                    a, b = elementary.philox(
                        word_at(given, 8 * k),
                        word_at(given, 8 * k + 2),
                        word_at(given, 8 * k + 4),
                        word_at(given, 8 * k + 6),
                    )
                    found.store(w, 4 * k, ti.cast(a & ti.u64(0xFFFFFFFF), ti.f64))
                    found.store(w, 4 * k + 1, ti.cast(a >> 32, ti.f64))
                    found.store(w, 4 * k + 2, ti.cast(b & ti.u64(0xFFFFFFFF), ti.f64))
                    found.store(w, 4 * k + 3, ti.cast(b >> 32, ti.f64))
                    x, y = elementary.normal_pair(a, b, ti.f64)
                    normal.store(w, 2 * k, x)
                    normal.store(w, 2 * k + 1, y)

        given.write(halves(blocks).reshape(1, -1, 1))
        for slot in (found, normal):
            slot.write(np.full((1, slot.n_items, 1), np.nan))
        arena.launch(apply, given, found, normal, n)
        words = found.read().reshape(n, 2, 2).astype(np.uint64)
        numbers = normal.read().reshape(n, 2).copy()
        arena.destroy()
        return words[..., 0] + (words[..., 1] << np.uint64(32)), numbers

    return run


def test_words_are_those_of_numpy_and_normal_numbers_those_of_the_formula(drawn, scalar_code):
    blocks = [(*key, *counter) for key in KEYS for counter in COUNTERS]
    words, numbers = drawn(blocks)
    for (k_0, k_1, c_0, c_1), mine, normal in zip(blocks, words, numbers, strict=True):
        whole = (c_0 + (c_1 << 64) - 1) % 2**256  # numpy counts before it draws
        wanted = np.random.Philox(key=k_0 + (k_1 << 64), counter=whole).random_raw(2)
        np.testing.assert_array_equal(mine, wanted)
        u, v = ((int(wanted[0]) >> 11) + 1) / 2**53, (int(wanted[1]) >> 11) / 2**53
        size = np.sqrt(-2 * np.log(u))
        both = [size * np.cos(2 * np.pi * v), size * np.sin(2 * np.pi * v)]
        np.testing.assert_allclose(normal, both, rtol=NEAR, atol=NEAR)
