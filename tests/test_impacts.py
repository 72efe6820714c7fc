"""Contact with integrators of several nodes: smooth motion of their order between impacts, impacts of first order.

What stops one mechanism is nothing to another one that nothing joins to it, in every solver.
"""

import itertools
import json

import numpy as np
import pytest
from support.contact_scenes import run, scene
from support.forward import Runner
from support.runs import committed, differing, worlds_of
from support.scenes import faults_of
from support.solver_modes import MODES

from simcli.solvers.tree.programs import MOVES
from simcli.spec.checks.solver_fields import CONTACT_INTEGRATORS

pytestmark = pytest.mark.usefixtures("packs_of_two")
NODES = sorted(MOVES)
# Their impacts are the same stages (solvers/tree/stages.py); that implicit steps go into them and out of them is told by
# the two tests of the arm.
ONE_OF_NODES = pytest.mark.parametrize(
    "integrator", [pytest.param(one, marks=[pytest.mark.slow] * (one != "rk4")) for one in NODES]
)
GRAVITY, HEIGHT, RESTITUTION = 9.81, 0.4, 0.5
CHANNELS = ["state", "energy", "contacts", "reactions"]

# Two links with a limited drive and damping; the ball of the second one meets a wall on its way back, at 0.72 s.
ARM = {
    "simcli": 1,
    "materials": {"m": {"friction": 0.3}},
    "defaults": {"shape": {"material": "m"}},
    "world": {"shapes": {"wall": {"type": "plane", "normal": [1, 0, 0], "offset": -0.3}}},
    "bodies": {
        "upper": {"pose": {"xyz": [0.5, 0, 0]}, "mass": 1, "inertia": {"diag": [0.01, 0.1, 0.1]}},
        "lower": {"pose": {"xyz": [1.5, 0, 0]}, "shapes": {"tip": {"type": "sphere", "radius": 0.1, "density": 200}}},
    },
    "joints": {
        "j": {"type": "revolute", "parent": "world", "child": "upper", "at": [0, 0, 0], "axis": [0, 1, 0], "damping": 0.1},
        "k": {
            "type": "revolute",
            "parent": "upper",
            "child": "lower",
            "at": [1, 0, 0],
            "axis": [0, 1, 0],
            "drive": {"mode": "position", "stiffness": 20, "damping": 1, "target": 0.3, "effort_limit": 30},
        },
    },
    "output": {"channels": CHANNELS},
}

# Balls that fall: one bounces on the ground, one does not get there; heights differ by world.
BALLS = {
    "simcli": 1,
    "params": {"z": HEIGHT},
    "materials": {"m": {"friction": 0, "restitution": RESTITUTION}},
    "defaults": {"shape": {"material": "m"}, "body": {"mass": 1}},
    "world": {"shapes": {"ground": {"type": "plane"}}},
    "bodies": {
        "bounces": {
            "pose": {"xyz": [0, 0, "${0.1 + z}"]},
            "velocity": {"linear": [0.3, 0, 0]},
            "shapes": {"s": {"type": "sphere", "radius": 0.1}},
        },
        "falls": {
            "pose": {"xyz": [5, 0, 9]},
            "velocity": {"linear": [0.3, 0, 2], "angular": [1, 2, 3]},
            "shapes": {"s": {"type": "sphere", "radius": 0.1}},
        },
    },
    "output": {"channels": CHANNELS},
}

# A four-bar whose rod carries a ball that comes to rest on the ground; dry friction, a limit and damping in its joints.
ROD = [0.8, np.sqrt(0.32)]  # of its end; the other one is above the crank
LOOP = {
    "simcli": 1,
    "world": {"shapes": {"ground": {"type": "plane", "normal": [0, 0, 1], "offset": -0.05}}},
    "bodies": {
        "crank": {"pose": {"xyz": [0, 0, 0.125]}, "mass": 1, "inertia": {"diag": [0.02, 0.02, 0.002]}},
        "rod": {
            "pose": {"xyz": [ROD[0] / 2, 0, (0.25 + ROD[1]) / 2]},
            "mass": 1,
            "inertia": {"diag": [0.002, 0.1, 0.1]},
            "shapes": {"ball": {"type": "sphere", "radius": 0.1, "pose": {"xyz": [0, 0, -0.22]}}},
        },
        "rocker": {"pose": {"xyz": [0.9, 0, ROD[1] / 2]}, "mass": 1, "inertia": {"diag": [0.02, 0.02, 0.002]}},
    },
    "joints": {
        "a": {
            "type": "revolute",
            "parent": "world",
            "child": "crank",
            "at": [0, 0, 0],
            "axis": [0, 1, 0],
            "qd": 3,
            "limit": [-2.5, 2.5],
            "friction": 0.2,
        },
        "b": {"type": "revolute", "parent": "crank", "child": "rod", "at": [0, 0, 0.25], "axis": [0, 1, 0], "damping": 0.05},
        "c": {"type": "revolute", "parent": "rod", "child": "rocker", "at": [ROD[0], 0, ROD[1]], "axis": [0, 1, 0]},
        "d": {"type": "revolute", "parent": "world", "child": "rocker", "at": [1, 0, 0], "axis": [0, 1, 0], "friction": 0.1},
    },
    "output": {"channels": CHANNELS},
}

