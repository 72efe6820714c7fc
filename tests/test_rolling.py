"""Wheels and blades on a plane: closed forms, an independent integration, orders, energy, agreement of solvers, refusals.

Modes about steady motions: the bicycle of Meijaard, Papadopoulos, Ruina and Schwab (2007), a coin in a straight run and in
turns, a governor, and what is no steady motion.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from support.device import live_device
from support.forward import Runner, model_of
from support.process import told_here
from support.scenes import faults_of, scene

import simcli
from simcli.analysis.rest.modes import refuse_modes
from simcli.analysis.rest.steady_modes import steady_study
from simcli.errors import Exit, SceneError
from simcli.model import build_worlds
from simcli.spec import resolve
from simcli.view.drawing.drawing_tables import tables_of
from simcli.view.drawing.scene import joint_items

G = 9.81
BICYCLE = Path(simcli.__file__).parent.parent / "scenes" / "bicycle.yaml"
MASS, ACROSS, ALONG = 2.0, 0.05, 0.1  # [kg, kg m^2] of a coin, moments about a diameter and about its axis
RADIUS, TUBE = 0.25, 0.05  # [m], of its rim's centre line and section
TIME = 0.4  # [s]
CHANNELS = frozenset(("state", "energy", "reactions"))
ROUNDING, SLIP = 1e-10, 1e-9  # [m], [m/s]
# Order, and error of the place for steps of 2 ms: five times what was measured.
STEPS = {
    ("generalized", "rk4"): (4, 1e-9),
    ("generalized", "semi_implicit"): (1, 6e-3),
    ("generalized", "implicit"): (2, 2e-4),
    ("maximal", "semi_implicit"): (1, 6e-3),
}


def skew(v):
    zero = v[0] * 0
    return np.array([[zero, -v[2], v[1]], [v[2], zero, -v[0]], [-v[1], v[0], zero]])


def lever_of(axis, radius, tube, normal=(0.0, 0.0, 1.0)):
    """From the centre of a wheel to where it touches: down in its plane, then down."""
    n = np.asarray(normal)
    p = n - (n @ axis) * axis
    return -radius * p / np.linalg.norm(p) - tube * n


def rolled(start, spin, centre, time, tube=TUBE):
    """Place, rotation and angular velocity of a coin after a time, by Newton and Euler about the point that touches.

    The force at the point is m (v' - g) with v = -w x l, so that I w' + w x I w = l x m (v' - g).
    """

    def rates(_t, y):
        Q, w = Rotation.from_quat(y[3:7]).as_matrix(), y[7:]
        axis, n = Q[:, 1], np.array([0, 0, 1.0])
        turned = np.cross(w, axis)
        p, change = n - axis[2] * axis, -turned[2] * axis - axis[2] * turned
        size = np.linalg.norm(p)
        u, swing = -p / size, -(change - p * (p @ change) / size**2) / size
        lever = RADIUS * u - tube * n
        inertia = ACROSS * np.eye(3) + (ALONG - ACROSS) * np.outer(axis, axis)
        pull = np.cross(lever, -np.cross(w, RADIUS * swing) + G * n) * MASS - np.cross(w, inertia @ w)
        alpha = np.linalg.solve(inertia - MASS * skew(lever) @ skew(lever), pull)
        vector, scalar = y[3:6], y[6]
        turn = 0.5 * np.array([*(scalar * w + np.cross(w, vector)), -w @ vector])
        return [*(-np.cross(w, lever)), *turn, *alpha]

    first = [*centre, *start.as_quat(), *spin]
    y = solve_ivp(rates, (0, time), first, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return y[:3], Rotation.from_quat(y[3:7]).as_matrix(), y[7:]


def listed(numbers):
    """Numbers as YAML has them."""
    return [float(x) for x in numbers]


def coin(solver="generalized", lean=0.3, spin=(0.1, 4.0, 0.5), tube=TUBE, extra="", **inertia):
    """Scene of a coin that leans and rolls, its rates those of rolling."""
    start = Rotation.from_euler("x", lean)
    lever = lever_of(start.as_matrix()[:, 1], RADIUS, tube)
    rates = [*map(float, -np.cross(spin, lever)), *map(float, spin)]
    quat, height = [float(x) for x in start.as_quat()], float(-lever[2])
    moments = inertia.get("inertia", [ACROSS, ALONG, ACROSS])
    return f"""
world: {{gravity: [0, 0, -{G}]}}
bodies:
  coin: {{mass: {MASS}, inertia: {{diag: {moments}}}, pose: {{xyz: [0.3, 0.7, {height!r}], quat_xyzw: {quat}}}}}
joints:
  roll: {{type: rolling, parent: world, child: coin, axis: [0, 1, 0], radius: {RADIUS + tube}, tube: {tube}, qd: {rates}}}
solver: {{type: {solver}, dt: 2e-3}}
run: {{duration: {TIME}}}
{extra}"""


@pytest.mark.parametrize(
    ("solver", "integrator"),
    [pytest.param(*key, marks=[] if key[1] == "rk4" or key[0] == "maximal" else [pytest.mark.full]) for key in STEPS],
)
def test_a_coin_rolls_as_newton_and_euler_say(device, solver, integrator):
    order, bound = STEPS[solver, integrator]
    spin = np.array([0.1, 4.0, 0.5])
    height = -lever_of(Rotation.from_euler("x", 0.3).as_matrix()[:, 1], RADIUS, TUBE)[2]
    place, turn, rate = rolled(Rotation.from_euler("x", 0.3), spin, [0.3, 0.7, height], TIME)
    run = Runner(coin(solver), integrator, device, CHANNELS)
    errors = []
    for dt in (2e-3, 1e-3):
        frames = run(dt, round(TIME / dt / 4), 4)
        pose, twist = frames["frames/body_q"][:, 0, 0], frames["frames/body_qd"][:, 0, 0]
        found = Rotation.from_quat(pose[-1, 3:]).as_matrix()
        errors.append(
            max(np.abs(pose[-1, :3] - place).max(), np.abs(found - turn).max(), np.abs(twist[-1, 3:] - rate).max())
        )
        axes = Rotation.from_quat(pose[:, 3:]).as_matrix()[:, :, 1]
        levers = np.array([lever_of(axis, RADIUS, TUBE) for axis in axes])
        slip = twist[:, :3] + np.cross(twist[:, 3:], levers)
        assert np.abs(pose[:, 2] + levers[:, 2]).max() < ROUNDING  # it stays on the plane
        assert np.abs(slip[:, : 2 if order == 1 else 3]).max() < SLIP  # whose gap has no rate but for steps of first order
    assert errors[0] < bound
    assert errors[1] < errors[0] * 0.65**order


def test_energy_stays_and_the_reaction_is_what_accelerates(device):
    """The plane does no work; its force is m (a - g) of a coin that turns steadily, its torque none about the point."""
    run = Runner(coin(), "rk4", device, CHANNELS)
    frames = run(1e-3, 20, 20)
    assert np.ptp(frames["energy/total"][:, 0]) < 1e-9
    wrench, pose = frames["frames/joint_wrench"][:, 0, 0], frames["frames/body_q"][:, 0, 0]
    axes = Rotation.from_quat(pose[:, 3:]).as_matrix()[:, :, 1]
    for axis, (*force, mx, my, mz) in zip(axes, wrench, strict=True):
        assert np.abs(np.cross(lever_of(axis, RADIUS, TUBE), force) - [mx, my, mz]).max() < 1e-9


TABLE = """
world: {gravity: [0, 0, -9.81]}
bodies:
  table: {mass: 1, inertia: {diag: [1, 1, 1]}}
  ball: {mass: 0.7, inertia: {diag: [0.0028, 0.0028, 0.0028]}, pose: {xyz: [0.5, 0, 0.1]}}
joints:
  spin: {type: revolute, parent: world, child: table, axis: [0, 0, 1], motion: {velocity: 3}}
  roll: {type: rolling, parent: table, child: ball, axis: [0, 1, 0], radius: 0.1, tube: 0.1LOOP}
solver: {type: SOLVER, dt: 1e-3}
run: {duration: 0.5}
"""


@pytest.mark.parametrize(
    ("solver", "loop", "integrator", "bound"),
    [
        ("generalized", "", "rk4", 1e-9),
        pytest.param("generalized", ", loop: true", "rk4", 1e-9, marks=pytest.mark.full),
        pytest.param("maximal", "", "semi_implicit", 3e-3, marks=pytest.mark.full),
    ],
)
def test_a_ball_on_a_turntable_goes_in_circles(device, solver, loop, integrator, bound):
    """A homogeneous ball on a table that turns at W: v' = 2/7 W z x v, from rest where W z x r holds the point."""
    run = Runner(TABLE.replace("LOOP", loop).replace("SOLVER", solver), integrator, device, CHANNELS)
    pose = run(1e-3, 500, 1)["frames/body_q"][-1, 0, 1]
    start, speed, rate = np.array([0.5, 0.0]), run.model, 2.0 / 7.0 * 3.0
    first = run(1e-3, 1, 1)["frames/body_qd"][0, 0, 1, :2]
    del speed
    centre = start + np.array([-first[1], first[0]]) / rate
    turn = Rotation.from_euler("z", rate * 0.5).as_matrix()[:2, :2]
    assert np.abs(pose[:2] - centre - turn @ (start - centre)).max() < bound


SLEIGH = """
bodies:
  sleigh: {mass: 2.0, com: [0.3, 0, 0], inertia: {diag: [0.05, 0.1, 0.08]}}
joints:
  plane: {type: planar, parent: world, child: sleigh, axis: [0, 0, 1], qd: [1.0, 0, 2.0]}
  blade: {type: knife_edge, parent: world, child: sleigh, axis: [1, 0, 0]}
solver: {type: SOLVER, dt: 1e-3}
run: {duration: 0.5}
"""


@pytest.mark.parametrize(
    ("solver", "integrator", "bound"),
    [("generalized", "rk4", 1e-10), pytest.param("maximal", "semi_implicit", 2e-3, marks=pytest.mark.full)],
)
def test_a_sleigh_runs_as_chaplygin_found(device, solver, integrator, bound):
    """u' = a w^2, (I + m a^2) w' = -m a u w."""
    m, a, inertia = 2.0, 0.3, 0.08

    def rates(_t, y):
        _x, _y, angle, u, w = y
        return [u * np.cos(angle), u * np.sin(angle), w, a * w * w, -m * a * u * w / (inertia + m * a * a)]

    end = solve_ivp(rates, (0, 0.5), [0, 0, 0, 1, 2], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    frames = Runner(SLEIGH.replace("SOLVER", solver), integrator, device, CHANNELS)(1e-3, 500, 1)
    pose = frames["frames/body_q"][-1, 0, 0]
    angle = Rotation.from_quat(pose[3:]).as_euler("zyx")[0]
    assert np.abs(np.array([*pose[:2], angle]) - end[:3]).max() < bound


@pytest.mark.full
def test_a_turned_and_moved_scene_does_the_same(device):
    """The plane, gravity and the coin turned together; the plane is carried by the anchor in the world."""
    turn, shift = Rotation.from_rotvec([0.4, -0.7, 0.3]), np.array([0.2, -0.1, 0.5])
    text = coin()
    plain = Runner(text, "rk4", device, CHANNELS)(2e-3, 100, 1)["frames/body_q"][-1, 0, 0]
    model, _ = model_of(text)
    pose = np.array(model.bodies.q[0, 0])
    there = [*(turn.apply(pose[:3]) + shift), *(turn * Rotation.from_quat(pose[3:])).as_quat()]
    down, quat = turn.apply([0, 0, -G]), turn.as_quat()
    turned = text.replace(f"gravity: [0, 0, -{G}]", f"gravity: {listed(down)}")
    first = turned.index("pose: {")
    old = turned[first : turned.index("}", first) + 1]
    turned = turned.replace(old, f"pose: {{xyz: {listed(there[:3])}, quat_xyzw: {listed(there[3:])}}}")
    frame = f"parent_frame: {{xyz: {listed(shift)}, quat_xyzw: {listed(quat)}}}"
    turned = turned.replace("child: coin,", f"child: coin, {frame},")
    found = Runner(turned, "rk4", device, CHANNELS)(2e-3, 100, 1)["frames/body_q"][-1, 0, 0]
    assert np.abs(found[:3] - turn.apply(plain[:3]) - shift).max() < 1e-11


@pytest.mark.full
def test_it_rolls_where_other_shapes_can_touch(device):
    """Steps of impulses agree with the others to their order."""
    extra = "contact: {exclude: []}"
    shapes = "shapes: {s: {type: sphere, radius: 0.02}}"
    far = f"  far: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, pose: {{xyz: [9, 9, 9]}}, {shapes}}}\njoints:"
    plain = coin(extra=extra)
    touching = plain.replace("joints:", far).replace("coin: {mass", f"coin: {{{shapes}, mass")
    ends = [
        Runner(text, "semi_implicit", device, CHANNELS)(1e-3, 400, 1)["frames/body_q"][-1, 0, 0]
        for text in (plain, touching)
    ]
    assert np.abs(ends[0] - ends[1])[:3].max() < 2e-3


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (("type: generalized", "type: natural"), "SC501", "`rolling`"),
        (("type: generalized", "type: affine"), "SC501", "`rolling`"),
        (("tube: 0.05", "tube: 0.5"), "SC416", "larger than its radius"),
        (("radius: 0.3, ", ""), "SC416", "`radius`"),
        (("axis: [0, 1, 0]", "axis: [0, 1, 0], normal: [0, 0, 0]"), "SC456", "normal"),
        (("axis: [0, 1, 0]", "axis: [0, 1, 0], at: [0, 0, 0]"), "SC409", "`at`"),
        (("axis: [0, 1, 0]", "axis: [0, 1, 0], limit: [0, 1]"), "SC409", "`limit`"),
        (("axis: [0, 1, 0]", "axis: [0, 1, 0], compliance: 1e-3, loop: true"), "SC501", "compliance"),
        (("4.0, 0.5]", "4.0, 0.9]"), "SC605", "slips at"),
    ],
)
def test_what_is_refused(change, code, words):
    text = coin()
    assert change[0] in text
    found = faults_of(text.replace(*change))
    assert [one[0] for one in found] == [code]
    assert words in found[0][2]


def test_wheels_are_drawn():
    model, _ = model_of(coin())
    (item,) = joint_items(tables_of(model).joints()[0], 0.1, (1.0, 1.0, 1.0), True)
    assert (item.kind, item.body) == ("cylinder", 0)
    assert np.allclose(item.size, (RADIUS + TUBE, 2 * TUBE))


# Modes about steady motions.

M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
SPEEDS = (0.0, 0.5, 2.0, 4.2, 5.0, 6.0, 7.0, 10.0)  # [m/s], none near a double eigenvalue


def motion_of(text_or_document):
    document = scene(text_or_document) if isinstance(text_or_document, str) else text_or_document
    model = build_worlds(document, resolve(document))
    refuse_modes(model, document, moves=True)
    return steady_study(model, live_device())


def eigenvalues(study):
    """Both of each pair, without zeros."""
    found = [one for mode in study.modes for one in (mode.eigenvalue, mode.partner) if one]
    return np.array(found, complex)


def bicycle(speed, **options):
    text = BICYCLE.read_text(encoding="utf-8").split("simcli: 1\n")[1]
    text = text.replace("v: 4.6", f"v: {speed}").replace("push: 1.0e-4", "push: 0")
    for key, value in options.items():
        text = text.replace(f"{key}: generalized", f"{key}: {value}")
    return text.replace("integrator: rk4, ", "")


def assert_same_values(found, wanted, bound):
    assert len(found) == len(wanted)
    for one in wanted:
        assert np.abs(found - one).min() < bound * np.abs(one)


@pytest.mark.parametrize(
    "speed", [pytest.param(one, marks=[] if one in (0.0, 5.0) else [pytest.mark.full]) for one in SPEEDS]
)
def test_the_bicycle_has_the_benchmark_s_matrices_and_eigenvalues(device, speed):
    study = motion_of(bicycle(speed))
    labels = [study.model.dofs.label[d] for d in study.statics.balance.dof]
    mass, damping, stiffness = study.reduced([labels.index("run:4"), labels.index("steer")])
    assert np.abs(mass - M).max() < 1e-9
    assert np.abs(damping - speed * C1).max() < 1e-9
    assert np.abs(stiffness - G * K0 - speed**2 * K2).max() < 1e-9
    state = np.block(
        [[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, G * K0 + speed**2 * K2), -np.linalg.solve(M, speed * C1)]]
    )
    assert_same_values(eigenvalues(study), np.linalg.eigvals(state), 1e-8)
    study.close()


