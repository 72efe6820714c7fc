"""Heights of terrain from files: numbers of a CSV file, or the greys of a PNG picture, for which Pillow is asked."""

import io
from pathlib import Path

import numpy as np

from simcli.errors import install_hint
from simcli.model.signals.csv_table import CsvError, read_grid
from simcli.model.tables import Array
from simcli.spec.samples.csv_text import read_bytes

_SUFFIX = ".png"
_WHITE = {"L": 255.0, "I;16": 65535.0, "I;16B": 65535.0, "I": 65535.0}  # by Pillow's mode, of 8 and of 16 bits
_MOST_POINTS = 2**24  # of a picture: what a scene of 64 MiB may hold as numbers


def read_heights(path: Path) -> Array:
    """Heights in rows along y, as of `size: [.., .., 1]`.

    Args:
        path: the file; its name ends in .png if it is a picture.

    Returns:
        (rows along y, columns along x). Of a picture from 0, black, to 1, white; its upper edge is that of the largest y.

    Raises:
        CsvError: it cannot be read, is no grid of at least two by two, or Pillow is missing.
    """
    return read_greys(read_bytes(path)) if path.name.lower().endswith(_SUFFIX) else read_grid(path)


def read_greys(data: bytes) -> Array:
    """Greys of a PNG file of 8 or 16 bits, see `read_heights`."""
    try:
        from PIL import Image
    except ImportError:
        raise CsvError("it is a picture, and Pillow is missing", install_hint("PNG needs Pillow", "render")) from None
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as picture:
            _refuse_picture(picture.mode, *picture.size)
            greys = np.asarray(picture, float)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        if isinstance(error, CsvError):
            raise
        raise CsvError("it is no whole PNG file", "save the picture again") from None
    return greys[::-1] / _WHITE[picture.mode]


def _refuse_picture(mode: str, width: int, height: int) -> None:
    """Refuse what has colours, or no room for two points, or room for too many."""
    if mode not in _WHITE:
        raise CsvError(f"its pixels are of kind {mode}, not grey", "save it as grey of 8 or 16 bits, without transparency")
    if min(width, height) < 2:
        raise CsvError(f"{width} x {height} pixels", "a grid has at least two by two")
    if width * height > _MOST_POINTS:
        raise CsvError(f"{width} x {height} pixels, of which {_MOST_POINTS} may be", "make it smaller")
