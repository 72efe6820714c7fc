"""Tables of contact: which shapes can touch, and with which numbers."""

from dataclasses import dataclass

from simcli.model.table_base import Array, Table


@dataclass(frozen=True)
class Contacts(Table):
    """Pairs of shapes that can touch. The normal of a contact points from shape a to shape b.

    Attributes:
        shape_a: (P,) index into Shapes.
        shape_b: (P,).
        points: (P,) most contacts of the pair.
        friction: [1], (W|1, P), of sliding, along the grain.
        friction_across: [1], (W|1, P), of sliding across the grain; where there is none, as along it.
        grain_shape: (P,) index into Shapes of the one that has the grain, -1: friction is isotropic.
        grain: [1], (W|1, P, 3), its direction, in the body of that shape.
        friction_static: [1], (W|1, P), at rest.
        rolling_friction: [m], (W|1, P), torque per normal force.
        torsional_friction: [m], (W|1, P), torque per normal force.
        restitution: [1], (W|1, P).
        d_hat: [m], (W|1, P), where the barrier of affine bodies begins; NaN: where the solver says.
        barrier_stiffness: [N/m^3], (W|1, P), of it; NaN likewise.
        enabled: [1], (1, 1), 0 while `contact.enabled` is false: events switch it.
        capacity: most contacts of a world.
    """

    shape_a: Array
    shape_b: Array
    points: Array
    friction: Array
    friction_across: Array
    grain_shape: Array
    grain: Array
    friction_static: Array
    rolling_friction: Array
    torsional_friction: Array
    restitution: Array
    d_hat: Array
    barrier_stiffness: Array
    enabled: Array
    capacity: int

    @property
    def n_pairs(self) -> int:
        """Number of pairs, P."""
        return len(self.shape_a)
