"""Couplings: closed forms, MuJoCo's fixed tendon, agreement and order of all solvers, bounds, energy, wrong words.

Springs over pulleys: MuJoCo's spatial tendons, closed forms, straight ones, all solvers, modes, words.
"""

from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.integrate import quad, solve_ivp
from support.device import live_device
from support.forward import Runner, model_of
from support.forward_dynamics import forward_dynamics
from support.process import simcli as command
from support.scenes import faults_of, scene

import simcli
from simcli import rotations as rot
from simcli.analysis.rest.equilibrium import search_equilibrium
from simcli.analysis.rest.modes import Study
from simcli.analysis.rest.prestress import chosen_springs, solve_prestress, without
from simcli.analysis.rest.statics import Statics
from simcli.errors import UsageError
from simcli.kernels.algorithms import Algorithms
from simcli.model.forces.spring import ends_of_segments, segments_of

STIFFNESS, DAMPING, FACTOR = 50.0, 0.3, -2.0
SLIDERS = f"""
world: {{gravity: [0, 0, 0]}}
bodies:
  a: {{mass: 2, inertia: {{diag: [0.1, 0.1, 0.1]}}}}
  b: {{mass: 3, inertia: {{diag: [0.1, 0.1, 0.1]}}, pose: {{xyz: [0, 1, 0]}}}}
joints:
  ja: {{type: prismatic, parent: world, child: a, axis: [1, 0, 0], q: 0.3}}
  jb: {{type: prismatic, parent: world, child: b, at: [0, 1, 0], axis: [1, 0, 0]}}
forces:
  t: {{type: coupling, of: [{{joint: ja}}, {{joint: jb, factor: {FACTOR}}}], ACTS}}
"""
SPRUNG = SLIDERS.replace("ACTS", f"stiffness: {STIFFNESS}, damping: {DAMPING}")
CURVE = Polynomial([0.02, -2.0, 0.7, -0.4, 0.3])
CURVED = SPRUNG.replace(f"factor: {FACTOR}", f"polynomial: {CURVE.coef.tolist()}")  # x = q_a + p(q_b)
MASS = 1.0 / (1.0 / 2.0 + FACTOR**2 / 3.0)  # along x = q_a + factor q_b
# All kinds of coordinates, of the tree and of a loop, several times; everything that may act along a coupling.
MIXED = """
signals: {s: {sine: {amplitude: 0.4, frequency: 1.5, offset: 0.1}}}
bodies:
  a: {mass: 1, com: [0.3, 0, 0], inertia: {diag: [0.1, 0.12, 0.15]}}
  b: {mass: 2, com: [0.2, 0.1, 0], inertia: {diag: [0.1, 0.12, 0.15]}, pose: {xyz: [0.6, 0, 0]}SHAPE}
  c: {mass: 1.5, com: [0, 0, 0.1], inertia: {diag: [0.1, 0.12, 0.15]}, pose: {xyz: [0, 2, 0]}SHAPE}
  d: {mass: 0.5, com: [0.1, 0, 0], inertia: {diag: [0.1, 0.12, 0.15]}, pose: {xyz: [0, 4, 0]}}
joints:
  ja: {type: revolute, parent: world, child: a, axis: [0, 1, 0], qd: 1}
  jb: {type: universal, parent: a, child: b, at: [0.6, 0, 0], axes: {angular: [[0, 1, 0], [0, 0, 1]]}}
  jc: {type: prismatic, parent: world, child: c, at: [0, 2, 0], axis: [0, 0, 1], damping: 3}
  jd: {type: revolute, parent: world, child: d, at: [0, 4, 0], axis: [0, 1, 0.2], loop: true}
forces:
  t1: {type: coupling, of: [{joint: ja}, {joint: jb, dof: 1, factor: -0.5}, {joint: jd, factor: 0.7}], stiffness: 8,
       rest: 0.2, damping: 0.3, friction: 0.5,
       drive: {mode: position, target: $s, stiffness: 40, damping: 2, effort_limit: 4}}
  t2: {type: coupling, unit: m, of: [{joint: jb, factor: 0.3}, {joint: jc, factor: 2}], stiffness: 200, limit: [-0.06, 0.06]}
"""
TOUCHING = MIXED.replace("SHAPE", ", shapes: {s: {type: sphere, radius: 0.1}}")
MIXED = MIXED.replace("SHAPE", "")
COORDINATES = 5  # of the joints of MIXED
ORDERS = {
    ("generalized", "semi_implicit"): 1,
    ("generalized", "rk4"): 4,
    ("generalized", "implicit"): 2,
    ("maximal", "semi_implicit"): 1,
    ("natural", "zhong06"): 2,
}
TIME = 0.6  # [s]
ROUNDING = 1e-9  # of the error that a step of rk4 may reach
AGREE = {1: 2e-2, 2: 3e-3}  # [rad, m], of steps of 0.5 and 1 ms in which friction, bounds and limits switch
DRIFT = {"maximal": 0.3}  # [J], of its steps of 0.5 ms, which lose 0.21 J with a joint's own limit in place of a coupling's
PEER = 2e-6  # [rad], between rk4 here and there at 0.5 ms


def runner(text, kind, integrator, channels=("state", "energy")):
    return Runner(
        f"{text}solver: {{type: {kind}, dt: 1.0e-3, integrator: {integrator}}}\n",
        integrator,
        live_device(),
        frozenset(channels),
    )


def x_of(q):
    return q[:, 0] + FACTOR * q[:, 1]


def oscillation(t):
    w = np.sqrt(STIFFNESS / MASS)
    z = DAMPING / (2.0 * MASS * w)
    wd = w * np.sqrt(1.0 - z * z)
    return 0.3 * np.exp(-z * w * t) * (np.cos(wd * t) + z * w / wd * np.sin(wd * t))


def curved_rates(_t, y):
    """m_a a = F, m_b b = p'(q_b) F of the force F along x = q_a + p(q_b)."""
    slope = CURVE.deriv()(y[1])
    force = -STIFFNESS * (y[0] + CURVE(y[1])) - DAMPING * (y[2] + slope * y[3])
    return [y[2], y[3], force / 2.0, slope * force / 3.0]


