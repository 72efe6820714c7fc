"""The gallery of the manual: whole, small, and what its commands draw.

The page on solvers, integrators and steps: its numbers are those that its commands print.

The page of the manual about simulations in process: its programs run, and its environment is one of gymnasium.

The tutorial, line by line: every command runs, in order, and answers what the page shows.

The theory pages: constants that they tell are those of the code, and every source has author and year.

The page of changes begins with the version of the package; the page `why` has the numbers of the page `speed`.

The JSON Schema as an editor uses it: it takes every good scene, and points at what is wrong in a broken one.
"""

import json
import re
import shlex
import tomllib
import warnings
from importlib.resources import files

import av
import numpy as np
import pytest
import yaml
from jsonschema import Draft7Validator
from PIL import Image
from support.gallery import (
    DOCS,
    PAGE,
    ROBOT,
    ROBOT_PICTURE,
    ROOT,
    entries,
    made,
    robot_commands,
    robot_meshes,
    shrunk,
)
from support.mutations import SHIPPED, draw
from support.pages import REST, answers, blocks, page, run_block
from support.solver_modes import MODES
from test_spec_scene import ALL_KEYS

from simcli.cli import process as cli_process
from simcli.errors import Exit, SceneError
from simcli.kernels.barrier.advancement import KEPT_GAP
from simcli.kernels.barrier.law import PARALLEL
from simcli.kernels.complementarity.problem import LIMITS, SCHEDULE
from simcli.kernels.rows.constrained_system import FEWER_WEIGHTS, SOFTNESS, WEIGHTS
from simcli.model.forms.maximal_form import STABLE
from simcli.model.forms.natural_form import THIN
from simcli.records.drafts import bears_mark
from simcli.solvers.base.integrators import GAMMA, RK4_WEIGHTS
from simcli.solvers.base.world_ends import FARTHEST_TURN
from simcli.solvers.natural.memory import MOST_SOFT, SOFTNESS_OF_TURN
from simcli.spec import document_of_text, json_schema, load_document
from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import find, parse_path, plain
from simcli.spec.base.old_keys import OLD_KEYS
from simcli.spec.document.loader import parse_text
from simcli.spec.faults import codes
from simcli.spec.lookup.json_schema import DRAFT
from simcli.spec.values.units import UNITS, dimension_of, unit_fits

ENTRIES = entries()
MOST_BYTES, MOST_BYTES_OF_FILM = 60_000, 130_000
DRAWN, SMALL = "320x180", (160, 90)
# Of 255: the committed pictures have 256 colours, and the small ones are drawn with fewer rays for the same area.
MEAN, FEW = 3.0, 12.0
QUICK = ["double_pendulum"]


def command(words):
    assert cli_process.run_command(words, debug=False, as_json=False) == Exit.OK


def test_the_page_names_thirteen_scenes_and_their_pictures():
    assert len(ENTRIES) == 13
    assert len(re.findall(r"^## ", PAGE.read_text(), re.MULTILINE)) == 13
    assert {file for entry in ENTRIES for file in (entry.picture, entry.film)} == {*(DOCS / "gallery").iterdir()} - {
        ROBOT_PICTURE
    }
    for entry in ENTRIES:
        assert (ROOT / entry.run[1]).is_file()
        assert entry.picture.stem in entry.run[1]
        assert entry.render[1] == entry.play[1] == f"outputs/{entry.picture.stem}.h5"
        assert entry.play[3] == entry.film.name
        assert entry.text.endswith(".")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.picture.stem)
def test_pictures_are_small_and_show_something(entry):
    assert entry.picture.stat().st_size <= MOST_BYTES
    with Image.open(entry.picture) as image:
        assert f"{image.width}x{image.height}" in entry.render
        colours = np.asarray(image.convert("RGB")).astype(int)
    vivid = np.ptp(colours, axis=2) > 60
    assert 0.003 < vivid.mean() < 0.5  # bodies before a pale ground


