"""The parts of a mechanism in numbers, before they are laid out as tables.

Every physical array has a leading world axis of length 1 or W. The parts know no scene file: `build` makes them from
one, tests make them directly.
"""

from dataclasses import dataclass, field

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.catalogue import CATALOGUE, TYPE_NAME, JointEntry
from simcli.model.joints.motion_axes import MotionAxis
from simcli.model.tables.body_tables import Points, Shapes
from simcli.model.tables.force_tables import Cables, Wrenches
from simcli.model.tables.model import Array, DriveMode, JointKind
from simcli.spec.checks.drives import READS

_Array = np.ndarray
ONE_POSE = np.array([rot.IDENTITY_POSE])
ZERO, NO_LENGTH = np.zeros(1), np.full((1, 2), np.nan)
for _shared in (ONE_POSE, ZERO, NO_LENGTH):
    _shared.setflags(write=False)

DOF_DEFAULTS = {
    "armature": 0.0,
    "damping": 0.0,
    "spring_stiffness": 0.0,
    "spring_rest": 0.0,
    "spring_energy": 0.0,
    "friction": 0.0,
    "limit_lower": -np.inf,
    "limit_upper": np.inf,
    "limit_stiffness": 0.0,
    "limit_damping": np.nan,
    "velocity_limit": np.inf,
    "rate_lower": -np.inf,
    "rate_upper": np.inf,
    "drive_stiffness": 0.0,
    "drive_damping": 0.0,
    "drive_target": 0.0,
    "drive_target_velocity": 0.0,
    "effort_limit": np.inf,
}


@dataclass
class BodyInput:
    """One rigid body.

    Attributes:
        name: path of the body.
        mass: [kg], (W|1,).
        com: [m], (W|1, 3), body frame.
        inertia: [kg m^2], (W|1, 3, 3), about the centre of mass, body axes.
        pose: [m, 1], (W|1, 7), with all joint coordinates at zero, world.
        kinematic: prescribed motion.
        n_vectors: of its natural coordinates, -1 where nothing is said.
        compliance: [1/(N m)], (W|1,), of its rigidity in natural coordinates.
        gravity_compensation: [1], (W|1,), what of its weight is held up.
        volume: [m^3], (W|1,), of the shapes that give its mass; None without.
    """

    name: str
    mass: _Array
    com: _Array
    inertia: _Array
    pose: _Array = field(default_factory=lambda: ONE_POSE)
    kinematic: bool = False
    n_vectors: int = -1
    compliance: _Array = field(default_factory=lambda: ZERO)
    gravity_compensation: _Array = field(default_factory=lambda: ZERO)
    volume: _Array | None = None


@dataclass
class Gear:
    """What a joint follows: q = sum of polynomial_n q_leader^n, dof by dof.

    Attributes:
        leader: joint index.
        polynomial: [m or rad, over m^n or rad^n], (W|1, N), from n = 0 on; two at least.
    """

    leader: int
    polynomial: _Array


