"""What sensors name: frames, joints and bodies that are there."""

from simcli.spec.checks.checker import Checker
from simcli.spec.checks.runs.times import MOST_APART, is_sampled
from simcli.spec.faults.fault_list import did_you_mean
from simcli.spec.names.structure import WORLD_NAME

MOST_DELAYED = 10_000  # steps, of which samples are kept
_MULTIPLE = 1e-6  # as of times of the run: rounding of what is written


def check_sensors(check: Checker) -> None:
    """All sensors of the scene."""
    for name, sensor in check.spec.sensors.items():
        path = f"sensors.{name}"
        for key in ("at", "relative_to"):
            if getattr(sensor, key) is not None:
                _place(check, getattr(sensor, key), f"{path}.{key}")
        if sensor.joint is not None and check.joint_or_free(sensor.joint, f"{path}.joint"):
            _joint(check, sensor, path)
        if "range" in sensor.type:
            _sight(check, f"{path}.type")
        if sensor.noise is not None:
            _noise(check, sensor, f"{path}.noise")
        if sensor.shape is not None:
            _shape(check, sensor.shape, f"{path}.shape")
        if sensor.body is not None and sensor.body != WORLD_NAME:
            check.body(sensor.body, f"{path}.body")


def _joint(check: Checker, sensor, path: str) -> None:
    joint = check.spec.joints.get(sensor.joint)
    if joint is not None and not joint.dof_kinds and {"encoder", "tachometer"} & set(sensor.type):
        check.fault("SC205", f"joint `{sensor.joint}` has no coordinate", f"{path}.joint", "name one that moves")


def _sight(check: Checker, path: str) -> None:
    """Terrain is not seen, which is told rather than looked through."""
    owners = [check.spec.world, *check.spec.bodies.values()]
    if any(shape.type == "heightfield" and shape.collide for owner in owners for shape in owner.shapes.values()):
        check.fault("SC315", "range finders do not see terrain", path, "take a plane or boxes, or collide: false")


def _noise(check: Checker, sensor, path: str) -> None:
    """Samples and delays fall on steps; a quaternion takes no noise."""
    dt, noise = check.spec.solver.dt, sensor.noise
    joint = check.spec.joints.get(sensor.joint)
    if noise.is_random and "encoder" in sensor.type and (joint is None or check.n_q(joint) != len(joint.dof_kinds)):
        check.fault("SC207", "a quaternion with noise is no rotation", path, "leave rate and delay, or take the tachometer")
    for key, time in (("rate", 1 / noise.rate if noise.rate else 0.0), ("delay", noise.delay)):
        if key == "rate" and time and not is_sampled(check, noise.rate, f"{path}.rate"):
            continue
        steps = min(time / dt, 2.0 * MOST_APART)  # a delay beyond is refused below
        if abs(steps - round(steps)) > _MULTIPLE * max(1.0, steps) or (time and round(steps) < 1):
            near = max(1, round(steps)) * dt
            near = f"{1 / near:.12g} Hz" if key == "rate" else f"{near:.12g} s"
            check.fault("SC407", f"`{path}.{key}` is no whole multiple of dt = {dt:.12g} s", f"{path}.{key}",
                        f"the nearest is {near}")  # fmt: skip
        elif key == "delay" and steps > MOST_DELAYED:
            check.fault("SC205", f"a delay of {time / dt:.6g} steps", f"{path}.{key}", f"at most {MOST_DELAYED} steps")


def _shape(check: Checker, name: str, path: str) -> None:
    """A shape of a body as body/shape, or of the world."""
    body, _, _key = name.rpartition("/")
    owners = {owner: one.shapes for owner, one in check.spec.bodies.items()} | {"": check.spec.world.shapes}
    known = [f"{owner}/{one}" if owner else one for owner, shapes in owners.items() for one in shapes]
    if name not in known and ("bodies", body) not in check.broken and not check.is_refused("bodies", "world"):
        check.fault("SC314", f"there is no shape `{name}`", path, did_you_mean(name, known, "shapes"))


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
