"""Rigid-body algorithms on the tree chart (tree.py gives the notation; all about each tree's reference point O).

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), chapters 5 to 7. Deviations: world axes about O instead of
link coordinates, so that the transforms between parent and child are identities; a joint of several dofs is eliminated
dof by dof (block elimination by scalar pivots, mathematically the same), so that one loop serves all joint types.
"""

from simcli.kernels.algebra.values import Force, Inertia, Mat3, Motion, Vec3
from simcli.kernels.chart.tree import AFFINE, TreeState, com_about_origin, place_link, point_velocity
from simcli.kernels.language import ti
from simcli.kernels.memory.tables import ADD, CARRY, START, Tables


def no_force(zero) -> Force:
    """The zero force, from a zero."""
    return Force(*(zero,) * 6)


def no_inertia(zero) -> Inertia:
    """The zero inertia, from a zero."""
    return Inertia(*(zero,) * 21)


def gravity_motion(t: Tables, w) -> Motion:
    """The acceleration of the world that stands for gravity: -g."""
    zero = t.arena.zero()
    g = t.gravity.load(w, 0)
    return Motion.of(Vec3(zero, zero, zero) - g, Vec3(zero, zero, zero))


def own_inertia(t: Tables, s: TreeState, w, i) -> Inertia:
    """Inertia of link i alone, about O."""
    I_w = t.inertia.load(w, i).turned(s.R.load(w, i))
    return Inertia.of_body(t.mass.load(w, i), com_about_origin(t, s, w, i), I_w)


def own_terms(t: Tables, s: TreeState, w, i) -> tuple[Inertia, Force]:
    """Inertia of link i alone, and the force that its velocity alone needs, about O.

    (F, w x I_c w + c x F),  F = m w x v_c        the spatial v x* I v, with the terms that cancel left out
    """
    R, v, mass = s.R.load(w, i), s.v.load(w, i), t.mass.load(w, i)
    c, spin = s.o.load(w, i) + R * t.com.load(w, i), v.angular
    I_w = t.inertia.load(w, i).turned(R)
    push = spin.cross(point_velocity(v, c) * mass)
    return Inertia.of_body(mass, c, I_w), Force.of(push, spin.cross(I_w * spin) + c.cross(push))


@ti.func
def eliminate(t: ti.template(), s: ti.template(), w: ti.i32):
    """Articulated inertias and forces, tips first; every dof is one pivot.

        U = I S,  D = S.U + diagonal,  u = tau - S.f,  I <- I - U U^T / D,  f <- f + U u / D;  f_p += f + I c

    Links stand in depth-first order: what a link hands to its parent stays in local variables when the parent comes
    next, and goes through s.{I, f} only where the tree branches (the tables say which: t.{route, continues, gathers}).

    Reads:  s.{R, o, v, S, c, tau, diagonal}, s.external
    Writes: s.{U, u, inv_d}; s.{I, f} of links where the tree branches
    """
    inertia = no_inertia(t.arena.zero())
    force = no_force(t.arena.zero())
    for k in range(t.n_links):
        i = t.n_links - 1 - k
        p = t.parent.at(i)
        if t.continues.at(i) == 0:
            inertia = no_inertia(t.arena.zero())
            force = no_force(t.arena.zero())
        if t.massive.at(i) != 0:
            own, push = own_terms(t, s, w, i)
            inertia = inertia + own
            force = force + push
        if ti.static(s.has_external):
            force = force - s.external.load(w, i)
        if ti.static(t.branches):
            if t.gathers.at(i) != 0:
                inertia = inertia + s.I.load(w, i)
                force = force + s.f.load(w, i)
        first = t.link_qd.at(i)
        n = t.link_n_qd.at(i)
        for m in range(n):
            U, inv_d, u = eliminate_dof(s, w, first + n - 1 - m, inertia, force)
            if p >= 0 or m < n - 1:
                inertia = inertia.minus_dyad(U, inv_d)
                force = force + U * (u * inv_d)
        if p >= 0:
            force = force + inertia.times(s.c.load(w, i))
            if ti.static(t.branches):
                hand_to_parent(t, s, w, i, p, inertia, force)


