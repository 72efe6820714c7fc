"""Depth of two overlapping convex cores (EPA): the nearest face of the set of differences a - b of their points."""

from simcli.kernels.algebra.elementary import precision_of
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.collision.convex.gjk import difference
from simcli.kernels.collision.convex.orient import exact_side
from simcli.kernels.collision.convex.simplex import nearest_weights
from simcli.kernels.collision.lanes import TINY, across, length, one, unit_or, vector
from simcli.kernels.collision.points import EQUAL
from simcli.kernels.collision.tables import EPA_CORNER, EPA_CORNERS, EPA_EDGES, EPA_FACE, EPA_FACES
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import local

CLOSE = {"float64": 1e-10, "float32": 1e-5}  # [1] of the size of the shapes, difference of the bounds on the depth
_ROUNDING = {"float64": 2e-15, "float32": 1e-6}  # [1], of heights above a face of good shape
GONE, _FLAT = 1e30, 1e29  # distances that stand for a free place, and for a triangle without area
_ALONG, _BACK = 0.999, -0.5  # cosines to the nearest face's normal of one that is the same, and of one that is opposite
_TIED = 1e-6  # [1], cosines that differ by less are ties
_NORMAL, _AWAY, _NOISE, _SEEN = 3, 6, 7, 8  # places in a face
_START = 6  # points that the tetrahedron is chosen from


@ti.func
def penetration(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32):
    """Least translation that separates two convex cores, of which the set of differences has a volume.

    A polytope in that set grows towards its face that is nearest to the origin, or sees it from the farthest where the
    origin is still outside. So nothing is asked of the start but a volume, and touching cores need no other code.

    Where curved cores are so deep in each other that many normals are nearly as good, the polytope can be full before
    its bounds meet. Then the best direction that was tried is returned: its depth separates the cores, too. Its corner can
    be far from the deepest point, as the end of an edge is: all faces are asked. A nearest face above which nothing is found
    to add has a normal of rounding only, and is asked no more.

    Where two faces are equally near, as where edges meet, the normal is in their middle: rounding would choose one.

    Returns:
        [m], separation along the normal, -depth; unit normal from a to b; [m], deepest point of core a, from its origin.

    Writes: c.notes

    Source: van den Bergen (2001). Deviation: any tetrahedron starts it.
    """
    size = one(c.bound, w, lane, a) + one(c.bound, w, lane, b)
    d = unit_or(one(c.position, w, lane, b) - one(c.position, w, lane, a), vector(0.0, 0.0, 1.0))
    n_corners, n_faces, best = 0, 0, 0
    depth, n = GONE + 0.0 * size, d * 1.0
    p, off, is_held = vector(), vector(), False
    last = EPA_CORNERS + _START - 4
    for turn in range(last + 1):
        if turn < _START:
            d = start_direction(c, w, turn, d)
        else:
            best = nearest_face(c, w, n_faces)
            d = c.notes.value(w, c.faces + best * EPA_FACE + _NORMAL, Vec3)
        far, point = difference(c, w, lane, a, b, d)
        if turn < _START:
            start_corner(c, w, turn, far, point)
            if turn == _START - 1:
                n_corners, n_faces = first_faces(c, w)
        else:
            known = c.notes.load(w, c.faces + best * EPA_FACE + _AWAY)
            if d.dot(far) < depth:
                depth, n, p = d.dot(far), d, point
                off = far - d * depth
            is_closed = d.dot(far) - known <= ti.static(CLOSE[precision_of()]) * size
            if is_closed:
                limit = known + ti.static(EQUAL[precision_of()]) * size
                depth, n = d.dot(far), d
                p, square = deepest_point(c, w, n_faces, limit, vector())
                is_held = square <= (ti.abs(known) + ti.static(EQUAL[precision_of()]) * size) ** 2
                off = far - d * depth
                rival = rival_face(c, w, n_faces, d, limit)
                if ti.static(c.halves_ties) and rival >= 0 and turn < last:
                    is_closed, n, depth, far, point = try_rival(c, w, lane, a, b, rival, n, depth, limit)
                    is_held = is_held and is_closed
            if is_closed or turn == last:
                break
            n_faces, is_whole = grow(c, w, n_corners, n_faces, far, point)
            if is_whole:
                n_corners += 1
            else:
                c.notes.store(w, c.faces + best * EPA_FACE + _AWAY, _FLAT + 0.0 * size)
    if not is_held:
        p = nearer_point(c, w, n_faces, p, off.dot(off), n * depth)
    return -depth, n, p


