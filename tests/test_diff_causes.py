"""What `simcli diff` tells beside the channels: events and numbers of the model, by world and name."""

from dataclasses import replace

import h5py
import pytest
from support.diff_files import write_run

from simcli.analysis.diff.comparison import Asked, compare
from simcli.analysis.diff.extremes import Tolerance
from simcli.model.snapshot import Event
from simcli.records.reading.reader import open_trajectory


def events_of(tmp_path, other, **changes):
    """What the comparison tells of events of two runs that differ in nothing else."""
    mine = (Event(20, 0.02, 1, "SC601", 2, 0, 1, 2.5, "lost"), Event(50, 0.05, -1, "SC700", 0, -1, -1, 0.0, "set"))
    paths = [write_run(tmp_path / f"{k}.h5", events=some) for k, some in enumerate((mine, other(*mine)))]
    with open_trajectory(paths[0]) as a, open_trajectory(paths[1]) as b:
        found = compare(a, b, Asked(Tolerance(1e-6, 1e-9), **changes))
        assert not found.above
        return found.events


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (lambda lost, switch: (switch, lost), []),  # written in another order
        (lambda lost, switch: (lost,), [("only in A", -1, "SC700", "", 0.05, None)]),
        (lambda lost, switch: (lost, switch, replace(lost, step=90, time=0.09)),
         [("only in B", 1, "SC601", "body number 0", None, 0.09)]),
        (lambda lost, switch: (replace(lost, time=0.0209), switch), []),  # within a step
        (lambda lost, switch: (replace(lost, time=0.022, step=22), switch),
         [("time", 1, "SC601", "body number 0", 0.02, 0.022)]),
        (lambda lost, switch: (replace(lost, value=2.6), switch), [("value", 1, "SC601", "body number 0", 0.02, 0.02)]),
        (lambda lost, switch: (replace(lost, body=1), switch), [("only in A", 1, "SC601", "body number 0", 0.02, None),
                                                               ("only in B", 1, "SC601", "body number 1", None, 0.02)]),
    ],
)  # fmt: skip
def test_events_that_differ_are_told(tmp_path, other, told):
    found = events_of(tmp_path, other)
    assert [(one.reason, one.world, one.code, one.subject, one.time_a, one.time_b) for one in found] == told


def test_events_of_other_worlds_and_later_times_are_left_out(tmp_path):
    assert events_of(tmp_path, lambda lost, switch: (switch,), worlds=[0, 2]) == []
    assert len(events_of(tmp_path, lambda lost, switch: (switch,), worlds=[1])) == 1
    late = Event(5000, 5.0, 0, "SC604", 0, -1, -1, 0.0, "after the last frame")
    assert events_of(tmp_path, lambda lost, switch: (lost, switch, late)) == []


@pytest.mark.parametrize(
    ("table", "index", "factor", "told"),
    [
        ("body_mass", (2, 1), 1.5, ("body_mass", "kg", ("link1",), 2)),
        ("body_inertia", (0, 2, 1, 1), 3.0, ("body_inertia", "kg m^2", ("ball", "y", "y"), None)),
        ("body_mass", (2, 1), 1 + 1e-7, None),
    ],
)
def test_numbers_of_the_model_that_differ_are_told(tmp_path, table, index, factor, told):
    path, other = write_run(tmp_path / "a.h5"), tmp_path / "b.h5"
    other.write_bytes(path.read_bytes())
    with h5py.File(other, "r+") as file:
        values = file[f"model/{table}"][...]
        before = values[index]
        values[index] *= factor
        file[f"model/{table}"][...] = values
    with open_trajectory(path) as a, open_trajectory(other) as b:
        found = compare(a, b, Asked(Tolerance(1e-6, 1e-9)))
        assert not found.above
        assert [(one.name, one.unit, one.entry, one.world) for one in found.model] == ([told] if told else [])
        assert [(one.a, one.b, one.count) for one in found.model] == ([(before, before * factor, 1)] if told else [])


def test_the_order_of_bodies_is_no_difference_of_the_model(tmp_path):
    first, second = write_run(tmp_path / "a.h5"), write_run(tmp_path / "b.h5", order=[2, 0, 1])
    with open_trajectory(first) as a, open_trajectory(second) as b:
        assert a.model["joint_child"].tolist() != b.model["joint_child"].tolist()
        assert compare(a, b, Asked(Tolerance(1e-6, 1e-9))).model == []
