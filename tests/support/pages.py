"""Pages of the manual, line by line: their commands run, and answer what the page shows."""

import re
import shlex
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from simcli.cli import process as cli_process
from simcli.errors import Exit

LINKS = ("href", "src", "poster", "action")
REST = "..."  # in the page: whatever follows; alone in its line, any lines
DIGITS = 2e-2  # relative: what the page shows of a number that steps and machines may change a little
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
# Hints, and what is said on a slow machine on the way.
BESIDE = re.compile(r"  next: |(.*: )? *(\d+\.\d %|[\w ]+ \.\.\.$)")


def page(topic):
    """Text of a page of the manual."""
    return files("simcli").joinpath("docs", f"{topic}.md").read_text(encoding="utf-8")


def blocks(text):
    """Kinds and texts of all pieces of code, in order."""
    return re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)


def commands(block):
    """Commands of a block, each with the lines that answer it."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


def same(shown, said):
    """Whether a line says what the page shows: words to the letter, numbers to two percent, blanks as they come."""
    if shown.endswith(REST):
        shown = shown.removesuffix(REST)
        return same(shown, said[: len(shown)]) if shown.strip() else True
    words = [NUMBER.sub("#", "".join(text.split())) for text in (shown, said)]
    numbers = [[float(one) for one in NUMBER.findall(text)] for text in (shown, said)]
    return words[0] == words[1] and numbers[1] == pytest.approx(numbers[0], rel=DIGITS)


def answers(shown, said):
    """Whether lines of an answer are those of the page, in order; `...` stands for any number of them."""
    at, free = 0, False
    for line in shown:
        if line == REST:
            free = True
            continue
        while free and at < len(said) and not same(line, said[at]):
            at += 1
        if at >= len(said) or not same(line, said[at]):
            return line
        at, free = at + 1, False
    return None


def run_block(block, capfd):
    """Run the commands of a block, and compare what they say with the page; returns how many there were."""
    found = commands(block)
    for line, shown in found:
        program, *words = shlex.split(line)
        assert program == "simcli"
        code = cli_process.run_command(words, debug=False, as_json=False)
        out, err = capfd.readouterr()
        assert code == Exit.OK, (line, err)
        said = [part for part in (out + err).splitlines() if not BESIDE.match(part)]
        assert answers(shown, said) is None, (line, answers(shown, said), out, err)
    return len(found)


class SitePage(HTMLParser):
    """A page of the site.

    Attributes:
        ids: anchors.
        links: (tag, where it leads) of all that names another file or anchor.
        heading: text of the first heading.
        text: what is read of the page itself, words of pictures among it.
        code: pieces of code that stand by themselves.
    """

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.heading, self.text, self.code = set(), [], "", "", []
        self._inside, self._depth = [], 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Note anchors and links; what stands in `main` is text."""
        found = dict(attributes)
        self.ids |= {found["id"]} if "id" in found else set()
        self.links += [(tag, found[name]) for name in LINKS if found.get(name)]
        if tag == "div":
            self._depth += bool(self._depth) or found.get("role") == "main"
        if self._depth and "headerlink" not in (found.get("class") or ""):
            self.text += f" {found.get('alt') or found.get('aria-label') or ''}"
        self.code += [""] if tag == "pre" else []
        if tag in ("h1", "pre", "script"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
        """Leave what is inside."""
        self._depth -= tag == "div" and self._depth > 0
        if self._inside[-1:] == [tag]:
            self._inside.pop()

    def handle_data(self, data):
        """Note text."""
        if "script" in self._inside or data == "#":
            return
        self.text += data if self._depth else ""
        if "h1" in self._inside and self._depth:
            self.heading += data
        if "pre" in self._inside:
            self.code[-1] += data
