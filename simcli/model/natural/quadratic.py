"""Rows in natural coordinates as polynomials of second degree, expanded once per scene.

With x the free coordinates, and affine forms u = k + b . x of them appended to x, every row of the catalogue but the
screw's is

    phi_r = c_r + sum_i b_ri x_i + sum_m w_m x_i(m) x_j(m)

so that its gradient is affine in x and its Hessian constant. A row that makes two points meet has no products at all.
Coordinates that smooth forces act on are functions of such polynomials: the length of a spring is sqrt(2 phi), over pulleys
a sum of such lengths; the turn of a hinge is the angle of a sine and a cosine, a displacement is a polynomial itself.

Source: Garcia de Jalon and Bayo (1994), chapter 2. Deviation: a product of two affine forms is kept as it is, which is less
work than its Hessian in the coordinates.
"""

import itertools
from dataclasses import dataclass, field, fields
from enum import IntEnum

import numpy as np

from simcli import rotations as rot
from simcli.model.affine.forms import AffineForm, Forms, Vector
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.tables import Constraints, Form
from simcli.model.natural.frames import frame_columns, pairs_of, stacked_columns
from simcli.model.natural.pushes import Push, pushes_of
from simcli.model.table_base import Table, kept
from simcli.model.tables import Array, Model

QUADRATIC = (Form.MEET, Form.APART, Form.ALONG, Form.DOT, Form.RIGID)  # of hard rows
_SMOOTH = (Form.ALONG, Form.LENGTH, Form.TURN)  # of coordinates
_LED = (Form.ALONG, Form.TURN)  # of these, rows of prescribed motions


class Shape(IntEnum):
    """What a row is of its polynomial."""

    ITSELF = 0
    LENGTH = 1  # the root of twice the polynomial
    TURN = 2  # the angle whose sine is the polynomial, and whose cosine is that of the partner
    SUM = 3  # of other rows, its polynomial is none


BENT = (Shape.LENGTH, Shape.TURN)  # rows that are functions of their polynomials


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


@dataclass
class Polynomial:
    """One row: an affine part and products of two forms with a weight (W|1,).

    Attributes:
        affine, products: the parts.
        shape, partner: see `Quadratic`.
        touches: coordinates that have an entry in its gradient whether or not it depends on them.
        parts: of a SUM, the rows.
    """

    affine: AffineForm
    products: list[tuple[AffineForm, AffineForm, Array]] = field(default_factory=list)
    shape: Shape = Shape.ITSELF
    partner: "Polynomial | None" = None
    touches: frozenset[int] = frozenset()
    parts: tuple[int, ...] = ()

    @property
    def coordinates(self) -> frozenset[int]:
        """Coordinates that it depends on."""
        linear = {i for i, b in self.affine.coef.items() if np.any(b)}
        return frozenset(linear.union(*({*a.coef, *b.coef} for a, b, _ in self.products)))

    def curvature(self) -> dict[tuple[int, int], Array]:
        """Second derivatives by coordinates i >= j, each (W|1,)."""
        found: dict[tuple[int, int], Array] = {}
        for a, b, weight in self.products:
            for one, other in ((a, b), (b, a)):
                for (i, x), (j, y) in itertools.product(one.coef.items(), other.coef.items()):
                    if i >= j:
                        found[i, j] = found.get((i, j), np.zeros(1)) + weight * x * y
        return found


def product(a: Vector, b: Vector, weight: Array) -> Polynomial:
    """Weight a . b, what is constant multiplied out."""
    row = Polynomial(AffineForm(np.zeros(1)))
    for one, other in zip(a, b, strict=True):
        if not one.coef:
            row.affine = row.affine + other.times(one.constant * weight)
        elif not other.coef:
            row.affine = row.affine + one.times(other.constant * weight)
        else:
            row.products.append((one, other, weight))
    return row


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
    rows, pushes, frames = _expand(forms, constraints), pushes_of(forms), frame_columns(forms, pairs_of(model))
    if rows is None or pushes is None or frames is None:
        return None
    return flat_tables(forms, rows, pushes, frames, table.is_hard)


def _expand(forms: Forms, constraints: Constraints) -> list[Polynomial] | None:
    couples, table = constraints.couples, constraints.rows
    rows: list[Polynomial] = []
    for p in range(len(couples.joint)):
        ends = couples.link_a[p], couples.link_b[p]
        x_a, x_b = (forms.point(int(link), place[:, p]) for link, place in zip(
            ends, (couples.point_a, couples.point_b), strict=True))  # fmt: skip
        if x_a is None or x_b is None:
            return None
        gap = [b + a.times(-np.ones(1)) for a, b in zip(x_a, x_b, strict=True)]
        for r in range(couples.row_start[p], couples.row_start[p + 1]):
            expand = couple_row if table.is_hard[r] and table.dof[r] < 0 else _coordinate
            row = expand(forms, table, r, gap, [int(link) for link in ends])
            if row is None:
                return None
            rows.append(row)
    for r in range(len(rows), table.n):
        if table.form[r] == Form.GEAR:
            parts = tuple(table.term_row[table.term_start[r] : table.term_start[r + 1]].tolist())
            touches = frozenset().union(*(rows[part].coordinates for part in parts))
            rows.append(Polynomial(AffineForm(np.zeros(1)), [], Shape.SUM, None, touches, parts))
            continue
        link_of = {int(first): k for k, first in enumerate(forms.model.links.qd_start)}
        one, other = (_vector_at(forms, link_of, int(first[r])) for first in (table.vector_a, table.vector_b))
        row = product(one, other, np.ones(1))
        row.affine = row.affine + AffineForm(-table.constant[:, r])
        rows.append(row)
    return rows