@pytest.mark.full
def test_the_bicycle_in_maximal_coordinates_has_the_same_modes(device):
    found = [eigenvalues(motion_of(bicycle(5.0, type=solver))) for solver in ("generalized", "maximal")]
    assert_same_values(*found, 1e-8)


def steady_coin(theta, w, radius=RADIUS, tube=TUBE):
    """Rates of (lean, w1, w2, w3) of a coin, w along the heading, down in its plane, and along its axis.

    The axes turn with the heading and the lean; their second one leads to the lowest point, l = R e2 - r n.
    """
    kind = np.result_type(theta, *w, float)
    c, s = np.cos(theta), np.sin(theta)
    n, down = np.array([0, -c, s], kind), np.array([0, 1, 0], kind)
    lever, frame = radius * down - tube * n, np.array([w[0], w[1], -w[1] / c * s], kind)
    inertia, spin = np.diag(np.array([ACROSS, ACROSS, ALONG], kind)), np.array(w, kind)
    pull = MASS * skew(lever) @ (-skew(spin) @ (radius * (skew(frame) @ down)) + G * n) - skew(spin) @ (inertia @ spin)
    alpha = np.linalg.solve(inertia - MASS * skew(lever) @ skew(lever), pull)
    return np.array([w[0], *(alpha - skew(frame) @ spin)])


