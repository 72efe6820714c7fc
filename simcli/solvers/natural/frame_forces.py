"""Bushings, cables and drags in steps of generalized_alpha, and the stiffness that their iteration knows.

    bushing   K_i g_i g_i^T + (K_i d_i - f_i) D^2 d_i + L_i h_i h_i^T,  g_i = grad d_i,  h_i = grad phi_i;
              dampers likewise, by their rates
    drag      (c + q |u|) E + q |u| e e^T along u = |u| e,   of the point and of the turning

Left out are second derivatives of turns, phi^2 / 6 of the first ones for equal L_i, and what dampers change by as their axes
turn: rounds take the rest away. Dampers of a cable act half way between its ends; their stiffness here is that at its
second end.

Source: derived from the laws of kernels/forces/bushings.py and springs.py.
"""

from simcli.kernels.device.arena import local
from simcli.kernels.forces.bushings import act_between_frames, arms_of
from simcli.kernels.forces.springs import act_of_medium, drags_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import pulled_back, rotation_log
from simcli.kernels.language.values import Vec3
from simcli.kernels.rows.saddle import (
    act_on,
    axes_in_pair,
    bend_along,
    bend_axis,
    find_frames,
    forget_bends,
    gap_in_pair,
    pull_sites,
    spin_in_pair,
)
from simcli.solvers.base import needs


@needs.frame_pairs
@ti.func
def push_frames(c: ti.template(), w: ti.i32):
    """Add what bushings, cables and drags do at the present coordinates and velocities.

    Reads:  c.steps.rows, c.forces
    Writes: c.pushes.{pull, of_frames, taken, given}, c.steps.rows.frames
    """
    p = c.pushes
    zero = c.tables.arena.zero()
    find_frames(c.steps.rows.frames, c.steps.rows.next_x, c.steps.rows.v, w)
    p.dissipated.store(w, 0, zero)
    p.supplied.store(w, 0, zero)
    for i in range(c.steps.rows.n):
        p.of_frames.store(w, i, zero)
    for k in range(c.forces.bushings.n):
        _push_bushing(c, w, k)
        _collect(c, w, k)
    for k in range(c.forces.drags.n):
        _push_drag(c, w, k)
        _collect(c, w, c.forces.bushings.n + k)
    for i in range(c.steps.rows.n):
        p.pull.store(w, i, p.pull.load(w, i) + p.of_frames.load(w, i))


@needs.bushings
@ti.func
def _push_bushing(c: ti.template(), w: ti.i32, k: ti.i32):
    f = c.steps.rows.frames
    u = c.forces.bushings
    gap = gap_in_pair(f.number, w, k)
    sides = [(axes_in_pair(f.number, w, k, side), spin_in_pair(f, w, k, side)) for side in range(2)]
    force, couple, dissipated, _energy = act_between_frames(u, w, k, (gap, gap_in_pair(f.rate, w, k)), sides)
    arm_a, arm_b = arms_of(u, w, k, gap)
    act_on(f, w, k, force, -(couple + arm_a.cross(force)), couple + arm_b.cross(force))
    c.pushes.dissipated.store(w, 0, c.pushes.dissipated.load(w, 0) + dissipated)


@needs.drags_of_links
@ti.func
def _push_drag(c: ti.template(), w: ti.i32, k: ti.i32):
    f = c.steps.rows.frames
    p = c.forces.bushings.n + k
    v, spin = gap_in_pair(f.rate, w, p), spin_in_pair(f, w, p, 1)
    force, torque, dissipated, supplied = act_of_medium(c.forces.drags, w, k, v, spin)
    act_on(f, w, p, force, torque * 0.0, torque)
    c.pushes.dissipated.store(w, 0, c.pushes.dissipated.load(w, 0) + dissipated)
    c.pushes.supplied.store(w, 0, c.pushes.supplied.load(w, 0) + supplied)


