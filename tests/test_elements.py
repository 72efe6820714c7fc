"""Every force, and what bounds a drive, in every solver and integrator that supports it: one start, one energy, one account.

In each world one element acts on bodies of its own, and nothing else moves, so that no error hides behind another. What it
gives at the start is that of formulas that stand here, and of the derivative of what it stores; work closes the ledger.

What drives and motions give is in every run that shows joints, apart from all else that acts along them.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import get_args

import numpy as np
import pytest
from support.device import live_device
from support.forward import Runner

import simcli
from simcli import pipeline
from simcli import rotations as rot
from simcli.errors import UsageError
from simcli.solvers import SOLVERS as DRIVE_EFFORTS_SOLVERS
from simcli.spec.schema.forces import FORCES
from simcli.spec.schema.scene import AffineSolver, GeneralizedSolver, MaximalSolver, NaturalSolver

pytestmark = pytest.mark.usefixtures("scalar_code")

MASS, INERTIA = 1.5, np.array([0.2, 0.3, 0.4])
ROUND = np.full(3, 0.3)  # of affine bodies, which yield in the instant of the start where their axes differ
ANCHOR, PLACE = np.array([1.0, 0.2, 0.5]), np.array([0.1, 0.05, -0.1])  # in the world, and in the body
FORCE, TORQUE = np.array([3.0, -2.0, 1.0]), np.array([0.4, 0.1, -0.3])
SPEED, SPIN = [0.2, -0.1, 0.4], [1.0, 2.0, -1.5]
WIND = np.array([2.0, -1.0, 0.5])
ENDS = f"a: {{world: {ANCHOR.tolist()}}}, b: {{body: BODY, at: {PLACE.tolist()}}}"
POSE = "pose: {xyz: ['${0.3 + X}', '${0.1 - X}', '${1 + 0.5*X}'], rpy: ['${0.2 + X}', '${-0.3 - 2*X}', '${0.7 + X}']}"
ANGLE, RATE, STOP = 0.8, 0.5, 0.5  # [rad], [rad/s]; of the soft limit


@dataclass(frozen=True)
class Element:
    """What acts on the body `NAME`, and on `NAME_2` if there is a second one.

    Attributes:
        kind: of force, "" of what is no force.
        force: keys of the force; S scales all that acts in a world.
        joint: keys of the joint that the body has; none if it is free.
        expected: acceleration of the body [m/s^2, rad/s^2], (6,), of its place, orientation, velocities and inertia.
        is_smooth: whether generalized_alpha takes it.
    """

    kind: str
    force: str
    expected: object
    joint: str = ""
    is_smooth: bool = True


def free(push):
    """The acceleration of a free body by a force at PLACE and a torque, (3,) both, from their function."""

    def expected(x, R, v, spin, inertia):
        arm = R @ PLACE
        force, torque = push(x + arm, R, v + np.cross(spin, arm))
        own = R.T @ (np.cross(arm, force) + torque)
        turn = R.T @ spin
        return np.concatenate((force / MASS, R @ ((own - np.cross(turn, inertia * turn)) / inertia)))

    return expected


def pull(k, c, rest):
    def push(p, R, v):
        gap = p - ANCHOR
        along = gap / np.linalg.norm(gap)
        return -(k * (np.linalg.norm(gap) - rest) + c * (along @ v)) * along, np.zeros(3)

    return free(push)


PULLEYS, CABLE_REST = (np.array([0.0, 0.15, 0.1]), np.array([-0.6, 0.4, 1.3])), 0.8  # on the body, and in the world
WAY = f"[{{body: BODY, at: {PULLEYS[0].tolist()}}}, {{world: {PULLEYS[1].tolist()}}}]"


def cable_of(pose):
    """Points of the cable: from ANCHOR over the body, over the world, to PLACE."""
    return [ANCHOR, rot.pose_apply(pose, PULLEYS[0]), PULLEYS[1], rot.pose_apply(pose, PLACE)]


def cable(x, R, v, spin, inertia):
    """One tension along all segments; each point on the body is pulled to both sides."""
    arms = [R @ PULLEYS[0], R @ PLACE]
    speeds = [np.zeros(3), v + np.cross(spin, arms[0]), np.zeros(3), v + np.cross(spin, arms[1])]
    ways = np.diff([ANCHOR, x + arms[0], PULLEYS[1], x + arms[1]], axis=0)
    along = ways / np.linalg.norm(ways, axis=1)[:, None]
    rate = np.sum(along * np.diff(speeds, axis=0))
    tension = 50.0 * (np.linalg.norm(ways, axis=1).sum() - CABLE_REST) + 2.0 * rate
    pulls = [tension * (along[1] - along[0]), -tension * along[2]]
    own = R.T @ sum(np.cross(arm, one) for arm, one in zip(arms, pulls, strict=True))
    turn = R.T @ spin
    return np.concatenate((sum(pulls) / MASS, R @ ((own - np.cross(turn, inertia * turn)) / inertia)))


def drag(x, R, v, spin, inertia):
    """Drag of the point against the wind, and of the turning."""
    arm = R @ PLACE
    against = v + np.cross(spin, arm) - WIND
    force, torque = (-(c + q * np.linalg.norm(u)) * u for c, q, u in ((0.8, 0.6, against), (0.1, 0.05, spin)))
    own, turn = R.T @ (np.cross(arm, force) + torque), R.T @ spin
    return np.concatenate((force / MASS, R @ ((own - np.cross(turn, inertia * turn)) / inertia)))


def hinged(effort):
    """The acceleration of a hinge by an effort on it, a function of its angle and rate."""

    def expected(x, R, v, spin, inertia):
        angle = np.arctan2(R[1, 0], R[0, 0])
        return np.array([0, 0, 0, 0, 0, effort(angle, spin[2]) / inertia[2]])

    return expected


def slid(x, R, v, spin, inertia):
    force = -20.0 * (0.3 - 0.5 * 0.1) - 2.0 * (0.4 - 0.5 * 0.2)
    return np.array([force / MASS, 0, 0, 0, 0, 0])


def length(pose):
    return np.linalg.norm(rot.pose_apply(pose, PLACE) - ANCHOR)


def angle(pose):
    return 2 * np.arctan2(pose[5], pose[6])


FRAMES_OF = "parent_frame: {}, child_frame: {}"
HINGE = f"type: revolute, axis: [0, 0, 1], {FRAMES_OF}, q: '${{{ANGLE}*S + X}}', qd: '${{{RATE}*S}}'"
SLIDE = f"type: prismatic, axis: [1, 0, 0], {FRAMES_OF}"
VECTOR = "force: ['${3*S}', '${-2*S}', '${S}'], torque: ['${0.4*S}', '${0.1*S}', '${-0.3*S}']"
SERVO = "mode: position, stiffness: '${50*S}', damping: '${2*S}', target: '${1.5*S}'"
ELEMENTS = {
    "spring": Element(
        "spring", f"{ENDS}, stiffness: '${{50*S}}', damping: '${{3*S}}', rest_length: 0.4", pull(50.0, 3.0, 0.4)
    ),
    "rope": Element(
        "spring", f"{ENDS}, stiffness: '${{50*S}}', damping: '${{S}}', rest_length: 0.3, slack: true", pull(50.0, 1.0, 0.3)
    ),
    "cable": Element(
        "spring", f"{ENDS}, through: {WAY}, stiffness: '${{50*S}}', damping: '${{2*S}}', rest_length: {CABLE_REST}", cable
    ),
    "wrench": Element("wrench", f"body: BODY, at: {PLACE.tolist()}, {VECTOR}", free(lambda p, R, v: (FORCE, TORQUE))),
    "thrust": Element(
        "wrench", f"body: BODY, at: {PLACE.tolist()}, frame: body, {VECTOR}", free(lambda p, R, v: (R @ FORCE, R @ TORQUE))
    ),
    "mount": Element(
        "bushing",
        f"{ENDS}, stiffness: '${{90*S}}', damping: '${{3*S}}', angular_stiffness: '${{6*S}}', "
        "preload: ['${3*S}', '${-2*S}', '${S}'], angular_preload: ['${0.4*S}', '${0.1*S}', '${-0.3*S}']",
        free(lambda p, R, v: (FORCE - 3.0 * v, TORQUE)),
    ),
    "drag": Element(
        "drag",
        f"body: BODY, at: {PLACE.tolist()}, wind: {WIND.tolist()}, damping: '${{0.8*S}}', "
        "quadratic: '${0.6*S}', angular_damping: '${0.1*S}', angular_quadratic: '${0.05*S}'",
        drag,
    ),
    "torque": Element("torque", "joint: BODY, value: '${0.7*S}'", hinged(lambda x, v: 0.7), HINGE),
    "torsion": Element(
        "torsion",
        "joint: BODY, stiffness: '${30*S}', damping: '${S}', rest_angle: 0.2",
        hinged(lambda x, v: 30.0 * (0.2 - x) - v),
        HINGE,
    ),
    "coupling": Element(
        "coupling",
        "of: [{joint: BODY}, {joint: BODY_2, factor: -0.5}], stiffness: '${20*S + 1e-12}', damping: '${2*S}'",
        slid,
        f"{SLIDE}, q: '${{0.3*S + X}}', qd: '${{0.4*S}}'",
        is_smooth=False,
    ),
    "drive": Element("", "", hinged(lambda x, v: 50.0 * (1.5 - x) - 2.0 * v), f"{HINGE}, drive: {{{SERVO}}}"),
    "weak drive": Element(
        "", "", hinged(lambda x, v: 9.0), f"{HINGE}, drive: {{{SERVO}, effort_limit: 9}}", is_smooth=False
    ),
    # A drive rests while a soft limit acts.
    "stop": Element(
        "",
        "",
        hinged(lambda x, v: 80.0 * (STOP - x) - 3.0 * v),
        f"{HINGE}, drive: {{{SERVO}}}, limit: {{lower: -1, upper: {STOP}, stiffness: '${{80*S + 1e-12}}', "
        "damping: '${3*S}'}",
        is_smooth=False,
    ),
}
SOLVERS = {
    spec.model_fields["type"].annotation.__args__[0]: spec
    for spec in (GeneralizedSolver, MaximalSolver, NaturalSolver, AffineSolver)
}
RUNS = [
    (solver, integrator)
    for solver, spec in SOLVERS.items()
    for integrator in get_args(spec.model_fields["integrator"].annotation)
    if integrator != "auto"
]
QUICK = (("generalized", "implicit"), ("natural", "generalized_alpha"), ("affine", "bdf2"))
every_run = pytest.mark.parametrize(
    ("solver", "integrator"), [run if run in QUICK else pytest.param(*run, marks=pytest.mark.slow) for run in RUNS]
)
STEP, FRAMES = 1e-3, 100  # [s]
SHIFT = 1e-5  # of places, of differences
STORING = {
    "spring": (50.0, 0.4, length),
    "cable": (50.0, CABLE_REST, lambda pose: np.linalg.norm(np.diff(cable_of(pose), axis=0), axis=1).sum()),
    "rope": (50.0, 0.3, length),
    "torsion": (30.0, 0.2, angle),
    "stop": (80.0, STOP, angle),
    "coupling": (20.0, 0.0, lambda pose: pose[0] - 0.5 * 0.1),
}  # stiffness, where it rests, and what it measures
SHORT = 1e-6  # [s]: (h k)^2 of rates k of some 10 per second is below ROUNDING
TRIED, SOFT = 1e-5, 1e-5  # [s], relative: affine bodies yield, and their iteration ends before the last digits
ROUNDING = 1e-9  # relative, of accelerations
STORED = 1e-6  # relative: energies of order 10 J in double precision, over differences of 1e-5
QUARTER, CLOSED = 0.5, 1e-6  # drifts at a quarter of the step, in those of the step; [J], which are small anyway


def supported(solver, integrator):
    """Names of the elements that a solver takes, by the lists of the code."""
    by_type = {force.type_name(): force for force in FORCES}
    takes = [name for name, e in ELEMENTS.items() if not e.kind or solver in by_type[e.kind].SOLVERS]
    if integrator == "generalized_alpha":
        takes = [name for name in takes if ELEMENTS[name].is_smooth]
    return takes


def inertia_of(solver):
    return ROUND if solver == "affine" else INERTIA


def scene_of(solver, names):
    """One element per world, at its place, and moved by SHIFT along its way to both sides."""
    bodies, joints, forces = [], [], []
    for name in names:
        e, body = ELEMENTS[name], name.replace(" ", "_")
        rates = [["${" + f"{x}*S_{body}" + "}" for x in part] for part in (SPEED, SPIN)]
        own = "" if e.joint else f", {POSE}, velocity: {{linear: {rates[0]}, angular: {rates[1]}}}"
        bodies.append(f"  {body}: {{mass: {MASS}, inertia: {{diag: {inertia_of(solver).tolist()}}}{own}}}")
        if e.joint:
            joints.append(f"  {body}: {{parent: world, child: {body}, {e.joint}}}")
        if name == "coupling":
            bodies.append(f"  {body}_2: {{mass: {MASS}, inertia: {{diag: {INERTIA.tolist()}}}}}")
            joints.append(f"  {body}_2: {{parent: world, child: {body}_2, {SLIDE}, q: '${{0.1*S}}', qd: '${{0.2*S}}'}}")
        if e.kind:
            forces.append(f"  {body}: {{type: {e.kind}, {e.force}}}".replace("BODY", body))
        for part in (bodies, joints, forces):
            part[:] = [
                text.replace("*S}", f"*S_{body}}}").replace("${S}", f"${{S_{body}}}").replace("*S +", f"*S_{body} +")
                for text in part
            ]
    keys = [f"S_{name.replace(' ', '_')}" for name in names]
    worlds = [dict.fromkeys(keys, 0.0) | {key: 1.0, "X": x} for key in keys for x in (0.0, SHIFT, -SHIFT)]
    varied = ", ".join(f"params.{key}: {{list: {[world[key] for world in worlds]}}}" for key in (*keys, "X"))
    return "\n".join(
        [
            "world: {gravity: [0, 0, 0]}",
            "params: {X: 0, " + ", ".join(f"{key}: 0" for key in keys) + "}",
            "bodies:",
            *bodies,
            "joints:",
            *joints,
            "forces:",
            *forces,
            f"solver: {{type: {solver}}}",
            f"batch: {{worlds: {len(worlds)}, vary: {{{varied}}}}}",
            "",
        ]
    )


@pytest.fixture(scope="module")
def runner_of():
    @cache
    def of(solver, integrator):
        return Runner(
            scene_of(solver, supported(solver, integrator)),
            integrator,
            live_device(),
            frozenset(("state", "energy", "body_qdd")),
        )

    return of


def test_every_force_is_here():
    assert {e.kind for e in ELEMENTS.values()} - {""} == {f.type_name() for f in FORCES}
    for force in FORCES:
        smooth = [e.is_smooth for e in ELEMENTS.values() if e.kind == force.type_name()]
        assert any(smooth) == force.IS_SMOOTH


@every_run
def test_the_start_is_that_of_the_formula(runner_of, solver, integrator):
    """First-order steps show the acceleration of the first one, so that two lengths of it are extrapolated."""
    run, names = runner_of(solver, integrator), supported(solver, integrator)
    step, tolerance = (TRIED, SOFT) if solver == "affine" else (SHORT, ROUNDING)
    longer, frames = run(2 * step, 1, 1)["frames/body_qdd"][0], run(step, 1, 1)
    found = 2 * frames["frames/body_qdd"][0] - longer
    for k, name in enumerate(names):
        b, w = run.model.bodies.name.index(name.replace(" ", "_")), 3 * k
        pose, twist = frames["frames/body_q"][0, w, b], frames["frames/body_qd"][0, w, b]
        expected = ELEMENTS[name].expected(pose[:3], rot.quat_to_matrix(pose[3:]), twist[:3], twist[3:], inertia_of(solver))
        np.testing.assert_allclose(found[w, b], expected, atol=tolerance * np.abs(expected).max(), rtol=0, err_msg=name)


@every_run
def test_force_is_the_derivative_of_what_is_stored(runner_of, solver, integrator):
    """Of springs at rest, by central differences of the energies of places to both sides."""
    run, names = runner_of(solver, integrator), supported(solver, integrator)
    frames = run(STEP, 1, 1)
    for k, name in enumerate(names):
        poses = frames["frames/body_q"][0, 3 * k : 3 * k + 3, run.model.bodies.name.index(name.replace(" ", "_"))]
        _here, above, below = frames["energy/elastic"][0, 3 * k : 3 * k + 3]
        if name in STORING:
            stiffness, rest, measure = STORING[name]
            x, *sides = map(measure, poses)
            assert above - below == pytest.approx(stiffness * (x - rest) * (sides[0] - sides[1]), rel=STORED), name


@every_run
def test_work_is_energy_and_dissipation(runner_of, solver, integrator):
    """The ledger closes as steps grow small."""
    run, names = runner_of(solver, integrator), supported(solver, integrator)
    drifts = [np.abs(run(STEP / n, n, FRAMES)["energy/drift"][:, ::3]).max(axis=0) for n in (1, 4)]
    for name, coarse, fine in zip(names, *drifts, strict=True):
        assert fine < max(QUARTER * coarse, CLOSED), name


FRICTION, DAMPING = 0.5, 0.2
SCENE = f"""
simcli: 1
defaults:
  body: {{mass: 1, com: [0.2, 0, 0], inertia: {{diag: [0.1, 0.1, 0.1]}}}}
  joint: {{type: revolute, parent: world, axis: [0, 1, 0]}}
