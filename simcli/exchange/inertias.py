"""Moments of inertia that no body has: found, told with their numbers, and mended on request."""

import numpy as np

from simcli.exchange.mechanism import SourceLink
from simcli.spec.checks.physics import TRIANGLE, VANISHING


def fault_of(link: SourceLink) -> str:
    """What is wrong with the mass or the inertia of a link; "" if nothing is."""
    if link.mass is not None and not np.isfinite(link.mass):
        return f"the mass is {link.mass:g}"
    if link.mass is not None and link.mass < 0.0:
        return f"the mass is negative: {link.mass:g} kg"
    if link.inertia is None or not link.has_mass:
        return ""
    if not np.isfinite(link.inertia).all():
        return "the inertia is no number"
    low, middle, high = np.linalg.eigvalsh(link.inertia)
    if low < -VANISHING * max(high, 0.0) or high < 0.0:
        return f"a principal moment is negative: {low:.4g} kg m^2"
    if low + middle < high * (1.0 - TRIANGLE):
        return f"no body has these principal moments: {low:.4g} + {middle:.4g} < {high:.4g} kg m^2"
    return ""


def mend(link: SourceLink) -> str:
    """Replace moments that no body has by near ones; what was done.

    Negative moments become 0. The largest is lowered to the sum of the others where it is larger; where that is 0, because
    one moment alone was given, all three become its half and more: the sphere of the same trace.
    """
    if link.mass is None or link.mass < 0.0 or not np.isfinite(link.mass) or not np.isfinite(link.inertia).all():
        return ""
    moments, axes = np.linalg.eigh(link.inertia)
    before = ", ".join(f"{moment:.4g}" for moment in moments)
    moments = np.maximum(moments, 0.0)
    low, middle, high = moments
    if low + middle <= 0.0:
        moments[:] = high / 3.0
    elif high > low + middle:
        moments[2] = low + middle
    link.inertia = axes @ np.diag(moments) @ axes.T
    link.inertia = 0.5 * (link.inertia + link.inertia.T)
    after = ", ".join(f"{moment:.4g}" for moment in moments)
    return f"principal moments {before} kg m^2 became {after}"
