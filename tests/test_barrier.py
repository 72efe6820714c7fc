"""Barrier contact alone: laws by differences, curvature, free parts of ways against many samples, closed forms.

Stacks on flat faces: nothing pushes a corner along a face, what friction holds stays, and stacks lean to a balance.

Scenes with barrier contact at the door: what is refused, and where; and the matrix that contact needs.
"""

from itertools import pairwise

import numpy as np
import pytest
from support.barriers import Bench, Drop, box_mesh, rest_gap
from support.contacts import read_model, scene
from support.device import live_device
from support.scenes import faults_of
from support.scenes import scene as write_scene
from support.stacks import balanced

from simcli import rotations as rot
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.pack_arrays import INTS, REALS
from simcli.kernels.device.sparse_factors import SkylineMatrix, factorize_skyline, packed_index, substitute_skyline
from simcli.kernels.language import ti
from simcli.model import build
from simcli.model.bodies.surfaces import surfaces
from simcli.model.forms.affine_inputs import affine_form
from simcli.model.joints.state import State
from simcli.solvers import RunPlan
from simcli.solvers.affine.memory import AffineCore
from simcli.spec import resolve

SHAPES = {
    "ball": "{type: sphere, radius: 0.3}",
    "box": "{type: box, size: [0.5, 0.7, 0.9]}",
    "capsule": "{type: capsule, radius: 0.2, length: 0.6}",
    "mesh": "{type: mesh, file: rock.obj}",
}
N = 24  # worlds
NEAR = 0.3  # [m]
GIVE = 1e-2  # [m]
STEP = 1e-6  # of differences
CLOSE = 2e-6  # relative error of second differences with it: STEP^2 times the fourth derivative, and 1e-16 / STEP
ROUND = 1e-12  # [1], rounding of eigenvalues relative to the largest entry
SAMPLES = 400  # along a way


FIRST, SECOND = ("ball", "box", "capsule"), ("box", "capsule", "mesh")
BODIES = [f"{side}_{key}" for side, keys in (("a", FIRST), ("b", SECOND)) for key in keys]
# Of bodies that `meeting` does not bring together.
APART = "contact: {exclude: [[a_ball, a_capsule]], pairs: [{a: a_ball/it, b: a_box/it, friction: 0.7}]}\n"


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Six bodies of one shape each, and ground."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.spec.checks.solver_fields.check_capabilities", lambda check, tree: None)
        text = scene({"ground": "{type: plane}"}, {name: {"it": SHAPES[name[2:]]} for name in BODIES}, APART)
        model = read_model(tmp_path_factory.mktemp("scene"), text)
    bench = Bench(model, live_device(), N, NEAR, give=GIVE)
    yield bench
    bench.destroy()


def affine(R, x):
    """Twelve numbers p, a_1, a_2, a_3 of bodies."""
    return np.concatenate([x, np.swapaxes(R, -1, -2).reshape(*x.shape[:-1], 9)], axis=-1)


def rotations(rng, *shape):
    q = rng.normal(size=(*shape, 4))
    return rot.quat_to_matrix(q / np.linalg.norm(q, axis=-1, keepdims=True))


