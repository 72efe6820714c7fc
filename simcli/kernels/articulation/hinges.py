"""Inverse dynamics of trees whose joints are all hinges or welds, each link in its own axes.

A hinge turns about the z axis of its link, so that in link axes its motion column is a unit vector, and what goes from link
to link is turned about x and about z by plane rotations instead of a matrix. The second pass needs nine numbers of a link.

`rnea_forward` serves all joints and external forces. This one stands beside it because it takes 0.45 of its time
(speed.md): 240 vector operations of a link instead of about 375; and states are read from the caller's arrays, and efforts
written there, link by link, because packs that go through memory lane by lane would take as long as that one.

Source: recursive Newton-Euler in link axes, Luh, Walker and Paul (1980); angles of frames, Khalil and Kleinfinger (1986).
Deviations: origins are where the model has them, because common normals of axes that are almost parallel are far away;
moments about the origin of a link come from its second moments of mass, J = int x x^T dm, Balafoutis and Patel (1989).

Notation: Rz(fork) Rx(bend) Rz(angle) turns from link axes to those of the parent; w spin, b its rate, a acceleration of the
origin less gravity, K = [b] + [w]^2, so that the point at r from the origin has the acceleration a + K r.
"""

import numpy as np

from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import sincos
from simcli.kernels.language.expressions import get_lane, item, local, vector
from simcli.kernels.language.values import Force, Mat3, Sym3, Value, Vec3
from simcli.model.tables.model import LinkKind, Model

_SYM = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # entries of a Sym3


class Turn(Value):
    """Cosine and sine of an angle."""

    width = 2

    def about_x(self, v: Vec3) -> Vec3:
        """Rx v."""
        (c, s), (x, y, z) = self.parts, v.parts
        return Vec3(x, y * c - z * s, z * c + y * s)

    def about_z(self, v: Vec3) -> Vec3:
        """Rz v."""
        (c, s), (x, y, z) = self.parts, v.parts
        return Vec3(x * c - y * s, y * c + x * s, z)

    def back_about_x(self, v: Vec3) -> Vec3:
        """Rx^T v."""
        (c, s), (x, y, z) = self.parts, v.parts
        return Vec3(x, y * c + z * s, z * c - y * s)

    def back_about_z(self, v: Vec3) -> Vec3:
        """Rz^T v."""
        (c, s), (x, y, z) = self.parts, v.parts
        return Vec3(x * c + y * s, y * c - x * s, z)


