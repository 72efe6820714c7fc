"""Which solids a ray can meet: of each tile of the picture, and of each tile of the picture that the light would take."""

from dataclasses import dataclass

import numpy as np

from simcli.kernels.rays.solids import Solids
from simcli.model.table_base import Array

TILE = 16  # pixels of a tile's edge
LIGHT_TILES = 64  # along either side of the light's picture
_NEAR = 1e-3  # [1], least depth that is projected
_FAR = 1e6  # [1], of a shadow
_BOX = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


@dataclass(frozen=True)
class Lists:
    """Numbers of solids by tile, ascending in each.

    Attributes:
        start: (tiles + 1,) int32.
        solid: int32.
    """

    start: Array
    solid: Array


@dataclass(frozen=True)
class Camera:
    """A camera without distortion, in the frame of the picture.

    Attributes:
        eye: (3,).
        axes: (3, 3), rows right, up, forward; orthonormal.
        half_height: tangent of half the angle of view from bottom to top.
        width, height: pixels.
    """

    eye: Array
    axes: Array
    half_height: float
    width: int
    height: int

    @property
    def pixel(self) -> float:
        """Edge of a pixel at depth 1."""
        return 2.0 * self.half_height / self.height

    def project(self, points: Array) -> Array:
        """Pixels along x and y, from the upper left corner, and depth: (..., 3)."""
        right, up, depth = np.moveaxis((points - self.eye) @ self.axes.T, -1, 0)
        scale = 1.0 / (np.where(np.abs(depth) < _NEAR, _NEAR, depth) * self.pixel)
        return np.stack((0.5 * self.width + right * scale, 0.5 * self.height - up * scale, depth), axis=-1)


