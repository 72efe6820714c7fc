"""The kernel that draws, and the host's door to it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simcli.kernels.device.runtime import live_device, start_device
from simcli.kernels.language import ti
from simcli.kernels.rays import lit
from simcli.kernels.rays.lit import against, background, colour_of, of_solid, seen_light, vec3_at
from simcli.kernels.rays.screens import LIGHT_TILES, TILE, Camera, light_tiles_of, tiles_changed, tiles_of
from simcli.kernels.rays.shapes import MESH, NEVER, PLANE, vec3
from simcli.kernels.rays.solids import Meshes, Solids
from simcli.model.table_base import Array

_SAME = 3e-5  # [1] between surfaces that are one: more than rounding makes of it
TASK = 256  # pixels of a task
MOST_LAYERS = 24  # solids behind each other that are looked through
_EDGE = 0.025  # [1] of the range of sRGB: pixels that differ from a neighbour by more are drawn again with more rays
# Rays of such a pixel: a lattice of rank 1, whose projections on both axes are even.
LATTICE = np.array([((k + 0.5) / 12, (0.5 + k * 5 % 12) / 12) for k in range(12)], np.float32)
LATTICE_STRIDE = 6  # each of these takes so much fewer rays to the lamp, others than its neighbours
_MIDDLE = np.full((1, 2), 0.5, np.float32)
_table = ti.types.ndarray


@dataclass(frozen=True)
class Light:
    """Where light comes from; colours are linear.

    Attributes:
        direction: (3,), unit vector to the middle of the lamp.
        above: (3,), unit vector upwards.
        key, sky, earth: (3,), of the lamp, from above and from below.
        top, bottom: (3,), background at the upper and lower edge of the picture.
        spread: tangent of half the angle under which the lamp is seen.
        shine: of highlights.
        n_rays: to the lamp.
    """

    direction: Array
    above: Array
    key: Array
    sky: Array
    earth: Array
    top: Array
    bottom: Array
    spread: float = 0.09
    shine: float = 0.18
    n_rays: int = 24


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes:
        colour: (height, width, 3) uint8, sRGB.
        find_solid: finds `solid`, which a film does without.
    """

    colour: Array
    find_solid: Callable[[], Array]

    @property
    def solid(self) -> Array:
        """(height, width) int32, number of what the middle of each pixel shows first, -1 for nothing."""
        return self.find_solid()


def draw(solids: Solids, meshes: Meshes, camera: Camera, light: Light) -> Picture:
    """Draw solids; the bytes depend on nothing else than what is given.

    Of a film, from the second picture on, rays go only to where something stands or throws its shadow: the rest is that of
    the planes alone, as long as these, the camera and the light stay.

    Args:
        solids: `kept` ones.
        meshes: that they name.
        camera: and the size of the picture.
        light: and background.
    """
    ready_device()
    planes = solids.of(solids.is_plane)
    key = _key_of(planes, camera, light)
    if _last.key != key:
        _last.key, _last.base = key, None
        return _whole(_Rays(solids, meshes, camera, light)).picture
    if _last.base is None:
        _last.base = _whole(_Rays(planes, meshes, camera, light))
    return _over(_last.base, _Rays(solids, meshes, camera, light), tiles_changed(solids, camera, light))


@dataclass
class _Last:
    """What the picture before had: planes, camera and light, and the picture of these alone, if that was wanted."""

    key: bytes = b""
    base: "_Drawn | None" = None


_last = _Last()


def _key_of(planes: Solids, camera: Camera, light: Light) -> bytes:
    parts = [*vars(planes).values(), *vars(camera).values(), *vars(light).values()]
    return b"|".join(np.asarray(part).tobytes() for part in parts)