@pytest.mark.parametrize(("kind", "integrator"), ORDERS)
def test_two_sliders_swing_against_each_other(kind, integrator):
    """The closed form of a damped oscillator, and a spring along a curve: order of the integrator, and of the ledger."""
    order, swung = ORDERS[kind, integrator], oscillation(TIME)
    curved = solve_ivp(curved_rates, (0.0, TIME), [0.3, 0, 0, 0], method="DOP853", rtol=1e-12, atol=1e-12).y[:2, -1]
    for text in (SPRUNG, CURVED):
        run, errors, drifts = runner(text, kind, integrator), [], []
        for h in (4e-3, 2e-3):
            found = run(h, round(TIME / h), 1)
            q = found["frames/joint_q"][:, 0]
            errors.append(abs(x_of(q)[-1] - swung) if text is SPRUNG else np.abs(q[-1, :2] - curved).max())
            drifts.append(abs(found["energy/drift"][-1, 0]))
            straight = np.isclose(2 * q[-1, 0] - 2 * 0.3, 3 * q[-1, 1] / FACTOR, atol=1e-9)  # F on a, factor F on b
            assert straight == (text is SPRUNG)
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)
        assert drifts[1] < max(0.6**order * drifts[0], ROUNDING)
        assert found["energy/dissipated"][-1, 0] > 0.5


@pytest.fixture(scope="module")
def fine():
    """By rk4 with the finest steps: coordinates, work supplied, work dissipated."""
    return numbers(runner(MIXED, "generalized", "rk4"), 2.5e-4)


def numbers(run, h):
    found = run(h, round(0.05 / h), 20)
    assert found["diag/status"].max() == 0
    return [
        found["frames/joint_q"][1:, 0, :COORDINATES],
        found["energy/input"][-1, 0],
        found["energy/dissipated"][-1, 0],
        found["energy/drift"][:, 0],
    ]


@pytest.mark.parametrize(
    ("kind", "integrator", "text"),
    [
        *((*pair, MIXED) for pair in ORDERS if pair != ("generalized", "rk4")),
        pytest.param("generalized", "semi_implicit", TOUCHING),
        pytest.param("maximal", "semi_implicit", TOUCHING, marks=pytest.mark.slow),
        pytest.param("natural", "moreau", TOUCHING, marks=pytest.mark.slow),
    ],
)
def test_solvers_agree_on_coordinates_work_and_losses(fine, kind, integrator, text):
    """On a driven, bounded, rubbing sum of coordinates of a tree and of a loop; also where something could touch."""
    assert (text is TOUCHING) == (model_of(text + "solver: {type: generalized, dt: 1e-3}\n")[0].contacts is not None)
    order = ORDERS.get((kind, integrator), 1)
    bound = AGREE[order]
    q, supplied, dissipated, drift = numbers(runner(text, kind, integrator), 5e-4 if order == 1 else 1e-3)
    assert np.abs(q - fine[0]).max() < bound
    assert abs(supplied - fine[1]) < 5 * bound
    assert abs(dissipated - fine[2]) < 5 * bound
    assert np.abs(drift).max() < DRIFT.get(kind, 5 * bound)
    x = 0.3 * q[:, 1] + 2.0 * q[:, 3]
    assert np.abs(x).max() < 0.06 + bound
    assert x.min() < -0.055


CHAIN = """
bodies:
  a: {mass: 1, com: [0.3, 0, 0], inertia: {diag: [0.02, 0.05, 0.05]}}
  b: {mass: 0.7, com: [0.25, 0, 0], inertia: {diag: [0.02, 0.04, 0.04]}, pose: {xyz: [0.6, 0, 0]}}
  c: {mass: 0.4, com: [0.2, 0, 0], inertia: {diag: [0.01, 0.03, 0.03]}, pose: {xyz: [1.1, 0, 0]}}
joints:
  ja: {type: revolute, parent: world, child: a, axis: [0, 1, 0], qd: 1}
  jb: {type: revolute, parent: a, child: b, at: [0.6, 0, 0], axis: [0, 1, 0], qd: -0.5}
  jc: {type: revolute, parent: b, child: c, at: [1.1, 0, 0], axis: [0, 1, 0]}
forces:
  t: {type: coupling, unit: m, of: [{joint: ja, factor: 0.3}, {joint: jb, factor: -0.2}, {joint: jc, factor: 0.15}],
      stiffness: 60, rest: 0.1, damping: 2, drive: {mode: position, target: 0.2, stiffness: 30, damping: 1}}
"""
TENDON = """
<mujoco><option timestep="5e-4" integrator="RK4"/><compiler autolimits="true"/>
<worldbody><body><joint name="ja" axis="0 1 0"/><inertial pos="0.3 0 0" mass="1" diaginertia="0.02 0.05 0.05"/>
<body pos="0.6 0 0"><joint name="jb" axis="0 1 0"/><inertial pos="0.25 0 0" mass="0.7" diaginertia="0.02 0.04 0.04"/>
<body pos="0.5 0 0"><joint name="jc" axis="0 1 0"/><inertial pos="0.2 0 0" mass="0.4" diaginertia="0.01 0.03 0.03"/>
</body></body></body></worldbody>
<tendon><fixed name="t" stiffness="60" damping="2" springlength="0.1"><joint joint="ja" coef="0.3"/>
<joint joint="jb" coef="-0.2"/><joint joint="jc" coef="0.15"/></fixed></tendon>
<actuator><position tendon="t" kp="30" kv="1"/></actuator></mujoco>
"""


def test_a_fixed_tendon_of_mujoco_does_the_same():
    model = mujoco.MjModel.from_xml_string(TENDON)
    data = mujoco.MjData(model)
    data.qvel[:], data.ctrl[:] = [1, -0.5, 0], 0.2
    mujoco.mj_step(model, data, 1000)
    found = runner(CHAIN, "generalized", "rk4")(5e-4, 1000, 1)["frames/joint_q"][-1, 0, :3]
    assert np.abs(data.qpos).max() > 0.3
    assert np.abs(found - data.qpos).max() < PEER


@pytest.mark.parametrize(
    ("kind", "integrator"), [("generalized", "implicit"), ("maximal", "semi_implicit"), ("natural", "zhong06")]
)
def test_a_drive_gives_no_more_than_its_limit_and_its_force_is_that_of_the_row(kind, integrator):
    """Sliders at x = 0.3 that a drive far away pulls with its limit: x = 0.3 + E t^2 / (2 m)."""
    text = SLIDERS.replace("ACTS", "drive: {mode: position, target: 9, stiffness: 1000, effort_limit: 0.4}")
    run = runner(text, kind, integrator, ("state", "energy", "reactions"))
    found = run(1e-3, 500, 1)
    x = x_of(found["frames/joint_q"][:, 0])
    assert x[1] == pytest.approx(0.3 + 0.4 * 0.25 / (2.0 * MASS), abs=3e-4 if kind == "maximal" else 1e-9)
    row = run.solver.row_label.index("t:sum")
    assert found["frames/multiplier"][1, 0, row] == pytest.approx(0.4)
    assert found["energy/input"][1, 0] == pytest.approx(0.4 * (x[1] - 0.3), rel=2e-3)


