"""Affine bodies that move as prescribed: kinematic ones. Their coordinates leave the linear system of every iteration.

    m = m_n + weight (m_n - m_(n-1)) + m' / alpha,   or as prescribed        the coordinates of the joint of the body
    p = o + exp([phi]x) (p_n - o) + s,   A = exp([phi]x) A_n,   phi = sum W_i (m_i - m_i,n),   s = sum L_i (m_i - m_i,n)

which is the step's own formula for the centre and for turning about a fixed axis (model/forms/natural_form.py): rates,
and positions that are prescribed, come out as they are, other places to the order of the integrator. Within a step the
bodies go there together with Newton's directions, as far as contact allows; until they have arrived the energy may grow,
which is what they give.
"""

import numpy as np

from simcli.kernels.articulation.kinematics import store_vector, vector_at
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.sparse_factors import AFFINE_DOFS
from simcli.kernels.forces.kinematic_bodies import (
    KinematicBodies,
    add_efforts_of_kinematic,
    add_wrench_of_kinematic,
    lever_of,
    rates_of_kinematic,
    way_of_kinematic,
)
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.potentials.potential_terms import mean_force
from simcli.model.tables.model import Model
from simcli.solvers.base import needs


class AffineKinematicBodies(KinematicBodies):
    """The bodies that move as prescribed.

    Args:
        model: in natural form.
        matrix: of Newton's method.
        tables, arena: of the run.

    Attributes:
        n_unknowns: their coordinates.
        start, other, entry: of each coordinate, all others that share an entry of the matrix, and that entry.
        diagonal: entries on the diagonal.
        goal: (n_unknowns) at the end of the step.  pull: gradient of everything there; pull_before: one step earlier.
        moved: (n_dofs) [m, rad], what coordinates of the joints moved in the last step.
        rate, spin: (3 n) [m/s, rad/s], of the joint's motion at its end.
    """

    def __init__(self, model: Model, matrix, tables: Tables, arena: Arena):
        super().__init__(model, tables, arena)
        bodies = np.flatnonzero(model.columns.prescribed >= 0)
        self.n_unknowns = AFFINE_DOFS * len(bodies)
        unknowns = [AFFINE_DOFS * int(b) + k for b in bodies for k in range(AFFINE_DOFS)]
        partners = [matrix.partners(i) for i in unknowns]
        self.start = arena.ints(np.concatenate(([0], np.cumsum([len(p) for p in partners]))))
        self.other, self.entry = (arena.ints([pair[k] for p in partners for pair in p]) for k in range(2))
        self.diagonal = arena.ints([matrix.entry(i, i) for i in unknowns])
        self.goal, self.pull, self.pull_before = arena.records(self.n_unknowns).arrays(3)
        self.moved, self.rate, self.spin = (arena.array(n) for n in (self.n_dofs, 3 * self.n, 3 * self.n))

    def clear(self):
        """Nothing has moved."""
        super().clear()
        for array in (self.moved, self.rate, self.spin, self.pull, self.pull_before):
            array.write(np.zeros((1, array.n_items, 1)))


