"""What is recorded changes nothing of what is simulated: not how often, nor what; in every solver, bit by bit.

Range finders against MuJoCo's, over all shapes that rays can meet; a cone by its formula; reach and the own body.
"""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.forward import Runner
from support.scenes import faults_of
from support.solver_modes import MODES
from test_measures import column, run

import simcli
from simcli.solvers import SOLVERS

pytestmark = pytest.mark.usefixtures("scalar_code")

# A loop, a kinematic body that carries another one, armature, a prescribed motion, springs and forces that signals drive.
SCENE = """
signals: {gust: {sine: {amplitude: 3, frequency: 1}}, way: {sine: {amplitude: 0.3, frequency: 1}}}
defaults: {body: {mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}}}
bodies:
  arm: {com: [0.5, 0, 0], points: {tip: [1, 0, 0]}}
  led: {pose: {xyz: [0, 12, 0]}, com: [0.3, 0, 0]}
  base: {kinematic: true, pose: {xyz: [0, 9, 0]}, motion: {linear: [$way, 0, 0], angular: [0, 0, 0.5]}}
  bob: {pose: {xyz: [0, 9, 0]}, com: [0, 0, -0.5]}
  a: {pose: {xyz: [0, 20, 0.25]}}
  b: {pose: {xyz: [0.5, 20, 0.5]}}
  c: {pose: {xyz: [1, 20, 0.25]}}
  BALL
joints:
  shoulder: {type: ball, parent: world, child: arm, at: [0, 0, 0], qd: [0.4, 1, 2]}
  lead: {type: revolute, parent: world, child: led, at: [0, 12, 0], axis: [0, 0.3, 1], motion: {position: $way}}
  pin: {type: revolute, parent: base, child: bob, at: [0, 9, 0], axis: [0, 1, 0], q: 0.5, armature: 0.1}
  p: {type: revolute, parent: world, child: a, axis: [0, 1, 0], at: [0, 20, 0], qd: 2 LIMIT}
  q: {type: revolute, parent: a, child: b, axis: [0, 1, 0], at: [0, 20, 0.5]}
  r: {type: revolute, parent: b, child: c, axis: [0, 1, 0], at: [1, 20, 0.5]}
  s: {type: revolute, parent: world, child: c, axis: [0, 1, 0], at: [1, 20, 0], loop: true}
forces:
  s: {type: spring, a: arm/tip, b: {world: [0, 1, 0]}, stiffness: 20, damping: 0.5, rest_length: 2}
  w: {type: wrench, body: arm, force: [1, $gust, 0], torque: [0.1, 0, 0.2]}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 1 ms}
run: {duration: 0.4}
"""
FALLS = "ball: {pose: {xyz: [0, 30, 0.1008]}, velocity: {angular: [1, 2, 3]}, shapes: {s: {type: sphere, radius: 0.1}}}"
FLOOR = "world: {shapes: {floor: {type: plane}}}\ncontact: {pairs: [{a: ball, b: floor}]}\n"
STEPS = 42  # the ball lands in the thirteenth
FEW = frozenset(("state",))
ALL = frozenset(("state", "energy", "reactions", "body_qdd"))
LIMITED = ", friction: 0.3, limit: {lower: -1, upper: 0.03}"
TOUCHING = [
    ("generalized", "semi_implicit"),
    ("generalized", "rk4"),
    ("generalized", "implicit"),
    ("maximal", "semi_implicit"),
    ("natural", "moreau"),
]


def scene(solver: str, integrator: str, ball: str = "", limit: str = "") -> str:
    text = SCENE.replace("SOLVER", solver).replace("INTEGRATOR", integrator)
    return FLOOR * bool(ball) + text.replace("BALL", ball).replace("LIMIT", limit)


