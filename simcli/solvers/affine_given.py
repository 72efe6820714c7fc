"""Affine bodies that move as prescribed: kinematic ones. Their coordinates leave the linear system of every iteration.

    p = p_h + v / alpha,    A = exp([phi]x) A_n,  phi = weight phi_n + omega / alpha        v, omega at the end of the step

which is the step's own formula for the centre and for turning about a fixed axis: rates come out as prescribed, places to
the order of the integrator. Within a step they go there together with Newton's directions, as far as contact allows; until
they have arrived the energy may grow, which is what they give.
"""

import numpy as np
import taichi as ti

from simcli.kernels.blocks import SIZE
from simcli.kernels.elementary import exp_rotation, select
from simcli.kernels.memory import Arena
from simcli.kernels.tables import Tables
from simcli.kernels.tree import store_vector, vector_at
from simcli.kernels.values import Mat3
from simcli.model import rotations as rot
from simcli.model.tables import WORLD, JointKind, Model


class Given:
    """The bodies that move as prescribed.

    Args:
        model: in natural form.
        matrix: of Newton's method.
        tables, arena: of the run.

    Attributes:
        n: their coordinates.  n_bodies, body, dof: bodies, and the first dof of the velocity of each, -1 for none.
        frame: axes in which velocities are prescribed.
        start, other, entry: of each coordinate, all others that share an entry of the matrix, and that entry.
        diagonal: entries on the diagonal.
        goal: (n) at the end of the step.  pull: (n) gradient of everything at the last iterate.
        turned, turning: (3 K) [rad], rotation vectors of the last step and of this one.  linear, angular: (3 K), prescribed.
    """

    _data_oriented = True

    def __init__(self, model: Model, matrix, tables: Tables, arena: Arena):
        bodies = np.flatnonzero(model.bodies.kinematic).tolist()
        self.n_bodies, self.n = len(bodies), SIZE * len(bodies)
        joints = [_joint_of(model, b) for b in bodies]
        dof = [int(model.joints.qd_start[j]) if model.joints.kind[j] == JointKind.FREE else -1 for j in joints]
        self.body, self.dof = arena.ints(bodies), arena.ints(dof)
        self.frame = tables.column(rot.quat_to_matrix(model.joints.X_p[:, joints, 3:]), Mat3)
        unknowns = [SIZE * b + k for b in bodies for k in range(SIZE)]
        partners = [matrix.partners(i) for i in unknowns]
        self.start = arena.ints(np.concatenate(([0], np.cumsum([len(p) for p in partners]))))
        self.other, self.entry = (arena.ints([pair[k] for p in partners for pair in p]) for k in range(2))
        self.diagonal = arena.ints([matrix.entry(i, i) for i in unknowns])
        self.goal, self.pull = arena.slot(self.n), arena.slot(self.n)
        for name in ("turned", "turning", "linear", "angular"):
            setattr(self, name, arena.slot(3 * self.n_bodies))

    def clear(self):
        """Nothing has moved."""
        for name in ("turned", "turning", "linear", "angular", "pull"):
            slot = getattr(self, name)
            slot.write(np.zeros((1, slot.n_items, 1)))


def _joint_of(model: Model, body: int) -> int:
    """The joint that holds a kinematic body: a free or a fixed one, to the world."""
    joints = model.joints
    holds = np.isin(joints.kind, (JointKind.FREE, JointKind.FIXED)) & (joints.parent == WORLD)
    return int(np.flatnonzero(holds & (joints.child == body))[0])


