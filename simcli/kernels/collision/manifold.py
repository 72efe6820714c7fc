"""Points of contact of two convex shapes along a known normal: their facing features, clipped against each other."""

from simcli.kernels.collision.collider import BOXES, CELL, CONE, CYLINDER, ELLIPSOID, MOST_CORNERS, RING
from simcli.kernels.collision.edges import line_pair
from simcli.kernels.collision.epa import CLOSE
from simcli.kernels.collision.features import FACES, feature, further_face, number_of_faces, put_corner, ring_at
from simcli.kernels.collision.gjk import difference, support
from simcli.kernels.collision.points import FAR, add_candidate
from simcli.kernels.device.arena import local
from simcli.kernels.device.lanes import one, unit_or, vector, way_between, whole_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of
from simcli.kernels.language.values import Vec3

ALIGNED = 0.9995  # cosine: a face whose normal is as near to that of the contact carries several points
CLOSER = 1e-6  # [1], the face of B is preferred to that of A if its cosine is larger by this
_LABELS = 2 * MOST_CORNERS  # edges of the clipped polygon, then those of the clipping one
EDGES = _LABELS * _LABELS  # pairs of edges that meet in a corner
WITNESS = EDGES - 1  # in place of the edges, for a point that is no corner
_ROUGH = {"float64": 3e-4, "float32": 1e-2}  # [1], what normals of curved shapes lack of true ones
_SPARE = 2  # the polygon that takes turns with the clipped one


@ti.func
def _corner(c: ti.template(), w: ti.i32, polygon: ti.i32, k: ti.i32):
    """[m], corner k of a polygon."""
    return c.notes.value(w, ring_at(c, polygon) + k * RING, Vec3)


@ti.func
def add_manifold(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    a: ti.i32,
    b: ti.i32,
    n: ti.template(),
    p: ti.template(),
    gap: ti.template(),
    has_witness: ti.i32,
    reach: ti.template(),
    origin: ti.template(),
    number: ti.i32,
    are_boxes: ti.i32,
    tie: ti.template(),
):
    """Note the points in which shapes a and b touch along n.

    If the normal is that of a face, the feature of the other shape is clipped by the sides of that face; two parallel
    lines clip each other. The deepest point p is added where no corner is as deep, but for what iteration leaves open.

    Args:
        n: normal, from a to b.
        p: [m], deepest point on the core of a, from its origin.
        gap: [m], of the cores at p.
        has_witness: 0 if p is not known.
        reach: [m], largest gap of the cores.
        origin: [m], added to all points: from the origin of the pair's first shape to that of a.
        number: of a, where the pair's first shape has several.
        are_boxes: 1 of the boxes at hand, along the normal that they have.
        tie: [m], lengths of the pair that differ by less are ties.

    Writes: c.notes
    """
    reference, N, faces = facing_pair(c, w, lane, a, b, n, number, are_boxes)
    blur = tie + ti.static(CLOSE[precision_of()]) * (one(c.bound, w, lane, a) + one(c.bound, w, lane, b))
    true, point, high = along_face(c, w, lane, a, b, N, reference, n, p, gap, blur)
    normal = true * 1.0
    slope = 0.0 * gap
    across = vector()
    if reference < 0:
        is_line, through, plane, k, m, rise = line_pair(c, w, lane, a, b, n, gap, tie)
        if is_line == 1:
            reference, normal, N, slope = 0, through, plane, rise
            faces = number_of_faces(further_face(further_face(number % FACES, k), m), 1)
            across = normal.cross(unit_or(_corner(c, w, 0, 1) - _corner(c, w, 0, 0), vector()))
    least = reach + 2.0 * blur
    if reference >= 0:
        least = ti.min(least, add_clipped(c, w, reference, normal, N, across * slope, tie, reach, origin, faces))
    if has_witness == 1 and high <= reach and high < least - blur:
        add_candidate(c, w, point + origin, true, high, faces * EDGES + WITNESS)


