"""Bushings: springs and dampers of six axes between two frames; and cables, which are bushings of joints.

    d = F_a^T (p_b - p_a),   phi = log(F_a^T F_b)

    E = d.K d / 2 + phi.L phi / 2 - f.d - m.phi
    f_b = F_a (f - K d - C d'),   couple on B = -F_a (J^-T (L phi - m) + D w)

p_a, p_b: the ends; F_a: the axes, fixed in A; F_b: fixed in B. At rest p_b = p_a and F_b = F_a. K, L, C, D: stiffnesses and
dampings along and about the axes; f, m: preloads on B; w: angular velocity of B against A in these axes; J: see
`rotation_log`. The force on B and that on A act at one point, so that action equals reaction, moment included: at p_b, where
the force is the gradient of E. That of a cable, whose K is one number and whose force is along the line of its anchors, acts
half way between them, where damping sees both ends alike. d' is the velocity of that point of B against that of A, so that
dampers do not see a rotation of both bodies together. A turn is at most half a one: beyond, phi is the shorter way.

Source: the cable of the Newton engine's articulations (stretch, bend and twist, the tangent as third axis); the energy is
that of a linear spring on d and phi. Deviation: bend and twist have their own stiffness, along axes of the parent's anchor.
"""

import numpy as np

from simcli.kernels.articulation.points import world_point, world_turn
from simcli.kernels.articulation.report import put
from simcli.kernels.device.arena import local
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import pulled_back, rotation_log
from simcli.kernels.language.values import Force, Mat3, Vec3
from simcli.model.forces.bushing import bushing_rows
from simcli.model.tables.model import Model


@ti.func
def act_of_bushing(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What bushing k does to its links; see wrenches.py.

    Reads:  u columns, s.{R, o, v, origin}
    Writes: u.wrench
    """
    link_a = u.link_a.at(k)
    link_b = u.link_b.at(k)
    x_a, p_a, v_a = world_point(t, s, w, link_a, u.point_a.load(w, k))
    x_b, p_b, v_b = world_point(t, s, w, link_b, u.point_b.load(w, k))
    R_a, spin_a = world_turn(t, s, w, link_a)
    R_b, spin_b = world_turn(t, s, w, link_b)
    gap = (p_b - p_a, v_b - v_a)
    sides = (R_a * u.frame_a.load(w, k), spin_a), (R_b * u.frame_b.load(w, k), spin_b)
    force, couple, power, energy = act_between_frames(u, w, k, gap, sides)
    arm_a, arm_b = arms_of(u, w, k, gap[0])
    u.wrench.store(w, k, Force.of(force, couple + arm_b.cross(force)))
    return force, couple, x_a + arm_a, x_b + arm_b, power, t.arena.zero(), energy


def act_between_frames(u, w, k, gap, sides):
    """What bushing k does between two frames (inside kernels).

    Args:
        u: see `Bushings`.
        gap: p_b - p_a, and its rate.
        sides: F and angular velocity of A and of B.

    Returns:
        Force [N] and couple [N m] on B, world; dissipated power [W]; energy [J].
    """
    (F_a, spin_a), (F_b, spin_b) = sides
    arm_a, arm_b = arms_of(u, w, k, gap[0])
    rate = gap[1] + spin_b.cross(arm_b) - spin_a.cross(arm_a)
    phi, factor = rotation_log(F_a.T * F_b)
    along = F_a.transposed_times(gap[0]), F_a.transposed_times(rate)
    turned = phi, F_a.transposed_times(spin_b - spin_a)
    push, turn_pull, turn_drag, energy, power = bushing_law(u, w, k, along, turned)
    return F_a * push, -(F_a * (pulled_back(phi, factor, turn_pull) + turn_drag)), power, energy


def arms_of(u, w, k, gap):
    """[m], from p_a and from p_b to the point at which the force of bushing k acts (inside kernels)."""
    place = local(u.wrench.arena.zero() + u.place.load(w, k))
    return gap * place, gap * (place - 1.0)


def bushing_law(u, w, k, along, turned):
    """What bushing k answers in its axes.

    Args:
        u: see `Bushings`.
        along, turned: d and phi, with their rates.

    Returns:
        Force; L phi - m and D w; energy [J] and dissipated power [W].
    """
    none = Vec3(*(u.wrench.arena.zero() for _ in range(3)))
    preload, couple_preload = none + u.preload.load(w, k), none + u.angular_preload.load(w, k)
    (d, d_rate), (phi, turn_rate) = along, turned
    pull, drag = _times(d, u.stiffness.load(w, k)), _times(d_rate, u.damping.load(w, k))
    turn_pull, turn_drag = _times(phi, u.angular_stiffness.load(w, k)), _times(turn_rate, u.angular_damping.load(w, k))
    energy = local((d.dot(pull) + phi.dot(turn_pull)) * 0.5 - d.dot(preload) - phi.dot(couple_preload))
    power = local(d_rate.dot(drag) + turn_rate.dot(turn_drag))
    return preload - pull - drag, turn_pull - couple_preload, turn_drag, energy, power


def _times(a, b):
    """Products of the components of two vectors."""
    return Vec3(*(x * y for x, y in zip(a.parts, b.parts, strict=True)))


class Bushings:
    """Device columns of cables and bushings.

    Attributes:
        n_cables: they come first.  joint: index of the joint of each.
        link_a, link_b: links that carry both ends, -1 for the world.
        point_a, point_b: ends in the axes of those links, of which the first is where the second one rests.
        frame_a, frame_b: F_a and F_b in the axes of those links.
        stiffness, damping, angular_stiffness, angular_damping, preload, angular_preload: K, C, L, D, f, m.
        place: where the force acts on the way from p_a to p_b.
        wrench: force [N] and torque [N m] on B at its end, world: of the last `load_links`.
    """

    _data_oriented = True
    act = staticmethod(act_of_bushing)
    stores, by_rows, need_poses = True, False, True

    def __init__(self, model: Model, tables: Tables, _forces):
        arena, self.n_cables = tables.arena, len(model.cables.name)
        self.n = self.n_cables + len(model.bushings.name)
        items = arena.records(self.n)
        self.wrench = items.array(Force)
        self.damps = False
        if not self.n:  # nothing reads the columns then, and every event lays them out again
            return
        damping = (getattr(one.bushings, key) for one in tables.phases for key in ("damping", "angular_damping"))
        cables = (getattr(one.cables, f"{key}_damping") for one in tables.phases for key in ("stretch", "bend", "twist"))
        self.damps = any(np.any(values) for values in (*damping, *cables))
        rows = bushing_rows(model)
        self.joint = arena.ints(model.cables.joint)
        self.link_a, self.link_b = items.ints(rows.link_a), items.ints(rows.link_b)
        self.place = items.column(rows.place)
        for name in (
            "point_a",
            "point_b",
            "stiffness",
            "damping",
            "angular_stiffness",
            "angular_damping",
            "preload",
            "angular_preload",
        ):
            setattr(self, name, items.column(getattr(rows, name), Vec3))
        self.frame_a, self.frame_b = items.column(rows.frame_a, Mat3), items.column(rows.frame_b, Mat3)


@ti.func
def report_cables(u: ti.template(), rows: ti.template(), w: ti.i32):
    """Reactions of cables where they were loaded last.

    Reads:  u.wrench
    Writes: rows.joint_wrench
    """
    for k in range(u.n_cables):
        put(rows.joint_wrench, w, 6 * u.joint.at(k), u.wrench.load(w, k))
