"""The state in which a run begins: loops closed near what is written, least kinetic energy, limits kept, in every solver."""

import copy
import json
import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.joint_rows import row_residual
from support.process import simcli as command
from support.scenes import faults_of, scene

import simcli
from simcli import rotations as rot
from simcli.errors import SceneError
from simcli.model import build_worlds
from simcli.model.closure.chart import moved
from simcli.model.closure.close import LoopProblem
from simcli.model.closure.gradients import gradients
from simcli.model.closure.least import least_motion
from simcli.model.constraints.build import constraints_of, stated_alike
from simcli.model.constraints.tables import Form
from simcli.model.joints.rows import row_gradient
from simcli.model.phases.stretches import build_phases
from simcli.model.state import State
from simcli.model.tables import WORLD, JointKind
from simcli.model.tree.mobility import bilateral_rows, body_jacobian
from simcli.model.tree.reference import body_poses
from simcli.pipeline import build_model, read_scene
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve

ROUNDING = 1e-12  # [m, rad, or per second], issue: what starts of solvers, and of the oracle, may differ by
EPSILON = 3e-16  # tightest that least squares of scipy take
DIFFERENCES = 1e-8  # of central differences of 1e-6: rounding over twice the step, and squares of the step
GAP = 1e-9  # [m, rad] a gap that is told, scene format
INTEGRATORS = {"generalized": "rk4", "maximal": "semi_implicit", "natural": "zhong06", "affine": "bdf2"}


def bodies(prefix, y, *places):
    return {
        f"{prefix}{k}": {"pose": {"xyz": [x, y, z]}, "mass": 1 + 0.5 * k, "com": [0.02, 0.01 * k, -0.03],
                         "inertia": {"diag": [0.02, 0.03 + 0.01 * k, 0.04]}}
        for k, (x, z) in enumerate(places)
    }  # fmt: skip


def hinge(parent, child, x, y, z, **more):
    return {"type": "revolute", "parent": parent, "child": child, "at": [x, y, z], "axis": [0, 1, 0], **more}


def four_bar(prefix, y, base="world", **first):
    """Bodies and joints of a four-bar linkage in a vertical plane, closed as authored; `first` goes to its crank."""
    a, b, c = (f"{prefix}{k}" for k in range(3))
    joints = {f"{a}_pin": hinge(base, a, 0, y, 0, **first), f"{b}_pin": hinge(a, b, 0.1, y, 0.3),
              f"{c}_pin": hinge(base, c, 1, y, 0), f"{prefix}_close": hinge(b, c, 0.9, y, 0.5, loop=True)}  # fmt: skip
    return bodies(prefix, y, (0.05, 0.15), (0.5, 0.4), (0.95, 0.25)), joints


def balls(prefix, y, **first):
    """A spatial chain of three bodies on four ball joints, the last of which closes it."""
    ends = [[0, y, 0], [0.6, y + 0.2, -0.3], [1.2, y - 0.1, 0.1], [1.7, y + 0.3, 0.4]]
    names = [f"{prefix}{k}" for k in range(3)]
    joints = {f"{n}_ball": {"type": "ball", "parent": p, "child": n, "at": at}
              for p, n, at in zip(["world", *names], names, ends[:3], strict=False)}  # fmt: skip
    joints[f"{names[0]}_ball"] |= first
    joints[f"{prefix}_close"] = {"type": "ball", "parent": "world", "child": names[2], "at": ends[3], "loop": True}
    return bodies(prefix, y, (0.3, -0.1), (0.9, -0.1), (1.5, 0.2)), joints


def far_loop(prefix, y):
    """A damped double pendulum with one written rate beside a hinge that is there twice."""
    parts = bodies(prefix, y, (0.5, 0), (1.5, 0), (0.5, 3))
    a, b, c = parts
    joints = {"shoulder": hinge("world", a, 0, y, 0, qd=1), "elbow": hinge(a, b, 1, y, 0, damping=5),
              "pin": hinge("world", c, 0, y, 3), "again": hinge("world", c, 0, y, 3, loop=True)}  # fmt: skip
    return parts, {f"{prefix}_{name}": joint for name, joint in joints.items()}


