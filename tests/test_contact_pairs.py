"""Which shapes can touch, with which numbers; hulls of meshes; heights of terrain.

What joints with the world, and with a body that is a part of it, let touch: one rule, also while joints are switched.

Balls fall from 1 m onto floors: the plane of the world, or a box that a fixed joint holds to it. Both are the same physics.
"""

from contextlib import nullcontext
from dataclasses import fields
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from support.contact_scenes import run
from support.contacts import read_model, terrain

from simcli import rotations as rot
from simcli.errors import SceneError
from simcli.exchange.importing import load_scene
from simcli.kernels.collision.box_tree import MANY_SHAPES
from simcli.kernels.collision.collider import Collider
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.model import build
from simcli.model.bodies.colliders import MOST_CORNERS, colliders
from simcli.model.bodies.hull import HullError, convex_hull
from simcli.model.bodies.mesh import mesh_properties
from simcli.model.signals.csv_table import CsvError, read_grid
from simcli.model.tables.model import ShapeKind
from simcli.solvers import SOLVERS
from simcli.spec import resolve
from simcli.spec.base import dofs
from simcli.spec.lookup.structure import WORLD_NAME

BALL = "{type: sphere, radius: 0.1}"


def scene(bodies, rest="", world=f"{{ground: {{type: plane}}, post: {BALL}}}"):
    lines = "".join(f"  {name}: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, {more}}}\n" for name, more in bodies.items())
    head = f"simcli: 1\nworld: {{shapes: {world}}}\nbodies:\n{lines}"
    return f"{head}solver: {{type: generalized, dt: 1e-3}}\nrun: {{duration: 1}}\n{rest}"


def pairs_of(model):
    """Names of the shapes of all pairs."""
    if model.contacts is None:
        return set()
    name = model.shapes.name
    return {frozenset((name[i], name[j])) for i, j in zip(*model.contacts.pairs[:2], strict=True)}


def names(*pairs):
    return {frozenset(pair.split()) for pair in pairs}


