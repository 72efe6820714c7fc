"""`simcli docs`: every page renders, every key of a scene has one, and what the pages show works."""

import json
import re
import shlex
from importlib.resources import files

import pytest
from support.process import told_here

from simcli.cli import console
from simcli.cli.markdown_text import CODE_INDENT, about, markdown_text
from simcli.cli.scenes.docs import READING_ORDER
from simcli.errors import Exit
from simcli.spec.manual.keys import fields
from simcli.spec.manual.reference import overview, places_of, section
from simcli.spec.schema.body import BodySpec
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.scene import AUTHORING, SceneSpec

PAGES = sorted(entry.name.removesuffix(".md") for entry in files("simcli").joinpath("docs").iterdir()
               if entry.name.endswith(".md"))  # fmt: skip


def text_of(page):
    return files("simcli").joinpath("docs", f"{page}.md").read_text(encoding="utf-8")


@pytest.fixture
def command(capsys):
    def run(*words):
        return told_here(capsys, *words)

    return run


def test_pages_are_listed_with_what_they_are_about(command):
    code, out, _ = command("docs", "--json")
    assert code == Exit.OK
    topics = {entry["name"]: entry["about"] for entry in json.loads(out)["topics"]}
    assert sorted(topics) == sorted([*PAGES, "scene"])
    listed = [name for name in READING_ORDER if name in topics]
    assert list(topics)[: len(listed)] == listed
    assert all(topics.values())


@pytest.mark.parametrize("page", [*PAGES, "scene"])
def test_every_page_is_plain_text_that_fits(command, page):
    code, out, err = command("docs", page)
    assert (code, err) == (Exit.OK, "")
    source = overview() if page == "scene" else text_of(page)
    in_code = {line for block in re.findall(r"```\w*\n(.*?)```", source, re.DOTALL) for line in block.splitlines()}
    for line in out.splitlines():
        if line[4:] in in_code:
            continue
        assert len(line) <= 100, line
        assert not line.startswith(("#", "```", "|")), line


@pytest.mark.parametrize("coloured", [False, True])
def test_every_word_of_a_page_is_shown(coloured):
    for page in PAGES:
        source = re.sub(r"^```\w*$", "", text_of(page), flags=re.MULTILINE)
        words = re.findall(r"\w+", re.sub(r"\]\([^)]*\)", "]", source))
        shown = re.sub(r"\x1b\[[0-9;]*m", "", markdown_text(text_of(page), 100, coloured))
        assert sorted(re.findall(r"\w+", shown)) == sorted(words), page
        assert "\x1b" not in shown


def test_elements_of_markdown():
    page = "# T\n\nFirst\nparagraph with **bold** and [a link](x.md) and `L**2`.\n\n- one\n  more\n- two\n\n"
    page += "| a | b |\n|---|:-:|\n| 1 | 2 |\n\n## U\n\n```yaml\n# b\n\nc: " + 99 * "1" + "\n```\n"
    plain = markdown_text(page, 60, False).splitlines()
    assert plain == [
        "T", "=", "", "First paragraph with bold and a link and `L**2`.", "", " - one more", " - two", "", " a  b", " ----",
        " 1  2", "", "U", "-", "", f"{CODE_INDENT}# b", "", f"{CODE_INDENT}c: {99 * '1'}",
    ]  # fmt: skip
    assert "\x1b[1mbold\x1b[0m" in markdown_text(page, 60, True)
    assert about(page) == "First paragraph with bold and a link and `L**2`."


