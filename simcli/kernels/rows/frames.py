"""Pairs of frames in natural coordinates, what acts between them, and how that stiffens the coordinates.

    numbers  u = k + B x: gap, F_a, F_b,   rates  B x',   forces  B^T y,   stiffness  B^T Q B   (model/forms/frame_pairs.py)

An angular velocity is w = (1/2) sum_k f_k x f_k' over the axes f_k, so that a couple T acts on them as T x f_k / 2.
"""

import numpy as np

from simcli.kernels.algebra.values import Mat3, Vec3
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.tables import Tables
from simcli.model.forms.frame_pairs import NUMBERS
from simcli.model.forms.quadratic_rows import Quadratic

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
        pairs = [[(a, b) for a in range(*ends) for b in range(ends[0], a + 1)
                  if not prescribed[rows.site[[a, b]]].any()]
                 for ends in zip(rows.site_start[:-1], rows.site_start[1:], strict=True)]  # fmt: skip
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
