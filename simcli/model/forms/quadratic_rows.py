"""Tables of rows in natural coordinates that are polynomials of second degree (polynomials.py), flat, made once per scene.

Affine forms u = k + b . x of the free coordinates x are appended to x, so that a product of a row is one of two numbers.
"""

import itertools
from dataclasses import dataclass, fields

import numpy as np

from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import Form
from simcli.model.forms.frame_pairs import Push, frame_columns, pairs_of, pushes_of, stacked_columns
from simcli.model.forms.polynomials import BENT, Forms, Polynomial, Shape, expand_rows
from simcli.model.tables.model import Array, Model
from simcli.model.tables.table_base import Table, kept

QUADRATIC = (Form.MEET, Form.APART, Form.ALONG, Form.DOT, Form.RIGID)  # of hard rows
_SMOOTH = (Form.ALONG, Form.LENGTH, Form.TURN)  # of coordinates
_LED = (Form.ALONG, Form.TURN)  # of these, rows of prescribed motions


@dataclass(frozen=True)
class Quadratic(Table):
    """The polynomials of all rows, and then those of partners, as flat lists.

    Coordinates i are numbered as the unknowns; forms follow them from n on. Starts are offsets of length count + 1.

    Attributes:
        n: free coordinates.
        is_hard: (R,) bool, False for coordinates that forces act on; rows of prescribed motions are hard coordinates.
        shape: (R,) Shape.
        partner: (R,) polynomial of the cosine of a TURN, whose gradient touches the same coordinates; else -1.
        form_start, form_at, form_coef, form_constant: terms b_i x_i and constant k of each form.
        constant: (W|1, R and partners), c.
        linear_start, linear_at, linear_coef: terms b_ri x_i of each row.
        product_start, product_i, product_j, product_weight: terms w x_i x_j of each row.
        entry_start, entry_at: coordinates that each row's gradient touches.
        entry_coef: (W|1, E), constant part of each entry of the gradients.
        curved: entries that are not constant.  term_start, term_at, term_coef: their terms b x_i.
        bend_row, bend_i, bend_j, bend_weight: second derivatives of the polynomials of rows by coordinates i >= j; none of a
            TURN.
        push_at, push_form, push_component, push_weight: terms of wrenches, see `Push`.
        sum_row: (S) rows that are sums.  part_start, part: their parts.  pair_into, pair_from: entries of the gradients of
            sums, and of their parts that add to them.
        cross_row, cross_a, cross_b: pairs of entries of the gradients of parts.
        site_start, site, share_start, share_number, share_coef, frame_constant: pairs of frames, see `frame_columns`.
    """

    n: int
    is_hard: Array
    shape: Array
    partner: Array
    form_start: Array
    form_at: Array
    form_coef: Array
    form_constant: Array
    constant: Array
    linear_start: Array
    linear_at: Array
    linear_coef: Array
    product_start: Array
    product_i: Array
    product_j: Array
    product_weight: Array
    entry_start: Array
    entry_at: Array
    entry_coef: Array
    curved: Array
    term_start: Array
    term_at: Array
    term_coef: Array
    bend_row: Array
    bend_i: Array
    bend_j: Array
    bend_weight: Array
    push_at: Array
    push_form: Array
    push_component: Array
    push_weight: Array
    sum_row: Array
    part_start: Array
    part: Array
    pair_into: Array
    pair_from: Array
    cross_row: Array
    cross_a: Array
    cross_b: Array
    site_start: Array
    site: Array
    share_start: Array
    share_number: Array
    share_coef: Array
    frame_constant: Array

    def is_like(self, other: "Quadratic") -> bool:
        """True if the two differ in numbers alone."""
        pairs = [(getattr(self, one.name), getattr(other, one.name)) for one in fields(self)]
        pairs = [(np.asarray(a), np.asarray(b)) for a, b in pairs]
        return all(a.shape == b.shape and (a.dtype.kind == "f" or np.array_equal(a, b)) for a, b in pairs)


@kept
def quadratic_of(model: Model) -> Quadratic | None:
    """The rows of a model in natural coordinates as polynomials, made once.

    Args:
        model: in natural form.

    Returns:
        The tables, or None if one of the rows is no polynomial of second degree, or no such function of one, or the point
        of a wrench or a frame of a bushing, cable or drag no affine form.
    """
    forms, constraints = Forms(model), constraints_of(model)
    table = constraints.rows
    is_smooth = np.isin(table.form, _SMOOTH) | ((table.form == Form.GEAR) & (table.spring >= 0))
    is_rigid = np.where(table.dof >= 0, np.isin(table.form, _LED), np.isin(table.form, QUADRATIC))
    if not np.where(table.is_hard, is_rigid, is_smooth).all():
        return None
    rows, pushes, frames = expand_rows(forms, constraints), pushes_of(forms), frame_columns(forms, pairs_of(model))
    if rows is None or pushes is None or frames is None:
        return None
    return flat_tables(forms, rows, pushes, frames, table.is_hard)


