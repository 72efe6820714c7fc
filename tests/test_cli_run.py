"""`simcli run` as whole processes: exit codes, streams, files, Ctrl-C, replay of one world.

`simcli sweep run` and `sweep status`: executors by option, events, signals, time that is up, exit codes.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.process import environment, simcli, simcli_apart, start, told_here
from support.sweep_cluster import GRACE as SWEEP_GRACE
from support.sweep_cluster import child_environment
from support.sweep_stand_in import SECONDS, number_of, table_of

import simcli as package
from simcli import engines
from simcli.cli import process as cli_process
from simcli.cli.scenes import doctor
from simcli.cli.sweeps.sweep import failure_lines, progress_line, summary_text
from simcli.cli.sweeps.sweep_run import sweep_exit_code
from simcli.engines import KERNEL_ENGINES, SUPPORT, engine_of_process
from simcli.errors import Exit, UsageError
from simcli.sweeps.records.state import LedgerReader
from simcli.sweeps.status import Summary, SweepProgress

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


@pytest.fixture
def command(here, capfd):
    """Run a command in this process, which has loaded everything already; same door, same streams."""

    def run(*words):
        words = [str(word) for word in words]
        code = cli_process.run_command(words, debug=False, as_json="--json" in words)
        said = capfd.readouterr()
        return SimpleNamespace(returncode=code, stdout=said.out, stderr=said.err)

    return run


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
    done = simcli_apart("run", scene, cwd=tmp_path)
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


def test_finished_output_is_kept_unless_forced(scene, here, command):
    assert command("run", scene, "-o", "a.h5", "-q").returncode == Exit.OK
    before = (here / "a.h5").read_bytes()
    refused = command("run", scene, "-o", "a.h5")
    assert refused.returncode == Exit.OUTPUT
    assert "--force" in refused.stderr
    assert (here / "a.h5").read_bytes() == before
    assert command("run", scene, "-o", "a.h5", "-q", "--force").returncode == Exit.OK


def test_force_never_destroys_what_is_not_an_output(scene, here, command):
    (here / "thesis.h5").write_text("mine")
    assert command("run", scene, "-o", "thesis.h5", "--force").returncode == Exit.OUTPUT
    assert (here / "thesis.h5").read_text() == "mine"


def test_overrides_are_checked_like_the_scene(scene, here, command):
    done = command("run", scene, "--set", "joints.pin.dampng=1", "--dt", "-1")
    assert done.returncode == Exit.SCENE
    assert "damping" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (here / "outputs").exists()


def test_options_reach_the_scene(scene, here, command):
    done = command(
        "run",
        scene,
        "-o",
        "a.h5",
        "--duration",
        "0.1 s",
        "--dt",
        "2 ms",
        "--worlds",
        "3",
        "--seed",
        "5",
        "--precision",
        "float32",
        "--set",
        "output.every=0.02",
        "--vary",
        "joints.pin.q=uniform(0, 1)",
        "--json",
    )
    document = json.loads(done.stdout)
    assert (document["worlds"], document["steps"], document["frames"]) == (3, 50, 6)
    assert document["device"]["precision"] == "float32"
    with package.open(here / "a.h5") as trajectory:
        q = trajectory.joint("pin").q[:]
    assert len(set(q[0, :, 0])) == 3


def test_one_world_of_a_batch_gives_the_same_bytes(scene, here, command):
    batch = ["--worlds", "5", "--vary", "joints.pin.q=uniform(0, 1)", "--vary", "bodies.rod.mass=1,2"]
    assert command("run", scene, "-o", "all.h5", "-q", *batch).returncode == Exit.OK
    assert command("run", scene, "-o", "one.h5", "-q", *batch, "--world", "7").returncode == Exit.OK
    with package.open(here / "all.h5") as whole, package.open(here / "one.h5") as one:
        assert whole.n_worlds == 10
        assert one.n_worlds == 1
        np.testing.assert_array_equal(whole.joint("pin").q[:][:, 7], one.joint("pin").q[:][:, 0])
        np.testing.assert_array_equal(whole.body("rod").position[:][:, 7], one.body("rod").position[:][:, 0])
    outside = command("run", scene, "-o", "x.h5", *batch, "--world", "10")
    assert outside.returncode == Exit.USAGE


def test_dry_run_touches_nothing(scene, here, command):
    done = command("run", scene, "--worlds", "100", "--dry-run", "--json")
    assert done.returncode == Exit.OK
    document = json.loads(done.stdout)
    assert (document["dof"], document["worlds"], document["frames"]) == (1, 100, 21)
    assert document["file_bytes"] > 100 * 21 * 8
    assert not (here / "outputs").exists()
    assert 0.0 < json.loads(done.stdout)["preparation_seconds"] < 60.0


@pytest.mark.parametrize("n_worlds", [1, 256])
def test_estimated_file_size_is_near_the_real_one(scene, command, n_worlds):
    net = "".join(f"v {k / 1000} {k % 100} 0\nf 1 2 {k + 3}\n" for k in range(100_000))
    scene.with_name("net.obj").write_text(f"v 0 0 0\nv 1 0 0\n{net}")  # which the file keeps
    look = "--set", "bodies.rod.look={shapes: {net: {type: mesh, file: net.obj}}}"
    options = ["-o", "a.h5", "--worlds", str(n_worlds), *look, "--json"]
    estimated = json.loads(command("run", scene, "--dry-run", *options).stdout)["file_bytes"]
    real = json.loads(command("run", scene, *options).stdout)["file_bytes"]
    assert 0.5 < estimated / real < 2.0


def test_missing_device_is_exit_5(scene, command):
    done = command("run", scene, "--device", "metal", "--json")
    if sys.platform == "darwin":
        pytest.skip("Metal is here")
    assert done.returncode == Exit.DEVICE
    assert json.loads(done.stdout)["exit_code"] == Exit.DEVICE


def test_failed_expectation_is_exit_1_with_a_report(scene, command):
    expect = "expect=[{max: energy.drift, below: 1.0e-3}, {at: 0.1, joint: pin, quantity: q, equals: 5.0, within: 0.1}]"
    done = command("run", scene, "-o", "a.h5", "--set", expect, "--json")
    assert done.returncode == Exit.NEGATIVE
    good, bad = json.loads(done.stdout)["expectations"]
    assert good["passed"]
    assert not bad["passed"]
    assert bad["time"] == pytest.approx(0.1)
    assert bad["difference"] > 4.0
    assert "1 of 2 failed" in done.stderr


def test_expectation_between_frames_is_refused_before_the_run(scene, here, command):
    expect = "expect=[{at: 0.1234, joint: pin, quantity: q, equals: 5.0, within: 0.1}]"
    done = command("run", scene, "-o", "a.h5", "--set", expect)
    assert done.returncode == Exit.SCENE
    assert "0.12" in done.stderr
    assert not (here / "a.h5").exists()


def test_failed_world_is_named_and_the_others_go_on(scene, here, command):
    options = ["--vary", "joints.pin.qd=0,1.0e+250,0.5", "--json"]
    done = command("run", scene, "-o", "a.h5", *options)
    assert done.returncode == Exit.SIMULATION
    document = json.loads(done.stdout)
    assert document["status"] == "done"
    assert [failure["world"] for failure in document["failures"]] == [1]
    assert document["failures"][0]["code"].startswith("SC6")
    with package.open(here / "a.h5") as trajectory:
        q = trajectory.joint("pin").q[:]
    assert np.isfinite(q[:, [0, 2]]).all()
    assert np.isnan(q[-1, 1]).all()
    stopped = command("run", scene, "-o", "b.h5", *options, "--on-failure", "stop")
    assert stopped.returncode == Exit.SIMULATION
    assert json.loads(stopped.stdout)["status"] == "failed"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, Exit.INTERRUPTED),
        (signal.SIGUSR1, Exit.STOPPED),
        pytest.param(signal.SIGTERM, Exit.STOPPED, marks=pytest.mark.slow),
    ],
)
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
    done = simcli_apart("run", scene, "-o", "a.h5", "-v", cwd=tmp_path)
    assert "\x1b[" not in done.stderr + done.stdout


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_second_signal_ends_at_once_and_the_file_opens(scene, tmp_path):
    process = start("run", scene, "-o", "a.h5", "--set", LONG, "--worlds", "20000", "--force", cwd=tmp_path)
    wait_for_frames(tmp_path / "a.h5", process, count=1)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=GRACE)
    assert process.returncode == Exit.INTERRUPTED
    with package.open(tmp_path / "a.h5") as trajectory:
        assert trajectory.n_frames >= 1
        assert np.isfinite(trajectory.joint("pin").q[-1]).all()


def test_plot_and_export_of_a_run(scene, here, command):
    assert command("run", scene, "-o", "a.h5", "-q", "--worlds", "3").returncode == Exit.OK
    table = command("export", "a.h5", "-c", "joint.pin.q,energy.total", "--every", "10", "--world", "0-1")
    assert table.stdout.splitlines()[0] == "time [s],world,joint.pin.q [rad],energy.total [J]"
    assert len(table.stdout.splitlines()) == 1 + 3 * 2
    done = command("export", "a.h5", "-o", "a.csv", "--json")
    assert json.loads(done.stdout)["rows"] == 21
    assert (here / "a.csv").read_text().startswith("time [s],joint.pin.q [rad]")
    for name in ("a.parqet", "a.json", "a.h5", "table"):
        refused = command("export", "a.h5", "-o", name)
        assert refused.returncode == Exit.USAGE
        assert "write a name that ends in .csv" in refused.stderr
        assert name == "a.h5" or not (here / name).exists()
    pytest.importorskip("matplotlib")
    done = command("plot", "a.h5", "-c", "point.rod/tip.position", "--world", "0,2", "-o", "b.png", "--json")
    assert json.loads(done.stdout)["channels"] == ["point.rod/tip.position"]
    assert (here / "b.png").stat().st_size > 1000
    wrong = command("plot", "a.h5", "-c", "joint.pn.q")
    assert wrong.returncode == Exit.USAGE
    assert "did you mean `joint.pin.q`" in wrong.stderr


def test_info_of_a_run_names_command_and_parameters(scene, command, monkeypatch):
    words = ["run", str(scene), "-o", "a.h5", "-q", "--vary", "bodies.rod.mass=linspace(1, 2)", "--worlds", "2"]
    monkeypatch.setattr(sys, "argv", ["/somewhere/simcli", *words])
    assert command(*words).returncode == Exit.OK
    found = json.loads(command("info", "a.h5", "--json").stdout)
    assert found["worlds"] == 2
    assert found["params"] == ["bodies.rod.mass"]
    assert found["provenance"]["argv"] == ["simcli", *words]
    assert found["provenance"]["scene_files"] == ["swing.yaml"]
    (line,) = (line for line in command("info", "a.h5").stdout.splitlines() if line.startswith("command"))
    assert shlex.split(line)[1:] == ["simcli", *words]  # as one types it


def test_doctor_runs_a_scene(command):
    done = command("doctor", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == Exit.OK, document
    lines = {line["name"]: line for line in document["lines"]}
    assert lines["self-run"]["state"] == "ok"
    assert lines["device cpu"]["state"] == "ok"
    assert (lines["engine"]["state"], lines["engine"]["text"].split()[0]) == ("ok", engine_of_process().title)
    assert sum(line["name"] == "system" for line in document["lines"]) == len(SUPPORT)


def test_a_file_that_does_not_fit_is_refused_before_the_run(tmp_path, monkeypatch):
    from simcli import pipeline
    from simcli.analysis import estimate
    from simcli.errors import OutputError

    scene = tmp_path / "swing.yaml"
    scene.write_text((Path(pipeline.__file__).parents[1] / "docs/templates/pendulum.yaml").read_text())
    job = pipeline.prepare(pipeline.Request(scene, tmp_path / "out.h5"))
    pipeline.claim_space(job)
    monkeypatch.setattr(estimate, "free_bytes", lambda path: 1000)
    with pytest.raises(OutputError, match="are free there"):
        pipeline.claim_space(job)


@pytest.mark.parametrize(
    ("name", "there", "said"),
    [
        ("tachi", "taichi quadrants", "SIMCLI_ENGINE=tachi: no such engine; choose taichi or quadrants"),
        ("quadrants", "taichi", "quadrants is not installed for this Python; .*pip install quadrants=="),
        ("", "", "neither taichi nor quadrants is installed for this Python .*pip install taichi=="),
    ],
)
def test_an_engine_that_cannot_be_had_is_refused_with_what_to_do(monkeypatch, name, there, said):
    monkeypatch.setenv(engines.ENGINE_VARIABLE, name)
    monkeypatch.setattr(engines, "find_spec", lambda package: package in there.split())
    with pytest.raises(UsageError, match=said):
        engine_of_process.__wrapped__()


@pytest.mark.parametrize(
    ("name", "there", "found"),
    [("quadrants", "taichi quadrants", "quadrants"), ("", "quadrants", "quadrants"), ("", "taichi quadrants", "taichi")],
)
def test_the_engine_is_the_one_that_is_named_or_the_first_that_is_there(monkeypatch, name, there, found):
    monkeypatch.setenv(engines.ENGINE_VARIABLE, name)
    monkeypatch.setattr(engines, "find_spec", lambda package: package in there.split())
    assert engine_of_process.__wrapped__().package == found


def test_windows_is_refused_by_name(scene, monkeypatch, capfd):
    """In the first line; what needs no engine works. What a recorder is told is read without MAP_SHARED."""
    with monkeypatch.context() as patch:
        patch.setattr(engines.sys, "platform", "win32")
        code, _, said = told_here(capfd, "run", scene, "-o", scene.with_name("no.h5"))
        assert (code, said.splitlines()[0].partition(",")[0]) == (
            Exit.DEVICE,
            "error: simcli runs scenes on Linux and macOS",
        )
        assert told_here(capfd, "check", scene)[0] == Exit.OK
    code = "import mmap\ndel mmap.MAP_SHARED, mmap.MAP_PRIVATE\nimport simcli.records.writing.messages, simcli.pipeline"
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True, timeout=GRACE)


ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["README.md", "simcli/docs/devices.md"])
def test_pages_have_the_table_of_systems(page):
    how = {True: "tested", False: "only read"}
    titles = {name: each.title for name, each in KERNEL_ENGINES.items()}
    rows = [f"| {one.system} | {one.pythons} | {titles[one.package]} | {how[one.is_tested]} |" for one in SUPPORT]
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "\n".join(["| system | Python | engine | |", "|---|---|---|---|", *rows, ""]) in text


def test_an_installation_brings_the_engine_of_the_table():
    """One on each system that is supported, and none on Windows."""
    requirements = pytest.importorskip("packaging.requirements")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [one for one in map(requirements.Requirement, project["dependencies"]) if one.name in KERNEL_ENGINES]
    machines = {"Linux": "linux", "macOS": "darwin", "x86-64": "x86_64"}

    def brought(platform, machine, minor):
        where = {"sys_platform": platform, "platform_machine": machine, "python_version": f"3.{minor}"}
        return [one.name for one in wanted if one.marker.evaluate(where)]

    for one in SUPPORT:
        platform, machine = (machines.get(word, word) for word in one.system.split())
        first, _, last = one.pythons.partition(" to ")
        for minor in range(int(first[2:]), int((last or first)[2:]) + 1):
            assert brought(platform, machine, minor) == [one.package], (one, minor)
    assert [brought("win32", "AMD64", minor) for minor in range(11, 15)] == [[]] * 4


def test_doctor_looks_at_all_that_an_installation_can_bring():
    """The packages of all extras, and those that are always there; the engines' versions in messages."""
    requirements = pytest.importorskip("packaging.requirements")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [requirements.Requirement(one) for one in project["dependencies"]]
    assert {one.name for one in needed} == {*doctor.NEEDED, *KERNEL_ENGINES}
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name not in ("all", "test")}
    brought = {requirements.Requirement(one).name for wanted in extras.values() for one in wanted}
    assert brought == {*doctor.OPTIONAL, "quadrants"} - {"pin"}
    for one in needed:
        assert one.name not in KERNEL_ENGINES or f"pip install {one.name}{one.specifier}" in KERNEL_ENGINES[one.name].remedy


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
@pytest.mark.parametrize("limit_kb", [200_000, 400_000])  # its library is not read; it is, and does not start
def test_a_memory_limit_that_taichi_cannot_live_with_is_named(scene, tmp_path, limit_kb):
    words = f"ulimit -v {limit_kb}; exec {sys.executable} -m simcli run {scene} -o a.h5"
    done = subprocess.run(
        ["bash", "-c", words], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=GRACE
    )
    assert done.returncode == Exit.DEVICE, done.stderr
    assert f"SC715: {engine_of_process().title} does not start within the memory limit of this process" in done.stderr
    assert not (tmp_path / "a.h5").exists()


