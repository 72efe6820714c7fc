"""Steps of affine bodies against numpy's, and joints that are driven, held and bounded against closed forms.

Energies of affine bodies: gradients and Hessians by finite differences, identities, the mass matrix of the equations.
"""

import numpy as np
import pytest
import yaml
from support.affine_oracle import couple, mass_matrix, polar, shape, steps
from support.forward import CHANNELS as FEW
from support.scenes import scene

import simcli
from simcli import rotations as rot
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.sparse_factors import clear_matrix
from simcli.kernels.language import ti
from simcli.kernels.potentials.energy import add_gradient, add_hessian, find_energy, find_slopes, follow_rows
from simcli.kernels.potentials.potential_terms import extrapolate_laws
from simcli.kernels.rows.quadratic import start_gradients
from simcli.model.forms.affine_energy import energies_of
from simcli.model.forms.natural_form import natural_form
from simcli.model.joints.state import State
from simcli.model.phases import build_phases
from simcli.solvers import SOLVERS, RunPlan
from simcli.solvers.affine.memory import AffineCore
from simcli.solvers.base.run_plan import RunPlan as RunPlan_of_energies
from simcli.spec import resolve

CHANNELS = FEW | {"reactions"}
EXACT = 1e-9  # issue 6
G = 9.81


class Run:
    """All frames of a scene, every step one."""

    def __init__(self, text, device, n, channels=CHANNELS, **options):
        document = scene(text)
        spec = resolve(document)
        phases = build_phases(document, spec)
        options = spec.solver.model_copy(update=options)
        plan = RunPlan(spec.solver.dt, 1, n, frozenset(channels))
        later = [phase for phase in phases if phase.texts]
        self.model = phases[0].model
        self.solver = SOLVERS["affine"](self.model, options, plan, device, later)
        blocks = [self.solver.initial()]
        while sum(len(block.step) for block in blocks) <= n:
            blocks.append(self.solver.advance(n + 1 - sum(len(block.step) for block in blocks)))
        self.columns = {name: np.concatenate([block.columns[name] for block in blocks]) for name in blocks[0].columns}
        self.events = [event for block in blocks for event in block.events]

    def q(self, joint):
        """Its first coordinate at every step."""
        j = self.model.joints.name.index(joint)
        return self.columns["frames/joint_q"][:, 0, self.model.joints.q_start[j]]

    def of_joint(self, name, joint):
        """A column of the joint's own."""
        j = self.model.joints.name.index(joint)
        return self.columns[f"frames/{name}"][:, 0, j if name == "joint_wrench" else self.model.joints.qd_start[j]]


FREE = """
params: {}
defaults: {body: {mass: 2, com: [0.1, -0.05, 0.2],
                  inertia: {full: [[0.3, 0.02, 0.01], [0.02, 0.4, -0.03], [0.01, -0.03, 0.5]]},
                  velocity: {linear: [1, 0.5, 2], angular: [0.5, 3, 1]}, affine: {volume: 1.0e-3}}}
bodies:
  fallen: {pose: {xyz: [0, 0, 1], rpy: [0.3, -0.2, 0.5]}}
  turned: {affine: {stiffness: 1 MPa, volume: 1.0e-3}}
  pushed: {}
forces:
  spin: {type: wrench, body: turned, torque: [0.5, -1, 2]}
  push: {type: wrench, body: pushed, force: [3, -2, 1], at: [0.3, 0.2, 0]}
solver: {type: affine, integrator: bdf1, dt: 0.01, tolerance: 1.0e-12}
run: {duration: 1}
"""
MASS, COM = 2.0, np.array([0.1, -0.05, 0.2])
INERTIA = np.array([[0.3, 0.02, 0.01], [0.02, 0.4, -0.03], [0.01, -0.03, 0.5]])


def pull(force, at=COM):
    """Force of coordinates (p, rows of A) by a force at a point of a rigid body: at the centre of mass, and a couple."""

    def of(q):
        arm = polar(q) @ (at - COM)
        return np.concatenate((force, np.outer(force, COM).ravel())) + couple(q, np.cross(arm, force))

    return of


