"""Compensation of gravity: forces -factor m g at centres of mass.

They do no work that the account sees: the potential energy is that of what gravity is left, (1 - factor) m g.
"""

import numpy as np

from simcli.kernels.algebra.values import Vec3
from simcli.kernels.articulation.kinematics import com_about_origin
from simcli.kernels.language import ti
from simcli.kernels.memory.tables import Tables
from simcli.model.joints.tree_kinematics import links_of
from simcli.model.tables.model import Model


@ti.func
def act_of_gravity_compensation(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What holds body k up; see external.py.

    Reads: u columns, t.{gravity, com}, s.{R, o}
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    link = u.link_b.at(k)
    force = none - t.gravity.load(w, 0) * u.mass.load(w, k)
    return force, none, none, com_about_origin(t, s, w, link), zero, zero, zero


class GravityCompensation:
    """Device columns of bodies whose gravity is compensated, in some phase.

    Attributes:
        by_rows: True where steps leave that part of gravity out instead.
        n: of them.  link_a: -1, the world.  link_b: the link of each.  mass: [kg] that is held up.
    """

    _data_oriented = True
    act = staticmethod(act_of_gravity_compensation)
    stores = need_poses = damps = False

    def __init__(self, model: Model, tables: Tables):
        self.by_rows = False
        body = np.flatnonzero(tables.ever(lambda m: compensated_mass(m) != 0))
        self.n, items = len(body), tables.arena.records(len(body))
        self.link_a, self.link_b = items.ints(np.full(self.n, -1)), items.ints(links_of(model, body))
        self.mass = items.column(compensated_mass(model)[:, body])


def compensated_mass(model: Model) -> np.ndarray:
    """[kg], (W|1, B), of each body, that is held up."""
    return model.bodies.mass * model.bodies.gravity_compensation
