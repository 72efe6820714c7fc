"""The command line: the only room that prints or exits.

Comes in: argv, signals, terminals. Goes out: text for people on stderr, data on stdout, an exit code of `errors.Exit`.
Never found here: physics, numbers, file formats. Each command is one file; it imports what is heavy inside its
function, so that `simcli --help` starts neither Taichi nor HDF5 nor numpy.

    app             the Typer application: which commands there are, and in which order `--help` shows them
    process         every way out of a command: exit codes, one-line messages, and the report file of an internal error
    usage_text      what is wrong with a value of an option, in our words
    console         two streams: data on stdout, talk on stderr
    options         options that several commands share, declared once
    interrupts      ctrl-C, SIGTERM and SIGUSR1, by the stage of a run
    progress        what is said while something goes on: one live line on a terminal
    terminal_table  tables on a terminal, by rich
    markdown_text   markdown on the terminal, by rich: in colours where there are some, else as plain text
    shipped         scenes that come with the program
    scenes          commands on scenes and on the tool itself, without a run
    runs            commands that run one scene
    results         commands on files that runs have left
    mechanics       commands on states: kinematics, dynamics, equilibria and small motions
    search          commands that look for numbers of a scene, in rounds of one batch each
    sweeps          `simcli sweep`: many batches with a ledger
    bench           `simcli bench`: how fast it is here
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
