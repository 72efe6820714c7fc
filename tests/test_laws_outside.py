"""Laws of joints outside the tree against the same joints in it: motions, gears, torsion springs, successive turns.

The oracle is the generalized solver with all joints in the tree. Loops of the same solver, maximal and natural coordinates
take the same joints as rows: the same motion and the same efforts as steps go to zero, and what is exact is exact.

Joints outside the tree that give way: integrators keep their orders in motion and ledger, over halvings of the step.

Closed loops: the motion does not depend on where the loop is cut, whatever joint closes it; rows stay met.
"""

from typing import NamedTuple

import numpy as np
import pytest
import yaml
from support.forward import Runner, model_of, slope
from support.process import simcli as command
from support.scenes import scene
from support.scenes import scene as document_of

import simcli
from simcli import rotations as rot
from simcli.model import build
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import Form
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.phases import build_phases
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve

ARM = """
  {0}_base: {{pose: {{xyz: [0, {1}, 0]}}, mass: 2, inertia: {{diag: [0.3, 0.2, 0.25]}}, com: [0.1, 0.05, 0]}}
  {0}_arm: {{pose: {{xyz: [0.5, {1}, 0]}}, mass: 1, com: [0.3, 0, 0.1], inertia: {{diag: [0.1, 0.2, 0.25]}}}}
  {0}_tip: {{pose: {{xyz: [1.1, {1}, 0]}}, mass: 0.7, com: [0.1, 0.1, 0], inertia: {{diag: [0.05, 0.07, 0.06]}}}}"""
HANG = """
  {0}_hang: {{type: revolute, parent: world, child: {0}_base, at: [0, {1}, 0], axis: [0.3, 1, 0.1], q: 0, qd: 0}}
  {0}_A: {{parent: {0}_base, child: {0}_arm, at: [0.5, {1}, 0], {2} LOOP}}
  {0}_B: {{parent: {0}_arm, child: {0}_tip, at: [1, {1}, 0], {3} LOOP}}"""
ARMS = {  # the joints of pendulums of three bodies each
    "led": (
        "type: revolute, axis: [0.2, 1, 0.4], motion: {position: $wave}",
        "type: prismatic, axis: [1, 0, 0.2], motion: {velocity: $pace}",
    ),
    "geared": (
        "type: revolute, axis: [0.2, 1, 0.4]",
        "type: revolute, axis: [0, 1, 0.2], mimic: {joint: geared_A, ratio: '${ratio}'}",
    ),
    "turned": (
        "type: universal, axes: {angular: [[0.2, 1, 0], [1, -0.2, 0.3]]}, damping: [0.2, 0.1], drive: ["
        "{mode: position, target: 0.4, stiffness: 20, damping: 0.3}, "
        "{mode: velocity, target_velocity: 1, damping: 0.5}]",
        "type: d6, axes: {linear: [[1, 0.2, 0]], angular: [[1, 0, 0], [0, 0, 1], [0, 1, 0]]}, damping: [1, 0.1, 0.05, 0.02]",
    ),
    # The soft limit acts all the time: where it begins to, no order of convergence could be seen.
    "rolled": (
        "type: ball, damping: [0.2, 0.1, 0.05], drive: [{mode: position, target: 0.4, stiffness: 20, damping: 0.3}, "
        "{mode: position, target: 0.2, stiffness: 20}, {mode: position, target: -0.2, stiffness: 20, damping: 0.1}]",
        "type: ball, damping: 0.1, limit: [{lower: 3, stiffness: 1, damping: 0.2}, null, null]",
    ),
}
BODIES = "".join(ARM.format(name, 5 * k) for k, name in enumerate(ARMS))
JOINTS = "".join(HANG.format(name, 5 * k, *keys) for k, (name, keys) in enumerate(ARMS.items()))
SCENE = f"""
params: {{ratio: -1.5, coil: 20}}
bodies:{BODIES}
joints:{JOINTS}
forces:
  coil: {{type: torsion, joint: geared_A, stiffness: "${{coil}}", damping: 0.5, rest_angle: 0.3}}
  more: {{type: torsion, joint: turned_B, stiffness: [80, 7, 3, 4], damping: [0, 0.1, 0, 0],
         rest_angle: [0.1, 0.4, 0.3, -0.5]}}
signals:
  wave: {{sine: {{amplitude: 0.8, frequency: 1.3}}}}
  pace: {{sine: {{amplitude: 0.9, frequency: 0.9, phase: 0.4}}}}
batch: {{worlds: 2, vary: {{params.ratio: {{list: [-1.5, 0.7]}}, params.coil: {{list: [20, 60]}}}}}}
solver: {{type: SOLVER}}
"""
NAMES = tuple(f"{name}_{joint}" for name in ARMS for joint in ("hang", "A", "B"))
DURATION, FRAMES = 0.4, 10
RATIO = np.array([-1.5, 0.7])


