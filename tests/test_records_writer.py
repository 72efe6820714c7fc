"""What the recorder writes is what was put, however it was cut; and what it refuses."""

import os
import signal
import subprocess
import sys
import threading
import time
from hashlib import blake2b
from itertools import pairwise

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.recorder_here import RecorderHere
from support.tiny_model import datasets, frames, tiny_model

from simcli.errors import OutputError
from simcli.model.snapshot import Event
from simcli.records.contents.digest import Digest
from simcli.records.contents.layout import CHANNELS, TEXT_BYTES
from simcli.records.contents.provenance import collect_provenance
from simcli.records.contents.select import GrowingRows, axes_of
from simcli.records.integrity.verification import verify
from simcli.records.lock import WriterLock, is_being_written, wait_for_orphan
from simcli.records.reading.reader import open_trajectory
from simcli.records.writing import messages, writer
from simcli.records.writing.messages import Committed, Ring, nameless_file
from simcli.records.writing.output_file import Backlog
from simcli.records.writing.spawn import KEPT_FROM_IT, RecorderProcess
from simcli.records.writing.writer import Recorder

N_FRAMES = 70
WAIT_S = 10.0  # far more than a commit takes
MODEL = tiny_model()
ROWS, AXES = datasets(MODEL, CHANNELS), axes_of(MODEL)
WHOLE = frames(ROWS, AXES, 0, N_FRAMES)


def recorder(path, **options):
    """In a process of its own, as a run has it."""
    return Recorder(
        path, MODEL, collect_provenance([("a.yaml", "x")], "x", "cpu", "float64", 1), CHANNELS, N_FRAMES, **options
    )


def record(path, cuts=(), events=(), status="done", **options):
    out = recorder(path, process=RecorderHere(), **options)
    edges = [0, *sorted(set(cuts)), N_FRAMES]
    for first, last in pairwise(edges):
        out.put(frames(ROWS, AXES, first, last - first, [e for e in events if first <= e.step // 10 < last]))
    out.close(status)
    return out


def wait_for(condition):
    end = time.monotonic() + WAIT_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)


def event(frame, text="stopped", code="SC601"):
    return Event(10 * frame, 0.01 * frame, 1, code, 2, 0, -1, 3.5, text)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "a.h5"
    with recorder(path) as out:
        out.put(frames(ROWS, AXES, 0, N_FRAMES, [event(20)]))
    with open_trajectory(path) as run:
        yield run.digest


def test_a_file_that_waits_changes_nothing_at_its_name_until_it_is_published(tmp_path):
    path = tmp_path / "a.h5"
    path.write_text("before")
    out = recorder(path, waits=True)
    wait_for(lambda: list(tmp_path.glob(".a.h5.*.part")))
    assert list(tmp_path.glob(".a.h5.*.part"))
    assert path.read_text() == "before"
    out.publish()
    assert list(tmp_path.glob(".a.h5.*.part")) == []
    out.put(WHOLE)
    out.close("done")
    with open_trajectory(path) as run:
        assert run.n_frames == N_FRAMES


def test_a_file_that_is_never_published_leaves_nothing(tmp_path):
    process = RecorderProcess()
    recorder(tmp_path / "a.h5", process=process, waits=True)
    wait_for(lambda: list(tmp_path.glob(".a.h5.*.part")))
    assert list(tmp_path.glob(".a.h5.*.part"))
    assert process.dismiss() == 0
    assert os.listdir(tmp_path) == []
    with recorder(tmp_path / "a.h5") as out:  # nobody holds its lock
        out.put(WHOLE)


def test_the_file_holds_what_was_put_bit_for_bit(tmp_path):
    record(tmp_path / "a.h5", [13, 40])
    with h5py.File(tmp_path / "a.h5") as file:
        for path, column in WHOLE.columns.items():
            assert file[path][...].tobytes() == column.tobytes(), path
        assert np.array_equal(file["frames/time"], WHOLE.time)
        assert np.array_equal(file["frames/step"], WHOLE.step)
        assert file["run/n_committed"][()] == N_FRAMES
        offset = file["contacts/offset"][...]
        assert offset[0] == 0
        assert np.array_equal(np.diff(offset), WHOLE.contacts.count.reshape(-1))
        for name, column in WHOLE.contacts.columns.items():
            assert np.array_equal(file["contacts"][name], column), name
        assert len(file["contacts/contact"]) == offset[-1] == WHOLE.contacts.n > 0
        assert len(file["contacts/contact_start"]) == len(offset)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, N_FRAMES - 1), max_size=6), impatient=st.booleans())