# A ball at rest, so that impulses take every step; sliders that follow a position, wheels that follow a velocity, in the
# tree and as loops.
LED, WAVES = (2.0, 0.1), {"x": (0.2, 2.0), "v": (2.0, 2.0)}  # [kg, kg m^2]; amplitudes, frequencies [Hz]
LED_JOINTS = {
    "slider": {"type": "prismatic", "axis": [1, 0, 0], "motion": {"position": "$x"}},
    "wheel": {"type": "revolute", "axis": [0, 1, 0], "motion": {"velocity": "$v"}},
}
LED_BODIES = {"slider": 2, "wheel": 4, "slider_loop": 6, "wheel_loop": 8}  # and where [m]
SHAKEN = {
    "simcli": 1,
    "world": {"shapes": {"ground": {"type": "plane"}}},
    "signals": {name: {"sine": dict(zip(("amplitude", "frequency"), wave, strict=True))} for name, wave in WAVES.items()},
    "bodies": {
        "rests": {"pose": {"xyz": [0, 0, 0.1]}, "mass": 1, "shapes": {"s": {"type": "sphere", "radius": 0.1}}},
        **{
            name: {"pose": {"xyz": [0, y, 1]}, "mass": LED[0], "inertia": {"diag": [LED[1]] * 3}}
            for name, y in LED_BODIES.items()
        },
    },
    "joints": {
        f"{name}_joint": {
            **LED_JOINTS[name.split("_")[0]],
            "parent": "world",
            "child": name,
            "at": [0, y, 1],
            "loop": "loop" in name,
        }
        for name, y in LED_BODIES.items()
    },
    "output": {"channels": CHANNELS},
}

# Bodies at rest that have what these scenes have, so that one kernel serves them all.
IDLE = {
    "materials": {"bouncy": {"friction": 0.3, "restitution": 0.5}},
    "bodies": {
        name: {
            "mass": 1,
            "inertia": {"diag": [0.1, 0.1, 0.1]},
            "pose": {"xyz": [3, y, 5]},
            "shapes": {"s": {"type": "sphere", "radius": 0.1, "material": "bouncy"}},
        }
        for name, y in (("idle", 20), ("idle_too", 25))
    },
    "joints": {
        "i": {
            "type": "revolute",
            "parent": "world",
            "child": "idle",
            "at": [3, 20, 5],
            "axis": [0, 1, 0],
            "limit": [-1, 1],
            "friction": 0.1,
            "damping": 0.1,
            "drive": {"mode": "position", "stiffness": 1, "damping": 1, "effort_limit": 1},
        },
        "ii": {
            "type": "revolute",
            "parent": "world",
            "child": "idle_too",
            "at": [3, 25, 5],
            "axis": [0, 1, 0],
            "loop": True,
            "friction": 0.1,
        },
    },
}


def frames(folder, base, integrator, dt, duration, every=0.1, **more):
    """Committed rows of a run."""
    idle = {key: {**base.get(key, {}), **parts} for key, parts in IDLE.items()}
    content = {
        **base,
        **idle,
        "run": {"duration": duration},
        **more,
        "solver": {"type": "generalized", "integrator": integrator, "dt": dt},
        "output": {**base["output"], "every": every},
    }
    name = f"run{len(list(folder.glob('*.h5')))}"
    code, found = run(folder, name, content)
    found.close()
    assert code == 0
    return committed(folder / f"{name}.h5")


