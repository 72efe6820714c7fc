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

from simcli.spec.base.sensor_types import SENSOR_TYPES

CHANNEL_GROUPS = {
    "joint": ("q", "qd", "qdd", "effort", "wrench"),
    "body": ("position", "orientation", "velocity", "angular_velocity"),
    "point": ("position", "velocity"),
}
# What a file holds only if `output.quantities` names it; the quantity of a distance is the other body.
ON_DEMAND = {
    "joint": ("drive_effort", "drive_power"),
    "contact": ("force", "count"),
    "distance": (),
    "sensor": tuple(SENSOR_TYPES),
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
        unit: of the number; None for that of the quantity.
        times: unit by which that of the quantity is multiplied, "" for none.
        bounds: keys of which it needs one.
    """

    words: str
    unit: str | None = None
    times: str = ""
    bounds: tuple[str, ...] = ()


REDUCTIONS = {
    "max": ReductionType("largest value of {}"),
    "min": ReductionType("smallest value of {}"),
    "max_abs": ReductionType("largest absolute value of {}"),
    "range": ReductionType("largest less smallest value of {}"),
    "final": ReductionType("value at the last step of {}"),
    "mean": ReductionType("mean over time of {}"),
    "std": ReductionType("standard deviation over time of {}"),
    "rms": ReductionType("root of the mean square over time of {}"),
    "integral": ReductionType("integral over time of {}", times="s"),
    "first": ReductionType("first time of {}", "s", bounds=("above", "below")),
    "count": ReductionType("how often {} gets", "", bounds=("above", "below")),
    "last_outside": ReductionType("last time of {}", "s", bounds=("within",)),
}
BOUNDED_REDUCTIONS = {name: one.bounds for name, one in REDUCTIONS.items() if one.bounds}


def unit_of_reduction(reduction: str, unit: str) -> str:
    """The unit of what a measure finds, of a quantity with a unit; "" for none."""
    kind = REDUCTIONS.get(reduction, ReductionType(""))
    found = unit if kind.unit is None else kind.unit
    return "*".join(filter(None, (found, kind.times)))
