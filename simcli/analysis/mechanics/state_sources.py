"""From a mechanism and a file of states to what is computed with: the model, the states, and which world each one has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simcli.analysis.mechanics.tasks import Task
from simcli.analysis.states.differentiate import differentiated, note_missing
from simcli.analysis.states.given import with_given
from simcli.analysis.states.portions import (
    Choice,
    Held,
    States,
    StateSource,
    chosen_states,
    initial_states,
    of_world,
)
from simcli.analysis.states.run_states import LEAN_CHANNELS, RunStates
from simcli.analysis.states.state_tables import check_coordinates, read_results, read_state_csv
from simcli.analysis.states.subject import (
    Subject,
    check_mechanism_names,
    differing,
    of_one_world,
    scene_of,
    worlds_of_run,
)
from simcli.errors import UsageError
from simcli.model.tables.model import Model
from simcli.model.tables.signal_tables import Driven, Inputs
from simcli.records.hdf5_bytes import is_hdf5
from simcli.records.reading.reader import Trajectory
from simcli.records.reading.result_reader import Results, open_any
from simcli.spec import SceneSpec

SIGNAL_PATHS = ("params.", "signals.", "forces.")  # parameters that may change what a signal does


@dataclass(frozen=True)
class Prepared:
    """Everything that a task needs.

    Attributes:
        model: of one world, or of all that the states have.
        source: the states.
        seats: world of the model for each world of the source, (n_worlds,).
        numbers: the number that each world of the source has in the batch, (n_worlds,).
        file: a file of states that was opened and that the caller closes, or None.
    """

    model: Model
    source: StateSource
    seats: np.ndarray
    numbers: np.ndarray
    file: Trajectory | Results | None = None


def prepare_states(
    subject: Subject,
    path: Path | None,
    choice: Choice,
    given: Mapping[str, Sequence[str]],
    task: Task,
    differentiate: str | None = None,
) -> Prepared:
    """Find the states and build the model that they need.

    Args:
        subject: the mechanism.
        path: file of states: a run, a result, a CSV table; None for those of the subject itself.
        choice: which of them.
        given: joint_q, joint_qd, joint_qdd as texts of the command line, which take the place of a file.
        task: what will be computed.
        differentiate: the spline that gives the rates and accelerations which a table lacks, of `SPLINES`.

    Raises:
        UsageError: the states are not of this mechanism, or there are none like those asked for.
        FileError: a file is damaged; with the line of a table.
        SceneError: the scene makes no mechanism.
    """
    is_given = any(given.values())
    if is_given and path is not None:
        raise UsageError("--states and --q, --qd, --qdd contradict each other: give one of them")
    if is_given and task.start == "body":
        raise UsageError("--q, --qd, --qdd are joint states; poses of bodies are given with --states, or some with --target")
    file = open_any(path) if path is not None and is_hdf5(path) else None
    if differentiate and (path is None or isinstance(file, Trajectory)):
        raise UsageError(
            "--differentiate is for tables of states: a run holds its rates and accelerations, and a single "
            "state has no neighbours in time"
        )
    own = subject.file if path is None and not is_given else None
    try:
        ready = _prepare(subject, path, file or own, choice, given, task, differentiate)
    except BaseException:
        if file is not None:
            file.close()
        raise
    if "recorded_effort" in task.outputs:
        _check_compared(subject, ready.source)
    return replace(ready, file=file)


def _check_compared(subject: Subject, source: StateSource) -> None:
    """Refuse a comparison with nothing; warn of one with states of other instants."""
    if "recorded_effort" not in source.fields:
        raise UsageError(f"--compare: {source.where} holds no recorded efforts")
    if isinstance(source, Held) and subject.spec.solver.integrator == "semi_implicit":
        source.notes.append(
            f"{source.where}: rows are taken as they stand; those of a semi_implicit run hold accelerations "
            "and efforts of the start of their step: give the run itself"
        )


def _prepare(
    subject: Subject,
    path: Path | None,
    file: Trajectory | Results | None,
    choice: Choice,
    given: Mapping[str, Sequence[str]],
    task: Task,
    differentiate: str | None,
) -> Prepared:
    if isinstance(file, Trajectory):
        return _of_run(subject, file, choice, task)
    if file is None and path is None:
        return _of_scene(subject, choice, given, task)
    names = subject.build(0)
    task.wants(names, None)
    held = read_state_csv(path, names, task.start) if file is None else read_results(file, names, task.start)
    held, choice = of_world(held, choice, subject.n_worlds)
    ready = states_of_table(subject, chosen_states(held, Choice(worlds=choice.worlds)))
    source = ready.source
    if differentiate:
        source = differentiated(source, ready.model, ready.seats, differentiate)
    elif "joint_qdd" in task.inputs:
        note_missing(source)
    return replace(ready, source=chosen_states(source, replace(choice, worlds=None)))


def build_for(subject: Subject, worlds: np.ndarray) -> tuple[Model, np.ndarray]:
    """The model of some worlds of a batch, and its world for each world of the batch, (n_worlds,)."""
    if len(np.unique(worlds)) == 1:
        return subject.build(int(worlds[0])), np.zeros(subject.n_worlds, np.int64)
    model = of_one_world(subject.build())
    return model, np.arange(subject.n_worlds) if model.n_worlds > 1 else np.zeros(subject.n_worlds, np.int64)


def _of_scene(subject: Subject, choice: Choice, given: Mapping[str, Sequence[str]], task: Task) -> Prepared:
    """The initial states of the worlds, with what the command line says of them."""
    if choice.frames is not None or choice.at:
        raise UsageError("--frames and --at choose among the states of a file: give one with --states")
    if task.start == "body":
        raise UsageError(
            "this command starts from poses of bodies: give a run, or a table of poses with --states, or targets of some "
            "bodies with --target"
        )
    where, n = str(subject.path), subject.n_worlds
    worlds = choice.of_worlds(n, where)
    model = subject.build(int(worlds[0])) if len(worlds) == 1 else subject.build()
    task.wants(model, None)
    rows = model if len(worlds) == 1 else _rows(model, worlds)
    source = with_given(initial_states(rows.joint_q, rows.joint_qd, worlds, where, n), model, given)
    check_coordinates(dict(source.states.values), model, lambda row: "--q", UsageError)
    if model.n_worlds > 1:
        model = of_one_world(model)
    seats = np.arange(n) if model.n_worlds > 1 else np.zeros(n, np.int64)
    return Prepared(model, source, seats, np.arange(n))


def _rows(model: Model, worlds: np.ndarray) -> Model:
    """The model with the initial states of some of its worlds only."""
    rows = {name: getattr(model, name) for name in ("joint_q", "joint_qd")}
    return replace(model, **{name: a[worlds] if len(a) > 1 else a for name, a in rows.items()})


def states_of_table(subject: Subject, held: Held) -> Prepared:
    """States of a CSV table or a result."""
    states, n = held.states, subject.n_worlds
    if n == 1:
        count = int(states.world.max(initial=0)) + 1
        return Prepared(subject.build(0), held, np.zeros(count, np.int64), np.arange(count))
    if len(states) and states.world.max() >= n:
        raise UsageError(f"{held.where}: holds world {states.world.max()}, but the scene has worlds 0 to {n - 1}")
    model, seats = build_for(subject, np.unique(states.world))
    return Prepared(model, held, seats, np.arange(n))


def _of_run(subject: Subject, run: Trajectory, choice: Choice, task: Task) -> Prepared:
    """Frames of a run."""
    mine = worlds_of_run(subject, run)
    wanted = choice.of_worlds(run.n_worlds, run.path)
    model, seats_of_batch = build_for(subject, mine[wanted])
    check_mechanism_names(model, run)
    seats, notes = seats_of_batch[mine], []
    names = []
    if run is not subject.file:
        names = differing(model, seats, wanted, run)
        names += [name for name in ("signals", "events") if getattr(scene_of(run)[1], name) != getattr(subject.spec, name)]
    if names:
        notes.append(f"{run.path} was made with other numbers ({', '.join(names[:6])}); those of {subject.path} are used")
    wants, dt, goes_back = task.wants(model, run), 0.0, ""
    if "joint_qdd" in wants and task.balances:
        spec = scene_of(run)[1]
        dt, goes_back = spec.solver.dt, spec.solver.type if spec.solver.integrator == "semi_implicit" else ""
        _check_inputs(subject, run, spec, model.inputs, choice)
    numbers = np.arange(run.n_worlds) if subject.n_worlds == 1 else mine
    return Prepared(model, RunStates(run, choice, wants, model, seats, dt, goes_back, notes), seats, numbers)


def _check_inputs(subject: Subject, run: Trajectory, spec: SceneSpec, inputs: Inputs, choice: Choice) -> None:
    """Refuse what the file does not know of the forces in a run: signals that differ between worlds, events.

    Raises:
        UsageError: with what to do instead.
    """
    follows = np.isin(inputs.column, (Driven.WRENCH_FORCE, Driven.WRENCH_TORQUE)).any()
    if follows and run is subject.file and any(name.startswith(SIGNAL_PATHS) for name in run.params):
        raise UsageError(
            f"{run.path}: its wrenches follow signals, and the file does not say how these differ between the "
            f"worlds: give the scene too: SCENE --states {run.path}"
        )
    if any(event.when for event in spec.events):
        raise UsageError(
            f"{run.path}: its events by condition come at times of their own in each world, and no frame says "
            "which forces act after them"
        )
    first = min((event.at for event in spec.events), default=np.inf)
    late = run.time[choice.of_times(run.time, run.path)] > first + LEAN_CHANNELS * spec.solver.dt
    if late.any():
        raise UsageError(
            f"{run.path}: an event at {first:g} s changes the mechanism; choose frames up to there, with --frames or --at"
        )


def renumbered(states: States, numbers: np.ndarray) -> States:
    """States with the numbers that their worlds have in the batch."""
    return States(states.time, numbers[states.world], states.frame, states.values)
