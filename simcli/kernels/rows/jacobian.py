"""How rows stand in the constrained system: the dofs that they see, their entries, and what their forces give (J^T lambda).

Forces go to the links that rows join, and are the wrenches of joints that are rows; there y is a `System`, whose forces are
known and whose rows have been measured.
"""

import numpy as np

from simcli.kernels.articulation.rnea import no_force
from simcli.kernels.device.crew import items_of_part
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Force
from simcli.kernels.rows.tree_rows import first_numbers
from simcli.model.constraints.constraint_tables import Constraints, Form, anchor_pair_of_row, rows_of_terms
from simcli.model.tables.joint_tables import Links
from simcli.model.tables.model import Model


def mass_entries(model: Model, tables: Tables) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries of the mass matrix: each dof with itself and the dofs that carry it.

    Returns:
        start: (n_dofs + 1,), with: joint_qd index of the other dof of each entry, pairs: (n, 2) of unknowns.
    """
    links, start, others, pairs = model.links, [0], [], []
    above: list[list[int]] = []
    for i in range(model.n_links):
        chain = list(above[links.parent[i]]) if links.parent[i] >= 0 else []
        for d in own_dofs(model.links, tables, i):
            chain = [d] if tables.is_natural else [*chain, d]
            others += chain
            pairs += [(tables.unknown_of_dof[d], tables.unknown_of_dof[e]) for e in chain]
            start.append(len(others))
        above.append(chain)
    return np.array(start), np.array(others, int), np.array(pairs, int).reshape(-1, 2)


def own_dofs(links: Links, tables: Tables, link: int) -> list[int]:
    """Indices into joint_qd of the unknowns of a link."""
    first = int(links.qd_start[link])
    dofs = range(first, first + int(links.n_qd[link]))
    return [d for d in dofs if tables.unknown_of_dof[d] >= 0]


def row_entries(constraints: Constraints, model: Model, tables: Tables):
    """Entries of J: each row with the dofs that move one of its two links and not the other.

    A dof that carries both links moves them as one body, and a row does not see that.

    Returns:
        start: (R + 1,), dof: joint_qd index, side: 0 for the link of A, 1 for that of B, 2 for a term of a gear, 3 where
        its coordinate is a row, 4 for a row of rigidity; other: of that, the number in joint_q that multiplies the dof, of
        terms on rows the entry of that row, else 0; term: of gears; pairs: (n, 2) of unknowns. A dof of several coordinates
        of a gear has as many entries.
    """
    links, rows, anchor_pairs = model.links, constraints.rows, constraints.anchor_pairs
    path: list[list[int]] = []
    for i in range(model.n_links):
        own = own_dofs(model.links, tables, i)
        path.append((path[links.parent[i]] if links.parent[i] >= 0 else []) + own)
    path.append([])  # the world
    start, dofs, sides, others, terms, pairs = [0], [], [], [], [], []
    first_q, row_of_term = first_numbers(tables), rows_of_terms(rows, tables.n_qd)
    anchor_pair = anchor_pair_of_row(constraints)
    for r in range(rows.n):
        if rows.form[r] == Form.GEAR:
            ends = []
            for n in range(rows.term_start[r], rows.term_start[r + 1]):
                d, row = int(rows.term_dof[n]), int(row_of_term[n])
                ends += [(d, 2, 0, n)] if row < 0 else [(dofs[e], 3, e, n) for e in range(start[row], start[row + 1])]
        elif rows.form[r] == Form.RIGID:
            a, b = int(rows.vector_a[r]), int(rows.vector_b[r])
            ends = [(a + k, 4, first_q[b + k], 0) for k in range(3)]
            ends += [(b + k, 4, first_q[a + k], 0) for k in range(3)] if a != b else []
            ends = [end for end in ends if tables.unknown_of_dof[end[0]] >= 0]
        else:
            a, b = (path[side[anchor_pair[r]]] for side in (anchor_pairs.link_a, anchor_pairs.link_b))
            ends = [(d, 0, 0, 0) for d in a if d not in b] + [(d, 1, 0, 0) for d in b if d not in a]
        for d, side, other, term in ends:
            dofs.append(d)
            sides.append(side)
            others.append(other)
            terms.append(term)
            pairs.append((tables.n_tree_dofs + r, tables.unknown_of_dof[d]))
        start.append(len(dofs))
    lists = (np.array(values, int) for values in (start, dofs, sides, others, terms))
    return *lists, np.array(pairs, int).reshape(-1, 2)


@ti.func
def share_gears(y: ti.template(), w: ti.i32):
    """Forces of gears as forces along the coordinates that they join, of joints outside the tree.

    Reads:  y.{force, rows.slope}
    Writes: y.shared
    """
    for r in range(y.n_rows):
        y.shared.store(w, r, y.entry.arena.zero())
    for g in range(y.rows.n_gears):
        n = y.rows.first_gear + g
        force = y.force.load(w, n)
        for k in range(y.rows.term_start.at(g), y.rows.term_start.at(g + 1)):
            row = y.rows.term_row.at(k)
            if row >= 0:
                y.shared.store(w, row, y.shared.load(w, row) + force * y.rows.slope.load(w, k))


@ti.func
def force_of_row(y: ti.template(), w: ti.i32, r: ti.i32):
    """Force of a row of a pair of anchors, with what gears give along it.

    Reads: y.{force, shared}, after `share_gears`
    """
    force = y.force.load(w, r)
    if ti.static(y.rows.has_shared):
        force = force + y.shared.load(w, r)
    return force


@ti.func
def wrench_of_anchor_pair(t: ti.template(), y: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What the rows of pair k, which is a joint's, give the child, about the child's anchor, world; after `share_gears`.

    Reads: t.{child_link, anchor}, y.{force, shared, rows}, s.{R, o}
    """
    r = y.rows
    total = no_force(y.entry.arena.zero())
    for n in range(r.row_start.at(k), r.row_start.at(k + 1)):
        total = total + r.jacobian_b.load(w, n) * force_of_row(y, w, n)
    if ti.static(r.has_swapped):
        if r.is_swapped.at(k) != 0:
            total = no_force(y.entry.arena.zero())
            for n in range(r.row_start.at(k), r.row_start.at(k + 1)):
                total = total + r.jacobian_a.load(w, n) * force_of_row(y, w, n)
    child = t.child_link.at(r.joint.at(k))
    x = s.o.load(w, child) + s.R.load(w, child) * t.anchor.load(w, r.joint.at(k))
    return Force.of(total.force, total.moment - x.cross(total.force))


