"""Which solver supports which field of which joint type, as data; and the check that refuses the rest.

A solver that learns something gets a type added to one of the sets below; nothing else changes. docs/joint_fields.md is
made from them, and a test keeps the two equal.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simcli import joint_types
from simcli.joint_types import Coordinates
from simcli.spec.base import dofs
from simcli.spec.faults.checker import Checker
from simcli.spec.lookup import structure
from simcli.spec.schema.joint import JointSpec

SUPPORTED_FIELDS = (
    "limit",
    "drive",
    "friction",
    "damping",
    "armature",
    "velocity_limit",
    "effort_limit",
    "compliance",
    "mimic",
    "motion",
    "enabled",
    "effort",
    "torsion",
)
ON_JOINTS = {"torque": "effort", "torsion": "torsion"}  # type of force to the field that it is of its joint
_NONE: frozenset[str] = frozenset()


SCALAR = dofs.GEARED - frozenset(dofs.RIBLE)  # coordinates without a quaternion
_OWN = frozenset(dofs.TYPES) - frozenset(dofs.RIBLE)
MOVING = _OWN & joint_types.types_with(*joint_types.IN_A_TREE) - dofs.NO_DOFS
_EFFORT = _OWN & joint_types.types_with(*joint_types.WITH_EFFORT) - dofs.NO_DOFS
_TURNING = _OWN & joint_types.types_with(*joint_types.ALONG_ROWS) - dofs.NO_DOFS  # scalars, and turns of a ball
# Types with constraint equations outside the tree, and those whose equations can yield: a velocity has no stiffness.
_ROWS = _OWN - joint_types.types_with(Coordinates.SLOTS) - joint_types.UNBOUND
_YIELDING = _ROWS - dofs.NONHOLONOMIC


@dataclass(frozen=True)
class JointFields:
    """What a solver supports of joints.

    Attributes:
        types: joint types.
        tree: field to types, for joints of the tree.
        loop: field to types, for joints outside it.
    """

    types: frozenset[str]
    tree: dict[str, frozenset[str]]
    loop: dict[str, frozenset[str]]


JOINTS: dict[str, JointFields] = {
    "generalized": JointFields(
        types=_OWN,
        tree={
            "limit": _TURNING | dofs.DISTANCES,
            "drive": _TURNING,
            "friction": _TURNING,
            "damping": MOVING,
            "armature": MOVING,
            "velocity_limit": _TURNING,
            "effort_limit": _TURNING,
            "compliance": _NONE,
            "mimic": SCALAR,
            "motion": _TURNING,
            "enabled": _NONE,
            "effort": _EFFORT,
            "torsion": SCALAR,
        },
        loop={
            "limit": _TURNING | dofs.DISTANCES,
            "drive": _TURNING,
            "friction": _TURNING,
            "damping": _TURNING,
            "armature": _TURNING,
            "velocity_limit": _TURNING,
            "effort_limit": _TURNING,
            "compliance": _YIELDING,
            "mimic": SCALAR,
            "motion": _TURNING,
            "enabled": _ROWS,
            "effort": _EFFORT,
            "torsion": SCALAR,
        },
    ),
}


def _with_rible(types: frozenset[str]) -> frozenset[str]:
    """The types, and those of Rible's joints that are one of them under another name."""
    return types | {name for name, other in dofs.SAME.items() if other in types}


_OUTSIDE = {field: _with_rible(types) for field, types in JOINTS["generalized"].loop.items()}
_OUTSIDE |= {field: _OUTSIDE[field] | dofs.ROWS_ONLY for field in ("compliance", "enabled")}
_ALL = JOINTS["generalized"].types | frozenset(dofs.RIBLE)
# Steps in natural coordinates and of affine bodies meet positions alone.
_BY_POSITION = _ALL - dofs.NONHOLONOMIC
JOINTS |= {name: JointFields(types, _OUTSIDE, _OUTSIDE) for name, types in (("maximal", _ALL), ("natural", _BY_POSITION))}
# Affine bodies measure coordinates along axes that stand still in both bodies, and hold polynomials of second degree.
AFFINE_COORDINATES = _with_rible(joint_types.COAXIAL & SCALAR - dofs.SCREWS)
_AFFINE = dict.fromkeys(SUPPORTED_FIELDS, AFFINE_COORDINATES)
_AFFINE |= {field: _OUTSIDE[field] - dofs.SCREWS for field in ("compliance", "enabled")}
JOINTS["affine"] = JointFields(_BY_POSITION - dofs.SCREWS - joint_types.types_with(Coordinates.SLOTS), _AFFINE, _AFFINE)


@dataclass(frozen=True)
class RefusedForm:
    """A field that solvers support, but not in this form.

    Attributes:
        types: joint types.
        applies: whether a joint has the form.
        field: the field.
        words: the form in words.
        hint: what to do instead.
    """

    types: frozenset[str]
    applies: Callable[[JointSpec], bool]
    field: str
    words: str
    hint: str


def _soft(joint: JointSpec) -> bool:
    return any(limit is not None and limit.stiffness > 0 for limit in joint.limit or ())


def _uneven(joint: JointSpec) -> bool:
    held = [drive is not None and drive.mode.startswith("position") and drive.stiffness for drive in joint.drive or ()]
    return len({stiffness or 0.0 for stiffness in held}) > 1


def _moved_in_part(joint: JointSpec) -> bool:
    keys = [
        motion and next(key for key in ("position", "velocity") if getattr(motion, key) is not None)
        for motion in joint.motion or ()
    ]
    return len(set(keys)) > 1


def _limited_unevenly(joint: JointSpec) -> bool:
    return len({None if drive is None else drive.largest_effort for drive in joint.drive or ()}) > 1


def _bounded_softly(joint: JointSpec) -> bool:
    return joint.compliance > 0 and joint.limit is not None


