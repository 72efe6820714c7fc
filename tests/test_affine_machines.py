"""Affine bodies in machines: prescribed motions, gears, friction, armature, bounds of drives, soft holds; closed forms."""

import numpy as np
import pytest
from test_affine_steps import CUBE, G, H, Run

CLOSE = 1e-6  # relative: what joints of 100 m / dt^2 give, and the strain of the cubes
N = 60
# Cubes of 64 kg and 0.4 m, as in test_affine_steps.py, on hinges about the vertical where nothing is said.
MACHINES = """
defaults:
  body: {mass: 64, inertia: {diag: ["${64*0.16/6}", "${64*0.16/6}", "${64*0.16/6}"]}, affine: {stiffness: 10 GPa}}
  joint: {type: revolute, parent: world, axis: [0, 0, 1]}
bodies:
  led: {pose: {xyz: [0, 0, 0]}}
  lifted: {pose: {xyz: [0, 2, 0]}}
  leader: {pose: {xyz: [0, 4, 0]}}
  follower: {pose: {xyz: [0, 6, 0]}}
  rack: {pose: {xyz: [0, 8, 0]}}
  stuck: {pose: {xyz: [0, 10, 0]}}
  sliding: {pose: {xyz: [0, 12, 0]}}
  heavy: {pose: {xyz: [0, 14, 0]}}
  weak: {pose: {xyz: [0, 16, 0]}}
  slow: {pose: {xyz: [0, 18, 0]}}
  table: {pose: {xyz: [0, 20, 0]}, kinematic: true, motion: {linear: [0.1, 0, $wave], angular: [0, 0, 2]}}
  rider: {pose: {xyz: [0, 20.5, 0]}}
  still: {pose: {xyz: [0, 22, 0]}, kinematic: true}
  swung: {pose: {xyz: [0, 28.5, 0]}, com: [0.1, 0, 0], kinematic: true}
  raised: {pose: {xyz: [0, 30, 0]}, kinematic: true}
  carried: {pose: {xyz: [0, 24, 0]}, affine: {stiffness: 10 GPa, transform: {
            pose: {xyz: [0, 24, 0]}, shift: [$line, 0, 0], turn: [0, 0, $line], strength: [1.0e+5, 1.0e+5]}}}
  pushed: {pose: {xyz: [0, 26, 0]}, affine: {stiffness: 10 GPa, transform: {
           linear: [0, 0, $step], strength: [1.0e+5, 1.0e+5]}}}
joints:
  led: {child: led, at: [0, 0, 0], motion: {position: $sweep}}
  lifted: {type: prismatic, child: lifted, at: [0, 2, 0], motion: {velocity: 0.5}}
  leader: {child: leader, at: [0, 4, 0]}
  follower: {child: follower, at: [0, 6, 0], mimic: {joint: leader, ratio: -2}}
  rack: {type: prismatic, axis: [1, 0, 0], child: rack, at: [0, 8, 0], mimic: {joint: leader, ratio: 0.1}}
  stuck: {child: stuck, at: [0, 10, 0], friction: 3}
  sliding: {child: sliding, at: [0, 12, 0], friction: 3}
  heavy: {child: heavy, at: [0, 14, 0], armature: 2}
  weak: {child: weak, at: [0, 16, 0], drive: {mode: position, target: 1, stiffness: 1.0e+4, damping: 10, effort_limit: 4}}
  slow: {child: slow, at: [0, 18, 0], velocity_limit: 0.5}
  swing: {child: swung, at: [0, 28, 0], motion: {position: $sweep}}
  lift: {type: prismatic, child: raised, at: [0, 30, 0], motion: {velocity: 0.5}}
  hinge: {parent: table, child: rider, at: [0, 20.5, 0]}
forces:
  on_leader: {type: torque, joint: leader, value: 5}
  on_stuck: {type: torque, joint: stuck, value: 2}
  on_sliding: {type: torque, joint: sliding, value: 5}
  on_heavy: {type: torque, joint: heavy, value: 5}
  on_slow: {type: torque, joint: slow, value: 30}
signals:
  sweep: {sine: {amplitude: 0.5, frequency: 1}}
  wave: {sine: {amplitude: 0.3, frequency: 0.5}}
  line: {ramp: {from: 0, to: 0.6, end: 0.6}}
  step: {step: {before: 0, after: 0.4, time: 0.2}}
events:
  - {at: 0.4, set: {bodies.pushed.affine.transform.is_passive: true}}
  - {at: 0.5, set: {bodies.pushed.affine.transform.is_constrained: false}}
solver: {type: affine, dt: 0.01, tolerance: 1.0e-11}
batch: {worlds: 2}
run: {duration: 0.6}
"""


