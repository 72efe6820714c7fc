"""The kernel that draws, and the host's door to it."""

from dataclasses import dataclass

import numpy as np

from simcli.kernels.device.runtime import live_device, start_device
from simcli.kernels.language import ti
from simcli.kernels.rays import lit
from simcli.kernels.rays.lit import against, background, colour_of, of_solid, seen_light, vec3_at
from simcli.kernels.rays.screens import LIGHT_TILES, TILE, Camera, light_tiles_of, tiles_of
from simcli.kernels.rays.shapes import NEVER, PLANE, vec3
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
        solid: (height, width) int32, number of what the middle of each pixel shows first, -1 for nothing.
    """

    colour: Array
    solid: Array


def draw(solids: Solids, meshes: Meshes, camera: Camera, light: Light) -> Picture:
    """Draw solids; the bytes depend on nothing else than what is given.

    Args:
        solids: `kept` ones.
        meshes: that they name.
        camera: and the size of the picture.
        light: and background.
    """
    ready_device()
    shadows = light_tiles_of(solids, light.direction, light.spread)
    seen = tiles_of(solids, camera)
    rows, names = solids.table(meshes)
    layers = MOST_LAYERS if (solids.opacity < 1.0).any() or solids.is_plane.any() else 1
    counts = np.array((camera.width, camera.height, -(-camera.width // TILE), LIGHT_TILES, layers), np.int32)
    numbers = _numbers(camera, light, shadows)
    tables = (numbers, counts, lamp_points(light.n_rays), rows, names, meshes.nodes, meshes.links, meshes.triangles,
              seen.start, seen.solid, shadows.lists.start, shadows.lists.solid)  # fmt: skip
    every = np.arange(camera.width * camera.height, dtype=np.int32)
    linear, solid = np.empty((len(every), 3), np.float32), np.empty(len(every), np.int32)
    draw_pixels(every, _MIDDLE, 1, linear, solid, *tables)
    is_plane = np.append(solids.is_plane, False)[solid]
    edge = _edges(_encoded(linear).reshape(camera.height, camera.width, 3), is_plane.reshape(camera.height, camera.width))
    if len(edge):
        finer, unused = np.empty((len(edge), 3), np.float32), np.empty(len(edge), np.int32)
        draw_pixels(edge, LATTICE, LATTICE_STRIDE, finer, unused, *tables)
        linear[edge] = finer
    size = (camera.height, camera.width)
    return Picture(np.round(255.0 * _encoded(linear)).astype(np.uint8).reshape(*size, 3), solid.reshape(size))


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


def lamp_points(n: int) -> Array:
    """N points of a disc of radius 1, evenly spread, the rim first; neighbours in number lie far apart: (n, 2)."""
    k = np.arange(n)
    radius, angle = np.sqrt(1.0 - (k + 0.5) / n), np.pi * (3.0 - np.sqrt(5.0)) * k
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=-1).astype(np.float32)


def _edges(shown: Array, is_plane: Array) -> Array:
    """Numbers of pixels that differ from a neighbour, and of their neighbours, which may hide a thin thing: (n,) int32.

    Lines and shadows on planes are smooth by themselves.
    """
    found = np.zeros(shown.shape[:2], bool)
    for one, other in ((np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:], np.s_[:-1])):
        differ = (np.abs(shown[one] - shown[other]).max(axis=-1) > _EDGE) & ~(is_plane[one] & is_plane[other])
        found[one] |= differ
        found[other] |= differ
    return np.flatnonzero(found).astype(np.int32)


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
    """The solid that a ray meets first beyond `after`, of those of a tile: (t, normal), number; of equal ones the first."""
    found, solid = ti.Vector([NEVER, 0.0, 0.0, 0.0], ti.f32), -1
    for m in range(first, last):
        s = tile_solid[m]
        one = against(s, o, d, after, 0, solids, names, nodes, links, triangles)
        if one[0] < found[0] - _SAME:
            found, solid = one, s
    return found, solid


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
        seen = seen_light(s, p + lit.BIAS * normal, k, stride, lamp, numbers, light_start, light_solid, counts[3], solids,
                          names, nodes, links, triangles)
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
                hit, s = _nearest(eye, d, after, first, last, tile_solid, solids, names, nodes, links, triangles)
                layer = layer + 1 if s >= 0 else counts[4]
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