TWO = {"x": f"shapes: {{s: {BALL}, t: {BALL}}}", "y": f"shapes: {{s: {BALL}}}"}
GROUND = ("x/s ground", "x/t ground", "x/s post", "x/t post", "y/s ground", "y/s post")
BETWEEN = ("x/s y/s", "x/t y/s")
UNIVERSAL = ", axes: {angular: [[1, 0, 0], [0, 1, 0]]}"
HINGE = "joints: {j: {type: revolute, parent: x, child: y}}\n"
# Joints with the world by which a body moves, and those by which it is part of the world.
MOVING = {
    kind: {
        "d6": ", axes: {linear: [[0, 0, 1]]}",
        "distance": ", limit: [0, 5]",
        "universal": UNIVERSAL,
        "screw": ", pitch: 0.1",
        "rolling": ", radius: 1",
        "cable": ", stretch: 1, bend: 1, twist: 1",
    }.get(kind, "")
    for kind in dofs.TYPES
    if kind != "fixed" and not kind.startswith("nc_")
}
RIGID = ("fixed", "nc_fixed")
FIXED = "j: {type: fixed, parent: world, child: x}"
HELD = ("y/s ground", "y/s post")
SWITCH = "events: [{{at: 0.5, set: {{joints.j.enabled: {}}}}}]\n"
WHO = {
    "all": (TWO, "", names(*GROUND, *BETWEEN)),
    "a joint": (TWO, HINGE, names(*GROUND)),
    "a free joint": (TWO, "joints: {j: {type: free, parent: x, child: y}}\n", names(*GROUND, *BETWEEN)),
    **{
        f"a joint {kind} with the world": (
            TWO,
            f"joints: {{j: {{type: {kind}, parent: world, child: x{more}}}}}\n",
            names(*GROUND, *BETWEEN),
        )
        for kind, more in MOVING.items()
    },
    **{f"held by {kind}": (TWO, f"joints: {{{FIXED.replace('fixed', kind)}}}\n", names(*HELD, *BETWEEN)) for kind in RIGID},
    "held, but asked": (
        TWO,
        f"joints: {{{FIXED}}}\ncontact: {{pairs: [{{a: x/s, b: ground}}]}}\n",
        names("x/s ground", *HELD, *BETWEEN),
    ),
    "a chain that is held": (TWO, f"joints: {{{FIXED}, k: {{type: fixed, parent: y, child: x, loop: true}}}}\n", set()),
    "a chain whose joint moves": (TWO, f"joints: {{{FIXED}, k: {{type: ball, parent: x, child: y}}}}\n", names(*HELD)),
    "held by what moves as prescribed": (
        {"x": TWO["x"], "y": TWO["y"] + ", kinematic: true"},
        "joints: {j: {type: fixed, parent: y, child: x}}\n",
        set(),
    ),
    "a joint that is off": (TWO, HINGE.replace("parent", "enabled: false, parent"), names(*GROUND, *BETWEEN)),
    "a hold that is off": (TWO, f"joints: {{{FIXED[:-1]}, enabled: false}}}}\n", names(*GROUND, *BETWEEN)),
    "a joint that an event begins": (
        TWO,
        HINGE.replace("parent", "enabled: false, parent") + SWITCH.format("true"),
        names(*GROUND, *BETWEEN),
    ),
    "a joint that an event ends": (TWO, HINGE + SWITCH.format("false"), names(*GROUND)),
    "a hold that an event ends": (TWO, f"joints: {{{FIXED}}}\n" + SWITCH.format("false"), names(*HELD, *BETWEEN)),
    "a joint, but asked": (TWO, HINGE + "contact: {pairs: [{a: y, b: x, friction: 1}]}\n", names(*GROUND, *BETWEEN)),
    "a joint, one shape asked": (TWO, HINGE + "contact: {pairs: [{a: x/t, b: y}]}\n", names(*GROUND, "x/t y/s")),
    "excluded bodies": (TWO, "contact: {exclude: [[y, x]]}\n", names(*GROUND)),
    "excluded shapes": (TWO, "contact: {exclude: [[x/s, ground], [world, y]]}\n", names(*GROUND[1:4], *BETWEEN)),
    "not enabled": (TWO, "contact: {enabled: false}\n", set()),
    "no collision": (
        {"x": f"shapes: {{s: {BALL}}}", "y": "shapes: {s: {type: sphere, radius: 0.1, collide: false}}"},
        "",
        names("x/s ground", "x/s post"),
    ),
    "layers, of which one does not touch itself": (
        {
            "x": f"shapes: {{s: {BALL[:-1]}, layers: [robot]}}}}",
            "y": f"shapes: {{s: {BALL[:-1]}, layers: [robot, other]}}}}",
        },
        "",
        names("x/s ground", "x/s post", "y/s ground", "y/s post"),
    ),
    "a layer that one of two touches": (
        {
            "x": f"shapes: {{s: {BALL[:-1]}, layers: [a], touches: [b]}}}}",
            "y": f"shapes: {{s: {BALL[:-1]}, layers: [b], touches: []}}}}",
        },
        "",
        names("x/s y/s"),
    ),
    "kinematic": (
        {"x": f"shapes: {{s: {BALL}}}, kinematic: true", "y": f"shapes: {{s: {BALL}}}"},
        "",
        names("y/s ground", "y/s post", "x/s y/s"),
    ),
}


@pytest.mark.parametrize("case", WHO)
def test_who_touches(case, tmp_path, all_supported):
    bodies, rest, expected = WHO[case]
    assert pairs_of(read_model(tmp_path, scene(bodies, rest))) == expected


def test_a_layer_that_no_shape_is_in_is_refused(tmp_path, all_supported):
    """Else a word that is spelled wrong would let shapes pass through each other in silence."""
    bodies = {
        "x": f"shapes: {{s: {BALL[:-1]}, layers: [robot]}}}}",
        "y": f"shapes: {{s: {BALL[:-1]}, touches: [default, robt]}}}}",
    }
    with pytest.raises(SceneError) as caught:
        read_model(tmp_path, scene(bodies))
    (fault,) = caught.value.faults
    assert (fault.code, fault.where.path) == ("SC314", "bodies.y.shapes.s.touches[1]")
    assert "robot" in fault.hint


