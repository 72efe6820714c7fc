"""Energy, gradient and curvature of one contact, as numbers of its two bodies.

With the nearest points x_A, x_B, the unit vector n between them, d = n . (x_A - x_B) and tangents t_k along which these
points slide over the features with the changes w_k of the weights c (closest.py), the Hessian of the distance is

    d'' = 1/d sum_k [ v v^T - (u + v)(u + v)^T ],    u = d w_k n,  v = c t_k;  without the second square where nothing slides

Here c t stands for the vector of all corners c_i t. As u and v are orthogonal, each k is a matrix of two by two, whose
eigenvectors are known: a curvature is a list of squares, H = sum sigma z z^T, and its projection to what is not negative
leaves out those of negative sigma. Corners are fixed in the bodies, so that a vector of corners c f becomes (f, y_k f) of a
body: f for p, y_k f for a_k, y the sum of the corners weighted by c.

Source: Hessian of a minimum over parameters. Deviation from projecting each stencil's Hessian by its own eigenvectors: the
square of the gradient is projected apart from the others, with which it need not be orthogonal.
"""

from simcli.kernels.barrier.closest import (
    EDGE_EDGE,
    POINT_PLANE,
    at_corners,
    blend,
    corners,
    direction,
    places,
    slide,
    thickness,
    weigh,
)
from simcli.kernels.barrier.law import PARALLEL, barrier, mollifier
from simcli.kernels.barrier.surfaces import PIECE
from simcli.kernels.barrier.sweep import apart, lower, upper
from simcli.kernels.device.lanes import across, length, one, unit_or, vector, whole_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of, select_parts
from simcli.kernels.language.values import Vec3

_SMALL = {"float64": 1e-150, "float32": 1e-18}  # norms that are as good as zero


@ti.func
def near_gap(kind: ti.i32, reach: ti.template(), a: ti.template(), b: ti.template(), d: ti.template(), e: ti.template()):
    """True if the boxes of the two features are less than `reach` apart."""
    low, high = lower(a, a), upper(a, a)
    low_b, high_b = lower(d, e), upper(d, e)
    if kind == EDGE_EDGE:
        low, high = lower(a, b), upper(a, b)
    else:
        low_b, high_b = lower(low_b, b), upper(high_b, b)
    return apart(low, high, low_b, high_b) < reach


@ti.func
def edge_scale(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32):
    """[m^4], area squared below which the edges of a candidate count as parallel."""
    u, v = edges_at_rest(c, w, lane, k)
    return PARALLEL * u.dot(u) * v.dot(v)


@ti.func
def stencil_energy(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32):
    """Barrier of a candidate that counts.

    Returns:
        [J]; [m], gap, or what is known to be less than it beyond the barrier's reach.

    Reads: c.candidates.size
    """
    combination = whole_of(c.candidates.combination, w, lane, k)
    near = one(c.near, w, lane, combination)
    energy = 0.0 * near
    gap = ti.min(one(c.candidates.size, w, lane, k) - thickness(c, w, lane, k), near)
    if gap < near:
        energy, _slope, _curvature = barrier(gap, near, one(c.stiffness, w, lane, combination))
        kind, _combination, a, b, d, e = corners(c, w, lane, k)
        if kind == EDGE_EDGE:
            area = (b - a).cross(e - d)
            weight, _first, _second = mollifier(area.dot(area), edge_scale(c, w, lane, k))
            energy = energy * weight
    return energy, gap


@ti.func
def put_half(
    c: ti.template(),
    w: ti.i32,
    at: ti.i32,
    f: ti.template(),
    x: ti.template(),
    y: ti.template(),
    u: ti.template(),
    v: ti.template(),
):
    """Twelve numbers of a body: f for p, and x_k y + u_k v for a_k.

    Writes: c.notes
    """
    c.notes.store(w, at, f)
    for k in ti.static(range(3)):
        c.notes.store(w, at + 3 + 3 * k, y * x.parts[k] + v * u.parts[k])


