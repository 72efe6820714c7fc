"""Values of a scene by their path."""

from collections.abc import Iterable


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
            value = getattr(value, str(step)) if step in fields else None
    return value
