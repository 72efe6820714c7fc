"""Sticking, sliding, rolling and bouncing against closed forms; joints beside contacts, solved with them.

Every world of one batch is a case. The steps are first order, and what they do to a body under constant forces is known
exactly: v = a t, x = a t (t + h) / 2. So tolerances are those of the solver's velocities, not of the step.

Contacts that their joints let nothing move along: what they see of velocities is rounding, and asks for no impulse.

What is led needs no mass, beside contact as without: the motion is that of the same scene with masses.
"""

import json
import shutil
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import numpy as np
import pytest
from support.contact_scenes import GRAVITY, NEUTRAL, RADIUS, YARD, batch, run, scene
from support.process import simcli as command
from support.runs import committed, differing, worlds_of
from support.tiers import covered, in_turns

import simcli
from simcli.spec.checks.solver_fields import CONTACT_INTEGRATORS
from simcli.spec.schema.scene import GeneralizedSolver, MaximalSolver, NaturalSolver

DURATION = 2.0  # [s]
VELOCITY = 1e-6  # [m/s], a hundred times `solver.contact.tolerance`: what a step may lack
ACCELERATION = 1e-6  # [m/s^2], over seconds; contact-solver.md asks for 1e-4
STOPPED = 1e-6  # [m] of a block that slides until it rests; contact-solver.md asks for 1e-5
CREEP = 1e-8  # [m] in half a second, contact-solver.md
SUNK = 1e-8  # [m]
ROLLS = 1e-7  # [m/s]
ON_RAILS = 1e-9  # [m, m/s]
ROUNDING = 1e-13  # [rad/s] of 5, turned into natural coordinates and back
HEIGHT = {1e-3: 2e-4, 1e-2: 4e-3}  # relative, of apices; what is left is that the apex lies between two frames
STOP_TAKES = 10 * 0.3  # [J] of the slider that is pushed against its stop
LEDGER = 1e-7  # [J] of 2 J
SUMMED = 1e-13  # [J], rounding of sums of 10 J
MUS = (0.1, 0.3, 0.5, 0.7, 1.0)
OFF = 0.04  # [deg] from the angle of friction
ANGLES = (3.0, 20.0, 40.0)


def inclines():
    """Friction and angle [deg]: some anywhere, and both sides of the angle of friction."""
    for mu in MUS:
        critical = np.degrees(np.arctan(mu))
        for angle in (*ANGLES, critical - OFF, critical + OFF):
            if angle < 42:
                yield f"incline {mu} {angle:.2f}", {"mu": mu, "a": np.radians(angle)}


