"""Rows in natural coordinates as polynomials of second degree, expanded once per scene.

With x the free coordinates, and affine forms u = k + b . x of them appended to x, every row of the catalogue but the
screw's is

    phi_r = c_r + sum_i b_ri x_i + sum_m w_m x_i(m) x_j(m)

so that its gradient is affine in x and its Hessian constant. A row that makes two points meet has no products at all.

Source: reference/natural-coordinates.md A.6, F.6. Deviation: a product of two affine forms is kept as it is, which is less
work than its Hessian in the coordinates.
"""

from dataclasses import dataclass, field

import numpy as np

from simcli.model.constraint_tables import Constraints, Form
from simcli.model.table_base import Table
from simcli.model.tables import Array, Model

QUADRATIC = (Form.MEET, Form.APART, Form.ALONG, Form.DOT, Form.RIGID)


@dataclass(frozen=True)
class Quadratic(Table):
    """The polynomials of all rows, as flat lists.

    Coordinates i are numbered as the unknowns; forms follow them from n on. Starts are offsets of length count + 1.

    Attributes:
        n: free coordinates.
        form_start, form_at, form_coef, form_constant: terms b_i x_i and constant k of each form.
        constant: (W|1, R), c.
        linear_start, linear_at, linear_coef: terms b_ri x_i of each row.
        product_start, product_i, product_j, product_weight: terms w x_i x_j of each row.
        entry_start, entry_at: coordinates that each row's gradient touches.
        entry_coef: (W|1, E), constant part of each entry of the gradients.
        curved: entries that are not constant.  term_start, term_at, term_coef: their terms b x_i.
    """

    n: int
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


@dataclass
class Affine:
    """k + sum b_i x_i, with arrays (W|1,) for k and b."""

    constant: Array
    coef: dict[int, Array] = field(default_factory=dict)

    def __add__(self, other: "Affine") -> "Affine":
        coef = dict(self.coef)
        for i, b in other.coef.items():
            coef[i] = coef[i] + b if i in coef else b
        return Affine(self.constant + other.constant, coef)

    def times(self, factor: Array) -> "Affine":
        """Multiplied by a constant, (W|1,)."""
        return Affine(self.constant * factor, {i: b * factor for i, b in self.coef.items()})

    @property
    def coordinate(self) -> int:
        """The one coordinate that this is, -1 if it is more than that."""
        (i, b), *rest = [*self.coef.items(), (-1, np.zeros(1))][:2]
        bare = i >= 0 and not (rest and rest[0][0] >= 0) and np.all(b == 1.0) and np.all(self.constant == 0.0)
        return i if bare else -1


Vector = list[Affine]  # three components, world


class Expansion:
    """Expands rows one by one.

    Args:
        model: in natural form.
        unknown: (NV,) number of each velocity among the unknowns, -1 for those that are none.

    Attributes:
        n: unknowns.  forms: affine forms that products need.
    """

    def __init__(self, model: Model, unknown: Array):
        self.model, self.unknown = model, unknown
        self.n = int(unknown.max(initial=-1)) + 1
        self.forms: list[Affine] = []
        self.index: dict[int, int] = {}

    def number(self, link: int, block: int, k: int) -> Affine:
        """Component k of the position (block 0) or of a vector of a link."""
        links = self.model.links
        i = int(self.unknown[links.qd_start[link] + 3 * block + k])
        if i >= 0:
            return Affine(np.zeros(1), {i: np.ones(1)})
        return Affine(self.model.joint_q[:, links.q_start[link] + 3 * block + k])

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
        for k, axis in enumerate(self.axes(link)):
            if not full and not np.any(components[:, k]):
                continue
            if axis is None:
                return None
            total = [one + other.times(components[:, k]) for one, other in zip(total, axis, strict=True)]
        return total

    def point(self, link: int, place: Array, full: bool = False) -> Vector | None:
        """A point of a link, from (W|1, 3) in link axes; None if it is no affine form; `full` as of `direction`."""
        arm = self.direction(link, place, full)
        if link < 0 or arm is None:
            return arm
        return [self.number(link, 0, k) + arm[k] for k in range(3)]

    def of(self, one: Affine) -> int:
        """Index of a form; the same object has the same index."""
        if one.coordinate >= 0:
            return one.coordinate
        if id(one) not in self.index:
            self.index[id(one)] = self.n + len(self.forms)
            self.forms.append(one)  # which also keeps the object alive, and its id with it
        return self.index[id(one)]


@dataclass
class Polynomial:
    """One row: an affine part and products of two forms with a weight (W|1,).

    Attributes:
        affine, products: the parts.
        touches: coordinates that have an entry in its gradient whether or not it depends on them.
    """

    affine: Affine
    products: list[tuple[Affine, Affine, Array]] = field(default_factory=list)
    touches: frozenset[int] = frozenset()

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
                for i, x in one.coef.items():
                    for j, y in other.coef.items():
                        if i >= j:
                            found[i, j] = found.get((i, j), np.zeros(1)) + weight * x * y
        return found


def constant_vector(v: Array) -> Vector:
    """A vector (W|1, 3) that does not move."""
    return [Affine(np.asarray(v[:, k], float)) for k in range(3)]


def product(a: Vector, b: Vector, weight: Array) -> Polynomial:
    """Weight a . b, what is constant multiplied out."""
    row = Polynomial(Affine(np.zeros(1)))
    for one, other in zip(a, b, strict=True):
        if not one.coef:
            row.affine = row.affine + other.times(one.constant * weight)
        elif not other.coef:
            row.affine = row.affine + one.times(other.constant * weight)
        else:
            row.products.append((one, other, weight))
    return row


