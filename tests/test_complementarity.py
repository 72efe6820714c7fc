"""Impulses of rows and contacts: laws in numpy, closed forms, projected Gauss-Seidel, every stage by itself."""

from dataclasses import replace

import numpy as np
import pytest
from support import impulse_problems as problems
from support.device import live_device
from support.impulses import Bench, Given, pattern_of_all

from simcli.kernels.complementarity.problem import ADMM, BROKEN, CONE, LIMITS, NEWTON, PROXIMAL, SCHEDULE, SOLVED, UNSOLVED

SIZES, N_WORLDS = (30, 8, 24), 12
TOLERANCE, EXACT = LIMITS["float64"].tolerance, LIMITS["float64"].exact  # [m/s], promised
ROUNDS = 6
FINE = 1e-8  # [m/s] and relative: what rounds leave, far below what they promise
APART = 1e-6  # [m/s], velocities of two solvers with natural maps of 1e-8 and 1e-13: a condition of 100
ROUNDING = 1e-11  # [N s], sums of impulses
PILES = [problems.pile(seed) for seed in range(1, 6)]  # 0: Gauss-Seidel takes half a minute
RESTING = {
    "sticking": problems.incline(20),
    "nearly": problems.incline(26.5),
    "slipping": problems.incline(27),
    "sliding": problems.incline(40, start=1.0),
    "smooth": problems.incline(20, mu=0.0),
    "thrown": problems.incline(0, start=2.0),
    "four": problems.table(4),
    "eight": problems.table(8, push=50),
    "many": problems.table(24, push=150),
    "stack": problems.stack(5, 1.0),
    "heavy": problems.stack(5, 1000.0),
    "one": problems.stack(1, 1.0, mu=0.0),
}
LEAVING = replace(problems.incline(0, mu=0.0), free=np.eye(6)[2], start=np.eye(3)[0])
MIXED = [problems.limited(seed) for seed in range(7)]
HARD = problems.limited(7)  # its joints force bodies to slip so that the contacts jam
ALL = {**RESTING, **{f"pile {k}": one for k, one in enumerate(PILES)}, **{f"rows {k}": one for k, one in enumerate(MIXED)}}


class Shelf:
    """One compiled solver for all tests; started again if another test has started another device."""

    bench = None

    def __call__(self):
        device = live_device()
        if self.bench is None or self.bench.device is not device:
            self.bench = Bench(device, *SIZES, N_WORLDS)
        self.bench.set_schedule(SCHEDULE)
        return self.bench


shelf = Shelf()


@pytest.fixture
def bench():
    return shelf()


def solve_all(bench, worlds, rounds=ROUNDS):
    """One (rows, contacts, velocity, scalars) per world, cut to its sizes."""
    worlds, out = list(worlds), []
    for first in range(0, len(worlds), N_WORLDS):
        batch = worlds[first : first + N_WORLDS]
        found = bench.solve(batch, rounds)
        for w, one in enumerate(batch):
            names = "residual", "proximal", "iterations", "admm_iterations", "status"
            scalars = {name: getattr(found, name)[w] for name in names}
            out.append(
                (
                    found.rows[w, : len(one.rows)],
                    found.contacts[w, : len(one.mu)],
                    found.velocity[w, : len(one.free)],
                    scalars,
                )
            )
    return out


def assert_laws(one, rows, contacts, velocity, limit):
    """Momentum, bounds, complementarity, cone, and most dissipation; each in its own words."""
    pulled = one.rows.T @ rows + np.einsum("cia,ci->a", one.contacts, contacts)
    assert np.allclose(one.M @ (velocity - one.free), pulled, rtol=0, atol=ROUNDING * max(1.0, abs(one.M).max()))
    w, u = problems.speeds(one, velocity, rows, contacts)
    d_rows, d = problems.diagonals(one)
    slack = limit / d_rows  # an impulse that makes this speed
    assert (rows >= one.lower - slack).all()
    assert (rows <= one.upper + slack).all()
    assert (w[rows < one.upper - slack] >= -limit).all()
    assert (w[rows > one.lower + slack] <= limit).all()
    slack = limit / d.mean(axis=1)
    normal, sliding, tangent = contacts[:, 0], np.linalg.norm(u[:, 1:], axis=1), contacts[:, 1:]
    assert (normal >= -slack).all()
    assert (u[:, 0] >= -2 * limit).all()
    assert (np.minimum(normal * d.mean(axis=1), u[:, 0]) <= 2 * limit).all()
    assert (np.linalg.norm(tangent, axis=1) <= one.mu * normal + 2 * slack).all()
    lost = -np.einsum("ci,ci->c", tangent, u[:, 1:])
    assert (lost >= -3 * limit * (normal + slack)).all()
    assert (lost >= one.mu * normal * sliding - 3 * slack * (sliding + limit) - 3 * limit * normal).all()


