"""Gears that are polynomials, and sums that are held: closed forms, orders and energy in all solvers, MuJoCo, faults.

Joints whose anchor slides and whose child turns freely: closed forms, agreement of all solvers, what is refused.
"""

import json
from functools import cache

import mujoco
import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.integrate import solve_ivp
from support.device import live_device
from support.forward import Runner, model_of
from support.held_loops import RUNS
from support.process import simcli
from support.scenes import faults_of

from simcli import rotations as rot
from simcli.analysis.rest.modes import study
from simcli.analysis.rest.statics import Statics
from simcli.exchange.exporting import export_scene
from simcli.exchange.importing import load_scene
from simcli.model.joints.catalogue import CATALOGUE
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve
from simcli.spec.base import dofs

G, TIME = 9.81, 0.4
RISE, TURN = Polynomial([0.1, 0.2, -0.15, 0.05, 0.03]), Polynomial([0.2, -1.5, 0.8])  # of the slider; of the wheel by it
# A crank lifts a slider, and the slider turns a wheel: two cams in a row, and one coordinate.
CAMS = """
bodies:
  a: {mass: 1, com: [0.3, 0, 0], inertia: {diag: [0.01, 0.05, 0.04]}}
  b: {mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 2, 0]}}
  c: {mass: 1.5, com: [0.2, 0, 0], inertia: {diag: [0.02, 0.06, 0.05]}, pose: {xyz: [0, 4, 0]}}
joints:
  ja: {type: revolute, parent: world, child: a, axis: [0, 1, 0], q: 0.3, qd: 1.5}
  jb: {type: prismatic, parent: world, child: b, at: [0, 2, 0], axis: [0, 0, 1], RISES}
  jc: {type: revolute, parent: world, child: c, at: [0, 4, 0], axis: [0, 1, 0], TURNS}
"""
GEARS = CAMS.replace("RISES", f"mimic: {{joint: ja, polynomial: {RISE.coef.tolist()}}}").replace(
    "TURNS", f"mimic: {{joint: jb, polynomial: {TURN.coef.tolist()}}}"
)
HELD = (
    CAMS.replace(", RISES", "").replace(", TURNS", "")
    + f"""
forces:
  rises: {{type: coupling, unit: m, hold: 0.5, of: [{{joint: jb}}, {{joint: ja, polynomial: {(0.5 - RISE).coef.tolist()}}}]}}
  turns: {{type: coupling, unit: rad, hold: 0, of: [{{joint: jc}}, {{joint: jb, polynomial: {(-TURN).coef.tolist()}}}]}}
"""
)
LOOP = GEARS.replace("jc: {", "jc: {loop: true, ")
TOUCHING = GEARS.replace("[0, 2, 0]}}", "[0, 2, 0]}, shapes: {s: {type: sphere, radius: 0.1}}}").replace(
    "[0, 4, 0]}}", "[0, 4, 0]}, shapes: {s: {type: sphere, radius: 0.1}}}"
)
# Order, and the error of the crank at TIME for steps of 2 ms: five times what was measured.
STEPS = {
    ("generalized", "semi_implicit"): (1, 1e-3),
    ("generalized", "rk4"): (4, 1e-10),
    ("generalized", "implicit"): (2, 2e-5),
    ("maximal", "semi_implicit"): (1, 6e-3),
    ("natural", "zhong06"): (2, 1e-6),
    ("natural", "moreau"): (2, 1e-6),
    ("affine", "bdf1"): (1, 6e-3),
    ("affine", "bdf2"): (2, 6e-5),
}
# The others compile long for what these say, too.
QUICK = (
    ("generalized", "semi_implicit"),
    ("generalized", "rk4"),
    ("natural", "zhong06"),
    ("natural", "moreau"),
    ("affine", "bdf2"),
)
LACK = {"affine": 1e-5}  # [m, rad], of cams as stiff as joints of affine bodies are
ROUNDING = 1e-10


