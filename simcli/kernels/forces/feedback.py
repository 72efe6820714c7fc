"""Laws of signals that follow the motion, on the device: an interpreter of three-address code.

A law is lines of numbers (model/tables/signal_tables.py:Feedback), so that another one compiles nothing. What a law sees is
put into `seen` before it is taken; what it keeps from one sample to the next, and the value that its signal holds until
then, are among what a checkpoint has.
"""

import numpy as np

from simcli.kernels.device.arena import Arena, local
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import atan2, exponential, raised, select, sincos
from simcli.kernels.language.expressions import any_lane, get_lane, is_nan, put_lane, vector
from simcli.model.tables.model import Model
from simcli.model.tables.signal_tables import Op, delays_of

_CONSTANT, _QUANTITY, _SIGNAL, _TIME, _STATE, _KEEP, _DELAY = map(int, tuple(Op)[: Op.DELAY + 1])
ORDERS = 3  # numbers per signal: value, first and second derivative


class FeedbackLaws:
    """Device columns of the laws of feedback.

    Args:
        model: host tables.
        tables: the device's.
        arena: receives the values.
        acts: whether the laws are taken at all.

    Attributes:
        n: laws.  n_seen: quantities that they see.
        seen: the quantities, at the sample.
        cells: values of the lines of a law.
        states: what lasts from one sample to the next, see `Op.STATE`.
        delays_differ: whether laws take effect later in some worlds than in others.
        held: value of each signal since its last sample.
        ages: of worlds, which the core gives.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena, acts: bool):
        feedback = model.feedback
        self.arena, self.n, self.n_seen = arena, len(feedback.signal) * acts, len(feedback.quantity) * acts
        if not self.n:  # phases of a run are laid out by the thousand
            return
        laws, lines = arena.records(len(feedback.signal)), arena.records(len(feedback.op))
        self.signal, self.every, self.result = map(laws.ints, (feedback.signal, feedback.every, feedback.result))
        self.start = arena.ints(feedback.start)
        self.op, self.x, self.y, self.index, self.length = map(
            lines.ints, (feedback.op, feedback.x, feedback.y, feedback.index, feedback.length)
        )
        self.constant = tables.column(feedback.constant)
        lates = [delays_of(one.feedback, law) for one in tables.phases for law in range(self.n)]
        self.delays_differ = any(bool((late != late[0]).any()) for late in lates)
        longest = int(np.diff(feedback.start).max(initial=0))
        self.seen, self.cells = arena.array(self.n_seen), arena.array(longest).scratch()
        self.states, self.held = arena.array(feedback.n_states), arena.array(len(model.signals.name))

    def clear(self):
        """No sample was taken yet."""
        if not self.n:
            return
        self.states.write(np.full((1, self.states.n_items, 1), np.nan))
        self.held.write(np.zeros((1, self.held.n_items, 1)))


@ti.func
def take_samples(f: ti.template(), values: ti.template(), w: ti.i32, number: ti.i64, t: ti.template()):
    """Take the laws whose time has come.

    Args:
        f: feedback.
        values: of all signals at this time, which take the new ones of feedback.
        number: of the step that begins.
        t: [s], where it begins.

    Reads:  f.{seen, states, held}
    Writes: f.{cells, states, held}, values
    """
    for k in range(f.n):
        every = ti.cast(f.every.at(k), ti.i64)
        signal = f.signal.at(k)
        due = f.ages.due(w, number, every)
        if any_lane(due):
            f.ages.take(due, _take_due, f, values, w, k, number, t)
        values.store(w, ORDERS * signal, f.held.load(w, signal))


@ti.func
def _take_due(f: ti.template(), values: ti.template(), w: ti.i32, k: ti.i32, number: ti.i64, t: ti.template()):
    """Take law k and hold its value.

    Writes: f.{cells, states, held}
    """
    take_law(f, values, w, k, number, t)
    f.held.store(w, f.signal.at(k), f.cells.load(w, f.result.at(k)))


def hold_samples(f, values, w):
    """The last samples among the values of all signals, where some follow the motion (inside kernels)."""
    if f.n:
        _hold(f, values, w)


@ti.func
def _hold(f: ti.template(), values: ti.template(), w: ti.i32):
    """`hold_samples`.

    Reads:  f.held
    Writes: values
    """
    for k in range(f.n):
        signal = f.signal.at(k)
        values.store(w, ORDERS * signal, f.held.load(w, signal))


@ti.func
def take_law(f: ti.template(), values: ti.template(), w: ti.i32, k: ti.i32, number: ti.i64, t: ti.template()):
    """The lines of law k.

    Args:
        number: of the step that begins.

    Reads:  f.{seen, states}, values
    Writes: f.{cells, states}
    """
    first = f.start.at(k)
    for line in range(first, f.start.at(k + 1)):
        op = f.op.at(line)
        x = f.cells.load(w, f.x.at(line))
        value = x
        if op <= _TIME:
            value = given_value(f, values, w, op, f.index.at(line), t)
        elif op <= _DELAY:
            late = f.cells.load(w, f.y.at(line))
            value = kept_value(f, w, line, op, x, late, number, ti.cast(f.every.at(k), ti.i64))
        else:
            value = operation(op, x, f.cells.load(w, f.y.at(line)))
        f.cells.store(w, line - first, value)


@ti.func
def given_value(f: ti.template(), values: ti.template(), w: ti.i32, op: ti.i32, index: ti.i32, t: ti.template()):
    """A constant, a quantity, another signal, the time.

    Reads: f.{constant, seen}, values
    """
    value = f.arena.zero() + t
    if op == _CONSTANT:
        value = f.arena.zero() + f.constant.load(w, index)
    elif op == _QUANTITY:
        value = f.seen.load(w, index)
    elif op == _SIGNAL:
        value = values.load(w, ORDERS * index)
    return value


@ti.func
def kept_value(
    f: ti.template(),
    w: ti.i32,
    line: ti.i32,
    op: ti.i32,
    x: ti.template(),
    late: ti.template(),
    number: ti.i64,
    every: ti.i64,
):
    """A state, as it is, as it becomes, or in a line of delay, which is a ring of states.

    Args:
        late: samples of a line of delay.
        number, every: of the step, and from one sample to the next.

    Reads and writes: f.states
    """
    value = f.arena.zero()
    if op == _DELAY:
        value = late_value(f, w, line, x, late, number, every)
    else:
        value = f.states.load(w, f.index.at(line))
        if op == _KEEP:
            f.states.store(w, f.index.at(line), x)
            value = x
    return value


@ti.func
def late_value(
    f: ti.template(), w: ti.i32, line: ti.i32, x: ti.template(), late: ti.template(), number: ti.i64, every: ti.i64
):
    """The value of a line of delay, and the new one in the ring; lane by lane if each has its own place there.

    Reads and writes: f.states
    """
    value = f.arena.zero()
    if ti.static(f.ages.differ or f.delays_differ):
        value = late_pack(f, w, line, x, late, number, every)
    else:
        place = place_in_ring(f, line, number // every)
        value = f.states.load(w, place)
        f.states.store(w, place, x)
    return value


@ti.func
def place_in_ring(f: ti.template(), line: ti.i32, sample: ti.i64):
    """The state of a line of delay in which a sample is kept."""
    return f.index.at(line) + ti.cast(sample % ti.cast(f.length.at(line), ti.i64), ti.i32)


def late_pack(f, w, line, x, late, number, every):
    """`late_value`, lane by lane (inside kernels). A ring has room for the longest delay of all worlds."""
    found = []
    for lane in range(f.arena.device.lanes):
        sample = local(f.ages.of_lane(w, lane, number) // every)
        delay, new = local(ti.cast(get_lane(late, lane), ti.i64)), local(get_lane(x, lane))
        before = local(get_lane(f.states.part(w, place_in_ring(f, line, sample - delay), 0), lane))
        part = f.states.part(w, place_in_ring(f, line, sample), 0)
        put_lane(part, lane, f.arena.written_lane(get_lane(part, lane), lane, new))
        found.append(ti.select(delay == 0, new, before))
    return vector(found) if len(found) > 1 else found[0]


@ti.func
def operation(op: ti.i32, x: ti.template(), y: ti.template()):
    """What an operation makes of two values."""
    value = x
    for k in ti.static(range(len(_OPERATIONS))):
        if op == _DELAY + 1 + k:
            value = _OPERATIONS[k](x, y)
    return value


def _sine(x, _y):
    return sincos(x)[0]


def _cosine(x, _y):
    return sincos(x)[1]


def _tangent(x, _y):
    sine, cosine = sincos(x)
    return sine / cosine


def _sign(x, _y):
    zero = x * 0.0
    return select(x > 0.0, zero + 1.0, select(x < 0.0, zero - 1.0, zero))


# By `Op`, from ADD on (inside kernels).
_OPERATIONS = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / y,
    raised,
    ti.min,
    ti.max,
    lambda x, _y: abs(x),
    lambda x, _y: ti.sqrt(x),
    _sine,
    _cosine,
    _tangent,
    lambda x, _y: exponential(x),
    atan2,
    _sign,
    lambda x, y: select(is_nan(x), y, x),
)
assert len(_OPERATIONS) == len(Op) - Op.ADD
