"""The command line: the only room that prints or exits.

Comes in: argv, signals, terminals. Goes out: text for people on stderr, data on stdout, an exit code of `errors.Exit`.
Never found here: physics, numbers, file formats. `app.py` says in which file each command is; a command imports what is
heavy inside its function, so that `simcli --help` starts neither Taichi nor HDF5 nor numpy.

Folders, bottom to top: mechanics, runs; results, search, sweeps; scenes. The files beside them are below all of these.
"""

import os
import sys
from collections.abc import Sequence

DEBUG_FLAG = "--debug"
JSON_FLAG = "--json"
INTERRUPTED = 130  # errors.Exit.INTERRUPTED, without an import that could be interrupted


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and leave the process with its exit code.

    Args:
        argv: words after the program's name, default `sys.argv[1:]`.

    Raises:
        SystemExit: always, unless `argv` is left out and the process ends at once.
    """
    try:
        from simcli.cli.process import leave_process, run_command, start_process

        if argv is None:
            start_process()
        words = list(sys.argv[1:] if argv is None else argv)
        # `--debug` is accepted anywhere: it is what one adds at the end of a line that has just failed.
        debug = DEBUG_FLAG in words
        kept, at_once = [word for word in words if word != DEBUG_FLAG], argv is None
        code = run_command(kept, debug=debug, as_json=JSON_FLAG in words, at_once=at_once)
        leave_process(code, at_once=at_once)
    except KeyboardInterrupt:  # before or after the command itself, while Python imports or tidies up
        os._exit(INTERRUPTED)