class Run(NamedTuple):
    """A solver and its integrator: order of convergence, coarser of two steps [s], error at it relative to the largest."""

    solver: str
    integrator: str
    order: int
    step: float
    error: float


RUNS = {
    "natural": Run("natural", "zhong06", 2, 2e-3, 1e-3),
}
MORE = {
    "loop": Run("generalized", "rk4", 4, 2e-3, 1e-6),
    "maximal": Run("maximal", "semi_implicit", 1, 2e-3, 0.1),
    "first": Run("generalized", "semi_implicit", 1, 2e-3, 0.1),
    "implicit": Run("generalized", "implicit", 2, 2e-3, 1e-3),
    "moreau": Run("natural", "moreau", 2, 2e-3, 1e-3),
}
# A Runner is made for steps of 1 s, for which `auto` would take the directions of a step's end: they damp.
WORDS = {"maximal": "maximal, joint_direction: explicit"}
EXACT = 1e-12  # [m, rad], of motions followed and gears
VIOLATION = 1e-11  # [m, rad, per second], issue 4


def columns_of(run, device, place=""):
    """Columns of a run at its step and at half of it."""
    text = SCENE.replace("LOOP", place).replace("SOLVER", WORDS.get(run.solver, run.solver))
    runner = Runner(text, run.integrator, device, frozenset(("state", "energy", "reactions")))
    every = [round(DURATION / FRAMES / h) for h in (run.step, run.step / 2)]
    return runner.model, [runner(h, n, FRAMES) for h, n in zip((run.step, run.step / 2), every, strict=True)]


def parts_of(model, columns, name):
    """q, qd, effort, wrench of a joint, (F, W, n) each."""
    j = model.joints.name.index(name)
    q, d = (slice(*start[j : j + 2]) for start in (model.joints.q_start, model.joints.qd_start))
    frames = {key: columns[f"frames/joint_{key}"] for key in ("q", "qd", "effort", "wrench")}
    return {
        "q": frames["q"][:, :, q],
        "qd": frames["qd"][:, :, d],
        "effort": frames["effort"][:, :, d],
        "wrench": frames["wrench"][:, :, j],
    }


@pytest.fixture(scope="module")
def tree():
    """The oracle: rk4 at 1 ms, all joints in the tree."""
    from support.device import live_device

    model, columns = columns_of(Run("generalized", "rk4", 4, 2e-3, 0.0), live_device())
    return {name: parts_of(model, columns[1], name) for name in NAMES}, columns[1]


def check(run, tree, device):
    """Errors against the tree by joint and quantity, of the order of the integrator; exact rows; the ledger."""
    model, columns = columns_of(run, device, ", loop: true" if run.solver == "generalized" else "")
    oracle, _ = tree
    for name in NAMES:
        found = [parts_of(model, one, name) for one in columns]
        for key, wanted in oracle[name].items():
            size = max(1.0, np.abs(wanted).max())
            errors = [np.abs(one[key] - wanted)[1:].max() / size for one in found]
            assert errors[0] < run.error, (name, key, errors)
            assert errors[1] < max(1.2 * errors[0] / 2**run.order, 1e-8), (name, key, errors)
    for one in columns:
        follow(model, one)
    drift = [np.abs(one["energy/drift"]).max() for one in columns]
    moved = np.abs(columns[0]["energy/dissipated"]).max() + np.abs(columns[0]["energy/input"]).max()
    assert moved > 1.0
    assert drift[0] < run.error * moved
    if run.integrator != "implicit":  # whose account opens with the powers that an earlier run left
        assert drift[1] < max(1.2 * drift[0] / 2**run.order, 1e-7)


