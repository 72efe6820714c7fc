"""Forces in natural coordinates, in steps without poses and in those of the general way: orders, closed forms, powers.

Flat bodies in contact in natural coordinates, where masses vanish; what contact does not take is refused; tables.

Natural coordinates in files: those that the scene chooses, from the same run; and what describes no body is refused.
"""

import json
from itertools import pairwise

import numpy as np
import pytest
import yaml
from support.forward import Runner, model_of
from support.process import simcli as command
from support.scenes import faults_of

import simcli
from simcli import rotations as rot
from simcli.model.forms.frame_pairs import pushes_of
from simcli.model.forms.natural_form import natural_form
from simcli.model.forms.polynomials import Forms
from simcli.model.joints.elimination import tree_dofs
from simcli.model.joints.state import State

STEPS = (4e-3, 2e-3, 1e-3)
DURATION = 0.4
LIMIT = 0.05  # what is left of the error at the finest step where the order is taken away
ROUNDING = 1e-12

# An arm on a hinge that drives, a carriage that slides and turns on it; springs, a torsion spring, a couple; nothing planar.
SMOOTH = """
bodies:
  arm: {mass: 1, inertia: {diag: [0.1, 0.12, 0.1]}}
  carriage:
    mass: 2
    inertia: {diag: [0.1, 0.14, 0.2]}
    com: [0.1, 0.05, 0]
    pose: {xyz: [1, 0, 0], rpy: [0.2, 0, 0.1]}
    points: {tip: [0.3, 0, 0.1]}
joints:
  hinge:
    type: revolute
    parent: world
    child: arm
    at: [-0.5, 0, 0]
    axis: [0, 1, 0.2]
    damping: 0.3
    armature: 0.2
    drive: {mode: position, target: $sweep, stiffness: 30, damping: 2}
  rail:
    type: cylindrical
    parent: arm
    child: carriage
    at: [0.5, 0, 0]
    axis: [0, 0.1, 1]
    qd: [0.5, 2]
    damping: [1, 0.2]
    armature: [0.3, 0.1]
    drive: [{mode: position_velocity, target: 0.2, target_velocity: 0.1, stiffness: 40, damping: 1}, null]
signals: {sweep: {sine: {amplitude: 1, frequency: 2}}}
forces:
  cord: {type: spring, a: {world: [0.5, 0.3, 1]}, b: carriage/tip, stiffness: 100, damping: 1, rest_length: 0.5}
  coil: {type: torsion, joint: hinge, stiffness: 20, damping: 0.1, rest_angle: 1}
  motor: {type: torque, joint: rail, value: [1, 0.5]}
"""
# Besides: wrenches that follow and that do not; a jump where a step begins.
PUSHED = (
    SMOOTH.replace("signals: {", "signals: {gust: {step: {time: 0.2, before: 3, after: -20}}, ")
    + """
  wind: {type: wrench, body: carriage, force: [1, $gust, 3], torque: [0.2, 1, 1], at: [0.1, 0, 0.2]}
  jet: {type: wrench, body: arm, force: [1, 2, 3], torque: [0.2, 1, 1], at: [0.1, 0, 0.2], frame: body}
"""
)
# A law that stops nothing, but keeps steps on the general way.
GENERAL = SMOOTH.replace("damping: 0.3", "damping: 0.3\n    limit: [-9, 9]")
BALL = """
bodies: {a: {mass: 1, inertia: {diag: [0.1, 0.12, 0.15]}, com: [0.3, 0, 0]}}
joints: {b: {type: ball, parent: world, child: a, qd: [1, 2, 3], armature: [0.2, 0.1, 0.3], damping: 0.1}}
"""
RAIL = SMOOTH[SMOOTH.index("    qd: [0.5, 2]") : SMOOTH.index("signals:")]
YIELDING = SMOOTH.replace(RAIL, "    compliance: 1.0e-2\n    loop: true\n").replace(
    "  motor: {type: torque, joint: rail, value: [1, 0.5]}\n", ""
)


def solver(kind, integrator):
    return f"solver: {{type: {kind}, dt: 1.0e-3, integrator: {integrator}}}\n"


def ends(text, kind, integrator, device, steps=STEPS):
    """Poses at the end, and energies, by step."""
    runner = Runner(text + solver(kind, integrator), integrator, device, frozenset(("bodies", "energy")))
    found = [runner(h, round(DURATION / h), 1) for h in steps]
    assert all(one["diag/status"].max() == 0 for one in found)
    return [one["frames/body_q"][-1, 0] for one in found], [
        {k: one[f"energy/{k}"][-1, 0] for k in ("dissipated", "input", "drift", "total")} for one in found
    ]