def test_the_digest_does_not_depend_on_blocks_or_commits(tmp_path, reference, cuts, impatient):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "PATIENCE_S", 0.0 if impatient else 100.0)
        record(tmp_path / "a.h5", cuts, [event(20)])
    with open_trajectory(tmp_path / "a.h5") as run:
        assert run.digest == reference
        assert [e.step for e in run.events] == [200]
    assert verify(tmp_path / "a.h5") == []


@pytest.mark.parametrize("n_threads", [0, 1, 3])
def test_the_digest_is_what_its_page_says_for_any_number_of_threads(n_threads):
    """Rows of several datasets, small and large, in turns."""
    random, digest = np.random.default_rng(3), Digest(["b", "a", "c"], n_threads)
    wanted = {path: blake2b(digest_size=32) for path in "abc"}
    for _ in range(4):
        for path, n in (("c", 400_000), ("a", 700_000), ("b", 10), ("c", 3), ("a", 0), ("a", 200_000)):
            rows = random.random((n, 2))
            digest.add(path, rows)
            wanted[path].update(rows.tobytes())
        whole = b"".join(path.encode() + b"\0" + part.digest() for path, part in wanted.items())
        assert digest.value() == blake2b(whole, digest_size=32).digest()


@pytest.mark.parametrize("path", [row.path for row in ROWS if row.kind == "float"])
def test_one_changed_bit_changes_the_digest(tmp_path, reference, path):
    block = frames(ROWS, AXES, 0, N_FRAMES, [event(20)])
    column = {**block.columns, **{f"contacts/{name}": rows for name, rows in block.contacts.columns.items()}}[path]
    column.view(np.uint64).reshape(-1)[-1] ^= 1
    out = recorder(tmp_path / "a.h5", process=RecorderHere())
    out.put(block)
    out.close("done")
    with open_trajectory(tmp_path / "a.h5") as run:
        assert run.digest != reference


def test_float32_files_hold_the_rounded_numbers(tmp_path):
    record(tmp_path / "a.h5", dtype="float32")
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["frames/body_q"].dtype == np.float32
        assert np.array_equal(file["frames/body_q"], WHOLE.columns["frames/body_q"].astype(np.float32))
        assert file["frames/time"].dtype == np.float64
    assert verify(tmp_path / "a.h5") == []


def test_optional_columns_left_out_read_as_not_recorded(tmp_path):
    block = frames(ROWS, AXES, 0, N_FRAMES)
    del block.columns["diag/residual"], block.columns["diag/iterations"]
    with recorder(tmp_path / "a.h5") as out:
        out.put(block)
    with open_trajectory(tmp_path / "a.h5") as run:
        assert np.isnan(run.diag.residual).all()
        assert (run.diag.iterations[...] == -1).all()
    assert verify(tmp_path / "a.h5") == []


