"""The model: read-only numpy tables. Every number of the physics that the device sees stands here.

Conventions, those of the Newton engine: quaternions x y z w; poses px py pz qx qy qz qw; 6-vectors linear before
angular; the world frame has no suffix. A physical table carries a leading world axis of length 1 (shared by all worlds)
or W (varied by the batch); index tables carry none. Tables are plural, columns singular. All arrays are read-only.
"""

from dataclasses import dataclass
from enum import IntEnum

from simcli.model.affine.table import Affine
from simcli.model.contact.tables import Contacts
from simcli.model.forces.tables import Bushings, Cables, Springs, Wrenches
from simcli.model.joints.combinations import Combinations
from simcli.model.phases.beginning import Beginning
from simcli.model.signals.tables import Inputs, Lawful, Motions, Signals
from simcli.model.table_base import Array, Table

WORLD = -1  # body index of the world


class JointKind(IntEnum):
    """Joint types. The first eight have Newton's numbers; the last seven are joints of Rible's that no tree can hold."""

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


class LinkKind(IntEnum):
    """Elementary joints that the tree kernels know; every tree joint is a chain of these."""

    WELD = 0  # no dof
    HELIX = 1  # one dof about and along the link's z axis: hinge, slide, screw
    BALL = 2  # quaternion, three dofs
    FREE = 3  # position and quaternion, six dofs
    AFFINE = 4  # centre of mass and up to three vectors, a root; see Columns


class DriveMode(IntEnum):
    """Actuator modes, Newton's numbers."""

    NONE = 0
    POSITION = 1
    VELOCITY = 2
    POSITION_VELOCITY = 3
    EFFORT = 4


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


@dataclass(frozen=True)
class Bodies(Table):
    """Rigid bodies, in file order.

    Attributes:
        name: (B,).
        mass: [kg], (W|1, B).
        com: [m], (W|1, B, 3), body frame.
        inertia: [kg m^2], (W|1, B, 3, 3), about the centre of mass, body axes.
        q: [m, 1], (W|1, B, 7), authored pose of the body frame (joint coordinates at zero), world.
        kinematic: (B,) bool.
        n_vectors: (B,) vectors of the natural coordinates that the scene asks for, -1 where it says nothing.
        compliance: [1/(N m)], (W|1, B), of rigidity in natural coordinates.
    """

    name: tuple[str, ...]
    mass: Array
    com: Array
    inertia: Array
    q: Array
    kinematic: Array
    n_vectors: Array
    compliance: Array


@dataclass(frozen=True)
class Joints(Table):
    """Joints in file order, then the free joints made for bodies that no tree joint names as child.

    Attributes:
        name: (J,).
        kind: (J,) JointKind.
        parent: (J,) body index or WORLD.
        child: (J,) body index.
        is_tree: (J,) bool; the others close loops.
        enabled: (J,) bool.
        articulation: (J,) index into `articulation_name`, -1 for orphans.
        articulation_name: names of the articulations.
        X_p: [m, 1], (W|1, J, 7), parent anchor in the parent body (in the world if the parent is WORLD).
        X_c: [m, 1], (W|1, J, 7), child anchor in the child body.
        q_start: (J + 1,) offsets into joint_q.
        qd_start: (J + 1,) offsets into joint_qd.
        dof_dim: (J, 2) numbers of linear and angular dofs.
        pitch: [m/rad], (W|1, J), of screws, else 0.
        length: [m], (W|1, J, 2), minimum and maximum distance of distance joints; NaN: no bound on that side. A soft
            bound has its stiffness and damping in dofs.limit_stiffness and dofs.limit_damping at the joint's first dof.
            Of orbital joints both are the radius.
        compliance: [m/N, rad/(N m)], (W|1, J), of the joint's rows, 0 is rigid.
    """

    name: tuple[str, ...]
    kind: Array
    parent: Array
    child: Array
    is_tree: Array
    enabled: Array
    articulation: Array
    articulation_name: tuple[str, ...]
    X_p: Array
    X_c: Array
    q_start: Array
    qd_start: Array
    dof_dim: Array
    pitch: Array
    length: Array
    compliance: Array