def carried(prefix, y):
    """A four-bar on a free body that moves: its links lag by their inertia, and a hinge beside it stays at rest."""
    parts, joints = four_bar(prefix, y, f"{prefix}_base")
    base = bodies("base", y, (0.5, -0.2))["base0"] | {"velocity": {"linear": [1, 0, 0.3], "angular": [0.1, 2, 0.2]}}
    arm = bodies("arm", y, (0.5, -0.9))["arm0"]
    joints[f"{prefix}_arm_pin"] = hinge(f"{prefix}_base", f"{prefix}_arm", 0.5, y, -0.5)
    return {f"{prefix}_base": base, **parts, f"{prefix}_arm": arm}, joints


def rods(prefix, y):
    """Two pendulums whose ends a rod joins, one of them pushed; the rod is as long as the ends are apart."""
    parts = bodies(prefix, y, (0.5, 0), (2.5, 0))
    a, b = parts
    ends = {"parent_frame": {"xyz": [0.5, 0, 0]}, "child_frame": {"xyz": [-0.5, 0, 0.4]}}
    return parts, {f"{prefix}_a": hinge("world", a, 0, y, 0, qd=-0.7), f"{prefix}_b": hinge("world", b, 3, y, 0),
                   f"{prefix}_rod": {"type": "distance", "parent": a, "child": b, **ends, "length": float(np.hypot(1, 0.4))},
                   }  # fmt: skip


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


PARTS = {
    "written": four_bar("w", 0, qd=1.5),
    "at_rest": four_bar("r", 2),
    "zero": balls("z", 5, qd=[0, 0.4, 0]),
    "balls": balls("s", 8, qd=[0.7, -0.4, 0.5]),
    "far": far_loop("f", 11),
    "carried": carried("c", 14),
    "rods": rods("d", 17),
}
PRESCRIBED = ({"p": {"pose": {"xyz": [0.5, 20, 0]}, "mass": 1, "inertia": {"diag": [0.1, 0.1, 0.1]}}},
              {"p_rail": {"type": "prismatic", "parent": "world", "child": "p", "at": [0, 20, 0], "axis": [1, 0, 0]},
               "p_lead": {"type": "prismatic", "parent": "world", "child": "p", "at": [0, 20, 0], "axis": [0.8, 0, 0.6],
                          "loop": True}})  # fmt: skip


def together(*parts, **more) -> str:
    """A scene of several mechanisms without its first line."""
    whole = {"bodies": {}, "joints": {}, "solver": {"type": "generalized", "dt": 1e-3}, "run": {"duration": 0.01}}
    for some_bodies, some_joints in parts:
        whole["bodies"] |= copy.deepcopy(some_bodies)
        whole["joints"] |= copy.deepcopy(some_joints)
    return yaml.safe_dump(whole | more, sort_keys=False)


def built(text):
    document = scene(text)
    return build_worlds(document, resolve(document))


def dense_rows(model):
    """Gradients of all rows of loops and rods by the catalogue, and their residuals, of world 0."""
    J_b = np.concatenate((body_jacobian(model), np.zeros((1, 6, model.n_qd))))  # the world is entry -1
    R, x = body_poses(model, model.joint_q)
    pose = np.concatenate((rot.make_pose(x, rot.matrix_to_quat(R))[:, 0], [rot.IDENTITY_POSE]))
    com = np.concatenate((x[:, 0] + rot.turn(R[:, 0], model.bodies.com[0]), np.zeros((1, 3))))
    rows, residuals = [], []
    for j in range(model.n_joints):
        a, b = int(model.joints.parent[j]), int(model.joints.child[j])
        X_a, X_b = (rot.pose_compose(pose[body], X[0, j]) for body, X in ((a, model.joints.X_p), (b, model.joints.X_c)))
        if model.joints.is_tree[j] and model.joints.kind[j] != JointKind.DISTANCE:
            continue
        for row in bilateral_rows(model, j):
            gradient = row_gradient(row, X_a, X_b, com[a], com[b])
            rows.append(gradient[:6] @ J_b[a] * (a != WORLD) + gradient[6:] @ J_b[b])
            residuals.append(row_residual(row, X_a, X_b))
    return np.array(rows).reshape(-1, model.n_qd), np.array(residuals)


