"""Laws of a row, of a contact and of its spins: projections, and functions F(x, w) whose root is the law, with their slopes.

Everything is in m/s: impulses are multiplied by d. Where a projection does not act, F is w itself, not x - (x - w/d) d,
which would lose the digits of w that d x has more.

Notation: F_x, F_w derivatives, P projection.
Source: Alart and Curnier (1991); Fukushima, Luo and Tseng (2002).
Deviation: without friction the functions on the cone are the scalar ones of the normal, and the tangents are free.
"""

from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts
from simcli.kernels.language.values import Mat3, Vec3

UNBOUNDED = 1e30  # [N s], a bound beyond is none
LEAST_FRICTION = 1e-6  # of the functions on the cone: they divide by it
ROUND_TIP = 0.1  # smoothing of the sliding speed, relative to that of the cone


def clipped(x, lower, upper):
    """The nearest value to x within its bounds."""
    return select(x < lower, lower + x * 0.0, select(x > upper, upper + x * 0.0, x))


def on_cone(x: Vec3, mu) -> tuple:
    """Projection on |x_t| <= mu x_n, and whether x was there.

    The test of x_n >= 0 is not idle: without friction |x_t| <= mu x_n holds for any x_n where x_t is zero.
    """
    n, a, b = x.parts
    r = local(ti.sqrt(a * a + b * b))
    inside = local((r <= mu * n) & (n >= 0.0))
    height = select(mu * r <= -n, n * 0.0, (n + mu * r) / (1.0 + mu * mu))
    shrink = select(r > 0.0, mu * height / select(r > 0.0, r, r * 0.0 + 1.0), r * 0.0)
    return Vec3(select(inside, n, height), select(inside, a, shrink * a), select(inside, b, shrink * b)), inside


def natural_row(x, w, d, lower, upper):
    """The natural map d (x - clip(x - w/d)) of a row, and whether no bound acts; the Alart-Curnier function is the same."""
    y = local(x - w / d)
    above, below = local(y > upper), local(y < lower)
    value = select(above, d * (x - upper), select(below, d * (x - lower), w))
    return value, local((above == 0) & (below == 0))


def natural_contact(x: Vec3, w: Vec3, d, mu) -> Vec3:
    """The natural map d (x - P(x - u/d)) of a contact, u = w + mu |w_t| n (de Saxce)."""
    n, a, b = w.parts
    u = Vec3(n + mu * ti.sqrt(a * a + b * b), a, b)
    projected, inside = on_cone(x - u * (1.0 / d), mu)
    return select_parts(inside, u, (x - projected) * d)


def fischer(a, b, sigma, tiny):
    """The smoothed function a + b - sqrt(a^2 + b^2 + 2 sigma^2), and its slopes."""
    root = local(ti.sqrt(a * a + b * b + (2.0 * sigma * sigma + tiny)))
    return local(a + b - root), local(1.0 - a / root), local(1.0 - b / root)


def fischer_row(x, w, d, lower, upper, sigma, tiny):
    """F, F_x and F_w of a bounded row, one function in the other (Billups)."""
    room, has_upper = local(d * (upper - x)), local(upper < UNBOUNDED)
    value, by_room, by_w = fischer(room, -w, sigma, tiny)
    zero = local(d * 0.0)
    inner, inner_x = select(has_upper, -value, w), select(has_upper, d * by_room, zero)
    inner_w = select(has_upper, by_w, zero + 1.0)
    has_lower = local(lower > -UNBOUNDED)
    value, by_rise, by_inner = fischer(local(d * (x - lower)), inner, sigma, tiny)
    return (
        select(has_lower, value, inner),
        select(has_lower, d * by_rise + by_inner * inner_x, inner_x),
        select(has_lower, by_inner * inner_w, inner_w),
    )