@ti.func
def along_face(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    a: ti.i32,
    b: ti.i32,
    N: ti.template(),
    reference: ti.i32,
    n: ti.template(),
    p: ti.template(),
    gap: ti.template(),
    blur: ti.template(),
):
    """Normal, point of a, and gap along the normal N of a face, if that is n but for its iteration; else n, p and gap.

    Where shapes are curved n is good to the square root of what bounds its iteration, and a face's is known.

    Args:
        N: outward, of the face that clips.  reference: whose face it is, 0 of a, 1 of b, -1 of neither.
        n, p, gap: as of `add_manifold`.
        blur: [m], of depths.
    """
    normal = n * 1.0
    point = p * 1.0
    high = gap * 1.0
    if ti.static(c.has[CYLINDER] or c.has[CONE] or c.has[ELLIPSOID]):
        kind = ti.select(reference == 0, c.kind.at(b), c.kind.at(a))
        is_curved = kind == CYLINDER or kind == CONE or kind == ELLIPSOID
        d = N * ti.select(reference == 0, 1.0, -1.0)
        is_near = (d - n).dot(d - n) < ti.static(_ROUGH[precision_of()]) ** 2
        if is_curved and reference >= 0 and is_near and c.kind.at(a) != CELL:
            far, at = difference(c, w, lane, a, b, d)
            if -d.dot(far) >= gap - blur:
                high = -d.dot(far)
                normal = d * 1.0
                point = at * 1.0
                if reference == 0:  # where b is lowest
                    below = support(c, w, lane, b, d * -1.0) + way_between(c, w, lane, a, b)
                    point = below - d * high
    return normal, point, high


@ti.func
def add_clipped(
    c: ti.template(),
    w: ti.i32,
    reference: ti.i32,
    n: ti.template(),
    N: ti.template(),
    fall: ti.template(),
    tie: ti.template(),
    reach: ti.template(),
    origin: ti.template(),
    faces: ti.i32,
):
    """Note the corners of the other polygon, clipped by the reference, up to a gap; gives the least gap.

    Args:
        n: normal, from a to b.  N: of the plane that clips.
        fall: [1], by how much the gap grows to both sides of a line, along what is across it.
        tie, reach, origin: see `add_manifold`.  faces: their number.

    Writes: c.notes
    """
    polygon, m = clip(c, w, reference, n, tie)
    v = _corner(c, w, reference, 0)
    side = ti.select(reference == 0, 1.0, -1.0)
    least = ti.cast(ti.static(FAR[precision_of()]), c.arena.device.real)
    for k in range(m):
        at = ring_at(c, polygon) + k * RING
        q = c.notes.value(w, at, Vec3)
        t = side * N.dot(q - v) / N.dot(n) + ti.abs(fall.dot(q - v))
        if t <= reach:
            least = ti.min(least, t)
            before = ring_at(c, polygon) + ti.select(k > 0, k - 1, m - 1) * RING
            edges = c.notes.load(w, before + 3) * _LABELS + c.notes.load(w, at + 3)
            if reference == 0:
                q = q - n * t
            add_candidate(c, w, q + origin, n, t, faces * EDGES + ti.cast(edges, ti.i32))
    return least


@ti.func
def facing_pair(
    c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, n: ti.template(), number: ti.i32, are_boxes: ti.i32
):
    """As `facing`, of boxes at hand or of any shapes."""
    reference = -1
    N = n * 1.0
    faces = 0
    if are_boxes == 0:
        reference, N, faces = facing(c, w, lane, a, b, n, number)
    elif ti.static(c.serves[BOXES]):
        reference, N, faces = facing_boxes(c, w, lane, n)
    return reference, N, faces


@ti.func
def facing(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, n: ti.template(), number: ti.i32):
    """Note the facing features of a and b as polygons 0 and 1, from the origin of a, and choose which of them clips.

    Returns:
        0 or 1, -1 if neither can; normal of the plane that clips; number of the two features.

    Writes: c.notes
    """
    shift = way_between(c, w, lane, a, b)
    out_a = n * 1.0
    out_b = n * 1.0
    cos_a = n.parts[0] * 0.0
    cos_b = n.parts[0] * 0.0
    faces = number % FACES
    for side in range(2):
        sign = ti.select(side == 0, 1.0, -1.0)
        i = ti.select(side == 0, a, b)
        count, k, normal = feature(c, w, lane, i, n * sign, side, shift * ti.select(side == 0, 0.0, 1.0))
        c.notes.store(w, c.counts + side, ti.cast(count, c.arena.device.real))
        faces = further_face(faces, k)
        cosine = ti.select(count > 2, normal.dot(n) * sign, 0.0)
        if side == 0:
            out_a = normal
            cos_a = cosine
        else:
            out_b = normal
            cos_b = cosine
    reference = ti.cast(clipping_face(cos_a, cos_b), ti.i32)
    N = clipping_normal(reference, out_a, out_b, n)
    return reference, N, number_of_faces(faces, reference)


