"""`simcli render` and `simcli show -o`: files that others read, poses where they belong, and what is refused.

What `simcli render` draws and what the page of `simcli view` shows have the same outlines.
"""

import base64
import builtins
import contextlib
import json
import re
import shlex
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from support.browser import CHROMIUM, Browser
from support.process import run_here

import simcli
from simcli import rotations as rot
from simcli.cli import process as cli_process
from simcli.errors import Exit
from simcli.kernels.rays.solids import Solids
from simcli.records.reading.reader import open_trajectory
from simcli.view import images
from simcli.view import render as render_of_view
from simcli.view.motion import RecordedMotion
from simcli.view.render import Moments, between, times_of_film
from simcli.view.subject import subject_of_run

SCENE = """
simcli: 1
bodies:
  arm: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}, shapes: {rod: {type: box, size: [1, 0.1, 0.1],
        pose: {xyz: [0.5, 0, 0]}}}, look: {colour: vermilion}}
  ball: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [-0.7, 0, 1]}, shapes: {hull: {type: sphere, radius: 0.2}},
         look: {colour: green}}
joints:
  pin: {type: revolute, parent: world, child: arm, at: [0, 0, 0], axis: [0, 1, 0]}
contact: {enabled: false}
look: {cameras: {side: {from: [0, -6, 0], at: [0, 0, 0], fov: 40 deg}}, camera: side}
solver: {type: generalized, dt: 1.0e-3, integrator: rk4}
run: {duration: 0.5}
output: {every: 0.05}
batch: {worlds: 3, vary: {joints.pin.q: {list: [0.0, 0.5, 1.0]}}}
"""
GREEN, RED = np.array([0, 158, 115]), np.array([213, 94, 0])
PIXEL = 1.0  # a pixel, of the middle of a silhouette


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("render")
    (folder / "scene.yaml").write_text(SCENE)
    assert (
        cli_process.run_command(
            ["run", str(folder / "scene.yaml"), "-o", str(folder / "out.h5"), "-q"], debug=False, as_json=False
        )
        == Exit.OK
    )
    return folder / "out.h5"


@pytest.fixture
def render(result, tmp_path, capsys):
    """Runs the command; its document, or its exit code and what it said."""

    def run(name, *words):
        target = tmp_path / name
        line = ["render", str(result), "-o", str(target), "--json", *map(str, words)]
        code = cli_process.run_command(line, debug=False, as_json=True)
        said = capsys.readouterr()
        if code != Exit.OK:
            assert list(tmp_path.iterdir()) == [], "something was left there"
            return code, said.out + said.err
        return json.loads(said.out), target

    return run


def pixels(path):
    with Image.open(path) as image:
        assert image.mode == "RGB"
        return np.asarray(image).astype(int)


def hue(picture, colour):
    """Where a picture has the hue of a colour: bright or dark."""
    scaled = colour / colour.max()
    brightest = picture.max(axis=2, keepdims=True)
    near = np.abs(picture / np.maximum(brightest, 1) - scaled).max(axis=2)
    return (near < 0.25) & (np.ptp(picture, axis=2) > 60)


def seen(points, size, fov):
    """Pixels of points as the camera `side` sees them: by hand, from (0, -6, 0) along y."""
    x, y, z = np.moveaxis(np.asarray(points), -1, 0)
    scale = size[1] / (2 * np.tan(fov / 2)) / (y + 6)
    return np.stack((size[0] / 2 + x * scale, size[1] / 2 - z * scale), axis=-1)


def middle(mask):
    y, x = np.nonzero(mask)
    assert len(x) > 20
    return np.array((x.mean() + 0.5, y.mean() + 0.5))


@pytest.mark.parametrize(("time", "world"), [(0.0, 0), (0.3, 0), (0.5, 0), (0.3, 2)])
def test_bodies_are_where_their_poses_say(render, result, time, world):
    document, path = render("a.png", "--time", time, "--size", "320x240", "--world", world)
    assert document["times"] == [time]
    picture = pixels(path)
    with open_trajectory(result) as run:
        frame = int(np.argmin(np.abs(run.time - time)))
        assert run.time[frame] == pytest.approx(time)
        place = run.body("ball").position[frame, world]
        arm = run.column("frames/body_q")[frame, world, run.bodies.index("arm")]
    fov = np.radians(40)
    ball = seen(place, (320, 240), fov)
    assert middle(hue(picture, GREEN)) == pytest.approx(ball, abs=PIXEL)
    tip, root = (arm[:3] + rot.quat_rotate(arm[3:], np.array([x, 0, 0])) for x in (1.0, 0.0))
    red = hue(picture, RED)
    assert middle(red) == pytest.approx(seen(0.5 * (tip + root), (320, 240), fov), abs=2 * PIXEL)
    for part in (0.2, 0.8):
        x, y = np.floor(seen(root + part * (tip - root), (320, 240), fov)).astype(int)
        assert red[y, x]


