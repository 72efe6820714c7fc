"""Physics of bodies and joints: masses, inertias, limits, axes, and the shape of the mechanism."""

import itertools
import math

import numpy as np

from simcli.joint_types import JOINT_TYPES
from simcli.spec.base import dofs
from simcli.spec.base.nodes import Listing, Scalar, TableNode, child, find, plain
from simcli.spec.checks.drives import check_drives, check_limits
from simcli.spec.checks.geometry import MASSLESS, SMALLEST_AXIS, check_shapes
from simcli.spec.faults.checker import Checker
from simcli.spec.lookup import structure
from simcli.spec.lookup.scene_values import NORMAL_INDEX
from simcli.spec.schema.body import BodySpec, InertiaSpec
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.pose import ORIENTATIONS, norm
from simcli.spec.values.varied_values import in_all_worlds, largest_number

SYMMETRY = 1e-9  # relative difference of two mirrored entries that is rounding in the file
TRIANGLE = 1e-6  # relative amount by which a principal moment may exceed the sum of the others, rounding in the file
VANISHING = 1e-12  # of the largest moment: a principal moment below it counts as zero
ORTHOGONAL = 1e-6  # cosine between axes of a d6 that is rounding in the file
_ROUNDED = 0.1  # [degrees] off a right angle: numbers of two digits and more
_UNIT_QUATERNION = 1e-6


def check_body(check: Checker, name: str, body: BodySpec) -> None:
    """Mass properties and shapes of one body."""
    path = f"bodies.{name}"
    if body.mass is not None and body.mass < 0 and not body.kinematic:
        hint = "a mass is larger than 0, or 0 with `inertia: point` between joints"
        check.fault("SC401", f"the mass of `{name}` is {body.mass:g} kg", f"{path}.mass", hint)
    if body.inertia is not None:
        _inertia(check, name, body.inertia)
    for key, shape in body.shapes.items():
        if shape.type in MASSLESS:
            hint = "planes and terrain stand in `world: {shapes: ..}`"
            check.fault("SC417", f"a {shape.type} on body `{name}`", f"{path}.shapes.{key}.type", hint)
    check_shapes(check, f"{path}.shapes", body.shapes)
    if not body.kinematic:
        (_massless if body.mass == 0 else _mass_rules)(check, name, body)


def _massless(check: Checker, name: str, body: BodySpec) -> None:
    """A body without mass is carried by its joints; so it has no inertia of its own either."""
    if check.spec.solver.type == "affine":
        message = f"body `{name}` has no mass, which affine bodies need"
        check.fault("SC401", message, f"bodies.{name}.mass", "give it mass, or take another solver")
    elif body.inertia is None or not body.inertia.point:
        message = f"body `{name}` has an inertia, but its mass is 0"
        check.fault("SC401", message, f"bodies.{name}", "write `mass: 0, inertia: point`, or give it mass", on_key=True)


def _mass_rules(check: Checker, name: str, body: BodySpec) -> None:
    """Where mass and inertia come from."""
    if body.mass is not None and body.inertia is not None:
        return
    bounded = {key: shape for key, shape in body.shapes.items() if shape.type not in MASSLESS}
    solid = {key: shape for key, shape in bounded.items() if shape.type != "sphere" or shape.radius > 0}
    dense = [key for key, shape in solid.items() if _has_density(check, shape)]
    path = f"bodies.{name}"
    if len(bounded) < len(body.shapes):
        return
    if body.mass is None and not dense:
        if solid:
            message, hint = (
                f"the shapes of body `{name}` have no density",
                "give a `density`, a material with one, or `mass`",
            )
        elif body.inertia is not None:
            message, hint = f"body `{name}` has an inertia, but no mass", "add `mass`"
        else:
            message, hint = f"body `{name}` has no mass", "write mass and inertia, or shapes with a density"
        check.fault("SC460", message, path, hint, on_key=True)
    elif body.mass is not None and body.inertia is None and not solid:
        hint = "add `inertia: {diag: ..}`, shapes, or `inertia: point` for a point mass"
        check.fault("SC460", f"body `{name}` has a mass, but no inertia", f"{path}.mass", hint)


def _has_density(check: Checker, shape) -> bool:
    if shape.density is not None:
        return True
    material = check.spec.materials.get(shape.material) if shape.material else None
    # An unknown or refused material is a fault of its own.
    return material.density is not None if material else shape.material is not None


