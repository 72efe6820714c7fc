"""All 21 joints of Rible in one scene in natural coordinates: rows hold, coordinates say where things are, order two.

Kinematic bodies in natural coordinates: closed forms, orders against the tree, efforts, wrenches and the ledger.

How far contacts are from their law: by hand, by the device on runs of ours, and MuJoCo's model of a scene of ours.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import yaml
from benchmarks.contact_peers import mujoco_natural_map, states_of, touching_mjcf
from support.device import live_device
from support.forward import Runner
from support.joint_rows import joint_transform, row_residual
from support.process import simcli as command

import simcli
from simcli import pipeline
from simcli import rotations as rot
from simcli.analysis.drift import natural_map
from simcli.cli.runs import bench_scenes as bench_contact
from simcli.model.constraints.mobility import bilateral_rows, carry, type_and_motion
from simcli.model.joints.joint_rows import motion_columns
from simcli.model.joints.tree_kinematics import body_poses, body_twists
from simcli.model.snapshot import Status
from simcli.solvers import SOLVERS as MAP_SOLVERS
from simcli.solvers.base.run_plan import RunPlan
from simcli.solvers.impulses.solution import stated_contacts
from simcli.spec.base import dofs

HELD = 1e-10  # [m, 1], issue 4 asks for 1e-11 of the solver's own; poses pass through a file and a product of three
PLACED = 1e-9  # [m, 1]: angles of universals lose a digit or two near their singular places
MOVING = 1e-8  # [m/s, rad/s]
OF_AN_INSTANT = 1e-9  # of the largest reaction, between two steps: rounding over the softness of redundant rows
NEWTON = 0.01  # of m g: position corrections, which no force shows, and forces taken where the step begins
# Of accelerations, relative: those of a step of 1 ms and of 2 ms, where spins are up to 10 rad/s and grow by 50 rad/s^2.
SECOND_ORDER, FIRST_ORDER = 1e-4, 0.05
EVERY = 2e-3  # [s]
SOLVERS = {
    "coarse": {"type": "natural", "dt": 2e-3, "integrator": "zhong06"},
    "natural": {"type": "natural", "dt": 1e-3, "integrator": "zhong06"},
    "maximal": {"type": "maximal", "dt": EVERY},
}


def scene(solver: dict) -> dict:
    """Each joint holds a body of its own; of each three the first hangs on the world, the others on the one before.

    Orbital joints take frames; these have the directions of the world where the bodies are authored.
    """
    rng = np.random.default_rng(4)
    bodies, joints = {}, {}
    for k, name in enumerate(dofs.RIBLE):
        bodies[f"b{k}"] = {
            "mass": 1.0 + 0.1 * k,
            "com": rng.uniform(-0.1, 0.1, 3).tolist(),
            "inertia": {"diag": (0.05 + rng.uniform(0, 0.03, 3)).tolist()},
            "pose": {"xyz": rng.normal(size=3).tolist(), "quat_xyzw": rot.unit(rng.normal(size=4)).tolist()},
        }
        places = 0.2 * rng.normal(size=(2, 3))
        joint = {"type": name, "parent": f"b{k - 1}" if k % 3 else "world", "child": f"b{k}"}
        if name in dofs.ORBITAL:
            for key, body, place in zip(("parent", "child"), (joint["parent"], joint["child"]), places, strict=True):
                turn = bodies[body]["pose"]["quat_xyzw"] if body != "world" else np.array((0.0, 0.0, 0.0, 1.0))
                joint[f"{key}_frame"] = {"xyz": place.tolist(), "quat_xyzw": rot.quat_inverse(np.array(turn)).tolist()}
        else:
            joint["at"] = places[0].tolist()
        if name in dofs.AXIS:
            joint["axis"] = rng.normal(size=3).tolist()
        if name not in dofs.ROWS_ONLY and dofs.TYPES[name]:
            joint["qd"] = rng.uniform(-1, 1, len(dofs.TYPES[name])).tolist()
        joints[name] = joint
    return {
        "simcli": 1,
        "bodies": bodies,
        "joints": joints,
        "run": {"duration": 0.2},
        "output": {"every": EVERY, "channels": ["state", "energy", "reactions"]},
        "solver": solver,
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The file of the scene by one of SOLVERS, run where it is first asked for."""
    folder = tmp_path_factory.mktemp("joints")

    @cache
    def run(name):
        path = folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(scene(SOLVERS[name]), sort_keys=False))
        ended = command("run", path, "-o", folder / f"{name}.h5", "-q")
        assert ended.returncode == 0, ended.stderr
        return folder / f"{name}.h5"

    return run


