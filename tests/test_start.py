"""The state in which a run begins: loops closed near what is written, with the least kinetic energy, in every solver."""

import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from support.scenes import faults_of, scene
from support.starting import (
    INTEGRATORS,
    OPEN,
    PARTS,
    ROUNDING,
    balls,
    bodies,
    built,
    dense_mass,
    dense_rows,
    four_bar,
    hinge,
    rods,
    together,
)

import simcli
from simcli.model import build_worlds
from simcli.model.closure.chart import moved
from simcli.model.closure.gradients import gradients
from simcli.model.closure.loop_problem import LoopProblem
from simcli.model.closure.spans import least_motion
from simcli.model.constraints.build import constraints_of, stated_alike
from simcli.model.constraints.constraint_tables import Form
from simcli.model.joints.catalogue import NONHOLONOMIC_ROWS
from simcli.model.joints.state import State
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.phases import build_phases
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve

EPSILON = 3e-16  # tightest that least squares of scipy take
DIFFERENCES = 1e-8  # of central differences of 1e-6: rounding over twice the step, and squares of the step
GAP = 1e-9  # [m, rad] a gap that is told, scene format


CLOSERS = {
    "revolute": {"axis": [0.2, 1, 0.1], "limit": [-2, 2]},
    "prismatic": {"axis": [1, 0.3, 0], "limit": [-2, 2]},
    "ball": {"limit": [[-2, 2]] * 3},
    "fixed": {},
    "universal": {"axes": {"angular": [[1, 0, 0], [0, 1, 0]]}, "limit": [[-2, 2]] * 2},
    "cylindrical": {"axis": [0.5, 1, 0]},
    "planar": {"axis": [0.1, 0.2, 1]},
    "screw": {"axis": [1, 0.2, 0.1], "pitch": 0.8},
    "d6": {"axes": {"angular": [[1, 0, 0], [0, 0, 1], [0, 1, 0]]}, "limit": [[-2, 2]] * 3},
    "distance": {"limit": [0.05, 3]},
}


def closed_by(kind, y, keys):
    """The chain of `balls`, closed by a joint of some type."""
    first = {} if kind == "fixed" else {"qd": [0.7, -0.4, 0.5]}  # that chain has too few freedoms to choose all three
    parts, joints = balls(f"{kind}_", y, **first)
    apart = {"parent_frame": {"xyz": [1.7, y + 0.3, 0.4]}, "child_frame": {"xyz": [0.2, 0.3, 0.3]}}
    where = apart if kind == "distance" else {"at": [1.7, y + 0.3, 0.4]}
    joints[f"{kind}__close"] = {"type": kind, "parent": "world", "child": f"{kind}_2", "loop": True, **where, **keys}
    return parts, joints


def oracle(model):
    """Rates of world 0 by one dense saddle point, as the scene format words it."""
    J, M = dense_rows(model)[0], dense_mass(model)
    free = ~model.dofs.qd_given & (np.abs(J) > GAP).any(axis=0)
    qd = np.where(model.dofs.qd_given, model.joint_qd[0], 0.0)
    n = int(free.sum())
    K = np.block([[M[np.ix_(free, free)], J[:, free].T], [J[:, free], np.zeros((len(J), len(J)))]])
    qd[free] = np.linalg.lstsq(K, -np.concatenate((M[free] @ qd, J @ qd)), rcond=1e-11)[0][:n]
    return qd


CHAINS = {kind: closed_by(kind, 0, keys) for kind, keys in CLOSERS.items()}


@pytest.mark.parametrize("name", [*PARTS, *CHAINS])
def test_rates_are_the_least_that_keep_loops_closed(name):
    """Kinetic energy alone, written rates exactly, what no row sees at rest: against a dense saddle point."""
    model = built(together((PARTS | CHAINS)[name]))
    J, gap = dense_rows(model)
    assert np.abs(gap).max(initial=0) < ROUNDING
    assert np.abs(J @ model.joint_qd[0]).max(initial=0) < ROUNDING
    np.testing.assert_allclose(model.joint_qd[0], oracle(model), atol=ROUNDING, rtol=0)
    moves = name not in ("at_rest", "fixed")
    assert (np.abs(model.joint_qd).max() > 0.1) == moves


def test_other_mechanisms_change_nothing():
    """Each mechanism begins with the same rates alone and beside all others; those beside a loop that no row sees rest."""
    every = built(together(*PARTS.values()))
    rate = dict(zip(every.dofs.label, every.joint_qd[0].tolist(), strict=True))
    for part in PARTS.values():
        alone = built(together(part))
        np.testing.assert_allclose([rate[label] for label in alone.dofs.label], alone.joint_qd[0], atol=ROUNDING, rtol=0)
    assert rate["f_elbow"] == rate["f_pin"] == rate["c_arm_pin"] == 0.0
    assert rate["f_shoulder"] == 1.0