@pytest.fixture(scope="module", params=[pytest.param("bdf1", marks=pytest.mark.slow), "bdf2"])
def machines(request):
    from support.device import live_device

    return request.param, Run(MACHINES, live_device(), N, integrator=request.param)


T = H * np.arange(N + 1)


def speeds(run, joint):
    """Rates of a joint's first coordinate at every step, of its bodies."""
    return run.of_joint("joint_qd", joint)


def test_motions_are_followed_to_the_tolerance_and_tell_their_effort(machines):
    kind, run = machines
    q = run.q("led")
    assert q == pytest.approx(0.5 * np.sin(2 * np.pi * T), abs=1e-10)
    a, shown = -0.5 * (2 * np.pi) ** 2 * np.sin(2 * np.pi * T), slice(12, 40)  # bdf2 at its order, before events
    if kind == "bdf1":
        a[2:] = np.diff(q, 2) / H**2
    largest = CUBE * np.abs(a).max()
    assert run.of_joint("joint_effort", "led")[shown] == pytest.approx(CUBE * a[shown], abs=0.02 * largest)
    assert run.q("lifted") == pytest.approx(0.5 * T, abs=1e-10)
    assert run.of_joint("joint_effort", "lifted")[1:] == pytest.approx(np.full(N, 64 * G), rel=CLOSE)


def second_difference(kind, x):
    """Accelerations that the formula finds in coordinates x of every step, from rest: bdf2 begins with a step of bdf1."""
    v, a = np.zeros_like(x), np.zeros_like(x)
    for n in range(1, len(x)):
        if kind == "bdf1" or n == 1:
            v[n] = (x[n] - x[n - 1]) / H
            a[n] = (v[n] - v[n - 1]) / H
        else:
            v[n] = (1.5 * x[n] - 2.0 * x[n - 1] + 0.5 * x[n - 2]) / H
            a[n] = (1.5 * v[n] - 2.0 * v[n - 1] + 0.5 * v[n - 2]) / H
    return a


def test_gears_turn_together_and_share_the_load(machines):
    kind, run = machines
    leader = run.q("leader")
    whole = CUBE * (1 + 2**2) + 64 * 0.1**2
    assert speeds(run, "leader") == pytest.approx(5 / whole * T, rel=2e-3, abs=1e-12)  # the rest is of angles as chords
    assert run.q("follower") == pytest.approx(-2 * leader, abs=1e-7)
    assert run.q("rack") == pytest.approx(0.1 * leader, abs=1e-7)
    assert run.of_joint("joint_effort", "follower")[1:] == pytest.approx(np.full(N, -2 * CUBE * 5 / whole), rel=5e-3)
    # A gear gives way by its effort over K, all of it in the first step: the rack lags by that, and the formula finds -1,
    # 2.75, -1.5 times the lag over h^2 in the next accelerations. 64 kg times this is 1 / strength_ratio of the effort.
    effort, lag = run.of_joint("joint_effort", "rack"), run.q("rack") - 0.1 * leader
    assert lag[1:] == pytest.approx(-effort[1:] / (100 * 64 / H**2), rel=1e-4)
    shaken = 64 * second_difference(kind, lag)
    assert effort[1:] - shaken[1:] == pytest.approx(np.full(N, 6.4 * 5 / whole), rel=5e-3)
    assert np.abs(shaken[1:]).max() < 2.75 * 1.1 / 100 * effort.max()
    assert effort[3:] == pytest.approx(np.full(N - 2, 6.4 * 5 / whole), rel=2e-2)


def test_dry_friction_creeps_at_rest_and_slides_by_its_force(machines):
    _, run = machines
    creep = 0.01 * (1 - np.sqrt(1 - 2 / 3))  # f_0' = 2/3 of the load
    assert np.diff(run.q("stuck"))[20:] / H == pytest.approx(np.full(N - 20, creep), rel=CLOSE)
    assert speeds(run, "sliding") == pytest.approx((5 - 3) / CUBE * T, rel=1e-3, abs=1e-12)
    assert run.of_joint("joint_effort", "sliding")[1:] == pytest.approx(np.full(N, 2.0), rel=CLOSE)


def test_armature_is_inertia_that_no_effort_shows(machines):
    _, run = machines
    assert speeds(run, "heavy") == pytest.approx(5 / (CUBE + 2) * T, rel=1e-3, abs=1e-12)
    assert run.of_joint("joint_effort", "heavy") == pytest.approx(np.full(N + 1, 5.0), rel=CLOSE)


