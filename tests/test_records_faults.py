"""Whatever stops a writer or damages its file: committed frames are whole, damage is named, nothing crashes."""

import contextlib
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.records_child import BLOCK, N_FRAMES, write

from simcli.errors import Exit, FileError, OutputError
from simcli.records.hdf5_bytes import ENTRY, HEAD
from simcli.records.integrity.bits import differing_bits, size_of_rows
from simcli.records.integrity.repair import repair_file
from simcli.records.integrity.verification import verify
from simcli.records.reading.reader import open_trajectory
from simcli.records.reading.tiles import held

HERE = Path(__file__).parent
TIMEOUT_S = 120
PAUSE_S = 0.004  # between blocks, so that a kill can be aimed
POLL_S = 0.01
N_KILLS = 20
VICTIMS = (("run",), ("recorder",), ("run", "recorder"), ("recorder", "run"))
SHARES = np.linspace(0.12, 0.85, N_KILLS)  # of the frames committed when the kill is sent
FILE_LIMITS = (4_096, 60_000, 600_000, 1_500_000, 4_000_000)  # [B]: in the creation, and at growing numbers of frames
SEED = 20240229


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{HERE}:{HERE.parent}")


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("faults") / "whole.h5"
    write(path)
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("faults") / "small.h5"
    write(path, n_frames=40, n_worlds=2)
    return path


@pytest.fixture(scope="module")
def bits(reference):
    """Bytes of every growing dataset by path, of the uninterrupted run."""
    with open_trajectory(reference) as run:
        return {row.path: (run._file[row.path].dtype, run._file[row.path][...]) for row in held(run)}


def child(*arguments):
    return [sys.executable, "-m", "support.records_child", *map(str, arguments)]


