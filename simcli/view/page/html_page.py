"""The HTML file of a page: its content, and the program that shows it."""

from collections.abc import Callable
from html import escape
from importlib.resources import files
from typing import TextIO

from simcli.records.drafts import PAGE_TAG
from simcli.view.page.content import Content
from simcli.view.subject import dumped

# Nothing is loaded from anywhere; a page of a run that goes on asks its own server for frames.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src {}"
BUNDLE = "page/bundled/view.js"


def bundle() -> str:
    """The program of the page, one file made of page/source."""
    return files("simcli.view").joinpath(BUNDLE).read_text(encoding="ascii")


def write_page(
    content: Content, view: dict, stream: TextIO, live: bool = False, done: Callable[[int], None] = lambda frames: None
) -> None:
    """Write a page.

    Args:
        content: of it; its frames are read now.
        view: as of `Content.head`.
        stream: receives the text.
        live: whether the page asks for more frames.
        done: called with the number of frames that are written.
    """
    title = escape(content.subject.spec.name or content.subject.path.stem)
    policy = POLICY.format("'self'" if live else "'none'")
    stream.write(
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{PAGE_TAG}\n<title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<link rel="icon" href="data:,">\n</head>\n<body>\n'
    )
    stream.write('<script type="application/json" id="scene">{"chunks":[')
    for k, chunk in enumerate(content.chunks()):
        stream.write("," * bool(k) + dumped(chunk))
        done(content.n_frames)
    stream.write(f"],{dumped(content.head(view, live))[1:]}</script>\n<script>{bundle()}</script>\n</body>\n</html>\n")