def test_poses_between_frames_lie_between_them(result):
    with open_trajectory(result) as run:
        moments = Moments(subject_of_run(run, [0, 2]))
        poses = run.column("frames/body_q")[2:4][:, [0, 2]]
        assert np.array_equal(moments.at(0.1), poses[0])
        found = moments.at(0.12)
    assert np.allclose(found[..., :3], 0.6 * poses[0, ..., :3] + 0.4 * poses[1, ..., :3], atol=1e-15)
    turns = [rot.quat_multiply(rot.quat_inverse(poses[0, :, 0, 3:]), one[:, 0, 3:]) for one in (poses[1], found)]
    whole, part = (2 * np.arctan2(turn[:, 1], turn[:, 3]) for turn in turns)  # about the hinge
    assert (np.abs(whole) > 0.03).all()
    assert part == pytest.approx(0.4 * whole, abs=1e-12)


class Ended:
    """A subject whose second world has poses in its first frames only."""

    path = "ended.h5"

    def __init__(self, n_frames, n_held):
        self.poses = np.zeros((n_frames, 2, 1, 7))
        self.poses[..., 0], self.poses[..., 6] = np.arange(n_frames)[:, None, None], 1.0
        self.poses[n_held:, 1] = np.nan

    def motion(self, frames=slice(None)):
        chosen = self.poses[frames]
        return RecordedMotion(0.1 * np.arange(len(self.poses))[frames], (0, 1), 1, lambda first, last: chosen[first:last])


@pytest.mark.parametrize("n_held", [1, 2, 5, 9, 10])
def test_a_world_that_has_ended_stays_where_it_was(n_held):
    moments = Moments(Ended(10, n_held))
    for time in (0.0, 0.1, 0.15, 0.4, 0.45, 0.85, 0.9):
        poses = moments.at(time)
        assert poses[0, 0, 0] == pytest.approx(10 * time)
        assert poses[1, 0, 0] == pytest.approx(min(10 * time, n_held - 1))


def test_a_pose_and_its_opposite_quaternion_are_one():
    one = np.array([0, 0, 0, 0, 0, np.sin(0.2), np.cos(0.2)])
    other = np.array([1, 0, 0, 0, 0, -np.sin(0.4), -np.cos(0.4)])
    assert between(one, other, 0.5) == pytest.approx([0.5, 0, 0, 0, 0, np.sin(0.3), np.cos(0.3)])
    assert between(one, one, 0.5) == pytest.approx(one)


def test_an_mp4_has_its_pictures_size_and_duration(render):
    document, path = render("a.mp4", "--fps", 25, "--speed", 0.5, "--size", "160x96")
    assert (document["pictures"], document["fps"]) == (26, 25.0)  # 0.5 s at half speed, both ends
    with av.open(str(path)) as film:
        stream = film.streams.video[0]
        assert (stream.width, stream.height, stream.pix_fmt) == (160, 96, "yuv420p")
        assert stream.codec_context.name == "h264"
        assert stream.average_rate == 25
        frames = [frame.to_ndarray(format="rgb24").astype(int) for frame in film.decode(video=0)]
        assert float(film.duration) / av.time_base == pytest.approx(26 / 25, abs=0.02)
    assert len(frames) == 26
    first, last = (middle(hue(frame, GREEN)) for frame in (frames[0], frames[-1]))
    assert last[1] > first[1] + 15  # it has fallen 1.2 m


def test_a_gif_has_its_pictures_and_goes_on_as_long_as_the_motion(render):
    document, path = render("a.gif", "--fps", 30, "--size", "160x90")
    assert document["pictures"] == 16
    with Image.open(path) as image:
        assert image.size == (160, 90)
        assert image.info["loop"] == 0
        total, shown = 0, []
        for k in range(image.n_frames):
            image.seek(k)
            total += image.info["duration"]
            shown.append(np.asarray(image.convert("RGB")).astype(int))
    assert total == pytest.approx(1000 * 16 / 30, abs=5)  # [ms]
    assert middle(hue(shown[-1], GREEN))[1] > middle(hue(shown[0], GREEN))[1] + 15


