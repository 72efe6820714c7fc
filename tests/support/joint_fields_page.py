"""The page docs/joint_fields.md, made from the sets of the code: `joint_fields_page`."""

from collections.abc import Callable

from simcli.spec.base import dofs
from simcli.spec.checks.joint_fields import JOINTS, REFUSED_FORMS, SUPPORTED_FIELDS, JointFields

NOTES = """\
- `limit`: hard, or soft where it has a stiffness; its damping is critical if left out. While a limit acts, the drive
  rests. The limits of a ball bound the components of the rotation vector of its quaternion, in the parent anchor frame.
  That of a distance joint is its shortest and longest distance. The force that keeps a length is part of `joint_effort`,
  in every solver: its components, and its couple about the child's centre of mass, in the parent anchor frame.
- `drive`: modes position and position_velocity (effort = stiffness (target - q) + damping (target_velocity - qd)),
  velocity (damping (target_velocity - qd)) and effort (target), implicit in the step; what a mode does not read is
  refused. The target of a ball is a rotation vector, in the parent anchor frame; its spring is geodesic.
- `friction`: dry friction. Below its bound a coordinate rests exactly; in affine it creeps, at most by
  `solver.friction_speed` (`simcli docs affine`).
- `velocity_limit`, `effort_limit`: bounds that are never passed; the effort limit is the drive's, of a ball that of the size
  of its torque.
- `compliance`: of the constraint equations of a joint outside the tree. A joint of the tree has none: write `loop: true`.
- `mimic`: a gear between two joints, q = ratio * q_other + offset, or a polynomial of q_other, dof by dof. A follower may
  lead.
- `motion`: the coordinate follows exactly, whatever else acts on it; what that takes is its `drive_effort`. One for all
  dofs, or a list of one per dof, `null` for those that are free; below `axes` each axis may have its own. Of a ball all
  three: `position` is a rotation vector, as the target of its drive, `velocity` its angular velocity, in the parent anchor
  frame.
- `armature`: of a joint outside the tree it acts on the rate of the coordinate.
- `effort`: a force of type torque. On a free or a distance joint it is a force and a couple on the child at its centre of
  mass, along the axes of the parent's anchor frame, and the opposite on the parent at the same place.
- `torsion`: a force of type torsion.
- `enabled`: a joint that is off, or that an event switches, is never a joint of the tree. While it is off, nothing on it
  acts: constraint equations, limit, drive, friction, damping, armature, motion, springs, torques, and gears that it leads
  or follows; and its bodies touch.
"""

INTRODUCTION = (
    "Which solver supports which field of which joint type. What is not supported is refused by name, with its place in the",
    "file. `compliance` and `enabled` of the tree are those of a joint that can be switched off.",
)
_HALF = 6  # fields side by side, as many as a terminal is wide


def _table(rows: frozenset[str], supported: Callable[[str, str], bool]) -> list[str]:
    names = [name for name in dofs.TYPES if name in rows]
    lines: list[str] = []
    for fields in (SUPPORTED_FIELDS[:_HALF], SUPPORTED_FIELDS[_HALF:]):
        lines += ["", f"| joint | {' | '.join(fields)} |", "|---" * (len(fields) + 1) + "|"]
        for name in names:
            cells = ["yes" if supported(name, field) else "refused" for field in fields]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def joint_fields_page() -> str:
    """The reference page on joint types and fields of all solvers, Markdown."""
    groups: dict[int, list[str]] = {}
    for solver, fields in JOINTS.items():
        alike = next((key for key, names in groups.items() if JOINTS[names[0]] == fields), len(groups))
        groups.setdefault(alike, []).append(solver)
    lines = ["# Fields of joints", "", *INTRODUCTION]
    for solvers in groups.values():
        of = JOINTS[solvers[0]]
        title = f"the {' and the '.join(solvers)} solver"
        if of.tree == of.loop:
            lines += ["", f"## Joints: {title}", *_table(of.types, lambda name, field, of=of: name in of.tree[field])]
            continue
        lines += ["", f"## Joints of the tree: {title}", *_table(of.types, lambda *cell, of=of: _anywhere(of, *cell))]
        lines += [
            "",
            f"## Joints that close loops: {title}",
            *_table(of.types - {"cable"}, lambda name, field, of=of: name in of.loop[field]),
        ]
    forms = [f"- Refused: {form.words} ({form.hint})." for form in REFUSED_FORMS]
    return "\n".join([*lines, "", "## Notes", "", ""]) + NOTES + "\n".join(forms) + "\n"


def _anywhere(fields: JointFields, name: str, field: str) -> bool:
    """Honoured in the tree; fields of joints that are switched are those of a joint outside it."""
    return name in fields.tree[field] or (field in ("compliance", "enabled") and name in fields.loop[field])
