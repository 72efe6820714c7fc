"""The same physics, written another way, moves the same: random scenes and their twins.

Each case is a kind of scenes, a relation, and the solvers and integrators that it holds for, with bounds that are those of
rounding and of the tolerances of solvers, unless it says otherwise. The default run takes the first seed of those that
found a mistake once; `python -m pytest -m "" tests/metamorphic` takes all. Of a case each solver and each seed is taken, but
not each with each other. reverts.py shows that they find these mistakes.
"""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from support.solver_modes import MODES
from support.tiers import in_turns

import simcli
from metamorphic import mechanisms as of
from metamorphic import relations as by
from metamorphic.elements import belts, elements, of_types, runner, wheels, without_curves
from metamorphic.motions import difference, motion_of, skipping_refusals, with_solver
from metamorphic.relations import Twin
from metamorphic.written import scene_of
from simcli.joint_types import JOINT_TYPES
from simcli.spec.checks.solver_fields import CONTACT_INTEGRATORS

SEEDS = range(4)
# Maximal coordinates and affine bodies end at a tolerance: 1e-12 m in a step of 1 ms, 0.2 m from where a body turns.
SMOOTH = {"generalized": 1e-9, "natural": 1e-8, "maximal": 5e-9, "affine": 1e-6}  # [m, m/s, rad/s]
TOUCHING = 2e-5  # [m, m/s, rad/s], tolerance of contact and how it grows
AT_ONCE = 1e-6  # [m, m/s, rad/s], where joints are solved with contacts of strangers: their tolerance is 1e-8 m/s
LOADS = 1e-5  # of the largest force or torque
# Where the two differ by the order of steps: a loop is closed by the joint that is written last; in natural coordinates and
# in steps of nodes a step in which something stops or touches is of first order for all that is in the world.
OF_STEP, OF_STOPS = 5e-3, 2e-2  # [m, m/s, rad/s]
FALLS, FLOOR = 0.6, 1e-7  # of a difference when the step is halved
OF_POINTS = 3e-4  # [rad/s], a point deeper by less than 1e-9 m may be left out: that over step and radius, in 50 steps
OF_ROLLS = 1e-6  # [m/s, rad/s], a tolerance of 1e-12 m or rad in a step of 1 ms, in 100 steps, over a lever of 0.15 m
FLAT = 5e-6  # [rad/s], what places 150 m away round by over step and radius, and how sliding on four points grows it
RIGID = [mode for mode in MODES if mode[0] != "affine"]
UNCHANGED = [mode for mode in RIGID if mode not in (("generalized", "semi_implicit"), ("generalized", "implicit"))]
FIRST = [mode for mode in RIGID if mode[1] in ("semi_implicit", "moreau")]  # one law of steps, whatever touches or stops
NATURALS = [("natural", "zhong06"), ("natural", "moreau")]
ROLLING = [mode for mode in RIGID if mode[0] != "natural"]  # natural steps meet positions alone
TREES = [mode for mode in FIRST if mode[0] != "natural"]
TOUCH = [mode for mode in RIGID if mode[1] in CONTACT_INTEGRATORS and mode[1] not in ("rk4", "implicit")]
NODES = [("natural", "moreau"), ("generalized", "rk4"), ("generalized", "implicit")]
STEP, SHORT = 1e-3, 0.1  # [s]


@dataclass(frozen=True)
class Case:
    """Scenes and how else they are written.

    Attributes:
        scenes: makes numbers of a seed.
        twin: makes the scene that moves alike.
        modes: solvers and integrators.
        bound: of differences [m, m/s, rad/s]; None: those of smooth motion.
        loads: whether what joints carry is compared.
        falls: whether the two differ by the order of steps: then all that is compared falls as the step is halved.
        dt, time: [s].
        seeds: of the scenes.
        often: modes that the default run may take, with the first seed; support/full_cases.py leaves some of them out.
    """

    scenes: object
    twin: object
    modes: list
    bound: float | None = None
    loads: bool = True
    falls: bool = False
    dt: float = STEP
    time: float = SHORT
    seeds: range | tuple = SEEDS
    often: tuple = ()


def mechanism(seed: int) -> dict:
    return of.with_laws(of.mechanism(seed, 4 + seed % 3, seed % 2 == 0), seed)


