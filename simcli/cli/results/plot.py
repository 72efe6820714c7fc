"""`simcli plot`: a picture of channels over time, or of measures over worlds."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simcli.cli import console
from simcli.cli.options import (
    Channels,
    Condition,
    FilePath,
    JsonFlag,
    ReplaceForeign,
    WorldList,
    output_option,
    parse_worlds,
    spare_runs,
    split_words,
)
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.analysis.worlds.world_table import WorldTable

MAX_NAMED = 2  # parameters that a legend shows of a world
OVER_WORLDS = "as world, params.l, measure.peak"


def plot(
    file: FilePath,
    channel: Channels = [],  # noqa: B006
    x: Annotated[str, typer.Option("-x", metavar="NAME", help=f"Over worlds: along x, {OVER_WORLDS}.")] = "",
    y: Annotated[str, typer.Option("-y", metavar="NAME", help="Over worlds: along y.")] = "",
    z: Annotated[str, typer.Option("-z", metavar="NAME", help="Over worlds: as colour.")] = "",
    where: Condition = [],  # noqa: B006
    world: WorldList = None,
    output: Annotated[
        Path | None, output_option("Picture to write (png, svg, pdf).", show_default="FILE.png")
    ] = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Draw here in characters, and write no picture.")] = False,
    force: ReplaceForeign = False,
    json: JsonFlag = False,
) -> int:
    """Draw channels over time, or parameters and measures over worlds (-x, -y, -z), into a picture.

    Without --channel: the joint coordinates and the energy; of more than 12 worlds the median and the band of 5 to 95 %.
    -x or -y alone is a histogram, both are a line or points, with -z a heat map.
    Example: simcli plot outputs/swing.h5 -c joint.pin.q -c energy.total -o swing.png
    Example: simcli plot outputs/batch.h5 -x params.l -y measure.peak
    """
    from simcli.analysis.worlds.world_table import read_table
    from simcli.records.drafts import claim_path
    from simcli.records.reading.reader import open_trajectory

    over_worlds = [name for name in (x, y, z) if name]
    if over_worlds and channel:
        raise UsageError("-c is drawn over time, -x -y -z over worlds: one picture shows one of them")
    if z and not (x and y):
        raise UsageError("-z is the colour at -x and -y: name both")
    if terminal and (output or z):
        why = "writes no picture: leave -o out" if output else "shows no heat map: leave it out for a picture"
        raise UsageError(f"--terminal {why}")
    target = output or file.with_suffix(".png")
    if not terminal:
        spare_runs(target, [file])
        claim_path(target, force)
    with open_trajectory(file) as trajectory:
        table = read_table([trajectory])
        for condition in where:
            table = table.where(condition)
        if world is not None or not (over_worlds or where):
            table = table.only(parse_worlds(world), trajectory.n_worlds)
        if not table.n_rows:
            raise UsageError("no world meets the condition: nothing to draw")
        if over_worlds:
            figure, shown = _over_worlds(table, over_worlds, file.stem, bool(x))
        else:
            figure, shown = _over_time(trajectory, table, split_words("--channel", channel), file.stem)
    if terminal:
        _show(figure, json)
    else:
        _save(figure, target)
    if json:
        console.emit("plot", {"path": None if terminal else target, **shown})
    return Exit.OK


def _show(figure, beside_json: bool) -> None:
    from simcli.analysis.plots.plot_terminal import text_of

    encoding = (sys.stdout.encoding or "").lower()
    write = console.say if beside_json else console.picture
    write(text_of(figure, encoding.startswith("utf"), console.colour_wanted()))


def _save(figure, target: Path) -> None:
    from simcli.analysis.plots.plot import save_figure

    save_figure(figure, target)
    console.say(f"wrote {target}")


def _over_worlds(table: "WorldTable", names: list[str], title: str, along_x: bool) -> tuple[object, dict]:
    from simcli.analysis.plots.plot_worlds import draw_worlds

    drawn = draw_worlds(table, names, title, along_x)
    columns = [table.column(name).name for name in names]
    return drawn.figure, {"kind": drawn.kind, "columns": columns, "worlds": drawn.n_worlds, "failed": drawn.n_failed,
                          "without_value": drawn.n_missing}  # fmt: skip


def _over_time(trajectory, table: "WorldTable", names: list[str], title: str) -> tuple[object, dict]:
    from simcli.analysis.channels import default_channels, read_channels
    from simcli.analysis.plots.plot import MAX_LEGEND, draw_channels

    worlds = table.columns["world"].values.tolist()
    channels = read_channels(trajectory, names or default_channels(trajectory), worlds)
    figure = draw_channels(channels, title, *(_names(table) if 1 < len(worlds) <= MAX_LEGEND else ()))
    return figure, {"channels": [item.name for item in channels]}


def _names(table: "WorldTable") -> tuple[dict[int, str], str]:
    """Worlds with the values of their parameters, as a legend shows them, and what these are."""
    from simcli.analysis.worlds.world_table import IN_BATCH

    varied = table.varied if len(table.varied) <= MAX_NAMED else []
    worlds, in_batch = table.columns["world"].values.tolist(), table.columns.get(IN_BATCH)
    if not varied and in_batch is None:
        return {}, ""
    names = {world: f"world {world}" for world in worlds}
    if in_batch is not None:
        names = {world: f"{names[world]} ({number} of the batch)"
                 for world, number in zip(worlds, in_batch.values.tolist(), strict=True)}  # fmt: skip
    if varied:
        names = {world: f"{names[world]}: " + ", ".join(f"{one.values[row]:.4g}" for one in varied)
                 for row, world in enumerate(worlds)}  # fmt: skip
    return names, "\n".join(one.title for one in varied)