def quadratic_of(model: Model, constraints: Constraints, unknown: Array) -> Quadratic | None:
    """The rows of a model in natural coordinates as polynomials.

    Args:
        model: in natural form.
        constraints: its rows.
        unknown: (NV,) number of each velocity among the unknowns, -1 for those that are none.

    Returns:
        The tables, or None if one of the rows is no polynomial of second degree.
    """
    builder = Expansion(model, unknown)
    if not np.isin(constraints.rows.form, QUADRATIC).all():
        return None
    rows = expand(builder, constraints)
    return None if rows is None else flat_tables(builder, rows)


def expand(builder: Expansion, constraints: Constraints) -> list[Polynomial] | None:
    """The rows of a model one by one; None if one is no polynomial of second degree."""
    couples, table = constraints.couples, constraints.rows
    rows: list[Polynomial] = []
    for p in range(len(couples.joint)):
        ends = couples.link_a[p], couples.link_b[p]
        x_a, x_b = (builder.point(int(link), place[:, p]) for link, place in zip(
            ends, (couples.point_a, couples.point_b), strict=True))  # fmt: skip
        if x_a is None or x_b is None:
            return None
        gap = [b + a.times(-np.ones(1)) for a, b in zip(x_a, x_b, strict=True)]
        for r in range(couples.row_start[p], couples.row_start[p + 1]):
            row = couple_row(builder, table, r, gap, [int(link) for link in ends])
            if row is None:
                return None
            rows.append(row)
    for r in range(len(rows), table.n):
        link_of = {int(first): k for k, first in enumerate(builder.model.links.qd_start)}
        one, other = (vector_at(builder, link_of, int(first[r])) for first in (table.follower, table.leader))
        row = product(one, other, np.ones(1))
        row.affine = row.affine + Affine(-table.constant[:, r])
        rows.append(row)
    return rows


def vector_at(builder: Expansion, link_of: dict[int, int], first: int) -> Vector:
    """The vector of a link whose first velocity is given."""
    start = max(s for s in link_of if s <= first)
    return [builder.number(link_of[start], (first - start) // 3, k) for k in range(3)]


def couple_row(builder: Expansion, table, r: int, gap: Vector, ends: list[int]) -> Polynomial | None:
    """One row between two links."""
    form, constant = table.form[r], table.constant[:, r]
    if form == Form.APART:
        row = product(gap, gap, 0.5 / constant)
        row.affine = row.affine + Affine(-0.5 * constant)
        return row
    d_a = builder.direction(ends[0] if form != Form.MEET else -1, table.on_a[:, r])
    other = builder.direction(ends[1], table.on_b[:, r]) if form == Form.DOT else gap
    if d_a is None or other is None:
        return None
    row = product(d_a, other, np.ones(1))
    row.affine = row.affine + Affine(-constant)
    return row


def flat_tables(builder: Expansion, rows: list[Polynomial]) -> Quadratic:
    """Rows as flat lists, with the forms that they need."""
    entries = [_gradient(builder, row) for row in rows]
    products = [[(builder.of(a), builder.of(b), w) for a, b, w in row.products] for row in rows]
    flat = [entry for row in entries for entry in row]
    curved = [e for e, entry in enumerate(flat) if entry[2]]
    terms = [list(flat[e][2].items()) for e in curved]
    forms = [list(form.coef.items()) for form in builder.forms]
    linear = [[(i, b) for i, b in row.affine.coef.items() if np.any(b)] for row in rows]
    return Quadratic(
        n=builder.n,
        form_start=_starts(forms), form_at=_at(forms, 0), form_coef=_columns(forms, 1),
        form_constant=_stack([form.constant for form in builder.forms]),
        constant=_stack([row.affine.constant for row in rows]),
        linear_start=_starts(linear), linear_at=_at(linear, 0), linear_coef=_columns(linear, 1),
        product_start=_starts(products), product_i=_at(products, 0), product_j=_at(products, 1),
        product_weight=_columns(products, 2),
        entry_start=_starts(entries), entry_at=_at(entries, 0), entry_coef=_columns(entries, 1),
        curved=np.array(curved, int), term_start=_starts(terms), term_at=_at(terms, 0), term_coef=_columns(terms, 1),
    )  # fmt: skip


def _gradient(builder: Expansion, row: Polynomial) -> list[tuple[int, Array, dict[int, Array]]]:
    """Coordinate, constant part and terms of each entry of a row's gradient, by rising coordinate."""
    constant = {i: b for i, b in row.affine.coef.items() if np.any(b)}
    terms: dict[int, dict[int, Array]] = {}
    for a, b, weight in row.products:
        for one, other in ((a, b), (b, a)):
            for i, coef in one.coef.items():
                mine, at = terms.setdefault(i, {}), builder.of(other)
                mine[at] = mine[at] + coef * weight if at in mine else coef * weight
    return [(i, constant.get(i, np.zeros(1)), terms.get(i, {})) for i in sorted({*constant, *terms, *row.touches})]


def _starts(lists: list[list]) -> Array:
    return np.concatenate(([0], np.cumsum([len(one) for one in lists]))).astype(int)


def _at(lists: list[list], k: int) -> Array:
    return np.array([item[k] for one in lists for item in one], int)


def _columns(lists: list[list], k: int) -> Array:
    return _stack([item[k] for one in lists for item in one])


def _stack(columns: list[Array]) -> Array:
    """(W|1, n) of n arrays (W|1,)."""
    worlds = max((len(column) for column in columns), default=1)
    columns = [np.broadcast_to(column, worlds) for column in columns]
    return np.stack(columns, axis=1) if columns else np.zeros((1, 0))