@ONE_OF_NODES
def test_led_joints_beside_a_contact_feel_their_whole_inertia(tmp_path, integrator):
    """To second order where differences of velocities are centred; the work of motions is what kinetic energy gains.

    Loops that follow a position end a step with the mean velocity, as steps of first order do.
    """
    h = 1e-3
    code, file = run(tmp_path, "shaken", scene("generalized", h, 0.5, SHAKEN, 0.01, integrator=integrator))
    assert code == 0
    with file:
        (a, f), (b, g) = ((size, 2 * np.pi * frequency) for size, frequency in WAVES.values())
        t = file.time[1:]
        for name in LED_BODIES:
            centre = t - h * (1.0 if name == "slider_loop" else 0.5)
            wanted = LED[1] * b * g * np.cos(g * centre) if "wheel" in name else -LED[0] * a * f**2 * np.sin(f * centre)
            effort = file.joint(f"{name}_joint").effort[1:, 0, 0]
            np.testing.assert_allclose(effort, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max(), err_msg=name)
        assert file.diag.contacts[1:].min() == 1
        assert np.abs(file.energy.drift[:]).max() < 1e-6


def test_every_integrator_of_nodes_takes_contact():
    assert set(NODES) <= set(CONTACT_INTEGRATORS)


@ONE_OF_NODES
def test_until_an_impact_no_bit_differs_from_free_motion(tmp_path, integrator):
    apart = json.loads(json.dumps(ARM))
    apart["output"]["channels"].remove("contacts")
    free = frames(tmp_path, {**apart, "contact": {"enabled": False}}, integrator, 1e-3, 1.0)
    met = frames(tmp_path, ARM, integrator, 1e-3, 1.0)
    for name in ("frames/joint_q", "frames/joint_qd", "frames/joint_qdd", "frames/joint_wrench"):
        # The accelerations of the start are solved for by impulses.
        np.testing.assert_array_equal(met[name][1:8], free[name][1:8], err_msg=name)
    assert np.abs(met["frames/joint_q"][9] - free["frames/joint_q"][9]).max() > 0.1


@pytest.mark.parametrize("integrator", NODES)
def test_after_an_impact_the_error_is_of_first_order(tmp_path, integrator):
    """Against a step forty times smaller, without friction: with it, a plastic impact that slips and then sticks depends on
    where in a step it falls, because the first of its two impulses only brings the surfaces together.
    """
    smooth = {**ARM, "materials": {"m": {"friction": 0}}}
    finest = frames(tmp_path, smooth, "rk4", 2.5e-5, 1.2)["frames/joint_q"]
    errors = [
        np.abs(frames(tmp_path, smooth, integrator, dt, 1.2)["frames/joint_q"] - finest).max(axis=(1, 2))
        for dt in (1e-3, 2.5e-4)
    ]
    assert errors[0][7] < 3e-7  # before it
    assert 2e-4 < errors[0][-1] < 2e-3
    assert errors[1][-1] < 0.4 * errors[0][-1]


@ONE_OF_NODES
def test_a_ball_bounces_as_the_closed_form_says(tmp_path, integrator):
    """Times and speeds of three impacts; between them parabolas, exact in both integrators."""
    h = 1e-3
    found = frames(tmp_path, BALLS, integrator, h, 1.0, every=h)
    t = np.arange(1001) * h
    position = found["frames/body_q"][:, 0, 0, :3]
    np.testing.assert_allclose(position[:, 0], 0.3 * t, atol=1e-12)
    falls = found["frames/body_q"][:, 0, 1, 2] - (9 + 2 * t - GRAVITY / 2 * t**2)
    speed = np.sqrt(2 * GRAVITY * HEIGHT)
    assert np.abs(falls[t < speed / GRAVITY]).max() < 1e-12
    assert np.abs(falls).max() < 2e-3  # the steps of impacts are of first order for all of their world
    meets = [speed / GRAVITY]
    for k in range(1, 4):
        meets.append(meets[-1] + 2 * speed * RESTITUTION**k / GRAVITY)
    for k, (start, end) in enumerate(itertools.pairwise(meets)):
        inside = (t > start + 2 * h) & (t < end - 2 * h)
        up = speed * RESTITUTION ** (k + 1)
        s = t[inside] - start
        assert np.abs(position[inside, 2] - 0.1 - (up * s - GRAVITY / 2 * s**2)).max() < 2 * (k + 1) * h * speed
        curve = np.diff(position[inside, 2], 2) / h**2
        np.testing.assert_allclose(curve, -GRAVITY, atol=1e-5)
    drift = found["energy/drift"]
    assert np.abs(np.diff(drift[t < meets[0] - h], axis=0)).max() < 1e-12


