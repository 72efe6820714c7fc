"""Recursive Newton-Euler on trees, and composite inertias: the mass matrix (kinematics.py gives the notation).

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), chapters 5 and 6. Deviation: world axes about each tree's
reference point O instead of link coordinates, so that the transforms between parent and child are identities, and inertias
of both simply add.
"""

from simcli.kernels.articulation.kinematics import AFFINE, TreeState, com_about_origin, place_link, point_velocity
from simcli.kernels.device.model_tables import Tables, links_of_part
from simcli.kernels.language import ti
from simcli.kernels.language.values import Force, Inertia, Mat3, Motion, Vec3


def no_force(zero) -> Force:
    """The zero force, from a zero."""
    return Force(*(zero,) * 6)


def gravity_motion(t: Tables, w) -> Motion:
    """The acceleration of the world that stands for gravity: -g."""
    zero = t.arena.zero()
    g = t.gravity.load(w, 0)
    return Motion.of(Vec3(zero, zero, zero) - g, Vec3(zero, zero, zero))


def needed_force(t: Tables, w, i, R: Mat3, o: Vec3, v: Motion, a: Motion) -> Force:
    """The force about O that gives link i the twist v the acceleration a.

    (F, I_c w' + w x I_c w + c x F)   with F = m (acceleration of the centre of mass - g)

    The two products with I_c are taken in link axes: turning three vectors is cheaper than turning a tensor.
    """
    c = o + R * t.com.load(w, i)
    spin, I_c = v.angular, t.inertia.load(w, i)
    spin_b = R.transposed_times(spin)
    turn_b = I_c * R.transposed_times(a.angular) + spin_b.cross(I_c * spin_b)
    push = (point_velocity(a, c) + spin.cross(point_velocity(v, c))) * t.mass.load(w, i)
    return Force.of(push, R * turn_b + c.cross(push))


@ti.func
def rnea_link(
    t: ti.template(),
    s: ti.template(),
    w: ti.i32,
    i: ti.i32,
    R: ti.template(),
    o: ti.template(),
    v: ti.template(),
    c: ti.template(),
    has_external: ti.template(),
):
    """Acceleration of link i from its parent's and its own qdd, and the force that its motion needs.

        a = a_p + c + S qdd

    Reads:  t links, s.{S, qdd, external}, the parent's s.a
    Writes: s.{a, f} of link i
    """
    p = t.parent.at(i)
    a = s.a.load(w, ti.max(p, 0))
    if p < 0:
        a = gravity_motion(t, w)
    a = a + c
    first = t.link_qd.at(i)
    for d in range(first, first + t.link_n_qd.at(i)):
        a = a + s.S.load(w, d) * s.qdd.load(w, d)
    s.a.store(w, i, a)
    force = no_force(t.arena.zero())
    if t.massive.at(i) != 0:
        if ti.static(t.has_affine):
            if t.kind.at(i) == AFFINE:  # its mass matrix is constant: velocities need no force
                force = Force.of((a.linear + v.angular.cross(v.linear)) * t.mass.load(w, i), force.moment)
            else:
                force = needed_force(t, w, i, R, o, v, a)
        else:
            force = needed_force(t, w, i, R, o, v, a)
    if ti.static(has_external):
        force = force - s.external.load(w, i)
    s.f.store(w, i, force)


@ti.func
def rnea_link_forces(t: ti.template(), s: ti.template(), w: ti.i32):
    """`rnea_link` for links that have been placed, roots first.

    Reads:  t links, s.{R, o, v, c, S, qdd, external}
    Writes: s.{a, f}
    """
    begin, end = links_of_part(t, w)
    for i in range(begin, end):
        rnea_link(t, s, w, i, s.R.load(w, i), s.o.load(w, i), s.v.load(w, i), s.c.load(w, i), s.has_external)


@ti.func
def rnea_forward(t: ti.template(), s: ti.template(), w: ti.i32):
    """Recursive Newton-Euler, forward pass, without external forces: `place_link` and `rnea_link` link by link.

    Reads:  t links, s.{q, qd, qdd}
    Writes: s.{R, o, v, a, f, origin, S}
    """
    begin, end = links_of_part(t, w)
    for i in range(begin, end):
        R, o, v, c = place_link(t, s, w, i)
        rnea_link(t, s, w, i, R, o, v, c, False)


@ti.func
def rnea_backward(t: ti.template(), s: ti.template(), effort: ti.template(), w: ti.i32):
    """Forces through the joints, tips first, and the efforts along their dofs (recursive Newton-Euler, backward pass).

        f_p += f,   effort = S.f + armature qdd

    Reads:  s.{f, S, qdd}
    Writes: s.f, effort (NV)
    """
    begin, end = links_of_part(t, w)
    for k in range(begin, end):
        i = begin + end - 1 - k
        p = t.parent.at(i)
        force = s.f.load(w, i)
        first = t.link_qd.at(i)
        for d in range(first, first + t.link_n_qd.at(i)):
            effort.store(w, d, s.S.load(w, d).dot(force) + t.armature.load(w, d) * s.qdd.load(w, d))
        if p >= 0:
            s.f.store(w, p, s.f.load(w, p) + force)


def own_inertia(t: Tables, s: TreeState, w, i) -> Inertia:
    """Inertia of link i alone, about O."""
    I_w = t.inertia.load(w, i).turned(s.R.load(w, i))
    return Inertia.of_body(t.mass.load(w, i), com_about_origin(t, s, w, i), I_w)


@ti.func
def composite_inertias(t: ti.template(), s: ti.template(), w: ti.i32):
    """Composite inertias: of each link with all that hangs on it, about O, tips first.

    Reads:  s.I of single links
    Writes: s.I
    """
    begin, end = links_of_part(t, w)
    for k in range(begin, end):
        i = begin + end - 1 - k
        p = t.parent.at(i)
        if p >= 0:
            s.I.store(w, p, s.I.load(w, p) + s.I.load(w, i))


@ti.func
def crba(t: ti.template(), s: ti.template(), matrix: ti.template(), w: ti.i32):
    """The mass matrix, by composite rigid bodies: M[d, e] = S_e . I S_d for every dof e between the root and dof d.

    Reads:  s.{R, o, v, S}, t
    Writes: s.I, matrix (NV NV)
    """
    n = t.n_qd
    for k in range(n * n):
        matrix.store(w, k, t.arena.zero())
    for i in range(t.n_links):
        s.I.store(w, i, own_inertia(t, s, w, i))
    composite_inertias(t, s, w)
    for i in range(t.n_links):
        for d in range(t.link_qd.at(i), t.link_qd.at(i) + t.link_n_qd.at(i)):
            force = s.I.load(w, i).times(s.S.load(w, d))
            p = i
            while p >= 0:
                _put_entries(t, s, matrix, w, d, p, force)
                p = t.parent.at(p)


@ti.func
def _put_entries(
    t: ti.template(), s: ti.template(), matrix: ti.template(), w: ti.i32, d: ti.i32, p: ti.i32, force: ti.template()
):
    """M[d, e] and M[e, d] of the dofs e of link p.

    Writes: matrix
    """
    for e in range(t.link_qd.at(p), t.link_qd.at(p) + t.link_n_qd.at(p)):
        value = s.S.load(w, e).dot(force)
        if e == d:
            value = value + t.armature.load(w, d)
        matrix.store(w, d * t.n_qd + e, value)
        matrix.store(w, e * t.n_qd + d, value)