def dense_mass(model):
    """Mass matrix from the Jacobians of the bodies, of world 0."""
    M, (R, _) = np.diag(model.dofs.armature[0]), body_poses(model, model.joint_q)
    for b, J in enumerate(body_jacobian(model)):
        inertia = R[b, 0] @ model.bodies.inertia[0, b] @ R[b, 0].T
        M = M + model.bodies.mass[0, b] * J[:3].T @ J[:3] + J[3:].T @ inertia @ J[3:]
    return M


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


# A four-bar whose crank is written; the others are to follow.
OPEN = four_bar("o", 23, q=0.3, qd=2)
WAVE = {"amplitude": 0.2, "frequency": 0.5, "phase": 0.7}
# Open chains and loops, loops there twice, what is written, what follows, what is prescribed, and points.
EVERYTHING = (PARTS["written"], PARTS["at_rest"], PARTS["far"], PARTS["carried"], PARTS["rods"], OPEN, points("p", 26),
              carrier("t", 29), four_bar("v", 32, motion={"velocity": 1.2}), four_bar("s", 35, motion={"position": "$wave"}))
BATCH = {"worlds": 3, "vary": {"bodies.w1.mass": {"list": [1, 2, 5]}, "joints.f_elbow.damping": {"list": [0, 5, 50]},
                               "joints.o0_pin.q": {"list": [0.3, 0.2, -0.1]}}}  # fmt: skip


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
    known = {"v0_pin": (0, 1.2), "o0_pin": (BATCH["vary"]["joints.o0_pin.q"]["list"][world], 2),
             "s0_pin": (0.2 * np.sin(0.7), 0.2 * pace * np.cos(0.7)), "t0_pin": (0, 0.4)}  # fmt: skip
    rate = dict(zip(alone.dofs.label, alone.joint_qd[0], strict=True))
    for name, values in known.items():
        np.testing.assert_allclose((q[label == name][0], rate[name]), values, atol=1e-15, rtol=0, err_msg=name)


@pytest.mark.parametrize("solver", ["generalized", "natural", *(pytest.param(name, marks=pytest.mark.slow) for name in (
    "maximal", "affine"))])  # fmt: skip
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
    where = {path.relative_to(house).as_posix() for path in house.rglob("*.py")
             if re.search(r"closure\.(begin import .*\bbegun\b|close|least)", path.read_text())}  # fmt: skip
    outside = {path for path in where if not path.startswith("model/closure/")}
    assert outside == {"model/from_scene.py", "simulation/starts.py"}


def test_a_world_begins_alike_alone_and_in_any_batch():
    """To the last bit, positions and rates, whatever the batch varies."""
    parts = [*PARTS.values(), OPEN]
    vary = {"worlds": 5, "seed": 3, "vary": {"bodies.w1.mass": {"uniform": [1, 3]}, "joints.o0_pin.q": {"uniform": [0, 0.4]},
                                              "bodies.c1.com[0]": {"uniform": [0, 0.1]}}}  # fmt: skip
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


def test_unwritten_coordinates_close_the_loop():
    """The written coordinate and rate stand to the last bit, the others follow; what moved is told."""
    model = built(together(OPEN))
    assert model.joint_q[0, 0] == 0.3
    assert model.joint_qd[0, 0] == 2.0
    J, gap = dense_rows(model)
    assert np.abs(gap).max() < ROUNDING
    assert np.abs(J @ model.joint_qd[0]).max() < ROUNDING
    told = [(model.joints.name[move.joint], move.is_written) for move in model.start.moves]
    assert told == [("o1_pin", False), ("o2_pin", False)]


def crowded(**more):
    """A four-bar with all its coordinates written, to three digits."""
    parts, joints = four_bar("k", 0)
    for name, q in (("k0_pin", 0.1), ("k1_pin", -0.05), ("k2_pin", 0.12)):
        joints[name]["q"] = q
    return together((parts, joints), **more)


