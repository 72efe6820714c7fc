"""Expectations: what passes, what fails, and what the report says, on a file with known numbers."""

import math

import numpy as np
import pytest
from support.analysis_files import DT, STEPS_PER_FRAME, record

from simcli.analysis.expectations import channels_needed, judge
from simcli.model.snapshot import Status
from simcli.spec.schema.expect import ExpectSpec

N_FRAMES = 300  # more than the frames that are read at once
N_WORLDS = 3
FRAME_TIME = DT * STEPS_PER_FRAME


def expect(**given):
    """An expectation of the schema."""
    if "equals" in given:
        given["equals"] = [float(value) for value in given["equals"]]
    return ExpectSpec(**given)


@pytest.fixture(scope="module")
def trajectory(tmp_path_factory):
    """World 1 fails at frame 200; world 2 ends by stop_when at frame 250. drift = +-f * 1e-6, world 0 the smallest."""

    def change(columns):
        f = np.arange(N_FRAMES, dtype=float)
        sign = np.where(f % 2, -1.0, 1.0)
        for world, size in enumerate((1e-6, 2e-6, 3e-6)):
            columns["energy/drift"][:, world] = sign * f * size
        columns["frames/joint_q"][:, :, 0] = f[:, None] + np.arange(N_WORLDS)
        columns["frames/body_q"][:, :, 0, 3:] = [0, 0, 0, -1.0]
        for world, first, status in ((1, 200, Status.NOT_FINITE), (2, 250, Status.STOPPED)):
            for name, column in columns.items():
                if name == "diag/status":
                    column[first:, world] = status
                elif column.dtype.kind == "f":
                    column[first:, world] = np.nan

    with record(tmp_path_factory.mktemp("expect") / "a.h5", N_FRAMES, N_WORLDS, change) as opened:
        yield opened


def one(trajectory, **given):
    """The verdict on one expectation."""
    (verdict,) = judge([expect(**given)], trajectory, DT, range(N_WORLDS))
    return verdict


def test_max_is_the_largest_magnitude_over_all_frames(trajectory):
    at_frame_299 = one(trajectory, max="energy.drift", below=299.5e-6, world=0)
    assert at_frame_299.passed
    assert at_frame_299.got == pytest.approx(299e-6)
    assert at_frame_299.time == pytest.approx(299 * FRAME_TIME)
    assert not one(trajectory, max="energy.drift", below=299e-6, world=0).passed  # below is strict


def test_min_is_the_smallest_value(trajectory):
    verdict = one(trajectory, min="energy.drift", above=-299.5e-6, world=0)
    assert verdict.passed
    assert verdict.got == pytest.approx(-299e-6)


def test_bounds_of_an_extreme_ask_for_one_frame_not_for_all(trajectory):
    assert one(trajectory, max="energy.drift", above=200e-6, world=0).passed
    assert one(trajectory, min="energy.drift", below=-200e-6, world=0).passed
    assert not one(trajectory, max="energy.drift", above=300e-6, world=0).passed


def test_world_that_ended_is_judged_by_the_frames_before(trajectory):
    verdict = one(trajectory, max="energy.drift", below=1.0, world=2)
    assert verdict.passed
    assert verdict.got == pytest.approx(249 * 3e-6)


def test_failed_world_meets_no_expectation(trajectory):
    verdict = one(trajectory, max="energy.drift", below=1.0)
    assert not verdict.passed
    assert verdict.failed_worlds == (1,)
    assert verdict.world == 1
    assert math.isnan(verdict.got)
    assert "failed" in verdict.reason


def test_at_takes_the_frame_at_that_time(trajectory):
    verdict = one(trajectory, at=100 * FRAME_TIME, joint="hinge0", quantity="q", equals=[100.0], within=1.5)
    assert not verdict.passed
    assert verdict.failed_worlds == (2,)
    assert (verdict.world, verdict.got, verdict.difference) == (2, 102.0, 2.0)
    assert verdict.time == pytest.approx(100 * FRAME_TIME)
    assert one(trajectory, at=100 * FRAME_TIME, joint="hinge0", quantity="q", equals=[100.0], within=2.0).passed


def test_at_takes_bounds_too(trajectory):
    assert one(trajectory, at=100 * FRAME_TIME, joint="hinge0", quantity="q", above=99.0, below=103.0).passed
    assert not one(trajectory, at=100 * FRAME_TIME, joint="hinge0", quantity="q", below=102.0).passed


def test_nothing_is_interpolated(trajectory):
    almost = 100 * FRAME_TIME + 0.9e-3 * DT
    assert one(trajectory, at=almost, joint="hinge0", quantity="q", above=0.0).passed
    verdict = one(trajectory, at=100.5 * FRAME_TIME, joint="hinge0", quantity="q", above=0.0)
    assert not verdict.passed
    assert "no frame" in verdict.reason


def test_end_is_the_last_frame(trajectory):
    verdict = one(trajectory, at="end", joint="hinge0", quantity="q", equals=[299.0], within=0.0, world=0)
    assert verdict.passed
    ended = one(trajectory, at="end", joint="hinge0", quantity="q", equals=[299.0], within=0.0, world=2)
    assert not ended.passed


