"""Pictures of channels over time, by matplotlib, or in characters, by plotext. Needs the extra `plot`."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from simcli.analysis.channels import Channel
from simcli.errors import UsageError, from_extra
from simcli.records.drafts import MARK, PNG_KEY, drafted
from simcli.spec.base.fault_list import suffix_of

PANEL_SIZE = (8.0, 2.6)  # [inch], of one channel
DOTS_PER_INCH = 120
_FRAME = 0.3  # [inch] of the height of a panel that is above and below its axis
_POINTS, _READABLE_POINTS, _LEAST_POINTS = 10.0, 8.0, 5.0  # of letters that name an axis, in pictures of 120 dots per inch
_LETTER = 0.58  # width of a letter, of its size, on average of names
PICTURE_SUFFIXES = (".png", ".svg", ".pdf")  # that are told; matplotlib knows more
_MARKS = {"png": {PNG_KEY: MARK}, "svg": {"Creator": MARK}, "pdf": {"Creator": MARK}}
MAX_LEGEND = 12  # entries; nobody tells more curves apart
MAX_COLOURS = 10  # of matplotlib's cycle
MAX_PANELS = 12
_BAND = (0.05, 0.5, 0.95)  # quantiles of the worlds that are drawn where there are more than MAX_LEGEND


def draw_channels(
    channels: list[Channel], title: str = "", names: Mapping[tuple[str, int], str] | None = None, names_title: str = ""
):
    """Draw one panel per name of a channel, one curve per component, world and file.

    Where a file has more than MAX_LEGEND worlds, a panel shows the median and the band from 5 to 95 % of each component.

    Args:
        channels: what to draw, file by file.
        title: shown above.
        names: by file and world, what the legend calls the world, else `world 3`.
        names_title: what is behind the worlds there.

    Returns:
        A figure of matplotlib.

    Raises:
        UsageError: matplotlib is not installed, there are too many panels, or a channel has other units in another file.
    """
    together: dict[str, list[Channel]] = {}
    for channel in channels:
        together.setdefault(channel.name, []).append(channel)
    if len(together) > MAX_PANELS:
        raise UsageError(f"{len(together)} channels in one picture; at most {MAX_PANELS}: name fewer")
    width, height = PANEL_SIZE
    figure = new_figure(width, height * len(together), title)
    panels = figure.subplots(len(together), 1, sharex=True, squeeze=False)[:, 0]
    for panel, (name, found) in zip(panels, together.items(), strict=True):
        if any(len(channel.worlds) > MAX_LEGEND for channel in found):
            _draw_bands(panel, found)
        else:
            _draw_curves(panel, found, names or {}, names_title)
        label, size = fitted_label(f"{name} [{', '.join(sorted(_units(found)))}]", height - _FRAME)
        panel.set_ylabel(label, fontsize=size)
        panel.grid(True, linewidth=0.3)
    panels[-1].set_xlabel("time [s]")
    figure.align_ylabels(panels)
    _say_once(panels)
    return figure


def fitted_label(text: str, room: float) -> tuple[str, float]:
    """The name of an axis in one line, or in two where its letters would be too small to read, and their size [points].

    Args:
        text: name and unit, perhaps with an explanation after a colon.
        room: [inch], along the axis.
    """
    size = 72.0 * room / (_LETTER * len(text))
    if size < _READABLE_POINTS:
        text = text.replace(": ", "\n", 1) if ": " in text else text.replace(" [", "\n[", 1)
        size = 72.0 * room / (_LETTER * max(map(len, text.split("\n"))))
    return text, float(np.clip(size, _LEAST_POINTS, _POINTS))


def _say_once(panels) -> None:
    """Show each legend in the first panel that has it."""
    shown = []
    for panel in panels:
        legend = panel.get_legend()
        if legend is None:
            continue
        texts = [text.get_text() for text in (legend.get_title(), *legend.get_texts())]
        colours = [handle.get_color() for handle in legend.get_lines()]
        if (texts, colours) in shown:
            legend.remove()
        else:
            shown.append((texts, colours))


def _units(found: list[Channel]) -> set[str]:
    """Units of a channel, which are those of all files."""
    first = found[0]
    for other in found:
        if other.units != first.units:
            raise UsageError(
                f"{other.file}: `{other.name}` is in {', '.join(other.units)}, in {first.file} in "
                f"{', '.join(first.units)}: these files are of different scenes"
            )
    return set(first.units)


def new_figure(width: float, height: float, title: str):
    """An empty figure of matplotlib.

    Args:
        width: [inch].
        height: [inch].
        title: shown above.

    Raises:
        UsageError: matplotlib is not installed.
    """
    with from_extra("plots need matplotlib", "plot"):
        # Not pyplot: no window, no global state, the same picture with and without a display.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    if title:
        figure.suptitle(title)
    return figure


def save_figure(figure, output: Path) -> None:
    """Write a picture.

    Args:
        figure: of matplotlib.
        output: a file whose suffix it knows (png, svg, pdf).

    Raises:
        UsageError: the suffix is unknown.
        OutputError: it cannot be written.
    """
    format = output.suffix.lower().removeprefix(".")
    if format not in figure.canvas.get_supported_filetypes():
        suffix_of(output, PICTURE_SUFFIXES)
    with drafted(output) as draft:
        figure.savefig(draft, format=format, dpi="figure", metadata=_MARKS.get(format))


def legend_beside(panel, title: str | None = None, **how) -> None:
    """Show the legend on the right of a panel, where it covers nothing."""
    panel.legend(
        title=title,
        fontsize="small",
        title_fontsize="small",
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.3,
        alignment="left",
        **how,
    )


def in_plot_order(count: int) -> list:
    """Colours from dark to light."""
    from matplotlib import colormaps

    return [colormaps["viridis"](part) for part in np.linspace(0.0, 0.9, count)]


def _draw_curves(panel, found: list[Channel], names: Mapping[tuple[str, int], str], title: str) -> None:
    n_curves = sum(channel.values[0].size if len(channel.values) else 0 for channel in found)
    few = n_curves <= MAX_LEGEND
    by_file = not few and len(found) > 1  # then one colour and one entry of the legend for each file
    if MAX_COLOURS < (len(found) if by_file else n_curves) <= MAX_LEGEND:  # else they would come again
        panel.set_prop_cycle(color=in_plot_order(len(found) if by_file else n_curves))
    look = {"linewidth": 1.2, "alpha": 1.0} if few else {"linewidth": 0.6, "alpha": 0.5}
    for channel in found:
        n_worlds, n_components = channel.values.shape[1:]
        lines = []
        for w, world in enumerate(channel.worlds):
            for k, label in enumerate(channel.labels):
                words = [channel.file] if channel.file else []
                words += [_component(channel, label)] if n_components > 1 else []
                words += [names.get((channel.file, world), f"world {world}")] if n_worlds > 1 else []
                same = {"color": lines[0].get_color()} if by_file and lines else {}
                words = words[:1] * (not lines) if by_file else words
                lines += panel.plot(channel.time, channel.values[:, w, k], label=", ".join(words) or None, **look, **same)
    if (few or by_file) and n_curves > 1 and len(found) <= MAX_LEGEND:
        legend_beside(panel, title if any(len(channel.worlds) > 1 for channel in found) and few else None)


def _draw_bands(panel, found: list[Channel]) -> None:
    counts = []
    for channel in found:
        n_ended = int(np.isnan(channel.values[-1]).any(axis=1).sum()) if len(channel.time) else 0
        counts.append(f"{len(channel.worlds)} worlds" + (f"\n{n_ended} ended before the last frame" if n_ended else ""))
        for k, label in enumerate(channel.labels):
            low, middle, high = quantiles(channel.values[:, :, k])
            name = f"{channel.file}, " if channel.file else ""
            name += f"{_component(channel, label)}, " if len(channel.labels) > 1 else ""
            (line,) = panel.plot(channel.time, middle, linewidth=1.2, label=f"{name}median")
            panel.fill_between(
                channel.time, low, high, color=line.get_color(), alpha=0.25, linewidth=0, label=f"{name}5 to 95 %"
            )
    legend_beside(panel, "\n".join(dict.fromkeys(counts)))


def quantiles(values: np.ndarray) -> np.ndarray:
    """Quantiles BAND of the worlds that are there at each frame, (3, F); NaN where none is.

    Args:
        values: (F, W), NaN of worlds that have ended.
    """
    found = np.full((len(_BAND), len(values)), np.nan)
    whole = ~np.isnan(values).any(axis=1)
    found[:, whole] = np.quantile(values[whole], _BAND, axis=1)
    some = ~whole & ~np.isnan(values).all(axis=1)
    found[:, some] = np.nanquantile(values[some], _BAND, axis=1)
    return found


def _component(channel: Channel, label: str) -> str:
    return label.removeprefix(channel.name + ".")


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
    with from_extra("plots in a terminal need plotext", "plot"):
        import plotext
    size = shutil.get_terminal_size((80, 24))
    width = int(np.clip(size.columns, *_COLUMNS))
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    height = int(np.clip((size.lines - 2) // len(panels), *ROWS_OF_PANEL))
    return "\n".join(_panel(plotext, axes, width, height, has_blocks, has_colours) for axes in panels)


def _panel(plotext, axes, width: int, height: int, has_blocks: bool, has_colours: bool) -> str:
    plotext.clear_figure()
    plotext.plotsize(width, height)
    marker = MARKERS[has_blocks]
    has_legend = axes.get_legend() is not None
    for line in axes.get_lines():
        x, y = (np.asarray(values, float) for values in line.get_data())
        keep = np.isfinite(x) & np.isfinite(y)
        if keep.any():
            draw = plotext.scatter if line.get_linestyle() in ("None", "none") else plotext.plot
            draw(x[keep].tolist(), y[keep].tolist(), label=_label(line) if has_legend else None, marker=marker)
    for points in axes.collections:
        _add_points(plotext, points, marker, has_legend)
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


def _add_points(plotext, points, marker: str, has_legend: bool) -> None:
    """Points; cells of a heat map and bands, which have no places, are left to pictures."""
    at = np.asarray(points.get_offsets(), float).reshape(-1, 2)
    at = at[np.isfinite(at).all(axis=1)]
    if len(at) and not np.array_equal(at, [[0.0, 0.0]]):  # of a band
        label = _label(points) if has_legend else None
        plotext.scatter(at[:, 0].tolist(), at[:, 1].tolist(), label=label, marker=marker)


def _label(artist) -> str | None:
    label = str(artist.get_label())
    return None if label.startswith("_") else label
