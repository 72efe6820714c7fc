"""Elementary functions on packs against extended precision."""

import numpy as np
import pytest

from simcli.kernels.algebra import elementary
from simcli.kernels.memory.arena import Arena, get_lane, put_lane

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
        given, results = arena.slot(width), arena.slot(2)
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