def follow(model, columns):
    """Motions and gears are met in all worlds and frames."""
    t = DURATION / FRAMES * np.arange(FRAMES + 1)[:, None]
    lead, lag = (parts_of(model, columns, f"geared_{joint}")["q"][..., 0] for joint in "AB")
    assert np.abs(lag - RATIO * lead).max() < EXACT
    assert np.ptp(lead[:, 0] - lead[:, 1]) > 0.01
    assert np.abs(parts_of(model, columns, "led_A")["q"][..., 0] - 0.8 * np.sin(2.6 * np.pi * t)).max() < EXACT
    assert np.nanmax(columns["diag/position_violation"]) < VIOLATION


@pytest.mark.parametrize("name", RUNS)
def test_joints_outside_the_tree_obey_the_same_laws(name, tree, device):
    check(RUNS[name], tree, device)


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_other_solvers_and_integrators_too(name, tree, device):
    check(MORE[name], tree, device)


def test_the_oracle_moves(tree):
    oracle, columns = tree
    for name in NAMES:
        assert np.abs(oracle[name]["qd"]).max() > 0.1, name
    assert np.abs(columns["energy/drift"]).max() < 1e-7


SWITCHED = """
world: {gravity: [0, 0, 0]}
bodies:
  wheel: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
  rim: {pose: {xyz: [1, 0, 0]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
  pan: {pose: {xyz: [2, 0, 0]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
  top: {pose: {xyz: [3, 0, 0]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
joints:
  led: {type: revolute, parent: world, child: wheel, at: [0, 0, 0], axis: [0, 0, 1] START, motion: {velocity: 2} LOOP}
  lag: {type: revolute, parent: wheel, child: rim, at: [1, 0, 0], axis: [0, 0, 1], mimic: {joint: led, ratio: -2} LOOP}
  pin: {type: revolute, parent: world, child: pan, at: [2, 0, 0], axis: [0, 0, 1] LOOP}
  spun: {type: universal, parent: world, child: top, at: [3, 0, 0], axes: {angular: [[0, 0, 1], [1, 0, 0]]},
         drive: [{mode: velocity, target_velocity: 40, damping: 2}, null] LOOP}
forces: {coil: {type: torsion, joint: pin, stiffness: 0, rest_angle: 0.5}}
events:
  - {at: 0.2, set: {joints.led.motion.velocity: -0.5, forces.coil.stiffness: 10}}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 1e-3}
run: {duration: 0.4}
"""


@pytest.mark.parametrize("name", ["first", *(pytest.param(name, marks=pytest.mark.slow) for name in ("natural", "maximal"))])
def test_events_switch_motions_and_springs(name, device):
    """The closed forms of both stretches; from many turns on, where a start can be written."""
    run, loop = (RUNS | MORE)[name], name == "first"
    text = SWITCHED.replace("SOLVER", run.solver).replace("INTEGRATOR", run.integrator)
    document = scene(text.replace("LOOP", ", loop: true" if loop else "").replace("START", "" if loop else ", q: 20"))
    spec = resolve(document)
    phases = build_phases(document, spec)
    model, plan = phases[0].model, RunPlan(1e-3, 20, 20, frozenset(("state", "energy")))
    solver = SOLVERS[run.solver](model, spec.solver, plan, device, phases[1:])
    blocks = [solver.initial()]
    while sum(len(block.time) for block in blocks) <= 20:
        blocks.append(solver.advance(1))
    columns = {key: np.concatenate([block.columns[key] for block in blocks]) for key in blocks[0].columns}
    t = 0.02 * np.arange(21)
    q = [columns["frames/joint_q"][:, 0, model.joints.q_start[j]] for j in range(3)]
    led = 20 * (not loop) + np.where(t < 0.2, 2 * t, 0.4 - 0.5 * (t - 0.2))
    np.testing.assert_allclose(q[0], led, rtol=0, atol=20 * EXACT)
    np.testing.assert_allclose(q[1], -2 * q[0], rtol=0, atol=20 * EXACT)
    swing = np.where(t < 0.2, 0.0, 0.5 * (1 - np.cos(10 * np.maximum(t - 0.2, 0))))
    np.testing.assert_allclose(q[2], swing, rtol=0, atol=run.error)
    first = model.joints.q_start[3]
    angle, rate = (columns[f"frames/joint_{key}"][:, 0, first] for key in ("q", "qd"))
    assert angle[-1] > 2 * np.pi  # full turns are counted
    np.testing.assert_allclose(np.diff(angle)[5:], 0.01 * (rate[5:-1] + rate[6:]), rtol=1e-2)
    assert np.abs(columns["energy/drift"]).max() < run.error * np.abs(columns["energy/input"]).max()


