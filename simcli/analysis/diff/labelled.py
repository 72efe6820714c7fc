"""Columns of a file with the names of their components.

Names have the grammar of `analysis.channels`, and beyond it:

    multiplier.ROW, natural.COORDINATE              of constraint rows and natural coordinates
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.channels import QUANTITIES, RECORDED_ONLY, quantity_of
from simcli.analysis.states.columns import JOINT_FIELDS, VECTORS, field_columns
from simcli.errors import UsageError
from simcli.records.contents.layout import COMPONENTS, DATASETS, OF_BODIES
from simcli.records.contents.results import ResultAxes
from simcli.spec.base.channel_names import SCALARS

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

STATE_FIELDS = ("joint_q", "joint_qd", "joint_qdd", "joint_effort", "body_q", "body_qd")
_ROWS = {"frames/multiplier": ("multiplier", "row_label"), "frames/natural_q": ("natural", "natural_label")}
N_QUATERNION = 4
UNITLESS = "1"  # of joint coordinates only quaternions, the last four of their joint


@dataclass(frozen=True)
class Component:
    """One number of each frame and world.

    Attributes:
        label: as `body.rod.position.x`.
        channel: what it is a component of, as `body.rod.position`.
        unit: of it.
    """

    label: str
    channel: str
    unit: str


@dataclass(frozen=True)
class Labelled:
    """The components of a column, which itself is not kept: HDF5 holds some megabytes for each that is open.

    Attributes:
        components: by label, in the order of its values, flattened.
        quaternions: labels of the four components of each quaternion.
    """

    components: dict[str, Component]
    quaternions: tuple[tuple[str, ...], ...]


def labelled_columns(run: "Trajectory") -> dict[str, Labelled]:
    """All that a run recorded by frame and world, by the path of its dataset."""
    found = {}
    for path, components in _named(run):
        try:
            column = run.column(path)
        except UsageError:  # was not recorded
            continue
        by_label: dict[str, Component] = {}
        for k, one in enumerate(components):
            label = one.label if one.label not in by_label else f"{one.label}#{k}"  # labels of rows may repeat
            by_label[label] = Component(label, one.channel, one.unit or column.unit)
        found[path] = Labelled(by_label, tuple(_quaternions(by_label.values())))
    return found


def _named(run: "Trajectory") -> Iterator[tuple[str, list[Component]]]:
    """Paths of datasets and their components; of those that a file may hold."""
    axes = _axes(run)
    for field in STATE_FIELDS:
        named = field_columns(field, axes)
        yield f"frames/{field}", [Component(one.label, _channel(one.label, field), one.unit) for one in named]
    for path in dict.fromkeys(entries.path for entries in OF_BODIES.values()):
        quantities = {name: RECORDED_ONLY[name] for name, entries in OF_BODIES.items() if entries.path == path}
        yield path, [part for body in run.bodies for part in _parts(f"body.{body}", quantities)]
    wrench = {"wrench": QUANTITIES["joint"]["wrench"]}
    yield "frames/joint_wrench", [part for joint in run.joints for part in _parts(f"joint.{joint}", wrench)]
    for path, (word, table) in _ROWS.items():
        labels = [f"{word}.{label}" for label in run.model.get(table, ())]
        yield path, [Component(label, label, "") for label in labels]
    yield "frames/quantity", [Component(label, quantity_of(label), unit) for label, unit in run.quantities.items()]
    for point in run.points:
        for quantity, parts in QUANTITIES["point"].items():
            yield f"frames/point/{point}/{quantity}", list(_parts(f"point.{point}", {quantity: parts}))
    for row in DATASETS:
        group, _, quantity = row.path.partition("/")
        if group in SCALARS:
            yield row.path, [Component(f"{group}.{quantity}", f"{group}.{quantity}", row.unit)]


def _parts(subject: str, quantities: dict) -> Iterator[Component]:
    for quantity, (parts, units) in quantities.items():
        for part, unit in zip(parts, units, strict=True):
            yield Component(f"{subject}.{quantity}.{part}", f"{subject}.{quantity}", unit)


def _axes(run: "Trajectory") -> ResultAxes:
    table = run.model
    label = {
        "B": run.bodies,
        "J": run.joints,
        "N": run.points,
        "NQ": tuple(table["q_label"]),
        "NV": tuple(table["qd_label"]),
        **COMPONENTS,
    }
    unit = {name: tuple(table[name]) for name in ("q_unit", "qd_unit", "effort_unit")}
    return ResultAxes(label, unit, {name: table[name] for name in ("q_start", "qd_start")}, table["joint_type"])


def _channel(label: str, field: str) -> str:
    """What a label is a component of: `joint.ball.q` of `joint.ball.q.0`; a joint of one coordinate is its own."""
    is_whole = field not in VECTORS and label.endswith(f".{JOINT_FIELDS[field]}")
    return label if is_whole else label.rpartition(".")[0]


def _quaternions(components: Iterable[Component]) -> Iterator[tuple[str, ...]]:
    by_channel: dict[str, list[str]] = {}
    for one in components:
        if one.unit == UNITLESS and one.channel.endswith((".orientation", ".q")):
            by_channel.setdefault(one.channel, []).append(one.label)
    return (tuple(labels) for labels in by_channel.values() if len(labels) == N_QUATERNION)


def oriented(a: np.ndarray, b: np.ndarray, quaternions: np.ndarray) -> np.ndarray:
    """The second values with the nearer sign of each quaternion: q and -q are the same rotation.

    Args:
        a: (..., n).
        b: (..., n).
        quaternions: (k, 4), which of the n are quaternions.
    """
    if not len(quaternions):
        return b
    away = np.sum(a[..., quaternions] * b[..., quaternions], axis=-1, keepdims=True) < 0
    turned = b.copy()
    turned[..., quaternions] = np.where(away, -b[..., quaternions], b[..., quaternions])
    return turned