def test_written_coordinates_move_only_if_they_must_and_it_is_said(tmp_path):
    """`check` warns at the lines; a run says so on stderr, in its JSON, and in /events; the moves are as small as can be."""
    model = built(crowded())
    moves = {model.joints.name[move.joint]: move for move in model.start.moves}
    assert set(moves) == {"k0_pin", "k1_pin", "k2_pin"}
    assert all(move.is_written for move in moves.values())
    assert moves["k0_pin"].before == (0.1,)
    assert moves["k0_pin"].after == tuple(model.joint_q[0, :1])
    assert np.abs(dense_rows(model)[1]).max() < ROUNDING
    step = np.array([move.after[0] - move.before[0] for move in moves.values()])
    J, M = dense_rows(model)[0][:, :3], dense_mass(model)[:3, :3]
    tangent = np.linalg.svd(J)[2][-1]  # the way that the loop leaves: along it nothing is gained, to second order
    assert abs(tangent @ M @ step) < 0.1 * np.sqrt((tangent @ M @ tangent) * (step @ M @ step))
    path = tmp_path / "k.yaml"
    path.write_text("simcli: 1\n" + crowded())
    checked = command("check", path)
    assert checked.returncode == 0
    assert checked.stderr.count("warning[SC616]") == 3
    assert command("check", "--strict", path).returncode == 1
    ran = command("run", path, "-o", tmp_path / "k.h5", "--json")
    assert ran.returncode == 0
    assert "loops closed at the start: `k0_pin` from 0.1 to " in ran.stderr
    told = json.loads(ran.stdout)["moved_at_start"]
    assert [one["joint"] for one in told] == ["k0_pin", "k1_pin", "k2_pin"]
    with simcli.open(tmp_path / "k.h5") as run:
        events = [event for event in run.events if event.code == "SC616"]
        np.testing.assert_allclose(run.joint("k0_pin").q[0, 0], model.joint_q[0, :1], atol=ROUNDING, rtol=0)
    assert [(event.severity, event.world, event.step) for event in events] == [(1, 0, 0)] * 3


def test_a_batch_tells_the_farthest_move():
    model = built(crowded(batch={"worlds": 4, "vary": {"joints.k0_pin.q": {"list": [0.1, 0.2, 0.15, 0.7]}}}))
    moves = {model.joints.name[move.joint]: move for move in model.start.moves}
    assert moves["k0_pin"].world == 3
    assert moves["k0_pin"].n_worlds == 4
    assert moves["k0_pin"].before == (0.7,)


@pytest.mark.parametrize("solver", INTEGRATORS)
def test_without_assembly_gaps_are_refused(solver):
    """By joint, line and size, in every solver; rates too. What is closed stands to the last bit."""
    options = {"type": solver, "dt": 1e-3}
    faults = faults_of(crowded(solver=options, initial={"assemble": False}))
    assert [code for code, _, _ in faults] == ["SC476"]
    line = crowded(solver=options).split("\n").index("  k_close:")
    assert faults[0][1] == line
    assert faults[0][2].startswith("joint `k_close` is open by 0.0")
    slips = faults_of(together(four_bar("k", 0, qd=1), solver=options, initial={"assemble": False}))
    assert [(code, text.startswith("the velocities open joint `k_close`")) for code, _, text in slips] == [("SC476", True)]
    model = built(together(four_bar("k", 0), solver=options, initial={"assemble": False}))
    assert not model.joint_q.any()
    assert model.start.moves == model.start.lacks == ()


def test_a_gap_just_above_the_bound_is_refused_and_one_below_stands():
    """1e-9 m divides them."""
    for shift, codes in ((5e-10, []), (2e-9, ["SC476"])):
        parts, joints = copy.deepcopy(PRESCRIBED)
        joints["p_lead"] = {"type": "revolute", "parent": "world", "child": "p", "parent_frame": {"xyz": [0.5, 20, shift]},
                            "child_frame": {}, "axis": [0, 1, 0], "loop": True}  # fmt: skip
        faults = faults_of(together((parts, joints), initial={"assemble": False}))
        assert [code for code, _, _ in faults] == codes
        assert all(f"{shift:.3g} m" in text for _, _, text in faults)