def flat_tables(
    forms: Forms, rows: list[Polynomial], pushes: list[Push], frames: dict[str, Array], is_hard: Array
) -> Quadratic:
    """Rows as flat lists, with the forms that they need; frames as of `frame_columns`."""
    partners = [row.partner for row in rows if row.partner is not None]
    shape, own = np.array([row.shape for row in rows], int), len(rows)
    turns, is_bent = shape == Shape.TURN, np.append(np.isin(shape, BENT), np.ones(len(partners), bool))
    entries = _gradients(forms, rows, partners)
    curves = [
        [(r, i, j, b) for (i, j), b in sorted(row.curvature().items())] if not turn else []
        for r, (row, turn) in enumerate(zip(rows, turns, strict=True))
    ]
    sums = _sums(rows, entries)
    rows = rows + partners
    products = [[(forms.of(a), forms.of(b), w) for a, b, w in row.products] for row in rows]
    flat = [entry for row in entries for entry in row]
    bends = np.repeat(is_bent, [len(row) for row in entries])
    curved = [e for e, entry in enumerate(flat) if entry[2] or bends[e]]
    terms = [list(flat[e][2].items()) for e in curved]
    of_forms = [list(form.coef.items()) for form in forms.forms]
    linear = [[(i, b) for i, b in row.affine.coef.items() if np.any(b)] for row in rows]
    return Quadratic(
        n=forms.n,
        is_hard=is_hard,
        shape=shape,
        partner=np.where(turns, own + np.cumsum(turns) - 1, -1),
        form_start=_starts(of_forms),
        form_at=_at(of_forms, 0),
        form_coef=_columns(of_forms, 1),
        form_constant=stacked_columns([form.constant for form in forms.forms]),
        constant=stacked_columns([row.affine.constant for row in rows]),
        linear_start=_starts(linear),
        linear_at=_at(linear, 0),
        linear_coef=_columns(linear, 1),
        product_start=_starts(products),
        product_i=_at(products, 0),
        product_j=_at(products, 1),
        product_weight=_columns(products, 2),
        entry_start=_starts(entries),
        entry_at=_at(entries, 0),
        entry_coef=_columns(entries, 1),
        curved=np.array(curved, int),
        term_start=_starts(terms),
        term_at=_at(terms, 0),
        term_coef=_columns(terms, 1),
        bend_row=_at(curves, 0),
        bend_i=_at(curves, 1),
        bend_j=_at(curves, 2),
        bend_weight=_columns(curves, 3),
        push_at=_at([pushes], 0),
        push_form=_at([pushes], 1),
        push_component=_at([pushes], 2),
        push_weight=_columns([pushes], 3),
        **sums,
        **frames,
    )


def _sums(rows: list[Polynomial], entries: list[list[tuple]]) -> dict[str, Array]:
    """The columns of rows that are sums, by the entries of all gradients."""
    chosen, first = [r for r, row in enumerate(rows) if row.shape == Shape.SUM], _starts(entries)
    parts = [list(rows[r].parts) for r in chosen]
    place = [{entry[0]: first[r] + e for e, entry in enumerate(entries[r])} for r in chosen]
    pairs = [
        (at[entry[0]], first[part] + e)
        for at, some in zip(place, parts, strict=True)
        for part in some
        for e, entry in enumerate(entries[part])
    ]
    crosses = [
        (part, first[part] + a, first[part] + b)
        for some in parts
        for part in some
        for a in range(len(entries[part]))
        for b in range(a + 1)
    ]
    return {
        "sum_row": np.array(chosen, int),
        "part_start": _starts(parts),
        "part": np.array([*itertools.chain(*parts)], int),
        "pair_into": _at([pairs], 0),
        "pair_from": _at([pairs], 1),
        "cross_row": _at([crosses], 0),
        "cross_a": _at([crosses], 1),
        "cross_b": _at([crosses], 2),
    }


def _gradients(forms: Forms, rows: list[Polynomial], partners: list[Polynomial]) -> list[list[tuple]]:
    """Entries of all gradients; those of a row and of its partner have the same coordinates."""
    entries = [_gradient(forms, row) for row in rows]
    beside = [_gradient(forms, row) for row in partners]
    for k, r in enumerate(r for r, row in enumerate(rows) if row.partner is not None):
        at = sorted({entry[0] for entry in entries[r] + beside[k]})
        for group, place in ((entries, r), (beside, k)):
            found = {entry[0]: entry for entry in group[place]}
            group[place] = [found.get(i, (i, np.zeros(1), {})) for i in at]
    return entries + beside


def _gradient(forms: Forms, row: Polynomial) -> list[tuple[int, Array, dict[int, Array]]]:
    """Coordinate, constant part and terms of each entry of a row's gradient, by rising coordinate."""
    constant = {i: b for i, b in row.affine.coef.items() if np.any(b)}
    terms: dict[int, dict[int, Array]] = {}
    for a, b, weight in row.products:
        for one, other in ((a, b), (b, a)):
            for i, coef in one.coef.items():
                mine, at = terms.setdefault(i, {}), forms.of(other)
                mine[at] = mine[at] + coef * weight if at in mine else coef * weight
    return [(i, constant.get(i, np.zeros(1)), terms.get(i, {})) for i in sorted({*constant, *terms, *row.touches})]


def _starts(lists: list[list]) -> Array:
    return np.concatenate(([0], np.cumsum([len(one) for one in lists]))).astype(int)


def _at(lists: list[list], k: int) -> Array:
    return np.array([item[k] for one in lists for item in one], int)


def _columns(lists: list[list], k: int) -> Array:
    return stacked_columns([item[k] for one in lists for item in one])
