"""`simcli schema`: the JSON Schema of scene files and of sweep files, for editors."""

from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag, Replace, file_or_stdout, goes_to_stdout, output_option
from simcli.errors import Exit


def schema(
    output: Annotated[Path | None, output_option("Write to a file instead of stdout.", file_or_stdout)] = None,
    sweep: Annotated[bool, typer.Option("--sweep", help="Schema of sweep files instead of scenes.")] = False,
    force: Replace = False,
    json: JsonFlag = False,
) -> int:
    """Write the JSON Schema of scene or sweep files: completion and checks in an editor.

    Example: simcli schema -o scene.schema.json

    Then begin a scene with the line: # yaml-language-server: $schema=scene.schema.json
    """
    from json import dumps

    from simcli.records.drafts import claim_path, written
    from simcli.spec import json_schema

    to_stdout = goes_to_stdout(output, json)
    text = dumps(json_schema(sweep), indent=2)
    if output is None or to_stdout:
        console.data(text)
        return Exit.OK
    claim_path(output, force)
    with written(output) as stream:
        stream.write(text + "\n")
    console.say(f"wrote {output}")
    if json:
        console.emit("schema", {"path": output})
    return Exit.OK
