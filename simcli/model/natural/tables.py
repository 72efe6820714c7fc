"""Natural coordinates as tables: those that a solver steps, and those by which bodies are shown."""

from dataclasses import dataclass

from simcli.model.table_base import Array, Table


@dataclass(frozen=True)
class Columns(Table):
    """Natural coordinates of AFFINE links: the centre of mass p and vectors a_1.. along the principal axes of mass.

    Their coordinates are the 3 (1 + n_vectors) numbers p, a_1, .. in world axes, their velocities the rates of these.

    Attributes:
        n_vectors: (L,): 3 for a body, 1 for a bar and in a planar scene, 0 for a point or a link of another kind.
        weight: [kg, kg m^2], (W|1, NV), mass that each velocity moves, and a little where it has none; 0 of other dofs.
        excess: [kg m^2], (W|1, NV), that little.
        active: (NV,) bool, False for dofs that leave the plane of a planar scene.
        prescribed: (L,) joint that leads a kinematic body, else -1 (model/natural/kinematic_bodies.py).
    """

    n_vectors: Array
    weight: Array
    excess: Array
    active: Array
    prescribed: Array


@dataclass(frozen=True)
class Naturals(Table):
    """Points and vectors by which the natural solver shows the bodies, body by body (natural/constructors.py).

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
