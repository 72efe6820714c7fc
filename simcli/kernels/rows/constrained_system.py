"""The constrained system of the tree's coordinates: mass matrix, rows and laws, solved together for the accelerations.

    [ M   J^T ] [ qdd ]   [ F   ]       M with armature and the implicit parts of efforts on its diagonal
    [ J   -e  ] [ mu  ] = [ rho ]       mu = -lambda;  hard rows: e is tiny (redundant rows share the load), or a compliance

A locked dof is taken out: its row and column are masked, its acceleration is known, and the effort that holds it is what
its equation lacks. A row with a smooth law has e = 1/gain. The matrix is factorised on a fixed pattern
(device/sparse_factors.py).

Source: mass matrix by composite inertias (Featherstone 2008, chapter 6); saddle points as quasi-definite systems
(Vanderbei 1995). Deviation: e of hard rows is taken away again by one more solution (proximal step).
"""

from itertools import pairwise

import numpy as np

from simcli.kernels.articulation.rnea import composite_inertias, own_inertia
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.crew import items_of_part
from simcli.kernels.device.model_tables import Tables, links_of_part
from simcli.kernels.device.sparse_factors import Factor, factorize, get_unknown, put_unknown
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.bounded_laws import Laws
from simcli.kernels.rows.jacobian import fill_rows, mass_entries, row_entries
from simcli.kernels.rows.tree_rows import Rows
from simcli.model.constraints.constraint_tables import Constraints, Form
from simcli.model.joints.elimination import eliminate, tree_dofs
from simcli.model.signals.inputs import balls_of_dofs
from simcli.model.tables.model import Model, joined_bodies
from simcli.model.tables.signal_tables import MotionKind

SOFTNESS = {"float64": 1e-10, "float32": 1e-4}  # e of a hard row relative to J M^-1 J^T: far above rounding

# Weights of the solutions of a try, the first of which only centres the second: see `extrapolate`. Steps in natural
# coordinates, whose corrections are filtered (natural/stages.py), do with three.
WEIGHTS, FEWER_WEIGHTS = (0.0, 6.0, -8.0, 3.0), (0.0, 3.0, -2.0)


