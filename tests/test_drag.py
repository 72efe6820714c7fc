"""Drag, and dampers of slack springs: closed forms, the account of what is lost, all solvers, their orders, wind, words.

Compensation of gravity: falls in closed form, MuJoCo's accelerations, the ledger, events, worlds, words.
"""

from typing import get_args

import numpy as np
import pytest
from support.forward import Runner, model_of, slope
from support.scenes import faults_of

from simcli.analysis.rest.equilibrium import search_equilibrium
from simcli.analysis.rest.modes import Study
from simcli.analysis.rest.statics import Statics
from simcli.model.phases import build_phases
from simcli.pipeline import read_scene
from simcli.spec.schema.scene import AffineSolver, GeneralizedSolver, MaximalSolver, NaturalSolver

G, MASS, VISCOUS, QUADRATIC = 9.81, 2.0, 3.0, 0.5
TURNING, TURNING_QUADRATIC, INERTIA, SPIN = 0.2, 0.04, 0.1, 3.0
RUNS = [
    (spec.model_fields["type"].annotation.__args__[0], integrator)
    for spec in (GeneralizedSolver, MaximalSolver, NaturalSolver, AffineSolver)
    for integrator in get_args(spec.model_fields["integrator"].annotation)
    if integrator != "auto"
]
ORDERS = {
    "semi_implicit": 1,
    "implicit": 2,
    "rk4": 4,
    "zhong06": 2,
    "moreau": 2,
    "generalized_alpha": 2,
    "bdf1": 1,
    "bdf2": 2,
}
every_run = pytest.mark.parametrize(("solver", "integrator"), RUNS)
SPAN, COUNTS = 0.8, (40, 80, 160)
# Bodies at rest that have what other scenes of this file have, so that one kernel serves them all.
IDLE = {
    "bodies": """idle: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 50, 0]}}
  idle_too: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 50, 0]}}""",
    "joints": """idle: {type: ball, parent: world, child: idle, at: [0, 50, 0]}
  idle_too: {type: revolute, parent: idle, child: idle_too, at: [0, 50, 0], axis: [0, 1, 0]}""",
    "forces": """idle_push: {type: wrench, body: idle, force: [0, 0, 1e-9]}
  idle_air: {type: drag, body: idle, damping: 1}
  idle_rope: {type: spring, a: {world: [0, 51, 0]}, b: {body: idle, at: [0, 0, 0]}, stiffness: 1, damping: 1, rest_length: 2,
    slack: true}""",
}


def beside_idle(text, solver, integrator, device):
    """Runs a scene beside the bodies at rest."""
    for key, line in IDLE.items():
        text = text.replace(f"{key}:\n", f"{key}:\n  {line}\n") if f"\n{key}:\n" in text else f"{text}{key}:\n  {line}\n"
    return Runner(f"{text}solver: {{type: {solver}}}\n", integrator, device)


# Bodies of one law each: falls with quadratic drag, glides with viscous drag, and turnings with each of them.
FOUR = f"""
world: {{gravity: [0, 0, 0]}}
bodies:
  falls: {{mass: {MASS}, inertia: {{diag: [0.1, 0.1, 0.1]}}}}
  glides: {{mass: {MASS}, inertia: {{diag: [0.1, 0.1, 0.1]}}, pose: {{xyz: [3, 0, 0]}}, velocity: {{linear: [0, 4, 3]}}}}
  turns: {{mass: 1, inertia: {{diag: [0.1, 0.1, {INERTIA}]}}, pose: {{xyz: [6, 0, 0]}},
    velocity: {{angular: [0, 0, {SPIN}]}}}}
  slows: {{mass: 1, inertia: {{diag: [0.1, 0.1, {INERTIA}]}}, pose: {{xyz: [9, 0, 0]}},
    velocity: {{angular: [0, 0, {SPIN}]}}}}
forces:
  weight: {{type: wrench, body: falls, force: [0, 0, {-MASS * G}]}}
  air: {{type: drag, body: falls, quadratic: {QUADRATIC}}}
  oil: {{type: drag, body: glides, damping: {VISCOUS}}}
  film: {{type: drag, body: turns, angular_damping: {TURNING}}}
  fan: {{type: drag, body: slows, angular_quadratic: {TURNING_QUADRATIC}}}
"""


