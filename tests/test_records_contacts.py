"""Contacts on disk: a list per frame and world, cut, chosen, continued, repaired and read back bit for bit.

Columns made where the recorder wants them: the same bytes as elsewhere, and nothing is copied.

Every object of our files has a form that HDF5 1.10 reads: no newer library may slip its own in. Budget: 5 s.
"""

import csv
import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise, product

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.damage import assert_damage_is_named
from support.device import live_device
from support.hdf5_objects import DATATYPE, NAMES, NEWEST, headers
from support.recorder_here import RecorderHere
from support.records_child import write
from support.tiny_model import contacts, datasets, frames, tiny_model

from simcli.cli import process as cli_process
from simcli.errors import Exit, FileError, UsageError
from simcli.model.snapshot import CONTACT_WIDTHS, joined_blocks, no_contacts
from simcli.pipeline import Request, prepare
from simcli.records.checkpoint import Checkpoint
from simcli.records.contents.layout import CHANNELS as PUT_CHANNELS
from simcli.records.contents.provenance import collect_provenance
from simcli.records.contents.results import FIELDS, OWN_AXES, ResultWriter, result_axes
from simcli.records.contents.select import axes_of, selection
from simcli.records.hdf5_bytes import FORMAT_BOUNDS, VERSION, VERSION_AT, is_marked, read_superblock
from simcli.records.integrity.repair import repair_file
from simcli.records.integrity.verification import file_info, verify
from simcli.records.reading.named import UnknownNameError
from simcli.records.reading.reader import open_trajectory
from simcli.records.writing import writer
from simcli.records.writing.continuation import Continuation
from simcli.records.writing.writer import Recorder
from simcli.solvers import SOLVERS, RunPlan

N = 64
CHANNELS = ("joints", "contacts")
MODEL = tiny_model()
ROWS, AXES = datasets(MODEL, CHANNELS), axes_of(MODEL)
WHOLE = contacts(MODEL.n_worlds, 0, N)


def record(path, cuts=(), until=N, channels=CHANNELS, first=0, **options):
    source = collect_provenance([("a.yaml", "x")], "x", "cpu", "float64", 1)
    with Recorder(path, MODEL, source, channels, N, process=RecorderHere(), **options) as out:
        for a, b in pairwise([first, *cuts, until]):
            out.put(frames(ROWS, AXES, a, b - a))
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return record(tmp_path_factory.mktemp("contacts") / "a.h5")


@pytest.fixture(scope="module")
def run(path):
    with open_trajectory(path) as run:
        yield run


def same(a, b):
    equal = np.array_equal
    return equal(a.count, b.count) and all(equal(a.columns[name], b.columns[name]) for name in CONTACT_WIDTHS)


@given(st.lists(st.integers(0, N), max_size=5))
def test_rows_cut_and_joined_are_the_same_rows(cuts):
    edges = [0, *sorted(cuts), N]
    assert same(joined_blocks([WHOLE.of_frames(a, b) for a, b in pairwise(edges)]), WHOLE)


@given(st.integers(0, 2**32 - 1))
def test_some_rows_are_counted_again(seed):
    keep = np.random.default_rng(seed).random(WHOLE.n) < 0.5
    some = WHOLE.where(keep)
    edges = [0, *np.cumsum(WHOLE.count)]
    assert some.count.reshape(-1).tolist() == [keep[a:b].sum() for a, b in pairwise(edges)]
    assert np.array_equal(some.columns["point"], WHOLE.columns["point"][keep])


def test_worlds_without_contacts():
    some = WHOLE.of_worlds(np.array([True, False, True]))
    assert np.array_equal(some.count, WHOLE.count * [1, 0, 1])
    assert some.n == some.count.sum() == len(some.columns["gap"])
    assert no_contacts(4, 3).n == 0


