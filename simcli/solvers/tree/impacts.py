"""Impacts in steps of several nodes: a world in which shapes meet takes its step again, by impulses.

The nodes of a step know nothing of contacts. Those that are near where it starts are found there, and where one of them
overlaps at the poses that the nodes reach, the step of that world is one of first order: the world goes back, and impulses
bring it to the end of the step. What rests or slides takes all its steps so. A world in which nothing meets keeps what its
nodes have found, which is of the integrator's order.

Source: Acary (2012), Higher order event capturing time-stepping schemes for nonsmooth multibody systems with unilateral
constraints and impacts: smooth integrators between impacts, the step in impulses across them. Deviation: no error estimate
chooses the step, overlaps do.

Stages; tree/programs.py has the lists.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.articulation.contact_places import find_gaps
from simcli.kernels.collision.lanes import one, put
from simcli.kernels.collision.table_rows import contacts_of
from simcli.kernels.language import ti
from simcli.solvers.shared import needs
from simcli.solvers.tree.integrators import H


@ti.func
def select_impulse_worlds(c: ti.template(), w: ti.i32):
    """Add to the worlds that jump those in which a contact overlaps at the present poses.

    Reads:  c.state of `place_all`, c.bound.impulses
    Writes: c.bound.velocity_jump, c.bound.impulses.contacts
    """
    k = c.bound.impulses.contacts.collider
    find_gaps(k, c.tables, c.state, w)
    _forget_jumps(c, w)
    for lane in range(k.lanes):
        for n in range(contacts_of(k, w, lane)):
            if one(k.contacts.reach, w, lane, n) < 0.0:
                put(c.bound.velocity_jump, w, lane, 0, 1.0)


@needs.no_laws_that_jump
def _forget_jumps(c, w):
    c.bound.velocity_jump.store(w, 0, c.tables.arena.zero())


def is_smooth_step(c, w):
    """The worlds whose last step was smooth."""
    return c.bound.velocity_jump.load(w, 0) == 0.0


@ti.func
def forget_contacts(c: ti.template(), w: ti.i32):
    """After a smooth step no contact carries anything, and the next ones begin with nothing.

    Reads:  c.bound.worst
    Writes: c.bound.impulses
    """
    m = c.bound.impulses
    p = m.problem
    zero = c.tables.arena.zero()
    m.contacts.known.store(w, 0, zero)
    for n in range(m.contacts.capacity):
        p.contacts.impulse.store(w, n, Vec3(zero, zero, zero))
    m.iterations.store(w, 0, zero)
    m.residual.store(w, 0, zero)
    _keep_violation(c, w)


@needs.some_rows
@ti.func
def _keep_violation(c: ti.template(), w: ti.i32):
    violation = c.bound.worst.load(w, 0)
    lost = select(violation > c.bound.tight, violation / c.constants.load(w, H), c.tables.arena.zero())
    c.bound.impulses.residual.store(w, 0, lost)
