"""What differs between two runs: bit by bit, and by time, world and name. Budget: 25 s."""

import shutil

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.diff_files import CHANNELS, PERIOD, ROW_LABEL, SCENE, flip_bit, write_many, write_run
from support.process import python
from support.tiny_model import tiny_model

from simcli.analysis.diff.comparison import WORK_OF_SOLVER, Asked, compare
from simcli.analysis.diff.extremes import Tolerance
from simcli.analysis.diff.labelled import oriented
from simcli.analysis.diff.run_pairs import Align, pair_frames
from simcli.errors import FileError, UsageError
from simcli.model.snapshot import Event, Status
from simcli.records.contents.layout import selected
from simcli.records.contents.select import axes_of
from simcli.records.integrity.bits import differing_bits, size_of_rows
from simcli.records.reading.reader import open_trajectory
from simcli.records.reading.tiles import held, read_tile

STRICT, LOOSE = Tolerance(0.0, 0.0), Tolerance(1e-6, 1e-9)
EVENTS = (Event(20, 0.02, 1, "SC601", 2, 0, -1, 1.5, "first"), Event(50, 0.05, 2, "SC661", 1, -1, 1, 2.5, "second"))
ROWS = [row.path for row in selected(axes_of(tiny_model(), ROW_LABEL), CHANNELS)]
TABLES = [
    *(f"model/{name}" for name in ("body_mass", "joint_parent", "shape_vertex", "initial_joint_q")),
    "params/value",
    "params/seed",
]
MOST_BYTES = 200e6  # of a process, however large the files are


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("diff")


@pytest.fixture(scope="module")
def path(folder):
    return write_run(folder / "a.h5", events=EVENTS)


def compared(a, b, tolerance=STRICT, **options):
    with open_trajectory(a) as first, open_trajectory(b) as second:
        return compare(first, second, Asked(tolerance, **options))


def bits_of(a, b):
    with open_trajectory(a) as first, open_trajectory(b) as second:
        return differing_bits(first, second)


def by_name(found):
    return {channel.name: channel for channel in found.channels}


def test_a_file_is_equal_to_itself(path):
    assert bits_of(path, path) == []
    found = compared(path, path)
    assert not found.above
    assert not any(channel.differs for channel in found.channels)
    assert (found.scene, found.facts, found.names, found.params, found.only_a, found.only_b) == ([], [], [], [], [], [])
    assert len(found.pairs.a) == 12


def test_every_dataset_that_is_held_is_in_the_list(path):
    with open_trajectory(path) as run:
        assert sorted(row.path for row in held(run)) == sorted(ROWS)
        committed = sum(run._file[row].size * run._file[row].dtype.itemsize for row in ROWS)
        assert size_of_rows(run) == committed


# One by one for some kinds of datasets; all at once for the rest, because each comparison opens some hundred datasets.
FLIPPED = [
    [name]
    for name in ("frames/body_q", "diag/iterations", "contacts/offset", "contacts/force", "events/text", "model/body_mass")
]
FLIPPED.append([name for name in [*ROWS, *TABLES] if [name] not in FLIPPED])


@pytest.mark.parametrize("datasets", FLIPPED, ids=lambda names: names[0])
@pytest.mark.parametrize("seed", [1, 2])
def test_one_flipped_bit_of_a_dataset_is_found_and_named(path, tmp_path, datasets, seed):
    other, random, flipped = shutil.copy(path, tmp_path / "b.h5"), np.random.default_rng(seed), {}
    for name in datasets:
        with h5py.File(path) as file:
            shape, dtype = file[name].shape, file[name].dtype
        index = tuple(int(random.integers(n)) for n in shape)
        bit = int(random.integers(8 * dtype.itemsize if dtype.kind != "S" else 8))
        flipped[name] = (index, bit, *(x.tobytes() for x in flip_bit(other, name, index, bit)))
    found = {one.path: one for one in bits_of(path, other)}
    assert found.keys() == flipped.keys()
    with open_trajectory(path) as run:
        rows = {row.path: row for row in held(run)}
        for name, one in found.items():
            assert (one.index, one.bit, one.a.tobytes(), one.b.tobytes()) == flipped[name]
            assert (one.reason, one.count, one.bits) == ("value", 1, 1)
            assert_place(run, rows.get(name), one)
    order = [len(flipped) + 99 if one.frame is None else one.frame for one in found.values()]
    assert order == sorted(order)


