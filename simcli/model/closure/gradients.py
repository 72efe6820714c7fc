"""Gradients of constraint rows along the dofs of the tree, from what `gaps` finds at a posture. All worlds at once."""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.closure.chart import Chart
from simcli.model.closure.gaps import Gaps, Meter
from simcli.model.constraints.build import TURNING
from simcli.model.constraints.constraint_tables import Form
from simcli.model.tables.model import Array

_ROUNDED = 64 * np.finfo(float).eps  # of the terms of a gradient: less is what their sum rounds by


@dataclass(frozen=True)
class Entries:
    """Which dofs rows see: those that move one of the two links and not the other.

    Attributes:
        row, dof: (E,) of rows of pairs of anchors.
        on_b: (E,) bool, whether the dof moves B.
        arm: (E,) the first entry whose dof moves the same anchor: rows of a joint act at the same two.
        has_force, has_couple: (E,) bool, whether the row has one.
        geared: row of a gear to its terms (dof or row, whether it is a row, number of the term).
        seen: (R,) lists of dofs.
    """

    row: Array
    dof: Array
    on_b: Array
    arm: Array
    has_force: Array
    has_couple: Array
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
    on_b, form = on_b.astype(bool), rows.form[row]
    anchors = np.stack((meter.anchor_pair[row], ~on_b & (form == Form.MEET), dof))
    _, first, which = np.unique(anchors, axis=1, return_index=True, return_inverse=True)
    turns = np.isin(form, TURNING)
    return Entries(
        row,
        dof,
        on_b,
        first[which.reshape(-1)],
        ~turns,
        turns | np.isin(form, (Form.PITCH, Form.RIM, Form.SLIP)),
        geared,
        seen,
    )


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
    value = _values(entries, chart, gaps, chosen)
    r, d, on_b = entries.row[chosen], entries.dof[chosen], entries.on_b[chosen]
    every = np.zeros((lead, len(needed), len(dofs)), order="F")
    every[:, number[r], place[d]] = value * np.where(on_b, 1.0, -1.0)
    for gear in sorted(set(at) & set(entries.geared)):
        for where, is_row, term in entries.geared[gear]:
            slope = gaps.slope[:, term]
            if is_row:
                every[:, number[gear]] += slope[:, None] * every[:, number[where]]
            elif place[where] >= 0:
                every[:, number[gear], place[where]] += slope
    return every if np.array_equal(needed, rows) else every[:, number[rows]]


def _values(entries: Entries, chart: Chart, gaps: Gaps, chosen: Array) -> Array:
    """F . (v + w x lever) + C . w of some entries, (W, n), 0 where it is rounding of the terms that it is the sum of."""
    value, terms = (np.zeros((len(gaps.residual), len(chosen)), order="F") for _ in range(2))
    acting = np.flatnonzero(entries.has_force[chosen])
    if len(acting):
        arms, which = np.unique(entries.arm[chosen[acting]], return_inverse=True)
        velocity, most = _velocities(entries, chart, gaps, arms)
        force = gaps.force[:, entries.row[chosen[acting]]]
        value[:, acting] = rot.dot(force, velocity[:, which])
        terms[:, acting] = _size(force) * most[:, which]
    acting = np.flatnonzero(entries.has_couple[chosen])
    if len(acting):
        couple, angular = gaps.couple[:, entries.row[chosen[acting]]], chart.angular[:, entries.dof[chosen[acting]]]
        value[:, acting] += rot.dot(couple, angular)
        terms[:, acting] += _size(couple) * _size(angular)
    return np.where(np.abs(value) > _ROUNDED * terms, value, 0.0)


def _velocities(entries: Entries, chart: Chart, gaps: Gaps, chosen: Array) -> tuple[Array, Array]:
    """[1 or m], velocities of the anchors of some entries by their dofs, (W, n, 3), and sizes of their terms, (W, n)."""
    r, d, on_b = entries.row[chosen], entries.dof[chosen], entries.on_b[chosen]
    at = np.where(on_b[:, None], gaps.at_b[:, r], gaps.at_a[:, r])
    lever, linear, angular = at - chart.o[:, chart.link[d]], chart.linear[:, d], chart.angular[:, d]
    reach = _size(chart.o)[:, chart.link[d]] + _size(lever)
    return linear + rot.cross(angular, lever), _size(linear) + _size(angular) * reach


def _size(vectors: Array) -> Array:
    """Sum of the sizes of the parts."""
    sizes = np.abs(vectors)
    return sizes[..., 0] + sizes[..., 1] + sizes[..., 2]
