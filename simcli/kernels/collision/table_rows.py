"""Rows of the table of contacts, from the points that were found: where they lie on each shape.

Worlds of a block whose contacts of one number are between the same shapes go at once, with the same bits as one by one.
"""

from simcli.kernels.collision.box_tree import FOUND_POINT, OF_PART
from simcli.kernels.collision.collider import CONE, CYLINDER, ELLIPSOID, radius_in
from simcli.kernels.device.arena import local
from simcli.kernels.device.crew import CACHE_GAP, items_of_part, place_of_part
from simcli.kernels.device.lanes import one, put, way_between, whole_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of
from simcli.kernels.language.expressions import any_lane, get_lane
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Vec3

_STEEP = 0.1  # sine of the angle from a shape's axis from which on the normal is followed to the axis
# [1], sizes of a shape whose rounding a gap has at least. With fewer, the bound below which a gap counts as none would grow
# with the distance of a body from the origin, and the same motion would differ from place to place. Float32 has no room.
_SIZES = {"float64": 1e4, "float32": 1.0}
_THREAD, _FIRST, _COUNT, _ROW, _LOOKED = range(OF_PART)  # whose points, from which on, how many, their row; nodes
_ALONG = 0.9999  # cosine: the normal passes through the axis


@ti.func
def contacts_of(k: ti.template(), w: ti.i32, lane: ti.i32):
    """Number of contacts in one world."""
    return ti.cast(get_lane(k.contacts.count.part(w, 0, 0), lane), ti.i32)


@ti.func
def most_contacts(k: ti.template(), w: ti.i32):
    """Number of contacts of the world of a block that has the most."""
    most = 0
    for lane in range(k.lanes):
        most = ti.max(most, contacts_of(k, w, lane))
    return most


@ti.func
def complete_rows(c: ti.template(), w: ti.i32):
    """What follows from the points that were found.

    Reads:  poses, c.contacts
    Writes: c.contacts
    """
    for row in range(most_contacts(c, w)):
        alike = are_alike(c, w, row)
        c.contacts.alike.store(w, row, c.arena.zero() + ti.cast(alike, c.arena.device.real))
        if ti.static(c.lanes > 1 and has_flat_cores(c)):
            if alike:
                _complete_row(c, w, None, row)
        if not (alike and ti.static(has_flat_cores(c))):
            for lane in range(c.lanes):
                if row < contacts_of(c, w, lane):
                    _complete_row(c, w, lane, row)


@ti.func
def join_points(c: ti.template(), w: ti.i32):
    """Count the points that threads have found, in a world with many shapes.

    Writes: c.contacts.{count, needed}, c.box_tree
    """
    needed = c.arena.zero() + ti.cast(join_parts(c.box_tree, w), c.arena.device.real)
    c.contacts.needed.store(w, 0, needed)
    c.contacts.count.store(w, 0, ti.min(needed, ti.cast(c.contacts.capacity, c.arena.device.real)))


@ti.func
def complete_points(c: ti.template(), w: ti.i32):
    """Make rows of them, in the order of the shapes; as `complete_rows`.

    Reads:  poses, c.box_tree
    Writes: c.contacts
    """
    h, table = c.box_tree, c.contacts
    first, end = items_of_part(c.arena, w, h.parts.load(w, h.n_parts))
    for part in range(first, end):
        place, row, n = points_of_part(h, w, part)
        for k in range(row, row + n):
            for m, array in ti.static(list(enumerate((table.shape_a, table.shape_b, table.combination)))):
                array.store(w, k, h.points.load(w, place + m))
            table.core_a.store(w, k, h.points.value(w, place + 3, Vec3))
            table.normal.store(w, k, h.points.value(w, place + 6, Vec3))
            table.gap.store(w, k, h.points.load(w, place + 9))
            table.feature.store(w, k, h.points.load(w, place + 10))
            table.alike.store(w, k, c.arena.zero())
            _complete_row(c, w, 0, k)
            place += FOUND_POINT


def has_flat_cores(c) -> bool:
    """Whether no core point depends on where a contact lies on its shape, which branches."""
    return not any(c.has[kind] for kind in (CYLINDER, CONE, ELLIPSOID))


def are_alike(c, w, row):
    """1 if all worlds of a block have a contact, between the same shapes, and can go at once (inside kernels)."""
    if c.lanes == 1:
        return 0
    table = c.contacts
    differ = table.count.load(w, 0) <= ti.cast(row, c.arena.device.real)
    for array in (table.shape_a, table.shape_b, table.combination):
        value = array.load(w, row)
        differ = differ | (value != get_lane(value, 0))
    return ti.select(any_lane(local(differ)), 0, 1)