def meeting(bench, rng, gap, parallel=0.0):
    """Coordinates in which two bodies, others in each world, are about a gap apart, and which these are.

    They are turned by at most `parallel` against each other, if it is not 0, and else somehow, and a little deformed.

    Returns:
        (W, 12 B), and (W, 24) the numbers of these two.
    """
    host, n_bodies = bench.host, len(BODIES)
    A = rotations(rng, N, n_bodies)
    x = np.tile(100.0 * np.arange(1.0, n_bodies + 1)[:, None], (N, 1, 3))
    chosen = np.array([(w % 3, 3 + w // 3 % 3) for w in range(N)])
    for w, (i, j) in enumerate(chosen):
        A[w, (i, j)] += 0.02 * rng.normal(size=(2, 3, 3)) * (parallel == 0.0)
        if parallel:
            A[w, j] = rot.quat_to_matrix(rot.unit(np.append(rng.normal(size=3) * parallel, 1.0))) @ A[w, i]
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        up, down = (host.vertex[0, slice(*host.vertex_start[b : b + 2])] @ A[w, b].T for b in (i, j))
        apart = host.radius[0, i] + host.radius[0, j] + gap * rng.uniform(0.3, 1.0)
        x[w, j] = x[w, i] + up[np.argmax(up @ n)] + n * apart - down[np.argmin(down @ n)]
        x[w, j] += 0.05 * np.cross(n, rng.normal(size=3))
    numbers = (12 * chosen[:, :, None] + np.arange(12)).reshape(N, 24)
    return affine(A, x).reshape(N, -1), numbers


def at(numbers, values):
    """Values of the numbers of the two bodies, 0 of the others, (W, 12 B)."""
    whole = np.zeros((N, 12 * len(BODIES)))
    np.put_along_axis(whole, numbers, values, axis=1)
    return whole


def of_two(numbers, curve):
    """Rows and columns of the two bodies, (W, 24, 24)."""
    return np.array([one[np.ix_(which, which)] for one, which in zip(curve, numbers, strict=True)])


@pytest.mark.parametrize("parallel", [0.0, 0.01])
def test_gradient_and_curvature_are_differences_of_the_energy(bench, parallel):
    rng = np.random.default_rng(3)
    x, two = meeting(bench, rng, 0.8 * NEAR, parallel)
    bench.begin(x)
    x = x + at(two, 0.5 * GIVE * rng.normal(size=(N, 24)))  # friction slips, by less than it needs to be full and by more
    energy, barrier, least = bench.energy(x)
    assert (least > 0).all()
    assert (energy > barrier).sum() > N / 2
    gradient, projected = bench.curve(x)
    same, exact = bench.curve(x, exact=True)
    assert np.array_equal(gradient, same)
    slope, curve = np.zeros((N, 24)), np.zeros((N, 24, 24))
    for k in range(24):
        dx = at(two, STEP * np.tile(np.eye(24)[k], (N, 1)))
        slope[:, k] = (bench.energy(x + dx)[0] - bench.energy(x - dx)[0]) / (2 * STEP)
        curve[:, :, k] = np.take_along_axis(bench.curve(x + dx)[0] - bench.curve(x - dx)[0], two, axis=1) / (2 * STEP)
    gradient, projected, exact = np.take_along_axis(gradient, two, axis=1), of_two(two, projected), of_two(two, exact)
    size, most = np.abs(gradient).max(axis=1), np.abs(exact).max(axis=(1, 2))
    assert (np.abs(slope - gradient).max(axis=1) <= CLOSE * np.maximum(size, STEP * most)).all()
    assert (np.abs(curve - exact).max(axis=(1, 2)) <= CLOSE * most).all()
    assert (np.linalg.eigvalsh(projected).min(axis=1) >= -ROUND * most).all()
    assert (np.linalg.eigvalsh(projected - exact).min(axis=1) >= -ROUND * most).all()


def test_free_parts_of_ways_touch_nothing_and_waste_little(bench):
    rng = np.random.default_rng(4)
    x, two = meeting(bench, rng, 0.2 * NEAR)
    bench.begin(x)
    start = bench.energy(x)[2]
    p, q = (np.take_along_axis(x, two[:, k : k + 3], axis=1) for k in (0, 12))
    way = rng.normal(size=(N, 24)) * np.tile([1.0] * 3 + [0.5] * 9, 2)
    way[:, 12:15] -= 3.0 * (q - p)  # towards each other
    dx = at(two, way)
    part = bench.free_part(x, dx)
    assert (part > 0).all()
    assert (part < 1).sum() > N / 2
    least = np.min([bench.energy(x + t * part[:, None] * dx)[2] for t in np.linspace(0, 1, SAMPLES)], axis=0)
    assert (least >= 0.1 * start * (1 - 1e-9)).all()
    at_end = bench.energy(x + part[:, None] * dx)[2]
    assert (at_end[part < 1] <= 0.2 * NEAR).all()


def test_a_way_along_a_surface_is_free(bench):
    place = 100.0 * np.arange(len(BODIES))[:, None] * (1.0, 0.0, 0.0) + (0.0, 0.0, 0.7)
    x = np.tile(affine(np.tile(np.eye(3), (len(BODIES), 1, 1)), place).ravel(), (N, 1))
    dx = np.zeros_like(x)
    dx[:, 0::12] = np.linspace(0.0, 50.0, N)[:, None]
    assert (bench.begin(x) > 0).all()
    assert (bench.free_part(x, dx) == 1.0).all()
    dx[:, 2::12] = -1.0
    assert bench.free_part(x, dx) == pytest.approx(np.full(N, 0.9 * (0.7 - 0.5)), rel=1e-12)  # of the capsule


SIZE, RADIUS = np.array([0.5, 0.7, 0.9]), 0.3  # [m], of the box and of the ball
SLIDE = 1e-9  # [m] to either side of an inner edge
SAME = 1e-11  # relative, rounding of places
UP = np.array([0.0, 0.0, 5.0])  # [m], far from the ground


def law(gap):
    """The barrier of a gap and its slope, at stiffness 1."""
    square = np.minimum(gap**2 - NEAR**2, 0.0)
    log = np.log(np.minimum(gap / NEAR, 1.0) ** 2)
    return -(square**2) * log, -(4.0 * gap * square * log + 2.0 * square**2 / gap)


def faces_of_a_box(p):
    """Energy of a ball at p about a box at the origin, and its slope: the sum over the six faces, each one feature."""
    energy, slope = np.zeros(len(p)), np.zeros_like(p)
    for axis in range(3):
        for side in (-0.5, 0.5):
            q = np.clip(p, -0.5 * SIZE, 0.5 * SIZE)
            q[:, axis] = side * SIZE[axis]
            far = np.linalg.norm(p - q, axis=1)
            own, pull = law(far - RADIUS)
            energy += own
            slope += (pull / far)[:, None] * (p - q)
    return energy, slope


def ball_at(bench, p):
    """Energies, and slopes by the place, of a ball that is p from a box, in every world."""
    places = np.tile(100.0 * np.arange(1.0, len(BODIES) + 1)[:, None] * np.ones(3), (N, 1, 1))
    places[:, BODIES.index("b_box")] = UP
    places[:, BODIES.index("a_ball")] = UP + p
    x = affine(np.tile(np.eye(3), (N, len(BODIES), 1, 1)), places).reshape(N, -1)
    bench.begin(x)
    first = 12 * BODIES.index("a_ball")
    return bench.energy(x)[1], bench.curve(x)[0][:, first : first + 3]


def test_a_flat_face_is_one_feature_whatever_its_triangles_are(bench):
    """Above the faces and beside them; the slope is as smooth where a point slides over an inner edge or past an end."""
    rng = np.random.default_rng(6)
    for axis in range(3):
        u, v = (k for k in range(3) if k != axis)
        p = np.zeros((N, 3))
        p[:, axis] = 0.5 * SIZE[axis] + RADIUS + rng.uniform(0.02, 0.1, N)
        p[:, [u, v]] = rng.uniform(-0.6, 0.6, (N, 2)) * SIZE[[u, v]]
        across = np.zeros(3)
        across[[u, v]] = SIZE[v], -SIZE[u]
        p[: N // 2, [u, v]] = rng.uniform(-0.55, 0.55, (N // 2, 1)) * SIZE[[u, v]]  # on a diagonal, and past its ends
        p[: N // 4, v] *= -1.0  # on the other one
        found = [ball_at(bench, p + sign * SLIDE * across) for sign in (-1.0, 0.0, 1.0)]
        energy, slope = faces_of_a_box(p)
        assert found[1][0] == pytest.approx(energy, rel=SAME)
        assert found[1][1] == pytest.approx(slope, abs=SAME * np.abs(slope).max())
        for k in range(2):
            steps = np.ptp([one[k] for one in found], axis=0)
            assert steps.max() < 1e2 * SLIDE * np.abs(slope).max()


def test_worlds_do_not_depend_on_their_neighbours(bench):
    rng = np.random.default_rng(5)
    x, _ = meeting(bench, rng, 0.8 * NEAR)
    bench.begin(x)
    energy, (gradient, curve) = bench.energy(x)[0], bench.curve(x)
    order = rng.permutation(N)
    bench.begin(x[order])
    other, (gradient_2, curve_2) = bench.energy(x[order])[0], bench.curve(x[order])
    assert np.array_equal(energy[order], other)
    assert np.array_equal(gradient[order], gradient_2)
    assert np.array_equal(curve[order], curve_2)


def test_candidates_stand_in_the_order_of_the_pairs(bench):
    """Bodies in a heap: the rule of who can touch on the device gives the list on the host, with its numbers."""
    place = 0.35 * np.array([(k % 3, k // 3, 1.0) for k in range(len(BODIES))])
    x = np.tile(affine(np.tile(np.eye(3), (len(BODIES), 1, 1)), place).ravel(), (N, 1))
    c, pairs = bench.barrier, bench.model.contacts.pairs
    n = int(bench.begin(x)[0])
    assert n <= c.candidates.capacity
    corner, combination = (slot.read()[0, :, 0].astype(int) for slot in (c.candidates.corner, c.candidates.combination))
    shape = np.repeat(np.arange(len(bench.host.core)), np.diff(bench.host.vertex_start))[corner.reshape(-1, 4)[:n, [0, 2]]]
    met = list(dict.fromkeys(zip(*np.sort(shape, axis=1).T.tolist(), combination[:n].tolist(), strict=True)))
    listed = zip(*np.sort(pairs[:2], axis=0).tolist(), pairs.combination.tolist(), strict=True)
    assert met == list(listed)
    assert len(met) == 7 * 6 / 2 - 1  # with the ground, but for the two that are kept apart


def test_tables_grow_with_the_bodies_and_no_faster():
    """Columns that all worlds share, of all that the solver has: balls over a plane."""
    sizes = []
    for count in (50, 100, 200):
        document = write_scene(balls(count))
        spec = resolve(document)
        model = build(spec, document)
        arena = Arena(live_device().for_worlds(1), 1)
        AffineCore(affine_form(model, State.of(model)), spec.solver, RunPlan(1e-3, 1, 1, frozenset(("state",))), arena)
        n = arena.lay_out()
        sizes.append((n[INTS], n[REALS]))
    first, second = (np.subtract(b, a) for a, b in pairwise(sizes))
    assert (second == 2 * first).all()


def balls(count):
    """A scene of free balls over a plane."""
    ball = "shapes: {s: {type: sphere, radius: 0.1, density: 900}}"
    lines = "".join(f"  b{k}: {{pose: {{xyz: [{k}, 0, 1]}}, {ball}}}\n" for k in range(count))
    head = "world: {shapes: {ground: {type: plane}}}\nsolver: {type: affine, dt: 1e-3}\nrun: {duration: 1}\nbodies:\n"
    return head + lines


def test_surfaces_have_the_features_that_count(bench):
    host = bench.host
    for s, name in enumerate([*BODIES, "ground"]):
        v, e, f = (int(np.diff(column)[s]) for column in (host.vertex_start, host.edge_start, host.face_start))
        if name.endswith("box"):
            assert (v, e, f) == (8, 12, 12)
        elif name.endswith("ball"):
            assert (v, e, f) == (1, 0, 0)
        elif name.endswith("capsule"):
            assert (v, e, f) == (2, 1, 0)
        elif name.endswith("mesh"):
            assert v - f / 2 == 2  # Euler's formula: three edges per two triangles


def test_curved_surfaces_tell_how_far_they_lie_inside(tmp_path, all_supported):
    text = scene(
        {"ground": "{type: plane}"},
        {
            "a": {
                "drum": "{type: cylinder, radius: 0.3, length: 0.7}",
                "hat": "{type: cone, radius: 0.3, length: 0.7}",
                "egg": "{type: ellipsoid, radii: [0.3, 0.3, 0.3]}",
            }
        },
    )
    model = read_model(tmp_path, text)
    for segments in (8, 16, 32):
        host = surfaces(model, segments)
        rim = 0.3 * (1 - np.cos(np.pi / segments))
        told = dict(zip(model.shapes.name, host.deviation, strict=True))
        assert [told[name] for name in ("a/drum", "a/hat", "ground")] == pytest.approx([rim, rim, 0.0])
        egg = model.shapes.name.index("a/egg")
        corner = host.vertex[0][host.face[slice(*host.face_start[egg : egg + 2])]]
        weights = np.random.default_rng(0).dirichlet(np.ones(3), 200)
        radius = np.linalg.norm(np.einsum("nk,fkx->fnx", weights, corner), axis=-1)
        assert 0.5 * told["a/egg"] < 0.3 - radius.min() <= told["a/egg"]
        assert radius.max() <= 0.3 * (1 + 1e-12)


FLAT_SIZE, MASS, D_HAT, FLAT_N = 0.2, 8.0, 1e-3, 5  # [m], [kg], [m], cubes
KAPPA = 1e3 / D_HAT**3  # [J/m^4], where nobody says
DT = 5e-3  # [s]
STILL = 1e-6  # [m], sideways, from the start on
CREEP = 5e-8  # [m/s], of the last of what the fall leaves; a law of the slip creeps by 3.8e-7 here, and does not end
FLAT_SAME = 1e-2  # relative: statics of rigid cubes, whose own strain tilts the faces by half a percent as much
ASIDE = [
    0.01 * np.outer(k, (1.0, 1.0)) for k in (np.arange(FLAT_N) % 2, np.arange(FLAT_N))
]  # in turn, and all in one direction


def starts():
    """Centres and slopes of the cubes in four worlds: both stacks in their balance, then both level at equal gaps."""
    worlds = [balanced(aside, FLAT_SIZE, MASS, D_HAT, KAPPA) for aside in ASIDE]
    gap = rest_gap(MASS * 9.81 * FLAT_N / 8, D_HAT, KAPPA)
    height = (FLAT_SIZE + gap) * (np.arange(FLAT_N)[:, None] + 1.0) - 0.5 * FLAT_SIZE
    return worlds + [(np.column_stack((aside, height)), np.zeros((FLAT_N, 2))) for aside in ASIDE]


def stack(worlds, duration):
    """Five cubes in a world each."""
    lines, vary = [], []
    for b in range(FLAT_N):
        numbers = {
            f"{name}{b}": [float(x) for x in column]
            for name, column in zip(
                "xyzrp",
                (
                    *np.transpose([place[b] for place, _ in worlds]),
                    *np.transpose([(slope[b, 1], -slope[b, 0]) for _, slope in worlds]),
                ),
                strict=True,
            )
        }
        vary += [f"params.{name}: {{list: {values}}}" for name, values in numbers.items()]
        x, y, z, r, p = (f'"${{{name}}}"' for name in numbers)
        box = f"{{type: box, size: [{FLAT_SIZE}, {FLAT_SIZE}, {FLAT_SIZE}]}}"
        lines.append(f"  c{b}: {{pose: {{xyz: [{x}, {y}, {z}], rpy: [{r}, {p}, 0]}}, shapes: {{it: {box}}}}}")
    params = ", ".join(f"{line.split(':')[0].removeprefix('params.')}: 0" for line in vary)
    head = [
        "world: {shapes: {ground: {type: plane}}}",
        "materials: {stone: {friction: 0.5}}",
        f"params: {{{params}}}",
        f"batch: {{worlds: {len(worlds)}, vary: {{{', '.join(vary)}}}}}",
        "defaults: {shape: {density: 1000, material: stone}}",
        "bodies:",
    ]
    return "\n".join(
        [*head, *lines, f"solver: {{type: affine, dt: {DT}, contact: {{d_hat: {D_HAT}}}}}", f"run: {{duration: {duration}}}"]
    )


def settled(run, since):
    """Places sideways at every step, after what every stack must show: no creep since then, and nothing crosses."""
    place = run.columns["frames/body_q"][..., :2]
    late = place[round(since / DT) :]
    assert np.abs(late[-1] - late[0]).max() < CREEP * DT * (len(late) - 1)
    for world in range(place.shape[1]):
        assert run.crossings([box_mesh((FLAT_SIZE,) * 3)] * FLAT_N, -1, world) == []
    assert (run.columns["diag/gap"] > 0).all()
    assert run.columns["diag/status"].max() == 0
    assert (np.diff(run.columns["energy/dissipated"], axis=0) >= 0).all()
    return place


@pytest.mark.parametrize(("duration", "since"), [(0.8, 0.7), pytest.param(5.0, 1.0, marks=pytest.mark.slow)])
def test_a_stack_stays_where_it_balances(tmp_path, duration, since):
    place = settled(Drop(stack(starts()[:2], duration), live_device(), tmp_path), since)
    assert np.abs(place - place[0]).max() < STILL


@pytest.mark.slow
def test_a_level_stack_leans_to_its_balance_and_no_farther(tmp_path):
    place = settled(Drop(stack(starts()[2:], 5.0), live_device(), tmp_path), 1.0)
    expected = np.array([at[:, :2] - aside for (at, _), aside in zip(starts(), ASIDE, strict=False)])
    assert place[-1] - place[0] == pytest.approx(expected, rel=FLAT_SAME)


START = """
world: {shapes: {ground: {type: plane}}}
materials:
  good: {friction: 0.4, friction_static: 0.4}
  far: {restitution: 0.9}
bodies:
  ball: {pose: {xyz: [0, 0, 1]}, shapes: {it: {type: sphere, radius: 0.1, density: 100, material: good}}}
run: {duration: 1}
"""
SOLVER = "solver: {type: affine, dt: 0.01}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("contact: {pairs: [{a: ball, b: ground, restitution: 0.1}]}\n" + SOLVER, "restitution"),
        ("contact: {pairs: [{a: ball, b: ground, rolling_friction: 1e-3}]}\n" + SOLVER, "rolling friction"),
        ("contact: {pairs: [{a: ball, b: ground, torsional_friction: 1e-3}]}\n" + SOLVER, "torsional friction"),
        ("contact: {pairs: [{a: ball, b: ground, friction: 0.3, friction_static: 0.5}]}\n" + SOLVER, "static friction"),
        ("contact: {enabled: true}\nsolver: {type: affine, dt: 0.01, precision: float32}\n", "single precision"),
        ("contact: {pairs: [{a: ball, b: ground, d_hat: 1 mm}]}\nsolver: {type: maximal, dt: 0.01}\n", "`d_hat` of a pair"),
        (
            "contact: {pairs: [{a: ball, b: ground, barrier_stiffness: 1e9}]}\nsolver: {type: maximal, dt: 0.01}\n",
            "`barrier_stiffness` of a pair",
        ),
    ],
)
def test_what_the_barrier_does_not_know_is_refused_by_name(text, words):
    found = faults_of(text, START)
    assert [code for code, _, _ in found] == ["SC501"]
    assert words in found[0][2]
    assert found[0][1] == 0


def test_materials_that_nothing_collides_with_may_say_anything():
    assert faults_of(SOLVER, START) == []
    assert faults_of("contact: {pairs: [{a: ball, b: ground, d_hat: 2 mm, barrier_stiffness: 1e9}]}\n" + SOLVER, START) == []


@ti.kernel
def solve(m: ti.template()):
    for w in range(m.arena.n_blocks):
        m.arena.enter(w)
        factorize_skyline(m, w)
        substitute_skyline(m, w)


@pytest.mark.parametrize("worlds", [1, 5])
def test_the_skyline_solves_whatever_is_zero_in_some_worlds(worlds):
    n_bodies = 5
    n = 12 * n_bodies
    rng = np.random.default_rng(worlds)
    A = rng.normal(size=(worlds, n, n))
    A = A + np.swapaxes(A, 1, 2) + 3 * n * np.eye(n) * np.where(np.arange(n) == n - 1, -1.0, 1.0)  # and indefinite
    body = np.arange(n) // 12
    for w in range(worlds):
        A[w] *= np.abs(body[:, None] - body) <= 1 + w % 3  # each world has its own pattern
    b = rng.normal(size=(worlds, n))
    device = live_device().for_worlds(worlds)
    arena = Arena(device, worlds)
    m = SkylineMatrix(n_bodies, arena)
    arena.build()
    lower = np.tril_indices(n)
    assert packed_index(n, 0) == len(lower[0])
    m.value.write(A[:, *lower][..., None])
    m.x.write(b[..., None])
    arena.launch(solve, m)
    assert m.x.read()[..., 0] == pytest.approx(np.linalg.solve(A, b[..., None])[..., 0], rel=1e-11, abs=1e-14)
    assert (m.inverse.read()[..., 0] < 0).sum() == worlds
    arena.destroy()