def _vector_at(forms: Forms, link_of: dict[int, int], first: int) -> Vector:
    """The vector of a link whose first velocity is given."""
    start = max(s for s in link_of if s <= first)
    return [forms.number(link_of[start], (first - start) // 3, k) for k in range(3)]


def couple_row(forms: Forms, table, r: int, gap: Vector, ends: list[int]) -> Polynomial | None:
    """One row between two links."""
    form, constant = table.form[r], table.constant[:, r]
    if form == Form.APART:
        row = product(gap, gap, 0.5 / constant)
        row.affine = row.affine + AffineForm(-0.5 * constant)
        return row
    d_a = forms.direction(ends[0] if form != Form.MEET else -1, table.on_a[:, r])
    other = forms.direction(ends[1], table.on_b[:, r]) if form == Form.DOT else gap
    if d_a is None or other is None:
        return None
    row = product(d_a, other, np.ones(1))
    row.affine = row.affine + AffineForm(-constant)
    return row


def _coordinate(forms: Forms, table, r: int, gap: Vector, ends: list[int]) -> Polynomial | None:
    """One coordinate: a displacement, a length, or the turn of across_a to on_b about on_a."""
    if table.form[r] == Form.ALONG:
        return couple_row(forms, table, r, gap, ends)
    if table.form[r] == Form.LENGTH:
        row = product(gap, gap, np.full(1, 0.5))
        row.shape = Shape.LENGTH
        return row
    across, on_b = table.across_a[:, r], forms.direction(ends[1], table.on_b[:, r])
    ahead, aside = (forms.direction(ends[0], v) for v in (across, rot.cross(table.on_a[:, r], across)))
    if on_b is None or ahead is None or aside is None:
        return None
    row = product(aside, on_b, np.ones(1))
    row.shape = Shape.TURN
    row.partner = product(ahead, on_b, np.ones(1))
    return row


def flat_tables(forms: Forms, rows: list[Polynomial], pushes: list[Push], frames: dict[str, Array],
                is_hard: Array) -> Quadratic:
    """Rows as flat lists, with the forms that they need; frames as of `frame_columns`."""
    partners = [row.partner for row in rows if row.partner is not None]
    shape, own = np.array([row.shape for row in rows], int), len(rows)
    turns, is_bent = shape == Shape.TURN, np.append(np.isin(shape, BENT), np.ones(len(partners), bool))
    entries = _gradients(forms, rows, partners)
    curves = [[(r, i, j, b) for (i, j), b in sorted(row.curvature().items())] if not turn else []
             for r, (row, turn) in enumerate(zip(rows, turns, strict=True))]  # fmt: skip
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
        n=forms.n, is_hard=is_hard, shape=shape, partner=np.where(turns, own + np.cumsum(turns) - 1, -1),
        form_start=_starts(of_forms), form_at=_at(of_forms, 0), form_coef=_columns(of_forms, 1),
        form_constant=stacked_columns([form.constant for form in forms.forms]),
        constant=stacked_columns([row.affine.constant for row in rows]),
        linear_start=_starts(linear), linear_at=_at(linear, 0), linear_coef=_columns(linear, 1),
        product_start=_starts(products), product_i=_at(products, 0), product_j=_at(products, 1),
        product_weight=_columns(products, 2),
        entry_start=_starts(entries), entry_at=_at(entries, 0), entry_coef=_columns(entries, 1),
        curved=np.array(curved, int), term_start=_starts(terms), term_at=_at(terms, 0), term_coef=_columns(terms, 1),
        bend_row=_at(curves, 0), bend_i=_at(curves, 1), bend_j=_at(curves, 2), bend_weight=_columns(curves, 3),
        push_at=_at([pushes], 0), push_form=_at([pushes], 1), push_component=_at([pushes], 2),
        push_weight=_columns([pushes], 3), **sums, **frames,
    )  # fmt: skip


def _sums(rows: list[Polynomial], entries: list[list[tuple]]) -> dict[str, Array]:
    """The columns of rows that are sums, by the entries of all gradients."""
    chosen, first = [r for r, row in enumerate(rows) if row.shape == Shape.SUM], _starts(entries)
    parts = [list(rows[r].parts) for r in chosen]
    place = [{entry[0]: first[r] + e for e, entry in enumerate(entries[r])} for r in chosen]
    pairs = [(at[entry[0]], first[part] + e) for at, some in zip(place, parts, strict=True) for part in some
             for e, entry in enumerate(entries[part])]  # fmt: skip
    crosses = [(part, first[part] + a, first[part] + b) for some in parts for part in some
               for a in range(len(entries[part])) for b in range(a + 1)]  # fmt: skip
    return {"sum_row": np.array(chosen, int), "part_start": _starts(parts),
            "part": np.array([*itertools.chain(*parts)], int),
            "pair_into": _at([pairs], 0), "pair_from": _at([pairs], 1),
            "cross_row": _at([crosses], 0), "cross_a": _at([crosses], 1), "cross_b": _at([crosses], 2)}  # fmt: skip


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