def test_every_frame_and_world_reads_back(run):
    edges = np.concatenate([[0], np.cumsum(WHOLE.count)])
    for k, (first, last) in enumerate(pairwise(edges)):
        found = run.contacts(*divmod(k, MODEL.n_worlds))
        assert found.keys() == CONTACT_WIDTHS.keys()
        for name, rows in found.items():
            assert np.array_equal(rows, WHOLE.columns[name][first:last]), (k, name)
    assert {len(run.contacts(f, w)["gap"]) for f in range(N) for w in range(3)} == {0, 1, 2, 3, 4}
    assert np.array_equal(run.contacts(-1, -1)["gap"], run.contacts(N - 1, 2)["gap"])
    with pytest.raises(IndexError):
        run.contacts(N, 0)
    with pytest.raises(UsageError, match="frame: True is no whole number"):
        run.contacts(True, 0)


@pytest.mark.parametrize(("first", "last"), [(0, None), (5, 20), (63, 64), (7, 7), (20, 5), (-3, None)])
def test_the_table_names_frame_and_world_of_each(run, first, last):
    table = run.contact_table(first, last)
    chosen = range(N)[first:last]
    wanted = WHOLE.of_frames(chosen.start, max(chosen.start, chosen.stop))
    frame, world = np.mgrid[chosen.start : max(chosen.start, chosen.stop), :3]
    assert np.array_equal(table["frame"], np.repeat(frame.reshape(-1), wanted.count.reshape(-1)))
    assert np.array_equal(table["world"], np.repeat(world.reshape(-1), wanted.count.reshape(-1)))
    for name, rows in wanted.columns.items():
        assert np.array_equal(table[name], rows), name


def test_what_is_no_column_of_frames_says_how_to_ask(run):
    for path in ("contacts/gap", "contacts/offset", "events/step"):
        with pytest.raises(UnknownNameError, match="contacts\\(frame, world\\)"):
            run.column(path)


def test_a_file_without_the_channel_says_so(tmp_path):
    with open_trajectory(record(tmp_path / "a.h5", channels=("joints",))) as bare:
        for ask in (lambda: bare.contacts(0, 0), bare.contact_table, lambda: bare.column("contacts/gap")):
            with pytest.raises(UnknownNameError, match="channels: \\[contacts\\]"):
                ask()
        assert bare.contacts_until(N) == 0
    assert file_info(tmp_path / "a.h5")["contacts"] == 0
    assert verify(tmp_path / "a.h5") == []


def test_info_counts_them(path):
    assert file_info(path)["contacts"] == WHOLE.n


def test_blocks_that_do_not_fit_are_refused(tmp_path):
    with Recorder(tmp_path / "a.h5", MODEL, collect_provenance([("a", "x")], "x", "cpu", "float64", 1), CHANNELS, N) as out:
        for change, message in (
            ({"count": WHOLE.count[:, :2]}, "contacts/count has shape"),
            ({"columns": {**WHOLE.columns, "force": WHOLE.columns["force"][:-1]}}, "contacts/force has shape"),
            ({"columns": {**WHOLE.columns, "gap": WHOLE.columns["force"]}}, "contacts/gap has shape"),
        ):
            block = frames(ROWS, AXES, 0, N)
            block.contacts = replace(WHOLE, **change)
            with pytest.raises(ValueError, match=message):
                out.put(block)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kept_bodies_keep_their_contacts(tmp_path, dtype):
    """Shape 0 is the rod of link0, shape 1 the ground: a contact is kept if one of its shapes is of a kept body."""
    kept = WHOLE.where((WHOLE.columns["shape_a"] == 0) | (WHOLE.columns["shape_b"] == 0))
    assert 0 < kept.n < WHOLE.n
    for select, wanted in ((["link0"], kept), (["ball"], WHOLE.where(np.zeros(WHOLE.n, bool)))):
        path = record(tmp_path / f"{select[0]}.h5", (20,), axes=selection(MODEL, select), dtype=dtype)
        with open_trajectory(path) as run:
            table = run.contact_table()
            assert table["point"].dtype == dtype
            for name, rows in wanted.columns.items():
                assert np.array_equal(table[name], rows.astype(table[name].dtype)), name
            assert run.model["shape_name"].tolist() == list(MODEL.shapes.name)
        assert verify(path) == []


