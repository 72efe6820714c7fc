"""Pictures over worlds: a point, a bar's part or a cell for each. Needs matplotlib, the extra `plot`.

    x or y alone        histogram
    x and y             a line where x is a parameter that ascends or descends from world to world, one for each value of
                        one other parameter; else points; of several files in colours by file
    x, y and z          heat map where x and y make a grid, else points with the colour of z

Worlds that failed are marked, those without a number are counted in the legend.
"""

from dataclasses import dataclass

import numpy as np

from simcli.analysis.export.plot import MAX_LEGEND, fitted_label, in_plot_order, legend_beside, new_figure
from simcli.analysis.worlds.world_columns import WorldColumn
from simcli.analysis.worlds.world_table import WorldTable
from simcli.errors import UsageError

_SIZE = (8.0, 4.8)  # [inch]
_ROOM = (6.2, 4.0)  # [inch], for the names of its axes
MAX_BINS = 60
MAX_MARKED = 200  # points of a line that get a marker
MANY = 10000  # points that are drawn as a bitmap in svg and pdf, too
_EDGE = 0.025  # of the height of a panel
SPARSE = 4  # a grid has at most so many cells per world
_FAILED = {"color": "tab:red", "marker": "x", "linestyle": "none", "markeredgewidth": 1.8, "zorder": 4}


@dataclass(frozen=True)
class Drawn:
    """What a picture shows.

    Attributes:
        figure: of matplotlib.
        kind: histogram, line, scatter, heat map.
        n_worlds: that it shows.
        n_failed: of these.
        n_missing: worlds that it cannot show, because they lack a number.
    """

    figure: object
    kind: str
    n_worlds: int
    n_failed: int
    n_missing: int


class _Worlds:
    """Numbers of the worlds of a picture, those that have them all.

    Attributes:
        axes: columns x, y, z, those that are given.
        there: (n,) bool, True where no number is missing.
        failed: (n,) bool, True where a world is there, but failed.
    """

    def __init__(self, table: WorldTable, names: list[str]):
        self.table = table
        self.axes = [table.column(name) for name in names]
        for column in self.axes:
            if column.has_words:
                raise UsageError(f"`{column.name}` has words, no numbers to draw; `--where` selects by them")
        self.there = np.all([np.isfinite(column.values.astype(float)) for column in self.axes], axis=0)
        if not self.there.any():
            raise UsageError(f"no world has a number of {' and '.join(f'`{column.name}`' for column in self.axes)}")
        self.failed = self.there & (table.columns["status"].values == "failed")
        self.good = self.there & ~self.failed

    @property
    def missing_text(self) -> str:
        """How many worlds lack a number, and how many of them failed."""
        failed = int((~self.there & (self.table.columns["status"].values == "failed")).sum())
        return f"no value ({(~self.there).sum()}{f', of which {failed} failed' if failed else ''})"

    def mark(self, panel, title: str | None = None) -> None:
        """Mark the worlds that failed, count those without a number, and show the legend if it says anything."""
        if self.failed.any() and len(self.axes) > 1:
            x, y = (column.values[self.failed] for column in self.axes[:2])
            panel.plot(x, y, **_FAILED, label=f"failed ({self.failed.sum()})")
        if not self.there.all():
            known = ~self.there & np.isfinite(self.axes[0].values.astype(float)) & (len(self.axes) == 2)
            at = self.axes[0].values[known]  # at the edge, below the x they have
            panel.plot(
                at,
                np.full(len(at), _EDGE),
                color="tab:red",
                marker="|" if len(at) else "",
                markersize=9,
                linestyle="none",
                transform=panel.get_xaxis_transform(),
                label=self.missing_text,
            )
        if panel.get_legend_handles_labels()[1]:
            legend_beside(panel, title)


