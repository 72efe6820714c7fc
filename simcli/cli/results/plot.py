"""`simcli plot`: a picture of channels over time, or of measures over worlds."""

import contextlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simcli.cli import console
from simcli.cli.options import (
    Channels,
    Condition,
    FilePaths,
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
    from simcli.records.reading.reader import Trajectory

MAX_NAMED = 2  # parameters that a legend shows of a world
OVER_WORLDS = "as world, params.l, measure.peak"


def plot(
    files: FilePaths,
    channel: Channels = [],  # noqa: B006
    x: Annotated[str, typer.Option("-x", metavar="NAME", help=f"Over worlds: along x, {OVER_WORLDS}.")] = "",
    y: Annotated[str, typer.Option("-y", metavar="NAME", help="Over worlds: along y.")] = "",
    z: Annotated[str, typer.Option("-z", metavar="NAME", help="Over worlds: as colour.")] = "",
    where: Condition = [],  # noqa: B006
    world: WorldList = None,
    output: Annotated[
        Path | None, output_option("Picture to write (png, svg, pdf).", show_default="FILE.png, of the first")
    ] = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Draw here in characters, and write no picture.")] = False,
    force: ReplaceForeign = False,
    json: JsonFlag = False,
) -> int:
    """Draw channels over time, or parameters and measures over worlds (-x, -y, -z), into a picture.

    Without --channel: the joint coordinates and the energy; of more than 12 worlds the median and the band of 5 to 95 %.
    -x or -y alone is a histogram, both are a line or points, with -z a heat map.
    Several files, as runs with other options, come into one picture; the legend tells them apart.
    Example: simcli plot outputs/swing.h5 -c joint.pin.q -c energy.total -o swing.png
    Example: simcli plot outputs/batch.h5 -x params.l -y measure.peak
    Example: simcli plot outputs/stiff.h5 outputs/soft.h5 -c joint.pin.q -o both.png
    """
    from simcli.analysis.worlds.world_table import read_table
    from simcli.records.drafts import claim_path
    from simcli.records.reading.reader import open_trajectory

    over_worlds = [name for name in (x, y, z) if name]
    _check_words(files, channel, over_worlds, bool(z), terminal, output)
    target = output or files[0].with_suffix(".png")
    if not terminal:
        spare_runs(target, files)
        claim_path(target, force)
    with contextlib.ExitStack() as opened:
        runs = [opened.enter_context(open_trajectory(path)) for path in files]
        table = read_table(runs)
        for condition in where:
            table = table.where(condition)
        if world is not None or not (over_worlds or where):
            table = table.only(parse_worlds(world), runs)
        if not table.n_rows:
            raise UsageError("no world meets the condition: nothing to draw")
        title = files[0].stem if len(files) == 1 else ""
        if over_worlds:
            figure, shown = _over_worlds(table, over_worlds, title, bool(x))
        else:
            figure, shown = _over_time(runs, table, split_words("--channel", channel), title)
    if terminal:
        _show(figure, json)
    else:
        _save(figure, target)
    if json:
        console.emit("plot", {"path": None if terminal else target, **shown})
    return Exit.OK


def _check_words(
    files: list[Path], channel: list[str], over_worlds: list[str], has_colour: bool, terminal: bool, output: Path | None
) -> None:
    """Refuse words that contradict each other."""
    if over_worlds and channel:
        raise UsageError("-c is drawn over time, -x -y -z over worlds: one picture shows one of them")
    if has_colour and len(over_worlds) < 3:
        raise UsageError("-z is the colour at -x and -y: name both")
    if terminal and (output or has_colour):
        why = "writes no picture: leave -o out" if output else "shows no heat map: leave it out for a picture"
        raise UsageError(f"--terminal {why}")
    for path in files:
        if files.count(path) > 1:
            raise UsageError(f"{path} is named twice: a picture shows each file once")


def _show(figure, beside_json: bool) -> None:
    from simcli.analysis.export.plot import text_of

    encoding = (sys.stdout.encoding or "").lower()
    write = console.say if beside_json else console.picture
    write(text_of(figure, encoding.startswith("utf"), console.colour_wanted()))


def _save(figure, target: Path) -> None:
    from simcli.analysis.export.plot import save_figure

    save_figure(figure, target)
    console.say(f"wrote {target}")


def _over_worlds(table: "WorldTable", names: list[str], title: str, along_x: bool) -> tuple[object, dict]:
    from simcli.analysis.export.plot_worlds import draw_worlds

    drawn = draw_worlds(table, names, title, along_x)
    columns = [table.column(name).name for name in names]
    return drawn.figure, {
        "kind": drawn.kind,
        "columns": columns,
        "worlds": drawn.n_worlds,
        "failed": drawn.n_failed,
        "without_value": drawn.n_missing,
    }


def _over_time(runs: "list[Trajectory]", table: "WorldTable", names: list[str], title: str) -> tuple[object, dict]:
    from simcli.analysis.channels import energy_rounding, read_channels, without_rounding
    from simcli.analysis.export.plot import MAX_LEGEND, draw_channels

    parts = table.by_file(len(runs))
    names = names or _common_channels(runs)
    channels, behind = [], ""
    told: dict[tuple[str, int], str] = {}
    for (file, part), run in zip(parts.items(), runs, strict=True):
        worlds = part.columns["world"].values.tolist()
        if worlds:
            rounding = energy_rounding(run, worlds)
            for channel in read_channels(run, names, worlds, file=file):
                channels.append(replace(channel, values=without_rounding(channel.name, channel.values, rounding)))
        if 1 < len(worlds) <= MAX_LEGEND:
            words, behind = _names(part)
            told |= {(file, world): word for world, word in words.items()}
    figure = draw_channels(channels, title, told, behind)
    return figure, {"channels": list(dict.fromkeys(item.name for item in channels))}


def _common_channels(runs: "list[Trajectory]") -> list[str]:
    """What is drawn where nothing is named: of several files what all of them hold."""
    from simcli.analysis.channels import available, default_channels

    names = default_channels(runs[0])
    found = [name for name in names if all(name in available(run) for run in runs[1:])]
    if not found and names:
        raise UsageError(f"{runs[0].path} and the other files have none of {', '.join(names)} in common: name some by -c")
    return found


def _names(table: "WorldTable") -> tuple[dict[int, str], str]:
    """Worlds with the values of their parameters, as a legend shows them, and what these are."""
    from simcli.analysis.worlds.world_columns import IN_BATCH

    varied = table.varied if len(table.varied) <= MAX_NAMED else []
    worlds, in_batch = table.columns["world"].values.tolist(), table.columns.get(IN_BATCH)
    if not varied and in_batch is None:
        return {}, ""
    names = {world: f"world {world}" for world in worlds}
    if in_batch is not None:
        names = {
            world: f"{names[world]} ({number} of the batch)"
            for world, number in zip(worlds, in_batch.values.tolist(), strict=True)
        }
    if varied:
        names = {
            world: f"{names[world]}: " + ", ".join(f"{one.values[row]:.4g}" for one in varied)
            for row, world in enumerate(worlds)
        }
    return names, "\n".join(one.title for one in varied)