def closed(t):
    """Way of the fall, way of the glide, and both angles, at t."""
    top = np.sqrt(MASS * G / QUADRATIC)
    rate = TURNING_QUADRATIC * SPIN / INERTIA
    return np.array(
        [
            -(top**2 / G) * np.log(np.cosh(G * t / top)),
            MASS / VISCOUS * 5.0 * (1 - np.exp(-VISCOUS * t / MASS)),
            INERTIA / TURNING * SPIN * (1 - np.exp(-TURNING * t / INERTIA)),
            INERTIA / TURNING_QUADRATIC * np.log1p(rate * t),
        ]
    )


def lost(t):
    """What all four have lost at t [J]: what was there and given, less what is left."""
    top, rate = np.sqrt(MASS * G / QUADRATIC), TURNING_QUADRATIC * SPIN / INERTIA
    fall = MASS * G * top**2 / G * np.log(np.cosh(G * t / top)) - MASS * (top * np.tanh(G * t / top)) ** 2 / 2
    glide = MASS * 25 / 2 * (1 - np.exp(-2 * VISCOUS * t / MASS))
    turn = INERTIA * SPIN**2 / 2 * (1 - np.exp(-2 * TURNING * t / INERTIA))
    return fall + glide + turn + INERTIA * SPIN**2 / 2 * (1 - (1 + rate * t) ** -2)


def ways(run, h, n):
    """As of `closed`, at the end, and what the ledger says was lost, and its drift."""
    frames = run(h, n, 1)
    pose, start = frames["frames/body_q"][-1, 0], frames["frames/body_q"][0, 0]
    index = [run.model.bodies.name.index(name) for name in ("falls", "glides", "turns", "slows")]
    turned = [2 * np.arctan2(np.linalg.norm(pose[k, 3:6]), pose[k, 6]) for k in index[2:]]
    found = np.array([pose[index[0], 2], np.linalg.norm((pose - start)[index[1], :3]), *turned])
    return found, frames["energy/dissipated"][-1, 0], np.abs(frames["energy/drift"]).max()


@every_run
def test_falls_and_decays_are_those_of_the_formulas_with_their_order(device, solver, integrator):
    run = beside_idle(FOUR, solver, integrator, device)
    steps = np.array([SPAN / n for n in COUNTS])
    found = [ways(run, SPAN / n, n) for n in COUNTS]
    errors = np.abs([one[0] - closed(SPAN) for one in found])
    for k in range(4):
        assert slope(steps, errors[:, k]) > ORDERS[integrator] - 0.3, k
    assert errors[-1].max() < {1: 5e-2, 2: 1e-3, 4: 1e-7}[ORDERS[integrator]]
    assert found[-1][1] == pytest.approx(lost(SPAN), rel={1: 5e-2, 2: 1e-3, 4: 1e-7}[ORDERS[integrator]])
    drifts = [one[2] for one in found]
    assert drifts[-1] < 0.6 * drifts[0] or drifts[-1] < 1e-9


TUMBLER = """
world: {gravity: [0, 0, -9.81]}
bodies:
  a: {mass: 1.5, com: [0.1, 0.05, -0.02], inertia: {diag: [0.2, 0.2, 0.2]}, pose: {rpy: [0.3, 0.1, -0.4]},
      velocity: {linear: [2, -1, 4], angular: [1.0, 2.0, -1.5]}}
  b: {mass: 0.7, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0.4, 0, 0.2]}}
joints:
  j: {type: revolute, parent: a, child: b, at: [0.3, 0, 0.1], axis: [0.3, 1, 0.2], qd: 1}
forces:
  air: {type: drag, body: a, damping: 0.4, quadratic: 0.2, angular_damping: 0.05, angular_quadratic: 0.1, at: [0.2, 0, 0.1],
        wind: [3, 1, -0.5]}
  wake: {type: drag, body: b, quadratic: 0.3, angular_quadratic: 0.02, wind: [3, 1, -0.5]}
"""