MARGIN = {"m": 0.04}  # [m], of all shapes, of which nothing here takes notice
INCLINES = dict(inclines()) | {f"incline, margins, {a}": {"mu": 0.3, "a": np.radians(a), **MARGIN} for a in (10, 30)}
STOPS = {f"stop {mu}": {"mu": mu, "v": 2.0} for mu in (0.2, 0.7)} | {"stop, margins": {"mu": 0.3, "v": 2.0, **MARGIN}}
BALLS = {
    "slip to roll": {"u": 2.0, "mu": 0.25},
    "backspin": {"u": 2.0, "w": -60.0, "mu": 0.25},
    "topspin": {"w": 60.0, "mu": 0.25},
    "margins": {"u": 2.0, "w": -60.0, "mu": 0.25, **MARGIN},
    "rolls": {"u": 1.0, "w": 10.0},
    "no friction": {"u": 1.0, "w": 10.0, "mu": 0.0},
}
BOUNCES = {f"bounce {e}": {"e": e, "z": 1.0 + RADIUS, "w": 5.0, "mu": 0.0} for e in (0.5, 0.8, 0.9, 1.0)}
BOUNCES["bounce, margins"] = {**BOUNCES["bounce 0.8"], **MARGIN}
AT_REST = {
    f"rests {angle} {v}": {"mu": 0.3, "more": 0.2, "a": np.radians(angle), "v": v}
    for angle in (20, 26, 27)
    for v in (0.0, 0.5)
}
SPINS = {f"roll {u}": {"u": u, "w": u / RADIUS, "roll": 2e-3} for u in (0.2, 1.0)}
SPINS |= {f"twist {n}": {"n": n, "twist": 1e-3} for n in (-2.0, 8.0)}
ROLL = 2e-3  # [m]
HEADINGS = {
    f"heading {heading}": {"u": 1.0, "w": 1.0 / RADIUS, "roll": ROLL, "heading": np.radians(heading)}
    for heading in (30, 45, 160, 250)
}
DOWNHILL = {
    f"downhill {down} {share}": {"a": np.arctan(share * ROLL / RADIUS), "roll": ROLL, "down": np.radians(down)}
    for down in (0, 45, 200)
    for share in (0.99, 1.01)
}
ACROSS = {
    f"across {heading}": {
        "u": 0.5,
        "w": 0.5 / RADIUS,
        "n": 2.0,
        "a": 0.1,
        "roll": ROLL,
        "twist": 5e-4,
        "heading": np.radians(heading),
        "down": np.radians(20),
    }
    for heading in (0, 120, 200)
}
PULLED = {"pulled": {"pull": 1.1}}
CASES = {**INCLINES, **STOPS, **BALLS, **BOUNCES, **AT_REST, **SPINS, **HEADINGS, **DOWNHILL, **ACROSS, **PULLED}
WORLD = {name: k for k, name in enumerate(CASES)}
slow = pytest.mark.slow
OTHERS = [("natural", 1e-2), ("maximal", 1e-2), ("generalized", 1e-3), ("generalized", 5e-2)]
RUNS = [("generalized", 1e-2), *(pytest.param(other, marks=slow) for other in OTHERS)]


class Yard:
    """The run of all cases with a solver and a step."""

    def __init__(self, folder, solver, h):
        self.folder, self.name = folder, f"{solver}-{h}"
        self.content = {**scene(solver, h, DURATION, YARD), "batch": batch(CASES, NEUTRAL)}
        self.code, self.run = run(folder, self.name, self.content)
        self.h, self.time = h, self.run.time[:]
        self.bodies = {
            name: (b.position[:], b.velocity[:], b.angular_velocity[:])
            for name, b in ((name, self.run.body(name)) for name in YARD["bodies"])
        }

    def see(self, case, body):
        """Positions, velocities and angular velocities of a body in a case, (F, 3) each."""
        return [values[:, WORLD[case]] for values in self.bodies[body]]

    def travels(self, a, v=0.0):
        """[m], (F,): way of a body with a constant acceleration in these steps."""
        return v * self.time + a * self.time * (self.time + self.h) / 2


@pytest.fixture(scope="module", params=RUNS, ids=lambda p: f"{p[0]}-{p[1]}")
def yard(request, tmp_path_factory):
    found = Yard(tmp_path_factory.mktemp("yard"), *request.param)
    assert found.code == 0
    return found


@pytest.mark.parametrize("case", INCLINES)
def test_block_sticks_or_slides_with_the_right_acceleration(yard, case):
    mu, angle = CASES[case]["mu"], CASES[case]["a"]
    x, v, spin = yard.see(case, "block")
    a = max(GRAVITY * (np.sin(angle) - mu * np.cos(angle)), 0.0)
    assert np.abs(v[:, 0] - a * yard.time).max() < ACCELERATION * DURATION
    assert np.abs(x[:, 0] - yard.travels(a)).max() < (CREEP * DURATION / 0.5 if a == 0 else ACCELERATION * DURATION**2)
    assert np.abs(x[:, 2] - 0.1).max() < SUNK
    assert np.abs(x[:, 1]).max() < CREEP  # what is symmetric stays so
    assert np.abs(spin).max() < VELOCITY


@pytest.mark.parametrize("case", INCLINES)
def test_ball_rolls_or_slides_down(yard, case):
    mu, angle = CASES[case]["mu"], CASES[case]["a"]
    x, v, spin = yard.see(case, "ball")
    rolls = mu > 2 / 7 * np.tan(angle)
    a = 5 / 7 * GRAVITY * np.sin(angle) if rolls else GRAVITY * (np.sin(angle) - mu * np.cos(angle))
    turning = a / RADIUS if rolls else 5 / 2 * mu * GRAVITY * np.cos(angle) / RADIUS
    assert np.abs(v[:, 0] - a * yard.time).max() < ACCELERATION * DURATION
    assert np.abs(spin[:, 1] - turning * yard.time).max() < ACCELERATION * DURATION / RADIUS
    assert np.abs(x[:, 0] - yard.travels(a)).max() < ACCELERATION * DURATION**2


