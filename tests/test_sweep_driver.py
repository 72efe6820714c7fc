"""The driver of a sweep: what is tried again, what is given up, shards, two drivers at once, time that is up.

How a sweep stands, seen from outside: who lives, what runs, what was lost, how long it will take.
"""

import math
import os
import shutil
import threading
import time
from dataclasses import replace

import pytest
from support.sweep_stand_in import FUNCTION, SECONDS, Here, number_of, plan_of, table_of, well

from simcli.errors import DeviceError, Exit, OutputError, SimcliWarning, UsageError
from simcli.sweeps import driver as driver_module
from simcli.sweeps import status as status_module
from simcli.sweeps.driver import drive_sweep
from simcli.sweeps.executors import pool as pool_module
from simcli.sweeps.executors.contract import Ending, Pace, Work
from simcli.sweeps.executors.pool import Pool
from simcli.sweeps.records.claims import Claims
from simcli.sweeps.records.ledger import Ledger, LedgerEvent, this_process
from simcli.sweeps.records.plan_file import Shard, cases_of, shard_of
from simcli.sweeps.records.state import LedgerReader
from simcli.sweeps.status import Options, status_of


def whole_table(cases, given_up=None):
    """What an undisturbed sweep comes to; `given_up` has the reasons of cases without a result."""
    results = {case: (number_of(case), "nan" if case.startswith("nan") else "") for case in cases}
    return {**results, **{case: (None, reason) for case, reason in (given_up or {}).items()}}


def pool(folder, n=1, threads=1):
    return Pool(n, Work(folder, "none", None, "cpu", threads, FUNCTION))


def test_everything_is_done_once_and_the_same_command_finds_it_done(tmp_path):
    cases = [*well(10), "nan-1"]
    plan, here = plan_of(cases), Here(tmp_path)
    summary = drive_sweep(plan, tmp_path, here)
    assert (summary.status, summary.n_done, summary.n_begun_with, summary.failed) == ("done", 11, 0, {"nan-1": "nan"})
    assert summary.n_steps == 110
    assert table_of(tmp_path) == whole_table(cases)
    assert (len(here.begun), here.closed) == (3, True)
    again = Here(tmp_path)
    assert drive_sweep(plan, tmp_path, again).n_begun_with == 11
    assert again.begun == []
    assert not list((tmp_path / "claims").iterdir())


def test_an_enlarged_grid_runs_only_what_is_new(tmp_path):
    drive_sweep(plan_of(well(10)), tmp_path, Here(tmp_path))
    here = Here(tmp_path)
    summary = drive_sweep(plan_of(well(14)), tmp_path, here)
    assert here.begun == [("c-0010", "c-0011"), ("c-0012", "c-0013")]
    assert (summary.n_begun_with, summary.n_cases) == (10, 14)
    assert table_of(tmp_path) == whole_table(well(14))


def test_the_folder_of_another_sweep_is_refused(tmp_path):
    drive_sweep(plan_of(well(3)), tmp_path / "a", Here(tmp_path / "a"))
    before = sorted(path.read_bytes() for path in tmp_path.rglob("*.jsonl"))
    with pytest.raises(OutputError, match=r"holds another sweep: none of its 3 cases .*simcli 0.*choose another folder"):
        drive_sweep(plan_of(["c-other"]), tmp_path / "a", Here(tmp_path / "a"))
    assert sorted(path.read_bytes() for path in tmp_path.rglob("*.jsonl")) == before
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        drive_sweep(plan_of(well(3)), tmp_path / "file", Here(tmp_path))


def test_results_that_are_gone_are_made_again(tmp_path):
    cases = well(8)
    drive_sweep(plan_of(cases), tmp_path, Here(tmp_path))
    next(iter((tmp_path / "results").glob("0001*"))).unlink()
    (tmp_path / "ledger/notes.txt").write_text("mine")
    here = Here(tmp_path)
    with pytest.warns(SimcliWarning) as said:
        drive_sweep(plan_of(cases), tmp_path, here)
    assert [str(one.message).partition(": ")[2][:22] for one in said] == ["results are gone that ", "ledger/notes.txt is no"]
    assert here.begun == [tuple(cases[4:])]
    assert table_of(tmp_path) == whole_table(cases)


