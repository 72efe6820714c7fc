"""The ledger of a sweep: torn lines, two writers, full disks, folders that vanish; claims whose clocks differ by hours."""

import errno
import itertools
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from support.process import environment
from support.sweep_stand_in import plan_of, well

from simcli.errors import Exit, OutputError
from simcli.sweeps.records.claims import Claims
from simcli.sweeps.records.ledger import Identity, Ledger, LedgerEvent, facts_of, identity_of, line_of, this_process
from simcli.sweeps.records.state import LedgerReader

DONE = {"file": "results/a.h5", "digest": "d1", "failed": {}, "n_steps": 5, "seconds": 0.5, "attempt": 1}


def other(token, pid=1):
    """A process of another machine."""
    return Identity("elsewhere", "another start", pid, 7, token)


def note_run(ledger, chunk="a", cases=("x", "y"), **changes):
    ledger.note(LedgerEvent.STARTED, chunk, cases, attempt=1)
    ledger.note(LedgerEvent.DONE, chunk, cases, **{**DONE, **changes})


def state_of(folder):
    return LedgerReader(folder).read()


def test_a_line_is_read_by_eye_and_proves_itself():
    line = line_of({"event": "done", "cases": ["a", 'quote " and\nbreak', "ü"], "sum": "no"})
    assert line.count(b"\n") == 1
    assert json.loads(line)["cases"][1] == 'quote " and\nbreak'
    assert facts_of(line)["cases"][2] == "ü"
    for k in range(len(line) - 1):
        assert facts_of(line[:k]) is None, k
        assert facts_of(line[:k] + bytes([line[k] ^ 1]) + line[k + 1 :]) is None, k
    for foreign in (b"", b"{}\n", b"\xff\xfe\n", b"[1]\n", b'{"event": "done"}\n', b"[" * 100_000 + b"\n"):
        assert facts_of(foreign) is None


def test_results_and_tries_of_two_writers_are_the_same_in_any_order(tmp_path):
    one, two = Ledger(tmp_path / "1", other("one")), Ledger(tmp_path / "1", other("two"))
    note_run(one, "a", ("x", "y"), digest="later")
    note_run(two, "a", ("x", "y"), digest="earlier", failed={"y": "nan"})
    note_run(two, "b", ("y", "z"), file="results/b.h5", failed={"z": "nan"})
    two.note(LedgerEvent.STARTED, "c", ("v",), attempt=1)
    one.note(LedgerEvent.STARTED, "d", ("w",), attempt=1)
    one.note(LedgerEvent.FAILED, "d", ("w",), attempt=1, kind="crashed", reason="boom")
    one.note(LedgerEvent.GIVEN_UP, "d", ("w",), reason="boom")
    state = state_of(tmp_path / "1")
    assert {case: (one.file, one.digest, one.reason) for case, one in state.results.items()} == {
        "x": ("results/a.h5", "earlier", ""),
        "y": ("results/a.h5", "later", ""),
        "z": ("results/b.h5", "d1", "nan"),
    }
    assert state.failed() == {"z": "nan", "w": "boom"}
    assert [(one.chunk, one.cases) for one in state.open.values()] == [("c", ("v",))]
    assert state.digests == {"results/a.h5": {"earlier", "later"}, "results/b.h5": {"d1"}}
    (tmp_path / "2/ledger").mkdir(parents=True)
    for name, path in zip("ba", sorted((tmp_path / "1/ledger").iterdir()), strict=True):  # the other way round
        shutil.copy(path, tmp_path / f"2/ledger/{name}.jsonl")
    again = state_of(tmp_path / "2")
    assert (again.results, again.tries, again.digests) == (state.results, state.tries, state.digests)


@pytest.mark.parametrize("files", list(itertools.permutations(("a", "b", "c"))))
def test_of_results_whose_files_are_there_one_counts_in_any_order(tmp_path, files):
    ledger = Ledger(tmp_path, other("one"))
    for name in files:
        note_run(ledger, name, ("x", "y"), file=f"results/{name}.h5")
    (tmp_path / "results").mkdir()
    there = [tmp_path / f"results/{name}.h5" for name in "abc"]
    for path in there:
        path.touch()
    for name, path in zip("abc", there, strict=True):
        state = state_of(tmp_path)
        assert state.forget_gone(tmp_path) == {}
        assert {case: one.file for case, one in state.results.items()} == dict.fromkeys("xy", f"results/{name}.h5")
        path.unlink()
    state = state_of(tmp_path)
    assert state.forget_gone(tmp_path) == dict.fromkeys("xy", "results/a.h5")
    assert state.results == {}


