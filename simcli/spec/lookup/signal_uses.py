"""Where a scene uses its signals, in which unit, and what their formulas name: quantities, other signals, the time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from simcli.spec.base import dofs
from simcli.spec.schema.force_base import kinds_of_terms
from simcli.spec.schema.forces import CouplingForce, SpringForce
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.signals import SignalSpec
from simcli.spec.values.braces import names_in_braces
from simcli.spec.values.quantities import is_signal

SIGNAL = "signal."  # begins the name of another signal


def names_of_feedback(signal: SignalSpec) -> list[str]:
    """What a signal has in braces."""
    return [name for text in signal.formulas().values() for name in names_in_braces(text)] if signal.is_feedback else []


def signals_of_feedback(signal: SignalSpec) -> list[str]:
    """The signals that a signal names."""
    return [name.removeprefix(SIGNAL) for name in names_of_feedback(signal) if name.startswith(SIGNAL)]


def order_of_feedback(signals: Mapping[str, SignalSpec]) -> list[str]:
    """Signals that follow the motion, each after those that it names; without circles, and what names them."""
    followers: dict[str, list[str]] = {name: [] for name, signal in signals.items() if signal.is_feedback}
    waits: dict = {}
    for name in followers:
        needs = {one for one in signals_of_feedback(signals[name]) if one in followers}
        waits[name] = len(needs)
        for one in needs:
            followers[one].append(name)
    place = {name: k for k, name in enumerate(followers)}
    found: list[str] = []
    ready = [name for name, count in waits.items() if not count]
    while ready:
        found += ready
        freed = []
        for follower in (one for name in ready for one in followers[name]):
            waits[follower] -= 1
            if not waits[follower]:
                freed.append(follower)
        ready = sorted(freed, key=place.get)  # as they are written: one of many orders, and always the same
    return found


def circle_of_feedback(signals: Mapping[str, SignalSpec]) -> list[str]:
    """The signals of a circle in which each names the next one, the first once more at its end; empty without one."""
    ordered = set(order_of_feedback(signals))
    lost = dict.fromkeys(name for name, one in signals.items() if one.is_feedback and name not in ordered)
    if not lost:
        return []
    chain = [next(iter(lost))]
    while len(set(chain)) == len(chain):
        chain.append(next(one for one in signals_of_feedback(signals[chain[-1]]) if one in lost))
    return chain[chain.index(chain[-1]) :]


@dataclass(frozen=True)
class Use:
    """A number that a signal drives.

    Attributes:
        signal: its name.
        path: of the field that names it, as `forces.push.force`.
        unit: SI unit of the number.
        component: of a vector, None elsewhere.
        whole: whether all components of the vector name this signal.
    """

    signal: str
    path: str
    unit: str
    component: int | None = None
    whole: bool = False


# Vectors that signals drive, with their units.
_VECTORS = {"force": "N", "torque": "N*m", "linear": "m/s", "angular": "rad/s", "shift": "m", "turn": "rad"}
_VECTORS |= {"surface_velocity": "m/s"}


def uses(spec: SceneSpec) -> Iterator[Use]:
    """Every use of a signal."""
    for name, joint in spec.joints.items():
        yield from _of_joint(name, joint)
    for name, force in spec.forces.items():
        path = f"forces.{name}"
        yield from _of_vectors(path, force, force.DRIVEN)
        if isinstance(force, CouplingForce):
            yield from _of_coupling(spec, path, force)
        if isinstance(force, SpringForce):
            yield from _of_number(f"{path}.tension", force.tension, "N")
            if force.muscle is not None:
                yield from _of_number(f"{path}.muscle.control", force.muscle.control, "")
        if force.type == "torque" and force.joint in spec.joints:
            units = dofs.units("effort", spec.joints[force.joint].dof_kinds)
            for value, unit in zip(force.value, units, strict=False):
                yield from _of_number(f"{path}.value", value, unit)
    for name, body in spec.bodies.items():
        if body.motion is not None:
            yield from _of_vectors(f"bodies.{name}.motion", body.motion, ("linear", "angular"))
        if body.affine is not None and body.affine.transform is not None:
            path = f"bodies.{name}.affine.transform"
            yield from _of_vectors(path, body.affine.transform, ("shift", "turn", "linear", "angular"))
        yield from _of_shapes(f"bodies.{name}", body.shapes)
    yield from _of_shapes("world", spec.world.shapes)
    for index, pair in enumerate(spec.contact.pairs):
        yield from _of_number(f"contact.pairs[{index}].friction", pair.friction, "")


def _of_shapes(owner: str, shapes) -> Iterator[Use]:
    for name, shape in shapes.items():
        if any(shape.surface_velocity):
            yield from _of_vectors(f"{owner}.shapes.{name}", shape, ("surface_velocity",))


def _of_coupling(spec: SceneSpec, path: str, force: CouplingForce) -> Iterator[Use]:
    kind = {"m": "L", "rad": "A", None: kinds_of_terms(spec.joints, force.of)[:1] or "A"}[force.unit]
    yield from _of_number(f"{path}.friction", force.friction, dofs.DOF_UNITS["effort"][kind])
    if force.drive is not None:
        yield from _of_drive(f"{path}.drive", force.drive, kind)


def _of_joint(name: str, joint) -> Iterator[Use]:
    kinds = joint.dof_kinds
    for drive, kind in zip(joint.drive or (), kinds, strict=False):
        if drive is not None:
            yield from _of_drive(f"joints.{name}.drive", drive, kind)
    if joint.driving is not None:
        yield from _of_number(f"joints.{name}.driving.aim_angle", joint.driving.aim_angle, "rad")
        yield from _of_number(f"joints.{name}.driving.aim_distance", joint.driving.aim_distance, "m")
    for motion, kind in zip(joint.motion or (), kinds, strict=False):
        for role in ("position", "velocity") if motion is not None else ():
            yield from _of_number(f"joints.{name}.motion.{role}", getattr(motion, role), dofs.DOF_UNITS[role][kind])


def _of_drive(path: str, drive, kind: str) -> Iterator[Use]:
    role = "effort" if drive.mode == "effort" else "position"
    yield from _of_number(f"{path}.target", drive.target, dofs.DOF_UNITS[role][kind])
    yield from _of_number(f"{path}.target_velocity", drive.target_velocity, dofs.DOF_UNITS["velocity"][kind])


def _of_number(path: str, value: object, unit: str) -> Iterator[Use]:
    if is_signal(value):
        yield Use(value[1:], path, unit)


def _of_vectors(path: str, part, keys: tuple[str, ...]) -> Iterator[Use]:
    for key in keys:
        vector = getattr(part, key) or ()
        whole = len(set(vector)) == 1
        for component, value in enumerate(vector):
            if is_signal(value):
                yield Use(value[1:], f"{path}.{key}", _VECTORS[key], component, whole)


def signals_read(spec: SceneSpec) -> set[str]:
    """Signals that drive something, and those that these name in their formulas."""
    found = {use.signal for use in uses(spec)} & set(spec.signals)
    waiting = list(found)
    while waiting:
        new = set(signals_of_feedback(spec.signals[waiting.pop()])) & set(spec.signals) - found
        found |= new
        waiting += new
    return found
