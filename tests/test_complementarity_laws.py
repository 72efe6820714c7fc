"""Functions whose root is the law of a row or contact: slopes by differences, roots where the laws hold.

Many random piles, in both precisions: how many are solved, and how well by numpy's own measure.

Linear algebra of large worlds against numpy: pattern, factors, GMRES, products, of random bodies, rows and contacts.

The sparse way of contact: what the dense way says, on few bodies; what stands and settles, on many.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import impulse_problems as problems
from support.contact_scenes import chain, run, scene
from support.device import live_device
from support.large_worlds import brick_wall, fair, heap
from support.process import environment

from simcli.kernels.complementarity.cones import curnier, discs, fischer_cone, fischer_row, on_cone, on_discs
from simcli.kernels.complementarity.graph import COMPLETE, OPEN, part_islands
from simcli.kernels.complementarity.large import DOFS, ROWS_SEEN, SystemPattern
from simcli.kernels.complementarity.large_problem import factorize_large, multiply, solve_large
from simcli.kernels.complementarity.measure import respond, row_speed, triple_speed
from simcli.kernels.complementarity.preparation import prepare_problem
from simcli.kernels.complementarity.problem import LIMITS, PROXIMAL, SOLVED, Problem
from simcli.kernels.device.arena import Arena
from simcli.kernels.language import ti
from simcli.kernels.language.values import Mat3, Vec3
from simcli.solvers.impulses.searches import begin_islands, leave_island, next_island

N, STEP = 400, 1e-6
SLOPE = 1e-7  # of values about 1: a difference of second order over two steps of 1e-6 loses 1e-10, and curvature 1e-8
SIGMA, FLOOR, TINY = 0.3, 1e-13, 1e-300
METRIC = np.array([0.7, 1.9, 1.5])  # d_N, d_T, d
TORSION = 0.4  # of spins, whose discs have the radius mu


class Evaluator:
    """Both functions of contacts, those of spins and of rows, for N points."""

    def __init__(self, device):
        arena = self.arena = Arena(device, N)
        x, w, mu, sigma = self.given = arena.array(1, Vec3), arena.array(1, Vec3), arena.array(1), arena.array(1)
        names = ("curnier", "cone", "discs", "smooth discs")
        out = self.out = {name: (arena.array(1, Vec3), arena.array(1, Mat3), arena.array(1, Mat3)) for name in names}
        row = self.row = arena.array(3)
        nearest, inner = self.nearest, self.inner = arena.array(1, Vec3), arena.array(1, Vec3)
        arena.build()

        def write(k, x, w, mu, sigma, point):
            zero = arena.zero()
            metric = Vec3(*(zero + m for m in METRIC))
            for name, found in (
                ("curnier", curnier(x, w, metric, mu, TINY)),
                ("cone", fischer_cone(x, w, metric, mu, sigma, FLOOR, TINY)),
                ("discs", discs(x, w, metric, zero + TORSION, mu, zero, TINY)),
                ("smooth discs", discs(x, w, metric, zero + TORSION, mu, sigma, TINY)),
            ):
                for slot, value in zip(out[name], found, strict=True):
                    slot.store(k, 0, value)
            a, b, _ = x.parts
            bounds = zero - 0.4, select_bound(b, zero)
            for part, value in enumerate(fischer_row(a, w.parts[0], METRIC[0], *bounds, sigma, TINY)):
                row.store(k, part, value)
            nearest.store(k, 0, on_cone(point, mu)[0])
            inner.store(k, 0, on_discs(point, zero + TORSION, mu, TINY))

        def select_bound(b, zero):
            return ti.select(b > 0.0, zero + 0.5, zero + np.inf)

        @ti.kernel
        def run():
            ti.loop_config(block_dim=1)
            for k in range(arena.n_blocks):
                arena.enter(k)
                write(k, x.load(k, 0), w.load(k, 0), mu.load(k, 0), sigma.load(k, 0), x.load(k, 0))

        self.run = run

    def __call__(self, x, w, mu, sigma=SIGMA):
        for slot, values in zip(self.given, (x, w, mu, np.broadcast_to(sigma, N)), strict=True):
            slot.write(np.reshape(values, (N, 1, -1)))
        self.arena.launch(self.run)
        found = {name: [np.array(slot.read()[:, 0]) for slot in slots] for name, slots in self.out.items()}
        found["row"] = np.array(self.row.read()[..., 0])
        found["nearest"], found["inner"] = (np.array(slot.read()[:, 0]) for slot in (self.nearest, self.inner))
        return found


@pytest.fixture
def evaluate(device):
    evaluator = Evaluator(device)
    yield evaluator
    evaluator.arena.destroy()


def test_slopes_and_roots(evaluate):
    rng = np.random.default_rng(1)
    x, w, mu = rng.normal(size=(N, 3)), rng.normal(size=(N, 3)), rng.uniform(0.1, 1.2, N)
    mu[:40] = 0.0
    x[:20] = x[:20, :1] * np.eye(3)[0]  # on the axis, on both sides of the tip
    here = evaluate(x, w, mu)
    check_slopes(evaluate, here, x, w, mu)
    check_roots(evaluate, rng)
    check_projection(here["nearest"], x, mu)
    check_discs(evaluate, here["inner"], x, mu)


def check_slopes(evaluate, here, x, w, mu):
    for column in range(3):
        step = STEP * np.eye(3)[column]
        for which, (plus, minus) in (
            (1, (evaluate(x + step, w, mu), evaluate(x - step, w, mu))),
            (2, (evaluate(x, w + step, mu), evaluate(x, w - step, mu))),
        ):
            for name in ("curnier", "cone", "discs", "smooth discs"):
                slope = (plus[name][0] - minus[name][0]) / (2 * STEP)
                off = abs(slope - here[name][which].reshape(N, 3, 3)[:, :, column]).max(axis=1)
                crossed = 2 if name in ("curnier", "discs") else 0  # points next to a kink
                assert np.sort(off)[N - 1 - crossed] < SLOPE * 10, (name, which, column)
            if column == 0:
                slope = (plus["row"][:, 0] - minus["row"][:, 0]) / (2 * STEP)
                assert slope == pytest.approx(here["row"][:, which], abs=SLOPE)


def check_roots(evaluate, rng):
    """Open, sticking and sliding contacts that obey the law of Coulomb, and what does not."""
    mu, mode = rng.uniform(0.1, 1.2, N), np.arange(N) % 3
    angle, normal, speed = rng.uniform(0, 2 * np.pi, N), rng.uniform(0.5, 2.0, N), rng.uniform(0.5, 2.0, N)
    axis = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    x, w = np.zeros((N, 3)), np.zeros((N, 3))
    x[mode > 0, 0] = normal[mode > 0]
    inside = rng.uniform(0.0, 0.9, N)
    share = np.select([mode == 1, mode == 2], [inside, np.ones(N)])
    x[:, 1:] = (share * mu * x[:, 0])[:, None] * -axis
    w[mode == 2, 1:] = (speed[:, None] * axis)[mode == 2]
    w[mode == 0] = np.concatenate((normal[:, None], speed[:, None] * axis), axis=1)[mode == 0]
    found = evaluate(x, w, mu, 0.0)
    for name in ("curnier", "cone"):
        assert abs(found[name][0]).max() < 1e-12, name
    more = np.array([0.1, 0.0, 0.0])
    away = evaluate(x + more, w + more, mu, 0.0)
    for name in ("curnier", "cone"):
        assert abs(away[name][0]).max(axis=1).min() > 1e-3, name


def check_discs(evaluate, inner, x, mu):
    """Spins at rest and at their bounds obey the law, what does not is seen, and the projection is that of discs."""
    size = np.hypot(x[:, 1], x[:, 2])
    assert inner[:, 0] == pytest.approx(np.clip(x[:, 0], -TORSION, TORSION), abs=1e-15)
    assert inner[:, 1:] == pytest.approx(x[:, 1:] * np.minimum(1.0, mu / np.maximum(size, 1e-300))[:, None], abs=1e-15)
    w = (inner - x) * np.array([METRIC[0], METRIC[1], METRIC[1]])
    for name in ("discs", "smooth discs"):
        assert abs(evaluate(inner, w, mu, 0.0)[name][0]).max() < 1e-12, name
    side = np.array([0.0, 0.1, 0.0])
    turned = w + side * (np.hypot(w[:, 1], w[:, 2]) > 0.1)[:, None]  # no longer against the impulse
    seen = abs(evaluate(inner, turned, mu, 0.0)["discs"][0]).max(axis=1)
    oblique = (abs(w[:, 2]) > 0.1) & (mu > 0.0)
    assert oblique.sum() > N // 4
    assert seen[oblique].min() > 1e-4
    assert abs(evaluate(inner, w + side, mu, 0.0)["discs"][0]).max(axis=1)[size < mu].min() > 1e-3


def check_projection(nearest, x, mu):
    """No point of the cone is nearer, and what is left is at right angles."""
    assert (np.hypot(nearest[:, 1], nearest[:, 2]) <= mu * nearest[:, 0] * (1 + 1e-14) + 1e-15).all()
    assert (nearest[:, 0] >= 0).all()
    left = x - nearest
    assert (abs(np.einsum("ni,ni->n", left, nearest)) < 1e-14 * 10).all()
    assert (left[:, 0] + mu * np.hypot(left[:, 1], left[:, 2]) <= 1e-14 * 10).all()


COUNT = 64
NEWTON_STEPS = {"cold": 40, "warm": 6}  # on average, of all rounds; measured 20 and 4
WHOLLY = {"float64": COUNT - 4, "float32": COUNT}  # solved without the proximal term; measured 62 and 64
CHILD = Path(__file__).parent / "support" / "impulses_child.py"


@pytest.fixture(scope="module", params=["float64", "float32"])
def solved(request, tmp_path_factory):
    """A process of its own, because Taichi has one precision."""
    out = tmp_path_factory.mktemp("piles") / "piles.npz"
    words = [request.param, str(COUNT), str(LIMITS[request.param].kappa), str(out)]
    subprocess.run([sys.executable, str(CHILD), *words], check=True, env=environment())
    with np.load(out) as found:
        return request.param, dict(found)


@pytest.mark.slow
def test_every_proximal_problem_is_solved(solved):
    precision, found = solved
    for name in ("cold", "warm"):
        assert (found[f"{name}_proximal"] < LIMITS[precision].tolerance).all()
        assert np.isin(found[f"{name}_status"], (SOLVED, PROXIMAL)).all()
        assert found[f"{name}_iterations"].mean() < NEWTON_STEPS[name]


@pytest.mark.slow
def test_rounds_take_the_proximal_term_away(solved):
    precision, found = solved
    assert (found["cold_status"] == SOLVED).sum() >= WHOLLY[precision]
    assert found["cold_residual"].max() < LIMITS[precision].exact * 100


@pytest.mark.slow
def test_numpy_measures_the_same(solved):
    precision, found = solved
    rounding = float(np.finfo(precision).eps) * 100  # of speeds about 1 m/s
    for seed in range(COUNT):
        one = problems.pile(seed)
        velocity, contacts = found["cold_velocity"][seed].astype(float), found["cold_contacts"][seed, :20].astype(float)
        mine = problems.natural_map(one, velocity, np.zeros(0), contacts)
        assert mine == pytest.approx(float(found["cold_residual"][seed]), abs=rounding, rel=1e-3)
        gained = np.einsum("cia,ci->a", one.contacts, contacts)
        assert velocity == pytest.approx(one.free + np.linalg.solve(one.M, gained), abs=rounding * 100)


N_BODIES, N_ROWS, N_CONTACTS = 12, 6, 16
LINEAR_N = DOFS * N_BODIES
ROUNDING = 1e-9  # [1], relative, for a condition of 1e4


class Bench:
    """One world of bodies that rows, contacts and spins couple, on the device and in numpy.

    Args:
        device: of one lane, or more.
        room: entries of the factor for each body.
    """

    def __init__(self, device, monkeypatch, room):
        monkeypatch.setattr("simcli.kernels.complementarity.large.ROOM", room)
        rng = self.rng = np.random.default_rng(3)
        self.columns = [
            np.concatenate([DOFS * b + rng.choice(DOFS, 3) for b in rng.choice(N_BODIES, 2, replace=False)])
            for _ in range(N_ROWS)
        ]
        self.columns[0][:] = self.columns[0][0]  # one velocity, many times
        start = np.cumsum([0, *map(len, self.columns)])
        self.arena = Arena(device.for_worlds(1), 1)
        self.problem = p = Problem(
            self.arena,
            LINEAR_N,
            N_ROWS,
            N_CONTACTS,
            has_spins=True,
            pattern=SystemPattern(N_BODIES, start, np.concatenate(self.columns)),
        )
        self.x, self.product = self.arena.array(LINEAR_N), self.arena.array(LINEAR_N)
        x, product, arena = self.x, self.product, self.arena
        self.arena.build()
        self.arena.write(np.full((1, self.arena.n_rows), np.nan))

        @ti.kernel
        def run():
            ti.loop_config(block_dim=1)
            for w in range(arena.n_blocks):
                arena.enter(w)
                part_islands(p, w)
                for s in range(p.rows.count):
                    p.rows.speed.store(w, s, row_speed(p, w, s, x))
                for side in ti.static(p.triples):
                    for c in range(p.contacts.count):
                        side.speed.store(w, c, triple_speed(p, side, w, c, x))
                begin_islands(p, w)
                for _island in range(p.large.islands.notes.load(w, p.large.islands.count)):
                    next_island(p, w)
                    prepare_problem(p, w)
                    respond(p, w)
                    multiply(p, w, x, product)
                    factorize_large(p, w)
                    solve_large(p, w, x)
                    leave_island(p, w)

        self.fill()
        arena.launch(run)

    def fill(self):
        """Random numbers, of which numpy keeps the dense form: M, J, G."""
        p, rng = self.problem, self.rng
        self.mass, blocks = np.zeros((LINEAR_N, LINEAR_N)), np.tril_indices(DOFS)
        for b in range(N_BODIES):
            spread = rng.normal(size=(DOFS, DOFS))
            self.mass[DOFS * b : DOFS * (b + 1), DOFS * b : DOFS * (b + 1)] = spread @ spread.T + np.eye(DOFS)
        own = [self.mass[DOFS * b : DOFS * (b + 1), DOFS * b : DOFS * (b + 1)][blocks] for b in range(N_BODIES)]
        values = [rng.normal(size=len(columns)) for columns in self.columns]
        body = np.array([[-1, 3], [2, -1], *(rng.choice(N_BODIES - 1, 2, replace=False) for _ in range(N_CONTACTS - 2))])
        views = rng.normal(size=(2, N_CONTACTS, 2, ROWS_SEEN, DOFS))
        self.on = np.arange(N_CONTACTS) % np.array([[5], [3]]) != 2
        self.on[1] &= self.on[0]  # spins are on only where their contact is
        rows = np.zeros((N_ROWS, LINEAR_N))
        self.triples = np.zeros((2, N_CONTACTS, 3, LINEAR_N))
        for s, (columns, value) in enumerate(zip(self.columns, values, strict=True)):
            np.add.at(rows[s], columns, value)
        for kind, c in np.argwhere(self.on):
            for side in np.flatnonzero(body[c] >= 0):
                its = slice(DOFS * body[c, side], DOFS * (body[c, side] + 1))
                self.triples[kind, c][:, its] = views[kind, c, side]
        self.rows, self.gains = rows, 10.0 ** rng.uniform(-2, 2, len(rows))
        self.blocks = rng.normal(size=(2, N_CONTACTS, 3, 3)) + 3 * np.eye(3)
        self.given, self.impulses = rng.normal(size=LINEAR_N), (rng.normal(size=N_ROWS), rng.normal(size=(2, N_CONTACTS, 3)))
        of_triples = [
            pair
            for k, side in enumerate(p.triples)
            for pair in (
                (side.on, self.on[k]),
                (p.large.gains[k], self.blocks[k]),
                (side.impulse, self.impulses[1][k]),
            )
        ]
        for at, view in zip((p.large.seen, p.large.turning), views, strict=True):
            p.large.sixes.memory[0, at : at + 2 * ROWS_SEEN * N_CONTACTS] = view.reshape(-1, DOFS)
        for slot, array in (
            (p.mass, own),
            (p.large.value, np.concatenate(values)),
            (p.large.body, body),
            (p.rows.on, np.ones(N_ROWS)),
            (p.large.row_gain, self.gains),
            (self.x, self.given),
            (p.large.steps, [0]),
            (p.rows.impulse, self.impulses[0]),
            *of_triples,
            (p.push, np.zeros(LINEAR_N)),
            (p.free, np.ones(LINEAR_N)),
            (p.stated, [N_CONTACTS]),
        ):
            slot.write(np.asarray(array, float).reshape(1, slot.n_items, slot.width))

    def read(self, slot):
        return slot.read()[0, :, 0] if slot.width == 1 else slot.read()[0]


@pytest.fixture(scope="module", params=[1, *(pytest.param(room, marks=pytest.mark.slow) for room in (64, 0))])
def bench(request):
    """With room for the factors of all bodies, of joints alone, and of none.

    Factors of all bodies are those of test_complementarity.py, too.
    """
    with pytest.MonkeyPatch.context() as patch:
        made = Bench(live_device(), patch, request.param)
    return request.param, made  # other tests of the file have the room that worlds have


def close(found, expected, factor=1.0):
    assert np.abs(found - expected).max() < factor * ROUNDING * np.abs(expected).max()


def test_large_worlds_solve_as_numpy(bench):
    room, one = bench
    p, G = one.problem, one.gains
    close(one.read(p.rows.speed), one.rows @ one.given)
    for side, seen in zip(p.triples, one.triples, strict=True):
        close(one.read(side.speed), seen @ one.given)
    dense = one.mass + one.rows.T @ (G[:, None] * one.rows)
    dense += np.einsum("kcia,kcij,kcjb->ab", one.triples, one.blocks, one.triples)
    close(one.read(one.product), dense @ one.given)
    close(one.read(one.x), np.linalg.solve(dense, one.given))
    pulled = one.rows.T @ one.impulses[0] + np.einsum("kcia,kci->a", one.triples, one.impulses[1])
    close(one.read(p.trial), 1.0 + np.linalg.solve(one.mass, pulled))
    state, steps = int(p.large.graph.notes.memory[0, p.large.graph.state, 0]), one.read(p.large.steps)[0]
    assert (state, steps > 1) == ((COMPLETE, False) if room > 1 else (OPEN, True))


def test_large_worlds_have_the_metric_of_numpy(bench):
    _, one = bench
    p, inverse = one.problem, np.linalg.inv(one.mass)
    rows = np.einsum("ra,ab,rb->r", one.rows, inverse, one.rows)
    close(one.read(p.rows.metric), np.where(rows > 0, rows, 1))
    for side, seen in zip(p.triples, one.triples, strict=True):
        n, a, b = np.einsum("cia,ab,cib->ic", seen, inverse, seen)
        expected = np.stack((n, (a + b) / 2, (n + a + b) / 3 if side is p.contacts else (a + b) / 2), axis=1)
        close(one.read(side.metric), np.where(expected > 0, expected, 1))


slow = pytest.mark.slow
BOX, SPHERE = {"type": "box", "size": [0.2, 0.18, 0.16]}, {"type": "sphere", "radius": 0.1}
# Units of each, or relative to the largest; a step may lack 1e-6 m/s, but both ways lack nearly the same.
SAME = {
    "frames/body_q": 1e-10,
    "frames/body_qd": 1e-8,
    "frames/joint_q": 1e-10,
    "energy/total": 1e-8,
    "diag/penetration": 1e-10,
}
FORCES = {"frames/joint_effort": 1e-6, "frames/joint_wrench": 1e-6, "frames/multiplier": 1e-6}
PASSES, TOLERANCE = 40, 1e-8  # [1], [m/s], the tolerance of contact where nothing is said
# Islands of the sparse one have iterations of their own: so that both find the same digits they search farther.
FINELY = {"passes": PASSES, "tolerance": 1e-10}
JOINED = 1e-7  # [m], contact-solver.md, section 10, twice: the payload meets the ground
DRIFT = 1e-4  # [m] in a second, issue 5
LARGE_SOLVED = 1e-5  # [m/s], contact-solver.md, section 10: median of the residuals of heaps
GAIN = 1e-4  # [1] of the energy at the start, in a step; likewise


def both_ways(folder, content):
    """Runs of a scene, dense and sparse."""
    seen = []
    for way in ("dense", "sparse"):
        solver = {**content["solver"], "contact": {**content["solver"].get("contact", {}), "linear": way}}
        code, found = run(folder, way, {**content, "solver": solver})
        assert code == 0
        seen.append(found)
    return seen


def assert_same(dense, sparse, columns=SAME):
    for name, tolerance in columns.items():
        one, other = (seen.column(name)[:] for seen in (dense, sparse))
        assert np.abs(one - other).max() < tolerance * max(1.0, np.abs(one).max()), name


@slow
def test_every_kind_of_row_is_the_same(tmp_path):
    """One step needs 40 passes: the pusher wedges a ball. Forces are compared of what both have solved."""
    dense, sparse = both_ways(tmp_path, scene("maximal", 5e-3, 0.2, fair(), contact=FINELY))
    assert max(seen.diag.residual[:].max() for seen in (dense, sparse)) < TOLERANCE
    assert_same(dense, sparse, SAME | FORCES)
    assert dense.diag.contacts[:].max() > 4
    assert np.abs(dense.column("frames/joint_effort")[:]).max() > 1


@slow
def test_a_chain_with_a_heavy_end_is_the_same(tmp_path):
    """30 balls and a payload a thousand times as heavy as a link, which falls on the ground."""
    content = chain(30, 1000.0)
    content["world"]["shapes"]["ground"]["offset"] = -0.2
    dense, sparse = both_ways(tmp_path, scene("maximal", 0.01, 0.3, content))
    assert_same(dense, sparse)
    assert dense.diag.contacts[-1, 0] == 1
    assert sparse.diag.position_violation[:].max() < JOINED


@slow
@pytest.mark.parametrize("solver", ["generalized", "maximal"])
def test_a_heap_is_the_same(solver, tmp_path):
    """Until they have fallen on each other; then the same digits grow apart, as they do for any two orders of sums."""
    dense, sparse = both_ways(tmp_path, scene(solver, 0.01, 0.13, heap(3, 2, BOX), contact=FINELY))
    assert_same(dense, sparse)
    assert dense.diag.contacts[:].max() > 40


@slow
def test_a_wall_of_many_bricks_stands(tmp_path):
    code, seen = run(tmp_path, "wall", scene("maximal", 0.01, 1.0, brick_wall(10, 10)))
    assert code == 0
    place = np.array([body.position[:, 0] for body in map(seen.body, seen.bodies)])
    assert np.abs(place - place[:, :1]).max() < DRIFT


@slow
def test_a_heap_of_many_boxes_settles(tmp_path):
    content = scene("maximal", 0.01, 1.5, heap(3, 3, BOX), contact={"passes": 10})
    code, seen = run(tmp_path, "heap", content, "--set", "run.on_unsolved.action=warn")
    assert code == 0
    residual, energy = seen.diag.residual[1:, 0], seen.energy.total[:, 0]
    assert np.median(residual) < LARGE_SOLVED
    assert np.diff(energy).max() < GAIN * energy[0]
    assert seen.energy.kinetic[-1, 0] < 1e-6 * energy[0]


@slow
def test_a_thousand_spheres_fall(tmp_path):
    code, seen = run(tmp_path, "spheres", scene("maximal", 0.01, 0.3, heap(10, 10, SPHERE)))
    assert code == 0
    assert np.isfinite(seen.column("frames/body_q")[:]).all()
    assert seen.diag.contacts[-1, 0] > 1000  # one for each sphere; those that fall side by side are not watched