def unknown_of(g: AffineKinematicBodies, n):
    """Coordinate n of the kinematic ones among all (inside kernels)."""
    return g.body.at(n // AFFINE_DOFS) * AFFINE_DOFS + n % AFFINE_DOFS


@ti.func
def prescribe_bodies(c: ti.template(), w: ti.i32):
    """Where the kinematic bodies shall be at the end of the step.

    Reads:  c.step.{start, alpha, weight}, c.motions
    Writes: c.kinematic.{goal, moving, reached, rate, spin}, c.step.target
    """
    g = c.kinematic
    z = c.step
    for k in range(g.n):
        b = g.body.at(k)
        for i in range(g.dof_start.at(k), g.dof_start.at(k + 1)):
            d = g.dof.at(i)
            speed = c.tables.arena.zero() + c.motions.motion_qd.load(w, d)
            way = g.moved.load(w, i) * z.weight.load(w, b) + speed * (1.0 / z.alpha.load(w, b) + z.lead.load(w, 0))
            if g.by_position.at(i) != 0:
                way = c.motions.motion_q.load(w, d) - g.begun.load(w, i)
            g.moving.store(w, i, way)
            g.reached.store(w, i, g.begun.load(w, i) + way)
        rate, spin, _pull, _twist = rates_of_kinematic(g, c.motions, w, k, g.reached)
        shift, turn = way_of_kinematic(g, w, k)
        first = AFFINE_DOFS * b
        place = vector_at(z.start, w, first)
        lever = lever_of(g, w, k, place, g.begun)
        store_vector(g.rate, w, 3 * k, rate)
        store_vector(g.spin, w, 3 * k, spin)
        store_vector(g.goal, w, AFFINE_DOFS * k, place + (turn * lever - lever) + shift)
        for m in range(1, 4):
            store_vector(g.goal, w, AFFINE_DOFS * k + 3 * m, turn * vector_at(z.start, w, first + 3 * m))
        expect(c, w, k)


@ti.func
def stay(c: ti.template(), w: ti.i32):
    """Let the kinematic bodies be where they are, at t = 0.

    Reads:  c.step.start
    Writes: c.kinematic.goal
    """
    for n in range(c.kinematic.n_unknowns):
        c.kinematic.goal.store(w, n, c.step.start.load(w, unknown_of(c.kinematic, n)))


@ti.func
def expect(c: ti.template(), w: ti.i32, k: ti.i32):
    """Let the inertia of a kinematic body be that of its rates, v - v_h, whether these are those of the formula or not.

    Reads:  c.kinematic, c.step.{past, alpha}
    Writes: c.step.target
    """
    g = c.kinematic
    z = c.step
    for m in range(4):
        at = AFFINE_DOFS * g.body.at(k) + 3 * m
        goal = vector_at(g.goal, w, AFFINE_DOFS * k + 3 * m)
        ahead = rate_of(g, w, k, m, goal) * (1.0 / z.alpha.load(w, g.body.at(k)))
        store_vector(z.target, w, at, vector_at(z.target, w, at) + (goal - vector_at(z.past, w, at) - ahead))


@ti.func
def rate_of(g: ti.template(), w: ti.i32, k: ti.i32, m: ti.i32, x: ti.template()):
    """Rate of the position (m = 0) or of a vector of kinematic body k, where that is x at the end of the step."""
    rate = vector_at(g.rate, w, 3 * k)
    arm = x * 1.0  # a copy
    if m == 0:
        arm = lever_of(g, w, k, x, g.reached)
    else:
        rate = rate * 0.0
    return rate + vector_at(g.spin, w, 3 * k).cross(arm)


@ti.func
def arrive(c: ti.template(), w: ti.i32):
    """Let what moves as prescribed arrive to the bit, in worlds that take a whole direction.

    Reads:  c.step.{length, size}, c.kinematic.goal
    Writes: c.potential.rows.next_x
    """
    there = c.potential.rows.next_x
    whole = (c.step.length.load(w, 0) == 1.0) & (c.step.size.load(w, 0) < ti.math.inf)  # there is a direction
    for n in range(c.kinematic.n_unknowns):
        i = unknown_of(c.kinematic, n)
        there.store(w, i, select(whole, c.kinematic.goal.load(w, n), there.load(w, i)))


@ti.func
def go_straight(c: ti.template(), w: ti.i32):
    """What moves as prescribed goes a part of what is left of its way.

    Reads:  c.step.length, c.kinematic.goal, c.potential.rows.x
    Writes: c.step.way
    """
    length = c.step.length.load(w, 0)
    for n in range(c.kinematic.n_unknowns):
        i = unknown_of(c.kinematic, n)
        c.step.way.store(w, i, (c.kinematic.goal.load(w, n) - c.potential.rows.x.load(w, i)) * length)


@ti.func
def let_arrive(c: ti.template(), w: ti.i32):
    """What it takes prescribed bodies to arrive is no matter of descent.

    Reads:  c.kinematic.goal, c.potential.rows.x
    Writes: c.step.bound
    """
    left = c.tables.arena.zero()
    for n in range(c.kinematic.n_unknowns):
        left = ti.max(left, ti.abs(c.kinematic.goal.load(w, n) - c.potential.rows.x.load(w, unknown_of(c.kinematic, n))))
    bound = c.step.bound.load(w, 0)
    c.step.bound.store(w, 0, select(left > 0.0, bound + ti.math.inf, bound))


@ti.func
def take_kinematic(c: ti.template(), w: ti.i32):
    """Take the prescribed coordinates out of the system: they move by what is left of their ways, and the others know.

    Writes: c.potential.{gradient, matrix}
    """
    g = c.kinematic
    p = c.potential
    values = p.matrix.factor.value
    one = c.tables.arena.zero() + 1.0
    for n in range(g.n_unknowns):
        i = unknown_of(g, n)
        left = g.goal.load(w, n) - p.rows.x.load(w, i)
        for e in range(g.start.at(n), g.start.at(n + 1)):
            other = g.other.at(e)
            p.gradient.store(w, other, p.gradient.load(w, other) + values.load(w, g.entry.at(e)) * left)
            values.store(w, g.entry.at(e), one * 0.0)
        values.store(w, g.diagonal.at(n), one)
        p.gradient.store(w, i, -left)


@ti.func
def store_hold_forces(c: ti.template(), w: ti.i32):
    """What it takes to hold the kinematic bodies where the step ends, before `take_kinematic`.

    The last displacement of Newton's method is below its tolerance, but times the stiffness of a joint it is a large force.

    Reads:  c.potential.gradient
    Writes: c.kinematic.pull
    """
    for n in range(c.kinematic.n_unknowns):
        c.kinematic.pull.store(w, n, c.potential.gradient.load(w, unknown_of(c.kinematic, n)))


@needs.kinematic_bodies
@ti.func
def give_rates(c: ti.template(), w: ti.i32):
    """Rates at the end of the step as prescribed.

    Reads:  c.kinematic, c.potential.rows.x
    Writes: c.step.next_v
    """
    g = c.kinematic
    for k in range(g.n):
        first = AFFINE_DOFS * g.body.at(k)
        for m in range(4):
            rate = rate_of(g, w, k, m, vector_at(c.potential.rows.x, w, first + 3 * m))
            store_vector(c.step.next_v, w, first + 3 * m, rate)


@ti.func
def follow_kinematic(c: ti.template(), w: ti.i32):
    """The work of what it took to move the kinematic bodies: forces times ways, see `work_of_step`.

    Reads:  c.kinematic, c.step.{start, weight}
    Writes: c.kinematic.{moved, begun, pull_before}

    Returns:
        [J], supplied.
    """
    g = c.kinematic
    supplied = c.tables.arena.zero()
    for n in range(g.n_unknowns):
        i = unknown_of(g, n)
        pull = mean_force(g.pull, g.pull_before, w, n, c.step.weight.load(w, g.body.at(n // AFFINE_DOFS)))
        supplied = supplied + pull * (c.potential.rows.x.load(w, i) - c.step.start.load(w, i))
        g.pull_before.store(w, n, g.pull.load(w, n))
    for i in range(g.n_dofs):
        g.moved.store(w, i, g.moving.load(w, i))
        g.begun.store(w, i, g.reached.load(w, i))
    return supplied


@ti.func
def hold_of(c: ti.template(), w: ti.i32, k: ti.i32):
    """Force and couple about its centre of mass by which kinematic body k is held, at the end of the step.

    Reads: c.kinematic.pull, c.potential.rows.x
    """
    pull = vector_at(c.kinematic.pull, w, AFFINE_DOFS * k)
    couple = pull * 0.0
    for m in range(1, 4):
        a = vector_at(c.potential.rows.x, w, AFFINE_DOFS * c.kinematic.body.at(k) + 3 * m)
        couple = couple + a.cross(vector_at(c.kinematic.pull, w, AFFINE_DOFS * k + 3 * m))
    return pull, couple


@ti.func
def report_holds(c: ti.template(), w: ti.i32):
    """Add what holds kinematic bodies to the wrenches of their joints.

    Writes: c.rows.joint_wrench
    """
    g = c.kinematic
    for k in range(g.n):
        force, couple = hold_of(c, w, k)
        arm = c.state.R.load(w, g.body.at(k)) * c.tables.anchor.load(w, g.joint.at(k))
        add_wrench_of_kinematic(g, c.rows.joint_wrench, w, k, force, couple, arm)


@needs.kinematic_bodies
@ti.func
def report_efforts_of_holds(c: ti.template(), w: ti.i32, effort: ti.template()):
    """Add the efforts of motions along the coordinates of the joints that prescribe kinematic bodies.

    Writes: effort, (NV)
    """
    for k in range(c.kinematic.n):
        force, couple = hold_of(c, w, k)
        x = vector_at(c.potential.rows.x, w, AFFINE_DOFS * c.kinematic.body.at(k))
        add_efforts_of_kinematic(c.kinematic, effort, w, k, force, couple, x)