def test_a_torn_end_is_dropped_and_read_once_it_is_whole(tmp_path):
    ledger = Ledger(tmp_path, other("one"))
    note_run(ledger)
    note_run(ledger, "b", ("z",))
    raw = ledger.path.read_bytes()
    first = raw.index(b"\n", raw.index(b"\n") + 1) + 1
    ledger.path.write_bytes(raw[:first])
    reader = LedgerReader(tmp_path)
    assert set(reader.read().results) == {"x", "y"}
    for end in range(first, len(raw), 7):  # as a writer that is slow
        ledger.path.write_bytes(raw[:end])
        assert set(reader.read().results) == {"x", "y"}
        assert reader.unfinished() == ([] if raw[:end].endswith(b"\n") else [ledger.path.name])
    ledger.path.write_bytes(raw)
    assert set(reader.read().results) == {"x", "y", "z"}
    assert not reader.state.damaged
    assert not reader.unfinished()


def test_damage_costs_its_lines_only_and_is_counted(tmp_path):
    ledger = Ledger(tmp_path, other("one"))
    for k in range(20):
        note_run(ledger, f"c{k}", (f"x{k}",), file=f"results/{k}.h5")
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    hit = random.Random(1).sample(range(20), 5)
    for k in hit:
        lines[2 * k + 1] = lines[2 * k + 1].replace(b"results", b"resulta")
    ledger.path.write_bytes(b"".join(lines))
    (ledger.path.parent / "notes.txt").write_text("mine")
    (ledger.path.parent / "b.jsonl").write_text('{"event": "done"}\n\n' + line_of({"event": "of a later version"}).decode())
    state = state_of(tmp_path)
    assert set(state.results) == {f"x{k}" for k in range(20) if k not in hit}
    assert state.damaged == {ledger.path.name: 5, "b.jsonl": 2}
    assert state.foreign == {"notes.txt"}
    assert len(state.open) == 5


