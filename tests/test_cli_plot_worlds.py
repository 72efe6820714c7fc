"""`simcli plot` over worlds and of many worlds: which picture, its numbers, and a legend that covers nothing."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support.world_files import FAILED, grid, peaks, world_file

from simcli.analysis.channels import energy_rounding, locate_channel, read_channels, without_rounding
from simcli.analysis.export import plot
from simcli.analysis.worlds.world_columns import WorldColumn
from simcli.analysis.worlds.world_table import WorldTable
from simcli.cli import process as cli_process
from simcli.errors import Exit, UsageError
from simcli.records.reading.reader import open_trajectory
from simcli.view.page.curves import CurveGroup, Series, values_of

PNG = b"\x89PNG\r\n\x1a\n"
RNG = np.random.default_rng(5)
FILES = {
    "grid": grid(7, 6),
    "line": {"params.l": ("m", np.linspace(0.1, 2.0, 30))},
    "drawn": {"params.l": ("m", RNG.uniform(0.1, 2.0, 40)), "params.c": ("N m s/rad", RNG.uniform(1.0, 3.0, 40))},
}


REST = """simcli: 1
bodies: {bob: {mass: 1, com: [0, 0, -1], inertia: {diag: [0.1, 0.1, 0.1]}}}
joints: {pin: {type: revolute, parent: world, child: bob, axis: [0, 1, 0], parent_frame: {xyz: [0, 0, 3]}, q: 1e-9}}
solver: {dt: 1 ms}
run: {duration: 1}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("worlds")
    return {name: world_file(folder / f"{name}.h5", params) for name, params in FILES.items()}


@pytest.fixture
def picture(files, tmp_path, monkeypatch, capsys):
    """The document of a command and the figure that it wrote."""
    figures = []
    save = plot.save_figure
    monkeypatch.setattr(plot, "save_figure", lambda figure, output: (save(figure, output), figures.append(figure)))

    def run(name, *words):
        target = tmp_path / "a.png"
        line = ["plot", *(str(files[one]) for one in name.split()), "-o", str(target), "--json", *words]
        code = cli_process.run_command(line, debug=False, as_json=True)
        said = capsys.readouterr()
        assert code == Exit.OK, said.err
        assert target.read_bytes().startswith(PNG)
        return json.loads(said.out), figures[-1]

    return run


def legend_of(figure):
    """Title and texts of the legend, which must cover no panel."""
    legend = figure.legends[0] if figure.legends else figure.axes[0].get_legend()
    if legend is None:
        return "", []
    box, whole = legend.get_window_extent(), figure.bbox
    assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)
    assert (box.min >= whole.min).all()
    assert (box.max <= whole.max).all()
    return legend.get_title().get_text(), [text.get_text() for text in legend.get_texts()]


def points_of(line):
    return np.column_stack(line.get_data())


def test_a_parameter_that_ascends_gives_a_line(picture):
    document, figure = picture("line", "-x", "params.l", "-y", "measure.peak")
    assert document["kind"] == "line"
    assert (document["worlds"], document["failed"], document["without_value"]) == (29, 0, 1)
    (axes,) = figure.axes
    curve, mark = axes.lines
    x, y = FILES["line"]["params.l"][1], peaks(FILES["line"])
    kept = np.isfinite(y)
    np.testing.assert_array_equal(points_of(curve), np.column_stack([x, y])[kept])
    assert mark.get_xdata().tolist() == [x[FAILED]]
    assert axes.get_xlabel() == "params.l [m]"
    assert axes.get_ylabel() == "measure.peak [rad]: largest value of joint.hinge0.q"
    assert figure.get_suptitle() == "line"
    assert legend_of(figure) == ("", ["no value (1, of which 1 failed)"])


