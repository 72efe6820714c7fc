"""Faults for people: message, place, the line itself with a caret under it, and what to do."""

from simcli.cli.console import paint
from simcli.errors import Fault, SceneError

MAX_SHOWN = 50  # faults on a terminal; --json holds all of them
SNIPPET_WIDTH = 110  # characters of a source line; longer lines are cut around the caret


def render_error(error: SceneError) -> str:
    """All faults of a scene, and a closing count."""
    document = getattr(error, "document", None)
    return render_all(error.faults, document)


def render_all(faults: list[Fault], document=None) -> str:
    """Faults one under the other, each as in the example of the command-line page.

    Args:
        faults: in the order in which they are shown.
        document: knows the text of the places (`document.line(where)`); None shows no snippets.
    """
    blocks = [render(fault, document.line(fault.where) if document and fault.where else None)
              for fault in faults[:MAX_SHOWN]]  # fmt: skip
    if len(faults) > MAX_SHOWN:
        blocks.append(f"... and {len(faults) - MAX_SHOWN} more (--json shows all)")
    return "\n\n".join(blocks)


def render(fault: Fault, line: str | None) -> str:
    """One fault; `line` is the source line of its place, None if there is none."""
    style = "bad" if fault.severity == "error" else "warn"
    head = f"{paint(f'{fault.severity}[{fault.code}]', style)}: {paint(fault.message, 'bold')}"
    where = fault.where
    number = str(where.line) if where is not None and where.line else ""
    gutter = " " * max(len(number), 2)
    lines = [head]
    if where is not None:
        lines.append(f"{gutter}{paint('-->', 'place')} {where}")
    if line is not None:
        text, column = _cut(line, where.column)
        length = max(1, min(where.length, len(text) - column + 1))
        carets = " " * (column - 1) + paint("^" * length, style)
        lines.append(f"{gutter} {paint('|', 'place')}")
        lines.append(f"{paint(number.rjust(len(gutter)), 'place')} {paint('|', 'place')} {text}".rstrip())
        lines.append(f"{gutter} {paint('|', 'place')} {carets} {fault.hint}".rstrip())
    elif fault.hint:
        lines.append(f"{gutter} {paint('=', 'place')} hint: {fault.hint}")
    lines.append(f"{gutter} {paint('=', 'place')} help: simcli explain {fault.code}")
    return "\n".join(lines)


def faults_json(faults: list[Fault]) -> list[dict]:
    """Faults as JSON."""
    return [
        {
            "code": fault.code,
            "severity": fault.severity,
            "message": fault.message,
            "hint": fault.hint,
            "file": fault.where.file if fault.where else None,
            "line": fault.where.line if fault.where else None,
            "column": fault.where.column if fault.where else None,
            "length": fault.where.length if fault.where else None,
            "path": fault.where.path if fault.where else None,
        }
        for fault in faults
    ]


def _cut(line: str, column: int) -> tuple[str, int]:
    """A window of a line around a column, and the column within it; tabs count one."""
    line = line.replace("\t", " ")
    if len(line) <= SNIPPET_WIDTH:
        return line, column
    first = max(0, min(column - SNIPPET_WIDTH // 2, len(line) - SNIPPET_WIDTH))
    text = line[first : first + SNIPPET_WIDTH]
    return ("..." + text[3:] if first else text), column - first