def test_results_that_are_gone_are_made_again_in_other_chunks(tmp_path):
    """As on another number of workers. The names of the new files are later in the alphabet than those that are gone."""
    cases = well(8)
    drive_sweep(plan_of(cases), tmp_path, Here(tmp_path))
    next(iter((tmp_path / "results").glob("0001*"))).unlink()
    assert (found := status_of(tmp_path)).n_cases == 8
    assert found.n_done == 4
    with pytest.warns(SimcliWarning, match="4 cases will be run again"):
        drive_sweep(plan_of(cases, 1), tmp_path, Here(tmp_path))
    assert table_of(tmp_path) == whole_table(cases)
    assert status_of(tmp_path).n_done == 8
    here = Here(tmp_path)
    drive_sweep(plan_of(cases, 1), tmp_path, here)
    assert here.begun == []


@pytest.mark.parametrize(("bad", "tries"), [("error-1", 3), ("refused-1", 1)])
def test_the_case_to_blame_is_found_and_left(tmp_path, bad, tries):
    cases = [*well(15), bad]
    plan, here = plan_of(cases, 16), Here(tmp_path)
    summary = drive_sweep(plan, tmp_path, here)
    assert summary.failed == {bad: summary.failed[bad]}
    assert summary.status == "done"
    assert sum(bad in chunk for chunk in here.begun) == max(tries, 5)  # 16, 8, 4, 2, 1
    assert table_of(tmp_path) == whole_table(cases, summary.failed)
    assert drive_sweep(plan, tmp_path, Here(tmp_path)).failed == summary.failed
    again = Here(tmp_path)
    drive_sweep(plan, tmp_path, again, Options(retry_failed=True))
    assert again.begun == [(bad,)] * tries


def test_a_case_that_fails_now_and_then_is_done_in_the_end(tmp_path):
    n = 0

    def ending(chunk):
        nonlocal n
        n += 1
        return [Ending.LOST, Ending.CRASHED, Ending.LOST, None][min(n, 4) - 1]

    assert drive_sweep(plan_of(["c-1"]), tmp_path, Here(tmp_path, ending)).failed == {}
    assert table_of(tmp_path) == whole_table(["c-1"])


def test_killed_processes_do_not_blame_a_chunk_before_the_tenth_time(tmp_path):
    n = 0

    def ending(chunk):
        nonlocal n
        n += 1
        return Ending.LOST if n < 10 else None

    assert drive_sweep(plan_of(["c-1"]), tmp_path / "a", Here(tmp_path / "a", ending)).failed == {}
    summary = drive_sweep(plan_of(["c-1"]), tmp_path / "b", Here(tmp_path / "b", lambda chunk: Ending.LOST))
    assert list(summary.failed) == ["c-1"]


def test_a_killed_writer_costs_its_chunk_and_no_more(tmp_path):
    """The disk is well: the chunk is lost, as that of a killed process, and is tried again; sweeps have no --resume."""
    cases = [*well(6), "writer-1"]
    assert drive_sweep(plan_of(cases), tmp_path, Here(tmp_path)).failed == {}
    assert table_of(tmp_path) == whole_table(cases)
    ledger = "".join(path.read_text() for path in tmp_path.rglob("*.jsonl"))
    assert "the process that writes its result was killed" in ledger
    assert "--resume" not in ledger


def test_a_sweep_in_which_all_crashes_ends_soon(tmp_path):
    cases = well(256)
    here = Here(tmp_path, lambda chunk: Ending.CRASHED)
    summary = drive_sweep(plan_of(cases, 64), tmp_path, here)
    assert set(summary.failed) == set(cases)
    assert len(here.begun) < 64


def test_failed_worlds_are_results_until_they_are_asked_for(tmp_path):
    cases = [*well(6), "nan-1", "nan-2"]
    drive_sweep(plan_of(cases), tmp_path, Here(tmp_path))
    here = Here(tmp_path)
    drive_sweep(plan_of(cases), tmp_path, here)
    assert here.begun == []
    drive_sweep(plan_of(cases), tmp_path, here, Options(retry_failed=True))
    assert here.begun == [("nan-1", "nan-2")]
    assert table_of(tmp_path) == whole_table(cases)


