"""Inverse kinematics on the device: coordinates whose bodies are nearest to targets, from many starts at once.

Levenberg and Marquardt's method on E (targets.py) within the bounds of the coordinates (target_steps.py), and with the rows
of the mechanism (target_energy.py). Its matrix is that of Gauss and Newton, with the curvature where steps gain little. A
search may have three parts:

- free: turning joints pass their limits, which would be walls between a start and what it could reach; then they are
  brought back by whole turns;
- with a posture: preferred coordinates count until nothing moves any more;
- without it: what it held back of targets that can be reached is made up, and taken only if it reaches them.

Each problem is a world: its numbers are the same among all others and alone.

Source: Marquardt (1963), the damping of Nielsen (1999). Deviation: bounds by an active set; curvature; the parts.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simcli.kernels.algorithms import Algorithms
from simcli.kernels.algorithms_core import AlgorithmsCore, blocks_of_slot, give, take
from simcli.kernels.articulation.kinematics import place_all
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.runtime import Device
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.rows.constrained_system import System
from simcli.kernels.target_energy import (
    FACTS,
    ROW_GAP,
    bounds_of_rows,
    follow_multipliers,
    linearize_search,
    measure_kept_rows,
)
from simcli.kernels.target_steps import HUGE_ENERGY, bring_back, find_step, hold_bounds, is_flat, try_step
from simcli.kernels.targets import GOAL, Targets, put
from simcli.model.constraints.build import constraints_of
from simcli.model.tables.model import Model

_REACHED, _NEAREST, _NOT_CONVERGED = 0, 1, 2
_CLOSED = 1e-10  # [m, rad], what may stay open of a row
FIRST_DAMPING, MOST_DAMPING = 1e-1, 1e14
_SHARE = 1e-2  # of the tolerance: where the search ends, so that what it finds is well within it
_STATUS, _COUNT = 4, 5  # places among the facts
REGISTERS = (
    *("cost", "scale", "damping", "growth", "gain", "count", "going", "ended", "roams", "posed", "let_go"),
    *("curved", "flat", "settled", "moved", "bad"),
)


@dataclass(frozen=True)
class Layout:
    """What is searched.

    Attributes:
        body: (T,), body of each target.
        dofs: (n,) index into joint_qd of each unknown, from the root outwards.
        lower, upper: [m, rad], (W|1, n), bounds of the unknowns, infinite where there are none.
        turns: (n,) bool: unknowns that may turn freely.
        rows: (R,) bool: rows of the mechanism that see unknowns; the others idle.
        most: iterations.
        tolerance: [m, rad], within which a target is reached.
    """

    body: np.ndarray
    dofs: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    turns: np.ndarray
    rows: np.ndarray
    most: int
    tolerance: tuple[float, float]


class SearchCore(AlgorithmsCore):
    """Tables, state and results of `TargetSearch`.

    Attributes:
        best, kept: coordinates: the best so far; where the posture was let go.
        posture, posture_weight: preferred coordinates, and weights u of the dofs.
        held: -1, 1: an unknown that stays at its lower, upper bound; else 0.
        step, move: of unknowns, and of all dofs.  solution: scratch of these.  factor: of the damped matrix.
        multiplier: l of rows.  row_lower, row_upper, row_near: bounds, and the angle near which a row is.
        facts, kept_facts: FACTS numbers, of c.best and of c.kept.
        turns: 1 of an unknown that may turn freely.
        REGISTERS: one number each: E, the size of its matrix, damping and its growth, what a step gains by the model,
            iterations; marks (0, 1): a search goes on; a part of it has ended; it turns freely, counts its posture, has let
            it go, counts curvature; nothing gains any more; steps gain little; the last one was taken; the matrix was not
            positive.
    """

    def __init__(self, model: Model, arena: Arena, layout: Layout):
        super().__init__(model, arena)
        t = self.tables
        constraints = constraints_of(model)
        self.system = System(constraints, model, t, arena, False)
        self.n_rows = constraints.rows.n if layout.rows.any() else 0
        self.targets = g = Targets(model, t, arena, layout.body, layout.dofs)
        self.n_unknowns = n = g.n_unknowns
        self.lower, self.upper = g.unknowns.column(layout.lower), g.unknowns.column(layout.upper)
        self.turns = g.unknowns.ints(layout.turns)
        self.step, self.held, self.solution = g.unknowns.arrays(3)
        self.factor = arena.array(n * (n + 1) // 2)
        self.best, self.kept, self.posture = t.coordinates.arrays(3)
        self.move, self.posture_weight = t.dofs.array(), t.dofs.array()
        rows = self.system.rows.items
        self.multiplier = rows.array()
        lower, upper, near = bounds_of_rows(model, constraints, layout.rows)
        self.row_lower, self.row_upper, self.row_near = (rows.column(a) for a in (lower, upper, near))
        self.facts, self.kept_facts = arena.array(FACTS), arena.array(FACTS)
        for name in REGISTERS:
            setattr(self, name, arena.array(1))


@ti.kernel
def search_targets(
    c: ti.template(),
    n_states: ti.i32,
    limits: ti.types.ndarray(),
    q: ti.types.ndarray(),
    goal: ti.types.ndarray(),
    posture: ti.types.ndarray(),
    weight: ti.types.ndarray(),
    roams: ti.types.ndarray(),
    out_q: ti.types.ndarray(),
    out_facts: ti.types.ndarray(),
):
    """Searches of many problems."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            take(c, w, block, c.best, c.tables.n_q, q)
            take(c, w, block, c.targets.goal, GOAL * c.targets.n, goal)
            take(c, w, block, c.posture, c.tables.n_q, posture)
            take(c, w, block, c.posture_weight, c.tables.n_qd, weight)
            take(c, w, block, c.roams, 1, roams)
            search_block(c, w, ti.cast(limits[0], ti.i32), limits[1], limits[2])
            give(c, w, block, c.best, c.tables.n_q, out_q)
            give(c, w, block, c.facts, FACTS, out_facts)