TURNED = {angle: [0.0, float(np.sin(angle / 2)), 0.0, float(np.cos(angle / 2))] for angle in (0.6, 0.7)}
LIMITED = {
    "hinge": ({"type": "revolute", "axis": [0, 1, 0], "q": 0.5, "limit": [-0.2, 0.2]}, "[-0.2, 0.2] rad", 0.2),
    "slide": ({"type": "prismatic", "axis": [0, 1, 0], "limit": [0.1, 0.2]}, "[0.1, 0.2] m", 0.1),
    "screw": ({"type": "screw", "axis": [0, 1, 0], "pitch": 0.1, "q": -9, "limit": [-7, 7]}, "[-7, 7] rad", -7),
    "universal": ({"type": "universal", "axes": {"angular": [[1, 0, 0], [0, 1, 0]]}, "q": [0, 0.4],
                   "limit": [[-1, 1], [-0.3, 0.3]]}, "[-0.3, 0.3] rad", [0, 0.3]),
    "ball": ({"type": "ball", "q": TURNED[0.7], "limit": [[-1, 1], [-0.6, 0.6], [-1, 1]]}, "[-0.6, 0.6] rad", TURNED[0.6]),
}  # fmt: skip


@pytest.mark.parametrize("solver", INTEGRATORS)
@pytest.mark.parametrize("name", LIMITED)
def test_a_start_outside_a_hard_limit_is_refused(solver, name):
    """By joint, value and limit, in every solver; at the limit, or with a soft limit, a run may begin."""
    joint, bounds, inside = LIMITED[name]
    parts = {"a": {"pose": {"xyz": [1, 0, 0]}, "mass": 1, "inertia": {"diag": [0.1, 0.2, 0.3]}}}

    def faults(**more):
        whole = {"j": {"parent": "world", "child": "a", "at": [0, 0, 0], **joint, **more}}
        return faults_of(together((parts, whole), solver={"type": solver, "dt": 1e-3}))

    found = faults()
    if [code for code, _, _ in found] == ["SC501"]:
        return  # this solver has no such limit
    assert [code for code, _, _ in found] == ["SC477"]
    assert found[0][2].startswith("joint `j")
    assert found[0][2].endswith(f"outside its limit {bounds}")
    assert faults(q=inside) == []
    if name in ("hinge", "slide"):
        lower, upper = joint["limit"]
        assert faults(limit={"lower": lower, "upper": upper, "stiffness": 100}) == []


def test_limits_hold_after_closing_and_on_joints_that_close():
    """A follower that closing leads beyond its limit; a length; the coordinate of a loop joint."""
    parts, joints = copy.deepcopy(OPEN)
    joints["o2_pin"]["limit"] = [-0.05, 0.05]
    assert [code for code, _, _ in faults_of(together((parts, joints)))] == ["SC477"]
    joints["o2_pin"].pop("limit")
    joints["o_close"]["limit"] = [-0.05, 0.05]
    assert [code for code, _, _ in faults_of(together((parts, joints)))] == ["SC477"]
    parts, joints = copy.deepcopy(PARTS["rods"])
    joints["d_rod"] |= {"limit": [0.1, 0.5]}
    joints["d_rod"].pop("length")
    found = faults_of(together((parts, joints)))
    assert [code for code, _, _ in found] == ["SC477"]
    assert "begins at 1.07703 m" in found[0][2]


