"""The kernel of the generalized solver: every block of worlds by whole frames.

Each block runs all its steps before the next block starts, so its state stays in the cache. A step is a paragraph of
stages: place the links, evaluate their accelerations, use them, watch for worlds that end; a frame ends with a report.
"""

import numpy as np
import taichi as ti

from simcli.kernels.dynamics import collect, demand
from simcli.kernels.elementary import select
from simcli.kernels.forces import Forces, effort_power, elastic_energy, load_links
from simcli.kernels.report import (
    FrameRows,
    mechanical_energy,
    put,
    report_bodies,
    report_efforts,
    report_points,
    report_wrenches,
    unload,
)
from simcli.kernels.runtime import Arena, any_lane
from simcli.kernels.tables import Tables
from simcli.kernels.tree import TreeState, place_all
from simcli.model.snapshot import Status
from simcli.model.tables import Model
from simcli.solvers.integrators import (
    GAMMA,
    RK4_NODES,
    RK4_WEIGHTS,
    STAGES,
    H,
    evaluate,
    use_implicit,
    use_rk4,
    use_semi_implicit,
)
from simcli.solvers.plan import RunPlan

SPEED_SQUARED, STOP_ABOVE, STOP_BELOW = range(1, 4)  # rows of the solver's constants, after H
NOT_FINITE, TOO_FAST, STOPPED = int(Status.NOT_FINITE), int(Status.TOO_FAST), int(Status.STOPPED)
ENERGY = ("kinetic", "potential", "elastic", "dissipated", "input", "total", "drift")
HEALTH = ("status", "steps into the call", "dof")


class Core:
    """What the kernel reads: tables, state, forces, and the constants of the integrator."""

    _data_oriented = True

    def __init__(self, model: Model, options, plan: RunPlan, arena: Arena):
        self.integrator = options.integrator
        self.stages = STAGES[self.integrator]
        self.lanes, self.block_dim = arena.device.lanes, arena.device.block_dim
        self.tables = Tables(model, arena)
        self.forces = Forces(model, self.tables, arena)
        self.state = TreeState(self.tables, arena, self.forces.has_external)
        self.reports = {name: name in plan.channels for name in ("energy", "reactions")}
        self.reports |= {name: bool(plan.channels & {"state", name}) for name in ("joints", "bodies")}
        self.total_start, self.count, self.health = arena.slot(1), arena.slot(1), arena.slot(len(HEALTH))
        self.rows = FrameRows(self.tables, arena, len(ENERGY))
        stop = plan.stop_when
        self.stops, self.stop_on_rate = stop is not None, bool(stop and stop.on_rate)
        self.stop_index = stop.index if stop else 0
        bounds = [stop.above, stop.below] if stop else [np.inf, -np.inf]
        self.constants = self.tables.column(np.array([[plan.dt, np.square(float(options.max_velocity)), *bounds]]))
        n_q, n_qd = model.n_q, model.n_qd
        if self.integrator != "semi_implicit":
            self.q_base, self.qd_base = arena.slot(n_q), arena.slot(n_qd)
        if self.integrator == "rk4":
            self.q_sum, self.qd_sum, self.q_rate = arena.slot(n_q), arena.slot(n_qd), arena.slot(n_q)
            self.weights = self.tables.column(np.array([RK4_WEIGHTS]))
            self.nodes = self.tables.column(np.array([(*RK4_NODES, 0.0)]))
        if self.integrator == "implicit":
            self.k1_q, self.k1_qd = arena.slot(n_qd), arena.slot(n_qd)

    def clear(self):
        """Zero what a run accumulates."""
        for slot in (self.health, self.count, self.forces.work, self.forces.power, self.forces.power_start, self.total_start,
                     self.state.tau, self.state.diagonal, self.state.qdd):
            slot.write(np.zeros((1, slot.n_items, slot.width)))
        if self.integrator == "rk4":
            self.q_rate.write(np.zeros((1, self.q_rate.n_items, 1)))