class _Rays:
    """What rays of a picture meet; arguments as of `draw`."""

    def __init__(self, solids: Solids, meshes: Meshes, camera: Camera, light: Light):
        self.solids, self.size = solids, (camera.height, camera.width)
        shadows, seen = light_tiles_of(solids, light.direction, light.spread), tiles_of(solids, camera)
        rows, names = solids.table(meshes)
        layers = MOST_LAYERS if (solids.opacity < 1.0).any() or solids.is_plane.any() else 1
        counts = np.array((camera.width, camera.height, -(-camera.width // TILE), LIGHT_TILES, layers), np.int32)
        self._tables = (
            _numbers(camera, light, shadows), counts, _to_lamp(light, shadows.axes), rows, names, meshes.nodes, meshes.links,
            meshes.triangles, seen.start, seen.solid, shadows.lists.start, shadows.lists.solid)  # fmt: skip

    def through(self, pixels: Array, is_fine: bool = False) -> tuple[Array, Array]:
        """Linear light (n, 3) of some pixels, by one ray each, or by those of the lattice, and the solids that are met."""
        linear, solid = np.empty((len(pixels), 3), np.float32), np.empty(len(pixels), np.int32)
        if len(pixels):
            pattern = (LATTICE, LATTICE_STRIDE) if is_fine else (_MIDDLE, 1)
            draw_pixels(pixels.astype(np.int32), *pattern, linear, solid, *self._tables)
        return linear, solid


@dataclass(frozen=True)
class _Drawn:
    """A picture, and how it came about.

    Attributes:
        picture: the picture.
        shown: (h, w, 3), sRGB of the middles of the pixels.
        is_plane: (h, w), whether these show a plane.
        is_edge: (h, w), pixels that were drawn with more rays.
    """

    picture: Picture
    shown: Array
    is_plane: Array
    is_edge: Array


def _whole(rays: _Rays) -> _Drawn:
    """All of a picture."""
    linear, solid = rays.through(np.arange(rays.size[0] * rays.size[1]))
    shown = _encoded(linear).reshape(*rays.size, 3)
    is_plane = np.append(rays.solids.is_plane, False)[solid].reshape(rays.size)
    is_edge, colour = _edges(shown, is_plane), _bytes_of(shown)
    colour[is_edge] = _bytes_of(_encoded(rays.through(np.flatnonzero(is_edge), is_fine=True)[0]))
    return _Drawn(Picture(colour, lambda: solid.reshape(rays.size)), shown, is_plane, is_edge)


def _over(base: _Drawn, rays: _Rays, tiles: Array) -> Picture:
    """A picture in which only some tiles can differ from that of the planes alone; the bytes are those of `_whole`.

    Args:
        base: the picture of the planes.
        rays: of all solids.
        tiles: (rows, columns) bool.
    """
    colour = base.picture.colour.copy()
    if not tiles.any():
        return Picture(colour, lambda: _solid_of_planes(base, rays))
    # Two pixels beyond: an edge is seen from its neighbour, and that of one there is the one before.
    rows, columns = (_span(tiles.any(axis=1 - k), rays.size[k]) for k in range(2))
    box = np.s_[rows[0] : rows[1], columns[0] : columns[1]]
    again = np.repeat(np.repeat(tiles, TILE, axis=0), TILE, axis=1)[: rays.size[0], : rays.size[1]][box]
    every = (np.arange(*rows)[:, None] * rays.size[1] + np.arange(*columns)).astype(np.int32)
    shown, is_plane = base.shown[box].copy(), base.is_plane[box].copy()
    linear, met = rays.through(every[again])
    shown[again] = _encoded(linear)
    is_plane[again] = np.append(rays.solids.is_plane, False)[met]
    is_edge, was_edge = _edges(shown, is_plane), base.is_edge[box]
    for side, at_end in ((np.s_[0], rows[0] == 0), (np.s_[-1], rows[1] == rays.size[0])):
        is_edge[side] = is_edge[side] if at_end else was_edge[side]
    for side, at_end in ((np.s_[:, 0], columns[0] == 0), (np.s_[:, -1], columns[1] == rays.size[1])):
        is_edge[side] = is_edge[side] if at_end else was_edge[side]
    middle, fine = (again | was_edge) & ~is_edge, is_edge & (again | ~was_edge)
    colour[box][middle] = _bytes_of(shown[middle])
    colour[box][fine] = _bytes_of(_encoded(rays.through(every[fine], is_fine=True)[0]))

    def find_solid() -> Array:
        solid = _solid_of_planes(base, rays)
        solid[box][again] = met
        return solid

    return Picture(colour, find_solid)


def _solid_of_planes(base: _Drawn, rays: _Rays) -> Array:
    """`solid` of the picture of the planes, by numbers of all solids."""
    number = np.append(np.flatnonzero(rays.solids.is_plane), -1).astype(np.int32)
    return number[base.picture.solid]


def _span(tiles: Array, size: int) -> tuple[int, int]:
    """First pixel of some tiles and one past the last, and two more on either side."""
    found = np.flatnonzero(tiles)
    return max(int(found[0]) * TILE - 2, 0), min((int(found[-1]) + 1) * TILE + 2, size)


def ready_device() -> None:
    """Start the CPU in float32, if that is not what is started: elsewhere pictures would differ in their last bits."""
    device = live_device()
    if device is None or (device.arch, device.precision, device.is_gpu) != ("cpu", "float32", False):
        start_device("cpu", "float32")


def _encoded(linear: Array) -> Array:
    """Linear light as sRGB, 0 to 1.

    Source: IEC 61966-2-1. No deviation.
    """
    x = np.clip(linear, 0.0, 1.0)
    return np.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** np.float32(1.0 / 2.4) - 0.055)


def decoded(colour: Array) -> Array:
    """The inverse of `_encoded`."""
    x = np.asarray(colour, float)
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def _to_lamp(light: Light, axes: Array) -> Array:
    """Unit vectors to points of the lamp, (n, 3) float32; `axes`: (2, 3), across the light."""
    to_points = light.direction + light.spread * lamp_points(light.n_rays) @ axes
    return (to_points / np.linalg.norm(to_points, axis=1, keepdims=True)).astype(np.float32)


def lamp_points(n: int) -> Array:
    """N points of a disc of radius 1, evenly spread, the rim first; neighbours in number lie far apart: (n, 2)."""
    k = np.arange(n)
    radius, angle = np.sqrt(1.0 - (k + 0.5) / n), np.pi * (3.0 - np.sqrt(5.0)) * k
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=-1).astype(np.float32)


def _bytes_of(shown: Array) -> Array:
    """Colours from 0 to 1 as uint8."""
    return np.round(255.0 * shown).astype(np.uint8)


def _edges(shown: Array, is_plane: Array) -> Array:
    """Pixels that differ from a neighbour, and their neighbours, which may hide a thin thing: (h, w) bool.

    Lines and shadows on planes are smooth by themselves.
    """
    found = np.zeros(shown.shape[:2], bool)
    parts = [np.ascontiguousarray(shown[..., k]) for k in range(3)]
    for one, other in ((np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:], np.s_[:-1])):
        differ = np.abs(parts[0][one] - parts[0][other]) > _EDGE
        for part in parts[1:]:
            differ |= np.abs(part[one] - part[other]) > _EDGE
        differ &= ~(is_plane[one] & is_plane[other])
        found[one] |= differ
        found[other] |= differ
    return found


