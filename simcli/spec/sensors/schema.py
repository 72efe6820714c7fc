"""Schema of sensors."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from simcli.spec.names.sensor_types import SENSOR_TYPES
from simcli.spec.values.quantities import REQUIRED, Part, Text, doc, refuse

_Type = Literal[tuple(SENSOR_TYPES)]
_WORDS = {"type": "string", "enum": list(SENSOR_TYPES)}


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


_Types = Annotated[tuple[_Type, ...], BeforeValidator(_listed),
                   WithJsonSchema({"anyOf": [_WORDS, {"type": "array", "items": _WORDS, "minItems": 1}]})]  # fmt: skip
_KEYS = ("at", "relative_to", "joint", "body")


class SensorSpec(Part):
    """What is measured in one place; `sensor.NAME.TYPE` is a quantity for each type."""

    type: _Types = doc(REQUIRED, "What it gives; several for several quantities", "", "[gyro, accelerometer]", min_length=1)
    at: Text | None = doc(None, "Frame as body/frame, point as body/point, or body; of force and torque the frame in which "
                          "they are given, default: the anchor of the child", "", "crank/imu")  # fmt: skip
    relative_to: Text | None = doc(None, "Frame, point or body from which it is seen; default: the world", "", "base/camera")
    joint: Text | None = doc(None, "Joint of encoder, tachometer, force and torque", "", "elbow")
    body: Text | None = doc(None, "First body of the subtree of com, com_velocity, momentum, angular_momentum", "", "torso")

    @model_validator(mode="after")
    def _fit(self) -> "SensorSpec":
        if len(set(self.type)) < len(self.type):
            raise refuse("SC207", "a type stands twice", "remove one", "type")
        for name in self.type:
            self._fits(name)
        for key in _KEYS:
            if getattr(self, key) is not None and not self._takes(key):
                raise refuse("SC207", f"`{key}` does not go with a sensor of type `{self.type[0]}`", "remove it", key)
        return self

    def _fits(self, name: str) -> None:
        """Refuse what a type lacks."""
        needed = SENSOR_TYPES[name].of
        if getattr(self, needed) is None:
            raise refuse("SC202", f"`{needed}` is missing, which a sensor of type `{name}` needs", f"write {needed}: ..")

    def _takes(self, key: str) -> bool:
        """Whether some type of the sensor reads a key."""
        types = [SENSOR_TYPES[name] for name in self.type]
        return any(key in (one.of, *one.takes) for one in types)
