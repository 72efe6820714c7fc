"""Which coordinates a loop holds at their values, out of those that are written: as many as it has degrees of freedom.

In this order: prescribed, named (by who runs the scene, by `--set`, by the batch of the file), driven, then as in the
file. What is written beyond is a hint, which chooses between branches. Freedoms are counted beside the drawing, since
links that lie in one line hide some. The drawing, closed, what is held there, and whether branches meet there, are the
same for all worlds that are drawn alike.
"""

from dataclasses import dataclass, replace

import numpy as np

from simcli import rotations as rot
from simcli.model.closure.chart import moved
from simcli.model.closure.loop_problem import OPEN_LOOP, LoopProblem
from simcli.model.closure.newton import Closer
from simcli.model.closure.postures import Configuration, Probe
from simcli.model.closure.spans import null_projection, span_of
from simcli.model.tables.model import Array, DriveMode, LinkKind
from simcli.model.tables.signal_tables import MotionKind
from simcli.model.tables.start_tables import AsDrawn
from simcli.spec.base.nodes import Rank

WHOLE_TURN = 2.0 * np.pi
_ASIDE = (0.1, -0.1, 0.03, -0.03)  # [rad, or lengths of the loop] from the drawing to where freedoms are counted
_RANK = 1e-6  # directions of rows of length one that are shorter than this part of the longest are none
_MOVES = 1e-5  # of a direction of length one: coordinates that change by less along it do not choose it
_CORRECTIONS = 15


@dataclass(frozen=True)
class WrittenValues:
    """What is asked of the coordinates of a problem.

    Attributes:
        q: [m, rad, 1], (W, NQ), as written; where nothing is written as drawn.
        drawn: [m, rad, 1], (W, NQ).
        units: dofs that are held together, in the order in which they are.
        given: (NV,) bool, what is written.  prescribed: (NV,) bool, what is prescribed.  is_written: (NV,) bool, either of
        them.
        stays: (NV,) bool, what is held where it is, if there is freedom for it, and is no hint.
        turns: (NV,) bool, angles whose full turns change no pose.
    """

    q: Array
    drawn: Array
    units: list[list[int]]
    given: Array
    is_written: Array
    prescribed: Array
    stays: Array
    turns: Array

    @staticmethod
    def of(problem: LoopProblem) -> "WrittenValues":
        """Those of a model's scene."""
        model, dofs = problem.model, problem.model.dofs
        drawing = model.drawing or AsDrawn(model.joint_q, np.zeros(model.n_qd, int), np.zeros(model.n_qd, bool))
        prescribed = problem.is_prescribed & problem.is_tree
        written, stays = (dofs.q_given | prescribed) & problem.is_tree, drawing.stays & problem.is_tree
        by_rate = prescribed & (model.motions.kind == MotionKind.VELOCITY) & ~dofs.q_given
        drawn = np.broadcast_to(np.nan_to_num(drawing.q), problem.q.shape).copy()
        own = problem.meter.q_of_dof[by_rate]
        drawn[:, own] = problem.q[:, own]  # nothing says another place
        is_driven = dofs.drive_mode != DriveMode.NONE
        named = Rank.RUN + 1 - drawing.named  # the highest rank first
        rank = np.select(
            [prescribed, (drawing.named > 0) & written, written & is_driven, written],
            [0, named, Rank.RUN + 1, Rank.RUN + 2],
            Rank.RUN + 3,
        )
        return WrittenValues(
            problem.q.copy(),
            drawn,
            _units(problem, written | stays, rank),
            dofs.q_given & problem.is_tree,
            written,
            prescribed,
            stays & ~written,
            _turns(problem),
        )

    def hints(self, held: Array) -> Array:
        """What is written and not held, (W, NV) bool."""
        return self.is_written & ~held

    def of_worlds(self, worlds: Array, lead: int) -> "WrittenValues":
        """Those of some worlds alone."""
        if lead == 1:
            return self
        return replace(self, q=self.q[worlds], drawn=self.drawn[worlds])


def _units(problem: LoopProblem, asked: Array, rank: Array) -> list[list[int]]:
    links, found = problem.model.links, []
    for k in range(problem.model.n_links):
        first = int(links.qd_start[k])
        dofs = [d for d in range(first, first + int(links.n_qd[k])) if asked[d]]
        if dofs:
            found.append(dofs)
    return sorted(found, key=lambda dofs: (min(rank[dofs].tolist()), dofs))


