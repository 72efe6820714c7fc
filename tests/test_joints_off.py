"""Joints with `enabled: false`: none of their laws acts, in any solver."""

import numpy as np
import pytest
from support.device import live_device
from support.scenes import scene

from simcli.model.phases import build_phases
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
