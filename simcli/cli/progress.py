"""What is said while something goes on: one live line on a terminal, a plain line every ten seconds elsewhere."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from math import isfinite

from simcli.cli import console

PLAIN_PERIOD = 10.0  # [s] between plain lines
_STEPPING, _JOINING = "stepping", "joining"  # stages of a Tick; the first one needs no word
_PATIENCE = 1.0  # [s] before a bar of `fraction_shown` appears: what is over by then needs none


def _line_of(tick) -> str:
    """One line of talk about a `pipeline.Tick`; "" where there is nothing to say but its stage."""
    if tick.stage == _JOINING:
        return f"{100 * tick.fraction:5.1f} %  {console.size_text(tick.n_bytes)}"
    if not tick.steps:
        return ""
    words = [f"{100 * tick.fraction:5.1f} %", f"t = {tick.time:.6g} s"]
    words += [f"{console.count_text(tick.rate)} world-steps/s"] if tick.rate else []
    words += [f"eta {console.duration_text(tick.seconds_left)}"] if isfinite(tick.seconds_left) else []
    return "  ".join([*words, console.size_text(tick.n_bytes)])


@contextlib.contextmanager
def shown(quiet: bool, line: Callable[..., str] = _line_of) -> Iterator[Callable]:
    """Give a function that takes a `pipeline.Tick` and shows it; the live line is gone at the end.

    Args:
        quiet: show nothing.
        line: of talk about a tick, or whatever else has a `stage` and a `fraction`.
    """
    if quiet:
        yield lambda tick: None
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        yield from _live(line)
    else:
        yield _plain(line)


@contextlib.contextmanager
def fraction_shown(what: str) -> Iterator[Callable[[float], None]]:
    """Give a function that takes the fraction that is done of something, and shows it if it takes long.

    Args:
        what: is done, as "comparing".
    """
    begun = last = time.monotonic()
    is_live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    with contextlib.ExitStack() as screen:
        bar = None

        def show(fraction: float) -> None:
            nonlocal bar, last
            now = time.monotonic()
            left = (now - begun) * (1.0 - fraction) / max(fraction, 1e-9)
            talk = f"{100 * fraction:5.1f} %  eta {console.duration_text(left)}"
            if is_live and now - begun >= _PATIENCE:
                bar = bar or screen.enter_context(_bar())
                task = bar.task_ids[0] if bar.task_ids else bar.add_task(what, total=1.0, talk="")
                bar.update(task, completed=fraction, talk=talk)
            elif not is_live and now - last >= PLAIN_PERIOD:
                last = now
                console.say(f"{what}: {talk}")

        yield show


def _plain(line: Callable[..., str]) -> Callable:
    last = time.monotonic()

    def show(tick) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PLAIN_PERIOD:
            last = now
            talk = line(tick)
            console.say(f"{tick.stage} ..." if not talk else talk if tick.stage == _STEPPING else f"{tick.stage}: {talk}")

    return show


def _bar():
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    screen = Console(stderr=True, no_color=not console.colour_wanted())
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[talk]}"),
        console=screen,
        transient=True,
    )


def _live(line: Callable[..., str]) -> Iterator[Callable]:
    with _bar() as bar:
        task = bar.add_task("preparing", total=1.0, talk="")

        def show(tick) -> None:
            talk = line(tick) if tick.fraction or tick.stage == _STEPPING else ""
            bar.update(task, completed=tick.fraction, description=tick.stage, talk=talk)

        yield show