def fast(seed: int) -> dict:
    """Trees whose links turn far in a step, so that forces of velocities are those of its middle."""
    return of.turning(of.mechanism(seed, 4 + seed % 3, seed % 2 == 0), 30.0)


def loop(seed: int) -> dict:
    return of.planar_loop(seed % 2 == 0)


def straight(seed: int) -> dict:
    return without_curves(elements(seed))


def types_of(seed: int) -> dict:
    return of_types(tuple(JOINT_TYPES)[seed::4], seed)


def struck(seed: int) -> dict:
    return of.struck({**of.with_laws(of.mechanism(seed, 4 + seed % 3, False), seed), "forces": {}})


def everything(seed: int) -> dict:
    """All types of joints, all forces, laws, loops and wheels, each body of which is struck."""
    parts = {"t": of_types(tuple(JOINT_TYPES), seed), "e": elements(seed), "w": wheels(seed), "l": loop(seed)}
    return of.struck({**of.beside_each_other(**parts), "material": of.TURNING})


def balls(seed: int) -> dict:
    return of.heap(seed, 3, ("sphere", "capsule"))


def along_x(seed: int) -> dict:
    return of.rollers(seed, spread=0.0)


GENERALIZED, MAXIMAL, NATURAL = ("generalized", "semi_implicit"), ("maximal", "semi_implicit"), ("natural", "moreau")
ALPHA = ("natural", "generalized_alpha")
# Scenes with contact that are solved without dense matrices, too, and what solves them: in joint coordinates bodies alone.
SPARSELY = {
    "struck": (struck, [MAXIMAL]),
    "everything": (everything, [MAXIMAL]),
    "heap": (balls, [MAXIMAL, GENERALIZED]),
    "rollers": (of.rollers, [GENERALIZED, MAXIMAL]),
    "discs": (of.discs, [MAXIMAL, GENERALIZED]),
    "flats": (of.flats, [GENERALIZED, MAXIMAL]),
    "bouncing": (of.bouncing, [MAXIMAL, GENERALIZED]),
    "on rails": (of.on_rails, [MAXIMAL]),
    "on a turntable": (of.on_turntable, [MAXIMAL]),
    "belts": (belts, [MAXIMAL, GENERALIZED]),
}
AFFINE = [mode for mode in MODES if mode[0] == "affine"]
PHASES = (5, *range(5), *range(6, 12))  # of the instant of an impact in its step
CASES = {
    **{f"mechanism {name}": Case(mechanism, twin, [*RIGID, AFFINE[1]]) for name, twin in by.EVERYWHERE.items()},
    "mechanism mirrored": Case(mechanism, by.in_a_mirror, RIGID, 0.0),  # changes signs alone
    "mechanism beside a top in steps of second order": Case(mechanism, by.beside_a_top, RIGID),
    **{
        f"loop {name}": Case(loop, twin, RIGID if name != "backwards" else UNCHANGED, loads=False)
        for name, twin in by.EVERYWHERE.items()
    },
    "loop closed by another joint": Case(loop, by.backwards, [GENERALIZED], OF_STEP, loads=False, falls=True),
    "loop closed by another joint in two nodes": Case(
        loop, by.backwards, [("generalized", "implicit")], 1e-5, loads=False, falls=True
    ),
    **{f"heap {name}": Case(balls, twin, TOUCH, TOUCHING, dt=2e-3, time=0.3) for name, twin in by.EVERYWHERE.items()},
    "mechanism beside a top": Case(mechanism, by.beside_a_top, FIRST),
    "mechanism beside a gyroscope": Case(mechanism, by.beside_a_gyroscope, RIGID, often=(GENERALIZED,)),
    "planes beside a gyroscope": Case(mechanism, by.beside_a_gyroscope, [ALPHA], seeds=(52,), often=(ALPHA,)),
    "mechanism beside a stop": Case(mechanism, by.beside_a_stop, TREES),
    "mechanism beside touching": Case(mechanism, by.beside_touching, TREES, AT_ONCE, often=(MAXIMAL,)),
    "fast beside a stop": Case(fast, by.beside_a_stop, TREES, often=(GENERALIZED,)),
    "fast beside touching": Case(fast, by.beside_touching, TREES, AT_ONCE),
    "coordinates beside a stop": Case(mechanism, by.beside_a_stop, [NATURAL], 1e-3, falls=True),
    "coordinates beside touching": Case(mechanism, by.beside_touching, [NATURAL], OF_STOPS, falls=True),
    "loop beside touching": Case(loop, by.beside_touching, [GENERALIZED], AT_ONCE, often=(GENERALIZED,)),
    "loop of bodies beside touching": Case(loop, by.beside_touching, [MAXIMAL], AT_ONCE, often=(MAXIMAL,)),
    "loop of nodes beside touching": Case(loop, by.beside_touching, NODES, OF_STEP, falls=True),
    "mechanism by d6": Case(mechanism, by.by_d6, RIGID),
    "mechanism by other names": Case(mechanism, by.by_other_names, [mode for mode in RIGID if mode[0] == "natural"]),
    "mechanism by wrenches": Case(mechanism, by.by_wrenches, RIGID, loads=False),
    "pushed by wrenches": Case(of.floating_pushed, by.by_wrenches, RIGID, loads=False, often=(NATURAL,)),
    "pushed turned": Case(of.floating_pushed, by.turned_and_moved, RIGID),
    "spinning turned": Case(of.spinning, by.turned_and_moved, RIGID),
    "rolling turned": Case(of.rollers, by.turned_and_moved, TOUCH, TOUCHING, dt=2e-3, time=0.4, often=(GENERALIZED,)),
    "rolling on terrain": Case(of.rollers, by.on_terrain, TOUCH, TOUCHING, dt=2e-3, time=0.4),
    "rolling on crests": Case(along_x, by.on_crests, TOUCH, TOUCHING, dt=2e-3, time=0.4, often=(GENERALIZED,)),
    "rolling on a tether": Case(of.rollers, by.tethered, TOUCH, TOUCHING, dt=2e-3, time=0.2, often=(GENERALIZED,)),
    "discs far": Case(of.discs, by.far_away, TOUCH, OF_POINTS, dt=2e-3, often=(GENERALIZED,)),
    "flats far": Case(of.flats, by.far_away, TOUCH, FLAT, dt=2e-3, often=(GENERALIZED,)),
    "discs turned": Case(of.discs, by.turned_and_moved, TOUCH, 1e-4, dt=2e-3),
    "on rails turned": Case(of.on_rails, by.turned_and_moved, TOUCH, TOUCHING, dt=2e-3, time=0.3),
    # 1e-4 of the radius is wanted in 5 s; friction holds to the tolerance of contact, and a turn in a step has its order.
    "turntable welded": Case(of.on_turntable, by.welded, [MAXIMAL], 1e-4, loads=False, dt=2e-3, time=0.5, often=(MAXIMAL,)),
    # A weld has the velocity at the end of the step, what friction holds that of the way there: w^2 r h / 2, 4.8e-3 m/s.
    "turntable of links welded": Case(
        of.on_turntable, by.welded, [GENERALIZED, NATURAL], OF_STEP, loads=False, dt=2e-3, time=0.5
    ),
    **{f"elements {name}": Case(elements, twin, ROLLING) for name, twin in by.EVERYWHERE.items()},
    "elements beside a gyroscope": Case(elements, by.beside_a_gyroscope, ROLLING),
    # What coordinates pay out is measured in the mean of two poses there, which is none: of second order in the step.
    **{
        f"elements {name} in natural coordinates": Case(elements, twin, NATURALS, 1e-6)
        for name, twin in by.EVERYWHERE.items()
    },
    "elements beside a stop": Case(elements, by.beside_a_stop, TREES),
    "straight elements beside touching": Case(straight, by.beside_touching, [GENERALIZED], AT_ONCE),
    # Bounds of a rate along a row whose direction turns: in steps with contact they hold along that of the start.
    "elements beside touching": Case(elements, by.beside_touching, TREES, OF_STEP, falls=True, seeds=(0, 2)),
    **{f"wheels {name}": Case(wheels, twin, ROLLING, OF_ROLLS) for name, twin in by.EVERYWHERE.items()},
    "wheels beside a gyroscope": Case(wheels, by.beside_a_gyroscope, ROLLING, OF_ROLLS),
    "wheels beside a stop": Case(wheels, by.beside_a_stop, TREES, OF_ROLLS),
    "wheels beside touching": Case(wheels, by.beside_touching, TREES, OF_STEP, falls=True),  # they slip by h^2 then
    "wheels of a runner turned": Case(runner, by.turned_and_moved, [mode for mode in ROLLING if mode != MAXIMAL], OF_ROLLS),
    **{f"belts {name}": Case(belts, twin, TOUCH, TOUCHING, dt=2e-3, time=0.3) for name, twin in by.EVERYWHERE.items()},
    "belts beside touching": Case(belts, by.beside_touching, [GENERALIZED, MAXIMAL], TOUCHING),
    **{
        f"types {name}": Case(types_of, by.EVERYWHERE[name], [GENERALIZED, MAXIMAL, NATURAL])
        for name in ("turned", "far", "backwards")
    },
    **{
        f"{name} sparsely": Case(scenes, by.sparsely, modes, AT_ONCE, dt=2e-3, often=(MAXIMAL,) if name == "struck" else ())
        for name, (scenes, modes) in SPARSELY.items()
    },
    "stopped beside a stop": Case(of.stopped, by.beside_a_stop, AFFINE, 1e-4, loads=False, seeds=PHASES, often=(AFFINE[1],)),
}