class System:
    """Index lists and memory of the constrained system.

    Unknowns: the dofs of the tree in the order of `tree_dof`, then the rows.

    Args:
        constraints, model, tables, arena: what constrains what, and where its memory is.
        steps_lock: whether steps lock dofs or let rows idle.

    Attributes:
        entry: (n_entries) values of M (lower triangle) and J.
        seen: on the host, unknowns that a row sees, counted from the last one.
        free: (n) 0 for locked dofs and idle rows, else 1.  goal: (n) known value of an unknown that is not free.
        softness: (rows) e of hard rows relative to J M^-1 J^T, the same for all of an island.
        load: (n) right-hand side before masks.  soft: (rows) e of each row.  gain: (n dofs) of lines, on the diagonal.
        centre: (rows) multiplier that the softness of a hard row pulls to.
        solutions: in a try.  weights: of each in what `extrapolate` finds.  earlier: (n) weighted sum of all but the last.
        acceleration, multiplier: the solution: qdd by unknown, mu by row.  force: lambda by row, of idle rows too.
        effort: (n dofs) what holds a locked dof.
        shared: (rows) what gears add to the forces of coordinates, see `share_gears`; empty if they join dofs of the tree.
        prescribed_row, prescribed_dof: rows that follow prescribed motions, and the dofs whose motions these are.
        prescribed_component: which dof of a ball each is, else -1.  prescribed_by_position: 0 for velocities.
        turn_row, turn_q: rows of successive turns, and their coordinates in joint_q.
    """

    _data_oriented = True

    def __init__(self, constraints: Constraints, model: Model, tables: Tables, arena: Arena, steps_lock: bool):
        self.n_dofs = tables.n_tree_dofs
        self.rows = Rows(constraints, tables, arena)
        self.laws = Laws(constraints, model, tables, arena)
        self.n_rows, self.n = self.rows.n, tables.n_tree_dofs + self.rows.n
        rows_of, dofs, unknowns = self.rows.items, tables.tree_dofs, arena.records(self.n)
        self.unknowns = unknowns
        self.steps_lock = steps_lock
        m_start, m_with, pairs = mass_entries(model, tables)
        j_start, j_dof, j_side, j_other, j_term, row_pairs = row_entries(constraints, model, tables)
        self.n_mass, self.n_entries = len(m_with), len(m_with) + len(j_dof)
        pairs = np.concatenate((pairs, row_pairs, np.repeat(np.arange(self.n_dofs, self.n)[:, None], 2, axis=1)))
        pattern = eliminate(self.n, pairs, np.arange(self.n) >= self.n_dofs)
        self.factor = Factor(pattern, arena)
        self.m_start, self.m_with = arena.ints(m_start), arena.ints(m_with)
        self.j_start, self.j_dof, self.j_side = arena.ints(j_start), arena.ints(j_dof), arena.ints(j_side)
        self.j_other, self.j_term = arena.ints(j_other), arena.ints(j_term)
        seen = self.n_dofs - 1 - pairs[self.n_mass : self.n_entries, 1]
        self.seen = [seen[a:b] for a, b in pairwise(j_start)]
        self.end_i, self.end_j, self.mass_ends = arena.ints(pairs[:, 0]), arena.ints(pairs[:, 1]), pairs[: self.n_mass]
        self.place = arena.ints(pattern.place)
        rows = constraints.rows
        self.is_hard = rows_of.ints(rows.is_hard)
        own = (rows.joint >= 0) & model.joints.is_tree[rows.joint] if rows.n else np.zeros(0)  # on dofs of their own joints
        self.is_own = rows_of.ints(np.where(rows.form == Form.GEAR, 0, own))
        prescribed = np.flatnonzero((rows.dof >= 0) & rows.is_hard)
        self.n_prescribed_rows, self.prescribed_row = len(prescribed), arena.ints(prescribed)
        self.prescribed_dof = arena.ints(rows.dof[prescribed])
        component = balls_of_dofs(model)[1][rows.dof[prescribed]]
        self.prescribed_component, self.prescribes_balls = arena.ints(component), bool((component >= 0).any())
        self.prescribed_by_position = arena.ints(model.motions.kind[rows.dof[prescribed]] == MotionKind.POSITION)
        turns = np.flatnonzero((rows.dof >= 0) & np.isin(rows.form, (Form.CARDAN, Form.EULER)))
        shown = model.joints.q_start[rows.joint[turns]] + rows.dof[turns] - model.joints.qd_start[rows.joint[turns]]
        self.n_turns, self.turn_row, self.turn_q = len(turns), arena.ints(turns), arena.ints(shown)
        self.shared = arena.array(self.n_rows if self.rows.has_shared else 0)
        self.spring, self.n_springs = rows_of.ints(rows.spring), int((rows.spring >= 0).sum())
        drags = np.flatnonzero(rows.drag >= 0)
        self.n_drags, self.drag_row, self.drag = len(drags), arena.ints(drags), arena.ints(rows.drag[drags])
        self.is_dragged = rows_of.ints(rows.drag >= 0)
        self.compliance, self.enabled = (rows_of.column(x) for x in (constraints.rows.compliance, constraints.rows.enabled))
        self.scale = rows_of.column(constraints.rows.scale)
        self.least = SOFTNESS[arena.device.precision]
        self.weights = FEWER_WEIGHTS if tables.is_natural else WEIGHTS
        self.solutions, self.last_weight = len(self.weights), self.weights[-1]
        self.entry, self.earlier = arena.array(self.n_entries), unknowns.array()
        self.free, self.goal, self.load = unknowns.array(), unknowns.array(), unknowns.array()
        self.softness, self.soft, self.multiplier, self.force, self.centre = rows_of.arrays(5)
        self.acceleration, self.effort = dofs.array(), dofs.array()
        self.gain = dofs.array()

    def clear(self):
        """Free everything."""
        self.rows.clear()
        self.laws.clear()
        for array, value in (
            (self.free, 1.0),
            (self.goal, 0.0),
            (self.multiplier, 0.0),
            (self.effort, 0.0),
            (self.gain, 0.0),
            (self.acceleration, 0.0),
            (self.force, 0.0),
            (self.softness, self.least),
        ):
            array.write(np.full((1, array.n_items, 1), value))


def islands_of_rows(of_dofs: np.ndarray, system: System) -> np.ndarray:
    """(R,) number of the island of each row, from those of the dofs of the tree."""
    return np.array([of_dofs[system.n_dofs - 1 - seen[0]] if len(seen) else 0 for seen in system.seen], int)


def row_islands(model: Model, tables: Tables, system: System) -> np.ndarray:
    """(R,) number of the island of each row, whatever the steps are."""
    return islands_of_rows(islands_of(model, tables, system)[_links_of_dofs(model)], system)


