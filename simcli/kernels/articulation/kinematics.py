"""Forward kinematics of trees: joint coordinates to poses and twists of links.

Everything is expressed in world axes about one reference point O per tree, the origin of the tree's first link, taken as
fixed in the world at the instant. Then no quantity needs a transform between parent and child: motions, forces and
inertias of a tree simply add (the choice of MuJoCo's smooth dynamics; there O is the centre of mass). The price is a
loss of about (size of the tree / size of a link)^2 units in the last place.

Notation: R rotation of the link frame; o its origin relative to O; S motion columns; c velocity-product acceleration.
"""

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables, links_of_part
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import normalized, sincos
from simcli.kernels.language.values import Force, Inertia, Mat3, Motion, Quat, Vec3, columns_of, unit_vector
from simcli.model.tables.model import LinkKind

HELIX, BALL, FREE, AFFINE = (int(kind) for kind in (LinkKind.HELIX, LinkKind.BALL, LinkKind.FREE, LinkKind.AFFINE))

_TINY = 1e-300


class TreeState:
    """Device state of the tree: coordinates, and what the sweeps leave for each other.

    Attributes:
        q: joint_q, (NQ).  qd: joint_qd, (NV).  qdd: joint_qdd, (NV).
        tau: joint efforts, (NV).  diagonal: what is added to the mass matrix's diagonal, (NV).
        stiffness: of what `tau` sums, (NV), if `keeps_stiffness`.
        origin: O of each tree, at its first link, world.
        R, o, v, a: rotation, origin, twist and acceleration of links about O.
        S: motion columns, per dof.  c: velocity-product acceleration, per link.
        f: force through joints, about O.  I: inertia of links, about O.
        external: applied force on each link, about O, if `has_external`.
        U, u, inv_d: elimination of each dof.
    """

    _data_oriented = True

    def __init__(self, tables: Tables, arena: Arena, has_external: bool = False, keeps_stiffness: bool = False):
        links, dofs = tables.links, tables.dofs
        self.n_blocks, self.has_external = arena.n_blocks, has_external
        self.external = links.array(Force) if has_external else arena.array(0, Force)
        self.q, self.qd, self.qdd = tables.coordinates.array(), dofs.array(), dofs.array()
        self.tau, self.diagonal = dofs.array(), dofs.array()
        self.keeps_stiffness, self.stiffness = keeps_stiffness, dofs.array() if keeps_stiffness else arena.array(0)
        self.origin = links.array(Vec3)
        self.R, self.o, self.v = links.array(Mat3), links.array(Vec3), links.array(Motion)
        self.a, self.c = links.array(Motion), links.array(Motion)
        self.S, self.U = dofs.array(Motion), dofs.array(Force)
        self.u, self.inv_d = dofs.array(), dofs.array()
        self.f, self.I = links.array(Force), links.array(Inertia)
        places = self.origin, self.R, self.o, self.v, self.S
        for array in (*places, self.a, self.c, self.U, self.u, self.inv_d, self.f, self.I):
            array.scratch()


def raw_quaternion(array, w, start) -> Quat:
    """Four consecutive scalars of an array, not normalised."""
    return Quat(*(array.load(w, start + k) for k in range(4)))


def quaternion_at(array, w, start) -> Quat:
    """The unit quaternion in the direction of four consecutive scalars of an array."""
    return normalized(raw_quaternion(array, w, start))


def vector_at(array, w, start) -> Vec3:
    """Three consecutive scalars of an array."""
    return Vec3(*(array.load(w, start + k) for k in range(3)))


def turned_about_z(R: Mat3, c, s) -> Mat3:
    """R Rz(angle)."""
    m = R.parts
    rows = ((m[3 * i] * c + m[3 * i + 1] * s, m[3 * i + 1] * c - m[3 * i] * s, m[3 * i + 2]) for i in range(3))
    return Mat3(*(x for row in rows for x in row))


def still(zero) -> Motion:
    """The zero motion, from a zero."""
    return Motion(*(zero,) * 6)


def upright(zero) -> Mat3:
    """The identity, from a zero."""
    one = zero + 1.0
    return Mat3(one, zero, zero, zero, one, zero, zero, zero, one)


