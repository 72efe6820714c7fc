"""`simcli explain`: the page of one fault code."""

from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag
from simcli.errors import Exit, UsageError


def explain(
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="Fault code, as SC204.", show_default=False)] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List all codes.")] = False,
    json: JsonFlag = False,
) -> int:
    """Explain a fault code: what it means, an example, how to mend it.

    Example: simcli explain SC204
    """
    from simcli.spec.faults.codes import codes, page

    if show_list:
        return _list([page(name) for name in codes()], json)
    if code is None:
        raise UsageError("a code is missing: simcli explain SC204; all codes: simcli explain --list")
    name = f"SC{code}" if code.isdigit() else code.upper()
    if name not in codes():
        raise UsageError(f"there is no code `{code}`; all codes: simcli explain --list")
    found = page(name)
    if json:
        console.emit("explain", {"code": found.code, "title": found.title, "text": str(found)})
    else:
        console.data(str(found))
    return Exit.OK


def _list(pages: list, as_json: bool) -> int:
    if as_json:
        console.emit("explain", {"codes": [{"code": page.code, "title": page.title} for page in pages]})
    else:
        console.data(console.table([(page.code, page.title) for page in pages], indent=""))
    return Exit.OK
