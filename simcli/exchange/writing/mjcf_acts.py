"""What acts between bodies and on joints, in MJCF.

Loops and gears are equalities, springs and couplings tendons, drives and constant efforts actuators, whose controls stand in
the keyframe.
"""

from functools import partial

import numpy as np

from simcli import rotations as rot
from simcli.exchange.writing.mjcf_parts import MjcfParts, WrittenState
from simcli.exchange.writing.mjcf_shapes import write_rope
from simcli.model.tables.model import Array, DriveMode, JointKind, Model
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.signals import DriveSpec

_SOFT = "which MuJoCo keeps softly"
_POLYCOEF = 5  # coefficients of an equality
_TOO_HIGH = "MJCF has polynomials of degree 4 at most"
_NO_BOUND = 1e9  # [m, rad] of a side that has no bound


# Types of joints that equalities of MJCF hold, and the words of these.
_EQUALITIES = {JointKind.FIXED: "a weld", JointKind.BALL: "a connect", JointKind.REVOLUTE: "two connects on its axis"}


def write_loops(parts: MjcfParts) -> None:
    """Joints that close loops, and distance joints."""
    model = parts.scene.model
    zero = parts.zero_poses()
    for j in range(model.n_joints):
        name, kind = model.joints.name[j], model.joints.kind[j]
        if name not in parts.scene.spec.joints:
            continue
        path, spec = f"joints.{name}", parts.scene.spec.joints[name]
        if kind == JointKind.DISTANCE:
            _write_distance(parts, j, zero)
        if model.joints.is_tree[j]:
            continue
        if not spec.enabled or not model.joints.enabled[j]:
            parts.scene.lose("joint", name, path, "is switched off")
        elif kind in _EQUALITIES:
            _write_equality(parts, j)
            parts.scene.report_element("joint", name, path, f"{_EQUALITIES[kind]}, {_SOFT}")
            _lose_loop_laws(parts, name, path, spec)
        elif kind == JointKind.DISTANCE:
            parts.scene.report_element("joint", name, path, f"the length of a tendon, {_SOFT}")
        else:
            parts.scene.lose("joint", name, path, f"MJCF closes loops by points and frames, not as a {spec.type} joint")


def _lose_loop_laws(parts: MjcfParts, name: str, path: str, spec) -> None:
    """Laws on the coordinate of a loop joint, which MJCF has not."""
    given = [key for key in ("limit", "drive", "motion", "velocity_limit", "mimic") if getattr(spec, key)]
    given += [key for key in ("damping", "friction", "armature") if any(getattr(spec, key))]
    for key in given:
        parts.scene.lose(key, name, f"{path}.{key}", "MJCF has no coordinate of a joint that closes a loop")


def _ends(parts: MjcfParts, j: int) -> tuple[tuple[int, Array], tuple[int, Array]]:
    """Bodies of a joint with its anchors in them."""
    joints = parts.scene.model.joints
    return tuple(
        (int(getattr(joints, end)[j]), parts.scene.first(joints, column)[j])
        for end, column in (("parent", "X_p"), ("child", "X_c"))
    )


def _write_equality(parts: MjcfParts, j: int) -> None:
    scene, section = parts.scene, parts.sections["equality"]
    name, kind = scene.model.joints.name[j], scene.model.joints.kind[j]
    given, ends = scene.joints.give(name), _ends(parts, j)
    sites = [parts.site(f"{given}_{side}", *end) for side, end in zip(("parent", "child"), ends, strict=True)]
    section.add("weld" if kind == JointKind.FIXED else "connect", name=given, site1=sites[0], site2=sites[1])
    if kind == JointKind.REVOLUTE:
        axis = scene.first(scene.model.dofs, "axis")[scene.model.joints.qd_start[j]]
        along = [
            parts.site(f"{given}_{side}_axis", body, rot.pose_apply(anchor, axis))
            for side, (body, anchor) in zip(("parent", "child"), ends, strict=True)
        ]
        section.add("connect", name=scene.joints.give(f"{name}_axis"), site1=along[0], site2=along[1])


def _write_distance(parts: MjcfParts, j: int, zero: dict[int, Array]) -> None:
    """A tendon between the anchors whose length is fixed, or bounded."""
    scene = parts.scene
    given, ends = scene.others.give(scene.model.joints.name[j]), _ends(parts, j)
    least, most = scene.first(scene.model.joints, "length")[j]
    is_fixed = least == most
    bounds = None if is_fixed else (0.0 if np.isnan(least) else least, _NO_BOUND if np.isnan(most) else most)
    tendon = parts.sections["tendon"].add("spatial", name=given, range=bounds)
    for side, (body, anchor) in zip(("parent", "child"), ends, strict=True):
        tendon.add("site", site=parts.site(f"{given}_{side}", body, anchor[:3]))
    if is_fixed:
        places = [rot.pose_apply(zero[body], anchor[:3]) for body, anchor in ends]
        lack = most - np.linalg.norm(places[1] - places[0])
        parts.sections["equality"].add("tendon", tendon1=given, polycoef=(lack, 0, 0, 0, 0))