@every_run
def test_all_solvers_agree_and_the_ledger_closes(device, solver, integrator):
    """A mechanism with all words of drag, against rk4, as the step goes down."""
    best = beside_idle(TUMBLER, "generalized", "rk4", device)
    run = beside_idle(TUMBLER, solver, integrator, device)
    place = [best.model.bodies.name.index(name) for name in ("a", "b")]
    best = best(1e-3, 400, 1)
    expected, order = best["frames/body_q"][-1, 0, place, :3], min(ORDERS[integrator], 2)
    errors, drifts = [], []
    for n in (100, 200, 400):
        found = run(0.4 / n, n, 1)
        index = [run.model.bodies.name.index(name) for name in ("a", "b")]
        errors.append(np.abs(found["frames/body_q"][-1, 0, index, :3] - expected).max())
        drifts.append(np.abs(found["energy/drift"]).max())
        assert found["energy/dissipated"][-1, 0] == pytest.approx(best["energy/dissipated"][-1, 0], rel=0.2)
        assert found["energy/input"][-1, 0] == pytest.approx(best["energy/input"][-1, 0], rel=0.2)
    assert errors[-1] < 1e-9 or slope([4.0, 2.0, 1.0], errors) > order - 0.35
    assert drifts[-1] < 0.6 * drifts[0] or drifts[-1] < 1e-9


def test_wind_and_drag_in_statics_and_modes(device):
    """A weight on a spring: it leans by c u / k, and swings by m s^2 + c s + k = 0 along each axis of a bushing."""
    text = """
world: {gravity: [0, 0, 0]}
bodies:
  m: {mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}}
forces:
  mount: {type: bushing, a: {world: [0, 0, 0]}, b: {body: m, at: [0, 0, 0]}, stiffness: 50, angular_stiffness: 3}
  air: {type: drag, body: m, damping: 1.5, angular_damping: 0.2, wind: [4, 0, 0]}
"""
    statics = Statics(model_of(text)[0], device)
    found = search_equilibrium(statics, False)
    np.testing.assert_allclose(found.posture.q[:3], [1.5 * 4 / 50, 0, 0], atol=1e-9)
    values = np.array([mode.eigenvalue for mode in Study(statics.model, statics, device, found, []).modes])
    for roots in (np.roots([2, 1.5, 50]), np.roots([0.1, 0.2, 3])):
        assert np.abs(values - roots[roots.imag > 0]).min() < 1e-6


@pytest.mark.parametrize("wind", [0.0, 1e-4, 3.0])
def test_quadratic_drag_damps_small_motions_as_the_wind_says(device, wind):
    """Of -q |v - u| (v - u) the damping at rest is 2 q u along the wind and q u across it: none where the air rests."""
    text = f"""
world: {{gravity: [0, 0, 0]}}
bodies:
  m: {{mass: 2, inertia: {{diag: [0.1, 0.1, 0.1]}}}}
joints:
  rail: {{type: d6, parent: world, child: m, axes: {{linear: [[1, 0, 0], [0, 1, 0]]}},
         drive: {{mode: position, stiffness: 300}}}}
forces:
  air: {{type: drag, body: m, quadratic: 40, angular_quadratic: 3, wind: [{wind}, 0, 0]}}
"""
    statics = Statics(model_of(text)[0], device)
    posture = search_equilibrium(statics).posture
    back = np.linalg.inv(posture.U)
    found = back.T @ statics.damping(posture).matrix @ back
    np.testing.assert_allclose(found, np.diag([80 * wind, 40 * wind]), rtol=1e-6, atol=1e-9)


STIFF = """
world: {gravity: [0, 0, -9.81]}
bodies:
  speck: {mass: 1e-3, inertia: {diag: [1e-6, 1e-6, 1e-6]}, velocity: {linear: [2, 0, 0], angular: [3, 1, 0]}}
forces:
  oil: {type: drag, body: speck, damping: 1, quadratic: 0.5, angular_damping: 1e-2, wind: [0, 1, 0]}
"""


