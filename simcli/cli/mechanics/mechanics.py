"""What the commands fk, ik, id, mass-matrix and jacobian share: their options, and the way from states to results."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag, SetValues, existing_file, output_option, parse_worlds
from simcli.errors import Exit, OutputError, UsageError

if TYPE_CHECKING:
    from simcli.analysis.mechanics.tasks import Task

_PORTION_BYTES = 64 * 2**20  # of inputs and results in memory at once
PORTION_STATES = 1 << 16
_TEXT, CSV, JSON, HDF5 = "text", "csv", "json", "hdf5"  # of files, or what stdout gets
_FORMATS = {".csv": CSV, ".json": JSON, ".h5": HDF5, ".hdf5": HDF5}

DeviceName = Annotated[str, typer.Option("--device", help="auto, cpu or cuda; always in float64.")]
ThreadCount = Annotated[int | None, typer.Option("--threads", metavar="N", min=1, help="CPU threads. Default: all.")]


class Flags(StrEnum):
    """Kinds of bodies, as `model.batch.selection.BodyFlags` names them."""

    dynamic = "dynamic"
    kinematic = "kinematic"
    all = "all"


Differentiate = Annotated[
    Literal["spline", "cubic"] | None,
    typer.Option(
        "--differentiate", help="Take missing rates and accelerations from q over time.", show_default="they are zero"
    ),
]
BodyFlag = Annotated[Flags, typer.Option("--body-flags", help="Only bodies of this kind; joints that place them.")]


@dataclass(frozen=True)
class Ask:
    """The options that the commands share, as given, in the order of their help: those of a command come before `sets`."""

    scene: Annotated[
        Path,
        typer.Argument(
            metavar="SCENE",
            help="Scene (YAML), or a run or result (HDF5): the scene in it, and its states.",
            callback=existing_file,
            show_default=False,
        ),
    ]
    states: Annotated[
        Path | None,
        typer.Option(
            "--states",
            metavar="FILE",
            help="States: a run or a result of these commands (HDF5), or a CSV table with the columns of `simcli export`.",
            callback=existing_file,
            show_default="those of a run, else the initial state",
        ),
    ] = None
    q: Annotated[
        list[str],
        typer.Option(
            "--q", metavar="VALUES", help="Joint coordinates in place of the initial: all numbers, or NAME=NUMBERS."
        ),
    ] = field(default_factory=list)
    qd: Annotated[list[str], typer.Option("--qd", metavar="VALUES", help="Joint velocities, likewise.")] = field(
        default_factory=list
    )
    qdd: Annotated[list[str], typer.Option("--qdd", metavar="VALUES", help="Joint accelerations, likewise.")] = field(
        default_factory=list
    )
    frames: Annotated[
        str | None,
        typer.Option("--frames", metavar="A:B:C", help="Frames (rows of a table), as 10:20, ::100 or -1. Default: all."),
    ] = None
    at: Annotated[
        list[str], typer.Option("--at", metavar="T", help="The frame at this time, 0.5 or '5 ms'. Repeatable.")
    ] = field(default_factory=list)
    world: Annotated[
        str | None, typer.Option("--world", metavar="I,J", help="Worlds, as 3 or 0,4 or 0-7. Default: all.")
    ] = None
    sets: SetValues = field(default_factory=list)
    output: Annotated[
        Path | None,
        output_option("Write .h5, .csv or .json.", metavar="FILE", show_default="a table on stdout"),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Replace an existing output.")] = False
    device: DeviceName = "auto"
    threads: ThreadCount = None
    json: JsonFlag = False

    @property
    def given(self) -> dict[str, list[str]]:
        """Fields of a state to the texts of the options that give them."""
        return {"joint_q": self.q, "joint_qd": self.qd, "joint_qdd": self.qdd}

    @property
    def format(self) -> str:
        """What is written."""
        if self.output is None:
            return JSON if self.json else _TEXT
        return _FORMATS[self.output.suffix]


def on_states(*coordinates: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A command that takes an `Ask` and options of its own, as Typer wants it: with the options of both.

    Args:
        *coordinates: those of q, qd and qdd that the command takes.
    """
    left_out = {"q", "qd", "qdd"} - set(coordinates)
    shared = [one for one in signature(Ask).parameters.values() if one.name not in left_out]
    # Typer knows no factories of defaults.
    shared = [one.replace(default=[]) if get_args(one.annotation)[0] == list[str] else one for one in shared]

    def with_shared(command: Callable[..., int]) -> Callable[..., int]:
        own = list(signature(command).parameters.values())[1:]

        @wraps(command)
        def run(**options: Any) -> int:
            ask = Ask(**{one.name: options.pop(one.name) for one in shared})
            return command(ask, **options)

        place = next(k for k, one in enumerate(shared) if one.name == "sets")
        run.__signature__ = Signature([*shared[:place], *own, *shared[place:]])  # type: ignore[attr-defined]
        return run

    return with_shared


