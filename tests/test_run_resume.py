"""Checkpoints and --resume: whatever stopped a run, it goes on to the bytes of an uninterrupted one, or says why not."""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.process import environment, recorder_of, run_here
from support.runs import MIXED, SWING, committed, differing, digest

import simcli as package
from simcli import pipeline
from simcli.errors import Exit, FileError, OutputError
from simcli.records import checkpoint
from simcli.records.hdf5_bytes import CHECKSUM_AT, FLAGS_AT, SUPERBLOCK_BYTES, lookup3
from simcli.spec.checks import solver_fields as capabilities
from simcli.spec.document.overrides import Override

GRACE = 120.0  # [s] until a child must have got somewhere
POLL = 0.01  # [s]
N_FRAMES = 320  # of the runs below: commits of 16 frames

# A loop, a stop, dry friction, a clamped drive: state beyond coordinates and rates.
LOOP = """
simcli: 1
bodies:
  crank: {pose: {xyz: [0.1, 0, 0]}, mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}}
  rod: {pose: {xyz: [0.4, 0, 0]}, mass: 1, inertia: {diag: [0.02, 0.02, 0.02]}}
  slider: {pose: {xyz: [0.6, 0, 0]}, mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}}
  flap: {pose: {xyz: [0, 1, -0.2]}, mass: 1, inertia: {diag: [0.05, 0.05, 0.05]}}
joints:
  pin: {type: revolute, parent: world, child: crank, at: [0, 0, 0], axis: [0, 1, 0], qd: 6, friction: 0.05}
  knee: {type: revolute, parent: crank, child: rod, at: [0.2, 0, 0], axis: [0, 1, 0]}
  wrist: {type: revolute, parent: rod, child: slider, at: [0.6, 0, 0], axis: [0, 1, 0]}
  rail: {type: prismatic, parent: world, child: slider, at: [0.6, 0, 0], axis: [1, 0, 0], loop: true}
  hinge:
    type: revolute
    parent: world
    child: flap
    at: [0, 1, 0]
    axis: [0, 1, 0]
    limit: [-0.3, 0.4]
    drive: {mode: position, target: 1.0, stiffness: 200, damping: 1, effort_limit: 4}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.06}
output: {every: 0.01}
"""

VARY = {"swing": "joints.pin.q=uniform(1, 2)", "mixed": "params.k=uniform(20, 60)", "loop": "joints.pin.qd=uniform(4, 7)"}
SCENES = {"swing": SWING, "mixed": MIXED, "loop": LOOP}
EVERY = 0.002  # [s] between frames


