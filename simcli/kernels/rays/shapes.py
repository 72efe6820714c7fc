"""A ray against unit shapes, in the frame of the shape.

Notation: o, d origin and direction of the ray, points o + t d. Only points where the ray enters count: the far side of a
solid is never seen, and who stands in one looks out of it. Results are (t, normal), t = NEVER if nothing is met.
"""

from simcli.kernels.language import ti

BALL, BOX, FRUSTUM, CAPSULE, PLANE, MESH = range(6)
NEVER = 1e30
LEAST = 1e-12  # [1] of a component by which is divided
vec3, vec4 = ti.types.vector(3, ti.f32), ti.types.vector(4, ti.f32)


@ti.func
def met(t, normal):
    """A result."""
    return vec4(t, normal[0], normal[1], normal[2])


@ti.func
def ball(o, d):
    """The ball |x| <= 1."""
    a, b, c = d.dot(d), o.dot(d), o.dot(o) - 1.0
    root = b * b - a * c
    found = vec4(NEVER, 0.0, 0.0, 0.0)
    if root > 0.0:
        t = -(b + ti.sqrt(root)) / a
        found = met(t, o + t * d)
    return found


@ti.func
def box(o, d):
    """The box |x|, |y|, |z| <= 1, by slabs."""
    enter, leave, normal = -NEVER, NEVER, vec3(0.0)
    for k in ti.static(range(3)):
        step = d[k] if ti.abs(d[k]) > LEAST else LEAST
        side = -1.0 if step > 0.0 else 1.0
        near, far = (side - o[k]) / step, (-side - o[k]) / step
        leave = ti.min(leave, far)
        if near > enter:
            enter, normal = near, vec3(0.0)
            normal[k] = side
    return met(enter if enter < leave else NEVER, normal)


def _meets_cone(o, d, m, s):
    """a, b and c of a t^2 + 2 b t + c = 0, where the ray meets x^2 + y^2 = (m + s z)^2 (inside kernels)."""
    r = m + s * o[2]
    a = d[0] * d[0] + d[1] * d[1] - s * s * d[2] * d[2]
    return a, o[0] * d[0] + o[1] * d[1] - s * d[2] * r, o[0] * o[0] + o[1] * o[1] - r * r


@ti.func
def frustum(o, d, top):
    """The cone's part |z| <= 1 whose radius is 1 at z = -1 and `top` at z = 1: `top` 1 is a cylinder, 0 a cone.

    It is x^2 + y^2 <= (m + s z)^2 with m = (1 + top) / 2, s = (top - 1) / 2.
    """
    m, s = 0.5 * (1.0 + top), 0.5 * (top - 1.0)
    found = vec4(NEVER, 0.0, 0.0, 0.0)
    a, b, c = _meets_cone(o, d, m, s)
    root = b * b - a * c
    if root > 0.0:
        # The root of larger magnitude without cancellation, the other from their product c / a.
        q = -(b + ti.sqrt(root)) if b > 0.0 else ti.sqrt(root) - b
        for t in ti.static((q / (a if ti.abs(a) > LEAST else LEAST), c / (q if ti.abs(q) > LEAST else LEAST))):
            p = o + t * d
            normal = vec3(p[0], p[1], -s * (m + s * p[2]))
            if ti.abs(p[2]) <= 1.0 and m + s * p[2] >= 0.0 and normal.dot(d) < 0.0:
                found = met(t, normal)
    side = -1.0 if d[2] > 0.0 else 1.0
    t = (side - o[2]) / (d[2] if ti.abs(d[2]) > LEAST else LEAST)
    p = o + t * d
    rim = 1.0 if side < 0.0 else top
    if p[0] * p[0] + p[1] * p[1] < rim * rim:
        found = met(t, vec3(0.0, 0.0, side))
    return found


@ti.func
def capsule(o, d, h, top):
    """A bar about z from -h to h: its radius goes from 1 to `top`, its ends are half balls.

    Between them it is x^2 + y^2 <= (m + s z)^2 with m = (1 + top) / 2, s = (top - 1) / (2 h).
    """
    m, s = 0.5 * (1.0 + top), 0.5 * (top - 1.0) / ti.max(h, LEAST)
    found = vec4(NEVER, 0.0, 0.0, 0.0)
    a, b, c = _meets_cone(o, d, m, s)
    root = b * b - a * c
    if root > 0.0 and a > LEAST:
        t = -(b + ti.sqrt(root)) / a
        p = o + t * d
        if ti.abs(p[2]) <= h:
            found = met(t, vec3(p[0], p[1], -s * (m + s * p[2])))
    for side in ti.static((-1.0, 1.0)):
        radius = 1.0 if side < 0.0 else top
        end = ball((o - vec3(0.0, 0.0, side * h)) / radius, d / radius)
        if end[0] < found[0] and end[3] * side >= 0.0:
            found = end
    return found


@ti.func
def plane(o, d, both):
    """The half space z <= 0; seen from within, too, if `both` is 1, as a sheet."""
    found = vec4(NEVER, 0.0, 0.0, 1.0)
    if d[2] < 0.0 or (both == 1 and d[2] > 0.0):
        found = met(-o[2] / d[2], vec3(0.0, 0.0, -1.0 if d[2] > 0.0 else 1.0))
    return found