def write_gears(parts: MjcfParts) -> None:
    """Mimics, and the slides of screws."""
    scene, section, mimics = parts.scene, parts.sections["equality"], parts.scene.model.mimics
    for link in parts.tree.links:
        for axis in link.axes:
            if axis.lead is not None:
                leader = parts.tree.name_of_dof[axis.dof]
                section.add("joint", joint1=axis.name, joint2=leader, polycoef=(0, axis.lead, 0, 0, 0))
    for m in range(len(mimics.name)):
        one, other = (parts.tree.name_of_dof.get(int(getattr(mimics, end)[m])) for end in ("follower", "leader"))
        polynomial = mimics.polynomial[0, m]
        if one and other and not polynomial[_POLYCOEF:].any():
            section.add("joint", joint1=one, joint2=other, polycoef=_polycoef(polynomial))
    for name, joint in scene.spec.joints.items():
        if joint.mimic is None or joint.loop:
            continue
        if scene.spec.joints[joint.mimic.joint].loop:
            scene.lose("mimic", name, f"joints.{name}.mimic", "its leader closes a loop, which has no coordinate in MJCF")
        elif any(joint.mimic.coefficients[_POLYCOEF:]):
            scene.lose("mimic", name, f"joints.{name}.mimic.polynomial", _TOO_HIGH)
        else:
            scene.report_element("mimic", name, f"joints.{name}.mimic", f"an equality, {_SOFT}")


def _polycoef(polynomial: Array) -> tuple[float, ...]:
    """Of an equality, as many numbers as MJCF has."""
    return tuple(np.pad(polynomial[:_POLYCOEF], (0, max(0, _POLYCOEF - len(polynomial)))).tolist())


def write_drives(parts: MjcfParts) -> None:
    """Drives of joints, as actuators on their axes."""
    scene, dofs = parts.scene, parts.scene.model.dofs
    driven = {int(dof) for dof in np.flatnonzero(dofs.drive_mode != DriveMode.NONE)}
    for dof in sorted(driven & set(parts.tree.name_of_dof)):
        _actuate(parts, "dofs", dof, parts.tree.name_of_dof[dof], "joint")
    for j, name in enumerate(scene.model.joints.name):
        own = set(range(*scene.model.joints.qd_start[j : j + 2].tolist())) & driven
        if own and own <= set(parts.tree.name_of_dof):
            scene.report_element("drive", name, f"joints.{name}.drive", "an actuator, its target is its control")
            for drive in scene.spec.joints[name].drive or ():
                scene.lose_drive(name, f"joints.{name}.drive", drive, "MJCF")
        elif own and scene.model.joints.is_tree[j]:
            scene.lose("drive", name, f"joints.{name}.drive", "MJCF drives no rotation vector")


def _actuate(parts: MjcfParts, of: str, item: int, name: str, on: str) -> None:
    """An actuator with the law of a drive, on a joint or a tendon of a name.

    Args:
        parts: of the file.
        of: table of the model that has the drive.
        item: there.
        name: of the joint or tendon.
        on: which of them.
    """
    table = getattr(parts.scene.model, of)
    mode = DriveMode(int(table.drive_mode[item]))
    number = lambda key: float(parts.scene.first(table, key)[item])  # noqa: E731
    asked = lambda state, key: float(getattr(getattr(state.model, of), key)[0, item])  # noqa: E731
    stiffness, damping, most = map(number, ("drive_stiffness", "drive_damping", "effort_limit"))
    target, rate = (partial(asked, key=key) for key in ("drive_target", "drive_target_velocity"))
    words = {on: name, "forcerange": (-most, most) if np.isfinite(most) else None}
    drive_of = partial(_drive_of, of=of, item=item)
    lag = drive_of(parts.scene.spec, parts.scene.model).activation
    if lag is not None:
        asked_of = lambda state: drive_of(*state).target  # noqa: E731
        is_servo = mode != DriveMode.EFFORT
        bias = {"biastype": "affine", "biasprm": (damping * number("drive_target_velocity"), -stiffness, -damping)}
        parts.actuate(
            "general",
            name,
            lambda state: 0.0 if isinstance(asked_of(state), str) else asked_of(state),
            dyntype="filterexact" if lag.method == "exact" else "filter",
            dynprm=lag.rise if lag.time_constant is None else lag.time_constant,
            gainprm=stiffness if is_servo else 1,
            **(bias if is_servo else {}),
            **words,
        )
        parts.activations.append(lambda state: drive_of(*state).activation.initial)
    elif mode == DriveMode.EFFORT:
        parts.actuate("motor", name, target, **words)
    elif mode == DriveMode.POSITION:
        parts.actuate("position", name, target, kp=stiffness, kv=damping, **words)
    elif mode == DriveMode.VELOCITY:
        parts.actuate("velocity", name, rate, kv=damping, **words)
    else:
        parts.actuate(
            "general",
            name,
            lambda state: stiffness * target(state) + damping * rate(state),
            biastype="affine",
            biasprm=(0, -stiffness, -damping),
            **words,
        )


