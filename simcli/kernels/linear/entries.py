"""Which entries the constrained system has: mass matrix and rows against the dofs that they see."""

import numpy as np

from simcli.kernels.memory.tables import Tables
from simcli.kernels.rows.tree_rows import first_numbers
from simcli.model.constraints.constraint_tables import Constraints, Form
from simcli.model.constraints.row_places import anchor_pair_of_row, rows_of_terms
from simcli.model.tables.model import Model


def mass_entries(model: Model, tables: Tables) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries of the mass matrix: each dof with itself and the dofs that carry it.

    Returns:
        start: (n_dofs + 1,), with: joint_qd index of the other dof of each entry, pairs: (n, 2) of unknowns.
    """
    links, start, others, pairs = model.links, [0], [], []
    above: list[list[int]] = []
    for i in range(model.n_links):
        chain = list(above[links.parent[i]]) if links.parent[i] >= 0 else []
        for d in own_dofs(model, tables, i):
            chain = [d] if tables.is_natural else [*chain, d]
            others += chain
            pairs += [(tables.unknown_of_dof[d], tables.unknown_of_dof[e]) for e in chain]
            start.append(len(others))
        above.append(chain)
    return np.array(start), np.array(others, int), np.array(pairs, int).reshape(-1, 2)


def own_dofs(model: Model, tables: Tables, link: int) -> list[int]:
    """Indices into joint_qd of the unknowns of a link."""
    first = int(model.links.qd_start[link])
    dofs = range(first, first + int(model.links.n_qd[link]))
    return [d for d in dofs if tables.unknown_of_dof[d] >= 0]


def row_entries(constraints: Constraints, model: Model, tables: Tables):
    """Entries of J: each row with the dofs that move one of its two links and not the other.

    A dof that carries both links moves them as one body, and a row does not see that.

    Returns:
        start: (R + 1,), dof: joint_qd index, side: 0 for the link of A, 1 for that of B, 2 for a term of a gear, 3 where
        its coordinate is a row, 4 for a row of rigidity; other: of that, the number in joint_q that multiplies the dof, of
        terms on rows the entry of that row, else 0; term: of gears; pairs: (n, 2) of unknowns. A dof of several coordinates
        of a gear has as many entries.
    """
    links, rows, anchor_pairs = model.links, constraints.rows, constraints.anchor_pairs
    path: list[list[int]] = []
    for i in range(model.n_links):
        own = own_dofs(model, tables, i)
        path.append((path[links.parent[i]] if links.parent[i] >= 0 else []) + own)
    path.append([])  # the world
    start, dofs, sides, others, terms, pairs = [0], [], [], [], [], []
    first_q, row_of_term = first_numbers(tables), rows_of_terms(rows, tables.n_qd)
    anchor_pair = anchor_pair_of_row(constraints)
    for r in range(rows.n):
        if rows.form[r] == Form.GEAR:
            ends = []
            for n in range(rows.term_start[r], rows.term_start[r + 1]):
                d, row = int(rows.term_dof[n]), int(row_of_term[n])
                ends += [(d, 2, 0, n)] if row < 0 else [(dofs[e], 3, e, n) for e in range(start[row], start[row + 1])]
        elif rows.form[r] == Form.RIGID:
            a, b = int(rows.vector_a[r]), int(rows.vector_b[r])
            ends = [(a + k, 4, first_q[b + k], 0) for k in range(3)]
            ends += [(b + k, 4, first_q[a + k], 0) for k in range(3)] if a != b else []
            ends = [end for end in ends if tables.unknown_of_dof[end[0]] >= 0]
        else:
            a, b = (path[side[anchor_pair[r]]] for side in (anchor_pairs.link_a, anchor_pairs.link_b))
            ends = [(d, 0, 0, 0) for d in a if d not in b] + [(d, 1, 0, 0) for d in b if d not in a]
        for d, side, other, term in ends:
            dofs.append(d)
            sides.append(side)
            others.append(other)
            terms.append(term)
            pairs.append((tables.n_tree_dofs + r, tables.unknown_of_dof[d]))
        start.append(len(dofs))
    lists = (np.array(values, int) for values in (start, dofs, sides, others, terms))
    return *lists, np.array(pairs, int).reshape(-1, 2)