@ti.func
def apply_jacobian_transpose(y: ti.template(), s: ti.template(), w: ti.i32, sign: ti.template(), with_gears: ti.template()):
    """Add what rows give the links, times a sign; with what gears give along them, after `share_gears`.

    Reads:  y.{force, shared, rows}
    Writes: s.f
    """
    r = y.rows
    for k in range(r.n_anchor_pairs):
        a = r.link_a.at(k)
        b = r.link_b.at(k)
        for n in range(r.row_start.at(k), r.row_start.at(k + 1)):
            force = y.force.load(w, n)
            if ti.static(with_gears):
                force = force_of_row(y, w, n)
            if a >= 0:
                s.f.store(w, a, s.f.load(w, a) + r.jacobian_a.load(w, n) * (force * sign))
            if b >= 0:
                s.f.store(w, b, s.f.load(w, b) + r.jacobian_b.load(w, n) * (force * sign))


@ti.func
def report_anchor_pairs(t: ti.template(), y: ti.template(), s: ti.template(), rows: ti.template(), w: ti.i32):
    """Add the wrenches of joints that are rows, on the child at the child anchor, world; after `share_gears`.

    Reads:  t.{child_link, anchor}, y.{force, shared, rows}, s.{R, o}
    Writes: rows.joint_wrench
    """
    for k in range(y.rows.n_anchor_pairs):
        first = 6 * y.rows.joint.at(k)
        if first >= 0:
            at_anchor = wrench_of_anchor_pair(t, y, s, w, k)
            for m in ti.static(range(6)):
                rows.joint_wrench.store(w, first + m, rows.joint_wrench.load(w, first + m) + at_anchor.parts[m])


@ti.func
def report_loops(c: ti.template(), w: ti.i32):
    """Wrenches of joints that are rows: on the child at the child anchor, world.

    Reads:  c.system.{force, rows}, c.state.{R, o}
    Writes: adds to c.rows.joint_wrench
    """
    t = c.tables
    if ti.static(c.system.rows.has_shared):
        share_gears(c.system, w)
    for j in range(t.n_joints):
        if t.joint_link.at(j) < 0:
            for m in ti.static(range(6)):
                c.rows.joint_wrench.store(w, 6 * j + m, t.arena.zero())
    report_anchor_pairs(t, c.system, c.state, c.rows, w)


@ti.func
def fill_rows(y: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32):
    """Entries of J at the present poses and row pulls.

    Reads:  s.S, y.rows
    Writes: y.entry
    """
    if ti.static(y.n_rows > 0):
        begin, end = _rows_of_part(y, t, w)
        for r in range(begin, end):
            for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
                y.entry.store(w, y.n_mass + e, entry_of_row(y, t, s, w, r, e))


def _rows_of_part(y, t, w) -> tuple:
    """The rows that a thread takes (inside kernels), see crew.py: one takes all where a row reads another one."""
    if not y.rows.has_shared:
        return items_of_part(t.arena, w, number(y, "n_rows"))
    begin, end = items_of_part(t.arena, w, 1)
    return begin * number(y, "n_rows"), end * number(y, "n_rows")


@ti.func
def entry_of_row(y: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32, r: ti.i32, e: ti.i32):
    """Entry e of J, of row r.

    Reads: s.{S, q}, y.{rows, entry}
    """
    side = y.j_side.at(e)
    value = t.arena.zero() + 1.0
    if side < 2:
        pull = y.rows.jacobian_a.load(w, r)
        if side == 1:
            pull = y.rows.jacobian_b.load(w, r)
        value = s.S.load(w, y.j_dof.at(e)).dot(pull)
    if ti.static(y.rows.n_gears > 0):
        if side == 2 or side == 3:
            value = t.arena.zero() + y.rows.slope.load(w, y.j_term.at(e))
    if ti.static(y.rows.has_shared):
        if side == 3:
            value = value * y.entry.load(w, y.n_mass + y.j_other.at(e))
    if ti.static(t.is_natural):
        if side == 4:  # the constant is 1 for a vector with itself
            value = s.q.load(w, y.j_other.at(e)) * (1.0 + y.rows.constant.load(w, r))
    return value
