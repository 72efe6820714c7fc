"""Sleep of bodies at rest in large worlds, where a scene asks for it: they stand still until something awake comes near.

    island   bodies that contacts and rows join, see kernels/complementarity/islands.py
    asleep   since none of an island was faster than `sleep_speed` for `sleep_after`: no velocity, no row, no pair within it

An island wakes as a whole, before the contacts of a step are stated. Where all of a world sleeps, its steps are left out.

Source: none. The speed of a body is that of its kinetic energy, sqrt(2 T / m).
"""

import numpy as np

from simcli.kernels.collision.table_rows import contacts_of
from simcli.kernels.complementarity.block_factor import DOFS, six
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.islands import ITS_BODIES, ITS_ROWS, begin_of, end_of, first_of_island, member
from simcli.kernels.complementarity.large import mass_rows
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.notes import Notes
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import get_lane
from simcli.solvers.base.integrators import H

_LINEAR = DOFS // 2  # of the velocities of a body, which begin with the last of its angular ones


class Sleep:
    """Memory of who sleeps.

    Args:
        tables, arena: of the run.
        options: `solver.contact` of a scene.

    Attributes:
        link: of each body of the problem.  asleep: (links) 1 or 0, in the collider.  island: (links) number of that with
            which it sleeps.  still: [s], (bodies) for how long it was slow.
        all_asleep: 1 where nobody is awake.  woken: 1 where a search for contacts has woken somebody.
        restless: (bodies) 1 for the first one of an island that stays awake.
    """

    _data_oriented = True

    def __init__(self, tables: Tables, arena: Arena, options, asleep):
        self.after, self.speed, self.asleep, self.n = options.sleep_after, options.sleep_speed, asleep, tables.n_links
        last = tables.unknown_of_dof[tables.model.links.qd_start]
        body = (tables.n_tree_dofs - 1 - last) // DOFS
        self.link = arena.ints(np.argsort(body))
        self.island, self.still = arena.array(self.n), arena.array(self.n)
        self.all_asleep, self.woken = arena.single.arrays(2)
        self.notes = Notes(arena, ti.i32)
        self.restless = self.notes.reserve(self.n)

    def clear(self):
        """Wake all."""
        for array in (self.asleep, self.still, self.all_asleep):
            array.write(np.zeros((1, array.n_items, 1)))


def is_somebody_awake(c, w):
    """The worlds that have steps."""
    return c.bound.impulses.sleep.all_asleep.load(w, 0) == 0.0


def is_all_asleep(c, w):
    """The others."""
    return c.bound.impulses.sleep.all_asleep.load(w, 0) != 0.0


def has_woken(c, w):
    """The worlds whose contacts are looked for again, with those of who was asleep."""
    return c.bound.impulses.sleep.woken.load(w, 0) != 0.0


@ti.func
def wake_all(c: ti.template(), w: ti.i32):
    """Wake all bodies, whose numbers are others from here on.

    Writes: c.bound.impulses.sleep
    """
    z = c.bound.impulses.sleep
    zero = c.tables.arena.zero()
    z.all_asleep.store(w, 0, zero)
    for b in range(z.n):
        z.asleep.store(w, b, zero)
        z.still.store(w, b, zero)


@ti.func
def skip_step(c: ti.template(), w: ti.i32):
    """A step that is left out takes no iterations.

    Writes: c.bound.{tries, impulses.iterations}
    """
    c.bound.tries.store(w, 0, c.tables.arena.zero())
    c.bound.impulses.iterations.store(w, 0, c.tables.arena.zero())


@ti.func
def wake_touched(c: ti.template(), w: ti.i32):
    """Wake the islands that something awake comes near.

    Reads:  c.bound.impulses.contacts.collider
    Writes: c.bound.impulses.sleep
    """
    z = c.bound.impulses.sleep
    k = c.bound.impulses.contacts.collider
    z.woken.store(w, 0, c.tables.arena.zero())
    for n in range(contacts_of(k, w, 0)):
        a, b = k.link.at(whole(k.contacts.shape_a, w, n)), k.link.at(whole(k.contacts.shape_b, w, n))
        if a >= 0 and b >= 0:
            if z.asleep.load(w, a) != z.asleep.load(w, b):
                _wake(z, w, z.island.load(w, ti.select(z.asleep.load(w, a) != 0.0, a, b)))


