"""`simcli explain`: the page of one fault code."""

from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag
from simcli.errors import Exit, UsageError


def explain(
    code: Annotated[str | None, typer.Argument(help="Fault code, as SC204.", show_default=False)] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List all codes.")] = False,
    json: JsonFlag = False,
) -> int:
    """Explain a fault code: what it means, an example, how to mend it.

    Example: simcli explain SC204
    """
    from simcli.spec.codes import PAGES

    if show_list:
        return _list(PAGES, json)
    if code is None:
        raise UsageError("a code is missing: simcli explain SC204; all codes: simcli explain --list")
    page = PAGES.get(code.upper())
    if page is None:
        raise UsageError(f"there is no code `{code}`; all codes: simcli explain --list")
    if json:
        console.emit("explain", {"code": code.upper(), "text": page})
    else:
        console.data(page)
    return Exit.OK


def _list(pages, as_json: bool) -> int:
    return Exit.OK