def cells_of(modes, seeds, often=()) -> list[tuple]:
    """Modes with seeds: each of both at least once, and the first seed where it found a mistake."""
    return sorted({*in_turns(modes, seeds), *((mode, seeds[0]) for mode in often)})


CELLS = [
    pytest.param(
        name,
        mode,
        seed,
        id=f"{name}-{'-'.join(mode)}-{seed}",
        marks=() if mode in case.often and seed == case.seeds[0] else pytest.mark.slow,
    )
    for name, case in CASES.items()
    for mode, seed in cells_of(case.modes, case.seeds, case.often)
]


def differences_if_taken(tmp_path, made: dict, case: Case, mode) -> dict:
    """Of the motions of scene and twin; skips what the solver refuses by name."""
    with skipping_refusals():
        return difference(tmp_path, scene_of(made), case.twin(made), mode, case.dt, case.time)


@pytest.mark.parametrize(("name", "mode", "seed"), CELLS)
def test_twins_move_alike(tmp_path, name, mode, seed):
    case = CASES[name]
    made = case.scenes(seed)
    found = differences_if_taken(tmp_path, made, case, mode)
    bound = SMOOTH[mode[0]] if case.bound is None else case.bound
    assert max(found[what] for what in "xvw") <= bound, found
    if case.falls:
        finer = differences_if_taken(tmp_path, made, replace(case, dt=case.dt / 2), mode)
        compared = [*"xvw", *(["loads"] if case.loads else [])]
        assert all(finer[what] <= FALLS * found[what] + FLOOR for what in compared), (found, finer)
    elif case.loads:
        assert found["loads"] < max(LOADS * found["largest load"], bound)


