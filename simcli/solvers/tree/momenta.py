"""Wrenches of joints of a tree that sum to the momentum of a step of first order.

An evaluation shows the forces that the accelerations of its instant need, with the axes where the step begins. The step ends
with other axes: its velocities differ from v + h a by h^2. What this is of the momentum of each body is added to the forces
of its joint, and of the joints below it. Torques at the anchors stay those of the instant, and so do forces along what a
joint lets slide: these are its efforts.

Source: derived.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.articulation.kinematics import com_about_origin, point_velocity, vector_at
from simcli.kernels.language import ti
from simcli.kernels.memory.lists import when
from simcli.kernels.report import put
from simcli.solvers.tree.integrators import H


def noting(c, places: tuple = ()) -> tuple:
    """Stages after those that show reactions.

    Args:
        c: core of the run.
        places: stages that place links where the step begins, where they are not.
    """
    return when(c.sums_momenta, note_changes, *places, note_starts)


def adding(c) -> tuple:
    """The stage after links have been placed where the step ends."""
    return when(c.sums_momenta, add_momenta)


@ti.func
def note_changes(c: ti.template(), w: ti.i32):
    """By what the forces just shown change the velocities of centres of mass in the step.

    Reads:  c.state of `place_all` and `rnea_link_forces`
    Writes: c.momenta
    """
    t, s = c.tables, c.state
    for i in range(t.n_links):
        x, v = com_about_origin(t, s, w, i), s.v.load(w, i)
        a = point_velocity(s.a.load(w, i), x) + v.angular.cross(point_velocity(v, x)) + t.gravity.load(w, 0)
        c.momenta.store(w, i, a * c.constants.load(w, H))


@ti.func
def note_starts(c: ti.template(), w: ti.i32):
    """Add the velocities where the step begins.

    Reads:  c.state of `place_all`
    Writes: c.momenta
    """
    t, s = c.tables, c.state
    for i in range(t.n_links):
        c.momenta.store(w, i, c.momenta.load(w, i) + point_velocity(s.v.load(w, i), com_about_origin(t, s, w, i)))


@ti.func
def add_momenta(c: ti.template(), w: ti.i32):
    """Add what the momenta where the step ends have besides, tips first.

    Reads:  c.state of `place_all`
    Writes: c.{momenta, rows.joint_wrench}
    """
    t, s = c.tables, c.state
    for i in range(t.n_links):
        ends = point_velocity(s.v.load(w, i), com_about_origin(t, s, w, i))
        share = t.mass.load(w, i) / c.constants.load(w, H)
        c.momenta.store(w, i, (ends - c.momenta.load(w, i)) * share)
    for k in range(t.n_links):
        i = t.n_links - 1 - k
        p = t.parent.at(i)
        force = c.momenta.load(w, i)
        first = t.link_qd.at(i)
        for d in range(first, first + t.link_n_qd.at(i)):
            force = force - _slid(s.S.load(w, d), force)
        c.momenta.store(w, i, force)
        if p >= 0:
            c.momenta.store(w, p, c.momenta.load(w, p) + force)
    for j in range(t.n_joints):
        link = t.joint_link.at(j)
        if link >= 0:
            force = c.momenta.load(w, link) * ti.cast(t.joint_sign.at(j), t.arena.device.real)
            put(c.rows.joint_wrench, w, 6 * j, vector_at(c.rows.joint_wrench, w, 6 * j) + force)


def _slid(S, force):
    """The part of a force along a dof that turns nothing (inside kernels)."""
    along, size = S.linear, S.linear.dot(S.linear)
    slides = (S.angular.dot(S.angular) == 0.0) & (size > 0.0)
    part = along * (along.dot(force) / select(slides, size, size * 0.0 + 1.0))
    return Vec3(*(select(slides, x, x * 0.0) for x in part.parts))