@ti.func
def place_link(t: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32):
    """Place link i: pose, twist, motion columns and velocity-product acceleration, from its parent's and its own q, qd.

        v = v_p + S qd      c = v_p x (S qd), and for a free joint + (v_rel x w_rel): its angular columns pass through
        the centre of mass, which moves

    Returns R, o, v and c, so that who goes on with the same link need not load them.

    Reads:  t.links, s.{q, qd}, the parent's s.{R, o, v}
    Writes: s.{R, o, v, origin} of link i, s.S of its dofs
    """
    start = t.link_q.at(i)
    d = t.link_qd.at(i)
    kind = t.kind.at(i)
    zero = t.arena.zero()
    R, o, v = begin_at_parent(t, s, w, i, kind, start)
    v_j = still(zero)
    extra = Vec3(zero, zero, zero)
    if ti.static(t.has_helix):
        if kind == HELIX:
            R, v_j = move_helix(t, s, w, i, start, d, R, o)
    if ti.static(t.has_ball):
        if kind == BALL:
            R, v_j = move_ball(t, s, w, start, d, R, o)
    if ti.static(t.has_free):
        if kind == FREE:
            R, v_j, extra = move_free(t, s, w, i, start, d, R, o)
    if ti.static(t.has_affine):
        if kind == AFFINE:
            v_j = column_motions(t, s, w, i, start, d)
            extra = v_j.linear.cross(v_j.angular)  # the columns of p pass through the centre of mass, which moves
    c = v.cross(v_j)
    if ti.static(t.has_free or t.has_affine):
        c = Motion.of(c.linear + extra, c.angular)
    v = v + v_j
    s.v.store(w, i, v)
    s.R.store(w, i, R)
    s.o.store(w, i, o)
    return R, o, v, c


@ti.func
def begin_at_parent(t: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32, kind: ti.i32, start: ti.i32):
    """Rotation of the joint's anchor in the parent, origin of link i about O, and the parent's twist.

    The columns of an AFFINE link are its rotation already.

    Reads:  t.links, s.q, the parent's s.{R, o, v}
    Writes: s.origin of the first link of a tree
    """
    p = t.parent.at(i)
    zero = t.arena.zero()
    R = s.R.load(w, ti.max(p, 0))
    o = s.o.load(w, ti.max(p, 0))
    v = s.v.load(w, ti.max(p, 0))
    if p < 0:
        R = upright(zero)
        o = Vec3(zero, zero, zero)
        v = still(zero)
    o = o + R * t.offset.load(w, i)
    R = R * t.rotation.load(w, i)
    if ti.static(t.slides):
        if kind == HELIX:
            o = o + R.column(2) * (s.q.load(w, start) * t.advance.load(w, i))
    if ti.static(t.has_free):
        if kind == FREE:
            o = o + R * vector_at(s.q, w, start)
    if ti.static(t.has_affine):
        if kind == AFFINE:
            o = vector_at(s.q, w, start)
            R = attitude(t, s, w, i, start)
    if p < 0:  # the tree's reference point is here
        s.origin.store(w, i, o)
        o = Vec3(zero, zero, zero)
    return R, o, v


@ti.func
def move_helix(
    t: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32, start: ti.i32, d: ti.i32, R: ti.template(), o: ti.template()
):
    """Rotation of a link that turns about the anchor's z axis, slides along it, or both, and its twist against its parent.

    Reads:  t.links, s.{q, qd}
    Writes: s.S of dof d
    """
    q = s.q.load(w, start)
    axis = R.column(2)
    column = Motion.of(o.cross(axis), axis)
    if ti.static(t.slides):
        turn = t.turn.load(w, i)
        column = Motion.of(o.cross(axis) * turn + axis * t.advance.load(w, i), axis * turn)
        q = q * turn
    s.S.store(w, d, column)
    sine, cosine = sincos(q)
    return turned_about_z(R, cosine, sine), column * s.qd.load(w, d)


@ti.func
def move_ball(t: ti.template(), s: ti.template(), w: ti.i32, start: ti.i32, d: ti.i32, R: ti.template(), o: ti.template()):
    """Rotation of a link that turns about a point, and its twist against its parent; its columns are the anchor's axes.

    Reads:  s.{q, qd}
    Writes: s.S of dofs d to d + 2
    """
    v_j = still(t.arena.zero())
    for k in ti.static(range(3)):
        column = Motion.of(o.cross(R.column(k)), R.column(k))
        s.S.store(w, d + k, column)
        v_j = v_j + column * s.qd.load(w, d + k)
    return R * quaternion_at(s.q, w, start).matrix(), v_j


@ti.func
def move_free(
    t: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32, start: ti.i32, d: ti.i32, R: ti.template(), o: ti.template()
):
    """Rotation of a link that is free, its twist against its parent, and what of its acceleration c its moving columns are.

    Its dofs are the velocity of its centre of mass and its angular velocity, in the anchor's axes.

    Reads:  t.links, s.{q, qd}
    Writes: s.S of dofs d to d + 5
    """
    zero = t.arena.zero()
    R_c = R * quaternion_at(s.q, w, start + 3).matrix()
    com = o + R_c * t.com.load(w, i)
    rate = R * vector_at(s.qd, w, d)
    spin = R * vector_at(s.qd, w, d + 3)
    for k in ti.static(range(3)):
        s.S.store(w, d + k, Motion.of(R.column(k), Vec3(zero, zero, zero)))
        s.S.store(w, d + 3 + k, Motion.of(com.cross(R.column(k)), R.column(k)))
    return R_c, Motion.of(rate + com.cross(spin), spin), rate.cross(spin)