def curnier(x: Vec3, w: Vec3, metric: Vec3, mu, tiny) -> tuple[Vec3, Mat3, Mat3]:
    """F, F_x and F_w of a contact after Alart and Curnier: what the Coulomb disc of the present normal impulse leaves."""
    (dn, dt, _), (xn, xa, xb), (wn, wa, wb) = metric.parts, x.parts, w.parts
    zero = local(dn * 0.0)
    pressed = local(xn - wn / dn)
    touches = local(pressed > 0.0)
    bound = local(mu * select(touches, pressed, zero))
    ya, yb = local(xa - wa / dt), local(xb - wb / dt)
    r = local(ti.sqrt(ya * ya + yb * yb))
    sticks = local((r <= bound) & (bound > 0.0))
    inverse = local(1.0 / ti.max(r, tiny))
    a, b = local(ya * inverse), local(yb * inverse)
    f = local(bound * inverse)
    F = Vec3(select(touches, wn, dn * xn), select(sticks, wa, dt * (xa - f * ya)), select(sticks, wb, dt * (xb - f * yb)))
    one = zero + 1.0
    d0 = select(touches, one, zero)
    pull = select(touches & (sticks == 0), zero + mu, zero)
    aa, ab, bb = (select(sticks, s, f * t) for s, t in ((one, 1.0 - a * a), (zero, -(a * b)), (one, 1.0 - b * b)))
    ratio = local(dt / dn)
    a, b = local(pull * a), local(pull * b)
    F_x = Mat3(dn * (1.0 - d0), zero, zero, -dt * a, dt * (1.0 - aa), -dt * ab, -dt * b, -dt * ab, dt * (1.0 - bb))
    F_w = Mat3(d0, zero, zero, ratio * a, aa, ab, ratio * b, ab, bb)
    return F, F_x, F_w


def on_discs(x: Vec3, torsion, rolling, tiny) -> Vec3:
    """Projection on |x_n| <= torsion, |x_t| <= rolling."""
    n, a, b = x.parts
    r = local(ti.sqrt(a * a + b * b))
    shrink = select(r > rolling, rolling / ti.max(r, tiny), r * 0.0 + 1.0)
    return Vec3(clipped(n, -torsion, torsion), shrink * a, shrink * b)


def _disc(x: list, w: list, d, bound, sigma, tiny) -> tuple[list, object, list]:
    """F, f and unit times sqrt(g) of |x| <= bound, x = - bound w/|w| where w is not 0; F_w = f (I - g u u^T), u = y/|y|.

    F = d (x - f y),  y = x - w/d,  f = bound/m,  m = max(bound, |y|), smoothed by 2 sigma/d
    """
    y = [local(a - b / d) for a, b in zip(x, w, strict=True)]
    r = local(ti.sqrt(sum(part * part for part in y)))
    smooth = local(sigma > 0.0)
    sticks = local((r <= bound) & (bound > 0.0) & (smooth == 0))
    blur = local(2.0 * sigma / d)
    root = local(ti.sqrt((r - bound) * (r - bound) + blur * blur))
    m = local(ti.max(select(smooth, 0.5 * (r + bound + root), ti.max(r, bound)), tiny))
    slope = select(smooth, 0.5 * (1.0 + (r - bound) / ti.max(root, tiny)), r * 0.0 + 1.0)
    f = local(select(sticks, r * 0.0 + 1.0, bound / m))
    radial = local(select(sticks, r * 0.0, ti.sqrt(select(smooth, r / m * slope, slope)) / ti.max(r, tiny)))
    F = [select(sticks, b, d * (a - f * part)) for a, b, part in zip(x, w, y, strict=True)]
    return F, f, [local(part * radial) for part in y]


