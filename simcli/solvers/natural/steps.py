"""Steps in natural coordinates: velocities projected, then one step whose rows hold where it ends.

    smooth    v_m = v + h/2 a,  q+ = q + h v_m,  v+ = v + h/2 (a + M^-1 (F + A+^T lambda)):   order 2, symplectic
    impulse   v_m = v + h a,    q+ = q + h v_m,  v+ = v_m:                                    order 1, for impacts

with M a = F + A^T lambda, the forces at the middle of the step, A and A+ the gradients of the rows at its ends. Both zhong06
and moreau take the smooth step; a world in which a law stops a coordinate, or with moreau something touches, takes the other
one, whose impacts are plastic; the smooth one would reflect. They differ by contacts, which moreau alone takes.

Velocities of impulse steps are those half a step before their positions. Forces of springs at x + h^2/4 x'', without a part
of v, are then those of the middle, (x- + 2 x + x+) / 4: such steps neither damp nor drive, however stiff the spring.

Flat bodies and thin rods have no mass along some vectors. The weights that are inverted have a little there, W = M + D; what
D does is taken away by the solutions that follow: W a' = F + D a + A^T lambda'.

Source: Zhong (2006) in the form of reference/natural-coordinates.md A.7. Deviations: lambda is a force; velocities are
projected before each step, which takes from them what the next multipliers would carry, and changes no position.
"""

import numpy as np

from simcli.kernels.dynamics import no_force
from simcli.kernels.elementary import select
from simcli.kernels.external_forces import load_links
from simcli.kernels.language import ti
from simcli.kernels.retraction import retract
from simcli.kernels.system import force_of_row, share_gears
from simcli.kernels.tree import AFFINE, place_all
from simcli.kernels.work import accumulate_work, effort_power
from simcli.model.constraint_tables import Constraints, Form
from simcli.solvers.natural.led import led_work, projection_work
from simcli.solvers.natural.rotors import note_paces, weigh_rotors
from simcli.solvers.rows.corrections import is_rigid
from simcli.solvers.rows.repeat import foreseen
from simcli.solvers.shared.motions import follow_motions, impulse_work, lead_work
from simcli.solvers.tree.integrators import STAGES, copy

# Evaluations per step, of every solver's integrators.
ALL_STAGES = {**STAGES, "zhong06": 1, "moreau": 1, "generalized_alpha": 1}
# Solutions for the velocities: those after the first take the softness of the rows away, more what weights have too much.
PROJECTIONS, MANY_PROJECTIONS = 3, 5

# Of a step, the part around a singular position that softness lets pass: of 0.01 to 1 the one with which a four-bar that
# passes ten such positions is nearest to its closed form, at steps of 0.25 to 2 ms; the errors are of order 2 then.
SINGULAR = 0.1
# Angular velocity times h that a step may have: it advances the angle by the arc sine, so that from 1 on it has no solution.
FARTHEST_TURN = 0.9
# Tries that refine what a frame shows of bodies that are flat or thin. Each leaves 3 r^2 of what the one before did, with
# r the part of the inertia of a motion that is excess: 1e-2 for a plate, up to 2e-2 for a point on an arm.
REFINEMENTS = 4
MOST_SOFT = 1e-4  # relative to G M^-1 G^T, so that the filter leaves 1e-8


