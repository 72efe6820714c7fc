"""Channels by name, pictures and CSV, on a small file with known numbers.

Expectations: what passes, what fails, and what the report says, on a file with known numbers.

`analysis.mechanics` and `run_states` without the command line: worlds in their seats, GPU code, steps undone.
"""

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest
from support.analysis_files import DT, STEPS_PER_FRAME, record
from support.device import live_device
from support.process import python
from support.random_models import TREE_TYPES, random_mechanism
from support.zoo import random_states, zoo

from simcli import rotations as rot
from simcli.analysis.channels import available, default_channels, default_columns, locate_channel, read_channels
from simcli.analysis.expectations import channels_needed, judge_expectations
from simcli.analysis.export.channel_tables import Extract
from simcli.analysis.export.plot import MAX_PANELS, draw_channels, save_figure
from simcli.analysis.export.text_files import write_table_csv
from simcli.analysis.mechanics.rounds import Mechanics
from simcli.analysis.states.portions import frame_range
from simcli.errors import UsageError
from simcli.kernels.device.runtime import start_device
from simcli.model.assemble import assemble
from simcli.model.joints.tree_kinematics import link_poses
from simcli.model.snapshot import Status
from simcli.model.tables.model import LinkKind
from simcli.pipeline import build_model, read_scene
from simcli.solvers.tree.inverse import StepAlgorithms
from simcli.spec.schema.expect import ExpectSpec

N_FRAMES, N_WORLDS = 12, 3
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def trajectory(tmp_path_factory):
    with record(tmp_path_factory.mktemp("channels") / "a.h5", N_FRAMES, N_WORLDS, lambda columns: None) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "path", "pick", "labels", "units"),
    [
        ("energy.total", "energy/total", (), ("energy.total",), ("J",)),
        ("diag.status", "diag/status", (), ("diag.status",), ("1",)),
        ("joint.hinge1.q", "frames/joint_q", (slice(1, 2),), ("joint.hinge1.q",), ("rad",)),
        ("joints.hinge1.qd", "frames/joint_qd", (slice(1, 2),), ("joint.hinge1.qd",), ("rad/s",)),
        ("joint.hinge1.qdd", "frames/joint_qdd", (slice(1, 2),), ("joint.hinge1.qdd",), ("rad/s^2",)),
        ("joint.hinge0.effort", "frames/joint_effort", (slice(0, 1),), ("joint.hinge0.effort",), ("N m",)),
        (
            "joint.ball_free.q",
            "frames/joint_q",
            (slice(2, 9),),
            tuple(f"joint.ball_free.q.{k}" for k in range(7)),
            ("m",) * 3 + ("1",) * 4,
        ),
        (
            "body.link1.position",
            "frames/body_q",
            (1, slice(0, 3)),
            tuple(f"body.link1.position.{c}" for c in "xyz"),
            ("m",) * 3,
        ),
        (
            "body.ball.orientation",
            "frames/body_q",
            (2, slice(3, 7)),
            tuple(f"body.ball.orientation.{c}" for c in "xyzw"),
            ("1",) * 4,
        ),
        (
            "bodies.link0.angular_velocity",
            "frames/body_qd",
            (0, slice(3, 6)),
            tuple(f"body.link0.angular_velocity.{c}" for c in "xyz"),
            ("rad/s",) * 3,
        ),
        (
            "point.link0/tip.velocity",
            "frames/point/link0/tip/velocity",
            (slice(0, 3),),
            tuple(f"point.link0/tip.velocity.{c}" for c in "xyz"),
            ("m/s",) * 3,
        ),
    ],
)
def test_a_name_gives_the_dataset_labels_and_units(trajectory, name, path, pick, labels, units):
    (channel,) = read_channels(trajectory, [name], [2, 0], every=5)
    stored = trajectory.column(path)[...][::5][:, [2, 0]]
    expected = stored[(slice(None), slice(None), *pick)].reshape(3, 2, -1)
    np.testing.assert_array_equal(channel.values, expected)
    np.testing.assert_array_equal(channel.time, trajectory.time[::5])
    assert (channel.labels, channel.units, channel.worlds) == (labels, units, (2, 0))


