"""`simcli repair`: a file whose writer was killed, for every HDF5 program."""

from simcli.cli import console
from simcli.cli.options import FilePath, JsonFlag
from simcli.errors import Exit


def repair(file: FilePath, json: JsonFlag = False) -> int:
    """Make the output of a killed run readable for other programs.

    Clears the mark by which HDF5 refuses it, cuts what was not committed, and marks the run as stopped; `--resume` can still
    go on with it. simcli itself reads such a file as it is. Example: simcli repair outputs/swing.h5
    """
    from simcli.records.integrity.repair import repair_file

    done = repair_file(file)
    if json:
        console.emit("repair", {"path": file, "done": done})
    else:
        console.say(done)
    return Exit.OK
