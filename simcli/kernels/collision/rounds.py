"""Half spaces against anything, spheres and capsules, a ball against a box or a cylinder: closed forms."""

from simcli.kernels.collision.collider import BALL_BARREL, BALL_BOX, RING
from simcli.kernels.collision.features import feature, ring_at
from simcli.kernels.collision.gjk import support
from simcli.kernels.collision.points import add_candidate, tolerance
from simcli.kernels.device.lanes import across, length, one, sign, unit_or, vector, way_between
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of
from simcli.kernels.language.values import Vec3

LOWEST = 1 << 20  # feature of the lowest point, where it is no corner


@ti.func
def height_above(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32):
    """[m], distance of the lowest point of the core of b from the plane a."""
    n = one(c.rotation, w, lane, a).column(2)
    x = way_between(c, w, lane, a, b)
    return n.dot(x + support(c, w, lane, b, n * -1.0))


@ti.func
def plane_pair(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, reach: ti.template()):
    """The corners of the feature of b that faces the plane a, and the lowest point if no corner is as low.

    Args:
        reach: [m], largest gap of the core of b.

    Writes: c.notes
    """
    n = one(c.rotation, w, lane, a).column(2)
    x = way_between(c, w, lane, a, b)
    tie = tolerance(c, w, lane, a, b)
    if n.dot(x) - one(c.bound, w, lane, b) <= reach:
        p = x + support(c, w, lane, b, n * -1.0)
        gap = n.dot(p)
        if gap <= reach:
            count, number, _normal = feature(c, w, lane, b, n * -1.0, 0, x)
            least = gap + 2.0 * tie
            for k in range(count):
                q = c.notes.value(w, ring_at(c, 0) + k * RING, Vec3)
                high = n.dot(q)
                if high <= reach:
                    least = ti.min(least, high)
                    add_candidate(c, w, q - n * high, n, high, number * 64 + k)
            if gap < least - tie:
                add_candidate(c, w, p - n * gap, n, gap, LOWEST + number)


_PARALLEL = 0.05  # sine of the angle below which two segments touch in two points
_MEET = {"float64": 1e-13, "float32": 1e-6}  # [1] of the size: the difference of nearer points has no direction
_SAME = {"float64": 1e-10, "float32": 1e-4}  # its square, below which the crossing of two lines is rounding


@ti.func
def clamp(x: ti.template(), limit: ti.template()):
    """The number of [-limit, limit] that is nearest to x."""
    return ti.min(ti.max(x, -limit), limit)


@ti.func
def add_if_near(
    c: ti.template(), w: ti.i32, p: ti.template(), q: ti.template(), n: ti.template(), reach: ti.template(), feature: ti.i32
):
    """Note a point of contact unless the cores p and q are farther than `reach` apart along n."""
    gap = n.dot(q - p)
    if gap <= reach:
        add_candidate(c, w, p, n, gap, feature)


@ti.func
def round_pair(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, reach: ti.template()):
    """Segments p(s) = s u, q(t) = x + t v with |s| <= l_a, |t| <= l_b: nearest points; both ends where parallel.

    Args:
        reach: [m], largest distance of the cores.

    Source: nearest points of two segments by clamping (Ericson 2005, 5.1.9), written for centred segments.
    """
    x = way_between(c, w, lane, a, b)
    half_a = one(c.half, w, lane, a)
    half_b = one(c.half, w, lane, b)
    l_a = half_a.parts[2] - half_a.parts[0]
    l_b = half_b.parts[2] - half_b.parts[0]
    u = one(c.rotation, w, lane, a).column(2)
    v = one(c.rotation, w, lane, b).column(2)
    uv = u.dot(v)
    ux = u.dot(x)
    vx = v.dot(x)
    turn = u.cross(v)
    det = turn.dot(turn)
    s = clamp(ux, l_a)
    if det > ti.static(_SAME[precision_of()]):
        s = clamp((ux - uv * vx) / det, l_a)
    t = clamp(s * uv - vx, l_b)
    s = clamp(ux + t * uv, l_a)
    p = u * s
    q = x + v * t
    other = vector(0.0, 0.0, 1.0)  # where the cores meet: across both
    if l_a > 0.0 and l_b > 0.0 and det > ti.static(_SAME[precision_of()]):
        other = turn * (1.0 / length(turn))
    elif l_a > 0.0:
        other = across(u)
    elif l_b > 0.0:
        other = across(v)
    n = other * 1.0
    if (q - p).dot(q - p) > ti.static(_MEET[precision_of()]) ** 2 * (half_a.dot(half_a) + half_b.dot(half_b)):
        n = unit_or(q - p, other)
    tie = tolerance(c, w, lane, a, b)
    least = n.dot(q - p)
    low = ti.max(ux - ti.abs(uv) * l_b, -l_a)  # where B begins and ends along A
    high = ti.min(ux + ti.abs(uv) * l_b, l_a)
    is_deeper = True
    if det <= _PARALLEL * _PARALLEL and high - low > tie:
        for end in range(2):
            s = ti.select(end == 0, low, high)
            t = clamp((s - ux) * uv, l_b)
            add_if_near(c, w, u * s, x + v * t, n, reach, 1 + end)
            if n.dot(x + v * t - u * s) <= least + tie:
                is_deeper = False
    if is_deeper:
        add_if_near(c, w, p, q, n, reach, 0)