@ti.func
def search_block(c: ti.template(), w: ti.i32, most: ti.i32, near: ti.f64, turned: ti.f64):
    """Search the coordinates of a block of problems, from c.best.

    Reads:  c.{targets.goal, posture, posture_weight}
    Writes: c.{best, facts}
    """
    begin(c, w)
    for n in range(most + 1):
        if any_lane(c.going.load(w, 0) > 0.0):
            place_best(c, w)
            follow_multipliers(c, w)
            linearize_search(c, w)
            judge_search(c, w, near, turned)
            if 2 * n >= most:
                c.ended.store(w, 0, ti.max(c.ended.load(w, 0), c.roams.load(w, 0)))
            if any_lane(next_part(c, w) > 0.0):
                place_best(c, w)
                linearize_search(c, w)
                hold_bounds(c, w)
            if n < most:
                find_step(c, w)
                try_step(c, w)
    conclude_search(c, w, near, turned)


@ti.func
def begin(c: ti.template(), w: ti.i32):
    """Registers where a search begins.

    Reads:  c.posture_weight
    Writes: c.{registers, move, multiplier, state.qd, kept}
    """
    zero = c.arena.zero()
    one = zero + 1.0
    posed = zero
    for d in range(c.tables.n_qd):
        c.move.store(w, d, zero)
        c.state.qd.store(w, d, zero)
        posed = select(c.posture_weight.load(w, d) > 0.0, one, posed)
    for r in range(c.n_rows):
        c.multiplier.store(w, r, zero)
    for i in range(c.tables.n_q):
        c.kept.store(w, i, c.best.load(w, i))
    for k in range(FACTS):
        c.facts.store(w, k, zero)
        c.kept_facts.store(w, k, zero)
    for register in ti.static((c.let_go, c.flat, c.curved, c.settled, c.moved, c.count)):
        register.store(w, 0, zero)
    c.posed.store(w, 0, posed)
    c.going.store(w, 0, one)
    c.damping.store(w, 0, zero + FIRST_DAMPING)
    c.growth.store(w, 0, zero + 2.0)


@ti.func
def place_best(c: ti.template(), w: ti.i32):
    """Put the links where the best coordinates have them, unless they are there since the last step.

    Reads:  c.{best, going, moved}
    Writes: c.{state, system.rows}
    """
    going = c.going.load(w, 0)
    if any_lane(going * (1.0 - c.moved.load(w, 0)) > 0.0):
        for i in range(c.tables.n_q):
            c.state.q.store(w, i, c.best.load(w, i))
        place_all(c.tables, c.state, w)
        measure_kept_rows(c, w)


@ti.func
def judge_search(c: ti.template(), w: ti.i32, near: ti.f64, turned: ti.f64):
    """Where a part of the search is at its end: targets are reached, or nothing gains any more.

    Reads:  c.{facts, targets, cost, damping, best, going, posed}
    Writes: c.{flat, ended, settled, held}
    """
    zero = c.arena.zero()
    one = zero + 1.0
    hold_bounds(c, w)
    closed = select(c.facts.load(w, ROW_GAP) <= _CLOSED, one, zero)
    reached = within_reach(c, w, near * _SHARE, turned * _SHARE) * closed * (1.0 - c.posed.load(w, 0))
    flat = is_flat(c, w)
    settled = c.settled.load(w, 0)
    c.settled.store(w, 0, select(closed > 0.0, settled, ti.max(settled, flat)))
    flat = ti.max(flat * closed, select(c.damping.load(w, 0) > MOST_DAMPING, one, zero))
    put(c.flat, w, c.going.load(w, 0), flat)
    c.ended.store(w, 0, ti.max(flat, reached))


