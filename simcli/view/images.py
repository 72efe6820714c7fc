"""Pictures and films as files: PNG and GIF by Pillow, MP4 by PyAV, the extra `render`."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np

from simcli.errors import UsageError, from_extra
from simcli.records.drafts import MARK, PNG_KEY, drafted
from simcli.spec.base.fault_list import suffix_of

_Array = np.ndarray
PICTURE, FILMS = ".png", (".gif", ".mp4")
_SUFFIXES = (PICTURE, *FILMS)
CENTISECOND = 100  # per second: GIF counts in them
MOST_GIF = 1e8  # pixels: a GIF is put together in memory
QUALITY = "18"  # of H.264: nobody sees what is lost


def check_picture_suffix(path: Path) -> None:
    """Refuse a name whose suffix says no format, and a format whose library is not there.

    Raises:
        UsageError: that is so.
    """
    if suffix_of(path, _SUFFIXES) == ".mp4":
        _av()
    else:
        _pillow()


def is_film(path: Path) -> bool:
    """Whether a file is a film by its name."""
    return path.suffix.lower() in FILMS


def write_picture(picture: _Array, path: Path) -> None:
    """Write a picture, (h, w, 3) uint8, as PNG.

    Raises:
        UsageError: Pillow is missing.
        OutputError: the file cannot be written.
    """
    image = _pillow()
    from PIL.PngImagePlugin import PngInfo

    mark = PngInfo()
    mark.add_text(PNG_KEY, MARK)
    with drafted(path) as part:
        image.fromarray(picture).save(part, format="PNG", optimize=True, pnginfo=mark)


def check_film(n_pictures: int, size: tuple[int, int], rate: Fraction, path: Path) -> None:
    """Refuse a film that its format cannot hold; arguments as of `write_film`.

    Raises:
        UsageError: that is so.
    """
    if path.suffix.lower() == ".gif":
        if rate > CENTISECOND // 2:
            raise UsageError(f"--fps {float(rate):g}: a GIF shows at most 50 pictures a second")
        if n_pictures * size[0] * size[1] > MOST_GIF:
            raise UsageError(
                f"a GIF of {n_pictures} pictures of {size[0]}x{size[1]} is too large: write .mp4, or lower --fps or --size"
            )
    elif size[0] % 2 or size[1] % 2:
        raise UsageError(f"--size {size[0]}x{size[1]}: MP4 wants even numbers")


def write_film(pictures: Iterable[_Array], samples: list[_Array], size: tuple[int, int], rate: Fraction, path: Path) -> None:
    """Write pictures, (h, w, 3) uint8 each, in the format of the suffix.

    Args:
        pictures: in order; they are taken one by one.
        samples: some of them, which decide the colours of a GIF.
        size: width and height, pixels.
        rate: pictures a second.
        path: .gif or .mp4.

    Raises:
        UsageError: a library is missing.
        OutputError: the file cannot be written.
    """
    with drafted(path) as part:
        if path.suffix.lower() == ".gif":
            _write_gif(pictures, samples, rate, part)
        else:
            _write_mp4(pictures, size, rate, part)


def _write_gif(pictures: Iterable[_Array], samples: list[_Array], rate: Fraction, part: Path) -> None:
    image = _pillow()
    palette = image.fromarray(np.concatenate(samples)).quantize(256, method=image.Quantize.MEDIANCUT, kmeans=1)
    flat = [image.fromarray(one).quantize(palette=palette, dither=image.Dither.NONE) for one in pictures]
    # GIF counts in hundredths of a second: pictures last unequally so that the whole takes its time.
    marks = [round(CENTISECOND * k / rate) for k in range(len(flat) + 1)]
    lasts = [10 * (end - begin) for begin, end in pairwise(marks)]
    flat[0].save(
        part,
        format="GIF",
        save_all=True,
        append_images=flat[1:],
        duration=lasts,
        loop=0,
        optimize=False,
        comment=MARK.encode(),
    )


def _write_mp4(pictures: Iterable[_Array], size: tuple[int, int], rate: Fraction, part: Path) -> None:
    av = _av()
    with av.open(str(part), "w", format="mp4", options={"movflags": "faststart"}) as container:
        container.metadata["comment"] = MARK
        stream = container.add_stream("h264", rate=rate)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        stream.options = {"crf": QUALITY, "preset": "medium"}
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def _pillow():
    with from_extra("pictures need Pillow", "render"):
        from PIL import Image
    return Image


def _av():
    with from_extra("MP4 needs PyAV", "render"):
        import av
    return av
