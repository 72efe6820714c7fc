"""`simcli export`: a run in the files of other programs."""

from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console, progress
from simcli.cli.options import Channels, FilePath, JsonFlag, WorldList, parse_worlds, split_words
from simcli.errors import Exit, UsageError


def export(
    file: FilePath,
    channel: Channels = [],  # noqa: B006
    world: WorldList = None,
    every: Annotated[int, typer.Option("--every", metavar="N", min=1, help="Every N-th frame.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write; its suffix says the format. - for CSV on stdout.",
                     show_default="stdout"),
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Write channels as .csv, .parquet, .npz, .jsonl, .sto or .mot, or the motion as .pvd (VTK) or .glb.

    Several worlds get a column `world`. Without --channel: all joint coordinates and velocities. `-c contacts` writes a row
    per contact, with time, world and the names of the shapes. Without -o: CSV to stdout.
    Example: simcli export outputs/swing.h5 -c joint.pin.q,energy.total --every 10 -o swing.parquet
    """
    from simcli.analysis.export.tables import Extract
    from simcli.cli.results.export_formats import format_of
    from simcli.records.reading.reader import open_trajectory

    output = None if output == Path("-") else output
    to_stdout = output is None and not json
    target = output or file.with_suffix(".csv")
    format = format_of(target)
    worlds, channels = parse_worlds(world), split_words(channel)
    if channels and not format.takes_channels:
        raise UsageError(f"-o {output}: {format.suffix} holds the motion of all bodies: leave out --channel")
    if len(worlds) > 1 and not format.takes_worlds:
        raise UsageError(f"-o {output}: {format.suffix} holds one world: choose it with --world")
    if target.exists() and target.samefile(file):
        raise UsageError(f"-o {output}: is the file that is read; name another one")
    with open_trajectory(file) as run, progress.fraction_shown("exporting") as show:
        asked = Extract(run, tuple(channels), tuple(worlds), every)
        if to_stdout:
            _to_stdout(asked)
            return Exit.OK
        count = format.writer()(asked, target, show)
        names = [source.name for source in asked.sources] if format.takes_channels and not asked.is_of_contacts else channels
    console.say(f"wrote {target} ({console.plural(count, format.counts)})")
    if json:
        console.emit("export", {"path": target, "format": format.suffix, f"{format.counts}s": count, "worlds": worlds,
                                "channels": names})  # fmt: skip
    return Exit.OK


def _to_stdout(asked) -> None:
    from simcli.analysis.export.csv_text import csv_blocks

    for text in csv_blocks(asked.table()):
        if text:
            console.data(text.removesuffix("\n"))