def test_worlds_stand_side_by_side_or_over_each_other(render):
    _, path = render("a.png", "--world", "0-2", "--size", "360x120", "--time", 0.1)
    picture = pixels(path)
    parts = [picture[:, 120 * k : 120 * k + 118] for k in range(3)]
    balls = [middle(hue(part, GREEN)) for part in parts]
    arms = [middle(hue(part, RED))[1] for part in parts]
    assert np.ptp(balls, axis=0).max() < 1  # the balls fall alike, the arms hang differently
    assert arms[0] + 3 < arms[1] < arms[2] - 3
    _, path = render("b.png", "--world", "0,2", "--overlay", "--size", "320x240", "--time", 0.1)
    over = pixels(path)
    _, path = render("c.png", "--world", "0", "--size", "320x240", "--time", 0.1)
    alone = pixels(path)
    solid = hue(alone, RED)
    assert np.abs(over - alone)[solid].mean() < 8  # the first world is as it was
    assert (np.abs(over - alone).max(axis=2) > 15).sum() > 100  # the other is there, faintly


def test_a_strobe_shows_several_instants_the_last_one_in_full(render):
    _, path = render("a.png", "--strobe", 4, "--size", "320x240")
    many = pixels(path)
    _, path = render("b.png", "--time", 0.5, "--size", "320x240")
    last = pixels(path)
    green = hue(last, GREEN)
    assert np.abs(many - last)[green].mean() < 8
    document, path = render("c.png", "--strobe", 3, "--time", 0.2, "--size", "64x48")
    assert document["times"] == pytest.approx([0.0, 0.1, 0.2])
    assert (np.ptp(many, axis=2) > 12).sum() > 1.5 * (np.ptp(last, axis=2) > 12).sum()


def test_a_camera_by_name_and_one_that_sees_the_whole_motion(render):
    side, _ = render("a.png", "--camera", "side", "--size", "64x48")
    auto, path = render("b.png", "--camera", "auto", "--size", "320x240", "--time", 0.5)
    assert side["camera"]["position"] == [0, -6, 0]
    assert auto["camera"]["position"] != side["camera"]["position"]
    picture = pixels(path)
    border = np.concatenate(
        (
            picture[:3].reshape(-1, 3),
            picture[-3:].reshape(-1, 3),
            picture[:, :3].reshape(-1, 3),
            picture[:, -3:].reshape(-1, 3),
        )
    )
    assert not hue(border[None], GREEN).any()
    assert hue(picture, GREEN).any()


def test_the_start_of_a_scene_without_a_run(result, tmp_path, capsys):
    scene, target = result.parent / "scene.yaml", tmp_path / "start.png"
    assert (
        cli_process.run_command(
            ["show", str(scene), "-o", str(target), "--size", "320x240", "--json"], debug=False, as_json=True
        )
        == Exit.OK
    )
    assert json.loads(capsys.readouterr().out)["path"] == str(target)
    assert middle(hue(pixels(target), GREEN)) == pytest.approx(seen([-0.7, 0, 1], (320, 240), np.radians(40)), abs=PIXEL)
    refused = (
        ["-o", str(tmp_path / "a.mp4")],
        ["--camera", "side"],
        ["--size", "64x48"],
        ["-o", str(tmp_path / "a.png"), "--camera", "sid"],
    )
    for words in refused:
        assert cli_process.run_command(["show", str(scene), *words], debug=False, as_json=False) == Exit.USAGE
    assert "`side`" in capsys.readouterr().err


REFUSED = [
    (("a.png", "--time", 0.6), "0 to 0.5 s"),
    (("a.png", "--time", -0.1), "0 to 0.5 s"),
    (("a.png", "--camera", "sied"), "did you mean `side`?"),
    (("a.png", "--world", 3), "0 to 2"),
    (("a.png", "--fps", 30), "--fps is of a film"),
    (("a.png", "--speed", 2), "--speed is of a film"),
    (("a.mp4", "--time", 0.1), "--time is of a picture"),
    (("a.gif", "--strobe", 3), "--strobe is of a picture"),
    (("a.jpg",), ".png, .gif or .mp4"),
    (("a.png", "--size", "wide"), "1280x720"),
    (("a.png", "--size", "8x8"), "16 to 8192"),
    (("a.mp4", "--size", "161x90"), "even"),
    (("a.mp4", "--fps", 0), "above 0"),
    (("a.mp4", "--speed", "nan"), "above 0"),
    (("a.gif", "--fps", 60), "at most 50"),
    (("a.mp4", "--speed", 1e-9), "raise --speed"),
    (("a.gif", "--speed", 0.01, "--fps", 20), "too large"),
    (("a.png", "--world", "0-2", "--size", "32x32"), "--overlay"),
]


