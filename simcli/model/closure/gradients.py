"""Gradients of constraint rows along the dofs of the tree, from what `gaps` finds at a posture. All worlds at once."""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.closure.chart import Chart
from simcli.model.closure.gaps import Gaps, Meter
from simcli.model.constraints.tables import Form
from simcli.model.tables import Array

_ROUNDED = 64 * np.finfo(float).eps  # of the terms of a gradient: less is what their sum rounds by


@dataclass(frozen=True)
class Entries:
    """Which dofs rows see: those that move one of the two links and not the other.

    Attributes:
        row, dof: (E,) of rows of pairs of anchors.
        on_b: (E,) bool, whether the dof moves B.
        geared: row of a gear to its terms (dof or row, whether it is a row, number of the term).
        seen: (R,) lists of dofs.
    """

    row: Array
    dof: Array
    on_b: Array
    geared: dict[int, list[tuple[int, bool, int]]]
    seen: list[list[int]]


def entries_of(meter: Meter, paths: list[list[int]]) -> Entries:
    """The entries of all rows.

    Args:
        meter: of the model.
        paths: `dof_paths`.
    """
    rows, anchor_pairs = meter.constraints.rows, meter.constraints.anchor_pairs
    found, geared, seen = [], {}, []
    for r in range(rows.n):
        if rows.form[r] == Form.GEAR:
            terms = [(int(rows.term_dof[n]), n) for n in range(*rows.term_start[r : r + 2])]
            places = [(int(meter.row_of_dof[d]), d, n) for d, n in terms]
            geared[r] = [(row, True, n) if row >= 0 else (d, False, n) for row, d, n in places]
            seen.append(sorted({d for at, is_row, _ in geared[r] for d in (seen[at] if is_row else [at])}))
            continue
        a, b = (paths[link[meter.anchor_pair[r]]] for link in (anchor_pairs.link_a, anchor_pairs.link_b))
        both = set(a) & set(b)
        own = [(r, d, False) for d in a if d not in both] + [(r, d, True) for d in b if d not in both]
        found += own
        seen.append([d for _, d, _ in own])
    row, dof, on_b = np.array(found, int).reshape(-1, 3).T
    return Entries(row, dof, on_b.astype(bool), geared, seen)


def gradients(entries: Entries, chart: Chart, gaps: Gaps, rows: Array, dofs: Array) -> Array:
    """Gradients of some rows along some dofs, (W, m, n), 0 where they are rounding.

    A planar loop has rows across its plane that see nothing. Where the plane is oblique they see rounding, and such a row,
    made as long as any other, would ask for a motion.

    Args:
        entries: of all rows.
        chart: of the posture.
        gaps: at it.
        rows: (m,).
        dofs: (n,), of the tree.
    """
    lead = len(gaps.residual)
    if not len(rows) or not len(dofs):
        return np.zeros((lead, len(rows), len(dofs)))
    place = np.full(len(chart.link), -1)
    place[dofs] = np.arange(len(dofs))
    at = {int(r): n for n, r in enumerate(rows)}
    needed = sorted({*at, *(row for r in at for row, is_row, _ in entries.geared.get(r, ()) if is_row)})
    number = np.full(len(entries.seen), -1)
    number[needed] = np.arange(len(needed))
    chosen = np.flatnonzero((number[entries.row] >= 0) & (place[entries.dof] >= 0))
    r, d, on_b = entries.row[chosen], entries.dof[chosen], entries.on_b[chosen]
    anchors = np.concatenate((gaps.at_a, gaps.at_b), axis=1)
    lever = anchors[:, np.where(on_b, r + gaps.at_a.shape[1], r)] - chart.o[:, chart.link[d]]
    angular = chart.angular[:, d]
    velocity = chart.linear[:, d] + rot.cross(angular, lever)
    value = rot.dot(gaps.force[:, r], velocity) + rot.dot(gaps.couple[:, r], angular)
    reach, spins = _size(chart.o)[:, chart.link[d]] + _size(lever), _size(chart.angular)[:, d]
    of_force = _size(gaps.force)[:, r] * (_size(chart.linear)[:, d] + spins * reach)
    terms = of_force + _size(gaps.couple)[:, r] * spins
    value = np.where(np.abs(value) > _ROUNDED * terms, value, 0.0)
    every = np.zeros((lead, len(needed), len(dofs)), order="F")
    every[:, number[r], place[d]] = np.where(on_b, value, -value)
    for gear in sorted(set(at) & set(entries.geared)):
        for where, is_row, term in entries.geared[gear]:
            slope = gaps.slope[:, term]
            if is_row:
                every[:, number[gear]] += slope[:, None] * every[:, number[where]]
            elif place[where] >= 0:
                every[:, number[gear], place[where]] += slope
    return every[:, number[rows]]


def _size(vectors: Array) -> Array:
    """Sum of the sizes of the parts."""
    sizes = np.abs(vectors)
    return sizes[..., 0] + sizes[..., 1] + sizes[..., 2]