def unknown_of(g: Given, n):
    """Coordinate n of the given ones among all (inside kernels)."""
    return g.body.at(n // SIZE) * SIZE + n % SIZE


@ti.func
def lead(c: ti.template(), w: ti.i32):
    """Where the given bodies shall be at the end of the step.

    Reads:  c.step.{start, past, alpha, weight}, c.motions
    Writes: c.given.{goal, turning, linear, angular}
    """
    g = c.given
    z = c.step
    zero = c.tables.arena.zero()
    alpha = z.alpha.load(w, 0)
    for k in range(g.n_bodies):
        d = ti.max(g.dof.at(k), 0)
        moves = zero + ti.cast(g.dof.at(k) >= 0, c.tables.arena.device.real)
        for m in range(3):
            g.linear.store(w, 3 * k + m, c.motions.motion_qd.load(w, d + m) * moves)
            g.angular.store(w, 3 * k + m, c.motions.motion_qd.load(w, d + 3 + m) * moves)
        frame = g.frame.load(w, k)
        linear = frame * vector_at(g.linear, w, 3 * k)
        angular = frame * vector_at(g.angular, w, 3 * k)
        phi = vector_at(g.turned, w, 3 * k) * z.weight.load(w, 0) + angular * (1.0 / alpha)
        turn = exp_rotation(phi).matrix()
        first = SIZE * g.body.at(k)
        store_vector(g.linear, w, 3 * k, linear)
        store_vector(g.angular, w, 3 * k, angular)
        store_vector(g.turning, w, 3 * k, phi)
        store_vector(g.goal, w, SIZE * k, vector_at(z.past, w, first) + linear * (1.0 / alpha))
        for m in range(1, 4):
            store_vector(g.goal, w, SIZE * k + 3 * m, turn * vector_at(z.start, w, first + 3 * m))


@ti.func
def arrive(c: ti.template(), w: ti.i32, whole: ti.template()):
    """Let what moves as prescribed arrive to the bit, in lanes that take a whole direction.

    Writes: c.potential.rows.next_x
    """
    for n in range(c.given.n):
        i = unknown_of(c.given, n)
        c.potential.rows.next_x.store(w, i, select(whole, c.given.goal.load(w, n), c.potential.rows.next_x.load(w, i)))


@ti.func
def go_straight(c: ti.template(), w: ti.i32, length: ti.template()):
    """What moves as prescribed goes a part of what is left of its way.

    Writes: c.step.way
    """
    for n in range(c.given.n):
        i = unknown_of(c.given, n)
        c.step.way.store(w, i, (c.given.goal.load(w, n) - c.potential.rows.x.load(w, i)) * length)


def is_on_its_way(c, w):
    """Mask of the lanes where something that moves as prescribed has not arrived (inside kernels)."""
    left = c.tables.arena.zero()
    left = way_left(c, w, left)
    return left > 0.0


@ti.func
def way_left(c: ti.template(), w: ti.i32, none: ti.template()):
    """Largest of what the given coordinates still have to go.

    Reads: c.given.goal, c.potential.rows.x
    """
    left = none
    for n in range(c.given.n):
        left = ti.max(left, ti.abs(c.given.goal.load(w, n) - c.potential.rows.x.load(w, unknown_of(c.given, n))))
    return left


@ti.func
def take_given(c: ti.template(), w: ti.i32):
    """Take the given coordinates out of the system: they move by what is left of their ways, and the others know.

    Writes: c.given.pull, c.potential.{gradient, matrix}
    """
    g = c.given
    p = c.potential
    values = p.matrix.factor.value
    one = c.tables.arena.zero() + 1.0
    running = c.step.running.load(w, 0) > 0.0  # the others have their last iterate behind them
    for n in range(g.n):
        g.pull.store(w, n, select(running, p.gradient.load(w, unknown_of(g, n)), g.pull.load(w, n)))
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
def follow_given(c: ti.template(), w: ti.i32):
    """Rates as prescribed, and the work of what it took: forces at the last iterate times ways.

    Reads:  c.given, c.step.start
    Writes: c.potential.rows.v, c.given.turned

    Returns:
        [J], given.
    """
    g = c.given
    v = c.potential.rows.v
    x = c.potential.rows.x
    supplied = c.tables.arena.zero()
    for n in range(g.n):
        i = unknown_of(g, n)
        supplied = supplied + g.pull.load(w, n) * (x.load(w, i) - c.step.start.load(w, i))
    for k in range(g.n_bodies):
        first = SIZE * g.body.at(k)
        angular = vector_at(g.angular, w, 3 * k)
        store_vector(v, w, first, vector_at(g.linear, w, 3 * k))
        store_vector(g.turned, w, 3 * k, vector_at(g.turning, w, 3 * k))
        for m in range(1, 4):
            store_vector(v, w, first + 3 * m, angular.cross(vector_at(x, w, first + 3 * m)))
    return supplied
