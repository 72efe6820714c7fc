"""The initial state: coordinates and velocities of joints, of free bodies, and by pattern."""

from collections.abc import Callable
from fnmatch import fnmatchcase

import numpy as np

from simcli.model import rotations as rot
from simcli.model.gather import Worlds
from simcli.model.mechanism import DOF_DEFAULTS, JointPart
from simcli.model.tables import WORLD, Array

NORMALISED = 4e-16  # [1] a quaternion this near to length one is left as it is, so that reading twice changes nothing


def read_start(worlds: Worlds, parts: list[JointPart]) -> None:
    """Initial joint_q and joint_qd.

    Later sources beat earlier ones: the authored configuration, `velocity` of free bodies, q and qd of the joint,
    `initial`.

    Args:
        worlds: the scenes.
        parts: completed in place; their anchors are known.
    """
    children = list(worlds.first.bodies)
    for part in parts:
        _free_velocity(worlds, part, children[part.child])
        joint = worlds.first.joints.get(part.name)
        if joint is None:
            continue
        if joint.q is not None:
            part.q = worlds.numbers(lambda s, n=part.name: s.joints[n].q, (part.n_q,))
        if joint.qd is not None:
            part.qd = worlds.numbers(lambda s, n=part.name: s.joints[n].qd, (part.n_qd,))
    _by_pattern(worlds, parts, "joint_q")
    _by_pattern(worlds, parts, "joint_qd")
    for part in parts:
        _normalise(worlds, part)


def _free_velocity(worlds: Worlds, part: JointPart, child: str) -> None:
    """Velocity of a free body, turned into the anchor frame of its joint."""
    if worlds.first.bodies[child].velocity is None or not part.is_tree:
        return
    if part.entry.coordinates != "pose" or part.parent != WORLD:
        message = f"`velocity` of body `{child}`, which joint `{part.name}` holds"
        hint = f"write qd in joints.{part.name}"
        worlds.fault("SC459", f"bodies.{child}.velocity", message, hint)
        return
    velocity = worlds.numbers(
        lambda s: (*s.bodies[child].velocity.linear, *s.bodies[child].velocity.angular), (6,)
    )  # fmt: skip
    back = rot.quat_inverse(part.X_p[..., 3:])
    halves = [rot.quat_rotate(back, velocity[:, 3 * i : 3 * i + 3]) for i in range(2)]
    part.qd = np.concatenate(halves, axis=1)


def matches(name: str, pattern: str) -> bool:
    """True if a pattern fits a name or its last component.

    Args:
        name: as `left/elbow`.
        pattern: with the wildcards of file names.
    """
    return fnmatchcase(name, pattern) or fnmatchcase(name.rpartition("/")[2], pattern)


def _by_pattern(worlds: Worlds, parts: list[JointPart], key: str) -> None:
    get: Callable = lambda s: getattr(s.initial, key)  # noqa: E731
    target, count = ("q", "n_q") if key == "joint_q" else ("qd", "n_qd")
    worlds.common(lambda s: [(k, v if isinstance(v, str) else len(v)) for k, v in get(s).items()], f"initial.{key}")
    for pattern, value in get(worlds.first).items():
        path = f"initial.{key}.{pattern}"
        chosen = [part for part in parts if matches(part.name, pattern)]
        if not chosen:
            worlds.fault("SC454", path, f"`{pattern}` fits no joint", "see `simcli show` for the names of the joints")
        for part in chosen:
            n = getattr(part, count)
            if value == "center":
                _centre(worlds, part, path)
            elif len(value) != n:
                message = f"`{pattern}` has {len(value)} numbers, but {key} of joint `{part.name}` has {n}"
                worlds.fault("SC463", path, message, f"write {n} numbers")
            else:
                setattr(part, target, worlds.numbers(lambda s, p=pattern: get(s)[p], (n,)))


def _centre(worlds: Worlds, part: JointPart, path: str) -> None:
    names = ("limit_lower", "limit_upper")
    bounds = [part.dof.get(name, np.full((1, part.n_qd), DOF_DEFAULTS[name])) for name in names]
    if not all(np.isfinite(b).all() for b in bounds) or part.n_q != part.n_qd:
        message = f"joint `{part.name}` has no middle: it lacks a lower or an upper limit"
        worlds.fault("SC458", path, message, "give it both limits, or write a number")
        return
    part.q = 0.5 * (bounds[0] + bounds[1])


def _normalise(worlds: Worlds, part: JointPart) -> None:
    """Make the quaternion in joint_q unit."""
    if part.entry.coordinates not in ("quaternion", "pose") or part.q is None:
        return
    quat: Array = part.q[:, -4:]
    if np.abs(quat).max(axis=1).min() == 0.0:
        message = f"the quaternion in q of joint `{part.name}` is zero"
        worlds.fault("SC422", f"joints.{part.name}.q", message, "the identity is [0, 0, 0, 1]")
        return
    length = np.sqrt((quat * quat).sum(axis=1, keepdims=True))
    near = np.abs(length - 1.0) <= NORMALISED
    part.q = np.concatenate((part.q[:, :-4], np.where(near, quat, quat / length)), axis=1)