class Seen:
    """What one frame shows of one joint."""

    def __init__(self, model, run, frame, j):
        joints, self.model, self.j = model.joints, model, j
        self.ends = int(joints.parent[j]), int(joints.child[j])
        poses = [run.read("frames/body_q")[frame, 0, b] if b >= 0 else np.array(rot.IDENTITY_POSE) for b in self.ends]
        self.twist = [run.read("frames/body_qd")[frame, 0, b] if b >= 0 else np.zeros(6) for b in self.ends]
        X = (joints.X_p[0, j], joints.X_c[0, j])
        self.anchor = [rot.pose_compose(pose, x) for pose, x in zip(poses, X, strict=True)]
        coms = [model.bodies.com[0, b] if b >= 0 else np.zeros(3) for b in self.ends]
        self.com = [rot.pose_apply(pose, com) for pose, com in zip(poses, coms, strict=True)]
        self.q = run.read("frames/joint_q")[frame, 0, joints.q_start[j] : joints.q_start[j + 1]]
        self.qd = run.read("frames/joint_qd")[frame, 0, joints.qd_start[j] : joints.qd_start[j + 1]]

    def violation(self):
        """Largest residual of the rows."""
        rows = bilateral_rows(self.model, self.j)
        return max((abs(row_residual(row, *self.anchor)) for row in rows), default=0.0)

    def misplaced(self):
        """[m, 1], distance of the child's anchor from where the joint coordinates say that it is."""
        X = rot.pose_compose(self.anchor[0], joint_transform(*type_and_motion(self.model, self.j), self.q))
        return max(np.abs(X[:3] - self.anchor[1][:3]).max(), 1.0 - abs(X[3:] @ self.anchor[1][3:]))

    def misled(self):
        """Largest difference between the twist of the child and what the joint velocities say."""
        columns = motion_columns(*type_and_motion(self.model, self.j), self.q, *self.anchor, self.com[1])
        return np.abs(carry(*self.com) @ self.twist[0] + columns @ self.qd - self.twist[1]).max()


def every(path, of, frames=(0, 50, -1)):
    """Largest value of a method of `Seen`, by joint."""
    model = simcli.load(path.with_suffix(".yaml"))[0]
    with simcli.open(path) as run:
        return {
            name: max(of(Seen(model, run, frame, j)) for frame in frames)
            for j, name in enumerate(model.joints.name)
            if name in dofs.RIBLE
        }


@pytest.mark.parametrize("solver", ["natural", pytest.param("maximal", marks=pytest.mark.slow)])
def test_rows_hold(runs, solver):
    worst = every(runs(solver), Seen.violation, range(0, 101, 10))
    assert len(worst) == 21
    assert max(worst.values()) < HELD, worst


@pytest.mark.parametrize("solver", ["natural", pytest.param("maximal", marks=pytest.mark.slow)])
def test_coordinates_say_where_the_bodies_are(runs, solver):
    worst = every(runs(solver), Seen.misplaced)
    assert max(worst.values()) < PLACED, worst


def test_velocities_say_how_they_move(runs):
    worst = every(runs("natural"), Seen.misled)
    assert max(worst.values()) < MOVING, worst


def changes(path):
    """Largest of: joint accelerations less differences of fourth order of velocities; the accelerations; by dof."""
    with simcli.open(path) as run:
        v, a = run.read("frames/joint_qd")[:, 0], run.read("frames/joint_qdd")[2:-2, 0]
    wanted = (8.0 * (v[3:-1] - v[1:-3]) - (v[4:] - v[:-4])) / (12.0 * EVERY)
    return np.abs(a - wanted).max(axis=0), np.abs(a).max(axis=0)