@ti.func
def nearer_point(c: ti.template(), w: ti.i32, n_faces: ti.i32, p: ti.template(), square: ti.template(),
                 target: ti.template()):
    """[m], the point of core a, from its origin, that belongs to what of all faces is nearest to a target.

    Args:
        p, square: [m; m^2], what is known: the point, and how near it is.
        target: see `deepest_point`.
    """
    q, least = deepest_point(c, w, n_faces, _FLAT, target)
    if least > square:
        q = p * 1.0
    return q


@ti.func
def _corner(c: ti.template(), w: ti.i32, k: ti.i32):
    """[m], corner k of the polytope."""
    return c.notes.value(w, c.corners + k * EPA_CORNER, Vec3)


@ti.func
def start_direction(c: ti.template(), w: ti.i32, turn: ti.i32, d: ti.template()):
    """Where to look for the points of the first tetrahedron: along d, back, across, back, up, back."""
    n = -d
    if turn == 0:
        n = d * 1.0
    elif turn == 2:
        n = across(unit_or(_corner(c, w, 1) - _corner(c, w, 0), d))
    elif turn == 4:
        n = unit_or((_corner(c, w, 1) - _corner(c, w, 0)).cross(_corner(c, w, 2) - _corner(c, w, 0)), across(d))
    return n


