"""Poses in 12 bytes: positions as 16-bit parts of the range of a body, orientations as the three smallest components.

Two bits say which component of the quaternion is the largest; it is positive and follows from the others, which lie within
+-1/sqrt(2) and have 15 bits each. The stretch of affine bodies takes 12 bytes more, as 16-bit parts of the largest strain of
each. The page reads them in source/data.js.
"""

import numpy as np

from simcli import rotations as rot
from simcli.view.motion import RIGID, SEEN_STRETCH, UNMOVED, is_stretched, strain

_Array = np.ndarray
_LEVELS = 65535  # of a position
_HALF = 16383  # of a component of a quaternion: 0 to 2 HALF
_LARGEST = np.sqrt(0.5)
N_BYTES = 12
QUANTISATION_STEPS = 32767  # of the largest strain, either way
N_STRETCH_BYTES = 12
TWICE = np.array((1, 1, 1, 2, 2, 2))  # how often each part of a symmetric matrix stands in it


def quantise(poses: _Array) -> tuple[_Array, _Array]:
    """Pack poses.

    Args:
        poses: [m, 1], (F, W, B, 7 or 13), finite; what more than 7 there are are left out.

    Returns:
        Ranges [m], (W, B, 6) float32: lowest corner and extent; and words, (F, W, B, 6) uint16.
    """
    place, turn = poses[..., :3], poses[..., 3:RIGID]
    low = np.nextafter(place.min(axis=0).astype(np.float32), np.float32(-np.inf))
    extent = np.nextafter((place.max(axis=0) - low).astype(np.float32), np.float32(np.inf))
    words = np.empty((*poses.shape[:-1], 6), np.uint16)
    words[..., :3] = np.clip(np.rint((place - low) / extent * _LEVELS), 0, _LEVELS)
    which = np.abs(turn).argmax(axis=-1)[..., None]
    turn = turn * np.where(np.take_along_axis(turn, which, axis=-1) < 0.0, -1.0, 1.0)
    turn = turn / np.linalg.norm(turn, axis=-1, keepdims=True)
    others = np.arange(3) + (np.arange(3) >= which)
    small = np.take_along_axis(turn, others, axis=-1)
    words[..., 3:] = np.clip(np.rint((small / _LARGEST + 1.0) * _HALF), 0, 2 * _HALF)
    words[..., 3] |= ((which[..., 0] >> 1) << 15).astype(np.uint16)
    words[..., 4] |= ((which[..., 0] & 1) << 15).astype(np.uint16)
    return np.concatenate((low, extent), axis=-1).astype(np.float32), words


def unpack(ranges: _Array, words: _Array) -> _Array:
    """Poses [m, 1], (F, W, B, 7), of what `quantise` made."""
    ranges = ranges.astype(float)
    place = ranges[..., :3] + words[..., :3] / _LEVELS * ranges[..., 3:]
    which = ((words[..., 3] >> 15) << 1 | (words[..., 4] >> 15)).astype(int)[..., None]
    small = ((words[..., 3:] & 0x7FFF) / _HALF - 1.0) * _LARGEST
    turn = np.empty((*words.shape[:-1], 4))
    np.put_along_axis(turn, np.arange(3) + (np.arange(3) >= which), small, axis=-1)
    largest = np.sqrt(np.maximum(1.0 - (small * small).sum(axis=-1, keepdims=True), 0.0))
    np.put_along_axis(turn, which, largest, axis=-1)
    return np.concatenate((place, turn), axis=-1)


def quantise_stretch(poses: _Array) -> tuple[_Array, _Array] | None:
    """Pack how bodies are stretched.

    Args:
        poses: [m, 1], (F, W, B, 13), finite.

    Returns:
        Largest strain of each body [1], (W, B) float32, and words, (F, W, B, 6) int16; None where nobody would see it.
    """
    if not is_stretched(poses) or np.abs(strain(poses)).max(initial=0.0) < SEEN_STRETCH:
        return None
    largest = np.nextafter(np.abs(strain(poses)).max(axis=(0, 3)).astype(np.float32), np.float32(np.inf))
    return largest, np.rint(strain(poses) / largest[..., None].astype(float) * QUANTISATION_STEPS).astype(np.int16)


def unpack_stretch(largest: _Array, words: _Array) -> _Array:
    """S [1], (F, W, B, 6), of what `quantise_stretch` made."""
    return words / QUANTISATION_STEPS * largest[..., None].astype(float) + UNMOVED[RIGID:]


def error(poses: _Array, packed: _Array, reach: _Array) -> float:
    """[m], most that a point of a body moves by packing.

    Args:
        poses: [m, 1], (F, W, B, 7 or 13).
        packed: [m, 1], (F, W, B, 7 or 13), as they are unpacked; 7: the stretch is left out.
        reach: [m], (B,), largest distance of a point of each body from its frame.
    """
    shift, angle = rot.pose_distance(poses[..., :RIGID], packed[..., :RIGID])
    part = 2.0 * np.sin(0.5 * angle)
    if is_stretched(poses):
        left = strain(poses) - (strain(packed) if is_stretched(packed) else 0.0)
        part = part + np.sqrt((left * left * TWICE).sum(axis=-1))
    return float((shift + part * reach).max(initial=0.0))


def filled(poses: _Array, before: _Array | None = None) -> tuple[_Array, _Array]:
    """Poses of worlds that have ended as they were last.

    Args:
        poses: [m, 1], (F, W, B, 7 or 13), NaN where a world has ended.
        before: [m, 1], (W, B, 7 or 13), at the frame before; None: there is none.

    Returns:
        Poses, finite; and whether each world went on, (F, W) bool.
    """
    goes_on = np.isfinite(poses).all(axis=(2, 3))
    if goes_on.all():
        return poses, goes_on
    found = poses.copy()
    last = np.broadcast_to(UNMOVED[: poses.shape[-1]], poses.shape[1:]) if before is None else before
    for frame, is_whole in enumerate(goes_on):
        last = np.where(is_whole[:, None, None], found[frame], last)
        found[frame] = last
    return found, goes_on