@pytest.mark.slow
def test_rows_share_loads_alike_where_nothing_is_dense(tmp_path):
    made = loop(0)
    scene, bodies, joints = by.beside_touching(made).scene, sorted(made["bodies"]), sorted(made["joints"])
    one, other = (
        motion_of(tmp_path, with_solver(scene, MAXIMAL, STEP, SHORT, contact={"linear": way}), bodies, joints)
        for way in ("dense", "sparse")
    )
    assert np.abs(one.loads - other.loads).max() < LOADS * one.loads.max()


# A loop that is drawn at one crank angle and begins at another one is the loop that is drawn there.
@pytest.mark.parametrize(
    "mode",
    [pytest.param(mode, marks=() if mode == ("generalized", "rk4") else pytest.mark.slow) for mode in RIGID],
    ids="-".join,
)
def test_a_loop_begins_on_the_branch_of_its_drawing(tmp_path, mode):
    for seed in range(8):
        drawn, there = of.closed_by_hand(seed)
        found = difference(tmp_path, scene_of(drawn), Twin(scene_of(there), lambda m, t: m), mode, STEP, 0.02)
        assert max(found[name] for name in "xvw") < SMOOTH[mode[0]], (seed, found)


@pytest.mark.parametrize(
    ("mode", "seed"),
    [
        pytest.param(
            mode, seed, id=f"{mode[0]}-{mode[1]}-{seed}", marks=() if mode == GENERALIZED and seed == 0 else pytest.mark.slow
        )
        for mode, seed in cells_of(TOUCH, SEEDS, (GENERALIZED,))
    ],
)
def test_what_is_its_own_mirror_image_stays_so(tmp_path, mode, seed):
    """Rollers that drop onto rails and edges neither tilt nor turn out of their plane."""
    made = of.on_rails(seed)
    rollers = [name for name, body in made["bodies"].items() if "kinematic" not in body]
    found = motion_of(tmp_path, with_solver(scene_of(made), mode, 2e-3, 0.4), rollers, [])
    aside = np.column_stack([found.x[:, 1], found.v[:, 1], found.w[:, 0], found.w[:, 2]])
    assert np.abs(aside).max() < TOUCHING, aside


