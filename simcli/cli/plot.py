"""`simcli plot`: a picture of any channel."""

from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import Channels, FilePath, JsonFlag, WorldList, parse_worlds, split_words
from simcli.errors import Exit


def plot(
    file: FilePath,
    channel: Channels = [],  # noqa: B006
    world: WorldList = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Picture to write (png, svg, pdf).", show_default="FILE.png")
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Draw channels over time into a picture.

    Without --channel: the joint coordinates and the energy.
    Example: simcli plot outputs/swing.h5 -c joint.pin.q -c energy.total -o swing.png
    """
    from simcli.analysis.channels import default_channels, read_channels
    from simcli.analysis.plot import draw
    from simcli.records.reader import open_trajectory

    target = output or file.with_suffix(".png")
    with open_trajectory(file) as trajectory:
        names = split_words(channel) or default_channels(trajectory)
        channels = read_channels(trajectory, names, parse_worlds(world))
    draw(channels, target, title=file.stem)
    console.say(f"wrote {target}")
    if json:
        console.emit("plot", {"path": target, "channels": [item.name for item in channels]})
    return Exit.OK
