"""The error tree, places in scene files, and exit codes. Imports nothing of simcli."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """Process exit codes of every simcli command."""

    OK = 0
    NEGATIVE = 1  # check found errors, an expectation failed, diff differs
    USAGE = 2
    SCENE = 3
    SIMULATION = 4
    DEVICE = 5
    OUTPUT = 6
    FILE = 7
    INTERNAL = 70
    STOPPED = 75
    INTERRUPTED = 130


@dataclass(frozen=True)
class Where:
    """A place in a scene file.

    Attributes:
        file: path as the user gave it; for a value of the command line its option, as "--set" or "--dt". Then the line
            counts the uses of the option, and the columns are those of the text after it.
        line: 1-based line, 0 if there is none.
        column: 1-based column.
        length: number of characters to underline.
        path: dotted key path, as `joints.pin.limit`.
    """

    file: str
    line: int
    column: int
    length: int = 1
    path: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a scene.

    Attributes:
        code: a rule code with a page, as "SC204" (`simcli explain SC204`).
        message: one line: what is wrong, with the names and numbers involved.
        where: place, or None when the fault has no place.
        hint: what the user can do, shown beside the caret.
        severity: "error", "warning", or "note": nothing is wrong, `check` of a valid scene mentions it.
    """

    code: str
    message: str
    where: Where | None = None
    hint: str = ""
    severity: str = "error"


class SimcliError(Exception):
    """Base of every error that simcli raises on purpose; the message is for the user."""

    exit_code: int = Exit.INTERNAL


class UsageError(SimcliError):
    """The command line asks for something that does not exist or contradicts itself."""

    exit_code = Exit.USAGE


class SceneError(SimcliError):
    """A scene is invalid. Carries every fault found, not the first one.

    Attributes:
        faults: all of them.
        document: the `spec.Document` that knows the text of their places, None if it was never read.
        spec: the `spec.SceneSpec` if the scene could be understood all the same, else None.
    """

    exit_code = Exit.SCENE

    def __init__(self, faults: list[Fault], document: Any = None, spec: Any = None):
        self.faults, self.document, self.spec = list(faults), document, spec
        lines = [f"{fault.where or ''}: {fault.code}: {fault.message}" for fault in self.faults]
        super().__init__("\n".join(lines))

    def __reduce__(self):  # a process hands it to another one: without the text of the scene, which may be large
        return type(self), (self.faults,)


class SimulationError(SimcliError):
    """A simulation failed in at least one world."""

    exit_code = Exit.SIMULATION


class DeviceError(SimcliError):
    """The device that was asked for is missing, lacks a precision, or is out of memory."""

    exit_code = Exit.DEVICE


class DeviceMemoryError(DeviceError):
    """The worlds of a run need more memory than the device has.

    Attributes:
        n_fit: worlds that it suffices for, 0 if fewer worlds are no way out.
    """

    def __init__(self, message: str, n_fit: int):
        super().__init__(message)
        self.n_fit = n_fit

    def __reduce__(self):
        return type(self), (str(self), self.n_fit)


class OutputError(SimcliError):
    """The output cannot be written."""

    exit_code = Exit.OUTPUT


class WriterKilledError(OutputError):
    """The process that writes a file was ended from outside; the disk is well."""


class FileError(SimcliError):
    """An HDF5 file is damaged, hostile or not made by simcli."""

    exit_code = Exit.FILE


def plural(count: int, noun: str) -> str:
    """`1 world`, `3 worlds`; nouns ending in y have their own plural."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def first_few(names: list[str] | tuple[str, ...], most: int = 4) -> str:
    """The first of some names, and how many more there are, for a message."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def install_hint(need: str, extra: str) -> str:
    """What to tell whoever lacks an optional package.

    Args:
        need: who needs which package, as "fits need scipy".
        extra: of pyproject's `optional-dependencies`, as "fit".
    """
    return f"{need}: pip install 'simcli[{extra}]'"


class SimcliWarning(UserWarning):
    """What goes on all the same, but not as it should; the message is for the user."""


@contextmanager
def from_extra(need: str, extra: str) -> Iterator[None]:
    """For the import of a package that may lack; arguments as of `install_hint`.

    Raises:
        UsageError: it does; the message says how to get it.
    """
    try:
        yield
    except ImportError as error:
        raise UsageError(install_hint(need, extra)) from error