def turning_rows(constraints: Constraints) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose bias tells how fast something turns: lengths of vectors, and distances.

    Returns:
        (K,) rows, (W|1, K): omega^2 over the bias.
    """
    rows = constraints.rows
    own = (rows.form == Form.RIGID) & (rows.follower == rows.leader)
    chosen = np.flatnonzero(own | (rows.form == Form.APART))
    length = np.where(own[chosen], 2.0, rows.constant[:, chosen])
    return chosen, 1.0 / length


@ti.func
def soften(c: ti.template(), w: ti.i32, h: ti.template(), fastest: ti.template()):
    """Softness of hard rows in this step, SINGULAR (h omega)^2 of their size.

    Where branches of a mechanism meet, an eigenvalue of J M^-1 J^T is the square of the distance from there. A step is
    h omega long: within a part of a step from there, what the rows ask for is made of errors, and e lets it pass.
    Everywhere else the solutions that follow take the softness away.

    Args:
        fastest: [1/s^2], omega^2 of what turns fastest.

    Writes: c.bound.{turn, system.softness}
    """
    y = c.bound.system
    turn = fastest * (h * h)
    c.bound.turn.store(w, 0, turn)
    y.softness.store(w, 0, ti.min(ti.max(turn * SINGULAR, y.least), MOST_SOFT))


@ti.func
def soften_step(c: ti.template(), w: ti.i32, h: ti.template()):
    """`soften` by the rows that have just been measured.

    Reads:  c.bound.system.rows.bias
    Writes: c.bound.system.softness
    """
    fastest = c.tables.arena.zero()
    for k in range(c.bound.n_turning):
        turn = ti.abs(c.bound.system.rows.bias.load(w, c.bound.turning.at(k)))
        fastest = ti.max(fastest, turn * c.bound.turn_weight.load(w, k))
    soften(c, w, h, fastest)


def span_of(c, w, h, stage):
    """[s], time over which accelerations act on the velocity that moves the coordinates in a step of length h.

    Reads: c.bound.jumps
    """
    if c.integrator != "zhong06":
        return h
    if c.bound.switches and not c.bound.repeats:
        touches = c.bound.jumps.load(w, 0) > 0.0
        return select(touches, c.tables.arena.zero() + h, c.tables.arena.zero() + h * 0.5)
    if c.bound.repeats:
        again = (stage > 0) & (c.bound.jumps.load(w, 0) > 0.0)
        return select(again, c.tables.arena.zero() + h, c.tables.arena.zero() + h * 0.5)
    return h * 0.5


def takes_again(c, w):
    """Mask of the worlds whose step is evaluated again: because a law stops something, or because nothing touches."""
    return c.bound.jumps.load(w, 0) > 0.0 if c.bound.repeats else c.bound.parts.load(w, 0) > 0.0


@ti.func
def load_midpoint(c: ti.template(), w: ti.i32, h: ti.template()):
    """External forces half a step ahead, along the present velocities; for the ledger their powers where the step begins.

    They act along the coordinates as these are there: a torque on vectors that have not yet turned is one of order one.

    Reads:  c.state.{q, qd}, c.forces
    Writes: c.bound.{push, q_kept}, c.forces.power; c.state.external is none
    """
    dissipated = c.tables.arena.zero()
    supplied = c.tables.arena.zero()
    if ti.static(c.reports["energy"]):
        load_links(c.tables, c.forces, c.state, w)
        dissipated = c.forces.power.load(w, 0)
        supplied = c.forces.power.load(w, 1)
    copy(c.bound.q_kept, c.state.q, c.tables.n_q, w)
    retract(c.tables, c.bound.q_kept, c.state.q, c.state.qd, w, foreseen(c, w) * h * 0.5)
    place_all(c.tables, c.state, w)
    load_links(c.tables, c.forces, c.state, w)
    if ti.static(c.reports["energy"]):
        c.forces.power.store(w, 0, dissipated)
        c.forces.power.store(w, 1, supplied)
    for i in range(c.tables.n_links):
        force = c.state.external.load(w, i)
        first = c.tables.link_qd.at(i)
        for d in range(first, first + c.tables.link_n_qd.at(i)):
            c.bound.push.store(w, d, c.state.S.load(w, d).dot(force))
        c.state.external.store(w, i, no_force(c.tables.arena.zero()))
    copy(c.state.q, c.bound.q_kept, c.tables.n_q, w)
    place_all(c.tables, c.state, w)


@ti.func
def carry_excess(c: ti.template(), w: ti.i32, k: ti.i32, refines: ti.i32):
    """Begin a try of an evaluation with D a of the one before, while that refines accelerations; later tries keep it.

    The number of tries that refine is fixed, so that no world sees how far another one is.

    Args:
        k: number of the solution, the first of a try.

    Reads:  c.bound.system.acceleration
    Writes: c.bound.{carried, system.load}
    """
    y = c.bound.system
    for n in range(y.n_dofs):
        carried = c.bound.carried.load(w, n)
        if k == 0:
            carried = carried * 0.0
        elif refines != 0:
            carried = y.acceleration.load(w, n) * c.tables.excess.load(w, c.tables.tree_dof.at(n))
        c.bound.carried.store(w, n, carried)
        y.load.store(w, n, y.load.load(w, n) + carried)


@ti.func
def give_excess(c: ti.template(), w: ti.i32, k: ti.i32):
    """Put D a of the last solution on the right-hand side, for solution k = 1 or 2 of a try.

    Reads:  c.bound.system.acceleration
    Writes: c.bound.{system.load, excess}
    """
    y = c.bound.system
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


@ti.func
def filter_correction(c: ti.template(), w: ti.i32):
    """Ask for the second solution x2 of a correction, centred at the first: 2 x1 - x2 has nothing of what rows contradict.

    With a an eigenvalue of J M^-1 J^T its part of a residual is a / (a + e)^2, which is 0 where rows are redundant. There
    the first solution has residual / e: no motion, but a force that the gradients of the step's end would turn into one.

    Reads:  c.bound.system
    Writes: c.bound.{first, system.load}
    """
    y = c.bound.system
    for i in range(y.n):
        c.bound.first.store(w, i, y.factor.x.load(w, y.factor.position.at(i)))
    for r in range(y.n_rows):
        i = y.n_dofs + r
        acts = y.free.load(w, i) != 0.0
        moved = y.load.load(w, i) - y.soft.load(w, r) * c.bound.first.load(w, i)
        y.load.store(w, i, select(acts & is_rigid(y, w, r), moved, y.load.load(w, i)))


@ti.func
def demand_velocities(c: ti.template(), w: ti.i32):
    """Masks and right-hand side of the projection of velocities: A dv = -A v with the least kinetic energy.

    Reads:  c.bound.system
    Writes: c.bound.system.{free, gain, soft, load, goal, centre}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    for n in range(y.n_dofs):
        y.free.store(w, n, zero + 1.0)
        y.gain.store(w, n, zero)
        y.load.store(w, n, zero + c.bound.impulse.load(w, n))
        y.goal.store(w, n, zero)
    for m in range(c.bound.n_motions):
        y.free.store(w, c.tables.unknown.at(c.bound.motion_dof.at(m)), zero)
    for r in range(y.n_rows):
        i = y.n_dofs + r
        acts = (zero + y.enabled.load(w, r) != 0.0) & (zero + y.compliance.load(w, r) == 0.0)
        acts = acts & (zero + ti.cast(y.is_hard.at(r), c.tables.arena.device.real) != 0.0)
        y.free.store(w, i, select(acts, zero + 1.0, zero))
        y.soft.store(w, r, select(acts, y.softness.load(w, 0) * y.scale.load(w, r), zero + 1.0))
        y.load.store(w, i, select(acts, -y.rows.rate.load(w, r), zero))
        y.goal.store(w, i, zero)
        y.centre.store(w, r, zero)
    if ti.static(c.forces.has_armature and y.laws.n > 0):
        weigh_rotors(c, w)


