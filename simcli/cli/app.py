"""The Typer application: which commands there are, and in which order `--help` shows them."""

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, NamedTuple

import typer

from simcli.cli import console
from simcli.cli.options import with_value_words

SCENES = "Scenes"
_RESULTS = "Results"
MECHANICS = "Kinematics and dynamics of states"
STATICS = "Equilibrium and small motions"
_SEARCH = "Searches"
TOOL = "The tool"


class Command(NamedTuple):
    """A command and where it is written.

    Attributes:
        name: as typed, `mass-matrix`.
        panel: where `--help` shows it.
        place: `room.module:function` below simcli.cli; without a function one of the command's own name.
    """

    name: str
    panel: str
    place: str

    def function(self):
        """The function that Typer turns into the command; imports its module."""
        module, _, function = self.place.partition(":")
        return getattr(import_module(f"simcli.cli.{module}"), function or self.name)


COMMANDS = (
    Command("run", SCENES, "runs.run"),
    Command("sweep", SCENES, "sweeps.sweep"),
    Command("check", SCENES, "scenes.check"),
    Command("show", SCENES, "scenes.show"),
    Command("samples", SCENES, "scenes.show"),
    Command("new", SCENES, "scenes.new"),
    Command("import", SCENES, "scenes.import_model:import_command"),
    Command("decompose", SCENES, "scenes.import_model"),
    Command("schema", SCENES, "scenes.docs:schema"),
    Command("explain", SCENES, "scenes.docs:explain"),
    Command("info", _RESULTS, "results.info"),
    Command("table", _RESULTS, "results.table"),
    Command("view", _RESULTS, "results.view"),
    Command("plot", _RESULTS, "results.plot"),
    Command("render", _RESULTS, "results.render"),
    Command("export", _RESULTS, "results.export"),
    Command("diff", _RESULTS, "results.diff"),
    Command("slice", _RESULTS, "results.slice:slice_run"),
    Command("merge", _RESULTS, "results.slice:merge"),
    Command("repair", _RESULTS, "results.info:repair"),
    Command("fk", MECHANICS, "mechanics.rigid_body"),
    Command("ik", MECHANICS, "mechanics.rigid_body"),
    Command("id", MECHANICS, "mechanics.rigid_body"),
    Command("mass-matrix", MECHANICS, "mechanics.rigid_body:mass_matrix"),
    Command("jacobian", MECHANICS, "mechanics.rigid_body"),
    Command("matrices", MECHANICS, "mechanics.questions"),
    Command("contacts", MECHANICS, "mechanics.questions:contacts_at"),
    Command("rays", MECHANICS, "mechanics.questions"),
    Command("equilibrium", STATICS, "mechanics.equilibrium"),
    Command("modes", STATICS, "mechanics.modes"),
    Command("solve", _SEARCH, "sweeps.solve"),
    Command("fit", _SEARCH, "sweeps.fit"),
    Command("optimize", _SEARCH, "sweeps.optimize"),
    Command("docs", TOOL, "scenes.docs"),
    Command("bench", TOOL, "runs.bench"),
    Command("precompile", TOOL, "runs.precompile"),
    Command("doctor", TOOL, "scenes.doctor"),
)
_START = "Start here:  simcli new swing --template pendulum;  simcli run swing.yaml;  simcli view outputs/swing.h5 --open"
_GROUPS = ("sweep",)  # commands that have commands: their function makes the group


def build_app(words: Sequence[str] = ()) -> typer.Typer:
    """The application for a command line.

    Args:
        words: of the command line. If the first that is no option names a command, only that one is imported: the
            modules of the others cost a tenth of a small command's time.

    Returns:
        an application with that command, or with all of them.
    """
    app = typer.Typer(
        add_completion=True,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=_START,
    )
    app.callback()(with_value_words(root))
    first = next((word for word in words if not word.startswith("-")), "")
    for command in [command for command in COMMANDS if command.name == first] or COMMANDS:
        if command.name in _GROUPS:
            app.add_typer(command.function()(), name=command.name, rich_help_panel=command.panel)
        else:
            app.command(command.name, rich_help_panel=command.panel)(with_value_words(command.function()))
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from simcli import __version__
        from simcli.release import commit

        console.data(f"simcli {__version__}" + (f" (commit {commit()})" if commit() else ""))
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks; anywhere on the line.")] = False,
) -> None:
    """Batch multibody simulation: a YAML scene in, a trusted HDF5 trajectory out."""
