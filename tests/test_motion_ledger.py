"""The ledger of energy has the work of prescribed motions: what it lacks falls with the step, in every solver.

Scenes: a joint with armature on a kinematic body that turns; rates that jump, at the edge of a step and within one.

Prescribed motions whose rate jumps: what moves with them gets the impulse, in every solver and integrator.

What friction holds on a turntable stays where it is, and what rolls there goes in circles; bounces keep their height.

What an impact loses is what the bodies have no more, whatever the steps before and after it are.

What single precision rounds is no energy from nothing, however long a stack stands; a gain is one there, too.
"""

import copy
import json
from itertools import product

import h5py
import numpy as np
import pytest
from support.forward import Runner, blocks_of, columns_of
from support.process import simcli as command
from support.process import simcli_apart
from support.solver_modes import MODES
from support.tiers import covering

import simcli
from simcli.analysis.drift import _TERMS, EnergyAccount
from simcli.errors import Exit
from simcli.pipeline import build_model, read_scene
from simcli.spec import document_of_text

STEPS = (2e-3, 1e-3)
ORDERS = {"rk4": 2, "implicit": 2, "zhong06": 2, "moreau": 2, "generalized_alpha": 2}  # at least; 1 of the others
SLACK = 0.75  # of a ratio 2^order, so that terms of higher order may show
LEAST, LARGEST = 1e-9, 4e-2  # [J], rounding; of the input, at 1 ms and first order
DURATION, JUMP = 0.1, 0.05  # [s]

ROTOR = """
bodies:
  turner: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, kinematic: true, motion: {angular: [0, $speed, 0]}}
  arm: {mass: 1, com: [0.3, 0, -0.2], inertia: {diag: [0.05, 0.05, 0.05]}}
joints:
  pin: {type: revolute, parent: turner, child: arm, at: [0, 0.1, 0], axis: [0, 1, 0], armature: 0.3, qd: 1}
signals: {speed: {sine: {amplitude: 4, frequency: 2}}}
"""
# All joints have dampers, one has a drive with a signal, one a motion: what holds the motions changes within a step.
DAMPED = """
bodies:
  cart: {kinematic: true, mass: 1, com: [0.2, -0.1, 0.1], inertia: {diag: [0.1, 0.15, 0.2]},
         motion: {linear: [0.5, 0, 0.4], angular: [-0.4, $turn, -0.2]}}
  one: {mass: 1.7, com: [0.2, 0, -0.2], inertia: {diag: [0.07, 0.07, 0.06]}}
  two: {pose: {xyz: [0.5, 0, 0]}, mass: 1.7, com: [0.2, 0, -0.1], inertia: {diag: [0.06, 0.06, 0.06]}}
  three: {pose: {xyz: [1, 0, 0]}, mass: 1.6, com: [0.2, 0, 0.2], inertia: {diag: [0.08, 0.07, 0.07]}}
joints:
  a: {type: revolute, parent: cart, child: one, at: [0, 0, 0], axis: [-0.4, -0.7, 1], damping: 0.2, qd: 0.2}
  b: {type: revolute, parent: one, child: two, at: [0.5, 0, 0], axis: [0.6, 0.2, 1], damping: 0.5, motion: {velocity: $turn}}
  c: {type: revolute, parent: two, child: three, at: [1, 0, 0], axis: [-0.9, 0.3, 1],
      drive: {mode: position, target: $goal, stiffness: 11, damping: 0.9}}
signals: {turn: {sine: {amplitude: 1.7, frequency: 2}}, goal: {sine: {amplitude: 0.4, frequency: 1.5, phase: 0.6}}}
"""
CARRIED = """
world: {gravity: [0, 0, 0]}
bodies:
  cart: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, kinematic: true, motion: {linear: [$speed, 0, 0], angular: [0, 0, 0]}}
  arm: {mass: 1, com: [0.3, 0.5, 0], inertia: {diag: [0.1, 0.1, 0.1]}}
joints: {pin: {type: revolute, parent: cart, child: arm, at: [0, 0, 0], axis: [0, 0, 1]}}
signals: {speed: {step: {before: 0, after: 5, time: TIME}}}
"""
CHAIN = """
world: {gravity: [0, 0, 0]}
bodies:
  upper: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.1, 0.1, 0.1]}}
  lower: {pose: {xyz: [1, 0, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.1, 0.1, 0.1]}}
joints:
  free: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 0, 1]}
  led: {type: revolute, parent: upper, child: lower, at: [1, 0, 0], axis: [0, 0, 1], motion: {MOTION}}
"""
BY_RATE = CHAIN.replace("MOTION", "velocity: $speed") + "signals: {speed: {step: {before: 0, after: 5, time: TIME}}}\n"
BY_PLACE = CHAIN.replace("MOTION", "position: $way") + ("signals: {way: {ramp: {from: 0, to: 3, start: TIME, end: 0.5}}}\n")
GEARED = """
world: {gravity: [0, 0, 0]}
bodies:
  turner: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, kinematic: true, motion: {angular: [0, $speed, 0]}}
  arm: {mass: 1, com: [0.3, 0, -0.2], inertia: {diag: [0.05, 0.05, 0.05]}}
joints: {pin: {type: revolute, parent: turner, child: arm, at: [0, 0.1, 0], axis: [0, 1, 0], armature: 0.3, qd: 1}}
signals: {speed: {step: {before: 1, after: 5, time: TIME}}}
"""
GEARED_RATE = 1 - 4 * 0.18 / (0.18 + 0.3)  # [rad/s], the arm's inertia about the pin over that with its rotor
JUMPS = {"body": CARRIED, "body that carries a rotor": GEARED, "rate of a joint": BY_RATE, "position of a joint": BY_PLACE}
# Steps of affine bodies give up kinetic energy where a rate jumps, as their pages say.
PASSING = [mode for mode in MODES if mode[0] != "affine"]
# Affine steps compile long.
QUICK_FIRST = [pytest.param(*mode, marks=pytest.mark.slow) if mode[0] == "affine" else mode for mode in MODES]