def slopes_of(theta, w):
    """Jacobian of `steady_coin` by the complex step."""
    found = np.zeros((4, 4))
    for k in range(4):
        y = np.array([theta, *w], complex)
        y[k] += 1e-30j
        found[:, k] = steady_coin(y[0], y[1:]).imag / 1e-30
    return found


@pytest.mark.parametrize(
    ("lean", "turn"),
    [(0.3, 2.0), pytest.param(0.5, -1.5, marks=pytest.mark.full), pytest.param(0.2, -3.0, marks=pytest.mark.full)],
)
def test_a_coin_in_a_steady_turn(device, lean, turn):
    second = -np.cos(lean) * turn
    grid = np.linspace(-60, 60, 241)
    gap = [steady_coin(lean, (0.0, second, x))[1] for x in grid]
    k = next(k for k in range(240) if gap[k] * gap[k + 1] < 0)
    third = brentq(lambda x: steady_coin(lean, (0.0, second, x))[1], grid[k], grid[k + 1], xtol=1e-14)
    axis, down = np.array([0, np.cos(lean), np.sin(lean)]), np.array([0, np.sin(lean), -np.cos(lean)])
    study = motion_of(coin(lean=lean, spin=tuple(second * down + third * axis)))
    wanted = np.linalg.eigvals(slopes_of(lean, (0.0, second, third)))
    assert study.motion.carrier.turn == pytest.approx([0, 0, turn], abs=1e-9)
    assert_same_values(eigenvalues(study), wanted[np.abs(wanted) > 1e-6], 1e-8)


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_thin_disc_is_stable_above_its_speed(device, share):
    """v^2 > g r / 3, and s^2 (A + m r^2) = m g r - C (C + m r^2) n^2 / A."""
    r = RADIUS
    across, along = MASS * r * r / 4, MASS * r * r / 2
    rate = share * np.sqrt(G * r / 3) / r
    text = coin(lean=0.0, spin=(0.0, float(rate), 0.0), tube=0.0, inertia=[across, along, across])
    found = eigenvalues(motion_of(text))
    square = (MASS * G * r - along * (along + MASS * r * r) * rate**2 / across) / (across + MASS * r * r)
    assert (square > 0) == (share < 1)
    assert_same_values(found, [np.sqrt(complex(square)), -np.sqrt(complex(square))], 1e-8)


