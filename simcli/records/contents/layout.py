"""The HDF5 file, version 1, as data: every dataset that grows with time, and every table of the model.

Axis names used below: F frames, W worlds, NQ and NV joint coordinates and velocities, R constraint rows, G natural
coordinates, Y quantities, D parts of a stretch, Z pulleys of springs, H stops of ropes, OD coordinates that pay out, I
powers of gears, P parameters, C contacts, E events, and those of tables of a model, as B bodies and J joints; the
components `pose` (7), `twist` (6), `wrench` (6), `xyz` (3). An axis is also a dimension scale; `SCALES` says under which
name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simcli.errors import OutputError
from simcli.model.tables.body_tables import clashing_points
from simcli.model.tables.model import NAMED_TABLES
from simcli.output_channels import OUTPUT_CHANNELS, WRENCH, XYZ

BARE_SCALES = {"C": "contact", "E": "event", "offset": "contact_start"}  # axes whose scales are only lengths
FORMAT = (1, 0)  # major, minor: a reader refuses a larger major
CONVENTIONS = (
    "simcli-1.0: SI units; quaternions x y z w; linear before angular; body_qd is the velocity of the centre of mass "
    "and the angular velocity, world frame"
)
PARTS = {name: parts for name, parts in OUTPUT_CHANNELS.items() if parts}  # channels that stand for others
TEXT_BYTES = 160  # of an event's text: fixed, since strings of variable length break readers of a growing file
CODE_BYTES = 8
STATUSES = ("running", "done", "stopped", "failed")
ORPHANED = "unfinished"  # what a reader calls a file that says `running` and has no writer
STATUS_BYTES = 8  # one aligned machine word: a killed writer leaves the old word or the new one, never half of it

COMPONENTS = {
    "pose": ("px", "py", "pz", "qx", "qy", "qz", "qw"),
    "twist": ("vx", "vy", "vz", "wx", "wy", "wz"),
    "wrench": WRENCH,
    "xyz": XYZ,
}
STRETCH = ("xx", "yy", "zz", "xy", "xz", "yz")  # of a symmetric matrix


class _Entries(NamedTuple):
    """A quantity of a body that frames hold beside pose and velocity: some entries of a dataset.

    Attributes:
        path: of the dataset.
        first: entry.
        labels: of the entries.
        unit: of each.
    """

    path: str
    first: int
    labels: tuple[str, ...]
    unit: str


OF_BODIES = {
    "stretch": _Entries("frames/body_stretch", 0, STRETCH, "1"),
    "acceleration": _Entries("frames/body_qdd", 0, COMPONENTS["xyz"], "m/s^2"),
    "angular_acceleration": _Entries("frames/body_qdd", 3, COMPONENTS["xyz"], "rad/s^2"),
}
# Where frames hold a quantity of a body: dataset, entries.
BODY_PLACES = {
    "position": ("frames/body_q", slice(0, 3)),
    "orientation": ("frames/body_q", slice(3, 7)),
    "velocity": ("frames/body_qd", slice(0, 3)),
    "angular_velocity": ("frames/body_qd", slice(3, 6)),
    **{name: (one.path, slice(one.first, one.first + len(one.labels))) for name, one in OF_BODIES.items()},
}
# Name scales of /model: axis, dataset.
NAME_SCALES = {
    **{entries.axis: f"{entries.entry}_name" for entries in NAMED_TABLES.values()},
    "NQ": "q_label",
    "NV": "qd_label",
    "R": "row_label",
    "G": "natural_label",
    "Y": "quantity_label",
    "D": "stretch_label",
    "Z": "pulley_name",
    "H": "rope_stop_name",
    "OD": "rope_paid_name",
    "I": "mimic_power",
}
# Axis to the name of its dimension scale, the same in every group: xarray finds a scale by its last path component.
SCALES = {"F": "time", "W": "world", **NAME_SCALES, **BARE_SCALES, **{name: name for name in COMPONENTS}}


@dataclass(frozen=True)
class Dataset:
    """One dataset that grows with the run.

    Attributes:
        path: HDF5 path without the leading slash; also the key in `FrameBlock.columns`.
        axes: names of all axes, the growing one first.
        unit: of the values; "mixed" where it differs along an axis (see /model/q_unit, qd_unit, effort_unit).
        text: one line: what it is, and in which frame.
        kind: "float" (the file's float type) or a numpy type code.
        channel: key of `output.channels` that records it, "always" for what is in every file.
        optional: True: a block may leave it out; the file then holds NaN, or -1 for integers.
        is_younger: whether files of before lack it.
    """

    path: str
    axes: tuple[str, ...]
    unit: str
    text: str
    kind: str = "float"
    channel: str = "always"
    optional: bool = False
    is_younger: bool = False

    def dtype(self, float_type: np.dtype | str) -> np.dtype:
        """Little-endian type on disk."""
        return np.dtype(float_type if self.kind == "float" else self.kind).newbyteorder("<")

    @property
    def fill(self) -> float | int:
        """What stands where nothing was recorded."""
        return np.nan if self.kind == "float" or self.kind.startswith("f") else -1

    @property
    def by_frame(self) -> bool:
        """True for the datasets whose first axis is F."""
        return self.axes[0] == "F"


_STATE = (
    Dataset("frames/joint_q", ("F", "W", "NQ"), "mixed", "joint coordinates, unwrapped angles", channel="joints"),
    Dataset("frames/joint_qd", ("F", "W", "NV"), "mixed", "joint velocities", channel="joints"),
    Dataset(
        "frames/joint_qdd",
        ("F", "W", "NV"),
        "mixed",
        "joint accelerations of the step that ends at the "
        "frame: what the step used; of joints outside the tree those of the bodies",
        channel="joints",
    ),
    Dataset(
        "frames/joint_effort",
        ("F", "W", "NV"),
        "mixed",
        "all that acts along the motion axes of joints: "
        "drives, applied efforts, springs, damping, friction, limits; of distance joints with the force that "
        "keeps the length",
        channel="joints",
    ),
    Dataset("frames/body_q", ("F", "W", "B", "pose"), "m, 1", "pose of the body frame, world", channel="bodies"),
    Dataset(
        "frames/body_qd",
        ("F", "W", "B", "twist"),
        "m/s, rad/s",
        "velocity of the centre of mass and angular velocity, world",
        channel="bodies",
    ),
    Dataset(
        "frames/body_qdd",
        ("F", "W", "B", "twist"),
        "m/s^2, rad/s^2",
        "acceleration of the centre of mass and angular acceleration, world",
        channel="body_qdd",
    ),
    Dataset(
        "frames/body_stretch",
        ("F", "W", "B", "D"),
        "1",
        "stretch S of affine bodies, body axes: the axes of a body are R S, R of its pose, about the centre of mass",
        channel="bodies",
    ),
    Dataset(
        "frames/natural_q",
        ("F", "W", "G"),
        "m",
        "natural coordinates: points and vectors of the bodies, as the scene chooses them, world",
        channel="bodies",
    ),
    Dataset(
        "frames/quantity",
        ("F", "W", "Y"),
        "mixed",
        "what output.quantities and expectations name; left out, the efforts of drives and motions",
    ),
    Dataset("frames/multiplier", ("F", "W", "R"), "N, N m", "multipliers of the constraint equations", channel="reactions"),
    Dataset(
        "frames/joint_wrench",
        ("F", "W", "J", "wrench"),
        "N, N m",
        "force and torque on the child at the child anchor, world",
        channel="reactions",
    ),
)

_ENERGIES = {
    "kinetic": "kinetic energy",
    "potential": "potential energy of gravity less its compensation, 0 at the world origin",
    "elastic": "energy stored in springs and drives' stiffness",
    "dissipated": "integral of the power of damping and friction since t = 0",
    "input": "integral of the power of drives and applied forces since t = 0",
    "total": "kinetic + potential + elastic",
    "drift": "total - total(0) + dissipated - input",
}
_ENERGY = tuple(Dataset(f"energy/{name}", ("F", "W"), "J", text, channel="energy") for name, text in _ENERGIES.items())


def _of_step(name: str, unit: str, text: str, kind: str = "float", optional: bool = True, younger: bool = False) -> Dataset:
    return Dataset(f"diag/{name}", ("F", "W"), unit, text, kind, optional=optional, is_younger=younger)


_DIAG = (
    _of_step("iterations", "1", "iterations of the step that ends at the frame", "i4"),
    _of_step("residual", "mixed", "residual of that step's equations"),
    _of_step("position_violation", "m, rad", "largest violation of a constraint equation"),
    _of_step("velocity_violation", "m/s, rad/s", "largest rate of violation of a constraint equation"),
    _of_step("penetration", "m", "deepest overlap of two shapes"),
    _of_step("gap", "m", "smallest gap of shapes that are near each other, infinite if there are none", younger=True),
    _of_step("contacts", "1", "number of contacts", "i4"),
    _of_step(
        "status",
        "1",
        "0 ok, else why the world is frozen: 1 not finite, 2 too fast, 3 singular, 4 stopped, "
        "5 not assembled, 6 turns too far, 7 too many contacts, "
        "8 not converged, 9 shapes intersect at the start, 10 outside a limit, 11 unstable feedback",
        "i4",
        optional=False,
    ),
)


def _of_contacts(name: str, axes: tuple[str, ...], unit: str, text: str, kind: str = "float") -> Dataset:
    return Dataset(f"contacts/{name}", axes, unit, text, kind, channel="contacts")


_CONTACTS = (
    _of_contacts("offset", ("offset",), "1", "frame f, world w owns rows offset[f W + w] to offset[f W + w + 1]", "i8"),
    _of_contacts("shape_a", ("C",), "1", "index into /model/shape_name", "i4"),
    _of_contacts("shape_b", ("C",), "1", "index into /model/shape_name", "i4"),
    _of_contacts("point", ("C", "xyz"), "m", "contact point, world"),
    _of_contacts("normal", ("C", "xyz"), "1", "unit normal from a to b, world"),
    _of_contacts("gap", ("C",), "m", "distance along the normal, negative when overlapping"),
    _of_contacts("force", ("C", "xyz"), "N", "force on b, world"),
)


def _of_event(name: str, kind: str, unit: str, text: str) -> Dataset:
    return Dataset(f"events/{name}", ("E",), unit, text, kind)


_EVENTS = (
    _of_event("step", "i8", "1", "step count at the event"),
    _of_event("time", "f8", "s", "time"),
    _of_event("world", "i8", "1", "world index, -1 for all worlds"),
    _of_event("code", f"S{CODE_BYTES}", "", "rule code, see `simcli explain`"),
    _of_event("severity", "i4", "1", "0 info, 1 warning, 2 error"),
    _of_event("body", "i4", "1", "body index in the scene, -1 if none"),
    _of_event("joint", "i4", "1", "joint index in the scene, -1 if none"),
    _of_event("value", "f8", "mixed", "a number that goes with the text"),
    _of_event("text", f"S{TEXT_BYTES}", "", "one line"),
)

_TIME = Dataset("frames/time", ("F",), "s", "time", "f8")
_STEP = Dataset("frames/step", ("F",), "1", "steps since t = 0", "i8")
DATASETS = (_TIME, _STEP, *_STATE, *_ENERGY, *_DIAG, *_CONTACTS, *_EVENTS)
CHANNELS = (*PARTS, *dict.fromkeys(row.channel for row in DATASETS if row.channel != "always"))
if odd := {*CHANNELS} ^ {*OUTPUT_CHANNELS}:
    raise TypeError(f"channels {odd} are not both of DATASETS in {__name__} and of output_channels.py")


def point_datasets(names: Sequence[str]) -> list[Dataset]:
    """Position and velocity of every named point: frames/point/BODY/POINT/{position,velocity}."""
    return [
        Dataset(f"frames/point/{name}/{quantity}", ("F", "W", "xyz"), unit, f"point {name}, world", channel="bodies")
        for name in names
        for quantity, unit in (("position", "m"), ("velocity", "m/s"))
    ]


@dataclass(frozen=True)
class Axes:
    """The fixed axes of one file.

    Attributes:
        n_worlds: W.
        label: axis name to the labels of its entries, of NAME_SCALES, P and the components.
        index: axis name to the rows of the model that the file keeps, for axes cut by `output.select`.
        capacity: most contacts of a world at a frame.
        quantity_unit: along the axis Y.
    """

    n_worlds: int
    label: Mapping[str, tuple[str, ...]]
    index: Mapping[str, np.ndarray] = field(default_factory=dict)
    capacity: int = 0
    quantity_unit: tuple[str, ...] = ()

    def size(self, axis: str) -> int:
        """Length of a fixed axis."""
        return self.n_worlds if axis == "W" else len(self.label[axis])

    def tail(self, dataset: Dataset) -> tuple[int, ...]:
        """Shape of one row of a dataset: all axes but the growing one."""
        return tuple(self.size(axis) for axis in dataset.axes[1:])


def selected(axes: Axes, channels: Iterable[str]) -> list[Dataset]:
    """Datasets of a file with these axes and channels, in the order in which the digest takes them.

    A dataset of zero width (joint_q of a scene of fixed joints, multiplier without rows) is left out.
    """
    wanted = {"always"}
    for channel in channels:
        wanted |= {channel, *PARTS.get(channel, ())}
    rows = [row for row in DATASETS if row.channel in wanted]
    if "bodies" in wanted:
        rows += point_datasets(axes.label["N"])
    return [row for row in rows if 0 not in axes.tail(row)]


def recordable(axes: Axes, channels: Iterable[str]) -> list[Dataset]:
    """As `selected`, for a file that is to be written.

    Raises:
        OutputError: two names of points would need the same path, once as a group and once as a dataset.
    """
    rows = selected(axes, channels)
    clash = clashing_points(axes.label["N"]) if any(row.path.startswith("frames/point/") for row in rows) else None
    if clash:
        raise OutputError(
            f"the point `{clash[0]}` cannot be recorded: it needs frames/point/{clash[1]} as a group, but "
            "that is the data of another point; rename the point"
        )
    return rows


def annotate_dataset(dataset, scales: Iterable = (), unit: str | None = None, text: str = ""):
    """Give a dataset of h5py its unit, its meaning and the scales of its first axes; returns it."""
    if unit is not None:
        dataset.attrs["units"] = unit
    if text:
        dataset.attrs["long_name"] = text
    for k, scale in enumerate(scales):
        dataset.dims[k].attach_scale(scale)
    return dataset