def _drive_of(spec: SceneSpec, model: Model, of: str, item: int) -> DriveSpec:
    """The drive of a dof, or of a coupling, as a scene says it."""
    if of == "combinations":
        return spec.forces[model.combinations.name[item]].drive
    j = int(np.searchsorted(model.joints.qd_start, item, side="right")) - 1
    drives = spec.joints[model.joints.name[j]].drive
    return drives[min(item - int(model.joints.qd_start[j]), len(drives) - 1)]


def write_forces(parts: MjcfParts) -> None:
    """Forces of the scene."""
    writers = {"spring": _write_spring, "torque": _write_torque, "wrench": _write_wrench, "coupling": _write_coupling}
    for name, force in parts.scene.spec.forces.items():
        path = f"forces.{name}"
        if force.type == "torsion":
            parts.scene.report_element("force", name, path, "stiffness and damping of its joint")
        elif force.type in writers:
            writers[force.type](parts, name, force, path)
        else:
            parts.scene.lose("force", name, path, f"MJCF has no {force.type}")


def _write_spring(parts: MjcfParts, name: str, force, path: str) -> None:
    if force.is_rope:
        write_rope(parts, name, force, path)
        return
    springs = parts.scene.model.springs
    k = springs.name.index(name)
    stiffness, damping, rest = (float(parts.scene.first(springs, key)[k]) for key in ("stiffness", "damping", "rest_length"))
    given = parts.scene.others.give(name)
    tendon = parts.sections["tendon"].add(
        "spatial", name=given, stiffness=stiffness, damping=damping or None, springlength=(0, rest) if force.slack else rest
    )
    parts.scene.lose_tables(name, path, force)
    over = np.flatnonzero(springs.pulley_spring == k)
    points = parts.scene.first(springs, "point")[k]
    places = [
        (int(springs.body[k, 0]), points[0]),
        *((int(springs.pulley_body[z]), parts.scene.first(springs, "pulley_point")[z]) for z in over),
        (int(springs.body[k, 1]), points[1]),
    ]
    for n, (body, point) in enumerate(places):
        tendon.add("site", site=parts.site(f"{given}_{n + 1}", body, point))
    words = "a tendon; its damper acts while it is slack, too" if force.slack and damping else "a tendon"
    parts.scene.report_element("force", name, path, words)


def _write_torque(parts: MjcfParts, name: str, force, path: str) -> None:
    scene = parts.scene
    j = scene.model.joints.name.index(force.joint)
    first = int(scene.model.joints.qd_start[j])
    dofs = range(first, first + len(force.value))
    if not set(dofs) <= set(parts.tree.name_of_dof):
        scene.lose("force", name, path, "its joint has no axes of its own in MJCF")
        return
    for k, dof in enumerate(dofs):
        parts.actuate(
            "motor",
            name if len(dofs) == 1 else f"{name}_{k + 1}",
            partial(_effort_of, name=name, k=k),
            joint=parts.tree.name_of_dof[dof],
        )
    scene.report_element("force", name, path, "an actuator, its effort is its control")


def _effort_of(state: WrittenState, name: str, k: int) -> float:
    """An effort of a torque; what a signal drives is 0."""
    return 0.0 if isinstance(value := state.spec.forces[name].value[k], str) else value


def _write_wrench(parts: MjcfParts, name: str, force, path: str) -> None:
    """Force and torque at a site, in its axes, or in those of a site of the world."""
    scene, wrenches = parts.scene, parts.scene.model.wrenches
    k = wrenches.name.index(name)
    body = int(wrenches.body[k])
    if scene.model.bodies.kinematic[body]:
        scene.lose("force", name, path, "acts on a mocap body, which nothing moves")
        return
    gear = np.concatenate([scene.first(wrenches, key)[k] for key in ("force", "torque")])
    site = parts.site(f"{name}_at", body, scene.first(wrenches, "point")[k])
    axes = None if wrenches.follows[k] else parts.site(f"{name}_axes", -1, np.zeros(3))
    parts.actuate("motor", name, lambda _: 1.0, site=site, refsite=axes, gear=gear)
    scene.report_element("force", name, path, "an actuator at a site, its control is 1")