GOVERNOR = """
world: {gravity: [0, 0, -9.81]}
bodies:
  shaft: {mass: 1, inertia: {diag: [0.4, 0.4, 0.4]}}
  arm: {mass: 2, com: [0, 0, -0.5], inertia: point}
joints:
  spin: {type: revolute, parent: world, child: shaft, axis: [0, 0, 1], HOLD}
  swing: {type: revolute, parent: shaft, child: arm, at: [0, 0, 0], axis: [0, 1, 0], q: ANGLE}
solver: {type: SOLVER, dt: 1e-3}
run: {duration: 0.1}
"""


@pytest.mark.parametrize("hold", ["motion: {velocity: 6}", "qd: 6"])
@pytest.mark.parametrize("solver", ["generalized", "maximal"])
def test_a_governor_swings_about_its_speed(device, hold, solver):
    """w^2 = W^2 sin^2 at a speed that is held; a shaft of inertia J adds 4 W^2 m l^2 sin^2 cos^2 / (J + m l^2 sin^2)."""
    cosine = G / (0.5 * 36.0)
    sine = np.sqrt(1 - cosine**2)
    text = GOVERNOR.replace("HOLD", hold).replace("ANGLE", repr(float(-np.arccos(cosine)))).replace("SOLVER", solver)
    square = 36.0 * sine**2
    if hold.startswith("qd"):
        square += 4 * 36.0 * 0.5 * sine**2 * cosine**2 / (0.4 + 0.5 * sine**2)
    assert_same_values(eigenvalues(motion_of(text)), [1j * np.sqrt(square), -1j * np.sqrt(square)], 1e-9)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (coin(lean=0.5, spin=(0.0, 1.0, 0.0)), "SC650", "accelerates at"),
        (coin(lean=0.0, spin=(0.0, 4.0, 0.0), inertia=[0.06, 0.1, 0.05]), "SC651", "not the same all round"),
        (
            GOVERNOR.replace("HOLD", "motion: {velocity: $s}").replace("ANGLE", "0").replace("SOLVER", "generalized")
            + "signals: {s: {sine: {amplitude: 1, frequency: 1}}}\n",
            "SC607",
            "not a constant",
        ),
    ],
    ids=["turns", "oval", "driven"],
)
def test_what_is_no_steady_motion(device, text, code, words):
    with pytest.raises(SceneError) as caught:
        motion_of(text)
    assert [fault.code for fault in caught.value.faults] == [code]
    assert words in caught.value.faults[0].message


