"""`simcli run` as whole processes: exit codes, streams, files, Ctrl-C, replay of one world."""

import json
import os
import signal
import sys
import time

import numpy as np
import pytest
from support.process import simcli, start

import simcli as package
from simcli.errors import Exit

PENDULUM = """
simcli: 1
bodies:
  rod: {pose: {xyz: [0, 0, -0.5]}, mass: 1.0, inertia: {diag: [0.1, 0.1, 0.01]}, points: {tip: [0, 0, -0.5]}}
joints:
  pin: {type: revolute, parent: world, child: rod, at: [0, 0, 0], axis: [0, 1, 0], q: 0.3, qd: 0.0}
solver: {type: generalized, dt: 1.0e-3, integrator: rk4}
run: {duration: 0.2}
output: {every: 0.01}
"""
LONG = "run.duration=100000"
GRACE = 60.0  # [s] a child gets to react before the test gives up


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "swing.yaml"
    path.write_text(PENDULUM)
    return path


def wait_for_frames(path, process, count=3):
    """Wait until the file has committed some frames."""
    deadline = time.monotonic() + GRACE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with package.open(path) as trajectory:
                if trajectory.n_frames >= count:
                    return
        except (package.errors.SimcliError, OSError):
            pass
        time.sleep(0.1)
    process.kill()
    pytest.fail(f"no frames in time: {process.communicate()}")


def test_default_output_and_a_readable_end(scene, tmp_path):
    done = simcli("run", scene, cwd=tmp_path)
    assert done.returncode == Exit.OK, done.stderr
    assert done.stdout == ""
    assert "world-steps/s" in done.stderr
    assert (tmp_path / "outputs" / "swing.h5").exists()


