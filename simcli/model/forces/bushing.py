"""Springs and dampers of six axes between two frames: bushings, and cables, whose rest is the authored configuration.

What acts between two frames with six axes, a row each: cables, then bushings, in the links that carry their ends.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simcli import rotations as rot
from simcli.model.forces.ends import ends_at_start, of_type, read_ends, read_keys
from simcli.model.joints.joint_inputs import JointReader
from simcli.model.joints.links import stack_worlds
from simcli.model.joints.mechanism import JointInput
from simcli.model.joints.tree_kinematics import body_rotations, link_points, links_of
from simcli.model.tables.force_tables import Bushings, Cables
from simcli.model.tables.model import Array, JointKind, Model
from simcli.model.tables.worlds import Worlds, pose_of
from simcli.spec.lookup.scene_values import axis_of
from simcli.spec.schema.joint import JointSpec

_NUMBERS = ("stiffness", "damping", "angular_stiffness", "angular_damping", "preload", "angular_preload")


def read_bushings(worlds: Worlds, model: Model) -> Bushings:
    """Bushings.

    Args:
        worlds: the scenes.
        model: its bodies.

    Returns:
        The table. Relative poses at rest are NaN until the initial state is known: see `bushings_at_rest`.
    """
    names = of_type(worlds, "bushing")
    body, point = read_ends(worlds, model, names)
    axes = [pose_of(worlds, lambda s, n=name: s.forces[n].axes)[:, 3:] for name in names]
    return Bushings(
        name=tuple(names),
        body=body,
        point=point,
        axes=stack_worlds(axes, (4,)),
        rest=np.full((1, len(names), 7), np.nan),
        **read_keys(worlds, names, Bushings, _NUMBERS),
    )


def bushings_at_rest(model: Model) -> Model:
    """The model whose bushings rest in the relative poses of its initial state."""
    bushings = model.bushings
    if not np.isnan(bushings.rest).any():
        return model
    (R_a, R_b), (x_a, x_b) = ends_at_start(model, bushings.body, bushings.point)
    frame = rot.transpose(R_a @ rot.quat_to_matrix(bushings.axes))
    place, turn = rot.turn(frame, x_b - x_a), rot.matrix_to_quat(frame @ R_b)
    lead = np.broadcast_shapes(place.shape[:-1], turn.shape[:-1])
    rest = np.concatenate([np.broadcast_to(place, (*lead, 3)), np.broadcast_to(turn, (*lead, 4))], axis=-1)
    return replace(model, bushings=replace(bushings, rest=rest))


HALF_WAY, AT_END = 0.5, 1.0  # where forces act between the ends


class BushingRows(NamedTuple):
    """Columns as of `kernels.forces.bushings.Bushings`, (W|1, K, ...); links (K,)."""

    link_a: Array
    link_b: Array
    point_a: Array
    point_b: Array
    frame_a: Array
    frame_b: Array
    stiffness: Array
    damping: Array
    angular_stiffness: Array
    angular_damping: Array
    preload: Array
    angular_preload: Array
    place: Array


def bushing_rows(model: Model) -> BushingRows:
    """All rows of a model."""
    both = _of_cables(model), _of_bushings(model)
    return BushingRows(*(_after(*columns) for columns in zip(*both, strict=True)))


def _after(one: Array, other: Array) -> Array:
    """Columns of some rows, and those of others behind them."""
    if one.ndim == 1:
        return np.concatenate((one, other))
    lead = max(len(one), len(other))
    return np.concatenate([np.broadcast_to(part, (lead, *part.shape[1:])) for part in (one, other)], axis=1)


def _of_cables(model: Model) -> BushingRows:
    """A cable has one stiffness along all axes, and twists about the third one, its tangent."""
    cables, joints = model.cables, model.joints
    parent, child = joints.parent[cables.joint], joints.child[cables.joint]
    X_p, X_c = joints.X_p[:, cables.joint], joints.X_c[:, cables.joint]
    axes = rot.frame_along(cables.tangent)
    rest = rot.transpose(rot.quat_to_matrix(cables.rest[..., 3:]))
    frame_a = body_rotations(model.links, parent) @ rot.quat_to_matrix(X_p[..., 3:]) @ axes
    frame_b = body_rotations(model.links, child) @ rot.quat_to_matrix(X_c[..., 3:]) @ rest @ axes
    none = np.zeros((1, len(cables.name), 3))
    return BushingRows(
        links_of(model.links, parent),
        links_of(model.links, child),
        link_points(model.links, parent, X_p[..., :3]),
        link_points(model.links, child, X_c[..., :3]),
        frame_a,
        frame_b,
        np.repeat(cables.stretch[..., None], 3, axis=-1),
        np.repeat(cables.stretch_damping[..., None], 3, axis=-1),
        np.stack((cables.bend, cables.bend, cables.twist), axis=-1),
        np.stack((cables.bend_damping, cables.bend_damping, cables.twist_damping), axis=-1),
        none,
        none,
        np.full((1, len(cables.name)), HALF_WAY),
    )


def _of_bushings(model: Model) -> BushingRows:
    """The axes of a bushing are fixed in the body of its first end."""
    bushings = model.bushings
    a, b = bushings.body.T
    axes, rest = rot.quat_to_matrix(bushings.axes), rot.quat_to_matrix(bushings.rest[..., 3:])
    place = bushings.point[:, :, 0] + rot.turn(axes, bushings.rest[..., :3])
    frame_a, frame_b = body_rotations(model.links, a) @ axes, body_rotations(model.links, b) @ rot.transpose(rest)
    return BushingRows(
        links_of(model.links, a),
        links_of(model.links, b),
        link_points(model.links, a, place),
        link_points(model.links, b, bushings.point[:, :, 1]),
        frame_a,
        frame_b,
        bushings.stiffness,
        bushings.damping,
        bushings.angular_stiffness,
        bushings.angular_damping,
        bushings.preload,
        bushings.angular_preload,
        np.full((1, len(bushings.name)), AT_END),
    )


_STRETCH = 1e5  # [N/m] where bend or twist alone are written: Newton's default
DAMPINGS = ("stretch_damping", "bend_damping", "twist_damping")


def stiffnesses(joint: JointSpec) -> tuple[float, float, float]:
    """Stiffnesses of a cable.

        stretch = E A / L,   bend = E I / L,   twist = G J / L     of a circular section
        A = pi r^2,   I = pi r^4 / 4,   J = pi r^4 / 2,   G = E / (2 (1 + nu))

    Args:
        joint: of type cable, with stiffnesses or with youngs, poisson, radius and length.

    Returns:
        stretch [N/m], bend [N m/rad], twist [N m/rad].

    Source: the cable of the Newton engine; sections by Euler and Bernoulli. No deviation.
    """
    if joint.youngs is None:
        bend = joint.bend or 0.0
        return (_STRETCH if joint.stretch is None else joint.stretch), bend, (bend if joint.twist is None else joint.twist)
    area = math.pi * joint.radius**2
    second = 0.25 * math.pi * joint.radius**4
    shear = joint.youngs / (2.0 * (1.0 + joint.poisson))
    return joint.youngs * area / joint.length, joint.youngs * second / joint.length, shear * 2.0 * second / joint.length


def dampings(joint: JointSpec) -> tuple[float, float, float]:
    """Dampings of a cable: stretch [N s/m], bend [N m s/rad], twist [N m s/rad]; the last is `bend` if left out."""
    bend = joint.bend_damping or 0.0
    return joint.stretch_damping or 0.0, bend, (bend if joint.twist_damping is None else joint.twist_damping)


def read_cables(worlds: Worlds, parts: list[JointInput], reader: JointReader) -> Cables:
    """The cables of a scene, at rest in the authored configuration.

    Args:
        worlds: the scenes.
        parts: all joints, placed.
        reader: knows the poses of the bodies.

    Returns:
        The table.
    """
    chosen = [(j, part) for j, part in enumerate(parts) if part.kind == JointKind.CABLE]
    names = [part.name for _, part in chosen]
    elastic = _columns(worlds, names, stiffnesses)
    viscous = _columns(worlds, names, dampings)
    tangents = [worlds.numbers(lambda s, n=name: axis_of(s.world.plane, s.joints[n]), (3,)) for name in names]
    return Cables(
        name=tuple(names),
        joint=np.array([j for j, _ in chosen], np.int32),
        tangent=stack_worlds([rot.unit(tangent) for tangent in tangents], (3,)),
        rest=stack_worlds([reader.relative(part) for _, part in chosen], (7,)),
        **dict(zip(("stretch", "bend", "twist"), elastic, strict=True)),
        **dict(zip(DAMPINGS, viscous, strict=True)),
    )


def _columns(worlds: Worlds, names: list[str], law) -> list[Array]:
    values = [worlds.numbers(lambda s, n=name: law(s.joints[n]), (3,)) for name in names]
    return [stack_worlds([value[:, k] for value in values], ()) for k in range(3)]