@ONE_OF_NODES
def test_a_world_does_not_see_whether_its_neighbours_jump(tmp_path, integrator):
    heights = [0.4, 0.1, 3.0, 0.25, 0.01]
    many = {"batch": {"worlds": len(heights), "vary": {"params.z": {"list": heights}}}}
    together = frames(tmp_path, BALLS, integrator, 2e-3, 0.5, **many)
    for world, z in enumerate(heights):
        alone = frames(tmp_path, {**BALLS, "params": {"z": z}}, integrator, 2e-3, 0.5)
        assert differing(worlds_of(together, [world]), worlds_of(alone, [0])) == []


def test_loops_laws_and_contact_agree_with_first_order(tmp_path):
    """All of it at rest at the end: where it rests does not depend on the integrator, and before the impact rk4 is exact."""
    fine = frames(tmp_path, LOOP, "semi_implicit", 2.5e-5, 0.6)
    for integrator in NODES:
        found = frames(tmp_path, LOOP, integrator, 1e-3, 0.6)
        away = np.abs(found["frames/joint_q"] - fine["frames/joint_q"]).max(axis=(1, 2))
        assert away[:5].max() < 2.5e-4
        assert away[5:].max() < 1e-9
        assert np.abs(found["frames/joint_qd"][5:]).max() < 1e-7
        assert np.abs(found["energy/drift"][:4]).max() < 1e-5


CORD = """
world: {shapes: {ground: {type: plane}}}
bodies:
  ball: {pose: {xyz: [0, 0, 0.12]}, mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, velocity: {linear: [1, 0, -1]},
         shapes: {s: {type: sphere, radius: 0.1}}}
forces:
  cord: {type: spring, a: {world: [0, 0, 1]}, b: {body: ball, at: [0, 0, 0]}, stiffness: 50, rest_length: 0.5}
solver: {type: generalized, dt: 2.0e-3, integrator: rk4}
"""


def test_frames_of_rk4_show_what_springs_store_there_after_an_impact_too(device):
    """A step that is taken again loads forces where it starts, which is a step too early for the frame."""
    out = Runner(CORD, "rk4", device)(2e-3, 1, 30)
    length = np.linalg.norm(out["frames/body_q"][:, 0, 0, :3] - [0, 0, 1], axis=1)
    assert np.abs(out["energy/elastic"][:, 0] - 25 * (length - 0.5) ** 2).max() < 1e-12


# A damped double pendulum that nothing stops, and strangers that nothing joins to it: hinges that meet a stop, that rub
# until they rest, whose motion jumps; balls that fall to the ground. Those of the three worlds do so at different times, or
# never.
QUIET = """
bodies:
  upper: {pose: {xyz: [0.5, 0, 0]}, mass: 1, inertia: {diag: [0.02, 0.1, 0.1]}}
  lower: {pose: {xyz: [1.5, 0, 0]}, mass: 1, inertia: {diag: [0.02, 0.1, 0.1]}}
BODIES
joints:
  shoulder: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, -1, 0]}
  elbow: {type: revolute, parent: upper, child: lower, at: [1, 0, 0], axis: [0, -1, 0], q: 0.3, damping: 0.1}
JOINTS
TOP
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 2.0e-3}
run: {duration: 0.8}
"""
HINGED = "  other: {pose: {xyz: [0.5, 5, 0]}, mass: 1, inertia: {diag: [0.02, 0.1, 0.1]}}"
HINGE = "  hinge: {type: revolute, parent: world, child: other, at: [0, 5, 0], axis: [0, -1, 0], LAW}"
BALL = """  ball: {pose: {xyz: [0, 9, 'HEIGHT']}, mass: 1, inertia: {diag: [0.01, 0.01, 0.01]},
         shapes: {b: {type: sphere, radius: 0.1}}}"""
