"""The Typer application: which commands there are, and in which order `--help` shows them."""

from typing import Annotated

import typer

from simcli.cli import bench, check, console, doctor, explain, export, info, new, plot, run, schema, show

SCENES = "Scenes"
RESULTS = "Results"
TOOL = "The tool"

app = typer.Typer(
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start here:  simcli new swing --template pendulum;  simcli run swing.yaml;  simcli plot outputs/swing.h5",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from simcli import __version__

        console.data(f"simcli {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks; anywhere on the line.")] = False,
) -> None:
    """Batch multibody simulation: a YAML scene in, a trusted HDF5 trajectory out."""


for _function, _panel in (
    (run.run, SCENES),
    (check.check, SCENES),
    (show.show, SCENES),
    (new.new, SCENES),
    (schema.schema, SCENES),
    (explain.explain, SCENES),
    (info.info, RESULTS),
    (plot.plot, RESULTS),
    (export.export, RESULTS),
    (bench.bench, TOOL),
    (doctor.doctor, TOOL),
):
    app.command(rich_help_panel=_panel)(_function)
