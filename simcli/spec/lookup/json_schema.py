"""JSON Schema (draft 7) of scene files, for editors: made from the schema classes, with the short spellings of the format.

What differs by its `type` (solvers, shapes, forces) is told apart by `if` and `then`, so that an editor offers the keys of
that type alone and a fault has the path of the key that is wrong. What `defaults` or an included file may give is asked
for only where there are none.
"""

import re
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from simcli.spec.base import dofs
from simcli.spec.base.old_keys import OLD_KEYS
from simcli.spec.lookup.keys import parts_at
from simcli.spec.schema.scene import AUTHORING, AUTHORING_WORDS, ENTRY_SECTIONS, SceneSpec
from simcli.spec.schema.sweep import SweepSpec
from simcli.spec.values.quantities import SIGNAL_PATTERN, list_json, number_json
from simcli.spec.values.spec_model import DESCRIBED
from simcli.spec.values.units import UNITS, dimension_of, unit_fits

DRAFT = "http://json-schema.org/draft-07/schema#"
_NULL = {"type": "null"}
_NAME = {"type": "string"}
# Classes that may also be written shorter.
_SHORT: dict[str, dict[str, Any]] = {
    "InertiaSpec": {"anyOf": [number_json("kg*m^2"), {"const": "point"}]},
    "NaturalSpec": _NAME,
    "LimitSpec": list_json({**number_json(), "type": ["number", "string", "null"]}, 2, 2),
    "AxisSpec": list_json(number_json(""), 3, 3),
    "EndSpec": {"type": "string", "pattern": "/"},
    "RopeStopSpec": {"type": "string", "pattern": "/"},
    "SideSpec": {"anyOf": [{"type": "string", "pattern": "/"}, list_json(number_json("m"), 3, 3)]},
    "SelectSpec": {"type": "array", "items": _NAME},
    "TableSpec": _NAME,
    "InitialSpec": _NAME,
    "UnsolvedSpec": {"enum": ["warn", "fail"]},
}
# Keys of a joint of which one entry may stand without its list.
_LISTED = {"limit": "LimitSpec", "drive": "DriveSpec", "motion": "JointMotionSpec"}
_EXPRESSION = r"\$\{"
_NUMBER = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_KINEMATIC = {"properties": {"kinematic": {"const": True}}, "required": ["kinematic"]}
_POSITIVE_MASS = {"if": {"not": _KINEMATIC}, "then": {"properties": {"mass": {"exclusiveMinimum": 0}}}}
_PRODUCT = r"[A-Za-z1µμ°%(][^$]*[*/^()·⋅²³ 0-9][^$]*"  # a unit made of others


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
    definitions = schema.pop("$defs", {})
    for key, kind in AUTHORING.items():
        made = TypeAdapter(kind).json_schema(schema_generator=_Generator, by_alias=True)
        definitions.update(made.pop("$defs", {}))
        if "properties" in made:
            definitions[kind.__name__] = made
            made = {"$ref": f"#/$defs/{kind.__name__}"}
        if key == "include":
            made = {"anyOf": [made, _NAME]}
        schema["properties"][key] = {**made, "description": AUTHORING_WORDS[key]}
    schema["properties"]["params"]["additionalProperties"] = number_json()
    required = {name: one.get("required", []) for name, one in definitions.items()}
    for name, one in definitions.items():
        if name in ("BodySpec", "JointSpec") or name.endswith("Shape"):
            one.pop("required", None)  # `defaults` may give them
    made = _Rewriting(required).all({**schema, "definitions": definitions})
    _shorten(made["definitions"])
    _unlist(made["definitions"])
    _nest(made)
    _take_old_keys(made["definitions"])
    made["definitions"]["JointSpec"]["allOf"] = [_only(key, types) for key, types in dofs.ONLY.items()]
    made["definitions"]["BodySpec"]["allOf"] = [_POSITIVE_MASS]
    made["allOf"] = list(_asked_for(required))
    return {"$schema": DRAFT, **made, "title": "simcli scene, version 1"}


def sweep_schema() -> dict[str, Any]:
    """The schema of sweep files; what they lay over scenes is judged with these."""
    schema = TypeAdapter(SweepSpec).json_schema(schema_generator=_Generator, by_alias=True)
    schema["properties"]["include"] = {
        "anyOf": [{"type": "array", "items": _NAME}, _NAME],
        "description": AUTHORING_WORDS["include"],
    }
    definitions = schema.pop("$defs")
    required = {name: one.get("required", []) for name, one in definitions.items()}
    made = _Rewriting(required).all({**schema, "definitions": definitions})
    _shorten(made["definitions"])
    return {"$schema": DRAFT, **made, "title": "simcli sweep, version 1"}


