"""Joints with `enabled: false`: none of their laws acts, in any solver."""

import json

import numpy as np
import pytest
from support.device import live_device
from support.scenes import scene

from simcli.model.phases.stretches import build_phases
from simcli.pipeline import read_scene
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve

RATE, STEPS, DT = 1.0, 200, 1e-3
LAWS = (
    "limit: [-1, 0.05], damping: 3, friction: 2, armature: 1, velocity_limit: 0.5, "
    "drive: {mode: position, target: -1, stiffness: 50, damping: 1}",
    "limit: {lower: -1, upper: 0.05, stiffness: 500}, drive: {mode: effort, target: $pull}",
)
# A uniform turn about a principal axis at (w h) = 1e-3 rad a step: the affine body's bdf2 takes 2e-6 of it at the start.
NEAR = {"affine": 1e-5, "natural": 1e-7}


@pytest.mark.parametrize("laws", LAWS)
@pytest.mark.parametrize("solver", [
    name if name == "affine" else pytest.param(name, marks=pytest.mark.slow) for name in SOLVERS])  # fmt: skip
def test_a_joint_that_is_off_does_nothing(solver, laws, tmp_path):
    armature = solver == "affine" and "armature" in laws
    text = f"""
world: {{gravity: [0, 0, 0]}}
signals: {{pull: {{constant: -7}}}}
bodies: {{wheel: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}}}}}
joints:
  on: {{type: revolute, parent: world, child: wheel, axis: [0, 1, 0], qd: {RATE}}}
  off: {{type: revolute, parent: world, child: wheel, axis: [0, 1, 0], loop: true, enabled: false,
        {laws if armature else laws.replace("armature: 1, ", "")}}}
solver: {{type: {solver}, dt: {DT}}}
run: {{duration: {STEPS * DT}}}
"""
    document = scene(text, tmp_path)
    spec = resolve(document)
    model = build_phases(document, spec)[0].model
    run = SOLVERS[solver](model, spec.solver, RunPlan(DT, STEPS, 1, frozenset(("state", "energy"))), live_device())
    first, last = run.initial().columns, run.advance(1).columns
    assert last["frames/joint_q"][0, 0] == pytest.approx(RATE * STEPS * DT, rel=0, abs=NEAR.get(solver, 1e-12))
    assert np.abs(last["frames/joint_effort"]).max() < 1e-12
    for part in ("elastic", "dissipated", "input"):
        assert abs(last[f"energy/{part}"][0, 0]) + abs(first[f"energy/{part}"][0, 0]) < 1e-6, part


# What can act on a joint that is off beside the laws above, and what joins it to others: its keys, and a force on it.
ACTIONS = {
    "torque": ({}, {"type": "torque", "value": [-3]}),
    "signal": ({}, {"type": "torque", "value": ["$pull"]}),
    "torsion": ({}, {"type": "torsion", "stiffness": 40, "rest_angle": 1}),
    "position": ({"motion": {"position": 0.5}}, {}),
    "velocity": ({"motion": {"velocity": "$pull"}}, {}),
    "follower": ({"mimic": {"joint": "on_torque", "ratio": 2}}, {}),
    "leader": ({}, {}),
    "both": ({"mimic": {"joint": "off_torque", "ratio": 2}}, {}),
}
SWITCHED, TORQUE, RATIO = 0.1, 0.4, 2.0  # [s, N m]


def wheels():
    """A wheel per action, each on a joint that is on beside one that is off; one that follows what is off; and a gear that
    an event switches off by its leader."""
    pin = {"type": "revolute", "parent": "world", "axis": [0, 1, 0]}
    bodies, joints, forces = {}, {}, {}
    for n, (name, (keys, force)) in enumerate(ACTIONS.items()):
        place = {"at": [0, n, 0], "child": name}
        bodies[name] = {"pose": {"xyz": [0, n, 0]}, "mass": 1, "inertia": {"diag": [0.1, 0.1, 0.1]}}
        joints[f"on_{name}"] = pin | place | {"qd": RATE}
        joints[f"off_{name}"] = pin | place | {"loop": True, "enabled": False} | keys
        if force:
            forces[name] = force | {"joint": f"off_{name}"}
    for n, name in enumerate(("rests", "driver", "driven"), len(ACTIONS)):
        bodies[name] = {"pose": {"xyz": [0, n, 0]}, "mass": 1, "inertia": {"diag": [0.1, 0.1, 0.1]}}
        joints[f"on_{name}"] = pin | {"at": [0, n, 0], "child": name}
    joints["on_rests"]["mimic"] = {"joint": "off_leader", "ratio": 2}
    joints["switched"] = pin | {"at": [0, len(ACTIONS) + 1, 0], "child": "driver", "loop": True}
    joints["on_driven"]["mimic"] = {"joint": "switched", "ratio": RATIO}
    forces["push"] = {"type": "wrench", "body": "driver", "torque": [0, TORQUE, 0]}
    return {"simcli": 1, "world": {"gravity": [0, 0, 0]}, "signals": {"pull": {"constant": -7}}, "bodies": bodies,
            "joints": joints, "forces": forces, "events": [{"at": SWITCHED, "set": {"joints.switched.enabled": False}}]}


@pytest.mark.parametrize("solver", [
    name if name == "affine" else pytest.param(name, marks=pytest.mark.slow) for name in SOLVERS])  # fmt: skip
def test_nothing_acts_on_or_through_a_joint_that_is_off(solver, tmp_path):
    """Efforts, motions, and gears whose leader, follower or both are off; and one from an event on."""
    path = tmp_path / "wheels.yaml"
    path.write_text(json.dumps(wheels() | {"solver": {"type": solver, "dt": DT}, "run": {"duration": STEPS * DT}}))
    document, spec = read_scene(path)
    phases = build_phases(document, spec)
    run = SOLVERS[solver](phases[0].model, spec.solver, RunPlan(DT, STEPS, 1, frozenset(("state", "energy"))), live_device(),
                          phases=phases[1:])
    joints = phases[0].model.joints
    run.initial()
    last = run.advance(1).columns
    q, qd, effort = ({name: last[f"frames/joint_{key}"][0, 0, start[j]] for j, name in enumerate(joints.name)}
                     for key, start in (("q", joints.q_start), ("qd", joints.qd_start), ("effort", joints.qd_start)))
    slack = NEAR.get(solver, 1e-12)
    for name in ACTIONS:
        assert q[f"on_{name}"] == pytest.approx(RATE * STEPS * DT, rel=0, abs=slack), name
        assert abs(effort[f"off_{name}"]) < 1e-12, name
    assert abs(q["on_rests"]) < slack
    rate = TORQUE * SWITCHED / 0.1 / (1 + RATIO**2)
    assert qd["on_driven"] == pytest.approx(RATIO * rate, rel=2 * DT / SWITCHED)
    assert qd["on_driver"] == pytest.approx(rate + TORQUE / 0.1 * (STEPS * DT - SWITCHED), rel=2 * DT / SWITCHED)