def test_every_available_channel_can_be_read(trajectory):
    names = available(trajectory)
    assert len(names) == len(set(names)) > 20
    channels = read_channels(trajectory, names, [1])
    assert [channel.name for channel in channels] == names
    for channel in channels:
        assert channel.values.shape == (N_FRAMES, 1, len(channel.labels)) == (N_FRAMES, 1, len(channel.units))


def test_patterns_take_several(trajectory):
    assert [source.name for source in locate_channel(trajectory, "joint.hinge*.q")] == ["joint.hinge0.q", "joint.hinge1.q"]
    assert len(locate_channel(trajectory, "energy.*")) == 7


def test_unknown_names_have_a_suggestion(trajectory):
    with pytest.raises(UsageError, match=r"did you mean `joint\.hinge0\.q`"):
        locate_channel(trajectory, "joint.hing0.q")
    for word, meant in {"torque": "effort", "angle": "q", "velocity": "qd", "speed": "qd", "acceleration": "qdd"}.items():
        with pytest.raises(UsageError, match=rf"did you mean `joint\.hinge1\.{meant}`"):
            locate_channel(trajectory, f"joint.hinge1.{word}")
    for name in ("", "energy", "energy.", "joint", "joint.hinge0", "joint.hinge0.position", "frames.joint_q", "a.b.c"):
        with pytest.raises(UsageError):
            locate_channel(trajectory, name)
    with pytest.raises(UsageError, match="0 to 2"):
        read_channels(trajectory, ["energy.total"], [3])


def test_defaults_name_what_is_there(trajectory):
    for names in (default_channels(trajectory), default_columns(trajectory)):
        assert names
        assert set(names) <= set(available(trajectory))


def test_csv_reads_back_to_the_same_numbers(trajectory):
    asked = Extract(trajectory, ("joint.hinge0.q", "body.link0.position"), (0, 2))
    text = io.StringIO(newline="")
    assert write_table_csv(asked.table(), text) == N_FRAMES * 2
    header, *rows = list(csv.reader(text.getvalue().splitlines()))
    assert header == ["time [s]", "world", "joint.hinge0.q [rad]"] + [f"body.link0.position.{c} [m]" for c in "xyz"]
    table = np.array(rows, float).reshape(N_FRAMES, 2, -1)
    np.testing.assert_array_equal(table[:, 0, 0], trajectory.time)
    np.testing.assert_array_equal(table[:, :, 1], np.tile([0.0, 2.0], (N_FRAMES, 1)))
    np.testing.assert_array_equal(table[:, :, 2], trajectory.joint("hinge0").q[:, [0, 2]][..., 0])
    np.testing.assert_array_equal(table[:, :, 3:], trajectory.body("link0").position[:, [0, 2]])


def test_csv_of_one_world_has_no_world_column_and_empty_cells_for_nothing(tmp_path):
    def poison(columns):
        columns["energy/total"][1] = np.nan

    with record(tmp_path / "b.h5", 2, 1, poison) as opened:
        text = io.StringIO(newline="")
        write_table_csv(Extract(opened, ("energy.total",)).table(), text)
    assert text.getvalue().splitlines()[0] == "time [s],energy.total [J]"
    assert text.getvalue().splitlines()[2] == "0.01,"


def test_plot_writes_a_picture(trajectory, tmp_path):
    pytest.importorskip("matplotlib")
    channels = read_channels(trajectory, ["body.link0.position", "energy.total"], [0, 1])
    save_figure(draw_channels(channels, title="a"), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)
    with pytest.raises(UsageError, match="xyz"):
        save_figure(draw_channels(channels), tmp_path / "a.xyz")
    with pytest.raises(UsageError, match="at most"):
        draw_channels([replace(channels[0], name=f"c{k}") for k in range(MAX_PANELS + 1)])


def test_missing_matplotlib_has_a_one_line_hint(tmp_path):
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "from simcli.analysis.export.plot import draw_channels\n"
        "from simcli.errors import UsageError\n"
        "try:\n"
        "    draw_channels([])\n"
        "except UsageError as error:\n"
        "    print(error)\n"
    )
    assert python(code, cwd=tmp_path).strip() == "plots need matplotlib: pip install 'simcli[plot]'"


