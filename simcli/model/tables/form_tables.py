"""Tables of the natural form of a model, and of what the affine solver reads besides."""

from dataclasses import dataclass

from simcli.model.tables.table_base import FOUND_AGAIN, IN_SCENE, Array, Changes, Table, per


@dataclass(frozen=True)
class Columns(Table, left_out=FOUND_AGAIN):
    """Natural coordinates of AFFINE links: the centre of mass p and vectors a_1.. along the principal axes of mass.

    Their coordinates are the 3 (1 + n_vectors) numbers p, a_1, .. in world axes, their velocities the rates of these.

    Attributes:
        n_vectors: 3 for a body, 1 for a bar and in a planar scene, 0 for a point or a link of another kind.
        weight: mass that each velocity moves, and a little where it has none; 0 of other dofs.
        excess: that little.
        active: False for dofs that leave the plane of a planar scene.
        prescribed: joint that leads a kinematic body, else -1 (model/forms/natural_form.py).
    """

    n_vectors: Array = per("L")
    weight: Array = per("W|1 NV", "kg, kg m^2")
    excess: Array = per("W|1 NV", "kg m^2")
    active: Array = per("NV", kind=bool)
    prescribed: Array = per("L")


@dataclass(frozen=True)
class Naturals(Table, left_out=FOUND_AGAIN):
    """Points and vectors by which the natural solver shows the bodies, body by body (forms/natural_coordinates.py).

    Attributes:
        label: of every number of these coordinates, as `rod:2P.a.x`: body, kind, entity, axis.
        body: body of each point or vector.
        place: body frame.
    """

    label: tuple[str, ...]
    body: Array = per("E")
    is_point: Array = per("E", kind=bool)
    place: Array = per("W|1 E xyz", "m")


@dataclass(frozen=True)
class Affine(Table, left_out=IN_SCENE):
    """What the affine solver reads too (run/affine_solver.py); stiffness is physical, [N/m], of directions and angles [N m].

    Attributes:
        shape_stiffness: times |A A^T - 1|^2, or times |A - R|^2.
        is_arap: for the latter.
        is_quasi_static: for bodies that keep no velocity from step to step.
        has_hold: whether there is a soft hold.
        hold: of soft holds, times 1 and times the second moments over the mass.
        is_motor: holds that move along.
        hold_pose: aim of the others, body frame.
        hold_rate: of motors: centre of mass, angular velocity, world.
        hold_shift: moves and turns the pose, world.
        hold_passive: 1 where the aim is the last pose.
        joint_stiffness: of the joint's rows.
        limit_stiffness: by which hard limits are found.
        limit_strength: of cubic energies beyond the limits, 0 if there are none.
        driving_stiffness: 0 where there is no driving joint.
        driving_acts, driving_passive, driving_locked: (W|1, NV), 1 or 0.
        driving_aim: reported coordinate; 0 where a signal gives it.
        one_turn: the driving joint's angle stays within half a turn of init.
        init: reported coordinate less the measured one.
    """

    shape_stiffness: Array = per("W|1 B", "J")
    is_arap: Array = per("B", kind=bool)
    is_quasi_static: Array = per("B", kind=bool)
    has_hold: Array = per("B", kind=bool)
    hold: Array = per("W|1 B 2", "N/m, N m", changes=Changes.VALUES)
    is_motor: Array = per("B", kind=bool)
    hold_pose: Array = per("W|1 B pose", "m, 1", changes=Changes.VALUES)
    hold_rate: Array = per("W|1 B twist", "m/s, rad/s", changes=Changes.VALUES)
    hold_shift: Array = per("W|1 B twist", "m, rad", changes=Changes.VALUES)
    hold_passive: Array = per("W|1 B", changes=Changes.VALUES)
    joint_stiffness: Array = per("W|1 J", changes=Changes.VALUES)
    limit_stiffness: Array = per("W|1 NV", changes=Changes.VALUES)
    limit_strength: Array = per("W|1 NV", "J", changes=Changes.VALUES)
    driving_stiffness: Array = per("W|1 NV", changes=Changes.VALUES)
    driving_acts: Array = per("W|1 NV", changes=Changes.VALUES)
    driving_passive: Array = per("W|1 NV", changes=Changes.VALUES)
    driving_locked: Array = per("W|1 NV", changes=Changes.VALUES)
    driving_aim: Array = per("W|1 NV", "m, rad", changes=Changes.VALUES)
    has_driving: Array = per("NV", kind=bool)
    one_turn: Array = per("NV", kind=bool)
    init: Array = per("W|1 NV", "m, rad")
