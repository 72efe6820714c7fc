"""Light: a ray against a solid, and the colour that comes back.

One light far away, as wide as a window, and light from all around, more from above than from below.
"""

from simcli.kernels.language import ti
from simcli.kernels.rays.intersections import (
    BALL,
    BOX,
    CAPSULE,
    FRUSTUM,
    MESH,
    NEVER,
    PLANE,
    ball,
    box,
    capsule,
    frustum,
    mesh,
    plane,
    vec3,
    vec4,
)

LINE, _DARK = 0.006, 0.11  # width of a line of a plane by their distance; what it takes of the light
# Places in the table of numbers of a picture.
EYE, RIGHT, UP, FORWARD, LIGHT, LIGHT_U, LIGHT_V = range(0, 21, 3)
SPREAD, TILES_U, TILES_V, PER_U, PER_V, SHINE, PIXEL = range(21, 28)
SKY, EARTH, KEY, TOP, BOTTOM, ABOVE, N_NUMBERS = range(28, 49, 3)


@ti.func
def vec3_at(table: ti.template(), place):
    """Three numbers from a place on."""
    return vec3(table[place], table[place + 1], table[place + 2])


@ti.func
def of_solid(s, solids: ti.template(), place):
    """Three numbers of solid s."""
    return vec3(solids[s, place], solids[s, place + 1], solids[s, place + 2])


@ti.func
def in_unit_frame(
    s,
    o,
    d,
    after,
    any_does,
    solids: ti.template(),
    names: ti.template(),
    nodes: ti.template(),
    links: ti.template(),
    triangles: ti.template(),
):
    """A ray in the frame of solid s against its unit shape."""
    kind = names[s, 0]
    found = vec4(NEVER, 0.0, 0.0, 0.0)
    if kind == BALL:
        found = ball(o, d)
    elif kind == BOX:
        found = box(o, d)
    elif kind == FRUSTUM:
        found = frustum(o, d, solids[s, 13])
    elif kind == CAPSULE:
        found = capsule(o, d, solids[s, 18], solids[s, 13])
    elif kind == PLANE:
        found = plane(o, d, names[s, 1])
    elif kind == MESH:
        found = mesh(o, d, after, any_does, names[s, 1], names[s, 2], nodes, links, triangles)
    return found


@ti.func
def against(
    s,
    o,
    d,
    after,
    any_does,
    solids: ti.template(),
    names: ti.template(),
    nodes: ti.template(),
    links: ti.template(),
    triangles: ti.template(),
):
    """A ray with unit direction against solid s: (t, normal that is not of length 1), t > after; `any_does`: see `mesh`."""
    found = vec4(NEVER, 0.0, 0.0, 0.0)
    offset = of_solid(s, solids, 9) - o
    radius = solids[s, 12]
    # From the point next to the solid's middle: from the eye, roots of small and far solids lose their digits.
    nearest = offset.dot(d) if radius >= 0.0 else 0.0
    miss = nearest * d - offset
    if radius < 0.0 or miss.dot(miss) <= radius * radius:
        x, y, z = of_solid(s, solids, 0), of_solid(s, solids, 3), of_solid(s, solids, 6)
        local = in_unit_frame(
            s,
            vec3(x.dot(miss), y.dot(miss), z.dot(miss)),
            vec3(x.dot(d), y.dot(d), z.dot(d)),
            after - nearest,
            any_does,
            solids,
            names,
            nodes,
            links,
            triangles,
        )
        t = nearest + local[0]
        if local[0] < NEVER and t > after:
            normal = local[1] * x + local[2] * y + local[3] * z
            found = vec4(t, normal[0], normal[1], normal[2])
    return found


@ti.func
def line_share(x, width, distance):
    """Share of a pixel that lines of a plane cover along one coordinate; `width` of the pixel.

    Lines are at least most of a pixel wide, and vanish where pixels come near to their distance.
    """
    line = ti.max(LINE * distance, 0.7 * width)
    near = ti.abs(x / distance - ti.round(x / distance)) * distance
    share = ti.max(0.0, ti.min(1.0, (0.5 * (line + width) - near) / width))
    return share * ti.max(0.0, 1.0 - 3.0 * width / distance)


@ti.func
def ruled(s, p, normal, d, depth, numbers: ti.template(), solids: ti.template()):
    """What the lines of the plane s leave of its colour at p; each fifth is darker."""
    offset, left = p - of_solid(s, solids, 9), 1.0
    slant = ti.max(0.05, -d.dot(normal))
    for k in ti.static(range(2)):
        axis = of_solid(s, solids, 3 * k).normalized()
        lean = ti.abs((d - d.dot(normal) * normal).dot(axis))
        width = depth * numbers[PIXEL] * (1.0 + lean * (1.0 / slant - 1.0))
        left *= 1.0 - _DARK * line_share(axis.dot(offset), width, solids[s, 18])
        left *= 1.0 - _DARK * line_share(axis.dot(offset), width, 5.0 * solids[s, 18])
    return left


@ti.func
def colour_of(s, p, normal, d, seen, depth, numbers: ti.template(), solids: ti.template(), names: ti.template()):
    """Linear light that comes from the point p of solid s against d."""
    base = of_solid(s, solids, 14)
    light = vec3_at(numbers, LIGHT)
    if names[s, 0] == PLANE and solids[s, 18] > 0.0:
        base *= ruled(s, p, normal, d, depth, numbers, solids)
    up = 0.5 + 0.5 * normal.dot(vec3_at(numbers, ABOVE))
    ambient = up * vec3_at(numbers, SKY) + (1.0 - up) * vec3_at(numbers, EARTH)
    key = ti.max(0.0, normal.dot(light)) * seen
    found = base * (ambient + key * vec3_at(numbers, KEY))
    if names[s, 0] != PLANE:
        half = ti.max(0.0, normal.dot((light - d).normalized()))
        for _ in ti.static(range(4)):
            half *= half
        found += numbers[SHINE] * seen * half * half * half * vec3_at(numbers, KEY)  # the 48th power of the cosine
    return found


@ti.func
def background(share, numbers: ti.template()):
    """Linear light from behind everything; `share` 0 at the top, 1 at the bottom."""
    return (1.0 - share) * vec3_at(numbers, TOP) + share * vec3_at(numbers, BOTTOM)


@ti.func
def encoded(linear):
    """Linear light as sRGB, 0 to 1.

    Source: IEC 61966-2-1. No deviation.
    """
    x = ti.max(0.0, ti.min(1.0, linear))
    return 12.92 * x if x <= 0.0031308 else 1.055 * ti.pow(x, 1.0 / 2.4) - 0.055
