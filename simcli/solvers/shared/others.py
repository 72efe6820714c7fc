"""Columns of frames that leave the device together in one buffer: all that has none of its own in rollout.py."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simcli.kernels.report import unload_part


class Other(NamedTuple):
    """A column of frames, a line for each body.

    Attributes:
        dataset: below /frames.
        shown: of `RunPlan.reports`, what shows it.
        slot: where it stands, from a core.
    """

    dataset: str
    shown: str
    slot: Callable


_OTHERS = (
    Other("body_stretch", "stretch", lambda c: c.stretch),
    Other("body_qdd", "body_qdd", lambda c: c.rows.body_qdd),
)


def others_of(c) -> list[Other]:
    """Those that leave the device, in the order of the buffer."""
    return [other for other in _OTHERS if c.leaving[other.shown]]


def width_of_others(c) -> int:
    """Numbers of each world and frame."""
    return sum(other.slot(c).n_items for other in others_of(c))


def unload_others(out, c, at, w, poison):
    """Copy them to a flat buffer, as `report.unload`; `at` counts frames, blocks and lanes before this block.

    Writes: out
    """
    width, before = width_of_others(c), 0
    for other in others_of(c):
        slot = other.slot(c)
        unload_part(out, slot, at * width + before, w, slot.n_items, width, poison)
        before += slot.n_items


def other_columns(c, values: np.ndarray, n_bodies: int) -> dict[str, np.ndarray]:
    """HDF5 path to array (F, W, B, ...).

    Args:
        values: (F, W, `width_of_others`).
    """
    columns, before = {}, 0
    for other in others_of(c):
        n = other.slot(c).n_items
        part = np.ascontiguousarray(values[..., before : before + n])
        columns[f"frames/{other.dataset}"] = part.reshape(*values.shape[:2], n_bodies, -1)
        before += n
    return columns
