"""Looks of a scene, and what is drawn of it: shapes, glyphs, colours, joints, springs, and what the camera sees.

Pages in headless Chromium with the network cut: bodies where projected poses say, keys, scrubbing, no complaint.
"""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from support.analysis_files import CHANNELS, record
from support.browser import CHROMIUM, Browser
from support.scenes import faults_of, scene
from support.view_scenes import BAR, SCENES
from support.world_files import grid, world_file

from simcli import rotations as rot
from simcli.cli import process as cli_process
from simcli.errors import Exit
from simcli.model.from_scene import build
from simcli.records.contents.model_columns import model_arrays
from simcli.records.contents.select import axes_of
from simcli.spec import resolve, resolved_yaml
from simcli.spec.schema.shape import COLOURS, rgb
from simcli.view.drawing.items import of_body
from simcli.view.drawing.scene import drawing_of
from simcli.view.motion import bounds, camera_of
from simcli.view.subject import subject_of_scene

LOOK = ", look: {colour: teal, opacity: 0.5, shapes: {hood: {type: box, size: [1, 2, 3], colour: '#ff0000'}}}"
SCENE_LOOK = "look: {background: white, grid: false, camera: side, cameras: {side: {from: [0, -5, 1], at: [0, 0, 1]}}}\n"
Z = np.array([0.0, 0.0, 1.0])
SOLVERS = ("generalized", "maximal", "natural", "affine")


def drawn(text, folder=Path(), **more):
    """Spec and drawing of a scene without its first line."""
    document = scene(text)
    spec = resolve(document)
    return spec, drawing_of(spec, build(spec, document), folder=folder, **more)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_look_changes_nothing_but_the_drawing(solver):
    """All solvers take it; every table of the model is the same to the bit."""
    with_look, without = (scene(BAR % (look, solver) + more) for look, more in ((LOOK, SCENE_LOOK), ("", "")))
    tables = []
    for document in (with_look, without):
        model = build(resolve(document), document)
        tables.append(model_arrays(model, axes_of(model)))
    assert all(tables[0][name].tobytes() == tables[1][name].tobytes() for name in tables[1])


def test_a_look_is_in_the_resolved_scene_and_comes_through_templates_and_overrides(tmp_path):
    text = """
models:
  arm:
    bodies: {link: {mass: 1, inertia: point, com: [1, 0, 0], look: {colour: orange}}}
    joints: {pin: {type: revolute, parent: world, child: link, axis: [0, 1, 0]}}
instances: {left: {model: arm}}
world: {look: {colour: silver}}
"""
    spec = resolve(scene(text + SCENE_LOOK))
    assert spec.bodies["left/link"].look.colour == "orange"
    again = tmp_path / "again.yaml"
    again.write_text(resolved_yaml(spec))
    from simcli.spec import load_document

    assert resolve(load_document(again)) == spec
    changed = resolve(load_document(again, ["bodies.left/link.look.opacity=0.25", "look.background=black"]))
    assert (changed.bodies["left/link"].look.opacity, changed.look.background) == (0.25, "black")


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("world: {look: {colour: oragne}}", "SC206", "oragne"),
        ("world: {look: {colour: '#12345'}}", "SC206", "#12345"),
        ("world: {look: {opacity: 1.5}}", "SC231", "opacity"),
        ("look: {camera: sid, cameras: {side: {from: [0, -5, 1]}}}", "SC319", "sid"),
        ("look: {cameras: {side: {from: [0, 0, 0]}}}", "SC456", "stands"),
        ("look: {cameras: {side: {from: [0, 0, 3]}}}", "SC456", "up"),
        ("look: {cameras: {side: {at: [0, 0, 3]}}}", "SC202", "from"),
        ("world: {look: {shapes: {a: {type: box, size: [1, 0, 1]}}}}", "SC231", "size"),
        ("world: {look: {shapes: {a: {type: box, size: [1, 1, 1], density: 3}}}}", "SC204", "density"),
        ("world: {look: {shapes: {a: {type: mesh, file: none.obj}}}}", "SC110", "none.obj"),
        ("events: [{at: 0.05, set: {look.grid: false}}]", "SC316", "drawn"),
        ("batch: {worlds: 2, vary: {bodies.crank.look.opacity: {list: [0.1, 0.2]}}}", "SC317", "drawn"),
    ],
)
def test_a_look_that_cannot_be_is_refused_by_name(text, code, word):
    found = faults_of(text, BAR.removeprefix("\n") % ("", "generalized"))
    assert [one[0] for one in found] == [code], found
    assert word in found[0][2]