def test_orientation_ignores_the_sign_of_a_quaternion(trajectory):
    assert one(
        trajectory, at=0.0, body="link0", quantity="orientation", equals=[0.0, 0.0, 0.0, 1.0], within=1e-12
    ).passed


def test_component_picks_one_number(trajectory):
    given = {"at": 0.0, "body": "link0", "quantity": "orientation", "equals": [-1.0], "within": 0.0}
    assert one(trajectory, component=3, **given).passed
    assert not one(trajectory, component=2, **given).passed
    assert "components" in one(trajectory, component=4, **given).reason


def test_wrong_count_of_numbers_is_said(trajectory):
    verdict = one(trajectory, at=0.0, body="link0", quantity="position", equals=[0.0, 0.0], within=1e9)
    assert not verdict.passed
    assert "2 numbers for 3" in verdict.reason


def test_channel_that_is_not_recorded_fails(trajectory):
    verdict = one(trajectory, at=0.0, body="nobody", quantity="position", equals=[0.0], within=1.0)
    assert not verdict.passed
    assert "not recorded" in verdict.reason


def test_replayed_world_keeps_its_number(tmp_path):
    with record(tmp_path / "b.h5", 5, 1, lambda columns: None) as opened:
        given = [expect(max="energy.drift", below=-1.0), expect(max="energy.drift", below=-1.0, world=3)]
        (verdict,) = judge(given, opened, DT, (7,))
    assert verdict.world == 7
    assert verdict.failed_worlds == (7,)


def test_channels_that_must_be_recorded():
    assert channels_needed([expect(max="energy.drift", below=1)]) == {"energy"}
    assert channels_needed([expect(at=0.0, joint="pin", quantity="q", below=1)]) == {"state"}
    assert channels_needed([expect(max="diag.residual", below=1)]) == frozenset()


def test_report_has_every_number(trajectory):
    row = one(trajectory, at=100 * FRAME_TIME, joint="hinge0", quantity="q", equals=[100.0], within=1.5).row()
    assert row == ("FAILED", "joint.hinge0.q at 1 s", "2", "1", "100 within 1.5", "102", "2")


def test_expectation_that_holds_is_reported_where_it_is_farthest(trajectory):
    asked = one(trajectory, at=0.0, joint="hinge0", quantity="q", equals=[2.5], within=1.0, world=2)
    assert (asked.passed, asked.world, asked.got, asked.difference) == (True, 2, 2.0, 0.5)
    farthest = one(trajectory, at=0.0, joint="hinge0", quantity="q", equals=[0.5], within=2.0)
    assert (farthest.passed, farthest.world, farthest.difference) == (True, 2, 1.5)
    met = one(trajectory, at=0.0, joint="hinge0", quantity="q", equals=[1.0], within=1.0)  # by its own value
    assert met.passed


def test_report_is_of_the_world_asked_for(trajectory):
    verdict = one(trajectory, at=100 * FRAME_TIME, joint="hinge0", quantity="q", equals=[102.0], within=0.0, world=2)
    assert verdict.passed
    assert (verdict.world, verdict.got, verdict.difference) == (2, 102.0, 0.0)


OLD_AND_NEW = (
    ({"at": 1.0, "joint": "hinge0", "quantity": "q"}, {"at": 1.0, "quantity": "joint.hinge0.q"}),
    ({"at": 1.0, "joint": "hinge0", "quantity": "q"}, {"at": 1.0, "quantity": "joints.hinge0.q"}),
    ({"at": "end", "body": "link1", "quantity": "position"}, {"at": "end", "quantity": "body.link1.position"}),
    ({"at": 0.5, "body": "link0", "quantity": "orientation"}, {"at": 0.5, "quantity": "body.link0.orientation"}),
    ({"min": "joints.hinge0.q"}, {"min": "joint.hinge0.q"}),
    ({"max": "bodies.link1.velocity"}, {"max": "body.link1.velocity"}),
)  # fmt: skip


@pytest.mark.parametrize(("old", "new"), OLD_AND_NEW, ids=lambda given: str(given))
def test_both_spellings_have_the_same_verdict(trajectory, old, new):
    for bounds in ({"above": 1e9}, {"below": 1e9}):
        for world in (0, 1):
            before, after = (one(trajectory, **given, **bounds, world=world) for given in (old, new))
            assert repr(before) == repr(after)  # a NaN is not equal to itself


def test_report_names_the_component_that_is_farthest_off(trajectory):
    expected = trajectory.body("link1").position[50, 1].copy()
    expected[1] += 0.25
    given = {"at": 50 * FRAME_TIME, "body": "link1", "quantity": "position", "equals": expected, "world": 1}
    verdict = one(trajectory, within=0.1, **given)
    assert (verdict.passed, verdict.component) == (False, 1)
    assert verdict.difference == pytest.approx(0.25)
    assert "[1]" in verdict.row()[5]
    assert one(trajectory, within=0.3, **given).passed