def gaps(text, solver, integrator, device, steps=STEPS) -> tuple[np.ndarray, float]:
    """[J], what the ledger lacks at the end, by step; and what has been put in."""
    runner = Runner(f"{text}solver: {{type: {solver}, dt: 1.0e-3, integrator: {integrator}}}\n", integrator, device)
    ends = [runner(h, round(DURATION / h), 1) for h in steps]
    assert all(one["diag/status"].max() == 0 for one in ends)
    return np.array([abs(one["energy/drift"][-1, 0]) for one in ends]), ends[-1]["energy/input"][-1, 0]


@pytest.mark.parametrize(("solver", "integrator"), QUICK_FIRST)
@pytest.mark.parametrize("text", [DAMPED, ROTOR], ids=["dampers and drives", "rotors"])
def test_motions_work_on_what_they_meet(device, text, solver, integrator):
    (wide, narrow), given = gaps(text, solver, integrator, device)
    assert abs(given) > 0.3
    assert narrow < LARGEST * abs(given)
    assert narrow < wide / (SLACK * 2 ** ORDERS.get(integrator, 1)) + LEAST


MOUNTED = """
bodies:
  turner: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, kinematic: true,
           motion: {linear: [$speed, 0, 0], angular: [0, $speed, 1]}}
  block: {mass: 1, inertia: {diag: [0.05, 0.06, 0.07]}, pose: {xyz: [0.5, 0, 0]}}
forces:
  mount: {type: bushing, a: {body: turner, at: [0.4, 0, 0]}, b: {body: block, at: [0, 0.1, 0]}, stiffness: [90, 60, 40],
          damping: 6, angular_stiffness: [5, 3, 2], angular_damping: 0.4}
signals: {speed: {sine: {amplitude: 2, frequency: 2}}}
"""


@pytest.mark.parametrize(("solver", "integrator"), PASSING)
def test_a_kinematic_body_works_on_a_bushing_that_damps(device, solver, integrator):
    """The second half of a step of natural coordinates has its own force of a damper, whose work was taken twice."""
    (wide, narrow), given = gaps(MOUNTED, solver, integrator, device)
    assert narrow < LARGEST * abs(given)
    assert narrow < wide / (SLACK * 2 ** ORDERS.get(integrator, 1)) + LEAST