@pytest.mark.parametrize("colours", [True, False])
def test_a_terminal_gets_colours_unless_it_wants_none(command, monkeypatch, colours):
    monkeypatch.setattr(console, "on_terminal", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1") if colours else monkeypatch.setenv("NO_COLOR", "1")
    code, out, _ = command("docs", "convert")
    assert code == Exit.OK
    assert ("\x1b[" in out) == colours


@pytest.mark.parametrize("key", [*fields(SceneSpec), *AUTHORING])
def test_every_key_of_a_scene_has_a_section(command, key):
    code, out, _ = command("docs", key)
    assert code == Exit.OK
    assert key in overview()
    assert key in out


def test_sections_below_keys_and_names():
    assert all(f"- `{name}`: " in section("joints") for name in fields(JointSpec))
    assert all(f"- `{name}`: " in section("bodies") for name in fields(BodySpec))
    assert "## Limit\n" in section("joints.limit")
    assert "- `radius`: " in section("bodies.shapes")
    assert section("bodies.mass").startswith("# bodies.mass\n\n- `mass`: Mass")
    assert "revolute" in section("joints.type")


@pytest.mark.parametrize(("topic", "words"), [
    ("shapes", ["bodies.shapes", "Box shape", "Full lengths"]), ("drive", ["joints.drive", "`stiffness`", "forces.drive"]),
    ("limit", ["joints.limit", "Bounds of one coordinate"]), ("forces.spring", ["forces.spring", "`stiffness`", "pulleys"]),
    ("friction", ["joints.friction", "materials.friction", "forces.friction"]), ("spring", ["forces.spring", "pulleys"]),
    ("joint", ["joints", "`parent`"]), ("gears", ["`coordinates`"]), ("revolute", ["joints.revolute", "`parent`"]),
    ("bodies.shapes.box", ["Box shape"]), ("sine", ["signals.sine", "Amplitude"]),
])  # fmt: skip
def test_a_word_leads_to_its_keys_types_and_headings(command, topic, words):
    code, out, _ = command("docs", topic)
    assert code == Exit.OK
    assert [word for word in words if word not in out] == []


@pytest.mark.parametrize("name", sorted({*fields(JointSpec), *fields(BodySpec), *fields(SceneSpec)}))
def test_every_key_leads_somewhere(name):
    """As a topic of its own: each place that is found has a section, which speaks of the key."""
    places = places_of(name)
    assert places
    assert all(f"`{name}`" in section(place) or f".{name}" in section(place) or place == name for place in places)


def test_a_search_lists_pages_and_lines(command):
    code, out, _ = command("docs", "--search", "NOT-A-KNOT")
    assert code == Exit.OK
    assert {line.split(":")[0] for line in out.splitlines()} >= {"signals"}
    page, number, text = out.splitlines()[0].split(":", 2)
    assert text_of(page).splitlines()[int(number) - 1].strip() == text.strip()
    code, out, _ = command("docs", "signals", "--search", "not-a-knot", "--json")
    assert {line["topic"] for line in json.loads(out)["lines"]} == {"signals"}
    code, out, err = command("docs", "--search", "no such words")
    assert (code, out, "no page contains" in err) == (Exit.USAGE, "", True)


@pytest.mark.parametrize(
    ("topic", "hint"),
    [("jonts", "`joints`"), ("strat", "`start`"), ("unit", "`units`"), ("joints.limt", "`limit`"),
     ("bodies.mass.x", "no key `bodies.mass.x`")],
)
def test_an_unknown_topic_is_wrong_usage_with_a_guess(command, topic, hint):
    code, out, err = command("docs", topic)
    assert (code, out) == (Exit.USAGE, "")
    assert hint in err


def test_commands_of_the_first_steps_work(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n(.*?)```", text_of("start"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) > 10
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "simcli"
        code, _, err = command(*words)
        assert code == Exit.OK, (line, err)
    expect = re.search(r"```yaml\n(.*?)```", text_of("start"), re.DOTALL).group(1)
    scene = (tmp_path / "swing.yaml").read_text()
    (tmp_path / "swing.yaml").write_text(scene.split("\nexpect:")[0] + "\n" + expect)
    code, _, err = command("run", "swing.yaml", "--force")
    assert code == Exit.OK, err


def test_python_of_the_results_page_works(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("new", "swing", "--template", "pendulum")[0] == Exit.OK
    assert command("run", "swing.yaml", "--duration", "0.1", "-q")[0] == Exit.OK
    (code,) = re.findall(r"```python\n(.*?)```", text_of("results"), re.DOTALL)
    exec(compile(code, "results.md", "exec"), {})


def test_exit_codes_of_the_results_page_are_those_of_the_program():
    rows = dict(re.findall(r"^\| (\d+) \| (.*) \|$", text_of("results"), re.MULTILINE))
    assert sorted(map(int, rows)) == sorted(map(int, Exit))
