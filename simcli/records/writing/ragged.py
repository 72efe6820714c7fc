"""Rows of the tables that do not go by frames: events and contacts of one commit."""

from collections.abc import Sequence

import numpy as np

from simcli.model.snapshot import CONTACT_WIDTHS, ContactRows, Event, FrameBlock
from simcli.model.tables.model import WORLD, Model
from simcli.records.contents.layout import CODE_BYTES, TEXT_BYTES, Axes


def event_rows(column: str, dtype: np.dtype, events: Sequence[Event]) -> np.ndarray:
    """One column of the event table; texts are cut to their fixed length at a character boundary."""
    values = [getattr(event, column) for event in events]
    if dtype.kind == "S":
        limit = TEXT_BYTES if column == "text" else CODE_BYTES
        values = [value.encode()[:limit].decode(errors="ignore").encode() for value in values]
    return np.array(values, dtype)


def contact_rows(column: str, dtype: np.dtype, contacts: ContactRows, before: int, is_first: bool) -> np.ndarray:
    """One column of the contact table, or its offsets.

    Args:
        column: name in CONTACT_WIDTHS, or "offset".
        dtype: of the file.
        contacts: of the frames at hand.
        before: contacts of all frames before.
        is_first: True if no offset was written yet: then the 0 that begins them comes first.
    """
    if column != "offset":
        return np.ascontiguousarray(contacts.columns[column], dtype)
    ends = before + np.cumsum(contacts.count.reshape(-1), dtype=dtype)
    return np.concatenate([np.zeros(int(is_first), dtype), ends])


def kept_shapes(model: Model, axes: Axes) -> np.ndarray | None:
    """Shapes of the bodies that a file keeps, (S,) bool; None for all. A contact is kept if one of its shapes is."""
    if "B" not in axes.index:
        return None
    body = np.asarray(model.shapes.body)
    return (body != WORLD) & np.isin(body, axes.index["B"])


def misfit(block: FrameBlock, n_worlds: int) -> str:
    """What is wrong with the contacts of a block, "" if nothing is."""
    contacts = block.contacts
    if contacts is None:
        return ""
    if contacts.count.shape != (len(block.step), n_worlds):
        return f"contacts/count has shape {contacts.count.shape}, not {(len(block.step), n_worlds)}"
    n = contacts.n
    for name, width in CONTACT_WIDTHS.items():
        shape = (n, 3) if width == 3 else (n,)
        if contacts.columns[name].shape != shape:
            return f"contacts/{name} has shape {contacts.columns[name].shape}, not {shape}"
    return ""