LOADS = {
    "fallen": lambda q: 0.0,
    "turned": lambda q: couple(q, np.array([0.5, -1.0, 2.0])),
    "pushed": pull(np.array([3.0, -2.0, 1.0]), np.array([0.3, 0.2, 0.0])),
}


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_free_bodies_take_the_steps_of_the_formula(device, integrator):
    n = 60
    run = Run(FREE, device, n, ("bodies",), integrator=integrator)
    M, weight = mass_matrix(MASS, COM, INERTIA), pull(np.array([0.0, 0.0, -G * MASS]))
    pose, twist = (run.columns[f"frames/{name}"][:, 0] for name in ("body_q", "body_qd"))
    assert [event.code for event in run.events] == ["SC611"] * (integrator == "bdf1")
    for b, (name, load) in enumerate(LOADS.items()):
        R, spin = rot.quat_to_matrix(pose[0, b, 3:]), twist[0, b, 3:]
        rate = rot.skew(spin) @ R
        q = np.concatenate((pose[0, b, :3], R.ravel()))
        v = np.concatenate((twist[0, b, :3] - rate @ COM, rate.ravel()))
        stiffness = (1e6 if name == "turned" else 1e8) * 1e-3
        xs, vs = steps(q, v, M, stiffness, 0.01, n, integrator, lambda x, load=load: load(x) + weight(x))
        assert np.abs(vs[-1] - vs[0]).max() > 0.5
        for k in range(n + 1):
            np.testing.assert_allclose(rot.quat_to_matrix(pose[k, b, 3:]), polar(xs[k]), atol=EXACT)
            # The body frame is where the rigid body would have it, whose centre of mass is that of the affine one.
            centre = xs[k][:3] + xs[k][3:].reshape(3, 3) @ COM
            np.testing.assert_allclose(pose[k, b, :3] + polar(xs[k]) @ COM, centre, atol=EXACT)
            np.testing.assert_allclose(twist[k, b, :3], vs[k][:3] + vs[k][3:].reshape(3, 3) @ COM, atol=EXACT)


