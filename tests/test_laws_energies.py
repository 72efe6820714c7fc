"""The ledger of every law of a coordinate, in every solver and integrator, in the tree and in loops, on hinges and on balls.

What a law stores is the same in all of them at the start, and what is dissipated never falls. In each world one law acts on
one joint, and nothing else moves, so that no error hides behind another; one compilation serves all laws.

Many laws at once: random trees against the convex problem that a step solves, and what no law may change.

Each smooth law of a coordinate: k = -dF/dx, c = -dF/dv, and F from V, D and what it is told, by central differences.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.device import live_device
from support.forward import Runner, model_of
from support.lawful import Step, lawful_forest, turned_inertia

from simcli.kernels.algorithms import Algorithms
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.springs import spring_law
from simcli.kernels.language import ti
from simcli.kernels.rows import coordinate_laws
from simcli.kernels.rows.coordinate_laws import (
    bound_law,
    constant_law,
    damper_law,
    drag_law,
    servo_law,
    torsion_law,
    turn_law,
)
from simcli.model.tables.start_tables import Beginning
from simcli.solvers import SOLVERS
from simcli.solvers.rows.active_set import NEWTON_CHOICES
from simcli.spec.checks.joint_fields import JOINTS, SUPPORTED_FIELDS
from simcli.spec.schema.scene import GeneralizedSolver

START = 0.5  # [rad]
FAR = 1e9  # no bound
NUMBERS = {
    "angle": 0.0,
    "speed": 0.0,
    "bound": FAR,
    "stop": 0.0,
    "catch": 0.0,
    "k": 0.0,
    "c": 0.0,
    "aim": 0.0,
    "pace": 0.0,
    "most": FAR,
    "grip": 0.0,
    "damper": 0.0,
    "rotor": 0.0,
    "fastest": FAR,
    "spring": 0.0,
}
# Numbers of each law that are not those of NUMBERS. Limits are at +-bound; a stiffness makes them soft.
LAWS = {
    "soft limit": {"angle": START, "bound": 0.3, "stop": 1000.0, "catch": 1.0},
    "soft limit that is met": {"speed": 2.0, "bound": 0.3, "stop": 400.0, "catch": 3.0},
    "hard limit": {"speed": 2.0, "bound": 0.3},
    "drive": {"angle": START, "k": 50.0, "c": 2.0},
    "drive to a rate": {"c": 4.0, "pace": 3.0},
    "effort limit": {"angle": START, "k": 400.0, "c": 2.0, "most": 5.0},
    "friction": {"speed": 2.0, "grip": 2.0},
    "damping": {"speed": 2.0, "damper": 3.0},
    "stiff damping": {"speed": 2.0, "damper": 3000.0},
    "armature": {"speed": 2.0, "rotor": 0.3, "damper": 2.0},
    "velocity limit": {"speed": 2.0, "fastest": 1.0, "c": 1.0, "pace": 2.0},
    "torsion": {"angle": START, "spring": 100.0, "damper": 0.5},
    "all": {
        "angle": START,
        "speed": 2.0,
        "bound": 0.6,
        "stop": 500.0,
        "catch": 2.0,
        "k": 30.0,
        "c": 1.0,
        "aim": -0.2,
        "pace": 1.0,
        "most": 8.0,
        "grip": 0.5,
        "damper": 0.2,
        "rotor": 0.2,
        "fastest": 4.0,
        "spring": 10.0,
    },
}
NUMBER_OF = {
    "limit": "bound",
    "drive": "k",
    "friction": "grip",
    "damping": "damper",
    "armature": "rotor",
    "velocity_limit": "fastest",
    "effort_limit": "most",
    "torsion": "spring",
}
NO_LAWS = {"compliance", "mimic", "motion", "enabled", "effort"}  # fields that are no law of the coordinate alone
TORSION = ("spring",)  # of tree joints with a scalar coordinate
LACKS = {"hinge_loop": TORSION, "ball_tree": (*TORSION, "most"), "ball_loop": (*TORSION, "most")}
RUNS = {
    "generalized": ("semi_implicit", "implicit", "rk4"),
    "maximal": ("semi_implicit",),
    "natural": ("zhong06", "moreau"),
    "affine": ("bdf1", "bdf2"),
}
UNSTABLE = {"rk4": ("stiff damping",)}  # 3000 / 0.5 per second times 1 ms is above 2.78
TREE = ("hinge_tree", "ball_tree")  # all joints are rows in solvers without a tree
MECHANISMS = {"generalized": (*TREE, "hinge_loop", "ball_loop"), "affine": TREE[:1]}
EVERY = [(solver, integrator) for solver, integrators in RUNS.items() for integrator in integrators]
QUICK = (("generalized", "semi_implicit"), ("natural", "zhong06"))
PARAMETERS = {run: run if run in QUICK else pytest.param(*run, marks=pytest.mark.slow) for run in EVERY}
every_run = pytest.mark.parametrize(("solver", "integrator"), list(PARAMETERS.values()))
RIGID = [parameter for run, parameter in PARAMETERS.items() if run[0] != "affine"]  # there, impacts count as drift
DT, FRAMES = 1e-3, 400  # [s]
COARSE, COARSE_FRAMES = 2e-2, 20  # [s]: rates turn round within a step
FINER = 4  # steps in one of DT
ROUNDING = 1e-12  # of the energy that is there, of a sum of 1600 steps
STORED = 1e-9  # relative: loops are closed to 1e-12 rad, affine bodies to their elasticity
# Drifts at a quarter of the step: a quarter for an integrator of order one, and as much again of where the steps lie around
# the instant in which a limit is met. By energy, those that are small at any step: a rate of 2 rad/s that a law of 5 N m
# takes up one step late.
QUARTER, SMALL = 0.5, 1e-3


def cases_of(solver):
    """(law, joint) of each world."""
    return [
        (law, name)
        for name in MECHANISMS.get(solver, TREE)
        for law, numbers in LAWS.items()
        if law == "all" or not set(LACKS.get(name, ())) & set(numbers)
    ]


def watched(solver, integrator):
    """(world, law, joint) of those that an integrator can step."""
    return [(world, *case) for world, case in enumerate(cases_of(solver)) if case[0] not in UNSTABLE.get(integrator, ())]


def numbers_of(law, name):
    return NUMBERS | {key: value for key, value in LAWS[law].items() if key not in LACKS.get(name, ())}


def joint_text(name):
    kind, place = name.split("_")
    p = {key: f'"${{{key}_{name}}}"' for key in NUMBERS}
    servo = f"mode: position_velocity, stiffness: {p['k']}, damping: {p['c']}"
    drive = f"{{{servo}, target: {p['aim']}, target_velocity: {p['pace']}, effort_limit: {p['most']}}}"
    limit = f'{{lower: "${{-bound_{name}}}", upper: {p["bound"]}, stiffness: {p["stop"]}, damping: {p["catch"]}}}'
    start, keys = f"q: {p['angle']}, qd: {p['speed']}", "type: revolute, axis: [0, 0, 1], parent_frame: {}, child_frame: {}"
    if kind == "ball":
        held = f"{{{servo}, target: 0, target_velocity: 0}}"
        drive = f"[{held}, {held}, {{{servo}, target: {p['aim']}, target_velocity: {p['pace']}}}]"
        limit, half = f"[null, null, {limit}]", f"0.5*angle_{name}"
        start = f'q: [0, 0, "${{sin({half})}}", "${{cos({half})}}"], qd: [0, 0, {p["speed"]}]'
        keys = "type: ball, parent_frame: {}, child_frame: {}"
    where = start if place == "tree" else "loop: true"
    return (
        f"  {name}: {{{keys}, parent: world, child: {name}, {where}, limit: {limit}, "
        f"drive: {drive}, damping: {p['damper']}, friction: {p['grip']}, armature: {p['rotor']}, "
        f"velocity_limit: {p['fastest']}}}"
    )


def body_text(name):
    start = f', pose: {{rpy: [0, 0, "${{angle_{name}}}"]}}, velocity: {{angular: [0, 0, "${{speed_{name}}}"]}}'
    return f"  {name}: {{mass: 1, inertia: {{diag: [0.5, 0.5, 0.5]}}{start if name.endswith('loop') else ''}}}"


def scene_of(solver):
    names, cases = MECHANISMS.get(solver, TREE), cases_of(solver)
    params = {f"{key}_{name}": value for name in names for key, value in NUMBERS.items()}
    worlds = [params | {f"{key}_{name}": value for key, value in numbers_of(law, name).items()} for law, name in cases]
    varied = ", ".join(f"params.{key}: {{list: {[world[key] for world in worlds]}}}" for key in params)
    return "\n".join(
        [
            "params: {" + ", ".join(f"{key}: {value}" for key, value in params.items()) + "}",
            "world: {gravity: [0, 0, 0]}",
            "bodies:",
            *map(body_text, names),
            "joints:",
            *map(joint_text, names),
            "forces:",
            '  coil: {type: torsion, joint: hinge_tree, stiffness: "${spring_hinge_tree}", damping: 0}',
            f"solver: {{type: {solver}}}",
            f"batch: {{worlds: {len(cases)}, vary: {{{varied}}}}}",
            "",
        ]
    )


@pytest.fixture(scope="module")
def ledgers():
    """Energies of a solver's runs, (F, W) by name, from the coarse one to the finest."""

    @cache
    def of(solver, integrator):
        runner = Runner(scene_of(solver), integrator, live_device(), frozenset(("energy",)))
        runs = runner(COARSE, 1, COARSE_FRAMES), runner(DT, 1, FRAMES), runner(DT / FINER, FINER, FRAMES)
        worlds = [world for world, *_ in watched(solver, integrator)]
        assert all(np.isfinite(run["energy/total"][:, worlds]).all() for run in runs)
        return [{key[7:]: value for key, value in run.items() if key.startswith("energy/")} for run in runs]

    return of