def points(prefix, y):
    """The pendulums of `rods` as point masses on arms, which have no inertia of their own."""
    parts, joints = rods(prefix, y)
    return {name: part | {"inertia": "point"} for name, part in parts.items()}, joints


def carrier(prefix, y):
    """A four-bar on a kinematic body that turns."""
    parts, joints = four_bar(prefix, y, f"{prefix}_base", qd=0.4)
    base = {"kinematic": True, "pose": {"xyz": [0, y, 0]}, "motion": {"angular": [0, 0.5, 0]}}
    return {f"{prefix}_base": base, **parts}, joints


WAVE = {"amplitude": 0.2, "frequency": 0.5, "phase": 0.7}
# Open chains and loops, loops there twice, what is written, what follows, what is prescribed, and points.
EVERYTHING = (
    PARTS["written"],
    PARTS["at_rest"],
    PARTS["far"],
    PARTS["carried"],
    PARTS["rods"],
    OPEN,
    points("p", 26),
    carrier("t", 29),
    four_bar("v", 32, motion={"velocity": 1.2}),
    four_bar("s", 35, motion={"position": "$wave"}),
)
BATCH = {
    "worlds": 3,
    "vary": {
        "bodies.w1.mass": {"list": [1, 2, 5]},
        "joints.f_elbow.damping": {"list": [0, 5, 50]},
        "joints.o0_pin.q": {"list": [0.3, 0.2, -0.1]},
    },
}


def of_solver(solver, world=None):
    """EVERYTHING for a solver, in three worlds or in one of them: model and options."""
    options = {"type": solver, "dt": 1e-3, "integrator": INTEGRATORS[solver]}
    document = scene(together(*EVERYTHING, batch=BATCH, solver=options, signals={"wave": {"sine": WAVE}}))
    spec = resolve(document)
    return build_worlds(document, spec, None if world is None else (world,)), spec.solver


@pytest.fixture(scope="module")
def started():
    """The model of the first solver."""
    return of_solver("generalized")[0]


def test_models_of_all_solvers_have_one_start(started):
    """To the last bit: nothing of a solver enters."""
    assert set(INTEGRATORS) == set(SOLVERS)
    for solver in SOLVERS:
        model = of_solver(solver)[0]
        np.testing.assert_array_equal(model.joint_q, started.joint_q)
        np.testing.assert_array_equal(model.joint_qd, started.joint_qd)


@pytest.mark.parametrize("world", range(3))
def test_the_start_is_that_of_dense_problems(started, world):
    """Coordinates by least squares of all gaps over those that nobody wrote, rates by a saddle point, motions as written."""
    alone = of_solver("generalized", world)[0]
    np.testing.assert_array_equal(started.joint_q[world], alone.joint_q[0])
    np.testing.assert_array_equal(started.joint_qd[world], alone.joint_qd[0])
    q, label = alone.joint_q[0].copy(), np.array(alone.dofs.q_label)
    follows = np.flatnonzero(np.isin(label, [f"{k}{n}_pin" for k in "os" for n in (1, 2)]))
    assert np.abs(q[follows]).min() > 0.01

    def gaps(numbers):
        at = q.copy()
        at[follows] = numbers
        return dense_rows(replace(alone, joint_q=at[None]))[1]

    tight = dict.fromkeys(("ftol", "xtol", "gtol"), EPSILON)
    found = pytest.importorskip("scipy.optimize").least_squares(gaps, np.zeros(len(follows)), method="lm", **tight).x
    np.testing.assert_allclose(q[follows], found, atol=ROUNDING, rtol=0)
    np.testing.assert_allclose(alone.joint_qd[0], oracle(alone), atol=ROUNDING, rtol=0)
    pace = 2 * np.pi * WAVE["frequency"]
    known = {
        "v0_pin": (0, 1.2),
        "o0_pin": (BATCH["vary"]["joints.o0_pin.q"]["list"][world], 2),
        "s0_pin": (0.2 * np.sin(0.7), 0.2 * pace * np.cos(0.7)),
        "t0_pin": (0, 0.4),
    }
    rate = dict(zip(alone.dofs.label, alone.joint_qd[0], strict=True))
    for name, values in known.items():
        np.testing.assert_allclose((q[label == name][0], rate[name]), values, atol=1e-15, rtol=0, err_msg=name)