def check_order_two(text, integrator, device, wanted, slack=0.1):
    (coarse, middle, fine), energies = ends(text, "natural", integrator, device)
    ratio = np.linalg.norm(coarse - middle) / np.linalg.norm(middle - fine)
    assert abs(ratio - 4) < slack, ratio
    limit = fine + (fine - middle) / 3
    assert np.abs(limit - wanted[0]).max() < LIMIT * np.abs(fine - wanted[0]).max()
    for key in ("dissipated", "input", "total"):
        errors = [abs(one[key] - wanted[1][key]) for one in energies]
        assert errors[2] < max(0.3 * errors[1], 1e-7), (key, errors)
    drifts = [abs(one["drift"]) for one in energies]
    assert drifts[2] < max(0.3 * drifts[1], 1e-7), drifts


def by_rk4(text, device, h=1e-3):
    poses, energies = ends(text, "generalized", "rk4", device, (h,))
    return poses[0], energies[0]


@pytest.fixture(scope="module")
def smooth():
    from support.device import live_device

    return by_rk4(SMOOTH, live_device())


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["zhong06", "generalized_alpha"])
def test_smooth_forces_to_order_two(smooth, device, integrator):
    check_order_two(SMOOTH, integrator, device, smooth)


def slow(*values):
    """A case that is left out of the default run."""
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("text", "integrator"),
    [
        slow(PUSHED, "generalized_alpha"),
        slow(PUSHED, "zhong06"),
        slow(YIELDING, "generalized_alpha"),
        slow(BALL, "zhong06"),
        (GENERAL, "zhong06"),
    ],
    ids=["pushed", "pushed, general way", "yielding", "ball", "general"],
)
def test_more_forces_to_order_two(device, text, integrator):
    check_order_two(text, integrator, device, by_rk4(text, device, 2.5e-4 if text == YIELDING else 1e-3), 0.15)


# A flywheel on a torsion spring, over several turns between two frames, and a mass on a spring: both damped, with rotors.
TWO = """
world: {gravity: [0, 0, 0]}
bodies:
  wheel: {mass: 1, inertia: {diag: [0.2, 0.2, 0.3]}}
  block: {mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 3, 0]}, points: {c: [0, 0, 0]}}
joints:
  pin: {type: revolute, parent: world, child: wheel, at: [0, 0, 0], axis: [0, 0, 1], qd: 20, armature: 0.2, damping: 0.1}
  rail: {type: prismatic, parent: world, child: block, at: [0, 3, 0], axis: [1, 0, 0], qd: 1, armature: 0.5}
forces:
  coil: {type: torsion, joint: pin, stiffness: 2, rest_angle: 1}
  spring: {type: spring, a: {world: [-2, 3, 0]}, b: block/c, stiffness: 50, damping: 3, rest_length: 1.8}
  push: {type: wrench, body: block, force: [4, 0, 0]}
"""


def damped(t, inertia, c, k, rest, speed):
    """q(t) of inertia q'' + c q' + k (q - rest) = 0 from q = 0 at a speed."""
    decay = 0.5 * c / inertia
    omega = np.sqrt(k / inertia - decay * decay)
    return rest + np.exp(-decay * t) * (-rest * np.cos(omega * t) + (speed - decay * rest) / omega * np.sin(omega * t))


def test_damped_oscillators_in_closed_form(device):
    runner = Runner(TWO + solver("natural", "generalized_alpha"), "generalized_alpha", device, frozenset(("joints",)))
    wanted = np.array([damped(0.8, 0.5, 0.1, 2.0, 1.0, 20.0), damped(0.8, 2.5, 3.0, 50.0, -0.2 + 4 / 50, 1.0)])
    assert abs(wanted[0]) > 2.5 * np.pi
    errors = [np.abs(runner(h, round(0.8 / h), 1)["frames/joint_q"][-1, 0, :2] - wanted) for h in STEPS]
    assert np.all(errors[2] < (1e-2, 1e-5)), errors
    for one, other in pairwise(errors):
        assert np.all(np.abs(one / other - 4) < 0.1), errors


