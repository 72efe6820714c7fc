"""The saddle point of mass and polynomial rows (quadratic.py) in natural coordinates, factorised on a fixed pattern.

    [ M   G^T ] [ a  ]   [ F   ]       G: gradients of the rows; mu = -lambda
    [ G   -e  ] [ mu ] = [ rho ]

e is tiny; solvers/natural/saddle.py:filter_solution takes its effect away again.

Pairs of frames that are affine in the coordinates say how what acts between them stiffens M:

    numbers  u = k + B x: gap, F_a, F_b,    rates  B x',    forces  B^T y,    stiffness  B^T Q B    (forms/frame_pairs.py)

An angular velocity is w = (1/2) sum_k f_k x f_k' over the axes f_k, so that a couple T acts on them as T x f_k / 2.
"""

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.pack_arrays import PackArray
from simcli.kernels.device.sparse_factors import Factor, factorize
from simcli.kernels.language import ti
from simcli.kernels.language.values import Mat3, Vec3
from simcli.kernels.rows.quadratic import Polynomials
from simcli.model.forms.frame_pairs import NUMBERS
from simcli.model.forms.quadratic_rows import Quadratic
from simcli.model.joints.elimination import eliminate
from simcli.model.tables.signal_tables import MotionKind

ENTRIES = NUMBERS * (NUMBERS + 1) // 2  # of Q
_AXES = (3, 12)  # where F_a and F_b begin


class PairedFrames:
    """Columns and memory of pairs.

    Args:
        rows: has them.
        prescribed: (n) bool, of the coordinates.
        tables, arena: see `Tables`.

    Attributes:
        n: pairs.  site_start, site: their coordinates.  share_start, share_number, coef: entries of B by site.
        number, rate, force: (21 each) u, its rates, y.
        pull: (sites) B^T y.  bend: (ENTRIES each) Q, its lower half row by row.
        coupled: (K, 2) coordinates that the stiffness couples.  couple_start, couple_a, couple_b: by pair, their sites.
    """

    _data_oriented = True

    def __init__(self, rows: Quadratic, prescribed: np.ndarray, tables: Tables, arena: Arena):
        self.n, self.arena = len(rows.site_start) - 1, arena
        for name in ("site_start", "site", "share_start", "share_number"):
            setattr(self, name, arena.ints(getattr(rows, name)))
        self.coef, self.constant = tables.column(rows.share_coef), tables.column(rows.frame_constant)
        numbers = arena.records(NUMBERS * self.n)
        self.number, self.rate, self.force = numbers.arrays(3)
        self.pull, self.bend = arena.array(len(rows.site)), arena.array(ENTRIES * self.n)
        pairs = [
            [(a, b) for a in range(*ends) for b in range(ends[0], a + 1) if not prescribed[rows.site[[a, b]]].any()]
            for ends in zip(rows.site_start[:-1], rows.site_start[1:], strict=True)
        ]
        self.couple_start = arena.ints(np.cumsum([0, *map(len, pairs)]))
        a, b = np.array([pair for some in pairs for pair in some], int).reshape(-1, 2).T
        self.couple_a, self.couple_b = arena.ints(a), arena.ints(b)
        self.coupled = np.stack((rows.site[a], rows.site[b]), axis=1)


def gap_in_pair(array, w, p) -> Vec3:
    """The gap of pair p, its rate, or the force along it (inside kernels)."""
    return Vec3(*(array.load(w, NUMBERS * p + k) for k in range(3)))


def axes_in_pair(array, w, p, side) -> Mat3:
    """F_a (side 0) or F_b (1) of pair p, or their rates (inside kernels)."""
    return Mat3(*(array.load(w, NUMBERS * p + _AXES[side] + k) for k in range(9)))


def spin_in_pair(f, w, p, side) -> Vec3:
    """[rad/s], angular velocity of the frame of a side (inside kernels).

    Reads: f.{number, rate}
    """
    axes, change = axes_in_pair(f.number, w, p, side), axes_in_pair(f.rate, w, p, side)
    first, second, third = (axes.column(k).cross(change.column(k)) for k in range(3))
    return (first + second + third) * 0.5


