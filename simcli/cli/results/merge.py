"""`simcli merge`: the worlds of several runs in one file."""

import sys
from contextlib import ExitStack

from simcli.cli import progress
from simcli.cli.options import FilePaths, JsonFlag, NewFile, Replace
from simcli.cli.results.slice import say_written
from simcli.errors import UsageError


def merge(files: FilePaths, output: NewFile, force: Replace = False, json: JsonFlag = False) -> int:
    """Write the worlds of several runs of one scene, one after the other, as a file like that of a run.

    The runs have the same scene but for its `batch`, the same times, channels and measures; `simcli slice` makes them so.
    Example: simcli merge outputs/seed1.h5 outputs/seed2.h5 -o outputs/both.h5
    """
    from simcli.analysis.parts import check_target, write_merge
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