BALL_IN_THE_WIND = """
bodies: {ball: {mass: 2, inertia: {diag: [0.5, 0.5, 0.5]}, velocity: {angular: [3, 2, 1]}}}
forces: {wind: {type: wrench, body: ball, torque: [0, 1, -2]}}
"""


def test_a_torque_turns_with_what_it_acts_on(device):
    """Of equal inertias: the spin grows along the torque alone, whatever the spin before."""
    runner = Runner(BALL_IN_THE_WIND + solver("natural", "zhong06"), "zhong06", device, frozenset(("bodies",)))
    wanted = np.array([3.0, 2.0, 1.0]) + 0.8 / 0.5 * np.array([0.0, 1.0, -2.0])
    errors = [np.abs(runner(h, round(0.8 / h), 1)["frames/body_qd"][-1, 0, 0, 3:] - wanted).max() for h in STEPS]
    assert errors[2] < 1e-7, errors
    assert all(one / other > 3.9 for one, other in pairwise(errors)), errors


EVENT = (
    SMOOTH
    + """
events:
  - {at: 0.2, set: {forces.cord.stiffness: 300}}
"""
)


@pytest.mark.slow
def test_an_event_starts_the_recurrences_anew(tmp_path):
    found = []
    for kind, integrator, h in (("generalized", "rk4", 1e-3), *(("natural", "generalized_alpha", h) for h in STEPS)):
        path = tmp_path / f"{integrator}{h}.yaml"
        text = EVENT + f"run: {{duration: {DURATION}}}\noutput: {{every: 0.4, channels: [bodies]}}\n"
        path.write_text("simcli: 1\n" + text + solver(kind, integrator).replace("1.0e-3", f"{h}"))
        ended = command("run", path, "-o", path.with_suffix(".h5"), "-q")
        assert ended.returncode == 0, ended.stderr
        with simcli.open(path.with_suffix(".h5")) as run:
            found.append(run.read("frames/body_q")[-1, 0])
    exact, coarse, middle, fine = found
    ratio = np.linalg.norm(coarse - exact) / np.linalg.norm(middle - exact)
    assert abs(ratio - 4) < 0.2, ratio
    assert np.abs(fine + (fine - middle) / 3 - exact).max() < LIMIT * np.abs(fine - exact).max()


@pytest.mark.parametrize("place", ["space", "plane"])
def test_terms_of_wrenches_do_their_work(tmp_path, place):
    """Force times velocity of its point plus torque times spin, of a rigid motion at random."""
    path = tmp_path / "scene.yaml"
    text = yaml.safe_load("simcli: 1\n" + PUSHED + solver("natural", "generalized_alpha"))
    if place == "plane":
        one = {
            "mass": 1,
            "inertia": {"diag": [0.1, 0.2, 0.1]},
            "com": [0.1, 0, 0.2],
            "pose": {"xyz": [1, 0, 0], "rpy": [0, 1, 0]},
        }
        world, follows = (
            {"type": "wrench", "body": "arm", "force": [1, 0, 3], "torque": [0, 2, 0], "at": [0.3, 0, 0.2], "frame": frame}
            for frame in ("world", "body")
        )
        text = {
            "simcli": 1,
            "world": {"plane": "xz"},
            "bodies": {"arm": one},
            "forces": {"f": world, "g": follows},
            "solver": {"type": "natural", "dt": 1e-3},
        }
    path.write_text(yaml.safe_dump(text, sort_keys=False))
    scene = simcli.load(path)[0]
    state = State.of(scene)
    model = natural_form(scene, state)
    forms, order = Forms(model), tree_dofs(model)
    pushes = pushes_of(forms)
    random, links, qd = np.random.default_rng(0), model.links, np.zeros(model.n_qd)
    wanted, spins, speeds = 0.0, random.normal(size=(model.n_bodies, 3)), random.normal(size=(model.n_bodies, 3))
    if place == "plane":
        spins, speeds = spins * [0, 1, 0], speeds * [1, 0, 1]
    for b in range(model.n_bodies):
        numbers = model.joint_q[0, links.q_start[b] :][: links.n_qd[b]].reshape(-1, 3)
        rates = np.concatenate([speeds[b : b + 1], np.cross(spins[b], numbers[1:])])
        qd[links.qd_start[b] :][: links.n_qd[b]] = rates.ravel()
    wrenches, loads = model.wrenches, []
    for k, b in enumerate(wrenches.body):
        R = rot.quat_to_matrix(state.body_q[0, b, 3:])
        force, torque = wrenches.force[0, k] + [0, 3.0 * (place == "space" and k == 0), 0], wrenches.torque[0, k]
        turn = R if wrenches.follows[k] else np.eye(3)
        arm = R @ (wrenches.point[0, k] - model.bodies.com[0, b])
        wanted += turn @ force @ (speeds[b] + np.cross(spins[b], arm)) + turn @ torque @ spins[b]
        to_link = links.body_rotation[0, b] if wrenches.follows[k] else np.eye(3)
        loads += [to_link @ force, to_link @ torque]
    loads = np.concatenate(loads)
    x = np.full(len(order), np.nan)
    for first, start, n in zip(links.qd_start, links.q_start, links.n_qd, strict=True):
        for i in range(n):
            if forms.unknown[first + i] >= 0:
                x[forms.unknown[first + i]] = model.joint_q[0, start + i]
    of_forms = [form.constant[0] + sum(b[0] * x[i] for i, b in form.coef.items()) for form in forms.forms]
    x = np.concatenate([x, of_forms, [1.0]])
    power = sum(qd[order[one.at]] * one.weight[0] * loads[one.component] * x[one.form] for one in pushes)
    assert abs(power - wanted) < ROUNDING * 100, (power, wanted)