@pytest.mark.parametrize("loop", ["", ", loop: true"])
def test_a_limited_ball_has_its_friction_once(loop):
    """The row of a limit has the bounds alone, that of the velocity the rest."""
    model, _ = model_of(f"""
bodies: {{a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}}}
joints: {{j: {{type: ball, parent: world, child: a, limit: [-1, 1], friction: 2, velocity_limit: 3{loop}}}}}
""")
    constraints = constraints_of(model)
    laws = constraints.laws
    bounds = np.array([row >= 0 and constraints.rows.form[row] == Form.SPIN for row in laws.row])
    assert (bounds.sum(), (~bounds).sum()) == (3, 3)
    assert (np.isfinite(laws.upper[0]) == bounds).all()
    assert (laws.friction[0] == np.where(bounds, 0, 2)).all()
    assert (np.isfinite(laws.rate_upper[0]) == ~bounds).all()


STEPS = (4e-3, 2e-3, 1e-3)
SPAN = 0.2  # [s]
ORDERS = {"implicit": 2, "rk4": 4}
TOLERANCE = 0.25  # of a slope over two halvings
# Two links whose end hangs on a rod of 1 kN/m and in a hinge of 5 kN/m.
LINKS = """
bodies:
  upper: {mass: 1, com: [0.2, 0, -0.1], inertia: {diag: [0.05, 0.06, 0.07]}}
  lower: {pose: {xyz: [0.5, 0, 0]}, mass: 1.5, com: [0.3, 0.1, 0], inertia: {diag: [0.05, 0.07, 0.06]}}
joints:
  a: {type: ball, parent: world, child: upper, at: [0, 0, 0], qd: [0.5, 0.7, -0.4]}
  b: {type: universal, parent: upper, child: lower, at: [0.5, 0, 0], qd: [0.5, -0.6],
      axes: {angular: [[1, 0, 0], [0, 0, 1]]}}
  rod: {type: distance, parent: world, child: lower, parent_frame: {xyz: [0.6, 0.8, 0]}, child_frame: {xyz: [0.5, 0, 0]},
        length: 0.9, loop: true, compliance: 1.0e-3}
  end: {type: ball, parent: world, child: lower, at: [1, 0, 0], loop: true, compliance: 2.0e-4}
"""


@pytest.mark.parametrize("integrator", ["implicit", pytest.param("rk4", marks=pytest.mark.slow)])
def test_rows_that_give_way_keep_the_order(device, scalar_code, integrator):
    """A Rosenbrock method is of second order only if its second node has what the first one gave, of every force in A."""
    run = Runner(f"{LINKS}solver: {{type: generalized, dt: 1.0e-3, integrator: {integrator}}}\n", integrator, device)
    ends = [{name: column[-1, 0] for name, column in run(h, round(SPAN / h), 1).items()} for h in (*STEPS, STEPS[-1] / 8)]
    last = ends.pop()
    assert slope(STEPS, [abs(end["energy/drift"]) for end in ends]) > ORDERS[integrator] - TOLERANCE
    for name in ("frames/joint_q", "frames/joint_qd"):
        errors = [np.abs(end[name] - last[name]).max() for end in ends]
        assert slope(STEPS, errors) > ORDERS[integrator] - TOLERANCE, name


