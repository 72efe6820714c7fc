"""Kinematic bodies in natural coordinates: their coordinates are prescribed, from the motions of their joints.

    R+ = exp(sum W_i D_i) R,   D_i = h m_i' of the middle of the step (with contact: of its end), or m_i+ - m_i by position
    p' = v,  a' = w x a;   p'' = v' ..,  a'' = w' x a + w x (w x a)

The steps lock these coordinates like any prescribed dof (rows/motions.py). What holds them is a force along each: F of p,
and the couple sum a x F_a, from which effort and wrench of the joint follow (rows/motion_work.py).

Stages and what they call; rows/memory.py says what `c` holds.
"""

from simcli.kernels.articulation.kinematics import store_vector, vector_at
from simcli.kernels.forces.kinematic_bodies import lever_of, rates_of_kinematic, way_of_kinematic
from simcli.kernels.language import ti
from simcli.solvers.base.integrators import H
from simcli.solvers.rows.islands import island_of_dof
from simcli.solvers.rows.motions import way_by_velocity


@ti.func
def begin_kinematic(c: ti.template(), w: ti.i32):
    """At the start of a step: coordinates reached; velocities in case that they jump there, with the work of that.

    Reads:  c.motions, c.state.q
    Writes: c.kinematic.begun, c.state.qd, c.bound.move: velocities before, c.forces.account.work
    """
    t = c.tables
    for m in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(m)
        c.bound.move.store(w, d, c.state.qd.load(w, d))
    for i in range(c.kinematic.n_dofs):
        c.kinematic.begun.store(w, i, c.kinematic.reached.load(w, i))
    for k in range(c.kinematic.n):
        if ti.static(c.integrator == "zhong06"):
            rate, spin, _pull, _twist = rates_of_kinematic(c.kinematic, c.motions, w, k, c.kinematic.begun)
            link = c.kinematic.body.at(k)
            q = t.link_q.at(link)
            d = t.link_qd.at(link)
            for n in range(1 + t.n_vectors.at(link)):
                v = spin.cross(vector_at(c.state.q, w, q + 3 * n))
                if n == 0:
                    v = rate + spin.cross(lever_of(c.kinematic, w, k, vector_at(c.state.q, w, q), c.kinematic.begun))
                before = vector_at(c.state.qd, w, d + 3 * n)
                gained = (v.dot(v) - before.dot(before)) * 0.5 * t.weight.load(w, d + 3 * n)
                c.forces.account.supply(w, gained)
                store_vector(c.state.qd, w, d + 3 * n, v)


@ti.func
def move_kinematic_bodies(c: ti.template(), w: ti.i32):
    """Where the coordinates of kinematic bodies are at the end of the step; at an instant what they do there.

    Reads:  c.motions of the joints, c.state.q, c.kinematic.begun, c.{g, now}
    Writes: c.motions.{motion_q, motion_qd, motion_qdd} of the coordinates, c.kinematic.reached
    """
    t = c.tables
    h = c.constants.load(w, H)
    move_kinematic(c, w)
    for k in range(c.kinematic.n):
        g = c.g.load(w, island_of_dof(c, c.tables.link_qd.at(c.kinematic.body.at(k))))
        rate, spin, pull, twist = rates_of_kinematic(c.kinematic, c.motions, w, k, c.kinematic.reached)
        shift, R = way_of_kinematic(c.kinematic, w, k)
        link = c.kinematic.body.at(k)
        q = t.link_q.at(link)
        d = t.link_qd.at(link)
        for n in range(1 + t.n_vectors.at(link)):
            x = vector_at(c.state.q, w, q + 3 * n)
            arm = R * x
            end = arm * 1.0
            if n == 0:
                lever = lever_of(c.kinematic, w, k, x, c.kinematic.begun)
                end = x + (R * lever - lever) + shift
                arm = lever_of(c.kinematic, w, k, end, c.kinematic.reached)
            v = spin.cross(arm)
            a = twist.cross(arm) + spin.cross(v)
            if n == 0:
                v = v + rate
                a = a + pull
            if c.now.load(w, "instant") != 0:
                end = x + (vector_at(c.state.qd, w, d + 3 * n) + a * g) * h
            store_vector(c.motions.motion_q, w, d + 3 * n, end)
            store_vector(c.motions.motion_qd, w, d + 3 * n, v)
            store_vector(c.motions.motion_qdd, w, d + 3 * n, a)


@ti.func
def move_kinematic(c: ti.template(), w: ti.i32):
    """How far the coordinates of kinematic bodies go in a step, in an instant nowhere.

    Reads:  c.motions of the joints, c.kinematic.begun, c.now
    Writes: c.kinematic.{moving, reached}
    """
    for i in range(c.kinematic.n_dofs):
        d = c.kinematic.dof.at(i)
        way = way_by_velocity(c, w, d)
        if c.kinematic.by_position.at(i) != 0:
            way = c.motions.motion_q.load(w, d) - c.kinematic.begun.load(w, i)
        way = way * ti.cast(c.now.load(w, "instant") == 0, c.tables.arena.device.real)
        c.kinematic.moving.store(w, i, way)
        c.kinematic.reached.store(w, i, c.kinematic.begun.load(w, i) + way)