bodies: {{servo: {{}}, moved: {{}}, led: {{kinematic: true}}, stopped: {{}}, idle: {{}}}}
joints:
  servo: {{child: servo, damping: {DAMPING}, friction: {FRICTION},
    drive: {{mode: position, target: 3, stiffness: 100, damping: 10}}}}
  moved: {{child: moved, damping: {DAMPING}, motion: {{velocity: 2}}}}
  led: {{child: led, motion: {{velocity: 2}}}}
  stopped: {{child: stopped, q: 0.2, limit: {{upper: 0.1, stiffness: 1000, damping: 10}},
    drive: {{mode: effort, target: 20}}}}
  idle: {{child: idle, damping: {DAMPING}}}
contact: {{enabled: false}}
run: {{duration: 0.1}}
output: {{every: 0.01}}
"""
# [N m]: dampers of steps of first order see the speed before; friction of affine bodies is smooth.
OFF = {"generalized": 1e-9, "maximal": 1e-2, "natural": 1e-9, "affine": 2e-2}


def run(folder, *sets):
    path = folder / "scene.yaml"
    path.write_text(SCENE)
    pipeline.execute(pipeline.prepare(pipeline.Request(path, folder / "run.h5", sets, device="cpu", force=True)))
    return simcli.open(folder / "run.h5")


@pytest.mark.parametrize("solver", sorted(DRIVE_EFFORTS_SOLVERS))
def test_efforts_of_drives_and_motions_are_there_apart(tmp_path, solver):
    """Of a hinge that turns: its effort less friction and damping. A drive rests while a soft limit acts."""
    more = ("bodies.led.kinematic=false",) if solver == "affine" else ()  # whose led joints do nothing but lead
    with run(tmp_path, f"solver.type={solver}", *more) as file:
        assert list(file.quantities) == [f"joint.{name}.drive_effort" for name in ("servo", "moved", "led", "stopped")]
        for name, friction in (("servo", FRICTION), ("moved", 0.0)):
            joint = file.joint(name)
            speed, drive, effort = (column[3:, 0, 0] for column in (joint.qd, joint.drive_effort, joint.effort))
            assert np.abs(speed).min() > 1.0
            assert effort == pytest.approx(drive - DAMPING * speed - friction * np.sign(speed), abs=OFF[solver])
        stopped = file.joint("stopped")
        acts = stopped.q[:, 0, 0] > 0.1
        assert acts.any()
        assert not stopped.drive_effort[:, 0, 0][acts].any()
        with pytest.raises(UsageError, match="holds no drive_effort of joint `idle`"):
            _ = file.joint("idle").drive_effort


@pytest.mark.parametrize(
    ("sets", "labels"),
    [
        (("output.quantities=[]",), ()),
        (("output.quantities=[joint.servo.drive_power]",), ("joint.servo.drive_power",)),
        (("output.channels=[bodies]",), ()),
        (("output.select={include: [servo, idle]}",), ("joint.servo.drive_effort",)),
    ],
)
def test_a_scene_may_leave_them_out(tmp_path, sets, labels):
    with run(tmp_path, *sets) as file:
        assert tuple(file.quantities) == labels


def test_what_frames_show_costs_no_step(tmp_path):
    """A measure of a drive is a stage of steps as before, also beside a motion whose effort frames show alone."""
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE + "measure: {most: {max_abs: joint.servo.drive_effort}, far: {max: joint.idle.q}}\n")
    sets = ("solver.integrator=semi_implicit",)
    with simcli.Simulation(path, sets=sets, device="cpu") as sim:
        core = sim._solver.core
        assert core.accumulators.within
        assert not sim._solver.probes_late
        assert core.accumulators.has["drives at steps"]
    with simcli.Simulation(path, sets=(*sets, "measure={far: {max: joint.idle.q}}"), device="cpu") as sim:
        core = sim._solver.core
        assert core.accumulators.within
        assert core.further == ()


PAGE = files("simcli").joinpath("docs", "signals.md").read_text(encoding="utf-8")
RECIPE = re.search(r"## PD control of all joints.*?```yaml\n(.*?)```", PAGE, re.DOTALL).group(1)
AIM, STIFFNESS = 0.4, (300.0, 300.0, 80.0)  # [rad], [N m/rad] of the recipe
ARM, LEVER, WEIGHT = 0.3, 0.15, 9.81  # [m], [N] of each body
AT_REST = 1e-4  # [N m], what is left of its motion


@pytest.mark.parametrize("floats", [False, True])
def test_the_recipe_of_pd_rests_at_load_over_stiffness(tmp_path, floats):
    """Each joint at the angle at which its drive carries the weight of what hangs on it, or at its target without weight."""
    text = RECIPE.replace("body: {", "body: {gravity_compensation: 1, ") if floats else RECIPE
    path = tmp_path / "arm.yaml"
    path.write_text(text, encoding="utf-8")
    pipeline.execute(pipeline.prepare(pipeline.Request(path, tmp_path / "arm.h5", device="cpu")))
    with simcli.open(tmp_path / "arm.h5") as file:
        q = np.array([file.joint(name).q[-1, 0, 0] for name in ("shoulder", "elbow", "wrist_1")])
        effort = np.array([file.joint(name).drive_effort[-1, 0, 0] for name in ("shoulder", "elbow", "wrist_1")])
    np.testing.assert_allclose(effort, np.array(STIFFNESS) * (AIM - q), atol=AT_REST)
    tilt = np.cumsum(q)  # of each body from the vertical
    joints = np.concatenate(([0.0], np.cumsum(ARM * np.sin(tilt))))[:3]
    centres = joints + LEVER * np.sin(tilt)
    load = [WEIGHT * np.sum(centres[k:] - joints[k]) for k in range(3)]
    np.testing.assert_allclose(effort, [0, 0, 0] if floats else np.negative(load), atol=AT_REST)