def test_another_parameter_gives_a_line_for_each_of_its_values(picture):
    document, figure = picture("grid", "-x", "params.l", "-y", "measure.pos.x")
    assert document["kind"] == "line"
    title, texts = legend_of(figure)
    assert title == "params.c [N m s/rad]"
    assert texts == ["10", "12", "14", "16", "18", "20", "failed (1)"]
    *curves, failed = figure.axes[0].lines
    assert len({curve.get_color() for curve in curves}) == 6
    worlds = np.arange(42.0)
    for k, curve in enumerate(curves):
        np.testing.assert_array_equal(curve.get_ydata(), [w for w in worlds[k::6] if w != FAILED])
    assert failed.get_ydata().tolist() == [FAILED]


def test_parameters_that_are_drawn_give_points(picture):
    document, figure = picture("drawn", "-x", "params.l", "-y", "measure.pos.y", "--where", "{params.c} < 2")
    kept = np.flatnonzero(FILES["drawn"]["params.c"][1] < 2.0)
    good = kept[kept != FAILED]
    assert (document["kind"], document["worlds"], document["failed"]) == ("scatter", len(kept), int(FAILED in kept))
    shown = figure.axes[0].collections[0].get_offsets()
    np.testing.assert_array_equal(shown, np.column_stack([FILES["drawn"]["params.l"][1][good], good + 0.1]))


@pytest.mark.parametrize("axis", ["-x", "-y"])
def test_one_name_gives_a_histogram(picture, axis):
    document, figure = picture("drawn", axis, "measure.pos.x")
    assert (document["kind"], document["worlds"], document["failed"]) == ("histogram", 40, 1)
    (axes,) = figure.axes
    good, bad = ([bar.get_height() if axis == "-x" else bar.get_width() for bar in bars] for bars in axes.containers)
    assert (sum(good), sum(bad)) == (39, 1)
    labels = (axes.get_xlabel(), axes.get_ylabel())
    assert labels[axis == "-y"].startswith("measure.pos.x [m]")
    assert labels[axis == "-x"] == "worlds"
    assert legend_of(figure)[1] == ["not failed (39)", "failed (1)"]


def test_a_grid_gives_a_heat_map(picture):
    document, figure = picture("grid", "-x", "params.l", "-y", "params.c", "-z", "measure.peak")
    assert (document["kind"], document["without_value"]) == ("heat map", 1)
    cells = figure.axes[0].collections[0].get_array()
    np.testing.assert_array_equal(cells.filled(np.nan), peaks(FILES["grid"]).reshape(7, 6).T)
    assert figure.axes[1].get_ylabel().startswith("measure.peak [rad]")
    assert legend_of(figure)[1] == ["no value (1, of which 1 failed)"]


def test_cells_of_several_worlds_show_their_median(picture, files, tmp_path):
    thrice = {name: (unit, np.tile(values, 3)) for name, (unit, values) in FILES["grid"].items()}
    thrice["params.k"] = ("1", np.repeat([1.0, 2.0, 3.0], 42))
    files["thrice"] = world_file(tmp_path / "thrice.h5", thrice)
    document, figure = picture("thrice", "-x", "params.l", "-y", "params.c", "-z", "measure.pos.x")
    assert document["kind"] == "heat map"
    np.testing.assert_array_equal(figure.axes[0].collections[0].get_array(), (np.arange(42.0) + 42).reshape(7, 6).T)
    assert figure.axes[1].get_ylabel().endswith("median of 3 worlds")
    assert legend_of(figure)[1] == ["failed (1)"]


def test_colours_without_a_grid_are_points(picture):
    document, figure = picture("drawn", "-x", "params.l", "-y", "params.c", "-z", "measure.pos.x")
    assert document["kind"] == "scatter"
    values = figure.axes[0].collections[0].get_array()
    np.testing.assert_array_equal(values, [w for w in range(40) if w != FAILED])
    assert legend_of(figure)[1] == ["failed (1)"]