def test_accelerations_are_those_of_the_motion(runs):
    """Of every joint, though none is of a tree here; to the order of the steps."""
    (coarse, size), (fine, _) = (changes(runs(name)) for name in ("coarse", "natural"))
    assert (fine < SECOND_ORDER * (1 + size)).all(), fine / (1 + size)
    assert (fine < np.maximum(0.5 * coarse, 1e-4)).all(), fine / coarse
    assert (size > 1e-3).sum() > 60


@pytest.mark.slow
def test_accelerations_of_first_order_steps_are_those_of_the_motion(runs):
    (_, size), (first_order, _) = (changes(runs(name)) for name in ("coarse", "maximal"))
    assert (first_order < FIRST_ORDER * (1 + size)).all(), first_order / (1 + size)


def test_reactions_of_the_start_do_not_depend_on_the_step(runs):
    """Those of an instant, of every joint: what softens rows in a step says nothing about it."""
    seen = []
    for path in map(runs, ("coarse", "natural")):
        with simcli.open(path) as run:
            seen.append({name: run.joint(name).wrench[0, 0] for name in dofs.RIBLE})
    size = max(np.abs(wrench).max() for wrench in seen[0].values())
    worst = {name: np.abs(seen[0][name] - seen[1][name]).max() / size for name in dofs.RIBLE}
    assert size > 10.0
    assert max(worst.values()) < OF_AN_INSTANT, worst


def test_energy_error_is_of_second_order(runs):
    drifts = []
    for path in map(runs, ("coarse", "natural")):
        with simcli.open(path) as run:
            drifts.append(np.abs(run.energy.drift[:, 0]).max())
            assert run.energy.kinetic[-1, 0] > 1.0
    assert 3.6 < drifts[0] / drifts[1] < 4.4, drifts


@pytest.mark.slow
def test_reactions_are_what_the_bodies_need(runs):
    """m (a - g) is the force of the joints on a body; of the last chain, whose end is held by rows with roles swapped."""
    model = simcli.load(runs("maximal").with_suffix(".yaml"))[0]
    with simcli.open(runs("maximal")) as run:
        velocity, wrench = run.read("frames/body_qd")[:, 0, :, :3], run.read("frames/joint_wrench")[1:, 0, :, :3]
    acceleration = (velocity[1:] - velocity[:-1]) / EVERY
    need = model.bodies.mass[0][:, None] * (acceleration - model.gravity[0])
    for j in range(model.n_joints):
        need[:, model.joints.child[j]] -= wrench[:, j]
        if model.joints.parent[j] >= 0:
            need[:, model.joints.parent[j]] += wrench[:, j]
    error = np.abs(need).max(axis=(0, 2))[-3:]
    assert np.abs(wrench[:, model.joints.name.index("nc_universal_prismatic")]).max() > 1.0
    assert error.max() < NEWTON * 9.81 * model.bodies.mass[0, -3:].min(), error


STEPS = (4e-3, 2e-3, 1e-3)
ROUNDING = 1e-10
JUMPED = 3e-4  # error of order two at 2 ms, and that of the extrapolated step; without the impulse of the jump it is 0.3
GRAVITY, LEAN, CART, BOB = 9.81, 0.3, 2.0, 1.0
INTEGRATORS = ("zhong06", "generalized_alpha", "moreau")
COLUMNS = (
    "frames/body_q",
    "frames/body_qd",
    "frames/joint_q",
    "frames/joint_qd",
    "frames/joint_effort",
    "frames/joint_wrench",
    "energy/input",
    "energy/total",
)

