"""The site of `simcli docs --html`: the pages of the manual and the reference of Python, by Sphinx, for the file system."""

import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from simcli.cli.scenes.site_pages import CODES, FRONT, api_places, key_places, page_file, site_pages
from simcli.errors import OutputError, SimcliError, from_extra
from simcli.records.drafts import PAGE_TAG, bears_mark, draft_of
from simcli.release import version
from simcli.spec.faults.codes import codes

_CODE = re.compile(r"\bSC\d{3}\b")
_BEFORE_PAGES = re.compile(r"\b[Pp]ages?\s$")
_BETWEEN_PAGES = re.compile(r"(,|,? and|,? or|;)\s")
_SECTION = re.compile(r"[A-Z]\w+:\s*$")
_IN_CODE = re.compile(r"(`[^`]+`)")
_LETTER = re.compile(r"^(\s+\w+: )(\w\.)$")  # which would begin a list
_OPTIONS: dict[str, Any] = {
    "project": "simcli",
    "extensions": ["myst_parser", "sphinx.ext.autodoc"],
    "myst_heading_anchors": 3,
    "default_role": "literal",
    "highlight_language": "text",
    "smartquotes": False,
    "add_module_names": False,
    "python_use_unqualified_type_names": True,
    "autodoc_typehints": "description",
    "autodoc_typehints_description_target": "documented_params",
    "autodoc_member_order": "bysource",
    "autodoc_preserve_defaults": True,
    "autodoc_class_signature": "mixed",
    "pygments_style": "default",
    "html_theme": "basic",
    "html_static_path": ["_static"],
    "html_css_files": ["style.css"],
    "html_js_files": ["site.js"],
    "html_sidebars": {"**": ["pages.html"]},
    "html_copy_source": False,
    "html_domain_indices": False,
    "html_use_index": False,
    "html_permalinks_icon": "#",
}