_BALLS = joint_types.types_with(Coordinates.QUATERNION)
REFUSED_FORMS: tuple[RefusedForm, ...] = (
    RefusedForm(_BALLS, _uneven, "drive", "a ball drive of different stiffnesses", "give its three dofs the same"),
    RefusedForm(
        _BALLS,
        _limited_unevenly,
        "effort_limit",
        "effort limits that differ between the dofs of a ball",
        "write one for all",
    ),
    RefusedForm(
        _BALLS,
        _moved_in_part,
        "motion",
        "a prescribed motion of a part of a ball's dofs, or of two kinds",
        "write `motion` for all three, by `position` (a rotation vector) or by `velocity`",
    ),
    RefusedForm(dofs.DISTANCES, _soft, "limit", "a soft limit of a distance", "leave the stiffness out, or use a spring"),
    RefusedForm(
        dofs.DISTANCES,
        _bounded_softly,
        "compliance",
        "compliance of a distance's bounds",
        "write `length`, or use a spring",
    ),
)

WORDS = {
    "limit": "a limit",
    "drive": "a drive",
    "friction": "dry friction",
    "damping": "damping",
    "armature": "armature",
    "velocity_limit": "a velocity limit",
    "effort_limit": "an effort limit",
    "compliance": "compliance",
    "mimic": "a gear",
    "motion": "a prescribed motion",
    "enabled": "switching by `enabled`",
    "effort": "an effort",
    "torsion": "a torsion spring",
}


# What does the same on bodies, of fields that are forces.
_INSTEAD = {
    "effort": "take a force of type wrench, which acts on any body, or a joint that `simcli docs joint_fields` lists",
    "torsion": "a spring between two points acts on any bodies",
}


def asked(joint: JointSpec, name: str, switched: set[str]) -> Iterator[str]:
    """Fields that a joint asks for."""
    if joint.limit is not None:
        yield "limit"
    if joint.drive is not None:
        yield "drive"
        if any(drive is not None and drive.largest_effort is not None for drive in joint.drive):
            yield "effort_limit"
    yield from (key for key in ("friction", "damping", "armature") if any(getattr(joint, key)))
    if joint.velocity_limit is not None:
        yield "velocity_limit"
    yield from (key for key in ("compliance", "mimic", "motion") if getattr(joint, key))
    if name in switched:
        yield "enabled"


def refuse_field(check: Checker, words: str, path: object, hint: str, on_key: bool = False) -> None:
    """The fault of what a solver does not support."""
    check.fault("SC501", f"the {check.spec.solver.type} solver does not support {words}", path, hint, on_key)


def check_joint_fields(check: Checker, tree: structure.Tree | None) -> None:
    """Refuse joint types and fields of joints that the chosen solver would ignore.

    Args:
        check: the scene.
        tree: its structure; None if it is not known, then a field that is supported somewhere passes.
    """
    supported = JOINTS[check.spec.solver.type]
    switched = structure.switched(check.spec)
    for name, joint in check.spec.joints.items():
        if joint.type not in supported.types:
            refuse_field(check, f"a joint of type `{joint.type}`", f"joints.{name}.type", "`simcli schema` lists the types")
            continue
        for field in asked(joint, name, switched):
            _check_field(check, tree, name, field, written_path(check, name, field))
        for form in REFUSED_FORMS:
            if joint.type in form.types and form.applies(joint):
                refuse_field(check, form.words, written_path(check, name, form.field), form.hint, True)
    for name, force in check.spec.forces.items():
        joint = check.spec.joints.get(force.joint) if force.type in ON_JOINTS else None
        if joint is not None and joint.type in supported.types:
            _check_field(check, tree, force.joint, ON_JOINTS[force.type], ("forces", name, "joint"))


def _check_field(check: Checker, tree: structure.Tree | None, name: str, field: str, path: tuple) -> None:
    supported, kind = JOINTS[check.spec.solver.type], check.spec.joints[name].type
    in_tree, outside = kind in supported.tree[field], kind in supported.loop[field]
    if in_tree and outside:
        return
    if tree is None:
        fits = in_tree or outside
        where = ""
    else:
        fits = in_tree if name in tree.tree_joints else outside
        where = " of the tree" if name in tree.tree_joints else " outside the tree"
    if fits or _refused_before(kind, field):
        return
    hint = f"`simcli docs joint_fields` lists what the {check.spec.solver.type} solver supports"
    if field in _INSTEAD and not (in_tree or outside):
        hint = _INSTEAD[field]
    elif outside:
        hint = f"write `loop: true`, then the {field} is supported"
    elif in_tree:
        hint = "give it to a joint of the tree"
    refuse_field(check, f"{WORDS[field]} on a `{kind}` joint{where}", path, hint, path[-1] != "joint")


def _refused_before(kind: str, field: str) -> bool:
    """Whether the scene itself makes no sense, which has been said."""
    return (field == "limit" and kind in dofs.NO_LIMITS) or (field == "mimic" and kind not in dofs.GEARED)


def written_path(check: Checker, name: str, field: str) -> tuple:
    """Path of a field of a joint as written: values of single axes stand below `axes`, a switch in an event."""
    key = "drive" if field == "effort_limit" else field
    path = ("joints", name, key)
    if check.has(f"joints.{name}.{key}"):
        below = ("effort_limit", "effort_limit_table") if field == "effort_limit" else ()
        return next(((*path, one) for one in below if check.has(f"joints.{name}.drive.{one}")), path)
    if field == "enabled":
        for index, event in enumerate(check.spec.events):
            if f"joints.{name}.enabled" in event.set:
                return ("events", index, "set", f"joints.{name}.enabled")
    return (*path[:2], "axes") if check.has(f"joints.{name}.axes") else path
