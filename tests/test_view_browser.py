"""Pages in headless Chromium with the network cut: bodies where projected poses say, keys, scrubbing, no complaint."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from support.analysis_files import CHANNELS, record
from support.browser import CHROMIUM, Browser
from support.world_files import grid, world_file

from simcli.cli import doorman
from simcli.errors import Exit

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no chromium here: apt-get install chromium")
SCENES = Path(__file__).parents[1] / "scenes"
LONG = {"bricard": 2, "n_fourbar": 2}  # [s], that are run of scenes that take long
QUICK = ("double_pendulum",)
SLOW = ("slider_crank", "newtons_cradle", "bricard", "rings", "gantry_crane", "puma560", "billiards", "n_fourbar",
        "spacecraft")  # fmt: skip
TIMES = (0.0, 0.5, 1.0)
SIZE = (720, 540)  # [px]
NEAR = 12  # [px] from a projected place to a pixel of the body
# Colours that a body may have in light and shade: of the hue of its paint.
HUE = 0.09


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with contextlib.closing(Browser(tmp_path_factory.mktemp("profile"), SIZE)) as one:
        one.offline()
        yield one


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Makes the page of a scene that was run."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def page(name, *words):
        key = (name, words)
        if key not in made:
            target = folder / f"{name}-{len(made)}.html"
            h5 = folder / f"{name}.h5"
            if not h5.exists():
                less = ["--duration", str(LONG[name]), "--set", "expect=[]"] if name in LONG else []
                run(["run", SCENES / f"{name}.yaml", "-o", h5, "-q", *less])
            run(["view", h5, "-o", target, *words])
            made[key] = target
        return made[key]

    return page


def run(words):
    assert doorman.run_command([str(word) for word in words], debug=True, as_json=False) == Exit.OK


def hue(colours):
    """Hue, 0 to 1, and saturation of colours (..., 3)."""
    colours = np.asarray(colours, float)
    high, low = colours.max(axis=-1), colours.min(axis=-1)
    span = np.maximum(high - low, 1e-9)
    r, g, b = np.moveaxis(colours, -1, 0)
    found = np.where(high == r, (g - b) / span % 6, np.where(high == g, (b - r) / span + 2, (r - g) / span + 4))
    return found / 6, (high - low) / np.maximum(high, 1e-9)


def is_painted(picture, x, y, colour):
    """Whether pixels of the hue of a colour lie about a place."""
    x, y = round(x), round(y)
    area = picture[max(y - NEAR, 0) : y + NEAR + 1, max(x - NEAR, 0) : x + NEAR + 1] / 255.0
    wanted, _ = hue(colour)
    found, saturation = hue(area)
    apart = np.abs(found - wanted)
    return bool(((np.minimum(apart, 1 - apart) < HUE) & (saturation > 0.25)).any())


# Of every item of a body that is drawn, of the world in front: the point next to the camera and the middle, in pixels.
PLACES = """(() => {
  const { stage, state } = simcli
  const found = []
  stage.worlds[state.focus].bodies.forEach((group, body) => {
    if (body >= simcli.recording.nBodies) return
    group.updateMatrixWorld(true)
    for (const figure of group.children) {
      const item = figure.userData.item
      if (!figure.visible || !['shape', 'link'].includes(item.layer)) continue
      const { position } = figure.geometry.attributes
      const point = stage.up.clone()
      let nearest = [Infinity]
      for (let k = 0; k < position.count; k++) {
        const far = point.fromBufferAttribute(position, k).applyMatrix4(figure.matrixWorld).distanceTo(stage.camera.position)
        if (far < nearest[0]) nearest = [far, ...point.toArray()]
      }
      figure.geometry.computeBoundingSphere()
      const middle = figure.geometry.boundingSphere.center.clone().applyMatrix4(figure.matrixWorld)
      const places = [nearest.slice(1), middle.toArray()].map((place) => stage.project(place, state.focus))
      found.push([body, places, item.colour])
    }
  })
  return found
})()"""
POSES = """(() => simcli.stage.worlds[simcli.state.focus].bodies.slice(0, simcli.recording.nBodies).map(
  (group) => [...group.position.toArray(), ...group.quaternion.toArray()]))()"""


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_bodies_are_seen_where_their_poses_say(browser, pages, name):
    """At three times: poses as in the file, paint where they are projected, and a picture that is not empty."""
    from simcli import rotations as rot
    from simcli.records.reading.reader import open_trajectory

    path = pages(name, "--world", "0")
    browser.open(path.as_uri())
    browser.press("j")  # joints stand before what they join
    seen = total = 0
    for part in TIMES:
        browser.evaluate(f"simcli.seek(simcli.recording.start + {part} * (simcli.recording.end - simcli.recording.start))")
        picture = browser.picture()
        with open_trajectory(path.with_name(f"{name}.h5")) as run:
            frame = int(np.searchsorted(run.time, browser.evaluate("simcli.state.time") + 1e-9)) - 1
            poses = np.asarray(run.column("frames/body_q")[frame, 0])
            steps = np.abs(run.column("frames/body_q")[max(frame - 1, 0) : frame + 2, 0] - poses).max()
        shift, angle = rot.pose_distance(poses, np.array(browser.evaluate(POSES)))
        # Half way between two frames the page is between them.
        assert max(shift.max(), angle.max()) < 1e-3 + 2 * steps * (part == 0.5)
        places = browser.evaluate(PLACES)
        assert {place[0] for place in places} == set(range(len(poses)))
        seen += sum(any(is_painted(picture, *place, colour) for place in both) for _, both, colour in places)
        total += len(places)
        assert len(np.unique(picture[:300].reshape(-1, 3), axis=0)) > 500
    assert seen >= 0.85 * total  # the others stand behind something
    assert browser.console == []
    assert {one for one in browser.requests if not one.startswith(("file:", "data:", "blob:", "about:"))} == set()


def test_the_keyboard_and_the_mouse_move_it(browser, pages):
    browser.open(pages("slider_crank").as_uri())

    def state(name):
        return browser.evaluate(f"simcli.state.{name}")

    assert (state("time"), state("playing")) == (0, False)
    browser.press("ArrowRight")
    first = state("time")
    assert first == pytest.approx(browser.evaluate("simcli.recording.timeOf(1)"))
    browser.press("ArrowRight")
    browser.press("ArrowLeft")
    assert state("time") == pytest.approx(first)
    browser.press("End")
    end = state("time")
    assert end == browser.evaluate("simcli.recording.end")
    browser.press("Home")
    browser.press(" ", 32)
    assert state("playing")
    browser.wait_for("simcli.state.time > 0")
    browser.press(" ", 32)
    assert not state("playing")
    speed = state("speed")
    browser.press("ArrowUp")
    assert state("speed") > speed
    browser.press("l")
    assert not state("loop")
    left, top, width, height = browser.evaluate(
        "(({ x, y, width, height }) => [x, y, width, height])(document.querySelector('.track').getBoundingClientRect())")
    browser.drag(*((left + part * width, top + height / 2) for part in (0.2, 0.5, 0.7)))
    assert state("time") == pytest.approx(0.7 * end, abs=0.02 * end)
    before = browser.evaluate("simcli.stage.camera.position.toArray()")
    browser.drag((200, 200), (260, 220), (320, 230))
    assert np.abs(np.subtract(browser.evaluate("simcli.stage.camera.position.toArray()"), before)).max() > 1e-3
    browser.press("r")
    for key in "odaxmtskg":
        browser.press(key)
    assert state("panel") == "layers"
    assert (state("theme"), state("layers")) == ("dark", {"axis": True, "frame": True, "mass": True})
    browser.press("?")
    assert "play or pause" in browser.evaluate("document.querySelector('.panel').textContent")
    browser.press("Escape", 27)
    assert browser.evaluate("document.querySelector('.panel').hidden")
    browser.settle()
    drawn, seen = ([browser.evaluate(f"document.getElementById('view').{one}") for one in both]
                   for both in (("width", "height"), ("clientWidth", "clientHeight")))  # fmt: skip
    assert drawn == seen  # curves and legend took their room before the picture was made
    assert browser.console == []


def test_worlds_stand_side_by_side_are_ghosts_and_are_sorted(browser, tmp_path):
    run(["view", world_file(tmp_path / "w.h5", grid(2, 3)), "-o", tmp_path / "w.html", "--grid", "2x2"])
    browser.open((tmp_path / "w.html").as_uri())
    assert browser.evaluate("simcli.state.mode") == "grid"
    browser.settle()
    labels = browser.evaluate("[...document.querySelectorAll('.cell b')].map((one) => one.textContent)")
    assert labels == ["0", "1", "2", "3"]
    browser.press("v")
    assert browser.evaluate("simcli.state.mode") == "ghosts"
    assert browser.evaluate("simcli.state.shown") == [0, 1, 2, 3]
    browser.press("n")
    assert browser.evaluate("simcli.state.focus") == 1
    browser.press("w")
    lengths = "[...document.querySelectorAll('.panel tbody tr')].map((one) => Number(one.children[2].textContent))"
    head = "document.querySelectorAll('.panel th')[2]"
    assert browser.evaluate(f"{head}.title") == "params.l [m]"
    browser.evaluate(f"{head}.click()")
    assert (rows := browser.evaluate(lengths)) == sorted(rows)
    browser.evaluate(f"{head}.click()")
    assert browser.evaluate(lengths) == sorted(rows, reverse=True)
    assert browser.console == []


def test_title_and_labels_of_many_worlds_leave_room_for_their_bodies(browser, tmp_path):
    """A long title and the buttons are above the worlds, and a label takes little of its cell; its tooltip has the rest."""
    run(["view", world_file(tmp_path / "w.h5", grid(10, 12)), "-o", tmp_path / "w.html", "--grid", "12x10"])
    browser.open((tmp_path / "w.html").as_uri())
    browser.evaluate("document.querySelector('h1').textContent = 'a_long_name_'.repeat(9)")
    browser.settle()
    box = "(({ left, top, right, bottom }) => [left, top, right, bottom])(%s.getBoundingClientRect())"
    title, buttons, canvas = (browser.evaluate(box % f"document.querySelector('{one}')") for one in ("h1", "nav", "#view"))
    assert max(title[3], buttons[3]) <= canvas[1]
    assert title[2] <= buttons[0]
    both = f"[{box % 'one'}, {box % 'one.firstChild'}]"
    boxes = browser.evaluate(f"[...document.querySelectorAll('.cell')].map((one) => {both})")
    assert len(boxes) == 120
    for cell, label in boxes:
        assert cell[0] <= label[0] < label[2] <= cell[2]
        assert cell[1] <= label[1] < label[3] <= cell[3]
        assert (label[2] - label[0]) * (label[3] - label[1]) < 0.2 * (cell[2] - cell[0]) * (cell[3] - cell[1])
    assert "world 7   l" in browser.evaluate("document.querySelectorAll('.cell span')[7].title")


def test_each_world_is_drawn_in_its_cell(browser, tmp_path):
    less = ["--worlds", 4, "--duration", "0.1", "--set", "expect=[]"]
    run(["run", SCENES / "double_pendulum.yaml", *less, "-o", tmp_path / "d.h5", "-q"])
    run(["view", tmp_path / "d.h5", "-o", tmp_path / "d.html", "--grid", "2x2"])
    browser.open((tmp_path / "d.html").as_uri())
    picture = browser.picture()
    height, width = picture.shape[0] // 2, picture.shape[1] // 2
    cells = [picture[y : y + height, x : x + width] for y in (0, height) for x in (0, width)]
    painted = [int((hue(cell)[1] > 0.25).sum()) for cell in cells]  # sky and ground are grey
    assert min(painted) > 200
    assert max(painted) < 1.02 * min(painted)  # the same motion


def test_contacts_and_trails_are_drawn(browser, tmp_path):
    def move(columns):
        columns["frames/body_q"][..., 3:] = 0, 0, 0, 1
        columns["frames/body_q"][..., :3] = np.arange(6)[:, None, None, None] * [3.0, 1.0, 1.0]

    with record(tmp_path / "c.h5", 6, 1, move, channels=(*CHANNELS, "contacts")) as file:
        count = len(file.contacts(1, 0)["gap"])
    run(["view", tmp_path / "c.h5", "-o", tmp_path / "c.html"])
    browser.open((tmp_path / "c.html").as_uri())
    browser.evaluate("simcli.seek(simcli.recording.timeOf(1))")
    before = browser.picture().astype(int)

    def changed():
        return int((np.abs(browser.picture().astype(int) - before).max(axis=-1) > 40).sum())

    browser.press("k")
    assert changed() > 20
    assert browser.evaluate("simcli.contacts.of.get(0).dot.count") == count > 0
    browser.press("k")
    assert changed() == 0
    browser.evaluate("simcli.seek(simcli.recording.end)")
    before = browser.picture().astype(int)
    browser.press("t")
    assert changed() > 20
    assert browser.console == []


def test_a_hostile_name_is_shown_as_text(browser, tmp_path):
    hostile = "</script><img src=x onerror=alert(1)><!--"
    (tmp_path / "s.yaml").write_text("simcli: 1\nbodies: {a: {mass: 1, shapes: {b: {type: sphere, radius: 1}}}}\n"
                                     f"contact: {{enabled: false}}\ndescription: '{hostile}'\n")  # fmt: skip
    run(["view", tmp_path / "s.yaml", "-o", tmp_path / "s.html"])
    browser.open((tmp_path / "s.html").as_uri())
    assert browser.evaluate("document.querySelector('header .quiet').textContent") == hostile
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.console == []