@pytest.mark.parametrize("call", ["write", "fsync", "open"])
def test_every_call_that_fails_is_told_and_costs_one_line(tmp_path, monkeypatch, call):
    """The k-th call fails for every k, also in the middle of a line; what was noted before and after is there."""
    plain, n = getattr(os, call), 0

    def failing(k, *words, **more):
        nonlocal n
        n += 1
        if n != k:
            return plain(*words, **more)
        if call == "write" and k % 2:
            plain(words[0], words[1][: len(words[1]) // 2])  # half of it is on the disk
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for k in range(1, 10):
        ledger, told = Ledger(tmp_path / str(k), other("one")), []
        n = 0
        with monkeypatch.context() as patch:
            patch.setattr(os, call, lambda *words, k=k, **more: failing(k, *words, **more))
            for case in range(6):
                try:
                    note_run(ledger, f"c{case}", (f"x{case}",))
                except OutputError as error:
                    told.append((f"x{case}", error.exit_code, str(error)))
        state = state_of(tmp_path / str(k))
        assert len(told) == (n >= k)
        for _, code, words in told:
            assert code == Exit.OUTPUT
            assert re.search("No space left.*nothing that the ledger holds is lost", words)
        assert {f"x{case}" for case in range(6)} - {case for case, *_ in told} <= set(state.results)
        assert not state.damaged


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="POSIX")
def test_a_limit_of_file_size_is_a_full_disk(tmp_path):
    code = f"""
import resource
from pathlib import Path
from simcli.errors import OutputError
from simcli.sweeps.records.ledger import this_process
from simcli.sweeps.records.ledger import Ledger, LedgerEvent
ledger = Ledger(Path({str(tmp_path)!r}), this_process())
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
for k in range(100):
    try:
        ledger.note(LedgerEvent.DONE, f"c{{k}}", [f"x{{k}}"], **{DONE!r})
    except OutputError as error:
        print(k, error)
        break
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True).stdout
    n = int(said.split()[0])
    assert "File too large" in said
    state = state_of(tmp_path)
    assert (set(state.results), state.damaged) == ({f"x{k}" for k in range(n)}, {})


def test_a_folder_that_vanishes_is_told(tmp_path):
    ledger = Ledger(tmp_path / "sweep", other("one"))
    note_run(ledger)
    shutil.rmtree(tmp_path / "sweep")
    with pytest.raises(OutputError, match="No such file"):
        note_run(ledger, "b")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"Not a directory|File exists"):
        note_run(Ledger(tmp_path / "file", other("two")))


# -- claims -----------------------------------------------------------------------------------------------------------


class Clock:
    """A clock of one machine, hours off from all others, that a test moves."""

    def __init__(self, hours):
        self.now = 3600.0 * hours

    def __call__(self):
        return self.now


def claims_of(folder, token, clock, **changes):
    return Claims(folder, replace(other(token), **changes), period=0.0, patience=60.0, clock=clock)


def test_one_of_many_gets_a_chunk(tmp_path):
    chunk, clock = plan_of(well(3)).chunks[0], Clock(0)
    everybody = [claims_of(tmp_path, f"t{k}", clock).__enter__() for k in range(5)]
    assert [one.take(chunk) for one in everybody] == [True, False, False, False, False]
    (claim,) = everybody[1].of_others()
    assert (claim.chunk, claim.cases, claim.owner.token) == (chunk.id, frozenset(chunk.cases), "t0")
    assert everybody[0].of_others() == []
    everybody[0].release(chunk.id)
    assert [one.take(chunk) for one in reversed(everybody)] == [True, False, False, False, False]
    for one in everybody:
        one.__exit__()
    assert not list((tmp_path / "claims").iterdir())


@pytest.mark.parametrize("hours", [-30, 0, 30])
def test_a_heart_is_looked_at_on_the_clock_of_who_looks(tmp_path, hours):
    chunk, mine, theirs = plan_of(well(3)).chunks[0], Clock(0), Clock(hours)
    owner, looker = claims_of(tmp_path, "owner", theirs), claims_of(tmp_path, "looker", mine)
    with owner, looker:
        assert owner.take(chunk)
        for path in (tmp_path / "claims").iterdir():  # times of files are those of yet another clock
            os.utime(path, (0, 0))
        for _ in range(20):  # the heart beats, however long it takes
            assert len(looker.of_others()) == 1
            mine.now += 50.0
            theirs.now += 50.0
            owner.beat()
        assert len(looker.of_others()) == 1
        mine.now += 59.0
        assert len(looker.of_others()) == 1
        mine.now += 2.0
        assert looker.of_others() == []
        assert looker.take(chunk)
        owner.release(chunk.id)  # it was only slow: the claim is not its own any more
        assert len(owner.of_others()) == 1


def test_a_dead_process_of_this_machine_is_stale_at_once(tmp_path):
    done = subprocess.Popen([sys.executable, "-c", ""])
    mine, chunk, clock = this_process(), plan_of(well(3)).chunks[0], Clock(0)
    with Claims(tmp_path, replace(mine, token="alive"), 0.0, 60.0, clock) as alive:
        dead = Claims(tmp_path, replace(mine, pid=done.pid, begun=1, token="dead"), 0.0, 60.0, clock)
        dead.__enter__()
        done.wait()
        assert alive.take(chunk)
        with Claims(tmp_path, replace(mine, token="looker"), 0.0, 60.0, clock) as looker:
            assert dead.take(plan_of(well(6), 3).chunks[1])
            assert [claim.owner.token for claim in looker.of_others()] == ["alive"]
    reused = replace(mine, begun=mine.begun - 1)  # the number of a dead process, that this one has by now
    assert (mine.is_surely_dead(), reused.is_surely_dead()) == (False, bool(mine.boot))
    unknown = [
        replace(mine, pid=pid, begun=0) for pid in (mine.pid, done.pid)
    ]  # of a system that does not tell when it began
    assert [one.is_surely_dead() for one in unknown] == [False, bool(mine.boot)]
    assert identity_of(mine.plain) == mine


def test_a_claim_that_could_not_be_given_back_is_still_ours(tmp_path, monkeypatch):
    chunk, clock = plan_of(well(3)).chunks[0], Clock(0)
    with claims_of(tmp_path, "one", clock) as one:
        assert one.take(chunk)
        with monkeypatch.context() as patch:
            patch.setattr("pathlib.Path.unlink", lambda *_, **__: (_ for _ in ()).throw(OSError(errno.EIO, "I/O error")))
            one.release(chunk.id)
        assert one.take(chunk)


def test_a_damaged_claim_belongs_to_nobody_for_long(tmp_path):
    chunk, clock = plan_of(well(3)).chunks[0], Clock(0)
    with claims_of(tmp_path, "one", clock) as one:
        for text in ("", "[]", '{"owner": 1, "cases": 2}'):
            (tmp_path / f"claims/{chunk.id}.claim").write_text(text)
            assert not one.take(chunk)
            one.of_others()
            clock.now += 61.0
            assert one.of_others() == []
            assert one.take(chunk)
            one.release(chunk.id)


def test_without_links_a_claim_is_exclusive_too(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refused)
    chunk, clock = plan_of(well(3)).chunks[0], Clock(0)
    with claims_of(tmp_path, "one", clock) as one, claims_of(tmp_path, "two", clock) as two:
        assert (one.take(chunk), two.take(chunk)) == (True, False)
        assert two.of_others()[0].owner.token == "one"


def test_a_folder_without_room_is_told_by_claims(tmp_path):
    chunk, clock = plan_of(well(3)).chunks[0], Clock(0)
    with claims_of(tmp_path, "one", clock) as one:
        shutil.rmtree(tmp_path / "claims")
        with pytest.raises(OutputError, match="claims: cannot be used"):
            one.take(chunk)
        with pytest.raises(OutputError, match="claims: cannot be used"):
            one.of_others()
