"""Shadows: how much of the lamp a point sees, past thin round solids in closed form, past others by packs of rays."""

from simcli.kernels.language import ti
from simcli.kernels.rays.intersections import MESH, NEVER, PACK, pack, pack_enters, vec3
from simcli.kernels.rays.lit import (
    LIGHT,
    LIGHT_U,
    LIGHT_V,
    PER_U,
    PER_V,
    SPREAD,
    TILES_U,
    TILES_V,
    against,
    of_solid,
    vec3_at,
)

BIAS = 2e-4  # [1]: rays to the light start so far above the surface
_REACH = 1.02  # of the square of a distance: the cone of the lamp is wider than its middle plane by the square of its spread
_ABOVE = 1.1  # of the tangent of half the lamp's angle: all of it is above the horizon


@ti.func
def disc_share(x):
    """Share of a disc of radius 1 on one side of a chord at x."""
    u = ti.max(-1.0, ti.min(1.0, x))
    return 0.5 + (u * ti.sqrt(1.0 - u * u) + ti.asin(u)) / 3.14159265


@ti.func
def behind_rod(s, p, numbers: ti.template(), solids: ti.template()):
    """Share of the lamp that the thin round solid s hides from p: of its disc, a strip with ends.

    Rays would need to be many, for the strip is thinner than the lamp. That the ends are cut by a second strip across is
    exact where they lie outside of the disc, or the disc within the first strip.
    """
    light = vec3_at(numbers, LIGHT)
    half = of_solid(s, solids, 19)
    foot = of_solid(s, solids, 9) - half - p
    whole = 2.0 * half
    at, rise = foot.dot(light), whole.dot(light)
    # Only the part before p, towards the lamp.
    begin = ti.max(0.0, ti.min(1.0, (BIAS - at) / rise)) if rise > 0.0 and at < BIAS else 0.0
    end = ti.max(0.0, ti.min(1.0, (BIAS - at) / rise)) if rise < 0.0 and at + rise < BIAS else 1.0
    found = 0.0
    if at + begin * rise >= 0.5 * BIAS or at + end * rise >= 0.5 * BIAS:
        flat, across = foot - at * light, whole - rise * light
        length = ti.max(1e-9, across.norm())
        axis = across / length
        y = -flat.dot(axis)  # of p along the strip, from the foot
        near = ti.max(begin, ti.min(end, y / length))
        radius = solids[s, 22] + near * (solids[s, 23] - solids[s, 22])
        x = (flat + y * axis).norm()
        wide = numbers[SPREAD] * ti.max(BIAS, at + near * rise)
        if x - radius < wide:  # else the strip passes beside the disc
            found = disc_share((x + radius) / wide) - disc_share((x - radius) / wide)
            found *= disc_share((end * length + radius - y) / wide) - disc_share((begin * length - radius - y) / wide)
    return found


@ti.func
def is_before_lamp(s, p, numbers: ti.template(), solids: ti.template()):
    """Whether the ball about solid s, with the round ends of a rod, can hide a part of the lamp from p."""
    offset, radius = of_solid(s, solids, 9) - p, solids[s, 12] + solids[s, 22]
    along = offset.dot(vec3_at(numbers, LIGHT))
    reach = radius + numbers[SPREAD] * ti.max(0.0, along)
    return along > -radius and offset.dot(offset) - along * along < reach * reach * _REACH


@ti.func
def behind_rods(own, spared, p, numbers: ti.template(), first, last, light_solid: ti.template(), solids: ti.template()):
    """What is left of the lamp by thin round solids other than `own`; and where in the list others that hide a part stand.

    These are the place of the first, and one past the last; `spared` is none of them.
    """
    left, begin, end = 1.0, last, first
    for m in range(first, last):
        s = light_solid[m]
        is_rod = solids[s, 22] != 0.0
        if s != (own if is_rod else spared) and is_before_lamp(s, p, numbers, solids):
            if is_rod:
                left *= 1.0 - solids[s, 24] * behind_rod(s, p, numbers, solids)
            else:
                begin, end = ti.min(begin, m), m + 1
    return left, begin, end


@ti.func
def blocked(s, p, dx, dy, dz, solids: ti.template(), names: ti.template()):
    """1 for each ray of a pack from p that meets solid s, which has no hollows, else 0."""
    offset = of_solid(s, solids, 9) - p
    x, y, z = of_solid(s, solids, 0), of_solid(s, solids, 3), of_solid(s, solids, 6)
    nearest = offset[0] * dx + offset[1] * dy + offset[2] * dz  # rays start next to the solid's middle, as in `against`
    ux, uy = x[0] * dx + x[1] * dy + x[2] * dz, y[0] * dx + y[1] * dy + y[2] * dz
    uz = z[0] * dx + z[1] * dy + z[2] * dz
    return pack_enters(
        names[s, 0],
        nearest * ux - x.dot(offset),
        nearest * uy - y.dot(offset),
        nearest * uz - z.dot(offset),
        ux,
        uy,
        uz,
        BIAS - nearest,
        solids[s, 13],
        solids[s, 18],
    )


