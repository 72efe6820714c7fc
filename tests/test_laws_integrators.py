"""Laws of the integrators: orders of convergence, what free motion keeps, many turns, stiffness."""

from functools import cache

import numpy as np
import pytest
from support.device import live_device
from support.forward import Runner, model_of, slope

from simcli.kernels.algorithms import Algorithms
from simcli.rotations import quat_to_matrix
from simcli.solvers.base.integrators import STAGES

pytestmark = pytest.mark.usefixtures("scalar_code")
ORDERS = {"semi_implicit": 1, "implicit": 2, "rk4": 4}
every_integrator = pytest.mark.parametrize("integrator", STAGES)


@pytest.fixture(scope="module")
def runner_of():
    """Runner of a scene with an integrator, compiled once for all tests here."""
    return cache(lambda text, integrator: Runner(text, integrator, live_device()))


@pytest.fixture(scope="module")
def algorithms_of():
    """Algorithms of a scene, compiled once for all integrators, in scalar code."""

    @cache
    def algorithms(text):
        model, _ = model_of(text)
        return Algorithms(model, live_device().for_worlds(1), model.n_worlds)

    return algorithms


# All chart kinds in one tree: a free base, a ball, a hinge, a slide, none of them straight, centred or aligned; dampers,
# drives, springs, wrenches in both frames and a torque. Its fastest rate is about 30 per second.
MECHANISM = """
world: {gravity: [0.5, -0.3, -9.81]}
bodies:
  base:
    pose: {xyz: [0.1, 0.2, 0.3], rpy: [0.3, -0.2, 0.5]}
    mass: 3.0
    com: [0.05, -0.02, 0.03]
    inertia: {full: [[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]]}
    velocity: {linear: [0.5, 0.2, 1.0], angular: [1.0, -0.7, 0.4]}
    points: {rim: [0.3, 0.1, 0.2]}
  upper: {mass: 1.2, com: [0.1, 0.02, 0], inertia: {diag: [0.05, 0.08, 0.07]}}
  hand: {mass: 0.8, com: [0.05, 0, -0.03], inertia: {diag: [0.03, 0.02, 0.04]}, points: {palm: [0.1, -0.05, 0.02]}}
  slug: {mass: 0.5, com: [0, 0.03, 0.02], inertia: {diag: [0.01, 0.01, 0.015]}, points: {hook: [0.1, 0, 0.05]}}
joints:
  shoulder:
    type: ball
    parent: base
    child: upper
    parent_frame: {xyz: [0.3, 0, 0.1], rpy: [0.1, 0.2, 0.3]}
    child_frame: {xyz: [-0.2, 0.05, 0], rpy: [0, 0.4, 0]}
    q: [0.1, 0.2, -0.1, 0.9]
    qd: [1.0, -2.0, 0.5]
    damping: [0.1, 0.2, 0.3]
  elbow:
    type: revolute
    parent: upper
    child: hand
    parent_frame: {xyz: [0.3, 0, 0]}
    child_frame: {xyz: [-0.15, 0, 0.05], rpy: [0.5, 0, 0]}
    axis: [0, 1, 1]
    q: 0.4
    qd: -1.5
    damping: 0.05
    armature: 0.02
    drive: {mode: position, target: -0.3, stiffness: 8, damping: 0.4}
  slide:
    type: prismatic
    parent: hand
    child: slug
    parent_frame: {xyz: [0.1, 0, 0], rpy: [0, 0, 0.7]}
    axis: [1, 0.2, 0]
    q: 0.1
    qd: 0.5
    damping: 0.3
    drive: {mode: position_velocity, target: 0.2, target_velocity: 0.3, stiffness: 20, damping: 1.5}
forces:
  cord: {type: spring, a: base/rim, b: slug/hook, stiffness: 15, damping: 0.8, rest_length: 0.4}
  tether: {type: spring, a: {world: [0, 0, 1.5]}, b: hand/palm, stiffness: 12, damping: 0.5, rest_length: 0.7}
  push: {type: wrench, body: hand, force: [1.0, 2.0, -0.5], torque: [0.1, 0.05, -0.2], at: [0.1, -0.05, 0.02], frame: body}
  lift: {type: wrench, body: base, force: [0.5, 0, 40], torque: [0.3, 0.2, 0.1]}
  motor: {type: torque, joint: elbow, value: 0.7}
"""
SPAN = 0.4  # [s]
COUNTS = {"semi_implicit": (400, 800, 1600), "implicit": (100, 200, 400), "rk4": (20, 40, 80)}  # steps in SPAN
EXACT_COUNT = 3200  # of RK4: its error is 40^4 times below the finest of the others
ORDER_TOLERANCE = 0.1  # of a slope over two halvings
SAMPLES = 1600  # steps of SPAN that are all recorded, for Simpson's rule: (30 h)^4 is 3e-9
SIMPSON = 1e-7  # [J]
LEAST_WORK = 1e-3  # [J] that each force must do, so that none can change its sign unnoticed


