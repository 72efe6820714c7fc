"""Base of all schema classes, and their choice by `type`: validators are made when a scene needs them, not before."""

from collections.abc import Callable
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticKnownError, core_schema


class SpecModel(BaseModel):
    """Base of every schema class: frozen, no unknown keys, no infinities; its validator is made at its first value.

    pydantic writes the schemas of nested classes into those of their owners, once per place, and so makes the whole
    format's validators, several times over, before it reads the first scene: a third of the time of a check. Here the
    schema of an owner only calls the nested class, which makes its own validator once, if a scene ever needs it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    @classmethod
    def model_rebuild(cls, **options: Any) -> bool | None:
        """Make the validator of the class; called by pydantic at the first value."""
        _in_making.add(cls)
        depth = options.pop("_parent_namespace_depth", 2) + 1  # this function is one frame more
        try:
            return super().model_rebuild(_parent_namespace_depth=depth, **options)
        finally:
            _in_making.discard(cls)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        """The class's own schema while its validator is made, else a call of the class."""
        if cls in _in_making:
            _in_making.remove(cls)  # below itself the class is nested
            return handler(source)
        return called(cls.model_validate, lambda: _own_schema(cls))


_in_making: set[type[SpecModel]] = set()
DESCRIBED = "simcli_described"  # in the metadata of a schema that is a call


def _own_schema(part: type[SpecModel]) -> core_schema.CoreSchema:
    part.model_rebuild()
    return part.__pydantic_core_schema__


def called(validate: Callable[[Any], Any], described: Callable[[], Any]) -> core_schema.CoreSchema:
    """A schema that is nothing but a call.

    Args:
        validate: from what is written to the value; pydantic adds the place to its errors.
        described: makes the schema in full, for `schema_json`.
    """
    return core_schema.no_info_plain_validator_function(validate, metadata={DESCRIBED: described})


class ByType:
    """Annotation of a union of parts that differ in their `type`: the part is looked up, the others are never made."""

    def __init__(self, *parts: type[SpecModel]):
        self.parts = {tag: part for part in parts for tag in get_args(part.model_fields["type"].annotation)}

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """A call of `validate`."""
        return called(self.validate, self._described)

    def validate(self, value: Any) -> SpecModel:
        """The value as the part that its `type` names; pydantic's own errors of a tagged union."""
        if isinstance(value, tuple(self.parts.values())):
            return value
        if not isinstance(value, dict):
            raise PydanticKnownError("model_attributes_type")
        if "type" not in value:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "'type'"})
        tag = value["type"]
        if not isinstance(tag, str) or tag not in self.parts:
            expected = ", ".join(f"'{name}'" for name in self.parts)
            context = {"discriminator": "'type'", "tag": str(tag), "expected_tags": expected}
            raise PydanticKnownError("union_tag_invalid", context)
        return self.parts[tag].model_validate(value)

    def _described(self) -> core_schema.CoreSchema:
        choices = {tag: _own_schema(part) for tag, part in self.parts.items()}
        return core_schema.tagged_union_schema(choices, "type")