def pictures_of(path):
    """The pictures of a film, (n, h, w, 3)."""
    with av.open(str(path)) as film:
        return np.stack([picture.to_ndarray(format="rgb24") for picture in film.decode(video=0)])


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.picture.stem)
def test_films_are_small_and_move(entry):
    assert entry.film.stat().st_size <= MOST_BYTES_OF_FILM
    assert bears_mark(entry.film)
    shown = pictures_of(entry.film)
    n, height, width, _ = shown.shape
    assert f"{width}x{height}" in entry.play
    assert 4.0 <= n / int(entry.play[entry.play.index("--fps") + 1]) <= 4.1
    moved = np.abs(np.diff(shown.astype(int), axis=0)).max(axis=(1, 2, 3))
    assert (moved > 40).mean() > 0.5


def check(entry, folder):
    check_picture(made(entry, folder, command, DRAWN), entry.picture)


def check_picture(picture, file):
    drawn = shrunk(picture, SMALL).astype(float)
    with Image.open(file) as image:
        kept = shrunk(np.asarray(image.convert("RGB")), SMALL).astype(float)
    off = np.abs(drawn - kept).max(axis=2)
    assert off.mean() < MEAN
    assert np.quantile(off, 0.97) < FEW
    # Another instant, or nothing but the ground, would not pass.
    mirrored = np.abs(drawn[:, ::-1] - kept).max(axis=2)
    assert np.quantile(mirrored, 0.97) > 2 * FEW or mirrored.mean() > 2 * off.mean()


def test_the_robot_of_the_import_page_has_the_colours_of_its_meshes(tmp_path, capfd):
    """Its picture is what the page's commands draw, nothing of the model is lost, and the script makes the meshes."""
    assert robot_meshes() == {path.name: path.read_text(encoding="utf-8") for path in ROBOT.parent.glob("robot_*.dae")}
    assert ROBOT_PICTURE.stat().st_size <= MOST_BYTES
    commands, picture = robot_commands(tmp_path, DRAWN)
    for words in commands:
        command(words)
    assert "0 changed, 0 dropped" in capfd.readouterr().err
    with Image.open(picture) as image:
        check_picture(np.asarray(image.convert("RGB")), ROBOT_PICTURE)
    text = (tmp_path / "arm.yaml").read_text()
    bodies = yaml.safe_load(text)["bodies"]
    colours = {one["colour"] for body in bodies.values() for one in body["look"]["shapes"].values()}
    assert colours == {"#ed6b14", "#212429", "#c7ccd4"}
    effort, position = re.findall(r"`(mode: .+?)`", (DOCS / "import.md").read_text())  # what an editor does there
    assert text.count(effort) == 3
    (tmp_path / "held.yaml").write_text(text.replace(effort, position))
    command(["check", str(tmp_path / "held.yaml")])


@pytest.mark.full
@pytest.mark.parametrize("name", QUICK)
def test_a_film_is_what_its_commands_draw(name, tmp_path):
    entry = next(entry for entry in ENTRIES if entry.picture.stem == name)
    command(entry.commands(tmp_path)[0][0])
    command(entry.film_command(tmp_path))
    drawn, kept = pictures_of(tmp_path / entry.film.name).astype(float), pictures_of(entry.film).astype(float)
    off = np.abs(drawn - kept).mean(axis=(1, 2, 3))
    assert off.max() < MEAN
    assert np.abs(drawn[:-5] - kept[5:]).mean() > 2 * off.mean()  # another instant would not pass


@pytest.mark.parametrize("name", QUICK)
def test_a_picture_is_what_its_commands_draw(name, tmp_path):
    check(next(entry for entry in ENTRIES if entry.picture.stem == name), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if entry.picture.stem not in QUICK], ids=lambda entry: entry.picture.stem
)
def test_every_picture_is_what_its_commands_draw(entry, tmp_path):
    check(entry, tmp_path)


PICK_PAGE = files("simcli").joinpath("docs", "choosing.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \| (\S.*?) \| (\S+) \| (\S.*?) \| (\S+) \|$", re.MULTILINE)
ROWS = ROW.findall(PICK_PAGE)
WITHIN = 0.06  # relative: two digits are shown
SOON = ()
SCENES = {"double": ("double-pendulum", ["--duration", "2"]), "crank": ("slider-crank", [])}


