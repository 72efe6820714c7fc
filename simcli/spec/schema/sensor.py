"""Schema of sensors."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from simcli.spec.base.sensor_types import BY_CONTACTS, SENSOR_TYPES
from simcli.spec.values.quantities import (
    REQUIRED,
    AtLeastZero,
    PositiveLength,
    PositiveTime,
    Text,
    Time,
    doc,
    one_of,
    quantity,
    refuse,
    vector,
)
from simcli.spec.values.spec_model import SpecModel

_Type = Literal[tuple(SENSOR_TYPES)]
_WORDS = {"type": "string", "enum": list(SENSOR_TYPES)}


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


_Types = Annotated[
    tuple[_Type, ...],
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [_WORDS, {"type": "array", "items": _WORDS, "minItems": 1}]}),
]
_KEYS = ("at", "relative_to", "joint", "body", "shape", "radius", "size", "reach")


_OfSensor = quantity(ge=0)  # texts with a unit are in SI already: the sensor as a whole tells the unit
_ByRoot = Annotated[_OfSensor, WithJsonSchema({"type": ["number", "string"], "minimum": 0})]


class NoiseSpec(SpecModel):
    """How what a sensor shows differs from what is there; numbers are in the unit of what it gives."""

    sigma: AtLeastZero = doc(0.0, "White noise: standard deviation of each sample", "of the sensor", 0.01)
    density: _ByRoot = doc(
        0.0, "White noise by its density: sigma is density / sqrt(time between samples)", "of the sensor/sqrt(Hz)", 1e-3
    )
    walk: _ByRoot = doc(0.0, "Bias that walks: standard deviation of its change in a second", "of the sensor/sqrt(s)", 1e-4)
    turn_on: AtLeastZero = doc(0.0, "Bias that stays: standard deviation over worlds and episodes", "of the sensor", 0.02)
    drift: AtLeastZero = doc(0.0, "Bias that wanders (Gauss-Markov): standard deviation", "of the sensor", 5e-3)
    drift_time: PositiveTime | None = doc(None, "Correlation time of `drift`", "s", 100)
    quantum: AtLeastZero = doc(0.0, "Step of the converter; values are rounded to multiples", "of the sensor", 1e-3)
    rate: quantity("cycle/s", gt=0) | None = doc(None, "Samples per second, held between; default: one per step", "Hz", 200)
    delay: Time = doc(0.0, "Age of what is shown, a whole multiple of dt", "s", 0.005)

    @property
    def is_random(self) -> bool:
        """Whether numbers are changed, not only late."""
        return bool(self.sigma or self.density or self.walk or self.turn_on or self.drift or self.quantum)

    @model_validator(mode="after")
    def _wanders(self) -> "NoiseSpec":
        if self.drift and self.drift_time is None:
            raise refuse("SC202", "`drift_time` is missing", "write the time after which 1/e of the bias is left")
        if self.drift_time is not None and "drift" not in self.model_fields_set:
            raise refuse("SC207", "`drift_time` goes with `drift`", "write `drift`, or remove it", "drift_time")
        return self


class SensorSpec(SpecModel):
    """What is measured in one place; `sensor.NAME.TYPE` is a quantity for each type."""

    type: _Types = doc(REQUIRED, "What it gives; several for several quantities", "", "[gyro, accelerometer]", min_length=1)
    at: Text | None = doc(
        None,
        "Frame as body/frame, point as body/point, or body; of force and torque the frame in which "
        "they are given, default: the anchor of the child",
        "",
        "crank/imu",
    )
    relative_to: Text | None = doc(None, "Frame, point or body from which it is seen; default: the world", "", "base/camera")
    joint: Text | None = doc(None, "Joint of encoder, tachometer, force and torque", "", "elbow")
    body: Text | None = doc(None, "First body of a subtree; body whose contacts are summed", "", "torso")
    shape: Text | None = doc(None, "Shape whose contacts are summed, as body/shape, or of the world", "", "foot/sole")
    radius: PositiveLength | None = doc(None, "touch: zone, a ball about the origin of the frame", "m", 0.02)
    reach: PositiveLength | None = doc(None, "range: beyond it nothing is seen; default: no end", "m", 5)
    noise: NoiseSpec | None = doc(None, "How what it shows differs from what is there", "", "{sigma: 0.01, rate: 200}")
    size: vector("m") | None = doc(None, "touch: zone, a box in axes of the frame, full lengths", "m", [0.1, 0.1, 0.02])

    @model_validator(mode="after")
    def _fit(self) -> "SensorSpec":
        one_of(self, ("radius", "size"), required=False)
        self._sounds()
        if self.size is not None and min(self.size) <= 0.0:
            raise refuse("SC231", f"a length of `size` is {min(self.size):g}", "it must be greater than 0", "size")
        if len(set(self.type)) < len(self.type):
            raise refuse("SC207", "a type is written twice", "remove one", "type")
        for name in self.type:
            self._fits(name)
        for key in _KEYS:
            if getattr(self, key) is not None and not self._takes(key):
                raise refuse("SC207", f"`{key}` does not go with a sensor of type `{self.type[0]}`", "remove it", key)
        return self

    def _sounds(self) -> None:
        """Refuse noise that has no meaning."""
        if self.noise is None or not self.noise.is_random:
            return
        if "orientation" in self.type:
            raise refuse("SC207", "a quaternion with noise is no rotation", "leave rate and delay, or take a gyro", "noise")
        if len({SENSOR_TYPES[name].unit for name in self.type}) > 1:
            message = "`noise` has one unit, and the types of this sensor have several"
            raise refuse("SC207", message, "write a sensor for each type", "noise")

    def _fits(self, name: str) -> None:
        """Refuse what a type lacks."""
        needed = SENSOR_TYPES[name].of
        if needed == BY_CONTACTS:
            one_of(self, ("shape", "body"))
        elif getattr(self, needed) is None:
            raise refuse("SC202", f"`{needed}` is missing, which a sensor of type `{name}` needs", f"write {needed}: ..")

    def _takes(self, key: str) -> bool:
        """Whether some type of the sensor reads a key."""
        types = [SENSOR_TYPES[name] for name in self.type]
        return any(key in (one.of, *one.takes) for one in types)
