"""Simulation: what a program holds."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from simcli.analysis.mechanics.target_starts import SearchOptions
from simcli.analysis.mechanics.target_tasks import MOST_SEEDS, IkResult
from simcli.arguments import by_name, flag_given, number_given, path_given, text_given, whole_number
from simcli.errors import UsageError
from simcli.simulation.questions import Questions
from simcli.simulation.recording import OpenRecording, Snapshot, read_snapshot, write_snapshot
from simcli.simulation.starts import is_state, mask_of_worlds
from simcli.solvers.run.host_copy import view_of

if TYPE_CHECKING:
    from simcli.kernels.device.dlpack import DeviceView

MOST_STEPS = 2**31 - 1  # of a call
MOST_EPISODES = 2**24 - 1  # whole in single precision, too


class Simulation(Questions):
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

    def __repr__(self) -> str:
        when = "closed" if self.closed else f"t = {self.time:g} s"
        counts = f"worlds {self.n_worlds}, bodies {len(self.bodies)}, joints {len(self.joints)}"
        return f"<simulation {self.scene}: {counts}, {when}>"

    def __reduce__(self):
        raise TypeError(
            "a simulation is memory of one process, and is neither copied nor pickled; what `save` gives, `restore` takes"
        )

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._end("done" if kind is None else "failed")

    def close(self) -> None:
        """End the simulation, and the file that it records, if there is one."""
        self._end("done")

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
            return view_of(self._solver, stepwise.show_on_device(), *self._places.find(name))
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

    def ik(
        self,
        targets: Mapping[str, object],
        *,
        worlds: object = None,
        start: object = None,
        weights: Mapping[str, float | tuple[float, float]] | None = None,
        posture: float = 0.0,
        seeds: int = 16,
        seed: int = 0,
        follow: bool = False,
        every: bool = False,
        tolerance: float = 1e-6,
        iterations: int = 500,
    ) -> IkResult:
        """Coordinates that put bodies and points at targets, or nearest to them; nothing moves.

            found = sim.ik({"hand": goals, "elbow@0,0,0.1.xyz": [0.2, 0.0, nan]}, posture=1e-3)
            sim.set({"joint.arm.q": found.q[:, :1]})

        Limits are kept and loops closed, as by `simcli ik` (page `mechanics`), with the parameters that hold now.

        Args:
            targets: by name of a body, a named point, or `body@x,y,z`: places [m], (N, 3), NaN along axes that are free, or
                with a quaternion x y z w of the body, (N, 7); NAME.rpy [rad] and NAME.quat_wxyz are orientations alone. One
                row stands for all.
            worlds: (N,), of the rows; None: row k is of world k, one row of all worlds.
            start: [m, rad, 1], (N, NQ) or (NQ,), where the first searches begin; None for the coordinates of now.
            weights: of the squares by patterns of names, of place and orientation.
            posture: weight of the squares of how far coordinates are from `start`.
            seeds: searches of each row at most; all but the first begin at random.
            seed: of these.
            follow: each row of a world begins at the solution of the one before.
            every: give all solutions that differ.
            tolerance: [m, rad], within which targets are reached.
            iterations: of a search at most.

        Raises:
            UsageError: a name that is not there, numbers that do not fit, or single precision.
        """
        self._ready()
        if self.device.precision != "float64":
            raise UsageError("ik searches in double precision: open the scene with solver.precision float64")
        counts = whole_number("seeds", seeds, 1, MOST_SEEDS), whole_number("seed", seed, 0)
        flags = flag_given("follow", follow), flag_given("every", every)
        if all(flags):
            raise UsageError("ik: follow and every contradict each other: a row begins at one solution")
        numbers = number_given("posture", posture), number_given("tolerance", tolerance)
        if min(numbers) < 0.0:
            raise UsageError("ik: posture and tolerance are from 0 on")
        most = whole_number("iterations", iterations, 1, MOST_STEPS)
        options = SearchOptions(*counts, numbers[0], *flags, (numbers[1], numbers[1]), most)
        return self._solve_targets(by_name("ik", targets), worlds, start, weights, options)

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
            raise UsageError(
                "reset of some worlds: an event of the scene changes what worlds have in common, as times of a "
                "table; reset all of them"
            )
        if self._tables is not None:
            stepwise.begin_tables(self._tables)
            self._controls.write_all()
        if mask.any():
            stepwise.episode[mask] = stepwise.episode[mask] + 1 if given is None else given
            self._begin(mask)
            self._tell("reset", mask)

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
