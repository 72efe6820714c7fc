"""What becomes of the numbers of a measure, step by step: extremes, spans, sums, crossings; see probes.py.

An area is h (x_0 + x_1 + .. + x_n - (x_0 + x_n) / 2), the trapezoidal rule. The sum is made in parts of TERMS terms, which
are added with what rounding takes from the whole: its error does not grow with the number of steps.

Source: Neumaier (1974), Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen. Deviation: terms in parts.
"""

import numpy as np

from simcli.kernels.device.arena import is_pack, local
from simcli.kernels.device.pack_arrays import Records
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane, is_nan
from simcli.model.measures import Reduction
from simcli.spec.base.channel_names import BOUNDED_REDUCTIONS, REDUCTIONS

FIRST, COUNT = int(Reduction["FIRST"]), int(Reduction["COUNT"])
TERMS = 16  # of a part of a sum: half an error of rounding each


class Sum:
    """A sum over the steps for each row: the part that grows, the whole of those before, and what rounding took from it.

    Args:
        items: the rows.
    """

    _data_oriented = True

    def __init__(self, items: Records):
        self.arrays = self.part, self.whole, self.rest = items.arrays(3)

    def clear(self):
        """No term is added yet."""
        for array in self.arrays:
            array.write(np.zeros((1, array.n_items, 1)))

    def add(self, w, n, x, takes):
        """Add a term, in the worlds that take it (inside kernels)."""
        part = local(self.part.load(w, n))
        self.part.store(w, n, select(takes, part + x, part))

    def close(self, w, n):
        """Add the part to the whole (inside kernels)."""
        whole, part = local(self.whole.load(w, n)), local(self.part.load(w, n))
        new = local(whole + part)
        lost = select(abs(whole) >= abs(part), (whole - new) + part, (part - new) + whole)
        self.whole.store(w, n, new)
        self.rest.store(w, n, self.rest.load(w, n) + lost)
        self.part.store(w, n, part * 0.0)


