"""Machines that touch: a stick that hits, Painleve's rod, a spinning top, a quadruped, a long chain with a heavy end.

The stick is the case impacting_stick; its data from there are in the JSON of references.

Impacts at a gap: each body is pushed at its own surface point, whatever the gap at the start of the step.

What an impact does to a body is known without its law of friction: the change of its spin is the moment of the change of
its momentum about its centre. Shapes stand so that each meets the other in one point, the farthest along the normal.

Closed loops that touch: redundant rows of a loop in a plane see nothing but rounding, and ask for no impulse.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.contact_scenes import (
    GRAVITY,
    INTEGRATOR,
    RADIUS,
    batch,
    chain,
    quadruped,
    rod,
    rollers,
    rotated,
    run,
    scene,
    top,
)
from support.contacts import ROCK, SHAPES, SOLIDS, rock_file
from support.process import simcli as command

import simcli
from simcli import rotations as rot
from simcli.kernels.complementarity.problem import LIMITS

CASE = json.loads((Path(__file__).parent / "references" / "impacting_stick.json").read_text())
FINE, COARSE = 1e-4, 1e-3  # [s]
STEP = 1e-6  # [m/s], what a step may lack
# [m/s, m/s, rad/s] x, y, angle of the stick: the time of an impact is known to a step. Rates jump by 0.004, 0.4 and 1.6 at
# the first and by 0.003, 1.0 and 1.5 at the second one, whose angle, 1.6 h off, adds 30 rad/s^2 times 0.04 s.
JUMPS = np.array([0.1, 1.5, 5.0])
# name: angle of the rod from the ground [rad], where it begins, its friction, restitution and gravity.
LEAN = np.arctan(2.0)  # where mu = 4/3 is critical
RODS = {
    "stick": {
        "x": np.sqrt(0.5),
        "tilt": 0.75 * np.pi,
        "u": -0.5,
        "v": 0.1,
        "w": 0.1,
        "gap": 0.01,
        "mu": 0.01,
        "e": 1,
        "g": 10,
    },
    "paradox": {"tilt": np.pi / 3, "u": -2, "mu": 2.5},
    "beyond critical": {"tilt": LEAN, "u": -3, "mu": 1.5},
    "below critical": {"tilt": LEAN, "u": -3, "mu": 1.0},
}


@pytest.fixture(scope="module", params=[COARSE, FINE])
def rods(request, tmp_path_factory):
    content = rod()
    cases = batch(RODS, content["params"])
    code, seen = run(
        tmp_path_factory.mktemp("rod"), "rod", {**scene("generalized", request.param, 0.8, content, 1e-3), "batch": cases}
    )
    assert code == 0
    return request.param, seen


@pytest.mark.slow
def test_stick_hits_twice(rods):
    """Newton's impacts with friction along the slip that follows; errors are a part of the step."""
    h, seen = rods
    body, rows = seen.body("rod"), np.array(CASE["data"])
    along = rotated(body.orientation[:][:, 0], [1.0, 0, 0])
    tilt = np.arctan2(along[:, 2], along[:, 0]) - np.pi / 2
    found = np.column_stack([body.position[:][:, 0, 0], body.position[:][:, 0, 2], tilt])
    frames = np.searchsorted(seen.time[:], rows[:, 0] - 1e-9)
    error = np.abs(found[frames] - rows[:, 1:4]).max(axis=0)
    assert (error < JUMPS * h).all()


@pytest.mark.slow
def test_contacts_of_rods_give_no_energy(rods):
    """Painleve's rod jams and jumps, and never has more energy than at the start."""
    _, seen = rods
    energy = seen.energy.total[:][:, 1:]
    assert (energy - energy[0]).max() < 1e-9
    assert np.diff(seen.energy.dissipated[:][:, 1:], axis=0).min() >= 0


@pytest.mark.slow
def test_tip_below_the_critical_friction_feels_two_and_a_half_weights(rods):
    """N = m g/(1 + 3 cos (cos - mu sin)) = 2.5 m g: the centre is pushed up with 1.5 g in the first step."""
    _, seen = rods
    first = seen.body("rod").velocity[:][1, list(RODS).index("below critical"), 2]
    assert abs(first / 1e-3 - 1.5 * GRAVITY) < 0.01  # the rod turns a little in the first millisecond