@dataclass
class JointInput:
    """One joint.

    Attributes:
        name: path of the joint.
        kind: JointKind.
        parent: body index or WORLD.
        child: body index.
        motion: its axes, (W|1, n, 3).
        X_p: [m, 1], (W|1, 7), parent anchor in the parent body.
        X_c: [m, 1], (W|1, 7), child anchor in the child body, moved by `init_angle`.
        is_tree: False for a joint that closes a loop.
        enabled: False for a joint that does nothing.
        articulation: index, -1 for none.
        length: [m], (W|1, 2), of distance joints.
        compliance: [m/N, rad/(N m)], (W|1,), of its rows.
        init_angle: [m, rad], (W|1,), reported coordinate where the anchors of the scene coincide.
        gear: the joint that it follows, None for none.
        q: [m, rad, 1], (W|1, n_q), initial coordinates; zero (identity) if None.
        qd: (W|1, n_qd), initial velocities; zero if None.
        drawn: [m, rad, 1], (W|1, n_q), coordinates as drawn, where nothing is written; q if None.
        named: the rank of who names q, an option or a batch (`simcli.spec.base.nodes.Rank`); 0: nobody.
        q_given: whether the scene wrote q.
        qd_given: (n_qd,) bool, whether the scene wrote qd; nothing if None.
        effort: [N, N m], (W|1, n_qd), constant applied effort; zero if None.
        dof: columns of `Dofs` by name, (W|1, n_qd); DOF_DEFAULTS where left out.
        drive_mode: (n_qd,) DriveMode.
    """

    name: str
    kind: JointKind
    parent: int
    child: int
    motion: MotionAxis
    X_p: _Array = field(default_factory=lambda: ONE_POSE)
    X_c: _Array = field(default_factory=lambda: ONE_POSE)
    is_tree: bool = True
    enabled: bool = True
    articulation: int = -1
    length: _Array = field(default_factory=lambda: NO_LENGTH)
    compliance: _Array = field(default_factory=lambda: ZERO)
    init_angle: _Array = field(default_factory=lambda: ZERO)
    gear: Gear | None = None
    q: _Array | None = None
    qd: _Array | None = None
    drawn: _Array | None = None
    named: int = 0
    q_given: bool = False
    qd_given: _Array | None = None
    effort: _Array | None = None
    dof: dict[str, _Array] = field(default_factory=dict)
    drive_mode: tuple[DriveMode, ...] | None = None

    @property
    def entry(self) -> JointEntry:
        """Catalogue entry."""
        return CATALOGUE[TYPE_NAME[self.kind]]

    @property
    def n_q(self) -> int:
        """Number of joint coordinates."""
        return self.entry.n_q(self.motion)

    @property
    def n_qd(self) -> int:
        """Number of joint velocities."""
        return sum(self.entry.dof_dim(self.motion))

    def zero_q(self) -> _Array:
        """Coordinates of the joint at rest in its anchor frames, (1, n_q); NaN for slots."""
        q = np.zeros((1, self.n_q))
        if self.entry.has_quaternion:
            q[:, -1] = 1.0
        if self.entry.coordinates == "slots":
            q[:] = np.nan
        return q


@dataclass
class Mechanism:
    """All parts of a model.

    Attributes:
        bodies: in file order.
        joints: in file order, then the free joints of bodies that no tree joint reaches.
        n_worlds: W.
        plane: index of the normal of a planar scene, -1 in space.
        gravity: [m/s^2], (W|1, 3), world.
        articulation_name: names of the articulations.
        shapes: table.
        points: table.
        cables: table.
        wrenches: table.
        param_name: varied parameters.
        param_unit: their units.
        param_value: (W, P).
        world_seed: (W,) uint64.
    """

    bodies: list[BodyInput]
    joints: list[JointInput]
    n_worlds: int = 1
    gravity: _Array = field(default_factory=lambda: np.array([[0.0, 0.0, -9.81]]))
    articulation_name: tuple[str, ...] = ()
    shapes: Shapes = field(default_factory=Shapes.empty)
    points: Points = field(default_factory=Points.empty)
    cables: Cables = field(default_factory=Cables.empty)
    wrenches: Wrenches = field(default_factory=Wrenches.empty)
    param_name: tuple[str, ...] = ()
    param_unit: tuple[str, ...] = ()
    param_value: _Array | None = None
    world_seed: _Array | None = None
    plane: int = -1


_FIELDS = {name for names in READS.values() for name in names}
_READING = {name: np.array([name in READS.get(mode.name.lower(), ()) for mode in DriveMode]) for name in _FIELDS}


def reads(mode: Array, field: str) -> Array:
    """Where drives read a field.

    Args:
        mode: (...) DriveMode.
        field: of `spec.schema_joint.DriveSpec`: target, target_velocity, stiffness or damping.

    Returns:
        (...) bool, False where there is no drive.
    """
    return _READING[field][mode]
