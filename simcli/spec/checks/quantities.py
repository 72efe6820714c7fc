"""Names of quantities: whether they are there, and which components they have."""

from simcli.output_channels import OUTPUT_CHANNELS
from simcli.spec.base.channel_names import (
    CHANNEL_GROUPS,
    ON_DEMAND,
    QUANTITY_TYPES,
    SCALARS,
    TYPES_BY_KIND,
    canonical,
    is_on_demand,
    kind_of,
    of_group,
    own_quantity,
    split_name,
)
from simcli.spec.base.fault_list import did_you_mean, nearest_name
from simcli.spec.base.patterns import is_pattern
from simcli.spec.base.sensor_types import SENSOR_TYPES
from simcli.spec.checks.geometry import touching_pair
from simcli.spec.faults.checker import Checker
from simcli.spec.faults.synonyms import quantity_meant
from simcli.spec.lookup import structure
from simcli.spec.lookup.keys import NO_DISTANCE, channel_of, meant_quantities, written_quantities
from simcli.spec.schema.scene import SceneSpec


def check_recorded(check: Checker) -> None:
    """The names of `output.quantities`."""
    named = check.spec.output.quantities or ()
    for n, text in enumerate(named):
        path = f"output.quantities[{n}]"
        if is_pattern(text):
            _check_pattern(check, text, path)
            continue
        if not known_quantity(check, text, path):
            continue
        if not is_on_demand(text):
            check.fault("SC315", f"`{text}` is a column of `output.channels`", path, "remove it here")
        elif canonical(text) in [canonical(one) for one in named[:n]]:
            check.fault("SC207", f"`{text}` is written twice", path, "remove one")
        else:
            check_parts(check, text, path, path, None, False)


def _check_pattern(check: Checker, text: str, path: str) -> None:
    """A pattern of `output.quantities` means something that frames can hold."""
    if not known_channel(check, text, path) or check.lacks_names("bodies", "joints", "sensors"):
        return
    recorded = check.spec.output.channels
    if channel := channel_of(text):
        if channel not in recorded and ("state" not in recorded or channel not in OUTPUT_CHANNELS["state"]):
            message = f"`{text}` is of `output.channels`, which have no `{channel}`"
            check.fault("SC315", message, path, f"add `{channel}` there")
        return
    found = list(meant_quantities(check.spec, text))
    if not found:
        hint = _meant(check, text) or "`simcli show` lists joints, bodies and sensors"
        check.fault("SC315", f"`{text}` is not a quantity that frames can record", path, hint)
    for name in found:
        known_channel(check, name, path)


def named_quantities(spec: SceneSpec) -> list[str]:
    """What a scene looks at, by its canonical names: to record, to expect, to measure, or to end a world."""
    stop = [] if spec.run.stop_when is None else [str(spec.run.stop_when.channel)]
    named = [*written_quantities(spec), *(one.channel for one in spec.expect)]
    return [*stop, *map(canonical, [*named, *(one.quantity for one in spec.measure.values())])]


def known_quantity(check: Checker, text: str, path: str, joint: str = "") -> bool:
    """Whether a name means one quantity that a run can look at; a fault if not.

    Args:
        check: the scene.
        text: the whole name, or "" where a joint alone is named.
        path: where it stands.
        joint: see `text`.
    """
    if joint:
        return known_subject(check, "joint", joint, path)
    if is_pattern(text):
        check.fault("SC315", f"`{text}` is a pattern", path, "write one name for each")
        return False
    if split_name(text).group == "diag":
        hint = f"frames have it: `expect: [{{max: {canonical(text)}, below: 1}}]` judges it, `simcli plot` shows it"
        check.fault("SC315", f"`{text}` is a diagnostic, which is recorded at frames only", path, hint)
        return False
    return known_channel(check, text, path)


def known_channel(check: Checker, text: str, path: str) -> bool:
    """Whether a name, or a pattern of subjects, is one of `channel_names`; a fault if not."""
    name = split_name(text)
    if name.group in ("distance", "contact"):
        return _known_pair(check, text, path)
    known = of_group(name.group) or SCALARS.get(name.group, ())
    if (name.group in (*CHANNEL_GROUPS, "sensor")) != bool(name.subject) or name.quantity not in known:
        hint = _meant(check, text) or "as energy.drift, joint.pin.q or body.crank.position"
        check.fault("SC315", f"`{text[:60]}` is no quantity", path, hint)
        return False
    if not name.subject or is_pattern(name.subject):
        return True
    if not known_subject(check, name.group, name.subject, path, text):
        return False
    touches = name.group == "sensor" and SENSOR_TYPES[name.quantity].channel == "contacts"
    return not touches or _can_touch(check, text, path)


def _known_pair(check: Checker, text: str, path: str) -> bool:
    """`known_channel` of a distance or of contacts."""
    group, subject, word = split_name(text)
    bodies = [subject, word] if group == "distance" else subject.split(".")
    if (group == "contact" and word not in ON_DEMAND["contact"]) or not 1 <= len(bodies) <= 2 or not all(bodies):
        hint = "as distance.rod.cup" if group == "distance" else "as contact.rod.force, contact.rod.world.count"
        check.fault("SC315", f"`{text[:60]}` is no quantity", path, hint)
        return False
    if is_pattern(text):
        return True
    if len(set(bodies)) < len(bodies):
        check.fault("SC315", f"`{text}` names one body twice", path, "name two")
        return False
    there = [body == structure.WORLD_NAME or known_subject(check, "body", body, path, text) for body in bodies]
    if not all(there):
        return False
    return _have_distance(check, bodies, path) if group == "distance" else _can_touch(check, text, path)


