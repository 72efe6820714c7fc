"""What the affine solver asks of joints that are driven, stiff or loaded."""

from simcli.spec.capabilities.joint_fields import AFFINE_COORDINATES, JOINTS, ON_JOINTS, asked, refuse_field, written_path
from simcli.spec.checks.checker import Checker
from simcli.spec.names import dofs, structure
from simcli.spec.schema.joint import JointSpec

HOLD_NOTHING = JOINTS["affine"].types - JOINTS["affine"].tree["compliance"]
AIMS = {"revolute": "aim_angle", "prismatic": "aim_distance"}  # base joint to the key of its driving joint


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
            refuse_field(check, f"`strength_ratio` of a `{joint.type}` joint", f"joints.{name}.strength_ratio",
                         "leave it out: such a joint holds nothing", True)  # fmt: skip
        if joint.compliance and joint.strength_ratio is not None:
            check.fault("SC613", f"joint `{name}` has both `compliance` and `strength_ratio`",
                        f"joints.{name}.strength_ratio", "keep one of them")  # fmt: skip
        for index, limit in enumerate(joint.limit or ()):
            if limit is not None and limit.strength and (limit.lower is None or limit.upper is None or limit.stiffness):
                hint = "write lower and upper, and no stiffness"
                check.fault("SC613", f"the cubic limit of joint `{name}` needs both bounds and no stiffness",
                            _limit_path(check, name, index), hint)  # fmt: skip


def _check_quasi_static(check: Checker, name: str):
    """A body that keeps no velocity has none to begin with, is not moved as prescribed, and takes steps of first order."""
    body, path = check.spec.bodies[name], f"bodies.{name}.affine.quasi_static"
    if body.kinematic:
        refuse_field(check, "a quasi-static kinematic body", path, "keep one of them", True)
    if body.velocity is not None:
        refuse_field(check, "the velocity of a quasi-static body", f"bodies.{name}.velocity",
                     "leave it out: it is not kept", True)  # fmt: skip
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
    if not _leads(check, joint):
        return
    fields = [field for field in asked(joint, name, structure.switched(check.spec)) if field != "motion"]
    fields += [field for field in ("driving", "strength_ratio") if check.has(f"joints.{name}.{field}")]
    for field in fields:
        words = f"`{field}` of a joint that holds a kinematic body"
        hint = f"leave it out, or `kinematic` of body `{joint.child}`"
        refuse_field(check, words, written_path(check, name, field), hint, True)


def _leads(check: Checker, joint: JointSpec) -> bool:
    """True for a joint by which a kinematic body hangs on the world."""
    body = check.spec.bodies.get(joint.child)
    return joint.parent == structure.WORLD_NAME and body is not None and body.kinematic


def check_efforts(check: Checker) -> None:
    """Refuse efforts on joints that lead bodies, and gears to joints whose coordinates no affine solver measures."""
    if check.spec.solver.type != "affine":
        return
    for name, joint in check.spec.joints.items():
        leader = check.spec.joints.get(joint.mimic.joint) if joint.mimic is not None else None
        if leader is not None and joint.type in AFFINE_COORDINATES and leader.type not in AFFINE_COORDINATES:
            hint = f"gears join {', '.join(sorted(AIMS))} and cylindrical joints"
            refuse_field(check, f"a gear to a joint of type `{leader.type}`", f"joints.{name}.mimic.joint", hint)
    for name, force in check.spec.forces.items():
        joint = check.spec.joints.get(force.joint) if force.type in ON_JOINTS else None
        if joint is not None and joint.type in AFFINE_COORDINATES and _leads(check, joint):
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
        check.fault("SC612", f"joint `{name}` of type `{joint.type}` cannot be a driving joint", path,
                    "only revolute and prismatic joints can be driving joints", on_key=True)  # fmt: skip
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
