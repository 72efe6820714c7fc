"""Effort limits of ball drives: the size of the torque stays within them, in every rigid solver and integrator."""

import json
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from support.contact_scenes import run
from support.contacts import read_model

from simcli.cli import doorman
from simcli.errors import Exit, SceneError

INERTIA, RATE, TARGET = (0.2, 0.3, 0.25), (0.3, -0.4, 0.5), (0.5, 1.0, -0.7)
STIFF, DAMP, LIMIT, DURATION = 20.0, 1.0, 3.0, 0.6
FIRST_ORDER = (1.8, 2.2)  # ratio of errors of steps in the ratio 2
FINE = 2e-5  # [1, rad/s] of steps of 1 ms and of second order or more: the kink where the limit ends is left
LAW = 1e-9  # relative to the limit
DIRECTION = 1e-6  # likewise, what the tries of a step leave of a direction: inertia times gain differs between the axes
slow = pytest.mark.slow
STONE = {"pose": {"xyz": [5, 0, 0.1]}, "mass": 1, "shapes": {"s": {"type": "sphere", "radius": 0.1}}}


def scene(solver, integrator, dt, touches=False, limit=LIMIT, every=0.02, loop=False, gains=(STIFF, DAMP)):
    servo = {"mode": "position", "stiffness": gains[0], "damping": gains[1], "effort_limit": limit}
    drives = [servo | {"target": x} for x in TARGET]
    start = {} if loop else {"qd": list(RATE)}
    hip = {"type": "ball", "parent": "world", "child": "top", "at": [0, 0, 0], "drive": drives, "loop": loop, **start}
    top = {"mass": 1, "inertia": {"diag": list(INERTIA)}, **({"velocity": {"angular": list(RATE)}} if loop else {})}
    ground = {"shapes": {"ground": {"type": "plane"}}} if touches else {}
    options = {"contact": {"tolerance": 1e-10}} if touches else {}
    return {
        "simcli": 1, "world": {"gravity": [0, 0, 0], **ground},
        "bodies": {"top": top, **({"stone": STONE} if touches else {})},
        "joints": {"hip": hip}, "solver": {"type": solver, "integrator": integrator, "dt": dt, **options},
        "run": {"duration": DURATION}, "output": {"every": every, "channels": ["state", "energy"]},
    }  # fmt: skip


@pytest.fixture(scope="module")
def exact():
    """Quaternions and rates by scipy, at every 20 ms."""
    inertia, aim = np.diag(INERTIA), Rotation.from_rotvec(TARGET)

    def rates(t, y):
        turn, w = Rotation.from_quat(y[:4]), y[4:]
        torque = STIFF * (aim * turn.inv()).as_rotvec() - DAMP * w
        torque *= min(1.0, LIMIT / np.linalg.norm(torque))
        R = turn.as_matrix()
        moment = R @ inertia @ R.T
        spin = np.linalg.solve(moment, torque - np.cross(w, moment @ w))
        return [*0.5 * (w * y[3] + np.cross(w, y[:3])), -0.5 * w @ y[:3], *spin]

    times = np.linspace(0, DURATION, round(DURATION / 0.02) + 1)
    return solve_ivp(rates, (0, DURATION), [0, 0, 0, 1, *RATE], rtol=1e-10, atol=1e-11, max_step=2e-3, t_eval=times).y.T


def error(folder, exact, dt, *cell, **more):
    code, found = run(folder, f"{dt}", scene(*cell, dt, **more))
    assert code == 0
    hip = found.joint("hip")
    q = hip.q[:, 0] * np.sign((hip.q[:, 0] * exact[:, :4]).sum(axis=1, keepdims=True))
    return max(np.abs(q - exact[:, :4]).max(), np.abs(hip.qd[:, 0] - exact[:, 4:]).max())


CELLS = [("generalized", "semi_implicit", False), *(pytest.param(*cell, marks=slow) for cell in (
    ("generalized", "semi_implicit", True), ("maximal", "semi_implicit", False), ("maximal", "semi_implicit", True),
    ("natural", "moreau", True)))]  # fmt: skip