def test_shapes_and_looks_are_items_with_their_sizes_places_and_colours(tmp_path):
    (tmp_path / "flap.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    text = """
world: {shapes: {floor: {type: plane, offset: 0.5}, hills: {type: heightfield, data: [[0, 1], [2, 3]], size: [4, 4, 0.5]}}}
bodies:
  a:
    mass: 1
    shapes: {rod: {type: capsule, radius: 0.1, length: 2, pose: {xyz: [1, 2, 3], rpy: [0, "90 deg", 0]}}}
    look: {opacity: 0.5, colour: teal, shapes: {flag: {type: mesh, file: flap.obj, scale: 2, colour: "#ff0000"}}}
  b: {mass: 1, shapes: {ball: {type: ellipsoid, radii: [1, 2, 3]}}}
  c: {mass: 1, shapes: {ball: {type: sphere, radius: 1}}, look: {hidden: true}}
contact: {enabled: false}
"""
    document = scene(text, tmp_path)
    spec = resolve(document)
    drawing = drawing_of(spec, build(spec, document), folder=tmp_path)
    items = {item.name: item for item in drawing.items if item.layer == "shape"}
    assert set(items) == {"floor", "hills", "a/rod", "a/flag", "b/ball"}
    rod, flag, ball, hills = (items[name] for name in ("a/rod", "a/flag", "b/ball", "hills"))
    assert (rod.kind, rod.size, rod.position, rod.opacity) == ("capsule", (0.1, 2.0), (1.0, 2.0, 3.0), 0.5)
    assert rod.colour == rgb("teal") == rgb(COLOURS["teal"])
    np.testing.assert_allclose(rot.quat_rotate(np.array(rod.orientation), Z), [1, 0, 0], atol=1e-15)
    np.testing.assert_array_equal(flag.vertices, [[0, 0, 0], [2, 0, 0], [0, 2, 0]])
    assert (flag.body, flag.colour, flag.opacity) == (0, (1.0, 0.0, 0.0), 0.5)
    assert (ball.size, ball.colour) == ((1.0, 2.0, 3.0), of_body(1))
    assert items["floor"].position == (0.0, 0.0, 0.5)
    assert hills.kind == "mesh"
    np.testing.assert_allclose(sorted(hills.vertices[:, 2]), [0.0, 0.5, 1.0, 1.5])
    assert not [item for item in drawing.items if item.body == 2]


def test_bodies_keep_their_colours_which_differ():
    colours = [of_body(k) for k in range(-1, 21)]
    assert len(set(colours)) == len(colours)
    assert all(0.0 <= value <= 1.0 for colour in colours for value in colour)
    document = scene(BAR % ("", "generalized") + "batch: {vary: {bodies.crank.mass: {grid: [1, 2]}}}\n")
    spec = resolve(document)
    from simcli.model.from_scene import build_worlds

    model = build_worlds(document, spec)
    first, second = (drawing_of(spec, model, world) for world in (0, 1))
    assert [item.colour for item in first.items] == [item.colour for item in second.items]


@pytest.mark.parametrize("name", ["double_pendulum", "slider_crank", "puma560", "n_fourbar", "gantry_crane", "spacecraft"])
def test_a_mechanism_without_shapes_is_seen(name):
    """Every body has something that is drawn at first; bars reach from anchor to anchor."""
    subject = subject_of_scene(SCENES / f"{name}.yaml")
    (drawing,) = subject.drawings[:1]
    assert {item.body for item in drawing.items if item.shown} >= set(range(len(drawing.bodies)))
    low, high = bounds(drawing, subject.motion())
    assert (high > low).all()


def test_glyphs_grow_with_the_mechanism():
    """The same mechanism ten times as large is drawn ten times as large."""
    small, large = ("com: [%g, 0, 0]" % (0.5 * k) for k in (1, 10))
    text = BAR % ("", "generalized")
    of = [
        drawn(text.replace("com: [0.5, 0, 0]", com).replace("[1, 0, 0]", f"[{k}, 0, 0]"))[1]
        for k, com in ((1, small), (10, large))
    ]
    assert of[1].unit == pytest.approx(10 * of[0].unit)
    for one, other in zip(of[0].items, of[1].items, strict=True):
        np.testing.assert_allclose(other.corners, 10 * one.corners, atol=1e-12)


@pytest.mark.parametrize("joint", ["prismatic, limit: [0.2, 0.9]", "screw, pitch: 0.3 m", "revolute"])
def test_a_joint_is_drawn_at_the_anchors_of_the_scene(joint):
    """Whatever coordinate `init_angle` gives to the pose in which they coincide."""

    def joint_items(start):
        words = joint.replace("[0.2, 0.9]", f"[{0.2 + start}, {0.9 + start}]")
        _, drawing = drawn(f"""
bodies: {{a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}}}
joints: {{j: {{type: {words}, parent: world, child: a, axis: [0, 1, 0],
  parent_frame: {{xyz: [0.2, 0, 0.5]}}, child_frame: {{xyz: [0, 0.1, 0]}}, q: {0.4 + start}, init_angle: {start}}}}}