def _inertia(check: Checker, name: str, inertia: InertiaSpec) -> None:
    path = f"bodies.{name}.inertia"
    matrix = inertia.matrix()
    if matrix is None:
        if check.spec.world.plane is None:
            check.fault(
                "SC457", f"body `{name}` has a planar inertia in a spatial scene", path, "write {diag: [Ixx, Iyy, Izz]}"
            )
        elif inertia.normal < 0:
            check.fault("SC403", f"the inertia of `{name}` is negative", path, "moments of inertia are at least 0")
        return
    key = "full" if inertia.full is not None else "diag"
    at = f"{path}.{key}" if not inertia.point else path
    size = largest_number(*map(abs, inertia.diag or itertools.chain(*matrix)))
    for i, j in ((0, 1), (0, 2), (1, 2)) if inertia.full is not None else ():
        if abs(matrix[i][j] - matrix[j][i]) > SYMMETRY * size:
            values = f"[{i}][{j}] is {matrix[i][j]:g}, [{j}][{i}] is {matrix[j][i]:g}"
            message = f"the inertia of `{name}` is not symmetric: {values}"
            check.fault("SC402", message, at, "write the same value in both places")
            return
    low, middle, high = in_all_worlds(_principal_moments, (*itertools.chain(*matrix),))
    if low < -VANISHING * size or low != low:
        check.fault("SC403", f"a principal moment of `{name}` is {low:.4g} kg m^2", at, "moments of inertia are at least 0")
    elif check.spec.world.plane is None and low + middle < high * (1 - TRIANGLE):  # in a plane one moment counts
        message = f"these moments of inertia are impossible: {low:.4g} + {middle:.4g} < {high:.4g}"
        check.fault("SC404", message, at, "the largest principal moment is at most the sum of the others")


def _principal_moments(rows: np.ndarray) -> np.ndarray:
    """Rising, (..., 3), of an inertia by rows, (..., 9)."""
    moments = rows[..., ::4]
    if np.isfinite(moments).all() and not np.delete(rows, (0, 4, 8), axis=-1).any():
        return np.sort(moments, axis=-1)
    return np.linalg.eigvalsh(rows.reshape(*rows.shape[:-1], 3, 3))


def check_joint(check: Checker, name: str, joint: JointSpec) -> None:
    """Keys, axes and limits of one joint."""
    path = f"joints.{name}"
    node = find(check.tree, ("joints", name))
    written = node.items if isinstance(node, TableNode) else {}
    if joint.at is not None and (joint.parent_frame is not None or joint.child_frame is not None):
        hint = "use `at` (world), or parent_frame and child_frame (bodies)"
        check.fault("SC408", f"joint `{name}` has `at` and frames", f"{path}.at", hint, on_key=True)
    for key, types in dofs.ONLY.items():
        if key in written and joint.type not in types:
            hint = f"`{key}` goes with {', '.join(sorted(types))[:70]}"
            check.fault("SC409", f"a `{joint.type}` joint takes no `{key}`", f"{path}.{key}", hint, on_key=True)
    acting = (*dofs.ACTING, "compliance") if joint.type == "cable" else dofs.ACTING
    for key in acting if joint.type in dofs.NO_DOFS else ():
        if key in written and _says_something(plain(written[key])):
            hint = "use its own stiffness and damping" if joint.type == "cable" else "it has no coordinate"
            check.fault("SC409", f"a `{joint.type}` joint takes no `{key}`", f"{path}.{key}", hint, on_key=True)
    if joint.at is not None and joint.type in dofs.FRAMES_ONLY:
        hint = "use parent_frame and child_frame"
        check.fault("SC409", f"a `{joint.type}` joint takes no `at`", f"{path}.at", hint, on_key=True)
    if joint.limit is not None and joint.type in dofs.NO_LIMITS:
        hint = "it has no coordinate to bound"
        check.fault("SC409", f"a `{joint.type}` joint takes no `limit`", f"{path}.limit", hint, on_key=True)
    if joint.type in dofs.AXIS and joint.axis is not None and norm(joint.axis) < SMALLEST_AXIS:
        check.fault("SC456", f"the axis of joint `{name}` is zero", f"{path}.axis", "give it a direction, as [0, 0, 1]")
    if joint.type in dofs.NONHOLONOMIC and norm(joint.normal) < SMALLEST_AXIS:
        check.fault("SC456", f"the normal of joint `{name}` is zero", f"{path}.normal", "give it a direction, as [0, 0, 1]")
    _axes(check, name, joint)
    _limits(check, name, joint)
    check_limits(check, name, joint)
    check_drives(check, name, joint)
    _needs(check, name, joint)
    if joint.type == "ball" and joint.q is not None and len(joint.q) == 4 and norm(joint.q) < SMALLEST_AXIS:
        check.fault("SC422", f"the quaternion `q` of joint `{name}` is zero", f"{path}.q", "the identity is [0, 0, 0, 1]")