JUMPING = covering((name, late, *mode) for name, late, mode in product(JUMPS, (0.0, 0.27), PASSING))


@pytest.mark.parametrize(("name", "late", "solver", "integrator"), JUMPING)
def test_impulses_of_rates_that_jump_do_work(device, name, late, solver, integrator):
    """Late by a part of a step."""
    drifts = []
    for h in STEPS:
        found, given = gaps(JUMPS[name].replace("TIME", repr(JUMP + late * h)), solver, integrator, device, (h,))
        drifts.append(found[0])
    assert drifts[1] < 5e-3 * given  # of order one: smooth forces of the step times half of the jump
    assert drifts[1] < drifts[0] / (SLACK * 2) + 1e-4 * given


@pytest.mark.parametrize(("solver", "integrator"), PASSING)
@pytest.mark.parametrize("late", [0.0, 0.27])
def test_a_rotor_takes_its_part_of_a_jump(device, late, solver, integrator):
    text = GEARED.replace("TIME", repr(JUMP + late * STEPS[1]))
    runner = Runner(f"{text}solver: {{type: {solver}, dt: 1.0e-3, integrator: {integrator}}}\n", integrator, device)
    rate = runner(STEPS[1], round(DURATION / STEPS[1]), 1)["frames/joint_qd"][-1, 0, 0]
    assert rate == pytest.approx(GEARED_RATE, abs=2e-3)  # of an error of order one in the step of the jump


# Laws hold what a body carries that turns as prescribed: a bound at which it stands, a speed, and dry friction.
HELD = """
bodies:
  turner: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, kinematic: true, motion: {angular: [0, 1.5, 0]}}
  stands: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.05, 0.06, 0.07]}}
  slides: {mass: 1, com: [0.4, 0, 0.1], inertia: {diag: [0.05, 0.06, 0.07]}}
  sticks: {mass: 1, com: [0.5, 0.1, 0], inertia: {diag: [0.05, 0.06, 0.07]}}
joints:
  a: {type: prismatic, parent: turner, child: stands, axis: [0, 0, 1], limit: [-0.03, 0.04], qd: -1}
  b: {type: prismatic, parent: turner, child: slides, axis: [0, 0, 1], velocity_limit: 0.5, qd: -1}
  c: {type: prismatic, parent: turner, child: sticks, axis: [0, 0, 1], friction: 20, qd: -1}
"""


@pytest.mark.parametrize("direction", ["explicit", "implicit"])
def test_what_laws_hold_is_in_the_ledger_whichever_directions_rows_have(device, direction):
    """Along directions of the end velocities of laws were off by how a row turns, and the ledger by 0.05 J at any step."""
    runner = Runner(f"{HELD}solver: {{type: maximal, dt: 1.0e-3, joint_direction: {direction}}}\n", "semi_implicit", device)
    wide, narrow = (abs(runner(h, round(DURATION / h), 1)["energy/drift"][-1, 0]) for h in STEPS)
    assert narrow < wide / (SLACK * 2) + LEAST
    assert narrow < 2e-2


BODIES = {
    "cart": {"mass": 1, "inertia": {"diag": [0.1, 0.1, 0.1]}},
    "arm": {"mass": 1, "com": [0.5, 0, 0], "inertia": {"diag": [0.01, 0.1, 0.1]}},
}
TIMES, ANGLES = [0, 0.1, 0.3, 0.6], [0, 0, 1.5, 0.5]  # [s, rad]
RAIL = {"type": "prismatic", "parent": "world", "child": "cart", "at": [0, 0, 0], "axis": [1, 0, 0]}
LED = {"type": "revolute", "parent": "cart", "child": "arm", "at": [0, 0, 0], "axis": [0, 1, 0]}
EVERY, PULL = 0.1, 0.25  # [s]; [m] of the cart, by a quarter turn of the arm
RIGID = [mode for mode in MODES if mode[0] != "affine"]
NODES = [("generalized", "rk4"), ("generalized", "implicit")]
# What tells of each jump: the signal of the angle, that of its rate, or events.
TOLD = {
    "position": {"motion": {"position": "$path"}, "signals": {"path": {"table": {"time": TIMES, "value": ANGLES}}}},
    "velocity": {
        "motion": {"velocity": "$path"},
        "signals": {"path": {"table": {"time": TIMES[:3], "value": [0, 7.5, -1 / 0.3], "interpolate": "previous"}}},
    },
    "event": {
        "motion": {"velocity": 0},
        "events": [
            {"at": 0.1, "set": {"joints.led.motion.velocity": 7.5}},
            {"at": 0.3, "set": {"joints.led.motion.velocity": -1 / 0.3}},
        ],
    },
}