@ti.func
def _wake(z: ti.template(), w: ti.i32, island: ti.template()):
    """Wake who sleeps in an island.

    Writes: z.{asleep, still, woken}
    """
    z.woken.store(w, 0, z.woken.load(w, 0) * 0.0 + 1.0)
    for b in range(z.n):
        link = z.link.at(b)
        if z.asleep.load(w, link) != 0.0 and z.island.load(w, link) == island:
            z.asleep.store(w, link, z.woken.load(w, 0) * 0.0)
            z.still.store(w, b, z.woken.load(w, 0) * 0.0)


@ti.func
def rest_sleepers(c: ti.template(), w: ti.i32):
    """Nothing moves who sleeps: no push, no row.

    Writes: p.{free, push, lower, upper}, p.rows.{on, metric, bias, impulse}
    """
    z = c.bound.impulses.sleep
    p = c.bound.impulses.problem
    zero = p.arena.zero()
    for n in range(begin_of(p, w, ITS_BODIES), end_of(p, w, ITS_BODIES)):
        b = member(p, w, ITS_BODIES, n)
        if z.asleep.load(w, z.link.at(b)) != 0.0:
            for k in range(DOFS):
                p.free.store(w, DOFS * b + k, zero)
                p.push.store(w, DOFS * b + k, zero)
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        if p.large.islands.home.at(s) >= 0:
            if z.asleep.load(w, z.link.at(p.large.islands.home.at(s))) != 0.0:
                p.rows.on.store(w, s, zero)
                p.rows.metric.store(w, s, zero + 1.0)
                for array in ti.static((p.rows.bias, p.rows.impulse, p.lower, p.upper)):
                    array.store(w, s, zero)


@ti.func
def fall_asleep(c: ti.template(), w: ti.i32):
    """Where a step ends, islands that were slow for long enough fall asleep.

    Reads:  p.{velocity, mass}
    Writes: c.bound.impulses.sleep, c.state.qd
    """
    z = c.bound.impulses.sleep
    p = c.bound.impulses.problem
    h = c.constants.load(w, H)
    tired = 0
    for b in range(z.n):
        if z.asleep.load(w, z.link.at(b)) == 0.0:
            rests = z.still.load(w, b) + h
            if not is_slow(p, w, b, z.speed):
                rests = rests * 0.0
            z.still.store(w, b, rests)
            if rests >= z.after:
                tired += 1
    if tired > 0:
        _send_to_sleep(c, w)


@ti.func
def is_slow(p: ti.template(), w: ti.i32, b: ti.i32, speed: ti.template()):
    """Whether a body has no more kinetic energy than if all of it had a speed."""
    v = six(p.velocity, w, b)
    rows = mass_rows(p, w, b)
    twice = p.arena.zero()
    for k in ti.static(range(DOFS)):
        for m in ti.static(range(DOFS)):
            twice = twice + v[k] * get_lane(rows[k], m) * v[m]
    return twice <= speed * speed * get_lane(rows[_LINEAR], _LINEAR)


@ti.func
def _send_to_sleep(c: ti.template(), w: ti.i32):
    """Islands of which nobody was fast for long enough.

    Writes: c.bound.impulses.sleep.{asleep, island, all_asleep, restless}, c.state.qd
    """
    z = c.bound.impulses.sleep
    p = c.bound.impulses.problem
    zero = c.tables.arena.zero()
    for b in range(z.n):
        z.notes.store(w, z.restless + b, 0)
    for b in range(z.n):
        if z.still.load(w, b) < z.after:
            z.notes.store(w, z.restless + first_of_island(p.large.islands, w, b), 1)
    n_awake = 0
    for b in range(z.n):
        first = first_of_island(p.large.islands, w, b)
        link = z.link.at(b)
        if z.notes.load(w, z.restless + first) != 0:
            n_awake += 1
        elif z.asleep.load(w, link) == 0.0:
            z.asleep.store(w, link, zero + 1.0)
            z.island.store(w, link, zero + ti.cast(first, c.tables.arena.device.real))
            for k in range(DOFS):
                c.state.qd.store(w, c.tables.link_qd.at(link) + k, zero)
    z.all_asleep.store(w, 0, zero + ti.cast(n_awake == 0, c.tables.arena.device.real))
