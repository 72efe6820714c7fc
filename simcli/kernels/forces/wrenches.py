"""Wrenches: forces at points of bodies, and torques."""

import numpy as np

from simcli.kernels.algebra.values import Vec3
from simcli.kernels.articulation.points import world_point
from simcli.kernels.language import ti
from simcli.kernels.memory.tables import Tables
from simcli.model.joints.tree_kinematics import body_rotations, link_points, links_of
from simcli.model.tables.model import Model


@ti.func
def act_of_wrench(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What wrench k does to its link; see external.py.

    Reads: u columns, s.{R, o, v, origin}
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    link = u.link_b.at(k)
    x, _, v = world_point(t, s, w, link, u.point.load(w, k))
    force = none + u.force.load(w, k)
    torque = none + u.torque.load(w, k)
    if u.follows.at(k) != 0:
        R = s.R.load(w, link)
        force = R * u.force.load(w, k)
        torque = R * u.torque.load(w, k)
    return force, torque, none, x, zero, force.dot(v) + torque.dot(s.v.load(w, link).angular), zero


class Wrenches:
    """Device columns of wrenches; one that follows its body is kept in link axes.

    Attributes:
        n: wrenches.  link_a: -1, the world.  link_b: the link that each acts on.  point: where, in it.
        force, torque, follows: see `model.forces.tables.Wrenches`.
    """

    _data_oriented = True
    act = staticmethod(act_of_wrench)
    stores = by_rows = need_poses = damps = False

    def __init__(self, model: Model, tables: Tables, driven: set[str]):
        wrenches, self.n = model.wrenches, len(model.wrenches.name)
        items = tables.arena.records(self.n)
        self.link_a, self.link_b = items.ints(np.full(self.n, -1)), items.ints(links_of(model, wrenches.body))
        self.point = items.column(link_points(model, wrenches.body, wrenches.point), Vec3)
        turn = np.where(wrenches.follows[:, None, None], body_rotations(model, wrenches.body), np.eye(3))
        self.force = items.column(_turned(turn, wrenches.force), Vec3, driven="wrench_force" in driven)
        self.torque = items.column(_turned(turn, wrenches.torque), Vec3, driven="wrench_torque" in driven)
        self.follows = items.ints(wrenches.follows)


def _turned(turn: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors (W|1, K, 3) turned by matrices (W|1, K, 3, 3)."""
    return np.einsum("wkij,wkj->wki", turn, vector)