@ti.func
def use_velocities(c: ti.template(), w: ti.i32):
    """Take the projected velocities. Rates and biases of the rows are measured anew: near singular positions they count.

    Reads:  c.bound.system
    Writes: c.state.qd, c.bound.{impulse, owes, projected}
    """
    y = c.bound.system
    if ti.static(c.touches):
        for r in range(y.n_rows):
            none = c.tables.arena.zero()
            given = select(y.free.load(w, y.n_dofs + r) == 0.0, none, y.multiplier.load(w, r))
            c.bound.projected.store(w, r, c.bound.projected.load(w, r) - given)
    if ti.static(y.n_leads > 0):
        impulse_work(c, w)
    if ti.static(c.led.n > 0):
        projection_work(c, w)
    for n in range(y.n_dofs):
        d = c.tables.tree_dof.at(n)
        c.state.qd.store(w, d, c.state.qd.load(w, d) + y.acceleration.load(w, n))
        c.bound.impulse.store(w, n, c.tables.arena.zero())
    c.bound.owes.store(w, 0, c.tables.arena.zero())


@ti.func
def use_natural(c: ti.template(), w: ti.i32, h: ti.template(), stage: ti.i32):
    """q+ = q + h (v + g a); the velocities stay those of the start until `finish_natural`.

    Reads:  c.state, c.bound
    Writes: c.state.q, c.bound.{q_start, move}, c.forces.work
    """
    s = c.state
    g = span_of(c, w, h, stage)
    if ti.static(c.forces.has_work):
        effort_power(c.tables, c.forces, s, w, h)
        accumulate_work(c.forces, w, h)
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        c.bound.move.store(w, d, (s.qd.load(w, d) + s.qdd.load(w, d) * g) * h)
    copy(c.bound.q_start, s.q, c.tables.n_q, w)
    retract(c.tables, c.bound.q_start, s.q, c.bound.move, w, 1.0)


