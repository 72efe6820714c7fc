"""The plane of planar scenes: its axes, and what stands for an axis that is not written.

The normal is the first axis of the plane times the second, so that angles turn from the first to the second:
xy about +z, xz about -y, yz about +x.
"""

from simcli.joint_types import TYPES
from simcli.spec.schema.joint import JointSpec

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