def test_solutions_obey_the_laws(bench):
    for (name, one), (rows, contacts, velocity, scalars) in zip(ALL.items(), solve_all(bench, ALL.values()), strict=True):
        assert scalars["status"] == SOLVED, name
        assert scalars["residual"] < EXACT, name
        mine = problems.natural_map(one, velocity, rows, contacts)
        assert mine == pytest.approx(scalars["residual"], rel=1e-3, abs=1e-12), name
        assert_laws(one, rows, contacts, velocity, EXACT)


def test_large_worlds_find_the_same(bench):
    """Sparse or dense: the same laws and schedule, and so the same steps to the same solution."""
    large = Bench(live_device(), *SIZES, N_WORLDS, pattern=pattern_of_all(*SIZES[:2]))
    ways = solve_all(bench, ALL.values()), solve_all(large, ALL.values())
    for (name, one), dense, sparse in zip(ALL.items(), *ways, strict=True):
        assert sparse[3]["status"] == SOLVED, name
        assert np.abs(sparse[2] - dense[2]).max() < APART, name
        assert_laws(one, *sparse[:3], EXACT)


def test_what_is_not_solved_says_so(bench):
    ((rows, contacts, velocity, scalars),) = solve_all(bench, [HARD])
    assert scalars["status"] == PROXIMAL
    assert scalars["proximal"] < TOLERANCE
    assert scalars["residual"] == pytest.approx(problems.natural_map(HARD, velocity, rows, contacts), rel=1e-6)
    assert EXACT < scalars["residual"] < 1e-3
    bench.set_schedule(((NEWTON, 1, 99),))
    ((rows, contacts, velocity, scalars),) = solve_all(bench, [HARD])
    assert scalars["status"] == UNSOLVED
    assert scalars["residual"] == pytest.approx(problems.natural_map(HARD, velocity, rows, contacts), rel=1e-6)


def test_the_natural_map_is_that_of_numpy(bench):
    """Also far from a solution, where every case of the projections is met."""
    rng = np.random.default_rng(1)
    worlds = [
        replace(one, start=rng.normal(size=one.start.shape), start_rows=rng.normal(size=one.bias.shape), kappa=0.0)
        for one in [*PILES, *MIXED]
    ]
    bench.set_schedule(())
    for one, (rows, contacts, velocity, scalars) in zip(worlds, solve_all(bench, worlds), strict=True):
        assert (contacts == one.start).all()
        assert scalars["residual"] == pytest.approx(problems.natural_map(one, velocity, rows, contacts), rel=1e-10)


@pytest.mark.parametrize("degrees", [20, 26.5, 26.6, 30, 40])
def test_incline(bench, degrees):
    angle = np.radians(degrees)
    ((_, contacts, velocity, _),) = solve_all(bench, [problems.incline(degrees)])
    along = max(0.0, np.sin(angle) - 0.5 * np.cos(angle)) * problems.GRAVITY * problems.STEP
    assert velocity[0] == pytest.approx(along, abs=FINE)
    assert velocity[1:] == pytest.approx(0.0, abs=FINE)
    assert contacts[:, 0].sum() == pytest.approx(16.0 * problems.GRAVITY * problems.STEP * np.cos(angle), rel=FINE * 10)


@pytest.mark.parametrize("feet", [4, 8, 24])
def test_a_table_stands_evenly(bench, feet):
    ((_, contacts, velocity, _),) = solve_all(bench, [problems.table(feet)])
    weight = 20.0 * problems.GRAVITY * problems.STEP
    assert contacts[:, 0] == pytest.approx(weight / feet, rel=1e-6)
    assert contacts[:, 0].sum() == pytest.approx(weight, rel=1e-6)
    assert abs(velocity).max() < FINE


