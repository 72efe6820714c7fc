"""The initial state: coordinates and velocities of joints, of free bodies, and by pattern.

Joints whose coordinate at the start an option, a batch or a sweep names, by path, by pattern or by a parameter, are marked.
"""

from collections.abc import Callable, Sequence

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.gears import follow_gears, polynomial_at
from simcli.model.joints.links import together
from simcli.model.joints.mechanism import DOF_DEFAULTS, BodyInput, JointInput
from simcli.model.tables.model import WORLD, Array, JointKind
from simcli.model.tables.worlds import Worlds
from simcli.spec.base.patterns import matching
from simcli.spec.document.scene_file import Document
from simcli.spec.expansion.starts import naming_ranks
from simcli.spec.expansion.worlds import tree_with_ranks
from simcli.spec.schema.scene import SceneSpec

AT_REST = (0.0, 0.0, 0.0)
MOST_ANGLE = 1e6  # [rad], at the start; from 1e9 on sines of the device are wrong, from 1e15 on they are none at all
NORMALISED = 4e-16  # [1] a quaternion this near to length one is left as it is, so that reading twice changes nothing


def far_angles(q: Array, dof_dim: Sequence[int]) -> Array:
    """(...,) bool, which scalar coordinates of a joint, (..., n_q), hold an angle beyond MOST_ANGLE.

    Args:
        q: [m, rad], the lengths first.
        dof_dim: numbers of linear and angular dofs; others than scalars, as quaternions, hold no angle.
    """
    if q.shape[-1] != sum(dof_dim):
        return np.zeros(q.shape[:-1], bool)
    return (np.abs(q[..., dof_dim[0] :]) > MOST_ANGLE).any(axis=-1)


def read_start(worlds: Worlds, parts: list[JointInput], bodies: list[BodyInput]) -> None:
    """Initial joint_q and joint_qd.

    Later sources beat earlier ones: the authored configuration, `velocity` of free bodies, q and qd of the joint,
    `initial`.

    Args:
        worlds: the scenes.
        parts: completed in place; their anchors are known.
        bodies: placed.
    """
    _draw(parts)
    for part in parts:
        joint = worlds.first.joints.get(part.name)
        if joint is not None and joint.q is not None:
            q = worlds.numbers(lambda s, n=part.name: s.joints[n].q, (part.n_q,))
            _write(worlds, part, "q", q, f"joints.{part.name}.q")
    _by_pattern(worlds, parts, "joint_q")
    for part in parts:
        _free_velocity(worlds, part, bodies[part.child])
        joint = worlds.first.joints.get(part.name)
        if joint is not None and joint.qd is not None:
            qd = worlds.numbers(lambda s, n=part.name: s.joints[n].qd, (part.n_qd,))
            _write(worlds, part, "qd", qd, f"joints.{part.name}.qd")
    _by_pattern(worlds, parts, "joint_qd")
    _normalise(worlds, parts)
    follow_gears(worlds, parts)


def _draw(parts: list[JointInput]) -> None:
    """Note the coordinates as drawn, those of joints that follow others by their gears."""
    for part in parts:
        part.drawn = part.zero_q() if part.q is None else part.q
    waits = [part for part in parts if part.gear is not None]
    while waits:
        part = next(part for part in waits if not any(parts[part.gear.leader] is other for other in waits))
        part.drawn, _ = polynomial_at(part.gear.polynomial[:, None], parts[part.gear.leader].drawn)
        waits = [other for other in waits if other is not part]


def _write(worlds: Worlds, part: JointInput, target: str, value: Array, path: str) -> None:
    """Set q or qd of a joint as the scene wrote it; outside the tree only the neutral value may be written."""
    if not part.is_tree:
        neutral = np.nan_to_num(part.zero_q()) if target == "q" else np.zeros(part.n_qd)
        if np.any(value != neutral):
            message = f"the {target} of a loop joint follows from the others, so that of `{part.name}` cannot be given"
            worlds.fault("SC466", path, message, f"leave it out, or give the {target} of a joint of the tree")
    elif target == "q":
        part.q, part.q_given = value, True
        if far_angles(value, part.entry.dof_dim(part.motion)).any():
            message = f"an angle of joint `{part.name}` is beyond {MOST_ANGLE:g} rad, where it is known to 1e-10 rad only"
            worlds.fault("SC231", path, message, "leave whole turns out")
    else:
        part.qd, part.qd_given = value, np.ones(part.n_qd, bool)


def _free_velocity(worlds: Worlds, part: JointInput, child: BodyInput) -> None:
    """Velocity of a free body, turned into the anchor frame of its joint."""
    velocity = worlds.first.bodies[child.name].velocity
    if velocity is None or not part.is_tree:
        return
    in_plane = part.kind == JointKind.PLANAR and part.name not in worlds.first.joints
    if part.parent != WORLD or not (part.entry.coordinates == "pose" or in_plane):
        message = f"`velocity` of body `{child.name}`, which joint `{part.name}` holds"
        hint = f"write qd in joints.{part.name}"
        worlds.fault("SC459", f"bodies.{child.name}.velocity", message, hint)
        return
    back = rot.quat_inverse(part.X_p[..., 3:])
    linear, angular = (
        rot.quat_rotate(back, worlds.numbers(lambda s, k=key: getattr(s.bodies[child.name].velocity, k) or AT_REST, (3,)))
        for key in ("linear", "angular")
    )
    given = np.repeat([velocity.linear is not None, velocity.angular is not None], 3)
    if in_plane:
        _planar_velocity(part, child, linear, angular)
        part.qd_given = given[1:4]
        return
    lead = max(len(linear), len(angular))
    part.qd = np.concatenate([np.broadcast_to(half, (lead, 3)) for half in (linear, angular)], axis=1)
    part.qd_given = given


