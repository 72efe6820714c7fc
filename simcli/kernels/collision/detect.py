"""All contacts of the worlds of a block: place the shapes, find the pairs whose boxes touch, and do those one by one."""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.collision.boxes import compare_pair
from simcli.kernels.collision.convex.pair import convex_pair
from simcli.kernels.collision.lanes import one
from simcli.kernels.collision.planes import plane_pair
from simcli.kernels.collision.points import are_few, choose, clear, keep_chosen, report
from simcli.kernels.collision.rounds import ball_pair, round_pair
from simcli.kernels.collision.rule import combination_of, first_of, radius_in
from simcli.kernels.collision.table_rows import complete_rows
from simcli.kernels.collision.tables import BALL_BARREL, BALL_BOX, BOXES, CONVEX, GROUND, HALF_SPACE, ROUND
from simcli.kernels.language import ti
from simcli.kernels.language.vectors import any_lane, get_lane
from simcli.kernels.memory.arena import local


@ti.func
def place_shapes(c: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32):
    """Pose of every shape in the world from those of the links.

    Reads:  s.{R, o, origin}
    Writes: c.{rotation, base, position}
    """
    zero = c.arena.zero()
    for i in range(c.n_shapes):
        link = c.link.at(i)
        R = c.in_link.load(w, i)
        x = c.at_link.load(w, i)
        if link >= 0:
            R_link = s.R.load(w, link)
            c.rotation.store(w, i, R_link * R)
            c.base.store(w, i, s.origin.load(w, t.root.at(link)) * 1.0)
            c.position.store(w, i, s.o.load(w, link) + R_link * x)
        else:
            c.rotation.store(w, i, R * (zero + 1.0))
            c.base.store(w, i, x + Vec3(zero, zero, zero))
            c.position.store(w, i, Vec3(zero, zero, zero))


@ti.func
def detect(c: ti.template(), w: ti.i32):
    """Find the contacts of every world of a block, by the lower and then the higher index of their shapes.

    Reads:  c.{rotation, base, position, margin, spare}
    Writes: c.{contacts, extent, low, high, notes}
    """
    zero = c.arena.zero()
    c.contacts.count.store(w, 0, zero)
    c.contacts.needed.store(w, 0, zero)
    for i in range(c.n_shapes):
        c.extent.store(w, i, extent_of(c, w, i))
        margin = c.margin.load(w, i)
        reach = c.extent.load(w, i) + Vec3(margin, margin, margin) - c.spare.load(w, i)
        place = c.base.load(w, i) + c.position.load(w, i)
        c.low.store(w, i, place - reach)
        c.high.store(w, i, place + reach)
    for k in range(c.rule.n_touching):
        for m in range(c.rule.start.at(k), c.rule.end.at(k)):
            i = c.rule.order.at(k)
            j = c.rule.order.at(m)
            if any_lane(overlap_along(c, w, i, j, 0)):  # few pairs do
                near = boxes_touch(c, w, i, j)
                if any_lane(near):
                    _collide_where_near(c, w, i, j, near)
    complete_rows(c, w)


@ti.func
def _collide_where_near(c: ti.template(), w: ti.i32, i: ti.i32, j: ti.i32, near: ti.template()):
    """Two shapes i < j in the worlds where their boxes touch.

    Writes: c.contacts, c.notes
    """
    combination = combination_of(c.rule, i, j)
    if combination >= 0:
        if ti.static(c.can_rest):
            near = select(c.arena.zero() + c.acts.load(w, combination) > 0.0, near, 0)
        a = first_of(c.rule, i, j)
        compare_pair(c, w, c.routine.at(combination), a, i + j - a)
        for lane in range(c.lanes):
            if get_lane(near, lane) != 0:
                collide(c, w, lane, a, i + j - a, combination)


def extent_of(c, w, i) -> Vec3:
    """[m], half extents of a shape with its margin along the axes of the world: of its box, or of a smaller ball."""
    m, (x, y, z), bound, skin = c.rotation.load(w, i).parts, c.half.load(w, i).parts, c.bound.load(w, i), c.skin.load(w, i)
    return Vec3(*(ti.min(ti.abs(m[3 * k]) * x + ti.abs(m[3 * k + 1]) * y + ti.abs(m[3 * k + 2]) * z, bound) + skin
                  for k in range(3)))


def boxes_touch(c, w, a, b):
    """Mask of the lanes in which the boxes of two shapes are at most their margins apart."""
    near = [overlap_along(c, w, a, b, k) for k in range(3)]
    return select(near[0] & near[1] & near[2], 1, 0)


def overlap_along(c, w, a, b, k):
    """Mask of the lanes in which the boxes of two shapes, with their margins, have a stretch of an axis in common."""
    return local((c.low.part(w, a, k) <= c.high.part(w, b, k)) & (c.low.part(w, b, k) <= c.high.part(w, a, k)))


@ti.func
def collide(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, combination: ti.i32):
    """Contacts of one pair in one world.

    Args:
        a, b: its shapes.
        combination: row of its numbers.

    Writes: c.contacts, c.notes
    """
    clear(c, w)
    kind = c.routine.at(combination)
    reach = one(c.margin, w, lane, a) + one(c.margin, w, lane, b)
    reach += radius_in(c, w, lane, a, combination) + radius_in(c, w, lane, b, combination)
    if ti.static(c.serves[HALF_SPACE]):
        if kind == HALF_SPACE:
            plane_pair(c, w, lane, a, b, reach)
    if ti.static(c.serves[ROUND]):
        if kind == ROUND:
            round_pair(c, w, lane, a, b, reach)
    if ti.static(c.serves[BALL_BOX] or c.serves[BALL_BARREL]):
        if kind == BALL_BOX or kind == BALL_BARREL:
            ball_pair(c, w, lane, a, b, reach, kind)
    if ti.static(c.serves[BOXES] or c.serves[CONVEX] or c.serves[GROUND]):
        if kind >= BOXES:
            convex_pair(c, w, lane, kind, a, b, reach)
    if c.notes.load(w, c.n_candidates) > 0.0:
        if not are_few(c, w, lane, a, b, c.most_points.at(combination)):
            choose(c, w, lane, a, b, c.most_points.at(combination))
            keep_chosen(c, w)
        report(c, w, lane, a, b, combination)