def test_commits_are_whole_grains_until_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "PATIENCE_S", 0.0)
    out = recorder(tmp_path / "a.h5")
    grain = out.frames_per_commit
    counts = []
    hear = out._hear

    def heard(wait):
        answer = hear(wait)
        counts.extend([answer.n] if isinstance(answer, Committed) else [])
        return answer

    out._hear = heard
    for first in range(0, N_FRAMES, 3):
        n = min(3, N_FRAMES - first)
        out.put(frames(ROWS, AXES, first, n))
        wait_for(lambda whole=(first + n) // grain * grain: out.n_committed >= whole)
    out.close("stopped")
    assert len(counts) >= N_FRAMES // grain // 2
    assert all(n % grain == 0 for n in counts)
    assert out.n_committed == N_FRAMES


def test_a_slow_run_commits_after_a_while_without_more_frames(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "PATIENCE_S", 0.1)
    out = recorder(tmp_path / "a.h5")
    out.put(frames(ROWS, AXES, 0, out.frames_per_commit + 1))
    wait_for(lambda: out.n_committed > 0)
    assert out.n_committed == out.frames_per_commit
    out.close("stopped")
    assert out.n_committed == out.frames_per_commit + 1


def test_put_waits_while_the_recorder_is_behind(tmp_path, monkeypatch):
    """The run may not run away; what waits goes round the ring several times and arrives whole."""
    monkeypatch.setattr(messages, "LIMIT_BYTES", 1)
    monkeypatch.setattr(writer, "PORTION_BYTES", 1)
    out = recorder(tmp_path / "a.h5")
    assert out._ring.length < N_FRAMES // 4
    os.kill(out._process.pid, signal.SIGSTOP)
    done = threading.Event()
    thread = threading.Thread(target=lambda: (out.put(WHOLE), done.set()))
    thread.start()
    assert not done.wait(0.2)
    assert out._n_put <= out._ring.length
    os.kill(out._process.pid, signal.SIGCONT)
    thread.join(WAIT_S)
    out.close("done")
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["frames/body_q"][...].tobytes() == WHOLE.columns["frames/body_q"].tobytes()


def test_a_batch_is_whole_grains_and_its_events():
    """The clock that says when a commit is due is the caller's."""
    memory = Ring(nameless_file(), GrowingRows(tuple(ROWS), AXES, "float64", 2), 8)
    backlog = Backlog(memory, grain=2, portion=4, patience=10.0, n_worlds=AXES.n_worlds, now=0.0)
    assert backlog.seconds_to_commit(0.0) is None
    memory.frames("frames/step", 0, 3)[...] = (0, 10, 20)
    backlog.add(3, [event(2), event(0)], None)
    assert backlog.seconds_to_commit(4.0) == 6.0
    batch = backlog.take(4.0)
    assert (batch.n_frames, [e.step for e in batch.events], backlog.n_frames) == (2, [0], 1)
    assert backlog.seconds_to_commit(5.0) is None
    memory.frames("frames/step", 3, 5)[...] = (30, 40, 50, 60, 70)
    backlog.add(5, [], None)
    assert backlog.seconds_to_commit(5.0) == 0.0
    batch = backlog.take(5.0)
    assert batch.columns["frames/step"].tolist() == [20, 30, 40, 50]
    assert [e.step for e in batch.events] == [20]
    memory.frames("frames/step", 8, 1)[...] = 80
    backlog.add(1, [], None)
    assert [backlog.take(6.0, is_last=True).n_frames for _ in range(2)] == [2, 1], "the ring begins anew between them"


def test_events_come_with_their_frames_and_keep_their_text(tmp_path):
    long = "ä" * TEXT_BYTES
    record(tmp_path / "a.h5", [30], [event(0), event(29, long), event(69)])
    with open_trajectory(tmp_path / "a.h5") as run:
        assert [e.step for e in run.events] == [0, 290, 690]
        assert run.events[0] == event(0)
        assert run.events[1].text == "ä" * (TEXT_BYTES // 2)


def test_an_event_after_the_last_frame_is_kept(tmp_path):
    out = recorder(tmp_path / "a.h5")
    block = frames(ROWS, AXES, 0, 8)
    block.events = [event(500)]
    out.put(block)
    out.close("failed")
    with open_trajectory(tmp_path / "a.h5") as run:
        assert [e.step for e in run.events] == [5000]
        assert run.status == "failed"
    assert verify(tmp_path / "a.h5") == []


def test_a_run_without_frames_opens(tmp_path):
    recorder(tmp_path / "a.h5").close("stopped")
    with open_trajectory(tmp_path / "a.h5") as run:
        assert run.n_frames == 0
        assert run.joint("hinge0").q.shape == (0, 3, 1)
        assert run.events == []
    assert verify(tmp_path / "a.h5") == []


def test_blocks_that_do_not_fit_are_refused_by_name(tmp_path):
    with recorder(tmp_path / "a.h5") as out:
        for path, change in {
            "frames/joint_q": lambda c: c.pop("frames/joint_q"),
            "energy/total": lambda c: c.update({"energy/total": np.zeros((4, 9))}),
            "frames/jiont_q": lambda c: c.update({"frames/jiont_q": np.zeros((4, 3, 1))}),
            "contacts/gap": lambda c: c.update({"contacts/gap": np.zeros(4)}),
        }.items():
            block = frames(ROWS, AXES, 0, 4)
            change(block.columns)
            with pytest.raises(ValueError, match=path):
                out.put(block)


def test_two_writers_of_one_file(tmp_path):
    path = tmp_path / "a.h5"
    out = recorder(path)
    with pytest.raises(OutputError, match="is writing this file"):
        recorder(path)
    out.put(WHOLE)
    out.close("done")
    assert verify(path) == []
    recorder(path).close("done")  # the lock is gone with its owner
    assert [p.name for p in tmp_path.iterdir()] == ["a.h5"]


def test_the_lock_of_a_dead_process_locks_nobody_out(tmp_path):
    path = tmp_path / "a.h5"
    path.with_name("a.h5.lock").write_text("1\n")
    recorder(path).close("done")
    assert not path.with_name("a.h5.lock").exists()


def test_a_recorder_that_outlives_its_run_is_waited_for(tmp_path):
    path = tmp_path / "a.h5"
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    lock, released = WriterLock(path, dead.pid), threading.Event()
    threading.Timer(0.2, lambda: (released.set(), lock.release())).start()
    wait_for_orphan(path)
    assert released.is_set()
    lock = WriterLock(path)  # of a run that lives
    wait_for_orphan(path)
    assert is_being_written(path)
    lock.release()


def test_places_that_cannot_be_written_are_output_errors(tmp_path):
    (tmp_path / "folder.h5").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        recorder(tmp_path / "folder.h5")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="folder"):
        recorder(tmp_path / "file" / "a.h5")


def test_a_program_error_in_the_recorder_reaches_the_run(tmp_path):
    out = recorder(tmp_path / "a.h5")
    out._process.send("no message")
    with pytest.raises(RuntimeError, match="AttributeError"):
        out.close("done")
    with pytest.raises(RuntimeError, match="AttributeError"):
        out.put(WHOLE) if not out._closed else out._listen()


def test_a_recorder_without_orders_ends_with_its_run():
    with RecorderProcess() as process:
        pass
    assert process.dismiss() == 0


def test_signals_of_a_terminal_do_not_reach_the_recorder(tmp_path):
    out = recorder(tmp_path / "a.h5")
    out.put(frames(ROWS, AXES, 0, 10))
    for number in KEPT_FROM_IT:
        os.kill(out._process.pid, number)
    out.put(frames(ROWS, AXES, 10, N_FRAMES - 10))
    out.close("done")
    assert verify(tmp_path / "a.h5") == []


def test_the_folder_may_be_left_while_the_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with RecorderProcess() as process:
        monkeypatch.chdir("/")
        (tmp_path / "sub").mkdir()
        monkeypatch.chdir(tmp_path / "sub")
        recorder("a.h5", process=process).close("done")
    assert verify(tmp_path / "sub" / "a.h5") == []


def test_wrong_status_is_refused(tmp_path):
    out = recorder(tmp_path / "a.h5")
    with pytest.raises(ValueError, match="finished"):
        out.close("finished")
    out.close("done")


def test_neither_the_recorder_nor_what_feeds_it_needs_more_than_its_own():
    code = "import sys, simcli.records.{}; print(*sorted({{'taichi', 'xarray', 'h5py', 'pydantic'}} & set(sys.modules)))"
    needed = {"writing.recorder_process": "h5py", "writing.writer": "", "writing.continuation": "", "reading.reader": "h5py"}
    for module, expected in needed.items():
        done = subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected, module
