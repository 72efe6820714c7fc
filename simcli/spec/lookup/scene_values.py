"""Values of a scene by their path."""

from collections.abc import Iterable

from simcli.spec.base import dofs
from simcli.spec.lookup.planes import default_axis
from simcli.spec.schema.body import BodySpec
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.pose import PlacedPoseSpec


def value_at(spec: object, steps: Iterable[str | int]) -> object:
    """The value that a scene holds at a path, defaults included; None if there is none."""
    value: object = spec
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list | tuple):
            if isinstance(step, str):
                value = getattr(value[0], step, None) if len(value) == 1 else None
            else:
                value = value[step] if step < len(value) else None
        else:
            fields = getattr(type(value), "model_fields", {})
            owner, value = value, getattr(value, str(step)) if step in fields else None
            value = _implied(owner, step) if value is None else value
    return value


def _implied(owner: object, step: str | int) -> object:
    """What a key that is not written means where that follows from the entry alone: zeros, identity; None elsewhere."""
    if isinstance(owner, BodySpec) and step == "com" and not owner.shapes:
        return (0.0, 0.0, 0.0)
    if isinstance(owner, BodySpec) and step == "pose":
        return PlacedPoseSpec()
    if isinstance(owner, JointSpec) and step == "axis" and owner.type in dofs.AXIS:
        return default_axis(None, owner.type)
    if isinstance(owner, JointSpec) and step in ("q", "qd"):
        kinds = owner.dof_kinds
        if step == "qd" or dofs.n_q(owner.type, len(kinds)) == len(kinds):  # a quaternion has no entry of its own
            return (0.0,) * len(kinds)
    return None
