"""Rows in natural coordinates from their polynomials (model/forms/quadratic_rows.py).

There is no pose, no twist and no branch here: flat lists of terms that all worlds share, and numbers of each world.
Coordinates that forces act on are rows, too; forces make them soft, e = 1 / gain (solvers/natural/forces.py).
"""

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.pack_arrays import PackArray
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import atan2, nearest_turn, precision_of
from simcli.kernels.rows.forms import TINY_LENGTH
from simcli.model.forms.polynomials import BENT
from simcli.model.forms.quadratic_rows import Quadratic

# [1] of the sizes of its terms: what a row of coordinates far from the origin cannot be told from none.
ROUNDED = {"float64": 0.0, "float32": 1e-7}
IDLE = 1e30  # e of a row on which nothing acts: its multiplier is none in any precision


class Polynomials:
    """Device columns and memory of rows.

    Args:
        rows: the expanded rows.
        tables, arena: see `Tables`.
        angle: (R) of all rows, over full turns; only turns need it.

    Attributes:
        n, n_forms, n_rows, n_polynomials: numbers of free coordinates, of forms, of rows, and of these with partners.
        n_bent: rows that are no polynomials: lengths and turns.  own, other: (n_bent) what their gradients have of the
            polynomial and of the partner.  has_soft: whether some rows are coordinates.  n_sums, n_pairs: see `Quadratic`.
        x, v: (n + n_forms) coordinates and velocities, each followed by the forms of it.  next_x: at the end of a step.
        gradient: (entries) of the rows.  residual: (polynomials).  rate: (R).
    """

    _data_oriented = True

    def __init__(self, rows: Quadratic, tables: Tables, arena: Arena, angle: PackArray | None = None):
        self.n, self.n_forms, self.n_rows = rows.n, len(rows.form_start) - 1, len(rows.is_hard)
        self.n_polynomials, self.angle = rows.constant.shape[1], angle
        self.items, self.unknowns = arena.records(self.n_rows), arena.records(self.n)
        forms, polynomials = arena.records(self.n + self.n_forms), arena.records(self.n_polynomials)
        self.n_entries, self.n_curved = len(rows.entry_at), len(rows.curved)
        self.n_own_entries = int(rows.entry_start[self.n_rows])
        bent = np.flatnonzero(np.isin(rows.shape, BENT))
        self.n_bent, lengths = len(bent), arena.records(len(bent))
        self.bent, self.partner = lengths.ints(bent), lengths.ints(rows.partner[bent])
        self.own, self.other = lengths.array(), lengths.array()
        self.n_sums, self.n_pairs = len(rows.sum_row), len(rows.pair_into)
        for name in ("sum_row", "part_start", "part", "pair_into", "pair_from"):
            setattr(self, name, arena.ints(getattr(rows, name)))
        self.is_hard = polynomials.ints(np.append(rows.is_hard, np.zeros(self.n_polynomials - self.n_rows, bool)))
        self.has_soft = not rows.is_hard.all()
        for name in (
            "form_start",
            "form_at",
            "linear_start",
            "linear_at",
            "product_start",
            "product_i",
            "product_j",
            "entry_start",
            "entry_at",
            "curved",
            "term_start",
            "term_at",
        ):
            setattr(self, name, arena.ints(getattr(rows, name)))
        for name in ("form_coef", "form_constant", "constant", "linear_coef", "product_weight", "entry_coef", "term_coef"):
            setattr(self, name, tables.column(getattr(rows, name)))
        self.order = np.argsort(np.where(tables.unknown_of_dof < 0, tables.n_qd, tables.unknown_of_dof))[: self.n]
        self.q_at, self.qd_at = self.unknowns.ints(natural_numbers(tables)[self.order]), self.unknowns.ints(self.order)
        self.x, self.next_x, self.v = forms.arrays(3)
        self.gradient = arena.array(self.n_entries)
        self.residual, self.rate = polynomials.array(), self.items.array()


def natural_numbers(tables: Tables) -> np.ndarray:
    """Index into joint_q of each velocity of a model in natural form, (NV,)."""
    index, links = np.full(tables.n_qd, -1), tables.model.links
    for q, d, n in zip(links.q_start, links.qd_start, links.n_qd, strict=True):
        index[d : d + n] = q + np.arange(n)
    return index


