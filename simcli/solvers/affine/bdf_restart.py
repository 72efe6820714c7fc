"""Steps in which forces begin or end at once: contacts and limits.

A formula of several steps takes velocities of before an impact for those after it, and hands back the energy that the
impact took: bdf2 throws a cube up as fast as it fell, and sometimes faster. So a step of bdf2 after which other contacts
touch, or other limits act, than before it is none of bdf2: it is taken again by bdf1, which knows one velocity. The velocity
at its end is a mean over the step, of before and after the impact; so the formula begins anew with the velocities of the
next two steps, which are of bdf1, too. Between impacts nothing changes, and the order is two.

That holds for the bodies that the impact can reach within the step, and for them alone: those joined by energies (joints,
springs, gears) or by contacts that touch at its end. All of these have one formula in every step, because a contact that
joins two of them is itself such a change. Kinematic bodies join nothing, and what they do is no impact for themselves.

Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.6: what multistep methods do at
discontinuities. Deviation: an impact is found by what acts, not by the error.
"""

from simcli.kernels.barrier.closest import bodies_of
from simcli.kernels.device.lanes import one, put
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.potentials.potential_terms import find_regimes
from simcli.solvers.base import needs


@ti.func
def find_restarts(c: ti.template(), w: ti.i32):
    """The worlds where a step of bdf2 has ended with something else acting than at its start.

    Reads:  c.step.{weight, pattern}, c.barrier.pattern, c.potential.laws
    Writes: c.step.{restarts, returns}, c.potential.laws.regime
    """
    z = c.step
    zero = c.tables.arena.zero()
    find_regimes(c.potential.laws, w)
    mark_changes(c, w)
    spread_restarts(c, w)
    back = zero
    for b in range(c.tables.n_bodies):
        restarts = (z.restarts.load(w, b) > 0.0) & (z.weight.load(w, b) > 0.0) & (c.health.load(w, 0) == 0.0)
        back = select(restarts, zero + 1.0, back)
    z.returns.store(w, 0, back)


def returns(c, w):
    """The worlds that take the step again."""
    return c.step.returns.load(w, 0) > 0.0


@ti.func
def go_back(c: ti.template(), w: ti.i32):
    """To the start of the step, by bdf1 for the bodies that a break has reached.

    Reads:  c.step.{start, restarts}
    Writes: c.potential.rows.x, c.step.weight
    """
    z = c.step
    for b in range(c.tables.n_bodies):
        z.weight.store(w, b, select(z.restarts.load(w, b) > 0.0, c.tables.arena.zero(), z.weight.load(w, b)))
    copy(c.potential.rows.x, z.start, c.potential.n, w)


@ti.func
def mark_changes(c: ti.template(), w: ti.i32):
    """The free bodies whose own contacts, limits or friction act otherwise than at the start.

    Reads:  c.step.pattern, c.barrier.pattern, c.potential.laws
    Writes: c.step.restarts
    """
    z = c.step
    y = c.potential.laws
    zero = c.tables.arena.zero()
    for b in range(c.tables.n_bodies):
        z.restarts.store(w, b, zero)
        _mark_contacts(c, w, b)
    for k in range(y.n):
        b = y.body.at(k)
        differs = y.regime.load(w, k) != y.regime_before.load(w, k)
        z.restarts.store(w, b, select(differs, zero + 1.0, z.restarts.load(w, b)))


@needs.touching
@ti.func
def _mark_contacts(c: ti.template(), w: ti.i32, b: ti.i32):
    z = c.step
    zero = c.tables.arena.zero()
    differs = (c.barrier.pattern.load(w, b) != z.pattern.load(w, b)) & (c.potential.is_free.at(b) != 0)
    z.restarts.store(w, b, select(differs, zero + 1.0, zero))


@ti.func
def spread_restarts(c: ti.template(), w: ti.i32):
    """What breaks a body breaks those that energies and contacts join to it.

    Reads:  c.potential.tie, c.barrier.candidates
    Writes: c.step.restarts
    """
    going = 1
    for _ in range(c.tables.n_bodies):
        if going != 0:
            going = _spread_once(c, w)


def _spread_once(c, w):
    """One round; 1 if it reached a body (inside kernels)."""
    along_ties = spread_along_ties(c, w)
    return ti.max(along_ties, spread_along_contacts(c, w)) if c.touches else along_ties


@ti.func
def spread_along_ties(c: ti.template(), w: ti.i32):
    """One round along the energies; 1 if it reached a body.

    Writes: c.step.restarts
    """
    restarts = c.step.restarts
    reached = 0
    for e in range(c.potential.n_ties):
        first = restarts.load(w, c.potential.tie.at(2 * e))
        second = restarts.load(w, c.potential.tie.at(2 * e + 1))
        both = ti.max(first, second)
        if any_lane(first != second):
            reached = 1
        restarts.store(w, c.potential.tie.at(2 * e), both)
        restarts.store(w, c.potential.tie.at(2 * e + 1), both)
    return reached


@ti.func
def spread_along_contacts(c: ti.template(), w: ti.i32):
    """One round along the contacts between free bodies; 1 if it reached a body.

    Reads:  c.barrier.candidates
    Writes: c.step.restarts
    """
    restarts = c.step.restarts
    reached = 0
    for lane in range(c.lanes):
        for k in range(ti.cast(one(c.barrier.candidates.count, w, lane, 0), ti.i32)):
            a, b = bodies_of(c.barrier, w, lane, k)
            if joins(c, w, lane, k, a, b) == 1 and one(restarts, w, lane, a) != one(restarts, w, lane, b):
                put(restarts, w, lane, a, 1.0)
                put(restarts, w, lane, b, 1.0)
                reached = 1
    return reached


@ti.func
def joins(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, a: ti.i32, b: ti.i32):
    """1 if candidate k acts between two free bodies."""
    found = 0
    if one(c.barrier.candidates.acts, w, lane, k) != 0.0 and a < c.tables.n_bodies and b < c.tables.n_bodies:
        found = ti.cast(c.potential.is_free.at(a) * c.potential.is_free.at(b) != 0, ti.i32)
    return found


@ti.func
def begin_anew(c: ti.template(), w: ti.i32):
    """The formula begins anew for the bodies that a break has reached: with what the next two steps leave.

    Writes: c.step.age
    """
    for b in range(c.tables.n_bodies):
        age = c.step.age.load(w, b)
        c.step.age.store(w, b, select(c.step.restarts.load(w, b) > 0.0, c.tables.arena.zero() - 1.0, age))


@ti.func
def keep_regimes(c: ti.template(), w: ti.i32):
    """What acts at the end of a step, for the next one.

    Writes: c.step.pattern, c.potential.laws.{regime, regime_before}
    """
    _keep_patterns(c, w)
    find_regimes(c.potential.laws, w)
    copy(c.potential.laws.regime_before, c.potential.laws.regime, c.potential.laws.n, w)


@needs.touching
@ti.func
def _keep_patterns(c: ti.template(), w: ti.i32):
    copy(c.step.pattern, c.barrier.pattern, c.tables.n_bodies, w)