@pytest.mark.parametrize("heavy", [1.0, 1000.0])
def test_a_stack_carries_its_weight(bench, heavy):
    one = problems.stack(5, heavy)
    ((_, contacts, velocity, _),) = solve_all(bench, [one])
    above = np.array([4 + heavy - k for k in range(5)]) * problems.GRAVITY * problems.STEP
    assert contacts[:, 0].reshape(5, 4).sum(axis=1) == pytest.approx(above, rel=EXACT)
    assert abs(one.contacts @ velocity).max() < EXACT


@pytest.mark.parametrize(
    "stages",
    [((NEWTON, 60, 99),), ((CONE, 60, 99),), ((ADMM, 4000, 999),), SCHEDULE],
    ids=["newton", "cone", "admm", "schedule"],
)
def test_every_stage_agrees_with_gauss_seidel(bench, stages):
    """Without a proximal term, so that impulses may differ and velocities do not."""
    chosen = [RESTING["sliding"], RESTING["slipping"], RESTING["eight"], RESTING["many"], *PILES]
    worlds = [replace(one, kappa=0.0) for one in chosen]
    bench.set_schedule(stages)
    for one, (_, _, velocity, scalars) in zip(worlds, solve_all(bench, worlds, 1), strict=True):
        assert (scalars["iterations"] > 0) == (stages[0][0] != ADMM)
        assert (scalars["admm_iterations"] > 0) == (stages[0][0] == ADMM) or stages is SCHEDULE
        assert scalars["residual"] < TOLERANCE
        assert velocity == pytest.approx(oracle(one)[1], abs=APART)


_solved: dict = {}


def oracle(one):
    """Impulses and velocity by Gauss-Seidel, once for all stages."""
    key = one.free.tobytes() + one.contacts.tobytes()
    if key not in _solved:
        _solved[key] = problems.seidel(one)
    return _solved[key]


def test_bounded_rows_clip(bench):
    """Rows on velocities of their own: x = clip(-(vf + b)/(1/m + C))."""
    rng = np.random.default_rng(2)
    worlds = []
    for _ in range(N_WORLDS):
        mass, free = rng.uniform(0.1, 10.0, 8), rng.normal(size=8)
        lower, upper = np.sort(rng.normal(size=(2, 8)), axis=0)
        lower[rng.random(8) < 0.3], upper[rng.random(8) < 0.3] = -np.inf, np.inf
        compliance = np.where(rng.random(8) < 0.5, rng.random(8), 0.0)
        worlds.append(Given(np.diag(mass), free, np.eye(8), rng.normal(size=8), compliance, lower, upper))
    for stages in (SCHEDULE, ((CONE, 60, 99),), ((ADMM, 2000, 999),)):
        bench.set_schedule(stages)
        for one, (rows, _, velocity, scalars) in zip(worlds, solve_all(bench, worlds), strict=True):
            wanted = np.clip(-(one.free + one.bias) / (1 / np.diag(one.M) + one.compliance), one.lower, one.upper)
            assert scalars["residual"] < TOLERANCE
            assert rows == pytest.approx(wanted, abs=10.0 * 2 * TOLERANCE)  # of the heaviest
            assert velocity == pytest.approx(one.free + rows / np.diag(one.M), abs=1e-14)


def test_redundant_joints_take_the_velocity_out(bench):
    """Rows given twice: v is the nearest to vf, in the norm of M, at which they hold."""
    rng = np.random.default_rng(3)
    mass = rng.normal(size=(12, 12))
    mass = mass @ mass.T + np.eye(12)
    rows = rng.normal(size=(4, 12))
    one = Given(mass, rng.normal(size=12), np.concatenate((rows, rows[::-1])), np.tile(0.1, 8))
    ((found, _, velocity, _),) = solve_all(bench, [one])
    root = np.linalg.cholesky(np.linalg.inv(mass))
    wanted = one.free - root @ np.linalg.lstsq(rows @ root, rows @ one.free + 0.1, rcond=None)[0]
    assert velocity == pytest.approx(wanted, abs=FINE)
    assert found[:4] == pytest.approx(found[7:3:-1], abs=1e-6)
    bench.set_schedule(((ADMM, 20, 99),))  # which does not split what has no bounds
    assert solve_all(bench, [one])[0][2] == pytest.approx(wanted, abs=FINE)


def test_without_friction_nothing_pulls_sideways(bench):
    worlds = [replace(one, mu=np.zeros(len(one.mu))) for one in PILES]
    for stages in (SCHEDULE, ((CONE, 40, 99),), ((ADMM, 100, 99),)):
        bench.set_schedule(stages)
        for _, contacts, _, scalars in solve_all(bench, worlds):
            assert (contacts[:, 1:] == 0.0).all()
            assert scalars["residual"] < EXACT or stages[0][0] == ADMM


