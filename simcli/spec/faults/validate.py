"""pydantic's errors to faults: code, words, and the place from the tree."""

from pydantic import ValidationError

from simcli.spec.base.fault_list import Faults, did_you_mean
from simcli.spec.base.nodes import Mark, Node, PathStep, TableNode, child, find, format_path, locate
from simcli.spec.faults import hints
from simcli.spec.faults.hints import key_meant, misplaced, tag_of, unknown_key
from simcli.spec.faults.mend import leave_mend
from simcli.spec.faults.synonyms import value_meant
from simcli.spec.lookup.keys import known_keys
from simcli.spec.values.quantities import spell
from simcli.spec.values.scopes import FailedParameter, where_of

_MISSING = ("missing", "union_tag_not_found")
_TYPES = {
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
    "float_type": "a number",
    "int_type": "a whole number",
    "string_type": "a text",
    "bool_type": "true or false",
    "dataclass_type": "a mapping",
}
_BOUNDS = {
    "greater_than": ("gt", "larger than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def report_errors(
    error: ValidationError,
    node: Node,
    prefix: tuple[PathStep, ...],
    faults: Faults,
    key_mark: Mark | None = None,
) -> None:
    """Turn every error of a validation into a fault.

    Args:
        error: of the data of `node`.
        node: the tree that was validated.
        prefix: its path.
        faults: collects.
        key_mark: place of the node's own key, for faults of the node as a whole.
    """
    seen, before = set(), len(faults.found)
    for one in error.errors(include_url=False):
        steps = tuple(real_steps(node, one["loc"]))
        # A union says what each of its members would have taken; the first says it for all.
        if steps in seen and one["type"] in _TYPES:
            continue
        # Entries that are refused do not count; what is wrong with them is told.
        if one["type"] == "too_short" and any(told[: len(steps)] == steps for told in seen):
            continue
        seen.add(steps)
        if _is_told(one["input"]):
            leave_mend(faults, "failed", node, prefix, steps, "")
        elif not _report_misplaced(steps, node, prefix, faults):
            slip = _misspelt(one, node, steps, prefix) if one["type"] in _MISSING else ""
            if not slip or one["type"] != "missing":  # the unknown key tells it
                _report_one(_unknown(one, slip) if slip else one, node, prefix, faults, key_mark)
    faults.of_schema.update(faults.found[before:])


def _is_told(value: object) -> bool:
    """Whether a value has been refused already, alone or in the list that a single value stands for."""
    return isinstance(value, FailedParameter) or (isinstance(value, tuple) and any(map(_is_told, value)))


def _report_misplaced(steps: tuple[PathStep, ...], node: Node, prefix: tuple[PathStep, ...], faults: Faults) -> bool:
    """Add the fault of a key of the format that stands where a name is expected; whether there is one on a path."""
    found = misplaced((*prefix, *steps), node, len(prefix)) if steps else None
    if found is None:
        return False
    path, beside = found
    inner = path[len(prefix) :]
    siblings = [name for name in getattr(find(node, inner[:-1]), "items", ()) if name != path[-1]]
    hint = f"align it with `{beside}`" if beside else f"indent it further, as a key of `{siblings[0]}`" if siblings else ""
    message = f"`{path[-1]}` is a key of the format, not the name of a {_SINGULAR.get(str(path[-2]), 'part')}"
    faults.add("SC204", message, locate(node, inner, on_key=True), hint)
    leave_mend(faults, "misplaced", node, prefix, inner, hint)
    return True


def _misspelt(one: dict, node: Node, steps: tuple[PathStep, ...], prefix: tuple[PathStep, ...]) -> str:
    """The unknown key that stands for a missing one, as its hint says; "" if there is none."""
    key = "type" if one["type"] == "union_tag_not_found" else str(one["loc"][-1])
    table = find(node, steps)
    known = known_keys((*prefix, *steps))
    given = [name for name in getattr(table, "items", ()) if name not in known] if isinstance(table, TableNode) else []
    return next((name for name in given[:20] if _names(unknown_key((*prefix, *steps), name), key)), "")


def _names(hint: str, key: str) -> bool:
    return (f"`{key}`" in hint.partition(" or ")[0] and "keys:" not in hint) or f"`{key}: " in hint


def _unknown(one: dict, key: str) -> dict:
    """The error of a missing `type` as that of the key that was meant for it."""
    return {**one, "type": "extra_forbidden", "loc": (*one["loc"], key)}


def _report_one(one: dict, node: Node, prefix: tuple[PathStep, ...], faults: Faults, key_mark: Mark | None) -> None:
    kind, context = one["type"], one.get("ctx", {})
    steps = real_steps(node, one["loc"])
    on_key = kind in ("extra_forbidden", "missing", "union_tag_not_found") or context.get("on_key", False)
    extra = [step for step in context.get("at", "").split(".") if step] if kind.startswith("SC") else []
    if kind == "union_tag_invalid":
        extra = ["type"]
    where = locate(node, [*steps, *extra], on_key)
    full = (*prefix, *steps)
    if not steps and (on_key or not extra) and kind != "extra_forbidden" and key_mark is not None:
        where = where_of(key_mark)
    path = format_path((*prefix, *steps, *extra))
    where = type(where)(where.file, where.line, where.column, where.length, path)
    code, message, hint = _words(one, full, str(one["loc"][-1]) if one["loc"] else "", None if prefix else node)
    faults.add(code, message, where, hint)
    leave_mend(faults, kind, node, prefix, (*steps, *extra), hint)


def real_steps(node: Node, loc: tuple) -> list[PathStep]:
    """The steps of a pydantic location that are in the tree; tags of unions and the like are passed over."""
    steps: list[PathStep] = []
    for step in loc:
        below = child(node, step)
        if below is not None:
            steps.append(step)
            node = below
    return steps


def _words(one: dict, path: tuple[PathStep, ...], key: str, root: Node | None) -> tuple[str, str, str]:
    """Code, message and hint of one error."""
    kind, context, value = one["type"], one.get("ctx", {}), one["input"]
    if kind.startswith("SC"):
        return kind, context["message"], context.get("hint", "")
    if kind == "extra_forbidden":
        return _unknown_key(path, key, root)
    if kind == "missing":
        hint = "begin with the line `simcli: 1`" if key == "simcli" and not path else hints.missing_key(path, key)
        return "SC202", f"`{key}` is missing in {owner(path)}", hint
    if kind == "union_tag_not_found":
        return "SC202", f"`type` is missing in {owner(path)}", hints.missing_key(path, "type")
    if kind in ("union_tag_invalid", "literal_error"):
        expected = context.get("expected_tags") or context.get("expected", "")
        names = [name.strip(" '") for name in expected.replace(" or ", ", ").split(",")]
        key = _key_of(path, kind)
        given = value.get(key) if isinstance(value, dict) else value
        if given is None:
            return "SC203", f"`{key}` has no value", did_you_mean("", names, "allowed")
        meant = value_meant(str(given), tuple(names))
        hint = f"did you mean `{meant}`?" if meant else did_you_mean(str(given), names, "allowed")
        return "SC206", f"{spell(given)} is not a value of `{key}`", hint
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return (
            "SC231",
            f"`{_key_of(path)}` is {spell(value)}, but must be {words} {context[name]:.15g}",
            f"write a value {words} {context[name]:.15g}",
        )
    if kind == "finite_number":
        return "SC106", f"`{_key_of(path)}` is not a finite number", "write a finite number"
    if kind in _TYPES:
        wanted = _TYPES[kind]
        if value is None:
            hint = f"write one, {hints.wrong_kind(wanted, value, path)}".rstrip(", ")
            return "SC203", f"`{_key_of(path)}` has no value", hint
        return "SC203", f"`{_key_of(path)}` must be {wanted}, not {spell(value)}", hints.wrong_kind(wanted, value, path)
    if kind in ("too_short", "too_long", "string_too_short"):
        bound = context.get("min_length", context.get("max_length"))
        hint = f"at {'least' if 'short' in kind else 'most'} {bound}"
        return "SC205", f"`{_key_of(path)}` has too {'few' if 'short' in kind else 'many'} entries", hint
    return "SC203", f"`{_key_of(path)}`: {one['msg'][0].lower()}{one['msg'][1:]}", ""


def _key_of(path: tuple[PathStep, ...], kind: str = "") -> str:
    """How messages call a value: its key, and of an entry of a list its place, too."""
    if kind == "union_tag_invalid":
        return "type"
    key = max((k for k, step in enumerate(path) if isinstance(step, str)), default=-1)
    return "".join([str(path[key]) if key >= 0 else "scene", *(f"[{step}]" for step in path[key + 1 :])])


_SINGULAR = {
    "bodies": "body",
    "joints": "joint",
    "materials": "material",
    "forces": "force",
    "signals": "signal",
    "shapes": "shape",
    "instances": "instance",
    "replicate": "replica",
    "models": "model",
    "points": "point",
    "frames": "frame",
}


def owner(path: tuple[PathStep, ...]) -> str:
    """A path in words: `body `crank``, `pose of body `crank``, or the dotted path."""
    named = ""
    rest = path
    if len(path) >= 2 and path[0] in _SINGULAR:
        named = f"{_SINGULAR[path[0]]} `{path[1]}`"
        rest = path[2:]
    if not path:
        return "the scene"
    if not rest:
        return named
    inner = f"`{format_path(tuple(rest))}`"
    return f"{inner} of {named}" if named else inner


def _unknown_key(path: tuple[PathStep, ...], key: str, root: Node | None) -> tuple[str, str, str]:
    parent = tuple(path[:-1]) if path[-1:] == (key,) else path
    if key in known_keys(parent):  # of another kind of joint, force, solver ..
        here = key_meant(parent, key, tag_of(root, parent))
        hint = f"did you mean `{here}`?" if here else "remove it, or take a type that has it"
        return "SC204", f"`{key}` does not go with the `type` of {owner(parent)}", hint
    return "SC204", f"unknown key `{key}` in {owner(parent)}", unknown_key(parent, key, root)