def scene_of(told: dict, solver: str, integrator: str, dt: float = 1e-3) -> dict:
    """An arm on a free cart, with its angle or its rate prescribed."""
    more = {key: value for key, value in told.items() if key != "motion"}
    return {
        "simcli": 1,
        "bodies": copy.deepcopy(BODIES),
        "run": {"duration": 0.5},
        "joints": {"rail": copy.deepcopy(RAIL), "led": {**LED, "motion": told["motion"]}},
        "solver": {"type": solver, "integrator": integrator, "dt": dt},
        "output": {"every": EVERY, "channels": ["state", "energy"]},
        **copy.deepcopy(more),
    }


def run(scene: dict, device) -> dict[str, np.ndarray]:
    """Columns of all frames, those of the only world."""
    found = columns_of(blocks_of(document_of_text(json.dumps(scene), "scene.json"), device))
    assert not found["diag/status"].any()
    return {name: column[:, 0] for name, column in found.items()}


def error_of_place(scene: dict, device) -> float:
    """[m], of the cart, against the momentum along the rail, which stays."""
    place, angle = run(scene, device)["frames/joint_q"][:, :2].T
    np.testing.assert_allclose(angle, np.interp(EVERY * np.arange(len(angle)), TIMES, ANGLES), atol=1e-9)
    return float(np.abs(place - PULL * (1.0 - np.cos(angle))).max())


@pytest.mark.parametrize(("solver", "integrator"), RIGID)
def test_cart_keeps_its_momentum(device, solver, integrator):
    first_order = (solver, integrator) == ("generalized", "semi_implicit")  # two jumps, half a step late
    assert error_of_place(scene_of(TOLD["position"], solver, integrator), device) < (4e-3 if first_order else 1e-5)


@pytest.mark.parametrize(
    ("solver", "integrator", "told"),
    [(*mode, told) for mode in NODES for told in TOLD if told != "event" or mode[1] == "implicit"],
)
def test_order_stays_two(device, solver, integrator, told):
    """Steps that are taken again at jumps are as exact as the others: forces there are those after the jump."""
    coarse, fine = (error_of_place(scene_of(TOLD[told], solver, integrator, dt), device) for dt in (2e-3, 1e-3))
    assert fine < 1e-5
    assert coarse / fine == pytest.approx(4.0, rel=0.1)


def test_jump_within_a_step_is_late_by_less_than_it(device):
    told = copy.deepcopy(TOLD["position"])
    told["signals"]["path"]["table"]["time"][1] = 0.1004
    place, angle = run(scene_of(told, "generalized", "implicit"), device)["frames/joint_q"].T
    assert np.abs(place - PULL * (1.0 - np.cos(angle))).max() < 3e-3


def ball(scene: dict) -> None:
    """Two ramps turn a ball, about two axes."""
    scene["signals"] = {
        "r": {"ramp": {"from": 0, "to": 1, "start": 0.1, "end": 0.3}},
        "q": {"ramp": {"from": 0, "to": 1.5, "start": 0.2, "end": 0.4}},
    }
    scene["joints"]["led"] = {
        "type": "ball",
        "parent": "cart",
        "child": "arm",
        "at": [0, 0, 0],
        "motion": [{"position": "$r"}, {"position": 0}, {"position": "$q"}],
    }


def body(scene: dict) -> None:
    """A kinematic body jerks a pendulum."""
    scene["signals"] = {"v": {"step": {"before": 0, "after": 2, "time": 0.1}}}
    scene["bodies"]["cart"] = {"kinematic": True, "motion": {"linear": ["$v", 0, 0]}}
    scene["joints"] = {"led": {**LED, "axis": [0, 0.6, 0.8]}}