def energies(q):
    """Inertia of the crank with all that it moves, its slope, and the torque of gravity."""
    slide, wheel = RISE(q), TURN(RISE(q))
    by_slide, by_wheel = RISE.deriv()(q), TURN.deriv()(slide) * RISE.deriv()(q)
    bend = RISE.deriv(2)(q)
    wheel_bend = TURN.deriv(2)(slide) * RISE.deriv()(q) ** 2 + TURN.deriv()(slide) * bend
    inertia = 0.05 + 0.09 + 2.0 * by_slide**2 + (0.06 + 1.5 * 0.04) * by_wheel**2
    slope = 4.0 * by_slide * bend + 2.0 * (0.06 + 1.5 * 0.04) * by_wheel * wheel_bend
    torque = G * (0.3 * np.cos(q) - 2.0 * by_slide + 1.5 * 0.2 * np.cos(wheel) * by_wheel)
    return inertia, slope, torque


def slope_of(_t, y):
    inertia, slope, torque = energies(y[0])
    return [y[1], (torque - 0.5 * slope * y[1] ** 2) / inertia]


@pytest.fixture(scope="module")
def crank():
    """Angle and rate of the crank at TIME: one equation of motion, (M p'^2 + ..) q'' + .. = torque."""
    return solve_ivp(slope_of, (0.0, TIME), [0.3, 1.5], method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]


def runner(text, kind, integrator):
    return Runner(
        f"{text}solver: {{type: {kind}, dt: 1.0e-3, integrator: {integrator}}}\n",
        integrator,
        live_device(),
        frozenset(("state", "energy", "reactions", "joints")),
    )


def ends(run, h):
    """Coordinates of the joints, those of the crank with its rate, and the drift of the energy, at TIME."""
    found = run(h, round(TIME / h), 1)
    assert found["diag/status"].max() == 0
    return found["frames/joint_q"][-1, 0, :3], found["frames/joint_qd"][-1, 0, 0], abs(found["energy/drift"][-1, 0]), found


def test_all_integrators_are_here_or_refuse():
    refused = set(RUNS) - set(STEPS)
    assert refused == {("natural", "generalized_alpha")}
    for kind, integrator in refused:
        text = f"{GEARS}solver: {{type: {kind}, dt: 1.0e-3, integrator: {integrator}}}\n"
        assert [code for code, _line, _message in faults_of(text)] == ["SC501"] * 2


@pytest.mark.parametrize(
    ("kind", "integrator"), [run if run in QUICK else pytest.param(*run, marks=pytest.mark.slow) for run in STEPS]
)
def test_cams_move_as_their_one_coordinate(crank, kind, integrator):
    """At the order of the integrator, and the constraint does no work; what sums hold moves the same."""
    order, bound = STEPS[kind, integrator]
    run = runner(GEARS, kind, integrator)
    (coarse, _rate, loses), (q, _rate, drift, _found) = ends(run, 4e-3)[:3], ends(run, 2e-3)
    errors = [abs(one[0] - crank[0]) for one in (coarse, q)]
    assert errors[1] < bound
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)
    assert drift < max(0.6**order * loses, ROUNDING)
    lacks = q[1] - RISE(q[0]), q[2] - TURN(q[1])
    assert np.abs(lacks).max() < LACK.get(kind, 1e-11)
    if kind != "affine":
        np.testing.assert_allclose(ends(runner(HELD, kind, integrator), 2e-3)[0], q, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("text", "kind", "integrator"),
    [
        pytest.param(LOOP, "generalized", "rk4", id="loop"),
        pytest.param(TOUCHING, "generalized", "semi_implicit", id="touching", marks=pytest.mark.slow),
        pytest.param(TOUCHING, "natural", "moreau", id="touching", marks=pytest.mark.slow),
    ],
)
def test_cams_on_loop_joints_and_where_something_could_touch(crank, text, kind, integrator):
    q, _rate, drift, found = ends(runner(text, kind, integrator), 1e-3)
    assert abs(q[0] - crank[0]) < STEPS[kind, integrator][1]
    assert abs(q[1] - RISE(q[0])) < 1e-11
    assert drift < (2e-3 if STEPS[kind, integrator][0] == 1 else 1e-5)
    rates = found["frames/joint_qd"][-1, 0]
    assert rates[1] == pytest.approx(RISE.deriv()(q[0]) * rates[0], rel=1e-3)


