"""One run as a paragraph: text -> spec -> model -> solver -> recorder -> verdicts.

Comes in: a `Request` (what was asked for on the command line or from Python). Goes out: an `Outcome` and the HDF5 file.
Never found here: physics, printing, signals. Who watches a run gives a function that sees every `Tick` and says stop.
"""

from simcli.job import Job, Outcome, Request, Schedule, Tick, keep_going
from simcli.pipeline.execution import execute, solver_of, take_kernels
from simcli.pipeline.preparation import claim_space, default_output, prepare, schedule_of
from simcli.pipeline.scenes import build_model, build_run, read_scene, scene_in

__all__ = [
    "Job",
    "Outcome",
    "Request",
    "Schedule",
    "Tick",
    "build_model",
    "build_run",
    "claim_space",
    "default_output",
    "execute",
    "keep_going",
    "prepare",
    "read_scene",
    "scene_in",
    "schedule_of",
    "solver_of",
    "take_kernels",
]
