"""What differs between worlds: values keyed by seed, path and draw; refusals by name."""

import math

import numpy as np
import pytest

from simcli.errors import SceneError
from simcli.spec import load_document, resolve, world_seeds, world_values
from simcli.spec.batches import sobol

BASE = """\
simcli: 1
params: {L: 0.4, n: 2}
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, com: ["${L}", 0, 0]}
joints:
  pin: {type: revolute, parent: world, child: a, damping: 0.1}
models: {m: {bodies: {b: {mass: 1, inertia: {diag: [1, 1, 1]}}}}}
replicate: {r: {model: m, count: "${n}", spacing: [1, 0, 0]}}
run: {duration: 1}
"""
FIRST = [0.4536003613186802, 0.5733545548381799, 0.5087136290597257]
MEAN = 5.0  # standard errors: chance of a false alarm below 1e-6


def document(tmp_path, vary, worlds=4, seed=0, base=BASE):
    path = tmp_path / "scene.yaml"
    lines = "".join(f"    {name}: {how}\n" for name, how in vary.items())
    path.write_text(f"{base}batch:\n  worlds: {worlds}\n  seed: {seed}\n  vary:\n{lines}")
    return load_document(path)


def values(tmp_path, vary, worlds=4, seed=0, base=BASE):
    doc = document(tmp_path, vary, worlds, seed, base)
    return world_values(resolve(doc))


def column(worlds, path):
    return np.array([world[path] for world in worlds])


