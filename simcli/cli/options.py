"""Options that several commands share, declared once."""

from pathlib import Path
from typing import Annotated

import typer

JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
ScenePath = Annotated[Path, typer.Argument(help="Scene file (YAML).", show_default=False)]
FilePath = Annotated[Path, typer.Argument(help="Output of `simcli run` (HDF5).", show_default=False)]
SetValues = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Override a value of the scene, as joints.pin.q=0.5. Repeatable."),
]
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


def split_words(values: list[str]) -> list[str]:
    """Flatten repeated options that may hold several words separated by commas."""
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def parse_worlds(text: str | None) -> list[int]:
    """World numbers out of `3`, `0,4` or `0-7`; the first world if none are given.

    Raises:
        UsageError: the text is none of these.
    """
    from simcli.errors import UsageError

    if text is None:
        return [0]
    worlds: list[int] = []
    for word in text.split(","):
        first, dash, last = word.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise UsageError(f"--world: `{word.strip()}` is not a world: write 3, or 0,4, or 0-7")
        worlds.extend(range(int(first), int(last if dash else first) + 1))
    return worlds