@dataclass(frozen=True)
class Dofs(Table):
    """Properties per velocity coordinate, indexed as joint_qd (linear before angular within a joint).

    Units are those of a linear dof [m, N] or of an angular one [rad, N m]. Limits and targets of a ball joint, one per
    dof, are components of the rotation vector of its quaternion, parent anchor frame.

    Attributes:
        label: (NV,) as `pin`, or `ball:0` for joints of several dofs.
        q_label: (NQ,) labels of joint_q.
        joint: (NV,) joint index.
        axis: [1], (W|1, NV, 3), unit, parent anchor frame.
        armature: [kg, kg m^2], (W|1, NV).
        damping: [N s/m, N m s/rad], (W|1, NV), viscous, that of torsion springs included.
        spring_stiffness: [N/m, N m/rad], (W|1, NV), of torsion springs, together.
        spring_rest: [m, rad], (W|1, NV), coordinate where these give no effort.
        spring_energy: [J], (W|1, NV), that several springs of different rests store there.
        friction: [N, N m], (W|1, NV), dry friction.
        limit_lower: (W|1, NV), -inf if there is none.
        limit_upper: (W|1, NV), +inf if there is none.
        limit_stiffness: (W|1, NV), 0 for a hard limit.
        limit_damping: (W|1, NV), NaN for critically damped.
        velocity_limit: (W|1, NV), +inf if there is none.
        drive_mode: (NV,) DriveMode.
        drive_stiffness: (W|1, NV).
        drive_damping: (W|1, NV).
        drive_target: (W|1, NV), position target, or effort in EFFORT mode.
        drive_target_velocity: (W|1, NV).
        effort_limit: (W|1, NV), +inf if there is none.
        q_given: (NV,) bool, True where the scene wrote the initial coordinate (all dofs of a quaternion joint alike).
        qd_given: (NV,) bool, True where the scene wrote the initial velocity, 0 included.
    """

    label: tuple[str, ...]
    q_label: tuple[str, ...]
    joint: Array
    axis: Array
    armature: Array
    damping: Array
    spring_stiffness: Array
    spring_rest: Array
    spring_energy: Array
    friction: Array
    limit_lower: Array
    limit_upper: Array
    limit_stiffness: Array
    limit_damping: Array
    velocity_limit: Array
    drive_mode: Array
    drive_stiffness: Array
    drive_damping: Array
    drive_target: Array
    drive_target_velocity: Array
    effort_limit: Array
    q_given: Array
    qd_given: Array


@dataclass(frozen=True)
class Links(Table):
    """The spanning tree as elementary links, parents before children (depth first).

    A joint of n scalar dofs is a chain of n HELIX links of which only the last carries the body. The frame of a HELIX
    link has its z axis along the joint axis, so that its pose is, with parent link p (the world if WORLD):

        HELIX  R = R_p C Rz(turn q)      o = o_p + R_p (r + advance q C e_z)
        BALL   R = R_p C R(quat)         o = o_p + R_p r
        FREE   R = R_p C R(quat)         o = o_p + R_p (r + C q[0:3])
        WELD   R = R_p C                 o = o_p + R_p r

    and the body frame is R_body = R B, x_body = o + R b.

    Attributes:
        parent: (L,) link index or WORLD.
        root: (L,) index of the first link of the tree that holds this link.
        kind: (L,) LinkKind.
        joint: (L,) joint index.
        body: (L,) body index, -1 for a massless link inside a joint.
        q_start: (L,) first index into joint_q.
        qd_start: (L,) first index into joint_qd.
        n_qd: (L,) number of dofs.
        rotation: [1], (W|1, L, 3, 3), C.
        offset: [m], (W|1, L, 3), r, parent link frame.
        turn: [rad/rad or rad/m], (L,), 1 for a hinge or screw, 0 for a slide.
        advance: [m/rad or m/m], (W|1, L), 0 for a hinge, 1 for a slide, the pitch for a screw.
        mass: [kg], (W|1, L), 0 for massless links.
        com: [m], (W|1, L, 3), link frame.
        inertia: [kg m^2], (W|1, L, 6), about the centre of mass, link frame: xx yy zz xy xz yz.
        body_rotation: [1], (W|1, L, 3, 3), B.
        body_offset: [m], (W|1, L, 3), b, link frame.
        tip: (B,) link that carries each body.
    """

    parent: Array
    root: Array
    kind: Array
    joint: Array
    body: Array
    q_start: Array
    qd_start: Array
    n_qd: Array
    rotation: Array
    offset: Array
    turn: Array
    advance: Array
    mass: Array
    com: Array
    inertia: Array
    body_rotation: Array
    body_offset: Array
    tip: Array


