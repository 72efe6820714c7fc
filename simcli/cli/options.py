"""Options that several commands share, declared once."""

import os
import re
from collections.abc import Callable
from difflib import SequenceMatcher, get_close_matches
from enum import EnumType
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer
from typer.models import OptionInfo

from simcli.errors import UsageError

_MOST_DIGITS = 18  # of the number of a world
PLAIN_NUMBER = r"(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"

_Path = TypeVar("_Path", bound=Path | None)
_Function = TypeVar("_Function", bound=Callable)

STDOUT = Path("-")
OUTPUTS = Path("outputs")  # of commands without -o
OUTPUT_SUFFIXES = (".h5", ".hdf5")  # of a run
PAGE_SUFFIXES = (".html", ".htm")

JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def existing(path: _Path) -> _Path:
    """A path that is there, whatever is in it: one rule and one form of message for every command.

    Raises:
        UsageError: there is nothing at this path.
    """
    try:
        if path is None or path.exists():
            return path
        if path == STDOUT:
            raise UsageError("-: stdin is not read; write what you have to a file, and name that")
        near = _nearest_path(path)
        hint = f"; did you mean `{near}`?" if near else ""
    except (OSError, ValueError) as error:  # a name too long, a folder that is none or may not be read, a null byte
        hint = "" if isinstance(error, FileNotFoundError) else f" ({getattr(error, 'strerror', None) or error})"
    raise UsageError(f"{path}: no such file{hint}")


def with_value_words(function: _Function) -> _Function:
    """A command whose help has the words to choose from, and nothing behind an option that takes no value."""
    hints = (parameter.annotation for parameter in signature(function).parameters.values())
    for kind, *told in (get_args(hint) for hint in hints if get_origin(hint) is Annotated):
        words: list[str] = []
        for choice in (kind, *get_args(kind)):
            words += choice if isinstance(choice, EnumType) else get_args(choice) if get_origin(choice) is Literal else ()
        for one in told:
            if isinstance(one, OptionInfo) and one.metavar is None and (kind is bool or words):
                one.metavar = "|".join(words)
    return function


def _nearest_path(path: Path) -> Path | None:
    """A file that may be meant: of this name where runs are written, or of a stem like it, with the nearest suffix."""
    if len(path.parts) == 1 and (made := OUTPUTS / path).is_file():
        return made
    names = [entry.name for entry in path.parent.iterdir()]
    near = get_close_matches(path.stem, {Path(name).stem for name in names}, n=1)
    alike = [name for name in names if Path(name).stem in near]
    return (
        path.with_name(max(sorted(alike), key=lambda name: SequenceMatcher(None, name, path.name).ratio()))
        if alike
        else None
    )


def existing_file(path: _Path) -> _Path:
    """A path that is there and no folder.

    Raises:
        UsageError: it is not.
    """
    if path is not None and existing(path).is_dir():
        raise UsageError(f"{path}: is a folder; name a file in it")
    return path


def existing_files(paths: list[Path] | None) -> list[Path]:
    """Paths that are there and no folders.

    Raises:
        UsageError: one is not.
    """
    return [existing_file(path) for path in paths or ()]


def _written_at(option: str, text: str) -> Path:
    from simcli.records.drafts import output_path

    if not text.strip():
        raise UsageError(f"{option} '{text}': is no name; write one, or leave the option out")
    return output_path(Path(text))


def file_to_write(text: str, option: str = "-o") -> Path:
    """A file that a command writes: one rule for every command.

    Raises:
        UsageError: the name is empty or that of a folder, or means stdout, to which this command does not write.
    """
    path = _written_at(option, text)
    if path == STDOUT:
        raise UsageError(f"{option} -: this command does not write its output to stdout; name a file")
    if text.endswith(("/", os.sep)) or path.is_dir():
        raise UsageError(f"{option} {text}: is a folder; name a file in it")
    return path


