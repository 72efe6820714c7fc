"""What the forces of rows give: to the links that they join, and as the wrenches of joints that are rows.

y is a `System`, whose forces are known and whose rows have been measured.
"""

from simcli.kernels.algebra.values import Force
from simcli.kernels.articulation.rnea import no_force
from simcli.kernels.language import ti


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