def act_on(f, w, p, along: Vec3, couple_a: Vec3, couple_b: Vec3) -> None:
    """Put y of a force along the gap of pair p, and of a couple on each frame (inside kernels).

    Writes: f.force
    """
    for k in range(3):
        f.force.store(w, NUMBERS * p + k, along.parts[k])
    for side, couple in enumerate((couple_a, couple_b)):
        axes = axes_in_pair(f.number, w, p, side)
        pulls = [(couple * 0.5).cross(axes.column(k)) for k in range(3)]
        for k in range(9):
            f.force.store(w, NUMBERS * p + _AXES[side] + k, pulls[k % 3].parts[k // 3])


@ti.func
def find_frames(f: ti.template(), x: ti.template(), v: ti.template(), w: ti.i32):
    """Numbers and rates of all pairs at coordinates x and velocities v.

    Writes: f.{number, rate}
    """
    for p in range(f.n):
        for i in range(NUMBERS * p, NUMBERS * (p + 1)):
            f.number.store(w, i, f.arena.zero() + f.constant.load(w, i))
            f.rate.store(w, i, f.arena.zero())
        for s in range(f.site_start.at(p), f.site_start.at(p + 1)):
            place = x.load(w, f.site.at(s))
            speed = v.load(w, f.site.at(s))
            for e in range(f.share_start.at(s), f.share_start.at(s + 1)):
                i = NUMBERS * p + f.share_number.at(e)
                f.number.store(w, i, f.number.load(w, i) + f.coef.load(w, e) * place)
                f.rate.store(w, i, f.rate.load(w, i) + f.coef.load(w, e) * speed)


@ti.func
def pull_sites(f: ti.template(), w: ti.i32, p: ti.i32):
    """B^T y of pair p.

    Reads:  f.force
    Writes: f.pull
    """
    for s in range(f.site_start.at(p), f.site_start.at(p + 1)):
        total = f.arena.zero()
        for e in range(f.share_start.at(s), f.share_start.at(s + 1)):
            total = total + f.coef.load(w, e) * f.force.load(w, NUMBERS * p + f.share_number.at(e))
        f.pull.store(w, s, total)


@ti.func
def forget_bends(f: ti.template(), w: ti.i32):
    """No stiffness.

    Writes: f.bend
    """
    for e in range(ENTRIES * f.n):
        f.bend.store(w, e, f.arena.zero())


@ti.func
def bend_along(f: ti.template(), w: ti.i32, p: ti.i32, gain: ti.template()):
    """Add gain y y^T to Q of pair p, of the y that is there.

    Reads:  f.force
    Writes: f.bend
    """
    for i in range(NUMBERS):
        scaled = f.force.load(w, NUMBERS * p + i) * gain
        for j in range(i + 1):
            e = entry_of(p, i, j)
            f.bend.store(w, e, f.bend.load(w, e) + scaled * f.force.load(w, NUMBERS * p + j))


@ti.func
def bend_axis(f: ti.template(), w: ti.i32, p: ti.i32, axis: ti.i32, gain: ti.template()):
    """Add gain times the second derivatives of the product of the gap and an axis of F_a to Q of pair p.

    Writes: f.bend
    """
    for k in range(3):
        e = entry_of(p, 3 + 3 * k + axis, k)
        f.bend.store(w, e, f.bend.load(w, e) + gain)


def entry_of(p, i, j):
    """Where Q_ij of pair p is, j <= i (inside kernels)."""
    return ENTRIES * p + i * (i + 1) // 2 + j


@ti.func
def add_bends(f: ti.template(), factor: ti.template(), place: ti.template(), w: ti.i32):
    """Add B^T Q B of all pairs to a matrix that is to be factorized.

    Args:
        place: where each couple of coordinates is in it.

    Reads:  f.bend
    Writes: factor.value
    """
    for p in range(f.n):
        for k in range(f.couple_start.at(p), f.couple_start.at(p + 1)):
            value = factor.value.load(w, place.at(k)) + bend_of_couple(f, w, p, f.couple_a.at(k), f.couple_b.at(k))
            factor.value.store(w, place.at(k), value)


@ti.func
def bend_of_couple(f: ti.template(), w: ti.i32, p: ti.i32, a: ti.i32, b: ti.i32):
    """The entry of B^T Q B for two sites of pair p.

    Reads: f.bend
    """
    total = f.arena.zero()
    for m in range(f.share_start.at(a), f.share_start.at(a + 1)):
        for n in range(f.share_start.at(b), f.share_start.at(b + 1)):
            i = f.share_number.at(m)
            j = f.share_number.at(n)
            product = f.coef.load(w, m) * f.coef.load(w, n)
            total = total + f.bend.load(w, entry_of(p, ti.max(i, j), ti.min(i, j))) * product
    return total


class SaddlePoint(Polynomials):
    """The rows with the factor of their saddle point.

    Args:
        rows, tables, arena, angle: see `Polynomials`.
        bends: whether the matrix has the curvature of rows.

    Attributes:
        soft: (R) e.  lent: (R) what of it `solve` takes away again.
        mass: (n) weights, 1 of prescribed coordinates.  inertia: (n) what of them is true.
        factor: of the saddle point; unknowns are the coordinates, then
            the rows.  moves: (n) 0 for coordinates that are prescribed.  has_prescribed: whether there are any.
        stress: (R) factor of the second derivatives of each row that M gets, which are bend_weight at bend_place.
        cross_place: where M gets -stress times products of entries of the gradients of parts of sums.
        frames: see `PairedFrames`; frame_place: where M gets their stiffness.
    """

    def __init__(self, rows: Quadratic, tables: Tables, arena: Arena, angle: PackArray, bends: bool):
        super().__init__(rows, tables, arena, angle)
        prescribed = tables.model.motions.kind[self.order] != MotionKind.NONE
        weight, excess = tables.model.columns.weight[:, self.order], tables.model.columns.excess[:, self.order]
        self.mass = self.unknowns.column(np.where(prescribed, 1.0, weight))
        self.inertia = self.unknowns.column(np.where(prescribed, 1.0, weight - excess))
        self.moves, self.has_prescribed = self.unknowns.ints(~prescribed), bool(prescribed.any())
        row_of = np.repeat(np.arange(self.n_rows), np.diff(rows.entry_start[: self.n_rows + 1])) + self.n
        diagonal = np.arange(self.n + self.n_rows)
        entries = np.stack((row_of, rows.entry_at[: self.n_own_entries]), axis=1)
        bent = np.stack((rows.bend_i, rows.bend_j), axis=1)
        seen = np.flatnonzero(~prescribed[bent].any(axis=1)) if bends else np.zeros(0, int)
        both = np.stack((rows.entry_at[rows.cross_a], rows.entry_at[rows.cross_b]), axis=1).reshape(-1, 2)
        crossed = np.flatnonzero(~prescribed[both].any(axis=1)) if bends else np.zeros(0, int)
        self.frames = PairedFrames(rows, prescribed, tables, arena)
        coupled = self.frames.coupled
        pairs = np.concatenate((np.stack((diagonal, diagonal), axis=1), entries, bent[seen], both[crossed], coupled))
        pattern = eliminate(self.n + self.n_rows, pairs, diagonal >= self.n)
        self.factor, self.place = Factor(pattern, arena), arena.ints(pattern.place)
        first = len(diagonal) + len(entries)
        last = first + len(seen)
        self.bends, self.n_bends, self.bend_place = bends, len(seen), arena.ints(pattern.place[first:last])
        end = last + len(crossed)
        self.n_crosses, self.cross_place = len(crossed), arena.ints(pattern.place[last:end])
        self.frame_place = arena.ints(pattern.place[end:])
        for name in ("cross_row", "cross_a", "cross_b"):
            setattr(self, name, arena.ints(getattr(rows, name)[crossed]))
        self.bend_row, self.bend_weight = arena.ints(rows.bend_row[seen]), tables.column(rows.bend_weight[:, seen])
        self.stress = self.items.array() if bends else arena.array(0)
        filled = np.setdiff1d(np.arange(pattern.nnz), pattern.place[:first])
        self.filled, self.n_filled = arena.ints(filled), len(filled)
        self.soft, self.lent = self.items.array(), self.items.array()


@ti.func
def factorize_saddle(f: ti.template(), w: ti.i32):
    """The factor of the saddle point at the present gradients.

    Reads:  f.{mass, soft, gradient, stress}
    Writes: f.factor
    """
    zero = f.gradient.arena.zero()
    for k in range(f.n_filled):
        f.factor.value.store(w, f.filled.at(k), zero)
    for i in range(f.n):
        f.factor.value.store(w, f.place.at(i), zero + f.mass.load(w, i))
    for r in range(f.n_rows):
        f.factor.value.store(w, f.place.at(f.n + r), zero - f.soft.load(w, r))
    first = f.n + f.n_rows
    for e in range(f.n_own_entries):
        value = f.gradient.load(w, e)
        if ti.static(f.has_prescribed):
            value = value * ti.cast(f.moves.at(f.entry_at.at(e)), f.gradient.arena.device.real)
        f.factor.value.store(w, f.place.at(first + e), value)
    if ti.static(f.bends):
        for k in range(f.n_bends):
            place = f.bend_place.at(k)
            bend = f.stress.load(w, f.bend_row.at(k)) * f.bend_weight.load(w, k)
            f.factor.value.store(w, place, f.factor.value.load(w, place) + bend)
        if ti.static(f.n_crosses > 0):
            add_crosses(f, w)
    if ti.static(f.frames.n > 0):
        add_bends(f.frames, f.factor, f.frame_place, w)
    factorize(f.factor, w)


@ti.func
def add_crosses(f: ti.template(), w: ti.i32):
    """What a part of a sum lacks of the second derivatives of its polynomial: L'' = (phi'' - L' L'^T) / L.

    Reads:  f.{stress, gradient}
    Writes: f.factor
    """
    for k in range(f.n_crosses):
        place = f.cross_place.at(k)
        outer = f.gradient.load(w, f.cross_a.at(k)) * f.gradient.load(w, f.cross_b.at(k))
        bend = f.stress.load(w, f.cross_row.at(k)) * outer
        f.factor.value.store(w, place, f.factor.value.load(w, place) - bend)
