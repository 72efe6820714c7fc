"""All contacts of the worlds of a block: place the shapes, find the pairs whose boxes touch, and do those one by one.

Of two convex shapes: how far apart and along which normal, then the points of contact.
"""

from simcli.kernels.collision.box_tree import (
    boxes_touch,
    find_touching,
    overlap_along,
    place_boxes,
    renew_tree,
)
from simcli.kernels.collision.boxes import compare_pair, separation_of_boxes
from simcli.kernels.collision.collider import (
    BALL_BARREL,
    BALL_BOX,
    BOXES,
    CONVEX,
    GROUND,
    HALF_SPACE,
    MOST_CANDIDATES,
    MOST_RING,
    ROUND,
    combination_of,
    first_of,
    radius_in,
)
from simcli.kernels.collision.epa import penetration
from simcli.kernels.collision.gjk import APART, BEYOND, TOUCH, TOUCHING, distance
from simcli.kernels.collision.manifold import add_manifold
from simcli.kernels.collision.points import are_few, choose, clear, keep_chosen, keep_points, report, tolerance
from simcli.kernels.collision.rounds import ball_pair, plane_pair, round_pair
from simcli.kernels.collision.table_rows import (
    begin_part,
    begin_points,
    complete_points,
    complete_rows,
    end_part,
    join_points,
)
from simcli.kernels.collision.terrain import drop_held_beyond, extent_along, is_outward, lowest_above, set_cell
from simcli.kernels.device.crew import items_of_part
from simcli.kernels.device.lanes import one, vector, way_between, whole_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of, select
from simcli.kernels.language.expressions import any_lane, get_lane
from simcli.kernels.language.values import Vec3


@ti.func
def separate(c: ti.template(), w: ti.i32, lane: ti.i32, kind: ti.i32, a: ti.i32, b: ti.i32, reach: ti.template()):
    """Gap and normal of two convex cores.

    Boxes that overlap are done by their axes; whatever is apart by distance; the rest by the growing polytope.

    Returns:
        1 if they are not beyond reach; [m], gap; unit normal from a to b; [m], deepest point of core a from its origin;
        1 if that point is known; 1 if the normal is that of the boxes at hand.

    Reads:  c.boxes, of `compare_pair`
    Writes: c.notes
    """
    gap = reach * 0.0
    n = vector(0.0, 0.0, 1.0)
    p = vector()
    has_point = 1
    state = TOUCHING
    is_open = True
    is_compared = 0
    if ti.static(c.serves[BOXES]):
        if kind == BOXES:
            gap, n, p, has_point = separation_of_boxes(c, w, lane)
            is_compared = 1
            is_open = gap > ti.static(TOUCH[precision_of()]) * (one(c.bound, w, lane, a) + one(c.bound, w, lane, b))
            if gap > reach:
                state = BEYOND
                is_open = False
    if is_open:
        far, size, normal, point = distance(c, w, lane, a, b, reach)
        if far == BEYOND or (far == APART and size > reach):
            state = BEYOND
        elif far == APART:
            gap, n, p, has_point, is_compared = size, normal, point, 1, 0
        elif ti.static(c.serves[CONVEX] or c.serves[GROUND]):
            if kind != BOXES:
                gap, n, p = penetration(c, w, lane, a, b)
    return ti.select(state == BEYOND, 0, 1), gap, n, p, has_point, is_compared


@ti.func
def convex_pair(c: ti.template(), w: ti.i32, lane: ti.i32, kind: ti.i32, a: ti.i32, b: ti.i32, reach: ti.template()):
    """Note the points of contact of two convex shapes, or of terrain with one.

    Of terrain one prism after the other takes the place of a, below each triangle that b could touch. Where the normal is
    not that of a convex edge or corner of the surface it is that of the triangle, and only what lies over the triangle
    counts.

    Writes: c.notes
    """
    n_items = 1
    first = a
    column, n_columns, row, n_rows = 0, 1, 0, 1
    if ti.static(c.serves[GROUND]):
        if kind == GROUND:
            first = c.n_shapes
            column, n_columns, row, n_rows = window(c, w, lane, a, b, reach)
            n_items = 2 * n_columns * n_rows
    for item in range(n_items):
        origin = vector()
        is_near = 1
        at_column = column + item // 2 % n_columns
        at_row = row + item // 2 // n_columns
        if ti.static(c.serves[GROUND]):
            if kind == GROUND:
                make_room(c, w, lane, a, b)
                origin, is_near = set_cell(c, w, lane, a, b, at_column, at_row, item % 2, reach)
        if is_near == 1:
            _meet_piece(c, w, lane, kind, a, first, b, reach, origin, at_column, at_row, item % 2)


@ti.func
def _meet_piece(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    kind: ti.i32,
    a: ti.i32,
    first: ti.i32,
    b: ti.i32,
    reach: ti.template(),
    origin: ti.template(),
    column: ti.i32,
    row: ti.i32,
    triangle: ti.i32,
):
    """Note the points of contact of shape b with a, or with the prism of a that takes its place.

    Args:
        first: a, or the prism.  origin: [m], of the prism.  column, row, triangle: of the prism.

    Writes: c.notes
    """
    is_near, gap, n, p, has_point, are_boxes = separate(c, w, lane, kind, first, b, reach)
    if is_near == 1:
        tie = tolerance(c, w, lane, a, b)
        is_cut = False
        if ti.static(c.serves[GROUND]):
            if kind == GROUND:  # Taichi would evaluate both sides of an `and`
                is_own, is_of_others = is_outward(c, w, lane, a, b, column, row, triangle, p, n)
                if not is_own:
                    n, p, gap, has_point = lowest_above(c, w, lane, b, tie)
                    is_cut = has_point == 0
                if is_of_others:
                    is_near = 0
        number = row * c.columns.at(a) + column
        if is_near == 1:
            known = ti.cast(c.notes.load(w, c.n_candidates), ti.i32)
            add_manifold(c, w, lane, first, b, n, p, gap, has_point, reach, origin, 2 * number + triangle, are_boxes, tie)
            if ti.static(c.serves[GROUND]):
                if is_cut:
                    drop_held_beyond(c, w, lane, a, b, known, origin, p, gap)