@ti.func
def take_state(f: ti.template(), s: ti.template(), w: ti.i32):
    """Coordinates and velocities from the state.

    Reads:  s.{q, qd}
    Writes: f.{x, v}
    """
    for i in range(f.n):
        f.x.store(w, i, s.q.load(w, f.q_at.at(i)))
        f.v.store(w, i, s.qd.load(w, f.qd_at.at(i)))


@ti.func
def give_state(f: ti.template(), s: ti.template(), w: ti.i32):
    """Coordinates and velocities to the state.

    Reads:  f.{x, v}
    Writes: s.{q, qd}
    """
    for i in range(f.n):
        s.q.store(w, f.q_at.at(i), f.x.load(w, i))
        s.qd.store(w, f.qd_at.at(i), f.v.load(w, i))


@ti.func
def extend(f: ti.template(), x: ti.template(), w: ti.i32, constant: ti.template()):
    """Forms of coordinates (constant 1.0), or of velocities (0.0), behind them.

    Reads and writes: x, an array as f.x
    """
    for k in range(f.n_forms):
        u = f.gradient.arena.zero() + f.form_constant.load(w, k) * constant
        for m in range(f.form_start.at(k), f.form_start.at(k + 1)):
            u = u + f.form_coef.load(w, m) * x.load(w, f.form_at.at(m))
        x.store(w, f.n + k, u)


@ti.func
def find_residuals(f: ti.template(), x: ti.template(), w: ti.i32):
    """Phi of all rows at extended coordinates x; returns the largest of hard ones, less what rounding may make of it.

    Writes: f.residual
    """
    worst = f.gradient.arena.zero()
    for r in range(f.n_polynomials):
        phi = f.gradient.arena.zero() + f.constant.load(w, r)
        size = ti.abs(phi)
        for m in range(f.linear_start.at(r), f.linear_start.at(r + 1)):
            term = f.linear_coef.load(w, m) * x.load(w, f.linear_at.at(m))
            phi = phi + term
            size = size + size_of(term)
        for m in range(f.product_start.at(r), f.product_start.at(r + 1)):
            term = f.product_weight.load(w, m) * x.load(w, f.product_i.at(m)) * x.load(w, f.product_j.at(m))
            phi = phi + term
            size = size + size_of(term)
        f.residual.store(w, r, phi)
        violation = ti.abs(phi) - size * ti.static(ROUNDED[precision_of()])
        if ti.static(f.has_soft):
            if f.is_hard.at(r) != 0:
                worst = ti.max(worst, violation)
        else:
            worst = ti.max(worst, violation)
    if ti.static(f.n_bent > 0):
        find_coordinates(f, w)
    if ti.static(f.n_sums > 0):
        find_sums(f, w)
    return worst


def size_of(term):
    """What a term adds to the size of a sum by which its rounding is judged; in float64 none comes near a tolerance."""
    return ti.abs(term) if ROUNDED[precision_of()] else 0.0


@ti.func
def find_coordinates(f: ti.template(), w: ti.i32):
    """Lengths and turns in place of their polynomials, and how they change with these.

        L = sqrt(2 phi), dL = d phi / L;   t = angle(c, s), dt = (c ds - s dc) / (c^2 + s^2)

    Writes: f.{residual, own, other, angle}
    """
    for k in range(f.n_bent):
        r = f.bent.at(k)
        partner = f.partner.at(k)
        phi = f.residual.load(w, r)
        if partner >= 0:
            cosine = f.residual.load(w, partner)
            square = phi * phi + cosine * cosine
            angle = nearest_turn(atan2(phi, cosine), f.angle.load(w, r))
            f.angle.store(w, r, angle)
            f.residual.store(w, r, angle)
            f.own.store(w, k, cosine / square)
            f.other.store(w, k, -phi / square)
        else:
            length = ti.sqrt(ti.max(phi * 2.0, phi * 0.0))
            f.residual.store(w, r, length)
            f.own.store(w, k, 1.0 / ti.max(length, TINY_LENGTH))
            f.other.store(w, k, f.gradient.arena.zero())


