"""The unknowns of the equations of motion, and symbolic factorisation: order and fill of the systems that give them.

The pattern of a system is that of all worlds and steps. It is a saddle point [[M, J^T], [J, -e]] of a tree's mass matrix
and constraint rows. Nothing is pivoted at run time: M is positive definite, and a row is eliminated only after every
coordinate that it touches, when its pivot is -(J M^-1 J^T + e), which is negative.
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from simcli.model.tables.model import Array, Model


def tree_dofs(model: Model) -> Array:
    """Indices into joint_qd of the dofs of tree joints, in link order, without those that leave a plane.

    Returns:
        (n,) int.
    """
    links = model.links
    ranges = [np.arange(s, s + n) for s, n in zip(links.qd_start, links.n_qd, strict=True)]
    order = np.concatenate(ranges).astype(int) if ranges else np.zeros(0, int)
    return order if model.columns is None else order[model.columns.active[order]]


def unknown_of_dof(model: Model) -> Array:
    """Number of each velocity among the unknowns, (NV,); -1 for those that are none."""
    order, found = tree_dofs(model), np.full(model.n_qd, -1)
    found[order] = np.arange(len(order))
    return found


_Array = np.ndarray


@dataclass(frozen=True)
class Elimination:
    """An L D L^T factorisation on a fixed pattern, as flat index lists.

    Pivots are numbered in the order of elimination. Entry k is the diagonal one of row k; behind those of all rows come the
    entries (k, j), j > k, row by row.

    Attributes:
        order: (n,) unknown that is eliminated at each pivot.
        position: (n,) pivot of each unknown.
        start: (n + 1,) index of the first entry off the diagonal of each row.
        row, column: (nnz,) pivot numbers k and j of each entry.
        update_start: (nnz + 1,) first update of each entry (k, i); those of the diagonal have none.
        update: flat list: entry (k, i) of row k, with the entries (k, j) j >= i of its row in turn, changes these
            entries (i, j).
        place: (n_pairs,) entry that each pair of unknowns of the matrix goes to.
    """

    order: _Array
    position: _Array
    start: _Array
    row: _Array
    column: _Array
    update_start: _Array
    update: _Array
    place: _Array

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return len(self.order)

    @property
    def nnz(self) -> int:
        """Number of entries of the factor, diagonal included."""
        return len(self.column)


def eliminate(n: int, pairs: _Array, late: _Array) -> Elimination:
    """Order the unknowns by least degree and list the work.

    Args:
        n: number of unknowns.
        pairs: (n_pairs, 2) entries of the lower or upper triangle, diagonal included, in any order.
        late: (n,) bool: unknowns that wait until all their neighbours of the other kind are eliminated.

    Returns:
        The factorisation. The last ties are broken by number, so that the order is the same everywhere.
    """
    order, rows = _order(n, pairs, late)
    position = np.empty(n, int)
    position[order] = np.arange(n)
    start, row, column, entry = [n], [*range(n)], [*range(n)], {(k, k): k for k in range(n)}
    for k, unknown in enumerate(order):
        for j in sorted(position[u] for u in rows[unknown]):
            entry[k, int(j)] = len(column)
            row.append(k)
            column.append(int(j))
        start.append(len(column))
    update_start, update = [0] * (n + 1), []  # the diagonal entry changes nothing by itself
    for k in range(n):
        above = column[start[k] : start[k + 1]]
        for m, i in enumerate(above):
            update += [entry[i, j] for j in above[m:]]
            update_start.append(len(update))
    ends = np.sort(position[np.asarray(pairs, int).reshape(-1, 2)], axis=1)
    place = np.array([entry[int(i), int(j)] for i, j in ends], int)
    return Elimination(
        np.array(order, int),
        position,
        np.array(start),
        np.array(row, int),
        np.array(column, int),
        np.array(update_start),
        np.array(update, int),
        place,
    )


def _order(n: int, pairs: _Array, late: _Array) -> tuple[list[int], list[set[int]]]:
    """Least-degree order, and for each unknown those that it is coupled to when its turn comes.

    Of several with as few neighbours comes the one for which the shortest chain of others had to wait: a row of links is
    eliminated from both ends at once, and what does not wait for each other is worked out meanwhile.
    """
    near: list[set[int]] = [set() for _ in range(n)]
    for i, j in np.asarray(pairs, int).reshape(-1, 2).tolist():
        if i != j:
            near[i].add(j)
            near[j].add(i)
    waits = [sum(not late[u] for u in near[i]) if late[i] else 0 for i in range(n)]
    first = [{u for u in near[i] if not late[u]} for i in range(n)]
    alive, order, rows = set(range(n)), [], [set() for _ in range(n)]
    height = [0] * n  # of what waits for each other, below
    queue = [(len(near[u]), 0, u) for u in range(n) if not waits[u]]
    heapify(queue)
    while alive:
        *entered, v = heappop(queue)
        if v not in alive or entered != [len(near[v]), height[v]]:  # it has been entered again since
            continue
        alive.remove(v)
        order.append(v)
        rows[v] = set(near[v])
        for u in near[v]:
            near[u] |= near[v]
            near[u] -= {u, v}
            height[u] = max(height[u], height[v] + 1)
            if late[u] and not late[v] and v in first[u]:
                waits[u] -= 1
            if not waits[u]:
                heappush(queue, (len(near[u]), height[u], u))
    return order, rows
