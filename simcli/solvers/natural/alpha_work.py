"""Work of prescribed motions in steps of generalized_alpha: impulses of a step times mean velocities.

    P1 = ((1 - af) p1 + af p0 - am P0)/(1 - am),   impulse = h ((1 - g) P0 + g P1) + that of the projection

p are forces of motions at the ends of a step, P those of the recurrence (alpha_steps.py). These impulses are those by
which velocities change in a step, also where a prescribed rate jumps: there p is as large as the jump over h, and powers at
the ends of the step say nothing of its work. What a kinematic body gains of kinetic energy is known without impulses.

Stages and what they call; rows/memory.py says what `c` holds.
"""

from simcli.kernels.language import ti
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H


@needs.motions
@ti.func
def forget_holds(c: ti.template(), w: ti.i32):
    """At frame 0 motions have given nothing.

    Reads:  c.motions
    Writes: c.alpha.{force, mean_force, prescribed_rate}
    """
    for k in range(c.alpha.n_holds):
        c.alpha.force.store(w, k, c.tables.arena.zero())
        c.alpha.mean_force.store(w, k, c.tables.arena.zero())
    _keep_prescribed_rates(c, w)


@needs.motions
@ti.func
def begin_holds(c: ti.template(), w: ti.i32):
    """Where a step begins forces of the recurrence jump as those of the motions do.

    Reads:  see `_find_holds`
    Writes: c.alpha.{force, mean_force}
    """
    _find_holds(c, w)
    for k in range(c.alpha.n_holds):
        now = c.alpha.next_force.load(w, k)
        c.alpha.mean_force.store(w, k, c.alpha.mean_force.load(w, k) + (now - c.alpha.force.load(w, k)))
        c.alpha.force.store(w, k, now)


@needs.motions
@ti.func
def end_holds(c: ti.template(), w: ti.i32):
    """Work of motions in a step, but for its projection.

    Reads:  see `_find_holds`, c.alpha.{v, prescribed_rate}, c.motions
    Writes: c.alpha.{force, mean_force}, c.forces.account.work
    """
    f = c.steps.rows
    h = c.constants.load(w, H)
    _find_holds(c, w)
    done = c.tables.arena.zero()
    for k in range(c.alpha.n_holds):
        before = c.alpha.mean_force.load(w, k)
        now = c.alpha.next_force.load(w, k)
        mixed = now * (1.0 - c.alpha.alpha_f) + c.alpha.force.load(w, k) * c.alpha.alpha_f
        after = (mixed - before * c.alpha.alpha_m) * (1.0 / (1.0 - c.alpha.alpha_m))
        c.alpha.force.store(w, k, now)
        c.alpha.mean_force.store(w, k, after)
        impulse = (before * (1.0 - c.alpha.gamma) + after * c.alpha.gamma) * h
        done = done + impulse * _mean_rate(c, w, k)
    for i in range(c.alpha.n_prescribed):
        if f.moves.at(i) == 0:
            v = f.v.load(w, i)
            before = c.alpha.v.load(w, i)
            done = done + (v * v - before * before) * 0.5 * c.tables.weight.load(w, f.qd_at.at(i))
    c.forces.account.supply(w, done)


@needs.motions
@ti.func
def project_holds(c: ti.template(), w: ti.i32):
    """Work of motions in the projection that ends a step, after `end_holds`.

    Reads:  c.steps, c.alpha.{v, prescribed_rate}, c.motions
    Writes: c.alpha.prescribed_rate, c.forces.account.work
    """
    done = c.tables.arena.zero()
    for m in range(c.bound.system.n_prescribed_rows):
        impulse = c.steps.solution.load(w, c.steps.rows.n + c.bound.system.prescribed_row.at(m))
        done = done - impulse * _mean_rate(c, w, c.alpha.n_prescribed + m)
    _keep_prescribed_rates(c, w)
    c.forces.account.supply(w, done + _projection_of_kinematic(c, w))


def _projection_of_kinematic(c, w):
    return _impulses_of_kinematic(c, w) if c.kinematic.n else c.tables.arena.zero()


@ti.func
def _impulses_of_kinematic(c: ti.template(), w: ti.i32):
    f = c.steps.rows
    done = c.tables.arena.zero()
    for r in range(f.n_rows):
        impulse = c.steps.solution.load(w, f.n + r)
        for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
            if f.moves.at(f.entry_at.at(e)) == 0:
                done = done + impulse * f.gradient.load(w, e) * _mean_rate(c, w, f.entry_at.at(e))
    return done


@ti.func
def _keep_prescribed_rates(c: ti.template(), w: ti.i32):
    for m in range(c.bound.system.n_prescribed_rows):
        d = c.bound.system.prescribed_dof.at(m)
        c.alpha.prescribed_rate.store(w, m, c.tables.arena.zero() + c.motions.motion_qd.load(w, d))


@ti.func
def _find_holds(c: ti.template(), w: ti.i32):
    """Forces of motions now: on prescribed coordinates but for their inertia, then on rows.

    Reads:  c.steps.{force, rows}, c.pushes.pull
    Writes: c.alpha.next_force
    """
    f = c.steps.rows
    for i in range(c.alpha.n_prescribed):
        c.alpha.next_force.store(w, i, -c.pushes.pull.load(w, i) * ti.cast(1 - f.moves.at(i), c.tables.arena.device.real))
    _pull_kinematic(c, w)
    for m in range(c.bound.system.n_prescribed_rows):
        c.alpha.next_force.store(w, c.alpha.n_prescribed + m, c.steps.force.load(w, c.bound.system.prescribed_row.at(m)))


@needs.kinematic_bodies
@ti.func
def _pull_kinematic(c: ti.template(), w: ti.i32):
    f = c.steps.rows
    for r in range(f.n_rows):
        for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
            i = f.entry_at.at(e)
            if f.moves.at(i) == 0:
                given = f.gradient.load(w, e) * c.steps.force.load(w, r)
                c.alpha.next_force.store(w, i, c.alpha.next_force.load(w, i) - given)


@ti.func
def _mean_rate(c: ti.template(), w: ti.i32, k: ti.i32):
    """[m/s, rad/s], of hold k: half of it that where the last step ended, half that where this one ends."""
    both = c.tables.arena.zero()
    if k < c.alpha.n_prescribed:
        both = c.alpha.v.load(w, k) + c.steps.rows.v.load(w, k)
    else:
        m = k - c.alpha.n_prescribed
        both = c.alpha.prescribed_rate.load(w, m) + c.motions.motion_qd.load(w, c.bound.system.prescribed_dof.at(m))
    return both * 0.5