@ti.func
def find_sums(f: ti.template(), w: ti.i32):
    """Rows that are sums of other ones, after these.

    Writes: f.residual
    """
    for k in range(f.n_sums):
        total = f.gradient.arena.zero()
        for m in range(f.part_start.at(k), f.part_start.at(k + 1)):
            total = total + f.residual.load(w, f.part.at(m))
        f.residual.store(w, f.sum_row.at(k), total)


@ti.func
def sum_gradients(f: ti.template(), w: ti.i32):
    """Gradients of rows that are sums.

    Writes: f.gradient
    """
    for k in range(f.n_sums):
        for e in range(f.entry_start.at(f.sum_row.at(k)), f.entry_start.at(f.sum_row.at(k) + 1)):
            f.gradient.store(w, e, f.gradient.arena.zero())
    for m in range(f.n_pairs):
        e = f.pair_into.at(m)
        f.gradient.store(w, e, f.gradient.load(w, e) + f.gradient.load(w, f.pair_from.at(m)))


@ti.func
def start_gradients(f: ti.template(), w: ti.i32):
    """The constant parts of the gradients, which only `bend_gradients` changes.

    Writes: f.gradient
    """
    for e in range(f.n_entries):
        f.gradient.store(w, e, f.gradient.arena.zero() + f.entry_coef.load(w, e))


@ti.func
def bend_gradients(f: ti.template(), x: ti.template(), w: ti.i32):
    """Gradients at extended coordinates x, of which `find_residuals` knows already.

    Reads:  f.{own, other}
    Writes: f.gradient, where it is not constant
    """
    for k in range(f.n_curved):
        e = f.curved.at(k)
        value = f.gradient.arena.zero() + f.entry_coef.load(w, e)
        for m in range(f.term_start.at(k), f.term_start.at(k + 1)):
            value = value + f.term_coef.load(w, m) * x.load(w, f.term_at.at(m))
        f.gradient.store(w, e, value)
    for k in range(f.n_bent):
        r = f.bent.at(k)
        own = f.own.load(w, k)
        first = f.entry_start.at(r)
        beside = f.entry_start.at(ti.max(f.partner.at(k), 0)) - first
        for e in range(first, f.entry_start.at(r + 1)):
            value = f.gradient.load(w, e) * own
            if f.partner.at(k) >= 0:
                value = value + f.gradient.load(w, e + beside) * f.other.load(w, k)
            f.gradient.store(w, e, value)
    if ti.static(f.n_sums > 0):
        sum_gradients(f, w)


@ti.func
def find_rates(f: ti.template(), w: ti.i32):
    """G v.

    Reads:  f.{gradient, v}
    Writes: f.rate
    """
    for r in range(f.n_rows):
        rate = f.gradient.arena.zero()
        for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
            rate = rate + f.gradient.load(w, e) * f.v.load(w, f.entry_at.at(e))
        f.rate.store(w, r, rate)


@ti.func
def bias(f: ti.template(), v: ti.template(), w: ti.i32, r: ti.i32):
    """v^T H v of row r, from extended velocities v, an array as f.v."""
    total = f.gradient.arena.zero()
    for m in range(f.product_start.at(r), f.product_start.at(r + 1)):
        total = total + f.product_weight.load(w, m) * v.load(w, f.product_i.at(m)) * v.load(w, f.product_j.at(m))
    return total * 2.0


@ti.func
def bend_bias(f: ti.template(), w: ti.i32, k: ti.i32):
    """Acceleration of length or turn k where those of x are none, from extended velocities.

        L'' = (2 phi)'' / 2L - L'^2 / L;   t'' = (c s'' - s c'') / (c^2 + s^2), of a sine and a cosine that stay so

    Reads: f.{v, rate, own, other}
    """
    r = f.bent.at(k)
    own = f.own.load(w, k)
    rate = f.rate.load(w, r)
    total = bias(f, f.v, w, r) * own
    if f.partner.at(k) >= 0:
        total = total + bias(f, f.v, w, f.partner.at(k)) * f.other.load(w, k)
    else:
        total = total - rate * rate * own
    return total