def run_to_span(runner, counts):
    """joint_q and joint_qd at SPAN, and the largest |drift| on the way, for runs of so many steps."""
    states, drifts = [], []
    for count in counts:
        columns = runner(SPAN / count, count // 20, 20)
        states.append(np.concatenate([columns["frames/joint_q"][-1, 0], columns["frames/joint_qd"][-1, 0]]))
        drifts.append(np.abs(columns["energy/drift"]).max())
    return np.array(states), np.array(drifts)


@pytest.fixture(scope="module")
def exact(runner_of):
    """The state at SPAN, joint_q and joint_qd."""
    return run_to_span(runner_of(MECHANISM, "rk4"), [EXACT_COUNT])[0][0]


@every_integrator
def test_motion_and_ledger_converge_with_the_order(integrator, runner_of, exact):
    counts = COUNTS[integrator]
    states, drifts = run_to_span(runner_of(MECHANISM, integrator), counts)
    steps, errors = SPAN / np.array(counts), np.abs(states - exact).max(axis=1)
    assert slope(steps, errors) == pytest.approx(ORDERS[integrator], abs=ORDER_TOLERANCE)
    assert slope(steps, drifts) == pytest.approx(ORDERS[integrator], abs=ORDER_TOLERANCE)


def simpson(values, h):
    return h / 3 * (values[0] + values[-1] + 4 * values[1:-1:2].sum() + 2 * values[2:-1:2].sum())


def test_ledger_is_the_sum_of_powers_taken_from_the_frames(runner_of):
    runner = runner_of(MECHANISM, "rk4")
    h = SPAN / SAMPLES
    columns, model = runner(h, 1, SAMPLES), runner.model
    see = Witness(columns, model)
    elbow, slide, (q_elbow,), (q_slide,) = see.qd("elbow"), see.qd("slide"), see.q("elbow").T, see.q("slide").T
    elbow, slide = elbow[:, 0], slide[:, 0]
    lengths = {
        "cord": see.line(see.point("base/rim"), see.point("slug/hook")),
        "tether": see.line((np.array([0, 0, 1.5]), np.zeros(3)), see.point("hand/palm")),
    }
    dissipated = {
        "shoulder": (see.qd("shoulder") ** 2 @ [0.1, 0.2, 0.3]),
        "elbow": 0.05 * elbow**2,
        "slide": 0.3 * slide**2,
        "cord": 0.8 * lengths["cord"][1] ** 2,
        "tether": 0.5 * lengths["tether"][1] ** 2,
    }
    supplied = {
        "elbow drive": (8 * (-0.3 - q_elbow) - 0.4 * elbow) * elbow,
        "slide drive": (20 * (0.2 - q_slide) + 1.5 * (0.3 - slide)) * slide,
        "motor": 0.7 * elbow,
        "push": see.power("hand", see.point("hand/palm")[1], [1.0, 2.0, -0.5], [0.1, 0.05, -0.2], follows=True),
        "lift": see.power("base", see.rate("base"), [0.5, 0, 40], [0.3, 0.2, 0.1], follows=False),
    }
    for column, powers in (("dissipated", dissipated), ("input", supplied)):
        work = {name: simpson(power, h) for name, power in powers.items()}
        assert all(abs(one) > LEAST_WORK for one in work.values()), work
        assert columns[f"energy/{column}"][-1, 0] == pytest.approx(sum(work.values()), abs=SIMPSON)
    stored = sum(0.5 * k * (lengths[name][0] - rest) ** 2 for name, k, rest in (("cord", 15, 0.4), ("tether", 12, 0.7)))
    np.testing.assert_allclose(columns["energy/elastic"][:, 0], stored, atol=1e-12)


class Witness:
    """Motion of world 0 by name, from recorded columns."""

    def __init__(self, columns, model):
        self.columns, self.model = columns, model

    def _coordinates(self, name, path, start):
        j = self.model.joints.name.index(name)
        return self.columns[path][:, 0, start[j] : start[j + 1]]

    def q(self, joint):
        return self._coordinates(joint, "frames/joint_q", self.model.joints.q_start)

    def qd(self, joint):
        return self._coordinates(joint, "frames/joint_qd", self.model.joints.qd_start)

    def point(self, name):
        return tuple(self.columns[f"frames/point/{name}/{what}"][:, 0] for what in ("position", "velocity"))

    def rate(self, body):
        return self.columns["frames/body_qd"][:, 0, self.model.bodies.name.index(body), :3]

    def spin(self, body):
        return self.columns["frames/body_qd"][:, 0, self.model.bodies.name.index(body), 3:]

    def rotation(self, body):
        return quat_to_matrix(self.columns["frames/body_q"][:, 0, self.model.bodies.name.index(body), 3:])

    def line(self, a, b):
        """Length of the line between two points, and its rate."""
        gap = b[0] - a[0]
        length = np.linalg.norm(gap, axis=1)
        return length, ((b[1] - a[1]) * gap).sum(axis=1) / length

    def power(self, body, rate, force, torque, follows):
        force, torque = np.array(force), np.array(torque)
        if follows:
            force, torque = self.rotation(body) @ force, self.rotation(body) @ torque
        return (force * rate).sum(axis=1) + (torque * self.spin(body)).sum(axis=1)


TUMBLER = """
world: {gravity: [0, 0, -9.81]}
bodies:
  stone:
    pose: {rpy: [0.3, 0.5, -0.2]}
    mass: 2.0
    com: [0.3, -0.2, 0.1]
    inertia: {full: [[0.5, 0.05, -0.02], [0.05, 0.8, 0.03], [-0.02, 0.03, 1.1]]}
    velocity: {linear: [1, -2, 3], angular: [2, -1, 0.5]}
"""
KEPT = 1e-11  # relative, over 20 s in steps of 1 ms: the step's own error is 20 s w (w h)^4 / 120, w = 2.3 rad/s


def test_free_body_keeps_energy_and_angular_momentum(runner_of):
    columns = runner_of(TUMBLER, "rk4")(1e-3, 100, 200)
    inertia = np.array([[0.5, 0.05, -0.02], [0.05, 0.8, 0.03], [-0.02, 0.03, 1.1]])
    R = quat_to_matrix(columns["frames/body_q"][:, 0, 0, 3:])
    spin = columns["frames/body_qd"][:, 0, 0, 3:]
    momentum = np.einsum("fij,jk,flk,fl->fi", R, inertia, R, spin)
    assert np.abs(momentum - momentum[0]).max() < KEPT * np.linalg.norm(momentum[0])
    turning = 0.5 * (momentum * spin).sum(axis=1)
    assert np.abs(turning - turning[0]).max() < KEPT * turning[0]
    assert np.abs(columns["energy/drift"]).max() < KEPT * np.abs(columns["energy/potential"]).max()
    # It does turn: the angular velocity goes through all of its range.
    assert np.ptp(spin, axis=0).min() > 0.5


def test_drift_of_a_free_body_falls_with_the_fourth_order(runner_of):
    runner, steps = runner_of(TUMBLER, "rk4"), np.array([0.08, 0.04, 0.02])
    drifts = [np.abs(runner(h, round(0.8 / h), 10)["energy/drift"]).max() for h in steps]
    assert slope(steps, drifts) > 4 - ORDER_TOLERANCE


# One body per joint with an angle, spinning freely about its last axis; a motor holds its speed by a drive.
TURNS, SPIN_TIME = 50, 2.0
RATE = 2 * np.pi * TURNS / SPIN_TIME
PITCH = 0.01  # [m] per turn
SPINNERS = f"""
world: {{gravity: [0, 0, 0]}}
defaults: {{body: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}}}}}
bodies: {{a: {{}}, b: {{}}, c: {{}}, d: {{}}, e: {{}}, f: {{}}, g: {{}}}}
joints:
  hinge: {{type: revolute, parent: world, child: a, axis: [0, 1, 1], q: 0.3, qd: {RATE}}}
  motor:
    type: revolute
    parent: world
    child: b
    q: 0.3
    qd: {RATE}
    drive: {{mode: velocity, target_velocity: {RATE}, damping: 5}}
  thread: {{type: screw, parent: world, child: c, axis: [0, 0, 1], pitch: {PITCH}, q: 0.3, qd: {RATE}}}
  sleeve: {{type: cylindrical, parent: world, child: d, axis: [1, 0, 0], q: [0, 0.3], qd: [0.1, {RATE}]}}
  table: {{type: planar, parent: world, child: e, axis: [0, 0, 1], q: [0, 0, 0.3], qd: [0.2, -0.1, {RATE}]}}
  cross:
    type: universal
    parent: world
    child: f
    axes: {{angular: [[1, 0, 0], [0, 1, 0]]}}
    q: [0.4, 0.3]
    qd: [0, {RATE}]
  gimbal:
    type: d6
    parent: world
    child: g
    axes: {{linear: [[1, 0, 0]], angular: [[0, 0, 1], [1, 0, 0], [0, 1, 0]]}}
    q: [0, 0.2, -0.4, 0.3]
    qd: [0.1, 0, 0, {RATE}]
"""
SPIN_STEP = 1e-4  # [s]: a first-order step feeds what rounding leaves of the gimbal's nutation by exp(RATE^2 h t / 2)
ANGLE_TOLERANCE = 1e-9  # [rad] after 314 rad in 20000 steps: rounding is 1e-11 of it at most
POSE_TOLERANCE = 1e-11  # [1, m] of poses from angles that differ by 314 rad, rounded to 6e-14


@every_integrator
def test_angles_count_turns_and_poses_do_not_mind(integrator, runner_of, algorithms_of):
    runner = runner_of(SPINNERS, integrator)
    columns, model = runner(SPIN_STEP, 200, 100), runner.model
    q = columns["frames/joint_q"][:, 0]
    last = model.joints.q_start[1:] - 1
    assert len(last) == 7
    time = np.linspace(0.0, SPIN_TIME, 101)[:, None]
    np.testing.assert_allclose(q[:, last], np.tile(0.3 + RATE * time, 7), atol=ANGLE_TOLERANCE, rtol=0)
    wrapped = q.copy()
    wrapped[:, last] = np.remainder(q[:, last] + np.pi, 2 * np.pi) - np.pi
    thread = model.joints.name.index("thread")
    height = columns["frames/body_q"][:, 0, thread, 2]
    np.testing.assert_allclose(height, PITCH / (2 * np.pi) * q[:, last[thread]], atol=POSE_TOLERANCE)
    wrapped[:, last[thread]] = q[:, last[thread]]  # its angle is its height
    poses, _ = algorithms_of(SPINNERS).forward_kinematics(wrapped, columns["frames/joint_qd"][:, 0])
    recorded = columns["frames/body_q"][:, 0]
    poses[..., 3:] *= np.sign((poses[..., 3:] * recorded[..., 3:]).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(recorded, poses, atol=POSE_TOLERANCE, rtol=0)


# Two links held by drives or slowed by dampers far too stiff for the step; the worlds are cases. Of the first joint damper,
# stiffness and damping of the drive, of the second stiffness and damping, q, qd; the target of both.
STIFFNESS, DAMPING = 1e6, 1e4  # [N m/rad], [N m s/rad]: the fast rate is 1e5 per second for the outer link
STIFF_RATE = 1e4  # [1/s] about, of the damper over the inertia
NUMBERS = ("brake", "k1", "c1", "k2", "c2", "q2", "qd2", "target")
CASES = {
    "servo": (0, STIFFNESS, DAMPING, STIFFNESS, DAMPING, 0, 0, 0.4),
    "damper": (STIFF_RATE, 0, 0, 60, 0.5, 1, 3, 0),
    "drive": (0, STIFF_RATE, STIFF_RATE, 60, 0.5, 1, 3, 0),
}
VARIED = (f"params.{name}: {{list: {[case[k] for case in CASES.values()]}}}" for k, name in enumerate(NUMBERS))
ARM = f"""
params: {{{", ".join(f"{name}: 0" for name in NUMBERS)}}}
bodies:
  upper: {{pose: {{xyz: [0.5, 0, 0]}}, mass: 1.0, inertia: {{diag: [0.1, 0.1, 0.1]}}}}
  lower: {{pose: {{xyz: [1.5, 0, 0]}}, mass: 1.0, inertia: {{diag: [0.1, 0.1, 0.1]}}}}
joints:
  first: {{type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0], damping: "${{brake}}",
          drive: {{mode: position, target: "${{target}}", stiffness: "${{k1}}", damping: "${{c1}}"}}}}
  second: {{type: revolute, parent: upper, child: lower, at: [1, 0, 0], axis: [0, 1, 0], q: "${{q2}}", qd: "${{qd2}}",
           drive: {{mode: position, target: "${{target}}", stiffness: "${{k2}}", damping: "${{c2}}"}}}}
batch: {{worlds: {len(CASES)}, vary: {{{", ".join(VARIED)}}}}}
"""
LONG_STEP = 1e-2  # [s]: a thousand times the fast time constant
STATIC = 1e-8  # relative, of efforts against the weight


def joints_of(case, columns):
    """joint_q, joint_qd, joint_effort of a case, (F, 2) each."""
    return (columns[f"frames/joint_{name}"][:, list(CASES).index(case)] for name in ("q", "qd", "effort"))


@pytest.mark.parametrize("integrator", ["implicit", "semi_implicit"])
def test_stiff_drives_settle_where_they_carry_the_weight(integrator, runner_of, algorithms_of):
    q, qd, effort = joints_of("servo", runner_of(ARM, integrator)(LONG_STEP, 1, 200))
    assert np.abs(q).max() < 0.5
    still = np.zeros((len(CASES), 2))
    weight = algorithms_of(ARM).inverse_dynamics(still + q[-1], still, still)[0]
    np.testing.assert_allclose(STIFFNESS * (0.4 - q[-1]), weight, rtol=STATIC)
    np.testing.assert_allclose(effort[-1], weight, rtol=STATIC)
    assert np.abs(qd[-1]).max() < STATIC


def test_stiff_drives_are_stiff(runner_of):
    """The explicit method fails at that step, or the test above would show nothing."""
    q, _, _ = joints_of("servo", runner_of(ARM, "rk4")(LONG_STEP, 1, 5))
    assert not (np.isfinite(q).all() and np.abs(q).max() < 1e3)


STIFF_STEPS = np.array([1e-2, 5e-3, 2.5e-3])  # [s]: 25 to 100 over the rate
QUIET_STEP = 2e-5  # [s] of RK4 in the exact solution, stable below 2.8 over the rate


@pytest.mark.parametrize("stiff", ["damper", "drive"])
def test_implicit_keeps_its_order_beside_a_stiff_joint(stiff, runner_of):
    exact, _, _ = joints_of(stiff, runner_of(ARM, "rk4")(QUIET_STEP, 1000, 25))
    runner = runner_of(ARM, "implicit")
    states = np.array([next(joints_of(stiff, runner(h, round(0.02 / h), 25))) for h in STIFF_STEPS])
    for errors in np.abs(states - exact).max(axis=1).T:  # of the stiff joint, and of the smooth one
        assert slope(STIFF_STEPS, errors) == pytest.approx(2.0, abs=ORDER_TOLERANCE)