def _links_of_dofs(model: Model) -> np.ndarray:
    """Link of each dof of the tree, in the order of the unknowns."""
    links, of_dof = model.links, np.full(model.n_qd, -1)
    for i in range(model.n_links):
        of_dof[links.qd_start[i] : links.qd_start[i] + links.n_qd[i]] = i
    return of_dof[tree_dofs(model)]


def islands_of(model: Model, tables: Tables, system: System) -> np.ndarray:
    """(L,) number of the island of each link."""
    links, of_unknown = model.links, _links_of_dofs(model)
    groups = [of_unknown[tables.n_tree_dofs - 1 - np.asarray(seen, int)] for seen in system.seen]
    groups += [links.tip[bodies[bodies >= 0]] for bodies in joined_bodies(model)]
    groups += [np.array((i, parent)) for i, parent in enumerate(links.parent.tolist()) if parent >= 0]
    pairs = np.concatenate([np.zeros((0, 2), int), *(np.stack((some[:-1], some[1:]), axis=-1) for some in groups)])
    low = np.arange(model.n_links)
    while True:
        least, found = np.minimum(*low[pairs.T]), low.copy()
        for ends in pairs.T:
            np.minimum.at(found, ends, least)
        found = found[found]
        if (found == low).all():
            return np.unique(low, return_inverse=True)[1]
        low = found


@ti.func
def fill(y: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32):
    """Entries of M and J at the present poses and row pulls.

    Reads:  t links, s.{R, o, S, diagonal}, y.rows
    Writes: y.entry, s.I
    """
    if ti.static(t.is_natural):
        begin, end = items_of_part(t.arena, w, y.n_dofs)
        for k in range(begin, end):
            y.entry.store(w, k, t.arena.zero() + t.weight.load(w, t.tree_dof.at(k)))
    else:
        begin, end = links_of_part(t, w)
        for i in range(begin, end):
            s.I.store(w, i, own_inertia(t, s, w, i))
        composite_inertias(t, s, w)
        for i in range(begin, end):
            inertia = s.I.load(w, i)
            first = t.link_qd.at(i)
            for d in range(first, first + t.link_n_qd.at(i)):
                force = inertia.times(s.S.load(w, d))
                k = t.unknown.at(d)
                for m in range(y.m_start.at(k), y.m_start.at(k + 1)):
                    y.entry.store(w, m, s.S.load(w, y.m_with.at(m)).dot(force))
                last = y.m_start.at(k + 1) - 1
                y.entry.store(w, last, y.entry.load(w, last) + s.diagonal.load(w, d))
    fill_rows(y, t, s, w)


@ti.func
def assemble(y: ti.template(), w: ti.i32):
    """Put the masked matrix into the factor, and factorise it.

    Reads:  y.{entry, free, soft}
    Writes: y.factor
    """
    zero = y.entry.arena.zero()
    for e in range(y.factor.nnz):
        y.factor.value.store(w, e, zero)
    for m in range(y.n_entries):
        i = y.end_i.at(m)
        j = y.end_j.at(m)
        value = y.entry.load(w, m)
        if ti.static(y.steps_lock):
            free = y.free.load(w, i)
            both = free * y.free.load(w, j)
            if i == j:
                value = select(free == 0.0, zero + 1.0, value + y.gain.load(w, i))
            else:
                value = select(both == 0.0, zero, value)
        if ti.static(y.rows.has_shared):  # a dof that both coordinates of a gear move has two entries
            value = value + y.factor.value.load(w, y.place.at(m))
        y.factor.value.store(w, y.place.at(m), value)
    for r in range(y.n_rows):
        y.factor.value.store(w, y.place.at(y.n_entries + r), -y.soft.load(w, r))
    factorize(y.factor, w)


@ti.func
def enter(y: ti.template(), w: ti.i32):
    """Right-hand side of the masked system, by pivot, from y.load.

        free: load - sum over locked j of K_ij goal_j;   else: goal

    Reads:  y.{entry, free, goal, load}
    Writes: y.factor.x
    """
    for i in range(y.n):
        put_unknown(y.factor, w, i, y.load.load(w, i))
    if ti.static(y.steps_lock):
        enter_known(y, w)