# Cubes of 64 kg and 0.4 m on hinges about the vertical; K = 6400 kg m^2 / dt^2 where nothing is said.
CUBE, H, K = 64.0 * 0.4**2 / 6.0, 0.01, 6400.0
HINGES = """
defaults:
  body: {mass: 64, inertia: {diag: ["${64*0.16/6}", "${64*0.16/6}", "${64*0.16/6}"]}}
  joint: {type: revolute, parent: world, axis: [0, 0, 1]}
bodies:
  driven: {pose: {xyz: [0, 0, 0]}}
  creeping: {pose: {xyz: [0, 2, 0]}}
  locked: {pose: {xyz: [0, 4, 0]}}
  base: {pose: {xyz: [0, 6, 0]}}
  turning: {pose: {xyz: [0, 6.5, 0]}}
  lifted: {pose: {xyz: [0, 8, 0]}}
  toggled: {pose: {xyz: [0, 10, 0]}}
  wrapped: {pose: {xyz: [0, 12, 0]}}
  cubic: {pose: {xyz: [0, 14, 0]}}
  hard: {pose: {xyz: [0, 16, 0]}}
  held: {pose: {xyz: [0, 18, 0]}}
  placed: {pose: {xyz: [0, 20, 0]}, affine: {transform: {pose: {xyz: [0.3, 20, 0.5]}}}}
  motor: {pose: {xyz: [0, 22, 0]}, affine: {energy: arap, transform: {linear: [2, 0, 0], angular: [0, 0, 3]}}}
  raw: {pose: {xyz: [0, 24, 0]}}
  latched: {pose: {xyz: [0, 26, 0]}}
  far: {pose: {xyz: [0, 28, 0]}}
  turned: {pose: {xyz: [0, 30, 0]}}
  jumping: {pose: {xyz: [0, 32, 0]}}
joints:
  driven: {child: driven, at: [0, 0, 0], driving: {aim_angle: $aim, is_constrained: true}}
  creeping: {child: creeping, at: [0, 2, 0], driving: {is_passive: true, is_constrained: true}}
  locked: {child: locked, at: [0, 4, 0], driving: {is_locked: true, is_constrained: true}}
  base: {type: fixed, child: base, at: [0, 6, 0]}
  turning: {child: turning, parent: base, at: [0, 6.5, 0], init_angle: 0.5,
            driving: {aim_angle: $fast, is_constrained: true}}
  lifted: {type: prismatic, child: lifted, at: [0, 8, 0], driving: {aim_distance: 0.02, is_constrained: true}}
  toggled: {child: toggled, at: [0, 10, 0], driving: {aim_angle: 0.3, is_constrained: true}}
  wrapped: {child: wrapped, at: [0, 12, 0], q: 6.3831853, driving: {aim_angle: 0.2, is_constrained: true, turns: one}}
  raw: {child: raw, at: [0, 24, 0], q: 3.3, driving: {aim_angle: 3, is_constrained: true, turns: one, stiffness: 1}}
  latched: {child: latched, at: [0, 26, 0], driving: {is_passive: true, is_constrained: true}}
  far: {child: far, at: [0, 28, 0], driving: {aim_angle: 3.3, is_constrained: true}}
  turned: {child: turned, at: [0, 30, 0], init_angle: 6, q: 6.5, driving: {aim_angle: -20, is_constrained: true}}
  jumping: {child: jumping, at: [0, 32, 0], driving: {aim_angle: $steps, is_constrained: true}}
  cubic: {child: cubic, at: [0, 14, 0], limit: {lower: -0.5, upper: 0.1, strength: 20}, damping: 60}
  hard: {child: hard, at: [0, 16, 0], limit: [-0.5, 0.1], damping: 60}
  held: {type: ball, child: held, at: [0, 18, 0], compliance: 1.0e-6}
forces:
  on_creeping: {type: torque, joint: creeping, value: 500}
  on_locked: {type: torque, joint: locked, value: 500}
  on_latched: {type: torque, joint: latched, value: 500}
  on_toggled: {type: torque, joint: toggled, value: 5}
  on_cubic: {type: torque, joint: cubic, value: 30}
  on_hard: {type: torque, joint: hard, value: 30}
signals:
  aim: {table: {time: [0, 0.5, 1], value: [0, 1, -1], interpolate: cubic}}
  fast: {ramp: {from: 0.5, to: "${0.5 + 6*pi}", end: 1}}
  steps: {table: {time: [0, 0.301, 0.601], value: [1, 5, 40], interpolate: previous}}
events:
  - {at: 0.2, set: {joints.toggled.driving.is_passive: true}}
  - {at: 0.3, set: {joints.latched.driving.is_passive: false, joints.latched.driving.is_locked: true}}
  - {at: 0.4, set: {joints.toggled.driving.is_constrained: false}}
  - {at: 0.6, set: {joints.toggled.driving.is_constrained: true, joints.toggled.driving.is_passive: false,
                    joints.toggled.driving.aim_angle: 0.5}}
solver: {type: affine, integrator: bdf1, dt: 0.01, tolerance: 1.0e-11}
run: {duration: 1}
"""
STEPS = 100


@pytest.fixture(scope="module")
def hinges():
    from support.device import live_device

    return Run(HINGES, live_device(), STEPS)


def aim(t):
    """The parabola through (0, 0), (0.5, 1), (1, -1), which three times of a table make."""
    return 5.0 * t - 6.0 * t**2


def test_driven_hinge_follows_its_aim_within_the_static_error(hinges):
    t = H * np.arange(STEPS + 1)
    error = hinges.q("driven") - aim(t)
    # Inertia times the largest acceleration, over the stiffness; of bdf1, whose second differences lag a step behind as they
    # turn, with h w^3 of it, 7 rad/s at the end. In the first step it is the jump of the velocity.
    bound = CUBE * (12.0 + H * 7.0**3) / (K / H**2)
    assert np.abs(error[3:]).max() < 1.1 * bound
    assert np.abs(error).max() > 0.3 * bound
    np.testing.assert_allclose(hinges.of_joint("joint_effort", "driven")[1:], -error[1:] * K / H**2, rtol=1e-6, atol=1e-4)