# A cart that accelerates so that the rod stands still on it.
CARRIED = f"""
bodies:
  cart: {{kinematic: true, motion: {{linear: [$v, 0, 0]}}, mass: {CART}, inertia: {{diag: [0.1, 0.2, 0.3]}}}}
  rod: {{mass: {BOB}, com: [0, 0, -0.5], inertia: {{diag: [0.1, 0.1, 0.02]}}}}
joints:
  pin: {{type: revolute, parent: cart, child: rod, at: [0, 0, 0], axis: [0, 1, 0], q: {LEAN}}}
signals: {{v: {{ramp: {{from: 0, to: {10 * GRAVITY * np.tan(LEAN)}, end: 10}}}}}}
"""
# A cart that moves and turns in all directions.
PIVOT = """
bodies:
  cart:
    kinematic: true
    motion: {linear: [$v, 0, $u], angular: [0.5, 1, $w]}
    mass: 2
    inertia: {diag: [0.1, 0.2, 0.3]}
    com: [0.1, 0, 0.05]
  rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.02]}}
  tail: {mass: 0.5, com: [0, 0, -0.5], inertia: {diag: [0.05, 0.04, 0.02]}, pose: {xyz: [0, 0, -1]}}
joints:
  pin: {type: revolute, parent: cart, child: rod, at: [0.2, 0, 0], axis: [0, 1, 0.1], q: 0.4}
  ball: {type: ball, parent: rod, child: tail, at: [0, 0, -1]}
signals:
  v: {sine: {amplitude: 1.5, frequency: 1}}
  u: {sine: {amplitude: 0.5, frequency: 2, phase: 1}}
  w: {ramp: {from: 1, to: 2, end: 2}}
"""
# A table that turns by position, and a body without mass on a screw whose speed jumps.
LED_HELD = """
bodies:
  table: {kinematic: true, mass: 2, inertia: {diag: [0.1, 0.2, 0.3]}, com: [0.3, 0.1, 0.05]}
  lift: {kinematic: true, com: [0.1, 0.2, 0.3], pose: {xyz: [2, 0, 0]}}
  rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.02]}}
  tail: {mass: 0.5, com: [0, 0, -0.5], inertia: {diag: [0.05, 0.04, 0.02]}, pose: {xyz: [2, 0, -1]}}
joints:
  turn: {type: revolute, parent: world, child: table, at: [0.1, 0, 0], axis: [0, 0.3, 1], motion: {position: $p}}
  screw: {type: screw, parent: world, child: lift, at: [2, 0, 0], axis: [0, 0.3, 1], pitch: 0.5, motion: {velocity: $v}}
  pin: {type: revolute, parent: table, child: rod, at: [0.2, 0, 0], axis: [0, 1, 0.1], q: 0.4}
  knee: {type: revolute, parent: lift, child: tail, at: [2, 0, -1], axis: [1, 0, 0.2]}
signals:
  p: {sine: {amplitude: 1.5, frequency: 1, phase: 0.5}}
  v: {step: {before: 0.5, after: 2, time: 0.2}}
"""
FLAT = """
world: {plane: xz}
bodies:
  cart: {kinematic: true, motion: {linear: [$v, 0, 0.3], angular: [0, 1.5, 0]}}
  rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.02]}}
joints: {pin: {type: revolute, parent: cart, child: rod, at: [0.2, 0, 0], axis: [0, 1, 0], q: 0.4}}
signals: {v: {sine: {amplitude: 1.5, frequency: 1}}}
"""
BELT = """
materials: {rubber: {friction: 0.4}}
bodies:
  belt:
    kinematic: true
    mass: MASS
    inertia: {diag: [MASS, MASS, MASS]}
    motion: {linear: [$v, 0, 0]}
    shapes: {top: {type: box, size: [20, 2, 0.2], material: rubber}}
  block:
    mass: 1
    inertia: {diag: [0.01, 0.01, 0.01]}
    pose: {xyz: [0, 0, 0.2]}
    shapes: {all: {type: box, size: [0.2, 0.2, 0.2], material: rubber}}
signals: {v: {ramp: {from: 2, to: 3, end: 1}}}
"""


