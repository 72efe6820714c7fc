"""Distance of two convex cores (GJK), on the set of differences a - b of their points; support points, and the simplex."""

from simcli.kernels.collision.collider import BOX, CAPSULE, CELL, CELL_CORNERS, CONE, CYLINDER, ELLIPSOID, GJK_CORNER, MESH
from simcli.kernels.device.lanes import TINY, farthest_along, one, sign, vector, way_between
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of
from simcli.kernels.language.values import Vec3


@ti.func
def nearest_weights(a: ti.template(), b: ti.template(), c: ti.template()):
    """Weights of the corners in the point of triangle abc that is nearest to the origin; b = c makes it a segment.

    The best of the nearest points of the edges, and of the foot in the plane if it lies inside: each of them is a point of
    the triangle whatever rounding does, so that slivers, which curved shapes make, cost accuracy but no sense.

    Returns:
        Three weights, not negative, of sum 1; exactly 0 where a corner has no part.
    """
    tiny = ti.static(TINY[precision_of()])
    weights = Vec3(1.0, 0.0, 0.0)
    least = a.dot(a)
    for k in ti.static(range(3)):
        p, u = edge((a, b, c), k)
        t = ti.min(ti.max(-u.dot(p) / ti.max(u.dot(u), tiny), 0.0), 1.0)
        x = p + u * t
        if x.dot(x) < least:
            least = x.dot(x)
            weights = cyclic(k, 1.0 - t, t)
    n = (b - a).cross(c - a)
    size = n.dot(n)
    if size > tiny:
        foot = n * (n.dot(a) / size)
        x = a - foot
        y = b - foot
        z = c - foot
        part_b = n.dot(z.cross(x)) / size
        part_c = n.dot(x.cross(y)) / size
        part_a = 1.0 - part_b - part_c
        if part_a > 0.0 and part_b > 0.0 and part_c > 0.0:
            x = a * part_a + b * part_b + c * part_c
            if x.dot(x) < least:
                weights = Vec3(part_a, part_b, part_c)
    return weights


def edge(corners: tuple[Vec3, ...], k: int) -> tuple[Vec3, Vec3]:
    """Where an edge begins, and the vector along it."""
    return corners[k], corners[(k + 1) % 3] - corners[k]


def cyclic(k: int, s, t) -> Vec3:
    """Weights s of corner k and t of the next."""
    parts = [0.0, 0.0, 0.0]
    parts[k], parts[(k + 1) % 3] = s, t
    return Vec3(*parts)


@ti.func
def support(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, d: ti.template()):
    """[m], farthest point of the core of shape i along d, from the shape's origin, world axes.

    The core of a sphere is its centre, that of a capsule its axis.

    Args:
        d: any length but zero, world axes.
    """
    R = one(c.rotation, w, lane, i)
    return R * local_support(c, w, lane, i, R.transposed_times(d))


@ti.func
def local_support(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, d: ti.template()):
    """[m], farthest point of the core along d, both in shape axes."""
    p = vector()
    kind = c.kind.at(i)
    half = one(c.half, w, lane, i)
    hx = half.parts[0]
    hy = half.parts[1]
    hz = half.parts[2]
    x = d.parts[0]
    y = d.parts[1]
    z = d.parts[2]
    if ti.static(c.has[BOX]):
        if kind == BOX:
            p = Vec3(sign(x) * hx, sign(y) * hy, sign(z) * hz)
    if ti.static(c.has[CAPSULE]):
        if kind == CAPSULE:
            p = Vec3(0.0, 0.0, sign(z) * (hz - hx))
    if ti.static(c.has[CYLINDER] or c.has[CONE]):
        if kind == CYLINDER or kind == CONE:
            across = ti.sqrt(x * x + y * y)
            part = hx / ti.max(across, ti.static(TINY[precision_of()]))
            top = sign(z) * hz
            if kind == CONE:
                apex = 2.0 * hz * z > hx * across
                top = ti.select(apex, hz, -hz)
                part = ti.select(apex, 0.0, part)
            p = Vec3(x * part, y * part, top)
    if ti.static(c.has[ELLIPSOID]):
        if kind == ELLIPSOID:
            u = Vec3(x * hx, y * hy, z * hz)
            part = 1.0 / ti.max(ti.sqrt(u.dot(u)), ti.static(TINY[precision_of()]))
            p = Vec3(u.parts[0] * hx, u.parts[1] * hy, u.parts[2] * hz) * part
    if ti.static(c.has[MESH]):
        if kind == MESH:
            p = c.corner.load(w, farthest_along(c.corner, w, c.corner_start.at(i), c.corner_start.at(i + 1), d))
    if ti.static(c.has[CELL]):
        if kind == CELL:
            p = farthest_of_cell(c, w, d)
    return p


