"""A ray against unit shapes and the triangles of a mesh, in their frames; and eight rays that start at one point, in packs.

Notation: o, d origin and direction of the ray, points o + t d. Only points where the ray enters count: the far side of a
solid is never seen, and who stands in one looks out of it. Results are (t, normal), t = NEVER if nothing is met. Triangles
are found by way of boxes about them (solids.py).

Rays to the lamp are most of a shadow's work, and are asked no more than whether each is blocked: no normal, no order. As
lanes of vectors they take a fifth of the time of one after the other. The rays of the eye, of which each goes its own way,
are single. Of packs o and d are three packs each, and `after` is one. A shape without hollows is entered once, so that any
place of entry beyond `after` will do.
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


@ti.func
def _meets_cone(o, d, m, s):
    """a, b and c of a t^2 + 2 b t + c = 0, where the ray meets x^2 + y^2 = (m + s z)^2."""
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


PACK = 8
pack = ti.types.vector(PACK, ti.f32)


@ti.func
def _not_small(x):
    """A pack by which can be divided."""
    return ti.select(ti.abs(x) > LEAST, x, LEAST)


@ti.func
def _enters_ball(ox, oy, oz, dx, dy, dz, after):
    """The ball |x| <= 1: 1 where it is entered, else 0. And the height z at which."""
    a, b = dx * dx + dy * dy + dz * dz, ox * dx + oy * dy + oz * dz
    root = b * b - a * (ox * ox + oy * oy + oz * oz - 1.0)
    t = -(b + ti.sqrt(ti.max(root, 0.0))) / a
    return ti.select((root > 0.0) & (t > after), pack(1.0), pack(0.0)), oz + t * dz


@ti.func
def _enters_box(ox, oy, oz, dx, dy, dz, after):
    """The box |x|, |y|, |z| <= 1, by slabs."""
    enter, leave = pack(-NEVER), pack(NEVER)
    for o, d in ti.static(((ox, dx), (oy, dy), (oz, dz))):
        one = 1.0 / _not_small(d)
        enter = ti.max(enter, ti.min((-1.0 - o) * one, (1.0 - o) * one))
        leave = ti.min(leave, ti.max((-1.0 - o) * one, (1.0 - o) * one))
    return ti.select((enter < leave) & (enter > after), pack(1.0), pack(0.0))


@ti.func
def _packs_meet_cone(ox, oy, oz, dx, dy, dz, m, s):
    """a, b and c of a t^2 + 2 b t + c = 0, where rays meet x^2 + y^2 = (m + s z)^2, and b^2 - a c."""
    r = m + s * oz
    a, b = dx * dx + dy * dy - s * s * dz * dz, ox * dx + oy * dy - s * dz * r
    c = ox * ox + oy * oy - r * r
    return a, b, c, b * b - a * c


@ti.func
def _enters_frustum(ox, oy, oz, dx, dy, dz, after, top):
    """The cone's part |z| <= 1 whose radius is 1 at z = -1 and `top` at z = 1."""
    m, s = 0.5 * (1.0 + top), 0.5 * (top - 1.0)
    a, b, c, root = _packs_meet_cone(ox, oy, oz, dx, dy, dz, m, s)
    width, found = ti.sqrt(ti.max(root, 0.0)), pack(0.0)
    q = ti.select(b > 0.0, -(b + width), width - b)
    for t in ti.static((q / _not_small(a), c / _not_small(q))):
        z = oz + t * dz
        inward = (ox + t * dx) * dx + (oy + t * dy) * dy - s * (m + s * z) * dz < 0.0
        is_side = (root > 0.0) & (ti.abs(z) <= 1.0) & (m + s * z >= 0.0) & inward
        found = ti.select(is_side & (t > after), 1.0, found)
    side = ti.select(dz > 0.0, pack(-1.0), pack(1.0))
    t = (side - oz) / _not_small(dz)
    x, y, rim = ox + t * dx, oy + t * dy, ti.select(side < 0.0, 1.0, top)
    return ti.select((x * x + y * y < rim * rim) & (t > after), 1.0, found)