def ends(text, kind, integrator, device, steps=STEPS, duration=0.5):
    """Columns of frame 1 at the end, without those of joints that a form of the model adds."""
    runner = Runner(
        f"{text}solver: {{type: {kind}, dt: 1.0e-3, integrator: {integrator}}}\n",
        integrator,
        device,
        frozenset(("state", "energy", "reactions")),
    )
    found = [runner(h, round(duration / h), 1) for h in steps]
    assert all(one["diag/status"].max() == 0 for one in found)
    return [{name: column[-1, 0] for name, column in one.items()} for one in found]


@pytest.mark.parametrize("integrator", ["zhong06", pytest.param("generalized_alpha", marks=pytest.mark.slow)])
def test_what_a_cart_carries_leans_against_its_acceleration(device, integrator):
    one = ends(CARRIED, "natural", integrator, device, (1e-2,))[0]
    speed = 0.5 * GRAVITY * np.tan(LEAN)
    total = CART + BOB
    assert one["frames/joint_q"][0] == pytest.approx(LEAN, abs=ROUNDING)
    assert one["frames/body_qd"][:, 0] == pytest.approx([speed, speed], abs=ROUNDING)
    effort = one["frames/joint_effort"][1:7]
    assert effort[:3] == pytest.approx([total * GRAVITY * np.tan(LEAN), 0, total * GRAVITY], abs=1e-9)
    assert one["frames/joint_wrench"][1, :3] == pytest.approx(effort[:3], abs=1e-9)
    assert one["energy/input"] == pytest.approx(0.5 * total * speed**2, abs=ROUNDING)


def check_order(text, integrator, device, wanted, ratio, slack, columns=COLUMNS):
    found = ends(text, "natural", integrator, device)
    for name in columns:
        n = len(np.atleast_1d(wanted[name]))
        errors = [np.nanmax(np.abs(np.atleast_1d(one[name])[:n] - wanted[name])) for one in found]
        for coarse, fine in pairwise(errors):
            assert abs(coarse / fine - ratio) < slack, (name, errors)
    drifts = [abs(one["energy/drift"]) for one in found]
    assert all(abs(coarse / fine - ratio) < slack for coarse, fine in pairwise(drifts)), drifts


@pytest.mark.slow
@pytest.mark.parametrize("text", [PIVOT, FLAT], ids=["space", "plane"])
def test_orders_against_the_tree(device, text):
    wanted = ends(text, "generalized", "rk4", device, (5e-4,))[0]
    for integrator in INTEGRATORS:
        check_order(text, integrator, device, wanted, 4, 0.15)


@pytest.mark.slow
def test_bodies_that_joints_lead_and_speeds_that_jump(device):
    """Against the step of the tree whose impulses are those of the mass matrix, extrapolated."""
    coarse, fine = ends(LED_HELD, "generalized", "semi_implicit", device, (5e-4, 2.5e-4))
    found = ends(LED_HELD, "natural", "zhong06", device, STEPS[:2])
    for name in ("frames/body_q", "frames/body_qd", "energy/input", "energy/total"):
        wanted = 2 * fine[name] - coarse[name]
        errors = [np.abs(one[name] - wanted).max() for one in found]
        assert errors[1] < errors[0], (name, errors)
        assert errors[1] < JUMPED, (name, errors)


@pytest.mark.slow
@pytest.mark.parametrize("mass", [3.0, 0.0])
def test_a_belt_takes_a_block_along(device, mass):
    """The block slides until it is as fast as the belt, which then accelerates it further."""
    h = 1e-3
    one = ends(BELT.replace("MASS", str(mass)), "natural", "moreau", device, (h,), 1.0)[0]
    pull = 0.4 * GRAVITY
    until = 2 / (pull - 1)
    slid, rolled = 0.5 * pull * until**2, 2 * until + 0.5 * until**2
    wanted = slid + 2.5 - rolled
    assert one["frames/body_qd"][1, 0] == pytest.approx(3.0, abs=1e-6)
    assert one["frames/body_q"][1, 0] == pytest.approx(wanted, abs=2 * h)
    assert one["energy/dissipated"] == pytest.approx(pull * (rolled - slid), abs=1e-6)
    assert one["frames/joint_effort"][:3] == pytest.approx([mass + 1, 0, (mass + 1) * GRAVITY], abs=1e-5)
    assert abs(one["energy/drift"]) < 1e-6