def test_passive_drive_creeps_as_derived_and_a_lock_does_not(hinges):
    creep, lock = hinges.q("creeping"), hinges.q("locked")
    assert np.diff(creep)[10:] / H == pytest.approx(500.0 * H / K, rel=1e-6)
    assert lock[10:] == pytest.approx(500.0 * H**2 / K, rel=1e-6)
    assert np.ptp(lock[10:]) < 1e-11
    latched = hinges.q("latched")
    assert latched[40:] == pytest.approx(latched[30] + 500.0 * H**2 / K, abs=1e-9)
    assert latched[30] == pytest.approx(30 * 500.0 * H**2 / K, rel=0.1)


def test_three_turns_are_six_pi(hinges):
    assert hinges.q("turning")[-1] == pytest.approx(0.5 + 6.0 * np.pi, abs=1e-5)
    assert np.diff(hinges.q("turning"))[2:] == pytest.approx(6.0 * np.pi * H, rel=1e-4)


def nearest(angle, last):
    return angle - 2 * np.pi * np.round((angle - last) / (2 * np.pi))


def test_aims_that_are_far_are_followed_the_short_way_of_the_last_angle(hinges):
    """Stiff drives are there after a step; inertia gives way by less than the static error of a turn in it."""
    assert hinges.q("far")[-1] == pytest.approx(3.3 - 2 * np.pi, abs=1e-7)
    assert hinges.q("turned")[-1] == pytest.approx(nearest(-20.0, 6.5), abs=1e-7)
    jumping, five = hinges.q("jumping"), nearest(5.0, 1.0)
    for step, aim in ((29, 1.0), (59, five), (99, nearest(40.0, five))):
        assert jumping[step] == pytest.approx(aim, abs=1e-7)


def test_prismatic_drive_gives_way_by_weight_over_both_of_its_rows(hinges):
    assert hinges.q("lifted")[-1] == pytest.approx(0.02 - 64.0 * G / (2.0 * K / H**2), abs=EXACT)


def test_switching_a_drive_leaves_its_angle_continuous(hinges):
    q = hinges.q("toggled")
    assert q[20] == pytest.approx(0.3 + 5.0 * H**2 / K, abs=1e-9)
    assert np.diff(q)[22:40] == pytest.approx(5.0 * H**2 / K, rel=1e-3)
    free = np.diff(q, 2)[41:58]
    assert free == pytest.approx(5.0 / CUBE * H**2, rel=1e-3)
    assert q[-1] == pytest.approx(0.5 + 5.0 * H**2 / K, abs=1e-9)
    assert np.abs(np.diff(q)[[19, 20, 39, 40, 59]]).max() < 0.01
    assert [event.code for event in hinges.events] == ["SC606"] * 4


def test_one_turn_drives_stay_on_the_raw_branch(hinges):
    assert hinges.q("wrapped")[-1] == pytest.approx(0.2 + 2.0 * np.pi, abs=1e-6)


def test_one_turn_drives_measure_no_short_way(hinges):
    """At 3.3 rad libuipc sees 3.3 - 2 pi, and pulls to 3 the long way: a pendulum about 3 + 2 pi."""
    far = 3.0 + 2.0 * np.pi
    expected = far + (3.3 - far) * np.cos(np.sqrt(1.0 / CUBE) * H * STEPS)
    assert hinges.q("raw")[-1] == pytest.approx(expected, rel=5e-3)


def test_limits_give_way_as_their_energies_say(hinges):
    over = np.sqrt(30.0 * H**2 * 0.6**3 / (3.0 * 20.0))
    assert hinges.q("cubic")[-1] == pytest.approx(0.1 + over, rel=1e-6)
    assert hinges.q("hard")[-1] == pytest.approx(0.1, abs=EXACT)
    assert hinges.q("hard").max() < 0.1 + EXACT
    assert hinges.of_joint("joint_effort", "hard")[-1] == pytest.approx(0.0, abs=1e-5)


def test_stiffness_is_that_of_the_scene(hinges):
    sag = hinges.columns["frames/body_q"][-1, 0, :, 2]
    assert sag[0] == pytest.approx(-64.0 * G / (2.0 * K / H**2), rel=1e-5)  # two points on the axis
    assert sag[10] == pytest.approx(-64.0 * G * 1e-6, rel=1e-5)
    for joint in ("driven", "lifted", "held", "cubic"):
        assert hinges.of_joint("joint_wrench", joint)[-1, :3] == pytest.approx([0, 0, 64.0 * G], rel=1e-4, abs=2.0), joint


