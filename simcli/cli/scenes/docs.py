"""`simcli docs`: the pages of the manual, in the terminal."""

import shutil
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag
from simcli.errors import Exit, UsageError

_SCENE = "scene"  # the page that is made from the schema
MAX_WIDTH = 100
# In the order in which one reads them; a page that is not here stands behind them.
READING_ORDER = (
    "start", "tutorial", "gallery",
    _SCENE, "units", "expressions", "names", "selection", "frames", "sensors", "coordinates", "joint_fields", "assembly",
    "signals", "batch", "choosing", "generalized", "maximal", "natural", "affine", "contact",
    "results", "python", "sweep", "sweep-machines", "search", "view", "render", "convert", "import", "export", "mechanics",
    "modes", "devices", "speed",
    "theory", "theory-generalized", "theory-maximal", "theory-natural", "theory-affine", "theory-contact",
    "house",
)  # fmt: skip


def docs(
    topic: Annotated[
        str | None, typer.Argument(metavar="TOPIC", help="A page, or a key of scenes as joints.limit.", show_default=False)
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Show a page of the manual; without a topic, list them.

    Example: simcli docs joints.limit
    """
    from simcli.cli.markdown_text import about, markdown_text

    pages = _pages()
    if topic is None:
        console.list_texts("docs", "topics", ((name, about(text)) for name, text in pages.items()), json)
        return Exit.OK
    text = pages[topic] if topic in pages else _of_a_key(topic, pages)
    if json:
        console.emit("docs", {"topic": topic, "markdown": text})
    else:
        width = min(MAX_WIDTH, shutil.get_terminal_size().columns)
        console.picture(markdown_text(text, width, console.on_terminal() and console.colour_wanted()))
    return Exit.OK


def _pages() -> dict[str, str]:
    """Every page by its topic, as Markdown, in the order of reading."""
    from importlib.resources import files

    from simcli.spec.manual.reference import overview

    folder = files("simcli").joinpath("docs")
    written = {
        entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".md")
    }
    pages = {**written, _SCENE: overview()}
    place = {name: k for k, name in enumerate(READING_ORDER)}
    return dict(sorted(pages.items(), key=lambda page: (place.get(page[0], len(place)), page[0])))


def _of_a_key(topic: str, pages: dict[str, str]) -> str:
    from difflib import get_close_matches

    from simcli.spec.manual.reference import section
    from simcli.spec.schema.scene import AUTHORING, SceneSpec

    try:
        return section(topic.removeprefix(f"{_SCENE}."))
    except UsageError as error:
        near = get_close_matches(topic, [*pages, *SceneSpec.model_fields, *AUTHORING], n=1)  # of a key the error knows more
        words = f"did you mean `{near[0]}`?" if near and near[0] in pages else str(error)
        raise UsageError(f"there is no page `{topic}`: {words}") from error