def loop(scene: dict) -> None:
    """A joint that closes a loop of four bars is led by a ramp."""
    scene["signals"] = {"r": {"ramp": {"from": 0, "to": 0.5, "start": 0.1, "end": 0.3}}}
    arm, hinge = scene["bodies"]["arm"], {"type": "revolute", "axis": [0, 1, 0]}
    scene["bodies"] = {"a": arm, "b": {**arm, "pose": {"xyz": [1, 0, 0]}}, "c": {**arm, "pose": {"xyz": [0, 0, 1]}}}
    scene["joints"] = {
        "p": {**hinge, "parent": "world", "child": "a", "at": [0, 0, 0]},
        "q": {**hinge, "parent": "a", "child": "b", "at": [1, 0, 0]},
        "r": {**hinge, "parent": "world", "child": "c", "at": [0, 0, 1]},
        "s": {**hinge, "parent": "c", "child": "b", "at": [1, 0, 1], "loop": True, "motion": {"position": "$r"}},
    }


@pytest.mark.parametrize(("case", "drift"), [(ball, 5e-2), (body, 1e-3), (loop, 1e-1)])
@pytest.mark.parametrize(("solver", "integrator"), NODES)
def test_other_motions_agree_with_natural_coordinates(device, case, drift, solver, integrator):
    found = []
    for mode in ((solver, integrator), ("natural", "zhong06")):
        scene = scene_of(TOLD["velocity"], *mode)
        case(scene)
        one = run(scene, device)
        found.append(one["frames/body_q"][:, -1])
        if mode == (solver, integrator):
            assert np.abs(one["energy/drift"]).max() < drift
    np.testing.assert_allclose(*found, atol=3e-5)


CREEP = 1e-6  # [1] of the radius in 5 s at 2 rad/s and 2 ms; h^4 w^4 / 8 of each step is 8e-8
ROLLS = 1e-4  # [m], of a ball that rolls two metres
LOST = 1e-4  # [m], of a height of one
SOLVERS = ["generalized", "maximal", "natural"]
SCENE = """
simcli: 1
bodies:
  moved: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {s: {type: cylinder, radius: 2, length: 0.1}}}
  driven: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [9, 0, 0]},
           shapes: {s: {type: cylinder, radius: 2, length: 0.1}}}
  box: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [0.5, 0, 0.15]},
        velocity: {linear: [0, 1, 0], angular: [0, 0, 2]}, shapes: {s: {type: box, size: [0.2, 0.2, 0.2]}}}
  crate: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [9.6, 0.8, 0.15], rpy: [0, 0, 0.4]},
          velocity: {linear: [-1.6, 1.2, 0], angular: [0, 0, 2]}, shapes: {s: {type: box, size: [0.2, 0.2, 0.2]}}}
  ball: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [-0.5, 0, 0.15]},
         velocity: {linear: [0, -1, 0], angular: [0, 0, 2]}, shapes: {s: {type: sphere, radius: 0.1}}}
joints:
  axle: {type: revolute, parent: world, child: moved, axis: [0, 0, 1], motion: {velocity: 2}}
  shaft: {type: revolute, parent: world, child: driven, axis: [0, 0, 1], at: [9, 0, 0], qd: 2,
          drive: {mode: velocity, target_velocity: 2, damping: 1000}}
solver: {type: SOLVER, dt: 2 ms, contact: {passes: 8}}
run: {duration: 5}
output: {every: 0.5, channels: [state]}
"""
BOUNCES = """
simcli: 1
materials: {m: {restitution: 1, friction: 0}}
world: {shapes: {floor: {type: plane, material: m}}}
bodies:
  ball: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [0, 0, 1.1]},
         shapes: {s: {type: sphere, radius: 0.1, material: m}}}
  RESTS
solver: {type: SOLVER, dt: 1 ms}
run: {duration: 2}
output: {every: 1 ms, channels: [state]}
"""
RESTING = """rests: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [5, 0, 0.1]},
          shapes: {s: {type: box, size: [0.2, 0.2, 0.2]}}}"""


