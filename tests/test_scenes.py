"""The gallery: every scene in scenes/ and every template runs from the command line and meets its own expectations."""

import re
from pathlib import Path

import pytest
from support.many import run_many, step_kernels
from support.process import told_here

import simcli as package
from simcli.errors import Exit
from simcli.spec import load_document, resolve

SCENES = sorted((Path(package.__file__).parent.parent / "scenes").glob("*.yaml"))
NAMES = [scene.stem for scene in SCENES]
TEMPLATES = sorted((Path(package.__file__).parent / "docs" / "templates").glob("*.yaml"))
SHIPPED = {scene.stem: scene for scene in SCENES} | {f"template {scene.stem}": scene for scene in TEMPLATES}
MOST_KERNELS = 30  # of steps, for all of them in one precision
MAX_LINES = 79  # a scene is read at one sight
FEWEST = 12  # so that a gallery that is not found fails
DECIDING = {"position", "orientation", "velocity", "angular_velocity", "q", "qd"}  # beyond the conservation of energy

README = Path(package.__file__).parent.parent / "README.md"
ROW = re.compile(r"^\| `(\w+)` \| .* \| (\S+) \|$", re.MULTILINE)
TABLE = dict(ROW.findall(README.read_text(encoding="utf-8")))
SLACK = 1e3  # a bound of the README may be this much larger than what is measured, across processors; not more

# Those that the default tier runs: each solver, and the README's first one. All share kernels, but these few have fewer.
OFTEN = {"double_pendulum", "simple_pendulum", "driven_hinge", "fourbar_natural", "newtons_cradle", "servo"}


def tiered(names) -> list:
    """Names of scenes as parameters."""
    return [pytest.param(name, id=name, marks=() if name in OFTEN else pytest.mark.full) for name in names]


every_scene = pytest.mark.parametrize("scene", SCENES, ids=NAMES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("gallery")


@pytest.fixture(scope="module")
def outcomes(request, folder):
    """Exit code and talk of every scene that this session asks for, all run in one process."""
    asked = {item.callspec.params["name"] for item in request.session.items
             if "outcomes" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec")}
    scenes = {name: scene for name, scene in SHIPPED.items() if name in asked}
    commands = [["run", scene, "-o", f"{name}.h5", "--device", "cpu"] for name, scene in scenes.items()]
    return dict(zip(scenes, run_many(commands, folder), strict=True))


def test_gallery_is_there():
    assert len(SCENES) >= FEWEST
    assert TEMPLATES


def test_scenes_that_are_shipped_warn_of_nothing(capsys, tmp_path):
    """Gallery, templates, bundles and the whole scenes on pages: no warning, no note."""
    docs = Path(package.__file__).parent / "docs"
    for page in (README, *sorted(docs.glob("*.md"))):
        blocks = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for place, block in enumerate(block for block in blocks if re.search(r"^simcli: 1$", block, re.MULTILINE)):
            (tmp_path / f"{page.stem}-{place}.yaml").write_text(block, encoding="utf-8")
    assert len(list(tmp_path.iterdir())) > FEWEST - 2
    places = (*SHIPPED.values(), docs / "humanoid.yaml", docs / "bundles", tmp_path)
    code, out, err = told_here(capsys, "check", "--strict", *map(str, places))
    assert (code, err) == (0, "")
    assert out.count(": ok (") > len(SHIPPED) + FEWEST


@pytest.mark.parametrize("name", tiered(SHIPPED))
def test_scene_meets_its_expectations(name, outcomes):
    code, talk = outcomes[name]
    assert code == 0, talk
    assert "expectations: all hold" in talk or "expect:" not in SHIPPED[name].read_text()


@pytest.mark.full
def test_scenes_share_kernels(outcomes, folder):
    assert len(outcomes) >= FEWEST
    assert 0 < len(step_kernels(folder)) <= MOST_KERNELS


@pytest.mark.slow
def test_scenes_share_kernels_in_the_other_precision(tmp_path):
    """What is not meant for float32 may miss its expectations, or be refused; not more."""
    commands = [["run", scene, "-q", "-o", f"{name}.h5", "--device", "cpu", "--precision", "float32"]
                for name, scene in SHIPPED.items()]  # fmt: skip
    codes = [code for code, _ in run_many(commands, tmp_path)]
    assert set(codes) <= {Exit.OK, Exit.NEGATIVE, Exit.SCENE}
    assert codes.count(Exit.SCENE) < FEWEST
    assert 0 < len(step_kernels(tmp_path)) <= MOST_KERNELS


@every_scene
def test_scene_is_short_and_says_what_it_shows(scene):
    lines = scene.read_text().splitlines()
    assert len(lines) <= MAX_LINES
    assert lines[0].startswith("# ")
    assert max(map(len, lines)) <= 125


@every_scene
def test_scene_expects_motion_and_not_only_energy(scene):
    spec = resolve(load_document(scene))
    assert spec.description
    exact = [one for one in spec.expect if one.equals is not None and one.quantity.rpartition(".")[2] in DECIDING]
    bounds = [one for one in spec.expect if one.max == "energy.drift"]
    assert exact
    # A drive of the stiffest scene is dissipative by itself, and so is bdf1; their ledgers are tested elsewhere.
    assert bounds or spec.solver.integrator in ("implicit", "bdf1")


def largest_error(talk):
    """The largest error of the exact expectations that a run printed."""
    return max(float(line.split()[-1]) for line in talk.splitlines() if " within " in line)


@pytest.mark.parametrize("name", tiered(TABLE))
def test_readme_tells_the_errors(name, outcomes):
    bound = TABLE[name]
    error = largest_error(outcomes[name][1])
    assert error < float(bound)
    assert error > float(bound) / SLACK


def test_readme_has_its_table():
    assert len(TABLE) >= FEWEST
