"""Robots that others published, where their packages are installed: each becomes a scene with the mechanics of pinocchio.

`pip install example-robot-data icub-models` (150 MB); their files are never copied into this project.
"""

import os
import sys
from pathlib import Path

import pytest
from support.urdf import agreement

from simcli.cli.doorman import run_command
from simcli.errors import FileError
from simcli.exchange.importing import ImportOptions, import_model, load_scene
from simcli.model import build
from simcli.spec import resolve

FOLDERS = ("cmeel.prefix/share/example-robot-data/robots", "share/iCub/robots")
MODELS = sorted(path for root in {*sys.path, sys.prefix, *os.environ.get("SIMCLI_MODELS", "").split(os.pathsep)} if root
                for folder in FOLDERS for path in Path(root, folder).rglob("*.urdf"))  # fmt: skip
# What is wrong with a file that is refused.
REFUSED = {"alex_psyonic_hands": "mimics the unknown joint `index_q1`"}
PEER_REFUSES = ("ur3",)  # whose robot has no name
pytestmark = [pytest.mark.slow, pytest.mark.reference]


@pytest.mark.skipif(not MODELS, reason="example-robot-data and icub-models are not installed")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_published_robot_has_the_mechanics_of_pinocchio(path, tmp_path):
    """Of those whose inertias no body has, only that they can be mended: then the mechanics are others."""
    if path.stem in REFUSED:
        with pytest.raises(FileError, match=REFUSED[path.stem]):
            import_model(path)
        return
    mended = import_model(path, ImportOptions(fix_inertia=True)).report
    is_whole = not any(entry.kind == "inertial" and entry.fate == "changed" for entry in mended.entries)
    scene = tmp_path / "robot.yaml"
    words = ["import", str(path), "-o", str(scene), "--fix-inertia"]
    assert run_command(words, debug=True, as_json=False) == 0
    document = load_scene(scene)
    build(resolve(document), document)
    if is_whole and path.stem not in PEER_REFUSES:
        held = [entry.name for entry in mended.entries if (entry.kind, entry.fate) == ("joint", "dropped")]
        matrix, effort = agreement(path, scene, tmp_path, held)
        assert matrix < 1e-12
        assert effort < 1e-12
