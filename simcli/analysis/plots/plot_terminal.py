"""Pictures in a terminal: what a figure of matplotlib shows, in characters. Needs plotext, of the extra `plot`."""

import shutil

import numpy as np

from simcli.errors import UsageError, install_hint

ROWS_OF_PANEL = (12, 24)  # fewest and most
_COLUMNS = (40, 120)
MARKERS = {True: "hd", False: "dot"}  # with and without block characters


def text_of(figure, has_blocks: bool = True, has_colours: bool = True) -> str:
    """A figure as text, one panel below the other.

    Args:
        figure: of matplotlib, with lines, points, bars, and cells in colours.
        has_blocks: whether the terminal shows block characters; else ASCII.
        has_colours: whether it shows colours.

    Raises:
        UsageError: plotext is not installed.
    """
    try:
        import plotext
    except ImportError as error:
        raise UsageError(install_hint("plots in a terminal need plotext", "plot")) from error
    size = shutil.get_terminal_size((80, 24))
    width = int(np.clip(size.columns, *_COLUMNS))
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    height = int(np.clip((size.lines - 2) // len(panels), *ROWS_OF_PANEL))
    return "\n".join(_panel(plotext, axes, width, height, has_blocks, has_colours) for axes in panels)


def _panel(plotext, axes, width: int, height: int, has_blocks: bool, has_colours: bool) -> str:
    plotext.clear_figure()
    plotext.plotsize(width, height)
    marker = MARKERS[has_blocks]
    for line in axes.get_lines():
        x, y = (np.asarray(values, float) for values in line.get_data())
        keep = np.isfinite(x) & np.isfinite(y)
        if keep.any():
            draw = plotext.scatter if line.get_linestyle() in ("None", "none") else plotext.plot
            draw(x[keep].tolist(), y[keep].tolist(), label=_label(line), marker=marker)
    for points in axes.collections:
        _add_points(plotext, points, marker)
    bars = [patch for patch in axes.patches if patch.get_height() and patch.get_width()]
    for bar in bars:
        x, top = bar.get_x(), bar.get_y() + bar.get_height()
        right = x + bar.get_width()
        plotext.plot([x, x, right, right], [bar.get_y(), top, top, bar.get_y()], marker=marker)
    title = axes.get_title() or (axes.figure.get_suptitle() if axes is axes.figure.axes[0] else "")
    plotext.title(title)
    plotext.xlabel(axes.get_xlabel().replace("\n", " "))
    text = plotext.build()
    above = axes.get_ylabel().replace("\n", " ")  # plotext would leave out the label of x for a long one of y
    return f"{above}\n{text if has_colours else plotext.uncolorize(text)}"


def _add_points(plotext, points, marker: str) -> None:
    """Points; cells of a heat map and bands, which have no places, are left to pictures."""
    at = np.asarray(points.get_offsets(), float).reshape(-1, 2)
    at = at[np.isfinite(at).all(axis=1)]
    if len(at) and not np.array_equal(at, [[0.0, 0.0]]):  # of a band
        plotext.scatter(at[:, 0].tolist(), at[:, 1].tolist(), label=_label(points), marker=marker)


def _label(artist) -> str | None:
    label = str(artist.get_label())
    return None if label.startswith("_") else label