@pytest.mark.slow
@pytest.mark.parametrize("h", [0.01, 0.05])
def test_round_bodies_end_rolling(h, tmp_path):
    """v = (v_0 + k w_0 r)/(1 + k), k = I/(m r^2): sides of cylinders and capsules do not turn with the body."""
    content, starts = rollers(), {"slides": {"v": 2.0}, "spins": {"v": 1.0, "w": 10.0}}
    cases = batch(starts, content["params"])
    code, seen = run(tmp_path, "rollers", {**scene("generalized", h, 2, content), "batch": cases})
    assert code == 0
    for name, inertia in zip(seen.bodies, np.asarray(seen.model["body_inertia"])[0], strict=True):
        k = inertia[2, 2] / RADIUS**2
        body = seen.body(name)
        for world, start in enumerate(starts.values()):
            rolling = (start["v"] + k * start.get("w", 0.0) * RADIUS) / (1 + k)
            assert abs(body.velocity[-1, world, 0] - rolling) < 1e-7  # contact-solver.md, section 10
            assert abs(body.angular_velocity[-1, world, 1] * RADIUS - rolling) < 1e-7
            assert np.abs(body.position[:][:, world, 2] - RADIUS).max() < 1e-8
            assert np.abs(body.angular_velocity[-1, world, ::2]).max() < STEP


@pytest.mark.slow
def test_top_on_a_table_precesses_as_on_a_pivot(tmp_path):
    """Steady precession of a top whose point sticks to a table; the error is of order one."""
    errors = []
    for h in (2e-4, 1e-4):
        content, rate, tip = top(spin=100.0, lean=np.radians(30))
        code, seen = run(tmp_path, f"top{h}", scene("generalized", h, 2, content, 0.01))
        assert code == 0
        body = seen.body("top")
        down = rotated(body.orientation[:][:, 0], [0.0, 0.0, -tip])
        turned = np.unwrap(np.arctan2(-down[:, 1], -down[:, 0]))
        errors.append(turned[-1] / seen.time[-1] / rate - 1)
        point = body.position[:][:, 0] + down
        assert np.abs(point[:, 2]).max() < 1e-9
        assert np.abs(point[:, :2]).max() < 10 * h
    assert abs(errors[0]) < 2e-3
    assert 0.4 < errors[1] / errors[0] < 0.6


@pytest.mark.slow
def test_quadruped_stands(tmp_path):
    """Drives with clamps, dry friction, limits and four feet: Newton steps per step, and what a step lacks."""
    content = quadruped()
    cases = batch({mu: {"mu": mu} for mu in (0.3, 0.6, 0.8, 1.2)}, content["params"])
    code, seen = run(tmp_path, "quadruped", {**scene("generalized", 5e-3, 2, content), "batch": cases})
    assert code == 0
    tries = seen.diag.iterations[:][1:]
    assert tries.mean() < 1.5  # contact-solver.md, section 10
    assert tries[-50:].mean() < 1
    assert seen.diag.residual[:][1:].max() < STEP
    assert seen.diag.penetration[:].max() < 1e-6
    assert (seen.diag.contacts[:][-1] == 4).all()
    body = seen.body("torso")
    assert np.abs(body.velocity[-1]).max() < 1e-7
    assert np.abs(body.position[:][:, :, 1]).max() < 1e-9  # symmetric
    assert (body.position[-1, :, 2] > 0.3).all()


@pytest.mark.slow
def test_chain_with_a_heavy_end_keeps_its_joints(tmp_path):
    """30 links, 1000:1, beside contact. At h = 10 ms it comes apart: forces act along the directions of a step's start."""
    code, seen = run(tmp_path, "chain", scene("maximal", 1e-3, 0.2, chain(30, 1000), 0.01))
    assert code == 0
    assert seen.diag.position_violation[:].max() < 1e-9
    assert abs(seen.energy.total[-1, 0] - seen.energy.total[0, 0]) < 0.01 * seen.energy.kinetic[-1, 0]


ROUNDING = 1e-9  # [1] of the largest change: velocities of a step and their rotation into natural coordinates
ARM = 1e-6  # [1] of an arm: normals of rounded shapes are found by iteration, to the square root of rounding

# A ball that arrives within a step, in closed form