# One closed chain of three bodies on ball joints, closed by each type in turn, once as the loop joint and once in the tree.
CLOSERS = {
    "revolute": {"type": "revolute", "axis": [0.2, 1, 0.1]},
    "prismatic": {"type": "prismatic", "axis": [1, 0.3, 0]},
    "ball": {"type": "ball"},
    "fixed": {"type": "fixed"},
    "universal": {"type": "universal", "axes": {"angular": [[1, 0, 0], [0, 1, 0]]}},
    "cylindrical": {"type": "cylindrical", "axis": [0.5, 1, 0]},
    "planar": {"type": "planar", "axis": [0.1, 0.2, 1]},
    "screw": {"type": "screw", "axis": [0.2, 1, 0.1], "pitch": 0.3},
    "d6": {"type": "d6", "axes": {"linear": [[1, 0, 0], [0, 0, 1]], "angular": [[0, 1, 0]]}},
    "turns": {"type": "d6", "axes": {"angular": [[1, 0, 0], [0, 0, 1], [0, 1, 0]]}},
}
AGREE = 1e-7  # [m, 1] after 0.4 s: both runs have rk4's error of 1e-9 to 1e-8 at 1 ms
CLOSED = 1e-10  # [m, 1], issue 3
SPINS = (0.7, -0.4, 0.5)  # [rad/s] of the first ball joint at the start


def chain(name: str, closer: dict, y: float, cut: str) -> tuple[dict, dict]:
    """Bodies and joints of one closed chain, cut at the closer or at the ball joint opposite."""
    ends = [[0, y, 0], [0.6, y + 0.2, -0.3], [1.2, y - 0.1, 0.1], [1.7, y + 0.3, 0.4]]
    bodies, joints = {}, {}
    for k in range(3):
        middle = np.mean((ends[k], ends[k + 1]), axis=0)
        bodies[f"{name}_{k}"] = {
            "pose": {"xyz": middle.tolist()},
            "mass": 1.0 + 0.3 * k,
            "com": [0.02, 0.01 * k, -0.03],
            "inertia": {"diag": [0.05, 0.04 + 0.01 * k, 0.06]},
        }
        parent = "world" if k == 0 else f"{name}_{k - 1}"
        joints[f"{name}_b{k}"] = {"type": "ball", "parent": parent, "child": f"{name}_{k}", "at": ends[k]}
    joints[f"{name}_close"] = {**closer, "parent": "world", "child": f"{name}_2", "at": ends[3]}
    joints[f"{name}_close" if cut == "close" else f"{name}_b2"]["loop"] = True
    if cut == "close" and closer["type"] != "fixed":  # that chain has too few freedoms to choose all three
        joints[f"{name}_b0"]["qd"] = list(SPINS)
    return bodies, joints