@pytest.fixture
def channels(tmp_path, monkeypatch, capfd):
    """The estimate of `joint.q` in rad of a template."""
    monkeypatch.chdir(tmp_path)

    def run(name, *words):
        template, more = SCENES[name]
        new = ["new", name, "--template", template, "--force"]
        assert cli_process.run_command(new, debug=False, as_json=False) == Exit.OK
        capfd.readouterr()
        words = ["run", f"{name}.yaml", *more, *words, "--error-estimate", "--force", "--json"]
        cli_process.run_command(words, debug=False, as_json=True)
        found = json.loads(capfd.readouterr().out)["error_estimate"]["channels"]
        return next(one for one in found if (one["channel"], one["unit"]) == ("joint.q", "rad"))

    return run


def test_the_table_has_every_integrator():
    assert sorted((solver, integrator) for solver, integrator, *_ in ROWS) == sorted(MODES)


@pytest.mark.parametrize(
    "row", [pytest.param(row, id="-".join(row[:2]), marks=() if row[1] in SOON else pytest.mark.slow) for row in ROWS]
)
def test_numbers_of_the_table_are_those_of_the_commands(channels, row):
    solver, integrator, *shown = row
    for name, (error, order) in zip(SCENES, (shown[:2], shown[2:]), strict=True):
        found = channels(name, "--solver", solver, "--set", f"solver.integrator={integrator}")
        if error == "cannot tell":
            assert found["error"] is None
        else:
            assert found["error"] == pytest.approx(float(error), rel=WITHIN)
            assert found["order"] == pytest.approx(float(order), abs=0.06)