@pytest.mark.parametrize(
    ("solver", "integrator"),
    [("generalized", "implicit"), ("natural", "generalized_alpha"), ("affine", "bdf1"), ("affine", "bdf2")],
)
def test_steps_that_are_implicit_take_drag_that_no_step_resolves(device, solver, integrator):
    """h c / m = 50: the speck drifts with the wind, and sinks at c v + q v^2 = m g; a spin dies by 0.8 or less per step."""
    run = beside_idle(STIFF, solver, integrator, device)
    found = run(5e-2, 1, 120)["frames/body_qd"][-1, 0, run.model.bodies.name.index("speck")]
    sinking = (np.sqrt(1 + 4 * 0.5 * 1e-3 * G) - 1) / (2 * 0.5)
    np.testing.assert_allclose(found, [0, 1, -sinking, 0, 0, 0], atol=1e-7)


# T = 20 (1.5 - 1) - 10 * 4 < 0 until the spring hangs: the body flies, and the damper takes what was stored.
ROPE = """
world: {gravity: [0, 0, 0]}
bodies:
  m: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [1.5, 0, 0]}, velocity: {linear: [-4, 0.5, 0]}}
forces:
  rope: {type: spring, a: {world: [0, 0, 0]}, b: {body: m, at: [0, 0, 0]}, stiffness: 20, damping: 10, rest_length: 1,
    slack: true}
"""
STORED = 0.5 * 20 * 0.5**2


@every_run
def test_a_damper_of_a_slack_spring_never_pushes(device, solver, integrator):
    """The way is that of free flight, and the ledger closes with the step: to first order, where it is of first order."""
    run = beside_idle(ROPE, solver, integrator, device)
    frames = run(1e-3, 300, 1)
    body = run.model.bodies.name.index("m")
    np.testing.assert_allclose(frames["frames/body_q"][-1, 0, body, :3], [0.3, 0.15, 0.0], atol=1e-9)
    assert frames["energy/dissipated"][-1, 0] == pytest.approx(STORED, abs=0.03)
    drifts = [np.abs(run(dt, round(0.3 / dt), 1)["energy/drift"]).max() for dt in (1e-3, 5e-4)]
    assert drifts[1] < 0.6 * drifts[0]


FALL = """
world: {gravity: [0, 0, -9.81]}
bodies:
  m: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0.3, 0, 1.8]}}
forces:
  rope: {type: spring, a: {world: [0, 0, 2]}, b: {body: m, at: [0, 0, 0]}, stiffness: STIFFNESS, rest_length: 0.5,
    slack: true}
"""


@pytest.mark.parametrize("stiffness", ["20", "200"])
def test_generalized_alpha_meets_ropes_with_its_order(device, stiffness):
    """A weight falls into a rope and bounces: against rk4."""
    text = FALL.replace("STIFFNESS", stiffness)
    best, run = (beside_idle(text, *one, device) for one in (("generalized", "rk4"), ("natural", "generalized_alpha")))
    bodies = [one.model.bodies.name.index("m") for one in (best, run)]
    exact = best(5e-5, 20000, 1)["frames/body_q"][-1, 0, bodies[0], :3]
    errors = [np.abs(run(h, round(1 / h), 1)["frames/body_q"][-1, 0, bodies[1], :3] - exact).max() for h in (4e-3, 1e-3)]
    assert errors[1] < 2e-5
    assert errors[1] < errors[0] / 8  # 16 of second order, less where the rope gets taut or slack within a step


@pytest.mark.parametrize(
    "integrators",
    [
        ("implicit", "semi_implicit"),
        pytest.param(("implicit", "rk4"), marks=pytest.mark.slow),  # whose steps of contact are those of first order
    ],
)
def test_drag_with_contact_is_that_of_all_integrators(device, integrators):
    """A ball that is blown over a floor after its fall, with and without rows for drag."""
    text = """
world: {gravity: [0, 0, -9.81], shapes: {floor: {type: plane}}}
bodies:
  ball: {mass: 0.2, shapes: {s: {type: sphere, radius: 0.1}}, pose: {xyz: [0, 0, 0.3]}}
forces:
  air: {type: drag, body: ball, damping: 0.3, quadratic: 0.2, angular_damping: 1e-3, wind: [4, 1, 0]}
contact: {enabled: true}
solver: {type: generalized}
"""
    found = [Runner(text, integrator, device)(5e-4, 2000, 1)["frames/body_q"][-1, 0, 0, :3] for integrator in integrators]
    assert found[0][0] > 0.5
    np.testing.assert_allclose(found[1], found[0], atol=4e-3)


