"""The spanning tree as a table of elementary links."""

from dataclasses import dataclass

from simcli.model.table_base import Array, Table


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
