"""Articulated bodies: accelerations of trees from efforts (kinematics.py gives the notation).

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 7. Deviations: world axes about each tree's reference
point O instead of link coordinates, so that the transforms between parent and child are identities; a joint of several
dofs is eliminated dof by dof (block elimination by scalar pivots, mathematically the same), so that one loop serves all
joint types.
"""

from simcli.kernels.articulation.kinematics import TreeState, point_velocity
from simcli.kernels.articulation.rnea import gravity_motion, no_force
from simcli.kernels.device.model_tables import ADD, CARRY, START, Tables, links_of_part
from simcli.kernels.language import ti
from simcli.kernels.language.values import Force, Inertia


def no_inertia(zero) -> Inertia:
    """The zero inertia, from a zero."""
    return Inertia(*(zero,) * 21)


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
def aba_backward(t: ti.template(), s: ti.template(), w: ti.i32):
    """Articulated inertias and forces, tips first (Featherstone's second pass); every dof is one pivot.

        U = I S,  D = S.U + diagonal,  u = tau - S.f,  I <- I - U U^T / D,  f <- f + U u / D;  f_p += f + I c

    Links stand in depth-first order: what a link hands to its parent stays in local variables when the parent comes
    next, and goes through s.{I, f} only where the tree branches (the tables say which: t.{route, continues, gathers}).

    Reads:  s.{R, o, v, S, c, tau, diagonal}, s.external
    Writes: s.{U, u, inv_d}; s.{I, f} of links where the tree branches
    """
    inertia = no_inertia(t.arena.zero())
    force = no_force(t.arena.zero())
    begin, end = links_of_part(t, w)
    for k in range(begin, end):
        i = begin + end - 1 - k
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
            U, inv_d, u = aba_dof(s, w, first + n - 1 - m, inertia, force)
            if p >= 0 or m < n - 1:
                inertia = inertia.minus_dyad(U, inv_d)
                force = force + U * (u * inv_d)
        if p >= 0:
            force = force + inertia.times(s.c.load(w, i))
            if ti.static(t.branches):
                hand_to_parent(t, s, w, i, p, inertia, force)


@ti.func
def aba_dof(s: ti.template(), w: ti.i32, d: ti.i32, inertia: ti.template(), force: ti.template()):
    """U, 1/D and u of dof d, see `aba_backward`.

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
def hand_to_parent(
    t: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32, p: ti.i32, inertia: ti.template(), force: ti.template()
):
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
def aba_forward(t: ti.template(), s: ti.template(), w: ti.i32):
    """Joint and link accelerations, roots first (Featherstone's third pass).

        a = a_p + c + S qdd,   qdd = (u - U.a') / D with a' the acceleration before this dof

    As in `aba_backward`, an acceleration goes through s.a only where the tree branches.

    Reads:  s.{S, c, U, u, inv_d}
    Writes: s.qdd; s.a of links where the tree branches
    """
    a = gravity_motion(t, w)
    begin, end = links_of_part(t, w)
    for i in range(begin, end):
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
