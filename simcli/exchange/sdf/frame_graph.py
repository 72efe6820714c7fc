"""Poses of an SDF file, each given in a frame that is named, and its closed loops.

Source: the specification of SDFormat, "Pose frame semantics" (Open Robotics). Every link, joint, model and `frame` is a
frame; poses of links and frames are in their model unless `relative_to` says else, those of joints in their child link.

Of the joints to one link the first in the file holds it; another one closes a loop. A joint whose parent hangs on its own
child is turned around, because that child is the root of the tree.
"""

from dataclasses import dataclass
from pathlib import Path

from simcli.errors import FileError
from simcli.exchange.source.beginning import holds_zero
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import NO_OFFSET, SourceFrame, SourceJoint, SourceModel
from simcli.exchange.source.xml_reader import XmlElement
from simcli.spec.lookup.structure import WORLD_NAME

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


_TURNED = ("fixed", "ball", "revolute", "prismatic", "screw")  # types that are of the same form from the other side


def close_loops(path: Path, mechanism: SourceModel, report: ImportReport) -> None:
    """Mark the joints that close loops.

    Raises:
        FileError: a joint would have to be turned around that cannot be.
    """
    holder: dict[str, str] = {}  # link to the parent of the joint that holds it
    for joint in mechanism.joints.values():
        if joint.child == WORLD_NAME or (joint.child not in holder and _hangs_on(joint.parent, joint.child, holder)):
            _turn(path, joint)
        if joint.child in holder or joint.child == joint.parent:
            joint.words["loop"] = True
        else:
            holder[joint.child] = joint.parent
    _free_loops(mechanism, holder, report)
    order = sorted(mechanism.joints.values(), key=lambda joint: "loop" in joint.words)
    mechanism.joints = {joint.name: joint for joint in order}


def _free_loops(mechanism: SourceModel, holder: dict[str, str], report: ImportReport) -> None:
    """Leave out limits of loops that the drawn configuration breaks, because they close there and perhaps nowhere else."""
    links: set[str] = set()
    for joint in mechanism.joints.values():
        if "loop" in joint.words:
            links |= _above(joint.parent, holder) ^ _above(joint.child, holder) | {joint.child}
    for name in [joint.name for joint in mechanism.joints.values() if joint.child in links]:
        if mechanism.initial.pop(name, None) is not None:
            report.withdraw(("initial_position",), name, "is not 0, where its loop closes")
    for joint in mechanism.joints.values():
        if joint.child in links and not holds_zero(joint):
            limit = _without_limits(joint)
            report.withdraw(("limit",), joint.name, f"{limit} does not hold 0, where its loop closes")


def _without_limits(joint: SourceJoint) -> str:
    """Take the limits of a joint out, and say them."""
    owners = [joint.words] if "axes" not in joint.words else joint.words["axes"]["angular"]
    return ", ".join(str(one.pop("limit")) for one in owners if "limit" in one)


def _above(name: str, holder: dict[str, str]) -> set[str]:
    found = {name}
    while name in holder:
        name = holder[name]
        found.add(name)
    return found


def _hangs_on(name: str, root: str, holder: dict[str, str]) -> bool:
    while name in holder:
        if name == root:
            return True
        name = holder[name]
    return name == root


def _turn(path: Path, joint: SourceJoint) -> None:
    """Parent and child in each other's place: the same motion about the reversed axis."""
    if joint.type not in _TURNED or joint.parent == WORLD_NAME == joint.child:
        raise FileError(f"{path}:{joint.line}: the joints above the {joint.type} joint `{joint.name}` go in a circle")
    joint.parent, joint.child = joint.child, joint.parent
    joint.parent_frame, joint.child_frame = joint.child_frame, joint.parent_frame
    if joint.axis is not None:
        joint.axis = tuple(-x + 0.0 for x in joint.axis)
