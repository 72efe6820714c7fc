"""Schema of barrier contact, which the affine solver has."""

from simcli.spec.quantities import Part, count, quantity, say


class BarrierSpec(Part):
    """Barrier contact: an energy of the gap that keeps surfaces apart."""

    d_hat: quantity("m", gt=0) = say(1e-3, "Gap at which the barrier begins; bodies at rest hover below it", "m", 0.01)
    stiffness: quantity("N/m^3", gt=0) = say(
        1e9, "kappa of the barrier -kappa (g^2 - d_hat^2)^2 ln(g^2 / d_hat^2) of a pair of features", "N/m^3", 1e8
    )
    creep_speed: quantity("m/s", gt=0) = say(
        0.01, "Slip at which friction is full; what it holds creeps by less", "m/s", 1e-3
    )
    segments: count(ge=3) = say(16, "Corners of the polygons that stand for circles of cylinders, cones, ellipsoids", "", 32)