def assert_place(run, row, one):
    """Frame, time, world and names of the entry are those of the index."""
    index = one.index
    if row is not None and row.by_frame:
        assert (one.frame, one.time) == (index[0], run.time[index[0]])
        assert one.world == (index[1] if len(index) > 1 else None)
        assert list(one.entry) == [run._axes.label[axis][k] for axis, k in zip(row.axes[2:], index[2:], strict=True)]
    elif one.path.startswith("contacts/"):
        offset = run._file["contacts/offset"][...]
        pair = max(index[0] - 1, 0) if one.path.endswith("offset") else int(np.flatnonzero(offset <= index[0])[-1])
        assert (one.frame, one.world) == divmod(pair, run.n_worlds)
    elif one.path.startswith("events/"):
        assert (one.time, one.world) == (EVENTS[index[0]].time, EVENTS[index[0]].world)
    elif one.path == "model/body_mass":
        assert one.entry == (f"row {index[0]}", run.bodies[index[1]])


def test_signs_of_zero_and_payloads_of_nan_are_bits(tmp_path):
    def zero(columns):
        columns["energy/total"][2, 1] = 0.0
        columns["energy/drift"][3, 1] = np.nan

    a = write_run(tmp_path / "a.h5", change=zero)
    b = shutil.copy(a, tmp_path / "b.h5")
    flip_bit(b, "energy/total", (2, 1), 63)
    flip_bit(b, "energy/drift", (3, 1), 0)
    found = bits_of(a, b)
    assert [(one.path, one.frame, one.bit, one.part) for one in found] == [
        ("energy/total", 2, 63, "sign"),
        ("energy/drift", 3, 0, "significand"),
    ]
    assert not any(channel.differs for channel in compared(a, b).channels)


def test_the_first_in_time_comes_first_and_all_are_counted(path, tmp_path):
    b = shutil.copy(path, tmp_path / "b.h5")
    flip_bit(b, "frames/joint_q", (9, 0, 1), 55)
    for place in ((4, 2, 1, 6), (4, 1, 2, 0), (11, 0, 0, 0)):
        flip_bit(b, "frames/body_q", place, 3)
    first, second = bits_of(path, b)
    assert (first.path, first.frame, first.world, first.entry, first.count) == ("frames/body_q", 4, 1, ("ball", "px"), 3)
    assert (second.path, second.frame, second.part) == ("frames/joint_q", 9, "exponent")


def test_what_keeps_datasets_from_being_compared_bit_by_bit_is_told(path, tmp_path):
    fewer = write_run(tmp_path / "fewer.h5", which=range(9), events=EVENTS)
    reasons = {one.path: (one.reason, one.a, one.b) for one in bits_of(path, fewer)}
    assert reasons["frames/joint_q"] == ("length", 12, 9)
    assert {reason for reason, _, _ in reasons.values()} == {"length"}
    narrow = {one.path: one.reason for one in bits_of(path, write_run(tmp_path / "narrow.h5", n_worlds=2, events=EVENTS))}
    assert narrow["frames/body_q"] == narrow["params/value"] == "shape"
    single = {
        one.path: (one.reason, one.a, one.b)
        for one in bits_of(path, write_run(tmp_path / "single.h5", dtype="float32", events=EVENTS))
    }
    assert single["energy/total"] == ("type", "float64", "float32")
    write_run(tmp_path / "lean.h5", channels=["energy"], events=EVENTS)
    lean = {one.path: one.reason for one in bits_of(tmp_path / "lean.h5", path)}
    assert lean["frames/joint_q"] == "only in B"
    assert "energy/total" not in lean


