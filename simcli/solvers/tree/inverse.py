"""Inverse dynamics of steps of first order: the efforts that their tables ask for, and where the steps began.

What a step takes for the forces that velocities need is said by base/gyroscopic_torques.py and base/midpoint.py; here these
are called for steps of which a table holds where they end, and their accelerations. A body that stands alone has the torque
that its momentum gains; a tree that turns far in a step has the middle that the rounds of the step find.

Source: the formulas of base/gyroscopes.py and base/midpoint.py, for the efforts. Deviation: contacts are not known.
"""

import numpy as np

from simcli.kernels.algorithms import Algorithms
from simcli.kernels.algorithms_core import AlgorithmsCore, blocks_of_slot, give, load_body_forces, take
from simcli.kernels.articulation.kinematics import place_all
from simcli.kernels.articulation.retraction import retract
from simcli.kernels.articulation.rnea import rnea_backward, rnea_link_forces
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.forces.efforts import efforts
from simcli.kernels.forces.signals import drive
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import any_lane
from simcli.model.constraints.build import constraints_of, drives_by_law
from simcli.model.tables.model import Model
from simcli.solvers.base.gyroscopes import Gyroscopes
from simcli.solvers.base.integrators import H
from simcli.solvers.base.midpoint import (
    MORE_ROUNDS,
    Midpoint,
    find_fast,
    is_fast,
    keep_fast,
    move_again,
    move_back,
    move_to_middle,
)
from simcli.solvers.tree.momenta import return_turns, take_turns_away
from simcli.solvers.tree.stages import solve_tree

_RETURNS = 30  # rounds from the end of a step to where it began, each better by the turn in a step
_MOST_ROUNDS = 40  # of efforts and middles
_CLOSE = 1e-14  # [1] of the efforts of a tree, by which a round may change them


class StepCore(AlgorithmsCore):
    """What steps of first order take, for many states at once.

    Attributes:
        constants: [s], the step of each state; 0 of one that no step has made.
        ends: joint_q where the step ends.  moved: [m/s, rad/s], (NV), what brought it there.
        given: per dof, 1 where others than its efforts act in a step: a law, a motion.
        qdd, known, effort: (NV), accelerations of the step; its smooth efforts; what is found.
        change: [1], of the last round.
    """

    is_maximal = False  # whether steps move single bodies, and rows join them

    def __init__(self, model: Model, arena: Arena):
        super().__init__(model, arena)
        constraints = constraints_of(model)
        self.gyroscopes = Gyroscopes(model, self.tables, arena, [constraints], True, self.is_maximal)
        self.midpoint = Midpoint(model, self.tables, arena, not self.is_maximal, self.gyroscopes.apart)
        self.constants, self.times, self.change = arena.array(1), arena.array(3), arena.array(1)
        self.ends = self.tables.coordinates.array()
        self.moved, self.qdd, self.known, self.effort = self.tables.dofs.arrays(4)
        given = self.tables.ever(lambda m: m.motions.kind[None] != 0)
        given[constraints.laws.dof[constraints.laws.row < 0]] = True
        self.given = self.tables.dofs.ints(given)

    def drives_by_law(self, model: Model) -> np.ndarray:
        """(NV,) where a law gives the effort of a drive."""
        return drives_by_law(model, constraints_of(model).laws)


class MaximalStepCore(StepCore):
    """The same of steps in maximal coordinates; what joints hold there is not known to rounding."""

    is_maximal = True


class StepAlgorithms(Algorithms):
    """`Algorithms` of states that steps of first order have made."""

    core_type = StepCore

    def starts_of_steps(self, joint_q, joint_qd, joint_qdd, step) -> np.ndarray:
        """Joint coordinates from which steps led to others: q (-) h rate.

        Args:
            joint_q, joint_qd: where they end, (N, NQ), (N, NV).
            joint_qdd: (N, NV).
            step: [s], (N, 1).

        Returns:
            (N, NQ); coordinates of loop joints as they are.
        """
        q, qd, qdd, h = self.states(joint_q, joint_qd, joint_qdd, step)
        out = self.results(q, self.model.n_q)
        self.launch(ends_to_starts, len(q), *map(self.given, (q, qd, qdd, h)), out)
        return self.fetch(out, q, self.model.n_q)

    def efforts_of_steps(self, joint_q, joint_qd, joint_qdd, ends, times, free_f, body_f) -> np.ndarray:
        """Joint efforts that steps took: `inverse_dynamics` with what velocities need as the step takes it.

        Args:
            joint_q, joint_qd, joint_qdd: where a step begins, and its accelerations.
            ends: joint_q where it ends, (N, NQ).
            times: [s], (N, 3), of the signals, how far from there they are asked at jumps, and the step; 0 for an instant.
            free_f, body_f: external forces as of `inverse_dynamics`, without and with what loops transmit.
        """
        q, *others = self.states(joint_q, joint_qd, joint_qdd, ends, times)
        out = self.results(q, self.model.n_qd)
        forces = (self.forces(q, one) for one in (free_f, body_f))
        self.launch(steps_to_efforts, len(q), *map(self.given, (q, *others)), *forces, out)
        return self.of_tree(self.fetch(out, q, self.model.n_qd))


class MaximalStepAlgorithms(StepAlgorithms):
    """The same in maximal coordinates."""

    core_type = MaximalStepCore


def algorithms_of(solver: str) -> type[StepAlgorithms]:
    """Those of the steps of first order of a solver."""
    return MaximalStepAlgorithms if solver == "maximal" else StepAlgorithms


