"""Contacts of a frame on their way out, and what steps have left unsolved.

Rows that are written on the device, the rows and events that the host makes of them, and sums of contacts by bodies: how
many, and the force of all of them.
"""

from collections.abc import Sequence

import numpy as np

from simcli.kernels.articulation.contact_places import place_of_contact
from simcli.kernels.articulation.contacts import force_of_contact
from simcli.kernels.articulation.report import put, write_pack
from simcli.kernels.collision.table_rows import contacts_of
from simcli.kernels.complementarity.problem import LIMITS
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.lanes import one
from simcli.kernels.device.pack_arrays import PackArray
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import get_lane, put_lane
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Value
from simcli.model.measures import ANYTHING
from simcli.model.snapshot import CONTACT_WIDTHS, ContactRows, Event, Unsolved
from simcli.model.tables.model import Model
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.impulses.contacts import deepest
from simcli.solvers.rows.memory import DIAGNOSTICS

ROW = sum(CONTACT_WIDTHS.values())  # scalars of a contact
# Columns of a world: contacts of the frame; steps so far that were not solved, and the largest of their residuals [m/s];
# the first of them, counted into the call, and its residual; the worst of them, counted from the start of the run.
SUMMARY = ("contacts", "unsolved", "worst", "first", "first_residual", "worst_step")
CONTACTS, _UNSOLVED, WORST, _FIRST, FIRST_RESIDUAL, WORST_STEP = range(len(SUMMARY))


