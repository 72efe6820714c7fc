"""What evaluations under constraints end with: efforts and powers of laws."""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.language.numbers import number
from simcli.kernels.laws.bounded import FREE
from simcli.kernels.linear.system import hold
from simcli.solvers.rows.active_set import law_power
from simcli.solvers.rows.repeat import chooses, note_jumps
from simcli.solvers.shared import needs


@ti.func
def account_laws(c: ti.template(), w: ti.i32, stage: ti.i32, h: ti.template(), g: ti.template(), instant: ti.i32):
    """Powers of laws, and the jumps that they make.

    Reads:  c
    Writes: c.forces.account.power, c.bound.{velocity_jump, system.laws}
    """
    law_power(c, w, _span_of_power(c, stage, h), g)
    note_jumps(c, w, stage, h, instant)


def _span_of_power(c, stage, h):
    """[s], of the mean powers: the step where it is of first order, else this instant (inside kernels)."""
    if c.stages == 1:
        return h
    return h * ti.cast(stage == number(c, "stages"), c.tables.arena.device.real) if c.bound.repeats else 0.0


@ti.func
def finish_try(c: ti.template(), w: ti.i32, stage: ti.i32):
    """Accelerations to the state, and the efforts that laws gave.

    Reads:  c.bound.system
    Writes: c.state.qdd, c.bound.system.{effort, laws.effort}
    """
    y = c.bound.system
    hold_locked(c, w)
    for n in range(c.tables.n_tree_dofs):
        c.state.qdd.store(w, c.tables.tree_dof.at(n), y.acceleration.load(w, n))
    _take_efforts(c, w, stage)


@needs.locking
def hold_locked(c, w):
    """What holds locked dofs (inside kernels).

    Writes: c.bound.system.effort
    """
    hold(c.bound.system, w)


@needs.laws
@ti.func
def _take_efforts(c: ti.template(), w: ti.i32, stage: ti.i32):
    """The efforts that laws gave."""
    y = c.bound.system
    for k in range(y.laws.n):
        i = y.laws.unknown.at(k)
        locked = y.laws.lock.load(w, k) != FREE
        found = c.tables.arena.zero()
        if i < y.n_dofs:
            line = y.laws.push.load(w, k) - y.laws.gain.load(w, k) * y.acceleration.load(w, i)
            found = select(locked, y.effort.load(w, i), line)
        else:
            found = y.force.load(w, i - y.n_dofs)
        y.laws.effort.store(w, k, _where_chosen(c, w, stage, found, y.laws.effort.load(w, k)))


def _where_chosen(c, w, stage, found, before):
    return select(chooses(c, w, stage), found, before) if c.bound.repeats else found
