"""Values of a scene by their path; the plane of planar scenes: its axes, and what stands for an axis that is not written.

The normal is the first axis of the plane times the second, so that angles turn from the first to the second:
xy about +z, xz about -y, yz about +x.
"""

from collections.abc import Iterable

from simcli.joint_types import TYPES
from simcli.spec.base import dofs
from simcli.spec.schema.body import BodySpec
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.pose import PlacedPoseSpec

PlaneVector = tuple[float, float, float]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
AXES: dict[str, tuple[PlaneVector, PlaneVector]] = {"xy": (X, Y), "xz": (X, Z), "yz": (Y, Z)}
NORMAL_INDEX = {"xy": 2, "xz": 1, "yz": 0}
_NORMALS: dict[str, PlaneVector] = {"xy": Z, "xz": (0.0, -1.0, 0.0), "yz": X}


def plane_normal(plane: str) -> PlaneVector:
    """Unit normal of a plane."""
    return _NORMALS[plane]


def default_axis(plane: str | None, joint_type: str) -> PlaneVector:
    """The axis of a joint that writes none.

    Args:
        plane: of the scene, None for a spatial one.
        joint_type: type of the joint.

    Returns:
        In space [1, 0, 0], of a cable its tangent [0, 0, 1]; in a plane its normal for joints that turn, its first axis
        for joints that slide and for the tangent.
    """
    if plane is None:
        return Z if joint_type == "cable" else X
    return AXES[plane][0] if joint_type == "cable" or TYPES[joint_type] == "L" else plane_normal(plane)


def axis_of(plane: str | None, joint: JointSpec) -> PlaneVector:
    """The axis of a joint, written or not."""
    return default_axis(plane, joint.type) if joint.axis is None else joint.axis


def value_at(spec: object, steps: Iterable[str | int]) -> object:
    """The value that a scene holds at a path, defaults included; None if there is none."""
    value: object = spec
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list | tuple):
            if isinstance(step, str):
                value = getattr(value[0], step, None) if len(value) == 1 else None
            else:
                value = value[step] if step < len(value) else None
        else:
            fields = getattr(type(value), "model_fields", {})
            owner, value = value, getattr(value, str(step)) if step in fields else None
            value = _implied(owner, step) if value is None else value
    return value


def _implied(owner: object, step: str | int) -> object:
    """What a key that is not written means where that follows from the entry alone: zeros, identity; None elsewhere."""
    if isinstance(owner, BodySpec) and step == "com" and not owner.shapes:
        return (0.0, 0.0, 0.0)
    if isinstance(owner, BodySpec) and step == "pose":
        return PlacedPoseSpec()
    if isinstance(owner, JointSpec) and step == "axis" and owner.type in dofs.AXIS:
        return default_axis(None, owner.type)
    if isinstance(owner, JointSpec) and step in ("q", "qd"):
        kinds = owner.dof_kinds
        if step == "qd" or dofs.n_q(owner.type, len(kinds)) == len(kinds):  # a quaternion has no entry of its own
            return (0.0,) * len(kinds)
    return None
