"""Names of what a run finds: one grammar for plot, export, `expect`, `measure`, `run.stop_when` and tables of states.

    energy.total                    an energy
    diag.residual                   a diagnostic
    joint.pin.q                     q, qd, qdd, effort, wrench, drive_effort, drive_power of a joint
    body.rod.position               position, orientation, velocity, angular_velocity of a body
    point.rod/tip.position          position, velocity of a named point
    distance.rod.cup                between the shapes of two bodies, or of `world`
    sensor.imu.gyro                 what a sensor gives, by one of its types
    contact.rod.force               force, count of the contacts of a body; contact.rod.cup.force of two

Older spellings mean the same: the first word in the plural (`joints.pin.q`, as in the paths of a scene), and in scenes
`{joint: pin, quantity: q}` and `{joint: pin, quantity: joint_q}`. A reduction makes one number of the values of a quantity
over a run, as measures do.
"""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import NamedTuple

from simcli.output_channels import QUATERNION, WRENCH, XYZ
from simcli.spec.base.sensor_types import SENSOR_TYPES


class QuantityType(NamedTuple):
    """What a quantity is.

    Attributes:
        parts: names of its components, none of one number, and of a joint's own coordinates.
        units: SI, of each component, "" of one without dimension; none of a joint's own coordinates.
        channel: key of `output.channels` that holds it, "" of one that a file holds only if `output.quantities` names it.
    """

    parts: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    channel: str = ""


_PARTS = {1: (), 3: XYZ, 4: QUATERNION}  # of sensors, by their numbers
# Quantities of what has a name; that of a distance is the other body.
QUANTITY_TYPES: dict[str, dict[str, QuantityType]] = {
    "joint": {
        "q": QuantityType(channel="joints"),
        "qd": QuantityType(channel="joints"),
        "qdd": QuantityType(channel="joints"),
        "effort": QuantityType(channel="joints"),
        "wrench": QuantityType(WRENCH, ("N",) * 3 + ("N*m",) * 3, "reactions"),
        "drive_effort": QuantityType(),
        "drive_power": QuantityType((), ("W",)),
    },
    "body": {
        "position": QuantityType(XYZ, ("m",) * 3, "bodies"),
        "orientation": QuantityType(QUATERNION, ("",) * 4, "bodies"),
        "velocity": QuantityType(XYZ, ("m/s",) * 3, "bodies"),
        "angular_velocity": QuantityType(XYZ, ("rad/s",) * 3, "bodies"),
    },
    "point": {"position": QuantityType(XYZ, ("m",) * 3, "bodies"), "velocity": QuantityType(XYZ, ("m/s",) * 3, "bodies")},
    "contact": {"force": QuantityType(XYZ, ("N",) * 3), "count": QuantityType((), ("",))},
    "distance": {},
    "sensor": {
        name: QuantityType(_PARTS[one.width], (one.unit,) * one.width) if one.width else QuantityType()
        for name, one in SENSOR_TYPES.items()
    },
}
CHANNEL_GROUPS = {
    group: tuple(name for name, one in QUANTITY_TYPES[group].items() if one.channel) for group in ("joint", "body", "point")
}
# What a file holds only if `output.quantities` names it.
ON_DEMAND = {
    group: tuple(name for name in QUANTITY_TYPES[group] if name not in CHANNEL_GROUPS.get(group, ()))
    for group in ("joint", "contact", "distance", "sensor")
}
# By `kind_of`.
TYPES_BY_KIND: dict[str, QuantityType] = {
    **{name: one for types in reversed(QUANTITY_TYPES.values()) for name, one in types.items()},
    "energy": QuantityType((), ("J",)),
    "distance": QuantityType((), ("m",)),
}
SCALARS = {
    "energy": ("kinetic", "potential", "elastic", "dissipated", "input", "total", "drift"),
    "diag": (
        "iterations",
        "residual",
        "position_violation",
        "velocity_violation",
        "penetration",
        "gap",
        "contacts",
        "status",
    ),
}
PLURAL = {"joints": "joint", "bodies": "body", "points": "point"}
WATCHED = {"joint_q": "q", "joint_qd": "qd"}  # what may end a world: older word, quantity of a joint


def of_group(group: str) -> tuple[str, ...]:
    """Quantities of what a group has by name."""
    return *CHANNEL_GROUPS.get(group, ()), *ON_DEMAND.get(group, ())


def kind_of(text: str) -> str:
    """What a name means, whatever bodies are called: its quantity, as `position`; of energies and distances their group."""
    name = split_name(text)
    return name.group if name.group in ("energy", "diag", "distance") else name.quantity


def own_quantity(name: "ChannelName") -> str:
    """Quantity of its joint that a sensor is, by one of its types; "" of all else."""
    return SENSOR_TYPES[name.quantity].own if name.group == "sensor" and name.quantity in SENSOR_TYPES else ""


def is_on_demand(text: str) -> bool:
    """Whether a file holds a quantity only if `output.quantities` names it."""
    name = split_name(text)
    return name.group == "distance" or name.quantity in ON_DEMAND.get(name.group, ())


class ChannelName(NamedTuple):
    """A name in its parts.

    Attributes:
        group: "joint", "body", "point", "sensor", "energy", "diag", or a pattern of these.
        subject: which one, as `left/pin`; "" of energies and diagnostics.
        quantity: as "q".
    """

    group: str
    subject: str
    quantity: str

    def __str__(self) -> str:
        return ".".join(part for part in self if part)