def test_worlds_and_events_may_differ_in_what_acts():
    vary = "{forces.t.stiffness: {list: [50, 80]}, 'forces.t.of[1].factor': {list: [-2, 1]}}"
    model, _ = model_of(f"{SPRUNG}batch: {{worlds: 2, vary: {vary}}}\n")
    assert model.combinations.spring_stiffness.tolist() == [[50], [80]]
    assert model.combinations.term_polynomial[..., 1].tolist() == [[1, -2], [1, 1]]
    event = "events: [{at: 0.01, set: {forces.t.stiffness: 10, forces.t.rest: 1}}]\n"
    solver = "run: {duration: 0.1}\nsolver: {type: generalized, dt: 1e-3}\n"
    assert faults_of(SPRUNG + event + solver) == []


def test_names_of_instances_are_their_own():
    inside = "\n".join("    " + line for line in SPRUNG.split("bodies:")[1].splitlines())
    twice = "instances: {one: {model: m}, two: {model: m, at: {xyz: [0, 5, 0]}}}"
    model, _ = model_of(f"models:\n  m:\n    bodies:{inside}\n{twice}\n")
    joints = [model.joints.name[model.dofs.joint[d]] for d in model.combinations.term_dof]
    assert joints == ["one/ja", "one/jb", "two/ja", "two/jb"]


SPRING = "stiffness: 1"
WRONG = {
    "lost": ("of: [{joint: no}], stiffness: 1", "SC305", "no"),
    "beyond": ("of: [{joint: ja, dof: 1}], stiffness: 1", "SC463", "no dof 1"),
    "twice": ("of: [{joint: ja}, {joint: ja}], stiffness: 1", "SC463", "twice"),
    "idle": ("of: [{joint: ja}]", "SC202", "does nothing"),
    "mixed": ("of: [{joint: ja}, {joint: jh}], stiffness: 1", "SC213", "adds turns to displacements"),
    "ball": ("of: [{joint: jf}], stiffness: 1", "SC463", "no scalar coordinates"),
}


@pytest.mark.parametrize("word", WRONG)
def test_wrong_words_are_told(word):
    keys, code, message = WRONG[word]
    start = """
defaults: {body: {mass: 1, inertia: {diag: [1, 1, 1]}}}
bodies: {a: {}, h: {}, f: {}}
joints:
  ja: {type: prismatic, parent: world, child: a}
  jh: {type: revolute, parent: world, child: h}
  jf: {type: ball, parent: world, child: f}
"""
    found = faults_of(f"forces: {{t: {{type: coupling, {keys}}}}}\n", start)
    assert [one[0] for one in found] == [code]
    assert message in found[0][2]


@pytest.mark.parametrize("solver", ["type: affine", "type: natural, integrator: generalized_alpha"])
def test_solvers_without_couplings_refuse_them(solver):
    found = faults_of(f"{SPRUNG}solver: {{{solver}, dt: 1e-3}}\n")
    assert [one[0] for one in found] == ["SC501"]
    assert "coupling" in found[0][2]


def test_statics_do_not_ignore_couplings():
    with pytest.raises(UsageError, match="couplings"):
        Statics(model_of(SPRUNG)[0], live_device())


G = 9.81
PULLEYS_ROUNDING = 1e-10  # of accelerations of order 10 to 100
PATH = """a: {world: [0, 0, 0.6]}, through: [{body: arm, at: [0.1, 0, 0.1]}, {body: fore, at: [0, 0.1, 0.05]},
          {world: [0.8, 0.4, 0.5]}, {body: ball, at: [0.05, 0.02, 0.1]}], b: {body: fore, at: [0.2, 0, 0]}"""
# Two links of a tree and a free body; the cable meets one link twice, and two points of the world.
MECHANISM = f"""
world: {{gravity: [0, 0, -9.81]}}
bodies:
  arm: {{mass: 1.2, inertia: {{diag: [0.02, 0.03, 0.04]}}, com: [0.1, 0.02, -0.03]}}
  fore: {{mass: 0.7, inertia: {{diag: [0.012, 0.013, 0.02]}}, com: [0.12, 0, 0.01], pose: {{xyz: [0.3, 0.1, 0.2]}}}}
  ball: {{mass: 0.5, inertia: {{diag: [0.01, 0.02, 0.015]}}, pose: {{xyz: [0.9, -0.2, 0.1]}}}}
joints:
  shoulder: {{type: revolute, parent: world, child: arm, axis: [0, 1, 0.2]}}
  elbow: {{type: revolute, parent: arm, child: fore, at: [0.3, 0.1, 0.2], axis: [1, 0, 0.4]}}
forces:
  cable: {{type: spring, {PATH}, STIFF}}
solver: {{type: generalized}}
"""
PULLEYS_PEER = """
<mujoco><option gravity="0 0 -9.81"/><compiler autolimits="true"/><worldbody><site name="p0" pos="0 0 0.6"/>
<site name="p3" pos="0.8 0.4 0.5"/>
<body name="arm"><joint name="shoulder" axis="0 1 0.2"/>
<inertial pos="0.1 0.02 -0.03" mass="1.2" diaginertia="0.02 0.03 0.04"/>
<site name="p1" pos="0.1 0 0.1"/>
<body name="fore" pos="0.3 0.1 0.2"><joint name="elbow" axis="1 0 0.4"/>
<inertial pos="0.12 0 0.01" mass="0.7" diaginertia="0.012 0.013 0.02"/><site name="p2" pos="0 0.1 0.05"/>
<site name="p5" pos="0.2 0 0"/></body></body>
<body name="ball" pos="0.9 -0.2 0.1"><freejoint/><inertial pos="0 0 0" mass="0.5" diaginertia="0.01 0.02 0.015"/>
<site name="p4" pos="0.05 0.02 0.1"/></body></worldbody>
<tendon><spatial name="t" STIFF><site site="p0"/><site site="p1"/><site site="p2"/><site site="p3"/><site site="p4"/>
<site site="p5"/></spatial></tendon></mujoco>
"""