def _says_something(value: object) -> bool:
    """False for nothing, for zeros, and for lists of these."""
    return any(map(_says_something, value)) if isinstance(value, list) else bool(value)


def _axes(check: Checker, name: str, joint: JointSpec) -> None:
    if joint.axes is None:
        return
    for group in ("linear", "angular"):
        axes = [entry.axis for entry in getattr(joint.axes, group)]
        path = f"joints.{name}.axes.{group}"
        for index, axis in enumerate(axes):
            if norm(axis) < SMALLEST_AXIS:
                check.fault("SC456", f"an axis of joint `{name}` is zero", f"{path}[{index}]", "give it a direction")
                return
        for i in range(len(axes)):
            for j in range(i):
                cosine = sum(a * b for a, b in zip(axes[i], axes[j], strict=True)) / (norm(axes[i]) * norm(axes[j]))
                if abs(cosine) > ORTHOGONAL:
                    off = math.degrees(math.asin(min(1.0, abs(cosine))))
                    message = f"two {group} axes of joint `{name}` are {off:.3g} degrees off a right angle"
                    hint = "or use two joints" if off > _ROUNDED else "write their numbers with more digits"
                    check.fault("SC456", message, f"{path}[{i}]", f"axes are at right angles; {hint}")
                    return


def _limits(check: Checker, name: str, joint: JointSpec) -> None:
    for index, limit in enumerate(joint.limit or ()):
        if limit is None or limit.lower is None or limit.upper is None or limit.lower < limit.upper:
            continue
        path = ["joints", name, "limit"]
        if find(check.tree, [*path, index, "lower"]) or isinstance(find(check.tree, [*path, index]), Listing):
            path.append(index)
        elif find(check.tree, path) is None:
            path = ["joints", name, "axes"]
        words = "equal" if limit.lower == limit.upper else "in the wrong order"
        check.fault(
            "SC406",
            f"the limits of joint `{name}` are {words}: [{limit.lower:g}, {limit.upper:g}]",
            path,
            f"write [{limit.upper:g}, {limit.lower:g}]" if limit.lower > limit.upper else "the lower one is smaller",
        )


def _needs(check: Checker, name: str, joint: JointSpec) -> None:
    """What a type cannot do without, and keys that exclude each other."""
    message, hint = _missing(joint)
    if not message and joint.type in dofs.DISTANCES:
        message, hint = _distance(joint)
    elif not message and joint.type in dofs.ONLY["stretch"]:
        message, hint = _stiffness_or_material(joint)
    elif not message and joint.type in dofs.ONLY["tube"] and joint.tube > joint.radius:
        message, hint = f"has a tube of {joint.tube:g} m, larger than its radius", "a tube as large as the radius is a ball"
    if message:
        check.fault("SC416", f"{joint.type} joint `{name}` {message}", f"joints.{name}", hint, on_key=True)


def _missing(joint: JointSpec) -> tuple[str, str]:
    required = JOINT_TYPES[joint.type].required
    if required is None or any(all(_is_given(joint, key) for key in group) for group in required.choices):
        return "", ""
    return f"needs {required.text}", required.hint


def _is_given(joint: JointSpec, key: str) -> bool:
    """Whether a joint says something by a key: axes as many as its type has dofs, a limit with a bound."""
    value = getattr(joint, key)
    if value is not None and key == "axes":
        given = "L" * len(value.linear) + "A" * len(value.angular)
        return given == dofs.TYPES[joint.type] or (bool(given) and not dofs.TYPES[joint.type])
    if value and key == "limit":
        return value[0] is not None and (value[0].lower is not None or value[0].upper is not None)
    return value is not None


def _distance(joint: JointSpec) -> tuple[str, str]:
    limit = joint.limit[0] if joint.limit else None
    if joint.length is not None and joint.limit is not None:
        return "has both `length` and `limit`", "keep one of them"
    if limit is not None and ((limit.lower or 0.0) < 0 or (limit.upper is not None and limit.upper <= 0)):
        return "has a distance below zero", "distances are larger than 0"
    return "", ""


def _stiffness_or_material(joint: JointSpec) -> tuple[str, str]:
    by_stiffness = any(getattr(joint, key) is not None for key in ("stretch", "bend", "twist"))
    by_material = any(getattr(joint, key) is not None for key in ("youngs", "poisson", "radius"))
    if by_stiffness and joint.length is not None:
        return "has stiffnesses and a length", "the length belongs to youngs, poisson, radius; remove it"
    if by_stiffness and by_material:
        return "has stiffnesses and a material", "keep stretch, bend, twist or youngs, poisson, radius, length"
    return "", ""


