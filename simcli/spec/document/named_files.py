"""Files that a scene names: they lie below its folder, and are regular files."""

import os
from pathlib import Path

from simcli.errors import Where
from simcli.spec.document.held_files import HeldPath
from simcli.spec.faults.fault_list import Faults, did_you_mean


def checked_file(name: str, folder: Path | HeldPath, top: Path | HeldPath, where: Where,
                 faults: Faults) -> Path | HeldPath | None:  # fmt: skip
    """The real path of a file that a scene names, if it lies below the scene's folder and is a regular file."""
    target = folder / name
    try:
        target = target.resolve()
        inside = not os.path.isabs(name) and target.is_relative_to(top)
        there = inside and target.is_file()
    except (OSError, ValueError, RuntimeError):
        inside, there = True, False
    if not inside:
        faults.add("SC111", f"`{name}` is outside the folder of the scene", where, "files lie below the scene's folder")
        return None
    return present_file(name, folder, target, there, where, faults)


def present_file(name: str, folder: Path | HeldPath, target: Path | HeldPath, there: bool, where: Where,
                 faults: Faults) -> Path | HeldPath | None:  # fmt: skip
    """A file if it is there; a fault if not, with the nearest name of its folder."""
    if not there and isinstance(target, HeldPath) and target.is_left_out:
        faults.add("SC110", f"`{name}` was too large to be kept in the result", where, "run the scene file itself")
        return None
    if not there:
        try:
            siblings = sorted(entry.name for entry in (folder / name).parent.iterdir())[:500]
        except (OSError, ValueError):
            siblings = []
        faults.add("SC110", f"there is no file `{name}`", where, did_you_mean(os.path.basename(name), siblings, "there"))
        return None
    return target
