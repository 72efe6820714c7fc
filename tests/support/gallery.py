"""The gallery of the manual: its page, its commands, its pictures and films."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

import simcli

DOCS = Path(simcli.__file__).parent / "docs"
ROOT = DOCS.parents[1]
PAGE = DOCS / "gallery.md"
VIVID, PALE = 128, 128  # colours of a picture in the manual: of bodies, which are few pixels, and of what is around
CHROMA = 14  # of 255, between them
_ENTRY = re.compile(
    r"^## (?P<title>.+?)\n\n!\[(?P<alt>.*?)\]\((?P<file>.*?)\)\n\n(?P<text>.+?)\n\n"
    r"```console\n(?P<code>.+?)```",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Entry:
    """A picture of the gallery.

    Attributes:
        title: of the mechanism.
        text: a sentence on it.
        picture: the file in the manual.
        run, render, play: words of its commands, without `simcli`: of the run, its picture and its film.
    """

    title: str
    text: str
    picture: Path
    run: list[str]
    render: list[str]
    play: list[str]

    @property
    def film(self):
        """The file in the manual."""
        return self.picture.with_suffix(".mp4")

    def commands(self, folder, size=None):
        """The commands as they are run for the manual or a test, with files in a folder; `size` instead of the page's."""
        name = Path(self.run[1]).stem
        result, picture = str(folder / f"{name}.h5"), str(folder / self.render[3])
        options = list(self.render[4:])
        if size:
            options[options.index("--size") + 1] = size
        run = [self.run[0], str(ROOT / self.run[1]), "-o", result, "-q"]
        return (run, ["render", result, "-o", picture, *options]), picture

    def film_command(self, folder):
        """The command that draws the film into a folder where the run is."""
        return ["render", str(folder / f"{self.film.stem}.h5"), "-o", str(folder / self.film.name), *self.play[4:]]


def entries():
    """All of the page, in order."""
    found = []
    for entry in _ENTRY.finditer(PAGE.read_text(encoding="utf-8")):
        run, render, play = (shlex.split(line)[1:] for line in entry["code"].splitlines())
        found.append(Entry(entry["title"], entry["text"], DOCS / entry["file"], run, render, play))
    return found


def made(entry, folder, command, size=None):
    """Run the commands of an entry; the picture, (h, w, 3).

    Args:
        entry: of the page.
        folder: for files.
        command: runs words of a command line, and raises if that fails.
        size: as of `Entry.commands`.
    """
    commands, picture = entry.commands(folder, size)
    for words in commands:
        command(words)
    with Image.open(picture) as image:
        return np.asarray(image.convert("RGB"))


def write_small(picture, path):
    """Write a picture with few colours, so that the repository stays small."""
    pixels = picture.reshape(-1, 3)
    is_vivid = np.ptp(pixels.astype(int), axis=1) > CHROMA
    palette = []
    for part, n in ((pixels[is_vivid], VIVID), (pixels[~is_vivid], PALE)):
        palette += Image.fromarray(part[None]).quantize(n, kmeans=3).getpalette()[: 3 * n]
    colours = Image.new("P", (1, 1))
    colours.putpalette(palette)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).quantize(palette=colours, dither=Image.Dither.NONE).save(path, optimize=True)


def shrunk(picture, size):
    """A picture at a smaller size, (h, w, 3), each pixel the mean of its area."""
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BOX))