def stored_at_start(law, name):
    n = numbers_of(law, name)
    over = max(n["angle"] - n["bound"], 0.0)
    return 0.5 * (n["stop"] * over**2 + n["spring"] * n["angle"] ** 2)


def test_every_law_solver_and_integrator_is_here():
    assert {*NUMBER_OF, *NO_LAWS} == set(SUPPORTED_FIELDS)
    assert RUNS.keys() == SOLVERS.keys() == JOINTS.keys()
    for number in NUMBER_OF.values():
        assert sum(number in numbers for numbers in LAWS.values()) > 1, number


@every_run
def test_energy_is_stored_where_it_is(ledgers, solver, integrator):
    for energies in ledgers(solver, integrator):
        for world, law, name in watched(solver, integrator):
            wanted = stored_at_start(law, name)
            assert energies["elastic"][0, world] == pytest.approx(wanted, rel=STORED, abs=STORED), (law, name)


@every_run
def test_what_is_dissipated_never_falls(ledgers, solver, integrator):
    for energies in ledgers(solver, integrator):
        for world, law, name in watched(solver, integrator):
            taken = energies["dissipated"][:, world]
            scale = np.abs(energies["total"][:, world]).max() + np.abs(energies["input"][:, world]).max()
            assert np.diff(taken).min() >= -ROUNDING * scale, (law, name, np.diff(taken).min())


