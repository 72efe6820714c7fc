"""What is known of a run before any device starts: its scene, its schedule, its output."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.engines import refuse_system
from simcli.errors import OutputError, UsageError
from simcli.job import Job, Request, Schedule
from simcli.pipeline.scenes import build_run, read_scene
from simcli.records.drafts import output_path, refuse_overwrite

if TYPE_CHECKING:
    from simcli.spec import SceneSpec


def prepare(request: Request) -> Job:
    """Read, check and build; touches no device and writes nothing.

    Raises:
        DeviceError: nothing can be run on this system.
        SceneError: the scene or an override is invalid.
        UsageError: a world to run does not exist; the output is the file that the scene is read from.
    """
    from simcli.analysis.expectations import channels_needed
    from simcli.spec import n_worlds

    started = time.perf_counter()
    refuse_system()
    document, spec = read_scene(request.scene, request.sets)
    if request.worlds is None:
        request = replace(request, worlds=document.worlds)
    outside = [world for world in request.worlds or () if world >= n_worlds(spec)]
    if outside:
        raise UsageError(f"--world {outside[0]}: the batch has worlds 0 to {n_worlds(spec) - 1}")
    phases = build_run(document, spec, request.worlds, request.tries_all)
    model, switches = phases[0].model, tuple(phase for phase in phases if phase.texts)
    channels = frozenset(spec.output.channels) | channels_needed(spec.expect)
    output = output_path(request.output or default_output(spec.name, request.worlds))
    refuse_overwrite(output, (request.scene, *document.inputs))
    return Job(request, document, spec, model, schedule_of(spec), channels, output, started, switches)


def schedule_of(spec: "SceneSpec") -> Schedule:
    """Whole numbers of steps and frames; that both are multiples of dt has been checked with the scene.

    A duration that is no multiple of `output.every` ends with a frame of its own.
    """
    dt = spec.solver.dt
    steps_per_frame = max(round(spec.output.every / dt), 1)
    whole, rest = divmod(round(spec.run.duration / dt), steps_per_frame)
    return Schedule(dt, steps_per_frame, whole + bool(rest), rest)


def default_output(name: str, worlds: Sequence[int] | None) -> Path:
    """outputs/NAME.h5; of one world outputs/NAME-worldI.h5, of several outputs/NAME-worldI-J.h5, the first and the last."""
    ends = dict.fromkeys((worlds[0], worlds[-1])) if worlds is not None else ()
    return Path("outputs") / f"{name}{'-world' if ends else ''}{'-'.join(map(str, ends))}.h5"


def claim_space(job: Job, in_sub_batches: bool = False) -> int:
    """Refuse to start a run whose file will not fit, unless `force` is given.

    Args:
        job: to start.
        in_sub_batches: whether files of parts stand beside the file until that is whole.

    Returns:
        [B], about what the run will take.

    Raises:
        OutputError: with what is needed and what is free.
    """
    from simcli.analysis.estimate import estimate, free_bytes

    needed = estimate(job.spec, job.model, job.schedule, job.channels, job.resolved)["file_bytes"] * (1 + in_sub_batches)
    free = free_bytes(job.output)
    if needed > free and not job.request.force:
        what = " for parts and the file of all of them" if in_sub_batches else ""
        sizes = f"needs about {needed / 1e9:.3g} GB{what}, and {free / 1e9:.3g} GB are free there"
        way_out = "take fewer worlds or frames (output.every, output.channels), or --force to start all the same"
        raise OutputError(f"{job.output}: {sizes}; {way_out}")
    return needed