def test_pairs_of_a_joint_that_are_asked_for_are_refused_where_contact_is_not_supported(tmp_path):
    bodies = {"x": f"shapes: {{s: {BALL}}}", "y": f"shapes: {{s: {BALL}}}"}
    quiet = scene(bodies, HINGE + "contact: {exclude: [[world, x], [world, y]]}\n")
    quiet = quiet.replace("type: generalized", "type: natural, integrator: zhong06")
    assert pairs_of(read_model(tmp_path, quiet)) == set()
    asked = quiet.replace("contact: {", "contact: {pairs: [{a: x/s, b: y/s}], ")
    with pytest.raises(SceneError, match="`x` and `y` could touch"):
        read_model(tmp_path, asked)


RULES = {"average": 0.35, "geometric": 0.1**0.5 * 0.6**0.5, "min": 0.1, "multiply": 0.06, "max": 0.6}


@pytest.mark.parametrize("first", RULES)
@pytest.mark.parametrize("second", RULES)
def test_the_stronger_rule_combines(first, second, tmp_path, all_supported):
    materials = "".join(
        f"  {name}: {{friction: {mu}, restitution: {mu}, rolling_friction: {mu}, "
        f"combine: {{friction: {rule}, restitution: {other}}}}}\n"
        for name, mu, rule, other in (("p", 0.1, first, second), ("q", 0.6, second, first))
    )
    bodies = {"x": "shapes: {s: {type: sphere, radius: 1, material: p}}"}
    world = "{ground: {type: plane, material: q}}"
    contacts = read_model(tmp_path, scene(bodies, f"materials:\n{materials}", world)).contacts
    strongest = max(first, second, key=list(RULES).index)
    for column in ("friction", "friction_static", "restitution", "rolling_friction"):
        np.testing.assert_allclose(getattr(contacts, column), [[RULES[strongest]]], rtol=1e-15)
    assert contacts.torsional_friction == 0


def test_numbers_of_a_pair_win(tmp_path, all_supported):
    rest = "contact: {pairs: [{a: x, b: ground, friction: 0.8, restitution: 0.3}, {a: x, b: y, friction_static: 0.9}]}\n"
    bodies = {"x": f"shapes: {{s: {BALL}}}", "y": f"shapes: {{s: {BALL}}}"}
    model = read_model(tmp_path, scene(bodies, rest, "{ground: {type: plane}}"))
    of = {pair: k for k, pair in enumerate(map(frozenset, zip(*model.contacts.pairs[:2], strict=True)))}
    x, y, ground = (model.shapes.name.index(name) for name in ("x/s", "y/s", "ground"))
    rows = model.contacts.pairs.combination[[of[frozenset(pair)] for pair in ((x, ground), (x, y), (y, ground))]]
    np.testing.assert_array_equal(model.contacts.friction[0, rows], (0.8, 0.5, 0.5))
    np.testing.assert_array_equal(model.contacts.friction_static[0, rows], (0.8, 0.9, 0.5))
    np.testing.assert_array_equal(model.contacts.restitution[0, rows], (0.3, 0, 0))


def test_capacity(tmp_path, all_supported):
    bodies = {"x": "shapes: {s: {type: box, size: [1, 1, 1]}}", "y": f"shapes: {{s: {BALL}}}"}
    world = "{ground: {type: plane}}"
    assert read_model(tmp_path, scene(bodies, "", world)).contacts.capacity == 4 + 1 + 1
    assert read_model(tmp_path, scene(bodies, "contact: {capacity: 5}\n", world)).contacts.capacity == 5
    crowd = {f"b{k}": "shapes: {s: {type: box, size: [1, 1, 1]}}" for k in range(20)}
    contacts = read_model(tmp_path, scene(crowd, "", world)).contacts
    assert len(contacts.pairs.shape_a) == 210
    assert contacts.capacity == 64 + 16 * 21 < contacts.points[contacts.pairs.combination].sum()


