"""`simcli slice`: a part of a run as a run. `simcli merge`: the worlds of several runs in one file."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console, progress
from simcli.cli.options import (
    FilePath,
    FilePaths,
    JsonFlag,
    NewFile,
    Replace,
    SelectPatterns,
    parse_worlds,
    seconds,
    split_words,
)
from simcli.errors import Exit, UsageError


def slice_run(
    file: FilePath,
    output: NewFile,
    since: Annotated[
        str | None, typer.Option("--from", metavar="T", help="First time, 0.5 or '500 ms'.", show_default=False)
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="T", help="Last time.", show_default=False)] = None,
    frames: Annotated[
        str | None, typer.Option("--frames", metavar="A:B:C", help="Frames, as 10:20, ::100 or -1.", show_default=False)
    ] = None,
    world: Annotated[
        str | None, typer.Option("--world", metavar="I,J", help="Worlds, as 3 or 0,4 or 0-7. Default: all.")
    ] = None,
    channel: Annotated[
        list[str],
        typer.Option(
            "--channel",
            "-c",
            metavar="NAME",
            help="Groups as in `output.channels`: state, joints, bodies, energy, reactions, contacts, body_qdd.",
        ),
    ] = [],  # noqa: B006  (Typer copies it)
    select: SelectPatterns = [],  # noqa: B006
    force: Replace = False,
    json: JsonFlag = False,
) -> int:
    """Write some frames, worlds, channels, bodies or joints of a run as a file like that of a run.

    Measures, parameters and events of the worlds stay; frames keep their times. Events after the last frame go.
    Example: simcli slice outputs/batch.h5 --world 3,7 --from 2 --until 4 -c state -o outputs/two.h5
    """
    from simcli.analysis.export.run_parts import Slice, check_target, write_slice
    from simcli.records.reading.reader import open_trajectory

    asked = Slice(
        frames=frames,
        since=None if since is None else seconds("--from", since),
        until=None if until is None else seconds("--until", until),
        worlds=None if world is None else tuple(parse_worlds(world)),
        channels=tuple(split_words("--channel", channel)),
        select=tuple(split_words("--select", select)),
    )
    check_target(output, [file], force)
    with open_trajectory(file) as run, progress.fraction_shown("slicing") as show:
        write_slice(run, asked, output, ("simcli", *sys.argv[1:]), show)
    return say_written("slice", output, [file], json)


def say_written(kind: str, path: Path, sources: list[Path], as_json: bool) -> int:
    """Tell what was written."""
    from simcli.records.integrity.verification import file_info

    found = file_info(path)
    counts = f"{console.plural(found['frames'], 'frame')}, {console.plural(found['worlds'], 'world')}"
    console.say(f"wrote {path} ({counts}, {console.size_text(found['bytes'])})")
    if as_json:
        console.emit(
            kind,
            {
                "path": path,
                "from": sources,
                **{
                    key: found[key]
                    for key in ("frames", "worlds", "time", "bytes", "channels", "bodies", "joints", "digest")
                },
            },
        )
    return Exit.OK


def merge(files: FilePaths, output: NewFile, force: Replace = False, json: JsonFlag = False) -> int:
    """Write the worlds of several runs of one scene, one after the other, as a file like that of a run.

    The runs have the same scene but for its `batch`, the same times, channels and measures; `simcli slice` makes them so.
    Example: simcli merge outputs/seed1.h5 outputs/seed2.h5 -o outputs/both.h5
    """
    from simcli.analysis.export.run_parts import check_target, write_merge
    from simcli.records.reading.reader import open_trajectory

    if len(files) < 2:
        raise UsageError("name two runs at least; `simcli slice` copies one")
    doubled = next((one for k, one in enumerate(files) if any(one.samefile(other) for other in files[:k])), None)
    if doubled:
        raise UsageError(f"{doubled} is named twice: its worlds would be in the file twice")
    check_target(output, files, force)
    with ExitStack() as stack, progress.fraction_shown("merging") as show:
        runs = [stack.enter_context(open_trajectory(file)) for file in files]
        write_merge(runs, output, ("simcli", *sys.argv[1:]), show)
    return say_written("merge", output, files, json)
