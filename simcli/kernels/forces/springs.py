"""Springs and dampers between two points; slack ones are ropes."""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.chart.points import world_point
from simcli.kernels.language import ti
from simcli.kernels.laws.coordinate import Response
from simcli.kernels.memory.arena import local
from simcli.kernels.memory.tables import Tables
from simcli.kernels.rows.forms import length_along
from simcli.model.tables import Model
from simcli.model.tree.link_frames import link_points, links_of


@ti.func
def act_of_spring(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What spring k does to its links, along the line of its ends; see external.py.

    Reads: u columns, s.{R, o, v, origin}
    """
    zero = t.arena.zero()
    x_a, p_a, v_a = world_point(t, s, w, u.link_a.at(k), u.point_a.load(w, k))
    x_b, p_b, v_b = world_point(t, s, w, u.link_b.at(k), u.point_b.load(w, k))
    length, rate, along = length_along(p_b - p_a, v_b - v_a)
    law, taken, acts = spring_law(u, w, k, length, rate)
    return along * select(acts, law.force, zero), Vec3(zero, zero, zero), x_a, x_b, taken, zero, law.energy


class Springs:
    """Device columns of springs; a point in the world keeps its coordinates, a point of a body becomes one of its link.

    Attributes:
        n: springs.  link_a, link_b: links that carry the ends, -1 for the world.  point_a, point_b: there.
        stiffness, damping, rest_length, slack: see `model.forces.tables.Springs`.
        by_rows: True where rows of the constrained system carry their tension.
    """

    _data_oriented = True
    act = staticmethod(act_of_spring)
    stores, need_poses = True, False

    def __init__(self, model: Model, tables: Tables):
        springs, self.n, self.by_rows = model.springs, len(model.springs.name), False
        self.arena, items = tables.arena, tables.arena.records(self.n)
        self.link_a, self.link_b = (items.ints(links_of(model, body)) for body in springs.body.T)
        self.point_a, self.point_b = (items.column(link_points(model, springs.body[:, k], springs.point[:, :, k]), Vec3)
                                      for k in range(2))  # fmt: skip
        self.stiffness, self.damping = items.column(springs.stiffness), items.column(springs.damping)
        self.rest_length, self.slack = items.column(springs.rest_length), items.ints(springs.slack)

    def is_slack(self, k):
        """Mask of all lanes, whether spring k is a rope (inside kernels)."""
        return local(self.arena.zero() + ti.cast(self.slack.at(k), self.arena.device.real) > 0.0)


def spring_law(u: Springs, w, k, length, rate):
    """Spring k, along its length; a slack one never pushes.

        T = k (length - rest) + c rate,   F = -T     as if it acted

    Returns:
        The response as if it acted, but for V; what the damper takes [W]; and a mask of where it acts. A slack spring that
        is stretched gives nothing while its damper would push: the damper takes what the spring gives.
    """
    none = u.arena.zero()
    stiffness, damping = local(none + u.stiffness.load(w, k)), local(none + u.damping.load(w, k))
    stretch, is_slack = local(length - u.rest_length.load(w, k)), u.is_slack(k)
    tension = local(stretch * stiffness + rate * damping)
    elastic = local(select(is_slack & (stretch <= 0.0), none, stretch * stiffness))
    acts = local(~is_slack | ((stretch > 0.0) & (tension > 0.0)))
    taken = local(select(acts, damping * rate, -elastic) * rate)
    return Response(-tension, stiffness, damping, stretch * elastic * 0.5, rate * rate * damping * 0.5), taken, acts
