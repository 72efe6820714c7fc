"""Natural coordinates in files: those that the scene chooses, from the same run; and what describes no body is refused."""

import json

import numpy as np
import pytest
from support.process import simcli as command

import simcli
from simcli import rotations as rot
from simcli.model.natural import constructors as con
from simcli.model.natural.constructors import Basis

SCENE = """
simcli: 1
bodies:
  crank: {mass: 1, com: [0.2, 0, 0], inertia: {diag: [0.01, 0.02, 0.02]}, pose: {rpy: [0.3, 0.1, 0.2]}}
  plate:
    mass: 1
    com: [0, 0.1, 0]
    inertia: {diag: [0.02, 0.03, 0.05]}
    pose: {xyz: [0, 1, 0], rpy: [1, 0.5, 0]}
    points: {a: [0, 0, 0.1], b: [0.4, 0, 0]}
    natural: {kind: 2P2V, points: [a, b], vectors: [[0, 2, 0.3], [0.1, 0, 1]]}
  quad: {mass: 1, inertia: {diag: [0.02, 0.03, 0.05]}, pose: {xyz: [0, 2, 0]}, natural: 4P}
  trio: {mass: 1, inertia: {diag: [0.02, 0.03, 0.04]}, pose: {xyz: [0, 3, 0]}, natural: 3P1V}
  rod: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0, 0.1, 0.1]}, pose: {xyz: [0, 4, 0]}, natural: 2P}
  bead: {mass: 1, inertia: point, pose: {xyz: [0, 5, 0], rpy: [0.3, 0, 0.5]}, natural: 1P}
joints: {pin: {type: revolute, parent: world, child: crank, axis: [0, 1, 0], qd: 2}}
run: {duration: 0.02}
output: {every: 0.01, select: SELECT}
solver: {type: natural, dt: 1.0e-3}
"""
CHOSEN = {  # points, vectors in the body frame; those that are not written by the rules of docs/natural.md
    "crank": ("1P3V", [[0, 0, 0]], np.eye(3)),
    "plate": ("2P2V", [[0, 0, 0.1], [0.4, 0, 0]], [[0, 2, 0.3], [0.1, 0, 1]]),
    "quad": ("4P", [[0, 0, 0], *np.eye(3)], np.zeros((0, 3))),
    "trio": ("3P1V", [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 1]]),
    "bead": ("1P", [[0, 0, 0]], np.zeros((0, 3))),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("natural")
    (folder / "a.yaml").write_text(SCENE.replace("SELECT", '["*"]'))
    ended = command("run", folder / "a.yaml", "-o", folder / "a.h5", "-q")
    assert ended.returncode == 0, ended.stderr
    return folder / "a.h5"


def test_frames_hold_the_coordinates_that_the_scene_chooses(run):
    with simcli.open(run) as seen:
        for name, (kind, points, vectors) in CHOSEN.items():
            basis = Basis(kind, np.array(points, float), np.array(vectors, float))
            expected = con.coordinates(basis, seen.body(name).pose[...])
            assert seen.body(name).natural_q.shape == expected.shape
            np.testing.assert_allclose(seen.body(name).natural_q, expected, atol=1e-14, rtol=0)
        turn = rot.quat_from_rpy(np.array([0.3, 0.0, 0.5]))  # a point keeps the attitude of its shapes
        np.testing.assert_allclose(seen.body("bead").pose[:, 0, 3:], np.tile(turn, (3, 1)), atol=1e-15, rtol=0)
        rod, p = seen.body("rod").natural_q[...], seen.body("rod").position[...]
        assert np.abs(np.linalg.norm(rod[..., 3:] - rod[..., :3], axis=-1) - 1.0).max() < 1e-12
        assert np.abs(np.linalg.norm(rod[..., :3] - p, axis=-1) - 0.5).max() < 1e-12
        assert np.ptp(seen.body("crank").natural_q[:, 0], axis=0).max() > 0.01
        assert seen.naturals[12:18] == ("plate:2P2V.a.x", "plate:2P2V.a.y", "plate:2P2V.a.z",
                                        "plate:2P2V.b.x", "plate:2P2V.b.y", "plate:2P2V.b.z")  # fmt: skip


def test_info_names_the_kinds(run):
    found = json.loads(command("info", run, "--json").stdout)
    assert found["naturals"] == ["crank:1P3V", "plate:2P2V", "quad:4P", "trio:3P1V", "rod:2P", "bead:1P"]
    assert "plate:2P2V" in command("info", run).stdout


@pytest.mark.slow
def test_a_selection_cuts_them(tmp_path, run):
    (tmp_path / "b.yaml").write_text(SCENE.replace("SELECT", "[plate, rod]"))
    ended = command("run", tmp_path / "b.yaml", "-o", tmp_path / "b.h5", "-q")
    assert ended.returncode == 0, ended.stderr
    with simcli.open(run) as whole, simcli.open(tmp_path / "b.h5") as part:
        assert len(part.naturals) == 18
        for name in ("plate", "rod"):
            assert np.array_equal(part.body(name).natural_q[...], whole.body(name).natural_q[...])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("natural: 4P", "natural: 3P", "describes a body in a plane"),
        ("vectors: [[0, 2, 0.3], [0.1, 0, 1]]", "vectors: [[0, 2, 0.3]]", "`2P2V` has 2 vectors, but 1 are given"),
        ("b: [0.4, 0, 0]", "b: [0, 0, 0.1]", "body `plate` has two points at one place"),
        ("[[0, 2, 0.3], [0.1, 0, 1]]", "[[0, 2, 0.3], [0, 4, 0.6]]", "body `plate` has dependent points and vectors"),
        ("[a, b]", "[a, c]", "has no point `c`"),
    ],
)
def test_what_describes_no_body_is_refused(tmp_path, old, new, words):
    (tmp_path / "a.yaml").write_text(SCENE.replace("SELECT", '["*"]').replace(old, new))
    ended = command("run", tmp_path / "a.yaml", "--dry-run")
    assert ended.returncode == 3
    assert words in ended.stderr
    assert "a.yaml:" in ended.stderr