def test_common_worlds_and_frames_are_still_compared_bit_by_bit(path, tmp_path):
    def change(columns):
        columns["energy/total"][5, 1] += 1.0

    other = write_run(tmp_path / "b.h5", which=range(9), n_worlds=2, change=change, events=EVENTS)
    # the numbers of `tiny_model.frames` go through the worlds: those of 2 worlds are not those of 3
    found = [one for one in bits_of(other, other) + bits_of(path, other) if one.path == "energy/total"]
    assert {one.reason for one in found} == {"shape", "value"}


def bump(name, place, by):
    def change(columns):
        columns[name][place] += by

    return change


@pytest.mark.parametrize(
    ("name", "place", "channel", "label"),
    [
        ("frames/joint_q", (3, 1, 1), "joint.hinge1.q", "joint.hinge1.q"),
        ("frames/joint_q", (3, 1, 4), "joint.ball_free.q", "joint.ball_free.q.2"),
        ("frames/joint_effort", (3, 1, 7), "joint.ball_free.effort", "joint.ball_free.effort.5"),
        ("frames/joint_wrench", (3, 1, 0, 5), "joint.hinge0.wrench", "joint.hinge0.wrench.tz"),
        ("frames/body_q", (3, 1, 2, 1), "body.ball.position", "body.ball.position.y"),
        ("frames/body_qd", (3, 1, 0, 3), "body.link0.angular_velocity", "body.link0.angular_velocity.x"),
        ("frames/body_qdd", (3, 1, 0, 2), "body.link0.acceleration", "body.link0.acceleration.z"),
        ("frames/multiplier", (3, 1, 1), "multiplier.hinge0.y", "multiplier.hinge0.y"),
        ("frames/point/link1/tip/velocity", (3, 1, 0), "point.link1/tip.velocity", "point.link1/tip.velocity.x"),
        ("energy/drift", (3, 1), "energy.drift", "energy.drift"),
        ("diag/status", (3, 1), "diag.status", "diag.status"),
        ("diag/iterations", (3, 1), "diag.iterations", "diag.iterations"),
    ],
)
def test_one_changed_number_is_found_by_name(path, tmp_path, name, place, channel, label):
    other = write_run(tmp_path / "b.h5", change=bump(name, place, 1), events=EVENTS)
    found = compared(path, other, LOOSE)
    (one,) = [each for each in found.channels if each.differs]
    spread = one.spread
    assert (one.name, one.worst.label, one.is_above, one.n_above) == (channel, label, True, 1)
    assert (spread.absolute.frame, spread.absolute.world, spread.first.frame, spread.first.world) == (3, 1, 3, 1)
    assert (spread.n, spread.n_different, spread.n_above) == (36, 1, 1)
    assert spread.absolute.value == pytest.approx(1.0)
    assert spread.absolute.b == pytest.approx(spread.absolute.a + 1)
    assert found.times[3] == pytest.approx(3 * PERIOD)


def test_a_difference_within_tolerance_is_told_and_not_above(path, tmp_path):
    found = compared(path, write_run(tmp_path / "b.h5", change=bump("energy/total", (3, 1), 1e-8), events=EVENTS), LOOSE)
    one = by_name(found)["energy.total"]
    assert one.differs
    assert not found.above
    assert 0 < one.spread.excess.value < 1


def test_a_code_of_a_world_has_no_tolerance(path, tmp_path):
    failed = write_run(tmp_path / "b.h5", change=bump("diag/status", (7, 2), int(Status.TOO_FAST)), events=EVENTS)
    (one,) = compared(path, failed, Tolerance(10.0, 10.0)).above
    assert (one.name, one.spread.first.frame, one.spread.first.world) == ("diag.status", 7, 2)