def run_file_to_write(text: str) -> Path:
    """An HDF5 file that a command writes.

    Raises:
        UsageError: as of `file_to_write`, or the suffix is that of another format.
    """
    return _of_one_format(text, OUTPUT_SUFFIXES)


def page_to_write(text: str) -> Path:
    """A page that a command writes; as `run_file_to_write`."""
    return _of_one_format(text, PAGE_SUFFIXES)


def _of_one_format(text: str, suffixes: tuple[str, ...]) -> Path:
    """A file of the one format that a command writes: its name may lack a suffix."""
    path = file_to_write(text)
    if Path(text).suffix:
        from simcli.spec.base.fault_list import suffix_of  # late: it loads numpy

        suffix_of(Path(text), suffixes)
    return path


def file_or_stdout(text: str) -> Path:
    """A file that a command writes, or `-` for stdout; else as `file_to_write`."""
    return STDOUT if text == str(STDOUT) else file_to_write(text)


def folder_to_write(text: str, option: str = "-o") -> Path:
    """A folder that a command writes to.

    Raises:
        UsageError: the name is empty, or means stdout.
    """
    if text == str(STDOUT):
        raise UsageError(f"{option} -: this command writes a folder, not to stdout; name one")
    return _written_at(option, text)


def spare_runs(output: Path, runs: list[Path]) -> None:
    """Refuse to replace runs that are read, and files that their scenes read.

    Raises:
        UsageError: the output is one of them.
    """
    from simcli.records.drafts import refuse_overwrite
    from simcli.records.reading.reader import open_trajectory

    refuse_overwrite(output, runs)
    for path in runs if output.is_file() else ():
        with open_trajectory(path) as run:
            refuse_overwrite(output, (), [checksum for _, checksum, _ in run.provenance.files])


def goes_to_stdout(output: Path | None, as_json: bool) -> bool:
    """Whether `-o -` was given.

    Raises:
        UsageError: it was, and the one document of `--json` goes there, too.
    """
    if output == STDOUT and as_json:
        raise UsageError("-o - and --json both write to stdout: leave one of them out, or name a file")
    return output == STDOUT


def output_option(words: str, reads: Callable[[str], Path] = file_to_write, metavar: str = "FILE", **more: Any) -> Any:
    """The option `-o`.

    Args:
        words: of the help.
        reads: `file_to_write`, `file_or_stdout` or `folder_to_write`.
        metavar: in the help.
        **more: of `typer.Option`.
    """
    return typer.Option("--output", "-o", parser=reads, metavar=metavar, help=words, **more)


