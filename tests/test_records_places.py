"""Columns made where the recorder wants them: the same bytes as elsewhere, and nothing is copied."""

from dataclasses import replace
from itertools import product

import h5py
import numpy as np
import pytest
from support.device import live_device
from support.recorder_here import RecorderHere
from support.tiny_model import datasets, frames, tiny_model

from simcli.pipeline import Request, prepare
from simcli.records.contents.layout import CHANNELS, axes_of
from simcli.records.contents.provenance import collect_provenance
from simcli.records.writing import writer
from simcli.records.writing.writer import Recorder
from simcli.solvers import SOLVERS, RunPlan

N_FRAMES, N_STEPS = 40, 3
MODEL = tiny_model()
ROWS, AXES = datasets(MODEL, CHANNELS), axes_of(MODEL)
WHOLE = frames(ROWS, AXES, 0, N_FRAMES)
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
    return Recorder(path, MODEL, collect_provenance([("a.yaml", "x")], "x", "cpu", "float64", 1), CHANNELS, N_FRAMES,
                    process=RecorderHere(), **options)  # fmt: skip


def record_in_place(out):
    """Put everything, made at its places where those are of its type; returns the paths and the addresses of these."""
    first, lent, addresses = 0, set(), set()
    while first < N_FRAMES:
        n = min(out.frames_wanted, N_FRAMES - first)
        block = frames(ROWS, AXES, first, n)
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
        for path in WHOLE.columns.keys() & {row.path for row in ROWS if row.by_frame}:
            assert file[path][...].tobytes() == WHOLE.columns[path].astype(file[path].dtype).tobytes(), path


def test_columns_that_a_file_has_in_part_have_no_place(tmp_path):
    cut = replace(AXES, label=AXES.label | {"B": AXES.label["B"][:1]}, index={"B": np.array([0])})
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
    places = {path: np.full((N_STEPS, *column.shape[1:]), np.nan, column.dtype) for path, column in start.columns.items()
              if path.startswith("frames/") and column.size}  # fmt: skip
    block = solver.advance(N_STEPS, places)
    in_place = {path for path, place in places.items() if np.shares_memory(place, block.columns[path])}
    fits = worlds % device.lanes == 0
    assert ("frames/body_q" in in_place) == fits
    assert name != "generalized" or in_place == (places.keys() if fits else set())
    for path, column in block.columns.items():
        assert column.tobytes() == elsewhere[path].tobytes(), path
        assert path not in in_place or places[path].tobytes() == column.tobytes(), path