@pytest.mark.parametrize(
    ("stiff", "theirs"),
    [
        ("stiffness: 60, damping: 1.5, rest_length: 1.2", 'stiffness="60" damping="1.5" springlength="1.2"'),
        ("stiffness: 60, rest_length: 3, slack: true", 'stiffness="60" springlength="0 3"'),
    ],
)
def test_accelerations_are_those_of_a_spatial_tendon(device, stiff, theirs):
    model = model_of(MECHANISM.replace("STIFF", stiff))[0]
    peer = mujoco.MjModel.from_xml_string(PULLEYS_PEER.replace("STIFF", theirs))
    data, algorithms = mujoco.MjData(peer), Algorithms(model, device)
    rng, pulled = np.random.default_rng(17), 0
    for _ in range(20):
        angles, place, turn = rng.uniform(-1.5, 1.5, 2), rng.uniform(-1, 1, 3), rot.quat_from_rpy(rng.uniform(-3, 3, 3))
        rates, speed, spin = rng.normal(size=2), rng.normal(size=3), rng.normal(size=3)
        data.qpos[:] = [*angles, *place, turn[3], *turn[:3]]
        data.qvel[:] = [*rates, *speed, *(rot.quat_to_matrix(turn).T @ spin)]
        mujoco.mj_forward(peer, data)
        q, qd = np.concatenate((angles, place, turn)), np.concatenate((rates, speed, spin))
        given = algorithms.external_forces(q[None], qd[None], 0.0)
        found = forward_dynamics(algorithms, q[None], qd[None], np.zeros((1, 8)), given)[0]
        expected = np.concatenate((data.qacc[:5], rot.quat_to_matrix(turn) @ data.qacc[5:]))
        np.testing.assert_allclose(found, expected, atol=PULLEYS_ROUNDING * max(1.0, np.abs(expected).max()))
        pulled += np.abs(given).max() > 0.0
    algorithms.destroy()
    assert pulled > 5
    assert pulled == 20 or "slack" in stiff


# A cable over two points of the world, with the tension of uniform motion from the start, so that its length stays.
HEAVY, LIGHT = 3.0, 2.0
TENSION = 2.0 * HEAVY * LIGHT * G / (HEAVY + LIGHT)
ATWOOD = f"""
world: {{gravity: [0, 0, -9.81]}}
bodies:
  heavy: {{mass: {HEAVY}, inertia: {{diag: [0.1, 0.1, 0.1]}}}}
  light: {{mass: {LIGHT}, inertia: {{diag: [0.1, 0.1, 0.1]}}, pose: {{xyz: [1, 0, 0.2]}}}}
forces:
  cable: {{type: spring, a: {{body: heavy, at: [0, 0, 0]}}, through: [{{world: [0, 0, 2]}}, {{world: [1, 0, 2]}}],
          b: {{body: light, at: [0, 0, 0]}}, stiffness: 1000, damping: 5, rest_length: {2 + 1 + 1.8 - TENSION / 1000}}}
"""
SOLVERS = [
    ("generalized", "rk4"),
    ("generalized", "semi_implicit"),
    ("generalized", "implicit"),
    ("maximal", "semi_implicit"),
    ("natural", "zhong06"),
    ("natural", "moreau"),
    ("natural", "generalized_alpha"),
    ("affine", "bdf1"),
    ("affine", "bdf2"),
]
# The cable of test_elements.py tells implicit, generalized_alpha and bdf2; springs of semi_implicit are those of rk4.
SLOW = ("semi_implicit", "implicit", "generalized_alpha", "bdf1", "bdf2")
every_solver = pytest.mark.parametrize(
    ("solver", "integrator"),
    [pytest.param(*one, marks=[pytest.mark.slow] * (one[0] != "maximal" and one[1] in SLOW)) for one in SOLVERS],
)


@every_solver
def test_masses_over_pulleys_fall_as_atwood_says(device, solver, integrator):
    """z = z0 -+ a t^2 / 2, a = g (M - m) / (M + m); first-order steps are a h t / 2 off, the first one of bdf2 less."""
    h, n = 1e-3, 300
    found = Runner(f"{ATWOOD}solver: {{type: {solver}}}\n", integrator, device)(h, n, 1)["frames/body_q"][-1, 0, :, 2]
    a, t = G * (HEAVY - LIGHT) / (HEAVY + LIGHT), h * n
    off = {"semi_implicit": 1.01 * a * h * t / 2, "bdf1": 1.01 * a * h * t / 2, "bdf2": a * h * h}.get(integrator, 1e-9)
    np.testing.assert_allclose(found, [-a * t * t / 2, 0.2 + a * t * t / 2], atol=off)


BEAD = """
world: {gravity: [0, 0, -9.81]}
bodies:
  bead: {mass: 2, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: START}}
joints:
  x: {type: d6, parent: world, child: bead, at: START, axes: {linear: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}}
forces:
  cable: {type: spring, a: {world: [0, 0, 0]}, through: [{body: bead, at: [0, 0, 0]}], b: {world: [1, 0, 0.3]},
          stiffness: 500, rest_length: 1.4}
"""


def rested(text):
    statics = Statics(model_of(text)[0], live_device())
    return statics, search_equilibrium(statics, False)


def test_a_bead_on_a_cable_rests_where_both_parts_lean_alike(device):
    """It is the lowest point of an ellipse: the vertical halves the angle of the two parts, and the weight tells T."""
    statics, found = rested(BEAD.replace("START", "[0.4, 0, -0.5]"))
    segments = segments_of(statics.model.springs)
    a, b = ends_of_segments(segments, found.posture.found.pose[0])
    way = b - a
    length = np.linalg.norm(way, axis=1)
    slope = way[:, 0] / length
    assert slope[0] == pytest.approx(slope[1], abs=1e-9)
    tension = 500.0 * (length.sum() - 1.4)
    assert tension * (way[1, 2] / length[1] - way[0, 2] / length[0]) == pytest.approx(2 * G, abs=1e-8)
    assert search_modes(statics, found).prestress.tension[0] == pytest.approx(tension)


def test_the_tension_that_holds_a_bead_is_found(device):
    """Half way between two anchors of one height: 2 T cos = m g."""
    text = BEAD.replace("START", "[0.5, 0, -0.5]").replace("[1, 0, 0.3]", "[1, 0, 0]")
    model = model_of(text)[0]
    bare, asked = Statics(without(model, [0]), live_device()), chosen_springs(model.springs, ["forces.cable.tension"])
    solved = solve_prestress(model, bare, asked, 0.0)
    assert solved.values["forces.cable.tension"] == pytest.approx(2 * G / np.sqrt(2))


def search_modes(statics, found):
    return Study(statics.model, statics, live_device(), found, [])


def test_a_bead_on_a_straight_cable_moves_as_its_tension_says(device):
    """Across the line m x'' = -T (1/l1 + 1/l2) x; along it the length stays, and nothing holds the bead."""
    straight = BEAD.replace("-9.81", "0").replace("START", "[0.3, 0, 0]").replace("[1, 0, 0.3]", "[1, 0, 0]")
    statics, found = rested(straight.replace("rest_length: 1.4", "rest_length: 0.9"))
    values = np.sort(np.abs([mode.eigenvalue for mode in search_modes(statics, found).modes]))
    across = np.sqrt(500.0 * 0.1 * (1 / 0.3 + 1 / 0.7) / 2.0)
    np.testing.assert_allclose(values[-2:], across, rtol=1e-7)
    assert values[0] < 1e-3 * across