EXPECTATIONS_N_FRAMES = 300  # more than the frames that are read at once
EXPECTATIONS_N_WORLDS = 3
FRAME_TIME = DT * STEPS_PER_FRAME


def expect(**given):
    """An expectation of the schema."""
    if "equals" in given:
        given["equals"] = [float(value) for value in given["equals"]]
    return ExpectSpec(**given)


@pytest.fixture(scope="module")
def trajectory_of_expectations(tmp_path_factory):
    """World 1 fails at frame 200; world 2 ends by stop_when at frame 250. drift = +-f * 1e-6, world 0 the smallest."""

    def change(columns):
        f = np.arange(EXPECTATIONS_N_FRAMES, dtype=float)
        sign = np.where(f % 2, -1.0, 1.0)
        for world, size in enumerate((1e-6, 2e-6, 3e-6)):
            columns["energy/drift"][:, world] = sign * f * size
        columns["frames/joint_q"][:, :, 0] = f[:, None] + np.arange(EXPECTATIONS_N_WORLDS)
        columns["frames/body_q"][:, :, 0, 3:] = [0, 0, 0, -1.0]
        for world, first, status in ((1, 200, Status.NOT_FINITE), (2, 250, Status.STOPPED)):
            for name, column in columns.items():
                if name == "diag/status":
                    column[first:, world] = status
                elif column.dtype.kind == "f":
                    column[first:, world] = np.nan

    with record(tmp_path_factory.mktemp("expect") / "a.h5", EXPECTATIONS_N_FRAMES, EXPECTATIONS_N_WORLDS, change) as opened:
        yield opened


def one(trajectory, **given):
    """The verdict on one expectation."""
    (verdict,) = judge_expectations([expect(**given)], trajectory, DT, range(EXPECTATIONS_N_WORLDS))
    return verdict


def test_max_is_the_largest_magnitude_over_all_frames(trajectory_of_expectations):
    at_frame_299 = one(trajectory_of_expectations, max="energy.drift", below=299.5e-6, world=0)
    assert at_frame_299.passed
    assert at_frame_299.got == pytest.approx(299e-6)
    assert at_frame_299.time == pytest.approx(299 * FRAME_TIME)
    assert not one(trajectory_of_expectations, max="energy.drift", below=299e-6, world=0).passed  # below is strict


def test_min_is_the_smallest_value(trajectory_of_expectations):
    verdict = one(trajectory_of_expectations, min="energy.drift", above=-299.5e-6, world=0)
    assert verdict.passed
    assert verdict.got == pytest.approx(-299e-6)


def test_bounds_of_an_extreme_ask_for_one_frame_not_for_all(trajectory_of_expectations):
    assert one(trajectory_of_expectations, max="energy.drift", above=200e-6, world=0).passed
    assert one(trajectory_of_expectations, min="energy.drift", below=-200e-6, world=0).passed
    assert not one(trajectory_of_expectations, max="energy.drift", above=300e-6, world=0).passed


def test_world_that_ended_is_judged_by_the_frames_before(trajectory_of_expectations):
    verdict = one(trajectory_of_expectations, max="energy.drift", below=1.0, world=2)
    assert verdict.passed
    assert verdict.got == pytest.approx(249 * 3e-6)


def test_failed_world_meets_no_expectation(trajectory_of_expectations):
    verdict = one(trajectory_of_expectations, max="energy.drift", below=1.0)
    assert not verdict.passed
    assert verdict.failed_worlds == (1,)
    assert verdict.world == 1
    assert math.isnan(verdict.got)
    assert "failed" in verdict.reason


def test_at_takes_the_frame_at_that_time(trajectory_of_expectations):
    verdict = one(trajectory_of_expectations, at=100 * FRAME_TIME, joint="hinge0", quantity="q", equals=[100.0], within=1.5)
    assert not verdict.passed
    assert verdict.failed_worlds == (2,)
    assert (verdict.world, verdict.got, verdict.difference) == (2, 102.0, 2.0)
    assert verdict.time == pytest.approx(100 * FRAME_TIME)
    assert one(
        trajectory_of_expectations, at=100 * FRAME_TIME, joint="hinge0", quantity="q", equals=[100.0], within=2.0
    ).passed