def test_a_point_has_a_radius_of_zero_but_no_mass(tmp_path, all_supported):
    point = "shapes: {s: {type: sphere, radius: 0}}"
    model = read_model(tmp_path, scene({"x": point}))
    assert colliders(model).bound[0, 0] == 0
    with pytest.raises(SceneError, match="no inertia"):
        read_model(tmp_path, scene({"x": point}).replace("inertia: {diag: [1, 1, 1]}, ", ""))


def test_grid_files(tmp_path, all_supported):
    path = tmp_path / "hills.csv"
    path.write_text("# two rows\n0, 0.5, 1\n\n1; 2; 3\n")
    np.testing.assert_array_equal(read_grid(path), ((0, 0.5, 1), (1, 2, 3)))
    for text, words in (
        ("1 2\n3\n", "line 2: 1 numbers instead of 2"),
        ("1 2\n", "less than 2 x 2"),
        ("1 2\n3 x\n", "line 2: `x`"),
        ("1 2\n3 inf\n", "line 2: `inf`"),
    ):
        path.write_text(text)
        with pytest.raises(CsvError, match=words):
            read_grid(path)


def test_terrain_table(tmp_path, all_supported):
    hills = terrain([[0, 1, 2], [3, 4, 5]], (4, 2)).replace("size: [4, 2, 1]", "size: [4, 2, 0.5]")
    world = f"{{hills: {hills}}}"
    host = colliders(read_model(tmp_path, scene({"x": f"shapes: {{s: {BALL}}}"}, "", world)))
    np.testing.assert_array_equal(host.height, np.arange(6) * 0.5)
    assert (host.columns[1], host.rows[1]) == (3, 2)
    np.testing.assert_allclose(host.half[0, 1], (2, 1, 4))  # as deep below the lowest point as it is wide


CUBE = np.array(np.meshgrid((0.0, 1), (0.0, 2), (0.0, 3))).reshape(3, -1).T
ANGLES = np.arange(24) / 24 * 2 * np.pi
PRISM = np.concatenate([np.stack((np.cos(ANGLES), np.sin(ANGLES), z + 0 * ANGLES), axis=-1) for z in (-1.0, 0.0, 1.0)])
GRID = np.array(np.meshgrid(*[np.linspace(0, 1, 5)] * 3)).reshape(3, -1).T
TURN = rot.quat_to_matrix(rot.unit(np.array((0.3, -0.5, 0.2, 0.7))))
POINTS = {  # points, corners and faces of their hull, volume
    "cube": (CUBE, 8, 6, 6.0),
    "turned cube": (CUBE @ TURN, 8, 6, 6.0),
    "grid": (GRID, 8, 6, 1.0),
    "turned grid": (GRID @ TURN, 8, 6, 1.0),
    "prism": (PRISM @ TURN, 48, 26, 24 * np.sin(2 * np.pi / 24)),
    "tetrahedron": (CUBE[[0, 1, 2, 4]], 4, 4, 1.0),
    "cloud": (np.random.default_rng(0).normal(size=(300, 3)), None, None, None),
}


@pytest.mark.parametrize("name", POINTS)
def test_hull(name):
    points, n_corners, n_faces, volume = POINTS[name]
    corners, faces, normals = convex_hull(points)
    assert n_corners in (None, len(corners))
    assert n_faces in (None, len(faces))
    edges = {(a, b) for face in faces for a, b in zip(face, np.roll(face, -1), strict=True)}
    assert {(b, a) for a, b in edges} == edges
    assert len(corners) - len(edges) // 2 + len(faces) == 2
    for face, n in zip(faces, normals, strict=True):
        assert ((points - corners[face[0]]) @ n).max() < 1e-8
        side = np.roll(corners[face], -1, axis=0) - corners[face]
        assert (np.cross(side, np.roll(side, -1, axis=0)) @ n > 0).all()
    fans = [(face[0], face[k], face[k + 1]) for face in faces for k in range(1, len(face) - 1)]
    if volume:
        assert mesh_properties(corners, np.array(fans)).mass == pytest.approx(volume, rel=1e-12)