def _turns(problem: LoopProblem) -> Array:
    links, found = problem.model.links, np.zeros(problem.model.n_qd, bool)
    for k in range(problem.model.n_links):
        if links.kind[k] == LinkKind.HELIX and links.turn[k] != 0.0 and not links.advance[:, k].any():
            found[int(links.qd_start[k])] = True
    geared = {d for terms in problem.entries.geared.values() for d, is_row, _ in terms if not is_row}
    found[sorted(geared)] = False
    return found


def displacement(closer: Closer, before: Array, after: Array) -> Array:
    """[m, rad], (W, NV), the move along the dofs from coordinates to others, both (W, NQ): see `chart.moved`."""
    links = closer.problem.model.links
    found = np.zeros((len(before), closer.problem.model.n_qd), order="F")
    for k in range(closer.problem.model.n_links):
        d, n, at = int(links.qd_start[k]), int(links.n_qd[k]), int(links.q_start[k])
        if links.kind[k] == LinkKind.HELIX:
            found[:, d] = after[:, at] - before[:, at]
        elif n:
            is_free = int(links.kind[k] == LinkKind.FREE)
            place = at + 3 * is_free
            old, new = before[:, place : place + 4], after[:, place : place + 4]
            turn = rot.quat_multiply(new, rot.quat_inverse(old))
            found[:, d + 3 * is_free : d + n], _ = rot.rotation_log(np.where(turn[:, 3:] < 0.0, -turn, turn))
            if is_free:
                com = links.com[:, k]
                shift = rot.quat_rotate(new, com) - rot.quat_rotate(old, com)
                found[:, d : d + 3] = after[:, at : at + 3] - before[:, at : at + 3] + shift
    return found


def wrapped(turns: Array, change: Array) -> Array:
    """Displacements without full turns where these change no pose, (W, NV)."""
    return np.where(turns, change - WHOLE_TURN * np.round(change / WHOLE_TURN), change)


def counted(closer: Closer, probe: Probe, g: int, free: Array | None = None) -> tuple[Array, Array]:
    """How many directions the rows of a group leave, (W,), and the projection on them, (W, n, n).

    Lengths are counted in lengths of the loop, and rows are as long as each other.

    Args:
        closer: of the problem.
        probe: at a posture.
        g: the group.
        free: (W, NV) bool, dofs that may move; None for all.
    """
    dofs = closer.groups[g][1]
    J = closer.gradients(probe, g) * np.where(closer.is_length[dofs], closer.reach[:, g, None], 1.0)[:, None]
    J = np.nan_to_num(J if free is None else J * free[:, None, dofs], posinf=0.0, neginf=0.0)
    length = np.sqrt(np.square(J).max(axis=2))
    J = J / np.where(length > 0.0, length, 1.0)[..., None]
    span = span_of(J, _RANK)
    n_free = len(dofs) if free is None else free[:, dofs].sum(axis=1)
    return n_free - span.counts.sum(axis=1), null_projection(span)


def generic(closer: Closer, start: Configuration, goal: Array, free: Array, wanted: Array) -> Configuration:
    """A closed posture near another one, at which no links lie in one line by chance.

    Args:
        closer: of the problem.
        start: closed.
        goal: (W, R), as of `LoopProblem`.
        free: (W, NV) bool, what may move.
        wanted: (W, G) bool, groups that are asked for.
    """
    probe, away = closer.probe(start, goal), np.zeros((closer.problem.lead, closer.problem.model.n_qd), order="F")
    for g, (_, dofs) in enumerate(closer.groups):
        if wanted[:, g].any():
            _, P = counted(closer, probe, g, free)
            uneven = 1.0 + np.modf(np.arange(1, len(dofs) + 1) * 0.6180339887498949)[0]  # along no direction of a scene
            along = np.zeros((closer.problem.lead, len(dofs)), order="F")
            for k in range(len(dofs)):
                along += P[:, :, k] * uneven[k]
            away[:, dofs] = along * np.where(closer.is_length[dofs], closer.reach[:, g, None], 1.0) * free[:, dofs]
    size, found, todo = np.maximum(closer.sizes(away), 1e-300), start, wanted.copy()
    for share in _ASIDE:
        if not todo.any():
            break
        step = away * closer.spread(share / size * todo, closer.group_of_dof)
        there = Configuration(moved(closer.problem.model.links, start.q, step), start.angle)
        there, seen, _ = closer.close(there, goal, free, todo, OPEN_LOOP, _CORRECTIONS)
        good = todo & (seen.gap <= OPEN_LOOP)
        found, todo = closer.taken(found, there, good), todo & ~good
    return found