def test_a_full_disk_is_nobody_elses_fault(tmp_path):
    plan = plan_of([*well(4), "disk-1"])
    with pytest.raises(OutputError, match="No space left on device; nothing that the ledger holds is lost"):
        drive_sweep(plan, tmp_path, Here(tmp_path))
    state = LedgerReader(tmp_path).read()
    assert set(state.results) == set(well(4))
    assert not state.failed()
    assert not state.open


def test_a_device_that_is_missing_ends_the_sweep_and_blames_nobody(tmp_path):
    with pytest.raises(DeviceError, match="not available"):
        drive_sweep(plan_of([*well(4), "device-1"]), tmp_path, Here(tmp_path, slots=2))
    state = LedgerReader(tmp_path).read()
    assert not state.failed()
    assert not state.open


@pytest.mark.parametrize("n_lines", range(8))
def test_a_ledger_that_cannot_be_written_ends_the_sweep_and_loses_nothing(tmp_path, monkeypatch, n_lines):
    plan, left, plain = plan_of(well(12)), n_lines, driver_module.Ledger.note

    def note(ledger, *words, **facts):
        nonlocal left
        if not left:
            raise OutputError("ledger: cannot write: No space left on device")
        left -= 1
        plain(ledger, *words, **facts)

    with monkeypatch.context() as patch:
        patch.setattr(driver_module.Ledger, "note", note)
        with pytest.raises(OutputError):
            drive_sweep(plan, tmp_path, here := Here(tmp_path))
        assert here.closed
    done = len(LedgerReader(tmp_path).read().results)
    again = Here(tmp_path)
    assert drive_sweep(plan, tmp_path, again).n_begun_with == done
    assert len(again.begun) == 3 - done // 4
    assert table_of(tmp_path) == whole_table(well(12))


def test_a_folder_that_vanishes_ends_the_sweep(tmp_path):
    folder = tmp_path / "sweep"

    def watch(now):
        if now.n_done == 4:
            shutil.rmtree(folder, ignore_errors=True)
        return True

    with pytest.raises(OutputError, match="nothing that the ledger holds is lost"):
        drive_sweep(plan_of(well(12)), folder, Here(folder), watch=watch)


# -- shards -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_cases", "size", "n"), [(10, 1, 3), (10, 4, 3), (10, 10, 4), (3, 1, 5)])
def test_shards_are_all_of_it_and_share_nothing(n_cases, size, n):
    plan = plan_of(well(n_cases), size)
    shards = [cases_of(plan, Shard(k + 1, n)) for k in range(n)]
    assert sum(map(len, shards)) == n_cases
    assert frozenset().union(*shards) == set(well(n_cases)) == cases_of(plan, None)
    units = min(len(plan.chunks) if len(plan.chunks) >= n else n_cases, n)
    assert sum(map(bool, shards)) == units


def test_a_shard_is_written_as_two_numbers():
    assert shard_of(" 2/16 ") == Shard(2, 16)
    assert str(Shard(2, 16)) == "2/16"
    for text in ("0/3", "4/3", "1", "1/0", "a/b", "-1/3", "1/3/5"):
        with pytest.raises(UsageError, match="write I/N"):
            shard_of(text)


def test_shards_together_are_the_sweep(tmp_path):
    cases = [*well(22), "nan-1"]
    plan = plan_of(cases)
    for k in (3, 1, 2):
        here = Here(tmp_path)
        summary = drive_sweep(plan, tmp_path, here, Options(shard=Shard(k, 3)))
        assert summary.status == "done"
        assert {case for chunk in here.begun for case in chunk} == cases_of(plan, Shard(k, 3))
    assert table_of(tmp_path) == whole_table(cases)


# -- time -------------------------------------------------------------------------------------------------------------


class Slow(Here):
    """Chunks that end only when they are asked to, or never."""

    def __init__(self, folder, heeds):
        super().__init__(folder)
        self._heeds, self.asked = heeds, False

    def reports(self, timeout):
        time.sleep(0.01)
        if self.asked and self._heeds:
            return super().reports(timeout)
        return [Pace(self._waiting[0].id, 0.5, 100.0)] if self._waiting else []

    def stop(self):
        self.asked = True


