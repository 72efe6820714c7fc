"""Poses in a page against float64, and the page itself: one file, hostile texts, growing files."""

import base64
import hashlib
import json
import re
import shutil
import socket
import struct
import threading
import urllib.error
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from support.analysis_files import CHANNELS, record
from support.process import simcli, told_here
from support.recorder_here import RecorderHere
from support.scenes import FALL
from support.tiny_model import frames, tiny_model
from support.view_scenes import BAR, SCENES
from support.world_files import FAILED, grid, world_file

from simcli import rotations as rot
from simcli.analysis.states.subject import scene_of
from simcli.errors import Exit, UsageError
from simcli.model.from_scene import build
from simcli.records.contents.layout import selected
from simcli.records.contents.provenance import collect_provenance
from simcli.records.contents.select import axes_of, selection
from simcli.records.reading.reader import open_trajectory
from simcli.records.writing.writer import Recorder
from simcli.spec import resolve, resolved_yaml
from simcli.spec.schema.shape import rgb
from simcli.view.motion import motion_of_model, motion_of_run, start_poses
from simcli.view.page import quantised
from simcli.view.page.content import Content
from simcli.view.page.curves import CurveGroup, Series, groups_of, values_of
from simcli.view.page.html_page import write_page
from simcli.view.page.live import Server
from simcli.view.subject import subject_of_run, subject_of_scene, subject_of_states

PAGE = Path(__file__).parents[1] / "simcli" / "view" / "page"


# --- poses in a page


def random_poses(n_frames, n_worlds, n_bodies, size, seed=1):
    draw = np.random.default_rng(seed)
    turn = draw.normal(size=(n_frames, n_worlds, n_bodies, 4))
    place = draw.uniform(-0.5 * size, 0.5 * size, (n_frames, n_worlds, n_bodies, 3))
    return np.concatenate((place, turn / np.linalg.norm(turn, axis=-1, keepdims=True)), axis=-1)


def test_packed_poses_are_within_a_tenth_of_a_millimetre_on_a_scene_of_a_metre():
    poses = random_poses(500, 2, 3, 1.0)
    ranges, words = quantised.quantise(poses)
    packed = quantised.unpack(ranges, words)
    points = np.random.default_rng(2).normal(size=(3, 40, 3))
    points *= 0.5 / np.linalg.norm(points, axis=-1, keepdims=True)  # half a metre from the frame
    moved = [rot.pose_apply(one[:, :, :, None], points) for one in (poses, packed)]
    measured = np.linalg.norm(moved[0] - moved[1], axis=-1).max()
    told = quantised.error(poses, packed, np.full(3, 0.5))
    assert measured <= told * (1 + 1e-9) < 1e-4
    assert measured > 1e-6  # it is packed


def test_the_error_is_told_for_each_motion_and_grows_with_its_size():
    errors = []
    for size in (1.0, 100.0):
        poses = random_poses(50, 1, 1, size)
        errors.append(quantised.error(poses, quantised.unpack(*quantised.quantise(poses)), np.zeros(1)))
    assert errors[1] == pytest.approx(100 * errors[0], rel=0.3)


def test_two_thousand_frames_of_fourteen_bodies_take_half_a_megabyte():
    ranges, words = quantised.quantise(random_poses(2000, 1, 14, 1.0))
    assert len(base64.b64encode(words.tobytes())) + len(base64.b64encode(ranges.tobytes())) <= 500_000


def test_extreme_orientations_and_bodies_at_rest_are_packed():
    poses = np.zeros((8, 1, 1, 7))
    poses[:4, 0, 0, 3:] = np.eye(4)
    poses[4:, 0, 0, 3:] = 0.5 * np.array([[1, 1, 1, 1], [-1, 1, 1, 1], [1, -1, -1, 1], [-1] * 4])
    poses[..., :3] = 1e3, -7.25, 0.1
    packed = quantised.unpack(*quantised.quantise(poses))
    assert quantised.error(poses, packed, np.ones(1)) < 2e-4