def test_the_commands_of_the_page_end_well(tmp_path, monkeypatch):
    """Without their estimates, which take seven times as long: the expectations of the templates are judged all the same."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n(.*?)```", PICK_PAGE, re.DOTALL)
    commands = [shlex.split(line)[1:] for line in "".join(blocks).splitlines()]
    assert [words[0] for words in commands] == ["new", "new", "run", "run", "run"]
    for words in commands:
        kept = words[: words.index("--error-estimate")] if words[0] == "run" else words
        more = ["-q", "--force"] if words[0] == "run" else []
        assert cli_process.run_command([*kept, *more], debug=False, as_json=False) == Exit.OK, words


@pytest.mark.slow
def test_the_wanted_steps_are_those_of_the_page(channels):
    assert channels("double", "--set", "solver.integrator=implicit", "--wanted", "1e-4")["step_wanted"] == 0.25e-3
    assert channels("double", "--set", "solver.integrator=semi_implicit", "--wanted", "1e-4")["step_wanted"] == 0.08e-6
    assert channels("crank", "--set", "solver.integrator=rk4", "--dt", "0.2 ms")["error"] == pytest.approx(3e-10, rel=0.1)


MOST_LINES = 80  # of the environment


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the programs of the page define, and the lines of the last one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        found = {}
        for kind, text in blocks(page("python")):
            if kind == "yaml":
                with open(text.split("\n")[0].removeprefix("# "), "w") as file:
                    file.write(text)
            else:
                exec(compile(text, "python.md", "exec"), found)
        yield found, text


def test_its_environment_passes_the_checker_of_gymnasium(told):
    from gymnasium.utils.env_checker import check_env

    found, text = told
    assert len(text.splitlines()) <= MOST_LINES
    env = found["CartPole"]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(spec|render).*")  # of registered environments, and of pictures
        check_env(env)
    env.close()


def test_its_worlds_are_a_vector_of_environments(told):
    from gymnasium.wrappers.vector import RecordEpisodeStatistics

    found, _ = told
    env = RecordEpisodeStatistics(found["CartPoles"](6, longest=40))
    states, _ = env.reset(seed=3)
    env.action_space.seed(3)
    ended = np.zeros(6, int)
    for _ in range(120):
        assert states in env.observation_space
        states, rewards, fallen, late, infos = env.step(env.action_space.sample())
        assert rewards.shape == fallen.shape == late.shape == (6,)
        ended += fallen | late
        if "episode" in infos:
            lengths = infos["episode"]["l"][infos["_episode"]]
            assert (lengths <= 41).all()
    assert (ended >= 2).all()
    env.close()

    alone, many = found["CartPoles"](1), found["CartPoles"](3)  # a seed says it all
    for one in (alone, many, alone):
        first = one.reset(seed=7)[0]
        second = one.reset(seed=7)[0]
        assert np.array_equal(first, second)
        assert np.abs(first).max() > 0
    for one in (alone, many):
        one.close()


@pytest.mark.parametrize(
    ("shown", "said", "fits"),
    [
        (["a 1.0", "b"], ["a 1.01", "b"], True),
        (["a 1.0"], ["a 1.1"], False),
        (["a", REST, "c 2"], ["a", "b", "c 2"], True),
        (["a", REST, "c"], ["a", "b"], False),
        (["in ..."], ["in 3 s"], True),
        (["in ..."], ["on 3 s"], False),
        (["a  1"], ["a 1"], True),
        (["b"], ["a", "b"], False),
    ],
)
def test_the_comparison_sees_what_differs(shown, said, fits):
    assert (answers(shown, said) is None) == fits


def test_every_line_of_the_tutorial(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    n_commands = 0
    for kind, block in blocks(page("tutorial")):
        if kind == "yaml":  # a part of the scene, as it stands there
            assert block in (tmp_path / "crank.yaml").read_text()
        elif kind == "python":
            exec(compile(block, "tutorial.md", "exec"), {})
            assert capfd.readouterr().out.startswith("0.1025")
        else:
            assert kind == "console"
            n_commands += run_block(block, capfd)
    assert n_commands > 12
    assert {path.name for path in tmp_path.glob("*.png")} == {"effort.png", "torque.png"}


SUBSCRIPTS = "₀₁₂₃₄"
PAGES = {
    entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8")
    for entry in files("simcli").joinpath("docs").iterdir()
    if entry.name.startswith("theory")
}


def weighted(weights):
    """`6 x₂ - 8 x₃ + 3 x₄` of (0, 6, -8, 3)."""
    terms = [f"{abs(k):g} x{SUBSCRIPTS[n + 1]}" for n, k in enumerate(weights) if k]
    signs = ["" if n == 0 else " + " if k > 0 else " - " for n, k in enumerate(k for k in weights if k)]
    return "".join(sign + term for sign, term in zip(signs, terms, strict=True))


def counted(numbers):
    """`8, 100 and 12`."""
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("theory", weighted(WEIGHTS)),
        ("theory", weighted(FEWER_WEIGHTS)),
        ("theory", f"{SOFTNESS['float64']:.0e} of J M⁻¹ Jᵀ ({SOFTNESS['float32']:.0e} in float32)".replace("e-0", "e-")),
        ("theory-maximal", f"larger than {STABLE}"),
        ("theory-natural", f"ends a world at {FARTHEST_TURN}"),
        ("theory-natural", f"e = {SOFTNESS_OF_TURN} (h ω)²"),
        ("theory-natural", f"at most {MOST_SOFT:.0e}".replace("e-0", "e-")),
        ("theory-natural", f"with {THIN:.0%} of the largest moment".replace("%", " %")),
        ("theory-affine", f"s a part {PARALLEL:.0e} of".replace("e-0", "e-")),
        (
            "theory-contact",
            "κ = {float64:.0e} at first ({float32:.0e} in float32)".format(
                **{precision: limits.kappa for precision, limits in LIMITS.items()}
            ).replace("e-0", "e-"),
        ),
        ("theory-contact", f"The lengths of the stages are {counted([most for _, most, _ in SCHEDULE])} iterations"),
        ("theory-contact", "in the order " + " ".join({0: "1", 2: "2", 1: "3"}[kind] for kind, _, _ in SCHEDULE)),
    ],
)
def test_constants_are_those_of_the_code(page, words):
    assert words in " ".join(PAGES[page].split()), words


def test_formulas_with_numbers_are_those_of_the_code():
    assert pytest.approx(1 - 2**-0.5) == GAMMA
    assert "γ = 1 - 1/√2" in PAGES["theory-generalized"]
    assert pytest.approx((1 / 6, 1 / 3, 1 / 3, 1 / 6)) == RK4_WEIGHTS
    assert pytest.approx(0.1) == KEPT_GAP
    assert "a tenth of each gap" in PAGES["theory-affine"]


@pytest.mark.parametrize("page", PAGES)
def test_every_source_has_a_year_and_is_cited(page):
    text, sources = PAGES[page].split("## Sources")
    entries = [" ".join(entry.split()) for entry in re.split(r"^- ", sources, flags=re.MULTILINE)[1:]]
    assert entries
    for entry in entries:
        year = re.search(r"(?:19|20)\d\d", entry)
        assert year, entry
        names = re.findall(r"[A-Z][a-z]+", entry.split(year.group())[0])
        assert any(re.search(rf"{name}[^;]{{0,80}}{year.group()}", " ".join(text.split())) for name in names), entry


VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_the_newest_change_is_that_of_the_version():
    versions = re.findall(r"^## (\d[\d.]*)$", page("changes"), re.MULTILINE)
    assert versions[0] == VERSION
    numbers = [tuple(map(int, one.split("."))) for one in versions]
    assert numbers == sorted(set(numbers), reverse=True)


def test_the_policy_names_each_number_of_a_format():
    said = page("changes")
    for name in ("simcli: 1", "sweep: 1", "simcli_format", "simcli_result", "simcli.run/2", "tests/references/old_files"):
        assert f"`{name}`" in said
    for old, new in OLD_KEYS.items():
        assert f"`{old.rpartition('.')[2]}`" in said or f"`{old}`" in said
        assert f"`{new}`" in said


def test_why_has_the_numbers_of_the_page_on_speed():
    """And no others with a point, but for the version."""
    said, speed = page("why"), page("speed")
    rows = re.findall(r"^\|.*\d.*\|$", said.split("## Numbers\n")[1].split("\n## ")[0], re.MULTILINE)[1:]
    assert len(rows) == 6
    assert [row for row in rows if row not in speed.splitlines()] == []
    numbers = set(re.findall(r"(?<![\d.])\d+\.\d+(?![\d.]*[\d.])", said))
    assert [one for one in numbers if one not in speed] == []
    assert "a ratio of 14.8" in speed
    assert "15 times faster" in " ".join(speed.split())


def test_why_names_every_program_that_it_is_beside():
    said = page("why")
    names = ("MuJoCo", "Drake", "Project Chrono", "Exudyn", "MBDyn", "OpenSim", "Newton")
    assert tuple(re.findall(r"^\| ([A-Z][\w ]+?) \| .+ \| .+ \|$", said, re.MULTILINE)) == names
    (cited,) = re.findall(r"version = \{(.+)\}", said)
    assert cited == VERSION
    commands = re.findall(r"`python (tests/\S+)|`\S*? ?(tests/\w+\.py)", said)
    assert commands
    assert [path for pair in commands for path in pair if path and not (ROOT / path.strip("`")).is_file()] == []


# Kinds of mistakes that a schema can tell, and scenes of each.
OF_THE_SCHEMA = (
    "misspelt_key",
    "misspelt_value",
    "wrong_type",
    "missing_key",
    "wrong_unit",
    "vector_length",
    "negative",
    "foreign_section",
    "dashes_for_names",
)
PER_KIND = 10
# Codes of faults that a schema can tell from the shape of their example.
SHAPE_CODES = ("SC202", "SC203", "SC204", "SC205", "SC206", "SC211", "SC212", "SC231")


@pytest.fixture(scope="module")
def schema():
    found = json_schema()
    Draft7Validator.check_schema(found)
    return Draft7Validator(found)


def places(schema, text):
    data = plain(document_of_text(text, "scene.yaml").root)
    return {".".join(map(str, error.absolute_path)): error.message for error in schema.iter_errors(data)}


def test_it_is_draft_7(schema):
    assert schema.schema["$schema"] == DRAFT
    text = str(schema.schema)
    for later in ("prefixItems", "$defs", "unevaluated", "dependentRequired", "discriminator"):
        assert later not in text
    references = [node for node in nodes(schema.schema) if "$ref" in node]
    assert references
    assert all(set(node) == {"$ref"} for node in references)  # draft 7 passes over what stands beside


def nodes(node):
    if isinstance(node, dict):
        yield node
    for below in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(below)


def test_it_describes_every_field(schema):
    lacking = []
    for owner, table in [("", schema.schema), *schema.schema["definitions"].items()]:
        full = table.get("then", table)
        lacking += [f"{owner}.{key}" for key, entry in full["properties"].items() if not entry.get("description")]
    assert lacking == []


@pytest.mark.parametrize("path", SHIPPED, ids=[path.stem for path in SHIPPED])
def test_it_takes_the_gallery(schema, path):
    assert [error.message for error in schema.iter_errors(plain(load_document(path).root))] == []


def test_it_takes_every_key(schema):
    assert places(schema, ALL_KEYS) == {}


def test_it_takes_every_good_example_of_the_faults(schema):
    for code in codes.codes():
        page = codes.code_page(code)
        if page.good and code not in ("SC111", "SC112"):
            faults = Faults()
            data = plain(parse_text(page.scene(page.good), "good.yaml", faults))
            assert [error.message for error in schema.iter_errors(data)] == [], code


@pytest.mark.parametrize("code", SHAPE_CODES)
def test_it_refuses_the_bad_examples(schema, code):
    page = codes.code_page(code)
    data = plain(parse_text(page.scene(page.bad), "bad.yaml", Faults()))
    assert not schema.is_valid(data)


@pytest.mark.parametrize("kind", OF_THE_SCHEMA)
def test_it_tells_a_mistake_in_the_gallery(schema, kind):
    for seed in range(PER_KIND):
        broken = draw(seed, kind)
        try:
            document = document_of_text(broken.text, str(broken.path))
        except SceneError:
            continue  # no YAML, of which an editor knows without a schema
        errors = list(schema.iter_errors(plain(document.root)))
        assert errors, broken.text.split("\n")[broken.line - 1]


GOOD = """simcli: 1
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {s: {type: box, size: [1, 1, 1]}}}
joints:
  j: {type: revolute, parent: world, child: a, limit: [-1, 1], drive: {mode: effort, target: 1}}