@ti.func
def eliminate_dof(s: ti.template(), w: ti.i32, d: ti.i32, inertia: ti.template(), force: ti.template()):
    """U, 1/D and u of dof d, see `eliminate`.

    Args:
        inertia, force: articulated ones of its link, before it.

    Reads:  s.{S, tau, diagonal}
    Writes: s.{U, u, inv_d} of the dof
    """
    S = s.S.load(w, d)
    U = inertia.times(S)
    inv_d = 1.0 / (S.dot(U) + s.diagonal.load(w, d))
    u = s.tau.load(w, d) - S.dot(force)
    s.U.store(w, d, U)
    s.u.store(w, d, u)
    s.inv_d.store(w, d, inv_d)
    return U, inv_d, u


@ti.func
def hand_to_parent(t: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32, p: ti.i32, inertia: ti.template(),
                   force: ti.template()):
    """Add the articulated inertia and force of link i to those of its parent p, where the tree branches.

    Writes: s.{I, f} of link p
    """
    if t.route.at(i) == ADD:
        s.I.store(w, p, s.I.load(w, p) + inertia)
        s.f.store(w, p, s.f.load(w, p) + force)
    elif t.route.at(i) == START:
        s.I.store(w, p, inertia)
        s.f.store(w, p, force)


@ti.func
def accelerate(t: ti.template(), s: ti.template(), w: ti.i32):
    """Joint and link accelerations, roots first.

        a = a_p + c + S qdd,   qdd = (u - U.a') / D with a' the acceleration before this dof

    As in `eliminate`, an acceleration goes through s.a only where the tree branches.

    Reads:  s.{S, c, U, u, inv_d}
    Writes: s.qdd; s.a of links where the tree branches
    """
    a = gravity_motion(t, w)
    for i in range(t.n_links):
        p = t.parent.at(i)
        if p < 0:
            a = gravity_motion(t, w)
        if ti.static(t.branches):
            if t.route.at(i) != CARRY and p >= 0:
                a = s.a.load(w, p)
        a = a + s.c.load(w, i)
        first = t.link_qd.at(i)
        for d in range(first, first + t.link_n_qd.at(i)):
            qdd = (s.u.load(w, d) - a.dot(s.U.load(w, d))) * s.inv_d.load(w, d)
            s.qdd.store(w, d, qdd)
            a = a + s.S.load(w, d) * qdd
        if ti.static(t.branches):
            if t.gathers.at(i) != 0:
                s.a.store(w, i, a)


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
def demand_of(t: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32, R: ti.template(), o: ti.template(),
              v: ti.template(), c: ti.template(), has_external: ti.template()):
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
def demand(t: ti.template(), s: ti.template(), w: ti.i32):
    """`demand_of` for links that have been placed, roots first.

    Reads:  t links, s.{R, o, v, c, S, qdd, external}
    Writes: s.{a, f}
    """
    for i in range(t.n_links):
        demand_of(t, s, w, i, s.R.load(w, i), s.o.load(w, i), s.v.load(w, i), s.c.load(w, i),
                  s.has_external)


@ti.func
def place_and_demand(t: ti.template(), s: ti.template(), w: ti.i32):
    """Recursive Newton-Euler, first pass, without external forces: `place_link` and `demand_of` link by link.

    Reads:  t links, s.{q, qd, qdd}
    Writes: s.{R, o, v, a, f, origin, S}
    """
    for i in range(t.n_links):
        R, o, v, c = place_link(t, s, w, i)
        demand_of(t, s, w, i, R, o, v, c, False)


@ti.func
def collect(t: ti.template(), s: ti.template(), effort: ti.template(), w: ti.i32):
    """Forces through the joints, tips first, and the efforts along their dofs (recursive Newton-Euler, second pass).

        f_p += f,   effort = S.f + armature qdd

    Reads:  s.{f, S, qdd}
    Writes: s.f, effort (NV)
    """
    for k in range(t.n_links):
        i = t.n_links - 1 - k
        p = t.parent.at(i)
        force = s.f.load(w, i)
        first = t.link_qd.at(i)
        for d in range(first, first + t.link_n_qd.at(i)):
            effort.store(w, d, s.S.load(w, d).dot(force) + t.armature.load(w, d) * s.qdd.load(w, d))
        if p >= 0:
            s.f.store(w, p, s.f.load(w, p) + force)


@ti.func
def compose(t: ti.template(), s: ti.template(), w: ti.i32):
    """Composite inertias: of each link with all that hangs on it, about O, tips first.

    Reads:  s.I of single links
    Writes: s.I
    """
    for k in range(t.n_links):
        i = t.n_links - 1 - k
        p = t.parent.at(i)
        if p >= 0:
            s.I.store(w, p, s.I.load(w, p) + s.I.load(w, i))
