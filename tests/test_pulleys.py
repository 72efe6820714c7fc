"""Springs over pulleys: MuJoCo's spatial tendons, closed forms, straight ones, all solvers, modes, words."""

import mujoco
import numpy as np
import pytest
from support.device import live_device
from support.forward import Runner, model_of
from support.scenes import faults_of, scene

from simcli import rotations as rot
from simcli.analysis.rest.equilibrium import search_equilibrium
from simcli.analysis.rest.modes import Study
from simcli.analysis.rest.prestress import chosen_springs, solve_prestress, without
from simcli.analysis.rest.statics import Statics
from simcli.kernels.algorithms import Algorithms
from simcli.model.forces.spring import ends_of_segments, segments_of

G = 9.81
ROUNDING = 1e-10  # of accelerations of order 10 to 100
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
PEER = """
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


@pytest.mark.parametrize(("stiff", "theirs"), [
    ("stiffness: 60, damping: 1.5, rest_length: 1.2", 'stiffness="60" damping="1.5" springlength="1.2"'),
    ("stiffness: 60, rest_length: 3, slack: true", 'stiffness="60" springlength="0 3"'),
])  # fmt: skip
def test_accelerations_are_those_of_a_spatial_tendon(device, stiff, theirs):
    model = model_of(MECHANISM.replace("STIFF", stiff))[0]
    peer = mujoco.MjModel.from_xml_string(PEER.replace("STIFF", theirs))
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
        found = algorithms.forward_dynamics(q[None], qd[None], np.zeros((1, 8)), given)[0]
        expected = np.concatenate((data.qacc[:5], rot.quat_to_matrix(turn) @ data.qacc[5:]))
        np.testing.assert_allclose(found, expected, atol=ROUNDING * max(1.0, np.abs(expected).max()))
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
SOLVERS = [("generalized", "rk4"), ("generalized", "semi_implicit"), ("generalized", "implicit"),
           ("maximal", "semi_implicit"), ("natural", "zhong06"), ("natural", "moreau"), ("natural", "generalized_alpha"),
           ("affine", "bdf1"), ("affine", "bdf2")]  # fmt: skip
# The cable of test_elements.py tells implicit, generalized_alpha and bdf2; springs of semi_implicit are those of rk4.
SLOW = ("semi_implicit", "implicit", "generalized_alpha", "bdf1", "bdf2")
every_solver = pytest.mark.parametrize(("solver", "integrator"), [
    pytest.param(*one, marks=[pytest.mark.slow] * (one[0] != "maximal" and one[1] in SLOW)) for one in SOLVERS])  # fmt: skip


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
    bare, asked = Statics(without(model, [0]), live_device()), chosen_springs(model, ["forces.cable.tension"])
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
    spring = ("s: {type: spring, a: {world: [1, 0.2, 0.5]}, THROUGH b: {body: m, at: [0.1, 0.05, -0.1]}, stiffness: 50, "
              "damping: 1}")  # fmt: skip
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
    for new, code, word in (("{body: heavi, at: [0, 0, 0]}", "SC304", "heavi"), ("heavy/tip", "SC310", "tip"),
                            ("{world: [0, 0]}", "SC205", "3 numbers")):  # fmt: skip
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
