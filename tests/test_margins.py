"""Margins of shapes: contact acts at the sum of both, as if each shape were inflated by a ball of that radius.

Distance joints of the tree: their links are free, their length is a row.

The convex hull of a mesh: closed, convex, and around all points, also where the points are those of real parts.
"""

from dataclasses import fields
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
import yaml
from support.barriers import Drop, rest_gap
from support.contacts import SHAPES, SOLIDS, Bench, random_poses, read_model, scene
from support.device import live_device
from support.forward import model_of
from support.scenes import faults_of
from support.scenes import scene as load_scene
from support.supports import gap_along, reach

from simcli import rotations as rot
from simcli.exchange.exporting import export_scene
from simcli.exchange.importing import import_model
from simcli.model import build
from simcli.model.bodies.colliders import colliders
from simcli.model.bodies.hull import convex_hull
from simcli.model.bodies.surfaces import surfaces
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import load_document, resolve

# Collision alone: every pair of kinds, one kernel

N = 60  # worlds
FAR = 5.0  # [m], gap up to which every pair is reported
OF_A, OF_B, OF_GROUND, OF_PAIR = 0.2, 0.15, 0.02, 0.4  # [m], margins
TOGETHER = {"their own": OF_A + OF_B, "of the pair": OF_PAIR}
ROUNDING = 1e-15  # [m]: cores, and all that is found of them, are the same
EXACT, SMOOTH = 1e-10, 1e-7  # [m], of test_collision.py: a ball with a margin is a larger ball, with tolerances of its size
ROUND, CURVED = {"sphere", "point", "capsule"}, {"cylinder", "cone", "ellipsoid"}
PAIRS = [(one, other) for one in SHAPES for other in SHAPES]


def with_margin(margin):
    """All shapes with a margin."""
    return {kind: text.replace("}", f", margin: {margin}}}") for kind, text in SHAPES.items()}


@pytest.fixture(scope="module")
def crowds(tmp_path_factory):
    """Random poses, the contacts of all pairs without margins, and with margins all of them, and those that touch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.spec.checks.solver_fields.check_capabilities", lambda check, tree: None)
        plain = {"ground": "{type: plane}"}, {"a": SHAPES, "b": SHAPES}, "contact: {CAPACITY}"
        inflated = {"ground": f"{{type: plane, margin: {OF_GROUND}}}"}, {"a": with_margin(OF_A), "b": with_margin(OF_B)}
        scenes = [
            plain,
            (*inflated, "contact: {CAPACITY}"),
            (*inflated, f"contact: {{CAPACITY, pairs: [{{a: a, b: b, margin: {OF_PAIR}}}]}}"),
        ]
        models = [
            read_model(tmp_path_factory.mktemp("scene"), scene(*parts).replace("CAPACITY", "capacity: 400"))
            for parts in scenes
        ]
    poses = random_poses(np.random.default_rng(1), N, 2, 0.7)
    names = models[0].shapes.name
    pose = np.stack([poses[:, 1] if name.startswith("b/") else poses[:, 0] for name in names], axis=1)
    pose[:, names.index("ground")] = (0, 0, 0, 0, 0, 0, 1)
    found = []
    for model, gaps in zip(models, ((FAR,), (FAR, 0.0), (FAR, 0.0)), strict=True):
        bench = Bench(model, live_device(), N)
        found.append([bench.run(pose, gap) for gap in gaps])
        pair = bench.pair
        bench.destroy()
    return SimpleNamespace(poses=poses, pair=pair, plain=found[0][0], all=dict(zip(TOGETHER, found[1:], strict=True)))


def deepest(crowds, found, first, second):
    """Of the deepest contact of a pair in each world: gap, inf without one; normal, from the first to the second; point."""
    pair, is_turned = crowds.pair(first, second)
    gap = np.where(found["pair"] == pair, found["gap"], np.inf)
    at = np.arange(N), np.argmin(gap, axis=1)
    return gap[at], found["normal"][at] * (-1 if is_turned else 1), found["point"][at]


@pytest.mark.parametrize("margins", TOGETHER)
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_gaps_are_less_by_margins(crowds, kinds, margins):
    """Against the cores' own gap, and against support functions of the inflated shapes along the normal."""
    names, less = (f"a/{kinds[0]}", f"b/{kinds[1]}"), TOGETHER[margins]
    plain, _, _ = deepest(crowds, crowds.plain, *names)
    gap, normal, _ = deepest(crowds, crowds.all[margins][0], *names)
    smooth = SMOOTH if set(kinds) & CURVED else EXACT
    assert (plain > 0).sum() > N // 4
    np.testing.assert_allclose(gap, plain - less, atol=smooth if set(kinds) & ROUND else ROUNDING, rtol=0)
    along = [gap_along(SOLIDS[kinds[0]], SOLIDS[kinds[1]], pose, n) for pose, n in zip(crowds.poses, normal, strict=True)]
    free = plain > 0
    np.testing.assert_allclose(gap[free], np.array(along)[free] - less, atol=smooth, rtol=0)


