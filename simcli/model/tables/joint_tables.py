"""Joints, their dofs and gears, sums of their coordinates, and the links of the spanning tree, as tables."""

from dataclasses import dataclass

import numpy as np

from simcli.model.tables.table_base import FOUND_AGAIN, IN_SCENE, Array, Changes, Table, per


@dataclass(frozen=True)
class Joints(Table, axis="J", entry="joint", is_original=True):
    """Joints in file order, then the free joints made for bodies that no tree joint names as child.

    Attributes:
        kind: JointKind.
        parent: body index or WORLD.
        child: body index.
        is_tree: the others close loops.
        articulation: index into `articulation_name`, -1 for orphans.
        articulation_name: names of the articulations.
        X_p: parent anchor in the parent body (in the world if the parent is WORLD).
        X_c: child anchor in the child body, moved by `init_angle` along or about the axis.
        init_angle: reported coordinate where the anchors of the scene coincide, 0 without one.
        q_start: offsets into joint_q.
        qd_start: offsets into joint_qd.
        dof_dim: numbers of linear and angular dofs.
        pitch: of screws, else 0.
        length: minimum and maximum distance of distance joints; NaN: no bound on that side. A soft
            bound has its stiffness and damping in dofs.limit_stiffness and dofs.limit_damping at the joint's first dof.
            Of orbital joints both are the radius; of rolling ones the radii of the rim's centre line and section.
        normal: of the plane of a rolling joint or a blade, parent anchor frame; else 0.
        heading: axis of the wheel, or direction of the blade, child anchor frame; else 0.
        compliance: of the joint's rows, 0 is rigid.
    """

    name: tuple[str, ...]
    kind: Array = per("J", dataset="joint_type")
    parent: Array = per("J", refers="B")
    child: Array = per("J", refers="B")
    is_tree: Array = per("J", kind=bool)
    enabled: Array = per("J", changes=Changes.NUMBERS, kind=bool)
    articulation: Array = per("J")
    articulation_name: tuple[str, ...]
    X_p: Array = per("W|1 J pose", "m, 1")
    X_c: Array = per("W|1 J pose", "m, 1")
    init_angle: Array = per("W|1 J", "m, rad", is_later=True)
    q_start: Array = per("J+1", dataset="q_start")
    qd_start: Array = per("J+1", dataset="qd_start")
    dof_dim: Array = per("J dof_kind")
    pitch: Array = per("W|1 J", "m/rad")
    length: Array = per("W|1 J bound", "m")
    compliance: Array = per("W|1 J", "m/N, rad/(N m)", changes=Changes.NUMBERS, is_later=True)
    normal: Array = per("W|1 J xyz", is_later=True)
    heading: Array = per("W|1 J xyz", is_later=True)


