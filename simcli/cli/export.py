"""`simcli export`: channels as CSV."""

import io
from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import Channels, FilePath, JsonFlag, WorldList, parse_worlds, split_words
from simcli.errors import Exit


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
    and velocities. Example: simcli export outputs/swing.h5 -c joint.pin.q,energy.total --every 10 > swing.csv
    """
    from simcli.analysis.channels import default_columns, read_channels
    from simcli.analysis.export import write_csv
    from simcli.records.reader import open_trajectory

    with open_trajectory(file) as trajectory:
        names = split_words(channel) or default_columns(trajectory)
        channels = read_channels(trajectory, names, parse_worlds(world), every)
    output = None if output == Path("-") else output
    if output is None and not json:
        text = io.StringIO(newline="")
        write_csv(channels, text)
        console.data(text.getvalue().rstrip("\n"))
        return Exit.OK
    target = output or file.with_suffix(".csv")
    with target.open("w", newline="", encoding="utf-8") as stream:
        count = write_csv(channels, stream)
    console.say(f"wrote {target} ({count} rows)")
    if json:
        console.emit("export", {"path": target, "rows": count, "channels": [item.name for item in channels]})
    return Exit.OK