@every_solver
def test_a_cable_without_a_turn_is_a_straight_spring(device, solver, integrator):
    """A pulley at an end of it, on the same body, changes nothing; beside masses over pulleys, whose kernel serves both."""
    body = "m: {mass: 1.5, inertia: {diag: [0.2, 0.2, 0.2]}, pose: {xyz: [0.3, 0.1, -1], rpy: [0.2, -0.3, 0.7]}}"
    spring = (
        "s: {type: spring, a: {world: [1, 0.2, 0.5]}, THROUGH b: {body: m, at: [0.1, 0.05, -0.1]}, stiffness: 50, "
        "damping: 1}"
    )
    text = ATWOOD.replace("bodies:\n", f"bodies:\n  {body}\n").replace("forces:\n", f"forces:\n  {spring}\n")
    cases = [text.replace("THROUGH", word) for word in ("", "through: [{world: [1, 0.2, 0.5]}],")]
    one, other = (Runner(f"{case}solver: {{type: {solver}}}\n", integrator, device)(1e-3, 50, 1) for case in cases)
    for name in ("frames/body_q", "frames/body_qd", "energy/elastic", "energy/dissipated"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-9 if solver == "affine" else 1e-12)


def test_generalized_alpha_resolves_no_swing_and_slides_on(device):
    """A light bead on a tight cable: across it would swing some 300 times a second, along it nothing holds it.

    The iteration knows what the tension of each part does across it, and that it does nothing along it.
    """
    text = """
world: {gravity: [0, 0, 0]}
bodies:
  bead: {mass: 0.01, inertia: {diag: [1e-6, 1e-6, 1e-6]}, pose: {xyz: [0.4, 0, 0]}, velocity: {linear: [2, 3, 0]}}
forces:
  cable: {type: spring, a: {world: [0, 0, 0]}, through: [{body: bead, at: [0, 0, 0]}], b: {world: [1, 0, 0]},
          stiffness: 1e5, rest_length: 0.9}
"""
    run = Runner(text + "solver: {type: natural}\n", "generalized_alpha", device)
    place = run(1e-2, 1, 20)["frames/body_q"][-1, 0, 0, :3]
    np.testing.assert_allclose(place, [0.4 + 2 * 0.2, 0, 0], atol=2e-3)


def test_pulleys_of_templates_move_with_them(device):
    text = """
models:
  lift:
    bodies:
      m: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [0, 0, 1]}}
    forces:
      s: {type: spring, a: {world: [0, 0, 0]}, through: [{world: [1, 0, 0]}, {body: m, at: [0, 0, 1]}],
          b: {body: m, at: [0, 0, 0]}, stiffness: 50}
instances:
  one: {model: lift, at: {xyz: [2, 0, 0], rpy: [0, 0, 90 deg]}}
"""
    springs = model_of(text)[0].springs
    assert springs.name == ("one/s",)
    assert springs.pulley_body.tolist() == [-1, 0]
    np.testing.assert_allclose(springs.pulley_point[0], [[2, 1, 0], [0, 0, 1]], atol=1e-15)
    assert springs.rest_length[0, 0] == pytest.approx(1 + np.sqrt(5) + 1)


def test_wrong_words_are_told_at_their_place():
    line = next(n for n, text in enumerate(ATWOOD.splitlines()) if "through" in text)
    for new, code, word in (
        ("{body: heavi, at: [0, 0, 0]}", "SC304", "heavi"),
        ("heavy/tip", "SC310", "tip"),
        ("{world: [0, 0]}", "SC205", "3 numbers"),
    ):
        (found,) = faults_of(ATWOOD.replace("{world: [0, 0, 2]}", new))
        assert found[:2] == (code, line)
        assert word in found[2]


def test_pulleys_differ_between_worlds_and_after_events(device):
    """Raised pulleys lengthen the cable in each world; an event that lets out cable does what it says."""
    vary = "batch: {worlds: 2, vary: {'forces.cable.through[0].world[2]': {list: [2, 2.5]}}}\n"
    model = model_of(ATWOOD + vary)[0]
    np.testing.assert_allclose(model.springs.pulley_point[:, 0, 2], [2.0, 2.5])
    start = Runner(ATWOOD + vary + "solver: {type: generalized}\n", "rk4", device)(1e-3, 1, 1)["energy/elastic"][0]
    lengths = np.array([4.8, 2.5 + np.hypot(1, 0.5) + 1.8])
    np.testing.assert_allclose(start, 500.0 * (lengths - (4.8 - TENSION / 1000)) ** 2, rtol=1e-12)
    assert scene(ATWOOD + "events: [{at: 0.1, set: {forces.cable.rest_length: 5}}]\n")


@pytest.mark.parametrize("solver", ["type: affine", "type: natural, integrator: generalized_alpha"])
@pytest.mark.parametrize(
    "way",
    [
        "through: [{world: [0, 0, 2], sphere: {radius: 0.1}}]",
        "paid_out: [{joint: ja, factor: 0.1}]",
        "muscle: {force: 10, length_range: [1, 2]}",
    ],
)
def test_solvers_without_ropes_around_things_refuse_them(solver, way):
    rope = f"  r: {{type: spring, a: {{world: [0, 0, 1]}}, b: {{body: b, at: [0, 0, 0]}}, stiffness: 9, {way}}}\n"
    text = SLIDERS[: SLIDERS.index("  t: {type: coupling")] + rope
    found = faults_of(f"{text}solver: {{{solver}, dt: 1e-3}}\n")
    assert [one[0] for one in found] == ["SC501"]
    assert "rope" in found[0][2]
    assert not faults_of(text)


ENGINE, WHEEL, SPEED = 2.0, 3.0, 10.0  # [kg m^2], [rad/s] of the clutch
CLUTCH = f"""
world: {{gravity: [0, 0, 0]}}
signals: {{pedal: {{ramp: {{from: -5, to: 20, start: 0.1, end: 0.6}}}}}}
bodies:
  engine: {{mass: 1, inertia: {{diag: [1, 1, {ENGINE}]}}}}
  wheel: {{mass: 1, inertia: {{diag: [2, 2, {WHEEL}]}}}}
joints:
  shaft: {{type: revolute, parent: world, child: engine, axis: [0, 0, 1], qd: {SPEED}}}
  axle: {{type: revolute, parent: world, child: wheel, axis: [0, 0, 1]}}
forces:
  clutch: {{type: coupling, of: [{{joint: shaft}}, {{joint: axle, factor: -1}}], friction: $pedal}}
"""


