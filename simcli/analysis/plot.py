"""Pictures of channels over time. Needs matplotlib, the extra `plot`."""

from pathlib import Path

from simcli.analysis.channels import Channel
from simcli.errors import OutputError, UsageError

INSTALL_HINT = "plots need matplotlib: pip install matplotlib"
PANEL_SIZE = (8.0, 2.6)  # [inch], of one channel
DOTS_PER_INCH = 120
MAX_LEGEND = 12  # entries; a longer legend hides the curves
MAX_PANELS = 12


def draw(channels: list[Channel], output: Path, title: str = "") -> None:
    """Draw one panel per channel, one curve per component and world, and write the picture.

    Args:
        channels: what to draw; all of one file.
        output: a file whose suffix matplotlib knows (png, svg, pdf).
        title: shown above.

    Raises:
        UsageError: matplotlib is not installed, there are too many panels, or the suffix is unknown.
        OutputError: the picture cannot be written.
    """
    if len(channels) > MAX_PANELS:
        raise UsageError(f"{len(channels)} channels in one picture; at most {MAX_PANELS}: name fewer")
    try:
        # Not pyplot: no window, no global state, the same picture with and without a display.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(INSTALL_HINT) from error
    width, height = PANEL_SIZE
    figure = Figure(figsize=(width, height * len(channels)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(channels), 1, sharex=True, squeeze=False)[:, 0]
    for panel, channel in zip(panels, channels, strict=True):
        _draw_panel(panel, channel)
    panels[-1].set_xlabel("time [s]")
    if title:
        figure.suptitle(title)
    try:
        figure.savefig(output, dpi=DOTS_PER_INCH)
    except ValueError as error:
        raise UsageError(f"{output}: {error}") from error
    except OSError as error:
        raise OutputError(f"{output}: {error.strerror or error}") from error


def _draw_panel(panel, channel: Channel) -> None:
    n_worlds, n_components = channel.values.shape[1:]
    n_curves = n_worlds * n_components
    for w, world in enumerate(channel.worlds):
        for k, label in enumerate(channel.labels):
            words = [label.removeprefix(channel.name + ".")] if n_components > 1 else []
            words += [f"world {world}"] if n_worlds > 1 else []
            panel.plot(
                channel.time,
                channel.values[:, w, k],
                label=" ".join(words) or None,
                linewidth=1.2 if n_curves <= MAX_LEGEND else 0.6,
                alpha=1.0 if n_curves <= MAX_LEGEND else 0.5,
            )
    units = sorted(set(channel.units))
    panel.set_ylabel(f"{channel.name}\n[{', '.join(units)}]")
    panel.grid(True, linewidth=0.3)
    if 1 < n_curves <= MAX_LEGEND:
        panel.legend(fontsize="small", loc="upper right")