class Hinges:
    """Columns of a tree of hinges in link axes, and what the first pass leaves for the second.

    Args:
        model: of which `has_only_hinges` holds.

    Attributes:
        phase: [rad], what a joint coordinate lacks of the angle of its link.
        bend, fork: of a link in its parent's axes; the fork of the first link that hangs on another is none.
        has_forks: whether others have one.  has_welds: whether links are there that do not turn.
        offset: [m], origin in the parent's axes.  mass: [kg].  moment: [kg m], mass times centre of mass.
        second: [kg m^2], J.
        fall: [m/s^2], a of the first links of trees, in the axes before the joint.
        turn: of the angle.  force: through the joint, about the link's origin.  inertial: effort of the armature.
        spin, rate, acceleration: w, b and a of links on which several hang.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables):
        links, column, array = model.links, tables.column, tables.links.array
        shift, fork, bend, phase, fall = link_angles(model)
        own, of_parent = about_z(shift), about_z(np.where(links.parent < 0, 0.0, shift[:, links.parent]))
        com, mass = in_own_axes(own, links.com), links.mass[..., None]
        second = np.swapaxes(own, -1, -2) @ second_moments_of(links.inertia) @ own
        second = second + mass[..., None] * com[..., :, None] * com[..., None, :]
        self.has_forks, self.has_welds = bool(np.any(fork)), bool(np.any(links.n_qd == 0))
        self.phase, self.fall = column(phase), column(fall, Vec3)
        self.bend, self.fork = (column(np.stack((np.cos(a), np.sin(a)), -1), Turn) for a in (bend, fork))
        self.offset, self.mass = column(in_own_axes(of_parent, links.offset), Vec3), column(links.mass)
        self.moment = column(mass * com, Vec3)
        self.second = column(np.stack([second[..., i, j] for i, j in _SYM], -1), Sym3)
        self.turn, self.force, self.inertial = array(Turn), array(Force), array()
        self.spin, self.rate, self.acceleration = array(Vec3), array(Vec3), array(Vec3)


def has_only_hinges(model: Model) -> bool:
    """Whether all links hang on hinges or welds, at least one on a hinge; no joint closes a loop."""
    links = model.links
    turns = (links.kind == LinkKind.HELIX) & (links.turn == 1.0) & ~np.any(links.advance, axis=0)
    return bool(turns.any() and np.all(turns | (links.kind == LinkKind.WELD)) and model.joints.is_tree.all())


def about_z(angle: np.ndarray) -> np.ndarray:
    """Rz, (..., 3, 3), of angles (...)."""
    c, s, zero = np.cos(angle), np.sin(angle), np.zeros_like(angle)
    return np.stack((c, -s, zero, s, c, zero, zero, zero, zero + 1.0), -1).reshape(*angle.shape, 3, 3)


def in_own_axes(R: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """R^T v, (..., 3)."""
    return np.einsum("...ji,...j->...i", R, vector)


def second_moments_of(inertia: np.ndarray) -> np.ndarray:
    """J about the centre of mass, (..., 3, 3), from the inertia (..., 6) as a Sym3: J = tr(I)/2 E - I."""
    order = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])
    return inertia[..., :3].sum(-1)[..., None, None] * (0.5 * np.eye(3)) - inertia[..., order]


def link_angles(model: Model) -> tuple[np.ndarray, ...]:
    """Angles by which link axes follow those of the parent.

    An anchor is Rz(alpha) Rx(bend) Rz(gamma) in the parent's axes. Those of a link are turned about its z axis by `shift`,
    the alpha of the first link that hangs on it, so that only others need theirs.

    Returns:
        [rad], (W|1, L): shift, fork, bend, phase;  [m/s^2], (W|1, L, 3): -g in the axes before the joint, of first links.
    """
    links, n = model.links, model.n_links
    C = links.rotation
    alpha, bend = np.arctan2(C[..., 0, 2], -C[..., 1, 2]), np.arctan2(np.hypot(C[..., 0, 2], C[..., 1, 2]), C[..., 2, 2])
    c, s, zero = np.cos(bend), np.sin(bend), np.zeros_like(bend)
    tilt = np.stack((zero + 1.0, zero, zero, zero, c, -s, zero, s, c), -1).reshape(*bend.shape, 3, 3)
    before = about_z(alpha) @ tilt
    rest = np.swapaxes(before, -1, -2) @ C
    shift, fork = np.zeros_like(alpha), np.zeros_like(alpha)
    for i in range(n - 1, -1, -1):  # the first one has the last word
        if links.parent[i] >= 0:
            shift[:, links.parent[i]] = alpha[:, i]
    for i in range(n):
        if links.parent[i] >= 0:
            fork[:, i] = alpha[:, i] - shift[:, links.parent[i]]
    phase = np.arctan2(rest[..., 1, 0], rest[..., 0, 0]) + shift
    fall = -in_own_axes(before, np.broadcast_to(model.gravity[:, None, :], (len(model.gravity), n, 3)))
    return shift, fork, bend, phase - 2.0 * np.pi * np.round(phase / (2.0 * np.pi)), fall


def taken(values, first, stride, lanes: int):
    """A pack of values[first], values[first + stride], ... (inside kernels)."""
    parts = [item(values, first + lane * stride) for lane in range(lanes)]
    return vector(parts) if lanes > 1 else local(parts[0])


@ti.func
def number_of_link(
    t: ti.template(), h: ti.template(), i: ti.i32, lanes: ti.template(), first: ti.i32, values: ti.template()
):
    """The coordinate, rate or acceleration of link i, 0 of a weld; arguments as of `swing`."""
    x = t.arena.zero()
    if ti.static(h.has_welds):
        if t.link_n_qd.at(i) != 0:
            x = taken(values, first + t.link_qd.at(i), t.n_qd, ti.static(lanes))
    else:
        x = taken(values, first + t.link_qd.at(i), t.n_qd, ti.static(lanes))
    return x


def put_back(out, first, stride, lanes: int, pack):
    """Write a pack to out[first], out[first + stride], ... (inside kernels)."""
    pack = local(pack)
    for lane in range(lanes):
        item(out, first + lane * stride)._assign(get_lane(pack, lane))


def acceleration_matrix(w: Vec3, b: Vec3) -> Mat3:
    """K = [b] + [w]^2, as [w]^2 = w w^T - |w|^2 E."""
    (x, y, z), (p, q, r) = w.parts, b.parts
    xx, yy, zz, xy, xz, yz = (local(u) for u in (x * x, y * y, z * z, x * y, x * z, y * z))
    return Mat3(-(yy + zz), xy - r, xz + q, xy + r, -(xx + zz), yz - p, xz - q, yz + p, -(xx + yy))


def needed_about_origin(h: Hinges, w, i, K: Mat3, a: Vec3) -> Force:
    """The force that gives link i the motion K, a: m a + K m c, with the moment m c x a + axial(K J - (K J)^T)."""
    m, moment = h.mass.load(w, i), h.moment.load(w, i)
    xx, yy, zz, xy, xz, yz = h.second.load(w, i).parts
    k = K.parts
    turning = Vec3(
        (k[6] * xy + k[7] * yy + k[8] * yz) - (k[3] * xz + k[4] * yz + k[5] * zz),
        (k[0] * xz + k[1] * yz + k[2] * zz) - (k[6] * xx + k[7] * xy + k[8] * xz),
        (k[3] * xx + k[4] * xy + k[5] * xz) - (k[0] * xy + k[1] * yy + k[2] * yz),
    )
    return Force.of(a * m + K * moment, moment.cross(a) + turning)


@ti.func
def turn_links(t: ti.template(), h: ti.template(), w: ti.i32, lanes: ti.template(), first: ti.i32, q: ti.template()):
    """Angles of links: a loop of its own, in which the polynomials of several links are evaluated side by side.

    Args:
        lanes, first, q: as of `swing`.

    Writes: h.turn
    """
    for i in range(t.n_links):
        sine, cosine = sincos(number_of_link(t, h, i, lanes, first, q) + h.phase.load(w, i))
        h.turn.store(w, i, Turn(cosine, sine))


@ti.func
def swing(
    t: ti.template(), h: ti.template(), w: ti.i32, lanes: ti.template(), first: ti.i32, qd: ti.template(), qdd: ti.template()
):
    """First pass, roots first: motions of links, and the forces that they need.

    Args:
        lanes: states of a block.
        first: place of the first number of the first one; the next state is t.n_qd further.
        qd, qdd: of all states.

    Reads:  h.turn
    Writes: h.{force, inertial}; h.{spin, rate, acceleration} where the tree branches
    """
    zero = t.arena.zero()
    spin = Vec3(zero, zero, zero)
    rate = Vec3(zero, zero, zero)
    a = Vec3(zero, zero, zero)
    K = acceleration_matrix(spin, rate)
    for i in range(t.n_links):
        rise = number_of_link(t, h, i, lanes, first, qdd)
        h.inertial.store(w, i, t.armature.load(w, t.link_qd.at(i)) * rise)
        leave_parent(t, h, w, i, spin, rate, a, K)
        cross_joint(h.turn.load(w, i), number_of_link(t, h, i, lanes, first, qd), rise, spin, rate, a)
        K = acceleration_matrix(spin, rate)
        if ti.static(t.branches):
            if t.gathers.at(i) != 0:
                h.spin.store(w, i, spin)
                h.rate.store(w, i, rate)
                h.acceleration.store(w, i, a)
        force = Force(zero, zero, zero, zero, zero, zero)
        if t.massive.at(i) != 0:
            force = needed_about_origin(h, w, i, K, a)
        h.force.store(w, i, force)


@ti.func
def leave_parent(
    t: ti.template(),
    h: ti.template(),
    w: ti.i32,
    i: ti.i32,
    spin: ti.template(),
    rate: ti.template(),
    a: ti.template(),
    K: ti.template(),
):
    """The parent's motion at the origin of link i, in the axes before its joint.

        w = R^T w_p,    b = R^T b_p,    a = R^T (a_p + K_p r)

    Args:
        spin, rate, a, K: of link i - 1; replaced.

    Reads: h.{spin, rate, acceleration} where the tree branches
    """
    zero = t.arena.zero()
    p = t.parent.at(i)
    if p < 0:
        spin = Vec3(zero, zero, zero)
        rate = Vec3(zero, zero, zero)
        a = Vec3(zero, zero, zero) + h.fall.load(w, i)
    else:
        if ti.static(t.branches):
            if p != i - 1:
                spin = h.spin.load(w, p)
                rate = h.rate.load(w, p)
                a = h.acceleration.load(w, p)
                K = acceleration_matrix(spin, rate)
        a = a + K * h.offset.load(w, i)
        if ti.static(h.has_forks):
            fork = h.fork.load(w, i)
            spin = fork.back_about_z(spin)
            rate = fork.back_about_z(rate)
            a = fork.back_about_z(a)
        bend = h.bend.load(w, i)
        spin = bend.back_about_x(spin)
        rate = bend.back_about_x(rate)
        a = bend.back_about_x(a)


@ti.func
def cross_joint(
    turn: ti.template(), pace: ti.template(), rise: ti.template(), spin: ti.template(), rate: ti.template(), a: ti.template()
):
    """Motion of a link from that before its joint: w += qd z, b += w x qd z + qdd z.

    Args:
        turn, pace, rise: of the joint: of its angle, qd, qdd.
        spin, rate, a: before it; replaced.
    """
    spin = turn.back_about_z(spin)
    rate = turn.back_about_z(rate)
    a = turn.back_about_z(a)
    x, y, z = spin.parts
    u, v, n = rate.parts
    rate = Vec3(u + y * pace, v - x * pace, n + rise)
    spin = Vec3(x, y, z + pace)


@ti.func
def gather_efforts(t: ti.template(), h: ti.template(), w: ti.i32, lanes: ti.template(), first: ti.i32, out: ti.template()):
    """Second pass, tips first: forces through the joints, and the efforts along them.

    Args:
        lanes, first: as of `swing`.
        out: efforts of all states.

    Reads:  h.{turn, force, inertial}
    Writes: out; h.force where the tree branches
    """
    zero = t.arena.zero()
    force = Vec3(zero, zero, zero)
    moment = Vec3(zero, zero, zero)
    for k in range(t.n_links):
        i = t.n_links - 1 - k
        p = t.parent.at(i)
        own = h.force.load(w, i)
        if t.continues.at(i) != 0:
            force = force + own.force
            moment = moment + own.moment
        else:
            force = own.force
            moment = own.moment
        if t.link_n_qd.at(i) != 0:
            put_back(out, first + t.link_qd.at(i), t.n_qd, ti.static(lanes), moment.parts[2] + h.inertial.load(w, i))
        if p >= 0:
            turn = h.turn.load(w, i)
            bend = h.bend.load(w, i)
            force = bend.about_x(turn.about_z(force))
            moment = bend.about_x(turn.about_z(moment))
            if ti.static(h.has_forks):
                fork = h.fork.load(w, i)
                force = fork.about_z(force)
                moment = fork.about_z(moment)
            moment = moment + h.offset.load(w, i).cross(force)
            if ti.static(t.branches):
                if p != i - 1:
                    h.force.store(w, p, h.force.load(w, p) + Force.of(force, moment))