@pytest.mark.parametrize("heeds", [True, False])
def test_when_the_time_is_up_the_rest_is_left(tmp_path, heeds):
    plan = plan_of(well(8))
    summary = drive_sweep(plan, tmp_path, Slow(tmp_path, heeds), Options(max_walltime=0.4, grace=0.1))
    assert (summary.status, summary.n_done) == ("stopped", 4 * heeds)
    assert summary.problem == "the walltime is up"
    state = LedgerReader(tmp_path).read()
    assert not state.open
    assert not state.failed()
    assert all(tries.crashed == tries.lost == 0 for tries in state.tries.values())
    assert drive_sweep(plan, tmp_path, Here(tmp_path)).status == "done"
    assert table_of(tmp_path) == whole_table(well(8))


def test_what_ends_within_the_grace_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv(SECONDS, "0.5")
    summary = drive_sweep(plan_of(well(8)), tmp_path, pool(tmp_path), Options(grace=60.0), lambda now: not now.n_running)
    assert (summary.status, summary.n_done) == ("stopped", 4)


def test_a_watcher_sees_how_things_stand_and_stops_them(tmp_path):
    seen = []

    def watch(now):
        seen.append(now)
        return now.n_done < 4

    summary = drive_sweep(plan_of(well(12)), tmp_path, Here(tmp_path), watch=watch)
    assert (summary.status, summary.n_done, summary.problem) == ("stopped", 4, "")
    assert [now.event for now in seen if now.event] == ["begun", "started", "done", "ended"]
    assert max(now.n_running for now in seen) == 4
    assert {now.n_cases for now in seen} == {12}


# -- two drivers ------------------------------------------------------------------------------------------------------