def _numbers(camera: Camera, light: Light, shadows) -> Array:
    """The kernel's table of numbers, see `lit`."""
    found = np.zeros(lit.N_NUMBERS, np.float32)
    right, up, forward = camera.axes
    groups = {lit.EYE: camera.eye, lit.RIGHT: right * camera.pixel, lit.UP: up * camera.pixel, lit.FORWARD: forward,
              lit.LIGHT: light.direction, lit.LIGHT_U: shadows.axes[0], lit.LIGHT_V: shadows.axes[1], lit.SKY: light.sky,
              lit.EARTH: light.earth, lit.KEY: light.key, lit.TOP: light.top, lit.BOTTOM: light.bottom,
              lit.ABOVE: light.above}  # fmt: skip
    for place, values in groups.items():
        found[place : place + 3] = values
    found[lit.TILES_U : lit.PER_V + 1] = *shadows.origin, *shadows.per_unit
    found[lit.SPREAD], found[lit.SHINE], found[lit.PIXEL] = light.spread, light.shine, camera.pixel
    return found


@ti.func
def _nearest(o, d, after, first, last, tile_solid: ti.template(), solids: ti.template(), names: ti.template(),
            nodes: ti.template(), links: ti.template(), triangles: ti.template()):
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
def _colour_at(s, eye, d, hit, k, stride, lamp: ti.template(), numbers: ti.template(), counts: ti.template(),
               light_start: ti.template(), light_solid: ti.template(), solids: ti.template(), names: ti.template(),
               nodes: ti.template(), links: ti.template(), triangles: ti.template()):
    """Light from where ray k of a pixel meets solid s."""
    p = eye + hit[0] * d
    normal = vec3(hit[1], hit[2], hit[3]).normalized()
    seen = 0.0
    if normal.dot(vec3_at(numbers, lit.LIGHT)) > 0.0:
        seen = seen_light(s, p + lit.BIAS * normal, normal, k, stride, lamp, numbers, light_start, light_solid, counts[3],
                          solids, names, nodes, links, triangles)
    return colour_of(s, p, normal, d, seen, hit[0], numbers, solids, names)