@pytest.mark.parametrize(("words", "hint"), REFUSED, ids=[" ".join(map(str, words)) for words, _ in REFUSED])
def test_what_cannot_be_drawn_is_refused_and_leaves_nothing(render, words, hint):
    code, said = render(*words)
    assert code == Exit.USAGE
    assert hint in said


def test_a_film_that_cannot_be_finished_leaves_what_was_there(tmp_path):
    target = tmp_path / "a.mp4"
    target.write_text("before")

    def pictures():
        yield np.zeros((48, 64, 3), np.uint8)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        images.write_film(pictures(), [], (64, 48), Fraction(30), target)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]
    code = cli_process.run_command(["render", str(tmp_path / "none.h5"), "-o", str(target)], debug=False, as_json=False)
    assert code == Exit.USAGE


def test_a_folder_that_cannot_be_made_is_an_error_of_output(result, capsys):
    code = cli_process.run_command(
        ["render", str(result), "-o", str(result / "a.png"), "--size", "32x32"], debug=False, as_json=False
    )
    assert code == Exit.OUTPUT
    assert "nothing was left" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "library", "hint"), [("a.png", "PIL", "Pillow"), ("a.mp4", "av", "PyAV")])
def test_a_missing_library_is_named_before_anything_is_drawn(render, monkeypatch, name, library, hint):
    bare = builtins.__import__

    def without(module, *rest):
        if module.split(".")[0] == library:
            raise ImportError(module)
        return bare(module, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    code, said = render(name)
    assert code == Exit.USAGE
    assert hint in said
    assert "simcli[render]" in said


def test_the_last_picture_of_a_film_is_not_after_the_end():
    assert times_of_film(0.0, 1.0, Fraction(4), 1.0) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert times_of_film(1.0, 1.3, Fraction(10), 2.0) == pytest.approx([1.0, 1.2])
    assert times_of_film(0.0, 0.3, Fraction(10), 1.0)[-1] <= 0.3
    assert len(times_of_film(0.0, 0.3, Fraction(10), 1.0)) == 4
    assert times_of_film(2.0, 2.0, Fraction(30), 1.0) == [2.0]


def test_the_camera_of_a_wide_picture_comes_nearer(render):
    """The motion is wider than high; in a picture that is higher than wide the camera has to go back."""
    wide, tall = (
        render(name, "--camera", "auto", "--size", size)[0]["camera"]
        for name, size in (("a.png", "192x64"), ("b.png", "64x192"))
    )
    assert wide["target"] == tall["target"]
    away = [np.linalg.norm(np.subtract(one["position"], one["target"])) for one in (wide, tall)]
    assert away[0] < 0.7 * away[1]


@pytest.mark.slow
def test_commands_of_the_page_work(tmp_path, monkeypatch):
    text = (Path(simcli.__file__).parent / "docs/render.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"```console\n(.*?)```", text, re.DOTALL)[0].splitlines()
    assert len(lines) == 6
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "simcli"
        assert cli_process.run_command(words, debug=False, as_json=False) == Exit.OK, line
    assert {path.name for path in tmp_path.iterdir()} >= {"swing.png", "strobe.png", "swing.mp4", "start.png"}


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


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="no chromium here: apt-get install chromium")
@pytest.mark.parametrize("name", ["andrews_squeezer", "rings", "newtons_cradle", "puma560"])
def test_outlines_are_those_of_the_viewer(browser, tmp_path, monkeypatch, name):
    h5, page = tmp_path / f"{name}.h5", tmp_path / "page.html"
    command("run", SCENES / f"{name}.yaml", "-o", h5, "-q")
    command("view", h5, "-o", page, "--world", "0")
    browser.open(page.as_uri())
    drawn = []
    draw = render_of_view.draw

    def kept(solids, *rest):
        solids = Solids(**{key: value[~solids.is_coil] for key, value in vars(solids).items()})
        drawn.append((solids.is_plane, draw(solids, *rest)))
        return drawn[-1][1]

    monkeypatch.setattr(render_of_view, "draw", kept)
    with open_trajectory(h5) as run:
        shooting = render_of_view.shooting_of(subject_of_run(run, [0]), render_of_view.Look(SIZE))
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