@ti.func
def _enters_capsule(ox, oy, oz, dx, dy, dz, after, h, top):
    """A bar about z from -h to h: its radius goes from 1 to `top`, its ends are half balls."""
    m, s = 0.5 * (1.0 + top), 0.5 * (top - 1.0) / ti.max(h, LEAST)
    a, b, _, root = _packs_meet_cone(ox, oy, oz, dx, dy, dz, m, s)
    t = -(b + ti.sqrt(ti.max(root, 0.0))) / _not_small(a)
    found = ti.select((root > 0.0) & (a > LEAST) & (ti.abs(oz + t * dz) <= h) & (t > after), pack(1.0), pack(0.0))
    for side in ti.static((-1.0, 1.0)):
        radius = 1.0 if side < 0.0 else top
        r = 1.0 / radius
        is_met, z = _enters_ball(ox * r, oy * r, (oz - side * h) * r, dx * r, dy * r, dz * r, after)
        found = ti.select(z * side >= 0.0, ti.max(found, is_met), found)
    return found


@ti.func
def pack_enters(kind, ox, oy, oz, dx, dy, dz, after, top, length):
    """1 for each ray that enters a unit shape without hollows beyond `after`, else 0."""
    found = pack(0.0)
    if kind == BALL:
        found, _ = _enters_ball(ox, oy, oz, dx, dy, dz, after)
    elif kind == BOX:
        found = _enters_box(ox, oy, oz, dx, dy, dz, after)
    elif kind == FRUSTUM:
        found = _enters_frustum(ox, oy, oz, dx, dy, dz, after, top)
    elif kind == CAPSULE:
        found = _enters_capsule(ox, oy, oz, dx, dy, dz, after, length, top)
    return found


_EDGE = 1e-6  # [1] of barycentric coordinates: neighbours overlap by so much, for no ray may slip between them


@ti.func
def enters(o, inverse, nodes: ti.template(), n, nearest):
    """Whether a ray meets the box of node n before `nearest`; `inverse` is 1 / d."""
    enter, leave = -NEVER, nearest
    for k in ti.static(range(3)):
        one, other = (nodes[n, k] - o[k]) * inverse[k], (nodes[n, 3 + k] - o[k]) * inverse[k]
        enter, leave = ti.max(enter, ti.min(one, other)), ti.min(leave, ti.max(one, other))
    return enter <= leave


@ti.func
def triangle(o, d, triangles: ti.template(), f):
    """Triangle f from either side: (t, barycentric coordinates of its second and third corner, 0).

    Source: Moeller and Trumbore 1997. No deviation but EDGE.
    """
    a = vec3(triangles[f, 0], triangles[f, 1], triangles[f, 2])
    u = vec3(triangles[f, 3], triangles[f, 4], triangles[f, 5])
    v = vec3(triangles[f, 6], triangles[f, 7], triangles[f, 8])
    p = d.cross(v)
    det = u.dot(p)
    found = vec4(NEVER, 0.0, 0.0, 0.0)
    if ti.abs(det) > LEAST:
        s = o - a
        q = s.cross(u)
        x, y = s.dot(p) / det, d.dot(q) / det
        if x >= -_EDGE and y >= -_EDGE and x + y <= 1.0 + _EDGE:
            found = vec4(v.dot(q) / det, x, y, 0.0)
    return found


@ti.func
def mesh(o, d, after, any_does, first, last, nodes: ti.template(), links: ti.template(), triangles: ti.template()):
    """The nearest triangle with t > after, of the mesh whose nodes are first to last - 1; its normal towards the ray.

    If any one does (1), the walk ends with the first that is found. Nodes stand in the order of a walk in depth, so that
    no stack is needed: a box that is missed tells where to go on.
    """
    found = vec4(NEVER, 0.0, 0.0, 0.0)
    face = -1
    inverse = vec3(0.0)
    for k in ti.static(range(3)):
        inverse[k] = 1.0 / (d[k] if ti.abs(d[k]) > LEAST else LEAST)
    n = first
    while n < last:
        goes_on = links[n, 0]
        if enters(o, inverse, nodes, n, found[0]):
            goes_on = n + 1
            for f in range(links[n, 1], links[n, 1] + links[n, 2]):
                one = triangle(o, d, triangles, f)
                if after < one[0] < found[0]:
                    found, face = one, f
        n = goes_on if any_does == 0 or face < 0 else last
    if face >= 0:
        normal = shading_normal(triangles, face, found[1], found[2])
        found = met(found[0], -normal if normal.dot(d) > 0.0 else normal)
    return found


@ti.func
def shading_normal(triangles: ti.template(), f, x, y):
    """The normal at a point of triangle f, between those of its corners."""
    normal = vec3(0.0)
    for k in ti.static(range(3)):
        normal[k] = (1.0 - x - y) * triangles[f, 9 + k] + x * triangles[f, 12 + k] + y * triangles[f, 15 + k]
    return normal
