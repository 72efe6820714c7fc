"""One run as a paragraph: text -> spec -> model -> solver -> recorder -> verdicts.

Comes in: a `Request` (what was asked for on the command line or from Python). Goes out: an `Outcome` and the HDF5 file.
Never found here: physics, printing, signals. Who watches a run gives a function that sees every `Tick` and says stop.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simcli.errors import FileError, OutputError, SceneError, UsageError
from simcli.job import Failure, Job, Outcome, Request, Schedule, Tick, Watch, keep_going
from simcli.model.snapshot import Event, FrameBlock, Status, Unsolved

if TYPE_CHECKING:
    from simcli.analysis.drift import Drift, EnergyAccount
    from simcli.analysis.expectations import Verdict
    from simcli.model.phases.stretches import Phase
    from simcli.model.tables import Model
    from simcli.records.writing.spawn import RecorderProcess
    from simcli.spec import Document, SceneSpec
    from simcli.spec.document.overrides import Override
    from simcli.spec.document.scene_file import HeldScene

_WARNING, _ERROR = 1, 2  # severities of events; an error is a failure
LAST_SECONDS = 5.0  # [s] that a run which is asked to stop may take to reach a frame from which it can go on


def read_scene(path: Path, sets: "Sequence[str | Override]" = ()) -> "tuple[Document, SceneSpec]":
    """Read a scene, or the one inside a run, with overrides and give it its meaning.

    Raises:
        SceneError: with every fault.
        FileError: it is an HDF5 file, but damaged or no run.
        UsageError: the run does not know the scene that it was made from; the file is a sweep.
    """
    from simcli.analysis.worlds.earlier_runs import column_of
    from simcli.records.wholeness.superblock import is_hdf5
    from simcli.spec import load_document, load_held, resolve
    from simcli.spec.batches.sweep_file import is_sweep
    from simcli.spec.document.packed import is_packed, unpacked

    if is_hdf5(path):
        held = scene_in(path)
        document = load_held(held, str(path), sets, column_of)
    elif is_packed(path):
        document = load_held(unpacked(path.read_bytes()), str(path), sets, column_of)
    else:
        document = load_document(path, sets, column_of)
    if is_sweep(document):
        raise UsageError(f"{path}: is a sweep file and no scene: simcli sweep run {path} -o DIR")
    return document, resolve(document)


def scene_in(path: Path) -> "HeldScene":
    """The scene inside a run, and what it was run with.

    Raises:
        FileError: the file is damaged or no run.
        UsageError: the run does not know the scene that it was made from.
    """
    from simcli.records.contents.provenance import file_problems
    from simcli.records.reading.reader import open_trajectory
    from simcli.spec.document.overrides import Override
    from simcli.spec.document.scene_file import HeldScene

    with open_trajectory(path) as run:
        known = run.provenance
    if known.overrides is None and known.origin:
        raise UsageError(f"{path}: is put together from several runs, whose options differ: give one of them, or the scene")
    if known.overrides is None:
        raise UsageError(f"{path}: does not hold the options of its run beside the scene, as files of this version do: "
                         "give the scene file")  # fmt: skip
    if problems := file_problems(known):
        raise FileError(f"{path}: is damaged: {problems[0]}; `simcli check` lists the damage")
    files = {name: data for name, _, data in known.files}
    return HeldScene(known.scene_source, files, tuple(Override(*one) for one in known.overrides), known.worlds)


def build_model(document: "Document", spec: "SceneSpec", worlds: Sequence[int] | None = (0,)) -> "Model":
    """Turn a scene into numbers as they are at the start: some worlds of its batch by their numbers, None for all.

    Raises:
        SceneError: the scene makes no mechanism, at the start or after an event.
    """
    return build_run(document, spec, worlds)[0].model


def build_run(document: "Document", spec: "SceneSpec", worlds: Sequence[int] | None = (0,),
              tries_all: bool = False) -> "list[Phase]":  # fmt: skip
    """Turn a scene into numbers, the stretch before the first event and those after each; else as `build_model`.

    Raises:
        SceneError: the scene makes no mechanism, at the start or after an event.
    """
    from simcli.model.phases.stretches import build_phases

    try:
        return build_phases(document, spec, worlds, tries_all)
    except SceneError as error:
        error.document = document  # for the snippets
        raise


def prepare(request: Request) -> Job:
    """Read, check and build; touches no device and writes nothing.

    Raises:
        SceneError: the scene or an override is invalid.
        UsageError: a world to run does not exist; the output is the file that the scene is read from.
    """
    from simcli.analysis.expectations import channels_needed
    from simcli.spec import n_worlds
    from simcli.spec.samples.files import input_paths

    started = time.perf_counter()
    document, spec = read_scene(request.scene, request.sets)
    if request.worlds is None:
        request = replace(request, worlds=document.worlds)
    outside = [world for world in request.worlds or () if world >= n_worlds(spec)]
    if outside:
        raise UsageError(f"--world {outside[0]}: the batch has worlds 0 to {n_worlds(spec) - 1}")
    phases = build_run(document, spec, request.worlds, request.tries_all)
    model, switches = phases[0].model, tuple(phase for phase in phases if phase.texts)
    channels = frozenset(spec.output.channels) | channels_needed(spec.expect)
    output = request.output or default_output(spec.name, request.worlds)
    if output.exists() and any(output.samefile(one) for one in (request.scene, *input_paths(document)) if one.exists()):
        raise UsageError(f"{output}: is the file that the scene is read from, and will not be replaced; choose another file "
                         "with -o")  # fmt: skip
    return Job(request, document, spec, model, schedule_of(spec), channels, output, started, switches)


def execute(job: Job, watch: Watch = keep_going) -> Outcome:
    """Run a job: start the device, step, record, judge.

    Args:
        job: from `prepare`.
        watch: sees every Tick; its False stops the run at the next block, with a file that opens.

    Raises:
        OutputError: the output exists, cannot be written, or was made in other circumstances.
        FileError: the output that should go on is damaged.
        DeviceError: the device is missing.
    """
    from simcli.records.going_on import continuation, lock
    from simcli.records.writing.spawn import RecorderProcess

    lock.wait_for_orphan(job.output)
    goes_on = job.request.resume and job.output.exists()
    if goes_on and continuation.is_finished(job.output, job.resolved):
        return _finished(job)
    if not goes_on:
        continuation.claim_output(job.output, job.request.force)
    with RecorderProcess(claim_space(job)) as process:  # it starts while Taichi is imported, and never after: that hangs
        return _execute_noted(job, watch, process, goes_on)


def _execute_noted(job: Job, watch: Watch, process: "RecorderProcess", goes_on: bool) -> Outcome:
    """Run a job as `_execute_into` does, and note its kernels."""
    from simcli.kernels.language.compilations import kernels_noted

    with kernels_noted() as taken:
        outcome = _execute_into(job, watch, process, goes_on)
    outcome.kernels_compiled, outcome.kernels_from_cache = taken.compiled, taken.from_folder
    return outcome


def _execute_into(job: Job, watch: Watch, process: "RecorderProcess", goes_on: bool) -> Outcome:
    """Run a job whose output may be written, by a process that waits for its orders; else as `execute`."""
    from simcli.analysis.drift import EnergyAccount
    from simcli.analysis.worlds.measure_layouts import layouts_of, recorded_columns
    from simcli.kernels.device.runtime import start_device
    from simcli.records.contents.select import selection
    from simcli.records.going_on import checkpoint, continuation
    from simcli.records.reading.reader import open_trajectory
    from simcli.records.writing.writer import Recorder

    spec, model, schedule = job.spec, job.model, job.schedule
    device = start_device(job.request.device, spec.solver.precision, job.request.threads)
    facts = _circumstances(job, device)
    continues = continuation.find(job.output, facts) if goes_on else None
    outcome = Outcome(job.output, n_worlds=model.n_worlds, device=_facts(device),
                      best_shown=_best_shown(job))  # fmt: skip
    watch(Tick("compiling", 0, schedule.n_frames, 0.0, 0, 0.0, 0))  # the start of some solvers is a solver, too
    solver = _solver_of(job, device)
    account = EnergyAccount(model)
    clock = time.perf_counter()
    if continues is not None and "energy" in job.channels:
        with open_trajectory(job.output) as run:
            account.see_run(run, continues.n_frames)
    recorder = Recorder(  # which makes the file meanwhile, under another name
        job.output, model, _provenance(job, device), job.channels, schedule.n_frames + 1,
        dtype=spec.output.dtype, title=spec.name,
        axes=selection(model, spec.output.select, solver.row_label, recorded_columns(job.measures, job.recorded, model)),
        row_label=solver.row_label, continues=continues, process=process, waits=True,
        measures=layouts_of(spec.measure, job.measures, model),
    )  # fmt: skip
    first = _begin(job, solver, continues, outcome)
    watch(Tick("stepping", 0, schedule.n_frames, 0.0, 0, 0.0, 0))  # from here on there is a file to close
    recorder.publish()
    if continues is None:
        checkpoint.clear(job.output)
    facts["uuid"] = recorder.uuid
    keeper = checkpoint.Keeper(job.output, facts, recorder.frames_per_commit, job.request.checkpoint_every)
    with recorder:
        _step_all(job, solver, first, recorder, keeper, watch, outcome, account)
        measured = (dict(zip(job.measures.names, job.measures.rows, strict=True)), *solver.measured())
        recorder.close(outcome.status, measured)
    keeper.write(recorder.n_committed)
    outcome.problem = keeper.problem
    if outcome.status != "stopped":
        checkpoint.clear(job.output)
    outcome.compile = solver.compile_seconds or 0.0
    outcome.stepping = max(time.perf_counter() - clock - outcome.compile, 0.0)
    outcome.drift = _drift(job, account)
    outcome.n_stopped = int(sum(status == Status.STOPPED for status in solver.status.tolist()))
    outcome.n_bytes = job.output.stat().st_size
    if outcome.status == "done" and spec.expect:
        outcome.verdicts = _judge(job)
    outcome.wall = time.perf_counter() - job.started
    return outcome


def _best_shown(job: Job) -> str:
    """The command that shows most of what a job writes."""
    if job.channels & {"state", "bodies", "joints"}:
        return "view"
    return "plot" if job.channels or job.recorded else "table"


def _solver_of(job: Job, device):
    """The solver of a job, on a device that was started."""
    from simcli.solvers import SOLVERS, RunPlan

    spec, schedule = job.spec, job.schedule
    plan = RunPlan(schedule.dt, schedule.steps_per_frame, schedule.n_frames, job.channels | job.measures.channels,
                   schedule.last_steps, job.measures, job.channels)  # fmt: skip
    return SOLVERS[spec.solver.type](job.model, spec.solver, plan, device, job.phases)


def take_kernels(job: Job) -> None:
    """Call every kernel that a run of a job calls, and write nothing: the first frames, and on until the last event.

    Raises:
        DeviceError: the device is missing.
    """
    from simcli.kernels.device.runtime import start_device

    solver = _solver_of(job, start_device(job.request.device, job.spec.solver.precision, job.request.threads))
    solver.initial()
    last = max((phase.step for phase in job.phases), default=0)
    block = solver.advance(1)
    while block.step[-1] <= last:
        block = solver.advance(solver.suggest_frames())
    solver.state_arrays()


def _begin(job: Job, solver, continues, outcome: Outcome) -> FrameBlock | None:
    """Frame 0; or, of a run that goes on, its state and what is known of it."""
    if continues is None:
        return solver.initial()
    solver.restore(continues.checkpoint.arrays, continues.checkpoint.n_steps)
    outcome.n_frames = outcome.first_frame = continues.n_frames
    outcome.n_steps = outcome.first_step = continues.checkpoint.n_steps
    outcome.n_events, outcome.failures = len(continues.events), _failures(continues.events, job)
    outcome.warnings += _warnings(continues.events)
    return None


def _finished(job: Job) -> Outcome:
    """The outcome of a run that had ended before; its expectations are judged again."""
    from simcli.analysis.drift import EnergyAccount
    from simcli.records.reading.reader import open_trajectory
    from simcli.records.wholeness.repair import tidy_finished

    tidy_finished(job.output)
    account = EnergyAccount(job.model)
    with open_trajectory(job.output) as run:
        outcome = Outcome(job.output, run.status, run.n_worlds, int(run.step[-1]), run.n_frames)
        outcome.first_frame, outcome.first_step = outcome.n_frames, outcome.n_steps
        outcome.failures = _failures(run.events, job)
        outcome.warnings += _warnings(run.events)
        outcome.device = {"name": run.provenance.device, "precision": run.provenance.precision}
        _heed(job, outcome, _unsolved_of(run.events))
        if "energy" in job.channels:
            account.see_run(run, outcome.n_frames)
        outcome.n_stopped = int((run.diag.status[-1] == Status.STOPPED).sum())
    outcome.drift = _drift(job, account)
    outcome.n_bytes = job.output.stat().st_size
    if outcome.status == "done" and job.spec.expect:
        outcome.verdicts = _judge(job)
    outcome.wall = time.perf_counter() - job.started
    return outcome


def _drift(job: Job, account: "EnergyAccount") -> "Drift | None":
    """The ledger that is off by most; its world has its number in the batch."""
    models = (job.model, *(phase.model for phase in job.phases))
    touches = any(model.contacts is not None for model in models)
    found = account.worst(job.spec.solver.integrator, job.schedule.dt, touches)
    return found and replace(found, world=job.numbers[found.world])


def _unsolved_of(events: list[Event]) -> Unsolved | None:
    """The unsolved steps of a run that has ended, out of its events."""
    counts = [event.value for event in events if event.code == "SC662"]
    for worst in events:
        if worst.code == "SC668":
            return Unsolved(worst.world, worst.step, worst.time, worst.value, int(sum(counts)), len(counts))
    return None


def _heed(job: Job, outcome: Outcome, unsolved: Unsolved | None) -> None:
    """Note the unsolved steps of a run as `run.on_unsolved` wants it; its world has its number in the batch."""
    wanted = job.spec.run.on_unsolved
    if unsolved and not unsolved.residual <= wanted.above:
        outcome.unsolved = replace(unsolved, world=job.numbers[unsolved.world])
        outcome.unsolved_fails = wanted.action == "fail"


def _step_all(job: Job, solver, first: FrameBlock | None, recorder, keeper, watch: Watch, outcome: Outcome,
              account: "EnergyAccount") -> None:
    """Advance block by block until the end, a failure that stops, or a watcher that has seen enough."""
    schedule, n_worlds = job.schedule, job.model.n_worlds
    stop_at_failure = job.spec.run.on_failure == "stop"
    clock = time.perf_counter()

    def record(block: FrameBlock) -> bool:
        recorder.put(block)
        outcome.n_frames += len(block.step)
        outcome.n_steps = int(block.step[-1])
        outcome.failures += _failures(block.events, job)
        outcome.n_events += len(block.events)
        outcome.warnings += _warnings(block.events)
        _heed(job, outcome, block.unsolved)
        account.see(block.columns)
        keeper.look(outcome.counts, recorder.n_committed, solver.state_arrays)
        stepping = time.perf_counter() - clock - (solver.compile_seconds or 0.0)
        steps = outcome.n_steps * n_worlds
        rate = (outcome.n_steps - outcome.first_step) * n_worlds / stepping if stepping > 0 else 0.0
        now = Tick("stepping", outcome.n_frames - 1, schedule.n_frames, outcome.n_steps * schedule.dt, steps, rate,
                   _size(job.output))  # fmt: skip
        return watch(now)

    def step_on(limit: int) -> bool:
        left = schedule.n_frames + 1 - outcome.n_frames
        n_frames = min(solver.suggest_frames(), recorder.frames_wanted, left, limit)
        return record(solver.advance(n_frames, recorder.places(n_frames)))

    going = first is None or record(first)
    while going and outcome.n_frames <= schedule.n_frames:
        if stop_at_failure and (outcome.failures or outcome.unsolved_fails):
            outcome.status = "failed"
            return
        going = step_on(keeper.frames_to_grain(outcome.n_frames) if keeper.is_due else schedule.n_frames)
    if stop_at_failure and (outcome.failures or outcome.unsolved_fails):
        outcome.status = "failed"
    elif outcome.n_frames <= schedule.n_frames:
        # A last checkpoint, if the next frame that ends a commit is near: there and nowhere else can a run go on.
        seconds = (time.perf_counter() - clock) / max(outcome.n_frames - outcome.first_frame, 1)
        if keeper.frames_to_grain(outcome.n_frames) * seconds < LAST_SECONDS:
            while outcome.n_frames % keeper.grain and outcome.n_frames <= schedule.n_frames:
                step_on(keeper.frames_to_grain(outcome.n_frames))
        if outcome.n_frames % keeper.grain == 0:
            keeper.take(outcome.counts, solver.state_arrays)
        if outcome.n_frames <= schedule.n_frames:
            outcome.status = "stopped"


def _failures(events: list[Event], job: Job) -> list[Failure]:
    """Failures among events, as they came; worlds have their numbers in the batch."""
    model = job.model
    return [
        Failure(
            world=job.numbers[event.world] if event.world >= 0 else event.world,
            step=event.step,
            time=event.time,
            code=event.code,
            body=model.bodies.name[event.body] if event.body >= 0 else "",
            joint=model.joints.name[event.joint] if event.joint >= 0 else "",
            text=event.text,
        )
        for event in sorted(events, key=lambda event: (event.step, event.world))
        if event.severity >= _ERROR
    ]


def _warnings(events: list[Event]) -> Counter[str]:
    """Warnings among events, by code."""
    return Counter(event.code for event in events if event.severity == _WARNING)


def _judge(job: Job) -> "list[Verdict]":
    from simcli.analysis.expectations import judge
    from simcli.records.reading.reader import open_trajectory

    with open_trajectory(job.output) as trajectory:
        return judge(job.spec.expect, trajectory, job.schedule.dt, job.numbers)


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


def claim_space(job: Job) -> int:
    """Refuse to start a run whose file will not fit, unless `force` is given.

    Returns:
        [B], about what the file will take.

    Raises:
        OutputError: with what is needed and what is free.
    """
    from simcli.analysis.estimate import estimate, free_bytes

    needed = estimate(job.spec, job.model, job.schedule, job.channels)["file_bytes"]
    free = free_bytes(job.output)
    if needed > free and not job.request.force:
        sizes = f"needs about {needed / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free there"
        way_out = "take fewer worlds or frames (output.every, output.channels), or --force to start all the same"
        raise OutputError(f"{job.output}: {sizes}; {way_out}")
    return needed


def _circumstances(job: Job, device) -> dict[str, Any]:
    """What must be the same for a run to go on to the same bytes, see `records.going_on.checkpoint`."""
    from simcli.records.contents.provenance import sha256, versions
    from simcli.records.going_on.checkpoint import code_digest

    kept = {name: version for name, version in versions().items() if name in ("simcli", "taichi")}
    worlds = None if job.request.worlds is None else list(job.request.worlds)
    return {"scene": sha256(job.resolved), "worlds": worlds, "device": f"{device.arch}: {device.name}",
            "precision": device.precision, "lanes": device.lanes, "code": code_digest(), **kept}  # fmt: skip


def _provenance(job: Job, device):
    from simcli.records.contents.provenance import collect
    from simcli.spec.checks.references import file_contents

    files = file_contents(job.document, job.spec)
    where = f"{device.arch}: {device.name}" + (f", {device.threads} threads" if device.threads else "")
    return collect(
        job.document.sources, job.resolved, where, device.precision, job.spec.batch.seed,
        job.request.argv or None, overrides=job.document.overrides, worlds=job.request.worlds, files=tuple(files.items()),
    )  # fmt: skip


def _facts(device) -> dict[str, Any]:
    return {"arch": device.arch, "name": device.name, "precision": device.precision, "lanes": device.lanes,
            "threads": device.threads}  # fmt: skip


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