def test_two_drivers_at_once_share_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(driver_module, "CLAIMS_S", 0.0)
    monkeypatch.setenv(SECONDS, "0.02")
    cases = [*well(40), "nan-1"]
    plan, heres, summaries = plan_of(cases, 2), [Here(tmp_path), Here(tmp_path)], [None, None]

    together = threading.Barrier(2, timeout=60.0)

    def watch(now):
        if now.event == "begun" or (now.event == "started" and now.n_done == 0):
            together.wait()  # each has a chunk before the other goes on
        return True

    def one(k):
        summaries[k] = drive_sweep(plan, tmp_path, heres[k], watch=watch)

    threads = [threading.Thread(target=one, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [summary.status for summary in summaries] == ["done", "done"]
    assert all(here.begun for here in heres)
    begun = [case for here in heres for chunk in here.begun for case in chunk]
    assert len(begun) <= len(cases) + 4  # a race may cost a chunk twice
    assert table_of(tmp_path) == whole_table(cases)


def test_what_a_living_driver_is_at_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(driver_module, "CLAIMS_S", 0.0)
    monkeypatch.setattr(driver_module, "POLL_S", 0.01)
    plan, looks = plan_of(well(8)), 0
    with Claims(tmp_path, replace(this_process(), token="other")) as others:
        assert others.take(plan.chunks[0])

        def watch(now):
            nonlocal looks
            looks += now.n_done == 4
            if looks == 10:
                others.release(plan.chunks[0].id)
            return True

        here = Here(tmp_path)
        assert drive_sweep(plan, tmp_path, here, watch=watch).status == "done"
    assert here.begun == [plan.chunks[1].cases, plan.chunks[0].cases]
    assert table_of(tmp_path) == whole_table(well(8))


# -- processes --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="POSIX")
def test_processes_that_die_cost_their_chunk_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setenv(SECONDS, "0.01")
    cases = [*well(6), "nan-1", "segv-1", "error-1", "refused-1"]
    executor = pool(tmp_path, 2)
    summary = drive_sweep(plan_of(cases), tmp_path, executor)
    given_up = {
        "segv-1": "its process was ended by SIGSEGV",
        "error-1": "ValueError: a defect",
        "refused-1": "the scene is wrong",
    }
    assert summary.failed == {**given_up, "nan-1": "nan"}
    assert table_of(tmp_path) == whole_table(cases, given_up)
    assert executor.reports(0.0) == []


def test_a_process_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(pool_module, "COMPILING_S", 1.0)
    monkeypatch.setattr(driver_module, "POLL_S", 0.1)
    executor = Pool(1, Work(tmp_path, "none", 0.01, "cpu", 1, FUNCTION))
    summary = drive_sweep(plan_of(["deaf-1"]), tmp_path, executor, Options(tries=1))
    assert summary.failed == {"deaf-1": "time limit: its process hung"}


def test_a_chunk_that_is_asked_to_end_does(tmp_path):
    began = time.monotonic()

    def watch(now):
        return not (now.n_running and time.monotonic() - began > 0.5)

    summary = drive_sweep(plan_of(["hang-1"]), tmp_path, pool(tmp_path), Options(grace=1.0), watch)
    assert (summary.status, Exit.STOPPED) == ("stopped", 75)
    assert not LedgerReader(tmp_path).read().open


N = 40
DONE = {"attempt": 1, "digest": "d", "failed": {}, "executor": "workers 1"}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Hearts of other machines are listened to for a moment."""
    monkeypatch.setattr(status_module, "LISTEN_S", 1.0)
    monkeypatch.setattr(status_module, "STATUS_POLL_S", 0.01)


def test_a_sweep_at_rest(tmp_path):
    cases = [*well(N - 3), "nan-1", "error-1", "refused-1"]
    drive_sweep(plan_of(cases), tmp_path, Here(tmp_path), Options(shard=Shard(1, 2)))
    found = status_of(tmp_path)
    assert (found.n_cases, found.n_done, found.n_running, found.n_lost) == (N, N / 2, 0, 0)
    assert math.isnan(found.seconds_left)  # nobody is at work
    drive_sweep(plan_of(cases), tmp_path, Here(tmp_path))
    found = status_of(tmp_path)
    assert (found.n_done, found.failed) == (
        N - 2,
        {"nan-1": "nan", "error-1": "ValueError: a defect", "refused-1": "the scene is wrong"},
    )
    assert found.n_given_up == 2
    assert [(row.executor, row.work.cases, row.work.n_steps) for row in found.rows] == [("here", N - 2, 10 * (N - 2))]
    assert not found.notes


def test_who_lives_and_who_does_not(tmp_path):
    plan, me = plan_of(well(N)), this_process()
    far = replace(me, host="far", boot="another start")
    ledger = Ledger(tmp_path, me)
    ledger.note(LedgerEvent.PLANNED, plan=plan.digest, n_cases=N, executor="workers 1")
    (tmp_path / "a").touch()
    ledger.note(LedgerEvent.DONE, plan.chunks[0].id, plan.chunks[0].cases, file="a", n_steps=400, seconds=8.0, **DONE)
    owners = [me, replace(me, begun=me.begun + 1, token="dead"), replace(far, token="silent"), replace(far, token="beats")]
    everybody = [Claims(tmp_path, owner, period=0.0) for owner in owners]
    for claims, chunk in zip(everybody, plan.chunks[1:], strict=False):
        claims.__enter__()
        assert claims.take(chunk)
        ledger.note(LedgerEvent.STARTED, chunk.id, chunk.cases, attempt=1)
    ends = threading.Event()

    def beat():
        while not ends.wait(0.05):
            everybody[-1].beat()

    heart = threading.Thread(target=beat)
    heart.start()
    found = status_of(tmp_path)
    ends.set()
    heart.join()
    assert [claim.owner.token for claim in found.running] == [me.token, "beats"]
    assert (found.n_running, found.n_lost) == (8, 8)
    assert found.rate == 2 * 400 / 8.0
    assert found.seconds_left == pytest.approx(8.0 / 4 * 36 / 2)  # 2 s a case, 36 are left, two are at it
    ledger.path.with_name("notes.txt").write_text("mine")
    with ledger.path.open("ab") as stream:
        stream.write(b"damage\n")
    assert [note.partition(": ")[2] for note in status_of(tmp_path).notes] == [
        "1 damaged line not believed",
        "is no ledger; left alone",
    ]


def test_a_folder_without_a_sweep_has_no_status(tmp_path):
    for folder in (tmp_path, tmp_path / "nosuch"):
        with pytest.raises(UsageError, match="no sweep there"):
            status_of(folder)