def draw_worlds(table: WorldTable, names: list[str], title: str = "", along_x: bool = True) -> Drawn:
    """Draw one to three columns of a table.

    Args:
        table: of worlds.
        names: of the columns along x, y and in colour.
        title: shown above.
        along_x: False if a single column lies along y.

    Raises:
        UsageError: no such column, nothing to draw, or matplotlib is not installed.
    """
    worlds = _Worlds(table, names)
    figure = new_figure(*_SIZE, title)
    panel = figure.subplots()
    if len(names) == 1:
        kind = _histogram(panel, worlds, along_x)
    else:
        kind = _curves(panel, worlds) if len(names) == 2 else _colours(panel, worlds)
        _name_axes(panel, _label(worlds.axes[0]), _label(worlds.axes[1]))
    counts = (worlds.there, worlds.failed, ~worlds.there)
    return Drawn(figure, kind, *(int(mask.sum()) for mask in counts))


def _name_axes(panel, x: str, y: str) -> None:
    for name, text, room in (("xlabel", x, _ROOM[0]), ("ylabel", y, _ROOM[1])):
        label, size = fitted_label(text, room)
        getattr(panel, f"set_{name}")(label, fontsize=size)


def _label(column: WorldColumn) -> str:
    """Name and unit, and what a measure is."""
    return f"{column.title}: {column.text}" if column.name.startswith("measure.") else column.title


def _histogram(panel, worlds: _Worlds, along_x: bool) -> str:
    values = worlds.axes[0].values.astype(float)
    edges = np.histogram_bin_edges(values[worlds.there], "auto")
    if len(edges) > MAX_BINS + 1:
        edges = np.linspace(edges[0], edges[-1], MAX_BINS + 1)
    files, any_failed = _rows_of_files(worlds.table), bool(worlds.failed.any())
    parts = (
        {f"not failed ({worlds.good.sum()})": worlds.good}
        if len(files) == 1
        else {file: rows & worlds.good for file, rows in files.items()}
    )
    parts |= {f"failed ({worlds.failed.sum()})": worlds.failed} if any_failed else {}
    colours = in_plot_order(len(files)) if len(files) > 1 else ["tab:blue"]
    panel.hist(
        [values[rows] for rows in parts.values()],
        edges,
        stacked=len(files) == 1,
        orientation="vertical" if along_x else "horizontal",
        label=[*parts] if len(parts) > 1 else None,
        color=[*colours, "tab:red"][: len(parts)],
        edgecolor="white",
        linewidth=0.5,
    )
    _name_axes(panel, *([_label(worlds.axes[0]), "worlds"] if along_x else ["worlds", _label(worlds.axes[0])]))
    (panel.yaxis if along_x else panel.xaxis).get_major_locator().set_params(integer=True)
    panel.grid(True, axis="y" if along_x else "x", linewidth=0.3)
    panel.set_axisbelow(True)
    worlds.mark(panel)
    return "histogram"


def _curves(panel, worlds: _Worlds) -> str:
    """Lines or points, in colours by the one other parameter if there are few of its values."""
    x, y = worlds.axes
    groups, title = _groups(worlds)
    if len(groups) > 1:  # colours in the order of the parameter
        panel.set_prop_cycle(color=in_plot_order(len(groups)))
    are_lines = x.is_varied and all(_goes_on(x.values[rows]) for rows in groups.values())
    for label, rows in groups.items():
        kept = rows[worlds.good[rows]]
        if are_lines:
            marker = {"marker": "o", "markersize": 3} if len(kept) <= MAX_MARKED else {}
            panel.plot(x.values[kept], y.values[kept], linewidth=1.2, label=label, **marker)
        else:
            panel.scatter(
                x.values[kept],
                y.values[kept],
                s=_point_size(len(x.values)),
                linewidths=0,
                alpha=0.8,
                label=label,
                rasterized=len(kept) > MANY,
            )
    panel.grid(True, linewidth=0.3)
    panel.set_axisbelow(True)
    worlds.mark(panel, title)
    return "line" if are_lines else "scatter"


def _groups(worlds: _Worlds) -> tuple[dict[str | None, np.ndarray], str | None]:
    """Rows by the file, and by the one parameter beyond x and y, whose title is given; all rows if that says nothing."""
    files = _rows_of_files(worlds.table)
    axes = [column.name for column in worlds.axes]
    others = [column for column in worlds.table.varied if column.name not in axes]
    if len(others) == 1 and worlds.axes[0].is_varied:
        values = np.unique(others[0].values)
        found = {
            ", ".join([file] * (len(files) > 1) + [f"{value:.6g}"]): np.flatnonzero(rows & (others[0].values == value))
            for file, rows in files.items()
            for value in values
        }
        found = {label: rows for label, rows in found.items() if len(rows)}
        if len(found) <= MAX_LEGEND:
            return found, others[0].title
    return {file or None: np.flatnonzero(rows) for file, rows in files.items()}, None


