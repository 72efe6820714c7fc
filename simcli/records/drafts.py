"""A file that is written whole or not at all: under another name, and renamed at its end.

Pictures, films and pages bear our mark in their metadata: what bears it was made by a command, which may make it again.
"""

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from simcli.errors import OutputError, UsageError

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


NO_SYNC = {errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF, errno.EACCES}  # of folders, on some network file systems


def draft_of(path: Path) -> Path:
    """A hidden name beside a path, which no other process has.

    Jobs of an array, each in a container of its own, may have one process number; therefore chance takes part.
    """
    number = f"{os.getpid()}{int.from_bytes(os.urandom(4), 'little'):010d}"
    return path.with_name(f".{path.name}.{number}.part")


def output_path(path: Path) -> Path:
    """Where a file stands that is written to a path: what a link names. The link stays, and its file is replaced."""
    try:
        return path.resolve() if path.is_symlink() and (path.is_file() or not path.exists()) else path
    except (OSError, RuntimeError):  # links in a circle
        return path


def refuse_overwrite(path: Path, inputs: Iterable[Path], checksums: Iterable[str] = (), option: str = "-o") -> None:
    """Refuse to replace a file that is read: one rule for everything that a command writes.

    Args:
        path: where something will be written.
        inputs: files that are read; one that does not exist is passed over.
        checksums: SHA-256 of files that a run keeps of its scene: a picture of the run may have the name of its terrain.
        option: which names the path.

    Raises:
        UsageError: the path is one of the inputs, or of a file with such a checksum.
    """
    if any(path.exists() and one.exists() and path.samefile(one) for one in inputs):
        raise UsageError(f"{option} {path}: is a file that is read, and will not be replaced; name another one")
    known = set(checksums)
    if known and path.is_file() and _checksum(path) in known:
        raise UsageError(f"{option} {path}: is a file that the scene inside reads, and will not be replaced; name another")


def claim_path(
    path: Path, force: bool = False, inputs: Iterable[Path] = (), option: str = "-o", seeks: bool = False
) -> None:
    """Refuse to write where something stands that was not meant to be replaced: one rule for every command.

    Args:
        path: where a file will be written; `-` is stdout, where nothing stands.
        force: whether it may be replaced; what bears our mark always may. Pipes and devices are not replaced.
        inputs: files that are read, see `refuse_overwrite`.
        option: which names the path.
        seeks: whether its format goes back to what was written, which no pipe or device can.

    Raises:
        UsageError: as `refuse_overwrite`.
        OutputError: the path is a folder, a file that exists, or no file at all.
    """
    if str(path) == "-":
        return
    refuse_overwrite(path, inputs, option=option)
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file with {option}")
    if not path.exists():
        return
    if not path.is_file():
        if seeks:
            raise OutputError(
                f"{path}: is a pipe or a device, and this format is not written from its begin to its end; "
                f"name a file with {option}"
            )
    elif not (force or bears_mark(path)):
        raise OutputError(f"{path}: exists; add --force to replace it, or choose another file with {option}")


def _checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextlib.contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` at the end; nothing is left of it if anything fails.

    Missing folders are made. Of a link the file that it names is replaced.
    What stands at `path` and is no plain file (a pipe, a device) is written itself.

    Raises:
        OutputError: the file cannot be written.
    """
    landing = output_path(path)
    plain = landing.is_file() or not landing.exists()
    draft = draft_of(landing) if plain else path
    try:
        try:
            landing.parent.mkdir(parents=True, exist_ok=True)
            yield draft
            if plain:
                os.replace(draft, landing)
        finally:
            if plain:
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {error.strerror or error}; nothing was left there") from error


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk: what stands there then survives a power cut.

    Raises:
        OSError: the disk is full, or gone.
    """
    if os.name == "nt" and path.is_dir():  # where folders are not opened
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if not path.is_dir() or error.errno not in NO_SYNC:
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """Open a file to write text to; nothing is left there if it cannot be written to its end.

    Raises:
        OutputError: the file cannot be written.
    """
    with drafted(path) as draft, draft.open("w", newline="", encoding="utf-8") as stream:
        yield stream
