"""Channels by name, pictures and CSV, on a small file with known numbers."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from support.analysis_files import record
from support.process import python

from simcli.analysis.channels import available, default_channels, default_columns, locate_channel, read_channels
from simcli.analysis.export.csv_text import write_table_csv
from simcli.analysis.export.tables import Extract
from simcli.analysis.plots.plot import MAX_PANELS, draw_channels, save_figure
from simcli.errors import UsageError

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
        ("body.link1.position", "frames/body_q", (1, slice(0, 3)), tuple(f"body.link1.position.{c}" for c in "xyz"),
         ("m",) * 3),
        ("body.ball.orientation", "frames/body_q", (2, slice(3, 7)),
         tuple(f"body.ball.orientation.{c}" for c in "xyzw"), ("1",) * 4),
        ("bodies.link0.angular_velocity", "frames/body_qd", (0, slice(3, 6)),
         tuple(f"body.link0.angular_velocity.{c}" for c in "xyz"), ("rad/s",) * 3),
        ("point.link0/tip.velocity", "frames/point/link0/tip/velocity", (slice(0, 3),),
         tuple(f"point.link0/tip.velocity.{c}" for c in "xyz"), ("m/s",) * 3),
    ],
)  # fmt: skip
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
        "from simcli.analysis.plots.plot import draw_channels\n"
        "from simcli.errors import UsageError\n"
        "try:\n"
        "    draw_channels([])\n"
        "except UsageError as error:\n"
        "    print(error)\n"
    )
    assert python(code, cwd=tmp_path).strip() == "plots need matplotlib: pip install 'simcli[plot]'"
