"""`simcli fit`: numbers of a scene by least squares against a measured trajectory."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simcli.cli import console
from simcli.cli.console import set_line
from simcli.cli.options import JsonFlag, ScenePath, SetValues, existing_file, file_to_write, split_words
from simcli.cli.sweeps.searching import (
    DeviceOption,
    ForceScene,
    Quiet,
    SceneOut,
    SearchThreads,
    headed,
    say_without,
    watched,
    write_found,
)
from simcli.errors import Exit, OutputError, UsageError

if TYPE_CHECKING:
    from simcli.search.fitting import Fit

ITERATIONS, _TOLERANCE = 50, 1e-10
ROUGH = 1e-3  # error of an interpolation, of a standard deviation, from which it is told

_DataFile = Annotated[
    Path,
    typer.Option(
        "--data",
        metavar="LOG",
        callback=existing_file,
        show_default=False,
        help="Measured trajectory (csv, parquet, sto, mot): time \\[s], joint.pin.q \\[deg], ...; empty cells are gaps, "
        "sigma.NAME has standard deviations.",
    ),
]
_FreeNumbers = Annotated[
    list[str],
    typer.Option(
        "--free",
        metavar="KEY,...",
        show_default=False,
        help="Numbers to fit, as params.k,joints.pin.q; they begin as in the scene.",
    ),
]
_Bounds = Annotated[
    list[str],
    typer.Option(
        "--bounds",
        metavar="KEY=LOW..HIGH",
        help="Bounds of a free number; else a coordinate has the hard limits of its joint. Repeatable.",
    ),
]
_Offset = Annotated[
    str,
    typer.Option(
        "--time-offset",
        metavar="LOW..HIGH",
        show_default=False,
        help="Fit the offset of the clocks, too, as '-50 ms..50 ms': time of the run less that of the log.",
    ),
]
_Columns = Annotated[
    list[str],
    typer.Option("--column", "-c", metavar="NAME", help="Only these columns of the log, as 'joint.*'. Repeatable."),
]
_Deviations = Annotated[
    list[str],
    typer.Option("--sigma", metavar="NAME=VALUE", help="Standard deviation of a column, as 'joint.pin.q=0.5 deg'."),
]
_Iterations = Annotated[int, typer.Option("--iterations", metavar="N", min=1, help="Most trial points.")]
_Tolerance = Annotated[
    float,
    typer.Option(
        "--tolerance",
        metavar="R",
        min=1e-15,
        max=0.1,
        help="Relative change of numbers and chi-square at which the fit ends.",
    ),
]


def _plot_file(text: str) -> Path:
    return file_to_write(text, "--plot")


_Picture = Annotated[
    Path | None,
    typer.Option(
        "--plot", parser=_plot_file, metavar="FILE", help="Picture of fit and residuals (png, svg, pdf).", show_default=False
    ),
]


def fit(
    scene: ScenePath,
    data: _DataFile,
    free: _FreeNumbers,
    bounds: _Bounds = [],  # noqa: B006
    offset: _Offset = "",
    column: _Columns = [],  # noqa: B006
    sigma: _Deviations = [],  # noqa: B006
    iterations: _Iterations = ITERATIONS,
    tolerance: _Tolerance = _TOLERANCE,
    sets: SetValues = [],  # noqa: B006
    plot: _Picture = None,
    output: SceneOut = None,
    force: ForceScene = False,
    device: DeviceOption = "auto",
    threads: SearchThreads = None,
    json: JsonFlag = False,
    quiet: Quiet = False,
) -> int:
    r"""Fit numbers of a scene to a measured trajectory by least squares.

    Every trial point runs as one batch with the worlds of its Jacobian. The report has the numbers, their standard errors,
    correlation, chi-square, and what the data do not determine. Needs scipy: pip install 'simcli\[fit]'.
    Exit code 1 if it does not converge.
    Example: simcli fit swing.yaml --data log.csv --free joints.pin.damping,joints.pin.q -o fitted.yaml --plot fit.png
    """
    from simcli.pipeline import build_model
    from simcli.search.batches import Batches, claim_scene
    from simcli.search.fit_data import read_log
    from simcli.search.fitting import fit_scene
    from simcli.search.free_numbers import free_numbers, read_offset, within_run
    from simcli.search.intervals import BOUNDS, read_intervals, read_single

    document, spec = read_single(scene, sets, "fit")
    paths, model = split_words("--free", free), build_model(document, spec)
    numbers = free_numbers(scene, sets, document, spec, model, paths, read_intervals(scene, sets, bounds, BOUNDS))
    log = read_log(data, model, split_words("--column", column), sigma)
    if offset:
        numbers.append(read_offset(offset))
        log = within_run(log, numbers[-1], spec.solver.dt, spec.run.duration)
    if output is not None:
        claim_scene(scene, sets, output, force)
    if plot is not None:
        _claim_picture(plot, (scene, data), force)
    with watched(quiet or json) as watch:

        def seen(count: int, chi_square: float) -> None:
            watch.what = f"trial {count + 1}, chi-square {chi_square:.6g}"

        batches = Batches(scene, sets, paths, device, threads, watch)
        found = fit_scene(batches, spec, numbers, log, iterations, tolerance, seen)
    if json:
        console.emit("fit", {"scene": scene, "data": data, **_data(found)})
    else:
        _say(found)
    if plot is not None:
        _draw(found, plot, f"{spec.name}: {data.name}")
    write_found(scene, (*sets, *_sets(found)), output, force)
    return Exit.OK if found.converged else Exit.NEGATIVE


def _claim_picture(plot: Path, inputs: tuple[Path, ...], force: bool) -> None:
    """Refuse a picture that cannot be meant, or drawn, before anything is computed."""
    from simcli.analysis.export.plot import new_figure
    from simcli.records.drafts import claim_path

    claim_path(plot, force, inputs, option="--plot")
    known = new_figure(1.0, 1.0, "").canvas.get_supported_filetypes()
    if plot.suffix.lstrip(".").lower() not in known:
        raise UsageError(f"--plot {plot}: the suffix says the format; write a name that ends in .png, .svg or .pdf")
    if not plot.absolute().parent.is_dir():
        raise OutputError(f"{plot}: there is no folder {plot.parent}; make it, or choose another --plot")


def _draw(found: "Fit", plot: Path, title: str) -> None:
    from simcli.analysis.export.plot import save_figure
    from simcli.search.fitting import draw_fit

    save_figure(draw_fit(found, title), plot)
    console.say(f"wrote {plot}")


def _say(found: "Fit") -> None:
    """The numbers on stdout; how good they are for people."""
    error, paths = found.statistics.error, [one.path for one in found.free]
    rows = [
        (headed(one.path, one.unit), f"{x:.12g}", _error(e, bound), f"{one.start:.6g}")
        for one, x, e, bound in zip(found.free, found.x, error, found.at_bound, strict=True)
    ]
    console.data(console.table(rows, ("number", "value", "standard error", "start"), indent=""))
    if len(paths) > 1:
        cells = [
            (path, *("-" if c != c else f"{c:+.3f}" for c in row))
            for path, row in zip(paths, found.statistics.correlation, strict=True)
        ]
        console.data("\n" + console.table(cells, ("correlation", *paths), indent=""))
    console.data("\n" + set_line(_sets(found)))
    for note in _notes(found):
        console.note(note)
    say_without(found.without)
    console.say(_verdict(found))


def _error(error: float, at_bound: bool) -> str:
    return "at its bound" if at_bound else "not determined" if error != error else f"{error:.3g}"


def _notes(found: "Fit") -> list[str]:
    """What a reader should know of a fit."""
    paths = [one.path for one in found.free]
    notes = [
        f"the data do not determine this direction (relative changes): {one.words(paths)}; its singular value is "
        f"{one.singular_value:.1e} of the largest: fix a number of it"
        for one in found.statistics.undetermined
    ]
    notes += [
        f"{one.path} ended at {x:g}: beyond that the scene is invalid"
        for one, x, is_there in zip(found.free, found.x, found.at_bound, strict=True)
        if one.is_natural and is_there
    ]
    if found.log.ignored:
        notes.append(f"{found.log.path}: not used: {', '.join(found.log.ignored)}")
    if found.log.n_outside:
        notes.append(
            f"{console.plural(found.log.n_outside, 'row')} of {found.log.path} left out, which some offset of the "
            "interval puts outside of the run"
        )
    gaps = found.log.values.size - found.n_data
    if gaps:
        notes.append(f"{console.plural(gaps, 'gap')} of {found.log.values.size} cells left out")
    if not found.absolute:
        notes.append(
            "no standard deviations are given: each column counts by its spread, and the standard errors follow "
            "from the residuals; --sigma NAME=VALUE or columns sigma.NAME give them"
        )
    if found.interpolation > ROUGH * max(float(_relative_residual(found)), 1e-6):
        notes.append(
            f"times between steps are interpolated with an error of about {found.interpolation:.1e} of a column's "
            "spread: a smaller solver.dt lessens it"
        )
    if found.n_beyond == 0:
        notes.append("as many data as free numbers: standard errors and chi-square mean nothing")
    return notes


def _relative_residual(found: "Fit") -> float:
    """Smallest residual or standard deviation of a column, relative to its spread."""
    import numpy as np

    from simcli.search.residuals import spreads

    size = np.nanmin(found.sigma, axis=0) if found.absolute else found.rms
    return (size / spreads(found.log.values)).min()


def _verdict(found: "Fit") -> str:
    rms = ", ".join(
        f"{label} {value:.3g} {unit}"
        for label, value, unit in zip(found.log.labels[:4], found.rms, found.log.units, strict=False)
    )
    chi = f"chi-square {found.chi_square:.6g} with {found.n_beyond} degrees of freedom" if found.absolute else "residuals"
    head = "converged" if found.converged else console.paint("not converged", "bad")
    return f"{head}: {found.reason}; {chi}, rms {rms}; {console.plural(found.n_batches, 'trial')}"


def _sets(found: "Fit") -> list[str]:
    """`KEY=VALUE` of the numbers of the scene."""
    from simcli.search.batches import set_texts

    return set_texts([*found.settings], [*found.settings.values()])


def _data(found: "Fit") -> dict[str, Any]:
    paths, known, at_bound = [one.path for one in found.free], found.statistics, found.at_bound.tolist()
    numbers = [
        {
            "path": one.path,
            "value": x,
            "standard_error": e,
            "start": one.start,
            "unit": one.unit,
            "at_bound": bound,
            "bounds": [one.low, one.high],
        }
        for one, x, e, bound in zip(found.free, found.x, known.error, at_bound, strict=True)
    ]
    return {
        "numbers": numbers,
        "correlation": known.correlation,
        "singular_values": known.singular_values,
        "undetermined": [
            {"singular_value": one.singular_value, "part": dict(zip(paths, one.part.tolist(), strict=True))}
            for one in known.undetermined
        ],
        "chi_square": found.chi_square,
        "degrees_of_freedom": found.n_beyond,
        "absolute_sigma": found.absolute,
        "data": found.n_data,
        "converged": found.converged,
        "reason": found.reason,
        "trials": found.n_batches,
        "rms": [
            {"column": label, "value": value, "unit": unit}
            for label, value, unit in zip(found.log.labels, found.rms, found.log.units, strict=True)
        ],
        "interpolation_error": found.interpolation,
        "sets": _sets(found),
    }