def test_nothing_varies(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(BASE + "batch: {worlds: 3}\n")
    doc = load_document(path)
    spec = resolve(doc)
    assert world_values(spec) == [{}, {}, {}]
    assert len(set(world_seeds(spec))) == 3


def test_grids_multiply_and_share_their_draws(tmp_path):
    vary = {"joints.pin.damping": "{uniform: [0, 1]}", "params.L": "{grid: [1, 2, 3]}", "bodies.a.mass": "{grid: [7, 8 kg]}"}
    worlds = values(tmp_path, vary)
    assert len(worlds) == 4 * 6
    assert [world["params.L"] for world in worlds] == [1.0] * 8 + [2.0] * 8 + [3.0] * 8
    assert [world["bodies.a.mass"] for world in worlds] == ([7.0] * 4 + [8.0] * 4) * 3
    draws = column(worlds, "joints.pin.damping").reshape(6, 4)
    assert (draws == draws[0]).all()


def test_draw_k_depends_on_seed_path_and_k_alone(tmp_path):
    how = {"joints.pin.damping": "{uniform: [0, 1]}"}
    alone = column(values(tmp_path, how, 8), "joints.pin.damping")
    more = column(
        values(tmp_path, {"bodies.a.mass": "{uniform: [1, 2]}", **how, "params.L": "{grid: [1, 2]}"}, 50),
        "joints.pin.damping",
    )
    assert (more[:8] == alone).all()
    assert (more[50:58] == alone).all()
    other = column(values(tmp_path, how, 8, seed=1), "joints.pin.damping")
    assert not np.isclose(other, alone).any()
    mass = column(values(tmp_path, {"bodies.a.mass": "{uniform: [0.1, 1.1]}"}, 8), "bodies.a.mass") - 0.1
    assert not np.isclose(mass, alone).any()


def test_draws_are_these_for_ever(tmp_path):
    """The first draws of seed 7, so that a change of the generator cannot go unseen."""
    got = column(values(tmp_path, {"joints.pin.damping": "{uniform: [0, 1]}"}, 3, seed=7), "joints.pin.damping")
    assert got == pytest.approx(FIRST, abs=0)


def test_distributions(tmp_path):
    n = 4096
    vary = {
        "joints.pin.damping": "{uniform: [2, 4]}",
        "bodies.a.mass": "{normal: [10, 0.5]}",
        "joints.pin.armature": "{log_uniform: [1e-3, 10]}",
    }
    worlds = values(tmp_path, vary, n)
    even, normal, log = (column(worlds, path) for path in vary)
    assert even.min() >= 2
    assert even.max() < 4
    assert abs(even.mean() - 3) < MEAN * 2 / math.sqrt(12 * n)
    assert abs(normal.mean() - 10) < MEAN * 0.5 / math.sqrt(n)
    assert abs(normal.std() / 0.5 - 1) < MEAN / math.sqrt(2 * n)
    share = np.log(log / 1e-3) / math.log(1e4)
    assert (log >= 1e-3).all()
    assert (log <= 10).all()
    assert abs(share.mean() - 0.5) < MEAN / math.sqrt(12 * n)


def test_linspace_and_list(tmp_path):
    got = values(tmp_path, {"joints.pin.damping": "{linspace: [0, 3]}", "joints.pin.q": "{list: [0, 10 deg, 1, 2]}"})
    assert column(got, "joints.pin.damping").tolist() == [0, 1, 2, 3]
    assert column(got, "joints.pin.q") == pytest.approx([0, math.radians(10), 1, 2])
    one = values(tmp_path, {"joints.pin.damping": "{linspace: [2, 3]}"}, 1)
    assert column(one, "joints.pin.damping").tolist() == [2]
    gravity = values(tmp_path, {"world.gravity": "{list: [[0, 0, -1], [0, 0, -2]]}"}, 2)
    assert gravity[1]["world.gravity"] == [0, 0, -2]


def test_sobol_fills_every_interval_once(tmp_path):
    vary = {"joints.pin.damping": "{sobol: [0, 1]}", "bodies.a.mass": "{sobol: [1, 2]}"}
    worlds = values(tmp_path, vary, 64)
    x, y = column(worlds, "joints.pin.damping"), column(worlds, "bodies.a.mass") - 1
    assert sorted((x * 64).astype(int)) == list(range(64))
    assert sorted((y * 64).astype(int)) == list(range(64))
    # A (0, 6, 2)-net: every elementary box of area 1/64 holds one point.
    for cut in range(7):
        boxes = set(zip((x * 2**cut).astype(int), (y * 2 ** (6 - cut)).astype(int), strict=True))
        assert len(boxes) == 64


def test_direction_numbers():
    """Every polynomial is primitive and used once; the first numbers are odd and small enough."""
    seen = set()
    for dimension in range(1, sobol.MAX_DIMENSIONS):
        coefficients, m = sobol._DIRECTIONS[dimension - 1]
        degree = len(m)
        polynomial = 1 << degree | coefficients << 1 | 1
        assert polynomial not in seen
        seen.add(polynomial)
        state, period = 2 % (1 << degree) if degree > 1 else 1, 1
        start = state
        while True:
            state = state << 1
            if state >> degree & 1:
                state ^= polynomial
            if state == start:
                break
            period += 1
            assert period < 2**degree
        assert degree == 1 or period == 2**degree - 1
        assert all(value % 2 == 1 and value < 2**i for i, value in enumerate(m, start=1))


@pytest.mark.parametrize("dimension", range(sobol.MAX_DIMENSIONS))
def test_every_dimension_is_even(dimension):
    points = sobol.points(dimension, 256)
    assert sorted(int(x * 256) for x in points) == list(range(256))
    shifted = sobol.points(dimension, 256, shift=0x1234567890ABC)
    assert sorted(int(x * 256) for x in shifted) == list(range(256))


@pytest.mark.parametrize(
    ("path", "how", "code"),
    [
        ("solver.dt", "{uniform: [1e-3, 1e-2]}", "SC317"),
        ("run.duration", "{grid: [1, 2]}", "SC317"),
        ("output.every", "{grid: [0.1, 0.2]}", "SC317"),
        ("batch.worlds", "{grid: [1, 2]}", "SC317"),
        ("batch.seed", "{grid: [1, 2]}", "SC317"),
        ("simcli", "{grid: [1, 2]}", "SC317"),
        ("name", "{grid: [1, 2]}", "SC317"),
        ("joints.pin.type", "{grid: [1, 2]}", "SC317"),
        ("joints.pin", "{grid: [1, 2]}", "SC317"),
        ("joints.pin.enabled", "{grid: [0, 1]}", "SC317"),
        ("replicate.r.count", "{grid: [1, 2]}", "SC317"),
        ("params.n", "{grid: [1, 2]}", "SC317"),
        ("joints.pim.damping", "{grid: [1, 2]}", "SC303"),
        ("joints.pin.dampig", "{grid: [1, 2]}", "SC303"),
        ("bodies.a.com[7]", "{grid: [1, 2]}", "SC303"),
        ("a..b", "{grid: [1, 2]}", "SC303"),
        ("bodies.a.mass", "{uniform: [-1, 1]}", "SC401"),
        ("bodies.a.mass", "{grid: [1, 2 m]}", "SC213"),
        ("bodies.a.mass", "{uniform: [1, 2, 3]}", "SC205"),
        ("bodies.a.mass", "{uniform: [2, 1]}", "SC232"),
        ("bodies.a.mass", "{log_uniform: [0, 1]}", "SC232"),
        ("bodies.a.mass", "{list: [1, 2, 3]}", "SC205"),
        ("bodies.a.mass", "{grid: []}", "SC205"),
        ("bodies.a.mass", "{}", "SC202"),
        ("bodies.a.mass", "{grid: [1], list: [1, 2, 3, 4]}", "SC207"),
        ("bodies.a.mass", "{gird: [1, 2]}", "SC204"),
        ("bodies.a.mass", "{grid: [true, false]}", "SC203"),
        ("world.gravity", "{grid: [[0, 0]]}", "SC205"),
        ("joints.pin.damping", "{normal: [1, -1]}", "SC231"),
    ],
)
def test_refusals(tmp_path, path, how, code):
    with pytest.raises(SceneError) as caught:
        resolve(document(tmp_path, {path: how}))
    faults = caught.value.faults
    assert code in {fault.code for fault in faults}
    assert faults[0].where.line == 14


def test_values_replace_what_they_name_and_nothing_else(tmp_path):
    doc = document(tmp_path, {"bodies.a.mass": "{grid: [1, 2]}"})
    base = resolve(doc)
    moved = resolve(
        doc, {"params.L": 0.9, "joints.pin.damping": 0.7, "world.gravity[2]": -1.62, "bodies.a.inertia.diag[0]": 1.5}
    )
    assert moved.bodies["a"].com == (0.9, 0, 0)
    assert moved.bodies["a"].inertia.diag == (1.5, 1, 1)
    assert moved.joints["pin"].damping == (0.7,)
    assert moved.world.gravity == (0, 0, -1.62)
    assert moved.bodies["r/0-0-0/b"] is base.bodies["r/0-0-0/b"]
    assert resolve(doc) is base
    assert resolve(doc, {"joints.pin.q": "10 deg"}).joints["pin"].q == pytest.approx((math.radians(10),))
    with pytest.raises(SceneError):
        resolve(doc, {"joints.pin.q": "10 cm"})
    with pytest.raises(SceneError):
        resolve(doc, {"bodies.a.mass": -1.0})
    assert resolve(doc) is base


def test_values_equal_a_scene_written_so(tmp_path):
    """The short way of one world and the long way of a whole scene give the same."""
    doc = document(tmp_path, {"bodies.a.mass": "{grid: [1, 2]}"})
    resolve(doc)
    short = resolve(doc, {"params.L": 0.9, "joints.pin.damping": 0.7})
    text = BASE.replace("L: 0.4", "L: 0.9").replace("damping: 0.1", "damping: 0.7")
    long = resolve(document(tmp_path, {"bodies.a.mass": "{grid: [1, 2]}"}, base=text))
    assert short.model_copy(update={"params": {}}) == long.model_copy(update={"params": {}})
    assert short.params == long.params
