"""Column names of states in tables of text: one list for writing and for reading.

    joint.pin.q [rad]   joint.ball.q.0   joint.pin.qd   joint.pin.qdd   joint.pin.effort
    body.rod.position.x [m]   .orientation.w   .velocity.x   .angular_velocity.x   .acceleration.x   .force.x   .torque.x
    point.rod/tip.position.x   mass_matrix.pin.elbow   jacobian.rod.vx.pin   residual.position

These are the names of `simcli export`. Read as well: the labels of `simcli show --layout`, alone for coordinates (`pin`,
`ball:0`) or after the array that they belong to (`joint_qd.ball:0`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product

from simcli.analysis.channels import COORDINATES, RECORDED, RECORDED_ONLY
from simcli.output_channels import XYZ
from simcli.records.contents.layout import COMPONENTS
from simcli.records.contents.results import FIELDS, ResultAxes
from simcli.spec.base.channel_names import SCALARS, canonical

JOINT_FIELDS = {
    "joint_q": "q",
    "joint_qd": "qd",
    "joint_qdd": "qdd",
    "joint_effort": "effort",
    "recorded_effort": "recorded_effort",
}
WRENCHES = {"joint_wrench": "wrench", "joint_wrench_local": "wrench_local"}
VECTORS = {
    "body_q": (("position", "orientation"), "body"),
    "body_qd": (("velocity", "angular_velocity"), "body"),
    "body_qdd": (("acceleration", "angular_acceleration"), "body"),
    "body_f": (("force", "torque"), "body"),
    "point_position": (("position",), "point"),
    "point_velocity": (("velocity",), "point"),
    "point_acceleration": (("acceleration",), "point"),
}
_PARTS = {**RECORDED["body"], "force": (("x", "y", "z"), ("N",) * 3), "torque": (("x", "y", "z"), ("N m",) * 3)}
READABLE = ("joint_q", "joint_qd", "joint_qdd", "joint_effort", "recorded_effort", "body_q", "body_qd", "body_f")
# Groups that are no states.
_ANSWERS = ("residual", "search", "limit", "mass_matrix", "jacobian", "contact", "ray", "system", "constraint", "geometric")
PLACES = ("time", "world", "frame", "state")


@dataclass(frozen=True)
class Name:
    """One column.

    Attributes:
        label: its name.
        unit: of its numbers; "" if it is none of one dimension.
        field: where the numbers belong, a name of `records.contents.results.FIELDS`.
        index: place in the field, flattened.
    """

    label: str
    unit: str
    field: str
    index: int

    @property
    def header(self) -> str:
        """The name with its unit, as in the first line of a table."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


def field_columns(field: str, axes: ResultAxes) -> list[Name]:
    """The columns of one field, in the order of its flattened values."""
    if field in JOINT_FIELDS:
        pairs = _joint_columns(field, axes)
    elif field in VECTORS:
        pairs = _vector_columns(field, axes)
    elif field in WRENCHES:
        pairs = (
            (f"joint.{joint}.{WRENCHES[field]}.{part}", unit)
            for joint in axes.label["J"]
            for part, unit in zip(COMPONENTS["wrench"], ("N",) * 3 + ("N m",) * 3, strict=True)
        )
    elif field == "mass_matrix":
        label = axes.label["NV"]
        pairs = ((f"mass_matrix.{row}.{column}", "") for row in label for column in label)
    elif field == "jacobian":
        pairs = (
            (f"jacobian.{body}.{part}.{dof}", "")
            for body in axes.label["B"]
            for part in COMPONENTS["twist"]
            for dof in axes.label["NV"]
        )
    elif field.startswith(("contact_", "ray_")):
        pairs = _shape_columns(field, axes)
    elif field.startswith(("system_", "constraint_", "geometric_")):
        labels = (axes.label[axis] for axis in FIELDS[field].axes[1:])
        pairs = ((f"{field.replace('_', '.', 1)}.{'.'.join(names)}", "") for names in product(*labels))
    elif field == "limit_state":
        pairs = ((f"limit.{dof}", "") for dof in axes.label["NV"])
    else:
        unit = FIELDS[field].unit
        label = field.replace("residual_", "residual.").replace("search_", "search.")
        pairs = [(label, "" if unit in ("1", "m, rad") else unit)]
    return [Name(label, unit, field, index) for index, (label, unit) in enumerate(pairs)]