def test_the_state_of_a_run_is_the_motion(capfd, tmp_path, monkeypatch):
    """A run of the bicycle, its last frame: the modes of the start; and what the options say."""
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(BICYCLE.read_text(encoding="utf-8").split("expect:")[0].replace("push: 1.0e-4", "push: 0"))
    code, _, said = told_here(capfd, "run", "s.yaml", "-o", "run.h5", "--set", "run.duration=0.02")
    assert code == Exit.OK, said
    found = []
    for about in ("initial", "run.h5@0.02", "run.h5"):
        code, out, said = told_here(capfd, "modes", "s.yaml", "--about", about, "--json", "--coordinate", "steer")
        assert code == Exit.USAGE, said
        assert "depend on other coordinates" in said
        code, out, said = told_here(capfd, "modes", "s.yaml", "--about", about, "--json")
        assert code == Exit.OK, said
        data = json.loads(out)
        found.append(sorted(mode["eigenvalue"][0] for mode in data["modes"]))
        assert data["steady"]["time"] == (0.0 if about == "initial" else 0.02)
    assert np.ptp(np.array(found), axis=0).max() < 1e-7
    for words, message in (
        (("--about", "none.h5@1"), "is no run"),
        (("--about", "run.h5@x"), "is no time"),
        (("--about", "initial", "--stable"), "at rest"),
        (("--coordinate", "steer"), "--about"),
    ):
        code, _, said = told_here(capfd, "modes", "s.yaml", *words)
        assert code == Exit.USAGE, said
        assert message in said