HELD = {  # what holds or leads two hinges: the joint with its limits, code and place and end of the message, if any
    "a sum": ({}, {"of": [{"joint": "a"}, {"joint": "b"}], "hold": 1}, ("forces.c.hold", "is between -0.4 and 0.4")),
    "a sum beyond": ({}, {"of": [{"joint": "a"}, {"joint": "b", "factor": -2}], "hold": -0.7},
                     ("forces.c.hold", "is between -0.6 and 0.6")),
    "one": ({}, {"of": [{"joint": "a"}], "hold": 0.5}, ("forces.c.hold", "is between -0.2 and 0.2")),
    "a square": ({"q": 0.1}, {"of": [{"joint": "a", "polynomial": [0.1, 0, 1]}], "hold": 0.2},
                 ("forces.c.hold", "is between 0.1 and 0.14")),
    "a square of a free joint": ({"limit": None}, {"of": [{"joint": "a", "polynomial": [0.1, 0, -1]}, {"joint": "b"}],
                                                   "hold": 1}, ("forces.c.hold", "is at most 0.3")),
    "a sum within": ({}, {"of": [{"joint": "a"}, {"joint": "b"}], "hold": 0.3}, None),
    "a gear": ({"mimic": {"joint": "b", "offset": 0.5}}, None,
               ("joints.a.mimic", "between 0.3 and 0.7, outside its own limit [-0.2, 0.2]")),
    "a gear within": ({"mimic": {"joint": "b", "offset": 0.3}}, None,
                      ("joints.a.limit", "begins at 0.3 rad, outside its limit [-0.2, 0.2] rad")),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_what_limits_leave_no_room_is_named(tmp_path, name):
    """A sum that is held, a gear: not the joints, which could begin nowhere else; and what to do is what helps."""
    more, coupling, wanted = HELD[name]
    mass = {"mass": 1, "inertia": {"diag": [0.1, 0.2, 0.3]}}
    parts = {"p": {"pose": {"xyz": [1, 0, 0]}, **mass}, "q": {"pose": {"xyz": [3, 0, 0]}, **mass}}
    first, second = (hinge("world", one, x, 0, 0, limit=[-0.2, 0.2]) for one, x in (("p", 0), ("q", 2)))
    joints = {"a": first | more, "b": second}
    forces = {} if coupling is None else {"forces": {"c": {"type": "coupling", **coupling}}}
    path = tmp_path / "held.yaml"
    path.write_text("simcli: 1\n" + together((parts, joints), **forces))
    try:
        build_model(*read_scene(path))
    except SceneError as error:
        faults = error.faults
    else:
        faults = []
    assert [(one.code, one.where.path) for one in faults] == ([] if wanted is None else [("SC477", wanted[0])])
    assert all(one.message.endswith(wanted[1]) for one in faults)
    helps = "follows `b`: begin elsewhere with that one" if name == "a gear within" else "widen the limit"
    assert all(helps in one.hint for one in faults)


def test_worlds_that_cannot_begin_end_at_once(tmp_path):
    """In a batch they are named, with their reason, and the others go on; if none can begin, there is no file."""
    parts = {"a": {"pose": {"xyz": [1, 0, 0]}, "mass": 1, "inertia": {"diag": [0.1, 0.2, 0.3]}}}
    joint = {"j": hinge("world", "a", 0, 0, 0, q=0, limit=[-0.2, 0.2])}
    path = tmp_path / "b.yaml"

    def run(values, name):
        batch = {"worlds": 3, "vary": {"joints.j.q": {"list": values}}}
        path.write_text("simcli: 1\n" + together((parts, joint), batch=batch))
        return command("run", path, "-o", tmp_path / name)

    ran = run([0.1, 0.5, 0.2], "some.h5")
    assert ran.returncode == 4
    assert "joint `j` begins at 0.5 rad, outside its limit [-0.2, 0.2] rad" in " ".join(ran.stderr.split())
    with simcli.open(tmp_path / "some.h5") as found:
        assert [(event.world, event.code, event.step) for event in found.events] == [(1, "SC477", 0)]
        assert np.isnan(found.joint("j").q[:, 1]).all()
        assert np.isfinite(found.joint("j").q[:, [0, 2]]).all()
    ran = run([0.3, 0.5, -0.4], "none.h5")
    assert ran.returncode == 3
    assert "error[SC477]" in ran.stderr
    assert not (tmp_path / "none.h5").exists()


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
        for table in ("couples", "rows", "laws"):
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
    model = built(together(*chains, (wheels, geared), PARTS["rods"]))
    mechanism = LoopProblem.of(model)
    form = mechanism.constraints.rows.form
    assert set(form) == set(Form) - {Form.RIGID, Form.ROLL}
    if is_open:
        step = np.random.default_rng(3).normal(size=(1, model.n_qd)) * 0.05 * mechanism.is_tree
        mechanism.q = moved(model.links, mechanism.q, step)
    rows = np.flatnonzero(~np.isin(form, (Form.TURN, Form.PITCH))) if is_open else np.arange(len(form))
    (chart, gaps, _), dofs = mechanism.measure(), np.flatnonzero(mechanism.is_tree)
    found, q = gradients(mechanism.entries, chart, gaps, rows, dofs)[0], mechanism.q
    for n, d in enumerate(dofs):
        ends = []
        for side in (1e-6, -1e-6):
            mechanism.q = moved(model.links, q, side * np.eye(model.n_qd)[None, d])
            ends.append(mechanism.measure()[1].residual[0, rows])
        np.testing.assert_allclose(found[:, n], (ends[0] - ends[1]) / 2e-6, atol=DIFFERENCES, rtol=0)