def _write_coupling(parts: MjcfParts, name: str, force, path: str) -> None:
    scene, table = parts.scene, parts.scene.model.combinations
    terms = _factors(parts, table if force.hold is None else scene.model.holds, name)
    if terms is None:
        scene.lose("force", name, path, "is of joints that have no axes of their own in MJCF")
        return
    if force.hold is not None:
        _write_hold(parts, name, terms, path)
        return
    if any(polynomial[2:].any() or polynomial[0] for _, polynomial in terms):
        scene.lose("force", name, path, "MJCF has no polynomials of coordinates along which something acts")
        return
    x = table.name.index(name)
    given = scene.others.give(name)
    numbers = {
        key: float(scene.first(table, column)[x]) or None
        for key, column in (("stiffness", "spring_stiffness"), ("damping", "damping"), ("frictionloss", "friction"))
    }
    rest = scene.first(table, "spring_rest")[x] if numbers["stiffness"] else None
    bounds = [float(scene.first(table, f"limit_{side}")[x]) for side in ("lower", "upper")]
    bounds = np.clip(bounds, -_NO_BOUND, _NO_BOUND) if np.isfinite(bounds).any() else None
    tendon = parts.sections["tendon"].add("fixed", name=given, springlength=rest, range=bounds, **numbers)
    for axis, polynomial in terms:
        tendon.add("joint", joint=axis, coef=polynomial[1])
    if table.drive_mode[x] != DriveMode.NONE:
        _actuate(parts, "combinations", x, given, "tendon")
        scene.lose_drive(name, f"{path}.drive", force.drive, "MJCF")
    scene.report_element("force", name, path, "a fixed tendon")
    if np.isfinite(scene.first(table, "velocity_limit")[x]):
        scene.lose("velocity_limit", name, f"{path}.velocity_limit", "MJCF has no limits of speed")
    if force.rate is not None:
        scene.lose("rate", name, f"{path}.rate", "MJCF has no bounds of rates")


def _factors(parts: MjcfParts, sums, name: str) -> list[tuple[str, Array]] | None:
    """Axes of a coupling, with the polynomial of each; None where one has no axis in MJCF."""
    x = sums.name.index(name)
    terms = slice(*sums.term_start[x : x + 2])
    axes = [parts.tree.name_of_dof.get(int(dof)) for dof in sums.term_dof[terms]]
    return None if None in axes else list(zip(axes, parts.scene.first(sums, "term_polynomial")[terms], strict=True))


def _write_hold(parts: MjcfParts, name: str, terms: list[tuple[str, Array]], path: str) -> None:
    """What holds a sum of coordinates: an equality of one tendon, or of one and another that has a polynomial.

    In MJCF x_1 - L_1 = p(x_2 - L_2), L the lengths of tendons at q = 0, which are none of these.
    """
    scene, holds = parts.scene, parts.scene.model.holds
    value = float(scene.first(holds, "value")[holds.name.index(name)]) - sum(polynomial[0] for _, polynomial in terms)
    bent = [(axis, polynomial) for axis, polynomial in terms if polynomial[2:].any()]
    straight = [(axis, polynomial[1]) for axis, polynomial in terms if not polynomial[2:].any()]
    if len(bent) > 1 or not straight or any(polynomial[_POLYCOEF:].any() for _, polynomial in bent):
        scene.lose("force", name, path, f"MJCF holds a sum with one polynomial beside others, and {_TOO_HIGH}")
        return
    tendons = [_add_tendon(parts, name, straight), *(_add_tendon(parts, f"{name}_led", [(axis, 1.0)]) for axis, _ in bent)]
    polycoef = -bent[0][1] if bent else np.zeros(_POLYCOEF)
    polycoef = np.array([value, *polycoef[1:]])
    words = {f"tendon{n + 1}": one for n, one in enumerate(tendons)}
    parts.sections["equality"].add("tendon", **words, polycoef=_polycoef(polycoef))
    scene.report_element("force", name, path, f"an equality of a fixed tendon, {_SOFT}")


def _add_tendon(parts: MjcfParts, name: str, factors: list[tuple[str, float]]) -> str:
    """A fixed tendon, and its name."""
    given = parts.scene.others.give(name)
    tendon = parts.sections["tendon"].add("fixed", name=given)
    for axis, factor in factors:
        tendon.add("joint", joint=axis, coef=factor)
    return given