def test_what_switches_is_refused_by_name(tmp_path):
    path = tmp_path / "scene.yaml"
    text = (
        SMOOTH.replace("damping: 0.3", "friction: 0.1\n    limit: [-1, 1]")
        + """
"""
    )
    axes = "axes: {angular: [[1, 0, 0], [0, 1, 0]]}"
    text = text.replace("type: cylindrical", "type: universal").replace("axis: [0, 0.1, 1]", axes)
    path.write_text("simcli: 1\n" + text + solver("natural", "generalized_alpha"))
    ended = command("check", path)
    assert ended.returncode == 1
    for words in ("a limit", "dry friction"):
        assert f"{words} with generalized_alpha" in ended.stderr, ended.stderr
    for words in ("a drive", "damping", "armature", "a torque"):
        assert f"{words} on a `universal` joint of several turns with generalized_alpha" in ended.stderr, ended.stderr


GRAVITY = 9.81
FIRST_ORDER = 1.0  # [m/s]: a third of the speed of a fall
SOLVER = "solver: {type: natural, dt: 1.0e-3, integrator: moreau}\n"
# A plate on three feet that slides and spins on the ground; its inertias make it flat.
PLATE = """
world: {shapes: {ground: {type: plane, material: rubber}}}
materials: {rubber: {friction: MU}}
bodies:
  plate:
    mass: 2
    inertia: {diag: [0.04, 0.03, 0.07]}
    pose: {xyz: [0, 0, 0.05]}
    velocity: {linear: [1, 0, 0], angular: [0, 0, SPIN]}
    shapes:
      a: {type: sphere, radius: 0.05, pose: {xyz: [0.3, 0.2, 0]}, material: rubber}
      b: {type: sphere, radius: 0.05, pose: {xyz: [-0.3, 0.2, 0]}, material: rubber}
      c: {type: sphere, radius: 0.05, pose: {xyz: [0, -0.3, 0]}, material: rubber}
"""
ROD = """
world: {shapes: {ground: {type: plane}}}
bodies:
  rod: {mass: 1, inertia: {diag: [0, 0.1, 0.1]}, pose: {xyz: [0, 0, 1]}, shapes: {s: {type: sphere, radius: 0.1}}}
"""


@pytest.mark.slow
def test_a_flat_plate_slides_to_rest(device):
    h, mu, time = 1e-3, 0.2, 0.2
    runner = Runner(PLATE.replace("MU", str(mu)).replace("SPIN", "0") + SOLVER, "moreau", device)
    one = runner(h, round(time / h), 1)
    slowed = mu * GRAVITY * time
    assert one["diag/status"].max() == 0
    assert one["frames/body_qd"][-1, 0, 0] == pytest.approx([1 - slowed, 0, 0, 0, 0, 0], abs=1e-6)
    assert one["frames/body_q"][-1, 0, 0, 0] == pytest.approx(time - 0.5 * slowed * time, abs=slowed * h)
    assert one["energy/dissipated"][-1, 0] == pytest.approx(1 - (1 - slowed) ** 2, abs=1e-6)
    assert abs(one["energy/drift"][-1, 0]) < 1e-8