def test_soft_holds_and_motors_follow_their_recurrences(hinges):
    """(1 + eta) x_(n+1) = 2 x_n - x_(n-1) + eta aim - g h^2, eta = 100: a hold leaves a tenth per step."""
    place, eta = hinges.columns["frames/body_q"][:, 0, 11:, :3], 100.0
    aim, x = np.array([0.3, 20.0, 0.5]), [np.array([0.0, 20.0, 0.0])] * 2
    for _ in range(STEPS):
        x.append((2.0 * x[-1] - x[-2] + eta * aim - np.array([0, 0, G * H**2])) / (1.0 + eta))
    np.testing.assert_allclose(place[:, 0], x[1:], atol=EXACT)
    speed = [0.0]
    for _ in range(STEPS):
        speed.append((speed[-1] + eta * 2.0) / (1.0 + eta))
    np.testing.assert_allclose(hinges.columns["frames/body_qd"][:, 0, 12, 0], speed, atol=1e-7)
    assert hinges.columns["frames/body_qd"][-1, 0, 12, 5] == pytest.approx(3.0, rel=2e-3)


def test_every_step_converges(hinges):
    assert not hinges.columns["diag/status"].any()
    assert hinges.columns["diag/residual"][1:].max() <= 1e-11
    assert hinges.columns["diag/iterations"].max() < 30


DT, ALPHA = 0.01, 100.0
DIFFERENCE = 1e-5  # step of central differences: errors of third derivatives, 1e-10, and rounding, 1e-11, relative
SAME = 2e-8  # relative, of what such differences leave
ROUNDING = 1e-13
ENERGIES_INERTIA = {"full": [[0.3, 0.02, 0.01], [0.02, 0.4, -0.03], [0.01, -0.03, 0.5]]}


def body(x, y, **more):
    return {
        "mass": 2.0,
        "com": [0.1, -0.05, 0.2],
        "inertia": ENERGIES_INERTIA,
        "pose": {"xyz": [x, y, 0.1], "rpy": [0.2, -0.1, 0.3]},
        "affine": {"stiffness": 3e4, "volume": 0.01},
        **more,
    }