@ti.func
def new_piece(c: ti.template(), w: ti.i32, factor: ti.template()):
    """Place of the vector of one more square.

    Writes: c.notes
    """
    count = ti.cast(c.notes.load(w, c.n_pieces), ti.i32)
    at = c.pieces + count * PIECE
    c.notes.store(w, c.n_pieces, count + 1.0)
    c.notes.store(w, at, factor)
    return at + 1


class _Pair:
    """The nearest points of a candidate (inside kernels).

    Args:
        k, kind: number and kind of the candidate.
        weights: of its corners.
        n: unit vector between the points.
        size: [m], their distance.
        places: [m], in the links.
    """

    _data_oriented = True

    def __init__(self, k, kind, weights, n, size, places):
        self.k, self.kind, self.weights, self.n, self.size = k, kind, weights, n, size
        self.first, self.second = places


def put_pair(c, w, at, pair: _Pair, f, turn=None, other=None):
    """The numbers of both bodies of a force f at the first point and its opposite at the second (inside kernels).

    Args:
        at: place in the notes.
        turn, other: u and v of `put_half`, of the bodies; none if None.
    """
    none = vector(), vector()
    put_half(c, w, at, f, pair.first, f, *(turn or none))
    put_half(c, w, at + 12, f * -1.0, pair.second, f, *(other or none))


@ti.func
def stencil_pieces(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, exact: ti.template()):
    """Gradient and squares of a candidate.

    Args:
        exact: True for all squares, False for those that are not negative.

    Returns:
        1 if there is a force.

    Writes: c.notes
    """
    is_near = 0
    kind, combination, a, b, d, e = corners(c, w, lane, k)
    xi, near = thickness(c, w, lane, k), one(c.near, w, lane, combination)
    c.notes.store(w, c.n_pieces, 0.0 * xi)
    if near_gap(kind, xi + near, a, b, d, e):
        weights = weigh(kind, a, b, d, e)
        size, n = direction(blend(weights, (a, b, d, e)))
        if size - xi < near:
            is_near = 1
            energy, slope, curvature = barrier(size - xi, near, one(c.stiffness, w, lane, combination))
            pair = _Pair(k, kind, weights, n, size, places(c, w, lane, k, kind, weights))
            weight = 1.0 + 0.0 * xi
            put_pair(c, w, c.gradient, pair, n * slope)
            if kind == EDGE_EDGE:
                weight = mollified(c, w, lane, pair, b - a, e - d, energy, slope, exact)
            put_pair(c, w, new_piece(c, w, weight * curvature), pair, n)
            if kind != POINT_PLANE:
                count, s, t, change_s, change_t = slide(kind, weights, n, a, b, d, e)
                load = -weight * slope / size
                for way in range(2):
                    tangent, change = select_parts(way == 0, s, t), select_parts(way == 0, change_s, change_t)
                    bend(c, w, lane, pair, tangent, change, count > way, load, exact)
    return is_near


@ti.func
def bend(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    pair: ti.template(),
    tangent: ti.template(),
    change: ti.template(),
    slides: ti.i32,
    load: ti.template(),
    exact: ti.template(),
):
    """Squares of the turn of the normal along one tangent.

        load (u u^T + u v^T + v u^T):  eigenvalue L = p^2/2 +- sqrt(p^4/4 + p^2 q^2),  vector L u/p + p v,  p = |u|, q = |v|

    Args:
        change: of the weights along it.  slides: whether they change.
        load: [N/m], normal force over the distance.

    Writes: c.notes
    """
    if slides:
        turn_a, turn_b = places(c, w, lane, pair.k, pair.kind, change)
        p, q = pair.size * ti.sqrt(squared(change)), ti.sqrt(squared(pair.weights))
        for sign in ti.static((1, -1) if exact else (1,)):
            value = 0.5 * p * p + sign * p * ti.sqrt(0.25 * p * p + q * q)
            at = new_piece(c, w, load * value / (value * value + p * p * q * q))
            along, up = tangent * p, pair.n * (pair.size * value / p)
            put_pair(c, w, at, pair, along, (turn_a, up), (turn_b, up))
    elif ti.static(exact):
        put_pair(c, w, new_piece(c, w, -load), pair, tangent)