def write_site(folder: Path, manual: Mapping[str, str], groups: Mapping[str, Sequence[str]]) -> int:
    """Write a site that needs no server.

    Args:
        folder: of the site; one that was written before is replaced.
        manual: pages by topic, as Markdown.
        groups: topics under their headings.

    Returns:
        how many pages it has.

    Raises:
        UsageError: Sphinx or MyST is missing.
        OutputError: the folder is that of something else, or cannot be written.
        SimcliError: a page is not as it should be, by a warning of Sphinx.
    """
    if folder.exists() and not (folder.is_dir() and (not any(folder.iterdir()) or bears_mark(folder / "index.html"))):
        raise OutputError(f"{folder}: is no site of simcli, and is not replaced; name another folder with --html")
    with from_extra("a site needs Sphinx and myst-parser", "docs"):
        import myst_parser  # noqa: F401
        import sphinx  # noqa: F401
    draft = draft_of(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as source:
            n_pages = _build(Path(source), draft, site_pages(manual, groups), manual)
        _replace(folder, draft)
    except OSError as error:
        raise OutputError(f"{folder}: cannot write: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return n_pages


def _replace(folder: Path, draft: Path) -> None:
    """Put what was made in the place of a folder."""
    old = draft_of(folder)
    if folder.exists():
        os.replace(folder, old)
    os.replace(draft, folder)
    shutil.rmtree(old, ignore_errors=True)


def _build(source: Path, target: Path, pages: Mapping[str, str], topics: Iterable[str]) -> int:
    """Run Sphinx.

    Raises:
        SimcliError: it has warned.
    """
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    for name, text in pages.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    (source / "_static").mkdir()
    with as_file(files("simcli").joinpath("docs")) as docs:
        shutil.copytree(docs / "gallery", source / "gallery")
        shutil.copytree(docs / "gallery", target / "gallery")
        for name in ("style.css", "site.js"):
            shutil.copy(docs / "site" / name, source / "_static")
        options = _OPTIONS | {
            "root_doc": FRONT,
            "release": version(),
            "html_title": f"simcli {version()}",
            "templates_path": [str(docs / "site")],
        }
        warnings = io.StringIO()
        with patch_docutils(), docutils_namespace():
            app = Sphinx(source, None, target, source / "doctrees", "html", options, status=None, warning=warnings)
            links = _Links(topics)
            app.connect("autodoc-process-docstring", _as_rst)
            app.connect("autodoc-skip-member", _skips)
            app.connect("doctree-read", links.write)
            app.connect("doctree-read", _show_films)
            app.connect("doctree-read", _let_tables_scroll)
            app.connect("doctree-read", _tidy_reference)
            app.connect("html-page-context", _mark)
            app.build()
            texts = {name: _texts(app.env.get_doctree(name)) for name in pages}
    if said := re.sub(r"\x1b\[[0-9;]*m", "", warnings.getvalue()).strip():
        raise SimcliError(f"the site was not written, because Sphinx warns:\n{said}")
    script = f"const TEXTS = {json.dumps(texts, ensure_ascii=False)};\n"
    (target / "_static" / "texts.js").write_text(script, encoding="utf-8")
    (target / ".buildinfo").unlink()
    return len(pages)


def _mark(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Mark a page as ours, by which a later site may take its place."""
    context["metatags"] = f"\n    {PAGE_TAG}{context.get('metatags', '')}"


def _texts(tree: Any) -> list[tuple[str, str]]:
    """The texts of the sections of a page, with their anchors: what a search shows around a word."""
    from docutils import nodes
    from sphinx.addnodes import pending_xref_condition

    for one in list(tree.findall(pending_xref_condition)):  # a type has two names until its link is found
        if one["condition"] == "*":
            one.parent.remove(one)
    found = []
    for section in tree.findall(nodes.section):
        own = [child.astext() for child in section.children if not isinstance(child, nodes.section | nodes.title)]
        found.append((section["ids"][0], "\n".join(own)))
    return found


class _Links:
    """What pages name becomes a link: other pages, `simcli docs TOPIC`, codes of faults, public names of Python.

    Attributes:
        places: where a name of code leads.
        topics: where the name of a page leads that a text names as one.
        codes: all of them.
    """

    def __init__(self, topics: Iterable[str]):
        self.topics = {topic: f"{page_file(topic)}.html" for topic in topics}
        shown = {key: f"{page}.html" for key, page in key_places().items()} | self.topics
        self.names = api_places()
        self.places = {f"simcli docs {topic}": place for topic, place in shown.items()}
        self.places |= {f"simcli.{name}": place for name, place in self.names.items()}
        self.codes = set(codes())

    def write(self, app: Any, tree: Any) -> None:
        """Write them into a page that was read."""
        from docutils import nodes

        page = app.env.current_document.docname if hasattr(app.env, "current_document") else app.env.docname
        for literal in list(tree.findall(nodes.literal)):
            place = self._place_of(literal, page) if self._may_link(literal) else None
            if place and place.partition(".html")[0] != page:
                _link(literal, place)
        for text in list(tree.findall(nodes.Text)):
            if page != CODES and _CODE.search(text) and self._may_link(text):
                self._link_codes(text)
        for block in tree.findall(nodes.literal_block):
            if block.get("language") == "console" and not block.astext().startswith("$ "):
                block["language"] = "bash"

    @staticmethod
    def _may_link(node: Any) -> bool:
        from docutils import nodes

        while node := node.parent:
            if isinstance(node, nodes.reference | nodes.title | nodes.literal_block | nodes.raw):
                return False
        return True

    def _place_of(self, literal: Any, page: str) -> str | None:
        """Where a piece of code leads; None where it is no name."""
        text = literal.astext()
        if text in self.codes:
            return f"{CODES}.html#{text.lower()}"
        if page.startswith("api") and text in self.names:
            return self.names[text]
        if text in self.topics and self._is_called_page(literal):
            return self.topics[text]
        return self.places.get(text)

    def _is_called_page(self, literal: Any) -> bool:
        """Whether a text says that a word is a page: "the pages `a` and `b`", or it stands in brackets with such only."""
        from docutils import nodes

        if isinstance(literal.parent.parent, nodes.entry) and _head_of(literal.parent.parent) == "page":
            return True
        around, k = literal.parent.children, literal.parent.index(literal)
        before = around[k - 1].astext() if k else ""
        if _BEFORE_PAGES.search(before):
            return True
        if k >= 2 and _BETWEEN_PAGES.fullmatch(before) and around[k - 2].get("internal"):
            return True
        inside = [one for one in around[k::2] if isinstance(one, nodes.literal)]
        if not before.endswith("("):
            return False
        for n, one in enumerate(inside):
            after = around[k + 2 * n + 1].astext() if k + 2 * n + 1 < len(around) else ""
            if one.astext() not in self.topics:
                return False
            if not _BETWEEN_PAGES.fullmatch(after):
                return after.startswith(")")
        return False

    def _link_codes(self, text: Any) -> None:
        from docutils import nodes

        parts: list[Any] = []
        for word in re.split(f"({_CODE.pattern})", text.astext()):
            if word in self.codes:
                parts.append(nodes.reference("", word, refuri=f"{CODES}.html#{word.lower()}", internal=True))
            elif word:
                parts.append(nodes.Text(word))
        text.parent.replace(text, parts)


def _head_of(cell: Any) -> str:
    """What stands over the column of a cell of a table."""
    row = cell.parent
    return row.parent.parent.children[-2].children[0].children[row.index(cell)].astext()


def _link(node: Any, place: str) -> None:
    from docutils import nodes

    link = nodes.reference("", "", refuri=place, internal=True)
    node.parent.replace(node, link)
    link += node


def _show_films(app: Any, tree: Any) -> None:
    """Play the film of a picture that has one in place of it."""
    from docutils import nodes

    for image in list(tree.findall(nodes.image)):
        film = Path(image["uri"]).with_suffix(".mp4")
        if (Path(app.srcdir) / film).is_file():
            words = f'src="{film.as_posix()}" poster="{image["uri"]}" aria-label="{image["alt"]}"'
            html = f"<video {words} width='480' height='270' controls loop muted playsinline preload='metadata'></video>"
            image.parent.replace(image, nodes.raw("", html, format="html"))


def _let_tables_scroll(app: Any, tree: Any) -> None:
    """Put each table into a box that scrolls by itself on a narrow screen."""
    from docutils import nodes

    for table in list(tree.findall(nodes.table)):
        box = nodes.container(classes=["scrolls"])
        table.parent.replace(table, box)
        box += table


def _tidy_reference(app: Any, tree: Any) -> None:
    """Dashes of the reference of Python as such, and no return type where nothing is returned."""
    from docutils import nodes

    for part in list(tree.findall(nodes.field)):
        if part.astext().split() == ["Return", "type", "None"]:
            part.parent.remove(part)
    for text in [one for fields in tree.findall(nodes.field_list) for one in fields.findall(nodes.Text)]:
        if not isinstance(text.parent, nodes.literal):
            text.parent.replace(text, nodes.Text(re.sub(r"(^|\s)--\s", "\\1\N{EN DASH} ", text)))
    for fields in list(tree.findall(nodes.field_list)):
        if not fields.children:
            fields.parent.remove(fields)


def _skips(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class has from Python or numpy, and special methods."""
    function = member.fget if isinstance(member, property) else getattr(member, "func", member)
    ours = (getattr(function, "__module__", None) or "").startswith("simcli")
    return True if name.startswith("_") or (what in ("class", "exception") and not ours) else None


def _as_rst(app: Any, what: str, name: str, member: Any, options: Any, lines: list[str]) -> None:
    """A docstring of the house, in Google's sections and else like Markdown, as reStructuredText: in place."""
    from sphinx.ext.napoleon import Config, GoogleDocstring

    found: list[str] = []
    in_section = in_block = False
    for line in _IN_CODE.sub(_in_one_line, "\n".join(lines)).split("\n"):
        is_indented = line.startswith("    ")
        if line.strip() and not is_indented:
            in_section, in_block = bool(_SECTION.fullmatch(line)), False
        if is_indented and not (in_section or in_block) and found and not found[-1].strip():
            found += ["::", ""]
            in_block = True
        found.append(line if in_block else _LETTER.sub(r"\1\\\2", "".join(map(_marks, _IN_CODE.split(line)))))
    kind: Any = "method" if what == "property" else what  # whose docstring would begin with a type and a colon
    sections: Any = Config(napoleon_use_rtype=False, napoleon_custom_sections=[("Attributes", "params_style")])
    lines[:] = GoogleDocstring(found, sections, app, kind, name, member).lines()


def _in_one_line(code: re.Match[str]) -> str:
    return " ".join(code[0].split()) if "\n" in code[0] else code[0]


def _marks(part: str) -> str:
    """Code in two backticks, and characters that mean nothing in Markdown behind a backslash."""
    if part.startswith("`"):
        return f"`{part}`"
    return re.sub(r"_(?=\W|$)", r"\_", re.sub(r"([*|\\])", r"\\\1", part))
