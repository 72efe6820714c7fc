"""Affine bodies that move as prescribed: kinematic ones. Their coordinates leave the linear system of every iteration.

    m = m_n + weight (m_n - m_(n-1)) + m' / alpha,   or as prescribed        the coordinates of the joint that leads the body
    p = o + exp([phi]x) (p_n - o) + s,   A = exp([phi]x) A_n,   phi = sum W_i (m_i - m_i,n),   s = sum L_i (m_i - m_i,n)

which is the step's own formula for the centre and for turning about a fixed axis (model/natural/led.py): rates, and
positions that are prescribed, come out as they are, other places to the order of the integrator. Within a step the bodies
go there together with Newton's directions, as far as contact allows; until they have arrived the energy may grow, which is
what they give.
"""

import numpy as np

from simcli.kernels.algebra.elementary import exp_rotation, select
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.chart.tree import store_vector, vector_at
from simcli.kernels.language import ti
from simcli.kernels.linear.blocks import SIZE
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.tables import Tables
from simcli.kernels.potentials.shares import mean_force
from simcli.model.natural.led import led_of
from simcli.model.tables import Model


class Given:
    """The bodies that move as prescribed.

    Args:
        model: in natural form.
        matrix: of Newton's method.
        tables, arena: of the run.

    Attributes:
        n: their coordinates.  n_bodies, body, joint: bodies, and their joints.
        dof_start, dof, by_position, linear, angular, anchor, is_anchored: see model/natural/led.py.
        start, other, entry: of each coordinate, all others that share an entry of the matrix, and that entry.
        diagonal: entries on the diagonal.
        goal: (n) at the end of the step.  pull: (n) gradient of everything at the last iterate; pull_before: one step
            earlier.
        reached, moved: (N) [m, rad], coordinates of the joints where the step starts, and what they moved in the last one.
        moving: (N) in this one.  rate, spin: (3 K) [m/s, rad/s], of the joint's motion at its end.
    """

    _data_oriented = True

    def __init__(self, model: Model, matrix, tables: Tables, arena: Arena):
        led = led_of(model, model.columns.led)
        bodies = led.bodies.tolist()
        self.n_bodies, self.n, self.n_dofs = len(bodies), SIZE * len(bodies), len(led.dof)
        dofs, unknown = arena.records(self.n_dofs), arena.records(self.n)
        self.body, self.joint = arena.ints(bodies), arena.ints(led.joint[led.bodies])
        self.dof_start, self.dof = arena.ints(led.dof_start), arena.ints(led.dof)
        self.by_position, self.is_anchored = arena.ints(led.by_position), arena.ints(led.is_anchored)
        self.linear, self.angular, self.anchor = (tables.column(x, Vec3) for x in (led.linear, led.angular, led.anchor))
        unknowns = [SIZE * b + k for b in bodies for k in range(SIZE)]
        partners = [matrix.partners(i) for i in unknowns]
        self.start = arena.ints(np.concatenate(([0], np.cumsum([len(p) for p in partners]))))
        self.other, self.entry = (arena.ints([pair[k] for p in partners for pair in p]) for k in range(2))
        self.diagonal = arena.ints([matrix.entry(i, i) for i in unknowns])
        self.goal, self.coordinates = unknown.slot(), led.start
        self.pull, self.pull_before = unknown.slot(), unknown.slot()
        for name in ("reached", "moved", "moving"):
            setattr(self, name, dofs.slot())
        self.rate, self.spin = arena.slot(3 * self.n_bodies), arena.slot(3 * self.n_bodies)

    def clear(self):
        """Nothing has moved."""
        for name in ("moved", "moving", "rate", "spin", "pull", "pull_before"):
            slot = getattr(self, name)
            slot.write(np.zeros((1, slot.n_items, 1)))
        self.reached.write(self.coordinates[..., None])