@ti.func
def farthest_of_cell(c: ti.template(), w: ti.i32, d: ti.template()):
    """[m], corner of the cell at hand that is farthest along d."""
    p = c.notes.value(w, c.cell, Vec3)
    most = p.dot(d)
    for k in range(1, CELL_CORNERS):
        q = c.notes.value(w, c.cell + 3 * k, Vec3)
        reach = q.dot(d)
        if reach > most:
            most = reach
            p = q
    return p


APART, TOUCHING, BEYOND, _OPEN = range(4)
_ROUNDS = 64
_CLOSE = {"float64": 1e-14, "float32": 1e-6}  # [1], relative difference of the bounds on the square of the distance
TOUCH = {"float64": 1e-7, "float32": 1e-4}  # [1] of the size of the shapes: nearer cores have no direction between them
_THIN = {"float64": 1e-9, "float32": 1e-4}  # [1], height of a tetrahedron above a face by the size of the face
_FAR = {"float64": 1e300, "float32": 1e30}  # [m^2]
WEIGHT = 6  # place in a corner of the simplex


@ti.func
def difference(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, d: ti.template()):
    """[m], the point of the set of differences that is farthest along d, and the point of a, from its origin.

    The set is {p - q: p in core a, q in core b}, world axes.
    """
    point = vector()
    far = way_between(c, w, lane, b, a)
    for side in range(2):
        s = ti.select(side == 0, 1.0, -1.0)
        p = support(c, w, lane, ti.select(side == 0, a, b), d * s)
        far = far + p * s
        if side == 0:
            point = p
    return far, point


@ti.func
def distance(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, reach: ti.template()):
    """Distance of the cores of two convex shapes.

    Args:
        reach: [m], who is farther apart does not matter.

    Returns:
        APART, TOUCHING (or overlapping: nothing else is known) or BEYOND reach; [m], the distance; unit normal from a to b;
        [m], the nearest point of core a, from its origin.

    Writes: c.notes

    Source: Gilbert, Johnson, Keerthi (1988). Deviation: the nearest point of a tetrahedron is the nearest of those of its
    faces that see the origin; slivers lose accuracy, so that a step that brings it no nearer is the last.
    """
    state = _OPEN
    small = ti.static(TOUCH[precision_of()]) * (one(c.bound, w, lane, a) + one(c.bound, w, lane, b))
    v = way_between(c, w, lane, b, a)
    if v.dot(v) == 0.0:
        v = vector(0.0, 0.0, 1.0)
    square = v.dot(v)
    n_corners = 0
    for turn in range(_ROUNDS):
        far, point = difference(c, w, lane, a, b, -v)
        low = v.dot(far)
        if low > 0.0 and low * low > reach * reach * v.dot(v):
            state = BEYOND
        elif turn > 0 and square - low <= ti.static(_CLOSE[precision_of()]) * square:
            state = APART
        elif is_corner(c, w, far, n_corners):
            state = APART
        else:
            at = c.simplex + n_corners * GJK_CORNER
            c.notes.store(w, at, far)
            c.notes.store(w, at + 3, point)
            kept, found = shrink(c, w, n_corners + 1, ti.select(turn == 0, ti.static(_FAR[precision_of()]), square))
            if kept == 0:
                state = APART
            else:
                n_corners = kept
                v = found
                square = v.dot(v)
                if kept == 4 or square <= small * small:
                    state = TOUCHING
        if state != _OPEN:
            break
    if state == _OPEN:
        state = APART
    size = ti.sqrt(square)
    p = vector()
    for k in range(n_corners):
        at = c.simplex + k * GJK_CORNER
        p = p + c.notes.value(w, at + 3, Vec3) * c.notes.load(w, at + WEIGHT)
    n = v * (-1.0 / size)
    return state, size, n, p