@pytest.mark.parametrize(
    "solver", ["generalized", "natural", *(pytest.param(name, marks=pytest.mark.slow) for name in ("maximal", "affine"))]
)
def test_frame_0_is_the_start(scalar_code, device, solver, started):
    """Of every solver, though steps, damping and masses differ; loop joints by projection."""
    model, options = of_solver(solver)
    block = SOLVERS[solver](model, options, RunPlan(1e-3, 1, 1, frozenset(("state",))), device).initial()
    for name, start in (("joint_q", model.joints.q_start), ("joint_qd", model.joints.qd_start)):
        column, wanted = block.columns[f"frames/{name}"][0], np.broadcast_to(getattr(started, name), (3, start[-1]))
        tree = np.repeat(model.joints.is_tree, np.diff(start))
        np.testing.assert_allclose(column[:, tree], wanted[:, tree], atol=ROUNDING, rtol=0)
    state = State.of(started)
    for name in ("body_q", "body_qd"):
        np.testing.assert_allclose(block.columns[f"frames/{name}"][0], getattr(state, name), atol=ROUNDING, rtol=0)
    assert {(event.code, event.severity) for event in block.events} == {("SC616", 0)}


def test_only_the_builder_of_models_assembles():
    """No solver, kernel or command finds a start of its own; a simulation takes the builder's for a state that is set."""
    house = Path(simcli.__file__).parent
    where = {
        path.relative_to(house).as_posix()
        for path in house.rglob("*.py")
        if re.search(r"closure\.(begin import .*\bbegun\b|close|least)", path.read_text())
    }
    outside = {path for path in where if not path.startswith("model/closure/")}
    assert outside == {"model/from_scene.py", "simulation/starts.py"}


def test_a_world_begins_alike_alone_and_in_any_batch():
    """To the last bit, positions and rates, whatever the batch varies."""
    parts = [*PARTS.values(), OPEN]
    vary = {
        "worlds": 5,
        "seed": 3,
        "vary": {
            "bodies.w1.mass": {"uniform": [1, 3]},
            "joints.o0_pin.q": {"uniform": [0, 0.4]},
            "bodies.c1.com[0]": {"uniform": [0, 0.1]},
        },
    }
    document = scene(together(*parts, batch=vary))
    spec = resolve(document)
    whole = build_worlds(document, spec)
    for world in range(5):
        alone = build_worlds(document, spec, (world,))
        for name in ("joint_q", "joint_qd"):
            np.testing.assert_array_equal(getattr(whole, name)[world], getattr(alone, name)[0])


def test_shared_starts_are_found_once():
    """What does not enter the start, as a damping, does not make the worlds differ: one start serves them all."""
    text = together(PARTS["far"], batch={"worlds": 1000, "vary": {"joints.f_elbow.damping": {"uniform": [0, 5]}}})
    model = built(text)
    assert model.n_worlds == 1000
    assert len(model.joint_qd) == 1


