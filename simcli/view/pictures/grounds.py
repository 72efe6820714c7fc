"""What bodies stand on: planes of the scene as far as they are drawn, or a floor where there is none."""

from dataclasses import dataclass, replace

import numpy as np

from simcli import rotations as rot
from simcli.model.tables.model import WORLD, Array
from simcli.view.drawing.glyphs import along
from simcli.view.drawing.parts import Drawing, Item
from simcli.view.motion import RecordedMotion

LIGHT_BACKGROUND = (0.968, 0.974, 0.983)
SHEET, DARK_SHEET = 0.42, 0.12  # of a plane's own colour, the rest is that of a light or of a dark background
_DARK = 0.35  # lightness of a background below which it is dark
FLOOR = 0.96  # of the background, the floor that is drawn where a scene has none
UNDER = 0.02  # of the size of the scene, the floor below what moves
_REACH = 3.0  # sizes of the scene over which ground vanishes
_LEVEL = 0.999  # cosine of the angle to the horizon of planes that go on for ever
_NEAR, BESIDE, _ALONE = 0.06, 0.3, 0.5  # sizes: of bodies near a slope, its edge beyond them, its reach if none come
OFTEN = 0.5  # of the instants, that a body is near a slope along which it goes
SHEET_FADE = 0.5  # of the reach of a slope, over which it vanishes
SLOPE_OPACITY = 0.55


@dataclass(frozen=True)
class Ground:
    """A plane as it is drawn.

    Attributes:
        item: with the middle of what is seen of it as position.
        reach: [m], over which it vanishes.
        is_sheet: whether it is seen from both sides.
    """

    item: Item
    reach: float
    is_sheet: bool = False


def grounds_of(drawing: Drawing, motion: RecordedMotion, box: tuple[Array, Array]) -> list[Ground]:
    """The grounds of a scene.

    Args:
        drawing: of the first world.
        motion: a few frames.
        box: two corners of all that moves.
    """
    middle, size = 0.5 * (box[0] + box[1]), 0.5 * float(np.linalg.norm(box[1] - box[0]))
    behind = np.array(drawing.background or LIGHT_BACKGROUND)
    planes = [item for item in drawing.items if item.kind == "plane" and item.body == WORLD and item.shown]
    if not planes:
        return [_floor(drawing, middle, box, size, behind)] if drawing.grid else []
    places = np.concatenate([poses[..., :3].reshape(-1, *poses.shape[2:3], 3) for _, poses in motion.blocks()])
    return [_ground(item, drawing, middle, size, places, behind) for item in planes]


def _floor(drawing: Drawing, middle: Array, box: tuple[Array, Array], size: float, behind: Array) -> Ground:
    up = np.array(drawing.up, float)
    low = min(float(box[0] @ up), float(box[1] @ up)) - UNDER * size
    place = middle + (low - middle @ up) * up
    return Ground(Item("floor", WORLD, "plane", (), tuple(place), along(up), tuple(FLOOR * behind)), _REACH * size)


def _ground(item: Item, drawing: Drawing, middle: Array, size: float, places: Array, behind: Array) -> Ground:
    """A level plane goes on; of another one the part is drawn along which bodies go: `places` are theirs, (n, B, 3)."""
    normal = rot.quat_to_matrix(np.array(item.orientation))[:, 2]
    at = np.array(item.position)
    reach, opacity = _REACH * size, item.opacity
    is_level = normal @ np.array(drawing.up) >= _LEVEL
    if not is_level:
        is_near = np.abs((places - at) @ normal) < _NEAR * size + 0.25 * drawing.unit
        near = places[:, is_near.mean(axis=0) > OFTEN][is_near[:, is_near.mean(axis=0) > OFTEN]]
        reach, opacity = SHEET_FADE * _ALONE * size, SLOPE_OPACITY * opacity
        if len(near):
            middle = 0.5 * (near.min(axis=0) + near.max(axis=0))
            reach = SHEET_FADE * (float(np.linalg.norm(near - middle, axis=1).max()) + BESIDE * size)
    place = middle - ((middle - at) @ normal) * normal
    own = 1.0 if not is_level else DARK_SHEET if 0.5 * (behind.max() + behind.min()) < _DARK else SHEET
    colour = tuple(own * np.array(item.colour) + (1.0 - own) * behind)
    return Ground(replace(item, position=tuple(place), colour=colour, opacity=opacity), reach, not is_level)