BALL, SPEED, FALL, STEPS = 0.05, 2.0, 5.0, 4  # [m], [m/s], [m/s], after which the impact is over
DT = 2e-3  # [s]: the ball falls by a fifth of its radius in a step
IMPACTS = {  # friction, restitution, gap over the way of a step
    f"{name}, e {e}, gap {part}": {"mu": mu, "e": e, "gap": part * FALL * DT}
    for name, mu in (("sticks", 5.0), ("slides", 0.05))
    for e in (0.0, 0.6)
    for part in (0.01, 0.5, 0.99)
}
ARRIVAL = {
    "simcli": 1,
    "params": {"mu": 0.0, "e": 0.0, "gap": 0.0},
    "materials": {"m": {"friction": "${mu}", "restitution": "${e}"}},
    "world": {"gravity": [0, 0, 0], "shapes": {"ground": {"type": "plane", "material": "m"}}},
    "bodies": {
        "ball": {
            "mass": 2,
            "pose": {"xyz": [0, 0, f"${{{BALL} + gap}}"]},
            "velocity": {"linear": [SPEED, 0, -FALL]},
            "shapes": {"s": {"type": "sphere", "radius": BALL, "material": "m"}},
        }
    },
    "run": {"duration": STEPS * DT},
    "output": {"every": DT, "channels": ["state", "contacts"]},
}


def options(solver, dt, **more):
    return {"type": solver, "integrator": INTEGRATOR[solver], "dt": dt, **more}


SOLVERS = ["generalized", *(pytest.param(name, marks=pytest.mark.slow) for name in ("maximal", "natural"))]


@pytest.mark.parametrize("solver", SOLVERS)
def test_ball_leaves_with_the_spin_of_its_friction(solver, tmp_path):
    """v_t and R w of a solid ball: 5/7 of v_t where it sticks, else what friction times the impulse gives."""
    cases = batch(IMPACTS, ARRIVAL["params"])
    code, seen = run(tmp_path, solver, {**ARRIVAL, "solver": options(solver, DT), "batch": cases})
    assert code == 0
    assert seen.diag.residual[...].max() <= STEP  # frame 0 too, whose forces are a solution
    ball, table = seen.body("ball"), seen.contact_table()
    v, w = ball.velocity[-1], ball.angular_velocity[-1]
    for k, case in enumerate(IMPACTS.values()):
        lost = min(2 / 7 * SPEED, case["mu"] * (1 + case["e"]) * FALL)
        np.testing.assert_allclose(v[k], [SPEED - lost, 0, case["e"] * FALL], atol=STEP, rtol=0)
        np.testing.assert_allclose(w[k] * BALL, [0, 2.5 * lost, 0], atol=2.5 * STEP, rtol=0)
    centre = ball.position[:][table["frame"], table["world"]]
    side = np.where(seen.model["shape_body"][table["shape_a"]] < 0, 1.0, -1.0)[:, None]  # the normal points to b
    touch = table["point"] + 0.5 * side * table["gap"][:, None] * table["normal"]
    np.testing.assert_allclose(touch - centre, np.broadcast_to([0, 0, -BALL], centre.shape), atol=ROUNDING, rtol=0)


# Every pair of shapes, in one step

GAP, NEAR, FAST = 0.02, 3e-3, 10.0  # [m], [s] step, [m/s]
MASS = {"a": 1.5, "b": 0.5}
INERTIA = 0.04  # [kg m^2], about all axes, so that turning changes no spin
SOLID = [name for name in SHAPES if name != "point"]
PAIRS = [(a, b) for k, a in enumerate(SOLID) for b in SOLID[k:]]
NORMAL = np.array([0.36, 0.48, 0.8])  # of the free pairs, from a to b
APART = 10.0  # [m], between pairs
DEEP = 5.0  # [m], of the ground below the terrain, and of that below the free pairs
OFFSET = np.array([0.03, -0.02, 0.05])  # [m], of each shape in its body


def farthest(name, d):
    """[m], the farthest point of a shape along d, in its axes."""
    kind, size = SOLIDS[name]
    across = np.hypot(d[0], d[1])
    rim = np.array([d[0], d[1], 0.0]) / across if across else np.zeros(3)
    if kind == "sphere":
        return size[0] * d
    if kind == "box":
        return np.sign(d) * size
    if kind == "capsule":
        return size[0] * d + [0, 0, np.sign(d[2]) * size[1]]
    if kind == "cylinder":
        return size[0] * rim + [0, 0, np.sign(d[2]) * size[1]]
    if kind == "cone":
        base = size[0] * rim - [0, 0, size[1]]
        apex = np.array([0, 0, size[1]])
        return apex if apex @ d > base @ d else base
    if kind == "ellipsoid":
        return np.square(size) * d / np.linalg.norm(np.asarray(size) * d)
    return ROCK[(ROCK @ d).argmax()]


