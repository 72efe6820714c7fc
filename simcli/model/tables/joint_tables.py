"""Joints, their dofs and gears, sums of their coordinates, and the links of the spanning tree, as tables."""

from dataclasses import dataclass

import numpy as np

from simcli.model.tables.table_base import Array, Table


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
        X_c: [m, 1], (W|1, J, 7), child anchor in the child body, moved by `init_angle` along or about the axis.
        init_angle: [m, rad], (W|1, J), reported coordinate where the anchors of the scene coincide, 0 without one.
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
    init_angle: Array
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
class Mimics(Table):
    """Gears, dof by dof: q[follower] = offset + ratio x + sum of curve_n x^n, x = q[leader]. Scalar dofs; no cycles.

    Attributes:
        name: (M,) label of the following dof.
        follower: (M,) index into joint_qd.
        leader: (M,) index into joint_qd; it may follow another one.
        ratio: [1, m/rad or rad/m], (W|1, M).
        offset: [m or rad], (W|1, M).
        curve: [m or rad, over m^n or rad^n], (W|1, M, I), n from 2 on; 0 for what the others need beyond their degree.
    """

    name: tuple[str, ...]
    follower: Array
    leader: Array
    ratio: Array
    offset: Array
    curve: Array

    @property
    def polynomial(self) -> Array:
        """Coefficients of x^0, x^1 and so on, (W|1, M, 2 + I)."""
        parts = self.offset[..., None], self.ratio[..., None], self.curve
        lead = max(map(len, parts))
        return np.concatenate([np.broadcast_to(one, (lead, *one.shape[1:])) for one in parts], axis=-1)


@dataclass(frozen=True)
class Combinations(Table):
    """Sums of polynomials of joint coordinates, x = sum of p_i(q_i), with what acts along them.

    Attributes:
        name: (X,).
        is_linear: (X,) bool, x is in m; else in rad.
        term_start: (X + 1,) offsets into the terms.
        term_dof: (T,) index into joint_qd.
        term_polynomial: (W|1, T, N), coefficients of p_i, from that of q^0 on.
        drive_mode: (X,) DriveMode.
        friction, ..., effort_limit: (W|1, X), as of `Dofs`.
    """

    name: tuple[str, ...]
    is_linear: Array
    term_start: Array
    term_dof: Array
    term_polynomial: Array
    drive_mode: Array
    friction: Array
    damping: Array
    spring_stiffness: Array
    spring_rest: Array
    limit_lower: Array
    limit_upper: Array
    limit_stiffness: Array
    limit_damping: Array
    velocity_limit: Array
    drive_stiffness: Array
    drive_damping: Array
    drive_target: Array
    drive_target_velocity: Array
    effort_limit: Array


@dataclass(frozen=True)
class HeldSums(Table):
    """Sums of polynomials of joint coordinates that are held: x = value.

    Attributes:
        name: (X,).
        term_start, term_dof, term_polynomial: as of `Combinations`.
        value: [m or rad], (W|1, X).
    """

    name: tuple[str, ...]
    term_start: Array
    term_dof: Array
    term_polynomial: Array
    value: Array


def terms_of(sums: Combinations | HeldSums, k: int) -> tuple[list[tuple[int, list[Array]]], Array]:
    """What one sum is made of.

    Returns:
        Of each term its dof and its coefficients from that of q^1 on, (W|1,) each; the sum of those of q^0, (W|1,).
    """
    chosen = slice(*sums.term_start[k : k + 2])
    polynomials = sums.term_polynomial[:, chosen]
    terms = [(d, list(polynomials[:, n, 1:].T)) for n, d in enumerate(sums.term_dof[chosen].tolist())]
    return terms, polynomials[..., 0].sum(axis=1)


def no_held_sums() -> HeldSums:
    """A table that holds nothing."""
    return HeldSums((), np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros((1, 0, 2)), np.zeros((1, 0)))


def no_combinations() -> Combinations:
    """A table without combinations."""
    none = np.zeros(0, np.int32)
    return Combinations(
        (),
        np.zeros(0, bool),
        np.zeros(1, np.int32),
        none,
        np.zeros((1, 0, 2)),
        none.copy(),
        *(np.zeros((1, 0)) for _ in range(14)),
    )


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
