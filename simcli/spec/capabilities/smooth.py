"""What generalized_alpha takes: rows of second degree, and forces that are smooth along coordinates that are such rows.

Whatever stops, sticks or switches breaks the recurrences of its accelerations, which assume that they are smooth. Angles of
successive turns are no functions of one polynomial, nor are the components of a rotation vector: neither efforts nor motions
act on them. The turn of a joint that yields is one, but its gradient is not the couple about the axis that the other solvers
take. A joint that leads a kinematic body has no rows, so that its motion may be any.
"""

from simcli.joint_types import COORDINATES_OF, Coordinates
from simcli.spec.capabilities import joint_fields
from simcli.spec.capabilities.joint_fields import refuse_field
from simcli.spec.checks.checker import Checker
from simcli.spec.names import structure
from simcli.spec.schema.joint import JointSpec

WHO, _INSTEAD = "with generalized_alpha", "use zhong06"
_SMOOTH = ("drive", "damping", "armature", "compliance", "motion")  # fields of joints
_ALONG = ("drive", "damping", "armature", "motion")  # those that act along coordinates
NO_ROWS = ("screw",)  # types whose equations are not of second degree


def check_smooth(check: Checker) -> None:
    """Refuse what generalized_alpha would have to switch, and what is no polynomial."""
    for name, joint in check.spec.joints.items():
        if joint.type in NO_ROWS:
            refuse_field(check, f"a joint of type `{joint.type}` {WHO}", f"joints.{name}.type", _INSTEAD)
        for field in joint_fields.asked(joint, name, structure.switched(check.spec)):
            words = joint_fields.WORDS[field]
            if field not in _SMOOTH:
                refuse_field(check, f"{words} {WHO}", joint_fields.written_path(check, name, field), _INSTEAD, True)
            elif field == "motion" and _leads(check, joint):
                continue
            elif field in _ALONG and joint.compliance:
                words = f"{words} on a joint with compliance {WHO}"
                refuse_field(check, words, joint_fields.written_path(check, name, field), _INSTEAD, True)
            elif field in _ALONG and not is_straight(joint):
                words = f"{words} on a `{joint.type}` joint of several turns {WHO}"
                refuse_field(check, words, joint_fields.written_path(check, name, field), _INSTEAD, True)
    _check_forces(check)


def _leads(check: Checker, joint: JointSpec) -> bool:
    """Whether the motion of a joint is that of a kinematic body, which is no row."""
    body = check.spec.bodies.get(joint.child)
    return body is not None and body.kinematic


def _check_forces(check: Checker) -> None:
    """Bodies that yield, and forces that switch or act on other coordinates."""
    for name, body in check.spec.bodies.items():
        if body.natural is not None and body.natural.compliance:
            refuse_field(check, f"a body with compliance {WHO}", f"bodies.{name}.natural.compliance", _INSTEAD)
    for name, force in check.spec.forces.items():
        if not force.IS_SMOOTH:
            refuse_field(check, f"a force of type `{force.type}` {WHO}", f"forces.{name}.type", _INSTEAD)
        joint = check.spec.joints.get(getattr(force, "joint", None))
        if joint is not None and joint.compliance:
            refuse_field(check, f"a {force.type} on a joint with compliance {WHO}", f"forces.{name}.joint", _INSTEAD)
        elif joint is not None and not is_straight(joint):
            words = f"a {force.type} on a `{joint.type}` joint of several turns {WHO}"
            refuse_field(check, words, f"forces.{name}.joint", _INSTEAD)


def is_straight(joint: JointSpec) -> bool:
    """Whether the coordinates of a joint are displacements and at most one turn."""
    return COORDINATES_OF[joint.type] == Coordinates.SCALARS and joint.dof_kinds.count("A") < 2