def discs(x: Vec3, w: Vec3, metric: Vec3, torsion, rolling, sigma, tiny) -> tuple[Vec3, Mat3, Mat3]:
    """F, F_x and F_w of the spins of a contact: an interval about its normal, a disc about its tangents.

    Args:
        metric: d about the normal, and one of both tangents.  sigma: [rad/s], smoothing; 0 for the natural map itself.
    """
    (dn, dt, _), (xn, xa, xb), (wn, wa, wb) = metric.parts, x.parts, w.parts
    (Fn,), fn, (un,) = _disc([xn], [wn], dn, torsion, sigma, tiny)
    (Fa, Fb), ft, (a, b) = _disc([xa, xb], [wa, wb], dt, rolling, sigma, tiny)
    zero = local(dn * 0.0)
    nn, aa, ab, bb = (local(part) for part in (fn * (1.0 - un * un), ft * (1.0 - a * a), -(ft * a * b), ft * (1.0 - b * b)))
    F_x = Mat3(dn * (1.0 - nn), zero, zero, zero, dt * (1.0 - aa), -dt * ab, zero, -dt * ab, dt * (1.0 - bb))
    return Vec3(Fn, Fa, Fb), F_x, Mat3(nn, zero, zero, zero, aa, ab, zero, ab, bb)


def arrow(a: Vec3) -> Mat3:
    """The matrix of the Jordan product with a."""
    n, x, y = a.parts
    zero = local(n * 0.0)
    return Mat3(n, x, y, x, n, zero, y, zero, n)


def fischer_cone(x: Vec3, w: Vec3, metric: Vec3, mu, sigma, floor, tiny) -> tuple[Vec3, Mat3, Mat3]:
    """F, F_x and F_w of a contact on the second-order cone, smoothed.

    p + q - sqrt(p o p + q o q + 2 sigma^2 e),  p = d (mu x_n, x_t),  q = (w_n/mu + u, w_t),  u^2 = |w_t|^2 + (sigma/10)^2
    """
    (_, _, d), (xn, xa, xb), (wn, wa, wb) = metric.parts, x.parts, w.parts
    slippery = local(mu * (d * 0.0 + 1.0) <= 0.0)
    mu = local(ti.max(mu, LEAST_FRICTION))
    u = local(ti.sqrt(wa * wa + wb * wb + (ROUND_TIP * sigma * (ROUND_TIP * sigma) + tiny)))
    p, q = Vec3(d * mu * xn, d * xa, d * xb), Vec3(wn / mu + u, wa, wb)
    (p0, p1, p2), (q0, q1, q2) = p.parts, q.parts
    z0 = local(p.dot(p) + q.dot(q) + 2.0 * sigma * sigma)
    z1, z2 = local(2.0 * (p0 * p1 + q0 * q1)), local(2.0 * (p0 * p2 + q0 * q2))
    size = local(ti.sqrt(z1 * z1 + z2 * z2))
    small = local(ti.sqrt(ti.max(z0 - size, 0.0) + floor * floor))
    large = local(ti.sqrt(z0 + size + floor * floor))
    inverse = local(1.0 / ti.max(size, tiny))
    s0, half = local(0.5 * (small + large)), local(0.5 * (large - small))
    root = Vec3(s0, half * z1 * inverse, half * z2 * inverse)
    F = p + q - root
    _, s1, s2 = root.parts
    over = local(1.0 / (small * large))
    flat, tilt = local(1.0 / s0), local(over / s0)
    L = Mat3(
        s0 * over,
        -s1 * over,
        -s2 * over,
        -s1 * over,
        flat + s1 * s1 * tilt,
        s1 * s2 * tilt,
        -s2 * over,
        s1 * s2 * tilt,
        flat + s2 * s2 * tilt,
    )
    zero = local(d * 0.0)
    one = local(zero + 1.0)
    unit = Mat3(one, zero, zero, zero, one, zero, zero, zero, one)
    F_x = (unit - L * arrow(p)) * Mat3(d * mu, zero, zero, zero, d, zero, zero, zero, d)
    F_w = (unit - L * arrow(q)) * Mat3(1.0 / mu, wa / u, wb / u, zero, one, zero, zero, zero, one)
    value, by_x, by_w = fischer(d * xn, wn, sigma, tiny)
    bare = (
        Vec3(value, d * xa, d * xb),
        Mat3(d * by_x, zero, zero, zero, d, zero, zero, zero, d),
        Mat3(by_w, zero, zero, zero, zero, zero, zero, zero, zero),
    )
    return tuple(select_parts(slippery, a, b) for a, b in zip(bare, (F, F_x, F_w), strict=True))