def test_efforts_are_those_of_newton():
    """What the cam gives the slider lifts it and turns the wheel; the crank takes p' of it."""
    run = runner(GEARS, "generalized", "rk4")
    q, _rate, _drift, found = ends(run, 2e-3)
    a, b, c = found["frames/joint_qdd"][-1, 0, :3]
    effort = found["frames/joint_effort"][-1, 0, :3]
    on_crank, on_slider = 0.14 * a - G * 0.3 * np.cos(q[0]), 2.0 * (b + G)
    on_wheel = (0.06 + 1.5 * 0.04) * c - G * 0.3 * np.cos(q[2])
    np.testing.assert_allclose(effort, [on_crank, on_slider, on_wheel], atol=1e-9)
    np.testing.assert_allclose(on_crank, -RISE.deriv()(q[0]) * (on_slider + TURN.deriv()(q[1]) * on_wheel), atol=1e-9)


def test_small_motions_have_the_bend_of_the_cam_in_their_stiffness():
    """Where V' = 0 on top of the cam: s^2 = -V'' / M, of which p'' times the force of the cam is a part."""
    found = study(model_of(GEARS + "solver: {type: generalized, dt: 1e-3}\n")[0], live_device())
    q = found.equilibrium.posture.q[0]
    assert abs(energies(q)[2]) < 1e-9
    stiffness = -(energies(q + 1e-5)[2] - energies(q - 1e-5)[2]) / 2e-5
    assert found.modes[0].eigenvalue ** 2 == pytest.approx(-stiffness / energies(q)[0], rel=1e-7)
    found.close()


THREE = """
bodies:
  a: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
  b: {mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 1, 0]}}
  c: {mass: 4, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 2, 0]}}
joints:
  ja: {type: prismatic, parent: world, child: a, axis: [0, 0, 1]}
  jb: {type: prismatic, parent: world, child: b, at: [0, 1, 0], axis: [0, 0, 1]}
  jc: {type: prismatic, parent: world, child: c, at: [0, 2, 0], axis: [0, 0, 1]}
forces: {sum: {type: coupling, of: [{joint: ja}, {joint: jb, factor: 2}, {joint: jc, factor: -1}], hold: 0.3}}
"""


def test_a_held_sum_of_three_is_atwoods_machine():
    """m_i a_i = f_i F - m_i g with sum of f_i a_i = 0; the start is the nearest place where the sum holds."""
    mass, factor = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, -1.0])
    force = G * factor.sum() / (factor**2 / mass).sum()
    found = runner(THREE, "generalized", "rk4")(1e-3, 100, 1)
    q = found["frames/joint_q"][:, 0, :3]
    assert q[0] @ factor == pytest.approx(0.3, abs=1e-12)
    np.testing.assert_allclose(q[1] - q[0], 0.5 * (factor * force / mass - G) * 0.1**2, atol=1e-12)
    statics = Statics(model_of(THREE + "solver: {type: generalized, dt: 1e-3}\n")[0], live_device())
    assert statics.balance.constraints.rows.label == ("sum:hold",)
    statics.balance.close()


def test_mujoco_falls_toward_the_same_motion_with_its_softness(tmp_path, crank):
    """Its equalities are softly kept: the error falls with the time constant; the file reads back as the same cams."""
    text = exported(tmp_path / "cams.yaml", GEARS, ".xml").text
    errors = []
    for constant in ("0.004", "0.001"):
        model = mujoco.MjModel.from_xml_string(text)
        model.eq_solref[:] = float(constant), 1.0
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_step(model, data, round(TIME / 1e-4))
        errors.append(abs(data.qpos[0] - crank[0]))
    assert errors[1] < 1e-3
    assert errors[1] < 0.4 * errors[0]
    (tmp_path / "cams.xml").write_text(text)
    again = resolve(load_scene(tmp_path / "cams.xml")).joints
    for name, leader, rise in (("jb", "ja", RISE), ("jc", "jb", TURN)):
        assert again[name].mimic.joint == leader
        np.testing.assert_allclose(again[name].mimic.polynomial, rise.coef, rtol=1e-15)