def stand(name, rng, n):
    """A turned shape's rotation (x y z w) and its farthest point along n from its body's origin, world axes."""
    quat = rng.normal(size=4)
    quat /= np.linalg.norm(quat)
    R = rot.quat_to_matrix(quat)
    return quat, R @ (farthest(name, R.T @ n) + OFFSET)


class Hall:
    """All pairs of shapes, each at a place of its own: two free bodies, or one above the ground or above terrain.

    Attributes:
        bodies: of the scene.  arms: [m], of each body, to where it touches.  hits: names of the two bodies, or of one.
        normal: of each hit, from the first body, or the world, to the second.
    """

    def __init__(self):
        self.rng = np.random.default_rng(6)
        self.bodies, self.arms, self.hits, self.normal = {}, {}, [], []
        for k, (a, b) in enumerate(PAIRS):
            place, slip = np.array([0, APART * (k + 1), DEEP]), np.cross(NORMAL, [0, 0, 1.0])
            self.put(f"a{k}", a, NORMAL, place, -0.5 * slip, MASS["a"])
            self.put(f"b{k}", b, -NORMAL, place + GAP * NORMAL, slip - FAST * NORMAL, MASS["b"])
            self.hits.append((f"a{k}", f"b{k}"))
            self.normal.append(NORMAL)
        up = np.array([0, 0, 1.0])
        for k, a in enumerate(SOLID):
            for name, place in (("ground", [APART * (k + 4), 0, GAP - DEEP]), ("hill", [3.0 * k - 8.9, 0.3, GAP])):
                self.put(f"{name}{k}", a, -up, np.array(place), np.array([1.0, 0.5, -FAST]), MASS["b"])
                self.hits.append((f"{name}{k}",))
                self.normal.append(up)

    def put(self, name, shape, n, place, velocity, mass):
        """Add a body of which the farthest point along n is at a place."""
        quat, arm = stand(shape, self.rng, n)
        solid = {**yaml.safe_load(SHAPES[shape]), "pose": {"xyz": OFFSET.tolist()}}
        self.arms[name] = arm
        self.bodies[name] = {
            "mass": mass,
            "inertia": {"diag": [INERTIA] * 3},
            "shapes": {"s": solid},
            "pose": {"xyz": (place - arm).tolist(), "quat_xyzw": quat.tolist()},
            "velocity": {"linear": velocity.tolist()},
        }

    def scene(self, solver, **more):
        """One step of all of them, without gravity."""
        world = {
            "ground": {"type": "plane", "pose": {"xyz": [0, 0, -DEEP]}},
            "hill": {"type": "heightfield", "size": [40, 40, 1], "data": np.zeros((5, 5)).tolist()},
        }
        return {
            "simcli": 1,
            "defaults": {"shape": {"material": "m"}},
            "materials": {"m": {"friction": 0.7}},
            "world": {"gravity": [0, 0, 0], "shapes": world},
            "bodies": self.bodies,
            "contact": {"capacity": 100},
            "solver": options(solver, NEAR, **more),
            "run": {"duration": NEAR},
            "output": {"every": NEAR, "channels": ["state", "contacts"]},
        }


HALLS = {"generalized": {"contact": {"linear": "dense"}}, "maximal": {"contact": {"linear": "sparse"}}, "natural": {}}