forces:
  f: {type: torque, joint: j, value: 1}
  k: {type: spring, a: {world: [0, 0, 0]}, b: {body: a, at: [0, 0, 0]}, stiffness: 1 N/m}
solver: {type: natural, dt: 1 ms}
expect: [{at: end, joint: j, quantity: q, below: 1}]
"""
# Changes of the good scene, and the path at which an editor must underline.
BROKEN = [
    ("size: [1, 1, 1]", "radius: 1", "bodies.a.shapes.s"),
    ("size: [1, 1, 1]", "size: [1, 1]", "bodies.a.shapes.s.size"),
    ("size: [1, 1, 1]", "size: [1, 1 kg, 1]", "bodies.a.shapes.s.size.1"),
    ("type: box", "type: cube", "bodies.a.shapes.s.type"),
    ("type: box, ", "", "bodies.a.shapes.s"),
    ("mass: 1, ", "", None),
    ("mass: 1", "mass: -1", "bodies.a.mass"),
    ("mass: 1", "mass: 1 m", "bodies.a.mass"),
    ("mass: 1", "mass: '1'", "bodies.a.mass"),
    ("mass: 1", "mas: 1", "bodies.a"),
    ("diag: [1, 1, 1]", "diagonal: [1, 1, 1]", "bodies.a.inertia"),
    ("diag: [1, 1, 1]", "diag: 1", "bodies.a.inertia.diag"),
    ("dt: 1 ms", "dtt: 1", "solver"),
    ("dt: 1 ms", "dt: 1 mm", "solver.dt"),
    ("dt: 1 ms", "dt: 0", "solver.dt"),
    ("type: natural, dt: 1 ms", "spectral_radius: 0.5", "solver"),
    ("type: natural", "type: nature", "solver.type"),
    ("type: natural", "type: maximal, spectral_radius: 0.9", "solver"),
    ("dt: 1 ms", "contact: {passes: 0}", "solver.contact.passes"),
    ("child: a, ", "", "joints.j"),
    ("type: revolute, ", "", "joints.j"),
    ("type: revolute", "type: hinge", "joints.j.type"),
    ("limit: [-1, 1]", "limit: {lower: -1, uper: 1}", "joints.j.limit"),
    ("limit: [-1, 1]", "pitch: 1", "joints.j.pitch"),
    ("mode: effort, ", "", "joints.j.drive"),
    ("mode: effort", "mode: torque", "joints.j.drive.mode"),
    ("target: 1", "target: far", "joints.j.drive.target"),
    ("limit: [-1, 1]", "loop: maybe", "joints.j.loop"),
    ("value: 1", "vlue: 1", "forces.f"),
    ("stiffness: 1 N/m", "stiffness: 1 N", "forces.k.stiffness"),
    ("stiffness: 1 N/m", "stiffness: -1", "forces.k.stiffness"),
    ("type: spring", "type: sprng", "forces.k.type"),
    ("type: spring, ", "", "forces.k"),
    ("b: {body: a, at: [0, 0, 0]}", "b: a", "forces.k.b"),
    ("at: end", "at: last", "expect.0.at"),
    ("quantity: q", "quantity: angle", "expect.0.quantity"),
    ("simcli: 1", "simcli: 2", "simcli"),
    ("simcli: 1\n", "", ""),
    ("bodies:", "bodys:", ""),
    ("simcli: 1", "simcli: 1\nworld: {gravity: [0, 0, 1 N]}", "world.gravity.2"),
]


def test_the_good_scene_is_good(schema):
    assert places(schema, GOOD) == {}


@pytest.mark.parametrize(("old", "new", "path"), BROKEN)
def test_a_fault_has_the_path_of_what_is_wrong(schema, old, new, path):
    assert GOOD.count(old) == 1
    found = places(schema, GOOD.replace(old, new))
    if path is None:
        assert found == {}  # the shape may give the mass
    else:
        assert path in found
        assert all(one == path or one.startswith(f"{path}.") or path == "" for one in found), found


def test_a_body_without_mass_is_told(schema):
    assert set(places(schema, "simcli: 1\nbodies: {a: {inertia: point}}\n")) == {"bodies.a"}
    assert set(places(schema, "simcli: 1\nbodies: {a: {mass: 1}}\n")) == {"bodies.a"}
    assert places(schema, "simcli: 1\nbodies: {a: {kinematic: true}}\n") == {}


DEFAULTS = "defaults: {body: {mass: 1, inertia: point}, joint: {type: ball, parent: world, child: a}}"


@pytest.mark.parametrize("given", [DEFAULTS, "include: [more.yaml]"])
def test_what_defaults_or_includes_may_give_is_not_asked_for(schema, given):
    data = yaml.safe_load(f"simcli: 1\n{given}\nbodies: {{a: {{}}}}\njoints: {{j: {{}}}}\n")
    assert schema.is_valid(data)
    assert not schema.is_valid({key: value for key, value in data.items() if key not in ("defaults", "include")})


def test_units_are_told_by_their_dimension(schema):
    """Every unit of the program stands where it fits, and nowhere else."""
    for where, unit in (
        ("bodies.a.mass", "kg"),
        ("solver.dt", "s"),
        ("world.gravity[0]", "m/s^2"),
        ("forces.k.stiffness", "N/m"),
    ):
        text = "simcli: 1\nbodies: {a: {mass: 1, inertia: point}}\nsolver: {dt: 1}\nworld: {gravity: [1, 0, 0]}\n"
        text += "forces: {k: {type: spring, a: {world: [0, 0, 0]}, b: a/p, stiffness: 1}}\n"
        data = plain(document_of_text(text, "scene.yaml").root)
        *steps, last = parse_path(where)
        owner = data
        for step in steps:
            owner = owner[step]
        for name, (_, dimension) in UNITS.items():
            owner[last] = f"2 {name}"
            assert schema.is_valid(data) == unit_fits(dimension, dimension_of(unit)), (where, name)
        owner[last] = f"2.5e-3 {unit}"
        assert schema.is_valid(data)
        owner[last] = "${2*L} " + unit
        assert schema.is_valid(data)


def test_places_of_paths_exist():
    root = document_of_text(GOOD, "scene.yaml").root
    for _, _, path in BROKEN:
        if path and not path.endswith((".pitch", ".loop", ".gravity.2", ".passes")):
            assert find(root, [int(step) if step.isdigit() else step for step in path.split(".")]) is not None, path