@pytest.mark.parametrize("margins", TOGETHER)
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_what_touches_within_margins_is_found(crowds, kinds, margins):
    """The boxes that are compared first have the margins in them."""
    gap, touching = (deepest(crowds, found, f"a/{kinds[0]}", f"b/{kinds[1]}")[0] for found in crowds.all[margins])
    assert ((touching <= 0) == (gap <= 0)).all()
    assert (touching <= 0).any()


@pytest.mark.parametrize("margins", TOGETHER)
@pytest.mark.parametrize("kind", SHAPES)
def test_planes_have_margins_too(crowds, kind, margins):
    gap, _normal, point = deepest(crowds, crowds.all[margins][0], "ground", f"a/{kind}")
    lowest = np.array([-reach(SOLIDS[kind], pose[0], np.array((0.0, 0.0, -1.0))) for pose in crowds.poses])
    np.testing.assert_allclose(gap, lowest - OF_A - OF_GROUND, atol=ROUNDING, rtol=0)
    np.testing.assert_allclose(point[:, 2], OF_GROUND + gap / 2, atol=ROUNDING, rtol=0)


# Tables: what the solvers read

ROUNDS = (
    "{{s: {{type: sphere, radius: {r}{m}}}, c: {{type: capsule, radius: {r}, length: 0.4{m}, pose: {{xyz: [3, 0, 0]}}}}}}"
)


@pytest.mark.parametrize("solver", ["generalized", "affine"])
def test_balls_and_rods_with_margins_are_larger_ones(solver):
    """All that contact reads is that of a larger radius, so that motions are the same, too, to the last bit."""
    tables = []
    for r, m in ((0.25, ", margin: 0.25"), (0.5, "")):
        shapes = ROUNDS.format(r=r, m=m)
        text = f"""bodies: {{a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, shapes: {shapes}}}}}
world: {{shapes: {{ground: {{type: plane}}}}}}
solver: {{type: {solver}, dt: 0.01}}
run: {{duration: 1}}
"""
        document = load_scene(text)
        model = build(resolve(document), document)
        tables.append(surfaces(model, 16) if solver == "affine" else colliders(model))
    for part in fields(tables[0]):
        if part.name == "bare":  # is read where a pair has a margin of its own
            continue
        np.testing.assert_array_equal(getattr(tables[0], part.name), getattr(tables[1], part.name), err_msg=part.name)
    assert tables[0].radius.tolist() == [[0.5, 0.5, 0.0]]


# At rest on barriers; test_contact_closed_forms.py has the other solvers

D_HAT, KAPPA = 5e-3, 1e3 / 5e-3**3  # [m], [J/m^4]
MASS, GRAVITY = 64.0, 9.81  # [kg], [m/s^2]
GIVES_WAY = 1e-6  # [m], affine bodies under their own weight
MARGINS = ((0.0, 0.0), (0.02, 0.0), (0.0, 0.01), (0.02, 0.01))  # [m], of the body and of the ground


