"""Meaning to numbers.

Comes in: a SceneSpec (names, SI floats). Goes out: a Model of read-only numpy tables, the joint catalogue, topology,
mass properties, and what `simcli show` prints. Never found here: text and marks of scene files, Taichi, time stepping.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simcli.model.from_scene import build, build_worlds

__all__ = ["build", "build_worlds"]


def __getattr__(name: str) -> Any:
    """Load the builder, which needs the spec, on its first use: kernels and records need the tables only."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("simcli.model.from_scene"), name)
