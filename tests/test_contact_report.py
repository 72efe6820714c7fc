"""From device slots to the file: contacts that are made up of the state come back as that state says they must."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
from support.runs import committed, differing, digest
from support.touching import MOST, SCENE, TOLERANCE, touch

import simcli as package
from simcli import pipeline
from simcli.cli.summary import outcome_json, outcome_text
from simcli.records.integrity import verify
from simcli.solvers.contact_report import SUMMARY, gather, unsolved_events
from simcli.spec.overrides import Override

WORLDS = 6  # more than a pack of lanes, no multiple of it
VARIED = (Override("--vary", "joints.pin.q=uniform(0.6, 2.6)"), f"batch.worlds={WORLDS}")
DURATION, EVERY = 0.9, 0.01
FAST, TOO_FAST = 6.0, 12.0  # [rad/s], see support.touching


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("touching")
    (folder / "s.yaml").write_text(SCENE)
    sets = (*VARIED, f"run.duration={DURATION}", f"output.every={EVERY}")
    return pipeline.Request(folder / "s.yaml", folder / "whole.h5", sets, device="cpu")


@pytest.fixture(autouse=True)
def _touching(monkeypatch, all_honoured):
    touch(monkeypatch)
    monkeypatch.setattr("simcli.records.writer.PATIENCE_S", 0.0)


def run(asked, name="", sets=(), watch=pipeline.keep_going, **more):
    output = asked.output.with_name(f"{name}.h5") if name else asked.output
    asked = replace(asked, output=output, sets=(*asked.sets, *sets), **more)
    return pipeline.execute(pipeline.prepare(asked), watch)


@pytest.fixture(scope="module")
def whole(asked):
    """The uninterrupted run: its outcome; the file is `asked.output`."""
    with pytest.MonkeyPatch.context() as patch:
        touch(patch)
        patch.setattr("simcli.spec.honours.check_honours", lambda check, tree: None)
        return run(asked)


def expected(q):
    """Contacts of one world with the first coordinate q, as support.touching makes them; NaN: it has ended."""
    if np.isnan(q):
        return np.zeros((0, 12))
    r = q + np.arange(np.floor((q * q) % (MOST + 1.0)))
    zero = np.zeros_like(r)
    columns = (zero, zero + 1, r, zero + q, zero, zero, zero, zero + 1, (0.5 - q) * r, zero, zero + q, r)
    return np.stack(columns, axis=-1)


def test_every_contact_is_where_it_belongs(asked, whole):
    with package.open(asked.output) as file:
        q, status = file.joint("pin").q[..., 0], file.diag.status[...]
        assert (status == 7).any()
        assert not status.all()
        wanted = [expected(x) for x in q.reshape(-1)]
        table = file.contact_table()
        at = table.pop("frame") * WORLDS + table.pop("world")
        assert np.array_equal(at, np.repeat(np.arange(q.size), [len(rows) for rows in wanted]))
        assert np.array_equal(np.column_stack([*table.values()]), np.concatenate(wanted))
        ended = status.reshape(-1) != 0
        deepest = [max([0.0, *-rows[:, 8]]) for rows in wanted]
        assert np.array_equal(file.diag.contacts[...].reshape(-1), np.where(ended, -1, [len(rows) for rows in wanted]))
        assert np.array_equal(file.diag.penetration[...].reshape(-1), np.where(ended, np.nan, deepest), equal_nan=True)
        assert np.array_equal(np.isnan(file.diag.residual[...]).reshape(-1), ended)
        assert {len(rows) for rows in wanted} >= {0, 1, 2, MOST}
    assert verify(asked.output) == []


def first_above(speed, bound):
    """(W,) first row at which a rate passes a bound, the number of rows where it does not, or ends."""
    above = ~(speed <= bound)
    return np.where(above.any(axis=0), above.argmax(axis=0), len(speed))


def test_events_come_at_the_steps_where_it_happened(asked, whole):
    """Judged by the same run with a frame for every step; what a call or a block holds does not enter."""
    run(asked, "fine", (f"output.every={1e-3}", "output.channels=[joints]"))
    with package.open(asked.output.with_name("fine.h5")) as fine, package.open(asked.output) as file:
        speed = np.abs(fine.joint("elbow").qd[..., 0])
        assert "contacts/offset" not in fine._file
        assert (fine.diag.contacts[...] >= -1).all()
        events = file.events
        assert [event for event in fine.events if event.code != "SC602"] == events
        slow, over = first_above(speed, FAST), first_above(speed, TOO_FAST)
        n = len(speed) - 1
        warned = {event.world: event for event in events if event.code == "SC661"}
        counted = {event.world: event for event in events if event.code == "SC662"}
        failed = {event.world: event for event in events if event.code == "SC660"}
        assert warned.keys() == counted.keys() == set(np.flatnonzero(slow <= n))
        assert failed.keys() == set(np.flatnonzero(over <= n))
        assert 0 < len(failed) < WORLDS
        for world, event in warned.items():
            assert (event.step, event.severity) == (slow[world], 1)
            assert event.value == speed[slow[world], world] * (TOLERANCE / 6.0)
            assert counted[world].step == n
        for world, event in failed.items():
            assert (event.step, event.severity, event.value) == (over[world], 2, 9.0)
            assert event.text == f"9 contacts, but there is room for {MOST}: write contact: {{capacity: 18}}"
            assert counted[world].value >= over[world] - slow[world]
        for world in set(warned) - set(failed):
            assert counted[world].value == (speed[:, world] > FAST).sum()


def test_warnings_are_said_and_counted(whole):
    counts = whole.warnings
    assert counts["SC661"] == counts["SC662"] > 0
    assert f"warnings: SC661 x {counts['SC661']}, SC662 x {counts['SC662']}" in outcome_text(whole)
    assert outcome_json(whole)["warnings"] == counts


def test_a_run_that_goes_on_ends_with_the_same_bytes(asked, whole, monkeypatch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.solvers.generalized.CALL_SECONDS", 0.0)  # one frame a call
        outcome = run(asked, "cut", watch=lambda tick: tick.frames < 40)
        assert outcome.status == "stopped"
    outcome = run(asked, "cut", resume=True)
    assert 0 < outcome.first_frame < outcome.n_frames
    assert outcome.warnings == whole.warnings
    assert digest(asked.output.with_name("cut.h5")) == digest(asked.output)
    assert not differing(committed(asked.output.with_name("cut.h5")), committed(asked.output))


@pytest.mark.slow
@pytest.mark.parametrize("world", range(WORLDS))
def test_a_world_alone_has_the_same_contacts(asked, whole, world):
    run(asked, f"world{world}", world=world)
    with package.open(asked.output.with_name(f"world{world}.h5")) as alone, package.open(asked.output) as batch:
        for f in range(batch.n_frames):
            one, other = alone.contacts(f, 0), batch.contacts(f, world)
            assert all(one[name].tobytes() == other[name].tobytes() for name in one)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "implicit"])
def test_every_kind_of_step_reports(asked, whole, integrator, precision):
    sets = (f"solver.integrator={integrator}", f"solver.precision={precision}", "run.duration=0.1")
    run(asked, f"{integrator}-{precision}", (*sets, "output.select=[upper, pin]"))
    with h5py.File(asked.output.with_name(f"{integrator}-{precision}.h5")) as file:
        assert len(file["contacts/gap"]) == 0  # all of them are of the other body
        assert (file["diag/contacts"][...] >= 0).all()
        q = file["frames/joint_q"][..., 0].astype(np.float64)
        assert file["diag/contacts"][...].tolist() == np.floor((q * q) % (MOST + 1.0)).tolist()


def test_what_is_left_over_is_never_read():
    """Room behind the contacts holds anything; worlds that have ended have none."""
    rng = np.random.default_rng(0)
    summary = np.full((3, 2, len(SUMMARY)), np.nan)
    summary[..., 0] = [[0, 4], [2, 1], [3, 3]]
    rows = rng.normal(size=(3, 2, 4 * 12))
    status = np.array([[0, 0], [0, 0], [0, 5]])
    summary[2, 1, 0] = np.nan
    found = gather(summary, rows, status)
    assert found.count.tolist() == [[0, 4], [2, 1], [3, 0]]
    table = np.column_stack([*found.columns.values()])
    wanted = [rows[f, w].reshape(4, 12)[:n] for (f, w), n in np.ndenumerate(found.count)]
    assert np.array_equal(table, np.concatenate(wanted))


def test_a_call_without_unsolved_steps_says_nothing():
    summary = np.zeros((3, len(SUMMARY)))
    assert unsolved_events(summary, 100, 1e-3, True, 200) == []
    summary[1, SUMMARY.index("unsolved")] = 7  # of calls before
    assert unsolved_events(summary, 100, 1e-3, False, 200) == []
    (event,) = unsolved_events(summary, 100, 1e-3, True, 200)
    assert (event.code, event.world, event.step, event.value) == ("SC662", 1, 200, 7.0)
