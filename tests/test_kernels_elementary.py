"""Elementary functions on packs against extended precision.

Words that vectors of the processor do not know: bit for bit what numpy does, lane by lane.

Rigid-body algorithms in float32, eight lanes, against the same in float64, four lanes.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.device import live_device
from support.forests import single_precision_forest
from support.process import environment
from support.trials import coordinate_errors, run_trial

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.notes import Notes
from simcli.kernels.device.runtime import compile_thoroughly
from simcli.kernels.language import elementary, ti
from simcli.kernels.language.expressions import any_lane, get_lane, is_nan, put_lane, vector
from simcli.kernels.language.internals import TITLE

# The reduced angle carries two roundings, the polynomials one each; at |x| ~ 1e6 the first of these is a whole one.
SINCOS_ULPS = {1.0: 1.6, 10.0: 1.6, 1e3: 1.6, 1e6: 2.5}
ATAN2_ULPS = 4.0  # of the angle: whatever the C library gives, far from single precision; of `arc` too
LOG_ULPS = 3.0
SMALLEST = 1e-290  # smaller numbers may be flushed to zero
N = 40_000


@pytest.fixture
def evaluate(device):
    """Apply a function of packs to arrays: one argument and two results, or two arguments and one."""
    from simcli.kernels.language import ti

    def run(function, *arguments):
        width = len(arguments)
        arena = Arena(device, len(arguments[0]))
        given, results = arena.array(width), arena.array(2)
        arena.build()

        @ti.kernel
        def apply(g: ti.template(), r: ti.template()):
            ti.loop_config(block_dim=1)
            for w in range(arena.n_blocks):
                arena.enter(w)
                store_all(r, w, function(*load_all(g, w)))

        def load_all(slot, w):
            return [slot.load(w, k) for k in range(width)]

        def store_all(slot, w, values):
            for k, value in enumerate(values if isinstance(values, tuple) else (values,)):
                slot.store(w, k, value)

        given.write(np.stack(arguments, axis=1)[..., None])
        results.write(np.full((1, 2, 1), np.nan))
        arena.launch(apply, given, results)
        found = np.array(results.read()[..., 0])
        arena.destroy()
        return found[:, 0], found[:, 1]

    return run


def ulps(found, wanted):
    """Distance in units in the last place of the wanted number (extended precision)."""
    unit = np.spacing(np.maximum(np.abs(wanted).astype(float), SMALLEST))
    return (np.abs(found - wanted) / unit).max()


def angles(rng, reach):
    """Everywhere, next to every quarter turn, and tiny."""
    spread = rng.uniform(-reach, reach, N)
    n = int(reach / (np.pi / 2))
    quarters = rng.integers(-n, n + 1, N) * (np.pi / 2)
    small = np.exp(rng.uniform(np.log(1e-280), 0.0, N)) * rng.choice([-1.0, 1.0], N)
    return np.concatenate((spread, quarters, np.nextafter(quarters, np.inf), small, [0.0, -0.0, reach, -reach]))


@pytest.fixture(params=["of the CPU", "of SPIR-V"])
def spelling(request, monkeypatch):
    """Both ways to round, and to find an angle."""
    monkeypatch.setattr(elementary, "keeps_order", lambda: request.param == "of the CPU")
    if request.param != "of the CPU":  # packs go lane by lane to the C library on the CPU
        monkeypatch.setattr(elementary, "atan2", elementary.arc)


@pytest.mark.usefixtures("spelling")
@pytest.mark.parametrize("reach", SINCOS_ULPS)
def test_sine_and_cosine(evaluate, reach):
    x = angles(np.random.default_rng(1), reach)
    sine, cosine = evaluate(elementary.sincos, x)
    exact = x.astype(np.longdouble)
    assert ulps(sine, np.sin(exact)) <= SINCOS_ULPS[reach]
    assert ulps(cosine, np.cos(exact)) <= SINCOS_ULPS[reach]


def test_sine_is_odd_and_cosine_even_bit_for_bit(evaluate):
    x = np.random.default_rng(2).uniform(0.0, 1e6, N)
    sine, cosine = evaluate(elementary.sincos, x)
    sine_back, cosine_back = evaluate(elementary.sincos, -x)
    assert (sine_back == -sine).all()
    assert (cosine_back == cosine).all()


def test_what_is_not_a_number_has_no_sine(evaluate):
    """The lanes beside it do."""
    x = np.array([np.nan, 1.0, np.inf, -np.inf, 2.0, np.nan])
    for values, reference in zip(evaluate(elementary.sincos, x), (np.sin, np.cos), strict=True):
        assert np.isnan(values[[0, 2, 3, 5]]).all()
        assert np.allclose(values[[1, 4]], reference(x[[1, 4]]), rtol=1e-15, atol=0.0)


def test_no_finite_angle_leaves_the_unit_circle(evaluate):
    """Beyond the promised range the angle is lost, but a coordinate that runs away must not blow the rotation up."""
    x = np.exp(np.random.default_rng(3).uniform(np.log(1e6), np.log(1e15), N))
    sine, cosine = evaluate(elementary.sincos, x)
    worst = np.abs(sine**2 + cosine**2 - 1.0)
    assert worst.max() < 1e-12


@pytest.mark.usefixtures("spelling")
def test_atan2(evaluate):
    rng = np.random.default_rng(4)
    y, x = rng.normal(size=(2, N)) * np.exp(rng.uniform(-20.0, 20.0, (2, N)))
    angle, _ = evaluate(elementary.atan2, y, x)
    assert ulps(angle, np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))) <= ATAN2_ULPS


@pytest.mark.usefixtures("spelling")
def test_atan2_on_the_axes(evaluate):
    y, x = np.array([0.0, 1.0, 0.0, -1.0, 0.0, np.nan]), np.array([1.0, 0.0, -1.0, 0.0, 0.0, 1.0])
    angle, _ = evaluate(elementary.atan2, y, x)
    assert (angle[:5] == np.array([0.0, np.pi / 2, np.pi, -np.pi / 2, 0.0])).all()
    assert np.isnan(angle[5])


def logarithms(pack):
    """Of all lanes, one after another: the function is of scalars."""
    found = elementary.local(pack)
    for lane in range(found.get_shape()[0]):
        put_lane(found, lane, elementary.logarithm_of_parts(get_lane(pack, lane)))
    return found


def test_the_logarithm_of_parts(evaluate):
    rng = np.random.default_rng(5)
    beside = 1.0 + rng.uniform(-0.5, 0.5, N), 1.0 + rng.normal(size=N) * 1e-8
    x = np.concatenate((np.exp(rng.uniform(-600.0, 600.0, N)), *beside))
    found, _ = evaluate(logarithms, x)
    assert ulps(found, np.log(x.astype(np.longdouble))) <= LOG_ULPS


def by_lane(function):
    """A function of scalars, of all lanes one after another."""

    def of_pack(pack):
        found = elementary.local(pack)
        for lane in range(found.get_shape()[0]):
            put_lane(found, lane, function(get_lane(pack, lane)))
        return found

    return of_pack


def test_exponentials(evaluate):
    """Of packs, by the library, and of parts; beyond the largest number, and below the least normal one."""
    x = np.concatenate((np.random.default_rng(6).uniform(-700.0, 700.0, N), [0.0, 1.0, -1e-9]))
    for function in (elementary.exponential, by_lane(elementary.exponential_of_parts)):
        found, _ = evaluate(function, x)
        assert ulps(found, np.exp(x.astype(np.longdouble))) <= LOG_ULPS
        found, _ = evaluate(function, np.array([710.0, -800.0, np.nan, np.inf]))
        assert found[0] == found[3] == np.inf
        assert found[1] == 0.0
        assert np.isnan(found[2])


def test_powers(evaluate):
    x = np.array([2.0, -2.0, -3.0, 0.0, 0.5, -8.0])
    found, _ = evaluate(lambda pack: elementary.raised(pack, 3.0), x)
    assert ulps(found, x**3) <= 1.0
    found, _ = evaluate(lambda pack: elementary.raised(pack, 0.5), np.array([2.0, -2.0, 0.0, 9.0]))
    assert np.isnan(found[1])
    assert (found[[0, 2, 3]] == np.sqrt([2.0, 0.0, 9.0])).all()


def test_the_logarithm_of_parts_beyond_its_range(evaluate):
    found, _ = evaluate(logarithms, np.array([1.0, 0.0, -1.0, np.nan]))
    assert found[0] == 0.0
    assert found[1] == -np.inf
    assert np.isnan(found[2:]).all()


ODD = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 1e-290, -1e-290, 1e308, -1e308])


@pytest.fixture(params=["quickly", "thoroughly, for one scene"])
def evaluate_of_vectors(device, request):
    """Apply a device function to packs, one number per world."""
    is_thorough = request.param != "quickly"

    def run(body, *arguments):
        arena = Arena(device, len(arguments[0]))
        arena.is_own = is_thorough
        given, found = arena.array(len(arguments)), arena.array(1)
        arena.build()

        @ti.kernel
        def apply(g: ti.template(), f: ti.template()):
            ti.loop_config(block_dim=1)
            for w in range(arena.n_blocks):
                arena.enter(w)
                f.store(w, 0, body(*load_all(g, w)))

        def load_all(slot, w):
            return [slot.load(w, k) for k in range(len(arguments))]

        given.write(np.stack(arguments, axis=1)[..., None])
        compile_thoroughly(is_thorough)
        arena.launch(apply, given, found)
        compile_thoroughly(False)
        result = found.read()[:, 0, 0].copy()
        arena.destroy()
        return result

    return run


def same_bits(found, wanted):
    """A NaN is a NaN, whatever its sign."""
    assert (np.isnan(found) == np.isnan(wanted)).all()
    there = ~np.isnan(wanted)
    assert found[there].tobytes() == wanted[there].tobytes()


def test_negation_and_magnitude(evaluate_of_vectors):
    same_bits(evaluate_of_vectors(lambda x: -x, ODD), -ODD)
    same_bits(evaluate_of_vectors(lambda x: ti.abs(x), ODD), np.abs(ODD))
    same_bits(evaluate_of_vectors(lambda x: abs(-x), ODD), np.abs(ODD))


def test_what_is_not_a_number(evaluate_of_vectors):
    same_bits(evaluate_of_vectors(lambda x: ti.select(is_nan(x), 1.0, 0.0), ODD), np.isnan(ODD).astype(float))


@ti.func
def in_turn(x: ti.template(), y: ti.template()):
    """Every augmented assignment that device code uses."""
    total = x + 0.0
    total += y
    total *= x
    total -= y
    total /= 3.0
    return total


def test_augmented_assignments(evaluate_of_vectors):
    x, y = np.random.default_rng(1).normal(size=(2, 11))
    same_bits(evaluate_of_vectors(in_turn, x, y), ((x + y) * x - y) / 3.0)


def any_of(mask):
    return ti.select(any_lane(mask), 1.0, 0.0)


def test_a_mask_is_set_in_each_lane_alone(evaluate_of_vectors, device):
    for k in range(2 * device.lanes):
        x = np.zeros(2 * device.lanes)
        x[k] = 1.0
        found = evaluate_of_vectors(lambda x: x * 0.0 + any_of(x > 0.5), x)
        assert (found == (np.arange(len(x)) // device.lanes == k // device.lanes)).all()


def lane_of_mask(x, k):
    return ti.select(get_lane(x > 0.5, k) != 0, 1.0, 0.0)


def test_lanes_of_a_mask_are_read(evaluate_of_vectors, device):
    x = (np.arange(2 * device.lanes) % 3 == 1).astype(float)
    for k in range(device.lanes):
        found = evaluate_of_vectors(lambda x, k=k: x * 0.0 + lane_of_mask(x, k), x)
        assert (found.reshape(2, -1) == x.reshape(2, -1)[:, k, None]).all()


@pytest.mark.parametrize("width", [1, 6])
def test_notes_keep_numbers_and_vectors(device, width):
    arena = Arena(device, 1 + device.lanes)
    before, notes, whole, after = Notes(arena), Notes(arena, width=width), Notes(arena, ti.i32), Notes(arena)
    for each in (before, notes, whole, after):
        each.reserve(4)
    arena.build()

    @ti.kernel
    def write(n: ti.template(), m: ti.template()):
        for w in range(arena.n_blocks):
            arena.enter(w)
            for k in range(4):
                n.store(w, k, made(w, k))
                m.store(w, k, 1000 * w + k)
            n.store(w, 1, n.load(w, 2))
            m.store(w, 1, -m.load(w, 2))

    def made(w, k):
        numbers = [100.0 * w + 10.0 * k + j for j in range(width)]
        if width == 1:
            return numbers[0]
        value = vector(numbers)
        put_lane(value, 2, get_lane(value, 2) + 0.5)
        return value

    arena.launch(write, notes, whole)
    wanted = 100.0 * np.arange(2)[:, None, None] + 10.0 * np.arange(4)[:, None] + np.arange(width)
    wanted[..., 2:3] += 0.5
    wanted[:, 1] = wanted[:, 2]
    assert (notes.memory == wanted).all()
    assert (whole.memory[..., 0] == [[0, -2, 2, 3], [1000, -1002, 1002, 1003]]).all()
    assert not before.memory.any()
    assert not after.memory.any()
    arena.destroy()


def test_packs_are_found_by_item_and_by_number(device):
    """What is written in one way is read in the other, at once."""
    arena = Arena(device, 3)
    spread, slot = arena.array(5), arena.array_by_rows(4)
    arena.build()

    @ti.kernel
    def write(s: ti.template(), rows: ti.template(), first: ti.i32):
        for w in range(arena.n_blocks):
            arena.enter(w)
            for k in range(4):
                rows.store(w, first + k, s.load(w, k) + 1.0)
                s.store(w, k, s.load(w, k) * 2.0)
                rows.store(w, first + k, rows.load(w, first + k) + s.load(w, k))

    slot.write(np.arange(12.0).reshape(3, 4, 1))
    arena.launch(write, slot, arena.by_rows, slot.first)
    assert (slot.read()[..., 0] == 4 * (np.arange(12.0).reshape(3, 4) + 1)).all()
    assert not spread.read().any()
    arena.destroy()


def test_lanes_of_memory_are_those_of_packs(device):
    """A lane that is written is in the pack that is read next, and the other way round."""
    arena = Arena(device, device.lanes)
    slot = arena.array(2)
    arena.build()

    @ti.kernel
    def write(s: ti.template()):
        for w in range(arena.n_blocks):
            arena.enter(w)
            before = s.load(w, 0)
            put_lane(s.part(w, 0, 0), 1, 5.0)
            s.store(w, 1, s.load(w, 0) + before)
            put_lane(s.part(w, 1, 0), 0, 10.0 * get_lane(s.part(w, 1, 0), 1))

    slot.write(np.ones((1, 2, 1)))
    arena.launch(write, slot)
    first = np.where(np.arange(device.lanes) == 1, 5.0, 1.0)
    assert (slot.read()[:, 0, 0] == first).all()
    assert (slot.read()[:, 1, 0] == np.where(np.arange(device.lanes) == 0, 60.0, first + 1.0)).all()
    arena.destroy()


def test_a_kernel_works_in_one_arena(device):
    arenas = [Arena(device, 1) for _ in range(2)]
    slots = [arena.array(1) for arena in arenas]
    for arena in arenas:
        arena.build()

    @ti.kernel
    def mix(a: ti.template(), b: ti.template()):
        for w in range(arenas[0].n_blocks):
            arenas[0].enter(w)
            a.store(w, 0, b.load(w, 0))

    with pytest.raises(getattr(ti, f"{TITLE}CompilationError"), match="a kernel works in the arena that launches it"):
        arenas[0].launch(mix, *slots)
    for arena in arenas:
        arena.destroy()


SEED, N_WORLDS = 31, 11  # one full pack and a rest in both precisions
SINGLE = 1e-4  # relative, a thousand float32 roundings
ACCELERATIONS = 1e-5  # times the condition number of the mass matrix
CHILD = Path(__file__).parent / "support" / "float32_child.py"


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The same trial in both precisions; float32 needs a process of its own, because Taichi has one precision."""
    out = tmp_path_factory.mktemp("float32") / "trial.npz"
    subprocess.run([sys.executable, str(CHILD), str(SEED), str(N_WORLDS), str(out)], check=True, env=environment())
    rng = np.random.default_rng(SEED)
    double = run_trial(rng, single_precision_forest(rng, N_WORLDS), live_device())
    with np.load(out) as single:
        single = dict(single)
    assert (single["tau"] == double.tau).all()
    return single, double