def _planar_velocity(part: JointInput, child: BodyInput, linear: Array, angular: Array) -> None:
    """Rates of the coordinates of a body in a plane, which are those of its origin, from the velocity of its centre."""
    normal = part.motion.angular[..., 0, :]
    turn = rot.quat_from_axis_angle(normal, part.q[:, 2])
    linear = linear - rot.cross(angular, rot.quat_rotate(turn, child.com))
    along = [rot.dot(linear, part.motion.linear[..., k, :]) for k in range(2)]
    part.qd = np.stack(np.broadcast_arrays(*along, rot.dot(angular, normal)), axis=-1)


def _by_pattern(worlds: Worlds, parts: list[JointInput], key: str) -> None:
    get: Callable = lambda s: getattr(s.initial, key)  # noqa: E731
    target, count = ("q", "n_q") if key == "joint_q" else ("qd", "n_qd")
    worlds.common(lambda s: [(k, v if isinstance(v, str) else len(v)) for k, v in get(s).items()], f"initial.{key}")
    if not get(worlds.first):
        return
    names = [part.name for part in parts]
    place_of = {name: place for place, name in enumerate(names)}
    listed = {title: [place_of[n] for n in group] for title, group in (worlds.first.articulations or {}).items()}
    for pattern, value in get(worlds.first).items():
        path = f"initial.{key}.{pattern}"
        chosen = [parts[place] for place in matching(names, pattern, listed)]
        if not chosen:
            worlds.fault("SC454", path, f"`{pattern}` matches no joint", "see `simcli show` for the names of the joints")
        for part in chosen:
            n = getattr(part, count)
            if value == "center":
                _write(worlds, part, "q", _centre(worlds, part, path), path)
            elif len(value) != n:
                message = f"`{pattern}` has {len(value)} numbers, but {key} of joint `{part.name}` has {n}"
                worlds.fault("SC463", path, message, f"write {n} numbers")
            else:
                _write(worlds, part, target, worlds.numbers(lambda s, p=pattern: get(s)[p], (n,)), path)


def _centre(worlds: Worlds, part: JointInput, path: str) -> Array:
    """Middle of a joint's limits, (W|1, n_q)."""
    names = ("limit_lower", "limit_upper")
    bounds = [part.dof.get(name, np.full((1, part.n_qd), DOF_DEFAULTS[name])) for name in names]
    if not all(np.isfinite(b).all() for b in bounds) or part.n_q != part.n_qd:
        message = f"joint `{part.name}` has no middle: it has no lower or no upper limit"
        worlds.fault("SC458", path, message, "give it both limits, or write a number")
        return part.zero_q()
    return 0.5 * (bounds[0] + bounds[1])


def _normalise(worlds: Worlds, parts: list[JointInput]) -> None:
    """Make the quaternions in joint_q unit, those of the joints with equally many worlds in one go."""
    by_length: dict[int, list[JointInput]] = {}
    for part in parts:
        if part.entry.has_quaternion and part.q is not None:
            by_length.setdefault(len(part.q), []).append(part)
    for mine in by_length.values():
        quats = together([part.q[:, -4:] for part in mine])
        for k in np.flatnonzero(~quats.any(axis=2).all(axis=1)):
            message = f"the quaternion in q of joint `{mine[k].name}` is zero"
            worlds.fault("SC422", f"joints.{mine[k].name}.q", message, "the identity is [0, 0, 0, 1]")
            quats[k] = 1.0
        length = np.sqrt((quats * quats).sum(axis=2, keepdims=True))
        far = np.abs(length - 1.0) > NORMALISED
        for k in np.flatnonzero(far.any(axis=(1, 2))):
            unit = np.where(far[k], quats[k] / length[k], quats[k])
            mine[k].q = np.concatenate((mine[k].q[:, :-4], unit), axis=1)


def mark_named(document: Document | None, spec: SceneSpec, parts: list[JointInput]) -> None:
    """Note who names the joints.

    Args:
        document: the scene as written.
        spec: its meaning.
        parts: completed in place: `named`.
    """
    if document is None or not (document.overrides or spec.batch.paths):
        return
    names = [part.name for part in parts]
    place = {name: k for k, name in enumerate(names)}
    groups = {title: [place[name] for name in group] for title, group in (spec.articulations or {}).items()}
    tree = tree_with_ranks(document, spec.batch.paths)
    for part, rank in zip(parts, naming_ranks(spec, tree, names, groups), strict=True):
        part.named = rank
