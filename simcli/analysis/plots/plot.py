"""Pictures of channels over time. Needs matplotlib, the extra `plot`."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from simcli.analysis.channels import Channel
from simcli.errors import UsageError, install_hint
from simcli.records.drafts import drafted
from simcli.records.marks import MARK, PNG_KEY
from simcli.spec.faults.fault_list import suffix_of

PANEL_SIZE = (8.0, 2.6)  # [inch], of one channel
DOTS_PER_INCH = 120
PICTURE_SUFFIXES = (".png", ".svg", ".pdf")  # that are told; matplotlib knows more
_MARKS = {"png": {PNG_KEY: MARK}, "svg": {"Creator": MARK}, "pdf": {"Creator": MARK}}
MAX_LEGEND = 12  # entries; nobody tells more curves apart
MAX_COLOURS = 10  # of matplotlib's cycle
MAX_PANELS = 12
_BAND = (0.05, 0.5, 0.95)  # quantiles of the worlds that are drawn where there are more than MAX_LEGEND


def draw_channels(channels: list[Channel], title: str = "", names: Mapping[int, str] | None = None, names_title: str = ""):
    """Draw one panel per channel, one curve per component and world.

    Of more than MAX_LEGEND worlds a panel shows the median and the band from 5 to 95 % of each component.

    Args:
        channels: what to draw; all of one file.
        title: shown above.
        names: of worlds in the legend, else `world 3`.
        names_title: what is behind the worlds there.

    Returns:
        A figure of matplotlib.

    Raises:
        UsageError: matplotlib is not installed, or there are too many panels.
    """
    if len(channels) > MAX_PANELS:
        raise UsageError(f"{len(channels)} channels in one picture; at most {MAX_PANELS}: name fewer")
    width, height = PANEL_SIZE
    figure = new_figure(width, height * len(channels), title)
    panels = figure.subplots(len(channels), 1, sharex=True, squeeze=False)[:, 0]
    for panel, channel in zip(panels, channels, strict=True):
        if len(channel.worlds) > MAX_LEGEND:
            _draw_bands(panel, channel)
        else:
            _draw_curves(panel, channel, names or {}, names_title)
        units = sorted(set(channel.units))
        panel.set_ylabel(f"{channel.name}\n[{', '.join(units)}]")
        panel.grid(True, linewidth=0.3)
    panels[-1].set_xlabel("time [s]")
    return figure


def new_figure(width: float, height: float, title: str):
    """An empty figure of matplotlib.

    Args:
        width: [inch].
        height: [inch].
        title: shown above.

    Raises:
        UsageError: matplotlib is not installed.
    """
    try:
        # Not pyplot: no window, no global state, the same picture with and without a display.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(install_hint("plots need matplotlib", "plot")) from error
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
    panel.legend(title=title, fontsize="small", title_fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0),
                 borderaxespad=0.3, alignment="left", **how)  # fmt: skip


def in_plot_order(count: int) -> list:
    """Colours from dark to light."""
    from matplotlib import colormaps

    return [colormaps["viridis"](part) for part in np.linspace(0.0, 0.9, count)]


def _draw_curves(panel, channel: Channel, names: Mapping[int, str], title: str) -> None:
    n_worlds, n_components = channel.values.shape[1:]
    n_curves = n_worlds * n_components
    if MAX_COLOURS < n_curves <= MAX_LEGEND:  # else they would come again
        panel.set_prop_cycle(color=in_plot_order(n_curves))
    for w, world in enumerate(channel.worlds):
        for k, label in enumerate(channel.labels):
            words = [_component(channel, label)] if n_components > 1 else []
            words += [names.get(world, f"world {world}")] if n_worlds > 1 else []
            panel.plot(
                channel.time,
                channel.values[:, w, k],
                label=", ".join(words) or None,
                linewidth=1.2 if n_curves <= MAX_LEGEND else 0.6,
                alpha=1.0 if n_curves <= MAX_LEGEND else 0.5,
            )
    if 1 < n_curves <= MAX_LEGEND:
        legend_beside(panel, title if n_worlds > 1 else None)


def _draw_bands(panel, channel: Channel) -> None:
    n_ended = int(np.isnan(channel.values[-1]).any(axis=1).sum()) if len(channel.time) else 0
    for k, label in enumerate(channel.labels):
        low, middle, high = quantiles(channel.values[:, :, k])
        name = f"{_component(channel, label)}, " if len(channel.labels) > 1 else ""
        (line,) = panel.plot(channel.time, middle, linewidth=1.2, label=f"{name}median")
        panel.fill_between(channel.time, low, high, color=line.get_color(), alpha=0.25, linewidth=0,
                           label=f"{name}5 to 95 %")  # fmt: skip
    ended = f"\n{n_ended} ended before the last frame" if n_ended else ""
    legend_beside(panel, f"{len(channel.worlds)} worlds{ended}")


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