SCENE = """
simcli: 1
bodies:
  rod: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
joints:
  pin: {type: revolute, parent: world, child: rod, child_frame: {xyz: [0, 0, 0.5]}, q: 0.5}
solver: {type: generalized, dt: 1e-2}
run: {duration: 0.1}
batch: {worlds: 24, vary: {joints.pin.q: {uniform: [0.1, 1]}}}
measure:
  peak: {max_abs: joint.pin.qd}
"""
N = 24


@pytest.fixture
def scene_of_sweep(tmp_path):
    path = tmp_path / "swing.yaml"
    path.write_text(SCENE)
    return path


@pytest.fixture
def command_of_sweep(capsys):
    """A command in this process: its exit code, stdout and stderr."""

    def run(*words):
        return told_here(capsys, *words)

    return run


def start_of_sweep(scene, *words, seconds="0"):
    """The command with the stand-in, in chunks of four."""
    command = [sys.executable, "-m", "support.sweep_cli_child", "sweep", "run", str(scene), "-o", "night"]
    command += ["--max-worlds", "4"]
    return subprocess.Popen(
        [*command, *words],
        cwd=scene.parent,
        env=child_environment(**{SECONDS: seconds}),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process):
    out, err = process.communicate(timeout=SWEEP_GRACE)
    assert "Traceback" not in err
    return process.returncode, out, err


