"""Poses of an SDF file, each given in a frame that is named, resolved into the world.

Source: the specification of SDFormat, "Pose frame semantics" (Open Robotics). Every link, joint, model and `frame` is a
frame; poses of links and frames are in their model unless `relative_to` says else, those of joints in their child link.
"""

from dataclasses import dataclass

from simcli.errors import FileError
from simcli.exchange.source.mechanism import NO_OFFSET, SourceFrame
from simcli.exchange.source.xml_reader import XmlElement

WORLD_FRAME = "world"
MODEL_FRAME = "__model__"


@dataclass(frozen=True)
class SdfFrame:
    """A frame of the file.

    Attributes:
        element: that says it.
        pose: in `within`.
        within: full name of another frame.
        attached: full name of what it moves with; "" for links and models themselves.
    """

    element: XmlElement
    pose: SourceFrame
    within: str
    attached: str = ""


class FrameGraph:
    """Frames by full name: those of models within a model have its name and `::` before theirs.

    Args:
        path: of the file, for messages.
    """

    def __init__(self, path):
        self.path = path
        self.frames: dict[str, SdfFrame] = {}
        self.names: dict[int, str] = {}  # full name by identity of the element
        self._found: dict[str, SourceFrame] = {WORLD_FRAME: NO_OFFSET}

    def add(self, name: str, frame: SdfFrame) -> None:
        """A new frame.

        Raises:
            FileError: there is one of its name.
        """
        if name in self.frames:
            raise FileError(f"{self.path}:{frame.element.line}: a second element `{name}`")
        self.frames[name] = frame
        self.names[id(frame.element)] = name

    def free_name(self, name: str, tag: str) -> str:
        """A full name that no frame has, by the tag of its element, as libsdformat gives it in files before 1.7."""
        found, k = f"{name}_{tag}", 0
        while found in self.frames:
            found, k = f"{name}_{tag}{k}", k + 1
        return found

    def name_of(self, scope: str, name: str, element: XmlElement) -> str:
        """The full name of a frame as it is written within a model.

        Raises:
            FileError: there is no such frame.
        """
        found = name if name == WORLD_FRAME else full_name(scope, name)
        if found != WORLD_FRAME and found not in self.frames:
            raise FileError(f"{self.path}:{element.line}: the unknown frame `{name[:60]}`")
        return found

    def pose(self, name: str) -> SourceFrame:
        """A frame in the world.

        Raises:
            FileError: frames go in a circle.
        """
        way: list[str] = []
        while name not in self._found:
            if name in way:
                raise FileError(f"{self.path}:{self.frames[name].element.line}: the poses go in a circle at `{name}`")
            way.append(name)
            name = self.frames[name].within
        for one in reversed(way):
            frame = self.frames[one]
            self._found[one] = frame.pose.after(self._found[frame.within])
        return self._found[way[0]] if way else self._found[name]

    def holder(self, name: str) -> str:
        """Full name of the link, model or world that a frame moves with."""
        seen = set()
        while name != WORLD_FRAME and self.frames[name].attached:
            if name in seen:
                raise FileError(f"{self.path}:{self.frames[name].element.line}: the frames go in a circle at `{name}`")
            seen.add(name)
            name = self.frames[name].attached
        return name


def full_name(scope: str, name: str) -> str:
    """Full name of a frame within a model; its own frame is `__model__`."""
    return f"{scope}::{name}" if scope else name
