"""`simcli sweep run` and `sweep status`: executors by option, events, signals, time that is up, exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.resources import files

import pytest
from support.process import simcli_apart, told_here
from support.sweep_cluster import GRACE, child_environment
from support.sweep_stand_in import SECONDS, number_of, table_of

from simcli.cli.sweeps.sweep_run import sweep_exit_code
from simcli.cli.sweeps.sweep_text import failure_lines, standing_line, summary_text
from simcli.errors import Exit
from simcli.sweeps.book.state import LedgerReader
from simcli.sweeps.standing import Standing, Summary

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
def scene(tmp_path):
    path = tmp_path / "swing.yaml"
    path.write_text(SCENE)
    return path


@pytest.fixture
def command(capsys):
    """A command in this process: its exit code, stdout and stderr."""

    def run(*words):
        return told_here(capsys, *words)

    return run


def start(scene, *words, seconds="0"):
    """The command with the stand-in, in chunks of four."""
    command = [sys.executable, "-m", "support.sweep_cli_child", "sweep", "run", str(scene), "-o", "night"]
    command += ["--max-worlds", "4"]
    return subprocess.Popen([*command, *words], cwd=scene.parent, env=child_environment(**{SECONDS: seconds}), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def ended(process):
    out, err = process.communicate(timeout=GRACE)
    assert "Traceback" not in err
    return process.returncode, out, err


def test_a_real_sweep_by_its_events(scene, tmp_path, command, monkeypatch):
    words = ("sweep", "run", scene, "-o", "night", "--workers", "2", "--max-worlds", "12")
    done = simcli_apart(*words, "--json", cwd=tmp_path)
    assert done.returncode == Exit.OK, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event["schema"] for event in events} == {"simcli.sweep.event/1"}
    names = [event["event"] for event in events]
    assert (names[0], names[-1], sorted(names[1:-1])) == ("begun", "ended", ["done", "done", "started", "started"])
    assert (events[-1]["n_done"], events[-1]["n_steps"], events[-1]["exit_code"]) == (N, 10 * N, 0)
    monkeypatch.chdir(tmp_path)
    code, out, err = command(*words)
    assert (code, out) == (Exit.OK, "")
    assert "24 of 24 cases done, 0 of them now" in err
    code, out, _ = command("sweep", "status", "night", "--json")
    found = json.loads(out)
    assert (found["n_cases"], found["n_done"], found["n_running"], found["failed"]) == (N, N, 0, {})
    assert [(row["executor"], row["cases"], row["n_steps"]) for row in found["rows"]] in (
        [("workers 2", N, 10 * N)], [("workers 1", N, 10 * N)])  # as many as the machine has cores
    assert command("sweep", "status", "night")[1].startswith("24 of 24 cases done, 0 running, 0 failed, 0 not begun\n")


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("name", "code"), [
    ("SIGUSR1", Exit.STOPPED), pytest.param("SIGTERM", Exit.STOPPED, marks=pytest.mark.slow),
    pytest.param("SIGINT", Exit.INTERRUPTED, marks=pytest.mark.slow)])  # fmt: skip
def test_a_signal_ends_a_shard_in_time_and_the_same_command_goes_on(scene, tmp_path, name, code):
    process = start(scene, "--shard", "1/2", seconds="0.2")
    end = time.monotonic() + GRACE
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
    assert ended(start(scene, "--shard", "1/2"))[0] == Exit.OK
    found = table_of(tmp_path / "night")
    assert found == {case: (number_of(case), "") for case in found}
    assert len(found) == N / 2


def test_a_walltime_that_is_too_short_says_to_go_on(scene, tmp_path):
    code, _, said = ended(start(scene, "--max-walltime", "1 s", "--workers", "1", seconds="100"))
    assert code == Exit.STOPPED
    assert "stopped: the walltime is up; the same command goes on" in said
    assert not table_of(tmp_path / "night")


def test_what_contradicts_itself_is_wrong_usage(scene, tmp_path, command, monkeypatch):
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
        code, out, err = command("sweep", "run", scene, "-o", "night", *words)
        assert (code, out) == (Exit.USAGE, ""), err
        assert hint in err
    assert command("sweep", "status", tmp_path)[0] == Exit.USAGE
    assert not (tmp_path / "night").exists()


def test_a_cluster_that_is_not_there_is_told(scene, tmp_path, command):
    pytest.importorskip("distributed")
    code, out, err = command("sweep", "run", scene, "-o", tmp_path / "night", "--cluster", "nosuch.json")
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
    (tmp_path / "simcli").write_text("#!/bin/bash\necho $@ > said\ntrap 'sleep 0.2; exit 75' USR1\n"
                                     "for k in $(seq 300); do [ -e go ] && exit 0; sleep 0.1; done\n")  # fmt: skip
    (tmp_path / "scontrol").write_text("#!/bin/bash\necho $@ > requeued\n")
    for name in ("simcli", "scontrol"):
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": "3",
           "SLURM_ARRAY_TASK_COUNT": "16", "SLURM_ARRAY_JOB_ID": "42"}  # fmt: skip
    process = subprocess.Popen(["bash", "-c", script], cwd=tmp_path, env=env)
    end = time.monotonic() + GRACE
    while not (tmp_path / "said").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.2)  # the trap stands
    for name in signals:
        process.send_signal(getattr(signal, name))
    if not signals:
        (tmp_path / "go").touch()
    assert process.wait(GRACE) == (75 if signals else 0)
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
    now = Standing("", {}, 10, 4, 1, 2, 12345.0, 90.0)
    assert standing_line(now) == "4 of 10 cases  2 running  1 failed  12.3 k world-steps/s  eta 1:30"
    assert now.fraction == 0.4