def sums_found(dt, span, last, first, total, square) -> dict[int, np.ndarray]:
    """Values of all reductions that are sums, (W, N).

    Args:
        dt: [s], step.
        span: [s], time from the first step to the last.
        last, first: values at the ends.
        total, square: sums of the values, and of their squares; of STD of their distance from the first.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        area = dt * (total - (first + last) / 2)
        power = dt * (square - (first * first + last * last) / 2) / span
        away = last - first
        shift = dt * (total - away / 2) / span
        spread = dt * (square - away * away / 2) / span - shift * shift
        still = span == 0  # one step
        return {
            Reduction["MEAN"]: np.where(still, last, area / span),
            Reduction["INTEGRAL"]: area,
            Reduction["RMS"]: np.where(still, np.abs(last), np.sqrt(np.maximum(power, 0))),
            Reduction["STD"]: np.where(still, 0.0, np.sqrt(np.maximum(spread, 0))),
        }


def keep_largest(m, w, n, x, t, takes, _starts):
    """`max`: the first of equal values counts (inside kernels).

    Writes: m.{value, time}
    """
    _keep(m, w, n, x, t, takes & ~(x <= m.value.load(w, n)))  # than none, too


def keep_smallest(m, w, n, x, t, takes, _starts):
    """`min`: as `keep_largest`."""
    _keep(m, w, n, x, t, takes & ~(x >= m.value.load(w, n)))


def keep_farthest(m, w, n, x, t, takes, _starts):
    """`max_abs`: as `keep_largest`."""
    size = local(abs(x))
    _keep(m, w, n, size, t, takes & ~(size <= m.value.load(w, n)))


@ti.func
def _keep(m: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), t: ti.template(), found: ti.template()):
    """Replace a value and its time; most steps of most runs replace none.

    Writes: m.{value, time}
    """
    if any_lane(found):
        m.value.store(w, n, select(found, x, m.value.load(w, n)))
        m.time.store(w, n, select(found, t, m.time.load(w, n)))


@ti.func
def keep_span(
    m: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), t: ti.template(), takes: ti.template(), _starts: ti.template()
):
    """`range`, between `base` and `before`.

    Writes: m.{value, time, base, before}
    """
    falls = takes & ~(x >= m.base.load(w, n))  # than none, too
    rises = takes & ~(x <= m.before.load(w, n))
    if any_lane(falls | rises):
        low = select(falls, x, m.base.load(w, n))
        high = select(rises, x, m.before.load(w, n))
        m.base.store(w, n, low)
        m.before.store(w, n, high)
        _keep(m, w, n, high - low, t, falls | rises)


def keep_last(m, w, n, x, _t, takes, _starts):
    """`final` (inside kernels).

    Writes: m.value
    """
    m.value.store(w, n, select(takes, x, m.value.load(w, n)))


@ti.func
def add_value(
    m: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), _t: ti.template(), takes: ti.template(), starts: ti.template()
):
    """`mean`, `integral`.

    Writes: m.{base, before, total}
    """
    note_ends(m, w, n, x, takes, starts)
    m.total.add(w, n, x, takes)


@ti.func
def _add_square(
    m: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), _t: ti.template(), takes: ti.template(), starts: ti.template()
):
    """`rms`.

    Writes: m.{base, before, square}
    """
    note_ends(m, w, n, x, takes, starts)
    m.square.add(w, n, x * x, takes)


@ti.func
def add_both(
    m: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), _t: ti.template(), takes: ti.template(), starts: ti.template()
):
    """`std`.

    Writes: m.{base, before, total, square}
    """
    note_ends(m, w, n, x, takes, starts)
    away = x - m.base.load(w, n)
    m.total.add(w, n, away, takes)
    m.square.add(w, n, away * away, takes)


@ti.func
def note_ends(m: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), takes: ti.template(), starts: ti.template()):
    """The values at the first step, and at the last one so far.

    Writes: m.{base, before}
    """
    if ti.static(is_pack(starts)):
        m.base.store(w, n, select(takes & starts, x, m.base.load(w, n)))
    else:
        if starts:
            m.base.store(w, n, select(takes, x, m.base.load(w, n)))
    m.before.store(w, n, select(takes, x, m.before.load(w, n)))


@ti.func
def close_sums(m: ti.template(), w: ti.i32):
    """End the parts of all sums.

    Writes: m.{total, square}
    """
    for n in range(m.limits.at(SUMS), m.n - m.n_records):
        if n < m.limits.at(SUMS + 1) or n >= m.limits.at(SUMS + 2):
            m.total.close(w, n)
        if n >= m.limits.at(SUMS + 1):
            m.square.close(w, n)


# Rows of these kinds stand together, with what becomes of their numbers; sums come last.
_KEEPS = {  # two at most
    "max": keep_largest,
    "min": keep_smallest,
    "max_abs": keep_farthest,
    "final": keep_last,
    "range": keep_span,
    "mean integral": add_value,
    "rms": _add_square,
    "std": add_both,
}
SERIES = tuple(tuple(int(Reduction[name.upper()]) for name in names.split()) for names in _KEEPS)
KEEPS, SUMS = tuple(_KEEPS.values()), [*_KEEPS].index("mean integral")
if lacking := {*REDUCTIONS} - {*BOUNDED_REDUCTIONS, *" ".join(_KEEPS).split()}:
    raise TypeError(f"reductions {lacking} would keep nothing: name what they do with a number in _KEEPS of {__name__}")


@ti.func
def reduce_crossing(
    m: ti.template(),
    w: ti.i32,
    n: ti.i32,
    kind: ti.i32,
    x: ti.template(),
    t: ti.template(),
    h: ti.template(),
    takes: ti.template(),
):
    """`first`, `last_outside`, `count`: about values beyond bounds.

    Writes: m.{value, time, before}
    """
    zero = h * 0.0
    value = m.value.load(w, n)
    above = zero + m.above.load(w, n)
    below = zero + m.below.load(w, n)
    before = m.before.load(w, n)
    is_first = is_nan(before)
    beyond = (x > above) | (x < below)
    found = t
    changes = beyond
    if kind == FIRST:
        bound = select(x > above, above, below)
        rise = select(x == before, zero + 1.0, x - before)
        found = select(is_first, t, t - h + h * ((bound - before) / rise))
        changes = beyond & is_nan(value)  # not found yet
    elif kind == COUNT:
        was = (before > above) | (before < below)
        found = select(is_first, zero, value) + select(beyond & ~was, zero + 1.0, zero)
        changes = takes
    m.before.store(w, n, select(takes, x, before))
    m.value.store(w, n, select(changes & takes, found, value))
    m.time.store(w, n, select(changes & takes, t, m.time.load(w, n)))
