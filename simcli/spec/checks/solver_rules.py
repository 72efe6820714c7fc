"""What the affine solver, natural coordinates, barrier contact and generalized_alpha ask of a scene."""

from collections.abc import Iterator

from simcli.joint_types import COORDINATES_OF, ONE_COORDINATE, Coordinates
from simcli.spec.base import dofs
from simcli.spec.checks import joint_fields
from simcli.spec.checks.geometry import switches_contact
from simcli.spec.checks.joint_fields import AFFINE_COORDINATES, JOINTS, ON_JOINTS, asked, refuse_field, written_path
from simcli.spec.faults.checker import Checker
from simcli.spec.lookup import structure
from simcli.spec.schema.body import BodySpec, MaterialSpec
from simcli.spec.schema.contact_options import PairSpec
from simcli.spec.schema.joint import JointSpec
from simcli.spec.values.quantities import is_signal

HOLD_NOTHING = JOINTS["affine"].types - JOINTS["affine"].tree["compliance"]
# Base joint to the key of its driving joint.
AIMS = {
    name: "aim_angle" if dofs.TYPES[name] == "A" else "aim_distance"
    for name in sorted(AFFINE_COORDINATES & ONE_COORDINATE - dofs.SAME.keys())
}


def check_affine(check: Checker) -> None:
    """Driving joints stand on a base joint; stiffness is said once."""
    if ("solver", "") in check.broken or check.spec.solver.type != "affine":
        return
    for name, body in check.spec.bodies.items():
        if body.kinematic and body.affine is not None and body.affine.transform is not None:
            path = f"bodies.{name}.affine.transform"
            refuse_field(check, "a soft hold of a kinematic body", path, "keep one of them", True)
        if body.affine is not None and body.affine.quasi_static:
            _check_quasi_static(check, name)
    for name, joint in check.spec.joints.items():
        _check_kinematic(check, name, joint)
        _check_rates(check, name, joint)
        _check_driving(check, name, joint)
        if joint.strength_ratio is not None and joint.type in HOLD_NOTHING:
            refuse_field(
                check,
                f"`strength_ratio` of a `{joint.type}` joint",
                f"joints.{name}.strength_ratio",
                "leave it out: such a joint holds nothing",
                True,
            )
        if joint.compliance and joint.strength_ratio is not None:
            check.fault(
                "SC613",
                f"joint `{name}` has both `compliance` and `strength_ratio`",
                f"joints.{name}.strength_ratio",
                "keep one of them",
            )
        for index, limit in enumerate(joint.limit or ()):
            if limit is not None and limit.strength and (limit.lower is None or limit.upper is None or limit.stiffness):
                hint = "write lower and upper, and no stiffness"
                check.fault(
                    "SC613",
                    f"the cubic limit of joint `{name}` needs both bounds and no stiffness",
                    _limit_path(check, name, index),
                    hint,
                )


def _check_quasi_static(check: Checker, name: str):
    """A body that keeps no velocity has none to begin with, is not moved as prescribed, and takes steps of first order."""
    body, path = check.spec.bodies[name], f"bodies.{name}.affine.quasi_static"
    if body.kinematic:
        refuse_field(check, "a quasi-static kinematic body", path, "keep one of them", True)
    if body.velocity is not None:
        refuse_field(
            check, "the velocity of a quasi-static body", f"bodies.{name}.velocity", "leave it out: it is not kept", True
        )
    if check.spec.solver.integrator == "bdf2":
        refuse_field(check, "a quasi-static body with bdf2", path, "write integrator: bdf1", True)


def _check_rates(check: Checker, name: str, joint: JointSpec):
    """A joint gives no velocity to a body that keeps none."""
    child = check.spec.bodies.get(joint.child)
    if child is not None and child.affine is not None and child.affine.quasi_static and any(joint.qd or ()):
        words = f"the initial `qd` of joint `{name}`, whose child `{joint.child}` is quasi-static"
        refuse_field(check, words, f"joints.{name}.qd", "leave it out: it is not kept", True)


def _check_kinematic(check: Checker, name: str, joint: JointSpec) -> None:
    """A joint that leads a body as prescribed does nothing else."""
    if not _hangs_kinematic_body(check, joint):
        return
    fields = [field for field in asked(joint, name, structure.switched(check.spec)) if field != "motion"]
    fields += [field for field in ("driving", "strength_ratio") if check.has(f"joints.{name}.{field}")]
    for field in fields:
        words = f"`{field}` of a joint that holds a kinematic body"
        hint = f"leave it out, or `kinematic` of body `{joint.child}`"
        refuse_field(check, words, written_path(check, name, field), hint, True)


