"""The pages of the site as Markdown: those of the manual, and what the code says of keys, commands, names and codes."""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from typing import Any

import simcli
from simcli.cli.app import COMMANDS, build_app
from simcli.cli.rich_text import about
from simcli.spec.faults.codes import base, code_page, codes
from simcli.spec.lookup.reference import literal_stars, section
from simcli.spec.schema.scene import AUTHORING, SceneSpec

FRONT = "index"
_TAKEN = {"search": "searches"}  # names that Sphinx has pages of its own for
CODES, API = "codes", "api"
_PLACE_OF_LISTS = "<!-- pages -->"
# What public names return, or take, and what that has: by its name in the site, where it is written.
RETURNED = {
    "Joint": "simcli.records.reading.named",
    "Body": "simcli.records.reading.named",
    "NamedPoint": "simcli.records.reading.named",
    "Quantities": "simcli.records.reading.named",
    "Column": "simcli.records.reading.series",
    "Measure": "simcli.records.contents.measures",
    "ErrorEstimate": "simcli.records.contents.measures",
    "Provenance": "simcli.records.contents.provenance",
    "Event": "simcli.model.snapshot",
    "Failure": "simcli.job",
    "OpenRecording": "simcli.simulation.recording",
    "Snapshot": "simcli.simulation.recording",
    "DeviceView": "simcli.kernels.device.dlpack",
    "ContactsFound": "simcli.simulation.questions",
    "RaysFound": "simcli.simulation.questions",
    "IkResult": "simcli.analysis.mechanics.target_tasks",
    "WorldTable": "simcli.analysis.worlds.world_table",
    "WorldColumn": "simcli.analysis.worlds.world_columns",
    "SweepProgress": "simcli.sweeps.status",
    "Model": "simcli.model.tables.model",
}
_ERRORS = "simcli.errors"


def public_objects() -> dict[str, Any]:
    """Functions and classes of `simcli` by name."""
    found = {name: getattr(simcli, name) for name in dir(simcli) if not name.startswith("_")}
    return {name: one for name, one in found.items() if inspect.isfunction(one) or inspect.isclass(one)}


def api_places() -> dict[str, str]:
    """Where each name of the reference of Python is explained: a page and an anchor."""
    public = public_objects()
    places = {name: f"simcli.{name}" for name in public} | {name: f"{room}.{name}" for name, room in RETURNED.items()}
    functions = [name for name, one in public.items() if inspect.isfunction(one)]
    found = {name: f"{API if name in functions else _page_of(name)}.html#{place}" for name, place in places.items()}
    return found | {name: f"{_page_of('errors')}.html#{_ERRORS}.{name}" for name in _errors()}


def page_file(topic: str) -> str:
    """The name of the file of a page of the manual, without its suffix."""
    return _TAKEN.get(topic, topic)


def key_places() -> dict[str, str]:
    """The page of each key of a scene that has parts below it."""
    keys = dict.fromkeys([*SceneSpec.model_fields, *AUTHORING])
    return {key: f"scene-{key}" for key in keys if "\n## " in section(key)}


