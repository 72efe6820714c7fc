"""Tables of the forces that act on bodies, a row each."""

from dataclasses import dataclass
from enum import IntEnum, unique

from simcli.model.tables.table_base import IN_SCENE, Array, Changes, Table, per


@dataclass(frozen=True)
class Springs(Table, axis="K", entry="spring", is_original=True):
    """Spring-dampers between two points, straight or over pulleys (model.forces.spring.segments_of: their parts).

    Attributes:
        body: bodies of the ends, WORLD allowed.
        point: in those bodies.
        slack: True: no force when shorter than the rest length.
        law_spring: spring of each point of a line, tension over elongation; one spring after the other, rising.
        law_elongation, law_force: of that point, beside what the stiffness gives.
        damper_spring, damper_rate, damper_force: likewise, tension over the rate of the length.
        pulley_spring: spring that runs over each pulley, one spring after the other, from its first end on.
        pulley_body: bodies of the pulleys, WORLD allowed.
        pulley_point: in those bodies.
    """

    name: tuple[str, ...]
    body: Array = per("K end", refers="B")
    point: Array = per("W|1 K end xyz", "m", changes=Changes.VALUES)
    stiffness: Array = per("W|1 K", "N/m", changes=Changes.NUMBERS)
    damping: Array = per("W|1 K", "N s/m", changes=Changes.NUMBERS)
    rest_length: Array = per("W|1 K", "m", changes=Changes.NUMBERS)
    slack: Array = per("K", changes=Changes.NUMBERS, kind=bool)
    law_spring: Array = per("P", left_out=IN_SCENE, optional=True)
    law_elongation: Array = per("W|1 P", "m", left_out=IN_SCENE, optional=True)
    law_force: Array = per("W|1 P", "N", left_out=IN_SCENE, optional=True)
    damper_spring: Array = per("Q", left_out=IN_SCENE, optional=True)
    damper_rate: Array = per("W|1 Q", "m/s", left_out=IN_SCENE, optional=True)
    damper_force: Array = per("W|1 Q", "N", left_out=IN_SCENE, optional=True)
    pulley_spring: Array = per("Z", dataset="pulley_spring", optional=True)
    pulley_body: Array = per("Z", refers="B", dataset="pulley_body", optional=True)
    pulley_point: Array = per("W|1 Z xyz", "m", changes=Changes.VALUES, dataset="pulley_point", optional=True)


@dataclass(frozen=True)
class Ropes(Table, axis="O", entry="rope"):
    """Springs beyond those over points: around cylinders and spheres, paid out by coordinates, pulled, or muscles.

    Attributes:
        slack: True: no force when shorter than the rest length.
        tension: pull beside that of stiffness and damping; 0 where a signal drives it.
        stop_rope: rope of each stop on their ways, both ends included, one rope after the other from end a on.
        stop_body: bodies of the stops, WORLD allowed.
        stop_kind: StopKind.
        stop_point: in those bodies; of cylinders and spheres the centre.
        stop_radius: 0 of points.
        stop_axis: unit, in the bodies, of cylinders.
        stop_side: a point on the side on which the rope passes, in the bodies stop_side_body, WORLD allowed.
        stop_sided: whether there is one.
        stop_inside: whether the rope runs through it, as through a ring.
        stop_friction, stop_slip_speed: of the rope on it.
        paid_rope: rope of each coordinate that pays out; paid_dof: index into joint_qd.
        paid_factor: of the coordinate.
        law_rope, law_elongation, law_force, damper_rope, damper_rate, damper_force: tensions by tables, as of `Springs`.
        muscle_rope: rope of each muscle (kernels.forces.ropes states the law).
        muscle_activation: 0 where a signal drives it.
        muscle_force: largest active force at rest.
        muscle_length, muscle_range: shortest and longest length, and what these are in optimum lengths.
        muscle_curve: min_length, max_length, max_velocity, passive_force, lengthening_force of the scene.
    """

    name: tuple[str, ...]
    stiffness: Array = per("W|1 O", "N/m", changes=Changes.NUMBERS)
    damping: Array = per("W|1 O", "N s/m", changes=Changes.NUMBERS)
    rest_length: Array = per("W|1 O", "m", changes=Changes.NUMBERS)
    slack: Array = per("O", changes=Changes.NUMBERS, kind=bool)
    tension: Array = per("W|1 O", "N", changes=Changes.NUMBERS)
    stop_rope: Array = per("H")
    stop_body: Array = per("H", refers="B")
    stop_kind: Array = per("H")
    stop_point: Array = per("W|1 H xyz", "m", changes=Changes.VALUES)
    stop_radius: Array = per("W|1 H", "m")
    stop_axis: Array = per("W|1 H xyz")
    stop_side: Array = per("W|1 H xyz", "m")
    stop_side_body: Array = per("H", refers="B")
    stop_sided: Array = per("H", kind=bool)
    stop_inside: Array = per("H", kind=bool, is_later=True)
    stop_friction: Array = per("W|1 H")
    stop_slip_speed: Array = per("W|1 H", "m/s")
    paid_rope: Array = per("OD")
    paid_dof: Array = per("OD", refers="NV")
    paid_factor: Array = per("W|1 OD", "m, m/rad")
    law_rope: Array = per("OP", left_out=IN_SCENE, optional=True)
    law_elongation: Array = per("W|1 OP", "m", left_out=IN_SCENE, optional=True)
    law_force: Array = per("W|1 OP", "N", left_out=IN_SCENE, optional=True)
    damper_rope: Array = per("OQ", left_out=IN_SCENE, optional=True)
    damper_rate: Array = per("W|1 OQ", "m/s", left_out=IN_SCENE, optional=True)
    damper_force: Array = per("W|1 OQ", "N", left_out=IN_SCENE, optional=True)
    muscle_rope: Array = per("OM", left_out=IN_SCENE, optional=True)
    muscle_activation: Array = per("W|1 OM", changes=Changes.NUMBERS, left_out=IN_SCENE, optional=True)
    muscle_force: Array = per("W|1 OM", "N", changes=Changes.NUMBERS, left_out=IN_SCENE, optional=True)
    muscle_length: Array = per("W|1 OM bound", "m", left_out=IN_SCENE, optional=True)
    muscle_range: Array = per("W|1 OM bound", left_out=IN_SCENE, optional=True)
    muscle_curve: Array = per("W|1 OM 5", "1, 1, 1/s, 1, 1", left_out=IN_SCENE, optional=True)


