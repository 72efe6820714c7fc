"""Tables of the natural form of a model, and of what the affine solver reads besides."""

from dataclasses import dataclass

from simcli.model.tables.table_base import Array, Table


@dataclass(frozen=True)
class Columns(Table):
    """Natural coordinates of AFFINE links: the centre of mass p and vectors a_1.. along the principal axes of mass.

    Their coordinates are the 3 (1 + n_vectors) numbers p, a_1, .. in world axes, their velocities the rates of these.

    Attributes:
        n_vectors: (L,): 3 for a body, 1 for a bar and in a planar scene, 0 for a point or a link of another kind.
        weight: [kg, kg m^2], (W|1, NV), mass that each velocity moves, and a little where it has none; 0 of other dofs.
        excess: [kg m^2], (W|1, NV), that little.
        active: (NV,) bool, False for dofs that leave the plane of a planar scene.
        prescribed: (L,) joint that leads a kinematic body, else -1 (model/forms/natural_form.py).
    """

    n_vectors: Array
    weight: Array
    excess: Array
    active: Array
    prescribed: Array


@dataclass(frozen=True)
class Naturals(Table):
    """Points and vectors by which the natural solver shows the bodies, body by body (forms/natural_coordinates.py).

    Attributes:
        label: of every number of these coordinates, as `rod:2P.a.x`: body, kind, entity, axis.
        body: (E,) body of each point or vector.
        is_point: (E,) bool.
        place: [m], (W|1, E, 3), body frame.
    """

    label: tuple[str, ...]
    body: Array
    is_point: Array
    place: Array


@dataclass(frozen=True)
class Affine(Table):
    """What the affine solver reads too (run/affine_solver.py); stiffness is physical, [N/m], of directions and angles [N m].

    Attributes:
        shape_stiffness: [J], (W|1, B), times |A A^T - 1|^2, or times |A - R|^2.
        is_arap: (B,) bool, for the latter.
        is_quasi_static: (B,) bool, for bodies that keep no velocity from step to step.
        has_hold: (B,) bool, whether there is a soft hold.
        hold: [N/m, N m], (W|1, B, 2), of soft holds, times 1 and times the second moments over the mass.
        is_motor: (B,) bool, holds that move along.
        hold_pose: [m, 1], (W|1, B, 7), aim of the others, body frame.
        hold_rate: [m/s, rad/s], (W|1, B, 6), of motors: centre of mass, angular velocity, world.
        hold_shift: [m, rad], (W|1, B, 6), moves and turns the pose, world.
        hold_passive: (W|1, B), 1 where the aim is the last pose.
        joint_stiffness: (W|1, J), of the joint's rows.
        limit_stiffness: (W|1, NV), by which hard limits are found.
        limit_strength: [J], (W|1, NV), of cubic energies beyond the limits, 0 if there are none.
        driving_stiffness: (W|1, NV), 0 where there is no driving joint.
        driving_acts, driving_passive, driving_locked: (W|1, NV), 1 or 0.
        driving_aim: [m, rad], (W|1, NV), reported coordinate; 0 where a signal gives it.
        has_driving: (NV,) bool.
        one_turn: (NV,) bool, the driving joint's angle stays within half a turn of init.
        init: [m, rad], (W|1, NV), reported coordinate less the measured one.
    """

    shape_stiffness: Array
    is_arap: Array
    is_quasi_static: Array
    has_hold: Array
    hold: Array
    is_motor: Array
    hold_pose: Array
    hold_rate: Array
    hold_shift: Array
    hold_passive: Array
    joint_stiffness: Array
    limit_stiffness: Array
    limit_strength: Array
    driving_stiffness: Array
    driving_acts: Array
    driving_passive: Array
    driving_locked: Array
    driving_aim: Array
    has_driving: Array
    one_turn: Array
    init: Array
