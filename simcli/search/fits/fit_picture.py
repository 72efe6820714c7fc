"""A picture of a fit: data and run above, residuals below, for each column. Needs matplotlib, the extra `plot`."""

import numpy as np

from simcli.errors import UsageError
from simcli.search.fits.fitting import Fit

PANEL = (8.0, 3.6)  # [inch], of one column
HEIGHTS = (3, 1)  # of values and residuals
MAX_COLUMNS = 8
_DOT = 3.0  # [pt]


def draw_fit(fit: Fit, title: str):
    """Draw a fit.

    Args:
        fit: of a log.
        title: shown above.

    Returns:
        A figure of matplotlib.

    Raises:
        UsageError: matplotlib is not installed, or there are too many columns.
    """
    from simcli.analysis.export.plot import new_figure

    log, n = fit.log, len(fit.log.labels)
    if n > MAX_COLUMNS:
        raise UsageError(f"--plot: {n} columns in one picture; at most {MAX_COLUMNS}: take fewer with -c")
    figure = new_figure(PANEL[0], PANEL[1] * n, title)
    panels = figure.subplots(2 * n, 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": HEIGHTS * n})[:, 0]
    order = np.argsort(log.time, kind="stable")
    time = log.time[order]
    for k, (label, unit) in enumerate(zip(log.labels, log.units, strict=True)):
        above, below = panels[2 * k], panels[2 * k + 1]
        above.plot(time, log.values[order, k], "o", markersize=_DOT, color="C0", label="data")
        above.plot(time, fit.fitted[order, k], "-", linewidth=1.0, color="C1", label="fit")
        above.set_ylabel(f"{label}\n[{unit or '1'}]")
        above.legend(fontsize="small")
        below.plot(time, fit.residual[order, k], "o", markersize=_DOT, color="C0")
        if fit.absolute:
            below.fill_between(time, -fit.sigma[order, k], fit.sigma[order, k], color="C1", alpha=0.2, linewidth=0.0)
        below.axhline(0.0, color="C1", linewidth=0.8)
        below.set_ylabel("residual")
        for panel in (above, below):
            panel.grid(True, linewidth=0.3)
    panels[-1].set_xlabel("time [s]")
    return figure