def _have_distance(check: Checker, bodies: list[str], path: str) -> bool:
    kinds = set()
    for body in bodies:
        owner = check.spec.world if body == structure.WORLD_NAME else check.spec.bodies.get(body)
        if owner is None:
            return True
        shapes = {key: shape for key, shape in owner.shapes.items() if shape.collide}
        kinds |= {shape.type for shape in shapes.values()}
        if not shapes:
            check.fault("SC315", f"`{body}` has no shape that can touch, and no distance", path, "give it `shapes`")
            return False
        terrain = next((key for key, shape in shapes.items() if shape.type in NO_DISTANCE), None)
        if terrain:
            check.fault(
                "SC315",
                f"the distance from terrain is not supported (`{terrain}` of `{body}`)",
                path,
                "measure the position of a point instead",
            )
            return False
    if kinds == {"plane"}:
        check.fault("SC315", "two planes have no distance", path, "name a body with another shape")
        return False
    return True


def _can_touch(check: Checker, text: str, path: str) -> bool:
    if touching_pair(check) is None and ("contact", "") not in check.broken:
        message = f"`{text}`, but nothing can touch"
        check.fault("SC315", message, path, "give shapes to two bodies, and contact.enabled: true")
        return False
    return True


def width_of(check: Checker, text: str) -> int | None:
    """Components of a quantity that is there; None if they are not known."""
    group, subject, word = name = split_name(text)
    if own := own_quantity(name):
        group, subject, word = "joint", check.spec.sensors[subject].joint, own
    kind = QUANTITY_TYPES["joint"].get(word) if group == "joint" else TYPES_BY_KIND.get(kind_of(text))
    if kind is None or kind.units:
        return max(len(kind.parts), 1) if kind else 1
    joint = check.spec.joints.get(subject)
    if joint is None:
        return 7 if word == "q" else 6
    return check.n_q(joint) if word == "q" else len(joint.dof_kinds)


def check_parts(check: Checker, text: str, at: str, path: str, component: int | None, norm: bool) -> None:
    """Components that are asked for.

    Args:
        check: the scene.
        text: name of a quantity that is there.
        at: where the name stands.
        path: where `component` and `norm` do.
        component: which of them, None for all.
        norm: whether their norm is meant.
    """
    width = width_of(check, text)
    if width == 0:
        check.fault("SC205", f"`{text}` has no component", at)
    elif component is not None and width is not None and component >= width:
        message = f"`{text}` has {width} component(s), counted from 0"
        check.fault("SC205", message, f"{path}.component" if check.has(f"{path}.component") else at)
    if norm and kind_of(text) == "wrench":
        message = f"the norm of `{text}` would add forces to torques"
        check.fault("SC207", message, f"{path}.norm", "use components")


def _meant(check: Checker, text: str) -> str:
    """A hint: the nearest whole name of the scene; "" if none is near."""
    subjects = {
        "body": check.names["bodies"],
        "joint": [*check.names["joints"], *check.free_joints],
        "point": [f"{name}/{point}" for name, body in check.spec.bodies.items() for point in body.places],
    }
    names = [f"{group}.{quantity}" for group, quantities in SCALARS.items() for quantity in quantities]
    names += [f"{group}.{one}.{quantity}" for group, of in subjects.items() for one in of for quantity in of_group(group)]
    names += [f"sensor.{name}.{word}" for name, sensor in check.spec.sensors.items() for word in sensor.type]
    close = quantity_meant(canonical(text), names) or nearest_name(canonical(text), names)
    return f"did you mean `{close}`?" if close else ""


def known_subject(check: Checker, group: str, name: str, path: str, whole: str = "") -> bool:
    """Whether a body, joint, sensor or point exists; a fault if not, with the nearest whole name where one is written."""
    if group == "sensor":
        return _known_sensor(check, name, path, whole)
    if group != "point":
        test = check.body if group == "body" else check.joint_or_free
        there = name in check.names["bodies" if group == "body" else "joints"]
        return test(name, path, _meant(check, whole) if whole and not there else "")
    body, slash, point = name.rpartition("/")
    if not slash:
        check.fault("SC310", f"`{name}` names no point", path, "write body/point")
        return False
    if not known_subject(check, "body", body, path, whole):
        return False
    points = check.spec.bodies[body].places if body in check.spec.bodies else {point: None}
    if point not in points:
        hint = (whole and _meant(check, whole)) or did_you_mean(point, points, "points")
        check.fault("SC310", f"body `{body}` has no point `{point}`", path, hint)
    return point in points


def _known_sensor(check: Checker, name: str, path: str, whole: str) -> bool:
    """Whether a sensor exists, and is of the type that a name asks for; a fault if not."""
    sensors = check.spec.sensors
    if name in check.names["sensors"] and name not in sensors:
        return False  # the schema refused it
    if name not in sensors:
        hint = (whole and _meant(check, whole)) or did_you_mean(name, sensors, "sensors")
        check.fault("SC315", f"there is no sensor `{name}`", path, hint)
        return False
    word = split_name(whole).quantity
    if word not in sensors[name].type:
        check.fault(
            "SC315",
            f"sensor `{name}` is of type {', '.join(sensors[name].type)}, not {word}",
            path,
            f"write sensor.{name}.{sensors[name].type[0]}, or add the type",
        )
        return False
    return True