def site_pages(manual: Mapping[str, str], groups: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """All pages by the names of their files.

    Args:
        manual: pages by topic, as `simcli docs` shows them.
        groups: topics under their headings, in the order of reading.
    """
    keys = key_places()
    scene = manual["scene"]
    for key, page in keys.items():
        scene = scene.replace(f"\n- `{key}`:", f"\n- {_to(page, f'`{key}`')}:")
    reference = {"commands": _commands(), CODES: _codes(), **_api()}
    pages = {page_file(topic): text for topic, text in manual.items()} | reference
    pages["scene"] = scene + _contents("", [f"{key} <{page}>" for key, page in keys.items()])
    pages |= {page: section(key).replace("# ", "# Keys: ", 1) for key, page in keys.items()}
    return pages | {FRONT: _front(pages, groups)}


def _front(pages: Mapping[str, str], groups: Mapping[str, Sequence[str]]) -> str:
    """The first page: what simcli is, and the lists of all others."""
    text = files("simcli").joinpath("docs", "site", f"{FRONT}.md").read_text(encoding="utf-8")
    listed = {title: [page_file(name) for name in names] for title, names in groups.items()}
    for title, names in (listed | {"Reference": ["commands", API, CODES]}).items():
        lines = [f"- {_to(name, _title(pages[name]))}: {about(pages[name])}" for name in names]
        text += f"\n## {title}\n\n" + "\n".join(lines) + "\n" + _contents(title, names)
    return text


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")


def _to(page: str, words: str) -> str:
    """A link to a page."""
    return f"[{words}]({page}.md)"


def _contents(title: str, names: Iterable[str]) -> str:
    """The part of the table of contents that stands beside all pages."""
    head = [":hidden:", *([f":caption: {title}"] if title else [])]
    return "\n\n```{toctree}\n" + "\n".join([*head, "", *names]) + "\n```\n"


def _commands() -> str:
    """Every command with its options, as `--help` has them."""
    from typer.main import get_command

    parts = ["# Commands", "All commands, as `simcli COMMAND --help` shows them. Exit codes are on the page `results`."]
    found: Any = get_command(build_app())
    for panel in dict.fromkeys(command.panel for command in COMMANDS):
        parts.append(f"## {panel}")
        for command in (command for command in COMMANDS if command.panel == panel):
            parts += _command(found.commands[command.name], f"simcli {command.name}")
    return "\n\n".join(parts) + "\n"


def _command(command: Any, name: str) -> Iterator[str]:
    """One command, and those that it has."""
    text, *examples = re.split(r"^Example: ", inspect.cleandoc(command.help or "").replace("\\[", "["), flags=re.MULTILINE)
    yield f"### {name}"
    yield literal_stars(text.strip())
    lines = [line for example in examples for line in example.partition("\n\n")[0].splitlines()]
    if lines:
        yield "```console\n" + "\n".join(lines) + "\n```"
    options = [line for one in command.params for line in _option(one)]
    if options:
        yield "\n".join(options)
    for below, inner in getattr(command, "commands", {}).items():
        yield from _command(inner, f"{name} {below}")


def _option(option: Any) -> Iterator[str]:
    if not getattr(option, "hidden", False) and getattr(option, "help", None):
        spelled = [*option.opts, *option.secondary_opts] if option.param_type_name == "option" else [option.metavar]
        names = ", ".join(f"`{one}`" for one in spelled)
        metavar = f" `{option.metavar}`" if option.param_type_name == "option" and option.metavar else ""
        yield f"- {names}{metavar}: {literal_stars(option.help.replace(chr(92) + '[', '['))}"


def _codes() -> str:
    """Every fault code under a heading that is its anchor."""
    intro = "What `simcli check` and the other commands find in scenes; `simcli explain SC204` shows one of these."
    parts = ["# Fault codes", intro, "The examples change this scene:", f"```yaml\n{base().strip()}\n```"]
    for page in map(code_page, codes()):
        parts += [f"({page.code.lower()})=\n## {page.code}: {page.title}", " ".join(page.why.split())]
        if page.sets:
            parts += ["For example:", "```text\n" + "\n".join(f"--set {text}" for text in page.sets) + "\n```"]
        elif page.bad:
            parts += ["For example:", f"```text\n{page.bad.rstrip()}\n```"]
        if page.good and not page.sets:
            parts += ["Fixed:", f"```yaml\n{page.good.rstrip()}\n```"]
        if page.advice:
            parts.append(page.advice)
    return "\n\n".join(parts) + "\n"


def _api() -> dict[str, str]:
    """The reference of Python: functions on one page, each class on one of its own."""
    public = public_objects()
    classes = [f"simcli.{name}" for name, one in public.items() if inspect.isclass(one)]
    others = [f"{room}.{name}" for name, room in RETURNED.items()]
    functions = [f"simcli.{name}" for name, one in public.items() if inspect.isfunction(one)]
    intro = "The public names of `simcli`, from their docstrings. The page `python` has programs that use them."
    parts = ["# Python", intro, "## Functions", *(_directive("autofunction", one) for one in functions), "## Classes"]
    parts += [_lines(classes), "## What these return", _lines(others)]
    parts.append(f"What they raise: {_to(_page_of('errors'), 'errors')}.")
    pages = {_page_of(one): f"# {_last(one)}\n\n{_directive('autoclass', one)}\n" for one in (*classes, *others)}
    errors = [_directive("autoexception", f"{_ERRORS}.{name}") for name in _errors()]
    pages[_page_of("errors")] = "\n\n".join(["# Errors", "Exit codes are on the page `results`.", *errors]) + "\n"
    return {API: "\n\n".join(parts) + _contents("", pages), **pages}


def _last(place: str) -> str:
    return place.rpartition(".")[2]


def _page_of(place: str) -> str:
    return f"{API}-{_last(place).lower()}"


def _lines(places: Sequence[str]) -> str:
    """Names with the first lines of what they say of themselves."""
    found = {place: getattr(import_module(place.rpartition(".")[0]), _last(place)) for place in places}
    return "\n".join(
        f"- {_to(_page_of(place), f'`{_last(place)}`')}: {(inspect.getdoc(one) or '').partition(chr(10))[0]}"
        for place, one in found.items()
    )


def _directive(kind: str, place: str) -> str:
    options = "   :members:\n   :inherited-members:\n" if kind != "autofunction" else ""
    return f"```{{eval-rst}}\n.. {kind}:: {place}\n{options}```"


def _errors() -> list[str]:
    module = import_module(_ERRORS)
    return [name for name, one in vars(module).items() if inspect.isclass(one) and issubclass(one, Exception)]