def test_many_worlds_are_a_median_and_a_band(picture, files):
    document, figure = picture("grid", "-c", "joint.hinge0.q", "--world", "0-39")
    assert document["channels"] == ["joint.hinge0.q"]
    (axes,) = figure.axes
    with open_trajectory(files["grid"]) as trajectory:
        values = trajectory.joint("hinge0").q[:, :40, 0]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), np.median(values, axis=1), rtol=1e-15)
    edges = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert {edges.min(), edges.max()} == {np.quantile(values, 0.05, axis=1).min(), np.quantile(values, 0.95, axis=1).max()}
    assert legend_of(figure) == ("40 worlds", ["median", "5 to 95 %"])


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["-x", "params.l", "-y", "measure.peak"], ["params.l [m]", "measure.peak"]),
        (["-x", "measure.peak"], ["worlds", "measure.peak"]),
        (["-c", "joint.hinge1.q", "--world", "0"], ["joint.hinge1.q [rad]", "time [s]"]),
    ],
)
def test_a_terminal_shows_it_in_characters(files, capsys, words, shown, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    code = cli_process.run_command(["plot", str(files["line"]), "--terminal", *words], debug=False, as_json=False)
    said = capsys.readouterr()
    assert code == Exit.OK, said.err
    assert all(word in said.out for word in shown)
    assert "\x1b" not in said.out
    assert max(map(len, said.out.splitlines())) == 100
    assert not files["line"].with_suffix(".png").exists()


def test_quantiles_are_those_of_the_worlds_that_are_there():
    values = np.array([[1.0, 2, 3, 4], [1, 2, 3, np.nan], [np.nan] * 4])
    low, middle, high = plot.quantiles(values)
    np.testing.assert_allclose(middle, [2.5, 2.0, np.nan], rtol=1e-15)
    np.testing.assert_allclose(low, [1.15, 1.1, np.nan], rtol=1e-15)
    np.testing.assert_allclose(high, [3.85, 2.9, np.nan], rtol=1e-15)


def test_few_worlds_are_told_by_their_parameters(picture):
    _, figure = picture("grid", "-c", "joint.hinge0.q", "--where", "{params.c} == 10 and {world} < 19")
    assert legend_of(figure) == ("params.l [m]", ["world 0: 0.1", "world 6: 0.25", "world 12: 0.4", "world 18: 0.55"])


def test_a_legend_is_shown_once_and_labels_have_one_line(picture, files, capsys):
    """In the first panel that has it; in a terminal, too; a long name in small letters, in its panel."""
    names = ["joint.hinge0.q", "body.link0.position", "joint.hinge0.qd", "body.link0.angular_velocity"]
    _, figure = picture("line", "--world", "0-2", *(word for name in names for word in ("-c", name)))
    assert [axes.get_legend() is not None for axes in figure.axes] == [True, True, False, False]
    labels = [axes.yaxis.label for axes in figure.axes]
    assert [label.get_text() for label in labels] == [
        f"{name} [{unit}]" for name, unit in zip(names, ("rad", "m", "rad/s", "rad/s"), strict=True)
    ]
    figure.draw_without_rendering()
    for axes, label in zip(figure.axes, labels, strict=True):
        assert label.get_window_extent().height < 1.1 * axes.get_window_extent().height
    text = plot.text_of(figure, has_colours=False)
    assert text.count("world 1:") == 1 + 3  # of a coordinate, and of the components of a position
    assert plot.fitted_label("measure.peak [rad]: " + 60 * "long ", 4.0) == ("measure.peak [rad]\n" + 60 * "long ", 5.0)


def test_energies_of_rounding_are_shown_as_zero(picture, files, tmp_path):
    """In pictures, and on the page; drifts, which are rounding in a good run, and files keep what they are."""
    (tmp_path / "rest.yaml").write_text(REST)
    files["rest"] = tmp_path / "rest.h5"
    words = ["run", str(tmp_path / "rest.yaml"), "-o", str(files["rest"]), "-q"]
    assert cli_process.run_command(words, debug=False, as_json=False) == Exit.OK
    _, figure = picture("rest", "-c", "energy.kinetic")
    assert not figure.axes[0].lines[0].get_ydata().any()
    with open_trajectory(files.pop("rest")) as run:
        rounding = energy_rounding(run, [0])
        (source,) = locate_channel(run, "energy.kinetic")
        kinetic, total = source.read(slice(None), [0]), run.energy.total[...]
        assert 0.0 < kinetic.max() < 1e-15
        assert rounding == pytest.approx(1e-12 * np.abs(total).max(), rel=1e-3)
        assert not without_rounding("energy.kinetic", kinetic, rounding).any()
        assert np.abs(without_rounding("energy.total", total, rounding) - total).max() <= 0.51 * rounding
        for name in ("energy.drift", "joint.pin.q"):
            assert without_rounding(name, kinetic, rounding) is kinetic
        group = CurveGroup("Energy", "J", (Series("kinetic", source, 0),))
        (shown,) = values_of([group], slice(None), [0], rounding)
        assert not shown.any()
        (kept,) = values_of([group], slice(None), [0])
        assert kept.any()


def test_energies_of_rounding_are_zero_in_a_table_that_is_shown():
    """Beside the largest energy of the table; drifts, other units, numbers that are not there and the table itself stay."""
    columns = [
        WorldColumn("measure.rest", np.array([1e-15, np.nan, -2e-11]), "J", "last value of energy.kinetic"),
        WorldColumn("measure.most", np.array([3.0, 9.0, np.inf]), "J", "largest value of energy.total"),
        WorldColumn("measure.error", np.array([1e-15, 0.0, 1e-16]), "J", "largest value of energy.drift"),
        WorldColumn("measure.load", np.array([1e-15, 0.0, 1e-16]), "N m", "last value of joint.pin.effort"),
    ]
    table = WorldTable({column.name: column for column in columns}, 3)
    shown = table.without_rounding().arrays
    np.testing.assert_array_equal(shown["measure.rest"], [0.0, np.nan, -2e-11])
    for name in ("measure.most", "measure.error", "measure.load"):
        np.testing.assert_array_equal(shown[name], table.arrays[name])
    assert table.arrays["measure.rest"][0] == 1e-15


def test_worlds_are_read_alike_in_one_piece_or_one_by_one(files):
    with open_trajectory(files["grid"]) as trajectory:
        apart, close = (read_channels(trajectory, ["joint.hinge0.q"], worlds)[0].values for worlds in ([41, 0], [1, 0, 3]))
        stored = trajectory.joint("hinge0").q[...]
    np.testing.assert_array_equal(apart, stored[:, [41, 0]])
    np.testing.assert_array_equal(close, stored[:, [1, 0, 3]])


def test_several_files_are_curves_of_one_figure_with_the_file_in_the_legend(picture, files):
    document, figure = picture("grid line", "-c", "joint.hinge0.q", "-c", "body.link0.position")
    assert document["channels"] == ["joint.hinge0.q", "body.link0.position"]
    first, second = figure.axes
    assert [line.get_label() for line in first.lines] == ["grid.h5", "line.h5"]
    assert [line.get_label() for line in second.lines] == [
        f"{file}.h5, {axis}" for file in FILES if file != "drawn" for axis in "xyz"
    ]
    for line, name in zip(first.lines, ("grid", "line"), strict=True):
        with open_trajectory(files[name]) as trajectory:
            np.testing.assert_array_equal(line.get_xdata(), trajectory.time)
            np.testing.assert_array_equal(line.get_ydata(), trajectory.joint("hinge0").q[:, 0, 0])
    assert figure.get_suptitle() == ""
    assert legend_of(figure)[1] == ["grid.h5", "line.h5"]
    chosen = "{file} == 'line.h5' and {world} < 2 or {world} == 7"
    _, figure = picture("grid line", "-c", "joint.hinge0.q", "--where", chosen)
    assert [line.get_label() for line in figure.axes[0].lines] == [
        "grid.h5",
        "line.h5, world 0: 0.1",
        "line.h5, world 1: 0.1655",
        "line.h5, world 7: 0.5586",
    ]


def test_more_curves_than_a_legend_holds_are_told_by_the_file(picture):
    _, figure = picture("grid line", "-c", "joint.hinge0.q", "--world", "0-9")
    assert legend_of(figure)[1] == ["grid.h5", "line.h5"]
    lines = figure.axes[0].lines
    assert len({line.get_color() for line in lines[:10]}) == len({line.get_color() for line in lines[10:]}) == 1
    _, figure = picture("grid line", "-c", "joint.hinge0.q", "--world", "0-19")
    assert legend_of(figure) == (
        "20 worlds",
        [f"{file}.h5, {what}" for file in ("grid", "line") for what in ("median", "5 to 95 %")],
    )


def test_several_files_over_worlds_are_told_by_the_file(picture):
    document, figure = picture("line drawn", "-x", "measure.pos.x", "-y", "measure.pos.y")
    assert document["worlds"] == 70
    assert legend_of(figure)[1] == ["line.h5", "drawn.h5", "failed (2)"]
    _, figure = picture("line drawn", "-x", "measure.pos.x")
    assert legend_of(figure)[1] == ["line.h5", "drawn.h5", "failed (2)"]
    heights = [sum(bar.get_height() for bar in bars) for bars in figure.axes[0].containers]
    assert heights == [29, 39, 2]


def test_files_of_other_units_and_files_named_twice_are_refused(files, tmp_path, capsys):
    other = world_file(tmp_path / "b.h5", {"params.l": ("kg", np.linspace(2.0, 3.0, 5))})
    for words, hint in [
        ([other, "-c", "joint.hinge0.q"], "`params.l` is in kg, elsewhere in m"),
        ([files["grid"]], "is named twice"),
        ([files["line"], "-c", "joint.hinge9.q"], f"no channel `joint.hinge9.q` in {files['grid']}"),
        ([files["line"], "--world", "40"], f"no world 40 in {files['line']}: it holds 0 to 29"),
        ([files["drawn"], "-x", "params.l", "-y", "params.c", "-z", "world"], "give one file"),
    ]:
        code = cli_process.run_command(["plot", str(files["grid"]), *map(str, words)], debug=False, as_json=False)
        assert code == Exit.USAGE
        assert hint in capsys.readouterr().err


def test_a_channel_of_other_units_is_refused_by_name(files):
    with open_trajectory(files["line"]) as trajectory:
        (channel,) = read_channels(trajectory, ["joint.hinge0.q"], file="a.h5")
    with pytest.raises(UsageError, match=r"b.h5: `joint.hinge0.q` is in m, in a.h5 in rad"):
        plot.draw_channels([channel, replace(channel, units=("m",), file="b.h5")])


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["-x", "params.l", "-c", "energy.total"], "-c is drawn over time"),
        (["-x", "params.l", "-z", "params.c"], "name both"),
        (["-x", "status"], "`status` has words"),
        (["-x", "measure.peek"], "did you mean `measure.peak`?"),
        (["-x", "measure.pos"], "name one, as `measure.pos.x`"),
        (["-x", "measure.peak", "--where", "{world} > 99"], "no world meets the condition"),
        (["-x", "measure.peak", "--where", f"{{world}} == {FAILED}"], "no world has a number of `measure.peak`"),
        (["-x", "measure.peak", "--world", "77"], "it holds 0 to 41"),
        (["--world", "77"], "it holds 0 to 41"),
        (["-x", "measure.peak", "-o", "a.txt"], "a name that ends in .png, .svg or .pdf"),
    ],
)
def test_what_cannot_be_drawn_is_wrong_usage(files, capsys, words, hint):
    code = cli_process.run_command(["plot", str(files["grid"]), *words], debug=False, as_json=False)
    assert code == Exit.USAGE
    assert hint in capsys.readouterr().err