def test_bounds_of_effort_and_speed_are_not_passed(machines):
    _, run = machines
    assert run.of_joint("joint_effort", "weak") == pytest.approx(np.full(N + 1, 4.0), rel=CLOSE)
    assert speeds(run, "weak") == pytest.approx(4 / CUBE * T, rel=5e-3, abs=1e-12)  # bdf1 takes w^2 h
    rates = np.diff(run.q("slow")) / H
    assert rates[5:] == pytest.approx(np.full(N - 5, 0.5), abs=1e-8)
    assert run.of_joint("joint_effort", "slow")[10:] == pytest.approx(np.zeros(N - 9), abs=0.01)


def test_kinematic_bodies_move_as_prescribed_and_take_others_along(machines):
    kind, run = machines
    table, rider, still = (run.model.bodies.name.index(name) for name in ("table", "rider", "still"))
    pose, twist = (run.columns[f"frames/{name}"][:, 0] for name in ("body_q", "body_qd"))
    wave = 0.3 * np.sin(np.pi * T)
    assert twist[:, table] == pytest.approx(np.stack((0.1 + 0 * T, 0 * T, wave, 0 * T, 0 * T, 2 + 0 * T), axis=1), abs=1e-12)
    assert pose[:, table, 0] == pytest.approx(0.1 * T, abs=1e-12)
    assert pose[:, table, 2] == pytest.approx(0.3 / np.pi * (1 - np.cos(np.pi * T)), abs={"bdf1": 2e-3, "bdf2": 3e-4}[kind])
    assert 2 * np.arctan2(pose[:, table, 5], pose[:, table, 6]) == pytest.approx(2 * T, abs=1e-12)
    place = pose[:, table, :3] + 0.5 * np.stack((-np.sin(2 * T), np.cos(2 * T), 0 * T), axis=1)
    assert pose[1:, rider, :3] == pytest.approx(place[1:], abs=1e-5)
    assert (pose[:, still] == pose[0, still]).all()


def test_joints_lead_kinematic_bodies_to_the_bit(machines):
    _, run = machines
    swung = run.model.bodies.name.index("swung")
    pose, twist = (run.columns[f"frames/{name}"][:, 0] for name in ("body_q", "body_qd"))
    angle, rate = 0.5 * np.sin(2 * np.pi * T), np.pi * np.cos(2 * np.pi * T)
    assert run.q("swing") == pytest.approx(angle, abs=1e-13)
    arm = np.stack((-np.sin(angle), np.cos(angle), 0 * T), axis=1) * 0.5
    assert pose[:, swung, :3] == pytest.approx(arm + np.array([0, 28, 0]), abs=1e-13)
    ahead = 0.1 * np.stack((np.cos(angle), np.sin(angle), 0 * T), axis=1)
    assert twist[1:, swung, :3] == pytest.approx(np.cross([0, 0, 1], arm + ahead)[1:] * rate[1:, None], abs=1e-13)
    assert twist[1:, swung, 5] == pytest.approx(rate[1:], abs=1e-13)
    assert run.q("lift") == pytest.approx(0.5 * T, abs=1e-13)
    assert run.of_joint("joint_wrench", "lift")[3:, :3] == pytest.approx(np.tile([0, 0, 64 * G], (N - 2, 1)), abs=1e-6)
    assert run.of_joint("joint_effort", "lift")[3:] == pytest.approx(np.full(N - 2, 64 * G), abs=1e-6)
    moment = (CUBE + 64 * 0.26) * -2 * np.pi**2 * np.sin(2 * np.pi * T)
    assert run.of_joint("joint_effort", "swing")[5:] == pytest.approx(moment[5:], abs=0.1 * moment.max())  # bdf1: its lag


def test_soft_holds_follow_signals_and_events(machines):
    _, run = machines
    carried, pushed = (run.model.bodies.name.index(name) for name in ("carried", "pushed"))
    pose, twist = (run.columns[f"frames/{name}"][:, 0] for name in ("body_q", "body_qd"))
    assert pose[1:, carried, 0] == pytest.approx(T[1:], abs=2e-7)
    assert 2 * np.arctan2(pose[1:, carried, 5], pose[1:, carried, 6]) == pytest.approx(T[1:], abs=2e-6)
    speed = twist[:, pushed, 2]
    assert np.abs(speed[:21]).max() < 1e-5  # the signal is still none
    assert speed[23:41] == pytest.approx(np.full(18, 0.4), rel=1e-4)
    assert speed[44:51] == pytest.approx(np.full(7, -G * H**2 / 1e5 / H), rel=1e-3)  # a damper of strength m / dt
    assert np.diff(speed[51:]) == pytest.approx(np.full(9, -G * H), rel=CLOSE)


def test_every_step_converges(machines):
    _, run = machines
    assert not run.columns["diag/status"].any()
    assert run.columns["diag/residual"][1:].max() <= 1e-11
    assert run.columns["diag/iterations"].max() < 30