SHAPED = CLUTCH.replace("mass: 1", "mass: 1, shapes: {s: {type: sphere, radius: 0.1}}")
SHAPED = SHAPED.replace("child: wheel", "child: wheel, at: [0, 3, 0]").replace(
    "wheel: {", "wheel: {pose: {xyz: [0, 3, 0]}, "
)
CLUTCHES = [(*pair, CLUTCH) for pair in ORDERS if pair != ("generalized", "rk4")]
CLUTCHES += [("generalized", "semi_implicit", SHAPED), pytest.param("natural", "moreau", SHAPED, marks=pytest.mark.full)]
CARRIED = {1: 1.0001 * 20 / 2 * 1e-3, 2: 1e-4}  # [rad/s], of steps of 1 ms: T h / I, or the step in which it locks


@pytest.mark.parametrize(("kind", "integrator", "text"), CLUTCHES)
def test_a_clutch_carries_what_its_signal_says_until_both_turn_alike(kind, integrator, text):
    """T = 50 (t - 0.2) from 0.2 to 0.6 s, then 20; -T on one, T on the other, until both turn with I1 w / (I1 + I2)."""
    found = runner(text, kind, integrator)(1e-3, 50, 24)
    t = 0.05 * np.arange(25)
    given = 25 * np.clip(t - 0.2, 0.0, 0.4) ** 2 + 20 * np.maximum(t - 0.6, 0.0)
    shared = ENGINE * SPEED / (ENGINE + WHEEL)
    wanted = np.stack([np.maximum(SPEED - given / ENGINE, shared), np.minimum(given / WHEEL, shared)], axis=1)
    error = np.abs(found["frames/joint_qd"][:, 0, :2] - wanted).max(axis=1)
    assert error.max() < CARRIED[ORDERS.get((kind, integrator), 1)]
    assert error[-1] < 1e-8  # `solver.contact.tolerance`
    lost = ENGINE * SPEED**2 / 2 - (ENGINE + WHEEL) * shared**2 / 2
    assert found["energy/dissipated"][-1, 0] == pytest.approx(lost, abs=1e-4)
    assert np.abs(found["energy/drift"]).max() < 1e-4


def test_a_coupling_whose_friction_is_no_number_is_refused():
    refused = {"-1": "SC231", "$nobody": "SC311", "pedal": "SC203"}
    for text, code in refused.items():
        (fault,) = faults_of(CLUTCH.replace("$pedal", text) + "solver: {type: generalized, dt: 1.0e-3}\n")
        assert fault[0] == code, text


# Tension over elongation, which softens and stiffens, and over the rate, less against lengthening; both go on at their ends.
ELONGATION, PULL = [-0.2, -0.05, 0.0, 0.05, 0.2], [-90.0, -10.0, -1.0, 10.0, 30.0]
RATE, AGAINST = [-1.0, 0.0, 0.4], [-3.0, 0.0, 1.0]
BUMPER = """
world: {gravity: [0, 0, 0]}
bodies:
  box: {mass: 2, pose: {xyz: [1.05, 0, 0]}, inertia: {diag: [1, 1, 1]}, velocity: {linear: [0.5, 0.2, 0.1]}}
forces:
  bumper: {type: spring, a: {world: [0, 0, 0]}, b: {body: box, at: [0, 0, 0]}, rest_length: 1, LAW}
"""
LINES = f"stiffness_table: {{elongation: {ELONGATION}, force: {PULL}}}, damping_table: {{rate: {RATE}, force: {AGAINST}}}"
BUMPED = {("generalized", "rk4"): 1e-3, ("natural", "generalized_alpha"): 2e-3}  # [m, m/s] of steps of 1 ms over the bends
BUMPED |= {("generalized", "implicit"): 2e-3, ("natural", "zhong06"): 2e-3}
BUMPED |= {("generalized", "semi_implicit"): 1e-2, ("maximal", "semi_implicit"): 1e-2}


def on_line(x, points, values):
    """The line through points; its outer pieces go on."""
    points, values = np.asarray(points), np.asarray(values)
    k = np.clip(np.searchsorted(points, x, side="right") - 1, 0, len(points) - 2)
    part = (x - points[k]) / (points[k + 1] - points[k])
    return values[k] + part * (values[k + 1] - values[k])


def bumped(t):
    """Places and velocities at times, (3, T) each, and what is stored."""

    def rates(_t, y):
        length = np.linalg.norm(y[:3])
        along = y[:3] / length
        pull = on_line(length - 1, ELONGATION, PULL) + on_line(along @ y[3:6], RATE, AGAINST)
        return [*y[3:6], *(-pull / 2 * along), along @ y[3:6] * on_line(length - 1, ELONGATION, PULL)]

    start = quad(on_line, 0.0, 0.05, (ELONGATION, PULL))[0]
    found = solve_ivp(rates, (0, t[-1]), [1.05, 0, 0, 0.5, 0.2, 0.1, start], t_eval=t, rtol=1e-10, atol=1e-12, max_step=1e-3)
    return found.y[:3].T, found.y[3:6].T, found.y[6]


@pytest.mark.parametrize(("kind", "integrator"), BUMPED)
def test_a_spring_by_table_pulls_as_its_line_says(kind, integrator):
    found = runner(BUMPER.replace("LAW", LINES), kind, integrator)(1e-3, 50, 20)
    x, v, stored = bumped(0.05 * np.arange(21))
    bound = BUMPED[kind, integrator]
    assert np.abs(found["frames/body_q"][:, 0, 0, :3] - x).max() < bound
    assert np.abs(found["frames/body_qd"][:, 0, 0, :3] - v).max() < 10 * bound
    length = np.linalg.norm(found["frames/body_q"][:, 0, 0, :3], axis=1)
    own = [quad(on_line, 0.0, one - 1, (ELONGATION, PULL), points=[-0.05, 0.05])[0] for one in length]
    assert np.abs(found["energy/elastic"][:, 0] - own).max() < 1e-12  # the integral of the line, exactly
    assert np.abs(stored - own).max() < 100 * bound
    assert np.abs(found["energy/drift"]).max() < 10 * bound
    assert found["energy/dissipated"][-1, 0] > 0.1


