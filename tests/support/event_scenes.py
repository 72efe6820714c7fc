"""Runs that an event cuts, and a scene with every kind of force and joint."""

import json

import numpy as np

from simcli.model.phases import build_phases
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve
from support.forward import CHANNELS
from support.runs import MIXED
from support.scenes import scene


class EventRun:
    """A scene with its events in this process; compiles once."""

    def __init__(self, text, device, integrator="semi_implicit", **plan):
        document = scene(text)
        spec = resolve(document)
        self.phases = build_phases(document, spec)
        options = spec.solver.model_copy(update={"integrator": integrator})
        steps, frames, dt = plan.get("steps", 10), plan.get("frames", 10), plan.get("dt", spec.solver.dt)
        plan = RunPlan(dt, steps, frames, CHANNELS)
        later = [phase for phase in self.phases if phase.texts]
        self.solver = SOLVERS["generalized"](self.phases[0].model, options, plan, device, later)
        self.frames = frames

    def __call__(self):
        """Columns of all frames, and the events."""
        blocks, n = [self.solver.initial()], 0
        while n < self.frames:
            blocks.append(self.solver.advance(self.frames - n))
            n += len(blocks[-1].step)
        columns = {name: np.concatenate([block.columns[name] for block in blocks]) for name in blocks[0].columns}
        columns["time"] = np.concatenate([block.time for block in blocks])
        return columns, [event for block in blocks for event in block.events]


# An oscillator whose spring grows stiffer and whose load turns at t = 0.8 s, under gravity along its rail.
SPRING = """
world: {gravity: [1.5, 0, 0]}
bodies: {m: {mass: 2.0, inertia: {diag: [1, 1, 1]}, points: {hook: [0, 0, 0]}}}
joints: {rail: {type: prismatic, parent: world, child: m, at: [0, 0, 0], axis: [1, 0, 0], q: 0.1, qd: 0.7}}
forces:
  cord: {type: spring, a: {world: [-2, 0, 0]}, b: m/hook, stiffness: 50, rest_length: 2}
  push: {type: wrench, body: m, force: [3, 0, 0]}
run: {duration: 2}
events:
  - {at: 0.8, set: {forces.cord.stiffness: 150, "forces.push.force[0]": -2, "world.gravity[0]": -0.5}}
"""
# What an event changes, on every kind of force and joint at once. The state at the switch, run on in the scene as the
# event leaves it, is the oracle.
CHANGES = {
    "joints.rail.drive.target": -0.6,
    "joints.rail.drive.stiffness": 80.0,
    "joints.rail.drive.damping": 0.5,
    "joints.rail.damping": 1.3,
    "joints.wrist.damping": 0.5,
    "joints.wrist.armature": 0.05,
    "joints.shoulder.damping": [0.1, 0.2, 0.3],
    "forces.cord.stiffness": 15.0,
    "forces.cord.damping": 2.0,
    "forces.cord.rest_length": 0.4,
    "forces.cord.slack": True,
    "forces.push.force": [4.0, -1.0, 0.5],
    "forces.push.torque[2]": 0.4,
    "forces.push.at": [0.0, 0.1, 0.05],
    "forces.spin.value": -0.9,
    "world.gravity": [0.1, 2.0, -3.0],
    "forces.coil.stiffness": 12.0,
    "forces.coil.rest_angle": 0.4,
    "signals.wave.sine.frequency": 3.0,
    "signals.hops.table.value[2]": 5.0,
}
WIRED = (
    MIXED.replace("simcli: 1\n", "").replace(
        "forces:\n",
        "forces:\n  coil: {type: torsion, joint: rail, stiffness: 5, damping: 0.2, rest_angle: 0.1}\n"
        "  wag: {type: torque, joint: wrist, value: $wave}\n"
        "  hop: {type: wrench, body: hand, force: [0, $hops, 0], frame: body}\n",
    )
    + """
signals:
  wave: {sine: {amplitude: 2, frequency: 5}}
  hops: {table: {time: [0, 0.02, 0.045], value: [1, -3, 2]}}
"""
)


def with_event(text, changes, at):
    return text + f"events:\n  - {{at: {at}, set: {json.dumps(changes)}}}\n"
