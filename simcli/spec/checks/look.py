"""What is drawn: cameras that are there and look somewhere, shapes that have a size."""

import numpy as np

from simcli.spec.checks.checker import Checker
from simcli.spec.checks.shapes import SMALLEST_AXIS, check_sizes
from simcli.spec.faults.fault_list import did_you_mean
from simcli.spec.schema.look import CameraSpec
from simcli.spec.schema.pose import norm, unit


def check_look(check: Checker) -> None:
    """Cameras of the scene, and the looks of its bodies and of the world."""
    look = check.spec.look
    for name, camera in look.cameras.items():
        _camera(check, f"look.cameras.{name}", camera)
    if look.camera is not None and look.camera not in look.cameras and not check.is_refused("look"):
        hint = did_you_mean(look.camera, look.cameras, "cameras") or "write it below `look.cameras`"
        check.fault("SC319", f"there is no camera `{look.camera[:60]}`", "look.camera", hint)
    for path, body in (*((f"bodies.{name}", body) for name, body in check.spec.bodies.items()), ("world", check.spec.world)):
        check_sizes(check, f"{path}.look.shapes", body.look.shapes)


def _camera(check: Checker, path: str, camera: CameraSpec) -> None:
    along = tuple(b - a for a, b in zip(camera.position, camera.target, strict=True))
    if norm(along) < SMALLEST_AXIS:
        check.fault("SC456", "the camera stands at what it looks at", f"{path}.from", "move `from` or `at`")
    elif norm(camera.up) < SMALLEST_AXIS:
        check.fault("SC456", "the `up` of a camera is zero", f"{path}.up", "give it a direction, as [0, 0, 1]")
    elif norm(np.cross(unit(along), unit(camera.up))) < SMALLEST_AXIS:
        check.fault("SC456", "the camera looks along its own `up`", f"{path}.up", "give it another direction, as [0, 1, 0]")