@pytest.mark.parametrize("points", [CUBE[:3], PRISM[:24], np.zeros((9, 3)), GRID[:, [0, 0, 0]]])
def test_flat_points_have_no_hull(points):
    with pytest.raises(HullError):
        convex_hull(points)


def test_large_faces_are_thinned(tmp_path, all_supported):
    angles = np.arange(100) / 100 * 2 * np.pi
    lines = [f"v {np.cos(a)!r} {np.sin(a)!r} {z}" for z in (0, 1) for a in angles.tolist()]
    (tmp_path / "disc.obj").write_text("\n".join(lines).replace("np.float64(", "").replace(")", "") + "\nf 1 2 3\n")
    model = read_model(tmp_path, scene({"x": "shapes: {m: {type: mesh, file: disc.obj}}"}))
    host = colliders(model)
    assert model.shapes.kind[0] == ShapeKind.MESH
    assert len(host.corner) == 200
    assert np.diff(host.ring_start).max() == MOST_CORNERS
    np.testing.assert_allclose(host.position[0, 0], (0, 0, 0.5), atol=1e-15)


def random_scene(rng):
    """Text of a scene with joints, exclusions, still bodies; who touches, pair by pair; numbers for no pair."""
    names = [f"b{k}" for k in range(7)]
    kinds = (BALL, "{type: box, size: [1, 1, 1], density: 1000}", "{type: sphere, radius: 0.1, collide: false}")
    shapes = {name: {f"s{i}": kinds[rng.integers(3)] for i in range(rng.integers(1, 4))} for name in names}
    still = set(rng.choice(names, 2, replace=False).tolist())
    bodies = {}
    for name, own in shapes.items():
        written = ", ".join(f"{key}: {text}" for key, text in own.items())
        bodies[name] = f"shapes: {{{written}}}" + (", kinematic: true" if name in still else "")
    known = ["world", "ground", *names, *(f"{name}/s0" for name in names)]
    exclude = [rng.choice(known, 2, replace=False).tolist() for _ in range(3)]
    joint = rng.choice(sorted({*names} - still), 2, replace=False).tolist()
    asked = [[joint[1], f"{joint[0]}/s0"]] if rng.integers(2) else []
    rest = f"joints: {{j: {{type: revolute, parent: {joint[0]}, child: {joint[1]}}}}}\ncontact:\n  exclude: {exclude}\n"
    rest += "".join(f"  pairs: [{{a: {a}, b: {b}}}]\n" for a, b in asked)
    text = scene(bodies, rest, "{ground: {type: plane}, post: {type: sphere, radius: 1}}")

    def means(pair, one, other):
        return (pair[0] in one and pair[1] in other) or (pair[0] in other and pair[1] in one)

    every = [(f"{name}/{key}", name) for name, own in shapes.items() for key, kind in own.items() if "collide" not in kind]
    expected, unread = set(), [*asked]
    for one, other in combinations([*every, ("ground", "world"), ("post", "world")], 2):
        owners = {one[1], other[1]}
        held = owners == {*joint} and not any(means(pair, one, other) for pair in asked)
        apart = held or len(owners) == 1 or owners <= {"world", *still}
        if not (apart or any(means(pair, one, other) for pair in exclude)):
            expected.add(frozenset((one[0], other[0])))
            unread = [pair for pair in unread if not means(pair, one, other)]
    return text, expected, unread


@pytest.mark.parametrize("seed", range(12))
def test_the_rule_is_that_of_every_single_pair(seed, tmp_path, all_supported):
    text, expected, unread = random_scene(np.random.default_rng(seed))
    with pytest.raises(SceneError, match="never touch") if unread else nullcontext():
        assert pairs_of(read_model(tmp_path, text)) == expected


