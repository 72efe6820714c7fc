"""Depth of two overlapping convex cores (EPA): the nearest face of the set of differences a - b of their points."""

from simcli.kernels.collision.collider import EPA_CORNER, EPA_CORNERS, EPA_FACE
from simcli.kernels.collision.gjk import difference, nearest_weights
from simcli.kernels.collision.points import EQUAL
from simcli.kernels.collision.polytope import (
    AWAY,
    FLAT,
    GONE,
    NORMAL,
    corner,
    corners_of_face,
    first_faces,
    grow,
    nearest_face,
    note_corner,
)
from simcli.kernels.device.lanes import across, length, one, unit_or, vector, way_between
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of
from simcli.kernels.language.values import Vec3

CLOSE = {"float64": 1e-10, "float32": 1e-5}  # [1] of the size of the shapes, difference of the bounds on the depth
_ALONG, _BACK = 0.999, -0.5  # cosines to the nearest face's normal of one that is the same, and of one that is opposite
_TIED = 1e-6  # [1], cosines that differ by less are ties
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
    d = unit_or(way_between(c, w, lane, a, b), vector(0.0, 0.0, 1.0))
    n_corners, n_faces, best = 0, 0, 0
    depth, n = GONE + 0.0 * size, d * 1.0
    p, off, is_held = vector(), vector(), False
    last = EPA_CORNERS + _START - 4
    for turn in range(last + 1):
        if turn < _START:
            d = start_direction(c, w, turn, d)
        else:
            best = nearest_face(c, w, n_faces)
            d = c.notes.value(w, c.faces + best * EPA_FACE + NORMAL, Vec3)
        far, point = difference(c, w, lane, a, b, d)
        if turn < _START:
            start_corner(c, w, turn, far, point)
            if turn == _START - 1:
                n_corners, n_faces = first_faces(c, w)
        else:
            known = c.notes.load(w, c.faces + best * EPA_FACE + AWAY)
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
            n_corners, n_faces = grow(c, w, n_corners, n_faces, best, far, point)
    if not is_held:
        p = nearer_point(c, w, n_faces, p, off.dot(off), n * depth)
    return -depth, n, p


@ti.func
def nearer_point(
    c: ti.template(), w: ti.i32, n_faces: ti.i32, p: ti.template(), square: ti.template(), target: ti.template()
):
    """[m], the point of core a, from its origin, that belongs to what of all faces is nearest to a target.

    Args:
        p, square: [m; m^2], what is known: the point, and how near it is.
        target: see `deepest_point`.
    """
    q, least = deepest_point(c, w, n_faces, FLAT, target)
    if least > square:
        q = p * 1.0
    return q


@ti.func
def start_direction(c: ti.template(), w: ti.i32, turn: ti.i32, d: ti.template()):
    """Where to look for the points of the first tetrahedron: along d, back, across, back, up, back."""
    n = -d
    if turn == 0:
        n = d * 1.0
    elif turn == 2:
        n = across(unit_or(corner(c, w, 1) - corner(c, w, 0), d))
    elif turn == 4:
        n = unit_or((corner(c, w, 1) - corner(c, w, 0)).cross(corner(c, w, 2) - corner(c, w, 0)), across(d))
    return n


@ti.func
def start_corner(c: ti.template(), w: ti.i32, turn: ti.i32, far: ti.template(), point: ti.template()):
    """Note a corner of the first tetrahedron; of two found looking forth and back, the one farther from the others."""
    k = ti.select(turn < 2, turn, turn // 2 + 1)
    is_better = True
    if turn == 3:
        line = unit_or(corner(c, w, 1) - corner(c, w, 0), vector())
        is_better = length(line.cross(far - corner(c, w, 0))) > length(line.cross(corner(c, w, 2) - corner(c, w, 0)))
    elif turn == 5:
        normal = (corner(c, w, 1) - corner(c, w, 0)).cross(corner(c, w, 2) - corner(c, w, 0))
        is_better = ti.abs(normal.dot(far - corner(c, w, 0))) > ti.abs(normal.dot(corner(c, w, 3) - corner(c, w, 0)))
    if is_better:
        note_corner(c, w, k, far, point)


@ti.func
def try_rival(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    a: ti.i32,
    b: ti.i32,
    rival: ti.i32,
    n: ti.template(),
    depth: ti.template(),
    limit: ti.template(),
):
    """Try whether a rival of the nearest face is one of the set of differences.

    Args:
        n, depth: [1; m], of the nearest face.
        limit: [m], depth of what is as near.

    Returns:
        Whether it is; the normal in the middle of both, of opposite ones the first, and the depth along it; else the point
        of the set that is beyond the rival, and that of core a [m].
    """
    d = c.notes.value(w, c.faces + rival * EPA_FACE + NORMAL, Vec3)
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
        if c.notes.load(w, at + AWAY) <= limit:
            cosine = c.notes.value(w, at + NORMAL, Vec3).dot(d)
            if cosine < least - _TIED:
                least = cosine
                found = f
    return found


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
        if c.notes.load(w, at + AWAY) <= limit:
            i, j, k = corners_of_face(c, w, f, 0)
            weights = nearest_weights(corner(c, w, i), corner(c, w, j), corner(c, w, k))
            x = _combined(c, w, i, j, k, 0, weights) - target
            if x.dot(x) < least:
                least = x.dot(x)
                p = _combined(c, w, i, j, k, 3, weights)
    return p, least


def _combined(c, w, i, j, k, part, weights: Vec3) -> Vec3:
    """Weighted sum of what stands at a place of three corners."""
    first, second, third = (c.notes.value(w, c.corners + m * EPA_CORNER + part, Vec3) for m in (i, j, k))
    return first * weights.parts[0] + second * weights.parts[1] + third * weights.parts[2]