@ti.func
def make_room(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32):
    """Keep the best candidates only, if those of another cell might not fit.

    Writes: c.notes
    """
    if c.notes.load(w, c.n_candidates) > MOST_CANDIDATES - MOST_RING:
        choose(c, w, lane, a, b, MOST_CANDIDATES // 4)
        keep_chosen(c, w)


@ti.func
def place_shapes(c: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32):
    """Pose of every shape in the world from those of the links.

    Reads:  s.{R, o, origin}
    Writes: c.{rotation, base, position}
    """
    zero = c.arena.zero()
    first, end = items_of_part(c.arena, w, c.n_shapes)
    for i in range(first, end):
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

    In a world with many shapes those of one lower index follow each other, see box_tree.py.

    Reads:  c.{rotation, base, position, margin, spare}
    Writes: c.{contacts, extent, low, high, notes}
    """
    place_boxes(c, w)
    if ti.static(c.has_many):
        begin_pairs(c, w)
        search_part(c, w)
        join_points(c, w)
        complete_points(c, w)
    else:
        _detect_by_pairs(c, w)
        complete_rows(c, w)


@ti.func
def _detect_by_pairs(c: ti.template(), w: ti.i32):
    """Contacts of all pairs whose boxes touch, one after the other.

    Writes: c.{contacts, notes}
    """
    c.contacts.count.store(w, 0, c.arena.zero())
    c.contacts.needed.store(w, 0, c.arena.zero())
    for k in range(c.rule.n_touching):
        for m in range(c.rule.start.at(k), c.rule.end.at(k)):
            i = c.rule.order.at(k)
            j = c.rule.order.at(m)
            if any_lane(overlap_along(c, w, i, j, 0)):  # few pairs do
                near = boxes_touch(c, w, i, j)
                if any_lane(near):
                    _collide_where_near(c, w, i, j, near)


@ti.func
def begin_pairs(c: ti.template(), w: ti.i32):
    """Be ready to search the same pairs, of one world with many shapes.

    Writes: c.box_tree
    """
    renew_tree(c, w)
    begin_points(c.box_tree, w)


@ti.func
def search_part(c: ti.template(), w: ti.i32):
    """Points of contact of the shapes of a part, see crew.py.

    Writes: c.{notes, box_tree}
    """
    begin_part(c.box_tree, w)
    first, end = items_of_part(c.arena, w, c.rule.n_touching)
    for k in range(first, end):
        i = c.rule.order.at(whole_of(c.box_tree.turn, w, 0, k))
        for m in range(find_touching(c, w, i)):
            _collide_where_near(c, w, i, c.box_tree.own.load(w, c.box_tree.found + m), 1)
    end_part(c.box_tree, w)


@ti.func
def _collide_where_near(c: ti.template(), w: ti.i32, i: ti.i32, j: ti.i32, near: ti.template()):
    """Two shapes i < j in the worlds where their boxes touch.

    Writes: c.contacts, c.notes
    """
    combination = combination_of(c.rule, i, j)
    if ti.static(c.sleeps):
        if rests(c, w, i) and rests(c, w, j):
            combination = -1
    if combination >= 0:
        if ti.static(c.can_rest):
            near = select(c.arena.zero() + c.acts.load(w, combination) > 0.0, near, 0)
        a = first_of(c.rule, i, j)
        compare_pair(c, w, c.routine.at(combination), a, i + j - a)
        for lane in range(c.lanes):
            if get_lane(near, lane) != 0:
                collide(c, w, lane, a, i + j - a, combination)


@ti.func
def rests(c: ti.template(), w: ti.i32, i: ti.i32):
    """Whether a shape is of what sleeps, or of the world, in a block of one world."""
    link = c.link.at(i)
    return link < 0 or c.asleep.load(w, ti.max(link, 0)) != 0.0


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
        if ti.static(c.has_many):
            keep_points(c, w, a, b, combination)
        else:
            report(c, w, lane, a, b, combination)


@ti.func
def window(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, b: ti.i32, reach: ti.template()):
    """Cells of terrain i that lie below the box of shape b: first column and row, and how many of each."""
    R = one(c.rotation, w, lane, i)
    half = one(c.half, w, lane, i)
    x = R.transposed_times(way_between(c, w, lane, i, b))
    e = one(c.extent, w, lane, b)
    column, n_columns = span(x.parts[0], extent_along(R.column(0), e) + reach, half.parts[0], c.columns.at(i) - 1)
    row, n_rows = span(x.parts[1], extent_along(R.column(1), e) + reach, half.parts[1], c.rows.at(i) - 1)
    return column, n_columns, row, n_rows


@ti.func
def span(x: ti.template(), e: ti.template(), half: ti.template(), n: ti.i32):
    """First and number of those of n equal cells over [-half, half] that [x - e, x + e] touches."""
    low = ti.floor(ti.max((x - e + half) / (2.0 * half) * n, -1.0))
    high = ti.floor(ti.min((x + e + half) / (2.0 * half) * n, 1.0 * n))
    first = ti.max(ti.cast(low, ti.i32), 0)
    return first, ti.max(ti.min(ti.cast(high, ti.i32), n - 1) - first + 1, 0)