@pytest.mark.parametrize(("solver", "integrator"), RIGID)
def test_the_ledger_closes_as_steps_grow_small(ledgers, solver, integrator):
    _, fine, finest = ledgers(solver, integrator)
    for world, law, name in watched(solver, integrator):
        moved = np.abs(fine["total"][:, world]).max() + np.abs(fine["input"][:, world]).max()
        drifts = [np.abs(one["drift"][:, world]).max() for one in (fine, finest)]
        assert drifts[1] < QUARTER * drifts[0] + SMALL * moved, (law, name, drifts, moved)


SIZES, N_WORLDS = (1, 3, 6, 9), 500  # trees side by side, each in so many random states
STEPS = (1e-3, 1e-2, 5e-2)  # [s]
NEAR = 1e-11  # relative, of a velocity to a vertical piece: the choice takes 1e-13 as rounding
FAR_TURNS = (0.02, 0.05)  # [rad] in a step, from which on velocities are those of its middle, by one round or by three
AGREE = 1e-9  # [m/s, rad/s], issue 3; the bound behind it has the smallest eigenvalue of M, about 1e-4, in it


def runner_of(model, integrator, device, channels=("state",)):
    runner = Runner.__new__(Runner)
    options = GeneralizedSolver(type="generalized", integrator=integrator)
    runner.begin(replace(model, start=Beginning()), options, device, frozenset(channels))
    return runner


@pytest.fixture(scope="module")
def forest():
    return lawful_forest(np.random.default_rng(11), SIZES, N_WORLDS)


