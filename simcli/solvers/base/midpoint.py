"""Velocities in the middle of a step, for the forces that velocities need, of trees whose links turn far in a step.

    M (v+ - v) = h (F - b(q, (v + v+) / 2))      b what velocities need; v+ by rounds, from that without contacts and rows

With b where the step begins, what precesses or nutates at nu [rad/s] gains h nu^2 / 2 of its amplitude a second: the wheel
of a gyroscope leaves its plane. After one round it still gains h^3 nu^4 / 8, after three h^5 nu^6: these are for trees of
which a link turns farther. Where none turns far the old velocities serve, since three rounds take as long as all else of a
step. Each tree is judged by itself: what else is in the scene does not change its motion.

Trees in which no link can turn but about axes that stay parallel need none of it; those of one body have their own torques
(gyroscopes.py).

Source: the implicit midpoint rule for velocities; derived.
"""

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.model.tables.model import WORLD, LinkKind, Model
from simcli.solvers.base.integrators import H

_FAR = 0.02  # [rad], a turn of a link in a step from which on its velocity is that of the middle
_FARTHER = 0.05  # [rad], one from which on a round does not find it well enough
MORE_ROUNDS = 2  # further rounds of these
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
        start, middle: (n) velocities where the step begins, and those of its middle.
        farthest: (1) the square of the largest turn of a link in the step.
        turns: (n_trees) that of each tree, in the last step in which a link of some tree turned far.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena, is_first: bool, apart: list[int]):
        links = model.links
        roots = [i for i in np.flatnonzero(links.parent == WORLD).tolist() if is_first and _turns_about_many(model, i)]
        found = np.flatnonzero(np.isin(links.root, roots) & ~np.isin(links.root, apart))
        moved = tables.ever(lambda m: m.motions.kind[None] != 0)
        number = {root: k for k, root in enumerate(np.unique(links.root[found]).tolist())}
        dofs = [
            (d, number[int(links.root[i])])
            for i in found
            for d in range(links.qd_start[i], links.qd_start[i] + links.n_qd[i])
            if not moved[d]
        ]
        self.n_trees, self.n_links, self.link = len(number), len(found), arena.ints(found)
        self.tree = arena.ints([number.get(int(root), -1) for root in links.root])
        self.n, self.dof, self.dof_tree = len(dofs), arena.ints([d for d, _ in dofs]), arena.ints([k for _, k in dofs])
        (self.start, self.middle), self.turns = arena.records(len(dofs)).arrays(2), arena.array(len(number))
        self.farthest = arena.array(1)


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
    """The worlds in which a link of some tree turns far in a step.

    Reads:  c.state.v
    Writes: c.midpoint.farthest
    """
    o = c.midpoint
    h = c.constants.load(w, H)
    farthest = c.tables.arena.zero()
    for n in range(o.n_links):
        spin = c.state.v.load(w, o.link.at(n)).angular
        farthest = ti.max(farthest, spin.dot(spin))
    farthest = farthest * (h * h)
    o.farthest.store(w, 0, farthest)
    return farthest > _FAR * _FAR


@ti.func
def keep_fast(c: ti.template(), w: ti.i32):
    """Note how far the links of each tree turn in a step, and velocities where it begins.

    Reads:  c.state.{v, qd}
    Writes: c.midpoint.{turns, start}
    """
    o = c.midpoint
    h = c.constants.load(w, H)
    for k in range(o.n_trees):
        o.turns.store(w, k, c.tables.arena.zero())
    for n in range(o.n_links):
        i = o.link.at(n)
        k = o.tree.at(i)
        spin = c.state.v.load(w, i).angular
        o.turns.store(w, k, ti.max(o.turns.load(w, k), spin.dot(spin) * (h * h)))
    for n in range(o.n):
        o.start.store(w, n, c.state.qd.load(w, o.dof.at(n)))


@ti.func
def is_fast(c: ti.template(), w: ti.i32):
    """The worlds in which a link of some tree turns far in a step, as found last."""
    return c.midpoint.farthest.load(w, 0) > _FAR * _FAR


@ti.func
def is_faster(c: ti.template(), w: ti.i32):
    """The worlds in which one turns so far that one round does not do."""
    return c.midpoint.farthest.load(w, 0) > _FARTHER * _FARTHER


def is_fast_tree(c, w, i):
    """1 in the worlds in which the tree of link i turns far in a step (inside kernels)."""
    turn = ti.min(c.midpoint.turns.load(w, c.midpoint.tree.at(i)), c.midpoint.farthest.load(w, 0))
    return ti.select(turn > _FAR * _FAR, 0.0 * turn + 1.0, 0.0 * turn)


@ti.func
def move_to_middle(c: ti.template(), w: ti.i32):
    """Velocities of the middle of the step, by the accelerations that were found last; those of slow trees stay.

    Reads:  c.midpoint.{start, turns}, c.state.qdd
    Writes: c.state.qd
    """
    _move_if_beyond(c, w, _FAR * _FAR)


@ti.func
def move_again(c: ti.template(), w: ti.i32):
    """The same for trees that turn farther; those of the others stay.

    Reads:  c.midpoint.{start, turns}, c.state.qdd
    Writes: c.state.qd
    """
    _move_if_beyond(c, w, _FARTHER * _FARTHER)


@ti.func
def _move_if_beyond(c: ti.template(), w: ti.i32, least: ti.template()):
    o = c.midpoint
    half = c.constants.load(w, H) * 0.5
    for n in range(o.n):
        d = o.dof.at(n)
        middle = o.start.load(w, n) + c.state.qdd.load(w, d) * half
        is_far = o.turns.load(w, o.dof_tree.at(n)) > least
        c.state.qd.store(w, d, ti.select(is_far, middle, c.state.qd.load(w, d)))


@ti.func
def move_back(c: ti.template(), w: ti.i32):
    """Velocities where the step begins; those that it leaves are kept.

    Writes: c.state.qd, c.midpoint.middle
    """
    for n in range(c.midpoint.n):
        d = c.midpoint.dof.at(n)
        c.midpoint.middle.store(w, n, c.state.qd.load(w, d))
        c.state.qd.store(w, d, c.midpoint.start.load(w, n))


@ti.func
def return_to_middle(c: ti.template(), w: ti.i32):
    """The velocities that `move_back` left.

    Writes: c.state.qd
    """
    for n in range(c.midpoint.n):
        c.state.qd.store(w, c.midpoint.dof.at(n), c.midpoint.middle.load(w, n))