@pytest.mark.parametrize("way", ["", ", through: [{world: [0.4, 0.5, 0]}]"])
@pytest.mark.parametrize("slack", [False, True])
def test_a_straight_table_is_a_number(way, slack):
    """So is one whose points lie on the pieces of another one."""
    more = f"{way}, slack: {str(slack).lower()}"
    numbers_of = lambda law: runner(BUMPER.replace("LAW", law + more), "generalized", "implicit")(1e-3, 50, 10)  # noqa: E731
    plain = numbers_of("stiffness: 40, damping: 2")
    table = numbers_of(
        "stiffness_table: {elongation: [-0.3, 0.01, 0.2], force: [-12, 0.4, 8]}, "
        "damping_table: {rate: [0, 1], force: [0, 2]}"
    )
    line = numbers_of(LINES)
    finer = LINES.replace("[-0.2, -0.05,", "[-0.3, -0.2, -0.125, -0.05,").replace(
        "[-90.0,", f"[{-90 - 0.1 * 80 / 0.15}, -90, -50,"
    )
    for one, other in ((plain, table), (line, numbers_of(finer))):
        for name in ("frames/body_q", "energy/elastic", "energy/dissipated"):
            assert np.abs(one[name] - other[name]).max() < 1e-12, name
    assert np.abs(plain["frames/body_q"] - line["frames/body_q"]).max() > 1e-3


def test_an_equilibrium_is_where_the_line_carries_the_weight():
    text = BUMPER.replace("gravity: [0, 0, 0]", "gravity: [0, 0, -9.81]").replace("LAW", LINES)
    model, _ = model_of(text.replace("[1.05, 0, 0]", "[0, 0, -1.1]") + "solver: {type: generalized, dt: 1.0e-3}\n")
    found = search_equilibrium(Statics(model, live_device()))
    length = -found.posture.q[2]
    assert on_line(length - 1, ELONGATION, PULL) == pytest.approx(2 * 9.81, abs=1e-9)
    with pytest.raises(UsageError, match="the tension of `bumper` is that of its table"):
        chosen_springs(model.springs, ["forces.bumper.rest_length"])


@pytest.mark.parametrize(
    ("law", "code"),
    [
        ("damping: 2", "SC202"),
        ("stiffness: 3, stiffness_table: {elongation: [0, 1], force: [0, 1]}", "SC207"),
        ("stiffness_table: {elongation: [0, 1], force: [0, 1, 2]}", "SC205"),
        ("stiffness_table: {elongation: [1, 0], force: [0, 1]}", "SC232"),
        ("damping_table: {rate: [-1, 1], force: [-1, 2]}", "SC361"),
        ("damping_table: {rate: [-1, 0, 1], force: [1, 0, 1]}", "SC361"),
        ("damping_table: {rate: [0, 1, 2], force: [0, 2, 1]}", "SC361"),
    ],
)
def test_lines_that_are_none_are_refused(law, code):
    (fault,) = faults_of(BUMPER.replace("LAW", law) + "solver: {type: generalized, dt: 1.0e-3}\n")
    assert fault[0] == code


def test_affine_bodies_refuse_springs_by_table():
    found = faults_of(BUMPER.replace("LAW", LINES) + "solver: {type: affine, dt: 1.0e-3}\n")
    assert [one[0] for one in found] == ["SC501", "SC501"]


@pytest.mark.parametrize("name", ["clutch", "freewheel", "buffer"])
def test_scenes_of_the_page_do_what_it_says(tmp_path, name):
    text = (Path(simcli.__file__).parent / "docs" / "coordinates.md").read_text()
    (scene_of_page,) = (part.split("```")[0] for part in text.split("```yaml\n")[1:] if f"\n  {name}:" in part)
    (tmp_path / "scene.yaml").write_text(scene_of_page)
    ended = command("run", tmp_path / "scene.yaml", "-q", "-o", tmp_path / "run.h5")
    assert ended.returncode == 0, ended.stderr


# Motors whose effort falls with the speed: one that drives, two that brake, and one along a coupling.
CURVES = ["{speed: [0, 5, 10], effort: [8, 8, 0]}", "{speed: [-10, 0, 10], effort: [12, 8, 0]}"]
MOTORS = "world: {gravity: [0, 0, 0]}\nbodies:\n" + "".join(
    f"  b{k}: {{mass: 1, inertia: {{diag: [1, 1, 2]}}, pose: {{xyz: [0, {3 * k}, 0]}}}}\n" for k in range(4)
)
MOTORS += "joints:\n" + "".join(
    f"  j{k}: {{type: revolute, parent: world, child: b{k}, at: [0, {3 * k}, 0], axis: [0, 0, 1], qd: {speed}{drive}}}\n"
    for k, (speed, drive) in enumerate(
        (qd, f", drive: {{mode: velocity, target_velocity: {to}, damping: 1000, effort_limit_table: {curve}}}" * (k < 3))
        for k, (qd, to, curve) in enumerate([(0, 100, CURVES[0]), (10, -100, CURVES[0]), (10, -100, CURVES[1]), (0, 0, "")])
    )
)
MOTORS += f"""forces:
  geared: {{type: coupling, of: [{{joint: j3, factor: 2}}],
    drive: {{mode: velocity, target_velocity: 100, damping: 1000, effort_limit_table: {CURVES[0]}}}}}
"""
TOUCHED = MOTORS.replace("mass: 1", "mass: 1, shapes: {s: {type: sphere, radius: 0.1}}")
MOTOR_RUNS = [(*pair, MOTORS) for pair in ORDERS] + [("generalized", "semi_implicit", TOUCHED)]
MOTOR_RUNS += [
    pytest.param(one, "semi_implicit" if one == "maximal" else "moreau", TOUCHED, marks=pytest.mark.full)
    for one in ("maximal", "natural")
]
SPED = {"rk4": 1e-5}  # [rad/s]; steps that take the speed at their start have errors of h E' / I, 8e-4 of 10 rad/s


def motor_speeds(t):
    """Rates, (T, 4): 2 v' = E(v) of one that drives, -E(-v) of one that brakes, 2 E(2 v) of the geared one."""
    drives = np.where(t < 1.25, 4 * t, 10 - 5 * np.exp(-0.8 * (t - 1.25)))
    geared = np.where(t < 2.5 / 8, 8 * t, 5 - 2.5 * np.exp(-3.2 * (t - 2.5 / 8)))
    return np.stack([drives, 10 - 4 * t, -20 + 30 * np.exp(-0.2 * t), geared], axis=1)