@pytest.mark.slow
def test_a_flat_plate_falls_as_in_maximal_coordinates(device):
    """From heights and tilted: the mean of where plates come to rest differs by order one in the step.

    Each plate alone does not: where in a step a foot lands decides how friction shares the impulse of two steps, 1 mm.
    """
    heights = 0.5 + 0.012 * np.arange(16) / 16  # of a few steps of falling, at 3 m/s
    text = PLATE.replace("MU", "0.5").replace("SPIN", "3").replace("[0, 0, 0.05]", "[0, 0, '${z}'], rpy: [0.3, 0.2, 0]")
    text += f"params: {{z: 0.5}}\nbatch: {{worlds: {len(heights)}, vary: {{params.z: {{list: {heights.tolist()}}}}}}}\n"
    runners = [
        Runner(text + solver, integrator, device)
        for solver, integrator in ((SOLVER, "moreau"), ("solver: {type: maximal, dt: 1.0e-3}\n", "semi_implicit"))
    ]
    for h in (2e-3, 1e-3, 5e-4):
        found = [runner(h, round(0.6 / h), 1) for runner in runners]
        assert all(one["diag/status"].max() == 0 for one in found)
        rest, other = (one["frames/body_q"][-1, :, 0].mean(axis=0) for one in found)
        assert np.abs(rest - other).max() < FIRST_ORDER * h


def test_a_rod_that_contact_would_spin_is_refused():
    found = faults_of(ROD + SOLVER)
    assert [code for code, _, _ in found] == ["SC452"], found
    assert "no inertia about its axis" in found[0][2]


def test_a_joint_that_leads_a_kinematic_body_cannot_yield():
    found = faults_of(
        """bodies: {k: {kinematic: true}}
joints: {j: {type: revolute, parent: world, child: k, at: [0, 0, 0], motion: {velocity: 1}, loop: false, compliance: 0.01}}
"""
        + SOLVER
    )
    assert [code for code, _, _ in found] == ["SC470"], found
    assert "`compliance` would be ignored" in found[0][2]


@pytest.mark.parametrize(
    ("told", "worlds"), [("inertia: {diag: [0.1, 0.1, 0.1]}", 1), ("inertia: point, natural: {kind: 1P}", 2)]
)
def test_starts_that_differ_between_worlds_change_no_table(told, worlds):
    """Vectors tell the attitude of a body; where it has none, nothing tells it, and it stays as it begins."""
    vary = "{'bodies.b.pose.rpy[1]': {list: [0.1, 0.4]}}"
    model, _ = model_of(
        f"bodies: {{b: {{mass: 1, {told}, pose: {{rpy: [0, 0.1, 0]}}}}}}\n"
        f"batch: {{worlds: 2, vary: {vary}}}\nsolver: {{type: natural}}\n"
    )
    links = natural_form(model, State.of(model)).links
    assert len(links.body_rotation) == len(links.body_offset) == worlds


SCENE = """
simcli: 1
bodies:
  crank: {mass: 1, com: [0.2, 0, 0], inertia: {diag: [0.01, 0.02, 0.02]}, pose: {rpy: [0.3, 0.1, 0.2]}}
  plate:
    mass: 1
    com: [0, 0.1, 0]
    inertia: {diag: [0.02, 0.03, 0.05]}
    pose: {xyz: [0, 1, 0], rpy: [1, 0.5, 0]}
    points: {a: [0, 0, 0.1], b: [0.4, 0, 0]}
    natural: {kind: 2P2V, points: [a, b], vectors: [[0, 2, 0.3], [0.1, 0, 1]]}
  quad: {mass: 1, inertia: {diag: [0.02, 0.03, 0.05]}, pose: {xyz: [0, 2, 0]}, natural: 4P}
  trio: {mass: 1, inertia: {diag: [0.02, 0.03, 0.04]}, pose: {xyz: [0, 3, 0]}, natural: 3P1V}
  rod: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0, 0.1, 0.1]}, pose: {xyz: [0, 4, 0]}, natural: 2P}
  bead: {mass: 1, inertia: point, pose: {xyz: [0, 5, 0], rpy: [0.3, 0, 0.5]}, natural: 1P}
joints: {pin: {type: revolute, parent: world, child: crank, axis: [0, 1, 0], qd: 2}}
run: {duration: 0.02}
output: {every: 0.01, select: SELECT}
solver: {type: natural, dt: 1.0e-3}
"""
CHOSEN = {  # points, vectors in the body frame; those that are not written by the rules of docs/natural.md
    "crank": ("1P3V", [[0, 0, 0]], np.eye(3)),
    "plate": ("2P2V", [[0, 0, 0.1], [0.4, 0, 0]], [[0, 2, 0.3], [0.1, 0, 1]]),
    "quad": ("4P", [[0, 0, 0], *np.eye(3)], np.zeros((0, 3))),
    "trio": ("3P1V", [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 1]]),
    "bead": ("1P", [[0, 0, 0]], np.zeros((0, 3))),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("natural")
    (folder / "a.yaml").write_text(SCENE.replace("SELECT", '["*"]'))
    ended = command("run", folder / "a.yaml", "-o", folder / "a.h5", "-q")
    assert ended.returncode == 0, ended.stderr
    return folder / "a.h5"