# A wheel on a coil that is far from its rest.
WOUND = """
bodies: {wheel: {mass: 1, inertia: {diag: [1, 1, 1]}}}
joints: {pin: {type: revolute, parent: world, child: wheel, axis: [0, 0, 1]}}
forces: {coil: {type: torsion, joint: pin, stiffness: 10, rest_angle: 1}}
"""


def test_a_step_whose_iteration_fails_ends_its_world_by_name(device):
    text = WOUND + "solver: {type: natural, dt: 1 ms, integrator: generalized_alpha}\n"
    runner = Runner(
        text + "batch: {worlds: 2, vary: {forces.coil.stiffness: {list: [10, 1.0e+9]}}}\n", "generalized_alpha", device
    )
    assert runner(1e-3, 1, 3)["diag/status"][-1].tolist() == [Status.OK, Status.NOT_CONVERGED]


MASS, MU, FAST = 2.0, 0.5, 3.0  # kg, 1, m/s
PUSH = 0.1  # [N s]
MAP_ROUNDING = 1e-12  # [m/s, m] of numbers near 1
HUMANOID = bench_contact.HUMANOID
SHAKEN = 1e-3  # [m/s]
SOFT = 1e-4  # [m/s]: contacts of MuJoCo yield by more
MAP_STEPS = 150
SCENE = """
simcli: 1
materials: {wood: {friction: 0.4, density: 1000, combine: {friction: max}}}
world: {shapes: {ground: {type: plane, material: wood}}}
bodies:
  log:
    pose: {xyz: [0, 0, 0.13], rpy: [0.2, 1.4, 0.3]}
    velocity: {linear: [0.3, 0, 0], angular: [0, 0, 1]}
    shapes: {bark: {type: capsule, radius: 0.1, length: 0.4, material: wood}}
  ball:
    pose: {xyz: [-0.6, 0.02, 0.0999]}
    velocity: {linear: [3, 0, 0]}
    shapes: {skin: {type: sphere, radius: 0.1, material: wood}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.2}
batch: {vary: {"bodies.log.pose.xyz[2]": {grid: [0.11, 0.12, 0.13, 0.14]}}}
"""
# Velocity and impulse, each (normal, two tangents), of a free mass, and what the law lacks; by hand.
CASES = {
    "rests": ((0, 0, 0), (PUSH, MU * PUSH / 2, 0), 0.0),
    "slides": ((0, FAST, 0), (PUSH, -MU * PUSH, 0), 0.0),
    "leaves": ((FAST, 1, 0), (0, 0, 0), 0.0),
    "falls": ((-FAST, 0, 0), (0, 0, 0), FAST),
    "pulls": ((0, 0, 0), (-PUSH, 0, 0), PUSH / MASS),
    "holds": ((FAST, 0, 0), (PUSH, 0, 0), PUSH / MASS),
}


@pytest.mark.parametrize("case", CASES)
def test_a_free_mass(case):
    speed, impulse, wanted = (np.array(a, float) for a in CASES[case])
    (found,) = natural_map(np.eye(3)[None], MASS * np.eye(3), speed, impulse[None], np.zeros((1, 3)), np.array([MU]))
    assert found == pytest.approx(wanted, abs=MAP_ROUNDING)


