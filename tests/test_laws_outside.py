"""Laws of joints outside the tree against the same joints in it: motions, gears, torsion springs, successive turns.

The oracle is the generalized solver with all joints in the tree. Loops of the same solver, maximal and natural coordinates
take the same joints as rows: the same motion and the same efforts as steps go to zero, and what is exact is exact.
"""

from typing import NamedTuple

import numpy as np
import pytest
from support.forward import Runner, model_of
from support.scenes import scene

from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.tables import Form
from simcli.model.phases.stretches import build_phases
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
    "led": ("type: revolute, axis: [0.2, 1, 0.4], motion: {position: $wave}",
            "type: prismatic, axis: [1, 0, 0.2], motion: {velocity: $pace}"),
    "geared": ("type: revolute, axis: [0.2, 1, 0.4]",
               "type: revolute, axis: [0, 1, 0.2], mimic: {joint: geared_A, ratio: '${ratio}'}"),
    "turned": ("type: universal, axes: {angular: [[0.2, 1, 0], [1, -0.2, 0.3]]}, damping: [0.2, 0.1], drive: ["
               "{mode: position, target: 0.4, stiffness: 20, damping: 0.3}, "
               "{mode: velocity, target_velocity: 1, damping: 0.5}]",
               "type: d6, axes: {linear: [[1, 0.2, 0]], angular: [[1, 0, 0], [0, 0, 1], [0, 1, 0]]}, "
               "damping: [1, 0.1, 0.05, 0.02]"),
    # The soft limit acts all the time: where it begins to, no order of convergence could be seen.
    "rolled": ("type: ball, damping: [0.2, 0.1, 0.05], drive: [{mode: position, target: 0.4, stiffness: 20, damping: 0.3}, "
               "{mode: position, target: 0.2, stiffness: 20}, {mode: position, target: -0.2, stiffness: 20, damping: 0.1}]",
               "type: ball, damping: 0.1, limit: [{lower: 3, stiffness: 1, damping: 0.2}, null, null]"),
}  # fmt: skip
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
    return {"q": frames["q"][:, :, q], "qd": frames["qd"][:, :, d], "effort": frames["effort"][:, :, d],
            "wrench": frames["wrench"][:, :, j]}  # fmt: skip


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
    assert (np.isfinite(laws.velocity_limit[0]) == ~bounds).all()
