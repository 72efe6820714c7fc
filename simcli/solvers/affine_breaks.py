"""Steps in which forces begin or end at once: contacts and limits.

A formula of several steps takes velocities of before an impact for those after it, and hands back the energy that the
impact took: bdf2 throws a cube up as fast as it fell, and sometimes faster. So a step of bdf2 after which other contacts
touch, or other limits act, than before it is none of bdf2: it is taken again by bdf1, which knows one velocity, and the next
step begins the formula anew. Between impacts nothing changes, and the order is two.

Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.6: what multistep methods do at
discontinuities. Deviation: an impact is found by what acts, not by the error.
"""

import taichi as ti

from simcli.kernels.elementary import select
from simcli.kernels.memory import any_lane
from simcli.kernels.potentials.paces import find_regimes


@ti.func
def find_breaks(c: ti.template(), w: ti.i32):
    """Lanes of bdf2 where something else acts than at the start go back there; returns 1 if there are any.

    Reads:  c.step.{start, pattern}, c.barrier.pattern, c.potential.laws
    Writes: c.step.{breaks, asks, weight}, c.potential.{rows.x, laws.regime}
    """
    z = c.step
    zero = c.tables.arena.zero()
    differs = find_regimes(c.potential.laws, w)
    if ti.static(c.touches):
        differs = differs + ti.abs(c.barrier.pattern.load(w, 0) - z.pattern.load(w, 0))
    back = (differs > 0.0) & (z.weight.load(w, 0) > 0.0) & (c.health.load(w, 0) == 0.0)
    z.breaks.store(w, 0, select(differs > 0.0, zero + 1.0, zero))
    z.asks.store(w, 0, select(back, zero + 1.0, zero))
    z.weight.store(w, 0, select(back, zero, z.weight.load(w, 0)))
    for i in range(c.potential.n):
        x = c.potential.rows.x.load(w, i)
        c.potential.rows.x.store(w, i, select(back, z.start.load(w, i), x))
    return ti.cast(any_lane(back), ti.i32)


@ti.func
def keep_regimes(c: ti.template(), w: ti.i32):
    """What acts at the end of a step, for the next one.

    Writes: c.step.pattern, c.potential.laws.{regime, regime_before}
    """
    if ti.static(c.touches):
        c.step.pattern.store(w, 0, c.barrier.pattern.load(w, 0))
    _differs = find_regimes(c.potential.laws, w)
    for k in range(c.potential.laws.n):
        c.potential.laws.regime_before.store(w, k, c.potential.laws.regime.load(w, k))