def test_a_world_that_has_ended_stays_where_it_was():
    poses = random_poses(6, 2, 1, 1.0)
    poses[3:, 1] = np.nan
    found, goes_on = quantised.filled(poses)
    np.testing.assert_array_equal(goes_on[:, 1], [True] * 3 + [False] * 3)
    np.testing.assert_array_equal(found[5, 1], poses[2, 1])
    later, still = quantised.filled(poses[4:], before=found[3])
    np.testing.assert_array_equal(later, found[4:])
    assert not still[:, 1].any()


# --- pages


class Parts(HTMLParser):
    """Elements of a page: names and attributes, and the text in each script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self._inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.scripts[-1] += data


def command(capsys, *words):
    return told_here(capsys, "view", *words)


def content_of(path):
    return json.loads(Parts(Path(path).read_text()).scripts[0])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return world_file(tmp_path_factory.mktemp("view") / "a.h5", grid(3, 4))


def test_a_page_holds_the_motion_its_worlds_and_its_curves(path, tmp_path, capsys):
    target = tmp_path / "p.html"
    code, out, err = command(capsys, path, "--world", "0,2,5", "-o", target, "--every", 2, "--json", "-c", "energy.*")
    assert code == Exit.OK, err
    facts, page = json.loads(out), content_of(target)
    assert (facts["frames"], facts["worlds"], facts["bytes"]) == (3, [0, 2, 5], target.stat().st_size)
    assert err.index("about") < err.index("wrote")  # the size is told first
    (chunk,) = page["chunks"]
    words = np.frombuffer(base64.b64decode(chunk["poses"]), "<u2").reshape(3, 3, len(page["bodies"]), 6)
    ranges = np.frombuffer(base64.b64decode(chunk["range"]), "<f4").reshape(3, len(page["bodies"]), 6)
    with open_trajectory(path) as run:
        np.testing.assert_array_equal(np.frombuffer(base64.b64decode(chunk["time"]), "<f8"), run.time[::2])
        poses = quantised.filled(run.read("frames/body_q")[::2][:, [0, 2, 5]])[0]
        total = run.energy.total[::2][:, [0, 2, 5]]
    distance, angle = rot.pose_distance(poses, quantised.unpack(ranges, words))
    assert max(distance.max(), angle.max()) < 1e-3
    labels = [series["label"] for series in page["strip"][0]["series"]]
    held = np.frombuffer(base64.b64decode(chunk["strip"][labels.index("total")]), "<f4").reshape(3, 3)
    np.testing.assert_allclose(held, total, rtol=1e-6)
    assert [world["number"] for world in page["worlds"]] == [0, 2, 5]
    assert [world["failed"] for world in page["worlds"]] == [world == FAILED for world in (0, 2, 5)]
    assert {"params.l", "params.c", "measure.peak"} <= {entry["name"] for entry in page["worlds"][0]["values"]}
    assert [(event["world"], event["severity"]) for event in page["events"]] == [(1, 2)]


def test_a_page_needs_nothing_but_itself(path, tmp_path, capsys):
    command(capsys, path, "-o", tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text()
    parts = Parts(text)
    assert [tag for tag, _ in parts.tags].count("script") == 2
    assert not [attrs for _, attrs in parts.tags if "src" in attrs]
    assert [attrs["href"] for tag, attrs in parts.tags if tag == "link"] == ["data:,"]
    policy = next(attrs["content"] for _, attrs in parts.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "connect-src 'none'" in policy


def test_hostile_texts_stay_texts(tmp_path, capsys):
    hostile = "</script><!--<script>alert(1)</script>&amp;\u2028"
    path = tmp_path / "s.yaml"
    path.write_text("simcli: 1\n" + BAR % ("", "generalized") + f"description: {json.dumps(hostile)}\n")
    code, _, err = command(capsys, path, "-o", tmp_path / "p.html")
    assert code == Exit.OK, err
    parts = Parts((tmp_path / "p.html").read_text())
    assert [tag for tag, _ in parts.tags].count("script") == 2
    assert "<!--" not in (tmp_path / "p.html").read_text().partition("</head>")[2].partition("/* simcli")[0]
    assert json.loads(parts.scripts[0])["description"] == hostile


def test_a_file_that_is_still_written_is_shown_as_far_as_it_is(tmp_path):
    model = tiny_model(n_worlds=2)
    axes = axes_of(model)
    source = collect_provenance([("scene.yaml", "simcli: 1")], "simcli: 1", "cpu", "float64", 0, argv=["simcli"])
    recorder = Recorder(tmp_path / "a.h5", model, source, CHANNELS, 500, process=RecorderHere())
    recorder.put(frames(selected(axes, CHANNELS), axes, 0, 300, ()))
    with open_trajectory(tmp_path / "a.h5") as run:
        n = run.n_frames
        content = Content(subject_of_run(run, (0, 1)), slice(None), groups_of(run))
        with (tmp_path / "p.html").open("w") as stream:
            write_page(content, {"mode": "one", "shown": [0], "columns": 0}, stream)
    assert 0 < n < 500
    assert content_of(tmp_path / "p.html")["facts"][2] == ["run", "running"]
    recorder.close("stopped")


def test_poses_follow_from_joint_coordinates_where_only_these_are_recorded(tmp_path):
    text = (SCENES / "double_pendulum.yaml").read_text()
    (tmp_path / "s.yaml").write_text(text)
    from simcli.spec import load_document

    document = load_document(tmp_path / "s.yaml")
    spec = resolve(document)
    model = build(spec, document)
    axes, source = (
        axes_of(model),
        collect_provenance([("s.yaml", text)], resolved_yaml(spec), "cpu", "float64", 0, argv=["simcli"]),
    )
    recorder = Recorder(tmp_path / "a.h5", model, source, ("joints",), 3, process=RecorderHere())
    block = frames(selected(axes, ("joints",)), axes, 0, 3, ())
    block.columns["frames/joint_q"][:] = np.array([[[0.1, 0.2]], [[0.3, -0.4]], [[1.0, 2.0]]])
    recorder.put(block)
    recorder.close("done")
    with open_trajectory(tmp_path / "a.h5") as run:
        ((_, poses),) = subject_of_run(run).motion().blocks()
        with pytest.raises(UsageError, match="channels: \\[state\\]"):
            motion_of_run(run)
    from dataclasses import replace

    for frame, q in enumerate(([0.1, 0.2], [0.3, -0.4], [1.0, 2.0])):
        np.testing.assert_allclose(poses[frame, 0], start_poses(replace(model, joint_q=np.array([q])))[0], atol=1e-15)


def test_a_file_of_some_bodies_shows_these(tmp_path, capsys):
    model = tiny_model(n_worlds=1)
    axes = selection(model, ["link1"])
    source = collect_provenance([("scene.yaml", "simcli: 1")], "simcli: 1", "cpu", "float64", 0, argv=["simcli"])
    recorder = Recorder(tmp_path / "a.h5", model, source, CHANNELS, 3, axes=axes, process=RecorderHere())
    recorder.put(frames(selected(axes_of(model), CHANNELS), axes_of(model), 0, 3, ()))
    recorder.close("done")
    code, _, err = command(capsys, tmp_path / "a.h5", "-o", tmp_path / "p.html")
    assert code == Exit.OK, err
    page = content_of(tmp_path / "p.html")
    assert page["bodies"] == ["link1"]
    assert {item["body"] for item in page["drawings"][0]["items"]} == {-1, 0}


def test_a_scene_that_was_not_run_is_shown_at_its_start(tmp_path, capsys):
    words = ["-o", tmp_path / "p.html", "--set", "joints.shoulder.q=0.5"]
    code, _, err = command(capsys, SCENES / "double_pendulum.yaml", *words)
    assert code == Exit.OK, err
    page = content_of(tmp_path / "p.html")
    assert (page["title"], page["worlds"][0]["status"], page["strip"]) == ("double_pendulum", "not run", [])
    model = subject_of_scene(SCENES / "double_pendulum.yaml", ["joints.shoulder.q=0.5"]).model
    ((_, poses),) = motion_of_model(model).blocks()
    np.testing.assert_array_equal(poses[0], start_poses(model))


STATES = "time,joint.shoulder.q,joint.elbow.q\n{}\n0.2,0.5,0.1\n0.4,1.0,0.2\n"


@pytest.mark.parametrize(("first", "times"), [("0.1,0,0", [0.1, 0.2, 0.4]), ("0.2,0,0", [0.0, 0.5, 1.0])])
def test_a_scene_is_shown_at_states_that_are_given(first, times, tmp_path, capsys):
    scene, table, page = SCENES / "double_pendulum.yaml", tmp_path / "q.csv", tmp_path / "p.html"
    table.write_text(STATES.format(first))
    code, _, err = command(capsys, scene, "--states", table, "--every", "1", "-o", page)
    assert code == Exit.OK, err
    assert ("no times" in err) == (times[0] == 0.0)
    subject = subject_of_states(scene, table)
    assert subject.motion().time.tolist() == times
    start = subject_of_scene(scene, ["joints.shoulder.q=0.5", "joints.elbow.q=0.1"]).model
    np.testing.assert_allclose(subject.motion(slice(1, None)).frames(0, 1)[0], start_poses(start), atol=1e-15)
    assert told_here(capsys, "fk", scene, "--states", table, "-o", tmp_path / "fk.h5")[0] == Exit.OK
    assert command(capsys, tmp_path / "fk.h5", "--force", "-o", page)[0] == Exit.OK
    motion = subject_of_states(tmp_path / "fk.h5", None).motion()
    np.testing.assert_array_equal(motion.frames(0, 3), subject.motion().frames(0, 3))
    code, _, err = command(capsys, tmp_path / "fk.h5", "--grid", "2x2", "-o", page)
    assert (code, "not of states" in err) == (Exit.USAGE, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--grid", "4"], "4x4"),
        (["--grid", "²x2"], "4x4"),
        (["--grid", "0x2"], "4x4"),
        (["--grid", "9" * 5000 + "x1"], "4x4"),
        (["--grid", "2x2", "--world", "0-4"], "has room for 4 worlds, and --world names 5"),
        (["--grid", "2x2", "--overlay"], "contradict"),
        (["--world", "99"], "0 to 11"),
        (["-c", "energy.totl"], "energy.total"),
        (["--set", "run.duration=1"], "--look"),
    ],
)
def test_what_cannot_be_shown_is_refused(path, tmp_path, capsys, words, said):
    code, _, err = command(capsys, path, "-o", tmp_path / "p.html", *words)
    assert (code, said in err) == (Exit.USAGE, True), err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "said"), [("run", "name another one"), ("run.h5", "the suffix says the format")])
def test_the_file_itself_is_not_replaced(name, said, path, tmp_path, capsys):
    file, before = shutil.copy(path, tmp_path / name), path.read_bytes()
    code, _, err = command(capsys, file, "-o", file)
    assert (code, said in err) == (Exit.USAGE, True)
    assert file.read_bytes() == before


def test_a_page_too_large_for_browsers_is_refused_with_what_would_do(path, tmp_path, capsys, monkeypatch):
    from simcli.cli.results import view

    monkeypatch.setattr(view, "MOST_PAGE_BYTES", 100.0)
    code, _, err = command(capsys, path, "-o", tmp_path / "p.html")
    assert (code, "--every" in err) == (Exit.USAGE, True)
    assert command(capsys, path, "-o", tmp_path / "p.html", "--every", 1)[0] == Exit.OK


def test_a_page_that_cannot_be_written_leaves_nothing(path, tmp_path, capsys, monkeypatch):
    from simcli.view.page import html_page as page

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(page, "bundle", fail)
    (tmp_path / "p.html").write_text("before")
    code, _, err = command(capsys, path, "-o", tmp_path / "p.html", "--force")
    assert (code, "nothing was left" in err) == (Exit.OUTPUT, True)
    assert [one.read_text() for one in tmp_path.iterdir()] == ["before"]


def test_a_look_of_another_scene_is_taken(tmp_path, capsys):
    from simcli.spec import load_document

    with record(tmp_path / "a.h5", 3, 1, lambda columns: None) as run:
        names = run.bodies
        other = tmp_path / "other.yaml"
        bodies = ", ".join(f"{name}: {{mass: 1, inertia: point, look: {{colour: '#102030'}}}}" for name in names)
        other.write_text(f"simcli: 1\nbodies: {{{bodies}}}\nsolver: {{type: natural}}\nlook: {{background: navy}}\n")
        resolve(load_document(other))
        drawing = subject_of_run(run, look=other).drawings[0]
    assert drawing.background == rgb("navy")
    assert drawing.bodies == names


def test_the_size_that_is_told_counts_each_mesh_once(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net = "".join(f"v {k / 1000} {k % 100} 0\nf 1 2 {k + 3}\n" for k in range(100_000))
    (tmp_path / "net.obj").write_text(f"v 0 0 0\nv 1 0 0\n{net}")
    look = "look: {shapes: {a: {type: mesh, file: net.obj}, b: {type: mesh, file: net.obj, pose: {xyz: [0, 0, 1]}}}}"
    (tmp_path / "s.yaml").write_text(FALL.replace("[1, 1, 1]}", f"[1, 1, 1]}}, {look}"))
    code, _, err = command(capsys, "s.yaml", "-o", "p.html")
    assert code == Exit.OK
    told, written = (1e6 * float(re.search(rf"{word}.*?([\d.]+) MB", err)[1]) for word in ("about", "wrote"))
    assert 3.2e6 < told < 4.4e6  # 2.4 MB of numbers in base64 and the program
    assert abs(told - written) < 0.05 * written


def test_a_mesh_that_is_only_seen_is_found_beside_its_scene_and_never_needed(tmp_path, capsys, monkeypatch):
    """A file that was too large for the run is drawn where it is still there, else told; mechanics do without."""
    (tmp_path / "flap.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    look = "look: {shapes: {f: {type: mesh, file: flap.obj}}}"
    (tmp_path / "s.yaml").write_text(FALL.replace("[1, 1, 1]}", f"[1, 1, 1]}}, {look}"))
    assert simcli("run", "s.yaml", "-o", "out/a.h5", "-q", cwd=tmp_path).returncode == Exit.OK
    shutil.move(tmp_path / "flap.obj", tmp_path / "away.obj")
    monkeypatch.chdir(tmp_path / "out")
    assert command(capsys, "a.h5", "-o", "p.html")[0] == Exit.OK
    assert "mesh" in {item["kind"] for item in content_of("p.html")["drawings"][0]["items"]}  # out of the run
    shutil.move(tmp_path / "away.obj", tmp_path / "flap.obj")
    with h5py.File("a.h5", "r+") as file:
        file["provenance/file_bytes"][0] = -1
    for folder, is_drawn in ((tmp_path, True), (tmp_path / "out", False)):
        monkeypatch.chdir(folder)
        code, _, err = command(capsys, tmp_path / "out/a.h5", "-o", "p.html")
        assert code == Exit.OK, err
        assert ("mesh `ball/f` is not drawn: flap.obj" in err) != is_drawn
        assert ("mesh" in {item["kind"] for item in content_of("p.html")["drawings"][0]["items"]}) == is_drawn
    with open_trajectory("a.h5") as run:
        assert scene_of(run)[1].bodies["ball"].look.shapes["f"].file == "flap.obj"


# --- the program of the page


def test_the_bundle_was_made_of_the_sources():
    """Without node: its first line has the hash of what `npm run build` read. If this fails: page/README.md."""
    page = PAGE
    names = ["build.mjs", "package-lock.json", *sorted(f"source/{one.name}" for one in (page / "source").iterdir())]
    made = hashlib.sha256()
    for name in names:
        made.update(f"{name}\n".encode() + page.joinpath(name).read_bytes())
    first = page.joinpath("bundled/view.js").read_text(encoding="ascii").splitlines()[0]
    assert first.split()[3].rstrip(";") == made.hexdigest()
    assert "MIT" in page.joinpath("bundled/LICENSE-three.txt").read_text()


def test_the_bundle_ends_no_element_and_the_lock_names_no_host():
    page = PAGE
    bundle = page.joinpath("bundled/view.js").read_text(encoding="ascii").lower()
    assert "</script" not in bundle
    assert "<!--" not in bundle
    lock = json.loads(page.joinpath("package-lock.json").read_text())
    assert not [name for name, one in lock["packages"].items() if "resolved" in one]
    assert "http" not in page.joinpath("package-lock.json").read_text()
    assert lock["packages"]["node_modules/three"]["version"] == "0.187.0"


# --- a run that goes on


@pytest.fixture
def growing(tmp_path):
    """A recorder that goes on writing, and the server of its file."""
    model = tiny_model(n_worlds=2)
    axes = axes_of(model)
    source = collect_provenance([("scene.yaml", "simcli: 1")], "simcli: 1", "cpu", "float64", 0, argv=["simcli"])
    recorder = Recorder(tmp_path / "a.h5", model, source, CHANNELS, 2000, process=RecorderHere())
    with Server(tmp_path / "a.h5") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield recorder, server, lambda first, n: frames(selected(axes, CHANNELS), axes, first, n, ())
        server.shutdown()


def asked(address, data=None, **headers):
    """Status and text of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data, headers)) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_a_page_grows_with_its_run(growing):
    recorder, server, block = growing
    status, text = asked(server.address)
    assert (status, "No frame yet" in text) == (200, True)
    written = 0

    def write_until(n_frames):
        nonlocal written
        while recorder.n_committed < n_frames:
            recorder.put(block(written, 64))
            written += 64

    def times(chunks):
        return np.concatenate([np.frombuffer(base64.b64decode(chunk["time"]), "<f8") for chunk in chunks])

    write_until(1)
    page = json.loads(Parts(asked(server.address)[1]).scripts[0])
    held = len(times(page["chunks"]))
    assert page["live"]
    assert held == recorder.n_committed
    write_until(held + 1)
    news = json.loads(asked(f"{server.address}frames?from={held}")[1])
    np.testing.assert_allclose(times(news["chunks"]), 1e-2 * np.arange(held, recorder.n_committed))
    assert (news["status"], server.live.told_end) == ("running", False)
    recorder.close("done")
    last = json.loads(asked(f"{server.address}frames?from={held + len(times(news['chunks']))}")[1])
    assert (last["status"], server.live.told_end) == ("done", True)