def test_a_run_that_goes_on_has_the_same_bytes(tmp_path, monkeypatch):
    """Committed frames beyond the checkpoint, and their contacts, are cut."""
    monkeypatch.setattr(writer, "PATIENCE_S", 0.0)
    whole = record(tmp_path / "whole.h5", (32, 48))
    cut = record(tmp_path / "cut.h5", (16, 32), until=48)
    with open_trajectory(cut) as run:
        checkpoint = Checkpoint(32, 320, 0, {}, {})
        goes_on = Continuation(cut, run.attributes["uuid"], checkpoint, [], 0.0)
        assert run.contacts_until(32) == WHOLE.count[:32].sum()
    record(cut, (40,), first=32, continues=goes_on)
    assert verify(cut) == []
    with open_trajectory(whole) as a, open_trajectory(cut) as b:
        assert a.digest == b.digest
        assert b.counters()["contacts"] == WHOLE.n
        for name in (*CONTACT_WIDTHS, "offset"):
            assert np.array_equal(a._file["contacts"][name], b._file["contacts"][name]), name


def test_repair_cuts_what_was_not_committed(path, tmp_path):
    torn = tmp_path / "torn.h5"
    torn.write_bytes(path.read_bytes())
    with h5py.File(torn, "r+", libver=FORMAT_BOUNDS) as file:  # as of a writer killed between rows and counters
        file["run/status"][()] = b"running"
        file["run/counters_digest"][...] = 0  # which is written last
        for name in (*CONTACT_WIDTHS, "contact"):
            file["contacts"][name].resize(WHOLE.n + 5, axis=0)
        file["contacts/offset"].resize(3 * N + 4, axis=0)
    assert verify(torn) == []
    repair_file(torn)
    assert verify(torn) == []
    with h5py.File(torn) as file, h5py.File(path) as before:
        for name in (*CONTACT_WIDTHS, "contact", "offset"):
            assert np.array_equal(file["contacts"][name], before["contacts"][name]), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f["contacts/gap"].__setitem__(3, 1.0), "/run/digest"),
        (lambda f: f["contacts/shape_a"].__setitem__(3, 1 - f["contacts/shape_a"][3]), "/run/digest"),
        (lambda f: f["contacts/offset"].__setitem__(3 * N, WHOLE.n - 1), "/contacts/offset does not increase"),
        (lambda f: f["run/digest_contacts"].__setitem__(slice(None), 10**9), "no digest belongs"),
    ],
)
def test_verify_names_what_was_changed(path, tmp_path, change, message):
    assert_damage_is_named(path, tmp_path / "b.h5", change, message)


def test_offsets_that_lead_out_of_the_table_are_damage(path, tmp_path):
    changed = tmp_path / "b.h5"
    changed.write_bytes(path.read_bytes())
    with h5py.File(changed, "r+") as file:
        file["contacts/offset"][4:6] = [3, 10**6]
    with open_trajectory(changed) as run:
        for ask in (lambda: run.contacts(1, 1), run.contact_table):
            with pytest.raises(FileError, match="/contacts/offset is damaged"):
                ask()


