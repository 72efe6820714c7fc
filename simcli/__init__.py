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
    pipeline.py  one run as a paragraph
    cli/         Typer commands; the only room that prints or exits
    docs/        reference pages, made from the code where they can be

Imports go strictly down (tests/test_house.py). Nothing heavy is imported here.
"""

__version__ = "0.1.0"


def open(path, **options):
    """Open a simcli HDF5 file as a `Trajectory`, by name: `open("out.h5").joint("elbow").q`.

    Args:
        path: an HDF5 file written by `simcli run`, finished, running or killed.
        **options: passed to `simcli.records.reader.open_trajectory`.

    Raises:
        FileError: the file is not ours, damaged or hostile.
    """
    from simcli.records.reader import open_trajectory

    return open_trajectory(path, **options)
