"""What the integrators of the generalized solver do with accelerations, as stages.

    semi_implicit   order 1, symplectic; joint damping and drives implicit in the rate
    rk4             order 4, explicit
    implicit        order 2, L-stable in joint damping and drives

Each evaluates the accelerations at some nodes of a step; tree/programs.py has the lists.
"""

import math

from simcli.kernels.articulation.kinematics import FREE, store_vector, vector_at
from simcli.kernels.articulation.retraction import retract
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.forces.account import effort_power
from simcli.kernels.language import ti
from simcli.kernels.rows.coordinate_laws import foresee_again
from simcli.solvers.base import needs

STAGES = {"semi_implicit": 1, "rk4": 4, "implicit": 2}  # evaluations per step
# Evaluations per step, of every solver's integrators.
ALL_STAGES = {**STAGES, "zhong06": 1, "generalized_alpha": 1}
GAMMA = 1.0 - math.sqrt(0.5)  # makes the two-stage method below L-stable
RK4_WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
# Where evaluations are in a step, in steps; the last one is that of a step that is taken again.
NODES = {"semi_implicit": (1.0, 1.0), "rk4": (0.0, 0.5, 0.5, 1.0, 1.0), "implicit": (0.0, 1.0, 1.0)}
# Of the step, over which efforts are implicit in each of them; then in an evaluation that a frame shows.
IMPLICIT = {"semi_implicit": (1.0, 1.0, 1.0), "rk4": (0.0, 0.0, 0.0, 0.0, 1.0, 0.0), "implicit": (GAMMA, GAMMA, 1.0, 0.0)}
H = 0  # row of the step in the solver's constants


@needs.work
def book_efforts(c, w, b, h):
    """Book the work of joint efforts in a time h (inside kernels).

    Args:
        b: [s], see `effort_power`.
    """
    effort_power(c.tables, c.forces, c.state, w, b)
    c.forces.account.book_power(w, h)


@ti.func
def add_accelerations(c: ti.template(), w: ti.i32, h: ti.template()):
    """Add h qdd to the velocities of the tree.

    Reads:  c.state.qdd
    Writes: c.state.qd
    """
    s = c.state
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        s.qd.store(w, d, s.qd.load(w, d) + s.qdd.load(w, d) * h)


@ti.func
def advance_smooth(c: ti.template(), w: ti.i32):
    """qd+ = qd + h qdd(q, qd+ in damping and drives),  q+ = q (+) h qd+.

    Reads:  c.state.{q, qd, qdd}
    Writes: c.state.{q, qd}, c.forces.account.work
    """
    h = c.constants.load(w, H)
    s = c.state
    book_efforts(c, w, h, h)
    add_accelerations(c, w, h)
    retract(c.tables, s.q, s.q, s.qd, w, h)


@ti.func
def keep_start(c: ti.template(), w: ti.i32):
    """Where a step begins.

    Reads:  c.state.{q, qd}
    Writes: c.{q_base, qd_base}; c.{slope_sum, qd_sum} of rk4
    """
    copy(c.q_base, c.state.q, c.tables.n_q, w)
    copy(c.qd_base, c.state.qd, c.tables.n_qd, w)
    _begin_sums(c, w)


@needs.slopes
@ti.func
def _begin_sums(c: ti.template(), w: ti.i32):
    copy(c.qd_sum, c.state.qd, c.tables.n_qd, w)
    for d in range(c.tables.n_qd):
        c.slope_sum.store(w, d, c.tables.arena.zero())


@ti.func
def keep_slopes(c: ti.template(), w: ti.i32):
    """Add the slopes of a node to the sums of the classical Runge-Kutta method; rotations go by the exponential map.

        q_i = q_0 (+) h a_i k_(i-1),   k_i = dexp^-1(h a_i k_(i-1)) w_i,   q_1 = q_0 (+) h (k_1 + 2 k_2 + 2 k_3 + k_4) / 6

    A spin about a fixed axis, however fast, is exact: the error is that of the change of w in the outer frame.

    Source: Kutta (1901) for coordinates and velocities; Munthe-Kaas (1999) for rotations. No deviation.

    Reads:  c.state.{qd, qdd}
    Writes: c.{slope, slope_sum, qd_sum}, c.forces.account.work
    """
    s = c.state
    h = c.constants.load(w, H)
    node = c.now.load(w, "node")
    weight = h * c.weights.load(w, node)
    book_efforts(c, w, 0.0, weight)
    take_slopes(c.tables, s, c.slope, w, h * c.nodes.load(w, node))
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        c.slope_sum.store(w, d, c.slope_sum.load(w, d) + c.slope.load(w, d) * weight)
        c.qd_sum.store(w, d, c.qd_sum.load(w, d) + s.qdd.load(w, d) * weight)


@ti.func
def move_to_node(c: ti.template(), w: ti.i32):
    """From the start of the step to its next node, along the slopes of this one.

    Reads:  c.{q_base, qd_base, slope}, c.state.qdd
    Writes: c.state.{q, qd}
    """
    s = c.state
    span = c.constants.load(w, H) * c.nodes.load(w, c.now.load(w, "node") + 1)
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        s.qd.store(w, d, c.qd_base.load(w, d) + s.qdd.load(w, d) * span)
    retract(c.tables, c.q_base, s.q, c.slope, w, span)


@ti.func
def combine_slopes(c: ti.template(), w: ti.i32):
    """From the start of the step to its end, along the weighted sums.

    Reads:  c.{q_base, slope_sum, qd_sum}
    Writes: c.state.{q, qd}
    """
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        c.state.qd.store(w, d, c.qd_sum.load(w, d))
    retract(c.tables, c.q_base, c.state.q, c.slope_sum, w, 1.0)