@pytest.mark.parametrize("case", STOPS)
def test_block_stops_where_implicit_steps_stop(yard, case):
    """x = v^2/(2 mu g) - v h/2 where the last step is a whole one: that is n steps of the deceleration, then rest."""
    x, v, _ = yard.see(case, "block")
    a, v_0 = CASES[case]["mu"] * GRAVITY, CASES[case]["v"]
    steps = np.floor(v_0 / (a * yard.h))
    way = yard.h * (steps * v_0 - a * yard.h * steps * (steps + 1) / 2)
    assert abs(x[-1, 0] - way) < STOPPED
    assert abs(way - v_0**2 / (2 * a) + v_0 * yard.h / 2) < a * yard.h**2
    assert np.abs(v[-1]).max() < CREEP


@pytest.mark.parametrize("case", [name for name in BALLS if name != "no friction"])
def test_ball_ends_rolling(yard, case):
    _, v, spin = yard.see(case, "ball")
    start = {"u": 0.0, "w": 0.0, **CASES[case]}
    rolling = (5 * start["u"] + 2 * start["w"] * RADIUS) / 7  # the moment of momentum about the line of contact
    assert abs(v[-1, 0] - rolling) < ROLLS
    assert abs(spin[-1, 1] * RADIUS - rolling) < ROLLS
    slips = abs(start["u"] - start["w"] * RADIUS)
    lost = 1 / 2 * 2 / 7 * slips**2 + STOP_TAKES
    energy = yard.run.energy.dissipated[:][:, WORLD[case]]
    assert abs(energy[-1] - lost) < ROLLS * 10


def test_frictionless_ball_slides_on(yard):
    _, v, spin = yard.see("no friction", "ball")
    assert np.abs(v - [1, 0, 0]).max() < ROLLS
    assert np.abs(spin - [0, 10, 0]).max() < ROLLS


@pytest.mark.parametrize("case", BOUNCES)
def test_heights_of_bounces(yard, case):
    if yard.h not in HEIGHT:
        pytest.skip("too few frames in a bounce")
    x, _, spin = yard.see(case, "ball")
    e, z = CASES[case]["e"], x[:, 2] - RADIUS
    top = 1 + np.flatnonzero((z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:]))
    expected = e ** (2 * np.arange(1, len(top) + 1))
    seen = expected > 0.05
    assert seen.sum() >= (1 if e > 0.6 else 2)
    assert np.abs(z[top][seen] / expected[seen] - 1).max() < HEIGHT[yard.h]
    assert np.abs(spin - [0, 5, 0]).max() < ROUNDING
    assert z.min() > -SUNK


@pytest.mark.parametrize("case", AT_REST)
def test_friction_at_rest_is_another(yard, case):
    """mu is 0.3, and 0.5 for what rests: up to 26.57 degrees a block that rests stays, and one that slides slides on."""
    _, v, _ = yard.see(case, "block")
    angle, v_0 = CASES[case]["a"], CASES[case]["v"]
    stays = v_0 == 0 and np.tan(angle) < 0.5
    a = 0.0 if stays else GRAVITY * (np.sin(angle) - 0.3 * np.cos(angle))
    late = yard.time > 0.1  # a block that gets loose does in its first steps
    assert np.abs(np.diff(v[late, 0]) / yard.h - a).max() < ACCELERATION / yard.h
    assert np.abs(v[:, 0] - v_0 - a * yard.time).max() < ACCELERATION + (0 if stays or v_0 else 0.2 * GRAVITY * yard.h)