def chosen(closer: Closer, written: WrittenValues, probe: Probe, wanted: Array, barred: Array | None = None) -> Array:
    """What is held, (W, NV) bool: in the order of the units, as long as rows and what is held leave them a choice.

    Args:
        closer: of the problem.
        written: of the same.
        probe: where freedoms are counted.
        wanted: (W, G) bool, groups that are asked for.
        barred: (W, NV) bool, what is not to be held.
    """
    held = np.zeros((closer.problem.lead, closer.problem.model.n_qd), bool)
    held[:, written.prescribed] = True
    for g, (_, dofs) in enumerate(closer.groups):
        if not wanted[:, g].any():
            continue
        P, place = counted(closer, probe, g)[1], {d: n for n, d in enumerate(dofs.tolist())}
        for unit in written.units:
            if unit[0] not in place:
                continue
            rest, good = P, wanted[:, g] & (True if barred is None else ~barred[:, unit].any(axis=1))
            for d in unit:
                n = place[d]
                own = rest[:, n, n]
                good &= own > _MOVES**2
                column = rest[:, :, n] / np.sqrt(np.where(own > _MOVES**2, own, 1.0))[:, None]
                rest = rest - column[:, :, None] * column[:, None, :]
            P = np.where(good[:, None, None], rest, P)
            held[:, unit] |= good[:, None]
    return held


def put(problem: LoopProblem, q: Array, other: Array, chosen: Array) -> Array:
    """Coordinates with those of some dofs, (W, NV) bool, out of others, (W, NQ)."""
    links, found = problem.model.links, q.copy()
    for k in range(problem.model.n_links):
        d, at, n = int(links.qd_start[k]), int(links.q_start[k]), int(links.n_qd[k])
        if n:
            own = slice(at, at + n + int(n > 1))  # of several dofs the last four coordinates are a quaternion
            found[:, own] = np.where(chosen[:, d : d + 1], other[:, own], found[:, own])
    return found


_DRAWING_CORRECTIONS = 60  # of an open drawing; a gap of singular dofs is halved by each


def drawn(
    closer: Closer, written: WrittenValues, writes: Array, q: Array, angle: Array, goal: Array, todo: Array
) -> tuple[Array, ...]:
    """The drawing, closed by the least motion if it is open; prescribed coordinates of rows are as drawn.

    Args:
        closer: of the problem.
        written: of the same; of other worlds as well.
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
    first_goal = np.where(are_prescribed, closer.probe(start, goal).gaps.residual, goal)
    may = tree & ~(written.prescribed & ~closer.spread(from_drawing, closer.group_of_dof))
    found, seen, _ = closer.close(start, first_goal, may, todo, 0.0, _DRAWING_CORRECTIONS, is_least=True)
    gap = seen.gap
    for evenly in (True, False):
        again = todo & (gap > OPEN_LOOP)
        if again.any():
            there, seen, _ = closer.close(start, first_goal, may, again, 0.0, _DRAWING_CORRECTIONS, evenly)
            better = again & (seen.gap < gap)
            found, gap = closer.taken(found, there, better), np.where(better, seen.gap, gap)
    is_drawn = todo & (gap <= OPEN_LOOP)
    beside = generic(closer, found, first_goal, tree, is_drawn)
    held = chosen(closer, written, closer.probe(beside, first_goal), todo)
    return found.q, found.angle, beside.q, beside.angle, first_goal, is_drawn, held


def branches_meet(
    closer: Closer, q: Array, angle: Array, q_beside: Array, angle_beside: Array, goal: Array, held: Array
) -> tuple[Array]:
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
    here, beside = (closer.probe(Configuration(*one), goal) for one in ((q, angle), (q_beside, angle_beside)))
    found, free = np.zeros((closer.problem.lead, len(closer.groups)), bool), ~held & closer.problem.is_tree
    for g in range(len(closer.groups)):
        more, some = (counted(closer, seen, g, free)[0] for seen in (here, beside))
        found[:, g] = more > some
    return (found,)
