"""Simulation: what a program holds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload
from uuid import uuid4

import numpy as np

from simcli.arguments import by_name, flag_given, path_given, text_given, texts_of, whole_number
from simcli.errors import UsageError
from simcli.job import Failure, Request
from simcli.model.phases import Phase, widened
from simcli.model.signals.controlled import with_controls
from simcli.model.snapshot import Event
from simcli.model.tables.model import Model
from simcli.pipeline.execution import solver_of
from simcli.pipeline.preparation import prepare
from simcli.pipeline.stepping import failures_among
from simcli.simulation.controls import Controls, joints_with_drives, known_joints
from simcli.simulation.given import fitting_numbers, mask_of_worlds, spread_of
from simcli.simulation.parameters import Parameters
from simcli.simulation.process import MOST_THREADS, Hold, SignalsWait, device_for, forget_simulation
from simcli.simulation.quantities import Places
from simcli.simulation.recording import TOLD, OpenRecording
from simcli.simulation.saved import Snapshot, facts_of_job, read_snapshot, write_snapshot
from simcli.simulation.starts import Starts, gives_all, is_state
from simcli.solvers.run.host_copy import view_of
from simcli.solvers.run.solver import MANY_STEPS
from simcli.solvers.run.stepwise import Stepwise
from simcli.spec.base.channel_names import canonical
from simcli.spec.document.overrides import Override

if TYPE_CHECKING:
    from simcli.kernels.device.dlpack import DeviceView

MOST_STEPS = 2**31 - 1  # of a call
MOST_EPISODES = 2**24 - 1  # whole in single precision, too


class Simulation:
    """Many worlds of a scene, stepped by a program in this process.

        with simcli.Simulation("arm.yaml", worlds=1024) as sim:
            for _ in range(100):
                sim.step(10, control={"arm/elbow": policy(sim.get("joint.arm/elbow.q"))})

    The bytes are those of `simcli run` with the same scene and the same controls (as a signal of a table that holds its
    values, `interpolate: previous`).

    Args:
        scene: scene file, model (URDF, MJCF, SDF), or a run with a scene inside.
        worlds: draws of its batch, as `--worlds`; None as the scene says. W below is the number of all worlds.
        sets: overrides as on the command line, `["joints.pin.q=0.5"]`.
        vary: dotted paths that `set` will change for all worlds or world by world, as `joints.pin.damping`: what events of
            a scene may set. Memory is laid out for them here.
        controls: joints whose drives `step` controls by name; None for all joints with a drive, () for none. Signals of the
            scene need not be named.
        device: auto, cpu, cuda, vulkan or metal.
        threads: CPU threads; None for all.

    Attributes:
        scene: the file.
        joints, bodies: names.
        n_worlds: W.
        dt: [s], step.

    Raises:
        SceneError: the scene or an override is invalid.
        UsageError: a name that is not there, an argument of another kind; another simulation of this process is open on
            another device or precision.
        DeviceError: the device is missing.
    """

    def __init__(self, scene: str | PathLike[str], *, worlds: int | None = None, sets: Sequence[str] = (),
                 vary: Sequence[str] = (), controls: Sequence[str] | None = None, device: str = "auto",
                 threads: int | None = None):  # fmt: skip
        self.closed, self._token = True, uuid4().hex
        self._recording: OpenRecording | None = None
        scene, own, device = path_given("scene", scene), texts_of("sets", sets), text_given("device", device, "cpu")
        threads = None if threads is None else whole_number("threads", threads, 1, MOST_THREADS, "threads")
        counts = () if worlds is None else (Override("--worlds", str(whole_number("worlds", worlds, 1)), "batch.worlds"),)
        told = ("simcli.Simulation", str(scene), *(word for one in counts for word in one[:2]),
                *(word for one in own for word in ("--set", str(one))))  # fmt: skip
        own = (*counts, *own)
        self._job = job = prepare(Request(scene, None, own, device, threads, argv=told))
        self.scene, self.n_worlds, self.dt = str(scene), job.model.n_worlds, job.schedule.dt
        self.joints, self.bodies = job.model.joints.name, job.model.bodies.name
        driven = joints_with_drives(job.model)
        driven = driven if controls is None else known_joints(texts_of("controls", controls), driven)
        self._parameters = Parameters(job, texts_of("vary", vary), driven)
        self.device = device_for(self, self.scene, device, job.spec.solver.precision, threads)
        self._hold = Hold(self.device)
        try:
            self._open(driven)
        except BaseException:
            forget_simulation(self)
            raise

    def __reduce__(self):
        raise TypeError("a simulation is memory of one process, and is neither copied nor pickled; what `save` gives, "
                        "`restore` takes")  # fmt: skip

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
        self._controls = Controls(self._controlled, driven, self._solver.stepper, bool(job.phases))
        self._places = Places(job)
        self.events: list[Event] = []
        self.failures: list[Failure] = []
        self.closed = False
        self._note(list(self._stepwise.initial().events))

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._end("done" if kind is None else "failed")

    def close(self) -> None:
        """End the simulation, and the file that it records, if there is one."""
        self._end("done")

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

    @property
    def age(self) -> np.ndarray:
        """[s], (W,), time since each world began, which `reset` and `set` of a state set to zero."""
        stepwise = self._ready()
        return (stepwise.n_steps - stepwise.began) * self.dt

    @property
    def episode(self) -> np.ndarray:
        """(W,), how often each world has begun anew; a copy."""
        return self._ready().episode.copy()

    @property
    def status(self) -> np.ndarray:
        """(W,), `Status` of each world: 0 while it goes on; a copy."""
        return self._ready().stepper.status.copy()

    def step(self, n: int = 1, control: Mapping[str, object] | None = None) -> None:
        """Take steps of all worlds.

        Args:
            n: steps.
            control: by name of a joint, the target of its drive [m, rad], in velocity mode the target velocity, in effort
                mode the effort [N, N m]; or by name of a constant signal, `$u` or `signal.u`, its value. Broadcastable to
                (W, n) of n drives or numbers; arrays of other libraries by `__dlpack__`. Values hold until they are set
                again, also those of other names.

        Raises:
            UsageError: a name that is not there, or values that do not fit or are not finite; nothing was done.
            DeviceError: the device cannot do it, or was stopped.
            OutputError: the file that is recorded cannot be written.
        """
        stepwise = self._ready()
        n = whole_number("step", n, 0, MOST_STEPS, "steps")
        changed = () if control is None else self._controls.set(by_name("control", control))
        if self._recording is not None:
            for name in changed:
                self._recording.note_control(self._event(self._controls.describe(name)))
        self._note(stepwise.step(n, self._recording))

    @overload
    def get(self, name: str, dlpack: Literal[False] = False) -> np.ndarray: ...

    @overload
    def get(self, name: str, dlpack: bool) -> "np.ndarray | DeviceView": ...

    def get(self, name: str, dlpack: bool = False) -> "np.ndarray | DeviceView":
        """A quantity of where the worlds stand, by the one grammar of quantities, as `joint.pin.q` or `body.rod.position`.

        Args:
            name: what a file of the scene would hold (`output.channels`, `output.quantities`); or a constant signal,
                `signal.u`; or a path of `vary`.
            dlpack: give what has `__dlpack__` and is where the device has it; on a CPU numpy's arrays are that.

        Returns:
            [as in the file], (W, n), or (W,) of one number such as `energy.total`; NaN in worlds that have ended. On a CPU
            it is a view of an array that no later step writes. On a GPU it is a copy; with dlpack a `DeviceView`, whose
            numbers the next frame replaces. Signals and parameters are copies.

        Raises:
            UsageError: there is no such quantity, or frames do not hold it.
            DeviceError: the device has no arrays for other libraries.
        """
        stepwise = self._ready()
        text_given("get", name, "joint.pin.q")
        if name in self._parameters.values:
            return self._parameters.values[name].copy()
        if name.startswith(("signal.", "$")) and not self._places.knows(name):
            return self._controls.values[:, self._controls.find(name)]
        if flag_given("dlpack", dlpack) and self.device.is_gpu:
            return view_of(self._solver.stepper, stepwise.show_on_device(), *self._places.find(name))
        return self._places.take(stepwise.columns(self._places.find(name)[0]), name)

    def set(self, name: str | Mapping[str, object], values: object = None, worlds: object = None) -> None:
        """Set a state, or a parameter of `vary`; of a state the worlds begin anew where they then are.

        A state is `joint.J.q` [m, rad, 1], `joint.J.qd` [m/s, rad/s], or of a free body `body.B.position` [m],
        `orientation` [1], `velocity` [m/s] of the centre of mass, `angular_velocity` [rad/s], world. What is not set stays.
        In mechanisms with loops the other coordinates follow, as at the start of a run; set q and qd together there.
        Feedback, the ledger of energies and what measures have found begin anew, too, with age zero; the clock goes on.

        Args:
            name: of a state or a parameter; or several states, name to values, that are set together.
            values: broadcastable to (worlds, n); of a parameter one value for all of them, or (worlds, ...). Arrays of
                other libraries by `__dlpack__`.
            worlds: which ones, a mask (W,) or numbers; None for all.

        Raises:
            UsageError: a name that is not there or not in `vary`, values that do not fit, a state in which no world can
                begin; nothing was done.
            SceneError: a parameter makes no scene.
        """
        self._ready()
        states = {name: values} if isinstance(name, str) else dict(by_name("set", name))
        if all(map(is_state, states)):
            self._set_states(states, mask_of_worlds(worlds, self.n_worlds))
        elif len(states) == 1:
            self._set_parameter(*next(iter(states.items())), worlds)
        else:
            other = next(one for one in states if not is_state(one))
            raise UsageError(f"set `{other}`: is no state; parameters are set one by one")

    def _set_states(self, states: Mapping[str, object], worlds: np.ndarray) -> None:
        if not worlds.any():
            return
        if gives_all(self._job.model, states):
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
        events = stepwise.take_tables(self._model, text)
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

    def reset(self, worlds: object = None, episode: int | None = None) -> None:
        """Let worlds begin anew: the bytes of a run that begins with the controls and parameters that hold now.

        Args:
            worlds: a mask (W,) or numbers of worlds, to the others of which nothing happens; None for all, with the clock at
                zero.
            episode: of these worlds, by which noise of sensors differs, 0 for that of a run; None counts up from the last.

        Raises:
            UsageError: worlds that are not there; some worlds of a scene with an event that changes the times of a table;
                all of them while a file is written.
        """
        stepwise = self._ready()
        given = None if episode is None else whole_number("episode", episode, 0, MOST_EPISODES, "episodes")
        if worlds is None:
            self._refuse_recording("reset of all worlds")
            before = stepwise.episode.copy()
            if self._tables is not None:
                stepwise.restore(self._tables)
                self._controls.write_all()
            stepwise.rewind()
            stepwise.episode[:] = before + 1 if given is None else given
            self.failures, self.events = [], []
            self._begin(np.ones(self.n_worlds, bool))
            return
        mask = mask_of_worlds(worlds, self.n_worlds)
        if self._tables is not None and not mask.all():
            raise UsageError("reset of some worlds: an event of the scene changes what worlds have in common, as times of a "
                             "table; reset all of them")  # fmt: skip
        if self._tables is not None:
            stepwise.begin_tables(self._tables)
            self._controls.write_all()
        if mask.any():
            stepwise.episode[mask] = stepwise.episode[mask] + 1 if given is None else given
            self._begin(mask)
            self._tell("reset", mask)

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

    def save(self, path: str | PathLike[str] | None = None, force: bool = False) -> Snapshot:
        """All that steps to come depend on, in memory; what was recorded is no part of it.

        Args:
            path: of a file that holds it, too, for another process that opens the same scene with the same arguments.
            force: replace an existing file.

        Raises:
            OutputError: the file exists, or cannot be written.
        """
        state = self._ready().save()
        controls, parameters = self._controls.values.copy(), dict(self._parameters.values)
        snapshot = Snapshot(self._token, state, controls, parameters, self._model_now(), tuple(self.failures))
        if path is not None:
            write_snapshot(path_given("save", path, "state.npz"), snapshot, self._facts(), flag_given("force", force))
        return snapshot

    def _facts(self) -> dict[str, object]:
        names = {"vary": self._parameters.paths, "controls": self._controls.joints}
        return facts_of_job(self._job, self._solver.stepper.device, names)

    def restore(self, snapshot: Snapshot | str | Path) -> None:
        """Go on from a snapshot of this simulation, to the same bits, controls and parameters included.

        Args:
            snapshot: what `save` gave, or the path of the file that it wrote, in any process.

        Raises:
            UsageError: it is of another simulation; a file is being written.
            FileError: the file is not there, or damaged.
        """
        stepwise = self._ready()
        if isinstance(snapshot, str | Path):
            self._refuse_recording("restore")
            snapshot = read_snapshot(Path(snapshot), self._facts(), self._token, self._model, stepwise.phases_left)
            snapshot = self._with_parameters(snapshot)
        if not isinstance(snapshot, Snapshot):
            raise UsageError(f"restore: {snapshot!r} is no snapshot; give what `save` gave")
        if snapshot.owner != self._token:
            raise UsageError("restore: the snapshot is of another simulation")
        self._refuse_recording("restore")
        stepwise.restore(snapshot.state)
        self._controls.values[...] = snapshot.controls
        self._parameters.hold(snapshot.parameters)
        self._model = snapshot.model
        self.failures = list(snapshot.failures)

    def _with_parameters(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot of a file with the model of its parameters."""
        if not self._parameters.paths:
            return snapshot
        model = self._parameters.model_with(snapshot.parameters, self._model_now(), self._stepwise.takes)
        present = self._solver.stepper.stated(self._solver.formed(model))
        return replace(snapshot, model=model, state=replace(snapshot.state, present=present))

    def record(self, path: str | PathLike[str], force: bool = False) -> OpenRecording:
        """Write frames to a file from here on, one now, then one each `output.every`; as a run of the command line does.

        Args:
            path: of the file.
            force: replace an existing one.

        Returns:
            What `close` ends, as a context does, and as the end of the simulation does.

        Raises:
            UsageError: a file is being written already.
            OutputError: the file exists, or cannot be written.
        """
        stepwise = self._ready()
        self._refuse_recording("record")
        path, force = path_given("record", path, "run.h5"), flag_given("force", force)
        recording = OpenRecording(self._job, self.device, self._solver, path, force)
        stepwise.first_of_rhythm = stepwise.n_steps
        is_start = stepwise.n_steps == 0
        recording.note(list(self.events if is_start else self._held()))
        recording.put(stepwise.show())
        self._recording = recording
        return recording

    def _held(self) -> list[Event]:
        """What was set before a file begins, and holds."""
        numbers = [f"{path} = {spread_of(values)}" for path, values in self._parameters.values.items()]
        return [self._event(text) for text in (*numbers, *self._controls.described())]