@ti.func
def is_corner(c: ti.template(), w: ti.i32, p: ti.template(), n_corners: ti.i32):
    """Whether p is a corner of the simplex: nothing is farther."""
    found = False
    for k in range(n_corners):
        off = c.notes.value(w, c.simplex + k * GJK_CORNER, Vec3) - p
        if off.dot(off) == 0.0:
            found = True
    return found


@ti.func
def shrink(c: ti.template(), w: ti.i32, n_corners: ti.i32, square: ti.template()):
    """Keep the corners of the simplex that hold its nearest point to the origin, with their weights.

    Args:
        square: [m^2], of a distance; if the simplex is no nearer, its first n_corners - 1 corners stay as they are.

    Returns:
        Number of corners, 4 if the origin is inside, 0 if it is no nearer; the nearest point [m].

    Writes: c.notes
    """
    nearest = vector()
    weights = vector()
    least = square * 1.0
    chosen = -1
    is_inside = True
    n_faces = ti.select(n_corners == 4, 4, 1)
    for f in range(n_faces):
        i, j, k = face_corners(f, n_corners)
        p = c.notes.value(w, c.simplex + i * GJK_CORNER, Vec3)
        q = c.notes.value(w, c.simplex + j * GJK_CORNER, Vec3)
        r = c.notes.value(w, c.simplex + k * GJK_CORNER, Vec3)
        sees = True
        if n_corners == 4:
            normal = (q - p).cross(r - p)
            height = normal.dot(c.notes.value(w, c.simplex + f * GJK_CORNER, Vec3) - p)
            # The side of a corner that lies in the face is rounding: four corners of a parallelogram are common.
            area = ti.sqrt(normal.dot(normal))
            is_flat = ti.abs(height) <= ti.static(_THIN[precision_of()]) * area * ti.sqrt(area)
            sees = is_flat or normal.dot(p) * height >= 0.0
        if sees:
            is_inside = False
            found = nearest_weights(p, q, r)
            x = p * found.parts[0] + q * found.parts[1] + r * found.parts[2]
            if x.dot(x) < least:
                least = x.dot(x)
                nearest = x
                weights = found
                chosen = f
    kept = ti.select(is_inside, 4, 0)
    if chosen >= 0:
        i, j, k = face_corners(chosen, n_corners)
        for m in range(3):
            source = ti.select(m == 0, i, ti.select(m == 1, j, k))
            weight = ti.select(m == 0, weights.parts[0], ti.select(m == 1, weights.parts[1], weights.parts[2]))
            if weight > 0.0:
                for part in range(WEIGHT):
                    c.notes.store(
                        w, c.simplex + kept * GJK_CORNER + part, c.notes.load(w, c.simplex + source * GJK_CORNER + part)
                    )
                c.notes.store(w, c.simplex + kept * GJK_CORNER + WEIGHT, weight)
                kept += 1
    return kept, nearest


@ti.func
def face_corners(f: ti.i32, n_corners: ti.i32):
    """Corners of face f of a tetrahedron, the one opposite corner f; or those of what has fewer corners, the last again."""
    i = ti.select(f == 0, 1, 0)
    j = ti.select(f <= 1, 2, 1)
    k = ti.select(f <= 2, 3, 2)
    if n_corners < 4:
        i = 0
        j = ti.min(1, n_corners - 1)
        k = n_corners - 1
    return i, j, k
