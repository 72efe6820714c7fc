"""Impacts at a gap: each body is pushed at its own surface point, whatever the gap at the start of the step.

What an impact does to a body is known without its law of friction: the change of its spin is the moment of the change of
its momentum about its centre. Shapes stand so that each meets the other in one point, the farthest along the normal.
"""

import numpy as np
import pytest
import yaml
from support.contact_scenes import INTEGRATOR, batch, run
from support.contacts import ROCK, SHAPES, SOLIDS, rock_file

from simcli import rotations as rot

ROUNDING = 1e-9  # [1] of the largest change: velocities of a step and their rotation into natural coordinates
ARM = 1e-6  # [1] of an arm: normals of rounded shapes are found by iteration, to the square root of rounding
STEP = 1e-6  # [m/s], a hundred times `solver.contact.tolerance`: what a step may lack

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
    "bodies": {"ball": {"mass": 2, "pose": {"xyz": [0, 0, f"${{{BALL} + gap}}"]},
                        "velocity": {"linear": [SPEED, 0, -FALL]},
                        "shapes": {"s": {"type": "sphere", "radius": BALL, "material": "m"}}}},
    "run": {"duration": STEPS * DT},
    "output": {"every": DT, "channels": ["state", "contacts"]},
}  # fmt: skip


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
        self.bodies[name] = {"mass": mass, "inertia": {"diag": [INERTIA] * 3}, "shapes": {"s": solid},
                             "pose": {"xyz": (place - arm).tolist(), "quat_xyzw": quat.tolist()},
                             "velocity": {"linear": velocity.tolist()}}  # fmt: skip

    def scene(self, solver, **more):
        """One step of all of them, without gravity."""
        world = {"ground": {"type": "plane", "pose": {"xyz": [0, 0, -DEEP]}},
                 "hill": {"type": "heightfield", "size": [40, 40, 1], "data": np.zeros((5, 5)).tolist()}}  # fmt: skip
        return {"simcli": 1, "defaults": {"shape": {"material": "m"}}, "materials": {"m": {"friction": 0.7}},
                "world": {"gravity": [0, 0, 0], "shapes": world}, "bodies": self.bodies, "contact": {"capacity": 100},
                "solver": options(solver, NEAR, **more), "run": {"duration": NEAR},
                "output": {"every": NEAR, "channels": ["state", "contacts"]}}  # fmt: skip


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
