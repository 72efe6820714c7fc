"""What a run says while it runs: one live line on a terminal, a plain line every ten seconds elsewhere."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator

from simcli.cli import console

PLAIN_PERIOD = 10.0  # [s] between plain lines


def line_of(tick) -> str:
    """One line of talk about a `pipeline.Tick`."""
    if not tick.steps:
        return f"{tick.stage} ..."
    words = [
        f"{100 * tick.fraction:5.1f} %",
        f"t = {tick.time:.6g} s",
        f"{console.count_text(tick.rate)} world-steps/s",
        f"eta {console.duration_text(tick.seconds_left)}",
        console.size_text(tick.n_bytes),
    ]
    return "  ".join(words)


@contextlib.contextmanager
def shown(quiet: bool) -> Iterator[Callable]:
    """Give a function that takes a `pipeline.Tick` and shows it; the live line is gone at the end."""
    if quiet:
        yield lambda tick: None
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        yield from _live()
    else:
        yield _plain()


def _plain() -> Callable:
    last = time.monotonic()

    def show(tick) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PLAIN_PERIOD:
            last = now
            console.say(line_of(tick))

    return show


def _live() -> Iterator[Callable]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    screen = Console(stderr=True, no_color=not console.colour_wanted())
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[talk]}"),
        console=screen, transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("preparing", total=1.0, talk="")

        def show(tick) -> None:
            bar.update(task, completed=tick.fraction, description=tick.stage, talk=line_of(tick) if tick.steps else "")

        yield show
