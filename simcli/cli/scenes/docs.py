"""`simcli docs`: the manual. `simcli explain`: the page of a fault code. `simcli schema`: the JSON Schema of scenes."""

import shutil
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag, Replace, file_or_stdout, folder_to_write, goes_to_stdout, output_option
from simcli.errors import Exit, UsageError

_SCENE = "scene"  # the page that is made from the schema
_HOUSE = "house"  # the page behind which all files are listed
MAX_WIDTH = 100
# In the order in which one reads them; a page that is not here stands behind them.
PAGE_GROUPS = {
    "Begin": ("start", "tutorial", "gallery", "why"),
    "Scenes": (
        _SCENE,
        "units",
        "expressions",
        "names",
        "selection",
        "frames",
        "sensors",
        "coordinates",
        "joint_fields",
        "assembly",
        "signals",
        "ropes",
        "batch",
    ),
    "Solvers": ("choosing", "generalized", "maximal", "natural", "affine", "contact"),
    "Results and studies": ("results", "python", "sweep", "sweep-machines", "search"),
    "Pictures and other formats": ("view", "render", "convert", "import", "export"),
    "Mechanics": ("mechanics", "modes"),
    "Machines": ("devices", "speed"),
    "Theory": (
        "theory",
        "theory-generalized",
        "theory-maximal",
        "theory-natural",
        "theory-affine",
        "theory-contact",
    ),
    "The project": ("changes", _HOUSE),
}
READING_ORDER = tuple(name for names in PAGE_GROUPS.values() for name in names)


def _site_folder(text: str) -> Path:
    return folder_to_write(text, "--html")