def test_biases_count_as_speeds():
    rng = np.random.default_rng(0)
    J, v, x, mu = rng.normal(size=(4, 3, 6)), rng.normal(size=6), rng.normal(size=(4, 3)), rng.uniform(0, 1, 4)
    found = natural_map(J, np.eye(6), v, x, np.zeros((4, 3)), mu)
    assert natural_map(J, np.eye(6), 0 * v, x, J @ v, mu) == pytest.approx(found, abs=MAP_ROUNDING)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log that falls and a ball that rolls into it."""
    path = tmp_path_factory.mktemp("log") / "log.yaml"
    path.write_text(SCENE)
    document, spec = pipeline.read_scene(path)
    return pipeline.build_model(document, spec, None), spec


@pytest.mark.slow
@pytest.mark.parametrize("linear", ["dense", "sparse"])
def test_the_device_says_the_same_of_every_step(log, linear):
    model, spec = log
    device, contact = live_device(), spec.solver.contact.model_copy(update={"linear": linear})
    options = spec.solver.model_copy(update={"contact": contact})
    solver = MAP_SOLVERS["generalized"](
        model, options, RunPlan(spec.solver.dt, 1, MAP_STEPS, frozenset(("joints",))), device
    )
    solver.initial()
    most = 0
    for _ in range(MAP_STEPS):
        said = solver.advance(1).columns["diag/residual"][0]
        worlds = stated_contacts(solver)
        most = max(most, len(worlds[0][0]))
        assert [natural_map(*world).max(initial=0.0) for world in worlds] == pytest.approx(said.tolist(), abs=MAP_ROUNDING)
    assert most == 3
    J, M, v, x, b, mu = worlds[0]
    assert natural_map(J, M, v + SHAKEN, x, b, mu).max() > SHAKEN / 10


def test_mujoco_stands_where_the_humanoid_does():
    """Places and velocities of all bodies, masses and inertias: every frame, axis and unit of the other format."""
    mujoco = pytest.importorskip("mujoco")
    document, spec = pipeline.read_scene(HUMANOID)
    model = pipeline.build_model(document, spec)
    rng = np.random.default_rng(1)
    q, qd = model.joint_q + rng.uniform(-0.3, 0.3, model.joint_q.shape), rng.uniform(-1, 1, model.joint_qd.shape)
    q[:, -4:] /= np.linalg.norm(q[:, -4:])
    object.__setattr__(model, "joint_q", q)
    object.__setattr__(model, "joint_qd", qd)
    peer = mujoco.MjModel.from_xml_string(touching_mjcf(model, spec.solver.dt))
    data, state = mujoco.MjData(peer), states_of(peer, model, mujoco)[0]
    data.qpos[:], data.qvel[:] = state[1 : 1 + peer.nq], state[1 + peer.nq :]
    mujoco.mj_forward(peer, data)
    (turn, at), (speed, spin) = body_poses(model, q), body_twists(model, q, qd)
    found = np.zeros(6)
    for b in range(model.n_bodies):
        other = mujoco.mj_name2id(peer, mujoco.mjtObj.mjOBJ_BODY, f"b{b}")
        assert data.xpos[other] == pytest.approx(at[b, 0], abs=MAP_ROUNDING)
        assert data.xmat[other].reshape(3, 3) == pytest.approx(turn[b, 0], abs=MAP_ROUNDING)
        mujoco.mj_objectVelocity(peer, data, mujoco.mjtObj.mjOBJ_XBODY, other, found, 0)
        assert found[:3] == pytest.approx(spin[b, 0], abs=MAP_ROUNDING)
        offset = turn[b, 0] @ model.bodies.com[0, b]
        assert found[3:] + np.cross(spin[b, 0], offset) == pytest.approx(speed[b, 0], abs=MAP_ROUNDING)
        assert peer.body_mass[other] == pytest.approx(model.bodies.mass[0, b], rel=MAP_ROUNDING)


@pytest.mark.slow
def test_mujoco_yields_where_it_touches(log):
    pytest.importorskip("mujoco")
    model, spec = log
    assert model.contacts.friction.min() == 0.4
    found = mujoco_natural_map(model, spec.solver.dt, MAP_STEPS, 1)
    assert (found == 0.0).sum() > 1
    assert found.max() > SOFT


def test_the_scene_of_stacks_is_a_scene(tmp_path):
    from simcli.cli.runs.bench_scenes import stacks

    path = stacks(tmp_path)
    assert len(yaml.safe_load(path.read_text())["bodies"]) == 5
    document, spec = pipeline.read_scene(path)
    assert pipeline.build_model(document, spec).n_bodies == 5
