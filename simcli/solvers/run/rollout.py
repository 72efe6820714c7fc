"""The kernels of a run: every block of worlds by whole frames, and what changes tables between them.

Each block runs all its steps before the next block starts, so its state stays in the cache. How a solver steps, reports
and judges is in its engine (engine.py).
"""

from simcli.kernels.articulation.report import unload_part
from simcli.kernels.device.arena import local
from simcli.kernels.device.crew import end_call
from simcli.kernels.device.programs import is_beside, tasks
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane, get_lane, put_lane, vector
from simcli.kernels.language.numbers import number
from simcli.solvers.base import needs
from simcli.solvers.impulses.sleeping import wake_all
from simcli.solvers.output.contact_report import unload_contacts
from simcli.solvers.output.frame_stages import go_on_from_aside, set_aside
from simcli.solvers.output.probes import probe_frame, unload_quantities
from simcli.solvers.run.engine import advance
from simcli.solvers.run.frame_buffers import BUFFERS, arrays_of_frames, unload_others
from simcli.solvers.run.loop_bounds import count_turns

_OF_ENDED = ("health", "touch")  # told of worlds that have ended, too


@ti.kernel
def rollout(
    c: ti.template(),
    n_frames: ti.i32,
    probes: ti.i32,
    steps: ti.i32,
    first: ti.i64,
    moves: ti.i32,
    shows: ti.i32,
    turns: ti.i32,
    chosen: ti.i32,
    blocks: ti.types.ndarray(),
    rows: ti.types.ndarray(),
    common: ti.types.ndarray(),
    own_rows: ti.types.ndarray(),
    own: ti.types.ndarray(),
    kept: ti.types.ndarray(),
    copied_rows: ti.types.ndarray(),
    copied: ti.types.ndarray(),
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    qdd: ti.types.ndarray(),
    effort: ti.types.ndarray(),
    pose: ti.types.ndarray(),
    twist: ti.types.ndarray(),
    points: ti.types.ndarray(),
    wrench: ti.types.ndarray(),
    multiplier: ti.types.ndarray(),
    energy: ti.types.ndarray(),
    diag: ti.types.ndarray(),
    health: ti.types.ndarray(),
    touch: ti.types.ndarray(),
    contacts: ti.types.ndarray(),
    quantity: ti.types.ndarray(),
    others: ti.types.ndarray(),
):
    """Advance every block by n_frames frames of `probes` times `steps` steps, the first of which is step number `first`
    (from 0 on); steps = 0 reports the initial state. Measures take each probe, frames the last. With moves = 0 frames are
    those of where the worlds stand, after the steps that were taken before; with shows = 0 none leaves the device, and what
    frames alone show is not worked out. `turns`: see loop_bounds.py. With chosen = 1 only `blocks` take part, and no
    frame leaves; with moves = 1, too, the worlds in them that `c.anew` names begin, and the others keep what they have.

    Args:
        rows, common, own_rows, own: as of `put_start`, which a CPU calls where worlds begin.
        kept: room for the packs of the first blocks, those in which not all worlds begin.
        copied_rows: (N,) packs that the host wants to know after each call.
        copied: (worlds with the idle lanes, N), flat; of fewer worlds for none.

    Reads:  c
    Writes: c.state, c.forces.account.work, c.loop_turns, kept, copied, the buffers
    """
    ti.loop_config(block_dim=c.block_dim)
    for k in range(ti.select(chosen != 0, blocks.shape[0], tasks(c.program))):
        w = k
        if chosen != 0:
            w = blocks[k]
        c.arena.enter(w)
        n = n_frames * probes
        helps = is_beside(c.program, w)  # a thread that takes parts of the steps of all frames
        if helps:
            n = moves
        elif moves != 0:
            if chosen != 0:
                _begin_chosen(c, w, k, rows, common, own_rows, own, kept)
            c.count.store(w, 0, c.tables.arena.zero())
            c.engine.begin(c, w, first)
        for f in range(n):
            before = first + ti.cast(f, ti.i64) * steps
            if moves != 0:
                advance(c, w, before, steps)
            if shows != 0 and not helps:
                c.engine.report(c, w, steps)
                probe_frame(c, w, before + steps, moves)
                if chosen == 0 and (f + 1) % probes == 0:
                    at = (f // probes * c.state.n_blocks + w) * c.lanes
                    unload_frame(
                        c,
                        w,
                        at,
                        q,
                        qd,
                        qdd,
                        effort,
                        pose,
                        twist,
                        points,
                        wrench,
                        multiplier,
                        energy,
                        diag,
                        health,
                        touch,
                        contacts,
                        quantity,
                        others,
                    )
        if not helps:
            _end_call(c, w, k, chosen, moves, kept, copied_rows, copied)
            count_turns(c, w, turns)


@ti.kernel
def leave_phase(c: ti.template(), turns: ti.i32, chosen: ti.i32):
    """Before tables change: take the stored energy out of the input; `chosen` as of `rollout`.

    Reads:  c
    Writes: c.forces.account.work, c.loop_turns
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        if chosen == 0 or names_some(c, w):
            go_on_from_aside(c, w)
            stored = c.engine.close(c, w)
            c.forces.account.supply(w, -stored)
        count_turns(c, w, turns)


@ti.kernel
def enter_phase(c: ti.template(), turns: ti.i32, chosen: ti.i32):
    """After tables have changed: what is stored now counts as input; `chosen` as of `rollout`.

    Reads:  c
    Writes: c.forces.account.work, c.loop_turns, c.bound.impulses.sleep
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        _wake_chosen(c, w)
        if chosen == 0 or names_some(c, w):
            stored = c.engine.open(c, w)
            c.forces.account.supply(w, stored)
            set_aside(c, w)
        count_turns(c, w, turns)


@needs.sleepers
@ti.func
def _wake_chosen(c: ti.template(), w: ti.i32):
    """Wake who sleeps where numbers are others from here on: in worlds that were chosen."""
    if names_some(c, w):
        wake_all(c, w)


def _begin_chosen(c, w, k, rows, common, own_rows, own, kept):
    """Put a block to its start, after keeping what its other worlds have (inside kernels); a GPU is put there before."""
    if not c.arena.device.is_gpu:
        if c.lanes > 1:
            keep_block(c, w, k, kept)
        put_start(c, w, rows, common, own_rows, own)


def _end_call(c, w, k, chosen, moves, kept, copied_rows, copied):
    """What a CPU does with a block at the end of a call (inside kernels)."""
    if not c.arena.device.is_gpu:
        if c.program.is_shared:
            end_call(c.arena.crew)
        if c.lanes > 1:
            _give_back_others(c, w, k, chosen, moves, kept)
        copy_to_host(c, w, chosen, copied_rows, copied)


@ti.func
def _give_back_others(c: ti.template(), w: ti.i32, k: ti.i32, chosen: ti.i32, moves: ti.i32, kept: ti.template()):
    if chosen != 0 and moves != 0:
        give_back(c, w, k, kept)


@ti.kernel
def put_starts(
    c: ti.template(),
    rows: ti.types.ndarray(),
    common: ti.types.ndarray(),
    own_rows: ti.types.ndarray(),
    own: ti.types.ndarray(),
):
    """Let all worlds of the blocks in which `c.anew` names one be as before their first step; as `put_start`.

    Reads:  c.anew
    Writes: c
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        if names_some(c, w):
            put_start(c, w, rows, common, own_rows, own)


@ti.func
def put_start(
    c: ti.template(), w: ti.i32, rows: ti.template(), common: ti.template(), own_rows: ti.template(), own: ti.template()
):
    """Let all worlds of a block be as before their first step.

    Args:
        rows: (N,) packs that are the same in all worlds then.  common: (N,), what is in them.
        own_rows: (M,) those that are not.  own: (worlds with the idle lanes, M), flat.

    Writes: c
    """
    for k in range(rows.shape[0]):
        c.arena.packs.store(w, rows[k], c.tables.arena.zero() + common[k])
    n = own_rows.shape[0]
    for k in range(n):
        for lane in ti.static(range(c.lanes)):
            put_lane(c.arena.packs.part(w, own_rows[k], 0), lane, own[(w * c.lanes + lane) * n + k])


@ti.kernel
def keep_blocks(c: ti.template(), blocks: ti.types.ndarray(), kept: ti.types.ndarray()):
    """Keep what blocks have.

    Args:
        blocks: (n,), their numbers.
        kept: (n, packs of a block, lanes), flat.

    Reads:  c
    Writes: kept
    """
    for k in range(blocks.shape[0]):
        c.arena.enter(blocks[k])
        keep_block(c, blocks[k], k, kept)


@ti.kernel
def keep_others(c: ti.template(), blocks: ti.types.ndarray(), kept: ti.types.ndarray()):
    """Give worlds of the blocks that were kept what they had, but for those that `c.anew` names.

    Args:
        blocks, kept: as of `keep_blocks`.

    Reads:  c.anew
    Writes: c
    """
    for k in range(blocks.shape[0]):
        c.arena.enter(blocks[k])
        give_back(c, blocks[k], k, kept)


@ti.func
def keep_block(c: ti.template(), w: ti.i32, place: ti.i32, kept: ti.template()):
    """Keep what a block has, if there is room in this place."""
    n = number(c.arena, "stride")
    if (place + 1) * n * c.lanes <= kept.shape[0]:
        for k in range(n):
            pack = c.arena.packs.load(w, k)
            for lane in ti.static(range(c.lanes)):
                kept[(place * n + k) * c.lanes + lane] = get_lane(pack, lane)


@ti.func
def give_back(c: ti.template(), w: ti.i32, place: ti.i32, kept: ti.template()):
    """Give worlds of a block that was kept what they had, but for those that `c.anew` names."""
    n = number(c.arena, "stride")
    if (place + 1) * n * c.lanes <= kept.shape[0]:
        begins = local(c.anew.load(w, 0) != 0.0)
        for k in range(n):
            first = (place * n + k) * c.lanes
            before = vector([kept[first + lane] for lane in ti.static(range(c.lanes))])
            c.arena.packs.store(w, k, ti.select(begins, c.arena.packs.load(w, k), before))


@ti.func
def copy_to_host(c: ti.template(), w: ti.i32, chosen: ti.i32, rows: ti.template(), copied: ti.template()):
    """Packs of a block for the host; with chosen = 1 of the worlds that `c.anew` names."""
    n = rows.shape[0]
    if (w + 1) * n * c.lanes <= copied.shape[0]:
        named = c.anew.load(w, 0)
        for k in range(n):
            pack = c.arena.packs.load(w, rows[k])
            for lane in ti.static(range(c.lanes)):
                if chosen == 0 or get_lane(named, lane) != 0.0:
                    copied[(w * c.lanes + lane) * n + k] = get_lane(pack, lane)


def names_some(c, w):
    """Whether a world of a block begins anew (inside kernels)."""
    return any_lane(c.anew.load(w, 0) != 0.0)


def unload_frame(c, w, at, *buffers):
    """A frame of a block to the buffers; `at` counts frames, blocks and lanes before it (inside kernels).

    Args:
        buffers: those of BUFFERS.

    Reads:  c
    Writes: the buffers
    """
    poison, arrays = local(poison_of(c, w)), arrays_of_frames(c)
    for name, buffer in zip(BUFFERS, buffers, strict=True):
        if name in arrays:
            n = number(arrays[name], "n_items")
            unload_part(buffer, arrays[name], at * n, w, n, n, 0.0 if name in _OF_ENDED else poison)
    *_, contacts, quantity, others = buffers
    if c.leaving["contacts"]:
        unload_contacts(contacts, c, at * number(c.contacts, "width"), w)
    if c.accumulators.n_records:
        unload_quantities(quantity, c, at * number(c.accumulators, "n_records"), w, poison)
    unload_others(others, c, at, w, poison)


def poison_of(c, w):
    """0 for a world that is well, NaN for one that has ended."""
    status = c.health.load(w, 0)
    return select(status == 0.0, status, status * ti.math.nan)
