"""Promises about worlds, where contacts differ in number: batches, resumed runs, a world that fails.

By default test_contact_closed_forms.py compares a world alone with the same world in a batch.
"""

from dataclasses import replace

import pytest
from support.contact_scenes import NEUTRAL, RADIUS, YARD, batch, scene, write
from support.large_worlds import column, heap, overlapping_pile
from support.runs import committed, differing, digest, worlds_of

from simcli import pipeline
from simcli.records.reading.reader import open_trajectory

slow = pytest.mark.slow
STEP, EVERY, FRAMES = 1e-2, 0.02, 64
# Zero, one, four and five contacts, some of them for a time: packs of four hold all kinds.
KINDS = [{"z": 0.3, "e": 0.8}, {"v": 2.0}, {"z": 0.6}, {"a": 0.3, "mu": 0.4}, {"u": 2.0}, {"z": 1.0, "e": 1.0, "roll": 1e-3}]
N_WORLDS = 64
CASES = {f"case {k}": {**KINDS[k % len(KINDS)], "w": 0.5 * k} for k in range(N_WORLDS)}


@pytest.fixture(autouse=True)
def _commits_often(monkeypatch):
    monkeypatch.setattr("simcli.records.writing.writer.PATIENCE_S", 0.0)


@pytest.fixture(scope="module", params=[pytest.param(one, marks=slow) for one in ("generalized", "maximal", "natural")])
def yard(request, tmp_path_factory):
    """Folder, request and rows of the whole batch."""
    folder = tmp_path_factory.mktemp(request.param)
    content = {**scene(request.param, STEP, EVERY * FRAMES, YARD, EVERY), "batch": batch(CASES, NEUTRAL)}
    asked = pipeline.Request(write(folder, "yard", content), folder / "whole.h5", device="cpu")
    outcome = execute(asked)
    assert not outcome.failures
    return folder, asked, committed(folder / "whole.h5")


def execute(asked, stop_after=None):
    """Run; ask to stop once so many frames are there."""
    return pipeline.execute(pipeline.prepare(asked), lambda tick: stop_after is None or tick.frames < stop_after)


def test_worlds_differ_in_contacts(yard):
    assert set(yard[2]["diag/contacts"].ravel()) >= {4, 5}
    assert yard[2]["diag/contacts"].std(axis=1).max() > 0


@pytest.mark.parametrize("world", [0, 3, 5, 62])
def test_a_world_alone_is_the_same(yard, world):
    folder, asked, rows = yard
    execute(replace(asked, output=folder / f"{world}.h5", worlds=(world,), force=True))
    assert not differing(worlds_of(rows, [world]), worlds_of(committed(folder / f"{world}.h5"), [0]))


@slow
def test_fewer_worlds_are_the_same(yard):
    folder, asked, rows = yard
    few = dict(list(CASES.items())[:5])
    content = {**scene(asked_solver(asked), STEP, EVERY * FRAMES, YARD, EVERY), "batch": batch(few, NEUTRAL)}
    execute(replace(asked, scene=write(folder, "few", content), output=folder / "few.h5", force=True))
    assert not differing(worlds_of(rows, range(5)), worlds_of(committed(folder / "few.h5"), range(5)))


def asked_solver(asked):
    return asked.output.parent.name.rstrip("0123456789")


@slow
def test_resumed_runs_end_at_the_same_bytes(yard, monkeypatch):
    folder, asked, _ = yard
    cut = replace(asked, output=folder / "cut.h5", checkpoint_every=0.0, force=True)
    with monkeypatch.context() as patched:
        patched.setattr("simcli.solvers.run.solver.CALL_SECONDS", 0.0)
        assert execute(cut, 20).status == "stopped"
    outcome = execute(replace(cut, resume=True, force=False))
    assert outcome.status == "done"
    assert outcome.first_frame > 0
    assert digest(folder / "cut.h5") == digest(folder / "whole.h5")