@ti.func
def attitude(t: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32, start: ti.i32):
    """Rotation of an AFFINE link: its vectors as columns, completed where there is only one.

        in a plane: a, n x a, n;  of a bar in space: the shortest turn that brings x over a

    Reads: s.q
    """
    zero = t.arena.zero()
    R = upright(zero)
    count = t.n_vectors.at(i)
    if ti.static(t.has_bodies):
        if count == 3:
            a = vector_at(s.q, w, start + 3)
            b = vector_at(s.q, w, start + 6)
            c = vector_at(s.q, w, start + 9)
            R = columns_of(a, b, c)
    if ti.static(t.has_bars):
        if count == 1:
            a = vector_at(s.q, w, start + 3)
            if ti.static(t.normal >= 0):
                normal = unit_vector(zero, ti.static(t.normal))
                R = columns_of(a, normal.cross(a), normal)
            else:
                x, y, z = a.parts
                part = 1.0 / ti.max(1.0 + x, _TINY)
                R = Mat3(x, -y, -z, y, 1.0 - y * y * part, -(y * z * part), z, -(y * z * part), 1.0 - z * z * part)
    return R


@ti.func
def column_motions(t: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32, start: ti.i32, d: ti.i32):
    """Motion columns of the dofs of an AFFINE link as rigid motions, and their sum by the rates.

        p: e_k;   a: the angular velocity share a x e_k, of which three vectors give twice the spin

    Reads:  s.{q, qd}
    Writes: s.S of its dofs
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    v = still(zero)
    share = zero + 1.0
    if t.n_vectors.at(i) == 3:
        share = share * 0.5
    for k in ti.static(range(3)):
        column = Motion.of(unit_vector(zero, k), none)
        s.S.store(w, d + k, column)
        v = v + column * s.qd.load(w, d + k)
    for n in range(t.n_vectors.at(i)):
        a = vector_at(s.q, w, start + 3 + 3 * n) * share
        for k in ti.static(range(3)):
            column = Motion.of(none, a.cross(unit_vector(zero, k)))
            s.S.store(w, d + 3 + 3 * n + k, column)
            v = v + column * s.qd.load(w, d + 3 + 3 * n + k)
    return v


@ti.func
def natural_spin(t: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32):
    """Angular velocity of an AFFINE link, sum of a x a' over its vectors, half of it for three; 0 for the world, i < 0.

    Reads: s.{q, qd}
    """
    zero = t.arena.zero()
    spin = Vec3(zero, zero, zero)
    if i >= 0:
        n = t.n_vectors.at(i)
        start = t.link_q.at(i) + 3
        d = t.link_qd.at(i) + 3
        for k in range(n):
            spin = spin + vector_at(s.q, w, start + 3 * k).cross(vector_at(s.qd, w, d + 3 * k))
        if n == 3:
            spin = spin * 0.5
    return spin


@ti.func
def place_all(t: ti.template(), s: ti.template(), w: ti.i32):
    """Place every link, parents first.

    Reads:  see `place_link`.
    Writes: see `place_link`; s.c
    """
    first, end = links_of_part(t, w)
    for i in range(first, end):
        _R, _o, _v, c = place_link(t, s, w, i)
        s.c.store(w, i, c)


@ti.func
def body_pose(t: ti.template(), s: ti.template(), w: ti.i32, link: ti.i32):
    """World position [m] and rotation of the body frame on a link.

    Reads: s.{R, o, origin}, t.{body_offset, body_rotation}
    """
    return body_position(t, s, w, link), s.R.load(w, link) * t.body_rotation.load(w, link)


def body_position(t: Tables, s: TreeState, w, link) -> Vec3:
    """[m], world position of the body frame on a link."""
    return s.origin.load(w, t.root.at(link)) + s.o.load(w, link) + s.R.load(w, link) * t.body_offset.load(w, link)


def com_about_origin(t: Tables, s: TreeState, w, link) -> Vec3:
    """[m], centre of mass of a link relative to the tree's reference point, world axes."""
    return s.o.load(w, link) + s.R.load(w, link) * t.com.load(w, link)


def point_velocity(v: Motion, x: Vec3) -> Vec3:
    """[m/s], velocity of the point x (relative to O) of a link with twist v."""
    return v.linear + v.angular.cross(x)


def store_vector(array, w, start, v: Vec3):
    """Store three consecutive scalars."""
    for k in range(3):
        array.store(w, start + k, v.parts[k])