# How large the difference from small steps of a fourth-order method may be, after 0.1 s. One of the pushed bodies is free
# beside another one that turns by up to 39 rad/s, 1.5 m away: its velocity there is 50 m/s.
LARGEST = {"laws": 0.05, "pushed": 0.2, "spinning": 0.5}  # [m, m/s, rad/s]
PUSHED_BESIDE = 1.5  # [m/s], in coordinates of that one, by steps of first order
KINDS = {"laws": mechanism, "pushed": of.floating_pushed, "spinning": of.spinning}
RK4 = ("generalized", "rk4")
OTHERS = [mode for mode in RIGID if mode != RK4]


@pytest.mark.parametrize(
    ("kind", "mode", "seed"),
    [
        pytest.param(
            kind,
            mode,
            seed,
            id=f"{kind}-{'-'.join(mode)}-{seed}",
            marks=() if kind == "spinning" and mode in (GENERALIZED, MAXIMAL) and seed == 0 else pytest.mark.slow,
        )
        for kind in KINDS
        for mode, seed in cells_of(OTHERS, SEEDS, (GENERALIZED, MAXIMAL))
    ],
)
def test_solvers_agree_as_the_step_falls(tmp_path, kind, mode, seed):
    made = scene_of(KINDS[kind](seed))
    names = sorted(made["bodies"])
    exact = motion_of(tmp_path, with_solver(made, RK4, STEP / 4, SHORT), names, [])
    errors = []
    is_beside = kind == "pushed" and mode == GENERALIZED
    first = STEP / 2 if is_beside else STEP  # in a longer one some turn far enough for velocities of its middle
    for dt in (first, first / 2):
        with skipping_refusals():
            found = motion_of(tmp_path, with_solver(made, mode, dt, SHORT), names, [])
        errors.append(max(float(np.abs(a - b).max()) for a, b in zip(found[:3], exact[:3], strict=True)))
    assert errors[0] < (PUSHED_BESIDE if is_beside else LARGEST[kind]), errors
    assert errors[1] < FALLS * errors[0] + FLOOR, errors


def test_a_spinning_body_keeps_its_angular_momentum(tmp_path):
    """In steps of first order, which turn it by a fortieth of a radian; and none gains energy."""
    made = of.spinning(0)
    scene, names = scene_of(made), sorted(made["bodies"])
    for mode in RIGID:
        path = tmp_path / "scene.json"
        path.write_text(json.dumps(with_solver(scene, mode, STEP, SHORT)))
        with simcli.Simulation(str(path)) as sim:
            before = momenta(sim, made, names)
            energy = sim.get("energy.kinetic")[0]
            for _ in range(20):
                sim.step(5)
                assert sim.get("energy.kinetic")[0] < 1.01 * energy, mode
            if mode in (GENERALIZED, MAXIMAL):
                np.testing.assert_allclose(momenta(sim, made, names), before, rtol=1e-9, err_msg=str(mode))


def momenta(sim, made, names):
    """Angular momenta of bodies about their centres of mass [N m s], (B, 3), world."""
    from scipy.spatial.transform import Rotation

    found = []
    for name in names:
        turn = Rotation.from_quat(sim.get(f"body.{name}.orientation")[0])
        w = turn.inv().apply(sim.get(f"body.{name}.angular_velocity")[0])
        found.append(turn.apply(made["bodies"][name]["inertia"] @ w))
    return np.array(found)
