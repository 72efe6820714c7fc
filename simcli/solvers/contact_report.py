"""Contacts of a frame on their way out: what a solver fills on the device, and what the host makes of it.

A solver reserves `ContactSlots`, and in each step writes `needed` and calls `note_residual`; before a frame's report it
writes `count` and the rows by `put_contact`. A world of which `needed` exceeds the capacity ends (`rollout.watch`).
"""

import numpy as np
import taichi as ti

from simcli.kernels.elementary import select
from simcli.kernels.memory import Arena, get_lane
from simcli.kernels.report import emit, put
from simcli.model.snapshot import CONTACT_WIDTHS, ContactRows, Event

ROW = sum(CONTACT_WIDTHS.values())  # scalars of a contact
GAP = 8  # place of the gap among them
# Columns of a frame: contacts; deepest overlap [m]; residual of the last step [m/s]; steps so far that were not solved
# and the largest of their residuals; the first of them, counted into the call, and its residual.
SUMMARY = ("contacts", "penetration", "residual", "unsolved", "worst", "first", "first_residual")
CONTACTS, PENETRATION, RESIDUAL, UNSOLVED, WORST, FIRST, FIRST_RESIDUAL = range(len(SUMMARY))


class ContactSlots:
    """Contacts of every world at a frame, and what its steps left unsolved.

    Args:
        arena: receives the slots.
        capacity: most contacts of a world.

    Attributes:
        needed: (1), contacts that the step at hand has found.
        count: (1), contacts of the frame, at most the capacity.
        rows: (capacity * ROW), as CONTACT_WIDTHS says; those from `count` on are left over.
        summary: see SUMMARY.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, capacity: int):
        self.arena, self.capacity = arena, capacity
        self.needed, self.count = arena.slot(1), arena.slot(1)
        self.rows, self.summary = arena.slot(capacity * ROW), arena.slot(len(SUMMARY))

    def clear(self):
        """No contact yet, and no step."""
        for slot in (self.needed, self.count, self.summary):
            slot.write(np.zeros((1, slot.n_items, 1)))


def put_contact(t: ContactSlots, w, k, a, b, point, normal, gap, force):
    """Write contact k of a frame (inside kernels).

    Args:
        t: where.
        w, k: block, contact below the capacity.
        a, b: shape numbers, packs of reals.
        point: [m], world.
        normal: [1], unit, from a to b, world.
        gap: [m], negative in overlap.
        force: [N], on b, world.

    Writes: t.rows
    """
    put(t.rows, w, ROW * k, a, b, point, normal, gap, force)


@ti.func
def begin_call(t: ti.template(), w: ti.i32):
    """No step of this call was left unsolved yet.

    Writes: t.summary
    """
    t.summary.store(w, FIRST, t.arena.zero())


@ti.func
def note_residual(t: ti.template(), w: ti.i32, residual: ti.template(), tolerance: ti.template(), step: ti.template(),
                  alive: ti.template()):
    """Note what a step has left of its contact equations.

    Args:
        residual: [m/s].
        tolerance: [m/s], above which a step counts as unsolved.
        step: number of the step in this call, from 1 on.
        alive: mask of the worlds that have not ended.

    Writes: t.summary
    """
    lacks = alive & ~(residual <= tolerance)
    before = t.summary.load(w, UNSOLVED)
    is_first = lacks & (before == 0.0)
    worst = t.summary.load(w, WORST)
    t.summary.store(w, RESIDUAL, residual)
    t.summary.store(w, UNSOLVED, select(lacks, before + 1.0, before))
    t.summary.store(w, WORST, select(lacks & ~(residual <= worst), residual, worst))
    t.summary.store(w, FIRST, select(is_first, step, t.summary.load(w, FIRST)))
    t.summary.store(w, FIRST_RESIDUAL, select(is_first, residual, t.summary.load(w, FIRST_RESIDUAL)))


@ti.func
def most_contacts(t: ti.template(), w: ti.i32):
    """Largest count of the worlds of a block."""
    count = t.count.load(w, 0)
    most = 0
    for lane in ti.static(range(t.arena.device.lanes)):
        most = ti.max(most, ti.cast(get_lane(count, lane), ti.i32))
    return ti.min(most, t.capacity)


@ti.func
def sum_up(t: ti.template(), w: ti.i32):
    """Number and deepest overlap of the contacts of a frame.

    Reads:  t.{count, rows}
    Writes: t.summary
    """
    count = t.count.load(w, 0)
    deepest = t.arena.zero()
    for k in range(most_contacts(t, w)):
        overlap = -t.rows.load(w, ROW * k + GAP)
        deeper = (count > ti.cast(k, t.arena.device.real)) & (overlap > deepest)
        deepest = select(deeper, overlap, deepest)
    t.summary.store(w, CONTACTS, count)
    t.summary.store(w, PENETRATION, deepest)


@ti.func
def unload_contacts(out: ti.template(), t: ti.template(), first: ti.i32, w: ti.i32):
    """Copy the contacts of a block to a flat buffer, world by world; what lies behind them there is left as it is.

    Args:
        first: where the first world of the block begins; the next one begins capacity * ROW further.

    Writes: out
    """
    for i in range(most_contacts(t, w) * ROW):
        emit(out, t.arena.device.lanes, first + i, t.capacity * ROW, t.rows.load(w, i))


def gather(summary: np.ndarray, rows: np.ndarray, status: np.ndarray) -> ContactRows:
    """Contacts of some frames, without the room that is left over; worlds that have ended have none.

    Args:
        summary: (F, W, len(SUMMARY)).
        rows: (F, W, capacity * ROW).
        status: (F, W).
    """
    count = np.where(status == 0, summary[..., CONTACTS], 0).astype(np.int64)
    table = rows.reshape(*count.shape, -1, ROW)
    found = table[np.arange(table.shape[2]) < count[..., None]]
    columns, at = {}, 0
    for name, width in CONTACT_WIDTHS.items():
        columns[name] = found[:, at] if width == 1 else found[:, at : at + width]
        at += width
    return ContactRows(count, columns)


def diagnosed(summary: np.ndarray, status: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of /diag, (F, W); -1 contacts and NaN where a world has ended. Arguments as of `gather`."""
    ended = status != 0
    return {"diag/contacts": np.where(ended, -1, summary[..., CONTACTS]).astype(np.int32),
            "diag/penetration": np.where(ended, np.nan, summary[..., PENETRATION]),
            "diag/residual": np.where(ended, np.nan, summary[..., RESIDUAL])}  # fmt: skip


