"""How a sweep stands, seen from outside: who lives, what runs, what was lost, how long it will take."""

import math
import threading
from dataclasses import replace

import pytest
from support.sweep_stand_in import Here, plan_of, well

from simcli.errors import UsageError
from simcli.sweeps import status as status_module
from simcli.sweeps.book.claims import Claims
from simcli.sweeps.book.identity import this_process
from simcli.sweeps.book.ledger import Ledger, LedgerEvent
from simcli.sweeps.driver import drive_sweep
from simcli.sweeps.planning.shards import Shard
from simcli.sweeps.standing import Options
from simcli.sweeps.status import status_of

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
        N - 2, {"nan-1": "nan", "error-1": "ValueError: a defect", "refused-1": "the scene is wrong"})  # fmt: skip
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
        "1 damaged line not believed", "is no ledger; left alone"]  # fmt: skip


def test_a_folder_without_a_sweep_has_no_status(tmp_path):
    for folder in (tmp_path, tmp_path / "nosuch"):
        with pytest.raises(UsageError, match="no sweep there"):
            status_of(folder)