@ti.func
def finish_natural(c: ti.template(), w: ti.i32, h: ti.template()):
    """Velocities at the end of the step, where the rows have just been measured.

    Reads:  c.state, c.bound
    Writes: c.state.{qd, f}, c.bound.impulse
    """
    s = c.state
    t = c.tables
    y = c.bound.system
    if ti.static(y.n_leads > 0):
        lead_work(c, w, h)
    if ti.static(c.integrator == "zhong06"):
        if ti.static(c.forces.has_armature and y.laws.n > 0):
            note_paces(c, w, h * 0.5)
        pull_links(c, w)
        for i in range(t.n_links):
            if t.kind.at(i) == AFFINE:
                force = s.f.load(w, i)
                first = t.link_qd.at(i)
                for d in range(first, first + t.link_n_qd.at(i)):
                    c.bound.move.store(w, d, s.S.load(w, d).dot(force))
        for k in range(y.rows.n_rigid):
            n = y.rows.first_rigid + k
            pull = y.force.load(w, n)
            for side in ti.static(range(2)):
                at_d = y.rows.vector_d.at(2 * k + side)
                at_q = y.rows.vector_q.at(2 * k + 1 - side)
                for x in ti.static(range(3)):
                    given = s.q.load(w, at_q + x) * pull
                    c.bound.move.store(w, at_d + x, c.bound.move.load(w, at_d + x) + given)
    if ti.static(c.led.n > 0):
        led_work(c, w, h)
    for n in range(y.n_dofs):
        d = t.tree_dof.at(n)
        a = y.acceleration.load(w, n)
        if ti.static(c.integrator == "zhong06"):
            found = c.bound.base.load(w, n) + c.bound.move.load(w, d)
            if ti.static(c.has_excess):  # a massless vector keeps a, and gets the rest as an impulse
                mass = t.weight.load(w, d) - t.excess.load(w, d)
                thin = t.excess.load(w, d) > 0.0
                rest = select(thin, found - a * mass, found * 0.0)
                if ti.static(c.bound.switches):
                    rest = select(c.bound.jumps.load(w, 0) > 0.0, rest * 0.0, rest)
                c.bound.impulse.store(w, n, rest * (h * 0.5))
                found = select(thin, a * t.weight.load(w, d), found)
            found = found / t.weight.load(w, d)
            half = (a + found) * 0.5
            if ti.static(c.bound.switches):
                half = select(c.bound.jumps.load(w, 0) > 0.0, a, half)
            a = half
        s.qd.store(w, d, s.qd.load(w, d) + a * h)
    if ti.static(c.bound.n_motions > 0):
        follow_motions(c, w)
    if ti.static(c.touches):
        show_projection(c, w, h)


@ti.func
def show_projection(c: ti.template(), w: ti.i32, h: ti.template()):
    """Add to the forces of a step of impulses what the projection before it has given.

    Velocities of such steps are those half a step before their positions: the projection takes half of what turns them.

    Reads:  c.bound.{jumps, projected}
    Writes: c.bound.{projected, system.force}
    """
    y = c.bound.system
    jumps = c.bound.jumps.load(w, 0) > 0.0
    for r in range(y.n_rows):
        given = c.bound.projected.load(w, r) / h
        y.force.store(w, r, y.force.load(w, r) + select(jumps, given, given * 0.0))
        c.bound.projected.store(w, r, given * 0.0)


@ti.func
def pull_links(c: ti.template(), w: ti.i32):
    """Forces of the rows of joints on the links, at their present pulls.

    Reads:  c.bound.system
    Writes: c.state.f
    """
    r = c.bound.system.rows
    if ti.static(r.has_shared):
        share_gears(c.bound.system, w)
    for i in range(c.tables.n_links):
        c.state.f.store(w, i, no_force(c.tables.arena.zero()))
    for k in range(r.n_couples):
        a = r.link_a.at(k)
        b = r.link_b.at(k)
        for n in range(r.row_start.at(k), r.row_start.at(k + 1)):
            force = force_of_row(c.bound.system, w, n)
            if a >= 0:
                c.state.f.store(w, a, c.state.f.load(w, a) + r.pull_a.load(w, n) * force)
            if b >= 0:
                c.state.f.store(w, b, c.state.f.load(w, b) + r.pull_b.load(w, n) * force)
