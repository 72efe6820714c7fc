"""Rows in natural coordinates as polynomials of second degree, of points and directions that are affine forms.

With x the free coordinates, and affine forms u = k + b . x of them appended to x, every row of the catalogue but the
screw's is

    phi_r = c_r + sum_i b_ri x_i + sum_m w_m x_i(m) x_j(m)

so that its gradient is affine in x and its Hessian constant. A row that makes two points meet has no products at all.
Coordinates that smooth forces act on are functions of such polynomials: the length of a spring is sqrt(2 phi), over
pulleys a sum of such lengths; the turn of a hinge is the angle of a sine and a cosine, a displacement is a polynomial
itself. Affine forms, those of points and directions of bodies, are numbered once per scene.

Source: Garcia de Jalon and Bayo (1994), chapter 2. Deviation: a product of two affine forms is kept as it is, which is
less work than its Hessian in the coordinates.
"""

import itertools
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from simcli import rotations as rot
from simcli.errors import UsageError
from simcli.model.constraints.constraint_tables import Constraints, Form
from simcli.model.joints.elimination import unknown_of_dof
from simcli.model.tables.model import Array, Model

_ROUNDING = 1e-12  # [1] of a vector across the axis of a bar: it is meant to lie along it


@dataclass
class AffineForm:
    """k + sum b_i x_i, with arrays (W|1,) for k and b."""

    constant: Array
    coef: dict[int, Array] = field(default_factory=dict)

    def __add__(self, other: "AffineForm") -> "AffineForm":
        coef = dict(self.coef)
        for i, b in other.coef.items():
            coef[i] = coef[i] + b if i in coef else b
        return AffineForm(self.constant + other.constant, coef)

    def times(self, factor: Array) -> "AffineForm":
        """Multiplied by a constant, (W|1,)."""
        return AffineForm(self.constant * factor, {i: b * factor for i, b in self.coef.items()})

    @property
    def coordinate(self) -> int:
        """The one coordinate that this is, -1 if it is more than that."""
        (i, b), *rest = [*self.coef.items(), (-1, np.zeros(1))][:2]
        bare = i >= 0 and not (rest and rest[0][0] >= 0) and np.all(b == 1.0) and np.all(self.constant == 0.0)
        return i if bare else -1


Vector = list[AffineForm]  # three components, world


class Forms:
    """Gives points and directions of a model as affine forms, and numbers the forms."""

    def __init__(self, model: Model):
        self.model, self.unknown = model, unknown_of_dof(model)
        self.n = int(self.unknown.max(initial=-1)) + 1
        self.forms: list[AffineForm] = []
        self.index: dict[int, int] = {}

    def number(self, link: int, block: int, k: int) -> AffineForm:
        """Component k of the position (block 0) or of a vector of a link."""
        links = self.model.links
        i = int(self.unknown[links.qd_start[link] + 3 * block + k])
        if i >= 0:
            return AffineForm(np.zeros(1), {i: np.ones(1)})
        return AffineForm(self.model.joint_q[:, links.q_start[link] + 3 * block + k])

    def axes(self, link: int) -> list[Vector | None]:
        """The three columns of a link's rotation; None for those that are no combination of its vectors."""
        count, normal = int(self.model.columns.n_vectors[link]), self.model.plane
        vectors: list[Vector | None] = [[self.number(link, 1 + m, k) for k in range(3)] for m in range(count)]
        if count == 3:
            return vectors
        upright = [constant_vector(np.eye(3)[None, k]) for k in range(3)]
        if count == 0:
            return upright
        if normal < 0:
            return [vectors[0], None, None]
        ahead, behind = (normal + 1) % 3, (normal + 2) % 3
        across = constant_vector(np.zeros((1, 3)))  # n x a
        across[ahead], across[behind] = vectors[0][behind].times(-np.ones(1)), vectors[0][ahead]
        return [vectors[0], across, upright[normal]]

    def direction(self, link: int, components: Array, full: bool = False) -> Vector | None:
        """A vector fixed in a link, by its components (W|1, 3) along the link's axes; None if it is no affine form.

        Args:
            link: index, -1 for the world.
            components: (W|1, 3).
            full: keep the terms of components that are zero, which another phase may change.
        """
        if link < 0:
            return constant_vector(components)
        total = constant_vector(np.zeros((1, 3)))
        size = _ROUNDING * np.abs(components).max()
        for k, axis in enumerate(self.axes(link)):
            if not full and not np.any(components[:, k]):
                continue
            if axis is None:
                if not np.any(np.abs(components[:, k]) > size):
                    continue
                return None
            total = [one + other.times(components[:, k]) for one, other in zip(total, axis, strict=True)]
        return total

    def point(self, link: int, place: Array, full: bool = False) -> Vector | None:
        """A point of a link, from (W|1, 3) in link axes; None if it is no affine form; `full` as of `direction`."""
        arm = self.direction(link, place, full)
        if link < 0 or arm is None:
            return arm
        return [self.number(link, 0, k) + arm[k] for k in range(3)]

    def of(self, one: AffineForm) -> int:
        """Index of a form; the same object has the same index."""
        if one.coordinate >= 0:
            return one.coordinate
        if id(one) not in self.index:
            self.index[id(one)] = self.n + len(self.forms)
            self.forms.append(one)  # which also keeps the object alive, and its id with it
        return self.index[id(one)]


