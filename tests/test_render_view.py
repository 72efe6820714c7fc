"""What `simcli render` draws and what the page of `simcli view` shows have the same outlines."""

import base64
import contextlib
from pathlib import Path

import numpy as np
import pytest
from support.browser import CHROMIUM, Browser
from support.process import run_here

from simcli.errors import Exit
from simcli.kernels.rays.solids import Solids
from simcli.records.reading.reader import open_trajectory
from simcli.view.pictures import render
from simcli.view.subject import subject_of_run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM, reason="no chromium here: apt-get install chromium")]
SCENES = Path(__file__).parents[1] / "scenes"
SIZE = (1280, 720)
OVERLAP = 0.95  # of the union of both
TIMES = (0.0, 0.4, 1.0)

# The bodies alone, on magenta, from a camera; 1 where a pixel is theirs, rows from the top.
OUTLINE = """((position, target, up, fov, width, height) => {
  const { stage } = simcli
  const { renderer, scene, camera } = stage
  camera.position.set(...position)
  camera.up.set(...up)
  camera.fov = fov * 180 / Math.PI
  camera.aspect = width / height
  camera.lookAt(...target)
  camera.updateProjectionMatrix()
  camera.updateMatrixWorld()
  // Springs are signs: how often a coil turns, and where, is for each to say.
  stage.worlds.forEach((world) => world.strands.forEach((figure) => {
    figure.visible = figure.userData.strand.kind !== 'spring'
  }))
  stage.grounds.forEach((ground) => { ground.visible = false })
  scene.background = null
  renderer.setClearColor(0xff00ff, 1)
  renderer.setViewport(0, 0, width, height)
  renderer.setScissor(0, 0, width, height)
  renderer.clear()
  renderer.render(scene, camera)
  const pixels = new Uint8Array(4 * width * height)
  const gl = renderer.getContext()
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels)
  let found = ''
  for (let y = height - 1; y >= 0; y--) {
    for (let x = 0; x < width; x++) {
      const k = 4 * (y * width + x)
      const far = Math.max(255 - pixels[k], pixels[k + 1], 255 - pixels[k + 2])
      found += far > 40 ? '1' : '0'
    }
  }
  return btoa(found)
})"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with contextlib.closing(Browser(tmp_path_factory.mktemp("profile"), (SIZE[0] + 80, SIZE[1] + 320))) as one:
        one.offline()
        yield one


def command(*words):
    assert run_here(*words, debug=True) == Exit.OK


@pytest.mark.parametrize("name", ["andrews_squeezer", "rings", "newtons_cradle", "puma560"])
def test_outlines_are_those_of_the_viewer(browser, tmp_path, monkeypatch, name):
    h5, page = tmp_path / f"{name}.h5", tmp_path / "page.html"
    command("run", SCENES / f"{name}.yaml", "-o", h5, "-q")
    command("view", h5, "-o", page, "--world", "0")
    browser.open(page.as_uri())
    drawn = []
    draw = render.draw

    def kept(solids, *rest):
        solids = Solids(**{key: value[~solids.is_coil] for key, value in vars(solids).items()})
        drawn.append((solids.is_plane, draw(solids, *rest)))
        return drawn[-1][1]

    monkeypatch.setattr(render, "draw", kept)
    with open_trajectory(h5) as run:
        shooting = render.shooting_of(subject_of_run(run, [0]), render.Look(SIZE))
        camera = shooting.studio.camera
        for part in TIMES:
            time = float(run.time[round(part * (len(run.time) - 1))])
            shooting.at(time)
            is_plane, picture = drawn[-1]
            mine = ~np.append(is_plane, True)[picture.solid]
            browser.evaluate(f"simcli.seek({time!r})")
            browser.settle()
            given = [list(camera.position), list(camera.target), list(camera.up), camera.fov, *SIZE]
            text = base64.b64decode(browser.evaluate(f"{OUTLINE}(...{given!r})"))
            theirs = np.frombuffer(text, np.uint8).reshape(SIZE[::-1]) == ord("1")
            assert mine.sum() > 1000
            assert (mine & theirs).sum() >= OVERLAP * (mine | theirs).sum(), (name, time)
    assert browser.console == []