@pytest.mark.slow
@pytest.mark.parametrize("solver", HALLS)
def test_every_pair_of_shapes_turns_by_its_own_arm(solver, tmp_path):
    """I w' - I w = r x (m v' - m v); of two bodies, momenta are opposite, and angular momentum lacks gap x impulse."""
    rock_file(tmp_path)
    hall = Hall()
    code, seen = run(tmp_path, solver, hall.scene(solver, **HALLS[solver]))
    assert code == 0
    table, owner, names = seen.contacts(1, 0), np.append(seen.model["shape_body"], -1), list(seen.bodies)
    hit = {frozenset((owner[a], owner[b])) for a, b in zip(table["shape_a"], table["shape_b"], strict=True)}
    for bodies, n in zip(hall.hits, hall.normal, strict=True):
        assert frozenset([*(names.index(name) for name in bodies), *(-1,) * (2 - len(bodies))]) in hit, bodies
        change = []
        for name in bodies:
            v, w = (values[:, 0] for values in (seen.body(name).velocity, seen.body(name).angular_velocity))
            push, turn = hall.bodies[name]["mass"] * (v[1] - v[0]), INERTIA * (w[1] - w[0])
            size = np.linalg.norm(push) * np.linalg.norm(hall.arms[name])
            np.testing.assert_allclose(turn, np.cross(hall.arms[name], push), atol=ARM * size, rtol=0, err_msg=name)
            assert np.linalg.norm(np.cross(n, push)) > 1e-3 * np.linalg.norm(push), f"{name} feels no friction"
            change.append((push, turn, seen.body(name).position[0, 0]))
        if len(bodies) == 2:
            (p_a, l_a, x_a), (p_b, l_b, x_b) = change
            np.testing.assert_allclose(p_a + p_b, 0, atol=ROUNDING * np.linalg.norm(p_b))
            whole = np.cross(x_a, p_a) + l_a + np.cross(x_b, p_b) + l_b
            np.testing.assert_allclose(whole, GAP * np.cross(n, p_b), atol=ARM * np.linalg.norm(p_b))


LOOPS_GRAVITY, DROP, SIDE, LENGTH = 9.81, 0.45, 0.1, 0.5  # [m/s^2, m, m, m]
ENDS = {"float64": 1e-8, "float32": 2e-3}  # [m], off from the place where the frame stands, which is one of no stability
CASES = [
    ("generalized", "float64"),
    *(
        pytest.param(*case, marks=pytest.mark.slow)
        for case in (
            ("maximal", "float64"),
            ("natural", "float64"),
            ("generalized", "float32"),
            ("maximal", "float32"),
            ("natural", "float32"),
        )
    ),
]


def frame() -> dict:
    """A frame of four bars and four hinges that falls upright onto the ground; three rows of a hinge say nothing new."""
    level, post = [2 * LENGTH, SIDE, SIDE], [SIDE, SIDE, LENGTH]
    places = {"roof": (0, 2, level), "right": (1, 1.5, post), "sill": (0, 1, level), "left": (-1, 1.5, post)}
    bodies = {
        name: {
            "pose": {"xyz": [x * LENGTH, 0, z * LENGTH]},
            "shapes": {"s": {"type": "box", "size": size, "material": "wood"}},
        }
        for name, (x, z, size) in places.items()
    }
    corners = {
        "a": ("roof", "right", 1, 2),
        "b": ("right", "sill", 1, 1),
        "c": ("sill", "left", -1, 1),
        "d": ("left", "roof", -1, 2),
    }
    joints = {
        name: {"type": "revolute", "parent": one, "child": other, "at": [x * LENGTH, 0, z * LENGTH], "axis": [0, 1, 0]}
        for name, (one, other, x, z) in corners.items()
    }
    return {
        "simcli": 1,
        "materials": {"wood": {"density": 500, "friction": 0.6}},
        "world": {"shapes": {"floor": {"type": "plane", "material": "wood"}}},
        "bodies": bodies,
        "joints": joints,
        "contact": {"exclude": [[one, other] for one, other, _, _ in corners.values()]},
        "run": {"duration": 1},
        "output": {"every": 0.005},
    }


@pytest.mark.parametrize(("solver", "precision"), CASES)
def test_a_frame_falls_onto_the_ground(tmp_path, solver, precision):
    path, out = tmp_path / "frame.json", tmp_path / "frame.h5"
    path.write_text(json.dumps({**frame(), "solver": {"type": solver, "dt": 1e-3, "precision": precision}}))
    ended = command("run", path, "-o", out, "-q")
    assert ended.returncode == 0, ended.stderr
    with simcli.open(out) as run:
        assert run.diag.residual[:].max() < 100 * max(LIMITS[precision].least_of_rows, 1e-8)
        assert run.diag.iterations[:].max() < 40
        falls = run.time[:] < np.sqrt(2 * DROP / LOOPS_GRAVITY) - 2e-3
        fell = run.body("sill").velocity[:][falls, 0, 2]
        assert np.abs(fell + LOOPS_GRAVITY * run.time[:][falls]).max() < ENDS[precision]
        heights = {"sill": SIDE / 2, "roof": SIDE / 2 + LENGTH}
        for name, height in heights.items():
            assert abs(run.body(name).position[-1, 0, 2] - height) < ENDS[precision]


