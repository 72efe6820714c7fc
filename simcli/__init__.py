"""simcli: batch multibody simulation from a scene file.

The map of the house. Text flows down one street and nothing downstream changes anything upstream:

    YAML -> spec.SceneSpec -> model.Model -> solvers.* (kernels) -> model.FrameBlock -> records (HDF5) -> records.Trajectory

    rotations/   rotations, poses and frames as arrays
    errors.py    error tree, places in files, exit codes
    joint_types.py  joint types without numbers: what their coordinates hold
    arguments.py what a Python program gives to what is public, refused where it is something else
    release.py   which simcli this is: its version, the commit that it was made from, digests of its code
    spec/        text to meaning: loader with marks, schema, checks, parameters, sweeps
    model/       meaning to numbers: read-only numpy tables, joint catalogue, topology, inertia
    kernels/     numbers on the device: lane algebra, charts, rigid-body algorithms (Taichi)
    solvers/     time stepping (Taichi)
    exchange/    models of other formats as scenes
    records/     numbers to disk and back (HDF5)
    analysis/    meaning of the result: expectations, plots, exports
    view/        what is seen of a mechanism and of its motion
    job.py       what a run is asked for, and what it comes to
    pipeline/    one run as a paragraph
    simulation/  worlds that a program steps in its own process
    sweeps/      many batches as one: cases, chunks, ledger, workers, one table
    search/      solve, fit and optimize: every round is one batch
    cli/         Typer commands; the only room that prints or exits
    docs/        reference pages, made from the code where they can be

Imports go strictly down (tests/test_house.py). Nothing heavy is imported here.
"""

TYPE_CHECKING = False  # checkers take this name for true; `typing` would be an import
if TYPE_CHECKING:  # what `_LATE` imports, with its types, and those of the functions below
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from simcli.analysis.mechanics.articulation_view import ArticulationView as ArticulationView
    from simcli.analysis.mechanics.evaluate import eval_accelerations as eval_accelerations
    from simcli.analysis.mechanics.evaluate import eval_fk as eval_fk
    from simcli.analysis.mechanics.evaluate import eval_ik as eval_ik
    from simcli.analysis.mechanics.evaluate import state_at as state_at
    from simcli.analysis.worlds.world_table import WorldTable
    from simcli.model.joints.selection import BodyFlags as BodyFlags
    from simcli.model.joints.state import State as State
    from simcli.model.tables.model import Model
    from simcli.records.reading.reader import Trajectory as Trajectory
    from simcli.records.reading.result_reader import Results as Results
    from simcli.simulation.simulation import Simulation as Simulation
    from simcli.sweeps.status import SweepProgress

    __version__: str


def open(path: "str | PathLike[str]") -> "Trajectory | Results":
    """Open a simcli HDF5 file by name.

    A run opens as a `Trajectory`, as in `open("out.h5").joint("elbow").q`; a result of `fk`, `ik`, `id`, `mass-matrix` or
    `jacobian` as `Results`, as in `open("efforts.h5")["joint_effort"]`. A type checker learns which of both from
    `assert isinstance(run, simcli.Trajectory)`.

    Args:
        path: an HDF5 file written by simcli; of a run also an unfinished one.

    Raises:
        FileError: the file is not ours, damaged or hostile.
        UsageError: what is given is no path.
    """
    from simcli.arguments import path_given
    from simcli.records.reading.result_reader import open_any

    return open_any(path_given("open", path, "run.h5"))


def load(path: "str | PathLike[str]", sets: "Sequence[str]" = ()) -> "tuple[Model, State]":
    """Read a scene into numbers: its model, of all worlds of its batch, and its initial state.

    Args:
        path: scene file, or a run with a scene inside.
        sets: overrides as on the command line, `["batch.worlds=64", "joints.pin.q=0.5"]`.

    Returns:
        `Model` and `State`: what `ArticulationView`, `eval_fk` and `eval_ik` work on.

    Raises:
        SceneError: the scene or an override is invalid, or its solver does not support a part of it.
    """
    from simcli.arguments import path_given, texts_of
    from simcli.model.joints.state import State
    from simcli.pipeline import build_model, read_scene

    model = build_model(*read_scene(path_given("load", path), texts_of("sets", sets)), worlds=None)
    return model, State.of(model)


