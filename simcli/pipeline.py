"""One run as a paragraph: text -> spec -> model -> solver -> recorder -> verdicts.

Comes in: a `Request` (what was asked for on the command line or from Python). Goes out: an `Outcome` and the HDF5 file.
Never found here: physics, printing, signals. Who watches a run gives a function that sees every `Tick` and says stop.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simcli.errors import OutputError, SceneError, UsageError
from simcli.model.snapshot import FrameBlock, Status

if TYPE_CHECKING:
    from simcli.analysis.expectations import Verdict
    from simcli.model.tables import Model
    from simcli.spec import Document, SceneSpec

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
ERROR = 2  # severity of an event that is a failure


@dataclass(frozen=True)
class Request:
    """What to run.

    Attributes:
        scene: path of the scene file.
        output: path of the HDF5 file; None for outputs/NAME.h5.
        sets: overrides of the document, as `solver.dt=1e-4`.
        device: auto, cpu, cuda, vulkan or metal.
        threads: CPU threads, None for all.
        world: replay this world of the batch alone; None runs all.
        force: replace an existing output.
        argv: command line, recorded with the result.
    """

    scene: Path
    output: Path | None = None
    sets: tuple[str, ...] = ()
    device: str = "auto"
    threads: int | None = None
    world: int | None = None
    force: bool = False
    argv: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schedule:
    """When frames are taken.

    Attributes:
        dt: [s], step.
        steps_per_frame: steps between two frames.
        n_frames: frames after frame 0.
    """

    dt: float
    steps_per_frame: int
    n_frames: int

    @property
    def n_steps(self) -> int:
        """Steps of a whole run."""
        return self.n_frames * self.steps_per_frame


@dataclass(frozen=True)
class Job:
    """A request that has been read, checked and turned into numbers; nothing has touched a device yet.

    Attributes:
        request: what was asked for.
        document: the scene's text with its marks.
        spec: its meaning.
        model: its numbers, W worlds (one if a world is replayed).
        schedule: steps and frames.
        channels: groups of /frames and their like that will be written.
        output: path of the file to write.
        started: [s], clock at the start of reading.
    """

    request: Request
    document: "Document"
    spec: "SceneSpec"
    model: "Model"
    schedule: Schedule
    channels: frozenset[str]
    output: Path
    started: float


@dataclass(frozen=True)
class Tick:
    """Where a run stands.

    Attributes:
        stage: compiling, stepping.
        frames: frames computed, frame 0 not counted.
        n_frames: frames in all.
        time: [s], simulated.
        steps: world-steps done.
        rate: [1/s], world-steps per second of stepping and writing, 0 before the first block.
        n_bytes: size of the file so far.
    """

    stage: str
    frames: int
    n_frames: int
    time: float
    steps: int
    rate: float
    n_bytes: int

    @property
    def fraction(self) -> float:
        """Part of the frames that is done."""
        return self.frames / self.n_frames if self.n_frames else 1.0

    @property
    def seconds_left(self) -> float:
        """[s], NaN before there is a rate."""
        if not self.rate or not self.frames:
            return float("nan")
        return self.steps / self.frames * (self.n_frames - self.frames) / self.rate


@dataclass(frozen=True)
class Failure:
    """A world that failed.

    Attributes:
        world: its number in the batch.
        step: step count at the failure.
        time: [s].
        code: fault code, as SC601.
        body: name of the body, "" if none is to blame.
        joint: name of the joint, likewise.
        text: reason, one line.
    """

    world: int
    step: int
    time: float
    code: str
    body: str
    joint: str
    text: str


@dataclass
class Outcome:
    """What a run came to.

    Attributes:
        output: the HDF5 file.
        status: done, stopped (asked to) or failed (on_failure: stop).
        n_worlds: worlds run.
        n_steps: steps of each world.
        n_frames: frames written, frame 0 counted.
        wall: [s], whole run, reading included.
        compile: [s], compiling kernels.
        stepping: [s], stepping and writing, compiling left out.
        device: what it ran on.
        failures: worlds that failed, in order.
        n_stopped: worlds that met run.stop_when.
        verdicts: the expectations, one by one.
        n_bytes: size of the file.
    """

    output: Path
    status: str = "done"
    n_worlds: int = 0
    n_steps: int = 0
    n_frames: int = 0
    wall: float = 0.0
    compile: float = 0.0
    stepping: float = 0.0
    device: dict[str, Any] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    n_stopped: int = 0
    verdicts: "list[Verdict]" = field(default_factory=list)
    n_bytes: int = 0

    @property
    def rate(self) -> float:
        """[1/s], world-steps per second of stepping and writing."""
        return self.n_worlds * self.n_steps / self.stepping if self.stepping > 0 else 0.0


Watch = Callable[[Tick], bool]


def keep_going(tick: Tick) -> bool:
    """Watch nothing, stop never."""
    return True


def read_scene(path: Path, sets: Sequence[str] = ()) -> "tuple[Document, SceneSpec]":
    """Read a scene with overrides and give it its meaning.

    Raises:
        SceneError: with every fault.
    """
    from simcli.spec import load_document, resolve

    document = load_document(path, sets)
    return document, resolve(document)


def build_model(document: "Document", spec: "SceneSpec", world: int | None = 0) -> "Model":
    """Turn a scene into numbers: all worlds of its batch for None, else one of them alone.

    Raises:
        SceneError: the scene makes no mechanism.
    """
    from simcli.model import build_worlds

    try:
        return build_worlds(document, spec, world)
    except SceneError as error:
        error.document = document  # for the snippets
        raise


def prepare(request: Request) -> Job:
    """Read, check and build; touches no device and writes nothing.

    Raises:
        SceneError: the scene or an override is invalid.
        UsageError: the world to replay does not exist.
    """
    from simcli.analysis.expectations import channels_needed
    from simcli.spec import n_worlds

    started = time.perf_counter()
    document, spec = read_scene(request.scene, request.sets)
    if request.world is not None and request.world >= n_worlds(spec):
        raise UsageError(f"--world {request.world}: the batch has worlds 0 to {n_worlds(spec) - 1}")
    model = build_model(document, spec, request.world)
    channels = frozenset(spec.output.channels) | channels_needed(spec.expect)
    output = request.output or default_output(spec.name, request.world)
    return Job(request, document, spec, model, schedule_of(spec), channels, output, started)


def execute(job: Job, watch: Watch = keep_going) -> Outcome:
    """Run a job: start the device, step, record, judge.

    Args:
        job: from `prepare`.
        watch: sees every Tick; its False stops the run at the next block, with a file that opens.

    Raises:
        OutputError: the output exists, or cannot be written.
        DeviceError: the device is missing.
    """
    from simcli.kernels.runtime import start_device
    from simcli.records.select import selection
    from simcli.records.writer import Recorder
    from simcli.solvers import SOLVERS, RunPlan

    claim_output(job.output, job.request.force)
    claim_space(job)
    spec, model, schedule = job.spec, job.model, job.schedule
    device = start_device(job.request.device, spec.solver.precision, job.request.threads)
    plan = RunPlan(schedule.dt, schedule.steps_per_frame, schedule.n_frames, job.channels, stop_when(spec, model))
    solver = SOLVERS[spec.solver.type](model, spec.solver, plan, device)
    outcome = Outcome(job.output, n_worlds=model.n_worlds, device=_facts(device))
    recorder = Recorder(
        job.output, model, _provenance(job, device), job.channels, schedule.n_frames + 1,
        dtype=spec.output.dtype, title=spec.name, axes=selection(model, spec.output.select or ()),
    )  # fmt: skip
    clock = time.perf_counter()
    with recorder:
        _step_all(job, solver, recorder, watch, outcome)
        recorder.close(outcome.status)
    outcome.compile = solver.compile_seconds
    outcome.stepping = max(time.perf_counter() - clock - outcome.compile, 0.0)
    outcome.n_stopped = int(sum(status == Status.STOPPED for status in solver.status.tolist()))
    outcome.n_bytes = job.output.stat().st_size
    if outcome.status == "done" and spec.expect:
        outcome.verdicts = _judge(job)
    outcome.wall = time.perf_counter() - job.started
    return outcome


def _step_all(job: Job, solver, recorder, watch: Watch, outcome: Outcome) -> None:
    """Advance block by block until the end, a failure that stops, or a watcher that has seen enough."""
    schedule, n_worlds = job.schedule, job.model.n_worlds
    stop_at_failure = job.spec.run.on_failure == "stop"
    clock = time.perf_counter()

    def record(block: FrameBlock) -> bool:
        recorder.put(block)
        outcome.n_frames += len(block.step)
        outcome.n_steps = int(block.step[-1])
        outcome.failures += _failures(block, job)
        stepping = time.perf_counter() - clock - solver.compile_seconds
        steps = outcome.n_steps * n_worlds
        rate = steps / stepping if stepping > 0 else 0.0
        now = Tick("stepping", outcome.n_frames - 1, schedule.n_frames, outcome.n_steps * schedule.dt, steps, rate,
                   _size(job.output))  # fmt: skip
        return watch(now)

    watch(Tick("compiling", 0, schedule.n_frames, 0.0, 0, 0.0, 0))
    going = record(solver.initial())
    while going and outcome.n_frames <= schedule.n_frames:
        if stop_at_failure and outcome.failures:
            outcome.status = "failed"
            return
        left = schedule.n_frames + 1 - outcome.n_frames
        going = record(solver.advance(min(solver.suggest_frames(), recorder.frames_wanted, left)))
    if stop_at_failure and outcome.failures:
        outcome.status = "failed"
    elif outcome.n_frames <= schedule.n_frames:
        outcome.status = "stopped"


def _failures(block: FrameBlock, job: Job) -> list[Failure]:
    """Failures among the events of a block, as they came; a replayed world keeps its number in the batch."""
    model, first = job.model, job.request.world or 0
    return [
        Failure(
            world=event.world + first,
            step=event.step,
            time=event.time,
            code=event.code,
            body=model.bodies.name[event.body] if event.body >= 0 else "",
            joint=model.joints.name[event.joint] if event.joint >= 0 else "",
            text=event.text,
        )
        for event in sorted(block.events, key=lambda event: (event.step, event.world))
        if event.severity >= ERROR
    ]


def _judge(job: Job) -> "list[Verdict]":
    from simcli.analysis.expectations import judge
    from simcli.records.reader import open_trajectory

    first = job.request.world
    numbers = range(job.model.n_worlds) if first is None else (first,)
    with open_trajectory(job.output) as trajectory:
        return judge(job.spec.expect, trajectory, job.schedule.dt, numbers)


def schedule_of(spec: "SceneSpec") -> Schedule:
    """Whole numbers of steps and frames; that both are multiples of dt has been checked with the scene.

    A duration that is no multiple of `output.every` ends with the last frame that fits.
    """
    dt = spec.solver.dt
    steps_per_frame = max(round(spec.output.every / dt), 1)
    return Schedule(dt, steps_per_frame, round(spec.run.duration / dt) // steps_per_frame)


def stop_when(spec: "SceneSpec", model: "Model"):
    """The end condition of a world, by index; None if the scene has none."""
    from simcli.solvers.plan import StopWhen

    condition = spec.run.stop_when
    if condition is None:
        return None
    on_rate = condition.quantity == "joint_qd"
    start = model.joints.qd_start if on_rate else model.joints.q_start
    index = int(start[model.joints.name.index(condition.joint)]) + condition.component
    above = float("inf") if condition.above is None else condition.above
    below = float("-inf") if condition.below is None else condition.below
    return StopWhen(on_rate, index, above, below)


def default_output(name: str, world: int | None) -> Path:
    """outputs/NAME.h5, or outputs/NAME-worldI.h5 for a replayed world."""
    return Path("outputs") / (f"{name}.h5" if world is None else f"{name}-world{world}.h5")


def claim_output(path: Path, force: bool) -> None:
    """Refuse to write over anything that is not meant to be replaced.

    Raises:
        OutputError: the file exists and `force` is not given, or it is no HDF5 file at all.
    """
    if not path.exists():
        return
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file with -o")
    with path.open("rb") as file:
        is_output = file.read(len(HDF5_MAGIC)) == HDF5_MAGIC
    if not is_output:
        raise OutputError(f"{path}: exists and is no HDF5 file, so it will not be replaced; choose another -o")
    if not force:
        raise OutputError(f"{path}: exists; add --force to replace it, or choose another file with -o")


def claim_space(job: Job) -> None:
    """Refuse to start a run whose file will not fit, unless `force` is given.

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


def _provenance(job: Job, device):
    from simcli.records.provenance import collect
    from simcli.spec import resolved_yaml

    where = f"{device.arch}: {device.name}" + (f", {device.threads} threads" if device.threads else "")
    return collect(
        job.document.sources, resolved_yaml(job.spec), where, device.precision, job.spec.batch.seed,
        job.request.argv or None,
    )  # fmt: skip


def _facts(device) -> dict[str, Any]:
    return {"arch": device.arch, "name": device.name, "precision": device.precision, "lanes": device.lanes,
            "threads": device.threads}  # fmt: skip


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
