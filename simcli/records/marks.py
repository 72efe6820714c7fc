"""Our mark in the metadata of pictures, films and pages: what bears it was made by a command, which may make it again."""

from collections.abc import Iterator
from pathlib import Path

MARK = "simcli"
_HEAD = 4096  # [B] in which text formats and GIF have theirs
_MOST_PDF = 64 << 20  # [B]
_PNG = b"\x89PNG\r\n\x1a\n"
PNG_KEY = "Software"  # of tEXt chunks
PAGE_TAG = f'<meta name="generator" content="{MARK}">'


def bears_mark(path: Path) -> bool:
    """Whether a file is a picture, film or page that a command of ours has made, whatever its name is."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
            if head.startswith(_PNG):
                return f"{PNG_KEY}\0{MARK}".encode() in _text_chunks(stream)
            if head.startswith(b"GIF8"):
                return b"\x21\xfe" + bytes([len(MARK)]) + MARK.encode() in head
            if head[4:8] == b"ftyp":
                return any(_is_comment(box) for box in _movie_boxes(stream))
            if head.startswith(b"%PDF"):
                return f"/Creator ({MARK})".encode() in head + stream.read(_MOST_PDF)
    except OSError:
        return False
    return _is_page(head) or _is_drawing(head)


def _is_page(head: bytes) -> bool:
    begin, _, _ = head.partition(b"</head>")
    return head.lstrip()[:9].lower() == b"<!doctype" and PAGE_TAG.encode() in begin


def _is_drawing(head: bytes) -> bool:
    _, _, metadata = head.partition(b"<metadata>")
    return b"<svg" in head and f"<dc:title>{MARK}</dc:title>".encode() in metadata.partition(b"</metadata>")[0]


def _text_chunks(stream) -> list[bytes]:
    """The chunks of text of a PNG that stand before its picture."""
    found = []
    stream.seek(len(_PNG))
    while len(frame := stream.read(8)) == 8 and frame[4:] != b"IDAT":
        size = int.from_bytes(frame[:4], "big")
        if frame[4:] == b"tEXt":
            found.append(stream.read(min(size, _HEAD)))
            size -= len(found[-1])
        stream.seek(size + 4, 1)
    return found


def _movie_boxes(stream) -> Iterator[bytes]:
    """What the boxes `moov` of an MP4 hold."""
    stream.seek(0)
    while len(frame := stream.read(8)) == 8:
        size = int.from_bytes(frame[:4], "big") - 8
        if size < 0:  # of 64 bits, or to the end: ours have none
            return
        if frame[4:] == b"moov":
            yield stream.read(size)
        else:
            stream.seek(size, 1)


def _is_comment(box: bytes) -> bool:
    """Whether a comment in a box is our mark, and nothing else."""
    _, name, rest = box.partition(b"\xa9cmt")
    return bool(name) and rest[4:8] == b"data" and rest[16 : int.from_bytes(rest[:4], "big")] == MARK.encode()