def test_at_takes_bounds_too(trajectory_of_expectations):
    assert one(trajectory_of_expectations, at=100 * FRAME_TIME, joint="hinge0", quantity="q", above=99.0, below=103.0).passed
    assert not one(trajectory_of_expectations, at=100 * FRAME_TIME, joint="hinge0", quantity="q", below=102.0).passed


def test_nothing_is_interpolated(trajectory_of_expectations):
    almost = 100 * FRAME_TIME + 0.9e-3 * DT
    assert one(trajectory_of_expectations, at=almost, joint="hinge0", quantity="q", above=0.0).passed
    verdict = one(trajectory_of_expectations, at=100.5 * FRAME_TIME, joint="hinge0", quantity="q", above=0.0)
    assert not verdict.passed
    assert "no frame" in verdict.reason


def test_end_is_the_last_frame(trajectory_of_expectations):
    verdict = one(trajectory_of_expectations, at="end", joint="hinge0", quantity="q", equals=[299.0], within=0.0, world=0)
    assert verdict.passed
    ended = one(trajectory_of_expectations, at="end", joint="hinge0", quantity="q", equals=[299.0], within=0.0, world=2)
    assert not ended.passed


def test_orientation_ignores_the_sign_of_a_quaternion(trajectory_of_expectations):
    assert one(
        trajectory_of_expectations, at=0.0, body="link0", quantity="orientation", equals=[0.0, 0.0, 0.0, 1.0], within=1e-12
    ).passed


def test_component_picks_one_number(trajectory_of_expectations):
    given = {"at": 0.0, "body": "link0", "quantity": "orientation", "equals": [-1.0], "within": 0.0}
    assert one(trajectory_of_expectations, component=3, **given).passed
    assert not one(trajectory_of_expectations, component=2, **given).passed
    assert "components" in one(trajectory_of_expectations, component=4, **given).reason


def test_wrong_count_of_numbers_is_said(trajectory_of_expectations):
    verdict = one(trajectory_of_expectations, at=0.0, body="link0", quantity="position", equals=[0.0, 0.0], within=1e9)
    assert not verdict.passed
    assert "2 numbers for 3" in verdict.reason


def test_channel_that_is_not_recorded_fails(trajectory_of_expectations):
    verdict = one(trajectory_of_expectations, at=0.0, body="nobody", quantity="position", equals=[0.0], within=1.0)
    assert not verdict.passed
    assert "not recorded" in verdict.reason


def test_replayed_world_keeps_its_number(tmp_path):
    with record(tmp_path / "b.h5", 5, 1, lambda columns: None) as opened:
        given = [expect(max="energy.drift", below=-1.0), expect(max="energy.drift", below=-1.0, world=3)]
        (verdict,) = judge_expectations(given, opened, DT, (7,))
    assert verdict.world == 7
    assert verdict.failed_worlds == (7,)


def test_channels_that_must_be_recorded():
    assert channels_needed([expect(max="energy.drift", below=1)]) == {"energy"}
    assert channels_needed([expect(at=0.0, joint="pin", quantity="q", below=1)]) == {"state"}
    assert channels_needed([expect(max="diag.residual", below=1)]) == frozenset()


def test_report_has_every_number(trajectory_of_expectations):
    row = one(
        trajectory_of_expectations, at=100 * FRAME_TIME, joint="hinge0", quantity="q", equals=[100.0], within=1.5
    ).row()
    assert row == ("FAILED", "joint.hinge0.q at 1 s", "2", "1", "100 within 1.5", "102", "2")


def test_expectation_that_holds_is_reported_where_it_is_farthest(trajectory_of_expectations):
    asked = one(trajectory_of_expectations, at=0.0, joint="hinge0", quantity="q", equals=[2.5], within=1.0, world=2)
    assert (asked.passed, asked.world, asked.got, asked.difference) == (True, 2, 2.0, 0.5)
    farthest = one(trajectory_of_expectations, at=0.0, joint="hinge0", quantity="q", equals=[0.5], within=2.0)
    assert (farthest.passed, farthest.world, farthest.difference) == (True, 2, 1.5)
    met = one(trajectory_of_expectations, at=0.0, joint="hinge0", quantity="q", equals=[1.0], within=1.0)  # by its own value
    assert met.passed