@dataclass
class _Report:
    """What is said of a result in the end.

    Attributes:
        scene: its name.
        n_states: states computed, or rows of these.
        n_asked: states that were asked for.
        notes: lines for people.
        warnings: what is not as it should be, likewise.
        facts: numbers that go with the result, for the JSON document.
        body: the table or the fields, if they go to stdout.
        has_contacts: whether shapes of the mechanism can touch.
    """

    scene: str
    n_states: int = 0
    n_asked: int = 0
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    has_contacts: bool = False


_Look = Callable[[Any, dict], None]  # sees the states and the results of each portion


def perform(ask: Ask, task: "Task", look: _Look | None = None, differentiate: str | None = None) -> _Report:
    """Read, compute and write.

    Args:
        ask: the options.
        task: what is computed.
        look: sees every portion before it is written.
        differentiate: the spline that gives the rates and accelerations which a table lacks.
    """
    from simcli.analysis.mechanics.state_sources import prepare_states

    def prepare(subject, choice):
        return task, prepare_states(subject, ask.states, choice, ask.given, task, differentiate)

    return perform_prepared(ask, prepare, look, task.kind == "id", task.needs_shapes)[1]


def perform_prepared(
    ask: Ask, prepare: Callable, look: _Look | None = None, needs_forces: bool = False, needs_shapes: bool = False
):
    """Compute and write what is found once the scene has been read.

    Args:
        ask: the options.
        prepare: gives the task and its states, of the mechanism and of the choice among states.
        look: sees every portion before it is written.
        needs_forces: False if only the mechanism matters.
        needs_shapes: whether the shapes of a run matter.

    Returns:
        The task, and the report.
    """
    from simcli.analysis.states.subject import open_subject

    choice = choice_of(ask)
    claim(ask)
    with ExitStack() as files:
        subject = open_subject(ask.scene, ask.sets, needs_forces, needs_shapes)
        if subject.file is not None:
            files.enter_context(subject.file)
        _spare_read(ask, subject)
        task, ready = prepare(subject, choice)
        if ready.file is not None:
            files.enter_context(ready.file)
        report = _Report(subject.spec.name, notes=ready.source.notes)
        with console.stdout_kept_clean():
            _compute(ask, subject, ready, task, look, report)
    return task, report


def _spare_read(ask: Ask, subject) -> None:
    """Refuse to replace a file that the scene reads, or read when it ran."""
    from simcli.records.drafts import refuse_overwrite

    if ask.output is not None:
        kept = () if subject.file is None else subject.file.provenance.files
        refuse_overwrite(ask.output, subject.document.inputs, [checksum for _, checksum, _ in kept])


