"""`simcli docs`: every page renders, every key of a scene has one, and what the pages show works.

The pages on units, expressions, names and coordinates: all that the code has stands there, and what they say holds.

The page on selection says what happens: its scene loads, its commands run, its Python holds.

The site: every page with its words, every link leads somewhere, and a browser finds words in it from the file system.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from support.pages import SitePage
from support.process import run_here, simcli, told_here
from support.scenes import scene

import simcli as package
from simcli.cli import console
from simcli.cli.rich_text import CODE_INDENT, about, markdown_text
from simcli.cli.scenes.docs import READING_ORDER
from simcli.cli.scenes.site import write_site
from simcli.cli.scenes.site_pages import RETURNED, api_places, page_file
from simcli.errors import Exit, SceneError, SimcliError
from simcli.model import build
from simcli.model.joints.catalogue import CATALOGUE
from simcli.records.drafts import PAGE_TAG
from simcli.spec import resolve
from simcli.spec.base import dofs
from simcli.spec.base.channel_names import CHANNEL_GROUPS, ON_DEMAND, SCALARS, of_group
from simcli.spec.base.patterns import matching
from simcli.spec.faults.codes import codes, over
from simcli.spec.loading import load_document
from simcli.spec.lookup.keys import fields
from simcli.spec.lookup.reference import overview, places_of, section
from simcli.spec.schema.body import BodySpec
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.scene import AUTHORING, SceneSpec
from simcli.spec.values.expressions import CONSTANTS, FUNCTIONS, ExpressionError, evaluate
from simcli.spec.values.units import UNITS, UnitError, describe, to_si

PAGES = sorted(
    entry.name.removesuffix(".md") for entry in files("simcli").joinpath("docs").iterdir() if entry.name.endswith(".md")
)


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


def test_the_page_of_the_house_ends_with_all_files(command):
    house = Path(package.__file__).parent
    listed = json.loads(command("docs", "house", "--json")[1])["markdown"]
    for path in house.rglob("*.py"):
        if path.name != "__init__.py":
            first = path.read_text(encoding="utf-8").split("\n", 1)[0].strip('"')
            assert f"- `{path.name}`: {first}" in listed, path
        else:
            assert f"### {path.parent.relative_to(house.parent).as_posix()}/" in listed, path


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
        "T",
        "=",
        "",
        "First paragraph with bold and a link and `L**2`.",
        "",
        " - one more",
        " - two",
        "",
        " a  b",
        " ----",
        " 1  2",
        "",
        "U",
        "-",
        "",
        f"{CODE_INDENT}# b",
        "",
        f"{CODE_INDENT}c: {99 * '1'}",
    ]
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


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ("shapes", ["bodies.shapes", "Box shape", "Full lengths"]),
        ("drive", ["joints.drive", "`stiffness`", "forces.drive"]),
        ("limit", ["joints.limit", "Bounds of one coordinate"]),
        ("forces.spring", ["forces.spring", "`stiffness`", "pulleys"]),
        ("friction", ["joints.friction", "materials.friction", "forces.friction"]),
        ("spring", ["forces.spring", "pulleys"]),
        ("joint", ["joints", "`parent`"]),
        ("gears", ["`coordinates`"]),
        ("revolute", ["joints.revolute", "`parent`"]),
        ("bodies.shapes.box", ["Box shape"]),
        ("sine", ["signals.sine", "Amplitude"]),
    ],
)
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
    code, out, _ = command("docs", "start", "--search", "drawn spread grid")  # of one paragraph, in no line together
    assert code == Exit.OK
    assert all(re.search("drawn|spread|grid", line) for line in out.splitlines())
    assert "spread over the worlds" in out
    code, out, err = command("docs", "--search", "no such words and no others: zyx")
    assert (code, out, "no page contains" in err) == (Exit.USAGE, "", True)


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        ("jonts", "`joints`"),
        ("strat", "`start`"),
        ("unit", "`units`"),
        ("joints.limt", "`limit`"),
        ("bodies.mass.x", "no key `bodies.mass.x`"),
    ],
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


@pytest.mark.slow
def test_commands_and_program_of_the_readme_work(command, tmp_path, monkeypatch):
    """In order, with the files of the pages that it names; what it makes with pip, .ci/run does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    root = Path(package.__file__).parents[1]
    text = (root / "README.md").read_text(encoding="utf-8")
    code, _, err = command("run", root / "scenes" / "double_pendulum.yaml", "-q")
    assert code == Exit.OK, err
    (tmp_path / "sweep.yaml").write_text(re.findall(r"```yaml\n(sweep: 1.*?)```", text_of("sweep"), re.DOTALL)[0])
    (tmp_path / "cartpole.yaml").write_text(re.findall(r"```yaml\n(.*?)```", text_of("python"), re.DOTALL)[0])
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    lines = [
        shlex.split(line, comments=True)[1:] for block in blocks for line in block.splitlines() if line.startswith("simcli ")
    ]
    assert len(lines) > 20
    for words in lines:
        code, _, err = command(*words)
        assert code == Exit.OK, (words, err)
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(program, "README.md", "exec"), {})
    with package.open("balance.h5") as run:
        assert run.n_worlds == 1024