@pytest.mark.parametrize(("solver", "integrator", "touches"), CELLS)
def test_steps_of_first_order_converge(tmp_path, exact, solver, integrator, touches):
    errors = [error(tmp_path, exact, dt, solver, integrator, touches=touches) for dt in (2e-3, 1e-3)]
    assert FIRST_ORDER[0] < errors[0] / errors[1] < FIRST_ORDER[1]
    assert errors[1] < 0.03


HIGHER = [("generalized", "rk4"), *(pytest.param(*cell, marks=slow) for cell in (
    ("generalized", "implicit"), ("natural", "zhong06")))]  # fmt: skip


@pytest.mark.parametrize(("solver", "integrator"), HIGHER)
def test_steps_of_higher_order_are_near(tmp_path, exact, solver, integrator):
    assert error(tmp_path, exact, 1e-3, solver, integrator) < FINE


@slow
def test_a_ball_outside_the_tree_has_one_too(tmp_path, exact):
    assert error(tmp_path, exact, 1e-3, "generalized", "rk4", loop=True) < FINE


@pytest.mark.parametrize("touches", [False, pytest.param(True, marks=slow)])
@pytest.mark.parametrize(("gains", "limit"), [((20.0, 1.0), LIMIT), ((2e3, 300.0), 60.0)])  # slow beside a step, and fast
def test_the_torque_of_a_step_is_the_nearest_within_the_limit(tmp_path, gains, limit, touches):
    """k (e - h w+) - c w+ with the error e where the step begins and the rate w+ where it ends, cut to the limit."""
    h = 2e-3
    code, found = run(tmp_path, "law", scene("generalized", "semi_implicit", h, touches, limit, h, gains=gains))
    assert code == 0
    hip = found.joint("hip")
    turns, w, effort = Rotation.from_quat(hip.q[:-1, 0]), hip.qd[1:, 0], hip.effort[1:, 0]
    asked = gains[0] * ((Rotation.from_rotvec(TARGET) * turns.inv()).as_rotvec() - h * w) - gains[1] * w
    size = np.linalg.norm(asked, axis=1, keepdims=True)
    assert (size > limit).sum() > 15
    assert (size < limit).sum() > 15
    wanted = asked * np.minimum(1.0, limit / size)
    assert np.abs(effort - wanted).max() < DIRECTION * limit
    assert np.linalg.norm(effort, axis=1).max() < limit * (1 + LAW)


def test_a_drive_at_its_limit_holds_up_a_part_of_a_weight(tmp_path, capfd):
    """The spring asks for more than the limit: m g l sin(angle) = limit."""
    content = scene("generalized", "semi_implicit", 1e-3)
    content["world"] = {"gravity": [0, 0, -9.81]}
    content["bodies"]["top"] |= {"com": [0, 0, -0.5]}
    for drive, target in zip(content["joints"]["hip"]["drive"], (0.0, 1.5, 0.0), strict=True):
        drive["target"] = target
    content["joints"]["hip"]["qd"] = [0.0] * 3
    (tmp_path / "held.yaml").write_text(json.dumps(content))
    command = ["equilibrium", str(tmp_path / "held.yaml"), "--json", "--device", "cpu", "--threads", "1"]
    assert doorman.run_command(command, debug=False, as_json=True) == Exit.OK
    found = json.loads(capfd.readouterr().out)
    assert 2 * math.asin(abs(found["joint_q"]["hip"][1])) == pytest.approx(math.asin(LIMIT / (9.81 * 0.5)), rel=1e-8)
    assert found["joint_wrench"]["hip"][3:] == pytest.approx([0, LIMIT, 0], abs=1e-8)


def test_what_is_refused(tmp_path):
    content = scene("generalized", "rk4", 1e-3)
    content["joints"]["hip"]["drive"][1]["effort_limit"] = 4.0
    with pytest.raises(SceneError, match="effort limits that differ"):
        read_model(tmp_path, json.dumps(content))
    for solver, integrator in (("natural", "generalized_alpha"), ("affine", "bdf1")):
        with pytest.raises(SceneError, match="a drive on a `ball`"):
            read_model(tmp_path, json.dumps(scene(solver, integrator, 1e-3)))