FLOOR = "world: {shapes: {floor: {type: plane}}}"
STOPS = "params: {a: 0.5}\nbatch: {worlds: 3, vary: {params.a: {list: [0.5, 0.9, 50]}}}"
WAY = "signals: {way: {table: {time: [0, 0.2037, 0.4041, 1.5], value: [0, 0.3, 0, 1]}}}"
STRANGERS = {  # bodies, joints, and what else the scene has
    "alone": ("", "", ""),
    "stop": (HINGED, HINGE.replace("LAW", "limit: {lower: '${-a}'}"), STOPS),
    "rub": (HINGED, HINGE.replace("LAW", "friction: '${3 * a}'"), STOPS),
    "motion": (HINGED, HINGE.replace("LAW", "motion: [{position: $way}]"), WAY),
    "ground": (BALL.replace("HEIGHT", "${a}"), "", f"{FLOOR}\n{STOPS}"),
    "stop and ground": (
        f"{HINGED}\n{BALL.replace('HEIGHT', '${a}')}",
        HINGE.replace("LAW", "limit: {lower: '${-a}'}"),
        f"{FLOOR}\n{STOPS}",
    ),
    "falls": (BALL.replace("'HEIGHT'", "90"), "", FLOOR),
}
REFUSED = {("zhong06", "ground"), ("zhong06", "stop and ground")} | {
    ("generalized_alpha", kind) for kind in STRANGERS if kind not in ("alone", "motion")
}
ACTS = [kind for kind in STRANGERS if kind not in ("alone", "falls")]
COMPANY = [(*mode, kind) for mode in MODES for kind in ACTS if (mode[1], kind) not in REFUSED]
AT_ONCE = [("natural", "zhong06", "stop"), ("generalized", "rk4", "stop"), ("affine", "bdf2", "stop")]  # the default tier
SLOW = [("natural", "moreau", "stop and ground"), ("generalized", "rk4", "stop and ground")]
# Of coordinates [rad] and rates, and of reactions relative to the largest: at most 1.1e-11 where islands have steps of
# their own; of the order of the solver's tolerance where one iteration ends for all of a world: 2e-8 in maximal coordinates,
# 2e-10 with generalized_alpha, 3e-8 of affine bodies.
SAME, SAME_TO_TOLERANCE = 1e-10, {"maximal": 1e-7, "generalized_alpha": 1e-8, "affine": 1e-7}


def tier_of_company(case):
    """Marks of a case."""
    return [] if case in AT_ONCE else [pytest.mark.slow if case in SLOW else pytest.mark.full]


def quiet(solver, integrator, kind, device):
    """Frames of the double pendulum beside a stranger, by channel, and those of all."""
    bodies, joints, top = STRANGERS[kind]
    text = QUIET.replace("BODIES", bodies).replace("JOINTS", joints).replace("TOP", top)
    text = text.replace("SOLVER", solver).replace("INTEGRATOR", integrator)
    runner = Runner(text, integrator, device, frozenset(("state", "reactions", "diag")))
    table = runner.model.joints
    at = [table.name.index(name) for name in ("shoulder", "elbow")]
    seen = runner(2e-3, 20, 20)
    found = {"q": seen["frames/joint_q"][..., table.q_start[at]], "qd": seen["frames/joint_qd"][..., table.qd_start[at]]}
    return found | {"reactions": seen["frames/joint_wrench"][:, :, at]}, seen, runner.model


@pytest.mark.parametrize(
    ("solver", "integrator", "kind"),
    [pytest.param(*case, marks=tier_of_company(case)) for case in COMPANY],
)
def test_what_nothing_joins_does_not_feel_what_stops_others(solver, integrator, kind, device):
    """Coordinates, rates and reactions as alone, in every world, whatever stops the stranger, and when."""
    wanted, _, _ = quiet(solver, integrator, "falls" if "ground" in kind and integrator == "moreau" else "alone", device)
    found, seen, model = quiet(solver, integrator, kind, device)
    assert wanted["q"].shape[1] == 1
    for name, column in found.items():
        off = np.abs(column - wanted[name]).max() / max(1.0, np.abs(wanted[name]).max())
        assert off < SAME_TO_TOLERANCE.get(solver, SAME_TO_TOLERANCE.get(integrator, SAME)), (name, off)
    if "ground" in kind:
        height = seen["frames/body_q"][:, :, model.bodies.name.index("ball"), 2].min(axis=0)
        assert height[0] < 0.11
        assert height[2] > 40
    if "stop" in kind:
        angle = seen["frames/joint_q"][:, :, model.joints.q_start[model.joints.name.index("hinge")]].min(axis=0)
        assert np.abs(angle[:2] - np.array([-0.5, -0.9])).max() < 2e-2
        assert angle[2] < -1.5
    if solver != "affine":  # whose joints are stiff springs
        assert np.nanmax(seen["diag/position_violation"]) < 1e-9