@ti.kernel
def rollout(c: ti.template(), n_frames: ti.i32, steps: ti.i32, q: ti.types.ndarray(), qd: ti.types.ndarray(),
            qdd: ti.types.ndarray(), effort: ti.types.ndarray(), pose: ti.types.ndarray(), twist: ti.types.ndarray(),
            points: ti.types.ndarray(), wrench: ti.types.ndarray(), energy: ti.types.ndarray(),
            health: ti.types.ndarray()):
    """Advance every block by n_frames frames of `steps` steps; steps = 0 reports the initial state.

    Reads:  c
    Writes: c.state, c.forces.work, the buffers
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.state.n_blocks):
        c.count.store(w, 0, c.tables.arena.zero())
        for f in range(n_frames):
            advance_frame(c, w, steps)
            report(c, w, steps)
            at = (f * c.state.n_blocks + w) * c.lanes
            poison = poison_of(c, w)
            if ti.static(c.reports["joints"]):
                unload(q, c.state.q, at * c.tables.n_q, w, c.tables.n_q, poison)
                unload(qd, c.state.qd, at * c.tables.n_qd, w, c.tables.n_qd, poison)
                unload(qdd, c.state.qdd, at * c.tables.n_qd, w, c.tables.n_qd, poison)
                unload(effort, c.rows.effort, at * c.tables.n_qd, w, c.tables.n_qd, poison)
            if ti.static(c.reports["bodies"]):
                unload(pose, c.rows.body_q, at * (7 * c.tables.n_bodies), w, 7 * c.tables.n_bodies, poison)
                unload(twist, c.rows.body_qd, at * (6 * c.tables.n_bodies), w, 6 * c.tables.n_bodies, poison)
                unload(points, c.rows.points, at * (6 * c.tables.n_points), w, 6 * c.tables.n_points, poison)
            if ti.static(c.reports["reactions"]):
                unload(wrench, c.rows.joint_wrench, at * (6 * c.tables.n_joints), w, 6 * c.tables.n_joints, poison)
            if ti.static(c.reports["energy"]):
                unload(energy, c.rows.energy, at * len(ENERGY), w, len(ENERGY), poison)
            unload(health, c.health, at * len(HEALTH), w, len(HEALTH), 0.0)


@ti.func
def advance_frame(c: ti.template(), w: ti.i32, steps: ti.i32):
    """The steps of one frame, ending with the poses of the frame. Steps = 0 evaluates and stays.

    A first-order integrator ends with the accelerations and reactions of its last step; the others evaluate once more
    at the end, and show those of the instant.

    Reads:  c
    Writes: c.state, c.forces.work, c.health, c.rows.joint_wrench
    """
    n_stages = c.stages * steps
    n_evaluations = ti.max(n_stages, 1)
    n_places = n_evaluations + 1
    if ti.static(c.stages > 1):
        n_evaluations = n_stages + 1
        n_places = n_evaluations
    for e in range(n_places):
        place_all(c.tables, c.state, w)
        if e < n_evaluations:
            h = c.constants.load(w, H)
            stage = e % c.stages
            if ti.static(c.integrator == "rk4"):
                evaluate(c, w, stage, 0.0)
            elif ti.static(c.integrator == "implicit"):
                evaluate(c, w, stage, h * GAMMA * ti.cast(e < n_stages, c.tables.arena.device.real))
            else:
                evaluate(c, w, stage, h)
            if ti.static(c.reports["reactions"]):
                if e == n_evaluations - 1:
                    report_reactions(c, w)
            if e < n_stages:
                if ti.static(c.integrator == "rk4"):
                    use_rk4(c, w, stage, h)
                elif ti.static(c.integrator == "implicit"):
                    use_implicit(c, w, stage, h)
                else:
                    use_semi_implicit(c, w, h)
                if stage == c.stages - 1:
                    watch(c, w)


@ti.func
def report_reactions(c: ti.template(), w: ti.i32):
    """Joint wrenches of the evaluation that was just made.

    Reads:  c.state
    Writes: c.state.{a, f, u}, c.rows.joint_wrench
    """
    demand(c.tables, c.state, w)
    collect(c.tables, c.state, c.state.u, w)
    report_wrenches(c.tables, c.state, c.rows, w)


def poison_of(c: Core, w):
    """0 for a world that is well, NaN for one that has ended."""
    status = c.health.load(w, 0)
    return select(status == 0.0, status, status * ti.math.nan)


@ti.func
def watch(c: ti.template(), w: ti.i32):
    """Note the first step at which a world's rates are not finite or too large, or its end condition holds.

    A world that has ended keeps stepping in its lanes, where it disturbs nobody; its frames are poisoned instead.

    Reads:  c.state.{q, qd}, c.constants
    Writes: c.health, c.count
    """
    count = c.count.load(w, 0) + 1.0
    c.count.store(w, 0, count)
    square = c.tables.arena.zero()
    for n in range(c.tables.n_tree_dofs):
        rate = c.state.qd.load(w, c.tables.tree_dof.at(n))
        square = square + rate * rate
    bound = c.constants.load(w, SPEED_SQUARED)
    status = c.health.load(w, 0)
    alive = status == 0.0
    ended = alive & (ti.math.isnan(square) | (square >= bound))
    if ti.static(c.stops):
        x = stop_quantity(c, w)
        ended = ended | (alive & ((x > c.constants.load(w, STOP_ABOVE)) | (x < c.constants.load(w, STOP_BELOW))))
    if any_lane(ended):
        write_ending(c, w, count, square, ended)


@ti.func
def write_ending(c: ti.template(), w: ti.i32, count: ti.template(), square: ti.template(), ended: ti.template()):
    """Status, step and guilty dof of the lanes that just ended.

    Reads:  c.state.qd, c.constants
    Writes: c.health
    """
    bound = c.constants.load(w, SPEED_SQUARED)
    zero = c.tables.arena.zero()
    worst = zero - 1.0
    guilty = zero
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        rate = c.state.qd.load(w, d)
        size = select(ti.math.isnan(rate), zero + ti.math.inf, rate * rate)
        worse = size > worst
        worst = select(worse, size, worst)
        guilty = select(worse, zero + ti.cast(d, c.tables.arena.device.real), guilty)
    finite = square < zero + ti.math.inf
    code = select(finite, zero + TOO_FAST, zero + NOT_FINITE)
    met = square < bound
    code = select(met, zero + STOPPED, code)
    if ti.static(c.stops):
        guilty = select(met, zero + float(c.stop_index), guilty)
    c.health.store(w, 0, select(ended, code, c.health.load(w, 0)))
    c.health.store(w, 1, select(ended, count, c.health.load(w, 1)))
    c.health.store(w, 2, select(ended, guilty, c.health.load(w, 2)))


def stop_quantity(c: Core, w):
    """The coordinate or rate that run.stop_when watches."""
    return (c.state.qd if c.stop_on_rate else c.state.q).load(w, c.stop_index)


@ti.func
def report(c: ti.template(), w: ti.i32, steps: ti.i32):
    """One frame, after `advance_frame`.

    Reads:  c
    Writes: c.rows
    """
    if ti.static(c.reports["joints"]):
        report_efforts(c.tables, c.state, c.rows, w)
    if ti.static(c.reports["bodies"]):
        report_bodies(c.tables, c.state, c.rows, w)
        report_points(c.tables, c.state, c.rows, w)
    if ti.static(c.reports["energy"]):
        report_energy(c, w, steps)


@ti.func
def report_energy(c: ti.template(), w: ti.i32, steps: ti.i32):
    """The energy ledger: ENERGY columns. drift = total - total(0) + dissipated - input.

    Work is the sum of h P at the beginnings of steps plus h (P_now - P_start) / 2, which is the trapezoidal rule; the
    fourth-order integrator sums its own stages, and joint efforts of the first-order one are exact already.

    Reads:  c.state, c.forces
    Writes: c.total_start, c.forces.power_start, c.rows.energy
    """
    kinetic, potential = mechanical_energy(c.tables, c.state, w)
    elastic = c.tables.arena.zero()
    dissipated = c.tables.arena.zero()
    supplied = c.tables.arena.zero()
    if ti.static(c.forces.n_springs > 0):
        elastic = elastic_energy(c.tables, c.forces, c.state, w)
    total = kinetic + potential + elastic
    if steps == 0:
        c.total_start.store(w, 0, total)
    if ti.static(c.forces.has_work):
        dissipated = c.forces.work.load(w, 0)
        supplied = c.forces.work.load(w, 1)
        if ti.static(c.integrator != "rk4"):
            if ti.static(c.forces.has_external):
                load_links(c.tables, c.forces, c.state, w)
            if ti.static(c.integrator == "implicit"):
                effort_power(c.tables, c.forces, c.state, w, 0.0)
            if steps == 0:
                for k in ti.static(range(2)):
                    c.forces.power_start.store(w, k, c.forces.power.load(w, k))
            if ti.static(c.forces.has_external or c.integrator == "implicit"):
                half = c.constants.load(w, H) * 0.5
                dissipated = dissipated + (c.forces.power.load(w, 0) - c.forces.power_start.load(w, 0)) * half
                supplied = supplied + (c.forces.power.load(w, 1) - c.forces.power_start.load(w, 1)) * half
    drift = total - c.total_start.load(w, 0) + dissipated - supplied
    put(c.rows.energy, w, 0, kinetic, potential, elastic, dissipated, supplied, total, drift)