def test_python_of_the_results_page_works(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("new", "swing", "--template", "pendulum")[0] == Exit.OK
    assert command("run", "swing.yaml", "--duration", "0.1", "-q")[0] == Exit.OK
    (code,) = re.findall(r"```python\n(.*?)```", text_of("results"), re.DOTALL)
    exec(compile(code, "results.md", "exec"), {})


def test_exit_codes_of_the_results_page_are_those_of_the_program():
    rows = dict(re.findall(r"^\| (\d+) \| (.*) \|$", text_of("results"), re.MULTILINE))
    assert sorted(map(int, rows)) == sorted(map(int, Exit))


ROUNDING = 1e-14  # relative: a product or two


def page(name):
    return files("simcli").joinpath("docs", f"{name}.md").read_text(encoding="utf-8")


def tables(name):
    """The tables of a page: header, rows."""
    for block in re.findall(r"(?:^\|.*\|\n)+", page(name), re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        yield rows[0], rows[2:]


def rows_of(name, *header):
    return [row for head, rows in tables(name) if tuple(head) == header for row in rows]


def scenes(name):
    return [text for text in re.findall(r"```yaml\n(.*?)```", page(name), re.DOTALL) if text.startswith("simcli: 1\n")]


def spec_of(text):
    return resolve(scene(text.removeprefix("simcli: 1\n")))


def code(cell):
    return cell.strip("`")


def number_of(cell):
    """A number of a page, where stars that are none of Markdown's are escaped."""
    return cell.strip().replace("\\*", "*")


def known(name):
    """The parameters of the page on expressions."""
    if name != "L":
        raise ExpressionError(f"unknown parameter `{name}`", code="SC222")
    return 0.4


@pytest.mark.parametrize("name", ["units", "expressions", "names"])
def test_scenes_of_the_pages_are_valid(name):
    assert scenes(name)
    for text in scenes(name):
        assert spec_of(text)


def test_every_unit_stands_on_the_page_with_its_dimension_and_value():
    found = {}
    for words, symbols in rows_of("units", "dimension", "symbols"):
        for symbol, value in re.findall(r"`([^`]+)` ([^,]+)", symbols):
            assert symbol not in found
            found[symbol] = words
            factor, dimension = UNITS[symbol]
            assert re.sub("^an? ", "", describe(dimension)) == words, symbol
            assert evaluate(number_of(value), {}) == pytest.approx(factor, rel=ROUNDING), symbol
    assert set(found) == set(UNITS)


def test_examples_of_units_have_the_numbers_of_the_page():
    rows = rows_of("units", "text", "of a key in", "number")
    assert len(rows) > 10
    for text, unit, number in rows:
        assert to_si(code(text), code(unit)) == pytest.approx(evaluate(number_of(number), {}), rel=ROUNDING), text


def test_refusals_of_units_are_those_of_the_page():
    rows = rows_of("units", "text", "of a key in", "fault")
    assert len(rows) > 5
    for text, unit, fault in rows:
        with pytest.raises(UnitError) as caught:
            to_si(code(text), code(unit))
        assert caught.value.code == fault, text


def test_numbers_of_the_scene_on_units():
    (text,) = scenes("units")
    spec = spec_of(text)
    rod, pin = spec.bodies["rod"], spec.joints["pin"]
    assert (rod.mass, rod.com[0], spec.solver.dt) == (0.5, 0.2, 0.0005)
    assert spec.world.gravity[2] == -9.80665
    assert rod.inertia.diag[0] == pytest.approx(3e-4, rel=ROUNDING)
    assert pin.damping == pytest.approx((0.005,), rel=ROUNDING)
    assert pin.qd == pytest.approx((evaluate("2*pi", {}),), rel=ROUNDING)


def test_every_function_and_constant_stands_on_the_page():
    rows = {code(name): (takes, what) for name, takes, what in rows_of("expressions", "name", "takes", "is")}
    assert set(rows) == {*FUNCTIONS, *CONSTANTS}
    for name, (_, least, most) in FUNCTIONS.items():
        assert rows[name][0] == (f"{least}" if least == most else f"{least} to {most}")
    for name, value in CONSTANTS.items():
        assert float(rows[name][1]) == value


def test_expressions_of_the_page_have_its_values_and_faults():
    rows = rows_of("expressions", "expression", "at L = 0.4")
    assert len(rows) > 5
    for text, number in rows:
        assert evaluate(code(text), known) == pytest.approx(float(number), rel=ROUNDING), text
    rows = rows_of("expressions", "expression", "fault", "because")
    assert len(rows) > 5
    for text, fault, _ in rows:
        with pytest.raises(ExpressionError) as caught:
            evaluate(code(text), known)
        assert caught.value.code == fault, text


def test_numbers_of_the_scenes_on_expressions():
    pendulum, models = map(spec_of, scenes("expressions"))
    rod, pin = pendulum.bodies["rod"], pendulum.joints["pin"]
    assert (rod.mass, rod.com[0]) == (0.8, 0.2)
    assert pin.q == pytest.approx((evaluate("pi/6", {}),), rel=ROUNDING)
    assert pin.at[2] == pytest.approx(0.4 * evaluate("sqrt(3)/2", {}), rel=ROUNDING)
    assert pin.damping == (4.0,)
    masses = {name: body.mass for name, body in models.bodies.items()}
    assert masses == {"left/rod": 0.8, "right/rod": 0.5}


def test_patterns_of_the_page_on_names():
    (text,) = scenes("names")
    spec = spec_of(text)
    joints = [*spec.joints, "ball_free"]
    rows = rows_of("names", "pattern", "means")
    assert len(rows) > 5
    for pattern, means in rows:
        assert ", ".join(joints[k] for k in matching(joints, code(pattern))) == means, pattern


def test_every_quantity_stands_on_the_page_on_names():
    rows = {code(group): tuple(map(code, words.split(", "))) for group, words in rows_of("names", "group", "quantities")}
    named = {group: of_group(group) for group in {**CHANNEL_GROUPS, **ON_DEMAND} if of_group(group)}
    assert rows == {**named, **SCALARS}


def test_conditions_of_the_page_on_names_are_valid():
    (text,) = scenes("names")
    (conditions,) = re.findall(r"```yaml\n(run:.*?)```", page("names"), re.DOTALL)
    spec = spec_of(over(text, conditions))
    assert spec.run.stop_when.above == pytest.approx(evaluate("pi/3", {}), rel=ROUNDING)
    assert [one.channel for one in spec.expect] == ["energy.drift", "joint.right/pin.qd"]


VALUES = {"gravity": -3.0, "damping": 0.5, "mass": 2.0, "dt": 0.002}


@pytest.mark.parametrize("row", rows_of("names", "path", "`--set`", "`batch.vary`", "`events.set`"), ids=lambda row: row[0])
def test_paths_of_the_page_on_names(tmp_path, row):
    path, *cells = code(row[0]), *row[1:]
    (text,) = scenes("names")
    file = tmp_path / "scene.yaml"
    value = VALUES[re.findall("[a-z]+", path)[-1]]
    uses = {
        "--set": ("", [f"{path}={value}"]),
        "batch.vary": (f"batch: {{vary: {{'{path}': {{grid: [{value}, {value / 2}]}}}}}}\n", []),
        "events.set": (f"events: [{{at: 0.5, set: {{'{path}': {value}}}}}]\n", []),
    }
    for (use, (more, sets)), cell in zip(uses.items(), cells, strict=True):
        file.write_text(text + more)
        found = set()
        try:
            resolve(load_document(file, sets=sets))
        except SceneError as error:
            found = {fault.code for fault in error.faults}
        assert cell == ("refused" if found else "yes"), use
        assert found <= {"SC316", "SC317"}, use


def units_in(cell):
    return [unit for unit in cell.split(", ") if unit]


def test_every_joint_type_stands_on_the_page_with_its_units():
    rows = {code(name): cells for name, *cells in rows_of("coordinates", "type", "q", "units of q", "units of qd")}
    others = {code(name): re.findall("`([^`]+)`", same)[0] for name, same in rows_of("coordinates", "name", "the same as")}
    assert {*rows, *others} == set(dofs.TYPES) == set(CATALOGUE)
    assert others == dofs.SAME
    for name, (_, of_q, of_qd) in rows.items():
        if name == "d6":  # by its axes
            continue
        kinds = dofs.kinds(name)
        q_kinds = dofs.q_kinds(name, kinds)
        assert units_in(of_q) == [unit or "1" for unit in dofs.units("position", q_kinds)], name
        assert units_in(of_qd) == dofs.units("velocity", kinds), name
        motion = CATALOGUE[name]
        if name != "cable":
            assert ("quaternion" in rows[name][0]) == motion.has_quaternion, name


def test_a_free_joint_has_the_velocity_of_the_centre_of_mass_along_the_parent_anchor_frame():
    """The parent anchor is turned by 90 deg about z: its x axis is the world's y, its y axis the world's -x."""
    document = scene("""
bodies:
  b:
    mass: 1
    com: [0.5, 0, 0]
    inertia: {diag: [0.1, 0.1, 0.1]}
    velocity: {linear: [1, 2, 3], angular: [4, 5, 6]}
joints:
  j: {type: free, parent: world, child: b, parent_frame: {rpy: [0, 0, 90 deg]}, child_frame: {xyz: [0.1, 0, 0]}}
run: {duration: 1}
""")
    model = build(resolve(document), document)
    assert model.joint_qd[0] == pytest.approx([2, -1, 3, 5, -4, 6], rel=ROUNDING)


PAGE = files("simcli").joinpath("docs/selection.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    scene = blocks("yaml")[0]
    (tmp_path / "robots.yaml").write_text(scene)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_of_the_page_holds(folder, device):
    names = {}
    for block in blocks("python"):
        exec(compile(block, "selection.md", "exec"), names)
    assert names["carts"].get_root_transforms(names["state"]).shape == (4, 2, 7)
    assert sum(block.count("assert") for block in blocks("python")) >= 8


@pytest.mark.slow
def test_the_commands_of_the_page_run(folder):
    (commands,) = blocks("console")
    for line in commands.splitlines():
        done = simcli(*shlex.split(line)[1:], cwd=folder)
        assert done.returncode == 0, done.stderr
    with package.open(folder / "carts.h5") as run:
        assert run.joints == (
            *(f"row/{k}-0-0/elbow" for k in range(3)),
            *(f"fleet/{k}-0-0/slew" for k in range(2)),
            *(f"fleet/{k}-0-0/deck_free" for k in range(2)),
        )
    assert "joint.fleet/1-0-0/slew.q" in (folder / "slew.csv").read_text().splitlines()[0]


def test_the_selection_of_the_page_s_scene_is_what_it_says(folder):
    done = simcli("run", "robots.yaml", "-q", "-o", "run.h5", cwd=folder)
    assert done.returncode == 0, done.stderr
    with package.open(folder / "run.h5") as run:
        assert len(run.bodies) == 6 + 2
        assert not [name for name in run.joints if name.endswith("_free")]
        assert abs(run.joint("row/2-0-0/shoulder").q[0] - 0.1).max() == 0
        assert abs(run.joint("row/2-0-0/elbow").q[0] - 1.0).max() == 0


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, which has taken the place of an older one."""
    folder = tmp_path_factory.mktemp("site") / "pages"
    folder.mkdir()
    (folder / "index.html").write_text(f"<!doctype html><head>{PAGE_TAG}</head>")
    (folder / "old.html").touch()
    assert run_here("docs", "--html", folder) == Exit.OK
    return folder


@pytest.fixture(scope="module")
def shown(site):
    """Its pages by name."""
    return {path.stem: SitePage(path) for path in site.glob("*.html")}


def words_of(markdown):
    """Words that are read of a page: no languages of code, no targets of links, no numbers of lists."""
    text = re.sub(r"^(```\w*$|\d+\. )", "", markdown, flags=re.MULTILINE)
    return sorted(re.findall(r"\w+", re.sub(r"\]\([^)]*\)", "]", text)))


@pytest.mark.full
def test_the_site_has_every_page_with_all_its_words(command, site, shown):
    assert not (site / "old.html").exists()
    assert [path.name for path in site.parent.iterdir()] == ["pages"]
    for topic in [*PAGES, "scene"]:
        markdown = json.loads(command("docs", topic, "--json")[1])["markdown"]
        found = shown[page_file(topic)]
        assert found.heading == markdown.partition("\n")[0].lstrip("# ").replace("`", "")
        assert sorted(re.findall(r"\w+", found.text)) == words_of(markdown), topic


@pytest.mark.full
def test_every_link_of_the_site_leads_somewhere_in_it(site, shown):
    n_links = 0
    for name, found in shown.items():
        for tag, link in found.links:
            if re.match(r"https?://", link):
                assert tag == "a", (name, link)  # nothing is fetched from elsewhere
                continue
            file, _, anchor = link.partition("#")
            target = site / (file.partition("?")[0] or f"{name}.html")
            assert target.is_file(), (name, link)
            assert not anchor or anchor in shown[target.stem].ids, (name, link)
            n_links += 1
    assert n_links > 3000
    linked = {link.partition("#")[0] for found in shown.values() for _, link in found.links}
    assert {f"{name}.html" for name in shown} <= linked


@pytest.mark.full
def test_codes_names_keys_and_films_are_in_the_site(shown):
    assert {code.lower() for code in codes()} <= shown["codes"].ids
    names = {*package._LATE, "load", "open", "sweep"}
    places = api_places()
    assert names | RETURNED.keys() | {"SceneError"} <= places.keys()
    for name in places:
        page_, anchor = places[name].split(".html#")
        assert anchor in shown[page_].ids, name
    assert {"simcli.Simulation.step", "simcli.Trajectory.joint"} <= shown["api-simulation"].ids | shown["api-trajectory"].ids
    assert "simcli.ArticulationView.get_dof_positions" in shown["api-articulationview"].ids  # of a class below it
    assert not [one for found in shown.values() for one in found.ids if one.endswith((".add_note", "._run", ".bit_length"))]
    assert ("a", "scene-joints.html") in shown["scene"].links
    assert not [line for line in shown["index"].text.splitlines() if line.rstrip().endswith(":")]  # of what a page is about
    films = [link for tag, link in shown["gallery"].links if tag == "video" and link.endswith(".mp4")]
    assert len(films) == len(list((Path(package.__file__).parent / "docs" / "gallery").glob("*.mp4"))) > 10
    assert ("a", "results.html") in shown["start"].links  # "the page `results`"
    assert ("a", "codes.html#sc317") in shown["names"].links


@pytest.mark.full
def test_examples_of_docstrings_are_python(shown):
    examples = [code for name, found in shown.items() if name.startswith("api") for code in found.code]
    examples = [code for code in examples if "simcli." in code]  # others are equations
    assert len(examples) == 2
    for code in examples:
        compile(code, "example", "exec")
        for name in re.findall(r"simcli\.(\w+)", code):
            assert hasattr(package, name), code


@pytest.mark.full
def test_commands_of_the_first_page_work(command, shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    lines = [line.split()[1:] for code in shown["index"].code for line in code.splitlines() if line.startswith("simcli")]
    assert len(lines) == 4
    for words in lines:
        code, _, err = command(*words)
        assert code == Exit.OK, (words, err)


BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.full
@pytest.mark.parametrize(
    ("query", "page", "words"),
    [("redundant", "generalized.html", "redundant"), ("qwzyx", "", "did not match"), ("rope", "scene-forces.html", "rope")],
)
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")
def test_a_browser_searches_the_site_as_files(site, tmp_path, query, page, words):
    """With what stands around a word, which a page from the file system cannot fetch."""
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}",
        "--virtual-time-budget=5000",
    ]
    url = f"{(site / 'search.html').as_uri()}?q={query}"
    done = subprocess.run([BROWSER, *options, "--dump-dom", url], capture_output=True, text=True, timeout=120)
    results = done.stdout.split('id="search-results"')[1].split('class="sphinxsidebar"')[0]
    assert words in re.sub(r"<.*?>", "", results)
    assert f'href="{page}' in results if page else "<li" not in results
    assert ('class="context"' in results) == bool(page)
    assert "ValueErrorValueError" not in (site / "_static" / "texts.js").read_text()  # the names of a link


@pytest.mark.full
def test_a_warning_of_sphinx_ends_the_site(tmp_path):
    page_ = "# Units\n\nOn [another page](nowhere.md).\n"
    with pytest.raises(SimcliError, match=r"nowhere\.md"):
        write_site(tmp_path / "site", {"scene": overview(), "units": page_}, {"Scenes": ("scene", "units")})
    assert list(tmp_path.iterdir()) == []


def test_a_site_takes_no_place_of_others(command, tmp_path):
    (tmp_path / "index.html").write_text("<!doctype html><title>mine</title>")
    for folder in (tmp_path, tmp_path / "index.html"):
        code, _, err = command("docs", "--html", folder)
        assert (code, "is no site of simcli" in err) == (Exit.OUTPUT, True)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    for words in (["start"], ["--search", "step"]):
        code, _, err = command("docs", *words, "--html", tmp_path / "site")
        assert (code, "--html writes all pages" in err) == (Exit.USAGE, True)
    code, _, err = command("docs", "--html", "-")
    assert (code, "--html -" in err) == (Exit.USAGE, True)


@pytest.mark.parametrize("name", ["sphinx", "myst_parser"])
def test_without_the_packages_the_extra_is_named(command, tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    code, _, err = command("docs", "--html", tmp_path / "site")
    assert (code, "pip install 'simcli[docs]'" in err) == (Exit.USAGE, True)
    assert list(tmp_path.iterdir()) == []
