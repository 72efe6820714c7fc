"""The kernel that draws: the colours of some pixels of a part of a picture."""

from simcli.kernels.language import ti
from simcli.kernels.rays import lit, shadows
from simcli.kernels.rays.intersections import MESH, NEVER, PLANE, vec3
from simcli.kernels.rays.lit import against, background, colour_of, encoded, of_solid, vec3_at
from simcli.kernels.rays.screens import TILE
from simcli.kernels.rays.shadows import seen_light

_SAME = 3e-5  # [1] between surfaces that are one: more than rounding makes of it
_TASK = 256  # pixels of a task
_table = ti.types.ndarray


@ti.func
def _nearest(
    o,
    d,
    after,
    first,
    last,
    tile_solid: ti.template(),
    solids: ti.template(),
    names: ti.template(),
    nodes: ti.template(),
    links: ti.template(),
    triangles: ti.template(),
):
    """The solid that a ray meets first beyond `after`, of those of a tile: (t, normal), number; of equal ones the first.

    And whether it can meet more behind that: of one solid it does where this has hollows.
    """
    found, solid, n_met = ti.Vector([NEVER, 0.0, 0.0, 0.0], ti.f32), -1, 0
    for m in range(first, last):
        s = tile_solid[m]
        one = against(s, o, d, after, 0, solids, names, nodes, links, triangles)
        if one[0] < NEVER:
            n_met += 2 if names[s, 0] == MESH else 1
        if one[0] < found[0] - _SAME:
            found, solid = one, s
    return found, solid, n_met > 1


@ti.func
def opacity_at(s, p, solids: ti.template(), names: ti.template()):
    """How much solid s hides at p: planes vanish in the distance from their middle."""
    found = solids[s, 17]
    if names[s, 0] == PLANE:
        away = (p - of_solid(s, solids, 9)).norm() / solids[s, 13]
        found *= ti.exp(-away * away)
        if found < 0.004:
            found = 0.0
    return found


@ti.func
def _light_at(
    s,
    p,
    normal,
    k,
    lamp: ti.template(),
    numbers: ti.template(),
    counts: ti.template(),
    light_start: ti.template(),
    light_solid: ti.template(),
    solids: ti.template(),
    names: ti.template(),
    nodes: ti.template(),
    links: ti.template(),
    triangles: ti.template(),
):
    """How much of the lamp ray k of a pixel sees from the point p of solid s."""
    seen = 0.0
    if normal.dot(vec3_at(numbers, lit.LIGHT)) > 0.0:
        seen = seen_light(
            s,
            p + shadows.BIAS * normal,
            normal,
            k,
            lamp,
            numbers,
            light_start,
            light_solid,
            counts[3],
            solids,
            names,
            nodes,
            links,
            triangles,
        )
    return seen


@ti.func
def _light_of_ray(
    eye,
    d,
    k,
    is_over,
    first,
    last,
    lamp: ti.template(),
    numbers: ti.template(),
    counts: ti.template(),
    light_start: ti.template(),
    light_solid: ti.template(),
    tile_solid: ti.template(),
    solids: ti.template(),
    names: ti.template(),
    nodes: ti.template(),
    links: ti.template(),
    triangles: ti.template(),
):
    """Light of what ray k of a pixel meets, the share that passes, the first solid that is met.

    And whether it is that of the picture of the planes, which is then not worked out if `is_over`.
    """
    light, left, after, layer = vec3(0.0), 1.0, 0.0, 0
    first_met, is_same = -1, is_over == 1
    while layer < counts[4] and left > 0.01:
        hit, s, has_more = _nearest(eye, d, after, first, last, tile_solid, solids, names, nodes, links, triangles)
        layer = layer + 1 if has_more else counts[4]
        is_same = is_same and not has_more
        p, share = eye + hit[0] * d, 0.0
        if s >= 0:
            share = left * opacity_at(s, p, solids, names)
            after = hit[0] + 0.5 * _SAME  # less than between what is told apart: nothing is skipped
        if share > 0.0:
            first_met = s if first_met < 0 else first_met
            normal = vec3(hit[1], hit[2], hit[3]).normalized()
            seen = _light_at(
                s, p, normal, k, lamp, numbers, counts, light_start, light_solid, solids, names, nodes, links, triangles
            )
            is_same = is_same and names[s, 0] == PLANE and seen == 1.0
            if not is_same:
                light += share * colour_of(s, p, normal, d, seen, hit[0], numbers, solids, names)
            left -= share
    return light, left, first_met, is_same