BELT, GRIP = 1.5, 0.3  # [m/s], [1]
YAW = 0.6  # [rad] of the frame of the belt
RIDES = ["generalized", *(pytest.param(one, marks=pytest.mark.full) for one in ("maximal", "natural"))]
RIDE = 2e-3  # [s]
RIDDEN = 1e-6  # [m/s], what a step may lack
ON_BELT = 1e-5  # [J] of 10 J: what steps lack, over all of them


def riders():
    """A box and a ball on a belt that runs askew, a tank on the floor, and a box on a belt that a body carries.

    Worlds differ in the speed of the belt, so that blocks of lanes have several.
    """
    box = {"type": "box", "size": [0.2, 0.2, 0.2], "material": "m"}
    turned = {"rpy": [0, 0, YAW]}
    return {
        "simcli": 1,
        "params": {"u": BELT},
        "materials": {"m": {"friction": GRIP}},
        "world": {
            "shapes": {
                "belt": {
                    "type": "plane",
                    "pose": turned,
                    "material": "m",
                    "surface_velocity": ["${u}", 0, 7],
                    "layers": ["belts"],
                    "touches": ["riders"],
                },
                "floor": {"type": "plane", "material": "m", "layers": ["floors"], "touches": ["tanks"]},
            }
        },
        "bodies": {
            "parcel": {
                "mass": 2,
                "pose": {"xyz": [0, 0, 0.1]},
                "shapes": {"s": {**box, "layers": ["riders"], "touches": []}},
            },
            "ball": {
                "mass": 1,
                "pose": {"xyz": [0, 3, RADIUS]},
                "inertia": {"diag": [0.4 * RADIUS**2] * 3},
                "shapes": {"s": {"type": "sphere", "radius": RADIUS, "material": "m", "layers": ["riders"], "touches": []}},
            },
            "tank": {
                "mass": 3,
                "pose": {"xyz": [0, 6, 0.1], **turned},
                "shapes": {"s": {**box, "surface_velocity": ["${-u}", 0, 0], "layers": ["tanks"], "touches": []}},
            },
        },
        "output": {"channels": ["state", "energy", "contacts"]},
    }


@pytest.fixture(scope="module", params=RIDES)
def ridden(request, tmp_path_factory):
    solver, h = request.param, RIDE
    speeds = [BELT, 0.0, -BELT, 0.7, 1.0]
    worlds = {"worlds": len(speeds), "vary": {"params.u": {"list": speeds}}}
    content = {**scene(solver, h, 0.8, riders(), contact={"tolerance": 1e-10}), "batch": worlds}
    code, found = run(tmp_path_factory.mktemp("belt"), solver, content)
    assert code == 0
    return h, found, np.array(speeds)


def along_belt(values):
    return values[..., 0] * np.cos(YAW) + values[..., 1] * np.sin(YAW)


def test_what_lies_on_a_belt_comes_to_its_speed(ridden):
    """v = mu g t up to the speed of the belt; a ball that did not turn rolls with 2/7 of it; a tank drives itself."""
    h, found, speeds = ridden
    t = found.time[:][:, None]
    gained = GRIP * GRAVITY * t
    wanted = {
        "parcel": np.sign(speeds) * np.minimum(gained, np.abs(speeds)),
        "ball": np.sign(speeds) * np.minimum(gained, np.abs(2 / 7 * speeds)),
        "tank": np.sign(speeds) * np.minimum(gained, np.abs(speeds)),
    }
    for name, speed in wanted.items():
        seen = found.body(name).velocity[:]
        assert np.abs(along_belt(seen) - speed).max() < RIDDEN + (name == "ball") * GRAVITY * GRIP * h, name
        assert np.abs(np.cross(seen, [np.cos(YAW), np.sin(YAW), 0])).max() < RIDDEN, name
    spin = found.body("ball").angular_velocity[-1] @ [np.sin(YAW), -np.cos(YAW), 0]
    assert spin == pytest.approx(5 / 7 * speeds / RADIUS, abs=1e-4)