@pytest.mark.parametrize("least", [20, MANY_SHAPES])  # compared pair by pair, or found by a tree
def test_tables_of_contact_grow_with_the_shapes_and_no_faster(least, tmp_path, all_supported, device):
    """Pairs are found, not listed: on the host and on the device each further ball takes as much as the one before."""
    sizes, notes = [], []
    for n in (least, least + 5, least + 10):  # the tree has as many leaves, a power of two
        balls = {f"b{k}": f"shapes: {{s: {BALL}}}" for k in range(n)}
        model = read_model(tmp_path, scene(balls, "contact: {capacity: 9}\n", "{ground: {type: plane}}"))
        arena = Arena(device.for_worlds(1), 1)
        Collider(model, Tables(model, arena), arena)
        columns = (getattr(model.contacts, one.name) for one in fields(model.contacts))
        sizes.append((sum(np.asarray(column).nbytes for column in columns), *arena.lay_out().values()))
        notes.append(sum(each.size for each in arena.notes))
    assert len({tuple(np.subtract(b, a).tolist()) for a, b in pairwise(sizes)}) == 1
    assert notes[2] - notes[0] < 100 * 10, notes


RADIUS, RELEASE = 0.1, 0.1
# How a ball hangs on the world. All of them let it fall along z.
NEAR_MOVING = {
    "distance": {"type": "distance", "limit": [0, 5], "loop": True},
    "prismatic": {"type": "prismatic", "axis": [0, 0, 1]},
    "planar": {"type": "planar", "axis": [1, 0, 0]},
    "d6": {"type": "d6", "axes": {"linear": [{"axis": [0, 0, 1]}]}},
}
# How it hangs on the owner of its floor, whichever that is: the joint is off, or an event at RELEASE switches it off.
SWITCHED = {
    "off": {"type": "revolute", "enabled": False},
    "unheld": {"type": "fixed", "enabled": False},
    "released": {"type": "fixed"},
    "unhinged": {"type": "revolute"},
}
EVENT = ("released", "unhinged")
UNKNOWN = {"affine": ("distance", "planar", "d6")}
# [m]: what a rigid floor lacks; a barrier keeps balls within its d_hat above the floor.
WITHIN = {"affine": 2e-3}
BODY = {"mass": 1, "inertia": {"diag": [0.01, 0.01, 0.01]}}
NEAR_BALL = {**BODY, "shapes": {"s": {"type": "sphere", "radius": RADIUS}}}
BOX = {"s": {"type": "box", "size": [100, 10, 1]}}


def falling(solver: str) -> dict:
    """Balls that fall: on the world's floor along y = 0, on that of a held body along y = 50; and two that are held."""
    bodies = {
        "base": {**BODY, "pose": {"xyz": [0, 50, -0.5]}, "shapes": BOX},
        "held": {**NEAR_BALL, "pose": {"xyz": [-3, 0, 0]}},
        "chain": {**NEAR_BALL, "pose": {"xyz": [-6, 0, 0]}},
    }
    fixed = {"type": "fixed", "parent": "world", "parent_frame": {}}
    joints = {name: {**fixed, "child": name, "parent_frame": bodies[name]["pose"]} for name in ("base", "held")}
    joints["chain"] = {**fixed, "parent": "held", "child": "chain", "parent_frame": {"xyz": [-3, 0, 0]}}
    moving = [name for name in NEAR_MOVING if name not in UNKNOWN.get(solver, ())]
    places = [("world", name, 0) for name in (*moving, *SWITCHED)] + [("base", name, 50) for name in SWITCHED]
    for k, (owner, name, y) in enumerate(places):
        own = f"{owner}_{name}"
        bodies[own] = {**NEAR_BALL, "pose": {"xyz": [k, y, 1]}}
        at = [k, y, 1] if owner == "world" else [k, 0, 1.5]
        joints[own] = {**(NEAR_MOVING | SWITCHED)[name], "parent": owner, "child": own, "parent_frame": {"xyz": at}}
    switch = {f"joints.{owner}_{name}.enabled": False for owner in ("world", "base") for name in EVENT}
    return {
        "simcli": 1,
        "world": {"shapes": {"floor": {"type": "plane"}}},
        "bodies": bodies,
        "joints": joints,
        "events": [{"at": RELEASE, "set": switch}],
        "solver": {"type": solver, "dt": 2e-3},
        "run": {"duration": 0.8},
    }