@pytest.mark.parametrize(("integrator", "kind"), sorted(REFUSED - {("generalized_alpha", "falls")}))
def test_what_others_lack_here_they_refuse(integrator, kind):
    bodies, joints, top = STRANGERS[kind]
    text = QUIET.replace("BODIES", bodies).replace("JOINTS", joints).replace("TOP", top)
    assert "SC501" in {code for code, *_ in faults_of(text.replace("SOLVER", "natural").replace("INTEGRATOR", integrator))}


# Two hinged bodies with limits, and what joins them, or does not.
APART = """
bodies:
  a: {mass: 1, com: [0.3, 0, 0], inertia: {diag: [0.1, 0.12, 0.15]}}
  b: {mass: 1, com: [0.3, 0, 0], inertia: {diag: [0.1, 0.12, 0.15]}, pose: {xyz: [0, 2, 0]}}
  c: {mass: 1, com: [0.3, 0, 0], inertia: {diag: [0.1, 0.12, 0.15]}, pose: {xyz: [0, 4, 0]}}
joints:
  ja: {type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 1, 0], limit: {lower: -1}}
  jb: {type: revolute, parent: world, child: b, at: [0, 2, 0], axis: [0, 1, 0], limit: {lower: -1}MIMIC}
  jc: {type: revolute, parent: world, child: c, at: [0, 4, 0], axis: [0, 1, 0], limit: {lower: -1}}
MORE
solver: {type: SOLVER, integrator: INTEGRATOR}
"""
JOINING = {  # islands of the three bodies, what joins
    "nothing": (3, ""),
    "springs to the world": (
        3,
        "forces: {s: {type: spring, a: {world: [0, 0, 1]}, b: {body: a, at: [0.1, 0, 0]}, stiffness: 9}}",
    ),
    "spring": (2, "forces: {s: {type: spring, a: {body: b, at: [0, 0, 0.1]}, b: {body: a, at: [0.1, 0, 0]}, stiffness: 9}}"),
    "pulley": (
        1,
        "forces: {s: {type: spring, a: {body: a, at: [0, 0, 0.1]}, through: [{body: b, at: [0.1, 0, 0]}],"
        " b: {body: c, at: [0.1, 0, 0]}, stiffness: 9}}",
    ),
    "rope around a sphere": (
        2,
        "forces: {s: {type: spring, a: {body: a, at: [0, 0, 0.1]}, stiffness: 9,"
        " through: [{body: b, at: [0.5, 0, 0], sphere: {radius: 0.01}}], b: {world: [0.7, 1, 0]}}}",
    ),
    "bushing": (
        2,
        "forces: {s: {type: bushing, a: {body: b, at: [0, 0, 0.1]}, b: {body: a, at: [0.1, 0, 0]}, stiffness: 9}}",
    ),
    "coupling": (2, "forces: {s: {type: coupling, of: [{joint: ja}, {joint: jb, factor: -1}], hold: 0}}"),
    "sprung coupling": (2, "forces: {s: {type: coupling, of: [{joint: ja}, {joint: jb, factor: -1}], stiffness: 3}}"),
    "gear": (2, "MIMIC"),
    "loop": (
        2,
        "  l: {type: ball, parent: a, child: b, parent_frame: {xyz: [0.3, 1, 0]}, child_frame: {xyz: [0.3, -1, 0]}}",
    ),
    "cable": (2, "  l: {type: cable, parent: a, child: b, stretch: 9}"),
}


@pytest.mark.parametrize("kind", JOINING)
@pytest.mark.parametrize(("solver", "integrator"), [("natural", "zhong06"), ("generalized", "implicit")])
def test_islands_are_what_joints_rows_and_forces_join(solver, integrator, kind, device):
    wanted, more = JOINING[kind]
    gear = more == "MIMIC"
    text = APART.replace("MIMIC", ", mimic: {joint: ja}" * gear).replace("MORE", "" if gear else more)
    text = text.replace("SOLVER", solver).replace("INTEGRATOR", integrator)
    islands = Runner(text, integrator, device).solver.core.bound.islands
    assert islands.n == wanted
    assert islands.are_many == (wanted > 1)