@ti.kernel
def ends_to_starts(
    c: ti.template(),
    n_states: ti.i32,
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    qdd: ti.types.ndarray(),
    step: ti.types.ndarray(),
    out: ti.types.ndarray(),
):
    """Where steps began, of many states."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.ends, c.tables.n_q, q)
            take(c, w, block, c.state.qd, c.tables.n_qd, qd)
            take(c, w, block, c.qdd, c.tables.n_qd, qdd)
            take(c, w, block, c.constants, 1, step)
            find_start(c, w)
            give(c, w, block, c.state.q, c.tables.n_q, out)


@ti.func
def find_start(c: ti.template(), w: ti.i32):
    """The coordinates where a step began, which where it ended tells, and what brought it there.

    Reads:  c.{ends, qdd, constants}, c.state.qd
    Writes: c.state.q, c.moved
    """
    h = c.constants.load(w, H)
    copy(c.state.q, c.ends, c.tables.n_q, w)
    copy(c.moved, c.state.qd, c.tables.n_qd, w)
    retract(c.tables, c.ends, c.state.q, c.moved, w, -h)
    if ti.static(c.gyroscopes.n_alone > 0):
        for _ in range(_RETURNS):
            return_turns(c, w)
            retract(c.tables, c.ends, c.state.q, c.moved, w, -h)


@ti.kernel
def steps_to_efforts(
    c: ti.template(),
    n_states: ti.i32,
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    qdd: ti.types.ndarray(),
    ends: ti.types.ndarray(),
    times: ti.types.ndarray(),
    free: ti.types.ndarray(),
    force: ti.types.ndarray(),
    out: ti.types.ndarray(),
):
    """Recursive Newton-Euler of steps of first order, of many states."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            take(c, w, block, c.state.qd, c.tables.n_qd, qd)
            take(c, w, block, c.qdd, c.tables.n_qd, qdd)
            take(c, w, block, c.ends, c.tables.n_q, ends)
            take(c, w, block, c.times, 3, times)
            c.constants.store(w, H, c.times.load(w, 2))
            place_all(c.tables, c.state, w)
            find_efforts(c, w, block, force)
            if ti.static(c.midpoint.n > 0):
                take_middle(c, w, block, free, force)
            take_turns_away(c, w)
            give(c, w, block, c.effort, c.tables.n_qd, out)


@ti.func
def find_efforts(c: ti.template(), w: ti.i32, block: ti.i32, force: ti.template()):
    """Efforts for the accelerations of the step, at the velocities of the state.

    Writes: c.effort, c.state.{qdd, external, a, f}
    """
    copy(c.state.qdd, c.qdd, c.tables.n_qd, w)
    load_body_forces(c, w, block, force)
    rnea_link_forces(c.tables, c.state, w)
    rnea_backward(c.tables, c.state, c.effort, w)


@ti.func
def take_middle(c: ti.template(), w: ti.i32, block: ti.i32, free: ti.template(), force: ti.template()):
    """Efforts of trees that turn far: in turns the middle to which they lead, and what it needs.

    Writes: c.effort
    """
    fast = find_fast(c, w)
    if any_lane(fast):
        keep_fast(c, w)
        _know_efforts(c, w)
        c.change.store(w, 0, ti.select(fast, c.arena.zero() + 1.0, c.arena.zero()))
        for _ in range(_MOST_ROUNDS):
            if any_lane(c.change.load(w, 0) > _CLOSE):
                _find_middle(c, w, block, free)
                copy(c.moved, c.effort, c.tables.n_qd, w)
                find_efforts(c, w, block, force)
                _compare(c, w)
        move_back(c, w)
        place_all(c.tables, c.state, w)


@ti.func
def _know_efforts(c: ti.template(), w: ti.i32):
    """Smooth efforts at the start, and what accelerations take of them.

    Writes: c.{known, state.diagonal}
    """
    if ti.static(c.signals.n_routes > 0):
        drive(c.signals, w, c.times.load(w, 0), c.times.load(w, 1))
    efforts(c.tables, c.forces, c.state, w, c.constants.load(w, H))
    copy(c.known, c.state.tau, c.tables.n_qd, w)


@ti.func
def _find_middle(c: ti.template(), w: ti.i32, block: ti.i32, free: ti.template()):
    """Velocities of the middle of the step, from those where it begins, as a step finds them.

    Writes: c.state.{qd, v}
    """
    for d in range(c.tables.n_qd):
        lag = c.state.diagonal.load(w, d) - c.tables.armature.load(w, d)
        pushed = c.effort.load(w, d) + lag * c.qdd.load(w, d)
        if c.given.at(d) != 0:
            pushed = c.known.load(w, d)
        c.state.tau.store(w, d, pushed)
    move_back(c, w)
    place_all(c.tables, c.state, w)
    load_body_forces(c, w, block, free)
    solve_tree(c, w)
    move_to_middle(c, w)
    place_all(c.tables, c.state, w)
    for _ in range(MORE_ROUNDS):
        solve_tree(c, w)
        move_again(c, w)
        place_all(c.tables, c.state, w)


@ti.func
def _compare(c: ti.template(), w: ti.i32):
    """How far the last round has changed the efforts of what turns.

    Writes: c.change
    """
    largest = c.arena.zero()
    size = c.arena.zero()
    for n in range(c.midpoint.n):
        d = c.midpoint.dof.at(n)
        found = c.effort.load(w, d)
        largest = ti.max(largest, ti.abs(found - c.moved.load(w, d)))
        size = ti.max(size, ti.abs(found))
    c.change.store(w, 0, ti.select(is_fast(c, w), largest / ti.max(size, 1e-30), c.arena.zero()))
