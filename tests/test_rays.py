"""The ray caster: intersections against oracles without rays, silhouettes and light against closed forms."""

import json
from functools import partial

import mujoco
import numpy as np
import pytest
from support.contacts import random_poses
from support.process import completed_here
from support.solids import MESH, UNIT, camera_from, plain_light, solid, solids, torus, turned

import simcli as package
from simcli import rotations as rot
from simcli.errors import Exit
from simcli.kernels.language import ti
from simcli.kernels.rays import intersections, lit, picture, shadows
from simcli.kernels.rays.intersections import BALL, BOX, CAPSULE, FRUSTUM, PLANE
from simcli.kernels.rays.picture import decoded, draw, ready_device
from simcli.kernels.rays.solids import meshes_of
from simcli.model.bodies.surfaces import terrain_triangles

NO_MESH = meshes_of([])
FLOAT32 = 2e-4  # [1] of points of rays that start 4 units away
FAR = 8.0  # [1], as far as the oracle goes
AREA = 0.01  # relative, of silhouettes of some 10^4 pixels
SHADE = 2.5 / 255  # one step of 8 bits where sRGB is steepest, and half of one


@ti.kernel
def shoot(
    origins: ti.types.ndarray(ti.f32, ndim=2),
    directions: ti.types.ndarray(ti.f32, ndim=2),
    rows: ti.types.ndarray(ti.f32, ndim=2),
    names: ti.types.ndarray(ti.i32, ndim=2),
    nodes: ti.types.ndarray(ti.f32, ndim=2),
    links: ti.types.ndarray(ti.i32, ndim=2),
    triangles: ti.types.ndarray(ti.f32, ndim=2),
    out: ti.types.ndarray(ti.f32, ndim=2),
):
    """What each ray meets of the first solid: t and normal."""
    for i in range(origins.shape[0]):
        o = lit.vec3(origins[i, 0], origins[i, 1], origins[i, 2])
        d = lit.vec3(directions[i, 0], directions[i, 1], directions[i, 2])
        found = lit.against(0, o, d, 0.0, 0, rows, names, nodes, links, triangles)
        for k in ti.static(range(4)):
            out[i, k] = found[k]


def shot(which, meshes, origins, directions):
    """Parameters t (n,), infinite for a miss, and unit normals (n, 3)."""
    ready_device()
    rows, names = which.table(meshes)
    out = np.full((len(origins), 4), np.nan, np.float32)
    shoot(
        origins.astype(np.float32),
        directions.astype(np.float32),
        rows,
        names,
        meshes.nodes,
        meshes.links,
        meshes.triangles,
        out,
    )
    met = out[:, 0] < intersections.NEVER
    normal = out[:, 1:].astype(float)
    return np.where(met, out[:, 0], np.inf), normal / np.where(met, np.linalg.norm(normal, axis=1), 1.0)[:, None]


def rays(rng, n, reach=1.0):
    """Rays from a sphere of radius 4 to points about the origin."""
    origins = rng.normal(size=(n, 3))
    origins *= 4 / np.linalg.norm(origins, axis=1, keepdims=True)
    directions = rng.uniform(-reach, reach, (n, 3)) - origins
    return origins, directions / np.linalg.norm(directions, axis=1, keepdims=True)


def entered(inside, origins, directions, steps=4000):
    """Where rays first come from outside to inside: by steps, then by bisection; infinite if never."""
    t = np.linspace(0, FAR, steps)
    within = inside(origins[:, None] + t[:, None] * directions[:, None]) < 0
    comes = within[:, 1:] & ~within[:, :-1]
    first = comes.argmax(axis=1)
    low, high = t[first], t[first + 1]
    for _ in range(40):
        middle = 0.5 * (low + high)
        now = inside(origins + middle[:, None] * directions) < 0
        low, high = np.where(now, low, middle), np.where(now, middle, high)
    return np.where(comes.any(axis=1), high, np.inf)


@pytest.mark.parametrize("name", UNIT)
def test_rays_meet_shapes_where_they_come_in(name):
    rng = np.random.default_rng(3)
    kind, top, length, inside = UNIT[name]
    where = turned(rng) @ np.diag([0.5, 0.3, 0.4]) @ (np.eye(3) + 0.2 * rng.normal(size=(3, 3)))
    centre = np.array([0.1, -0.2, 0.3])
    which = solids(solid(kind, centre, where, top, length))
    back = np.linalg.inv(where)

    def implicit(x):
        return inside((x - centre) @ back.T)

    origins, directions = rays(rng, 2000)
    t, normal = shot(which, NO_MESH, origins, directions)
    t = np.where(t < FAR, t, np.inf)  # of the plane
    right = entered(implicit, origins, directions)
    both = np.isfinite(t) & np.isfinite(right)
    assert both.sum() > 150
    assert (np.isfinite(t) != np.isfinite(right)).sum() <= 4  # rays that graze within a step of the oracle
    off = np.abs(t[both] - right[both])
    assert off.max() < 40 * FLOAT32  # at grazing rays an error of the place is long
    assert np.median(off) < 0.01 * FLOAT32
    points = origins[both] + right[both, None] * directions[both]
    step = 1e-5
    slope = np.stack([implicit(points + step * axis) - implicit(points - step * axis) for axis in np.eye(3)], axis=-1)
    slope /= np.linalg.norm(slope, axis=1, keepdims=True)
    off = np.linalg.norm(slope - normal[both], axis=1)
    assert np.quantile(off, 0.98) < 0.01  # at edges the difference takes both sides