@pytest.mark.parametrize("case", SPINS)
def test_rolling_and_torsional_friction_take_spin_at_a_constant_rate(yard, case):
    _, v, spin = yard.see(case, "ball")
    start = {"u": 0.0, "n": 0.0, **CASES[case]}
    rate = CASES[case].get("roll", 0.0) * GRAVITY / RADIUS / (1 + 2 / 5)
    left = max(start["u"] - rate * DURATION, 0.0)
    assert abs(v[-1, 0] - left) < ACCELERATION * DURATION
    assert abs(spin[-1, 1] * RADIUS - left) < ACCELERATION * DURATION
    rate = CASES[case].get("twist", 0.0) * GRAVITY / (2 / 5 * RADIUS**2)
    left = np.sign(start["n"]) * max(abs(start["n"]) - rate * DURATION, 0.0)
    assert abs(spin[-1, 2] - left) < ACCELERATION * DURATION / RADIUS


def direction(angle):
    return np.array([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize("case", HEADINGS)
def test_rolling_friction_brakes_along_the_path_whatever_its_heading(yard, case):
    _, v, spin = yard.see(case, "ball")
    left = 1.0 - 5 / 7 * ROLL / RADIUS * GRAVITY * yard.time
    along = direction(CASES[case]["heading"])
    assert np.abs(v[:, :2] - left[:, None] * along).max() < ACCELERATION * DURATION
    assert np.abs(spin[:, 1] * RADIUS - v[:, 0]).max() < ACCELERATION * DURATION
    assert np.abs(spin[:, 0] * RADIUS + v[:, 1]).max() < ACCELERATION * DURATION


@pytest.mark.parametrize("case", DOWNHILL)
def test_rolling_friction_holds_on_slopes_of_its_angle_whatever_their_heading(yard, case):
    _, v, _ = yard.see(case, "ball")
    angle, along = CASES[case]["a"], direction(CASES[case]["down"])
    a = 5 / 7 * GRAVITY * max(np.sin(angle) - ROLL / RADIUS * np.cos(angle), 0.0)
    assert np.abs(v[:, :2] - a * yard.time[:, None] * along).max() < ACCELERATION * DURATION


@pytest.mark.parametrize("case", ACROSS)
def test_a_ball_curves_downhill_as_implicit_steps_of_its_equation_do(yard, case):
    """7/5 m v' = m g_t - (roll/r) N v/|v|, and beside that torsional friction takes the spin about the normal."""
    _, v, spin = yard.see(case, "ball")
    given, brake = CASES[case], 5 / 7 * ROLL / RADIUS * GRAVITY * np.cos(CASES[case]["a"])
    pull = 5 / 7 * GRAVITY * np.sin(given["a"]) * direction(given["down"])
    now, ways = given["u"] * direction(given["heading"]), []
    for _ in range(len(v)):
        ways.append(now)
        free = now + yard.h * pull
        now = free * max(1.0 - yard.h * brake / np.linalg.norm(free), 0.0)  # the implicit step, in closed form
    assert np.abs(v[:, :2] - ways).max() < ACCELERATION * DURATION
    rate = given["twist"] * GRAVITY * np.cos(given["a"]) / (2 / 5 * RADIUS**2)
    assert np.abs(spin[:, 2] - np.maximum(given["n"] - rate * yard.time, 0.0)).max() < ACCELERATION * DURATION / RADIUS


def test_dry_friction_of_a_joint_beside_contacts(yard):
    rate = yard.run.joint("rubbed").qd[..., 0]
    assert np.abs(np.delete(rate, WORLD["pulled"], axis=1)).max() < ON_RAILS
    assert np.abs(rate[:, WORLD["pulled"]] - 0.1 * yard.time).max() < ON_RAILS


def test_stop_of_a_joint_beside_contacts(yard):
    q, effort = yard.run.joint("stopped").q[..., 0], yard.run.joint("stopped").effort[..., 0]
    assert q.max() < 0.3 + ON_RAILS
    assert np.abs(q[-1] - 0.3).max() < ON_RAILS
    assert np.abs(effort[-1] + 10).max() < VELOCITY / yard.h


def test_clamp_of_a_drive_beside_contacts(yard):
    assert np.abs(yard.run.joint("clamped").qd[..., 0] - 4 * yard.time[:, None]).max() < ON_RAILS


def test_contacts_take_energy_and_never_give(yard):
    assert np.diff(yard.run.energy.dissipated[:], axis=0).min() > -SUMMED


@pytest.mark.parametrize("case", [*STOPS, *BALLS, *SPINS, *HEADINGS])
def test_ledger_of_energy_closes(yard, case):
    """On level ground nothing but friction takes energy, and all of it is counted."""
    assert np.abs(yard.run.energy.drift[:][:, WORLD[case]]).max() < LEDGER


def test_steps_are_solved(yard):
    assert yard.run.diag.residual[:][1:].max() < 1e-6
    assert not yard.run.diag.status[:].any()


# A device for one world is another one each time, so that runs and cases take turns.
APART = ["slip to roll", "bounce 0.8", "pulled"]
ALONE = {f"{solver}-{h}": case for (solver, h), case in in_turns([RUNS[0], *OTHERS], APART)}


def test_a_world_alone_is_the_same(yard):
    """In scalar code, in packs beside worlds with other contacts: the same bytes."""
    case = ALONE[yard.name]
    code, seen = run(yard.folder, "alone", yard.content, "--world", WORLD[case], "--force")
    assert code == 0
    seen.close()
    shutil.copy(yard.folder / f"{yard.name}.h5", yard.folder / "whole.h5")  # the yard's own is open in another way
    rows, alone = (committed(yard.folder / f"{name}.h5") for name in ("whole", "alone"))
    assert rows["diag/contacts"].std(axis=1).max() > 0
    assert not differing(worlds_of(rows, [WORLD[case]]), worlds_of(alone, [0]))


UNMOVED_RADIUS, DIP, DT = 0.1, 1e-3, 1e-3  # [m, m, s]
NORMAL = np.array([0.3, 0.5, 0.7]) / np.sqrt(0.83)
UNMOVED_ACROSS = np.array([0.5, -0.3, 0.0]) / np.sqrt(0.34)
SPEED = {"pin": 3.0, "slide": 0.1, "carriage": 3.0}  # [rad/s, m/s, rad/s]
PRECISE = {"float64": 1e-4, "float32": 1e-3}  # [rad/s]
SOLVERS = ("generalized", "maximal", "natural")
SINKS = [(case, "float64", DIP) for case in SPEED]
SINKS += [pytest.param(case, "float32", DIP, marks=pytest.mark.slow) for case in ("pin", "carriage")]
OFTEN = ("generalized", "carriage", "float64")
ALL_TOUCHES = list(product(SOLVERS, SPEED, PRECISE))  # each of them has kernels of its own: of pairs all
TOUCHES = [
    pytest.param(*ALL_TOUCHES[k], marks=[] if ALL_TOUCHES[k] == OFTEN else pytest.mark.slow)
    for k in sorted({*covered(ALL_TOUCHES, 2), ALL_TOUCHES.index(OFTEN)})
]


def ball_at(place) -> dict:
    ball = {"type": "sphere", "radius": UNMOVED_RADIUS, "material": "m"}
    return {"pose": {"xyz": [float(x) for x in place]}, "shapes": {"s": ball}}


def scene_of(case: str, dip: float) -> dict:
    """A ball on a joint that touches a wall, deeper by a dip, in a direction in which the joint moves nothing."""
    base = {"mass": 1, "inertia": {"diag": [1, 1, 1]}, "pose": {"xyz": [0.7, 0.4, 1]}}
    weld = {"type": "fixed", "parent": "world", "child": "base", "at": [0, 0, 1]}
    wall = {"type": "plane", "normal": NORMAL.tolist(), "material": "m"}
    joint = {"parent": "base", "child": "top", "at": [0, 0, 0], "qd": SPEED[case]}
    scene = {
        "simcli": 1,
        "materials": {"m": {"density": 1000, "friction": 0 if case == "slide" else 0.5}},
        "world": {"gravity": [0, 0, 0]},
        "run": {"duration": 0.1, "on_unsolved": "warn"},
    }
    if case == "carriage":  # a casing that flies and turns about the normal, and a wheel in it
        base["velocity"] = {"linear": [0.1, 0.2, 0.3], "angular": [0, 0, 2]}
        box = {"type": "box", "size": [1, 1, 0.2], "material": "m"}
        plate = {"pose": {"xyz": [0, 0, -0.1]}, "shapes": {"s": box}}
        scene["bodies"] = {"base": base, "plate": plate, "top": ball_at([0, 0, UNMOVED_RADIUS - dip])}
        scene["joints"] = {
            "weld": {**weld, "parent": "base", "child": "plate"},
            "joint": {**joint, "type": "revolute", "axis": [0, 0, 1]},
        }
    else:
        kind = {"pin": ("revolute", NORMAL), "slide": ("prismatic", UNMOVED_ACROSS)}[case]
        scene["world"]["shapes"] = {"wall": wall}
        scene["bodies"] = {"base": base, "top": ball_at(NORMAL * (UNMOVED_RADIUS - dip))}
        scene["joints"] = {"weld": weld, "joint": {**joint, "type": kind[0], "axis": kind[1].tolist()}}
    return scene


def last_speed(folder, scene, solver, precision) -> float:
    """[rad/s or m/s], of the joint at the end of a run."""
    path, out = folder / "scene.json", folder / "out.h5"
    path.write_text(json.dumps({**scene, "solver": {"type": solver, "dt": DT, "precision": precision}}))
    ended = command("run", path, "-o", out, "-q", "--force")
    assert ended.returncode == 0, ended.stderr
    with simcli.open(out) as run:
        return float(run.joint("joint").qd[-1, 0, 0])


@cache
def speed_without_contact(case, precision) -> float:
    free = {**scene_of(case, 0.0), "contact": {"exclude": [["plate", "top"]] if case == "carriage" else [["world", "top"]]}}
    with TemporaryDirectory() as folder:
        return last_speed(Path(folder), free, "generalized", precision)


@pytest.mark.parametrize(("case", "precision", "dip"), SINKS)
def test_an_overlap_that_nothing_can_undo_moves_nothing(tmp_path, case, precision, dip):
    """Metrics of 1e-33 gave worlds that flew apart at the first step (SC602)."""
    speed = last_speed(tmp_path, scene_of(case, dip), "generalized", precision)
    assert abs(speed - speed_without_contact(case, precision)) < PRECISE[precision]


@pytest.mark.parametrize(("solver", "case", "precision"), TOUCHES)
def test_a_touch_that_nothing_can_change_moves_nothing(tmp_path, solver, case, precision):
    speed = last_speed(tmp_path, scene_of(case, 0.0), solver, precision)
    assert abs(speed - speed_without_contact(case, precision)) < PRECISE[precision]


@pytest.mark.parametrize("precision", PRECISE)
def test_a_wheel_on_a_turret_that_turns_keeps_its_speed(tmp_path, precision):
    """Its gap to a plate of the turret is 0 for all time: by a normal that stood still over a step it sank, and braked."""
    speed, ball = 10.0, ball_at([0.5, 0, UNMOVED_RADIUS])
    plate = {
        "mass": 1,
        "inertia": {"diag": [1, 1, 1]},
        "pose": {"xyz": [0.5, 0, -0.1]},
        "shapes": {"s": {"type": "box", "size": [1, 1, 0.2], "material": "m"}},
    }
    hinge = {"type": "revolute", "axis": [0, 1, 0], "at": [0, 0, 0], "motion": {"velocity": 2}}
    hub = {"type": "revolute", "axis": [1, 0, 0], "at": [0.5, 0, UNMOVED_RADIUS], "qd": speed}
    scene = {
        "simcli": 1,
        "materials": {"m": {"density": 1000, "friction": 0.5}},
        "world": {"gravity": [0, 0, 0]},
        "bodies": {"turret": {"mass": 1, "inertia": {"diag": [1, 1, 1]}}, "plate": plate, "wheel": ball},
        "joints": {
            "pivot": {**hinge, "parent": "world", "child": "turret"},
            "weld": {"type": "fixed", "parent": "turret", "child": "plate", "at": [0, 0, 0]},
            "joint": {**hub, "parent": "turret", "child": "wheel"},
        },
        "run": {"duration": 0.1},
    }
    assert abs(last_speed(tmp_path, scene, "generalized", precision) - speed) < PRECISE[precision]


WHOLE = {"mass": 1, "inertia": {"diag": [0.02, 0.03, 0.04]}}
BALL = {"mass": 4, "inertia": {"diag": [0.01, 0.01, 0.01]}, "shapes": {"s": {"type": "sphere", "radius": 0.1}}}
POINT = {"mass": 1, "inertia": "point"}  # natural coordinates of joints in loops need some mass, no inertia
HUNG = {"generalized": {"mass": 0, "inertia": "point"}, "maximal": {"mass": 0, "inertia": "point"}, "natural": POINT}
WITHIN = {"generalized": 1e-9, "maximal": 1e-5, "natural": 1e-9}  # [m]; joints of maximal coordinates are met to 1e-8 m/s
SPECS = {"generalized": GeneralizedSolver, "maximal": MaximalSolver, "natural": NaturalSolver}
LED_CASES = [
    pytest.param(solver, integrator, marks=[] if integrator in ("semi_implicit", "moreau") else pytest.mark.slow)
    for solver, spec in SPECS.items()
    for integrator in get_args(spec.model_fields["integrator"].annotation)
    if integrator in CONTACT_INTEGRATORS
]


def scene_of_led(solver, integrator, led, hung) -> dict:
    """A pendulum on a carrier that drives and turns, a crank, a disc that spins, a target; and a ball that lands."""
    bodies = {
        "carrier": {"kinematic": True, "motion": {"linear": [1, 0, 0], "angular": [0, 0, 2]}, **led},
        "arm": {"pose": {"xyz": [0.2, 0, 0]}, **BALL},
        "target": {"pose": {"xyz": [3, 0, 0]}, "kinematic": True, **led},
        "crank": {"pose": {"xyz": [5, 0, 0]}, **hung},
        "bob": {"pose": {"xyz": [5.3, 0, 0]}, **WHOLE},
        "disc": {"pose": {"xyz": [7, 0, 0]}, **hung},
        "ball": {"pose": {"xyz": [1, 1, -0.8]}, **BALL},
    }
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    spun = {"type": "revolute", "axis": [0, 0, 1], "parent": "world"}
    joints = {
        "swing": {**hinge, "parent": "carrier", "child": "arm", "at": [0, 0, 0]},
        "turn": {**spun, "child": "crank", "at": [5, 0, 0], "motion": {"velocity": 3}},
        "hang": {**hinge, "parent": "crank", "child": "bob", "at": [5.1, 0, 0]},
        "spin": {**spun, "child": "disc", "at": [7, 0, 0], "motion": {"velocity": 2}},
    }
    floor = {"type": "plane", "pose": {"xyz": [0, 0, -1]}}
    return {
        "simcli": 1,
        "world": {"shapes": {"floor": floor}},
        "bodies": bodies,
        "joints": joints,
        "solver": {"type": solver, "integrator": integrator, "dt": 1e-3},
        "run": {"duration": 0.3},
    }


def places(folder, content) -> dict:
    """[m], of each body in each frame."""
    path, out = folder / "scene.json", folder / "out.h5"
    path.write_text(json.dumps(content))
    ended = command("run", path, "-o", out, "-q", "--force")
    assert ended.returncode == 0, ended.stderr
    with simcli.open(out) as run:
        assert run.diag.residual[:].max() < 1e-6
        return {name: run.body(name).position[:] for name in content["bodies"]}


@pytest.mark.parametrize(("solver", "integrator"), LED_CASES)
def test_what_is_led_needs_no_mass(tmp_path, solver, integrator):
    """A kinematic body without mass made the matrix of impulses singular: the first step ended with SC601."""
    expected = places(tmp_path, scene_of_led(solver, integrator, WHOLE, WHOLE))
    found = places(tmp_path, scene_of_led(solver, integrator, {}, HUNG[solver]))
    for name, position in expected.items():
        assert np.abs(found[name] - position).max() < WITHIN[solver], name