@ti.func
def facing_boxes(c: ti.template(), w: ti.i32, lane: ti.i32, n: ti.template()):
    """As `facing`, of the boxes at hand, whose faces are known.

    Reads:  c.boxes
    Writes: c.notes
    """
    found = c.boxes
    for side in ti.static(range(2)):
        c.notes.store(w, c.counts + side, ti.cast(4.0, c.arena.device.real))
        for k in range(4):
            put_corner(c, w, side, k, one(found.corner, w, lane, 4 * side + k))
    reference = whole_of(found.clips, w, lane, 0)
    faces = further_face(further_face(0, whole_of(found.number, w, lane, 0)), whole_of(found.number, w, lane, 1))
    N = clipping_normal(reference, one(found.outward, w, lane, 0), one(found.outward, w, lane, 1), n)
    return reference, N, number_of_faces(faces, reference)


def clipping_face(cos_a, cos_b):
    """Which face clips, 0 or 1, by the cosines of their normals to that of the contact; -1 if none is level enough."""
    one = local(cos_a * 0.0 + 1.0)
    is_level = local(cos_a >= ALIGNED)
    least = ti.select(is_level, cos_a + CLOSER, one * ALIGNED)
    return local(ti.select(cos_b >= least, one, ti.select(is_level, one * 0.0, one * -1.0)))


def clipping_normal(reference, out_a: Vec3, out_b: Vec3, n: Vec3) -> Vec3:
    """Normal of the plane that clips: that of the contact where no face does."""
    return Vec3(
        *(
            ti.select(reference == 0, x, ti.select(reference == 1, y, z))
            for x, y, z in zip(out_a.parts, out_b.parts, n.parts, strict=True)
        )
    )


@ti.func
def clip(c: ti.template(), w: ti.i32, reference: ti.i32, n: ti.template(), tie: ti.template()):
    """Clip the other polygon by the sides of the reference, planes parallel to n; an edge has a plane at each end.

    Each corner is labelled with the edge that leaves it, so that two labels name the two edges that meet in it.

    Returns:
        Number of the polygon that holds the result, and how many corners it has.

    Writes: c.notes

    Source: Sutherland and Hodgman (1974); labels as of Box2D's features, by edges in place of corners.
    """
    n_sides = ti.cast(c.notes.load(w, c.counts + reference), ti.i32)
    polygon = 1 - reference
    other = _SPARE
    m = ti.cast(c.notes.load(w, c.counts + polygon), ti.i32)
    turn = 1.0
    if n_sides > 2:
        v = _corner(c, w, reference, 1)
        if (v - _corner(c, w, reference, 0)).cross(_corner(c, w, reference, 2) - v).dot(n) < 0.0:
            turn = -1.0
    for s in range(n_sides):
        v = _corner(c, w, reference, s)
        out = v - _corner(c, w, reference, ti.select(s + 1 < n_sides, s + 1, 0))
        if n_sides > 2:
            out = n.cross(out) * turn
        else:
            out = out - n * n.dot(out)
        out = unit_or(out, n)
        if plane_cuts(c, w, polygon, m, v, out, tie):
            m = clip_by_plane(c, w, polygon, other, m, v, out, tie, MOST_CORNERS + s)
            swap = polygon
            polygon = other
            other = swap
    return polygon, m


@ti.func
def plane_cuts(
    c: ti.template(), w: ti.i32, polygon: ti.i32, m: ti.i32, v: ti.template(), out: ti.template(), tie: ti.template()
):
    """Whether some corner of a polygon lies above a plane, see `clip_by_plane`."""
    found = False
    for k in range(m):
        if out.dot(_corner(c, w, polygon, k) - v) - tie > 0.0:
            found = True
    return found


@ti.func
def clip_by_plane(
    c: ti.template(),
    w: ti.i32,
    source: ti.i32,
    target: ti.i32,
    m: ti.i32,
    v: ti.template(),
    out: ti.template(),
    tie: ti.template(),
    label: ti.i32,
):
    """Copy what lies below a plane through v with the outward normal `out`.

    Returns:
        Number of corners.

    Writes: c.notes
    """
    count = 0
    q = _corner(c, w, source, 0)
    high = out.dot(q - v) - tie
    for k in range(m):
        r = _corner(c, w, source, ti.select(k + 1 < m, k + 1, 0))
        leaving = c.notes.load(w, ring_at(c, source) + k * RING + 3)
        next_high = out.dot(r - v) - tie
        to = ring_at(c, target) + count * RING
        if high <= 0.0:
            c.notes.store(w, to, q)
            c.notes.store(w, to + 3, leaving)
            count += 1
            leaving = ti.cast(label, c.arena.device.real)
            to += RING
        if (high <= 0.0) != (next_high <= 0.0):
            c.notes.store(w, to, q + (r - q) * (high / (high - next_high)))
            c.notes.store(w, to + 3, leaving)
            count += 1
        q = r
        high = next_high
    return count
