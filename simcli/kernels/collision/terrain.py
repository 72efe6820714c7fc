"""Terrain as prisms below the triangles of its grid, and which normals its surface can have.

Cell (i, j) of the grid is cut from corner (i, j) to (i + 1, j + 1) into the triangles 0, below the cut, and 1, above it.
"""

from simcli.kernels.collision.collider import CANDIDATE, CONE, CYLINDER, ELLIPSOID
from simcli.kernels.collision.gjk import support
from simcli.kernels.collision.points import GAP
from simcli.kernels.device.lanes import length, one, put, unit_or, vector, way_between
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of
from simcli.kernels.language.values import Vec3

_NEAR = {"float64": 1e-6, "float32": 1e-4}  # [1] of the size of a triangle: a point as near to an edge or a corner is on it
_EQUAL = {"float64": 1e-9, "float32": 1e-4}  # [1] of it, heights that count as zero
# [1], what normals lack of true ones: the root of rounding, and of curved shapes that of what bounds an iteration.
_NOISE, _CURVED = {"float64": 5e-8, "float32": 1e-3}, {"float64": 3e-4, "float32": 1e-2}
_LEVEL = 4.0  # [1] of it: no edge of level ground may pass a normal that is not the ground's
_BESIDE = 1e-4  # [1] of it, how near to an edge or a corner a point is held by that
_FALLS = {"float64": 1e-3, "float32": 3e-2}  # [1], slope from which on the surface falls away from the plane of a triangle
# Steps from a cell's corner to the corners of its triangles, and to the corner beyond the edge that leaves each of them.
CORNERS = (((0, 0), (1, 0), (1, 1)), ((0, 0), (1, 1), (0, 1)))
_BEYOND = (((0, -1), (2, 1), (0, 1)), ((1, 0), (1, 2), (-1, 0)))
_AROUND = ((1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1))  # steps from a grid point to those that it has edges with


def step(table, triangle, k):
    """Steps along columns and rows of entry k of a triangle, both computed on the device."""
    parts = []
    for axis in range(2):
        rows = [ti.select(k == 0, row[0][axis], ti.select(k == 1, row[1][axis], row[2][axis])) for row in table]
        parts.append(ti.select(triangle == 0, *rows))
    return parts[0], parts[1]


@ti.func
def grid_point(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, column: ti.i32, row: ti.i32):
    """[m], a grid point in the frame of terrain i."""
    n = c.columns.at(i)
    half = one(c.half, w, lane, i)
    x = (2.0 * column / (n - 1) - 1.0) * half.parts[0]
    y = (2.0 * row / (c.rows.at(i) - 1) - 1.0) * half.parts[1]
    return Vec3(x, y, c.height.load(w, c.height_start.at(i) + row * n + column))


def extent_along(axis: Vec3, extent: Vec3):
    """[m], half extent along an axis of a box along the axes of the world."""
    (a, b, c), (x, y, z) = axis.parts, extent.parts
    return ti.abs(a) * x + ti.abs(b) * y + ti.abs(c) * z


@ti.func
def set_cell(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    i: ti.i32,
    b: ti.i32,
    column: ti.i32,
    row: ti.i32,
    triangle: ti.i32,
    reach: ti.template(),
):
    """Make the last shape the prism from a triangle of terrain i down to its floor.

    Returns:
        [m], the prism's origin from that of the terrain, world axes; 0 if shape b is higher than all of it.

    Writes: c.notes, pose of the cell
    """
    middle = vector()
    floor = -one(c.half, w, lane, i).parts[2]
    for k in range(3):
        dx, dy = step(CORNERS, triangle, k)
        p = grid_point(c, w, lane, i, column + dx, row + dy)
        c.notes.store(w, c.cell + 3 * k, p)
        middle = middle + p * (1.0 / 3.0)
    top = floor
    for k in range(3):
        p = c.notes.value(w, c.cell + 3 * k, Vec3)
        top = ti.max(top, p.parts[2])
        c.notes.store(w, c.cell + 3 * k, p - middle)
        c.notes.store(w, c.cell + 3 * (k + 3), Vec3(p.parts[0], p.parts[1], floor) - middle)
    R = one(c.rotation, w, lane, i)
    put(c.rotation, w, lane, c.n_shapes, R)
    put(c.base, w, lane, c.n_shapes, one(c.base, w, lane, i))
    put(c.position, w, lane, c.n_shapes, one(c.position, w, lane, i) + R * middle)
    x = R.transposed_times(way_between(c, w, lane, i, b))
    low = x.parts[2] - extent_along(R.column(2), one(c.extent, w, lane, b))
    return R * middle, ti.select(low > top + reach, 0, 1)


@ti.func
def upward(c: ti.template(), w: ti.i32, lane: ti.i32):
    """World normal of the triangle at hand."""
    p = c.notes.value(w, c.cell, Vec3)
    n = (c.notes.value(w, c.cell + 3, Vec3) - p).cross(c.notes.value(w, c.cell + 6, Vec3) - p)
    return one(c.rotation, w, lane, c.n_shapes) * unit_or(n, vector(0.0, 0.0, 1.0))


