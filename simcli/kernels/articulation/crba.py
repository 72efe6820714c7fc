"""Composite rigid bodies: the mass matrix of trees (kinematics.py gives the notation).

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 6. Deviation: world axes about each tree's reference
point O instead of link coordinates, so that inertias of parent and child simply add.
"""

from simcli.kernels.articulation.kinematics import TreeState, com_about_origin
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.values import Inertia


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
    for k in range(t.n_links):
        i = t.n_links - 1 - k
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