def test_report_is_of_the_world_asked_for(trajectory_of_expectations):
    verdict = one(
        trajectory_of_expectations, at=100 * FRAME_TIME, joint="hinge0", quantity="q", equals=[102.0], within=0.0, world=2
    )
    assert verdict.passed
    assert (verdict.world, verdict.got, verdict.difference) == (2, 102.0, 0.0)


OLD_AND_NEW = (
    ({"at": 1.0, "joint": "hinge0", "quantity": "q"}, {"at": 1.0, "quantity": "joint.hinge0.q"}),
    ({"at": 1.0, "joint": "hinge0", "quantity": "q"}, {"at": 1.0, "quantity": "joints.hinge0.q"}),
    ({"at": "end", "body": "link1", "quantity": "position"}, {"at": "end", "quantity": "body.link1.position"}),
    ({"at": 0.5, "body": "link0", "quantity": "orientation"}, {"at": 0.5, "quantity": "body.link0.orientation"}),
    ({"min": "joints.hinge0.q"}, {"min": "joint.hinge0.q"}),
    ({"max": "bodies.link1.velocity"}, {"max": "body.link1.velocity"}),
)


@pytest.mark.parametrize(("old", "new"), OLD_AND_NEW, ids=lambda given: str(given))
def test_both_spellings_have_the_same_verdict(trajectory_of_expectations, old, new):
    for bounds in ({"above": 1e9}, {"below": 1e9}):
        for world in (0, 1):
            before, after = (one(trajectory_of_expectations, **given, **bounds, world=world) for given in (old, new))
            assert repr(before) == repr(after)  # a NaN is not equal to itself


def test_report_names_the_component_that_is_farthest_off(trajectory_of_expectations):
    expected = trajectory_of_expectations.body("link1").position[50, 1].copy()
    expected[1] += 0.25
    given = {"at": 50 * FRAME_TIME, "body": "link1", "quantity": "position", "equals": expected, "world": 1}
    verdict = one(trajectory_of_expectations, within=0.1, **given)
    assert (verdict.passed, verdict.component) == (False, 1)
    assert verdict.difference == pytest.approx(0.25)
    assert "[1]" in verdict.row()[5]
    assert one(trajectory_of_expectations, within=0.3, **given).passed


AGREEMENT = 1e-12  # relative: the same operations in another order of lanes
ROUNDING = 1e-14  # [m, rad] of a step of 0.1 s, undone
MECHANICS_N_WORLDS = 6  # a full pack of lanes and a rest
CALLS = {"forward_kinematics": 2, "inverse_dynamics": 3, "mass_matrix": 1, "jacobian": 1}


def varied_model(seed=2):
    rng = np.random.default_rng(seed)
    return assemble(random_mechanism(rng, 8, TREE_TYPES, floating=True, n_worlds=MECHANICS_N_WORLDS, vary=("bodies",)))


def of_world(model, world):
    """The same mechanism with the bodies of one world."""

    def pick(table, *names):
        return replace(
            table,
            **{
                name: getattr(table, name)[world : world + 1] if len(getattr(table, name)) > 1 else getattr(table, name)
                for name in names
            },
        )

    return replace(
        model,
        n_worlds=1,
        bodies=pick(model.bodies, "mass", "com", "inertia"),
        links=pick(model.links, "mass", "com", "inertia", "body_rotation", "body_offset"),
        joint_q=model.joint_q[:1],
        joint_qd=model.joint_qd[:1],
    )


def size(values):
    return max(np.abs(values).max(initial=0.0), 1e-300)


@pytest.mark.slow
def test_states_in_any_order_get_the_bodies_of_their_worlds(monkeypatch):
    """Crowded and empty worlds, more rounds than one call takes."""
    monkeypatch.setattr("simcli.analysis.mechanics.rounds.CALL_STATES", 20)
    model, rng = varied_model(), np.random.default_rng(3)
    world = rng.choice([0, 1, 1, 1, 1, 5, 3], 40)
    states = random_states(model, len(world), rng)
    device = live_device()
    mechanics = Mechanics(model, device)
    found = {name: mechanics(name, world, *states[:n]) for name, n in CALLS.items()}
    mechanics.close()
    for w in (0, 1, 3, 5):
        mine = np.flatnonzero(world == w)
        alone = Mechanics(of_world(model, w), device)
        for name, n in CALLS.items():
            wanted = alone(name, np.zeros(len(mine), int), *(a[mine] for a in states[:n]))
            for a, b in zip(found[name], wanted, strict=True):
                assert np.abs(a[mine] - b).max() < AGREEMENT * size(b), (name, w)
        alone.close()
    efforts = found["inverse_dynamics"][0]
    assert len(np.unique(efforts[:, 0])) == len(world)