def test_drag_of_a_scene_is_checked():
    air = "bodies: {b: {mass: 1, inertia: {diag: [1, 1, 1]}}}\nforces:\n  air: {type: drag, body: b, WORDS}\n"
    for words, code, word in (
        ("damping: -1", "SC231", ""),
        ("wind: [0, 0, 1]", "SC202", "does nothing"),
        ("quadratic: 1 N*s/m", "SC213", ""),
    ):
        (found,) = faults_of(air.replace("WORDS", words))
        assert found[:2] == (code, 2)
        assert word in found[2]


def test_drags_of_templates_and_worlds(device):
    text = """
models:
  kite:
    bodies: {b: {mass: 1, com: [0.1, 0, 0], inertia: {diag: [1, 1, 1]}}}
    forces: {air: {type: drag, body: b, quadratic: 0.1, wind: [1, 0, 0]}}
instances: {one: {model: kite, at: {rpy: [0, 0, 90 deg]}}}
batch: {worlds: 2, vary: {forces.one/air.quadratic: {list: [0.1, 0.2]}}}
"""
    drags = model_of(text)[0].drags
    np.testing.assert_allclose(drags.wind, [[[0, 1, 0]]], atol=1e-15)
    np.testing.assert_allclose(drags.quadratic, [[0.1], [0.2]])
    np.testing.assert_allclose(drags.point, [[[0.1, 0, 0]]])


GRAVITY_COMPENSATION_G = 9.81
GRAVITY_COMPENSATION_RUNS = [
    (get_args(spec.model_fields["type"].annotation)[0], integrator)
    for spec in (GeneralizedSolver, MaximalSolver, NaturalSolver, AffineSolver)
    for integrator in get_args(spec.model_fields["integrator"].annotation)
    if integrator != "auto"
]
QUICK = (("generalized", "implicit"), ("natural", "zhong06"), ("natural", "generalized_alpha"), ("affine", "bdf2"))
every_run_of_gravity_compensation = pytest.mark.parametrize(
    ("solver", "integrator"),
    [run if run in QUICK else pytest.param(*run, marks=pytest.mark.slow) for run in GRAVITY_COMPENSATION_RUNS],
)
FACTORS, GRAVITY_COMPENSATION_SPAN, SPEED = (1.0, 0.4, 1.5), 0.2, np.array([0.3, 0.2, 0.1])
ROUND, FIRST, YIELDING = 1e-9, 3e-2, 1e-4  # [m, J]: steps of first order are off by g h t / 2
# Free bodies, and two links whose factors differ: their centres of mass stand beside their frames.
SCENE = """
world: {gravity: [1, 0, -9.81]}
params: {F: 1}
bodies:
  free: {mass: 2, com: [0.1, 0, 0.2], inertia: {diag: [0.1, 0.1, 0.1]}, velocity: {linear: [0.3, 0.2, 0.1]},
         gravity_compensation: '${F}'}
  upper: {mass: 1.5, com: [0.3, 0.05, 0], inertia: {diag: [0.1, 0.2, 0.3]}, pose: {xyz: [0, 2, 0]},
          gravity_compensation: 0.7}
  lower: {mass: 1, com: [0.2, 0, 0.1], inertia: {diag: [0.1, 0.12, 0.15]}, pose: {xyz: [0.6, 2, 0]}}
joints:
  a: {type: revolute, parent: world, child: upper, at: [0, 2, 0], axis: [0, 1, 0], qd: 0.5}
  b: {type: revolute, parent: upper, child: lower, at: [0.6, 2, 0], axis: [0, 1, 0], qd: -1}
batch: {worlds: 3, vary: {params.F: {list: [1, 0.4, 1.5]}}}
"""
MJCF = """<mujoco><option gravity="1 0 -9.81" timestep="1e-3"/><compiler angle="radian"/><worldbody>
<body gravcomp="0.7"><inertial pos="0.3 0.05 0" mass="1.5" diaginertia="0.1 0.2 0.3"/><joint axis="0 1 0"/>
<body pos="0.6 0 0"><inertial pos="0.2 0 0.1" mass="1" diaginertia="0.1 0.12 0.15"/><joint axis="0 1 0"/></body></body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def judge():
    """MuJoCo's accelerations of the two links at the start."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    data.qvel[:] = [0.5, -1]
    mujoco.mj_forward(model, data)
    return data.qacc.copy()