def places(folder, text: str, body: str) -> np.ndarray:
    """[m], (F, 3)."""
    (folder / "scene.yaml").write_text(text)
    ended = command("run", folder / "scene.yaml", "-o", folder / "out.h5", "-q", "--force")
    assert ended.returncode == 0, ended.stderr
    with simcli.open(folder / "out.h5") as run:
        return {name: run.body(name).position[:, 0] for name in body.split()}


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_friction_holds_on_a_turntable_stays_there(tmp_path, solver):
    """A ball whose inertia is m R^2 rolls in a circle, with half of the turntable's spin: v' = 1/2 Omega x v."""
    found = places(tmp_path, SCENE.replace("SOLVER", solver), "box crate ball")
    for name, centre, radius in (("box", 0.0, 0.5), ("crate", 9.0, 1.0)):
        away = np.hypot(found[name][:, 0] - centre, found[name][:, 1])
        np.testing.assert_allclose(away, radius, rtol=CREEP)
    t = np.linspace(0, 5, len(found["ball"]))
    circle = np.stack((0.5 - np.cos(t), -np.sin(t)), axis=1)
    np.testing.assert_allclose(found["ball"][:, :2], circle, atol=ROLLS)


@pytest.mark.parametrize("rests", ["", RESTING], ids=["alone", "beside what rests"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_bounces_keep_their_height_whatever_rests_beside(tmp_path, solver, rests):
    height = places(tmp_path, BOUNCES.replace("SOLVER", solver).replace("RESTS", rests), "ball")["ball"][:, 2]
    peaks = height[1:-1][(height[1:-1] >= height[:-2]) & (height[1:-1] > height[2:])]
    assert len(peaks) >= 2
    np.testing.assert_allclose(peaks, 1.1, atol=LOST)


BOX = "shapes: {s: {type: box, size: [0.2, 0.2, 0.2]}}"
# Boxes on each other: from the ground at the origin up; with the origin amid them, so that their energies cancel; far away.
STACK = f"""simcli: 1
params: {{z: 0, x: 0}}
world: {{shapes: {{floor: {{type: plane, pose: {{xyz: [0, 0, "${{z}}"]}}}}}}}}
bodies:
  a: {{pose: {{xyz: ["${{x}}", 0, "${{z + 0.1}}"]}}, mass: 1, {BOX}}}
  b: {{pose: {{xyz: ["${{x}}", 0, "${{z + 0.3}}"]}}, mass: 2, {BOX}}}
  c: {{pose: {{xyz: ["${{x}}", 0, "${{z + 0.5}}"]}}, mass: 3, {BOX}}}
solver: {{dt: 1 ms, precision: float32}}
run: {{duration: 10}}
output: {{every: 0.1, channels: [energy]}}
batch: {{vary: {{params.z: {{list: [0, -0.3667, 100, 0]}}, params.x: {{list: [0, 0, 0, 300]}}}}}}
"""
# Two balls that overlap are pushed apart: energy from nothing. The second pair stands still.
GAIN = """simcli: 1
params: {x: 0.15}
world: {gravity: [0, 0, -9.81]}
bodies:
  a: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, shapes: {s: {type: sphere, radius: 0.1}}}
  b: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, shapes: {s: {type: sphere, radius: 0.1}}, pose: {xyz: ["${x}", 0, 0]}}
solver: {dt: 1 ms, precision: float32}
run: {duration: 0.02}
output: {every: 0.01}
batch: {vary: {params.x: {list: [0.5, 0.15]}}}
"""
DRIFT_FLOAT32_SOLVERS = ["generalized", *(pytest.param(other, marks=pytest.mark.slow) for other in ("maximal", "natural"))]


def ran(folder, text, solver):
    (folder / "s.yaml").write_text(text)
    words = "-q", "--device", "cpu", "--set", f"solver.type={solver}"
    return simcli_apart("run", folder / "s.yaml", "-o", folder / "s.h5", *words)


@pytest.mark.parametrize("solver", DRIFT_FLOAT32_SOLVERS)
def test_a_stack_at_rest_gains_nothing(solver, tmp_path):
    done = ran(tmp_path, STACK, solver)
    assert done.returncode == Exit.OK, done.stderr
    account = EnergyAccount(build_model(*read_scene(tmp_path / "s.yaml", ()), None), "float32", solver)
    with simcli.open(tmp_path / "s.h5") as file:
        account.see_run(file, file.n_frames)
        account.n_steps = int(file.step[-1])
    assert account.gain.max() > 1e-4  # [J]: there is something to be judged
    assert (account.gain < 0.5 * account.floor()).all(), account.gain / account.floor()


@pytest.mark.parametrize("solver", ["generalized", "natural"])
def test_a_short_rest_gains_nothing(solver, tmp_path):
    """Where the stack settles, in its first steps, roundings are the most."""
    done = ran(tmp_path, STACK.replace("duration: 10", "duration: 0.4"), solver)
    assert done.returncode == Exit.OK, done.stderr


@pytest.mark.parametrize("solver", DRIFT_FLOAT32_SOLVERS)
def test_a_gain_is_told(solver, tmp_path):
    done = ran(tmp_path, GAIN, solver)
    assert done.returncode == Exit.SIMULATION
    assert "error: world 1: " in done.stderr
    assert "world 0" not in done.stderr


def test_the_floor_is_that_of_the_bodies_and_of_the_steps(tmp_path):
    """Against the sum by hand; in double precision it is a millionth of the largest term, as it was."""
    (tmp_path / "s.yaml").write_text(STACK)
    model = build_model(*read_scene(tmp_path / "s.yaml", ()), None)
    weights = [
        9.81 * sum(m * np.hypot(z + 0.2 * m - 0.1, x) for m in (1, 2, 3))
        for z, x in ((0, 0), (-0.3667, 0), (100, 0), (0, 300))
    ]
    terms = {f"energy/{name}": np.full((1, 4), value) for name, value in zip(_TERMS, (3.0, 0, 0, 2.0, 0, 0), strict=True)}
    for precision, solver, single in (
        ("float32", "maximal", 2.0**-23 * (16 + 500)),
        ("float64", "natural", 0.0),
        ("float32", "natural", 2.0**-23 * (16 + 2000)),
    ):
        account = EnergyAccount(model, precision, solver)
        account.see(terms)
        account.n_steps = 1000
        np.testing.assert_allclose(account.floor(), 3e-6 + single * (5.0 + np.array(weights)), rtol=1e-12)


WAY = 0.007  # [m], of what falls
HIT = """simcli: 1
materials: {m: {density: 1000, friction: 0.5, restitution: BOUNCES}}
world: {gravity: [0, 0, GRAVITY], shapes: {ground: {type: plane, material: m, pose: {xyz: [0, 0, -1]}}}}
bodies:
  rests: {pose: {xyz: [3, 0, -0.9]}, kinematic: IS_HELD, shapes: {s: {type: box, size: [0.2, 0.2, 0.2], material: m}}}
  meets: {pose: {xyz: [0, 0, HEIGHT], rpy: [0, TILT, 0]}, MOVES
          shapes: {s: {type: box, size: [0.2, 0.2, 0.2], material: m}}}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 5 ms}
run: {duration: 0.3}
output: {every: 5 ms}
"""
STOP = """contact: {enabled: false}
joints:
  slide: {type: prismatic, parent: world, child: meets, axis: [0, 0, -1], limit: [-1, 0.007]}
"""
SPRING = """forces:
  pull: {type: spring, a: {body: meets, at: [0, 0, 0]}, b: {world: [0.5, 0, -2]}, stiffness: 80, rest_length: 1}
"""
SLIDES = "velocity: {linear: [0.5, 0, 0]},"
FALLS = {"BOUNCES": 0, "GRAVITY": -9.81, "HEIGHT": WAY - 0.9, "TILT": 0, "MOVES": "", "IS_HELD": "false"}
HITS = {
    "a box falls flat": ("", FALLS),
    "a box falls on an edge and bounces": ("", FALLS | {"BOUNCES": 0.5, "TILT": 0.5, "HEIGHT": -0.8, "MOVES": SLIDES}),
    "a stop ends a fall": (STOP, FALLS | {"HEIGHT": 0, "IS_HELD": "true"}),
    "a stop ends a fall and a pull": (STOP + SPRING, FALLS | {"HEIGHT": 0, "IS_HELD": "true"}),
}
MISSED = 1e-6  # relative to what is lost: contacts are found to 1e-8 m/s
PULLED = 0.1  # likewise, where a spring pulls, of which half a step is drift
LATE = 0.02  # likewise, where velocities are half a step late all the time: what a bounce has then
SMOOTH_FIRST = [mode for mode in reversed(MODES) if mode[0] != "affine"]  # the default tier takes the first ones


def text_of(case, solver, integrator):
    """The scene of a case."""
    more, values = HITS[case]
    text = HIT + more
    for name, value in {**values, "SOLVER": solver, "INTEGRATOR": integrator}.items():
        text = text.replace(name, str(value))
    return text


def hitting():
    """Cases, solvers and integrators that go together."""
    for case, (solver, integrator) in product(HITS, SMOOTH_FIRST):
        if integrator != "generalized_alpha" and (integrator != "zhong06" or HITS[case][0]):
            yield case, solver, integrator


@pytest.mark.parametrize(("case", "solver", "integrator"), covering(hitting(), 1))
def test_what_an_impact_loses_is_what_is_gone(case, solver, integrator, tmp_path):
    """Also where steps fly smoothly, and meet what they meet along the velocities of their ends: gravity gives more then."""
    (tmp_path / "scene.yaml").write_text(text_of(case, solver, integrator))
    ended = command("run", tmp_path / "scene.yaml", "-o", tmp_path / "out.h5", "-q")
    assert ended.returncode == Exit.OK, ended.stderr
    with simcli.open(tmp_path / "out.h5") as run:
        lost = run.energy.total[0, 0] - run.energy.total[-1, 0]
        assert lost > 0.1
        most = PULLED if "pull" in case else LATE if integrator == "semi_implicit" else MISSED
        assert run.energy.dissipated[-1, 0] == pytest.approx(lost, rel=most)


@pytest.mark.parametrize("integrator", [pytest.param("rk4", marks=pytest.mark.full), "moreau"])
def test_elastic_impacts_lose_nothing(integrator, tmp_path):
    """What they gain or lose by the length of the step is drift."""
    text = text_of("a box falls flat", "natural" if integrator == "moreau" else "generalized", integrator)
    (tmp_path / "scene.yaml").write_text(
        text.replace("restitution: 0", "restitution: 1").replace("duration", "on_drift: warn, duration")
    )
    ended = command("run", tmp_path / "scene.yaml", "-o", tmp_path / "out.h5", "-q")
    assert ended.returncode == Exit.OK, ended.stderr
    with simcli.open(tmp_path / "out.h5") as run:
        assert run.body("meets").velocity[:, 0, 2].max() > 0.25
        assert np.abs(run.energy.dissipated[:]).max() < 1e-6


@pytest.mark.full
@pytest.mark.parametrize("case", ["a stop ends a fall and a pull", "a box falls on an edge and bounces"])
@pytest.mark.parametrize(
    ("solver", "integrator"), [("generalized", "rk4"), ("generalized", "implicit"), ("natural", "moreau")]
)
def test_the_account_changes_nothing_else(case, solver, integrator, tmp_path):
    """The same bytes of motion, reactions and accelerations without energies; forces on links are those of the step."""
    damped = text_of(case, solver, integrator).replace("rest_length: 1}", "rest_length: 1, damping: 5}")
    found = []
    for channels in ("state, reactions, body_qdd", "state, reactions, body_qdd, energy"):
        (tmp_path / "scene.yaml").write_text(damped.replace("every: 5 ms", f"every: 5 ms, channels: [{channels}]"))
        ended = command("run", tmp_path / "scene.yaml", "-o", tmp_path / "out.h5", "-q", "--force")
        assert ended.returncode == Exit.OK, ended.stderr
        with h5py.File(tmp_path / "out.h5") as file:
            found.append(
                {name: file["frames"][name][:] for name in file["frames"] if file["frames"][name].dtype.kind == "f"}
            )
    assert {"joint_q", "joint_qd", "body_qdd"} <= set(found[0])
    assert [name for name in found[0] if found[0][name].tobytes() != found[1][name].tobytes()] == []