def _hangs_kinematic_body(check: Checker, joint: JointSpec) -> bool:
    """True for a joint by which a kinematic body hangs on the world."""
    body = check.spec.bodies.get(joint.child)
    return joint.parent == structure.WORLD_NAME and body is not None and body.kinematic


def check_efforts(check: Checker) -> None:
    """Refuse efforts on joints that lead bodies, and gears to joints whose coordinates no affine solver measures."""
    if check.spec.solver.type != "affine":
        return
    for name, joint in check.spec.joints.items():
        if any(drive is not None and drive.effort_limit_table is not None for drive in joint.drive or ()):
            path = written_path(check, name, "effort_limit")
            refuse_field(check, "an effort limit by a table", path, "write `effort_limit`, a number", True)
        leader = check.spec.joints.get(joint.mimic.joint) if joint.mimic is not None else None
        if leader is not None and joint.type in AFFINE_COORDINATES and leader.type not in AFFINE_COORDINATES:
            hint = f"gears join {', '.join(sorted(AIMS))} and cylindrical joints"
            refuse_field(check, f"a gear to a joint of type `{leader.type}`", f"joints.{name}.mimic.joint", hint)
    for name, force in check.spec.forces.items():
        joint = check.spec.joints.get(force.joint) if force.type in ON_JOINTS else None
        if joint is not None and joint.type in AFFINE_COORDINATES and _hangs_kinematic_body(check, joint):
            hint = "leave it out: the body moves as prescribed"
            refuse_field(check, "an effort on a joint that holds a kinematic body", f"forces.{name}.joint", hint)


def _limit_path(check: Checker, name: str, index: int) -> str:
    path = f"joints.{name}.limit"
    return f"{path}[{index}]" if check.has(f"{path}[{index}].strength") else path


def _check_driving(check: Checker, name: str, joint: JointSpec) -> None:
    if joint.driving is None:
        return
    path, base = f"joints.{name}.driving", dofs.SAME.get(joint.type, joint.type)
    if base not in AIMS:
        check.fault(
            "SC612",
            f"joint `{name}` of type `{joint.type}` cannot be a driving joint",
            path,
            "only revolute and prismatic joints can be driving joints",
            on_key=True,
        )
        return
    for key in AIMS.values():
        if getattr(joint.driving, key) is not None and key != AIMS[base]:
            check.fault("SC612", f"`{key}` on a {base} joint", f"{path}.{key}", f"write `{AIMS[base]}`", on_key=True)
            return
    if not (check.has(f"{path}.is_constrained") or _may_begin(check, path)):
        hint = "add `is_constrained: true`, or let an event set it"
        check.fault("SC667", f"the drive of joint `{name}` never acts", path, hint, on_key=True, severity="warning")


def _may_begin(check: Checker, path: str) -> bool:
    """True if an event says whether a drive acts, alone or with all that is below its path."""
    paths = {text for event in check.spec.events for text in event.set}
    return not paths.isdisjoint((path, f"{path}.is_constrained"))


IN_SPACE = ("1P3V", "2P2V", "3P1V", "4P")
IN_A_PLANE = ("1P2V", "2P1V", "3P")


def check_natural(check: Checker, name: str, body: BodySpec) -> None:
    """Kind and counts of a body's natural coordinates, for the solver that has them."""
    if body.natural is None or check.spec.solver.type != "natural":
        return
    kind, path = body.natural.kind, f"bodies.{name}.natural"
    plane = check.spec.world.plane
    if plane is None and kind in IN_A_PLANE:
        check.fault(
            "SC469",
            f"`{kind}` describes a body in a plane, but the scene is spatial",
            path,
            f"in space a body is {', '.join(IN_SPACE)}",
        )
    if plane is not None and kind in IN_SPACE:
        check.fault(
            "SC469",
            f"`{kind}` describes a body in space, but the scene is planar ({plane})",
            path,
            f"in a plane a body is {', '.join(IN_A_PLANE)}",
        )
    points, _, vectors = kind.partition("P")
    for key, n in (("points", int(points)), ("vectors", int(vectors[:-1] or 0))):
        given = getattr(body.natural, key)
        if given and len(given) != n:
            check.fault(
                "SC469",
                f"`{kind}` has {n} {key}, but {len(given)} are given",
                f"{path}.{key}",
                f"write {n}, or none of them" if n else "leave them out",
            )
    if kind == "1P" and body.natural.compliance:
        check.fault("SC469", "a point has no rigidity that could yield", f"{path}.compliance", "leave it out")


