"""A convex polytope of triangles, which grows by corners; which faces a corner sees is found exactly.

On which side of a triangle's plane a point lies is found without the error of rounding: what is torn otherwise stays whole.
"""

from simcli.kernels.collision.collider import EPA_CORNER, EPA_EDGES, EPA_FACE, EPA_FACES
from simcli.kernels.device.arena import local
from simcli.kernels.device.lanes import TINY, length
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of
from simcli.kernels.language.values import Vec3

_SPLIT = {"float64": 2.0**27 + 1.0, "float32": 2.0**12 + 1.0}  # parts a number in two of half its digits


def exact_side(p, q, r, x):
    """(q - p) x (r - p) . (x - p), of which the sign is right wherever twice the digits tell it (inside kernels).

    Args:
        p, q, r, x: points, scalars.

    Source: error-free sums and products, Dekker (1971); Shewchuk (1997), orient3d, but of two numbers a value.
    """
    u, v, w = ([_sum(a, local(-b)) for a, b in zip(end.parts, p.parts, strict=True)] for end in (q, r, x))
    total = None
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        minor = _add(_times(u[j], v[k]), _negative(_times(u[k], v[j])))
        part = _times(w[i], minor)
        total = part if total is None else _add(total, part)
    return local(total[0] + total[1])


def _negative(a):
    return local(-a[0]), local(-a[1])


def _sum(a, b):
    """A sum of two numbers, and its rounding."""
    s = local(a + b)
    c = local(s - a)
    return s, local((a - (s - c)) + (b - c))