WHEEL = """simcli: 1
bodies: {w: {mass: 1, inertia: {diag: [0.1, 0.2, 0.1]}, pose: {xyz: [0, 0, 0.3]}}}
joints: {t: {type: rolling, parent: world, child: w, axis: [0, 1, 0], radius: 0.3}}
solver: {type: generalized}
"""


FULL = pytest.mark.full


@pytest.mark.parametrize(
    ("height", "distance"), [(0.25, 0.0), pytest.param(0.3, 0.0, marks=FULL), pytest.param(0.5, 0.2, marks=FULL)]
)
def test_targets_of_a_wheel_are_reached_on_its_plane_alone(height, distance, tmp_path, monkeypatch, capfd):
    """Velocities that do not slip hold no place, also across the wheel; what is higher than its radius ends below it."""
    monkeypatch.chdir(tmp_path)
    Path("w.yaml").write_text(WHEEL)
    code, out, _ = told_here(capfd, "ik", "w.yaml", "--target", f"w=0.5,0.1,{height}", "--json")
    assert code == (Exit.NEGATIVE if distance else Exit.OK)
    found = json.loads(out)
    assert found["targets"]["w"]["largest_position"] == pytest.approx(distance, abs=1e-6)
    assert found["joint_q"][0][:3] == pytest.approx([0.5, 0.1, min(height, 0.3)], abs=1e-6)


