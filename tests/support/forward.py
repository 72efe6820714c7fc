"""Scenes run by the solver in this process: frames as arrays, without a file."""

from pathlib import Path

import numpy as np

from simcli.model import build_worlds
from simcli.model.phases import build_phases
from simcli.pipeline import read_scene
from simcli.solvers import SOLVERS, RunPlan, Stepper
from simcli.solvers.base.integrators import H
from simcli.solvers.run.world_events import CrossingEvents
from simcli.spec import resolve
from support.scenes import scene

CHANNELS = frozenset(("state", "energy"))


def build_scene(path: Path):
    """Model of a scene file, all worlds."""
    document, spec = read_scene(path)
    return build_worlds(document, spec)


def model_of(text: str):
    """Model and solver options of a scene without its first line."""
    document = scene(text)
    spec = resolve(document)
    return build_worlds(document, spec), spec.solver


class Runner:
    """Runs one model with one integrator at any step; compiles once.

    Solvers that take the bodies one by one show the columns of their own joints, too, behind those of the scene.

    Args:
        text: scene without its first line; it says which solver.
        integrator: as in the scene.
        device: from the fixture.
        channels: what a frame holds.

    Attributes:
        contacts: of the frames from 1 on of the last call, one by one.
        events: of the last call.
    """

    def __init__(self, text: str, integrator: str, device, channels=CHANNELS):
        model, options = model_of(text)
        self.begin(model, options.model_copy(update={"integrator": integrator}), device, channels)

    def begin(self, model, options, device, channels):
        solver = SOLVERS[options.type](model, options, RunPlan(1.0, 1, 1, channels), device)
        self.solver, self.channels = solver, channels
        self.model = self.solver.model

    def __call__(self, dt: float, steps_per_frame: int, n_frames: int) -> dict[str, np.ndarray]:
        """Columns of frames 0 to n_frames by their path in the file, (F, W, ...)."""
        solver, core = self.solver, self.solver.core
        solver.plan = RunPlan(dt, steps_per_frame, n_frames, self.channels)
        core.constants.set(H, dt)
        core.state.q.write(np.nan_to_num(self.model.joint_q)[..., None])
        core.state.qd.write(np.nan_to_num(self.model.joint_qd)[..., None])
        core.clear()
        solver.n_steps, solver.status = 0, np.zeros(self.model.n_worlds, int)
        solver.crossings = CrossingEvents(self.model)
        blocks = [Stepper.initial(solver), Stepper.advance(solver, n_frames)]  # in the form of the steps
        self.contacts, self.events = blocks[1].contacts, [event for block in blocks for event in block.events]
        return columns_of(blocks)


def blocks_of(document, device, channels=CHANNELS) -> list:
    """Blocks of frames of a whole run of a scene with its events, the first of them frame 0."""
    spec = resolve(document)
    first, *later = build_phases(document, spec)
    dt, every = spec.solver.dt, round(spec.output.every / spec.solver.dt)
    plan = RunPlan(dt, every, round(spec.run.duration / dt) // every, channels)
    solver = SOLVERS[spec.solver.type](first.model, spec.solver, plan, device, later)
    blocks, done = [solver.initial()], 0
    while done < plan.n_frames:
        blocks.append(solver.advance(plan.n_frames - done))
        done += len(blocks[-1].step)
    return blocks


def columns_of(blocks: list) -> dict[str, np.ndarray]:
    """Columns of blocks, one after another, by their path in the file, (F, W, ...)."""
    return {name: np.concatenate([block.columns[name] for block in blocks]) for name in blocks[0].columns}


def slope(steps, errors) -> float:
    """Order of convergence: slope of log error over log step."""
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])
