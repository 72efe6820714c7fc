"""Sizes and directions of shapes."""

from collections.abc import Mapping

from simcli.spec.checks.checker import Checker
from simcli.spec.schema.pose import norm
from simcli.spec.schema.shape import ShapeSpec
from simcli.spec.values.spec_model import SpecModel
from simcli.spec.values.varied_values import smallest_number

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
    check_sizes(check, path, shapes)
    for key, shape in shapes.items():
        for direction in ("normal", "grain"):
            value = getattr(shape, direction, None)
            if value is not None and norm(value) < SMALLEST_AXIS:
                message = f"the {direction} of shape `{key}` is zero"
                check.fault("SC456", message, f"{path}.{key}.{direction}", "give it a direction, as [0, 0, 1]")


def check_sizes(check: Checker, path: str, shapes: Mapping[str, SpecModel]) -> None:
    """Lengths of shapes that are lists are larger than 0; arguments as of `check_shapes`, or shapes that are only seen."""
    for key, shape in shapes.items():
        size = _SIZES.get(shape.type)
        if size and smallest_number(*getattr(shape, size)) <= 0:
            message = f"a {size} of `{key}` is not larger than 0"
            check.fault("SC231", message, f"{path}.{key}.{size}", "write full lengths in metres")