@ti.kernel
def block(
    origins: ti.types.ndarray(ti.f32, ndim=2),
    lamp: ti.types.ndarray(ti.f32, ndim=3),
    rows: ti.types.ndarray(ti.f32, ndim=2),
    names: ti.types.ndarray(ti.i32, ndim=2),
    out: ti.types.ndarray(ti.f32, ndim=2),
):
    """Whether each ray of packs, one from each origin, meets the first solid."""
    for i in range(origins.shape[0]):
        o = lit.vec3(origins[i, 0], origins[i, 1], origins[i, 2])
        found = shadows.blocked(
            0, o, shadows.of_lamp(lamp, i, 0, 0), shadows.of_lamp(lamp, i, 1, 0), shadows.of_lamp(lamp, i, 2, 0), rows, names
        )
        for lane in ti.static(range(intersections.PACK)):
            out[i, lane] = found[lane]


@pytest.mark.parametrize("name", [name for name in UNIT if name != "plane"])
def test_packs_of_rays_are_blocked_where_single_rays_come_in(name):
    """From outside, and from within, where nothing is met."""
    rng = np.random.default_rng(9)
    kind, top, length, _ = UNIT[name]
    where = turned(rng) @ np.diag([0.5, 0.3, 0.4]) @ (np.eye(3) + 0.2 * rng.normal(size=(3, 3)))
    centre = np.array([0.1, -0.2, 0.3])
    which = solids(solid(kind, centre, where, top, length))
    origins, _ = rays(rng, 400)
    origins[:40] = centre
    directions = rng.uniform(-0.8, 0.8, (400, intersections.PACK, 3)) - origins[:, None]
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    t, _ = shot(which, NO_MESH, origins.repeat(intersections.PACK, axis=0), directions.reshape(-1, 3))
    right = np.isfinite(t).reshape(400, intersections.PACK)
    out = np.full(right.shape, np.nan, np.float32)
    block(
        origins.astype(np.float32),
        np.ascontiguousarray(directions.transpose(0, 2, 1), np.float32),
        *which.table(NO_MESH),
        out,
    )
    assert np.isin(out, (0.0, 1.0)).all()
    assert ((out == 1.0) != right).sum() <= 2  # rays that graze
    assert 400 < right.sum() < 2500
    assert not out[:40].any()


def test_who_stands_inside_looks_out():
    origins = np.zeros((50, 3))
    _, directions = rays(np.random.default_rng(1), 50)
    for kind, top, length, _ in [one for name, one in UNIT.items() if name != "plane"]:
        assert not np.isfinite(shot(solids(solid(kind, top=top, length=length)), NO_MESH, origins, directions)[0]).any()