@ti.func
def enter_known(y: ti.template(), w: ti.i32):
    """What locked unknowns say.

    Reads:  y.{entry, free, goal}
    Writes: y.factor.x
    """
    for m in range(y.n_entries):
        i = y.end_i.at(m)
        j = y.end_j.at(m)
        if i != j:
            value = y.entry.load(w, m)
            known_j = (1.0 - y.free.load(w, j)) * y.goal.load(w, j)
            known_i = (1.0 - y.free.load(w, i)) * y.goal.load(w, i)
            put_unknown(y.factor, w, i, get_unknown(y.factor, w, i) - value * known_j)
            put_unknown(y.factor, w, j, get_unknown(y.factor, w, j) - value * known_i)
    for i in range(y.n):
        x = get_unknown(y.factor, w, i)
        put_unknown(y.factor, w, i, select(y.free.load(w, i) == 0.0, y.goal.load(w, i), x))


@ti.func
def leave(y: ti.template(), w: ti.i32):
    """Take the solution out of the factor.

    Reads:  y.{factor.x, free}
    Writes: y.{acceleration, multiplier, force}
    """
    for i in range(y.n_dofs):
        y.acceleration.store(w, i, get_unknown(y.factor, w, i))
    for r in range(y.n_rows):
        mu = get_unknown(y.factor, w, y.n_dofs + r)
        y.multiplier.store(w, r, mu)
        y.force.store(w, r, select(y.free.load(w, y.n_dofs + r) == 0.0, y.force.load(w, r), -mu))


@ti.func
def keep_try(y: ti.template(), w: ti.i32, k: ti.i32):
    """Add solution k of a try to the weighted sum, for `extrapolate`.

    Reads:  y.factor.x
    Writes: y.earlier
    """
    for n in ti.static(range(1, y.solutions - 1)):
        if k == n:
            for i in range(y.n):
                x = get_unknown(y.factor, w, i) * y.weights[n]
                if ti.static(n > 1):
                    x = x + y.earlier.load(w, i)
                y.earlier.store(w, i, x)


@ti.func
def extrapolate(y: ti.template(), w: ti.i32):
    """6 x2 - 8 x3 + 3 x4 of the solutions of a try, the last of which is in the factor.

    Solution k is centred at the one before, so that with r = e/(a + e), a an eigenvalue of J M^-1 J^T, it has the part

        (1 - r^k)/a of a residual;    the weights extrapolate the parabola through k = 2, 3, 4 to k = 0

    Where a row says something this is 1/a to 6 (e/a)^2. Where it is redundant it is 4 a^2/e^3. Between exact steps redundant
    rows contradict each other a little, and a is not 0: it is the square of a distance, or rounding. A straight line through
    two solutions (3 x2 - 2 x3, what natural coordinates take) leaves 3 a/e^2 of what they contradict, as a force that moves
    an overconstrained mechanism and strains its report: Bennett's linkage is wrong by 2 N of 60 N.

    Reads:  y.{factor.x, earlier, free}
    Writes: y.{acceleration, multiplier, force}
    """
    for i in range(y.n_dofs):
        x = get_unknown(y.factor, w, i)
        y.acceleration.store(w, i, y.earlier.load(w, i) + x * y.last_weight)
    for r in range(y.n_rows):
        x = get_unknown(y.factor, w, y.n_dofs + r)
        mu = y.earlier.load(w, y.n_dofs + r) + x * y.last_weight
        y.multiplier.store(w, r, mu)
        y.force.store(w, r, select(y.free.load(w, y.n_dofs + r) == 0.0, y.force.load(w, r), -mu))


@ti.func
def hold(y: ti.template(), w: ti.i32):
    """Efforts that hold locked dofs: what their equations lack, M qdd + J^T mu - F; 0 for free dofs.

    Reads:  y.{entry, acceleration, multiplier, load, free}
    Writes: y.effort
    """
    for i in range(y.n_dofs):
        y.effort.store(w, i, -y.load.load(w, i))
    for m in range(y.n_entries):
        i = y.end_i.at(m)
        j = y.end_j.at(m)
        value = y.entry.load(w, m)
        if i >= y.n_dofs:
            # An idle row's multiplier is 0, so that it needs no mask.
            y.effort.store(w, j, y.effort.load(w, j) + value * y.multiplier.load(w, i - y.n_dofs))
        else:
            y.effort.store(w, i, y.effort.load(w, i) + value * y.acceleration.load(w, j))
            if i != j:
                y.effort.store(w, j, y.effort.load(w, j) + value * y.acceleration.load(w, i))
    for i in range(y.n_dofs):
        y.effort.store(w, i, select(y.free.load(w, i) == 0.0, y.effort.load(w, i), y.entry.arena.zero()))