def test_nan_equals_nan_and_differs_from_numbers(path, tmp_path):
    def lost(columns):
        columns["frames/joint_q"][8:, 1] = np.nan

    a, same = (write_run(tmp_path / name, change=lost) for name in ("a.h5", "same.h5"))
    assert not any(channel.differs for channel in compared(a, same).channels)
    found = compared(path, a, Tolerance(1e9, 1e9))
    assert {one.name for one in found.above} == {"joint.hinge0.q", "joint.hinge1.q", "joint.ball_free.q"}
    for one in found.above:
        assert (one.spread.first.frame, one.spread.first.world) == (8, 1)
        assert np.isinf(one.spread.absolute.value)
        assert one.spread.n_above == 4


def test_opposite_quaternions_are_one_rotation(path, tmp_path):
    def turn(columns):
        columns["frames/body_q"][2:5, :, :, 3:] *= -1
        columns["frames/joint_q"][2:5, :, 5:9] *= -1

    assert not any(channel.differs for channel in compared(path, write_run(tmp_path / "b.h5", change=turn)).channels)
    assert {one.path for one in bits_of(path, tmp_path / "b.h5")} >= {"frames/body_q", "frames/joint_q"}
    assert compared(path, write_run(tmp_path / "c.h5", change=bump("frames/body_q", (2, 0, 0, 4), 1e-3)), LOOSE).above


def test_other_rhythms_are_compared_at_equal_times(path, tmp_path):
    every_third = write_run(tmp_path / "b.h5", which=range(0, 12, 3), dt=5e-4)
    found = compared(path, every_third)
    assert (len(found.pairs.a), found.pairs.only_a, found.pairs.only_b) == (4, 8, 0)
    assert list(found.pairs.a) == [0, 3, 6, 9]
    assert not found.above
    assert [channel.name for channel in found.channels if channel.name.startswith("contacts")]
    backwards = compared(every_third, path)
    assert list(backwards.pairs.b) == [0, 3, 6, 9]
    assert not backwards.above


def test_aligned_by_step_frames_of_one_count_are_compared(path, tmp_path):
    halved = write_run(tmp_path / "b.h5", dt=5e-4)
    with open_trajectory(path) as a, open_trajectory(halved) as b:
        assert list(pair_frames(a, b).a) == list(range(12))
        by_step = pair_frames(a, b, Align.STEP)
        assert (list(by_step.a), list(by_step.b)) == ([0, 2, 4, 6, 8, 10], [0, 1, 2, 3, 4, 5])
        assert (a.step[by_step.a[:]] == b.step[by_step.b[:]]).all()
    assert compared(path, halved, LOOSE, align=Align.STEP).above


def test_no_common_frame_is_wrong_usage(tmp_path):
    a, b = write_run(tmp_path / "a.h5", which=range(3)), write_run(tmp_path / "b.h5", which=range(5, 8))
    with pytest.raises(UsageError, match=r"3 from 0 to 0\.02 s.*try --align step"):
        compared(a, b)
    one, other = (write_run(tmp_path / f"{k}.h5", which=[k]) for k in (0, 5))
    with pytest.raises(UsageError, match="no frame of"):
        compared(one, other)


def test_times_that_do_not_rise_are_damage(path, tmp_path):
    other = shutil.copy(path, tmp_path / "b.h5")
    flip_bit(other, "frames/time", (4,), 63)
    with pytest.raises(FileError, match="/frames/time does not increase"):
        compared(path, other)


def test_selections_channels_orders_and_types_compare_by_name(path, tmp_path):
    links = compared(path, write_run(tmp_path / "links.h5", select=["link*", "hinge*"]))
    assert not links.above
    assert "body.ball.position" in links.only_a
    assert links.only_b == []
    assert ("bodies", ("ball",), ()) in [(one.kind, one.only_a, one.only_b) for one in links.names]
    lean = compared(write_run(tmp_path / "lean.h5", channels=["energy"]), path)
    assert not lean.above
    assert lean.only_a == []
    assert {"joint.hinge0.q", "contacts"} <= set(lean.only_b)
    turned = write_run(tmp_path / "turned.h5", order=[2, 0, 1], channels=["state", "reactions"])
    by_order = compared(path, turned)
    assert not by_order.above
    assert [(one.kind, one.reordered) for one in by_order.names] == [("bodies", True)]
    single = compared(path, write_run(tmp_path / "single.h5", dtype="float32"), Tolerance(1e-7, 1e-7))
    assert not single.above
    assert ("output.dtype", "float64", "float32") in [(one.key, one.a, one.b) for one in single.facts]