def exported(path, text, suffix):
    path.write_text(f"simcli: 1\n{text}solver: {{type: generalized, dt: 1e-4, integrator: rk4}}\nrun: {{duration: 1}}\n")
    document = load_scene(path)
    return export_scene(document, resolve(document), suffix)


@pytest.mark.parametrize("text", [THREE, THREE.replace("factor: 2", "polynomial: [0.1, 2, 0.5, -0.3]")], ids=["sum", "bent"])
def test_held_sums_of_the_file_hold_in_mujoco(tmp_path, text):
    found = exported(tmp_path / "sums.yaml", text, ".xml")
    model = mujoco.MjModel.from_xml_string(found.text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert data.ne == 1
    assert abs(data.efc_pos[0]) < 1e-12
    assert np.abs(data.qpos).max() > 0.01
    (tmp_path / "sums.xml").write_text(found.text)
    (again,) = resolve(load_scene(tmp_path / "sums.xml")).forces.values()
    coefficients = {"ja": Polynomial([0, 1]), "jc": Polynomial([0, -1]), "jb": Polynomial([0, 2])}
    constant = 0.3
    if "polynomial" in text:
        coefficients["jb"], constant = Polynomial([0, 2, 0.5, -0.3]), 0.2
    held = again.hold - sum(term.coefficients[0] for term in again.of)
    assert held == pytest.approx(constant, abs=1e-15)
    for term in again.of:
        np.testing.assert_allclose(term.coefficients[1:], coefficients[term.joint].coef[1:], rtol=1e-15)


def test_what_formats_cannot_say_is_lost_by_name(tmp_path):
    higher = GEARS.replace(str(TURN.coef.tolist()), "[0, 1, 0, 0, 0, 0.1]")
    led = LOOP.replace("ja, poly", "jc, poly").replace("joint: jb, poly", "joint: ja, poly")  # by a joint that closes a loop
    bent = THREE.replace("factor: 2", "polynomial: [0, 1, 2]").replace("factor: -1", "polynomial: [0, 1, 2]")
    soft = THREE.replace("hold: 0.3", "stiffness: 3").replace("factor: 2", "polynomial: [0, 1, 2]")
    for text, suffix, lost in (
        (higher, ".xml", ["jc"]),
        (GEARS, ".urdf", ["jb", "jc"]),
        (led, ".xml", ["jb", "jc"]),
        (bent, ".xml", ["sum"]),
        (soft, ".xml", ["sum"]),
        (THREE, ".urdf", ["sum"]),
    ):
        report = exported(tmp_path / "cams.yaml", text, suffix).report
        entries = [one for one in report.entries if one.kind in ("mimic", "force")]
        assert sorted(one.name for one in entries if one.fate == "dropped") == lost


@pytest.mark.parametrize(("kind", "integrator"), [run for run in STEPS if run[0] != "affine"])
def test_recorded_efforts_are_those_of_inverse_dynamics(tmp_path, kind, integrator):
    """Steps of semi_implicit close cams where they end, which the recorded multipliers lack: it falls with the step."""
    path, gaps = tmp_path / "cams.yaml", []
    path.write_text(
        f"simcli: 1\n{HELD}solver: {{type: {kind}, integrator: {integrator}}}\n"
        "run: {duration: 0.1}\noutput: {every: 0.02}\n"
    )
    for step in ("2e-3", "1e-3"):
        run = simcli("run", path, "--set", f"solver.dt={step}", "-o", "r.h5", "-q", "--force", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        found = json.loads(simcli("id", "r.h5", "--compare", "-o", "e.h5", "--force", "--json", cwd=tmp_path).stdout)
        gaps.append(found["largest_difference"] / found["largest_effort"])
    if integrator == "semi_implicit":
        assert gaps[0] / gaps[1] == pytest.approx(2.0, abs=0.1)
    else:
        assert max(gaps) < ROUNDING


@pytest.mark.parametrize(
    ("words", "code", "path"),
    [
        ("ja: {mimic: {joint: jb, ratio: 2, polynomial: [0, 1]}}", "SC207", "polynomial"),
        ("ja: {mimic: {joint: jb, polynomial: [0.3]}}", "SC205", "polynomial"),
        ("t: {type: coupling, of: [{joint: ja, factor: 2, polynomial: [0, 1]}], hold: 1}", "SC207", "polynomial"),
        ("t: {type: coupling, of: [{joint: ja}], hold: 1, stiffness: 3}", "SC207", "hold"),
        ("t: {type: coupling, of: [{joint: ja}]}", "SC202", "nothing"),
    ],
)
def test_words_that_contradict_each_other(words, code, path):
    text = CAMS.replace(", RISES", "").replace(", TURNS", "")
    if words.startswith("ja"):
        text = text.replace("q: 0.3, qd: 1.5", words[5:-1])
    else:
        text += f"forces: {{{words}}}\n"
    (found,) = faults_of(text + "solver: {type: generalized, dt: 1e-3}\n")
    assert found[0] == code
    assert path in found[2]


SLIDING_POINTS_G, SPIN, H, N = 9.81, 2.0, 1e-3, 400
AXIS = np.array([0.6, 0.0, 0.8])
# Beads held in their centres of mass, which slide as their joints let them and spin about an axis of equal inertia.
BEADS = "\n".join(
    (
        f"world: {{gravity: [0, 0, -{SLIDING_POINTS_G}]}}",
        "defaults: {body: {mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}}}",
        "bodies:",
        *(f"  {name}: {{pose: {{xyz: [0, {k}, 0]}}}}" for k, name in enumerate(dofs.SLIDING)),
        "joints:",
        *(f"  {name}: {{type: {name}, parent: world, child: {name}, axis: {AXIS.tolist()}}}" for name in dofs.SLIDING),
        f"initial: {{joint_qd: {{{', '.join(f'{name}_free: [0, 0, 0, 0, {SPIN}, 0]' for name in dofs.SLIDING)}}}}}",
        "",
    )
)
# Beside them a chain of such joints, and one alone: one kernel for each integrator.
CHAIN = (
    """bodies:
  a: {mass: 1, com: [0.3, 0, 0], inertia: {diag: [0.1, 0.12, 0.15]}}
  b: {mass: 2, com: [0.2, 0.1, 0], inertia: {diag: [0.1, 0.12, 0.15]}, pose: {xyz: [0.6, 0, 0]}}
  c: {mass: 1.5, com: [0, 0.2, 0.1], inertia: {diag: [0.1, 0.12, 0.15]}, pose: {xyz: [0, 2, 0]}}
""",
    """joints:
  swing: {type: revolute, parent: world, child: a, axis: [0, 1, 0], qd: 1}
  line: {type: point_on_line, parent: a, child: b, at: [0.6, 0, 0], axis: [0, 0.3, 1]}
  plane: {type: point_on_plane, parent: world, child: c, at: [0, 2, 0], axis: [0, 0.2, 1]}
""",
)
SCENE = BEADS
for section in CHAIN:
    SCENE = SCENE.replace(section.split("\n", 1)[0] + "\n", section)
LINKS = ("a", "b", "c")
STEPPERS = {
    ("generalized", "rk4"): 1e-9,
    ("generalized", "implicit"): 2e-5,
    ("natural", "zhong06"): 5e-5,
    ("natural", "generalized_alpha"): 1e-4,
    ("generalized", "semi_implicit"): 1e-2,
    ("maximal", "semi_implicit"): 1e-2,
    ("affine", "bdf2"): 5e-4,
}
# In generalized coordinates these joints are rows, which rk4 tells; test_laws_energies.py and test_simulation_starts.py tell
# other steps of rows.
SLOW = {("generalized", "implicit"), ("generalized", "semi_implicit")}
# Where a bead is: the length of the step.
SLID = {"rk4": 1e-9, "implicit": 1e-9, "zhong06": 1e-9, "generalized_alpha": 1e-6, "semi_implicit": 2e-3, "bdf2": 2e-4}


@cache
def run(kind, integrator):
    """Model of the scene, and the columns of its last frame."""
    model, options = model_of(f"{SCENE}solver: {{type: {kind}, integrator: {integrator}, dt: {H}}}\n")
    plan = RunPlan(H, N, 1, frozenset(("state", "reactions", "energy")))
    solver = SOLVERS[kind](model, options, plan, live_device())
    columns = [solver.initial().columns, solver.advance(1).columns]
    assert columns[-1]["diag/status"].max() == 0
    return model, {name: column[-1, 0] for name, column in columns[-1].items()}


def of_joint(model, columns, name, axis="q"):
    j = model.joints.name.index(name)
    start = getattr(model.joints, f"{axis}_start")
    return columns[f"frames/joint_{axis}"][start[j] : start[j + 1]]


def test_the_lists_agree():
    assert set(dofs.SLIDING) <= dofs.NEVER_TREE
    for name, of in dofs.SLIDING.items():
        entry = CATALOGUE[name]
        motion = entry.motion(axis=AXIS)
        assert entry.dof_dim(motion) == (of.count("L"), 3)
        assert entry.n_q(motion) == dofs.n_q(name, len(of))
        assert len(entry.rows(motion)) == 6 - len(of)


def slowly(steppers):
    return [pytest.param(*one, marks=[pytest.mark.slow] * (one in SLOW)) for one in steppers]


@pytest.mark.parametrize(("kind", "integrator"), slowly(STEPPERS))
def test_beads_slide_down_and_spin_on(kind, integrator):
    """x = g t^2 / 2 in the directions that are left, the turn w t about its axis; the wrench holds the others."""
    model, found = run(kind, integrator)
    t, gravity = H * N, np.array([0, 0, -SLIDING_POINTS_G])
    for k, name in enumerate(dofs.SLIDING):
        body, joint = model.bodies.name.index(name), model.joints.name.index(name)
        down = AXIS * (AXIS @ gravity) if name == "point_on_line" else gravity - AXIS * (AXIS @ gravity)
        assert np.abs(found["frames/body_q"][body, :3] - [0, k, 0] - down * t**2 / 2).max() < SLID[integrator]
        q = of_joint(model, found, name)
        axes = CATALOGUE[name].motion(axis=AXIS).linear
        assert np.abs(q[:-4] - axes @ down * t**2 / 2).max() < SLID[integrator]
        turned = rot.quat_rotate(q[-4:], np.array([1.0, 0, 0]))
        assert np.abs(turned - [np.cos(SPIN * t), 0, -np.sin(SPIN * t)]).max() < max(SLID[integrator], 1e-5)
        wrench = found["frames/joint_wrench"][joint, :3]
        assert np.abs(wrench + 2 * (gravity - down)).max() < max(SLID[integrator], 1e-6) * 20


def poses_of_links(kind, integrator):
    model, found = run(kind, integrator)
    return found["frames/body_q"][[model.bodies.name.index(name) for name in LINKS]]


@pytest.mark.parametrize(("kind", "integrator"), slowly(pair for pair in STEPPERS if pair[1] != "rk4"))
def test_solvers_agree_on_a_chain(kind, integrator):
    model, found = run(kind, integrator)
    pose, wanted = poses_of_links(kind, integrator), poses_of_links("generalized", "rk4")
    sign = np.sign(np.sum(pose[:, 3:] * wanted[:, 3:], axis=1, keepdims=True))
    gap = np.abs(np.c_[pose[:, :3], pose[:, 3:] * sign] - wanted).max()
    assert gap < STEPPERS[kind, integrator]
    assert np.linalg.norm(of_joint(model, found, "line")[-4:]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("words", "solver"),
    [
        ("drive: {mode: effort, target: 1}", "generalized"),
        ("damping: 1", "maximal"),
        ("limit: [0, 1]", "natural"),
        ("friction: 1", "affine"),
    ],
)
def test_what_acts_on_their_coordinates_is_refused_by_name(words, solver):
    text = BEADS.replace(f"axis: {AXIS.tolist()}", f"axis: {AXIS.tolist()}, {words}", 1)
    found = faults_of(f"{text}solver: {{type: {solver}, dt: 1e-3}}\n")
    assert [one[0] for one in found] == ["SC501"]
    assert "point_on_line" in found[0][2]