@pytest.mark.parametrize(("kind", "integrator", "text"), MOTOR_RUNS)
def test_a_motor_gives_what_its_curve_lets_it(kind, integrator, text):
    found = runner(text, kind, integrator)(1e-3, 100, 20)
    t = 0.1 * np.arange(21)
    rates = found["frames/joint_qd"][:, 0, :4]
    wanted = motor_speeds(t)
    assert wanted[-1, 0] > 7
    assert np.abs(rates - wanted).max() < SPED.get(integrator, 1e-2)
    assert found["energy/drift"][:, 0] == pytest.approx(0.0, abs=1e-4 if integrator in ("rk4", "implicit") else 1e-9)
    gained = (2 * (rates**2 - rates[0] ** 2) / 2).sum(axis=1)
    assert found["energy/input"][:, 0] == pytest.approx(gained, abs=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("effort: [8, 8, 0]}", "effort: [8, 8, 0]}, effort_limit: 3", {"SC207"}),
        ("effort: [8, 8, 0]}", "effort: [8, 8]}", {"SC205"}),
        ("effort: [8, 8, 0]}", "effort: [8, 8, -1]}", {"SC231"}),
        ("speed: [0, 5, 10]", "speed: [0, 5, 5]", {"SC232"}),
        (
            "type: revolute, parent: world, child: b0, at: [0, 0, 0], axis: [0, 0, 1], qd: 0",
            "type: ball, parent: world, child: b0, at: [0, 0, 0]",
            {"SC362"},
        ),
    ],
)
def test_curves_of_motors_that_are_none_are_refused(old, new, codes):
    text = MOTORS.split("forces:")[0].replace(old, new) + "solver: {type: generalized, dt: 1.0e-3}\n"
    assert {one[0] for one in faults_of(text)} == codes


@pytest.mark.parametrize("solver", ["natural, integrator: generalized_alpha", "affine"])
def test_solvers_without_curves_of_motors_say_so(solver):
    text = MOTORS.split("forces:")[0] + f"solver: {{type: {solver}, dt: 1.0e-3}}\n"
    assert {one[0] for one in faults_of(text)} == {"SC501"}


def test_motors_of_the_page_do_what_it_says(tmp_path):
    text = (Path(simcli.__file__).parent / "docs" / "signals.md").read_text()
    (of_page,) = (
        part.split("```")[0] for part in text.split("```yaml\n")[1:] if "effort_limit_table" in part.split("```")[0]
    )
    (tmp_path / "scene.yaml").write_text(of_page)
    ended = command("run", tmp_path / "scene.yaml", "-q", "-o", tmp_path / "run.h5")
    assert ended.returncode == 0, ended.stderr


# A winch that a ratchet holds, two shafts with a freewheel, and a shaft that may turn slowly only.
ONE_WAY = """
world: {gravity: [0, 0, 0]}
signals:
  pull: {table: {time: [0, 0.5], value: [9, 0], interpolate: previous}}
  gas: {table: {time: [0, 1], value: [6, -4], interpolate: previous}}
bodies:
  drum: {mass: 1, inertia: {diag: [1, 1, 2]}}
  engine: {mass: 1, inertia: {diag: [1, 1, 2]}, pose: {xyz: [0, 3, 0]}}
  wheel: {mass: 1, inertia: {diag: [2, 2, 3]}, pose: {xyz: [0, 6, 0]}}
  rotor: {mass: 1, inertia: {diag: [1, 1, 2]}, pose: {xyz: [0, 9, 0]}}
joints:
  winch: {type: revolute, parent: world, child: drum, axis: [0, 0, 1]}
  shaft: {type: revolute, parent: world, child: engine, at: [0, 3, 0], axis: [0, 0, 1]}
  axle: {type: revolute, parent: world, child: wheel, at: [0, 6, 0], axis: [0, 0, 1]}
  slow: {type: revolute, parent: world, child: rotor, at: [0, 9, 0], axis: [0, 0, 1]}
forces:
  weight: {type: torque, joint: winch, value: -5}
  motor: {type: torque, joint: winch, value: $pull}
  throttle: {type: torque, joint: shaft, value: $gas}
  push: {type: torque, joint: slow, value: $gas}
  ratchet: {type: coupling, of: [{joint: winch}], rate: {min: 0}}
  freewheel: {type: coupling, of: [{joint: axle, factor: 2}, {joint: shaft, factor: -2}], rate: {min: 0}}
  governor: {type: coupling, of: [{joint: slow}], rate: {min: -1, max: 1.5}}
"""
TOUCHABLE = ONE_WAY.replace("mass: 1", "mass: 1, shapes: {s: {type: sphere, radius: 0.1}}")
ONE_WAYS = [(*pair, ONE_WAY) for pair in ORDERS] + [("maximal", "semi_implicit", TOUCHABLE)]
ONE_WAYS += [
    pytest.param(one, name, TOUCHABLE, marks=pytest.mark.full)
    for one, name in (("generalized", "semi_implicit"), ("natural", "moreau"))
]
TURNED = {1: 3e-3, 2: 2e-6, 4: 2e-6}  # [rad] after steps of 1 ms, of which one holds a rate


@pytest.mark.parametrize(("kind", "integrator", "text"), ONE_WAYS)
def test_a_bound_of_a_rate_holds_one_way_and_lets_go_the_other(kind, integrator, text):
    """Closed forms; a force holds the bound and never pulls beyond it, so that what turns on does so freely."""
    found = runner(text, kind, integrator)(1e-3, 100, 20)
    t = 0.1 * np.arange(21)
    after = np.maximum(t - 1, 0.0)
    winch = np.where(t < 0.5, 2 * t, np.maximum(1 - 2.5 * (t - 0.5), 0.0))
    shaft, axle = 1.2 * np.minimum(t, 1) - 2 * after, 1.2 * np.minimum(t, 1)
    slow = np.where(t < 1, np.minimum(3 * t, 1.5), np.maximum(1.5 - 2 * after, -1))
    qd = found["frames/joint_qd"][:, 0, :4]
    assert np.abs(qd - np.stack([winch, shaft, axle, slow], axis=1)).max() < 1e-8  # also `solver.contact.tolerance`
    turned = [0.45, 0.6 + 1.2 - 1.0, 0.6 + 1.2, None]
    bound = TURNED[ORDERS.get((kind, integrator), 1)]
    for k, angle in enumerate(turned[:3]):
        assert abs(found["frames/joint_q"][-1, 0, k] - angle) < bound
    assert np.abs(found["energy/drift"]).max() < 5e-3


@pytest.mark.parametrize(
    ("rate", "code"),
    [("{min: 1}", "SC231"), ("{max: -1}", "SC231"), ("{}", "SC202"), ("0", "SC203")],
)
def test_bounds_of_rates_that_are_none_are_refused(rate, code):
    text = ONE_WAY.replace("{min: -1, max: 1.5}", rate) + "solver: {type: generalized, dt: 1.0e-3}\n"
    assert [one[0] for one in faults_of(text)] == [code]
