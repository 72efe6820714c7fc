"""Which solids a ray can meet: of each tile of the picture, and of each tile of the picture that the light would take."""

from dataclasses import dataclass, replace

import numpy as np

from simcli.kernels.rays.solids import Solids
from simcli.model.tables.table_base import Array

TILE = 16  # pixels of a tile's edge
LIGHT_TILES = 64  # along either side of the light's picture
_NEAR = 1e-3  # [1], least depth that is projected
_FAR = 1e6  # [1], of a shadow
_SQUARE = np.array([(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)])


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


@dataclass(frozen=True)
class _Outlines:
    """Where some things can be in a picture: each in a rectangle, and in a strip along its longest way.

    Attributes:
        low, high: (N, 2), in tiles; nothing is there where high < 0.
        across: (N, 2), unit vectors across the strips.
        middle, half: (N,), of the strips along these, in tiles.
    """

    low: Array
    high: Array
    across: Array
    middle: Array
    half: Array


def _outlines(points: Array, margin: Array) -> _Outlines:
    """Of the hulls of some points.

    Args:
        points: (N, K, 2), in tiles.
        margin: (N, 2), what may stand out of them.
    """
    away = points - points.mean(axis=1, keepdims=True)
    xx, yy = np.moveaxis((away**2).mean(axis=1), -1, 0)
    turn = 0.5 * np.arctan2(2.0 * away.prod(axis=2).mean(axis=1), xx - yy)
    across = np.stack((-np.sin(turn), np.cos(turn)), axis=-1)
    along = np.einsum("nki,ni->nk", points, across)
    low, high, wider = along.min(axis=1), along.max(axis=1), (np.abs(across) * margin).sum(axis=1)
    return _Outlines(
        points.min(axis=1) - margin, points.max(axis=1) + margin, across, 0.5 * (low + high), 0.5 * (high - low) + wider
    )


def _seen(camera: Camera, corners: Array) -> _Outlines:
    """Of the hulls of some corners, (N, K, 3), in a picture: all of it if one is behind the eye, nothing if all are."""
    shown = camera.project(corners)
    depth = shown[..., 2]
    behind, whole = (depth <= _NEAR).all(axis=1), (depth <= _NEAR).any(axis=1)
    found = _outlines(shown[..., :2] / TILE, np.full((len(corners), 2), 1.0 / TILE))
    high = np.where(whole[:, None], _count(camera), found.high)
    return replace(
        found,
        low=np.where(whole[:, None], 0.0, found.low),
        high=np.where(behind[:, None], -1.0, high),
        half=np.where(whole, np.inf, found.half),
    )


def _count(camera: Camera) -> Array:
    """Tiles of a picture along x and y."""
    return np.array((-(-camera.width // TILE), -(-camera.height // TILE)))


def tiles_of(solids: Solids, camera: Camera) -> Lists:
    """Lists of the tiles of a picture, row by row."""
    count, is_plane = _count(camera), solids.is_plane
    seen = _seen(camera, solids.corners())
    low, high = (np.where(is_plane[:, None], whole, part) for part, whole in ((seen.low, 0.0), (seen.high, count)))
    return _lists(replace(seen, low=low, high=high, half=np.where(is_plane, np.inf, seen.half)), count)


def tiles_changed(solids: Solids, camera: Camera, light, lists: Lists) -> Array:
    """Tiles of a picture that can differ from that of its planes alone, (rows, columns) bool.

    Args:
        solids: all of them.
        camera: and the size of the picture.
        light: see `picture.Light`.
        lists: of the tiles.
    """
    bodies, planes = solids.of(~solids.is_plane), solids.of(solids.is_plane)
    corners = bodies.corners()
    count = _count(camera)
    found = (np.diff(lists.start) > len(planes.kind)).reshape(count[::-1])  # planes are in all of them
    for normal, centre in zip(planes.map[:, :, 2], planes.centre, strict=True):
        normal = normal / np.linalg.norm(normal)
        slope, height = float(normal @ light.direction), (corners - centre) @ normal
        if slope > 0.0:  # else it is not lit
            least = max(slope - light.spread, _NEAR)  # of the rim of the lamp
            reach = light.spread * (1.0 + light.spread) * np.abs(height) / least**2 + _NEAR
            shadow = corners - (height / slope)[..., None] * light.direction
            wider = shadow[:, :, None] + reach[..., None, None] * (_SQUARE @ _across(normal))
            _, x, y = _cells(_seen(camera, wider.reshape(len(corners), 32, 3).clip(-_FAR, _FAR)), count)
            found[y, x] = True
    return found


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
    found = _outlines((flat - origin) * per_unit, margin * per_unit)
    found = replace(found, high=np.where(throws[:, None], found.high, -1.0))
    return LightTiles(_lists(found, np.array((LIGHT_TILES, LIGHT_TILES))), axes, origin, per_unit)


def _across(direction: Array) -> Array:
    """Two unit vectors (2, 3) that are orthogonal to a unit vector and to each other."""
    least = np.eye(3)[np.argmin(np.abs(direction))]
    one = np.cross(direction, least)
    one /= np.linalg.norm(one)
    return np.stack((one, np.cross(direction, one)))


def _cells(outlines: _Outlines, count: Array) -> tuple[Array, Array, Array]:
    """Which outline, and tile along x and along y, of all tiles of count[0] x count[1] that outlines touch."""
    first = np.clip(np.floor(outlines.low), 0, count).astype(int)
    last = np.clip(np.floor(outlines.high), -1, count - 1).astype(int)
    size = np.maximum(last - first + 1, 0)
    cells = size.prod(axis=1)
    which = np.repeat(np.arange(len(first)), cells)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(cells) - cells, cells)
    x = first[which, 0] + nth % np.maximum(size[which, 0], 1)
    y = first[which, 1] + nth // np.maximum(size[which, 0], 1)
    across = outlines.across[which]
    away = (x + 0.5) * across[:, 0] + (y + 0.5) * across[:, 1] - outlines.middle[which]
    touch = np.abs(away) <= outlines.half[which] + 0.5 * np.abs(across).sum(axis=1)
    return which[touch], x[touch], y[touch]


def _lists(outlines: _Outlines, count: Array) -> Lists:
    """Lists of count[0] x count[1] tiles."""
    solid, x, y = _cells(outlines, count)
    tile = y * count[0] + x
    order = np.argsort(tile, kind="stable")
    start = np.searchsorted(tile[order], np.arange(count.prod() + 1)).astype(np.int32)
    return Lists(start, solid[order].astype(np.int32) if len(order) else np.zeros(1, np.int32))