def scene_of_loops(cut: str, integrator: str, h: float) -> dict:
    bodies, joints = {}, {}
    for k, (name, closer) in enumerate(CLOSERS.items()):
        more_bodies, more_joints = chain(name, closer, 3.0 * k, cut)
        bodies, joints = bodies | more_bodies, joints | more_joints
    return {
        "simcli": 1,
        "bodies": bodies,
        "joints": joints,
        "run": {"duration": 0.4},
        "output": {"every": 0.02},
        "solver": {"type": "generalized", "dt": h, "integrator": integrator},
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Trajectories of all chains, cut at the closer ("close"), and at a ball joint ("ball") from the same initial state."""
    folder = tmp_path_factory.mktemp("loops")
    out = {}
    for cut in ("close", "ball"):
        text = scene_of_loops(cut, "rk4", 1e-3)
        if cut == "ball":  # start with the velocities that the other run assembled
            with simcli.open(folder / "close.h5") as run:
                for name in text["joints"]:
                    if not text["joints"][name].get("loop") and len(run.joint(name).qd[0, 0]):
                        text["joints"][name]["qd"] = [float(x) for x in run.joint(name).qd[0, 0]]
        path = folder / f"{cut}.yaml"
        path.write_text(yaml.safe_dump(text, sort_keys=False))
        ended = command("run", path, "-o", folder / f"{cut}.h5", "-q")
        assert ended.returncode == 0, ended.stderr
        out[cut] = folder / f"{cut}.h5"
    return out


@pytest.mark.parametrize("name", CLOSERS)
def test_cut_does_not_matter(runs, name):
    """The same motion whether the joint closes the loop or stands in the tree."""
    with simcli.open(runs["close"]) as one, simcli.open(runs["ball"]) as other:
        for k in range(3):
            body = f"{name}_{k}"
            np.testing.assert_allclose(one.body(body).position, other.body(body).position, atol=AGREE, rtol=0)
            dots = np.abs((one.body(body).orientation * other.body(body).orientation).sum(axis=-1))
            np.testing.assert_allclose(dots, 1.0, atol=AGREE)
        np.testing.assert_allclose(one.joint(f"{name}_close").q, other.joint(f"{name}_close").q, atol=AGREE, rtol=0)
        np.testing.assert_allclose(one.joint(f"{name}_close").qd, other.joint(f"{name}_close").qd, atol=30 * AGREE, rtol=0)
        moved = np.abs(one.body(f"{name}_1").position[-1] - one.body(f"{name}_1").position[0]).max()
        assert moved > 0.01


@pytest.mark.parametrize("cut", ["close", "ball"])
def test_loops_stay_closed(runs, cut):
    """Residuals that the solver reports, and anchors recomputed from the bodies' poses."""
    with simcli.open(runs[cut]) as run:
        assert np.nanmax(run.column("diag/position_violation")) < CLOSED
        assert np.nanmax(np.abs(run.energy.drift)) < 1e-6


RANDOM = np.random.default_rng(5)
TURNS = [*RANDOM.normal(size=(12, 4)), np.ones(4), np.array([1.0, 0, 0, 0]), np.array([3.0, 4, 0, 0]), np.eye(4)[3]]


def closed_turn(kind: str, turn, more: str = "", world: str = "", tilt: str = "[0.4, 0, 0.3]") -> np.ndarray:
    """Rotation of a body that begins with a turn, after a loop joint to the world is closed; anchor frames."""
    document = document_of(f"""
world: {{{world}}}
bodies:
  a: {{mass: 1, com: [0.1, 0, 0.2], inertia: {{diag: [1, 1.2, 0.8]}}, pose: {{quat_xyzw: {rot.unit(turn).tolist()}}}}}
joints: {{w: {{type: {kind}, parent: world, child: a, parent_frame: {{xyz: [0.1, 0, 0], rpy: {tilt}}},
  child_frame: {{xyz: [0, 0, 0.2], rpy: {tilt}}}, loop: true{more}}}}}
solver: {{type: natural, dt: 1e-3}}
""")
    model = build(resolve(document), document)
    assert not model.start.faults
    found = body_poses(model, np.nan_to_num(model.joint_q))[0][0, 0]
    frame = rot.quat_to_matrix(model.joints.X_p[0, model.joints.name.index("w"), 3:])
    return frame.T @ found @ frame


@pytest.mark.parametrize("kind", ["fixed", "prismatic"])
def test_what_holds_a_rotation_closes_where_the_frames_agree(kind):
    """Not a half turn away, nor a third of one about a diagonal, where the products of directions are zero too."""
    for turn in TURNS:
        assert np.abs(closed_turn(kind, turn) - np.eye(3)).max() < 1e-9


@pytest.mark.parametrize("axis", [[0, 0, 1], [1, 2, -2]])
@pytest.mark.parametrize(
    "kind", ["revolute", "cylindrical", "planar", "screw", "nc_revolute", "nc_planar_revolute", "d6", "nc_orbital_revolute"]
)
def test_axes_of_a_hinge_that_closes_a_loop_point_the_same_way(kind, axis):
    """Not opposite ways, where the products of directions are zero too."""
    more = {"screw": f", axis: {axis}, pitch: 0.01", "d6": f", axes: {{angular: [{axis}]}}"}.get(kind, f", axis: {axis}")
    d = rot.unit(np.array(axis, float))
    for turn in TURNS:
        assert np.abs(closed_turn(kind, turn, more) @ d - d).max() < 1e-9


@pytest.mark.parametrize("angle", [0.6, 1.5, 2.0, 3.0, np.pi, -2.5])
@pytest.mark.parametrize("kind", ["fixed", "prismatic"])
def test_what_holds_a_rotation_in_a_plane_closes_where_the_frames_agree(kind, angle):
    turn = rot.quat_from_axis_angle(np.array([0.0, -1, 0]), angle)
    assert np.abs(closed_turn(kind, turn, world="plane: xz", tilt="[0, 0.3, 0]") - np.eye(3)).max() < 1e-9
