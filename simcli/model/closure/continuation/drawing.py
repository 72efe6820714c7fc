"""The drawing, closed, what is held there, and whether branches meet there: the same for all worlds that are drawn alike."""

import numpy as np

from simcli.model.closure.close import OPEN_LOOP
from simcli.model.closure.continuation.held import Wishes, chosen, counted, generic
from simcli.model.closure.continuation.newton import Closer
from simcli.model.closure.postures import Configuration
from simcli.model.tables import Array

_CORRECTIONS = 60  # of an open drawing; a gap of singular dofs is halved by each


def drawn(closer: Closer, wishes: Wishes, writes: Array, q: Array, angle: Array, goal: Array,
          todo: Array) -> tuple[Array, ...]:  # fmt: skip
    """The drawing, closed by the least motion if it is open; prescribed coordinates of rows are as drawn.

    Args:
        closer: of the problem.
        wishes: of the same; of other worlds as well.
        writes: (G,) bool, groups of which something is written.
        q: [m, rad, 1], (W, NQ), where it begins.
        angle: [rad], (W, R), likewise.
        goal: (W, R), as of `LoopProblem`.
        todo: (W, G) bool, groups that are asked for.

    Returns:
        q and angle of the drawing, and of a posture beside it; (W, R) prescribed coordinates there; (W, G) bool, whether it
        is closed; (W, NV) bool, what is held.
    """
    rows, tree = closer.problem.constraints.rows, np.broadcast_to(closer.problem.is_tree, closer.problem.qd.shape)
    start, from_drawing = Configuration(q, angle), todo & writes
    are_prescribed = (rows.dof >= 0) & closer.problem.tells_place & closer.spread(from_drawing, closer.group_of_row)
    first_goal = np.where(are_prescribed, closer.look(start, goal).gaps.residual, goal)
    may = tree & ~(wishes.prescribed & ~closer.spread(from_drawing, closer.group_of_dof))
    found, seen, _ = closer.close(start, first_goal, may, todo, 0.0, _CORRECTIONS, is_least=True)
    gap = seen.gap
    for evenly in (True, False):
        again = todo & (gap > OPEN_LOOP)
        if again.any():
            there, seen, _ = closer.close(start, first_goal, may, again, 0.0, _CORRECTIONS, evenly)
            better = again & (seen.gap < gap)
            found, gap = closer.taken(found, there, better), np.where(better, seen.gap, gap)
    is_drawn = todo & (gap <= OPEN_LOOP)
    beside = generic(closer, found, first_goal, tree, is_drawn)
    held = chosen(closer, wishes, closer.look(beside, first_goal), todo)
    return found.q, found.angle, beside.q, beside.angle, first_goal, is_drawn, held


def branches_meet(closer: Closer, q: Array, angle: Array, q_beside: Array, angle_beside: Array, goal: Array,
            held: Array) -> tuple[Array]:  # fmt: skip
    """Whether branches meet at a drawing, which has more freedoms than what is beside it, (W, G) bool.

    Args:
        closer: of the problem.
        q: [m, rad, 1], (W, NQ), of the drawing.
        angle: [rad], (W, R), likewise.
        q_beside: beside it.
        angle_beside: likewise.
        goal: (W, R), prescribed coordinates of rows there.
        held: (W, NV) bool.
    """
    here, beside = (closer.look(Configuration(*one), goal) for one in ((q, angle), (q_beside, angle_beside)))
    found, free = np.zeros((closer.problem.lead, len(closer.groups)), bool), ~held & closer.problem.is_tree
    for g in range(len(closer.groups)):
        more, some = (counted(closer, seen, g, free)[0] for seen in (here, beside))
        found[:, g] = more > some
    return (found,)
