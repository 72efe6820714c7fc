"""`simcli new`: a scene that runs, to start from."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag, file_to_write
from simcli.cli.scene_sources import first_line, shipped_scenes
from simcli.cli.scenes.check import SCENE_SUFFIXES
from simcli.errors import Exit, UsageError

DEFAULT_TEMPLATE = "pendulum"


def new(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of the scene; NAME.yaml is written.")] = None,
    template: Annotated[str, typer.Option("--template", "-t", metavar="T", help="What to start from.")] = DEFAULT_TEMPLATE,
    show_list: Annotated[bool, typer.Option("--list", help="List the templates.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    json: JsonFlag = False,
) -> int:
    """Write a scene from a template.

    Example: simcli new swing --template pendulum
    """
    from simcli.records.drafts import claim_path, written

    templates = shipped_scenes("templates")
    if show_list:
        texts = ((name, first_line(text)) for name, text in templates.items())
        console.list_texts("new", "templates", texts, json)
        return Exit.OK
    if name is None:
        raise UsageError(f"a name is missing: simcli new swing --template {template}; templates: simcli new --list")
    if template not in templates:
        raise UsageError(_no_template(template, templates))
    path = _scene_of(name)
    claim_path(path, force)
    with written(path) as stream:
        stream.write(templates[template])
    console.say(f"wrote {path}\n  next: simcli run {quote(str(path))}")
    if json:
        console.emit("new", {"path": path, "template": template})
    return Exit.OK


def _scene_of(name: str) -> Path:
    """NAME.yaml, where there is a name."""
    path = file_to_write(name, "NAME")
    if path.name in SCENE_SUFFIXES:
        raise UsageError(f"NAME {name}: is no name of a scene; write one, as swing")
    return path if path.suffix in SCENE_SUFFIXES else path.with_name(path.name + SCENE_SUFFIXES[0])


def _no_template(name: str, templates: dict[str, str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, templates, n=1)
    guess = f"; did you mean `{near[0]}`?" if near else ""
    return f"no template `{name}`{guess} (there are: {', '.join(templates)})"