def entities(pose, points, vectors):
    """Points and vectors of a body, in the world, one after the other."""
    R = rot.quat_to_matrix(pose[..., 3:])
    placed = np.concatenate([pose[..., :3] + R @ point for point in points], axis=-1)
    return np.concatenate([placed, *(R @ vector for vector in vectors)], axis=-1)


def test_frames_hold_the_coordinates_that_the_scene_chooses(run):
    with simcli.open(run) as seen:
        for name, (_, points, vectors) in CHOSEN.items():
            expected = entities(seen.body(name).pose[...], np.array(points, float), np.array(vectors, float))
            assert seen.body(name).natural_q.shape == expected.shape
            np.testing.assert_allclose(seen.body(name).natural_q, expected, atol=1e-14, rtol=0)
        turn = rot.quat_from_rpy(np.array([0.3, 0.0, 0.5]))  # a point keeps the attitude of its shapes
        np.testing.assert_allclose(seen.body("bead").pose[:, 0, 3:], np.tile(turn, (3, 1)), atol=1e-15, rtol=0)
        rod, p = seen.body("rod").natural_q[...], seen.body("rod").position[...]
        assert np.abs(np.linalg.norm(rod[..., 3:] - rod[..., :3], axis=-1) - 1.0).max() < 1e-12
        assert np.abs(np.linalg.norm(rod[..., :3] - p, axis=-1) - 0.5).max() < 1e-12
        assert np.ptp(seen.body("crank").natural_q[:, 0], axis=0).max() > 0.01
        assert seen.naturals[12:18] == (
            "plate:2P2V.a.x",
            "plate:2P2V.a.y",
            "plate:2P2V.a.z",
            "plate:2P2V.b.x",
            "plate:2P2V.b.y",
            "plate:2P2V.b.z",
        )


def test_info_names_the_kinds(run):
    found = json.loads(command("info", run, "--json").stdout)
    assert found["naturals"] == ["crank:1P3V", "plate:2P2V", "quad:4P", "trio:3P1V", "rod:2P", "bead:1P"]
    assert "plate:2P2V" in command("info", run).stdout


@pytest.mark.slow
def test_a_selection_cuts_them(tmp_path, run):
    (tmp_path / "b.yaml").write_text(SCENE.replace("SELECT", "[plate, rod]"))
    ended = command("run", tmp_path / "b.yaml", "-o", tmp_path / "b.h5", "-q")
    assert ended.returncode == 0, ended.stderr
    with simcli.open(run) as whole, simcli.open(tmp_path / "b.h5") as part:
        assert len(part.naturals) == 18
        for name in ("plate", "rod"):
            assert np.array_equal(part.body(name).natural_q[...], whole.body(name).natural_q[...])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("natural: 4P", "natural: 3P", "describes a body in a plane"),
        ("vectors: [[0, 2, 0.3], [0.1, 0, 1]]", "vectors: [[0, 2, 0.3]]", "`2P2V` has 2 vectors, but 1 are given"),
        ("b: [0.4, 0, 0]", "b: [0, 0, 0.1]", "body `plate` has two points at one place"),
        ("[[0, 2, 0.3], [0.1, 0, 1]]", "[[0, 2, 0.3], [0, 4, 0.6]]", "body `plate` has dependent points and vectors"),
        ("[a, b]", "[a, c]", "has no point `c`"),
    ],
)
def test_what_describes_no_body_is_refused(tmp_path, old, new, words):
    (tmp_path / "a.yaml").write_text(SCENE.replace("SELECT", '["*"]').replace(old, new))
    ended = command("run", tmp_path / "a.yaml", "--dry-run")
    assert ended.returncode == 3
    assert words in ended.stderr
    assert "a.yaml:" in ended.stderr
