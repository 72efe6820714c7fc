"""Where the files that a batch names are: below the scene's folder, where the command line says, or inside a result.

A file that the command line names (`--vary-table`, `from(..)` of `--vary`) may lie anywhere, and its name is relative to the
folder that the command is given in. In a result it is kept under the option and the name as typed; of an earlier run the
values alone are kept, as a table of one column.
"""

import os
from pathlib import Path

from simcli.spec.document.held_files import HeldPath
from simcli.spec.document.named_files import checked_file, present_file
from simcli.spec.document.nodes import Mark
from simcli.spec.document.overrides import VARY, VARY_TABLE
from simcli.spec.document.scene_file import Document
from simcli.spec.faults.fault_list import Faults
from simcli.spec.samples.csv_text import CsvError
from simcli.spec.values.scopes import where_of

TYPED = (VARY, VARY_TABLE)


def kept_name(name: str, mark: Mark, column: str = "") -> str:
    """Under which name a result keeps a file.

    Args:
        name: as written.
        mark: place where it is written.
        column: of an earlier run.
    """
    from urllib.parse import quote

    under = f"{mark.file}/{quote(name, safe='')}" if mark.file in TYPED else name  # one level: it may lead anywhere
    return f"{under}#{column}" if column else under


def shown_name(document: Document, name: str, mark: Mark) -> str:
    """A file as messages name it."""
    is_below = mark.file not in TYPED and not isinstance(document.place, HeldPath)
    return os.path.join(os.path.dirname(document.path), name) if is_below else name


def path_of(document: Document, name: str, mark: Mark, faults: Faults) -> Path | HeldPath | None:
    """A file that a batch names; None after a fault.

    Args:
        document: the scene.
        name: as written.
        mark: place where it is written.
        faults: collects.
    """
    found = _found(document, name, mark, faults)
    document.note_input(found)
    return found


def _found(document: Document, name: str, mark: Mark, faults: Faults) -> Path | HeldPath | None:
    if mark.file not in TYPED:
        return checked_file(name, document.folder, document.folder, where_of(mark), faults)
    if isinstance(document.place, HeldPath) and not _is_typed(document, mark):
        target = HeldPath(document.place.files, kept_name(name, mark))
        return present_file(name, target.parent, target, target.is_file(), where_of(mark), faults)
    path = Path(name)
    try:
        there = path.is_file()
        if path.exists() and not there:
            faults.add("SC110", f"`{name}` is no regular file", where_of(mark), "write it to a file first")
            return None
    except (OSError, ValueError):
        there = False
    return present_file(name, Path(), path, there, where_of(mark), faults)


def earlier_text(document: Document, name: str, column: str, mark: Mark, faults: Faults) -> str | None:
    """A column of an earlier run as a table; None after a fault.

    Args:
        document: the scene.
        name: of the run's file, as written.
        column: as of `simcli table`.
        mark: place where the file is written.
        faults: collects.

    Raises:
        CsvError: some world has no number, or nothing can read runs here.
        SimcliError: the file is no run, or has no such column.
    """
    if isinstance(document.place, HeldPath) and not _is_typed(document, mark):
        data = document.place.files.get(kept_name(name, mark, column))
        if data is None:
            raise CsvError(f"the values of `{column}` of `{name}` are not in the result", "run the scene file itself")
        return data.decode()
    path = path_of(document, name, mark, faults)
    if path is None:
        return None
    if document.read_run is None:
        raise CsvError("earlier runs are not read here", "simcli run, check and simcli.load read them")
    values, unit = document.read_run(str(path), column)
    lacking = next((k for k, value in enumerate(values) if value - value != 0), None)
    if lacking is not None:
        good = f"simcli table {name} --where '{{status}} == ok' -o good.csv"
        raise CsvError(f"world {lacking} of `{name}` has no number `{column}`", f"take a table of the others: `{good}`")
    header = f"{column} [{unit}]" if unit else column
    quoted = '"' + header.replace('"', '""') + '"'
    return "\n".join([quoted, *(repr(float(value)) for value in values)]) + "\n"


def _is_typed(document: Document, mark: Mark) -> bool:
    """Whether an option was given now, not with the run that the scene stands in."""
    same = [one for one in document.overrides if one.option == mark.file]
    return mark.file in TYPED and 0 < mark.line <= len(same) and same[mark.line - 1] in document.typed
