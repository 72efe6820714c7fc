"""The model: read-only numpy tables. Every number of the physics that the device sees stands here.

Conventions, those of the Newton engine: quaternions x y z w; poses px py pz qx qy qz qw; 6-vectors linear before
angular; the world frame has no suffix. A physical table carries a leading world axis of length 1 (shared by all worlds)
or W (varied by the batch); index tables carry none. Tables are plural, columns singular. All arrays are read-only.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import IntEnum, unique
from typing import get_args

import numpy as np

from simcli.model.tables.body_tables import Bodies, Contacts, Points, Shapes
from simcli.model.tables.force_tables import Bushings, Cables, Drags, Ropes, Springs, Wrenches
from simcli.model.tables.form_tables import Affine, Columns, Naturals
from simcli.model.tables.joint_tables import Combinations, Dofs, EffortCurves, HeldSums, Joints, Links, Mimics
from simcli.model.tables.signal_tables import Feedback, Inputs, Lawful, Motions, Sensors, Signals
from simcli.model.tables.start_tables import AsDrawn, Beginning
from simcli.model.tables.table_base import Array, Changes, Table, TableColumn, TableEntries, declared, per

WORLD = -1  # body index of the world


@unique
class JointKind(IntEnum):
    """Joint types. The first eight have Newton's numbers; no tree can hold those from 12 to 18."""

    PRISMATIC = 0
    REVOLUTE = 1
    BALL = 2
    FIXED = 3
    FREE = 4
    DISTANCE = 5
    D6 = 6
    CABLE = 7
    UNIVERSAL = 8
    CYLINDRICAL = 9
    PLANAR = 10
    SCREW = 11
    ORBITAL_BALL = 12
    ORBITAL_UNIVERSAL = 13
    ORBITAL_REVOLUTE = 14
    ORBITAL = 15
    PLANAR_BALL = 16
    PRISMATIC_BALL = 17
    UNIVERSAL_PRISMATIC = 18
    ROLLING = 19
    KNIFE_EDGE = 20


@unique
class LinkKind(IntEnum):
    """Elementary joints that the tree kernels know; every tree joint is a chain of these."""

    WELD = 0  # no dof
    HELIX = 1  # one dof about and along the link's z axis: hinge, slide, screw
    BALL = 2  # quaternion, three dofs
    FREE = 3  # position and quaternion, six dofs
    AFFINE = 4  # centre of mass and up to three vectors, a root; see Columns


@unique
class DriveMode(IntEnum):
    """Actuator modes, Newton's numbers."""

    NONE = 0
    POSITION = 1
    VELOCITY = 2
    POSITION_VELOCITY = 3
    EFFORT = 4


@unique
class ShapeKind(IntEnum):
    """Collision and mass shapes."""

    PLANE = 0
    SPHERE = 1
    BOX = 2
    CAPSULE = 3
    CYLINDER = 4
    CONE = 5
    ELLIPSOID = 6
    MESH = 7
    HEIGHTFIELD = 8


@dataclass(frozen=True, kw_only=True)
class Model:
    """Everything the solvers read.

    Attributes:
        n_worlds: W.
        plane: index of the axis that is normal to the plane of a planar scene, -1 in space.
        gravity: world.
        joint_q: initial joint coordinates in Newton's layout; cable slots NaN.
        joint_qd: initial joint velocities.
        joint_f: constant applied joint efforts (forces of type torque).
        param_name: (P,) varied parameters; param_unit: (P,); param_value: (W, P); world_seed: (W,) uint64.
        columns: of the natural form of a model (forms/natural_form.py), else None.
        naturals: of a scene for the natural solver, else None.
        contacts: pairs of shapes that can touch, None if none can.  affine: of a scene for the affine solver, else None.
        start: what was done to begin with joint_q and joint_qd; None while these are as the scene wrote them.
        drawing: from where loops are closed; None: from joint_q.
        lawful: dofs that have laws in any phase of a run, so that all phases have the same rows; None: those of this model.
        spring_rows, drag_rows: whether springs, and drags, are rows, for steps that take them implicitly.
        holds: sums of coordinates that are held.
        effort_curves: effort limits that depend on the speed.
        combinations: of coordinates; in the form that solvers step (forms/maximal_form.py) joints stand for them.
    """

    _untraced = ("_kept",)  # what is remembered of it (`kept`): it follows from the tables, and depends on what was asked

    n_worlds: int
    gravity: Array = per("W|1 xyz", "m/s^2", Changes.NUMBERS, dataset="gravity")
    bodies: Bodies
    joints: Joints
    dofs: Dofs
    joint_q: Array = per("W|1 NQ", "mixed", dataset="initial_joint_q")
    joint_qd: Array = per("W|1 NV", "mixed", dataset="initial_joint_qd")
    joint_f: Array = per("W|1 NV", "N, N m", Changes.NUMBERS, dataset="applied_joint_effort")
    links: Links
    mimics: Mimics
    shapes: Shapes
    points: Points
    springs: Springs = field(default_factory=Springs.empty)
    ropes: Ropes = field(default_factory=Ropes.empty)
    bushings: Bushings = field(default_factory=Bushings.empty)
    combinations: Combinations = field(default_factory=Combinations.empty)
    holds: HeldSums = field(default_factory=HeldSums.empty)
    effort_curves: EffortCurves = field(default_factory=EffortCurves.empty)
    cables: Cables
    wrenches: Wrenches
    drags: Drags = field(default_factory=Drags.empty)
    signals: Signals = field(default_factory=Signals.empty)
    inputs: Inputs = field(default_factory=Inputs.empty)
    motions: Motions
    param_name: tuple[str, ...]
    param_unit: tuple[str, ...]
    param_value: Array
    world_seed: Array
    plane: int = -1
    columns: Columns | None = None
    naturals: Naturals | None = None
    contacts: Contacts | None = None
    affine: Affine | None = None
    start: Beginning | None = None
    drawing: AsDrawn | None = None
    lawful: Lawful | None = None
    spring_rows: bool = False
    drag_rows: bool = False
    feedback: Feedback = field(default_factory=Feedback.empty)
    sensors: Sensors = field(default_factory=Sensors.empty)

    @property
    def n_bodies(self) -> int:
        """Number of bodies, B."""
        return len(self.bodies.name)

    @property
    def n_joints(self) -> int:
        """Number of joints, J."""
        return len(self.joints.name)

    @property
    def n_links(self) -> int:
        """Number of elementary links, L."""
        return len(self.links.parent)

    @property
    def n_q(self) -> int:
        """Number of joint coordinates, NQ."""
        return int(self.joints.q_start[-1])

    @property
    def n_qd(self) -> int:
        """Number of joint velocities, NV."""
        return int(self.joints.qd_start[-1])


