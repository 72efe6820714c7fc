"""The kernels of a run: every block of worlds by whole frames, and what changes tables between them.

Each block runs all its steps before the next block starts, so its state stays in the cache. How a solver steps, reports
and judges is in its engine (host/engine.py).
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.report import unload
from simcli.solvers.shared.contacts.report import SUMMARY, unload_contacts
from simcli.solvers.shared.core import ENERGY, HEALTH
from simcli.solvers.shared.host.loop_bounds import count_turns
from simcli.solvers.shared.looks.measures import look_at_frame, unload_quantities
from simcli.solvers.shared.others import unload_others


@ti.kernel
def rollout(c: ti.template(), n_frames: ti.i32, looks: ti.i32, steps: ti.i32, first: ti.i64, turns: ti.i32,
            lines: ti.i32, goes_on: ti.i32,
            q: ti.types.ndarray(), qd: ti.types.ndarray(), qdd: ti.types.ndarray(), effort: ti.types.ndarray(),
            pose: ti.types.ndarray(), twist: ti.types.ndarray(), points: ti.types.ndarray(), wrench: ti.types.ndarray(),
            multiplier: ti.types.ndarray(), energy: ti.types.ndarray(), diag: ti.types.ndarray(),
            health: ti.types.ndarray(), touch: ti.types.ndarray(), contacts: ti.types.ndarray(),
            quantity: ti.types.ndarray(), others: ti.types.ndarray()):
    """Advance every block by n_frames frames of `looks` times `steps` steps, the first of which is step number `first` (from
    0 on); steps = 0 reports the initial state. Measures take each look, frames the last. `turns`: see host/loop_bounds.py.

    Where steps are programs, a call ends within a frame that has more than so many `lines`; with goes_on = 1 the next call
    takes the others. `c.over` tells which blocks have come to their end.

    Reads:  c
    Writes: c.state, c.forces.account.work, c.loop_turns, c.over, the buffers
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        begun = goes_on
        first_frame = 0
        if begun == 0:
            c.count.store(w, 0, c.tables.arena.zero())
            c.engine.begin(c, w, first)
        elif ti.static(c.has_program):
            first_frame = c.now.load(w, "frame")
        over = 1
        for f in range(first_frame, n_frames * looks):
            if over != 0:
                before = first + ti.cast(f, ti.i64) * steps
                over = c.engine.advance(c, w, before, steps, lines, begun)
                begun = 0
                if ti.static(c.has_program):
                    c.now.store(w, "frame", f + over)
                if over != 0:
                    c.engine.report(c, w, steps)
                    if ti.static(c.gauges.n > 0):
                        look_at_frame(c, w, before + steps)
                if over != 0 and (f + 1) % looks == 0:
                    at = (f // looks * c.state.n_blocks + w) * c.lanes
                    unload_frame(c, w, at, q, qd, qdd, effort, pose, twist, points, wrench, multiplier, energy, diag,
                                 health, touch, contacts, quantity, others)
        c.over.store(w, 0, c.tables.arena.zero() + ti.cast(over, c.tables.arena.device.real))
        if ti.static(c.loop_turns.are_bounded):
            count_turns(c, w, turns)


@ti.kernel
def leave_phase(c: ti.template(), turns: ti.i32):
    """Before tables change: take the stored energy out of the input.

    Reads:  c
    Writes: c.forces.account.work, c.loop_turns
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        stored = c.engine.close(c, w)
        c.forces.account.supply(w, -stored)
        if ti.static(c.loop_turns.are_bounded):
            count_turns(c, w, turns)


@ti.kernel
def enter_phase(c: ti.template(), turns: ti.i32):
    """After tables have changed: what is stored now counts as input.

    Reads:  c
    Writes: c.forces.account.work, c.loop_turns
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        stored = c.engine.open(c, w)
        c.forces.account.supply(w, stored)
        if ti.static(c.loop_turns.are_bounded):
            count_turns(c, w, turns)


@ti.func
def unload_frame(c: ti.template(), w: ti.i32, at: ti.i32, q: ti.template(), qd: ti.template(), qdd: ti.template(),
                 effort: ti.template(), pose: ti.template(), twist: ti.template(), points: ti.template(),
                 wrench: ti.template(), multiplier: ti.template(), energy: ti.template(), diag: ti.template(),
                 health: ti.template(), touch: ti.template(), contacts: ti.template(), quantity: ti.template(),
                 others: ti.template()):
    """A frame of a block to the buffers; `at` counts frames, blocks and lanes before it.

    Reads:  c
    Writes: the buffers
    """
    poison = poison_of(c, w)
    if ti.static(c.leaving["joints"]):
        unload(q, c.state.q, at * c.tables.n_q, w, c.tables.n_q, poison)
        unload(qd, c.state.qd, at * c.tables.n_qd, w, c.tables.n_qd, poison)
        unload(qdd, c.state.qdd, at * c.tables.n_qd, w, c.tables.n_qd, poison)
        unload(effort, c.rows.effort, at * c.tables.n_qd, w, c.tables.n_qd, poison)
    if ti.static(c.leaving["bodies"]):
        unload(pose, c.rows.body_q, at * (7 * c.tables.n_bodies), w, 7 * c.tables.n_bodies, poison)
        unload(twist, c.rows.body_qd, at * (6 * c.tables.n_bodies), w, 6 * c.tables.n_bodies, poison)
        unload(points, c.rows.points, at * (6 * c.tables.n_points), w, 6 * c.tables.n_points, poison)
    if ti.static(c.leaving["reactions"]):
        unload(wrench, c.rows.joint_wrench, at * (6 * c.tables.n_joints), w, 6 * c.tables.n_joints, poison)
    if ti.static(c.leaving["energy"]):
        unload(energy, c.rows.energy, at * len(ENERGY), w, len(ENERGY), poison)
    unload_others(others, c, at, w, poison)
    if ti.static(c.gauges.n_records > 0):
        unload_quantities(quantity, c, at * c.gauges.n_records, w, poison)
    if ti.static(c.constrained):
        if ti.static(c.leaving["reactions"]):
            unload(multiplier, c.multipliers, at * c.n_rows, w, c.n_rows, poison)
        unload(diag, c.diag, at * len(c.diagnostics), w, len(c.diagnostics), poison)
    if ti.static(c.leaving["contacts"]):
        unload_contacts(contacts, c, at * c.contacts.width, w)
    if ti.static(c.summarises):
        unload(touch, c.contacts.summary, at * len(SUMMARY), w, len(SUMMARY), 0.0)
    unload(health, c.health, at * len(HEALTH), w, len(HEALTH), 0.0)


def poison_of(c, w):
    """0 for a world that is well, NaN for one that has ended."""
    status = c.health.load(w, 0)
    return select(status == 0.0, status, status * ti.math.nan)