""")
        return [one for one in drawing.items if one.name == "j"]

    plain, shifted = joint_items(0), joint_items(0.7)
    assert plain
    for one, other in zip(plain, shifted, strict=True):
        assert (one.body, one.kind, one.size) == (other.body, other.kind, pytest.approx(other.size))
        assert one.position == pytest.approx(other.position)
        assert abs(np.dot(one.orientation, other.orientation)) == pytest.approx(1)


def test_springs_and_rods_are_strands_between_their_points():
    _, drawing = drawn("""
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [1, 0, 0]}, points: {p: [0, 0, 0.5]}}
joints:
  rod: {type: distance, parent: world, child: a, length: 1}
forces:
  s: {type: spring, a: {world: [0, 0, 2]}, b: a/p, stiffness: 50}
""")
    strands = {one.name: one for one in drawing.strands}
    assert (strands["s"].kind, strands["s"].bodies, strands["s"].points) == ("spring", (-1, 0), ((0, 0, 2), (0, 0, 0.5)))
    assert (strands["rod"].kind, strands["rod"].bodies) == ("rod", (-1, 0))


@pytest.mark.parametrize(
    "name", ["double_pendulum", "billiards", "rings", "bricard", "pendulum_field", "slider_crank", "andrews_squeezer"]
)
def test_the_camera_sees_all_of_it(name):
    """All corners of the box are within the picture; no plane hides it."""
    subject = subject_of_scene(SCENES / f"{name}.yaml")
    drawing = subject.drawings[0]
    low, high = bounds(drawing, subject.motion())
    ((_, poses),) = subject.motion().blocks()
    for strand in drawing.strands:
        for body, point in zip(strand.bodies, strand.points, strict=True):
            end = np.array(point) if body < 0 else rot.pose_apply(poses[0, 0, body], np.array(point))
            assert (low - 1e-9 <= end).all()
            assert (end <= high + 1e-9).all()
    camera = camera_of(low, high, drawing, aspect=1.5)
    eye, target = np.array(camera.position), np.array(camera.target)
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, camera.up) / np.linalg.norm(np.cross(forward, camera.up))
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T - eye
    depth = corners @ forward
    seen = np.stack((corners @ right, corners @ np.cross(right, forward))) / depth / np.tan(0.5 * camera.fov)
    assert (depth > 0).all()
    assert np.abs(seen[0]).max() <= 1.5
    assert np.abs(seen[1]).max() <= 1.0
    for item in drawing.items:
        if item.kind == "plane":
            assert rot.quat_rotate(np.array(item.orientation), Z) @ (eye - item.position) > 0


BROWSER_SCENES = Path(__file__).parents[1] / "scenes"
LONG = {"bricard": 2, "n_fourbar": 2}  # [s], that are run of scenes that take long
QUICK = ("double_pendulum",)
SLOW = (
    "slider_crank",
    "newtons_cradle",
    "bricard",
    "rings",
    "gantry_crane",
    "puma560",
    "billiards",
    "n_fourbar",
    "spacecraft",
)
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
                run(["run", BROWSER_SCENES / f"{name}.yaml", "-o", h5, "-q", *less])
            run(["view", h5, "-o", target, *words])
            made[key] = target
        return made[key]

    return page


def run(words):
    assert cli_process.run_command([str(word) for word in words], debug=True, as_json=False) == Exit.OK


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


@pytest.mark.skipif(not CHROMIUM, reason="no chromium here: apt-get install chromium")
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


BOXES = """(() => {
  const box = (name) => {
    const { left, right, top, bottom } = document.querySelector(name).getBoundingClientRect()
    return [left, right, top, bottom]
  }
  return Object.fromEntries(['.track', '.clock', '.speed', '.transport', '.legend'].map((name) => [name, box(name)]))
})()"""


@pytest.mark.skipif(not CHROMIUM, reason="no chromium here: apt-get install chromium")
@pytest.mark.full
def test_the_slider_has_room_on_a_narrow_screen(browser, pages):
    """A row of its own; beside it nothing, everything within the screen, the labels of the curves in one line."""
    width, height = 400, 800
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    try:
        browser.open(pages("slider_crank").as_uri())
        browser.evaluate("simcli.set({ speed: 0.01 })")  # the longest text of the choice
        browser.settle()
        boxes = browser.evaluate(BOXES)
    finally:
        browser.ask("Emulation.setDeviceMetricsOverride", width=SIZE[0], height=SIZE[1], deviceScaleFactor=1, mobile=False)
    left, right, _, bottom = boxes[".track"]
    assert right - left > 0.8 * width
    assert bottom <= min(boxes[".clock"][2], boxes[".speed"][2])
    assert all(box[0] >= 0 and box[1] <= width and box[3] <= height for box in boxes.values())
    assert 0 < boxes[".legend"][3] - boxes[".legend"][2] < 30


@pytest.mark.skipif(not CHROMIUM, reason="no chromium here: apt-get install chromium")
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
        "(({ x, y, width, height }) => [x, y, width, height])(document.querySelector('.track').getBoundingClientRect())"
    )
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
    drawn, seen = (
        [browser.evaluate(f"document.getElementById('view').{one}") for one in both]
        for both in (("width", "height"), ("clientWidth", "clientHeight"))
    )
    assert drawn == seen  # curves and legend took their room before the picture was made
    assert browser.console == []


@pytest.mark.skipif(not CHROMIUM, reason="no chromium here: apt-get install chromium")
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


@pytest.mark.skipif(not CHROMIUM, reason="no chromium here: apt-get install chromium")
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


@pytest.mark.skipif(not CHROMIUM, reason="no chromium here: apt-get install chromium")
def test_each_world_is_drawn_in_its_cell(browser, tmp_path):
    less = ["--worlds", 4, "--duration", "0.1", "--set", "expect=[]"]
    run(["run", BROWSER_SCENES / "double_pendulum.yaml", *less, "-o", tmp_path / "d.h5", "-q"])
    run(["view", tmp_path / "d.h5", "-o", tmp_path / "d.html", "--grid", "2x2"])
    browser.open((tmp_path / "d.html").as_uri())
    picture = browser.picture()
    height, width = picture.shape[0] // 2, picture.shape[1] // 2
    cells = [picture[y : y + height, x : x + width] for y in (0, height) for x in (0, width)]
    painted = [int((hue(cell)[1] > 0.25).sum()) for cell in cells]  # sky and ground are grey
    assert min(painted) > 200
    assert max(painted) < 1.02 * min(painted)  # the same motion


@pytest.mark.skipif(not CHROMIUM, reason="no chromium here: apt-get install chromium")
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


@pytest.mark.skipif(not CHROMIUM, reason="no chromium here: apt-get install chromium")
def test_a_hostile_name_is_shown_as_text(browser, tmp_path):
    hostile = "</script><img src=x onerror=alert(1)><!--"
    (tmp_path / "s.yaml").write_text(
        "simcli: 1\nbodies: {a: {mass: 1, shapes: {b: {type: sphere, radius: 1}}}}\n"
        f"contact: {{enabled: false}}\ndescription: '{hostile}'\n"
    )
    run(["view", tmp_path / "s.yaml", "-o", tmp_path / "s.html"])
    browser.open((tmp_path / "s.html").as_uri())
    assert browser.evaluate("document.querySelector('header .quiet').textContent") == hostile
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.console == []