def _rows_of_files(table: WorldTable) -> dict[str, np.ndarray]:
    """Which rows are of a file, (n,) bool; of one file all, under the name ""."""
    column = table.columns.get("file")
    files = {} if column is None else {file: column.values == file for file in column.words}
    if len(files) < 2:
        return {"": np.ones(table.n_rows, bool)}
    return {file: rows for file, rows in files.items() if rows.any()}


def _goes_on(values: np.ndarray) -> bool:
    """True if numbers ascend or descend throughout."""
    steps = np.diff(values)
    return bool((steps > 0).all() or (steps < 0).all())


def _colours(panel, worlds: _Worlds) -> str:
    x, y, z = worlds.axes
    if len(_rows_of_files(worlds.table)) > 1:
        raise UsageError("colours show -z, and cannot tell files apart: leave -z out, or give one file")
    grid = _grid(worlds)
    if grid is None:
        rows = worlds.good
        shown = panel.scatter(
            x.values[rows],
            y.values[rows],
            c=z.values[rows],
            s=_point_size(rows.sum()),
            linewidths=0,
            rasterized=rows.sum() > MANY,
        )
        panel.grid(True, linewidth=0.3)
        panel.set_axisbelow(True)
        most = 1
    else:
        shown = panel.pcolormesh(*grid[:2], np.ma.masked_invalid(grid[2]), shading="nearest", rasterized=True)
        panel.set_facecolor("0.85")
        most = grid[3]
    label, size = fitted_label(_label(z) + (f", median of {most} worlds" if most > 1 else ""), _ROOM[1])
    panel.figure.colorbar(shown, ax=panel).set_label(label, fontsize=size)
    _mark_cells(panel, worlds, is_grid=grid is not None)
    return "scatter" if grid is None else "heat map"


def _mark_cells(panel, worlds: _Worlds, is_grid: bool) -> None:
    """Failed worlds, and grey cells without a number, in a legend below: the right side has the colours."""
    x, y, _ = worlds.axes
    if worlds.failed.any():
        panel.plot(x.values[worlds.failed], y.values[worlds.failed], **_FAILED, label=f"failed ({worlds.failed.sum()})")
    if not worlds.there.all():
        look = {"color": "0.85", "marker": "s", "markeredgecolor": "0.5"} if is_grid else {}
        panel.plot([], [], linestyle="none", **look, label=worlds.missing_text)
    if panel.get_legend_handles_labels()[1]:
        panel.figure.legend(fontsize="small", loc="outside lower center", ncols=2)


def _grid(worlds: _Worlds) -> tuple[np.ndarray, np.ndarray, np.ndarray, int] | None:
    """Values of x (m,) and y (n,), medians of z in the cells (n, m), most worlds in a cell; None if there is no grid."""
    x, y, z = (column.values.astype(float) for column in worlds.axes)
    keep = worlds.there
    xs, ys = (np.unique(values[np.isfinite(values)]) for values in (x, y))
    ix, iy = np.searchsorted(xs, x[keep]), np.searchsorted(ys, y[keep])
    if min(len(xs), len(ys)) < 2 or len(xs) * len(ys) > SPARSE * keep.sum():
        return None
    cell = iy * len(xs) + ix
    order = np.lexsort((z[keep], cell))
    cells, first, count = np.unique(cell[order], return_index=True, return_counts=True)
    sorted_z = z[keep][order]
    table = np.full(len(xs) * len(ys), np.nan)
    table[cells] = (sorted_z[first + (count - 1) // 2] + sorted_z[first + count // 2]) / 2
    return xs, ys, table.reshape(len(ys), len(xs)), int(count.max())


def _point_size(count: int) -> float:
    """[points^2], of a marker among so many."""
    return 18.0 if count <= 300 else 6.0 if count <= 5000 else 1.0