def test_work_of_belts_is_input(ridden):
    """F u t of each contact that slides: m u^2 of what comes to the speed u, 2/7 of that for the ball."""
    _, found, speeds = ridden
    put_in = (2 + 3 + 2 / 7) * speeds**2
    assert found.energy.input[-1] == pytest.approx(put_in, abs=1e-4)
    assert np.abs(found.energy.drift[:]).max() < ON_BELT


def carriers(moves):
    """A parcel on a belt, and one on a slab that moves as the surface of the belt does."""
    slab = {"type": "box", "size": [8, 1, 0.1], "pose": {"xyz": [0, 0, -0.05]}, "material": "m"}
    parcel = {"type": "box", "size": [0.2, 0.2, 0.2], "material": "m"}
    return {
        "simcli": 1,
        "materials": {"m": {"friction": 0.2}},
        "signals": {"pace": {"sine": {"amplitude": 1.5, "frequency": 0.8}}, "up": {"constant": 0.0}},
        "world": {"shapes": {"belt": {**slab, "surface_velocity": moves}}},
        "bodies": {
            "slab": {"pose": {"xyz": [0, 4, 0]}, "kinematic": True, "motion": {"linear": moves}, "shapes": {"s": slab}},
            "on_belt": {"mass": 2, "pose": {"xyz": [0, 0, 0.1]}, "shapes": {"s": parcel}},
            "on_slab": {"mass": 2, "pose": {"xyz": [0, 4, 0.1]}, "shapes": {"s": parcel}},
        },
        "output": {"channels": ["state", "energy"]},
    }


@pytest.mark.parametrize("solver", [pytest.param("generalized", marks=pytest.mark.full), "maximal"])
def test_a_belt_carries_as_a_body_that_moves_like_its_surface(tmp_path, solver):
    """Sticking and sliding by turns: mu g is less than what the signal asks for at times."""
    content = scene(solver, RIDE, 1.0, carriers(["$pace", 0, 0]), contact={"tolerance": 1e-10})
    code, found = run(tmp_path, "carried", content)
    assert code == 0
    one, other = (found.body(name).velocity[:][:, 0, 0] for name in ("on_belt", "on_slab"))
    pace = 1.5 * np.sin(2 * np.pi * 0.8 * found.time[:])
    assert (
        np.abs(one - other).max() < 1.5 * 2 * np.pi * 0.8 * RIDE
    )  # the time of a step: one has the start, one the end of it
    assert (np.abs(one - pace) > 0.1).any()
    assert (np.abs(one - pace)[100:] < 2e-2).any()
    assert np.abs(found.energy.drift[:]).max() < ON_BELT


def page_scenes(name):
    text = (Path(simcli.__file__).parent / "docs" / f"{name}.md").read_text()
    return [part.split("```")[0] for part in text.split("```yaml\n")[1:] if part.startswith("simcli: 1\n")]


@pytest.mark.parametrize("solver", ["", *(pytest.param(one, marks=pytest.mark.full) for one in ("generalized", "natural"))])
def test_belts_of_the_page_do_what_it_says(tmp_path, solver):
    (text,) = (one for one in page_scenes("contact") if "surface_velocity" in one)
    (tmp_path / "belt.yaml").write_text(text)
    more = (f"--set=solver.type={solver}",) if solver else ()
    ended = command("run", tmp_path / "belt.yaml", "-q", "-o", tmp_path / "run.h5", *more)
    assert ended.returncode == 0, ended.stderr


def test_what_no_belt_can_do_is_refused_by_name(tmp_path):
    (text,) = (one for one in page_scenes("contact") if "surface_velocity" in one)
    (tmp_path / "belt.yaml").write_text(text.split("expect:")[0])
    ended = command("check", tmp_path / "belt.yaml", "--set", "solver.type=affine")
    assert ended.returncode == 1
    assert "does not support a surface that moves along itself" in ended.stderr
    assert "does not support friction that a signal drives" in ended.stderr
    ended = command("equilibrium", tmp_path / "belt.yaml")
    assert "the surface of `belt` moves" in ended.stderr
    held = text.split("expect:")[0].replace(", surface_velocity: [1, 0, 0]", "")
    (tmp_path / "held.yaml").write_text(held)
    assert "a signal drives friction of contacts" in command("equilibrium", tmp_path / "held.yaml").stderr
