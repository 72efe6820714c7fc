"""Options of `simcli run`, and what they put into a scene."""

import re
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from simcli.cli.options import output_option, run_file_to_write
from simcli.errors import UsageError
from simcli.spec.document.overrides import NAMED_MEASURE, VARY, VARY_TABLE, Override

DEVICES = ("auto", "cpu", "cuda", "vulkan", "metal")
_OF_SEVERAL = re.compile(r"cuda:\d+")


_NAMED = f"{', '.join(DEVICES)}, or cuda:1 for the second of several"


def known_device(text: str) -> str:
    """A device as `start_device` takes it, which is asked for it later: it takes a second to load.

    Raises:
        UsageError: none has this name.
    """
    if text not in DEVICES and not _OF_SEVERAL.fullmatch(text):
        raise UsageError(f"--device {quote(text)}: write {_NAMED}")
    return text


class Precision(StrEnum):
    """Floating point numbers of the solver."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"


class OnFailure(StrEnum):
    """What a failed world does to the others."""

    ISOLATE = "isolate"
    STOP = "stop"


class SolverType(StrEnum):
    """Ways to move a scene."""

    GENERALIZED = "generalized"
    MAXIMAL = "maximal"
    NATURAL = "natural"
    AFFINE = "affine"


RunFile = Annotated[Path | None, output_option("HDF5 file to write.", run_file_to_write, show_default="outputs/NAME.h5")]
Duration = Annotated[str | None, typer.Option("--duration", metavar="T", help="Simulated time, 5 or '5 s'.")]
StepLength = Annotated[str | None, typer.Option("--dt", metavar="T", help="Step, 1e-3 or '1 ms'.")]
SolverChoice = Annotated[SolverType | None, typer.Option("--solver", help="Solver, instead of the scene's.")]
RunDevice = Annotated[
    str, typer.Option("--device", metavar="DEVICE", callback=known_device, help=f"Where to compute: {_NAMED}.")
]
PrecisionChoice = Annotated[Precision | None, typer.Option("--precision", help="Instead of the scene's.")]
RunThreads = Annotated[int | None, typer.Option("--threads", metavar="N", min=1, help="CPU threads. Default: all.")]
OnlyWorlds = Annotated[
    str | None, typer.Option("--world", metavar="I,J", help="Only these worlds of the batch, as 3 or 0,4 or 0-7.")
]
FailureChoice = Annotated[
    OnFailure | None, typer.Option("--on-failure", help="A failed world: freeze it alone, or stop the run.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue an unfinished output, with the same bytes as an uninterrupted run.")
]
Restart = Annotated[bool, typer.Option("--restart", help="Start an unfinished output again.")]
CheckpointTime = Annotated[
    str | None,
    typer.Option(
        "--checkpoint-every",
        metavar="T",
        help="Wall time between checkpoints, '10 min'. Default: 1 min.",
        show_default=False,
    ),
]
EstimateError = Annotated[
    bool,
    typer.Option(
        "--error-estimate",
        help="Run also at half and a quarter of the step; report the error of each quantity. Seven times the steps.",
    ),
]
WantedError = Annotated[
    float | None,
    typer.Option("--wanted", metavar="E", help="With --error-estimate: the step for an error of E, in SI units."),
]
LivePage = Annotated[
    bool, typer.Option("--view", help="Print the address of a page on this machine that shows the run as it grows.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would run, and how large its output would be.")]
NoWords = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
Verbosity = Annotated[int, typer.Option("--verbose", "-v", count=True, show_default=False, help="Say more.")]


def overrides(options: dict[str, tuple[str, object]]) -> list[Override]:
    """The options that were given, as overrides of the document: they get the same checks as the scene itself.

    Args:
        options: option to the path that it stands for and its value, None if it was not given.
    """
    return [Override(option, str(value), path) for option, (path, value) in options.items() if value is not None]


_END = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?: ?[a-zA-Z/*]+)?)"
_SPAN = re.compile(rf"{_END}\s*(?:\.\.|:|\bto\b)\s*{_END}")  # as of `solve`, which takes KEY=0..1


def batch_overrides(vary: list[str], table: Path | None, worlds: int | None, seed: int | None) -> list[Override]:
    """What the options of the batch put into a scene.

    Raises:
        UsageError: a `--vary` is none.
    """
    rows = [] if table is None else [Override(VARY_TABLE, str(table))]
    counts = overrides({"--worlds": ("batch.worlds", worlds), "--seed": ("batch.seed", seed)})
    return [*rows, *counts, *map(vary_override, vary)]


def vary_override(text: str) -> Override:
    """`K=0.1,0.2` or `K=uniform(0, 1)` as an override of `batch.vary`.

    Raises:
        UsageError: there is no `=`, no key or no values.
    """
    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise UsageError(f"--vary {text}: write KEY=0.1,0.2 or KEY=uniform(0, 1)")
    if span := _SPAN.fullmatch(values.strip()):
        low, high = span.groups()
        raise UsageError(
            f"--vary {text}: write --vary '{key}=linspace({low}, {high})' for values spread over the worlds, "
            f"'{key}=uniform({low}, {high})' for draws, or a list, '{key}={low},{high}'"
        )
    return Override(VARY, text)


def measure_override(text: str) -> Override:
    """`NAME=REDUCTION:QUANTITY`, or `NAME={...}` as in a scene, as an override of `measure`.

    Raises:
        UsageError: there is no name, or no reduction.
    """
    name, equals, rest = (part.strip() for part in text.partition("="))
    reduction, colon, quantity = (part.strip() for part in rest.partition(":"))
    if not name or not equals or not (rest.startswith("{") or (reduction and colon and quantity)):
        raise UsageError(f"--measure {text}: write NAME=REDUCTION:QUANTITY, as peak=max_abs:joint.pin.drive_effort")
    value = rest if rest.startswith("{") else f"{{{reduction}: {quantity}}}"
    return Override(NAMED_MEASURE, value, f"measure.{name}")