def test_export_writes_a_row_for_each_contact(path, tmp_path, capsys):
    words = ["export", str(path), "-c", "contacts", "--world", "0,2", "--every", "3"]
    assert cli_process.run_command(words, debug=False, as_json=False) == Exit.OK
    header, *rows = csv.reader(capsys.readouterr().out.splitlines())
    assert header[:5] == ["time [s]", "world", "shape_a", "shape_b", "point.x [m]"]
    assert header[-4:] == ["gap [m]", "force.x [N]", "force.y [N]", "force.z [N]"]
    with open_trajectory(path) as run:
        table = run.contact_table()
        keep = (table["world"] != 1) & (table["frame"] % 3 == 0)
        assert [row[1] for row in rows] == [str(w) for w in table["world"][keep]]
        assert [row[2] for row in rows] == [MODEL.shapes.name[a] for a in table["shape_a"][keep]]
        numbers = np.array([[row[0], *row[4:]] for row in rows], float)
        wanted = [run.time[table["frame"]], *(table[name].T for name in ("point", "normal", "gap", "force"))]
        assert np.array_equal(numbers, np.vstack(wanted).T[keep])
    words = ["export", str(path), "-c", "contacts", "-o", str(tmp_path / "c.csv")]
    assert cli_process.run_command(words, debug=False, as_json=False) == Exit.OK
    assert len((tmp_path / "c.csv").read_text().splitlines()) == 1 + WHOLE.count[:, 0].sum()


@pytest.mark.parametrize("words", [["plot", "-c", "contacts"], ["export", "-c", "contacts,diag.contacts"]])
def test_contacts_are_no_channel(path, words, capsys):
    assert cli_process.run_command([words[0], str(path), *words[1:]], debug=False, as_json=False) == Exit.USAGE
    assert "simcli export -c contacts" in capsys.readouterr().err


N_FRAMES, N_STEPS = 40, 3
PUT_MODEL = tiny_model()
PUT_ROWS, PUT_AXES = datasets(PUT_MODEL, PUT_CHANNELS), axes_of(PUT_MODEL)
PUT_WHOLE = frames(PUT_ROWS, PUT_AXES, 0, N_FRAMES)
QUICK = ("generalized", 4)  # the others compile for longer
# A ball leaves joint_q with numbers that are not of the tree; the four worlds fill a pack, the five do not.
SCENE = """
simcli: 1
bodies:
  arm: {mass: 1, inertia: {diag: [0.1, 0.2, 0.15]}, com: [0, 0, -0.5]}
  hand: {mass: 0.5, inertia: {diag: [0.1, 0.1, 0.1]}, com: [0, 0.1, -0.3]}
joints:
  shoulder: {type: revolute, parent: world, child: arm, axis: [0, 1, 0], q: 0.3}
  wrist: {type: ball, parent: arm, child: hand, parent_frame: {xyz: [0, 0, -1]}, qd: [0.1, 0.2, 0.3]}
solver: {type: SOLVER, dt: 1 ms}
run: {duration: 6 ms}
batch: {worlds: WORLDS}
"""


def recorder(path, **options):
    return Recorder(
        path,
        PUT_MODEL,
        collect_provenance([("a.yaml", "x")], "x", "cpu", "float64", 1),
        PUT_CHANNELS,
        N_FRAMES,
        process=RecorderHere(),
        **options,
    )


def record_in_place(out):
    """Put everything, made at its places where those are of its type; returns the paths and the addresses of these."""
    first, lent, addresses = 0, set(), set()
    while first < N_FRAMES:
        n = min(out.frames_wanted, N_FRAMES - first)
        block = frames(PUT_ROWS, PUT_AXES, first, n)
        for path, place in out.places(n).items():
            if place.dtype == block.columns[path].dtype:
                place[...] = block.columns[path]
                block.columns[path] = place
                lent.add(path)
                addresses.add(place.ctypes.data)
        out.put(block)
        first += n
    out.close("done")
    return lent, addresses


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_made_in_place_is_not_copied(tmp_path, monkeypatch, dtype):
    copied, copy = set(), np.copyto

    def noting(place, rows, **options):
        copied.add(place.ctypes.data)
        copy(place, rows, **options)

    monkeypatch.setattr(writer.np, "copyto", noting)
    lent, addresses = record_in_place(recorder(tmp_path / "a.h5", dtype=dtype))
    assert ("frames/body_q" in lent) == (dtype == "float64")
    assert copied
    assert not copied & addresses
    with h5py.File(tmp_path / "a.h5") as file:
        for path in PUT_WHOLE.columns.keys() & {row.path for row in PUT_ROWS if row.by_frame}:
            assert file[path][...].tobytes() == PUT_WHOLE.columns[path].astype(file[path].dtype).tobytes(), path


