"""Geometry: sizes of shapes, what is drawn, what can touch, ways of ropes, and that a planar scene stays in its plane.

Whether anything can touch is said as far as names tell; model/bodies/contact_pairs.py knows it in full.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise, product

import numpy as np

from simcli.spec.base import dofs
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.faults.checker import Checker
from simcli.spec.lookup import structure
from simcli.spec.lookup.parting import parting
from simcli.spec.lookup.scene_values import NORMAL_INDEX, PlaneVector, plane_normal
from simcli.spec.schema.force_base import EndSpec, RopeStopSpec
from simcli.spec.schema.forces import DragForce, SpringForce, TorqueForce, WrenchForce
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.pose import PoseSpec, norm, unit_length
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.shape import DEFAULT_LAYER, CameraSpec, ShapeSpec, may_touch
from simcli.spec.values.spec_model import SpecModel
from simcli.spec.values.varied_values import smallest_number

MASSLESS = ("plane", "heightfield")
SMALLEST_AXIS = 1e-12  # [1], a shorter vector has no direction
_SIZES = {"box": "size", "ellipsoid": "radii"}


def check_shapes(check: Checker, path: str, shapes: Mapping[str, ShapeSpec]) -> None:
    """Lengths are larger than 0, and directions have one.

    Args:
        check: the scene.
        path: of the shapes.
        shapes: of a body or of the world.
    """
    check_sizes(check, path, shapes)
    for key, shape in shapes.items():
        for direction in ("normal", "grain"):
            value = getattr(shape, direction, None)
            if value is not None and norm(value) < SMALLEST_AXIS:
                message = f"the {direction} of shape `{key}` is zero"
                check.fault("SC456", message, f"{path}.{key}.{direction}", "give it a direction, as [0, 0, 1]")


def check_sizes(check: Checker, path: str, shapes: Mapping[str, SpecModel]) -> None:
    """Lengths of shapes that are lists are larger than 0; arguments as of `check_shapes`, or shapes that are only seen."""
    for key, shape in shapes.items():
        size = _SIZES.get(shape.type)
        if size and smallest_number(*getattr(shape, size)) <= 0:
            message = f"a {size} of `{key}` is not larger than 0"
            check.fault("SC231", message, f"{path}.{key}.{size}", "write full lengths in metres")


def check_look(check: Checker) -> None:
    """Cameras of the scene, and the looks of its bodies and of the world."""
    look = check.spec.look
    for name, camera in look.cameras.items():
        _camera(check, f"look.cameras.{name}", camera)
    if look.camera is not None and look.camera not in look.cameras and not check.is_refused("look"):
        hint = did_you_mean(look.camera, look.cameras, "cameras") or "write it below `look.cameras`"
        check.fault("SC319", f"there is no camera `{look.camera[:60]}`", "look.camera", hint)
    for path, body in (*((f"bodies.{name}", body) for name, body in check.spec.bodies.items()), ("world", check.spec.world)):
        check_sizes(check, f"{path}.look.shapes", body.look.shapes)


def _camera(check: Checker, path: str, camera: CameraSpec) -> None:
    along = tuple(b - a for a, b in zip(camera.position, camera.target, strict=True))
    if norm(along) < SMALLEST_AXIS:
        check.fault("SC456", "the camera stands at what it looks at", f"{path}.from", "move `from` or `at`")
    elif norm(camera.up) < SMALLEST_AXIS:
        check.fault("SC456", "the `up` of a camera is zero", f"{path}.up", "give it a direction, as [0, 0, 1]")
    elif norm(np.cross(unit_length(along), unit_length(camera.up))) < SMALLEST_AXIS:
        check.fault("SC456", "the camera looks along its own `up`", f"{path}.up", "give it another direction, as [0, 1, 0]")


def check_touching(check: Checker) -> None:
    """Warn of options of contact that nothing reads."""
    if check.has("solver.contact") and not _is_unknown(check) and touching_pair(check) is None:
        message, hint = "`solver.contact` has no effect: no two shapes can touch", "give two bodies shapes, or remove it"
        check.fault("SC666", message, "solver.contact", hint, on_key=True, severity="warning")


def _layers(check: Checker) -> None:
    """Refuse layers to touch that no shape is in; what is in none that is named is in `default`."""
    owners = {"world": check.spec.world, **{f"bodies.{name}": body for name, body in check.spec.bodies.items()}}
    shapes = {f"{path}.shapes.{key}": shape for path, owner in owners.items() for key, shape in owner.shapes.items()}
    known = {name for shape in shapes.values() for name in shape.layers} | {DEFAULT_LAYER}
    for path, shape in shapes.items() if not (check.broken or check.is_refused("bodies", "world")) else ():
        for index, name in enumerate(shape.touches):
            if name not in known:
                hint = did_you_mean(name, sorted(known))
                check.fault("SC314", f"no shape is in the layer `{name}`", f"{path}.touches[{index}]", hint)


def check_contact_names(check: Checker) -> None:
    """Layers, excluded pairs and pairs of contact name shapes and bodies that are there."""
    contact = check.spec.contact
    _layers(check)
    for index, pair in enumerate(contact.exclude):
        for side in (0, 1):
            _touchable(check, pair[side], f"contact.exclude[{index}][{side}]")
    for index, pair in enumerate(contact.pairs):
        for side in ("a", "b"):
            _touchable(check, getattr(pair, side), f"contact.pairs[{index}].{side}")


def _touchable(check: Checker, name: str, path: str) -> None:
    """A body, a shape of a body as body/shape, a shape of the world, or the world."""
    body, _, shape = name.rpartition("/")
    shapes = check.spec.bodies[body].shapes if body in check.spec.bodies else {}
    world = check.spec.world.shapes
    if (
        name == "world"
        or name in check.names["bodies"]
        or name in world
        or shape in shapes
        or ("bodies", body) in check.broken
        or check.is_refused("bodies", "world")
    ):
        return
    every = [f"{b}/{key}" for b, spec in check.spec.bodies.items() for key in spec.shapes]
    check.fault(
        "SC314",
        f"there is no body or shape `{name}`",
        path,
        did_you_mean(name, [*check.names["bodies"], *world, *every]),
    )


def _is_unknown(check: Checker) -> bool:
    return any(section in ("contact", "world", "bodies", "solver") for section, _ in check.broken)


def switches_contact(spec: SceneSpec) -> bool:
    """True if an event sets `contact.enabled`."""
    return any("contact.enabled" in event.set for event in spec.events)


def touching_pair(check: Checker) -> tuple[str, str] | None:
    """The first two owners of shapes that could touch, of which the second is a body; None: none, or nobody knows."""
    spec = check.spec
    if not (spec.contact.enabled or switches_contact(spec)) or _is_unknown(check):
        return None
    owners = {structure.WORLD_NAME: spec.world.shapes, **{name: body.shapes for name, body in spec.bodies.items()}}
    shapes = [
        (owner, key if owner == structure.WORLD_NAME else f"{owner}/{key}", shape)
        for owner, of in owners.items()
        for key, shape in of.items()
        if shape.collide
    ]
    asked = {frozenset((_owner(check, pair.a), _owner(check, pair.b))) for pair in spec.contact.pairs}
    always = parting(spec, switch=False)
    excluded = {frozenset(pair) for pair in spec.contact.exclude}
    for first, second in combinations(shapes, 2):
        pair = frozenset((first[0], second[0]))
        if always.never(first[0], second[0]) or not may_touch(first[2], second[2]):
            continue
        if always.parts(first[0], second[0]) and pair not in asked:
            continue
        if excluded.isdisjoint(map(frozenset, product(first[:2], second[:2]))):
            return first[0], second[0]
    return None


def _owner(check: Checker, name: str) -> str:
    """The body of a body or shape, as `contact` names them."""
    if name in check.spec.bodies:
        return name
    is_worlds = name == structure.WORLD_NAME or name in check.spec.world.shapes
    return structure.WORLD_NAME if is_worlds else name.rpartition("/")[0]


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


def check_ropes(check: Checker) -> None:
    """Ways of ropes that can be run, and coordinates that can pay them out."""
    for name, force in check.spec.forces.items():
        if not isinstance(force, SpringForce) or not force.is_rope:
            continue
        path = f"forces.{name}"
        for n, stop in enumerate(force.through):
            if stop.size is not None:
                _rope_size(check, f"{path}.through[{n}]", stop)
        for n, (before, stop) in enumerate(pairwise(force.through), start=1):
            if before.size and stop.size:
                message = f"rope `{name}` runs around two things one after the other"
                check.fault("SC340", message, f"{path}.through[{n}]", "write a point between them that it runs over")
        for n, term in enumerate(force.paid_out):
            joint = check.spec.joints.get(term.joint)
            if joint is not None and joint.type in dofs.GEARED and joint.dof_kinds.count("A") > 1:
                message = f"a `{joint.type}` joint of several turns pays out no rope"
                hint = "take a joint of displacements and at most one turn"
                check.fault("SC342", message, f"{path}.paid_out[{n}].joint", hint)
            if term.polynomial is not None:
                message = f"rope `{name}` is paid out by a polynomial"
                check.fault("SC342", message, f"{path}.paid_out[{n}].polynomial", "write its `factor`")


def _rope_size(check: Checker, path: str, stop: RopeStopSpec) -> None:
    """A cylinder or a sphere: its axis has a direction, and the side is outside of it."""
    axis = stop.cylinder.axis if stop.cylinder else None
    if axis is not None and norm(axis) < SMALLEST_AXIS:
        check.fault("SC456", "the axis of a cylinder is zero", f"{path}.cylinder.axis", "give it a direction, as [0, 1, 0]")
        return
    if (
        stop.size is None
        or stop.side is None
        or not (stop.side.is_own or (stop.side.body, stop.side.world is None) == (stop.body, stop.world is None))
    ):
        return
    centre, side = (_place_of(check, end, stop.body) for end in (stop, stop.side))
    if centre is None or side is None:
        return
    way = np.subtract(side, centre)
    if axis is not None:
        unit = np.array(axis) / norm(axis)
        way = way - unit * (way @ unit)
    if float(np.linalg.norm(way)) <= stop.size.radius:
        kind = "cylinder" if stop.cylinder else "sphere"
        message = f"the side of a {kind} lies inside of it, where no rope passes that runs around it"
        check.fault("SC341", message, f"{path}.side", "move it outside, or write inside: true: a ring")


def _place_of(check: Checker, end: EndSpec, body: str | None) -> tuple[float, ...] | None:
    """The place that an end or a side says, in its body or in the world; None if it names nothing."""
    if end.world is not None or end.at is not None:
        return end.at if end.world is None else end.world
    found = check.spec.bodies.get(end.body or body or "")
    return None if found is None else found.places.get(end.point or "")