@dataclass(frozen=True)
class Dofs(Table, entry="dof", is_original=True):
    """Properties per velocity coordinate, indexed as joint_qd (linear before angular within a joint).

    Units are those of a linear dof [m, N] or of an angular one [rad, N m]. Limits and targets of a ball joint, one per
    dof, are components of the rotation vector of its quaternion, parent anchor frame.

    Attributes:
        label: as `pin`, or `ball:0` for joints of several dofs.
        q_label: of joint_q.
        joint: joint index.
        axis: unit, parent anchor frame.
        damping: viscous, that of torsion springs included.
        spring_stiffness: of torsion springs, together.
        spring_rest: coordinate where these give no effort.
        spring_energy: that several springs of different rests store there.
        friction: dry friction.
        limit_lower: -inf if there is none.
        limit_upper: +inf if there is none.
        limit_stiffness: 0 for a hard limit.
        limit_damping: NaN for critically damped.
        velocity_limit: +inf if there is none.
        rate_lower, rate_upper: infinite if there are none; of couplings, in the form that has their coordinates.
        drive_mode: DriveMode.
        drive_target: position target, or effort in EFFORT mode.
        effort_limit: +inf if there is none; where it depends on the speed the largest one, see `EffortCurves`.
        q_given: True where the scene wrote the initial coordinate (all dofs of a quaternion joint alike).
        qd_given: True where the scene wrote the initial velocity, 0 included.
    """

    label: tuple[str, ...]
    q_label: tuple[str, ...]
    axis: Array = per("W|1 NV xyz", dataset="joint_axis")
    joint: Array = per("NV", refers="J")
    armature: Array = per("W|1 NV", "kg, kg m^2", changes=Changes.NUMBERS)
    damping: Array = per("W|1 NV", "N s/m, N m s/rad", changes=Changes.NUMBERS)
    spring_stiffness: Array = per("W|1 NV", "N/m, N m/rad", changes=Changes.NUMBERS, is_later=True)
    spring_rest: Array = per("W|1 NV", "m, rad", changes=Changes.NUMBERS, is_later=True)
    spring_energy: Array = per("W|1 NV", "J", changes=Changes.NUMBERS, is_later=True)
    friction: Array = per("W|1 NV", "N, N m", changes=Changes.NUMBERS)
    limit_lower: Array = per("W|1 NV", "m, rad", changes=Changes.NUMBERS)
    limit_upper: Array = per("W|1 NV", "m, rad", changes=Changes.NUMBERS)
    limit_stiffness: Array = per("W|1 NV", "N/m, N m/rad", changes=Changes.NUMBERS)
    limit_damping: Array = per("W|1 NV", "N s/m, N m s/rad", changes=Changes.NUMBERS)
    velocity_limit: Array = per("W|1 NV", "m/s, rad/s", changes=Changes.NUMBERS)
    drive_mode: Array = per("NV")
    drive_stiffness: Array = per("W|1 NV", "N/m, N m/rad", changes=Changes.NUMBERS)
    drive_damping: Array = per("W|1 NV", "N s/m, N m s/rad", changes=Changes.NUMBERS)
    drive_target: Array = per("W|1 NV", "mixed", changes=Changes.NUMBERS)
    drive_target_velocity: Array = per("W|1 NV", "m/s, rad/s", changes=Changes.NUMBERS)
    effort_limit: Array = per("W|1 NV", "N, N m", changes=Changes.NUMBERS)
    rate_lower: Array = per("W|1 NV", "m/s, rad/s", changes=Changes.NUMBERS, left_out=IN_SCENE)
    rate_upper: Array = per("W|1 NV", "m/s, rad/s", changes=Changes.NUMBERS, left_out=IN_SCENE)
    q_given: Array = per("NV", kind=bool, left_out=FOUND_AGAIN)
    qd_given: Array = per("NV", kind=bool, left_out=FOUND_AGAIN)


@dataclass(frozen=True)
class Mimics(Table, axis="M", entry="mimic"):
    """Gears, dof by dof: q[follower] = offset + ratio x + sum of curve_n x^n, x = q[leader]. Scalar dofs; no cycles.

    Attributes:
        name: label of the following dof.
        follower: index into joint_qd.
        leader: index into joint_qd; it may follow another one.
        curve: n from 2 on; 0 for what the others need beyond their degree.
    """

    name: tuple[str, ...]
    follower: Array = per("M", refers="NV")
    leader: Array = per("M", refers="NV")
    ratio: Array = per("W|1 M", "1, m/rad, rad/m")
    offset: Array = per("W|1 M", "m, rad")
    curve: Array = per("W|1 M I", "mixed")

    @property
    def polynomial(self) -> Array:
        """Coefficients of x^0, x^1 and so on, (W|1, M, 2 + I)."""
        parts = self.offset[..., None], self.ratio[..., None], self.curve
        lead = max(map(len, parts))
        return np.concatenate([np.broadcast_to(one, (lead, *one.shape[1:])) for one in parts], axis=-1)


@dataclass(frozen=True)
class EffortCurves(Table, left_out=IN_SCENE):
    """Points of the lines that bound efforts of drives by the speed along them; held beyond their ends.

    Attributes:
        dof: of each point, one dof after the other; of a coupling that of its coordinate, as in `Inputs`.
        speed: rising within a dof.
        effort: largest one there.
    """

    dof: Array = per("P")
    speed: Array = per("W|1 P", "m/s, rad/s")
    effort: Array = per("W|1 P", "N, N m")