@ti.func
def _complete_row(c: ti.template(), w: ti.i32, lane: ti.template(), row: ti.i32):
    """One row, of one world, or without a lane of all.

    Writes: c.contacts
    """
    table = c.contacts
    combination = whole_of(table.combination, w, lane, row)
    a = whole_of(table.shape_a, w, lane, row)
    b = whole_of(table.shape_b, w, lane, row)
    p = one(table.core_a, w, lane, row)
    n = one(table.normal, w, lane, row)
    gap = one(table.gap, w, lane, row)
    r_a = radius_in(c, w, lane, a, combination)
    r_b = radius_in(c, w, lane, b, combination)
    put(table.gap, w, lane, row, gap - r_a - r_b)
    way = way_between(c, w, lane, a, b)
    place = one(c.base, w, lane, a) + one(c.position, w, lane, a)
    point = place + p + n * (0.5 * (gap + r_a - r_b))
    put(table.point, w, lane, row, point)
    put(table.terms, w, lane, row, terms_of_gap(c, w, lane, a, b, combination, n, point))
    q = p + n * gap - way
    core_a, radius_a, outward_a = core_in_link(c, w, lane, a, p, n, r_a)
    core_b, radius_b, outward_b = core_in_link(c, w, lane, b, q, n * -1.0, r_b)
    put(table.core_a, w, lane, row, core_a)
    put(table.core_b, w, lane, row, core_b)
    put(table.normal_a, w, lane, row, outward_a)
    put(table.normal_b, w, lane, row, outward_b * -1.0)
    put(table.radius_a, w, lane, row, radius_a)
    put(table.radius_b, w, lane, row, radius_b)


def terms_of_gap(c, w, lane, a, b, combination, n: Vec3, point: Vec3):
    """[m], size of the terms that a gap is a small difference of: the point along the normal, and some of the smaller shape.

    None of a compliant contact, whose gap is its force (inside kernels).
    """
    smaller = ti.min(one(c.bound, w, lane, a), one(c.bound, w, lane, b)) * _SIZES[precision_of()]
    along = ti.max(sum(ti.abs(axis * x) for axis, x in zip(n.parts, point.parts, strict=True)), smaller)
    return ti.select(one(c.compliance, w, lane, combination) > 0.0, along * 0.0, along)


@ti.func
def core_in_link(
    c: ti.template(),
    w: ti.i32,
    lane: ti.template(),
    i: ti.i32,
    q: ti.template(),
    outward: ti.template(),
    radius: ti.template(),
):
    """As `core_point`, of a point and a normal in world axes, the core point in the link of shape i; and the normal.

    In the world a core point is counted from the shape, in world axes.
    """
    R = one(c.rotation, w, lane, i)
    d = R.transposed_times(outward)
    core, r = core_point(c, w, lane, i, R.transposed_times(q), d, radius)
    in_link = one(c.in_link, w, lane, i)
    found = in_link * core
    if c.link.at(i) >= 0:
        found = found + one(c.at_link, w, lane, i)
    return found, r, in_link * d


@ti.func
def core_point(
    c: ti.template(), w: ti.i32, lane: ti.template(), i: ti.i32, p: ti.template(), d: ti.template(), radius: ti.template()
):
    """Core point and radius of a point of contact on shape i, shape axes.

    The velocity of the gap is n . v at any point of the normal line, so the core may lie anywhere on it; where it lies
    decides what rotations do in second order. On a shape of revolution it lies on the axis: rolling does not change the
    gap. Elsewhere on an ellipsoid it lies at the mean radius of curvature, (tr A^2 / h - |A^2 d|^2 / h^3) / 2, h = |A d|.

    Args:
        p: [m], the point on the core of the shape.
        d: outward normal.
        radius: [m], of the shape about its core.

    Returns:
        [m], [m].
    """
    inward = radius * 0.0  # from the surface of the shape without its margin
    kind = c.kind.at(i)
    if ti.static(c.has[CYLINDER] or c.has[CONE]):
        if kind == CYLINDER or kind == CONE:
            inward = distance_to_axis(p, d)
    if ti.static(c.has[ELLIPSOID]):
        if kind == ELLIPSOID:
            inward = mean_radius(one(c.half, w, lane, i), d)
    return p - d * inward, radius + inward