def check_shown(text: str, integrator: str, device):
    """Ends with frames of all steps, of some, of the last one, with few channels and with many."""
    ends, ledgers = [], []
    for channels in (FEW, ALL):
        runner = Runner(text, integrator, device, channels)
        for every in (STEPS, 1, 7):
            seen = runner(1e-3, every, STEPS // every)
            ends.append(np.concatenate([seen[f"frames/{name}"][-1].ravel() for name in ("body_q", "body_qd", "joint_q")]))
            ledgers += (
                [np.ravel([seen[f"energy/{name}"][-1] for name in ("total", "input", "dissipated")])]
                if "energy" in channels
                else []
            )
    assert np.ptp(seen["frames/body_q"], axis=0).max() > 0.01
    for one in ends[1:]:
        np.testing.assert_array_equal(one, ends[0])
    for one in ledgers[1:]:
        np.testing.assert_allclose(one, ledgers[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize(("solver", "integrator"), MODES)
def test_motion_does_not_depend_on_what_is_shown(device, solver, integrator):
    check_shown(scene(solver, integrator), integrator, device)


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "integrator"), TOUCHING)
def test_nor_where_something_lands_and_something_is_stopped(device, solver, integrator):
    check_shown(scene(solver, integrator, FALLS, LIMITED), integrator, device)


@pytest.mark.parametrize("integrator", ["zhong06", "generalized_alpha"])
def test_nor_on_how_many_steps_a_program_asks_for_at_once(tmp_path, integrator):
    path = tmp_path / "scene.yaml"
    path.write_text("simcli: 1\n" + scene("natural", integrator) + "output: {every: 7 ms, channels: [state]}\n")
    found = []
    for parts in ([14], [1] * 14, [3, 8, 3]):
        sim = simcli.Simulation(path)
        for part in parts:
            sim.step(part)
            sim.get("body.c.position")
        found.append(
            [np.array(sim.get(f"body.{name}.{what}")) for name in ("arm", "bob", "c") for what in ("position", "velocity")]
        )
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])


SAME = 1e-10  # [m]
CORNERS = np.array([[0, 0, 0], [0.5, 0, 0], [0, 0.6, 0], [0, 0, 0.7]])
# Ours, and MuJoCo's with half lengths.
SHAPES = {
    "ball": ("{type: sphere, radius: 0.3}", 'type="sphere" size="0.3"'),
    "brick": ("{type: box, size: [0.3, 0.4, 0.5]}", 'type="box" size="0.15 0.2 0.25"'),
    "pill": ("{type: capsule, radius: 0.15, length: 0.5}", 'type="capsule" size="0.15 0.25"'),
    "can": ("{type: cylinder, radius: 0.2, length: 0.5}", 'type="cylinder" size="0.2 0.25"'),
    "egg": ("{type: ellipsoid, radii: [0.2, 0.3, 0.4]}", 'type="ellipsoid" size="0.2 0.3 0.4"'),
    "wedge": ("{type: mesh, file: wedge.obj}", 'type="mesh" mesh="wedge"'),
}
CONE = "{type: cone, radius: 0.3, length: 0.6}"
RAYS = 8  # of each shape, and as many that go anywhere
RNG = np.random.default_rng(5)


def turn_along(direction):
    """A rotation whose z axis has a direction."""
    return Rotation.align_vectors([direction], [[0, 0, 1]])[0]


PLACES = {name: (np.array([2.0 * k, 0.5 * k, 1.0]), Rotation.random(random_state=k)) for k, name in enumerate(SHAPES)}


def rays():
    found = []
    for place, _ in PLACES.values():
        for k in range(RAYS):
            origin = place + RNG.normal(size=3) * (1.0 if k else 0.01)  # the first from within
            origin[2] = abs(origin[2]) + 0.1
            found.append((origin, turn_along(place + RNG.uniform(-0.25, 0.25, 3) - origin)))
    found += [(RNG.uniform([0, -2, 0.1], [10, 4, 3]), Rotation.random(random_state=100 + k)) for k in range(RAYS)]
    return found


def quat(turn, first=False):
    return turn.as_quat(scalar_first=first).tolist()


def scene_of(found, solver, extra=""):
    bodies = "".join(
        f"  {name}: {{pose: {{xyz: {place.tolist()}, quat_xyzw: {quat(turn)}}}, mass: 1, "
        f"inertia: {{diag: [0.1, 0.1, 0.1]}}, shapes: {{s: {SHAPES[name][0]}}}}}\n"
        for name, (place, turn) in PLACES.items()
    )
    frames = ", ".join(
        f"r{k}: {{xyz: {origin.tolist()}, quat_xyzw: {quat(turn)}}}" for k, (origin, turn) in enumerate(found)
    )
    sensors = "".join(f"  r{k}: {{type: range, at: world/r{k}}}\n" for k in range(len(found)))
    names = ", ".join(f"sensor.r{k}.range" for k in range(len(found)))
    return (
        f"simcli: 1\nbodies:\n{bodies}world: {{gravity: [0, 0, 0], frames: {{{frames}}}}}\nsensors:\n{sensors}"
        f"solver: {{type: {solver}, dt: 1.0e-3}}\nrun: {{duration: 0.001}}\n"
        f"output: {{every: 0.001, channels: [state], quantities: [{names}]}}\n{extra}"
    )