def test_barriers_begin_at_the_sum_of_margins(tmp_path):
    """What starts where the barrier carries it stays there: its gap is that of the law, beyond both margins."""
    gap = {"cube": rest_gap(MASS * GRAVITY / 4, D_HAT, KAPPA), "ball": rest_gap(MASS * GRAVITY, D_HAT, KAPPA)}
    gap["paired"] = gap["ball"]
    text = f"""
params: {{m: 0, g: 0}}
world: {{shapes: {{ground: {{type: plane, margin: "${{g}}"}}}}}}
bodies:
  cube: {{pose: {{xyz: [0, 0, "${{0.2 + m + g + {gap["cube"]}}}"]}}, mass: {MASS},
         shapes: {{it: {{type: box, size: [0.4, 0.4, 0.4], margin: "${{m}}"}}}}}}
  ball: {{pose: {{xyz: [1, 0, "${{0.2 + m + g + {gap["ball"]}}}"]}}, mass: {MASS},
         shapes: {{it: {{type: sphere, radius: 0.2, margin: "${{m}}"}}}}}}
  paired: {{pose: {{xyz: [2, 0, {0.2 + OF_PAIR + gap["ball"]}]}}, mass: {MASS},
           shapes: {{it: {{type: sphere, radius: 0.2, margin: "${{m}}"}}}}}}
contact: {{pairs: [{{a: paired, b: ground, margin: {OF_PAIR}}}]}}
batch:
  worlds: {len(MARGINS)}
  vary: {{params.m: {{list: {[m for m, _ in MARGINS]}}}, params.g: {{list: {[g for _, g in MARGINS]}}}}}
solver: {{type: affine, dt: 0.01, integrator: bdf2, contact: {{d_hat: {D_HAT}}}}}
run: {{duration: 0.1}}
"""
    run = Drop(text, live_device(), tmp_path, ["contacts"])
    bodies = run.model.bodies.name
    z = run.columns["frames/body_q"][..., 2]
    for b, name in enumerate(bodies):
        rest = 0.2 + gap[name] + (OF_PAIR if name == "paired" else np.sum(MARGINS, axis=1))
        np.testing.assert_allclose(z[:, :, b], np.broadcast_to(rest, z.shape[:2]), atol=GIVES_WAY, rtol=0)
    last = run.contacts[-1]
    assert last.count.tolist() == [[4 + 1 + 1] * len(MARGINS)]
    owner = [run.model.shapes.body[last.columns[side].astype(int)] for side in ("shape_a", "shape_b")]
    expected = [gap[bodies[b]] for b in np.maximum(*owner)]
    np.testing.assert_allclose(last.columns["gap"], expected, atol=GIVES_WAY, rtol=0)


# MJCF, there and back

LYING = """simcli: 1
world: {shapes: {ground: {type: plane, margin: 0.01}}}
bodies:
  box: {pose: {xyz: [0, 0, 0.25]}, mass: 1, shapes: {it: {type: box, size: [0.2, 0.3, 0.4], margin: 0.02}}}
  ball: {pose: {xyz: [1, 0, 0.15]}, mass: 1, shapes: {it: {type: sphere, radius: 0.1, margin: 0.03}}}
  bag: {pose: {xyz: [2, 0, 0.15]}, mass: 1, shapes: {it: {type: sphere, radius: 0.1, margin: 0.03}}}
  egg: {pose: {xyz: [3, 0, 0.15]}, mass: 1, shapes: {it: {type: sphere, radius: 0.1, margin: 0.03}}}
contact: {pairs: [{a: bag, b: ground, margin: 0.02}, {a: egg, b: ground, friction: 0.1}]}
solver: {dt: 1 ms}
run: {duration: 1}
"""
SOFT = 1e-4  # [m] that MuJoCo's contacts give way


def imported(path):
    """The scene that is made of a model, as data, and the report."""
    model = import_model(path)
    return yaml.safe_load(model.text), model.report


def test_mujoco_lets_what_is_exported_rest_at_the_sum_of_margins(tmp_path):
    path, model_path = tmp_path / "scene.yaml", tmp_path / "model.xml"
    path.write_text(LYING)
    document = load_document(path)
    export = export_scene(document, resolve(document), ".xml")
    model_path.write_text(export.text)
    model = mujoco.MjModel.from_xml_path(str(model_path))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 1000)
    np.testing.assert_allclose(data.xpos[1:, 2], [0.2 + 0.03, 0.1 + 0.04, 0.1 + 0.02, 0.1 + 0.04], atol=SOFT)
    scene, report = imported(model_path)
    assert scene["world"]["shapes"]["ground"]["margin"] == 0.01
    assert [next(iter(body["shapes"].values()))["margin"] for body in scene["bodies"].values()] == [0.02, 0.03, 0.03, 0.03]
    pairs = {pair["b"].partition("/")[0]: pair.get("margin") for pair in scene["contact"]["pairs"]}
    assert pairs == {"bag": 0.02, "egg": None}
    assert not [entry for entry in report.entries if entry.fate == "dropped"]


