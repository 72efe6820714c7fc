"""What sensors name: frames, joints and bodies that are there."""

from simcli.spec.checks.checker import Checker
from simcli.spec.faults.fault_list import did_you_mean
from simcli.spec.names.structure import WORLD_NAME


def check_sensors(check: Checker) -> None:
    """All sensors of the scene."""
    for name, sensor in check.spec.sensors.items():
        path = f"sensors.{name}"
        for key in ("at", "relative_to"):
            if getattr(sensor, key) is not None:
                _place(check, getattr(sensor, key), f"{path}.{key}")
        if sensor.joint is not None and check.joint_or_free(sensor.joint, f"{path}.joint"):
            _joint(check, sensor, path)
        if sensor.body is not None:
            check.body(sensor.body, f"{path}.body")


def _joint(check: Checker, sensor, path: str) -> None:
    joint = check.spec.joints.get(sensor.joint)
    if joint is not None and not joint.dof_kinds and {"encoder", "tachometer"} & set(sensor.type):
        check.fault("SC205", f"joint `{sensor.joint}` has no coordinate", f"{path}.joint", "name one that moves")


def _place(check: Checker, name: str, path: str) -> None:
    """A body, the world, or a frame or point of one."""
    if name in (WORLD_NAME, *check.names["bodies"]):
        return
    body, slash, place = name.rpartition("/")
    if not slash or (body != WORLD_NAME and body not in check.names["bodies"]):
        check.body(body or name, path)
        return
    owner = check.spec.world if body == WORLD_NAME else check.spec.bodies.get(body)
    if owner is not None:
        known = owner.frames if body == WORLD_NAME else owner.places
        if place not in known:
            hint = did_you_mean(place, known, "frames")
            check.fault("SC310", f"`{body}` has no frame and no point `{place}`", path, hint)
