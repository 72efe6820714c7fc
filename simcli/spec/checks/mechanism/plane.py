"""Planar scenes: bodies, anchors and axes stay in the plane, and loads across it are told where no reaction shows them."""

from collections.abc import Iterator

from simcli.spec.checks.checker import Checker
from simcli.spec.expansion.planes import NORMAL_INDEX, PlaneVector, plane_normal
from simcli.spec.forces.drag import DragForce
from simcli.spec.forces.torque import TorqueForce
from simcli.spec.forces.wrench import WrenchForce
from simcli.spec.names import dofs
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.pose import PoseSpec, norm

_FLAT = ("natural", "maximal")  # solvers whose bodies have no coordinates across the plane
_OUTSIDE = 1e-9  # [m], or of a unit vector: rounding in the file


def check_plane(check: Checker, bodies: list[str], joints: list[str]) -> None:
    """In a planar scene bodies, anchors and axes stay in the plane.

    Args:
        check: the scene; a spatial one has nothing to check.
        bodies: names to look at.
        joints: names to look at.
    """
    plane = check.spec.world.plane
    if plane is None:
        return
    for name in bodies:
        body = check.spec.bodies[name]
        _pose(check, plane, body.pose, f"bodies.{name}.pose")
        _point(check, plane, body.com, f"bodies.{name}.com")
        if body.velocity is not None:
            _point(check, plane, body.velocity.linear, f"bodies.{name}.velocity.linear")
            _along(check, plane, body.velocity.angular, f"bodies.{name}.velocity.angular")
    for name in joints:
        _joint(check, plane, name, check.spec.joints[name])


def check_loads_across(check: Checker) -> None:
    """Tell loads across the plane that no reaction of the chosen solver shows, where reactions are written."""
    spec = check.spec
    if spec.world.plane is None or spec.solver.type not in _FLAT or "reactions" not in spec.output.channels:
        return
    for path, words in _loads_across(check, NORMAL_INDEX[spec.world.plane]):
        message = f"the scene is planar ({spec.world.plane}), and {words} along its normal: reactions do not include that"
        hint = "take the generalized solver, whose joints of the tree carry it, or a scene without a plane"
        check.fault("SC479", message, path, hint, severity="warning")


def _loads_across(check: Checker, normal: int) -> Iterator[tuple[str, str]]:
    """Path and words of each load whose force is along the normal, or whose torque is not."""
    if abs(check.spec.world.gravity[normal]) > _OUTSIDE:
        yield "world.gravity", "gravity acts"
    for name, force in check.spec.forces.items():
        if isinstance(force, DragForce) and abs(force.wind[normal]) > _OUTSIDE:
            yield f"forces.{name}.wind", f"the wind of `{name}` blows"
        if isinstance(force, WrenchForce):
            six, paths = (*force.force, *force.torque), ("force", "torque")
        elif isinstance(force, TorqueForce) and len(force.value) == len(dofs.TYPES["distance"]):  # along x, y, z and about
            six, paths = force.value, ("value", "value")
        else:
            continue
        acts = [isinstance(x, str) or abs(x) > _OUTSIDE for x in six]
        if acts[normal]:
            yield f"forces.{name}.{paths[0]}", f"the force of `{name}` acts"
        if any(turn for axis, turn in enumerate(acts[3:]) if axis != normal):
            yield f"forces.{name}.{paths[1]}", f"the torque of `{name}` acts"


def _joint(check: Checker, plane: str, name: str, joint: JointSpec) -> None:
    path = f"joints.{name}"
    if joint.type not in dofs.IN_PLANE:
        hint = "use planar" if joint.type in dofs.ORBITAL or dofs.TYPES[joint.type].count("L") > 1 else "use revolute"
        _fault(check, plane, f"a `{joint.type}` joint moves out of it", f"{path}.type", hint)
        return
    _point(check, plane, joint.at, f"{path}.at")
    for key in ("parent_frame", "child_frame"):
        _pose(check, plane, getattr(joint, key), f"{path}.{key}")
    if joint.axis is not None and joint.type in dofs.AXIS and joint.type != "cable":
        (_point if dofs.TYPES[joint.type] == "L" else _along)(check, plane, joint.axis, f"{path}.axis")
    for group, inside in (("linear", _point), ("angular", _along)):
        for index, entry in enumerate(getattr(joint.axes, group) if joint.axes else ()):
            inside(check, plane, entry.axis, f"{path}.axes.{group}[{index}]")


def _fault(check: Checker, plane: str, words: str, path: str, hint: str) -> None:
    check.fault("SC467", f"the scene is planar ({plane}), but {words}", path, hint)


def _point(check: Checker, plane: str, value: PlaneVector | None, path: str) -> None:
    """A place or direction in the plane."""
    away = 0.0 if value is None else abs(value[NORMAL_INDEX[plane]])
    if away > _OUTSIDE and away > _OUTSIDE * norm(value):
        axis = "xyz"[NORMAL_INDEX[plane]]
        _fault(check, plane, f"`{path}` has {axis} = {value[NORMAL_INDEX[plane]]:g}", path, f"write 0 for {axis}")


def _along(check: Checker, plane: str, value: PlaneVector | None, path: str) -> None:
    """A direction along the normal, or nothing."""
    if value is None:
        return
    across = [component for index, component in enumerate(value) if index != NORMAL_INDEX[plane]]
    if max(map(abs, across)) > _OUTSIDE * norm(value):
        shown = ", ".join(f"{component:g}" for component in plane_normal(plane))
        _fault(check, plane, f"`{path}` is not along its normal", path, f"write [{shown}], or leave it out")


def _pose(check: Checker, plane: str, pose: PoseSpec | None, path: str) -> None:
    if pose is None:
        return
    _point(check, plane, pose.xyz, f"{path}.xyz")
    turned = [part for index, part in enumerate(pose.quat_xyzw[:3]) if index != NORMAL_INDEX[plane]]
    if max(map(abs, turned)) > _OUTSIDE:
        _fault(check, plane, f"`{path}` is turned out of it", path, "turn about the normal only")
