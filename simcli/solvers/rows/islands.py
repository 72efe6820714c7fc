"""Islands: links that joints, rows and forces join. In a step one of them does not see what another one does.

So an island in which nothing stops or touches keeps its smooth step, and its frames, beside one that takes a step of
impulses. In natural coordinates one solution serves both, because the matrix has blocks: its islands differ in the times
over which accelerations act. In steps of several nodes the world takes its step again, and islands that do not jump return
to where their nodes have led. Contacts join islands for a step.

Where a world is one island, or no step is of impulses, nothing of it is compiled. rows/memory.py says what `c` holds.

Stages, and what others call.
"""

import numpy as np

from simcli.kernels.collision.table_rows import contacts_of
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.lanes import one, put, vector, whole_of
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.constrained_system import System, islands_of, islands_of_rows
from simcli.model.constraints.build import smooth_laws
from simcli.model.constraints.constraint_tables import Constraints
from simcli.model.joints.elimination import tree_dofs
from simcli.model.tables.model import LinkKind, Model
from simcli.solvers.base import needs


class Islands:
    """Links that joints, rows and forces join, and contacts for a step. The world joins none, a kinematic body does.

    Args:
        model, tables, arena: see `System`.
        system: whose rows join what they see.
        takes_both: whether steps are smooth or of impulses.

    Attributes:
        n: islands; 1 where nothing depends on them.  are_many: whether there are several.
        have_spans: whether steps of impulses have other c.b and c.g than smooth ones.
        of_unknown, of_dof, of_q: number of the island of each.  of_shape: -1 for the world's.
        host: of dofs, unknowns and joints, on the host; of_laws: of laws.
        stops: 1 for islands in which a law may stop something.  led: 1 for those with prescribed motions, which book work.
    """

    _data_oriented = True
    _untraced = ("host", "of_laws")

    def __init__(
        self, constraints: Constraints, model: Model, tables: Tables, arena: Arena, system: System, takes_both: bool
    ):
        of_link = islands_of(model, tables, system) if takes_both else np.zeros(model.n_links, int)
        self.n = int(of_link.max(initial=0)) + 1
        self.are_many, self.have_spans = self.n > 1, self.n > 1 and tables.is_natural
        if self.are_many:
            self.lay(of_link, constraints, model, tables, arena, system)

    def lay(self, of_link: np.ndarray, constraints: Constraints, model: Model, tables: Tables, arena: Arena, system: System):
        """The tables, from the islands of links, (L,)."""
        joints, laws, n_dofs, body = model.joints, constraints.laws, system.n_dofs, model.shapes.body
        of_joint = of_link[model.links.tip[np.where(joints.child >= 0, joints.child, joints.parent)]]
        of_dof, of_q = of_joint[model.dofs.joint], np.repeat(of_joint, np.diff(joints.q_start))
        for i, island in enumerate(of_link.tolist()):
            first_q, first_qd = model.links.q_start[i], model.links.qd_start[i]
            of_dof[first_qd : first_qd + model.links.n_qd[i]] = island
            more = model.links.kind[i] in (LinkKind.BALL, LinkKind.FREE)  # the quaternion of a rotation
            of_q[first_q : first_q + model.links.n_qd[i] + more] = island
        of_dofs = of_dof[tree_dofs(model)]
        of_unknown = np.concatenate((of_dofs, islands_of_rows(of_dofs, system)))
        unknowns = np.where(laws.row >= 0, n_dofs + laws.row, tables.unknown_of_dof[np.maximum(laws.dof, 0)])
        self.of_laws, stops = of_unknown[unknowns], np.zeros(self.n, int)
        stops[self.of_laws[~np.all([smooth_laws(phase, laws) for phase in tables.phases], axis=0)]] = 1
        self.host, self.stops = (of_dof, of_unknown, of_joint), arena.ints(stops)
        self.led = arena.ints(np.isin(np.arange(self.n), of_dof[np.flatnonzero(model.motions.kind)]).astype(int))
        self.of_unknown, self.of_dof, self.of_q = map(arena.ints, (of_unknown, of_dof, of_q))
        self.of_shape = arena.ints(np.where(body >= 0, of_link[model.links.tip[body]], -1) if len(body) else body)


def jumps_of(c):
    """1 for each island whose step is of impulses; of a world that is one island, for the world (inside kernels)."""
    return c.bound.jumps if c.bound.islands.are_many else c.bound.velocity_jump


def island_of(c, i):
    """Number of the island of unknown i (inside kernels)."""
    return c.bound.islands.of_unknown.at(i) if c.bound.islands.are_many else 0