def _joint_columns(field: str, axes: ResultAxes) -> Iterator[tuple[str, str]]:
    quantity = JOINT_FIELDS[field]
    start, unit, power = COORDINATES["effort" if field == "recorded_effort" else quantity]
    for j, joint in enumerate(axes.label["J"]):
        first, last = axes.offset[start][j : j + 2]
        for k in range(first, last):
            suffix = f".{k - first}" if last - first > 1 else ""
            yield f"joint.{joint}.{quantity}{suffix}", f"{axes.unit[unit][k]}{power}"


def _vector_columns(field: str, axes: ResultAxes) -> Iterator[tuple[str, str]]:
    quantities, group = VECTORS[field]
    for name in axes.label["B" if group == "body" else "N"]:
        for quantity in quantities:
            for part, unit in zip(*_PARTS[quantity], strict=True):
                yield f"{group}.{name}.{quantity}.{part}", unit


def _shape_columns(field: str, axes: ResultAxes) -> Iterator[tuple[str, str]]:
    """Of contacts and rays: contact.gap, contact.point.x, ray.0.distance, ray.0.normal.x."""
    group, quantity = field.split("_", 1)
    unit = FIELDS[field].unit
    for middle in [f".{ray}" for ray in axes.label["Q"]] if group == "ray" else [""]:
        for part in [f".{axis}" for axis in XYZ] if "xyz" in FIELDS[field].axes else [""]:
            yield f"{group}{middle}.{quantity}{part}", "" if unit == "1" else unit


class Names:
    """Finds the columns that a table may have, by any of their spellings."""

    def __init__(self, axes: ResultAxes):
        self._known = {name.label: name for field in READABLE for name in field_columns(field, axes)}
        self._spelled = dict(self._known)
        for field in ("joint_q", "joint_qd", "joint_qdd", "joint_effort"):
            labels = axes.label["NQ" if field == "joint_q" else "NV"]
            for label, name in zip(labels, field_columns(field, axes), strict=True):
                self._spelled.setdefault(f"{field}.{label}", name)
        for label, name in zip(axes.label["NQ"], field_columns("joint_q", axes), strict=True):
            self._spelled.setdefault(label, name)
        self._unused = tuple(f"{group}." for group in (*SCALARS, *_ANSWERS))
        self._unused += tuple(f"joint.{joint}.{name}." for joint in axes.label["J"] for name in WRENCHES.values())
        self._unused += tuple(f"point.{point}." for point in axes.label["N"])
        self._unused += tuple(f"body.{body}.{name}." for body in axes.label["B"] for name in RECORDED_ONLY)

    def find(self, label: str) -> Name | None:
        """The column of a spelling, None if it is none."""
        return self._spelled.get(label) or self._spelled.get(canonical(label))

    def is_unused(self, label: str) -> bool:
        """True for what tables of simcli hold besides states."""
        return canonical(label).startswith(self._unused)

    def nearest(self, label: str) -> str | None:
        """The known spelling that is most like another one."""
        return next(iter(get_close_matches(label, [*self._known, *self._spelled, *PLACES], n=1)), None)


def column_difference(found: Sequence[str], wanted: Sequence[str]) -> str:
    """How two lists of names differ, in a few words."""
    if sorted(found) == sorted(wanted):
        return "their order differs"
    lacks = [name for name in wanted if name not in found]
    more = [name for name in found if name not in wanted]
    words = [
        f"{text} {', '.join(f'`{name}`' for name in names[:4])}"
        for text, names in (("lacks", lacks), ("has", more))
        if names
    ]
    return ", ".join(words)