@slow
def test_a_world_that_fails_changes_no_other(yard):
    """A ball so fast that it passes the fastest velocity; its world is frozen, and named."""
    folder, asked, rows = yard
    bad = 2
    cases = {name: {**case, **({"u": 1e7} if k == bad else {})} for k, (name, case) in enumerate(CASES.items())}
    content = {**scene(asked_solver(asked), STEP, EVERY * FRAMES, YARD, EVERY), "batch": batch(cases, NEUTRAL)}
    outcome = execute(replace(asked, scene=write(folder, "bad", content), output=folder / "bad.h5", force=True))
    assert [failure.world for failure in outcome.failures] == [bad]
    others = [k for k in range(N_WORLDS) if k != bad]
    assert not differing(worlds_of(rows, others), worlds_of(committed(folder / "bad.h5"), others))
    with open_trajectory(folder / "bad.h5") as run:
        assert not run.diag.status[:][:, others].any()


def test_resting_ball_has_its_height(yard):
    _, _, rows = yard
    assert RADIUS * 0.999 < rows["frames/body_q"][-1, 1, 1, 2] < RADIUS * 1.001


HEAPED = (
    {"type": "box", "size": [0.2, 0.15, 0.1]},
    {"type": "sphere", "radius": 0.1},
    {"type": "capsule", "radius": 0.05, "length": 0.1},
    {"type": "cylinder", "radius": 0.08, "length": 0.1},
)


@pytest.mark.full
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_pairs_found_by_a_tree_are_those_of_all(precision, tmp_path, monkeypatch):
    """A heap that falls, a body far away, two at one place: the same bytes with the tree of boxes and pair by pair."""
    content = heap(3, 4, HEAPED[0])
    for k, body in enumerate(content["bodies"].values()):
        body["shapes"]["s"] = HEAPED[k % len(HEAPED)]
    first, *_, twin, far = content["bodies"].values()
    twin["pose"], far["pose"] = dict(first["pose"]), {"xyz": [1e5, 0, 0.2]}
    content |= {"solver": {"dt": STEP, "precision": precision}, "run": {"duration": 0.6}}
    content["output"] = {"every": EVERY, "channels": ["state", "contacts"]}
    found = []
    for name, many in (("tree", 2), ("pairs", 10**6)):
        monkeypatch.setattr("simcli.kernels.collision.collider.MANY_SHAPES", many)
        execute(pipeline.Request(write(tmp_path, name, content), tmp_path / f"{name}.h5", device="cpu"))
        found.append(committed(tmp_path / f"{name}.h5"))
    assert found[0]["diag/contacts"].max() > 40
    assert not differing(*found)


@pytest.mark.parametrize(
    "mode", [pytest.param(one, marks=slow if one != "generalized" else ()) for one in ("generalized", "maximal", "natural")]
)
def test_a_pile_that_begins_in_overlap_is_trusted(tmp_path, mode):
    """Redundant contacts of boxes that are pushed apart by 1 cm, and land on each other: a load travels far between them."""
    asked = pipeline.Request(write(tmp_path, "pile", overlapping_pile(mode)), tmp_path / "pile.h5", device="cpu")
    outcome = execute(asked)
    assert not outcome.untrusted
    with open_trajectory(tmp_path / "pile.h5") as run:
        residual = run.read("diag/residual")
    assert (residual > 1e-6).mean() < 0.1
    assert residual[-20:].max() < 1e-6


@pytest.mark.parametrize("mode", ["generalized", "maximal"])
@pytest.mark.parametrize("contact", [{}, {"linear": "sparse"}, {"tolerance": 1e-5}], ids=lambda contact: str(contact))
def test_what_rests_needs_no_iterations(tmp_path, mode, contact):
    """Impulses of a column at rest stay for many steps, and bodies with them: no cycle of steps that undo each other."""
    content = column(6, {"type": mode, "contact": contact})
    execute(pipeline.Request(write(tmp_path, "column", content), tmp_path / "column.h5", device="cpu"))
    with open_trajectory(tmp_path / "column.h5") as run:
        iterations, speeds = run.read("diag/iterations")[500:], run.read("frames/body_qd")[500:]
    assert iterations.mean() < 0.35  # in a cycle 0.66
    assert abs(speeds).max() < 20 * contact.get("tolerance", 1e-8)
