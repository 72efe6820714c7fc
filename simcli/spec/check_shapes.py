"""Sizes and directions of shapes."""

from collections.abc import Mapping

from simcli.spec.checker import Checker
from simcli.spec.schema_body import ShapeSpec, norm

MASSLESS = ("plane", "heightfield")
SMALLEST_AXIS = 1e-12  # [1], a shorter vector has no direction
_SIZES = {"box": "size", "ellipsoid": "radii"}


def check_shapes(check: Checker, path: str, shapes: Mapping[str, ShapeSpec]) -> None:
    """Lengths are larger than 0, and directions have one.

    Args:
        check: the scene.
        path: of the shapes.
        shapes: of a body or of the world.
    """
    for key, shape in shapes.items():
        size = _SIZES.get(shape.type)
        if size and min(getattr(shape, size)) <= 0:
            message = f"a {size} of `{key}` is not larger than 0"
            check.fault("SC231", message, f"{path}.{key}.{size}", "write full lengths in metres")
        for direction in ("normal", "grain"):
            value = getattr(shape, direction, None)
            if value is not None and norm(value) < SMALLEST_AXIS:
                message = f"the {direction} of shape `{key}` is zero"
                check.fault("SC456", message, f"{path}.{key}.{direction}", "give it a direction, as [0, 0, 1]")