@ti.func
def _collect(c: ti.template(), w: ti.i32, p: ti.i32):
    """Add the force of pair p on the coordinates.

    Writes: c.pushes.of_frames
    """
    f = c.steps.rows.frames
    pull_sites(f, w, p)
    for s in range(f.site_start.at(p), f.site_start.at(p + 1)):
        i = f.site.at(s)
        c.pushes.of_frames.store(w, i, c.pushes.of_frames.load(w, i) + f.pull.load(w, s))


@needs.frame_pairs
@ti.func
def stiffen_frames(c: ti.template(), w: ti.i32, span: ti.template(), rate_span: ti.template()):
    """Stiffness of all pairs over a step.

    Args:
        span, rate_span: d q1 / d a1, d v1 / d a1.

    Reads:  c.steps.rows.frames, c.forces
    Writes: c.steps.rows.frames
    """
    forget_bends(c.steps.rows.frames, w)
    for k in range(c.forces.bushings.n):
        _stiffen_bushing(c, w, k, span, rate_span)
    for k in range(c.forces.drags.n):
        _stiffen_drag(c, w, k, rate_span)


@needs.bushings
@ti.func
def _stiffen_bushing(c: ti.template(), w: ti.i32, k: ti.i32, span: ti.template(), rate_span: ti.template()):
    f = c.steps.rows.frames
    u = c.forces.bushings
    zero = c.tables.arena.zero()
    none = Vec3(zero, zero, zero)
    gap = gap_in_pair(f.number, w, k)
    F_a = axes_in_pair(f.number, w, k, 0)
    phi, factor = rotation_log(F_a.T * axes_in_pair(f.number, w, k, 1))
    for i in ti.static(range(3)):
        axis = F_a.column(i)
        gain = u.stiffness.load(w, k).parts[i] * span + u.damping.load(w, k).parts[i] * rate_span
        act_on(f, w, k, axis, axis.cross(gap), none)
        bend_along(f, w, k, gain)
        bend_axis(f, w, k, i, stretch_pull(u, w, k, i, axis.dot(gap)) * span)
        turn = F_a * pulled_back(phi, factor, _unit(i, zero))
        act_on(f, w, k, none, -turn, turn)
        bend_along(f, w, k, u.angular_stiffness.load(w, k).parts[i] * span)
        act_on(f, w, k, none, -axis, axis)
        bend_along(f, w, k, u.angular_damping.load(w, k).parts[i] * rate_span)


def stretch_pull(u, w, k, i, d):
    """K_i d_i - f_i of bushing k (inside kernels)."""
    return local(u.stiffness.load(w, k).parts[i] * d - u.preload.load(w, k).parts[i])


@needs.drags_of_links
@ti.func
def _stiffen_drag(c: ti.template(), w: ti.i32, k: ti.i32, rate_span: ti.template()):
    f = c.steps.rows.frames
    zero = c.tables.arena.zero()
    none = Vec3(zero, zero, zero)
    p = c.forces.bushings.n + k
    point, turning = drags_of(c.forces.drags, w, k, gap_in_pair(f.rate, w, p), spin_in_pair(f, w, p, 1))
    for i in ti.static(range(4)):
        for m in ti.static(range(2)):
            _force, law, along, across = (point, turning)[m]
            axis = _unit(i, zero) if i < 3 else along
            gain = across if i < 3 else local(law.damping - across)
            act_on(f, w, p, axis if m == 0 else none, none, axis if m == 1 else none)
            bend_along(f, w, p, gain * rate_span)


def _unit(k, zero) -> Vec3:
    """The k-th axis of the world (inside kernels)."""
    return Vec3(*(zero + float(k == i) for i in range(3)))


@needs.frame_pairs
@ti.func
def idle_frames(c: ti.template(), w: ti.i32):
    """Take the stiffness of pairs out of the saddle point."""
    forget_bends(c.steps.rows.frames, w)


@needs.frame_pairs
@ti.func
def add_frame_power(c: ti.template(), w: ti.i32):
    """Powers of bushings, cables and drags where they were found last.

    Writes: c.forces.account.power
    """
    c.forces.account.add_power(w, c.pushes.dissipated.load(w, 0), c.pushes.supplied.load(w, 0))