class _Rewriting:
    """pydantic's schema as draft 7, widened by what YAML and the expressions of a scene allow."""

    def __init__(self, required: dict[str, list[str]]):
        self.required = required
        self.may_be_null: set[str] = set()

    def all(self, schema: dict[str, Any]) -> dict[str, Any]:
        made = self.node(schema)
        for name in self.may_be_null:
            made["definitions"][name]["type"] = ["object", "null"]
        return made

    def node(self, node: Any) -> Any:
        """One part of the schema and all below it."""
        if isinstance(node, list):
            return [self.node(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "discriminator" in node:
            return self.by_type(node)
        made = {key: self.node(value) for key, value in node.items() if key not in ("default", "title")}
        if _NULL in made.get("anyOf", ()) and len(made["anyOf"]) == 2:
            made = self.or_null({key: value for key, value in made.items() if key != "anyOf"}, made["anyOf"][0])
        if made.get("type") in ("number", "integer"):
            made["type"], made["x-words"] = [made["type"], "string"], []
        if "pattern" not in made and ("x-words" in made or "x-unit" in made):
            _give_pattern(made)
        elif made.get("type") in ("object", "array") and "properties" not in made:
            made["type"] = [made["type"], "null"]
        return _with_reference(made)

    def or_null(self, outer: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
        """A part that may be empty, without `anyOf`, which would hide where a fault is."""
        reference = one.get("$ref") or next((entry["$ref"] for entry in one.get("allOf", ()) if "$ref" in entry), None)
        if reference:
            self.may_be_null.add(reference.rpartition("/")[2])
        elif isinstance(one.get("type"), list | str) and "anyOf" not in one:
            kinds = [one["type"]] if isinstance(one["type"], str) else one["type"]
            one = {
                **one,
                "type": [*dict.fromkeys([*kinds, "null"])],
                **({"enum": [*one["enum"], None]} if "enum" in one else {}),
            }
        else:
            return {**outer, "anyOf": [*one["anyOf"], _NULL] if "anyOf" in one else [one, _NULL]}
        return {**one, **outer}

    def by_type(self, node: dict[str, Any]) -> dict[str, Any]:
        """Parts that differ in their `type`."""
        parts = {tag: self.node({"$ref": ref}) for tag, ref in node["discriminator"]["mapping"].items()}
        branches = [{"if": _has_type([tag]), "then": part} for tag, part in parts.items()]
        made = {"type": "object", "properties": {"type": {"enum": list(parts)}}, "allOf": branches}
        if "description" in node:
            made["description"] = node["description"]
        if "generalized" in parts:
            branches.append({"if": {"not": {"required": ["type"]}}, "then": parts["generalized"]})
        elif not any(ref.endswith("Shape") for ref in node["discriminator"]["mapping"].values()):
            made["required"] = ["type"]
        return made


def _has_type(types: list[str]) -> dict[str, Any]:
    return {"properties": {"type": {"enum": types} if len(types) > 1 else {"const": types[0]}}, "required": ["type"]}


def _with_reference(node: dict[str, Any]) -> dict[str, Any]:
    """A reference beside other keys, which draft 7 would pass over."""
    if "$ref" not in node:
        return node
    reference = {"$ref": node.pop("$ref").replace("#/$defs/", "#/definitions/")}
    return {**node, "allOf": [reference]} if node else reference


def _give_pattern(node: dict[str, Any]) -> None:
    """The pattern of the texts that may stand for a number, in place."""
    words, signal = node.pop("x-words", []), node.pop("x-signal", False)
    texts = [_EXPRESSION, *(f"^{re.escape(word)}$" for word in words)]
    if signal:
        texts.append(SIGNAL_PATTERN)
    unit = node.get("x-unit")
    if unit is not None:
        wanted = [dimension_of("" if one == "1" else one) for one in unit.split(" or ")] if unit != "any" else []
        names = [name for name, (_, given) in UNITS.items() if not wanted or any(unit_fits(given, one) for one in wanted)]
        listed = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
        every = "|".join(map(re.escape, UNITS))
        texts.append(rf"^\s*{_NUMBER}\s*(?:{listed}|(?!(?:{every})\s*$){_PRODUCT})\s*$")
    node["pattern"] = "|".join(texts)


def _shorten(definitions: dict[str, Any]) -> None:
    """The short spellings of those classes that there are, in place."""
    for name, shorter in _SHORT.items():
        if name not in definitions:
            continue
        full = definitions.pop(name)
        kinds = ["object", "null"] if "null" in full["type"] else ["object"]
        full["type"] = "object"
        short = _Rewriting({}).node(shorter)
        other = {"anyOf": [short, _NULL]} if "null" in kinds else short
        definitions[name] = {
            "if": {"type": "object"},
            "then": full,
            "else": other,
            "description": full.get("description", ""),
        }


def _unlist(definitions: dict[str, Any]) -> None:
    """One entry of a joint's lists without the list, in place."""
    for key, name in _LISTED.items():
        field = definitions["JointSpec"]["properties"][key]
        one = {"$ref": f"#/definitions/{name}"}
        entries = {"type": "array", "items": {"if": {"type": "array"}, "then": one, "else": _entry(one, key)}}
        alone = {"anyOf": [entries, one]} if key == "limit" else entries
        shown = field.get("description", "")
        field.clear()
        field.update({"description": shown, "if": {"type": "object"}, "then": one, "else": {"anyOf": [alone, _NULL]}})


def _entry(one: dict[str, Any], key: str) -> dict[str, Any]:
    """An entry of the list of a key: a mapping or nothing, of a limit also a bound."""
    others = [_NULL, _Rewriting({}).node(number_json())] if key == "limit" else [_NULL]
    return {"if": {"type": "object"}, "then": one, "else": {"anyOf": others}}


def _nest(schema: dict[str, Any]) -> None:
    """Templates and defaults, which hold what the scene itself holds, in place."""
    definitions, properties = schema["definitions"], schema["properties"]
    inner = definitions["ModelSpec"]["properties"]
    for key in (*ENTRY_SECTIONS, "articulations", "instances", "replicate"):
        if key in inner:
            inner[key] = {**properties[key], "description": inner[key]["description"]}
    defaults = definitions["DefaultsSpec"]["properties"]
    for key, name in (("joint", "JointSpec"), ("body", "BodySpec")):
        reference = {"$ref": f"#/definitions/{name}"}
        own = {field: {"$ref": f"#/definitions/{name}/properties/{field}"} for field in definitions[name]["properties"]}
        some = {"if": _NULL, "else": reference}  # below a name or a pattern
        every = {"type": "object", "properties": own, "additionalProperties": some}
        defaults[key] = {"description": defaults[key]["description"], "if": _NULL, "else": every}


def _take_old_keys(definitions: dict[str, Any]) -> None:
    """Old names of keys beside their new ones, marked as such, in place."""
    for path, new in OLD_KEYS.items():
        *above, old = path.split(".")
        for part in parts_at(tuple(above)):
            known = definitions[part.__name__]["properties"] if part.__name__ in definitions else {}
            if new in known:
                known[old] = {**known[new], "description": f"The old name of `{new}`.", "deprecated": True}


def _only(key: str, types: frozenset[str]) -> dict[str, Any]:
    """No key of one type of joint in another."""
    condition = {"properties": {"type": {"not": {"enum": sorted(types)}}}, "required": ["type"]}
    return {"if": condition, "then": {"properties": {key: {"not": {}}}}}


def _asked_for(required: dict[str, list[str]]):
    """Keys that must be there unless `defaults` or an included file may give them: conditions on the whole scene."""
    for key in required["JointSpec"]:
        yield _unless_given("joint", key, {"joints": {"additionalProperties": {"required": [key]}}})
    massive = {"anyOf": [{"required": ["mass"]}, {"required": ["shapes"]}, _KINEMATIC]}
    formed = {"anyOf": [{"required": ["inertia"]}, {"required": ["shapes"]}, _KINEMATIC]}
    yield _unless_given("body", "", {"bodies": {"additionalProperties": {"allOf": [massive, formed]}}})
    shapes = {name: keys for name, keys in required.items() if name.endswith("Shape")}
    by_type = [
        {"if": _has_type([name.removesuffix("Shape").lower()]), "then": {"required": keys}} for name, keys in shapes.items()
    ]
    entry = {"additionalProperties": {"required": ["type"], "allOf": by_type}}
    bodies = {"additionalProperties": {"properties": {"shapes": entry}}}
    yield _unless_given("shape", "", {"bodies": bodies, "world": {"properties": {"shapes": entry}}})


def _unless_given(kind: str, key: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """A condition: what is wanted of the sections of a scene without includes and without a default."""
    default = {"properties": {kind: {"required": [key]}} if key else {}, "required": [kind]}
    given = {"properties": {"defaults": default}, "required": ["defaults"]}
    return {"if": {"not": {"anyOf": [{"required": ["include"]}, given]}}, "then": {"properties": wanted}}
