"""Faults for people and for programs: the snippet of a terminal, JSON, SARIF."""

from collections.abc import Sequence
from typing import Any

from simcli.errors import Fault
from simcli.spec.document.scene_file import Document

_RED, _YELLOW, _BLUE, _BOLD, _OFF = "\x1b[31m", "\x1b[33m", "\x1b[34m", "\x1b[1m", "\x1b[0m"
MOST_SHOWN = 200  # faults of one file that people read; programs get all of them
_MAX_COLUMNS = 120  # longest source line that is shown whole
_MARGIN = 30  # characters kept before the marked place of a longer line


def render_faults(faults: Sequence[Fault], document: Document | None, color: bool = False) -> str:
    """Faults as a compiler would show them; of very many the first, and how many are left out.

    Args:
        faults: of one file, in order. Where they are more than are shown, errors come before warnings and notes.
        document: holds the source lines; None shows no snippets.
        color: use terminal colours.

    Returns:
        One paragraph per fault, with an empty line between them.
    """
    by_weight = sorted(range(len(faults)), key=lambda k: faults[k].severity != "error")
    shown = [render_fault(faults[k], document, color) for k in sorted(by_weight[:MOST_SHOWN])]
    if len(faults) > MOST_SHOWN:
        shown.append(f"and {len(faults) - MOST_SHOWN} more; --json has them all")
    return "\n\n".join(shown)


def render_fault(fault: Fault, document: Document | None, color: bool = False) -> str:
    """One fault: headline, place, source line with carets, help."""
    paint = _painter(color)
    tint = {"error": _RED, "warning": _YELLOW}.get(fault.severity, _BLUE)
    lines = [f"{paint(f'{fault.severity}[{fault.code}]', _BOLD + tint)}{paint(f': {_clean(fault.message)}', _BOLD)}"]
    where = fault.where
    source = document.line(where) if document is not None and where is not None else None
    number = str(where.line) if where is not None and where.line else ""
    gutter = " " * len(number)
    if where is not None and where.file:
        lines.append(f"{gutter}{paint('-->', _BLUE)} {_clean(str(where))}")
    if source is not None:
        text, column = _window(source, where.column)
        carets = "^" * max(1, min(where.length, len(text) - column + 1))
        hint = f" {_clean(fault.hint)}" if fault.hint else ""
        bar = paint("|", _BLUE)
        lines.append(f"{gutter} {bar}")
        lines.append(f"{paint(number, _BLUE)} {bar} {text}".rstrip())
        lines.append(f"{gutter} {bar} {' ' * (column - 1)}{paint(carets + hint, tint)}")
    elif fault.hint:
        lines.append(f"{gutter} {paint('=', _BLUE)} hint: {_clean(fault.hint)}")
    lines.append(f"{gutter} {paint('=', _BLUE)} help: simcli explain {fault.code}")
    return "\n".join(lines)


def _painter(color: bool):
    return (lambda text, code: f"{code}{text}{_OFF}") if color else (lambda text, code: text)


def _clean(text: str) -> str:
    """Text of a scene without what could steer a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _window(source: str, column: int) -> tuple[str, int]:
    """A source line and column; of a long line the part around the column."""
    text = _clean(source.replace("\t", " "))
    column = max(1, min(column, len(text) + 1))
    if len(text) <= _MAX_COLUMNS:
        return text, column
    start = max(0, column - 1 - _MARGIN)
    cut = text[start : start + _MAX_COLUMNS]
    before = "..." if start else ""
    after = "..." if start + _MAX_COLUMNS < len(text) else ""
    return before + cut + after, column - start + len(before)


def fault_data(fault: Fault) -> dict[str, Any]:
    """A fault for JSON."""
    data: dict[str, Any] = {"code": fault.code, "severity": fault.severity, "message": fault.message, "hint": fault.hint}
    if fault.where is not None:
        where = fault.where
        data |= {"file": where.file, "line": where.line, "column": where.column, "length": where.length, "path": where.path}
    return data


def sarif(faults: Sequence[Fault]) -> dict[str, Any]:
    """A SARIF 2.1.0 log of one run."""
    from simcli import __version__

    codes = sorted({fault.code for fault in faults})
    driver = {
        "name": "simcli",
        "version": __version__,
        "rules": [{"id": code, "help": {"text": f"simcli explain {code}"}} for code in codes],
    }
    results = [_sarif_result(fault, codes) for fault in faults]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _sarif_result(fault: Fault, codes: list[str]) -> dict[str, Any]:
    text = f"{fault.message} ({fault.hint})" if fault.hint else fault.message
    result: dict[str, Any] = {
        "ruleId": fault.code,
        "ruleIndex": codes.index(fault.code),
        "level": fault.severity,
        "message": {"text": text},
    }
    where = fault.where
    if where is not None and where.file:
        location: dict[str, Any] = {"artifactLocation": {"uri": where.file.replace("\\", "/")}}
        if where.line:
            location["region"] = {
                "startLine": where.line,
                "startColumn": where.column,
                "endColumn": where.column + where.length,
            }
        result["locations"] = [{"physicalLocation": location}]
    return result
