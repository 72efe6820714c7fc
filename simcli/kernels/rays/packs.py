"""Eight rays that start at one point, in packs: whether each is blocked by a unit shape, in the frame of the shape.

Rays to the lamp are most of a shadow's work, and are asked no more than this: no normal, no order. As lanes of vectors
they take a fifth of the time of one after the other. The rays of the eye, of which each goes its own way, stay with
`shapes`. Notation as there; o and d are three packs each, and `after` is one. A shape without hollows is entered once, so
that any place of entry beyond `after` will do.
"""

from simcli.kernels.language import ti
from simcli.kernels.rays.shapes import BALL, BOX, CAPSULE, FRUSTUM, LEAST, NEVER

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