@ti.func
def distance_to_axis(p: ti.template(), d: ti.template()):
    """[m], from p along -d to the z axis; 0 if that line does not meet it, or far away."""
    steep = ti.sqrt(d.parts[0] ** 2 + d.parts[1] ** 2)
    r = ti.sqrt(p.parts[0] ** 2 + p.parts[1] ** 2)
    together = d.parts[0] * p.parts[0] + d.parts[1] * p.parts[1]
    found = r * 0.0
    if steep > _STEEP and together > _ALONG * steep * r:
        found = r / steep
    return found


@ti.func
def mean_radius(half: ti.template(), d: ti.template()):
    """[m], radius of an ellipsoid's surface where its normal is d: to the axis, or the mean of both curvatures'."""
    x2 = half.parts[0] ** 2
    y2 = half.parts[1] ** 2
    z2 = half.parts[2] ** 2
    dx = d.parts[0]
    dy = d.parts[1]
    dz = d.parts[2]
    h = ti.sqrt(x2 * dx * dx + y2 * dy * dy + z2 * dz * dz)
    radius = 0.5 * ((x2 + y2 + z2) / h - (x2 * x2 * dx * dx + y2 * y2 * dy * dy + z2 * z2 * dz * dz) / h**3)
    if x2 == y2 or x2 == z2:
        radius = x2 / h
    elif y2 == z2:
        radius = y2 / h
    return radius


@ti.func
def begin_points(h: ti.template(), w: ti.i32):
    """No thread has found a point yet.

    Writes: h.parts
    """
    for k in range(h.threads):
        h.parts.store(w, h.taken + k * CACHE_GAP, 0)


@ti.func
def begin_part(h: ti.template(), w: ti.i32):
    """Begin to search for a part of the shapes.

    Writes: h.{parts, own}
    """
    part, of, thread = place_of_part(h.arena, w)
    at = h.part + part * OF_PART
    h.parts.store(w, at + _THREAD, thread)
    h.parts.store(w, at + _FIRST, h.parts.load(w, h.taken + thread * CACHE_GAP))
    if part == 0:
        h.parts.store(w, h.n_parts, of)
    h.own.store(w, h.seen, 0)


@ti.func
def end_part(h: ti.template(), w: ti.i32):
    """Note how many points a part has.

    Writes: h.parts
    """
    part, _of, thread = place_of_part(h.arena, w)
    at = h.part + part * OF_PART
    h.parts.store(w, at + _COUNT, h.parts.load(w, h.taken + thread * CACHE_GAP) - h.parts.load(w, at + _FIRST))
    h.parts.store(w, at + _LOOKED, h.own.load(w, h.seen))


def place_of_point(h, w, thread, k):
    """The place in h.points of point k of a thread (inside kernels)."""
    return (thread * number(h, "capacity") + k) * FOUND_POINT


@ti.func
def next_point(h: ti.template(), w: ti.i32):
    """The place in h.points of one more point of this thread, -1 if it has no room; what does not fit is counted only.

    Writes: h.parts
    """
    _part, _of, thread = place_of_part(h.arena, w)
    k = h.parts.load(w, h.taken + thread * CACHE_GAP)
    h.parts.store(w, h.taken + thread * CACHE_GAP, k + 1)
    return ti.select(k < h.capacity, place_of_point(h, w, thread, k), -1)


@ti.func
def join_parts(h: ti.template(), w: ti.i32):
    """The first row of each part; gives how many points there are.

    Writes: h.{parts, notes}
    """
    total, looked = 0, 0
    for part in range(h.parts.load(w, h.n_parts)):
        at = h.part + part * OF_PART
        h.parts.store(w, at + _ROW, total)
        total += h.parts.load(w, at + _COUNT)
        looked += h.parts.load(w, at + _LOOKED)
    h.notes.store(w, h.looked, looked)
    return total


@ti.func
def points_of_part(h: ti.template(), w: ti.i32, part: ti.i32):
    """The place in h.points of the first point of a part of the search, its row, and how many become rows."""
    at = h.part + part * OF_PART
    first = h.parts.load(w, at + _FIRST)
    row, n = h.parts.load(w, at + _ROW), h.parts.load(w, at + _COUNT)
    fit = ti.min(h.capacity - row, h.capacity - first)
    return place_of_point(h, w, h.parts.load(w, at + _THREAD), first), row, ti.min(n, ti.max(fit, 0))
