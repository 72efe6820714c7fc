"""simcli: batch multibody simulation from a scene file.

The map of the house. Text flows down one street and nothing downstream changes anything upstream:

    YAML -> spec.SceneSpec -> model.Model -> solvers.* (kernels) -> model.FrameBlock -> records (HDF5) -> records.Trajectory

    errors.py    error tree, places in files, exit codes
    spec/        text to meaning: loader with marks, schema, checks, parameters, sweeps
    model/       meaning to numbers: read-only numpy tables, joint catalogue, topology, inertia
    kernels/     numbers on the device: lane algebra, charts, rigid-body algorithms (Taichi)
    solvers/     time stepping (Taichi)
    records/     numbers to disk and back (HDF5)
    analysis/    meaning of the result: expectations, plots, exports
    job.py       what a run is asked for, and what it comes to
    pipeline.py  one run as a paragraph
    sweeps/      many batches as one: cases, chunks, ledger, workers, one table
    cli/         Typer commands; the only room that prints or exits
    docs/        reference pages, made from the code where they can be

Imports go strictly down (tests/test_house.py). Nothing heavy is imported here.
"""

__version__ = "0.1.0"


def open(path, **options):
    """Open a simcli HDF5 file by name.

    A run opens as a `Trajectory`, as in `open("out.h5").joint("elbow").q`; a result of `fk`, `ik`, `id`, `mass-matrix` or
    `jacobian` as `Results`, as in `open("efforts.h5")["joint_effort"]`.

    Args:
        path: an HDF5 file written by simcli; of a run also an unfinished one.
        **options: passed to `simcli.records.result_reader.open_any`.

    Raises:
        FileError: the file is not ours, damaged or hostile.
    """
    from simcli.records.result_reader import open_any

    return open_any(path, **options)


def load(path, sets=()):
    """Read a scene into numbers: its model, of all worlds of its batch, and its initial state.

    Args:
        path: scene file, or a run with a scene inside.
        sets: overrides as on the command line, `["batch.worlds=64", "joints.pin.q=0.5"]`.

    Returns:
        `Model` and `State`: what `ArticulationView`, `eval_fk` and `eval_ik` work on.

    Raises:
        SceneError: the scene or an override is invalid, or its solver does not honour a part of it.
    """
    from pathlib import Path

    from simcli.model.state import State
    from simcli.pipeline import build_model, read_scene

    model = build_model(*read_scene(Path(path), tuple(sets)), worlds=None)
    return model, State.of(model)


_LATE = {
    "ArticulationView": "simcli.analysis.articulation_view",
    "State": "simcli.model.state",
    "eval_fk": "simcli.analysis.evaluate",
    "eval_ik": "simcli.analysis.evaluate",
    "state_at": "simcli.analysis.evaluate",
}


def __getattr__(name):
    """What is imported when it is first asked for."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATE[name]), name)
