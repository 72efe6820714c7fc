"""Continuation: coordinates go from a closed posture to other values in steps, and loops are closed at each.

A step is a tangent and Newton corrections with what is held in its place. It is taken if it ends closed, near its tangent,
and with the same orientation of the gradients, which changes where two branches meet; else a shorter one is. So a loop stays
on its branch, and goes straight on where branches cross.
"""

import numpy as np

from simcli.model.closure.chart import moved
from simcli.model.closure.close import OPEN_LOOP, in_worlds
from simcli.model.closure.continuation.newton import Closer, Configuration, Probe
from simcli.model.closure.spans import orientation
from simcli.model.tables import Array

_STRIDE = 0.4  # [rad, or lengths of the loop] of one step at most
_STRAIGHT = 1e-6  # of a tangent: less is the correction of a way that is straight, on which steps may be longer
_NEAR = 0.4  # of a tangent: what corrections may add to it
_GROWTH, _SHRINKAGE = 1.7, 0.37  # of steps; no halves, which would meet the middle of a symmetric way
_LEAST_STRIDE = 3e-5  # [rad, or lengths of the loop] of a step: here the way ends; what is held is far nearer to a fold
_CROSSING = 1e-3  # [rad, or lengths of the loop] of a step on which the orientation changes: two branches cross there
_STEPS, _CORRECTIONS = 2000, 8
_ROUGH = 1e-9  # [m, rad, 1] gaps on the way
_SINGULAR = 1e-12  # [1] of the products of gradients: less is rounding, or dofs that no row sees


def travel(closer: Closer, start: Configuration, goals: tuple[Array, Array], held: Array, change: Array, wanted: Array,
           begun: tuple[Array, Array, Array] | None = None) -> tuple[Configuration, Array]:  # fmt: skip
    """Move what is held, the loops closed.

    Args:
        closer: of the problem.
        start: closed.
        goals: (W, R), prescribed coordinates of rows there, and at the end.
        held: (W, NV) bool, dofs that move as said; the others follow with the least motion.
        change: [m, rad], (W, NV), by how much these move.
        wanted: (W, G) bool, groups that are asked for.
        begun: part of the way that is made already, size of the next step, and what it may grow by, all (W, G).

    Returns:
        The posture where each group ends, closed, and the part of its way that it has made, (W, G), 1 at the end.
    """
    now, change = start.copy(), np.where(held, change, 0.0)
    part, stride = np.where(wanted, 0.0, 1.0), np.full(wanted.shape, _STRIDE)
    part, stride, growth = begun or (part, stride, np.full(wanted.shape, _GROWTH))
    lead, todo = goals[1] - goals[0], wanted.copy()

    def goal_at(s: Array) -> Array:
        return goals[0] + closer.spread(s, closer.group_of_row) * lead

    look = closer.look(now, goal_at(part))
    for _ in range(_STEPS):
        if not todo.any():
            break
        if closer.is_few(todo):
            some = np.flatnonzero(todo.any(axis=1))
            there, made = travel(closer.of_worlds(some), now.of_worlds(some), tuple(in_worlds(one, some) for one in goals), in_worlds(held, some),
                                 *(in_worlds(one, some) for one in (change, todo)),
                                 tuple(in_worlds(one, some) for one in (part, stride, growth)))  # fmt: skip
            part[some] = made
            return now.with_worlds(some, there), part
        x = closer.direction(look, closer.mass(look.chart, todo), ~held, todo, lead, change) + change
        size = closer.sizes(x)
        ahead = np.minimum(1.0 - part, stride / np.maximum(size, 1e-300))
        goal = goal_at(part + ahead * todo)
        there = Configuration(moved(closer.problem.model.links, now.q, x * closer.spread(ahead * todo, closer.group_of_dof)),
                        look.gaps.angle)  # fmt: skip
        length = ahead * size
        near = _NEAR * length + OPEN_LOOP
        there, seen, way = closer.close(there, goal, ~held, todo, _ROUGH, _CORRECTIONS, most=near)
        good = todo & (seen.gap <= OPEN_LOOP) & (way <= near)
        good &= ~is_turned(closer, look, seen, held, good & (length > _CROSSING))
        is_one, now = np.array_equal(good, todo), closer.taken(now, there, good)
        part = np.where(good, np.where(ahead >= 1.0 - part, 1.0, part + ahead), part)
        longer = np.where(way <= _STRAIGHT * length, length * growth, np.minimum(length * growth, _STRIDE))
        stride = np.where(good, longer, np.where(todo, length * _SHRINKAGE, stride))
        growth = np.where(good, _GROWTH, 1.0)  # none after a step that was not taken
        todo &= (part < 1.0) & (stride > _LEAST_STRIDE)
        look = seen if is_one else closer.look(now, goal_at(part))
    return now, part


def is_turned(closer: Closer, before: Probe, after: Probe, held: Array, wanted: Array) -> Array:
    """Whether the gradients along what is free have changed their orientation, (W, G): det(J_before' J_after) < 0.

    Args:
        closer: of the problem.
        before: at a posture.
        after: at another one.
        held: (W, NV) bool.
        wanted: (W, G) bool, groups that are asked for.
    """
    found = np.zeros(wanted.shape, bool)
    for g, (_, dofs) in enumerate(closer.groups):
        worlds = np.flatnonzero(wanted[:, g])
        if not len(worlds):
            continue
        may = ~in_worlds(held[:, dofs], worlds)
        J, K = (in_worlds(closer.gradients(look, g), worlds) * may[:, None] for look in (before, after))
        product = np.zeros((len(worlds), len(dofs), len(dofs)), order="F")
        for r in range(J.shape[1]):
            product += J[:, r, :, None] * K[:, r, None, :]
        product += np.where(may, 0.0, 1.0)[:, None] * np.eye(len(dofs))
        found[worlds, g] = orientation(product, _SINGULAR) < 0.0
    return found