def unsolved_events(summary: np.ndarray, before: int, dt: float, is_last: bool, n_steps: int) -> list[Event]:
    """What is said about steps whose contacts were not solved: at the first of each world, and how many at the end.

    Args:
        summary: (W, len(SUMMARY)), at the last frame of a call.
        before: steps before the call.
        dt: [s], step.
        is_last: True if the run ends with the call.
        n_steps: steps when the call has ended.
    """
    events = []
    for world in np.flatnonzero(summary[:, FIRST] > 0).tolist():
        step, residual = before + int(summary[world, FIRST]), float(summary[world, FIRST_RESIDUAL])
        text = f"the contacts of a step are not solved: {residual:.3g} m/s are left"
        events.append(Event(step, step * dt, world, "SC661", 1, -1, -1, residual, text))
    for world in np.flatnonzero(summary[:, UNSOLVED] > 0).tolist() if is_last else ():
        count = int(summary[world, UNSOLVED])
        text = f"{count} step(s) left contacts unsolved, by {summary[world, WORST]:.3g} m/s at most"
        events.append(Event(n_steps, n_steps * dt, world, "SC662", 1, -1, -1, float(count), text))
    return events


def crowded_text(needed: int, capacity: int) -> str:
    """Why a world with too many contacts has ended."""
    return f"{needed} contacts, but there is room for {capacity}: write contact: {{capacity: {2 * needed}}}"