def test_what_scenes_have_not_of_margins_is_told(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text("""<mujoco><worldbody><geom name="ground" type="plane" size="1 1 1" margin="0.01"/>
      <body name="ball" pos="0 0 1"><freejoint/><geom name="skin" size="0.1" margin="0.02" gap="0.005"/></body>
      <body name="bag" pos="1 0 1"><freejoint/><geom name="soft" size="0.1" margin="-0.02"/></body></worldbody>
      <contact><pair name="one" geom1="skin" geom2="soft" margin="-1"/><pair geom1="skin" geom2="ground"/></contact>
      </mujoco>""")
    scene, report = imported(path)
    assert scene["bodies"]["ball"]["shapes"]["skin"]["margin"] == 0.02
    assert "margin" not in scene["bodies"]["bag"]["shapes"]["soft"]
    told = {(entry.kind, entry.name): (entry.fate, entry.why) for entry in report.entries}
    assert told["geom@gap", "skin"] == ("dropped", "MuJoCo finds contacts earlier by it, which have no force")
    assert [pair["margin"] for pair in scene["contact"]["pairs"]] == [0.0, 0.0]  # MuJoCo's where a pair says nothing
    assert told["pair", "one"] == ("changed", "has the margin 0: those of scenes are not negative")
    assert told["geom", "soft"] == ("changed", "has no margin: those of scenes are not negative")


def test_a_margin_is_not_negative():
    text = """bodies:
  ball:
    mass: 1
    inertia: {diag: [1, 1, 1]}
    shapes:
      s: {type: sphere, radius: 0.1, margin: 1 mm}
      t:
        type: box
        size: [1, 1, 1]
        margin: -1 mm
run: {duration: 1}
solver: {dt: 0.01}
"""
    found = faults_of(text)
    assert [(code, line) for code, line, _ in found] == [("SC231", 9)]
    assert "margin" in found[0][2]


LENGTH = 1e-9  # [m], tolerance of the projection and what it leaves


@pytest.mark.slow
def test_a_rod_of_the_tree_keeps_its_length(device):
    """A distance joint leaves its link free; its length is a row, in the tree as in a loop."""
    text = """
bodies: {a: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 0, -1]}, velocity: {linear: [1, 0.5, 0]}}}
joints: {rod: {type: distance, parent: world, child: a, length: 1}}
"""
    model, options = model_of(text)
    assert model.joints.is_tree.all()
    solver = SOLVERS["generalized"](model, options, RunPlan(1e-3, 100, 5, frozenset(("state",))), device)
    solver.initial()
    at = solver.advance(5).columns["frames/body_q"][:, 0, 0, :3]
    assert np.abs(at[-1] - [0, 0, -1]).max() > 0.05
    assert np.abs(np.linalg.norm(at, axis=1) - 1).max() < LENGTH


# A rod between an arm that swings and a body that it holds beside its centre of mass; a rope that is taut.
HUNG = """
bodies:
  arm: {mass: 3, inertia: {diag: [0.2, 0.3, 0.4]}, com: [0.4, 0, 0]}
  bob: {mass: 2, inertia: {diag: [0.1, 0.2, 0.15]}, com: [0.05, 0.1, 0], pose: {xyz: [1.5, 0, -0.8], rpy: [0.1, 0.2, 0.3]}}
  tied: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 5, -1]}}
joints:
  pin: {type: revolute, parent: world, child: arm, axis: [0, 1, 0], at: [0, 0, 0], qd: 0.5}
  rod: {type: distance, parent: arm, child: bob, parent_frame: {xyz: [1, 0, 0], rpy: [0.4, 0, 0.2]},
        child_frame: {xyz: [0.1, 0, 0.2]}, length: LENGTH, loop: LOOP}
  rope: {type: distance, parent: world, child: tied, parent_frame: {xyz: [0, 5, 0]}, ROPE, loop: LOOP}
"""
SAME = 2e-3  # relative: of steps of 0.1 ms, and of joints and bodies that give way
SOLVER = {
    "tree": "type: generalized, integrator: rk4",
    "loop": "type: generalized, integrator: rk4",
    "maximal": "type: maximal",
    "natural": "type: natural, integrator: zhong06",
    "affine": "type: affine, integrator: bdf2, stiffness: 1.0e+12, tolerance: 1.0e-11",
}


def efforts_of(name, device):
    """Efforts of the rod and of the rope after 20 ms, without the channel of reactions."""
    ends = rot.quat_to_matrix(rot.quat_from_rpy(np.array([0.1, 0.2, 0.3]))) @ [0.1, 0, 0.2] + [0.5, 0, -0.8]
    text = HUNG.replace("LENGTH", repr(float(np.linalg.norm(ends)))).replace("LOOP", str(name == "loop").lower())
    text = text.replace("ROPE", "length: 1" if name == "affine" else "limit: [0, 1]")  # affine bodies have no ropes
    model, options = model_of(f"{text}solver: {{{SOLVER[name]}, dt: 1.0e-4}}\n")
    solver = SOLVERS[options.type](model, options, RunPlan(1e-4, 200, 1, frozenset(("joints",))), device)
    solver.initial()
    effort = solver.advance(1).columns["frames/joint_effort"][-1, 0]
    first = [model.joints.qd_start[model.joints.name.index(joint)] for joint in ("rod", "rope")]
    return np.concatenate([effort[at : at + 6] for at in first])


@pytest.mark.slow
def test_the_effort_of_a_distance_is_the_same_in_every_solver(device, scalar_code):
    found = {name: efforts_of(name, device) for name in SOLVER}
    size = np.abs(found["tree"])
    assert (size[:6] > 1e-2).all()
    assert size[8] == pytest.approx(9.81, rel=SAME)
    for name, effort in found.items():
        np.testing.assert_allclose(effort, found["tree"], atol=SAME * size.max(), err_msg=name)


TOLERANCE = 1e-7  # of the extent, single precision


def part(seed, around=48, along=24):
    """Points of a bar with rounded ends, turned at random, in single precision as STL files have them."""
    rng = np.random.default_rng(seed)
    angle, round_ = np.linspace(0, 2 * np.pi, around, endpoint=False), np.linspace(0, np.pi / 2, along)
    radius, height = 0.02 + 0.005 * np.cos(round_), 0.05 + 0.005 * np.sin(round_)
    points = np.concatenate(
        [
            np.stack([r * np.cos(angle), r * np.sin(angle), np.full(around, side * z)], axis=1)
            for r, z in zip(radius, height, strict=True)
            for side in (1, -1)
        ]
    )
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return (points @ turn.T + rng.normal(size=3)).astype(np.float32).astype(float)


def volume_of(corners, faces):
    middle = corners.mean(axis=0)
    return sum(
        abs(np.linalg.det(corners[[face[0], face[k], face[k + 1]]] - middle)) / 6
        for face in faces
        for k in range(1, len(face) - 1)
    )


@pytest.mark.parametrize("seed", range(6))
def test_hulls_of_real_parts_are_closed_and_convex(seed):
    """Euler's formula fails where a face is missing or stands on another one; slivers make that so with rounded signs."""
    points = part(seed)
    corners, faces, normals = convex_hull(points)
    edges = [edge for face in faces for edge in zip(face.tolist(), np.roll(face, -1).tolist(), strict=True)]
    assert len(set(edges)) == len(edges)
    assert {(j, i) for i, j in edges} == set(edges)
    assert len(corners) - len(edges) // 2 + len(faces) == 2
    extent = np.ptp(points, axis=0).max()
    above = max(((points - corners[face[0]]) @ normal).max() for face, normal in zip(faces, normals, strict=True))
    assert above < TOLERANCE * extent


def test_the_volume_is_that_of_another_program():
    ConvexHull = pytest.importorskip("scipy.spatial").ConvexHull
    points = part(7)
    corners, faces, _ = convex_hull(points)
    assert volume_of(corners, faces) == pytest.approx(ConvexHull(points).volume, rel=1e-7)
