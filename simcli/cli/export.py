"""`simcli export`: channels as CSV."""

import io
from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import Channels, FilePath, JsonFlag, WorldList, parse_worlds, split_words
from simcli.errors import Exit, UsageError

SUFFIXES = (".csv",)


def export(
    file: FilePath,
    channel: Channels = [],  # noqa: B006
    world: WorldList = None,
    every: Annotated[int, typer.Option("--every", metavar="N", min=1, help="Every N-th frame.")] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV file to write, - for stdout.", show_default="stdout")
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Write channels as CSV, to stdout or to a file.

    The header holds names and units; several worlds get a column `world`. Without --channel: all joint coordinates
    and velocities. `-c contacts` writes a row per contact, with time, world and the names of the shapes.
    Example: simcli export outputs/swing.h5 -c joint.pin.q,energy.total --every 10 > swing.csv
    """
    from simcli.analysis.channels import CONTACTS, default_columns, read_channels
    from simcli.analysis.export import write_contacts, write_csv, written
    from simcli.records.reader import open_trajectory

    output = None if output == Path("-") else output
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise UsageError(f"-o {output}: the suffix says the format; write a name that ends in {' or '.join(SUFFIXES)}")
    target = output or file.with_suffix(".csv")
    to_stdout = output is None and not json
    with open_trajectory(file) as trajectory:
        names = split_words(channel) or default_columns(trajectory)
        worlds = parse_worlds(world)
        channels = [] if names == [CONTACTS] else read_channels(trajectory, names, worlds, every)
        with io.StringIO(newline="") if to_stdout else written(target) as stream:
            count = write_csv(channels, stream) if channels else write_contacts(trajectory, stream, worlds, every)
            text = stream.getvalue() if to_stdout else ""
    if to_stdout:
        console.data(text.rstrip("\n"))
        return Exit.OK
    console.say(f"wrote {target} ({count} rows)")
    if json:
        console.emit("export", {"path": target, "rows": count, "channels": [item.name for item in channels] or names})
    return Exit.OK