def test_a_real_sweep_by_its_events(scene_of_sweep, tmp_path, command_of_sweep, monkeypatch):
    words = ("sweep", "run", scene_of_sweep, "-o", "night", "--workers", "2", "--max-worlds", "12")
    done = simcli_apart(*words, "--json", cwd=tmp_path)
    assert done.returncode == Exit.OK, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event["schema"] for event in events} == {"simcli.sweep.event/1"}
    names = [event["event"] for event in events]
    assert (names[0], names[-1], sorted(names[1:-1])) == ("begun", "ended", ["done", "done", "started", "started"])
    assert (events[-1]["n_done"], events[-1]["n_steps"], events[-1]["exit_code"]) == (N, 10 * N, 0)
    monkeypatch.chdir(tmp_path)
    code, out, err = command_of_sweep(*words)
    assert (code, out) == (Exit.OK, "")
    assert "24 of 24 cases done, 0 of them now" in err
    code, out, _ = command_of_sweep("sweep", "status", "night", "--json")
    found = json.loads(out)
    assert (found["n_cases"], found["n_done"], found["n_running"], found["failed"]) == (N, N, 0, {})
    assert [(row["executor"], row["cases"], row["n_steps"]) for row in found["rows"]] in (
        [("workers 2", N, 10 * N)],
        [("workers 1", N, 10 * N)],
    )  # as many as the machine has cores
    assert command_of_sweep("sweep", "status", "night")[1].startswith(
        "24 of 24 cases done, 0 running, 0 failed, 0 not begun\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SIGUSR1", Exit.STOPPED),
        pytest.param("SIGTERM", Exit.STOPPED, marks=pytest.mark.slow),
        pytest.param("SIGINT", Exit.INTERRUPTED, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_shard_in_time_and_the_same_command_goes_on(scene_of_sweep, tmp_path, name, code):
    process = start_of_sweep(scene_of_sweep, "--shard", "1/2", seconds="0.2")
    end = time.monotonic() + SWEEP_GRACE
    while not LedgerReader(tmp_path / "night").read().results:
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(getattr(signal, name))
    returned, _, said = ended(process)
    state = LedgerReader(tmp_path / "night").read()
    assert (returned, bool(state.open)) == (code, False)
    assert 0 < len(state.results) < N / 2
    assert "the same command goes on" in said
    assert ended(start_of_sweep(scene_of_sweep, "--shard", "1/2"))[0] == Exit.OK
    found = table_of(tmp_path / "night")
    assert found == {case: (number_of(case), "") for case in found}
    assert len(found) == N / 2


def test_a_walltime_that_is_too_short_says_to_go_on(scene_of_sweep, tmp_path):
    code, _, said = ended(start_of_sweep(scene_of_sweep, "--max-walltime", "1 s", "--workers", "1", seconds="100"))
    assert code == Exit.STOPPED
    assert "stopped: the walltime is up; the same command goes on" in said
    assert not table_of(tmp_path / "night")


def test_what_contradicts_itself_is_wrong_usage(scene_of_sweep, tmp_path, command_of_sweep, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words, hint in {
        ("--cluster", "tcp://a:1", "--workers", "2"): "--cluster and --workers contradict",
        ("--cluster", "tcp://a:1", "--shard", "1/2"): "--cluster and --shard contradict",
        ("--fetch",): "--fetch goes with --cluster",
        ("--cluster", ""): "--cluster: names no cluster",
        ("--patience", "3 s"): "--patience goes with --cluster",
        ("--shard", "3/2"): "write I/N",
        ("--keep", "some"): "write all, failed or none",
    }.items():
        code, out, err = command_of_sweep("sweep", "run", scene_of_sweep, "-o", "night", *words)
        assert (code, out) == (Exit.USAGE, ""), err
        assert hint in err
    assert command_of_sweep("sweep", "status", tmp_path)[0] == Exit.USAGE
    assert not (tmp_path / "night").exists()


def test_a_cluster_that_is_not_there_is_told(scene_of_sweep, tmp_path, command_of_sweep):
    pytest.importorskip("distributed")
    code, out, err = command_of_sweep("sweep", "run", scene_of_sweep, "-o", tmp_path / "night", "--cluster", "nosuch.json")
    assert (code, out) == (Exit.DEVICE, "")
    assert "nosuch.json: no cluster there: no such scheduler file; `dask scheduler` starts one" in err


def test_the_exit_code_says_what_is_to_be_done():
    assert sweep_exit_code(Summary("done"), None) == Exit.OK
    assert sweep_exit_code(Summary("done"), Exit.STOPPED) == Exit.OK  # it came too late
    assert sweep_exit_code(Summary("done", failed={"a": "nan"}), None) == Exit.SIMULATION
    assert sweep_exit_code(Summary("stopped", failed={"a": "nan"}), None) == Exit.STOPPED
    assert sweep_exit_code(Summary("stopped"), Exit.INTERRUPTED) == Exit.INTERRUPTED


@pytest.mark.skipif(os.name == "nt", reason="a shell")
@pytest.mark.parametrize("signals", [[], ["SIGUSR1"]], ids=["ends", "requeued"])
def test_the_script_of_the_page_works(tmp_path, signals):
    """The job script as it is printed, with a simcli that knows two things, and an scontrol that notes what it is asked."""
    page = files("simcli").joinpath("docs/sweep-machines.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```bash\n(#!/bin/bash\n.*?)```", page, re.DOTALL)
    (tmp_path / "simcli").write_text(
        "#!/bin/bash\necho $@ > said\ntrap 'sleep 0.2; exit 75' USR1\n"
        "for k in $(seq 300); do [ -e go ] && exit 0; sleep 0.1; done\n"
    )
    (tmp_path / "scontrol").write_text("#!/bin/bash\necho $@ > requeued\n")
    for name in ("simcli", "scontrol"):
        (tmp_path / name).chmod(0o755)
    env = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SLURM_ARRAY_TASK_ID": "3",
        "SLURM_ARRAY_TASK_COUNT": "16",
        "SLURM_ARRAY_JOB_ID": "42",
    }
    process = subprocess.Popen(["bash", "-c", script], cwd=tmp_path, env=env)
    end = time.monotonic() + SWEEP_GRACE
    while not (tmp_path / "said").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.2)  # the trap stands
    for name in signals:
        process.send_signal(getattr(signal, name))
    if not signals:
        (tmp_path / "go").touch()
    assert process.wait(SWEEP_GRACE) == (75 if signals else 0)
    assert (tmp_path / "said").read_text() == "sweep run sweep.yaml -o night --shard 3/16\n"
    assert (tmp_path / "requeued").exists() == bool(signals)
    if signals:
        assert (tmp_path / "requeued").read_text() == "requeue 42_3\n"


def test_words_for_people(tmp_path):
    failed = {f"c{k}": f"reason {k % 7}" for k in range(20)}
    lines = failure_lines(failed)
    assert lines[0] == "20 cases failed:"
    assert lines[1] == "  3 cases: reason 0"
    assert lines[-1] == "  and 2 reasons more"
    text = summary_text(Summary("stopped", 9, 4, 1, {}, 7, 65.0, "no workers"), tmp_path)
    assert text == "4 of 9 cases done, 3 of them now, in 1:05\nstopped: no workers; the same command goes on"
    now = SweepProgress("", {}, 10, 4, 1, 2, 12345.0, 90.0)
    assert progress_line(now) == "4 of 10 cases  2 running  1 failed  12.3 k world-steps/s  eta 1:30"
    assert now.fraction == 0.4