def _product(a, b):
    """A product of two numbers, and its rounding."""
    p = local(a * b)
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return p, local(((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low)


def _halves(a):
    """Both halves of a number's digits."""
    c = local(a * _SPLIT[precision_of()])
    high = local(c - (c - a))
    return high, local(a - high)


def _add(a, b):
    """A sum of two numbers with their roundings."""
    s, e = _sum(a[0], b[0])
    return _sum(s, local(e + (a[1] + b[1])))


def _times(a, b):
    """A product of two numbers with their roundings."""
    p, e = _product(a[0], b[0])
    return _sum(p, local(e + (a[0] * b[1] + a[1] * b[0])))


_ROUNDING = {"float64": 2e-15, "float32": 1e-6}  # [1], of heights above a face of good shape
GONE, FLAT = 1e30, 1e29  # distances that stand for a free place, and for a triangle without area
NORMAL, AWAY, _NOISE, _SEEN = 3, 6, 7, 8  # places in a face


@ti.func
def corner(c: ti.template(), w: ti.i32, k: ti.i32):
    """[m], corner k of the polytope."""
    return c.notes.value(w, c.corners + k * EPA_CORNER, Vec3)


@ti.func
def note_corner(c: ti.template(), w: ti.i32, k: ti.i32, far: ti.template(), point: ti.template()):
    """Note corner k of the polytope."""
    c.notes.store(w, c.corners + k * EPA_CORNER, far)
    c.notes.store(w, c.corners + k * EPA_CORNER + 3, point)


@ti.func
def first_faces(c: ti.template(), w: ti.i32):
    """Note the faces of the tetrahedron, outward.

    Returns:
        4 corners, 4 faces.
    """
    o = corner(c, w, 0)
    up = (corner(c, w, 1) - o).cross(corner(c, w, 2) - o).dot(corner(c, w, 3) - o)
    for f in range(4):
        i = ti.select(f == 0, 1, 0)
        j = ti.select(f <= 1, 2, 1)
        k = ti.select(f <= 2, 3, 2)
        # The faces opposite 0, 1, 2, 3 of a right-handed tetrahedron are outward as 123, 203, 013, 021.
        if (up > 0.0) != (f % 2 == 0):
            put_face(c, w, f, j, i, k)
        else:
            put_face(c, w, f, i, j, k)
    return 4, 4


@ti.func
def put_face(c: ti.template(), w: ti.i32, f: ti.i32, i: ti.i32, j: ti.i32, k: ti.i32):
    """Note face f with corners i, j, k, counter-clockwise seen from outside."""
    at = c.faces + f * EPA_FACE
    p = corner(c, w, i)
    u = corner(c, w, j) - p
    v = corner(c, w, k) - p
    normal = u.cross(v)
    size = length(normal)
    reach = p.dot(p) + u.dot(u) + v.dot(v)
    away = FLAT + 0.0 * size
    noise = FLAT + 0.0 * size
    if size > ti.static(TINY[precision_of()]):
        normal = normal * (1.0 / size)
        away = normal.dot(p)
        noise = ti.static(_ROUNDING[precision_of()]) * reach * ti.sqrt(reach) / size
    c.notes.store(w, at, ti.cast(i, c.arena.device.real))
    c.notes.store(w, at + 1, ti.cast(j, c.arena.device.real))
    c.notes.store(w, at + 2, ti.cast(k, c.arena.device.real))
    c.notes.store(w, at + NORMAL, normal)
    c.notes.store(w, at + AWAY, away)
    c.notes.store(w, at + _NOISE, noise)
    c.notes.store(w, at + _SEEN, 0.0 * size)


@ti.func
def nearest_face(c: ti.template(), w: ti.i32, n_faces: ti.i32):
    """The face of least distance, the first of equals."""
    best = 0
    least = c.notes.load(w, c.faces + AWAY)
    for f in range(1, n_faces):
        away = c.notes.load(w, c.faces + f * EPA_FACE + AWAY)
        if away < least:
            least = away
            best = f
    return best


@ti.func
def grow(c: ti.template(), w: ti.i32, k: ti.i32, n_faces: ti.i32, best: ti.i32, far: ti.template(), point: ti.template()):
    """Add corner k: what it sees goes, and the rim of that is joined to it.

    Which faces a corner sees is found exactly, so that these are one piece, and their rim one loop. Were it not so the
    polytope would be torn: then it stays as it is, and the face that was tried is no nearest one any more.

    Args:
        best: a face that seemed to see the corner.

    Returns:
        Number of corners, and of faces, free places included.
    """
    note_corner(c, w, k, far, point)
    n_edges = 0
    for f in range(n_faces):
        if sees(c, w, f, far):
            c.notes.store(w, c.faces + f * EPA_FACE + _SEEN, far.parts[0] * 0.0 + 1.0)
            for side in range(3):
                i, j, _k = corners_of_face(c, w, f, side)
                n_edges = toggle_edge(c, w, n_edges, i, j)
    is_whole = is_loop(c, w, n_edges)
    for f in range(n_faces):
        at = c.faces + f * EPA_FACE
        if c.notes.load(w, at + _SEEN) > 0.0:
            c.notes.store(w, at + _SEEN, far.parts[0] * 0.0)
            if is_whole:
                c.notes.store(w, at + AWAY, GONE)
    total = n_faces
    if is_whole:
        total = _join_rim(c, w, k, n_faces, n_edges)
    else:
        c.notes.store(w, c.faces + best * EPA_FACE + AWAY, FLAT + far.parts[0] * 0.0)
    return ti.select(is_whole, k + 1, k), total


@ti.func
def _join_rim(c: ti.template(), w: ti.i32, k: ti.i32, n_faces: ti.i32, n_edges: ti.i32):
    """Join each edge of the rim to corner k; gives the number of faces, free places included."""
    total = n_faces
    free = 0
    for e in range(n_edges):
        while free < n_faces and c.notes.load(w, c.faces + free * EPA_FACE + AWAY) < GONE:
            free += 1
        if free < EPA_FACES:
            i, j = rim_edge(c, w, e)
            put_face(c, w, free, i, j, k)
            free += 1
            total = ti.max(total, free)
    return total


@ti.func
def sees(c: ti.template(), w: ti.i32, f: ti.i32, x: ti.template()):
    """Whether a point lies above a face of the polytope."""
    at = c.faces + f * EPA_FACE
    away = c.notes.load(w, at + AWAY)
    height = -1.0 + 0.0 * away
    if away < GONE:
        noise = c.notes.load(w, at + _NOISE)
        height = c.notes.value(w, at + NORMAL, Vec3).dot(x) - away
        if ti.abs(height) <= noise or away >= FLAT:
            i, j, k = corners_of_face(c, w, f, 0)
            height = exact_side(corner(c, w, i), corner(c, w, j), corner(c, w, k), x)
    return height > 0.0


def corners_of_face(c, w, f, side):
    """Corners of a face, the one of a number and those after it (inside kernels)."""
    at = c.faces + f * EPA_FACE
    return tuple(local(ti.cast(c.notes.load(w, at + (side + m) % 3), ti.i32)) for m in range(3))


def rim_edge(c, w, e):
    """Both corners of an edge of the rim (inside kernels)."""
    return tuple(local(ti.cast(c.notes.load(w, c.edges + 2 * e + m), ti.i32)) for m in range(2))


@ti.func
def is_loop(c: ti.template(), w: ti.i32, n_edges: ti.i32):
    """Whether the edges of the rim are one closed loop."""
    first, at = rim_edge(c, w, 0)
    count = ti.min(n_edges, 1)
    while at != first and count > 0 and count < n_edges:
        found = -1
        for e in range(n_edges):
            i, j = rim_edge(c, w, e)
            if i == at:
                found = j
        at = found
        count = ti.select(found < 0, -1, count + 1)
    return at == first and count == n_edges and n_edges > 2


@ti.func
def toggle_edge(c: ti.template(), w: ti.i32, n_edges: ti.i32, i: ti.template(), j: ti.template()):
    """Add edge ij to the rim, or take ji away: an edge between two faces that go.

    Returns:
        Number of edges.
    """
    found = -1
    for e in range(n_edges):
        if c.notes.load(w, c.edges + 2 * e) == j and c.notes.load(w, c.edges + 2 * e + 1) == i:
            found = e
    count = n_edges
    if found >= 0:
        count = n_edges - 1
        c.notes.store(w, c.edges + 2 * found, c.notes.load(w, c.edges + 2 * count))
        c.notes.store(w, c.edges + 2 * found + 1, c.notes.load(w, c.edges + 2 * count + 1))
    elif n_edges < EPA_EDGES:
        c.notes.store(w, c.edges + 2 * n_edges, i)
        c.notes.store(w, c.edges + 2 * n_edges + 1, j)
        count = n_edges + 1
    return count