@ti.kernel
def draw_pixels(pixels: _table(ti.i32, ndim=1), offsets: _table(ti.f32, ndim=2), stride: ti.i32, out: _table(ti.f32, ndim=2),
                out_solid: _table(ti.i32, ndim=1), numbers: _table(ti.f32, ndim=1), counts: _table(ti.i32, ndim=1),
                lamp: _table(ti.f32, ndim=2),
                solids: _table(ti.f32, ndim=2), names: _table(ti.i32, ndim=2), nodes: _table(ti.f32, ndim=2),
                links: _table(ti.i32, ndim=2), triangles: _table(ti.f32, ndim=2), tile_start: _table(ti.i32, ndim=1),
                tile_solid: _table(ti.i32, ndim=1), light_start: _table(ti.i32, ndim=1),
                light_solid: _table(ti.i32, ndim=1)):
    """Mean colour of some pixels over the rays of a pattern, and what the first ray meets.

    Reads: pixels (n,), numbers row by row; offsets (rays, 2), within the pixel; the tables; each `stride`-th point of the
    lamp, others for each ray of a pixel. Writes: out (n, 3), linear
    light; out_solid (n,).
    """
    ti.loop_config(block_dim=TASK)
    for i in range(pixels.shape[0]):
        x, y = pixels[i] % counts[0], pixels[i] // counts[0]
        tile = y // TILE * counts[2] + x // TILE
        first, last = tile_start[tile], tile_start[tile + 1]
        eye = vec3_at(numbers, lit.EYE)
        total = vec3(0.0)
        for k in range(offsets.shape[0]):
            px, py = ti.cast(x, ti.f32) + offsets[k, 0], ti.cast(y, ti.f32) + offsets[k, 1]
            d = (vec3_at(numbers, lit.FORWARD) + (px - 0.5 * counts[0]) * vec3_at(numbers, lit.RIGHT)
                 + (0.5 * counts[1] - py) * vec3_at(numbers, lit.UP)).normalized()
            after, left, layer = 0.0, 1.0, 0
            shown = -1
            while layer < counts[4] and left > 0.01:
                hit, s, has_more = _nearest(eye, d, after, first, last, tile_solid, solids, names, nodes, links, triangles)
                layer = layer + 1 if has_more else counts[4]
                share = 0.0
                if s >= 0:
                    share = left * opacity_at(s, eye + hit[0] * d, solids, names)
                    after = hit[0] + 0.5 * _SAME  # less than between what is told apart: nothing is skipped
                if share > 0.0:
                    shown = s if shown < 0 else shown
                    total += share * _colour_at(s, eye, d, hit, k, stride, lamp, numbers, counts, light_start, light_solid,
                                                solids, names, nodes, links, triangles)
                    left -= share
            total += left * background(py / counts[1], numbers)
            if k == 0:
                out_solid[i] = shown
        for c in ti.static(range(3)):
            out[i, c] = total[c] / offsets.shape[0]