def kill_at(path, share, *victims):
    """Kill -9 the run, its recorder or both, once this share of the frames is committed; returns what the run said."""
    process = subprocess.Popen(
        child(path, "--pause", PAUSE_S, "--waits"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    recorder = int(process.stdout.readline())
    for line in process.stdout:
        if int(line) >= share * N_FRAMES:
            break
        process.stdin.write("\n")
        process.stdin.flush()
    process.stdin.write("\n")  # a block is on its way
    process.stdin.flush()
    time.sleep(random.Random(share).uniform(0, 2 * PAUSE_S))
    for victim in victims or ("run",):
        os.kill({"run": process.pid, "recorder": recorder}[victim], signal.SIGKILL)
    _, said = process.communicate(20 * "\n", TIMEOUT_S)
    if victims == ("recorder",):
        assert process.returncode == Exit.OUTPUT, said
    else:
        assert process.returncode == -signal.SIGKILL
    wait_until_gone(recorder)
    return said


def wait_until_gone(number):
    """No process of a run outlives it for long."""
    deadline = time.monotonic() + TIMEOUT_S
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.kill(number, 0)
            time.sleep(POLL_S)
        pytest.fail(f"process {number} is still there")


def assert_prefix(path, bits):
    """Every committed frame is the uninterrupted run's, bit for bit; returns their number."""
    with open_trajectory(path) as run:
        n = run.n_frames
        for name, (dtype, whole) in bits.items():
            dataset = run._file[name]
            length = {"contacts": run.contacts_until(n), "events": 0}.get(name.split("/")[0], n)
            if name == "contacts/offset":
                length = n * run.n_worlds + 1 if n else 0  # the first 0 comes with the first commit
            assert dataset.dtype == dtype
            assert dataset[:length].tobytes() == whole[:length].tobytes(), name
    return n


@pytest.mark.parametrize(
    ("share", "victims"),
    [
        pytest.param(share, victims, marks=[pytest.mark.slow] * (k % 3 > 0))  # each choice of victims is among the others
        for k, (share, victims) in enumerate(zip(SHARES, itertools.cycle(VICTIMS), strict=False))
    ],
)
def test_kill_9_leaves_every_committed_frame(tmp_path, bits, share, victims):
    path = tmp_path / "a.h5"
    said = kill_at(path, share, *victims)
    n = assert_prefix(path, bits)
    assert 0.1 * N_FRAMES <= n <= 0.9 * N_FRAMES, "the kill missed its window"
    assert verify(path) == []
    with open_trajectory(path) as run:
        assert run.status == ("stopped" if victims == ("run",) else "unfinished")
    if victims == ("recorder",):
        assert "ended from outside" in said
        promised = int(re.search(r"(\d+) frames are safe", said).group(1))
        assert promised <= n
    if victims == ("run",):  # its recorder put the file in order
        h5py.File(path, "r").close()
        assert [one.name for one in tmp_path.iterdir()] == ["a.h5"]
        assert n % BLOCK == 0, "what was handed over completely, and nothing else"


def test_a_killed_run_can_be_run_again_and_repaired(tmp_path, bits):
    path = tmp_path / "a.h5"
    kill_at(path, 0.5, "run", "recorder")
    repair_file(path)
    n = assert_prefix(path, bits)
    assert n > 0
    assert verify(path) == []
    write(path)  # the dead writer's lock does not stand in the way
    assert assert_prefix(path, bits) == N_FRAMES


LIMITS = [(limit, ()) for limit in FILE_LIMITS] + [(FILE_LIMITS[k], ("--limit-all",)) for k in (0, -1)]


@pytest.mark.parametrize(("limit", "more"), LIMITS)
def test_a_full_disk_is_exit_6_and_a_readable_file(tmp_path, bits, limit, more):
    path = tmp_path / "a.h5"
    done = subprocess.run(child(path, "--limit", limit, *more), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == Exit.OUTPUT, done.stderr
    assert "file too large" in done.stderr.lower()
    if not path.exists():
        assert "cannot be made" in done.stderr
        assert list(tmp_path.iterdir()) == []
        return
    promised = int(re.search(r"(\d+) frames are safe", done.stderr).group(1))
    assert assert_prefix(path, bits) >= promised
    assert verify(path) == []
    repair_file(path)
    assert assert_prefix(path, bits) >= promised
    with h5py.File(path) as file:  # and plain for every other program
        assert len(file["frames/time"]) >= promised
    assert verify(path) == []


def test_the_limits_meet_the_creation_and_the_frames(reference):
    """So that the test above means what it says."""
    with h5py.File(reference) as file:
        first = file["frames/time"].id.get_chunk_info(0).byte_offset
    assert FILE_LIMITS[0] < first < FILE_LIMITS[-1] < reference.stat().st_size


PROBE = """
import json, sys
from pathlib import Path
import h5py
import numpy as np
from simcli.errors import FileError
from simcli.records.integrity.verification import file_info, held, verify
from simcli.records.reading.reader import open_trajectory
source, copy, flips = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
data = source.read_bytes()
def plain(value):
    array = np.asarray(value)
    if array.dtype.hasobject or array.dtype.names:
        return repr(array.tolist())
    return array.dtype.str, array.shape, array.tobytes()
def content(path):
    found, waiting, met = {}, [("", h5py.File(path))], set()
    file = waiting[0][1]
    while waiting:
        name, one = waiting.pop()
        for key, value in one.attrs.items():
            if key not in ("DIMENSION_LIST", "REFERENCE_LIST"):  # whose references Python prints by where they are
                found[name, key] = plain(value)
        if isinstance(one, h5py.Dataset):
            found[name] = one.dtype.str, one.maxshape, [dim.keys() for dim in one.dims], plain(one[()])
        elif (address := h5py.h5o.get_info(one.id).addr) not in met:
            met.add(address)
            found[name] = sorted(one)
            waiting += [(f"{name}/{key}", one[key]) for key in one]
    file.close()
    return found
whole = content(source)
def outcome(path):
    try:
        file_info(path)
        if verify(path):
            return "found"
        return "clean" if content(path) == whole else "SILENT"
    except FileError:
        return "refused"
for place, bit in flips:
    damaged = bytearray(data)
    if bit is None:
        damaged = damaged[:place]
    else:
        damaged[place] ^= 1 << bit
    copy.write_bytes(damaged)
    print(json.dumps([place, bit, outcome(copy)]), flush=True)
"""


def probe(source, tmp_path, damages):
    """Outcome of opening, describing and verifying damaged copies, in a child process that must survive them all."""
    command = [sys.executable, "-c", PROBE, str(source), str(tmp_path / "damaged.h5"), json.dumps(damages)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10 * TIMEOUT_S)
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (done.stderr, outcomes[-1:])
    assert len(outcomes) == len(damages)
    return outcomes


def flips(size, n, head=128 * 1024):
    """Half of them in the metadata at the start."""
    rng = random.Random(SEED)
    return [(rng.randrange(min(head, size) if k % 2 else size), rng.randrange(8)) for k in range(n)]


def unchecked(path):
    """Where datasets stand that HDF5 keeps no checksum of, in one piece, by their names."""
    found = {}

    def see(name, one):
        if isinstance(one, h5py.Dataset) and one.chunks is None and one.id.get_offset() is not None:
            found[name] = range(one.id.get_offset(), one.id.get_offset() + one.id.get_storage_size())

    with h5py.File(path) as file:
        file.visititems(see)
    return found


def assert_no_silent_damage(outcomes):
    assert [o for o in outcomes if o[2] == "SILENT"] == []
    assert sum(o[2] in ("found", "refused") for o in outcomes) > len(outcomes) // 4  # the damage does hit something


def test_bit_flips_are_found_or_harmless(small, tmp_path):
    assert_no_silent_damage(probe(small, tmp_path, flips(small.stat().st_size, 50)))


@pytest.mark.slow
def test_many_bit_flips_are_found_or_harmless(small, tmp_path):
    assert_no_silent_damage(probe(small, tmp_path, flips(small.stat().st_size, 1000)))


def test_a_bit_of_what_a_run_says_of_itself_is_told(small, tmp_path):
    """Status, counters, both digests and the wall time, in their first and last bytes."""
    places = unchecked(small)
    words = [
        "run/wall_s",
        "run/status",
        "run/n_committed",
        "run/digest",
        "run/digest_frames",
        "run/digest_events",
        "run/digest_contacts",
    ]
    outcomes = probe(small, tmp_path, [(places[name][at], 1 - at) for name in words for at in (0, -1)])
    assert {outcome for *_, outcome in outcomes} <= {"found", "refused"}, outcomes


@pytest.mark.slow
def test_a_bit_of_any_dataset_in_one_piece_is_told(small, tmp_path):
    """Texts are led to by addresses; both are under the seal or a digest."""
    places = unchecked(small)
    assert len(places) > 30
    rng = random.Random(SEED)
    outcomes = probe(small, tmp_path, [(rng.choice(span), rng.randrange(8)) for span in places.values() for _ in range(4)])
    assert_no_silent_damage(outcomes)


def test_flips_in_the_sizes_of_texts_are_refused_in_no_time(small, tmp_path):
    """HDF5 alone walks for ever through some of them."""
    data, places = small.read_bytes(), []
    start = data.find(HEAD)
    while start >= 0:
        end = start + int.from_bytes(data[start + 8 : start + 16], "little")
        place = start + 16
        while place + 16 <= end:
            places.append(place + 8)
            index, _, _, size = ENTRY.unpack_from(data, place)
            place += size if index == 0 else 16 + -(-size // 8) * 8
        start = data.find(HEAD, start + 8)
    assert len(places) > 30
    rng = random.Random(SEED)
    outcomes = probe(small, tmp_path, [(rng.choice(places) + rng.randrange(8), rng.randrange(8)) for _ in range(100)])
    assert_no_silent_damage(outcomes)
    damaged = tmp_path / "zero.h5"
    damaged.write_bytes(data[: places[-1]] + bytes(8) + data[places[-1] + 8 :])
    with pytest.raises(FileError, match="do not add up"):
        open_trajectory(damaged)


def test_a_finished_file_cut_anywhere_is_refused(small, tmp_path):
    size = small.stat().st_size
    cuts = [0, 1, 7, 8, 47, 48, 1000, *(int(share * size) for share in np.linspace(0.01, 0.99, 15)), size - 1]
    outcomes = probe(small, tmp_path, [(cut, None) for cut in cuts])
    assert {outcome for _, _, outcome in outcomes} <= {"refused", "found"}


def test_a_killed_file_cut_anywhere_gives_a_problem_or_whole_frames(tmp_path, bits):
    path, cut = tmp_path / "a.h5", tmp_path / "cut.h5"
    kill_at(path, 0.5, "run", "recorder")
    data = path.read_bytes()
    for share in (0.05, 0.3, 0.6, 0.9, 0.99):
        cut.write_bytes(data[: int(share * len(data))])
        problems = verify(cut)
        if not problems:
            assert assert_prefix(cut, bits) > 0
    cut.write_bytes(data)
    assert verify(cut) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_text("time,q\n0,1\n"), "is not an HDF5 file"),
        (lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n"), "damaged or cut short"),
        (lambda path: h5py.File(path, "w").close(), "not one of simcli"),
        (lambda path: path.symlink_to("/dev/zero"), "is not a regular file"),
        (lambda path: path.symlink_to(path), "cannot be read|no such file"),
    ],
)
def test_what_is_no_file_of_ours_is_refused_with_a_reason(tmp_path, make, message):
    path = tmp_path / "a.h5"
    make(path)
    with pytest.raises(FileError, match=message) as caught:
        open_trajectory(path)
    assert str(path) in str(caught.value)
    assert verify(path) == [str(caught.value)]


@pytest.mark.parametrize("when", [BLOCK, N_FRAMES], ids=["in mid-run", "before the end"])
@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_file_that_is_taken_away_from_its_run_is_told(tmp_path, how, when):
    """What a run has written then is lost, and its end says so, whether it was still writing or had only to close."""
    path, n_put = tmp_path / "a.h5", 0

    def take_away(n_committed):
        nonlocal n_put
        n_put += BLOCK
        if n_put < when or not path.exists():
            return
        path.unlink()
        if how == "replaced":
            path.write_text("another")

    with pytest.raises(OutputError, match=rf"a\.h5: was {how} by another program while this run wrote it"):
        write(path, report=take_away)
    assert not path.exists() or path.read_text() == "another"


def test_texts_and_units_are_under_a_seal(small, tmp_path):
    """A bit of a unit, a meaning, a name of an axis or the command line is told; run/digest knows none of them."""
    data, path = bytearray(small.read_bytes()), tmp_path / "a.h5"
    with h5py.File(small) as file:
        digest = file["run/digest"][...].tobytes()
    for text in (b"rad/s", b"events up to that frame", b"running, done, stopped or failed", b"test"):
        at = data.find(text)
        assert at > 0, text
        data[at] ^= 1
        path.write_bytes(data)
        data[at] ^= 1
        assert verify(path), text
        with h5py.File(path) as file:
            assert file["run/digest"][...].tobytes() == digest


def test_files_without_the_seal_still_open(small, tmp_path):
    path = tmp_path / "a.h5"
    path.write_bytes(small.read_bytes())
    with h5py.File(path, "r+") as file:
        file["frames/joint_q"].attrs["units"] = "furlong"
    assert any("texts, units or structure" in problem for problem in verify(path))
    with h5py.File(path, "r+") as file:
        del file["provenance"].attrs["seal"]
    assert verify(path) == []


def test_a_group_where_a_dataset_is_wanted_is_named(small, tmp_path):
    path = tmp_path / "a.h5"
    path.write_bytes(small.read_bytes())
    with h5py.File(path, "r+") as file:
        del file["energy/total"]
        file.create_group("energy/total")
    with open_trajectory(small) as whole, open_trajectory(path) as bad:
        for look in (lambda: size_of_rows(bad), lambda: differing_bits(whole, bad)):
            with pytest.raises(FileError, match="/energy/total is a group where a dataset is wanted"):
                look()