def test_orders_and_selections_do_not_hide_a_difference(path, tmp_path):
    for options in ({"order": [2, 0, 1]}, {"select": ["link1"]}, {"dtype": "float32"}, {"which": range(0, 12, 2)}):
        frame = 3 if "which" in options else 6
        other = write_run(tmp_path / "b.h5", change=bump("frames/body_q", (frame, 2, 1, 0), 0.5), **options)
        (one,) = compared(path, other, Tolerance(1e-5, 1e-5), channels=["body.*", "point.*"]).above
        assert (one.worst.label, one.spread.absolute.frame, one.spread.absolute.world) == ("body.link1.position.x", 6, 2)


def test_contacts_are_matched_by_the_names_of_their_shapes(path, tmp_path):
    other = shutil.copy(path, tmp_path / "b.h5")
    with h5py.File(path) as file:
        offset, shape = file["contacts/offset"][...], file["contacts/shape_a"][...]
    pair = int(np.flatnonzero(np.diff(offset) >= 2)[3])
    row = int(offset[pair])
    with h5py.File(other, "r+") as file:
        file["contacts/force"][row, 2] += 0.25
    (one,) = compared(path, other, LOOSE).above
    assert (one.worst.label, (one.spread.first.frame, one.spread.first.world)) == ("contacts.force.z", divmod(pair, 3))
    assert one.spread.absolute.value == pytest.approx(0.25)
    with h5py.File(other, "r+") as file:
        file["contacts/shape_a"][row] = 1 - shape[row]
    above = by_name(compared(path, other, LOOSE))
    unmatched = above["contacts.unmatched"]
    assert (unmatched.spread.absolute.value, unmatched.spread.first.frame) == (2, pair // 3)
    with h5py.File(other, "r+") as file:  # the same contacts in another order are the same
        for name in ("shape_a", "shape_b", "point", "normal", "gap", "force"):
            original = h5py.File(path)[f"contacts/{name}"][...]
            original[row : row + 2] = original[row : row + 2][::-1]
            file[f"contacts/{name}"][...] = original
    assert not compared(path, other).above


def test_worlds_are_chosen_and_common_ones_compared(path, tmp_path):
    other = write_run(tmp_path / "b.h5", change=bump("energy/total", (4, 2), 1.0))
    assert compared(path, other, LOOSE).above
    assert not compared(path, other, LOOSE, worlds=[0, 1]).above
    (one,) = compared(path, other, LOOSE, worlds=[2]).above
    assert (one.spread.first.world, one.spread.n) == (2, 12)
    with pytest.raises(UsageError, match=r"no world 3 in .*a\.h5: it holds 0 to 2"):
        compared(path, other, worlds=[3])

    def first_two(columns):
        with open_trajectory(path) as run:
            columns |= {name: run.read(name)[:, :2] for name in columns}

    narrow = compared(path, write_run(tmp_path / "narrow.h5", n_worlds=2, channels=["state"], change=first_two))
    assert narrow.worlds.a.tolist() == [0, 1]
    assert not narrow.above


def test_channels_are_chosen_by_pattern(path, tmp_path):
    other = write_run(tmp_path / "b.h5", change=bump("energy/total", (4, 2), 1.0))
    assert not compared(path, other, channels=["joints.*.q", "contacts"]).above
    found = compared(path, other, channels=["energy.*", "joint.hinge1.qd"])
    assert [one.name for one in found.above] == ["energy.total"]
    assert len(found.channels) == 8
    with pytest.raises(UsageError, match=r"did you mean `joint\.hinge0\.q`"):
        compared(path, other, channels=["joint.hing0.q"])
    lean = write_run(tmp_path / "lean.h5", channels=["energy"])
    with pytest.raises(UsageError, match="no channel in common, of those asked for"):
        compared(path, lean, channels=["joint.hinge0.q"])


def test_scenes_facts_and_parameters_are_told(path, tmp_path):
    scene = SCENE.replace("dt: 0.001", "dt: 0.002").replace("name: tiny\n", "name: tiny\nbodies: {a: {com: [1, 2]}}\n")
    other = write_run(tmp_path / "b.h5", scene=scene, device="cuda: H200", seed=4, status="stopped")
    with h5py.File(other, "r+") as file:
        file["params/value"][1:, 0] += 1.0
    found = compared(path, other)
    assert {(one.key, str(one.a), str(one.b)) for one in found.scene} == {
        ("solver.dt", "0.001", "0.002"),
        ("bodies.a.com", "-", "[1, 2]"),
    }
    assert {(one.key, one.a, one.b) for one in found.facts} == {
        ("device", "cpu", "cuda: H200"),
        ("seed", 0, 4),
        ("status", "done", "stopped"),
    }
    assert [(one.key, one.b - one.a) for one in found.params] == [("params.mass, world 1 and 1 more", 1.0)]
    unread = compared(path, write_run(tmp_path / "c.h5", scene="simcli: [1"))
    assert [one.key for one in unread.scene] == ["scene"]


def test_the_work_of_other_solvers_is_not_judged(path, tmp_path):
    def change(columns):
        for name in WORK_OF_SOLVER:
            columns[name.replace(".", "/")][5] += 1

    same, other = (
        write_run(tmp_path / f"{name}.h5", change=change, scene=scene)
        for name, scene in (("same", SCENE), ("other", SCENE.replace("generalized", "maximal")))
    )
    assert {one.name for one in compared(path, same, LOOSE).above} == set(WORK_OF_SOLVER)
    found = compared(path, other, LOOSE)
    assert not found.above
    assert {one.name for one in found.channels if one.differs} == set(WORK_OF_SOLVER)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=st.sets(st.integers(0, 11), min_size=1), worlds=st.sets(st.integers(0, 2), min_size=1))