@pytest.mark.slow
def test_steps_solve_the_convex_problem(forest, device):
    runner = runner_of(forest, "semi_implicit", device)
    algorithms, tries, links = Algorithms(forest, device, N_WORLDS), [], forest.links
    ranks = {root: [] for root in np.unique(links.root).tolist()}
    for h in STEPS:
        columns = runner(h, 1, 1)
        q, qd = columns["frames/joint_q"], columns["frames/joint_qd"]
        step = Step.at(forest, algorithms, q[0], qd[0], h)
        for root, found in ranks.items():
            own = dofs_of_tree(links, root)
            if (links.root == root).sum() == 1:
                check_momentum(forest, root, q, qd)
                first = links.qd_start[root]  # of the velocity of its centre of mass
                fall = np.linalg.norm(qd[1][:, first : first + 3] - qd[0][:, first : first + 3], axis=1)
                assert np.abs(fall - h * np.linalg.norm(forest.gravity, axis=1)).max() < AGREE
                continue
            errors = step.errors(qd[1], NEAR, own)
            assert errors.min(axis=0).max() < AGREE, (h, root, errors.min(axis=0).argmax())
            assert (step.errors(qd[1] + 1e-6, NEAR, own) > AGREE).all()  # the bound notices what is wrong
            found.append(errors.argmin(axis=0))
            turns = h * turns_of_tree(forest, algorithms, q[0], qd[0], root)  # of bodies; links between turn farther
            assert (found[-1] >= np.searchsorted(FAR_TURNS, turns)).all(), (h, root)
        tries.append(columns["diag/iterations"][1])
    assert all(set(np.ravel(found).tolist()) == {0, 1, 2} for found in ranks.values() if found)
    tries = np.concatenate(tries)
    assert tries.max() < runner.solver.core.bound.max_choices // 2  # all ended by themselves, with room
    assert (tries > NEWTON_CHOICES).mean() > 0.02  # and some of them run in circles without the walk


def dofs_of_tree(links, root):
    return np.concatenate([links.qd_start[i] + np.arange(links.n_qd[i]) for i in np.flatnonzero(links.root == root)])


def turns_of_tree(model, algorithms, q, qd, root):
    """[rad/s], (W,), of its body that turns fastest."""
    _, twist = algorithms.forward_kinematics(q, qd)
    own = model.links.body[(model.links.root == root) & (model.links.body >= 0)]
    return np.linalg.norm(twist[:, own, 3:], axis=-1).max(axis=1)


def check_momentum(model, i, q, qd):
    """A body alone on a free joint keeps its angular momentum: I(q+) w+ = I(q) w."""
    own = slice(model.links.qd_start[i] + 3, model.links.qd_start[i] + 6)
    before, after = (np.einsum("wij,wj->wi", turned_inertia(model, q[k], i), qd[k][:, own]) for k in (0, 1))
    assert after == pytest.approx(before, abs=AGREE * np.abs(before).max())


# A slider with everything, a ball with a drive, and springs, of which one is slack.
SCENE = """
bodies:
  s: {mass: 1, inertia: {diag: [1, 1, 1]}}
  b: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [3, 0, 0]}}
joints:
  slide: {type: prismatic, parent: world, child: s, axis: [1, 0, 0], damping: 1.7,
          limit: {lower: -0.4, upper: 0.3, stiffness: 40, damping: 2.5},
          drive: {mode: position, target: 0.7, target_velocity: -0.3, stiffness: 25, damping: 3}}
  ball: {type: ball, parent: world, child: b, at: [3, 0, 0],
         drive: [{mode: position, stiffness: 6}, {mode: position, stiffness: 6}, {mode: position, stiffness: 6}]}
forces:
  push: {type: torque, joint: slide, value: 1.3}
  coil: {type: torsion, joint: slide, stiffness: 12, rest_angle: 0.2}
  again: {type: torsion, joint: slide, stiffness: 5, rest_angle: -0.6}
  firm: {type: spring, a: {world: [0, 1, 0]}, b: {body: s, at: [0, 0, 0]}, stiffness: 30, damping: 2, rest_length: 0.4}
  rope: {type: spring, a: {world: [0, 1, 0]}, b: {body: s, at: [0, 0, 0]}, stiffness: 30, damping: 9, rest_length: 0.4,
         slack: true}
"""
SLIDE, BALL, FIRM, ROPE = 0, 1, 0, 1  # dofs and springs
TOLD = {"constant": 1.3}  # [N], efforts that are neither in V nor in D
RESULTS, WORLDS, STEP = 7, 256, 1e-6
DIFFERENCES = 1e-7  # relative, of central differences in double precision


def alone(law):
    """A law with nothing taken beside its dissipation, that acts everywhere."""
    return (*law.parts, law.force * 0.0, law.force * 0.0 + 1.0)