def test_least_motion_bears_redundant_rows_and_missing_inertia():
    """Twice the same row, one that says nothing, and a direction without mass: against the shortest dense solution."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(4, 4))
    M = root @ root.T
    J = rng.normal(size=(2, 4))
    J = np.stack((J[0], 2 * J[0], J[1], 0 * J[0]))
    b, p = J @ rng.normal(size=4), rng.normal(size=4)
    K = np.block([[M, J.T], [J, np.zeros((4, 4))]])
    wanted = np.linalg.lstsq(K, np.concatenate((-p, b)), rcond=1e-12)[0][:4]
    np.testing.assert_allclose(least_motion(J[None], M[None], p[None], b[None])[0], wanted, atol=ROUNDING * 10, rtol=0)
    light = np.diag([1.0, 0.0, 1.0])
    found = least_motion(np.array([[[1.0, 1.0, 0.0]]]), light[None], np.zeros((1, 3)), np.ones((1, 1)))[0]
    np.testing.assert_allclose(found, [0, 1, 0], atol=ROUNDING)  # what has no mass moves first


def test_rows_are_those_of_the_model_where_it_begins(started):
    """Coordinates and rest lengths do not enter them: what the assembly worked with serves the run. Nobody may write."""
    for model in (started, built(together(OPEN, forces=PULL))):
        kept, fresh = constraints_of(model), constraints_of.__wrapped__(model)
        assert constraints_of(model) is kept is stated_alike([model], False)[0].__dict__["_kept"]["constraints_of", ()]
        for table in ("anchor_pairs", "rows", "laws"):
            one, other = getattr(kept, table), getattr(fresh, table)
            for column in fields(one):
                np.testing.assert_array_equal(*(getattr(each, column.name) for each in (one, other)))
        with pytest.raises(ValueError, match="read-only"):
            kept.rows.constant[...] = 0


PULL = {"pull": {"type": "spring", "a": {"world": [0, 0, 0]}, "b": {"body": "o2", "at": [0, 0, 0]}, "stiffness": 10}}


def test_springs_rest_where_the_run_begins():
    """A rest length that is not written is the length after closing, and stays so when an event changes the spring."""
    event = {"at": 0.005, "set": {"forces.pull.stiffness": 20}}
    document = scene(together(OPEN, forces=PULL, events=[event]))
    for phase in build_phases(document, resolve(document)):
        model = phase.model
        _, x = body_poses(model, model.joint_q)
        np.testing.assert_allclose(model.springs.rest_length[0], np.linalg.norm(x[2, 0]), rtol=0, atol=ROUNDING)
    assert model.springs.stiffness[0, 0] == 20
    assert np.abs(x[2, 0] - model.bodies.q[0, 2, :3]).max() > 0.01


@pytest.mark.parametrize("is_open", [False, True])
def test_gradients_are_those_of_the_gaps(is_open):
    """Central differences along every dof, for every kind of row; that of an angle holds where axes agree."""
    chains = [closed_by(kind, 5 * k, keys) for k, (kind, keys) in enumerate(CLOSERS.items())]
    geared = {"g0": hinge("world", "a", 0, 60, 0), "g1": hinge("world", "b", 1, 60, 0, mimic={"joint": "g0", "ratio": -1.5})}
    wheels = {"a": bodies("a", 60, (0.1, 0))["a0"], "b": bodies("b", 60, (1.1, 0))["b0"]}
    rolls = {"type": "rolling", "parent": "world", "axis": [0, 1, 0], "radius": 0.2, "child_frame": {}}
    slides = {"type": "knife_edge", "parent": "world", "axis": [1, 0, 0], "parent_frame": {}, "child_frame": {}}
    free = {
        "w0": {**rolls, "child": "w0", "parent_frame": {"xyz": [0, 70, -0.2]}},
        "k0": {**slides, "child": "k0"},
    }
    on_ground = {"w0": bodies("w", 70, (0, 0))["w0"], "k0": bodies("k", 72, (0, 0))["k0"]}
    model = built(together(*chains, (wheels, geared), (on_ground, free), PARTS["rods"]))
    mechanism = LoopProblem.of(model)
    form = mechanism.constraints.rows.form
    assert set(form) == set(Form) - {Form.RIGID, Form.ROLL}
    if is_open:
        step = np.random.default_rng(3).normal(size=(1, model.n_qd)) * 0.05 * mechanism.is_tree
        mechanism.q = moved(model.links, mechanism.q, step)
    unlike = (*NONHOLONOMIC_ROWS, *((Form.TURN, Form.PITCH) if is_open else ()))  # rates alone hold the first ones
    rows = np.flatnonzero(~np.isin(form, unlike))
    (chart, gaps, _), dofs = mechanism.measure(), np.flatnonzero(mechanism.is_tree)
    found, q = gradients(mechanism.entries, chart, gaps, rows, dofs)[0], mechanism.q
    for n, d in enumerate(dofs):
        ends = []
        for side in (1e-6, -1e-6):
            mechanism.q = moved(model.links, q, side * np.eye(model.n_qd)[None, d])
            ends.append(mechanism.measure()[1].residual[0, rows])
        np.testing.assert_allclose(found[:, n], (ends[0] - ends[1]) / 2e-6, atol=DIFFERENCES, rtol=0)


FOUR_BAR = """
bodies:
  a: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 0, 0.5]}}
  b: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0.5, 0, 1]}}
  c: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [1, 0, 0.5]}}
joints:
  j1: {type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 1, 0], START}
  j2: {type: revolute, parent: a, child: b, at: [0, 0, 1], axis: [0, 1, 0]}
  j3: {type: revolute, parent: b, child: c, at: [1, 0, 1], axis: [0, 1, 0]}
  j4: {type: revolute, parent: world, child: c, at: [1, 0, 0], axis: [1, 0, 0]}
"""


def test_velocities_that_open_a_loop_make_its_axis_suspect():
    ((code, _, message),) = faults_of(FOUR_BAR.replace("START", "qd: 1"))
    assert code == "SC605"
    assert message.endswith("(is its axis right?)")
    body = "bodies: {a: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}}\njoints: {p: {type: fixed, parent: world, child: a},\n"
    rod = "  r: {type: distance, parent: world, child: a, length: 1, parent_frame: {xyz: [9, 0, 0]}, child_frame: {},\n"
    ((code, _, message),) = faults_of(f"{body}{rod}    loop: true}}}}\n")
    assert code == "SC605"
    assert "axis" not in message
