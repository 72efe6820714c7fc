"""Velocities in the middle of a step, for the forces that velocities need, of trees whose links turn far in a step.

    M (v+ - v) = h (F - b(q, (v + v+) / 2))      b what velocities need; v+ by rounds, from that without contacts and rows

With b where the step begins, what precesses or nutates at nu [rad/s] gains h nu^2 / 2 of its amplitude a second: the wheel
of a gyroscope leaves its plane. Where no link of a tree turns far in a step the old velocities serve, since these rounds
take as long as all else of a step. Each tree is judged by itself: what else is in the scene does not change its motion.

Trees in which no link can turn but about axes that stay parallel need none of it; those of one body have their own torques
(gyroscopes.py).

Source: the implicit midpoint rule for velocities; derived.
"""

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena, any_lane
from simcli.kernels.memory.tables import Tables
from simcli.model.tables import WORLD, LinkKind, Model
from simcli.solvers.tree.integrators import H

_FAR = 0.02  # [rad], a turn of a link in a step from which on its velocity is that of the middle
ROUNDS = 3  # of which the last ones differ by (h nu / 2)^3
_PARALLEL = 1e-12  # [1], 1 - |cos| of axes that count as parallel


class Midpoint:
    """Trees that may need velocities of the middle, and where these stand.

    Args:
        model, tables, arena: of the run.
        is_first: whether its steps are of first order.
        apart: links with gyroscopic torques of their own.

    Attributes:
        n_trees: how many.  n_links, link: links of these trees.  n, dof: their dofs that nothing prescribes.
        tree: of each link of the model, the number of its tree, -1 of others.  dof_tree: (n) that of dofs.
        start: (n) velocities where the step begins.  fast: (n_trees) 1 where a link turns far in the step.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena, is_first: bool, apart: list[int]):
        links = model.links
        roots = [i for i in np.flatnonzero(links.parent == WORLD).tolist() if is_first and _turns_about_many(model, i)]
        found = np.flatnonzero(np.isin(links.root, roots) & ~np.isin(links.root, apart))
        moved = tables.ever(lambda m: m.motions.kind[None] != 0)
        number = {root: k for k, root in enumerate(np.unique(links.root[found]).tolist())}
        dofs = [(d, number[int(links.root[i])]) for i in found
                for d in range(links.qd_start[i], links.qd_start[i] + links.n_qd[i]) if not moved[d]]  # fmt: skip
        self.n_trees, self.n_links, self.link = len(number), len(found), arena.ints(found)
        self.tree = arena.ints([number.get(int(root), -1) for root in links.root])
        self.n, self.dof, self.dof_tree = len(dofs), arena.ints([d for d, _ in dofs]), arena.ints([k for _, k in dofs])
        self.start, self.fast = arena.slot(len(dofs)), arena.slot(len(number))


def _turns_about_many(model: Model, root: int) -> bool:
    """Whether links of a tree turn about axes that are not parallel."""
    links = model.links
    tree = np.flatnonzero(links.root == root).tolist()
    if (links.kind[tree[1:]] == LinkKind.WELD).all():
        return False
    turn, axes = {}, []
    for i in tree:
        turn[i] = (turn[links.parent[i]] if links.parent[i] in turn else np.eye(3)[None]) @ links.rotation[:, i]
        if links.kind[i] in (LinkKind.FREE, LinkKind.BALL):
            return True
        if links.kind[i] == LinkKind.HELIX and links.turn[i] != 0:
            axes.append(turn[i][..., 2])
    return any((1.0 - np.abs((axis * axes[0]).sum(axis=-1)) > _PARALLEL).any() for axis in axes[1:])


@ti.func
def find_fast(c: ti.template(), w: ti.i32):
    """Note the trees of which a link turns far in a step.

    Reads:  c.state.v
    Writes: c.midpoint.fast
    """
    zero = c.tables.arena.zero()
    h = c.constants.load(w, H)
    for k in range(c.midpoint.n_trees):
        c.midpoint.fast.store(w, k, zero)
    fastest = zero
    for n in range(c.midpoint.n_links):
        i = c.midpoint.link.at(n)
        spin = c.state.v.load(w, i).angular
        turn = spin.dot(spin) * (h * h)
        k = c.midpoint.tree.at(i)
        c.midpoint.fast.store(w, k, ti.select(turn > _FAR * _FAR, zero + 1.0, c.midpoint.fast.load(w, k)))
        fastest = ti.max(fastest, turn)
    if any_lane(fastest > _FAR * _FAR):
        for n in range(c.midpoint.n):
            c.midpoint.start.store(w, n, c.state.qd.load(w, c.midpoint.dof.at(n)))


@ti.func
def is_fast(c: ti.template(), w: ti.i32):
    """The worlds in which a link of some tree turns far in a step."""
    fastest = c.tables.arena.zero()
    for k in range(c.midpoint.n_trees):
        fastest = ti.max(fastest, c.midpoint.fast.load(w, k))
    return fastest != 0.0


def is_fast_tree(c, w, i):
    """1 in the worlds in which the tree of link i turns far in a step (inside kernels)."""
    return c.midpoint.fast.load(w, c.midpoint.tree.at(i))


@ti.func
def move_to_middle(c: ti.template(), w: ti.i32):
    """Velocities of the middle of the step, by the accelerations that were found last; those of slow trees stay.

    Reads:  c.midpoint.{start, fast}, c.state.qdd
    Writes: c.state.qd
    """
    half = c.constants.load(w, H) * 0.5
    for n in range(c.midpoint.n):
        d = c.midpoint.dof.at(n)
        start = c.midpoint.start.load(w, n)
        is_far = c.midpoint.fast.load(w, c.midpoint.dof_tree.at(n)) != 0.0
        c.state.qd.store(w, d, ti.select(is_far, start + c.state.qdd.load(w, d) * half, start))


@ti.func
def move_back(c: ti.template(), w: ti.i32):
    """Velocities where the step begins.

    Writes: c.state.qd
    """
    for n in range(c.midpoint.n):
        c.state.qd.store(w, c.midpoint.dof.at(n), c.midpoint.start.load(w, n))