@dataclass(frozen=True)
class Combinations(Table, left_out=IN_SCENE):
    """Sums of polynomials of joint coordinates, x = sum of p_i(q_i), with what acts along them.

    Attributes:
        is_linear: x is in m; else in rad.
        term_start: offsets into the terms.
        term_dof: index into joint_qd.
        term_polynomial: coefficients of p_i, from that of q^0 on.
        drive_mode: DriveMode.
        friction, ..., effort_limit: as of `Dofs`.
    """

    name: tuple[str, ...]
    is_linear: Array = per("X", kind=bool)
    term_start: Array = per("X+1")
    term_dof: Array = per("T")
    term_polynomial: Array = per("W|1 T power")
    drive_mode: Array = per("X")
    friction: Array = per("W|1 X", changes=Changes.NUMBERS)
    damping: Array = per("W|1 X", changes=Changes.NUMBERS)
    spring_stiffness: Array = per("W|1 X", changes=Changes.NUMBERS)
    spring_rest: Array = per("W|1 X", changes=Changes.NUMBERS)
    limit_lower: Array = per("W|1 X", changes=Changes.NUMBERS)
    limit_upper: Array = per("W|1 X", changes=Changes.NUMBERS)
    limit_stiffness: Array = per("W|1 X", changes=Changes.NUMBERS)
    limit_damping: Array = per("W|1 X", changes=Changes.NUMBERS)
    velocity_limit: Array = per("W|1 X", changes=Changes.NUMBERS)
    rate_lower: Array = per("W|1 X", changes=Changes.NUMBERS)
    rate_upper: Array = per("W|1 X", changes=Changes.NUMBERS)
    drive_stiffness: Array = per("W|1 X", changes=Changes.NUMBERS)
    drive_damping: Array = per("W|1 X", changes=Changes.NUMBERS)
    drive_target: Array = per("W|1 X", changes=Changes.NUMBERS)
    drive_target_velocity: Array = per("W|1 X", changes=Changes.NUMBERS)
    effort_limit: Array = per("W|1 X", changes=Changes.NUMBERS)


@dataclass(frozen=True)
class HeldSums(Table, left_out=IN_SCENE):
    """Sums of polynomials of joint coordinates that are held: x = value.

    Attributes:
        term_start, term_dof, term_polynomial: as of `Combinations`.
    """

    name: tuple[str, ...]
    term_start: Array = per("X+1")
    term_dof: Array = per("T")
    term_polynomial: Array = per("W|1 T power")
    value: Array = per("W|1 X", "m, rad")


def terms_of(sums: Combinations | HeldSums, k: int) -> tuple[list[tuple[int, list[Array]]], Array]:
    """What one sum is made of.

    Returns:
        Of each term its dof and its coefficients from that of q^1 on, (W|1,) each; the sum of those of q^0, (W|1,).
    """
    chosen = slice(*sums.term_start[k : k + 2])
    polynomials = sums.term_polynomial[:, chosen]
    terms = [(d, list(polynomials[:, n, 1:].T)) for n, d in enumerate(sums.term_dof[chosen].tolist())]
    return terms, polynomials[..., 0].sum(axis=1)


@dataclass(frozen=True)
class Links(Table, left_out=FOUND_AGAIN):
    """The spanning tree as elementary links, parents before children (depth first).

    A joint of n scalar dofs is a chain of n HELIX links of which only the last carries the body. The frame of a HELIX
    link has its z axis along the joint axis, so that its pose is, with parent link p (the world if WORLD):

        HELIX  R = R_p C Rz(turn q)      o = o_p + R_p (r + advance q C e_z)
        BALL   R = R_p C R(quat)         o = o_p + R_p r
        FREE   R = R_p C R(quat)         o = o_p + R_p (r + C q[0:3])
        WELD   R = R_p C                 o = o_p + R_p r

    and the body frame is R_body = R B, x_body = o + R b.

    Attributes:
        parent: link index or WORLD.
        root: index of the first link of the tree that holds this link.
        kind: LinkKind.
        joint: joint index.
        body: body index, -1 for a massless link inside a joint.
        q_start: first index into joint_q.
        qd_start: first index into joint_qd.
        n_qd: number of dofs.
        rotation: C.
        offset: r, parent link frame.
        turn: 1 for a hinge or screw, 0 for a slide.
        advance: 0 for a hinge, 1 for a slide, the pitch for a screw.
        mass: 0 for massless links.
        com: link frame.
        inertia: about the centre of mass, link frame: xx yy zz xy xz yz.
        body_rotation: B.
        body_offset: b, link frame.
        tip: link that carries each body.
    """

    parent: Array = per("L")
    root: Array = per("L")
    kind: Array = per("L")
    joint: Array = per("L")
    body: Array = per("L")
    q_start: Array = per("L")
    qd_start: Array = per("L")
    n_qd: Array = per("L")
    rotation: Array = per("W|1 L xyz xyz")
    offset: Array = per("W|1 L xyz", "m")
    turn: Array = per("L", "1, rad/m", kind=float)
    advance: Array = per("W|1 L", "m/rad, 1")
    mass: Array = per("W|1 L", "kg")
    com: Array = per("W|1 L xyz", "m")
    inertia: Array = per("W|1 L 6", "kg m^2")
    body_rotation: Array = per("W|1 L xyz xyz")
    body_offset: Array = per("W|1 L xyz", "m")
    tip: Array = per("B")