def test_what_leaves_does_not_stick(bench):
    """A frictionless contact that opens along its normal, from an impulse that holds it."""
    for stages in (SCHEDULE, ((CONE, 40, 99),), ((ADMM, 1000, 99),)):
        bench.set_schedule(stages)
        ((_, contacts, velocity, scalars),) = solve_all(bench, [replace(LEAVING, kappa=0.0)])
        assert scalars["residual"] < TOLERANCE
        assert velocity == pytest.approx(LEAVING.free, abs=FINE)
        assert contacts == pytest.approx(0.0, abs=FINE * 16)


def test_the_proximal_term_vanishes(bench):
    """Its error falls with kappa, and the rounds take it away."""
    off = []
    for kappa in (1e-4, 1e-5, 1e-6):
        worlds = [replace(RESTING[name], kappa=kappa) for name in ("sliding", "slipping", "thrown", "eight", "many")]
        found = solve_all(bench, worlds, 1)
        assert max(scalars["iterations"] for *_, scalars in found) <= SCHEDULE[0][1]  # or kappa would have been raised
        off.append([scalars["residual"] for *_, scalars in found])
    off = np.array(off)
    assert (off[0] > 10 * TOLERANCE).all()
    assert off[1] == pytest.approx(0.1 * off[0], rel=0.2)
    assert off[2] == pytest.approx(0.1 * off[1], rel=0.2)
    for *_, scalars in solve_all(bench, PILES):
        assert scalars["proximal"] < TOLERANCE
        assert scalars["residual"] < EXACT


def test_a_caller_may_make_the_rounds(bench):
    """With the compliance and the centre that each one leaves, as a caller does that moves its bodies in between."""
    worlds = PILES
    for _ in range(ROUNDS):
        found = solve_all(bench, worlds, 1)
        kappa, centre = (np.array(slot.read()) for slot in (bench.problem.progress.kappa, bench.problem.centre))
        worlds = [
            replace(one, start=contacts, centre=centre[w, : len(contacts)], kappa=kappa[w, 0, 0])
            for w, (one, (_, contacts, _, _)) in enumerate(zip(worlds, found, strict=True))
        ]
    for (_, _, velocity, scalars), inside in zip(found, solve_all(bench, PILES), strict=True):
        assert scalars["residual"] < EXACT
        assert velocity == pytest.approx(inside[2], abs=100 * EXACT)


def test_a_solution_is_left_alone(bench):
    """Started at a solution: no factorisation, the same impulses."""
    solved = solve_all(bench, [replace(one, kappa=0.0) for one in PILES])
    again = [replace(one, start=contacts, centre=contacts) for one, (_, contacts, _, _) in zip(PILES, solved, strict=True)]
    for one, (_, contacts, _, scalars) in zip(again, solve_all(bench, again), strict=True):
        assert scalars["iterations"] == scalars["admm_iterations"] == 0
        assert (contacts == one.start).all()


def test_never_worse_than_the_start(bench):
    rng = np.random.default_rng(4)
    near = [contacts for _, contacts, _, _ in solve_all(bench, PILES)]
    worlds = [
        replace(one, start=x + 1e-3 * rng.normal(size=x.shape), kappa=kappa)
        for kappa in (0.0, 1e-4)
        for one, x in zip(PILES, near, strict=True)
    ]
    bench.set_schedule(())
    before = [scalars["residual"] for *_, scalars in solve_all(bench, worlds, 1)]
    better = 0
    for stages in (((NEWTON, 1, 99),), ((CONE, 1, 99),), ((ADMM, 20, 99),), ((NEWTON, 3, 1),)):
        bench.set_schedule(stages)
        for one, start, (rows, contacts, velocity, scalars) in zip(worlds, before, solve_all(bench, worlds, 1), strict=True):
            assert scalars["residual"] <= start
            assert scalars["residual"] == pytest.approx(problems.natural_map(one, velocity, rows, contacts), rel=1e-6)
            better += scalars["residual"] < 0.5 * start
    assert better > len(worlds)


