"""Files that a scene names: below its folder on disk, or in a folder in memory, as they stand in a result.

`HeldPath` has what the readers of scenes, meshes and tables use of `pathlib.Path`, and nothing else.
"""

import os
import posixpath
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

from simcli.errors import Where
from simcli.spec.base.fault_list import Faults, did_you_mean


class HeldPath:
    """A file or folder below the folder of a scene.

    Args:
        files: contents by their path relative to that folder; None of a file that was too large to be held.
        place: path of this one; "" is the folder itself.
    """

    def __init__(self, files: Mapping[str, bytes | None], place: str = ""):
        self.files = files
        self.place = posixpath.normpath(place) if place else ""
        self.place = "" if self.place == "." else self.place

    def __truediv__(self, name: str) -> "HeldPath":
        return HeldPath(self.files, posixpath.join(self.place, name))

    def __fspath__(self) -> str:
        return posixpath.join("/", self.place)  # so that relative paths can be taken from one another

    def __str__(self) -> str:
        return self.place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeldPath) and self.files is other.files and self.place == other.place

    def __hash__(self) -> int:
        return hash((id(self.files), self.place))

    @property
    def name(self) -> str:
        """Last part of the path."""
        return posixpath.basename(self.place)

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return posixpath.splitext(self.name)[0]

    @property
    def suffix(self) -> str:
        """Suffix of the name, with its dot."""
        return posixpath.splitext(self.name)[1]

    @property
    def parent(self) -> "HeldPath":
        """The folder that it lies in."""
        return HeldPath(self.files, posixpath.dirname(self.place))

    def resolve(self) -> "HeldPath":
        """Itself: there are no links."""
        return self

    def is_relative_to(self, top: "HeldPath") -> bool:
        """True if it lies below a folder."""
        return not self.place.startswith("..") and (not top.place or self.place.startswith(f"{top.place}/"))

    def exists(self) -> bool:
        """True if its contents are held."""
        return self.files.get(self.place) is not None

    is_file = exists

    @property
    def is_left_out(self) -> bool:
        """True of a file that the scene has, but that was too large to be held."""
        return self.place in self.files and self.files[self.place] is None

    def iterdir(self) -> Iterator["HeldPath"]:
        """The files of a folder."""
        return (HeldPath(self.files, place) for place in self.files if posixpath.dirname(place) == self.place)

    def stat(self) -> SimpleNamespace:
        """Size and kind.

        Raises:
            FileNotFoundError: it is not held.
        """
        return SimpleNamespace(st_size=len(self.read_bytes()), st_mode=stat.S_IFREG, st_mtime=0.0)

    def read_bytes(self) -> bytes:
        """The contents.

        Raises:
            FileNotFoundError: it is not held.
        """
        data = self.files.get(self.place)
        if data is None:
            raise FileNotFoundError(2, "is not held in the result")
        return data


def checked_file(
    name: str, folder: Path | HeldPath, top: Path | HeldPath, where: Where, faults: Faults
) -> Path | HeldPath | None:
    """The real path of a file that a scene names, if it lies below the scene's folder and is a regular file."""
    target = folder / name
    try:
        target = target.resolve()
        inside = not os.path.isabs(name) and target.is_relative_to(top)
        there = inside and target.is_file()
    except (OSError, ValueError, RuntimeError):
        inside, there = True, False
    if not inside:
        faults.add("SC111", f"`{name}` is outside the folder of the scene", where, "files lie below the scene's folder")
        return None
    return present_file(name, folder, target, there, where, faults)


def present_file(
    name: str, folder: Path | HeldPath, target: Path | HeldPath, there: bool, where: Where, faults: Faults
) -> Path | HeldPath | None:
    """A file if it is there; a fault if not, with the nearest name of its folder."""
    if not there and isinstance(target, HeldPath) and target.is_left_out:
        faults.add("SC110", f"`{name}` was too large to be kept in the result", where, "run the scene file itself")
        return None
    if not there:
        try:
            siblings = sorted(entry.name for entry in (folder / name).parent.iterdir())[:500]
        except (OSError, ValueError):
            siblings = []
        faults.add("SC110", f"there is no file `{name}`", where, did_you_mean(os.path.basename(name), siblings, "there"))
        return None
    return target