TABLES: dict[str, type[Table]] = {
    one.name: kind
    for one in fields(Model)
    for kind in (one.type, *get_args(one.type))
    if isinstance(kind, type) and issubclass(kind, Table)
}
NAMED_TABLES = {name: kind.in_files for name, kind in TABLES.items() if kind.in_files.axis}  # with names of their entries


def declared_columns() -> Iterator[tuple[str, str, TableColumn]]:
    """(table, column, what it is) of all columns of a model, also of those that it has not; table "" of its own."""
    for one in fields(Model):
        below = fields(TABLES[one.name]) if one.name in TABLES else ()
        found = [("", one), *((one.name, column) for column in below)]
        yield from ((table, column.name, what) for table, column in found if (what := declared(column)))


def joined_bodies(model: Model) -> Iterator[Array]:
    """Bodies that each entry of a table joins: a joint its two, a spring those of its ends and pulleys; WORLD among them.

    They follow from what columns refer to. A column along an axis of its own has one beside it that says which entry each
    of its numbers is of, as `pulley_spring`.
    """
    ends = np.stack((model.joints.parent, model.joints.child), axis=-1)
    bodies = {"B": lambda at: at, "J": lambda at: ends[at], "NV": lambda at: ends[model.dofs.joint[at]]}
    for name, kind in NAMED_TABLES.items():
        found: dict[int, list[Array]] = {}
        table = getattr(model, name)
        for column in fields(TABLES[name]):
            what = declared(column)
            if what is None or what.refers not in bodies:
                continue
            joined = bodies[what.refers](np.asarray(getattr(table, column.name)))
            owner = _owner(table, what, kind)
            for k, some in zip(range(len(joined)) if owner is None else owner.tolist(), joined, strict=True):
                found.setdefault(k, []).append(np.ravel(some))
        yield from map(np.concatenate, found.values())


def _owner(table: Table, what: TableColumn, kind: TableEntries) -> Array | None:
    """Of the numbers of a column, the entry of the table that each is of; None where they are one for each entry."""
    if what.axes[0] == kind.axis:
        return None
    owners = (one.name for one in fields(table) if (has := declared(one)) and has.axes == what.axes[:1])
    return getattr(table, next(name for name in owners if name.endswith(f"_{kind.entry}")))


def _faults() -> Iterator[str]:
    """What tables lack by which files and events know what they are."""
    for name, kind in TABLES.items():
        if bool(kind.in_files.entry) == bool(kind.in_files.left_out):
            yield f"`{name}` says neither `entry=` behind its base, nor `left_out=`, why files lack it"
        arrays = [one for one in fields(kind) if one.type is Array]
        yield from (
            f"`{name}.{one.name}` is an array without `per(..)`, its axes and unit" for one in arrays if not declared(one)
        )
    axes = Counter(entries.axis for entries in NAMED_TABLES.values())
    yield from (
        f"`{name}` has the axis {one.axis} of another table" for name, one in NAMED_TABLES.items() if axes[one.axis] > 1
    )


if faults := [*_faults()]:
    raise TypeError(f"tables of a model: {'; '.join(faults)}")