def test_json_is_the_only_thing_on_stdout(scene, tmp_path):
    done = simcli("run", scene, "-o", "a.h5", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["schema"] == "simcli.run/1"
    assert document["exit_code"] == done.returncode == Exit.OK
    assert document["steps"] == 200
    assert document["frames"] == 21
    assert document["status"] == "done"


def test_finished_output_is_kept_unless_forced(scene, tmp_path):
    assert simcli("run", scene, "-o", "a.h5", "-q", cwd=tmp_path).returncode == Exit.OK
    before = (tmp_path / "a.h5").read_bytes()
    refused = simcli("run", scene, "-o", "a.h5", cwd=tmp_path)
    assert refused.returncode == Exit.OUTPUT
    assert "--force" in refused.stderr
    assert (tmp_path / "a.h5").read_bytes() == before
    assert simcli("run", scene, "-o", "a.h5", "-q", "--force", cwd=tmp_path).returncode == Exit.OK


def test_force_never_destroys_what_is_not_an_output(scene, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    assert simcli("run", scene, "-o", "thesis.txt", "--force", cwd=tmp_path).returncode == Exit.OUTPUT
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_overrides_are_checked_like_the_scene(scene, tmp_path):
    done = simcli("run", scene, "--set", "joints.pin.dampng=1", "--dt", "-1", cwd=tmp_path)
    assert done.returncode == Exit.SCENE
    assert "damping" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "outputs").exists()


def test_options_reach_the_scene(scene, tmp_path):
    done = simcli(
        "run", scene, "-o", "a.h5", "--duration", "0.1 s", "--dt", "2 ms", "--worlds", "3", "--seed", "5",
        "--precision", "float32", "--set", "output.every=0.02", "--vary", "joints.pin.q=uniform(0, 1)", "--json",
        cwd=tmp_path,
    )  # fmt: skip
    document = json.loads(done.stdout)
    assert (document["worlds"], document["steps"], document["frames"]) == (3, 50, 6)
    assert document["device"]["precision"] == "float32"
    with package.open(tmp_path / "a.h5") as trajectory:
        q = trajectory.joint("pin").q[:]
    assert len(set(q[0, :, 0])) == 3


def test_one_world_of_a_batch_gives_the_same_bytes(scene, tmp_path):
    batch = ["--worlds", "5", "--vary", "joints.pin.q=uniform(0, 1)", "--vary", "bodies.rod.mass=1,2"]
    assert simcli("run", scene, "-o", "all.h5", "-q", *batch, cwd=tmp_path).returncode == Exit.OK
    assert simcli("run", scene, "-o", "one.h5", "-q", *batch, "--world", "7", cwd=tmp_path).returncode == Exit.OK
    with package.open(tmp_path / "all.h5") as whole, package.open(tmp_path / "one.h5") as one:
        assert whole.n_worlds == 10
        assert one.n_worlds == 1
        np.testing.assert_array_equal(whole.joint("pin").q[:][:, 7], one.joint("pin").q[:][:, 0])
        np.testing.assert_array_equal(whole.body("rod").position[:][:, 7], one.body("rod").position[:][:, 0])
    outside = simcli("run", scene, "-o", "x.h5", *batch, "--world", "10", cwd=tmp_path)
    assert outside.returncode == Exit.USAGE


def test_dry_run_touches_nothing(scene, tmp_path):
    done = simcli("run", scene, "--worlds", "100", "--dry-run", "--json", cwd=tmp_path)
    assert done.returncode == Exit.OK
    document = json.loads(done.stdout)
    assert (document["dof"], document["worlds"], document["frames"]) == (1, 100, 21)
    assert document["file_bytes"] > 100 * 21 * 8
    assert not (tmp_path / "outputs").exists()


def test_estimated_file_size_is_near_the_real_one(scene, tmp_path):
    options = ["-o", "a.h5", "--worlds", "256", "--json"]
    estimated = json.loads(simcli("run", scene, "--dry-run", *options, cwd=tmp_path).stdout)["file_bytes"]
    real = json.loads(simcli("run", scene, *options, cwd=tmp_path).stdout)["file_bytes"]
    assert 0.5 < estimated / real < 2.0


def test_missing_device_is_exit_5(scene, tmp_path):
    done = simcli("run", scene, "--device", "metal", "--json", cwd=tmp_path)
    if sys.platform == "darwin":
        pytest.skip("Metal is here")
    assert done.returncode == Exit.DEVICE
    assert json.loads(done.stdout)["exit_code"] == Exit.DEVICE


def test_failed_expectation_is_exit_1_with_a_report(scene, tmp_path):
    expect = "expect=[{max: energy.drift, below: 1.0e-3}, {at: 0.1, joint: pin, quantity: q, equals: 5.0, within: 0.1}]"
    done = simcli("run", scene, "-o", "a.h5", "--set", expect, "--json", cwd=tmp_path)
    assert done.returncode == Exit.NEGATIVE
    good, bad = json.loads(done.stdout)["expectations"]
    assert good["passed"]
    assert not bad["passed"]
    assert bad["time"] == pytest.approx(0.1)
    assert bad["difference"] > 4.0
    assert "1 of 2 failed" in done.stderr


def test_expectation_between_frames_is_refused_before_the_run(scene, tmp_path):
    expect = "expect=[{at: 0.1234, joint: pin, quantity: q, equals: 5.0, within: 0.1}]"
    done = simcli("run", scene, "-o", "a.h5", "--set", expect, cwd=tmp_path)
    assert done.returncode == Exit.SCENE
    assert "0.12" in done.stderr
    assert not (tmp_path / "a.h5").exists()


def test_failed_world_is_named_and_the_others_go_on(scene, tmp_path):
    options = ["--vary", "joints.pin.qd=0,1.0e+250,0.5", "--json"]
    done = simcli("run", scene, "-o", "a.h5", *options, cwd=tmp_path)
    assert done.returncode == Exit.SIMULATION
    document = json.loads(done.stdout)
    assert document["status"] == "done"
    assert [failure["world"] for failure in document["failures"]] == [1]
    assert document["failures"][0]["code"].startswith("SC6")
    with package.open(tmp_path / "a.h5") as trajectory:
        q = trajectory.joint("pin").q[:]
    assert np.isfinite(q[:, [0, 2]]).all()
    assert np.isnan(q[-1, 1]).all()
    stopped = simcli("run", scene, "-o", "b.h5", *options, "--on-failure", "stop", cwd=tmp_path)
    assert stopped.returncode == Exit.SIMULATION
    assert json.loads(stopped.stdout)["status"] == "failed"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.STOPPED)])
def test_one_signal_stops_cleanly(scene, tmp_path, number, code):
    process = start("run", scene, "-o", "a.h5", "--set", LONG, "--json", cwd=tmp_path)
    wait_for_frames(tmp_path / "a.h5", process)
    process.send_signal(number)
    out, err = process.communicate(timeout=GRACE)
    assert process.returncode == code, err
    document = json.loads(out)
    assert document["status"] == "stopped"
    assert "Traceback" not in err
    with package.open(tmp_path / "a.h5") as trajectory:
        assert trajectory.status == "stopped"
        assert trajectory.n_frames == document["frames"] >= 3
        assert np.isfinite(trajectory.joint("pin").q[:]).all()


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_no_terminal_no_escape_codes(scene, tmp_path):
    done = simcli("run", scene, "-o", "a.h5", "-v", cwd=tmp_path)
    assert "\x1b[" not in done.stderr + done.stdout
