"""Models that others published, where their packages are installed: each becomes a scene with the mechanics of MuJoCo.

`pip install gymnasium`, `pip install --no-deps dm_control`; their files are never copied into this project.
"""

import os
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.mjcf import DT, DURATION, Pair

from simcli.cli.doorman import run_command
from simcli.exchange.importing import import_model, load_scene
from simcli.exchange.xml_reader import read_xml
from simcli.model import build
from simcli.spec import resolve

FOLDERS = ("gymnasium/envs/mujoco/assets", "dm_control/suite")
MODELS = sorted({path for root in {*sys.path, *os.environ.get("SIMCLI_MODELS", "").split(os.pathsep)} if root
                 for folder in FOLDERS for path in Path(root, folder).glob("*.xml")})  # fmt: skip
# Coordinates so stiff or so light that MuJoCo's explicit steps of 1 ms diverge as well: step that they take.
FINE = {"dog": 1e-4}
STIFF = ("manipulator", "stacker")  # not even by 2e-5 s: implicit steps, MuJoCo's of first order, extrapolated
MASS_BAR, MOTION_BAR = 1e-12, 1e-8
# Seconds until a model that was dropped rests, the rates of what rests, and how deep shapes overlap at most on the way [m].
# Hopper and walker stand upright for six seconds, until rounding has tipped them over.
FALLS = {"hopper": 12.0, "half_cheetah": 10.0, "walker2d": 12.0, "ant": 6.0, "humanoid": 12.0}
REST, DEEPEST, DEEPEST_AT_REST = 1e-6, 1e-4, 1e-9
pytestmark = [pytest.mark.slow, pytest.mark.reference,
              pytest.mark.skipif(not MODELS, reason="gymnasium and dm_control are not installed")]  # fmt: skip
every_model = pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")


@every_model
def test_a_published_model_is_imported_and_every_element_is_told(path, tmp_path):
    scene = tmp_path / "scene.yaml"
    assert run_command(["import", str(path), "-o", str(scene)], debug=True, as_json=False) == 0
    document = load_scene(scene)
    build(resolve(document), document)
    entries = import_model(path).report.entries
    told = sorted((entry.kind, entry.file, entry.line) for entry in entries if "@" not in entry.kind)
    assert told == sorted(elements(path, path, ""))


def elements(path, file, name):
    """(tag, file, line) of all elements of a file and of those that it includes."""
    for element in list(read_xml(file).below())[bool(name) :]:
        yield element.tag, name, element.line
        if element.tag == "include":
            yield from elements(path, path.parent / element.get("file"), os.path.normpath(element.get("file")))


@every_model
def test_a_published_model_has_the_mass_matrix_of_mujoco(path, tmp_path):
    pair = Pair(path, tmp_path)
    if pair.model.nv:
        assert pair.mass_difference() < MASS_BAR


@every_model
def test_a_published_model_moves_as_in_mujoco(path, tmp_path):
    """Random rates; contacts, limits, equalities, dry friction and actuation off in both."""
    if path.stem in STIFF:
        assert extrapolated(path, tmp_path) < MOTION_BAR
    elif Pair(path, tmp_path).model.nv:
        assert Pair(path, tmp_path, step=FINE.get(path.stem, DT)).difference() < MOTION_BAR


def extrapolated(path, folder):
    """[m] the difference of implicit steps to MuJoCo's, whose error of first order falls out of two step sizes."""
    places = []
    for step in (DT / 10, DT / 20):
        pair = Pair(path, folder, step=step, integrator="implicit")
        pair.draw_rates()
        found = pair.run_scene()
        places.append(pair.run_mujoco(round(DURATION / step)))
    return max(np.abs(found[name] - 2 * places[1][name] + at).max() for name, at in places[0].items() if name in found)


@pytest.mark.parametrize("path", [path for path in MODELS if path.stem in FALLS and "gymnasium" in path.parts],
                         ids=lambda path: path.stem)  # fmt: skip
def test_what_is_dropped_comes_to_rest(path, tmp_path):
    out = tmp_path / "out.h5"
    words = ["run", str(path), "--duration", str(FALLS[path.stem]), "-o", str(out), "-q"]
    assert run_command(words, debug=True, as_json=False) == 0
    with h5py.File(out) as file:
        assert np.abs(file["frames/joint_qd"][-1]).max() < REST
        assert file["diag/penetration"][:].max() < DEEPEST
        assert file["diag/penetration"][-1].max() < DEEPEST_AT_REST
        assert file["diag/contacts"][-1].min() >= 1