def unknown_of(g: Given, n):
    """Coordinate n of the given ones among all (inside kernels)."""
    return g.body.at(n // SIZE) * SIZE + n % SIZE


@ti.func
def lead(c: ti.template(), w: ti.i32):
    """Where the given bodies shall be at the end of the step.

    Reads:  c.step.{start, alpha, weight}, c.motions
    Writes: c.given.{goal, moving, rate, spin}, c.step.target
    """
    g = c.given
    z = c.step
    zero = c.tables.arena.zero()
    for k in range(g.n_bodies):
        b = g.body.at(k)
        rate = Vec3(zero, zero, zero)
        spin = Vec3(zero, zero, zero)
        shift = Vec3(zero, zero, zero)
        phi = Vec3(zero, zero, zero)
        for i in range(g.dof_start.at(k), g.dof_start.at(k + 1)):
            d = g.dof.at(i)
            speed = zero + c.motions.motion_qd.load(w, d)
            way = g.moved.load(w, i) * z.weight.load(w, b) + speed * (1.0 / z.alpha.load(w, b) + z.lead.load(w, 0))
            if g.by_position.at(i) != 0:
                way = c.motions.motion_q.load(w, d) - g.reached.load(w, i)
            g.moving.store(w, i, way)
            rate = rate + g.linear.load(w, i) * speed
            spin = spin + g.angular.load(w, i) * speed
            shift = shift + g.linear.load(w, i) * way
            phi = phi + g.angular.load(w, i) * way
        turn = exp_rotation(phi).matrix()
        first = SIZE * b
        place = vector_at(z.start, w, first)
        lever = lever_of(g, w, k, place)
        store_vector(g.rate, w, 3 * k, rate)
        store_vector(g.spin, w, 3 * k, spin)
        store_vector(g.goal, w, SIZE * k, place + (turn * lever - lever) + shift)
        for m in range(1, 4):
            store_vector(g.goal, w, SIZE * k + 3 * m, turn * vector_at(z.start, w, first + 3 * m))
        expect(c, w, k)


@ti.func
def stay(c: ti.template(), w: ti.i32):
    """Let the given bodies be where they are, at t = 0.

    Reads:  c.step.start
    Writes: c.given.goal
    """
    for n in range(c.given.n):
        c.given.goal.store(w, n, c.step.start.load(w, unknown_of(c.given, n)))


@ti.func
def expect(c: ti.template(), w: ti.i32, k: ti.i32):
    """Let the inertia of a given body be that of its rates, v - v_h, whether these are those of the formula or not.

    Reads:  c.given, c.step.{past, alpha}
    Writes: c.step.target
    """
    g = c.given
    z = c.step
    for m in range(4):
        at = SIZE * g.body.at(k) + 3 * m
        goal = vector_at(g.goal, w, SIZE * k + 3 * m)
        ahead = rate_of(g, w, k, m, goal) * (1.0 / z.alpha.load(w, g.body.at(k)))
        store_vector(z.target, w, at, vector_at(z.target, w, at) + (goal - vector_at(z.past, w, at) - ahead))


@ti.func
def rate_of(g: ti.template(), w: ti.i32, k: ti.i32, m: ti.i32, x: ti.template()):
    """Rate of the position (m = 0) or of a vector of given body k, where that is x at the end of the step."""
    rate = vector_at(g.rate, w, 3 * k)
    arm = x * 1.0  # a copy
    if m == 0:
        arm = lever_of(g, w, k, x)
    else:
        rate = rate * 0.0
    return rate + vector_at(g.spin, w, 3 * k).cross(arm)


@ti.func
def lever_of(g: ti.template(), w: ti.i32, k: ti.i32, p: ti.template()):
    """[m], from the point whose velocity the motions give to the centre of mass p of given body k."""
    lever = p * 0.0
    if g.is_anchored.at(k) != 0:
        lever = p - g.anchor.load(w, k)
    return lever


@ti.func
def arrive(c: ti.template(), w: ti.i32):
    """Let what moves as prescribed arrive to the bit, in worlds that take a whole direction.

    Reads:  c.step.{length, size}, c.given.goal
    Writes: c.potential.rows.next_x
    """
    there = c.potential.rows.next_x
    whole = (c.step.length.load(w, 0) == 1.0) & (c.step.size.load(w, 0) < ti.math.inf)  # there is a direction
    for n in range(c.given.n):
        i = unknown_of(c.given, n)
        there.store(w, i, select(whole, c.given.goal.load(w, n), there.load(w, i)))


@ti.func
def go_straight(c: ti.template(), w: ti.i32):
    """What moves as prescribed goes a part of what is left of its way.

    Reads:  c.step.length, c.given.goal, c.potential.rows.x
    Writes: c.step.way
    """
    length = c.step.length.load(w, 0)
    for n in range(c.given.n):
        i = unknown_of(c.given, n)
        c.step.way.store(w, i, (c.given.goal.load(w, n) - c.potential.rows.x.load(w, i)) * length)


@ti.func
def let_arrive(c: ti.template(), w: ti.i32):
    """What it takes prescribed bodies to arrive is no matter of descent.

    Reads:  c.given.goal, c.potential.rows.x
    Writes: c.step.bound
    """
    left = c.tables.arena.zero()
    for n in range(c.given.n):
        left = ti.max(left, ti.abs(c.given.goal.load(w, n) - c.potential.rows.x.load(w, unknown_of(c.given, n))))
    bound = c.step.bound.load(w, 0)
    c.step.bound.store(w, 0, select(left > 0.0, bound + ti.math.inf, bound))


@ti.func
def take_given(c: ti.template(), w: ti.i32):
    """Take the given coordinates out of the system: they move by what is left of their ways, and the others know.

    Writes: c.given.pull, c.potential.{gradient, matrix}
    """
    g = c.given
    p = c.potential
    values = p.matrix.factor.value
    one = c.tables.arena.zero() + 1.0
    for n in range(g.n):
        g.pull.store(w, n, p.gradient.load(w, unknown_of(g, n)))
    for n in range(g.n):
        i = unknown_of(g, n)
        left = g.goal.load(w, n) - p.rows.x.load(w, i)
        for e in range(g.start.at(n), g.start.at(n + 1)):
            other = g.other.at(e)
            p.gradient.store(w, other, p.gradient.load(w, other) + values.load(w, g.entry.at(e)) * left)
            values.store(w, g.entry.at(e), one * 0.0)
        values.store(w, g.diagonal.at(n), one)
        p.gradient.store(w, i, -left)


@ti.func
def give_rates(c: ti.template(), w: ti.i32):
    """Rates at the end of the step as prescribed.

    Reads:  c.given, c.potential.rows.x
    Writes: c.step.next_v
    """
    g = c.given
    for k in range(g.n_bodies):
        first = SIZE * g.body.at(k)
        for m in range(4):
            rate = rate_of(g, w, k, m, vector_at(c.potential.rows.x, w, first + 3 * m))
            store_vector(c.step.next_v, w, first + 3 * m, rate)


@ti.func
def follow_given(c: ti.template(), w: ti.i32):
    """The work of what it took to lead the given bodies: forces at the last iterate times ways, see `work_of_step`.

    Reads:  c.given, c.step.{start, weight}
    Writes: c.given.{moved, reached, pull_before}

    Returns:
        [J], given.
    """
    g = c.given
    x = c.potential.rows.x
    supplied = c.tables.arena.zero()
    for n in range(g.n):
        i = unknown_of(g, n)
        pull = mean_force(g.pull, g.pull_before, w, n, c.step.weight.load(w, g.body.at(n // SIZE)))
        supplied = supplied + pull * (x.load(w, i) - c.step.start.load(w, i))
        g.pull_before.store(w, n, g.pull.load(w, n))
    for i in range(g.n_dofs):
        g.moved.store(w, i, g.moving.load(w, i))
        g.reached.store(w, i, g.reached.load(w, i) + g.moving.load(w, i))
    return supplied


@ti.func
def hold_of(c: ti.template(), w: ti.i32, k: ti.i32):
    """Force and couple about its centre of mass by which given body k is held, at the last iterate.

    Reads: c.given.pull, c.potential.rows.x
    """
    pull = vector_at(c.given.pull, w, SIZE * k)
    couple = pull * 0.0
    for m in range(1, 4):
        a = vector_at(c.potential.rows.x, w, SIZE * c.given.body.at(k) + 3 * m)
        couple = couple + a.cross(vector_at(c.given.pull, w, SIZE * k + 3 * m))
    return pull, couple


@ti.func
def report_holds(c: ti.template(), w: ti.i32):
    """Add what holds given bodies to the wrenches of their joints, at the child's anchors.

    Writes: c.rows.joint_wrench
    """
    g = c.given
    for k in range(g.n_bodies):
        j = g.joint.at(k)
        force, couple = hold_of(c, w, k)
        arm = c.state.R.load(w, g.body.at(k)) * c.tables.anchor.load(w, j)
        store_vector(c.rows.joint_wrench, w, 6 * j, force)
        store_vector(c.rows.joint_wrench, w, 6 * j + 3, couple - arm.cross(force))


@ti.func
def report_efforts_of_holds(c: ti.template(), w: ti.i32):
    """The efforts of motions along the coordinates of the joints that lead given bodies.

    Writes: c.rows.effort
    """
    g = c.given
    for k in range(g.n_bodies):
        force, couple = hold_of(c, w, k)
        couple = couple + lever_of(g, w, k, vector_at(c.potential.rows.x, w, SIZE * g.body.at(k))).cross(force)
        for i in range(g.dof_start.at(k), g.dof_start.at(k + 1)):
            c.rows.effort.store(w, g.dof.at(i), g.linear.load(w, i).dot(force) + g.angular.load(w, i).dot(couple))
