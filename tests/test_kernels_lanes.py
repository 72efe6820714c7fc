"""Every lane of a pack, every slot and every batch size give the same bytes; what fails in one state stays in it."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.device import live_device
from support.forests import choose_worlds, plant, vary_all
from support.random_models import TREE_TYPES, random_mechanism
from support.trials import draw_inputs

from simcli.kernels.algorithms import CPU_SLOTS, Algorithms
from simcli.model.assemble import assemble
from simcli.model.tables import JointKind

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
    accelerations = algorithms.forward_dynamics(q, qd, tau, force)
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