def sweep(
    path: "str | PathLike[str]",
    folder: "str | PathLike[str] | None" = None,
    *,
    vary: "Mapping[str, object] | None" = None,
    choices: "Mapping[str, object] | None" = None,
    worlds: int | None = None,
    seed: int | None = None,
    measure: "Mapping[str, object] | None" = None,
    table: "str | PathLike[str] | None" = None,
    sets: "Sequence[str]" = (),
    workers: int = 1,
    device: str = "auto",
    keep: str | None = None,
    time_limit: float | None = None,
    max_worlds: int | None = None,
    retry_failed: bool = False,
    watch: "Callable[[SweepProgress], bool] | None" = None,
) -> "WorldTable":
    """Run many batches as one sweep, or what is left of it, and give its table.

    Args:
        path: scene, sweep file, or a run with a scene inside.
        folder: of the ledger and the results; default outputs/NAME. The same call goes on in it, or only reads it.
        vary: dotted path to what varies within batches: a list is a grid, else as in a scene, `{"uniform": [0, 1]}`.
        choices: dotted path to the values that are run apart, each as a structure of its own.
        worlds: draws per grid point.
        seed: of the draws.
        measure: name to reduction, `{"peak": {"max_abs": "joint.pin.q"}}`.
        table: CSV or Parquet with a row per world, in place of the scene's batch.
        sets: overrides as on the command line, `["run.duration=10"]`.
        workers: processes.
        device: auto, cpu, cuda, vulkan or metal.
        keep: trajectories that stay: all, failed or none.
        time_limit: [s], wall time per case.
        max_worlds: worlds of a batch, at most.
        retry_failed: whether cases that failed before are tried again.
        watch: sees every `simcli.sweeps.status.SweepProgress`; its False ends the sweep in time.

    Returns:
        `WorldTable`: a row per case; `table.arrays` has the columns as numpy arrays by name.

    Raises:
        SceneError: the sweep file or one of its scenes is invalid.
        SweepStoppedError: it was ended before all was done.
        OutputError: the folder cannot be written, or holds another sweep.
    """
    from simcli.arguments import path_given
    from simcli.sweeps.in_python import sweep_now

    scene = path_given("sweep", path)
    found = path_given("folder", f"outputs/{scene.stem}" if folder is None else folder, "outputs/night")
    return sweep_now(
        scene,
        found,
        vary=vary,
        choices=choices,
        measure=measure,
        numbers={"worlds": worlds, "seed": seed},
        table=table,
        sets=sets,
        workers=workers,
        device=device,
        keep=keep,
        time_limit=time_limit,
        max_worlds=max_worlds,
        retry_failed=retry_failed,
        watch=watch,
    )


_LATE = {
    "ArticulationView": "simcli.analysis.mechanics.articulation_view",
    "BodyFlags": "simcli.model.joints.selection",
    "Results": "simcli.records.reading.result_reader",
    "Simulation": "simcli.simulation.simulation",
    "State": "simcli.model.joints.state",
    "Trajectory": "simcli.records.reading.reader",
    "eval_accelerations": "simcli.analysis.mechanics.evaluate",
    "eval_fk": "simcli.analysis.mechanics.evaluate",
    "eval_ik": "simcli.analysis.mechanics.evaluate",
    "state_at": "simcli.analysis.mechanics.evaluate",
}


if not TYPE_CHECKING:  # to a checker every name would be one of this module

    def __getattr__(name):
        """What is imported when it is first asked for."""
        if name == "__version__":
            from simcli.release import version

            return version()
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    """The names of this module, those that are imported late among them: completion in a shell asks for them."""
    return sorted({*globals(), *_LATE})
