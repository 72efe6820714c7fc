"""What is said of a sweep while it runs, and at its end."""

from collections import Counter
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.cli import console

if TYPE_CHECKING:
    from simcli.sweeps.sweep_options import Standing, Summary

MOST_FAILURES = 5  # that are told one by one


def standing_line(now: "Standing") -> str:
    """One line of talk."""
    words = [f"{now.n_done} of {console.plural(now.n_cases, 'case')}", f"{now.n_running} running"]
    words += [f"{now.n_failed} failed"] if now.n_failed else []
    words += [f"{console.count_text(now.rate)} world-steps/s"] if now.rate else []
    words += [f"eta {console.duration_text(now.seconds_left)}"] if isfinite(now.seconds_left) else []
    return "  ".join(words)


def summary_text(summary: "Summary", folder: Path) -> str:
    """What a sweep came to, in words."""
    new = summary.n_done - summary.n_begun_with
    lines = [f"{summary.n_done} of {console.plural(summary.n_cases, 'case')} done, {new} of them now, in "
             f"{console.duration_text(summary.seconds)}"]  # fmt: skip
    lines += failure_lines(summary.failed)
    if summary.status == "stopped":
        lines.append(f"stopped{': ' * bool(summary.problem)}{summary.problem}; the same command goes on")
    else:
        lines.append(f"a row per case: simcli sweep table {folder}")
    return "\n".join(lines)


def failure_lines(failed: dict[str, str]) -> list[str]:
    """Reasons of failures, each with how many cases it has."""
    counts = Counter(failed.values()).most_common()
    lines = [f"  {console.plural(n, 'case')}: {reason}" for reason, n in counts[:MOST_FAILURES]]
    more = [f"  and {len(counts) - MOST_FAILURES} reasons more"] if len(counts) > MOST_FAILURES else []
    return [f"{console.plural(len(failed), 'case')} failed:", *lines, *more] if failed else []
