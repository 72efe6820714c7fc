"""`simcli bench`, and other engines beside it: the same work, the same results. Budget: 15 s."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.process import TIMEOUT, environment

from simcli import pipeline
from simcli.cli import doorman
from simcli.cli.bench import scenes as bench_scenes
from simcli.cli.bench import threads as bench_threads
from simcli.errors import Exit

PEERS = Path(__file__).with_name("benchmarks") / "peers.py"
ROUNDING = 1e-12  # [rad] after 20 steps, and of efforts beside the largest one
WORDS = ["--worlds", "3", "--duration", "0.02", "--repeat", "1"]


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """Two hinges."""
    return next(bench_scenes.chains(tmp_path_factory.mktemp("bench")))[0]


@pytest.mark.parametrize(("task", "steps"), [("run", 20), ("rnea", 1)])
def test_bench_times_our_side(chain, capfd, task, steps):
    words = ["bench", str(chain), "--task", task, *WORDS, "--json"]
    assert doorman.run_command(words, debug=True, as_json=True) == Exit.OK
    (row,) = json.loads(capfd.readouterr().out)["rows"]
    assert (row["scene"], row["task"], row["worlds"], row["steps"]) == ("chain2", task, 3, steps)
    assert row["per_second"] == pytest.approx(1e6 / row["microseconds"])
    assert "ratio" not in row


def test_what_threads_gain_is_told(chain, capfd, monkeypatch):
    """Runs are longer for it, whatever a short one takes; cores are given back."""
    monkeypatch.setattr(bench_threads, "_LEAST", 0.05)
    before = bench_threads.allowed_cores()
    words = ["bench", str(chain), *WORDS, "--repeat", "1", "--threads", "2"]
    assert doorman.run_command(words, debug=True, as_json=False) == Exit.OK
    said = r"chain2: 2 threads .* do \d+\.\d\d times the work .* without frames, \d+\.\d\d times with"
    assert re.search(said, capfd.readouterr().out)
    assert bench_threads.allowed_cores() == before


@pytest.mark.skipif(len(bench_threads.allowed_cores()) < 2, reason="no system that binds processes, or one core")
def test_one_core_is_one_for_all_threads_and_children():
    ask = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
    with bench_threads.cores_for(1):
        assert {len(os.sched_getaffinity(int(each.name))) for each in Path("/proc/self/task").iterdir()} == {1}
        assert subprocess.check_output(ask, text=True) == "1\n"


def test_the_table_is_followed_by_where_the_peers_are(chain, capfd):
    assert doorman.run_command(["bench", str(chain), "--task", "rnea", *WORDS], debug=True, as_json=False) == Exit.OK
    said = capfd.readouterr()
    assert said.out.split("\n")[1].startswith("chain2")
    assert f"python {PEERS.relative_to(Path(__file__).parents[1])}" in said.err


@pytest.mark.parametrize(("task", "peer"), [("run", "mujoco"), ("rnea", "pinocchio")])
def test_peers_come_to_the_same_and_have_a_line_below_ours(chain, task, peer):
    pytest.importorskip(peer)
    words = [sys.executable, str(PEERS), str(chain), "--task", task, *WORDS]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=TIMEOUT, check=True)
    head, ours, theirs = done.stdout.splitlines()
    assert head.split()[-2:] == ["ratio", "difference"]
    assert (ours.split()[1], theirs.split()[1]) == ("simcli", peer)
    ratio, difference = map(float, ours.split()[-2:])
    assert ratio >= 0
    assert difference < ROUNDING


def test_a_scene_without_a_peer_is_timed_and_says_so(chain, tmp_path):
    scene = tmp_path / "pulled.yaml"
    scene.write_text(chain.read_text() + "forces: {f: {type: wrench, body: b0, force: [1, 0, 0]}}\n")
    words = [sys.executable, str(PEERS), str(scene), "--task", "rnea", *WORDS]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=TIMEOUT, check=True)
    assert len(done.stdout.splitlines()) == 2
    assert "no peer for springs, wrenches, drives and applied torques" in done.stderr


@pytest.mark.slow
def test_what_measures_cost_is_said():
    words = [sys.executable, str(PEERS.with_name("measures.py")), "--turns", "1", "--steps", "20"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=TIMEOUT, check=True)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [
        "no frames between start and end", "states at each tenth step"]  # fmt: skip


@pytest.mark.parametrize(("fraction", "steps"), [(1.0, 100), (0.25, 25), (0.001, 1)])
def test_the_residual_of_the_gpu_table_takes_its_part_of_the_steps(monkeypatch, tmp_path, fraction, steps):
    """--fraction is of all steps, those included that tell the residual."""
    monkeypatch.syspath_prepend(str(PEERS.parent))
    import gpu

    from simcli.cli.bench.bench import BenchTask

    asked = []
    monkeypatch.setattr(gpu, "Runs", lambda work: asked.append(work) or SimpleNamespace(residual=lambda: 0.0))
    (work, *_) = gpu.works_of(BenchTask.STACKS, 2, "float64", "cpu", tmp_path)
    assert gpu.residual_of(work, fraction) == 0.0
    dt = pipeline.read_scene(work.scene, work.sets)[1].solver.dt
    assert asked[0].duration == pytest.approx(steps * dt)
