"""One run as a paragraph: text -> spec -> model -> solver -> recorder -> verdicts.

Comes in: a `Request` (what was asked for on the command line or from Python). Goes out: an `Outcome` and the HDF5 file.
Never found here: physics, printing, signals. Who watches a run gives a function that sees every `Tick` and says stop.

    scenes       a scene to its meaning, and to numbers
    preparation  what is known of a run before any device starts: its scene, its schedule, its output
    trust        worlds that came to their end, but are not to be trusted
    stepping     a run block by block, and what of its events is told
    execution    a run: start the device, step, record, judge
    sub_batches  a run whose worlds do not fit in the memory of its device at once
"""

from simcli.job import Job, Outcome, Request, Schedule, Tick, keep_going
from simcli.pipeline.execution import execute, solver_of, take_kernels
from simcli.pipeline.preparation import claim_space, default_output, prepare, schedule_of
from simcli.pipeline.scenes import build_model, build_run, read_scene, scene_in

__all__ = [
    "Job", "Outcome", "Request", "Schedule", "Tick", "build_model", "build_run", "claim_space", "default_output", "execute",
    "keep_going", "prepare", "read_scene", "scene_in", "schedule_of", "solver_of", "take_kernels",
]  # fmt: skip