HELD_WHEEL = """
simcli: 1
params: {a: 0.3, k: 200, R: 0.25}
world: {gravity: ["${9.81*sin(a)}", 0, "${-9.81*cos(a)}"]}
bodies: {wheel: {mass: 2, inertia: {diag: [0.05, 0.1, 0.05]}, pose: {xyz: [0, 0, "${R}"]}}}
joints: {roll: {type: rolling, parent: world, child: wheel, axis: [0, 1, 0], radius: "${R}"}}
forces:
  hold: {type: spring, a: {world: [-1, 0, "${R}"]}, b: {body: wheel, at: [0, 0, 0]}, stiffness: "${k}", rest_length: 1}
solver: {type: SOLVER}
run: {duration: 1}
"""
BLADE_AT_REST = """
simcli: 1
bodies: {s: {mass: 2, inertia: {diag: [0.05, 0.1, 0.05]}}}
joints:
  ice: {type: planar, parent: world, child: s, axis: [0, 0, 1], at: [0, 0, 0]}
  blade: {type: knife_edge, parent: world, child: s, axis: [1, 0, 0], loop: true}
forces: {pull: {type: wrench, body: s, force: [0, 0, 0]}}
solver: {type: SOLVER}
run: {duration: 1}
"""


@pytest.mark.parametrize("solver", ["generalized", "maximal"])
def test_a_wheel_rests_where_its_spring_holds_it_and_a_sleigh_anywhere(tmp_path, monkeypatch, capfd, solver):
    """A wheel on an incline, which may topple; blades bear what pulls aside, and nothing that pulls ahead."""
    monkeypatch.chdir(tmp_path)
    Path("wheel.yaml").write_text(HELD_WHEEL.replace("SOLVER", solver))
    Path("sleigh.yaml").write_text(BLADE_AT_REST.replace("SOLVER", solver))
    code, out, _ = told_here(capfd, "modes", "wheel.yaml", "--json")
    found = json.loads(out)
    rest, down = found["equilibrium"], 2 * G * np.sin(0.3)
    x = down / 200
    assert code == 0
    assert rest["joint_q"]["roll"][0] == pytest.approx(x, abs=1e-10)
    assert rest["joint_q"]["roll"][4] == pytest.approx(np.sin(x / 0.25 / 2), abs=1e-10)  # it has rolled there
    assert rest["joint_wrench"]["roll"][2] == pytest.approx(2 * G * np.cos(0.3), rel=1e-10)
    assert (rest["stable"], rest["falling_directions"], rest["neutral_directions"]) == (False, 1, 1)
    topples = (2 * G * np.cos(0.3) * 0.25 - down / (1 + x) * 0.25**2) / (0.05 + 2 * 0.25**2)
    rates = sorted(mode["omega"] for mode in found["modes"])
    assert rates == pytest.approx([0, np.sqrt(topples), np.sqrt(200 / (2 + 0.1 / 0.25**2))], abs=1e-6)
    code, out, _ = told_here(capfd, "equilibrium", "sleigh.yaml", "--json")
    assert (code, json.loads(out)["neutral_directions"]) == (0, 2)
    code, out, said = told_here(capfd, "equilibrium", "sleigh.yaml", "--json", "--set", "forces.pull.force=[0, 3, 0]")
    aside = json.loads(out)
    assert aside["joint_wrench"]["blade"][1] == pytest.approx(-3)
    assert (aside["falling_directions"], aside["stable"]) == (None, None)
    code, _, said = told_here(capfd, "equilibrium", "sleigh.yaml", "--set", "forces.pull.force=[3, 0, 0]")
    assert code != 0
    assert "no equilibrium" in said