@ti.func
def next_part(c: ti.template(), w: ti.i32):
    """Begin the next part where one has ended, or end; 1 where a part begins.

    Reads:  c.{ended, going, roams, posed, best, facts}
    Writes: c.{going, roams, posed, let_go, kept, kept_facts, best, flat, damping, growth, moved, curved}
    """
    zero = c.arena.zero()
    going = c.going.load(w, 0)
    ended = going * c.ended.load(w, 0)
    back = ended * c.roams.load(w, 0)
    let_go = (ended - back) * c.posed.load(w, 0)
    begins = back + let_go
    c.going.store(w, 0, going - ended + begins)
    if any_lane(back > 0.0):
        bring_back(c, w, back)
    if any_lane(let_go > 0.0):
        for i in range(c.tables.n_q):
            put(c.kept, w, let_go, c.best.load(w, i), i)
        for k in range(FACTS):
            put(c.kept_facts, w, let_go, c.facts.load(w, k), k)
    put(c.roams, w, back, zero)
    put(c.posed, w, let_go, zero)
    put(c.let_go, w, let_go, zero + 1.0)
    for register in ti.static((c.flat, c.moved, c.curved, c.settled)):
        put(register, w, begins, zero)
    put(c.damping, w, begins, zero + FIRST_DAMPING)
    put(c.growth, w, begins, zero + 2.0)
    return begins


@ti.func
def within_reach(c: ti.template(), w: ti.i32, near: ti.f64, turned: ti.f64):
    """1 where all targets are as near as this; 0 where E is no number.

    Reads: c.{facts, cost}
    """
    zero = c.arena.zero()
    found = select(c.facts.load(w, 0) <= near, zero + 1.0, zero)
    found = select(c.cost.load(w, 0) < HUGE_ENERGY, found, zero)
    return select(c.facts.load(w, 1) <= turned, found, zero)


@ti.func
def conclude_search(c: ti.template(), w: ti.i32, near: ti.f64, turned: ti.f64):
    """What came of each search; where letting the posture go did not reach the targets, what was with it.

    Reads:  c.{facts, kept, kept_facts, let_go, flat, count}
    Writes: c.{best, facts}
    """
    zero = c.arena.zero()
    one = zero + 1.0
    reached = within_reach(c, w, near, turned) * select(c.facts.load(w, 2) <= _CLOSED, one, zero)
    back = c.let_go.load(w, 0) * (1.0 - reached)
    for i in range(c.tables.n_q):
        c.best.store(w, i, select(back > 0.0, c.kept.load(w, i), c.best.load(w, i)))
    for k in range(FACTS):
        c.facts.store(w, k, select(back > 0.0, c.kept_facts.load(w, k), c.facts.load(w, k)))
    ended = select(ti.max(c.flat.load(w, 0), back) > 0.0, zero + _NEAREST, zero + _NOT_CONVERGED)
    c.facts.store(w, _STATUS, select(reached > 0.0, zero + _REACHED, ended))
    c.facts.store(w, _COUNT, c.count.load(w, 0))


class TargetSearch(Algorithms):
    """Searches for coordinates, of many problems at once, see `simcli.kernels.target_search`.

    Args:
        model: host tables, as of `Algorithms`.
        device: from `start_device`, in float64.
        n_states: as of `Algorithms`.
        layout: what is searched.
    """

    def __init__(self, model: Model, device: Device, n_states: int, layout: Layout):
        self.layout = layout
        self.core_type = partial(SearchCore, layout=layout)  # type: ignore[assignment]
        super().__init__(model, device, n_states)
        self.core.system.clear()  # type: ignore[attr-defined]

    def search(self, joint_q, goal, posture, weight, roams) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates that are nearest to targets.

        Args:
            joint_q: [m, rad, 1], (N, NQ), where each search begins.
            goal: (N, 14 T), of each target the point of the body (x y z, body frame), its place in the world, weights
                along x y z; the quaternion of the body, and the weight of the turn.
            posture: [m, rad], (N, NQ), preferred coordinates.
            weight: [m, rad], (N, NV), of these.
            roams: (N, 1), 1 for a search that turns freely at first, else 0.

        Returns:
            (N, NQ), and (N, 6): the largest distance [m] and turn [rad] of a target, the largest gap of a row, E, the
            status, and the number of iterations.
        """
        q, *given = self.states(joint_q, goal, posture, weight, roams)
        found, facts = self.results(q, self.model.n_q), self.results(q, FACTS)
        arrays = (self.given(a) for a in (q, *given))
        limits = self.given(np.array([self.layout.most, *self.layout.tolerance], self.device.dtype))
        self.launch(search_targets, len(q), limits, *arrays, found, facts)
        return self.fetch(found, q, self.model.n_q), self.fetch(facts, q, FACTS)