@ti.func
def start_corner(c: ti.template(), w: ti.i32, turn: ti.i32, far: ti.template(), point: ti.template()):
    """Note a corner of the first tetrahedron; of two found looking forth and back, the one farther from the others."""
    k = ti.select(turn < 2, turn, turn // 2 + 1)
    is_better = True
    if turn == 3:
        line = unit_or(_corner(c, w, 1) - _corner(c, w, 0), vector())
        is_better = length(line.cross(far - _corner(c, w, 0))) > length(line.cross(_corner(c, w, 2) - _corner(c, w, 0)))
    elif turn == 5:
        normal = (_corner(c, w, 1) - _corner(c, w, 0)).cross(_corner(c, w, 2) - _corner(c, w, 0))
        is_better = ti.abs(normal.dot(far - _corner(c, w, 0))) > ti.abs(normal.dot(_corner(c, w, 3) - _corner(c, w, 0)))
    if is_better:
        _put_corner(c, w, k, far, point)


@ti.func
def _put_corner(c: ti.template(), w: ti.i32, k: ti.i32, far: ti.template(), point: ti.template()):
    """Note corner k of the polytope."""
    c.notes.store(w, c.corners + k * EPA_CORNER, far)
    c.notes.store(w, c.corners + k * EPA_CORNER + 3, point)


@ti.func
def first_faces(c: ti.template(), w: ti.i32):
    """Note the faces of the tetrahedron, outward.

    Returns:
        4 corners, 4 faces.
    """
    o = _corner(c, w, 0)
    up = (_corner(c, w, 1) - o).cross(_corner(c, w, 2) - o).dot(_corner(c, w, 3) - o)
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
    p = _corner(c, w, i)
    u = _corner(c, w, j) - p
    v = _corner(c, w, k) - p
    normal = u.cross(v)
    size = length(normal)
    reach = p.dot(p) + u.dot(u) + v.dot(v)
    away = _FLAT + 0.0 * size
    noise = _FLAT + 0.0 * size
    if size > ti.static(TINY[precision_of()]):
        normal = normal * (1.0 / size)
        away = normal.dot(p)
        noise = ti.static(_ROUNDING[precision_of()]) * reach * ti.sqrt(reach) / size
    c.notes.store(w, at, ti.cast(i, c.arena.device.real))
    c.notes.store(w, at + 1, ti.cast(j, c.arena.device.real))
    c.notes.store(w, at + 2, ti.cast(k, c.arena.device.real))
    c.notes.store(w, at + _NORMAL, normal)
    c.notes.store(w, at + _AWAY, away)
    c.notes.store(w, at + _NOISE, noise)
    c.notes.store(w, at + _SEEN, 0.0 * size)


@ti.func
def nearest_face(c: ti.template(), w: ti.i32, n_faces: ti.i32):
    """The face of least distance, the first of equals."""
    best = 0
    least = c.notes.load(w, c.faces + _AWAY)
    for f in range(1, n_faces):
        away = c.notes.load(w, c.faces + f * EPA_FACE + _AWAY)
        if away < least:
            least = away
            best = f
    return best


@ti.func
def try_rival(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, rival: ti.i32, n: ti.template(),
              depth: ti.template(), limit: ti.template()):
    """Try whether a rival of the nearest face is one of the set of differences.

    Args:
        n, depth: [1; m], of the nearest face.
        limit: [m], depth of what is as near.

    Returns:
        Whether it is; the normal in the middle of both, of opposite ones the first, and the depth along it; else the point
        of the set that is beyond the rival, and that of core a [m].
    """
    d = c.notes.value(w, c.faces + rival * EPA_FACE + _NORMAL, Vec3)
    far, point = difference(c, w, lane, a, b, d)
    is_one = d.dot(far) <= limit
    middle = n * 1.0
    deep = depth * 1.0
    if is_one and d.dot(n) > _BACK:
        middle = unit_or(n + d, n)
        beyond, _point = difference(c, w, lane, a, b, middle)
        deep = middle.dot(beyond)
    return is_one, middle, deep, far, point


@ti.func
def rival_face(c: ti.template(), w: ti.i32, n_faces: ti.i32, d: ti.template(), limit: ti.template()):
    """The face across d that is no farther than a limit and whose normal is not d; the one that differs most, -1 for none.

    Args:
        d: normal of the nearest face.
        limit: [m].
    """
    found = -1
    least = _ALONG + 0.0 * limit
    for f in range(n_faces):
        at = c.faces + f * EPA_FACE
        if c.notes.load(w, at + _AWAY) <= limit:
            cosine = c.notes.value(w, at + _NORMAL, Vec3).dot(d)
            if cosine < least - _TIED:
                least = cosine
                found = f
    return found


@ti.func
def grow(c: ti.template(), w: ti.i32, k: ti.i32, n_faces: ti.i32, far: ti.template(), point: ti.template()):
    """Add corner k: what it sees goes, and the rim of that is joined to it.

    Which faces a corner sees is found exactly, so that these are one piece, and their rim one loop. Were it not so the
    polytope would be torn: then it stays as it is.

    Returns:
        Number of faces, free places included, and whether it has the corner.
    """
    _put_corner(c, w, k, far, point)
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
                c.notes.store(w, at + _AWAY, GONE)
    total = n_faces
    free = 0
    for e in range(ti.select(is_whole, n_edges, 0)):
        while free < n_faces and c.notes.load(w, c.faces + free * EPA_FACE + _AWAY) < GONE:
            free += 1
        if free < EPA_FACES:
            i, j = rim_edge(c, w, e)
            put_face(c, w, free, i, j, k)
            free += 1
            total = ti.max(total, free)
    return total, is_whole


@ti.func
def sees(c: ti.template(), w: ti.i32, f: ti.i32, x: ti.template()):
    """Whether a point lies above a face of the polytope."""
    at = c.faces + f * EPA_FACE
    away = c.notes.load(w, at + _AWAY)
    height = -1.0 + 0.0 * away
    if away < GONE:
        noise = c.notes.load(w, at + _NOISE)
        height = c.notes.value(w, at + _NORMAL, Vec3).dot(x) - away
        if ti.abs(height) <= noise or away >= _FLAT:
            i, j, k = corners_of_face(c, w, f, 0)
            height = exact_side(_corner(c, w, i), _corner(c, w, j), _corner(c, w, k), x)
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


@ti.func
def deepest_point(c: ti.template(), w: ti.i32, n_faces: ti.i32, limit: ti.template(), target: ti.template()):
    """[m], the point of core a, from its origin, that belongs to the nearest point of the polytope; [m^2], how near it is.

    A flat face of the set is several triangles of equal distance, of which one holds the nearest point.

    Args:
        limit: [m], triangles that are not farther come into question.
        target: [m], where the point is expected; of those that are nearest to the origin the one that is nearest to it.
    """
    p = vector()
    least = GONE + 0.0 * target.parts[0]
    for f in range(n_faces):
        at = c.faces + f * EPA_FACE
        if c.notes.load(w, at + _AWAY) <= limit:
            i = ti.cast(c.notes.load(w, at), ti.i32)
            j = ti.cast(c.notes.load(w, at + 1), ti.i32)
            k = ti.cast(c.notes.load(w, at + 2), ti.i32)
            weights = nearest_weights(_corner(c, w, i), _corner(c, w, j), _corner(c, w, k))
            x = _combined(c, w, i, j, k, 0, weights) - target
            if x.dot(x) < least:
                least = x.dot(x)
                p = _combined(c, w, i, j, k, 3, weights)
    return p, least


def _combined(c, w, i, j, k, part, weights: Vec3) -> Vec3:
    """Weighted sum of what stands at a place of three corners."""
    first, second, third = (c.notes.value(w, c.corners + m * EPA_CORNER + part, Vec3) for m in (i, j, k))
    return first * weights.parts[0] + second * weights.parts[1] + third * weights.parts[2]
