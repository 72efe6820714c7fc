"""Two streams: data on stdout, talk on stderr. Colour only where a person sees it."""

import contextlib
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from typing import Any

from simcli.errors import OutputError
from simcli.errors import plural as plural

STYLES = {"bad": "1;31", "warn": "1;33", "good": "1;32", "place": "1;34", "dim": "2", "bold": "1"}

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line feed
CONTROL_BUT_COLOURS = re.compile(rf"(?!\x1b\[[0-9;]*m){CONTROL.pattern}")

_stdout_fd: int | None = None  # where data goes while descriptor 1 is lent out


class ReaderGoneError(Exception):
    """The reader of stdout has closed it, as `simcli ... | head` does: the command is at its end."""


def colour_wanted() -> bool:
    """True if stderr is a terminal that may be coloured (NO_COLOR, FORCE_COLOR, TERM=dumb are obeyed)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str) -> str:
    """Colour `text` for stderr in one of STYLES, or leave it alone."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if colour_wanted() else text


def say(text: str = "") -> None:
    """Write a line for people, to stderr; one that nobody can read any more is no error."""
    with contextlib.suppress(OSError):
        print(CONTROL_BUT_COLOURS.sub(_spelled, text), file=sys.stderr, flush=True)


def note(text: str) -> None:
    """Say what is worth knowing."""
    say(f"{paint('note:', 'warn')} {text}")


def warn(text: str) -> None:
    """Say what is not as it should be, though it goes on."""
    say(f"{paint('warning:', 'warn')} {text}")


def list_texts(kind: str, key: str, texts: Iterable[tuple[str, str]], as_json: bool) -> None:
    """Names and what each is about, as a table or as JSON: {KEY: [{"name", "about"}]}."""
    rows = list(texts)
    if as_json:
        emit(kind, {key: [{"name": name, "about": about} for name, about in rows]})
    else:
        data(table(rows, indent=""))


def data(text: str) -> None:
    """Write a line of data, to the stdout that the caller gave us. Control characters, as in a hostile file, are spelled.

    Raises:
        ReaderGoneError: nobody reads stdout any more.
        OutputError: stdout cannot be written.
    """
    _write(CONTROL.sub(_spelled, text))


def _write(text: str) -> None:
    try:
        if _stdout_fd is None:
            print(text, flush=True)
            return
        raw = (text + "\n").encode()
        while raw:
            raw = raw[os.write(_stdout_fd, raw) :]
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as error:
        raise OutputError(f"stdout: {error.strerror or error}") from None


def _spelled(found: re.Match) -> str:
    return f"\\x{ord(found.group()):02x}"


def emit(kind: str, document: dict[str, Any]) -> None:
    """Write the one JSON document of a command: {"schema": "simcli.KIND/1", ...}.

    Numbers that JSON lacks (NaN, infinities) become null.
    """
    data_json({"schema": f"simcli.{kind}/1", **document})


def emit_line(kind: str, document: dict[str, Any]) -> None:
    """Write one of many JSON documents, as `emit`, on a line of its own."""
    text = json.dumps(plain_json({"schema": f"simcli.{kind}/1", **document}), ensure_ascii=True, allow_nan=False)
    _write(text.replace("\x7f", "\\u007f"))


def picture(text: str) -> None:
    """Write a picture of characters, in colours, to the stdout that the caller gave us.

    Raises:
        ReaderGoneError, OutputError: see `data`.
    """
    _write(CONTROL_BUT_COLOURS.sub(_spelled, text))


def data_json(document: dict[str, Any]) -> None:
    """Write a JSON document whose form others have laid down."""
    _write(json_text(document))


def json_text(document: dict[str, Any]) -> str:
    """A JSON document as text."""
    text = json.dumps(plain_json(document), indent=2, ensure_ascii=False, allow_nan=False)
    return CONTROL.sub(lambda found: f"\\u{ord(found.group()):04x}", text)  # JSON itself leaves those above 0x7e


@contextlib.contextmanager
def stdout_kept_clean(verbose: bool = False) -> Iterator[None]:
    """Keep what libraries write to file descriptor 1 out of our data; it goes to stderr if wanted, else nowhere.

    Taichi writes its banner and its search for drivers to stdout, whatever its log level; what goes wrong it raises.
    """
    global _stdout_fd
    if _stdout_fd is not None:
        yield
        return
    sys.stdout.flush()
    _stdout_fd = os.dup(1)
    sink = os.dup(2) if verbose else os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    try:
        # Both doors: C++ writes to the descriptor, Python to the object, which need not belong to it (under a test).
        with os.fdopen(sink, "w") as stream, contextlib.redirect_stdout(stream):
            yield
    finally:
        sys.stdout.flush()
        os.dup2(_stdout_fd, 1)
        os.close(_stdout_fd)
        _stdout_fd = None


def size_text(n_bytes: float) -> str:
    """A file size for people: 512 B, 3.2 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"


def count_text(value: float) -> str:
    """A rate or count for people: 950, 12.3 k, 4.56 M."""
    for unit in ("", " k", " M", " G"):
        if abs(value) < 1000:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g} T"


def status_text(status: str) -> str:
    """The status of a run, and what it means if that is not plain."""
    return "unfinished; its writer is gone; --resume goes on" if status == "unfinished" else status


def duration_text(seconds: float) -> str:
    """A duration for people: 0.42 s, 3:05, 2:10:00."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def on_terminal() -> bool:
    """True if a person sees the stdout that the caller gave us."""
    return sys.stdout.isatty() if _stdout_fd is None else os.isatty(_stdout_fd)


def table(
    rows: list[tuple], header: tuple[str, ...] | None = None, indent: str = "  ", right: list[bool] | None = None
) -> str:
    """Rows of text in columns: aligned text for programs; by rich for people, with cells in lines that fit the terminal.

    Args:
        rows: cells, written by `str`; control characters are spelled.
        header: the first row.
        indent: of each line.
        right: which columns stand to the right; None for those of numbers.
    """
    cells = [[CONTROL.sub(_spelled, str(cell)) for cell in row] for row in ([header] if header else []) + rows]
    if not cells:
        return ""
    if right is None:
        right = [bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(cells[0]))]
    if on_terminal():
        from simcli.cli.rich_text import terminal_table

        lines = terminal_table(cells, right, shutil.get_terminal_size().columns - len(indent))
    else:
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        lines = [
            "  ".join(c.rjust(w) if to_right else c.ljust(w) for c, w, to_right in zip(row, widths, right, strict=True))
            for row in cells
        ]
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)


def plain_json(value: Any) -> Any:
    """Reduce numpy numbers, arrays, paths, tuples and non-finite floats to what JSON has."""
    if isinstance(value, dict):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_json(item) for item in value]
    if hasattr(value, "tolist"):
        return plain_json(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool | int | str) or value is None:
        return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return str(value)


def set_line(texts: Sequence[str]) -> str:
    """The options that use what was found, as a shell takes them."""
    return " ".join(f"--set {quote(text)}" for text in texts)


def in_unit(unit: str) -> str:
    """A unit behind a number."""
    return f" {unit}" if unit and unit != "1" else ""