def constant_vector(v: Array) -> Vector:
    """A vector (W|1, 3) that does not move."""
    return [AffineForm(np.asarray(v[:, k], float)) for k in range(3)]


class Shape(IntEnum):
    """What a row is of its polynomial."""

    ITSELF = 0
    LENGTH = 1  # the root of twice the polynomial
    TURN = 2  # the angle whose sine is the polynomial, and whose cosine is that of the partner
    SUM = 3  # of other rows, its polynomial is none


BENT = (Shape.LENGTH, Shape.TURN)  # rows that are functions of their polynomials


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

    def at(self, x: Array) -> tuple[float, Array]:
        """Value and gradient, (n,), of what is no function of it, at coordinates (n,), of one world."""
        value, slope = _form_at(self.affine, x)
        for a, b, weight in self.products:
            (u, du), (v, dv) = _form_at(a, x), _form_at(b, x)
            value, slope = value + float(weight[0]) * u * v, slope + weight[0] * (u * dv + v * du)
        return value, slope


def _form_at(form: AffineForm, x: Array) -> tuple[float, Array]:
    slope = np.zeros(len(x))
    for i, b in form.coef.items():
        slope[i] = b[0]
    return float(form.constant[0] + slope @ x), slope


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


def expand_holding(forms: Forms, constraints: Constraints, holds: Array) -> list[Polynomial]:
    """Rows that hold rigidly, in the order of the tables.

    Args:
        forms: of the model.
        constraints: of it.
        holds: (R,) bool, which.

    Raises:
        UsageError: one of them is no polynomial of second degree.
    """
    rows, table, pairs = [], constraints.rows, constraints.anchor_pairs
    pair_of = np.searchsorted(pairs.row_start, np.arange(table.n), "right") - 1
    for r in np.flatnonzero(holds).tolist():
        row: Polynomial | None = None
        if r < pairs.row_start[-1]:
            p = int(pair_of[r])
            gap, ends = _gap_of(forms, pairs, p)
            row = None if gap is None or table.form[r] == Form.LENGTH else anchor_pair_row(forms, table, r, gap, ends)
        elif table.form[r] != Form.GEAR:
            row = _rigid_row(forms, table, r)
        if row is None:
            raise UsageError(f"the constraint `{table.label[r]}` is no polynomial of second degree in natural coordinates")
        rows.append(row)
    return rows


def expand_rows(forms: Forms, constraints: Constraints) -> list[Polynomial] | None:
    """All rows, in the order of the tables; None if one of them is no such polynomial, and no such function of one."""
    anchor_pairs, table = constraints.anchor_pairs, constraints.rows
    rows: list[Polynomial] = []
    for p in range(len(anchor_pairs.joint)):
        gap, ends = _gap_of(forms, anchor_pairs, p)
        if gap is None:
            return None
        for r in range(anchor_pairs.row_start[p], anchor_pairs.row_start[p + 1]):
            expand = anchor_pair_row if table.is_hard[r] and table.dof[r] < 0 else _coordinate
            row = expand(forms, table, r, gap, ends)
            if row is None:
                return None
            rows.append(row)
    for r in range(len(rows), table.n):
        if table.form[r] == Form.GEAR:
            parts = tuple(table.term_row[table.term_start[r] : table.term_start[r + 1]].tolist())
            touches = frozenset().union(*(rows[part].coordinates for part in parts))
            rows.append(Polynomial(AffineForm(np.zeros(1)), [], Shape.SUM, None, touches, parts))
            continue
        rows.append(_rigid_row(forms, table, r))
    return rows


def _gap_of(forms: Forms, pairs, p: int) -> tuple[Vector | None, list[int]]:
    """From anchor a of pair p to anchor b, None if that is no affine form, and their links."""
    ends = [int(pairs.link_a[p]), int(pairs.link_b[p])]
    x_a, x_b = (forms.point(link, place[:, p]) for link, place in zip(ends, (pairs.point_a, pairs.point_b), strict=True))
    if x_a is None or x_b is None:
        return None, ends
    return [b + a.times(-np.ones(1)) for a, b in zip(x_a, x_b, strict=True)], ends


def _rigid_row(forms: Forms, table, r: int) -> Polynomial:
    """Of two vectors of a body."""
    link_of = {int(first): k for k, first in enumerate(forms.model.links.qd_start)}
    one, other = (_vector_at(forms, link_of, int(first[r])) for first in (table.vector_a, table.vector_b))
    row = product(one, other, np.ones(1))
    row.affine = row.affine + AffineForm(-table.constant[:, r])
    return row


def _vector_at(forms: Forms, link_of: dict[int, int], first: int) -> Vector:
    """The vector of a link whose first velocity is given."""
    start = max(s for s in link_of if s <= first)
    return [forms.number(link_of[start], (first - start) // 3, k) for k in range(3)]


def anchor_pair_row(forms: Forms, table, r: int, gap: Vector, ends: list[int]) -> Polynomial | None:
    """One row between two links; None if it is no polynomial of second degree."""
    form, constant = table.form[r], table.constant[:, r]
    if form == Form.APART:
        row = product(gap, gap, 0.5 / constant)
        row.affine = row.affine + AffineForm(-0.5 * constant)
        return row
    if form not in (Form.MEET, Form.ALONG, Form.DOT):
        return None
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
        return anchor_pair_row(forms, table, r, gap, ends)
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
