"""A run: start the device, step, record, judge."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simcli.errors import DeviceMemoryError
from simcli.job import Job, Outcome, Tick, Watch, keep_going
from simcli.model.snapshot import Status
from simcli.pipeline.preparation import claim_space
from simcli.pipeline.stepping import ENERGIES, begin_run, heed_unsolved, note_events, step_all, unsolved_among

if TYPE_CHECKING:
    from simcli.analysis.drift import Drift, EnergyAccount
    from simcli.analysis.expectations import Verdict
    from simcli.records.writing.spawn import Correspondent

STEPS_PER_LEDGER = 64  # where no file shows energies: what they cost is then far below a hundredth of a step


def execute(job: Job, watch: Watch = keep_going) -> Outcome:
    """Run a job: start the device, step, record, judge; in parts, if its worlds do not fit in the memory of the device.

    Args:
        job: from `prepare`.
        watch: sees every Tick; its False stops the run at the next block, with a file that opens.

    Raises:
        OutputError: the output exists, cannot be written, or was made in other circumstances.
        FileError: the output that should go on is damaged.
        DeviceError: the device is missing.
    """
    from simcli.pipeline.sub_batches import execute_sub_batches, planned_size
    from simcli.records import lock
    from simcli.records.writing import continuation
    from simcli.records.writing.recorder_thread import recorder_of

    lock.wait_for_orphan(job.output)
    if n_planned := planned_size(job):
        return execute_sub_batches(job, n_planned, watch)
    goes_on = job.request.resume and continuation.holds_something(job.output)
    if goes_on and continuation.is_finished(job.output, job.resolved, job.numbers):
        return _finished(job)
    if not goes_on:
        continuation.claim_output(job.output, job.request.force or job.request.resume)
    try:
        with recorder_of(claim_space(job), job.request.leaves_at_once) as process:  # before Taichi: on its way, that hangs
            return _execute_noted(job, watch, process, goes_on)
    except DeviceMemoryError as error:
        n_fit = error.n_fit
        if not n_fit or goes_on or job.spec.run.on_failure == "stop":
            raise
    return execute_sub_batches(job, n_fit, watch)


def _execute_noted(job: Job, watch: Watch, process: "Correspondent", goes_on: bool) -> Outcome:
    """Run a job as `_execute_into` does, and note its kernels."""
    from simcli.kernels.language.backend import kernels_noted

    with kernels_noted() as taken:
        outcome = _execute_into(job, watch, process, goes_on)
    outcome.kernels_compiled, outcome.kernels_from_cache = taken.compiled, taken.from_folder
    return outcome


def _execute_into(job: Job, watch: Watch, process: "Correspondent", goes_on: bool) -> Outcome:
    """Run a job whose output may be written, by a process that waits for its orders; else as `execute`."""
    from simcli.analysis.drift import EnergyAccount
    from simcli.analysis.worlds.measure_layouts import layouts_of, recorded_columns
    from simcli.kernels.device.runtime import start_device
    from simcli.records import checkpoint
    from simcli.records.contents.select import selection
    from simcli.records.writing import continuation
    from simcli.records.writing.writer import Recorder

    spec, model, schedule = job.spec, job.model, job.schedule
    device = start_device(job.request.device, spec.solver.precision, job.request.threads)
    facts = _circumstances(job, device)
    continues = continuation.find_continuation(job.output, facts) if goes_on else None
    outcome = Outcome(job.output, n_worlds=model.n_worlds, device=_facts(device), best_shown=_best_shown(job))
    watch(Tick("compiling", 0, schedule.n_frames, 0.0, 0, 0.0, 0))  # the start of some solvers is a solver, too
    solver = solver_of(job, device, _is_watched(job))
    account = EnergyAccount(model, spec.solver.precision, spec.solver.type)
    if continues is not None:
        account.go_on(continues.checkpoint.arrays[ENERGIES])
    recorder = Recorder(  # which makes the file meanwhile, under another name
        job.output,
        model,
        provenance_of(job, device),
        job.channels,
        schedule.n_frames + 1,
        dtype=spec.output.dtype,
        title=spec.name,
        axes=selection(
            model,
            spec.output.select,
            solver.row_label,
            recorded_columns(job.measures, job.recorded, model.joints, model.sensors),
        ),
        row_label=solver.row_label,
        continues=continues,
        process=process,
        waits=True,
        measures=layouts_of(spec.measure, job.measures, model.joints, model.sensors),
    )
    first = begin_run(job, solver, continues, outcome)
    watch(Tick("stepping", 0, schedule.n_frames, 0.0, 0, 0.0, 0))  # from here on there is a file to close
    recorder.publish()
    if continues is None:
        checkpoint.clear_checkpoints(job.output)
    facts["uuid"] = recorder.uuid
    keeper = checkpoint.Keeper(job.output, facts, recorder.frames_per_commit, job.request.checkpoint_every)
    clock, compiled = time.perf_counter(), solver.compile_seconds or 0.0
    with recorder:
        step_all(job, solver, first, recorder, keeper, watch, outcome, account)
        stepped = time.perf_counter()
        if _is_watched(job):
            account.go_on(solver.energies())
        measured = (dict(zip(job.measures.names, job.measures.rows, strict=True)), *solver.measured())
        recorder.close(outcome.status, measured)
    keeper.write(recorder.n_committed)
    outcome.problem = keeper.problem
    if outcome.status != "stopped":
        checkpoint.clear_checkpoints(job.output)
    outcome.compile = solver.compile_seconds or 0.0
    outcome.stepping = max(time.perf_counter() - clock - (outcome.compile - compiled), 0.0)
    outcome.closing = time.perf_counter() - stepped
    outcome.n_stopped = int(np.count_nonzero(solver.status == Status.STOPPED))
    return _judged(job, outcome, account)


def _best_shown(job: Job) -> str:
    """The command that shows most of what a job writes."""
    if job.channels & {"state", "bodies", "joints"}:
        return "view"
    return "plot" if job.channels or job.recorded else "table"


def solver_of(job: Job, device, is_watched: bool = False, by_age: bool = False):
    """The solver of a job, on a device that was started.

    Args:
        job: of the run.
        device: that was started.
        is_watched: whether it keeps the extremes of energies that no frame shows.
        by_age: whether worlds begin one by one.
    """
    from simcli.solvers import SOLVERS, RunPlan

    spec, schedule = job.spec, job.schedule
    channels, every = job.channels | job.measures.channels, 1
    if is_watched and "energy" not in channels:
        channels, every = channels | {"energy"}, STEPS_PER_LEDGER
    plan = RunPlan(
        schedule.dt,
        schedule.steps_per_frame,
        schedule.n_frames,
        channels,
        schedule.last_steps,
        job.measures,
        job.channels,
        spec.run.on_unsolved.above,
        every,
        by_age,
    )
    return SOLVERS[spec.solver.type](job.model, spec.solver, plan, device, job.phases)


def _is_watched(job: Job) -> bool:
    """Whether energies are judged that the file does not have."""
    return job.spec.solver.type != "affine" and "energy" not in job.channels


def take_kernels(job: Job) -> None:
    """Call every kernel that a run of a job calls, and write nothing: the first frames, and on until the last event.

    Raises:
        DeviceError: the device is missing.
    """
    from simcli.kernels.device.runtime import start_device

    device = start_device(job.request.device, job.spec.solver.precision, job.request.threads)
    solver = solver_of(job, device, _is_watched(job))
    solver.initial()
    last = max((phase.step for phase in job.phases), default=0)
    block = solver.advance(1)
    while block.step[-1] <= last:
        block = solver.advance(solver.suggest_frames())
    solver.state_arrays()


def _finished(job: Job) -> Outcome:
    """The outcome of a run that had ended before; its expectations are judged again."""
    from simcli.records.integrity.repair import tidy_finished

    tidy_finished(job.output)
    outcome = outcome_in_file(job)
    outcome.first_frame, outcome.first_step = outcome.n_frames, outcome.n_steps
    return outcome


def outcome_in_file(job: Job) -> Outcome:
    """What the file of a run that has ended says that it came to; its expectations are judged by the file."""
    from simcli.analysis.drift import EnergyAccount
    from simcli.records.reading.reader import open_trajectory

    account = EnergyAccount(job.model, job.spec.solver.precision, job.spec.solver.type)
    with open_trajectory(job.output) as run:
        outcome = Outcome(job.output, run.status, run.n_worlds, int(run.step[-1]), run.n_frames, best_shown=_best_shown(job))
        account.n_steps = outcome.n_steps
        note_events(job, outcome, run.events)
        outcome.device = {"name": run.provenance.device, "precision": run.provenance.precision}
        heed_unsolved(job, outcome, unsolved_among(run.events))
        if "energy" in job.channels:
            account.see_run(run, outcome.n_frames)
        outcome.n_stopped = int((run.diag.status[-1] == Status.STOPPED).sum())
    return _judged(job, outcome, account)


def _drift(job: Job, account: "EnergyAccount") -> "Drift | None":
    """The ledger that is off by most; its world has its number in the batch."""
    models = (job.model, *(phase.model for phase in job.phases))
    touches = any(model.contacts is not None for model in models)
    found = account.worst(job.spec.solver.type, job.spec.solver.integrator, job.schedule.dt, touches)
    return found and replace(found, world=job.numbers[found.world])


def _judged(job: Job, outcome: Outcome, account: "EnergyAccount") -> Outcome:
    """An outcome with what its file shows: energies, size, expectations."""
    outcome.drift = _drift(job, account)
    outcome.n_bytes = job.output.stat().st_size
    if outcome.status == "done" and job.spec.expect:
        outcome.verdicts = _judge(job)
    outcome.wall = time.perf_counter() - job.started
    return outcome


def _judge(job: Job) -> "list[Verdict]":
    from simcli.analysis.expectations import judge_expectations
    from simcli.records.reading.reader import open_trajectory

    with open_trajectory(job.output) as trajectory:
        return judge_expectations(job.spec.expect, trajectory, job.schedule.dt, job.numbers, _expected_of_worlds(job))


def _expected_of_worlds(job: Job) -> list:
    """The expectations of each world that is run, where the batch varies what their expressions may use; else none."""
    from simcli.spec.batches.world_values import taken_from, world_columns
    from simcli.spec.expansion.worlds import sections_made_of
    from simcli.spec.passes import part_of_worlds, passes_of

    columns = world_columns(job.spec)
    if "expect" not in sections_made_of(job.document, columns):
        return []
    numbers = np.array(job.numbers)
    found: list = [None] * len(numbers)
    for passes in passes_of(job.document, {path: taken_from(one, numbers) for path, one in columns.items()}, job.numbers):
        for one in passes:
            for place, world in enumerate(one.worlds.tolist()):
                found[world] = part_of_worlds(one.spec.expect, np.array([place]))
    return found


def _circumstances(job: Job, device) -> dict[str, Any]:
    """What must be the same for a run to go on to the same bytes, see `records.checkpoint`."""
    from simcli.records.contents.provenance import sha256, versions_of
    from simcli.release import code_digest

    worlds = None if job.request.worlds is None else list(job.request.worlds)
    return {
        "scene": sha256(job.resolved),
        "worlds": worlds,
        "device": f"{device.arch}: {device.name}",
        "precision": device.precision,
        "lanes": device.lanes,
        "code": code_digest(),
        **versions_of(),
    }


def provenance_of(job: Job, device):
    """Where the file of a job comes from."""
    from simcli.records.contents.provenance import collect_provenance
    from simcli.spec.batches.sample_files import file_contents

    files = file_contents(job.document, job.spec)
    where = f"{device.arch}: {device.name}" + (f", {device.threads} threads" if device.threads else "")
    return collect_provenance(
        job.document.sources,
        job.resolved,
        where,
        device.precision,
        job.spec.batch.seed,
        job.request.argv or None,
        overrides=job.document.overrides,
        worlds=job.request.worlds,
        files=tuple(files.items()),
    )


def _facts(device) -> dict[str, Any]:
    return {
        "arch": device.arch,
        "name": device.name,
        "precision": device.precision,
        "lanes": device.lanes,
        "threads": device.threads,
    }
