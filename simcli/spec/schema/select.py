"""Schema of a selection of bodies and joints."""

from typing import Any

from pydantic import model_validator

from simcli.spec.schema.joint import JointType
from simcli.spec.values.quantities import Text, doc, refuse, spell
from simcli.spec.values.spec_model import SpecModel


class SelectSpec(SpecModel):
    """Bodies and joints by name or pattern: a list of patterns, or what to keep and what to leave out.

    A pattern fits a body, a joint, or a listed articulation, which stands for all of its joints and bodies. Kept are
    `include` and the joints of `types`, or everything if neither is written; then `exclude` and `exclude_types` go.
    """

    include: tuple[Text, ...] | None = doc(None, "Names or patterns that are kept", "", "[arm*]")
    exclude: tuple[Text, ...] = doc((), "Names or patterns that are left out", "", "[gripper*]")
    types: tuple[JointType, ...] | None = doc(None, "Types of joints that are kept", "", "[revolute]")
    exclude_types: tuple[JointType, ...] = doc((), "Types of joints that are left out", "", "[fixed]")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return {"include": value}
        if not isinstance(value, dict | cls):
            hint = 'write a list of patterns as ["arm*"], or {include: [..], exclude: [..]}'
            raise refuse("SC203", f"`select` must be a list or a mapping, not {spell(value)}", hint)
        return value