def check_structure(check: Checker) -> structure.Tree | None:
    """Tree, articulations and orphans; None if the parts are not sound enough to tell."""
    spec = check.spec
    for group, first, second in structure.two_parents(spec):
        index = spec.articulations[group].index(second)
        message = f"body `{spec.joints[second].child}` has two parents in articulation `{group}`: `{first}` and `{second}`"
        check.fault(
            "SC412",
            message,
            f"articulations.{group}[{index}]",
            f"write `loop: true` in `{second}`, or list it elsewhere",
        )
    tree = check.mechanism
    if tree is None:
        return None
    for name in tree.free_bodies:
        if f"{name}_free" in spec.joints:
            message = f"`{name}_free` is the name of the joint that the free body `{name}` gets"
            check.fault("SC302", message, f"joints.{name}_free", "rename this joint", on_key=True)
    generalized = spec.solver.type == "generalized"
    if generalized and spec.allow_orphan_joints:
        check.fault(
            "SC414",
            "the generalized solver allows no orphan joints",
            "allow_orphan_joints",
            "remove the key",
            on_key=True,
        )
    elif not spec.allow_orphan_joints:
        for name in tree.orphans:
            message = f"joint `{name}` is in no articulation and not attached to the world or to a listed joint"
            hint = "list it in `articulations`" + ("" if generalized else ", or write allow_orphan_joints: true")
            check.fault("SC413", message, f"joints.{name}", hint, on_key=True)
    if generalized:
        _massless_and_free_to_turn(check, tree)
    return tree


def _massless_and_free_to_turn(check: Checker, tree: structure.Tree) -> None:
    """Leaf bodies that could spin without inertia."""
    spec = check.spec
    of_child = {spec.joints[name].child: spec.joints[name] for name in tree.tree_joints}
    free = set(tree.free_bodies)
    for name in structure.leaves(spec, tree):
        body = spec.bodies[name]
        joint = of_child.get(name)
        kind = "free" if name in free else dofs.SAME.get(joint.type, joint.type) if joint else "fixed"
        if body.inertia is None or body.kinematic or not dofs.has_quaternion(dofs.COORDINATES_OF[kind]):
            continue
        low, high = _spread_of(check, body.inertia)
        if high <= 0.0 or (kind == "free" and 0 <= low <= VANISHING * high):
            message = f"body `{name}` can rotate about an axis about which it has no inertia"
            hint = "give it inertia, or a joint that prevents this rotation"
            loop = next((key for key in tree.loop_joints if name in (spec.joints[key].parent, spec.joints[key].child)), None)
            if kind == "free" and loop is not None:
                hint = f"give it inertia, or let joint `{loop}`, which closes a loop, be the one of the tree that holds it"
            check.fault("SC423", message, f"bodies.{name}.inertia", hint)


def _spread_of(check: Checker, inertia: InertiaSpec) -> tuple[float, float]:
    """Smallest and largest moment against which a body can spin: in a plane only that about the normal."""
    matrix = inertia.matrix()
    if check.spec.world.plane is not None:
        n = NORMAL_INDEX[check.spec.world.plane]
        moment = inertia.normal if matrix is None else matrix[n][n]
        return moment, moment
    low, _, high = np.linalg.eigvalsh(matrix) if matrix else (1.0, 1.0, 1.0)
    return low, high


def check_quaternions(check: Checker) -> None:
    """A note for every written quaternion that is not of length one."""
    tables = ((section, check.document.root.get(section)) for section in ("bodies", "joints"))
    entries = (
        (f"{section}.{name}", entry)
        for section, table in tables
        if isinstance(table, TableNode)
        for name, entry in table.items.items()
    )
    for (path, entry), key in itertools.product(entries, ("pose", "parent_frame", "child_frame")):
        pose = child(entry, key)
        for spelling in ORIENTATIONS[1:3] if pose is not None else ():
            values = child(pose, spelling)
            if isinstance(values, Listing):
                _unit(check, values, f"{path}.{key}.{spelling}")


def _unit(check: Checker, values: Listing, path: str) -> None:
    numbers = [item.value for item in values.items if isinstance(item, Scalar)]
    if len(numbers) != 4 or not all(type(x) in (int, float) for x in numbers):
        return
    length = math.hypot(*numbers)
    if length > SMALLEST_AXIS and abs(length - 1) > _UNIT_QUATERNION:
        check.fault("SC432", f"a quaternion of length {length:.6g}; it is scaled to 1", path, "", severity="warning")