@ti.func
def take_slopes(t: ti.template(), s: ti.template(), slope: ti.template(), w: ti.i32, span: ti.template()):
    """Rates of coordinates that a retraction from the start of the step needs, from the slopes of the stage before.

        rotations: dexp^-1(u) w = w - u x w / 2 + u x (u x w) / 12,   u = span times the slope before

    Reads:  s.qd, slope (NV)
    Writes: slope
    """
    for i in range(t.n_links):
        d = t.link_qd.at(i)
        kind = t.kind.at(i)
        n = t.link_n_qd.at(i)
        if n > 1:
            at = d
            if kind == FREE:
                at = d + 3
            u = vector_at(slope, w, at) * span
            spin = vector_at(s.qd, w, at)
            turned = u.cross(spin)
            spin = spin - turned * 0.5 + u.cross(turned) * (1.0 / 12.0)
            if kind == FREE:
                store_vector(slope, w, d, vector_at(s.qd, w, d))
            store_vector(slope, w, at, spin)
        elif n == 1:
            slope.store(w, d, s.qd.load(w, d))


@ti.func
def move_to_end(c: ti.template(), w: ti.i32):
    """The first stage of a Rosenbrock method of W type, u = (q, qd), b = gamma h, A the gradient of damping and drives:

        (1 - b A) k1 = f(u),   (1 - b A) k2 = f(u + h k1) - 2 k1,   u+ = u + h (3 k1 + k2) / 2

    Second order whatever A is, and L-stable where A is the whole gradient. With D, K the diagonal damping and stiffness,
    D' = b D + b^2 K and y = k2 + 2 k1 in the rates, the second stage is one more articulated-body pass:
    (M + D') y = F - b K (rate - 2 k1_q) + 2 D' k1. Efforts of both stages weigh the same, for u+ = u + h (k1 + y) / 2: where
    each of them is within the limit of a drive, the step is.

    Source: Verwer, Spee, Blom and Hundsdorfer (1999), the scheme ROS2. Deviation: A is taken anew in the second stage.

    Reads:  c.state.{q, qd, qdd}, c.q_base
    Writes: c.state.{q, qd}, c.{k1_q, k1_qd}, c.forces.account.work
    """
    s = c.state
    h = c.constants.load(w, H)
    b = h * GAMMA
    book_efforts(c, w, 0.0, h)
    for d in range(c.tables.n_qd):
        qdd = s.qdd.load(w, d)
        rate = s.qd.load(w, d)
        c.k1_qd.store(w, d, qdd)
        c.k1_q.store(w, d, rate + qdd * b)
        s.qd.store(w, d, rate + qdd * h)
    retract(c.tables, c.q_base, s.q, c.k1_q, w, h)


@ti.func
def move_with_both(c: ti.template(), w: ti.i32):
    """The second stage of `move_to_end`.

    Reads:  c.state.{qd, qdd}, c.{q_base, qd_base, k1_q, k1_qd}
    Writes: c.state.{q, qd}, c.k1_q
    """
    s = c.state
    h = c.constants.load(w, H)
    b = h * GAMMA
    for d in range(c.tables.n_qd):
        k1 = c.k1_qd.load(w, d)
        k1_q = c.k1_q.load(w, d)
        k2 = s.qdd.load(w, d) - k1 * 2.0
        k2_q = s.qd.load(w, d) - k1_q * 2.0 + k2 * b
        s.qd.store(w, d, c.qd_base.load(w, d) + (k1 * 1.5 + k2 * 0.5) * h)
        c.k1_q.store(w, d, k1_q * 1.5 + k2_q * 0.5)
    retract(c.tables, c.q_base, s.q, c.k1_q, w, h)


@ti.func
def correct_efforts(c: ti.template(), w: ti.i32, b: ti.template()):
    """Add what the second stage of implicit steps needs to the efforts of all laws that `efforts` has summed.

    Reads:  c.{k1_q, k1_qd}, c.state.{diagonal, stiffness}
    Writes: adds to c.state.tau
    """
    s = c.state
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        gain = s.diagonal.load(w, d) - c.tables.armature.load(w, d)
        added = foresee_again(s.stiffness.load(w, d), gain, c.k1_q.load(w, d), c.k1_qd.load(w, d), b)
        s.tau.store(w, d, s.tau.load(w, d) + added)


@ti.func
def first_node_of_dof(c: ti.template(), w: ti.i32, d: ti.i32, stage: ti.i32):
    """What the first node gave to a dof, for the second one of implicit steps."""
    moved = c.tables.arena.zero()
    gained = c.tables.arena.zero()
    if ti.static(c.integrator == "implicit"):
        if stage == 1:
            moved = c.k1_q.load(w, d)
            gained = c.k1_qd.load(w, d)
    return moved, gained


@ti.func
def add_first_node(c: ti.template(), w: ti.i32, r: ti.i32, moved: ti.template(), gained: ti.template()):
    """What the first node of an implicit step gave along row r, J k1_q and J k1, on top of what is given.

    Reads: c.{k1_q, k1_qd}, c.bound.system.entry
    """
    y = c.bound.system
    all_moved = moved
    all_gained = gained
    for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
        d = y.j_dof.at(e)
        value = y.entry.load(w, y.n_mass + e)
        all_moved = all_moved + value * c.k1_q.load(w, d)
        all_gained = all_gained + value * c.k1_qd.load(w, d)
    return all_moved, all_gained