def squared(four):
    """Sum of the squares of four numbers."""
    a, b, c, d = four.parts
    return a * a + b * b + c * c + d * d


@ti.func
def mollified(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    pair: ti.template(),
    u: ti.template(),
    v: ti.template(),
    energy: ti.template(),
    slope: ti.template(),
    exact: ti.template(),
):
    """Gradient of two edges that are nearly parallel, and the squares that the mollifier m(|N|^2), N = u x v, adds.

        d|N|^2 = 2 (v x N) . du + 2 (N x u) . dv

    Args:
        u, v: [m], the edges.
        energy, slope: [J; N], of the barrier alone.

    Returns:
        m.

    Writes: c.notes
    """
    N = u.cross(v)
    m, m_1, m_2 = mollifier(N.dot(N), edge_scale(c, w, lane, pair.k))
    if m_1 > 0.0:
        u_rest, v_rest = edges_at_rest(c, w, lane, pair.k)
        g_u, g_v = v.cross(N) * 2.0, N.cross(u) * 2.0
        both = energy * m_1
        put_pair(c, w, c.gradient, pair, pair.n * (m * slope), (u_rest, g_u * both), (v_rest, g_v * both))
        size_m = m_1 * ti.sqrt(2.0 * (g_u.dot(g_u) + g_v.dot(g_v)))
        size_b = -slope * ti.sqrt(squared(pair.weights))
        if size_m > ti.static(_SMALL[precision_of()]):
            ratio = ti.sqrt(size_b / size_m)
            for sign in ti.static((1, -1) if exact else (1,)):
                at = new_piece(c, w, sign * 0.5 + 0.0 * m)
                g = sign * m_1 * ratio
                put_pair(c, w, at, pair, pair.n * (slope / ratio), (u_rest, g_u * g), (v_rest, g_v * g))
        for turn in range(8 if ti.static(exact) else 5):
            factor, f, g = turn_of_edges(turn, u, v, N, energy, m_1, m_2)
            at = new_piece(c, w, factor)
            put_half(c, w, at, f * 0.0, u_rest, f, vector(), vector())
            put_half(c, w, at + 12, f * 0.0, v_rest, g, vector(), vector())
    return m


@ti.func
def turn_of_edges(
    turn: ti.i32,
    u: ti.template(),
    v: ti.template(),
    N: ti.template(),
    energy: ti.template(),
    m_1: ti.template(),
    m_2: ti.template(),
):
    """Squares of the area of two edges.

        d^2|N|^2 / 2 = |du x v + u x dv|^2 + 2 N . (du x dv)

    Args:
        turn: number of the square: 3 of the first term, 4 of the second, the last 2 of them negative; then d|N|^2 itself.
        u, v, N: [m], the edges, and their product.
        energy: [J], of the barrier alone.  m_1, m_2: derivatives of the mollifier by |N|^2.

    Returns:
        Factor; vectors of du and dv.
    """
    N_unit = unit_or(N, vector(0.0, 0.0, 1.0))
    s = across(N_unit)
    t = N_unit.cross(s)
    factor = 2.0 * m_1 * energy
    f, g = v.cross(N) * 2.0, N.cross(u) * 2.0
    if turn < 3:
        axis = Vec3(1.0 * (turn == 0), 1.0 * (turn == 1), 1.0 * (turn == 2))
        f, g = v.cross(axis), axis.cross(u)
    elif turn < 7:
        factor = ti.select(turn < 5, 1.0, -1.0) * length(N) * m_1 * energy
        side = ti.select(turn == 4 or turn == 5, -1.0, 1.0)
        f, g = select_parts(turn % 2 == 1, s, t), select_parts(turn % 2 == 1, t, s) * side
    else:
        factor = m_2 * energy
    return factor, f, g


@ti.func
def edges_at_rest(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32):
    """[m], the two edges of a candidate, each in its link."""
    y_0, y_1, y_2, y_3 = at_corners(c.vertex, c, w, lane, k)
    return y_1 - y_0, y_3 - y_2