@pytest.fixture(autouse=True)
def _commits_often(monkeypatch):
    monkeypatch.setattr("simcli.records.writing.writer.PATIENCE_S", 0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes")
    for name, text in SCENES.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def request(folder, output, name="swing", worlds=5, sets=(), **more):
    channels = "[state, energy, reactions]"
    own = (
        f"run.duration={N_FRAMES * EVERY}",
        f"output.every={EVERY}",
        f"output.channels={channels}",
        f"batch.worlds={worlds}",
        *sets,
    )
    vary = (Override("--vary", VARY[name]),) if worlds > 1 else ()
    return pipeline.Request(folder / f"{name}.yaml", output, (*vary, *own), device="cpu", **more)


def run(asked, stop_after=None):
    """Execute; ask to stop once so many frames are there."""

    def watch(tick):
        return stop_after is None or tick.frames < stop_after

    return pipeline.execute(pipeline.prepare(asked), watch)


def stopped(asked, *after):
    """A run that is asked to stop after some numbers of frames, and goes on each time but the last."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("simcli.solvers.run.solver.CALL_SECONDS", 0.0)  # one frame a call: it sees the wish at once
        for k, frames in enumerate(after):
            outcome = run(replace(asked, resume=k > 0, checkpoint_every=0.0), frames)
            assert outcome.status == "stopped"
            assert frames <= outcome.n_frames < N_FRAMES
    return outcome


def same(path, whole):
    assert digest(path) == digest(whole)
    assert not differing(committed(path), committed(whole))


KINDS = [
    ("mixed", ()),
    ("swing", ("solver.precision=float32",)),
    *(pytest.param("loop", one, marks=pytest.mark.slow) for one in ((), ("solver.integrator=implicit",))),
]


@pytest.mark.parametrize(("name", "sets"), KINDS)
def test_stopped_runs_go_on_to_the_same_bytes(folder, tmp_path, name, sets):
    whole = run(request(folder, tmp_path / "whole.h5", name, sets=sets))
    assert whole.status == "done"
    asked = request(folder, tmp_path / "cut.h5", name, sets=sets)
    assert stopped(asked, 30, 150).first_frame >= 16
    outcome = run(replace(asked, resume=True))
    assert (outcome.status, outcome.n_frames, outcome.n_steps) == ("done", N_FRAMES + 1, whole.n_steps)
    assert 0 < outcome.first_frame < N_FRAMES
    assert outcome.first_frame % 16 == 0
    same(tmp_path / "cut.h5", tmp_path / "whole.h5")
    assert [path.name for path in tmp_path.iterdir() if "checkpoint" in path.name] == []


@pytest.mark.slow
def test_state_that_is_not_kept_would_show(folder, tmp_path, monkeypatch):
    """The test above can fail: a state that lacks one thing gives other bytes."""
    run(request(folder, tmp_path / "whole.h5", "loop"))
    stopped(request(folder, tmp_path / "cut.h5", "loop"), 100)
    kept = checkpoint.read_checkpoint

    def forgetful(path):
        found = kept(path)
        if found is not None:
            found.arrays["arena"] = np.where(np.arange(found.arrays["arena"].shape[1]) % 2, found.arrays["arena"], 0.0)
        return found

    monkeypatch.setattr(checkpoint, "read_checkpoint", forgetful)
    run(request(folder, tmp_path / "cut.h5", "loop", resume=True))
    assert digest(tmp_path / "cut.h5") != digest(tmp_path / "whole.h5")


@pytest.mark.slow  # test_run_determinism tells each of both
def test_one_world_of_a_batch_and_other_threads(folder, tmp_path):
    run(replace(request(folder, tmp_path / "whole.h5", worlds=9), worlds=(7,)))
    asked = replace(request(folder, tmp_path / "cut.h5", worlds=9, threads=1), worlds=(7,))
    stopped(asked, 40)
    run(replace(asked, resume=True, threads=2))
    same(tmp_path / "cut.h5", tmp_path / "whole.h5")
    stopped(replace(asked, force=True), 40)
    with pytest.raises(OutputError, match="holds world 7 of the batch, but this run is of world 6"):
        run(replace(asked, worlds=(6,), resume=True))


@pytest.mark.parametrize(("held", "asked"), [((1, 3), (1,)), ((1, 3), (0, 3)), ((1, 3), None), (None, (0, 1, 2))])
def test_a_finished_run_of_other_worlds_is_not_taken_for_the_one_that_is_asked_for(folder, tmp_path, held, asked):
    first = request(folder, tmp_path / "a.h5", worlds=4)
    run(replace(first, worlds=held))
    with pytest.raises(OutputError, match=r"holds world.* of the batch, but this run is of world.*; --restart begins anew"):
        run(replace(first, worlds=asked, resume=True))
    run(replace(first, worlds=held, resume=True))


def test_failed_worlds_stay_failed(folder, tmp_path):
    bad = ("batch.vary={forces.motor.value: {list: [0, 1.0e9, 0, 0, 1.0e9]}}", "solver.max_velocity=1.0e5")
    asked = request(folder, tmp_path / "cut.h5", worlds=1, sets=(*bad, "batch.worlds=5"))
    whole = run(replace(asked, output=tmp_path / "whole.h5"))
    assert [failure.world for failure in whole.failures] == [1, 4]
    stopped(asked, 100)
    outcome = run(replace(asked, resume=True))
    assert outcome.failures == whole.failures
    same(tmp_path / "cut.h5", tmp_path / "whole.h5")


def test_events_of_the_scene_come_once(folder, tmp_path, monkeypatch):
    """One before a checkpoint, one at its very step, one after it, in the midst of a frame."""
    monkeypatch.setattr(capabilities, "FIELD_RULES", tuple(row for row in capabilities.FIELD_RULES if row.path != "events"))
    switches = [{"at": at, "set": {"forces.motor.value": value}} for at, value in ((0.1, 0.5), (0.318, -0.4), (0.401, 0.2))]
    asked = request(folder, tmp_path / "cut.h5", sets=(f"events={json.dumps(switches)}",))
    run(replace(asked, output=tmp_path / "whole.h5"))
    assert stopped(asked, 159).n_steps == 318
    assert run(replace(asked, resume=True)).first_step == 318
    same(tmp_path / "cut.h5", tmp_path / "whole.h5")
    with package.open(tmp_path / "cut.h5") as trajectory:
        assert [event.step for event in trajectory.events] == [100, 318, 401]


def test_a_finished_run_is_left_alone(folder, tmp_path):
    asked = request(folder, tmp_path / "a.h5", sets=("expect=[{max: energy.drift, below: 1}]",), resume=True)
    first = run(asked)  # nothing to go on from: it begins
    before = (tmp_path / "a.h5").read_bytes()
    marked = bytearray(before)  # as of a run that was killed after it had said `done`
    marked[FLAGS_AT] = 5
    marked[CHECKSUM_AT:SUPERBLOCK_BYTES] = lookup3(bytes(marked[:CHECKSUM_AT])).to_bytes(4, "little")
    (tmp_path / "a.h5").write_bytes(marked)
    for leftover in ("a.h5.lock", "a.h5.checkpoint1", ".a.h5.checkpoint0.part", ".a.h5.4711.part"):
        (tmp_path / leftover).write_text("")
    again = run(asked)
    assert [path.name for path in tmp_path.iterdir()] == ["a.h5"]
    assert (tmp_path / "a.h5").read_bytes() == before
    assert (again.status, again.n_frames, again.n_steps) == (first.status, first.n_frames, first.n_steps)
    assert again.verdicts == first.verdicts
    assert len(again.verdicts) == 1
    assert again.stepping == 0.0


@pytest.mark.slow
def test_of_two_checkpoints_the_newest_whole_one_serves(folder, tmp_path):
    run(request(folder, tmp_path / "whole.h5"))
    asked = request(folder, tmp_path / "cut.h5")
    stopped(asked, 100, 200)
    kept = {path: path.read_bytes() for path in checkpoint.paths(tmp_path / "cut.h5")}
    cut = (tmp_path / "cut.h5").read_bytes()
    order = sorted(kept, key=lambda path: -checkpoint.read_checkpoint(path).n_frames)
    frames = [checkpoint.read_checkpoint(path).n_frames for path in order]
    assert frames[0] > frames[1]
    rng = random.Random(0)
    for damage in ("none", "flip", "short", "both"):
        (tmp_path / "cut.h5").write_bytes(cut)
        for path, data in kept.items():
            path.write_bytes(data)
        for path in order[: 2 if damage == "both" else 1]:
            data = bytearray(kept[path])
            data[rng.randrange(len(data) // 4, len(data) // 2)] ^= 0x10
            if damage != "none":
                path.write_bytes(data if damage != "short" else data[:-50])
        outcome = run(replace(asked, resume=True))
        assert outcome.first_frame == {"none": frames[0], "both": 0}.get(damage, frames[1])
        same(tmp_path / "cut.h5", tmp_path / "whole.h5")


def test_other_circumstances_are_refused(folder, tmp_path, monkeypatch):
    asked = request(folder, tmp_path / "cut.h5")
    stopped(asked, 100)
    before = (tmp_path / "cut.h5").read_bytes()
    with pytest.raises(OutputError, match="another scene, or of other options; --restart"):
        run(request(folder, tmp_path / "cut.h5", sets=("solver.integrator=implicit",), resume=True))
    with pytest.raises(OutputError, match="unfinished run; add --resume to continue it, --restart to begin anew"):
        run(asked)
    monkeypatch.setattr("simcli.release.code_digest", lambda: "other")
    with pytest.raises(OutputError, match="the code of simcli changed; --restart"):
        run(replace(asked, resume=True))
    assert (tmp_path / "cut.h5").read_bytes() == before
    monkeypatch.undo()
    assert run(replace(asked, force=True)).status == "done"
    assert not any(path.exists() for path in checkpoint.paths(tmp_path / "cut.h5"))


def test_checkpoints_of_another_file_are_not_used(folder, tmp_path):
    stopped(request(folder, tmp_path / "a.h5"), 100)
    stopped(request(folder, tmp_path / "b.h5"), 100)
    pairs = list(zip(checkpoint.paths(tmp_path / "a.h5"), checkpoint.paths(tmp_path / "b.h5"), strict=True))
    written = [(mine, other) for mine, other in pairs if other.exists()]  # the second place may still be free
    assert written
    for mine, _ in pairs:
        mine.unlink(missing_ok=True)
    for mine, other in written:
        shutil.copy(other, mine)
    assert run(request(folder, tmp_path / "a.h5", resume=True)).first_frame == 0


def test_a_damaged_row_is_found_before_a_run_goes_on(folder, tmp_path):
    asked = request(folder, tmp_path / "cut.h5")
    stopped(asked, 200)
    data = bytearray((tmp_path / "cut.h5").read_bytes())
    with package.open(tmp_path / "cut.h5") as trajectory:
        row = trajectory.column("frames/joint_q")[3].tobytes()
    data[data.index(row)] ^= 1
    (tmp_path / "cut.h5").write_bytes(data)
    with pytest.raises(FileError, match="checksum"):
        run(replace(asked, resume=True))


def test_a_full_disk_ends_checkpoints_but_not_the_run(folder, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    outcome = run(request(folder, tmp_path / "a.h5", checkpoint_every=0.0))
    assert outcome.status == "done"
    assert "no more checkpoints" in outcome.problem
    assert "No space left" in outcome.problem
    assert [path.name for path in tmp_path.iterdir()] == ["a.h5"]


def test_what_is_read_from_a_checkpoint_is_not_trusted(tmp_path):
    good = checkpoint.Checkpoint(16, 32, 3, {"a": np.arange(5.0)}, {"uuid": "x"})
    checkpoint.write(tmp_path / "good", good)
    found = checkpoint.read_checkpoint(tmp_path / "good")
    assert (found.n_frames, found.n_steps, found.n_events, found.facts) == (16, 32, 3, {"uuid": "x"})
    assert np.array_equal(found.arrays["a"], good.arrays["a"])
    facts = np.frombuffer(b'{"format": 1, "n_frames": 16, "n_steps": 32, "n_events": 3}', np.uint8)
    with (tmp_path / "pickled").open("wb") as stream:
        np.savez(stream, facts=facts, a=np.array([{}], object), allow_pickle=True)
    with (tmp_path / "packed").open("wb") as stream:
        np.savez_compressed(stream, facts=facts, a=np.zeros(1_000_000))
    (tmp_path / "text").write_text("hello")
    for name in ("pickled", "packed", "text", "none"):
        assert checkpoint.read_checkpoint(tmp_path / name) is None
    data = (tmp_path / "good").read_bytes()
    for place in range(0, len(data), 7):  # no bit of it makes another checkpoint, or an exception
        flipped = bytearray(data)
        flipped[place] ^= 4
        (tmp_path / "flipped").write_bytes(flipped)
        other = checkpoint.read_checkpoint(tmp_path / "flipped")
        assert other is None or (other.n_frames == 16 and np.array_equal(other.arrays["a"], good.arrays["a"]))


# The command line as it is, but committing as often as its chunks allow.
OFTEN = (
    "from simcli.records.writing import recorder_thread, writer\n"
    "writer.PATIENCE_S, recorder_thread.MOST_OF_THREAD = 0.0, MOST\nfrom simcli.cli import main\nmain()\n"
)
MANY = 12_000
WORDS = [
    "--worlds",
    "3",
    "--vary",
    "joints.pin.q=linspace(1, 2)",
    "--set",
    f"run.duration={MANY / 10}",
    "-q",
    "--set",
    "output.every=0.1",
]


def begin(folder, path, *more, has_thread=False):
    code = OFTEN.replace("MOST\n", "1e12\n" if has_thread else "0\n")
    words = ["run", folder / "swing.yaml", "-o", path, *WORDS, "--checkpoint-every", "0", *more]
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)], stderr=subprocess.PIPE, text=True, env=environment()
    )


@pytest.fixture(scope="module")
def uninterrupted(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "whole.h5"
    process = begin(folder, path)
    assert process.wait(GRACE) == Exit.OK, process.communicate()
    assert [one.name for one in path.parent.iterdir()] == ["whole.h5"]
    return path


def wait_for(path, process, part):
    """Wait until that part of the frames is committed and there is a checkpoint."""
    deadline = time.monotonic() + GRACE
    while process.poll() is None:
        try:
            with package.open(path) as trajectory:
                if trajectory.n_frames >= part * MANY and any(one.exists() for one in checkpoint.paths(path)):
                    return
        except (package.errors.SimcliError, OSError):
            pass
        assert time.monotonic() < deadline
        time.sleep(POLL)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_killed_again_and_again_it_ends_with_the_same_bytes(folder, tmp_path, uninterrupted):
    path = tmp_path / "cut.h5"
    for k, (part, victims) in enumerate(
        ((0.1, ["run"]), (0.3, ["recorder"]), (0.5, ["run", "recorder"]), (0.6, ["run"]), (0.7, ["thread"]))
    ):
        process = begin(folder, path, *(["--resume"] if k else []), has_thread=victims == ["thread"])
        wait_for(path, process, part)
        numbers = {"run": process.pid, "thread": process.pid}
        if victims != ["thread"]:
            numbers["recorder"] = recorder_of(process)
        for victim in victims:
            os.kill(numbers[victim], signal.SIGKILL)
        process.communicate()
        code = Exit.OUTPUT if victims == ["recorder"] else -signal.SIGKILL
        assert process.returncode == code, "the run ended before it could be killed"
    process = begin(folder, path, "--resume")
    _, err = process.communicate(timeout=GRACE)
    assert process.returncode == Exit.OK, err
    same(path, uninterrupted)
    assert [one.name for one in tmp_path.iterdir()] == ["cut.h5"]


@pytest.fixture
def command(capsys):
    def call(*words):
        code = run_here(*words)
        return SimpleNamespace(returncode=code, stderr=capsys.readouterr().err)

    return call


def test_options_that_contradict_or_mean_nothing(folder, command):
    scene = folder / "swing.yaml"
    for words in (
        ["--resume", "--force"],
        ["--resume", "--restart"],
        ["--checkpoint-every", "soon"],
        ["--checkpoint-every", "-1"],
        ["--checkpoint-every", "3 kg"],
    ):
        done = command("run", scene, *words)
        assert done.returncode == Exit.USAGE
        assert words[0] in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.STOPPED)])
def test_the_same_command_goes_on_after_a_signal(folder, tmp_path, command, uninterrupted, number, code):
    path = tmp_path / "cut.h5"
    process = begin(folder, path)
    wait_for(path, process, 0.2)
    process.send_signal(number)
    _, err = process.communicate(timeout=GRACE)
    assert process.returncode == code, err
    assert "--resume" in err
    words = ["run", folder / "swing.yaml", "-o", path, *WORDS, "--resume" if number == signal.SIGTERM else "--restart"]
    assert command(*words).returncode == Exit.OK
    same(path, uninterrupted)
