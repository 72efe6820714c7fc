"""Efforts on joints whose coordinates are a pose: outside a tree they are wrenches between the bodies, in every solver.

Oracles: a force of type wrench on the child at its centre of mass, along the axes of the parent's anchor frame; momentum, to
which a joint between two bodies adds nothing; the tree, in which the efforts are those of its own coordinates.
"""

import json
from functools import cache
from itertools import product
from typing import get_args

import numpy as np
import pytest
from support.forward import blocks_of, columns_of

import simcli
from simcli import rotations as rot
from simcli.joint_types import Coordinates, types_with
from simcli.spec.document.scene_file import document_of_text
from simcli.spec.honours.joint_fields import JOINTS
from simcli.spec.names import dofs
from simcli.spec.schema import scene as schema

H, STEPS = 1e-3, 100
EVENT = 0.05  # [s]
MASS, COM, INERTIA = 1.5, [0.1, 0.15, 0.2], [0.2, 0.25, 0.3]
EFFORT, LATER = [12.0, -9.0, 6.0, 1.2, 0.9, -0.8], [-2.0, 1.0, 5.0, 0.1, -0.3, 0.7]
TURN = {"rpy": [0, 0, np.pi / 2]}  # of the parent's anchor frame: x becomes y, and y becomes -x
LENGTH, BESIDE = 1.0, 4.0  # [m]
SPECS = (schema.GeneralizedSolver, schema.MaximalSolver, schema.NaturalSolver)
RUNS = [(*get_args(one.model_fields["type"].annotation), integrator) for one in SPECS
        for integrator in get_args(one.model_fields["integrator"].annotation)
        if integrator not in ("auto", "generalized_alpha")]  # fmt: skip
QUICK = (("generalized", "semi_implicit"), ("maximal", "semi_implicit"), ("natural", "zhong06"))
every_run = pytest.mark.parametrize(
    ("solver", "integrator"), [pytest.param(*run, marks=() if run in QUICK else (pytest.mark.slow,)) for run in RUNS])
SAME = 1e-10  # [m, m/s, rad/s]: rounding, and the tolerance to which rods are closed
FIRST, SECOND = 2e-2, 5e-5  # errors of 100 steps of 1 ms of the orders one and two, at some 5 rad/s and 20 kg m^2/s


def kinds_of(solver):
    """Types on which an effort is one of a pose."""
    return sorted(types_with(Coordinates.POSE) & JOINTS[solver].loop["effort"])


def turned(f):
    """A vector from the parent's anchor frame in the world."""
    return [-f[1], f[0], f[2]]


def text_of(scene):
    return json.dumps(scene, separators=(",\n", ": "))


def empty(solver, integrator):
    waves = {f"{sign}{i}": {"sine": {"amplitude": (1 if sign == "p" else -1) * EFFORT[i], "frequency": 4.0}}
             for i in range(6) for sign in "pm"}  # fmt: skip
    return {
        "simcli": 1, "world": {"gravity": [0, 0, 0]}, "bodies": {}, "joints": {}, "forces": {}, "signals": waves,
        "events": [{"at": EVENT, "set": {}}], "solver": {"type": solver, "integrator": integrator, "dt": H},
        "run": {"duration": H * STEPS}, "output": {"every": H * STEPS / 2},
    }  # fmt: skip


def body(place):
    return {"mass": MASS, "com": COM, "inertia": {"diag": INERTIA}, "pose": {"xyz": place}}


def joint(kind, loop, parent, child, at):
    length = {"length": LENGTH} if kind == "distance" else {}
    return {"type": kind, "parent": parent, "child": child, "loop": loop, "parent_frame": {"xyz": at, **TURN},
            "child_frame": {}, **length}  # fmt: skip