@every_run_of_gravity_compensation
def test_falls_and_accelerations_in_every_solver(device, judge, solver, integrator):
    run = Runner(
        f"{SCENE}solver: {{type: {solver}}}\n", integrator, device, frozenset(("bodies", "joints", "energy", "body_qdd"))
    )
    first = integrator in ("semi_implicit", "bdf1")
    at = run.model.bodies.name.index("free")
    drifts = []
    for n in (50, 100):
        found = run(GRAVITY_COMPENSATION_SPAN / n, n, 1)
        drifts.append(np.abs(found["energy/drift"]).max())
    for w, factor in enumerate(FACTORS):
        way = found["frames/body_q"][-1, w, at, :3] - found["frames/body_q"][0, w, at, :3]
        expected = (
            SPEED * GRAVITY_COMPENSATION_SPAN
            + 0.5 * (1 - factor) * np.array([1, 0, -GRAVITY_COMPENSATION_G]) * GRAVITY_COMPENSATION_SPAN**2
        )
        np.testing.assert_allclose(way, expected, atol=FIRST if first else YIELDING if solver == "affine" else ROUND)
    assert drifts[1] < 0.6 * drifts[0] or drifts[1] < ROUND
    if solver != "affine":  # whose bodies yield in the instant of the start
        step, tolerance = (1e-4, 1e-4) if solver == "maximal" else (1e-6, ROUND)
        links = np.array([run.model.bodies.name.index(name) for name in ("upper", "lower")])
        short, long = (run(h, 1, 1)["frames/body_qdd"][0][:, links, 4] for h in (step, 2 * step))
        spin = 2 * short - long
        np.testing.assert_allclose(np.diff(spin, prepend=0.0), np.broadcast_to(judge, spin.shape), rtol=tolerance)
    start = found["energy/potential"][0]
    held = [1 - factor for factor in FACTORS]
    own = -2.0 * (np.array([0.1, 0, 0.2]) @ [1, 0, -GRAVITY_COMPENSATION_G])
    np.testing.assert_allclose(start - start[0], own * (np.array(held) - held[0]), atol=ROUND)


def test_events_and_worlds_change_it(tmp_path):
    text = SCENE + "events: [{at: 0.1, set: {bodies.upper.gravity_compensation: 1}}]\nrun: {duration: 0.2}\n"
    (tmp_path / "s.yaml").write_text("simcli: 1\n" + text)
    first, later = (phase.model.bodies.gravity_compensation for phase in build_phases(*read_scene(tmp_path / "s.yaml")))
    np.testing.assert_array_equal(first[:, 0], FACTORS)
    np.testing.assert_array_equal(first[:, 1], 0.7)
    np.testing.assert_array_equal(later[:, 1], 1.0)


def test_an_arm_whose_weight_is_held_up_rests_where_it_is(device):
    """With one factor for all: statics find no load, so that the motion is that without gravity."""
    text = (
        SCENE.replace("gravity_compensation: 0.7", "gravity_compensation: 1")
        .replace("0.15]}, pose", "0.15]}, gravity_compensation: 1, pose")
        .replace("qd: 0.5", "qd: 0")
        .replace("qd: -1", "qd: 0")
    )
    assert (model_of(text)[0].bodies.gravity_compensation[0] == 1).all()
    found = Runner(text + "solver: {type: generalized}\n", "implicit", device)(1e-3, 100, 1)
    np.testing.assert_allclose(found["frames/body_qd"][-1, 0, 1:], 0.0, atol=1e-12)
    np.testing.assert_allclose(found["energy/potential"][:, 0], 0.0, atol=1e-12)


@pytest.mark.parametrize(("value", "code"), [("yes", "SC203"), ("1 N", "SC213"), ("[1, 2]", "SC203")])
def test_wrong_words_are_told(value, code):
    text = f"bodies: {{b: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, gravity_compensation: {value}}}}}\n"
    (found,) = faults_of(text)
    assert found[:2] == (code, 0)