_WORDS = {
    "friction_across": ("friction that differs between directions", "write `friction` alone"),
    "friction_static": ("static friction that differs from sliding friction", "write `friction` alone"),
    "rolling_friction": ("rolling friction", "remove it"),
    "torsional_friction": ("torsional friction", "remove it"),
    "compliance": ("compliance of contacts", "remove it: `barrier_stiffness` says how hard a barrier is"),
    "restitution": ("restitution", "remove it: a rebound is what barrier and integrator make of it"),
}


def check_barrier(check: Checker) -> None:
    """Refuse what materials and pairs ask for beyond friction."""
    for path, numbers in _asked(check):
        if is_signal(numbers.friction):
            refuse_field(check, "friction that a signal drives", f"{path}.friction", "write a number", True)
        for key, (words, hint) in _WORDS.items():
            value = getattr(numbers, key)
            if value and not (key == "friction_static" and value == numbers.friction):
                refuse_field(check, words, f"{path}.{key}", hint, True)


def _asked(check: Checker) -> Iterator[tuple[str, MaterialSpec | PairSpec]]:
    """Materials of shapes that collide, and pairs, each with its path."""
    spec = check.spec
    if not (spec.contact.enabled or switches_contact(spec)):
        return
    owners = (spec.world, *spec.bodies.values())
    used = {shape.material for owner in owners for shape in owner.shapes.values() if shape.collide}
    for name, material in spec.materials.items():
        if name in used:
            yield f"materials.{name}", material
    for index, pair in enumerate(spec.contact.pairs):
        yield f"contact.pairs[{index}]", pair


WHO, _INSTEAD = "with generalized_alpha", "use zhong06"
_SMOOTH = ("drive", "damping", "armature", "compliance", "motion")  # fields of joints
_ALONG = ("drive", "damping", "armature", "motion")  # those that act along coordinates


def check_smooth(check: Checker) -> None:
    """Refuse what generalized_alpha would have to switch, and what is no polynomial."""
    for name, joint in check.spec.joints.items():
        if joint.type in dofs.SCREWS:
            refuse_field(check, f"a joint of type `{joint.type}` {WHO}", f"joints.{name}.type", _INSTEAD)
        for field in joint_fields.asked(joint, name, structure.switched(check.spec)):
            words = joint_fields.WORDS[field]
            if field not in _SMOOTH:
                refuse_field(check, f"{words} {WHO}", joint_fields.written_path(check, name, field), _INSTEAD, True)
            elif field == "motion" and _moves_kinematic_body(check, joint):
                continue
            elif field in _ALONG and joint.compliance:
                words = f"{words} on a joint with compliance {WHO}"
                refuse_field(check, words, joint_fields.written_path(check, name, field), _INSTEAD, True)
            elif field in _ALONG and not is_straight(joint):
                words = f"{words} on a `{joint.type}` joint of several turns {WHO}"
                refuse_field(check, words, joint_fields.written_path(check, name, field), _INSTEAD, True)
    _check_forces(check)


def _moves_kinematic_body(check: Checker, joint: JointSpec) -> bool:
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
        if getattr(force, "is_rope", False):
            words = f"a rope around a cylinder or a sphere, or that is paid out, pulled or a muscle, {WHO}"
            refuse_field(check, words, f"forces.{name}", _INSTEAD)
        joint = check.spec.joints.get(getattr(force, "joint", None))
        if joint is not None and joint.compliance:
            refuse_field(check, f"a {force.type} on a joint with compliance {WHO}", f"forces.{name}.joint", _INSTEAD)
        elif joint is not None and not is_straight(joint):
            words = f"a {force.type} on a `{joint.type}` joint of several turns {WHO}"
            refuse_field(check, words, f"forces.{name}.joint", _INSTEAD)


def is_straight(joint: JointSpec) -> bool:
    """Whether the coordinates of a joint are displacements and at most one turn."""
    return COORDINATES_OF[joint.type] == Coordinates.SCALARS and joint.dof_kinds.count("A") < 2