def add_twins(scene, kind, loop, how, height):
    """A body with an effort on its joint to the world, and one with a wrench."""
    name = f"{kind}_{loop}_{how}"
    for twin, x in (("effort", 0.0), ("wrench", BESIDE)):
        scene["bodies"][f"{name}_{twin}"] = body([x + 0.6, 0.8, height])
        scene["joints"][f"{name}_{twin}"] = joint(kind, loop, "world", f"{name}_{twin}", [x, 0, height])
    value = [f"$p{i}" for i in range(6)] if how == "signal" else EFFORT
    wrench = [f"$m{1 + i}" if k == 0 else f"$p{i + (0, 0, 2)[k]}" for i in (0, 3) for k in range(3)]
    wrench = wrench if how == "signal" else turned(EFFORT[:3]) + turned(EFFORT[3:])
    scene["forces"][f"{name}_effort"] = {"type": "torque", "joint": f"{name}_effort", "value": value}
    scene["forces"][f"{name}_wrench"] = {"type": "wrench", "body": f"{name}_wrench", "force": wrench[:3],
                                         "torque": wrench[3:]}  # fmt: skip
    if how == "event":
        changed = scene["events"][0]["set"]
        changed[f"forces.{name}_effort.value"] = LATER
        changed[f"forces.{name}_wrench.force"] = turned(LATER[:3])
        changed[f"forces.{name}_wrench.torque"] = turned(LATER[3:])
    return name


def add_pair(scene, kind, loop, height):
    """Two bodies at rest that a joint with an effort joins."""
    name = f"pair_{kind}_{loop}"
    scene["bodies"][f"{name}_a"] = body([0, 9, height])
    scene["bodies"][f"{name}_b"] = body([0.6, 9.8, height])
    scene["joints"][name] = joint(kind, loop, f"{name}_a", f"{name}_b", [0, 0, 0])
    scene["forces"][name] = {"type": "torque", "joint": name, "value": EFFORT}
    return name


@cache
def run_of(solver, integrator, device):
    scene, twins, pairs = empty(solver, integrator), [], []
    for n, (kind, loop) in enumerate(product(kinds_of(solver), (False, True))):
        pairs.append((kind, loop, add_pair(scene, kind, loop, 20.0 * n)))
        for k, how in enumerate(("number", "signal", "event")):
            twins.append(add_twins(scene, kind, loop, how, 20.0 * n + 5.0 * k))
    document = document_of_text(text_of(scene), "wrenches.yaml")
    blocks = blocks_of(document, device, frozenset(("state", "energy", "reactions")))
    names = [*scene["bodies"]], [*scene["joints"]]
    return columns_of(blocks), *names, twins, pairs


def columns_of_body(columns, bodies, name):
    b = bodies.index(name)
    return columns["frames/body_q"][:, 0, b], columns["frames/body_qd"][:, 0, b]


@every_run
def test_an_effort_is_a_wrench_on_the_child(device, solver, integrator):
    columns, bodies, _, twins, _ = run_of(solver, integrator, device)
    for name in twins:
        pose, twist = columns_of_body(columns, bodies, f"{name}_effort")
        pose_w, twist_w = columns_of_body(columns, bodies, f"{name}_wrench")
        assert np.abs(twist[-1]).max() > 1e-2, name
        beside = np.eye(7)[0] * BESIDE
        np.testing.assert_allclose(pose + beside, pose_w, atol=SAME, rtol=0, err_msg=name)
        np.testing.assert_allclose(twist, twist_w, atol=SAME, rtol=0, err_msg=name)


def momentum(pose, twist, place):
    """Linear momentum and moment of momentum, about where the parent begins, (F, 3) each."""
    R = rot.quat_to_matrix(pose[:, 3:])
    c = pose[:, :3] - place + R @ np.array(COM)
    p = MASS * twist[:, :3]
    spin = R @ np.diag(INERTIA) @ np.swapaxes(R, -1, -2)
    return p, np.cross(c, p) + (spin @ twist[:, 3:, None])[..., 0]


@every_run
def test_the_parent_takes_the_opposite(device, solver, integrator):
    columns, bodies, _, _, pairs = run_of(solver, integrator, device)
    bound = FIRST if integrator == "semi_implicit" else SECOND
    for _, _, name in pairs:
        place = columns_of_body(columns, bodies, f"{name}_a")[0][0, :3]
        parts = [momentum(*columns_of_body(columns, bodies, f"{name}_{end}"), place) for end in "ab"]
        p, moment = (a + b for a, b in zip(*parts, strict=True))
        assert np.abs(parts[1][0][-1] - parts[1][0][0]).max() > 0.1, name
        assert np.abs(p - p[0]).max() < (bound if solver == "generalized" else SAME), name  # whose coordinates are of joints
        assert np.abs(moment - moment[0]).max() < bound, name