JOINTS = {
    "turn": {
        "type": "revolute",
        "axis": [0.1, 0.2, 1],
        "damping": 0.7,
        "limit": [-0.1, 0.05],
        "init_angle": 0.2,
        "drive": {"mode": "position_velocity", "target": 0.4, "target_velocity": 1, "stiffness": 30, "damping": 3},
        "driving": {"aim_angle": 0.5, "is_constrained": True, "stiffness": 50},
    },
    "slide": {
        "type": "prismatic",
        "axis": [1, 0.3, 0],
        "limit": {"lower": -0.01, "upper": 0.02, "strength": 0.3},
        "driving": {"aim_distance": 0.1, "is_constrained": True, "is_passive": True, "stiffness": 40},
    },
    "both": {
        "type": "cylindrical",
        "axis": [0, 0.3, 1],
        "limit": [{"lower": -0.01, "upper": 0.01, "stiffness": 200, "damping": 2}, {"lower": -0.02, "upper": 0.02}],
        "damping": 0.3,
    },
    "stiff": {"type": "revolute", "axis": [0, 1, 0.2], "friction": 0.8, "armature": 2e-4, "motion": {"velocity": 2}},
    "weak": {
        "type": "cylindrical",
        "axis": [0.1, 1, 0],
        "velocity_limit": 2,
        "friction": [2, 3],
        "armature": [1e-3, 2e-3],
        "drive": [
            {"mode": "position", "target": 0.1, "stiffness": 60, "damping": 0.1, "effort_limit": 1},
            {"mode": "effort", "target": 3, "effort_limit": 1},
        ],
    },
    "geared": {"type": "revolute", "axis": [0, 0.2, 1], "mimic": {"joint": "turn", "ratio": -2}},
    "rack": {"type": "prismatic", "axis": [0, 0.2, 1], "mimic": {"joint": "stiff", "ratio": 0.3}},
    "ball": {"type": "ball"},
    "weld": {"type": "fixed"},
    "cross": {"type": "universal", "axes": {"angular": [[1, 0, 0], [0, 1, 0]]}},
    "plane": {"type": "planar", "axis": [0, 0, 1]},
    "orbit": {"type": "nc_orbital_revolute", "axis": [0, 0, 1], "parent_frame": {"xyz": [0.3, 0, 0]}, "child_frame": {}},
    "rod": {"type": "distance", "length": 0.6, "parent_frame": {"xyz": [0.1, 0, 0]}, "child_frame": {"xyz": [0, 0.1, 0]}},
}
SCENE = {
    "simcli": 1,
    "solver": {"type": "affine", "integrator": "bdf1", "dt": DT, "strength_ratio": 0.02},
    "bodies": {f"{end}{k}": body(0.5 * (end == "b"), k) for k in range(len(JOINTS)) for end in "ab"}
    | {"arap": body(0, 20, affine={"stiffness": 3e4, "volume": 0.01, "energy": "arap"})},
    "joints": {
        name: {
            "parent": f"a{k}",
            "child": f"b{k}",
            "loop": True,
            **({} if "child_frame" in joint else {"at": [0.25, k, 0]}),
            **joint,
        }
        for k, (name, joint) in enumerate(JOINTS.items())
    },
    "forces": {
        "cord": {
            "type": "spring",
            "a": {"body": "a0", "at": [0.1, 0, 0.2]},
            "b": {"world": [1, 1, 1]},
            "stiffness": 20,
            "damping": 0.5,
            "rest_length": 0.3,
        },
        "rope": {
            "type": "spring",
            "a": {"body": "a1", "at": [0, 0.1, 0]},
            "b": {"body": "b2", "at": [0, 0, 0.1]},
            "stiffness": 15,
            "rest_length": 0.4,
            "slack": True,
        },
        "load": {"type": "torque", "joint": "turn", "value": 2.0},
        "coil": {"type": "torsion", "joint": "turn", "stiffness": 7, "rest_angle": 0.3},
    },
}


def built(tmp_path, scene):
    path = tmp_path / "scene.yaml"
    path.write_text(yaml.safe_dump(scene, sort_keys=False))
    model = simcli.load(path)[0]
    return model, natural_form(model, State.of(model))


@ti.kernel
def evaluate(c: ti.template()):
    for w in range(c.state.n_blocks):
        c.tables.arena.enter(w)
        p = c.potential
        start_gradients(p.rows, w)
        extrapolate_laws(p.laws, w, c.step.weight, c.step.alpha, c.tables.arena.zero())
        c.step.energy.store(w, 0, find_energy(p, w, p.rows.next_x, c.step.alpha))
        follow_rows(p, w, p.rows.next_x)
        find_slopes(p, w, c.step.curve.load(w, 0))
        clear_matrix(p.matrix, w)
        for i in range(p.n):
            p.gradient.store(w, i, c.tables.arena.zero())
        add_gradient(p, w)
        add_hessian(p, w, c.step.curve.load(w, 0))


class Evaluation:
    """The energies of a model at coordinates, by the device."""

    def __init__(self, model, device):
        arena = Arena(device.for_worlds(4), 4)
        options = type(
            "Options",
            (),
            {"integrator": "bdf1", "tolerance": 1e-9, "max_iterations": 5, "max_velocity": 1e6, "friction_speed": 3.0},
        )
        self.core = AffineCore(model, options, RunPlan_of_energies(DT, 1, 1, frozenset(("state",))), arena)
        arena.build()
        self.core.tables.arena.upload()
        self.core.clear()
        self.n = self.core.potential.n
        self.core.step.alpha.write(np.full((1, model.n_bodies, 1), ALPHA))
        self.core.potential.length_now.write(np.full((1, self.core.potential.n_lengths, 1), 0.4))
        self.core.potential.laws.push.write(np.full((1, 2 * self.core.potential.laws.n, 1), 0.3))
        self.core.potential.laws.pull.write(np.full((1, self.core.potential.laws.n, 1), 0.4))

    def __call__(self, x, curve=1.0):
        """Energies (W,), gradients (W, n) at coordinates (W, n) of four worlds."""
        whole = np.zeros((4, self.core.potential.rows.next_x.n_items, 1))
        whole[:, : self.n, 0] = x
        self.core.potential.rows.next_x.write(whole)
        self.core.step.curve.write(np.full((1, 1, 1), curve))
        self.core.tables.arena.launch(evaluate, self.core)
        return self.core.step.energy.read()[:, 0, 0], self.core.potential.gradient.read()[..., 0]

    def hessian(self):
        """That of world 0 at the last coordinates."""
        matrix, values = self.core.potential.matrix, self.core.potential.matrix.factor.value.read()[0, :, 0]
        H = np.zeros((self.n, self.n))
        for (i, j), place in zip(matrix.ends, matrix.places, strict=True):
            H[i, j] = H[j, i] = values[place]
        return H


