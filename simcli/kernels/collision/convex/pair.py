"""Two convex shapes: how far apart and along which normal, then the points of contact."""

from simcli.kernels.algebra.elementary import precision_of
from simcli.kernels.collision.boxes import separation_of_boxes
from simcli.kernels.collision.convex.epa import penetration
from simcli.kernels.collision.convex.gjk import APART, BEYOND, TOUCH, TOUCHING, distance
from simcli.kernels.collision.convex.manifold import add_manifold
from simcli.kernels.collision.lanes import one, vector
from simcli.kernels.collision.points import choose, keep_chosen, tolerance
from simcli.kernels.collision.tables import BOXES, CONVEX, GROUND, MOST_CANDIDATES, MOST_RING
from simcli.kernels.collision.terrain import drop_held_beyond, is_outward, lowest_above, set_cell, window
from simcli.kernels.language import ti


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
def _meet_piece(c: ti.template(), w: ti.i32, lane: ti.i32, kind: ti.i32, a: ti.i32, first: ti.i32, b: ti.i32,
                reach: ti.template(), origin: ti.template(), column: ti.i32, row: ti.i32, triangle: ti.i32):
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