def expected(found):
    """MuJoCo's distances."""
    asset = f'<mesh name="wedge" vertex="{" ".join(map(repr, CORNERS.ravel().tolist()))}"/>'
    bodies = "".join(
        f'<body name="{name}" pos="{" ".join(map(repr, place.tolist()))}" quat="'
        f'{" ".join(map(repr, quat(turn, True)))}"><freejoint/><geom name="{name}" {SHAPES[name][1]}/></body>'
        for name, (place, turn) in PLACES.items()
    )
    model = mujoco.MjModel.from_xml_string(f"<mujoco><asset>{asset}</asset><worldbody>{bodies}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    hit = np.zeros(1, np.int32)
    return np.array([mujoco.mj_ray(model, data, origin, turn.apply([0, 0, 1]), None, 1, -1, hit) for origin, turn in found])


def found_by(folder, text):
    faces = [(1, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4)]
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS] + [f"f {a} {b} {c}" for a, b, c in faces]
    (folder / "wedge.obj").write_text("\n".join(lines) + "\n")
    _, path = run(folder, text)
    with simcli.open(path) as trajectory:
        names = list(trajectory.quantities)
        return np.array([column(trajectory, name)[0, 0, 0] for name in names])


@pytest.mark.parametrize(
    "solver", [pytest.param(one, marks=() if one == "generalized" else pytest.mark.slow) for one in SOLVERS]
)
def test_distances_are_those_of_mujoco(solver, tmp_path):
    found = rays()
    wanted = expected(found)
    assert (wanted >= 0).sum() > 30
    assert (wanted < 0).any()
    np.testing.assert_allclose(found_by(tmp_path, scene_of(found, solver)), wanted, atol=SAME)


SEEN = f"""simcli: 1
bodies:
  cone: {{pose: {{xyz: [0, 0, 2]}}, mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}, shapes: {{s: {CONE}}},
    frames: {{down: {{xyz: [0, 0, 0], rpy: [180 deg, 0, 0]}}}}}}
  eye: {{pose: {{xyz: [1, 0, 2]}}, mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}, shapes: {{s: {{type: sphere, radius: 0.2}}}},
    frames: {{side: {{rpy: [0, -90 deg, 0]}}, low: {{xyz: [0, 0, -0.2], rpy: [0, -90 deg, 0]}}, up: {{}}}}}}
  far: {{pose: {{xyz: [0, 0, 9]}}, mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}, shapes: {{s: {{type: sphere, radius: 0.2}}}},
    frames: {{down: {{rpy: [180 deg, 0, 0]}}}}}}
world: {{gravity: [0, 0, 0], shapes: {{ground: {{type: plane}}}}}}
sensors:
  side: {{type: range, at: eye/side}}
  low: {{type: range, at: eye/low}}
  down: {{type: range, at: cone/down}}
  up: {{type: range, at: eye/up}}
  top: {{type: range, at: far/down}}
  short: {{type: range, at: far/down, reach: 6}}
solver: {{type: generalized, dt: 1.0e-3}}
run: {{duration: 0.001}}
output: {{every: 0.001, quantities: [sensor.side.range, sensor.low.range, sensor.down.range, sensor.up.range,
  sensor.top.range, sensor.short.range]}}
"""


def test_a_cone_the_ground_the_own_body_and_the_reach(tmp_path):
    found = found_by(tmp_path, SEEN)
    # The cone is 0.3 wide at z = -0.3 and ends at z = 0.3: 0.15 at its middle, 0.25 at 0.2 below it.
    np.testing.assert_allclose(found, [0.85, 0.75, 2, -1, 6.7, -1], atol=SAME)


def test_terrain_is_refused_by_name():
    terrain = "{type: heightfield, data: [[0, 0], [0, 0]], size: [9, 9, 1]}"
    text = SEEN.replace("simcli: 1\n", "").replace("{type: plane}", terrain)
    assert "range finders do not see terrain" in {message for _, _, message in faults_of(text)}
