"""Stages that take away what weights of flat bodies and thin rods have too much.

These have no mass along some vectors. The weights that are inverted have a little there, W = M + D; what D does is taken
away by the solutions that follow: W a' = F + D a + A^T lambda'.
"""

from simcli.kernels.language import ti


@ti.func
def return_excess(c: ti.template(), w: ti.i32):
    """Right-hand side of a further solution of the projection: what the weights have too much.

    Reads:  c.bound.{system.acceleration, impulse}
    Writes: c.bound.system.load
    """
    y = c.bound.system
    for n in range(y.n_dofs):
        given = y.acceleration.load(w, n) * c.tables.excess.load(w, c.tables.tree_dof.at(n))
        y.load.store(w, n, given + c.bound.impulse.load(w, n))


@ti.func
def carry_excess(c: ti.template(), w: ti.i32):
    """Begin a try with D a of the one before, while that refines accelerations; later tries keep it.

    The number of tries that refine is fixed, so that no world sees how far another one is.

    Reads:  c.{bound.system.acceleration, now}
    Writes: c.bound.{carried, system.load}
    """
    y = c.bound.system
    k = c.now.load(w, "choice") - 1
    refines = ti.cast(c.now.load(w, "instant") != 0 and k < c.bound.refinements, ti.i32)
    for n in range(y.n_dofs):
        carried = c.bound.carried.load(w, n)
        if k == 0:
            carried = carried * 0.0
        elif refines != 0:
            carried = y.acceleration.load(w, n) * c.tables.excess.load(w, c.tables.tree_dof.at(n))
        c.bound.carried.store(w, n, carried)
        y.load.store(w, n, y.load.load(w, n) + carried)


@ti.func
def give_excess(c: ti.template(), w: ti.i32):
    """Put D a of the last solution on the right-hand side, for solution 1 or 2 of a try.

    Reads:  c.{bound.system.acceleration, now}
    Writes: c.bound.{system.load, excess}
    """
    y = c.bound.system
    k = c.now.load(w, "solution")
    for n in range(y.n_dofs):
        given = y.acceleration.load(w, n) * c.tables.excess.load(w, c.tables.tree_dof.at(n))
        before = c.bound.carried.load(w, n)
        if k == 2:
            before = c.bound.excess.load(w, n)
        c.bound.excess.store(w, n + (k - 1) * y.n_dofs, given)
        y.load.store(w, n, y.load.load(w, n) + given - before)


@ti.func
def owe_excess(c: ti.template(), w: ti.i32):
    """What the right-hand side lacks of D a after `extrapolate`: D a - (3 d1 - 2 d2).

    Reads and writes: c.bound.excess
    """
    y = c.bound.system
    for n in range(y.n_dofs):
        whole = y.acceleration.load(w, n) * c.tables.excess.load(w, c.tables.tree_dof.at(n))
        given = c.bound.excess.load(w, n) * 3.0 - c.bound.excess.load(w, n + y.n_dofs) * 2.0
        c.bound.excess.store(w, n, whole - given)
