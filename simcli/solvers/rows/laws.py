"""What evaluations under constraints end with: efforts and powers of laws; and the gyroscopic torques of free bodies."""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.chart.gyroscope import gyroscopic_change
from simcli.kernels.language import ti
from simcli.kernels.laws.bounded import FREE
from simcli.kernels.linear.system import hold
from simcli.solvers.rows.active_set import law_power
from simcli.solvers.rows.repeat import note_jumps


@ti.func
def turn_ahead(c: ti.template(), w: ti.i32, h: ti.template()):
    """Take the gyroscopic torques of free bodies at the end of the step, of those that have inertia by themselves.

    Writes: c.bound.base
    """
    t = c.tables
    for i in range(t.n_links):
        if c.bound.spins_free.at(i) != 0:
            change = gyroscopic_change(t, c.state, w, i, h)
            for d in range(t.link_qd.at(i) + 3, t.link_qd.at(i) + 6):
                n = t.unknown.at(d)
                if n >= 0:
                    given = c.state.S.load(w, d).angular.dot(change)
                    c.bound.base.store(w, n, c.bound.base.load(w, n) + given)


@ti.func
def account_laws(c: ti.template(), w: ti.i32, stage: ti.i32, h: ti.template(), g: ti.template(), instant: ti.i32):
    """Powers of laws, and the jumps that they make.

    Reads:  c
    Writes: c.forces.account.power, c.bound.{jumps, system.laws}
    """
    if ti.static(c.stages == 1):
        law_power(c, w, h, g)
    elif ti.static(c.bound.repeats):
        law_power(c, w, h * ti.cast(stage == c.stages, c.tables.arena.device.real), g)
    else:
        law_power(c, w, 0.0, g)
    if ti.static(c.bound.system.laws.n > 0):
        note_jumps(c, w, stage, h, instant)


@ti.func
def finish_try(c: ti.template(), w: ti.i32, stage: ti.i32):
    """Accelerations to the state, and the efforts that laws gave.

    Reads:  c.bound.system
    Writes: c.state.qdd, c.bound.system.{effort, laws.effort}
    """
    y = c.bound.system
    if ti.static(y.steps_lock):
        hold(y, w)
    for n in range(c.tables.n_tree_dofs):
        c.state.qdd.store(w, c.tables.tree_dof.at(n), y.acceleration.load(w, n))
    if ti.static(y.laws.n > 0):
        for k in range(y.laws.n):
            i = y.laws.unknown.at(k)
            locked = y.laws.lock.load(w, k) != FREE
            found = c.tables.arena.zero()
            if i < y.n_dofs:
                line = y.laws.push.load(w, k) - y.laws.gain.load(w, k) * y.acceleration.load(w, i)
                found = select(locked, y.effort.load(w, i), line)
            else:
                found = y.force.load(w, i - y.n_dofs)
            if ti.static(c.bound.repeats):
                if stage == c.stages:
                    found = select(c.bound.jumps.load(w, 0) > 0.0, found, y.laws.effort.load(w, k))
            y.laws.effort.store(w, k, found)