@ti.func
def ball_pair(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, reach: ti.template(), kind: ti.i32):
    """The centre of a ball against a box or a cylinder: the nearest point of the surface.

    Args:
        kind: BALL_BOX or BALL_BARREL.
        reach: [m], largest distance of the centre.
    """
    x = way_between(c, w, lane, a, b)
    R = one(c.rotation, w, lane, a)
    half = one(c.half, w, lane, a)
    y = R.transposed_times(x)
    p = vector()
    n = vector(0.0, 0.0, 1.0)
    face = 0
    if ti.static(c.serves[BALL_BOX]):
        if kind == BALL_BOX:
            p, n, face = nearest_on_box(half, y)
    if ti.static(c.serves[BALL_BARREL]):
        if kind == BALL_BARREL:
            p, n, face = nearest_on_barrel(half, y)
    n = R * n
    add_if_near(c, w, R * p, x, n, reach, face)


@ti.func
def nearest_on_box(half: ti.template(), y: ti.template()):
    """Point of a box's surface that is nearest to y, outward normal there, and a number of the face or corner."""
    p = Vec3(clamp(y.parts[0], half.parts[0]), clamp(y.parts[1], half.parts[1]), clamp(y.parts[2], half.parts[2]))
    off = y - p
    n = vector()
    region = 0
    for k in ti.static(range(3)):
        region += ti.static(3**k) * (ti.cast(off.parts[k] > 0.0, ti.i32) - ti.cast(off.parts[k] < 0.0, ti.i32) + 1)
    if off.dot(off) > 0.0:
        n = unit_or(off, vector(0.0, 0.0, 1.0))
    else:
        depth = half.parts[2] - ti.abs(y.parts[2])
        nearest = 2
        for k in ti.static(range(2)):
            if half.parts[k] - ti.abs(y.parts[k]) < depth:
                depth = half.parts[k] - ti.abs(y.parts[k])
                nearest = k
        region = 27 + nearest
        for k in ti.static(range(3)):
            if nearest == k:
                n.parts[k] = sign(y.parts[k])
                p.parts[k] = sign(y.parts[k]) * half.parts[k]
    return p, n, region


@ti.func
def nearest_on_barrel(half: ti.template(), y: ti.template()):
    """Point of a cylinder's surface that is nearest to y, outward normal there, and 0 for a cap, 1 the side, 2 the rim."""
    r = half.parts[0]
    h = half.parts[2]
    radial = Vec3(y.parts[0], y.parts[1], 0.0)
    far = length(radial)
    out = unit_or(radial, vector(1.0, 0.0, 0.0))
    z = clamp(y.parts[2], h)
    p = out * ti.min(far, r) + vector(0.0, 0.0, 1.0) * z
    n = out
    feature = 1
    off = out * ti.max(far - r, 0.0) + vector(0.0, 0.0, 1.0) * (y.parts[2] - z)
    if far > r or ti.abs(y.parts[2]) > h:
        n = unit_or(off, out)
        if ti.abs(y.parts[2]) > h:
            feature = ti.select(far > r, 2, 0)
    elif h - ti.abs(y.parts[2]) < r - far:
        n = vector(0.0, 0.0, 1.0) * sign(y.parts[2])
        p = Vec3(y.parts[0], y.parts[1], sign(y.parts[2]) * h)
        feature = 0
    else:
        p = out * r + vector(0.0, 0.0, 1.0) * y.parts[2]
    return p, n, feature