@ti.kernel
def draw_pixels(
    pixels: _table(ti.i32, ndim=1),
    offsets: _table(ti.f32, ndim=2),
    lamp: _table(ti.f32, ndim=3),
    is_over: ti.i32,
    place: _table(ti.i32, ndim=1),
    shown: _table(ti.f32, ndim=2),
    is_plane: _table(ti.u8, ndim=1),
    colour: _table(ti.u8, ndim=2),
    solid: _table(ti.i32, ndim=1),
    numbers: _table(ti.f32, ndim=1),
    counts: _table(ti.i32, ndim=1),
    solids: _table(ti.f32, ndim=2),
    names: _table(ti.i32, ndim=2),
    nodes: _table(ti.f32, ndim=2),
    links: _table(ti.i32, ndim=2),
    triangles: _table(ti.f32, ndim=2),
    tile_start: _table(ti.i32, ndim=1),
    tile_solid: _table(ti.i32, ndim=1),
    light_start: _table(ti.i32, ndim=1),
    light_solid: _table(ti.i32, ndim=1),
):
    """Mean colour of some pixels over the rays of a pattern, and what they show if that is a single ray.

    Reads: pixels (n,), numbers in the part of the picture, row by row; offsets (rays, 2), within the pixel; lamp
    (groups, 4, n), unit vectors to points of the lamp and weights, a group for each ray of a pixel in turn; `place` of the
    part: its first column and row, and its width; the tables. Writes, of these pixels: colour, sRGB; of a single ray also
    shown, sRGB from 0 to 1, the solid and whether it is a plane. If `is_over`, what is there already is the picture of the
    planes, and stays where nothing else is met, nor a shadow.
    """
    ti.loop_config(block_dim=_TASK)
    for i in range(pixels.shape[0]):
        at = pixels[i]
        x, y = place[0] + at % place[2], place[1] + at // place[2]
        tile = y // TILE * counts[2] + x // TILE
        first, last = tile_start[tile], tile_start[tile + 1]
        eye = vec3_at(numbers, lit.EYE)
        total, is_same = vec3(0.0), is_over == 1
        for k in range(offsets.shape[0]):
            px, py = ti.cast(x, ti.f32) + offsets[k, 0], ti.cast(y, ti.f32) + offsets[k, 1]
            d = (
                vec3_at(numbers, lit.FORWARD)
                + (px - 0.5 * counts[0]) * vec3_at(numbers, lit.RIGHT)
                + (0.5 * counts[1] - py) * vec3_at(numbers, lit.UP)
            ).normalized()
            light, left, first_met, is_ray_same = _light_of_ray(
                eye,
                d,
                k,
                is_over,
                first,
                last,
                lamp,
                numbers,
                counts,
                light_start,
                light_solid,
                tile_solid,
                solids,
                names,
                nodes,
                links,
                triangles,
            )
            is_same = is_same and is_ray_same
            total += light + left * background(py / counts[1], numbers)
            if offsets.shape[0] == 1:
                solid[at] = first_met
                is_plane[at] = ti.cast(names[ti.max(0, first_met), 0] == PLANE and first_met >= 0, ti.u8)
        if not is_same:
            for c in ti.static(range(3)):
                value = encoded(total[c] / offsets.shape[0])
                colour[at, c] = ti.cast(255.0 * value + 0.5, ti.u8)
                if offsets.shape[0] == 1:
                    shown[c, at] = value