@pytest.mark.slow
def test_the_code_of_a_gpu_agrees(tmp_path):
    (tmp_path / "zoo.yaml").write_text(zoo())
    model = build_model(*read_scene(tmp_path / "zoo.yaml"))
    states = random_states(model, 5, np.random.default_rng(4))
    world, when = np.zeros(5, int), np.zeros((5, 2))
    found = []
    for like_gpu in (False, True):
        mechanics = Mechanics(model, start_device("cpu", "float64", threads=1, like_gpu=like_gpu))
        assert mechanics.has_external
        results = [part for name, n in CALLS.items() for part in mechanics(name, world, *states[:n])]
        results += mechanics("external_forces", world, *states[:2], when)
        found.append([np.array(part) for part in results])
        mechanics.close()
    for a, b in zip(*found, strict=True):
        assert size(a) > 0.1
        assert np.abs(a - b).max() < AGREEMENT * size(a)


def test_a_step_is_undone_for_every_joint():
    """q (+) h qd, spelled as the tree chart states it, then (-) h qd."""
    model, rng, h = varied_model(7), np.random.default_rng(8), 0.1
    assert set(model.links.kind) >= {LinkKind.HELIX, LinkKind.BALL, LinkKind.FREE}
    q, rate, _ = random_states(model, MECHANICS_N_WORLDS, rng)
    after = q.copy()
    for i in range(model.n_links):
        start, d, kind = model.links.q_start[i], model.links.qd_start[i], model.links.kind[i]
        if kind == LinkKind.HELIX:
            after[:, start] += h * rate[:, d]
        elif kind == LinkKind.BALL:
            after[:, start : start + 4] = turned(q[:, start : start + 4], h * rate[:, d : d + 3])
        elif kind == LinkKind.FREE:
            quat = q[:, start + 3 : start + 7]
            end = turned(quat, h * rate[:, d + 3 : d + 6])
            com = model.links.com[:, i]
            at = q[:, start : start + 3] + rot.quat_rotate(quat, com) + h * rate[:, d : d + 3]
            after[:, start : start + 3], after[:, start + 3 : start + 7] = at - rot.quat_rotate(end, com), end
    mechanics = Mechanics(model, live_device(), StepAlgorithms)
    times = np.full((MECHANICS_N_WORLDS, 1), h)
    back = mechanics("starts_of_steps", np.arange(MECHANICS_N_WORLDS), after, rate, 0.0 * rate, times)[0]
    mechanics.close()
    assert np.abs(after - q).max() > 0.1
    _, there = link_poses(model.links, q)
    _, found = link_poses(model.links, back)
    assert np.abs(back - q).max() < ROUNDING * 10
    assert np.abs(there - found).max() < ROUNDING * 100  # levers of some metres


def turned(quat, turn):
    """Exponential of a rotation vector, times a quaternion."""
    angle = np.linalg.norm(turn, axis=1, keepdims=True)
    return rot.quat_multiply(np.hstack([np.sin(angle / 2) * turn / angle, np.cos(angle / 2)]), quat)


@pytest.mark.parametrize("text", ["3", "-1", "-3", "2:5", ":-1", "::2", "4:100", "0", ":"])
def test_frames_are_chosen_as_python_slices(text):
    numbers = list(range(7))
    words = [int(word) if word else None for word in text.split(":")]
    wanted = [numbers[words[0]]] if len(words) == 1 else numbers[slice(*words)]
    assert list(frame_range(text, 7)) == wanted


@pytest.mark.parametrize("text", ["", "x", "1:2:3:4", "1.5", "::0", "::-2"])
def test_what_are_no_frames_is_said(text):
    with pytest.raises(UsageError, match="--frames"):
        frame_range(text, 7)
