"""Schema of contact: which shapes touch, overrides of pairs, what a solver does about it, and barrier contact."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from simcli.spec.schema.body import refuse_less_at_rest
from simcli.spec.values.quantities import (
    REQUIRED,
    Text,
    Truth,
    count,
    doc,
    drivable,
    is_signal,
    number_json,
    quantity,
    refuse,
)
from simcli.spec.values.spec_model import SpecModel


class PairSpec(SpecModel):
    """Contact properties of one pair of shapes or bodies, instead of those of the materials."""

    a: Text = doc(REQUIRED, "Body, or shape as `body/shape`", "", "ball")
    b: Text = doc(REQUIRED, "Body, or shape; shapes of the world by their name", "", "ground")
    friction: drivable("", ge=0) | None = doc(None, "Coefficient of friction; a number or `$signal`", "", 0.8)
    friction_across: quantity("", ge=0) | None = doc(
        None, "Coefficient of sliding friction across the `grain` of one of them; default: `friction`", "", 0.6
    )
    friction_static: quantity("", ge=0) | None = doc(None, "Coefficient of friction at rest; default: `friction`", "", 0.9)
    rolling_friction: quantity("m", ge=0) | None = doc(None, "Rolling friction: torque per normal force", "m", 1e-3)
    torsional_friction: quantity("m", ge=0) | None = doc(None, "Torsional friction: torque per normal force", "m", 1e-3)
    restitution: quantity("", ge=0, le=1) | None = doc(None, "Coefficient of restitution", "", 0)
    compliance: quantity("m/N", ge=0) | None = doc(
        None, "Overlap of a point of contact per normal force, 0 is rigid", "m/N", 1e-6
    )
    margin: quantity("m", ge=0) | None = doc(
        None, "How far apart the two touch; default: the sum of the margins of their shapes", "m", 1e-3
    )
    d_hat: quantity("m", gt=0) | None = doc(None, "Affine solver: gap at which the barrier begins", "m", 1e-3)
    barrier_stiffness: quantity("N/m^3", gt=0) | None = doc(None, "Affine solver: stiffness of the barrier", "N/m^3", 1e8)

    @model_validator(mode="after")
    def _ordered(self) -> "PairSpec":
        beside = next((key for key in ("friction_static", "friction_across") if getattr(self, key) is not None), None)
        if is_signal(self.friction) and beside:
            message = f"`{beside}` stands beside a `friction` that a signal drives"
            raise refuse(
                "SC360", message, f"remove `{beside}`: friction of signals is isotropic, and the same at rest", beside
            )
        if not is_signal(self.friction):
            refuse_less_at_rest(self.friction, self.friction_static)
        return self


def _auto(value: object) -> object:
    return None if value == "auto" else value


class ContactSpec(SpecModel):
    """Contact between shapes."""

    enabled: Truth = doc(True, "False: shapes only give mass", "", False)
    exclude: tuple[tuple[Text, Text], ...] = doc(
        (),
        "Pairs of bodies or shapes that never touch",
        "",
        "[[crank, slider]]",
        json_schema_extra={"items": {"type": "array"}},
    )
    pairs: tuple[PairSpec, ...] = doc(
        (),
        "Overrides for pairs, later ones win; two bodies that a joint connects touch only if they stand here",
        "",
        "[{a: ball, b: ground, friction: 0.8}]",
    )
    capacity: Annotated[
        count(gt=0) | None,
        BeforeValidator(_auto),
        WithJsonSchema({"type": ["integer", "string"], "x-words": ["auto"], "exclusiveMinimum": 0}),
    ] = doc(None, "Most contacts of a world; auto: what its pairs can have, in large scenes 64 and 16 per shape", "", "auto")


class ContactSolvingSpec(SpecModel):
    """How a solver finds contacts and their impulses."""

    margin: Annotated[
        quantity("m", ge=0) | None,
        BeforeValidator(_auto),
        WithJsonSchema(number_json("m", words=("auto",), ge=0)),
    ] = doc(None, "Gap below which two shapes are watched; auto: what their speeds can close in two steps", "m", 0.01)
    restitution_threshold: quantity("m/s", ge=0) = doc(
        0.0, "Slower impacts do not rebound; nor do those below 2 dt times gravity", "m/s", 0.01
    )
    depenetration: quantity("", ge=0, le=1) = doc(
        0.2, "Share of an overlap that is removed in a step; 0 adds no energy, and leaves overlaps as they are", "", 0.1
    )
    max_depenetration_velocity: quantity("m/s", gt=0) = doc(1.0, "Fastest removal of an overlap", "m/s", 0.5)
    tolerance: quantity("m/s", gt=0) = doc(
        1e-8,
        "Residual velocity at which a pass ends, a hundredth of what a step may have; single "
        "precision takes 1e-5 at least, up to 1e-4 where joints are constraint equations",
        "m/s",
        1e-10,
    )
    linear: Literal["auto", "dense", "sparse"] = doc(
        "auto",
        "Linear systems of a step: dense, of all velocities; sparse, of bodies that touch or are joined, in the "
        "maximal solver or without joints; auto: sparse for many bodies",
        "",
        "sparse",
    )
    sleep_after: quantity("s", gt=0) | None = doc(
        None,
        "Time at rest after which bodies that touch or are joined sleep: they stand still, at next to no cost, until "
        "something awake comes near; left out, no body sleeps",
        "s",
        0.5,
    )
    sleep_speed: quantity("m/s", gt=0) = doc(
        1e-4, "Speed below which a body is at rest: that of its kinetic energy, were it one for all of its mass", "m/s", 1e-3
    )
    passes: count(gt=0) = doc(
        5, "Most contact solutions of a step, each with the gaps at the poses that the last one gave", "", 8
    )


class BarrierSpec(SpecModel):
    """Barrier contact: an energy of the gap that keeps surfaces apart."""

    d_hat: quantity("m", gt=0) = doc(1e-3, "Gap at which the barrier begins; bodies at rest hover below it", "m", 0.01)
    stiffness: Annotated[
        quantity("N/m^3", gt=0) | None,
        BeforeValidator(lambda value: None if value == "auto" else value),
        WithJsonSchema(number_json("N/m^3", words=("auto",), gt=0)),
    ] = doc(
        None,
        "kappa of -kappa (g^2 - d_hat^2)^2 ln(g^2 / d_hat^2), the energy of a pair of features at the gap g; "
        "auto: 1 kN / d_hat^3, so that forces of kilonewtons leave a tenth of d_hat",
        "N/m^3",
        1e9,
    )
    creep_speed: quantity("m/s", gt=0) = doc(
        0.01, "Times dt: the sliding distance at which friction is full; contacts that it holds do not creep", "m/s", 1e-3
    )
    segments: count(ge=3) = doc(16, "Corners of the polygons that stand for circles of cylinders, cones, ellipsoids", "", 32)