def tiles_of(solids: Solids, camera: Camera) -> Lists:
    """Lists of the tiles of a picture, row by row."""
    count = np.array((-(-camera.width // TILE), -(-camera.height // TILE)))
    low, high = _rectangles(camera, solids.corners())
    low, high = (np.where(solids.is_plane[:, None], all_of_it, part) for part, all_of_it in ((low, 0.0), (high, count)))
    return _lists(low, high, count)


def tiles_changed(solids: Solids, camera: Camera, light) -> Array:
    """Tiles of a picture that can differ from that of its planes alone, (rows, columns) bool.

    Args:
        solids: all of them.
        camera: and the size of the picture.
        light: see `picture.Light`.
    """
    bodies, planes = solids.of(~solids.is_plane), solids.of(solids.is_plane)
    corners = bodies.corners()
    seen = [corners]
    for normal, centre in zip(planes.map[:, :, 2], planes.centre, strict=True):
        normal = normal / np.linalg.norm(normal)
        slope, height = float(normal @ light.direction), (corners - centre) @ normal
        if slope > 0.0:  # else it is not lit
            least = max(slope - light.spread, _NEAR)  # of the rim of the lamp
            reach = light.spread * (1.0 + light.spread) * np.abs(height).max(axis=1, initial=0.0) / least**2 + _NEAR
            shadow = corners - (height / slope)[..., None] * light.direction
            wider = shadow[:, :, None] + reach[:, None, None, None] * _BOX
            seen.append(wider.reshape(len(corners), 64, 3).clip(-_FAR, _FAR))
    count = np.array((-(-camera.width // TILE), -(-camera.height // TILE)))
    found = np.zeros(count[::-1], bool)
    for points in seen:
        low, high = _rectangles(camera, points)
        for (x, y), (right, top) in zip(np.floor(np.clip(low, 0, count)).astype(int),
                                        np.floor(np.clip(high, -1, count - 1)).astype(int), strict=True):  # fmt: skip
            found[y : top + 1, x : right + 1] = True
    return found


def _rectangles(camera: Camera, corners: Array) -> tuple[Array, Array]:
    """Tiles that hold some boxes, (N, 8, 3): first and last along x and y, (N, 2); the last -1 of what is behind the eye."""
    shown = camera.project(corners)
    depth = shown[..., 2]
    behind, whole = (depth <= _NEAR).all(axis=1), (depth <= _NEAR).any(axis=1)
    low = np.where(whole[:, None], 0.0, shown[..., :2].min(axis=1) - 1.0)
    high = np.where(whole[:, None], (camera.width, camera.height), shown[..., :2].max(axis=1) + 1.0)
    return low / TILE, np.where(behind[:, None], -1.0, high / TILE)


@dataclass(frozen=True)
class LightTiles:
    """Tiles of the light's picture, and where they are.

    Attributes:
        lists: of LIGHT_TILES x LIGHT_TILES tiles.
        axes: (2, 3), the picture's axes.
        origin: (2,), its lower left corner along them.
        per_unit: (2,), tiles per unit.
    """

    lists: Lists
    axes: Array
    origin: Array
    per_unit: Array


def light_tiles_of(solids: Solids, light: Array, spread: float) -> LightTiles:
    """Lists of solids that can stand between a point and the light.

    Args:
        solids: all of them; planes throw no shadow.
        light: (3,), unit vector to the middle of the light, which is far away.
        spread: tangent of half the angle under which the light is seen.
    """
    axes = _across(light)
    corners = solids.corners()
    along, flat = corners @ light, corners @ axes.T
    throws = ~solids.is_plane
    # A point at a distance s below a solid sees it before the light if it is within `spread` s of its shadow.
    floor = along[throws].min() if throws.any() else 0.0
    normal = solids.map[~throws, :, 2]
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    reach = along.max(axis=1) - floor
    for n, centre in zip(normal, solids.centre[~throws], strict=True):
        if n @ light > spread:  # lit: points of it below the solid
            height = np.einsum("nki,i->nk", corners - centre, n).max(axis=1)
            reach = np.maximum(reach, height / (n @ light))
    margin = spread * reach[:, None] * (1.0 + spread)
    low, high = flat.min(axis=1) - margin, flat.max(axis=1) + margin
    origin = low[throws].min(axis=0) if throws.any() else np.zeros(2)
    size = np.maximum(high[throws].max(axis=0) - origin, 1e-6) if throws.any() else np.ones(2)
    per_unit = LIGHT_TILES / size
    last = np.where(throws[:, None], (high - origin) * per_unit, -1.0)
    return LightTiles(_lists((low - origin) * per_unit, last, np.array((LIGHT_TILES, LIGHT_TILES))), axes, origin, per_unit)


def _across(direction: Array) -> Array:
    """Two unit vectors (2, 3) that are orthogonal to a unit vector and to each other."""
    least = np.eye(3)[np.argmin(np.abs(direction))]
    one = np.cross(direction, least)
    one /= np.linalg.norm(one)
    return np.stack((one, np.cross(direction, one)))


def _lists(low: Array, high: Array, count: Array) -> Lists:
    """Lists of count[0] x count[1] tiles out of rectangles.

    Args:
        low, high: (N, 2), in tiles; nothing where high < 0.
        count: (2,), tiles along x and y.
    """
    first = np.clip(np.floor(low), 0, count).astype(int)
    last = np.clip(np.floor(high), -1, count - 1).astype(int)
    size = np.maximum(last - first + 1, 0)
    cells = size.prod(axis=1)
    solid = np.repeat(np.arange(len(low)), cells)
    nth = np.arange(len(solid)) - np.repeat(np.cumsum(cells) - cells, cells)
    x = first[solid, 0] + nth % np.maximum(size[solid, 0], 1)
    y = first[solid, 1] + nth // np.maximum(size[solid, 0], 1)
    tile = y * count[0] + x
    order = np.argsort(tile, kind="stable")
    start = np.searchsorted(tile[order], np.arange(count.prod() + 1)).astype(np.int32)
    return Lists(start, solid[order].astype(np.int32) if len(order) else np.zeros(1, np.int32))
