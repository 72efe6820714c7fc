"""The worlds of a simulation while it is open: what the calls of a program change, and what a recorded file says of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from os import PathLike
from uuid import uuid4

import numpy as np

from simcli.analysis.channels import COORDINATES, quantity_of
from simcli.analysis.mechanics.target_starts import SearchOptions
from simcli.analysis.mechanics.target_tasks import IkResult, solve_targets
from simcli.analysis.states.subject import of_one_world
from simcli.analysis.states.target_sets import targets_of_arrays
from simcli.analysis.worlds.measure_layouts import recorded_columns
from simcli.arguments import path_given, text_given, texts_of, whole_number
from simcli.errors import UsageError
from simcli.job import Failure, Job, Request
from simcli.model.phases import Phase, widened
from simcli.model.signals.controlled import with_controls
from simcli.model.snapshot import Event
from simcli.model.tables.model import Model
from simcli.pipeline.execution import solver_of
from simcli.pipeline.preparation import prepare
from simcli.pipeline.stepping import failures_among
from simcli.records.contents.layout import BODY_PLACES, DATASETS
from simcli.simulation.controls import Controls, joints_with_drives, known_joints
from simcli.simulation.parameters import Parameters
from simcli.simulation.process import MOST_THREADS, Hold, SignalsWait, device_for, forget_simulation
from simcli.simulation.recording import TOLD, OpenRecording, Snapshot, facts_of_job
from simcli.simulation.starts import (
    Starts,
    fitting_numbers,
    gives_all,
    mask_of_worlds,
    numbers_of_worlds,
    on_host_of,
    spread_of,
    weights_given,
)
from simcli.solvers.run.solver import MANY_STEPS
from simcli.solvers.run.stepwise import Stepwise
from simcli.spec.base.channel_names import CHANNEL_GROUPS, SCALARS, canonical, is_on_demand, split_name
from simcli.spec.document.overrides import Override
from simcli.spec.faults.synonyms import quantity_meant


class Places:
    """Where quantities stand in the columns of a frame.

    Args:
        job: of the simulation.
    """

    def __init__(self, job: Job):
        self._job, model = job, job.model
        self._names = {"joint": model.joints.name, "body": model.bodies.name, "point": model.points.name}
        self._known: dict[str, tuple[str, tuple]] = {}
        self._recorded = [
            quantity_of(label)
            for label, _ in recorded_columns(job.measures, job.recorded, job.model.joints, job.model.sensors)
        ]

    def knows(self, name: str) -> bool:
        """Whether frames hold a quantity because the scene names it."""
        return canonical(name) in self._recorded

    def find(self, name: str) -> tuple[str, tuple]:
        """The column, and the entries behind the axis of worlds.

        Raises:
            UsageError: there is no such quantity.
        """
        if name not in self._known:
            self._known[name] = self._find(canonical(name))
        return self._known[name]

    def _find(self, name: str) -> tuple[str, tuple]:
        if name in self._recorded:
            places = [k for k, one in enumerate(self._recorded) if one == name]
            whole = slice(places[0], places[-1] + 1)
            return "frames/quantity", (whole if len(places) > 1 or split_name(name).group == "joint" else places[0],)
        group, subject, quantity = split_name(name)
        if quantity in SCALARS.get(group, ()):
            return (f"energy/{quantity}" if group == "energy" else f"diag/{quantity}"), ()
        names = self._names.get(group, ())
        if subject not in names:
            raise self._unknown(name)
        k = names.index(subject)
        if group == "joint" and quantity in COORDINATES:
            start = getattr(self._job.model.joints, COORDINATES[quantity][0])
            return f"frames/joint_{quantity}", (slice(int(start[k]), int(start[k + 1])),)
        if group == "joint" and quantity == "wrench":
            return "frames/joint_wrench", (k,)
        if group == "body" and quantity in BODY_PLACES:
            path, entries = BODY_PLACES[quantity]
            return path, (k, entries)
        if group == "point" and quantity in CHANNEL_GROUPS["point"]:
            return f"frames/point/{subject}/{quantity}", ()
        raise self._unknown(name)

    def _unknown(self, name: str) -> UsageError:
        if is_on_demand(name):
            return UsageError(
                f"frames of this simulation do not hold `{name}`: name it in output.quantities, as "
                f"sets=['output.quantities=[{name}]']"
            )
        known = [f"{group}.{word}" for group, words in SCALARS.items() for word in words]
        known += [
            f"{group}.{one}.{word}"
            for group, names in self._names.items()
            for one in names
            for word in CHANNEL_GROUPS[group]
        ]
        known += self._recorded
        near = quantity_meant(name, known) or next(iter(get_close_matches(name, known, n=1)), "")
        return UsageError(f"no quantity `{name}`" + (f": did you mean `{near}`?" if near else ""))

    def take(self, columns: Mapping[str, np.ndarray], name: str) -> np.ndarray:
        """A quantity of the frame.

        Args:
            columns: of a block of one frame.
            name: of the quantity.

        Returns:
            (W, n), or (W,) of one number: a view of the frame.

        Raises:
            UsageError: there is no such quantity, or frames do not hold it.
        """
        path, entries = self.find(name)
        if path not in columns:
            row = next((row for row in DATASETS if row.path == path), None)
            channel = row.channel if row else "bodies"
            raise UsageError(
                f"frames of this simulation do not hold `{name}`: add `{channel}` to output.channels, as "
                f"sets=['output.channels=[state, {channel}]']"
            )
        return columns[path][(0, slice(None), *entries)]


class OpenWorlds:
    """What `Simulation` works on, and how it changes; the attributes are those of `Simulation`."""

    def __init__(
        self,
        scene: str | PathLike[str],
        *,
        worlds: int | None = None,
        sets: Sequence[str] = (),
        vary: Sequence[str] = (),
        controls: Sequence[str] | None = None,
        device: str = "auto",
        threads: int | None = None,
    ):
        self.closed, self._token = True, uuid4().hex
        self._recording: OpenRecording | None = None
        scene, own, device = path_given("scene", scene), texts_of("sets", sets), text_given("device", device, "cpu")
        threads = None if threads is None else whole_number("threads", threads, 1, MOST_THREADS, "threads")
        counts = () if worlds is None else (Override("--worlds", str(whole_number("worlds", worlds, 1)), "batch.worlds"),)
        told = (
            "simcli.Simulation",
            str(scene),
            *(word for one in counts for word in one[:2]),
            *(word for one in own for word in ("--set", str(one))),
        )
        own = (*counts, *own)
        self._job = job = prepare(Request(scene, None, own, device, threads, argv=told))
        self.scene, self.n_worlds, self.dt = str(scene), job.model.n_worlds, job.schedule.dt
        self.joints, self.bodies = job.model.joints.name, job.model.bodies.name
        driven = joints_with_drives(job.model.joints, job.model.dofs)
        driven = driven if controls is None else known_joints(texts_of("controls", controls), driven)
        self._parameters = Parameters(job, texts_of("vary", vary), driven)
        self.device = device_for(self, self.scene, device, job.spec.solver.precision, threads)
        self._hold = Hold(self.device)
        try:
            self._open(driven)
        except BaseException:
            forget_simulation(self)
            raise

    def _open(self, driven: tuple[str, ...]) -> None:
        job = self._job
        model = with_controls(job.model, driven)
        phases = tuple(replace(phase, model=with_controls(phase.model, driven)) for phase in job.phases)
        model, *later = widened([model, *(phase.model for phase in phases)]) if phases else [model]
        phases = tuple(replace(phase, model=one) for phase, one in zip(phases, later, strict=True))
        model, other = self._parameters.laid_out(model)
        self._controlled = replace(job, model=model, phases=phases if other is None else (Phase(MANY_STEPS, other, ()),))
        self._model = model
        self._solver = solver_of(self._controlled, self.device, by_age=True)
        self._stepwise = Stepwise(self._solver, SignalsWait, own_phases=bool(job.phases))
        self._tables = self._stepwise.save() if job.phases and self._stepwise.own is None else None
        self._controls = Controls(self._controlled, driven, self._solver, bool(job.phases))
        self._places = Places(job)
        self.events: list[Event] = []
        self.failures: list[Failure] = []
        self.closed = False
        self._note(list(self._stepwise.initial().events))

    def _end(self, status: str) -> None:
        if self.closed:
            return
        self.closed = True
        forget_simulation(self)
        if self._recording is not None:
            self._recording.close(status)
        del self._solver, self._stepwise, self._controls, self._tables

    def _ready(self) -> Stepwise:
        if self.closed:
            raise UsageError(f"the simulation of {self.scene} is closed")
        self._hold.check()
        if self._recording is not None and self._recording.closed:
            self._recording = None
        return self._stepwise

    @property
    def time(self) -> float:
        """[s], the clock of all worlds, since the simulation was opened or all of it was reset."""
        return self._ready().n_steps * self.dt

    def _set_states(self, states: Mapping[str, object], worlds: np.ndarray) -> None:
        if not worlds.any():
            return
        if gives_all(self._job.model.joints, states):
            q, qd = (np.zeros((int(worlds.sum()), n)) for n in (self._job.model.n_q, self._job.model.n_qd))
        elif self._stepwise.shows_joints:
            q, qd = self._stepwise.coordinates(worlds)
        else:
            raise UsageError("set of a state needs the coordinates of all joints: add `joints` to output.channels")
        starts = Starts(self._job, q, qd, np.flatnonzero(worlds))
        for one, given in states.items():
            starts.set(canonical(one), given)
        model = starts.model_of_start()
        self._stepwise.episode[worlds & (self._stepwise.began < self._stepwise.n_steps)] += 1
        self._begin(worlds, model)
        self._tell(f"set {', '.join(states)}", worlds)

    def _solve_targets(
        self, targets: Mapping[str, object], worlds: object, start: object, weights: object, options: SearchOptions
    ) -> IkResult:
        """See `Simulation.ik`."""
        model, n = of_one_world(self._model_now()), self.n_worlds
        given = numbers_of_worlds("ik: worlds", worlds, n) if worlds is not None else np.arange(n) if n > 1 else None
        found = targets_of_arrays({key: on_host_of(f"ik: target `{key}`", one) for key, one in targets.items()}, given)
        for name, some in weights_given(weights).items():
            found.weigh_by(name, some)
        if start is None and self._stepwise.shows_joints:
            begin = self._stepwise.coordinates(np.ones(n, bool))[0][found.world]
        else:
            q = np.broadcast_to(model.joint_q, (n, model.n_q))[found.world] if start is None else start
            begin = fitting_numbers("ik: start", q, (len(found), model.n_q))
        return solve_targets(model, self.device, found, np.array(begin, float), options)

    def _set_parameter(self, path: str, values: object, worlds: object) -> None:
        if path not in self._parameters.values:
            hint = "name it in `vary` when the simulation opens" if "." in path else "write one as joints.pin.damping"
            raise UsageError(f"set `{path}`: is no state, and no parameter that this simulation lets be set: {hint}")
        old, chosen = self._parameters.values[path], np.flatnonzero(mask_of_worlds(worlds, self.n_worlds))
        if not chosen.size:
            return
        shape, dtype = (len(chosen), *old.shape[1:]), bool if old.dtype == bool else float
        given = fitting_numbers(f"set `{path}`", values, shape, None if worlds is None else chosen, dtype)
        some = "" if len(chosen) == self.n_worlds else f" in {len(chosen)} world(s), the first of them {chosen[0]}"
        events = self._written(path, given, chosen, f"{path} = {spread_of(given)}{some}")
        self._note(events)
        self._pass_on(events)

    def _written(self, path: str, given: np.ndarray, worlds: np.ndarray, text: str) -> list[Event]:
        """Write a parameter, where that is numbers in columns, or build the tables of all worlds anew.

        Args:
            path: of the parameter.
            given: (n, ...), of these worlds.
            worlds: (n,), their numbers.
            text: what was set.
        """
        parameters, stepwise = self._parameters, self._stepwise
        columns = parameters.columns_of(path, self._model_now, stepwise.columns_of_device)
        if columns is not None and columns.has(given):
            parameters.note_written(path, parameters.with_values(path, given, worlds))
            return stepwise.write_columns(columns.rows, columns.numbers(given), worlds, text)
        whole = parameters.with_values(path, given, worlds)
        self._model = parameters.model_with({path: whole}, self._model_now(), stepwise.takes, self.time)
        if columns is not None:
            columns.note(whole)
        self._controls.fetch()
        events = stepwise.take_tables(self._model, worlds, text)
        self._controls.write_all()
        return events

    def _model_now(self) -> Model:
        """The model with all that was set."""
        self._model = self._parameters.caught_up(self._model)
        return self._model

    def _begin(self, worlds: np.ndarray, model: Model | None = None) -> None:
        """Let some worlds begin where the scene does, or at the start of a model of these worlds."""
        if self.failures:
            numbers = {self._job.numbers[k] for k in np.flatnonzero(worlds).tolist()}
            self.failures = [one for one in self.failures if one.world not in numbers]
        if self._stepwise.own and self._stepwise.own.begin(worlds):
            self._controls.write_of(worlds)
        events = self._stepwise.begin_anew(worlds, model)
        self._note(events)
        self._pass_on(events)

    def _tell(self, text: str, worlds: np.ndarray) -> None:
        """Let the file say what was done."""
        chosen = np.flatnonzero(worlds)
        which = "" if worlds.all() else f" of {len(chosen)} world(s), the first of them {self._job.numbers[chosen[0]]}"
        event = self._event(text + which, int(chosen[0]) if len(chosen) == 1 else -1)
        self.events.append(event)
        self._pass_on([event])

    def _event(self, text: str, world: int = -1) -> Event:
        step = self._stepwise.n_steps
        return Event(step, step * self.dt, world, TOLD, 0, -1, -1, 0.0, text)

    def _pass_on(self, events: list[Event]) -> None:
        if self._recording is not None:
            self._recording.note(events)

    def _note(self, events: list[Event]) -> None:
        self.events += events
        self.failures += failures_among(events, self._job)

    def _refuse_recording(self, what: str) -> None:
        if self._recording is not None:
            raise UsageError(f"{what}: {self._recording.path} is being written, in which time only goes on; close it first")

    def _facts(self) -> dict[str, object]:
        names = {"vary": self._parameters.paths, "controls": self._controls.joints}
        return facts_of_job(self._job, self._solver.device, names)

    def _with_parameters(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot of a file with the model of its parameters."""
        if not self._parameters.paths:
            return snapshot
        model = self._parameters.model_with(snapshot.parameters, self._model_now(), self._stepwise.takes)
        present = self._solver.stated(self._solver.formed(model))
        return replace(snapshot, model=model, state=replace(snapshot.state, present=present))

    def _held(self) -> list[Event]:
        """What was set before a file begins, and holds."""
        numbers = [f"{path} = {spread_of(values)}" for path, values in self._parameters.values.items()]
        return [self._event(text) for text in (*numbers, *self._controls.described())]