ScenePath = Annotated[
    Path,
    typer.Argument(
        metavar="SCENE",
        help="Scene file (YAML), or an output of `simcli run`: the scene inside.",
        callback=existing_file,
        show_default=False,
    ),
]
FilePath = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Output of `simcli run` (HDF5).", callback=existing_file, show_default=False),
]
FilePaths = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...", help="Outputs of `simcli run` (HDF5).", callback=existing_files, show_default=False),
]
_WHERE = "Only {} that meet it, as '{{measure.peak}} > 3 and {{status}} == ok'. Repeatable."
Condition = Annotated[list[str], typer.Option("--where", metavar="CONDITION", help=_WHERE.format("worlds"))]
CaseCondition = Annotated[list[str], typer.Option("--where", metavar="CONDITION", help=_WHERE.format("cases"))]
SetValues = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Override a value of the scene, as joints.pin.q=0.5. Repeatable."),
]
PackagePath = Annotated[
    list[Path], typer.Option("--package-path", metavar="DIR", help="For models: folder of packages with meshes. Repeatable.")
]
FixInertia = Annotated[
    bool, typer.Option("--fix-inertia", help="For models: replace impossible moments of inertia by near ones.")
]
VaryValues = Annotated[
    list[str],
    typer.Option(
        "--vary",
        metavar="KEY=VALUES",
        help="Vary a value over worlds: K=0.1,0.2 (a grid), K='uniform(0,1)', K='normal(1,0.1,low=0)', zip, lhs, choice "
        "and more: simcli docs batch. Repeatable.",
    ),
]
VaryTable = Annotated[
    Path | None,
    typer.Option(
        "--vary-table",
        metavar="FILE",
        callback=existing_file,
        show_default=False,
        help="CSV or Parquet with a row per world, in place of the scene's batch; headers are paths, as 'params.k [N/mm]'.",
    ),
]
MeasureValues = Annotated[
    list[str],
    typer.Option(
        "--measure",
        metavar="NAME=REDUCTION:QUANTITY",
        help="A number per world, found at every step: peak=max_abs:joint.pin.drive_effort, or NAME={first: joint.pin.q, "
        "above: 1}. Repeatable.",
    ),
]
WorldCount = Annotated[int | None, typer.Option("--worlds", metavar="N", min=1, help="Worlds (per grid point).")]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of the random draws.")]
SelectPatterns = Annotated[
    list[str],
    typer.Option(
        "--select",
        metavar="PATTERN",
        help="Only these bodies, joints or articulations, as 'arm*' or left/elbow. Repeatable, or separated by commas.",
    ),
]
NewFile = Annotated[Path, output_option("HDF5 file to write.", run_file_to_write, metavar="OUT", show_default=False)]
Replace = Annotated[bool, typer.Option("--force", help="Replace an existing output.")]
ReplaceForeign = Annotated[bool, typer.Option("--force", help="Replace an existing file that simcli has not drawn.")]
WorldList = Annotated[
    str | None, typer.Option("--world", metavar="I,J", help="Worlds, as 3 or 0,4 or 0-7. Default: the first.")
]
Channels = Annotated[
    list[str],
    typer.Option(
        "--channel",
        "-c",
        metavar="NAME",
        help="As energy.total, joint.pin.q, body.upper.position. Repeatable, or separated by commas.",
    ),
]


def seconds(option: str, text: str) -> float:
    """A time: `30`, `30 s`, `10 min`.

    Args:
        option: that it was given to, for messages.
        text: of it.

    Raises:
        UsageError: the text is none.
    """
    from simcli.spec.values.units import UnitError, to_si

    try:
        found = float(text) if re.fullmatch(PLAIN_NUMBER, text.strip()) else to_si(text, "s")
    except UnitError as error:
        raise UsageError(f"{option} {text}: {error}; write 30, '30 s' or '10 min'") from error
    if not 0 <= found < float("inf"):
        raise UsageError(f"{option} {text}: a time is at least 0")
    return found


def split_words(option: str, values: list[str]) -> list[str]:
    """Flatten an option that is repeatable, and may hold several words separated by commas.

    Args:
        option: for messages.
        values: of it; none where it is left out.

    Raises:
        UsageError: a value has no word, as an unset variable of a shell gives it.
    """
    words = [[word.strip() for word in value.split(",") if word.strip()] for value in values]
    if not all(words):
        raise UsageError(f"{option}: nothing is named; leave it out, or write names separated by commas")
    return [word for of_value in words for word in of_value]


def parse_worlds(text: str | None) -> list[int]:
    """World numbers out of `3`, `0,4` or `0-7`; the first world if none are given: one rule for every command.

    Raises:
        UsageError: the text is none of these, a range goes backwards, or no batch has so many worlds.
    """
    from simcli.spec.values.csv_tables import MAX_WORLDS

    if text is None:
        return [0]
    worlds: list[int] = []
    for word in map(str.strip, text.split(",")):
        found = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", word)
        if not found:
            raise UsageError(f"--world: `{word}` is not a world: write 3, or 0,4, or 0-7")
        if max(map(len, filter(None, found.groups()))) > _MOST_DIGITS or int(found[2] or found[1]) >= MAX_WORLDS:
            raise UsageError(f"--world: `{word}`: a batch has at most {MAX_WORLDS} worlds, 0 to {MAX_WORLDS - 1}")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise UsageError(f"--world: `{word}` goes backwards: write {last}-{first}")
        worlds.extend(range(first, last + 1))
    return worlds
