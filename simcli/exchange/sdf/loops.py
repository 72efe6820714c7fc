"""Closed loops of SDF: which joint holds a link, and which closes a loop.

Of the joints to one link the first in the file holds it; another one closes a loop. A joint whose parent hangs on its own
child is turned around, because that child is the root of the tree.
"""

from pathlib import Path

from simcli.errors import FileError
from simcli.exchange.source.beginning import holds_zero
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import SourceJoint, SourceModel
from simcli.spec.lookup.structure import WORLD_NAME

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
