"""Tables of the forces that act on bodies, a row each."""

from dataclasses import dataclass, field

import numpy as np

from simcli.model.tables.table_base import Array, Table


@dataclass(frozen=True)
class Springs(Table):
    """Spring-dampers between two points, straight or over pulleys (model.forces.spring.segments_of: their parts).

    Attributes:
        name: (K,).
        body: (K, 2) bodies of the ends, WORLD allowed.
        point: [m], (W|1, K, 2, 3), in those bodies.
        stiffness: [N/m], (W|1, K).
        damping: [N s/m], (W|1, K).
        rest_length: [m], (W|1, K).
        slack: (K,) bool, True: no force when shorter than the rest length.
        pulley_spring: (Z,) spring that runs over each pulley, one spring after the other, from its first end on.
        pulley_body: (Z,) bodies of the pulleys, WORLD allowed.
        pulley_point: [m], (W|1, Z, 3), in those bodies.
    """

    name: tuple[str, ...]
    body: Array
    point: Array
    stiffness: Array
    damping: Array
    rest_length: Array
    slack: Array
    pulley_spring: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    pulley_body: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    pulley_point: Array = field(default_factory=lambda: np.zeros((1, 0, 3)))


@dataclass(frozen=True)
class Bushings(Table):
    """Springs and dampers of six axes between two frames (kernels.forces.bushings states the law).

    Attributes:
        name: (U,).
        body: (U, 2) bodies of the ends, WORLD allowed.
        point: [m], (W|1, U, 2, 3), in those bodies.
        axes: [1], (W|1, U, 4), quaternion of its axes in the first body.
        stiffness: [N/m], damping: [N s/m], (W|1, U, 3), along the axes.
        angular_stiffness: [N m/rad], angular_damping: [N m s/rad], (W|1, U, 3), about them.
        preload: [N], angular_preload: [N m], (W|1, U, 3), on the second body at rest, along and about the axes.
        rest: [m, 1], (W|1, U, 7), place of the second end and orientation of its body, in the first end and its axes.
    """

    name: tuple[str, ...]
    body: Array
    point: Array
    axes: Array
    stiffness: Array
    damping: Array
    angular_stiffness: Array
    angular_damping: Array
    preload: Array
    angular_preload: Array
    rest: Array


def no_bushings() -> Bushings:
    """A table without bushings."""
    return Bushings(
        (),
        np.zeros((0, 2), np.int32),
        np.zeros((1, 0, 2, 3)),
        np.zeros((1, 0, 4)),
        *(np.zeros((1, 0, 3)) for _ in range(6)),
        np.zeros((1, 0, 7)),
    )


@dataclass(frozen=True)
class Cables(Table):
    """Elastic links between the anchors of joints of type cable (kernels.cables states the law).

    Attributes:
        name: (C,) of the joints.
        joint: (C,) joint index.
        tangent: [1], (W|1, C, 3), unit, parent anchor frame; the twist is about it.
        rest: [m, 1], (W|1, C, 7), pose of the child anchor in the parent anchor at the authored configuration: there it is
            neither bent nor twisted; its stretch is 0 where the anchors coincide.
        stretch: [N/m], (W|1, C), of the distance of the anchors; bend, twist: [N m/rad], (W|1, C).
        stretch_damping: [N s/m], (W|1, C); bend_damping, twist_damping: [N m s/rad], (W|1, C).
    """

    name: tuple[str, ...]
    joint: Array
    tangent: Array
    rest: Array
    stretch: Array
    bend: Array
    twist: Array
    stretch_damping: Array
    bend_damping: Array
    twist_damping: Array


@dataclass(frozen=True)
class Wrenches(Table):
    """Wrenches on bodies. Components that signals drive are 0 here.

    Attributes:
        name: (K,).
        body: (K,).
        point: [m], (W|1, K, 3), of application, body frame.
        force: [N], (W|1, K, 3), in the frame that `follows` says.
        torque: [N m], (W|1, K, 3), likewise.
        follows: (K,) bool, True: force and torque turn with the body; False: world axes.
    """

    name: tuple[str, ...]
    body: Array
    point: Array
    force: Array
    torque: Array
    follows: Array


@dataclass(frozen=True)
class Drags(Table):
    """Drag on points of bodies, and on their turning (kernels.forces.springs states the law).

    Attributes:
        name: (K,).
        body: (K,).
        point: [m], (W|1, K, 3), body frame.
        damping: [N s/m], quadratic: [N s^2/m^2], (W|1, K), of the point.
        angular_damping: [N m s/rad], angular_quadratic: [N m s^2/rad^2], (W|1, K), of the turning.
        wind: [m/s], (W|1, K, 3), of the medium, world.
    """

    name: tuple[str, ...]
    body: Array
    point: Array
    damping: Array
    quadratic: Array
    angular_damping: Array
    angular_quadratic: Array
    wind: Array


def no_drags() -> Drags:
    """A table without drags."""
    return Drags((), np.zeros(0, np.int32), np.zeros((1, 0, 3)), *(np.zeros((1, 0)) for _ in range(4)), np.zeros((1, 0, 3)))