def docs(
    topic: Annotated[
        str | None, typer.Argument(metavar="TOPIC", help="A page, or a key of scenes as joints.limit.", show_default=False)
    ] = None,
    search: Annotated[
        str | None, typer.Option("--search", metavar="WORDS", help="List the lines that contain them.", show_default=False)
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="DIR", parser=_site_folder, help="Write all as a site.", show_default=False),
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Show a page of the manual; without a topic, list them.

    Example: simcli docs joints.limit
    Example: simcli docs --html site
    """
    from simcli.cli.rich_text import about

    pages = _pages()
    if html is not None:
        return _write_site(html, topic or search, pages, json)
    if search is not None:
        _search(search, pages if topic is None else {topic: _text_of(topic, pages)}, json)
    elif topic is None:
        console.list_texts("docs", "topics", ((name, about(text)) for name, text in pages.items()), json)
    elif json:
        console.emit("docs", {"topic": topic, "markdown": _text_of(topic, pages)})
    else:
        _show(_text_of(topic, pages))
    return Exit.OK


def _write_site(folder: Path, beside: str | None, pages: dict[str, str], as_json: bool) -> int:
    """Write the site of all pages.

    Raises:
        UsageError: a topic or a word stands beside the option.
    """
    from simcli.cli.scenes.site import write_site

    if beside is not None:
        raise UsageError("--html writes all pages: leave the topic and --search out")
    n_pages = write_site(folder, {name: _text_of(name, pages) for name in pages}, PAGE_GROUPS)
    console.say(f"wrote {folder} ({n_pages} pages): open {folder / 'index.html'} in a browser")
    if as_json:
        console.emit("docs", {"path": folder, "pages": n_pages})
    return Exit.OK


def _show(text: str) -> None:
    from simcli.cli.rich_text import markdown_text

    width = min(MAX_WIDTH, shutil.get_terminal_size().columns)
    console.picture(markdown_text(text, width, console.on_terminal() and console.colour_wanted()))


def _search(word: str, pages: dict[str, str], as_json: bool) -> None:
    """List the lines of pages that contain a word or phrase, in any case; else those of paragraphs with all of its words.

    Raises:
        UsageError: none does.
    """
    found = _lines_with([word], pages) or _lines_with(word.split(), pages)
    if not found:
        raise UsageError(f"no page contains `{word}`: `simcli docs` lists the pages")
    if as_json:
        console.emit(
            "docs",
            {"search": word, "lines": [{"topic": name, "line": number, "text": text} for name, number, text in found]},
        )
        return
    for name, number, text in found:
        console.data(f"{name}:{number}: {text}")


def _lines_with(words: list[str], pages: dict[str, str]) -> list[tuple[str, int, str]]:
    """Lines with one of the words, of paragraphs that have them all: page, number, text."""
    words, found = [word.lower() for word in words], []
    for name, text in pages.items():
        lines = text.splitlines()
        for is_full, numbers in groupby(range(len(lines)), lambda k: bool(lines[k].strip())):  # noqa: B023
            paragraph = [k for k in numbers if is_full]
            whole = " ".join(lines[k] for k in paragraph).lower()
            if all(word in whole for word in words):
                found += [
                    (name, k + 1, lines[k].strip()) for k in paragraph if any(one in lines[k].lower() for one in words)
                ]
    return found


def _text_of(topic: str, pages: dict[str, str]) -> str:
    """A page, or what the scene format and headings of pages have of a word."""
    if topic in pages:
        return f"{pages[topic]}\n{_files()}" if topic == _HOUSE else pages[topic]
    try:
        return _of_a_key(topic, pages)
    except UsageError:
        text = "" if f"{topic}s" in pages else _of_a_word(topic, pages)
        if not text:
            raise
        return text


def _pages() -> dict[str, str]:
    """Every page by its topic, as Markdown, in the order of reading."""
    from importlib.resources import files

    from simcli.spec.lookup.reference import overview

    folder = files("simcli").joinpath("docs")
    written = {
        entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".md")
    }
    pages = {**written, _SCENE: overview()}
    place = {name: k for k, name in enumerate(READING_ORDER)}
    return dict(sorted(pages.items(), key=lambda page: (place.get(page[0], len(place)), page[0])))


def _files() -> str:
    """Every file of the package, by folder, with the first line of what it says of itself."""
    import simcli

    house, lines = Path(simcli.__file__).parent, ["## Files", ""]
    for door in sorted(house.rglob("__init__.py"), key=lambda path: path.parts):
        lines += ["", f"### {door.parent.relative_to(house.parent).as_posix()}/", "", _first_line(door), ""]
        lines += [f"- `{path.name}`: {_first_line(path)}" for path in sorted(door.parent.glob("*.py")) if path != door]
    return "\n".join([*lines, ""])


def _first_line(path) -> str:
    """The first line of a module's docstring, with which it begins."""
    with open(path, encoding="utf-8") as file:
        return file.readline().strip().strip('"')


def _of_a_key(topic: str, pages: dict[str, str]) -> str:
    from difflib import get_close_matches

    from simcli.spec.lookup.reference import section
    from simcli.spec.schema.scene import AUTHORING, SceneSpec

    try:
        return section(topic.removeprefix(f"{_SCENE}."))
    except UsageError as error:
        near = get_close_matches(topic, [*pages, *SceneSpec.model_fields, *AUTHORING], n=1)  # of a key the error knows more
        words = f"did you mean `{near[0]}`?" if near and near[0] in pages else str(error)
        more = f"; `simcli docs --search {topic}` lists the lines that contain it"
        raise UsageError(f"there is no page `{topic}`: {words}{more}") from error


def _of_a_word(word: str, pages: dict[str, str]) -> str:
    """The sections of the keys that a word names wherever they stand, and the headings that contain it; "" without any."""
    from simcli.spec.lookup.reference import places_of, section

    places = [f"{word}s"] if f"{word}s" in places_of(f"{word}s") else places_of(word)  # a section comes before a key
    near = [place for place in places if place.count(".") == places[0].count(".")]
    heads = [
        f"- `{name}`: {line.lstrip('# ')}"
        for name, text in pages.items()
        for line in text.splitlines()
        if line.startswith("#") and word.lower() in line.lower()
    ]
    alike: dict[str, list[str]] = {}  # what several places have is shown once
    for place in near:
        alike.setdefault(section(place).partition("\n\n")[2], []).append(place)
    parts = [f"# {', '.join(titles)}\n\n{text}" for text, titles in alike.items()]
    if len(places) > len(near):
        parts.append("Likewise: " + ", ".join(f"`{place}`" for place in places[len(near) :]) + ".")
    if heads:
        parts.append("Pages, as `simcli docs PAGE` shows them:\n\n" + "\n".join(dict.fromkeys(heads)))
    return "\n\n".join(parts)


def explain(
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="Fault code, as SC204.", show_default=False)] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List all codes.")] = False,
    json: JsonFlag = False,
) -> int:
    """Explain a fault code: what it means, an example, how to fix it.

    Example: simcli explain SC204
    """
    from simcli.spec.faults.codes import code_page, codes

    if show_list:
        return _list([code_page(name) for name in codes()], json)
    if code is None:
        raise UsageError("a code is missing: simcli explain SC204; all codes: simcli explain --list")
    name = f"SC{code}" if code.isdigit() else code.upper()
    if name not in codes():
        raise UsageError(f"there is no code `{code}`; all codes: simcli explain --list")
    found = code_page(name)
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