@unique
class StopKind(IntEnum):
    """What a rope runs over, or around."""

    POINT = 0
    CYLINDER = 1
    SPHERE = 2


@dataclass(frozen=True)
class Bushings(Table, axis="U", entry="bushing"):
    """Springs and dampers of six axes between two frames (kernels.forces.bushings states the law).

    Attributes:
        body: bodies of the ends, WORLD allowed.
        point: in those bodies.
        axes: quaternion of its axes in the first body.
        stiffness, damping: along the axes.
        angular_stiffness, angular_damping: about them.
        preload, angular_preload: on the second body at rest, per and about the axes.
        rest: place of the second end and orientation of its body, in the first end and its axes.
    """

    name: tuple[str, ...]
    body: Array = per("U end", refers="B")
    point: Array = per("W|1 U end xyz", "m")
    axes: Array = per("W|1 U quat")
    stiffness: Array = per("W|1 U xyz", "N/m", changes=Changes.NUMBERS)
    damping: Array = per("W|1 U xyz", "N s/m", changes=Changes.NUMBERS)
    angular_stiffness: Array = per("W|1 U xyz", "N m/rad", changes=Changes.NUMBERS)
    angular_damping: Array = per("W|1 U xyz", "N m s/rad", changes=Changes.NUMBERS)
    preload: Array = per("W|1 U xyz", "N", changes=Changes.NUMBERS)
    angular_preload: Array = per("W|1 U xyz", "N m", changes=Changes.NUMBERS)
    rest: Array = per("W|1 U pose", "m, 1")


@dataclass(frozen=True)
class Cables(Table, axis="L", entry="cable"):
    """Elastic links between the anchors of joints of type cable (kernels.cables states the law).

    Attributes:
        name: of the joints.
        joint: joint index.
        tangent: unit, parent anchor frame; the twist is about it.
        rest: pose of the child anchor in the parent anchor at the authored configuration: there it is
            neither bent nor twisted; its stretch is 0 where the anchors coincide.
        stretch: of the distance of the anchors.
    """

    name: tuple[str, ...]
    joint: Array = per("L", refers="J")
    tangent: Array = per("W|1 L xyz")
    rest: Array = per("W|1 L pose", "m, 1")
    stretch: Array = per("W|1 L", "N/m", changes=Changes.NUMBERS)
    bend: Array = per("W|1 L", "N m/rad", changes=Changes.NUMBERS)
    twist: Array = per("W|1 L", "N m/rad", changes=Changes.NUMBERS)
    stretch_damping: Array = per("W|1 L", "N s/m", changes=Changes.NUMBERS)
    bend_damping: Array = per("W|1 L", "N m s/rad", changes=Changes.NUMBERS)
    twist_damping: Array = per("W|1 L", "N m s/rad", changes=Changes.NUMBERS)


@dataclass(frozen=True)
class Wrenches(Table, axis="A", entry="wrench", is_original=True):
    """Wrenches on bodies. Components that signals drive are 0 here.

    Attributes:
        point: of application, body frame.
        force: in the frame that `follows` says.
        torque: likewise.
        follows: True: force and torque turn with the body; False: world axes.
    """

    name: tuple[str, ...]
    body: Array = per("A", refers="B")
    point: Array = per("W|1 A xyz", "m", changes=Changes.VALUES)
    force: Array = per("W|1 A xyz", "N", changes=Changes.NUMBERS)
    torque: Array = per("W|1 A xyz", "N m", changes=Changes.NUMBERS)
    follows: Array = per("A", kind=bool)


@dataclass(frozen=True)
class Drags(Table, axis="X", entry="drag"):
    """Drag on points of bodies, and on their turning (kernels.forces.springs states the law).

    Attributes:
        point: body frame.
        damping, quadratic: of the point.
        angular_damping, angular_quadratic: of the turning.
        wind: of the medium, world.
    """

    name: tuple[str, ...]
    body: Array = per("X", refers="B")
    point: Array = per("W|1 X xyz", "m", changes=Changes.VALUES)
    damping: Array = per("W|1 X", "N s/m", changes=Changes.NUMBERS)
    quadratic: Array = per("W|1 X", "N s^2/m^2", changes=Changes.NUMBERS)
    angular_damping: Array = per("W|1 X", "N m s/rad", changes=Changes.NUMBERS)
    angular_quadratic: Array = per("W|1 X", "N m s^2/rad^2", changes=Changes.NUMBERS)
    wind: Array = per("W|1 X xyz", "m/s", changes=Changes.VALUES)