@ti.func
def _is_below(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    i: ti.i32,
    column: ti.i32,
    row: ti.i32,
    origin: ti.template(),
    y: ti.template(),
    d: ti.template(),
    small: ti.template(),
):
    """1 if a corner of terrain i lies below the plane through y with the normal d, from an origin, or is none."""
    below = 1
    if column >= 0 and row >= 0 and column < c.columns.at(i) and row < c.rows.at(i):
        q = grid_point(c, w, lane, i, column, row) - origin
        below = ti.select(d.dot(q - y) <= small, 1, 0)
    return below


def noise_of(c, b):
    """[1], what normals of a shape lack of true ones (inside kernels)."""
    kind = c.kind.at(b)
    is_curved = (kind == CYLINDER) | (kind == CONE) | (kind == ELLIPSOID)
    return ti.select(is_curved, ti.static(_CURVED[precision_of()]), ti.static(_NOISE[precision_of()]))


@ti.func
def is_outward(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    i: ti.i32,
    b: ti.i32,
    column: ti.i32,
    row: ti.i32,
    triangle: ti.i32,
    p: ti.template(),
    n: ti.template(),
):
    """Whether n is a normal of an edge or a corner of the terrain's surface at the point p of the triangle at hand.

    It is if p lies on an edge and the corner beyond it lies below the plane through p, or in a corner and all grid points
    around that do: there the surface is convex, and n between the normals of the triangles. What is inside a convex piece
    of the prism but not of the terrain, a level edge between two triangles or a wall, has no normal but theirs.

    Args:
        b: the shape that touches.
        p: [m], from the origin of the cell, world axes.
        n: unit, world axes.

    Returns:
        That; and whether the point is on an edge of other triangles, and only in a corner of this one.
    """
    R = one(c.rotation, w, lane, c.n_shapes)
    y = R.transposed_times(p)
    d = R.transposed_times(n)
    up = upward(c, w, lane)
    a = c.notes.value(w, c.cell, Vec3)
    size = triangle_size(c, w)
    noise = noise_of(c, b)
    is_level = (n - up).dot(n - up) < (_LEVEL * noise) ** 2  # its own
    is_valid = False
    is_of_others = False
    if not is_level and d.parts[2] > 0.0 and ti.abs(up.dot(R * (y - a))) <= ti.static(_EQUAL[precision_of()]) * size:
        middle = R.transposed_times(way_between(c, w, lane, i, c.n_shapes))
        is_valid, is_of_others = _is_convex(c, w, lane, i, column, row, triangle, middle, y, d, noise * size)
    return is_valid, is_of_others


@ti.func
def triangle_size(c: ti.template(), w: ti.i32):
    """[m], of the triangle at hand."""
    a = c.notes.value(w, c.cell, Vec3)
    b = c.notes.value(w, c.cell + 3, Vec3) - a
    e = c.notes.value(w, c.cell + 6, Vec3) - a
    return ti.sqrt(b.dot(b) + e.dot(e))


@ti.func
def _is_convex(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    i: ti.i32,
    column: ti.i32,
    row: ti.i32,
    triangle: ti.i32,
    origin: ti.template(),
    y: ti.template(),
    d: ti.template(),
    small: ti.template(),
):
    """As `is_outward`, of y on an edge or in a corner of the triangle: what is beyond lies below the plane through y."""
    near = ti.static(_NEAR[precision_of()]) * triangle_size(c, w)
    n_edges, n_good, at_first, at_last = 0, 0, 0, 0
    high = 0.0 * small
    for k in range(3):
        start = c.notes.value(w, c.cell + 3 * k, Vec3)
        high = ti.max(high, d.dot(start - y))
        edge = c.notes.value(w, c.cell + 3 * ((k + 1) % 3), Vec3) - start
        inward = Vec3(-edge.parts[1], edge.parts[0], 0.0)
        if inward.dot(y - start) <= near * ti.sqrt(edge.dot(edge)):
            n_edges += 1
            at_first = ti.select(k == 0, 1, at_first)
            at_last = k
            dx, dy = step(_BEYOND, triangle, k)
            n_good += _is_below(c, w, lane, i, column + dx, row + dy, origin, y, d, small)
    is_valid = n_edges > 0 and n_good == n_edges and high <= small
    is_of_others = False
    if is_valid and n_edges > 1:  # edges k - 1 and k meet in corner k
        k = ti.select(at_first == 1 and at_last == 2, 0, at_last)
        is_valid, is_of_others = _is_peak(c, w, lane, i, column, row, triangle, k, origin, y, d, small)
    return is_valid, is_of_others