def test_only_who_knows_the_word_reads_and_nobody_writes(growing):
    _, server, _ = growing
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.word) >= 32
    root = f"http://127.0.0.1:{server.server_port}/"
    wrong = server.word[:-1] + ("y" if server.word.endswith("x") else "x")
    for address in (root, f"{root}{wrong}/", f"{server.address}frames/../x", f"{root}{server.word}"):
        assert asked(address)[0] == 404
    assert asked(server.address, Host="example.org")[0] == 404  # a name of somebody else's that leads here
    assert asked(server.address, b"x")[0] == 501


def test_nobody_who_does_not_know_the_word_holds_up_the_end_of_a_run(growing):
    _, server, _ = growing
    assert asked(f"http://127.0.0.1:{server.server_port}/x/frames")[0] == 404
    assert server.last_request == -float("inf")
    assert asked(server.address)[0] == 200
    assert server.last_request > 0.0


def test_clients_that_go_away_leave_no_traceback(growing, capfd):
    recorder, server, block = growing
    recorder.put(block(0, 64))
    recorder.close("stopped")
    for text in (b"", b"GET ", f"GET /{server.word}/ HTTP/1.0\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode()):
        for _ in range(5):
            with socket.create_connection(server.server_address) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset, not closed
                client.sendall(text)
    assert asked(f"{server.address}frames?from={'9' * 5000}")[0] == 200
    assert capfd.readouterr().err == ""


def test_a_run_says_where_its_page_is_and_ends_with_it(tmp_path):
    (tmp_path / "s.yaml").write_text(FALL)
    done = simcli("run", tmp_path / "s.yaml", "-o", tmp_path / "s.h5", "--view", "-q")
    assert done.returncode == Exit.OK, done.stderr
    (address,) = re.findall(r"view: (http://127\.0\.0\.1:\d+/\S+/)", done.stderr)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address)


@pytest.mark.filterwarnings("error")
def test_curves_beyond_float32_are_gaps_and_no_warning():
    source = SimpleNamespace(name="energy.total", read=lambda frames, worlds: np.array([[[1e300]], [[-2.0]]]))
    (found,) = values_of([CurveGroup("Energy", "J", (Series("", source, 0),))], slice(None), [0])
    assert found.dtype == np.float32
    assert not np.isfinite(found[0, 0])
    assert found[1, 0] == -2.0