def _compute(ask: Ask, subject, ready, task: "Task", look: _Look | None, report: _Report) -> None:
    from simcli.analysis.mechanics.rounds import Mechanics
    from simcli.analysis.mechanics.state_sources import renumbered
    from simcli.analysis.mechanics.task_results import OpenLoops
    from simcli.analysis.mechanics.tasks import width
    from simcli.analysis.states.run_states import RunStates
    from simcli.cli.mechanics.result_sinks import sink_of
    from simcli.kernels.device.runtime import start_device
    from simcli.solvers.tree.inverse import algorithms_of

    device = start_device(ask.device, "float64", ask.threads)
    solver = ready.source.goes_back if isinstance(ready.source, RunStates) else ""
    algorithms = algorithms_of(solver) if solver else task.algorithms(ready.model)
    mechanics = Mechanics(task.fitted(ready.model), device, algorithms)
    axes = task.axes(ready.model)
    if solver:
        ready.source.mechanics = mechanics
    loops = None if isinstance(ready.source, RunStates) else OpenLoops(ready.model)  # a run has kept its loops closed
    portion = max(min(_PORTION_BYTES // (8 * max(width(task, axes), 1)), PORTION_STATES), 1)
    with sink_of(ask.output, ask.format, subject, ready, task, axes, device) as sink:
        for states in ready.source.portions(portion):
            found = task(mechanics, states, ready.seats[states.world])
            report.n_asked += len(states)
            states = states.pick(found.pop("row", slice(None)))
            if look:
                look(states, found)
            if loops:
                loops.look(states, ready.seats[states.world], found)
            sink.put(renumbered(states, ready.numbers), found)
            report.n_states += len(states)
    mechanics.close()
    if loops and loops.facts:
        report.warnings.append(loops.words)
        report.facts |= loops.facts
    report.body, report.has_contacts = getattr(sink, "body", None), _has_contacts(subject.spec)
    if ready.source.n_ended:
        states = console.plural(report.n_states, "state")
        report.notes.append(f"{ready.source.n_ended} of {states} belong to worlds that had ended: they have no result")


def _has_contacts(spec) -> bool:
    """Whether shapes of two bodies, or of one and the world, can touch; the models of runs have no shapes here."""
    owners = (spec.world, *spec.bodies.values())
    return spec.contact.enabled and sum(any(shape.collide for shape in owner.shapes.values()) for owner in owners) > 1


def choice_of(ask: Ask):
    """Frames, times and worlds that are wanted.

    Raises:
        UsageError: one of them is no such thing.
    """
    from simcli.analysis.states.portions import Choice
    from simcli.spec.values.units import UnitError, to_si

    times = []
    for word in ask.at:
        try:
            times.append(float(word))
        except ValueError:
            try:
                times.append(to_si(word, "s"))
            except UnitError as error:
                raise UsageError(f"--at {word}: {error}") from None
    return Choice(ask.frames, tuple(times), None if ask.world is None else tuple(parse_worlds(ask.world)))


def claim(ask: Ask) -> None:
    """Refuse an output that cannot be meant, before anything is computed.

    Raises:
        UsageError: its name says no format, or it is one of the inputs.
        OutputError: it exists.
    """
    from simcli.records.drafts import claim_path, refuse_overwrite
    from simcli.records.lock import is_being_written
    from simcli.records.writing.continuation import claim_output

    path = ask.output
    if path is None:
        return
    if path.suffix not in _FORMATS:
        raise UsageError(f"-o {path}: write a name that ends in .h5, .csv or .json")
    refuse_overwrite(path, [given for given in (ask.scene, ask.states) if given is not None])
    if ask.format == HDF5:
        claim_output(path, ask.force)
        if is_being_written(path):
            raise OutputError(f"{path}: another simcli writes this file; choose another -o")
    else:
        claim_path(path, ask.force)


def conclude(ask: Ask, task: "Task", report: _Report) -> None:
    """Say what came out: the result itself on stdout if it went to no file."""
    for note in report.notes:
        console.note(note)
    for warning in report.warnings:
        console.warn(warning)
    facts, what = (
        {"scene": report.scene, "states": report.n_states, **report.facts},
        console.plural(report.n_states, "state"),
    )
    if task.rows:
        facts |= {"states": report.n_asked, f"{task.rows}s": report.n_states}
        what = f"{console.plural(report.n_states, task.rows)} of {console.plural(report.n_asked, 'state')}"
    if ask.output is not None:
        console.say(f"wrote {ask.output} ({what})")
        if ask.json:
            console.emit(task.kind, {"path": ask.output, **facts})
    elif ask.json:
        console.emit(task.kind, {**facts, **report.body})
    else:
        console.data(report.body)


def give_answer(ask: Ask, task: "Task", differentiate: str | None = None) -> int:
    """Compute, and say what came out; the exit code."""
    conclude(ask, task, perform(ask, task, differentiate=differentiate))
    return Exit.OK
