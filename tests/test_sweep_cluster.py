"""A Dask cluster as an executor: a real one with two workers, answers that nobody has to believe, versions that differ."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.sweep_cluster import GRACE, DaskCluster, child_environment, children
from support.sweep_stand_in import FUNCTION, SCENE, SECONDS, names, number_of, plan_of, table_of, well

from simcli.errors import DeviceError
from simcli.sweeps.executors.cluster import Bundles, is_scheduler_file
from simcli.sweeps.executors.cluster_task import answer, place_files, unpack_answer
from simcli.sweeps.executors.contract import Ending, Work, task_of, task_text
from simcli.sweeps.executors.pool import report_of
from simcli.sweeps.records.plan import Chunk

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX")
RESULT = {"file": "results/a.h5", "digest": "d", "failed": {}, "n_steps": 1, "seconds": 1.0}


@pytest.fixture(autouse=True)
def no_scene(monkeypatch):
    """The stand-in reads none."""
    monkeypatch.setattr(Bundles, "of", lambda self, chunk: {SCENE.name: b""})


def work_in(folder):
    return Work(folder, "none", None, "cpu", None, FUNCTION)


def whole_table(cases):
    return {case: (number_of(case), "nan" if case.startswith("nan") else "") for case in cases}


def wait_for_workers(cluster, n):
    from distributed import Client

    with Client(cluster.address, set_as_default=False, timeout=GRACE) as client:
        client.wait_for_workers(n, timeout=GRACE)


@pytest.mark.parametrize("text", ["", "x", "{}", "[]", '{"address": 5}', "\xff"])
def test_what_is_no_scheduler_file_is_told(tmp_path, text):
    """An empty one is also what a scheduler leaves while it begins to write: the driver tries again."""
    path = tmp_path / "cluster.json"
    with pytest.raises(OSError, match="no such scheduler file"):
        is_scheduler_file(str(path))
    path.write_text(text, encoding="latin-1")
    with pytest.raises(OSError, match="JSON and holds an `address`"):
        is_scheduler_file(str(path))
    path.write_text('{"address": "tcp://127.0.0.1:8786"}')
    assert is_scheduler_file(str(path))
    assert not is_scheduler_file("tcp://127.0.0.1:8786")


def test_a_worker_that_is_killed_costs_its_chunk(tmp_path):
    """Results over the wire; the other cluster tests share the folder."""
    pytest.importorskip("distributed")
    from simcli.sweeps.driver import drive_sweep
    from simcli.sweeps.executors.cluster import Cluster

    folder, killed = tmp_path / "sweep", []
    with DaskCluster(tmp_path, 2, **{SECONDS: "0.1"}) as cluster:
        wait_for_workers(cluster, 1)

        def watch(now):
            if now.n_done >= 8 and not killed:
                killed.append(cluster.workers[0].kill())
            return True

        summary = drive_sweep(plan_of(names(30)), folder, Cluster(cluster.address, work_in(folder), fetch=True), watch=watch)
    assert (summary.status, len(killed)) == ("done", 1)
    assert table_of(folder) == whole_table(names(30))


@pytest.mark.slow
def test_a_scheduler_that_is_killed_and_comes_back(tmp_path):
    pytest.importorskip("distributed")
    from simcli.sweeps.driver import drive_sweep
    from simcli.sweeps.executors.cluster import Cluster

    folder = tmp_path / "sweep"
    with DaskCluster(tmp_path, 2, **{SECONDS: "0.2"}) as cluster:
        wait_for_workers(cluster, 2)
        killer = threading.Timer(2.0, cluster.kill_scheduler, [3.0])
        killer.start()
        summary = drive_sweep(plan_of(names(80), 2), folder, Cluster(cluster.address, work_in(folder)))
        killer.join()
        assert summary.status == "done"
        assert table_of(folder) == whole_table(names(80))
        # Then for good: what is done stays, and the driver says how to go on.
        for process in (cluster.scheduler, *cluster.workers):
            process.terminate()
    with DaskCluster(tmp_path, 1, **{SECONDS: "0.2"}) as cluster:
        executor = Cluster(cluster.address, work_in(folder), patience=3.0)
        threading.Timer(2.0, cluster.scheduler.kill).start()
        summary = drive_sweep(plan_of([*names(80), *(f"c-new-{k}" for k in range(99))]), folder, executor)
    assert summary.status == "stopped"
    assert "has no scheduler since 3 s; what was done is in the ledger" in summary.problem
    assert whole_table(names(80)).items() <= table_of(folder).items()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the children of a process")
def test_a_driver_that_is_killed_leaves_no_work_behind(tmp_path):
    pytest.importorskip("distributed")

    def until(n):
        end = time.monotonic() + GRACE
        while len([one for worker in cluster.workers for one in children(worker)]) != n:
            assert time.monotonic() < end, f"not {n} chunks under way"
            time.sleep(0.05)

    with DaskCluster(tmp_path, 2, **{SECONDS: "1000"}) as cluster:
        words = [sys.executable, "-m", "support.sweep_child", tmp_path / "sweep", "20", "2", cluster.address]
        driver = subprocess.Popen(words, env=child_environment())
        until(2)
        driver.kill()
        driver.wait()
        until(0)


@pytest.mark.slow
def test_workers_of_another_version_are_refused_by_name(tmp_path):
    pytest.importorskip("distributed")
    from simcli.sweeps.driver import drive_sweep
    from simcli.sweeps.executors.cluster import Cluster

    folder = tmp_path / "sweep"
    with DaskCluster(tmp_path, 0, **{SECONDS: "0.05"}) as cluster:
        cluster.workers.append(cluster.start_worker("simcli 0.0.9, code 123"))
        wait_for_workers(cluster, 1)
        with pytest.raises(DeviceError, match=r"no worker has simcli 0\.1.*tcp://127.* has simcli 0\.0\.9, code 123"):
            Cluster(cluster.address, work_in(folder))
        cluster.workers.append(cluster.start_worker())
        wait_for_workers(cluster, 2)
        executor = Cluster(cluster.address, work_in(folder))
        assert executor.slots == 1
        assert drive_sweep(plan_of(names(30)), folder, executor).status == "done"
    assert table_of(folder) == whole_table(names(30))


@pytest.mark.slow
def test_a_cluster_that_does_not_share_the_folder_says_so(tmp_path):
    pytest.importorskip("distributed")
    from simcli.errors import OutputError
    from simcli.sweeps.driver import drive_sweep
    from simcli.sweeps.executors import cluster_task
    from simcli.sweeps.executors.cluster import Cluster

    folder = tmp_path / "sweep"
    plan = plan_of(well(4))
    hidden = plan.chunks[0].__class__(**{**vars(plan.chunks[0]), "scene": tmp_path / "hidden.yaml"})
    plan = plan.__class__(**{**vars(plan), "chunks": (hidden,)})
    assert cluster_task.FOLDER == "ledger"
    with DaskCluster(tmp_path, 1) as cluster:
        wait_for_workers(cluster, 1)
        with pytest.raises(OutputError, match=r"hidden\.yaml: a worker on .* does not see it; share the folder .*--fetch"):
            drive_sweep(plan, folder, Cluster(cluster.address, work_in(folder)))


# -- answers ----------------------------------------------------------------------------------------------------------


def test_a_task_travels_as_text():
    from simcli.spec.document.overrides import Override

    chunk = Chunk("id", Path("/a/scene.yaml"), ("a=1", Override("--dt", "1e-3", "solver.dt")), (0, 3), ("x", "y"))
    work = Work(Path("/b"), "failed", 3.5, "cuda", 2, "m:f")
    again, same = task_of(task_text(chunk, work))
    assert (again, same) == (chunk, work)
    assert isinstance(again.sets[1], Override)
    assert "\n" not in task_text(chunk, work)


def test_an_answer_carries_files_behind_a_line(tmp_path):
    raw = answer({"ending": "done", "files": {"results/a.h5": 3, "runs/b.h5": 0}}, b"\n\x00{", b"")
    plain, files = unpack_answer(raw)
    assert plain == {"ending": "done"}
    place_files(tmp_path, files)
    assert (tmp_path / "results/a.h5").read_bytes() == b"\n\x00{"
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"a.h5", "b.h5"}
    for k in range(len(raw)):
        if k > raw.index(b"\n"):
            with pytest.raises(ValueError, match="not as long"):
                unpack_answer(raw[:k])


@pytest.mark.parametrize("name", ["/etc/passwd", "../up.h5", "results/../../up.h5"])
def test_an_answer_with_files_elsewhere_is_refused(name):
    with pytest.raises(ValueError, match="outside of the folder"):
        unpack_answer(answer({"ending": "done", "files": {name: 1}}, b"x"))
    chunk = plan_of(well(2)).chunks[0]
    report = report_of(chunk, {"ending": "done", "result": {**RESULT, "file": name}}, "")
    assert (report.ending, "names no file below" in report.reason) == (Ending.CRASHED, True)


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"ending": "won"},
        {"ending": "done"},
        {"ending": "done", "result": 1},
        {"ending": "done", "result": {}},
        {"ending": "done", "result": {**RESULT, "failed": {"c-of-others": "nan"}}},
        {"ending": "done", "result": {**RESULT, "n_steps": "many"}},
        {"ending": "done", "result": {**RESULT, "digest": None}},
    ],
)
def test_an_answer_that_is_none_is_a_crash(plain):
    report = report_of(plan_of(well(2)).chunks[0], json.loads(json.dumps(plain)), "")
    assert (report.ending, report.result) == (Ending.CRASHED, {})


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    from simcli.errors import UsageError
    from simcli.sweeps.executors.cluster import Cluster

    monkeypatch.setitem(sys.modules, "distributed", None)
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"pip install 'simcli\[cluster\]'"):
        Cluster("tcp://127.0.0.1:1", work_in(tmp_path))
    assert time.monotonic() - began < GRACE