def test_a_free_world_stays_free(bench):
    """Beside one that is not."""
    free = np.random.default_rng(5).normal(size=30)
    (_, _, velocity, scalars), _ = solve_all(bench, [Given(np.eye(30), free), PILES[0]])
    assert (velocity == free).all()
    assert (scalars["status"], scalars["residual"], scalars["iterations"]) == (SOLVED, 0.0, 0.0)


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one[:3], other[:3], strict=True)) and one[3] == other[3]


@pytest.mark.parametrize("stages", [SCHEDULE, ((CONE, 30, 99),)], ids=["schedule", "cone"])
def test_worlds_do_not_see_each_other(bench, stages):
    """Alone, in other lanes, beside other worlds, beside broken ones: the same bits."""
    bench.set_schedule(stages)
    worlds = [*ALL.values()]
    wanted = solve_all(bench, worlds)
    order = np.random.default_rng(6).permutation(len(worlds))
    shuffled = solve_all(bench, [worlds[k] for k in order])
    assert all(same(shuffled[n], wanted[k]) for n, k in enumerate(order))
    for k in (3, 14, 20):
        assert same(solve_all(bench, [worlds[k]])[0], wanted[k])
    broken = replace(PILES[0], free=np.full(30, np.nan))
    for start in (0, 3, 6, 9, 12):
        mixed = solve_all(bench, [broken, *worlds[start : start + 3]])
        assert mixed[0][3]["status"] == BROKEN
        assert (mixed[0][1] == 0.0).all()
        assert all(same(a, b) for a, b in zip(mixed[1:], wanted[start:], strict=False))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_a_start_that_is_no_number_is_none(bench, value):
    one = PILES[2]
    cold, spoilt = solve_all(bench, [one, replace(one, start=np.where(np.arange(3) == 1, value, 0.0))])
    assert same(cold, spoilt)


def test_units_of_mass_do_not_matter(bench):
    """Masses and impulses times 2^12: the same velocities, bit for bit."""
    worlds = [*RESTING.values(), *PILES]
    scale = 4096.0
    scaled = [replace(one, M=one.M * scale) for one in worlds]
    for one, other in zip(solve_all(bench, worlds), solve_all(bench, scaled), strict=True):
        assert (one[1] * scale == other[1]).all()
        assert (one[2] == other[2]).all()


def test_axes_of_the_tangents_do_not_matter(bench):
    """Turned tangents: the same velocity."""
    c, s = np.cos(0.7), np.sin(0.7)
    turn = np.array([[1, 0, 0], [0, c, s], [0, -s, c]])
    straight = [replace(one, kappa=0.0) for one in PILES]
    turned = [replace(one, contacts=turn @ one.contacts) for one in straight]
    for one, other in zip(solve_all(bench, straight), solve_all(bench, turned), strict=True):
        assert max(one[3]["residual"], other[3]["residual"]) < TOLERANCE
        assert other[2] == pytest.approx(one[2], abs=APART)


def test_scaled_tangents_make_friction_anisotropic(bench):
    """Tangents times mu_a/mu and mu_b/mu; a block slides under friction -mu_i^2 v_i/sqrt(sum mu_i^2 v_i^2)."""
    mu = np.array([0.2, 0.6])
    one = replace(problems.incline(0), free=np.array([1.0, 1.5, -problems.STEP * problems.GRAVITY, 0, 0, 0]))
    scaled = one.contacts * np.array([1.0, *mu])[:, None]
    one = replace(one, M=np.diag([16.0] * 3 + [1e6] * 3), contacts=scaled, mu=np.ones(4))
    ((_, _, velocity, _),) = solve_all(bench, [one])
    along = one.contacts[0, 1:, :2] / mu[:, None]  # axes of the tangents
    sliding = along @ velocity[:2]
    force = -(mu**2) * sliding / np.hypot(*(mu * sliding)) * problems.STEP * problems.GRAVITY
    assert along @ (velocity[:2] - one.free[:2]) == pytest.approx(force, abs=APART)


@pytest.mark.slow
def test_scalar_code_gives_the_same_bits(bench):
    """One world by itself compiles to scalars."""
    one = PILES[3]
    wanted = solve_all(bench, [one])[0]
    alone = Bench(bench.device.for_worlds(1), *SIZES, 1)
    found = alone.solve([one], ROUNDS)
    alone.arena.destroy()
    assert alone.device.lanes == 1
    assert (found.contacts[0, : len(one.mu)] == wanted[1]).all()
    assert (found.velocity[0] == wanted[2]).all()
