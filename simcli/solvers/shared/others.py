"""Columns of frames that leave the device: those with a buffer of their own, and all others together in one."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simcli.kernels.language.numbers import number
from simcli.kernels.report import unload_part


class Other(NamedTuple):
    """A column of frames, a line for each body.

    Attributes:
        dataset: below /frames.
        shown: of `RunPlan.reports`, what shows it.
        array: where it stands, from a core.
    """

    dataset: str
    shown: str
    array: Callable


BUFFERS = ("joint_q", "joint_qd", "joint_qdd", "joint_effort", "body_q", "body_qd", "points", "joint_wrench", "multiplier",
           "energy", "diag", "health", "touch", "contacts", "quantity", "others")  # fmt: skip
_OF_CHANNELS = {
    "joints": lambda c: {"joint_q": c.state.q, "joint_qd": c.state.qd, "joint_qdd": c.state.qdd,
                         "joint_effort": c.rows.effort},
    "bodies": lambda c: {"body_q": c.rows.body_q, "body_qd": c.rows.body_qd, "points": c.rows.points},
    "reactions": lambda c: {"joint_wrench": c.rows.joint_wrench} | ({"multiplier": c.multipliers} if c.constrained else {}),
    "energy": lambda c: {"energy": c.rows.energy},
}  # fmt: skip


def arrays_of_frames(c) -> dict:
    """Where the columns stand that leave the device, one buffer for each, by the names of BUFFERS."""
    found = {"health": c.health}
    for channel, arrays in _OF_CHANNELS.items():
        found |= arrays(c) if c.leaving[channel] else {}
    found |= {"diag": c.diag} if c.constrained else {}
    return found | ({"touch": c.contacts.summary} if c.summarises else {})


_OTHERS = (
    Other("body_stretch", "stretch", lambda c: c.stretch),
    Other("body_qdd", "body_qdd", lambda c: c.rows.body_qdd),
)


def others_of(c) -> list[Other]:
    """Those that leave the device, in the order of the buffer."""
    return [other for other in _OTHERS if c.leaving[other.shown]]


def width_of_others(c) -> int:
    """Numbers of each world and frame."""
    return sum(other.array(c).n_items for other in others_of(c))


def unload_others(out, c, at, w, poison):
    """Copy them to a flat buffer, as `report.unload`; `at` counts frames, blocks and lanes before this block.

    Writes: out
    """
    arrays = [other.array(c) for other in others_of(c)]
    widths = [number(array, "n_items") for array in arrays]
    for k, array in enumerate(arrays):
        unload_part(out, array, at * sum(widths) + sum(widths[:k]), w, widths[k], sum(widths), poison)


def other_columns(c, values: np.ndarray, n_bodies: int) -> dict[str, np.ndarray]:
    """HDF5 path to array (F, W, B, ...).

    Args:
        values: (F, W, `width_of_others`).
    """
    columns, before = {}, 0
    for other in others_of(c):
        n = other.array(c).n_items
        part = np.ascontiguousarray(values[..., before : before + n])
        columns[f"frames/{other.dataset}"] = part.reshape(*values.shape[:2], n_bodies, -1)
        before += n
    return columns
