"""JSON Schema of scene files, for editors: made from the schema classes, widened by the short spellings of the format."""

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from simcli.spec.quantities import DESCRIBED
from simcli.spec.schema import AUTHORING, AUTHORING_WORDS, SceneSpec

_NUMBER_OR_TEXT = ("number", "integer", "boolean")
# Classes that may also be written shorter.
_SHORT: dict[str, list[dict[str, Any]]] = {
    "InertiaSpec": [{"type": "number"}, {"type": "string"}],
    "NaturalSpec": [{"type": "string"}],
    "LimitSpec": [{"type": "array", "minItems": 2, "maxItems": 2}],
    "AxisSpec": [{"type": "array", "minItems": 3, "maxItems": 3}],
    "EndSpec": [{"type": "string"}],
    "SelectSpec": [{"type": "array", "items": {"type": "string"}}],
}
_LISTED = ("limit", "drive")  # keys of a joint: one entry may stand without its list


class _Generator(GenerateJsonSchema):
    def generate_inner(self, schema: Any) -> dict[str, Any]:
        """Classes whose validator is made at their first value: in full, now."""
        described = schema.get("metadata", {}).get(DESCRIBED)
        return super().generate_inner(described() if described else schema)

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Not where the class brings its own title."""
        return DESCRIBED not in schema.get("metadata", {}) and super().field_title_should_be_set(schema)

    def tuple_schema(self, schema: Any) -> dict[str, Any]:
        """Lists of fixed length as plain `items`, which older editors understand."""
        made = super().tuple_schema(schema)
        entries = made.pop("prefixItems", None)
        if entries:
            made["items"] = entries[0] if all(entry == entries[0] for entry in entries) else {"anyOf": entries}
        return made


def scene_schema() -> dict[str, Any]:
    """The schema, with a description on every key."""
    schema = TypeAdapter(SceneSpec).json_schema(schema_generator=_Generator, by_alias=True)
    definitions = schema.setdefault("$defs", {})
    for key, kind in AUTHORING.items():
        made = TypeAdapter(kind).json_schema(schema_generator=_Generator, by_alias=True)
        definitions.update(made.pop("$defs", {}))
        if "properties" in made:
            definitions[kind.__name__] = made
            made = {"$ref": f"#/$defs/{kind.__name__}"}
        if key == "include":
            made = {"anyOf": [made, {"type": "string"}]}
        schema["properties"][key] = {**made, "description": AUTHORING_WORDS[key]}
    widened = _widen(schema)
    for name, shorter in _SHORT.items():
        full = widened["$defs"].pop(name)
        widened["$defs"][name] = {"anyOf": [full, *shorter], "description": full.get("description", "")}
    for key in _LISTED:
        field = widened["$defs"]["JointSpec"]["properties"][key]
        one = {"$ref": f"#/$defs/{key.capitalize()}Spec"}
        several = {"type": "array", "items": {"anyOf": [one, {"type": "number"}, {"type": "string"}, {"type": "null"}]}}
        field["anyOf"] = [one, several, {"type": "null"}]
    _loosen(widened["$defs"])
    widened["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    widened["title"] = "simcli scene, version 1"
    return widened


def _loosen(definitions: dict[str, Any]) -> None:
    """`type` may come from the defaults of the format; a solver without type is the generalized one."""
    for name in ("BodySpec", "JointSpec"):
        definitions[name].pop("required", None)  # `defaults` may give them


def _widen(node: Any) -> Any:
    """Numbers, counts and truths may be texts with units or `${...}`; empty keys are null."""
    if isinstance(node, list):
        return [_widen(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _widen(value) for key, value in node.items() if key not in ("discriminator", "default")}
    if "oneOf" in node:
        node["anyOf"] = node.pop("oneOf")
    if node.get("type") in _NUMBER_OR_TEXT:
        node["type"] = [node["type"], "string"]
    elif node.get("type") in ("object", "array") and "properties" not in node:
        node["type"] = [node["type"], "null", "string"]
    return node