def off(found, wanted):
    """Norm of the difference relative to the norm of what is wanted, worst of the worlds."""
    axes = tuple(range(1, wanted.ndim))
    error = np.sqrt(((found.astype(float) - wanted) ** 2).sum(axis=axes) / (wanted**2).sum(axis=axes))
    return error.max() if np.isfinite(error).all() else np.inf


@pytest.mark.slow
@pytest.mark.parametrize("name", ["body_qd", "rnea", "bias", "mass", "jacobian"])
def test_float32_agrees(pair, name):
    single, double = pair
    assert single[name].dtype == np.float32
    assert off(single[name], getattr(double, name)) < SINGLE


@pytest.mark.slow
def test_float32_poses_agree(pair):
    single, double = pair
    found, wanted = single["body_q"].astype(float), double.body_q
    found[..., 3:] *= np.sign((found[..., 3:] * wanted[..., 3:]).sum(axis=-1, keepdims=True))
    assert off(found, wanted) < SINGLE


@pytest.mark.slow
def test_float32_accelerations_agree(pair):
    single, double = pair
    for w in range(N_WORLDS):
        limit = ACCELERATIONS * np.linalg.cond(double.mass[w])
        assert off(single["aba"][w : w + 1], double.aba[w : w + 1]) < limit


@pytest.mark.slow
def test_float32_projection_inverts_forward_kinematics(pair):
    single, double = pair
    errors = coordinate_errors(double.model, single["projected_q"].astype(float), double.q)
    assert all(error < SINGLE for error in errors.values()), errors
    assert np.abs(single["projected_qd"] - double.qd).max() < SINGLE
