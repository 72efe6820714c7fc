"""`simcli diff`: what differs between two runs."""

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simcli.cli import console, progress
from simcli.cli.options import Channels, JsonFlag, existing_file, parse_worlds, split_words
from simcli.cli.results import diff_text
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

RTOL, ATOL = 1e-6, 1e-9  # far above rounding, far below what a picture shows; atol in SI units


class By(StrEnum):
    """What frames that are compared have in common."""

    TIME = "time"
    STEP = "step"


def _file(metavar: str, words: str):
    return typer.Argument(metavar=metavar, help=words, callback=existing_file, show_default=False)


def diff(
    a: Annotated[Path, _file("A", "Output of `simcli run` (HDF5).")],
    b: Annotated[Path, _file("B", "Another one.")],
    exact: Annotated[
        bool, typer.Option("--exact", help="Every bit of every dataset; names the first bit that differs.")
    ] = False,
    rtol: Annotated[
        float | None, typer.Option("--rtol", metavar="R", min=0, help="Of the larger number.", show_default=f"{RTOL:g}")
    ] = None,
    atol: Annotated[
        float | None, typer.Option("--atol", metavar="T", min=0, help="In SI units, added to it.", show_default=f"{ATOL:g}")
    ] = None,
    align: Annotated[
        By | None, typer.Option("--align", help="Compare frames of one time, or of one step count.", show_default="time")
    ] = None,
    channel: Channels = [],  # noqa: B006
    world: Annotated[
        str | None, typer.Option("--world", metavar="I,J", help="Worlds, as 3 or 0,4 or 0-7. Default: all that both have.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Long lists in full, with the channels that are equal.")] = False,
    json: JsonFlag = False,
) -> int:
    """Compare two runs: scenes, versions, and each channel by time, world and name.

    Exit code 1 if a channel is above the tolerance, |a - b| > atol + rtol max(|a|, |b|), or with --exact if any bit differs.
    Solvers, steps, selections and orders may differ. Example: simcli diff outputs/a.h5 outputs/b.h5 --rtol 1e-4
    """
    from simcli.records.reading.reader import open_trajectory

    if exact and (rtol is not None or atol is not None or align is not None or channel or world is not None):
        raise UsageError(
            "--exact compares all bits of both files: leave out --rtol, --atol, --align, --channel, --world; "
            "`--rtol 0 --atol 0` compares some channels or worlds number by number"
        )
    with open_trajectory(a) as first, open_trajectory(b) as second:
        if exact:
            return _exact(first, second, everything, json)
        tolerance = (RTOL if rtol is None else rtol, ATOL if atol is None else atol)
        if not all(map(math.isfinite, tolerance)):
            raise UsageError("--rtol and --atol are finite numbers")
        worlds = None if world is None else parse_worlds(world)
        channels = split_words("--channel", channel)
        return _within(first, second, tolerance, align or By.TIME, channels, worlds, everything, json)


def _exact(a: "Trajectory", b: "Trajectory", everything: bool, json: bool) -> int:
    from simcli.analysis.diff.scenes_and_models import fact_changes, name_changes, scene_changes
    from simcli.records.integrity.bits import differing_bits, size_of_rows

    total, done = max(size_of_rows(a) + size_of_rows(b), 1), 0
    with progress.fraction_shown("comparing") as show:

        def seen(n_bytes: int) -> None:
            nonlocal done
            done += n_bytes
            show(min(done / total, 1.0))

        found = differing_bits(a, b, seen)
    scene, facts, names = scene_changes(a, b), fact_changes(a, b), name_changes(a, b)
    if json:
        document = {
            "equal": not found,
            "first": found[0].path if found else None,
            "datasets": [diff_text.bit_data(one) for one in found],
        }
        console.emit("diff", diff_text.head_data(a, b, scene, facts, names) | {"exact": True} | document)
    else:
        head = diff_text.head(a, b, scene, facts, names, [], everything)
        console.data("\n".join([*head, *diff_text.bits(found, everything)]))
        console.say(diff_text.exact_verdict(found))
    return Exit.NEGATIVE if found else Exit.OK


def _within(
    a: "Trajectory",
    b: "Trajectory",
    tolerance: tuple[float, float],
    align: By,
    channels: list[str],
    worlds: list[int] | None,
    everything: bool,
    json: bool,
) -> int:
    from simcli.analysis.diff.comparison import Asked, compare
    from simcli.analysis.diff.extremes import Tolerance
    from simcli.analysis.diff.run_pairs import Align

    asked = Asked(Tolerance(*tolerance), Align(align.value), channels, worlds)
    with progress.fraction_shown("comparing") as show:
        found = compare(a, b, asked, show)
    if json:
        head = diff_text.head_data(a, b, found.scene, found.facts, found.names) | {"exact": False}
        console.emit("diff", head | diff_text.comparison_data(a, b, found, asked.tolerance))
    else:
        lines = diff_text.head(a, b, found.scene, found.facts, found.names, found.params, everything)
        console.data("\n".join([*lines, *diff_text.comparison(a, b, found, everything)]))
        console.say(diff_text.diff_verdict(found, asked.tolerance))
    return Exit.NEGATIVE if found.above else Exit.OK