@pytest.mark.parametrize(
    "solver", [pytest.param(name, marks=pytest.mark.slow) if name in ("maximal", "natural") else name for name in SOLVERS]
)
def test_what_falls_comes_to_rest_on_its_floor(solver, tmp_path):
    """What is held cuts the floor in peace, alone or in a chain: it is a part of the world."""
    made = falling(solver)
    code, result = run(tmp_path, solver, made)
    assert code == 0
    with result:
        height = {name: float(result.body(name).position[-1, 0, 2]) for name in made["bodies"]}
    within = WITHIN.get(solver, 1e-6)
    assert height.pop("base") == pytest.approx(-0.5, abs=within)
    assert (height.pop("held"), height.pop("chain")) == pytest.approx((0, 0), abs=within)
    assert height == pytest.approx(dict.fromkeys(height, RADIUS), abs=within)


def touching(path) -> tuple[set[frozenset[str]], dict]:
    """Pairs of bodies of which shapes can touch, and the joints of a scene."""
    document = load_scene(path)
    spec = resolve(document)
    model = build(spec, document)
    if model.contacts is None:
        return set(), spec.joints
    owner = [WORLD_NAME if b < 0 else model.bodies.name[b] for b in model.shapes.body]
    return {frozenset((owner[a], owner[b])) for a, b in zip(*model.contacts.pairs[:2], strict=True)}, spec.joints


MASS = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
SOLID = '<collision name="{}"><geometry><box size="1 1 1"/></geometry></collision>'
URDF = f"""<robot name="arm"><link name="foot">{SOLID.format("foot")}</link>
<link name="upper">{MASS}{SOLID.format("u")}</link><link name="lower">{MASS}{SOLID.format("l")}</link>
<joint name="hip" type="continuous"><parent link="foot"/><child link="upper"/></joint>
<joint name="knee" type="continuous"><parent link="upper"/><child link="lower"/></joint></robot>"""
WELDED = '<link name="{}"><inertial><mass>1</mass></inertial>{}</link>'
BOXED = SOLID.replace('<box size="1 1 1"/>', "<box><size>1 1 1</size></box>")
SDF = f"""<sdf version="1.7"><world name="w">
<model name="post"><static>true</static><link name="post">{BOXED.format("p")}</link></model>
<model name="wall"><static>true</static><link name="wall">{BOXED.format("q")}</link></model>
<model name="arm">{WELDED.format("upper", BOXED.format("u"))}</model>
<joint name="hip" type="revolute"><parent>post::post</parent><child>arm::upper</child><axis><xyz>0 1 0</xyz></axis></joint>
</world></sdf>"""


def test_links_that_became_a_part_of_the_world_keep_apart_from_their_neighbours(tmp_path):
    """A foot without mass, which URDF fixes, and a static model of SDF: joints of both formats part what they connect."""
    for suffix, text in (("urdf", URDF), ("sdf", SDF)):
        (tmp_path / f"model.{suffix}").write_text(text)
    assert touching(tmp_path / "model.urdf")[0] == {frozenset((WORLD_NAME, "lower"))}
    document = load_scene(tmp_path / "model.sdf")
    spec = resolve(document)
    model = build(spec, document)
    names = {model.shapes.name[s] for pair in model.contacts.pairs[:2] for s in pair}
    assert names == {"q", "arm_upper/u"}


SHIPPED = [
    path
    for folder in ("scenes", "simcli/docs/templates", "simcli/docs/bundles")
    for path in sorted((Path(__file__).parents[1] / folder).glob("*.yaml"))
]


def test_no_shipped_scene_collides_by_a_joint_with_the_world():
    """What a joint holds to the world touches none of its shapes in them: those that hang in the air have no floor."""
    for path in SHIPPED:
        pairs, joints = touching(path)
        assert pairs.isdisjoint(frozenset((joint.parent, joint.child)) for joint in joints.values()), path.name