def brute(vertices, faces, origins, directions):
    """The first triangle of all: by the plane of each and the signs of three volumes."""
    corners = vertices[faces]
    a, b, c = (corners[None, :, k] for k in range(3))
    normal = np.cross(b - a, c - a)
    o, d = origins[:, None], directions[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = ((a - o) * normal).sum(-1) / (d * normal).sum(-1)
    sides = [(np.cross(p - o, q - o) * d).sum(-1) for p, q in ((a, b), (b, c), (c, a))]
    within = (np.min(sides, axis=0) >= 0) | (np.max(sides, axis=0) <= 0)
    t = np.where(within & (t > 0), t, np.inf)
    return t.min(axis=1), normal[0] / np.linalg.norm(normal[0], axis=1, keepdims=True), t.argmin(axis=1)


def test_rays_find_the_triangle_that_all_triangles_say():
    rng = np.random.default_rng(4)
    vertices, faces = torus()
    meshes = meshes_of([(7 * np.eye(3), np.array([[0, 1, 2]])), (vertices + 5, faces)])  # the second one is asked
    where = turned(rng) * 0.8
    which = solids(solid(MESH, where @ (meshes.centre[1] - 5), where * meshes.half[1], mesh=1))
    origins, directions = rays(rng, 3000)
    t, normal = shot(which, meshes, origins, directions)
    right, flat, face = brute(vertices @ where.T, faces, origins, directions)
    assert (np.isfinite(t) != np.isfinite(right)).sum() <= 2
    both = np.isfinite(t) & np.isfinite(right)
    assert both.sum() > 800
    assert np.quantile(np.abs(t[both] - right[both]), 0.999) < FLOAT32
    faced = np.abs((normal * flat[face]).sum(axis=1))[both]
    assert faced.min() > 0.8  # shaded round, but about the triangle's own
    assert ((normal * directions).sum(axis=1)[both] < 0.2).all()


def test_a_flat_mesh_and_a_sharp_edge_keep_their_normals():
    box = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    faces = np.array(
        [
            (0, 1, 3),
            (0, 3, 2),
            (4, 6, 7),
            (4, 7, 5),
            (0, 4, 5),
            (0, 5, 1),
            (2, 3, 7),
            (2, 7, 6),
            (0, 2, 6),
            (0, 6, 4),
            (1, 5, 7),
            (1, 7, 3),
        ]
    )
    origins, directions = rays(np.random.default_rng(2), 500)
    cube = solids(solid(BOX, size=0.5)), NO_MESH
    mesh = solids(solid(MESH, size=0.5)), meshes_of([(box, faces)])
    (t, normal), (other_t, other) = (shot(*one, origins, directions) for one in (cube, mesh))
    hit = np.isfinite(t)
    assert np.abs(t[hit] - other_t[hit]).max() < FLOAT32
    assert np.abs(normal - other)[hit].max() < 1e-5


def test_planes_are_seen_from_above_and_sheets_from_below_too():
    for both in (0.0, 1.0):
        floor = solids(solid(PLANE, top=1e6, length=both, colour=(0.5, 0.5, 0.5)))
        for height, shown in ((3, True), (-3, both > 0)):
            found = draw(floor, NO_MESH, camera_from((0.1, 0, height)), plain_light(key=0, around=1))
            assert (found.solid == 0).all() == shown
            assert bool(found.colour.any()) == shown


def share(image, number=0):
    return (image.solid == number).mean()


def test_the_disc_of_a_ball_has_its_area():
    camera = camera_from((0, -4, 0), 320, 240)
    found = draw(solids(solid(BALL, size=0.9)), NO_MESH, camera, plain_light())
    radius = 0.9 / np.sqrt(4**2 - 0.9**2) / camera.pixel
    assert share(found) * 320 * 240 == pytest.approx(np.pi * radius**2, rel=AREA)


def hull_area(points):
    """Area of the convex hull of points of the plane, by a rotating sum over sorted directions."""
    points = points[np.lexsort(points.T)]
    hull = []
    for side in (points, points[::-1]):
        chain = []
        for p in side:
            while len(chain) > 1 and np.linalg.det(np.stack((chain[-1] - chain[-2], p - chain[-1]))) <= 0:
                chain.pop()
            chain.append(p)
        hull += chain[:-1]
    x, y = np.array(hull).T
    return 0.5 * abs(x @ np.roll(y, 1) - y @ np.roll(x, 1))


def seen_from(camera, points):
    """Pixels of points, by the pinhole's own words."""
    right, up, forward = ((points - camera.eye) @ camera.axes.T).T
    tall = 2 * camera.half_height
    return np.stack(
        (camera.width / 2 + right / forward / tall * camera.height, camera.height / 2 - up / forward / tall * camera.height),
        axis=-1,
    )


@pytest.mark.parametrize("kind", [BOX, MESH])
def test_the_polygon_of_a_box_has_its_area(kind):
    rng = np.random.default_rng(8)
    camera = camera_from((1, -3.5, 1.4), 320, 240)
    where = turned(rng) @ np.diag([0.9, 0.5, 0.2])
    corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    faces = np.array(
        [
            (0, 1, 3),
            (0, 3, 2),
            (4, 6, 7),
            (4, 7, 5),
            (0, 4, 5),
            (0, 5, 1),
            (2, 3, 7),
            (2, 7, 6),
            (0, 2, 6),
            (0, 6, 4),
            (1, 5, 7),
            (1, 7, 3),
        ]
    )
    found = draw(solids(solid(kind, size=where)), meshes_of([(corners, faces)]), camera, plain_light())
    area = hull_area(seen_from(camera, corners @ where.T))
    assert share(found) * 320 * 240 == pytest.approx(area, rel=AREA)


def test_no_tile_loses_a_solid():
    """Hundreds of small ones all over the picture: each middle shows its own."""
    rng = np.random.default_rng(5)
    camera = camera_from((0.5, -4, 0.8), 320, 240)
    centres = rng.uniform(-1.2, 1.2, (300, 3))
    kinds = [(BALL, 1.0, 0.0), (BOX, 1.0, 0.0), (FRUSTUM, 0.5, 0.0), (CAPSULE, 0.7, 0.5)]
    rows = [solid(kinds[k % 4][0], centre, 0.02 * turned(rng), *kinds[k % 4][1:]) for k, centre in enumerate(centres)]
    found = draw(solids(*rows), NO_MESH, camera, plain_light())
    at = np.floor(seen_from(camera, centres)).astype(int)
    inside = (at >= 0).all(axis=1) & (at < (320, 240)).all(axis=1)
    shown = found.solid[at[inside, 1], at[inside, 0]]
    depth = (centres - camera.eye) @ camera.axes[2]
    own = shown == np.flatnonzero(inside)
    nearer = depth[shown] < depth[inside]
    assert inside.sum() > 200
    assert (own | nearer).all()
    assert own.mean() > 0.9


def linear_at(found, x, y):
    return decoded(found.colour[y, x] / 255)


def test_light_falls_by_lamberts_law():
    """A ball under light from above alone: each pixel is as bright as its normal is high."""
    camera = camera_from((0, -4, 1.5), 200, 200)
    found = draw(solids(solid(BALL, colour=(0.8, 0.8, 0.8))), NO_MESH, camera, plain_light())
    for direction in ((0, -0.3, 1), (0.5, -0.6, 0.5), (-0.4, -0.9, 0.2)):
        normal = np.array(direction) / np.linalg.norm(direction)
        x, y = np.floor(seen_from(camera, normal[None])[0]).astype(int)
        assert linear_at(found, x, y) == pytest.approx(0.8 * normal[2], abs=3 * SHADE)


def test_a_shadow_is_whole_half_and_none():
    """A slab above a floor under a lamp straight above: below it dark, below its edge half lit, beyond bright."""
    rows = solids(solid(PLANE, (0, 0, -0.5), top=1e6), solid(BOX, (-2, 0, 0.3), (2, 2, 0.01)))  # its edge is above x = 0
    camera = camera_from((0.9, -0.02, 4), 400, 300, 0.5)
    light = plain_light(spread=0.1, n_rays=256)
    found = draw(rows, NO_MESH, camera, light)

    def lit_at(x):
        px, py = np.floor(seen_from(camera, np.array([[x, 0, -0.5]]))[0]).astype(int)
        assert found.solid[py, px] == 0
        return linear_at(found, px, py)[0]

    reach = 0.1 * 0.8  # half width of the penumbra on the floor
    disc = lambda u: 0.5 + (u * np.sqrt(1 - u * u) + np.arcsin(u)) / np.pi  # noqa: E731  part of a disc beside a chord
    for u in (0.1, 0.4, 0.8):
        assert lit_at(u * reach) == pytest.approx(disc(u), abs=0.06)
    assert lit_at(1.3 * reach) == pytest.approx(1.0, abs=SHADE)
    assert lit_at(1.0) == pytest.approx(1.0, abs=SHADE)


def test_a_mesh_throws_the_shadow_of_the_box_that_it_is():
    """Half transparent, beside another box: of meshes the rays to the lamp go one by one, of boxes in packs."""
    corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    faces = np.array(
        [
            (0, 1, 3),
            (0, 3, 2),
            (4, 6, 7),
            (4, 7, 5),
            (0, 4, 5),
            (0, 5, 1),
            (2, 3, 7),
            (2, 7, 6),
            (0, 2, 6),
            (0, 6, 4),
            (1, 5, 7),
            (1, 7, 3),
        ]
    )
    where, light = turned(np.random.default_rng(2)) * 0.3, plain_light((0.4, -0.2, 1), spread=0.2)
    view, meshes = camera_from((1, -2, 4), 320, 240), meshes_of([(corners, faces)])
    found = [
        draw(
            solids(
                solid(PLANE, (0, 0, -0.6), top=1e6),
                solid(kind, (0, 0, 0.1), where, opacity=0.6),
                solid(BOX, (0.5, 0.3, 0), 0.2),
            ),
            meshes,
            view,
            light,
        )
        for kind in (BOX, MESH)
    ]
    is_floor = (found[0].solid == 0) & (found[1].solid == 0)
    one, other = (image.colour[is_floor].max(axis=1).astype(int) for image in found)
    assert (one < 0.9 * one.max()).sum() > 500  # there are shadows
    assert (np.abs(one - other) > 2).sum() < 60  # at edges a pixel shows a part of the body, whose inside a mesh has


@pytest.mark.parametrize(("end", "most"), [(3.0, 0.03), (0.3, 0.08)])
def test_the_shadow_of_a_thin_rod_is_the_share_of_the_lamp_that_it_hides(end, most):
    """Against 20000 rays to the lamp in numpy, across the rod and about its end; slanted light."""
    light = np.array([0.3, -0.2, 1.0]) / np.linalg.norm([0.3, -0.2, 1.0])
    spread, radius, height = 0.1, 0.03, 0.8
    along_x = np.array([(0, 0, 1), (0, 1, 0), (-1, 0, 0)], float).T  # z of the unit shape to -x
    half = 0.5 * (end + 3.0)
    rod = solid(CAPSULE, (0.5 * (end - 3.0), 0, height), along_x * radius, length=half / radius)
    camera = camera_from((0.3, -0.02, 4), 400, 300, 0.35)
    found = draw(solids(solid(PLANE, top=1e6), rod), NO_MESH, camera, plain_light(light, spread=spread))
    rng = np.random.default_rng(6)
    r, angle = np.sqrt(rng.uniform(size=20000)), rng.uniform(0, 2 * np.pi, 20000)
    across = np.linalg.svd(light[None])[2][1:]
    lamp = light + spread * np.stack((r * np.cos(angle), r * np.sin(angle)), axis=-1) @ across
    lamp /= np.linalg.norm(lamp, axis=1, keepdims=True)
    off = []
    for x in (-0.6, -0.1, 0.05, 0.12):
        for y in np.linspace(0.0, 0.35, 9):
            point = np.array([x, y, 0.0])
            px, py = np.floor(seen_from(camera, point[None])[0]).astype(int)
            if found.solid[py - 2 : py + 3, px - 2 : px + 3].any():  # the rod stands before it, or beside it
                continue
            t = height / lamp[:, 2]  # where rays pass the rod's height: it is level
            cut = point + t[:, None] * lamp
            aside = cut[:, 1] * lamp[:, 2] / np.hypot(lamp[:, 1], lamp[:, 2])  # distance of ray and axis
            beyond = np.maximum(np.abs(cut[:, 0] - 0.5 * (end - 3.0)) - half, 0)
            blocked = np.hypot(aside, beyond) < radius
            off.append(abs(linear_at(found, px, py)[0] / light[2] - (1 - blocked.mean())))
    assert len(off) > 20
    assert max(off) < most
    assert np.mean(off) < 0.015


def test_what_is_half_transparent_lets_half_through():
    grey = plain_light(key=0.0, around=1.0)
    rows = [
        solid(BALL, (0, 2, 0), 1.5, colour=(0.2, 0.4, 0.6)),
        solid(BOX, (0, 0, 0), 0.3, colour=(1, 0, 0), opacity=0.5),
        solid(BOX, (0, -1, 0), 0.2, colour=(0, 1, 0), opacity=0.25),
    ]
    found = draw(solids(*rows), NO_MESH, camera_from((0, -4, 0)), grey)
    behind = 0.5 * np.array([0.2, 0.4, 0.6]) + 0.5 * np.array([1, 0, 0])
    assert linear_at(found, 80, 60) == pytest.approx(0.75 * behind + 0.25 * np.array([0, 1, 0]), abs=SHADE)
    assert found.solid[60, 80] == 2


def test_ghosts_close_to_a_solid_leave_no_gap():
    """One faint ball a little off a solid one: the solid one is always there behind it, or before."""
    white = plain_light(key=0, around=1)
    camera = camera_from((0, -4, 0))
    y, x = np.mgrid[:120, :160]
    inside = np.hypot(x - 79.5, y - 59.5) < 0.9 / np.sqrt(15) / camera.pixel
    for shift in (0.0, 3e-5, 1e-4, 1e-3):
        rows = solids(solid(BALL), solid(BALL, (shift, 0, 0), opacity=0.1))
        found = draw(rows, NO_MESH, camera, white)
        assert found.colour[inside].min() > 250, shift


def test_edges_are_smooth_and_inner_parts_are_not_drawn_twice(monkeypatch):
    drawn = []
    kernel = picture.draw_pixels
    monkeypatch.setattr(picture, "_last", picture._Last())
    monkeypatch.setattr(
        picture,
        "draw_pixels",
        lambda pixels, offsets, *rest: (drawn.append((len(pixels), len(offsets))), kernel(pixels, offsets, *rest)),
    )
    found = draw(solids(solid(BOX, size=(0.7, 0.7, 0.7))), NO_MESH, camera_from((0, -4, 0.0)), plain_light(key=0, around=1))
    assert drawn[0] == (160 * 120, 1)
    assert drawn[1][1] > 4
    assert 0 < drawn[1][0] < 0.15 * 160 * 120
    values = np.unique(found.colour)
    assert {0, 255} < set(values.tolist())  # black, white, and what is between along edges


def test_pictures_are_the_same_whoever_draws_them():
    rng = np.random.default_rng(0)
    rows = [
        solid(kind, rng.uniform(-0.8, 0.8, 3), 0.3 * turned(rng), *sizes, rng.uniform(size=3), 0.6 + 0.4 * (k % 2))
        for k, (kind, *sizes, _) in enumerate(UNIT.values())
    ]
    from simcli.kernels.device.runtime import start_device

    found = []
    for threads in (1, 3):
        start_device("cpu", "float32", threads)
        found.append(draw(solids(*rows), NO_MESH, camera_from((1, -3, 2)), plain_light((0.3, -0.4, 1), 0.7, 0.3)))
    start_device("cpu", "float64", 1)
    found.append(draw(solids(*rows), NO_MESH, camera_from((1, -3, 2)), plain_light((0.3, -0.4, 1), 0.7, 0.3)))
    for one in found[1:]:
        assert np.array_equal(one.colour, found[0].colour)
        assert np.array_equal(one.solid, found[0].solid)


PLANES = [solid(PLANE, centre=(0, 0, -1), top=9.0, lines=0.5, colour=(0.7, 0.7, 0.6))]
SLANTED = solid(PLANE, size=turned(np.random.default_rng(5)), centre=(-2, 0, 0), top=5.0)


@pytest.mark.parametrize("planes", [[], PLANES, [*PLANES, SLANTED]])
def test_what_stays_in_a_film_is_not_drawn_again_and_looks_the_same(planes, monkeypatch):
    """Bodies, half transparent ones, thin rods and their shadows move over planes, out of the picture and behind the eye."""
    rng = np.random.default_rng(3)
    view, light = camera_from((5.0, -4.0, 2.5), width=224, height=160), plain_light((0.5, -0.4, 0.77), around=0.3)
    taken, drawn, film, fewer = [], picture.draw_pixels, picture._Last(), 0
    monkeypatch.setattr(picture, "draw_pixels", lambda pixels, *more: (taken.append(len(pixels)), drawn(pixels, *more)))
    for k in range(10):
        places = rng.uniform((-2, -2, -0.8), (2, 2, 1.5), (4, 3)) * (1.0 if k < 7 else 4.0)
        parts = [
            solid(BALL, places[0], 0.3),
            solid(BOX, places[1], (0.2, 0.3, 0.4)),
            solid(CAPSULE, places[2], 0.03 * turned(rng), length=20.0),
            solid(BALL, places[3], 0.4, opacity=0.4),
        ]
        shown = solids(*parts[:2][: k % 5], *planes, *parts[2:][: k % 4], solid(BALL, (0, 0, 0), 0.1))
        monkeypatch.setattr(picture, "_last", picture._Last())
        whole = draw(shown, NO_MESH, view, light)
        monkeypatch.setattr(picture, "_last", film)
        taken.clear()
        found = draw(shown, NO_MESH, view, light)
        assert found.colour.tobytes() == whole.colour.tobytes(), k
        assert found.solid.tobytes() == whole.solid.tobytes(), k
        fewer += sum(taken) < 0.7 * whole.solid.size
    assert fewer > 4


def test_one_kernel_draws_all_scenes():
    """Numbers of solids, triangles, pixels are data: what the first scene has compiled serves the others."""
    from simcli.kernels.language.backend import kernels_noted

    ready_device()
    with kernels_noted() as taken:
        draw(solids(solid(BALL)), NO_MESH, camera_from((0, -4, 0)), plain_light())
        meshes = meshes_of([torus()])
        rows = solids(
            solid(MESH, size=meshes.half[0]), solid(PLANE, (0, 0, -1), top=2.0, lines=0.5), solid(BOX, opacity=0.5)
        )
        draw(rows, meshes, camera_from((1, -4, 2), 99, 77), plain_light((1, 0, 1)))
    assert [kernel.name.rpartition(".")[2] for kernel in taken] in ([], ["draw_pixels"])


def test_poses_that_are_no_numbers_and_flat_things_do_no_harm():
    rows = solids(solid(BALL, (np.nan, 0, 0)), solid(BALL, opacity=0.0), solid(FRUSTUM, (0, 0, 0), (1, 1, 0), 1.0))
    assert len(rows.kind) == 1
    found = draw(rows, NO_MESH, camera_from((0.1, 0, 4)), plain_light(key=0.0, around=1.0))
    assert share(found) > 0.2
    nothing = draw(solids(solid(BALL, opacity=0.0)), NO_MESH, camera_from((0, -4, 0)), plain_light())
    assert not nothing.colour.any()
    assert (nothing.solid == -1).all()


# `simcli rays`: exact shapes, in double precision

SHOWN = {  # of ours, of mujoco; each at its place along x
    "ball": ("{type: sphere, radius: 0.4}", 'type="sphere" size="0.4"'),
    "brick": ("{type: box, size: [0.5, 0.7, 0.9]}", 'type="box" size="0.25 0.35 0.45"'),
    "bar": ("{type: capsule, radius: 0.3, length: 0.6}", 'type="capsule" size="0.3 0.3"'),
    "barrel": ("{type: cylinder, radius: 0.4, length: 0.7}", 'type="cylinder" size="0.4 0.35"'),
    "egg": ("{type: ellipsoid, radii: [0.25, 0.35, 0.5]}", 'type="ellipsoid" size="0.25 0.35 0.5"'),
}
HIT = 1e-12  # [m] of rays of some metres
NORMAL = 1e-11  # [1], roundings at radii of some decimetres
N_RAYS = 130  # more than two calls take


@pytest.fixture
def command(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(completed_here, capfd)


def ray_scene(tmp_path):
    shapes = ", ".join(
        f"{name}: {{pose: {{xyz: [{1.1 * k - 2.2}, 0, 0]}}, {ours[1:]}" for k, (name, (ours, _)) in enumerate(SHOWN.items())
    )
    (tmp_path / "rays.yaml").write_text(f"""
simcli: 1
world: {{shapes: {{ground: {{type: plane, pose: {{xyz: [0, 0, -4]}}}}}}}}
bodies:
  a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, shapes: {{{shapes}}}}}
  b: {{pose: {{xyz: [0, 3, 0]}}, mass: 1, inertia: {{diag: [1, 1, 1]}},
      shapes: {{cap: {{type: cone, radius: 0.5, length: 1}}}}}}
""")


def met_by_mujoco(pose, origins, directions):
    """Distances, names of geoms and normals."""
    geoms = "".join(
        f'<geom name="a/{name}" pos="{1.1 * k - 2.2} 0 0" {theirs}/>' for k, (name, (_, theirs)) in enumerate(SHOWN.items())
    )
    ground = '<geom name="ground" type="plane" size="0 0 1" pos="0 0 -4"/>'
    text = f'<mujoco><worldbody>{ground}<body mocap="true">{geoms}</body></worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.mocap_pos[:], data.mocap_quat[:] = pose[:3], pose[[6, 3, 4, 5]]
    mujoco.mj_kinematics(model, data)
    found = []
    for o, d in zip(origins, directions, strict=True):
        geom, normal = np.zeros((1, 1), np.int32), np.zeros((3, 1))
        t = mujoco.mj_ray(model, data, o, d, None, True, -1, geom, normal)
        found.append((t, model.geom(int(geom[0, 0])).name if geom[0, 0] >= 0 else "", *normal[:, 0]))
    return np.array([one[0] for one in found]), [one[1] for one in found], np.array([one[2:] for one in found])


def test_rays_meet_what_those_of_mujoco_meet(command, tmp_path):
    """A table of rays, in the world and in the frame of a body whose own shapes are not seen, in states of a table."""
    rng = np.random.default_rng(9)
    ray_scene(tmp_path)
    poses = random_poses(rng, 3, 1, 0.5)[:, 0]
    rows = [",".join(map(repr, pose)) for pose in poses.tolist()]
    (tmp_path / "q.csv").write_text(
        "\n".join(
            [
                ",".join(f"joint.a_free.q.{k}" for k in range(7)) + "".join(f",joint.b_free.q.{k}" for k in range(7)),
                *(row + ",50,0,0,0,0,0,1" for row in rows),
            ]
        )
    )
    origins, directions = rays(rng, N_RAYS, 2.5)
    heads = "x [cm],y [cm],z [cm],dx,dy,dz,name"
    lines = [
        ",".join(map(repr, (*row, f"r{k}"))).replace("'", "")
        for k, row in enumerate(np.hstack((100 * origins, 3 * directions)).tolist())
    ]
    (tmp_path / "rays.csv").write_text("\n".join([heads, *lines]))
    done = command("rays", "rays.yaml", "--states", "q.csv", "--rays", "rays.csv", "-o", "hits.h5", "--device", "cpu")
    assert done.returncode == Exit.OK, done.stderr
    seen = set()
    with package.open("hits.h5") as found:
        assert found.labels("ray_distance") == (tuple(f"r{k}" for k in range(N_RAYS)),)
        shapes, found = found.named("ray_shape"), {name: found[name] for name in found.fields}
    for k, pose in enumerate(poses):
        t, names, normals = met_by_mujoco(pose, origins, directions)
        met = t >= 0.0
        assert shapes[k].tolist() == names
        assert np.abs(found["ray_distance"][k] - t)[met].max() < HIT
        assert np.isnan(found["ray_distance"][k][~met]).all()
        assert np.abs(found["ray_point"][k] - origins - t[:, None] * directions)[met].max() < HIT
        assert np.abs(found["ray_normal"][k] - normals)[met].max() < NORMAL
        seen |= set(names)
    assert seen == {"", "ground", *(f"a/{name}" for name in SHOWN)}
    R = rot.quat_to_matrix(poses[0, 3:])
    own = [(origins - poses[0, :3]) @ R, directions @ R]
    lines = [",".join(map(repr, row)) + ",a" for row in np.hstack(own).tolist()]
    (tmp_path / "own.csv").write_text("\n".join(["x,y,z,dx,dy,dz,body", *lines]))
    done = command(
        "rays", "rays.yaml", "--states", "q.csv", "--frames", "0", "--rays", "own.csv", "-o", "own.h5", "--device", "cpu"
    )
    assert done.returncode == Exit.OK, done.stderr
    with package.open("own.h5") as found:
        below = directions[:, 2] < 0
        wanted = np.where(below, (-4.0 - origins[:, 2]) / np.where(below, directions[:, 2], 1.0), np.nan)
        assert np.allclose(found["ray_distance"][0], wanted, rtol=1e-10, atol=0.0, equal_nan=True)


def test_rays_of_the_command_line(command, tmp_path):
    """A cone from above, from within, beyond reach and beside it."""
    ray_scene(tmp_path)
    words = ("--from", "0.1,3,2", "--direction", "0,0,-1", "--direction", "0,0,-2", "--direction", "0,1,0")
    done = command("rays", "rays.yaml", *words, "-o", "a.csv", "--device", "cpu")
    assert done.returncode == Exit.OK, done.stderr
    heads, line = (tmp_path / "a.csv").read_text().splitlines()
    found = dict(zip(heads.split(","), line.split(","), strict=True))
    assert float(found["ray.0.distance [m]"]) == pytest.approx(1.7, abs=HIT)  # at a radius of 0.1 its height is 0.3
    assert found["ray.0.distance [m]"] == found["ray.1.distance [m]"]
    slope = np.array([2.0, 0.0, 1.0]) / np.sqrt(5.0)
    assert [float(found[f"ray.0.normal.{axis}"]) for axis in "xyz"] == pytest.approx(slope, abs=NORMAL)
    assert (found["ray.0.shape"], found["ray.2.shape"], found["ray.2.distance [m]"]) == ("b/cap", "", "")
    done = command(
        "rays", "rays.yaml", "--from", "0,3,0", "--direction", "0,0,-1", "--reach", "0.4", "--json", "--device", "cpu"
    )
    assert '"ray_shape": [' in done.stdout
    assert "null" in done.stdout.split('"ray_shape": [')[-1]
    done = command("rays", "rays.yaml", "--from", "0,3,0", "--direction", "0,0,-1", "--device", "cpu")
    assert " 0.5  b/cap " in done.stdout
    for words, text in (
        (("--from", "0,0,0"), "--direction X,Y,Z"),
        (("--from", "0,0,0", "--direction", "0,0"), "three numbers"),
        (("--from", "0,0,0", "--direction", "0,0,0"), "not zero"),
        (("--from", "0,0,0", "--direction", "0,0,1", "--body", "c"), "--body"),
    ):
        done = command("rays", "rays.yaml", *words)
        assert done.returncode == Exit.USAGE
        assert text in done.stderr, done.stderr
    (tmp_path / "bad.csv").write_text("x,y,z,dx,dy\n")
    done = command("rays", "rays.yaml", "--rays", "bad.csv")
    assert done.returncode == Exit.FILE
    assert "bad.csv:1" in done.stderr
    assert "dz" in done.stderr


def test_rays_meet_the_triangles_of_terrain(command, tmp_path):
    """An inclined plane in closed form, in a turned frame; and hills, against all triangles of their grid."""
    rng = np.random.default_rng(8)
    n_rows, n_columns, size = 7, 9, np.array([4.0, 3.0])
    x, y = (np.linspace(-0.5, 0.5, n) * extent for n, extent in zip((n_columns, n_rows), size, strict=True))
    grids = {"plane": 0.3 * x + 0.2 * y[:, None], "hills": rng.normal(size=(n_rows, n_columns)) * 0.3}
    quat, at = rot.unit(rng.normal(size=(1, 4)))[0], rng.normal(size=3)
    R = rot.quat_to_matrix(quat)
    origins = np.vstack(
        (rng.normal(size=(60, 3)), [[x[2], y[3], 3.0], [x[2], y[3], -3.0], [0.1, 0.2, 3.0], [9.0, 9.0, 3.0]])
    )
    down = np.array([[0, 0, -1.0], [0, 0, 1.0], [1.0, 0, 0], [0, 0, -1.0]])
    directions = np.vstack((rng.normal(size=(60, 3)), down))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rows = np.hstack((at + origins @ R.T, directions @ R.T)).tolist()
    (tmp_path / "rays.csv").write_text("\n".join(["x,y,z,dx,dy,dz", *(",".join(map(repr, row)) for row in rows)]))
    for name, heights in grids.items():
        ground = {"type": "heightfield", "size": [*size.tolist(), 1], "data": heights.tolist()}
        ground["pose"] = {"xyz": at.tolist(), "quat_xyzw": quat.tolist()}
        (tmp_path / "scene.json").write_text(json.dumps({"simcli": 1, "world": {"shapes": {"ground": ground}}}))
        done = command("rays", "scene.json", "--rays", "rays.csv", "-o", f"{name}.h5", "--device", "cpu")
        assert done.returncode == Exit.OK, done.stderr
        with package.open(f"{name}.h5") as found:
            distance, normal = found["ray_distance"][0], found["ray_normal"][0] @ R
            point = (found["ray_point"][0] - at) @ R
        vertex, face = terrain_triangles(heights, np.array([[*size, 0.0]]))
        wanted = [nearest_triangle(vertex[face], *ray) for ray in zip(origins, directions, strict=True)]
        assert np.isfinite(wanted).sum() > 15
        assert np.allclose(distance, np.where(np.isfinite(wanted), wanted, np.nan), rtol=0, atol=HIT, equal_nan=True)
        met = np.isfinite(wanted)
        assert (normal[met, 2] > 0).all()
        if name == "plane":
            up = np.array([-0.3, -0.2, 1.0]) / np.sqrt(1.13)
            assert np.abs(normal[met] - up).max() < NORMAL
            assert np.abs(distance - -(origins @ up) / (directions @ up))[met].max() < HIT
            assert np.abs(point @ up)[met].max() < HIT
            inside = (np.abs(origins + (-(origins @ up) / (directions @ up))[:, None] * directions)[:, :2] < size / 2).all(
                axis=1
            )
            assert (met == (inside & (-(origins @ up) / (directions @ up) > 0))).all()


def nearest_triangle(corners, origin, direction):
    """[m], of all triangles, each by three linear equations."""
    a, b, c = np.moveaxis(corners, 1, 0)
    sides = np.stack((b - a, c - a, np.broadcast_to(-direction, a.shape)), axis=-1)
    u, v, t = np.linalg.solve(sides, (origin - a)[..., None])[..., 0].T
    meets = (t >= 0) & (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9)
    return t[meets].min(initial=np.inf)