def test_a_tile_is_what_was_asked_for(path, frames, worlds):
    frames, worlds = (np.array(sorted(some)) for some in (frames, worlds))
    with open_trajectory(path) as run:
        for name in ("frames/body_q", "energy/total"):
            column = run.column(name)
            np.testing.assert_array_equal(read_tile(column, frames, worlds), column[...][frames][:, worlds])
        time = run.column("frames/time")
        np.testing.assert_array_equal(read_tile(time, frames, worlds), run.time[frames])


def test_the_nearer_sign_is_taken_for_each_quaternion():
    random = np.random.default_rng(1)
    a, places = random.normal(size=(50, 9)), np.array([[0, 1, 2, 3], [5, 6, 7, 8]])
    sign = random.choice([-1.0, 1.0], (50, 2))
    b = a.copy()
    for k, four in enumerate(places):
        b[:, four] *= sign[:, k : k + 1]
    np.testing.assert_array_equal(oriented(a, b, places), a)
    assert oriented(a, b, places[:0]) is b


PEAK = """
from simcli.cli.process import run_command
code = run_command(["diff", {words}], debug=True, as_json=False)
print()
print(code, *(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="module")
def large(folder):
    """Two files of 160 MB in which every float differs."""
    return [write_many(folder / name, 200_000, value) for name, value in (("large_a.h5", 1), ("large_b.h5", 2))]


@pytest.mark.parametrize("option", ["--all", "--exact"])
def test_large_files_are_read_in_little_memory(large, option):
    """One dataset of each file at a time would not do, nor would the caches of all that HDF5 keeps open."""
    assert all(path.stat().st_size > 0.75 * MOST_BYTES for path in large)
    code, kilobytes = python(PEAK.format(words=", ".join(repr(str(word)) for word in (*large, option)))).split()[-2:]
    assert code == "1"
    assert 1024 * int(kilobytes) < MOST_BYTES
