"""Pictures: what of them is drawn, and what is kept of the one before."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simcli.kernels.device.runtime import live_device, start_device
from simcli.kernels.rays import lit
from simcli.kernels.rays.intersections import PACK
from simcli.kernels.rays.pixels import draw_pixels
from simcli.kernels.rays.screens import LIGHT_TILES, TILE, Camera, light_tiles_of, tiles_changed, tiles_of
from simcli.kernels.rays.solids import Meshes, Solids
from simcli.model.tables.table_base import Array

MOST_LAYERS = 24  # solids behind each other that are looked through
_EDGE = 0.025  # [1] of the range of sRGB: pixels that differ from a neighbour by more are drawn again with more rays
# Rays of such a pixel: a lattice of rank 1, whose projections on both axes are even.
LATTICE = np.array([((k + 0.5) / 12, (0.5 + k * 5 % 12) / 12) for k in range(12)], np.float32)
LAMP_GROUPS = 6  # each of these takes so much fewer rays to the lamp, others than its neighbours
_MIDDLE = np.full((1, 2), 0.5, np.float32)


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
    rays = _Rays(solids, meshes, camera, light)
    return _over(_last.base, rays, tiles_changed(solids, camera, light, rays.tiles))


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
        shadows, self.tiles = light_tiles_of(solids, light.direction, light.spread), tiles_of(solids, camera)
        rows, names = solids.table(meshes)
        layers = MOST_LAYERS if (solids.opacity < 1.0).any() or solids.is_plane.any() else 1
        counts = np.array((camera.width, camera.height, -(-camera.width // TILE), LIGHT_TILES, layers), np.int32)
        self._lamps = [_to_lamp(light, shadows.axes, n_groups) for n_groups in (1, LAMP_GROUPS)]
        self._tables = (
            _numbers(camera, light, shadows),
            counts,
            rows,
            names,
            meshes.nodes,
            meshes.links,
            meshes.triangles,
            self.tiles.start,
            self.tiles.solid,
            shadows.lists.start,
            shadows.lists.solid,
        )

    def draw(self, part: "_Part", mask: Array, is_fine: bool = False, is_over: bool = False) -> None:
        """Draw some pixels of a part.

        Args:
            part: of the picture.
            mask: (h, w), the pixels.
            is_fine: whether their colours alone are drawn, by rays of the lattice; else by one ray each.
            is_over: whether the picture of the planes is there already.
        """
        pixels = np.flatnonzero(mask).astype(np.int32)
        if len(pixels):
            offsets = LATTICE if is_fine else _MIDDLE
            draw_pixels(pixels, offsets, self._lamps[is_fine], is_over, *part.tables(), *self._tables)


@dataclass(frozen=True)
class _Part:
    """A rectangle of a picture.

    Attributes:
        place: its first column and row.
        shown: (3, h, w) float32, sRGB from 0 to 1 of the middles of the pixels.
        is_plane: (h, w) bool, whether these show a plane.
        colour: (h, w, 3) uint8, sRGB.
        solid: (h, w) int32, what the middles show.
    """

    place: tuple[int, int]
    shown: Array
    is_plane: Array
    colour: Array
    solid: Array

    @classmethod
    def empty(cls, size: tuple[int, int]) -> "_Part":
        """A picture of (rows, columns)."""
        colours = np.empty((3, *size), np.float32), np.empty(size, bool), np.empty((*size, 3), np.uint8)
        return cls((0, 0), *colours, np.empty(size, np.int32))

    def copy(self, rows: tuple[int, int], columns: tuple[int, int]) -> "_Part":
        """A part of a picture, without its solids."""
        box = np.s_[rows[0] : rows[1], columns[0] : columns[1]]
        copies = [values.copy() for values in (self.shown[:, *box], self.is_plane[box], self.colour[box])]
        return _Part((columns[0], rows[0]), *copies, np.empty(copies[1].shape, np.int32))

    def tables(self) -> list[Array]:
        """For the kernel: place and width, and values by pixel."""
        place = np.array((*self.place, self.solid.shape[1]), np.int32)
        return [
            place,
            self.shown.reshape(3, -1),
            self.is_plane.view(np.uint8).reshape(-1),
            self.colour.reshape(-1, 3),
            self.solid.reshape(-1),
        ]


@dataclass(frozen=True)
class _Drawn:
    """A picture, and how it came about.

    Attributes:
        whole: all of it.
        is_edge: (h, w), pixels that were drawn with more rays.
    """

    whole: _Part
    is_edge: Array

    @property
    def picture(self) -> Picture:
        """The picture."""
        return Picture(self.whole.colour, lambda: self.whole.solid)


def _whole(rays: _Rays) -> _Drawn:
    """All of a picture."""
    whole = _Part.empty(rays.size)
    rays.draw(whole, np.ones(rays.size, bool))
    is_edge = _edges(whole.shown, whole.is_plane)
    rays.draw(whole, is_edge, is_fine=True)
    return _Drawn(whole, is_edge)


def _over(base: _Drawn, rays: _Rays, tiles: Array) -> Picture:
    """A picture in which only some tiles can differ from that of the planes alone; the bytes are those of `_whole`.

    Args:
        base: the picture of the planes.
        rays: of all solids.
        tiles: (rows, columns) bool.
    """
    colour = base.whole.colour.copy()
    if not tiles.any():
        return Picture(colour, lambda: _solid_of_planes(base, rays))
    # Two pixels beyond: an edge is seen from its neighbour, and that of one there is the one before.
    rows, columns = (_span(tiles.any(axis=1 - k), rays.size[k]) for k in range(2))
    box = np.s_[rows[0] : rows[1], columns[0] : columns[1]]
    again = np.repeat(np.repeat(tiles, TILE, axis=0), TILE, axis=1)[: rays.size[0], : rays.size[1]][box]
    part, was_edge = base.whole.copy(rows, columns), base.is_edge[box]
    rays.draw(part, again, is_over=True)
    is_edge = _edges(part.shown, part.is_plane)
    for side, at_end in ((np.s_[0], rows[0] == 0), (np.s_[-1], rows[1] == rays.size[0])):
        is_edge[side] = is_edge[side] if at_end else was_edge[side]
    for side, at_end in ((np.s_[:, 0], columns[0] == 0), (np.s_[:, -1], columns[1] == rays.size[1])):
        is_edge[side] = is_edge[side] if at_end else was_edge[side]
    rays.draw(part, was_edge & ~is_edge)
    rays.draw(part, is_edge & (again | ~was_edge), is_fine=True)
    colour[box] = part.colour

    def find_solid() -> Array:
        solid = _solid_of_planes(base, rays)
        solid[box][again] = part.solid[again]
        return solid

    return Picture(colour, find_solid)


def _solid_of_planes(base: _Drawn, rays: _Rays) -> Array:
    """`solid` of the picture of the planes, by numbers of all solids."""
    number = np.append(np.flatnonzero(rays.solids.is_plane), -1).astype(np.int32)
    return number[base.whole.solid]


def _span(tiles: Array, size: int) -> tuple[int, int]:
    """First pixel of some tiles and one past the last, and two more on either side."""
    found = np.flatnonzero(tiles)
    return max(int(found[0]) * TILE - 2, 0), min((int(found[-1]) + 1) * TILE + 2, size)


def ready_device() -> None:
    """Start the CPU in float32, if that is not what is started: elsewhere pictures would differ in their last bits."""
    device = live_device()
    if device is None or (device.arch, device.precision, device.is_gpu) != ("cpu", "float32", False):
        start_device("cpu", "float32")


def decoded(colour: Array) -> Array:
    """Linear light of colours, sRGB from 0 to 1: the inverse of `lit.encoded`."""
    x = np.asarray(colour, float)
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def _to_lamp(light: Light, axes: Array, n_groups: int) -> Array:
    """Unit vectors to points of the lamp and weights, (n_groups, 4, n) float32, n whole packs; what fills them weighs 0.

    Args:
        light: whose rays these are.
        axes: (2, 3), across the light.
        n_groups: each `n_groups`-th ray is of one group.
    """
    rays = light.direction + light.spread * lamp_points(light.n_rays) @ axes
    rays = np.column_stack((rays / np.linalg.norm(rays, axis=1, keepdims=True), np.ones(len(rays))))
    groups = [rays[k::n_groups] for k in range(n_groups)]
    n = -(-len(groups[0]) // PACK) * PACK
    found = np.repeat((*light.direction, 0.0), n).reshape(4, n).astype(np.float32)[None].repeat(n_groups, axis=0)
    for k, group in enumerate(groups):
        found[k, :, : len(group)] = group.T
    return found


def lamp_points(n: int) -> Array:
    """N points of a disc of radius 1, evenly spread, the rim first; neighbours in number lie far apart: (n, 2)."""
    k = np.arange(n)
    radius, angle = np.sqrt(1.0 - (k + 0.5) / n), np.pi * (3.0 - np.sqrt(5.0)) * k
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=-1).astype(np.float32)


def _edges(shown: Array, is_plane: Array) -> Array:
    """Pixels that differ from a neighbour, and their neighbours, which may hide a thin thing: (h, w) bool.

    Lines and shadows on planes are smooth by themselves. Arguments: see `_Part`.
    """
    found = np.zeros(is_plane.shape, bool)
    for one, other in ((np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:], np.s_[:-1])):
        differ = np.abs(shown[0][one] - shown[0][other]) > _EDGE
        for part in shown[1:]:
            differ |= np.abs(part[one] - part[other]) > _EDGE
        differ &= ~(is_plane[one] & is_plane[other])
        found[one] |= differ
        found[other] |= differ
    return found


def _numbers(camera: Camera, light: Light, shadows) -> Array:
    """The kernel's table of numbers, see `lit`."""
    found = np.zeros(lit.N_NUMBERS, np.float32)
    right, up, forward = camera.axes
    groups = {
        lit.EYE: camera.eye,
        lit.RIGHT: right * camera.pixel,
        lit.UP: up * camera.pixel,
        lit.FORWARD: forward,
        lit.LIGHT: light.direction,
        lit.LIGHT_U: shadows.axes[0],
        lit.LIGHT_V: shadows.axes[1],
        lit.SKY: light.sky,
        lit.EARTH: light.earth,
        lit.KEY: light.key,
        lit.TOP: light.top,
        lit.BOTTOM: light.bottom,
        lit.ABOVE: light.above,
    }
    for place, values in groups.items():
        found[place : place + 3] = values
    found[lit.TILES_U : lit.PER_V + 1] = *shadows.origin, *shadows.per_unit
    found[lit.SPREAD], found[lit.SHINE], found[lit.PIXEL] = light.spread, light.shine, camera.pixel
    return found