def island_of_dof(c, d):
    """Number of the island of velocity d of joint_qd (inside kernels)."""
    return c.bound.islands.of_dof.at(d) if c.bound.islands.are_many else 0


def jump_of(c, w, i):
    """1 where the island of unknown i takes a step of impulses, else 0 (inside kernels)."""
    return jumps_of(c).load(w, island_of(c, i))


def span_at(c, w, spans, i, given):
    """[s], c.b or c.g of the island of unknown i, where islands differ in them, else what is given (inside kernels)."""
    return spans.load(w, island_of(c, i)) if c.bound.islands.have_spans else given


@needs.islands
@ti.func
def forget_islands(c: ti.template(), w: ti.i32):
    """No island jumps.

    Writes: c.bound.jumps
    """
    for k in range(c.bound.islands.n):
        c.bound.jumps.store(w, k, c.tables.arena.zero())


@needs.islands
@ti.func
def keep_ends(c: ti.template(), w: ti.i32):
    """Keep where the nodes have led.

    Writes: c.bound.{q_end, qd_end}
    """
    copy(c.bound.q_end, c.state.q, c.tables.n_q, w)
    copy(c.bound.qd_end, c.state.qd, c.tables.n_qd, w)


@needs.islands
@ti.func
def return_ends(c: ti.template(), w: ti.i32):
    """Return there with the islands that do not jump.

    Reads:  c.bound.{q_end, qd_end, jumps}
    Writes: c.state.{q, qd}
    """
    s = c.state
    for i in range(c.tables.n_q):
        jumps = c.bound.jumps.load(w, c.bound.islands.of_q.at(i)) != 0.0
        s.q.store(w, i, select(jumps, s.q.load(w, i), c.bound.q_end.load(w, i)))
    for d in range(c.tables.n_qd):
        jumps = c.bound.jumps.load(w, c.bound.islands.of_dof.at(d)) != 0.0
        s.qd.store(w, d, select(jumps, s.qd.load(w, d), c.bound.qd_end.load(w, d)))


@ti.func
def note_islands(c: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, notes: ti.template(), value: ti.template()):
    """Give the islands of both shapes of contact n of one world a note.

    Writes: notes (islands)
    """
    table = c.bound.impulses.contacts.collider.contacts
    for side in ti.static((table.shape_a, table.shape_b)):
        k = c.bound.islands.of_shape.at(whole_of(side, w, lane, n))
        if k >= 0:
            put(notes, w, lane, k, value)


@needs.islands
def note_jump_of(c, w, lane, n):
    """The islands of contact n of one world jump (inside kernels)."""
    note_islands(c, w, lane, n, c.bound.jumps, 1.0)


@needs.islands
@ti.func
def spread_jumps(c: ti.template(), w: ti.i32):
    """An island jumps with one that it may touch, a led one with any; those that do not jump part from the step of impulses.

    Writes: c.bound.{jumps, parts_of}
    """
    zero = c.tables.arena.zero()
    some = zero
    for k in range(c.bound.islands.n):
        some = ti.max(some, c.bound.jumps.load(w, k))
    for k in range(c.bound.islands.n):
        if c.bound.islands.led.at(k) != 0:
            c.bound.jumps.store(w, k, ti.max(some, c.bound.jumps.load(w, k)))
    going = 1
    for _ in range(c.bound.islands.n):
        if going != 0:
            going = _spread_once(c, w)
    for k in range(c.bound.islands.n):
        c.bound.parts_of.store(w, k, 1.0 - c.bound.jumps.load(w, k))


@ti.func
def _spread_once(c: ti.template(), w: ti.i32):
    """One round along the contacts; 1 if it reached an island."""
    reached = 0
    for lane in range(c.lanes):
        for n in range(contacts_of(c.bound.impulses.contacts.collider, w, lane)):
            if _is_apart(c, w, lane, n) == 1:
                note_jump_of(c, w, lane, n)
                reached = 1
    return reached


@ti.func
def _is_apart(c: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32):
    """1 if one of the islands of contact n jumps, and the other one does not."""
    table = c.bound.impulses.contacts.collider.contacts
    a = c.bound.islands.of_shape.at(whole_of(table.shape_a, w, lane, n))
    b = c.bound.islands.of_shape.at(whole_of(table.shape_b, w, lane, n))
    found = 0
    if a >= 0 and b >= 0:
        found = ti.cast(one(c.bound.jumps, w, lane, a) != one(c.bound.jumps, w, lane, b), ti.i32)
    return found