@ti.func
def blocked_by_mesh(
    s,
    p,
    lamp: ti.template(),
    group,
    k,
    solids: ti.template(),
    names: ti.template(),
    nodes: ti.template(),
    links: ti.template(),
    triangles: ti.template(),
):
    """The same of a mesh: one ray after the other."""
    found = pack(0.0)
    for lane in range(PACK):
        d = vec3(lamp[group, 0, k + lane], lamp[group, 1, k + lane], lamp[group, 2, k + lane])
        if against(s, p, d, BIAS, 1, solids, names, nodes, links, triangles)[0] < NEVER:
            for one in ti.static(range(PACK)):
                found[one] = 1.0 if one == lane else found[one]
    return found


@ti.func
def left_on(
    spared,
    p,
    lamp: ti.template(),
    group,
    k,
    begin,
    end,
    light_solid: ti.template(),
    numbers: ti.template(),
    solids: ti.template(),
    names: ti.template(),
    nodes: ti.template(),
    links: ti.template(),
    triangles: ti.template(),
):
    """What solids that are not thin and round, but `spared`, leave of the light on each ray of a pack."""
    dx, dy, dz = of_lamp(lamp, group, 0, k), of_lamp(lamp, group, 1, k), of_lamp(lamp, group, 2, k)
    left = pack(1.0)
    for m in range(begin, end):
        s = light_solid[m]
        if solids[s, 22] == 0.0 and s != spared and is_before_lamp(s, p, numbers, solids):
            found = pack(0.0)
            if names[s, 0] == MESH:
                found = blocked_by_mesh(s, p, lamp, group, k, solids, names, nodes, links, triangles)
            else:
                found = blocked(s, p, dx, dy, dz, solids, names)
            left *= 1.0 - solids[s, 24] * found
    return left


@ti.func
def of_lamp(lamp: ti.template(), group, row, k):
    """A pack of the table of rays to the lamp."""
    return pack([lamp[group, row, k + lane] for lane in ti.static(range(PACK))])


@ti.func
def seen_light(
    own,
    p,
    normal,
    ray,
    lamp: ti.template(),
    numbers: ti.template(),
    light_start: ti.template(),
    light_solid: ti.template(),
    n_tiles,
    solids: ti.template(),
    names: ti.template(),
    nodes: ti.template(),
    links: ti.template(),
    triangles: ti.template(),
):
    """How much of the lamp a point p of the solid `own` sees, 0 to 1; `ray` of the pixel chooses among groups of rays to it.

    A solid without hollows does not stand before its own lamp where all of that is above the horizon.
    """
    u, v = vec3_at(numbers, LIGHT_U), vec3_at(numbers, LIGHT_V)
    i = ti.cast(ti.floor((p.dot(u) - numbers[TILES_U]) * numbers[PER_U]), ti.i32)
    j = ti.cast(ti.floor((p.dot(v) - numbers[TILES_V]) * numbers[PER_V]), ti.i32)
    found = 1.0
    if 0 <= i < n_tiles and 0 <= j < n_tiles:
        first, last = light_start[j * n_tiles + i], light_start[j * n_tiles + i + 1]
        spared = own if names[own, 0] != MESH and normal.dot(vec3_at(numbers, LIGHT)) > _ABOVE * numbers[SPREAD] else -1
        left, begin, end = behind_rods(own, spared, p, numbers, first, last, light_solid, solids)
        seen, taken = 0.0, 0.0
        k, most = 0, lamp.shape[2] if begin < end and left > 0.0 else 0
        while k < most:
            weight = of_lamp(lamp, ray % lamp.shape[0], 3, k)
            seen += (
                weight
                * left_on(
                    spared,
                    p,
                    lamp,
                    ray % lamp.shape[0],
                    k,
                    begin,
                    end,
                    light_solid,
                    numbers,
                    solids,
                    names,
                    nodes,
                    links,
                    triangles,
                )
            ).sum()
            taken += weight.sum()
            k = k + PACK if seen > 0.0 else most  # if all of a pack are blocked, so are the others
        found = left * (seen / taken if taken > 0.0 else 1.0)
    return found