def of_spring(fo, w, k, x, v):
    law, taken, acts = spring_law(fo.springs, w, k, x, v)
    return (*law.parts, taken, ti.select(acts, x * 0.0 + 1.0, x * 0.0))


DERIVATIVES_LAWS = {
    "constant": lambda fo, w, x, v: alone(constant_law(fo, w, SLIDE)),
    "damper": lambda fo, w, x, v: alone(damper_law(fo, w, SLIDE, v)),
    "bound": lambda fo, w, x, v: alone(bound_law(fo, w, SLIDE, x, v)),
    "torsion": lambda fo, w, x, v: alone(torsion_law(fo, w, SLIDE, x)),
    "servo": lambda fo, w, x, v: alone(servo_law(fo, w, SLIDE, x, v)),
    "turn": lambda fo, w, x, v: alone(turn_law(fo, w, BALL, -x)),
    "drag": lambda fo, w, x, v: alone(drag_law(x * 0.0 + 0.7, x * 0.0 + 0.4, v)),
    "spring": lambda fo, w, x, v: of_spring(fo, w, FIRM, x, v),
    "slack spring": lambda fo, w, x, v: of_spring(fo, w, ROPE, x, v),
}


def answers(name, x, v):
    """F, k, c, V, D, what is taken [W], and whether it acts, (7, N), at coordinates and rates (N,)."""
    device = live_device()
    arena = Arena(device, len(x))
    model = model_of(SCENE)[0]
    forces = Forces(model, Tables(model, arena), arena)
    at, rate, out, law = *arena.single.arrays(2), arena.array(RESULTS), DERIVATIVES_LAWS[name]

    @ti.kernel
    def ask():
        ti.loop_config(block_dim=1)
        for w in range(arena.n_blocks):
            arena.enter(w)
            found = law(forces, w, at.load(w, 0), rate.load(w, 0))
            for m in ti.static(range(RESULTS)):
                out.store(w, m, arena.zero() + found[m])

    arena.build()
    arena.upload()
    at.write(x[:, None, None])
    rate.write(v[:, None, None])
    out.write(np.full((1, RESULTS, 1), np.nan))
    arena.launch(ask)
    found = out.read()[..., 0].T.copy()
    arena.destroy()
    return found


def around(name):
    """Answers at random arguments, and their derivatives by x and by v."""
    rng = np.random.default_rng(3)
    x, v = rng.uniform(-1.0, 1.0, WORLDS), rng.uniform(-2.0, 2.0, WORLDS)
    x, v = (np.abs(x) if "spring" in name else x), (np.abs(v) if name == "drag" else v)
    steps = np.array([[0, 0], [STEP, 0], [-STEP, 0], [0, STEP], [0, -STEP]])
    all_x, all_v = ((values + step[:, None]).ravel() for values, step in ((x, steps[:, 0]), (v, steps[:, 1])))
    here, right, left, up, down = np.moveaxis(answers(name, all_x, all_v).reshape(RESULTS, 5, WORLDS), 1, 0)
    return v, here, (right - left) / (2 * STEP), (up - down) / (2 * STEP)


def test_every_law_is_here():
    named = {name.removesuffix("_law") for name in vars(coordinate_laws) if name.endswith("_law")}
    assert named | {"spring", "slack spring"} == set(DERIVATIVES_LAWS)


@pytest.mark.parametrize("name", DERIVATIVES_LAWS)
def test_what_a_law_answers_is_what_differences_say(name):
    v, (F, k, c, V, D, taken, acts), by_x, by_v = around(name)
    size = max(1.0, np.abs(F).max(), np.abs(k).max(), np.abs(c).max())
    np.testing.assert_allclose(by_x[0], -k, atol=DIFFERENCES * size, rtol=0)
    np.testing.assert_allclose(by_v[0], -c, atol=DIFFERENCES * size, rtol=0)
    told = F + by_x[3] + by_v[4]
    there = acts > 0.0
    np.testing.assert_allclose(told[there], TOLD.get(name, 0.0), atol=DIFFERENCES * size, rtol=0)
    if "spring" in name:  # what is stored and not given back is taken, and no more
        np.testing.assert_allclose(F * acts * v + by_x[3] * v + taken, 0.0, atol=DIFFERENCES * size, rtol=0)
        assert (taken >= 0.0).all()
        assert there.all() == (name == "spring")
        assert there.mean() > 0.1
    assert np.abs(F).max() > 0.1
    assert V.min() >= 0.0
    assert D.min() >= 0.0
