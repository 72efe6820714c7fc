"""Terrain from PNG pictures: greys of 8 and 16 bits, which way is up, the same as numbers, mistakes."""

import sys

import numpy as np
import pytest
from support.forward import build_scene
from support.process import simcli

from simcli.errors import Exit, SceneError
from simcli.view.subject import subject_of_scene

pytest.importorskip("PIL")
from PIL import Image

SCENE = """simcli: 1
world: {shapes: {hills: {type: heightfield, file: hills.FORMAT, size: [4, 3, 2]}}}
bodies: {ball: {mass: 1, shapes: {s: {type: sphere, radius: 0.1}}, pose: {xyz: [0, 0, 3]}}}
"""


def heights(tmp_path, name="png"):
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE.replace("FORMAT", name))
    shapes = build_scene(path).shapes
    return next(one for one in shapes.heights if one.size)


@pytest.mark.parametrize(("dtype", "white"), [(np.uint8, 255), (np.uint16, 65535)])
def test_greys_are_heights_whose_upper_edge_has_the_largest_y(tmp_path, dtype, white):
    greys = np.random.default_rng(1).integers(0, white + 1, (5, 7)).astype(dtype)
    greys[0, 0], greys[0, 1] = 0, white
    Image.fromarray(greys).save(tmp_path / "hills.png")
    found = heights(tmp_path)
    np.testing.assert_array_equal(found, greys[::-1] / white * 2.0)
    assert (found[-1, 0], found[-1, 1]) == (0.0, 2.0)
    np.savetxt(tmp_path / "hills.csv", greys[::-1] / white, delimiter=",", fmt="%.17g")
    np.testing.assert_array_equal(heights(tmp_path, "csv"), found)


@pytest.mark.parametrize(("mode", "size", "words"), [
    ("RGB", (3, 3), "not grey"), ("LA", (3, 3), "not grey"), ("L", (1, 9), "1 x 9 pixels"), ("L", (5000, 5000), "may be"),
])  # fmt: skip
def test_other_pictures_are_refused(tmp_path, mode, size, words):
    Image.new(mode, size).save(tmp_path / "hills.png")
    with pytest.raises(SceneError, match=words) as refused:
        heights(tmp_path)
    (fault,) = refused.value.faults
    assert (fault.code, fault.where.path, fault.where.line) == ("SC480", "world.shapes.hills.file", 2)


def test_what_is_cut_or_no_picture_is_refused(tmp_path):
    Image.new("L", (64, 64)).save(tmp_path / "hills.png")
    whole = (tmp_path / "hills.png").read_bytes()
    for data in (whole[:40], b"GIF89a", b""):
        (tmp_path / "hills.png").write_bytes(data)
        with pytest.raises(SceneError, match="no whole PNG") as refused:
            heights(tmp_path)
        assert [fault.code for fault in refused.value.faults] == ["SC480"]


def test_a_missing_pillow_is_told(tmp_path, monkeypatch):
    Image.new("L", (3, 3)).save(tmp_path / "hills.png")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(SceneError, match="Pillow is missing") as refused:
        heights(tmp_path)
    assert "simcli[render]" in refused.value.faults[0].hint


def test_pages_and_pictures_draw_terrain_of_a_picture_as_of_numbers(tmp_path):
    greys = np.random.default_rng(2).integers(0, 256, (4, 5)).astype(np.uint8)
    Image.fromarray(greys).save(tmp_path / "hills.png")
    np.savetxt(tmp_path / "hills.csv", greys[::-1] / 255, delimiter=",", fmt="%.17g")
    drawn = [drawing(tmp_path, name) for name in ("png", "csv")]
    assert not drawn[0].notes
    hills, same = (next(item for item in one.items if item.name == "hills") for one in drawn)
    assert np.ptp(hills.vertices[:, 2]) > 1.0
    np.testing.assert_array_equal(hills.vertices, same.vertices)


def drawing(tmp_path, name):
    (tmp_path / "scene.yaml").write_text(SCENE.replace("FORMAT", name))
    return subject_of_scene(tmp_path / "scene.yaml").drawings[0]


def test_no_picture_replaces_the_terrain(tmp_path):
    """Neither of the scene, nor of its run, whose picture has the name of the terrain where no other is given."""
    Image.new("L", (3, 3)).save(tmp_path / "hills.png")
    whole = (tmp_path / "hills.png").read_bytes()
    (tmp_path / "hills.yaml").write_text(SCENE.replace("FORMAT", "png") + "run: {duration: 0.001}\noutput: {every: 0.001}\n")
    assert simcli("run", "hills.yaml", "-o", "hills.h5", "-q", cwd=tmp_path).returncode == Exit.OK
    for words in (["show", "hills.yaml", "-o", "hills.png"], ["render", "hills.h5"], ["plot", "hills.h5"]):
        done = simcli(*words, cwd=tmp_path)
        assert (done.returncode, "will not be replaced" in done.stderr) == (Exit.USAGE, True), done
    assert (tmp_path / "hills.png").read_bytes() == whole
