"""What is known exactly: sides of planes, against rational numbers; normals of faces, also under curved shapes."""

from fractions import Fraction

import numpy as np
import pytest
from support.contacts import SHAPES, Bench, random_poses, read_model, scene
from support.device import live_device

from simcli import Simulation
from simcli import rotations as rot
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.collision.convex.orient import exact_side
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena

N = 1500
KINDS = {"float64": np.float64, "float32": np.float32}
THIN = {"float64": 1e-9, "float32": 1e-4}  # [1]


@ti.kernel
def take_sides(points: ti.template(), side: ti.template(), arena: ti.template(), n: ti.i32):
    """Side of the last of four points of each world."""
    for w in range(n):
        arena.enter(w)
        side.store(w, 0, exact_side(points.load(w, 0), points.load(w, 1), points.load(w, 2), points.load(w, 3)))


def side_of(p, q, r, x):
    """Sign of (q - p) x (r - p) . (x - p), exactly."""
    u, v, w = ([Fraction(float(a)) - Fraction(float(b)) for a, b in zip(end, p, strict=True)] for end in (q, r, x))
    total = sum(w[i] * (u[j] * v[k] - u[k] * v[j]) for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)))
    return (total > 0) - (total < 0)


@pytest.mark.parametrize("precision", KINDS)
def test_a_side_is_exact(precision):
    """Of points that lie in a plane but for rounding, and of triangles as thin as that: half of them, by float sums."""
    rng = np.random.default_rng(7)
    p, q, r = rng.normal(size=(3, N, 3))
    r[N // 2 :] = (p + (q - p) * rng.uniform(-1, 2, (N, 1)) + THIN[precision] * rng.normal(size=(N, 3)))[N // 2 :]
    s, t = rng.uniform(-1, 2, (2, N, 1))
    points = np.stack((p, q, r, p + (q - p) * s + (r - p) * t), axis=1).astype(KINDS[precision])
    wanted = np.array([side_of(*four) for four in points])
    arena = Arena(live_device(precision), N)
    given, found = arena.slot(4, Vec3), arena.slot(1)
    arena.build()
    given.write(points)
    arena.launch(take_sides, given, found, arena, arena.n_blocks)
    side = np.sign(found.read()[:, 0, 0])
    arena.destroy()
    rounded = np.sign(np.einsum("ij,ij->i", np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]),
                                points[:, 3] - points[:, 0]))  # fmt: skip
    assert (rounded != wanted).mean() > 0.1
    np.testing.assert_array_equal(side, wanted)


LYING = {"ellipsoid": ((0, 0, 0), 0.5), "cylinder": ((0, np.pi / 2, 0), 0.3), "cone": ((0, 0, 0), 0.4)}  # height
GAPS = (1e-3, 1e-6, 0.0, -1e-9, -1e-5, -1e-3)  # [m]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """All shapes in two bodies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.spec.honours.solver_fields.check_honours", lambda check, tree: None)
        model = read_model(tmp_path_factory.mktemp("scene"), scene({}, {"a": SHAPES, "b": SHAPES}))
    bench = Bench(model, live_device(), 8 * len(GAPS))
    yield bench
    bench.destroy()


@pytest.mark.parametrize("kind", LYING)
def test_a_face_gives_its_own_normal_to_what_is_curved(bench, kind):
    """An ellipsoid that rests on a box spun by 1e-4 rad/s, because the normal was that of an iteration."""
    rpy, height = LYING[kind]
    pose = np.tile(np.array((500.0, 0, 0, 0, 0, 0, 1)), (8 * len(GAPS), len(bench.model.shapes.name), 1))
    pose[:, :, 1] = 100.0 * np.arange(pose.shape[1])
    motion = np.repeat(random_poses(np.random.default_rng(4), 8, 1, 100.0)[:, 0], len(GAPS), axis=0)
    pose[:, bench.shape("a/box")] = motion
    above = np.tile(np.concatenate(((0.05, 0.02, 0), rot.quat_from_rpy(np.array(rpy)))), (len(motion), 1))
    above[:, 2] = 0.45 + height + np.tile(GAPS, 8)
    pose[:, bench.shape(f"b/{kind}")] = rot.pose_compose(motion, above)
    found = bench.run(pose, 2e-3)
    assert (found["count"] > 0).all()
    there = ~np.isnan(found["gap"])
    normal = rot.quat_rotate(motion[:, 3:], np.array((0.0, 0.0, 1.0)))[:, None]
    assert np.abs(found["normal"] - normal)[there].max() < 1e-13
    assert np.abs(found["gap"] - np.tile(GAPS, 8)[:, None])[there].max() < 1e-12


def test_what_is_curved_rests_on_a_base_in_float32(tmp_path):
    """The point below an ellipsoid was the middle of the base of a cone: it spun up to 3 rad/s in 0.1 s."""
    turns = [0.0, -1.3, -1.2, 1.0, 2.4]
    path = tmp_path / "base.yaml"
    path.write_text(f"""simcli: 1
params: {{a: 0, Y: 81}}
world: {{shapes: {{c: {{type: cone, radius: 0.5, length: 0.4,
                         pose: {{xyz: [0, "${{Y}}", 0], rpy: [180 deg, 0, "${{a}}"]}}}}}}}}
bodies:
  u: {{mass: 1, pose: {{xyz: ["${{0.05*cos(a)}}", "${{Y + 0.05*sin(a)}}", 0.3], rpy: [0, 0, "${{a}}"]}},
      shapes: {{s: {{type: ellipsoid, radii: [0.2, 0.2, 0.1]}}}}}}
solver: {{dt: 1 ms, precision: float32}}
run: {{duration: 0.1}}
batch: {{worlds: {len(turns)}, vary: {{params.a: {{list: {turns}}}}}}}
""")
    with Simulation(path, device="cpu") as sim:
        sim.step(100)
        assert np.abs(sim.get("joint.u_free.qd")[:, 3:]).max() < 1e-4
