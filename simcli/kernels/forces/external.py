"""External forces on links: of springs between points, cables and wrenches, which know poses and twists only."""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.algebra.values import Force, Vec3
from simcli.kernels.chart.points import add_force, world_point
from simcli.kernels.forces.bushings import load_bushings
from simcli.kernels.language import ti
from simcli.kernels.laws.coordinate import spring_law
from simcli.kernels.rows.forms import length_along


@ti.func
def load_links(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32):
    """External forces on links, their powers, and what springs, cables and bushings store.

    Powers: dissipated by dampers, input by wrenches.

    Reads:  fo springs, bushings and wrenches, s.{R, o, v, origin}
    Writes: s.external, fo.{account.power, stored}
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    dissipated = zero
    stored = zero
    for i in range(t.n_links):
        s.external.store(w, i, Force.of(none, none))
    if ti.static(fo.bushings.n > 0):
        dissipated, stored = load_bushings(t, fo.bushings, s, w)
    for k in range(fo.n_springs):
        taken, kept = load_spring(t, fo, s, w, k)
        dissipated = dissipated + taken
        stored = stored + kept
    supplied = zero
    for k in range(fo.n_wrenches):
        of_force, of_torque = load_wrench(t, fo, s, w, k)
        supplied = supplied + of_force + of_torque
    fo.account.set_power(w, dissipated, supplied)
    fo.stored.store(w, 0, stored)


@ti.func
def load_spring(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """Force of spring k on its two links, along the line of its ends; the power that its damper takes [W], and what it
    stores [J].

    Reads:  fo springs, s.{R, o, v, origin}
    Writes: s.external
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    link_a = fo.spring_link.at(2 * k)
    link_b = fo.spring_link.at(2 * k + 1)
    x_a, p_a, v_a = world_point(t, s, w, link_a, fo.spring_point.load(w, 2 * k))
    x_b, p_b, v_b = world_point(t, s, w, link_b, fo.spring_point.load(w, 2 * k + 1))
    length, rate, along = length_along(p_b - p_a, v_b - v_a)
    law, taken, acts = spring_law(fo, w, k, length, rate)
    pull = along * select(acts, law.force, zero)
    if ti.static(not fo.springs_by_rows):
        add_force(s, w, link_a, x_a, -pull, none)
        add_force(s, w, link_b, x_b, pull, none)
    return taken, law.energy


@ti.func
def load_wrench(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """Force and torque of wrench k on its link, and the power that each supplies [W].

    Reads:  fo wrenches, s.{R, o, v, origin}
    Writes: s.external
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    link = fo.wrench_link.at(k)
    x, _, v = world_point(t, s, w, link, fo.wrench_point.load(w, k))
    force = none + fo.wrench_force.load(w, k)
    torque = none + fo.wrench_torque.load(w, k)
    if fo.wrench_follows.at(k) != 0:
        R = s.R.load(w, link)
        force = R * fo.wrench_force.load(w, k)
        torque = R * fo.wrench_torque.load(w, k)
    add_force(s, w, link, x, force, torque)
    return force.dot(v), torque.dot(s.v.load(w, link).angular)