def canonical(text: str) -> str:
    """A name with its first word in the singular."""
    group, dot, rest = text.partition(".")
    return PLURAL.get(group, group) + dot + rest


@lru_cache(maxsize=4096)
def split_name(text: str) -> ChannelName:
    """The parts of a name; a text that is none gives parts that no list above has."""
    group, _, rest = canonical(text).partition(".")
    subject, _, quantity = rest.rpartition(".")
    return ChannelName(group, subject, quantity)


_AXES = "xyzw"
_COMPONENT = re.compile(r"(.+?)(?:\.(\d+)|\[(\d+)\])\Z")
# A letter stands behind a quantity of something, which has two dots: `signal.x` and `distance.box.x` end with a name.
_AXIS = re.compile(rf"([^.]+\.[^.]+\..+)\.([{_AXES}])\Z")


def split_component(text: str) -> tuple[str, int | None]:
    """A name in its one spelling, and the component behind it, else None.

    As of `joint.eye.q.3`, `joint.eye.q[3]`, or `body.box.position.z`.
    """
    if found := _AXIS.match(text):
        return canonical(found[1]), _AXES.index(found[2])
    found = _COMPONENT.match(text)
    return (canonical(found[1]), int(found[2] or found[3])) if found else (canonical(text), None)


def with_component(data: object, keys: Collection[str]) -> tuple[object, str]:
    """Data of a part of a scene that names a quantity, with a component behind the name moved to the key `component`.

    Args:
        data: as written.
        keys: that may have the name.

    Returns:
        The data, and the key whose name has a component while `component` is written, too; "" if there is none.
    """
    for key in keys if isinstance(data, Mapping) else ():
        text = data.get(key)
        name, component = split_component(text) if isinstance(text, str) else ("", None)
        if component is not None and data.get("component") is not None:
            return data, key
        if component is not None:
            return {**data, key: name, "component": component}, ""
    return data, ""


def is_whole(text: str) -> bool:
    """Whether a text is a name with its group, and no quantity alone."""
    return "." in text


def pattern() -> str:
    """The regular expression of all names, with a component behind them or without, for editors."""
    alone = [rf"{group}\.({'|'.join(names)})" for group, names in SCALARS.items()]
    plural = {one: many for many, one in PLURAL.items()}
    of = [rf"({group}|{plural[group]})\..+\.({'|'.join(of_group(group))})" for group in CHANNEL_GROUPS]
    of += [rf"sensor\..+\.({'|'.join(ON_DEMAND['sensor'])})"]
    of += [rf"contact\..+\.({'|'.join(ON_DEMAND['contact'])})", r"distance\..+\..+"]
    return rf"^({'|'.join((*alone, *of))})(\.\d+|\[\d+\]|\.[{_AXES}])?$"


class ReductionType(NamedTuple):
    """How the values of a quantity over time become one number.

    Attributes:
        words: what it is, with {} for the quantity.
        help, example: of its key in the schema.
        unit: of the number; None for that of the quantity.
        times: unit by which that of the quantity is multiplied, "" for none.
        bounds: keys of which it needs one.
    """

    words: str
    help: str = ""
    example: str = ""
    unit: str | None = None
    times: str = ""
    bounds: tuple[str, ...] = ()


REDUCTIONS = {
    "max": ReductionType("largest value of {}", "Largest value, and when", "joint.shaft.q"),
    "min": ReductionType("smallest value of {}", "Smallest value, and when", "body.load.position"),
    "max_abs": ReductionType("largest absolute value of {}", "Largest absolute value, and when", "joint.shaft.drive_effort"),
    "range": ReductionType("largest less smallest value of {}", "Largest value less the smallest", "joint.arm.q"),
    "final": ReductionType("value at the last step of {}", "Value at the last step", "body.load.position"),
    "mean": ReductionType("mean over time of {}", "Mean over time, by the trapezoidal rule", "joint.shaft.drive_effort"),
    "std": ReductionType(
        "standard deviation over time of {}", "Standard deviation over time, by the trapezoidal rule", "joint.shaft.qd"
    ),
    "rms": ReductionType(
        "root of the mean square over time of {}",
        "Root of the mean square, by the trapezoidal rule",
        "joint.shaft.drive_effort",
    ),
    "integral": ReductionType(
        "integral over time of {}", "Integral over time, by the trapezoidal rule", "joint.shaft.drive_effort", times="s"
    ),
    "first": ReductionType(
        "first time of {}",
        "Time at which it first is `above` or `below` a bound, on a line within the step",
        "joint.door.q",
        "s",
        bounds=("above", "below"),
    ),
    "count": ReductionType(
        "how often {} gets", "How often it gets `above` or `below` a bound", "joint.arm.q", "", bounds=("above", "below")
    ),
    "last_outside": ReductionType(
        "last time of {}", "Time of the last step at which it is not `within` bounds", "joint.arm.q", "s", bounds=("within",)
    ),
}
BOUNDED_REDUCTIONS = {name: one.bounds for name, one in REDUCTIONS.items() if one.bounds}


def unit_of_reduction(reduction: str, unit: str) -> str:
    """The unit of what a measure finds, of a quantity with a unit; "" for none."""
    kind = REDUCTIONS.get(reduction, ReductionType(""))
    found = unit if kind.unit is None else kind.unit
    return "*".join(filter(None, (found, kind.times)))