@every_run
def test_it_moves_as_the_tree_does(device, solver, integrator):
    """Poses of pairs against those of the generalized solver; what frames show of an effort that nothing else joins."""
    columns, bodies, joints, _, pairs = run_of(solver, integrator, device)
    reference, bodies_r, _, _, _ = run_of("generalized", "implicit", device)
    bound = FIRST if integrator == "semi_implicit" else SECOND
    starts = 6 * np.arange(len(joints))
    for kind, loop, name in pairs:
        like = f"pair_{dofs.SAME.get(kind, kind)}_False"
        for end in "ab":
            pose, twist = columns_of_body(columns, bodies, f"{name}_{end}")
            pose_r, twist_r = columns_of_body(reference, bodies_r, f"{like}_{end}")
            pose_r = pose_r + np.eye(7)[2] * (pose[0, 2] - pose_r[0, 2])
            np.testing.assert_allclose(pose[-1], pose_r[-1], atol=bound, rtol=0, err_msg=f"{name} {loop}")
            np.testing.assert_allclose(twist[-1], twist_r[-1], atol=5 * bound, rtol=0, err_msg=f"{name} {loop}")
        if kind != "distance":
            first = starts[joints.index(name)]
            effort = columns["frames/joint_effort"][:, 0, first : first + 6]
            np.testing.assert_allclose(effort, np.broadcast_to(EFFORT, effort.shape), atol=1e-9, err_msg=name)


@every_run
def test_their_work_is_input(device, solver, integrator):
    columns, *_ = run_of(solver, integrator, device)
    supplied, drift = columns["energy/input"][-1, 0], columns["energy/drift"][-1, 0]
    assert supplied > 1.0
    assert abs(drift) < (0.03 if integrator == "semi_implicit" else 1e-4) * supplied


@pytest.mark.parametrize("solver", sorted({run[0] for run in RUNS}))
def test_a_program_sets_them(tmp_path, solver):
    """As a parameter, from zero on, and as a signal: x = F t^2 / 2 m; a joint that is off takes none."""
    scene = empty(solver, "auto")
    scene.pop("events")
    scene["signals"] = {"u": {"constant": 0.0}}
    for name, place, value in (("a", 0.0, [0] * 6), ("b", 5.0, ["$u", 0, 0, 0, 0, 0])):
        scene["bodies"][name] = {"mass": MASS, "inertia": {"diag": INERTIA}, "pose": {"xyz": [0, place, 0]}}
        scene["joints"][name] = {"type": "free", "parent": "world", "child": name, "loop": True}
        scene["forces"][name] = {"type": "torque", "joint": name, "value": value}
    path = tmp_path / "set.yaml"
    path.write_text(text_of(scene))
    with simcli.Simulation(path, vary=["forces.a.value"], device="cpu") as sim:
        sim.set("forces.a.value", [3.0, 0, 0, 0, 0, 0])
        sim.step(STEPS, control={"$u": 3.0})
        t = H * STEPS
        for name in "ab":
            assert sim.get(f"body.{name}.velocity")[0, 0] == pytest.approx(3.0 / MASS * t, rel=1e-9)
        assert np.allclose(sim.get("joint.a.effort"), [3.0, 0, 0, 0, 0, 0])


def test_a_scene_without_an_equation_shows_where_its_joint_is(device):
    """In maximal coordinates nothing is constrained where a free joint alone joins two bodies."""
    found = []
    for solver in ("generalized", "maximal"):
        scene = empty(solver, "semi_implicit")
        scene.pop("events")
        add_pair(scene, "free", False, 0.0)
        blocks = blocks_of(document_of_text(text_of(scene), "pair.yaml"), device, frozenset(("state",)))
        found.append(columns_of(blocks)["frames/joint_q"][:, 0, :7])
    assert np.abs(found[0][-1] - found[0][0]).max() > 0.01
    np.testing.assert_allclose(*found, atol=FIRST, rtol=0)