@dataclass(frozen=True)
class Columns(Table):
    """Natural coordinates of AFFINE links: the centre of mass p and vectors a_1.. along the principal axes of mass.

    Their coordinates are the 3 (1 + n_vectors) numbers p, a_1, .. in world axes, their velocities the rates of these.

    Attributes:
        n_vectors: (L,): 3 for a body, 1 for a bar and in a planar scene, 0 for a point or a link of another kind.
        weight: [kg, kg m^2], (W|1, NV), mass that each velocity moves, and a little where it has none; 0 of other dofs.
        excess: [kg m^2], (W|1, NV), that little.
        active: (NV,) bool, False for dofs that leave the plane of a planar scene.
        led: (L,) joint that leads a kinematic body, else -1 (model/natural/led.py).
    """

    n_vectors: Array
    weight: Array
    excess: Array
    active: Array
    led: Array


@dataclass(frozen=True)
class Naturals(Table):
    """Points and vectors by which the natural solver shows the bodies, body by body (natural/constructors.py).

    Attributes:
        label: of every number of these coordinates, as `rod:2P.a.x`: body, kind, entity, axis.
        body: (E,) body of each point or vector.
        is_point: (E,) bool.
        place: [m], (W|1, E, 3), body frame.
    """

    label: tuple[str, ...]
    body: Array
    is_point: Array
    place: Array


@dataclass(frozen=True)
class Mimics(Table):
    """Gears, dof by dof: q[follower] = ratio q[leader] + offset. Both are scalar dofs of tree joints; no cycles.

    Attributes:
        name: (M,) label of the following dof.
        follower: (M,) index into joint_qd.
        leader: (M,) index into joint_qd; it may follow another one.
        ratio: [1, m/rad or rad/m], (W|1, M).
        offset: [m or rad], (W|1, M).
    """

    name: tuple[str, ...]
    follower: Array
    leader: Array
    ratio: Array
    offset: Array


@dataclass(frozen=True)
class Shapes(Table):
    """Shapes on bodies and in the world.

    Attributes:
        name: (S,).
        kind: (S,) ShapeKind.
        body: (S,) body index or WORLD.
        size: [m], (W|1, S, 3): sphere (radius, 0, 0); box full lengths; capsule, cylinder, cone (radius, length, 0);
            ellipsoid radii; terrain extent along x and y, 0; plane and mesh 0.
        pose: [m, 1], (W|1, S, 7), in the body.
        collide: (S,) bool.
        vertices: mesh vertices per shape, (n, 3) [m] in the shape frame, empty for others.
        faces: mesh triangles per shape, (m, 3), empty for others.
        heights: [m] of terrain per shape, (rows along y, columns along x), empty for others.
        convex: (S,) whether the hull of a mesh stands for it.
    """

    name: tuple[str, ...]
    kind: Array
    body: Array
    size: Array
    pose: Array
    collide: Array
    vertices: tuple[Array, ...]
    faces: tuple[Array, ...]
    heights: tuple[Array, ...] = ()
    convex: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Points(Table):
    """Named points of bodies.

    Attributes:
        name: (P,) as `crank/b`.
        body: (P,) body index.
        position: [m], (W|1, P, 3), body frame.
    """

    name: tuple[str, ...]
    body: Array
    position: Array


@dataclass(frozen=True)
class Model:
    """Everything the solvers read.

    Attributes:
        n_worlds: W.
        plane: index of the axis that is normal to the plane of a planar scene, -1 in space.
        gravity: [m/s^2], (W|1, 3), world.
        joint_q: (W|1, NQ), initial joint coordinates in Newton's layout; cable slots NaN.
        joint_qd: (W|1, NV), initial joint velocities.
        joint_f: [N, N m], (W|1, NV), constant applied joint efforts (forces of type torque).
        param_name: (P,) varied parameters; param_unit: (P,); param_value: (W, P); world_seed: (W,) uint64.
        columns: of the natural form of a model (natural/form.py), else None.
        naturals: of a scene for the natural solver, else None.
        contacts: pairs of shapes that can touch, None if none can.  affine: of a scene for the affine solver, else None.
        start: what was done to begin with joint_q and joint_qd; None while these are as the scene wrote them.
        lawful: dofs that have laws in any phase of a run, so that all phases have the same rows; None: those of this model.
        spring_rows: whether springs are rows, for steps that take them implicitly.
        combinations: of coordinates; in the form that solvers step (joints/combined.py) joints stand for them.
    """

    n_worlds: int
    bodies: Bodies
    joints: Joints
    dofs: Dofs
    links: Links
    mimics: Mimics
    shapes: Shapes
    points: Points
    springs: Springs
    bushings: Bushings
    combinations: Combinations
    cables: Cables
    wrenches: Wrenches
    signals: Signals
    inputs: Inputs
    motions: Motions
    gravity: Array
    joint_q: Array
    joint_qd: Array
    joint_f: Array
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
    lawful: Lawful | None = None
    spring_rows: bool = False

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
