"""`simcli schema`: the JSON Schema of scene files and of sweep files, for editors."""

from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag
from simcli.errors import Exit


def schema(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file instead of stdout.")] = None,
    sweep: Annotated[bool, typer.Option("--sweep", help="Of sweep files instead of scenes.")] = False,
    json: JsonFlag = False,
) -> int:
    """Write the JSON Schema of scene or sweep files: completion and checks in an editor.

    Example: simcli schema -o scene.schema.json

    Then begin a scene with the line: # yaml-language-server: $schema=scene.schema.json
    """
    from json import dumps

    from simcli.spec import json_schema

    text = dumps(json_schema(sweep), indent=2)
    if output is None:
        console.data(text)
        return Exit.OK
    output.write_text(text + "\n", encoding="utf-8")
    console.say(f"wrote {output}")
    if json:
        console.emit("schema", {"path": output})
    return Exit.OK