def test_gradient_and_hessian_are_those_of_finite_differences(tmp_path, device):
    _, model = built(tmp_path, SCENE)
    energies = Evaluation(model, device)
    x = model.joint_q[0, -energies.n :] + 0.05 * np.random.default_rng(3).standard_normal(energies.n)
    energy, gradient = energies(x)
    H = energies.hessian()
    scale, stiffness = np.abs(gradient[0]).max(), np.abs(H).max()
    assert energy[0] > 0.0
    assert scale > 1.0
    for first in range(0, energies.n, 2):
        lanes = np.tile(x, (4, 1))
        for lane in range(4):
            lanes[lane, first + lane // 2] += DIFFERENCE * (1 - 2 * (lane % 2))
        energy, slopes = energies(lanes)
        for k in range(2):
            i = first + k
            by_difference = (energy[2 * k] - energy[2 * k + 1]) / (2 * DIFFERENCE)
            assert by_difference == pytest.approx(gradient[0, i], abs=SAME * scale), i
            column = (slopes[2 * k] - slopes[2 * k + 1]) / (2 * DIFFERENCE)
            np.testing.assert_allclose(column, H[:, i], atol=SAME * stiffness, err_msg=str(i))
    energies(x, curve=0.0)
    assert np.linalg.eigvalsh(energies.hessian()).min() > -ROUNDING * stiffness


def test_rigidity_is_the_energy_of_the_paper(tmp_path, device):
    """The same number from the rows of A (numpy) as from its columns along the principal axes of mass."""
    scene = {"simcli": 1, "solver": {"type": "affine"}, "bodies": {"a": body(0, 0)}}
    model, natural = built(tmp_path, scene)
    stiffness = 3e4 * 0.01
    assert model.affine.shape_stiffness[0, 0] == pytest.approx(stiffness, rel=ROUNDING)
    energies = energies_of(natural)
    rng = np.random.default_rng(1)
    A = np.eye(3) + 0.3 * rng.standard_normal((3, 3))
    axes = natural.joint_q[0, -9:].reshape(3, 3)  # rows: the vectors at the start, orthonormal
    columns = (A @ axes.T).T
    phi = [columns[i] @ columns[j] - (i == j) for i in range(3) for j in range(i, 3)]
    expected, *_ = shape(np.concatenate((np.zeros(3), A.ravel())), stiffness)
    assert 0.5 * energies.stiffness[0] @ np.square(phi) == pytest.approx(expected, rel=ROUNDING)


def test_mass_matrix_is_that_of_the_equations(tmp_path):
    """T of p and A about the body's origin (numpy) equals that of the natural form, for any velocity."""
    scene = {"simcli": 1, "solver": {"type": "affine"}, "bodies": {"a": body(0, 0, pose={})}}
    _, model = built(tmp_path, scene)
    com, inertia = np.array([0.1, -0.05, 0.2]), np.array(ENERGIES_INERTIA["full"])
    M = mass_matrix(2.0, com, inertia)
    velocity = np.random.default_rng(2).standard_normal(12)
    axes = model.joint_q[0, -9:].reshape(3, 3)
    rates = np.concatenate(
        (velocity[:3] + velocity[3:].reshape(3, 3) @ com, (velocity[3:].reshape(3, 3) @ axes.T).T.ravel())
    )
    weight = (model.columns.weight - model.columns.excess)[0, -12:]
    assert weight @ np.square(rates) == pytest.approx(velocity @ M @ velocity, rel=ROUNDING)