def test_columns_that_a_file_has_in_part_have_no_place(tmp_path):
    cut = replace(PUT_AXES, label=PUT_AXES.label | {"B": PUT_AXES.label["B"][:1]}, index={"B": np.array([0])})
    out = recorder(tmp_path / "a.h5", axes=cut)
    places = out.places(1)
    assert "frames/joint_q" in places
    assert "frames/body_q" not in places
    out.close("stopped")


def test_there_are_no_places_while_the_memory_is_full(tmp_path):
    out = recorder(tmp_path / "a.h5")
    free = out._ring.length
    assert out.places(1)
    out._n_put += free  # nothing of it is committed
    assert out.places(1) == {}
    out._n_put -= free
    out.close("stopped")


@pytest.mark.parametrize(
    ("name", "worlds"),
    [pytest.param(*one, marks=() if one == QUICK else pytest.mark.slow) for one in product(SOLVERS, (4, 5))],
)
def test_solvers_make_columns_in_place(tmp_path, name, worlds):
    path = tmp_path / "s.yaml"
    path.write_text(SCENE.replace("SOLVER", name).replace("WORLDS", str(worlds)))
    job = prepare(Request(path))
    plan = RunPlan(1e-3, 1, 2 * N_STEPS, frozenset(("state", "energy", "reactions")))
    device = live_device()
    solver = SOLVERS[name](job.model, job.spec.solver, plan, device)
    start, kept = solver.initial(), solver.state_arrays()
    elsewhere = {path: np.copy(column) for path, column in solver.advance(N_STEPS).columns.items()}
    solver.restore(kept, 0)
    places = {
        path: np.full((N_STEPS, *column.shape[1:]), np.nan, column.dtype)
        for path, column in start.columns.items()
        if path.startswith("frames/") and column.size
    }
    block = solver.advance(N_STEPS, places)
    in_place = {path for path, place in places.items() if np.shares_memory(place, block.columns[path])}
    fits = worlds % device.lanes == 0
    assert ("frames/body_q" in in_place) == fits
    assert name != "generalized" or in_place == (places.keys() if fits else set())
    for path, column in block.columns.items():
        assert column.tobytes() == elsewhere[path].tobytes(), path
        assert path not in in_place or places[path].tobytes() == column.tobytes(), path


HEADER_VERSION = 2
FEWEST = 30  # objects of the smaller file, so that an empty list does not pass
READERS = {"h5dump": ["h5dump"], "ncdump": ["ncdump"]}


@pytest.fixture(scope="module", params=["run", "result"])
def path_of_versions(request, tmp_path_factory):
    path = tmp_path_factory.mktemp(request.param) / "a.h5"
    if request.param == "run":
        write(path, n_frames=20, n_worlds=2)
        return path
    model, source = tiny_model(), collect_provenance([("a", "x")], "x", "cpu", "float64", 7)
    fields = [name for name, one in FIELDS.items() if "residual" not in name and not {*one.axes} & {*OWN_AXES}]
    with ResultWriter(path, "fk", fields, result_axes(model), source):
        return path


def test_no_object_is_newer_than_hdf5_1_10(path_of_versions):
    assert read_superblock(path_of_versions)[VERSION_AT] == VERSION
    assert not is_marked(read_superblock(path_of_versions))
    found = list(headers(path_of_versions.read_bytes()))
    assert len(found) > FEWEST
    assert {version for version, _ in found} == {HEADER_VERSION}
    messages = {message for _, messages in found for message in messages}
    assert DATATYPE in {kind for kind, _ in messages}
    assert [f"{NAMES[kind]} {version}" for kind, version in messages if version > NEWEST[kind]] == []


@pytest.mark.parametrize("tool", READERS)
def test_the_usual_programs_read_it(path_of_versions, tool):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    done = subprocess.run([*READERS[tool], str(path_of_versions)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-1000:]
    assert "joint_name" in done.stdout
