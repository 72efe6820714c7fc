"""`simcli export`: a run, or a scene, in the files of other programs; `FORMATS` says which formats there are."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from simcli.cli import console, progress
from simcli.cli.options import (
    Channels,
    JsonFlag,
    WorldList,
    existing_file,
    file_or_stdout,
    goes_to_stdout,
    output_option,
    parse_worlds,
    spare_runs,
    split_words,
)
from simcli.cli.scene_sources import say_imported, say_report, write_with_meshes
from simcli.errors import Exit, OutputError, UsageError
from simcli.spec.base.fault_list import suffix_of


class _Format(NamedTuple):
    """A format of export.

    Attributes:
        suffix: with its dot.
        what: for people.
        place: `module:function` below simcli; the function takes (asked, path, seen) and returns a count.
        counts: what it counts.
        takes_channels: whether `--channel` chooses; else it holds the motion of the bodies.
        takes_worlds: whether it holds several worlds.
        of_scene: whether it holds a mechanism, not a run: `place` then is "".
        has_folder: whether there is a folder of its name beside it.
        seeks: whether its writer goes back in the file, so that it writes to no pipe.
    """

    suffix: str
    what: str
    place: str
    counts: str = "row"
    takes_channels: bool = True
    takes_worlds: bool = True
    of_scene: bool = False
    seeks: bool = False
    has_folder: bool = False

    def writer(self) -> Callable:
        """The function that writes it."""
        module, _, function = self.place.partition(":")
        return getattr(import_module(f"simcli.{module}"), function)


_USD = {".usda": "USD, text", ".usdc": "USD, a crate", ".usd": "USD, a crate", ".usdz": "USD, a package"}
FORMATS = (
    _Format(".csv", "CSV", "analysis.export.text_files:write_channels_csv"),
    _Format(".parquet", "Parquet", "analysis.export.binary_files:write_parquet", seeks=True),
    _Format(".npz", "arrays of numpy", "analysis.export.binary_files:write_npz", seeks=True),
    _Format(".jsonl", "JSON Lines", "analysis.export.text_files:write_json_lines"),
    _Format(".sto", "storage of OpenSim", "analysis.export.text_files:write_opensim", takes_worlds=False),
    _Format(".mot", "joint coordinates for OpenSim", "analysis.export.text_files:write_motion", takes_worlds=False),
    _Format(
        ".pvd",
        "VTK, with a folder of .vtp beside it",
        "analysis.export.vtk:write",
        "frame",
        takes_channels=False,
        has_folder=True,
    ),
    _Format(".glb", "animated glTF", "view.glb:write", "frame", takes_channels=False, takes_worlds=False),
    *(
        _Format(suffix, what, "view.usd_motion:write", "frame", takes_channels=False, takes_worlds=False)
        for suffix, what in _USD.items()
    ),
    _Format(".urdf", "the mechanism of a scene as URDF", "", "element", of_scene=True),
    _Format(".xml", "the mechanism of a scene as MJCF", "", "element", of_scene=True),
    *(_Format(suffix, f"a scene as {what}, with physics", "", "element", of_scene=True) for suffix, what in _USD.items()),
)


def format_of(path: Path, is_run: bool = True) -> _Format:
    """The format that a suffix names; of those for runs and scenes the one for what is there.

    Raises:
        UsageError: it names none.
    """
    suffix = suffix_of(path, list(dict.fromkeys(one.suffix for one in FORMATS)))
    known = [one for one in FORMATS if one.suffix == suffix]
    return next((one for one in known if one.of_scene != is_run), known[0])


def write_model(scene: Path, target: Path, strict: bool, force: bool, json: bool) -> int:
    """Write the mechanism of a scene, or of the scene inside a run, and say what became of each element.

    Args:
        scene: file.
        target: model; its suffix says the format.
        strict: whether a loss is a negative answer.
        force: whether meshes beside it may be replaced by others.
        json: whether the report goes to stdout.

    Returns:
        The exit code.
    """
    from simcli.exchange.exporting import export_scene
    from simcli.pipeline import read_scene

    document, spec = read_scene(scene)
    say_imported(document, scene)
    folder = f"{target.stem}_meshes"
    found = export_scene(document, spec, target.suffix.lower(), folder)
    write_with_meshes(target, found, force)
    say_report(found.report)
    console.say(f"wrote {target}" + (f" and {console.plural(len(found.files), 'file')} in {folder}/" if found.files else ""))
    if json:
        console.emit("export", {"path": target, "format": target.suffix, **found.report.as_data()})
    return Exit.NEGATIVE if strict and found.report.loses else Exit.OK


_RunOrMechanism = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|SCENE",
        help="Output of `simcli run` (HDF5); for models a scene, too.",
        callback=existing_file,
        show_default=False,
    ),
]


def export(
    file: _RunOrMechanism,
    channel: Channels = [],  # noqa: B006
    world: WorldList = None,
    every: Annotated[int, typer.Option("--every", metavar="N", min=1, help="Every N-th frame.")] = 1,
    output: Annotated[
        Path | None,
        output_option(
            "File to write; its suffix says the format. - for CSV on stdout.", file_or_stdout, show_default="stdout"
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="For models: exit code 1 if motion depends on what is dropped.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing output, and of a model the meshes beside it.")
    ] = False,
    json: JsonFlag = False,
) -> int:
    r"""Write channels as .csv, .parquet, .npz, .jsonl, .sto or .mot, or the motion as .pvd (VTK), .glb or .usdc.

    A scene becomes a model, .urdf, .xml (MJCF) or .usda, with its meshes and a report of what was changed or dropped. USD
    (.usda, .usdc, .usdz) needs usd-core: pip install 'simcli\[usd]'.
    Several worlds get a column `world`. Without --channel: all joint coordinates and velocities. `-c contacts` writes a row
    per contact, with time, world and the names of the shapes. Without -o: CSV to stdout, with --json the columns as JSON.
    Example: simcli export outputs/swing.h5 -c joint.pin.q,energy.total --every 10 -o swing.parquet
    Example: simcli export scenes/puma560.yaml -o puma.urdf
    """
    from simcli.analysis.export.channel_tables import Extract
    from simcli.records.hdf5_bytes import is_hdf5
    from simcli.records.reading.reader import open_trajectory

    output = None if goes_to_stdout(output, json) else output
    target = output or file.with_suffix(".csv")
    format = format_of(target, is_hdf5(file))
    if strict and not format.of_scene:
        raise UsageError("--strict is of models: write -o robot.urdf, -o robot.xml, or of a scene -o robot.usda")
    if output is not None:
        _claim_target(target, format, force, file)
    if format.of_scene:
        if channel or world is not None or every > 1:
            raise UsageError(f"-o {output}: {format.suffix} holds a mechanism: leave out --channel, --world and --every")
        return write_model(file, target, strict, force, json)
    worlds, channels = parse_worlds(world), split_words("--channel", channel)
    if channels and not format.takes_channels:
        raise UsageError(f"-o {output}: {format.suffix} holds the motion of all bodies: leave out --channel")
    if len(worlds) > 1 and not format.takes_worlds:
        raise UsageError(f"-o {output}: {format.suffix} holds one world: choose it with --world")
    with open_trajectory(file) as run, progress.fraction_shown("exporting") as show:
        asked = Extract(run, tuple(channels), tuple(worlds), every)
        names = [source.name for source in asked.sources] if format.takes_channels and not asked.is_of_contacts else channels
        if output is None:
            _to_stdout(asked, {"path": None, "worlds": worlds, "channels": names} if json else None)
            return Exit.OK
        count = format.writer()(asked, target, show)
    console.say(f"wrote {target} ({console.plural(count, format.counts)})")
    if json:
        console.emit(
            "export",
            {"path": target, "format": format.suffix, f"{format.counts}s": count, "worlds": worlds, "channels": names},
        )
    return Exit.OK


def _claim_target(target: Path, format, force: bool, file: Path) -> None:
    from simcli.records.drafts import claim_path, refuse_overwrite

    refuse_overwrite(target, [file])
    if not format.of_scene:
        spare_runs(target, [file])
    claim_path(target, force, seeks=format.seeks)
    folder = target.with_suffix("")  # one that holds anything else is refused where it would be written
    if format.has_folder and not force and folder.is_dir() and all(one.suffix == ".vtp" for one in folder.iterdir()):
        raise OutputError(f"{folder}: exists; add --force to replace it, or choose another file with -o")


def _to_stdout(asked, beside: dict[str, object] | None) -> None:
    """The table as CSV, or as the one JSON document, with what stands beside it there."""
    from simcli.analysis.export.channel_tables import whole_columns
    from simcli.analysis.export.text_files import csv_blocks

    if beside is not None:
        table = asked.table()
        columns = [{"name": header.name, "unit": header.unit, "values": values} for header, values in whole_columns(table)]
        console.emit("export", {**beside, "rows": table.n_rows, "columns": columns})
        return
    for text in csv_blocks(asked.table()):
        if text:
            console.data(text.removesuffix("\n"))
