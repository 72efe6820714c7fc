"""What a run is asked for, what it is made of, how it stands, and what it comes to: data without behaviour."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simcli.analysis.drift import Drift
    from simcli.analysis.expectations import Verdict
    from simcli.model.measures import Measures
    from simcli.model.phases import Phase
    from simcli.model.snapshot import Unsolved
    from simcli.model.tables.model import Model
    from simcli.spec import Document, SceneSpec
    from simcli.spec.document.overrides import Override


@dataclass(frozen=True)
class Request:
    """What to run.

    Attributes:
        scene: path of the scene file.
        output: path of the HDF5 file; None for outputs/NAME.h5.
        sets: overrides of the document: `solver.dt=1e-4` as of `--set`, or values of other options.
        device: auto, cpu, cuda, vulkan or metal.
        threads: CPU threads, None for all.
        worlds: numbers of the worlds of the batch that are run; None runs all.
        tries_all: run worlds that cannot begin, as failed ones, also if there are no others; else the scene is refused.
        force: replace an existing output.
        resume: go on with an unfinished output of the same scene, to the bytes of an uninterrupted run.
        checkpoint_every: [s], wall time between checkpoints; None for the default.
        argv: command line, recorded with the result.
        leaves_at_once: whether the process of the run is left by `os._exit`, whatever happens.
    """

    scene: Path
    output: Path | None = None
    sets: "tuple[str | Override, ...]" = ()
    device: str = "auto"
    threads: int | None = None
    worlds: tuple[int, ...] | None = None
    tries_all: bool = False
    force: bool = False
    resume: bool = False
    checkpoint_every: float | None = None
    argv: tuple[str, ...] = ()
    leaves_at_once: bool = False


@dataclass(frozen=True)
class Schedule:
    """When frames are taken.

    Attributes:
        dt: [s], step.
        steps_per_frame: steps between two frames.
        n_frames: frames after frame 0.
        last_steps: steps before the last frame, 0 for as many as before the others.
    """

    dt: float
    steps_per_frame: int
    n_frames: int
    last_steps: int = 0

    @property
    def n_steps(self) -> int:
        """Steps of a whole run."""
        return self.n_frames * self.steps_per_frame - (self.steps_per_frame - self.last_steps if self.last_steps else 0)


@dataclass(frozen=True)
class Job:
    """A request that has been read, checked and turned into numbers; nothing has touched a device yet.

    Attributes:
        request: what was asked for.
        document: the scene's text with its marks.
        spec: its meaning.
        model: its numbers at the start, W worlds: those that are run.
        schedule: steps and frames.
        channels: groups of /frames and their like that will be written.
        output: path of the file to write.
        started: [s], clock at the start of reading.
        phases: what events change during the run, by rising step.
    """

    request: Request
    document: "Document"
    spec: "SceneSpec"
    model: "Model"
    schedule: Schedule
    channels: frozenset[str]
    output: Path
    started: float
    phases: "tuple[Phase, ...]" = ()

    @property
    def numbers(self) -> Sequence[int]:
        """Number in the batch of each world that is run, (W,)."""
        return range(self.model.n_worlds) if self.request.worlds is None else self.request.worlds

    @cached_property
    def recorded(self) -> tuple[str, ...]:
        """Quantities that frames hold besides their channels.

        They are those that the scene names, to be written or in what it expects; and the efforts of drives and motions,
        unless it says which are written.
        """
        from simcli.spec.base.channel_names import canonical, is_on_demand
        from simcli.spec.lookup.keys import written_quantities

        default = self.spec.output.quantities is None
        named = (*(self._driven() if default else written_quantities(self.spec)), *(one.channel for one in self.spec.expect))
        return tuple(dict.fromkeys(canonical(name) for name in named if is_on_demand(name)))

    def _driven(self) -> "Iterator[str]":
        """Efforts of the drives and motions of the joints that are written."""
        from simcli.model.joints.selection import choose_written

        output, joints = self.spec.output, self.model.joints
        if {"joints", "state"}.isdisjoint(self.channels):
            return
        kept = range(len(joints.name)) if output.select is None else choose_written(self.model, output.select)[0][1]
        for name in (joints.name[j] for j in kept):
            joint = self.spec.joints.get(name)
            if joint is not None and (any(joint.drive or ()) or any(joint.motion or ())):
                yield f"joint.{name}.drive_effort"

    @cached_property
    def measures(self) -> "Measures":
        """Quantities that are looked at: to end a world, to measure, to record."""
        from simcli.model.measure_rows import measures_of

        return measures_of(self.spec.measure, self.model, self.schedule.dt, self.spec.run.stop_when, self.recorded)

    @cached_property
    def resolved(self) -> str:
        """The scene without templates, expressions and units, as text."""
        from simcli.spec import resolved_yaml

        return resolved_yaml(self.spec)


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
        in_sub_batches: whether the file is that of a part, so that what stands at the output is older.
    """

    stage: str
    frames: int
    n_frames: int
    time: float
    steps: int
    rate: float
    n_bytes: int
    in_sub_batches: bool = False

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
        body: name of the body, "" if none is the cause.
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
        stepping: [s], stepping and writing; compiling and the making of the file are left out.
        closing: [s], of it, from the last step until the file is closed.
        device: what it ran on.
        failures: worlds that failed, in order.
        n_stopped: worlds that met run.stop_when.
        verdicts: the expectations, one by one.
        n_bytes: size of the file.
        first_frame: frames that were there already, of a run that was resumed.
        first_step: steps that were made already.
        n_events: events so far.
        warnings: events so far that are warnings, by code.
        problem: what went wrong beside the run, "" if nothing did.
        unsolved: steps that lack more than `run.on_unsolved` lets pass, None if there are none.
        unsolved_fails: whether these make the run a failed one.
        untrusted: worlds that have come to their end, but not to be trusted.
        ends: number of the step at which a world ended before the run, by world of the run.
        drift: the ledger of energy that is off by most of its world's energy, None if all of them close.
        kernels_compiled: names of the kernels that were compiled, in order.
        best_shown: command that shows most of the file: view, plot or table.
        kernels_from_cache: names of those that were read from the folder of compiled kernels.
        sub_batches: worlds of each, of a run whose worlds the memory of the device does not hold at once.
    """

    output: Path
    status: str = "done"
    n_worlds: int = 0
    n_steps: int = 0
    n_frames: int = 0
    wall: float = 0.0
    compile: float = 0.0
    stepping: float = 0.0
    closing: float = 0.0
    device: dict[str, Any] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    n_stopped: int = 0
    verdicts: "list[Verdict]" = field(default_factory=list)
    n_bytes: int = 0
    best_shown: str = "view"
    first_frame: int = 0
    first_step: int = 0
    n_events: int = 0
    warnings: Counter[str] = field(default_factory=Counter)
    problem: str = ""
    unsolved: "Unsolved | None" = None
    unsolved_fails: bool = False
    untrusted: list[Failure] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    drift: "Drift | None" = None
    kernels_compiled: list[str] = field(default_factory=list)
    kernels_from_cache: list[str] = field(default_factory=list)
    sub_batches: tuple[int, ...] = ()

    @property
    def rate(self) -> float:
        """[1/s], world-steps per second of stepping and writing."""
        return self.n_worlds * (self.n_steps - self.first_step) / self.stepping if self.stepping > 0 else 0.0

    @property
    def counts(self) -> tuple[int, int, int]:
        """Frames, steps and events so far."""
        return self.n_frames, self.n_steps, self.n_events


Watch = Callable[[Tick], bool]


def keep_going(tick: Tick) -> bool:
    """Watch nothing, stop never."""
    return True