@ti.func
def _is_peak(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    i: ti.i32,
    column: ti.i32,
    row: ti.i32,
    triangle: ti.i32,
    k: ti.i32,
    origin: ti.template(),
    y: ti.template(),
    d: ti.template(),
    small: ti.template(),
):
    """Whether all grid points around corner k of the triangle at hand lie below the plane through y with the normal d.

    And whether the plane holds an edge of other triangles only: they have the point, and know its line.
    """
    dx, dy = step(CORNERS, triangle, k)
    high = ti.max(
        d.dot(c.notes.value(w, c.cell + 3 * ((k + 1) % 3), Vec3) - y),
        d.dot(c.notes.value(w, c.cell + 3 * ((k + 2) % 3), Vec3) - y),
    )
    is_valid = True
    is_of_others = False
    for x, z in ti.static(_AROUND):
        if _is_below(c, w, lane, i, column + dx + x, row + dy + z, origin, y, d, small) == 0:
            is_valid = False
        if high < -small and _is_below(c, w, lane, i, column + dx + x, row + dy + z, origin, y, d, -small) == 0:
            is_of_others = True
    return is_valid, is_valid and is_of_others


@ti.func
def lowest_above(c: ti.template(), w: ti.i32, lane: ti.i32, b: ti.i32, tie: ti.template()):
    """The point of shape b that is deepest below the plane of the triangle at hand.

    Args:
        tie: [m], how far beside the triangle it may be.

    Returns:
        World normal of the triangle; [m], the foot of the point in the plane, from the origin of the cell; [m], gap;
        1 if the foot lies in the triangle, or of a point below the surface, if the prism holds it.
    """
    R = one(c.rotation, w, lane, c.n_shapes)
    n = upward(c, w, lane)
    p = way_between(c, w, lane, c.n_shapes, b) + support(c, w, lane, b, n * -1.0)
    gap = n.dot(p - R * c.notes.value(w, c.cell, Vec3))
    y = R.transposed_times(p - n * ti.max(gap, 0.0))
    aside = tie + _LEVEL * noise_of(c, b) * one(c.bound, w, lane, b)
    is_inside = 1
    for k in range(3):
        start = c.notes.value(w, c.cell + 3 * k, Vec3)
        edge = c.notes.value(w, c.cell + 3 * ((k + 1) % 3), Vec3) - start
        inward = Vec3(-edge.parts[1], edge.parts[0], 0.0)
        if inward.dot(y - start) < -aside * ti.sqrt(inward.dot(inward)):
            is_inside = 0
    return n, p - n * gap, gap, is_inside


@ti.func
def drop_held_beyond(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    i: ti.i32,
    b: ti.i32,
    first: ti.i32,
    origin: ti.template(),
    foot: ti.template(),
    gap: ti.template(),
):
    """Drop the candidates along the normal of the triangle at hand at which an edge or a corner of terrain i holds shape b.

    From such a point the shape, which is convex, goes deeper towards its lowest point, but the surface falls away from the
    plane of the triangle: a plane between both has another normal.

    Args:
        first: the first candidate of the triangle.
        origin: [m], of the cell, as in the candidates.
        foot, gap: [m], of the lowest point of b, see `lowest_above`.

    Writes: c.notes
    """
    ahead = _BESIDE * triangle_size(c, w)
    noise = _LEVEL * noise_of(c, b)
    count = first
    for k in range(first, ti.cast(c.notes.load(w, c.n_candidates), ti.i32)):
        at = c.candidates + k * CANDIDATE
        p = c.notes.value(w, at, Vec3) - origin
        way = foot - p
        far = length(way)
        is_held = False
        if c.notes.load(w, at + GAP) - gap > noise * far and far > ahead:
            is_held = _height_over(c, w, lane, i, p + way * (ahead / far)) > ti.static(_FALLS[precision_of()]) * ahead
        if not is_held:
            for part in range(CANDIDATE):
                c.notes.store(w, c.candidates + count * CANDIDATE + part, c.notes.load(w, at + part))
            count += 1
    c.notes.store(w, c.n_candidates, ti.cast(count, c.arena.device.real))


@ti.func
def _height_over(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, p: ti.template()):
    """[m], height of a point over the surface of terrain i, along the terrain's z; zero beside it.

    Args:
        p: [m], from the origin of the cell, world axes.
    """
    half = one(c.half, w, lane, i)
    shift = way_between(c, w, lane, i, c.n_shapes)
    y = one(c.rotation, w, lane, i).transposed_times(shift + p)
    u = (y.parts[0] / half.parts[0] + 1.0) * 0.5 * (c.columns.at(i) - 1)
    v = (y.parts[1] / half.parts[1] + 1.0) * 0.5 * (c.rows.at(i) - 1)
    column, row = ti.cast(ti.floor(u), ti.i32), ti.cast(ti.floor(v), ti.i32)
    high = 0.0 * u
    if column >= 0 and row >= 0 and column < c.columns.at(i) - 1 and row < c.rows.at(i) - 1:
        u, v = u - column, v - row
        low = grid_point(c, w, lane, i, column, row).parts[2]
        top = grid_point(c, w, lane, i, column + 1, row + 1).parts[2]
        dx, dy = ti.select(u >= v, 1, 0), ti.select(u >= v, 0, 1)
        side = grid_point(c, w, lane, i, column + dx, row + dy).parts[2]
        high = y.parts[2] - low - (side - low) * ti.max(u, v) - (top - side) * ti.min(u, v)
    return high