class ContactReport:
    """What a run says about contacts and about steps that are not solved.

    Args:
        arena: receives the arrays.
        capacity: most contacts of a world; 0 where nothing can touch.
        records: whether the contacts are wanted one by one.
        lets_pass: [m/s], what a step may lack, beside its tolerance.

    Attributes:
        rows: (capacity * ROW) of a frame, as CONTACT_WIDTHS says; those behind the last contact are left over.
        summary: see SUMMARY.  before: steps before the call.  allowed: [m/s], (1), `lets_pass`.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, capacity: int, records: bool, lets_pass: float):
        self.lets_pass = lets_pass
        self.arena, self.capacity, self.width = arena, capacity, ROW * capacity
        self.rows, self.summary = arena.array(self.width * records), arena.array(len(SUMMARY))
        self.before, self.allowed = arena.single.arrays(2)

    def clear(self):
        """No step was taken yet."""
        self.summary.write(np.zeros((1, len(SUMMARY), 1)))
        self.allowed.write(np.full((1, 1, 1), self.lets_pass))


@needs.summary
@ti.func
def begin_call(c: ti.template(), w: ti.i32, first: ti.i64):
    """No step of this call was left unsolved yet.

    Args:
        first: steps before the call.

    Writes: c.contacts.{summary, before}
    """
    c.contacts.before.store(w, 0, c.tables.arena.zero() + ti.cast(first, c.tables.arena.device.real))
    c.contacts.summary.store(w, _FIRST, c.tables.arena.zero())


def needed_contacts(c, w):
    """Contacts that the last step has found."""
    return c.bound.impulses.contacts.collider.contacts.needed.load(w, 0)


def contacts_overflow(c, w):
    """Mask of the worlds of which the last step has found more contacts than there is room for."""
    return needed_contacts(c, w) > 1.0 * number(c.contacts, "capacity")


@needs.summary
@ti.func
def note_step(c: ti.template(), w: ti.i32, step: ti.template(), alive: ti.template()):
    """Note what a step has left of its equations.

    Args:
        step: number of the step in this call, from 1 on.
        alive: mask of the worlds that have not ended.

    Reads:  c.{bound, steps, constants}, c.contacts.allowed
    Writes: c.contacts.summary
    """
    r = c.contacts
    residual, allowed = residual_of_step(c, w)
    not_converged = alive & ~(residual <= allowed) & ~(residual <= r.allowed.load(w, 0))
    before = r.summary.load(w, _UNSOLVED)
    is_first = not_converged & (before == 0.0)
    worst = r.summary.load(w, WORST)
    r.summary.store(w, _UNSOLVED, select(not_converged, before + 1.0, before))
    is_worst = not_converged & ~(residual <= worst)
    r.summary.store(w, WORST, select(is_worst, residual, worst))
    r.summary.store(w, WORST_STEP, select(is_worst, r.before.load(w, 0) + step, r.summary.load(w, WORST_STEP)))
    r.summary.store(w, _FIRST, select(is_first, step, r.summary.load(w, _FIRST)))
    r.summary.store(w, FIRST_RESIDUAL, select(is_first, residual, r.summary.load(w, FIRST_RESIDUAL)))


def residual_of_step(c, w):
    """[m/s, rad/s], by how much the last step misses its equations, and how much that may be.

    Steps that solve for impulses measure it. Elsewhere it is the way that rigid rows were still off before their last
    correction, over the step; iterations of generalized_alpha that do not converge end the world.

    Reads: c.{bound, steps, constants}
    """
    if c.by_impulses:
        return c.bound.impulses.residual.load(w, 0), c.bound.impulses.problem.limits.exact
    if c.integrator == "generalized_alpha":
        return c.tables.arena.zero(), 0.0
    h = c.constants.load(w, H)
    worst = (c.steps if c.is_quadratic else c.bound).worst.load(w, 0)
    return worst / h, ti.max(c.bound.tight / h, LIMITS[c.precision].exact)


@ti.func
def report_contacts(c: ti.template(), w: ti.i32):
    """Contacts of the step that ends at a frame: their places and gaps at the poses where it ends, and their forces.

    Called where the step ends: what a frame evaluates afterwards has contacts of its own.

    Reads:  c.bound.impulses
    Writes: c.contacts.{rows, summary}, c.bound.diag
    """
    m = c.bound.impulses
    count = m.contacts.collider.contacts.count.load(w, 0)
    put(c.bound.diag, w, len(DIAGNOSTICS), m.residual.load(w, 0), deepest(m.contacts, m.problem, w), count)
    write_contacts(c, w, count)


@needs.single_contacts
@ti.func
def write_contacts(c: ti.template(), w: ti.i32, count: ti.template()):
    """The contacts of a step, one by one, and how many.

    Reads:  c.bound.impulses, c.state.{R, o, origin}
    Writes: c.contacts.{rows, summary}
    """
    c.contacts.summary.store(w, CONTACTS, count)
    m = c.bound.impulses
    k = m.contacts.collider
    for lane in range(k.lanes):
        for n in range(contacts_of(k, w, lane)):
            a = one(k.contacts.shape_a, w, lane, n)
            b = one(k.contacts.shape_b, w, lane, n)
            force = force_of_contact(k, m.problem.contacts.impulse, w, lane, n) * (1.0 / one(c.constants, w, lane, H))
            put_row(
                c.contacts.rows,
                w,
                lane,
                n,
                a,
                b,
                place_of_contact(k, c.tables, c.state, w, lane, n),
                one(k.contacts.normal, w, lane, n),
                one(k.contacts.reach, w, lane, n),
                force,
            )


def put_row(rows: PackArray, w, lane, n, *values):
    """Write the numbers of a contact one after the other (inside kernels)."""
    at = 0
    for value in values:
        for part in value.parts if isinstance(value, Value) else [value]:
            put_lane(rows.part(w, n * ROW + at, 0), lane, part)
            at += 1


@ti.func
def unload_contacts(out: ti.template(), c: ti.template(), first: ti.i32, w: ti.i32):
    """Copy the contacts of a block to a flat buffer, world by world; what lies behind them there is left as it is.

    Args:
        first: where the first world of the block begins; the next one begins `c.contacts.width` further.

    Reads:  c.contacts.{rows, summary}
    Writes: out
    """
    r = c.contacts
    most = 0
    for lane in ti.static(range(c.lanes)):
        most = ti.max(most, ti.cast(get_lane(r.summary.part(w, CONTACTS, 0), lane), ti.i32))
    for i in range(most * ROW):
        write_pack(out, c.lanes, first + i, r.width, r.rows.load(w, i))


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


def unsolved_events(
    summary: np.ndarray, before: int, dt: float, is_last: bool, n_steps: int, what: str = "contacts"
) -> list[Event]:
    """What is said about steps that were not solved: at the first of each world, and how many at the end.

    Args:
        summary: (W, len(SUMMARY)), at the last frame of a call.
        before: steps before the call.
        dt: [s], step.
        is_last: True if the run ends with the call.
        n_steps: steps when the call has ended.
        what: is not solved.
    """
    events = []
    for world in np.flatnonzero(summary[:, _FIRST] > 0).tolist():
        step, residual = before + int(summary[world, _FIRST]), float(summary[world, FIRST_RESIDUAL])
        text = f"a step did not converge: the residual of its {what} is {residual:.3g} m/s"
        events.append(Event(step, step * dt, world, "SC661", 1, -1, -1, residual, text))
    for world in np.flatnonzero(summary[:, _UNSOLVED] > 0).tolist() if is_last else ():
        count = int(summary[world, _UNSOLVED])
        text = f"{count} step(s) did not converge: the largest residual of {what} is {summary[world, WORST]:.3g} m/s"
        events.append(Event(n_steps, n_steps * dt, world, "SC662", 1, -1, -1, float(count), text))
    return events


def worst_step(summary: np.ndarray, dt: float) -> Unsolved | None:
    """The step that is solved least of all so far, None if every one was solved.

    Args:
        summary: (W, len(SUMMARY)), at the last frame of a call.
        dt: [s], step.
    """
    if not (summary[:, _UNSOLVED] > 0).any():
        return None
    counts = np.nan_to_num(summary[:, _UNSOLVED])
    left = np.where(counts > 0, summary[:, WORST], -1.0)
    world = int(np.argmax(np.where(np.isnan(left), np.inf, left)))
    step = int(summary[world, WORST_STEP])
    return Unsolved(world, step, step * dt, float(left[world]), int(counts.sum()), int((counts > 0).sum()))


def worst_event(worst: Unsolved) -> Event:
    """The event of it at the end of a run."""
    text = f"largest residual of the {worst.n_steps} step(s) that did not converge, in {worst.n_worlds} world(s)"
    return Event(worst.step, worst.time, worst.world, "SC668", 0, -1, -1, worst.residual, text)


def overflow_text(needed: int, capacity: int) -> str:
    """Why a world with too many contacts has ended."""
    return f"{needed} contacts, but there is room for {capacity}: write contact: {{capacity: {2 * needed}}}"


SHAPE_A, SHAPE_B, FORCE = 0, 1, ROW - 3  # places in a row of contacts
SUM = 4  # numbers of a sum: force 3, count


class Touches:
    """Sums of contacts: of one body with another one, or with anything.

    Args:
        model: host tables.
        arena: receives the sums.
        pairs: body whose forces are summed, and the other one, -1 for the world, ANYTHING for all.

    Attributes:
        n: pairs.  one, other: bodies.  owner: (S) body of each shape.
        sums: [N; 1], (4 n), force on `one`, world, and number of contacts.
    """

    _data_oriented = True

    def __init__(self, model: Model, arena: Arena, pairs: Sequence[tuple[int, int]]):
        self.n = len(pairs)
        self.one, self.other = (arena.ints([pair[k] for pair in pairs]) for k in range(2))
        self.owner = arena.ints(model.shapes.body)
        self.sums = arena.array(SUM * self.n)

    def clear(self):
        """Nothing touches yet."""
        self.sums.write(np.zeros((1, SUM * self.n, 1)))


@ti.func
def add_touches(c: ti.template(), w: ti.i32):
    """Sum the contacts that the frame shows.

    Reads:  c.contacts.{rows, summary}
    Writes: c.accumulators.touches.sums
    """
    m = c.accumulators.touches
    for i in range(SUM * m.n):
        m.sums.store(w, i, c.tables.arena.zero())
    for lane in range(c.lanes):
        count = ti.cast(get_lane(c.contacts.summary.part(w, CONTACTS, 0), lane), ti.i32)
        for k in range(count):
            a = m.owner.at(ti.cast(get_lane(c.contacts.rows.part(w, k * ROW + SHAPE_A, 0), lane), ti.i32))
            b = m.owner.at(ti.cast(get_lane(c.contacts.rows.part(w, k * ROW + SHAPE_B, 0), lane), ti.i32))
            for n in range(m.n):
                if m.one.at(n) == b and (m.other.at(n) == ANYTHING or m.other.at(n) == a):
                    add_touch(c, w, lane, n, k, 1.0)
                elif m.one.at(n) == a and (m.other.at(n) == ANYTHING or m.other.at(n) == b):
                    add_touch(c, w, lane, n, k, -1.0)


@ti.func
def add_touch(c: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, k: ti.i32, sign: ti.template()):
    """Add contact k of a world to the sum of pair n.

    Args:
        sign: 1 if the force is on its first body, -1 if that is the other side.

    Reads:  c.contacts.rows
    Writes: c.accumulators.touches.sums
    """
    sums = c.accumulators.touches.sums
    for i in ti.static(range(3)):
        force = get_lane(c.contacts.rows.part(w, k * ROW + FORCE + i, 0), lane)
        add_in_lane(sums, w, lane, SUM * n + i, sign * force)
    add_in_lane(sums, w, lane, SUM * n + 3, 1.0)


def add_in_lane(array, w, lane, row, value):
    """Add to a number of one world (inside kernels)."""
    part = array.part(w, row, 0)
    put_lane(part, lane, get_lane(part, lane) + value)
