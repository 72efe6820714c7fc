"""Schema of barrier contact, which the affine solver has."""

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from simcli.spec.values.quantities import count, doc, number_json, quantity
from simcli.spec.values.spec_model import SpecModel


class BarrierSpec(SpecModel):
    """Barrier contact: an energy of the gap that keeps surfaces apart."""

    d_hat: quantity("m", gt=0) = doc(1e-3, "Gap at which the barrier begins; bodies at rest hover below it", "m", 0.01)
    stiffness: Annotated[
        quantity("N/m^3", gt=0) | None,
        BeforeValidator(lambda value: None if value == "auto" else value),
        WithJsonSchema(number_json("N/m^3", words=("auto",), gt=0)),
    ] = doc(None, "kappa of -kappa (g^2 - d_hat^2)^2 ln(g^2 / d_hat^2), the energy of a pair of features at the gap g; "
            "auto: 1 kN / d_hat^3, so that forces of kilonewtons leave a tenth of d_hat", "N/m^3", 1e9)  # fmt: skip
    creep_speed: quantity("m/s", gt=0) = doc(
        0.01, "Times dt: the sliding distance at which friction is full; contacts that it holds do not creep", "m/s", 1e-3
    )
    segments: count(ge=3) = doc(16, "Corners of the polygons that stand for circles of cylinders, cones, ellipsoids", "", 32)