@ti.func
def largest_note(c: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, notes: ti.template()):
    """The larger note of the two islands of contact n of one world."""
    table = c.bound.impulses.contacts.collider.contacts
    found = 0.0
    for side in ti.static((table.shape_a, table.shape_b)):
        k = c.bound.islands.of_shape.at(whole_of(side, w, lane, n))
        if k >= 0:
            found = ti.max(found, one(notes, w, lane, k))
    return found


@needs.islands
@ti.func
def drop_contacts(c: ti.template(), w: ti.i32):
    """Let the contacts of islands that part carry nothing.

    Reads:  c.bound.parts_of
    Writes: p.{contacts, centre}
    """
    p = c.bound.impulses.problem
    for lane in range(c.lanes):
        for n in range(contacts_of(c.bound.impulses.contacts.collider, w, lane)):
            if largest_note(c, w, lane, n, c.bound.parts_of) != 0.0:
                put(p.contacts.on, w, lane, n, 0.0)
                put(p.contacts.impulse, w, lane, n, vector())
                put(p.centre, w, lane, n, vector())


class Shown:
    """What frames show of islands some of which show their instant, and others the step that ends there.

    Args:
        c: core of a run with several islands.
        arena: of the same worlds.

    Attributes:
        arrays, copies: of numbers that evaluations leave, as one of the two has them.  island: of each of the numbers.
        takes: (islands) 1 where the copies are shown.
    """

    _data_oriented = True

    def __init__(self, c, arena: Arena):
        y, islands, joints = c.bound.system, c.bound.islands, 6 * c.tables.n_joints * bool(c.reports["wrenches"])
        of_dof, of_unknown, of_joint = islands.host
        of_row = of_unknown[y.n_dofs :]
        kinds = (
            (of_dof, (c.state.qdd, c.state.tau, c.state.diagonal)),
            (of_unknown[: y.n_dofs], (y.acceleration, y.effort)),
            (of_row, (y.force,)),
            (islands.of_laws, (y.laws.effort, y.laws.lock, y.laws.rate, y.laws.shift, y.laws.lag)),
            (np.repeat(of_joint, 6)[:joints], (c.rows.joint_wrench,)),
        )
        self.arrays = [array for of, some in kinds for array in some if len(of)]
        self.copies = [arena.array(array.n_items) for array in self.arrays]
        self.island = [table for of, some in kinds for table in [arena.ints(of)] * len(some) if len(of)]
        self.takes = arena.array(islands.n)


@ti.func
def keep_shown(c: ti.template(), w: ti.i32):
    """Keep what an evaluation has left.

    Writes: c.aside.shown.copies
    """
    for k in ti.static(range(len(c.aside.shown.arrays))):
        copy(c.aside.shown.copies[k], c.aside.shown.arrays[k], c.aside.shown.arrays[k].n_items, w)


@ti.func
def return_shown(c: ti.template(), w: ti.i32):
    """Show of some islands what was kept.

    Reads:  c.aside.shown.{copies, takes}
    Writes: c.aside.shown.arrays
    """
    for k in ti.static(range(len(c.aside.shown.arrays))):
        array, kept = c.aside.shown.arrays[k], c.aside.shown.copies[k]
        for i in range(array.n_items):
            takes = c.aside.shown.takes.load(w, c.aside.shown.island[k].at(i)) != 0.0
            array.store(w, i, select(takes, kept.load(w, i), array.load(w, i)))


@ti.func
def keep_steps(c: ti.template(), w: ti.i32):
    """Have frames show the step of the islands that have jumped in it.

    Writes: c.aside.shown
    """
    copy(c.aside.shown.takes, c.bound.jumps, c.bound.islands.n, w)
    keep_shown(c, w)


@ti.func
def show_instants(c: ti.template(), w: ti.i32):
    """Have frames show the instant of all islands, unless a step is kept.

    Writes: c.aside.shown.takes
    """
    for k in range(c.bound.islands.n):
        c.aside.shown.takes.store(w, k, c.tables.arena.zero())


@ti.func
def keep_account_of_steps(c: ti.template(), w: ti.i32):
    """Where a step is shown, the account is that of its evaluation, as `set_aside` has kept it.

    Reads:  c.{shown.takes, aside}
    Writes: c.forces.account
    """
    most = c.tables.arena.zero()
    for k in range(c.bound.islands.n):
        most = ti.max(most, c.aside.shown.takes.load(w, k))
    for k in ti.static(range(len(c.forces.account.arrays))):
        array, kept = c.forces.account.arrays[k], c.aside.copies[k]
        for i in range(array.n_items):
            array.store(w, i, select(most != 0.0, kept.load(w, i), array.load(w, i)))
